#!/usr/bin/env python3
"""Weights' gradients of padded windows, which leave padding out depth by depth, against NumPy: whole numbers, so that sums are equal in any order; one block of K
and several, steps, windows that reach over an image's sides from all of it, infinities beside padding, one thread, two and three.  And windows themselves, of groups of channels
that lie side by side, over planes, whose rows threads divide, and of each channel, channels last, over images of a few channels, which share a window, and over large planes, whose results go around the caches, over volumes, and over all channels of an image, and pools, padded and within an image; alone, followed element by element, and by sums over each place's channels."""
import ctypes, os, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from fenced import fenced, untouched  # noqa: E402
from guarded import Guarded  # noqa: E402
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

f32 = np.float32
# images, height and width of the sums, channels, filters, window, step
CASES = [(1, 7, 7, 64, 96, 3, 1), (8, 7, 7, 64, 130, 3, 1), (32, 4, 4, 64, 64, 3, 1), (2, 14, 9, 48, 70, 3, 1), (3, 10, 6, 64, 64, 5, 1), (2, 8, 8, 32, 80, 3, 2), (4, 2, 2, 64, 64, 3, 1), (1, 30, 31, 64, 64, 3, 1),
         (8, 7, 7, 64, 32, 3, 1), (2, 8, 8, 32, 127, 3, 2)]         # rows that are no whole tiles
# images, height and width of the results, groups, channels of each, window
GROUPED = [(1, 28, 28, 32, 4, 3), (5, 13, 15, 16, 8, 3), (2, 20, 30, 8, 16, 1), (1, 28, 27, 64, 2, 3),
           (1, 2, 271, 24, 16, 1), (1, 2, 250, 24, 16, 1), (1, 2, 331, 48, 8, 1)]         # rows of which a batch's last part has few
# planes, height and width of the results, window, step, gap
PLANES = [(1, 61, 40, 5, 1, 1), (1, 37, 29, 7, 1, 1), (2, 40, 9, 3, 2, 1), (1, 41, 70, 3, 1, 2), (3, 33, 66, 3, 2, 1), (40, 240, 250, 3, 1, 1), (40, 125, 120, 3, 2, 1)]         # planes that no cache holds, too
# images, height and width of the results, channels, window, step, gap: places at both edges of a row, fewer than go together, and windows wider than the row
CHANNELS = [(2, 5, 32, 64, 7, 1, 1), (1, 9, 28, 48, 3, 1, 1), (2, 7, 7, 33, 7, 1, 1), (1, 6, 13, 128, 5, 1, 1), (1, 4, 4, 96, 3, 1, 1), (3, 5, 19, 20, 4, 1, 1), (1, 4, 23, 16, 3, 2, 1), (1, 9, 26, 32, 5, 1, 3), (1, 3, 40, 17, 2, 1, 1),
            (2, 4, 11, 64, 9, 1, 1), (1, 3, 5, 64, 7, 1, 2), (1, 14, 3, 32, 3, 1, 1), (2, 7, 15, 40, 5, 2, 1), (1, 6, 12, 96, 7, 2, 1), (2, 5, 9, 64, 5, 3, 1),
            (2, 132, 130, 64, 3, 1, 1), (2, 66, 66, 64, 5, 2, 1), (2, 66, 66, 80, 3, 2, 1), (1, 201, 163, 128, 3, 1, 1), (1, 150, 141, 144, 5, 1, 1)]         # images that no cache holds, whose results go around the caches, too
# height, width, channels, the window's height and width: over both axes, one of them, and where channels of several places fill a register or not
FEW = [(9, 40, 3, 3, 3), (7, 33, 3, 1, 5), (12, 20, 3, 5, 1), (6, 50, 2, 3, 3), (5, 13, 24, 3, 3), (8, 5, 3, 3, 5), (4, 31, 5, 2, 4)]
# height and width of planes whose rows begin where lines do, and of some whose do not; the window's height and width
LARGE = [(2100, 3104, 3, 3), (2500, 2609, 5, 1)]

