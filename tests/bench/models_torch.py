"""PyTorch's side of models.py: lines `NAME` or `NAME, one answer` on standard input, seconds of a step of that network, or of its answer, the best of some."""
import sys, time
from everyday import best
from loaded_torch import F, nn, torch

torch.manual_seed(7)
LAST = torch.channels_last


class Training:
    """A step with AdamW, or with momentum; and what the model, or part of it, says of one input."""

    def __init__(self, model, loss, *given, momentum=False, answer=None):
        self.model, self.loss, self.given = model, loss, given
        self.says = answer or (lambda: model(given[0][:1]))
        self.optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9) if momentum else torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(self):
        begin = time.perf_counter()
        self.optimiser.zero_grad(set_to_none=True)
        self.loss(*self.given).backward()
        self.optimiser.step()
        return time.perf_counter() - begin

    def answer(self):
        with torch.inference_mode():
            begin = time.perf_counter()
            self.says()
            return time.perf_counter() - begin


def classified(model, x, classes, many, **how):
    return Training(model, lambda x, y: F.cross_entropy(model(x), y), x, torch.randint(0, classes, (many,)), **how)


# ---- transformers and what resembles them -------------------------------------------------------------------------------------

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def patches(x):
    return x.view(-1, 8, 4, 8, 4, 3).permute(0, 1, 3, 2, 4, 5).reshape(-1, 64, 48)


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.place = nn.Linear(48, 192), nn.Parameter(torch.zeros(64, 192))
        self.blocks, self.norm, self.out = nn.Sequential(*[Block(192, 3) for _ in range(4)]), nn.LayerNorm(192), nn.Linear(192, 100)

    def forward(self, x):
        return self.out(self.norm(self.blocks(self.patch(patches(x)) + self.place)).mean(1))


def vit():
    return classified(Vit(), torch.rand(16, 32, 32, 3), 100, 16)


class Mixing(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(256), nn.LayerNorm(256)
        self.t1, self.t2, self.c1, self.c2 = (nn.Linear(i, o, bias=False) for i, o in ((64, 128), (128, 64), (256, 1024), (1024, 256)))

    def forward(self, x):
        x = x + self.t2(F.gelu(self.t1(self.norm1(x).transpose(1, 2)))).transpose(1, 2)
        return x + self.c2(F.gelu(self.c1(self.norm2(x))))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.blocks = nn.Linear(48, 256, bias=False), nn.Sequential(*[Mixing() for _ in range(4)])
        self.norm, self.out = nn.LayerNorm(256), nn.Linear(256, 100)

    def forward(self, x):
        return self.out(self.norm(self.blocks(self.patch(patches(x)))).mean(1))


def mixer():
    return classified(Mixer(), torch.rand(16, 32, 32, 3), 100, 16)


class Rms(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(256))

    def forward(self, x):
        return F.rms_norm(x, (256,), self.scale, 1e-6)


def rotated(x):
    half, places = x.shape[-1] // 2, torch.arange(x.shape[1])[:, None]
    angle = places * torch.exp(-torch.arange(half) * (9.210340 / half))
    c, s, a, b = angle.cos()[:, None], angle.sin()[:, None], x[..., :half], x[..., half:]
    return torch.cat((a * c - b * s, b * c + a * s), -1)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(256, o, bias=False) for o in (256, 64, 64, 256))
        self.norm1, self.norm2 = Rms(), Rms()
        self.gate, self.up, self.down = nn.Linear(256, 688, bias=False), nn.Linear(256, 688, bias=False), nn.Linear(688, 256, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        y = self.norm1(x)
        q, k, v = rotated(self.q(y).view(b, t, 8, 32)), rotated(self.k(y).view(b, t, 2, 32)), self.v(y).view(b, t, 2, 32)
        z = F.scaled_dot_product_attention(*(y.transpose(1, 2) for y in (q, k, v)), is_causal=True, enable_gqa=True)
        x = x + self.o(z.transpose(1, 2).reshape(b, t, 256))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def llama():
    model = nn.Sequential(nn.Embedding(512, 256), *[Gated() for _ in range(4)], Rms(), nn.Linear(256, 512, bias=False))
    return Training(model, lambda x, y: F.cross_entropy(model(x).flatten(0, 1), y.flatten()), torch.randint(0, 512, (8, 128)), torch.randint(0, 512, (8, 128)))


# ---- convolutions ----------------------------------------------------------------------------------------------------------------

def twice(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.Conv2d(after, after, 3, padding=1), nn.ReLU())


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.d3, self.u2, self.u1 = twice(3, 32), twice(32, 64), twice(64, 128), twice(192, 64), twice(96, 32)
        self.last = nn.Conv2d(32, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        b = self.u2(torch.cat((F.interpolate(c, scale_factor=2), b), 1))
        return self.last(self.u1(torch.cat((F.interpolate(b, scale_factor=2), a), 1)))


def unet():
    model = Unet().to(memory_format=LAST)
    return Training(model, lambda x, y: F.binary_cross_entropy_with_logits(model(x), y), torch.rand(4, 3, 64, 64).to(memory_format=LAST), torch.rand(4, 1, 64, 64))


class Inverted(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        inner, self.past = 4 * before, stride == 1 and before == after
        self.layers = nn.Sequential(nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU6(), nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False),
                                    nn.BatchNorm2d(inner), nn.ReLU6(), nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return x + self.layers(x) if self.past else self.layers(x)


def mobile():
    blocks = [Inverted(*b) for b in ((32, 32, 1), (32, 48, 2), (48, 48, 1), (48, 96, 2), (96, 96, 1), (96, 160, 2), (160, 160, 1))]
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU6(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(160, 10)).to(memory_format=LAST)
    return classified(model, torch.rand(16, 3, 32, 32).to(memory_format=LAST), 10, 16, momentum=True)


class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.each, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width, bias=False), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(self.each(x).permute(0, 2, 3, 1))))).permute(0, 3, 1, 2)


