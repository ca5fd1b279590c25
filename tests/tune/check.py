#!/usr/bin/env python3
"""Files of schedules: what --tune writes is read, used and kept; what is nonsense is refused; and whatever a file says, results are
those of the interpreter within the bound that it computes.

    check.py BUILD [--seed N] [--programs N]
"""
import argparse, math, os, random, re, shutil, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/tools"), os.path.join(ROOT, "tests/differential")]
import tally  # noqa: E402
from tally import check  # noqa: E402
import check as differential  # noqa: E402
import edges  # noqa: E402

HEAD = "tessera schedules 1\n"

SMALL = """
let%op a = { a = uniform () - 0.5; o = [37; 70] }
let%op b = { b = uniform () - 0.5; o = [70; 45] }
let%op c = a +* b "m, k; k, n => m, n"
let%main () = print c
"""

SQUARE = """
let%op a = { a = uniform () - 0.5; o = [160; 160] }
let%op b = { b = uniform () - 0.5; o = [160; 160] }
let%op c = a +* b "m, k; k, n => m, n"
let%main () = print c
"""

# A function, in an object.
LINEAR = 'let%export linear (x : "2708 | 64") (w : "| 7, 64") (b : "| 7") = (x +* w "m | k; | n, k => m | n") + b\n'

# Rows of A are read where they lie, those that padding cuts from copies.
ROWS = """
let%op x = { x = uniform () - 0.5; o = [50; 4; 4; 6] }
let%op k = { k = uniform () - 0.5; o = [3; 3; 6; 16] }
let%op y = x +* k "b, h =+ i, w =+ j, c; i, j, c, f => b, h, w, f"
let%main () = print y
"""

# Tiles of 28 rows by one vector, more than any other form has.
GROUPS = """
let%op x = { x = uniform () - 0.5; o = [2; 28; 28; 2; 16] }
let%op k = { k = uniform () - 0.5; o = [3; 3; 2; 16; 16] }
let%op y = x +* k "b, h =+ i, w =+ j, g, c; i, j, g, c, f => b, h, w, g, f"
let%main () = print y
"""

# Threads divide its columns, of which each packs its own.
COLUMNS = """
let%op a = { a = uniform () - 0.5; o = [70; 24] }
let%op b = { b = uniform () - 0.5; o = [2400; 24] }
let%op c = a +* b "m, k; n, k => m, n"
let%main () = print c
"""

# Tiles of the model's choice have rows one step apart, which others cannot have.
BYTES = """let%op w = { w : i8 = 100. *. uniform (); o = [1040; 1024] }
let%op x = { x = uniform () - 0.5; o = [9; 1024] }
let%op y = x +* ((w + 0) : f32) "m, k; n, k => m, n"
let%main () = print y
"""
STEPS = """
let%op x = { x = uniform () - 0.5; o = [1; 8; 8; 16] }
let%op k = { k = uniform () - 0.5; o = [3; 3; 16; 64] }
let%op y = x +* k "b, h =+ i, w =+ j, c; i, j, c, f => b, h, w, f"
let%main () = print y
"""

# Threads take blocks of its rows in turns.
TURNS = """
let%op a = { a = uniform () - 0.5; o = [150; 70] }
let%op b = { b = uniform () - 0.5; o = [70; 45] }
let%op c = a +* b "m, k; k, n => m, n"
let%op s = c ++ "m, n => m"
let%main () = print s
"""

# Its gradients run in strips unless threads are to divide them.
ATTENTION = """
open Nn
open Train
let%op q = { q = uniform (); b = [2; 640]; o = [64] }
let%op k = { k = uniform (); b = [2; 640]; o = [64] }
let%op v = { v = uniform (); b = [2; 640]; o = [64] }
let%op y =
  let scores = (q +* k "h, s | d; h, t | d => h, s | t" [d]) /. sqrt (dim d) in
  (softmax ~over:"... | t" scores +* v "h, s | t; h, t | e => h, s | e") *. q ++ "... | ..c.. => 0"
let%cd step = grad_update y; sgd y ~lr:0.01
let%main () = run step; print "{q.(0,0,0):.3}"
"""


