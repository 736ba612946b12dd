#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training steps of leat, PyTorch and Keras on the same cores, alternating.

    TORCH/bin/python bench/train_peers.py mlp --leat build/leat --keras TF/bin/python --turns 5 --out mlp.json
    TORCH/bin/python bench/train_peers.py mlp --out mlp.json     # only prints the table of what was measured

Jobs: mlp (100-128-10, batch 10, Adam), cnn (the model of examples/cifar10.yaml, batch 128, Adam), resnet18 (on 32 x 32, batch 64,
SGD with momentum). Same model, batch and optimiser in all arms; inputs are random.

PyTorch and Keras have as many batches ready as tensors in memory, and run their steps in a process that waits between its turns. leat's
arm is `leat train` anew in each turn, its samples/s in steady state; they include its loader (shuffled rows of a .npy file). All
arms are bound to --cores, with one thread for computing on each.

    torch           eager; images channels_last; fused optimiser
    contiguous      images and weights in PyTorch's own layout (NCHW) instead of channels_last
    torch compile   torch.compile of the model with its loss; fused optimiser
    max             torch.compile with mode="max-autotune"
    torch compiled2 the same, and torch.compile of the (foreach) optimiser's step
    keras           one tf.function for the step
    keras xla       the same with jit_compile
    keras fit       Model.fit of arrays
    bf16            autocast to bfloat16, or leat's precision: bf16

Each call appends its turns to --out, so that long jobs can be measured in pieces. Ratios are taken turn by turn."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

JOBS = {
    "mlp": {"shape": [100], "batch": 10, "rows": 10000, "seconds": 1.5, "steps": 80000,
            "optimizer": "{adam: {learning_rate: 1.0e-3}}",
            "model": "[dense: 128, relu, dense: 10]",
            "arms": ["leat", "torch", "torch compile", "torch compile max", "torch compiled2", "keras", "keras xla", "keras fit"]},
    "cnn": {"shape": [32, 32, 3], "batch": 128, "rows": 3840, "seconds": 2.5, "steps": 90,
            "optimizer": "{adam: {learning_rate: 2.0e-3}}",
            "model": "[" + ", ".join(f"conv2d: {{filters: {n}, kernel: 3, padding: same, bias: false}}, batch_norm, relu, "
                                     "max_pool: 2" for n in (32, 64, 128)) + ", flatten, dense: 10]",
            "arms": ["leat", "leat bf16", "torch", "torch contiguous", "torch bf16", "torch compile",
                     "torch compile contiguous", "torch compile max", "torch compile bf16", "keras", "keras xla"]},
    "resnet18": {"shape": [32, 32, 3], "batch": 64, "rows": 640, "seconds": 4, "steps": 10,
                 "optimizer": "{sgd: {learning_rate: 0.01, momentum: 0.9}}",
                 "model": "{resnet18: {classes: 10}}",
                 "arms": ["leat", "leat bf16", "torch", "torch contiguous", "torch bf16", "torch compile",
                          "torch compile contiguous", "torch compile max", "torch compile bf16"]},
}


def batches(job):
    rng = np.random.default_rng(1)
    return [(rng.standard_normal([job["batch"], *job["shape"]], np.float32),
             rng.integers(0, 10, job["batch"], np.int64)) for _ in range(job["rows"] // job["batch"])]


# --- PyTorch ----------------------------------------------------------------------------------------------------------------


def torch_model(name):
    from torch import nn

    if name == "mlp":
        return nn.Sequential(nn.Linear(100, 128), nn.ReLU(), nn.Linear(128, 10))
    if name == "resnet18":
        import torchvision

        model = torchvision.models.resnet18(num_classes=10)
        model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.Identity()
        return model
    layers, n_in = [], 3
    for n in (32, 64, 128):
        layers += [nn.Conv2d(n_in, n, 3, padding=1, bias=False), nn.BatchNorm2d(n), nn.ReLU(), nn.MaxPool2d(2)]
        n_in = n
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 10))


def n_cores():
    """As many threads as the cores to which this process is bound."""
    return len(os.sched_getaffinity(0))


def torch_step(name, arm):
    import torch

    torch.set_num_threads(n_cores())
    job, image = JOBS[name], len(JOBS[name]["shape"]) == 3
    model = torch_model(name)
    data = [(torch.tensor(x), torch.tensor(y)) for x, y in batches(job)]
    if image:
        layout = torch.contiguous_format if "contiguous" in arm else torch.channels_last
        model = model.to(memory_format=layout)
        data = [(x.permute(0, 3, 1, 2).contiguous(memory_format=layout), y) for x, y in data]
    whole = "compiled2" in arm
    how = {"foreach": True} if whole else {"fused": True}
    optimizer = (torch.optim.SGD(model.parameters(), 0.01, 0.9, **how) if name == "resnet18"
                 else torch.optim.Adam(model.parameters(), 1e-3, **how))

    def loss_of(x, y):
        with torch.autocast("cpu", torch.bfloat16, enabled="bf16" in arm):
            return torch.nn.functional.cross_entropy(model(x), y)

    if "compile" in arm:
        loss_of = torch.compile(loss_of, mode="max-autotune" if "max" in arm else None)
    update = torch.compile(optimizer.step) if whole else optimizer.step

    def step(i):
        loss_of(*data[i % len(data)]).backward()
        update()
        optimizer.zero_grad(set_to_none=True)

    return step, 1


# --- Keras ------------------------------------------------------------------------------------------------------------------


