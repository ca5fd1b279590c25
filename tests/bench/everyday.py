"""Everyday operations, one by one, against PyTorch without compiling, one thread: where a program that is none of the benchmark's would lose.
No goals: a look around.  Both sides compute from the same numbers, and their results are compared.

Of each: what its arguments are, the exported function's signature and body, and PyTorch's expression of the arguments a, b, c, d."""
import ctypes, os, sys
import numpy as np
from common import HERE, Missing, Model, Worker, in_turns, least

BIG, ROWS = (2048, 1024), (2048,)
IMAGES, SIZES = (8, 56, 56, 64), '"8, 56, 56, 64 |"'
TWO = '(x : "2048, 1024 |") (y : "2048, 1024 |")'
ONE = '(x : "2048, 1024 |")'
LAST = '(x : "2048 | 1024")'
HALF, WIDE, WIDE_TWO = (1024, 1024), '(x : "1024, 1024 |" f64)', '(x : "1024, 1024 |" f64) (y : "1024, 1024 |" f64)'
CASES = {
    "x + y": ((BIG, BIG), TWO, "x + y", "a + b"),
    "x + a row": ((BIG, (1024,)), '(x : "2048, 1024 |") (y : "1024 |")', 'x +++ y "n, m |; m | => n, m |"', "a + b"),
    "x + a column": ((BIG, ROWS), '(x : "2048, 1024 |") (y : "2048 |")', 'x +++ y "n, m |; n | => n, m |"', "a + b[:, None]"),
    "where x > y": ((BIG, BIG), TWO, "where (x > y) x 0.", "torch.where(a > b, a, 0.)"),
    "exp": ((BIG,), ONE, "exp x", "torch.exp(a)"),
    "log": ((BIG,), ONE, "log (abs x + 0.5)", "torch.log(torch.abs(a) + 0.5)"),
    "tanh": ((BIG,), ONE, "tanh x", "torch.tanh(a)"),
    "sin": ((BIG,), ONE, "sin x", "torch.sin(a)"),
    "sqrt": ((BIG,), ONE, "sqrt (abs x)", "torch.sqrt(torch.abs(a))"),
    "power": ((BIG, BIG), TWO, "(abs x + 0.5) **. y", "(torch.abs(a) + 0.5) ** b"),
    "x * x * x": ((BIG,), ONE, "x **. 3.", "a ** 3"),
    "x % y": ((BIG, BIG), TWO, "x % y", "torch.remainder(a, b)"),
    "sigmoid": ((BIG,), ONE, "1. /. (1. + exp (0. - x))", "torch.sigmoid(a)"),
    "sum of all": ((BIG,), ONE, 'x ++ "n, m | => "', "a.sum()"),
    "sums of rows": ((BIG,), ONE, 'x ++ "n, m | => n |"', "a.sum(1)"),
    "sums of columns": ((BIG,), ONE, 'x ++ "n, m | => m |"', "a.sum(0)"),
    "sums of 8 columns": (((65536, 8),), '(x : "65536, 8 |")', 'x ++ "n, m | => m |"', "a.sum(0)"),
    "maxima of rows": ((BIG,), ONE, 'x @^^ "n, m | => n |"', "a.amax(1)"),
    "maxima of columns": ((BIG,), ONE, 'x @^^ "n, m | => m |"', "a.amax(0)"),
    "variance of rows": ((BIG,), LAST, 'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in (c *. c ++ "n | d => n |") /. dim d', "a.var(1, unbiased=False)"),
    "softmax along rows": ((BIG,), LAST, 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "softmax along columns": ((BIG,), ONE, 'softmax ~over:"n, ... |" x', "a.softmax(0)"),
    "transposition": ((BIG,), ONE, 'x ++ "n, m | => m, n |"', "a.t().contiguous()"),
    "64 x 32 x 1024, b a c": (((64, 32, 1024),), '(x : "64, 32, 1024 |")', 'x ++ "a, b, c | => b, a, c |"', "a.permute(1, 0, 2).contiguous()"),
    "64 x 32 x 1024, c a b": (((64, 32, 1024),), '(x : "64, 32, 1024 |")', 'x ++ "a, b, c | => c, a, b |"', "a.permute(2, 0, 1).contiguous()"),
    "concatenation": (((2048, 512), (2048, 512)), '(x : "2048, 512 |") (y : "2048, 512 |")', '(x, y) ++^ "n, a |; n, b | => n, a^b |"', "torch.cat([a, b], 1)"),
    "lower triangle": (((12, 512, 512),), '(x : "12, 512, 512 |")',
                       'where ((positions () ++ "i | => i, 0 |") >= (positions () ++ "j | => 0, j |")) x 0.', "a.tril()"),
    "trace": (((1024, 1024),), '(x : "1024, 1024 |")', 'x ++ "i, i | => "', "a.trace()"),
    "dot": ((BIG, BIG), TWO, 'x +* y "n, m |; n, m | => "', "torch.dot(a.view(-1), b.view(-1))"),
    "dots of rows": ((BIG, BIG), TWO, 'x +* y "n, m |; n, m | => n |"', "(a * b).sum(1)"),
    "outer": ((ROWS, (1024,)), '(x : "2048 |") (y : "1024 |")', 'x +* y "n |; m | => n, m |"', "torch.outer(a, b)"),
    "matrix by vector": ((BIG, (1024,)), '(x : "2048, 1024 |") (y : "1024 |")', 'x +* y "n, m |; m | => n |"', "torch.mv(a, b)"),
    "vector by matrix": ((BIG, ROWS), '(x : "2048, 1024 |") (y : "2048 |")', 'x +* y "n, m |; n | => m |"', "b @ a"),
    "x^T x, 4096 x 64": (((4096, 64),), '(x : "4096, 64 |")', 'x +* x "n, i |; n, j | => i, j |"', "a.t() @ a"),
    "f64, 512 cubed": (((512, 512), (512, 512)), '(x : "512, 512 |" f64) (y : "512, 512 |" f64)', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
    "f64, exp": ((HALF,), WIDE, "exp x", "torch.exp(a)"),
    "f64, log": ((HALF,), WIDE, "log (abs x + 0.5)", "torch.log(torch.abs(a) + 0.5)"),
    "f64, tanh": ((HALF,), WIDE, "tanh x", "torch.tanh(a)"),
    "f64, sin": ((HALF,), WIDE, "sin x", "torch.sin(a)"),
    "f64, power": ((HALF, HALF), WIDE_TWO, "(abs x + 0.5) **. y", "(torch.abs(a) + 0.5) ** b"),
    "f64, softmax along rows": ((HALF,), '(x : "1024 | 1024" f64)', 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "512 of 16 x 16 x 16": (((512, 16, 16),) * 2, '(x : "512, 16, 16 |") (y : "512, 16, 16 |")', 'x +* y "b, i, k |; b, k, j | => b, i, j |"', "torch.bmm(a, b)"),
    "10000 of 4 x 4 x 4": (((10000, 4, 4),) * 2, '(x : "10000, 4, 4 |") (y : "10000, 4, 4 |")', 'x +* y "b, i, k |; b, k, j | => b, i, j |"', "torch.bmm(a, b)"),
    "b i, o i j, b j": (((256, 64), (32, 64, 64), (256, 64)), '(x : "256, 64 |") (w : "32, 64, 64 |") (y : "256, 64 |")',
                        '(x, w, y) +* "b, i |; o, i, j |; b, j | => b, o |"', "torch.einsum('bi,oij,bj->bo', a, b, c)"),
    "max-plus, 256 cubed": (((256, 256),) * 2, '(x : "256, 256 |") (y : "256, 256 |")', '(x, y) @^+ "i, k |; k, j | => i, j |"', "(a[:, :, None] + b[None]).amax(1)"),
    "squared distances": (((1000, 64),) * 2, '(x : "1000, 64 |") (y : "1000, 64 |")',
                          '(x *. x ++ "n, d | => n, 0 |") +++ (y *. y ++ "m, d | => 0, m |") "n, 0 |; 0, m | => n, m |" - 2. *. (x +* y "n, d |; m, d | => n, m |")',
                          "(a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * a @ b.t()"),
    "784-512-512-10, 256 rows": (((256, 784), (512, 784), (512, 512), (10, 512)), '(x : "256 | 784") (a : "784 -> 512") (b : "512 -> 512") (c : "512 -> 10")',
                                 "c * relu (b * relu (a * x))", "F.relu(F.relu(a @ b.t()) @ c.t()) @ d.t()"),
    "784-512-512-10, 1 row": (((1, 784), (512, 784), (512, 512), (10, 512)), '(x : "1 | 784") (a : "784 -> 512") (b : "512 -> 512") (c : "512 -> 10")',
                              "c * relu (b * relu (a * x))", "F.relu(F.relu(a @ b.t()) @ c.t()) @ d.t()"),
    "embedding": (((1000, 300), 1000), '(t : "1000 | 300") (ids : "4096 |" i32)', "t @> ids", "a[b.long()]"),
    "sums by class": (((4096, 64), 100), '(x : "4096, 64 |") (ids : "4096 |" i32)', 'x +* one_hot 100 ids "n, d |; n | c => c, d |"',
                      "torch.zeros(100, 64).index_add_(0, b.long(), a)"),
    "3x3 depthwise": ((IMAGES, (3, 3, 64)), f'(x : {SIZES}) (k : "3, 3, 64 |")', 'x +* k "b, h =+ i, w =+ j, c |; i, j, c | => b, h, w, c |"',
                      "F.conv2d(a.permute(0, 3, 1, 2), b.permute(2, 0, 1)[:, None], padding=1, groups=64).permute(0, 2, 3, 1)"),
    "3x3 in 8 groups": (((8, 28, 28, 8, 16), (3, 3, 8, 16, 16)), '(x : "8, 28, 28, 8, 16 |") (k : "3, 3, 8, 16, 16 |")',
                        'x +* k "b, h =+ i, w =+ j, g, c |; i, j, g, c, f | => b, h, w, g, f |"',
                        "F.conv2d(a.reshape(8, 28, 28, 128).permute(0, 3, 1, 2), b.permute(2, 4, 3, 0, 1).reshape(128, 16, 3, 3), padding=1, groups=8)"
                        ".permute(0, 2, 3, 1).reshape(8, 28, 28, 8, 16)"),
    "3x3, channels first": (((8, 64, 28, 28), (64, 64, 3, 3)), '(x : "8, 64, 28, 28 |") (k : "64, 64, 3, 3 |")',
                            'x +* k "b, c, h =+ i, w =+ j |; f, c, i, j | => b, f, h, w |"', "F.conv2d(a, b, padding=1)"),
    "5 along 1000": (((16, 1000, 64), (5, 64, 64)), '(x : "16, 1000, 64 |") (k : "5, 64, 64 |")', 'x +* k "b, t =+ i, c |; i, c, f | => b, t, f |"',
                     "F.conv1d(a.permute(0, 2, 1), b.permute(2, 1, 0), padding=2).permute(0, 2, 1)"),
    "5x5 over an image": (((512, 512), (5, 5)), '(x : "512, 512 |") (k : "5, 5 |")', 'x +* k "h =+ i, w =+ j |; i, j | => h, w |"',
                          "F.conv2d(a[None, None], b[None, None], padding=2)[0, 0]"),
    "bf16, 512 cubed": (((512, 512), (512, 512)), '(x : "512, 512 |" bf16) (y : "512, 512 |" bf16)', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
}


def program():
    return "open Nn\n" + "".join(f"let%export e{i} {signature} = {body}\n" for i, (_, signature, body, _) in enumerate(CASES.values()))


def arguments(name):
    """Numbers, or 4096 classes below a number; of what the signature says is f64 or bf16, as that."""
    random = np.random.default_rng(7)
    for given in CASES[name][0]:
        if isinstance(given, int):
            yield random.integers(0, given, 4096).astype(np.int32)
        else:
            x = random.standard_normal(given, dtype=np.float32)
            if "f64" in CASES[name][1]:
                x = x.astype(np.float64)
            yield (x.view(np.uint32) >> 16).astype(np.uint16) if "bf16" in CASES[name][1] else x


def floats(x):
    """The values of an array whose numbers may be the bits of bf16."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x


def part(bench, model, worker, i, name):
    path = bench.path("result.npy")
    worker.ask(f"result {i} {path}")
    want, given = np.load(path), list(arguments(name))
    got = np.zeros(want.shape, want.dtype)
    call = lambda: model.seconds(f"e{i}", *(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, got)))
    call()
    want, have = floats(want), floats(got)
    if not np.allclose(have, want, rtol=1e-2 if got.dtype == np.uint16 else 1e-4, atol=1e-3 * np.abs(want).max()):
        bench.table.missing(name, f"the result is WRONG by {np.abs(have - want).max():g}")
        return
    r = in_turns(3, {"ours": lambda: min(call() for _ in range(20)), "PyTorch": lambda: worker.ask(str(i))})
    ours, theirs = least(r, "ours"), least(r, "PyTorch")
    bench.table.row(name, f"{ours * 1e6:.1f} us", f"PyTorch {theirs * 1e6:.1f}", theirs / ours)


def measure(bench):
    bench.table.heading("Everyday operations, one thread")
    bench.probes(1)
    model = Model(bench.shared(bench.written("everyday.tsr", program()), "everyday"))
    worker = Worker([sys.executable, os.path.join(HERE, "everyday_torch.py")], 1, bench.frameworks(), greeting=True)
    for i, name in enumerate(CASES):
        try:
            part(bench, model, worker, i, name)
        except Missing as why:
            bench.table.missing(name, why)
    worker.end()
    model.close()
