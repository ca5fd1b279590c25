#!/usr/bin/env python3
"""Accumulators stay in registers: no loop of a register tile, as it is compiled, reaches for vectors on the stack.  And rows that are no whole tiles are shared with
the last one where registers are few.

    check.py BUILD [--print]

Read from `--dump=asm`, which takes the passes that objects and executables take: a loop is what lies between a label and the jump back
to it, and counts where it multiplies and adds ENOUGH vectors and does little else, what it moves to the stack aside: what comes after the products does more.  Without
AVX-512 masks are vectors, too, and tiles with masks, which stand at edges, have more than 16 of them."""
import os, platform, re, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ["examples/lenet.tsr", "tests/bench/resnet18.tsr", "tests/bench/gpt.tsr"]
CPUS = ["x86-64-v4", "x86-64-v3"]
ENOUGH = 8
# Rows of a product by 64 x 64 and the heights of its tiles: two rows alone would take as long as four, and four of five no longer than three of six.
HEIGHTS = [("x86-64-v3", 128, {6, 5}), ("x86-64-v3", 61, {6, 5}), ("x86-64-v3", 63, {6, 5}), ("x86-64-v3", 64, {6, 4}), ("x86-64-v4", 128, {6, 2})]
STACK = re.compile(r"\(%r[sb]p\).*%[xyz]mm|%[xyz]mm\d+, .*\(%r[sb]p\)")
MASKED = re.compile(r"tsr\.tile\.\w+\.\d+x\d+m")


def functions(text):
    """Of each register tile its name and its lines."""
    for part in re.split(r'\n(?="?tsr\.tile\.)', text)[1:]:
        name, rest = part.split("\n", 1)
        yield name.split(":")[0].strip('"'), rest.split(".Lfunc_end")[0].split("\n")


def loops(lines):
    """From the label to the jump back to it, the smallest ones: those with no other loop in them."""
    label, found = {}, []
    for number, line in enumerate(lines):
        if m := re.match(r"(\.LBB\w+):", line):
            label[m[1]] = number
        elif (m := re.match(r"\tj\w+\t(\.LBB\w+)", line)) and m[1] in label:
            found.append((label[m[1]], number))
    for begin, end in found:
        if not any(begin <= b and e < end for b, e in found):
            yield lines[begin:end]


def heights(tsrc, cpu, rows):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "product.tsr")
        with open(path, "w") as f:
            f.write(f'let%export f (a : "{rows} | 64") (b : "64 | 64") = a +* b "m | k; k | n => m | n" [k]\n')
        run = subprocess.run([tsrc, f"--cpu={cpu}", "--threads=none", "--dump=asm", path], stdout=subprocess.PIPE, text=True)
    return {int(re.match(r"tsr\.tile\.\w+\.(\d+)x", name)[1]) for name, _ in functions(run.stdout)}


def main():
    tsrc, show, passed, failed = os.path.join(sys.argv[1], "tsrc"), "--print" in sys.argv, 0, 0
    for cpu, rows, want in HEIGHTS if platform.machine() == "x86_64" else []:
        got = heights(tsrc, cpu, rows)
        passed, failed = passed + (got == want), failed + (got != want)
        if got != want:
            print(f"{rows} rows, {cpu}: tiles of {sorted(got)} rows, not of {sorted(want)}")
    for program in PROGRAMS if platform.machine() == "x86_64" else []:
        for cpu in CPUS:
            run = subprocess.run([tsrc, f"--cpu={cpu}", "-O2", "--dump=asm", os.path.join(ROOT, program)], stdout=subprocess.PIPE, text=True)
            counted = 0
            for name, lines in functions(run.stdout):
                for body in loops(lines):
                    products = sum("vfmadd" in line for line in body)
                    spilled = [line for line in body if STACK.search(line)]
                    little = 3 * products >= len(body) - len(spilled)
                    if products < ENOUGH or not little or cpu != "x86-64-v4" and MASKED.match(name):
                        continue
                    counted += 1
                    failed += bool(spilled)
                    passed += not spilled
                    if spilled:
                        print(f"{program} {cpu}: {name}: {len(spilled)} vectors on the stack in a loop of {len(body)} lines")
            if show:
                print(f"{program} {cpu}: {counted} loops")
            if not counted:
                failed += 1
                print(f"{program} {cpu}: no loop of a tile found")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
