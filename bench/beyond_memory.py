#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows of 100 floats from a file of four times the memory that there is for it, globally shuffled, by leat and by FFCV,
alternating. As root:

    python3 bench/beyond_memory.py build/leat FOLDER [PYTHON WITH FFCV]

Each arm runs in a memory control group whose limit is what the process itself needs plus a quarter of the file, so that
the page cache holds a quarter at most; it is dropped before each run. An arm reads 200 batches of 1,024 rows after
ten; 2,000 where it reads blocks (of 1 MB, and of 8 MB as FFCV's pages). Prints rows/s of elapsed time, for the disk is the limit: median and range. FOLDER, on a real disk, keeps
the files for the next time."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROWS, FLOATS, BATCH, ROUNDS = 4_000_000, 100, 1024, 3
STEPS, BLOCK_STEPS = 200, 2000  # what is read in blocks takes long enough that its first blocks do not count
GROUP = pathlib.Path("/sys/fs/cgroup/memory/leat-bench")  # version 1
LIMIT, STAT = "memory.limit_in_bytes", "rss "
if not GROUP.parent.exists():
    GROUP, LIMIT, STAT = pathlib.Path("/sys/fs/cgroup/leat-bench"), "memory.max", "anon "

WRITE = """
import sys, numpy as np
from ffcv.writer import DatasetWriter
from ffcv.fields import NDArrayField
x = np.load(sys.argv[1], mmap_mode="r")
class Rows:
    def __len__(self): return len(x)
    def __getitem__(self, i): return (np.array(x[i]),)
DatasetWriter(sys.argv[2], {"x": NDArrayField(shape=(x.shape[1],), dtype=np.dtype("float32"))},
              num_workers=2).from_indexed_dataset(Rows(), chunksize=10000)
"""
READ = """
import json, sys, time
from ffcv.loader import Loader, OrderOption
from ffcv.fields.decoders import NDArrayDecoder
from ffcv.transforms import ToTensor
path, order, batch, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
loader = Loader(path, batch_size=batch, num_workers=1, os_cache=order == "RANDOM", drop_last=True, batches_ahead=3,
                order=OrderOption[order], pipelines={"x": [NDArrayDecoder(), ToTensor()]})
for i, rows in enumerate(loader):
    if i == 0:
        print("started", flush=True)
    if i == 9:
        start = time.monotonic()
    if i == 9 + steps:
        break
seconds = time.monotonic() - start
print(json.dumps({"samples_per_s": batch * steps / seconds}))
"""
CONFIG = """
source: {{tfrecord: {{files: rows-*.tfrecord, features: {{image: {{shape: [{floats}]}}}}}}}}
pipeline: [{{shuffle: {{{shuffle}}}}}, {{batch: {{size: {batch}, drop_remainder: true}}}}, prefetch]
engine: {{threads: 1, io: {io}}}
"""


def run(command, folder, cache, waits):
    """Runs in the group; `waits`: for a line when the process has what it needs. Returns the last line as JSON."""
    (GROUP / LIMIT).write_text(str(8 << 30))
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    if not waits:
        (GROUP / LIMIT).write_text(str(cache + (64 << 20)))
    join = lambda: (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    with subprocess.Popen(command, cwd=folder, preexec_fn=join, stdout=subprocess.PIPE, text=True) as process:
        if waits:
            process.stdout.readline()
            needs = next(int(line.split()[1]) for line in (GROUP / "memory.stat").read_text().splitlines()
                         if line.startswith(STAT))
            (GROUP / LIMIT).write_text(str(cache + needs + (64 << 20)))
        out = process.stdout.read()
    if process.returncode:
        sys.exit(f"{command}: {process.returncode}")
    return json.loads(out[out.index("{"):])


def make_files(leat, folder, python):
    import numpy as np
    if not (folder / "rows.npy").exists():
        rows = np.lib.format.open_memmap(folder / "part.npy", "w+", np.float32, (ROWS, FLOATS))
        for i in range(0, ROWS, 100_000):
            rows[i:i + 100_000] = np.arange(i * FLOATS, (i + 100_000) * FLOATS).reshape(-1, FLOATS)
        rows.flush()
        os.rename(folder / "part.npy", folder / "rows.npy")
    if not list(folder.glob("rows-*.tfrecord")):
        subprocess.run([leat, "convert", "npy", folder / "rows.npy", "-o", folder / "rows", "-q"], check=True)
    if python and not (folder / "rows.beton").exists():
        subprocess.run([python, "-c", WRITE, folder / "rows.npy", folder / "part.beton"], check=True)
        os.rename(folder / "part.beton", folder / "rows.beton")


def main():
    leat, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    python = sys.argv[3] if len(sys.argv) > 3 else None
    GROUP.mkdir(exist_ok=True)
    make_files(leat, folder, python)
    cache = sum(f.stat().st_size for f in folder.glob("rows-*.tfrecord")) // 4
    arms = {}
    for name, shuffle, io, steps in (("leat", "", "buffered", STEPS), ("leat, io: direct", "", "direct", STEPS),
                                     ("leat, block: 2400", "block: 2400", "buffered", BLOCK_STEPS),
                                     ("leat, block: 19200", "block: 19200", "buffered", BLOCK_STEPS)):
        config = folder / f"{name.replace(' ', '-').replace(':', '')}.yaml"
        config.write_text(CONFIG.format(floats=FLOATS, batch=BATCH, shuffle=shuffle, io=io))
        arms[name] = ([leat, "bench", config, "--steps", str(steps), "-q", "--json"], False)
    for order, steps in (("RANDOM", STEPS), ("QUASI_RANDOM", BLOCK_STEPS)) if python else ():
        arms[f"FFCV {order}"] = ([python, "-W", "ignore", "-c", READ, folder / "rows.beton", order, str(BATCH), str(steps)], True)
    if not python:
        print("no Python with FFCV was given: leat alone")
    rates = {name: [] for name in arms}
    for turn in range(ROUNDS):
        for name in arms if turn % 2 == 0 else reversed(arms):
            command, waits = arms[name]
            rates[name].append(run(command, folder, cache, waits)["samples_per_s"])
            print(f"{time.strftime('%H:%M:%S')} {name}: {rates[name][-1]:,.0f} rows/s", file=sys.stderr)
    base = rates["leat"]
    print(f"{cache / 1e6:.0f} MB of page cache for {4 * cache / 1e6:.0f} MB of records, {ROUNDS} rounds")
    for name, of in rates.items():
        ratios = sorted(a / b for a, b in zip(base, of))
        print(f"{name:20} {statistics.median(of):12,.0f} rows/s ({min(of):,.0f}-{max(of):,.0f}), leat / this "
              f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")


main()
