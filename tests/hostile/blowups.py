"""Programs made to blow up: what is nested, shared, doubled or repeated until nothing holds it.  Each ends within a bound of
memory and time: with a message of the code given here, or, where OK stands, as the valid program that it is.

    blowups(tsrc, sanitized)   pairs of a name and what is wrong with the compiler's answer, or None"""
import concurrent.futures, os, re, resource, subprocess, tempfile

OK = None
MEMORY = 3 << 30                    # bytes of address space; the sanitizers need theirs
SECONDS = 100                       # alone on a machine the slowest takes a tenth of it
DEEP = 100_000
X = "let%op x = [1.; 2.]\n"


def nest(before, inside, after, n=DEEP):
    return before * n + inside + after * n + "\n"


def doubling(first, step, n):
    """x0 = first, and n definitions in which each x is made of the one before twice."""
    return first + "".join(step.replace("NEW", f"x{i + 1}").replace("OLD", f"x{i}") + "\n" for i in range(n))


def many(line, n):
    return "".join(line.replace("NEXT", str((i + 1) % n)).replace("K", str(i)) + "\n" for i in range(n))


def listed(what, n, between=";"):
    return between.join(what.replace("K", str(i)) for i in range(n))


NESTED = [
    ("parentheses", "let n = " + nest("(", "1", ")"), "E0106"),
    ("parentheses that are not closed", "let n = " + "(" * DEEP, "E0106"),
    ("parentheses that were never opened", "let n = " + ")" * DEEP, "E0102"),
    ("lists", "let%op n = " + nest("[", "1", "]"), "E0106"),
    ("arrays", "let%op n = " + nest("[|", "1", "|]"), "E0106"),
    ("lists as deep as the grammar goes", "let%op n = " + nest("[", "1", "]", 900), "E0310"),
    ("comments", nest("(*", "", "*)") + "let n = 1\n", OK),
    ("comments that are not closed", "(*" * DEEP, "E0103"),
    ("signs", "let n = " + "- " * DEEP + "1\n", "E0106"),
    ("`!`", "let n = " + "!" * DEEP + "x\n", "E0106"),
    ("sums", "let n = 1" + " + 1" * DEEP + "\n", "E0106"),
    ("powers", "let n = 1" + " ** 1" * DEEP + "\n", "E0106"),
    ("`::`", "let n = 1" + " :: 1" * DEEP + "\n", "E0106"),
    ("fields", "let n = x" + ".value" * DEEP + "\n", "E0106"),
    ("`else if`", "let n = " + "if true then 1 else " * DEEP + "1\n", "E0106"),
    ("`let .. in`", "let n = " + "let x = 1 in " * DEEP + "x\n", "E0106"),
    ("functions", "let n = " + "fun x -> " * DEEP + "x\n", "E0106"),
    ("cases", "let n = " + "match 1 with _ -> " * DEEP + "1\n", "E0106"),
    ("`begin`", "let n = " + nest("begin ", "1", " end"), "E0106"),
    ("loops", "let%main () = " + nest("for i = 1 to 2 do ", 'print "x"', " done"), "E0106"),
    ("patterns", "let f " + nest("(", "x", ")").rstrip() + " = x\n", "E0106"),
    ("parentheses in a spec", X + 'let%op y = x ++ "' + "(" * DEEP + ' => "\n', "E0110"),
    ("arguments", "let f x = x\nlet n = f" + " 1" * DEEP + "\n", "E0302"),
]

