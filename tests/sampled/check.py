#!/usr/bin/env python3
"""Random products, convolutions, pools and reductions (tests/bench/sampled.py), small ones, against NumPy: for this processor, with AVX2 and with SSE; one thread, two and three give the same bits.
Operands and results lie beside pages that may not be touched.  Gradients: what each is along random directions.
And the same operations where only the run knows the first operand's first size, which others share: at the one that was drawn, and at others; and products of which it knows all sizes.

    check.py BUILD [--seed N] [--count N] [--scale X]"""
import argparse, ctypes, os, re, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from guarded import Guarded  # noqa: E402
from tally import check, end  # noqa: E402
import common, everyday, gradients, sampled, table  # noqa: E402


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


def judge_gradients(bench, kind):
    """By how much the sum of f(x, y) * above rises along random directions: central differences, by NumPy in f64.  Maxima are of numbers that are all different: of equal ones each has the gradient."""
    h = 1e-8
    model, random = common.Model(bench.shared(bench.written(f"{kind}g.tsr", gradients.program()), f"{kind}g")), np.random.default_rng(3)
    pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
    for i, name in enumerate(gradients.CASES):
        own, _, above = gradients.arguments(name)
        if name.startswith("max of"):
            own = [(x.argsort(None).argsort().reshape(x.shape) / x.size).astype(np.float32) for x in own]
        first, wide = None, [x.astype(np.float64) for x in own]
        model.seconds(f"start{i}", *map(pointer, own))
        for threads in 1, 2, 3:
            bench.probes(threads)
            made = [np.full_like(x, 7) for x in own]
            model.seconds(f"gradient{i}", pointer(above), *map(pointer, made))
            first = made if first is None else first
            check(all(np.array_equal(x, y) for x, y in zip(made, first)), f"gradients of {name}: {threads} threads give other bits")
        for k, g in enumerate(first):
            for _ in range(3):
                v = random.standard_normal(g.shape)
                up, down = (sampled.REFERENCE[name](*wide[:k], wide[k] + step * v, *wide[k + 1:]) for step in (h, -h))
                want = (up - down) / (2 * h) * above
                off = abs(np.vdot(g.astype(np.float64), v) - want.sum())
                size = np.sqrt(max((want ** 2).sum(), ((g * v) ** 2).sum()))     # of one result what the terms come to may be next to nothing
                check(off <= 1e-4 * size, f"gradient {k} of {name}: off by {off:g}, {size:g}")
    model.close()


def unknown(signature, kind, text):
    """The signature with ?n for the first size, of the axis that an einsum's other operand may have, too; and which axes that are."""
    shapes = [[int(n) for n in shape.split(",")] for shape in re.findall(r'"\| ([\d, ]+)"', signature)]
    axes = [(0, 0)]
    if kind == "einsum":
        x, y = text.split("->")[0].split(",")
        axes += [(1, y.index(x[0]))] if x[0] in y else []
    for operand, axis in axes:
        shapes[operand][axis] = "?n"
    names = re.findall(r"\((\w+) :", signature)
    return " ".join(sampled.given(name, shape) for name, shape in zip(names, shapes)), axes


def judge_unknown(bench, kind):
    """Of groups and channels that come first, a batch; the sizes of reductions are in their text."""
    signatures, text = {}, "open Nn\n"
    for i, (name, (_, signature, body, _)) in enumerate(everyday.CASES.items()):
        signatures[name] = unknown(signature, kind, name.split(" ")[0])
        text += f"let%export e{i} {signatures[name][0]} = {body}\n"
    model, pointer = common.Model(bench.shared(bench.written(f"{kind}u.tsr", text), f"{kind}u")), lambda x: x.ctypes.data_as(ctypes.c_void_p)
    for i, name in enumerate(everyday.CASES):
        drawn = list(everyday.arguments(name))
        for n in {drawn[0].shape[0], *((1, drawn[0].shape[0] + 3) if kind != "reduction" else ())}:
            given = list(drawn)
            for operand, axis in signatures[name][1]:
                given[operand] = np.ascontiguousarray(np.take(drawn[operand], range(n), axis, mode="wrap"))
            want, first = sampled.REFERENCE[name](*(x.astype(np.float64) for x in given)), None
            for threads in 1, 2:
                bench.probes(threads)
                made = np.full(want.shape, 7, np.float32)
                model.seconds(f"e{i}", ctypes.c_int64(n), *map(pointer, given), pointer(made))
                first = made if first is None else first
                check(np.array_equal(made, first), f"?n = {n}: {name}: {threads} threads give other bits")
            check(np.allclose(first, want, rtol=1e-4, atol=1e-4 * np.abs(want).max()), f"?n = {n}: {name}: off by {np.abs(first - want).max():g}")
    model.close()


def judge_letters(bench, level):
    """Einsums of which only the run knows every size."""
    file, text = f"letters{level}", "open Nn\n"
    for i, (name, (_, signature, body, _)) in enumerate(everyday.CASES.items()):
        given = zip(re.findall(r"\((\w+) :", signature), name.split("->")[0].split(","))
        text += f"let%export e{i} {' '.join(sampled.given(x, ['?' + a for a in axes]) for x, axes in given)} = {body}\n"
    model = common.Model(bench.shared(bench.written(f"{file}.tsr", text), file, *([f"--cpu=x86-64-{level}"] if level else [])))
    with open(bench.path(f"{file}.h")) as f:
        order = dict(re.findall(rf"{file}_e(\d+)\(tsr_context \*ctx, ([^;]*)\);", f.read()))
    pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
    for i, name in enumerate(everyday.CASES):
        drawn, letters = list(everyday.arguments(name)), name.split(" ")[0].split("->")[0].split(",")
        for more in 0, 1, 5:
            sizes = {a: n + more for x, axes in zip(drawn, letters) for a, n in zip(axes, x.shape)}
            given = [np.pad(x, [(0, more)] * x.ndim, mode="wrap") for x in drawn]
            want, first = sampled.REFERENCE[name](*(x.astype(np.float64) for x in given)), None
            for threads in 1, 2:
                bench.probes(threads)
                made = np.full(want.shape, 7, np.float32)
                model.seconds(f"e{i}", *(ctypes.c_int64(sizes[a]) for a in re.findall(r"int64_t (\w+)", order[str(i)])), *map(pointer, given), pointer(made))
                first = made if first is None else first
                check(np.array_equal(made, first), f"{name}, {more} more of each: {threads} threads give other bits")
            check(np.allclose(first, want, rtol=1e-4, atol=1e-4 * np.abs(want).max()), f"{name}, {more} more of each: off by {np.abs(first - want).max():g}")
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
            judge_gradients(bench, kind)
            judge_unknown(bench, kind)
            if kind == "einsum":
                for level in "", "v3":
                    judge_letters(bench, level)
    end()


main()
