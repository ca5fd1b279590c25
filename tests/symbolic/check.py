"""Programs compiled once and run at many sizes ?n, judged by NumPy: sizes that are solved, derived sizes, and the messages of
sizes that do not fit."""
import os, re, sys, tempfile
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
from tally import check, end, run  # noqa: E402

TSRC = os.path.abspath(os.path.join(sys.argv[1], "tsrc"))
X = 'let x = file (argument 1) ~as:"| -> ?n" ~format:"npy" ~prec:"f32"\n'
Y = 'let y = file (argument 2) ~as:"| -> ?m" ~format:"npy" ~prec:"f32"\n'
K = "let%op k = [1.; 10.; 100.]\n"


def windows(x, stride=1, pad=0):
    x = np.pad(x, pad)
    return np.array([x[i:i + 3] @ [1, 10, 100] for i in range(0, len(x) - 2, stride)])


# Rows of ?n by four columns, and places of rows and of what goes up to them.
ROWS = X + "let%op w = [1.; 0. - 2.; 3.; 0.5]\nlet%op v = x +* w \"n; m => n, m\"\n"
UP_TO = ('let%op r = let p = positions () ++ "s => s, 0, 0" [s] in let q = positions () ++ "t => 0, t, 0" [t] in set_equal s t; '
         '(where (q {} p) (v ++ "t, m => 0, t, m") {}) {} "s, t, m => s, m"')
SIZES = [(1, 0), (2, 0), (3, 0), (17, 0), (40, 0)]


def rows(x):
    return np.outer(x, [1, -2, 3, 0.5])


def maxima(v, fill, last):
    """Down the rows, where `fill` takes part in all but the last one."""
    v = np.maximum.accumulate(v)
    v[:last] = np.maximum(v[:last], fill)
    return v


