#!/usr/bin/env python3
"""examples/attention.tsr against NumPy: the initial parameters computed anew from the documented streams of random words
(Threefry-4x32-20 keyed by name and seed), then the block for each batch shape.  And attention that is long enough to run in strips,
with all gradients: whole strips, rows that remain, one thread and several; with a causal mask, whose hidden positions are left out
unless what stands for them counts; of rows so long that they go by blocks, twice; and of batches whose size only the run knows."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "tools"), os.path.join(HERE, os.pardir, "bench")]
import common  # noqa: E402
import printed  # noqa: E402
import table  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
M = 0xFFFFFFFF


def threefry(counter, key, rounds=20):
    """Random123's Threefry-4x32 (Salmon et al. 2011)."""
    rotations = [(10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20)]
    ks = list(key) + [0x1BD11BDA ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = [(c + k) & M for c, k in zip(counter, ks)]

    def rotl(v, n):
        return ((v << n) | (v >> (32 - n))) & M

    for r in range(rounds):
        a, b = (1, 3) if r % 2 == 0 else (3, 1)
        r0, r1 = rotations[r % 8]
        x[0] = (x[0] + x[a]) & M
        x[a] = rotl(x[a], r0) ^ x[0]
        x[2] = (x[2] + x[b]) & M
        x[b] = rotl(x[b], r1) ^ x[2]
        if r % 4 == 3:
            s = r // 4 + 1
            x = [(v + ks[(s + i) % 5]) & M for i, v in enumerate(x)]
            x[3] = (x[3] + s) & M
    return x


def words(name, seed, n):
    h = 0x6C62272E07BB014262B821756295C58D
    for byte in name.encode():
        h = ((h ^ byte) * 0x0000000001000000000000000000013B) & ((1 << 128) - 1)
    key = threefry([seed & M, seed >> 32, 0, 0], [(h >> (32 * i)) & M for i in range(4)])
    return [threefry([j // 4, 0, 0, 0], key)[j % 4] for j in range(n)]


def kaiming(name, seed, out, inp):
    """Parameter of axes out and inp, in memory order: output axes, then input axes."""
    n = int(np.prod(out + inp))
    u = np.array([w >> 8 for w in words(name, seed, n)]) * 2.0**-24
    return ((2 * u - 1) * np.sqrt(6 / np.prod(inp))).reshape(out + inp)


def block(x, wq, wk, wv, wo):
    """x: ... s d.  Parameters: wq h d x-features and so on, wo: features h e."""
    q, k, v = (np.einsum("hdf,...sf->...shd", w, x) for w in (wq, wk, wv))
    scores = np.einsum("...shd,...thd->...sht", q, k) / np.sqrt(q.shape[-1])
    s = x.shape[-2]
    scores = np.where(np.tril(np.ones((s, s), bool))[:, None, :], scores, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    mixed = np.einsum("...sht,...the->...she", weights, v)
    return np.einsum("fhe,...she->...sf", wo, mixed)


STRIPS = """open Nn
open Train
let%%op q = { q = uniform (); b = [%(rows)d]; o = [%(heads)d; %(width)d] }
let%%op k = { k = uniform (); b = [%(rows)d]; o = [%(heads)d; %(width)d] }
let%%op v = { v = uniform (); b = [%(rows)d]; o = [%(heads)d; %(width)d] }
let%%op g = { g = uniform (); b = [%(rows)d]; o = [%(heads)d; %(width)d] }
let%%op y =
  let scores = %(hide)s ((q +* k "s | h d; t | h d => s | t -> h" [d]) /. sqrt (dim d)) in
  softmax ~over:"... | t -> ..." scores +* v "s | t -> h; t | h e => s | h e"
let%%op loss = y *. stop_gradient g ++ "... | ... => 0"
let%%cd step = grad_update loss
let%%main () =
  run step;
  for i = 0 to %(rows)d - 1 do
    for h = 0 to %(heads)d - 1 do
      for d = 0 to %(width)d - 1 do
        print "{q.(i, h, d)} {k.(i, h, d)} {v.(i, h, d)} {g.(i, h, d)} {y.(i, h, d)} {q.grad.(i, h, d)} {k.grad.(i, h, d)} {v.grad.(i, h, d)}"
      done
    done
  done
"""


def attend(q, k, v, g, mask):
    """The result and the gradients of its product with g; with each, the sum of what is added up for it, without signs."""
    root = np.sqrt(q.shape[-1])

    def gradients(q, k, v, g, minus):
        dp = np.einsum("she,the->hst", g, v)
        ds = seen * p * minus(dp, (dp * p).sum(-1, keepdims=True)) / root
        return (np.einsum("hst,the->she", p, v), np.einsum("hst,thd->shd", ds, k), np.einsum("hst,shd->thd", ds, q),
                np.einsum("hst,she->the", p, g))

    scores = np.einsum("shd,thd->hst", q, k) / root
    seen = np.tril(np.ones(scores.shape[1:]), mask[0]) if mask else 1
    seen = seen - np.tril(np.ones(scores.shape[1:]), -mask[2]) if mask and mask[2] else seen
    scores = np.where(seen, scores, mask[1]) if mask else scores
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return zip(gradients(q, k, v, g, np.subtract), gradients(*map(np.abs, (q, k, v, g)), np.add))


def strips(tsrc):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for rows, heads, width, options, mask in ((331, 8, 4, [], None), (331, 8, 4, ["--threads=all"], None), (331, 8, 4, ["--interp"], None), (256, 9, 4, ["--threads=all"], None),
                                                  (601, 1, 4, ["--threads=all"], None), (600, 1, 4, ["--threads=all"], None), (600, 1, 4, ["--threads=none"], None),
                                                  (167, 9, 48, ["--threads=all"], None), (160, 8, 48, ["--threads=none"], None), (160, 8, 40, [], None),
                                                  (256, 9, 32, ["--threads=all"], (0, -1e9, 0)), (256, 9, 32, ["--cpu=x86-64-v3"], (0, -1e9, 0)), (160, 9, 48, ["--threads=none"], (3, -1e30, 0)),
                                                  (600, 1, 20, ["--threads=none"], (0, -1e9, 0)), (331, 8, 24, [], (-1, -1e9, 0)), (256, 9, 32, ["--threads=all"], (0, -2, 0)),
                                                  (192, 9, 32, ["--sanitize"], (0, -1e9, 0)), (192, 9, 32, ["--sanitize", "--cpu=x86-64-v3"], (1, -2, 0)), (256, 9, 32, ["--threads=all"], (0, -1e9, 40)),
                                                  (331, 8, 24, ["--cpu=x86-64-v3"], (2, -1e9, 70)), (192, 9, 32, ["--sanitize"], (0, -3, 50)), (2304, 1, 4, ["--threads=none", "--cpu=x86-64-v2", "--sanitize"], None),
                                                  (2304, 1, 4, ["--threads=none", "--cpu=x86-64-v2"], (0, -1e9, 0)), (2304, 1, 4, ["--threads=none", "--cpu=x86-64-v2"], (0, -4, 0))):
            path = os.path.join(tmp, "strips.tsr")
            window = '&& (positions () ++ "t -> => t ->") > (positions () ++ "s | => s |") - %d' % mask[2] if mask and mask[2] else ""
            hide = '(fun x -> where ((positions () ++ "s | => s |") + %d >= (positions () ++ "t -> => t ->") %s) x (0. - %g))' % (mask[0], window, -mask[1]) if mask else ""
            with open(path, "w") as f:
                f.write(STRIPS % {"rows": rows, "heads": heads, "width": width, "hide": hide})
            run = subprocess.run([tsrc, "run", "-O3"] + options + [path], capture_output=True, text=True,
                                 env=dict(os.environ, OMP_NUM_THREADS="3"))
            plan = subprocess.run([tsrc, "--dump=schedule"] + [o for o in options if o != "--interp"] + [path], capture_output=True, text=True).stdout
            if ("which a mask hides" in plan) != bool(mask):
                failed += 1
                print("FAILED %d rows %s: what a mask hides is %s" % (rows, options, "computed" if mask else "left out where there is none"))
            if (", twice" in plan) != (rows > 2000):
                failed += 1
                print("FAILED %d rows %s: rows go by blocks, or do not" % (rows, options))
            got = np.array(run.stdout.split(), float)
            if run.returncode or got.size != rows * heads * width * 8:
                failed += 1
                print("FAILED %d rows %s: %s" % (rows, options, run.stderr.strip()))
                continue
            got = got.reshape(rows, heads, width, 8).transpose(3, 0, 1, 2)
            for name, x, (want, added) in zip(("y", "q.grad", "k.grad", "v.grad"), got[4:], attend(*got[:4], mask)):
                # no order of summation differs by more: each element is a sum of `rows` products of values that took `rows` sums themselves
                good = (np.abs(x - want) <= (2 * rows + 20 + 2 * (width - 4)) * 2.0**-24 * added).all()
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print("FAILED %d rows %s %s: %s differs by %g of %g" % (rows, options, mask, name, np.abs(x - want).max(), np.abs(want).max()))
    return passed, failed


TRAINED = """open Nn
open Train
let%op block ~width () =
  let attend = attention ~heads:12 ~d_k:8 () in
  let norm = layer_norm () in
  fun ~mask x -> let mid = x + attend ~mask (norm x) in mid + { w_down } * tanh ({ w_up; o = [2 * width] } * mid)
let%op model () =
  let blocks = List.init 2 (fun _ -> block ~width:32 ()) in
  fun x ->
  let mask = (positions () ++ "s | => s |") >= (positions () ++ "t -> => t ->") in
  List.fold_left (fun y b -> b ~mask y) x blocks
let net = model ()
let%op input = { input = uniform () - 0.5; b = [300]; o = [32] }
let%op out = net input
let%op loss = (out *. out) ++ "... | ... => 0"
let%cd step = grad_update loss; sgd loss ~lr:0.0001
let%main () =
  run step; run step;
  for i = 0 to 299 do print "{input.grad.(i, 3)} {out.(i, 5)}" done
"""


def forward(tsrc):
    """The blocks' forward pass alone, whose results may lie where operands die: the same by one thread and by three, which take strips in turns."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "forward.tsr")
        with open(path, "w") as f:
            f.write(TRAINED.split("let%op loss")[0] + "let%main () =\n  run out.forward;\n  for i = 0 to 299 do print \"{out.(i, 5)} {out.(i, 17)}\" done\n")
        for cpu in ("x86-64-v2", "x86-64-v3"):
            outputs = {subprocess.run([tsrc, "run", "-O2", "--threads=all", "--cpu=" + cpu, path], capture_output=True, text=True,
                                      env=dict(os.environ, OMP_NUM_THREADS=str(threads))).stdout for threads in (1, 3, 3, 3)}
            good = len(outputs) == 1 and len(outputs.pop().split()) == 600
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("FAILED forward for %s: threads change the result" % cpu)
    return passed, failed


def trained(tsrc):
    """Scores that training reads once more are computed again for that: nobody stores them, and the results are those of --no-remat but for the order of sums."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "trained.tsr")
        with open(path, "w") as f:
            f.write(TRAINED)

        def output(*options):
            return subprocess.run([tsrc, *options, path], capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="2"))
        for cpu in ("x86-64-v2", "x86-64-v3"):
            plan, layout = output("--cpu=" + cpu, "--dump=schedule").stdout, output("--cpu=" + cpu, "--dump=memory").stdout
            want = np.array(output("run", "-O2", "--cpu=" + cpu, "--no-remat").stdout.split(), float)
            got = np.array(output("run", "-O2", "--cpu=" + cpu).stdout.split(), float)
            arena = int(re.search(r"(\d+)  arena;", layout).group(1))
            checks = {"scores are stored": len(re.findall(r"is computed again before out.\d.mid.v.grad, for 4320000", plan)) == 2, "hidden positions are computed": plan.count("which a mask hides") == 4,
                      "%d bytes are alive at once" % arena: arena < 300 * 300 * 12 * 4,
                      "other numbers": want.size == got.size == 600 and (np.abs(got - want) <= 1e-5 * np.abs(want).max()).all()}
            for what, good in checks.items():
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print("FAILED training for %s: %s" % (cpu, what))
    return passed, failed


BATCHES = """open Nn
let%%export attend (q : "?b, %(heads)d, %(rows)d | %(width)d") (k : "?b, %(heads)d, %(rows)d | %(width)d") (v : "?b, %(heads)d, %(rows)d | %(width)d") =
  let scores = %(hide)s ((q +* k "b, h, s | d; b, h, t | d => b, h, s | t" [d]) /. sqrt (dim d)) in
  softmax ~over:"... | t" scores +* v "b, h, s | t; b, h, t | e => b, h, s | e"
"""
HIDE = '(fun x -> where ((positions () ++ "s => 0, 0, s | 0") >= (positions () ++ "t => 0, 0, 0 | t")) x (0. - 1e9))'


def batches(build):
    """In strips, though nobody knows of how many positions: of one, of several, by one thread and by three."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(build, tmp, 1, 3, table.Table())
        for i, (heads, rows, width, hide) in enumerate(((6, 256, 32, ""), (6, 256, 32, HIDE), (1, 331, 24, ""), (5, 200, 16, HIDE))):
            source = bench.written(f"b{i}.tsr", BATCHES % {"heads": heads, "rows": rows, "width": width, "hide": hide})
            plan = subprocess.run([bench.tsrc, "-c", "--cpu=native", "--dump=schedule", source, "-o", bench.path("b.o")], capture_output=True, text=True).stdout
            model = common.Model(bench.shared(source, f"b{i}"))
            mask = (0, -1e9, 0) if hide else None
            for n in 1, 2, 7:
                q, k, v = (np.random.default_rng(n + j).standard_normal((n, heads, rows, width), np.float32) for j in range(3))
                want = np.stack([next(attend(*(x[b].transpose(1, 0, 2).astype(float) for x in (q, k, v, v)), mask))[0] for b in range(n)]).transpose(0, 2, 1, 3)
                made = []
                for threads in 1, 3:
                    bench.probes(threads)
                    made.append(np.full(q.shape, 7, np.float32))
                    model.seconds("attend", ctypes.c_int64(n), *(x.ctypes.data_as(ctypes.c_void_p) for x in (q, k, v, made[-1])))
                good = "in strips of" in plan and np.array_equal(*made) and np.allclose(made[0], want, rtol=1e-4, atol=1e-5)
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print("FAILED ?b = %d, %d heads of %d: %s" % (n, heads, rows, "other numbers" if "in strips of" in plan else "no strips"))
            model.close()
    return passed, failed


LENGTHS = """open Nn
open Train
let hide x = where ((positions () ++ "s => 0, s | 0") >= (positions () ++ "t => 0, 0 | t")) x (0. - 1e9)
let near x = where ((positions () ++ "s => 0, s | 0") + 5 >= (positions () ++ "t => 0, 0 | t")) x (0. - 3.)
let%op attend seen q k v =
  let scores = seen ((q +* k "h, s | d; h, t | d => h, s | t" [d]) /. sqrt (dim d)) in
  softmax ~over:"... | t" scores +* v "h, s | t; h, t | e => h, s | e"
let%export itself (q : "7, ?t | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") = attend (fun x -> x) q k v
let%export causal (q : "7, ?t | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") = attend hide q k v
let%export nearly (q : "7, ?t | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") = attend near q k v
let%export others (q : "7, ?s | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") = attend (fun x -> x) q k v
let%export given (q : "7, 300 | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") = attend (fun x -> x) q k v
let%export long (q : "7, ?s | 24") (k : "7, 2500 | 24") (v : "7, 2500 | 24") = attend (fun x -> x) q k v
let%export many (q : "?b, 7, ?t | 24") (k : "?b, 7, ?t | 24") (v : "?b, 7, ?t | 24") =
  softmax ~over:"... | t" ((q +* k "b, h, s | d; b, h, t | d => b, h, s | t" [d]) /. sqrt (dim d)) +* v "b, h, s | t; b, h, t | e => b, h, s | e"
let%op a = { a = uniform () - 0.5; b = [7; 24]; o = [24] }
let%op b = { b = uniform () - 0.5; b = [7; 24]; o = [24] }
let%op c = { c = uniform () - 0.5; b = [7; 24]; o = [24] }
let%export matrices () = (a, b, c)
let%op turned m x = m +* x "h, i | j; h, t | i => h, t | j"
let%export gradients (q : "7, ?t | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") (g : "7, ?t | 24") =
  let%op loss = (attend (fun x -> x) (turned a q) (turned b k) (turned c v) *. g) ++ "... | ..c.. => 0" in
  grad_update loss;
  (a.grad, b.grad, c.grad)
let%export hiding (q : "7, ?t | 24") (k : "7, ?t | 24") (v : "7, ?t | 24") (g : "7, ?t | 24") =
  let%op loss = (attend hide (turned a q) (turned b k) (turned c v) *. g) ++ "... | ..c.. => 0" in
  grad_update loss;
  (a.grad, b.grad, c.grad)
"""


OF_A_FILE = """open Nn
let q = file (argument 1) ~as:"9, ?t | 16" ~format:"npy" ~prec:"f32"
let k = file (argument 2) ~as:"9, ?u | 16" ~format:"npy" ~prec:"f32"
let%op y = softmax ~over:"... | t" (q +* k "h, s | d; h, t | d => h, s | t") +* k "h, s | t; h, t | e => h, s | e"
let%op total = y ++ "... | ... => 0"
let%main () =
  run total.forward;
  print "{total.(0)}"
"""


def of_files(tsrc):
    """A program that is stopped where it leaves an array."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        source, program, files = (os.path.join(tmp, n) for n in ("file.tsr", "program", "n%d.npy"))
        with open(source, "w") as f:
            f.write(OF_A_FILE)
        for level in "native", "x86-64-v2":
            subprocess.run([tsrc, "--sanitize", "--cpu=" + level, source, "-o", program], check=True)
            for n in (1, 3), (15, 256), (128, 257), (300, 1024), (261, 1100):
                q, k = (np.random.default_rng(m).standard_normal((9, m, 16)).astype(np.float32) for m in n)
                np.save(files % 1, q), np.save(files % 2, k)
                run = subprocess.run([program, files % 1, files % 2], capture_output=True, text=True)
                good = run.returncode == 0 and np.isclose(float(run.stdout.split()[-1]), attended(4. * q, k, k, None, None).sum(), rtol=1e-3, atol=0.05)
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print("FAILED files of %s positions for %s: %s %s" % (n, level, run.stdout, run.stderr[:300]))
    return passed, failed


def attended(q, k, v, g, mask):
    """Heads first: the result, and for g (or None) the gradients."""
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    if mask:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool), mask[0]), scores, mask[1])
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    if g is None:
        return p @ v
    dp = g @ v.swapaxes(1, 2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / np.sqrt(q.shape[2])
    return ds @ k, ds.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ g


def of_lengths(model, threads, name, sizes, n):
    """What the function makes of queries and others of so many positions, beside what NumPy does; and whether nothing is written beside it."""
    pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
    q, k, v, g = (np.random.default_rng(j + sum(n)).standard_normal((7, rows, 24), np.float32) for j, rows in enumerate((*n, n[1], n[0])))
    mask = {"causal": (0, -1e9), "hiding": (0, -1e9), "nearly": (5, -3)}.get(name)
    if name not in ("gradients", "hiding"):
        made = np.full((7 * n[0] * 24) + 64, 7, np.float32)
        model.seconds(name, *map(ctypes.c_int64, sizes), *map(pointer, (q, k, v)), ctypes.c_void_p(made.ctypes.data + 128))
        want = attended(*(x.astype(float) for x in (q, k, v)), None, mask)
        return made[32:-32], want, (made[:32] == 7).all() and (made[-32:] == 7).all()
    matrices, made = [np.empty((7, 24, 24), np.float32) for _ in range(3)], [np.full((7, 24, 24), 7, np.float32) for _ in range(3)]
    model.seconds("matrices", *map(pointer, matrices))
    model.seconds(name, *map(ctypes.c_int64, sizes), *map(pointer, (q, k, v, g, *made)))
    of = attended(*(x.astype(float) @ m for m, x in zip(matrices, (q, k, v))), g.astype(float), mask)
    return np.stack(made), np.stack([x.swapaxes(1, 2).astype(float) @ y for x, y in zip((q, k, v), of)]), True


def lengths(build):
    """Of as many positions as the run says: of one, of those around what a strip and a block have, by one thread and by three."""
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        bench = common.Bench(build, tmp, 1, 3, table.Table())
        source = bench.written("lengths.tsr", LENGTHS)
        for level in "native", "x86-64-v3", "x86-64-v2":
            plan = subprocess.run([bench.tsrc, "-c", "--cpu=" + level, "--dump=schedule", source], capture_output=True, text=True).stdout
            blocks = {int(n) for n in re.findall("by blocks of (\\d+)", plan)}
            rows = {int(n) for n in re.findall("is kept as (\\d+) rows", plan)}
            by = {f: bool(re.search(rf"^{f}: rows of .* go by blocks", plan, re.M)) for f in ("itself", "causal", "nearly", "others", "given", "long", "gradients", "hiding", "many")}
            by |= {f + " hides": bool(re.search(rf"^{f}: strip .* leaves out blocks", plan, re.M)) for f in ("causal", "nearly", "hiding")}
            if not all(by.values()):
                failed += 1
                print("FAILED lengths for %s: %s" % (level, by))
            model = common.Model(bench.shared(source, "lengths", "--cpu=" + level))
            few, block = max(rows), max(blocks)
            around = sorted({1, 2, 15, 40, 97, 127, 128, 300, few - 1, few, few + 1, 2 * few, block - 1, block, block + 1})
            cases = [(f, (n,), (n, n)) for i, n in enumerate(around) for f in ("itself", ("causal", "hiding")[i % 2], ("gradients", "causal")[i % 2])] + [("given", (n,), (300, n)) for n in around] + [("long", (n,), (n, 2500)) for n in (1, few, few + 3)]
            cases += [("others", (n, m), (n, m)) for n in (1, few, few + 7) for m in (1, block + 1, 2 * block + 9)] + [("nearly", (n,), (n, n)) for n in (128, 200, 391)] + [("many", (1, n), (n, n)) for n in (1, few + 3, block + few + 1)]
            for name, sizes, n in cases:
                made = []
                for threads in 1, 3:
                    bench.probes(threads)
                    x, want, within = of_lengths(model, threads, name, sizes, n)
                    made.append(x)
                good = within and np.array_equal(*made) and np.allclose(made[0].reshape(want.shape), want, rtol=1e-4, atol=1e-5 * max(1, np.abs(want).max()))
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print("FAILED %s of %s positions for %s: differs by %g of %g" % (name, n, level, np.abs(made[0].reshape(want.shape) - want).max(), np.abs(want).max()))
            model.close()
    return passed, failed


def main():
    assert threefry([0] * 4, [0] * 4) == [0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8]
    tsrc, path = os.path.join(sys.argv[1], "tsrc"), os.path.join(ROOT, "examples", "attention.tsr")
    passed, failed = (sum(x) for x in zip(strips(tsrc), trained(tsrc), forward(tsrc), batches(sys.argv[1]), lengths(sys.argv[1]), of_files(tsrc)))
    for seed in (0, 7, 12345678901):
        run = subprocess.run([tsrc, "run", "--seed=%d" % seed, path], capture_output=True, text=True)
        if run.returncode:
            print("FAILED seed %d: %s" % (seed, run.stderr.strip()))
            failed += 1
            continue
        got = printed.tensors(run.stdout)
        w = [kaiming("block.w_" + n, seed, (2, 3), (4,)) for n in "qkv"] + [kaiming("block.w_o", seed, (4,), (2, 3))]
        for name, shape in (("y", (2, 3, 4)), ("z", (5, 4))):
            x = np.sin(0.37 * np.arange(np.prod(shape))).reshape(shape)
            want = (x + block(x, *w)).ravel()
            if len(got.get(name, [])) == want.size and np.allclose(got[name], want, rtol=2e-5, atol=2e-6):
                passed += 1
            else:
                failed += 1
                print("FAILED seed %d: %s = %s, NumPy has %s" % (seed, name, got.get(name), want.tolist()))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
