#!/usr/bin/env python3
"""Kernels divided among threads: the same bits as from one thread.

Products, windows, sums, rows and chains at sizes around the edges of tiles, fixed or known when they are called; every program of
tests/run that ends well, every worked example: divided wherever that is possible, with one, two, three, five and nine threads.  Then
inside a C program: without OpenMP, with it, and called by the threads of a team of the program's own.

    check.py BUILD [--seed N]
"""
import argparse, ctypes, glob, os, random, sys, tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import tally  # noqa: E402
from machine import processors  # noqa: E402
from tally import check  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
THREADS = (1, 2, 3, 5, 9)


def run(command, threads=1, cwd=None):
    return tally.run(*command, cwd=cwd, env=dict(os.environ, OMP_NUM_THREADS=str(threads)))


def compiled(tsrc, folder, source, divided, options):
    program = os.path.join(folder, "divided" if divided else "plain")
    status, _, errors = run([tsrc, "--threads=" + ("all" if divided else "none"), *options, source, "-o", program])
    return program if check(status == 0, f"{source}: {errors}") else None


def same_bits(tsrc, folder, source, args=(), options=()):
    plain, divided = (compiled(tsrc, folder, source, d, options) for d in (False, True))
    if not plain or not divided:
        return
    home = os.path.dirname(os.path.abspath(source))
    command = ["--data", home, *args]
    want = run([plain, *command], cwd=home)
    for threads in (1, 3):
        got = run([divided, *command], threads, cwd=home)
        check(got == want, f"{source} with {threads} threads: another result than with one {' '.join(options)}\n{got[1][-300:]}{got[2][-300:]}")


