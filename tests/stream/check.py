"""Results that are written around the caches, against NumPy: rows that are no whole number of lines, arguments and results that begin anywhere, other
precisions, a store that is not the only one of its loop, windows, products with and without a tail, sums that are turned on their way, one thread, two and three; and not a byte beside them is touched."""
import ctypes, os, re, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from fenced import fenced, untouched  # noqa: E402
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

PROGRAM = """
let%export twice (x : "1200 | 4099") = 2. *. x
let%export left (x : "2000 | 1111") = 2. *. x
let%export more (x : "3300 | 1111") = 2. *. x
let%export steps (x : "1200 | 4099") = floor (2. /. (1. + exp (0. - 50. *. x)))
let%export flat (x : "| 5000003") = x + 1.
let%export wide (x : "1200 | 2051" f64) = x *. x
let%export powers (x : "1200 | 2051" f64) = floor ((abs x + 1.) **. (0. *. x + 2.) + 0.5)
let%export rows (x : "1200 | 4099") = (x - (x @^^ "... | c => ... | 0"), x *. 0.5)
let%export near (x : "1200 | 4099") =
  let%op y = x @^^ "b | o =+ w => b | o" [w] in
  set_dim w 3;
  y
let%export four (x : "1200 | 4099") =
  let%op y = x @^^ "b | o =+ w => b | o" [w] in
  set_dim w 4;
  y
let%export pairs (x : "1200 | 4099") =
  let%op y = x ++ "b | o <+ w => b | o" [w] in
  set_dim w 2;
  y
let%export any (x : "?n | 4099") = 2. *. x
let%export any_short (x : "?n | 130") = 2. *. x
let%export any_flat (x : "| ?n") = x + 1.
let%export any_rows (x : "?n | 4096") = (x - (x @^^ "... | c => ... | 0"), x *. 0.5)
let%export short (x : "40000 | 130") = x *. 2.
let%op few = let k = positions () ++ "o, i => i -> o" [o; i] in set_dim o 64; set_dim i 64; k - 5 *. idiv k 5
let%export product (x : "70001 | 64") = relu (few * x + 1.)
let%export plain (x : "70001 | 64") = few * x
let%op fewer = let k = positions () ++ "o, i => i -> o" [o; i] in set_dim o 24; set_dim i 24; k - 5 *. idiv k 5
let%export flipped (x : "4336 | 1001") = x ++ "b | o => o | b"
let%export flipped_less (x : "3000 | 1500") = 1. - 0.5 *. (x ++ "b | o => o | b")
let%export flipped_wide (x : "2168 | 1001" f64) = x ++ "b | o => o | b"
let%export turned (x : "16, 24, 24, 16, 64 |") = x +* fewer "e, k, b, a, d | ; k -> c => a, b, c, d, e |"
let%export cut (x : "512, 24, 384 |") = x +* fewer "a, k, b | ; k -> c => c, b, a |"
let%export sums (x : "301, 992 |") = x ++ "n, m | => m |"
let%export greatest (x : "301, 1008 |") = x @^^ "n, m | => m |"
let%export both (x : "43, 7, 5, 32 |") = (x ++ "n, k, a, b | => a, b |", (x *. x) ++ "n, k, a, b | => a, b |")
let%export few_columns (x : "301, 16 |") = x ++ "n, m | => m |"
"""
f32, f64 = np.float32, np.float64
FEW, FEWER = ((np.arange(n * n) % 5).reshape(n, n).astype(f32) for n in (64, 24))


def nearby(x, before=1, behind=1):
    """The greatest of each number and its neighbours, so many on each side."""
    padded = np.pad(x, ((0, 0), (before, behind)), constant_values=-np.inf)
    return np.lib.stride_tricks.sliding_window_view(padded, before + 1 + behind, 1).max(2)


