"""Functions are checked where they are defined, called or not.

    tests/schemes/check.py BUILD        ACCEPT=1 rewrites the expected schemes of the library

Judges: plants.py has functions as a library would define them and mistakes for them. Without a mistake nothing is said; with one
`tsrc check` says it, once, at a place inside the definition. The schemes of the standard library are compared with files."""
import difflib, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from plants import FUNCTIONS, PLANTS

TSRC = os.path.abspath(os.path.join(sys.argv[1], "tsrc"))
LIBRARY = ["nn", "train", "ops", "data"]
passed = failed = 0


def verdict(name, problem):
    global passed, failed
    if problem:
        failed += 1
        print(f"FAIL {name}: {problem}")
    else:
        passed += 1


def check(text, folder):
    path = os.path.join(folder, "plant.tsr")
    with open(path, "w") as f:
        f.write("open Nn\n" + text)
    run = subprocess.run([TSRC, "check", path], capture_output=True, text=True, timeout=120)
    return run.returncode, run.stdout, re.findall(r"^\S+plant\.tsr:(\d+):\d+: error\[(E\d+)\]", run.stderr, re.M), run.stderr


def plants(folder):
    for name, text in FUNCTIONS.items():
        status, out, errors, stderr = check(text, folder)
        problem = stderr if status or stderr else "no scheme is printed" if f"{name} " not in out else None
        verdict(f"{name} without a mistake", problem)
    for what, name, right, wrong, code in PLANTS:
        text = FUNCTIONS[name]
        if text.count(right) != 1:
            verdict(what, f"`{right}` does not stand once in {name}")
            continue
        status, out, errors, stderr = check(text.replace(right, wrong), folder)
        lines = text.count("\n") + 1
        if status != 1 or len(errors) != (2 if what.endswith("(which two sizes contradict)") else 1):
            problem = f"exit status {status}, {len(errors)} errors\n{out}{stderr}"
        elif errors[0][1] != code or not 2 < int(errors[0][0]) <= lines:
            problem = f"line {errors[0][0]}: {errors[0][1]}, expected {code} inside the definition\n{stderr}"
        else:
            problem = None
        verdict(what, problem)


def library():
    for name in LIBRARY:
        run = subprocess.run([TSRC, "check", f"stdlib/{name}.tsr"], capture_output=True, text=True, cwd=ROOT, timeout=120)
        path = os.path.join(HERE, name + ".txt")
        if os.environ.get("ACCEPT"):
            with open(path, "w") as f:
                f.write(run.stdout)
        want = open(path).read()
        lines = list(difflib.unified_diff(want.splitlines(), run.stdout.splitlines(), "expected", "got", lineterm="", n=1))
        verdict(f"schemes of {name}", "\n".join(lines) or run.stderr)
    # each function that the library defines has a scheme
    for name in LIBRARY:
        text = open(os.path.join(ROOT, "stdlib", name + ".tsr")).read()
        schemes = open(os.path.join(HERE, name + ".txt")).read()
        for found in re.findall(r"^let(?:%\w+)? (?:rec )?(\( \S+ \)|\w+)", text, re.M):
            verdict(f"{name}: {found}", None if re.search(rf"^{re.escape(found)} ", schemes, re.M) else "it has no scheme")


with tempfile.TemporaryDirectory() as tmp:
    plants(tmp)
library()
print(f"{passed} passed, {failed} failed")