LONG = [
    ("a spec of 10,000 letters", X + 'let%op y = x ++ "' + "a" * 10000 + ' => a"\n', "E0403"),
    ("a spec of 10,000 names", X + 'let%op y = x ++ "' + listed("aK", 10000, ",") + ' => "\n', "E0403"),
    ("a spec of 10,000 operands", X + 'let%op y = x ++ "' + listed("a", 10000) + ' => "\n', "E0110"),
    ("a spec of 10,000 ellipses", X + 'let%op y = x ++ "' + "..." * 10000 + ' => "\n', "E0110"),
    ("an einsum of 5,000 operands", X + "let%op y = (" + listed("x", 5000, ",") + ') +* "' + listed("i", 5000) + ' => i"\n', OK),
    ("a concatenation of one axis 5,000 times", X + 'let%op y = x ++ "a => ' + listed("a", 5000, "^") + '"\n', "E0506"),
    ("a concatenation of 5,000 components", X + 'let%op y = x ++ "' + listed("aK", 5000, "^") + ' => a1"\n', OK),
    ("8 axes of 4 components each", "let%op x = { x = 0.; o = [4; 4; 4; 4; 4; 4; 4; 4] }\n"
        'let%op y = x ++ "a^b^c^d, e^f^g^h, i^j^k^l, m^n^o^p, q^r^s^t, u^v^w^z, A^B^C^D, E^F^G^H =>"'
        " [a; b; c; d; e; f; g; h; i; j; k; l; m; n; o; p; q; r; s; t; u; v; w; z; A; B; C; D; E; F; G; H]\n", "E0"),
    ("20,000 labels captured", X + 'let%op y = x ++ "i => i" [' + listed("i", 20000) + "]\n", OK),
    ("a number of 100,000 digits", "let n = " + "9" * DEEP + "\n", "E0101"),
    ("a float of 100,000 digits", "let n = " + "9" * DEEP + ".5\n", "E0101"),
    ("a large exponent", "let n = 1e999999999\n", "E0101"),
    ("a name of a million letters", "let " + "a" * 1000000 + " = 1\nlet n = " + "a" * 1000000 + ' + "x"\n', "E0301"),
    ("a string of five million letters", 'let n = "' + "a" * 5000000 + '" + 1\n', "E0301"),
    ("three million lines", "\n" * 3000000 + "let n = )\n", "E0102"),
    ("no text", "\0" * 1000000, "E0101"),
    ("no UTF-8", "\xff" * 1000000, "E0101"),
    ("50,000 mistakes", many('let nK = 1 + "x"', 50000), "E0301"),
    ("10,000 strings in a string", 'let%main () = print "' + "{1 + \\\"}\\\"}" * 10000 + '"\n', "E0"),
    ("a width of ten digits", 'let%main () = print "{1.:2000000000.2}"\n', "E0606"),
]

RANKS = [
    ("50,000 row variables", "let%op x = { x }\n" + many('let%op yK = x ++ "..rK.. => ..rK.."', 50000), "E0407"),
    ("a row that is itself and one axis", 'let%op w = { w }\nlet%op y = w +* w "..r..; ..r.., 1 => "\n', "E0406"),
    ("through two operations", 'let%op a = { a }\nlet%op b = { b }\nlet%op c = a +* b "..r..; ..r.., i => "\n'
        'let%op d = b +* a "..r..; ..r.., i => "\n', "E0406"),
    ("through three operations", many("let%op aK = { aK }", 3) + many('let%op zK = aK +* aNEXT "..r..; ..r.., i => "', 3), "E0406"),
    ("through 500 operations", many("let%op aK = { aK }", 500) + many('let%op zK = aK +* aNEXT "..r..; ..r.., i => "', 500), "E04"),
    ("through a function and itself", 'let%op f x = x ++ "..r.. => ..r.., 0"\nlet%op a = { a }\nlet%cd s = a =: f (f (f a))\n'
        "let%main () = run s\n", "E0406"),
    ("through an assignment", 'let%op a = { a }\nlet%cd s = a =: a ~logic:"... => ..., 0"\nlet%main () = run s\n', "E0406"),
    ("through recursion", 'let%op rec f n x = if n = 0 then x else f (n - 1) (x +* x "..r..; ..r.., i => ..r..")\n'
        "let%op a = { a }\nlet%op b = f 3 a\n", "E0406"),
    ("an axis more each time, without end", X + 'let%op rec f x = f (x ++ "..r.. => ..r.., 0")\nlet%op y = f x\n', "E0412"),
    ("an axis more each time, 100 times", X + 'let%op rec f n x = if n = 0 then x else f (n - 1) (x ++ "..r.. => ..r.., 0")\n'
        "let%op y = f 100 x\n", "E0412"),
    ("rotations in a circle of 200", many("let%op aK = { aK }", 200) + many('let%op zK = aK +* aNEXT "i, ..r..; ..r.., i => "', 200), "E0407"),
    ("stacks of stacks", doubling("let%op x0 = [1.]\n", "let%op NEW = [OLD; OLD]", 60), "E0412"),
    ("outer products of outer products", X + 'let%op x0 = x\n' + doubling("", 'let%op NEW = OLD +* x "...; i => ..., i"', 70), "E0412"),
    ("96 loops", "let%op a = { a = 0.; o = [" + listed("2", 32) + '] }\nlet%op y = (a, a, a) +* "..r..; ..s..; ..t.. => "\n', "E0"),
]

