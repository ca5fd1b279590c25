#!/usr/bin/env python3
"""Training steps go through the engine: of the operations that `--dump=schedule` counts, no nest that the contraction engine does not
run has more than a fiftieth.

    check.py BUILD [--print]"""
import os, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ["examples/digits.tsr", "examples/lenet.tsr", "tests/bench/resnet18.tsr", "tests/bench/gpt.tsr"]
MOST = 0.02
# What was measured on a processor, and is chosen for it: a product's operands, what it sums, and the tile, blocks and packing.
CHOSEN = [
    ("znver5", "1024, 384 |", "1024, 1536 |", "k, m |; k, n | => m, n |", r"tile 14 x 32, .* k 256, no packing"),          # x^T x: tall tiles, both in place
    ("znver5", "1024, 1536 |", "1024, 384 |", "k, m |; k, n | => m, n |", r"tile 14 x 32, .* k 256, pack B"),              # of many rows B is copied
    ("znver5", "2048, 32 |", "2048, 512 |", "k, m |; k, n | => m, n |", r"tile 11 x 32, .* k 128, sums aside"),            # few rows
    ("x86-64-v3", "1024, 384 |", "1024, 1536 |", "k, m |; k, n | => m, n |", r"pack both"),                                # where registers are few it is packed
    ("znver5", "4096, 4096 |", "4096, 32 |", "m, k |; k, n | => m, n |", r"tile 8 x 32, .* k 1024, no packing"),           # long rows of A by a narrow B
    ("x86-64-v3", "8, 28, 28, 32, 12 |", "3, 3, 32, 12, 4 |", "b, h =+ i, w =+ j, g, c |; i, j, g, c, f | => b, h, w, g, f |", r"tile 8 x 4, .* all of the batch by 80 rows"),   # groups of too many numbers to spread: half vectors, some rows of all
    ("znver5", "8, 512 |", "512, 64 |", "m, k |; k, n | => m, n |", r"tile 5 x 64, "),                                     # no tile of few sums is left over
    ("znver4", "32, 512 |", "512, 1024 |", "m, k |; k, n | => m, n |", r"tile 9 x 32, .* k 512, pack B early"),            # rows of B crowd the first cache, and a deep panel comes from the second
    ("znver5", "32, 512 |", "512, 1024 |", "m, k |; k, n | => m, n |", r"tile 11 x 32, .* no packing"),                                 # not measured there
    ("znver4", "64, 640 |", "640, 768 |", "m, k |; k, n | => m, n |", r"tile 6 x 64, .* no packing"),                      # rows that do not
    ("znver4", "100, 2048 |", "2048, 2048 |", "m, k |; k, n | => m, n |", r"pack both, B early"),                          # ten rows of A in one of eight ways
    ("znver4", "100, 2000 |", "2000, 2048 |", "m, k |; k, n | => m, n |", r"pack B early"),
    ("znver4", "4, 4096 |", "4096, 4096 |", "m, k |; k, n | => m, n |", r"tile 8 x 32, .* k 8, sums aside"),               # few rows by a B from memory, whole pages apart: by eight of its rows in turn
    ("znver4", "4, 4000 |", "4000, 4000 |", "m, k |; k, n | => m, n |", r"tile 4 x 64, .* k 64, sums aside"),              # others by deep blocks, which are asked for two panels ahead
    ("znver4", "12, 4096 |", "4096, 4096 |", "m, k |; k, n | => m, n |", r"tile 6 x 64, .* k 187, sums aside"),
    ("znver4", "64, 2048 |", "2048, 2048 |", "m, k |; k, n | => m, n |", r"tile 8 x 48, .* k 342, no packing"),            # where as many rows pack B elsewhere
    ("znver4", "4096 |", "4096, 4096 |", "k |; k, n | => n |", r"tile .* k 6, B's rows spread"),                           # a vector by a B from memory: streams of their own, in parts that threads divide
    ("znver4", "5000 |", "5000, 4000 |", "k |; k, n | => n |", r"tile .* k 8, B's rows spread"),
    ("znver4", "1024 |", "1024, 1024 |", "k |; k, n | => n |", r"tile .* no packing"),
    ("znver5", "4096 |", "4096, 4096 |", "k |; k, n | => n |", r"tile .* no packing"),
    ("znver4", "8, 4000 |", "4000, 4000 |", "m, k |; n, k | => m, n |", r"tile 4 x 16, .* k 4000, dot products"),             # columns that are asked for, in long stretches
    ("znver4", "24, 4000 |", "4000, 4000 |", "m, k |; n, k | => m, n |", r"tile 6 x 16, .* k 4000, dot products"),
    ("znver4", "24, 4096 |", "4096, 4096 |", "m, k |; n, k | => m, n |", r"tile 4 x 16, .* k 4096, dot products"),            # whose rows fall into one set with those of A
    ("znver4", "1433, 40 |", "1433, 1433 |", "k, m |; k, n | => m, n |", r"tile \d+ x 16, "),                               # torn rows from far: narrow tiles, though they ask for panels
    ("znver5", "64, 2048 |", "2048, 2048 |", "m, k |; k, n | => m, n |", r"pack B early"),
]
# From which square on two threads share a product: alone, and among others, where what one reads is in another core's cache.
DIVIDED = [("znver4", 60, 76), ("x86-64-v4", 76, 76)]      # a multiply-add of a whole register takes both units of the former
SPEC = '"m, k |; k, n | => m, n |"'
# What is more, and why: (program, kernel): the most that it may be.
ELSE = {
    ("examples/lenet.tsr", "loss.maps.4"): 0.03,          # the gradient of a maximum over windows, of only 6 channels
}


