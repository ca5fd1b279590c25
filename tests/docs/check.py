#!/usr/bin/env python3
"""What the documents show is what happens.

In README.md and docs/*.md, a fenced ```ocaml block that begins with `(* name.tsr` is a file, and a ```console block is a
session: each line `$ command` is run in a folder with the document's files (and links to examples/ and stdlib/), with tsrc
on the path, and must print what stands below it; that a file is missing is never what is meant. A line `...` stands for any lines.  `--accept` writes what is printed into the document,
keeping every block that has a `...`.
"""
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def blocks(text):
    """(language, body, start, end) of each fenced block; start and end are offsets of the body."""
    for m in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.S | re.M):
        yield m.group(1), m.group(2), m.start(2), m.end(2)


def fits(want, got):
    if "..." not in want:
        return want == got
    pattern = "\n".join("(?:.*\n)*?.*" if l == "..." else re.escape(l) for l in want)
    return re.fullmatch(pattern, "\n".join(got)) is not None


def session(body, folder, env):
    """Each command with its expected and its actual lines."""
    steps = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    for command, want in steps:
        run = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield command, want, [l.rstrip() for l in run.stdout.splitlines()]


def main():
    build = os.path.abspath(sys.argv[1])
    accept = "--accept" in sys.argv
    env = dict(os.environ, PATH=build + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
    passed = failed = 0
    for document in [os.path.join(ROOT, "README.md")] + sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(document) as f:
            text = f.read()
        replaced = []
        with tempfile.TemporaryDirectory() as folder:
            for linked in ("examples", "stdlib"):
                os.symlink(os.path.join(ROOT, linked), os.path.join(folder, linked))
            for language, body, start, end in blocks(text):
                name = re.match(r"\(\* ([\w/]+\.tsr)\b", body)
                if language == "ocaml" and name:
                    with open(os.path.join(folder, name.group(1)), "w") as f:
                        f.write(body)
                if language != "console":
                    continue
                shown = ""
                for command, want, got in session(body, folder, env):
                    shown += "$ %s\n%s" % (command, "".join(l + "\n" for l in got))
                    if fits(want, got) and not any("No such file" in line for line in got):
                        passed += 1
                    else:
                        failed += 1
                        print("FAILED %s: $ %s" % (os.path.basename(document), command))
                        print("\n".join(difflib.unified_diff(want, got, "shown", "printed", lineterm="", n=1)))
                if "\n...\n" not in body:
                    replaced.append((start, end, shown))
        if accept:
            for start, end, shown in reversed(replaced):
                text = text[:start] + shown + text[end:]
            with open(document, "w") as f:
                f.write(text)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed and not accept else 0


sys.exit(main())
