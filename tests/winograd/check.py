#!/usr/bin/env python3
"""Windows of three by three and of five by five places, and of as many along one axis, by tiles (--winograd=2 and 4), compiled, against NumPy. Of three by tiles of two whole numbers, whose sums are exact, with quarters of a window's elements among them: forward, what follows the sums, both gradients,
padded and not, even sizes and odd ones, groups; in blocks and one kernel after the other, by one thread, two and three. Random numbers within the bound that docs/accuracy.md states, computed for each element. An infinity
reaches the results of the tiles that it is in and no others. Sums that are none of these windows stay as they are; without the option all do. A network in training, under the sanitizer, too."""
import ctypes, os, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

f32, f64 = np.float32, np.float64
# images, height and width of the results, channels, filters, window, padded
CASES = [(1, 56, 56, 64, 64, 3, True), (3, 28, 26, 40, 48, 3, True), (2, 27, 29, 64, 33, 3, False), (4, 14, 14, 96, 130, 3, True), (8, 24, 24, 32, 48, 3, False), (9, 7, 7, 256, 128, 3, True),
         (1, 40, 21, 64, 80, 3, False), (6, 13, 30, 24, 64, 3, True), (8, 28, 27, 32, 64, 5, True), (3, 21, 24, 64, 48, 5, False)]
GROUPS = (4, 24, 24, 3, 32, 32)         # images, height, width, groups, channels and filters of each
ALONG = (9, 203, 48, 64, 3), (5, 330, 40, 48, 5)         # rows, their length, channels, filters, window along them
SOME = (30, 26, 48, 40)                 # height, width, channels, filters of images whose number the run knows
TRAINED = """open Nn
open Train
let data = file "images.npy"
let%%op x = data *. 1.
let%%op network () =
  let first = conv2d ~filters:32 () in
  let second = conv2d ~filters:40 () in
  let third = conv2d ~filters:32 () in
  fun x -> let y = relu (first x) in third (relu (second y)) + y
let net = network ()
let%%op loss = (let y = net x in y *. y) |> mean
let%%cd step = grad_update loss; sgd loss ~lr:0.5 ~momentum:0.9
let%%main () =
  for i = 0 to 3 do
    run step;
    print "{loss.(0)}"
  done
"""


def program():
    lines = []
    for i, (n, h, w, c, f, size, padded) in enumerate(CASES):
        more = 0 if padded else size - 1
        x, y = f"{n} | {h + more}, {w + more}, {c}", f"{n} | {h}, {w}, {f}"
        window = "oh =+ kh, ow =+ kw, c" if padded else "oh <+ kh, ow <+ kw, c"
        lines.append(f'let%export f{i} (x : "{x}") (k : "{size}, {size}, {c}, {f}") = x +* k "... | {window}; kh, kw, c, f => ... | oh, ow, f"')
        lines.append(f'let%export r{i} (x : "{x}") (k : "{size}, {size}, {c}, {f}") (b : "{f}") (r : "{y}") =\n  relu (x +* k "... | {window}; kh, kw, c, f => ... | oh, ow, f" + b + r)')
        lines.append(f'let%export w{i} (x : "{x}") (y : "{y}") =\n  let g = x +* y "n | {window}; n | oh, ow, f => f, kh, kw, c" [kh; kw] in\n  set_dim kh {size}; set_dim kw {size};\n  g')
        lines.append(f'let%export i{i} (y : "{y}") (k : "{f}, {size}, {size}, {c}") = y +* k "... | oh, ow, f; f, kh, kw, c => ... | {window}"')
    n, h, w, g, c, f = GROUPS
    lines.append(f'let%export g (x : "{n}, {h}, {w}, {g}, {c} |") (k : "3, 3, {g}, {c}, {f} |") = x +* k "b, h =+ i, w =+ j, g, c |; i, j, g, c, f | => b, h, w, g, f |"')
    for i, (n, t, c, f, size) in enumerate(ALONG):
        lines.append(f'let%export a{i} (x : "{n} | {t}, {c}") (k : "{size}, {c}, {f}") = x +* k "... | t =+ i, c; i, c, f => ... | t, f"')
        lines.append(f'let%export b{i} (x : "{n} | {t}, {c}") (y : "{n} | {t}, {f}") =\n  let g = x +* y "n | t =+ i, c; n | t, f => f, i, c" [i] in\n  set_dim i {size};\n  g')
    lines.append('let%export d (x : "3 | 20, 21, 32" f64) (k : "3, 3, 32, 40" f64) = x +* k "... | oh =+ kh, ow =+ kw, c; kh, kw, c, f => ... | oh, ow, f"')
    h, w, c, f = SOME
    lines.append(f'let%export s (x : "?n | {h}, {w}, {c}") (k : "3, 3, {c}, {f}") = x +* k "... | oh =+ kh, ow =+ kw, c; kh, kw, c, f => ... | oh, ow, f"')
    lines.append(f'let%export t (x : "?n | {h}, {w}, {c}") (y : "?n | {h}, {w}, {f}") =\n  let g = x +* y "n | oh =+ kh, ow =+ kw, c; n | oh, ow, f => f, kh, kw, c" [kh; kw] in\n  set_dim kh 3; set_dim kw 3;\n  g')
    return "\n".join(lines) + "\n"


