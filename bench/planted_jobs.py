#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs with a planted limit each, what `leat doctor` says of them, and whether it is right.

    planted_jobs.py --leat build/leat [--seeds 3] [--turns 3] [--jobs NAME,…] [--json FILE] [--guesses]

Of each job whole runs (`leat compare` with two rounds, in a process of its own) measure the job as it is, a small grid of
edits, and the doctor's first three suggestions, whose values are set. All take turns. So what is
best, and what an edit gains, is not the doctor's own measurement. A table says of each job: verdict right; first edit
within 5 % of the best that was found; such an edit among the first three; the errors of tried predictions; the
gains that were only predicted, and whether the true ones are inside their ranges; seconds. --guesses asks only
`leat doctor --quick`, which tries nothing, and measures no grid: how many true gains are inside of their ranges."""

import argparse
import array
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NEAR = 0.05  # an edit is as good as the best if its rate is within 5 % of it
RIGHT = 0.15  # a tried prediction is right within 15 %
LEAST = 1.03  # a smaller gain is none

# --- data ------------------------------------------------------------------------------------------


def quiet(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def write_npy(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(path, "wb") as to:
        to.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def make_arrays(name, n, shape, kind):
    values = 1
    for side in shape:
        values *= side
    data = os.urandom(n * values) if kind == "|u1" else array.array("f", [i % 97 / 97 for i in range(n * values)]).tobytes()
    write_npy(f"{name}.npy", kind, (n, *shape), data)
    write_npy(f"{name}-labels.npy", "<i8", (n,), array.array("q", [i % 10 for i in range(n)]).tobytes())


def make_pictures(leat, name, n, size, mixed=()):
    """mixed: (n, size) of other pictures among them, in random order."""
    quiet(leat, "synth", f"{name}-files", "--n", str(n), "--size", str(size))
    for more, side in mixed:
        quiet(leat, "synth", f"{name}-more", "--n", str(more), "--size", str(side), "--seed", "2")
        for folder in os.listdir(f"{name}-more"):
            for file in os.listdir(f"{name}-more/{folder}"):
                os.rename(f"{name}-more/{folder}/{file}", f"{name}-files/{folder}/big-{file}")
    quiet(leat, "convert", "images", f"{name}-files", "-o", f"{name}/x", "--shards", "2", "--shuffle", "1")


def make_data(leat):
    for name, n, size in ("small", 2000, 64), ("photos", 800, 256), ("large", 240, 640):
        os.makedirs(name)
        make_pictures(leat, name, n, size)
    os.makedirs("mixed")
    make_pictures(leat, "mixed", 1980, 64, [(20, 2560)])
    make_arrays("rows", 20000, (100,), "<f4")
    make_arrays("few", 64, (100,), "<f4")
    make_arrays("pixels", 4000, (48, 48, 3), "|u1")
    quiet(leat, "convert", "npy", "{files: pixels.npy, labels: pixels-labels.npy}", "-o", "photos/p", "--shards", "2")
    os.makedirs("slow")


# --- jobs ------------------------------------------------------------------------------------------

PHOTOS, LARGE, SMALL, MIXED = (f"tfrecord: {name}/x-*.tfrecord" for name in ("photos", "large", "small", "mixed"))
TWO = ("tfrecord: {files: large/x-*.tfrecord, features: {image: {key: image/encoded, type: bytes}, whole: {key: image/encoded, "
       "type: bytes}, label: {key: image/class/label, type: int64}}}")
SLOW = "tfrecord: slow/x-*.tfrecord"
SMALL_ON_SLOW = "tfrecord: {files: slow/p-*.tfrecord, features: {image: {}, label: {shape: []}}}"
ROWS, FEW, PIXELS = (f"npy: {{files: {name}.npy, labels: {name}-labels.npy}}" for name in ("rows", "few", "pixels"))
FAST = "sim:{kernel_min_ns: 200000, launch_ns: 1000}"  # a step of a dense layer takes 0.8 ms
WIDE = "sim:{kernel_min_ns: 25000, launch_ns: 1000, copy_bytes_per_s: 5e10}"  # one of 0.1 ms; fast copies
DENSE = "[flatten, {dense: {units: 10}}]"
MLP = "[{dense: {units: 128}}, relu, {dense: {units: 10}}]"
CNN = """[{conv2d: {filters: 16, kernel: 3, padding: same}}, relu, {max_pool: {size: 2}},
    {conv2d: {filters: 16, kernel: 3, padding: same}}, relu, global_avg_pool, {dense: {units: 10}}]"""
BIG = """[{conv2d: {filters: 64, kernel: 3, padding: same}}, relu, {conv2d: {filters: 64, kernel: 3, padding: same}},
    relu, {conv2d: {filters: 64, kernel: 3, padding: same}}, relu, global_avg_pool, {dense: {units: 10}}]"""
UNIT = "{normalize: {mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}}"


def kernels(ms):
    """A device on which the four kernels of a dense layer take so long together."""
    return f"sim:{{kernel_min_ns: {int(ms * 250000)}, launch_ns: 1000}}"


def maps(*ops):
    return "map: [" + ", ".join(ops) + "]"


class Job:
    def __init__(self, source, stages, verdict, grid=(), batch=32, prefetch=2, device="cpu", model=DENSE, engine="", train="",
                 epochs=1000, slow=None, busy=0, by_seed=False):
        """verdict: pattern of "class (label)"; grid: edits, each a list of values, or a function of the pipeline's
        entries to others; slow: ms a read and MB/s; busy: other programs that compute, while the doctor measures and while
        gains are; by_seed: gains depend on the order of the samples, so those of each answer are measured with its seed."""
        self.source, self.verdict, self.grid, self.slow, self.busy = source, verdict, list(grid), slow, busy
        self.by_seed = by_seed
        self.stages = [*stages, f"batch: {{size: {batch}, drop_remainder: true}}"]
        self.stages += [f"prefetch: {{batches: {prefetch}}}"]
        self.engine, self.device, self.model, self.train, self.epochs = engine, device, model, train, epochs

    def write(self, path, seed, stages=None):
        lines = "".join("  - " + stage.replace("\n", "\n    ") + "\n" for stage in stages or self.stages)
        with open(path, "w") as to:
            to.write(f"seed: {seed}\nsource: {{{self.source}}}\nengine: {{{self.engine}}}\npipeline:\n{lines}"
                     f"train:\n  device: '{self.device}'\n  epochs: {self.epochs}\n{self.train}  model: {self.model}\n"
                     "  loss: softmax_cross_entropy\n  optimizer: {sgd: {learning_rate: 0.01}}\n")


def cached(at):
    """A cache before entry `at` of the pipeline."""
    return [f"pipeline[{at}]+=cache"]


def divided(at, *parts):
    """The map at `at` in two, with a cache between them."""
    return lambda stages: [*stages[:at], parts[0], "cache", parts[1], *stages[at + 1:]]


def threads(*counts):
    return [[f"engine.threads={n}"] for n in counts]


def ahead(*counts):
    return [[f"pipeline.prefetch.batches={n}"] for n in counts]


def cores(*pairs):
    return [[f"engine.threads={w}", f"train.threads={t}"] for w, t in pairs]


SHRINK = maps("decode_jpeg", "{resize: {size: [64, 64]}}", UNIT)
AUGMENT = ("{random_crop: {size: [64, 64], pad: 8}}", "random_flip", UNIT)
TWICE = ("decode_jpeg", "{resize: {size: [480, 480], interpolation: bicubic}}", "{resize: {size: [64, 64]}}", UNIT)

JOBS = {
    "decode": Job(PHOTOS, ["shuffle", SHRINK], r"input-bound \(decode: cpu-saturated", [cached(2), *threads(1, 4), *ahead(8)],
                  device=FAST),
    "two resizes": Job(LARGE, ["shuffle", maps(*TWICE)], r"input-bound \((decode|map): cpu-saturated",
                       [cached(2), divided(1, maps(*TWICE[:1]), maps(*TWICE[1:])), *threads(1, 4)], batch=8, device=FAST),
    "augmentation": Job(PIXELS, ["shuffle", maps("{random_rotation: {degrees: 20}}", "color_jitter", "random_flip",
                                                 "{normalize: {}}")],
                        r"input-bound \(augment: cpu-saturated", [*threads(1, 4), *ahead(8)], batch=128, device=WIDE),
    "slow disk, default reader": Job(SLOW, ["shuffle", SHRINK], r"input-bound \(storage",
                                     [cached(2), *threads(32), ["engine.read_bytes=256MiB"]], batch=16, device=FAST, slow=(40, 1000)),
    "slow disk, pread": Job(SLOW, ["shuffle", SHRINK], r"input-bound \(storage",
                            [cached(2), *threads(64), ["engine.reader=io_uring"]], batch=16, device=FAST,
                            engine="reader: pread", slow=(10, 1000)),
    "slow disk, few bytes": Job(SLOW, ["shuffle", SHRINK], r"input-bound \(storage",
                                [cached(2), *threads(8)], batch=16, device=FAST,
                                slow=(0, 6)),
    "tiny reads on a slow disk": Job(SMALL_ON_SLOW, ["shuffle", maps("{decode_raw: {shape: [48, 48, 3]}}", "random_flip")],
                                    r"input-bound \(storage",
                                    [["pipeline.shuffle.block=38"], ["pipeline.shuffle.block=150"], *threads(32), *ahead(8)],
                                    device=FAST, engine="memory: 32MiB", slow=(10, 400)),
    "cache too small": Job(PHOTOS, ["shuffle", SHRINK, "cache: {bytes: 4MiB}"], r"input-bound \(decode: cpu-saturated",
                           [["pipeline.cache.bytes=auto"], *threads(1, 4)], device=FAST),
    "cache in the wrong place": Job(PHOTOS, ["cache", "shuffle", SHRINK], r"input-bound \(decode: cpu-saturated",
                                    [["pipeline[0]-", "pipeline[2]+=cache"], *threads(1, 4)], device=FAST),
    "no cache, random ops": Job(PHOTOS, ["shuffle", maps("decode_jpeg", *AUGMENT)], r"input-bound \(decode: cpu-saturated",
                                [divided(1, maps("decode_jpeg"), maps(*AUGMENT)), *threads(1, 4)], device=FAST),
    "batch of 2": Job(ROWS, ["shuffle"], r"launch-bound", [["pipeline.batch.size=32"], ["pipeline.batch.size=128"],
                                                           ["pipeline.batch.size=512"], *ahead(8)],
                      batch=2, device="sim:h200", model=MLP),
    "small MLP": Job(ROWS, ["shuffle"], r"(shared-cores|compute-bound|launch-bound)", [*threads(0, 1), *ahead(0, 8)],
                     batch=32, model=MLP),
    "big CNN": Job(PIXELS, ["shuffle", maps("{normalize: {}}")], r"compute-bound", [["train.precision=bf16"],
                                                                              *cores((1, 1), (1, 2)), *ahead(8)], model=BIG),
    "balanced": Job(PIXELS, ["shuffle", maps("{sleep: {ms: 0.5}}")], r"(input|compute)-bound.*(input|compute)-bound",
                    [*threads(4, 8), *ahead(8)], batch=16, device=kernels(4.75)),
    "slow bus, floats": Job(PIXELS, ["shuffle", maps("{normalize: {}}")], r"transfer-bound",
                            [lambda stages: [stages[0], *stages[2:]], *ahead(8)],
                            device="sim:{copy_bytes_per_s: 2e8, kernel_min_ns: 100000}"),
    "slow bus, bytes": Job(PIXELS, ["shuffle"], r"transfer-bound \(bus-saturated", [*ahead(8), *threads(1)],
                           device="sim:{copy_bytes_per_s: 1e8, kernel_min_ns: 100000}"),
    "stragglers": Job(MIXED, ["shuffle", SHRINK], r"input-bound \(ordering", [*ahead(8, 24, 64), *threads(4), cached(2)],
                      batch=8, device=kernels(0.6), by_seed=True),
    "stragglers, default prefetch": Job(MIXED, ["shuffle", SHRINK], r"(input|compute)-bound", [*ahead(2, 24), *threads(4), cached(2)],
                                        batch=8, prefetch="auto", device=kernels(0.6), by_seed=True),
    "a tensor nobody reads": Job(TWO, ["shuffle", "map: {tensor: image, ops: [decode_jpeg, {resize: {size: [64, 64]}}]}",
                                       "map: {tensor: whole, ops: [decode_jpeg, {resize: {size: [128, 128]}}]}"],
                                 r"input-bound \((decode|map): cpu-saturated", [cached(3), *threads(1, 4)], batch=8, device=FAST,
                                 train="  input: image\n"),
    "too few workers": Job(PHOTOS, ["shuffle", maps("decode_jpeg", *AUGMENT)], r"input-bound \(decode: serial",
                           [*threads(2, 4), ["pipeline.prefetch.batches=8"]], device=FAST, engine="threads: 1"),
    "many trainer threads": Job(PHOTOS, ["shuffle", maps("decode_jpeg", *AUGMENT)], r"shared-cores",
                                [*cores((1, 1), (2, 1), (1, 2)), *ahead(8), ["train.precision=bf16"],
                                 divided(1, maps("decode_jpeg"), maps(*AUGMENT))], batch=64, model=CNN,
                                engine="threads: 2", train="  threads: 2\n"),
    "prefetch 0": Job(PHOTOS, ["shuffle", maps("decode_jpeg", *AUGMENT)], r"input-bound \(not-overlapped",
                      [*ahead(2, 8), *threads(1)], prefetch=0, device=kernels(8)),
    "loss read each step": Job(ROWS, ["shuffle"], r"sync-bound", [["train.sync_every=100"], ["train.sync_every=0"],
                                                                  *ahead(8)], batch=256, model=MLP,
                               device="sim:{launch_ns: 100000, kernel_min_ns: 150000}", train="  sync_every: 1\n"),
    # Of 2048 fewer than 16 would make an epoch, which no advice may be.
    "launch-bound": Job(ROWS, ["shuffle"], r"launch-bound", [["pipeline.batch.size=128"], ["pipeline.batch.size=512"],
                                                             *ahead(8)],
                        model="[" + "{dense: {units: 100}}, relu, " * 12 + "{dense: {units: 10}}]", device="sim:l4"),
    "long first epoch": Job(LARGE, ["shuffle", maps(*TWICE), "cache"], r"warm-up", [*threads(4)], batch=8, device=FAST, epochs=3),
    "too short": Job(FEW, ["shuffle"], r"warm-up", [*ahead(8)], batch=32, model=MLP, device="sim:h200", epochs=1),
    "busy neighbour": Job(PHOTOS, ["shuffle", maps("decode_jpeg", *AUGMENT)],
                          r"(environment|input-bound \(decode: cpu-saturated)", [], device=FAST, busy=2),
    "nothing wrong": Job(PIXELS, ["shuffle"], r"compute-bound \(\)$", [*threads(1, 4), *ahead(8)], device=kernels(5)),
}
# --- running ---------------------------------------------------------------------------------------


class Disk:
    """The photos behind slow_fs.py while this lasts. None of it if the job needs none."""

    def __init__(self, slow):
        self.server = None
        if slow:
            self.server = subprocess.Popen([sys.executable, f"{HERE}/slow_fs.py", "photos", "slow", str(slow[0]), str(slow[1]),
                                            "direct"])
            for _ in range(100):
                if os.path.ismount("slow"):
                    return
                time.sleep(0.05)
            raise OSError("slow_fs.py did not mount")

    def close(self):
        if self.server:
            subprocess.run(["umount", "-l", "slow"], check=False)
            self.server.wait()


def leat_json(leat, *words):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([leat, *words, "-q", "--json", out.name], check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        return json.load(open(out.name)) if done.returncode == 0 else {"error": done.stderr.strip()}


class Arms:
    """Variants of one job, each a config and values, whose whole runs take turns."""

    def __init__(self, leat, job, seed):
        self.leat, self.job, self.seed, self.arms, self.rates, self.errors = leat, job, seed, {}, {}, {}

    def add(self, name, stages, values):
        for known, arm in self.arms.items():
            if arm[1:] == (stages, values):
                return known
        path = f"arm-{len(self.arms)}.yaml"
        self.job.write(path, self.seed, stages)
        self.arms[name] = path, stages, values
        self.rates[name] = []
        return name

    def add_suggestion(self, s):
        return self.add(" ".join(s["set"]), self.job.stages, s["set"]) if s["set"] else None

    def measure(self, turns):
        for turn in range(turns):
            for name in list(self.arms) if turn % 2 == 0 else reversed(list(self.arms)):
                path, _, values = self.arms[name]
                words = [word for value in values for word in ("--set", value)]
                result = leat_json(self.leat, "compare", path, "--rounds", "2", *words)
                if "error" in result:
                    self.errors[name] = result["error"]
                else:
                    self.rates[name].append(result["arms"][0]["samples_per_s"])

    def gain(self, name):
        """Of the rates, as a ratio to the job as it is; NaN: it did not run."""
        rates = self.rates.get(name)
        return statistics.median(rates) / statistics.median(self.rates["as it is"]) if rates else float("nan")


def neighbours(n):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]


def examine(leat, name, job, seed, words):
    """The doctor's answer."""
    job.write("job.yaml", seed)
    at = time.monotonic()
    found = leat_json(leat, "doctor", "job.yaml", *words)
    found["wall_s"] = time.monotonic() - at
    return found


