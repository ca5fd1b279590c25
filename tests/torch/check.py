#!/usr/bin/env python3
"""Index forms judged by PyTorch: values, and gradients by every operand that is a float.

Each program holds hundreds of random cases.  All are interpreted and compiled at -O0, and a share of each group, by what its code
costs to compile, at -O3; with --whole all.  Those with many channels stand in programs of their own, which are compiled only.  The
index maps of every program are walked point by point (tests/tools/bounds.py), and what does not divide is refused.

    check.py BUILD [--cases N] [--seed N] [--group NAME] [--whole] [--keep DIR]
"""
import argparse
import os
import random
import sys
import tempfile

import torch

import joins
import lookups
import pools
import tropical
import windows
from program import Program, refused

PLAIN = (("--interp",), ("-O0",))
OPTIMISED = (("-O3",),)
PER_PROGRAM = 250
MESSAGES = 20                        # that one run of the compiler prints
MODULES = (windows, pools, joins, lookups, tropical)
GROUPS = {name: group for m in MODULES for name, group in m.GROUPS.items()}
HEADS = {**lookups.HEADS, **tropical.HEADS}


def programs(options, folder, name, draw, share):
    """(program, ways to run it)"""
    rng = random.Random("%d %s" % (options.seed, name))
    head = HEADS.get(name, "")
    many = max(2, options.cases // 100)
    cases = [draw(rng, n).judged(rng) for n in range(options.cases - many)]
    for k in range(0, len(cases), PER_PROGRAM):
        yield Program(folder, "%s%d" % (name, k // PER_PROGRAM), cases[k:k + PER_PROGRAM], head), PLAIN
    best = cases if options.whole else cases[:round(share * len(cases))]
    for k in range(0, len(best), PER_PROGRAM):
        yield Program(folder, "%s_best%d" % (name, k // PER_PROGRAM), best[k:k + PER_PROGRAM], head), OPTIMISED
    yield Program(folder, name + "_large", [draw(rng, n, big=True).judged(rng) for n in range(many)], head), PLAIN[1:] + OPTIMISED


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--cases", type=int, default=500)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--group")
    p.add_argument("--whole", action="store_true")
    p.add_argument("--keep")
    o = p.parse_args()
    o.build = os.path.abspath(o.build)
    torch.set_num_threads(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = o.keep or folder
        os.makedirs(folder, exist_ok=True)
        for name, (draw, share) in GROUPS.items():
            if o.group not in (None, name):
                continue
            for program, ways in programs(o, folder, name, draw, share):
                # what is compiled at -O3 alone has been walked as a part of another program
                for tally in [program.run(o.build, way) for way in ways] + [program.bounds(o.build)] * (ways is not OPTIMISED):
                    passed, failed = passed + tally[0], failed + tally[1]
        for module in MODULES:
            if o.group in (None, "mistakes"):
                wrong = getattr(module, "mistakes", lambda rng: [])(random.Random(o.seed))
                for k in range(0, len(wrong), MESSAGES):
                    tally = refused(o.build, folder, "%s_mistakes%d" % (module.__name__, k // MESSAGES), wrong[k:k + MESSAGES])
                    passed, failed = passed + tally[0], failed + tally[1]
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