CONFIGURATION = [
    ("fib 60", "let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\nlet n = fib 60\n", "E0305"),
    ("fib 60 of tensors", X + "let%op rec fib n = if n < 2 then x else fib (n - 1) + fib (n - 2)\nlet%op n = fib 60\n", "E0305"),
    ("blocks that double", "let%op rec net n () = if n = 0 then (fun x -> { w; o = [2] } * x) else\n"
        "  let a = net (n - 1) () in let b = net (n - 1) () in fun x -> a (b x)\nlet%op y = net 40 () [1.; 2.]\n", "E0305"),
    ("recursion without end", "let rec f n = f (n + 1)\nlet n = f 0\n", "E0304"),
    ("recursion without end that adds up", "let rec f n = 1 + f (n + 1)\nlet n = f 0\n", "E0304"),
    ("recursion without end of tensors", X + "let%op rec f x = f (x + 1.)\nlet%op y = f x\n", "E0304"),
    ("a clash under 4,000 applications, each inside of another",
        X + "let%op rec f n x = if n = 0 then x + [1.; 2.; 3.] else f (n - 1) (x + 1.)\nlet%op y = f 4000 x\n", "E0401"),
    ("recursion without end of blocks", "let%op rec f () = let g = f () in fun x -> g x\nlet%op y = f () [1.]\n", "E0304"),
    ("a function of itself", "let f x = x x\nlet n = f f\n", "E0304"),
    ("a list that grows in front", "let rec f l = f (1 :: l)\nlet n = f []\n", "E030"),
    ("a list that grows in front, without recursion", "let n = List.fold_left (fun l i -> i :: l) [] (range 1000000)\n", "E0305"),
    ("a list that doubles", "let rec f l = f (l @ l)\nlet n = f [1]\n", "E0305"),
    ("a list of itself", "let rec f n = n :: f (n + 1)\nlet n = f 0\n", "E0304"),
    ("a million lists of a million", "let n = List.map (fun i -> range 1000000) (range 1000000)\n", "E0305"),
    ("a list of a hundred million", "let n = range 100000000\n", "E0302"),
    ("a string that doubles", 'let rec f s = f (s ^ s)\nlet n = f "a"\n', "E0305"),
    ("a string doubled 60 times", doubling('let x0 = "ab"\n', "let NEW = OLD ^ OLD", 60), "E0305"),
    ("a list doubled 60 times", doubling("let x0 = [1]\n", "let NEW = OLD @ OLD", 60), "E0305"),
    ("pairs of pairs", doubling("let x0 = 1\n", "let NEW = (OLD, OLD)", 60), OK),
    ("pairs of pairs, compared", doubling("let x0 = 1\n", "let NEW = (OLD, OLD)", 60) + "let n = x60 = x60\n", "E0305"),
    ("pairs of pairs, shown", doubling("let x0 = (1, 1)\n", "let NEW = (OLD, OLD)", 40) + "let n = failwith (string_of_int x40)\n", "E0307"),
    ("functions twice, 40 times", doubling("let x0 = fun i -> i + 1\n", "let NEW = fun i -> OLD (OLD i)", 40) + "let n = x40 1\n", "E0305"),
    ("code twice, 40 times", "let%op a = { w = 0.; o = [2] }\n" + X + doubling("let%cd x0 = a =+ x\n", "let%cd NEW = OLD; OLD", 40)
        + "let%main () = run x40\n", "E0305"),
    ("a million assignments", "let%op a = { w = 0.; o = [2] }\n" + X + "let%cd s = for i in range 1000000 do a =+ x done\n", "E0305"),
    ("sums of sums, shared", doubling("let%op x0 = [1.]\n", "let%op NEW = OLD + OLD", 60), OK),
]

