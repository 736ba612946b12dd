# SPDX-License-Identifier: MIT
"""Arms of a benchmark that are processes of their own and take turns: first to last, then last to first, and so on.

A script that imports this runs itself: `--one ARM` measures one arm and prints a JSON object as its last line."""

import json
import statistics
import subprocess
import sys


def run(arms, turns, script, words, save=None):
    """{arm: [what it printed, once per turn]}. An arm that fails costs its own run, and its error is shown.
    words    arguments of the script besides --one
    save     file that has all results so far after each run"""
    got = {arm: [] for arm in arms}
    for turn in range(turns):
        for arm in arms if turn % 2 == 0 else reversed(arms):
            done = subprocess.run([sys.executable, "-W", "ignore", script, *words, "--one", arm], capture_output=True,
                                  text=True)
            if done.returncode:
                print(turn, arm, "failed:", done.stderr[-1500:], flush=True)
                continue
            got[arm].append(json.loads(done.stdout.splitlines()[-1]))
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
