#!/usr/bin/env python3
"""What is computed again rather than kept has the same bits, takes less memory, and under --memory-limit as little as the limit.

Transformers, a convolutional network and random training programs, with --no-remat, as they are, with the least limit that tsrc says it can keep and
with some above it: the layout is read from --dump=memory, and the program prints what it prints with --no-remat, gradients included, to
the last digit. Below the least limit there is an error that names it.

    check.py BUILD [--programs N] [--seed N]
"""
import argparse, os, random, re, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/tools"))
import tally  # noqa: E402
from tally import check  # noqa: E402

TRANSFORMER = """
open Nn
open Train
let x = index "x"
let%op block ~width () =
  let attend = attention ~heads:2 ~d_k:(width / 2) () in
  let norm1 = layer_norm () in
  let norm2 = layer_norm () in
  fun ~mask x ->
  let mid = x + attend ~mask (norm1 x) in
  mid + { w_down } * gelu ({ w_up; o = [4 * width] } * norm2 mid)
let%op w_in = { w_in = uniform () - 0.5; i = [7]; o = [24] }
let%op model () =
  let blocks = List.init 3 (fun _ -> block ~width:24 ()) in
  fun x ->
  let mask = (positions () ++ "s | => s |") >= (positions () ++ "t -> => t ->") in
  List.fold_left (fun y b -> b ~mask y) (w_in * x) blocks
let net = model ()
let%op input = { input = uniform () - 0.5; o = [4; 10; 7] } ++ "b, t, c => b, t | c"
let%op out = net input
let%op loss = (out *. out) ++ "...|...->... => 0"
let%cd step = grad_update loss; sgd loss ~lr:0.001
let%main () = run step; run step; print loss; print w_in; print w_in.grad; print out
"""

WINDOWS = """
open Nn
open Train
let%op images = { images = uniform () - 0.5; o = [6; 20; 20; 2] }
let%op k1 = { k1 = uniform () - 0.5; o = [8; 3; 3; 2] }
let%op k2 = { k2 = uniform () - 0.5; o = [4; 3; 3; 8] }
let%op one = relu (images +* k1 "b, y <+ i, x <+ j, c; d, i, j, c => b, y, x, d")
let%op two = tanh (sigmoid one *. 2.)
let%op three = relu (two +* k2 "b, y <+ i, x <+ j, c; d, i, j, c => b, y, x, d")
let%op loss = (three *. three *. 0.01) ++ "... => 0"
let%cd step = grad_update loss; sgd loss ~lr:0.001
let%main () = run step; run step; print loss; print k1; print k1.grad; print k2.grad
"""


def residual():
    """A small ResNet: for a shortcut much is needed that is computed again later anyway, and kept until then it would be alive where as much is as anywhere."""
    with open(os.path.join(ROOT, "tests/bench/resnet18.tsr")) as f:
        text = f.read()
    for old, new in (("(64, 1); (128, 2); (256, 2); (512, 2)", "(32, 1); (64, 2); (128, 2); (256, 2)"), ("filters:64", "filters:32"), ("batch = 32", "batch = 8"),
                     ("leading 1536", "leading 384"), ("32 | 32, 32, 3", "8 | 32, 32, 3"), ('"../../', f'"{ROOT}/')):
        text = text.replace(old, new)
    text = text.replace("let%op loss = cross_entropy ~logits:(net ~train:true x)", "let%op out = net ~train:true x\nlet%op loss = cross_entropy ~logits:out")
    return re.sub(r"let%main.*", "let%main () = run step; run step; run step; print loss; print out\n", text, flags=re.S)


def chain(rng):
    """A network of elementwise functions, sums of rows and products, in which values are used again far away."""
    lines, shape = ["open Train"], "o = [%d; %d]" % (rng.choice([16, 33]), rng.choice([24, 48]))
    lines.append("let%%op t0 = { t0 = uniform () - 0.5; %s }" % shape)
    names = ["t0"]
    for n in range(1, rng.randint(8, 16)):
        x, y = names[-1], rng.choice(names)
        text = rng.choice(["tanh (%s + %s)", "relu %s + %s", "%s *. sigmoid %s", "exp (tanh %s) - %s", '%s /. (abs %s + 1.)',
                           '%s - (%s ++ "r, c => r, 0") *. 0.02', '%s *. ((%s *. 0.1) ++ "r, c => 0, c")'])
        lines.append("let%%op t%d = %s" % (n, text % (x, y)))
        names.append("t%d" % n)
    lines += ['let%%op loss = (%s *. %s) ++ "... => 0"' % (names[-1], names[-1]), "let%cd step = grad_update loss",
              "let%main () = run step; print loss; print t0.grad"]
    return "\n".join(lines) + "\n"


def laid_out(text):
    """Bytes of the arena and of the buffers beside it."""
    if "  arena;" not in text:
        return 0
    arena, own = re.search(r"(\d+)  arena;", text), re.search(r"(\d+)  buffers with memory of their own", text)
    return int(arena.group(1)) + int(own.group(1))


