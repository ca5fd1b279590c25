#!/usr/bin/env python3
"""The runtime against NumPy and against the linker.

    check.py BUILD

NumPy writes arrays that the runtime reads (BUILD/unit/runtime_file show) and reads what the runtime saves; and a program
like a compiled hello.tsr is linked, to see that it contains nothing it does not use."""
import os, pty, subprocess, sys, tempfile, time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
from tally import check, compiler, end  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **how):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **how)


PRECS = {"bool": "?", "u8": "u1", "i8": "i1", "i16": "<i2", "i32": "<i4", "u32": "<u4", "i64": "<i8", "f16": "<f2",
         "f32": "<f4", "f64": "<f8"}


def same(tool, array, path, *key):
    """The runtime sees the array as NumPy does, bit for bit, in C order."""
    out = run(tool, "show", path, *key).stdout
    name = next(k for k, v in PRECS.items() if np.dtype(v) == array.dtype)
    want = " ".join([name, *map(str, array.shape)]) + "\n" + array.tobytes("C").hex() + "\n"
    check(out == want, f"{name} {array.shape} from {os.path.basename(path)} {key}: {out[:100]}")


def arrays(rng):
    for dtype in PRECS.values():
        for shape in [(), (3,), (2, 3), (4, 1, 5), (2, 3, 2, 2), (0, 3)]:
            a = (rng.standard_normal(shape) * 50).astype(dtype)
            yield np.array(a)
            if a.ndim > 1:
                yield np.asfortranarray(a)


def check_reading(tool, folder):
    rng = np.random.default_rng(5)
    everything = {}
    for n, a in enumerate(arrays(rng)):
        path = f"{folder}/a.npy"
        for version in [(1, 0), (2, 0), (3, 0)][: 3 if n % 5 == 0 else 1]:
            with open(path, "wb") as f:
                np.lib.format.write_array(f, a, version=version)
            same(tool, a, path)
        everything[f"k{n}"] = a
    for save in np.savez, np.savez_compressed:
        save(f"{folder}/all.npz", **everything)
        for key in list(everything)[::7]:
            same(tool, everything[key], f"{folder}/all.npz", key)
    np.savez(f"{folder}/one.npz", only=np.arange(5))
    same(tool, np.arange(5), f"{folder}/one.npz")
    np.save(f"{folder}/big.npy", np.arange(3, dtype=">i4"))
    out = run(tool, "show", f"{folder}/big.npy").stdout
    check(out == "error: holds big-endian numbers ('>i4'); save it with .astype('<i4')\n", out)
    table = rng.standard_normal((20, 3)).astype("f4")
    np.savetxt(f"{folder}/t.csv", table, delimiter=",", header="a,b,c", comments="", fmt="%.9g")
    same(tool, table, f"{folder}/t.csv")
    same(tool, table[:, 1], f"{folder}/t.csv", "b")
    same(tool, table[:, 1:3], f"{folder}/t.csv", "1..2")


def check_damage(tool, folder):
    """A deflated archive with any one byte changed gives the array or one line, and never ends otherwise."""
    np.savez_compressed(f"{folder}/d.npz", a=np.arange(40, dtype="i4"))
    good = open(f"{folder}/d.npz", "rb").read()
    rng = np.random.default_rng(6)
    bad = 0
    for k in list(range(0, len(good), 3)):
        data = bytearray(good)
        data[k] ^= int(rng.integers(1, 256))
        with open(f"{folder}/bad.npz", "wb") as f:
            f.write(data)
        r = run(tool, "show", f"{folder}/bad.npz", "a")
        right = r.returncode == 0 and r.stdout.startswith("i32 40\n" + np.arange(40, dtype="i4").tobytes().hex())
        line = r.returncode == 1 and r.stdout.startswith("error: ") and r.stdout.count("\n") == 1
        bad += not (right or line)
    check(bad == 0, f"{bad} damaged archives were neither read rightly nor refused")