def is_knee(arms, name):
    """False of a batch beyond the knee: it gains less than a quarter over the next smaller one. Larger batches learn
    otherwise, so what gains little is no better."""
    sizes = sorted((int(arm.partition("=")[2]), arm) for arm in arms.arms if arm.startswith("pipeline.batch.size="))
    at = [arm for _, arm in sizes].index(name) if name.startswith("pipeline.batch.size=") else 0
    return at == 0 or arms.gain(name) >= 1.25 * arms.gain(sizes[at - 1][1])


def judge(job, found, quick, arms, seconds):
    """What is right of one answer; arms: measured already; quick: suggestions of an answer that tried nothing."""
    best = max((arms.gain(name) for name in arms.arms if arms.rates[name] and is_knee(arms, name)), default=1)
    listed = [(s, arms.add_suggestion(s)) for s in found["suggestions"][:3]]
    good = [arms.gain(arm) >= (1 - NEAR) * best for _, arm in listed if arm]
    none = best * (1 - NEAR) <= 1  # the job as it is is as good as the best
    said = f'{found["verdict"]["class"]} ({found["verdict"]["label"]}) {found["verdict"]["also"]}'.strip()
    listed += [(s, arms.add_suggestion(s)) for s in quick if s["not_tried"]]
    row = {"said": said, "verdict": re.match(job.verdict, said) is not None, "best": best, "seconds": found["wall_s"],
           "in_time": not seconds or found["wall_s"] <= 1.2 * seconds, "measured_ms": found["measured_step_ms"],
           "predicted_ms": found["predicted_step_ms"], "first": good[0] if good else none,
           "three": any(good) or none, "tried": [], "untried": []}
    for s, arm in listed:
        true = arms.gain(arm) if arm else float("nan")
        one = {"edit": arm or s["title"], "predicted": 1 + s["gain"], "true": true}
        edges = [edge for edge in s["gain_range"] or [] if edge is not None]
        one["range"] = [1 + edge for edge in edges] or None
        row["untried" if s["not_tried"] else "tried"].append(one)
    return row


