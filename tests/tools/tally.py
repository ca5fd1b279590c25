"""What a script that judges by itself needs: a tally of what holds, and the end result of a command."""
import os, shlex, subprocess, sys

passed = failed = 0


def check(holds, what):
    """Counts, and says what does not hold; whether it does."""
    global passed, failed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print(what)
    return bool(holds)


def run(*command, **how):
    """Exit status, standard output and standard error; `how` as subprocess.run takes it."""
    how = {"stdin": subprocess.DEVNULL, "timeout": 300, **how}
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, **how)
    return p.returncode, p.stdout, p.stderr


def compiler(default="cc"):
    """The C compiler of the environment, which may be several words, as in a Makefile."""
    return shlex.split(os.environ.get("CC", default))


def end():
    """Ends the script with the line and the status that tests/run-tests reads."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
