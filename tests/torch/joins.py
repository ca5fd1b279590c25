"""Axes side by side: padding with a constant, cutting, concatenation along any axis, blocks, stacks."""
import math

import torch
import torch.nn.functional as F

from program import Case, numbers
from windows import arranged, filled, to

SIZES = (1, 1, 2, 3, 4, 5, 7, 11, 13)


def some_sizes(rng, count, big):
    while True:
        sizes = [rng.choice(SIZES) for _ in range(count)]
        if big:
            sizes[rng.randrange(count)] = rng.randint(40, 130)
        if math.prod(sizes) <= (4000 if big else 400):
            return sizes


def pad(rng, number, big=False):
    """Each axis widened, cut, both or neither, in one spec; a value other than 0 by difference, or as parts that are filled."""
    count = rng.randint(1, 4)
    sizes = some_sizes(rng, count, big)
    axes = ["x%d" % k for k in range(count)]
    edges, sides, captured = {}, {}, {}
    for a, n in zip(axes, sizes):
        left, right = [rng.choice((0, 0, 1, 2, 3, 5)) if rng.random() < 0.7 else -rng.randint(0, 2) for _ in range(2)]
        if n + min(left, 0) + min(right, 0) < 1:
            left, right = abs(left), abs(right)
        edges[a] = (left, right)
        part = lambda n, name: [str(n)] if n > 0 else []
        # what is cut off is a part by name, whose size the definition sets, or by its size
        cut = []
        for side, n in (("l", left), ("r", right)):
            cut.append([] if n >= 0 else [str(-n)] if rng.random() < 0.5 else ["%s%s" % (side, a)])
            if cut[-1] and not cut[-1][0].isdigit():
                captured[cut[-1][0]] = -n
        sides[a] = ("^".join(cut[0] + [a] + cut[1]), "^".join(part(left, "l") + [a] + part(right, "r")))
    xs, rs = arranged(rng, axes), arranged(rng, axes)
    spec = "%s => %s" % (", ".join(sides[a][0] for a in xs), ", ".join(sides[a][1] for a in rs))
    if "," not in spec and "^" not in spec:
        spec = spec.replace("=>", ", =>")
    value = rng.choice((0, 0, 0, 3, -2))
    operator = rng.choice(("++^", "++"))

    def build(r, x):
        inner = x if value == 0 else "(%s - %d.)" % (x, value) if value > 0 else "(%s + %d.)" % (x, -value)
        lines = ['let%%op %s =' % r, '  let y = %s %s "%s"%s in' % (inner, operator, spec, " [%s]" % "; ".join(captured) if captured else "")]
        lines += ["  set_dim %s %d;" % c for c in captured.items()]
        return lines + ["  y" if value == 0 else "  y + %d." % value if value > 0 else "  y - %d." % -value]

    array = numbers(rng, [dict(zip(axes, sizes))[a] for a in xs])
    judge = lambda t: to(F.pad(to(t, xs, rs), [n for a in reversed(rs) for n in edges[a]], value=float(value)), rs, rs)
    return Case(number, "%s with %d" % (spec, value), {"x": array}, build, judge)


def bordered(rng, number, big=False):
    """A border of numbers: parts that have no shape of their own."""
    n, m = some_sizes(rng, 2, big)
    left, right, first, second = rng.randint(1, 4), rng.randint(1, 4), rng.randint(-5, 5), rng.randint(-5, 5)
    dim = rng.randrange(2)
    axis = lambda name: ", ".join([name, "z"] if dim == 0 else ["z", name])
    spec = "%s; %s; %s => %s" % (axis("l"), axis("a"), axis("r"), axis("l^a^r"))

    def build(r, x):
        number = lambda n: "fill (%d.)" % n
        return ["let%%op %s =" % r, '  let y = (%s, %s, %s) ++^ "%s" [l; r] in' % (number(first), x, number(second), spec),
                "  set_dim l %d;" % left, "  set_dim r %d;" % right, "  y"]

    def judge(t):
        edge = lambda count, value: torch.full([count if d == dim else t.shape[d] for d in range(2)], float(value), dtype=t.dtype)
        return torch.cat([edge(left, first), t, edge(right, second)], dim)

    return Case(number, "filled " + spec, {"x": numbers(rng, [n, m])}, build, judge)