def convnext():
    model = nn.Sequential(nn.Conv2d(3, 64, 2, 2), *[Wide(64) for _ in range(3)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(memory_format=LAST)
    return classified(model, torch.rand(8, 3, 64, 64).to(memory_format=LAST), 10, 8)


class Grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(256, 128, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU(), nn.Conv2d(128, 128, 3, padding=1, groups=32, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
                                    nn.Conv2d(128, 256, 1, bias=False), nn.BatchNorm2d(256))

    def forward(self, x):
        return F.relu(x + self.layers(x))


def resnext():
    model, images = Grouped().to(memory_format=LAST), [torch.rand(8, 256, 28, 28).to(memory_format=LAST) for _ in range(2)]
    return Training(model, lambda x, y: F.mse_loss(model(x), y), *images, momentum=True)


class Dilated(nn.Module):
    def __init__(self, gap):
        super().__init__()
        self.a, self.b = (nn.Conv1d(32, 32, 3, padding=gap, dilation=gap) for _ in range(2))

    def forward(self, x):
        return F.relu(x + self.b(F.relu(self.a(x))))


def tcn():
    model = nn.Sequential(nn.Conv1d(1, 32, 3, padding=1), nn.ReLU(), *[Dilated(gap) for gap in (1, 2, 4, 8)], nn.Conv1d(32, 1, 1))
    return Training(model, lambda x, y: F.mse_loss(model(x), y), torch.rand(8, 1, 4096), torch.rand(8, 1, 4096))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 8192, bias=False)
        self.layers = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(128, 64, 2, 2), nn.ReLU(), nn.ConvTranspose2d(64, 32, 2, 2), nn.ReLU(), nn.ConvTranspose2d(32, 3, 2, 2), nn.Tanh())

    def forward(self, z):
        return self.layers(self.first(z).view(-1, 128, 8, 8).to(memory_format=LAST))


def generator():
    model = Generator().to(memory_format=LAST)
    return Training(model, lambda z, y: F.mse_loss(model(z), y), torch.rand(16, 64), torch.rand(16, 3, 64, 64).to(memory_format=LAST))


# ---- others ------------------------------------------------------------------------------------------------------------------------

class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.LSTM(64, 256), nn.Linear(256, 10)

    def forward(self, x):
        return self.out(self.layer(x)[0][-1])


def lstm():
    model, x = Lstm(), torch.rand(32, 32, 64)
    return classified(model, x, 10, 32, answer=lambda: model(x[:, :1]))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.h1, self.mean, self.spread, self.h2, self.out = (nn.Linear(i, o) for i, o in ((784, 400), (400, 20), (400, 20), (20, 400), (400, 784)))

    def forward(self, x):
        h = F.relu(self.h1(x))
        m, s = self.mean(h), self.spread(h)
        y = self.out(F.relu(self.h2(m + torch.exp(0.5 * s) * torch.randn_like(s))))
        return (F.binary_cross_entropy_with_logits(y, x, reduction="sum") - 0.5 * (1 + s - m * m - s.exp()).sum()) / 128


def vae():
    model, z = Vae(), torch.rand(1, 20)
    return Training(model, model, torch.rand(128, 784), answer=lambda: model.out(F.relu(model.h2(z))))


def dropout():
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, 10))
    return classified(model, torch.rand(256, 784), 10, 256)


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(1433, 64), nn.Linear(64, 7)

    def forward(self, x, source, target, weight):
        told = lambda h: torch.zeros(2708, h.shape[1]).index_add(0, target, h[source] * weight[:, None])
        return told(self.b(F.relu(told(self.a(x)))))


def gcn():
    model, place = Graph(), lambda: torch.randint(0, 2708, (13264,))
    given = torch.rand(2708, 1433), place(), place(), torch.rand(13264)
    return Training(model, lambda *given: F.cross_entropy(model(*given[:-1]), given[-1]), *given, torch.randint(0, 7, (2708,)), answer=lambda: model(*given))


def main():
    last = None, None
    print("PyTorch", torch.__version__.split("+")[0], "eager", flush=True)
    for line in sys.stdin:
        name, _, answer = line.strip().partition(", ")
        try:
            if last[0] != name:
                last = name, globals()[name]()
                last[1].step()
            last[1].model.train(not answer)
            print(best(last[1].answer if answer else last[1].step), flush=True)
        except Exception as why:
            print("missing", type(why).__name__, str(why).split("\n")[0], flush=True)


main()
