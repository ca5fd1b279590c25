"""The same elements in other shapes: joint axes `(a, b)`, reshape, flatten, and the bits of words."""
import numpy as np

from groups import Case, draw_array, literal


def joined_up(rng, letters):
    """The letters, in a random order, as axes of one to three letters each."""
    letters, axes = rng.sample(letters, len(letters)), []
    while letters:
        n = min(len(letters), rng.choice((1, 1, 2, 3)))
        axes.append(letters[:n])
        letters = letters[n:]
    return axes


def joint(rng, number):
    """One operand of joint axes, its letters in another order and grouping in the result; what the result leaves out is summed."""
    sizes = {c: rng.randint(1, 4) for c in "abcdef"[:rng.randint(2, 5)]}
    given, kept = joined_up(rng, list(sizes)), rng.sample(list(sizes), rng.randint(1, len(sizes)))
    result = joined_up(rng, kept)
    flat = sum(given, [])
    array = draw_array(rng, [int(np.prod([sizes[c] for c in axis])) for axis in given])
    text = lambda axes: ", ".join("(%s)" % ", ".join(a) if len(a) > 1 else a[0] for a in axes)
    order = sum(result, [])
    value = np.einsum(array.reshape([sizes[c] for c in flat]), [ord(c) - 97 for c in flat], [ord(c) - 97 for c in order])
    value = value.reshape([int(np.prod([sizes[c] for c in axis])) for axis in result])
    weights = draw_array(rng, value.shape)
    back = weights.reshape([sizes[c] for c in order] + [1] * (len(flat) - len(order)))
    back = back.transpose([(order + [c for c in flat if c not in order]).index(c) for c in flat])
    gradient = np.broadcast_to(back, [sizes[c] for c in flat]).reshape(array.shape)
    spec = "%s => %s, " % (text(given), text(result))
    # every letter but the first of a joint axis needs a size from somewhere
    captured = [c for axis in given for c in axis[1:]]
    build = lambda r, x: ["let%%op %s =" % r, '  let y = %s ++ "%s"%s in' % (x[0], spec, " [%s]" % "; ".join(captured) if captured else "")] + [
        "  set_dim %s %d;" % (c, sizes[c]) for c in captured] + ["  y"]
    return Case(number, "++ " + spec, build, [array], value, [gradient], weights)


def factors(rng, n):
    """Sizes that make n, in a random order, ones among them."""
    out = []
    while n > 1:
        d = rng.choice([k for k in range(2, n + 1) if n % k == 0])
        out.append(d)
        n //= d
    out += [1] * rng.choice((0, 0, 1))
    rng.shuffle(out)
    return out or [1]


def split_kinds(rng, sizes):
    """The axes in memory order as b, o and i."""
    cut = sorted(rng.randint(0, len(sizes)) for _ in range(2))
    return sizes[:cut[0]], sizes[cut[0]:cut[1]], sizes[cut[1]:]


def reshaped(rng, number):
    """reshape to an annotated shape of any kinds, from any kinds; two in a row; or to the shape of what it is added to."""
    n = rng.choice((1, 6, 8, 12, 24, 30))
    given, to = factors(rng, n), factors(rng, n)
    array = draw_array(rng, given)
    weights = draw_array(rng, to)
    b, o, i = split_kinds(rng, given)
    letters = dict(zip(range(len(given)), "abcdefgh"))
    names = lambda lo, hi: ", ".join(letters[k] for k in range(lo, hi))
    spec = "%s, => %s | %s -> %s" % (names(0, len(given)), names(0, len(b)), names(len(b) + len(o), len(given)), names(len(b), len(b) + len(o)))
    kinds = split_kinds(rng, to)
    shape = "%s | %s -> %s" % tuple(", ".join(map(str, k)) for k in (kinds[0], kinds[2], kinds[1]))
    way = rng.choice(("annotated", "added", "twice"))
    built = {"annotated": '(reshape t%d : "%s")' % (number, shape), "twice": '(reshape (reshape t%d) : "%s")' % (number, shape),
             "added": "reshape t%d + %s" % (number, literal(np.zeros(to)))}[way]
    build = lambda r, x: ['let%%op t%d = %s ++ "%s"' % (number, x[0], spec), "let%%op %s = %s" % (r, built)]
    letters_of = "".join(k * len(s) for k, s in zip("boi", kinds)) if way != "added" else "o" * len(to)
    return Case(number, "%s of %s" % (built, given), build, [array], array.reshape(to), [weights.reshape(given)], weights, letters_of)


