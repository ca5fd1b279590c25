#!/usr/bin/env python3
"""Programs for machines that this one is not, run here, and held to what the interpreter prints, as tests/differential is: those of tests/run
that have products, three for turns, narrow products and functions, and random ones.

    check.py BUILD [--seed N] [--programs N]
"""
import argparse
import glob
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../differential"))
import aarch64                  # noqa: E402
import avx512                   # noqa: E402
import check as differential    # noqa: E402
import edges                    # noqa: E402


class Elsewhere(differential.Judge):
    """The same judge; what is compiled runs on the other machine, which stands before its options."""

    def run(self, machine, *options):
        self.last = super().run(machine, *options) if machine == "--interp" else machine.run(self.path, *options)
        return self.last

    def wrong(self, *way):
        """Of the programs here also what is not finite, of which no bound says anything."""
        bad = super().wrong(*way)
        pairs = zip(*(differential.NUMBER.findall(text) for text in (self.values, self.last[1])))
        other = [pair for pair in pairs if pair[0] != pair[1] and set(pair) & {"inf", "-inf", "nan"}]
        return bad or ("%s where the interpreter has %s" % other[0][::-1] if other and os.path.dirname(self.path) == HERE else None)


def programs(o, folder):
    """(path, random numbers or None) of all that are judged."""
    for name in ("turns", "functions", "narrow", "infinite"):
        yield os.path.join(HERE, name + ".tsr"), None
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/run/*.tsr"))):
        if os.path.exists(path[:-4] + ".out") and not os.path.exists(path[:-4] + ".args"):
            yield path, None
    for number in range(o.seed, o.seed + o.programs):
        rng, path = random.Random(number), os.path.join(folder, "program%d.tsr" % number)
        with open(path, "w") as f:
            f.write(differential.Program(rng).text() if number % 2 else edges.program(rng))
        yield path, rng


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=12)
    o = p.parse_args()
    passed, mistakes = 0, []
    with tempfile.TemporaryDirectory() as folder:
        machines = [m.Machine(o.build, folder) for m in (aarch64, avx512)]
        for path, rng in programs(o, folder):
            with open(path) as f:
                text = f.read()
            ways = [(m, *way) for m in machines if m.runs(text) for way in m.ways(rng, text)]
            judge = Elsewhere(o.build, path) if ways else None
            for way in ways:
                bad = judge.problem or judge.wrong(*way)
                passed += not bad
                mistakes += ["%s %s: %s" % (os.path.basename(path), " ".join(way[1:]), bad)] if bad else []
        mistakes += [text for m in machines for text in m.missed()]
    for text in mistakes:
        print("FAILED " + text)
    print("%d passed, %d failed" % (passed, len(mistakes)))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
