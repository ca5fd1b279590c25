"""Attention, 12 heads of 64, against PyTorch's scaled_dot_product_attention: forward, and forward with all three gradients; and the same with a causal mask, and with a sliding window."""
import ctypes, functools, os
from common import HERE, Model, Missing, in_turns, least

LENGTHS, LONG = (128, 256, 512, 1024, 2048, 4096), 8192      # of what is longer no goal is set
CAUSAL, WINDOW = (256, 1024, 4096), 256
HEADS, EACH = 12, 64
GOAL = 1.5
MASK = """let i = positions () ++ "s | => s | 0" [s] in
  let j = positions () ++ "t | => 0 | t" in
  let mask = i >= j%s in
  let scores"""


def part(bench, peers, length, threads, kind=""):
    library = bench.probes(threads)
    with open(os.path.join(HERE, "attention.tsr")) as f:
        text = f.read().replace("4096", str(length))
    if kind:
        text = text.replace('t" scores +*', 't" (where mask scores (0. - 1e9)) +*').replace("let scores", MASK % (f" && j > i - {WINDOW}" if kind == "window" else ""))
    name = f"attention{kind}{length}"
    model = Model(bench.shared(bench.written(name + ".tsr", text), name))
    n = HEADS * length * EACH
    arrays = [ctypes.c_void_p(library.probe_array(ctypes.c_size_t(n))) for _ in range(4)]
    named = {"": "", "causal": "causal, ", "window": f"window of {WINDOW}, "}
    for direction, flops in (("forward", 4), ("backward", 14)):
        contenders = {"ours": functools.partial(few, model, direction, *arrays)}
        contenders.update({name: functools.partial(w.ask, f"attention_{length}_{direction}{'_' * bool(kind)}{kind}") for name, w in peers.items()})
        r = in_turns(3 if length > 1024 else bench.rounds // 2 + 1, contenders)
        work = f"attention {length}, {named[kind]}{direction}{' too' * (direction == 'backward')}"
        try:
            ours = least(r, "ours")
            text = f"{ours * 1e3:.2f} ms" + f" ({flops * HEADS * length ** 2 * EACH / ours * 1e-9:.0f} GF/s)" * (not kind)
            if not peers:
                bench.table.row(work, text)
            for name in peers:
                bench.table.row(work, text, f"{name} {least(r, name) * 1e3:.2f}", least(r, name) / ours, None if kind or length == LONG else GOAL)
        except Missing as why:
            bench.table.missing(work, why)
    model.close()
    for a in arrays:
        library.probe_free(a)


def few(model, *call):
    """The least of some calls: as many as take a twentieth of a second, which is what the peer does."""
    best, total = 1e9, 0
    while best == 1e9 or total < 0.05:
        t = model.seconds(*call)
        best, total = min(best, t), total + t
    return best


def measure(bench):
    bench.table.heading(f"Attention, {HEADS} heads of {EACH}, {bench.cores} threads")
    peers, absent = bench.peers(bench.cores, ("networks_torch.py", "eager"))
    for why in absent:
        bench.table.missing("PyTorch", why)
    for length in (*LENGTHS, LONG):
        part(bench, peers, length, bench.cores)
    for length in CAUSAL:
        part(bench, peers, length, bench.cores, "causal")
    part(bench, peers, CAUSAL[-1], bench.cores, "window")
    for w in peers.values():
        w.end()
