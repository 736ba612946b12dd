# SPDX-License-Identifier: MIT
"""leat.doctor(): what limits a training loop, whatever loader and framework it has.

DESIGN. Three kinds of runs take turns, so that all see the same machine: the loader alone, the loop as it is, and the step
alone on one batch that is kept (where sizes differ, on a small and a large one). leat/observe.h makes the verdict from their
times. A loader that prefetches has a full queue after a step alone, so its first batches are taken and not timed; the loop
follows directly, with an empty queue. The wait for the first batch of a pass is no part of a run: it has a figure of its own, and
where it is what there is to gain, the verdict.

The workers of a DataLoader take turns, so their batches come in bursts, one of each worker: a run that waits ends after whole
bursts, and of a pass the first burst is left out, as all of it is made during the wait for its first batch. Runs end by the
clock; rounds and trials begin while there is time for them, and what is begun ends at a limit (_OutOfTime).
"""

import math as _math
import sys as _sys
import time as _time
import warnings as _warnings

from . import _leat
from ._samples import Samples as _Samples, size_of as _size_of
from ._watch import _ms, cuda as _cuda, watch as _watch

_ROUNDS = 6
_LEAST_ROUNDS = 4  # of slow steps
_TRY_ROUNDS = 3
_LEAST_STEPS = 2
_MOST_STEPS = 5000
_SLOW_S = 0.05  # who waits so long for a batch has found no other one ready
_LIMIT = 1.15  # of the seconds given
_COUNTS = 0.03  # a gain below it is none
_EXPLAINS = 1.15  # a step in the loop that takes longer than this times a step alone has a reason of its own
_START = (0.05, "moderate"), (0.2, "high")  # of a pass, until its first batch
_ENOUGH_WORKERS = 32


# --- the loader -----------------------------------------------------------------------------------


class _Facts:
    """What can be known of a loader without running it."""

    def __init__(self, loader):
        from . import _Mapped

        self.kind, self.workers, self.depth, self.overlaps, self.burst = "other", -1, None, None, 1
        self.maps = isinstance(loader, _Mapped)  # in the loop's thread, whatever is made ahead
        torch_data = _sys.modules.get("torch.utils.data")
        if torch_data and isinstance(loader, torch_data.DataLoader):
            self.kind = "DataLoader"
            self.workers = loader.num_workers
            self.overlaps = loader.num_workers > 0
            self.depth = loader.num_workers * (loader.prefetch_factor or 0)
            self.burst = max(1, loader.num_workers)
        elif hasattr(loader, "plan") and hasattr(loader, "stats"):
            self.kind = "leat"
            stats = loader.stats()
            self.workers = stats["threads"]
            self.ahead = stats["threads"] > 0 and stats["prefetch"] > 0
            self.overlaps = None if self.ahead and self.maps else self.ahead
            self.depth = stats["prefetch"] + 2 * stats["threads"]


def _quietly(fn, *args, **given):
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")
        return fn(*args, **given)


class _OutOfTime(Exception):
    pass


class _Failed(Exception):
    """A changed loader does not work."""


