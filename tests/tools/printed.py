"""What compiled programs print of tensors, read back."""
import re

NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)")


def tensors(text):
    """name -> flat list of numbers (true is 1, false is 0), for each `name : shape  values` that was printed."""
    got, name = {}, None
    for line in text.splitlines():
        head = re.match(r"(\S+) : (.*)$", line)
        if head:
            name = head.group(1)
            got[name] = []
            line = head.group(2).partition("  ")[2]          # a scalar's value stands there without brackets
        if name:
            line = line.replace("true", "1").replace("false", "0")
            got[name] += [float(x) for x in NUMBER.findall(line)]
    return got
