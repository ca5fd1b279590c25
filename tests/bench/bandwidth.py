"""Work that is bound by memory: how much of the bandwidth that loops as plain as they can be reach, with the same arrays, the same number
of them read and written, and the same threads.

The best of the rounds counts; beside it stands the middle of the rounds' ratios, which at 4M says more: how much of the arrays a last cache still has is
chance, of which the best round of a plain copy made 200 GB/s where its middle is 140 and that of one around the caches 160."""
import ctypes, functools, os, time
from common import HERE, Model, in_turns, least, middle_ratio

ROWS = {"4M": 4096, "16M": 16384, "64M": 65536}         # of 1,024 numbers
THREADS = [(2, "4M"), (2, "16M"), (2, "64M"), (1, "16M")]
GOAL = 0.9

# work: the function of bandwidth.tsr, what it is given ("x" and "y": arrays read, "d": written, "i": whole numbers, "t": the
# step, "s": a number written), bytes that must move per element, and the probes that move as much
WORK = {
    "x / (1 + exp -x)": ("silu", "xd", 8, ("copy", "copy streamed")),
    "y + gelu (1.5 x + 0.25)": ("gelu_residual", "xyd", 12, ("triad", "triad streamed")),
    "softmax": ("softmaxes", "xd", 8, ("copy", "copy streamed")),
    "layer norm": ("norms", "xd", 8, ("copy", "copy streamed")),
    "transposition": ("turned", "xd", 8, ("copy", "copy streamed")),
    "maximum of three neighbours": ("widest", "xd", 8, ("copy", "copy streamed")),
    "cross entropy": ("entropy", "xis", 4, ("read",)),
    "cross entropy and its gradient": ("entropy_gradient", "isd", 8, ("copy alone", "copy alone streamed")),
    "AdamW": ("optimise", "xt", 28, ("update in place",)),
}


class Arrays:
    """The memory that work and probes share: as many elements, first written by the threads that will use it."""

    def __init__(self, probes, n):
        self.n = n
        self.array = {name: probes.probe_array(ctypes.c_size_t(n)) for name in ("x", "y", "z", "d", "p", "m", "v")}
        self.rows = (ctypes.c_int32 * (n // 1024))(*(i * 7 % 1024 for i in range(n // 1024)))
        self.number = (ctypes.c_float * 1)()
        self.given = {"x": self.pointer("x"), "y": self.pointer("y"), "d": self.pointer("d"), "i": ctypes.byref(self.rows),
                      "t": ctypes.c_double(3.0), "s": ctypes.byref(self.number)}

    def pointer(self, name):
        return ctypes.c_void_p(self.array[name])


def probe(function, *args):
    begin = time.perf_counter()
    function(*args)
    return time.perf_counter() - begin


def twice(run):
    """Two passes, one after the other, of work and of probes alike: what is read is as near as an own pass leaves it.  Else what reads x would find it
    where the eight before it left it, and what reads arrays of its own would not.  And in shuffled turns: a last cache learns over some passes what to
    keep, so that a probe would have gained by the probe of the same arrays before it, and work by none."""
    return lambda: min(run(), run())


def probes_of(library, arrays):
    """name: (bytes per element, one pass)."""
    n, a = ctypes.c_size_t(arrays.n), arrays.pointer
    call = lambda name, *args: functools.partial(probe, getattr(library, "probe_" + name), *args)
    return {
        "read": (4, call("read", a("x"), n)),
        "copy": (8, call("copy", a("d"), a("x"), n, False)), "copy streamed": (8, call("copy", a("d"), a("x"), n, True)),
        "copy alone": (8, call("copy", a("d"), a("z"), n, False)), "copy alone streamed": (8, call("copy", a("d"), a("z"), n, True)),
        "triad": (12, call("triad", a("d"), a("x"), a("y"), n, False)), "triad streamed": (12, call("triad", a("d"), a("x"), a("y"), n, True)),
        "update in place": (28, call("update", a("p"), a("m"), a("v"), a("x"), n)),
    }


def part(bench, size, threads):
    library = bench.probes(threads)
    with open(os.path.join(HERE, "bandwidth.tsr")) as f:
        source = bench.written(f"bandwidth{size}.tsr", f.read().replace("4096", str(ROWS[size])))
    model = Model(bench.shared(source, f"bandwidth{size}"))
    arrays = Arrays(library, ROWS[size] * 1024)
    probes = probes_of(library, arrays)
    contenders = {w: functools.partial(model.seconds, f, *(arrays.given[g] for g in given)) for w, (f, given, *_) in WORK.items()}
    contenders.update({p: run for p, (_, run) in probes.items()})
    r = in_turns(bench.rounds * (4 if size == "4M" else 1), {name: twice(run) for name, run in contenders.items()}, shuffled=True)
    rate = lambda name, each: each * arrays.n / least(r, name) * 1e-9
    for work, (_, _, each, beside) in WORK.items():
        best = max(beside, key=lambda p: rate(p, each))
        ours, middle = rate(work, each), min(middle_ratio(r, p, work) for p in beside)
        bench.table.row(f"{work}, {size}, {threads} thread{'s' * (threads > 1)}", f"{ours:.1f} GB/s", f"{best} {rate(best, each):.1f}, in the middle {middle:.3f}",
                        ours / rate(best, each), GOAL)
    model.close()
    for a in arrays.array.values():
        library.probe_free(ctypes.c_void_p(a))


def measure(bench):
    bench.table.heading("Bytes that must move, against the bandwidth probed beside it")
    for threads, size in THREADS:
        if threads > bench.cores:
            bench.table.missing(f"{size}, {threads} threads", f"only {bench.cores} to be used")
        else:
            part(bench, size, threads)