class _Passes:
    """Batches without end, pass after pass, until the time `limit`. Counts the waits for the first batch of each.

    burst     so many batches are made at a time, and so while the first one of a pass is waited for
    trial     of a changed loader: what fails there ends the trial, and nothing else
    count     samples of a batch
    left_out  [batches, their samples] that are no part of a run"""

    def __init__(self, loader, burst=1, limit=_math.inf, trial=False, count=None):
        self.count, self.left_out, self.whole = count or _Samples(_size_of(loader)), [0, 0], 0  # batches of a whole pass
        self.loader, self.burst, self.limit, self.starts, self.n_taken = loader, burst, limit, [], 0
        self._trial = trial  # PyTorch warns of more workers than CPUs, which is what is tried
        self._it, self._length, self._all_usual = None, 0, False

    def _ask(self, what, *args):
        try:
            return what(*args)
        except Exception as error:
            if self._trial and not isinstance(error, StopIteration):
                raise _Failed from None
            raise

    def next(self, at_end=None):
        """A batch, and whether it is of the first burst of a pass: its wait is not that of every batch. Where a pass is one
        burst or less, it is.

        at_end    called when a pass of several bursts has ended and before the next one begins"""
        if self.starts and _time.perf_counter() > self.limit:
            raise _OutOfTime
        if self._it is not None:
            try:
                batch = self._ask(next, self._it)
                self._length += 1
                self.n_taken += 1
                return batch, self._length <= self.burst and not self._all_usual
            except StopIteration:
                self._it, self.whole = None, self._length
                if at_end and self._length > self.burst:
                    at_end()
        self._all_usual = 0 < self._length <= self.burst
        at = _time.perf_counter()
        it = self._ask(_quietly, iter, self.loader) if self._trial else iter(self.loader)
        try:
            batch = self._ask(next, it)
        except StopIteration:
            if self._trial:
                raise _Failed from None
            raise ValueError(
                "the loader gives no more batches" + (": give one that can be iterated again, not an iterator of it"
                                                      if self.n_taken else ": it is empty")) from None
        self._it, self._length = it, 1
        self.starts.append(_time.perf_counter() - at)
        self.n_taken += 1
        return batch, not self._all_usual

    def leave_out(self, batch):
        """Returns its samples."""
        rows = self.count(batch)
        self.left_out = [self.left_out[0] + 1, self.left_out[1] + rows]
        return rows

    def batch(self):
        return self.next()[0]

    def drain(self, depth):
        """Takes the batches that are ready, `depth` at most."""
        for _ in range(depth):
            at = _time.perf_counter()
            _, is_first = self.next()
            if not is_first and _time.perf_counter() - at > _SLOW_S:
                return


class _Kept:
    """The smallest and the largest batch that were seen, for steps alone. Where sizes differ they take turns, so that a step has
    as many samples on average as in the loop."""

    def __init__(self, count):
        self._count = count
        self._small = self._large = None  # (rows, batch)
        self._n = self._rows = 0  # steps so far, and their samples

    def see(self, batch):
        """Returns its samples."""
        n = self._count(batch)
        if self._small is None:
            self._small = self._large = n, batch
        elif n < self._small[0]:
            self._small = n, batch
        elif n > self._large[0]:
            self._large = n, batch
        return n

    def turns(self, n, rows):
        """The (rows, batch) of n more steps: with those before them, all have so many rows on average."""
        middle = (self._small[0] + self._large[0]) / 2
        out = []
        for _ in range(n):
            self._n += 1
            out.append(self._large if rows * self._n - self._rows > middle else self._small)
            self._rows += out[-1][0]
        return out


# --- runs -----------------------------------------------------------------------------------------


def _wait_for(result):
    """Until the device has done what was asked of it."""
    if _cuda():
        _cuda().synchronize()
    jax = _sys.modules.get("jax")
    if jax and result is not None:
        jax.block_until_ready(result)


class _Run:
    """Times n steps. Its value is what _leat.observe() takes."""

    def __init__(self):
        self.wait = self.steps = self.rows = self.left_out = self.left_out_rows = 0
        self.usage = _leat.usage()
        self.at = _time.perf_counter_ns()

    def is_done(self, n, seconds, now_ns):
        return self.steps >= n or self.steps >= _LEAST_STEPS and now_ns - self.at >= seconds * 1e9

    def end(self):
        wall = _time.perf_counter_ns() - self.at - self.left_out
        return (max(wall, 1), self.wait, self.steps, float(self.rows), self.usage, _leat.usage(),
                float(self.rows + self.left_out_rows))

    def is_whole(self, burst, seconds, now_ns):
        """Whether it ends with a burst, or passes are so short that none does."""
        return self.steps % burst == 0 or now_ns - self.at >= 10e9 * seconds


def _run_loader(passes, seconds, depth, see):
    passes.drain(depth)
    run = _Run()
    while True:
        asked = _time.perf_counter_ns()
        if run.is_done(_MOST_STEPS, seconds, asked) and run.is_whole(passes.burst, seconds, asked):
            return run.end()
        batch = None  # a loader may copy what is held for long
        batch, is_first = passes.next()
        if is_first:
            run.left_out += _time.perf_counter_ns() - asked
            run.left_out_rows += passes.leave_out(batch)
            continue
        run.rows += see(batch)
        run.steps += 1