def run_guesses(job, arms, quick, turns):
    """The first three suggestions of an answer that tried nothing."""
    if any([arms.add_suggestion(s) for s in quick["suggestions"][:3]]):
        arms.measure(turns)
    return judge(job, quick, [], arms, 0)


def arms_of(leat, job, seed, answers):
    """The job as it is, its grid, and the first three suggestions of these answers."""
    arms = Arms(leat, job, seed)
    arms.add("as it is", job.stages, [])
    for edit in job.grid:
        if callable(edit):
            stages = edit(job.stages)
            arms.add(" | ".join(stage.split(":")[0] for stage in stages), stages, [])
        else:
            arms.add(" ".join(edit), job.stages, edit)
    for found in answers:
        for s in found["suggestions"][:3]:
            arms.add_suggestion(s)
    return arms


def run_job(leat, name, job, seeds, turns, seconds, guesses):
    disk, others = Disk(job.slow), []
    try:
        others += neighbours(job.busy)
        words = ["--seconds", str(seconds)] if seconds else []
        answers = [] if guesses else [examine(leat, name, job, seed, words) for seed in seeds]
        quick = examine(leat, name, job, seeds[0], ["--quick"])
        errors = [found["error"] for found in [*answers, quick] if "error" in found]
        if errors:
            return {"name": name, "error": errors[0]}
        if guesses:
            arms = Arms(leat, job, seeds[0])
            arms.add("as it is", job.stages, [])
            row = run_guesses(job, arms, quick, turns)
            return {"name": name, "rows": [row], "errors": arms.errors, "gains": {arm: arms.gain(arm) for arm in arms.arms}}
        if job.by_seed:
            sets = [arms_of(leat, job, seed, [found, *([] if i else [quick])]) for i, (seed, found) in enumerate(zip(seeds, answers))]
        else:
            sets = [arms_of(leat, job, seeds[0], [*answers, quick])] * len(seeds)
        for i, arms in enumerate(sets):
            if arms not in sets[:i] and len(arms.arms) > 1:
                arms.measure(turns)
    finally:
        disk.close()
        for other in others:
            other.kill()
            other.wait()
    return {"name": name, "rows": [judge(job, found, [] if i else quick["suggestions"][:3], sets[i], seconds)
                                   for i, found in enumerate(answers)],
            "errors": {arm: error for arms in sets for arm, error in arms.errors.items()},
            "gains": {arm: sets[0].gain(arm) for arm in sets[0].arms}}


