#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes finetune.safetensors and finetune_golden.safetensors of this folder with PyTorch: a small model with
random weights as torch would save it, and what fine-tuning it with a new head gives, computed in float64.
tests/train/test_pretrained.c does the same with `train.weights`. Run by hand when a run is added:

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy safetensors
    /tmp/torch/bin/python tests/golden/make_finetune.py

finetune_golden.safetensors: x [rows, height, width, channels] and y; head.weight and head.bias of the new head,
logits of the model with it; per RUN: RUN.loss of each update, and RUN.NAME: every parameter and running mean after the
last one, in PyTorch's layout."""
import os

import torch
from safetensors.torch import save_file
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, SIZE, OLD, CLASSES, STEPS = 8, 8, 7, 4, 6
torch.set_num_threads(1)
torch.manual_seed(26)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.bn1(self.conv1(x)) + x)


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(Block(), Block())
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return self.fc(self.layer1(x).mean((2, 3)))


def pretrained():
    model = Model(OLD)
    with torch.no_grad():
        for name, t in model.state_dict().items():
            if name.endswith("running_mean") or name.endswith("bn1.bias"):
                t.normal_(0, 0.3)
            elif name.endswith("running_var") or name.endswith("bn1.weight"):
                t.uniform_(0.5, 1.5)
    model.bn1.num_batches_tracked.fill_(123)
    return model.state_dict()


def fresh(weights, head):
    model = Model(CLASSES)
    model.load_state_dict({k: v for k, v in weights.items() if not k.startswith("fc.")}, strict=False)
    model.fc.load_state_dict(head)
    return model.double()


def run(model, x, y, frozen, clip=0, rates=()):
    """frozen: prefixes of names; rates: (prefix, factor). Batch norms that are frozen stay in evaluation."""
    model.train()
    for name, module in model.named_modules():
        if isinstance(module, nn.BatchNorm2d) and name.startswith(frozen):
            module.eval()
    groups = []
    for name, p in model.named_parameters():
        p.requires_grad = not name.startswith(frozen)
        factor = next((f for prefix, f in rates if name.startswith(prefix)), 1)
        if p.requires_grad:
            groups.append({"params": [p], "lr": 0.1 * factor})
    optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9, weight_decay=0.01)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.permute(0, 3, 1, 2)), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


weights = pretrained()
head = {k: v.clone() for k, v in nn.Linear(8, CLASSES).state_dict().items()}
x = torch.randn(ROWS, SIZE, SIZE, 3)
y = torch.arange(ROWS) % CLASSES
golden = {"x": x, "y": y, "head.weight": head["weight"], "head.bias": head["bias"]}
with torch.no_grad():
    golden["logits"] = fresh(weights, head).eval()(x.double().permute(0, 3, 1, 2))
RUNS = {
    "head": dict(frozen=("conv1", "bn1", "layer1")),
    "block": dict(frozen=("conv1", "bn1", "layer1.0"), clip=0.5, rates=(("layer1.1", 0.1),)),
    "norms": dict(frozen=("bn1", "layer1.0.bn1", "layer1.1.bn1"), clip=0.3, rates=(("conv1", 0.5),)),
}
for name, how in RUNS.items():
    model = fresh(weights, head)
    golden[f"{name}.loss"] = torch.tensor(run(model, x.double(), y, **how))
    for key, t in model.state_dict().items():
        if not key.endswith(("num_batches_tracked", "running_var")):
            golden[f"{name}.{key}"] = t
save_file(weights, os.path.join(HERE, "finetune.safetensors"))
golden = {k: v if v.dtype == torch.int64 else v.float() for k, v in golden.items()}
save_file({k: v.contiguous() for k, v in golden.items()}, os.path.join(HERE, "finetune_golden.safetensors"))
print({name: golden[f"{name}.loss"].tolist() for name in RUNS})