# depth, height and width of volumes; the window's: whole vectors and parts of some, rows of results that end anywhere, large ones; channels of an image instead of planes
VOLUMES = [(5, 9, 40, 3, 3, 3), (4, 17, 23, 1, 3, 5), (6, 8, 64, 3, 1, 3), (3, 12, 7, 5, 3, 3), (40, 128, 272, 3, 3, 3)]
STACKS = [(3, 21, 50, 5, 5), (7, 10, 33, 3, 1)]
# images, channels, height and width of the images, the window's, step: windows that stay within the image, of rows of any length, and of fewer channels than fill a register
WITHIN = [(2, 5, 12, 17, 3, 3, 1), (1, 7, 30, 11, 3, 3, 1), (2, 3, 9, 9, 3, 3, 1), (1, 6, 21, 40, 5, 2, 1), (2, 4, 11, 23, 3, 3, 2), (1, 12, 20, 14, 5, 5, 3), (3, 8, 18, 26, 4, 4, 2), (1, 64, 13, 12, 5, 5, 1), (2, 20, 9, 15, 7, 7, 2)]
# images, channels, filters, height and width of the results, the window's height and width, step: all channels of images whose channels come first, with rows of results shorter and longer than a
# vector, that fill some and that do not, of one image and of several
FIRST = [(1, 3, 20, 14, 33, 3, 3, 2), (2, 5, 16, 9, 16, 5, 3, 2), (3, 4, 33, 7, 21, 3, 3, 3), (1, 2, 40, 12, 40, 7, 7, 2), (2, 8, 17, 6, 64, 1, 5, 4), (4, 6, 24, 5, 5, 3, 3, 2), (1, 4, 18, 11, 29, 3, 4, 5), (2, 9, 12, 8, 31, 1, 1, 2)]
# width, channels, filters, window: rows whose windows reach over an edge, known ones and of as many places as the run says, by all channels of an image in which something is a NaN
EDGES = [(1, 60, 100, 7), (4, 33, 40, 5), (42, 60, 100, 7), (9, 24, 64, 3), (19, 8, 16, 9)]


