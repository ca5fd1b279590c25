#!/usr/bin/env python3
"""Products of f32 by matrix registers (engine/thirds.c): each third counts, to the last bit; orders of axes, blocks, edges, tails and padding against NumPy, within what the order of a sum explains;
infinities, NaNs, the largest numbers and denormals; one thread, two and three give the same bits.  A machine without such registers has nothing to check.

    check.py BUILD [--seed N]"""
import argparse, ctypes, os, re, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from guarded import Guarded  # noqa: E402
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

UNIT = 2.0 ** -24
FLUSHED = 2.0 ** -122                # what registers make of the least parts of a product
ORDERS = ("ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ji", "hik,hkj->hij", "ihk,khj->hji", "ik,kj->ji", "aick,ckbj->aibj")
SIZES = {"i": (160, 230, 300), "j": (160, 190, 257), "k": (64, 96, 150, 500, 1500), "h": (2, 3), "a": (1, 4), "b": (1, 3), "c": (1, 3)}
LATER = (1, 7, 31, 95, 96, 97, 128, 161, 300)    # around what is enough where only the run knows it
MIXED = (4, 5, 8, 12, 16), (16, 20, 24, 32)      # of the first axis of a class, and of the second
LONG, HEADS, EACH = 2304, 2, 64
ATTENTION = f'''open Nn
let%op attend q k v =
  let scores = (q +* k "h, s | d; h, t | d => h, s | t" [d]) /. sqrt (dim d) in
  softmax ~over:"... | t" scores +* v "h, s | t; h, t | e => h, s | e"
let%export f (q : "{HEADS}, {LONG} | {EACH}") (k : "{HEADS}, {LONG} | {EACH}") (v : "{HEADS}, {LONG} | {EACH}") = attend q k v
'''
IMAGE = 'let%export f (x : "2, 21, 19, 64") (w : "3, 3, 64, 128") = relu (x +* w "b, h =+ k, w =+ l, c; k, l, c, o => b, h, w, o")\n'


def text(spec, sizes, tail, later=""):
    (a, b), c = spec.split("->")[0].split(","), spec.split("->")[1]
    shape = lambda axes: ", ".join("?" + x if x in later else str(sizes[x]) for x in axes)  # noqa: E731
    named = lambda axes: ", ".join(axes)  # noqa: E731
    product = f'a +* b "{named(a)}; {named(b)} => {named(c)}"'
    return f'let%export f (a : "{shape(a)}") (b : "{shape(b)}") = {tail % product}\n', [tuple(sizes[x] for x in axes) for axes in (a, b, c)]


class Case:
    """A program of one function, and whether its products are by thirds."""
    number = 0

    def __init__(self, bench, program):
        Case.number += 1
        self.bench, path = bench, bench.written(f"t{Case.number}.tsr", program)
        plan = run(bench.tsrc, "--dump=schedule", path)[1]
        self.thirds, self.registers = "in thirds" in plan, "matrix registers" in plan
        self.model = common.Model(bench.shared(path, f"t{Case.number}"))
        with open(bench.path(f"t{Case.number}.h")) as f:
            self.sizes = re.findall(r"int64_t (\w+)", re.search(r"_f\(([^;]*)\);", f.read())[1])

    def __call__(self, shape, *operands, sizes={}, dtype=None):
        guard, first = Guarded(), None
        given = [guard.copy(x, i % 2) for i, x in enumerate(operands)]
        for threads in 1, 2, 3:
            self.bench.probes(threads)
            made = guard.copy(np.full(shape, 7, dtype or operands[0].dtype))
            self.model.seconds("f", *(ctypes.c_int64(sizes[x]) for x in self.sizes), *(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, made)))
            first = made if first is None else first
            check(np.array_equal(made, first, equal_nan=True), f"{threads} threads give other bits")
        return first.copy()


