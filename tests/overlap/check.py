"""Rows whose walks go together (opt/overlap.c), against NumPy: few rows and many, odd numbers of them, lengths that are no whole vectors,
results that begin anywhere, NaN and infinities, numbers whose exponentials vanish; and the same bits without threads, and with one, two, three and five, wherever a result
begins.  Some sizes are large enough for results to go around the caches, the last two have rows that the first cache does not hold."""
import ctypes, os, re, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

SIZES = ((1, 64), (2, 65), (40, 8), (33, 16), (21, 17), (50, 24), (300, 31), (35, 32), (70, 40), (19, 48), (23, 63), (3, 130), (5, 1000), (7, 100), (300, 14), (31, 27), (6, 300), (37, 1024), (4100, 520), (2100, 1024), (9, 5000), (270, 8192))
FUNCTIONS = """
let norm_{r}_{c} = layer_norm ()
let%export soft_{r}_{c} (x : "{r} | {c}") = softmax ~over:"... | c" x
let%export norms_{r}_{c} (x : "{r} | {c}") = norm_{r}_{c} x
let%export losses_{r}_{c} (x : "{r} | {c}") (ids : "{r} |" i32) = cross_entropy ~logits:x ~target:(one_hot {c} ids)
let%export least_{r}_{c} (x : "{r} | {c}") (ids : "{r} |" i32) = softmax ~over:"... | c" x - one_hot {c} ids
"""


# Rows of half a page, a page, and two.
PAGES = "open Nn\n" + "".join(f'let%export soft{c} (x : "4100 | {c}") = softmax ~over:"... | c" x\n' for c in (512, 1024, 2048))

# Rows of matrices, whose loop lies within a parallel one.
MATRICES = """
let%export deep (x : "3, 41 | 130") = softmax ~over:"... | c" x
"""

# Only the run knows how many rows there are, or how long they are, or both.
LATER = """
let%export soft_later (x : "?r | ?c") = softmax ~over:"... | c" x
let%export norms_later (x : "?r | ?c") =
  let n = x ++ "r | c => r | 0" [c] in
  let d = x -. n /. dim c in
  d /. sqrt (((d *. d) ++ "r | c => r | 0") /. dim c +. 1e-5)
let%export soft_long (x : "37 | ?c") = softmax ~over:"... | c" x
"""
LATER_SIZES = SIZES + ((5, 1), (9, 3), (11, 31), (17, 63), (12, 64), (37, 66), (2, 70001), (3, 300007))

# Rows of strips (opt/strip.c): their loop lies within serial ones.
ATTENTION = """
let%export attend (q : "6, 300 | 64") (k : "6, 300 | 64") (v : "6, 300 | 64") =
  let%op y =
    let scores = (q +* k "h, s | d; h, t | d => h, s | t" [d]) /. sqrt (dim d) in
    softmax ~over:"... | t" scores +* v "h, s | t; h, t | e => h, s | e" in
  y
"""


def soft(x):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)


def norms(x):
    with np.errstate(invalid="ignore"):
        d = x - x.mean(1, keepdims=True)
        return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)


def losses(x, ids):
    with np.errstate(invalid="ignore"):
        m = x.max(1)
        inside = (ids >= 0) & (ids < x.shape[1])
        return np.where(inside, np.log(np.exp(x - m[:, None]).sum(1)) - (x[np.arange(len(x)), np.where(inside, ids, 0)] - m), 0)


def least(x, ids):
    return soft(x) - (np.arange(x.shape[1]) == ids[:, None])