def written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def scheduled(tsrc, source, file, *options):
    """Of each contraction in tiles: form, tile, blocks, and how its operands are read."""
    status, out, errors = tally.run(tsrc, "--schedules", file, "--dump=schedule", *options, source)
    check(status == 0, f"{source}: {errors[:500]}")
    return [(m.group(1), tuple(map(int, m.groups()[1:6])), m.group(7))
            for m in re.finditer(r"contraction:.*?; (\S+ \S+ \S+ \S+ (?:set|add) \|[^;]*); tile (\d+) x (\d+), blocks m (\d+) n (\d+) k (\d+), (.*)$", out, re.M)]


def line(form, tile, blocks, pack, thirds=""):
    return f"{form} = tile {tile[0]} {tile[1]} blocks {blocks[0]} {blocks[1]} {blocks[2]} pack {pack}{thirds}\n"


def round_trip(tsrc, folder):
    source, other = written(folder, "small.tsr", SMALL), written(folder, "other.tsr", SMALL.replace("45", "61"))
    file = os.path.join(folder, "file")
    for program, forms in ((source, 1), (other, 2)):
        status, out, errors = tally.run(tsrc, "--tune", program, "--schedules", file)
        check(status == 0 and "forms of contractions; the model is" in out, f"--tune: {status} {out}{errors}")
        lines = [x for x in open(file).read().split("\n") if x and not x.startswith("#")]
        check(lines[0] + "\n" == HEAD and len(lines) == 1 + forms, f"--tune wrote {lines}")
    for program in (source, other):
        for form, tile, how in scheduled(tsrc, program, file):
            check(how.startswith("tuned: "), f"{program}: {form} is not as the file says, {how}")
            check(any(x.startswith(f"{form} = tile {tile[0]} {tile[1]} blocks {tile[2]} {tile[3]} {tile[4]} ") for x in lines), f"{form}: {tile}")
    judge = differential.Judge(os.path.dirname(tsrc), source)
    bad = judge.problem or judge.wrong("-O2", "--schedules", file)
    check(not bad, f"{source} as tuned: {bad}")


def other_tiles(tsrc, folder):
    """Candidates are what the file will make of them, not the model's choice with another tile: those could not be computed."""
    source, file = written(folder, "steps.tsr", STEPS), os.path.join(folder, "steps")
    how = scheduled(tsrc, source, written(folder, "empty", HEAD), "--cpu=x86-64-v3")[0][2]
    check(how.startswith("A's rows one step apart"), how)
    status, out, errors = tally.run(tsrc, "--tune", source, "--schedules", file)
    check(status == 0 and "1 forms of contractions" in out, f"--tune: {status} {out}{errors}")
    judge = differential.Judge(os.path.dirname(tsrc), source)
    bad = judge.problem or judge.wrong("-O2", "--schedules", file)
    check(not bad, f"{source} as tuned: {bad}")


def objects(tsrc, folder):
    """What is linked elsewhere is timed as it will be compiled, for the least processor: code of this machine's own with that one's schedules left out rows, and took no time at all."""
    source, file = written(folder, "linear.tsr", LINEAR), os.path.join(folder, "linear")
    status, out, errors = tally.run(tsrc, "-c", "--tune", source, "--schedules", file, "-o", os.path.join(folder, "linear.o"))
    check(status == 0 and "1 forms of contractions" in out, f"-c --tune: {status} {out}{errors}")
    took = re.search(r"^# ([\d.]+) us", open(file).read(), re.M)
    check(took and 2 * 2708 * 7 * 64 / float(took[1]) < 1e6, f"more than 1e12 operations a second: {out}")


