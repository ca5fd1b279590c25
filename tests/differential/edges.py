"""Programs of products, windows, rows and transpositions at the edges of register tiles and cache blocks, over numbers of many digits."""

TILES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65]
DEPTHS = [1, 2, 3, 8, 17, 63, 64, 65, 127, 128, 129, 383, 384, 385, 500]

PRODUCTS = [("mk", "kn", "mn"), ("km", "kn", "mn"), ("mk", "nk", "mn"), ("km", "nk", "nm"), ("bmk", "bkn", "bmn"), ("mbk", "knb", "bmn"),
            ("mkj", "jkn", "nm"), ("mk", "knj", "mjn"), ("kbm", "nkb", "mn"), ("mk", "k", "m"), ("k", "kn", "n"), ("mk", "mk", "m")]


def given(name, shape):
    return "let%%op %s = { %s = uniform () - 0.5; o = [%s] }" % (name, name, "; ".join(map(str, shape)))


def product(rng, n):
    """With what may be fused to it: a row added, a function of the result, a scaled operand."""
    a, b, c = rng.choice(PRODUCTS)
    size = {x: rng.choice(TILES) for x in "mn"}
    size.update(k=rng.choice(DEPTHS), b=rng.choice([1, 2, 3]), j=rng.choice([2, 3]))
    while size["m"] * size["n"] * size["k"] * (size["b"] if "b" in a + b else 1) * (size["j"] if "j" in a + b else 1) > 60000:
        largest = max(size, key=lambda x: size[x])
        size[largest] = size[largest] // 2 + rng.randint(0, 1)
    left, right = "a%d" % n, "b%d" % n
    lines = [given(left, [size[x] for x in a]), given(right, [size[x] for x in b])]
    left = rng.choice([left, left, "(%s *. 0.5)" % left, "(relu %s)" % left])
    lines.append('let%%op c%d = %s +* %s "%s; %s => %s"' % (n, left, right, ", ".join(a), ", ".join(b), ", ".join(c)))
    after = rng.choice(["c%d", "tanh c%d", "c%d *. c%d", "relu (c%d + 0.1)", "c%d *. sin c%d"]).replace("%d", str(n))
    lines += ["let%%op d%d = %s" % (n, after), 'let%%op s%d = d%d ++ "... => 0"' % (n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def narrow(rng, n):
    """Products of bf16, which matrix registers take 32 by 32 and 32 deep, and some processors' vectors in pairs; some numbers are denormal, or become so."""
    a, b, c = rng.choice(PRODUCTS[:9])
    size = {x: rng.choice([8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65]) for x in "mn"}
    size.update(k=rng.choice([16, 17, 31, 32, 33, 63, 64, 65, 100, 511, 512, 513, 700]), b=rng.choice([1, 2, 3]), j=rng.choice([2, 3]))
    while size["m"] * size["n"] * size["k"] * (size["b"] if "b" in a + b else 1) * (size["j"] if "j" in a + b else 1) > 100000:
        largest = max("mnk", key=lambda x: size[x])
        size[largest] = size[largest] // 2 + rng.randint(0, 1)
    scale = rng.choice(["", "", "", " *. 1e-20", " *. 1e-38"])
    lines = ["let%%op %s%d = { %s%d : bf16 = (uniform () - 0.5)%s; o = [%s] }" % (x, n, x, n, by, "; ".join(str(size[i]) for i in axes))
             for x, axes, by in (("a", a, ""), ("b", b, scale))]
    left = rng.choice(["a%d", "a%d", "(relu a%d)", "(a%d *. 0.5)"]).replace("%d", str(n))
    lines.append('let%%op c%d = %s +* b%d "%s; %s => %s"' % (n, left, n, ", ".join(a), ", ".join(b), ", ".join(c)))
    lines.append("let%%op d%d = %s" % (n, rng.choice(["c%d", "c%d + 0.25", "relu (c%d + 0.1)", "tanh c%d"]).replace("%d", str(n))))
    lines += ['let%%op s%d = d%d ++ "... => 0"' % (n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def apart(rng, n):
    """Two axes of rows, each of which is a page or more from one place to the next in the result, in any order in the operand."""
    size = {"m": rng.choice([2, 3, 7]), "j": rng.choice([2, 3]), "k": rng.choice([1, 2, 5]), "i": rng.choice([1, 2]), "n": rng.choice([1024, 1030])}
    a, b, c = rng.sample("mjki", 4), rng.sample("kin", 3), rng.choice([("m", "j", "n"), ("j", "m", "n")])
    lines = [given("a%d" % n, [size[x] for x in a]), given("b%d" % n, [size[x] for x in b]),
             'let%%op d%d = a%d +* b%d "%s; %s => %s"' % (n, n, n, ", ".join(a), ", ".join(b), ", ".join(c))]
    return lines, ["print d%d" % n]


def orders(rng, n):
    """Rows, columns and depths of two axes each, in any order: stretches of whole vectors, of half ones and of none, and blocks of rows that end anywhere."""
    size = {x: rng.choice(sizes) for x, sizes in zip("abcdef", ([3, 8, 11, 26], [5, 8, 16, 24], [2, 3, 5], [8, 16, 17, 32], [1, 2, 3], [1, 7, 8, 16]))}
    a, b, c = ("".join(rng.sample(axes, 4)) for axes in ("abef", "efcd", "abcd"))
    lines = [given("a%d" % n, [size[x] for x in a]), given("b%d" % n, [size[x] for x in b]),
             'let%%op d%d = a%d +* b%d "%s; %s => %s"' % (n, n, n, ", ".join(a), ", ".join(b), ", ".join(c))]
    return lines, ["print d%d" % n]


def window(rng, n):
    out, k, c, d = rng.choice([7, 8, 16, 17, 33]), rng.choice([1, 2, 3, 5]), rng.choice([1, 3, 8, 16]), rng.choice([1, 5, 16, 17])
    stride, padded = rng.choice([1, 1, 2]), rng.random() < 0.5
    h = stride * out if padded else stride * (out - 1) + k
    lines = [given("a%d" % n, (h, c)), given("b%d" % n, (d, k, c)),
             'let%%op d%d = a%d +* b%d "%so %s k, c; d, k, c => o, d"' % (n, n, n, "2*" if stride == 2 else "", "=+" if padded else "<+"),
             'let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def image(rng, n):
    """Windows over images whose sides are padding, in rows of as many positions as tiles divide, or of one more; channels last or first."""
    w, h, k, stride = rng.choice([7, 7, 14, 14, 15, 16, 28]), rng.choice([1, 3, 7]), rng.choice([2, 3, 3, 5]), rng.choice([1, 1, 2])
    c, d, batch = rng.choice([12, 16, 33]), rng.choice([5, 16, 33, 48]), rng.choice([1, 2, 8]) if w == 7 else 1
    kh = rng.choice([1, k]) if h > 1 else 1
    a, b, spec = ((batch, h * stride, w * stride, c), (kh, k, c, d), "b, {0}oh =+ kh, {0}ow =+ kw, c; kh, kw, c, d => b, oh, ow, d") if rng.random() < 0.7 else \
        ((batch, c, h * stride, w * stride), (d, c, kh, k), "b, c, {0}oh =+ kh, {0}ow =+ kw; d, c, kh, kw => b, d, oh, ow")
    lines = [given("a%d" % n, a), given("b%d" % n, b),
             'let%%op d%d = a%d +* b%d "%s"' % (n, n, n, spec.format("%d*" % stride if stride > 1 else "")),
             'let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def volume(rng, n):
    """Windows over volumes, alone or of each channel, and over an image's few channels."""
    z, h, w = rng.choice([3, 5, 8]), rng.choice([4, 9, 17]), rng.choice([7, 16, 23, 40])
    k, kz = rng.choice([2, 3, 3, 5]), rng.choice([2, 3])
    if rng.random() < 0.3:
        a, b, spec = (z, h, w), (z, k, k), "c, y =+ i, x =+ j; c, i, j => y, x"
    elif rng.random() < 0.5:
        a, b, spec = (z, h, w), (kz, k, rng.choice([1, k])), "z =+ g, y =+ i, x =+ j; g, i, j => z, y, x"
    else:
        a, b, spec = (2, z, h, w), (2, kz, k, k), "c, z =+ g, y =+ i, x =+ j; c, g, i, j => c, z, y, x"
    lines = [given("a%d" % n, a), given("b%d" % n, b), 'let%%op c%d = a%d +* b%d "%s"' % (n, n, n, spec), "let%%op d%d = %s" % (n, rng.choice(["c%d", "relu (c%d + 0.1)"]) % n),
             'let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def rows(rng, n):
    """A softmax, and rows brought to length one, each with its gradient."""
    shape = (rng.choice(TILES), rng.choice(TILES + DEPTHS))
    lines = [given("a%d" % n, shape), given("b%d" % n, shape)]
    if rng.random() < 0.5:
        lines += ['let%%op e%d = exp (a%d - (a%d @^^ "r, c => r, 0"))' % (n, n, n), 'let%%op d%d = e%d /. (e%d ++ "r, c => r, 0")' % (n, n, n)]
    else:
        lines += ['let%%op d%d = a%d /. sqrt ((a%d *. a%d) ++ "r, c => r, 0" + 0.01)' % (n, n, n, n)]
    lines += ['let%%op s%d = (d%d *. b%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print s%d" % n]


def turned(rng, n):
    """A tensor with its axes in another order, by itself or among others in the order of the result."""
    axes = rng.choice(["ab", "ab", "abc", "abcd"])
    size = dict.fromkeys(axes, 3)
    for x in rng.sample(axes, 2):
        size[x] = rng.choice(TILES)
    order = rng.sample(axes, len(axes))
    lines = [given("a%d" % n, [size[x] for x in axes]), given("b%d" % n, [size[x] for x in order]),
             'let%%op t%d = a%d ++ "%s => %s"' % (n, n, ", ".join(axes), ", ".join(order))]
    lines.append("let%%op d%d = %s" % (n, rng.choice(["t%d", "t%d *. b%d", "where (t%d < b%d) t%d 0.25", "exp t%d", "t%d /. (b%d + 2.)"]).replace("%d", str(n))))
    lines += ['let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print s%d" % n]


def columns(rng, n):
    """Columns brought to mean 0 and length one, and the largest of each, with their gradients: several sums over the same rows."""
    size = {"r": rng.choice(TILES), "c": rng.choice(TILES + DEPTHS + [1024, 1025]), "h": rng.choice([1, 2, 3])}
    axes = rng.choice(["rc", "hrc", "rhc"])
    kept = axes.replace("r", "")
    over = "%s => %s" % (", ".join(axes), ", ".join(kept))
    lines = [given("a%d" % n, [size[x] for x in axes]), given("b%d" % n, [size[x] for x in axes]),
             'let%%op c%d = a%d - (a%d ++ "%s" ++ "%s => %s") /. %d.' % (n, n, n, over, ", ".join(kept), ", ".join(x if x != "r" else "0" for x in axes), size["r"])]
    lines += ['let%%op v%d = (c%d *. c%d) ++ "%s"' % (n, n, n, over), 'let%%op w%d = (c%d *. b%d) ++ "%s"' % (n, n, n, over),
              'let%%op d%d = w%d /. sqrt (v%d + 0.1) + (a%d @^^ "%s")' % (n, n, n, n, over),
              'let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def few(rng, n):
    """A few numbers of each of many places, turned by a small matrix into one or a few, as colours and coordinates are."""
    places, k, m = rng.choice([(64,), (65, 2), (3, 71), (130,), (2, 96)]), rng.choice([1, 2, 3, 3, 4]), rng.choice([0, 1, 2, 3, 3, 4])
    axes = "ij"[:len(places)]
    order = ", ".join([*axes, "d"] if m else axes)
    lines = [given("a%d" % n, (*places, k)), given("b%d" % n, (m, k) if m else (k,)),
             'let%%op c%d = a%d +* b%d "%s, c; %s => %s"' % (n, n, n, ", ".join(axes), "d, c" if m else "c", order)]
    lines.append("let%%op d%d = %s" % (n, rng.choice(["c%d", "c%d + 0.25", "relu (c%d + 0.1)", "tanh c%d"]).replace("%d", str(n))))
    lines += ['let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def weights(rng, n):
    """Weights of few bits, scaled, or moved as well, by a vector or a few rows; some are so large that products compute them, of which the others find them computed."""
    kind, rows, large = rng.choice(["i8", "u8", "f16", "bf16"]), rng.choice([0, 0, 1, 2, 3, 4, 5, 8, 9, 13]), rng.randint(0, 11) == 0
    columns, depth = (rng.choice([1025, 1040]), rng.choice([1024, 1030])) if large else (rng.choice(TILES), rng.choice(DEPTHS))
    axes, span = rng.choice(["nk", "nk", "nk", "kn"]), {"n": columns, "k": depth}
    lines = ["let%%op w%d = { w%d : %s = %s uniform (); o = [%s] }" % (n, n, kind, "100. *." if kind in ("i8", "u8") else "0.5 -", "; ".join(str(span[x]) for x in axes)),
             given("a%d" % n, (rows, depth) if rows else (depth,)), given("z%d" % n, (columns,)),
             'let%%op f%d = ((w%d + 0) : f32)' % (n, n)]
    shown = '(z%d ++ "n => %s")' % (n, ", ".join(x if x == "n" else "0" for x in axes))
    value = rng.choice(["f%d", "f%d", "f%d *. %s", "(f%d - 3.) *. %s", "(f%d - 16. *. floor (f%d /. 16.))", "relu (f%d - %s)"]).replace("%d", str(n)).replace("%s", shown)
    lines.append('let%%op c%d = (%s) +* a%d "%s; %s => %s"' % (n, value, n, ", ".join(axes), "m, k" if rows else "k", "m, n" if rows else "n"))
    lines.append("let%%op d%d = %s" % (n, rng.choice(["c%d", "relu (c%d + 0.1)", "c%d *. z%d"]).replace("%d", str(n))))
    return lines, ["print d%d" % n]


def points(rng, n):
    """What becomes of a few numbers of each of many points, step by step: vectors and small matrices, products with the point's own or with what all share, sums, maxima, single numbers, in
    several precisions; what is given may lie with the points' axes last."""
    places, size = rng.choice([(256,), (301,), (5, 65), (3, 97), (33, 40)]), {x: rng.choice([2, 3, 3, 4, 5, 6, 7, 9, 10]) for x in "cde"}
    kind = rng.choice(["", "", "", "", "f16", "bf16", "f64"])
    axes = "ij"[:len(places)]
    count = 0

    def name():
        nonlocal count
        count += 1
        return "v%d_%d" % (n, count)

    def spec(x):
        return ", ".join([*axes, *x])

    def own(x):
        made, turned = name(), rng.random() < 0.25
        body = given("t" + made if turned else made, [*(size[a] for a in x), *places] if turned else [*places, *(size[a] for a in x)])
        if turned:
            lines.append(body)
            lines.append('let%%op %s = t%s ++ "%s => %s"' % (made, made, ", ".join([*x, *axes]), spec(x)))
            params.append("t" + made)
            return made
        lines.append(body.replace("{ %s =" % made, "{ %s : %s =" % (made, kind)) if kind else body)
        params.append(made)
        return made

    lines, params, known = [], [], []
    known.append((own("c"), "c"))
    for _ in range(rng.randint(1, 5)):
        v, x = rng.choice(known)
        to = rng.choice([a for a in "cde" if a not in x]) if len(x) < 3 else x[0]
        made, how = name(), rng.choice(["turn", "turn own", "own", "sum", "each", "each", "norm", "pick", "outer"])
        if how == "turn" and size[to] * size[x[-1:] or "c"] <= 40 and x:
            shared = "w" + made
            lines.append(given(shared, [size[to], size[x[-1]]]))
            params.append(shared)
            lines.append('let%%op %s = %s +* %s "%s; %s, %s => %s"' % (made, v, shared, spec(x), to, x[-1], spec(x[:-1] + to)))
            known.append((made, x[:-1] + to))
        elif how == "turn own" and x and to not in x:
            lines.append('let%%op %s = %s +* %s "%s; %s => %s"' % (made, v, own(to + x[-1]), spec(x), spec(to + x[-1]), spec(x[:-1] + to)))
            known.append((made, x[:-1] + to))
        elif how == "sum" and x:
            lines.append('let%%op %s = %s %s "%s => %s"' % (made, v, rng.choice(["++", "++", "@^^"]), spec(x), spec(x[:-1])))
            known.append((made, x[:-1]))
        elif how == "norm" and x:
            zeros = ", ".join([*axes, *"0" * len(x)])
            lines.append('let%%op %s = %s /. sqrt ((%s *. %s) ++ "%s => %s" + 0.5)' % (made, v, v, v, spec(x), zeros))
            known.append((made, x))
        elif how == "pick" and x:
            lines.append('let%%op %s = (%s ++ "%s => %s") - 0.5' % (made, v, ", ".join([*axes, *x[:-1], str(rng.randrange(size[x[-1]]))]), spec(x[:-1])))
            known.append((made, x[:-1]))
        elif how == "outer" and len(x) == 1 and to not in x and size[x] * size[to] <= 40:
            lines.append('let%%op %s = %s +* %s "%s; %s => %s"' % (made, v, own(to), spec(x), spec(to), spec(x + to)))
            known.append((made, x + to))
        else:
            other = rng.choice([u for u, y in known if y == x])
            lines.append("let%%op %s = %s" % (made, rng.choice(["%s + 0.25 *. %s", "tanh (%s *. %s)", "relu (%s - 0.5 *. %s)", "where (%s > 0.125) %s 0.25", "%s *. sin %s"]) % (v, other)))
            known.append((made, x))
    v, x = known[-1]
    lines += ['let%%op s%d = (%s *. %s) ++ "... => 0"' % (n, v, v), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, *("print %s" % v for v, _ in known[1:]), *("print %s.grad" % v for v in params)]


def channels(rng, n):
    """Windows over each channel: its own or one that all share, many channels or few, in groups along one axis; behind them nothing, another window, a function, or what sums over a place's channels."""
    h, w, k, stride = rng.choice([3, 5, 9]), rng.choice([4, 7, 9, 12, 17, 20]), rng.choice([1, 2, 3, 3, 5, 7]), rng.choice([1, 1, 1, 2])
    kind, c = rng.choice(["own", "own", "shared", "groups"]), rng.choice([3, 16, 17, 24, 32])
    times, kh = "2*" if stride == 2 else "", rng.choice([1, k, k])
    place = "%soh =+ kh, %sow =+ kw" % (times, times)
    if kind == "groups":
        g, each = rng.choice([(4, 4), (8, 2), (2, 8), (8, 4)])
        c = g * each
        b, spec = (kh, k, g, each, each), "%s, (g, c); kh, kw, g, f, c => oh, ow, (g, f)" % place
    else:
        b, spec = ((kh, k, c), "%s, c; kh, kw, c => oh, ow, c" % place) if kind == "own" else ((kh, k), "%s, c; kh, kw => oh, ow, c" % place)
    while h * w * c * kh * k > 60000:
        h = h // 2 + 1
        w = w - 3
    lines = [given("a%d" % n, (h * stride, w * stride, c)), given("b%d" % n, b)]
    lines.append('let%%op c%d = a%d +* b%d "%s"' % (n, n, n, spec))
    if rng.random() < 0.2:
        lines += [given("e%d" % n, b), 'let%%op d%d = sqrt (c%d *. c%d + (a%d +* e%d "%s") **. 2. + 0.1)' % (n, n, n, n, n, spec)]
    else:
        lines.append("let%%op d%d = %s" % (n, rng.choice(["c%d", "relu (c%d + 0.1)", 'c%d - 0.1 *. (c%d ++ "h, w, c => h, w, 0")', 'c%d /. sqrt ((c%d *. c%d) ++ "h, w, c => h, w, 0" + 0.5)']).replace("%d", str(n))))
    lines += ['let%%op s%d = (d%d *. d%d) ++ "... => 0"' % (n, n, n), "let%%cd g%d = grad_update s%d" % (n, n)]
    return lines, ["run g%d" % n, "print d%d" % n, "print a%d.grad" % n, "print b%d.grad" % n]


def program(rng):
    parts = [rng.choice([product, product, product, narrow, apart, orders, window, image, rows, turned, columns, few, channels, channels, points, points, volume, weights, weights])(rng, n) for n in range(4)]
    lines = [line for part in parts for line in part[0]]
    return "open Train\nopen Nn\n" + "\n".join(lines) + "\nlet%main () =\n  " + ";\n  ".join(step for part in parts for step in part[1]) + "\n"
