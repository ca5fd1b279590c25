#!/usr/bin/env python3
"""Runs build/unit/math over every f32 argument, and math_f64 beside it over a sample, and writes the tables of docs/accuracy.md.

    accuracy.py MATH DOCUMENT [FUNCTION ...]         a function in f64 is named exp.f64
"""
import concurrent.futures, os, re, subprocess, sys

FUNCTIONS = ["exp", "exp2", "log", "log2", "tanh", "erf", "sin", "cos", "sqrt", "recip", "rsqrt", "pow"]
PROCESSORS = {"x86-64-v4": 32, "x86-64-v3": 32, "x86-64-v2": 28}     # bits of the arguments that are tried
FUNCTIONS_F64 = ["exp", "exp2", "log", "log2", "tanh", "erf", "sin", "cos", "pow"]
BITS_F64 = 22
HEAD = """# How exact the elementary functions are

The worst error in f32 of each function that compiled code evaluates, in units of the last place of the exact result, against the C
library in double precision. `make accuracy` measures it over **every one of the 2^32 arguments** (pow: 2^30 pairs over all
magnitudes, exponents that keep most results finite, and every pair of special values) with AVX-512 (x86-64-v4; exp, log, log2, tanh and erf look up
tables of 16 entries there) and with AVX2 and FMA (x86-64-v3; exp has a table of 8), over 2^28 of them for the baseline without (x86-64-v2), and rewrites this
table; what the processor that measures does not have stays as it was. The tests sample 2^20 at each run. Arguments are
hexadecimal, as C's `%a` prints them. Results that must be NaN or infinite are; denormal arguments and results count like all
others.

| function | AVX-512 | worst at | AVX2, FMA | worst at | without | worst at |
|---|---:|---|---:|---|---:|---|
"""
TAIL = """
Where erf or tanh is added, times a factor, to a constant that is not less, as in gelu and the logistic function, and a processor has FMA, it is of fewer
instructions: 0, 1 and -1 where that is what it rounds to, or nearer. `0.5 + 0.5 erf x` lacks at most 1.41 * 2^-24, `0.5 + 0.5 tanh x` at most 1.40 * 2^-24; with AVX-512, where all of the sum is
one table of 16 entries or one quotient, 1.34 * 2^-24 and 1.50 * 2^-24. Without AVX-512 an exponential beside a constant is of fewer, too: `1 / (1 + e^-x)` lacks at most 3.44 units of its last place, and below 2^-124 it is as little as that.
`sqrt`, `recip` and division are the processor's, correctly rounded. Where vectors divide slowly (AVX-512, NEON), a loop that computes or moves much and
divides by what is the same for all of it takes the reciprocal of that once, and what a product with it leaves is divided in the same way
and added: at most 0.50001 units of the last place, and 1.5 where the quotient is less than 2^-110. f16, bf16 and f8 are computed
in f32 and rounded once; products of bf16 by matrix registers (AMX) or by pairs (Zen 5) take denormals for 0, and sums there that are denormal become 0. Powers whose exponent is known while compiling
and whole, from -16 to 16, or one half, are products and roots in f64 that are rounded once: at most 0.50001 units. With FMA a third power is of two products in f32 and what they round away: as
near, and 1 unit where it is less than 2^-100.
"""


HEAD_F64 = """
## In f64

The worst error found in 2^22 arguments of each, against the C library in long double (64 digits), with FMA (x86-64-v3; AVX-512 and NEON compute the same numbers in other
widths) and without (x86-64-v2). Half of the arguments lie evenly where the function neither vanishes nor overflows (exp -746 .. 710, exp2 -1076 .. 1025, log and log2 0 .. 4,
tanh -20 .. 20, erf -6 .. 6, sin and cos -100 .. 100), an eighth within 1/8 of 1 (sin and cos: the nearest numbers to multiples of pi/2 up to 2^34), an eighth in -2 .. 2, a quarter
are random bits, and 55 are special: zeros, infinities, NaN, ends of the normal and subnormal numbers and of each function. Pow: bases near 1, below 8, of both signs, and of all
magnitudes, with exponents that keep most results finite, and every pair of special values. The tests take 2^17 at each run.

| function | FMA | worst at | without | worst at |
|---|---:|---|---:|---|
"""
TAIL_F64 = """
Sine and cosine of more than 2^25 (without FMA 2^20) are the C library's, and so are powers that lie outside of 2^-1020 .. 2^1020, of a subnormal base, and of a negative one unless the exponent is known
while compiling and whole. Exponents that are known and 2, -1, 0.5 or -0.5 are products, quotients and roots; the third power is two products, 1.5 units at most.
Of 2^26 arguments tanh's worst was 1.094, at `0x1.000b2a67c977p-3`.
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


def sampled(math, only):
    """Rows in f64; a function that is not asked for keeps its own."""
    processors = [p for p in list(PROCESSORS)[1:] if has(p)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(f, p): pool.submit(measure, math + "_f64", f, p, BITS_F64) for p in processors for f in FUNCTIONS_F64 if not only or f + ".f64" in only}
    return {key: job.result() for key, job in jobs.items()}


def recorded_f64(document):
    with open(document) as f:
        text = f.read()
    rows = [[c.strip(" `") for c in line.strip().strip("|").split("|")] for line in text[text.find("## In f64"):].splitlines()] if "## In f64" in text else []
    return {(c[0], p): tuple(c[1 + 2 * i:3 + 2 * i]) for c in rows if c[0] in FUNCTIONS_F64 for i, p in enumerate(list(PROCESSORS)[1:])}


def table_of(functions, processors, table):
    return "".join("| %s | %s |\n" % (f, " | ".join("%s | `%s`" % table[f, p] for p in processors)) for f in functions)


def recorded(document):
    """{(function, processor): (ulp, argument)} of the table that is there."""
    table = {}
    with open(document) as f:
        for line in f.read().split("## In f64")[0].splitlines():
            cells = [c.strip(" `") for c in line.strip().strip("|").split("|")]
            if cells[0] in FUNCTIONS:
                table.update({(cells[0], p): tuple(cells[1 + 2 * i:3 + 2 * i]) for i, p in enumerate(PROCESSORS)})
    return table


def main():
    math, document, *only = sys.argv[1:]
    table, table_f64 = recorded(document), recorded_f64(document)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(f, p): pool.submit(measure, math, f, p, bits) for p, bits in PROCESSORS.items() if has(p) for f in FUNCTIONS if not only or f in only}
        table.update({key: job.result() for key, job in jobs.items()})
    table_f64.update(sampled(math, only))
    rows, rows_f64 = table_of(FUNCTIONS, PROCESSORS, table), table_of(FUNCTIONS_F64, list(PROCESSORS)[1:], table_f64)
    with open(document, "w") as f:
        f.write(HEAD + rows + TAIL + HEAD_F64 + rows_f64 + TAIL_F64)
    print(rows, rows_f64, sep="\n", end="")


main()
