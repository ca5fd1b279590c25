#!/usr/bin/env python3
"""Products of as many rows as the run says, some of which have a schedule of their own for the fewest, for some and for any, or are one, by bytes; and sums of so much, in parts.  And windows over images whose height and width only the run knows:
rows shorter than the places that go together, as long, and longer; windows wider than the image, that move by two, with gaps, that stay within the image; of each channel, channels first and last, of few
channels, of one, of rows alone, and pools; an infinity beside padding; nothing written beside the result.  Compiled once and run at many sizes, against NumPy, by whole numbers, so that sums are equal in
any order; at each level of processor, with one thread, two and three."""
import ctypes, os, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

SIZES = [(1, 1), (1, 2), (2, 1), (3, 3), (4, 5), (5, 4), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 12), (12, 13), (13, 16), (16, 17), (17, 19), (20, 33), (25, 64), (33, 131)]
LEVELS = ("native", "x86-64-v3", "x86-64-v2")
# channels, the window's height and width, step, gap
LAST = [(64, 3, 3, 1, 1), (17, 3, 3, 1, 1), (256, 5, 3, 1, 1), (32, 7, 7, 1, 1), (40, 3, 3, 2, 1), (64, 5, 5, 2, 1), (48, 3, 3, 1, 2), (20, 4, 2, 1, 1), (3, 3, 3, 1, 1), (1, 5, 5, 1, 1), (64, 1, 9, 1, 1)]
FIRST = [(7, 3, 3, 1, 1), (3, 5, 5, 1, 1), (5, 7, 3, 1, 1), (4, 3, 3, 2, 1), (2, 3, 3, 1, 3), (6, 1, 5, 1, 1), (6, 5, 1, 1, 1)]

PRODUCTS = {"plain": (512, 2048), "followed_wide": (512, 2048), "followed": (130, 500)}
LENGTHS = (1, 2, 31, 100, 8191, 8192, 8193, 100003)
ROWS = (1, 2, 3, 4, 5, 16, 17, 24, 63, 64, 65, 100)


# of images whose channels come first: channels, filters, the window's height and width, step
SUMS = [(33, 37, 3, 3, 1), (7, 40, 5, 5, 1), (33, 37, 3, 3, 2), (64, 16, 1, 3, 1)]


def spec(step, gap, valid=False):
    times, between = "" if step == 1 else f"{step}*", "" if gap == 1 else f"{gap}*"
    return tuple(f"{times}{a} {'<+' if valid else '=+'} {between}{b}" for a, b in ("yi", "xj"))


def program():
    lines = [f'let%export {name} (x : "?n, {k} |") (w : "{k}, {n} |") (b : "{n} |") = {f}' for name, (k, n) in PRODUCTS.items()
             for f in ('relu (x +* w "t, k |; k, n | => t, n |" + (b ++ "n | => 0, n |"))' if name.startswith("followed") else 'x +* w "t, k |; k, n | => t, n |"',)]
    for i, (c, kh, kw, step, gap) in enumerate(LAST):
        y, x = spec(step, gap)
        window = f'x +* k "{y}, {x}, c |; i, j, c | => y, x, c |"'
        given = f'(x : "?h, ?w, {c} |") (k : "{kh}, {kw}, {c} |")'
        lines.append(f"let%export l{i} {given} = {window}")
        if i % 2 == 0:
            lines.append(f"let%export m{i} {given} = relu (0.5 *. ({window}) - 1.)")
        lines.append(f'let%export p{i} (x : "?h, ?w, {c} |") =\n  let m = x @^^ "{y}, {x}, c | => y, x, c |" [i; j] in\n  set_dim i {kh}; set_dim j {kw};\n  m')
    for i, (c, kh, kw, step, gap) in enumerate(FIRST):
        y, x = spec(step, gap)
        given, window = f'(x : "{c}, ?h, ?w |") (k : "{kh}, {kw}, {c} |")', f'x +* k "c, {y}, {x} |; i, j, c | => c, y, x |"'
        lines.append(f"let%export f{i} {given} = {window}")
        if i % 2:
            lines.append(f"let%export g{i} {given} = relu (0.5 *. ({window}) - 1.)")
        y, x = spec(1, gap, True)
        lines.append(f'let%export v{i} {given} = x +* k "c, {y}, {x} |; i, j, c | => c, y, x |"')
    for i, (c, filters, kh, kw, step) in enumerate(SUMS):
        y, x = spec(step, 1)
        lines.append(f'let%export s{i} (x : "?b, {c}, ?h, ?w |") (k : "{kh}, {kw}, {c}, {filters} |") = x +* k "b, c, {y}, {x} |; i, j, c, f | => b, f, y, x |"')
    lines.append('let%export total (x : "?n |") (y : "?n |") = sqrt (x +* y "k |; k | => 0 |")')
    lines.append('let%export greatest (x : "?n, ?m, 3 |") = 2. *. (x @^^ "a, b, c | => 0 |")')
    lines.append('let%export whole (x : "?n |" i32) = x ++ "k | => 0 |"')
    lines.append('let%export bytes (x : "?n, 600 |") (w : "530, 600 |" i8) (s : "530 |") = (x +* w "t, k |; n, k | => t, n |") *. (s ++ "n | => 0, n |")')
    lines.append('let%export across (x : "?n, 530 |") (w : "530, 600 |" i8) = x +* w "t, k |; k, n | => t, n |"')
    lines.append('let%export plane (x : "?h, ?w |") (k : "3, 3 |") = x +* k "y =+ i, x =+ j |; i, j | => y, x |"')
    lines.append('let%export few (x : "?h, ?w, 3 |") (k : "5, 3 |") = x +* k "y =+ i, x =+ j, c |; i, j | => y, x, c |"')
    lines.append('let%export row (x : "?w, 64 |") (k : "3, 64 |") = x +* k "x =+ j, c |; j, c | => x, c |"')
    return "\n".join(lines) + "\n"


