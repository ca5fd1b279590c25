"""The programs of the benchmark compute what they are said to: what is measured is judged here by NumPy, at sizes that a test can afford;
and the orders of axes that `permutations` times are all contractions of the engine."""
import contextlib, ctypes, math, os, re, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "tools")]
from tally import check, end, run  # noqa: E402
import common, contractions, everyday, glance, gradients, models, permutations, products, table  # noqa: E402

f32 = np.float32
random = np.random.default_rng(3)
pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
draw = lambda *shape: random.standard_normal(shape, dtype=f32)


def close(got, want, what, tolerance=2e-5):
    check(np.allclose(got, want, rtol=tolerance, atol=tolerance), f"{what}: differs by {np.abs(got - want).max()}")


def smaller(bench, name, was, now):
    """A program of this folder at another size."""
    with open(os.path.join(HERE, name + ".tsr")) as f:
        return common.Model(bench.shared(bench.written(name + ".tsr", f.read().replace(was, now)), name))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def bandwidth(bench, rows=12):
    model = smaller(bench, "bandwidth", "4096", str(rows))
    x, y, d = draw(rows, 1024), draw(rows, 1024), np.zeros((rows, 1024), f32)
    ids, loss = random.integers(0, 1024, rows).astype(np.int32), np.zeros(1, f32)
    erf = np.vectorize(math.erf)
    z = 1.5 * x.astype(float) + 0.25
    for function, args, want in (("silu", (x, d), x / (1 + np.exp(-x))), ("gelu_residual", (x, y, d), y + z * (0.5 + 0.5 * erf(z / 2 ** 0.5))),
                                 ("softmaxes", (x, d), softmax(x)),
                                 ("norms", (x, d), (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5))):
        model.seconds(function, *map(pointer, args))
        close(d, want, function)
    model.seconds("entropy", *map(pointer, (x, ids, loss)))
    close(loss, -np.log(softmax(x.astype(float)))[np.arange(rows), ids].mean(), "entropy")
    model.seconds("entropy_gradient", *map(pointer, (ids, loss, d)))
    close(d, (1 / 1024 - (np.arange(1024) == ids[:, None])) / rows, "entropy_gradient")
    optimised(model, rows)
    model.close()


def optimised(model, rows):
    """Three steps of AdamW."""
    weights, first, second = (np.zeros((rows, 1024)) for _ in range(3))
    got = np.zeros((rows, 1024), f32)
    for t in (1, 2, 3):
        g = draw(rows, 1024)
        model.seconds("optimise", pointer(g), ctypes.c_double(t))
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g.astype(float) ** 2
        weights -= 0.001 * (first / (1 - 0.9 ** t) / (np.sqrt(second / (1 - 0.999 ** t)) + 1e-8) + 0.01 * weights)
    model.seconds("learned", pointer(got))
    close(got, weights, "optimise", 1e-4)


def attention(bench, length=20):
    model = smaller(bench, "attention", "4096", str(length))
    q, k, v, out = (draw(12, length, 64) for _ in range(4))
    model.seconds("forward", *map(pointer, (q, k, v, out)))
    close(out, softmax(q @ k.transpose(0, 2, 1) / 8) @ v, "attention")
    model.close()


def orders(bench):
    """Every order is a contraction of the engine with the same sizes, whose schedule does not depend on what the axes are called.  What is
    packed, and with it the tile, follows from where the elements lie."""
    tsrc = os.path.join(bench.build, "tsrc")
    found, renamed = (permutations.schedules(tsrc, bench.written("permutations.tsr", permutations.program(names=names)))
                      for names in ("abcdef", "zmkbpa"))
    check(len(found) == permutations.COUNT, f"{len(found)} of {permutations.COUNT} products are contractions")
    for i, (one, other) in enumerate(zip(found, renamed)):
        check(one[0] == {"M": 512, "N": 512, "K": 512}, f"order {i}: {one}")
        check(one == other, f"order {i}: {one}, and with other names {other}")


