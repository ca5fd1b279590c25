"""How the time of shape inference grows with the program: infer.c, in a release build, prints a table of its own."""
import os, subprocess
from common import ROOT, Missing


def measure(bench):
    release = bench.build.rstrip("/") + "-release"
    program = os.path.join(release, "bench/infer")
    made = subprocess.run(["make", "-s", "MODE=release", f"BUILD={os.path.relpath(release, ROOT)}", os.path.relpath(program, ROOT)], cwd=ROOT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if made.returncode:
        raise Missing(made.stderr.strip().split("\n")[-1])
    print("\nShape inference, release build", flush=True)
    subprocess.run([program], check=False)