def not_here(tsrc, folder):
    """What this machine cannot run is refused, before it runs or when it meets the first such instruction, and no file is left; qemu's processor has AVX2."""
    source, file = written(folder, "linear.tsr", LINEAR), os.path.join(folder, "nowhere")
    this, other = os.uname().machine, "aarch64-linux-gnu" if os.uname().machine == "x86_64" else "x86_64-linux-gnu"
    cases = [([], [f"--target={other}"])] + ([(["qemu-x86_64", "-cpu", "Haswell"], ["--cpu=x86-64-v4"])] if this == "x86_64" and shutil.which("qemu-x86_64") else [])
    for machine, options in cases:
        status, out, errors = tally.run(*machine, tsrc, "--tune", *options, source, "--schedules", file)
        check(status == 1 and "E0804" in errors and not os.path.exists(file), f"--tune {options}: {status} {out}{errors[-500:]}")


def computed_columns(tsrc, folder):
    """No candidate reads in place what is computed."""
    source, file = written(folder, "bytes.tsr", BYTES), os.path.join(folder, "bytes")
    status, out, errors = tally.run(tsrc, "--tune", source, "--schedules", file)
    check(status == 0 and "b computed" in out, f"--tune: {status} {out}{errors}")
    judge = differential.Judge(os.path.dirname(tsrc), source)
    bad = judge.problem or judge.wrong("-O2", "--schedules", file)
    check(not bad, f"{source} as tuned: {bad}")


def own_choice(tsrc, folder):
    """Whatever the model chooses can stand in a file, and is followed."""
    empty = written(folder, "empty", HEAD)
    for name, text in (("small", SMALL), ("rows", ROWS), ("columns", COLUMNS), ("steps", STEPS), ("groups", GROUPS), ("attention", ATTENTION)):
        source = written(folder, name + ".tsr", text)
        for cpu in ("x86-64-v2", "x86-64-v3", "x86-64-v4", "znver5"):
            lines, tiles = {}, set()
            for form, (mr, nr, *blocks), how in scheduled(tsrc, source, empty, "--cpu=" + cpu):
                pack = "ab" if "both" in how else "a" if "pack A" in how else "b" if "pack B" in how else "none"
                lines[form] = line(form, (mr, nr), blocks, pack)
                tiles.add((form, (mr, nr, *blocks)))
            got = scheduled(tsrc, source, written(folder, "own", HEAD + "".join(lines.values())), "--cpu=" + cpu)
            check({(form, tile) for form, tile, _ in got} == tiles and all(how.startswith("tuned: ") for *_, how in got), f"{source} {cpu}: {got} where the model has {tiles}")
            check(name != "groups" or cpu != "znver5" or any(tile[0] > 24 for _, tile in tiles), f"{source} {cpu}: no tile is higher than any other's")


def others(tsrc, folder):
    """A file of other processors changes nothing, and that is said; one with a line for the processor says nothing, nor does an empty one."""
    source, avx2 = os.path.join(folder, "small.tsr"), "avx2 f32 + mul set | m 1:1,1,1 | n 1:1,1,1 | k 1:1,1,1 | a plain | b plain"
    other, own = line(avx2, (3, 8), (9, 8, 11), "ab"), line(avx2.replace("avx2", "sse"), (3, 4), (9, 8, 11), "ab")
    for text, warns in ((other, True), (other + own, False), ("", False)):
        file = written(folder, "elsewhere", HEAD + text)
        status, _, errors = tally.run(tsrc, "--schedules", file, "--dump=schedule", "--cpu=x86-64-v2", source)
        check(status == 0 and ("W0904" in errors) == warns, f"{text!r}: {status} {errors}")
        status, _, errors = tally.run(tsrc, "--schedules", file, "-c", "--cpu=x86-64-v2,x86-64-v4", source, "-o", os.path.join(folder, "several.o"))
        check("W0904" not in errors, f"several processors, {text!r}: {errors}")


