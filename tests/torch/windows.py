"""Windows that slide: convolutions of one to three dimensions, with groups, and convolutions that write their windows.

A padded axis `2*o=+3*k` reads at 2*o + 3*k - floor(s/2), where s = 1 + 3*(size-1), for every o of length/2 places.  PyTorch's `same` differs
for even spans and knows no stride; so its operand is padded by hand, floor(s/2) before and s - floor(s/2) - stride behind, which may be
negative: then the windows leave the end of the axis out."""
import math

import torch
import torch.nn.functional as F

from program import Case, numbers

PRIMES = (1, 1, 2, 3, 5, 7)
POINTS = 40000


class Window:
    """One windowed axis: `place` positions of a window of `size` elements."""

    def __init__(self, rng, k, most):
        self.place, self.size = rng.randint(1, most), rng.choice((1, 2, 2, 3, 3, 4, 5))
        self.stride, self.dilation, self.padded = rng.choice((1, 1, 1, 2, 3, 5)), rng.choice((1, 1, 1, 2, 3)), rng.random() < 0.5
        self.o, self.k = "o%d" % k, "k%d" % k
        self.wide = 1 + (self.size - 1) * self.dilation

    @property
    def length(self):
        return self.stride * self.place if self.padded else self.stride * (self.place - 1) + self.wide

    def text(self):
        times = lambda n, name: name if n == 1 else "%d*%s" % (n, name)
        return times(self.stride, self.o) + ("=+" if self.padded else "<+") + times(self.dilation, self.k)

    def padding(self):
        before = self.wide // 2 if self.padded else 0
        return before, self.stride * (self.place - 1) + self.wide - before - self.length


def windows(rng, count):
    most = {1: 9, 2: 5, 3: 3}[count]
    return [Window(rng, k, rng.choice((37, 70)) if count < 3 and rng.random() < 0.04 else most) for k in range(count)]


def padded(x, ws, value=0.0):
    """The last axes of x, one per window, widened or cut so that valid windows read what padded ones do."""
    return F.pad(x, [p for w in reversed(ws) for p in w.padding()], value=value)


def arranged(rng, axes, spatial=()):
    """The axes in some order; half the time as PyTorch has them."""
    return list(axes) if rng.random() < 0.5 else rng.sample(list(axes), len(axes))


def to(tensor, have, want):
    """Permutes the axes, which are named."""
    return tensor.permute([have.index(n) for n in want])


def channels(rng, ws):
    """Batch, groups, channels in and channels out of each group, so that the interpreter walks the points quickly."""
    while True:
        n, g, c, f = rng.randint(1, 3), rng.choice((1, 1, 1, 2, 3)), rng.choice(PRIMES), rng.choice(PRIMES)
        if rng.random() < 0.2:                         # depthwise
            g, c, f = rng.randint(1, 7), 1, rng.choice((1, 1, 2))
        if n * g * c * f * math.prod(w.place * w.size for w in ws) <= POINTS:
            return n, g, c, f


def large(rng):
    """Few places, and more channels than a register tile or a block of a tile holds."""
    g = rng.choice((1, 1, 1, 2))
    return rng.choice((1, 2)), g, rng.randint(40, 130) // g, rng.randint(40, 130) // g


def sizes_of(ws, n, g, c, f):
    """By the text of an axis; `(g, c)` is PyTorch's own axis of all channels."""
    return {"n": n, "g": g, "c": c, "f": f, "(g, c)": g * c, "(g, f)": g * f, **{w.o: w.place for w in ws}, **{w.k: w.size for w in ws}}


def draw_windows(rng, count, big):
    while True:
        ws = windows(rng, count)
        if big:
            for w in ws:
                w.place, w.size = min(w.place, 4), min(w.size, 3)
                w.wide = 1 + (w.size - 1) * w.dilation
        if math.prod(w.length for w in ws) <= 700 and math.prod(w.place * w.size for w in ws) <= (200 if big else 4000):
            return ws


def written(y, ws):
    """What a convolution of full reach wrote, on the axes of padded windows: the same cut as of what they read."""
    return F.pad(y, [n for w in reversed(ws) for n in (-w.padding()[0], -w.padding()[1])])


