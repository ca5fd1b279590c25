"""Random operations in the form of everyday.py's cases, where no list of ours would look: products of random axes in random orders, convolutions, pools, and reductions over random axes.

    sampled.choose(kind, seed, n, scale)        everyday.CASES become n of them, and gradients.CASES those of the same; `scale` times the usual sizes
    REFERENCE[name](*arrays)                    the same by NumPy, in f64"""
import math, random
import numpy as np
import everyday, gradients

REFERENCE = {}


def listed(x):
    return ", ".join(map(str, x))


def given(name, shape):
    return f'({name} : "| {listed(shape)}")'


def einsum(r, scale):
    """A product of two tensors whose axes are of the batch, of rows, of columns and summed, each in any order."""
    most, least = scale * 4e8, scale * 1e5
    while True:
        counts = r.choice([0, 0, 1, 1, 2]), r.choice([0, 1, 1, 2]), r.choice([0, 1, 1, 2]), r.choice([0, 1, 1, 1, 2])
        letters = "abcdefghij"[:sum(counts)]
        size = {c: r.choice([2, 3, 4, 5, 7, 8, 10, 12, 16, 20, 24, 32, 33, 48, 50, 64, 96, 100, 128, 200, 256, 400, 512, 1000]) for c in letters}
        ends = [sum(counts[:k]) for k in range(5)]
        batch, rows, columns, summed = (letters[ends[k]:ends[k + 1]] for k in range(4))
        x, y, z = list(batch + rows + summed), list(batch + columns + summed), list(batch + rows + columns)
        elements = lambda v: math.prod(size[c] for c in v)
        if x and y and z and max(map(elements, (x, y, z))) < 8e6 and least < elements(letters) < most:
            break
    for v in (x, y, z):
        r.shuffle(v)
    text = f"{''.join(x)},{''.join(y)}->{''.join(z)}"
    shapes = tuple(tuple(size[c] for c in v) for v in (x, y))
    REFERENCE[name := f"{text} {listed(f'{c} {n}' for c, n in size.items())}"] = lambda a, b: np.einsum(text, a, b, optimize=True)
    return name, [size[c] for c in z], (shapes, f"{given('x', shapes[0])} {given('y', shapes[1])}", f'x +* y "{listed(x)}; {listed(y)} => {listed(z)}"', f"torch.einsum('{text}', a, b).contiguous()")


def windows(x, sizes, step, gap, first):
    """Views of the windows of x along the axes from `first` on: places, then positions within."""
    n = len(sizes)
    at = tuple(slice(None, None, gap) for _ in sizes)
    v = np.lib.stride_tricks.sliding_window_view(x, [(k - 1) * gap + 1 for k in sizes], tuple(range(first, first + n)))
    return v[(slice(None),) * first + (slice(None, None, step),) * n + (Ellipsis, *at)] if v.ndim == x.ndim + n else v


