"""PyTorch's side of gradients.py: lines `N` on standard input, seconds of case N, the best of some; `result N PATH` writes its gradients.  With KIND SEED N: of sampled.py's."""
import sys, time
import numpy as np
import sampled
from everyday import best
from gradients import CASES, arguments, given
from loaded_torch import F, torch


def prepared(i):
    """A function that computes case i forward and all its gradients."""
    name = list(CASES)[i]
    own, others, above = arguments(name)
    own = [torch.from_numpy(p).requires_grad_() for p in own]
    names = {"torch": torch, "F": F, **dict(zip("abcde", own)), **{g[0]: torch.from_numpy(x) for g, x in zip(given(name), others)}}
    forward, above = eval(f"lambda: {CASES[name][4]}", names), torch.from_numpy(above)
    return lambda: torch.autograd.grad(forward(), own, above)


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
        i = int(words[1] if words[0] == "result" else words[0])
        last = last if last[0] == i else (i, prepared(i))
        if words[0] == "result":
            np.savez(words[2], *[x.contiguous().numpy() for x in last[1]()])
            print(0, flush=True)
        else:
            print(best(lambda: seconds(last[1])), flush=True)


main()