def _run_loop(passes, step, n, settle, seconds=_math.inf):
    """n steps, or fewer if they take too many seconds."""
    for _ in range(settle):
        _wait_for(step(passes.batch()))
    run = _Run()
    result = begun = None

    def end_pass():  # what was asked of the device until now are steps that count
        nonlocal begun
        _wait_for(result)
        begun = _time.perf_counter_ns()

    while True:
        asked = _time.perf_counter_ns()
        if run.is_done(n, seconds, asked):
            took = asked - run.at - run.left_out
            never_waits = took >= 2e9 * seconds and run.wait < _COUNTS * took
            if run.is_whole(passes.burst, seconds, asked) or never_waits:
                _wait_for(result)
                return run.end()
        batch = None
        batch, is_first = passes.next(end_pass)
        ready = _time.perf_counter_ns()
        if is_first:  # nor does its step count, for which the loader had no time
            run.left_out_rows += passes.leave_out(batch)
            _wait_for(step(batch))
            run.left_out += _time.perf_counter_ns() - (begun or asked)
            begun = None
            continue
        run.wait += ready - asked
        run.rows += passes.count(batch)
        result = step(batch)
        run.steps += 1


def _run_step(step, turns, limit):
    run = _Run()
    result = None
    for _, batch in turns:
        if _time.perf_counter() > limit:
            raise _OutOfTime
        result = step(batch)
    _wait_for(result)
    run.steps, run.rows = len(turns), sum(rows for rows, _ in turns)
    return run.end()


def _timed(passes):
    """The wait for a batch that is not the first of a pass, ns."""
    is_first = True
    while is_first:
        at = _time.perf_counter_ns()
        _, is_first = passes.next()
    return _time.perf_counter_ns() - at


def _some(n, seconds, what):
    """What n calls return, at least one, and fewer if they take too many seconds."""
    end = _time.perf_counter() + seconds
    out = [what()]
    while len(out) < n and _time.perf_counter() < end:
        out.append(what())
    return out


