"""Padded windows over elements that are not finite: what lies outside contributes nothing, not 0 times infinity.  Large enough for the
register tiles of products, and products of three factors, which are taken in steps."""
import numpy as np

from groups import Window, draw_array, literal
from meaning import Axis, Piece, backward, forward

ODD = 12345                                             # printed in place of what is not finite


class Outside:
    tolerance = 1e-6

    def __init__(self, rng, number):
        n, dims = number, rng.choice((1, 1, 2))
        operator, combine, reduce = rng.choice((("+*", "*", "+"), ("+*", "*", "+"), ("@^+", "+", "max")))
        ws = [Window(rng, k, True, (12, 5)[dims - 1]) for k in range(dims)]
        loops = {"c": rng.randint(1, 5), "f": rng.randint(1, 9), **{w.o: w.place for w in ws}, **{w.k: w.size for w in ws}}
        plain = lambda *names: [Axis((1, name)) for name in names]
        places, sizes = [w.o for w in ws], [w.k for w in ws]
        reads = [(0, plain("c") + [w.axis for w in ws]), (1, plain("f", "c", *sizes))]
        shapes = [[loops["c"]] + [w.length for w in ws], [loops[k] for k in ["f", "c"] + sizes]]
        if rng.random() < 0.4:
            reads.append((2, plain("c", *places)))
            shapes.append([loops[k] for k in ["c"] + places])
        top = [draw_array(rng, s, 1, 4) for s in shapes]
        under = [np.ones(s) for s in shapes]
        for k in rng.sample(range(len(shapes)), rng.randint(1, 2)):
            for _ in range(rng.randint(1, 2)):
                under[k][tuple(rng.randrange(m) for m in shapes[k])] = 0
        with np.errstate(divide="ignore", invalid="ignore"):
            arrays = [a / b for a, b in zip(top, under)]
            piece = Piece(loops, reads, plain("f", *places))
            value = forward([piece], arrays, [loops["f"]] + [loops[o] for o in places], combine, reduce)
            weights = draw_array(rng, value.shape, 1, 3)
            gradients = backward([piece], arrays, value, weights, combine, reduce)
        spec = "c, %s; f, c, %s%s => f, %s" % (", ".join(w.text() for w in ws), ", ".join(sizes),
                                               "; c, " + ", ".join(places) if len(reads) > 2 else "", ", ".join(places))
        names = ["x%d_%d" % (n, k) for k in range(len(shapes))]
        self.text = operator + " " + spec
        self.lines = ["let%%op %s = { %s = %s /. %s }" % (x, x, literal(a), literal(b)) for x, a, b in zip(names, top, under)]
        self.lines += ['let%%op y%d = (%s) %s "%s"' % (n, ", ".join(names), operator, spec),
                       "let%%op l%d = sum (y%d *. %s)" % (n, n, literal(weights)), "let%%cd g%d = grad_update l%d" % (n, n)]
        self.main, self.expected = ["run g%d" % n], {}
        for of, what in [("y%d" % n, value)] + [(x + ".grad", g) for x, g in zip(names, gradients)]:
            shown = "s_" + of.replace(".", "_")
            self.lines.append("let%%op %s = where (abs %s < 1e30) %s %d." % (shown, of, of, ODD))
            self.main.append("print " + shown)
            self.expected[shown] = np.where(np.isfinite(what), what, ODD)


GROUPS = {"outside": (Outside, 60, [])}
