"""Exported functions: compiled once, called from Python and from C at many sizes, and by the interpreter, judged by NumPy; the sizes
that they refuse, with their messages; the header under two C compilers and as C++; contexts in two threads; no byte lost or out of place."""
import ctypes, os, re, shutil, sys, tempfile
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import printed  # noqa: E402
from tally import check, end, run  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TSRC = os.path.join(BUILD, "tsrc")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUNTIME = ["-I" + os.path.join(ROOT, "runtime"), os.path.join(BUILD, "libtessera.a"), "-lm", "-lpthread"]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
f32, i32, i64, u8, f64, boolean = np.float32, np.int32, np.int64, np.uint8, np.float64, np.bool_


def built(*command, cwd=None):
    status, out, err = run(*command, cwd=cwd)
    return check(status == 0, f"{' '.join(map(str, command))}\n{out}{err}")


class Model:
    """A program compiled to an object, as a shared object in this process; its functions as methods that take sizes and arrays."""

    def __init__(self, folder, source, *options):
        self.name = os.path.basename(source)[:-4]
        work = tempfile.mkdtemp(dir=folder)
        self.object, shared = os.path.join(work, self.name + ".o"), os.path.join(work, self.name + ".so")
        built(TSRC, "-c", *options, source, "-o", self.object)
        built("gcc", "-shared", "-Wl,-Bsymbolic", self.object, "-o", shared, *RUNTIME)
        self.lib = ctypes.CDLL(shared)
        self.lib.tsr_last_error.restype = ctypes.c_char_p
        self.ctx = ctypes.c_void_p()
        opened = getattr(self.lib, self.name + "_open")(ctypes.byref(self.ctx), None)
        check(opened == 0, f"{source}: {self.error()}")

    def error(self):
        return self.lib.tsr_last_error(self.ctx).decode()

    def close(self):
        check(self.lib.tsr_close(self.ctx) == 0, f"{self.name}: tsr_close")

    def shape(self, function, sizes, rank):
        """What NAME_shape and NAME_elements say."""
        shape = (ctypes.c_int64 * max(rank, 1))()
        of = [getattr(self.lib, f"{self.name}_{function}_{what}") for what in ("shape", "elements")]
        for f in of:
            f.restype = ctypes.c_int64
        n = of[0](*map(ctypes.c_int64, sizes), shape)
        check(n == of[1](*map(ctypes.c_int64, sizes)), f"{function}: shape and elements differ")
        return n, tuple(shape)[:rank]

    def call(self, function, sizes, args, results):
        """The status; results are arrays to be filled, behind each of which a fence must stay as it is."""
        fenced = [np.full(r.size + 4, 77, r.dtype) for r in results]
        pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
        passed = [ctypes.c_int64(s) for s in sizes]
        passed += [ctypes.c_double(a) if isinstance(a, float) else ctypes.c_int64(a) if isinstance(a, int) else pointer(a) for a in args]
        status = getattr(self.lib, f"{self.name}_{function}")(self.ctx, *passed, *map(pointer, fenced))
        for r, f in zip(results, fenced):
            r.ravel()[:] = f[:r.size]
            check(np.all(f[r.size:] == f.dtype.type(77)), f"{function} at {sizes}: writes behind its result")
        return status


def numbers(shape, dtype, seed=1):
    values = np.random.default_rng(seed).integers(-4, 5, shape)
    return np.ascontiguousarray((values % 3 if dtype in (u8, boolean) else values).astype(dtype))


def windows(x, stride=1, pad=0):
    x = np.pad(x, pad)
    return np.array([x[i:i + 3] @ [1, 10, 100] for i in range(0, len(x) - 2, stride)])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def deep(x, w):
    layer = lambda v: np.maximum(v, 0) @ w.T
    a = layer(x)
    b = layer(a)
    return layer(layer(b + a)) - b


