#!/usr/bin/env python3
"""The command line: what each form writes, and its exit status.

    check.py BUILD
"""
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import xml.dom.minidom

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/tools"))
from machine import processors  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TSRC = os.path.join(BUILD, "tsrc")
HELLO = os.path.join(ROOT, "examples", "hello.tsr")
LOOP = os.path.join(ROOT, "tests/loop/how-results-are-cleared-and-stored.loop")
GREETING = "y : 2  [0. 7.5]\n"
passed = failed = 0


def check(what, holds, text=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {what}\n{text}")


def run(*command, status=0, cwd=None):
    p = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(f"{' '.join(command)}: exit status {p.returncode}, not {status}", p.returncode == status, p.stderr)
    return p.stdout, p.stderr


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def executables(tmp):
    for level in "0123":
        run(TSRC, f"-O{level}", HELLO, "-o", "hello" + level, cwd=tmp)
        check(f"greeting at -O{level}", run(os.path.join(tmp, "hello" + level))[0] == GREETING)
    run(TSRC, HELLO, cwd=tmp)
    check("the executable is named after the program", run(os.path.join(tmp, "hello"))[0] == GREETING)
    check("run", run(TSRC, "run", HELLO)[0] == GREETING)
    check("run --interp", run(TSRC, "run", "--interp", HELLO)[0] == GREETING)
    check("the executable is small", os.path.getsize(os.path.join(tmp, "hello")) < 100 << 10)
    needed = run("ldd", os.path.join(tmp, "hello"))[0]
    check("it needs libc and libm only", all(any(w in l for w in ("libc.", "libm.", "linux-vdso", "ld-linux"))
                                             for l in needed.splitlines()), needed)
    with open(os.path.join(tmp, "fail.tsr"), "w") as f:
        f.write("let%main () = print (1 / (arg_count () - arg_count ()))\n")
    _, err = run(TSRC, "run", "fail.tsr", status=1, cwd=tmp)
    check("a failure names its place", err == "fail.tsr:1:21: error: division by zero\n", err)


def parts(tmp):
    """A large program is compiled in parts by as many threads as there are processors, to the same bytes by one."""
    gpt = os.path.join(ROOT, "tests/bench/gpt.tsr")
    _, said = run(TSRC, "-v", gpt, "-o", "by-all", cwd=tmp)
    check("a large program is compiled in parts", said.count(".o ") > 2, said)
    run("taskset", "-c", str(min(os.sched_getaffinity(0))), TSRC, gpt, "-o", "by-one", cwd=tmp)
    with open(os.path.join(tmp, "by-all"), "rb") as a, open(os.path.join(tmp, "by-one"), "rb") as b:
        check("the same bytes by any number of threads", a.read() == b.read())
    symbols = run("nm", "-D", os.path.join(tmp, "by-all"))[0]
    check("parts see each other's functions, and nobody else does", " T unit." not in symbols, symbols[:500])
    _, said = run(TSRC, "-v", "-c", gpt, "-o", "gpt.o", cwd=tmp)
    check("so is an object", said.count(".o ") > 2 and "objcopy" in said, said)
    shown = [line.split()[-1] for line in run("nm", "--extern-only", "--defined-only", "gpt.o", cwd=tmp)[0].splitlines()]
    check("which shows what its header declares and nothing else", shown == ["gpt_main"], str(shown))
    run(TSRC, "-c", gpt, "-o", "/dev/full", cwd=tmp, status=1)
    alone = {**os.environ, "PATH": tmp}
    p = subprocess.run([TSRC, "-c", gpt, "-o", "whole.o"], cwd=tmp, env=alone, stderr=subprocess.PIPE, text=True)
    check("a machine without binutils makes the object whole", p.returncode == 0, p.stderr)
    for name in ("gpt", "whole"):
        with open(os.path.join(tmp, "start.c"), "w") as f:
            f.write('#include "gpt.h"\nint main(int c, char **v) { return gpt_main(c, v); }\n')
        run("cc", "start.c", f"{name}.o", os.path.join(BUILD, "libtessera.a"), "-lm", "-o", name, cwd=tmp)


def several_processors(tmp):
    """Code for several, of which the machine's best or the one that TSR_CPU names runs: to the bits of a program for that one alone."""
    levels, source = processors(), os.path.join(tmp, "several.tsr")
    with open(source, "w") as f:
        f.write("let%op a = { a = uniform (); i = [300]; o = [70] }\nlet%op c = a * { v = uniform (); o = [300] }\n"
                "let%op s = sin c ++ \"m => 0\"\nlet%main () = run s.forward; print \"{s.(0):.9}\"\n")
    run(TSRC, "--cpu=" + ",".join(levels), source, "-o", "several", cwd=tmp)
    said = {}
    for level in levels:
        run(TSRC, "--cpu=" + level, source, "-o", level, cwd=tmp)
        said[level] = run(os.path.join(tmp, level))[0]
        p = subprocess.run([os.path.join(tmp, "several")], env={**os.environ, "TSR_CPU": level}, stdout=subprocess.PIPE, text=True)
        check(f"of several the code for {level}", p.stdout == said[level], f"{p.stdout}{said[level]}")
    check("the machine's best level runs", run(os.path.join(tmp, "several"))[0] == said[levels[-1]])
    check("levels differ in their bits, so that this says something", len(levels) < 3 or len(set(said.values())) > 1, str(said))
    for words, why in ((["x86-64-v3,x86-64-v2"], "the lowest first"), (["x86-64-v2,haswell"], "the lowest first"), (["x86-64-v2,"], "the lowest first"),
                       (["x86-64-v2,x86-64-v3", "-S"], "of one processor"), (["x86-64-v2,x86-64-v3", "--dump=ll"], "of one processor")):
        err = run(TSRC, "--cpu=" + words[0], *words[1:], source, "-o", "none", status=1, cwd=tmp)[1]
        check(f"--cpu={words}", "error[E0804]" in err and why in err, err)
    p = subprocess.run([TSRC, "-c", "--cpu=x86-64-v2,x86-64-v3", source], cwd=tmp, env={**os.environ, "PATH": tmp}, stderr=subprocess.PIPE, text=True)
    check("several take binutils", p.returncode == 1 and "error[E0802]" in p.stderr and "objcopy" in p.stderr, p.stderr)
    err = run(TSRC, "-c", "--cpu=x86-64-v2,x86-64-v3", source, "-o", "/dev/full", status=1, cwd=tmp)[1]
    check("and a file", "error[E0802]" in err and os.path.exists("/dev/full"), err)
    with open(os.path.join(tmp, "old.o"), "w") as f:
        f.write("what was")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    before = sorted(os.listdir(tmp))
    p = subprocess.run([TSRC, "-c", "--cpu=x86-64-v2,x86-64-v3", source, "-o", "old.o"], cwd=tmp, preexec_fn=small_files, stderr=subprocess.PIPE, text=True)
    check("an object that cannot be put together leaves the old one", p.returncode == 1 and read(os.path.join(tmp, "old.o")) == "what was", p.stderr)
    check("and nothing half", sorted(os.listdir(tmp)) == before, str(os.listdir(tmp)))


def full_disks(tmp):
    """What cannot be written is said, with exit status 1, and what stood there before stays."""
    for form in ("-c", "-S", "--emit=llvm"):
        said = run(TSRC, form, HELLO, "-o", "/dev/full", cwd=tmp, status=1)[1]
        check(f"{form} onto a full disk", said == "tsrc: error[E0803]: /dev/full: No space left on device\n", said)
    for words in (["--help"], ["--version"], ["--dump=ll", HELLO], ["--dump=asm", HELLO], ["check", "--json", HELLO]):
        with open("/dev/full", "w") as full:
            p = subprocess.run([TSRC, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        check(f"{words} onto a full disk", p.returncode == 1 and "E0803" in p.stderr, p.stderr)
    folder = os.path.join(tmp, "small")
    os.mkdir(folder)
    with open(os.path.join(folder, "hello.s"), "w") as f:
        f.write("what was")

    def smaller_than(size):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return limit
    p = subprocess.run([TSRC, "-S", HELLO, "-o", "hello.s"], cwd=folder, preexec_fn=smaller_than(1000), stderr=subprocess.PIPE, text=True)
    check("a disk that becomes full", p.returncode == 1 and "error[E0803]: hello.s: File too large" in p.stderr, p.stderr)
    check("loses nothing", read(os.path.join(folder, "hello.s")) == "what was")
    check("and is not left with half a file", os.listdir(folder) == ["hello.s"], str(os.listdir(folder)))
    run(TSRC, HELLO, "-o", "hello", cwd=folder)
    with open(os.path.join(folder, "hello"), "rb") as f:
        program = f.read()
    p = subprocess.run([TSRC, HELLO, "-o", "hello"], cwd=folder, preexec_fn=smaller_than(20000), stderr=subprocess.PIPE, text=True)
    with open(os.path.join(folder, "hello"), "rb") as f:
        check("an executable that cannot be linked leaves the old one", p.returncode == 1 and "error[E0802]: cc could not make hello (" in p.stderr and f.read() == program, p.stderr)
    check("which still runs", run(os.path.join(folder, "hello"))[0] == run(TSRC, "run", HELLO)[0])
    check("and nothing beside it", sorted(os.listdir(folder)) == ["hello", "hello.s"], str(os.listdir(folder)))
    for form in ([], ["-c"], ["-S"]):
        for where, why in (("none/hello", "No such file or directory"), (".", "Is a directory")):
            said = run(TSRC, *form, HELLO, "-o", where, cwd=folder, status=1)[1]
            check(f"{form} to {where}", said == f"tsrc: error[E0803]: {where}: {why}\n", said)


def profile(tmp):
    """Each place that calls a kernel has a row, with how often it ran."""
    with open(os.path.join(tmp, "steps.tsr"), "w") as f:
        f.write("open Train\nlet%op x = { x; o = [64] }\nlet%op s = (x *. x) ++ \"... | ..c.. => 0\"\n"
                "let%cd step = grad_update s; sgd s ~lr:0.01\nlet%main () = for k = 0 to 4 do run step done; print \"done\"\n")
    plain, silent = run(TSRC, "run", "steps.tsr", cwd=tmp)
    said, rows = run(TSRC, "run", "--profile", "steps.tsr", cwd=tmp)
    check("--profile prints what the program prints", said == plain and not silent, said)
    head, *kernels, total = [line.split() for line in rows.splitlines()]
    check("--profile names its columns", head[:2] == ["seconds", "share"] and head[-1] == "kernel", rows)
    check("each kernel of a step ran five times", {r[2] for r in kernels if r[-2] == "step:"} == {"5"}, rows)
    check("and of the beginning once", {r[2] for r in kernels if r[-2] == "init:"} == {"1"}, rows)
    taken = [float(r[0]) for r in kernels]
    check("the slowest kernel comes first", taken == sorted(taken, reverse=True), rows)
    check("the total is their sum", abs(float(total[0]) - sum(taken)) < 1e-5 * len(taken), rows)


def objects(tmp):
    run(TSRC, "-c", "-MD", HELLO, "-o", "hello.o", cwd=tmp)
    check("-c writes a header", "int hello_main(int argc, char **argv);" in read(os.path.join(tmp, "hello.h")))
    check("which names the processor", "for x86-64-v2" in read(os.path.join(tmp, "hello.h")))
    depends = read(os.path.join(tmp, "hello.d"))
    check("-MD lists program and library", depends.startswith("hello.o:") and HELLO in depends and "ops.tsr" in depends, depends)
    with open(os.path.join(tmp, "main.c"), "w") as f:
        f.write('#include "hello.h"\nint main(int c, char **v) { return hello_main(c, v); }\n')
    run("cc", "main.c", "hello.o", os.path.join(BUILD, "libtessera.a"), "-lm", "-o", "linked", cwd=tmp)
    check("an object linked by hand", run(os.path.join(tmp, "linked"))[0] == GREETING)
    run(TSRC, "-S", HELLO, "-o", "hello.s", cwd=tmp)
    check("-S writes assembly", "tsr_start" in read(os.path.join(tmp, "hello.s")))
    run(TSRC, "--emit=llvm", HELLO, "-o", "hello.ll", cwd=tmp)
    check("--emit=llvm writes LLVM IR", "define i32 @main(" in read(os.path.join(tmp, "hello.ll")))
    run(TSRC, "--target=aarch64-linux-gnu", "-S", HELLO, "-o", "arm.s", cwd=tmp)
    check("another machine's assembly", "\tret" in read(os.path.join(tmp, "arm.s")) and "\tbl\ttsr_start" in read(os.path.join(tmp, "arm.s")))
    run(TSRC, "-g", "-S", HELLO, "-o", "debug.s", cwd=tmp)
    lines = read(os.path.join(tmp, "debug.s"))
    check("-g names the source", "hello.tsr" in lines and "\t.loc\t" in lines)
    share = os.path.join(ROOT, "tests/opt/buffers-share-one-arena.tsr")
    picture = xml.dom.minidom.parseString(run(TSRC, "--dump=memory-svg", share)[0])
    check("--dump=memory-svg draws each life", len(picture.getElementsByTagName("title")) >= 2)
    check("-O0 gives every buffer memory of its own", "           0  arena" in run(TSRC, "-O0", "--dump=memory", share)[0])
    check("--dump=asm", "tsr_start" in run(TSRC, "--dump=asm", HELLO)[0])


def seeds(tmp):
    with open(os.path.join(tmp, "draw.tsr"), "w") as f:
        f.write("let%op x = { x; o = [3] }\nlet%main () = print x; print \"{uniform ()}\\n\"\n")
    outputs = [run(TSRC, "run", *flags, "draw.tsr", cwd=tmp)[0] for flags in ((), ("--seed=0",), ("--seed=1",), ("--seed=1", "-O0"))]
    check("the seed is 0 unless given", outputs[0] == outputs[1], str(outputs))
    check("another seed draws other numbers", outputs[1] != outputs[2], str(outputs))
    check("the same words at every level", outputs[2] == outputs[3], str(outputs))
    check("and interpreted", run(TSRC, "run", "--interp", "--seed=1", "draw.tsr", cwd=tmp)[0] == outputs[2])


def wrong(tmp):
    for command in ((), ("-Q", HELLO), ("--dump=nothing", HELLO), ("-O7", HELLO), ("--seed=x", HELLO), (HELLO, HELLO), ("-o",),
                    ("--emit=wat", HELLO), ("-MX", HELLO)):
        _, err = run(TSRC, *command, status=2)
        check(f"{command}: one line says what is wrong", err.count("\n") == 1 and err.startswith("tsrc: "), err)
    with open(os.path.join(tmp, "bad.loop"), "w") as f:
        f.write("this is no loop text\n")
    for code, command in (("E0801", ("missing.tsr",)), ("E0804", ("--target=vax-dec-vms", "-c", HELLO)), ("E0804", ("--cpu=abacus", HELLO)),
                          ("E0802", ("--target=aarch64-linux-gnu", HELLO)), ("E0803", ("-c", HELLO, "-o", "no/such/folder/x.o")),
                          ("E0803", (HELLO, "-o", "no/such/folder/x")), ("E0802", (HELLO, "-o", "/dev/full")), ("E0805", ("passes", "--passes=polish", LOOP)),
                          ("E0690", ("passes", "bad.loop")), ("E0804", ("passes", "--cpu=pentium", "--passes=schedule", LOOP))):
        _, err = run(TSRC, *command, status=1, cwd=tmp)
        check(f"{command}: the error {code}", f"error[{code}]" in err, err)
    check("--version", run(TSRC, "--version")[0].startswith("tsrc "))
    text = run(TSRC, "--help")[0]
    check("--help names the flags and the stages", all(w in text for w in ("--seed", "-MD", "schedule", "tsrc check")))


with tempfile.TemporaryDirectory() as folder:
    executables(folder)
    parts(folder)
    full_disks(folder)
    profile(folder)
    if platform.machine() == "x86_64":
        objects(folder)
        several_processors(folder)
    seeds(folder)
    wrong(folder)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
