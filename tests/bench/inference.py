"""How the time of shape inference grows with the program: infer.c, in a release build, prints a line for each size; the table has what
they come to."""
import os, re, subprocess
from common import ROOT, Missing

LIMITS = {"10000": 0.15, "100000": 1.9}                 # seconds for so many operations
EXPONENT = 1.1
NAMED = ("chain", "tree", "residual")                   # the families that the goals are set for


def lines(program):
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            print(line, end="", flush=True)
            yield line


def measure(bench):
    release = bench.build.rstrip("/") + "-release"
    program = os.path.join(release, "bench/infer")
    made = subprocess.run(["make", "-s", "MODE=release", f"BUILD={os.path.relpath(release, ROOT)}", os.path.relpath(program, ROOT)], cwd=ROOT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if made.returncode:
        raise Missing(made.stderr.strip().split("\n")[-1])
    print("\nShape inference, release build", flush=True)
    text = "".join(lines(program))
    bench.table.heading("Shape inference: seconds, and the exponent from 1,000 to 100,000 operations")
    for family in dict.fromkeys(re.findall(r"^  (\w+) ", text, re.M)):
        taken = dict(re.findall(rf"^  {family} +(\d+) operations +([\d.]+) s", text, re.M))
        for size, limit in LIMITS.items() if family in NAMED else ():
            near = min(taken, key=lambda n: abs(int(n) - int(size)))
            bench.table.row(f"inference, {family} of {int(near):,}", f"{taken[near]} s", goal=f"<= {limit:g} s", met=float(taken[near]) <= limit)
        exponent = float(re.search(rf"^  {family} +exponent .*?: ([\d.]+)", text, re.M)[1])
        bench.table.row(f"inference, {family}, exponent", "", "", exponent, EXPONENT if family in NAMED else None, most=True)