NOISE = []
M34 = np.arange(1, 13).reshape(4, 3)
NS = [(n,) for n in (1, 2, 3, 7, 13, 64, 1000)]
NMS = [(1, 1), (1, 5), (5, 1), (2, 3), (7, 7), (13, 1000), (1000, 13)]
# function -> shapes of the arguments for the sizes, precisions, NumPy's answer, sizes that fit, {sizes: message} of those that do not
FORMS = {
    "same": (lambda n: [n, n], [f32, f32], lambda x, y: x + y, NS, {(0,): "the size ?n is 0, and an axis has at least one position",
             (-5,): "?n is -5", (2**41,): "?n is 2199023255552, and an axis has at most"}),
    "met": (lambda n, m: [(n, 3), (m, 3)], [f32, f32], lambda x, y: x * y, [(1, 1), (6, 6), (1000, 1000)],
            {(5, 7): "forms.tsr:8:50: x has 5 batch positions (?n) and y has 7 (?m), and `x *. y` needs them equal",
             (1, 7): "x has 1 batch position (?n) and y has 7 (?m)", (7, 1): "x has 7 batch positions (?n) and y has 1 (?m)"}),
    "number": (lambda n: [n], [f32], lambda x: x + [1, 2, 3, 4], [(4,)],
               {(3,): "x has 3 output positions (?n), and `x + [1.; 2.; 3.; 4.]` needs 4", (1,): "x has 1 output position (?n), and"}),
    "product": (lambda n: [(n, 3)], [f32], lambda x: x @ M34.T, NS, {}),
    "chain": (lambda n, k, o: [(n, k), (o, k)], [f32, f32], lambda x, w: np.maximum(x @ w.T, 0),
              [(1, 1, 1), (3, 5, 7), (64, 1, 64), (100, 130, 90), (1, 1000, 2)], {}),
    "sums": (lambda n, k: [(n, k, 2)], [f32], lambda x: x.sum(1), NMS, {}),
    "shares": (lambda n, m: [(n, m)], [f32], softmax, NMS, {}),
    "concat": (lambda n, m: [n, m], [f32, f32], lambda x, y: np.concatenate([x, y]), NMS, {}),
    "twice": (lambda n: [n], [f32], lambda x: np.concatenate([x, x]), NS, {}),
    "one_more": (lambda n: [n], [f32], lambda x: np.concatenate([[0], x]), NS, {}),
    "rest": (lambda n: [n], [f32], lambda x: x[3:], [(4,), (5,), (1000,)], {(3,): "x has 3 output positions (?n), and `x ++ \"3^i => i\"` needs at least 4"}),
    "outer": (lambda n: [n], [f32], lambda x: np.outer(x, x), NS, {}),
    "outer_twice": (lambda n: [n], [f32], lambda x: np.outer(np.tile(x, 2), np.tile(x, 2)), NS, {}),
    "window": (lambda n: [n], [f32], windows, [(3,), (4,), (1000,)], {(2,): "x has 2 output positions (?n), and `x +* k \"o <+ k; k => o\"` needs at least 3"}),
    "padded": (lambda n: [n], [f32], lambda x: windows(x, pad=1), NS, {}),
    "strided": (lambda n: [n], [f32], lambda x: windows(x, 2), [(3,), (5,), (1001,)],
                {(4,): "?n-1 is 3 (?n is 4), and `x +* k \"2*o <+ k; k => o\"` needs a multiple of 2", (1,): "x has 1 output position (?n), and `x +* k \"2*o <+ k; k => o\"` needs at least 3"}),
    "halves": (lambda n: [n], [f32], lambda x: x[::2], [(2,), (4,), (1000,)], {(5,): "x has 5 output positions (?n), and `x ++ \"2*o => o\"` needs a multiple of 2"}),
    "spread": (lambda n: [n], [f32], lambda x: np.stack([x, 0 * x], -1).ravel(), NS, {}),
    "window_of_two": (lambda n: [n], [f32], lambda x: windows(np.tile(x, 2)), [(2,), (3,), (1000,)], {(1,): "x has 1 output position (?n), and `((x, x) ++^ \"i; j => i^j\") +* k"}),
    "more_plus": (lambda n, m: [n, m], [f32, f32], lambda x, y: np.pad(x, 1) + y, [(1, 3), (998, 1000)],
                  {(4, 5): "?n+2 is 6 (?n is 4) and y has 5 output positions (?m), and `(x ++ \"i => 1^i^1\") + y` needs them equal"}),
    "halves_plus": (lambda n, m: [n, m], [f32, f32], lambda x, y: x[::2] + y, [(2, 1), (1000, 500)],
                    {(6, 2): "y has 2 output positions (?m) and (?n/2) is 3 (?n is 6), and", (5, 2): "needs a multiple of 2"}),
    "dot": (lambda n: [n, n], [f32, f32], lambda x, y: x @ y, NS, {}),
    "counted": (lambda n: [n], [f32], lambda x: x.sum(), NS, {}),
    "places": (lambda n: [n], [f32], lambda x: x + np.arange(len(x)), NS, {}),
    "filled": (lambda n: [n], [f32], lambda x: np.full(len(x), 2), NS, {}),
    "argument": (lambda n, m: [(n, m)], [f32], lambda x: x, NMS, {}),
    "constant": (lambda: [], [], lambda: M34, [()], {}),
    "below": (lambda n: [n, n], [f64, f64], lambda x, y: x < y, NS, {}),
    "whole": (lambda n: [n, n], [i64, u8], lambda x, y: x + y, NS, {}),
    "size": (lambda n: [n], [f32], lambda x: np.array([len(x)]), NS, {}),
    "mean_square": (lambda n: [n], [f32], lambda x: np.array([np.mean(x * x)]), NS, {}),
    "pool": (lambda n, h: [(n, h, 2)], [f32], lambda x: x[:, ::2], [(1, 1), (3, 5), (100, 7)], {(1, 2): "?h+1 is 3 (?h is 2), and `x @^^ \"n, 2*h <+ a | c"}),
    "mixed": (lambda n: [(n, 3)] * 3, [np.float16, f64, boolean], lambda x, y, b: np.where(b, x, y), NS, {}),
    "based": (lambda n, m: [(n, 3), (m, 3)], [f32, f32], lambda x, y: x @ y.T, NMS, {}),
    "deep": (lambda n: [(n, 8), (8, 8)], [f32, f32], deep, NS, {}),
    "attend": (lambda n, k: [(n, k, 4)], [f32], lambda x: softmax(x @ x.transpose(0, 2, 1)) @ x, NMS, {}),
}
RESULT = {"below": boolean, "whole": i64, "size": i32, "mixed": f64}


