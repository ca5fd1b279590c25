"""What the parts of the benchmark share: the environment of whatever is measured, measuring in turns, and peers that may be missing.

Everything compared is measured in one run, in turns: round after round each contender once, and the best of the rounds counts.
Absolute times on a shared machine mean little; the ratios do."""
import ctypes, os, random, re, statistics, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.path.join(ROOT, os.pardir, "shared")


class Missing(Exception):
    """Something cannot be measured here; the text says what."""


def wide():
    with open("/proc/cpuinfo") as f:
        flags = f.read()
    if re.search(r"\bavx512f\b", flags):
        return "SkylakeX"
    return None if "AuthenticAMD" in flags else "Haswell" if re.search(r"\bavx2\b", flags) else None


def environment(threads=1):
    """For a process to be measured: so many threads, and peers told which processor this is, since old versions take a new one of Intel's for
    an ancient one and one of AMD's with AVX-512 for one without; AMD's before those they know.  BLIS's type 0 is its AVX-512 configuration, 3 its AVX2 one."""
    env = dict(os.environ, LC_ALL="C.UTF-8", OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads),
               BLIS_NUM_THREADS=str(threads))
    core = wide()
    if core:
        env["OPENBLAS_CORETYPE"] = core
        env["BLIS_ARCH_TYPE"] = "0" if core == "SkylakeX" else "3"
    return env


def best_of(measurements):
    return min(measurements)


