#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_slow_storage: `leat doctor` says "storage" of a disk that answers late or moves few bytes, by any reader, and the
workers' time adds up; where the page cache holds the files, it says something else. With changes it ends in its time.
Usage: LEAT_SLOW_STORAGE=1 check_slow_storage.py LEAT SLOW_FS; takes two minutes; exit code 77: it is not asked for, as other
programs would disturb it, or there is no root or /dev/fuse."""
import json
import os
import subprocess
import sys
import tempfile
import time

if not os.environ.get("LEAT_SLOW_STORAGE"):
    print("SKIPPED: it needs a quiet machine; LEAT_SLOW_STORAGE=1 runs it")
    sys.exit(77)
if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
    print("SKIPPED: mounting needs root and /dev/fuse")
    sys.exit(77)

LEAT, SLOW_FS = (os.path.abspath(path) for path in sys.argv[1:3])
CONFIG = """
source: {SOURCE}
pipeline:
  - map: {tensor: image, ops: [decode_jpeg, {random_crop: {size: [56, 56]}}, {normalize: {mean: [0.5, 0.5, 0.5], std: [1, 1, 1]}}]}
  - batch: {size: 16, drop_remainder: true}
  - prefetch: {batches: 2}
train:
  epochs: 1000
  model: [flatten, {dense: {units: 10}}]
  loss: softmax_cross_entropy
  optimizer: {sgd: {learning_rate: 0.01}}
"""
DEVICE = "sim:{kernel_min_ns: 100000, launch_ns: 1000}"
RECORDS, FILES = "tfrecord: slow/x-*.tfrecord", "images: slow/pictures"
# ms a read, MB/s of all reads, direct_io, source, engine, whether it is the storage
ROWS = [
    (0, 10, True, RECORDS, "", True),
    (0, 10, True, RECORDS, "reader: pread", True),
    (10, 1000, True, RECORDS, "reader: pread", True),
    (10, 1000, True, RECORDS, "threads: 8, reader: pread", True),
    (80, 1000, True, RECORDS, "reader: io_uring", True),
    (0, 10, True, FILES, "", True),
    (0, 10, False, RECORDS, "io: direct", True),
    (0, 10, False, RECORDS, "", False),
]


def run(*words):
    subprocess.run([LEAT, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def examine(source, engine):
    text = CONFIG.replace("SOURCE", source) + (f"engine: {{{engine}}}\n" if engine else "")
    with open("slow.yaml", "w") as to:
        to.write(text)
    run("doctor", "slow.yaml", "--quick", "--rounds", "2", "--steps", "12", "--device", DEVICE, "--json=slow.json")
    with open("slow.json") as file:
        return json.load(file)


def is_right(result, slow):
    label, parts = result["verdict"]["label"], {part["class"]: part["share"] for part in result["loader_time"]}
    if abs(sum(parts.values()) - 1) > 1e-9:
        return False
    if not slow:
        return label != "storage" and parts["storage"] < 0.25
    return label == "storage" and max(parts, key=parts.get) == "storage"


def ends_in_time(seconds):
    """Also where each read takes long."""
    begun = time.monotonic()
    run("doctor", "slow.yaml", "--seconds", str(seconds), "--device", DEVICE)
    took = time.monotonic() - begun
    print(f"{'ok' if took <= 1.2 * seconds else 'WRONG'}: {took:.1f} s, --seconds {seconds}", flush=True)
    return took <= 1.2 * seconds


def check(ms, mb_per_s, direct, source, engine, slow):
    words = [sys.executable, SLOW_FS, "fast", "slow", str(ms), str(mb_per_s)] + ["direct"] * direct
    server = subprocess.Popen(words)
    try:
        for _ in range(100):
            if os.path.ismount("slow"):
                break
            time.sleep(0.1)
        for name in [] if slow else sorted(os.listdir("slow")):
            if name.endswith(".tfrecord"):
                with open(os.path.join("slow", name), "rb") as file:
                    file.read()
        result = examine(source, engine)
        in_time = not slow or ms < 10 or ends_in_time(20)
    finally:
        subprocess.run(["umount", "-l", "slow"], check=False)
        server.wait()
    right = is_right(result, slow)
    parts = ", ".join(f"{p['class']} {100 * p['share']:.0f}" for p in result["loader_time"] if p["share"] >= 0.01)
    print(f"{'ok' if right else 'WRONG'}: {ms} ms, {mb_per_s} MB/s{', direct_io' * direct}, {source} {engine}:",
          result["verdict"]["class"], result["verdict"]["label"], f"({parts})", flush=True)
    return right and in_time


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.mkdir("slow")
    run("synth", "fast/pictures", "--n", "160", "--size", "256")
    run("convert", "images", "fast/pictures", "-o", "fast/x", "--shards", "2")
    results = [check(*row) for row in ROWS]
    os.chdir("/")
sys.exit(0 if all(results) else 1)
