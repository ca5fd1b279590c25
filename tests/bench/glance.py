#!/usr/bin/env python3
"""The first table of docs/performance.md: each goal beside what the pages of four processors say of it, read from their tables.

    tests/bench/glance.py           writes it; tests/bench/run does, where it writes one of these pages"""
import os, re, sys

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "docs")
FIRST = "performance.md"
PAGES = (FIRST, "Xeon, matrix registers"), ("performance-zen5.md", "Zen 5"), ("performance-zen4.md", "Zen 4"), ("performance-avx2.md", "Zen 3, AVX2")
# what it is of, the part, the row of its table, and whether that row's own figure is meant rather than its ratio
ROWS = (("f32 products, of OpenBLAS", "products", "geometric mean against OpenBLAS", False), ("the same, of the best of four libraries", "products", "geometric mean against the best", False),
        ("48 contractions, of TBLIS", "contractions", "geometric mean against TBLIS, all", False), ("of these `intensli`", "contractions", "geometric mean against TBLIS, intensli", False),
        ("of these `ccsd_t`", "contractions", "geometric mean against TBLIS, ccsd_t", False),
        ("convolutions, of oneDNN", "convolutions", "geometric mean against oneDNN, forward", False), ("the same with what follows fused", "convolutions", "geometric mean against oneDNN, fused", False),
        ("their weights' gradients", "convolutions", "geometric mean against oneDNN, weights' gradient", False), ("their images' gradients", "convolutions", "geometric mean against oneDNN, input's gradient", False),
        ("digits MLP, of PyTorch eager", "training", "digits, a training step", False), ("LeNet, of the best of three", "training", "lenet, a training step", False),
        ("ResNet-18, of the best of three", "training", "resnet18, a training step", False), ("GPT, of the best of three", "training", "gpt, a training step", False),
        ("peak memory, of PyTorch's: digits", "training", "digits, bytes at the peak", False), ("peak memory: LeNet", "training", "lenet, bytes at the peak", False), ("peak memory: ResNet-18", "training", "resnet18, bytes at the peak", False),
        ("peak memory: GPT", "training", "gpt, bytes at the peak", False), ("`tsrc -O2` on the GPT", "compiling", "compile the GPT, 6 blocks, training", True))
# figures of these parts that reach the goal, of all
COUNTED = ("bytes that must move, of the bandwidth", "bandwidth", ">= 0.9"), ("attention, of PyTorch's", "attention", ">= 1.5")


def cells(page, part):
    """The rows with a goal of a page's table: work, ours, against, ratio, before, goal, verdict."""
    table = re.search(rf"<!-- {part} -->\n(.*?)<!-- end -->", page, re.S)[1]
    rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.split("\n") if line.startswith("|"))
    return [row for row in rows if len(row) == 7 and row[6] in ("met", "missed")]


def of_row(pages, part, work, own):
    found = [next(row for row in cells(page, part) if row[0] == work) for page in pages]
    return found[0][5], [(row[1] if own else row[3]) + (" (missed)" if row[6] == "missed" else "") for row in found]


def lines(folder=DOCS):
    pages = []
    for name, _ in PAGES:
        with open(os.path.join(folder, name)) as f:
            pages.append(f.read())
    yield "| work | goal | " + " | ".join(f"[{title}]({name})" if name != FIRST else title for name, title in PAGES) + " |"
    yield "|---|---|" + "---:|" * len(PAGES)
    for of, part, work, own in ROWS:
        goal, figures = of_row(pages, part, work, own)
        yield f"| {of} | {goal} | {' | '.join(figures)} |"
    for of, part, goal in COUNTED:
        rows = [[row[6] for row in cells(page, part)] for page in pages]
        yield f"| {of} | {goal} | " + " | ".join(f"{verdicts.count('met')} of {len(verdicts)}" for verdicts in rows) + " |"


def written(page, folder=DOCS):
    """The page with the table in its place."""
    return re.sub(r"(<!-- glance -->\n)(.*?)(<!-- end -->)", lambda old: old[1] + "".join(line + "\n" for line in lines(folder)) + old[3], page, count=1, flags=re.S)


def write(folder=DOCS):
    path = os.path.join(folder, FIRST)
    with open(path) as f:
        page = written(f.read(), folder)
    with open(path, "w") as f:
        f.write(page)


if __name__ == "__main__":
    sys.exit(write())
