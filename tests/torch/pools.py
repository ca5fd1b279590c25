"""What is taken of each window: the largest, the least, the mean; the windows themselves (im2col), and their sum in place (col2im).

PyTorch's padded pools pad by half the window at most, with minus infinity or (count_include_pad) zeros that count; padding by hand says the same.
`@^^` gives the gradient to every element that reaches the maximum, where PyTorch picks the first: its operands have no two equal elements.
max_pool2d picks the first as well, and is drawn with ties.  A window that lies outside as a whole has no largest element: minus infinity."""
import math

import torch
import torch.nn.functional as F

from program import Case, distinct, numbers
from windows import Window, arranged, filled, padded, to, untiled, windows

INFINITY = float("inf")


def small_windows(rng, big):
    while True:
        ws = windows(rng, rng.choice((1, 2, 2, 3)))
        if math.prod(w.length for w in ws) <= 300 and math.prod(w.place * w.size for w in ws) <= 1500:
            return ws


def captured(operation, result, ws):
    """A definition whose windows have no operand that would give their sizes."""
    return ["let%%op %s =" % result, "  let y = %s [%s] in" % (operation, "; ".join(w.k for w in ws))] + [
        "  set_dim %s %d;" % (w.k, w.size) for w in ws] + ["  y"]


def unpooled(x, ws, value):
    return padded(x.reshape([-1, 1] + [w.length for w in ws]), ws, value)


def largest(x, ws):
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(ws) - 1]
    return pool(unpooled(x, ws, -INFINITY), [w.size for w in ws], [w.stride for w in ws], 0, [w.dilation for w in ws])


def mean(x, ws):
    """avg_pool knows no dilation: a convolution with ones, divided."""
    if all(w.dilation == 1 for w in ws):
        pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[len(ws) - 1]
        return pool(unpooled(x, ws, 0.0), [w.size for w in ws], [w.stride for w in ws])
    conv = (F.conv1d, F.conv2d, F.conv3d)[len(ws) - 1]
    ones = torch.ones([1, 1] + [w.size for w in ws], dtype=x.dtype)
    return conv(unpooled(x, ws, 0.0), ones, stride=[w.stride for w in ws], dilation=[w.dilation for w in ws]) / ones.numel()


def pooling(rng, number, big=False):
    ws = small_windows(rng, big)
    way = rng.choice(("@^^", "@^^", "@--", "++"))
    sizes = {"n": rng.randint(1, 3), "c": rng.randint(40, 130) if big else rng.choice((1, 2, 3, 5, 7)), **{w.o: w.place for w in ws}}
    places, window = [w.o for w in ws], {w.o: w for w in ws}
    x = ["n", "c"] + places
    xs, rs = arranged(rng, x), arranged(rng, x)
    spec = "%s => %s" % (", ".join(window[a].text() if a in window else a for a in xs), ", ".join(rs))
    shape = [window[a].length if a in window else sizes[a] for a in xs]
    count = math.prod(w.size for w in ws)
    # whole numbers of which means are whole; all negative, or of both signs: what lies outside must not win
    array = count * numbers(rng, shape) if way == "++" else distinct(rng, shape, -math.prod(shape) - (0 if rng.random() < 0.5 else -5))
    value = {"@^^": largest, "@--": lambda x, ws: -largest(-x, ws), "++": mean}[way]

    def judge(t):
        return to(value(to(t, xs, x), ws).reshape([sizes[a] for a in x]), x, rs)

    def build(r, x):
        if way != "++":
            return captured('%s %s "%s"' % (x, way, spec), r, ws)
        lines = captured('%s ++ "%s"' % (x, spec), r, ws)
        return lines[:-1] + ["  y /. %d." % count]

    case = Case(number, "%s %s" % (way, spec), {"x": array}, build, judge)
    case.step = count if way == "++" else 1
    return case


def library(rng, number, big=False):
    """max_pool2d with ties, avg_pool2d, as the library has them: channels last."""
    places = [rng.randint(1, 5) for _ in range(2)]
    size, stride, c, pad = rng.randint(1, 4), rng.randint(1, 4), rng.randint(40, 130) if big else rng.choice((1, 2, 3, 5)), rng.random() < 0.5
    ws = [Window(rng, k, 1) for k in range(2)]
    for w, p in zip(ws, places):
        w.place, w.size, w.stride, w.dilation, w.padded, w.wide = p, size, stride, 1, pad, size
    n = rng.randint(1, 2)
    shape = [n] + [w.length for w in ws] + [c]
    name = rng.choice(("max_pool2d", "avg_pool2d"))
    count = size * size if name == "avg_pool2d" else 1
    high = rng.choice((-1, 2))
    array = count * numbers(rng, shape, -2 + min(high, 0), high)

    def judge(t):
        t = t.permute(0, 3, 1, 2)
        y = (largest if name == "max_pool2d" else mean)(t, ws)
        return y.reshape([n, c] + places).permute(0, 2, 3, 1)

    text = "%s ~size:%d ~stride:%d ~padded:%s" % (name, size, stride, str(pad).lower())
    build = lambda r, x: ['let%%op %s = Nn.%s (%s ++ "n, h, w, c => n | h, w, c")' % (r, text, x)]
    case = Case(number, "%s of %s" % (text, shape), {"x": array}, build, judge, "booo")
    case.step = count
    return case