def program():
    lines = []
    for i, (w, c, f, k) in enumerate(EDGES):
        for name, width in ("y", w), ("z", "?w"):
            lines.append(f'let%export {name}{i} (x : "| 3, {width}, {c}") (k : "| {c}, {k}, {f}") = x +* k "b, w, c; c, l, f => b, w =+ l, f"')
            lines.append(f'let%export {name}f{i} (x : "| 3, {width}, {c}") (k : "| {c}, {k}, {f}") = x +* k "b, w =+ l, c; c, l, f => b, w, f"')
    for i, (n, c, f, h, w, kh, kw, s) in enumerate(FIRST):
        for name, op, size in ("o", "=+", (h * s, w * s)), ("w", "<+", ((h - 1) * s + kh, (w - 1) * s + kw)):
            lines.append(f'let%export {name}{i} (x : "| {n}, {c}, {size[0]}, {size[1]}") (k : "| {f}, {c}, {kh}, {kw}") = x +* k "n, c, {s}*h {op} i, {s}*w {op} j; f, c, i, j => n, f, h, w"')
    for i, (n, h, w, g, c, k) in enumerate(GROUPED):
        lines.append(f'let%export c{i} (x : "{n}, {h}, {w}, {g}, {c} |") (k : "{k}, {k}, {g}, {c}, {c} |") = x +* k "b, h =+ i, w =+ j, g, c |; i, j, g, c, f | => b, h, w, g, f |"')
    for i, (n, h, w, k, s, d) in enumerate(PLANES):
        times, gap = "" if s == 1 else f"{s}*", "" if d == 1 else f"{d}*"
        given, window = f'(x : "{n}, {h * s}, {w * s} |") (k : "{n}, {k}, {k} |")', f"c, {times}h =+ {gap}i, {times}w =+ {gap}j |"
        lines.append(f'let%export p{i} {given} = x +* k "{window}; c, i, j | => c, h, w |"')
        lines.append(f'let%export q{i} {given} (b : "{n} |") = relu (0.5 *. (x +* k "{window}; c, i, j | => c, h, w |") + (b ++ "c | => c, h, w |"))')
        lines.append(f'let%export a{i} (x : "{n}, {h * s}, {w * s} |") =\n  let s = x ++ "{window} => c, h, w |" [i; j] in\n  set_dim i {k}; set_dim j {k};\n  0.25 *. s - 1.')
    for i, (n, c, h, w, kh, kw, s) in enumerate(WITHIN):
        y, x = (f"{'' if s == 1 else f'{s}*'}{a} <+ {b}" for a, b in ("hi", "wj"))
        lines.append(f'let%export n{i} (x : "| {n}, {c}, {h}, {w}") (k : "| {c}, {kh}, {kw}") = x +* k "n, c, {y}, {x}; c, i, j => n, c, h, w"')
        for name, sum in ("r", "++"), ("u", "@^^"):
            lines.append(f'let%export {name}{i} (x : "| {n}, {h}, {w}, {c}") =\n  let y = x {sum} "n, {y}, {x}, c => n, h, w, c" [i; j] in\n  set_dim i {kh}; set_dim j {kw};\n  y *. 0.5')
    for i, (h, w, c, kh, kw) in enumerate(FEW):
        lines.append(f'let%export s{i} (x : "2 | {h}, {w}, {c}") (k : "| {kh}, {kw}") = x +* k "b | h =+ i, w =+ j, c; i, j => b | h, w, c"')
    for i, (h, w, kh, kw) in enumerate(LARGE):
        lines.append(f'let%export l{i} (x : "| {h}, {w}") (k : "| {kh}, {kw}") = x +* k "h =+ i, w =+ j; i, j => h, w"')
    for i, (z, h, w, kz, kh, kw) in enumerate(VOLUMES):
        lines.append(f'let%export v{i} (x : "| {z}, {h}, {w}") (k : "| {kz}, {kh}, {kw}") = relu ((x +* k "z =+ g, h =+ i, w =+ j; g, i, j => z, h, w") - 1.)')
    for i, (c, h, w, kh, kw) in enumerate(STACKS):
        lines.append(f'let%export t{i} (x : "| {c}, {h}, {w}") (k : "| {c}, {kh}, {kw}") = x +* k "c, h =+ i, w =+ j; c, i, j => h, w"')
    for i, (n, h, w, c, k, s, d) in enumerate(CHANNELS):
        times, gap = "" if s == 1 else f"{s}*", "" if d == 1 else f"{d}*"
        given = f'(x : "{n} | {h * s}, {w * s}, {c}") (k : "{k}, {k} | {c}") (b : "| {c}")'
        window = f'x +* k "n | {times}h =+ {gap}i, {times}w =+ {gap}j, c; i, j | c => n | h, w, c"'
        lines.append(f'let%export d{i} {given} = {window} + (0. *. b ++ "c => 0, 0, c")')
        lines.append(f'let%export e{i} {given} = relu (0.5 *. ({window}) + (b ++ "c => 0, 0, c"))')
        lines.append(f'let%export f{i} {given} =\n  let y = {window} in\n  y *. (b ++ "c => 0, 0, c") - (y ++ "n | h, w, c => n | h, w, 0" [c])')
    for i, (n, h, w, c, f, k, s) in enumerate(CASES):
        times = "" if s == 1 else f"{s}*"
        lines.append(f'let%export g{i} (x : "{n} | {h * s}, {w * s}, {c}") (y : "{n} | {h}, {w}, {f}") =\n'
                     f'  let g = x +* y "n | {times}oh =+ kh, {times}ow =+ kw, c; n | oh, ow, f => f, kh, kw, c" [kh; kw] in\n  set_dim kh {k}; set_dim kw {k};\n  g')
    return "\n".join(lines) + "\n"


def gradient(x, y, k, s):
    n, h, w, f = y.shape
    before = (k - 1) // 2
    padded = np.pad(x, ((0, 0), (before, k), (before, k), (0, 0)))
    taps = [[np.einsum("nhwf,nhwc->fc", y, padded[:, i:i + s * h:s, j:j + s * w:s]) for j in range(k)] for i in range(k)]
    return np.array(taps).transpose(2, 0, 1, 3)


