#!/usr/bin/env python3
"""Every differentiable operation of stdlib/ops.tsr against central finite differences, in f64.

The operations are read out of ops.tsr itself: each top-level definition made with unop, binop or ternop that has a gradient.
For each one a program is written that moves every element of every operand by +h and -h, runs the loss again, and prints the
largest difference from the gradient that backprop gave.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARITY = {"unop": 1, "binop": 2, "ternop": 3}
H, BOUND = 1e-5, 1e-6

# Operands: what is differentiable there, away from ties and edges. By default all lie in (0.3, 1.7) and no two are equal.
PLAIN = [[0.31, 0.62, 1.03], [1.44, 0.85, 1.26]], [[0.77, 1.58, 0.49], [0.91, 1.12, 0.53]], [[1.34, 0.45, 0.66], [0.67, 1.68, 0.89]]
SPECS = {1: "i j => i", 2: "i j; k j => i k", 3: "i j; k j; j l => i k l"}
CONDITION_FIRST = {"where"}                    # the first operand is a condition: fixed data
COMPOSE = {"*"}                                # matrices: 3 -> 2 and 2 -> 3
EXPONENT = {"**.", "pow"}                      # the second operand is a plain number


# Expressions over x0 (2 x 3), x1 (2 x 3) and x2 (2 x 3), all differentiable: index maps and compositions of operations.
EXPRESSIONS = {
    "a valid window": 'x0 +* x1 "i, o <+ k; j, k => i, j, o"',
    "a padded window": 'x0 +* x1 "i, o =+ k; j, k => i, j, o"',
    "a padded window of an even kernel": 'x0 +* (x1 ++ "i j => j i") "i, o =+ k; j, k => i, j, o"',
    "a dilated window": 'x0 +* (x1 ++^ "i, 1^j => i, j") "i, o <+ 2*k; j, k => i, j, o"',
    "a strided window": 'x0 +* (x1 ++^ "i, 2^j => i, j") "i, 2*o <+ k; j, k => i, j, o"',
    "a padded strided window in two axes": 'x0 +* x1 "2*p =+ k, 3*q =+ l; k, l => p, q"',
    "every second element": 'x0 ++ "2*i + 1, j => i, j"',
    "a fixed position": 'x0 ++ "1 j => j 2"',
    "a diagonal": '(x0 ++ "i j => i j") +* x1 "i j; i k => k" +* x2 "k; i k => i"',
    "side by side": '(x0, x1, x2) ++^ "a, c; b, c; d, c => a^b^d, c"',
    "side by side, used twice": '(x0, x1, x0) ++^ "a, c; b, c; d, c => c, a^b^1^d"',
    "a part": 'x0 ++^ "i, 1^j => i, j"',
    "stacked": '[x0; x1 *. x2]',
    "the greatest of windows": 'windows (x0 ++ "i j => j | i") ~size:2 @^^ "r, k | i => r | i"',
    "a tropical product of windows": 'x0 @^+ x1 "i, o <+ k; j, k => i, j, o"',
    "three operands": '(x0, x1, x2) +* "i j; k j; k l => i l"',
    "a sum that broadcasts": 'x0 + (x1 ++ "i j => j") *. (x2 ++ "i j => i 0")',
    "a chain": 'tanh (x0 *. x1) /. (1. + exp (x2 - x0)) + sqrt (x1 *. x2) **. 3.',
    "softmax": 'softmax ~over:"... | c" ((x0 *. x1) ++ "i j => i | j") *. (x2 ++ "i j => i | j")',
    "log of softmax": 'log_softmax ~over:"..a.., c" (x0 *. x1) *. x2',
    "layer norm": 'layer_norm () (x0 *. x1) *. x2',
    "cross entropy": 'cross_entropy ~logits:(x0 *. x1) ~target:x2',
    "squared error": 'squared_error (x0 *. x1) ~target:x2',
    "hinge": 'hinge ~score:(x0 *. x1 - 0.7) ~target:x2',
    "a choice": 'where (x0 > 0.8) (x1 *. x2) (x1 - x0)',
    "a mean": 'mean (x0 *. x1) *. x2',
    "a row": '(x0 ++ "i j => i | j") @| 1',
    "matrices": '(x0 ++ "i j => j -> i") * (x1 ++ "i j => i -> j") * (x2 ++ "i j => j -> i")',
}


def operations():
    with open(os.path.join(ROOT, "stdlib", "ops.tsr")) as f:
        text = re.sub(r"\(\*([^*]|\*(?!\)))*\*\)", "", f.read().replace("( * )", "( *_ )").replace("( *. )", "( *._ )"))
    text = text.replace("( *_ )", "( * )").replace("( *._ )", "( *. )")
    for item in re.split(r"\n(?=let\b)", text):
        m = re.match(r"\s*let\s+(\(\s*\S+\s*\)|[\w']+)(.*?)=\s", item, re.S)
        kind = re.search(r"\b(unop|binop|ternop)\b", item)
        if m and kind and "~grad" in item:
            name = re.sub(r"[()\s]", "", m.group(1))
            yield name, ARITY[kind.group(1)], "~spec" in m.group(2) and "?spec" not in m.group(2)


def application(name, spec, operands):
    callee = name if re.match(r"\w", name) else "( %s )" % name
    return " ".join([callee] + (['~spec:"%s"' % spec] if spec else []) + operands)


def literal(rows, inner="[]"):
    """Rows along an output axis; along the inner axis, output or with "()" input."""
    between = "; " if inner == "[]" else ", "
    return "[ " + "; ".join(inner[0] + between.join(repr(x) for x in r) + inner[1] for r in rows) + " ]"


def program(name, arity, spec, expression=None):
    lines, operands, moved = ["open Nn", "open Train"], [], []
    for k in range(arity):
        v = "x%d" % k
        if name in EXPONENT and k == 1:
            operands.append("2.5")
            continue
        if name in CONDITION_FIRST and k == 0:
            lines.append("let%%op %s = [ [ 1.; 0.; 1. ]; [ 0.; 0.; 1. ] ] > 0.5" % v)
        else:
            rows = list(zip(*PLAIN[k])) if name in COMPOSE and k == 1 else PLAIN[k]
            lines.append("let%%op %s = { %s : f64 = %s }" % (v, v, literal(rows, "()" if name in COMPOSE else "[]")))
            moved.append((v, len(rows), len(rows[0])))
        operands.append(v)
    moved = [m for m in moved if not expression or m[0] in expression]
    lines.append("let%%op y = %s" % (expression or application(name, spec, operands)))
    lines.append('let%op weighted = y *. (1. + 0.1 *. positions ())')
    lines.append('let%op loss = weighted ++ "...|...->... => 0"')
    lines.append("let%cd step = grad_update loss")
    main = ["let worst = ref 0. in", "run step;"]
    for v, n, m in moved:
        main += [
            "for i = 0 to %d do for j = 0 to %d do" % (n - 1, m - 1),
            "  let x = %s.(i, j) in" % v,
            "  let g = %s.grad.(i, j) in" % v,
            "  %s.(i, j) <- x + %r; run loss.forward;" % (v, H),
            "  let up = loss.(0) in",
            "  %s.(i, j) <- x - %r; run loss.forward;" % (v, H),
            "  let down = loss.(0) in",
            "  %s.(i, j) <- x;" % v,
            "  let d = abs_float ((up - down) / (2. * %r) - g) / (1. + abs_float g) in" % H,
            "  if d > !worst || d <> d then worst := d",
            "done done;",
        ]
    main.append('print "{!worst}"')
    return "\n".join(lines + ["let%main () ="] + ["  " + l for l in main]) + "\n"


def main():
    tsrc = os.path.join(sys.argv[1], "tsrc")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        found = list(operations())
        for name, arity, needs_spec, expression in [(*o, None) for o in found] + [(n, 3, False, e) for n, e in EXPRESSIONS.items()]:
            path = os.path.join(folder, "gradient.tsr")
            with open(path, "w") as f:
                f.write(program(name, arity, SPECS[arity] if needs_spec else None, expression))
            run = subprocess.run([tsrc, "run", "-O1", path], capture_output=True, text=True)
            worst = float(run.stdout) if run.returncode == 0 and run.stdout.strip() else None
            if worst is not None and worst <= BOUND:
                passed += 1
            else:
                failed += 1
                print("FAILED %s: %s" % (name, "off by %g" % worst if worst is not None else run.stderr.strip()[:1500]))
    if len(found) < 20:
        failed += 1
        print("FAILED: only %d differentiable operations were found in ops.tsr" % len(found))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