def forms(model):
    for name, (shapes, precs, answer, fit, refused) in FORMS.items():
        dtype = RESULT.get(name, f32)
        for sizes in fit:
            args = [numbers(s, p, i) for i, (s, p) in enumerate(zip(shapes(*sizes), precs))]
            want = np.asarray(answer(*args))
            got = np.zeros(want.shape, dtype)
            status = model.call(name, sizes, args, [got])
            check(status == 0 and np.allclose(got, want, 1e-5, 1e-5), f"{name} at {sizes}: status {status}, {got}, not {want}\n{model.error()}")
            n, shape = model.shape(name, sizes, want.ndim)
            check((n, shape) == (want.size, want.shape), f"{name} at {sizes}: {n} elements, {shape}, not {want.shape}")
        for sizes, message in refused.items():
            room = [np.zeros(4096, p) for p in precs]
            status = model.call(name, sizes, room, [np.zeros(4096, dtype)])
            check(status == 1 and message in model.error(), f"{name} at {sizes}: status {status}, {model.error()}")
            check(model.shape(name, sizes, 1)[0] == -1, f"{name} at {sizes}: has a size all the same")


def other_forms(model):
    x, y = numbers(5, f32), numbers(7, f32, 2)
    total, both = np.zeros(1, f32), np.zeros(12, f32)
    check(model.call("pair", (5, 7), [x, y], [total, both]) == 0 and total[0] == x.sum() and np.array_equal(both, np.concatenate([x, y])), "pair")
    out = np.zeros(5, f32)
    check(model.call("scaled", (5,), [x, 2.5, -3], [out]) == 0 and np.allclose(out, 2.5 * x - 3), f"scaled: {out}")
    table, ids = numbers((4, 2), f32), np.array([3, 0, 3], i32)
    rows = np.zeros((3, 2), f32)
    check(model.call("rows_of", (4, 3), [table, ids], [rows]) == 0 and np.array_equal(rows, table[ids]), f"rows_of: {rows}")
    ids[1] = 4
    check(model.call("rows_of", (4, 3), [table, ids], [rows]) == 1 and "index 4 is outside" in model.error() and "has 4 positions" in model.error(),
          model.error())
    ids[1] = 1
    check(model.call("rows_of", (4, 3), [table, ids], [rows]) == 0, "after a failure the context is usable")
    lib = model.lib
    check(lib.forms_same(model.ctx, ctypes.c_int64(5), None, x.ctypes.data_as(ctypes.c_void_p), None) == 1 and model.error().endswith("same: x is NULL"),
          model.error())
    p = x.ctypes.data_as(ctypes.c_void_p)
    check(lib.forms_same(model.ctx, ctypes.c_int64(5), p, p, None) == 0, "a result that nobody wants")
    shifted = np.arange(8, dtype=f32)[1:6]                             # aligned to its elements alone
    check(model.call("same", (5,), [shifted, shifted], [out]) == 0 and np.array_equal(out, 2 * shifted), "an input that is not aligned")
    for turn in range(1, 4):
        total, calls, n = np.zeros(5 * turn, f32), np.zeros(1, f32), 5 * turn
        values = numbers(n, f32, turn)
        check(model.call("counted_up", (n,), [values], [total, calls]) == 0 and np.array_equal(total, values) and calls[0] == turn,
              f"state: {total}, {calls}")
    first, second = np.zeros(4, f32), np.zeros(4, f32)
    check(model.call("noise", (4,), [x[:4]], [first]) == 0 and model.call("noise", (4,), [x[:4]], [second]) == 0, "noise")
    check(np.all((first >= 0) & (first < 1)) and not np.array_equal(first, second), f"noise: {first}, {second}")
    NOISE.append(np.concatenate([first, second]))
    check(np.array_equal(NOISE[0], NOISE[-1]), f"a context begins with the program's seed: {NOISE[0]}, {NOISE[-1]}")
    apart = np.zeros(8, f32)[1:6]
    check(model.lib.forms_same(model.ctx, ctypes.c_int64(5), *[a.ctypes.data_as(ctypes.c_void_p) for a in (shifted, shifted, apart)]) == 0
          and np.array_equal(apart, 2 * shifted), "a result that is not aligned")
    both = np.zeros(6, f32)
    p4 = [a.ctypes.data_as(ctypes.c_void_p) for a in (x[:4], x[:2], both[2:], both)]
    check(lib.forms_pair(model.ctx, ctypes.c_int64(4), ctypes.c_int64(2), *p4) == 0 and np.array_equal(both, np.concatenate([x[:4], x[:2]])),
          f"two results in one memory, the later one over the earlier: {both}")
    twice = 2 * x
    check(lib.forms_same(model.ctx, ctypes.c_int64(5), p, p, p) == 0 and np.array_equal(x, twice), "a result in the memory of an input")


