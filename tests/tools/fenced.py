"""Arrays that begin anywhere in a line of a cache, in the midst of numbers that nobody may touch."""
import numpy as np

FENCE, LINE = 7, 64


def fenced(n, dtype, shift):
    """Room for n numbers that begin `shift` numbers behind a line, in the midst of sevens; where they begin in it."""
    whole = np.full(n + 256, FENCE, dtype)
    return whole, (-whole.ctypes.data % LINE) // whole.itemsize + 64 + shift


def untouched(whole, begin, n):
    """What lies before and behind them is as it was."""
    return (whole[:begin] == FENCE).all() and (whole[begin + n:] == FENCE).all()
