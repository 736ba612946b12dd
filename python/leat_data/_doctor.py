# SPDX-License-Identifier: MIT
"""leat.doctor(): what limits a training loop, whatever loader and framework it has.

DESIGN. Three kinds of runs take turns, so that all see the same machine: the loader alone, the loop as it is, and the step
alone on one batch that is kept (where sizes differ, on a small and a large one). leat/observe.h makes the verdict from their times. A loader that prefetches has a full queue
after a step alone, so its first batches are taken and not timed; the loop follows directly, with an empty queue. The wait for
the first batch of a pass is no part of a run: it has a figure of its own.
"""

import sys as _sys
import time as _time
import warnings as _warnings

from . import _leat
from ._watch import _ms, cuda as _cuda

_ROUNDS = 6
_LEAST_ROUNDS = 4  # of slow steps
_TRY_ROUNDS = 3
_LEAST_STEPS = 2
_COUNTS = 0.03  # a gain below it is none
_ENOUGH_WORKERS = 32


# --- the loader -----------------------------------------------------------------------------------


class _Facts:
    """What can be known of a loader without running it."""

    def __init__(self, loader):
        self.kind, self.workers, self.depth, self.overlaps = "other", -1, None, None
        torch_data = _sys.modules.get("torch.utils.data")
        if torch_data and isinstance(loader, torch_data.DataLoader):
            self.kind = "DataLoader"
            self.workers = loader.num_workers
            self.overlaps = loader.num_workers > 0
            self.depth = loader.num_workers * (loader.prefetch_factor or 0)
        elif hasattr(loader, "plan") and hasattr(loader, "stats"):
            self.kind = "leat"
            stats = loader.stats()
            self.workers = stats["threads"]
            self.overlaps = stats["threads"] > 0 and stats["prefetch"] > 0
            self.depth = stats["prefetch"] + 2 * stats["threads"]


def _quietly(fn, *args, **given):
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")
        return fn(*args, **given)


class _Passes:
    """Batches without end, pass after pass. Counts the waits for the first batch of each."""

    def __init__(self, loader, quiet=False):
        self.loader, self.starts, self.n_taken = loader, [], 0
        self._quiet = quiet  # PyTorch warns of more workers than CPUs, which is what is tried
        self._it, self._length = None, 0

    def next(self, at_end=None):
        """A batch, and whether it is the first of a pass: its wait is not that of every batch. Where a pass is one batch,
        it is.

        at_end    called when a pass of several batches has ended and before the next one begins"""
        if self._it is not None:
            try:
                batch = next(self._it)
                self._length += 1
                self.n_taken += 1
                return batch, False
            except StopIteration:
                self._it = None
                if at_end and self._length > 1:
                    at_end()
        usual = self._length == 1
        at = _time.perf_counter()
        it = _quietly(iter, self.loader) if self._quiet else iter(self.loader)
        try:
            batch = next(it)
        except StopIteration:
            raise ValueError(
                "the loader gives no more batches" + (": give one that can be iterated again, not an iterator of it"
                                                      if self.n_taken else ": it is empty")) from None
        self._it, self._length = it, 1
        self.starts.append(_time.perf_counter() - at)
        self.n_taken += 1
        return batch, not usual

    def batch(self):
        return self.next()[0]


def _rows(batch):
    """Samples of a batch: the length of its first tensor, or list of texts; at least 1."""
    if hasattr(batch, "rows"):
        return max(1, batch.rows)
    while isinstance(batch, (dict, list, tuple)) and len(batch):
        if not isinstance(batch, dict) and (isinstance(batch[0], (str, bytes))
                                            or not (hasattr(batch[0], "__len__") or hasattr(batch[0], "shape"))):
            return len(batch)
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return max(1, int(shape[0])) if len(shape) else 1
    return max(1, len(batch)) if hasattr(batch, "__len__") else 1


class _Kept:
    """The smallest and the largest batch that were seen, for steps alone. Where sizes differ they take turns, so that a step has
    as many samples on average as in the loop."""

    def __init__(self):
        self._small = self._large = None  # (rows, batch)
        self._n = self._rows = 0  # steps so far, and their samples

    def see(self, batch):
        """Returns its samples."""
        n = _rows(batch)
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
        self.wait = self.steps = self.rows = self.left_out = 0
        self.usage = _leat.usage()
        self.at = _time.perf_counter_ns()

    def end(self):
        wall = _time.perf_counter_ns() - self.at - self.left_out
        return (max(wall, 1), self.wait, self.steps, float(self.rows), self.usage, _leat.usage())


