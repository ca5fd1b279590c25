"""PyTorch's side of the benchmark: attention, and training steps of the networks that tests/bench and examples have.

    networks_torch.py eager|compile          then lines `WORK` on standard input: seconds of one step, the best of a few
                                             `memory WORK`: bytes that its allocator holds at the peak of a step

A process of its own."""
import functools, sys, time
from loaded_torch import F, nn, torch

torch.manual_seed(7)
HEADS, EACH = 12, 64                                    # of attention


# ---- attention ---------------------------------------------------------------------------------------------------------------

WINDOW = 256                                            # as attention.py has it


def composed(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


class Attention:
    def __init__(self, length, backward, kind=""):
        self.q, self.k, self.v = (torch.randn(1, HEADS, length, EACH, requires_grad=backward) for _ in range(3))
        self.g, self.backward = torch.randn(1, HEADS, length, EACH), backward
        i, j = torch.arange(length)[:, None], torch.arange(length)[None, :]
        seen = {"attn_mask": (i >= j) & (j > i - WINDOW)} if kind == "window" else {"is_causal": kind == "causal"}
        self.f = functools.partial(F.scaled_dot_product_attention, **seen) if hasattr(F, "scaled_dot_product_attention") else composed

    def step(self):
        if not self.backward:
            with torch.no_grad():
                self.f(self.q, self.k, self.v)
            return
        for x in (self.q, self.k, self.v):
            x.grad = None
        self.f(self.q, self.k, self.v).backward(self.g)

    steps = 1


# ---- networks: each trains one step with its next batch -----------------------------------------------------------------------

class Training:
    """`batches`: pairs of inputs and labels; a step is forward, backward and the optimiser."""

    def __init__(self, model, batches, mode, **optimiser):
        self.model, self.batches, self.steps = model, batches, len(batches)
        self.optimiser = torch.optim.SGD(model.parameters(), **optimiser)
        loss = lambda x, y: F.cross_entropy(model(x).flatten(0, -2), y.flatten())
        self.loss = torch.compile(loss) if mode == "compile" else loss

    def step(self):
        for x, y in self.batches:
            self.optimiser.zero_grad(set_to_none=True)
            self.loss(x, y).backward()
            self.optimiser.step()


def images(n, batch, *shape):
    return [(torch.rand(batch, *shape), torch.randint(0, 10, (batch,))) for _ in range(n)]


class Taken:
    """The first batch of what examples/digits.npz holds, as it holds it: bytes, of which each step makes its floats."""

    def __init__(self, batch, *shape):
        self.images, self.labels = torch.zeros(1797, 64, dtype=torch.uint8), torch.zeros(1797, dtype=torch.uint8)
        self.batch, self.shape = batch, shape

    def __len__(self):
        return 1

    def __iter__(self):
        yield (self.images[:self.batch].float() / 16).view(self.batch, *self.shape), self.labels[:self.batch].long()


def digits(mode, batches=None):
    return Training(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), batches or images(30, 50, 64), mode, lr=0.1, momentum=0.9)


def lenet(mode, batches=None):
    model = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return Training(model, batches or images(30, 50, 1, 8, 8), mode, lr=0.05, momentum=0.9)


class Basic(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.norm2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)) if stride > 1 or before != after else nn.Identity()

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.short(x))


def resnet18(mode):
    """He et al. (2015) for 32 x 32: no pooling before the first stage.  Channels last, which is the faster layout here."""
    layers, width = [nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for after, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Basic(width, after, stride), Basic(after, after, 1)]
        width = after
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)).to(memory_format=torch.channels_last)
    batches = [(x.to(memory_format=torch.channels_last), y) for x, y in images(1, 32, 3, 32, 32)]
    return Training(model, batches, mode, lr=0.1, momentum=0.9)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            y = torch.softmax(scores.masked_fill(torch.ones(t, t, dtype=torch.bool).tril().logical_not(), -1e9), -1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers=6, width=384, heads=6, length=128):
        super().__init__()
        self.embed, self.place = nn.Embedding(128, width), nn.Embedding(length, width)
        self.blocks, self.norm, self.out = nn.ModuleList(Block(width, heads) for _ in range(layers)), nn.LayerNorm(width), nn.Linear(width, 128, bias=False)

    def forward(self, x):
        y = self.embed(x) + self.place.weight
        for block in self.blocks:
            y = block(y)
        return self.out(self.norm(y))


def gpt(mode):
    return Training(Gpt(), [(torch.randint(0, 128, (8, 128)), torch.randint(0, 128, (8, 128)))], mode, lr=0.01)


NETWORKS = {"digits": digits, "lenet": lenet, "resnet18": resnet18, "gpt": gpt}


# ---- requests ----------------------------------------------------------------------------------------------------------------

def work_of(name, mode):
    if name.startswith("attention"):
        _, length, direction, *kind = name.split("_")
        return Attention(int(length), direction == "backward", *kind)
    return NETWORKS[name](mode)


def timed(work):
    best, begin = 1e9, time.perf_counter()
    while best == 1e9 or time.perf_counter() - begin < 0.05:
        t = time.perf_counter()
        work.step()
        best = min(best, (time.perf_counter() - t) / work.steps)
    return best


DATA = {"digits": (50, 64), "lenet": (50, 1, 8, 8)}     # those that take their batches from a file, which ours holds, too


def peak(name, mode):
    """Everything from the first parameter on, as the allocator reports it, at its highest within three steps: data and one batch, parameters,
    what the optimiser keeps, gradients, and what the steps compute.  What is only made for measuring time is not there."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
        work = NETWORKS[name](mode, Taken(*DATA[name])) if name in DATA else work_of(name, mode)
        for _ in range(3):
            work.step()
    held = most = 0
    for event in sorted((e for e in p.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def main(mode):
    if mode == "compile" and not hasattr(torch, "compile"):
        print("missing PyTorch", torch.__version__, "has no torch.compile", flush=True)
        return
    print("PyTorch", torch.__version__.split("+")[0], mode, flush=True)
    made = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name.startswith("memory "):
                print(peak(name.split()[1], mode), flush=True)
                continue
            if name not in made:
                made.clear()
                made[name] = work_of(name, mode)
                made[name].step()
            print(timed(made[name]), flush=True)
        except Exception as why:
            print("missing", type(why).__name__, str(why).split("\n")[0], flush=True)


main(sys.argv[1])
