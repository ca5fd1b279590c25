#!/usr/bin/env python3
"""Products that leave gaps between their rows, which their tiles clear, against NumPy: steps along one axis and several, columns that fill vectors and do not, several
blocks of K, results around the caches and through them, arguments and results that begin anywhere, one thread, two and three; and not a byte beside them is touched."""
import ctypes, os, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "bench"), os.path.join(HERE, os.pardir, "tools")]
from fenced import fenced, untouched  # noqa: E402
from tally import check, end, run  # noqa: E402
import common, table  # noqa: E402

f32 = np.float32
# images, rows and columns of the sums, of each the step, channels of the sums, of the result
CASES = [(1, 14, 14, 2, 2, 96, 64), (3, 5, 9, 2, 2, 300, 128), (2, 7, 6, 1, 2, 64, 48), (2, 7, 6, 3, 1, 128, 80), (1, 14, 14, 2, 2, 1024, 256), (2, 9, 8, 2, 2, 70, 41),
         (1, 6, 5, 3, 2, 40, 200), (8, 28, 28, 2, 2, 512, 256), (4, 14, 14, 2, 2, 1024, 512), (1, 20, 20, 4, 4, 33, 64), (2, 8, 8, 2, 2, 16, 16), (1, 28, 28, 2, 2, 256, 130)]
LARGE = 4 << 20


def program():
    lines = []
    for i, (n, h, w, sh, sw, f, c) in enumerate(CASES):
        lines.append(f'let%export g{i} (y : "{n} | {h}, {w}, {f}") (w : "{f}, 1, 1, {c}") = y +* w "... | oh, ow, f; f, kh, kw, c => ... | {sh}*oh =+ kh, {sw}*ow =+ kw, c"')
    return "\n".join(lines) + "\n"


def judge(model, threads):
    random = np.random.default_rng(7)
    for i, (n, h, w, sh, sw, f, c) in enumerate(CASES):
        y, x = random.integers(-9, 10, (n, h, w, f)).astype(f32), random.integers(-9, 10, (f, c)).astype(f32)
        want = np.zeros((n, h * sh, w * sw, c), f32)
        want[:, ::sh, ::sw] = y @ x
        for shift in (0, 0, 3) if n * h * w * f * c > 1 << 24 else (0, 1, 8):
            args = []
            for array in (y, x):
                whole, begin = fenced(array.size, f32, shift)
                whole[begin:begin + array.size] = array.ravel()
                args.append((whole, begin))
            made, begin = fenced(want.size, f32, shift)
            model.seconds(f"g{i}", *(ctypes.c_void_p(w_.ctypes.data + b * 4) for w_, b in args + [(made, begin)]))
            what = f"{CASES[i]}, {threads} threads, {shift} from a line"
            check(np.array_equal(made[begin:begin + want.size].reshape(want.shape), want), what)
            check(untouched(made, begin, want.size), what + ": beside it")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 2, table.Table())
        source = bench.written("gaps.tsr", program())
        status, out, err = run(bench.tsrc, "-c", "--cpu=znver5", "--dump=schedule", source)
        large = sum(4 * n * h * sh * w * sw * c >= LARGE for n, h, w, sh, sw, f, c in CASES)
        check(status == 0 and out.count("clears what lies between its rows") == len(CASES) and out.count("rows, around the caches") == large, out + err)
        common.judged(bench, source, judge, "gaps")
    end()


main()
