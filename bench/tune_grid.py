#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The settings that `leat tune` finds against the best of a grid.

    python3 bench/tune_grid.py --leat build/leat --config examples/demo.yaml --device cpu,sim,sim:h200

For each config and device: `leat tune` (--seconds), and `leat compare` over all combinations of worker
threads, prefetch and (on the CPU) threads of the step, three rounds. Then the config as it is, tune's
settings and the grid's best run alternating, each in a process of its own (--pairs). Prints tune's rate over
the grid's (median of the ratios of each turn, and quartiles), and both over the config's."""

import argparse
import json
import statistics
import subprocess
import tempfile


def leat_json(leat, *words):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([leat, *words, "-q", "--json", out.name], check=True, stdout=subprocess.DEVNULL)
        return json.load(open(out.name))


def lines(settings):
    return [word for line in settings for word in ("--set", line)]


def grid_best(leat, config, device, extra):
    vary = ["engine.threads=1,2,4,8,16", "pipeline.prefetch.batches=0,1,4"]
    if device == "cpu":
        vary.append("train.threads=1,2")
    words = [word for v in vary for word in ("--vary", v)]
    found = leat_json(leat, "compare", config, "--device", device, "--rounds", "3", "--steps", "20", *extra, *words)
    best = max(found["arms"], key=lambda arm: arm["samples_per_s"])
    return best["name"].split(", "), len(found["arms"])


def rate(leat, config, device, extra, settings):
    words = lines(settings)
    return leat_json(leat, "compare", config, "--device", device, "--rounds", "1", *extra, *words)["arms"][0]["samples_per_s"]


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f}-{high:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leat", default="build/leat")
    parser.add_argument("--config", action="append", required=True)
    parser.add_argument("--device", default="cpu,sim")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--seconds", default="60")
    parser.add_argument("--pairs", type=int, default=8)
    o = parser.parse_args()
    extra = lines(o.set)
    for config in o.config:
        for device in o.device.split(","):
            tuned = leat_json(o.leat, "tune", config, "--device", device, "--seconds", o.seconds, *extra)
            best, n_arms = grid_best(o.leat, config, device, extra)
            arms = {"config": [], "tune": tuned["best"]["set"], "grid": best}
            rates = {name: [] for name in arms}
            for turn in range(o.pairs):
                for name in list(arms) if turn % 2 else reversed(list(arms)):
                    rates[name].append(rate(o.leat, config, device, extra, arms[name]))
            over = lambda a, b: quartiles([x / y for x, y in zip(rates[a], rates[b])])
            print(f"{config} {device}: tune/grid {over('tune', 'grid')}, tune/config {over('tune', 'config')}, "
                  f"grid/config {over('grid', 'config')}")
            print(f"    tune ({tuned['seconds']:.0f} s, {tuned['cores_taken']:.1f} of {tuned['cores']} CPUs taken): "
                  f"{' '.join(arms['tune']) or 'as it is'}")
            print(f"    grid ({n_arms} arms): {' '.join(best)}", flush=True)


main()