def _run_loader(passes, n, depth, see=_rows):
    for _ in range(depth):
        passes.batch()
    run = _Run()
    while run.steps < n:
        asked = _time.perf_counter_ns()
        batch = None  # a loader may copy what is held for long
        batch, is_first = passes.next()
        if is_first:
            run.left_out += _time.perf_counter_ns() - asked
            continue
        run.rows += see(batch)
        run.steps += 1
    return run.end()


def _run_loop(passes, step, n, settle):
    for _ in range(settle):
        _wait_for(step(passes.batch()))
    run = _Run()
    result = begun = None

    def end_pass():  # what was asked of the device until now are steps that count
        nonlocal begun
        _wait_for(result)
        begun = _time.perf_counter_ns()

    while run.steps < n:
        asked = _time.perf_counter_ns()
        batch = None
        batch, is_first = passes.next(end_pass)
        ready = _time.perf_counter_ns()
        if is_first:  # nor does its step count, for which the loader had no time
            _wait_for(step(batch))
            run.left_out += _time.perf_counter_ns() - (begun or asked)
            continue
        run.wait += ready - asked
        run.rows += _rows(batch)
        result = step(batch)
        run.steps += 1
    _wait_for(result)
    return run.end()


def _run_step(step, turns):
    run = _Run()
    result = None
    for _, batch in turns:
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


