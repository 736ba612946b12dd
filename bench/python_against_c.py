# SPDX-License-Identifier: MIT
"""Samples/s of a Python loop over leat_data, alternating with `leat bench`, whose consumer is a C loop that does nothing.

Each round runs both for about SECONDS; the ratio is of the same round. Prints the median and the range of the rounds, and what a
batch takes longer than in `leat bench`, which itself takes some µs for each.
Usage: python_against_c.py LEAT CONFIG TO ROUNDS SECONDS [PATH=VALUE]...     (PYTHONPATH has leat_data; TO: numpy, torch, none)
"""

import json
import statistics
import subprocess
import sys
import time

import leat_data

command, config, to, rounds, seconds, *settings = sys.argv[1:]


def in_python(n):
    loader = leat_data.Loader(config, None if to == "none" else to, set=dict(s.split("=", 1) for s in settings))
    warm_up = time.monotonic() + 0.3
    start, samples = None, 0
    while True:
        for batch in loader:
            rows = batch.rows
            if start is not None:
                samples += rows
                if samples >= n:
                    loader.close()
                    return samples / (time.monotonic() - start)
            elif time.monotonic() > warm_up:
                start = time.monotonic()


def in_c(steps):
    given = [word for s in settings for word in ("--set", s)]
    out = subprocess.run([command, "bench", config, "--steps", str(steps), "--json", *given], check=True,
                         capture_output=True, text=True)
    return json.loads(out.stdout[out.stdout.index("{"):])["samples_per_s"]


batch_size = leat_data.Loader(config, set=dict(s.split("=", 1) for s in settings)).plan["batch_size"]
rate = in_c(200)
steps = max(20, int(rate * float(seconds) / batch_size))
ratios, more = [], []
for i in range(int(rounds)):
    pair = [lambda: in_c(steps), lambda: in_python(steps * batch_size)]
    got = [run() for run in pair] if i % 2 == 0 else [run() for run in reversed(pair)][::-1]
    ratios.append(got[1] / got[0])
    more.append(1e6 * batch_size * (1 / got[1] - 1 / got[0]))
    print(f"C {got[0]:,.0f}, Python ({to}) {got[1]:,.0f} samples/s: {ratios[-1]:.3f}", flush=True)
print(f"ratio: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}; "
      f"{statistics.median(more):.2f} µs more per batch, {min(more):.2f} to {max(more):.2f}")
