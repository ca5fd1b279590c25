"""The training of examples/digits.tsr in NumPy, as a person who knows NumPy would write it: an MLP of 64-64-10 with relu,
softmax cross-entropy, batches of 50, 20 epochs over 1,500 examples, momentum 0.9, rate 0.1, all in f32.

For each line on standard input it trains once from the same start and prints the seconds of the training alone and the
accuracy on the remaining examples.  Reading the data, importing and drawing the start are not counted."""
import os, sys, time
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "../../examples/data/digits.npz")
BATCH, TRAIN, EPOCHS, RATE, MOMENTUM = 50, 1500, 20, np.float32(0.1), np.float32(0.9)


def load():
    if os.path.exists(DATA):
        with np.load(DATA) as data:
            return data["images"].reshape(-1, 64).astype(np.float32) / np.float32(16), data["labels"].astype(np.int64)
    random = np.random.default_rng(1)                   # the time does not depend on the numbers
    return random.random((1797, 64), dtype=np.float32), random.integers(0, 10, 1797)


def start():
    random = np.random.default_rng(7)
    draw = lambda fan_in, fan_out: ((random.random((fan_in, fan_out), dtype=np.float32) * 2 - 1) * np.float32(np.sqrt(3 / fan_in)))
    parameters = [draw(64, 64), np.zeros(64, np.float32), draw(64, 10), np.zeros(10, np.float32)]
    return parameters, [np.zeros_like(p) for p in parameters]


def train(images, targets, parameters, velocities):
    w1, b1, w2, b2 = parameters
    for epoch in range(EPOCHS):
        total = 0.0
        for at in range(0, TRAIN, BATCH):
            x, y = images[at:at + BATCH], targets[at:at + BATCH]
            hidden = np.maximum(x @ w1 + b1, 0)
            logits = hidden @ w2 + b2
            logits -= logits.max(axis=1, keepdims=True)
            p = np.exp(logits)
            p /= p.sum(axis=1, keepdims=True)
            total -= float(np.log((p * y).sum(axis=1)).mean())
            g = (p - y) / np.float32(BATCH)
            back = g @ w2.T
            back[hidden <= 0] = 0
            for parameter, velocity, gradient in zip(parameters, velocities, (x.T @ back, back.sum(axis=0), hidden.T @ g, g.sum(axis=0))):
                velocity *= MOMENTUM
                velocity += gradient
                parameter -= RATE * velocity
    return total / (TRAIN // BATCH)


def main():
    images, labels = load()
    targets = np.eye(10, dtype=np.float32)[labels]
    for _ in sys.stdin:
        parameters, velocities = start()
        begin = time.perf_counter()
        train(images, targets, parameters, velocities)
        seconds = time.perf_counter() - begin
        w1, b1, w2, b2 = parameters
        guess = (np.maximum(images[TRAIN:] @ w1 + b1, 0) @ w2 + b2).argmax(axis=1)
        print(seconds, (guess == labels[TRAIN:]).mean(), flush=True)


main()
