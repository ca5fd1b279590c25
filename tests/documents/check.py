#!/usr/bin/env python3
"""The programs of tests/run/documents, judged: the numbers of each golden output against NumPy (or the number itself, where the
document's own arithmetic is the judge), and the index README.md there against what the folder holds.

    check.py BUILD          (BUILD is not used: run-tests compares what the programs print with the goldens)
"""
import glob
import os
import re
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "tools"))
import expected  # noqa: E402
import printed  # noqa: E402
from tally import check, end  # noqa: E402

FOLDER = os.path.join(HERE, os.pardir, "run", "documents")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def said(text):
    """The printed tensors; lines that print numbers alone are told by `lines`.  What is printed several times: all in order."""
    got = {}
    for block in re.split(r"^(?=\S+ : )", text, flags=re.M):
        for name, values in printed.tensors(block).items():
            got.setdefault(name, []).extend(values)
    plain = [x for line in text.splitlines() if re.match(r"-?\d", line) for x in map(float, line.split())]
    if plain:
        got["lines"] = plain
    return got


def judge(name):
    got, want = said(read(os.path.join(FOLDER, name + ".out"))), expected.NUMBERS[name]
    lines = got.pop("lines", [])
    for block in [k for k in got if k not in want]:
        check(False, "%s: nothing is expected of `%s`" % (name, block))
    for tensor, value in want.items():
        have, value = np.array(lines if tensor == "lines" else got.get(tensor, [])), np.asarray(value, dtype=float).ravel()
        if tensor != "lines" and len(lines) and len(have) > len(value):
            have = have[:len(value)]                            # plain lines follow the last tensor
        check(have.shape == value.shape and np.allclose(have, value, rtol=1e-5, atol=1e-6), "%s: `%s` is %s, not %s" % (name, tensor, have, value))


names = {os.path.basename(p)[:-4] for p in glob.glob(os.path.join(FOLDER, "*.tsr"))}
listed = re.findall(r"`([a-z0-9-]+)`", read(os.path.join(FOLDER, "README.md")))
for n in sorted(names):
    check(n in listed, "README.md does not list %s" % n)
    kinds = {e for e in ("out", "err", "fail", "shapes", "proj") if os.path.exists(os.path.join(FOLDER, "%s.%s" % (n, e)))}
    check({"out", "shapes", "proj"} <= kinds or {"fail", "shapes"} <= kinds or kinds == {"err"}, "%s has only %s" % (n, sorted(kinds)))
    if "out" in kinds:
        check(n in expected.NUMBERS, "no numbers are expected of %s" % n)
for n in sorted(expected.NUMBERS):
    if n in names:
        judge(n)
    else:
        check(False, "there is no %s" % n)
shown = set()
for row in re.findall(r"^\| .* \| (.*) \|$", read(os.path.join(FOLDER, "README.md")), flags=re.M):
    for n in re.findall(r"`([a-z0-9-]+)`", row):
        check(row.startswith("the same: ") or n not in shown, "README.md has two rows for %s and does not say so" % n)
        if not row.startswith("the same: "):
            shown.add(n)
for n in sorted(names):
    check(n in shown, "README.md has no row of its own for %s" % n)
for n in listed:
    other = any(glob.glob(os.path.join(HERE, os.pardir, pattern % n)) for pattern in ("run/%s.tsr", "error/%s.tsr", "run/documents/%s.tsr"))
    check("-" not in n or other, "README.md lists %s, which is not there" % n)
end()
