"""Matrix products of many shapes against OpenBLAS, BLIS, oneDNN and libxsmm, with one thread and with two."""
import glob, os, subprocess
from common import Missing, environment, geometric_mean, seconds

# name: batch, m, n, k, B transposed; the fraction of the probed peak that is wanted
SHAPES = {
    "64": (1, 64, 64, 64, 0, 0.95), "128": (1, 128, 128, 128, 0, 0.95), "256": (1, 256, 256, 256, 0, 0.95), "512": (1, 512, 512, 512, 0, 0.95),
    "1024": (1, 1024, 1024, 1024, 0, 0.88), "2048": (1, 2048, 2048, 2048, 0, 0.88),
    "1x4096x4096": (1, 1, 4096, 4096, 0, None), "32x4096x4096": (1, 32, 4096, 4096, 0, 0.8), "4096x32x4096": (1, 4096, 32, 4096, 0, None),
    "64 of 64x64x64": (64, 64, 64, 64, 0, None), "12 of 128x64x128": (12, 128, 64, 128, 0, None),
    "12 of 128x128x64, B turned": (12, 128, 128, 64, 1, None),
}
# A few rows at a time, as a model that answers several at once has them: rows of the table, but of no mean.
FEW = {
    "4x4096x4096": (1, 4, 4096, 4096, 0, None), "12x4096x4096": (1, 12, 4096, 4096, 0, None),
    "4x4096x4096, B turned": (1, 4, 4096, 4096, 1, None), "12x4096x4096, B turned": (1, 12, 4096, 4096, 1, None),
}
ALL = {**SHAPES, **FEW}
BANDWIDTH = 0.9                                         # of what is read where the work is reading a matrix
LIBRARIES = {
    "OpenBLAS": ("openblas-openmp/libopenblas.so.0", "openblas-pthread/libopenblas.so.0", "libopenblas.so.0"),
    "BLIS": ("blis-openmp/libblis.so.4", "libblis.so.4"),
    "oneDNN": ("libdnnl.so.2", "libdnnl.so.3"),
}


def program():
    lines = []
    for i, (batch, m, n, k, turned, _) in enumerate(ALL.values()):
        many = f"{batch} | " if batch > 1 else ""
        if turned:
            lines.append(f'let%export p{i} (a : "{many}{k} -> {m}") (b : "{many}{k} -> {n}") = a +* b "... | k -> i; ... | k -> j => ... | j -> i"')
        else:
            lines.append(f'let%export p{i} (a : "{many}{k} -> {m}") (b : "{many}{n} -> {k}") = a * b')
    return "\n".join(lines) + "\n"


def libraries(bench):
    """The path of each library that is there; libxsmm has only archives, which become a library here."""
    found, absent = {}, []
    for name, paths in LIBRARIES.items():
        there = [p for at in paths for p in glob.glob(f"/usr/lib/*/{at}")]
        if there:
            found[name] = there[0]
        else:
            absent.append(name)
    try:
        seconds(["cc", "-shared", "-o", bench.path("libxsmm.so"), "-Wl,--whole-archive", "/usr/lib/libxsmm.a", "-Wl,--no-whole-archive",
                 "/usr/lib/libxsmmnoblas.a", "-lpthread", "-lrt", "-ldl", "-lm"])
        found["libxsmm"] = bench.path("libxsmm.so")
    except Missing:
        absent.append("libxsmm")
    return found, absent


def run(bench, model, found, threads):
    """For each shape what products.c printed of it."""
    name = os.path.basename(model)[:-3]
    command = [bench.path("products"), model, name] + [f"{k}={v}" for k, v in found.items()]
    budget = 0.04 * bench.rounds
    lines = [f"p{i} {s[0]} {s[1]} {s[2]} {s[3]} {s[4]} {budget}" for i, s in enumerate(ALL.values())]
    p = subprocess.run(command, env=environment(threads), input="\n".join(lines) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = p.stdout.strip().split("\n")
    if p.returncode or len(answers) != len(lines):
        raise Missing(f"products ends with {p.returncode}: {p.stderr.strip()[:200]}")
    return [{k: float(v) for k, v in (field.split("=") for field in answer.split())} for answer in answers]


def report(bench, answers, threads):
    table, to_blas, to_best = bench.table, [], []
    many = f"{threads} thread{'s' if threads > 1 else ''}"
    for (name, (batch, m, n, k, turned, of_peak)), x in zip(ALL.items(), answers):
        flops = 2e-9 * batch * m * n * k
        peers = {p: x[p] for p in x if p not in ("ours", "peak", "beside", "read", "wrong")}
        best = min(peers, key=peers.get) if peers else None
        ours = f"{flops / x['ours']:.1f} GF/s ({flops / x['ours'] / x['peak']:.0%})"
        if x["wrong"] > 1e-6:
            table.missing(f"{name}, {many}", f"the result is WRONG by {x['wrong']:g}")
            continue
        if best:
            table.row(f"{name}, {many}", ours, f"{best} {flops / peers[best]:.1f}", peers[best] / x["ours"], 0.95)
            to_best += [peers[best] / x["ours"]] * (name in SHAPES)
        if "OpenBLAS" in peers and name in SHAPES:
            to_blas.append(peers["OpenBLAS"] / x["ours"])
        if of_peak:
            table.row(f"  of the probed peak", ours, f"peak {x['peak']:.1f}, in pairs {x['beside']:.3f}", flops / x["ours"] / x["peak"], of_peak)
        if m == 1:
            read = 4e-9 * n * k / x["ours"]
            table.row(f"  of the probed bandwidth", f"{read:.1f} GB/s", f"read {x['read']:.1f}", read / x["read"], BANDWIDTH)
    return to_blas, to_best


def measure(bench):
    bench.table.heading("f32 matrix products, m x n x k; in brackets, of the probed peak: the best of the best; in pairs: the middle of samples side by side")
    found, absent = libraries(bench)
    for name in absent:
        bench.table.missing(name, "it is not installed (make bench-deps)")
    model = bench.shared(bench.written("products.tsr", program()), "products")
    bench.native("products.c", "products")
    to_blas, to_best = [], []
    for threads in (1, 2):
        if threads > bench.cores:
            bench.table.missing(f"{threads} threads", f"only {bench.cores} to be used")
            continue
        blas, best = report(bench, run(bench, model, found, threads), threads)
        to_blas, to_best = to_blas + blas, to_best + best
    if to_blas:
        bench.table.row("geometric mean against OpenBLAS", "", "", geometric_mean(to_blas), 1.1)
    if to_best:
        bench.table.row("geometric mean against the best", "", "", geometric_mean(to_best), 1.0)