# --- the table ---------------------------------------------------------------------------------------


def is_inside(one):
    return one["range"] is not None and one["range"][0] <= one["true"] <= one["range"][1]


def total(rows):
    known = [one for row in rows for one in row["tried"] if one["true"] == one["true"]]
    right = sum(abs(one["predicted"] / one["true"] - 1) <= RIGHT for one in known)
    guessed = [one for row in rows for one in row["untried"] if one["true"] == one["true"]]
    return (f"{sum(row['verdict'] for row in rows)} of {len(rows)} verdicts right; first edit right in "
            f"{sum(row['first'] for row in rows)}, among the first three in {sum(row['three'] for row in rows)}; tried "
            f"predictions within 15 %: {right} of {len(known)}; untried gains inside their range: "
            f"{sum(map(is_inside, guessed))} of {len(guessed)}; in time: {sum(row['in_time'] for row in rows)}")


def show(result):
    if "error" in result:
        print(f"{result['name']:26} ERROR {result['error']}", flush=True)
        return
    for row in result["rows"]:
        marks = " ".join(f"{key}:{'ok' if row[key] else 'WRONG'}" for key in ("verdict", "first", "three"))
        print(f"{result['name']:26} {marks:34} best {row['best']:5.2f} x  {row['measured_ms']:.3g} ms "
              f"({row['predicted_ms']:.3g} predicted)  {row['seconds']:3.0f} s  {row['said']}")
        for kind in "tried", "untried":
            for one in row[kind]:
                edge = f" ({one['range'][0]:.2f} to {one['range'][1]:.2f})" if one["range"] else ""
                print(f"    {kind:7} {one['predicted']:6.2f} x{edge}, true {one['true']:5.2f}: {one['edit'].splitlines()[0][:100]}")
    for arm, gain in result["gains"].items():
        print(f"            {gain:6.2f} x {' '.join(arm.split())[:110]}")
    for arm, error in result["errors"].items():
        print(f"    did not run: {arm}: {error}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leat", default="build/leat")
    parser.add_argument("--data", default="data/planted", help="folder of the data, made when it is missing")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3, help="whole runs of each variant")
    parser.add_argument("--seconds", type=float, default=0, help="the doctor's budget; 0: its own")
    parser.add_argument("--guesses", action="store_true", help="only the gains that are not tried, and their ranges")
    parser.add_argument("--jobs", default="", help="only those whose name begins so, with commas between")
    parser.add_argument("--list", action="store_true", help="print the names of the jobs")
    parser.add_argument("--json", default="", help="file of the results; those of other jobs in it stay")
    o = parser.parse_args()
    names = [name for name in JOBS if any(name.startswith(part) for part in o.jobs.split(","))]
    if o.list:
        sys.exit(print("\n".join(names)))
    leat, save = os.path.abspath(o.leat), os.path.abspath(o.json) if o.json else ""
    done = json.load(open(save)) if save and os.path.exists(save) else {}
    if not os.path.exists(o.data):
        os.makedirs(o.data)
        os.chdir(o.data)
        make_data(leat)
    else:
        os.chdir(o.data)
    mine = {}
    for name in names:
        if JOBS[name].slow and (os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK)):
            print(f"{name:26} SKIPPED: mounting needs root and /dev/fuse", flush=True)
            continue
        mine[name] = done[name] = run_job(leat, name, JOBS[name], range(1, o.seeds + 1), o.turns, o.seconds, o.guesses)
        show(done[name])
        if save:
            with open(save, "w") as to:
                json.dump(done, to, indent=1)
    print(total([row for one in mine.values() for row in one.get("rows", [])]))


if __name__ == "__main__":
    main()