def same_forms(tsrc, folder):
    """The tuner's contractions are those of the program as it is compiled without it: kernels that threads divide are put together otherwise."""
    source, empty = written(folder, "attention.tsr", ATTENTION), written(folder, "empty", HEAD)
    there = {form for form, *_ in scheduled(tsrc, source, empty)}
    tuned = {form for form, *_ in scheduled(tsrc, source, os.path.join(folder, "none"), "--tune")}
    alone = {form for form, *_ in scheduled(tsrc, source, empty, "--threads=none")}
    check(there and tuned == there, f"--tune sees {tuned ^ there}")
    check(there != alone, "the program has the same forms without threads: nothing is tested")


def followed(tsrc, folder):
    """A schedule that the model would not choose; without the form in it, the file changes nothing."""
    source, empty = os.path.join(folder, "small.tsr"), written(folder, "empty", HEAD)
    form, tile, how = scheduled(tsrc, source, empty)[0]
    check(not how.startswith("tuned"), how)
    lanes = {"amx": 16, "avx512": 16, "xeon": 16, "zen4": 16, "zen5": 16, "avx2": 8}.get(form.split()[0], 4)
    mine = (3, lanes, 9, 2 * lanes, 11)
    file = written(folder, "mine", HEAD + "# of ours\n\n" + line(form, mine[:2], mine[2:], "ab") + line(form.replace(" m ", " m 5:5,5,5 "), mine[:2], mine[2:], "ab"))
    got = scheduled(tsrc, source, file)[0]
    check(got == (form, mine, "tuned: pack both"), f"{got} where the file says {mine}")
    judge = differential.Judge(os.path.dirname(tsrc), source)
    check(not (judge.problem or judge.wrong("-O2", "--schedules", file)), f"other numbers with {mine}")
    return form, lanes


def named_blocks(tsrc, folder, source, usual, blocks, pack):
    """What threads divide has the file's blocks, too, where the model would have smaller ones for threads' sake."""
    empty = os.path.join(folder, "empty")
    form, tile, how = scheduled(tsrc, source, empty, "--cpu=x86-64-v3")[0]
    check(usual(tile, how), f"{form}: {tile} {how}")
    mine = (tile[0], tile[1], *blocks(tile))
    file = written(folder, "blocks", HEAD + line(form, mine[:2], mine[2:], pack))
    got = scheduled(tsrc, source, file, "--cpu=x86-64-v3")[0]
    check(got == (form, mine, "tuned: " + how), f"{got} where the file says {mine}")
    if "x86-64-v3" in differential.processors():
        judge = differential.Judge(os.path.dirname(tsrc), source)
        bad = judge.problem or judge.wrong("-O2", "--cpu=x86-64-v3", "--schedules", file)
        check(not bad, f"{source} with {mine}: {bad}")


def small_blocks(tsrc, folder):
    """Lower blocks leave a thread's tables of rows on its stack."""
    named_blocks(tsrc, folder, written(folder, "rows.tsr", ROWS), lambda tile, how: how == "A's rows in place" and tile[2] <= 120,
                 lambda tile: (80 * tile[0], tile[3], tile[4]), "none")


def own_blocks(tsrc, folder):
    """Of narrower blocks threads pack their own."""
    named_blocks(tsrc, folder, written(folder, "columns.tsr", COLUMNS), lambda tile, how: how == "pack B" and tile[3] <= 1024,
                 lambda tile: (tile[2], 2400, tile[4]), "b")


def single_tiles(tsrc, folder):
    """Blocks of rows that are one tile: what threads take at the end is no more than a block, whose memory it is packed into."""
    source, empty = written(folder, "turns.tsr", TURNS), os.path.join(folder, "empty")
    judge = differential.Judge(os.path.dirname(tsrc), source)
    for form, tile, _ in scheduled(tsrc, source, empty, "--threads=all"):
        for pack in ("b", "ab"):
            file = written(folder, "tiles", HEAD + line(form, tile[:2], (tile[0], tile[3], 70), pack))
            for how in ((), ("--sanitize",)):
                bad = judge.problem or judge.wrong("-O2", "--threads=all", *how, "--schedules", file)
                check(not bad, f"{source} of blocks of one tile, packed {pack} {how}: {bad}")


