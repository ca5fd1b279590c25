#!/usr/bin/env python3
"""Windows, strides, padding, concatenation, gathers: values and gradients on every path, judged by enumeration in NumPy.

Each program holds many random cases and is interpreted and compiled at -O0 and -O3.  Tensors hold small whole numbers, so that
comparison is exact.

    check.py BUILD [--seed N] [--group NAME] [--keep DIR]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import along
import groups
import outside
import regions
import shapes
import shared
import written

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import bounds  # noqa: E402
import printed  # noqa: E402

WAYS = (("--interp",), ("-O0",), ("-O3",))


GROUPS = {**groups.GROUPS, **along.GROUPS, **outside.GROUPS, **regions.GROUPS, **shapes.GROUPS, **shared.GROUPS, **written.GROUPS}


def differs(case, got, name, value):
    """An expected value may be a function of the others that are printed: of parameters that start at random."""
    if name not in got:
        return True
    try:
        value = value(got) if callable(value) else value
    except KeyError:
        return True
    return value is not None and (len(got[name]) != value.size
                                  or not np.allclose(got[name], value.ravel(), rtol=case.tolerance, atol=case.tolerance))


def wrong(cases, got):
    return [(c, [n for n, v in c.expected.items() if differs(c, got, n, v)]) for c in cases]


def judge(options, folder, name, draw, count, extra):
    rng = random.Random("%d %s" % (options.seed, name))
    cases = [draw(rng, n) for n in range(count)]
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w") as f:
        f.write("open Train\nopen Nn\n" + "\n".join(line for c in cases for line in c.lines)
                + "\nlet%main () =\n  " + ";\n  ".join(step for c in cases for step in c.main) + "\n")
    passed = failed = 0
    for way in WAYS:
        run = subprocess.run([os.path.join(options.build, "tsrc"), "run", *way, path], capture_output=True, text=True)
        if run.returncode:
            print("%s %s: exit status %d: %s" % (path, way[0], run.returncode, run.stderr.strip()[:2000]))
        for case, bad in wrong(cases, printed.tensors(run.stdout)):
            if bad:
                failed += 1
                print("%s %s %s: %s differ" % (name, way[0], case.text, ", ".join(bad)))
            else:
                passed += 1
    good, bad = bounds.check(options.build, path)
    return passed + good, failed + bad


def refuse(options, folder, name, mistakes):
    """Programs that must be refused, and what the message must say."""
    passed = failed = 0
    for n, (text, wanted) in enumerate(mistakes):
        path = os.path.join(folder, "%s%d.tsr" % (name, n))
        with open(path, "w") as f:
            f.write(text)
        run = subprocess.run([os.path.join(options.build, "tsrc"), "check", path], capture_output=True, text=True)
        if run.returncode == 1 and all(w in run.stderr for w in wanted):
            passed += 1
        else:
            failed += 1
            print("%s: exit status %d, wanted %s:\n%s" % (text.strip(), run.returncode, wanted, run.stderr))
    return passed, failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--group")
    p.add_argument("--keep")
    o = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = o.keep or folder
        os.makedirs(folder, exist_ok=True)
        for name, (draw, count, mistakes) in GROUPS.items():
            if o.group in (None, name):
                for tally in (judge(o, folder, name, draw, count, None), refuse(o, folder, name + "_error", mistakes)):
                    passed, failed = passed + tally[0], failed + tally[1]
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
