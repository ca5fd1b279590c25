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

    def __init__(self, number, text, build, arrays, value, gradients, weights, kinds=None, given=None):
        self.text = text
        names = ["x%d_%d" % (number, k) for k in range(len(arrays))]
        self.lines = ["let%%op %s = { %s = %s }" % (n, n, literal(a)) for n, a in zip(names, arrays)]
        if given:                                       # the kinds of the first operand's axes
            self.lines[0] = "let%%op %s = { %s = %s }" % (names[0], names[0], literal(arrays[0], given))
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


# ---- layers of the standard library -------------------------------------------------------------------------------------------

class Layer:
    """A layer applied to x: what is printed of it, and what NumPy makes of the parameters that were printed."""

    tolerance = 2e-4

    def __init__(self, number, text, x, parameters, value, gradient=None):
        self.text, n = text, "%d" % number
        made = text if parameters is None else "net%s" % n
        self.lines = [] if parameters is None else ["let net%s = %s" % (n, text)]
        self.lines += ["let%%op x%s = { x%s = %s }" % (n, n, literal(x)), "let%%op y%s = %s x%s" % (n, made, n),
                       'let%%op l%s = y%s *. y%s ++ "... => 0"' % (n, n, n), "let%%cd g%s = grad_update l%s" % (n, n)]
        self.main = ["print y" + n]
        names = ["net%s.%s" % (n, p) for p in parameters or ()]
        shapes = dict(zip(names, (parameters or {}).values()))
        read = lambda got: [np.array(got[p]).reshape(s) for p, s in shapes.items()]
        self.expected = {"y" + n: lambda got: value(x, *read(got))}
        for k, p in enumerate(names):
            self.lines.append("let p%s_%d = List.nth (params l%s) %d" % (n, k, n, k + 1))
            self.main.append("print p%s_%d" % (n, k))
            self.expected[p] = lambda got: None
        self.main += ["run g" + n, "print x%s.grad" % n]
        self.expected["x%s.grad" % n] = lambda got: 2 * slope(lambda z: value(z, *read(got)), x) if gradient is None else gradient


def slope(f, x, h=1e-5):
    """Half the gradient of sum (f x * f x), by central differences."""
    g = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        e = np.zeros_like(x)
        e[i] = h
        g[i] = ((f(x + e) ** 2).sum() - (f(x - e) ** 2).sum()) / (4 * h)
    return g


