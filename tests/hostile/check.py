"""Programs with accidents: every example, with pieces lost, doubled, swapped or strange.  Whatever the text, the compiler
answers with an exit status of 0 or 1, and with 1 it says why; never a crash, an internal error or a long wait.  The sanitizer
build answers where there is one.  The accidents are the same in every run.  Then the programs of blowups.py, which the plain build
answers within its memory."""
import concurrent.futures, glob, os, random, re, subprocess, sys, tempfile
from blowups import blowups

EACH = 40
WORDS = re.compile(r'\(\*.*?\*\)|"[^"\n]*"|[A-Za-z_][\w%]*|\d[\d.]*|[^\s\w]+|\s+', re.S)
STRANGE = ["(", ")", "[", "]", "{", "}", '"', "let", "let%op", "let%cd", "let%main", "fun", "match", "in", "=:", "=+", "*", "++",
           "~", ";", ",", "|>", ":", "0", "-1", "99999999999999999999", "1e999", ".", "...", '" => "', "%", "\0", "\xff", "é", "(*",
           "if", "then", "rec", "open", "file", "!", "@", "()", "x", "grad"]


def accident(chance, words):
    """The same text with one to three things wrong."""
    words = list(words)
    for _ in range(chance.randint(1, 3)):
        at, other = chance.randrange(len(words)), chance.randrange(len(words))
        kind = chance.randrange(6)
        if kind == 0:
            del words[at]
        elif kind == 1:
            words.insert(at, words[other])
        elif kind == 2:
            words[at], words[other] = words[other], words[at]
        elif kind == 3:
            words.insert(at, f" {chance.choice(STRANGE)} ")
        elif kind == 4:
            words[at] = words[at][:len(words[at]) // 2]
        else:
            words = words[:max(1, at)] if chance.random() < 0.3 else words
        words = words or [" "]
    return "".join(words)


def answer(tsrc, text):
    """What is wrong with the compiler's answer, or None."""
    with tempfile.TemporaryDirectory() as folder:
        if os.path.isdir("examples/data"):
            os.symlink(os.path.abspath("examples/data"), os.path.join(folder, "data"))
        with open(os.path.join(folder, "accident.tsr"), "wb") as f:
            f.write(text.encode("latin-1", "replace"))
        env = dict(os.environ, ASAN_OPTIONS="exitcode=99", LSAN_OPTIONS="exitcode=99")
        try:
            p = subprocess.run([tsrc, "check", "accident.tsr"], cwd=folder, env=env, timeout=60,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return "more than 60 s"
    said = p.stderr.decode(errors="replace")
    if p.returncode not in (0, 1):
        return f"exit status {p.returncode}\n{said[:1200]}"
    if p.returncode == 1 and not re.search(r"error\[E\d+\]: \S", said):
        return f"exit status 1 without a reason\n{said[:400]}"
    return None


def main(build):
    careful = build.rstrip("/") + "-asan"
    tsrc = os.path.abspath(os.path.join(careful if os.path.exists(careful + "/tsrc") else build, "tsrc"))
    cases = []
    for path in sorted(glob.glob("examples/*.tsr")):
        with open(path) as f:
            words = WORDS.findall(f.read())
        chance = random.Random(path)
        cases += [(f"{path}, accident {i}", accident(chance, words)) for i in range(EACH)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [(name, text, why) for (name, text), why in zip(cases, pool.map(lambda c: answer(tsrc, c[1]), cases)) if why]
    for name, text, why in wrong[:5]:
        print(f"{name}: {why}\n{'-' * 30}\n{text}\n{'-' * 30}")
    answers = blowups(os.path.abspath(os.path.join(build, "tsrc")), build.rstrip("/").endswith("-asan"))
    blown = [(name, why) for name, why in answers if why]
    for name, why in blown:
        print(f"{name}: {why}")
    failed = len(wrong) + len(blown)
    print(f"{len(cases) + len(answers) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