def numbers(random, r, c):
    x = (random.standard_normal((r, c)) * 3).astype(np.float32)
    if r > 4:
        x[1, c // 2] = np.nan
        x[2, : c // 3] = -np.inf
        x[3, 5] = 200
        x[4] = 0
    if r > 9:            # what vanishes, or is no number, in one vector of a row alone: the first, the last whole one, the end
        x[5, 3] = -np.float32(np.nan)
        x[6, c - 1], x[6, 2] = np.nan, 150
        x[7, c // 8 * 8 - 2] = -95
        x[8, c - 1], x[8, 1] = -np.inf, -1e9
    return x, random.integers(-1, c, r).astype(np.int32)


def results(model, name, x, ids, shape, sizes=()):
    """Of one function, with the result's begin shifted by some numbers."""
    made = []
    for shift in (0, 1, 5):
        n = int(np.prod(shape))
        whole = np.full(n + 256, 7, np.float32)
        begin = (-whole.ctypes.data % 64) // 4 + 64 + shift
        given = [ctypes.c_int64(n) for n in sizes] + [x.ctypes.data_as(ctypes.c_void_p)] + ([ids.ctypes.data_as(ctypes.c_void_p)] if name.startswith(("losses", "least")) else [])
        model.seconds(name, *given, ctypes.c_void_p(whole.ctypes.data + 4 * begin))
        check((whole[:begin] == 7).all() and (whole[begin + n:] == 7).all(), f"{name}, {shift} from a line: beside it")
        made.append(whole[begin:begin + n].reshape(shape).copy())
    return made


def same_bits(x, y):
    """Of NaN the sign and the payload are those of one operand or another: which, neither IEEE 754 nor LLVM says."""
    return np.array_equal(np.isnan(x), np.isnan(y)) and np.array_equal(np.nan_to_num(x, nan=0).view(np.int32), np.nan_to_num(y, nan=0).view(np.int32))


def judge(plain, divided, bench):
    random = np.random.default_rng(11)
    for r, c in SIZES:
        x, ids = numbers(random, r, c)
        wide = x.astype(np.float64)
        for name, want in (("soft", soft(wide)), ("norms", norms(wide)), ("losses", losses(wide, ids)), ("least", least(wide, ids))):
            bench.probes(1)
            name = f"{name}_{r}_{c}"
            first = results(plain, name, x, ids, want.shape)[0]
            check(np.allclose(first, want, rtol=1e-4, atol=1e-5, equal_nan=True), name)
            for threads in (1, 2, 3, 5):
                bench.probes(threads)
                for got in results(divided, name, x, ids, want.shape):
                    check(same_bits(got, first), f"{name}, {threads} threads: other bits")


def judge_later(plain, divided, bench):
    random = np.random.default_rng(14)
    for r, c in LATER_SIZES:
        x = numbers(random, r, max(c, 8))[0][:, :c].copy()
        for name, of in (("soft_later", soft), ("norms_later", norms)) + ((("soft_long", soft),) if r == 37 else ()):
            sizes = (c,) if name == "soft_long" else (r, c)
            bench.probes(1)
            first = results(plain, name, x, None, x.shape, sizes)[0]
            check(np.allclose(first, of(x.astype(np.float64)), rtol=1e-4, atol=1e-5, equal_nan=True), f"{name} of {r} by {c}")
            for threads in (1, 2, 3, 5):
                bench.probes(threads)
                for got in results(divided, name, x, None, x.shape, sizes):
                    check(same_bits(got, first), f"{name} of {r} by {c}, {threads} threads: other bits")


def judge_matrices(plain, divided, bench):
    x = numbers(np.random.default_rng(13), 3 * 41, 130)[0]
    bench.probes(1)
    want = soft(x.astype(np.float64))
    first = results(plain, "deep", x, None, want.shape)[0]
    check(np.allclose(first, want, rtol=1e-4, atol=1e-5, equal_nan=True), "matrices")
    for threads in (1, 2, 3, 5):
        bench.probes(threads)
        for got in results(divided, "deep", x, None, want.shape):
            check(same_bits(got, first), f"matrices, {threads} threads: other bits")


def judge_attention(plain, divided, bench):
    random = np.random.default_rng(12)
    q, k, v = (random.standard_normal((6, 300, 64)).astype(np.float32) for _ in range(3))
    q[1, 7, 3], q[2, 9], k[3, 5, 0] = np.nan, 40, np.inf
    scores = np.einsum("hsd,htd->hst", q.astype(np.float64), k) / 8
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - scores.max(2, keepdims=True))
        want = np.einsum("hst,hte->hse", e / e.sum(2, keepdims=True), v)
    given = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, k, v)]

    def computed(model, threads):
        bench.probes(threads)
        y = np.empty_like(q)
        model.seconds("attend", *given, y.ctypes.data_as(ctypes.c_void_p))
        return y

    first = computed(plain, 1)
    check(np.allclose(first, want, rtol=1e-4, atol=1e-5, equal_nan=True), "attention")
    for threads in (1, 2, 3, 5):
        check(same_bits(computed(divided, threads), first), f"attention, {threads} threads: other bits")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 5, table.Table())
        text = "open Nn\n" + "".join(FUNCTIONS.format(r=r, c=c) for r, c in SIZES) + MATRICES + ATTENTION + LATER
        source = bench.written("walks.tsr", text)
        # The norms go row by row whose rows the first cache does not hold, or of 8 MB and more half of it, and stay in the caches, on Zen 5 also if they go around them, and if they do so and begin within lines.
        for cpu, alone in (("x86-64-v4", ((2100, 1024), (9, 5000), (270, 8192))), ("znver4", ((2100, 1024), (9, 5000), (270, 8192))), ("znver5", ((4100, 520), (9, 5000), (270, 8192)))):
            status, out, err = run(bench.tsrc, "-c", f"--cpu={cpu}", "--threads=all", "--dump=opt", source)
            want = sum(3 * (c >= 16) + (c >= 64 or (c >= 32 and c % 16 >= 8)) for r, c in SIZES if r > 1) + 1 - len(alone)
            want += 3                                        # those of LATER
            check(len(re.findall(r"split overlap \d", out)) == 3, f"{cpu}: rows that only the run knows do not overlap")
            check(status == 0 and out.count("split overlap") == want, err or f"{cpu}: {out.count('split overlap')} loops overlap, not {want}")
        check(out.count("parallel overlap") == 1, "the rows of a strip do not overlap")
        status, out, err = run(bench.tsrc, "-c", "--cpu=x86-64-v4", "--threads=all", "--dump=ll", bench.written("pages.tsr", PAGES))
        apart = [int(d) for d in re.findall(r"and i64 %\d+, [13]\n\s+%\d+ = mul i64 %\d+, (\d+)\n", out)]
        check(status == 0 and len(set(apart)) > 2 and all(512 <= d % 4096 <= 3584 for d in apart), f"rows of a thread are so many bytes apart: {sorted(set(apart))} {err}")
        divided = common.Model(bench.shared(source, "walks", "--threads=all"))
        plain = common.Model(bench.shared(bench.written("alone.tsr", text), "alone", "--threads=none"))
        judge(plain, divided, bench)
        judge_later(plain, divided, bench)
        judge_matrices(plain, divided, bench)
        judge_attention(plain, divided, bench)
        plain.close()
        divided.close()
    end()


main()