def by_registers(tsrc, folder):
    """Matrix registers compute what the file says, in its blocks, or nothing; without a word of it the model decides."""
    source, empty = written(folder, "square.tsr", SQUARE), os.path.join(folder, "empty")
    words = lambda file: re.findall(r"in thirds, tile 32 x 32, blocks m (\d+) n (\d+) k (\d+)", tally.run(tsrc, "--schedules", file, "--dump=schedule", "--cpu=sapphirerapids", source)[1])  # noqa: E731
    form, tile, how = scheduled(tsrc, source, empty, "--cpu=sapphirerapids")[0]
    pack = {"pack both": "ab", "pack A": "a", "pack B": "b"}.get(how, "none")
    here = form.split()[0] == scheduled(tsrc, source, empty)[0][0].split()[0]        # this machine has such registers
    check(len(words(empty)) == 1, "160 x 160 x 160 is not in thirds")
    for thirds, want in ("", words(empty)), (" thirds none", []), (" thirds 64 96 128", [("64", "96", "128")]):
        file = written(folder, "registers", HEAD + line(form, tile[:2], tile[2:], pack, thirds))
        check(words(file) == want, f"{thirds or 'nothing'} is {words(file)}")
        if here:
            judge = differential.Judge(os.path.dirname(tsrc), source)
            bad = judge.problem or judge.wrong("-O2", "--schedules", file)
            check(not bad, f"{source} with {thirds}: {bad}")
    if here:
        status, out, errors = tally.run(tsrc, "--tune", source, "--schedules", os.path.join(folder, "registers"), "--cpu=sapphirerapids")
        check(status == 0 and "1 forms" in out, f"--tune: {status} {out}{errors}")


def refused(tsrc, folder, form, lanes):
    source, good = os.path.join(folder, "small.tsr"), ((3, lanes), (9, lanes, 11), "ab")
    cases = {"": 1, "something else\n": 1, HEAD.strip() + "0\n": 1, HEAD + "nonsense\n": 2, HEAD + form + " = tile 3\n": 2, HEAD + "\n\n" + form + "\n": 4,
             HEAD + line(form, *good).replace("pack ab", "pack c"): 2, HEAD + line(form, *good).strip() + " more\n": 2, HEAD + "x" * 5000 + "\n": 2,
             HEAD + line(form, (-3, lanes), (9, lanes, 11), "ab"): 2, HEAD + line(form, (3, lanes + 1), (9, lanes, 11), "ab"): 2,
             HEAD + line(form, (3, lanes), (10, lanes, 11), "ab"): 2, HEAD + line(form, (3, lanes), (9, lanes + 1, 11), "ab"): 2,
             HEAD + line(form, (3, lanes), (9, lanes, 0), "ab"): 2, HEAD + line(form, (24, 4 * lanes), (24, 4 * lanes, 11), "ab"): 2,
             HEAD + line(form, (3, lanes), (9, lanes, 99999), "ab"): 2, HEAD + line(form, (10 ** 9, lanes), (9, lanes, 11), "ab"): 2,
             HEAD + line(form, (3, lanes), (9, lanes, 10 ** 30), "ab"): 2, HEAD + line(form, *good, " thirds"): 2, HEAD + line(form, *good, " thirds 64 64"): 2,
             HEAD + line(form, *good, " thirds 64 64 33"): 2, HEAD + line(form, *good, " thirds 0 64 64"): 2, HEAD + line(form, *good, " thirds 64 64 64 64"): 2, HEAD + "\0\0\0\n": 2}
    for text, number in cases.items():
        file = written(folder, "bad", text)
        status, _, errors = tally.run(tsrc, "--schedules", file, "--dump=schedule", source)
        check(status == 1 and "E0808" in errors and f"{file}:{number}:" in errors, f"{text[:80]!r}: exit status {status} {errors[:300]}")
    status, _, errors = tally.run(tsrc, "--schedules", os.path.join(folder, "missing"), "--dump=schedule", source)
    check(status == 1 and "E0801" in errors, f"a missing file: {status} {errors}")
    status, _, errors = tally.run(tsrc, "--tune", source)
    check(status == 2, f"--tune without a file: {status} {errors}")