SIZES = [
    ("a tensor doubled 60 times", doubling("let%op x0 = [1.; 2.]\n", 'let%op NEW = (OLD, OLD) ++^ "i; j => i^j"', 60), "E0412"),
    ("a negative size", "let%op x = { w = 0.; o = [-3] }\n", "E0302"),
    ("no size", "let%op x = { w = 0.; o = [0] }\n", "E0302"),
]
for power in (31, 32, 40, 61, 62, 63):
    n = min(2 ** power, 2 ** 63 - 1)
    SIZES += [
        (f"an axis of 2^{power}, squared", f"let%op x = {{ w = 0.; o = [{n}; {n}] }}\n", "E0412"),
        (f"an axis of 2^{power}, in a product", f"let%op x = {{ w = 0.; o = [{n}] }}\n" 'let%op y = x +* x "i; j => ij"\n', "E0412"),
        (f"an axis of 2^{power}, set", "let%op x = { w = 0. }\n" 'let%op y = let r = x ++ "i, j => i, j" [i; j] in '
            f"set_dim i {n}; set_dim j {n}; r\n", "E0412"),
        (f"an axis of 2^{power}, 8 in a row", f"let%op x = {{ w = 0.; o = [{n}] }}\nlet%op y = "
            '(x, x) ++^ "i; j => i^j"\nlet%op z = (y, y) ++^ "i; j => i^j"\nlet%op u = (z, z) ++^ "i; j => i^j"\n', OK if power < 41 else "E0412"),
        (f"a stride of 2^{power}", X + f'let%op y = x ++ "i => {n}*i"\n', "E0110"),
        (f"a dilation of 2^{power}", X + f'let%op y = x +* x "i; k => {n}*i<+{n}*k"\n', "E0110"),
        (f"an offset of 2^{power}", X + f'let%op y = x ++ "i => i + {n}"\n', "E0110"),
        (f"position 2^{power}", X + f'let%op y = x ++ "i => i, {n}"\n', "E0110"),
        (f"2^{power} skipped", X + f'let%op y = x ++^ "i => {n}^i^{n}"\n', "E0110"),
        (f"2^{power} as a coefficient by name", X + f'let stride = {n}\nlet%op y = x ++ "i => stride*i"\n', "E0110"),
        (f"2^{power} squared", f"let a = {n}\nlet b = a * a * a\n", "E0306"),
    ]

PROGRAMS = NESTED + LONG + RANKS + CONFIGURATION + SIZES


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judge(tsrc, path, want, sanitized):
    env = dict(os.environ, ASAN_OPTIONS="exitcode=99", LSAN_OPTIONS="exitcode=99")
    try:
        p = subprocess.run([tsrc, "check", os.path.basename(path)], cwd=os.path.dirname(path), env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS * (4 if sanitized else 1),
                           preexec_fn=None if sanitized else limited)
    except subprocess.TimeoutExpired:
        return "took too long"
    said = p.stderr.decode(errors="replace")
    codes = re.findall(r"error\[(E\d+)\]: \S", said)
    if p.returncode != (1 if want else 0) or (want and not any(c.startswith(want) for c in codes)):
        return f"exit status {p.returncode}, {want or 'success'} was expected\n{said[:600]}"
    longest = max(map(len, said.split("\n")), default=0)
    return f"a line of {longest} characters in the message" if longest > 2000 else None


def modules(folder):
    """A chain of 5,000 modules, each of which opens the next; the path of the first."""
    os.mkdir(folder)
    for i in range(5000):
        with open(os.path.join(folder, f"m{i}.tsr"), "w") as f:
            f.write((f"open M{i + 1}\n" if i < 4999 else "") + f"let y{i} = 1\n")
    return os.path.join(folder, "m0.tsr")


def blowups(tsrc, sanitized):
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for i, (name, text, want) in enumerate(PROGRAMS):
            path = os.path.join(folder, f"p{i}.tsr")
            with open(path, "wb") as f:
                f.write(text.encode("latin-1"))
            cases.append((name, path, want))
        cases.append(("a chain of modules", modules(os.path.join(folder, "chain")), OK))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda c: (c[0], judge(tsrc, c[1], c[2], sanitized)), cases)
            return list(found)