def seconds(command, cwd=ROOT, env=None):
    """How long a command takes from its start to its end."""
    if not os.path.exists(command[0]) and "/" in command[0]:
        raise Missing(f"there is no {os.path.basename(command[0])}")
    begin = time.perf_counter()
    p = subprocess.run(command, cwd=cwd, env=env or environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    taken = time.perf_counter() - begin
    if p.returncode:
        text = (p.stderr or p.stdout).decode(errors="replace").strip().split("\n")
        raise Missing(f"{os.path.basename(command[0])} ends with {p.returncode}: {text[0]}")
    return taken


class Worker:
    """A process that measures once for each line it is sent, and answers with a line: a number first, or `missing` and why."""

    def __init__(self, command, threads=1, env=None, greeting=False):
        self.process = subprocess.Popen(command, env=dict(environment(threads), **(env or {})), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.greeting = self.answer() if greeting else ""

    def answer(self):
        text = self.process.stdout.readline().strip()
        if not text:
            raise Missing(f"{os.path.basename(self.process.args[-1])} gives no answer")
        if text.startswith("missing"):
            raise Missing(text[len("missing"):].strip())
        return text

    def ask(self, text=""):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            raise Missing(f"{os.path.basename(self.process.args[-1])} has ended")
        return float(self.answer().split()[0])

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait()


def in_turns(rounds, contenders, shuffled=False):
    """The measurements of each contender, in the order of the rounds; the first round warms up and is dropped.  Whoever cannot be
    measured has the reason in place of a list.  `shuffled`: in another order each round, the same ones in every run, so that nobody always finds the
    caches as the same other one leaves them."""
    results, order = {name: [] for name in contenders}, random.Random(0)
    for number in range(rounds + 1):
        for name, measure in order.sample(sorted(contenders.items()), len(contenders)) if shuffled else contenders.items():
            if isinstance(results[name], Missing):
                continue
            try:
                value = measure()
            except (Missing, OSError) as why:
                results[name] = why if isinstance(why, Missing) else Missing(str(why))
                continue
            if number:
                results[name].append(value)
    return results


def least(results, name):
    if isinstance(results[name], Exception):
        raise Missing(f"{name}: {results[name]}")
    return best_of(results[name])


def middle_ratio(results, name, other):
    """How many times as long one takes as another, in the same round."""
    least(results, name), least(results, other)
    return statistics.median(a / b for a, b in zip(results[name], results[other]))


def geometric_mean(values):
    product = 1.0
    values = list(values)
    for v in values:
        product *= v ** (1 / len(values))
    return product


class Config(ctypes.Structure):
    """tsr_config of runtime/tsr.h."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("error", "write", "progress", "memory", "stop", "user")] + [
        ("data_dir", ctypes.c_char_p), ("seed", ctypes.c_uint64), ("seed_given", ctypes.c_int), ("nargs", ctypes.c_int), ("args", ctypes.c_void_p)]


class Model:
    """The exported functions of a shared object with a context; `memory`: the address of a function that allocates."""

    def __init__(self, path, memory=None):
        self.name = os.path.basename(path)[:-3]
        ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)     # which a model finds when it is loaded, or goes without
        self.library, self.ctx = ctypes.CDLL(path), ctypes.c_void_p()
        self.library.tsr_last_error.restype = ctypes.c_char_p
        config = Config(memory=memory)
        if getattr(self.library, self.name + "_open")(ctypes.byref(self.ctx), ctypes.byref(config)):
            raise Missing(f"{self.name}: {self.library.tsr_last_error(self.ctx).decode()}")

    def seconds(self, function, *args):
        """Of one call."""
        f = getattr(self.library, f"{self.name}_{function}")
        begin = time.perf_counter()
        status = f(self.ctx, *args)
        taken = time.perf_counter() - begin
        if status:
            raise Missing(f"{self.name}_{function}: {self.library.tsr_last_error(self.ctx).decode()}")
        return taken

    def elements(self, function):
        """How many its result has."""
        f = getattr(self.library, f"{self.name}_{function}_elements")
        f.restype = ctypes.c_int64
        return f()

    def close(self):
        self.library.tsr_close(self.ctx)


def judged(bench, source, judge, name, threads=(1, 2, 3), options=()):
    """A library of the source, judged with so many threads each."""
    model = Model(bench.shared(source, name, *options))
    for n in threads:
        bench.probes(n)
        judge(model, n)
    model.close()


class Bench:
    """What every part is given: the compiler, a folder for what is built, how many rounds and threads, and the table."""

    def __init__(self, build, tmp, rounds, threads, table):
        self.build, self.tmp, self.rounds, self.table = os.path.abspath(build), tmp, rounds, table
        self.tsrc = os.path.join(self.build, "tsrc")
        self.cores = threads

    def path(self, name):
        return os.path.join(self.tmp, name)

    def written(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def frameworks(self):
        """For Python programs that import PyTorch or JAX: what `make bench-deps` has installed comes before Debian's."""
        return {"PYTHONPATH": os.path.join(self.build, "frameworks"), "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.build, "inductor")}

    def peers(self, threads, *programs):
        """A worker for each Python program with its arguments, by the name it greets with; and the reasons why others are missing."""
        workers, absent = {}, []
        for program, *arguments in programs:
            try:
                worker = Worker([sys.executable, os.path.join(HERE, program), *arguments], threads, self.frameworks(), greeting=True)
                workers[worker.greeting] = worker
            except Missing as why:
                absent.append(f"{program} {' '.join(arguments)}: {why}")
        return workers, absent

    def program(self, source, name, *options):
        """An executable."""
        seconds([self.tsrc, *options, source, "-o", self.path(name)])
        return self.path(name)

    def shared(self, source, name, *options):
        """The exported functions of a program as a shared object, for this machine and with the OpenMP of the process."""
        seconds([self.tsrc, "-c", "--cpu=native", *options, source, "-o", self.path(name + ".o")])
        seconds(["cc", "-shared", "-Wl,-Bsymbolic", self.path(name + ".o"), os.path.join(self.build, "libtessera.a"), "-fopenmp",
                 "-lminizip", "-lz", "-lm", "-o", self.path(name + ".so")])
        return self.path(name + ".so")

    def probes(self, threads):
        """probes.c in this process, and so many threads for it and for every model."""
        if not os.path.exists(self.path("probes.so")):
            self.native("probes.c", "probes.so", "-shared", "-fPIC")
        library = ctypes.CDLL(self.path("probes.so"), mode=ctypes.RTLD_GLOBAL)
        for name, type in (("array", ctypes.c_void_p), ("read", ctypes.c_float), ("peak", ctypes.c_double), ("memory_most", ctypes.c_size_t)):
            getattr(library, "probe_" + name).restype = type
        ctypes.CDLL("libgomp.so.1").omp_set_num_threads(threads)
        return library

    def native(self, source, name, *options):
        """A C file of this folder for this machine, with probes.c: an executable, or with -shared a library."""
        seconds(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-march=native", "-ffp-contract=fast", "-fopenmp", *options,
                 *(os.path.join(HERE, f) for f in {source, "probes.c"}), "-o", self.path(name),
                 "-ldl", "-lm"])
        return self.path(name)
