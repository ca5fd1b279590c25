"""Every index of every map inside its axis at every point, and no place of a result written from two pieces: read from --dump=proj and
walked, with nothing of the compiler's own.

A guarded index may lie outside, where the point contributes nothing; one that is checked mentions a number of the run, and is looked at
when the code runs."""
import os
import re
import subprocess

import numpy as np

TERM = re.compile(r"(?:(\d+)\*)?(@?[A-Za-z_]\w*'*)|(\d+)")


class Index:
    def __init__(self, text):
        self.guarded, self.checked = text.endswith("guarded"), "checked" in text
        self.terms, self.offset, sign = [], 0, 1
        for word in re.sub(r" (guarded|checked)", "", text).split(" "):
            if word in "+-":
                sign = 1 if word == "+" else -1
                continue
            negative = word.startswith("-")
            found = TERM.fullmatch(word.lstrip("-"))
            one = sign * (-1 if negative else 1)
            if found[3]:
                self.offset += one * int(found[3])
            else:
                self.terms.append((one * int(found[1] or 1), found[2]))
            sign = 1

    def at(self, loops, grid):
        return sum((c * grid[name] for c, name in self.terms), np.array(self.offset))


def grid_of(loops, names):
    """The places of these loops, one axis each."""
    return dict(zip(names, np.ix_(*[np.arange(loops[n]) for n in names])))


def reached(indices, sizes, loops):
    """The cells of a tensor that the points of a map name, in memory order."""
    grid = grid_of(loops, sorted({n for i in indices for _, n in i.terms}))
    flat, inside = np.zeros((), dtype=np.int64), np.ones((), dtype=bool)
    for index, size in zip(indices, sizes):
        at = index.at(loops, grid)
        inside = inside & (at >= 0) & (at < size)
        flat = flat * size + at
    return np.broadcast_to(flat, np.broadcast_shapes(flat.shape, inside.shape))[np.broadcast_to(inside, np.broadcast_shapes(flat.shape, inside.shape))]


def walk(record, loops, slot, text, written):
    """Mistakes of one map; of the result, the cells that its points reach are marked in `written`."""
    inside = re.match(r"\[(.*)\](?: of (.*))?$", text)
    indices = [Index(t) for t in inside[1].split(", ")] if inside[1] else []
    sizes = [int(n) for n in inside[2].split(", ")] if inside[2] else []
    if len(indices) != len(sizes):
        return ["%s: %s: %d indices for %d axes" % (record, slot, len(indices), len(sizes))]
    if any(i.checked for i in indices):
        return []
    wrong = []
    for index, size in zip(indices, sizes):
        names = [n for _, n in index.terms]
        at = index.at(loops, grid_of(loops, names))
        if not index.guarded and at.size and (at.min() < 0 or at.max() >= size):
            wrong.append("%s: %s: %s has %d to %d on an axis of %d" % (record, slot, text, at.min(), at.max(), size))
    if slot == "lhs" and not wrong:
        cells = reached(indices, sizes, loops)
        before = written.setdefault("cells", np.zeros(int(np.prod(sizes, dtype=np.int64)), dtype=bool))
        if before[cells].any():
            wrong.append("%s: two pieces write the same place" % record)
        before[cells] = True
    return wrong


def check(build, path):
    """(maps that are right, maps that are not) of a program; what is wrong is printed."""
    dump = subprocess.run([os.path.abspath(os.path.join(build, "tsrc")), "--dump=proj", os.path.basename(path)], capture_output=True, text=True,
                          cwd=os.path.dirname(path))
    if dump.returncode:
        print("%s: --dump=proj: exit status %d: %s" % (path, dump.returncode, dump.stderr[:500]))
        return 0, 1
    maps, wrong, record, written, loops = 0, [], "", {}, {}
    for line in dump.stdout.splitlines():
        if not line.startswith(" "):
            record, written = line, {}
        elif line.startswith("  loops"):
            loops = {n: int(size) for n, size in (x.split(":") for x in line.split()[1:])}
        elif "not live" not in line:
            slot, _, text = line.strip().partition(" ")
            wrong += walk(record, loops, slot, text.strip(), written)
            maps += 1
    for text in wrong:
        print("%s: %s" % (path, text))
    return maps - len(wrong), len(wrong) + (maps == 0)
