#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_watch_torch.py: a PyTorch training whose idle time is known in two ways, to check `leat watch` on a GPU. Trains a
ResNet on random images in bfloat16, waits for the loss in each step, and prints the time of a step. With --profile it does so
under torch.profiler, and prints how long kernels ran (the union of their intervals, with sets and moves of the device's memory).
Usage: gpu_watch_torch.py [--profile] [--model resnet18] [--size 64] [--batch 256] [--steps 300];
leat watch --json=watch.json -- python3 gpu_watch_torch.py"""
import argparse
import json
import os
import tempfile
import time

import torch
import torch.nn.functional as F
import torchvision


def train(options, seconds):
    torch.manual_seed(1)
    model = getattr(torchvision.models, options.model)(num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(options.batch, 3, options.size, options.size).pin_memory()
    y = torch.randint(10, (options.batch,)).pin_memory()
    for _ in range(options.steps):
        start = time.perf_counter()
        images = x.cuda(non_blocking=True).to(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(images), y.cuda(non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)


def union(spans):
    reached, busy = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def kernels_of(profile):
    """Intervals in seconds. The trace has annotations (Optimizer.step) on the device's rows, too, which span gaps."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(file)
        with open(file) as f:
            events = json.load(f)["traceEvents"]
    return [(e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6) for e in events
            if e.get("cat") in ("kernel", "gpu_memset") or (e.get("cat") == "gpu_memcpy" and "DtoD" in e["name"])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    seconds = []
    if options.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            train(options, seconds)
            torch.cuda.synchronize()
        spans = kernels_of(profile)
        print("torch.profiler: busy for %.4f s, %d kernels, sets and moves" % (union(spans), len(spans)))
    else:
        train(options, seconds)
    seconds = sorted(seconds[20:])
    print("a step takes %.3f ms (median of %d)" % (1e3 * seconds[len(seconds) // 2], len(seconds)))


if __name__ == "__main__":
    main()