def _overlaps(passes, seconds):
    """Whether batches are made while the loop does something else: then one is there after a pause, or sooner."""
    took = sorted(_some(15, seconds, lambda: _timed(passes)))
    took = took[len(took) // 2:]  # those that were ready are the quick ones
    usual = took[len(took) // 2]
    pause = min(2e9, 2 * usual)

    def after():
        _time.sleep(pause * 1e-9)
        return _timed(passes)

    waits = sorted(_some(5, seconds, after))
    return waits[len(waits) // 2] < usual - 0.5 * min(pause, usual)


# --- changes --------------------------------------------------------------------------------------


class Change:
    """A change of the loop and what it gains.

    text               what to change
    why                in a sentence
    predicted_step_ms  from the capacities; None: it is not a matter of the step
    measured_step_ms   by runs of the changed loop, with before_step_ms by turns; None: it was not tried
    gain               of samples/s (or steps/s): 0.25 is a quarter more; by the measurement if there is one; 0: not known
    """

    def __init__(self, text, why, predicted=None, set=None):
        self.text, self.why, self.predicted_step_ms, self.set = text, why, predicted, set or {}
        self.measured_step_ms = self.before_step_ms = None
        self.gain = 0.0

    def __repr__(self):
        return f"<{self.text}: {f'{100 * self.gain:+.0f} %' if self.gain else 'try it'}>"


def _rebuilt(loader, changes):
    """A DataLoader with other settings, or None where it cannot be made from its attributes."""
    from torch.utils.data import DataLoader, IterableDataset

    if type(loader) is not DataLoader:
        return None
    given = {name: getattr(loader, name) for name in (
        "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator", "prefetch_factor",
        "persistent_workers")}
    if loader.num_workers:
        given["multiprocessing_context"] = loader.multiprocessing_context
    if isinstance(loader.dataset, IterableDataset):
        given.update(batch_size=loader.batch_size, drop_last=loader.drop_last)
    elif loader.batch_sampler is not None:
        given["batch_sampler"] = loader.batch_sampler
    else:
        given.update(batch_size=None, sampler=loader.sampler)
    given.update(changes)
    if not given["num_workers"]:
        given.update(prefetch_factor=None, persistent_workers=False)
        given.pop("multiprocessing_context", None)
    try:
        return _quietly(DataLoader, loader.dataset, **given)
    except (TypeError, ValueError):
        return None


def _suggest_workers(d, out):
    """The fewest workers whose predicted step is within 3 % of the best."""
    r, now = d.result, d.facts.workers
    cores, most = r["cores"], max(_ENOUGH_WORKERS, 2 * r["cores"])
    steps = {n: _leat.predict(d.observed, n) * 1e-6 for n in range(1, most + 1) if n != now}
    n = min(n for n, ms in steps.items() if ms <= min(steps.values()) * (1 + _COUNTS))
    if steps[n] >= r["measured_step_ms"] * (1 - _COUNTS):
        return
    why = f"{n} workers instead of {now}" if now else "batches are made while steps run"
    out.append(Change(f"DataLoader(num_workers={n})", why, steps[n], {"num_workers": n}))
    if n > cores > now:  # the model knows little of what more workers than CPUs cost
        out.append(Change(f"DataLoader(num_workers={cores})", "as many workers as CPUs", steps[cores],
                          {"num_workers": cores}))


def _suggest_fewer(d, out):
    """Where workers take the trainer's cores: half of them."""
    n = d.facts.workers // 2
    if n >= 1:
        out.append(Change(f"DataLoader(num_workers={n})", "workers leave the step its cores", None, {"num_workers": n}))


def _while_a_step_runs(facts):
    if facts.kind == "leat" and not facts.ahead:
        return "end the pipeline with prefetch(2)", "now each batch is made after a step"
    if facts.maps:
        return "make an op of the pipeline of what map() does, or do it in another thread", "now it is done after each step"
    return "make batches in another thread or process while a step runs", "now each batch is made after a step"


def _suggest_start(d):
    """What part of the start of a pass it saves is not known, so it has no gain."""
    if d.start_share < _COUNTS:
        return []
    why = f"each pass begins with {_ms(d.start_ms)} without a batch, {100 * d.start_share:.0f} % of its time"
    if d.facts.kind == "DataLoader" and d.facts.workers > 0 and not d.loader.persistent_workers:
        return [Change("DataLoader(persistent_workers=True)",
                       f"{why}; it saves the start of processes, not what the data set does then")]
    return [Change("do once, before all passes, what the loader does until the first batch of each", why)]


def _suggest(d):
    r, out = d.result, []
    waits = r["verdict"] in ("input-bound", "shared-cores") or r["also"] == "input-bound"
    if d.facts.kind == "DataLoader" and waits:
        _suggest_workers(d, out)
        if r["verdict"] == "shared-cores" and not out:
            _suggest_fewer(d, out)
        if d.facts.workers > 1 and not out:
            more = 4 * (d.loader.prefetch_factor or 2)
            out.append(Change(f"DataLoader(prefetch_factor={more})", "a slow batch is hidden by more that are ready",
                              None, {"prefetch_factor": more}))
    if waits and d.facts.kind != "DataLoader" and not d.facts.overlaps:
        ms = _leat.predict(d.observed, max(1, d.facts.workers)) * 1e-6
        out.append(Change(*_while_a_step_runs(d.facts), ms))
    if d.facts.overlaps and r["verdict"] == "input-bound":
        step = d.part_ms("step")
        times = d.part_ms("loader") / step if step else 0
        if times > 1:
            out.append(Change(f"leave out {100 * (1 - 1 / times):.0f} % of the loader's work",
                              "then the step is the limit: smaller files, cheaper decoding, results that are stored", step))
    for change in out:
        if change.predicted_step_ms:
            change.gain = r["measured_step_ms"] / change.predicted_step_ms - 1
    return [c for c in out if c.gain >= _COUNTS or c.set and c.predicted_step_ms is None]


# --- the doctor -----------------------------------------------------------------------------------


class Diagnosis:
    """What leat.doctor() found. print() it.

    verdict             "input-bound", "compute-bound", …: docs/measuring.md explains each
    label, severity     where and why, "" if unknown; "none", "low", "moderate" or "high"
    also                a second verdict that holds as well, or ""
    measured_step_ms    the loop; predicted_step_ms: from its parts
    loader_ms, step_ms  a batch of the loader alone; the step alone
    batch               samples per step, on average; 0: batches do not show how many they have
    start_ms            until the first batch of a pass; start_share: of the time of a pass; 0: unknown
    first_pass          how many times as long the loader took for its first pass; 0: not measured
    changes             list of Change, best first
    figures             all numbers, as a dict
    """

    def __init__(self, d):
        self.figures = r = d.result
        for name in ("verdict", "label", "severity", "also", "sentence", "measured_step_ms", "predicted_step_ms", "batch"):
            setattr(self, name, r[name])
        self.loader_ms, self.step_ms = d.part_ms("loader"), d.part_ms("step")
        self.start_ms, self.start_share, self.first_pass = d.start_ms, d.start_share, d.first_pass
        self.changes, self.seconds = d.changes, d.seconds
        self._facts = d.facts
        self._unit = "samples/s" if self.batch else "steps/s"
        self._on_host, self._n_rounds, self._longer = d.on_host, len(d.rounds), max(60.0, 3 * d.seconds_given)

    def __repr__(self):
        return f"<{self.verdict}{f' ({self.label})' if self.label else ''}, {self.severity}>"

    def __str__(self):
        r = self.figures
        head = self.verdict + (f" ({self.label})" if self.label else "")
        if self.severity not in ("none", ""):
            head += f", {self.severity}"
        lines = [f"{head}: {self.sentence}", ""]
        if not self._n_rounds:
            return f"{lines[0]}\n\nmeasure again, longer (seconds={self._longer:g})"
        rate = r["samples_per_s"] if self.batch else 1e3 / self.measured_step_ms
        lines.append(f"  {'a step of the loop':<44} {_ms(self.measured_step_ms):>9}   {_rate_text(rate)} {self._unit}")
        for c in r["capacities"]:
            if c["part"] in ("loader", "first_batch", "step", "shared") and c["step_ms"] > 0:
                lines.append(f"    {c['text']:<42} {_ms(c['step_ms']):>9}")
        lines.append(f"  {'explained by these':<44} {_ms(self.predicted_step_ms):>9}")
        if r["next_limit"] and r["next_limit_step_ms"] < self.measured_step_ms * (1 - _COUNTS):
            lines.append(f"  {'without this limit, limited by ' + r['next_limit']:<44} {_ms(r['next_limit_step_ms']):>9}")
        if self.start_share >= _COUNTS:
            lines.append(f"  {'until the first batch of a pass':<44} {_ms(self.start_ms):>9}   "
                         f"{100 * self.start_share:.0f} % of a pass")
        if self.first_pass >= 1.5 and self.first_pass * self.loader_ms >= _COUNTS * self.measured_step_ms:
            lines.append(f"  The first pass took the loader {self.first_pass:.1f} times as long as the next ones.")
        if not self.batch:
            lines.append("  The batches do not show how many samples they have.")
        if self._n_rounds == 1:
            lines.append("  There was time to measure each of these only once: give more seconds to be sure.")
        if r["cores_taken"] >= 0.05 * r["cores"]:
            lines.append(f"  Other programs used {r['cores_taken']:.1f} of {r['cores']} CPUs meanwhile.")
        if not self._on_host:
            lines.append("  The device counts as busy during a step alone. `leat watch` sees gaps between its kernels.")
        lines.append("")
        if not self.changes:
            lines.append("nothing to change" + (" in the loader" if self.verdict == "compute-bound" else
                                                f": measure again, longer (seconds={self._longer:g}), on a quiet machine"
                                                if self.verdict in ("inconclusive", "environment") else " was found"))
        for i, c in enumerate(self.changes, 1):
            lines.append(f"{i}. {c.text}: " + (f"{100 * c.gain:+.0f} % {self._unit}{_how(c)}" if c.gain else "try it"))
            lines.append(f"   {c.why}")
        return "\n".join(lines)


def _how(change):
    if change.measured_step_ms:
        said = f", {_ms(change.before_step_ms)} -> {_ms(change.measured_step_ms)} per step, measured"
        return said + (f" ({_ms(change.predicted_step_ms)} predicted)" if change.predicted_step_ms else "")
    if change.predicted_step_ms:
        return f", {_ms(change.predicted_step_ms)} per step, predicted"
    return ", predicted"


# Where there was no time for one round.
_NOTHING = {
    "verdict": "inconclusive", "label": "too-few-steps", "severity": "none", "also": "", "sentence": "", "batch": 0.0,
    "samples_per_s": 0.0, "measured_step_ms": 0.0, "predicted_step_ms": 0.0, "next_limit_step_ms": 0.0, "next_limit": "",
    "cores_taken": 0.0, "cores": 0, "throttled": 0.0, "run_busy": 0.0, "capacities": [], "shares": []}


class _Doctor:
    def __init__(self, loader, step, seconds, device, progress):
        self.loader, self.step, self.seconds_given = loader, step, seconds
        self.began = _time.perf_counter()
        self.facts = _Facts(loader)
        self.passes = _Passes(loader, self.facts.burst, self.began + _LIMIT * seconds)
        self.device, self.progress = device, progress
        try:
            self.n_batches = len(self.loader)
        except TypeError:
            self.n_batches = 0
        self.first_pass = self.first_step_s = 0.0
        self.rounds, self.changes = [], []

    # What is measured ---------------------------------------------------------------------------

    def part_ms(self, word):
        """Of the loader (with or without prefetch), or the step, alone; 0: not known."""
        for c in self.result["capacities"]:
            if c["part"] == word or word == "loader" and c["part"] == "first_batch":
                return c["step_ms"]
        return 0.0

    @property
    def start_ms(self):
        starts = self.passes.starts[1:] or self.passes.starts
        return sorted(starts)[len(starts) // 2] * 1e3

    @property
    def start_share(self):
        n = self.passes.whole or self.n_batches
        if n <= 0 or not self.rounds:
            return 0.0
        start = max(0.0, self.start_ms - self.result["measured_step_ms"])
        return start / (start + n * self.result["measured_step_ms"])

    def say(self, what):
        if self.progress:
            self.progress(what)

    @property
    def left(self):
        return self.seconds_given - (_time.perf_counter() - self.began)

    def measure(self):
        try:
            self.warm_up()
            self.take_turns()
        except _OutOfTime:
            pass
        if self.rounds:
            share = self.mean_share()
            rounds = [tuple((*run[:3], run[3] * share, *run[4:6], run[6] * share) for run in turn) for turn in self.rounds]
            self.observed = (self.on_host, self.facts.overlaps, self.facts.workers, rounds)
            self.result = _leat.observe(*self.observed)
            if not self.passes.count.known:
                self.result.update(batch=0.0, samples_per_s=0.0)
                self.result["capacities"] = [{**c, "samples_per_s": 0.0} for c in self.result["capacities"]]
            self.advise()
            self.count_start()
            self.compare_steps()
        else:
            self.result = dict(_NOTHING)
        if self.result["label"] == "too-few-steps":
            self.result["sentence"] = (
                f"{self.seconds_given:g} s are too short for loop, loader and step: the first batch came after "
                f"{_ms(self.start_ms)}" + (f", a batch and its step took {_ms(1e3 * self.first_step_s)}." if self.first_step_s
                                           else "."))
        self.seconds = _time.perf_counter() - self.began

    def mean_share(self):
        """Samples of the mean batch of a pass to those of the batches in the runs, which lack the first ones of passes."""
        passes, (n_left_out, rows_left_out) = self.passes, self.passes.left_out
        steps, rows = (sum(turn[0][i] for turn in self.rounds) for i in (2, 3))
        n_first = min(passes.burst, passes.whole)
        if not n_left_out or not rows:
            return 1.0
        first, others = n_first / max(1, passes.whole), rows / steps
        return (first * rows_left_out / n_left_out + (1 - first) * others) / others

    def advise(self):
        self.changes = _suggest(self)
        for change in self.changes:
            if change.set:
                self.try_change(change)
        self.changes = [c for c in self.changes if c.gain >= _COUNTS]
        tried = [c for c in self.changes if "num_workers" in c.set]
        for worse in sorted(tried, key=lambda c: (c.measured_step_ms is None, -c.gain))[1:]:
            self.changes.remove(worse)
        self.changes.sort(key=lambda c: (c.measured_step_ms is None and not c.set, -c.gain))
        self.changes += _suggest_start(self)

    def compare_steps(self):
        wall, wait = (sum(turn[0][i] for turn in self.rounds) for i in (0, 1))
        alone, in_loop = self.part_ms("step"), self.result["measured_step_ms"] * max(0.0, 1 - wait / wall)
        if in_loop > _EXPLAINS * alone > 0:
            self.result["sentence"] += f" The step takes {_ms(in_loop)} in the loop, and {_ms(alone)} on one batch over and over."

    def count_start(self):
        """The wait for the first batch of a pass is no part of the steady verdict, but of the time."""
        r, share = self.result, self.start_share
        found = [severity for least, severity in _START if share >= least]
        if not found or r["label"] == "too-few-steps":
            return
        said = f"Each pass begins with {_ms(self.start_ms)} without a batch, {100 * share:.0f} % of its time."
        if r["verdict"] == "compute-bound" or r["verdict"] in ("inconclusive", "environment") and share >= 0.5:
            also = "compute-bound" if r["verdict"] == "compute-bound" else ""
            r.update(verdict="input-bound", label="start-of-pass", also=also, sentence=said)
        else:
            r["sentence"] += " " + said
        if r["severity"] != "high":
            r["severity"] = found[-1]

    def warm_up(self):
        self.say("warm-up")
        self.kept = _Kept(self.passes.count)
        self.step_on_new()
        self.on_host = self.device == "cpu" if self.device else not (_cuda() or _jax_device())
        at = _time.perf_counter()
        n = len(_some(10, 0.1 * self.seconds_given, self.step_on_new))
        self.first_step_s = (_time.perf_counter() - at) / n
        self.take_first_pass()
        if self.facts.overlaps is None:
            self.facts.overlaps = _overlaps(self.passes, 0.1 * self.seconds_given)
            self.facts.workers = self.facts.workers if self.facts.overlaps else -1
        if self.facts.depth is None:
            self.facts.depth = 8 if self.facts.overlaps else 0

    def step_on_new(self):
        batch = self.passes.batch()
        self.kept.see(batch)
        _wait_for(self.step(batch))

    def take_first_pass(self):
        """The rest of the first pass, if it is short, and as much of the second: what is paid once is not judged as steady."""
        passes, budget = self.passes, 0.2 * self.seconds_given
        if passes.whole or passes.starts[0] > budget:
            return
        left = max(0, self.n_batches - passes.n_taken)  # 0: not known
        first, at = [], _time.perf_counter()
        while not passes.whole:
            first.append(_timed(passes))
            took = _time.perf_counter() - at
            if took > budget or took > 0.2 * budget and took * left > budget * len(first):
                return
        second = [first.pop()]
        if not first:  # the rest was its first burst
            return
        second += _some(min(len(first), passes.whole - 1), budget, lambda: _timed(passes))
        if sum(second) > 0:
            self.first_pass = sum(first) / len(first) / (sum(second) / len(second))

    def take_turns(self):
        depth, budget = self.facts.depth, 0.5 * self.seconds_given / (3 * _ROUNDS)
        rounds = _ROUNDS if budget >= _LEAST_STEPS * self.first_step_s else _LEAST_ROUNDS
        n = n_step = max(_LEAST_STEPS, min(2000, int(budget / max(self.first_step_s, 1e-6))))
        settle = 2 if rounds == _ROUNDS else min(1, depth)
        keep, took = max(0.0, self.left - 0.6 * self.seconds_given), 0.0
        for i in range(rounds):
            # the first three may take all the time, later ones leave some for trials
            if i and took > (self.left - keep if i >= 3 else self.passes.limit - _time.perf_counter()):
                break
            self.say(f"round {i + 1} of {rounds}")
            at = _time.perf_counter()
            loader = _run_loader(self.passes, budget, depth, self.kept.see)
            whole = _run_loop(self.passes, self.step, n, settle, budget)
            wholes = [r[0] for r in self.rounds] + [whole]
            turns = self.kept.turns(n_step, sum(r[3] for r in wholes) / sum(r[2] for r in wholes))
            is_slow = whole[0] - whole[1] > _SLOW_S * 1e9 * whole[2]  # else what is begun ends soon
            step = _run_step(self.step, turns, self.passes.limit if is_slow else _math.inf)
            self.rounds.append((whole, loader, step))
            n, n_step = _steps_for(budget, whole), _steps_for(budget, step)
            took = _time.perf_counter() - at

    def try_change(self, change):
        """Runs of the loop as it is and as it would be, by turns, if there is time for both."""
        other = _rebuilt(self.loader, change.set)
        if other is None:
            return
        now_ms = self.result["measured_step_ms"]
        burst = max(1, other.num_workers)
        # a start, the burst that comes with it and one to measure; and one of the loop as it is
        least = 1e-3 * (self.start_ms + 2 * burst * (change.predicted_step_ms or now_ms) + 2 * self.passes.burst * now_ms)
        left = max(self.left, 0.1 * self.seconds_given)
        if least > left:
            return
        self.say(f"trying {change.text}")
        seconds = max(left / 2, least)
        budget = seconds / (2 * _TRY_ROUNDS)
        before, after = [], []
        passes = _Passes(other, burst, self.passes.limit, trial=True, count=self.passes.count)
        n = _steps_for(budget, self.rounds[-1][0])
        began = _time.perf_counter()
        try:
            for i in range(_TRY_ROUNDS):
                if i and (_time.perf_counter() - began) * (i + 1) / i > 1.5 * seconds:
                    break
                self.passes.drain(self.facts.depth)
                as_it_is = _run_loop(self.passes, self.step, n, 2, budget)
                passes.drain(other.num_workers * (other.prefetch_factor or 0))
                after.append(_run_loop(passes, self.step, n, 2))  # whole bursts
                before.append(as_it_is)
        except _OutOfTime:
            pass
        except _Failed:
            change.gain = 0.0
            return
        if not before:
            return
        ratios = sorted(_rate(a) / _rate(b) for a, b in zip(after, before))
        change.gain = ratios[(len(ratios) - 1) // 2] - 1
        change.before_step_ms = sorted(b[0] / b[2] for b in before)[len(before) // 2] * 1e-6
        change.measured_step_ms = change.before_step_ms / (1 + change.gain)


def _rate(run):
    return run[3] / run[0]


def _rate_text(per_s):
    return f"{per_s:,.0f}" if per_s >= 99.95 else f"{per_s:.3g}"


def _steps_for(seconds, run):
    return max(_LEAST_STEPS, min(_MOST_STEPS, int(seconds * 1e9 / (run[0] / run[2]))))


def _jax_device():
    jax = _sys.modules.get("jax")
    return bool(jax) and jax.default_backend() != "cpu"


def doctor(loader, step, *, seconds=20.0, device=None, progress=None):
    """What limits the loop `for batch in loader: step(batch)`, and what to change. Returns a Diagnosis.

    loader    any iterable that can be iterated again: PyTorch's DataLoader, leat.Loader, a tf.data.Dataset, …
              A leat.Loader goes on afterwards as it would have without this.
    step      one training step with a batch. It is called some hundred times, also many times with one and the same batch,
              so it changes the model: use one that you can throw away. What it returns is waited for if JAX made it.
    seconds   how long this may take, within a third, but for one start of the loader
    device    "cpu" or "cuda": where the step computes. None: "cuda" if PyTorch or JAX use one
    progress  called with a text now and then
    """
    if not callable(step):
        raise TypeError("step: a function of one batch")
    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"device={device!r}: it is 'cpu', 'cuda' or None")
    if not 0 < seconds < 1e6:
        raise ValueError(f"seconds={seconds!r}: more than 0")
    while isinstance(loader, _watch):
        loader = loader._loader
    d = _Doctor(loader, step, float(seconds), device, progress)
    state = loader._core.state() if d.facts.kind == "leat" else None
    try:
        d.measure()
    finally:
        if state is not None:
            loader._apart(loader._core.resume, state)
    return Diagnosis(d)