def any_schedule(tsrc, folder, seed, programs):
    """Programs at the edges of tiles with schedules drawn at random, at each level of processor, divided among threads wherever that is possible."""
    registers, lanes_of = {"amx": 32, "avx512": 32, "xeon": 32, "zen4": 32, "zen5": 32, "avx2": 16}, {"amx": 16, "avx512": 16, "xeon": 16, "zen4": 16, "zen5": 16, "avx2": 8}
    empty, used = os.path.join(folder, "empty"), 0
    for number in range(seed, seed + programs):
        rng = random.Random(number)
        source = written(folder, f"edges{number}.tsr", edges.program(rng))
        judge = differential.Judge(os.path.dirname(tsrc), source)
        for cpu in differential.processors():
            text = HEAD
            for form, tile, how in scheduled(tsrc, source, empty, "--threads=all", "--cpu=" + cpu):
                target = form.split()[0]
                lanes, m, n = math.gcd(lanes_of.get(target, 4), tile[1]), rng.randint(1, 12), rng.randint(1, 4)      # few columns have half a register
                while m * n + n + 1 > registers.get(target, 16):
                    m -= 1
                pack = {"pack both": "ab", "pack both, B early": "ab", "pack A": "ab", "pack B": rng.choice(["b", "ab"])}.get(how, rng.choice(["none", "a", "b", "ab"]))
                depth, rows = rng.choice([1, 2, 3, 7, 16, 64, 65, 200, 384]), m * rng.randint(1, 5)
                cols = n * lanes * rng.randint(1, 3)
                if "dot products" in how:
                    pack = rng.choice(["none", "b", "ab"])
                    if pack == "none":
                        m, n = rng.randint(1, tile[0]), 1
                        rows, cols = m * rng.randint(1, 5), lanes * rng.randint(1, 9)
                if "B's rows in place" in how:
                    pack, cols = rng.choice(["none", "a"]) if "pack A" not in how else "a", tile[3]
                elif "rows in place" in how or "one step apart" in how:
                    pack, depth, rows = "b" if "pack B" in how else "none", tile[4], max(m, min(rows, tile[2] // m * m))
                thirds = rng.choice(["", " thirds none", " thirds {} {} {}".format(*(32 * rng.randint(1, 4) for _ in "mnk"))]) if target == "amx" else ""
                text += line(form, (m, n * lanes), (rows, cols, depth), pack, thirds)
            file = written(folder, "drawn", text)
            used += sum(how.startswith("tuned: ") for _, _, how in scheduled(tsrc, source, file, "--threads=all", "--cpu=" + cpu))
            bad = judge.problem or judge.wrong("-O2", "--threads=all", "--cpu=" + cpu, "--schedules", file)
            check(not bad, f"{source} {cpu} seed {number}: {bad}\n{text}")
    check(used > 4 * programs, f"only {used} schedules were used")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--programs", type=int, default=4)
    o = p.parse_args()
    tsrc = os.path.abspath(os.path.join(o.build, "tsrc"))
    with tempfile.TemporaryDirectory() as folder:
        round_trip(tsrc, folder)
        other_tiles(tsrc, folder)
        objects(tsrc, folder)
        not_here(tsrc, folder)
        computed_columns(tsrc, folder)
        own_choice(tsrc, folder)
        others(tsrc, folder)
        same_forms(tsrc, folder)
        refused(tsrc, folder, *followed(tsrc, folder))
        by_registers(tsrc, folder)
        small_blocks(tsrc, folder)
        own_blocks(tsrc, folder)
        single_tiles(tsrc, folder)
        any_schedule(tsrc, folder, o.seed, o.programs)
    tally.end()


main()