def check_saving(tool, folder):
    run(tool, "save", f"{folder}/s.npy")
    f = np.array([[1, 2.5, -3], [0, 1e-30, 7]], "f4")
    check(np.array_equal(np.load(f"{folder}/s.npy"), f), "a saved npy")
    run(tool, "save", f"{folder}/s.npz")
    z = np.load(f"{folder}/s.npz")
    check(z.files == ["f", "u", "scalar", "b", "h", "empty"], str(z.files))
    check(np.array_equal(z["f"], f) and z["f"].dtype == "<f4", "a saved npz, f")
    check(np.array_equal(z["u"], np.array([0, 1, 255], "u1")), "a saved npz, u")
    check(z["scalar"].shape == () and z["scalar"] == 0.5, "a saved npz, scalar")
    check(np.array_equal(z["b"], [False, True, True]) and z["b"].dtype == bool, "a saved npz, b")
    check(z["empty"].shape == (0,) and z["empty"].dtype == "<i4", "a saved npz, empty")


def check_executable(build, folder):
    """Small, quick to start, and free of formats that it does not name."""
    base = [*compiler(), "-O2", f"{HERE}/program.c", f"{build}/libtessera.a", "-Wl,--gc-sections", "-s"]
    r = run(*base, "-lm", "-o", f"{folder}/hello")
    check(r.returncode == 0, r.stderr)
    check(os.path.getsize(f"{folder}/hello") < 100_000, f"hello has {os.path.getsize(f'{folder}/hello')} bytes")
    libraries = {line.split()[0] for line in run("ldd", f"{folder}/hello").stdout.splitlines()}
    libraries = {name for name in libraries if not name.startswith(("linux-vdso", "/lib", "libc.so", "libm.so"))}
    check(not libraries, f"hello needs {libraries}")
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        r = run(f"{folder}/hello")
        best = min(best, time.perf_counter() - start)
    check(r.stdout == "y : 2  [0. 7.5]\n", r.stdout)
    check(best < 0.05, f"hello takes {best * 1000:.1f} ms")
    r = run(*base, "-DFILES", "-Wl,-Bstatic", "-lminizip", "-lz", "-Wl,-Bdynamic", "-lm", "-o", f"{folder}/files")
    check(r.returncode == 0, r.stderr)
    check("libz" not in run("ldd", f"{folder}/files").stdout, "zlib is not linked statically")
    np.savez_compressed(f"{folder}/y.npz", y=np.array([1, 2], "f4"))
    r = run(f"{folder}/files", cwd="/")
    check(r.stdout == "y : 2  [1. 2.]\n", r.stdout + r.stderr)
    np.savez_compressed(f"{folder}/y.npz", y=np.array([1, 2], "f8"))
    r = run(f"{folder}/files", "--data", folder, cwd="/")
    want = f"hello.tsr:1:1: error: {folder}/y.npz[y]: holds f64 (2,), and the program was compiled for f32 (2,)\n"
    check(r.returncode == 1 and r.stderr == want, r.stderr)
    os.remove(f"{folder}/y.npz")
    r = run(f"{folder}/files", cwd="/")
    want = (f"hello.tsr:1:1: error: y.npz: no such file in the working directory or {os.path.realpath(folder)} "
            "(--data DIR names another place)\n")
    check(r.returncode == 1 and r.stderr == want, r.stderr)


def on_terminal(path):
    """What a program writes to a terminal that is its standard output and error."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen([path], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:                  # the other side is closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    p.wait()
    return text.decode().replace("\r\n", "\n")


def check_progress(build, folder):
    """Plain lines elsewhere; on a terminal a bar that is gone before anything else is written."""
    path = f"{folder}/bar"
    r = run(*compiler(), "-DBAR", f"{HERE}/program.c", f"{build}/libtessera.a", "-lm", "-o", path)
    check(r.returncode == 0, r.stderr)
    r = run(path)
    check(r.stdout == "1\n2\n3\ny : 2  [0. 7.5]\n", r.stdout)
    check(r.stderr == "step 1/4\nstep 2/4\nstep 3/4\n", r.stderr)
    try:
        text = on_terminal(path)
    except OSError as e:
        print(f"no pseudo-terminal is to be had here ({e}): the progress bar is not tested")
        return
    bar = "\rstep [#######.......................] 1/4\r\x1b[K"
    check(text == bar + "1\n2\n3\ny : 2  [0. 7.5]\n", repr(text))


def main(build):
    tool = os.path.abspath(f"{build}/unit/runtime_file")
    with tempfile.TemporaryDirectory() as folder:
        check_reading(tool, folder)
        check_damage(tool, folder)
        check_saving(tool, folder)
        check_executable(os.path.abspath(build), folder)
        check_progress(os.path.abspath(build), folder)
    end()


if __name__ == "__main__":
    main(*sys.argv[1:])
