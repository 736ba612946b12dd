#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a training of several processes over MPI at random moments, and continues it with fewer: 8, 6, 3 and 1. In the end its
weights must be those of a run that nobody stopped. Prints every kill; exit code 1: the weights differ, a run failed, a process
was left, or nothing was killed.

    killed_ranks.py LEAT [KILLS] [SEED] [EPOCHS] [SECONDS]     SECONDS: most before a kill; needs an mpirun, and leat built with MPI"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

CONFIG = """\
source: {tfrecord: 'x-*.tfrecord'}
pipeline:
  - shuffle: {block: 10, window: 20, streams: 24}
  - map: [decode_jpeg, {random_crop: {size: [16, 16], pad: 2}}, random_flip, normalize: {mean: [0.5], std: [0.25]}]
  - batch: 72
  - prefetch: 2
train:
  micro_batches: 24
  model: [conv2d: {filters: 8, stride: 2}, batch_norm, relu, dropout: 0.2, flatten, dense: 10]
  loss: softmax_cross_entropy
  optimizer: adam
  clip: 0.5
  average: {ema: {decay: 0.99}}
  checkpoint: {dir: c, every_steps: 3}
"""
RANKS = 8, 6, 3, 1
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1"}


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()]


def newest(folder):
    return max((int(path.stem[5:]) for path in folder.glob("step-*.safetensors")), default=0)


def main():
    leat = os.path.abspath(sys.argv[1])
    n_kills, seed, epochs, longest = (int(sys.argv[i]) if len(sys.argv) > i else default
                                      for i, default in ((2, 20), (3, 1), (4, 700), (5, 2)))
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(words, **options):
            return subprocess.run([leat, *words], cwd=folder, check=True, env=os.environ | ENVIRONMENT, **options)

        (folder / "x.yaml").write_text(CONFIG)
        run(["synth", "images", "--n", "1000", "--size", "20", "-q"], stdout=subprocess.DEVNULL)
        run(["convert", "images", "images", "-o", "x", "--shards", "4", "-q"], stdout=subprocess.DEVNULL)
        train = ["train", "x.yaml", "-q", "--epochs", str(epochs), "--resume"]
        began = time.monotonic()
        run([*train[:-1], "--save", "straight.safetensors", "--set", "train.checkpoint.dir=other"],
            stdout=subprocess.DEVNULL)
        print(f"the straight run, one process: {newest(folder / 'other')} steps, {time.monotonic() - began:.1f} s")
        killed, bad = 0, False
        for i in range(n_kills):
            ranks = RANKS[i * len(RANKS) // n_kills]
            start = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
            before = newest(folder / "c")
            with open(folder / "log", "w") as log:
                process = subprocess.Popen([*start, leat, *train, *(["--ranks", "mpi"] if start else [])], cwd=folder,
                                           env=os.environ | ENVIRONMENT, stdout=log, stderr=log)
            wait = rng.uniform(0.4, longest) if ranks > 1 else rng.uniform(0.1, 0.4)
            try:
                code = process.wait(wait)
                print(f"kill {i + 1}: the run of {ranks} had ended, code {code}")
                bad |= code != 0
                continue
            except subprocess.TimeoutExpired:
                pass
            all_ranks = children(process.pid) if start else [process.pid]
            victim = rng.choice(all_ranks or [process.pid])
            os.kill(victim, signal.SIGKILL)
            killed += 1
            at = time.monotonic()
            process.wait(60)
            left = [pid for pid in all_ranks if os.path.exists(f"/proc/{pid}/exe")]
            bad |= bool(left)
            print(f"kill {i + 1}: {ranks} ranks, after {wait:.2f} s; from step {before} to {newest(folder / 'c')}; all gone "
                  f"{time.monotonic() - at:.2f} s later" + (f", but {left}" if left else ""), flush=True)
        run([*train, "--save", "killed.safetensors"], stdout=subprocess.DEVNULL)
        same = (folder / "straight.safetensors").read_bytes() == (folder / "killed.safetensors").read_bytes()
        print(f"{killed} kills: the weights are " + ("the same bytes" if same else "OTHERS"))
        return not same or bad or not killed


sys.exit(main())
