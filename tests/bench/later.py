"""Functions of sizes `?n` that only the run knows, each beside the same compiled for those sizes, one thread and as many as there are."""
import ctypes, re
import numpy as np
from common import Missing, Model, geometric_mean, in_turns, least
from everyday import best, on_lines

ROWS = 'let p = positions () ++ "s => s, 0 | 0" [s] in let q = positions () ++ "t => 0, t | 0" [t] in set_equal s t; '
HEADS = '(q : "12, ?t, 64 |") (k : "12, ?t, 64 |") (v : "12, ?t, 64 |")'
ATTEND = 'let s = q +* k "h, q, d |; h, k, d | => h, q | k" in (softmax ~over:"... | c" (s *. 0.125)) +* v "h, q | k; h, k, d | => h, q, d |"'
CAUSAL = 'let seen = (positions () ++ "s => 0, s | 0") >= (positions () ++ "t => 0, 0 | t") in ' + ATTEND.replace('(s *. 0.125)', '(where seen (s *. 0.125) (0. - 1e9))')
LINEAR = 'relu (x +* w "t, k |; k, n | => t, n |" + (b ++ "n | => 0, n |"))'
# what it is, the signature, the body, the sizes
CASES = [
    ("x + y, rows of 7", '(x : "100000, ?n |") (y : "100000, ?n |")', "x + y", {"n": 7}),
    ("exp of images", '(x : "?b, 3, ?h, ?w |")', "exp x", {"b": 4, "h": 224, "w": 224}),
    ("mean of a vector", '(x : "?n |")', "Data.mean x", {"n": 1000000}),
    ("dot product", '(x : "?n |") (y : "?n |")', 'x +* y "k |; k | => 0 |"', {"n": 1000000}),
    ("global average pool, first", '(x : "64, ?h, ?w |")', 'x ++ "c, y, x | => c |"', {"h": 112, "w": 112}),
    ("softmax of rows of 1024", '(x : "?m | ?n")', 'softmax ~over:"... | c" x', {"m": 2048, "n": 1024}),
    ("softmax of rows of 100", '(x : "?m | ?n")', 'softmax ~over:"... | c" x', {"m": 2048, "n": 100}),
    ("cumulative sums of columns", '(x : "?n | 500")', ROWS + '(where (q <= p) (x ++ "t | m => 0, t | m") 0.) ++ "s, t | m => s | m"', {"n": 1000}),
    ("3x3 over an image", '(x : "?h, ?w |") (k : "3, 3 |")', 'x +* k "y =+ i, x =+ j |; i, j | => y, x |"', {"h": 1080, "w": 1920}),
    ("blur of 3 channels", '(x : "?h, ?w, 3 |") (k : "5 |")', '(x +* k "y, x =+ i, c |; i | => y, x, c |") +* k "y =+ i, x, c |; i | => y, x, c |"', {"h": 1080, "w": 1920}),
    ("3x3 depthwise, last", '(x : "?h, ?w, 64 |") (k : "3, 3, 64 |")', 'x +* k "y =+ i, x =+ j, c |; i, j, c | => y, x, c |"', {"h": 112, "w": 112}),
    ("3x3 depthwise, first", '(x : "64, ?h, ?w |") (k : "3, 3, 64 |")', 'x +* k "c, y =+ i, x =+ j |; i, j, c | => c, y, x |"', {"h": 112, "w": 112}),
    ("3x3, channels last", '(x : "?b, ?h, ?w, 64 |") (k : "3, 3, 64, 64 |")', 'x +* k "b, y =+ i, x =+ j, c |; i, j, c, f | => b, y, x, f |"', {"b": 1, "h": 56, "w": 56}),
    ("3x3 of any number of images", '(x : "?b, 56, 56, 64 |") (k : "3, 3, 64, 64 |")', 'x +* k "b, y =+ i, x =+ j, c |; i, j, c, f | => b, y, x, f |"', {"b": 1}),
    ("3x3, channels first", '(x : "?b, 64, ?h, ?w |") (k : "3, 3, 64, 64 |")', 'x +* k "b, c, y =+ i, x =+ j |; i, j, c, f | => b, f, y, x |"', {"b": 1, "h": 56, "w": 56}),
    *((f"512 to 2048, bias and relu, {n} row{'s' * (n > 1)}", '(x : "?t, 512 |") (w : "512, 2048 |") (b : "2048 |")', LINEAR, {"t": n}) for n in (1, 3, 8, 16, 40, 64, 256)),
    ("weights of 8 bits, 1 row", '(x : "?t, 4096 |") (w : "4096, 4096 |" i8)', 'x +* w "t, k |; n, k | => t, n |"', {"t": 1}),
    ("n x n by n x n", '(x : "?n, ?n |") (y : "?n, ?n |")', 'x +* y "i, k |; k, j | => i, j |"', {"n": 1000}),
    ("c b, a b c", '(x : "?n, 200 |") (y : "64, 200, ?n |")', 'x +* y "c, b |; a, b, c | => a |"', {"n": 8}),
    *((f"attention, {n} positions", HEADS, ATTEND, {"t": n}) for n in (128, 512, 2048)),
    *((f"attention, causal, {n} positions", HEADS, CAUSAL, {"t": n}) for n in (128, 512, 2048)),
]