def layer(rng, number):
    kind = rng.choice(("conv1d", "conv2d", "max_pool2d", "avg_pool2d", "global_avg_pool", "batch_norm2d"))
    dims = 1 if kind == "conv1d" else 2
    size, stride, dilation = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2) if "conv" in kind else 1
    padded = rng.random() < 0.5
    wide = span(size, dilation)
    places = [rng.randint(1, 3) for _ in range(dims)]
    if kind in ("global_avg_pool", "batch_norm2d"):
        lengths = [rng.randint(2, 4) for _ in range(dims)]
    else:
        lengths = [stride * p if padded else stride * (p - 1) + wide for p in places]
    c, f = rng.randint(1, 3), rng.randint(1, 3)
    x = np.array(rng.sample(range(-400, 400), int(np.prod(lengths)) * c), dtype=float).reshape(lengths + [c]) / 50
    axis = lambda k: Axis((stride, "o%d" % k), (dilation, "k%d" % k), offset=-(wide // 2) if padded else 0)
    loops = {**{"o%d" % k: p for k, p in enumerate(places)}, **{"k%d" % k: size for k in range(dims)}, "c": c}
    one = lambda name: Axis((1, name))
    reads = [axis(k) for k in range(dims)] + [one("c")]
    outer = [one("o%d" % k) for k in range(dims)]
    options = "~size:%d ~stride:%d ~padded:%s" % (size, stride, str(padded).lower())
    if "conv" in kind:
        p = Piece({**loops, "f": f}, [(0, reads), (1, [one("f")] + [one("k%d" % k) for k in range(dims)] + [one("c")])], outer + [one("f")])
        return Layer(number, "%s ~filters:%d %s ~dilation:%d ()" % (kind, f, options, dilation), x,
                     {"kernel": [f] + [size] * dims + [c], "bias": [f]}, lambda x, w, b: forward([p], [x, w], places + [f]) + b)
    if "pool2d" in kind:
        p = Piece(loops, [(0, reads)], outer + [one("c")])
        scale = size * size if kind == "avg_pool2d" else 1
        return Layer(number, "%s %s" % (kind, options), x, None,
                     lambda x: forward([p], [x], places + [c], "*", "+" if kind == "avg_pool2d" else "max") / scale)
    if kind == "global_avg_pool":
        return Layer(number, kind, x, None, lambda x: x.mean((0, 1)))
    return Layer(number, "(batch_norm2d ()) ~train:true", x, None,
                 lambda x: (x - x.mean((0, 1))) / np.sqrt(x.var((0, 1)) + 1e-5))


# ---- concatenation ------------------------------------------------------------------------------------------------------------

class Parts:
    """One concatenated axis: components by name, or by a size that is skipped."""

    def __init__(self, rng, stem, count, skips=0.3):
        self.names, self.sizes, self.offsets, at = [], {}, {}, 0
        for k in range(count):
            if rng.random() < skips and count > 1:
                size = rng.randint(1, 2)
                self.names.append(str(size))
            else:
                size, name = rng.randint(1, 4), stem + str(k)
                self.names.append(name)
                self.sizes[name], self.offsets[name] = size, at
            at += size
        self.total = at
        self.text = "^".join(self.names)

    def axis(self, name):
        return Axis((1, name), offset=self.offsets[name])


def joined(rng, number):
    """Blocks of a grid of one to three axes, some of them left out; and an axis that all have."""
    while True:
        parts = [Parts(rng, stem, rng.randint(1, 3)) for stem in "pqs"[:rng.choice((1, 1, 2, 2, 3))]]
        blocks = [[]]
        for p in parts:
            blocks = [b + [n] for b in blocks for n in p.sizes]
        if not blocks:
            continue
        blocks = rng.sample(blocks, rng.randint(1, min(len(blocks), 5)))
        used = {n for b in blocks for n in b}
        if all(n in used for p in parts for n in p.sizes):
            break
    free = rng.randint(1, 3)
    pieces, arrays = [], []
    for k, b in enumerate(blocks):
        loops = {**{n: p.sizes[n] for n, p in zip(b, parts)}, "z": free}
        z = [Axis((1, "z"))]
        pieces.append(Piece(loops, [(k, [Axis((1, n)) for n in b] + z)], [p.axis(n) for n, p in zip(b, parts)] + z))
        arrays.append(draw_array(rng, list(loops.values())))
    shape = [p.total for p in parts] + [free]
    weights = draw_array(rng, shape)
    value = forward(pieces, arrays, shape)
    spec = "; ".join(", ".join(b + ["z"]) for b in blocks) + " => " + ", ".join([p.text for p in parts] + ["z"])
    build = lambda r, x: ['let%%op %s = (%s,) ++^ "%s"' % (r, ", ".join(x), spec) if len(x) > 1 else
                          'let%%op %s = %s ++^ "%s"' % (r, x[0], spec)]
    return Case(number, "++^ " + spec, build, arrays, value, backward(pieces, arrays, value, weights), weights)


def taken(rng, number):
    """Components of one operand, in some order: prefix, suffix, middle, rotation; sizes are fixed for what needs it."""
    while True:
        parts = Parts(rng, "p", rng.randint(2, 4))
        if parts.sizes:
            break
    kept = rng.sample(list(parts.sizes), rng.randint(1, len(parts.sizes)))
    pieces, at = [], 0
    for n in kept:
        pieces.append(Piece({n: parts.sizes[n], "z": 2}, [(0, [parts.axis(n), Axis((1, "z"))])], [Axis((1, n), offset=at), Axis((1, "z"))]))
        at += parts.sizes[n]
    arrays = [draw_array(rng, [parts.total, 2])]
    value = forward(pieces, arrays, [at, 2])
    weights = draw_array(rng, value.shape)
    spec = "%s, z => %s, z" % (parts.text, "^".join(kept))
    build = lambda r, x: ["let%%op %s =" % r, '  let y = %s ++^ "%s" [%s] in' % (x[0], spec, "; ".join(parts.sizes))] + [
        "  set_dim %s %d;" % (n, s) for n, s in parts.sizes.items()] + ["  y"]
    return Case(number, "++^ " + spec, build, arrays, value, backward(pieces, arrays, value, weights), weights)


def stacked(rng, number):
    """Literals of tensors: a list, an array or a tuple in either of them, nested; the new axis is the first of its kind."""
    kinds = rng.choice((["o"], ["b"], ["o", "i"], ["b", "i"], ["o", "o"], ["b", "o"], ["o", "b"], ["o", "i", "o"]))
    sizes = [rng.randint(1, 3) for _ in kinds]
    base = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))]
    count = int(np.prod(sizes))
    arrays = [draw_array(rng, base) for _ in range(rng.randint(1, count))]
    picks = np.array([rng.randrange(len(arrays)) if k >= len(arrays) else k for k in range(count)]).reshape(sizes)
    axes = sorted(range(len(kinds) + len(base)), key=lambda k: "boi".index(kinds[k]) if k < len(kinds) else 1)
    value = np.array([arrays[k] for k in picks.ravel()]).reshape(sizes + base).transpose(axes)
    weights = draw_array(rng, value.shape)
    back = weights.transpose(np.argsort(axes)).reshape([count] + base)
    gradients = [sum(back[n] for n in range(count) if picks.ravel()[n] == k) for k in range(len(arrays))]
    opening = {"b": ("[|", "; ", "|]"), "o": ("[", "; ", "]"), "i": ("(", ", ", ")")}

    def nest(x, picks, kinds):
        if not kinds:
            return x[picks]
        left, between, right = opening[kinds[0]]
        return left + between.join(nest(x, p, kinds[1:]) for p in picks) + ("," if kinds[0] == "i" and len(picks) == 1 else "") + right

    build = lambda r, x: ["let%%op %s = %s" % (r, nest(x, picks, kinds))]
    order = "".join((kinds + ["o"] * len(base))[k] for k in axes)
    return Case(number, "literal " + "".join(kinds), build, arrays, value, gradients, weights, order)


