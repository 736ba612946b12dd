#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes training.safetensors of this folder with PyTorch, in float64: what small models compute, their
gradients, and their parameters after 200 updates by each optimiser. tests/train/test_golden_training.c trains
the same models and compares. Run by hand when a case is added:

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy
    /tmp/torch/bin/python tests/golden/make_training.py

Inputs, labels and initial weights are in no file: both sides draw them from draw(), a hash of (stream, index).
Everything is in leat's layouts: images [rows, height, width, channels], conv2d weights [kernel height, kernel
width, in, out], dense weights [in, out].

Tensors: MODEL.logits and MODEL.gradient of the first batch, MODEL.loss.RUN (of the last four updates), MODEL.RUN: all
parameters one after the other, in the order of the layers; and schedule.NAME: factors of 200 updates. The
metadata has, per MODEL and RUN, the config that leat uses.
"""

import json
import os
import struct

import numpy as np
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, ROWS, BATCHES, CLASSES = 200, 16, 4, 5
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def draw(stream, n):
    """n float32 in [-1, 1) with 24 bits, from 32-bit integers alone."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(stream * 0x9E3779B9)).astype(np.uint32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return ((x >> np.uint32(8)).astype(np.float64) / 2**23 - 1).astype(np.float32)


def batch(k, shape):
    x = draw(1000 + k, ROWS * int(np.prod(shape))).reshape(ROWS, *shape).astype(np.float64)
    y = ((draw(2000 + k, ROWS).astype(np.float64) + 1) / 2 * CLASSES).astype(np.int64)
    x = torch.tensor(x)
    return (x.permute(0, 3, 1, 2).contiguous() if len(shape) == 3 else x), torch.tensor(y)


def weights(k):
    """Of the samples of a batch, from 0 to 2, one of them 0."""
    w = draw(3000 + k, ROWS).astype(np.float64) + 1
    w[3] = 0
    return torch.tensor(w)


def shares(k, y):
    """Targets of several classes: 3/4 of the label's, 1/4 of the next one's."""
    one = nn.functional.one_hot
    return 0.75 * one(y, CLASSES) + 0.25 * one((y + 1) % CLASSES, CLASSES)


def answers(k, y):
    """Targets from 0 to 1."""
    return torch.tensor((draw(4000 + k, ROWS * CLASSES).astype(np.float64) + 1) / 2).reshape(ROWS, CLASSES)


class Flatten(nn.Module):
    """As leat does: height, width, channels."""

    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)


class Mlp(nn.Module):
    shape = (24,)
    config = "[dense: 16, layer_norm, gelu, dense: 12, relu, dense: 5]"

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(24, 16), nn.LayerNorm(16, eps=1e-5), nn.GELU(),
            nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, CLASSES))

    def forward(self, x):
        return self.layers(x)


class Cnn(nn.Module):
    shape = (8, 8, 3)
    config = ("[conv2d: {filters: 6, kernel: 3, padding: same, bias: false}, batch_norm, relu, max_pool: 2, "
              "conv2d: {filters: 8, kernel: 3, stride: 2, padding: 1}, batch_norm, relu, flatten, dense: 5]")

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6, eps=1e-5), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8, eps=1e-5), nn.ReLU(),
            Flatten(), nn.Linear(2 * 2 * 8, CLASSES))

    def forward(self, x):
        return self.layers(x)


class Residual(nn.Module):
    shape = (6, 6, 2)
    config = ("[conv2d: {filters: 6, kernel: 3, padding: same}, batch_norm, relu: {name: a}, "
              "conv2d: {filters: 6, kernel: 3, padding: same}, batch_norm: {name: b}, add: {from: [b, a]}, "
              "silu, global_avg_pool, dense: 5]")

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 6, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(6, eps=1e-5)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(6, eps=1e-5)
        self.last = nn.Linear(6, CLASSES)

    def forward(self, x):
        a = torch.relu(self.norm1(self.conv1(x)))
        b = nn.functional.silu(self.norm2(self.conv2(a)) + a)
        return self.last(b.mean(dim=(2, 3)))


MODELS = {"mlp": Mlp, "cnn": Cnn, "residual": Residual}


def leat_layout(p):
    """A parameter or its gradient, flat."""
    if p.dim() == 4:
        p = p.permute(2, 3, 1, 0)
    elif p.dim() == 2:
        p = p.t()
    return p.detach().contiguous().flatten().numpy()


