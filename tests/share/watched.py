"""Programs in which functions are applied to parameters whose rows are open, and something else waits for these: their initial values, and
other tensors over them, some of which are arguments, too. The functions make the rows longer, at either end, some of them twice, and are in
part applied in another function, whose own tensors wait. Where axes come to stand in what is over two of these rows depends on what is
visited first."""

GROWN = ["... | i, ... => ... | ...", "... | ..., i => ... | ...", "... | i, ..., j => ... | i, ..., j", "... | i, ... => ... | ..., i", "i, j => j, i", "i => i"]


def body(r, args, applied):
    """One line for each argument, which makes it longer; then what it has made in one."""
    text, made = "", []
    for k, a in enumerate(r.sample(args, len(args)) + ([r.choice(args)] if r.random() < 0.3 else [])):
        v = r.choice([a, a, a, *made])
        lines = [f'{v} ++ "{r.choice(GROWN)}"'] * 4 + [f"{v} * {r.choice(args)}", f"relu {v}", f"{v} + {r.choice(args)}"]
        if applied:
            lines += [f"{applied} {' '.join(r.choice(args + made) for _ in args)}"] * 6
        text += f"  let v{k} = {r.choice(lines)} in\n"
        made.append(f"v{k}")
    return text + "  " + " + ".join(r.sample(made, min(2, len(made)))) + "\n"


def outside(r, values):
    """What waits: mostly over two of the values."""
    a, b = r.choice(values), r.choice(values)
    return r.choice([f"{a} + {b}"] * 4 + [f"exp {a} *. tanh {b}", f"relu {a}", f"{a} + [1.; 2.]", f'{a} ++ "... | ... => ... | ..."'])


def program(r):
    """Every application has the same around it. Sizes are known in the end, of some parameters or of what is over them."""
    args = ["x", "y", "z"][:r.choice([1, 2, 2, 2, 3])]
    text, applied = f"let%op f {' '.join(args)} =\n" + body(r, args, None), "f"
    if r.random() < 0.3:
        text, applied = text + f"let%op g {' '.join(args)} =\n" + body(r, args, "f"), "g"
    own = [f"p{a}_" for a in range(len(args))]
    values, around, ends = list(own), [(name, f"{{ {name} }}") for name in own], []
    for k in range(r.randint(1, 3)):
        around.append((f"o{k}_", outside(r, values)))
        values.append(f"o{k}_")
    around.append(("r_", " ".join([applied] + [r.choice(values) if r.random() < 0.15 else name for name in own])))
    for k, v in enumerate(r.sample(values + ["r_"], r.randint(1, 3))):
        ends.append((f"s{k}_", f"{v} + {r.choice(['[[1.; 2.; 3.]; [4.; 5.; 6.]]', '[[1.; 2.]; [3.; 4.]]', '[1.; 2.]'])}"))
    for lines in (around, ends):
        for i in range(3):
            text += "".join(f"let%op {name} = {v}\n" for name, v in lines).replace("_", str(i))
    return text
