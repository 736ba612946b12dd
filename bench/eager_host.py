#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The host time that eager PyTorch needs per kernel of a simulated step, for `host: eager` of simulated
devices (src/device/device_sim_preset.c).

    python3 bench/eager_host.py

Runs training steps of small models on CPU tensors of one row, on one thread, so that computing takes
nearly no time, and divides their CPU time by the kernels that leat's simulation counts for the same model
(forward and loss; gradients of weights and of data; one update per layer with weights). On a GPU each
kernel also costs a call of the driver, which is not in here: it is a lower bound."""

import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

# Layers; input; kernels of a step in leat: forward, loss, gradients, updates.
MLP = lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
CNN = lambda: nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), nn.Conv2d(1, 1, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4, 4))
MODELS = {"mlp of 3 layers": (MLP, torch.randn(1, 4), 5 + 1 + 7 + 3), "cnn of 3 layers": (CNN, torch.randn(1, 1, 2, 2), 5 + 1 + 7 + 3)}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


def step_us(model, x, optimizer, n=400):
    """Median CPU time of a step, and its quartiles."""
    y, loss_of = torch.zeros(1, dtype=torch.long), nn.CrossEntropyLoss()
    times = []
    for i in range(50 + n):
        start = time.thread_time_ns()
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(x), y).backward()
        optimizer.step()
        if i >= 50:
            times.append((time.thread_time_ns() - start) / 1e3)
    times.sort()
    return times[n // 2], times[n // 4], times[3 * n // 4]


print("PyTorch", torch.__version__)
for name, (build, x, kernels) in MODELS.items():
    for kind, make in OPTIMIZERS.items():
        model = build()
        median, low, high = step_us(model, x, make(model.parameters()))
        print(f"{name}, {kind}: {median:.0f} us of CPU time a step (quartiles {low:.0f}-{high:.0f}), "
              f"{median / kernels:.1f} us for each of {kernels} kernels")
