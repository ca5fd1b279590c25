"""The index strings of expressions.txt as programs: values and gradients against NumPy.

Operands are small whole numbers, so that the comparison is exact; each is a parameter that starts as the literal.  A slot's
axes are output axes.  The loss is the sum of the result times fixed weights.  Its gradient by operand k is itself a product: of the
weights, the other operands, and for each axis of operand k a unit matrix that ties it to its letter."""
import os
import random
import subprocess
import sys

import numpy as np

import collect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import bounds  # noqa: E402
import printed  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PER_PROGRAM = 60
WHOLE_ROWS = 500                     # elements that are printed in full
DIRECT = 3000                        # points of an unsplit nest that the interpreter walks quickly
REST = "YZ"                          # the axes that `...` stands for


class Expression:
    def __init__(self, text, rng, number):
        self.text, self.number = text, number
        terms, arrow, result = text.partition("->")
        self.terms = terms.split(",")
        if not arrow:
            letters = terms.replace(",", "").replace(".", "")
            result = "..." * ("..." in terms) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
        self.result = result
        letters = sorted(set("".join(self.axes(t) for t in self.terms)))
        most = 2 if len(letters) > 6 else 3
        self.sizes = {c: rng.randint(2, most) for c in letters}
        self.arrays = [np.array(rng.choices([-1, 0, 1, 2], k=self.count(t)), dtype=float).reshape(self.shape(t)) for t in self.terms]
        self.weights = np.array(rng.choices([-1, 1, 2], k=self.count(result)), dtype=float).reshape(self.shape(result))

    def axes(self, term):
        return term.replace("...", REST)

    def shape(self, term):
        return tuple(self.sizes[c] for c in self.axes(term))

    def count(self, term):
        return int(np.prod(self.shape(term), dtype=int))

    def points(self):
        return int(np.prod(list(self.sizes.values()), dtype=int))

    def spec(self):
        return "; ".join(self.terms) + " => " + self.result

    def value(self):
        subscripts = ",".join(self.axes(t) for t in self.terms) + "->" + self.axes(self.result)
        return np.einsum(subscripts, *self.arrays, optimize=True)

    def gradient(self, k):
        at = {c: n for n, c in enumerate(sorted(self.sizes))}
        args = [self.weights, [at[c] for c in self.axes(self.result)]]
        for other, (array, term) in enumerate(zip(self.arrays, self.terms)):
            if other != k:
                args += [array, [at[c] for c in self.axes(term)]]
        own = []
        for c in self.axes(self.terms[k]):
            own.append(len(at) + len(own))
            args += [np.eye(self.sizes[c]), [own[-1], at[c]]]
        return np.einsum(*args, own, optimize=True)


def literal(array):
    if array.ndim == 0:
        return "%d." % array if array >= 0 else "(0. - %d.)" % -array
    return "[" + "; ".join(literal(x) for x in array) + "]"


def write(e, lines, main):
    names = []
    for k, array in enumerate(e.arrays):
        name = "x%d_%d" % (e.number, k)
        names.append(name)
        if array.ndim:
            lines.append("let%%op %s = { %s = %s }" % (name, name, literal(array)))
        else:
            lines.append('let%%op %s = %s ++ "0 => "' % (name, literal(array)))
    lines.append('let%%op r%d = (%s) +* "%s"' % (e.number, ", ".join(names) + "," * (len(names) == 1), e.spec()))
    weights = literal(e.weights)
    lines.append('let%%op l%d = (r%d *. %s) ++ "... => "' % (e.number, e.number, weights))
    expected = {"r%d" % e.number: e.value()}
    main.append("print r%d" % e.number)
    if any(a.ndim for a in e.arrays):
        lines.append("let%%cd g%d = grad_update l%d" % (e.number, e.number))
        main.append("run g%d" % e.number)
    for k, name in enumerate(names):
        if e.arrays[k].ndim:
            main.append("print %s.grad" % name)
            expected[name + ".grad"] = e.gradient(k)
    return expected


def run(build, path, way):
    return subprocess.run([os.path.join(build, "tsrc"), "run", *way, path], capture_output=True, text=True)


def check_program(build, path, expressions, way):
    lines, main = ["open Train"], []
    expected = [(e, write(e, lines, main)) for e in expressions]
    lines.append("let%main () =\n  " + ";\n  ".join(main))
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    done = run(build, path, way)
    if done.returncode:
        print(path + ":", done.stderr.strip()[:2000])
    got = printed.tensors(done.stdout)
    passed = failed = 0
    for e, values in expected:
        bad = [n for n, v in values.items() if n not in got or len(got[n]) != v.size or not np.array_equal(got[n], v.ravel())]
        passed += not bad
        failed += bool(bad)
        if bad:
            print("%s %s: %s differ" % (" ".join(way), e.text, ", ".join(bad)))
    return passed, failed


def check(build, folder, seed):
    """Compiled with all passes, and interpreted without any where that is not too slow.  The list holds what the installed tests of
    NumPy, and of opt_einsum where it is there (make peers), contain."""
    texts = collect.known()
    files = collect.installed(build)
    missing = collect.lacking(files)
    for text in missing:
        print("expressions.txt lacks %s" % text)
    rng = random.Random(seed)
    all_of_them = [Expression(t, rng, k) for k, t in enumerate(texts)]
    passed, failed = len(files), len(missing)
    for way, chosen in ((("-O2",), all_of_them), (("-O0", "--interp"), [e for e in all_of_them if e.points() <= DIRECT])):
        for k in range(0, len(chosen), PER_PROGRAM):
            path = os.path.join(folder, "expressions%d%s.tsr" % (k // PER_PROGRAM, "".join(way)))
            for good, bad in (check_program(build, path, chosen[k:k + PER_PROGRAM], way), bounds.check(build, path)):
                passed += good
                failed += bad
    return passed, failed
