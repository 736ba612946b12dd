#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_tensorboard: TensorBoard's own reader gets from the event files of `leat train --log` what stands in
log.jsonl, of a run and of one that goes on, and the picture of the batch.
Usage: check_tensorboard.py LEAT; exit code 77: the Python package tensorboard is missing."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    print(f"SKIPPED: {missing}; install the package tensorboard to run this check")
    sys.exit(77)

CONFIG = """
source: {tfrecord: "x-*.tfrecord"}
pipeline:
  - map: [decode_jpeg, {resize: [16, 16]}, {normalize: {mean: [0.5, 0.5, 0.5], std: [1, 1, 1]}}]
  - batch: {size: 10, drop_remainder: true}
train:
  epochs: 2
  model: [flatten, {dense: {units: 10}}]
  loss: softmax_cross_entropy
  optimizer: {sgd: {learning_rate: 0.01}}
"""
NOT_CURVES = {"step", "epoch", "steps", "measured_steps", "time_s"}


def run(*words):
    subprocess.run([sys.argv[1], *words], check=True, stdout=subprocess.DEVNULL)


def expected(path):
    """(tag, step) -> value; lines of later steps than a run begins with are void."""
    values = {}
    for line in map(json.loads, open(path)):
        kind, step = line["kind"], line["step"]
        if kind == "run":
            values = {place: value for place, value in values.items() if place[1] <= step}
            continue
        for key, value in line.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in NOT_CURVES:
                values[f"{kind}/{key}", step] = value
    return values


def compare(folder):
    reader = EventAccumulator(folder, size_guidance={"scalars": 0, "images": 0})
    reader.Reload()
    found = {(tag, event.step): event.value for tag in reader.Tags()["scalars"] for event in reader.Scalars(tag)}
    wanted = expected(f"{folder}/log.jsonl")
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    for place, value in wanted.items():
        assert math.isclose(found[place], value, rel_tol=1e-6, abs_tol=1e-30), (place, value, found[place])
    picture = reader.Images("batch")[-1]
    with open(f"{folder}/batch.png", "rb") as file:
        png = file.read()
    assert picture.encoded_image_string == png
    assert struct.unpack(">II", png[16:24]) == (picture.width, picture.height)
    return len(found)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("x.yaml", "w") as file:
        file.write(CONFIG)
    run("synth", "set", "--n", "200", "--size", "16", "-q")
    run("convert", "images", "set", "-o", "x", "-q")
    train = ("train", "x.yaml", "--log", "runs/a", "--log-every", "4", "-q")
    run(*train, "--save", "x.st")
    n = compare("runs/a")
    run(*train, "--restore", "x.st", "--start-epoch", "1", "--start-batch", "6")
    n += compare("runs/a")
    print(f"TensorBoard reads {n} values as they are in log.jsonl")
