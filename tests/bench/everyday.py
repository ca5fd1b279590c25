"""Everyday operations, one by one, against PyTorch without compiling, by one thread and by two: where a program that is none of the benchmark's would lose.
No goals: a look around.  Both sides compute from the same numbers, and their results are compared.

Of each: what its arguments are, the exported function's signature and body, and PyTorch's expression of the arguments a, b, c, d, e."""
import ctypes, os, re, sys
import numpy as np
from common import HERE, Missing, Model, Worker, in_turns, least

FEWEST, MOST, BUDGET = 5, 100, 6e-3                  # calls of each in a round, and seconds for them
BIG, ROWS, CHANNELS = (2048, 1024), (2048,), (64,)
IMAGES, FIRST, SIZES = (8, 56, 56, 64), (8, 64, 56, 56), '"8, 56, 56, 64 |"'
TWO = '(x : "2048, 1024 |") (y : "2048, 1024 |")'
ONE = '(x : "2048, 1024 |")'
LAST = '(x : "2048 | 1024")'
HALF, WIDE, WIDE_TWO = (1024, 1024), '(x : "1024, 1024 |" f64)', '(x : "1024, 1024 |" f64) (y : "1024, 1024 |" f64)'
LAST_CHANNELS, FIRST_CHANNELS = '(x : "8, 56, 56, 64 |")', '(x : "8, 64, 56, 56 |")'
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
    "3x3 / 2, channels first": (((8, 64, 56, 56), (128, 64, 3, 3)), '(x : "8, 64, 56, 56 |") (k : "128, 64, 3, 3 |")',
                                'x +* k "b, c, 2*h =+ i, 2*w =+ j |; f, c, i, j | => b, f, h, w |"', "F.conv2d(a, b, stride=2, padding=1)"),
    "7x7 / 2 of 3 channels, first": (((2, 3, 224, 224), (64, 3, 7, 7)), '(x : "2, 3, 224, 224 |") (k : "64, 3, 7, 7 |")',
                                     'x +* k "b, c, 2*h =+ i, 2*w =+ j |; f, c, i, j | => b, f, h, w |"', "F.conv2d(a, b, stride=2, padding=3)"),
    "3x3 / 2 within, channels first": (((8, 32, 57, 57), (32, 32, 3, 3)), '(x : "8, 32, 57, 57 |") (k : "32, 32, 3, 3 |")',
                                       'x +* k "b, c, 2*h <+ i, 2*w <+ j |; f, c, i, j | => b, f, h, w |"', "F.conv2d(a, b, stride=2)"),
    "5x5 / 2 of large images": (((8, 111, 111, 64), (5, 5, 64, 16)), '(x : "8, 111, 111, 64 |") (k : "5, 5, 64, 16 |")',
                                'x +* k "b, 2*h <+ i, 2*w <+ j, c |; i, j, c, f | => b, h, w, f |"', "F.conv2d(a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1), stride=2).permute(0, 2, 3, 1)"),
    "5 along 1000": (((16, 1000, 64), (5, 64, 64)), '(x : "16, 1000, 64 |") (k : "5, 64, 64 |")', 'x +* k "b, t =+ i, c |; i, c, f | => b, t, f |"',
                     "F.conv1d(a.permute(0, 2, 1), b.permute(2, 1, 0), padding=2).permute(0, 2, 1)"),
    "5x5 over an image": (((512, 512), (5, 5)), '(x : "512, 512 |") (k : "5, 5 |")', 'x +* k "h =+ i, w =+ j |; i, j | => h, w |"',
                          "F.conv2d(a[None, None], b[None, None], padding=2)[0, 0]"),
    "bf16, 512 cubed": (((512, 512), (512, 512)), '(x : "512, 512 |" bf16) (y : "512, 512 |" bf16)', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
    "argmax of rows": ((BIG,), LAST, '(where (x = (x @^^ "n | m => n | 0")) (positions () ++ "m => 0 | m") 2147483647) @-- "n | m => n"', "a.argmax(1).int()"),
    "cumulative sums of rows": ((BIG,), LAST,
                                'let p = positions () ++ "s => 0 | s, 0" [s] in set_dim s 1024; (where ((positions () ++ "t => 0 | 0, t") <= p) (x ++ "n | t => n | 0, t") 0.) ++ "n | s, t => n | s"',
                                "a.cumsum(1)"),
    "cumulative sums of columns": ((BIG,), LAST,
                                   'let p = positions () ++ "s => s, 0 | 0" [s] in set_dim s 2048; (where ((positions () ++ "t => 0, t | 0") <= p) (x ++ "t | m => 0, t | m") 0.) ++ "s, t | m => s | m"',
                                   "a.cumsum(0)"),
    "one-hot": ((1000,), '(ids : "4096 |" i32)', '(one_hot 1000 ids ++ "n | c => n, c |") *. 1.', "F.one_hot(a.long(), 1000).float()"),
    "one of each row": (((4096, 1000), 1000), '(x : "4096, 1000 |") (ids : "4096 |" i32)',
                        'x +* one_hot 1000 ids "n, c |; n | c => n |"',
                        "a.gather(1, b.long()[:, None])[:, 0]"),
    "concatenation of rows": ((HALF, HALF), '(x : "1024, 1024 |") (y : "1024, 1024 |")', '(x, y) ++^ "a, m |; b, m | => a^b, m |"', "torch.cat([a, b], 0)"),
    "every second column": ((BIG,), ONE, 'x ++ "n, 2*m | => n, m |"', "a[:, ::2].contiguous()"),
    "padding": (((8, 128, 128, 16),), '(x : "8, 128, 128, 16 |")',
                'let y = x ++^ "b, h, w, c | => b, t^h^u, l^w^r, c |" [t; u; l; r] in set_dim t 1; set_dim u 1; set_dim l 1; set_dim r 1; y',
                "F.pad(a, (0, 0, 1, 1, 1, 1))"),
    "differences": ((BIG,), ONE, '(x ++ "n, m + 1 | => n, m |") - (x ++ "n, m ^ 1 | => n, m |")', "a[:, 1:] - a[:, :-1]"),
    "interleaved": ((BIG, BIG), TWO,
                    '((x ++ "n, m | => n, m, 0 |"), (y ++ "n, m | => n, m, 0 |")) ++^ "n, m, a |; n, m, b | => n, m, a^b |"',
                    "torch.stack([a, b], 2)"),
    "heads apart": (((4, 512, 8, 64),), '(x : "4, 512, 8, 64 |")', 'x ++ "b, t, h, d | => b, h, t, d |"', "a.permute(0,2,1,3).contiguous()"),
    "channels last to first": ((IMAGES,), LAST_CHANNELS, 'x ++ "b, h, w, c | => b, c, h, w |"', "a.permute(0,3,1,2).contiguous()"),
    "channels first to last": ((FIRST,), FIRST_CHANNELS, 'x ++ "b, c, h, w | => b, h, w, c |"', "a.permute(0,2,3,1).contiguous()"),
    "patches": (((8, 224, 224, 3),), '(x : "8, 224, 224, 3 |")',
                'let y = x ++ "b, (h, i), (w, j), c | => b, h, w, i, j, c |" [i; j] in set_dim i 16; set_dim j 16; y',
                "a.view(8,14,16,14,16,3).permute(0,1,3,2,4,5).contiguous()"),
    "twice as large": ((IMAGES,), LAST_CHANNELS,
                       'let y = x ++ "b, h, w, c | => b, (h, u), (w, v), c |" [u; v] in set_dim u 2; set_dim v 2; y',
                       "F.interpolate(a.permute(0,3,1,2), scale_factor=2).permute(0,2,3,1)"),
    "bytes to numbers": ((("u8", BIG),), '(x : "2048, 1024 |" u8)', 'x /. 255.', "a / 255."),
    "bytes of images, channels first": ((("u8", (8, 224, 224, 3)), (3,), (3,)), '(x : "8, 224, 224 | 3" u8) (m : "3") (s : "3")',
                                        '((x /. 255. - (m ++ "c => 0, 0, 0 | c")) *. (s ++ "c => 0, 0, 0 | c")) ++ "b, h, w | c => b, c, h | w"',
                                        "((a / 255. - b) * c).permute(0,3,1,2).contiguous()"),
    "relu": ((BIG,), ONE, 'relu x', "torch.relu(a)"),
    "clip": ((BIG,), ONE, 'min (max x (0. - 1.)) 1.', "a.clamp(-1, 1)"),
    "gelu": ((BIG,), ONE, 'gelu x', "F.gelu(a)"),
    "silu": ((BIG,), ONE, 'silu x', "F.silu(a)"),
    "softplus": ((BIG,), ONE, 'softplus x', "F.softplus(a)"),
    "x / y": ((BIG, BIG), TWO, 'x /. y', "a / b"),
    "huber loss": ((BIG, BIG), '(x : "2048 | 1024") (y : "2048 | 1024")',
                   '(let d = abs (x - y) in where (d < 1.) (0.5 *. d *. d) (d - 0.5)) ++ "n | m => "',
                   "F.huber_loss(a, b, reduction='sum')"),
    "binary cross entropy": ((BIG, BIG), '(x : "2048 | 1024") (y : "2048 | 1024")',
                             '(max x 0. - x *. y + log (1. + exp (0. - abs x))) ++ "n | m => "',
                             "F.binary_cross_entropy_with_logits(a, b, reduction='sum')"),
    "cross entropy": (((4096, 1000), 1000), '(x : "4096 | 1000") (ids : "4096 |" i32)',
                      '(cross_entropy ~logits:x ~target:(one_hot 1000 ids)) ++ "n | 0 => "',
                      "F.cross_entropy(a, b.long(), reduction='sum')"),
    "log-sum-exp of rows": ((BIG,), ONE,
                            'let m = x @^^ "n, m | => n, 0 |" in (log (exp (x - m) ++ "n, m | => n, 0 |") + m) ++ "n, 0 | => n |"',
                            "a.logsumexp(1)"),
    "log-sum-exp of columns": ((BIG,), ONE,
                               'let m = x @^^ "n, m | => 0, m |" in (log (exp (x - m) ++ "n, m | => 0, m |") + m) ++ "0, m | => m |"',
                               "a.logsumexp(0)"),
    "softmax of rows of 10": (((100000, 10),), '(x : "100000 | 10")', 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "causal softmax": (((12, 256, 256),), '(x : "12, 256 | 256")',
                       'softmax ~over:"... | c" (where ((positions () ++ "i | => 0, i | 0") >= (positions () ++ "j | => 0, 0 | j")) x (0. - 1e30))',
                       "a.masked_fill(torch.ones(256,256).triu(1).bool(), -1e30).softmax(2)"),
    "sums of rows of 16": (((131072, 16),), '(x : "131072, 16 |")', 'x ++ "n, m | => n |"', "a.sum(1)"),
    "maxima of rows of 10": (((100000, 10),), '(x : "100000, 10 |")', 'x @^^ "n, m | => n |"', "a.amax(1)"),
    "sums over a middle axis": (((64, 128, 256),), '(x : "64, 128, 256 |")', 'x ++ "a, b, c | => a, c |"', "a.sum(1)"),
    "sums over first and last": (((64, 128, 256),), '(x : "64, 128, 256 |")', 'x ++ "a, b, c | => b |"', "a.sum((0, 2))"),
    "smallest and largest": ((BIG,), ONE, '(x @^^ "n, m | => ") - (x @-- "n, m | => ")', "a.max() - a.min()"),
    "norms of rows": ((BIG,), ONE, 'sqrt (x *. x ++ "n, m | => n |")', "a.norm(dim=1)"),
    "cosines of rows": ((BIG, BIG), TWO,
                        '(x *. y ++ "n, m | => n |") /. sqrt ((x *. x ++ "n, m | => n |") *. (y *. y ++ "n, m | => n |"))',
                        "F.cosine_similarity(a, b, dim=1)"),
    "mean per channel, last": ((IMAGES,), LAST_CHANNELS, '(x ++ "b, h, w, c | => c |") /. 25088.', "a.mean((0, 1, 2))"),
    "mean per channel, first": ((FIRST,), FIRST_CHANNELS, '(x ++ "b, c, h, w | => c |") /. 25088.', "a.mean((0, 2, 3))"),
    "variance per channel, first": ((FIRST,), '(x : "8, 64, 56 | 56")',
                                    'let m = (x ++ "b, c, h | w => 0, c, 0 | 0") /. 25088. in let d = x - m in (d *. d ++ "b, c, h | w => c") /. 25088.',
                                    "a.var((0, 2, 3), unbiased=False)"),
    "batch norm, training, last": ((IMAGES, CHANNELS, CHANNELS), '(x : "8, 56, 56 | 64") (s : "64") (o : "64")',
                                   'let m = (x ++ "b, h, w | c => 0, 0, 0 | c") /. 25088. in let d = x - m in let v = (d *. d ++ "b, h, w | c => 0, 0, 0 | c") /. 25088. in d *. rsqrt (v + 1e-5) *. (s ++ "c => 0, 0, 0 | c") + (o ++ "c => 0, 0, 0 | c")',
                                   "F.batch_norm(a.permute(0,3,1,2), None, None, b, c, True).permute(0,2,3,1)"),
    "batch norm, training, first": ((FIRST, CHANNELS, CHANNELS), '(x : "8, 64, 56 | 56") (s : "64") (o : "64")',
                                    'let m = (x ++ "b, c, h | w => 0, c, 0 | 0") /. 25088. in let d = x - m in let v = (d *. d ++ "b, c, h | w => 0, c, 0 | 0") /. 25088. in d *. rsqrt (v + 1e-5) *. (s ++ "c => 0, c, 0 | 0") + (o ++ "c => 0, c, 0 | 0")',
                                    "F.batch_norm(a, None, None, b, c, True)"),
    "group norm, last": (((8, 56, 56, 8, 8), (8, 8), (8, 8)), '(x : "8, 56, 56, 8 | 8") (s : "8 | 8") (o : "8 | 8")',
                         'let m = (x ++ "b, h, w, g | c => b, 0, 0, g | 0") /. 25088. in let d = x - m in let v = (d *. d ++ "b, h, w, g | c => b, 0, 0, g | 0") /. 25088. in d *. rsqrt (v + 1e-5) *. (s ++ "g | c => 0, 0, 0, g | c") + (o ++ "g | c => 0, 0, 0, g | c")',
                         "F.group_norm(a.reshape(8,56,56,64).permute(0,3,1,2), 8, b.view(-1), c.view(-1)).permute(0,2,3,1).reshape(8,56,56,8,8)"),
    "group norm, first": (((8, 8, 8, 56, 56), (8, 8), (8, 8)), '(x : "8, 8, 8, 56 | 56") (s : "8 | 8") (o : "8 | 8")',
                          'let m = (x ++ "b, g, c, h | w => b, g, 0, 0 | 0") /. 25088. in let d = x - m in let v = (d *. d ++ "b, g, c, h | w => b, g, 0, 0 | 0") /. 25088. in d *. rsqrt (v + 1e-5) *. (s ++ "g | c => 0, g, c, 0 | 0") + (o ++ "g | c => 0, g, c, 0 | 0")',
                          "F.group_norm(a.view(8,64,56,56), 8, b.view(-1), c.view(-1)).view(8,8,8,56,56)"),
    "layer norm": ((BIG, (1024,), (1024,)), '(x : "2048 | 1024") (s : "1024") (o : "1024")',
                   'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5) *. s + o',
                   "F.layer_norm(a, (1024,), b, c)"),
    "RMS norm": ((BIG, (1024,)), '(x : "2048 | 1024") (s : "1024")',
                 'let v = (x *. x ++ "n | d => n | 0" [d]) /. dim d in x *. rsqrt (v + 1e-5) *. s',
                 "F.rms_norm(a, (1024,), b, 1e-5)"),
    "rotary embedding": (((4, 512, 8, 64), (512, 32), (512, 32)), '(x : "4, 512, 8, 64 |") (co : "512, 32 |") (si : "512, 32 |")',
                         'let y = x ++ "b, t, h, (p, d) | => b, t, h, p, d |" [p] in set_dim p 2; let u = y ++ "b, t, h, 0, d | => b, t, h, d |" in let v = y ++ "b, t, h, 1, d | => b, t, h, d |" in let cs = co ++ "t, d | => 0, t, 0, d |" in let sn = si ++ "t, d | => 0, t, 0, d |" in (u *. cs - v *. sn, u *. sn + v *. cs) ++^ "b, t, h, l |; b, t, h, r | => b, t, h, l^r |"',
                         "(lambda u, v, cs, sn: torch.cat([u*cs-v*sn, u*sn+v*cs], -1))(a[..., :32], a[..., 32:], b[None,:,None], c[None,:,None])"),
    "max pool 2x2, last": ((IMAGES,), '(x : "8 | 56, 56, 64")', 'max_pool2d x', "F.max_pool2d(a.permute(0,3,1,2), 2).permute(0,2,3,1)"),
    "max pool 3x3 / 2, last": ((IMAGES,), '(x : "8 | 56, 56, 64")',
                               'max_pool2d ~size:3 ~stride:2 ~padded:true x',
                               "F.max_pool2d(F.pad(a.permute(0,3,1,2),(1,0,1,0),value=-1e30), 3, 2).permute(0,2,3,1)"),
    "max pool 2x2, first": ((FIRST,), FIRST_CHANNELS,
                            'let y = x @^^ "b, c, 2*h <+ i, 2*w <+ j | => b, c, h, w |" [i; j] in set_dim i 2; set_dim j 2; y',
                            "F.max_pool2d(a, 2)"),
    "max pool 3x3 / 2, first": ((FIRST,), FIRST_CHANNELS,
                                'let y = x @^^ "b, c, 2*h =+ i, 2*w =+ j | => b, c, h, w |" [i; j] in set_dim i 3; set_dim j 3; y',
                                "F.max_pool2d(F.pad(a,(1,0,1,0),value=-1e30), 3, 2)"),
    "average pool 2x2, last": ((IMAGES,), '(x : "8 | 56, 56, 64")', 'avg_pool2d x', "F.avg_pool2d(a.permute(0,3,1,2), 2).permute(0,2,3,1)"),
    "moving averages": ((BIG,), ONE, 'let y = x ++ "n, t <+ i | => n, t |" [i] in set_dim i 8; y /. 8.', "F.avg_pool1d(a, 8, 1)"),
    "3x3 depthwise, first": ((FIRST, (64, 3, 3)), '(x : "8, 64, 56, 56 |") (k : "64, 3, 3 |")',
                             'x +* k "b, c, h =+ i, w =+ j |; c, i, j | => b, c, h, w |"',
                             "F.conv2d(a, b[:, None], padding=1, groups=64)"),
    "1x1 convolution, first": (((8, 64, 28, 28), (128, 64)), '(x : "8, 64, 28, 28 |") (k : "128, 64 |")',
                               'x +* k "b, c, h, w |; f, c | => b, f, h, w |"',
                               "F.conv2d(a, b[:, :, None, None])"),
    "64 of 256 x 256 by a vector": (((64, 256, 256), (64, 256)), '(x : "64, 256, 256 |") (y : "64, 256 |")',
                                    'x +* y "b, n, m |; b, m | => b, n |"',
                                    "torch.bmm(a, b[:, :, None])[:, :, 0]"),
    "i j, j k, k l, l": (((512, 256), (256, 512), (512, 256), (256,)), '(x : "512, 256 |") (y : "256, 512 |") (z : "512, 256 |") (v : "256 |")',
                         '(x, y, z, v) +* "i, j |; j, k |; k, l |; l | => i |"',
                         "torch.linalg.multi_dot([a, b, c, d])"),
    "outer sum": ((ROWS, (1024,)), '(x : "2048 |") (y : "1024 |")', 'x +++ y "n |; m | => n, m |"', "a[:, None] + b"),
    "kronecker": (((64, 64), (32, 32)), '(x : "64, 64 |") (y : "32, 32 |")', 'x +* y "i, j |; k, l | => (i, k), (j, l) |"', "torch.kron(a, b)"),
    "covariance": (((4096, 64),), '(x : "4096 | 64")',
                   'let m = (x ++ "n | i => 0 | i") /. 4096. in let d = x - m in (d +* d "n | i; n | j => i | j") /. 4095.',
                   "torch.cov(a.t())"),
    "absolute differences": (((500, 64), (500, 64)), '(x : "500, 64 |") (y : "500, 64 |")',
                             '(abs ((x ++ "n, d | => n, 0, d |") - (y ++ "m, d | => 0, m, d |"))) ++ "n, m, d | => n, m |"',
                             "torch.cdist(a, b, 1)"),
    "attention, 12 heads": (((12, 128, 64), (12, 128, 64), (12, 128, 64)), '(q : "12, 128, 64 |") (k : "12, 128, 64 |") (v : "12, 128, 64 |")',
                            'let s = (q +* k "h, s, d |; h, t, d | => h, s | t") /. 8. in (softmax ~over:"... | t" s) +* v "h, s | t; h, t, d | => h, s, d |"',
                            "F.scaled_dot_product_attention(a, b, c)"),
    "LSTM's gates": (((64, 512), (64, 512), (2048, 512), (2048, 512), ROWS), '(x : "64 | 512") (h : "64 | 512") (w : "512 -> 4, 512") (u : "512 -> 4, 512") (b : "4, 512")',
                     'let z = w * x + u * h + b in let i = sigmoid (z ++ "n | 0, d => n | d") in let f = sigmoid (z ++ "n | 1, d => n | d") in let g = tanh (z ++ "n | 2, d => n | d") in let o = sigmoid (z ++ "n | 3, d => n | d") in o *. tanh (f *. h + i *. g)',
                     "(lambda z: (lambda i, f, g, o: o.sigmoid() * torch.tanh(f.sigmoid() * b + i.sigmoid() * g.tanh()))(*z.chunk(4, 1)))(a @ c.t() + b @ d.t() + e)"),
    "momentum step": ((BIG, BIG, BIG), '(p : "2048, 1024 |") (g : "2048, 1024 |") (v : "2048, 1024 |")',
                      'p - 0.01 *. (0.9 *. v + g)',
                      "a - 0.01 * (0.9 * c + b)"),
    "Adam's step": (((512, 1024), (512, 1024), (512, 1024), (512, 1024)), '(p : "512, 1024 |") (g : "512, 1024 |") (m : "512, 1024 |") (v : "512, 1024 |")',
                    'p - 0.001 *. (0.9 *. m + 0.1 *. g) /. (sqrt (0.999 *. abs v + 0.001 *. g *. g) + 1e-8)',
                    "a - 0.001 * (0.9 * c + 0.1 * b) / ((0.999 * d.abs() + 0.001 * b * b).sqrt() + 1e-8)"),
    "Lion's step": (((512, 1024), (512, 1024), (512, 1024)), '(p : "512, 1024 |") (g : "512, 1024 |") (m : "512, 1024 |")',
                    'let u = 0.9 *. m + 0.1 *. g in p - 0.001 *. (where (u > 0.) 1. 0. - where (u < 0.) 1. 0.)',
                    "a - 0.001 * torch.sign(0.9 * c + 0.1 * b)"),
    "f64, sum of all": ((HALF,), WIDE, 'x ++ "n, m | => "', "a.sum()"),
    "f64, sums of columns": ((HALF,), WIDE, 'x ++ "n, m | => m |"', "a.sum(0)"),
    "f64, variance of columns": ((HALF,), '(x : "1024 | 1024" f64)',
                                 'let m = (x ++ "n | m => 0 | m") /. 1024. in let d = x - m in (d *. d ++ "n | m => m") /. 1024.',
                                 "a.var(0, unbiased=False)"),
    "f64, transposition": ((HALF,), WIDE, 'x ++ "n, m | => m, n |"', "a.t().contiguous()"),
    "100 x 100, x + y": (((100, 100), (100, 100)), '(x : "100, 100 |") (y : "100, 100 |")', "x + y", "a + b"),
    "100 x 100, sum of all": (((100, 100),), '(x : "100, 100 |")', 'x ++ "n, m | => "', "a.sum()"),
    "100 x 100, softmax along rows": (((100, 100),), '(x : "100 | 100")', 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "100 x 100, layer norm": (((100, 100), (100,), (100,)), '(x : "100 | 100") (s : "100") (o : "100")', 'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5) *. s + o',
        "F.layer_norm(a, (100,), b, c)"),
    "100 cubed": (((100, 100), (100, 100)), '(x : "100, 100 |") (y : "100, 100 |")', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
    "1000, dot": (((1000,), (1000,)), '(x : "1000 |") (y : "1000 |")', 'x +* y "n |; n | => "', "a @ b"),
    "1000, softmax": (((1000,),), '(x : "1000")', 'softmax ~over:"c" x', "a.softmax(0)"),
    "37 x 513, softmax along columns": (((37, 513),), '(x : "37, 513 |")', 'softmax ~over:"n, ... |" x', "a.softmax(0)"),
    "37 x 513, layer norm": (((37, 513), (513,), (513,)), '(x : "37 | 513") (s : "513") (o : "513")', 'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5) *. s + o',
        "F.layer_norm(a, (513,), b, c)"),
    "37 x 37 x 513": (((37, 513), (513, 37)), '(x : "37, 513 |") (y : "513, 37 |")', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
    "37 x 513, transposition": (((37, 513),), '(x : "37, 513 |")', 'x ++ "n, m | => m, n |"', "a.t().contiguous()"),
    "1000 x 1001, x + y": (((1000, 1001), (1000, 1001)), '(x : "1000, 1001 |") (y : "1000, 1001 |")', "x + y", "a + b"),
    "1000 x 1001, exp": (((1000, 1001),), '(x : "1000, 1001 |")', "exp x", "torch.exp(a)"),
    "1000 x 1001, sum of all": (((1000, 1001),), '(x : "1000, 1001 |")', 'x ++ "n, m | => "', "a.sum()"),
    "1000 x 1001, sums of columns": (((1000, 1001),), '(x : "1000, 1001 |")', 'x ++ "n, m | => m |"', "a.sum(0)"),
    "1000 x 1001, x + a row": (((1000, 1001), (1001,)), '(x : "1000, 1001 |") (y : "1001 |")', 'x +++ y "n, m |; m | => n, m |"', "a + b"),
    "1000 x 1001, softmax along rows": (((1000, 1001),), '(x : "1000 | 1001")', 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "1000 x 1001, softmax along columns": (((1000, 1001),), '(x : "1000, 1001 |")', 'softmax ~over:"n, ... |" x', "a.softmax(0)"),
    "1000 x 1001 by a vector": (((1000, 1001), (1001,)), '(x : "1000, 1001 |") (y : "1001 |")', 'x +* y "n, m |; m | => n |"', "a @ b"),
    "1000 x 1001, transposition": (((1000, 1001),), '(x : "1000, 1001 |")', 'x ++ "n, m | => m, n |"', "a.t().contiguous()"),
    "1000 x 1000 x 1001": (((1000, 1001), (1001, 1000)), '(x : "1000, 1001 |") (y : "1001, 1000 |")', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
    "f64, relu": (((1024, 1024),), '(x : "1024, 1024 |" f64)', "relu x", "torch.relu(a)"),
    "f64, layer norm": (((1024, 1024),), '(x : "1024 | 1024" f64)', 'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5)',
        "F.layer_norm(a, (1024,))"),
    "f64, matrix by vector": (((1000, 1000), (1000,)), '(x : "1000, 1000 |" f64) (y : "1000 |" f64)', 'x +* y "n, m |; m | => n |"', "a @ b"),
    "bf16, softmax along rows": (((1024, 1024),), '(x : "1024 | 1024" bf16)', 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "bf16, layer norm": (((1024, 1024),), '(x : "1024 | 1024" bf16)', 'let m = (x ++ "n | d => n | 0" [d]) /. dim d in let c = x - m in let v = (c *. c ++ "n | d => n | 0") /. dim d in c *. rsqrt (v + 1e-5)',
        "F.layer_norm(a, (1024,))"),
    "bf16, x + y": (((1024, 1024), (1024, 1024)), '(x : "1024, 1024 |" bf16) (y : "1024, 1024 |" bf16)', "x + y", "a + b"),
    "bf16, gelu": (((1024, 1024),), '(x : "1024, 1024 |" bf16)', "gelu x", "F.gelu(a)"),
    "f16, relu": (((1024, 1024),), '(x : "1024, 1024 |" f16)', "relu x", "torch.relu(a)"),
    "f16, where x > y": (((1024, 1024), (1024, 1024)), '(x : "1024, 1024 |" f16) (y : "1024, 1024 |" f16)', "where (x > y) x y", "torch.where(a > b, a, b)"),
    "f16, exp": (((1024, 1024),), '(x : "1024, 1024 |" f16)', "exp x", "torch.exp(a)"),
    "f16, softmax along rows": (((1024, 1024),), '(x : "1024 | 1024" f16)', 'softmax ~over:"... | c" x', "a.softmax(1)"),
    "f16, sums of rows": (((1024, 1024),), '(x : "1024, 1024 |" f16)', 'x ++ "n, m | => n |"', "a.sum(1)"),
    "i32, x * y": ((("i32", (1024, 1024)), ("i32", (1024, 1024))), '(x : "1024, 1024 |" i32) (y : "1024, 1024 |" i32)', "x *. y", "a * b"),
    "i32, maxima of rows": ((("i32", (1024, 1024)),), '(x : "1024, 1024 |" i32)', 'x @^^ "n, m | => n |"', "a.amax(1)"),
    "i32, 256 cubed": ((("i32", (256, 256)), ("i32", (256, 256))), '(x : "256, 256 |" i32) (y : "256, 256 |" i32)', 'x +* y "i, k |; k, j | => i, j |"', "a @ b"),
    "bytes above a threshold": ((("u8", (1000, 1000)),), '(x : "1000, 1000 |" u8)', "where (x > 127) 1. 0.", "(a > 127).float()"),
    "mean squared error": (((1000, 1000), (1000, 1000)), '(x : "1000 | 1000") (y : "1000 | 1000")', '((x - y) *. (x - y) ++ "n | m => ") /. 1e6',
        "F.mse_loss(a, b)"),
    "standard deviation of all": (((1000, 1000),), '(x : "1000 | 1000")', 'let m = (x ++ "n | m => 0 | 0") /. 1e6 in let d = x - m in sqrt ((d *. d ++ "n | m => ") /. 1e6)',
        "a.std(unbiased=False)"),
    "normalised by all": (((1000, 1000),), '(x : "1000 | 1000")', 'let m = (x ++ "n | m => 0 | 0") /. 1e6 in let d = x - m in d *. rsqrt ((d *. d ++ "n | m => 0 | 0") /. 1e6)',
        "(a - a.mean()) / a.std(unbiased=False)"),
    "normalised columns": (((10000, 32),), '(x : "10000 | 32")', 'let m = (x ++ "n | m => 0 | m") /. 10000. in let d = x - m in d *. rsqrt ((d *. d ++ "n | m => 0 | m") /. 10000.)',
        "(a - a.mean(0)) / a.std(0, unbiased=False)"),
    "gradient clipping": (((1000, 1000),), '(x : "1000, 1000 |")', 'let n = sqrt (x *. x ++ "n, m | => 0, 0 |") in x *. (min 1. (1. /. (n + 1e-6)))',
        "a * torch.clamp(1/(a.norm()+1e-6), max=1.)"),
    "how many are above": (((1000, 1000),), '(x : "1000 | 1000")', '(where (x > 0.5) 1. 0.) ++ "n | m => "', "(a > 0.5).sum().float()"),
    "accuracy": (((4096, 100), ("ids", (4096,), 100)), '(x : "4096 | 100") (ids : "4096 |" i32)', '(where (((where (x = (x @^^ "n | m => n | 0")) (positions () ++ "m => 0 | m") 2147483647) @-- "n | m => n") = (ids ++ "n | => n")) 1. 0.) ++ "n => "',
        "(a.argmax(1) == b).sum().float()"),
    "softmax, masked": (((16, 256, 256), ("u8", (256, 256))), '(x : "16, 256 | 256") (m : "256, 256 |" u8)', 'softmax ~over:"... | c" (where (m ++ "i, j | => 0, i | j" > 100) x (0. - 1e30))',
        "a.masked_fill(b <= 100, -1e30).softmax(2)"),
    "log-sum-exp, masked": (((1000, 1000), ("u8", (1000, 1000))), '(x : "1000 | 1000") (k : "1000 | 1000" u8)', 'let y = where (k > 100) x (0. - 1e30) in let m = y @^^ "n | m => n | 0" in (log (exp (y - m) ++ "n | m => n | 0") + m) ++ "n | 0 => n"',
        "a.masked_fill(b <= 100, -1e30).logsumexp(1)"),
    "softmax over a middle axis": (((32, 100, 200),), '(x : "32 | 100, 200")', 'let m = x @^^ "n | a, b => n | 0, b" in let e = exp (x - m) in e /. (e ++ "n | a, b => n | 0, b")',
        "a.softmax(1)"),
    "cumulative maxima of rows": (((500, 1000),), '(x : "500 | 1000")', 'let p = positions () ++ "s => 0 | s, 0" [s] in set_dim s 1000; (where ((positions () ++ "t => 0 | 0, t") <= p) (x ++ "n | t => n | 0, t") (0. - 1e30)) @^^ "n | s, t => n | s"',
        "a.cummax(1)[0]"),
    "cumulative maxima of columns": (((1000, 500),), '(x : "1000 | 500")', 'let p = positions () ++ "s => s, 0 | 0" [s] in set_dim s 1000; (where ((positions () ++ "t => 0, t | 0") <= p) (x ++ "t | m => 0, t | m") (0. - 1e30)) @^^ "s, t | m => s | m"',
        "a.cummax(0)[0]"),
    "i b k, k b j": (((64, 16, 32), (32, 16, 48)), '(x : "64, 16, 32 |") (y : "32, 16, 48 |")', 'x +* y "i, b, k |; k, b, j | => i, b, j |"',
        "torch.einsum('ibk,kbj->ibj',a,b)"),
    "b h q d, b k h d": (((4, 8, 64, 32), (4, 64, 8, 32)), '(x : "4, 8, 64, 32 |") (y : "4, 64, 8, 32 |")', 'x +* y "b, h, q, d |; b, k, h, d | => b, h, q, k |"',
        "torch.einsum('bhqd,bkhd->bhqk',a,b)"),
    "i j k, j i l": (((32, 48, 64), (48, 32, 40)), '(x : "32, 48, 64 |") (y : "48, 32, 40 |")', 'x +* y "i, j, k |; j, i, l | => k, l |"',
        "torch.einsum('ijk,jil->kl',a,b)"),
    "a b c, c d, b d": (((32, 64, 96), (96, 48), (64, 48)), '(x : "32, 64, 96 |") (y : "96, 48 |") (z : "64, 48 |")', '(x, y, z) +* "a, b, c |; c, d |; b, d | => a, d |"',
        "torch.einsum('abc,cd,bd->ad',a,b,c)"),
    "a b c, i a, j b, k c": (((32, 32, 32), (64, 32), (48, 32), (40, 32)), '(x : "32, 32, 32 |") (y : "64, 32 |") (z : "48, 32 |") (w : "40, 32 |")', '(x, y, z, w) +* "a, b, c |; i, a |; j, b |; k, c | => i, j, k |"',
        "torch.einsum('abc,ia,jb,kc->ijk',a,b,c,d)"),
    "vectors of a batch that lies last": (((32, 400), (400, 48, 32)), '(x : "32, 400 |") (y : "400, 48, 32 |")', 'x +* y "b, k |; k, n, b | => b, n |"', "torch.einsum('bk,knb->bn',a,b)"),
    "vectors along an axis that lies apart": (((24, 96, 24), (24, 24, 33, 96)), '(x : "24, 96, 24 |") (y : "24, 24, 33, 96 |")', 'x +* y "i, j, b |; b, i, n, j | => b, n |"', "torch.einsum('ijb,binj->bn',a,b)"),
    "small matrices in another order": (((200, 50, 33, 12), (7, 50, 200, 33)), '(x : "200, 50, 33, 12 |") (y : "7, 50, 200, 33 |")',
                                        'x +* y "a, b, k, m |; n, b, a, k | => a, m, b, n |"', "torch.einsum('abkm,nbak->ambn',a,b)"),
    "matrices side by side, rows by two axes": (((10, 50, 64, 16), (50, 64, 3, 16)), '(x : "10, 50, 64, 16 |") (y : "50, 64, 3, 16 |")',
                                                'x +* y "i, k, j, l |; k, m, n, l | => n, m, j, i, l |"', "torch.einsum('ikjl,kmnl->nmjil',a,b)"),
    "traces": (((64, 200, 200),), '(x : "64, 200, 200 |")', 'x ++ "b, i, i | => b |"', "torch.einsum('bii->b',a)"),
    "b i, i j, b j": (((128, 64), (64, 64), (128, 64)), '(x : "128, 64 |") (y : "64, 64 |") (z : "128, 64 |")', '(x, y, z) +* "b, i |; i, j |; b, j | => b |"',
        "torch.einsum('bi,ij,bj->b',a,b,c)"),
    "x + rows of a middle axis": (((64, 128, 64), (64, 64)), '(x : "64, 128, 64 |") (y : "64, 64 |")', 'x +++ y "a, b, c |; a, c | => a, b, c |"', "a + b[:, None]"),
    "x + channels, first": (((8, 32, 56, 56), (32,)), '(x : "8, 32, 56, 56 |") (y : "32 |")', 'x +++ y "b, c, h, w |; c | => b, c, h, w |"', "a + b[:, None, None]"),
    "embedding bag": (((5000, 64), ("ids", (512, 16), 5000)), '(x : "5000 | 64") (ids : "512, 16 |" i32)', '(x @> ids) ++ "n, k | d => n | d"',
        'F.embedding_bag(b.long(), a, mode="sum")'),
    "sum of gathered rows": (((5000, 64), ("ids", (4096,), 5000)), '(x : "5000, 64 |") (ids : "4096 |" i32)', '(x @> ids) ++ "n, d | => d |"', "a[b.long()].sum(0)"),
    "heat equation": (((1000, 1000),), '(x : "1000, 1000 |")', 'let c = x ++ "1^n^1, 1^m^1 | => n, m |" in c + 0.1 *. ((x ++ "2^n, 1^m^1 | => n, m |") + (x ++ "n^2, 1^m^1 | => n, m |") + (x ++ "1^n^1, 2^m | => n, m |") + (x ++ "1^n^1, m^2 | => n, m |") - 4. *. c)',
        "a[1:-1,1:-1] + 0.1*(a[2:,1:-1]+a[:-2,1:-1]+a[1:-1,2:]+a[1:-1,:-2]-4*a[1:-1,1:-1])"),
    "forces between 500 points": (((500, 3),), '(x : "500 | 3")', 'let d = (x ++ "n | d => 0, n | d") - (x ++ "m | d => m, 0 | d") in let r = rsqrt ((d *. d ++ "m, n | d => m, n | 0") + 0.01) in (d *. r *. r *. r) ++ "m, n | d => m | d"',
        "(lambda d: (d*((d*d).sum(2,keepdim=True)+0.01)**-1.5).sum(1))(a[None]-a[:,None])"),
    "Gaussian kernel": (((500, 32), (500, 32)), '(x : "500, 32 |") (y : "500, 32 |")', 'exp (0. - 0.1 *. (((x *. x ++ "n, d | => n, 0 |") + (y *. y ++ "m, d | => 0, m |")) - 2. *. (x +* y "n, d |; m, d | => n, m |")))',
        "torch.exp(-0.1*((a*a).sum(1)[:,None]+(b*b).sum(1)-2*a@b.t()))"),
    "distances of points": (((500, 3), (500, 3)), '(x : "500, 3 |") (y : "500, 3 |")', 'let d = (x ++ "n, d | => n, 0, d |") - (y ++ "m, d | => 0, m, d |") in sqrt (d *. d ++ "n, m, d | => n, m |")',
        'torch.cdist(a,b,compute_mode="donot_use_mm_for_euclid_dist")'),
    "polynomial": (((1000, 1000),), '(x : "1000, 1000 |")', "1. + x *. (2. + x *. (3. + x *. (4. + x *. 5.)))", "1 + a*(2 + a*(3 + a*(4 + a*5)))"),
    "moving maxima": (((100, 5000),), '(x : "100, 5000 |")', 'let y = x @^^ "n, t <+ i | => n, t |" [i] in set_dim i 8; y', "F.max_pool1d(a[None], 8, 1)[0]"),
    "leaky relu": (((1000, 1000),), '(x : "1000, 1000 |")', "where (x > 0.) x (0.01 *. x)", "F.leaky_relu(a)"),
    "hard swish": (((1000, 1000),), '(x : "1000, 1000 |")', "x *. min (max (x + 3.) 0.) 6. /. 6.", "F.hardswish(a)"),
    "mish": (((1000, 1000),), '(x : "1000, 1000 |")', "x *. tanh (softplus x)", "F.mish(a)"),
    "gated linear unit": (((1000, 1024),), '(x : "1000 | 1024")', 'let y = x ++ "n | (p, d) => n | p, d" [p] in set_dim p 2; (y ++ "n | 0, d => n | d") *. sigmoid (y ++ "n | 1, d => n | d")',
        "F.glu(a)"),
    "SwiGLU": (((128, 256), (1024, 256), (1024, 256), (256, 1024)), '(x : "128 | 256") (a : "256 -> 1024") (b : "256 -> 1024") (c : "1024 -> 256")', "c * (silu (a * x) *. (b * x))",
        "(F.silu(a @ b.t()) * (a @ c.t())) @ d.t()"),
    "GRU cell": (((64, 256), (64, 256), (768, 256), (768, 256), (768,)), '(x : "64 | 256") (h : "64 | 256") (w : "256 -> 3, 256") (u : "256 -> 3, 256") (b : "3, 256")', 'let p = w * x + b in let q = u * h + b in let r = sigmoid ((p ++ "n | 0, d => n | d") + (q ++ "n | 0, d => n | d")) in let z = sigmoid ((p ++ "n | 1, d => n | d") + (q ++ "n | 1, d => n | d")) in let n = tanh ((p ++ "n | 2, d => n | d") + r *. (q ++ "n | 2, d => n | d")) in (1. - z) *. n + z *. h',
        "torch.gru_cell(a, b, c, d, e, e)"),
    "attention, one query": (((12, 64), (12, 1024, 64), (12, 1024, 64)), '(q : "12, 64 |") (k : "12, 1024, 64 |") (v : "12, 1024, 64 |")', 'let s = (q +* k "h, d |; h, t, d | => h | t") /. 8. in (softmax ~over:"... | t" s) +* v "h | t; h, t, d | => h, d |"',
        "F.scaled_dot_product_attention(a[:,None], b, c)[:,0]"),
    "attention, heads within": (((2, 128, 8, 64), (2, 128, 8, 64), (2, 128, 8, 64)), '(q : "2, 128, 8, 64 |") (k : "2, 128, 8, 64 |") (v : "2, 128, 8, 64 |")', 'let s = (q +* k "b, s, h, d |; b, t, h, d | => b, h, s | t") /. 8. in (softmax ~over:"... | t" s) +* v "b, h, s | t; b, t, h, d | => b, s, h, d |"',
        "F.scaled_dot_product_attention(a.transpose(1,2), b.transpose(1,2), c.transpose(1,2)).transpose(1,2).contiguous()"),
    "attention, causal": (((12, 256, 64), (12, 256, 64), (12, 256, 64)), '(q : "12, 256, 64 |") (k : "12, 256, 64 |") (v : "12, 256, 64 |")', 'let s = (q +* k "h, s, d |; h, t, d | => h, s | t") /. 8. in (softmax ~over:"... | t" (where ((positions () ++ "i | => 0, i | 0") >= (positions () ++ "j | => 0, 0 | j")) s (0. - 1e30))) +* v "h, s | t; h, t, d | => h, s, d |"',
        "F.scaled_dot_product_attention(a, b, c, is_causal=True)"),
    "layer norm over two axes": (((64, 32, 100), (32, 100), (32, 100)), '(x : "64 | 32, 100") (s : "32, 100") (o : "32, 100")', 'let m = (x ++ "n | d, e => n | 0, 0") /. 3200. in let c = x - m in let v = (c *. c ++ "n | d, e => n | 0, 0") /. 3200. in c *. rsqrt (v + 1e-5) *. s + o',
        "F.layer_norm(a, (32,100), b, c)"),
    "instance norm": (((8, 32, 28, 28),), '(x : "8, 32, 28 | 28")', 'let m = (x ++ "b, c, h | w => b, c, 0 | 0") /. 784. in let d = x - m in let v = (d *. d ++ "b, c, h | w => b, c, 0 | 0") /. 784. in d *. rsqrt (v + 1e-5)',
        "F.instance_norm(a)"),
    "Kullback-Leibler divergence": (((1000, 300), (1000, 300)), '(x : "1000 | 300") (y : "1000 | 300")', 'let p = softmax ~over:"... | c" y in ((p *. (log p - log_softmax ~over:"... | c" x)) ++ "n | m => ")',
        'F.kl_div(a.log_softmax(1), b.softmax(1), reduction="sum")'),
    "triplet loss": (((1000, 128), (1000, 128), (1000, 128)), '(x : "1000 | 128") (y : "1000 | 128") (z : "1000 | 128")', 'relu (sqrt ((x - y) *. (x - y) ++ "n | d => n") - sqrt ((x - z) *. (x - z) ++ "n | d => n") + 1.) ++ "n => "',
        "torch.relu((a-b).norm(dim=1)-(a-c).norm(dim=1)+1).sum()"),
    "AdamW": (((512, 1000), (512, 1000), (512, 1000), (512, 1000)), '(p : "512, 1000 |") (g : "512, 1000 |") (m : "512, 1000 |") (v : "512, 1000 |")', "p *. 0.9999 - 0.001 *. (0.9 *. m + 0.1 *. g) /. (sqrt (0.999 *. abs v + 0.001 *. g *. g) + 1e-8)",
        "a*0.9999 - 0.001 * (0.9 * c + 0.1 * b) / ((0.999 * d.abs() + 0.001 * b * b).sqrt() + 1e-8)"),
    "3 along 1000, / 2": (((16, 1000, 32), (3, 32, 64)), '(x : "16, 1000, 32 |") (k : "3, 32, 64 |")', 'x +* k "b, 2*t =+ i, c |; i, c, f | => b, t, f |"',
        "F.conv1d(F.pad(a.permute(0,2,1),(1,0)), b.permute(2,1,0), stride=2).permute(0,2,1)"),
    "3 along 500, dilated": (((16, 500, 64), (3, 64, 64)), '(x : "16, 500, 64 |") (k : "3, 64, 64 |")', 'x +* k "b, t =+ 4*i, c |; i, c, f | => b, t, f |"',
        "F.conv1d(a.permute(0,2,1), b.permute(2,1,0), padding=4, dilation=4).permute(0,2,1)"),
    "3 along 500, channels first": (((16, 64, 500), (64, 64, 3)), '(x : "16, 64, 500 |") (k : "64, 64, 3 |")', 'x +* k "b, c, t =+ i |; f, c, i | => b, f, t |"',
        "F.conv1d(a, b, padding=1)"),
    "7x7 of 32 channels": (((4, 32, 32, 32), (7, 7, 32, 32)), '(x : "4, 32, 32, 32 |") (k : "7, 7, 32, 32 |")', 'x +* k "b, h =+ i, w =+ j, c |; i, j, c, f | => b, h, w, f |"',
        "F.conv2d(a.permute(0,3,1,2), b.permute(3,2,0,1), padding=3).permute(0,2,3,1)"),
    "3x3 of 3 channels, first": (((8, 3, 64, 64), (32, 3, 3, 3)), '(x : "8, 3, 64, 64 |") (k : "32, 3, 3, 3 |")', 'x +* k "b, c, h =+ i, w =+ j |; f, c, i, j | => b, f, h, w |"',
        "F.conv2d(a, b, padding=1)"),
    "5x5 of digits": (((64, 1, 28, 28), (16, 1, 5, 5)), '(x : "64, 1, 28, 28 |") (k : "16, 1, 5, 5 |")', 'x +* k "b, c, h <+ i, w <+ j |; f, c, i, j | => b, f, h, w |"',
        "F.conv2d(a, b)"),
    "3x3, dilated": (((8, 28, 28, 64), (3, 3, 64, 64)), '(x : "8, 28, 28, 64 |") (k : "3, 3, 64, 64 |")', 'x +* k "b, h =+ 2*i, w =+ 2*j, c |; i, j, c, f | => b, h, w, f |"',
        "F.conv2d(a.permute(0,3,1,2), b.permute(3,2,0,1), padding=2, dilation=2).permute(0,2,3,1)"),
    "3x3 in groups of 4": (((8, 28, 28, 32, 4), (3, 3, 32, 4, 4)), '(x : "8, 28, 28, 32, 4 |") (k : "3, 3, 32, 4, 4 |")', 'x +* k "b, h =+ i, w =+ j, g, c |; i, j, g, c, f | => b, h, w, g, f |"',
        "F.conv2d(a.reshape(8,28,28,128).permute(0,3,1,2), b.permute(2,4,3,0,1).reshape(128,4,3,3), padding=1, groups=32).permute(0,2,3,1).reshape(8,28,28,32,4)"),
    "3x3 in groups of 8": (((8, 28, 28, 16, 8), (3, 3, 16, 8, 8)), '(x : "8, 28, 28, 16, 8 |") (k : "3, 3, 16, 8, 8 |")', 'x +* k "b, h =+ i, w =+ j, g, c |; i, j, g, c, f | => b, h, w, g, f |"',
        "F.conv2d(a.reshape(8,28,28,128).permute(0,3,1,2), b.permute(2,4,3,0,1).reshape(128,8,3,3), padding=1, groups=16).permute(0,2,3,1).reshape(8,28,28,16,8)"),
    "3x3 / 2 depthwise, first": (((8, 64, 56, 56), (64, 3, 3)), '(x : "8, 64, 56, 56 |") (k : "64, 3, 3 |")', 'x +* k "b, c, 2*h =+ i, 2*w =+ j |; c, i, j | => b, c, h, w |"',
        "F.conv2d(F.pad(a,(1,0,1,0)), b[:,None], stride=2, groups=64)"),
    "5x5 depthwise": (((8, 28, 28, 64), (5, 5, 64)), '(x : "8, 28, 28, 64 |") (k : "5, 5, 64 |")', 'x +* k "b, h =+ i, w =+ j, c |; i, j, c | => b, h, w, c |"',
        "F.conv2d(a.permute(0,3,1,2), b.permute(2,0,1)[:,None], padding=2, groups=64).permute(0,2,3,1)"),
    "7x7 depthwise": (((8, 32, 32, 64), (7, 7, 64)), '(x : "8, 32, 32, 64 |") (k : "7, 7, 64 |")', 'x +* k "b, h =+ i, w =+ j, c |; i, j, c | => b, h, w, c |"',
        "F.conv2d(a.permute(0,3,1,2), b.permute(2,0,1)[:,None], padding=3, groups=64).permute(0,2,3,1)"),
    "7x7 depthwise, layer norm": (((8, 32, 32, 64), (7, 7, 64)), '(x : "8 | 32, 32, 64") (k : "| 7, 7, 64")',
        'let y = x +* k "b | h =+ i, w =+ j, c; i, j, c => b | h, w, c" in let d = y - (y ++ "b | h, w, c => b | h, w, 0") /. 64. in d *. rsqrt ((d *. d ++ "b | h, w, c => b | h, w, 0") /. 64. + 1e-5)',
        "F.layer_norm(F.conv2d(a.permute(0,3,1,2), b.permute(2,0,1)[:,None], padding=3, groups=64).permute(0,2,3,1), (64,))"),
    "blur of 3 channels": (((1080, 1920, 3), (5,)), '(x : "1080, 1920, 3 |") (k : "5 |")', '(x +* k "y, x =+ i, c |; i | => y, x, c |") +* k "y =+ i, x, c |; i | => y, x, c |"',
        "(lambda u: F.conv2d(F.conv2d(u, b.view(1,1,1,5).repeat(3,1,1,1), padding=(0,2), groups=3), b.view(1,1,5,1).repeat(3,1,1,1), padding=(2,0), groups=3).permute(0,2,3,1)[0])(a.permute(2,0,1)[None].clone(memory_format=torch.channels_last))"),
    "edges of an image": (((1080, 1920), (3, 3)), '(x : "1080, 1920 |") (k : "3, 3 |")',
        'let p = x +* k "y =+ i, x =+ j |; i, j | => y, x |" in let q = x +* k "y =+ i, x =+ j |; j, i | => y, x |" in sqrt (p *. p + q *. q)',
        "(lambda p: torch.sqrt(p[0,0]**2 + p[0,1]**2))(F.conv2d(a[None,None], torch.stack((b, b.t()))[:,None], padding=1))"),
    "grey of colours": ((("u8", (1080, 1920, 3)), (3,)), '(x : "| 1080, 1920, 3" u8) (k : "| 3")', '(x /. 255.) +* k "y, x, c; c => y, x"', "(a / 255.) @ b"),
    "colours by a matrix": (((1080, 1920, 3), (3, 3)), '(x : "1080, 1920, 3 |") (m : "3, 3 |")', 'x +* m "y, x, c |; d, c | => y, x, d |"', "a @ b.t()"),
    "points by a matrix": (((100000, 3), (3, 3)), '(x : "100000, 3 |") (m : "3, 3 |")', 'x +* m "n, c |; d, c | => n, d |"', "a @ b.t()"),
    "3x3 in groups along one axis": (((8, 28, 28, 128), (3, 3, 32, 4, 4)), '(x : "8, 28, 28, 128 |") (k : "3, 3, 32, 4, 4 |")', 'x +* k "b, h =+ i, w =+ j, (g, c) |; i, j, g, f, c | => b, h, w, (g, f) |"',
        "F.conv2d(a.permute(0,3,1,2), b.permute(2,3,4,0,1).reshape(128,4,3,3), padding=1, groups=32).permute(0,2,3,1)"),
    "7x7 depthwise, first": (((8, 64, 28, 28), (64, 7, 7)), '(x : "8, 64, 28, 28 |") (k : "64, 7, 7 |")', 'x +* k "b, c, h =+ i, w =+ j |; c, i, j | => b, c, h, w |"',
        "F.conv2d(a, b[:,None], padding=3, groups=64)"),
    "max pool 3x3, last": (((8, 28, 28, 64),), '(x : "8 | 28, 28, 64")', "max_pool2d ~size:3 ~stride:1 x", "F.max_pool2d(a.permute(0,3,1,2),3,1).permute(0,2,3,1)"),
    "average pool 3x3, first": (((8, 32, 28, 28),), '(x : "8, 32, 28, 28 |")', 'let y = x ++ "b, c, h <+ i, w <+ j | => b, c, h, w |" [i; j] in set_dim i 3; set_dim j 3; y /. 9.',
        "F.avg_pool2d(a,3,1)"),
    "global average pool, last": (((8, 7, 7, 512),), '(x : "8, 7, 7, 512 |")', '(x ++ "b, h, w, c | => b, c |") /. 49.', "a.mean((1,2))"),
    "global average pool, first": (((8, 512, 7, 7),), '(x : "8, 512, 7, 7 |")', '(x ++ "b, c, h, w | => b, c |") /. 49.', "a.mean((2,3))"),
    "pixel shuffle": (((8, 64, 28, 28),), '(x : "8, 64, 28, 28 |")', 'let y = x ++ "b, (c, u, v), h, w | => b, c, (h, u), (w, v) |" [u; v] in set_dim u 2; set_dim v 2; y',
        "F.pixel_shuffle(a,2).contiguous()"),
    "windows of 7 x 7": (((8, 56, 56, 32),), '(x : "8, 56, 56, 32 |")', 'let y = x ++ "b, (h, i), (w, j), c | => b, h, w, i, j, c |" [i; j] in set_dim i 7; set_dim j 7; y',
        "a.view(8,8,7,8,7,32).permute(0,1,3,2,4,5).contiguous()"),
    "roll of rows": (((1000, 1000),), '(x : "1000, 1000 |")', '((x ++ "10^n, m | => n, m |"), (x ++ "n^990, m | => n, m |")) ++^ "n, m |; k, m | => n^k, m |"',
        "torch.roll(a,-10,0)"),
    "stacked rows": (((1000, 500), (1000, 500)), '(x : "1000, 500 |") (y : "1000, 500 |")', '((x ++ "n, m | => n, 0, m |"), (y ++ "n, m | => n, 0, m |")) ++^ "n, a, m |; n, b, m | => n, a^b, m |"',
        "torch.stack([a,b],1)"),
    "concatenation of channels": (((8, 28, 28, 32), (8, 28, 28, 32), (8, 28, 28, 32)), '(x : "8, 28, 28, 32 |") (y : "8, 28, 28, 32 |") (z : "8, 28, 28, 32 |")', '(x, y, z) ++^ "b, h, w, i |; b, h, w, j |; b, h, w, k | => b, h, w, i^j^k |"',
        "torch.cat([a,b,c],3)"),
    "repeated rows": (((1000, 256),), '(x : "1000, 256 |")', 'let y = x ++ "n, m | => (n, k), m |" [k] in set_dim k 4; y', "a.repeat_interleave(4,0)"),
    "64-128-10, 1 row": (((1, 64), (128, 64), (10, 128)), '(x : "1 | 64") (a : "64 -> 128") (b : "128 -> 10")', "b * relu (a * x)", "F.relu(a @ b.t()) @ c.t()"),
    "logistic regression, gradient": (((1000, 100), (100,), (1000,)), '(x : "1000, 100 |") (w : "100 |") (y : "1000 |")', 'let e = sigmoid (x +* w "n, d |; d | => n |") - y in x +* e "n, d |; n | => d |"',
        "a.t() @ (torch.sigmoid(a @ b) - c)"),
    "Kalman filters, 10000 of 4 numbers": (((10000, 4), (10000, 4, 4), (4, 4), (10000, 4)), '(x : "10000 | 4") (p : "10000 | 4 -> 4") (f : "4 -> 4") (z : "10000 | 4")',
        'let u = f * x in let v = (f, p, f) +* "k -> i; n | l -> k; l -> j => n | j -> i" in u + 0.1 *. (v +* (z - u) "n | j -> i; n | j => n | i")',
        "(lambda u: u + 0.1 * torch.einsum('nij,nj->ni', c @ b @ c.t(), d - u))(a @ c.t())"),
    "3 by 3, three of 10000": (((10000, 3, 3),) * 3, '(x : "10000 | 3 -> 3") (y : "10000 | 3 -> 3") (z : "10000 | 3 -> 3")', "x * (y * z)", "a @ (b @ c)"),
    "determinants, 100000 of 3 x 3": (((100000, 3, 3),), '(x : "100000 | 3 -> 3")',
        'let%op m i j = x ++ "n | !j -> !i => n |" in m 0 0 *. (m 1 1 *. m 2 2 - m 1 2 *. m 2 1) - m 0 1 *. (m 1 0 *. m 2 2 - m 1 2 *. m 2 0) + m 0 2 *. (m 1 0 *. m 2 1 - m 1 1 *. m 2 0)',
        "torch.linalg.det(a)"),
    "points turned, moved, normalised": (((100000, 3), (3, 3), (3,)), '(x : "100000 | 3") (r : "3 -> 3") (t : "3")', 'let q = r * x + t in q /. sqrt ((q *. q) ++ "n | c => n | 0")', "F.normalize(F.linear(a, b, c))"),
    "quadratic forms": (((10000, 4), (4, 4)), '(x : "10000 | 4") (a : "4 -> 4")', '(x, a, x) +* "n | i; j -> i; n | j => n |"', "((a @ b.t()) * a).sum(1)"),
    "lattice Boltzmann, a step of 256 x 256": (((256, 256, 9), (9,), (9,), (9,)), '(f : "| 256, 256, 9") (u : "9") (v : "9") (w : "9")',
        'let r = (f ++ "y, x, q => y, x, 0") +. 50. in let p = (f +* u "y, x, q; q => y, x, 0") /. r in let s = (f +* v "y, x, q; q => y, x, 0") /. r in let e = 3. *. (p *. u + s *. v) in f + 0.6 *. (r *. w *. (1. + e + 0.5 *. e *. e - 1.5 *. (p *. p + s *. s)) - f)',
        "(lambda r: (lambda p, s: (lambda e: a + 0.6 * (r * d * (1 + e + 0.5 * e * e - 1.5 * (p * p + s * s)) - a))(3 * (p * b + s * c)))((a @ b)[..., None] / r, (a @ c)[..., None] / r))(a.sum(-1, keepdim=True) + 50)"),
    "bytes of colours by 3 x 3": ((("u8", (1080, 1920, 3)), (3, 3)), '(x : "| 1080, 1920, 3" u8) (m : "| 3, 3")', 'let f = ((x + 0.) : f32) in f +* m "h, w, c; d, c => h, w, d"', "a.float() @ b.t()"),
    "a layer of sines": (((4096, 256), (256, 256)), '(x : "4096 | 256") (w : "256 -> 256")', "sin (w * x)", "torch.sin(a @ b.t())"),
    **{f"linear, {n} of 4096": (((n, 4096), (4096, 4096)), f'(x : "{n} | 4096") (w : "4096 -> 4096")', "w * x", "F.linear(a, b)") for n in (1, 8, 32, 64)},
    **{f"weights of 8 bits, {n} of 4096": (((n, 4096), ("i8", (4096, 4096)), (4096,)), f'(x : "{n} | 4096") (w : "4096 -> 4096" i8) (s : "4096")', "((w + 0) : f32) * x *. s", "F.linear(a, b.float()) * c") for n in (1, 16)},
    "halves of bytes by a vector": (((4096,), (4096,), ("u8", (2048, 4096))), '(x : "4096") (y : "4096") (w : "4096 -> 2048" u8)', "let w = ((w + 0) : f32) in let h = floor (w /. 16.) in (w - 16. *. h) * x + h * y", "(c // 16).float() @ b + (c % 16).float() @ a"),
    "a product, remainder": (((4096, 64), (64, 64)), '(x : "4096 | 64") (w : "64 -> 64")', "(w * x) % 0.7", "torch.remainder(a @ b.t(), 0.7)"),
}


def program():
    return "open Nn\n" + "".join(f"let%export e{i} {signature} = {body}\n" for i, (_, signature, body, _) in enumerate(CASES.values()))


def on_lines(x):
    """A copy that begins with a line, as PyTorch's tensors and a program's own do; NumPy's arrays begin within one, which made one row of the table or another a third slower."""
    room = np.empty(x.nbytes + 64, np.uint8)
    at = -room.ctypes.data % 64
    y = room[at:at + x.nbytes].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


def arguments(name):
    """Numbers, or 4096 classes below a number, or what a pair or triple says; of what the signature says is f64, f16 or bf16, as that."""
    return map(on_lines, drawn(name))


def drawn(name):
    random = np.random.default_rng(7)
    narrow = np.float64 if "f64" in CASES[name][1] else np.float16 if '" f16' in CASES[name][1] else np.float32
    for given in CASES[name][0]:
        if isinstance(given, int):
            yield random.integers(0, given, 4096).astype(np.int32)
        elif given[0] == "u8":
            yield random.integers(0, 256, given[1]).astype(np.uint8)
        elif given[0] == "i8":
            yield random.integers(-127, 128, given[1]).astype(np.int8)
        elif given[0] == "i32":
            yield random.integers(-1000, 1000, given[1]).astype(np.int32)
        elif given[0] == "ids":
            yield random.integers(0, given[2], given[1]).astype(np.int32)
        else:
            x = random.standard_normal(given, dtype=np.float32).astype(narrow)
            yield (x.view(np.uint32) >> 16).astype(np.uint16) if "bf16" in CASES[name][1] else x


def floats(x):
    """The values of an array whose numbers may be the bits of bf16."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x


def result_like(bench, i, want):
    """An array for what our function gives, which is f32 where f16 and bf16 go through an elementary function."""
    with open(bench.path("everyday.h")) as f:
        kind = re.search(rf"/\* e{i} \(.*?\) = [^*]*?(\w+)\n", f.read())[1]
    return on_lines(np.zeros(want.shape, np.float32 if kind == "f32" else want.dtype))


def best(call):
    """Of so many as take a few milliseconds, so that small ones are not the first few."""
    times = min(MOST, max(FEWEST, int(BUDGET / max(call(), 1e-7))))
    return min(call() for _ in range(times))


def right(bench, name, want, got):
    want, have = floats(want), floats(got)
    rough = "f16" in CASES[name][1]
    if np.allclose(have, want, rtol=1e-2 if rough else 1e-4, atol=(5e-3 if rough else 1e-3) * np.abs(want).max()):
        return True
    bench.table.missing(name, f"the result is WRONG by {np.abs(have - want).max():g}")
    return False


def part(bench, model, workers, i, name):
    path = bench.path("result.npy")
    next(iter(workers.values())).ask(f"result {i} {path}")
    given, want = list(arguments(name)), np.load(path)
    got = result_like(bench, i, want)
    call = lambda: model.seconds(f"e{i}", *(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, got)))
    call()
    if not right(bench, name, want, got):
        return
    for threads, worker in workers.items():
        bench.probes(threads)
        r = in_turns(2, {"ours": lambda: best(call), "PyTorch": lambda: worker.ask(str(i))})
        ours, theirs = least(r, "ours"), least(r, "PyTorch")
        bench.table.row(name if threads == 1 else f"{name}, {threads} threads", f"{ours * 1e6:.1f} us", f"PyTorch {theirs * 1e6:.1f}", theirs / ours)


def measure(bench, pattern=""):
    bench.table.heading("Everyday operations, one thread and two")
    bench.probes(1)
    model = Model(bench.shared(bench.written("everyday.tsr", program()), "everyday"))
    peer = [sys.executable, os.path.join(HERE, "everyday_torch.py")]
    workers = {threads: Worker(peer, threads, bench.frameworks(), greeting=True) for threads in (1, 2) if threads <= bench.cores}
    for i, name in enumerate(CASES):
        if not re.search(pattern, name):
            continue
        try:
            part(bench, model, workers, i, name)
        except Missing as why:
            bench.table.missing(name, why)
    for worker in workers.values():
        worker.end()
    model.close()
