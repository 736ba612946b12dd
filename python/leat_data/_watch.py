# SPDX-License-Identifier: MIT
"""leat.watch(): listens to a loop over any iterable, and says how long it waited for batches."""

import sys as _sys
from array import array as _array
from time import perf_counter_ns as _now

from . import _leat

SETTLE = 10     # first steps, which are not counted
_RECENT = 4096  # steps whose median is given


def cuda():
    """torch.cuda if PyTorch has used a GPU in this process, else None."""
    torch = _sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_available() and torch.cuda.is_initialized() else None


class _DeviceClock:
    """Two events a step in the stream of the loop, read when the device has passed them; it never waits for it.

    After a step's last kernel the device idles until the first of the next, which is the time from the event behind the
    one to the event before the other."""

    LATE = 64  # steps

    def __init__(self, cuda):
        self._event, self._pending, self._end = cuda.Event, [], None

    def mark(self):
        event = self._event(enable_timing=True)
        event.record()
        return event

    def step(self, begin, end, is_first):
        self._pending.append((begin, end, is_first))

    def read(self, everything=False):
        """(idle before the step, ns or None in the first of a pass; the step, ns) of the steps that are old enough."""
        out = []
        while self._pending and (everything or len(self._pending) > self.LATE):
            begin, end, is_first = self._pending[0]
            if everything:
                end.synchronize()
            elif not end.query():
                break
            del self._pending[0]
            gap = None if is_first or self._end is None else self._end.elapsed_time(begin) * 1e6
            out.append((gap, begin.elapsed_time(end) * 1e6))
            self._end = end
        return out


class watch:
    """Iterates as `loader` does, and times each wait for a batch and each step.

        with leat.watch(loader) as w:
            for batch in w:
                step(batch)
        print(w.report())

    loader  any iterable; a `for` loop over the watch is a pass over it
    device  "cpu" or "cuda": where the steps compute. None: "cuda" if PyTorch has used one when the loop begins. Then times
            are those of the device, from two events a step; the host's times would tell nothing, as it runs ahead.

    The first 10 steps, what happens between passes, and the wait for the first batch of a pass (`starts`) are not part of
    the shares. It costs less than a microsecond a step on the CPU.
    """

    def __init__(self, loader, *, device=None):
        if device not in (None, "cpu", "cuda"):
            raise ValueError(f"device={device!r}: it is 'cpu', 'cuda' or None")
        self._loader, self._device = loader, device
        self._clock = None
        self._wait_ns = self._step_ns = self._n = 0
        self._skip = SETTLE
        self._recent, self._at = _array("q"), 0
        self.starts = []  # seconds to the first batch, of each pass
        self._from = None

    def __len__(self):
        return len(self._loader)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._drain(True)

    def _begin(self):
        if self._from is None:
            on_cuda = cuda() if self._device != "cpu" else None
            if self._device == "cuda" and on_cuda is None:
                raise ValueError("device='cuda': PyTorch has not used a CUDA device in this process")
            self._clock = _DeviceClock(on_cuda) if on_cuda else None
            self._from = _leat.usage()

    def _count(self, wait, step):
        """A step of a pass, but not its first."""
        if self._skip:
            self._skip -= 1
            return
        self._wait_ns += wait
        self._step_ns += step
        self._n += 1
        if len(self._recent) < _RECENT:
            self._recent.append(wait + step)
        else:
            self._recent[self._at] = wait + step
            self._at = (self._at + 1) % _RECENT

    def _drain(self, everything=False):
        for gap, step in self._clock.read(everything) if self._clock else ():
            if gap is not None:
                self._count(int(gap), int(step))

    def __iter__(self):
        self._begin()
        clock, count = self._clock, self._count
        is_first, step_from, wait, begin = True, None, 0, None
        asked = _now()
        for batch in self._loader:
            ready = _now()
            if is_first:
                self.starts.append((ready - asked) * 1e-9)
            wait = ready - asked
            try:
                if clock:
                    begin = clock.mark()
                yield batch
            finally:  # also where the loop is left early
                asked = _now()
                if clock:
                    clock.step(begin, clock.mark(), is_first)
                    self._drain()
                elif not is_first:
                    count(wait, asked - ready)
                is_first = False

    @property
    def shares(self):
        """Of the time of the loop: {"busy": …, "input_wait": …}; {} before the first steps are counted."""
        self._drain()
        all_ns = self._wait_ns + self._step_ns
        return {"busy": self._step_ns / all_ns, "input_wait": self._wait_ns / all_ns} if all_ns else {}

    @property
    def n_steps(self):
        """Steps that were counted."""
        return self._n

    @property
    def step_ms(self):
        """Median time of a step with its wait, of the last 4,096."""
        times = sorted(self._recent)
        return times[len(times) // 2] * 1e-6 if times else 0.0

    @property
    def guess(self):
        """What probably limits the loop, in a sentence. leat.doctor() measures it."""
        shares = self.shares
        return _leat.guess(shares["busy"], shares["input_wait"], self._clock is None) if shares else ""

    def report(self):
        """All of it, as text."""
        self._drain(True)
        shares = self.shares
        if not shares:
            return f"watched {self._n} steps: too few, as the first {SETTLE} and the first of a pass do not count"
        times = sorted(self._recent)
        mean = (self._wait_ns + self._step_ns) / self._n * 1e-6
        who = "the device waits" if self._clock else "waits for a batch"
        own, others, cpus = _leat.taken(self._from, _leat.usage())
        passes = f"{len(self.starts):,} pass{'es' if len(self.starts) != 1 else ''}"
        lines = [
            f"watched {self._n:,} steps in {passes}: {_ms(self.step_ms)} each (median; 95 % within "
            f"{_ms(times[-(len(times) // 20) - 1] * 1e-6)})",
            f"  {who:<18} {100 * shares['input_wait']:5.1f} %  {_ms(mean * shares['input_wait'])}",
            f"  {'the step':<18} {100 * shares['busy']:5.1f} %  {_ms(mean * shares['busy'])}",
            f"  {'first batches':<18} {sum(self.starts) * 1e3:,.0f} ms more, of {passes}",
            f"  {'CPUs':<18} {own:.1f} of {cpus} used by this process and its workers, {others:.1f} by others",
            f"{self.guess}",
            "leat.doctor(loader, step) measures the loader and the step alone, and says what to change.",
        ]
        return "\n".join(lines)


def _ms(ms):
    return f"{ms:,.0f} ms" if ms >= 100 else f"{ms:.3g} ms"