def nests(text, unit):
    """Of each kernel of the unit: its name, its operations, and whether the engine runs it."""
    found = []
    for line in re.search(rf"^unit {unit}\n((?:  .*\n?)*)", text, re.M).group(1).split("\n"):
        if m := re.match(r"  (\S.*): (\d+) operations, ", line):
            found.append([m[1], int(m[2]), False])
        elif re.match(r"    contraction: .*; tile ", line):
            found[-1][2] = True
    return found


def main():
    tsrc, show, passed, failed = os.path.join(sys.argv[1], "tsrc"), "--print" in sys.argv, 0, 0
    for program in PROGRAMS:
        run = subprocess.run([tsrc, "--cpu=x86-64-v4", "--dump=schedule", os.path.join(ROOT, program)], stdout=subprocess.PIPE, text=True)
        kernels = nests(run.stdout, "step") if run.returncode == 0 else []
        total = sum(n for _, n, _ in kernels)
        outside = sum(n for _, n, engine in kernels if not engine)
        if show:
            print(f"{program}: {total} operations, {outside / total:.2%} outside the engine")
        for name, n, engine in kernels:
            if show and n > 0.002 * total and not engine:
                print(f"  {name}: {n / total:.2%}")
            if not engine and n > ELSE.get((program, name), MOST) * total:
                failed += 1
                print(f"{program}: {name} has {n / total:.1%} of the step's operations and is not run by the engine")
            else:
                passed += 1
        if not any(engine for *_, engine in kernels):
            failed += 1
            print(f"{program}: nothing goes through the engine")
    for cpu, a, b, spec, wanted in CHOSEN:
        with tempfile.NamedTemporaryFile("w", suffix=".tsr") as f:
            f.write(f'let%export p (a : "{a}") (b : "{b}") = a +* b "{spec}"\n')
            f.flush()
            run = subprocess.run([tsrc, "--cpu=" + cpu, "--dump=schedule", f.name], stdout=subprocess.PIPE, text=True)
        holds = run.returncode == 0 and re.search(f"; {'.*' if wanted.startswith('pack') else ''}{wanted}", run.stdout) is not None
        passed, failed = passed + holds, failed + (not holds)
        if not holds:
            print(f"{a} by {b}, {cpu}: no {wanted} in {run.stdout[-300:]}")
    for cpu, alone, among in DIVIDED:
        for least, result in ((alone, "p"), (among, f"p +* b {SPEC}")):
            for n in (least - 4, least):
                with tempfile.NamedTemporaryFile("w", suffix=".tsr") as f:
                    f.write(f'let%export f (a : "{n}, {n} |") (b : "{n}, {n} |") = let p = a +* b {SPEC} in {result}\n')
                    f.flush()
                    run = subprocess.run([tsrc, "--cpu=" + cpu, "--dump=schedule", f.name], stdout=subprocess.PIPE, text=True)
                holds = run.returncode == 0 and ("is divided among threads" in run.stdout) == (n == least)
                passed, failed = passed + holds, failed + (not holds)
                if not holds:
                    print(f"{n} cubed, {cpu}, {result}: divided among threads or not, other than from {least} on")
    # a product with few columns, of rows without end: there is a tile for it on any processor, in any time
    for cpu in ("x86-64", "x86-64-v3", "x86-64-v4"):
        run = subprocess.run([tsrc, "--cpu=" + cpu, "--dump=schedule", os.path.join(ROOT, "tests/opt/rows-beyond-counting-are-not-tried-one-by-one.tsr")], stdout=subprocess.PIPE, text=True)
        holds = run.returncode == 0 and "; tile " in run.stdout
        passed, failed = passed + holds, failed + (not holds)
        if not holds:
            print(f"rows beyond counting, {cpu}: exit status {run.returncode}, no tile")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
