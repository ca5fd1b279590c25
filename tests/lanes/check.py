#!/usr/bin/env python3
"""Products of matrices that lie side by side, element by element, axes that everything walks together, and sums on both sides of one, against NumPy: whole numbers, so that sums are equal in any order; tiles and what
is left of them, blocks of columns, lanes and what is left of them, rows past what the second cache keeps, one thread, two and three, with and without masks."""
import ctypes, os, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from tally import check, end  # noqa: E402
import common, table  # noqa: E402

f32 = np.float32
# rows, columns, depth, and the places: on one axis, or on two that are walked together
PRODUCTS = [(4, 4, 3, (16,)), (9, 7, 5, (40,)), (3, 2, 8, (33,)), (1, 6, 4, (17,)), (6, 1, 4, (17,)), (20, 33, 16, (12, 12)), (5, 5, 5, (7, 9)), (70, 10, 260, (16,)), (13, 6, 2, (3, 5, 7)), (8, 12, 6, (5,)), (2, 3, 4, (64, 64))]
# numbers, and the axis that sums and maxima go over
AXES = [((18, 35, 11), 0), ((3, 64, 8, 2, 3), 0), ((5, 7, 3, 4), 1), ((6, 9, 5), 1), ((4, 1, 10, 20), 0), ((2, 3, 14, 14), 1), ((7, 5, 1, 9), 2), ((40, 3), 0),
        ((30, 70, 9), 1), ((20, 40, 5), 1), ((9, 41, 13), 1), ((8, 33, 4), 1), ((12, 64, 15), 1), ((300, 11), 0), ((2, 300, 7), 1), ((5, 40, 6), 1),
        ((12, 96, 400), 0), ((3, 10, 128, 150), 1), ((9, 33, 1001), 0), ((40, 8192), 0), ((5, 21, 64, 80), 1), ((300, 2048), 0), ((2, 12, 160, 192), 1), ((23, 9001), 0), ((3, 27, 4099), 1), ((5, 19, 1500), 1)]
# numbers whose last axis but one is kept, as groups of channels are, and whose last axis, those before and, but for the last three, all after the first are gone over: groups that are side by side or too many, of lanes that fill
# a vector, a part of one or more
GROUPS = [((9, 8, 8), 0), ((2, 7, 5, 6, 8), 1), ((3, 20, 7, 4), 1), ((2, 40, 3, 12), 1), ((1, 6, 6, 16, 2), 1), ((2, 19, 10, 16), 1), ((18, 5, 7), 0), ((3, 17, 1, 20), 1), ((2, 33, 4, 31), 1), ((50, 11, 5), 0), ((2, 5, 9, 300, 3), 1), ((4, 17, 24, 4), 1), ((3, 11, 5, 16, 4), 1), ((1, 9, 9, 40, 8), 1), ((2, 30, 8, 4), 1), ((21, 128, 4), 0)]
# rows and columns of running sums that several walks read
RUNNING = [(200, 4096), (150, 4100)]


BY_ONE = {}


def listed(x):
    return ", ".join(map(str, x))


def program():
    lines = []
    for i, (m, n, k, places) in enumerate(PRODUCTS):
        p = listed("pqr"[:len(places)])
        given = f'(x : "{m}, {k}, {listed(places)} |") (y : "{k}, {n}, {listed(places)} |")'
        lines.append(f'let%export p{i} {given} = x +* y "m, k, {p} |; k, n, {p} | => m, n, {p} |"')
        lines.append(f'let%export q{i} (x : "{m}, {k}, {listed(places)} |") (y : "{n}, {k}, {listed(places)} |") (b : "{m} |") =\n'
                     f'  relu ((x +* y "m, k, {p} |; n, k, {p} | => m, n, {p} |") + (b ++ "m => m, {listed("0" * (len(places) + 1))} |"))'.replace('"m =>', '"m | =>'))
    for i, (shape, axis) in enumerate(AXES):
        a = "abcde"[:len(shape)]
        ones = listed("0" if k == axis else c for k, c in enumerate(a))
        lines.append(f'let%export m{i} (x : "| {listed(shape)}") =\n  let m = x @^^ "{listed(a)} => {ones}" in\n  let d = x - m in\n  d *. 2. + (d ++ "{listed(a)} => {ones}")')
        lines.append(f'let%export e{i} (x : "| {listed(shape)}") =\n  let e = exp (x - (x @^^ "{listed(a)} => {ones}")) in\n  e /. (e ++ "{listed(a)} => {ones}")')
        lines.append(f'let%export s{i} (x : "| {listed(shape)}") = x ++ "{listed(a)} => {listed(c for k, c in enumerate(a) if k != axis)}"')
    for i, (shape, batches) in enumerate(GROUPS):
        a = "abcde"[:len(shape)]
        ones = listed(c if k < batches or k == len(a) - 2 else "0" for k, c in enumerate(a))
        own = listed([*"0" * (len(a) - 2), *a[-2:]])
        lines.append(f'let%export g{i} (x : "| {listed(shape)}") (s : "| {listed(shape[-2:])}") (t : "| {shape[-1]}") =\n  let d = x - (x @^^ "{listed(a)} => {ones}") in\n'
                     f'  d *. (s ++ "{listed(a[-2:])} => {own}") + (t ++ "{a[-1]} => {listed([*"0" * (len(a) - 1), a[-1]])}") + (d ++ "{listed(a)} => {ones}") - (d *. d ++ "{listed(a)} => {ones}")')
    for i, (rows, columns) in enumerate(RUNNING):
        lines.append(f'let%export c{i} (x : "{rows} | {columns}") =\n  let p = positions () ++ "s => s, 0 | 0" [s] in\n  set_dim s {rows};\n'
                     '  let c = (where ((positions () ++ "t => 0, t | 0") <= p) (x ++ "t | m => 0, t | m") 0.) ++ "s, t | m => s | m" in\n'
                     '  c *. 2. - (c @^^ "s | m => 0 | m") + (c ++ "s | m => 0 | m")')
    return "\n".join(lines) + "\n"


