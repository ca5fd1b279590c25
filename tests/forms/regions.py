"""Named regions of concatenated axes: slices by name, directly and through pointwise operations, with their gradients."""
import numpy as np

from groups import Case, Parts, draw_array
from meaning import Axis, Piece, backward, forward


def blocks_of(rng, parts):
    """Blocks of the grid that name every component."""
    while True:
        blocks = [[]]
        for p in parts:
            blocks = [b + [n] for b in blocks for n in p.sizes]
        blocks = rng.sample(blocks, rng.randint(1, min(len(blocks), 5)))
        if {n for b in blocks for n in b} == {n for p in parts for n in p.sizes}:
            return blocks


def selection(rng, parts):
    """A component on some of the axes: as it is written, and the slice of each axis."""
    chosen = sorted(rng.sample(range(len(parts)), rng.randint(1, len(parts))))
    picks = {k: rng.choice(list(parts[k].sizes)) for k in chosen}
    where = tuple(slice(p.offsets[picks[k]], p.offsets[picks[k]] + p.sizes[picks[k]]) if k in picks else slice(None) for k, p in enumerate(parts))
    if len(picks) == 1 and rng.random() < 0.5:
        return "." + picks[chosen[0]], where
    rng.shuffle(chosen)
    return ".(%s)" % ", ".join(rng.choice(("axis%d = %s" % (k, picks[k]), picks[k])) for k in chosen), where


def region(rng, number):
    parts = [Parts(rng, stem, rng.randint(1, 3)) for stem in "pqs"[:rng.choice((1, 2, 2, 3))]]
    while not all(p.sizes and len(p.names) > 1 for p in parts):
        parts = [Parts(rng, stem, rng.randint(2, 4)) for stem in "pqs"[:len(parts)]]
    pieces, arrays, blocks, z = [], [], blocks_of(rng, parts), rng.randint(1, 3)
    for k, b in enumerate(blocks):
        loops = {**{n: p.sizes[n] for n, p in zip(b, parts)}, "z": z}
        pieces.append(Piece(loops, [(k, [Axis((1, n)) for n in b] + [Axis((1, "z"))])], [p.axis(n) for n, p in zip(b, parts)] + [Axis((1, "z"))]))
        arrays.append(draw_array(rng, list(loops.values())))
    whole = forward(pieces, arrays, [p.total for p in parts] + [z])
    text, where = selection(rng, parts)
    wrapped, factor = rng.choice((("m%d", 1), ("(m%d *. 2.)", 2), ("(0. - m%d *. 3.)", -3), ("(m%d - fill 0.)", 1), ("(m%d + m%d)", 2)))
    value = factor * whole[where]
    weights = draw_array(rng, value.shape)
    down = np.zeros_like(whole)
    down[where] = factor * weights
    spec = "; ".join(", ".join(b + ["z"]) for b in blocks) + " => " + ", ".join(
        "axis%d: %s" % (k, p.text) for k, p in enumerate(parts)) + ", z"
    made = "(%s,) ++^" if len(blocks) > 1 else "%s ++^"
    build = lambda r, x: ['let%%op m%d = %s "%s"' % (number, made % ", ".join(x), spec),
                          "let%%op %s = %s%s" % (r, wrapped.replace("%d", str(number)), text)]
    return Case(number, "%s of %s" % (wrapped + text, spec), build, arrays, value, backward(pieces, arrays, whole, down), weights)


def grown(rng, number):
    """Through operands that add axes: the result of a pointwise operation grows where the names' row does."""
    n, rows = [rng.randint(1, 4) for _ in range(2)], rng.randint(1, 3)
    arrays = [draw_array(rng, [n[0]]), draw_array(rng, [n[1]]), draw_array(rng, [rows, 1])]
    pick = rng.randrange(2)
    value = arrays[2] * arrays[pick]
    weights = draw_array(rng, value.shape)
    gradients = [np.zeros_like(a) for a in arrays]
    gradients[pick] = (weights * arrays[2]).sum(0)
    gradients[2] = (weights * arrays[pick]).sum(1, keepdims=True)
    build = lambda r, x: ['let%%op m%d = (%s, %s) ++^ "a; b => a^b"' % (number, x[0], x[1]),
                          'let%%op %s = (m%d *. (%s ++ "r, 0 => r, 0")).%s' % (r, number, x[2], "ab"[pick])]
    return Case(number, "a region of a row that has grown", build, arrays, value, gradients, weights)


MADE = 'let%op m = ([[1.; 2.]], [[3.]]) ++^ "top, left; bottom, right => row: top^bottom, col: left^right"\n'
WRONG = [
    (MADE + "let%op y = m.topp\nlet%main () = print y\n", ["E0205", "topp", "`top`"]),
    (MADE + "let%op y = m.(row = left)\nlet%main () = print y\n", ["E0205", "along an axis `row`"]),
    (MADE + "let%op y = m.(side = top)\nlet%main () = print y\n", ["E0205", "side"]),
    (MADE + "let%op y = m.(0)\nlet%main () = print y\n", ["E0308"]),
    (MADE + "let%op y = (m ++ \"i, j => j, i\").top\nlet%main () = print y\n", ["E0201", "top"]),
    ('let%op m = ([[1.; 2.]; [3.; 4.]],) ++^ "a, a => row: a^1, col: a^2"\nlet%op y = m.a\nlet%main () = print y\n', ["E0206", "several"]),
    (MADE + "let%op y = m.(top, left) + [[1.; 2.; 3.]]\nlet%main () = print y\n", ["E0401", "2", "3"]),
    ('let%op m = ([1.], [2.; 3.]) ++^ "a; b => a^b"\nlet%op o = ([1.; 2.], [3.]) ++^ "a; b => a^b"\n'
     "let%op y = (m + o).a\nlet%main () = print y\n", ["E0401", "1", "2"]),
]

GROUPS = {"region": (region, 60, WRONG), "grown": (grown, 20, [])}