# (name, program, expected shape under check, NumPy's answer, (n, m) that fit, {(n, m): message} of those that do not)
CASES = [
    ("the sum of concatenated axes", X + 'let%op r = (x, x) ++^ "i; j => i^j"', "2*?n", lambda x, y: np.concatenate([x, x]),
     [(1, 0), (2, 0), (7, 0)], {}),
    ("one more", X + 'let%op r = x ++ "i => 1^i"', r"?n+1", lambda x, y: np.concatenate([[0], x]), [(1, 0), (5, 0)], {}),
    ("a product over it", X + 'let%op r = x +* x "i; j => i j"', "?n, ?n", lambda x, y: np.outer(x, x), [(1, 0), (3, 0), (6, 0)], {}),
    ("a valid window", X + K + 'let%op r = x +* k "o <+ k; k => o"', "?n-2", lambda x, y: windows(x), [(3, 0), (4, 0), (9, 0)],
     {(2, 0): "x has 2 output positions (?n), and `x +* k \"o <+ k; k => o\"` needs at least 3", (1, 0): "x has 1 output position (?n), and"}),
    ("a padded window", X + K + 'let%op r = x +* k "o =+ k; k => o"', "?n", lambda x, y: windows(x, pad=1), [(1, 0), (2, 0), (8, 0)], {}),
    ("a strided window", X + K + 'let%op r = x +* k "2*o <+ k; k => o"', "((?n-1)/2)", lambda x, y: windows(x, 2), [(3, 0), (5, 0), (11, 0)],
     {(4, 0): "?n-1 is 3 (?n is 4), and `x +* k \"2*o <+ k; k => o\"` needs a multiple of 2"}),
    ("a stride", X + 'let%op r = x ++ "2*o => o"', "(?n/2)", lambda x, y: x[::2], [(2, 0), (4, 0), (10, 0)],
     {(5, 0): "x has 5 output positions (?n), and `x ++ \"2*o => o\"` needs a multiple of 2"}),
    ("a window of a concatenation", X + K + 'let%op b = (x, x) ++^ "i; j => i^j"\nlet%op r = b +* k "o <+ k; k => o"', "2*?n-2",
     lambda x, y: windows(np.concatenate([x, x])), [(2, 0), (5, 0)], {(1, 0): "x has 1 output position (?n), and `b +* k \"o <+ k; k => o\"` needs at least 2"}),
    ("sums of rows up to each", ROWS + UP_TO.format("<=", "0.", "++"), "?n, 4", lambda x, y: np.cumsum(rows(x), 0), SIZES, {}),
    ("sums of rows before each", ROWS + UP_TO.format("<", "0.", "++"), "?n, 4", lambda x, y: np.cumsum(rows(x), 0) - rows(x), SIZES, {}),
    ("sums of rows behind each", ROWS + UP_TO.format(">", "0.", "++"), "?n, 4", lambda x, y: np.cumsum(rows(x)[::-1], 0)[::-1] - rows(x), SIZES, {}),
    ("maxima of rows up to each, and a number", ROWS + UP_TO.format("<=", "(0. - 3.)", "@^^"), "?n, 4", lambda x, y: maxima(rows(x), -3, len(x) - 1), SIZES, {}),
    ("maxima of rows from each on, and a number", ROWS + UP_TO.format(">=", "1.25", "@^^"), "?n, 4",
     lambda x, y: maxima(rows(x)[::-1], 1.25, len(x) - 1)[::-1], SIZES, {}),
    ("solved by a number", X + "let%op r = [1.; 2.; 3.; 4.] *. x", "4", lambda x, y: x * [1, 2, 3, 4], [(4, 0)],
     {(3, 0): "holds f32 (3,), and the program was compiled for f32 (4,)"}),
    ("solved by another", X + Y + "let%op r = x + y", "?n", lambda x, y: x + y, [(1, 1), (6, 6)], {(2, 3): "holds f32 (3,)", (3, 1): "holds f32 (1,)"}),
    ("solved by what is derived", X + Y + 'let%op r = (x ++ "i => 1^i^1") + y', "?n+2", lambda x, y: np.pad(x, 1) + y, [(1, 3), (4, 6)],
     {(4, 5): "y has 5 output positions (?m) and ?n+2 is 6 (?n is 4), and", (2, 2): "y has 2 output positions (?m) and ?n+2 is 4 (?n is 2)"}),
    ("solved by a stride", X + Y + 'let%op r = (x ++ "2*o => o") + y', "(?n/2)", lambda x, y: x[::2] + y, [(2, 1), (6, 3)],
     {(6, 2): "y has 2 output positions (?m) and (?n/2) is 3 (?n is 6)", (5, 2): "x has 5 output positions (?n), and"}),
    ("two quotients", X + Y + 'let%op r = (x ++ "2*o => o") + (y ++ "3*o => o")', "(?n/2)", lambda x, y: x[::2] + y[::3], [(2, 3), (4, 6)],
     {(4, 3): "(?n/2) is 2 (?n is 4) and (?m/3) is 1 (?m is 3), and", (2, 4): "y has 4 output positions (?m), and `y ++ \"3*o => o\"` needs a multiple of 3"}),
    ("a run-time 1 does not stretch", X + Y + "let%op r = x +* y \"i; i => i\"", "?n", lambda x, y: x * y, [(1, 1), (3, 3)],
     {(3, 1): "holds f32 (1,)"}),
    # the Broadcastable trait (tests/unit/broadcastable.c): where it has undefined behaviour, and where it would stretch a ? that is 1
    ("trait: ? with ?", X + Y + "let%op r = x + y", "?n", lambda x, y: x + y, [(1, 1), (4, 4)],
     {(2, 3): "holds f32 (3,), and the program was compiled for f32 (2,)", (3, 1): "holds f32 (1,)", (1, 3): "holds f32 (3,)"}),
    ("trait: ? with 1", X + "let%op one = ([2.] : bcast_if_1)\nlet%op r = x + one", "?n", lambda x, y: x + 2, [(1, 0), (2, 0), (5, 0)], {}),
    ("trait: ? with >1", X + "let%op r = [1.; 2.; 3.; 4.] + x", "4", lambda x, y: x + [1, 2, 3, 4], [(4, 0)],
     {(1, 0): "holds f32 (1,), and the program was compiled for f32 (4,)", (5, 0): "holds f32 (5,)"}),
    ("trait: ranks grow on the left", X + "let%op r = [[1.; 2.; 3.]; [4.; 5.; 6.]] + x", "2, 3",
     lambda x, y: x + [[1, 2, 3], [4, 5, 6]], [(3, 0)], {(2, 0): "holds f32 (2,)", (1, 0): "holds f32 (1,)"}),
    ("trait: three operands", X + Y + "let%op r = x + y + [[1.; 2.]; [3.; 4.]]", "2, 2", lambda x, y: x + y + [[1, 2], [3, 4]], [(2, 2)],
     {(2, 1): "holds f32 (1,)", (1, 2): "holds f32 (1,)", (3, 3): "holds f32 (3,)"}),
    ("trait: ? annotated with a static size", X + Y + 'let%op r = let s = (x + y) ++ "i => i" [i] in set_dim i 4; s', "4", lambda x, y: x + y, [(4, 4)],
     {(3, 3): "holds f32 (3,), and the program was compiled for f32 (4,)", (1, 1): "holds f32 (1,)", (4, 3): "holds f32 (3,)"}),
    ("trait: static where ? is annotated", X + "let%op s = [1.; 2.] +* x \"i; j => i\"\nlet%op r = s + [10.; 20.]", "2",
     lambda x, y: np.array([1, 2]) * x.sum() + [10, 20], [(1, 0), (3, 0)], {}),
]


def numbers(text):
    return np.array([float(w) for w in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text)])


def one(folder, name, program, shape, answer, fits, refused):
    path = os.path.join(folder, "p.tsr")
    with open(path, "w") as f:
        f.write(program + "\nlet%main () = print r\n")
    status, out, err = run(TSRC, "check", path)
    check(f"r : {shape}\n" in out, f"{name}: expected r : {shape}\n{out}{err}")
    status, out, err = run(TSRC, path, "-o", os.path.join(folder, "p"))
    if status:
        return check(False, f"{name}: {err}")
    for n, m in fits + list(refused):
        x, y = (np.arange(1, size + 1, dtype=np.float32) for size in (n, m))
        np.save(os.path.join(folder, "x.npy"), x)
        np.save(os.path.join(folder, "y.npy"), y)
        for command in ([os.path.join(folder, "p")], [TSRC, "run", "--interp", "p.tsr"]):
            status, out, err = run(*command, "x.npy", "y.npy", cwd=folder)
            if (n, m) in refused:
                check(status == 1 and refused[n, m] in err and "p.tsr:" in err, f"{name} at {n}, {m}: exit status {status}\n{out}{err}")
                continue
            body = out.split("  " if np.ndim(answer(x, y)) == 1 else "\n", 1)[-1]
            got, want = numbers(body), np.ravel(answer(x, y))
            check(status == 0 and got.shape == want.shape and np.allclose(got, want), f"{name} at {n}, {m}: {got}, not {want}\n{out}{err}")


with tempfile.TemporaryDirectory() as tmp:
    for case in CASES:
        one(tmp, *case)
end()
