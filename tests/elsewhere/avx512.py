"""AVX-512 and AMX on any processor with AVX2: LLVM takes the vectors apart, and the few instructions that the code names are functions in C
(instructions.c).  What this says is whether tsrc's own part is right, its tiles, masks, tails, tables and turns, not LLVM's choice of instructions."""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
INSTRUCTIONS = os.path.join(HERE, "instructions.c")
LEVEL = "x86-64-v3"
THREADS = (1, 2, 3, 7)
NAMED = re.compile(r"^declare (?P<type>.+?) @(?P<name>llvm\.x86\.(?:avx512|ldtile|t)[\w.]*)\((?P<given>.*)\)[^()]*$", re.M)
CALLED = re.compile(r"@(llvm\.x86\.(?:avx512|ldtile|t)[\w.]*)")


def stand_in(result, name, given):
    """A function that calls the C one of this name, with the addresses of what are vectors."""
    body, passed = [], []
    if result != "void":
        body.append(f"  %r = alloca {result}")
        passed.append("ptr %r")
    for i, kind in enumerate(given):
        if kind.startswith("<"):
            body += [f"  %p{i} = alloca {kind}", f"  store {kind} %a{i}, ptr %p{i}"]
        passed.append(f"ptr %p{i}" if kind.startswith("<") else f"{kind} %a{i}")
    body.append(f"  call void @{name}({', '.join(passed)})")
    body += [f"  %s = load {result}, ptr %r", f"  ret {result} %s"] if result != "void" else ["  ret void"]
    head = f"define internal {result} @by.{name}({', '.join(f'{kind} %a{i}' for i, kind in enumerate(given))}) noinline {{"
    return "\n".join([f"declare void @{name}({', '.join(p.split()[0] for p in passed)})", head, *body, "}\n"])


def taken_apart(text):
    """The module for a machine with AVX2, and the instructions that it names."""
    kinds = lambda given: re.findall(r"(<[^>]*>|\w+)(?: immarg)?(?:, |$)", given)
    said = {m["name"].replace(".", "_"): (m["type"], kinds(m["given"])) for m in NAMED.finditer(text)}
    text = NAMED.sub("", re.sub(r' ?"target-(cpu|features)"="[^"]*"', "", text))
    text = CALLED.sub(lambda m: "@by." + m[1].replace(".", "_"), text)
    return "\n".join([text, *(stand_in(result, name, given) for name, (result, given) in said.items())]), said.keys()


class Machine:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        with open(INSTRUCTIONS) as f:
            self.unnamed = set(re.findall(r"^void (llvm_\w+)", f.read(), re.M))
        subprocess.run(["cc", "-std=c11", "-O1", "-frounding-math", "-march=" + LEVEL, "-Wall", "-Wextra", "-Werror", "-c", INSTRUCTIONS,
                        "-o", os.path.join(folder, "instructions.o")], check=True)

    def runs(self, text):
        return re.search(r"\+\*|\bexp\b|\bsin\b", text)

    def ways(self, rng, text):
        """Of products of bf16 by the matrix unit and by pairs."""
        if rng:
            return [("-O3", "--cpu=" + rng.choice(["x86-64-v4", "sapphirerapids", "znver5"]), "--threads=all")]
        return [("-O2", "--cpu=" + name, "--threads=all") for name in ("sapphirerapids", "znver5")[:2 if "bf16" in text else 1]]

    def run(self, path, *options):
        """To the same bits by one thread as by seven."""
        text, thing, program = (os.path.join(self.folder, name) for name in ("program.ll", "program.o", "program"))
        for command in ([os.path.join(self.build, "tsrc"), "--emit=llvm", *options, path, "-o", text],
                        ["llc-19", "-O1", "-mcpu=" + LEVEL, "-relocation-model=pic", "-filetype=obj", text, "-o", thing],
                        ["cc", thing, os.path.join(self.folder, "instructions.o"), os.path.join(self.build, "libtessera.a"),
                         "-l:libminizip.a", "-l:libz.a", "-lm", "-o", program]):
            p = subprocess.run(command, capture_output=True, text=True)
            if p.returncode:
                return p.returncode, p.stdout, "%s: %s" % (os.path.basename(command[0]), p.stderr[:800])
            if "--emit=llvm" in command:
                with open(text, "r+") as f:
                    module, named = taken_apart(f.read())
                    f.seek(0)
                    f.write(module)
                    f.truncate()
                self.unnamed -= named
        by = [subprocess.run([program], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(n)}) for n in THREADS]
        for n, p in zip(THREADS, by):
            if (p.returncode, p.stdout) != (by[0].returncode, by[0].stdout):
                return 1, p.stdout, "other bits with %d threads: exit status %d %s" % (n, p.returncode, p.stderr[:800])
        return by[0].returncode, by[0].stdout, by[0].stderr[:800]

    def missed(self):
        return ["no program names " + name for name in sorted(self.unnamed)]