LEFT = """let%export stride (x : "8 | 28, 28, 64") (k : "3, 3, 64, 64") = x +* k "... | 2*oh =+ kh, 2*ow =+ kw, c; kh, kw, c, f => ... | oh, ow, f"
let%export gap (x : "8 | 28, 28, 64") (k : "3, 3, 64, 64") = x +* k "... | oh =+ 2*kh, ow =+ 2*kw, c; kh, kw, c, f => ... | oh, ow, f"
let%export seven (x : "8 | 28, 28, 64") (k : "7, 7, 64, 64") = x +* k "... | oh =+ kh, ow =+ kw, c; kh, kw, c, f => ... | oh, ow, f"
let%export along (x : "8 | 280, 64") (k : "3, 64, 64") = x +* k "... | 2*t =+ i, c; i, c, f => ... | t, f"
let%export few (x : "8 | 28, 28, 3") (k : "3, 3, 3, 64") = x +* k "... | oh =+ kh, ow =+ kw, c; kh, kw, c, f => ... | oh, ow, f"
let%export most (x : "8 | 28, 28, 64") (k : "3, 3, 64, 64") = x @^+ k "... | oh =+ kh, ow =+ kw, c; kh, kw, c, f => ... | oh, ow, f"
"""

# ---- in NumPy ---------------------------------------------------------------------------------------------------------------

