"""JAX's side of the training steps: the networks of networks_torch.py as functions, each step one `jit`.

    networks_jax.py          then lines `WORK` on standard input: seconds of one step, the best of a few"""
import os, sys, time

threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])      # its pool has as many threads as there are cores
try:
    import jax
except ImportError as why:
    print("missing JAX:", why, flush=True)
    sys.exit(1)
import jax.numpy as jnp
import numpy as np
from jax import lax

random = np.random.default_rng(7)
draw = lambda *shape: jnp.asarray(random.standard_normal(shape, dtype=np.float32) / np.sqrt(np.prod(shape[:-1])))
zeros, ones = jnp.zeros, jnp.ones


def entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def convolve(x, kernel, stride=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


# ---- networks: parameters, and the logits ------------------------------------------------------------------------------------

def digits():
    return [draw(64, 64), zeros(64), draw(64, 10), zeros(10)], lambda p, x: jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]


def lenet():
    p = [draw(3, 3, 1, 6), zeros(6), draw(3, 3, 6, 16), zeros(16), draw(64, 64), zeros(64), draw(64, 10), zeros(10)]

    def logits(p, x):
        x = pool(jax.nn.relu(convolve(x, p[0]) + p[1]))
        x = pool(jax.nn.relu(convolve(x, p[2]) + p[3])).reshape(x.shape[0], -1)
        return jax.nn.relu(x @ p[4] + p[5]) @ p[6] + p[7]
    return p, logits


def normalise(x, scale, offset):
    mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + offset


def resnet18():
    p, plan, width = {"stem": draw(3, 3, 3, 64), "s0": ones(64), "o0": zeros(64), "w": draw(512, 10), "b": zeros(10)}, [], 64
    for i, (after, stride) in enumerate([(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]):
        block = {"a": draw(3, 3, width, after), "b": draw(3, 3, after, after), "sa": ones(after), "oa": zeros(after), "sb": ones(after), "ob": zeros(after)}
        if stride > 1:
            block.update(c=draw(1, 1, width, after), sc=ones(after), oc=zeros(after))
        p[f"block{i}"], width = block, after
        plan.append(stride)

    def logits(p, x):
        x = jax.nn.relu(normalise(convolve(x, p["stem"]), p["s0"], p["o0"]))
        for i, stride in enumerate(plan):
            b = p[f"block{i}"]
            y = jax.nn.relu(normalise(convolve(x, b["a"], stride), b["sa"], b["oa"]))
            y = normalise(convolve(y, b["b"]), b["sb"], b["ob"])
            x = jax.nn.relu(y + (normalise(convolve(x, b["c"], stride), b["sc"], b["oc"]) if "c" in b else x))
        return jnp.mean(x, (1, 2)) @ p["w"] + p["b"]
    return p, logits


def layer_norm(x, scale, offset):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5) * scale + offset


def gpt(layers=6, width=384, heads=6, length=128):
    block = lambda: {"qkv": draw(width, 3 * width), "out": draw(width, width), "up": draw(width, 4 * width), "down": draw(4 * width, width),
                     "s1": ones(width), "o1": zeros(width), "s2": ones(width), "o2": zeros(width)}
    p = {"embed": draw(128, width), "place": draw(length, width), "blocks": [block() for _ in range(layers)], "s": ones(width), "o": zeros(width),
         "w": draw(width, 128)}
    mask = jnp.tril(jnp.ones((length, length), bool))

    def attend(b, x):
        n, t, c = x.shape
        q, k, v = (y.reshape(n, t, heads, c // heads) for y in jnp.split(x @ b["qkv"], 3, -1))
        scores = jnp.einsum("nshd,nthd->nhst", q, k) / (c // heads) ** 0.5
        return jnp.einsum("nhst,nthd->nshd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v).reshape(n, t, c) @ b["out"]

    def logits(p, x):
        y = p["embed"][x] + p["place"]
        for b in p["blocks"]:
            y = y + attend(b, layer_norm(y, b["s1"], b["o1"]))
            y = y + jax.nn.gelu(layer_norm(y, b["s2"], b["o2"]) @ b["up"], approximate=False) @ b["down"]
        return layer_norm(y, p["s"], p["o"]) @ p["w"]
    return p, logits


images = lambda n, batch, *shape: [(jnp.asarray(random.random((batch, *shape), dtype=np.float32)), jnp.asarray(random.integers(0, 10, batch))) for _ in range(n)]
text = lambda: [(jnp.asarray(random.integers(0, 128, (8, 128))), jnp.asarray(random.integers(0, 128, (8, 128))))]
# name: the network, its batches, the rate, the momentum
NETWORKS = {
    "digits": (digits, lambda: images(30, 50, 64), 0.1, 0.9), "lenet": (lenet, lambda: images(30, 50, 8, 8, 1), 0.05, 0.9),
    "resnet18": (resnet18, lambda: images(1, 32, 32, 32, 3), 0.1, 0.9), "gpt": (gpt, text, 0.01, 0.0),
}


class Work:
    def __init__(self, name):
        network, batches, rate, momentum = NETWORKS[name]
        self.parameters, logits = network()
        self.batches = batches()
        self.velocity = jax.tree.map(jnp.zeros_like, self.parameters) if momentum else None

        def update(p, v, x, y):
            g = jax.grad(lambda p: entropy(logits(p, x), y))(p)
            v = jax.tree.map(lambda v, g: momentum * v + g, v, g) if momentum else None
            return jax.tree.map(lambda p, d: p - rate * d, p, v if momentum else g), v
        self.update = jax.jit(update, donate_argnums=(0, 1))
        self.step()

    def step(self):
        for x, y in self.batches:
            self.parameters, self.velocity = self.update(self.parameters, self.velocity, x, y)
        jax.block_until_ready(self.parameters)


def timed(work):
    best, begin = 1e9, time.perf_counter()
    while best == 1e9 or time.perf_counter() - begin < 0.05:
        t = time.perf_counter()
        work.step()
        best = min(best, (time.perf_counter() - t) / len(work.batches))
    return best


def main():
    print("JAX", jax.__version__, "jit", flush=True)
    made = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in made:
                made.clear()
                made[name] = Work(name)
            print(timed(made[name]), flush=True)
        except Exception as why:
            print("missing", type(why).__name__, str(why).split("\n")[0], flush=True)


main()
