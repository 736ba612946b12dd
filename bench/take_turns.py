# SPDX-License-Identifier: MIT
"""Arms of a benchmark that are processes of their own and take turns: first to last, then last to first, and so on.

A script that imports this runs itself: `--one ARM` measures one arm and prints a JSON object as its last line."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time


def busy_s():
    """CPU seconds of all programs of this machine, and of this one's children that have ended."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, soft = map(int, stat.readline().split()[1:8])
    mine = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK"), mine.ru_utime + mine.ru_stime


def run(arms, turns, script, words, save=None):
    """{arm: [what it printed, once per turn]}. An arm that fails costs its own run, and its error is shown. A run that
    other programs disturbed shows by others_cores, the cores that they used.
    words    arguments of the script besides --one
    save     file that has all results so far after each run"""
    got = {arm: [] for arm in arms}
    for turn in range(turns):
        for arm in arms if turn % 2 == 0 else reversed(arms):
            start, before = time.monotonic(), busy_s()
            done = subprocess.run([sys.executable, "-W", "ignore", script, *words, "--one", arm], capture_output=True,
                                  text=True)
            busy, mine = (now - then for now, then in zip(busy_s(), before))
            if done.returncode:
                print(turn, arm, "failed:", done.stderr[-1500:], flush=True)
                continue
            got[arm].append(json.loads(done.stdout.splitlines()[-1]))
            got[arm][-1]["others_cores"] = round(max(0, busy - mine) / (time.monotonic() - start), 2)
            print(turn, arm, got[arm][-1], flush=True)
            if save:
                with open(save, "w") as to:
                    json.dump(got, to, indent=1)
    return got


def rates(runs, alone, key):
    """Columns of a table: median of key, lowest to highest, and the median share of `alone`, run by run ("" where an arm
    has not as many runs)."""
    values = [r[key] for r in runs]
    share = f"{statistics.median(v / a[key] for v, a in zip(values, alone)):.2f}" if len(alone) == len(runs) else ""
    return f"{statistics.median(values):,.0f} | {min(values):,.0f} to {max(values):,.0f} | {share}"
