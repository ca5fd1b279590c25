"""What `make install` lays down is complete: the installed compiler compiles with the installed archive and library,
away from the source tree, and a C program builds against the header and what pkg-config says."""
import os, re, subprocess, sys, tempfile

USER = """#include <tsr.h>
#include <stdio.h>
int main(void) { printf("%d\\n", tsr_version() > 0); return 0; }
"""


def output(*command, cwd=None):
    try:
        p = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as why:
        return f"{why}\n"
    return p.stdout if p.returncode == 0 else f"{' '.join(command)}\nexit status {p.returncode}\n{p.stdout}"


def flags(prefix):
    with open(f"{prefix}/lib/pkgconfig/tessera.pc") as f:
        text = f.read()
    variables = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
    fields = " ".join(re.findall(r"^(?:Cflags|Libs): (.*)$", text, re.M)[::-1])
    while "${" in fields:
        fields = re.sub(r"\$\{(\w+)\}", lambda m: variables[m[1]], fields)
    return fields.split()


def main(build):
    results = []
    with tempfile.TemporaryDirectory() as prefix:
        installed = output("make", "-s", "install", f"PREFIX={prefix}", f"BUILD={build}")
        for name in ("bin/tsrc", "lib/libtessera.a", "include/tsr.h", "share/tessera/stdlib/ops.tsr", "lib/pkgconfig/tessera.pc"):
            results.append((os.path.exists(f"{prefix}/{name}"), f"{name} is not installed\n{installed}"))
        with open("examples/hello.tsr") as f, open(f"{prefix}/hello.tsr", "w") as g:
            g.write(f.read())
        text = output(f"{prefix}/bin/tsrc", "hello.tsr", "-o", "hello", cwd=prefix) + output("./hello", cwd=prefix)
        results.append((text == "y : 2  [0. 7.5]\n", text))
        with open(f"{prefix}/user.c", "w") as f:
            f.write(USER)
        text = output("cc", "user.c", "-o", "user", *flags(prefix), cwd=prefix) + output("./user", cwd=prefix)
        results.append((text == "1\n", text))
    for holds, text in results:
        if not holds:
            print(text)
    failed = sum(not holds for holds, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
