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


def program(name, arity, spec):
    lines, operands, moved = ["open Train"], [], []
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
    lines.append("let%%op y = %s" % application(name, spec, operands))
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
        for name, arity, needs_spec in operations():
            path = os.path.join(folder, "gradient.tsr")
            with open(path, "w") as f:
                f.write(program(name, arity, SPECS[arity] if needs_spec else None))
            run = subprocess.run([tsrc, "run", "-O1", path], capture_output=True, text=True)
            worst = float(run.stdout) if run.returncode == 0 and run.stdout.strip() else None
            if worst is not None and worst <= BOUND:
                passed += 1
            else:
                failed += 1
                print("FAILED %s: %s" % (name, "off by %g" % worst if worst is not None else run.stderr.strip()[:1500]))
    if passed + failed < 20:
        failed += 1
        print("FAILED: only %d differentiable operations were found in ops.tsr" % (passed + failed - 1))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