def convolution(count, transposed=False):
    def draw(rng, number, big=False):
        ws = draw_windows(rng, count, big)
        n, g, c, f = large(rng) if big else channels(rng, ws)
        sizes = sizes_of(ws, n, g, c, f)
        grouped = g > 1 or rng.random() < 0.1
        joint = grouped and rng.random() < 0.4
        outer = ["n"] * (n > 1 or rng.random() < 0.5) + ["g"] * (grouped and not joint)
        places, taps = [w.o for w in ws], [w.k for w in ws]
        x, r = outer + ["(g, c)" if joint else "c"] + places, outer + ["(g, f)" if joint else "f"] + places
        k = ["g"] * grouped + (["c", "f"] if transposed else ["f", "c"]) + taps
        xs, ks, rs = arranged(rng, x), arranged(rng, k), arranged(rng, r)
        window = {w.o: w for w in ws}
        moved = lambda name: window[name].text() if name in window else name
        plain = lambda name: name
        read, write = (plain, moved) if transposed else (moved, plain)
        spec = "%s; %s => %s" % (", ".join(map(read, xs)), ", ".join(ks), ", ".join(map(write, rs)))
        long = lambda axes: [window[a].length if a in window else sizes[a] for a in axes]
        short = lambda axes: [sizes[a] for a in axes]
        operands = {"x": numbers(rng, short(xs) if transposed else long(xs)), "k": numbers(rng, short(ks))}
        steps = {"stride": [w.stride for w in ws], "dilation": [w.dilation for w in ws], "groups": g}

        def forwards(tx, tk):
            tx = to(tx, xs, x).reshape([-1, g * c] + [w.length for w in ws])
            tk = to(tk, ks, k).reshape([g * f, c] + [w.size for w in ws]).contiguous()      # as PyTorch's plain convolutions want their gradients, too
            y = (F.conv1d, F.conv2d, F.conv3d)[count - 1](padded(tx, ws), tk, **steps)
            return to(y.reshape(short(r)), r, rs)

        def backwards(tx, tk):
            tx = to(tx, xs, x).reshape([-1, g * c] + [w.place for w in ws])
            tk = to(tk, ks, k).reshape([g * c, f] + [w.size for w in ws]).contiguous()
            y = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[count - 1](tx, tk, **steps)
            return to(written(y, ws).reshape(long(r)), r, rs)

        build = lambda r, x, k: ['let%%op %s = %s +* %s "%s"' % (r, x, k, spec)]
        return Case(number, spec, operands, build, backwards if transposed else forwards)
    return draw


def some_transposed(rng, number, big=False):
    return convolution(rng.choice((1, 1, 2, 2, 3)), True)(rng, number, big)


GROUPS = {"conv1d": (convolution(1), 0.12), "conv2d": (convolution(2), 0.08), "conv3d": (convolution(3), 0.04),
          "transposed": (some_transposed, 0.06)}


def filled(sizes):
    return '(fill 1. : "%s")' % ("".join("%d, " % n for n in sizes) if len(sizes) == 1 else ", ".join(map(str, sizes)))


def untiled(rng, w, most=60):
    """A length that the window does not tile, one that is too short included; None where every length fits."""
    fits = lambda n: n % w.stride == 0 if w.padded else n >= w.wide and (n - w.wide) % w.stride == 0
    wrong = [n for n in range(1, most) if not fits(n)]
    return rng.choice(wrong) if wrong else None


def mistakes(rng):
    """Convolutions of one to three axes of which one does not divide."""
    out = []
    while len(out) < 150:
        ws = windows(rng, rng.choice((1, 2, 3)))
        lengths, which = [w.length for w in ws], rng.randrange(len(ws))
        lengths[which] = untiled(rng, ws[which])
        if lengths[which] is None:
            continue
        c, f = rng.randint(1, 5), rng.randint(1, 5)
        spec = "c, %s; f, c, %s => f, %s" % (", ".join(w.text() for w in ws), ", ".join(w.k for w in ws), ", ".join(w.o for w in ws))
        text = 'let%%op y%d = %s +* %s "%s"' % (len(out), filled([c] + lengths), filled([f, c] + [w.size for w in ws]), spec)
        w = ws[which]
        least = "%d*" % w.stride if not w.padded and lengths[which] >= w.wide else str(lengths[which])
        out.append((text, ["E0405", least]))
    return out