# ---- gathers ------------------------------------------------------------------------------------------------------------------

def whole(array, kinds):
    return literal(array, kinds).replace(".0", "")


def by_kind(letters):
    """The axes that stand as letters in memory order, (b, o, i) lists, as a spec of a shape."""
    b, o, i = (", ".join(x) for x in letters)
    return "%s | %s -> %s" % (b, i, o)


def gathered(rng, number):
    """table @> ids: the leftmost batch axis of the table, else its only input axis; ids of any kinds of axes; all axes differ in place."""
    names = iter("abcdefghjklmnpqrs")
    shape = lambda *most: [[next(names) for _ in range(rng.randint(0, m))] for m in most]
    table, ids = shape(2, 2, 1), shape(2, 1, 1)
    if not table[0] and not table[2]:
        table[rng.choice((0, 2))].append(next(names))
    if not sum(ids, []):
        ids[rng.choice((0, 2))].append(next(names))
    sizes = {c: rng.randint(1, 4) for x in (table, ids) for k in x for c in k}
    looked = table[0][0] if table[0] else table[2][0]
    sizes[looked] = rng.randint(1, 9)
    left = [[c for c in k if c != looked] for k in table]
    flat_table, flat_ids = sum(table, []), sum(ids, [])
    array = draw_array(rng, [sizes[c] for c in flat_table])
    at = np.array([rng.randrange(sizes[looked]) for _ in range(int(np.prod([sizes[c] for c in flat_ids], dtype=int)))]).reshape(
        [sizes[c] for c in flat_ids])
    grids = dict(zip(flat_ids + sum(left, []), np.indices([sizes[c] for c in flat_ids + sum(left, [])])))
    grids[looked] = at.reshape(at.shape + (1,) * len(sum(left, []))) + 0 * next(iter(grids.values()))
    result = [i + t for i, t in zip(ids, left)]
    order = [(flat_ids + sum(left, [])).index(c) for c in sum(result, [])]
    where = tuple(grids[c] for c in flat_table)
    value = array[where].transpose(order)
    weights = draw_array(rng, value.shape)
    gradient = np.zeros_like(array)
    np.add.at(gradient, where, weights.transpose(np.argsort(order)))
    kinds = lambda x: "".join(k * len(n) for k, n in zip("boi", x))
    build = lambda r, x: ['let%%op t%d = %s ++ "%s, => %s"' % (number, x[0], ", ".join(flat_table), by_kind(table)),
                          "let%%op i%d = %s" % (number, whole(at, kinds(ids))),
                          "let%%op %s = t%d @> i%d" % (r, number, number)]
    return Case(number, "%s @> %s" % (by_kind(table), by_kind(ids)), build, [array], value, [gradient], weights, kinds(result))


