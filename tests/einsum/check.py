#!/usr/bin/env python3
"""Random einsum specs, values and gradients, judged by NumPy.

Each compiled program holds many specs.  An operand is a literal of small integers in some arrangement of batch, output and
input axes; what is differentiated is a parameter made of such a literal (a parameter has no batch axes).  The loss is the
sum of the result times fixed integers, so that every gradient is an integer too and the comparison is exact.  Then the strings
of expressions.txt, by expressions.py.

    check.py BUILD [--seed N] [--programs N] [--keep DIR]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import expressions

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import bounds  # noqa: E402
import printed  # noqa: E402

PER_PROGRAM = 25
LETTERS = "abcdefgh"


class Row:
    """Axes of one kind in one slot: letters, '.' for the row variable of that kind, digits for fixed positions."""

    def __init__(self, axes):
        self.axes = axes

    def text(self):
        return "".join("..." if a == "." else a for a in self.axes)


class Case:
    def __init__(self, rng, number):
        self.number = number
        self.operands = rng.choice([1, 1, 2, 2, 2, 3])
        self.batched = rng.random() < 0.35           # batch axes: values only, no gradient
        self.sizes = {c: rng.randint(1, 4) for c in LETTERS}
        self.rows = {k: [rng.randint(1, 3) for _ in range(rng.randint(0, 2))] for k in "bio"}
        self.kinds = "bio" if self.batched else "io"
        pool = list(LETTERS[: rng.randint(2, 5)])
        self.slots = [self.slot(rng, pool) for _ in range(self.operands)]
        used = sorted({a for s in self.slots for k in s for a in s[k].axes if a in LETTERS})
        result = rng.sample(used, rng.randint(0, len(used)))
        self.result = self.split(rng, result)
        for k in self.kinds:
            if any("." in s[k].axes for s in self.slots) and rng.random() < 0.7:
                self.result[k].axes.insert(rng.randint(0, len(self.result[k].axes)), ".")
        if rng.random() < 0.15:
            self.result["o"].axes.insert(rng.randint(0, len(self.result["o"].axes)), "0")

    def split(self, rng, axes):
        rows = {k: Row([]) for k in "bio"}
        for a in axes:
            rows[rng.choice(self.kinds)].axes.append(a)
        return rows

    def slot(self, rng, pool):
        axes = [rng.choice(pool) for _ in range(rng.randint(0, 3))]        # repeats are diagonals
        rows = self.split(rng, axes)
        for k in self.kinds:
            if rng.random() < 0.25:
                rows[k].axes.insert(rng.randint(0, len(rows[k].axes)), ".")
        if rng.random() < 0.1:
            rows["o"].axes.append(str(rng.randint(0, 2)))
        return rows

    def slot_text(self, rows):
        text = rows["o"].text()
        if rows["i"].axes:
            text = rows["i"].text() + "->" + text
        if rows["b"].axes:
            text = rows["b"].text() + "|" + text
        return text

    def spec(self):
        return ";".join(self.slot_text(s) for s in self.slots) + " => " + self.slot_text(self.result)

    def largest(self):
        slots = [(s, 3) for s in self.slots] + [(self.result, 1)]
        return max(int(np.prod(self.shape(self.labels(s), fixed), dtype=int)) for s, fixed in slots)

    # -- meaning: one label per axis in memory order (batch, output, input); row variables spelt out as labels

    def labels(self, rows):
        out = []
        for k in "boi":
            for a in rows[k].axes:
                if a == ".":
                    out += [(k + str(n), size) for n, size in enumerate(self.rows[k])]
                elif a.isdigit():
                    out.append((int(a), None))
                else:
                    out.append((a, self.sizes[a]))
        return out

    def shape(self, labels, fixed):
        return [fixed if isinstance(l, int) else s for l, s in labels]

    def literal_shape(self, rows):
        """Sizes by kind; a fixed position has 3 cells in an operand."""
        counts = {}
        for k in "boi":
            sizes = []
            for a in rows[k].axes:
                sizes += self.rows[k] if a == "." else [3] if a.isdigit() else [self.sizes[a]]
            counts[k] = sizes
        return counts


def draw(rng, number):
    """A case whose tensors are printed whole."""
    while True:
        case = Case(rng, number)
        if case.largest() <= 500:
            return case


def literal(array, counts):
    """Nested literal: [| |] batch, [ ] output, ( ) input, outer to inner in memory order."""
    kinds = "b" * len(counts["b"]) + "o" * len(counts["o"]) + "i" * len(counts["i"])

    def nest(a, kinds):
        if not kinds:
            return "(0. - %d.)" % -a if a < 0 else "%d." % a
        items = [nest(x, kinds[1:]) for x in a]
        if kinds[0] == "b":
            return "[| " + "; ".join(items) + " |]"
        if kinds[0] == "o":
            return "[ " + "; ".join(items) + " ]"
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"

    return nest(array, kinds)


def subscripts(labels, names):
    return [names.setdefault(l, len(names)) for l, _ in labels if not isinstance(l, int)]


def pick(array, labels):
    return array[tuple(l if isinstance(l, int) else slice(None) for l, _ in labels) + (Ellipsis,)]     # always a view


def evaluate(case, arrays, weights):
    """Value and gradients by np.einsum, with vectors of ones for labels that only the target has."""
    names = {}
    ins = [case.labels(s) for s in case.slots]
    out = case.labels(case.result)
    subs = [subscripts(l, names) for l in ins]
    osub = subscripts(out, names)
    views = [pick(a, l) for a, l in zip(arrays, ins)]
    args = [x for pair in zip(views, subs) for x in pair]
    core = np.einsum(*args, osub)
    value = np.zeros(case.shape(out, 1))
    value[tuple(l if isinstance(l, int) else slice(None) for l, _ in out)] = core
    if weights is None:
        return value, None
    sizes = {l: s for labels in ins + [out] for l, s in labels if not isinstance(l, int)}
    w = pick(weights, out)
    gradients = []
    for n, labels in enumerate(ins):
        rest = [x for m, pair in enumerate(zip(views, subs)) if m != n for x in pair]
        have = set(osub) | {s for m, sub in enumerate(subs) if m != n for s in sub}
        unique = list(dict.fromkeys(subs[n]))
        ones = [x for l in sizes if names[l] in unique and names[l] not in have for x in (np.ones(sizes[l]), [names[l]])]
        g = np.einsum(w, osub, *rest, *ones, unique)
        full = np.zeros(case.shape(labels, 3))
        target = pick(full, labels)
        if len(unique) == len(subs[n]):
            target[...] = g
        else:                                  # a diagonal: only its cells receive
            for at in np.ndindex(*g.shape):
                where = dict(zip(unique, at))
                target[tuple(where[s] for s in subs[n])] = g[at]
        gradients.append(full)
    return value, gradients


def write_case(case, rng, lines, main):
    n = case.number
    arrays = []
    for k, rows in enumerate(case.slots):
        counts = case.literal_shape(rows)
        array = np.array([rng.randint(0, 5) for _ in range(int(np.prod(sum(counts.values(), []), dtype=int)))], dtype=float)
        array = array.reshape(counts["b"] + counts["o"] + counts["i"])
        arrays.append(array)
        text = literal(array, counts)
        if array.ndim == 0:
            text = "%d. ++ \"0 => \"" % array
        if case.batched or array.ndim == 0:
            lines.append("let%%op x%d_%d = %s" % (n, k, text))
        else:
            lines.append("let%%op x%d_%d = { x%d_%d = %s }" % (n, k, n, k, text))
    names = ["x%d_%d" % (n, k) for k in range(len(arrays))]
    spec = case.spec()
    if len(names) == 1:
        lines.append('let%%op r%d = %s ++ "%s"' % (n, names[0], spec))
    elif len(names) == 2:
        lines.append('let%%op r%d = %s +* %s "%s"' % (n, names[0], names[1], spec))
    else:
        lines.append('let%%op r%d = (%s) +* "%s"' % (n, ", ".join(names), spec))
    main.append("print r%d" % n)
    out = case.labels(case.result)
    value, _ = evaluate(case, arrays, None)
    expected = {"r%d" % n: value}
    if not case.batched and any(a.ndim for a in arrays):
        weights = np.array([rng.randint(0, 3) for _ in range(value.size)], dtype=float).reshape(value.shape)
        counts = {"b": [], "o": [], "i": []}
        for k in "boi":
            for a in case.result[k].axes:
                counts[k] += case.rows[k] if a == "." else [1] if a.isdigit() else [case.sizes[a]]
        w = literal(weights, counts) if weights.ndim else "%d." % weights
        # A fixed position makes a claim-free axis; its weight is a plain number along that axis.
        if any(a.isdigit() for a in case.result["o"].axes):
            w = "%d." % weights.flat[0]
            weights = np.full(value.shape, weights.flat[0])
        lines.append('let%%op l%d = (r%d *. %s) ++ "...|...->... => 0"' % (n, n, w))
        lines.append("let%%cd g%d = grad_update l%d" % (n, n))
        main.append("run g%d" % n)
        _, gradients = evaluate(case, arrays, weights)
        for name, g, a in zip(names, gradients, arrays):
            if a.ndim:
                main.append("print %s.grad" % name)
                expected[name + ".grad"] = g
    return spec, expected


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=10)
    p.add_argument("--keep")
    o = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = o.keep or folder
        os.makedirs(folder, exist_ok=True)
        for number in range(o.programs):
            rng = random.Random(o.seed * 1000 + number)
            lines, body, cases = ["open Train"], [], []
            for k in range(PER_PROGRAM):
                cases.append(write_case(draw(rng, k), rng, lines, body))
            lines.append("let%main () =\n  " + ";\n  ".join(body))
            path = os.path.join(folder, "einsum%d.tsr" % number)
            with open(path, "w") as f:
                f.write("\n".join(lines) + "\n")
            run = subprocess.run([os.path.join(o.build, "tsrc"), "run", "-O1", path], capture_output=True, text=True)
            got = printed.tensors(run.stdout)
            if run.returncode:
                print(path + ":", run.stderr.strip()[:2000])
            for spec, expected in cases:
                bad = [n for n, v in expected.items() if n not in got or len(got[n]) != v.size or not np.array_equal(got[n], v.ravel())]
                if bad:
                    failed += 1
                    print("einsum%d %s: %s differ" % (number, spec, ", ".join(bad)))
                else:
                    passed += 1
            good, bad = bounds.check(o.build, path)
            passed += good
            failed += bad
        good, bad = expressions.check(o.build, folder, o.seed)
        passed += good
        failed += bad
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
