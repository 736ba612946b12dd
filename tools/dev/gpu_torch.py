#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_torch.py: the models of leat-gpu-check's training benchmarks in PyTorch, on the same GPU: eager, compiled and
as a CUDA graph; the batch is on the GPU already. gpu_check runs it. Writes FILE anew after each line, so that a run
that is cut short keeps what it measured; begins no line after SECONDS. Usage: gpu_torch.py FILE [SECONDS]"""
import json
import sys
import time

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError:
    sys.exit("this machine's Python has no PyTorch")

torch.backends.cudnn.benchmark = True


class Bottleneck(nn.Module):
    def __init__(self, n_in, n, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n, 1, bias=False), nn.BatchNorm2d(n), nn.ReLU(inplace=True),
            nn.Conv2d(n, n, 3, stride, 1, bias=False), nn.BatchNorm2d(n), nn.ReLU(inplace=True),
            nn.Conv2d(n, 4 * n, 1, bias=False), nn.BatchNorm2d(4 * n))
        self.short = nn.Identity()
        if stride != 1 or n_in != 4 * n:
            self.short = nn.Sequential(nn.Conv2d(n_in, 4 * n, 1, stride, bias=False),
                                       nn.BatchNorm2d(4 * n))

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x), inplace=True)


def resnet50(classes):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    n_in = 64
    for stage, (n, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for i in range(blocks):
            layers.append(Bottleneck(n_in, n, 2 if stage and i == 0 else 1))
            n_in = 4 * n
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


def cifar():
    layers, n_in = [], 3
    for n in (32, 64, 128):
        layers += [nn.Conv2d(n_in, n, 3, padding=1, bias=False), nn.BatchNorm2d(n),
                   nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        n_in = n
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 10))


def mlp():
    return nn.Sequential(nn.Linear(100, 128), nn.ReLU(), nn.Linear(128, 10))


def make_step(model, x, y, precision, mode):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, foreach=True)

    def loss_of(x, y):
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            return F.cross_entropy(model(x), y)

    compute = torch.compile(loss_of) if mode == "compile" else loss_of

    def step():
        optimizer.zero_grad(set_to_none=mode != "graph")
        compute(x, y).backward()
        optimizer.step()

    if mode != "graph":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(make, shape, classes, precision, mode, seconds=1.0):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.manual_seed(1)
    model, x = make().cuda(), torch.randn(*shape, device="cuda")
    if len(shape) == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(
            memory_format=torch.channels_last)
    y = torch.randint(classes, (shape[0],), device="cuda")
    start = time.perf_counter()
    step = make_step(model, x, y, precision, mode)
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    n = max(5, min(20000, int(seconds / (time.perf_counter() - start + 1e-9))))
    start = time.perf_counter()
    for _ in range(n):
        step()
    host = time.perf_counter() - start
    torch.cuda.synchronize()
    wall = time.perf_counter() - start
    return {"first_s": first, "step_us": wall / n * 1e6, "host_us": host / n * 1e6,
            "samples_per_s": shape[0] * n / wall}


def main():
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    lines = []
    r224 = lambda mode: ("r224_bf16", lambda: resnet50(1000), (256, 3, 224, 224), 1000, "bf16", mode)
    r32 = lambda precision, mode: ("r32_" + precision, lambda: resnet50(10), (128, 3, 32, 32), 10, precision, mode)
    small = lambda mode: ("mlp", mlp, (10, 100), 10, "fp32", mode)
    # What says most comes first: compiling takes a minute for each of the large ones.
    plan = [r224("eager"), r224("compile"), r224("graph"), small("eager"), small("graph"), r32("bf16", "graph"),
            r32("bf16", "compile"), r32("bf16", "eager"), r32("fp32", "graph"), r32("tf32", "graph"),
            ("cifar_bf16", cifar, (128, 3, 32, 32), 10, "bf16", "graph"), small("compile"), r32("fp32", "eager"),
            r32("fp32", "compile"), ("cifar_bf16", cifar, (128, 3, 32, 32), 10, "bf16", "compile")]
    until = time.time() + (float(sys.argv[2]) if len(sys.argv) > 2 else 1e9)
    for name, make, shape, classes, precision, mode in plan:
        if time.time() > until:
            print("torch %-10s %-8s not run: the time is over" % (name, mode))
            continue
        line = {"name": name, "mode": mode, "torch": torch.__version__}
        try:
            line.update(measure(make, shape, classes, precision, mode))
            print("torch %-10s %-8s %10.0f samples/s %10.1f us a step, host %.1f" %
                  (name, mode, line["samples_per_s"], line["step_us"], line["host_us"]), flush=True)
        except Exception as error:  # one arm that fails costs its own line
            line["error"] = str(error)[:300]
            print("torch %-10s %-8s failed: %s" % (name, mode, line["error"].split("\n")[0]),
                  flush=True)
        lines.append(line)
        with open(sys.argv[1], "w") as to:
            json.dump(lines, to, indent=1)


if __name__ == "__main__":
    main()
