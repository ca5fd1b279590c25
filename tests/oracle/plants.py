"""The oracle finds planted faults: builds the solver with each of ten wrong rules (-DTSR_PLANT=1 .. 10) and runs the part of
the oracle that belongs to the tests. Without a plant it must pass, with one it must not.

    tests/oracle/plants.py BUILD        ends with `N passed, N failed`"""
import glob, os, subprocess, sys

PLANTS = 10
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra"]
build, cc = sys.argv[1], os.environ.get("CC", "gcc")
os.makedirs(build, exist_ok=True)


def objects(sources, tag, flags):
    made = []
    for path in sources:
        made.append(os.path.join(build, f"{tag}-{path.replace('/', '-')[:-2]}.o"))
        subprocess.run([cc, *FLAGS, *flags, "-c", path, "-o", made[-1]], check=True)
    return made


common = objects(glob.glob("compiler/base/*.c") + glob.glob("compiler/diag/*.c"), "common", [])
common += objects([p for p in glob.glob("tests/oracle/*.c")], "oracle", [])
failed = 0
for plant in range(PLANTS + 1):
    program = os.path.join(build, f"plant-{plant}")
    subprocess.run([cc, *objects(glob.glob("compiler/shape/*.c"), f"plant{plant}", [f"-DTSR_PLANT={plant}"]), *common, "-o", program], check=True)
    p = subprocess.run([program, "--ci", "--show", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ok = (p.returncode != 0) == (plant > 0)
    failed += not ok
    what = next((line[14:] for line in p.stdout.split("\n") if line.startswith("disagreement")), "nothing")
    print(f"plant {plant}: {p.stdout.strip().split(chr(10))[-1]}: {'as it must be' if ok else 'WRONG'}; first found: {what}", flush=True)
print(f"{PLANTS + 1 - failed} passed, {failed} failed")
sys.exit(failed > 0)