CASES = (("twice", f32, (1200, 4099), ((f32, lambda x: 2 * x),)), ("steps", f32, (1200, 4099), ((f32, lambda x: 1 + np.sign(x)),)), ("flat", f32, (5000003,), ((f32, lambda x: x + f32(1)),)),
         ("wide", f64, (1200, 2051), ((f64, lambda x: x * x),)), ("powers", f64, (1200, 2051), ((f64, lambda x: (np.abs(x) + 1) ** 2),)),
         ("short", f32, (40000, 130), ((f32, lambda x: 2 * x),)),
         ("near", f32, (1200, 4099), ((f32, nearby),)), ("four", f32, (1200, 4099), ((f32, lambda x: nearby(x, 2, 1)),)),
         ("pairs", f32, (1200, 4099), ((f32, lambda x: x[:, :-1] + x[:, 1:]),)),
         ("product", f32, (70001, 64), ((f32, lambda x: np.maximum(x @ FEW.T + 1, 0)),)), ("plain", f32, (70001, 64), ((f32, lambda x: x @ FEW.T),)),
         ("flipped", f32, (4336, 1001), ((f32, lambda x: x.T.reshape(x.shape)),)), ("flipped_less", f32, (3000, 1500), ((f32, lambda x: (1 - f32(0.5) * x.T).reshape(x.shape)),)),
         ("flipped_wide", f64, (2168, 1001), ((f64, lambda x: x.T.reshape(x.shape)),)),
         ("turned", f32, (16, 24, 24, 16, 64), ((f32, lambda x: np.einsum("ekbad,ck->abcde", x, FEWER).reshape(x.shape)),)),
         ("cut", f32, (512, 24, 384), ((f32, lambda x: np.einsum("akb,ck->cba", x, FEWER).reshape(x.shape)),)),
         ("rows", f32, (1200, 4099), ((f32, lambda x: x - x.max(1, keepdims=True)), (f32, lambda x: x * f32(0.5)))))


# Written around the caches, or left in the last one by several threads, as the target says: on AVX2 the first, on Zen 4 the second.
LEFT = tuple((name, f32, (rows, 1111), ((f32, lambda x: 2 * x),)) for name, rows in (("left", 2000), ("more", 3300)))

# The run finds them large or small.
ANY = tuple(("any" + name, f32, shape, results) for name, shapes, results in
            (("", ((1200, 4099), (3, 4099)), ((f32, lambda x: 2 * x),)), ("_short", ((40000, 130), (77, 130)), ((f32, lambda x: 2 * x),)),
             ("_flat", ((5000003,), (5001,)), ((f32, lambda x: x + f32(1)),)),
             ("_rows", ((1200, 4096), (19, 4096)), ((f32, lambda x: x - x.max(1, keepdims=True)), (f32, lambda x: x * f32(0.5)))))
            for shape in shapes)

# Columns, read from where a line begins; not written around the caches.
READ = (("sums", f32, (301, 992), ((f32, lambda x: x.sum(0)),)), ("greatest", f32, (301, 1008), ((f32, lambda x: x.max(0)),)),
        ("both", f32, (43, 7, 5, 32), ((f32, lambda x: x.sum((0, 1))), (f32, lambda x: (x * x).sum((0, 1))))),
        ("few_columns", f32, (301, 16), ((f32, lambda x: x.sum(0)),)))


def judge(model, threads):
    random = np.random.default_rng(5)
    for function, dtype, shape, results in CASES + LEFT + ANY + READ:
        numbers, wants = random.integers(-99, 99, shape).astype(dtype), []
        for shift in (0, 1, 5, 15):
            given, begin = fenced(numbers.size, dtype, shift)
            x = given[begin:begin + numbers.size].reshape(shape)
            x[...] = numbers
            wants = wants or [want(x) for _, want in results]
            made = [fenced(want.size, kind, shift) for (kind, _), want in zip(results, wants)]
            size = (ctypes.c_int64(shape[0]),) if function.startswith("any") else ()
            model.seconds(function, *size, x.ctypes.data_as(ctypes.c_void_p), *(ctypes.c_void_p(w.ctypes.data + b * w.itemsize) for w, b in made))
            for (whole, begin), want in zip(made, wants):
                what = f"{function}, {threads} threads, {shift} from a line"
                check(np.array_equal(whole[begin:begin + want.size].reshape(want.shape), want), what)
                check(untouched(whole, begin, want.size), what + ": beside it")


