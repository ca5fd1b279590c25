"""Programs in which functions are applied to known sizes, and in exports to sizes that only the run knows beside others which they must
equal: what an operation needs of these is a condition for the run."""


def numbers(n):
    return "[" + "; ".join(f"{i + 1}." for i in range(n)) + "]"


def line(r, v, w, inner, arithmetic):
    """An operation on rows; `arithmetic`: windows and joins, too, whose sizes follow from others."""
    kinds = [f"{v} + {w}", f"{w} *. {v}", f"exp {v}", f"relu {w}", f"where ({v} > 0.) {w} {v}", f"{v} - {w}", f"{v} +* {w} \"i; i => i\"",
             f"({v} +* {w} \"i; j => i, j\") ++ \"i, j => {r.choice('ij')}\"", f"{v} ++ \"i => 0\"", f"{v} *. 2.", f"{v} + ({v} ++ \"i => 0\")",
             f"tanh {v}", f"sqrt {w}", f"{w} + {v}", f"{w} - {v}"]
    if r.random() < 0.1:
        kinds = [f"{v} + [1.; 2.; 3.]", f"outer + {v}"]
    if inner and r.random() < 0.4:
        kinds = [f"inner {v} {w}", f"inner {w} {v}"]
    if arithmetic and r.random() < 0.4:
        kinds = [f"({v}, {w}) ++^ \"a; b => a^b\" ++ \"a^b => {r.choice('ab')}\"", f"({v}, {w}) ++^ \"a; b => a^b\"",
                 f"{v} +* {w} \"o =+ q; q => o\"", f"{v} ++ \"2 * o + w => o, w\" ++ \"o, w => o\""]
    return r.choice(kinds)


def function(r, name, args, inner, arithmetic):
    values, text = list(args), f"let%op {name} {' '.join(args)} =\n"
    for k in range(r.randint(1, 5)):
        text += f"  let v{k} = {line(r, r.choice(values), r.choice(values), inner, arithmetic)} in\n"
        values.append(f"v{k}")
    return text + "  " + r.choice([values[-1], f"{values[-1]} + {r.choice(values)}", f"{r.choice(values)} *. {values[-1]}"]) + "\n"


def program(r, arithmetic):
    text = "let%op outer = " + r.choice(["2.", "2.", "2.", "[1.; 2.; 3.]"]) + "\n"
    inner = r.random() < 0.6
    if inner:
        text += function(r, "inner", ["a", "b"], False, arithmetic)
    args = ["x", "y", "z"][:r.choice([2, 2, 3])]
    text += function(r, "f", args, inner, arithmetic)
    for i in range(r.randint(1, 3)):
        text += f"let%op y{i} = f {' '.join([numbers(r.choice([3, 3, 4, 5]))] * len(args))}\n"
    for i in range(r.randint(1, 3)):
        names = [f"p{j}" for j in range(r.randint(1, len(args)))]
        given = names + [r.choice(names + [numbers(3), numbers(3), f"(relu {names[0]})"]) for _ in range(len(args) - len(names))]
        r.shuffle(given)
        text += f"let%export g{i} " + " ".join(f'({p} : "{r.choice(["?n", "?m", "?k", "3"])}")' for p in names) + f" = f {' '.join(given)}\n"
    return text