def around(x, size, padded):
    side = (size // 2, size // 2)
    return np.pad(x, ((0, 0), side, side, (0, 0))) if padded else x


def forward(x, k, padded):
    """x: n h w c; k: the window's places, c f."""
    size = len(k)
    x = around(x, size, padded)
    h, w = x.shape[1] - size + 1, x.shape[2] - size + 1
    return sum(x[:, i:i + h, j:j + w] @ k[i, j] for i in range(size) for j in range(size))


def weights(x, y, size, padded):
    x = around(x, size, padded)
    h, w = y.shape[1:3]
    taps = [[np.einsum("nhwf,nhwc->fc", y, x[:, i:i + h, j:j + w], optimize=True) for j in range(size)] for i in range(size)]
    return np.array(taps).transpose(2, 0, 1, 3)


def image(y, k, padded):
    """k: f, the window's places, c."""
    n, h, w, _ = y.shape
    size = k.shape[1]
    x = np.zeros((n, h + size - 1, w + size - 1, k.shape[3]), y.dtype)
    for i in range(size):
        for j in range(size):
            x[:, i:i + h, j:j + w] += y @ k[:, i, j]
    return x[:, size // 2:-(size // 2), size // 2:-(size // 2)] if padded else x


UNIT, PARTS = 2.0 ** -24, 8            # parts of a sum over blocks at most


class Sizes:
    """The transforms of tiles of two or four places and a window without signs, from their points: of the image's points, of a window and a tile, of the products of each; and how many roundings they are, along both axes."""

    def __init__(self, tile, taps):
        self.taps, self.side = taps, tile + taps - 1
        points = [0, 1, -1] if self.side == 4 else [0, 0.75, -0.75, 1.5, -1.5]
        others = [[q for q in points if q != p] for p in points]
        divisors = np.array([abs(np.prod([p - q for q in o])) for p, o in zip(points, others)], f64)
        rows = [np.poly(o)[::-1].tolist() + [0] for o in others] + [np.poly(points)[::-1].tolist()]
        self.tile, self.image = tile, np.abs(np.array(rows))
        self.window, self.of_tile = (np.array([[abs(p) ** k / d for k in range(n)] for p, d in zip(points, divisors)] + [[0] * (n - 1) + [1]], f64) for n in (taps, tile))
        self.results, self.of_results = (np.array([[abs(p) ** k for p in points] + [k == n - 1] for k in range(n)], f64) for n in (tile, taps))
        self.forward, self.weights = (2 * 5, 2 * 4) if self.side == 4 else (2 * 13, 2 * 13)


def tiles(x, h, w, size, step):
    """Tiles of `size` points, so far apart, of images that begin at a tile's first point."""
    th, tw = -(-h // step), -(-w // step)
    x = np.pad(x, ((0, 0), (0, step * th + size - x.shape[1]), (0, step * tw + size - x.shape[2]), (0, 0)))
    return np.array([[x[:, i:i + step * th:step, j:j + step * tw:step] for j in range(size)] for i in range(size)])      # i j n t u c


def gamma(n):
    return n * UNIT / (1 - n * UNIT)


def bound_along(x, k, s):
    """x: rows under tiles, n t c; k: the window's places, c f."""
    n, t, _ = x.shape
    count = -(-t // s.tile)
    x = np.abs(np.pad(x, ((0, 0), (s.taps // 2, s.side), (0, 0))).astype(f64))
    d = np.einsum("pi,intc->pntc", s.image, np.array([x[:, i:i + s.tile * count:s.tile] for i in range(s.side)]))
    y = np.einsum("ap,pntf->ntaf", s.results, np.einsum("pntc,pcf->pntf", d, np.einsum("pi,icf->pcf", s.window, np.abs(k.astype(f64))), optimize=True))
    return gamma(x.shape[2] + s.forward + 1) * y.reshape(n, s.tile * count, -1)[:, :t]


def bound_weights_along(x, y, s):
    n, t, _ = x.shape
    count = -(-t // s.tile)
    x, y = (np.abs(np.pad(a, ((0, 0), (before, s.side), (0, 0))).astype(f64)) for a, before in ((x, s.taps // 2), (y, 0)))
    d, z = (np.einsum("pi,intc->pntc", by, np.array([a[:, i:i + s.tile * count:s.tile] for i in range(by.shape[1])])) for by, a in ((s.image, x), (s.of_tile, y)))
    return gamma(n * count + s.weights + PARTS) * np.einsum("ap,pntf,pntc->fac", s.of_results, z, d, optimize=True)


def bound_forward(x, k, padded, s):
    """How far each result may be from the real number: the same sums of sizes, times what so many roundings make of a number. k: the window's places, c f."""
    size = len(k)
    x, k = np.abs(around(x, size, padded).astype(f64)), np.abs(k.astype(f64))
    h, w = x.shape[1] - size + 1, x.shape[2] - size + 1
    d = np.einsum("pi,qj,ijntuc->pqntuc", s.image, s.image, tiles(x, h, w, s.side, s.tile), optimize=True)
    m = d.reshape(s.side, s.side, -1, x.shape[3]) @ np.einsum("pi,qj,ijcf->pqcf", s.window, s.window, k)
    y = np.einsum("ap,bq,pqmf->mabf", s.results, s.results, m, optimize=True).reshape(*d.shape[2:5], s.tile, s.tile, -1)
    n, t, u, _, _, f = y.shape
    return gamma(x.shape[3] + s.forward + 1) * y.transpose(0, 1, 3, 2, 4, 5).reshape(n, s.tile * t, s.tile * u, f)[:, :h, :w]


def bound_weights(x, y, size, padded, s):
    x, y = np.abs(around(x, size, padded).astype(f64)), np.abs(y.astype(f64))
    h, w = y.shape[1:3]
    d = np.einsum("pi,qj,ijntuc->pqntuc", s.image, s.image, tiles(x, h, w, s.side, s.tile), optimize=True).reshape(s.side ** 2, -1, x.shape[3])
    z = np.einsum("pi,qj,ijntuf->pqntuf", s.of_tile, s.of_tile, tiles(y, h, w, s.tile, s.tile), optimize=True).reshape(s.side ** 2, -1, y.shape[3])
    m = (z.transpose(0, 2, 1) @ d).reshape(s.side, s.side, y.shape[3], -1)
    return gamma(d.shape[1] + s.weights + PARTS) * np.einsum("ap,bq,pqfc->fabc", s.of_results, s.of_results, m, optimize=True)


# ---- compiled ------------------------------------------------------------------------------------------------------------------

def call(model, function, *operands, shape, prec=f32):
    """Sizes that the run knows come first."""
    made = np.full(shape, 7, prec)
    model.seconds(function, *(ctypes.c_int64(a) if isinstance(a, int) else a.ctypes.data_as(ctypes.c_void_p) for a in (*operands, made)))
    return made


def whole(random, *shape):
    return random.integers(-4, 5, shape).astype(f32)


def along(random, most):
    """What, function, operands, the result, of windows of at most so many places."""
    for i, (n, t, c, f, size) in enumerate(ALONG):
        if size > most:
            continue
        x, k, y = whole(random, n, t, c), whole(random, size, c, f), whole(random, n, t, f)
        wide = np.pad(x, ((0, 0), (size // 2, size // 2), (0, 0)))
        yield f"along {ALONG[i]}", f"a{i}", (x, k), sum(wide[:, j:j + t] @ k[j] for j in range(size))
        yield f"along {ALONG[i]}, weights", f"b{i}", (x, y), np.stack([np.einsum("ntf,ntc->fc", y, wide[:, j:j + t], optimize=True) for j in range(size)], 1)


def judge_exact(bench, model):
    random = np.random.default_rng(5)
    calls = []                           # what, function, operands, the result
    for i, (n, h, w, c, f, size, padded) in enumerate(CASES):
        if size > 3:
            continue
        more = 0 if padded else size - 1
        x, y, k, b = whole(random, n, h + more, w + more, c), whole(random, n, h, w, f), whole(random, size, size, c, f), whole(random, f)
        turned, sums = np.ascontiguousarray(k.transpose(3, 0, 1, 2)), forward(x, k, padded)
        calls += [(f"forward: {CASES[i]}", f"f{i}", (x, k), sums), (f"what follows: {CASES[i]}", f"r{i}", (x, k, b, y), np.maximum(sums + b + y, 0)),
                  (f"weights: {CASES[i]}", f"w{i}", (x, y), weights(x, y, size, padded)), (f"image: {CASES[i]}", f"i{i}", (y, turned), image(y, turned, padded))]
    n, h, w, g, c, f = GROUPS
    x, k = whole(random, n, h, w, g, c), whole(random, 3, 3, g, c, f)
    calls.append(("groups", "g", (x, k), np.stack([forward(x[:, :, :, i], k[:, :, i], True) for i in range(g)], 3)))
    calls += along(random, 3)
    h, w, c, f = SOME
    for n in (1, 7):
        x, y, k = whole(random, n, h, w, c), whole(random, n, h, w, f), whole(random, 3, 3, c, f)
        calls += [(f"{n} images, as the run says", "s", (n, x, k), forward(x, k, True)), (f"{n} images, as the run says, weights", "t", (n, x, y), weights(x, y, 3, True))]
    for threads in (1, 2, 3):
        bench.probes(threads)
        for what, function, operands, want in calls:
            check(np.array_equal(call(model, function, *operands, shape=want.shape), want), f"{what}, {threads} threads")


def judge_random(model, tile):
    """The worst error, in parts of its bound."""
    random, worst = np.random.default_rng(6), 0
    for i, (n, h, w, c, f, size, padded) in enumerate(CASES):
        s = Sizes(tile if size == 3 else 2, size)
        more = 0 if padded else size - 1
        x, y, k = (random.standard_normal(shape).astype(f32) for shape in ((n, h + more, w + more, c), (n, h, w, f), (size, size, c, f)))
        x[0] *= f32(1e3)                 # images of unlike sizes do not mix
        turned = np.ascontiguousarray(k.transpose(3, 0, 1, 2))
        flipped = np.ascontiguousarray(k[::-1, ::-1].transpose(0, 1, 3, 2))        # the gradient is such a window backwards
        of_image = around(y, size, True)
        of_image = of_image if padded else around(of_image, size, True)
        for what, made, want, most in (
                ("forward", call(model, f"f{i}", x, k, shape=y.shape), forward(x.astype(f64), k.astype(f64), padded), bound_forward(x, k, padded, s)),
                ("weights", call(model, f"w{i}", x, y, shape=turned.shape), weights(x.astype(f64), y.astype(f64), size, padded), bound_weights(x, y, size, padded, s)),
                ("image", call(model, f"i{i}", y, turned, shape=x.shape), image(y.astype(f64), turned.astype(f64), padded), bound_forward(of_image, flipped, False, s))):
            part = (np.abs(made - want) / most).max()
            worst = max(worst, part)
            check(part <= 1, f"{what}: {CASES[i]}, tiles of {tile}: {part:.3f} of the bound")
    for what, function, operands, want in along(random, 5):
        s = Sizes(tile if ALONG[int(function[1:])][4] == 3 else 2, ALONG[int(function[1:])][4])
        part = np.abs(call(model, function, *operands, shape=want.shape) - want) / (bound_along if function[0] == "a" else bound_weights_along)(*operands, s)
        check(part.max() <= 1, f"{what}, tiles of {tile}: {part.max():.3f} of the bound")
        worst = max(worst, part.max())
    x, k = random.standard_normal((3, 20, 21, 32)), random.standard_normal((3, 3, 32, 40))
    want = forward(x, k, True)
    part = np.abs(call(model, "d", x, k, shape=want.shape, prec=f64) - want) / (bound_forward(x, k, True, Sizes(tile, 3)) * 2.0 ** -29)     # u = 2^-53
    check(part.max() <= 1, f"f64, tiles of {tile}: {part.max():.3f} of the bound")
    print(f"tiles of {tile}, random numbers: {worst:.3f} of the bound at most")
    check(worst > 1e-3, "the bound says nothing")


def judge_infinite(model, tile):
    """One in the middle of an image: what it does not reach, tiles included, is what it was."""
    random = np.random.default_rng(7)
    n, h, w, c, f, *_ = CASES[0]
    x, k = whole(random, n, h, w, c), whole(random, 3, 3, c, f)
    before = call(model, "f0", x, k, shape=(n, h, w, f))
    x[0, 20, 31, 5] = np.inf
    after = call(model, "f0", x, k, shape=(n, h, w, f))
    reached = np.zeros((h, w), bool)     # rows 19 to 21 and columns 30 to 32 read it, with all of their tiles
    reached[19 // tile * tile:(21 // tile + 1) * tile, 30 // tile * tile:(32 // tile + 1) * tile] = True
    check(np.array_equal(after[0][~reached], before[0][~reached]) and not np.isfinite(after[0, 19:22, 30:33]).any(), "an infinity reaches its tiles alone")


def judge_left(bench):
    source = bench.written("left.tsr", LEFT)
    status, out, err = run(bench.tsrc, "-c", "--winograd=4", "--dump=schedule", source)
    check(status == 0 and "products for" not in out, f"windows that are none of these: {out}{err}")
    source = bench.written("windows.tsr", program())
    status, out, err = run(bench.tsrc, "-c", "--dump=schedule", source)
    check(status == 0 and "products for" not in out, f"without the option: {out}{err}")
    for tile, products, count in ((2, "16 products for 36", 35), (4, "36 products for 144", 36), (4, "36 products for 100", 8)):        # by tiles of two one does not pay
        status, out, err = run(bench.tsrc, "-c", f"--winograd={tile}", "--cpu=x86-64-v4", "--dump=schedule", source)
        check(status == 0 and out.count(products) == count and "in blocks of" in out, f"windows by tiles of {tile}, {out.count(products)} of {count}: {out}{err}")
    status, out, err = run(bench.tsrc, "-c", "--winograd=3", source)
    check(status == 2 and "--winograd takes 2 or 4" in err, f"tiles of three: {err}")


def judge_training(bench):
    np.save(bench.path("images.npy"), np.random.default_rng(8).standard_normal((12, 18, 18, 8)).astype(f32))
    source = bench.written("trained.tsr", TRAINED.replace("%%", "%"))
    losses = {}
    status, out, err = run(bench.tsrc, "--winograd=2", "--dump=schedule", source)
    check(status == 0 and out.count("16 products") >= 6, f"a network by tiles: {out}{err}")
    for options in ((), ("--winograd=2",), ("--winograd=4", "--threads=none"), ("--winograd=4", "--threads=all"), ("--winograd=2", "--no-fuse"), ("--winograd=2", "--sanitize", "--threads=all"),
                    ("--winograd=4", "--sanitize"), ("--winograd=2", "--memory-limit=12MiB")):
        status, out, err = run(bench.tsrc, "run", *options, source, env=dict(os.environ, OMP_NUM_THREADS="3", ASAN_OPTIONS="detect_leaks=0"))
        check(status == 0, f"{options}: {err}")
        losses[options] = np.array(out.split(), float)
        check(losses[options].shape == (4,) and np.allclose(losses[options], losses[()], rtol=1e-4), f"{options}: {losses[options]} for {losses[()]}")
    check(losses["--winograd=4", "--threads=none"].tolist() == losses["--winograd=4", "--threads=all"].tolist(), f"threads: {losses}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 2, table.Table())
        judge_left(bench)
        for tile in (2, 4):
            model = common.Model(bench.shared(bench.written(f"tiles{tile}.tsr", program()), f"tiles{tile}", f"--winograd={tile}"))
            if tile == 2:
                judge_exact(bench, model)
            judge_random(model, tile)
            judge_infinite(model, tile)
            model.close()
        judge_training(bench)
    end()


main()
