#!/usr/bin/env python3
"""Passes run alone from text: `tsrc passes --passes=A,B NAME.loop` against NAME.after.

The first line of each cases/NAME.loop is `# passes: A,B`, for AVX-512, or `# passes: A,B for TARGET`.  With ACCEPT=1 in the environment the expected results are rewritten.
That results mean the same as what went in is tested by unit/passes and unit/contract; here it is seen what the passes do,
and when they rightly do nothing."""
import glob, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    tsrc = os.path.join(sys.argv[1], "tsrc")
    passed = failed = 0
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.loop"))):
        with open(path) as f:
            passes, cpu = re.match(r"# passes: (\S+)(?: for (\S+))?", f.readline()).groups()
        run = subprocess.run([tsrc, "passes", "--cpu=" + (cpu or "avx512"), "--passes=" + passes, path], capture_output=True, text=True)
        after = path[:-5] + ".after"
        got = run.stdout if run.returncode == 0 else run.stderr
        if os.environ.get("ACCEPT"):
            with open(after, "w") as f:
                f.write(got)
        want = open(after).read() if os.path.exists(after) else ""
        if run.returncode == 0 and got == want:
            passed += 1
        else:
            failed += 1
            print(f"{os.path.basename(path)}: {'exit status %d' % run.returncode if run.returncode else 'another result'}\n{got}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
