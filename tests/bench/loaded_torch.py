"""PyTorch, with `nn` and `F`, for its side of the benchmark, with as many threads as the environment says; where it is missing the process says so, and ends.

The package from PyPI is linked with CUDA's libraries: loading it lazily does without what they lack."""
import os, sys

sys.setdlopenflags(os.RTLD_LAZY)
try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as why:
    print("missing PyTorch:", why, flush=True)
    sys.exit(1)

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
