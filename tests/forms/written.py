"""Computed positions on the written side: interleaving, strided scatters, transposed convolutions; coefficients from configuration
values; parts of a state that code overwrites or adds to."""
import numpy as np

from groups import Case, Window, draw_array, literal
from meaning import Axis, Piece, backward, forward


class Coefficients:
    """Numbers, some of which the program gives a name."""

    def __init__(self, rng, number):
        self.rng, self.number, self.lines = rng, number, []

    def text(self, n):
        if self.rng.random() < 0.5:
            return str(n)
        name = "n%d_%d" % (self.number, len(self.lines))
        self.lines.append("let %s = %d" % (name, n))
        return name

    def added(self, n):
        """A name that is added is told from an axis by its mark."""
        t = self.text(n)
        return t if t.isdigit() else "!" + t


def scattered(rng, number):
    """Each axis to every stride-th place from an offset; what nothing reaches is 0."""
    c = Coefficients(rng, number)
    count = rng.randint(1, 3)
    sizes, strides = [rng.randint(1, 4) for _ in range(count)], [rng.randint(1, 3) for _ in range(count)]
    offsets = [rng.randint(0, 2 * s) for s in strides]
    loops = {"i%d" % k: n for k, n in enumerate(sizes)}
    kept = rng.sample(list(loops), rng.randint(1, count))
    axes = {"i%d" % k: Axis((s, "i%d" % k), offset=o) for k, (s, o) in enumerate(zip(strides, offsets))}
    text = {"i%d" % k: "%s*i%d%s" % (c.text(s), k, " + " + c.added(o) if o else "") for k, (s, o) in enumerate(zip(strides, offsets))}
    piece = Piece(loops, [(0, [Axis((1, n)) for n in loops])], [axes[n] for n in kept])
    shape = [s * (n + o // s) for n, s, o in zip(sizes, strides, offsets)]
    shape = [shape[int(n[1:])] for n in kept]
    array = draw_array(rng, sizes)
    value = forward([piece], [array], shape)
    weights = draw_array(rng, shape)
    spec = "%s, => %s, " % (", ".join(loops), ", ".join(text[n] for n in kept))
    build = lambda r, x: c.lines + ['let%%op %s = %s ++ "%s"' % (r, x[0], spec)]
    return Case(number, "++ " + spec, build, [array], value, backward([piece], [array], value, weights), weights)


def transposed(rng, number):
    """Windows that are written: what they share is summed, and outside a padded result there is nothing."""
    c = Coefficients(rng, number)
    count = rng.choice((1, 1, 2))
    ws = [Window(rng, k, rng.random() < 0.4, (6, 4)[count - 1]) for k in range(count)]
    loops = {"c": rng.randint(1, 2), "f": rng.randint(1, 2), **{w.o: w.place for w in ws}, **{w.k: w.size for w in ws}}
    plain = lambda *names: [Axis((1, n)) for n in names]
    places, sizes = [w.o for w in ws], [w.k for w in ws]
    piece = Piece(loops, [(0, plain("c", *places)), (1, plain("f", "c", *sizes))], plain("f") + [w.axis for w in ws])
    arrays = [draw_array(rng, [loops[n] for n in ["c"] + places]), draw_array(rng, [loops[n] for n in ["f", "c"] + sizes])]
    shape = [loops["f"]] + [w.length for w in ws]
    value = forward([piece], arrays, shape)
    weights = draw_array(rng, shape)
    window = lambda w: "%s*%s%s%s*%s" % (c.text(w.stride), w.o, "=+" if w.padded else "<+", c.text(w.dilation), w.k)
    spec = "c, %s; f, c, %s => f, %s" % (", ".join(places), ", ".join(sizes), ", ".join(map(window, ws)))
    build = lambda r, x: c.lines + ['let%%op %s = %s +* %s "%s"' % (r, x[0], x[1], spec)]
    return Case(number, "+* " + spec, build, arrays, value, backward([piece], arrays, value, weights), weights)


def interleaved(rng, number):
    """Tensors in turn along an axis: place k of every n belongs to the k-th."""
    n, size, rows = rng.randint(2, 3), rng.randint(1, 4), rng.randint(1, 3)
    arrays = [draw_array(rng, [rows, size]) for _ in range(n)]
    value = np.stack(arrays, -1).reshape(rows, n * size)
    weights = draw_array(rng, value.shape)
    parts = weights.reshape(rows, size, n)
    terms = ['(%%s ++ "r, i => r, stride%d*i%s")' % (number, " + %d" % k if k else "") for k in range(n)]
    build = lambda r, x: ["let stride%d = %d" % (number, n), "let%%op %s = %s" % (r, " + ".join(t % o for t, o in zip(terms, x)))]
    return Case(number, "%d in turn" % n, build, arrays, value, [parts[..., k] for k in range(n)], weights)


class Partial:
    """A state of which code overwrites, or adds to, every stride-th place of each row, and one row that the run names."""

    tolerance = 0

    def __init__(self, rng, number):
        n, rows, stride, size = number, rng.randint(1, 3), rng.randint(2, 3), rng.randint(1, 4)
        whole, part, other = draw_array(rng, [rows, stride * size]), draw_array(rng, [rows, size]), draw_array(rng, [stride * size])
        at, first, second = rng.randrange(rows), rng.randrange(stride), rng.randrange(stride)
        operator, combine = rng.choice((("=:", lambda a, b: b), ("=+", lambda a, b: a + b), ("=@^", np.maximum), ("=*", lambda a, b: a * b)))
        self.text = "%s every %d-th" % (operator, stride)
        offset = lambda k: " + %d" % k if k else ""
        self.lines = ["let stride%d = %d" % (n, stride), 'let at%d = index "at%d"' % (n, n),
                      "let%%op whole%d = %s" % (n, literal(whole)), "let%%op part%d = %s" % (n, literal(part)), "let%%op row%d = %s" % (n, literal(other)),
                      "let%%cd s%d = { s%d; o = [%d; %d] }" % (n, n, rows, stride * size), "let%%cd fill%d = s%d =: whole%d" % (n, n, n),
                      'let%%cd some%d =' % n,
                      '  s%d %s part%d ~logic:"r, i => r, stride%d*i%s";' % (n, operator, n, n, offset(first)),
                      '  s%d =+ part%d ~logic:"r, i => r, %d*i%s"' % (n, n, stride, offset(second)),
                      'let%%cd line%d = s%d =: row%d ~logic:"i => @at%d, i"' % (n, n, n, n)]
        want = whole.copy()
        want[:, first::stride] = combine(want[:, first::stride], part)
        want[:, second::stride] += part
        want[at] = other
        self.main = ["run fill%d" % n, "run some%d" % n, "run line%d ~at%d:%d" % (n, n, at), "print s%d" % n]
        self.expected = {"s%d" % n: want}


GROUPS = {"scattered": (scattered, 60, []), "transposed": (transposed, 60, []), "interleaved": (interleaved, 15, []),
          "partial": (Partial, 30, [])}