# Sums of floats along rows.
SUMS = """
let%export soft (x : "?n | 4096") = let e = exp (x - (x @^^ "... | c => ... | 0")) in e /. (e ++ "... | c => ... | 0")
let%export variance (x : "?n | 4096") =
  let m = (x ++ "n | d => n | 0" [d]) /. dim d in
  let c = x - m in
  (c *. c ++ "n | d => n | 0") /. dim d
let%export window (x : "?n | 4096") =
  let y = x ++ "n | d =+ w => n | d" [w] in
  set_dim w 5;
  y
"""
CHANNELS = 'let%export f (x : "| 4, {0}, {0}, 64") (k : "| 3, 3, 64") = x +* k "b, h =+ i, w =+ j, c; i, j, c => b, h, w, c"\n'
FILTERS = 'let%export f (x : "| 2, {0}, {0}, 64") (k : "| 3, 3, 64, 16") = x +* k "b, h =+ i, w =+ j, c; i, j, c, f => b, h, w, f"\n'
# images of a form, their size, what says in their code that the row below is asked for, and whether it is: not where a cache holds them
IMAGES = [(FILTERS, 64, r"tsr\.rows[^\s]*\.f\d+\.\d+", True), (FILTERS, 16, r"tsr\.rows[^\s]*\.f\d+\.\d+", False), (CHANNELS, 100, "prefetcht1", True), (CHANNELS, 16, "prefetcht1", False)]
ROWS = (50, 1100)        # the run finds the arrays small, and large


def in_one_order(model, threads):
    """A row's sums have the same bits whether the run finds the array large or small."""
    x = np.random.default_rng(6).standard_normal((ROWS[1], 4096), dtype=f32)
    for function, columns in (("soft", 4096), ("variance", 1), ("window", 4096)):
        made = [np.zeros((rows, columns), f32) for rows in ROWS]
        for y in made:
            model.seconds(function, ctypes.c_int64(len(y)), *(ctypes.c_void_p(a.ctypes.data) for a in (x, y)))
        few, many = (y[:ROWS[0]].view(np.int32) for y in made)
        check(few.any() and np.array_equal(few, many), f"{function}, {threads} threads: the order of a row's sum")


def vectors_wait_within_lines(text):
    """Every function that puts vectors on its stack begins it at such a place; and there are some."""
    functions = re.split(r"(?m)^(?=[a-z][\w.]*:)", text)
    waiting = [f for f in functions if re.search(r"vmov\w+\s+%[yz]mm\d+, -?\d*\(%r[sb]p\)", f)]
    return waiting and all(re.search(r"andq\s+\$-(32|64), %rsp", f) for f in waiting)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 2, table.Table())
        source = bench.written("streams.tsr", PROGRAM)
        status, out, err = run(bench.tsrc, "-c", "--cpu=native", "--dump=schedule", source)
        always, asked = (re.findall(rf"(?m)^(?!left |more ).* around the caches{what}$", out) for what in ("", " where the run finds it large"))
        check(status == 0 and len(always) == len(CASES) and len(asked) == len({name for name, *_ in ANY}) and out.count(", turn C") == 2, out + err)
        status, out, err = run(bench.tsrc, "-S", "--cpu=x86-64-v4", source, "-o", bench.path("streams.s"))
        with open(bench.path("streams.s")) as f:
            text = f.read()
        check(status == 0 and "prefetcht1" in text and "prefetcht0" in text, "lines are asked for far ahead into the second cache, and from there into the first " + err)
        once = bench.written("once.tsr", 'let%export twice (x : "1100 | 4099") = 2. *. x\n')
        status, out, err = run(bench.tsrc, "-S", "--cpu=znver5", once, "-o", bench.path("once.s"))
        with open(bench.path("once.s")) as f:
            text = f.read()
        check(status == 0 and "prefetcht1" not in text and "prefetcht0" in text, "or once, into the first " + err)
        for form, size, sign, asked in IMAGES:
            status, out, err = run(bench.tsrc, "-S", "--cpu=znver4", bench.written("images.tsr", form.format(size)), "-o", bench.path("images.s"))
            with open(bench.path("images.s")) as f:
                check(status == 0 and (re.search(sign, f.read()) is not None) == asked, f"the row below, images of {size}: {form} {err}")
        status, out, err = run(bench.tsrc, "-S", "--cpu=x86-64-v3", bench.written("sine.tsr", 'let%export sine (x : "2048 | 1024") = sin x\n'), "-o", bench.path("sine.s"))
        with open(bench.path("sine.s")) as f:
            check(status == 0 and vectors_wait_within_lines(f.read()), "vectors on the stack may lie across lines and pages " + err)
        common.judged(bench, source, judge, "streams")
        sums = bench.written("sums.tsr", SUMS)
        status, out, err = run(bench.tsrc, "-c", "--cpu=native", "--dump=schedule", sums)
        check(status == 0 and out.count("where the run finds it large") == 2, out + err)
        common.judged(bench, sums, in_one_order, "sums")
    end()


main()