def set_initial(model):
    for i, p in enumerate(model.parameters()):
        values = draw(i, p.numel()) * np.float32(0.5) + np.float32(is_scale(model, p))
        values = values.astype(np.float64)
        with torch.no_grad():
            if p.dim() == 4:
                o, c, h, w = p.shape
                p.copy_(torch.tensor(values.reshape(h, w, c, o)).permute(3, 2, 0, 1))
            elif p.dim() == 2:
                p.copy_(torch.tensor(values.reshape(p.shape[1], p.shape[0])).t())
            else:
                p.copy_(torch.tensor(values))


def is_scale(model, p):
    return any(p is m.weight for m in model.modules()
               if isinstance(m, (nn.BatchNorm2d, nn.LayerNorm)))


def flat(tensors):
    return np.concatenate([leat_layout(t) for t in tensors]).astype(np.float32)


class Several:
    """Several optimisers as one."""

    def __init__(self, *all_):
        self.all = all_

    def zero_grad(self):
        for one in self.all:
            one.zero_grad()

    def step(self):
        for one in self.all:
            one.step()


def muon(model):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    torch.bfloat16 = torch.float64  # the iteration, too, in float64
    return Several(
        torch.optim.Muon(matrices, lr=0.02, momentum=0.95, nesterov=True, weight_decay=0.1),
        torch.optim.AdamW(others, lr=0.02 * 0.1, weight_decay=0.1))


def sgd(**options):
    return lambda model: torch.optim.SGD(model.parameters(), **options)


def excluded(model):
    """Biases, scales and shifts without decay, biases at twice the rate."""
    scales = [p for p in model.parameters() if is_scale(model, p)]
    shifts = [m.bias for m in model.modules() if isinstance(m, (nn.BatchNorm2d, nn.LayerNorm))]
    weights = [p for p in model.parameters() if p.dim() > 1]
    known = {id(p) for p in scales + shifts + weights}
    biases = [p for p in model.parameters() if id(p) not in known]
    return torch.optim.SGD(
        [{"params": weights, "weight_decay": 0.05}, {"params": biases, "lr": 0.04},
         {"params": scales + shifts}], lr=0.02, momentum=0.9)


CLASS_WEIGHTS = torch.tensor([1, 2, 0.5, 0, 1.5], dtype=torch.float64)


def smoothed(x, y):
    return nn.functional.cross_entropy(x, y, weight=CLASS_WEIGHTS, label_smoothing=0.2, reduction="none")


def binary(x, y):
    t = 0.9 * y + 0.1 / 2
    return nn.functional.binary_cross_entropy_with_logits(
        x, t, pos_weight=torch.tensor(3.0), reduction="none").mean(1)


# At twice the rate float32 and float64 part ways in PyTorch itself, at a kink of relu.
WEIGHTED = "sample_weight: w, optimizer: {sgd: {learning_rate: 0.01, momentum: 0.9}}"
SMOOTHED = "{softmax_cross_entropy: {label_smoothing: 0.2, class_weights: [1, 2, 0.5, 0, 1.5]}}"
BINARY = "{binary_cross_entropy: {label_smoothing: 0.1, positive_weight: 3}}"

