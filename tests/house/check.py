"""The rules of docs/style.md that a script can see: lengths, words, no writable globals in the compiler, and that every
diagnostic has a test and an example."""
import glob, os, re, subprocess, sys

LONGEST_FILE, LONGEST_FUNCTION = 600, 60
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK|for now|stub|placeholder)\b", re.I)
NO_PROGRAM = ("E0411",)                                 # none is known; tests/unit/shape_budget.c has a small budget
NO_EXAMPLE = ("E0106", "E0411",                         # a thousand levels; none is known
              "E0203", "E0701",                         # their right program needs a second file
              "E0690", "E0801", "E0802", "E0803", "E0804", "E0805", "E0806", "E0807", "E0808", "W0904")      # of loop text and of the command line
UNUSED = ("yyTraceFILE", "yyTracePrompt")               # of Lemon's template; written by ParseTrace alone, which nobody calls
SOURCES = sorted(glob.glob("compiler/**/*.[ch]", recursive=True) + glob.glob("compiler/**/*.def", recursive=True)
                 + glob.glob("runtime/*.[ch]") + glob.glob("grammar/*"))
PROSE = sorted(glob.glob("*.md") + glob.glob("docs/*.md") + glob.glob("compiler/*.md") + glob.glob("stdlib/*") + glob.glob("examples/*.tsr"))


def functions(lines):
    """(first line, length, whether it holds a switch) of each function: from the line before its `{` in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            body = lines[start - 1:number]
            yield start - 1, number - start + 2, any(re.match(r"\s*switch \(", text) for text in body)
            start = None


def lengths():
    for path in SOURCES:
        with open(path) as f:
            lines = f.read().split("\n")
        if len(lines) > LONGEST_FILE + 1:
            yield f"{path}: {len(lines) - 1} lines, at most {LONGEST_FILE}"
        if path.endswith(".c"):
            for at, length, flat in functions(lines):
                if length > LONGEST_FUNCTION and not flat:
                    yield f"{path}:{at}: a function of {length} lines, at most {LONGEST_FUNCTION}"


def words():
    for path in SOURCES + PROSE:
        if path == "docs/style.md":
            continue
        with open(path, errors="replace") as f:
            for number, line in enumerate(f, 1):
                if WORDS.search(line):
                    yield f"{path}:{number}: {line.strip()}"


def writable_globals(build):
    """Objects in the sections for writable data; constants that hold addresses lie in .data.rel.ro, which is another one."""
    table = subprocess.run(["objdump", "-t", f"{build}/libtsrc.a"], stdout=subprocess.PIPE, text=True, check=True).stdout
    path = ""
    for line in table.split("\n"):
        path = line.split(":")[0] if "file format" in line else path
        m = re.search(r" O (?:\.data|\.bss|\*COM\*|\.tdata|\.tbss)\s+[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if m and m[1] not in UNUSED:
            yield f"{path}: {m[1]} is a writable global"


def read_all(*patterns):
    return "\n".join(open(path, errors="replace").read() for pattern in patterns for path in sorted(glob.glob(pattern, recursive=True)))


def codes():
    return re.findall(r'^TSR_DIAG\(\w+,\s*"(\w+)"', read_all("compiler/diag/diag.def"), re.M)


def untested():
    """A code of shapes or index maps is in the expected text of a program, the others there or in a script or a table."""
    texts, scripts = read_all("tests/*/*.err"), read_all("tests/[!h]*/*.py", "tests/hostile/*.py", "tests/unit/*.c")
    for code in codes():
        if f"[{code}]" not in texts and (code[:3] in ("E04", "E05") and code not in NO_PROGRAM or code not in scripts):
            yield f"compiler/diag/diag.def: no test expects {code}"


def examples():
    """Entries of docs/errors.md show a wrong program and a right one; the tests of documents compile both."""
    for entry in re.split(r"^## ", read_all("docs/errors.md"), flags=re.M)[1:]:
        code = entry[:5]
        for name in ("wrong", "right"):
            if code not in NO_EXAMPLE and f"(* {name}.tsr *)" not in entry:
                yield f"docs/errors.md: {code} shows no {name}.tsr"


def quoted():
    """What docs/errors.md says that Tessera prints is in the expected text of a program; every thread that it names has one."""
    document, texts, programs = read_all("docs/errors.md"), read_all("tests/explain/*.err"), read_all("tests/explain/*.tsr")
    for text in re.findall(r"^\| Tessera[^|]*\| ``(.*?)``", document, re.M):
        if text.strip() not in texts:
            yield f"docs/errors.md: no program of tests/explain gets: {text}"
    thread = r"\b[\w-]+/\w+#\d+"
    for name in sorted(set(re.findall(thread, document)) ^ set(re.findall(thread, programs))):
        yield f"{name} is not both in docs/errors.md and in a program of tests/explain"


def main(build):
    found = {"lengths": list(lengths()), "words": list(words()), "globals": list(writable_globals(build)), "tests": list(untested()),
             "examples": list(examples()), "quoted": list(quoted())}
    for texts in found.values():
        for text in texts:
            print(text)
    failed = sum(1 for texts in found.values() if texts)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
