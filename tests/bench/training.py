"""Training steps against the best of PyTorch, torch.compile and JAX, and the memory that they hold at their peak against PyTorch's."""
import ctypes, functools, os, re
from common import HERE, ROOT, Missing, Model, in_turns, least

# name: the program, how many steps one call makes, how one is run, the ratio wanted to the best peer, and to PyTorch without compiling; behind a space, an option of tsrc
NETWORKS = {
    "digits": ("examples/digits.tsr", 30, "run step ~i", None, 10),
    "lenet": ("examples/lenet.tsr", 30, "run step ~i", 1.5, None),
    "resnet18": ("tests/bench/resnet18.tsr", 1, "run step", 1.15, None),
    "resnet18 --winograd=2": ("tests/bench/resnet18.tsr", 1, "run step", 1.15, None),
    "resnet18 --winograd=4": ("tests/bench/resnet18.tsr", 1, "run step", 1.15, None),
    "gpt": ("tests/bench/gpt.tsr", 1, "run step ~i", 1.15, None),
}
MEMORY = 0.6


def program(name):
    """The program's network and step, without its own loop: `epoch` runs the steps."""
    path, steps, run, *_ = NETWORKS[name]
    path = os.path.join(ROOT, path)
    if not os.path.exists(path):
        raise Missing(f"there is no {NETWORKS[name][0]}")
    with open(path) as f:
        text = re.sub(r"\nlet%main.*", "\n", f.read(), flags=re.S)
    folder = os.path.dirname(path)
    text = re.sub(r'file "([^/"][^"]*)"', lambda m: f'file "{os.path.normpath(os.path.join(folder, m[1]))}"', text)
    return text + f"\nlet%export epoch () = for i = 0 to {steps - 1} do {run} done\n"


def few(model, steps):
    best, total = 1e9, 0
    while best == 1e9 or total < 0.05:
        t = model.seconds("epoch")
        best, total = min(best, t / steps), total + t
    return best


def memory(bench, name, shared, library, torch):
    """Bytes held at the highest: the whole context, with parameters, data and what the optimiser keeps."""
    library.probe_memory_most()
    model = Model(shared, ctypes.cast(library.probe_memory, ctypes.c_void_p))
    model.seconds("epoch")
    ours = library.probe_memory_most()
    model.close()
    theirs = torch.ask(f"memory {name.split()[0]}")
    bench.table.row(f"{name}, bytes at the peak", f"{ours / 1e6:.2f} MB", f"PyTorch {theirs / 1e6:.2f}", ours / theirs, MEMORY, most=True)


def part(bench, name, peers, threads):
    library = bench.probes(threads)
    network, *options = name.split()
    stem = "".join([network, *(re.sub(r"\W+", "_", o) for o in options)])
    shared = bench.shared(bench.written(f"{stem}.tsr", program(name)), stem, *options)
    model = Model(shared)
    _, steps, _, to_best, to_eager = NETWORKS[name]
    r = in_turns(bench.rounds // 2 + 1, {"ours": functools.partial(few, model, steps),
                                         **{p: functools.partial(w.ask, network) for p, w in peers.items()}})
    model.close()
    there, ours = {}, least(r, "ours")
    for p in peers:
        try:
            there[p] = least(r, p)
        except Missing as why:
            bench.table.missing(f"{name} by {p}", why)
    work, text = f"{name}, a training step", f"{ours * 1e3:.3f} ms"
    best = min(there, key=there.get, default=None)
    for p, t in there.items():
        eager = p.endswith("eager")
        bench.table.row(work, text, f"{p} {t * 1e3:.3f}", t / ours, to_eager if eager and to_eager else to_best if p == best else None)
    torch = next((w for p, w in peers.items() if p.endswith("eager")), None)
    if torch:
        memory(bench, name, shared, library, torch)
    elif not there:
        bench.table.row(work, text)


def measure(bench):
    bench.table.heading(f"Training steps, {bench.cores} threads; the goal holds for the best peer")
    peers, absent = bench.peers(bench.cores, ("networks_torch.py", "eager"), ("networks_torch.py", "compile"), ("networks_jax.py",))
    for why in absent:
        bench.table.missing("a peer", why)
    for name in NETWORKS:
        try:
            part(bench, name, peers, bench.cores)
        except Missing as why:
            bench.table.missing(name, why)
    for w in peers.values():
        w.end()
