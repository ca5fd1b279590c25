"""The 48 contractions of the TCCG suite against transposing and OpenBLAS, measured here, and against TBLIS, whose recorded rates are
taken as fractions of the peak of their machine."""
import itertools, json, math, os, subprocess
from common import SHARED, Missing, environment, geometric_mean
from products import libraries

CASES = os.path.join(SHARED, "cases/tccg.json")
RECORDED_PEAK = 179.0                                   # of one core, where TBLIS was measured
LONG = 200                                              # GFLOP from which one call has to do, with all threads
GROUPS = {"intensli": 5.0, "ccsd_t": 2.5}               # what is wanted against TBLIS


def cases():
    if not os.path.exists(CASES):
        raise Missing("../shared/cases/tccg.json is not there")
    with open(CASES) as f:
        return json.load(f)


def tensors(case):
    """The axes of x, y and z, slowest first: the suite writes the fastest first, and the result before the factors."""
    z, x, y = (part[::-1] for part in case["spec"].split("-"))
    return x, y, z


def program(all_cases):
    lines = []
    for i, case in enumerate(all_cases):
        x, y, z = tensors(case)
        shape = lambda axes: "| " + ", ".join(str(case["sizes"][a]) for a in axes)
        spec = f"| {', '.join(x)}; | {', '.join(y)} => | {', '.join(z)}"
        lines.append(f'let%export c{i} (x : "{shape(x)}") (y : "{shape(y)}") = x +* y "{spec}"')
    return "\n".join(lines) + "\n"


def count(axes, sizes):
    return math.prod(sizes[a] for a in axes)


def order(source, target, sizes):
    """`elements rank` and the axes of the target, neighbours in both taken as one; rank 0 where nothing moves."""
    if source == target:
        return f"{count(source, sizes)} 0"
    groups = []
    for a in target:
        if groups and source.find(groups[-1][-1] + a) >= 0:
            groups[-1] += a
        else:
            groups.append(a)
    stride = lambda group: count(source[source.index(group[-1]) + 1:], sizes)
    return f"{count(source, sizes)} {len(groups)} " + " ".join(f"{count(g, sizes)} {stride(g)}" for g in groups)


def matrix(source, rows, columns):
    """How a tensor becomes a matrix: (its axes, whether it is turned). As it lies where it can be, else with its fastest axis kept."""
    if source in (rows + columns, columns + rows):
        return source, source != rows + columns
    turned = source[-1] in rows
    return (columns + rows if turned else rows + columns), turned


def plan(case):
    """The orders of M, N and K for which the fewest elements are transposed: what contractions.c reads after the seconds."""
    x, y, z = tensors(case)
    sizes, best = case["sizes"], None
    keep = lambda axes, within: "".join(a for a in axes if a in within)
    m, n, k = keep(z, x), keep(z, y), keep(x, y)
    for rows, columns, inner in itertools.product({m, keep(x, z)}, {n, keep(y, z)}, {k, keep(y, x)}):
        a, turned_a = matrix(x, rows, inner)
        b, turned_b = matrix(y, inner, columns)
        c, turned_c = matrix(z, rows, columns)
        moved = sum(count(t, sizes) for t, u in ((x, a), (y, b), (z, c)) if t != u)
        if best is None or moved < best[0]:
            best = moved, a, turned_a, b, turned_b, c, turned_c, rows, columns, inner
    _, a, turned_a, b, turned_b, c, turned_c, rows, columns, inner = best
    m, n, k = count(rows, sizes), count(columns, sizes), count(inner, sizes)
    # where the result is turned the factors' places change, and each is seen from its other side
    product = f"{n} {m} {k} {int(not turned_b)} {int(not turned_a)} 1" if turned_c else f"{m} {n} {k} {int(turned_a)} {int(turned_b)} 0"
    return " ".join((product, order(x, a, sizes), order(y, b, sizes), order(c, z, sizes)))


def run(bench, model, chosen, threads, blas):
    """For each chosen (number, case) what contractions.c prints."""
    command = [bench.path("contractions"), model, os.path.basename(model)[:-3]] + ([blas] if blas else [])
    lines = [f"c{i} {0 if case['gflop'] > LONG else 0.04 * bench.rounds} {plan(case)}" for i, case in chosen]
    p = subprocess.run(command, env=environment(threads), input="\n".join(lines) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = p.stdout.strip().split("\n")
    if p.returncode or len(answers) != len(lines):
        raise Missing(f"contractions ends with {p.returncode} after {len(answers)} of {len(lines)}: {p.stderr.strip()[:200]}")
    return [{k: float(v) for k, v in (field.split("=") for field in answer.split())} for answer in answers]


def report(bench, case, x, threads):
    """(the group, against TBLIS, of the peak)."""
    of_peak, tblis = case["gflop"] / x["ours"] / x["peak"], case["tblis_gflops"] / RECORDED_PEAK
    name = f"{case['group']} {case['spec']}, {threads} thread{'s' * (threads > 1)}"
    if x.get("differs", 0) > 1e-4:
        bench.table.missing(name, f"the result is WRONG by {x['differs']:g}")
        return None
    blas = case["gflop"] / x["blas"] / x["peak"] if "blas" in x else 0
    peer = f"TBLIS recorded {tblis:.0%}" if tblis > blas else f"transposed BLAS {blas:.0%}"
    bench.table.row(name, f"{case['gflop'] / x['ours']:.1f} GF/s ({of_peak:.0%})", peer, of_peak / max(tblis, blas), 1.0)
    return case["group"], of_peak / tblis, of_peak


def measure(bench):
    bench.table.heading("Tensor contractions; in brackets of the probed peak")
    every = list(enumerate(cases()))
    found, _ = libraries(bench)
    if "OpenBLAS" not in found:
        bench.table.missing("transposing and OpenBLAS", "it is not installed (make bench-deps)")
    bench.native("contractions.c", "contractions")
    model = bench.shared(bench.written("contractions.tsr", program([case for _, case in every])), "contractions")
    results = []
    for threads, chosen in ((1, [e for e in every if e[1]["gflop"] <= LONG]), (bench.cores, [e for e in every if e[1]["gflop"] > LONG])):
        for (_, case), x in zip(chosen, chosen and run(bench, model, chosen, threads, found.get("OpenBLAS"))):
            results.append(report(bench, case, x, threads))
    results = [r for r in results if r]
    for group, goal in GROUPS.items():
        bench.table.row(f"geometric mean against TBLIS, {group}", "", "", geometric_mean(r[1] for r in results if group in r[0]), goal)
    bench.table.row("geometric mean against TBLIS, all", "", "", geometric_mean(r[1] for r in results), 2.2)
    bench.table.row("geometric mean of the peak, all", "", "", geometric_mean(r[2] for r in results), 0.64)
