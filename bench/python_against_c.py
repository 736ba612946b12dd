# SPDX-License-Identifier: MIT
"""Batches/s of a Python loop over leat_data, alternating with a loop in C that takes and releases batches (bare_loop.c).

Each round runs both for about SECONDS, in processes of their own; the ratio is of the same round. Prints medians and ranges of
the rounds, and what a batch takes longer in Python.
Usage: python_against_c.py BARE_LOOP CONFIG|rows TO[,TO]... THREADS ROUNDS SECONDS [PATH=VALUE]...     (PYTHONPATH has leat_data; TO:
numpy, torch, none; "rows": shuffled rows of 100 floats in memory, in batches of 32)
"""

import statistics
import subprocess
import sys
import time


def in_python(config, to, threads, n, n_warm_up, *settings):
    """Batches/s; of this process."""
    import leat_data as leat

    to = None if to == "none" else to
    if config == "rows":
        import numpy

        rows = leat.from_arrays({"x": numpy.ones((65536, 100), numpy.float32)}, engine={"threads": int(threads)})
        loader = rows.shuffle().batch(32).prefetch(2).loader(to)
    else:
        loader = leat.Loader(config, to, set=dict(s.split("=", 1) for s in (f"engine.threads={threads}", *settings)))
    n, start, taken = int(n), None, 0
    mark = warm_up = int(n_warm_up)  # a loop that is left early would start the pipeline anew within the measured time
    while True:
        for _ in loader:
            taken += 1
            if taken == mark:
                if start:
                    return n / (time.monotonic() - start)
                start, mark = time.monotonic(), warm_up + n


def run(*words):
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def spread(name, values):
    return f"{name} {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main(bare_loop, config, forms, threads, rounds, seconds, *settings):
    forms = forms.split(",")
    rate = run(bare_loop, config, threads, "100", *settings)
    n, n_warm_up = (str(max(20, int(rate * s))) for s in (float(seconds), 0.3))
    arms = {"C": [bare_loop, config, threads, n, *settings]}
    arms |= {to: [sys.executable, __file__, "--one", config, to, threads, n, n_warm_up, *settings] for to in forms}
    rates = {arm: [] for arm in arms}
    for i in range(int(rounds)):
        for arm in list(arms) if i % 2 == 0 else reversed(arms):
            rates[arm].append(run(*arms[arm]))
    us = {arm: [1e6 / rate for rate in rates[arm]] for arm in arms}
    print(spread("C: µs per batch", us["C"]))
    for to in forms:
        print(spread(f"{to}: µs per batch", us[to]),
              spread("more than C", [a - b for a, b in zip(us[to], us["C"])]),
              spread("ratio", [b / a for a, b in zip(us[to], us["C"])]), sep="; ")


if sys.argv[1] == "--one":
    print(in_python(*sys.argv[2:]))
else:
    main(*sys.argv[1:])