def hot(rng, number):
    """table * one_hot n ids, some of the ids outside: what the compiler makes a lookup of."""
    n, outer = rng.randint(1, 9), [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    rows = [rng.randint(1, 4) for _ in range(rng.randint(1, 2))]
    table = draw_array(rng, outer + [n])
    ids = np.array([rng.randint(-1, n) for _ in range(int(np.prod(rows)))]).reshape(rows)
    one_hot = (ids[..., None] == np.arange(n)).astype(float)
    value = np.tensordot(one_hot, table, (len(rows), len(outer)))
    weights = draw_array(rng, value.shape)
    gradient = np.tensordot(weights, one_hot, (range(len(rows)), range(len(rows))))
    build = lambda r, x: ["let%%op i%d = %s" % (number, whole(ids, "b" * len(rows))),
                          "let%%op %s = %s" % (r, rng.choice(("%s * one_hot %d i%d", "0. - (0. - %s) * one_hot %d i%d")) % (x[0], n, number))]
    return Case(number, "%s * one_hot" % (table.shape,), build, [table], value, [gradient], weights,
                "b" * len(rows) + "o" * len(outer), "o" * len(outer) + "i")


class Counted:
    """Pairs of numbers, counted by a product of two one-hots, with weights; those that are outside count nowhere."""

    tolerance = 0

    def __init__(self, rng, number):
        n, rows, sizes = number, rng.randint(1, 8), [rng.randint(1, 4) for _ in range(2)]
        a, b = [np.array([rng.randint(-1, s) for _ in range(rows)]) for s in sizes]
        w = draw_array(rng, [rows])
        want = np.zeros(sizes)
        for i, j, k in zip(a, b, w):
            if 0 <= i < sizes[0] and 0 <= j < sizes[1]:
                want[i, j] += k
        self.text = "pairs counted"
        self.lines = ["let%%op a%d = %s" % (n, whole(a, "b")), "let%%op b%d = %s" % (n, whole(b, "b")),
                      "let%%op w%d = { w%d = %s }" % (n, n, literal(w)),
                      "let%%op c%d = one_hot %d a%d" % (n, sizes[0], n), "let%%op d%d = one_hot %d b%d" % (n, sizes[1], n),
                      'let%%op n%d = (c%d, d%d, w%d) +* "r | i; r | j; r => i, j"' % (n, n, n, n),
                      "let%%op l%d = sum (n%d *. n%d)" % (n, n, n), "let%%cd g%d = grad_update l%d" % (n, n)]
        self.main = ["print n%d" % n, "run g%d" % n, "print w%d.grad" % n]
        inside = lambda i, j: 0 <= i < sizes[0] and 0 <= j < sizes[1]
        self.expected = {"n%d" % n: want, "w%d.grad" % n: np.array([2 * want[i, j] if inside(i, j) else 0 for i, j in zip(a, b)], dtype=float)}


# ---- products of many operands; reductions along one axis ------------------------------------------------------------------------

def product(rng, number):
    """Three to five operands; letters that the result leaves out are summed."""
    sizes = {c: rng.randint(1, 3) for c in "abcde"[:rng.randint(2, 5)]}
    slots = [rng.sample(list(sizes), rng.randint(1, min(3, len(sizes)))) for _ in range(rng.randint(3, 5))]
    used = sorted({c for s in slots for c in s})
    result = rng.sample(used, rng.randint(1, len(used)))
    plain = lambda names: [Axis((1, n)) for n in names]
    piece = Piece({c: sizes[c] for c in used}, [(k, plain(s)) for k, s in enumerate(slots)], plain(result))
    arrays = [draw_array(rng, [sizes[c] for c in s], -2, 3) for s in slots]
    value = forward([piece], arrays, [sizes[c] for c in result])
    weights = draw_array(rng, value.shape)
    spec = "; ".join("".join(s) for s in slots) + " => " + "".join(result)
    build = lambda r, x: ['let%%op %s = (%s) +* "%s"' % (r, ", ".join(x), spec)]
    return Case(number, "+* " + spec, build, arrays, value, backward([piece], arrays, value, weights), weights)


class Reduction:
    """What Data makes of the last axis of a batch of rows, and the gradient of a running sum."""

    tolerance = 1e-6

    def __init__(self, rng, number):
        n = number
        x = draw_array(rng, [rng.randint(1, 4), rng.randint(1, 7)], -2, 2)
        row, w = x[0], draw_array(rng, [x.shape[1]])
        self.text = "reductions of %s" % x.tolist()
        self.lines = ["let%%op b%d = %s" % (n, literal(x, "bo")), "let%%op x%d = { x%d = %s }" % (n, n, literal(row)),
                      "let%%op c%d = cumulative_sum x%d" % (n, n), "let%%op l%d = sum (c%d *. %s)" % (n, n, literal(w)),
                      "let%%cd g%d = grad_update l%d" % (n, n),
                      "let%%op p%d = product b%d" % (n, n), "let%%op m%d = argmax b%d" % (n, n),
                      "let%%op s%d = cumulative_sum b%d" % (n, n), "let%%op k%d = b%d @-- \"... | n => ... |\"" % (n, n),
                      "let%%op a%d = where (for_all (b%d > 0.)) 1. 0." % (n, n),
                      "let%%op e%d = where (exists (b%d > 1.)) 1. 0." % (n, n)]
        self.main = ["print %s%d" % (c, n) for c in "cpmskae"] + ["run g%d" % n, "print x%d.grad" % n]
        self.expected = {"c": np.cumsum(row), "p": x.prod(1), "m": x.argmax(1), "s": np.cumsum(x, 1), "k": x.min(1),
                         "a": (x > 0).all(1), "e": (x > 1).any(1)}
        self.expected = {"%s%d" % (c, n): v for c, v in self.expected.items()}
        self.expected["x%d.grad" % n] = np.cumsum(w[::-1])[::-1]


OVERLAPS = [
    ("let%op y = ([1.; 2.], [3.; 4.]) ++^ \"a; a => a^b\"\nlet%main () = print y\n", ["E05"]),
    ("let%op y = ([1.; 2.], [3.; 4.]) ++^ \"a; a => a^a\"\nlet%main () = print y\n", ["E0503"]),
    ("let%op y = [1.; 2.; 3.] ++^ \"2^a^2 => a\"\nlet%main () = print y\n", ["E0409", "3", "4"]),
]


NOT_LOOKED_UP = [
    ("let%op y = [1.; 2.] @> [0]\nlet%main () = print y\n", ["E0403", "input"]),
    ("let%op y = ((1., 2.), (3., 4.)) @> [0]\nlet%main () = print y\n", ["E0403", "input"]),
]


GROUPS = {
    "convolution": (convolution, 200, NO_TILING),
    "pooling": (pooling, 200, []),
    "joined": (joined, 200, OVERLAPS),
    "taken": (taken, 150, []),
    "stacked": (stacked, 60, []),
    "gathered": (gathered, 100, NOT_LOOKED_UP),
    "hot": (hot, 40, []),
    "counted": (Counted, 20, []),
    "product": (product, 150, []),
    "reduction": (Reduction, 40, []),
    "layers": (layer, 60, []),
}
