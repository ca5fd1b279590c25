"""For each line on standard input: the seconds of one f32 product of 1024 x 1024 matrices, averaged over the number of
repetitions that the line gives.  The first line printed names the library that NumPy multiplies with."""
import ctypes, re, sys, time
import numpy as np

random = np.random.default_rng(3)
a, b = (random.random((1024, 1024), dtype=np.float32) for _ in range(2))
c = a @ b


def library():
    """The BLAS that is loaded, with its own word on which kernels it chose."""
    with open("/proc/self/maps") as maps:
        path = re.search(r"\S*openblas\S*", maps.read())
    if not path:
        return "a BLAS that is not OpenBLAS"
    try:
        blas = ctypes.CDLL(path[0])
        for name in ("openblas_get_config", "openblas_get_corename"):
            getattr(blas, name).restype = ctypes.c_char_p
        version = re.match(r"OpenBLAS [\d.]+", blas.openblas_get_config().decode())
        return f"{version[0] if version else 'OpenBLAS'}, {blas.openblas_get_corename().decode()} kernels"
    except (AttributeError, OSError):
        return "OpenBLAS"


print(library(), flush=True)
for line in sys.stdin:
    n = int(line)
    begin = time.perf_counter()
    for _ in range(n):
        np.matmul(a, b, out=c)
    print((time.perf_counter() - begin) / n, flush=True)
