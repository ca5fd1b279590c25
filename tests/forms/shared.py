"""Symbols that several concatenated axes share: blocks along a diagonal and beside it; parts of a state that code overwrites or adds
to by `^`; slices at positions that the spec, the configuration or the run names, with their gradients."""
import numpy as np

from groups import Case, draw_array, literal
from meaning import Axis, Piece, backward, forward


def shared(rng, number):
    """Each operand is a block of one or two symbols; each symbol stands at its own place in each axis of the result, so that a block
    whose axes share a symbol is a diagonal.  Skips move the axes against each other."""
    dims = rng.choice((2, 2, 3))
    symbols = ["s%d" % k for k in range(rng.randint(1, 5 - dims))]
    sizes = {s: rng.randint(1, 6 - dims) for s in symbols}
    axes = [[rng.choice((None, None, rng.randint(1, 2)))] + [x for s in symbols for x in (s, rng.choice((None, None, 1)))]
            for _ in range(dims)]
    axes = [[x for x in a if x] for a in axes]
    total = [sum(sizes.get(x, x) for x in a) for a in axes]
    offset = lambda a, s: sum(sizes.get(x, x) for x in a[:a.index(s)])
    place = lambda a, s: Axis((1, s), offset=offset(a, s))
    pieces, arrays, slots, z = [], [], [], rng.randint(1, 2)
    for k, s in enumerate(symbols):
        pieces.append(Piece({s: sizes[s], "z": z}, [(k, [Axis((1, s)), Axis((1, "z"))])], [place(a, s) for a in axes] + [Axis((1, "z"))]))
        arrays.append(draw_array(rng, [sizes[s], z]))
        slots.append("%s, z" % s)
    shape = total + [z]
    value = forward(pieces, arrays, shape)
    weights = draw_array(rng, shape)
    spec = "; ".join(slots) + " => " + ", ".join("^".join(map(str, a)) for a in axes) + ", z"
    made = "(%s) ++^" % ", ".join("%s" for _ in arrays) if len(arrays) > 1 else "%s ++^"
    build = lambda r, x: ['let%%op %s = %s "%s"' % (r, made % tuple(x), spec)]
    return Case(number, "++^ " + spec, build, arrays, value, backward(pieces, arrays, value, weights), weights)


class Updated:
    """A state of which code overwrites, or adds to, the middle of one or two axes; the rest stays."""

    tolerance = 0

    def __init__(self, rng, number):
        n, dims = number, rng.randint(1, 2)
        before, size, after = [[rng.randint(1, 3) for _ in range(dims)] for _ in range(3)]
        whole = draw_array(rng, [b + s + a for b, s, a in zip(before, size, after)])
        part = draw_array(rng, size)
        operator, combine = rng.choice((("=:", lambda a, b: b), ("=+", lambda a, b: a + b), ("=-", lambda a, b: a - b),
                                        ("=@-", np.minimum), ("=:+", None)))
        names = ["i%d" % k for k in range(dims)]
        spec = "%s, => %s, " % (", ".join(names), ", ".join("%d^%s^%d" % x for x in zip(before, names, after)))
        self.text = "%s %s" % (operator, spec)
        self.lines = ["let%%cd s%d = { s%d; o = [%s] }" % (n, n, "; ".join(map(str, whole.shape))),
                      "let%%op whole%d = %s" % (n, literal(whole)), "let%%op part%d = %s" % (n, literal(part)),
                      "let%%cd fill%d = s%d =: whole%d" % (n, n, n), 'let%%cd some%d = s%d %s part%d ~logic:"%s"' % (n, n, operator, n, spec)]
        middle, want = tuple(slice(b, b + s) for b, s in zip(before, size)), whole.copy()
        if combine:
            want[middle] = combine(want[middle], part)
        else:                                           # set to the neutral element first
            want[:] = 0
            want[middle] = part
        self.main, self.expected = ["run fill%d" % n, "run some%d" % n, "print s%d" % n], {"s%d" % n: want}


class Sliced:
    """One row by a number of the run, a minibatch, the rows from a number on, a position in the spec, and all of their gradients."""

    tolerance = 0

    def __init__(self, rng, number):
        n, rows, inner = number, rng.randint(2, 6), [rng.randint(1, 3) for _ in range(2)]
        x = draw_array(rng, [rows] + inner)
        size = rng.choice([s for s in range(1, rows + 1) if rows % s == 0])
        at, batch, start, position = rng.randrange(rows), rng.randrange(rows // size), rng.randrange(rows), rng.randrange(inner[1])
        ways = [("x%d @| i%d" % (n, n), "... | ... -> ...", lambda a: a[at], "oo"),
                ("x%d @| %d" % (n, at), "... | ... -> ...", lambda a: a[at], "oo"),
                ("minibatch x%d ~size:%d j%d" % (n, size, n), "", lambda a: a[batch * size:(batch + 1) * size], "boo"),
                ("slice x%d ~from:%d" % (n, start), "", lambda a: a[start:], "boo"),
                ('x%d ++ "b | a, %d => b | a"' % (n, position), "", lambda a: a[:, :, position], "bo")]
        text, _, take, kinds = rng.choice(ways)
        value = take(x)
        weights, gradient = draw_array(rng, value.shape), np.zeros_like(x)
        take(gradient)[...] = weights
        runs = " ~i%d:%d" % (n, at) if "@| i" in text else " ~j%d:%d" % (n, batch) if "minibatch" in text else ""
        self.text = text
        self.lines = ['let i%d = index "i%d"' % (n, n), 'let j%d = index "j%d"' % (n, n),
                      "let%%op p%d = { p%d = %s }" % (n, n, literal(x)), 'let%%op x%d = p%d ++ "r, a, b => r | a, b"' % (n, n),
                      "let%%op y%d = %s" % (n, text), 'let%%op l%d = sum (y%d *. %s)' % (n, n, literal(weights, kinds)),
                      "let%%cd g%d = grad_update l%d" % (n, n)]
        self.lines.append('let%%cd c%d = { c%d }' % (n, n))
        self.lines.append('let%%cd keep%d = c%d =: y%d' % (n, n, n))
        self.main = ["run keep%d%s" % (n, runs), "print c%d" % n, "run g%d%s" % (n, runs), "print p%d.grad" % n]
        self.expected = {"c%d" % n: value, "p%d.grad" % n: gradient}


CLASHES = [
    # no parts at all
    ('let%op y = ([1.; 2.], [3.; 4.]) ++^ "i; i => i"\nlet%main () = print y\n', ["E0503", "+++"]),
    ('let%op y = ([1.; 2.], [[3.; 4.]; [5.; 6.]]) ++^ "i; i, j => i, j"\nlet%main () = print y\n', ["E0503"]),
    # two blocks that meet in one place
    ('let%op y = ([1.; 2.], [3.; 4.]) ++^ "i; i => i^i"\nlet%main () = print y\n', ["E0503"]),
    # a block beside the whole of the axis that it is part of
    ('let%op y = ([1.; 2.], [[3.; 4.]; [5.; 6.]]) ++^ "i; i, j => i, j^1"\nlet%main () = print y\n', ["E0503"]),
]


GROUPS = {"shared": (shared, 60, CLASHES), "updated": (Updated, 40, []), "sliced": (Sliced, 60, [])}