def _overlaps(passes):
    """Whether batches are made while the loop does something else: then one is there after a pause."""
    took = sorted(_timed(passes) for _ in range(15))[-8:]  # those that were ready are the quick ones
    usual = took[len(took) // 2]
    after = []
    for _ in range(5):
        _time.sleep(min(2.0, 2e-9 * usual))
        after.append(_timed(passes))
    return sorted(after)[2] < 0.5 * usual


# --- changes --------------------------------------------------------------------------------------


class Change:
    """A change of the loop and what it gains.

    text               what to change
    why                in a sentence
    predicted_step_ms  from the capacities; None: it is not a matter of the step
    measured_step_ms   by runs of the changed loop, with before_step_ms by turns; None: it was not tried
    gain               of samples/s: 0.25 is a quarter more; by the measurement if there is one
    """

    def __init__(self, text, why, predicted=None, set=None):
        self.text, self.why, self.predicted_step_ms, self.set = text, why, predicted, set or {}
        self.measured_step_ms = self.before_step_ms = None
        self.gain = 0.0

    def __repr__(self):
        return f"<{self.text}: {100 * self.gain:+.0f} %>"


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
    start = d.start_share
    if d.facts.kind == "DataLoader" and d.facts.workers > 0 and not d.loader.persistent_workers and start >= _COUNTS:
        change = Change("DataLoader(persistent_workers=True)",
                        f"each pass begins with {_ms(d.start_ms)} without a batch, {100 * start:.0f} % of its time")
        change.gain = start / (1 - start) * max(0.0, 1 - d.part_ms("loader") / d.start_ms)
        out.append(change)
    if waits and d.facts.kind != "DataLoader" and not d.facts.overlaps:
        ms = _leat.predict(d.observed, 1) * 1e-6
        out.append(Change("make batches in another thread or process while a step runs",
                          "now each batch is made after a step", ms))
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
    batch               samples per step
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
        self._on_host = d.on_host

    def __repr__(self):
        return f"<{self.verdict}{f' ({self.label})' if self.label else ''}, {self.severity}>"

    def __str__(self):
        r = self.figures
        head = self.verdict + (f" ({self.label})" if self.label else "")
        if self.severity not in ("none", ""):
            head += f", {self.severity}"
        lines = [f"{head}: {self.sentence}", ""]
        lines.append(f"  {'a step of the loop':<44} {_ms(self.measured_step_ms):>9}   {_rate_text(r['samples_per_s'])} samples/s")
        for c in r["capacities"]:
            if c["part"] in ("loader", "first_batch", "step", "shared") and c["step_ms"] > 0:
                lines.append(f"    {c['text']:<42} {_ms(c['step_ms']):>9}")
        lines.append(f"  {'explained by these':<44} {_ms(self.predicted_step_ms):>9}")
        if r["next_limit"] and r["next_limit_step_ms"] < self.measured_step_ms * (1 - _COUNTS):
            lines.append(f"  {'without this limit, limited by ' + r['next_limit']:<44} {_ms(r['next_limit_step_ms']):>9}")
        if self.start_share >= _COUNTS:
            lines.append(f"  {'until the first batch of a pass':<44} {_ms(self.start_ms):>9}   "
                         f"{100 * self.start_share:.0f} % of a pass")
        if self.first_pass >= 1.5:
            lines.append(f"  The first pass took the loader {self.first_pass:.1f} times as long as the next ones.")
        if r["cores_taken"] >= 0.05 * r["cores"]:
            lines.append(f"  Other programs used {r['cores_taken']:.1f} of {r['cores']} CPUs meanwhile.")
        if not self._on_host:
            lines.append("  The device counts as busy during a step alone. `leat watch` sees gaps between its kernels.")
        lines.append("")
        if not self.changes:
            lines.append("nothing to change" + (" in the loader" if self.verdict == "compute-bound" else
                                                ": measure again, longer (seconds=60), on a quiet machine"
                                                if self.verdict in ("inconclusive", "environment") else " was found"))
        for i, c in enumerate(self.changes, 1):
            lines.append(f"{i}. {c.text}: {100 * c.gain:+.0f} % samples/s{_how(c)}")
            lines.append(f"   {c.why}")
        return "\n".join(lines)


def _how(change):
    if change.measured_step_ms:
        said = f", {_ms(change.before_step_ms)} -> {_ms(change.measured_step_ms)} per step, measured"
        return said + (f" ({_ms(change.predicted_step_ms)} predicted)" if change.predicted_step_ms else "")
    if change.predicted_step_ms:
        return f", {_ms(change.predicted_step_ms)} per step, predicted"
    return ", predicted"


class _Doctor:
    def __init__(self, loader, step, seconds, device, progress):
        self.loader, self.step, self.seconds_given = loader, step, seconds
        self.facts = _Facts(loader)
        self.passes = _Passes(loader)
        self.device, self.progress = device, progress
        self.first_pass = 0.0
        self.changes = []

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
        if self.n_batches <= 0:
            return 0.0
        start = max(0.0, self.start_ms - self.result["measured_step_ms"])
        return start / (start + self.n_batches * self.result["measured_step_ms"])

    def say(self, what):
        if self.progress:
            self.progress(what)

    def measure(self):
        began = _time.perf_counter()
        self.warm_up()
        self.take_turns()
        self.observed = (self.on_host, self.facts.overlaps, self.facts.workers, self.rounds)
        self.result = _leat.observe(*self.observed)
        self.changes = _suggest(self)
        left = self.seconds_given - (_time.perf_counter() - began)
        for change in self.changes:
            if change.set and "persistent_workers" not in change.set:
                self.try_change(change, max(left / 2, 0.1 * self.seconds_given))
                left = self.seconds_given - (_time.perf_counter() - began)
        self.changes = [c for c in self.changes if c.gain >= _COUNTS]
        tried = [c for c in self.changes if "num_workers" in c.set]
        for worse in sorted(tried, key=lambda c: -c.gain)[1:]:
            self.changes.remove(worse)
        self.changes.sort(key=lambda c: (c.measured_step_ms is None and not c.set, -c.gain))
        self.seconds = _time.perf_counter() - began

    def warm_up(self):
        self.say("warm-up")
        passes = self.passes
        self.kept = _Kept()
        self.step_on_new()
        self.on_host = self.device == "cpu" if self.device else not (_cuda() or _jax_device())
        try:
            self.n_batches = len(self.loader)
        except TypeError:
            self.n_batches = 0
        at = _time.perf_counter()
        n = 0
        while n < 10 and (n < 2 or _time.perf_counter() - at < 0.1 * self.seconds_given):
            self.step_on_new()
            n += 1
        self.first_step_s = (_time.perf_counter() - at) / n
        if self.n_batches > 1:
            self.take_first_pass()
        if self.facts.overlaps is None:
            self.facts.overlaps = _overlaps(passes)
        if self.facts.depth is None:
            self.facts.depth = 8 if self.facts.overlaps else 0

    def step_on_new(self):
        batch = self.passes.batch()
        self.kept.see(batch)
        _wait_for(self.step(batch))

    def take_first_pass(self):
        """The rest of the first pass, if it is short, and as much of the second: what is paid once is not judged as steady."""
        passes, budget = self.passes, 0.2 * self.seconds_given
        left = self.n_batches - passes.n_taken
        if left < 1 or left * _timed(passes) * 1e-9 > budget:
            return
        first = [_timed(passes) for _ in range(left - 1)]
        second = [_timed(passes) for _ in range(min(len(first), self.n_batches - 1))]
        if sum(second) > 0:
            self.first_pass = sum(first) / len(first) / (sum(second) / len(second))

    def take_turns(self):
        depth = self.facts.depth
        self.rounds = []
        budget = 0.5 * self.seconds_given / (3 * _ROUNDS)
        rounds = _ROUNDS if budget >= _LEAST_STEPS * self.first_step_s else _LEAST_ROUNDS
        n = n_loader = n_step = max(_LEAST_STEPS, min(2000, int(budget / max(self.first_step_s, 1e-6))))
        for i in range(rounds):
            self.say(f"round {i + 1} of {rounds}")
            loader = _run_loader(self.passes, n_loader, depth, self.kept.see)
            whole = _run_loop(self.passes, self.step, n, 1 if rounds < _ROUNDS else 2)
            wholes = [r[0] for r in self.rounds] + [whole]
            step = _run_step(self.step, self.kept.turns(n_step, sum(r[3] for r in wholes) / sum(r[2] for r in wholes)))
            self.rounds.append((whole, loader, step))
            n = _steps_for(budget, whole)
            n_loader, n_step = _steps_for(budget, loader), _steps_for(budget, step)

    def try_change(self, change, seconds):
        other = _rebuilt(self.loader, change.set)
        if other is None:
            return
        self.say(f"trying {change.text}")
        budget = seconds / (2 * _TRY_ROUNDS)
        before, after = [], []
        passes = _Passes(other, quiet=True)
        depth = change.set.get("num_workers", self.facts.workers) * (other.prefetch_factor or 0)
        n = _steps_for(budget, self.rounds[-1][0])
        settle = max(2, min(depth, n))
        for i in range(_TRY_ROUNDS):
            after.append(_run_loop(passes, self.step, n, settle if i == 0 else 2))
            before.append(_run_loop(self.passes, self.step, n, 2))
        ratios = sorted(_rate(a) / _rate(b) for a, b in zip(after, before))
        change.gain = ratios[len(ratios) // 2] - 1
        change.before_step_ms = sorted(b[0] / b[2] for b in before)[len(before) // 2] * 1e-6
        change.measured_step_ms = change.before_step_ms / (1 + change.gain)


def _rate(run):
    return run[3] / run[0]


def _rate_text(per_s):
    return f"{per_s:,.0f}" if per_s >= 99.95 else f"{per_s:.3g}"


def _steps_for(seconds, run):
    return max(_LEAST_STEPS, min(5000, int(seconds * 1e9 / (run[0] / run[2]))))


def _jax_device():
    jax = _sys.modules.get("jax")
    return bool(jax) and jax.default_backend() != "cpu"


def doctor(loader, step, *, seconds=20.0, device=None, progress=None):
    """What limits the loop `for batch in loader: step(batch)`, and what to change. Returns a Diagnosis.

    loader    any iterable that can be iterated again: PyTorch's DataLoader, leat.Loader, a tf.data.Dataset, …
    step      one training step with a batch. It is called some hundred times, also many times with one and the same batch,
              so it changes the model: use one that you can throw away. What it returns is waited for if JAX made it.
    seconds   how long this may take, about
    device    "cpu" or "cuda": where the step computes. None: "cuda" if PyTorch or JAX use one
    progress  called with a text now and then
    """
    if not callable(step):
        raise TypeError("step: a function of one batch")
    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"device={device!r}: it is 'cpu', 'cuda' or None")
    if not 0 < seconds < 1e6:
        raise ValueError(f"seconds={seconds!r}: more than 0")
    d = _Doctor(loader, step, float(seconds), device, progress)
    d.measure()
    return Diagnosis(d)