def pool(rng, number, big=False):
    return (library if rng.random() < 0.3 else pooling)(rng, number, big)


def columns(t, ws):
    """n, c, places as n, c, places, taps: F.unfold where there are two axes, else Tensor.unfold one axis after the other."""
    n, c = t.shape[:2]
    wide = padded(t, ws)
    if len(ws) == 2:
        y = F.unfold(wide, [w.size for w in ws], dilation=[w.dilation for w in ws], stride=[w.stride for w in ws])
        y = y.reshape([n, c] + [w.size for w in ws] + [w.place for w in ws])
        return y.permute(0, 1, 4, 5, 2, 3)
    for k, w in enumerate(ws):
        wide = wide.unfold(2 + k, w.wide, w.stride)[..., ::w.dilation]
    return wide


def unfold(rng, number, big=False):
    ws = small_windows(rng, big)
    sizes = {"n": rng.randint(1, 3), "c": rng.randint(40, 70) if big else rng.choice((1, 2, 3, 5)), **{w.o: w.place for w in ws},
             **{w.k: w.size for w in ws}}
    window = {w.o: w for w in ws}
    x = ["n", "c"] + [w.o for w in ws]
    r = x + [w.k for w in ws]
    xs, rs = arranged(rng, x), arranged(rng, r)
    spec = "%s => %s" % (", ".join(window[a].text() if a in window else a for a in xs), ", ".join(rs))
    array = numbers(rng, [window[a].length if a in window else sizes[a] for a in xs])
    build = lambda result, x: captured('%s ++ "%s"' % (x, spec), result, ws)
    return Case(number, spec, {"x": array}, build, lambda t: to(columns(to(t, xs, x), ws), r, rs))


def fold(rng, number, big=False):
    """Each element added at its place in its window: the transpose of unfold, which is its gradient."""
    ws = small_windows(rng, big)
    sizes = {"c": rng.randint(40, 70) if big else rng.choice((1, 2, 3, 5)), **{w.o: w.place for w in ws}, **{w.k: w.size for w in ws}}
    window = {w.o: w for w in ws}
    r = ["c"] + [w.o for w in ws]
    x = r + [w.k for w in ws]
    xs, rs = arranged(rng, x), arranged(rng, r)
    spec = "%s => %s" % (", ".join(xs), ", ".join(window[a].text() if a in window else a for a in rs))
    long = [1, sizes["c"]] + [w.length for w in ws]

    def judge(t):
        zero = torch.zeros(long, dtype=t.dtype, requires_grad=True)
        y, = torch.autograd.grad(columns(zero, ws), zero, to(t, xs, x)[None], create_graph=True)
        return to(y[0], r, rs)

    return Case(number, spec, {"x": numbers(rng, [sizes[a] for a in xs])}, lambda result, x: ['let%%op %s = %s ++ "%s"' % (result, x, spec)], judge)


def unfolded(rng, number, big=False):
    return (fold if rng.random() < 0.25 else unfold)(rng, number, big)


GROUPS = {"pool": (pool, 0.1), "unfold": (unfolded, 0.1)}


def mistakes(rng):
    """Pools and unfolds whose windows do not tile; some of the library's, whose message names the operator that was called."""
    out = []
    while len(out) < 150:
        w = windows(rng, 1)[0]
        length = untiled(rng, w)
        if length is None:
            continue
        name, c = "y%d" % len(out), rng.randint(1, 5)
        if rng.random() < 0.3 and w.dilation == 1:
            call = "max_pool2d ~size:%d ~stride:%d ~padded:%s" % (w.size, w.stride, str(w.padded).lower())
            shape = [length, w.length, c] if rng.random() < 0.5 else [w.length, length, c]
            out.append(("let%%op %s = Nn.%s %s" % (name, call, filled(shape)), ["E0405", "max_pool2d"]))
            continue
        result = rng.choice(("c, %s", "%s, c", "c, %s, k0")) % w.o
        operator = "++" if "k0" in result else rng.choice(("@^^", "@--", "++"))
        lines = captured('%s %s "c, %s => %s"' % (filled([c, length]), operator, w.text(), result), name, [w])
        out.append((" ".join(lines), ["E0405", str(length)]))
    return out
