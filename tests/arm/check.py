#!/usr/bin/env python3
"""Programs for another machine, run: compiled for aarch64 with NEON's register tiles, linked with the runtime by a cross compiler,
started under an emulator, and held to what the interpreter prints here, as tests/differential is: the programs of tests/run that have
products, and random ones.

    check.py BUILD [--seed N] [--programs N]
"""
import argparse
import glob
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../differential"))
import check as differential    # noqa: E402
import edges                    # noqa: E402

TARGET, CROSS, EMULATOR = "aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "qemu-aarch64"


class Elsewhere(differential.Judge):
    """The same judge; what is compiled runs on the other machine."""

    def __init__(self, build, path, folder):
        self.folder = folder
        super().__init__(build, path)

    def run(self, *options):
        if "--interp" in options:
            return super().run(*options)
        assembly, program = (os.path.join(self.folder, name) for name in ("program.s", "program"))
        for command in ([self.tsrc, "--target=" + TARGET, "-S", *options, self.path, "-o", assembly],
                        [CROSS, "-march=armv8.5-a+sve2", "-static", "-pthread", assembly, os.path.join(self.folder, "runtime.a"), "-lm", "-o", program],
                        [EMULATOR, program]):
            p = subprocess.run(command, capture_output=True, text=True)
            if p.returncode:
                return p.returncode, p.stdout, "%s: %s" % (os.path.basename(command[0]), p.stderr[:800])
        return p.returncode, p.stdout, p.stderr


def build_runtime(folder):
    objects = []
    for source in sorted(glob.glob(os.path.join(ROOT, "runtime/*.c"))):
        objects.append(os.path.join(folder, os.path.basename(source)[:-2] + ".o"))
        subprocess.run([CROSS, "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", objects[-1]], check=True)
    subprocess.run([CROSS.replace("gcc", "ar"), "rcs", os.path.join(folder, "runtime.a"), *objects], check=True)


def programs(o, folder):
    """(name, path, ways) of all that are judged."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/run/*.tsr"))):
        with open(path) as f:
            if "+*" in f.read() and os.path.exists(path[:-4] + ".out") and not os.path.exists(path[:-4] + ".args"):
                yield os.path.basename(path), path, [("-O2", "--cpu=neoverse-n1")]
    for number in range(o.seed, o.seed + o.programs):
        rng, path = random.Random(number), os.path.join(folder, "program%d.tsr" % number)
        with open(path, "w") as f:
            f.write(differential.Program(rng).text() if number % 2 else edges.program(rng))
        yield "program%d" % number, path, [("-O2", "--cpu=" + rng.choice(["cortex-a53", "neoverse-v1"])), ("-O3", "--threads=all")]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=12)
    o = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        build_runtime(folder)
        for name, path, ways in programs(o, folder):
            judge = Elsewhere(o.build, path, folder)
            for way in ways:
                bad = judge.problem or judge.wrong(*way)
                passed, failed = passed + (not bad), failed + bool(bad)
                if bad:
                    print("FAILED %s %s: %s" % (name, " ".join(way), bad))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
