"""What compiling costs, and what the executable is: its size, its start, what it needs; the training of examples/digits.tsr against
the same in NumPy."""
import os, re, subprocess, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import widths
from common import HERE, ROOT, Missing, Worker, in_turns, least, seconds

TRIVIAL_C = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
EXAMPLES = os.path.join(ROOT, "examples")
milliseconds = lambda x: f"{x * 1e3:.2f} ms"


def limited(bench, work, results, name, limit):
    """A time and the most that it may be."""
    try:
        x = least(results, name)
    except Missing as why:
        bench.table.missing(work, why)
        return
    bench.table.row(work, milliseconds(x), goal=f"< {limit * 1e3:g} ms", met=x < limit)


def compiling(bench):
    bench.written("trivial.c", TRIVIAL_C)
    compiled = lambda source, name: lambda: seconds([bench.tsrc, source, "-o", bench.path(name)])
    r = in_turns(bench.rounds, {
        "hello": compiled("examples/hello.tsr", "hello"), "digits": compiled("examples/digits.tsr", "digits"),
        "cc": lambda: seconds(["cc", "-O2", bench.path("trivial.c"), "-o", bench.path("trivial")]),
    })
    r.update(in_turns(min(bench.rounds, 3), {"gpt": compiled("tests/bench/gpt.tsr", "gpt")}))
    shared = "libLLVM" in subprocess.run(["ldd", bench.tsrc], stdout=subprocess.PIPE, text=True).stdout
    limited(bench, f"compile hello.tsr, {'shared' if shared else 'static'} libLLVM", r, "hello", 0.1 if shared else 0.05)
    limited(bench, "compile digits.tsr", r, "digits", 1)
    limited(bench, "compile the GPT, 6 blocks, training", r, "gpt", 3)
    bench.table.row("  beside: cc on a trivial C program", milliseconds(least(r, "cc")))


def needed(exe):
    out = subprocess.run(["objdump", "-p", exe], stdout=subprocess.PIPE, text=True).stdout
    return set(re.findall(r"NEEDED\s+(\S+)", out))


def hello(bench):
    exe = bench.path("hello")
    if not os.path.exists(exe):
        raise Missing("hello did not compile")
    r = in_turns(5 * bench.rounds, {"hello": lambda: seconds([exe]), "C": lambda: seconds([bench.path("trivial")])})
    size = os.path.getsize(exe)
    bench.table.row("size of hello", f"{size / 1e3:.1f} KB", goal="< 100 KB", met=size < 100e3)
    limited(bench, "start and end of hello", r, "hello", 5e-3)
    bench.table.row("  beside: the C program", milliseconds(least(r, "C")))
    bench.table.row("what hello needs", ", ".join(x.split(".")[0] for x in sorted(needed(exe))), goal="libc, libm",
                    met=needed(exe) <= {"libc.so.6", "libm.so.6", "libomp.so.5"})


def checked(bench, source, *flags):
    """Solver steps, and seconds of shape inference."""
    out = subprocess.run([bench.tsrc, "check", "--time", *flags, source], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    steps, laps = re.search(r"(\d+) solver steps", out.stderr), re.findall(r"(?:graph|shape) +([0-9.]+) ms", out.stderr)
    if not steps or not laps:
        raise Missing(f"{os.path.basename(source)} does not check")
    return int(steps.group(1)), sum(map(float, laps)) / 1e3


def steps(bench, blocks):
    """Solver steps for gpt.tsr with so many blocks, parameters, initial values and the optimiser included."""
    with open(os.path.join(HERE, "gpt.tsr")) as f:
        text = f.read().replace("let layers = 6", f"let layers = {blocks}").replace('"../../', f'"{ROOT}/')
    source = bench.written("blocks.tsr", text)
    return checked(bench, source)[0]


def further(bench, kind, *flags):
    """Steps and seconds, elaboration included, that a further application takes at a width of its own, of 96; the arguments are taken off."""
    def of(n, blocks):
        source = bench.written("widths.tsr", widths.program(kind, n, blocks))
        found = [checked(bench, source, *flags) for _ in range(bench.rounds)]
        return found[0][0], min(x[1] for x in found)
    with_them, without = [of(n, True) for n in (96, 8)], [of(n, False) for n in (96, 8)]
    return [(with_them[0][i] - with_them[1][i] - without[0][i] + without[1][i]) / 88 for i in range(2)]


def inference(bench):
    one, many = steps(bench, 1), steps(bench, 96)
    bench.table.row("solver steps, a transformer of 96 blocks", f"{many}", f"of 1 block {one}", many / one, 3, most=True)
    for kind in widths.KINDS:
        (n, t), (emitted, alone) = further(bench, kind), further(bench, kind, "--no-share")
        bench.table.row(f"steps, {kind}", f"{n:.0f}", f"emitted {emitted:.0f}", n / emitted, 0.25, most=True)
        bench.table.row("  elaborated and inferred, each of 96", f"{t * 1e6:.0f} us", f"emitted {alone * 1e6:.0f} us", t / alone)


def digits(bench):
    """The training alone on both sides: for the executable, all of it less the same program with no epochs."""
    with open(os.path.join(EXAMPLES, "digits.tsr")) as f:
        text, changed = re.subn(r"for epoch = 1 to 20 do", "for epoch = 1 to 0 do", f.read())
    if not changed:
        raise Missing("examples/digits.tsr has no loop `for epoch = 1 to 20`")
    os.symlink(os.path.join(EXAMPLES, "data"), bench.path("data"))
    bench.program(bench.written("no_epochs.tsr", text), "no_epochs")
    bench.program("examples/digits.tsr", "digits")
    numpy = Worker([sys.executable, os.path.join(HERE, "digits_numpy.py")])
    r = in_turns(2 * bench.rounds, {
        "digits": lambda: seconds([bench.path("digits")], EXAMPLES), "no epochs": lambda: seconds([bench.path("no_epochs")], EXAMPLES),
        "NumPy": numpy.ask,
    })
    numpy.end()
    training, theirs = least(r, "digits") - least(r, "no epochs"), least(r, "NumPy")
    bench.table.row("digits.tsr, the whole run", milliseconds(least(r, "digits")))
    bench.table.row("digits.tsr, the training alone", milliseconds(training), f"NumPy {milliseconds(theirs)}", theirs / training, 2)


def measure(bench):
    bench.table.heading("Compiling, and the executable; one thread")
    for part in (compiling, inference, hello, digits):
        try:
            part(bench)
        except (Missing, OSError) as why:
            bench.table.missing(part.__name__, why)
