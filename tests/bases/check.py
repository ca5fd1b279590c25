"""Bases of axes, as a table: where a size comes from (a literal, a declaration, a file, a spec) against what it meets (the same
basis, `default`, another name, the claim-free unit, a named 1).  Only the claim-free unit stretches; bases that differ are E0402,
sizes that differ are E0401, and derived sizes bear the name of their parts, where a name beats `default`."""
import os, re, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
from tally import check, end, run  # noqa: E402

TSRC = os.path.abspath(os.path.join(sys.argv[1], "tsrc"))
UNIT = "bcast_if_1"
# (size, basis); None is `default`
KINDS = [(3, None), (3, "rgb"), (3, "hsv"), (1, None), (1, "rgb"), (1, UNIT)]


def axis(kind):
    return f"({kind[0]} : {kind[1]})" if kind[1] else str(kind[0])


def literal(name, kind):
    data = "[" + "; ".join(["1."] * kind[0]) + "]"
    return f"let%op {name} = " + (f"({data} : {kind[1]})" if kind[1] else data)


def declaration(name, kind):
    return f"let%op {name} = {{ {name} = 0.; o = [{axis(kind)}] }}"


def data_file(name, kind):
    return f'let {name} = file (argument 1) ~as:"| -> {axis(kind)}" ~format:"npy" ~prec:"f32"'


def through_spec(name, kind):
    """A spec renames axes and keeps what they are."""
    return declaration(f"{name}0", kind) + f'\nlet%op {name} = {name}0 ++ "i => i"'


SOURCES = [literal, declaration, data_file, through_spec]


def written(kind):
    """As `tsrc check` prints an axis."""
    size, basis = kind
    return "1*" if basis == UNIT else f"{basis}:{size}" if basis else str(size)


def asked(lines):
    """The codes of the errors by line, and the shapes by name, where there is no error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.tsr")
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        _, out, err = run(TSRC, "check", path, cwd=folder)
    codes = {}
    for line, code in re.findall(r"p\.tsr:(\d+):\d+: error\[(E\d+)\]", err):
        codes.setdefault(int(line), code)
    return codes, dict(re.findall(r"(?m)^(\w+) : (.*)$", out))


def answers(lines, results):
    """For each name in results, each on its line, its shape, or the code of the error there."""
    lines = "\n".join(lines).split("\n")
    codes, _ = asked(lines)
    _, shapes = asked([line for i, line in enumerate(lines) if i + 1 not in codes])
    at = {m[1]: i + 1 for i, line in enumerate(lines) for m in [re.match(r"let%op (\w+) =", line)] if m}
    return [codes.get(at[r]) or shapes.get(r) for r in results]


def meets(a, b):
    if UNIT in (a[1], b[1]):
        return written(b if a[1] == UNIT else a)
    return written(a) if a == b else "E0402" if a[1] != b[1] else "E0401"


def pointwise():
    """Every kind of axis from every source against every other."""
    for source in SOURCES:
        for other in SOURCES:
            for a in KINDS:
                lines = [source("a", a)]
                lines += [other(f"b{i}", b) for i, b in enumerate(KINDS)]
                lines += [f"let%op r{i} = a + b{i}" for i in range(len(KINDS))]
                for b, got in zip(KINDS, answers(lines, [f"r{i}" for i in range(len(KINDS))])):
                    check(got == meets(a, b), f"{source.__name__} {axis(a)} + {other.__name__} {axis(b)}: {got}, not {meets(a, b)}")


def merged(a, b, size):
    """The basis of what is derived from both: a name beats default, two names clash."""
    names = {x[1] for x in (a, b)} - {None, UNIT}
    return "E0402" if len(names) > 1 else written((size, names.pop() if names else None))


def concatenated():
    for a in KINDS:
        for b in KINDS:
            lines = [declaration("a", a), declaration("b", b), 'let%op r = (a, b) ++^ "i; j => i^j"']
            got, want = answers(lines, ["r"])[0], merged(a, b, a[0] + b[0])
            check(got == want, f"{axis(a)} ^ {axis(b)}: {got}, not {want}")


def strided():
    for basis in (None, "rgb"):
        lines = [declaration("a", (6, basis)), 'let%op r = a ++ "2*i => i"', 'let%op s = a ++ "i => 3*i"', 'let%op t = a ++ "i + 2 => i"']
        for got, size in zip(answers(lines, "rst"), (3, 18, 4)):
            check(got == written((size, basis)), f"a stride over {basis}: {got}, not {written((size, basis))}")


def windows():
    """The window's axis bears the name of kernel or place; a name of the kernel that the axis does not bear is a clash."""
    for a in (None, "rgb", "hsv"):
        for k in (None, "rgb", "hsv"):
            for spec, size in (("i<+u", 4), ("i=+u", 6)):
                lines = [declaration("a", (6, a)), declaration("k", (3, k)), f'let%op r = a +* k "{spec}; u => i"']
                got = answers(lines, ["r"])[0]
                want = "E0402" if k and k != a else written((size, a))
                check(got == want, f"a window {spec} of {k} on {a}: {got}, not {want}")


pointwise()
concatenated()
strided()
windows()
end()