def windows(x, k, step=1, gap=1, valid=False, of=np.add, fill=0.):
    """Of images h, w, c by windows i, j, c."""
    kh, kw = k.shape[:2]
    above, left = (0, 0) if valid else ((gap * (kh - 1) + 1) // 2, (gap * (kw - 1) + 1) // 2)
    h, w = ((x.shape[0] - gap * (kh - 1), x.shape[1] - gap * (kw - 1)) if valid else (x.shape[0] // step, x.shape[1] // step))
    padded = np.pad(x, ((above, gap * kh + step), (left, gap * kw + step), (0, 0)), constant_values=fill)
    parts = [padded[i * gap:i * gap + step * h:step, j * gap:j * gap + step * w:step] * k[i, j] for i in range(kh) for j in range(kw)]
    return of.reduce(parts)


def under(x, u, v, kh, kw, step):
    """What tap u, v of a window has of images, channels first."""
    h, w = x.shape[2] // step, x.shape[3] // step
    padded = np.pad(x, ((0, 0), (0, 0), (kh // 2, kh + step), (kw // 2, kw + step)))
    return padded[:, :, u:u + step * h:step, v:v + step * w:step]


def judge(model, level, threads):
    random = np.random.default_rng(8)

    def holds(name, sizes, given, want):
        n = want.size
        whole = np.full(n + 64, 7, np.float32)
        model.seconds(name, *(ctypes.c_int64(s) for s in sizes), *(np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p) for a in given), ctypes.c_void_p(whole.ctypes.data + 128))
        made = whole[32:32 + n].view(want.dtype).reshape(want.shape)
        check(np.array_equal(made, want) and (whole[:32] == 7).all() and (whole[32 + n:] == 7).all(), f"{name} at {sizes}, {level}, {threads} threads")

    def numbers(*shape):
        return random.integers(-4, 5, shape).astype(np.float32)

    for name, (depth, columns) in PRODUCTS.items():
        w, b = numbers(depth, columns), numbers(columns)
        for n in ROWS:
            x = numbers(n, depth)
            holds(name, (n,), (x, w, b), np.maximum(x @ w + b, 0) if name.startswith("followed") else x @ w)
    w, s = numbers(530, 600).astype(np.int8), numbers(530)
    for n in ROWS[:8]:
        x = numbers(n, 600)
        holds("bytes", (n,), (x, w, s), (x @ w.T.astype(np.float32)) * s)
        holds("across", (n,), (x[:, :530], w), x[:, :530] @ w.astype(np.float32))
    for n in LENGTHS:
        x, m = numbers(n), n % 7 + 1
        holds("total", (n,), (x, x), np.sqrt(np.float32(np.sum(x.astype(np.float64) ** 2))).reshape(1))
        holds("whole", (n,), (x.astype(np.int32),), np.array([x.sum()], np.int32))
        x = numbers(n // 5 + 1, m, 3)
        holds("greatest", (n // 5 + 1, m), (x,), np.array([2 * x.max()], np.float32))
    for h, w in SIZES:
        for i, (c, kh, kw, step, gap) in enumerate(LAST):
            size = (h * step, w * step)
            x, k = numbers(*size, c), numbers(kh, kw, c)
            sums = windows(x, k, step, gap)
            holds(f"l{i}", size, (x, k), sums)
            if i % 2 == 0:
                holds(f"m{i}", size, (x, k), np.maximum(sums / 2 - 1, 0))
            holds(f"p{i}", size, (x,), windows(x, np.ones_like(k), step, gap, of=np.maximum, fill=-np.inf))
            if gap * (kh // 2) >= 1 and gap * (kw // 2) >= 1 and kw > 2:
                k[0, 0] = np.inf            # meets padding alone in the first row
                made = np.full((h, w, c), 7, np.float32)
                model.seconds(f"l{i}", *(ctypes.c_int64(s) for s in size), *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
                check(np.isfinite(made[0]).all(), f"l{i} at {size}, {level}, {threads} threads: an infinity beside padding")
        for i, (c, kh, kw, step, gap) in enumerate(FIRST):
            size = (h * step, w * step)
            x, k = numbers(*size, c), numbers(kh, kw, c)
            first, sums = x.transpose(2, 0, 1), windows(x, k, step, gap).transpose(2, 0, 1)
            holds(f"f{i}", size, (first, k), sums)
            if i % 2:
                holds(f"g{i}", size, (first, k), np.maximum(sums / 2 - 1, 0))
            size = (h + gap * (kh - 1), w + gap * (kw - 1))
            x = numbers(*size, c)
            holds(f"v{i}", size, (x.transpose(2, 0, 1), k), windows(x, k, 1, gap, True).transpose(2, 0, 1))
        for i, (c, filters, kh, kw, step) in enumerate(SUMS):
            x, k = numbers(2, c, h * step, w * step), numbers(kh, kw, c, filters)
            taps = [np.einsum("bchw,cf->bfhw", shifted, k[u, v]) for u in range(kh) for v in range(kw) for shifted in (under(x, u, v, kh, kw, step),)]
            holds(f"s{i}", (2, h * step, w * step), (x, k), np.add.reduce(taps))
        x, k, few = numbers(h, w, 3), numbers(3, 3, 1), numbers(5, 3, 1)
        holds("plane", (h, w), (x[:, :, 0], k), windows(x[:, :, :1], k)[:, :, 0])
        holds("few", (h, w), (x, few), windows(x, few))
        x, k = numbers(1, w, 64), numbers(1, 3, 64)
        holds("row", (w,), (x, k), windows(x, k))


def same_bits(bench):
    """A long sum of numbers that are not whole, however it is divided."""
    made = set()
    for option in ("all", "none"):
        name = f"sum_{option}"
        model = common.Model(bench.shared(bench.written(name + ".tsr", 'let%export f (x : "?n |") = x ++ "k | => 0 |"\n'), name, f"--threads={option}"))
        for threads in (1, 2, 3, 7):
            bench.probes(threads)
            for n in LENGTHS:
                x, y = np.random.default_rng(n).standard_normal(n).astype(np.float32), np.zeros(1, np.float32)
                model.seconds("f", ctypes.c_int64(n), *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, y)))
                made.add((n, int(y.view(np.int32)[0])))
                check(np.isclose(y[0], x.astype(np.float64).sum(), rtol=1e-4, atol=1e-3), f"a sum of {n}, {threads} threads: {y[0]}")
        model.close()
    check(len(made) == len(LENGTHS), f"sums have other bits: {sorted(made)}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 3, table.Table())
        status, out, err = run(bench.tsrc, "-c", "--cpu=znver4", "--dump=schedule", bench.written("schedules.tsr", program()), "-o", bench.path("schedules.o"))
        check(status == 0 and out.count("of at most 3 rows: ") == 2 and out.count("of at most 64 rows: ") == 3, "few rows have schedules of their own: " + err)
        same_bits(bench)
        for level in LEVELS:
            name = "later_" + level.replace("-", "_")
            model = common.Model(bench.shared(bench.written(name + ".tsr", program()), name, "--threads=all", f"--cpu={level}"))
            for threads in (1, 2, 3):
                bench.probes(threads)
                judge(model, level, threads)
            model.close()
    end()


main()
