#!/usr/bin/env python3
"""Runs build/unit/math over every f32 argument and writes the table of docs/accuracy.md.

    accuracy.py MATH DOCUMENT
"""
import concurrent.futures, os, re, subprocess, sys

FUNCTIONS = ["exp", "exp2", "log", "log2", "tanh", "erf", "sin", "cos", "sqrt", "recip", "rsqrt", "pow"]
PROCESSORS = {"native": 32, "baseline": 28}     # bits of the arguments that are tried
HEAD = """# How exact the elementary functions are

The worst error in f32 of each function that compiled code evaluates, in units of the last place of the exact result, against the C
library in double precision. `make accuracy` measures it over **every one of the 2^32 arguments** (pow: 2^30 pairs over all
magnitudes, exponents that keep most results finite, and every pair of special values) on a processor with fused multiply-add, over
2^28 of them for the baseline x86-64-v2 without, and rewrites this table; the tests sample 2^20 at each run. Arguments are
hexadecimal, as C's `%a` prints them. Results that must be NaN or infinite are; denormal arguments and results count like all
others.

| function | with FMA | worst at | without | worst at |
|---|---:|---|---:|---|
"""
TAIL = """
exp, tanh and erf look up tables of 16 entries where a processor has AVX-512; with FMA alone they are %s, at `%s`, %s, at `%s`, and %s, at `%s`.
`sqrt`, `recip` and division are the processor's, correctly rounded. With fused multiply-add, a loop that computes or moves much and
divides by what is the same for all of it takes the reciprocal of that once, and what a product with it leaves is divided in the same way
and added: at most 0.50001 units of the last place, and 1.5 where the quotient is less than 2^-110. In f64 each function is the C library's. f16, bf16 and f8 are computed
in f32 and rounded once. Powers whose exponent is known while compiling
and whole, from -16 to 16, or one half, are products and roots in f64 that are rounded once: at most 0.50001 units.
"""


def measure(math, name, processor, bits):
    command = [math, "--bits", str(bits), name] + ([processor] if processor != "native" else [])
    run = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^%s ([0-9.]+) ulp at (.*?)(?::|$)" % name, run.stdout, re.M)
    if not found or run.returncode:
        sys.exit("%s: %s%s" % (" ".join(command), run.stdout, run.stderr))
    return found.groups()


def main():
    math, document = sys.argv[1:3]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(f, p): pool.submit(measure, math, f, p, PROCESSORS[p]) for p in PROCESSORS for f in FUNCTIONS}
        without_tables = [pool.submit(measure, math, f, "x86-64-v3", 32) for f in ("exp", "tanh", "erf")]
        rows = ["| %s | %s |\n" % (f, " | ".join("%s | `%s`" % jobs[f, p].result() for p in PROCESSORS)) for f in FUNCTIONS]
    with open(document, "w") as f:
        f.write(HEAD + "".join(rows) + TAIL % tuple(part for f in without_tables for part in f.result()))
    print("".join(rows), end="")


main()
