"""Cases and the programs that hold them.

A case is one tensor expression over parameters, and what PyTorch makes of the same numbers.  Operands hold small whole numbers, so
that every sum is exact in f32 and in PyTorch's f64, and the comparison is too.  The gradient starts from random whole numbers."""
import math
import os
import re
import subprocess
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import bounds  # noqa: E402
import printed  # noqa: E402

WHOLE = 1000                         # elements that `print` shows in full


def numbers(rng, shape, low=-4, high=4):
    """Each its own draw; a large tensor takes its numbers from one seed."""
    return np.random.default_rng(rng.getrandbits(32)).integers(low, high + 1, shape).astype(np.float32)


def distinct(rng, shape, low=-400):
    """No two equal, so that a largest element is the only one."""
    count = math.prod(shape)
    return (low + np.random.default_rng(rng.getrandbits(32)).permutation(count)).astype(np.float32).reshape(shape)


class Case:
    """`operands` are arrays by name; those of whole numbers are constants.  `build` gives the lines that define the result, `judge` the
    same of tensors of PyTorch, axes in memory order.  `kinds` has a letter for each axis of the result: b, o or i.  `step` divides
    the numbers that the gradient starts from."""

    def __init__(self, number, text, operands, build, judge, kinds=None):
        self.number, self.text, self.result = number, text, "r%d" % number
        self.operands = {"%s%d" % (k, number): a for k, a in operands.items()}
        self.lines = build(self.result, *self.operands)
        self.judge, self.kinds, self.step = judge, kinds, 1
        self.tolerance = 0

    def judged(self, rng):
        """The judgement: value and gradients, from a random gradient of the result."""
        tensors = [torch.tensor(a, dtype=torch.float64 if a.dtype == np.float32 else torch.int64, requires_grad=a.dtype == np.float32)
                   for a in self.operands.values()]
        value = self.judge(*tensors)
        self.kinds = self.kinds or "o" * value.dim()
        self.cotangent = self.step * numbers(rng, tuple(value.shape), -3, 3)
        self.whole = rng.random() < 0.25                # forward and backward as one unit
        value.backward(torch.tensor(self.cotangent, dtype=torch.float64))
        self.expected = {self.result: value.detach().numpy()}
        for name, t in zip(self.operands, tensors):
            if t.requires_grad:
                self.expected[name + ".grad"] = t.grad.numpy()
        return self

    def size(self):
        return max(v.size for v in self.expected.values())

    def data(self):
        return {**self.operands, "w%d" % self.number: self.cotangent}

    def declarations(self, folder):
        out = []
        for name, a in self.data().items():
            read = 'file "%s/%s.npy" ~as:"%s"' % (folder, name, axes_as(self.kinds if name == "w%d" % self.number else "o" * a.ndim))
            parameter = name in self.operands and a.dtype == np.float32
            out.append("let%%op %s = %s" % (name, "{ %s = %s }" % (name, read) if parameter else read))
        return out

    def write(self, folder):
        n, r = self.number, self.result
        code = "let%%cd g%d = %s%s.zero_grads; %s.grad =: w%d; %s.backprop" % (n, r + ".forward; " if self.whole else "", r, r, n, r)
        lines = self.declarations(folder) + self.lines + [code]
        first, *rest = [shown(k, v) for k, v in self.expected.items()]
        if self.whole:
            return lines, ["run g%d" % n, first] + rest
        before = []
        if self.expected[r].size > WHOLE:              # elements are read and not computed, as `print` does
            lines.append("let%%cd f%d = %s.forward" % (n, r))
            before = ["run f%d" % n]
        return lines, before + [first, "run g%d" % n] + rest


def axes_as(kinds):
    """The axes in memory order as the shape of a file."""
    names = {k: [] for k in "bio"}
    for n, k in enumerate(kinds):
        names[k].append("abcdefgh"[n])
    return "%s | %s -> %s" % tuple("".join(names[k]) for k in "bio")


