#!/usr/bin/env python3
"""Random programs, computed in every way: compiled at -O0 to -O3, for every level of processor that this machine runs, and
interpreted.  What they print differs from the interpreter by no more than the order of computing explains: `tsrc run --interp
--bounds` says how much that is, element by element.

    check.py BUILD [--seed N] [--programs N] [--edges N] [--keep DIR]

Those of the first kind are grown from pieces; those of the second (edges.py) are products, windows, rows and transpositions whose sizes lie around
the edges of register tiles and cache blocks.  A program of the first kind grows tensors out of parameters and literals by elementwise operations, sums, products, maxima, windows and
concatenations, keeps some of them in state, and takes the gradient of a loss.  What is compared or rounded is made of small
whole numbers only, so that no way of adding decides a branch; everything else is bounded by tanh.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

import edges

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
from machine import processors  # noqa: E402

LEVELS = ("-O1", "-O2", "-O3")
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)|true|false")
AXES = "abcdefgh"


class Tensor:
    def __init__(self, name, shape, exact, kind="float"):
        self.name, self.shape, self.exact, self.kind = name, shape, exact, kind


class Program:
    """Statements of one program; `tensors` are what later ones may use (output axes only)."""

    def __init__(self, rng):
        self.rng, self.lines, self.tensors, self.params, self.state = rng, ["open Train"], [], [], []
        self.sizes = [rng.choice([1, 2, 3, 4, 5, 7, 9, 17]) for _ in range(3)]
        for _ in range(rng.randint(2, 4)):
            self.leaf()
        for _ in range(rng.randint(6, 14)):
            self.step()

    def shape(self):
        return tuple(self.rng.choice(self.sizes) for _ in range(self.rng.randint(0, 3)))

    def add(self, text, shape, exact, kind="float", name=None):
        name = name or "t%d" % len(self.tensors)
        self.lines.append("let%%op %s = %s" % (name, text))
        self.tensors.append(Tensor(name, shape, exact, kind))

    def leaf(self):
        rng, shape = self.rng, self.shape() or (self.rng.choice(self.sizes),)
        name, modulus = "p%d" % len(self.params), rng.randint(2, 6)
        start = "(positions () %% %d) *. 1. - %d." % (modulus, rng.randint(0, 3))
        self.add("{ %s = %s; o = [%s] }" % (name, start, "; ".join(map(str, shape))), shape, True, name=name)
        self.params.append(name)

    def pick(self, want=lambda t: True):
        found = [t for t in self.tensors if want(t)]
        return self.rng.choice(found) if found else None

    def unary(self):
        x = self.pick(lambda t: t.kind == "float")
        f, exact = self.rng.choice([("relu %s", True), ("abs %s", True), ("- %s", True), ("2. *. %s - 1.", True), ("tanh %s", False),
                                    ("sqrt (abs %s + 1.)", False), ("exp (tanh %s)", False), ("sigmoid %s", False),
                                    ("tanh (%s *. 0.3)", False), ("stop_gradient %s", True), ("max %s 0.5", True)])
        self.add(f % x.name, x.shape, x.exact and exact)

    def binary(self):
        x = self.pick(lambda t: t.kind == "float")
        y = self.pick(lambda t: t.kind == "float" and t.shape and (x.shape[len(x.shape) - len(t.shape):] == t.shape or not x.shape))
        if not y:
            return self.unary()
        shape = x.shape if len(x.shape) >= len(y.shape) else y.shape
        op, exact = self.rng.choice([("%s + %s", True), ("%s - %s", True), ("max %s %s", True), ("min %s %s", True),
                                     ("tanh (%s *. %s)", False), ("%s /. (2. + abs %s)", False), ("fma %s %s 0.25", False)])
        self.add(op % (x.name, y.name), shape, x.exact and y.exact and exact)

    def choice(self):
        x, y = self.pick(lambda t: t.exact and t.shape and t.kind == "float"), self.pick(lambda t: t.kind == "float")
        if not x or x.shape != y.shape:
            return self.unary()
        self.add("where (%s %s %d.) %s (%s + 1.)" % (x.name, self.rng.choice(["<", "<=", "=", "<>", ">"]), self.rng.randint(-1, 2),
                                                  y.name, x.name), x.shape, x.exact and y.exact)

    def reduction(self):
        x = self.pick(lambda t: len(t.shape) >= 1 and t.kind == "float")
        axes = list(range(len(x.shape)))
        kept = self.rng.sample(axes, self.rng.randint(0, len(axes)))
        op = self.rng.choice(["++", "@^^", "@--"])
        spec = "%s => %s" % (" ".join(AXES[a] for a in axes), " ".join(AXES[a] for a in kept) or "0")
        text = '%s %s "%s"' % (x.name, op, spec)
        bound = op == "++" and not x.exact
        self.add("tanh (0.1 *. (%s))" % text if bound else text, tuple(x.shape[a] for a in kept), x.exact and not bound)

    def product(self):
        x, y = (self.pick(lambda t: t.shape and t.kind == "float") for _ in range(2))
        free, by_size, spec = iter(AXES), {}, []
        for t in (x, y):
            names = []
            for s in t.shape:
                known = [c for c in by_size.get(s, []) if c not in names]
                if not known or self.rng.random() < 0.3:
                    known = [next(free)]
                    by_size.setdefault(s, []).append(known[0])
                names.append(self.rng.choice(known))
            spec.append(names)
        size = {c: s for s, cs in by_size.items() for c in cs}
        used = sorted(size)
        out = self.rng.sample(used, self.rng.randint(0, min(3, len(used))))
        text = '%s %s %s "%s; %s => %s"' % (x.name, self.rng.choice(["+*", "+*", "@^+"]), y.name, " ".join(spec[0]), " ".join(spec[1]),
                                          " ".join(out) or "0")
        self.add("tanh (0.05 *. (%s))" % text, tuple(size[c] for c in out), False)

    def window(self):
        x = self.pick(lambda t: t.shape and t.shape[-1] >= 3 and t.kind == "float")
        k = self.pick(lambda t: t.shape == (2,) or t.shape == (3,))
        if not x or not k:
            return self.reduction()
        pad = self.rng.choice(["<+", "=+"])
        lead = AXES[: len(x.shape) - 1]
        spec = "%so %s k; k => %so" % ("".join(c + ", " for c in lead), pad, "".join(c + ", " for c in lead))
        n = x.shape[-1] if pad == "=+" else x.shape[-1] - k.shape[0] + 1
        self.add('tanh (0.2 *. (%s +* %s "%s"))' % (x.name, k.name, spec), x.shape[:-1] + (n,), False)

    def side_by_side(self):
        x = self.pick(lambda t: t.shape and t.kind == "float")
        y = self.pick(lambda t: t.shape[1:] == x.shape[1:] and t.shape and t.kind == "float") if x else None
        if not y:
            return self.unary()
        gap = self.rng.choice([0, 0, 2])
        rest = "".join(", " + c for c in AXES[: len(x.shape) - 1])    # `...` would put the result's marker behind p, where later ones broadcast
        self.add('(%s, %s) ++^ "p%s; q%s => p^%sq%s"' % (x.name, y.name, rest, rest, "%d^" % gap if gap else "", rest),
                 (x.shape[0] + gap + y.shape[0],) + x.shape[1:], x.exact and y.exact)

    def keep(self):
        x = self.pick(lambda t: t.shape and t.kind == "float")
        name = "s%d" % len(self.state)
        self.lines.append("let%%cd %s = { %s; o = [%s] }" % (name, name, "; ".join(map(str, x.shape))))
        acc = self.rng.choice(["=+", "=:", "=@^", "=-", "=:+"])
        self.lines.append("let%%cd k%s = %s %s %s" % (name, name, acc, x.name))
        self.state.append(name)

    def step(self):
        self.rng.choice([self.unary, self.binary, self.binary, self.choice, self.reduction, self.reduction, self.product,
                         self.window, self.side_by_side, self.keep])()

    def text(self):
        rng, lines = self.rng, list(self.lines)
        terms = ['(%s ++ "... => 0")' % t.name for t in rng.sample(self.tensors, min(3, len(self.tensors)))]
        terms += ['0.1 *. (%s ++ "... => 0")' % p for p in self.params]
        lines.append("let%%op loss = %s" % " + ".join(terms))
        lines.append("let%cd step = grad_update loss")
        body = ["run step"] + ["print %s" % t.name for t in self.tensors if rng.random() < 0.5]
        body += ["run step", "print loss"] + ["print %s.grad" % p for p in self.params]
        for s in self.state:
            body += ["run k%s" % s, "run k%s" % s, "print %s" % s]
        return "\n".join(lines + ["let%main () =\n  " + ";\n  ".join(body)]) + "\n"


def shape_of(text):
    """The text but for its numbers, and for where lines are broken, which depends on their widths."""
    return re.sub(r"\s+", "", NUMBER.sub("#", text))


class Judge:
    """What the interpreter prints, and how far each number may be from it."""

    def __init__(self, build, path):
        self.tsrc, self.path, self.problem = os.path.join(build, "tsrc"), path, None
        (status, self.values, errors), (_, bounds, _) = (self.run("--interp", *o) for o in ((), ("--bounds",)))
        self.bounds = [float(b.replace("true", "1").replace("false", "0")) for b in NUMBER.findall(bounds)]
        if status:
            self.problem = "--interp: " + errors
        elif len(NUMBER.findall(self.values)) != len(self.bounds):
            self.problem = "--bounds prints other numbers"

    def run(self, *options):
        p = subprocess.run([self.tsrc, "run", *options, self.path], capture_output=True, text=True)
        return p.returncode, p.stdout, p.stderr[:800]

    def undecided(self):
        return sum(b == float("inf") for b in self.bounds), len(self.bounds)

    def wrong(self, *options):
        """Why what this way of computing prints cannot be explained, or None."""
        status, out, errors = self.run(*options)
        if status:
            return "exit status %d: %s" % (status, errors)
        if shape_of(out) != shape_of(self.values):
            return "other text"
        for want, got, bound in zip(NUMBER.findall(self.values), NUMBER.findall(out), self.bounds):
            if want != got and bound != float("inf"):
                x, y = (float(t.replace("true", "1").replace("false", "0")) for t in (want, got))
                if not abs(x - y) <= bound and not (x != x and y != y):
                    return "%s, where the interpreter has %s: at most %g apart in any order" % (got, want, bound)
        return None


def ways(rng, cpus):
    """Without any pass; then each level for a processor, so that all pairs have their turn."""
    yield ("-O0",)
    for level in LEVELS:
        yield (level, "--cpu=" + rng.choice(cpus)) + rng.choice([(), (), ("--no-fuse",), ("--threads=all",), ("--threads=none",)])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=15)
    p.add_argument("--edges", type=int, default=4)
    p.add_argument("--keep")
    o = p.parse_args()
    passed = failed = 0
    cpus, undecided = processors(), [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        folder = o.keep or folder
        os.makedirs(folder, exist_ok=True)
        for number in range(o.seed, o.seed + o.programs + o.edges):
            rng, grown = random.Random(number), number < o.seed + o.programs
            path = os.path.join(folder, "program%d.tsr" % number)
            with open(path, "w") as f:
                f.write(Program(rng).text() if grown else edges.program(rng))
            judge = Judge(o.build, path)
            undecided = [a + b for a, b in zip(undecided, judge.undecided())]
            tried = list(ways(rng, cpus)) if grown else [("-O2", "--cpu=" + c) for c in cpus] + [("-O2", "--threads=none"), ("-O3", "--threads=all")]
            for way in [()] if judge.problem else tried:
                bad = judge.problem or judge.wrong(*way)
                passed, failed = passed + (not bad), failed + bool(bad)
                if bad:
                    print("FAILED program%d (seed %d) %s: %s" % (number, number, " ".join(way), bad))
    if undecided[0] > undecided[1] / 50:
        failed += 1
        print("FAILED: nothing is said about %d of %d numbers" % tuple(undecided))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