def windows(x, k, step, gap, spec):
    """Of images whose axes 1 and 2 are height and width, by kernels whose first two axes are the window's."""
    size = len(k)
    before, h, w = (gap * (size - 1) + 1) // 2, x.shape[1] // step, x.shape[2] // step
    padded = np.pad(x, [(0, 0), (before, gap * size), (before, gap * size)] + [(0, 0)] * (x.ndim - 3))
    return sum(np.einsum(spec, padded[:, i * gap:i * gap + step * h:step, j * gap:j * gap + step * w:step], k[i, j]) for i in range(size) for j in range(size))


def judge_windows(model, threads):
    random = np.random.default_rng(4)
    for i, (n, h, w, g, c, size) in enumerate(GROUPED):
        x, k = random.integers(-4, 5, (n, h, w, g, c)).astype(f32), random.integers(-4, 5, (size, size, g, c, c)).astype(f32)
        made = np.full(x.shape, 7, f32)
        model.seconds(f"c{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
        check(np.array_equal(made, windows(x, k, 1, 1, "nhwgc,gcf->nhwgf")), f"groups {GROUPED[i]}, {threads} threads")
    for i, (n, h, w, size, step, gap) in enumerate(PLANES):
        x, k = random.integers(-4, 5, (n, h * step, w * step)).astype(f32), random.integers(-4, 5, (n, size, size)).astype(f32)
        made = np.full((n, h, w), 7, f32)
        call = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)]
        model.seconds(f"p{i}", *call)
        sums = windows(x, k.transpose(1, 2, 0), step, gap, "nhw,n->nhw")
        check(np.array_equal(made, sums), f"planes {PLANES[i]}, {threads} threads")
        b, followed = random.integers(-9, 9, n).astype(f32), np.full((n, h, w), 7, f32)
        model.seconds(f"q{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, b, followed)))
        check(np.array_equal(followed, np.maximum(f32(0.5) * sums + b[:, None, None], 0)), f"planes {PLANES[i]} with what follows them, {threads} threads")
        model.seconds(f"a{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, followed)))
        check(np.array_equal(followed, windows(x, np.ones((size, size, n), f32), step, gap, "nhw,n->nhw") / 4 - 1), f"planes {PLANES[i]}, sums with what follows them, {threads} threads")
        k[0, 0, 0] = np.inf             # meets padding, and no number of the image, in a corner
        model.seconds(f"p{i}", *call)
        check(np.isfinite(made[0, 0]).all(), f"planes {PLANES[i]}, {threads} threads: an infinity beside padding")


def judge_channels(model, threads):
    random = np.random.default_rng(5)
    for i, (n, h, w, c, size, step, gap) in enumerate(CHANNELS):
        x, k, b = (random.integers(-4, 5, shape).astype(f32) for shape in ((n, h * step, w * step, c), (size, size, c), (c,)))
        y = windows(x, k, step, gap, "nhwc,c->nhwc")
        wanted = {"d": y, "e": np.maximum(f32(0.5) * y + b, 0), "f": y * b - y.sum(-1, keepdims=True)}
        for name, result in wanted.items():
            made = np.full((n, h, w, c), 7, f32)
            model.seconds(f"{name}{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, b, made)))
            check(np.array_equal(made, result), f"each channel {CHANNELS[i]}, {name}, {threads} threads")
        if size > 2:
            k[0, 0, 0] = np.inf         # meets padding in the first row and column, where no number of the image is
            model.seconds(f"d{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, b, made)))
            check(np.isfinite(made[:, 0, :, 0]).all() and np.isfinite(made[:, :, 0, 0]).all(), f"each channel {CHANNELS[i]}, {threads} threads: an infinity beside padding")


def sums_of(x, k):
    """Of images n, h, w, c by a window that all channels share."""
    above, left, h, w = len(k) // 2, k.shape[1] // 2, x.shape[1], x.shape[2]
    padded = np.pad(x, ((0, 0), (above, above), (left, left), (0, 0)))
    return sum(padded[:, i:i + h, j:j + w] * k[i, j] for i in range(len(k)) for j in range(k.shape[1]))


def judge_few(model, threads):
    random = np.random.default_rng(6)
    for i, (h, w, c, kh, kw) in enumerate(FEW):
        x, k, made = random.integers(-4, 5, (2, h, w, c)).astype(f32), random.integers(-4, 5, (kh, kw)).astype(f32), np.full((2, h, w, c), 7, f32)
        model.seconds(f"s{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
        check(np.array_equal(made, sums_of(x, k)), f"a few channels {FEW[i]}, {threads} threads")
    for i, (h, w, kh, kw) in enumerate(LARGE):
        x, k = random.integers(-4, 5, (h, w)).astype(f32), random.integers(-4, 5, (kh, kw)).astype(f32)
        wanted = sums_of(x[None, :, :, None], k)[0, :, :, 0]
        for shift in (0, 5):
            whole, begin = fenced(h * w, f32, shift)
            made = whole[begin:begin + h * w].reshape(h, w)
            model.seconds(f"l{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
            check(np.array_equal(made, wanted) and untouched(whole, begin, h * w), f"large {LARGE[i]}, {shift} numbers behind a line, {threads} threads")


def judge_within(model, threads):
    random = np.random.default_rng(9)
    for i, (n, c, h, w, kh, kw, s) in enumerate(WITHIN):
        x, k = random.integers(-9, 10, (n, c, h, w)).astype(f32), random.integers(-4, 5, (c, kh, kw)).astype(f32)
        views = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), (2, 3))[:, :, ::s, ::s]
        made = np.full(views.shape[:4], 7, f32)
        model.seconds(f"n{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
        check(np.array_equal(made, np.einsum("nchwij,cij->nchw", views, k)), f"within images {WITHIN[i]}, {threads} threads")
        last, made = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.full([views.shape[k] for k in (0, 2, 3, 1)], 7, f32)
        for name, wanted in ("r", views.sum((4, 5))), ("u", views.max((4, 5))):
            model.seconds(f"{name}{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (last, made)))
            check(np.array_equal(made, wanted.transpose(0, 2, 3, 1) / 2), f"pools {WITHIN[i]}, {name}, {threads} threads")


def volume(x, k):
    padded = np.pad(x, [((n - 1) // 2, n // 2) for n in k.shape])
    return sum(padded[g:g + x.shape[0], i:i + x.shape[1], j:j + x.shape[2]] * k[g, i, j] for g in range(k.shape[0]) for i in range(k.shape[1]) for j in range(k.shape[2]))


def judge_volumes(model, threads):
    random = np.random.default_rng(8)
    for i, case in enumerate(VOLUMES):
        x, k, made = random.integers(-4, 5, case[:3]).astype(f32), random.integers(-4, 5, case[3:]).astype(f32), np.full(case[:3], 7, f32)
        model.seconds(f"v{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
        check(np.array_equal(made, np.maximum(volume(x, k) - 1, 0)), f"a volume {case}, {threads} threads")
    for i, (c, h, w, kh, kw) in enumerate(STACKS):
        x, k, made = random.integers(-4, 5, (c, h, w)).astype(f32), random.integers(-4, 5, (c, kh, kw)).astype(f32), np.full((h, w), 7, f32)
        model.seconds(f"t{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, k, made)))
        check(np.array_equal(made, sum(sums_of(x[n][None, :, :, None], k[n])[0, :, :, 0] for n in range(c))), f"channels first {STACKS[i]}, {threads} threads")


def judge_first(model, threads):
    """Padded and within the image, which ends where nothing may be read, or begins behind such memory."""
    random = np.random.default_rng(11)
    for i, (n, c, f, h, w, kh, kw, s) in enumerate(FIRST):
        for name, size in ("o", (h * s, w * s)), ("w", ((h - 1) * s + kh, (w - 1) * s + kw)):
            x, k = random.integers(-4, 5, (n, c, *size)).astype(f32), random.integers(-4, 5, (f, c, kh, kw)).astype(f32)
            padded = np.pad(x, [(0, 0), (0, 0)] + [(b // 2, b) if name == "o" else (0, 0) for b in (kh, kw)])
            wanted = sum(np.einsum("nchw,fc->nfhw", padded[:, :, y:y + (h - 1) * s + 1:s, z:z + (w - 1) * s + 1:s], k[:, :, y, z]) for y in range(kh) for z in range(kw))
            for begins in False, True:
                guard, made = Guarded(), np.full((n, f, h, w), 7, f32)
                model.seconds(f"{name}{i}", *(a.ctypes.data_as(ctypes.c_void_p) for a in (guard.copy(x, begins), guard.copy(k, begins), made)))
                check(np.array_equal(made, wanted), f"channels first {FIRST[i]}, {'padded' if name == 'o' else 'within'}, {threads} threads")


def judge_edges(model, threads):
    """Nothing is read beside the image, nor beside the filters."""
    random = np.random.default_rng(12)
    for i, (w, c, f, size) in enumerate(EDGES):
        x, k = random.integers(-4, 5, (3, w, c)).astype(f32), random.integers(-4, 5, (c, size, f)).astype(f32)
        for place in 0, w - 1:
            x[1, place, 0] = np.nan
            for name, reach, turned in ("", (size // 2, size - size // 2 - 1), True), ("f", ((size) // 2, size), False):
                padded = np.pad(x, ((0, 0), reach, (0, 0)))
                wanted = sum(np.einsum("bwc,cf->bwf", padded[:, l:l + w], k[:, size - 1 - l if turned else l]) for l in range(size))
                for known, begins in ("y", False), ("y", True), ("z", False), ("z", True):
                    guard = Guarded()
                    made = guard.copy(np.full(wanted.shape, 7, f32), begins)
                    sizes = [] if known == "y" else [ctypes.c_int64(w)]
                    model.seconds(f"{known}{name}{i}", *sizes, *(a.ctypes.data_as(ctypes.c_void_p) for a in (guard.copy(x, begins), guard.copy(k, begins), made)))
                    check(np.array_equal(made, wanted, equal_nan=True), f"rows of {EDGES[i]}, {known}{name}, {threads} threads")


def judge(model, threads):
    judge_edges(model, threads)
    judge_first(model, threads)
    judge_windows(model, threads)
    judge_within(model, threads)
    judge_volumes(model, threads)
    judge_few(model, threads)
    judge_channels(model, threads)
    random = np.random.default_rng(3)
    for i, (n, h, w, c, f, k, s) in enumerate(CASES):
        x, y = random.integers(-4, 5, (n, h * s, w * s, c)).astype(f32), random.integers(-4, 5, (n, h, w, f)).astype(f32)
        made = np.full((f, k, k, c), 7, f32)
        call = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, made)]
        model.seconds(f"g{i}", *call)
        check(np.array_equal(made, gradient(x, y, k, s)), f"{CASES[i]}, {threads} threads")
        if s == 1:                   # what lies in a corner meets no place of the window beyond it
            y[0, 0, 0, 0] = np.inf
            x[...] = np.abs(x) + 1
            model.seconds(f"g{i}", *call)
            check(np.isfinite(made[0, 0, 0]).all() and np.isinf(made[0, k // 2, k // 2]).all(), f"{CASES[i]}, {threads} threads: an infinity beside padding")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 2, table.Table())
        source = bench.written("windows.tsr", program())
        status, out, err = run(bench.tsrc, "-c", "--cpu=x86-64-v3", "--dump=schedule", source)
        check(status == 0 and out.count("B's rows in place") >= len(CASES) - 2, out + err)
        common.judged(bench, source, judge, "windows")
        for level, *options in ("x86-64-v3",), ("x86-64-v3", "--threads=none"), ("x86-64-v2",):
            stem = "windows" + level[-2:] + "alone" * bool(options)
            os.rename(source, bench.path(stem + ".tsr"))
            source = bench.path(stem + ".tsr")
            common.judged(bench, source, judge, stem, (1,) if options else (1, 2), ["--cpu=" + level, *options])
    end()


main()
