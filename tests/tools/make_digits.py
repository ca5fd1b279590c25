#!/usr/bin/python3
"""Makes examples/data/digits.npz from the comma-separated form of the UCI optical digits.

usage: make_digits.py digits.csv.gz examples/data/digits.npz

A line of the source is 64 intensities of 0 to 16 and the digit.  They stand in the order of their writers, which no
classifier of this kind generalises over, so they are shuffled once, always the same way.  The archive's dates are fixed:
the same source gives the same bytes."""
import gzip
import io
import sys
import zipfile

import numpy as np


def add(archive, key, array):
    member = zipfile.ZipInfo(key + ".npy", (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    text = io.BytesIO()
    np.lib.format.write_array(text, array, version=(1, 0))
    archive.writestr(member, text.getvalue(), compresslevel=9)


def main(source, target):
    with gzip.open(source, "rt") as lines:
        table = np.array([[int(x) for x in line.split(",")] for line in lines], dtype=np.uint8)
    if table.shape != (1797, 65) or table[:, :64].max() > 16 or table[:, 64].max() > 9:
        sys.exit(f"{source}: not the 1797 digits")
    table = table[np.random.default_rng(1).permutation(len(table))]
    with zipfile.ZipFile(target, "w") as archive:
        add(archive, "images", np.ascontiguousarray(table[:, :64]))
        add(archive, "labels", np.ascontiguousarray(table[:, 64]))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
