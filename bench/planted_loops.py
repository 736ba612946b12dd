#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops of plain PyTorch with a planted fault each, and what leat.doctor() says of them.

    planted_loops.py [--seconds 20] [--rounds 1] [NAME …]      needs torch and the package leat_data

It prints one line per loop: the verdict, whether it is one of those that are true, the step time and its prediction, and the
first change with what it gains by prediction and by the changed loop."""

import argparse
import functools
import multiprocessing
import os
import sys
import time

import torch

import leat_data as leat

SIZE = 64


class Rows(torch.utils.data.Dataset):
    """Samples that cost what they are told to: CPU work in ms, sleep in ms, and what only the first pass costs."""

    def __init__(self, n=2048, cpu=0.0, sleep=0.0, slow_every=0, slow=0.0, first=0.0):
        self.n, self.cpu, self.sleep, self.slow_every, self.slow, self.first = n, cpu, sleep, slow_every, slow, first
        self.seen = set()

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        cpu = self.cpu + (self.first if i not in self.seen else 0)
        if self.first:
            self.seen.add(i)
        if cpu:
            spin(cpu)
        pause = self.slow if self.slow_every and (i // 64) % self.slow_every == 0 else self.sleep
        if pause:
            time.sleep(pause * 1e-3)
        return torch.full((3, SIZE, SIZE), float(i % 7)), i % 10


def spin(ms):
    """CPU time, not wall time: it takes longer where others use the core."""
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass


def slow_collate(batch):
    spin(60)
    return torch.utils.data.default_collate(batch)


def model_of(width, layers=1):
    torch.manual_seed(0)
    parts = [torch.nn.Conv2d(3, width, 3, padding=1), torch.nn.ReLU()]
    for _ in range(layers - 1):
        parts += [torch.nn.Conv2d(width, width, 3, padding=1), torch.nn.ReLU()]
    parts += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(width, 10)]
    return torch.nn.Sequential(*parts)


def step_of(model, item=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(batch):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item() if item else loss

    return step


def loader_of(data, workers, batch=64, **more):
    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, num_workers=workers, **more)


SMALL, BIG = functools.partial(model_of, 4), functools.partial(model_of, 24, 3)


def equal():
    """A loader in the loop's thread of which each batch takes as long as the step."""
    step = step_of(model_of(8))
    batch = next(iter(loader_of(Rows(64), 0)))
    for _ in range(3):
        step(batch)
    at = time.perf_counter()
    for _ in range(10):
        step(batch)
    ms = (time.perf_counter() - at) * 100
    return loader_of(Rows(512, sleep=ms / 64), 1, persistent_workers=True), step


# name: (loader and step, verdicts that are true, in words). All run with one thread of PyTorch.
LOOPS = {
    "no-workers": (lambda: (loader_of(Rows(cpu=0.3), 0), step_of(SMALL())), {"input-bound"}),
    "slow-decode": (lambda: (loader_of(Rows(cpu=1.0), 2, persistent_workers=True), step_of(SMALL())),
                    {"input-bound", "shared-cores"}),
    "sleep-in-data-set": (lambda: (loader_of(Rows(sleep=1.0), 2, persistent_workers=True), step_of(SMALL())),
                          {"input-bound"}),
    "big-model": (lambda: (loader_of(Rows(), 1, persistent_workers=True), step_of(BIG())), {"compute-bound"}),
    "item-each-step": (lambda: (loader_of(Rows(), 1, persistent_workers=True), step_of(BIG(), item=True)),
                       {"compute-bound"}),
    "unbalanced-worker": (lambda: (loader_of(Rows(sleep=0.05, slow_every=4, slow=3.0), 2, persistent_workers=True),
                                   step_of(SMALL())), {"input-bound"}),
    "too-few-workers": (lambda: (loader_of(Rows(cpu=0.4, sleep=0.4), 1, persistent_workers=True), step_of(SMALL())),
                        {"input-bound"}),
    "equal-parts": (equal, {"input-bound", "compute-bound", "inconclusive", "shared-cores"}),
    "busy-neighbour": (lambda: (loader_of(Rows(cpu=0.5), 2, persistent_workers=True), step_of(SMALL())),
                       {"environment", "input-bound", "shared-cores"}),
    "first-pass-cost": (lambda: (loader_of(Rows(512, first=2.0), 0), step_of(BIG())), {"compute-bound"}),
    "collate-in-python": (lambda: (loader_of(Rows(), 1, persistent_workers=True, collate_fn=slow_collate),
                                   step_of(SMALL())), {"input-bound"}),
    "nothing-wrong": (lambda: (loader_of(Rows(cpu=0.1), 1, persistent_workers=True), step_of(BIG())),
                      {"compute-bound"}),
    "workers-start-anew": (lambda: (loader_of(Rows(1024), 2), step_of(SMALL())),
                           {"compute-bound", "input-bound", "inconclusive", "shared-cores"}),
}


def neighbour():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--text", action="store_true", help="print each diagnosis whole")
    parser.add_argument("names", nargs="*", default=list(LOOPS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    right = within = n = 0
    for _ in range(args.rounds):
        for name in args.names or LOOPS:
            make, true = LOOPS[name]
            loader, step = make()
            other = multiprocessing.get_context("fork").Process(target=neighbour, daemon=True)
            if name == "busy-neighbour":
                other.start()
            d = leat.doctor(loader, step, seconds=args.seconds)
            if name == "busy-neighbour":
                other.kill()
                other.join()
            off = d.predicted_step_ms / d.measured_step_ms - 1
            n += 1
            right += d.verdict in true
            within += abs(off) <= 0.15
            first = d.changes[0] if d.changes else None
            said = "-"
            if first:
                said = f"{first.text} {first.before_step_ms or d.measured_step_ms:.1f}"
                said += f" -> {first.predicted_step_ms:.1f} predicted" if first.predicted_step_ms else ""
                said += f", {first.measured_step_ms:.1f} measured" if first.measured_step_ms else ""
            print(f"{name:18} {'right' if d.verdict in true else 'WRONG'}  {d!r:44} {d.measured_step_ms:7.1f} ms "
                  f"{100 * off:+4.0f} %  {d.seconds:4.0f} s  {said}", flush=True)
            if args.text:
                print(d, "\n", flush=True)
            del loader, step
    print(f"{right} of {n} verdicts right, {within} of {n} step times within 15 %, {os.cpu_count()} CPUs")
    return right != n


if __name__ == "__main__":
    sys.exit(main())
