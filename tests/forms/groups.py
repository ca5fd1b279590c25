"""The groups of cases: each draws random programs of one form, with what they must print."""
import numpy as np

from meaning import Axis, Piece, backward, forward, span


def literal(array, kinds=None):
    """Nested literal, all axes output unless `kinds` says b, o or i for each."""
    kinds = kinds or "o" * array.ndim
    opening = {"b": ("[|", "; ", "|]"), "o": ("[", "; ", "]"), "i": ("(", ", ", ")")}

    def nest(a, kinds):
        if not kinds:
            return "(0. - %r)" % -float(a) if a < 0 else repr(float(a))
        left, between, right = opening[kinds[0]]
        return left + between.join(nest(x, kinds[1:]) for x in a) + ("," if kinds[0] == "i" and len(a) == 1 else "") + right

    return nest(array, kinds)


class Case:
    """One result with the gradients of its operands: lines of the program, steps of main, and what is printed."""

    tolerance = 0

    def __init__(self, number, text, build, arrays, value, gradients, weights, kinds=None):
        self.text = text
        names = ["x%d_%d" % (number, k) for k in range(len(arrays))]
        self.lines = ["let%%op %s = { %s = %s }" % (n, n, literal(a)) for n, a in zip(names, arrays)]
        result = "r%d" % number
        self.lines += build(result, names)
        self.main = ["print " + result]
        self.expected = {result: value}
        if gradients is None:
            return
        self.lines += ['let%%op l%d = %s *. %s ++ "...|...->... => 0"' % (number, result, literal(weights, kinds)),
                       "let%%cd g%d = grad_update l%d" % (number, number)]
        self.main.append("run g%d" % number)
        for n, g in zip(names, gradients):
            self.main.append("print %s.grad" % n)
            self.expected[n + ".grad"] = g


def draw_array(rng, shape, low=-4, high=4):
    return np.array([rng.randint(low, high) for _ in range(int(np.prod(shape, dtype=int)))], dtype=float).reshape(shape)


# ---- convolution, pooling: 1 to 3 dimensions, valid or padded, stride and dilation ------------------------------------------

class Window:
    """One windowed axis: `place` positions of a window of `size` elements."""

    def __init__(self, rng, k, padded, most):
        self.place, self.size = rng.randint(1, most), rng.randint(1, 4)
        self.stride, self.dilation, self.padded = rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2)), padded
        self.o, self.k = "o%d" % k, "k%d" % k
        wide = span(self.size, self.dilation)
        self.length = self.stride * self.place if padded else self.stride * (self.place - 1) + wide
        self.axis = Axis((self.stride, self.o), (self.dilation, self.k), offset=-(wide // 2) if padded else 0)

    def text(self):
        times = lambda n, name: name if n == 1 else "%d*%s" % (n, name)
        return times(self.stride, self.o) + ("=+" if self.padded else "<+") + times(self.dilation, self.k)


def windows(rng):
    count = rng.choice((1, 1, 2, 2, 3))
    return [Window(rng, k, rng.random() < 0.5, (7, 4, 2)[count - 1]) for k in range(count)]


def convolution(rng, number):
    ws = windows(rng)
    channels = {"c": rng.randint(1, 3), "f": rng.randint(1, 3)}
    combine, reduce, operator = rng.choice((("*", "+", "+*"), ("*", "+", "+*"), ("*", "+", "+*"), ("+", "+", "+++"), ("+", "max", "@^+")))
    loops = {**channels, **{w.o: w.place for w in ws}, **{w.k: w.size for w in ws}}
    plain = lambda *names: [Axis((1, n)) for n in names]
    names = [w.o for w in ws]
    piece = Piece(loops, [(0, plain("c") + [w.axis for w in ws]), (1, plain("f", "c", *[w.k for w in ws]))], plain("f", *names))
    arrays = [draw_array(rng, [channels["c"]] + [w.length for w in ws]),
              draw_array(rng, [channels["f"], channels["c"]] + [w.size for w in ws])]
    shape = [channels["f"]] + [w.place for w in ws]
    value = forward([piece], arrays, shape, combine, reduce)
    weights = draw_array(rng, shape)
    spec = "c, %s; f, c, %s => f, %s" % (", ".join(w.text() for w in ws), ", ".join(w.k for w in ws), ", ".join(names))
    build = lambda r, x: ['let%%op %s = %s %s %s "%s"' % (r, x[0], operator, x[1], spec)]
    return Case(number, operator + " " + spec, build, arrays, value,
                backward([piece], arrays, value, weights, combine, reduce), weights)


def pooling(rng, number):
    ws = windows(rng)
    reduce, operator = rng.choice((("max", "@^^"), ("min", "@--"), ("+", "++")))
    loops = {"c": rng.randint(1, 3), **{w.o: w.place for w in ws}, **{w.k: w.size for w in ws}}
    result = [Axis((1, n)) for n in ["c"] + [w.o for w in ws]]
    piece = Piece(loops, [(0, [Axis((1, "c"))] + [w.axis for w in ws])], result)
    sign = rng.choice((-1, 1))                         # all negative, or all positive: what lies outside must not win
    arrays = [sign * draw_array(rng, [loops["c"]] + [w.length for w in ws], 1, 5)]
    shape = [loops["c"]] + [w.place for w in ws]
    value = forward([piece], arrays, shape, "*", reduce)
    weights = draw_array(rng, shape)
    spec = "c, %s => c, %s" % (", ".join(w.text() for w in ws), ", ".join(w.o for w in ws))
    build = lambda r, x: ['let%%op %s =' % r, '  let y = %s %s "%s" [%s] in' % (x[0], operator, spec, "; ".join(w.k for w in ws))] + [
        "  set_dim %s %d;" % (w.k, w.size) for w in ws] + ["  y"]
    return Case(number, operator + " " + spec, build, arrays, value, backward([piece], arrays, value, weights, "*", reduce), weights)


def ones(*sizes):
    return literal(np.ones(sizes))


NO_TILING = [
    ("let%%op y = %s +* %s \"3*o<+k; k => o\"\nlet%%main () = print y\n" % (ones(9), ones(2)), ["E0405", "9", "3*"]),
    ("let%%op y = %s +* %s \"3*o=+k; k => o\"\nlet%%main () = print y\n" % (ones(8), ones(3)), ["8", "3"]),
    ("let%%op y = %s +* %s \"o<+2*k; k => o\"\nlet%%main () = print y\n" % (ones(4), ones(3)), ["4", "5"]),
]


GROUPS = {
    "convolution": (convolution, 200, NO_TILING),
    "pooling": (pooling, 200, []),
}