def interpret(folder, source, *calls, status=0, args=(), flags=()):
    """Output and messages of calls, each a function and its arguments, in one context."""
    texts = []
    for k, (function, *given) in enumerate(calls):
        words = [function]
        for i, a in enumerate(given):
            path = os.path.join(folder, f"{k}.{i}.npy")
            if isinstance(a, np.ndarray):
                np.save(path, a)
            words.append(path if isinstance(a, np.ndarray) else str(a))
        texts.append("--call=" + " ".join(words))
    got, out, err = run(TSRC, "run", "--interp", *flags, *texts, source, *args, cwd=HERE)
    check(got == status, f"{source}, {[c[0] for c in calls]}: exit status {got}\n{out}{err}")
    return [printed.tensors(t) for t in re.split(r"(?=^\S+ : )", out, flags=re.M)[1:]], out, err


def interpreted(folder):
    """The same functions of the same arguments; a tensor of more than 1000 elements is not printed whole."""
    calls, wanted = [], []
    for name, (shapes, precs, answer, fit, refused) in FORMS.items():
        for sizes in fit:
            args = [numbers(s, p, i) for i, (s, p) in enumerate(zip(shapes(*sizes), precs))]
            want = np.asarray(answer(*args), dtype=float)
            if want.size <= 1000:
                calls.append((name, *args))
                wanted.append((name, sizes, want.ravel()))
        for sizes, message in refused.items():
            if min(sizes) > 0 and max(sizes) < 1000:
                err = interpret(folder, "forms.tsr", (name, *[numbers(s, p) for s, p in zip(shapes(*sizes), precs)]), status=1)[2]
                check(message in err.replace("error: ", ""), f"{name} at {sizes}, interpreted: {err}")
    results = interpret(folder, "forms.tsr", *calls)[0]
    check(len(results) == len(calls) > 150, f"{len(results)} results of {len(calls)} calls")
    for (name, sizes, want), got in zip(wanted, results):
        have = np.array(got.get(name, []))
        check(have.shape == want.shape and np.allclose(have, want, 1e-5, 1e-5), f"{name} at {sizes}, interpreted: {have}, not {want}")


