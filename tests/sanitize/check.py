#!/usr/bin/env python3
"""Programs of `tsrc --sanitize` leave no array: an access outside one stops them with the address sanitizer's report.

Products and windows at sizes around the edges of tiles, divided among threads and not; every few of the programs of tests/run and
of the worked examples; random index forms of tests/forms: at -O2 and -O3, whose loops LLVM sees otherwise, and they print what they print otherwise. Then faults planted
in the compiler, each of which moves something to where it does not belong, and each must be stopped.

    check.py BUILD [--whole] [--seed N]      --whole: all programs, and more random ones
"""
import argparse, glob, os, random, re, sys, tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/tools"), os.path.join(ROOT, "tests/forms")]
import groups  # noqa: E402
import printed  # noqa: E402
import tally  # noqa: E402
from tally import check  # noqa: E402

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1"]
STOPPED = "ERROR: AddressSanitizer"


def watched(tsrc, source, program, *options, level="-O2"):
    status, _, errors = tally.run(tsrc, "--sanitize", level, *options, source, "-o", program)
    return check(status == 0, f"{source}: {errors}")


def started(program, *args, cwd=None):
    """What memory the program still has at its end is not asked: that is valgrind's in tests/run-tests."""
    return tally.run(program, *args, cwd=cwd, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0", OMP_NUM_THREADS="3"))


def ends_well(program, source, *args, cwd=None):
    status, out, errors = started(program, *args, cwd=cwd)
    return out if check(status == 0, f"{source}: exit status {status}\n{errors[:1500]}") else None


# ---- products and windows ------------------------------------------------------------------------------------------------

def whole_numbers(shape, modulus):
    return np.arange(int(np.prod(shape)), dtype=float).reshape(shape) % modulus - modulus // 2


def product(rng, n):
    """Lines, what is printed, and its value: an order of axes that is read in place, turned, or with both sides packed."""
    edges = [1, 5, 6, 7, 13, 15, 16, 17, 31, 33, 47, 49, 63, 64, 65]
    size = {c: rng.choice(edges) for c in "mnk"}
    size.update(b=rng.choice([1, 2, 3]), j=rng.choice([2, 3]))
    a, b, c = rng.choice([("mk", "kn", "mn"), ("km", "kn", "mn"), ("mk", "nk", "mn"), ("bmk", "bkn", "bmn"), ("mkj", "jkn", "nm"),
                          ("mk", "knj", "mjn"), ("kbm", "nkb", "mn"), ("bmk", "bkn", "mnb")])
    left, right = (whole_numbers([size[x] for x in axes], 5 + i) for i, axes in enumerate((a, b)))
    value = np.einsum(f"{a},{b}->{c}", left, right)
    spec = f"{', '.join(a)}; {', '.join(b)} => {', '.join(c)}"
    lines = ["let%%op %s%d = { %s%d = (positions () %% %d) *. 1. - %d.; o = [%s] }"
             % (x, n, x, n, 5 + i, (5 + i) // 2, "; ".join(str(size[y]) for y in axes)) for i, (x, axes) in enumerate((("a", a), ("b", b)))]
    lines += ['let%%op c%d = a%d +* b%d "%s"' % (n, n, n, spec), 'let%%op s%d = (c%d *. c%d) ++ "... => 0"' % (n, n, n),
              "let%%cd g%d = grad_update s%d" % (n, n), 'let%%op t%d = a%d.grad ++ "... => 0"' % (n, n)]
    return lines[:-1], f"print s{n}; run g{n}; print s{n}", (f"s{n}", (value * value).sum())


def window(rng, n):
    h, k, c, d = rng.choice([5, 9, 16, 17]), rng.choice([2, 3]), rng.choice([1, 3, 8]), rng.choice([1, 7, 16])
    x, w = whole_numbers((h, c), 5), whole_numbers((d, k, c), 3)
    padded = rng.random() < 0.5
    before = k // 2 if padded else 0
    rows = h if padded else h - k + 1
    wide = np.pad(x, ((before, k), (0, 0)))
    value = sum(wide[i:i + rows] @ w[:, i].T for i in range(k))
    lines = ["let%%op a%d = { a%d = (positions () %% 5) *. 1. - 2.; o = [%d; %d] }" % (n, n, h, c),
             "let%%op b%d = { b%d = (positions () %% 3) *. 1. - 1.; o = [%d; %d; %d] }" % (n, n, d, k, c),
             'let%%op c%d = a%d +* b%d "o %s k, c; d, k, c => o, d"' % (n, n, n, "=+" if padded else "<+"),
             'let%%op s%d = (c%d *. c%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, f"print s{n}; run g{n}; print s{n}", (f"s{n}", (value * value).sum())


def written(folder, name, draws):
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w") as f:
        f.write("open Train\n" + "\n".join(line for d in draws for line in d[0]) + "\nlet%main () =\n  "
                + ";\n  ".join(d[1] for d in draws) + "\n")
    return path, dict(d[2] for d in draws)


def shapes(tsrc, folder, rng, count):
    source, expected = written(folder, "shapes", [(window if i % 4 == 3 else product)(rng, i) for i in range(count)])
    for threads, level in (("none", "-O3"), ("none", "-O2"), ("all", "-O2")):
        program = os.path.join(folder, "shapes-" + threads)
        out = ends_well(program, source) if watched(tsrc, source, program, "--threads=" + threads, level=level) else None
        got = printed.tensors(out) if out else {}
        for name, value in expected.items():
            check(name in got and abs(got[name][0] - value) <= 1e-5 * abs(value), f"{source} {name}: {got.get(name)}, not {value}")
    return source


# Columns that lie three apart to the very end of an array: vectors over them, with what lies between, would leave it.
APART = """
open Train
let%op a = { a = (positions () % 5) *. 1. - 2.; o = [15; 3; 63] }
let%op b = { b = (positions () % 6) *. 1. - 3.; o = [63; 32; 3] }
let%op c = a +* b "m, b, k; k, n, b => b, m, n"
let%op s = (c *. c) ++ "... => 0"
let%cd g = grad_update s
let%main () = run g; print b.grad
"""


def columns_apart(tsrc, folder):
    source, program = os.path.join(folder, "apart.tsr"), os.path.join(folder, "apart")
    with open(source, "w") as f:
        f.write(APART)
    if watched(tsrc, source, program):
        ends_well(program, source)


# ---- programs that are there -------------------------------------------------------------------------------------------------

def programs(tsrc, folder, step):
    found = sorted(glob.glob(os.path.join(ROOT, "tests/run/*.out"))) + sorted(glob.glob(os.path.join(ROOT, "tests/run/documents/*.out")))
    for i, path in enumerate(found[::step]):
        source, program = path[:-4] + ".tsr", os.path.join(folder, "program")
        args = open(path[:-4] + ".args").read().split() if os.path.exists(path[:-4] + ".args") else []
        if not os.path.exists(source) or not watched(tsrc, source, program, level=("-O2", "-O3")[i % 2]):
            continue
        out = ends_well(program, source, "--data", os.path.dirname(source), *args, cwd=os.path.dirname(source))
        plain = lambda text: re.sub(r"\s+", "", printed.NUMBER.sub("#", text))
        check(out is not None and plain(out) == plain(open(path).read()), f"{source}: another output\n{(out or '')[:500]}")


def forms(tsrc, folder, seed, count):
    for name in ("convolution", "pooling", "joined", "taken", "gathered", "product"):
        rng = random.Random(f"{seed} {name}")
        cases = [groups.GROUPS[name][0](rng, n) for n in range(count)]
        source, program = os.path.join(folder, name + ".tsr"), os.path.join(folder, name)
        with open(source, "w") as f:
            f.write("open Train\nopen Nn\n" + "\n".join(line for c in cases for line in c.lines) + "\nlet%main () =\n  "
                    + ";\n  ".join(step for c in cases for step in c.main) + "\n")
        out = ends_well(program, source) if watched(tsrc, source, program) else None
        got = printed.tensors(out or "")
        for c in cases:
            bad = [n for n, v in c.expected.items() if v is not None and not callable(v)
                   and (n not in got or len(got[n]) != v.size or not np.allclose(got[n], v.ravel(), rtol=1e-5))]
            check(not bad, f"{source} {c.text}: {bad} differ")


# ---- faults in the compiler -----------------------------------------------------------------------------------------------------

# Too short to be walked together, rows of which lie elsewhere.
ROWS = """
let%op x = { x = (positions () % 5) *. 1. - 2.; o = [40; 7] }
let%op e = exp x
let%op y = e /. (e ++ "r, c => r, 0")
let%op s = y *. y ++ "... => 0"
let%main () = print s
"""

PLAIN = """
let%op x = { x = (positions () % 5) *. 1. - 2.; o = [7; 9] }
let%op y = x @^^ "r, c => r"
let%main () = print y
"""


def planted(build, number):
    """A tsrc with the fault, beside the real one, since it looks for what it needs there."""
    source = [p for p in glob.glob(os.path.join(ROOT, "compiler/*/*.c")) if f"TSR_PLANTED({number})" in open(p).read()]
    with open(os.path.join(build, "machine.mk")) as f:
        made = dict(re.findall(r"^(LLVM_\w+) := (.*)$", f.read(), re.M))
    program = os.path.join(build, f"tsrc-planted-{number}")
    status, out, errors = tally.run(*tally.compiler("gcc"), *FLAGS, *made["LLVM_CFLAGS"].split(), f"-DTSR_PLANT={number}",
        "-I" + os.path.join(build, "gen"), *source, os.path.join(build, "obj/compiler/main.o"), os.path.join(build, "libtsrc.a"),
        os.path.join(build, "libtessera.a"), "-Wl,--as-needed", *made["LLVM_LIBS"].split(), "-lminizip", "-lz", "-lm", "-o", program)
    return program if check(len(source) == 1 and status == 0, f"plant {number} in {source}: {errors[:2000]}") else None


def faults(build, folder, rng):
    tiles, _ = written(folder, "tiles", [product(random.Random(6), 0)])
    for number, text, options in ((21, PLAIN, ["--threads=none"]), (22, tiles, ["--threads=none"]), (22, tiles, ["--threads=all"]),
                                  (23, tiles, ["--threads=none"]), (23, tiles, ["--threads=all"]), (24, ROWS, ["--threads=all"])):
        source = text if os.path.exists(text) else os.path.join(folder, "fault.tsr")
        if source != text:
            with open(source, "w") as f:
                f.write(text)
        program = os.path.join(folder, "fault")
        tsrc = os.path.join(build, f"tsrc-planted-{number}")
        tsrc = tsrc if os.path.exists(tsrc) else planted(build, number)
        if not tsrc or not watched(tsrc, source, program, *options):
            continue
        status, _, errors = started(program)
        check(status != 0 and STOPPED in errors, f"plant {number} {options}: exit status {status}, not stopped\n{errors[:500]}")
    for path in glob.glob(os.path.join(build, "tsrc-planted-*")):
        os.unlink(path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--whole", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    build = os.path.abspath(o.build)
    tsrc, rng = os.path.join(build, "tsrc"), random.Random(o.seed)
    for path in glob.glob(os.path.join(build, "tsrc-planted-*")):
        os.unlink(path)
    with tempfile.TemporaryDirectory() as folder:
        shapes(tsrc, folder, rng, 40 if o.whole else 8)
        columns_apart(tsrc, folder)
        programs(tsrc, folder, 1 if o.whole else 6)
        forms(tsrc, folder, o.seed, 40 if o.whole else 3)
        faults(build, folder, rng)
    tally.end()


main()
