"""Reductions, running sums and products along an axis, the largest of windows, and operations defined with intermediates by slot:
small whole numbers, so that zeros and ties are everywhere."""
import numpy as np

from groups import Case, draw_array, literal


def some_shape(rng, most=5):
    return [rng.randint(1, 3) for _ in range(rng.randint(0, 2))] + [rng.randint(1, most)]


def all_but(x):
    """Of each element: the product of the others on the last axis."""
    n = x.shape[-1]
    return np.stack([np.delete(x, k, -1).prod(-1) for k in range(n)], -1) if n > 1 else np.ones_like(x)


def running_slope(x, w):
    """The gradient of sum (w * cumprod x)."""
    g = np.zeros_like(x)
    for s in range(x.shape[-1]):
        g[..., :s + 1] += w[..., s:s + 1] * all_but(x[..., :s + 1])
    return g


def running(rng, number):
    name, value, slope = rng.choice((
        ("cumulative_sum", lambda x: x.cumsum(-1), lambda x, w: np.flip(np.flip(w, -1).cumsum(-1), -1)),
        ("cumulative_product", lambda x: x.cumprod(-1), running_slope),
        ("product", lambda x: x.prod(-1), lambda x, w: w[..., None] * all_but(x))))
    x = draw_array(rng, some_shape(rng), -2, 3)
    v = value(x)
    w = draw_array(rng, v.shape)
    # the operand used twice: the gradient is added to what is there
    twice = rng.random() < 0.3 and v.shape == x.shape
    build = lambda r, xs: ["let%%op %s = %s %s%s" % (r, name, xs[0], " + " + xs[0] if twice else "")]
    return Case(number, "%s of %s" % (name, x.tolist()), build, [x], v + x if twice else v, [slope(x, w) + (w if twice else 0)], w)


class Picked:
    """Positions and conditions, which have no gradient; the least and the largest, whose ties all receive it."""

    tolerance = 0

    def __init__(self, rng, number):
        n, x = number, draw_array(rng, some_shape(rng), -2, 2)
        self.text = "picked from %s" % x.tolist()
        self.lines = ["let%%op x%d = %s" % (n, literal(x)), "let%%op a%d = argmax x%d" % (n, n), "let%%op b%d = argmin x%d" % (n, n),
                      "let%%op c%d = where (for_all (x%d > 0.)) 1. 0." % (n, n), "let%%op d%d = where (exists (x%d > 1.)) 1. 0." % (n, n)]
        self.main = ["print %s%d" % (c, n) for c in "abcd"]
        self.expected = dict(zip(["%s%d" % (c, n) for c in "abcd"],
                                 [x.argmax(-1), x.argmin(-1), (x > 0).all(-1).astype(float), (x > 1).any(-1).astype(float)]))


def extreme(rng, number):
    operator, value = rng.choice((("@^^", lambda x: x.max(-1)), ("@--", lambda x: x.min(-1))))
    x = draw_array(rng, some_shape(rng), -2, 2)
    v = value(x)
    w = draw_array(rng, v.shape)
    build = lambda r, xs: ['let%%op %s = %s %s "..., n => ..."' % (r, xs[0], operator)]
    return Case(number, "%s of %s" % (operator, x.tolist()), build, [x], v, [np.where(x == v[..., None], w[..., None], 0)], w)


def pooled(rng, number):
    """max_pool2d over ties: the gradient goes to the first of equal elements."""
    size, places, c = rng.randint(1, 3), [rng.randint(1, 3) for _ in range(2)], rng.randint(1, 2)
    stride = rng.randint(1, 3)
    x = draw_array(rng, [stride * (p - 1) + size for p in places] + [c], -1, 1)
    v, w = np.zeros(places + [c]), draw_array(rng, places + [c])
    g = np.zeros_like(x)
    for i, j, k in np.ndindex(*v.shape):
        window = x[i * stride:i * stride + size, j * stride:j * stride + size, k]
        a, b = np.unravel_index(window.argmax(), window.shape)
        v[i, j, k] = window[a, b]
        g[i * stride + a, j * stride + b, k] += w[i, j, k]
    build = lambda r, xs: ["let%%op %s = max_pool2d ~size:%d ~stride:%d %s" % (r, size, stride, xs[0])]
    return Case(number, "max_pool2d %d by %d" % (size, stride), build, [x], v, [g], w)


