#!/usr/bin/env python3
"""The conformance cases, each translated into a program, compiled, run and compared; those of the solver alone into a problem in
the notation of tests/unit/shape_text.h.

    check.py BUILD [--case NAME] [--show]

The cases are in shared/cases/conformance.json beside the checkout (or $TSR_CONFORMANCE); where that is missing, as in a
user's clone, the project's own sample.json is run instead, and the script says so.  deviations.json lists each case that is
declared to differ or not to apply, with the reason; a declared case that passes all the same is a failure, so that the list
stays true.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import printed  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KINDS = ("batch", "output", "input")                    # memory order
EINSUM1 = {"add": "++", "max": "@^^", "min": "@--"}
EINSUM2 = {("mul", "add"): "+*", ("add", "add"): "+++", ("add", "max"): "@^+"}
INFIX = {"add": "+", "sub": "-", "mul": "*.", "div": "/.", "eq": "=", "lt": "<", "ne": "<>"}


class Untranslatable(Exception):
    pass


def size_of(d):
    return d[1] if isinstance(d, list) else d


def number(x):
    x = float(x)
    return "(0. - %r)" % -x if x < 0 else repr(x)


def product(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def values_of(spec, count):
    if spec == "iota":
        return list(range(count))
    if isinstance(spec, dict):
        return [spec["fill"]] * count
    return spec


def literal(shape, values):
    axes = [(k, d) for k in KINDS for d in shape[k]]
    flat = iter(values_of(values, product(size_of(d) for _, d in axes)))

    def nest(rest):
        if not rest:
            return number(next(flat))
        kind, d = rest[0]
        items = [nest(rest[1:]) for _ in range(size_of(d))]
        if kind == "batch":
            text = "[| " + "; ".join(items) + " |]"
        elif kind == "output":
            text = "[ " + "; ".join(items) + " ]"
        else:
            text = "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
        return "(%s : %s)" % (text, d[0]) if isinstance(d, list) else text

    return nest(axes) if axes else '%s ++ "0 => "' % number(next(flat))


def axis_list(row):
    return "[" + "; ".join("(%d : %s)" % (d[1], d[0]) if isinstance(d, list) else str(d) for d in row) + "]"


def define_input(i):
    shape, name = i["shape"], i["name"]
    known = all(shape[k] != "?" for k in KINDS)
    if i["kind"] == "const":
        return "let%%op %s = %s" % (name, number(values_of(i["values"], 1)[0]))
    if i["kind"] == "data":
        return "let%%op %s = %s" % (name, literal(shape, i["values"]) if known else "positions ()")
    if i["kind"] != "param":
        raise Untranslatable("an operand of kind " + i["kind"])
    fields = "".join("; %s = %s" % (k[0], axis_list(shape[k])) for k in ("output", "input") if shape[k] != "?")
    if i["values"] == "iota" or i["values"] is None:
        init = "positions ()"
    elif isinstance(i["values"], list) and len(i["values"]) == 1:
        init = number(i["values"][0])
    elif known:
        init, fields = literal(shape, i["values"]), ""
    else:
        raise Untranslatable("listed values of unknown shape")
    return "let%%op %s = { %s = %s%s }" % (name, name, init, fields)


def expression(op, args, captures):
    kind, spec = op["op"], op.get("spec")
    trail = ' "%s"%s' % (spec, " [%s]" % "; ".join(captures) if captures else "")
    if kind == "einsum1":
        return "%s %s%s" % (args[0], EINSUM1[op.get("accum", "add")], trail)
    if kind == "einsum2":
        return "%s %s %s%s" % (args[0], EINSUM2[op.get("combine", "mul"), op.get("accum", "add")], args[1], trail)
    if kind == "einsum3":
        if op.get("combine", "mul3") == "where":
            return 'where ~spec:"%s" %s' % (spec, " ".join(args))
        return "(%s) +*%s" % (", ".join(args), trail)
    if kind == "concat":
        return "%s ++^%s" % (args[0] if len(args) == 1 else "(%s)" % ", ".join(args), trail)
    if kind == "pointwise":
        fn = op["fn"]
        if fn == "neg":
            return "- " + args[0]
        return "%s %s %s" % (args[0], INFIX[fn], args[1]) if fn in INFIX else fn + " " + " ".join(args)
    if kind == "compose":
        return "%s * %s" % tuple(args)
    if kind == "transpose":
        return "transpose " + args[0]
    if kind == "slice":
        return "%s @| %d" % (args[0], op.get("index", 0))
    raise Untranslatable("the operation " + kind)


def captures_of(op, later):
    """Labels whose size is read or set, here or by a later command."""
    names = list(op.get("captures", [])) + list(op.get("set_dims", {}))
    used = [n for n in names] + [n for n in later if re.search(r"\b%s\b" % re.escape(n), op.get("spec", ""))]
    return list(dict.fromkeys(used))


def translate(case):
    """Program text, and what to print: {printed name: expected values}."""
    lines, main = ["open Train"], []
    expect = case["expect"]
    for i in case["inputs"]:
        if isinstance(i.get("shape"), dict):
            lines.append(define_input(i))
    steps = case.get("program") or [dict(case, out="result", args=[i.get("name", "") for i in case["inputs"]])]
    commands = [s["cmd"] for s in steps if s["op"] == "set"]
    command_names = [n for c in commands for n in c[1:] if isinstance(n, str)]
    backprop = None
    shown = dict(expect.get("values", {})) if isinstance(expect.get("values"), dict) else {}
    if isinstance(expect.get("values"), list):
        shown["result"] = expect["values"]
    for s in steps:
        if s["op"] == "set":
            continue
        if s["op"] == "backprop":
            backprop = s
            continue
        captures = captures_of(s, command_names)
        body = expression(s, s["args"], captures)
        sets = ["set_dim %s %d" % (k, v) for k, v in s.get("set_dims", {}).items()]
        for c in commands:
            mine = [n for n in c[1:] if isinstance(n, str)]
            if not mine or not all(n in captures for n in mine):
                continue
            if c[0] == "setdim":
                sets.append("set_dim %s %d" % (c[1], c[2]))
            elif c[0] == "setequal":
                sets.append("set_equal %s %s" % (c[1], c[2]))
            elif c[0] == "setscale":
                sets.append("set_scale %d %s %s" % (c[1], c[2], c[3]))
        if case.get("result_shape") and "^" in s.get("spec", ""):
            label = s["spec"].split("=>")[1].strip()
            if not label.isidentifier():
                raise Untranslatable("a constrained result of several axes")
            body = '%s [%s]' % (body, label)
            sets.append("set_dim %s %d" % (label, case["result_shape"]["output"][0]))
        if sets:
            lines.append("let%%op %s =\n  let r = %s in\n  %s;\n  r" % (s["out"], body, ";\n  ".join(sets)))
        else:
            lines.append("let%%op %s = %s" % (s["out"], body))
    for name in shown:
        main.append("print %s" % name)
    if backprop:
        lines.append("let%%cd backward = grad_update %s" % backprop["of"])
        main.append("run backward")
        for name, g in expect.get("grads", {}).items():
            main.append("print %s.grad" % name)
            shown[name + ".grad"] = g
        if "loss" in expect:
            main.append("print %s" % backprop["of"])
            shown[backprop["of"]] = [expect["loss"]]
    lines.append("let%main () =\n  " + (";\n  ".join(main) or "()"))
    return "\n".join(lines) + "\n", shown


def parse_shapes(text):
    got = {}
    for line in text.splitlines():
        m = re.match(r"(\S+) : (.*)$", line)
        if not m:
            continue
        rest, shape = m.group(2).split("#")[0], {"batch": [], "input": [], "output": []}
        if "|" in rest:
            batch, rest = rest.split("|", 1)
            shape["batch"] = sizes(batch)
        if "->" in rest:
            inp, rest = rest.split("->", 1)
            shape["input"] = sizes(inp)
        shape["output"] = sizes(rest)
        got[m.group(1)] = shape
    return got


def sizes(text):
    return [int(re.search(r"(\d+)\*?\)?$", x).group(1)) for x in re.split(r"[,\s]+", text.strip()) if re.search(r"\d", x)]


def bases_of(text, name):
    """Of the printed axes, batch, input and output, but for those that claim nothing: `2 | rgb:3, 4, 1*` has default, rgb, default."""
    line = next((l.split(" : ", 1)[1] for l in text.splitlines() if l.startswith(name + " : ")), "")
    axes = [x for x in re.split(r"[\s,|]+|->", line.split("#")[0]) if re.search(r"\d", x) and not x.endswith("*")]
    return [x.split(":")[0] if ":" in x else "default" for x in axes]


def close(a, b):
    return len(a) == len(b) and all(x == float(y) or abs(x - float(y)) <= 1e-4 * max(1, abs(float(y))) for x, y in zip(a, b))


def judge_parse(case, tsrc, folder):
    spec = case["spec"] if case["kind"] == "einsum" else case["spec"] + " => " + case["spec"]
    operands = spec.count(";") + 1
    x = "x" if operands == 1 else "(%s)" % ", ".join(["x"] * operands)
    operator = "++" if operands == 1 else "+*"
    path = write(folder, case["name"], 'let%%op f x = %s %s "%s"\nlet%%op x = positions ()\nlet%%op y = f x\n' % (x, operator, spec))
    run = subprocess.run([tsrc, "check", path], capture_output=True, text=True)
    wrong = "E0110" in run.stderr
    return None if wrong == ("error" in case["expect"]) else "the spec is %s\n%s" % ("refused" if wrong else "accepted", run.stderr)


# ---- constraints without a program --------------------------------------------------------------------------------------


def dim_text(d):
    if isinstance(d, dict) and "concat" in d:
        return "^".join(map(dim_text, d["concat"]))
    if isinstance(d, dict):
        kernel = "%s%d*%s" % ("=+" if d["padding"] else "<+", d["dilation"], dim_text(d["kernel"])) if "kernel" in d else ""
        return "{%d*%s%s}" % (d["stride"], dim_text(d["over"]), kernel)
    if isinstance(d, list):
        return "1*" if d == ["bcast_if_1", 1] else "%s:%d" % tuple(d)
    return str(d)


def row_text(r):
    middle = "..%s.." % r["var"] if r["var"] else "."
    return "[%s]" % ", ".join([dim_text(d) for d in r["beg"]] + [middle] + [dim_text(d) for d in r["end"]])


def relation(c):
    (kind, x), = c.items()
    if kind == "terminal_dim":
        return "leaf [%s]" % x
    text = row_text if kind.startswith("row") else dim_text
    return "%s <= %s" % (text(x["res"]), text(x["opnd"])) if kind.endswith("ineq") else "%s = %s" % (text(x[0]), text(x[1]))


def components(x):
    """The variables among the components of concatenations."""
    if isinstance(x, dict) and "concat" in x:
        return [d for d in x["concat"] if isinstance(d, str)]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, list) else []
    return [v for part in parts for v in components(part)]


def problem_of(case):
    """The problem as text.  In a case every component may be empty, as no spec says which: that has to be written here."""
    if case["op"] == "solver":
        may_vanish = dict.fromkeys(components(case["constraints"]))
        return "\n".join(["zero %s" % v for v in may_vanish] + [relation(c) for c in case["constraints"]])
    step, = case["program"]                             # words unpacked to a precision, 16 bytes to a word
    width = {"float32": 4, "float64": 8}[step["prec"]]
    return "total [%s] = %d * %s" % (", ".join(str(d) for k in KINDS for d in step["shape"][k]), 16 // width, step["args"][0])


def judge_problem(case, build):
    expect = case["expect"]
    values = dict(expect.get("solution", {}))
    values.update({i["name"]: expect["shapes"][i["name"]]["output"][0] for i in case["inputs"] if "shapes" in expect})
    want = "E04" if "error" in expect else "; ".join("%s=%s" % (name, dim_text(d)) for name, d in values.items())
    run = subprocess.run([os.path.join(build, "unit", "shape_problem"), want], input=problem_of(case), capture_output=True, text=True)
    return run.stdout if run.returncode else None


def alone(case):
    return case["op"] == "solver" or [s["op"] for s in case.get("program", [])] == ["uint4x32_to_prec"]


def write(folder, name, text):
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w") as f:
        f.write(text)
    return path


def judge(case, build, folder):
    """None when the case holds, else what differs."""
    tsrc = os.path.join(build, "tsrc")
    if alone(case):
        return judge_problem(case, build)
    if case["op"] == "parse":
        return judge_parse(case, tsrc, folder)
    text, shown = translate(case)
    path = write(folder, case["name"], text)
    check = subprocess.run([tsrc, "check", path], capture_output=True, text=True)
    expect = case["expect"]
    if "error" in expect:
        return None if check.returncode == 1 else "no error (status %d)" % check.returncode
    if check.returncode:
        return "check ends with %d: %s" % (check.returncode, check.stderr.strip())
    shapes = parse_shapes(check.stdout)
    wanted = dict(expect.get("shapes", {}))
    wanted.update(expect.get("inferred", {}))
    if "shape" in expect:
        wanted["result"] = expect["shape"]
    numbers = {i["name"] for i in case["inputs"] if i.get("kind") == "const"}      # configuration: no tensor, no shape
    for name, s in wanted.items():
        if name in numbers:
            continue
        sized = {k: [size_of(d) for d in s[k]] for k in s}
        if shapes.get(name) != sized:
            return "%s has shape %s, expected %s" % (name, shapes.get(name), sized)
    bases = expect.get("bases", {})
    for name, s in ({"result": bases} if "output" in bases else bases).items():
        if name not in numbers and bases_of(check.stdout, name) != [d for k in ("batch", "input", "output") for d in s[k] if d != "bcast_if_1"]:
            return "%s has the bases %s, expected %s" % (name, bases_of(check.stdout, name), s)
    if not shown:
        return None
    run = subprocess.run([tsrc, "run", "-O1", path], capture_output=True, text=True)
    if run.returncode:
        return "run ends with %d: %s" % (run.returncode, run.stderr.strip())
    got = printed.tensors(run.stdout)
    for name, v in shown.items():
        if not close(got.get(name, []), v):
            return "%s = %s, expected %s" % (name, got.get(name), v)
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--case")
    p.add_argument("--show", action="store_true")
    o = p.parse_args()
    path = os.environ.get("TSR_CONFORMANCE", os.path.join(ROOT, "..", "shared", "cases", "conformance.json"))
    if not os.path.exists(path):
        path = os.path.join(HERE, "sample.json")
        print("conformance.json is not here: the project's sample of it is run instead")
    with open(path) as f:
        cases = json.load(f)
    with open(os.path.join(HERE, "deviations.json")) as f:
        deviations = json.load(f)
    passed = failed = declared = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if o.case and case["name"] != o.case:
                continue
            if o.show:
                print(problem_of(case) if alone(case) else translate(case)[0])
            try:
                wrong = judge(case, o.build, folder)
            except Untranslatable as e:
                wrong = "not translated: %s" % e
            reason = deviations.get(case["name"])
            if wrong and reason:
                declared += 1
                print("declared %s: %s" % (case["name"], reason))
            elif wrong:
                failed += 1
                print("FAILED %s: %s" % (case["name"], wrong))
            elif case["name"] in deviations:
                failed += 1
                print("FAILED %s holds, but deviations.json says: %s" % (case["name"], reason))
            else:
                passed += 1
    print("%d cases declared in deviations.json" % declared)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
