"""Programs in which functions are applied to parameters whose rows are open, and something else waits for these: their initial values, and
other tensors over them. The functions make the rows longer."""


def line(r, values, k):
    v, w = r.choice(values), r.choice(values)
    return r.choice([
        f"{v} ++ \"i, j => j, i\"", f"{v} +* {w} \"i, j; j => i\"", f"{v} +* {w} \"i, j; j, k => i, k\"", f"{v} +* {w} \"... | ..., i; ... | i => ... | ...\"",
        f"{v} ++ \"... | ..., i => ... | i, ...\"", f"{v} ++ \"... | i, ... => ... | ...\"", f"{v} * {w}", f"{v} + {w}", f"{v} *. {w}", f"relu {v}",
        f"{v} + {w}", f"{v} ++ \"... | ...o... => ... | 0\"".replace("...o...", "..o.."), f"tanh {w}", f"{v} + {{ u{k} }}" if r.random() < 0.2 else f"exp {v}",
    ])


def program(r, over_two):
    args = ["x", "y", "z"][:r.choice([1, 2, 2, 3])]
    text, values = f"let%op f {' '.join(args)} =\n", list(args)
    for k in range(r.choice([1, 1, 2, 3])):
        text += f"  let v{k} = {line(r, values, k)} in\n"
        values.append(f"v{k}")
    text += f"  {values[-1]}\n"
    count = r.randint(2, 3)
    shared = r.random() < 0.3
    if shared:
        text += "let%op p = { p }\n"
    for i in range(count):
        own = [f"p{i}{a}" for a in range(len(args))]
        for name in own:
            text += f"let%op {name} = {{ {name} }}\n"
        given = [("p" if shared and r.random() < 0.3 else name) for name in own]
        for k in range(r.randint(0, 2)):
            a, b = r.choice(own), r.choice(own)
            text += f"let%op o{i}{k} = " + (r.choice([f"{a} + {b}", f"exp {a} *. tanh {b}"]) if over_two else r.choice([f"exp {a}", f"{a} + [1.; 2.]", f"relu (tanh {a})"])) + "\n"
        text += f"let%op r{i} = f {' '.join(given)}\n"
    known = r.choice(["[[1.; 2.]; [3.; 4.]]", "[[1.; 2.]; [3.; 4.]]", "[1.; 2.]"])           # in the end all sizes are
    for i in range(count):
        if r.random() < 0.3:
            text += f"let%op s{i} = r{i} + {r.choice(['[1.; 2.]', '[[1.; 2.]; [3.; 4.]]'])}\n"
        for a in range(len(args)):
            text += f"let%op k{i}{a} = p{i}{a} +* {known} \"... | ..o..; ... | ..o.. => ... | 0\"\n"
    return text + (f"let%op k = p +* {known} \"... | ..o..; ... | ..o.. => ... | 0\"\n" if shared else "")
