"""The tropical product, the largest of sums, and what its ties receive.

`@^+` gives every choice that reaches the maximum the whole gradient.  PyTorch's amax shares it among them, which is a definition of three
lines here; so both are judged: `shared` by amax as it is, `@^+` by amax with the gradient undivided.  Small whole numbers: most maxima are ties."""
import torch

from joins import some_sizes
from program import Case, numbers
from windows import arranged, to

SHARED = """let shared = binop
  ~forward:(fun%cd t t1 t2 -> t =:@^ t1 + t2)
  ~grad:(fun%cd t t1 t2 ->
    { won_all } =: where (t1 + t2 = t) 1. 0.;
    { lhs_ties } =:+ won_all;
    g1 =+ g * won_all / lhs_ties;
    g2 =+ g * won_all / lhs_ties)"""


class Undivided(torch.autograd.Function):
    """amax over the last axis, all of whose ties receive the gradient."""

    @staticmethod
    def forward(ctx, sums):
        top = sums.amax(-1, keepdim=True)
        ctx.save_for_backward(sums == top)
        return top.squeeze(-1)

    @staticmethod
    def backward(ctx, down):
        won, = ctx.saved_tensors
        return won * down[..., None]


def tropical(rng, number, big=False):
    """a, c; c, d => a, d with axes that all have, in any order, and sums over several axes at once."""
    names = ["a", "b", "c", "d", "e"]
    sizes = dict(zip(names, some_sizes(rng, 5, False)))
    if big:
        sizes = {"a": rng.randint(17, 40), "b": 1, "c": rng.randint(40, 130), "d": rng.randint(17, 40), "e": 1}
    x = arranged(rng, ["a", "b", "c"] if rng.random() < 0.5 else ["a", "b", "c", "e"])
    y = arranged(rng, ["c", "d"] if rng.random() < 0.5 else ["b", "c", "d"])
    gone = ["c"] + ["e"] * ("e" in x)
    r = arranged(rng, [n for n in names if n in x + y and n not in gone])
    spec = "%s; %s => %s" % (", ".join(x), ", ".join(y), ", ".join(r))
    whole = rng.random() < 0.6

    def judge(s, t):
        every = r + gone
        spread = lambda v, have: to(v, have, [n for n in every if n in have])[tuple(slice(None) if n in have else None for n in every)]
        sums = (spread(s, x) + spread(t, y)).flatten(len(r))
        return Undivided.apply(sums) if whole else sums.amax(-1)

    def build(result, s, t):
        if whole:
            return ['let%%op %s = %s @^+ %s "%s"' % (result, s, t, spec)]
        return ['let%%op %s = shared %s %s ~spec:"%s"' % (result, s, t, spec)]

    operands = {"x": numbers(rng, [sizes[n] for n in x], -2, 2), "y": numbers(rng, [sizes[n] for n in y], -2, 2)}
    case = Case(number, ("@^+ " if whole else "shared ") + spec, operands, build, judge)
    case.tolerance = 0 if whole else 1e-5              # a share of a tie
    return case


GROUPS = {"tropical": (tropical, 0.1)}
HEADS = {"tropical": SHARED}
