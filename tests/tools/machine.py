"""What the machine that runs the tests can do."""
import re


def processors():
    """The levels of x86-64 that this machine runs, as --cpu names them; elsewhere its own."""
    try:
        with open("/proc/cpuinfo") as f:
            flags = set(re.search(r"^flags\s*:(.*)$", f.read(), re.M).group(1).split())
    except (OSError, AttributeError):
        return ["native"]
    needs = {"x86-64": set(), "x86-64-v2": {"sse4_2", "popcnt"}, "x86-64-v3": {"avx2", "fma", "bmi2"},
             "x86-64-v4": {"avx512f", "avx512vl", "avx512dq", "avx512bw"}}
    return [name for name, needed in needs.items() if needed <= flags]
