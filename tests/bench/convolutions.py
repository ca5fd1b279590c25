"""The convolutions of ResNet-50 (He et al., 2015; its strides in the 3 x 3 ones) against oneDNN, one thread and two: forward, with
bias, residual and relu, and both gradients.

Windows of 3 x 3 that move by one are measured by tiles, too, as --winograd computes them; the means with that option have those in place of the sums as they are written.

Activations are n h w c on both sides.  Weights lie as each product reads them, `kh kw c f` forward and `f kh kw c` for both
gradients; oneDNN has its own layout for them, and what turns them into it is not counted."""
import os, subprocess
from common import Missing, environment, geometric_mean

# height and width, channels in, channels out, window, stride; each that differs once
SHAPES = [
    (224, 3, 64, 7, 2),
    (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1),
    (56, 256, 128, 1, 1), (56, 128, 128, 3, 2), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2), (28, 512, 128, 1, 1), (28, 128, 128, 3, 1),
    (28, 512, 256, 1, 1), (28, 256, 256, 3, 2), (14, 256, 1024, 1, 1), (28, 512, 1024, 1, 2), (14, 1024, 256, 1, 1), (14, 256, 256, 3, 1),
    (14, 1024, 512, 1, 1), (14, 512, 512, 3, 2), (7, 512, 2048, 1, 1), (14, 1024, 2048, 1, 2), (7, 2048, 512, 1, 1), (7, 512, 512, 3, 1),
]
BATCHES = (1, 8)
# what: its number in convolutions.c, the goal of the geometric mean, and of every shape
KINDS = {"forward": (0, 1.0, 0.93), "fused": (1, 1.1, None), "weights' gradient": (2, 1.1, None), "input's gradient": (3, 1.1, None)}


def wanted(kind, shape):
    """The gradient of an image is nobody's."""
    return kind != 3 or shape[1] > 3


def by_tiles(shape):
    return shape[3:] == (3, 1)


def function(name, kind, batch, shape):
    h, c, f, k, s = shape
    o, times = h // s, "" if s == 1 else f"{s}*"
    window = f"{times}oh =+ kh, {times}ow =+ kw, c"
    x, y, r = f"{batch} | {h}, {h}, {c}", f"{batch} | {o}, {o}, {f}", "..."
    if kind == 0:
        return f'let%export {name} (x : "{x}") (w : "{k}, {k}, {c}, {f}") = x +* w "... | {window}; kh, kw, c, f => ... | oh, ow, f"'
    if kind == 1:
        return (f'let%export {name} (x : "{x}") (w : "{k}, {k}, {c}, {f}") (b : "{f}") (r : "{y}") =\n'
                f'  relu (x +* w "... | {window}; kh, kw, c, f => ... | oh, ow, f" + b + r)')
    if kind == 2:
        return (f'let%export {name} (x : "{x}") (y : "{y}") =\n  let g = x +* y "n | {window}; n | oh, ow, f => f, kh, kw, c" [kh; kw] in\n'
                f'  set_dim kh {k}; set_dim kw {k};\n  g')
    return f'let%export {name} (y : "{y}") (w : "{f}, {k}, {k}, {c}") = y +* w "... | oh, ow, f; f, kh, kw, c => ... | {window}"'


def cases():
    return [(f"c{i}", what, kind, batch, shape) for i, (what, kind, batch, shape) in enumerate(
        (what, kind, batch, shape) for what, (kind, *_) in KINDS.items() for batch in BATCHES for shape in SHAPES if wanted(kind, shape))]


def run(bench, model, threads, measured):
    budget = 0.02 * bench.rounds
    lines = [f"{name} {kind} {batch} {' '.join(map(str, shape))} {budget}" for name, _, kind, batch, shape in measured]
    p = subprocess.run([bench.path("convolutions"), model, os.path.basename(model)[:-3]], env=environment(threads), input="\n".join(lines) + "\n",
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = p.stdout.strip().split("\n")
    if p.returncode or len(answers) != len(lines):
        raise Missing(f"convolutions ends with {p.returncode}: {p.stderr.strip()[:200]}")
    return [{k: float(v) for k, v in (field.split("=") for field in answer.split())} for answer in answers]


def report(bench, measured, answers, threads, ratios, option=""):
    """`ratios`: of each kind, by its case."""
    for (name, what, _, batch, (h, c, f, k, s)), x in zip(measured, answers):
        work = f"{what}: {batch} of {h}x{h}x{c} -> {f}, {k}x{k}" + (f" / {s}" if s > 1 else "") + f", {threads} T{option}"
        flops = 2e-9 * batch * (h // s) ** 2 * c * f * k * k
        ours = f"{flops / x['ours']:.1f} GF/s ({flops / x['ours'] / x['peak']:.0%})"
        if x["wrong"] > 1e-5:
            bench.table.missing(work, f"the result is WRONG by {x['wrong']:g}")
            continue
        ratio = x["oneDNN"] / x["ours"] if "oneDNN" in x else None
        bench.table.row(work, ours, f"oneDNN {flops / x['oneDNN']:.1f}" if ratio else "", ratio, KINDS[what][2] if ratio else None, detail=True)
        if ratio:
            ratios[what][batch, threads, name] = ratio


def means(bench, ratios, option=""):
    for what, (_, goal, _) in KINDS.items():
        for batch, threads in sorted({key[:2] for key in ratios[what]}, key=lambda x: (x[1], x[0])):
            r = [ratio for key, ratio in ratios[what].items() if key[:2] == (batch, threads)]
            bench.table.row(f"mean of {what}, {batch} image{'s' * (batch > 1)}, {threads} thread{'s' * (threads > 1)}{option}", "", f"least {min(r):.3f}", geometric_mean(r))
        if ratios[what]:
            bench.table.row(f"geometric mean against oneDNN, {what}{option}", "", "", geometric_mean(ratios[what].values()), goal)


def measure(bench):
    bench.table.heading("f32 convolutions of ResNet-50, height x width x channels -> channels, window / stride; in brackets of the probed peak")
    text = "\n".join(function(n, k, b, s) for n, _, k, b, s in cases()) + "\n"
    try:
        bench.native("convolutions.c", "convolutions", "-DPEER", "-Wl,--no-as-needed", "-ldnnl")
    except Missing:
        bench.table.missing("oneDNN", "it is not installed (make bench-deps)")
        bench.native("convolutions.c", "convolutions")
    ratios, plain, of_tiles = {what: {} for what in KINDS}, bench.shared(bench.written("convolutions.tsr", text), "convolutions"), [c for c in cases() if by_tiles(c[4])]
    measured = [threads for threads in (1, 2) if threads <= bench.cores]
    if 2 not in measured:
        bench.table.missing("2 threads", f"there is {bench.cores} core")
    for threads in measured:
        report(bench, cases(), run(bench, plain, threads, cases()), threads, ratios)
    means(bench, ratios)
    for tile in (2, 4):
        tiled, option = bench.shared(bench.written(f"tiles{tile}.tsr", text), f"tiles{tile}", f"--winograd={tile}"), f", --winograd={tile}"
        for threads in measured:
            report(bench, of_tiles, run(bench, tiled, threads, of_tiles), threads, ratios, option)
        means(bench, ratios, option)