def known(text, sizes):
    return re.sub(r"\?(\w+)", lambda m: str(sizes[m[1]]), text)


def program(name, later):
    """All cases; of each the sizes known, or not."""
    return "open Nn\n" + "".join(f"let%export f{i} {s if later else known(s, sizes)} = {body}\n" for i, (_, s, body, sizes) in enumerate(CASES))


def arguments(signature, sizes):
    random = np.random.default_rng(4)
    for shape, precision in re.findall(r': "([^"]*)"( i8)?', known(signature, sizes)):
        dims = [int(n) for n in re.findall(r"\d+", shape)]
        yield on_lines(random.integers(-9, 9, dims).astype(np.int8) if precision else random.standard_normal(dims, dtype=np.float32))


def order(header, i):
    """In which the function takes its sizes."""
    return re.findall(r"int64_t (\w+)", re.search(rf"_f{i}\(([^;]*)\);", header)[1])


def measure(bench):
    bench.table.heading("Sizes that only the run knows, against the same when compiled for them")
    models = {later: Model(bench.shared(bench.written(name + ".tsr", program(name, later)), name)) for later, name in ((False, "given"), (True, "later"))}
    with open(bench.path("later.h")) as f:
        header = f.read()
    pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    for threads in sorted({1, bench.cores}):
        bench.probes(threads)
        ratios = []
        for i, (name, signature, _, sizes) in enumerate(CASES):
            held = list(arguments(signature, sizes))
            given = [pointer(a) for a in held]
            results = {later: on_lines(np.zeros(1 << 23, np.float32)) for later in models}
            calls = {False: lambda: models[False].seconds(f"f{i}", *given, pointer(results[False])),
                     True: lambda: models[True].seconds(f"f{i}", *(ctypes.c_int64(sizes[s]) for s in order(header, i)), *given, pointer(results[True]))}
            name += "" if threads == 1 else f", {threads} threads"
            try:
                r = in_turns(bench.rounds, {later: lambda call=call: best(call) for later, call in calls.items()})
            except Missing as why:
                bench.table.missing(name, why)
                continue
            if not np.allclose(results[True], results[False], rtol=1e-3, atol=1e-3 * np.abs(results[False]).max()):
                bench.table.missing(name, "the results differ")
                continue
            ratios.append(least(r, False) / least(r, True))
            bench.table.row(name, f"{least(r, True) * 1e6:.1f} us", f"known {least(r, False) * 1e6:.1f}", ratios[-1])
        bench.table.row("geometric mean" + ("" if threads == 1 else f", {threads} threads"), "", "", geometric_mean(ratios))
    for model in models.values():
        model.close()