# name: (config, optimiser, further ways). `each`: the loss of every sample, which its weight multiplies
RUNS = {
    "sgd": ("optimizer: {sgd: {learning_rate: 0.02, momentum: 0.9, weight_decay: 0.01}}",
            sgd(lr=0.02, momentum=0.9, weight_decay=0.01), {}),
    "nesterov": ("optimizer: {sgd: {learning_rate: 0.02, momentum: 0.8, weight_decay: 0.01, nesterov: true}}, "
                 "loss: {softmax_cross_entropy: {label_smoothing: 0.2}}",
                 sgd(lr=0.02, momentum=0.8, weight_decay=0.01, nesterov=True), {"smoothing": 0.2}),
    "rules": ("optimizer: {sgd: {learning_rate: 0.02, momentum: 0.9, weight_decay: 0.05}}, "
              "no_decay: [bias, scale, shift], multipliers: {bias: 2}", excluded, {}),
    "clipped": ("clip: 0.25, optimizer: {sgd: {learning_rate: 0.05, momentum: 0.5}}",
                sgd(lr=0.05, momentum=0.5), {"clip": 0.25}),
    "adam": ("optimizer: {adam: {learning_rate: 0.003, epsilon: 1.0e-4}}",
             lambda m: torch.optim.Adam(m.parameters(), lr=0.003, eps=1e-4), {}),
    "adam_l2": ("optimizer: {adam: {learning_rate: 0.003, epsilon: 1.0e-4, weight_decay: 0.02}}",
                lambda m: torch.optim.Adam(m.parameters(), lr=0.003, eps=1e-4, weight_decay=0.02), {}),
    "adamw": ("optimizer: {adamw: {learning_rate: 0.003, epsilon: 1.0e-4, weight_decay: 0.2}}",
              lambda m: torch.optim.AdamW(m.parameters(), lr=0.003, eps=1e-4, weight_decay=0.2), {}),
    "one_cycle": ("optimizer: {sgd: {learning_rate: 0.1}}, schedule: one_cycle", sgd(lr=0.1),
                  {"schedule": "one_cycle"}),
    "ema": ("optimizer: {sgd: {learning_rate: 0.02}}, average: {ema: 0.95}", sgd(lr=0.02), {"ema": 0.95}),
    "weighted": (WEIGHTED, sgd(lr=0.01, momentum=0.9),
                 {"each": lambda x, y: nn.functional.cross_entropy(x, y, reduction="none")}),
    "weighted_smoothed": (f"{WEIGHTED}, loss: {SMOOTHED}", sgd(lr=0.01, momentum=0.9), {"each": smoothed}),
    "weighted_shares": (f"{WEIGHTED}, loss: {SMOOTHED}", sgd(lr=0.01, momentum=0.9),
                        {"each": smoothed, "target": shares}),
    "weighted_binary": (f"{WEIGHTED}, loss: {BINARY}", sgd(lr=0.01, momentum=0.9),
                        {"each": binary, "target": answers}),
    "muon": ("optimizer: {muon: {learning_rate: 0.02, weight_decay: 0.1, vector_rate: 0.1}}", muon, {}),
}

SCHEDULES = {
    "one_cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(
        o, max_lr=0.1, total_steps=STEPS, cycle_momentum=False),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, STEPS),
    "linear": lambda o: torch.optim.lr_scheduler.LinearLR(o, 1, 0.1, STEPS),
    "step": lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [60, 120, 180], 0.2),
}


def train(kind, run):
    _, make, how = RUNS[run]
    model = kind()
    set_initial(model)
    optimizer = make(model)
    loss_of = nn.CrossEntropyLoss(label_smoothing=how.get("smoothing", 0))
    schedule = SCHEDULES[how["schedule"]](optimizer) if "schedule" in how else None
    ema = [p.detach().clone() for p in model.parameters()]
    losses = []
    for step in range(STEPS):
        x, y = batch(step % BATCHES, kind.shape)
        optimizer.zero_grad()
        if "target" in how:
            y = how["target"](step % BATCHES, y)
        if "each" in how:
            loss = (weights(step % BATCHES) * how["each"](model(x), y)).sum() / ROWS
        else:
            loss = loss_of(model(x), y)
        loss.backward()
        losses.append(loss.item())
        if "clip" in how:
            nn.utils.clip_grad_norm_(model.parameters(), how["clip"])
        optimizer.step()
        if schedule:
            schedule.step()
        for a, p in zip(ema, model.parameters()):
            a.lerp_(p.detach(), 1 - how.get("ema", 0))
    return flat(ema), np.array(losses, np.float32)


def first_batch(kind):
    model = kind()
    set_initial(model)
    x, y = batch(0, kind.shape)
    logits = model(x)
    nn.CrossEntropyLoss()(logits, y).backward()
    return logits.detach().numpy().astype(np.float32), flat([p.grad for p in model.parameters()])


def factors(name):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule, values = SCHEDULES[name](optimizer), []
    for _ in range(STEPS):
        values.append(optimizer.param_groups[0]["lr"] / 0.1)
        optimizer.step()
        schedule.step()
    return np.array(values, np.float32)


def write(path, tensors, notes):
    header, at = {"__metadata__": notes}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(t.tobytes())


def main():
    tensors, notes = {}, {"writer": "torch " + torch.__version__}
    for name, kind in MODELS.items():
        notes[name] = kind.config
        tensors[name + ".logits"], tensors[name + ".gradient"] = first_batch(kind)
        for run in RUNS:
            if run == "muon" and name != "mlp":
                continue  # PyTorch's takes matrices only
            tensors[f"{name}.{run}"], losses = train(kind, run)
            tensors[f"{name}.loss.{run}"] = losses[-BATCHES:]
            print(f"{name} {run}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    for run, (config, _, _) in RUNS.items():
        notes["run." + run] = config
    for name in SCHEDULES:
        tensors["schedule." + name] = factors(name)
    write(os.path.join(HERE, "training.safetensors"), tensors, notes)


if __name__ == "__main__":
    main()