def least_limit(tsrc, source):
    status, _, errors = tally.run(tsrc, "--memory-limit=1", "--dump=memory", source)
    found = re.search(r"E0807.*at least (\d+) are needed", errors)
    return int(found.group(1)) if check(status == 1 and found, f"{source}: no E0807\n{errors[:500]}") else None


def printed(tsrc, source, *options):
    status, out, errors = tally.run(tsrc, "run", *options, source)
    return out if check(status == 0, f"{source} {options}: {errors[:500]}") else None


def one(tsrc, source, levels, unasked, saves):
    """Whether a limit had anything computed again; at most `unasked` of the bytes are laid out without one, `saves` at least."""
    status, text, errors = tally.run(tsrc, "--dump=memory", source)
    _, all_kept, _ = tally.run(tsrc, "--no-remat", "--dump=memory", source)
    if not check(status == 0, f"{source}: {errors[:1500]}"):
        return False
    kept, most, least = laid_out(all_kept), laid_out(text), least_limit(tsrc, source)
    if least is None:
        return False
    check("computed again" not in all_kept, f"{source}: --no-remat computes something again")
    check(most <= unasked * kept, f"{source}: {most} bytes, {kept} with --no-remat")
    check(least <= most, f"{source}: {least} bytes needed with a limit, {most} without")
    check(least <= saves * kept, f"{source}: no less than {least} of {kept} bytes")
    for limit in sorted({least, (least + most) // 2, most}):
        status, under, errors = tally.run(tsrc, f"--memory-limit={limit}", "--dump=memory", source)
        check(status == 0 and laid_out(under) <= limit, f"{source}: limit {limit}: {errors[:300]}{under[-300:]}")
        check(limit < most or under == text, f"{source}: a limit of {limit}, which is kept without one, changes something:\n{under[-300:]}")
        check(limit == most or "computed again" in under, f"{source}: limit {limit} of {most}:\n{under[-300:]}")
    _, schedule, _ = tally.run(tsrc, f"--memory-limit={least}", "--dump=schedule", source)
    check(("is computed again before" in schedule) == (least < kept), f"{source}: the schedule does not say what is computed again")
    status, _, errors = tally.run(tsrc, f"--memory-limit={least - 1}", "--dump=memory", source)
    check(status == 1 and "E0807" in errors, f"{source}: less than the least is accepted")
    for level in levels:
        want = printed(tsrc, source, level, "--no-remat")
        for options in ([], [f"--memory-limit={least}"], [f"--memory-limit={(least + most) // 2}"]):
            check(printed(tsrc, source, level, *options) == want, f"{source} {level} {options}: other numbers than with --no-remat")
    return least < most


def sizes_are_read(tsrc, source):
    for text, ok in (("1GiB", True), ("1.5MiB", True), ("4000000", True), ("12MB", False), ("-3", False), ("much", False), ("", False), ("1e400", False)):
        status, _, errors = tally.run(tsrc, f"--memory-limit={text}", "--dump=memory", source)
        check(status == (0 if ok else 2), f"--memory-limit={text}: exit status {status} {errors}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--programs", type=int, default=6)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    tsrc, again = os.path.abspath(os.path.join(o.build, "tsrc")), 0
    with tempfile.TemporaryDirectory() as folder:
        def written(name, text):
            path = os.path.join(folder, name + ".tsr")
            with open(path, "w") as f:
                f.write(text)
            return path
        one(tsrc, written("transformer", TRANSFORMER), ["-O2"], 0.95, 0.9)
        one(tsrc, written("windows", WINDOWS), ["-O2"], 1, 1)
        for n in range(o.seed, o.seed + o.programs):
            again += one(tsrc, written(f"chain{n}", chain(random.Random(n))), ["-O2"], 1, 1)
        check(again > o.programs / 3, f"only {again} of {o.programs} programs had something to be computed again")
        small = written("residual", residual())
        one(tsrc, small, [], 0.8, 0.8)
        for cpu in ("x86-64-v2", "x86-64-v3", "native"):
            _, schedule, _ = tally.run(tsrc, f"--cpu={cpu}", "--dump=schedule", small)
            check(re.search(r"again\d+ is computed again before", schedule), f"{small} {cpu}: nothing is given up twice")
            check("with what it needs twice" in schedule, f"{small} {cpu}: nothing that comes sooner is computed where it was, too")
            check(printed(tsrc, small, f"--cpu={cpu}") == printed(tsrc, small, f"--cpu={cpu}", "--no-remat"), f"{small} {cpu}: other numbers than with --no-remat")
        one(tsrc, os.path.join(ROOT, "examples/lenet.tsr"), ["-O2"], 1, 1)
        one(tsrc, os.path.join(ROOT, "tests/bench/gpt.tsr"), [], 0.8, 0.7)
        one(tsrc, os.path.join(ROOT, "tests/bench/resnet18.tsr"), [], 0.8, 0.75)
        sizes_are_read(tsrc, os.path.join(ROOT, "examples/lenet.tsr"))
    tally.end()


main()