def exact(bench, r):
    """Each of the six products of thirds alone: numbers of 24 digits by 1, and of 9 by others of 9, are what they are."""
    n = 160
    one, long = np.eye(n, dtype=np.float32), r.standard_normal((n, n), np.float32)
    short = np.diag((1 + r.integers(1, 256, n) / 256)).astype(np.float32)
    case = Case(bench, text("ik,kj->ij", {"i": n, "j": n, "k": n}, "%s")[0])
    check(case.thirds, "160 x 160 x 160 is not by thirds")
    check(np.array_equal(case((n, n), long, one), long) and np.array_equal(case((n, n), one, long), long), "a third of a number is lost")
    check(np.array_equal(case((n, n), short, short), short @ short), "the product of two second thirds is lost")
    odd, mild = long.copy(), r.uniform(-0.1, 0.1, (n, n)).astype(np.float32)
    odd[3, 5], odd[97, 2], odd[40, 41], odd[1, 7], odd[2, 2] = np.inf, -np.inf, np.nan, 3.4e38, np.finfo(np.float32).max
    with np.errstate(all="ignore"):
        for a, b in (odd, one), (one, odd), (odd, mild), (mild, odd):
            made, want = case((n, n), a, b), (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
            bound, rows = n * UNIT * (abs(a.astype(np.float64)) @ abs(b.astype(np.float64))), np.isfinite(want)
            check(np.array_equal(np.isnan(made), np.isnan(want)) and np.array_equal(made[np.isinf(want)], want[np.isinf(want)]), f"infinities or NaNs are not those of the product: {np.argwhere(np.isnan(made) != np.isnan(want))[:4]} {np.argwhere(np.isinf(made) != np.isinf(want))[:4]}")
            check((abs(made - want)[rows] <= bound[rows]).all(), "numbers beside an infinity are off")
    hidden = np.frombuffer(np.uint32(0x7f800001).tobytes(), np.float32)[0]       # a NaN whose digits are all in what bf16 has not
    odd = long.copy()
    odd.view(np.uint32)[9, 9] = 0x7f800001
    check(np.isnan(hidden) and np.isnan(case((n, n), odd, one)[9]).all(), "a NaN became infinite")


def near(bench, r, spec, sizes, tail, small=1.0):
    case = Case(bench, text(spec, sizes, tail)[0])
    judge(case, r, spec, sizes, tail, small)
    return case.thirds


def later(bench, r, spec, narrow="", some=""):
    """Some sizes or all are the run's: by thirds, or numbers in bf16 as they are, where they turn out to be enough."""
    names = sorted(set(spec) & set("ijkh"))
    some = some or [x for x in names if r.random() < 0.6] or names
    tail, sizes = str(r.choice(("%s", "relu (%s)"))), {x: int(r.choice(SIZES[x])) for x in names}
    case = Case(bench, text(spec, sizes, tail, some)[0].replace('")', f'"{narrow})', 2))
    for _ in range(6):
        judge(case, r, spec, {**sizes, **{x: int(r.choice(SIZES[x] if x == "h" else LATER)) for x in some}}, tail, narrow=narrow)
    return case.registers if narrow else case.thirds


def judge(case, r, spec, sizes, tail, small=1.0, narrow=""):
    a, b, c = text(spec, sizes, tail)[1]
    x, y = (r.standard_normal(shape, np.float32) * np.float32(small) for shape in (a, b))
    bits = [(n.view(np.uint32) >> 16).astype(np.uint16) for n in (x, y)] if narrow else [x, y]
    x, y = [(n.astype(np.uint32) << 16).view(np.float32) for n in bits] if narrow else bits
    made, exactly, size = case(c, *bits, sizes=sizes), np.einsum(spec, x.astype(np.float64), y.astype(np.float64)), np.einsum(spec, abs(x).astype(np.float64), abs(y).astype(np.float64))
    made = (made.astype(np.uint32) << 16).view(np.float32) if narrow else made
    want = np.maximum(exactly, 0) if "relu" in tail else exactly
    depth = np.prod([sizes[k] for k in sizes if k in spec.split("->")[0] and k not in spec.split("->")[1]])
    bound = depth * (UNIT * size + FLUSHED) + (2.0 ** -8 * abs(want) if narrow else 0)      # which rounds the results, too
    check((abs(made - want) <= bound).all(), f"{spec} {sizes}: off by {(abs(made - want) / size).max() / UNIT:g} units of the sum of sizes")


def narrow_numbers(r, precision, shape):
    """As they lie in memory, and what they are."""
    x = r.standard_normal(shape, np.float32)
    if precision == "bf16":
        bits = (x.view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    if precision == "f8":
        bits = (x.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
        return bits, (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    bits = r.integers(-128, 128, shape).astype(np.int8) if precision == "i8" else r.integers(0, 256, shape).astype(np.uint8)
    return bits, bits.astype(np.float32)


def one_third(bench, r, spec, precision, side, run_says):
    """An operand whose numbers are in bf16 as they are, converted: three products of thirds, with infinities and NaNs in either."""
    names = sorted(set(spec) & set("ijkh"))
    some = [x for x in names if run_says and (r.random() < 0.6 or x == "i")]
    tail, sizes = str(r.choice(("%s", "relu (%s)"))), {x: int(r.choice(SIZES[x])) for x in names}
    parts = text(spec, sizes, tail, some)[0].split('")', 2)
    case = Case(bench, parts[0] + ('")', f'" {precision})')[side == 0] + parts[1] + ('")', f'" {precision})')[side == 1] + parts[2])
    for turn in range(4):
        sizes.update({x: int(r.choice(SIZES[x] if x == "h" else LATER)) for x in some})
        a, b, c = text(spec, sizes, tail)[1]
        shapes = [a, b]
        given, exactly = [None, None], [None, None]
        given[side], exactly[side] = narrow_numbers(r, precision, shapes[side])
        given[1 - side] = exactly[1 - side] = r.standard_normal(shapes[1 - side], np.float32)
        if turn == 3:
            odd = 0 if precision != "bf16" else int(r.integers(2))
            at = tuple(int(r.integers(n)) for n in shapes[side if odd else 1 - side])
            if odd:
                given[side][at], exactly[side][at] = 0x7f80, np.inf
            else:
                given[1 - side][at] = float(r.choice((np.inf, np.nan)))
        with np.errstate(invalid="ignore"):
            made = case(c, *given, sizes=sizes, dtype=np.float32)
            want, size = np.einsum(spec, *(x.astype(np.float64) for x in exactly)), np.einsum(spec, *(abs(x).astype(np.float64) for x in exactly))
            want = np.where(np.isnan(want), want, np.maximum(want, 0)) if "relu" in tail else want
            finite, off = np.isfinite(want), abs(made - want)
        check(np.array_equal(np.isnan(made), np.isnan(want)) and np.array_equal(made[np.isinf(want)], want[np.isinf(want)]), f"{spec} {sizes}, {precision}: infinities or NaNs are elsewhere")
        check((off[finite] <= sizes["k"] * (UNIT * size[finite] + FLUSHED)).all(), f"{spec} {sizes}, {precision}: off by {(off[finite] / size[finite]).max(initial=0) / UNIT:g} units")
    return case.thirds


def tiny(bench, r):
    """Numbers whose last digits are denormal stand in pairs with others, which they leave alone."""
    n = 160
    case = Case(bench, text("ik,kj->ij", {"i": n, "j": n, "k": n}, "%s")[0])
    a, b = r.standard_normal((2, n, n), np.float32)
    for x in a, b:
        x *= np.where(r.random(x.shape) < 0.5, 1, 2.0 ** -r.integers(95, 149, x.shape)).astype(np.float32)
    exact, size = a.astype(np.float64) @ b.astype(np.float64), np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    off = np.abs(case((n, n), a, b) - exact)
    check(case.thirds and (off <= n * (UNIT * size + FLUSHED * (np.abs(a).max() + np.abs(b).max()))).all(), f"numbers beside tiny ones are off by {(off / size).max() / UNIT:g} units")


def mixed(bench, r):
    """Each class has two axes, in any order in each tensor: pieces of a line, whole or not, and squares of what lies along neither of the last axes; beside an infinity, too."""
    order = lambda axes: "".join(r.permutation(list(axes)))  # noqa: E731
    sizes = {x: int(r.choice(MIXED[x in "bdf"])) for x in "abcdef"}
    spec = f"{order('abef')},{order('cdef')}->{order('abcd')}"
    program, (a, b, c) = text(spec, sizes, "%s")
    case, x, y = Case(bench, program), r.standard_normal(a, np.float32), r.standard_normal(b, np.float32)
    for odd in False, True:
        if odd:
            x[tuple(r.integers(n) for n in a)] = np.inf
        with np.errstate(invalid="ignore"):
            made, want, size = case(c, x, y), np.einsum(spec, x.astype(np.float64), y.astype(np.float64)), np.einsum(spec, abs(x).astype(np.float64), abs(y).astype(np.float64))
            finite, off = np.isfinite(want), abs(made - want)
        check(np.array_equal(finite, np.isfinite(made)), f"{spec} {sizes}: an infinity is elsewhere")
        check((off[finite] <= sizes["e"] * sizes["f"] * UNIT * size[finite]).all(), f"{spec} {sizes}: off")
    return case.thirds


def images(bench, r):
    """What a window has outside an image counts nothing, even times infinity."""
    case, shape, x, w = Case(bench, IMAGE), (2, 21, 19, 128), r.standard_normal((2, 21, 19, 64), np.float32), r.standard_normal((3, 3, 64, 128), np.float32)
    for odd in False, True:
        w[0, 0, 0, 0], w[2, 2, 3, 127] = (np.inf, np.nan) if odd else w[0, 0, 0, :2]
        want, size = np.zeros(shape), np.zeros(shape)
        for k in range(3):
            for l in range(3):
                there, part = (slice(None), slice(max(1 - k, 0), 21 + min(1 - k, 0)), slice(max(1 - l, 0), 19 + min(1 - l, 0))), x[:, max(k - 1, 0):20 + k, max(l - 1, 0):18 + l].astype(np.float64)
                want[there] += part @ w[k, l].astype(np.float64)
                size[there] += abs(part) @ abs(w[k, l]).astype(np.float64)
        made, want = case(shape, x, w), np.where(np.isnan(want), want, np.maximum(want, 0))
        finite = np.isfinite(want)
        with np.errstate(invalid="ignore"):
            off = abs(made - want)
        check(np.array_equal(made[~finite], want[~finite].astype(np.float32), equal_nan=True), "infinities or NaNs of a padded convolution are others")
        check((off[finite] <= 9 * 64 * UNIT * size[finite]).all(), "a padded convolution is off")
    return case.thirds


def window(bench, r, few=False):
    """Windows that planes are read for: of one axis or two, with padding or none, moved by one or two places, with holes, and gradients of images; lines of any length; infinities and NaNs in the image and in the kernel.
    Of few channels: whose rows are multiplied together, some or all, or each by itself."""
    gradient, flat, step, same = not few and r.random() < 0.3, r.random() < (0.1 if few else 0.25), int(r.integers(1, 3)), r.random() < 0.7
    (k, l), c, o = ((1, int(r.choice((3, 5, 7)))) if flat else r.choice(((3, 3), (3, 5), (5, 3), (2, 2)))), int(r.choice((32, 64, 96, 48, 60, 83))), int(r.choice((32, 64, 80, 100)))
    if few and not flat:
        (k, l), c, o = r.choice(((7, 7), (5, 5), (3, 3), (5, 7), (4, 9), (11, 11))), int(r.choice((1, 2, 3, 4, 5, 6, 8, 10, 13, 15, 16, 24))), int(r.choice((48, 64, 90, 128)))
    step, same = (1, True) if gradient or not (k % 2 and l % 2) else (step, same)
    gradient &= k % 2 == 1 and l % 2 == 1
    images = int(r.integers(1, 4))
    sign, hole = "=+" if same else "<+", int(r.integers(1, 3))
    across = 1 if few and r.random() < 0.8 else hole
    high, wide = 1 if flat else int(r.integers(5, 40)), int(r.choice((16, 32, 48, 60, 64, 90))) if few else int(r.integers(9, 70))
    h, w = (high * (1 if flat else step), wide * step) if same else ((high - 1) * step + hole * (k - 1) + 1, (wide - 1) * step + across * (l - 1) + 1)
    down, along = (f"{n}*" if n > 1 else "" for n in (hole, across))
    stride = f"{step}*" if step > 1 else ""
    if gradient:
        spec = f"b, h, w, c; c, k, l, o => b, h =+ {down}k, w =+ {along}l, o" if not flat else f"b, w, c; c, l, o => b, w =+ {along}l, o"
    else:
        spec = f"b, {stride}h {sign} {down}k, {stride}w {sign} {along}l, c; k, l, c, o => b, h, w, o" if not flat else f"b, {stride}w {sign} {along}l, c; l, c, o => b, w, o"
    shape, kernel = ((images, w, c) if flat else (images, h, w, c)), [n for n in ((c, k, l, o) if gradient else (k, l, c, o)) if not (flat and n == 1)]
    axes = "nwc" if flat else "nhwc"
    run_says = str(r.choice(("", "", "", "n", "n", "hw", "nhw", "w", "h")))       # which of an image's sizes
    program = f'let%export f (x : "{", ".join("?" + x if x in run_says else str(size) for x, size in zip(axes, shape))}") (w : "{", ".join(map(str, kernel))}") = x +* w "{spec}"\n'
    case = Case(bench, program)
    plan = run(bench.tsrc, "--dump=schedule", bench.path(f"t{Case.number}.tsr"))[1]
    x, y = r.standard_normal(shape, np.float32), r.standard_normal(kernel, np.float32)
    for odd in False, True:
        if odd:
            x[tuple(r.integers(n) for n in shape)], y[tuple(r.integers(n) for n in kernel)] = (np.inf, np.nan) if r.random() < 0.5 else (np.nan, 1)
        a, b = x.reshape(images, h, w, c).astype(np.float64), (y.reshape(c, k, l, o).transpose(1, 2, 0, 3)[::-1, ::-1] if gradient else y.reshape(k, l, c, o)).astype(np.float64)
        low = ((hole * (k - 1) + 1) // 2, (across * (l - 1) + 1) // 2) if same else (0, 0)
        want, size = np.zeros((2, images, high, wide, o))
        with np.errstate(invalid="ignore"):
            for i in range(k):
                for j in range(l):
                    p, q = np.arange(high) * (1 if flat else step) + hole * i - low[0], np.arange(wide) * step + across * j - low[1]
                    there = np.ix_(range(images), np.flatnonzero((p >= 0) & (p < h)), np.flatnonzero((q >= 0) & (q < w)))
                    part = a[:, p[there[1].ravel()]][:, :, q[there[2].ravel()]]
                    want[there] += part @ b[i, j]
                    size[there] += abs(part) @ abs(b[i, j])
            made = case(want.shape if not flat else (images, wide, o), x, y, sizes=dict(zip(axes, shape))).reshape(want.shape)
            finite, off = np.isfinite(want), abs(made - want)
        check(np.array_equal(np.isnan(made), np.isnan(want)) and np.array_equal(made[np.isinf(want)], want[np.isinf(want)]), f"{program}: infinities or NaNs are elsewhere")
        check((off[finite] <= k * l * c * UNIT * size[finite]).all(), f"{program}: off by {(off[finite] / size[finite]).max() / UNIT:g} units")
    with open(bench.path(f"t{Case.number}.o"), "rb") as f:
        return "windows from planes" in plan, b"thirds.together" in f.read(), run_says


def of_any_size(bench, r):
    """Images as high and wide as the run says: few results and many, one line and one column, rows that have no room as planes, and none."""
    c, o = 64, 40
    for step, sign in (1, "=+"), (2, "=+"), (1, "<+"):
        stride = f"{step}*" if step > 1 else ""
        case = Case(bench, f'let%export f (x : "?n, ?h, ?w, {c}") (w : "3, 3, {c}, {o}") = x +* w "b, {stride}h {sign} k, {stride}w {sign} l, c; k, l, c, o => b, h, w, o"\n')
        for n, h, w in (1, 10, 10), (1, 1, 96), (1, 97, 1), (3, 2, 17), (2, 30, 31), (1, 4, 333), (1, 3, 700), (1, 2, 1400), (1, 700, 2), (40, 3, 2), (1, 16, 160), (1, 100, 21):
            if sign == "=+":
                h, w, low = h * step, w * step, 1
            else:
                h, w, low = h + 2, w + 2, 0
            x, y = r.standard_normal((n, h, w, c), np.float32), r.standard_normal((3, 3, c, o), np.float32)
            results = (n, (h + 2 * low - 3) // step + 1, (w + 2 * low - 3) // step + 1, o)
            wide = np.pad(x.astype(np.float64), ((0, 0), (low, low), (low, low), (0, 0)))
            want, size = np.zeros((2, *results))
            for i in range(3):
                for j in range(3):
                    part = wide[:, i:i + (results[1] - 1) * step + 1:step, j:j + (results[2] - 1) * step + 1:step]
                    want += part @ y[i, j].astype(np.float64)
                    size += abs(part) @ abs(y[i, j]).astype(np.float64)
            made = case(results, x, y, sizes={"n": n, "h": h, "w": w})
            check((abs(made - want) <= 9 * c * UNIT * size).all(), f"{n} images of {h} x {w}: a window is off")


def attention(bench, r):
    """Rows so long that they go by blocks: strips of so many rows that both products are in thirds."""
    case = Case(bench, ATTENTION)
    plan = run(bench.tsrc, "--dump=schedule", bench.path(f"t{Case.number}.tsr"))[1]
    check("go by blocks of" in plan and plan.count("in thirds") == 2, "long attention is not in thirds by blocks")
    q, k, v = r.standard_normal((3, HEADS, LONG, EACH), np.float32)
    scores = np.einsum("hsd,htd->hst", q, k, dtype=np.float64) / np.sqrt(EACH)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    # a score of EACH products, its exponential, and two sums over all positions
    off = np.abs(case(q.shape, q, k, v) - np.einsum("hst,hte->hse", p, v)) / np.einsum("hst,hte->hse", p, np.abs(v))
    check(off.max() <= (2 * LONG + 2 * EACH + 20) * UNIT, f"attention is off by {off.max() / UNIT:g} units")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    r = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(given.build, tmp, 1, 3, table.Table())
        with open(os.path.join(tmp, "hello.tsr"), "w") as f:
            f.write(text("ik,kj->ij", {"i": 256, "j": 256, "k": 256}, "%s")[0])
        if "target amx" not in run(bench.tsrc, "--dump=schedule", f.name)[1]:
            print("no matrix registers: nothing to check")
            check(True, "")
            end()
        exact(bench, r)
        some = [near(bench, r, spec, {x: r.choice(SIZES[x]) for x in SIZES if x in spec}, tail) for spec in ORDERS for tail in ("%s", "relu (%s)", "%s")]
        check(sum(some) > len(some) / 3, f"of {len(some)} products {sum(some)} are by thirds")
        some = [later(bench, r, spec) for spec in ORDERS[:7]]
        check(sum(some) > len(some) / 3, f"of {len(some)} products of sizes of the run {sum(some)} may be by thirds")
        for some in "ih", "ihj":         # rows that are as far apart as the run says
            later(bench, r, "ihk,khj->hji", some=some)
        some = [later(bench, r, spec, " bf16") for spec in ORDERS[:7]]
        check(all(some), f"of {len(some)} products of numbers in bf16 {sum(some)} may be by matrix registers")
        some = [one_third(bench, r, ORDERS[int(r.integers(7))], precision, side, run_says) for precision in ("bf16", "i8", "u8", "f8") for side in (0, 1) for run_says in (False, True)]
        check(sum(some) > len(some) / 2, f"of {len(some)} products with numbers of one third {sum(some)} are by thirds")
        some = [mixed(bench, r) for _ in range(20)]
        check(sum(some) > len(some) / 3, f"of {len(some)} products of many axes {sum(some)} are by thirds")
        for small in 1e-15, 1e-19, 1e-30:
            near(bench, r, "ik,kj->ij", {"i": 130, "j": 160, "k": 200}, "%s", small)
        tiny(bench, r)
        attention(bench, r)
        some, _, run_says = zip(*(window(bench, r) for _ in range(48)))
        check(sum(some) > len(some) / 3, f"of {len(some)} windows {sum(some)} are read from planes")
        for which in "n", "w":
            later_images = [x for x, says in zip(some, run_says) if which in says]
            check(sum(later_images) > len(later_images) / 6, f"of {len(later_images)} windows over images of sizes of the run {sum(later_images)} are read from planes")
        of_any_size(bench, r)
        some, together, _ = zip(*(window(bench, r, few=True) for _ in range(32)))
        check(sum(some) > len(some) / 6 and any(together), f"of {len(some)} windows over few channels {sum(some)} are read from planes, of {sum(together)} some rows together")
        check(images(bench, r), "a convolution of 64 channels is not by thirds")
    end()


main()
