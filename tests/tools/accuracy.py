#!/usr/bin/env python3
"""Runs build/unit/math over every f32 argument and writes the table of docs/accuracy.md.

    accuracy.py MATH DOCUMENT [FUNCTION ...]
"""
import concurrent.futures, os, re, subprocess, sys

FUNCTIONS = ["exp", "exp2", "log", "log2", "tanh", "erf", "sin", "cos", "sqrt", "recip", "rsqrt", "pow"]
PROCESSORS = {"x86-64-v4": 32, "x86-64-v3": 32, "x86-64-v2": 28}     # bits of the arguments that are tried
HEAD = """# How exact the elementary functions are

The worst error in f32 of each function that compiled code evaluates, in units of the last place of the exact result, against the C
library in double precision. `make accuracy` measures it over **every one of the 2^32 arguments** (pow: 2^30 pairs over all
magnitudes, exponents that keep most results finite, and every pair of special values) with AVX-512 (x86-64-v4; exp, tanh and erf look up
tables of 16 entries there) and with AVX2 and FMA (x86-64-v3), over 2^28 of them for the baseline without (x86-64-v2), and rewrites this
table; what the processor that measures does not have stays as it was. The tests sample 2^20 at each run. Arguments are
hexadecimal, as C's `%a` prints them. Results that must be NaN or infinite are; denormal arguments and results count like all
others.

| function | AVX-512 | worst at | AVX2, FMA | worst at | without | worst at |
|---|---:|---|---:|---|---:|---|
"""
TAIL = """
Where erf is added, times a factor, to a constant that is not less, as in gelu, and a processor has FMA but not AVX-512, erf is of fewer instructions: within 1.605 * 2^-24 of the
exact result over all arguments (of 2^-24 relative to it 2.9 at most), 0, 1 and -1 where that is what it rounds to; `0.5 + 0.5 erf x` then lacks at most 1.31 * 2^-24.
`sqrt`, `recip` and division are the processor's, correctly rounded. Where vectors divide slowly (AVX-512, NEON), a loop that computes or moves much and
divides by what is the same for all of it takes the reciprocal of that once, and what a product with it leaves is divided in the same way
and added: at most 0.50001 units of the last place, and 1.5 where the quotient is less than 2^-110. In f64 each function is the C library's. f16, bf16 and f8 are computed
in f32 and rounded once; products of bf16 by matrix registers (AMX) take denormals for 0, and sums there that are denormal become 0. Powers whose exponent is known while compiling
and whole, from -16 to 16, or one half, are products and roots in f64 that are rounded once: at most 0.50001 units.
"""


def has(processor):
    with open("/proc/cpuinfo") as f:
        flags = re.search(r"^flags\s*:(.*)$", f.read(), re.M).group(1).split()
    return {"x86-64-v4": "avx512vl", "x86-64-v3": "fma", "x86-64-v2": "sse4_2"}[processor] in flags


def measure(math, name, processor, bits):
    command = [math, "--bits", str(bits), name, processor]
    run = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^%s ([0-9.]+) ulp at (.*?)(?::|$)" % name, run.stdout, re.M)
    if not found or run.returncode:
        sys.exit("%s: %s%s" % (" ".join(command), run.stdout, run.stderr))
    return found.groups()


def recorded(document):
    """{(function, processor): (ulp, argument)} of the table that is there."""
    table = {}
    with open(document) as f:
        for line in f:
            cells = [c.strip(" `") for c in line.strip().strip("|").split("|")]
            if cells[0] in FUNCTIONS:
                table.update({(cells[0], p): tuple(cells[1 + 2 * i:3 + 2 * i]) for i, p in enumerate(PROCESSORS)})
    return table


def main():
    math, document, *only = sys.argv[1:]
    table = recorded(document)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(f, p): pool.submit(measure, math, f, p, bits) for p, bits in PROCESSORS.items() if has(p) for f in only or FUNCTIONS}
        table.update({key: job.result() for key, job in jobs.items()})
    rows = ["| %s | %s |\n" % (f, " | ".join("%s | `%s`" % table[f, p] for p in PROCESSORS)) for f in FUNCTIONS]
    with open(document, "w") as f:
        f.write(HEAD + "".join(rows) + TAIL)
    print("".join(rows), end="")


main()