def padding(rng, number, big=False):
    return (bordered if rng.random() < 0.15 else pad)(rng, number, big)


def joined(rng, number, big=False):
    """Two to four parts along one axis, each with its axes in an order of its own; a part may stand twice."""
    count, parts = rng.randint(1, 4), rng.randint(2, 4)
    axes = ["x%d" % k for k in range(count)]
    sizes = dict(zip(axes, some_sizes(rng, count, big)))
    along = rng.choice(axes)
    rs = arranged(rng, axes)
    names, orders, operands, places = [], [], {}, []
    for k in range(parts):
        names.append("p%d" % k)
        if operands and rng.random() < 0.1:
            places.append(rng.randrange(len(operands)))
            orders.append(orders[places.index(places[-1])])
            continue
        places.append(len(operands))
        orders.append(arranged(rng, axes))
        length = rng.choice(SIZES)
        operands["abcd"[len(operands)]] = numbers(rng, [length if a == along else sizes[a] for a in orders[-1]])
    named = lambda axes, part: ", ".join(part if a == along else a for a in axes)
    spec = "%s => %s" % ("; ".join(named(o, n) for o, n in zip(orders, names)), named(rs, "^".join(names)))
    build = lambda r, *x: ['let%%op %s = (%s) ++^ "%s"' % (r, ", ".join(x[p] for p in places), spec)]
    judge = lambda *t: torch.cat([to(t[p], o, rs) for p, o in zip(places, orders)], rs.index(along))
    return Case(number, spec, operands, build, judge)


def blocks(rng, number, big=False):
    """A grid of blocks in one operation: concatenation along two axes at once."""
    down, across = rng.randint(1, 3), rng.randint(1, 3)
    heights, widths = [rng.choice(SIZES) for _ in range(down)], [rng.choice(SIZES) for _ in range(across)]
    if big:
        widths[0] = rng.randint(40, 130)
    if down * across == 1:
        return joined(rng, number, big)
    extra = rng.randint(1, 3)
    operands = {"b%d%d" % (i, j): numbers(rng, [extra, h, w]) for i, h in enumerate(heights) for j, w in enumerate(widths)}
    slots = "; ".join("e, h%d, w%d" % (i, j) for i in range(down) for j in range(across))
    spec = "%s => e, %s, %s" % (slots, "^".join("h%d" % i for i in range(down)), "^".join("w%d" % j for j in range(across)))
    operands = {k + "_": a for k, a in operands.items()}
    build = lambda r, *x: ['let%%op %s = (%s) ++^ "%s"' % (r, ", ".join(x), spec)]
    judge = lambda *t: torch.cat([torch.cat(t[i * across:(i + 1) * across], 2) for i in range(down)], 1)
    return Case(number, spec, operands, build, judge)


def stacked(rng, number, big=False):
    """A literal of tensors: a new first axis."""
    shape = some_sizes(rng, rng.randint(1, 3), big)
    operands = {k: numbers(rng, shape) for k in "abcd"[:rng.randint(1, 4)]}
    return Case(number, "stack of %s" % shape, operands, lambda r, *x: ["let%%op %s = [%s]" % (r, "; ".join(x))], lambda *t: torch.stack(t))


def cat(rng, number, big=False):
    return rng.choice((joined, joined, joined, joined, blocks, stacked))(rng, number, big)


GROUPS = {"pad": (padding, 0.2), "cat": (cat, 0.1)}


def mistakes(rng):
    """Parts that are longer than their axis, and parts whose other axes differ."""
    out = []
    for n in range(120):
        size, other = rng.randint(2, 12), rng.randint(1, 5)
        if n % 2:
            left = rng.randint(1, size)
            right = size - left + rng.randint(0, 3)         # nothing is left, or less
            if right == 0:
                right = 1
            out.append(('let%%op y%d = %s ++^ "n, %d^a^%d => n, a"' % (n, filled([other, size]), left, right), ["E0409", str(size), str(left + right)]))
        else:
            more = other + rng.randint(1, 4)
            a, b = rng.sample((other, more), 2)
            if 1 in (a, b):
                a, b = a + 1, b + 1
            out.append(('let%%op y%d = (%s, %s) ++^ "n, a; n, b => n, a^b"' % (n, filled([a, size]), filled([b, rng.randint(1, 9)])),
                        ["E0401", str(a), str(b)]))
    return out