def interpreted_in_order(folder):
    """What lasts from call to call, arguments that are numbers, programs, and calls that cannot be."""
    x, y = np.array([[1, 2, 3], [0, 1, 0]], f32), np.array([[1, 0], [0, 2]], f32)
    line = np.arange(4, dtype=f32)
    got = interpret(folder, "training.tsr", ("predict", x), ("step", x, y, 0.5), ("step", x, y, 0.5), ("weights",))[0]
    weight, offset, losses = np.zeros((2, 3)), np.zeros(2), []
    for _ in range(2):
        error = x @ weight.T + offset - y
        losses.append((error ** 2).sum())
        weight, offset = weight - 0.5 * 2 * error.T @ x, offset - 0.5 * 2 * error.sum(0)
    check(got[0] == {"predict": [0] * 4} and np.allclose([got[1]["step"][0], got[2]["step"][0]], losses) and np.allclose(got[3]["weights"], weight.ravel()),
          f"a model trained by the interpreter: {got}, not {losses}, {weight}")
    got = interpret(folder, "forms.tsr", ("counted_up", line), ("counted_up", line[:2]), ("scaled", line, 2.5, -3), ("noise", line), ("noise", line))[0]
    check([g.get("counted_up.calls") for g in got if "counted_up.calls" in g] == [[1], [2]], f"state goes on: {got}")
    check([g["counted_up.total"] for g in got if "counted_up.total" in g] == [[0, 1, 2, 3], [0, 1]], f"and begins at zero where calls give its size: {got}")
    check(got[4] == {"scaled": [-3, -0.5, 2, 4.5]}, f"numbers: {got[4]}")
    check(np.allclose(got[5]["noise"] + got[6]["noise"], NOISE[0]), f"the seed is the compiled program's: {got[5:]}, not {NOISE[0]}")
    sums = interpret(folder, "forms.tsr", ("product", x + f32(0.1)), ("dot", line + f32(0.1), line), flags=("--bounds",))[0]
    check(all(0 < b < 1e-4 for b in sums[0]["product"]) and 0 < sums[1]["dot"][0] < 1e-4, f"bounds of what calls compute: {sums}")
    np.save(os.path.join(folder, "table.npy"), line)
    table = os.path.join(folder, "table.npy")
    got, out, _ = interpret(folder, "words.tsr", ("greet", 2, 1.5), ("running", line, 2), ("against", line), args=(table,))
    check(out.startswith("hello 1 of 2, 3.0\nhello 2 of 2, 3.0\nrunning.shown : ") and "\n2.\n" in out and got[-1] == {"against": [0, 2, 4, 6]}, out)
    for call, message in ((("same", line, line[:3]), "0.1.npy: holds f32 (3,), and the program was compiled for f32 (4,)"),
                          (("met", line, line), "0.0.npy: holds f32 (4,), and the program was compiled for f32 (?, 3)"),
                          (("nothing",), "error: --call: there is no exported function `nothing`"), (("",), "error: --call names no function"),
                          (("same", line), "forms.tsr:7:12: error: same takes 2 arguments, and --call gives 1"),
                          (("number",), "number takes 1 argument, and --call gives 0"),
                          (("scaled", line, "2.5x", 1), "by is a number, and `2.5x` is no such number"),
                          (("scaled", line, 1, "1e3"), "plus is a whole number, and `1e3` is no such number"),
                          (("scaled", line, 1, 2 ** 63), "plus is a whole number, and `9223372036854775808` is no such number")):
        check(message in interpret(folder, "forms.tsr", call, status=1)[2], f"{call[0]}: no message {message}")
    status, _, err = run(TSRC, "run", "--call=weights", os.path.join(HERE, "training.tsr"))
    check(status == 2 and err.startswith("tsrc: --call goes with run --interp"), f"--call without --interp: exit status {status}, {err}")


def headers(folder):
    for source in ("forms.tsr", "training.tsr", "words.tsr"):
        built(TSRC, "-c", os.path.join(HERE, source), "-o", os.path.join(folder, source[:-3] + "o"))
    for compiler, standard in (("gcc", "c11"), ("clang-19", "c11"), ("clang", "c11"), ("gcc", "c99"), ("g++", "c++17"), ("clang++-19", "c++11")):
        if not shutil.which(compiler):
            continue
        path = os.path.join(folder, "all.cc" if "+" in compiler else "all.c")
        with open(path, "w") as f:
            f.write('#include "forms.h"\n#include "training.h"\n#include "words.h"\n#include "forms.h"\nint main(void) { return 0; }\n')
        built(compiler, "-std=" + standard, *STRICT, "-I" + folder, "-I" + os.path.join(ROOT, "runtime"), "-c", path, "-o", os.path.join(folder, "all.o"))
    text = open(os.path.join(folder, "forms.h")).read()
    for line in ("int forms_met(tsr_context *ctx, int64_t n, int64_t m, const float *x, const float *y, float *result);",
                 " *   ?n = ?m, because of `x *. y` (", " *   ?n is at least 3, because of `x +* k \"o <+ k; k => o\"` (",
                 " *   result     2*n x 2*n; ", " *   ?n is a multiple of 2, because of ", "int64_t forms_pair_total_elements(int64_t n, int64_t m);"):
        check(line in text, f"forms.h lacks: {line}")
    check("main(" not in text, "a program without let%main has no NAME_main")


