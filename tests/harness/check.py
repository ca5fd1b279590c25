"""The test runner itself: a make-believe compiler, with tests that hold and tests that do not, in a folder of their own."""
import os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

TSRC = """#!/bin/sh
for last; do :; done
case "$*" in
*--dump=shape*) echo "y : 2" ;;
*--emit=llvm*) echo "define i32 @main()" >"$last" ;;
"run --interp "*) echo "y  [0.  7.50001] arg $4" ;;
check*wrong*) echo "error[E0101]: x" >&2; exit 1 ;;
check*) exit 0 ;;
*bad.tsr*) echo "bad.tsr:1:1: error[E0201]: x" >&2; exit 1 ;;
*stops.tsr*) printf '#!/bin/sh\\necho "index 3 is out of range" >&2; exit 1\\n' >"$last"; chmod +x "$last" ;;
*) printf '#!/bin/sh\\necho "y [0. 7.5] arg $1"\\n' >"$last"; chmod +x "$last" ;;
esac
"""

FILES = {
    "Makefile": "layers:\n\t@true\n",
    "compiler/diag/diag.def": 'TSR_DIAG(E_X, "E0101", TSR_ERROR, "x")\nTSR_DIAG(E_Y, "E0102", TSR_ERROR, "y")\n',
    "docs/errors.md": "## E0101: x\n\n```ocaml\n(* wrong.tsr *)\n```\n\n```ocaml\n(* right.tsr *)\n```\n\n## E0102: y\n",
    "build/tsrc": TSRC,
    "build/unit/counts": "#!/bin/sh\necho 'counts: 5 passed, 0 failed'\n",
    "tests/unit/counts.c": "",
    "tests/run/good.tsr": "", "tests/run/good.out": "y [0. 7.5] arg 3\n", "tests/run/good.args": "3\n",
    "tests/run/good.shape": "y : 2\n", "tests/run/good.ll": "CHECK: @main\n",
    "tests/run/bad.tsr": "", "tests/run/bad.err": "bad.tsr:1:1: error[E0201]: x\n",
    "tests/run/stops.tsr": "", "tests/run/stops.fail": "index 3 is out of range\n", "tests/run/stops.modes": "O0 O3\n",
    "tests/run/check.py": "print('4 passed, 0 failed')\n",
    "examples/shown.tsr": "", "tests/examples/shown.out": "y [0. 7.5] arg \n", "tests/examples/shown.modes": "O3\n",
}
PASSING = 5 + 3 + 1 + 1 + 1 + 2 + 4 + 1 + 4             # unit, out, shape, ll, err, fail, script, example; codes, layers, documents

# What is changed, how many tests then fail, and a text that the report contains.
BREAKS = [
    ({"tests/run/good.out": "y [0. 7.6] arg 3\n"}, 3, "FAILED build: tests/run/good.out O0"),
    ({"tests/run/good.out": "z [0. 7.5] arg 3\n"}, 3, "good.out interp"),
    ({"tests/run/good.args": "4\n"}, 3, "arg 4"),
    ({"tests/run/good.shape": "y : 3\n"}, 1, "-y : 3"),
    ({"tests/run/good.ll": "CHECK: @mian\n"}, 1, "tests/run/good.ll"),
    ({"tests/run/bad.err": "bad.tsr:1:2: error[E0201]: x\n"}, 1, "tests/run/bad.err"),
    ({"tests/run/good.err": "nothing\n"}, 1, "tests/run/good.err"),
    ({"tests/run/stops.fail": "index 4 is out of range\n"}, 2, "stops.fail O3"),
    ({"tests/run/with-nothing.tsr": "\n"}, 3, "there is no tests/run/with-nothing.out"),
    ({"tests/error/a-bad.tsr": "\n"}, 1, "there is no tests/error/a-bad.err"),
    ({"examples/more.tsr": "\n"}, 3, "there is no tests/examples/more.out"),
    ({"tests/run/good.out": "y [0. 7.6] arg 3\n", "tests/run/good.modes": "tolerance=1e-1\n", "tests/run/good.shape": "\n"}, 1, "good.shape"),
    ({"tests/run/good.fail": "\n"}, 3, "exit status 0"),
    ({"tests/run/alone.ast": "\n"}, 1, "there is no tests/run/alone.tsr"),
    ({"tests/run/check.py": "print('3 passed, 1 failed')\n"}, 1, "FAILED tests/run/check.py"),
    ({"tests/run/check.py": "print('no count')\n"}, 1, "no count"),
    ({"tests/run/check.py": "import sys\nprint('4 passed, 0 failed')\nsys.exit(3)\n"}, 1, "exit status 3"),
    ({"build/unit/counts": "#!/bin/sh\nkill -SEGV $$\n"}, 1, "build/unit/counts"),
    ({"compiler/diag/diag.def": 'TSR_DIAG(E_X, "E0101", TSR_ERROR, "x")\n'}, 1, "E0102 is no diagnostic"),
    ({"docs/errors.md": "## E0101: x\n"}, 1, "E0102 has no entry"),
    ({"docs/errors.md": "## E0101: x\n## E0102: y\n```ocaml\n(* wrong.tsr *)\n```\n"}, 1, "expected E0102"),
    ({"Makefile": "layers:\n\t@false\n"}, 1, "make layers"),
]


def result(changes, *arguments):
    """(the runner's report, its exit status, the files afterwards) with the make-believe project changed so."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**FILES, **changes}.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(text)
            if name.startswith("build/"):
                os.chmod(path, 0o755)
        shutil.copy(os.path.join(HERE, "../run-tests"), os.path.join(root, "tests/run-tests"))
        p = subprocess.run([sys.executable, "tests/run-tests", *arguments, "build"], cwd=root, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        files = {name: open(os.path.join(root, name)).read() for name in {**FILES, **changes}}
        return p.stdout, p.returncode, files


def main():
    wrong = []
    passed = 0

    def check(holds, what):
        nonlocal passed
        passed += bool(holds)
        if not holds:
            wrong.append(what)

    report, status, _ = result({})
    check(status == 0 and report.endswith(f"{PASSING} passed, 0 failed\n"), "all hold: " + report)
    for changes, failures, text in BREAKS:
        report, status, _ = result(changes)
        tally = re.search(r"(\d+) passed, (\d+) failed\n$", report)
        check(tally and int(tally[2]) == failures and text in report and status == 1, f"{changes}: {report}")
    report, status, files = result({"tests/run/good.out": "old\n", "tests/run/good.shape": "old\n", "tests/run/bad.err": "old\n"}, "--accept")
    check(status == 0 and all(files[name].split() == FILES[name].split() for name in FILES), "--accept: " + report)
    print("\n".join(wrong))
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
