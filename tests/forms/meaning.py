"""What an index form means, by enumeration: the judge of check.py.

An axis of a slot is a sum of loops times coefficients, plus an offset.  A position outside an operand contributes nothing.
A form is a list of pieces, each an iteration space of its own: one for a product, one per component for a concatenation.
"""
import numpy as np


class Axis:
    """offset + sum of coefficient * loop."""

    def __init__(self, *terms, offset=0):
        self.terms, self.offset = terms, offset

    def at(self, loops, grid):
        index = np.full(grid.shape[1:], self.offset, dtype=int)
        for coefficient, name in self.terms:
            index = index + coefficient * grid[list(loops).index(name)]
        return index


def span(size, dilation):
    return 1 + (size - 1) * dilation


class Piece:
    """One iteration space: `loops` maps names to sizes; `reads` pairs the number of an operand with its axes."""

    def __init__(self, loops, reads, result):
        self.loops, self.reads, self.result = loops, reads, result

    def points(self, arrays, shape):
        """Indices into each operand and into the result at the points that lie inside all of them."""
        grid = np.indices(tuple(self.loops.values()))
        inside = np.ones(grid.shape[1:], dtype=bool)
        places = [(axes, arrays[n].shape) for n, axes in self.reads] + [(self.result, shape)]
        found = []
        for axes, sizes in places:
            index = [a.at(self.loops, grid) for a in axes]
            for i, n in zip(index, sizes):
                inside &= (0 <= i) & (i < n)
            found.append(index)
        return [tuple(i[inside] for i in index) for index in found], int(inside.sum())


def combined(values, combine, count):
    out = np.full(count, 1.0 if combine == "*" else 0.0)
    for v in values:
        out = out * v if combine == "*" else out + v
    return out


REDUCE = {"+": (np.add, 0.0), "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf), "*": (np.multiply, 1.0)}


def forward(pieces, arrays, shape, combine="*", reduce="+"):
    add, neutral = REDUCE[reduce]
    result = np.full(shape, neutral)
    for p in pieces:
        at, count = p.points(arrays, shape)
        values = combined([arrays[n][i] for (n, _), i in zip(p.reads, at)], combine, count)
        add.at(result, at[-1], values)
    return result


def backward(pieces, arrays, value, weights, combine="*", reduce="+"):
    """The gradient of sum (weights * value) for each operand; of equal largest ones, each has all of it."""
    gradients = [np.zeros(a.shape) for a in arrays]
    for p in pieces:
        at, count = p.points(arrays, value.shape)
        reads = [arrays[n][i] for (n, _), i in zip(p.reads, at)]
        down = weights[at[-1]]
        if reduce != "+":
            down = np.where(combined(reads, combine, count) == value[at[-1]], down, 0.0)
        for k, (n, _) in enumerate(p.reads):
            others = combined(reads[:k] + reads[k + 1:], combine, count) if combine == "*" else 1.0
            np.add.at(gradients[n], at[k], down * others)
    return gradients
