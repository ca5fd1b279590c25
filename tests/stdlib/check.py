#!/usr/bin/env python3
"""Operations are defined in the language: the compiler knows none of them.

For each definition of stdlib/ops.tsr: without it its name is unknown, and its name stands in no string of compiler/ (the
primitives of op.def, which may have the same name as an operation, are read out of op.def alone).  And a program that brings
the whole of ops.tsr itself does the same as one that uses the library's.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPS = os.path.join(ROOT, "stdlib", "ops.tsr")


def definitions():
    """(name, text without it) of each top-level definition; comments that begin `(* )` as operators are kept apart by the blank."""
    with open(OPS) as f:
        text = f.read()
    starts = [m.start() for m in re.finditer(r"^let ", text, re.M)] + [len(text)]
    for a, b in zip(starts, starts[1:]):
        name = re.match(r"let (?:rec )?(\( \S+ \)|[\w']+)", text[a:b])
        end = text.rfind("\n\n", a, b)
        yield name.group(1), text[:a] + text[end if end > a else b :]


def primitives():
    with open(os.path.join(ROOT, "compiler", "ops", "op.def")) as f:
        return {x for row in re.findall(r'^TSR_(?:OP|ACC)\(\w+,\s*"([^"]*)"(?:,\s*"([^"]*)")?', f.read(), re.M) for x in row if x}


def strings_of_compiler():
    found = set()
    for path in glob.glob(os.path.join(ROOT, "compiler", "**", "*.[ch]"), recursive=True):
        if os.sep + "ops" + os.sep in path:
            continue
        with open(path) as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        found |= {(s, os.path.relpath(path, ROOT)) for s in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)}
    return found


def main():
    tsrc = os.path.join(os.path.abspath(sys.argv[1]), "tsrc")
    passed = failed = 0

    def note(ok, text):
        nonlocal passed, failed
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            print("FAILED " + text)

    strings, prims = strings_of_compiler(), primitives()
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "stdlib")
        shutil.copytree(os.path.join(ROOT, "stdlib"), library)
        program = os.path.join(folder, "uses.tsr")
        for name, without in definitions():
            with open(os.path.join(library, "ops.tsr"), "w") as f:
                f.write(without)
            with open(program, "w") as f:
                f.write("let f = %s\n" % name)
            run = subprocess.run([tsrc, "check", "--stdlib=" + library, program], capture_output=True, text=True)
            bare = name.strip("() ")
            unknown = re.search(r"uses\.tsr:1:\d+: error\[E0201\]: unknown name `\(? ?%s ?\)?`" % re.escape(bare), run.stderr)
            note(run.returncode == 1 and unknown is not None, "%s is still known without its definition: %s" % (name, run.stderr[:300]))
            if re.match(r"\w", bare) and bare not in prims:
                places = [p for s, p in strings if s == bare]
                note(not places, "%s stands in %s" % (bare, ", ".join(places)))
        own = os.path.join(folder, "own.tsr")
        with open(os.path.join(ROOT, "examples", "hello.tsr")) as f, open(OPS) as g, open(own, "w") as out:
            out.write(g.read() + "\n" + f.read())
        run = subprocess.run([tsrc, "run", own], capture_output=True, text=True)
        note(run.stdout == "y : 2  [0. 7.5]\n", "a program with its own operations: " + run.stdout + run.stderr)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