def shown(name, value):
    """`print`, or a loop over the elements of what it would show by its edges."""
    if value.size <= WHOLE:
        return "print " + name
    at = ["i%d" % k for k in range(value.ndim)]
    loop = 'print "{%s.(%s)}"' % (name, ", ".join(at))
    for k in reversed(range(value.ndim)):
        loop = "for %s = 0 to %d do %s done" % (at[k], value.shape[k] - 1, loop)
    return 'print "%s : elements"; %s' % (name, loop)


def same(got, want, tolerance=0):
    return len(got) == want.size and np.allclose(got, want.ravel(), rtol=tolerance, atol=tolerance)


def shapes(text):
    """name -> sizes in memory order, as printed."""
    found = {}
    for line in text.splitlines():
        head = re.match(r"(\S+) : ([^\[]*?)(  .*)?$", line)
        if head and head[2] != "elements":
            batch, _, rest = head[2].rpartition("|")
            inputs, _, outputs = rest.rpartition("->")
            found[head[1]] = [int(n) for n in re.findall(r"\d+", batch) + re.findall(r"\d+", outputs) + re.findall(r"\d+", inputs)]
    return found


class Program:
    """Cases in one file, run in several ways."""

    def __init__(self, folder, name, cases, head=""):
        self.path, self.name, self.cases = os.path.join(folder, name + ".tsr"), name, cases
        lines, steps = [], []
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for case in self.cases:
            more, then = case.write(name)
            lines += more
            steps += then
            for key, array in case.data().items():
                np.save(os.path.join(folder, name, key + ".npy"), array)
        with open(self.path, "w") as f:
            f.write("\n".join([head] + lines) + "\nlet%main () =\n  " + ";\n  ".join(steps) + "\n")

    def run(self, build, way):
        """(passed, failed) by case."""
        done = subprocess.run([os.path.join(build, "tsrc"), "run", *way, os.path.basename(self.path)], capture_output=True, text=True,
                              cwd=os.path.dirname(self.path))
        if done.returncode:
            print("%s %s: exit status %d: %s" % (self.path, way[0], done.returncode, done.stderr.strip()[:2000]))
        got, sizes = printed.tensors(done.stdout), shapes(done.stdout)
        passed = failed = 0
        for case in self.cases:
            bad = [n for n, v in case.expected.items()
                   if not same(got.get(n, []), v, case.tolerance) or (n in sizes and sizes[n] != list(v.shape))]
            if bad:
                print("%s %s %d: %s: %s differ" % (self.name, way[0], case.number, case.text, ", ".join(bad)))
            passed, failed = passed + (not bad), failed + bool(bad)
        return passed, failed

    def bounds(self, build):
        return bounds.check(build, self.path)


def refused(build, folder, name, mistakes):
    """Definitions that must each be refused at their line, and what the message must say; all in one program, between good ones."""
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w") as f:
        f.write("\n".join(text for text, _ in mistakes) + "\nlet%main () = ()\n")
    done = subprocess.run([os.path.join(build, "tsrc"), "check", os.path.basename(path)], capture_output=True, text=True, cwd=folder)
    messages = {}
    for found in re.finditer(r"^%s\.tsr:(\d+):\d+: error\[.*?(?=^\S+?:\d+:\d+: error|\Z)" % name, done.stderr, re.M | re.S):
        messages.setdefault(int(found[1]), found[0])
    passed = failed = 0
    if done.returncode != 1:
        print("%s: exit status %d" % (path, done.returncode))
        failed += 1
    for line, (text, wanted) in enumerate(mistakes, 1):
        message = messages.get(line, "")
        good = all(w in message for w in wanted) and bool(message) if wanted is not None else not message
        if not good:
            print("%s:%d: %s\n  wanted %s, got: %s" % (path, line, text, wanted, message))
        passed, failed = passed + good, failed + (not good)
    return passed, failed