def in_c(folder):
    """embed.c says what it expects; its exit status counts what did not hold."""
    program = os.path.join(HERE, "embed.c")
    for level, cpu in (("-O0", "x86-64-v2"), ("-O3", "x86-64-v2,x86-64-v3")):
        for source in ("training.tsr", "words.tsr"):
            built(TSRC, "-c", level, "--cpu=" + cpu if os.uname().machine == "x86_64" else "--verbose", os.path.join(HERE, source), "-o",
                  os.path.join(folder, source[:-3] + "o"))
        for compiler in ("gcc", "clang-19"):
            if not shutil.which(compiler):
                continue
            exe = os.path.join(folder, "embed" + level + compiler)
            if built(compiler, "-std=c11", *STRICT, "-D_GNU_SOURCE", "-g", "-I" + folder, program, os.path.join(folder, "training.o"),
                     os.path.join(folder, "words.o"), *RUNTIME, "-o", exe):
                status, out, err = run(exe, cwd=folder)
                check(status == 0 and err == "" and out.endswith("done\n"), f"{exe}: exit status {status}\n{out}{err}")
        status, out, err = run("valgrind", "-q", "--leak-check=full", "--error-exitcode=99", os.path.join(folder, "embed" + level + "gcc"), cwd=folder)
        check(status == 0, f"under valgrind at {level}: exit status {status}\n{out}{err}")


def lines(folder):
    """Wherever arrays begin, results are the same: an operand that is read in place is copied where it begins between two lines."""
    model = Model(folder, os.path.join(HERE, "lines.tsr"))
    functions = {"square": ((128, 128), (128, 128), f32), "batch": ((3, 96, 64), (3, 64, 192), f32), "doubles": ((96, 64), (64, 64), f64)}
    for name, (of_a, of_b, dtype) in functions.items():
        for behind in (0, 1, 4, 15):
            a, b = (np.empty(np.prod(s) + 32, dtype) for s in (of_a, of_b))
            a, b = (x[-x.ctypes.data % 64 // x.itemsize + behind:][:np.prod(s)].reshape(s) for x, s in ((a, of_a), (b, of_b)))
            a[:], b[:] = numbers(of_a, dtype), numbers(of_b, dtype, 2)
            got = np.empty(np.matmul(a, b).shape, dtype)
            check(model.call(name, [], [a, b], [got]) == 0 and np.array_equal(got, np.matmul(a, b)), f"{name}, {behind} elements behind a line")
    model.close()


def documents(folder):
    """The C of the documents compiles, and what has a main runs."""
    for document in ("README.md", "docs/runtime.md"):
        text = open(os.path.join(ROOT, document)).read()
        for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M):
            if body.startswith("(* model.tsr *)"):
                with open(os.path.join(folder, "model.tsr"), "w") as f:
                    f.write(body)
                built(TSRC, "-c", "model.tsr", cwd=folder)
            if language == "c":
                with open(os.path.join(folder, "main.c"), "w") as f:
                    f.write(body)
                exe = "main(" in body
                made = built("cc", *STRICT, "-I" + folder, *([] if exe else ["-c"]), "main.c", *(["model.o"] if exe else []), *RUNTIME[:1 if not exe else 9],
                             "-o", "main", cwd=folder)
                status, out, err = run(os.path.join(folder, "main")) if made and exe else (0, "0.0000", "")
                check(status == 0 and re.match(r"[01]\.\d{4}", out), f"{document}: exit status {status}\n{out}{err}")


with tempfile.TemporaryDirectory() as tmp:
    documents(tmp)
    for level in (("-O0",), ("-O3",), ("-O1", "-g", "--no-fuse")):
        model = Model(tmp, os.path.join(HERE, "forms.tsr"), *level)
        forms(model)
        other_forms(model)
        model.close()
    lines(tmp)
    interpreted(tmp)
    interpreted_in_order(tmp)
    headers(tmp)
    in_c(tmp)
end()