def window_of(r, scale, pool):
    """Axes, image, window, step, gap, whether padding keeps the image's size, and the result's size."""
    while True:
        n = r.choice([1, 2, 2, 2, 3])
        drawn = {1: lambda: r.randint(20, 3000), 2: lambda: r.randint(7, 128), 3: lambda: r.randint(5, 28)}[n]
        image = [drawn()] * n if r.random() < 0.6 else [drawn() for _ in range(n)]
        size = [r.choice([1, 2, 3, 3, 3, 5, 7])] * n if r.random() < 0.7 else [r.choice([1, 3, 5, 7]) for _ in range(n)]
        step = r.choice([1, 1, 1, 2, 2, 3, 4])
        gap = r.choice([1, 1, 1, 1, 2, 3]) if step == 1 and not pool else 1
        padded = not pool and step == 1 and all(k % 2 for k in size) and r.random() < 0.6
        image = [max(1, int(x * scale ** (1 / n))) for x in image] if scale < 1 else image
        if any((k - 1) * gap + 1 > x for k, x in zip(size, image)):
            continue
        out = image if padded else [(x - (k - 1) * gap - 1) // step + 1 for k, x in zip(size, image)]
        if not padded:                                   # windows tile the axis
            image = [(o - 1) * step + (k - 1) * gap + 1 for o, k in zip(out, size)]
        return n, image, size, step, gap, padded, out


def steps(n, step, gap, padded):
    return [f"{'' if step == 1 else f'{step}*'}{a} {'=+' if padded else '<+'} {'' if gap == 1 else f'{gap}*'}{b}" for a, b in zip("xyz"[:n], "ijk")]


def convolution(r, scale):
    while True:
        n, image, size, step, gap, padded, out = window_of(r, scale, False)
        b, last, groups = r.choice([1, 1, 2, 4, 8, 16]), r.random() < 0.5, 1
        c, f = r.choice([1, 2, 3, 4, 8, 16, 20, 32, 48, 64, 96, 128, 256]), r.choice([1, 2, 3, 4, 8, 10, 16, 24, 32, 64, 96, 128, 256])
        if r.random() < 0.4:
            groups, c, f = r.choice([2, 4, 8, 16, 32, 64, 96]), r.choice([1, 1, 2, 3, 4, 8, 16]), r.choice([1, 1, 2, 4, 8, 16])
        operations, elements = 2 * b * math.prod(out) * groups * c * f * math.prod(size), b * groups * (math.prod(image) * c + math.prod(out) * f)
        if scale * 2e5 < operations < scale * 1.5e9 and elements < 1.5e7:
            break
    places, inner, grouped = "xyz"[:n], "ijk"[:n], groups > 1
    g, gs = (["g"], [groups]) if grouped else ([], [])
    walked = steps(n, step, gap, padded)
    x = ["b", *walked, *g, "c"] if last else ["b", *g, "c", *walked]
    k = [*inner, *g, "c", "f"] if last else [*g, "f", "c", *inner]
    y = ["b", *places, *g, "f"] if last else ["b", *g, "f", *places]
    shapes = ((b, *image, *gs, c), (*size, *gs, c, f)) if last else ((b, *gs, c, *image), (*gs, f, c, *size))
    result = (b, *out, *gs, f) if last else (b, *gs, f, *out)
    image_of = f"a.reshape({listed((b, *image, groups * c))}).permute(0, {n + 1}, {listed(range(1, n + 1))})" if last else f"a.reshape({listed((b, groups * c, *image))})"
    order = [n + grouped + 1, n + grouped, *range(n)]
    kernel_of = (f"b.permute({listed(([n] if grouped else []) + order)})" if last else "b") + f".reshape({listed((groups * f, c, *size))})"
    padding = [(s - 1) // 2 * gap if padded else 0 for s in size]
    torch = f"F.conv{n}d({image_of}, {kernel_of}, stride={step}, dilation={gap}, groups={groups}, padding=({listed(padding)},))"
    torch += (f".permute(0, {listed(range(2, n + 2))}, 1)" if last else "") + f".reshape({listed(result)})"

    def reference(a, w):
        first = 1 if last else 2 + grouped
        a = np.pad(a, [(0, 0)] * first + [(p, p) for p in padding] + [(0, 0)] * (a.ndim - first - n))
        inside, letters = "".join(inner), "".join(g)
        views = windows(a, size, step, gap, first)
        spec = f"b{places}{letters}c{inside},{inside}{letters}cf->b{places}{letters}f" if last else f"b{letters}c{places}{inside},{letters}fc{inside}->b{letters}f{places}"
        return np.einsum(spec, views, w, optimize=True)

    name = f"{b} of {'x'.join(map(str, image))}, {groups} of {c} to {f}, {'x'.join(map(str, size))} / {step}, gap {gap}, {'padded' if padded else 'within'}, channels {'last' if last else 'first'}"
    REFERENCE[name] = reference
    return name, result, (shapes, f"{given('x', shapes[0])} {given('k', shapes[1])}", f'x +* k "{listed(x)}; {listed(k)} => {listed(y)}"', torch)


def pool(r, scale):
    while True:
        n, image, size, step, _, _, out = window_of(r, scale, True)
        b, c, last = r.choice([1, 1, 2, 4, 8, 16]), r.choice([1, 2, 3, 4, 8, 12, 16, 20, 32, 48, 64, 96, 128, 256]), r.random() < 0.5
        if scale * 1e4 < b * c * math.prod(image) < scale * 6e6:
            break
    most, places, inner = r.random() < 0.6, "xyz"[:n], "ijk"[:n]
    walked = steps(n, step, 1, False)
    x, y = (["b", *walked, "c"], ["b", *places, "c"]) if last else (["b", "c", *walked], ["b", "c", *places])
    shape = (b, *image, c) if last else (b, c, *image)
    body = f'let y = x {"@^^" if most else "++"} "{listed(x)} => {listed(y)}" [{"; ".join(inner)}] in {"; ".join(f"set_dim {a} {s}" for a, s in zip(inner, size))}; y' + ("" if most else f" /. {math.prod(size)}.")
    torch = f"F.{'max' if most else 'avg'}_pool{n}d({f'a.permute(0, {n + 1}, {listed(range(1, n + 1))})' if last else 'a'}, ({listed(size)},), {step})" + (f".permute(0, {listed(range(2, n + 2))}, 1)" if last else "")
    name = f"{'max' if most else 'mean'} of {'x'.join(map(str, size))} / {step} over {b} of {'x'.join(map(str, image))} of {c}, channels {'last' if last else 'first'}"
    over = tuple(range(-n, 0))
    REFERENCE[name] = lambda a: (np.max if most else np.mean)(windows(a, size, step, 1, 1 if last else 2), over)
    return name, (b, *out, c) if last else (b, c, *out), ((shape,), given("x", shape), body, torch)


def reduction(r, scale):
    n, most = r.choice([2, 3, 3, 4, 4, 5]), scale * r.choice([3e4, 1e6, 4e6])
    while True:
        shape = [r.choice([1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512]) if r.random() < 0.4 else max(1, int(math.exp(r.uniform(0, math.log(most))))) for _ in range(n)]
        if most / 4 < math.prod(shape) < most:
            break
    axes, what = "abcde"[:n], r.choice(["order", "order", "sum", "sum", "max", "softmax", "norm", "variance", "add", "log-sum-exp"])
    over = sorted(r.sample(range(n), r.randint(1, max(1, n - 1)))) if what != "softmax" else [r.randrange(n)]
    all_axes, rest, ones = listed(axes), listed(c for k, c in enumerate(axes) if k not in over), listed("0" if k in over else c for k, c in enumerate(axes))
    count, kept, dims = math.prod(shape[k] for k in over), [shape[k] for k in range(n) if k not in over], f"({listed(over)},)"
    order = r.sample(range(n), n)
    mean = f'let m = (x ++ "{all_axes} => {ones}") /. {count}. in let d = x - m in '
    top = f'let m = x @^^ "{all_axes} => {ones}" in '
    soft = lambda a: np.exp(a - a.max(tuple(over), keepdims=True))
    body, torch, reference = {
        "order": (f'x ++ "{all_axes} => {listed(axes[k] for k in order)}"', f"a.permute({listed(order)}).contiguous()", lambda a: a.transpose(order)),
        "sum": (f'x ++ "{all_axes} => {rest}"', f"a.sum({dims})", lambda a: a.sum(tuple(over))),
        "max": (f'x @^^ "{all_axes} => {rest}"', f"a.amax({dims})", lambda a: a.max(tuple(over))),
        "variance": (mean + f'(d *. d ++ "{all_axes} => {rest}") /. {count}.', f"a.var({dims}, unbiased=False)", lambda a: a.var(tuple(over))),
        "norm": (mean + f'd *. rsqrt ((d *. d ++ "{all_axes} => {ones}") /. {count}. + 1e-5)', f"(lambda m: (a - m) * torch.rsqrt(((a - m) ** 2).mean({dims}, keepdim=True) + 1e-5))(a.mean({dims}, keepdim=True))",
                 lambda a: (a - a.mean(tuple(over), keepdims=True)) / np.sqrt(a.var(tuple(over), keepdims=True) + 1e-5)),
        "softmax": (top + f'let e = exp (x - m) in e /. (e ++ "{all_axes} => {ones}")', f"a.softmax({over[0]})", lambda a: soft(a) / soft(a).sum(tuple(over), keepdims=True)),
        "log-sum-exp": (top + f'(log (exp (x - m) ++ "{all_axes} => {ones}") + m) ++ "{ones} => {rest}"', f"a.logsumexp({dims})", lambda a: np.log(np.exp(a).sum(tuple(over)))),
        "add": (f'x +++ y "{all_axes}; {rest} => {all_axes}"', f"a + b.reshape({listed(1 if k in over else m for k, m in enumerate(shape))})", lambda a, b: a + b.reshape([1 if k in over else m for k, m in enumerate(shape)])),
    }[what]
    name = f"{what} of {listed(shape)}" + (f" as {listed(order)}" if what == "order" else f" over {listed(over)}")
    REFERENCE[name] = reference
    two, result = what == "add", [shape[k] for k in order] if what == "order" else shape if what in ("softmax", "norm", "add") else kept
    return name, result, ((tuple(shape), tuple(kept)) if two else (tuple(shape),), given("x", shape) + (f" {given('y', kept)}" if two else ""), body, torch)


KINDS = {"einsum": einsum, "convolution": convolution, "pool": pool, "reduction": reduction}


def gradient(result, case):
    """The same as a case of gradients.py: all that is given has a gradient."""
    shapes, signature, body, torch = case
    names = [part.split(" ")[0] for part in signature.split("(")[1:]]
    return "; ".join(f"{p} | {listed(shape)}" for p, shape in zip(names, shapes)), "", f"| {listed(result)}", body, torch


def choose(kind, seed, n, scale=1):
    r = random.Random(f"{kind} {seed}")
    everyday.CASES.clear()
    gradients.CASES.clear()
    while len(everyday.CASES) < n:
        name, result, case = KINDS[kind](r, scale)
        everyday.CASES[name], gradients.CASES[name] = case, gradient(result, case)