def keras_model(name):
    import keras
    from keras import layers

    if name == "mlp":
        return keras.Sequential([keras.Input((100,)), layers.Dense(128, "relu"), layers.Dense(10)])
    parts = [keras.Input((32, 32, 3))]
    for n in (32, 64, 128):
        parts += [layers.Conv2D(n, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(),
                  layers.MaxPooling2D(2)]
    return keras.Sequential([*parts, layers.Flatten(), layers.Dense(10)])


def keras_step(name, arm):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(n_cores())
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model, optimizer = keras_model(name), keras.optimizers.Adam(1e-3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if arm == "keras fit":
        x, y = (np.concatenate(a) for a in zip(*batches(JOBS[name])))
        model.compile(optimizer, loss)
        return lambda i: model.fit(x, y, batch_size=JOBS[name]["batch"], verbose=0), len(x) // JOBS[name]["batch"]
    data = [(tf.constant(x), tf.constant(y)) for x, y in batches(JOBS[name])]
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile="xla" in arm)
    def one(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value

    return lambda i: one(*data[i % len(data)]), 1


# --- turns ------------------------------------------------------------------------------------------------------------------


def serve(name, arm):
    """A line "SECONDS" in, a line with steps a second out."""
    step, steps_each = (torch_step if arm.startswith("torch") else keras_step)(name, arm)
    for i in range(3):
        step(i)
    print("ready", flush=True)
    for line in sys.stdin:
        n, warm, start = 0, 0.2 * float(line), time.perf_counter()
        while time.perf_counter() < start + warm:
            step(n)
            n += 1
        n, start = 0, time.perf_counter()
        while n == 0 or time.perf_counter() < start + float(line):
            step(n)
            n += 1
        print(n * steps_each / (time.perf_counter() - start), flush=True)


def leat_turn(a, job, arm, folder):
    command = ["taskset", "-c", a.cores, a.leat, "train", os.path.join(folder, "job.yaml"), "-q", "--json", "-", "--steps",
               str(job["steps"]), "--set", f"train.threads={len(a.cores.split(','))}"]
    if "bf16" in arm:
        command += ["--set", "train.precision=bf16"]
    out = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rates = [e["samples_per_s"] for e in out["epochs"] if e["samples_per_s"]]
    return statistics.median(rates) / job["batch"]


def write_job(job, folder):
    rng = np.random.default_rng(2)
    np.save(os.path.join(folder, "x.npy"), rng.standard_normal([job["rows"], *job["shape"]], np.float32))
    np.save(os.path.join(folder, "y.npy"), rng.integers(0, 10, job["rows"], np.int64))
    with open(os.path.join(folder, "job.yaml"), "w") as f:
        f.write(f"""source: {{npy: {{files: "{folder}/x.npy", labels: "{folder}/y.npy"}}}}
pipeline: [cache, shuffle, batch: {{size: {job['batch']}, drop_remainder: true}}, prefetch: 2]
engine: {{threads: 0}}
train: {{epochs: 1000, threads: 1, model: {job['model']}, loss: softmax_cross_entropy, optimizer: {job['optimizer']}}}
""")


def measure(a, job, arms):
    children, turns = {}, []
    for arm in arms:
        if arm.startswith("leat"):
            continue
        python = a.keras if arm.startswith("keras") else sys.executable
        children[arm] = subprocess.Popen(["taskset", "-c", a.cores, python, __file__, a.job, "--serve", arm], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        start = time.time()
        if children[arm].stdout.readline() != "ready\n":
            sys.exit(f"{arm} does not start")
        print(f"{arm}: ready after {time.time() - start:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_job(job, folder)
        for t in range(a.turns):
            turn = {}
            for arm in arms[t % len(arms):] + arms[: t % len(arms)]:
                if arm.startswith("leat"):
                    turn[arm] = leat_turn(a, job, arm, folder)
                else:
                    print(job["seconds"], file=children[arm].stdin, flush=True)
                    turn[arm] = float(children[arm].stdout.readline())
            turns.append(turn)
            with open(a.out, "a") as f:
                print(json.dumps(turn), file=f)
    for child in children.values():
        child.stdin.close()
        child.wait()


def quartiles(values):
    q = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{statistics.median(values):,.3g} ({q[0]:,.3g}–{q[2]:,.3g})" if q[1] < 1000 else \
        f"{statistics.median(values):,.0f} ({q[0]:,.0f}–{q[2]:,.0f})"


def table(a, job):
    with open(a.out) as f:
        turns = [json.loads(line) for line in f]
    print("| arm | turns | steps/s, median (quartiles) | leat / arm | leat bf16 / arm |\n| --- | --- | --- | --- | --- |")
    for arm in job["arms"]:
        row = [t for t in turns if arm in t]
        cells = [quartiles([t[base] / t[arm] for t in row if base in t]) if any(base in t for t in row) else ""
                 for base in ("leat", "leat bf16")]
        if row:
            print(f"| {arm} | {len(row)} | {quartiles([t[arm] for t in row])} | {cells[0]} | {cells[1]} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("job", choices=JOBS)
    p.add_argument("--leat", default="build/leat")
    p.add_argument("--keras", default=sys.executable, help="a Python that has TensorFlow")
    p.add_argument("--cores", default="1", help="as for taskset, such as 0,1: one thread each")
    p.add_argument("--turns", type=int, default=0)
    p.add_argument("--arms", help="comma-separated; default: all")
    p.add_argument("--out", required="--serve" not in sys.argv)
    p.add_argument("--serve", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.serve:
        return serve(a.job, a.serve)
    job = JOBS[a.job]
    if a.turns:
        measure(a, job, a.arms.split(",") if a.arms else job["arms"])
    table(a, job)


if __name__ == "__main__":
    main()
