"""The rules of docs/style.md that a script can see: lengths, words, and no writable globals in the compiler."""
import glob, os, re, subprocess, sys

LONGEST_FILE, LONGEST_FUNCTION = 600, 60
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK|for now|stub|placeholder)\b", re.I)
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


def main(build):
    found = {"lengths": list(lengths()), "words": list(words()), "globals": list(writable_globals(build))}
    for texts in found.values():
        for text in texts:
            print(text)
    failed = sum(1 for texts in found.values() if texts)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
