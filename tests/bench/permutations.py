"""One product of 512 x 512 x 512 whose axes are split in two, with the axes of both operands and of the result in 200 random orders:
where the elements lie changes what packing reads, and nothing else."""
import ctypes, functools, random, re, subprocess
from common import Model, in_turns, least

COUNT, SPLITS = 200, ((16, 32), (32, 16), (8, 64), (64, 8))
WITHIN = 0.95
FLOPS = 2 * 512 ** 3


def permutations(count=COUNT, seed=5):
    """(sizes of the letters, axes of x, of y, of the result): a b are of the result's first factor, c d of the second, e f are summed."""
    chance = random.Random(seed)
    for i in range(count):
        sizes = {}
        for pair in ("ab", "cd", "ef"):
            sizes.update(zip(pair, chance.choice(SPLITS)))
        axes = [list(text) for text in ("abef", "efcd", "abcd")]
        for x in axes:
            if i:                                       # the first one is the plain product
                chance.shuffle(x)
        yield (sizes, *axes)


def program(count=COUNT, names="abcdef"):
    """`names`: what the axes a to f are called."""
    lines = []
    for i, (sizes, x, y, z) in enumerate(permutations(count)):
        shape = lambda axes: "| " + ", ".join(str(sizes[a]) for a in axes)
        spec = "; ".join("| " + ", ".join(names["abcdef".index(a)] for a in axes) for axes in (x, y)) + " => | " + \
            ", ".join(names["abcdef".index(a)] for a in z)
        lines.append(f'let%export p{i} (x : "{shape(x)}") (y : "{shape(y)}") = x +* y "{spec}"')
    return "\n".join(lines) + "\n"


def schedules(tsrc, source):
    """What --dump=schedule says of each function's contraction: the classes' sizes, the tile and the blocks, and what is packed."""
    out = subprocess.run([tsrc, "-c", "--cpu=x86-64-v4", "--dump=schedule", source], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = []
    for text in re.findall(r"contraction: (.*)", out):
        classes, tile, rest = text.split("; ")[0], *text.split("; ")[1].split(", ", 1)
        total = {}
        for name, size in re.findall(r"(\w+) (\d+)", classes):
            total[name] = total.get(name, 1) * int(size)
        blocks, packing = rest.rsplit(", ", 1)
        found.append((total, tile, blocks, packing))
    return found


def least_of(model, *call):
    return min(model.seconds(*call) for _ in range(3))


def measure(bench):
    bench.table.heading("One product with its axes in 200 orders, one thread")
    model = Model(bench.shared(bench.written("permutations.tsr", program()), "permutations", "--threads=none"))
    n = 512 * 512
    library = bench.probes(1)
    x, y, z = arrays = [ctypes.c_void_p(library.probe_array(ctypes.c_size_t(n))) for _ in range(3)]
    r = in_turns(bench.rounds, {i: functools.partial(least_of, model, f"p{i}", x, y, z) for i in range(COUNT)})
    times = sorted(least(r, i) for i in range(COUNT))
    rate = lambda t: f"{FLOPS / t * 1e-9:.1f} GF/s"
    middle = times[len(times) // 2]
    bench.table.row("the plain product", rate(least(r, 0)), f"fastest {rate(times[0])}")
    bench.table.row("the slowest against the middle", rate(times[-1]), f"middle {rate(middle)}", middle / times[-1], WITHIN)
    bench.table.row("  of the orders within 5 % of the middle", "", "", sum(middle / t >= WITHIN for t in times) / COUNT, 1)
    model.close()
    for a in arrays:
        library.probe_free(a)