def flattened(rng, number):
    batch = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
    out = [rng.randint(1, 4) for _ in range(rng.randint(0 if batch else 1, 3))]
    array = draw_array(rng, batch + out)
    shape = batch + [int(np.prod(out, dtype=int))]
    weights = draw_array(rng, shape)
    names = "abcdefg"[:len(batch) + len(out)]
    spec = "%s, => %s | %s" % (", ".join(names), ", ".join(names[:len(batch)]), ", ".join(names[len(batch):]))
    build = lambda r, x: ["let%%op %s = flatten (%s)" % (r, '%s ++ "%s"' % (x[0], spec) if names else x[0])]
    return Case(number, "flatten %s | %s" % (batch, out), build, [array], array.reshape(shape), [weights.reshape(array.shape)], weights,
                "b" * len(batch) + "o")


class Unpacked:
    """The bits of words, in every precision."""

    tolerance = 0

    def __init__(self, rng, number):
        count = 2 * rng.randint(1, 4)
        words = np.array([rng.choice((0, 1, 2**31, 2**32 - 1, rng.randrange(2**32), rng.randrange(2**32))) for _ in range(count)], dtype=np.uint32)
        n, halves, pairs = number, words.view(np.uint16).astype(float), words.view(np.uint64)
        wide = [int(w) for w in pairs]
        bytes_ = words.view(np.uint8).astype(float)
        want = {
            "bool": np.unpackbits(words.view(np.uint8), bitorder="little").astype(float), "u8": bytes_, "i8": words.view(np.int8).astype(float),
            "i16": words.view(np.int16).astype(float), "i32": words.view(np.int32).astype(float), "u32": words.astype(float), "f8": np.floor(bytes_ / 32) / 8, "bf16": bytes_ / 256,
            "f16": np.floor(halves / 32) / 2048, "f32": np.floor(words / 256.0) / 2**24,
            "f64": np.array([((w >> 37) * 2**26 + ((w & (2**32 - 1)) >> 6)) / 2**53 for w in wide]),
            "i64": np.array([w - 2**64 if w >= 2**63 else w for w in wide], dtype=float),
        }
        shape = [2, count // 2]
        self.text = "unpack %s" % words.tolist()
        self.lines = ["let%%op w%d = ([%s] : u32)" % (n, "; ".join("[%s]" % "; ".join(map(str, r)) for r in words.reshape(shape).tolist()))]
        self.main, self.expected = [], {}
        for prec, value in want.items():
            self.lines.append('let%%op %s_%d = unpack w%d ~prec:"%s"' % (prec, n, n, prec))
            self.main.append("print %s_%d" % (prec, n))
            self.expected["%s_%d" % (prec, n)] = value
        self.tolerance = 1e-6                           # printed with the digits of the precision
        # the other way round: the result's shape gives the number of words
        self.lines.append('let%%op s%d = (unpack (random_bits ()) ~prec:"u8" : "%d | 2 -> 2")' % (n, count))
        self.main.append("print s%d" % n)
        self.expected["s%d" % n] = lambda got: np.array(got["s%d" % n]) if len(got["s%d" % n]) == 4 * count else np.zeros(0)


X = "let%op x = [[1.; 2.; 3.]; [4.; 5.; 6.]]\n"
PRINT = "\nlet%main () = print y\n"
WRONG = [
    (X + 'let%op y = (reshape x : "2, 2")' + PRINT, ["E0408", "2 * 2 = 4", "6"]),
    (X + "let%op y = reshape x + [[0.; 0.; 0.; 0.]; [0.; 0.; 0.; 0.]]" + PRINT, ["E0408", "2 * 4 = 8", "6"]),
    (X + 'let%op y =\n  let z = x ++ "a, (b, c) => a, b, c" [c] in\n  set_dim c 2;\n  z' + PRINT, ["E0408", "2", "3"]),
    (X + 'let%op y = x ++ "a, b => (..r.., b)"' + PRINT, ["E0110", "..r.."]),
    (X + 'let%op y = x + ([1.] : "(a, b)")' + PRINT, ["E0110", "as one"]),
    ('let%op w = ([1; 2; 3] : u32)\nlet%op y = unpack w ~prec:"f64"' + PRINT, ["E0408", "3"]),
    ('let%op w = ([1; 2; 3] : u32)\nlet%op y = unpack w ~prec:"u16"' + PRINT, ["E0307", "u16"]),
    ('let%op w = ([1; 2; 3] : u32)\nlet%op y = (unpack w ~prec:"u8" : "5")' + PRINT, ["E0408", "12", "5"]),
]

GROUPS = {"joint": (joint, 60, WRONG), "reshaped": (reshaped, 60, []), "flattened": (flattened, 20, []), "unpacked": (Unpacked, 6, [])}
