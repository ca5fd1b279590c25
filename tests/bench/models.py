"""A step of training of networks of many kinds, and what each answers about one example, against PyTorch's without compiling: where something that none of the benchmark's four networks has would lose.
No goals: a look around.

The programs stand in `models`; each has two functions: `step`, of inputs, labels and perhaps the number of the step, which returns the loss, and `answer`, of one input."""
import ctypes, glob, os, re, sys
import numpy as np
from common import HERE, Missing, Model, Worker, in_turns, least
from everyday import best, on_lines

CLASSES = {"vit": 100, "mixer": 100, "gcn": 7, "llama": 512}        # that labels are drawn from; 10 elsewhere
PLACES = {"gcn": {"src": 2708, "dst": 2708}, "llama": {"x": 512}}   # and other whole numbers


def names():
    return sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(HERE, "models", "*.tsr")))


def source(name):
    return os.path.join(HERE, "models", name + ".tsr")


def arguments(name, function="step"):
    """Arrays, and 1.0 for the number of a step."""
    with open(source(name)) as f:
        signature = re.search(rf"let%export {function} (.*?) =\s", f.read())[1]
    random, out = np.random.default_rng(5), []
    for argument, shape, prec in re.findall(r'\((\w+) : (?:"([^"]*)")? ?(\w*)\)', signature):
        size = [int(n) for n in re.findall(r"\d+", shape)]
        most = PLACES.get(name, {}).get(argument, CLASSES.get(name, 10))
        out.append(1.0 if prec == "f32" else on_lines(random.integers(0, most, size).astype(np.int32) if prec else random.random(size, dtype=np.float32)))
    return out


def stepping(model, given):
    """A function that makes a step and returns how long it took, and the loss, which it leaves there."""
    loss = np.zeros(1, np.float32)
    passed = [ctypes.c_double(a) if isinstance(a, float) else a.ctypes.data_as(ctypes.c_void_p) for a in (*given, loss)]
    return (lambda: model.seconds("step", *passed)), loss


def answering(model, given):
    """A function that answers and returns how long it took, and the answer, which it leaves there."""
    out = np.zeros(1 << 20, np.float32)
    passed = [a.ctypes.data_as(ctypes.c_void_p) for a in (*given, out)]
    return (lambda: model.seconds("answer", *passed)), out


def part(bench, workers, name):
    model = Model(bench.shared(source(name), name))
    step, _ = stepping(model, arguments(name))
    for asked, ours in (name, step), (f"{name}, one answer", answering(model, arguments(name, "answer"))[0]):
        for threads, worker in workers.items():
            bench.probes(threads)
            r = in_turns(3, {"ours": lambda: best(ours), "PyTorch": lambda: worker.ask(asked)})
            seconds, theirs = least(r, "ours"), least(r, "PyTorch")
            bench.table.row(asked if threads == 1 else f"{asked}, {threads} threads", f"{seconds * 1e3:.3f} ms", f"PyTorch {theirs * 1e3:.3f}", theirs / seconds)
    model.close()


def measure(bench, pattern=""):
    bench.table.heading("A training step of networks of many kinds, and one answer, one thread and two")
    peer = [sys.executable, os.path.join(HERE, "models_torch.py")]
    workers = {threads: Worker(peer, threads, bench.frameworks(), greeting=True) for threads in (1, 2) if threads <= bench.cores}
    for name in names():
        if not re.search(pattern, name):
            continue
        try:
            part(bench, workers, name)
        except Missing as why:
            bench.table.missing(name, why)
    for worker in workers.values():
        worker.end()
