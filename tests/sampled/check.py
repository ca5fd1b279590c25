#!/usr/bin/env python3
"""Random products, convolutions, pools and reductions (tests/bench/sampled.py), small ones, against NumPy: for this processor, with AVX2 and with SSE; one thread, two and three give the same bits.
Operands and results lie beside pages that may not be touched.

    check.py BUILD [--seed N] [--count N] [--scale X]"""
import argparse, ctypes, os, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from guarded import Guarded  # noqa: E402
from tally import check, end  # noqa: E402
import common, everyday, sampled, table  # noqa: E402


def judge(bench, kind, level):
    model = common.Model(bench.shared(bench.written(f"{kind}{level}.tsr", everyday.program()), f"{kind}{level}", *([f"--cpu=x86-64-{level}"] if level else [])))
    for i, name in enumerate(everyday.CASES):
        guard, given = Guarded(), list(everyday.arguments(name))
        given = [guard.copy(x, i % 2) for x in given]
        want, first = sampled.REFERENCE[name](*(x.astype(np.float64) for x in given)), None
        for threads in 1, 2, 3:
            bench.probes(threads)
            made = guard.copy(np.full(want.shape, 7, np.float32), i % 2)
            model.seconds(f"e{i}", *(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, made)))
            first = made if first is None else first
            check(np.array_equal(made, first), f"{level or 'native'}: {name}: {threads} threads give other bits")
        check(np.allclose(first, want, rtol=1e-4, atol=1e-4 * np.abs(want).max()), f"{level or 'native'}: {name}: off by {np.abs(first - want).max():g}")
    model.close()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=24)
    arguments.add_argument("--scale", type=float, default=0.02)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(given.build, tmp, 1, 3, table.Table())
        for kind in sampled.KINDS:
            sampled.choose(kind, given.seed, given.count, given.scale)
            for level in "", "v3", "v2":
                judge(bench, kind, level)
    end()


main()
