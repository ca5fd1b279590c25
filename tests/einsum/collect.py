#!/usr/bin/env python3
"""The index strings in the einsum tests of NumPy and of opt_einsum, as they are installed: what expressions.txt should hold.

    collect.py [FILE..]     prints those that expressions.txt lacks
"""
import ast
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TERM = r"(?:[A-Za-z]*(?:\.\.\.)?[A-Za-z]*)"
EXPRESSION = re.compile(r"%s(?:,%s)*(?:->%s)?" % (TERM, TERM, TERM))


def known():
    with open(os.path.join(HERE, "expressions.txt")) as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def means_something(text):
    """Not one of the mistakes that those tests provoke: the result names each axis once, and axes that an operand has."""
    terms, _, result = text.partition("->")
    letters = result.replace("...", "")
    return len(set(letters)) == len(letters) and set(letters) <= set(terms)


def strings(path):
    """The constants of a file that are no documentation, and no names of a test's parameters."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            left_out.add(node.value)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "parametrize":
            left_out.add(node.args[0])
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and n not in left_out]


def expressions(path):
    for text in strings(path):
        text = text.replace(" ", "")
        if ("," in text or "->" in text) and text != "," and EXPRESSION.fullmatch(text) and means_something(text):
            yield text


def installed(build):
    import numpy
    files = glob.glob(os.path.join(os.path.dirname(numpy.__file__), "*core", "tests", "test_einsum.py"))
    return files + sorted(glob.glob(os.path.join(build, "peers", "opt_einsum", "tests", "test_*.py")))


def lacking(files):
    have = set(known())
    return sorted({t for f in files for t in expressions(f)} - have)


if __name__ == "__main__":
    print("\n".join(lacking(sys.argv[1:] or installed("build"))))
