#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The training of examples/cifar10-fast.yaml in PyTorch, on the same batches, which leat makes.

    cd FOLDER_WITH_DATA; PYTHONPATH=... python3 .../bench/cifar10_fast.py .../examples/cifar10-fast.yaml [PATH=VALUE]...

Model, optimiser, schedule, averaging and label smoothing are those of the config; PyTorch computes in bf16 (autocast), in
channels_last. Prints for each epoch the seconds of training so far, without evaluation, and the share of right answers on the
test set with one view and with six. Compare with `leat train` of the config, whose log has the same figures."""

import sys
import time

import leat_data as leat
import torch
from torch import nn
from torch.nn import functional as F

config, settings = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])
EPOCHS = int(settings.get("train.epochs", 10))
torch.manual_seed(int(settings.get("seed", 1)))
torch.set_num_threads(2)


def batches(**how):
    return leat.Loader(config, to="torch", set=settings, **how).as_tuples("image", "label")


def conv(n_in, n_out):
    """The first n_in filters pass a channel on."""
    layer = nn.Conv2d(n_in, n_out, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight[:n_in])
    return layer


def norm(n):
    layer = nn.BatchNorm2d(n, eps=1e-12, momentum=0.4)  # 0.6 of the old, 0.4 of the new
    layer.weight.requires_grad = False
    return layer


def whitening(images):
    """Eigenvectors of 2 x 2 patches, by the root of their eigenvalues, and their negatives."""
    patches = F.unfold(images, 2).transpose(1, 2).reshape(-1, 12).double()
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (vectors / (values + 5e-4).sqrt()).T.flip(0).float().reshape(12, 3, 2, 2)
    layer = nn.Conv2d(3, 24, 2)
    layer.weight.data = torch.cat([filters, -filters])
    layer.weight.requires_grad = False
    return layer


def make_model(images):
    def group(n_in, n_out):
        return [conv(n_in, n_out), nn.MaxPool2d(2), norm(n_out), nn.GELU(), conv(n_out, n_out), norm(n_out), nn.GELU()]

    return nn.Sequential(whitening(images), nn.GELU(), *group(24, 64), *group(64, 256), *group(256, 256), nn.MaxPool2d(3),
                         nn.Flatten(), nn.Linear(256, 10, bias=False)).to(memory_format=torch.channels_last)


def logits_of(model, image):
    with torch.autocast("cpu", torch.bfloat16):
        return model(image.permute(0, 3, 1, 2)).float() / 9


def right_shares(model, test):
    """With one view, and with six: mirrored or not, and moved by a pixel."""
    model.eval()
    right = torch.zeros(2)
    n = 0
    with torch.no_grad():
        for image, label in test:
            image = image.permute(0, 3, 1, 2)
            shifted = F.pad(image, (1, 1, 1, 1), "reflect")
            views = [(0.25, image), (0.125, shifted[..., :-2, :-2]), (0.125, shifted[..., 2:, 2:])]
            outs = [(w, logits_of(model, v.permute(0, 2, 3, 1))) for w, x in views for v in (x, x.flip(3))]
            right += torch.stack([(outs[0][1].argmax(1) == label).sum(), (sum(w * o for w, o in outs).argmax(1) == label).sum()])
            n += len(label)
    model.train()
    return (right / n).tolist()


def main():
    train, test = batches(), batches(section="eval")
    first = next(iter(train))[0].permute(0, 3, 1, 2).clone()
    model = make_model(first)
    shifts = [p for m in model if isinstance(m, nn.BatchNorm2d) for p in [m.bias]]
    others = [p for p in model.parameters() if p.requires_grad and all(p is not s for s in shifts)]
    optimizer = torch.optim.SGD([{"params": others, "rate": 1.5, "weight_decay": 1.33e-3},
                                 {"params": shifts, "rate": 1.5 * 64, "weight_decay": 0}], lr=1.5, momentum=0.85, nesterov=True)
    average = [p.detach().clone() for p in others + shifts]
    n_updates, n, seconds = EPOCHS * len(train), 0, 0.0
    for epoch in range(EPOCHS):
        start = time.monotonic()
        for image, label in train:
            done = n / n_updates
            factor = 0.2 + 0.8 * done / 0.23 if done < 0.23 else 1 - 0.93 * (done - 0.23) / 0.77
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * factor
            loss = F.cross_entropy(logits_of(model, image), label, label_smoothing=0.2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            n += 1
            if n % 5 == 0 or n == n_updates:
                keep = 0.7737809375 * (n / n_updates) ** 3
                with torch.no_grad():
                    for a, p in zip(average, others + shifts):
                        if n % 5 == 0:
                            a.lerp_(p, 1 - keep)
                        p.copy_(a)
        seconds += time.monotonic() - start
        one, six = right_shares(model, test)
        print(f"epoch {epoch + 1}: {seconds:.1f} s, {100 * one:.2f} % with one view, {100 * six:.2f} % with six", flush=True)


main()
