"""Lookups by whole numbers, and sums into the places that they name."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from joins import SIZES, some_sizes
from program import Case, numbers
from windows import arranged, filled, to

PRECISIONS = (np.int32, np.int32, np.uint8, np.int64, np.int16)


def places(rng, shape, size, precision=None):
    """Numbers below `size`, many of them equal."""
    few = np.random.default_rng(rng.getrandbits(32))
    at = few.integers(0, size, shape)
    if rng.random() < 0.5:
        at = few.choice(at.ravel()[:3], shape)
    return at.astype(precision or rng.choice([p for p in PRECISIONS if size <= np.iinfo(p).max]))


def looked_up(rng, number, big=False):
    """table @> ids: of the leftmost batch axis, or of the only input axis; ids of any shape."""
    table, ids = some_sizes(rng, rng.randint(1, 3), big), [rng.choice((1, 2, 3, 5, 6)) for _ in range(rng.randint(1, 2))]
    embedding = rng.random() < 0.5
    outer = rng.randint(0, len(table) - 1) if not embedding else 0
    names = ["n", "a", "b"][:len(table)]
    # the axes of the table in memory: n first as a batch axis, or last as the input axis
    spec = "%s, => -> " % ", ".join(names)
    if embedding:
        spec = "%s, => n -> %s" % (", ".join(names), ", ".join(names[1:]))
    else:
        spec = "%s, => %s | -> %s" % (", ".join(names), ", ".join(names[:1 + outer]), ", ".join(names[1 + outer:]))
    build = lambda r, x, i: ['let%%op t%d = %s ++ "%s"' % (number, x, spec), "let%%op %s = t%d @> %s" % (r, number, i)]
    rest = len(table) - 1
    # ids are output axes, which stand before those of the table and behind its batch axes
    order = list(range(len(ids), len(ids) + outer)) + list(range(len(ids))) + list(range(len(ids) + outer, len(ids) + rest))
    judge = lambda t, i: (F.embedding(i, t) if t.dim() == 2 else t[i]).permute(order)
    return Case(number, "(%s) @> %s" % (spec, ids), {"x": numbers(rng, table), "i": places(rng, ids, table[0])}, build, judge,
                "b" * outer + "o" * (len(ids) + rest - outer))


def selected(rng, number, big=False):
    """The same places for all: torch.index_select along any axis."""
    axes = ["a", "b", "c", "d"][:rng.randint(1, 4)]
    sizes = dict(zip(axes, some_sizes(rng, len(axes), big)))
    along, count = rng.choice(axes), rng.choice((1, 2, 3, 5, 17))
    xs, rs = arranged(rng, axes), arranged(rng, axes)
    other = lambda axes: ", ".join("i" if a == along else a for a in axes)
    spec = "%s; i; %s => %s" % (", ".join(xs), along, other(rs))
    build = lambda r, x, i: ['let%%op %s = pick %s %s (positions ()) ~spec:"%s"' % (r, x, i, spec)]
    judge = lambda t, i: torch.index_select(to(t, xs, rs), rs.index(along), i)
    return Case(number, "pick " + spec, {"x": numbers(rng, [sizes[a] for a in xs]), "i": places(rng, [count], sizes[along])}, build, judge)


def gathered(rng, number, big=False):
    """torch.gather along any axis: each place of the other axes has its own numbers."""
    axes = ["a", "b", "c"][:rng.randint(1, 3)]
    sizes = dict(zip(axes, some_sizes(rng, len(axes), big)))
    along, count = rng.choice(axes), rng.choice((1, 2, 3, 5, 7))
    xs, js, rs = arranged(rng, axes), arranged(rng, axes), arranged(rng, axes)
    other = lambda axes: ", ".join("i" if a == along else a for a in axes)
    spec = "%s; %s; %s => %s" % (", ".join(xs), other(js), along, other(rs))
    ids = places(rng, [count if a == along else sizes[a] for a in js], sizes[along])
    build = lambda r, x, i: ['let%%op %s = pick %s %s (positions ()) ~spec:"%s"' % (r, x, i, spec)]
    judge = lambda t, i: torch.gather(to(t, xs, rs), rs.index(along), to(i, js, rs))
    return Case(number, "pick " + spec, {"x": numbers(rng, [sizes[a] for a in xs]), "i": ids}, build, judge)


def gather(rng, number, big=False):
    return rng.choice((looked_up, selected, gathered))(rng, number, big)


# Forward sums: PyTorch refuses numbers outside the axis, here they add nothing.
SCATTER = """let scatter = ternop ~forward:(fun%cd v v1 v2 v3 -> v =:+ where (v2 = v3) v1 0.)
                     ~grad:(fun%cd g1 -> g1 =+ where (v2 = v3) g 0.)"""


def outside(rng, ids, size):
    """Some of the numbers below 0 or past the end."""
    if rng.random() < 0.5 or ids.dtype not in (np.int32, np.int64):
        return ids
    at = np.random.default_rng(rng.getrandbits(32)).integers(0, 6, ids.shape)
    return np.where(at == 0, -1, np.where(at == 1, size, ids)).astype(ids.dtype)


def added(t, ids, size, dim):
    """zeros.scatter_add, of what is inside."""
    inside = (ids >= 0) & (ids < size)
    shape = list(t.shape)
    shape[dim] = size
    return torch.zeros(shape, dtype=t.dtype).scatter_add(dim, torch.where(inside, ids, 0), torch.where(inside, t, torch.zeros((), dtype=t.dtype)))


def scattered(rng, number, big=False):
    """scatter_add: each element has its own place along one axis."""
    axes = ["a", "b", "c"][:rng.randint(1, 3)]
    sizes = dict(zip(axes, some_sizes(rng, len(axes), big)))
    along, size = rng.choice(axes), rng.choice(SIZES)
    xs, js, rs = arranged(rng, axes), arranged(rng, axes), arranged(rng, axes)
    placed = ", ".join("p" if a == along else a for a in rs)
    shared = rng.random() < 0.4                        # torch.index_add: one number for a whole row
    js = [along] if shared else js
    spec = "%s; %s; p => %s" % (", ".join(xs), ", ".join(js), placed)
    ids = outside(rng, places(rng, [sizes[a] for a in js], size), size)

    def build(r, x, i):
        return ["let%%op %s =" % r, "  let at = positions () ++ \"p => p\" [p] in", "  set_dim p %d;" % size,
                '  scatter %s %s at ~spec:"%s"' % (x, i, spec)]

    def judge(t, i):
        t = to(t, xs, rs)
        i = i.reshape([-1 if a == along else 1 for a in rs]).expand(t.shape) if shared else to(i, js, rs)
        return added(t, i, size, rs.index(along))

    return Case(number, "scatter " + spec, {"x": numbers(rng, [sizes[a] for a in xs]), "i": ids}, build, judge)


def hot(rng, number, big=False):
    """A product with one_hot: rows summed by their class."""
    n, m = some_sizes(rng, 2, big)
    size = rng.choice(SIZES)
    ids = outside(rng, places(rng, [n], size), size)
    spec = rng.choice(("n, m; n | c => c, m", "n, m; n | c => m, c"))
    build = lambda r, x, i: ['let%%op %s = %s +* (one_hot %d (%s ++ "n, => n |")) "%s"' % (r, x, size, i, spec)]

    def judge(t, i):
        y = added(t, i[:, None].expand(t.shape), size, 0)
        return y if spec.endswith("c, m") else y.t()

    return Case(number, "one_hot %s" % spec, {"x": numbers(rng, [n, m]), "i": ids}, build, judge)


def counted(rng, number, big=False):
    """Few places and many numbers: the gradient of a lookup adds up what came from one place, also when the lookup is used twice."""
    size, count, wide = rng.choice(SIZES), rng.randint(5, 40), rng.randint(40, 130) if big else rng.choice(SIZES)
    array, ids = numbers(rng, [size, wide]), places(rng, [count], size, np.int32)
    build = lambda r, x, i: ['let%%op t%d = %s ++ "n, c => n | -> c"' % (number, x), "let%%op u%d = t%d @> %s" % (number, number, i),
                             "let%%op %s = u%d *. u%d" % (r, number, number)]
    return Case(number, "square of %d @> %d" % (size, count), {"x": array, "i": ids}, build, lambda t, i: t[i] * t[i])


def scatter_add(rng, number, big=False):
    return rng.choice((scattered, scattered, hot, counted))(rng, number, big)


GROUPS = {"gather": (gather, 0.15), "scatter_add": (scatter_add, 0.15)}
HEADS = {"scatter_add": SCATTER}


def mistakes(rng):
    """Numbers whose axes are not those of the result, positions of another length than the axis, no axis to look up."""
    out = []
    for n in range(60):
        a, b, i = rng.randint(2, 6), rng.randint(7, 12), rng.randint(1, 5)
        whole = "[%s]" % "; ".join("0" for _ in range(i))
        out.append((("let%%op y%d = %s @> %s" % (n, filled([a, b]), whole), ["E0403", "input"]),
                    ('let%%op y%d = pick %s %s (fill 0 : "%d,") ~spec:"a, b; i; b => a, i"' % (n, filled([a, b]), whole, b - 1), ["E0401", str(b - 1), str(b)]),
                    ('let%%op y%d = pick %s [%s] (positions ()) ~spec:"a, b; a, i; b => a, i"' % (n, filled([a, b]), "; ".join([whole] * (a + 1))),
                     ["E0401", str(a), str(a + 1)]))[n % 3])
    return out
