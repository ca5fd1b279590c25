"""Errors and explanations as JSON say what the text says; FILE:LINE:NAME finds the tensor that is bound there."""
import glob, json, os, re, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
from tally import check, end, run  # noqa: E402

build = sys.argv[1]
TSRC = os.path.join(build, "tsrc")
PLACE = ["file", "line", "column", "end_line", "end_column"]


def tsrc(*arguments):
    return run(TSRC, *arguments)


def place(at):
    return f"{at['file']}:{at['line']}:{at['column']}: " if at["file"] else ""


def as_text(d):
    """The lines of the text form that the object determines: all but the quoted source line."""
    lines = [f"{place(d) or 'tsrc: '}{d['severity']}[{d['code']}]: {d['message']}"]
    lines += [f"{place(n)}note: {n['message']}" for n in d["notes"]]
    return lines + ([f"hint: {d['hint']}"] if d["hint"] is not None else [])


def errors():
    programs = sorted(glob.glob("tests/explain/*.tsr") + glob.glob("tests/error/*-*.tsr"))
    for path in programs:
        status, _, text = tsrc("check", path)
        again, out, lines = tsrc("check", "--diagnostics=json", path)
        check(status == again and not (status and '{"code"' in out), f"{path}: exit status {again}, not {status}")
        objects = [json.loads(line) for line in lines.splitlines()]
        want = [line for line in text.splitlines() if not re.match(r" +\d* \| ", line)]
        check([line for d in objects for line in as_text(d)] == want, f"{path}: JSON and text differ\n{lines}\n{text}")
        check(all(set(d) == {"code", "severity", "message", "notes", "hint", *PLACE} for d in objects), f"{path}: members")
        for d in objects:
            if d["file"]:
                check((d["line"], d["column"]) <= (d["end_line"], d["end_column"]), f"{path}: the place ends before it begins")
        status, out, explained = tsrc("explain", path)
        if objects and status:
            check(explained == text, f"{path}: explain says something else of the error\n{explained}")


def sizes():
    path = "tests/explain/sizes-of-a-small-network.tsr"
    status, out, err = tsrc("explain", path)
    blocks = re.split(r"(?m)^(?=\S)", out)
    by_name = {b.split(" : ")[0]: b for b in blocks if b}
    check(status == 0 and not err and "best" in by_name, "explain of the whole file")
    for where, names in [(":5", ["logits"]), (":5:logits", ["logits"]), (":logits", ["logits"]), (":2:w1", ["net.w1"]),
                         (":net.w1", ["net.w1"]), (":2", ["net.w2", "net.b1", "net.w1"]), (":6:best", ["best"])]:
        status, out, err = tsrc("explain", path + where)
        got = re.findall(r"(?m)^(\S+) : ", out)
        check(status == 0 and all(n in got for n in names) and (len(got) == len(names) or where == ":2"), f"{where}: {got}\n{err}")
        status, lines, _ = tsrc("explain", "--json", path + where)
        objects = [json.loads(line) for line in lines.splitlines()]
        check([o["tensor"] for o in objects] == got, f"{where}: JSON names {[o['tensor'] for o in objects]}")
        for o in objects:
            text = "".join(f"    {place(b)}{b['message']}\n" for a in o["axes"] for b in a["because"])
            check(text == "".join(re.findall(r"(?m)^    .*\n", by_name.get(o["tensor"], text))), f"{where}: reasons differ")
    o = json.loads(tsrc("explain", "--json", path + ":net.w1")[1])
    check([(a["kind"], a["size"]) for a in o["axes"]] == [("input", 3), ("output", 64)], "the sizes of net.w1")
    check({b["line"] for b in o["axes"][0]["because"]} == {2, 4}, "the input axis of net.w1 comes from lines 2 and 4")
    for where in (":99", ":5:nothing", ":nothing"):
        status, out, err = tsrc("explain", path + where)
        check(status == 1 and "E0806" in err and not out, f"{where}: {status} {out}{err}")


def elsewhere():
    """Inside functions, on parameters in a closure, sizes ?n, gradients, local names and labels of specs."""
    path = "tests/explain/sizes-inside-functions.tsr"
    for where, first, words in [
            (":3", "a.w_q : 20 -> 4, 5", "`data`"), (":a.w_k", "a.w_k : 20 -> 4, 5", "`set_dim h`: axis `h` is 4"),
            (":5", "y : ?n | ?n -> 4", "one batch axis, ?n"), (":5:s", "y : ?n | ?n -> 4", "`set_dim h`"),
            (":n.hidden.w", "n.hidden.w : 20 -> 8", "`n.hidden.b` has one output axis, 8"), (":n.w", "n.w : 8 -> 3", "`n.w` has one output axis, 3"),
            (":z.grad", "z : ?n | 3", "`n.w`"), (":n.w.grad", "n.w : 8 -> 3", "`n.w`"), (":5:h", "h : 4", "`set_dim h`"),
            (":d", "d : 5", "`set_dim d`"), (":5:t", "t : ?n", "`data` has one batch axis, ?n"), (":data", "data : ?n | 20", "`data`")]:
        status, out, err = tsrc("explain", path + where)
        check(status == 0 and out.startswith(first + "\n") and words in out, f"{where}: {status}\n{out}{err}")


errors()
sizes()
elsewhere()
end()
