"""PyTorch's side of everyday.py: lines `N` on standard input, seconds of case N, the best of some; `result N PATH` writes what it computes.  With KIND SEED N: of sampled.py's."""
import sys, time
import numpy as np
import sampled
from everyday import CASES, arguments, best
from loaded_torch import F, torch


def prepared(i):
    """A function that computes case i."""
    name = list(CASES)[i]
    given = [torch.from_numpy(x) for x in arguments(name)]
    given = [x.view(torch.bfloat16) if x.dtype == torch.uint16 else x for x in given]
    return eval(f"lambda: {CASES[name][3]}", {"torch": torch, "F": F, **dict(zip("abcde", given))})


def seconds(f):
    begin = time.perf_counter()
    f()
    return time.perf_counter() - begin


def main():
    if len(sys.argv) > 1:
        sampled.choose(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    last = None, None                                   # the case that was asked for last, prepared
    print(f"PyTorch {torch.__version__.split('+')[0]} eager", flush=True)
    for line in sys.stdin:
        words = line.split()
        with torch.no_grad():
            i = int(words[1] if words[0] == "result" else words[0])
            last = last if last[0] == i else (i, prepared(i))
            if words[0] == "result":
                y = last[1]().contiguous()
                np.save(words[2], (y.view(torch.uint16) if y.dtype == torch.bfloat16 else y).numpy())
                print(0, flush=True)
            else:
                print(best(lambda: seconds(last[1])), flush=True)


main()
