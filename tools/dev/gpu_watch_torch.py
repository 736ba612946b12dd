#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_watch_torch.py: a PyTorch training whose idle time is known in two ways, to check `leat watch` on a GPU. Trains a
small ResNet on random images, waits for the loss in each step, and prints the time of a step. With --profile it does so under
torch.profiler, and prints which share of the time from the device's first event to its last some event ran.
Usage: gpu_watch_torch.py [--profile] [--steps N]; leat watch --json=watch.json -- python3 gpu_watch_torch.py"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision


def train(steps, seconds):
    torch.manual_seed(1)
    model = torchvision.models.resnet18(num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(256, 3, 64, 64).pin_memory()
    y = torch.randint(10, (256,)).pin_memory()
    for step in range(steps):
        start = time.perf_counter()
        images = x.cuda(non_blocking=True).to(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(images), y.cuda(non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)


def busy_share(profile):
    spans = sorted((e.start_ns(), e.start_ns() + e.duration_ns()) for e in profile.profiler.kineto_results.events()
                   if e.device_type() == torch.autograd.DeviceType.CUDA and e.duration_ns() > 0)
    reached, busy = spans[0][0], 0
    for start, end in spans:
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    return busy / (reached - spans[0][0]), (reached - spans[0][0]) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    seconds = []
    if options.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            train(options.steps, seconds)
            torch.cuda.synchronize()
        print("torch.profiler: busy %.2f %% of %.3f s" % (100 * busy_share(profile)[0], busy_share(profile)[1]))
    else:
        train(options.steps, seconds)
    seconds = sorted(seconds[20:])
    print("a step takes %.3f ms (median of %d)" % (1e3 * seconds[len(seconds) // 2], len(seconds)))


if __name__ == "__main__":
    main()