def address(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def judge(model, threads):
    random = np.random.default_rng(11)
    for i, (m, n, k, places) in enumerate(PRODUCTS):
        x, y, z = (random.integers(-4, 5, (*shape, *places)).astype(f32) for shape in ((m, k), (k, n), (n, k)))
        b, made = random.integers(-9, 9, m).astype(f32), np.full((m, n, *places), 7, f32)
        model.seconds(f"p{i}", address(x), address(y), address(made))
        check(np.array_equal(made, np.einsum("mk...,kn...->mn...", x, y)), f"{PRODUCTS[i]}, {threads} threads")
        model.seconds(f"q{i}", address(x), address(z), address(b), address(made))
        wanted = np.einsum("mk...,nk...->mn...", x, z) + b.reshape(m, *[1] * (1 + len(places)))
        check(np.array_equal(made, np.maximum(wanted, 0)), f"{PRODUCTS[i]} with what follows it, {threads} threads")
    for i, (shape, axis) in enumerate(AXES):
        x, made = random.integers(-99, 99, shape).astype(f32), np.full(shape, 7, f32)
        model.seconds(f"m{i}", address(x), address(made))
        d = x - x.max(axis, keepdims=True)
        check(np.array_equal(made, 2 * d + d.sum(axis, keepdims=True)), f"{AXES[i]}, {threads} threads")
        e = np.exp(d.astype(np.float64))
        model.seconds(f"e{i}", address(x), address(made))
        check(np.allclose(made, e / e.sum(axis, keepdims=True), rtol=1e-5, atol=1e-30), f"softmax of {AXES[i]}, {threads} threads")
        check(np.array_equal(made, BY_ONE.setdefault((model.name, i), made)), f"softmax of {AXES[i]}, {threads} threads: not what one makes")
        made = np.full(x.sum(axis).shape, 7, f32)
        model.seconds(f"s{i}", address(x), address(made))
        check(np.array_equal(made, x.sum(axis)), f"sums of {AXES[i]}, {threads} threads")
    for i, (shape, batches) in enumerate(GROUPS):
        x, made, axes = random.integers(-3, 4, shape).astype(f32), np.full(shape, 7, f32), tuple(k for k in range(batches, len(shape)) if k != len(shape) - 2)
        s, t = random.integers(-9, 9, shape[-2:]).astype(f32), random.integers(-9, 9, shape[-1:]).astype(f32)
        model.seconds(f"g{i}", address(x), address(s), address(t), address(made))
        d = x - x.max(axes, keepdims=True)
        check(np.array_equal(made, s * d + t + d.sum(axes, keepdims=True) - (d * d).sum(axes, keepdims=True)), f"groups of {GROUPS[i]}, {threads} threads")
    for i, shape in enumerate(RUNNING):
        x, made = random.integers(-9, 10, shape).astype(f32), np.full(shape, 7, f32)
        model.seconds(f"c{i}", address(x), address(made))
        c = x.cumsum(0)
        check(np.array_equal(made, 2 * c - c.max(0) + c.sum(0)), f"running sums of {shape}, {threads} threads")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 2, table.Table())
        source = bench.written("lanes.tsr", program())
        common.judged(bench, source, judge, "lanes")
        for level in "x86-64-v3", "x86-64-v2":
            stem = "lanes" + level[-2:]
            os.rename(source, bench.path(stem + ".tsr"))
            source = bench.path(stem + ".tsr")
            common.judged(bench, source, judge, stem, (1, 2), ["--cpu=" + level])
    end()


main()
