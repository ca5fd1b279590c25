"""The oracle finds planted faults: builds shape and projection inference with each of the wrong rules (-DTSR_PLANT=n), and runs
the part of the oracle that belongs to the tests, family by family until one disagrees. Without a plant it must pass, with
one it must not.

    tests/oracle/plants.py BUILD RELEASE [N ..]     RELEASE: a build folder with libtsrc.a; ends with `N passed, N failed`"""
import glob, os, re, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
import tally  # noqa: E402

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra"]
FAMILIES = ["dims", "terms", "symbols", "rows", "samples", "lookups", "maps"]
FOUND = re.compile(r"TSR_PLANTED\((\d+)\)")
PLANTED = [path for path in glob.glob("compiler/shape/*.c") + glob.glob("compiler/proj/*.c") if FOUND.search(open(path).read())]
build, release, cc = sys.argv[1], sys.argv[2], tally.compiler("gcc")
all_plants = sorted({int(n) for path in PLANTED for n in FOUND.findall(open(path).read())})
plants = [int(n) for n in sys.argv[3:]] or [0] + all_plants
with open(os.path.join(release, "machine.mk")) as f:
    libraries = re.search(r"LLVM_LIBS := (.*)", f.read()).group(1).split()
os.makedirs(build, exist_ok=True)


def objects(sources, tag, flags):
    made = []
    for path in sources:
        made.append(os.path.join(build, f"{tag}-{path.replace('/', '-')[:-2]}.o"))
        subprocess.run([*cc, *FLAGS, *flags, "-c", path, "-o", made[-1]], check=True)
    return made


def first_found(program, families):
    for family in families:
        p = subprocess.run(["timeout", "900", program, "--ci", "--show", "1", "--only", family], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if p.returncode != 0:
            lines = [line[14:] for line in p.stdout.split("\n") if line.startswith("disagreement")]
            return f"{family}: {lines[0] if lines else 'it crashes, or does not end'}"
    return None


common = objects(glob.glob("tests/oracle/*.c"), "oracle", [])
failed = 0
for plant in plants:
    program = os.path.join(build, f"plant-{plant}")
    files = [path for path in PLANTED if f"TSR_PLANTED({plant})" in open(path).read()]
    faulty = objects(files, "planted", [f"-DTSR_PLANT={plant}"])
    subprocess.run([*cc, *faulty, *common, os.path.join(release, "libtsrc.a"), os.path.join(release, "libtessera.a"), "-Wl,--as-needed",
        *libraries, "-lminizip", "-lz", "-lm", "-o", program], check=True)
    what = first_found(program, FAMILIES[::-1] if any(path.startswith("compiler/proj") for path in files) else FAMILIES)
    ok = (what is not None) == (plant > 0)
    failed += not ok
    print(f"plant {plant}: {'as it must be' if ok else 'WRONG'}; found: {what or 'nothing'}", flush=True)
print(f"{len(plants) - failed} passed, {failed} failed")
sys.exit(failed > 0)