def programs(tsrc, folder):
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/run/*.out")) + glob.glob(os.path.join(ROOT, "tests/run/documents/*.out"))):
        args = source[:-4] + ".args"
        source = source[:-4] + ".tsr"
        if os.path.exists(source):
            same_bits(tsrc, folder, source, open(args).read().split() if os.path.exists(args) else ())
    for level in processors():          # where shares end decides what is left over for no vector, and that hangs on how wide those are
        for name in ("columns-are-divided-by-vectors", "large-products-copy-both-operands", "few-rows-pack-the-next-block", "more-rows-pack-the-next-block", "many-rows-are-each-threads-own", "few-results-of-many-groups", "sums-for-each-place-of-a-window"):
            same_bits(tsrc, folder, os.path.join(ROOT, f"tests/run/{name}.tsr"), options=["--cpu=" + level])
        for name in ("sums-of-a-few-terms", "columns-are-divided-by-vectors", "sums-of-few-columns-take-rows-in-turns", "sums-of-much-are-taken-in-parts", "windows-over-rows-of-images"):
            same_bits(tsrc, folder, os.path.join(ROOT, f"tests/run/{name}.tsr"), options=["--cpu=" + level, "-O3"])
    for source in sorted(glob.glob(os.path.join(ROOT, "examples/*.tsr"))):
        if os.path.basename(source) in ("digits.tsr", "lenet.tsr"):
            same_bits(tsrc, folder, source)


# ---- functions at many sizes, called in this process -----------------------------------------------------------------------

FUNCTIONS = {  # a name: the operands' axes, and the result
    "product": (("bmk", "bkc"), "bmc", 'x +* y "b, m, k |; b, k, c | => b, m, c |"'),
    "turned": (("bmk", "ck"), "cbm", 'x +* y "b, m, k |; c, k | => c, b, m |"'),
    "vector": (("mk", "k"), "m", 'x +* y "m, k |; k | => m |"'),
    "outer": (("bm", "cd"), "bcmd", 'x +* y "b, m |; c, d | => b, c, m, d |"'),
    "largest": (("mk", "kc"), "mc", 'x @^+ y "m, k |; k, c | => m, c |"'),
    "window": (("bmk", "3kc"), None, 'x +* y "b, o <+ t, k |; t, k, c | => b, o, c |"'),
    "padded": (("bmk", "3kc"), "bmc", 'x +* y "b, o =+ t, k |; t, k, c | => b, o, c |"'),
    "columns": (("bmk", "k"), "kb", '(x + y) ++ "b, m, k | => k, b |"'),
    "together": (("bmk", "k"), "k", '(x ++ "b, m, k | => k |") *. ((x *. y) ++ "b, m, k | => k |") + (x @^^ "b, m, k | => k |")'),
    "beside": (("bmk", "k"), "mk", '(x *. y) ++ "b, m, k | => m, k |"'),
    "chain": (("bmk", "k"), "bmk", "tanh (x *. y + relu x)"),
    "rows": (("bmk", "k"), "bmk", 'let e = exp (x *. y) in e /. (e ++ "b, m, k | => b, m, 0 |")'),
    "moments": (("bmk", "k"), "bmk", 'let z = x - (x ++ "b, m, k | => b, m, 0 |") in z *. y /. sqrt (x *. x ++ "b, m, k | => b, m, 0 |")'),
}
SIZES = (1, 2, 3, 5, 7, 16, 17, 31, 48, 63, 65, 97, 130)


def exports(path, sizes):
    """The functions, at sizes ?b, ?m ... or at those given."""
    with open(path, "w") as f:
        f.write("open Nn\n")
        for name, (operands, _, body) in FUNCTIONS.items():
            shapes = ["%s |" % ", ".join(a if a == "3" else str(sizes[a]) if sizes else "?" + a for a in axes) for axes in operands]
            f.write(f'let%export {name} (x : "{shapes[0]}") (y : "{shapes[1]}") = {body}\n')


class Library:
    """A file of functions as a shared object in this process."""

    def __init__(self, tsrc, build, folder, source, divided):
        work = tempfile.mkdtemp(dir=folder)
        self.name = os.path.basename(source)[:-4]
        made, shared = os.path.join(work, "m.o"), os.path.join(work, "m.so")
        for command in ([tsrc, "-c", "--cpu=native", "--threads=" + ("all" if divided else "none"), source, "-o", made],
                        ["gcc", "-shared", "-Wl,-Bsymbolic", made, os.path.join(build, "libtessera.a"), "-lm", "-o", shared]):
            status, _, errors = run(command)
            check(status == 0, " ".join(command) + "\n" + errors)
        self.lib, self.ctx = ctypes.CDLL(shared), ctypes.c_void_p()
        check(getattr(self.lib, self.name + "_open")(ctypes.byref(self.ctx), None) == 0, source + " does not open")

    def call(self, function, sizes, operands, elements):
        out = np.full(elements, np.nan, np.float32)
        pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
        args = [ctypes.c_int64(s) for s in sizes] + [pointer(a) for a in operands] + [pointer(out)]
        status = getattr(self.lib, f"{self.name}_{function}")(self.ctx, *args)
        check(status == 0, f"{function} at {sizes}: status {status}")
        return out

    def close(self):
        self.lib.tsr_close(self.ctx)


def compare(rng, openmp, plain, divided, sizes, symbolic, what):
    for name, (axes, result, _) in FUNCTIONS.items():
        data = np.random.default_rng(rng.randint(0, 1 << 30))
        operands = [data.standard_normal([3 if a == "3" else sizes[a] for a in x]).astype(np.float32) for x in axes]
        order = [a for a in dict.fromkeys("".join(axes)) if a != "3"]
        given = [sizes[a] for a in order] if symbolic else []
        count = sizes["b"] * (sizes["m"] - 2) * sizes["c"] if result is None else int(np.prod([sizes[a] for a in result]))
        want = plain.call(name, given, operands, count)
        check(not np.isnan(want).any(), f"{name} {what} {sizes}: not all was stored")
        for threads in THREADS:
            openmp.omp_set_num_threads(threads)
            got = divided.call(name, given, operands, count)
            check(np.array_equal(want.view(np.uint32), got.view(np.uint32)), f"{name} {what} {sizes} with {threads} threads: other bits")


def padded(x, y):
    out = np.zeros((*x.shape[:2], y.shape[2]))
    with np.errstate(invalid="ignore"):
        for t in range(3):
            for o in range(max(0, 1 - t), min(x.shape[1], x.shape[1] + 1 - t)):
                out[:, o] += (x[:, o + t - 1, :, None].astype(float) * y[t]).sum(1)
    return out


def not_finite(rng, openmp, divided, sizes, symbolic, what):
    """What lies outside contributes nothing, which one thread may notice in its part and the others have to hear of."""
    data = np.random.default_rng(rng.randint(0, 1 << 30))
    for t in range(3):
        x, y = (data.standard_normal(s).astype(np.float32) for s in ((sizes["b"], sizes["m"], sizes["k"]), (3, sizes["k"], sizes["c"])))
        y[t, rng.randrange(sizes["k"]), rng.randrange(sizes["c"])] = np.inf
        want = padded(x, y)
        for threads in THREADS:
            openmp.omp_set_num_threads(threads)
            got = divided.call("padded", [sizes[a] for a in "bmkc"] if symbolic else [], [x, y], want.size).reshape(want.shape)
            right = np.allclose(want, got, rtol=1e-3, atol=1e-3, equal_nan=True)
            check(right, f"padded, of an infinity {what} {sizes} with {threads} threads: {np.sum(np.isnan(got))} numbers are none, not {np.sum(np.isnan(want))}")


def functions(tsrc, build, folder, rng):
    openmp = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    draw = lambda: dict({a: rng.choice(SIZES) for a in "bmkcd"}, m=rng.choice(SIZES[2:]), b=rng.choice((1, 2, 3, 20, 40)))
    places = random.Random(1)                            # beside the draws of sizes
    source = os.path.join(folder, "symbolic.tsr")
    exports(source, None)
    pair = [Library(tsrc, build, folder, source, d) for d in (False, True)]
    for _ in range(25):
        drawn = draw()
        compare(rng, openmp, *pair, drawn, True, "at run-time sizes")
        not_finite(places, openmp, pair[1], drawn, True, "at run-time sizes")
    for n in range(4):
        sizes, source = draw(), os.path.join(folder, f"fixed{n}.tsr")
        exports(source, sizes)
        pair = [Library(tsrc, build, folder, source, d) for d in (False, True)]
        compare(rng, openmp, *pair, sizes, False, "at fixed sizes")
        not_finite(places, openmp, pair[1], sizes, False, "at fixed sizes")


def in_turns(tsrc, build, folder, rng):
    """Blocks of rows, and of columns that are packed early, that threads take in turns: several blocks of columns and of depths, whose sums wait for each other, and more threads than cores."""
    openmp = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    data = np.random.default_rng(rng.randint(0, 1 << 30))
    sizes = [(1000, 96, 1700), (230, 1400, 900), (700, 700, 700), (390, 40, 2500), (2000, 1030, 60), (49, 512, 1500), (40, 1040, 700)]
    fixed, open_ = os.path.join(folder, "turns.tsr"), os.path.join(folder, "turns_at_run_time.tsr")
    product = 'x +* y "m, k |; k, c | => m, c |"'
    with open(fixed, "w") as f:
        f.writelines(f'let%export p{i} (x : "{m}, {k} |") (y : "{k}, {c} |") = {product}\n' for i, (m, c, k) in enumerate(sizes))
    with open(open_, "w") as f:
        f.write(f'let%export p (x : "?m, ?k |") (y : "?k, ?c |") = {product}\n')
    for source in (fixed, open_):
        plain, divided = (Library(tsrc, build, folder, source, d) for d in (False, True))
        for i, (m, c, k) in enumerate(sizes):
            operands = [data.standard_normal(s).astype(np.float32) for s in ((m, k), (k, c))]
            name, given = (f"p{i}", []) if source == fixed else ("p", [m, k, c])
            want = plain.call(name, given, operands, m * c)
            for threads in (1, 2, 3, 4, 7, 16):
                openmp.omp_set_num_threads(threads)
                same = all(np.array_equal(want.view(np.uint32), divided.call(name, given, operands, m * c).view(np.uint32)) for _ in range(5))
                check(same, f"{m}x{c}x{k} with {threads} threads: other bits")


def equally_many(tsrc, build, folder):
    """Threads that pack each block of B together have as many blocks of rows each: here six of B, of an A and a B that both lie across K, at a number of rows for which that takes some care with two
    threads, three or both."""
    openmp, rows = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL), (700, 1000, 1200, 1300)
    source, made, shared = (os.path.join(folder, "many." + kind) for kind in ("tsr", "o", "so"))
    with open(source, "w") as f:
        f.writelines(f'let%export p{m} (x : "1000, {m} |") (y : "1500, 1000 |") = x +* y "k, m |; c, k | => m, c |"\n' for m in rows)
    for command in ([tsrc, "-c", "--cpu=x86-64-v3", source, "-o", made],
                    ["gcc", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-Wl,--wrap=tsr_take", "-I" + os.path.join(ROOT, "runtime"), os.path.join(HERE, "takes.c"), made,
                     os.path.join(build, "libtessera.a"), "-lm", "-o", shared]):
        status, _, errors = run(command)
        check(status == 0, " ".join(command) + "\n" + errors)
    lib, ctx = ctypes.CDLL(shared), ctypes.c_void_p()
    lib.takes.restype = ctypes.c_long
    check(lib.many_open(ctypes.byref(ctx), None) == 0, "many.tsr does not open")
    for m in rows:
        operands = [np.ones(s, np.float32) for s in ((1000, m), (1500, 1000), (m, 1500))]
        for threads in (2, 3):
            openmp.omp_set_num_threads(threads)
            lib.takes()
            status = getattr(lib, f"many_p{m}")(ctx, *(x.ctypes.data_as(ctypes.c_void_p) for x in operands))
            parts = lib.takes() - threads                      # each thread asks once more than it gets
            check(status == 0 and (operands[2] == 1000).all(), f"{m} rows with {threads} threads: status {status}, or wrong sums")
            check(parts > 6 * threads and parts % (6 * threads) == 0, f"{m} rows with {threads} threads: {parts} parts")
    lib.tsr_close(ctx)


# images, height and width of the sums, groups, channels, filters of each, the window's height and width, step: shares that end within a register, places that are left over for the last
# thread, and images of which the second cache holds a part
WEIGHTS = ((8, 3, 29, 8, 8, 1, 3, 2, 2), (2, 9, 14, 3, 16, 11, 3, 3, 1), (3, 7, 30, 4, 16, 5, 1, 3, 1), (3, 60, 70, 2, 16, 5, 3, 3, 1), (2, 40, 96, 3, 16, 16, 3, 3, 1), (5, 8, 9, 12, 4, 4, 3, 3, 2))


def weights_of(x, y, height, width, step):
    """Of images n, h, w, group, channel and sums n, h, w, group, filter: filter, height, width, group, channel."""
    n, h, w, groups, filters = y.shape
    whole = np.pad(x.astype(float), ((0, 0), (height // 2, height), (width // 2, width), (0, 0), (0, 0)))
    taps = [[np.einsum("nhwgf,nhwgc->fgc", y, whole[:, i:i + step * h:step, j:j + step * w:step]) for j in range(width)] for i in range(height)]
    return np.array(taps).transpose(2, 0, 1, 3, 4)


def weights(tsrc, build, folder):
    """What the gradients of the weights of windows over groups of channels sum."""
    openmp, data, source = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL), np.random.default_rng(3), os.path.join(folder, "weights.tsr")
    with open(source, "w") as f:
        for i, (n, h, w, g, c, filters, height, width, s) in enumerate(WEIGHTS):
            f.write(f'let%export w{i} (x : "{n}, {h * s}, {w * s}, {g}, {c} |") (y : "{n}, {h}, {w}, {g}, {filters} |") =\n'
                    f'  let z = x +* y "n, {s}*h =+ i, {s}*w =+ j, g, c |; n, h, w, g, f | => f, i, j, g, c |" [i; j] in\n  set_dim i {height}; set_dim j {width}; z\n')
    plain, divided = (Library(tsrc, build, folder, source, d) for d in (False, True))
    for i, (n, h, w, g, c, filters, height, width, s) in enumerate(WEIGHTS):
        x, y = (data.standard_normal(shape).astype(np.float32) for shape in ((n, h * s, w * s, g, c), (n, h, w, g, filters)))
        want, name = weights_of(x, y, height, width, s), f"w{i}"
        one = plain.call(name, [], [x, y], want.size)
        check(np.allclose(want.reshape(-1), one, rtol=1e-4, atol=1e-4 * np.abs(want).max()), f"weights' gradient {WEIGHTS[i]}")
        for threads in THREADS:
            openmp.omp_set_num_threads(threads)
            got = divided.call(name, [], [x, y], want.size)
            check(np.array_equal(one.view(np.uint32), got.view(np.uint32)), f"weights' gradient {WEIGHTS[i]} with {threads} threads: other bits")


def strips(tsrc, build, folder, rng):
    """Strips of attention's heads, of which each thread has some of its own before it helps the others."""
    openmp = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
    data = np.random.default_rng(rng.randint(0, 1 << 30))
    source, shape = os.path.join(folder, "strips.tsr"), (9, 256, 64)
    with open(os.path.join(ROOT, "tests/bench/attention.tsr")) as f, open(source, "w") as to:
        to.write(f.read().split("let%op queries")[0].replace("12, 4096", "9, 256"))
    plain, divided = (Library(tsrc, build, folder, source, d) for d in (False, True))
    operands = [data.standard_normal(shape).astype(np.float32) for _ in range(3)]
    elements = int(np.prod(shape))
    want = plain.call("forward", [], operands, elements)
    for threads in (1, 2, 3, 4, 7, 16):
        openmp.omp_set_num_threads(threads)
        same = all(np.array_equal(want.view(np.uint32), divided.call("forward", [], operands, elements).view(np.uint32)) for _ in range(5))
        check(same, f"attention with {threads} threads: other bits")


# ---- in a host with threads of its own ----------------------------------------------------------------------------------------


def vectors(tsrc, folder):
    """A thread's own buffers are known to lie apart: what is between the products of attention is computed by vectors.  And each thread begins with heads of its own."""
    with open(os.path.join(ROOT, "tests/bench/attention.tsr")) as f:
        source = f.read().replace("4096", "512")
    program, text = os.path.join(folder, "attention.tsr"), os.path.join(folder, "attention.ll")
    with open(program, "w") as f:
        f.write(source)
    status, _, errors = run([tsrc, "-c", "--cpu=x86-64-v3", "--emit=llvm", program, "-o", text])
    if check(status == 0, f"attention: {errors}"):
        with open(text) as f:
            lines = f.readlines()
        single = [line for line in lines if "fdiv float" in line and "fdiv float 1.0" not in line]       # a row's reciprocal is one number
        check(not single and any("@llvm.fma.v" in line for line in lines), "attention divides one number at a time")
        check(any("urem i64" in line and "%threads" in line for line in lines), "all threads begin with the first head")


def hosts(tsrc, build, folder):
    source, made = os.path.join(folder, "symbolic.tsr"), os.path.join(folder, "symbolic.o")
    run([tsrc, "-c", "--threads=all", source, "-o", made])
    results = set()
    for flags in ([], ["-fopenmp"]):
        program = os.path.join(folder, "host")
        status, out, errors = run(["gcc", "-Wall", "-Wno-unknown-pragmas", *flags, os.path.join(HERE, "host.c"), made, "-I" + folder,
                                   "-I" + os.path.join(ROOT, "runtime"), os.path.join(build, "libtessera.a"), "-lm", "-o", program])
        check(status == 0, f"host.c with {flags}: {out}{errors}")
        for threads in THREADS:
            status, out, errors = run([program], threads)
            check(status == 0, f"host with {flags}, {threads} threads: status {status} {out}{errors}")
            results.add(out)
    check(len(results) == 1, f"hosts: {results}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tsrc = os.path.join(os.path.abspath(options.build), "tsrc")
    with tempfile.TemporaryDirectory() as folder:
        functions(tsrc, os.path.abspath(options.build), folder, random.Random(options.seed))
        in_turns(tsrc, os.path.abspath(options.build), folder, random.Random(options.seed))
        equally_many(tsrc, os.path.abspath(options.build), folder)
        weights(tsrc, os.path.abspath(options.build), folder)
        strips(tsrc, os.path.abspath(options.build), folder, random.Random(options.seed))
        vectors(tsrc, folder)
        hosts(tsrc, os.path.abspath(options.build), folder)
        programs(tsrc, folder)
    tally.end()


main()