# ---- operations with intermediates ------------------------------------------------------------------------------------------------

SHARED_MAX = """unop ~forward:(fun%cd v v1 -> v =:@^ v1)
  ~grad:(fun%cd g1 ->
    { best_rhs1 } =: where (v1 = v) 1. 0.;
    { count_lhs } =:+ best_rhs1;
    g1 =+ g * best_rhs1 / count_lhs)"""
SHARED_TROPICAL = """binop ~forward:(fun%cd t t1 t2 -> t =:@^ t1 + t2)
  ~grad:(fun%cd t t1 t2 ->
    { won_all } =: where (t1 + t2 = t) 1. 0.;
    { lhs_ties } =:+ won_all;
    g1 =+ g * won_all / lhs_ties;
    g2 =+ g * won_all / lhs_ties)"""
FIVE = """nop 5 ~forward:(fun%cd v v1 v2 v3 v4 v5 -> { scaled_rhs4 } =: v4 * 2.; v =:+ v1 * v2 * v3 * scaled_rhs4 * v5)
  ~grad:(fun%cd g1 g2 g3 g4 g5 -> { scaled_rhs5 } =: v5 * 2.;
    g1 =+ g * v2 * v3 * scaled_rhs4 * v5; g2 =+ g * v1 * v3 * scaled_rhs4 * v5; g3 =+ g * v1 * v2 * scaled_rhs4 * v5;
    g4 =+ g * v1 * v2 * v3 * scaled_rhs5; g5 =+ g * v1 * v2 * v3 * scaled_rhs4)"""


def shared_max(a, w):
    x = a[0]
    best = x == x.max(1)[:, None]
    return x.max(1), [best * (w / best.sum(1))[:, None]]


def shared_tropical(a, w):
    s = a[0][:, :, None] + a[1][None]
    won = s == s.max(1)[:, None]
    down = won * (w / won.sum(1))[:, None]
    return s.max(1), [down.sum(2), down.sum(0)]


def five(a, w):
    p = 2 * a[0] * a[1] * a[2] * a[3] * a[4]
    others = [np.prod([a[j] for j in range(5) if j != k], 0) for k in range(5)]
    return p.sum(0), [2 * w * o for o in others]


SLOTTED = (
    (SHARED_MAX, "b, c => b", lambda b, c, d: [[b, c]], shared_max),
    (SHARED_TROPICAL, "b, c; c, d => b, d", lambda b, c, d: [[b, c], [c, d]], shared_tropical),
    (FIVE, "b, c; b, c; b, c; b, c; b, c => c", lambda b, c, d: [[b, c]] * 5, five),
)


def slotted(rng, number):
    definition, spec, shapes, judge = rng.choice(SLOTTED)
    arrays = [draw_array(rng, s, -2, 2) for s in shapes(*[rng.randint(1, 4) for _ in range(3)])]
    size = {"shared_max": lambda: [arrays[0].shape[0]], "shared_tropical": lambda: [arrays[0].shape[0], arrays[1].shape[1]],
            "five": lambda: [arrays[0].shape[1]]}[judge.__name__]()
    weights = draw_array(rng, size)
    value, gradients = judge(arrays, weights)
    call = "op%d %s ~spec:\"%s\"" % (number, "%s", spec)
    build = lambda r, x: ["let op%d = %s" % (number, definition), "let%%op %s = %s" % (r, call % " ".join(x))]
    case = Case(number, "slots of " + judge.__name__, build, arrays, value, gradients, weights)
    case.tolerance = 1e-5                               # a share of a tie
    return case


GROUPS = {"running": (running, 60, []), "picked": (Picked, 30, []), "extreme": (extreme, 30, []), "pooled": (pooled, 30, []),
          "slotted": (slotted, 40, [])}