def transposed(bench):
    """What contractions are compared with computes the same: the suite's, at small sizes, where they and a BLAS are there."""
    blas = products.libraries(bench)[0].get("OpenBLAS")
    if not blas or not os.path.exists(contractions.CASES):
        return
    small = [dict(case, sizes={a: 3 + i % 4 for i, a in enumerate(sorted(case["sizes"]))}, gflop=1e-6) for case in contractions.cases()[::5]]
    bench.native("contractions.c", "contractions")
    model = bench.shared(bench.written("contractions.tsr", contractions.program(small)), "contractions", "-O1")
    for case, x in zip(small, contractions.run(bench, model, list(enumerate(small)), 1, blas)):
        check(x["differs"] < 1e-5, f"{case['spec']}: differs by {x['differs']}")


def shapes(bench):
    """Each product of the table is seen as a contraction."""
    tsrc = os.path.join(bench.build, "tsrc")
    status, out, err = run(tsrc, "-c", "--cpu=x86-64-v4", "--dump=schedule", bench.written("products.tsr", products.program()))
    check(status == 0 and len(re.findall("contraction:", out)) == len(products.ALL), out + err)


def operations(bench):
    """Each everyday operation compiles, takes what the benchmark gives it, and says nothing of sizes that it would have to test."""
    status, out, err = run(bench.tsrc, "-c", "-O1", bench.written("everyday.tsr", everyday.program()), "-o", bench.path("everyday.o"))
    check(status == 0 and not err, err)
    with open(bench.path("everyday.h")) as f:
        header = f.read()
    for i, (given, *_) in enumerate(everyday.CASES.values()):
        parameters = re.search(rf"int everyday_e{i}\((.*)\);", header)
        check(parameters and parameters[1].count("const ") == len(given), f"case {i}: {parameters and parameters[1]}")


def layers(bench):
    """Each layer whose gradients are timed compiles, and says nothing of sizes."""
    status, out, err = run(bench.tsrc, "-c", "-O1", bench.written("gradients.tsr", gradients.program()), "-o", bench.path("gradients.o"))
    check(status == 0 and not err, err)


def networks(bench):
    """Each network of the part `models` compiles, a few steps with the same numbers bring its loss down, and it answers."""
    for name in models.names():
        try:
            model = common.Model(bench.shared(models.source(name), name))
        except common.Missing as why:
            check(False, f"{name}: {why}")
            continue
        step, loss = models.stepping(model, models.arguments(name))
        losses = [float(loss[0]) for _ in range(6) if step() >= 0]
        check(np.isfinite(losses).all() and losses[-1] < losses[0], f"{name}: {losses}")
        answer, said = models.answering(model, models.arguments(name, "answer"))
        check(answer() >= 0 and np.isfinite(said).all() and said.any(), f"{name} answers {said}")
        model.close()


def pages(bench):
    """A page's tables are those of the last run, each beside the one before; parts that did not run stay."""
    page = bench.written("page.md", "<!-- one -->\n<!-- end -->\ntext\n<!-- two -->\nwhat was\n<!-- end -->\n")
    for ratio in (1.25, 1.5):
        figures = table.Table()
        figures.begin("one")
        with contextlib.redirect_stdout(None):
            figures.row("work", "1 s", "peer 2", ratio, 1)
            figures.row("  beside", "1 s", "another 2", 0.5)
            figures.row("work", "1 s", "third 3", 2 * ratio)
            for goal in (1, 2):
                figures.row("detail", "1 s", "peer 2", ratio, goal, detail=True)
        figures.write(page)
    with open(page) as f:
        text = f.read()
    check(text.endswith("<!-- end -->\ntext\n<!-- two -->\nwhat was\n<!-- end -->\n"), text)
    check([line for line in text.split("\n") if line.startswith("|")][2:] == [
        "| work | 1 s | peer 2 | 1.500 | 1.250 | >= 1 | met |", "| work, beside | 1 s | another 2 | 0.500 | 0.500 |  |  |",
        "| work | 1 s | third 3 | 3.000 | 2.500 |  |  |", "| detail | 1 s | peer 2 | 1.500 | 1.250 | >= 2 | missed |"], text)
    with open(os.path.join(glance.DOCS, glance.FIRST)) as f:
        text = f.read()
    check(text == glance.written(text), f"{glance.FIRST} does not begin with what the pages say: tests/bench/glance.py writes it")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(sys.argv[1], tmp, 1, 1, table.Table())
        for part in (bandwidth, attention, orders, transposed, shapes, operations, layers, networks, pages):
            part(bench)
    end()


main()
