#!/usr/bin/env python3
"""Draws random products of many operands and records what opt_einsum's paths cost; writes networks.json.

200 expressions of 3 to 10 operands with the cost of the `optimal` path, and 60 of 11 to 24 operands with that of `greedy`.  Axes are shared
by two operands mostly, sometimes by three, sometimes by one and the result; sizes are 2 to 12.

    PYTHONPATH=build/peers record.py     needs opt_einsum (make peers); takes half an hour, nearly all for `optimal` over ten operands

Rows that are in networks.json already are not computed again.
"""
import json
import os
import random
import string
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "networks.json")


def draw(rng, n):
    """subscripts of the operands and of the result, sizes"""
    degree = rng.choice([2, 2.5, 3]) if n <= 10 else rng.choice([1.5, 2])
    count = max(2, min(50, round(n * degree / 2)))
    letters = string.ascii_letters[:count]
    operands = [[] for _ in range(n)]
    for c in letters:
        places = rng.choices([1, 2, 3], [1, 8, 2])[0]
        for k in rng.sample(range(n), min(places, n)):
            operands[k].append(c)
    for axes in operands:
        if not axes:
            axes.append(rng.choice(letters))
        rng.shuffle(axes)
    used = sorted({c for axes in operands for c in axes})
    result = rng.sample(used, min(len(used), rng.randint(0, 3)))
    return ["".join(axes) for axes in operands], "".join(result), {c: rng.randint(2, 12) for c in used}


def cost(operands, result, sizes, path):
    import opt_einsum
    shapes = [tuple(sizes[c] for c in axes) for axes in operands]
    return int(opt_einsum.contract_path(",".join(operands) + "->" + result, *shapes, shapes=True, optimize=path)[1].opt_cost)


def small_enough(operands, result, sizes):
    """Operands and result that a test can hold."""
    def count(axes):
        n = 1
        for c in axes:
            n *= sizes[c]
        return n
    return all(count(axes) <= 20000 for axes in operands) and count(result) <= 1000


def write(rows):
    with open(FILE, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


def main():
    rng = random.Random(5)
    known = json.load(open(FILE)) if os.path.exists(FILE) else []
    rows = []
    for path, numbers in (("optimal", [3 + k % 8 for k in range(200)]), ("greedy", [11 + k % 14 for k in range(60)])):
        for n in numbers:
            while True:
                case = draw(rng, n)
                if small_enough(*case):
                    break
            row = dict(zip(("operands", "result", "sizes"), case))
            if len(known) > len(rows) and all(known[len(rows)][key] == row[key] for key in row):
                row = known[len(rows)]
            else:
                row[path] = cost(*case, path)
                known = known[:len(rows)] + [row] + known[len(rows) + 1:]
                write(known)
            rows.append(row)
            print(len(rows), path, n, row[path], flush=True)
    write(rows)


if __name__ == "__main__":
    sys.exit(main())
