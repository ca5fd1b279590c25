#!/usr/bin/env python3
"""Products of many operands: the operations that the compiler plans against the paths of opt_einsum, and the numbers against NumPy.

networks.json holds random expressions with what opt_einsum's `optimal` (3 to 10 operands) and `greedy` (11 to 24) paths cost, as
record.py found them.  Both sides count alike: one operation for each multiplication and one for each addition, so a sum of products
of two over n points costs 2 n, and a product without a sum n.  Ours is what --dump=schedule prints for the kernels of the result's unit, whatever the
passes made of them; it may never be more.  Where opt_einsum is there (make peers), the recorded costs are computed again for all but
the slowest.

    check.py BUILD [--keep DIR]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "tools"))
import printed  # noqa: E402

PER_PROGRAM = 65
AGAIN = 7                            # operands up to which `optimal` is fast


class Network:
    def __init__(self, row, number):
        self.name = "r%d" % number
        self.operands, self.result, self.sizes = row["operands"], row["result"], row["sizes"]
        self.path = "optimal" if "optimal" in row else "greedy"
        self.cost = row[self.path]
        rng = np.random.default_rng(number)
        uses = {c: sum(c in axes for axes in self.operands) for c in self.sizes}
        self.arrays = []
        for axes in self.operands:               # of a size that makes results about 1
            scale = np.prod([self.sizes[c] ** (-1 / uses[c]) for c in axes if c not in self.result])
            self.arrays.append((scale * rng.uniform(0.5, 1.5, [self.sizes[c] for c in axes])).astype(np.float32))

    def text(self):
        return ",".join(self.operands) + "->" + self.result

    def shapes(self):
        return [tuple(self.sizes[c] for c in axes) for axes in self.operands]


def write_program(networks, folder, name):
    lines, data = [], {}
    for net in networks:
        names = ["x%s_%d" % (net.name, k) for k in range(len(net.operands))]
        for n, axes, array in zip(names, net.operands, net.arrays):
            data[n] = array
            lines.append('let %s = file "%s.npz" ~key:"%s" ~as:"%s"' % (n, name, n, axes))
        lines.append('let%%op %s = (%s) +* "%s => %s"' % (net.name, ", ".join(names), "; ".join(net.operands), net.result))
    lines.append("let%main () =\n  " + ";\n  ".join("print " + net.name for net in networks))
    np.savez(os.path.join(folder, name + ".npz"), **data)
    path = os.path.join(folder, name + ".tsr")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    return path


def planned(schedule):
    """Operations of each unit."""
    units, at = {}, None
    for line in schedule.splitlines():
        unit = re.match(r"unit (\S+)", line)
        work = re.match(r"  \S+: (\d+) operations, ", line)
        if unit:
            at = unit.group(1)
            units[at] = 0
        elif work and at:
            units[at] += int(work.group(1))
    return units


def check_program(build, networks, folder, name):
    path = write_program(networks, folder, name)
    tsrc = os.path.join(os.path.abspath(build), "tsrc")
    schedule = subprocess.run([tsrc, "--dump=schedule", path], capture_output=True, text=True, cwd=folder)
    run = subprocess.run([tsrc, "run", "-O1", path], capture_output=True, text=True, cwd=folder)
    for done in (schedule, run):
        if done.returncode:
            print(done.stderr.strip()[:2000])
    units, got = planned(schedule.stdout), printed.tensors(run.stdout)
    passed = failed = equal = 0
    for net in networks:
        ours = units.get(net.name + ".forward")
        want = np.einsum(net.text(), *[a.astype(np.float64) for a in net.arrays], optimize="greedy").ravel()
        cheap = ours is not None and ours <= net.cost
        right = len(got.get(net.name, [])) == want.size and np.allclose(got[net.name], want, rtol=1e-4, atol=1e-6)
        passed += cheap + right
        failed += (not cheap) + (not right)
        equal += ours == net.cost
        if not cheap:
            print("%s: %s operations, %s takes %d" % (net.text(), ours, net.path, net.cost))
        if not right:
            print("%s: other numbers than NumPy's" % net.text())
    return passed, failed, equal


def check_records(build, networks):
    sys.path.append(os.path.join(build, "peers"))
    try:
        import opt_einsum
    except ImportError:
        print("opt_einsum is missing: its costs are taken as recorded (make peers installs it)")
        return 0, 0
    passed = failed = 0
    for net in networks:
        if net.path == "optimal" and len(net.operands) > AGAIN:
            continue
        cost = int(opt_einsum.contract_path(net.text(), *net.shapes(), shapes=True, optimize=net.path)[1].opt_cost)
        passed += cost == net.cost
        failed += cost != net.cost
        if cost != net.cost:
            print("%s: recorded %d, opt_einsum %s finds %d" % (net.text(), net.cost, opt_einsum.__version__, cost))
    return passed, failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--keep")
    o = p.parse_args()
    with open(os.path.join(HERE, "networks.json")) as f:
        networks = [Network(row, k) for k, row in enumerate(json.load(f))]
    passed, failed = check_records(o.build, networks)
    equal = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = o.keep or folder
        os.makedirs(folder, exist_ok=True)
        for k in range(0, len(networks), PER_PROGRAM):
            good, bad, same = check_program(o.build, networks[k:k + PER_PROGRAM], folder, "networks%d" % k)
            passed += good
            failed += bad
            equal += same
    print("%d expressions, %d of them as dear as the path" % (len(networks), equal))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
