"""How far the model that chooses schedules is from the best that `tsrc --tune` finds here, for each form of contraction in the other parts:
products, convolutions of one image, and training steps, each of which is a piece that can be had alone.  One thread, for each time the least."""
import os, re, subprocess
import convolutions, products
from common import ROOT, Missing, geometric_mean

FAR = 1.05
STEPS = {"digits": "examples/digits.tsr", "lenet": "examples/lenet.tsr", "resnet18": "tests/bench/resnet18.tsr", "gpt": "tests/bench/gpt.tsr"}
FORM = re.compile(r"^  (?P<name>\S+), (?P<tuned>[\d.]+) us(?:; (?P<model>[\d.]+) us by the model)?: (?P<schedule>.*)$", re.M)


def programs(bench):
    yield "products", bench.written("tuned_products.tsr", products.program())
    forward = [convolutions.function(name, kind, batch, shape) for name, _, kind, batch, shape in convolutions.cases() if kind == 0 and batch == 1]
    yield "convolutions", bench.written("tuned_convolutions.tsr", "\n".join(forward) + "\n")
    for name, path in STEPS.items():
        yield name, os.path.join(ROOT, path)


def tune(bench, name, source):
    """For each form its kernel, the model's time over the tuned one, and what won."""
    p = subprocess.run([bench.tsrc, "--tune", "--schedules", bench.path(name + ".schedules"), source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        raise Missing(p.stderr.strip()[:200])
    return [(m["name"], float(m["model"] or m["tuned"]) / float(m["tuned"]), m["schedule"], m["tuned"]) for m in FORM.finditer(p.stdout)]


def measure(bench, piece=None):
    chosen = [(name, source) for name, source in programs(bench) if piece in (None, name)]
    if not chosen:
        raise Missing(f"there is no such piece; there are {', '.join(name for name, _ in programs(bench))}")
    bench.table.heading("The model's schedules against the best of --tune, one thread; only those that are more than 5 % off")
    everything = []
    for name, source in chosen:
        try:
            forms = tune(bench, name, source)
        except Missing as why:
            bench.table.missing(name, why)
            continue
        everything += [off for _, off, *_ in forms]
        for kernel, off, schedule, tuned in forms:
            if off > FAR:
                bench.table.row(f"{name}: {kernel}", f"{tuned} us", "", off)
                bench.table.remark(schedule)
        bench.table.row(f"{name}, {len(forms)} forms, geometric mean", "", "", geometric_mean(off for _, off, *_ in forms), FAR, most=True)
    if everything:
        bench.table.row("of all forms within 5 %", "", "", sum(off <= FAR for off in everything) / len(everything), 1)
