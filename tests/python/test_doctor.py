# SPDX-License-Identifier: MIT
"""Tests of leat.watch() and leat.doctor(), over loaders that sleep. tests/checks/check_python_package.sh runs them.

In tests of the doctor time passes only where somebody sleeps (Clock), so what it finds does not depend on what else the machine
does. LEAT_TEST_TIMES=1 judges measured times, too.
"""

import os
import sys
import time
import types
import unittest
import unittest.mock

import numpy as np

import leat_data as leat
from leat_data import _doctor, _samples, _watch


JUDGES_TIMES = "LEAT_TEST_TIMES" in os.environ
clock = time  # of the loaders and steps below


class Clock:
    """In the place of the module `time`. Each look at it takes 0.1 us."""

    def __init__(self):
        self.ns = 10**9

    def sleep(self, seconds):
        self.ns += round(seconds * 1e9)

    def perf_counter_ns(self):
        self.ns += 100
        return self.ns

    def perf_counter(self):
        return self.perf_counter_ns() * 1e-9


class Slow:
    """Batches that take some ms each, made in the loop's thread."""

    def __init__(self, n=50, ms=4.0, first_ms=0.0):
        self.n, self.ms, self.first_ms = n, ms, first_ms

    def __len__(self):
        return self.n

    def __iter__(self):
        clock.sleep(self.first_ms * 1e-3)
        for i in range(self.n):
            clock.sleep(self.ms * 1e-3)
            yield {"x": np.full((8, 2), i)}


class Ahead(Slow):
    """The same as if a thread made them, with two in a queue and one in its hands. Needs a Clock."""

    def __iter__(self):
        taken, made = [], clock.ns
        for i in range(self.n):
            made = max(made, taken[i - 3] if i >= 3 else 0) + round(self.ms * 1e6)
            clock.ns = max(clock.ns, made)
            taken.append(clock.ns)
            yield {"x": np.full((8, 2), i)}


class Workers(Slow):
    """The same as if alternating workers made them, with so many in flight for each, as a DataLoader does. Persistent ones first
    finish what a pass that was left early has in flight. Needs a Clock.

    n_asked    batches that were asked for, in all passes"""

    def __init__(self, n, ms, num_workers, prefetch_factor=2, first_ms=0.0, persistent_workers=False):
        super().__init__(n, ms, first_ms)
        self.num_workers, self.prefetch_factor, self.persistent_workers = num_workers, prefetch_factor, persistent_workers
        self.free, self.n_asked = 0, 0

    def __iter__(self):
        if self.persistent_workers and self.free:
            clock.ns = max(clock.ns, self.free)
        else:
            clock.sleep(self.first_ms * 1e-3)
        free, made = [clock.ns] * self.num_workers, []
        for i in range(self.n):
            while len(made) < min(self.n, i + self.num_workers * self.prefetch_factor):
                worker = len(made) % self.num_workers
                made.append(max(clock.ns, free[worker]) + round(self.ms * 1e6))
                free[worker] = made[-1]
            self.free = max(free)
            self.n_asked += 1
            clock.ns = max(clock.ns, made[i])
            yield {"x": np.full((8, 2), i)}


def sleeps(ms):
    return lambda batch: clock.sleep(ms * 1e-3)


class Watch(unittest.TestCase):
    def test_it_iterates_as_the_loader_does(self):
        w = leat.watch(Slow(20, 0))
        self.assertEqual(len(w), 20)
        for _ in range(3):
            self.assertEqual([int(b["x"][0, 0]) for b in w], list(range(20)))
        self.assertEqual(len(w.starts), 3)
        # 10 settle, and the first of each pass has a wait of its own kind
        self.assertEqual(w.n_steps, 3 * 19 - _watch.SETTLE)

    def test_what_a_step_costs(self):
        """Less than a microsecond of this thread's CPU time."""

        def cost(batches):
            at = time.thread_time_ns()
            for _ in batches:
                pass
            return time.thread_time_ns() - at

        n = 20000
        costs = [(cost(leat.watch(range(n), device="cpu")) - cost(range(n))) / n for _ in range(5)]
        self.assertTrue(not JUDGES_TIMES or min(costs) < 1000, costs)

    def test_shares(self):
        with leat.watch(Slow(60, 4)) as w:
            for _ in w:
                pass
        self.assertAlmostEqual(sum(w.shares.values()), 1)
        self.assertGreater(w.shares["input_wait"], 0.6)  # of nearly all
        self.assertIn("input-bound", w.guess)
        self.assertGreater(w.step_ms, 4)
        for word in ("waits for a batch", "first batches", "CPUs", "leat.doctor"):
            self.assertIn(word, w.report())
        with leat.watch([0] * 60) as w:
            for _ in w:
                time.sleep(0.002)
        self.assertLess(w.shares["input_wait"], 0.2)  # of nearly nothing
        self.assertIn("compute-bound", w.guess)

    def test_the_first_batch_is_no_step(self):
        w = leat.watch(Slow(15, 0, first_ms=50))
        for _ in range(4):
            for _ in w:
                time.sleep(0.001)
        self.assertGreaterEqual(min(w.starts), 0.05)
        self.assertEqual(w.n_steps, 4 * 14 - _watch.SETTLE)
        self.assertLess(w.shares["input_wait"], 0.5)  # of nearly nothing

    def test_a_loop_that_is_left(self):
        w = leat.watch(Slow(50, 0))
        for i in range(30):
            for j, _ in enumerate(w):
                if j == i:
                    break
        self.assertEqual(len(w.starts), 30)
        with self.assertRaises(KeyError):
            for _ in w:
                raise KeyError("mine")
        self.assertIn("too few", leat.watch([]).report())

    def test_it_does_not_grow(self):
        w = leat.watch(range(20000))
        for _ in w:
            pass
        self.assertEqual(len(w._recent), 4096)
        self.assertEqual(w.n_steps, 20000 - 1 - _watch.SETTLE)

    def test_a_device_has_a_clock_of_its_own(self):
        """A stand-in for torch.cuda: the device takes 6 ms a step, and begins when asked or after the step before. The host
        takes no time, and so runs far ahead; or it gets a batch every 10 ms."""
        host, device = [0.0], [0.0]

        class Event:
            def __init__(self, enable_timing=False):
                assert enable_timing

            def record(self):
                device[0] = max(device[0], host[0])
                self.at = device[0]

            def query(self):
                return True

            def synchronize(self):
                pass

            def elapsed_time(self, other):
                return other.at - self.at

        cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, Event=Event)
        real = sys.modules.get("torch")
        sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
        try:
            for every, idle in ((0, 0.0), (10, 0.4)):
                host[0] = device[0] = 0.0

                def late():
                    for i in range(200):
                        host[0] += every
                        yield i

                with leat.watch(late()) as w:
                    for _ in w:
                        device[0] += 6  # behind the event at the step's start
                self.assertEqual(w.n_steps, 199 - _watch.SETTLE)
                self.assertAlmostEqual(w.shares["input_wait"], idle, 2)
                self.assertAlmostEqual(w.step_ms, max(every, 6), 3)
                self.assertIn("the device waits", w.report())
        finally:
            if real:
                sys.modules["torch"] = real
            else:
                del sys.modules["torch"]
        with self.assertRaises(ValueError):
            leat.watch([], device="tpu")


class Still(unittest.TestCase):
    def setUp(self):
        """On a machine that does nothing: no CPU time passes."""
        global clock
        clock = Clock()
        own = _doctor._leat
        usage = own.usage()
        still = types.SimpleNamespace(usage=lambda: usage, observe=own.observe, predict=own.predict)
        for name, value in (("_time", clock), ("_leat", still)):
            patch = unittest.mock.patch.object(_doctor, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def tearDown(self):
        global clock
        clock = time


class Doctor(Still):
    def check(self, loader, step, verdict, label, ms):
        d = leat.doctor(loader, step, seconds=3, device="cpu")
        self.assertEqual((d.verdict, d.label), (verdict, label), str(d))
        self.assertLess(abs(d.predicted_step_ms / d.measured_step_ms - 1), 0.25, str(d))
        self.assertGreater(d.measured_step_ms, ms * 0.9)
        self.assertEqual(d.batch, 8)
        self.assertIn(d.sentence, str(d))
        return d

    def test_nothing_overlaps(self):
        d = self.check(Slow(40, 6), sleeps(4), "input-bound", "not-overlapped", 10)
        self.assertIn("another thread or process", d.changes[0].text)
        self.assertGreater(d.changes[0].gain, 0.4)
        self.assertLess(d.changes[0].predicted_step_ms, 8)

    def test_a_step_that_is_slower_on_other_batches(self):
        """What loader and step alone do not explain is no gain of another loader."""
        last = None

        def step(batch):
            nonlocal last
            clock.sleep(0.04 if batch is last else 0.06)
            last = batch

        d = leat.doctor([np.full((8, 2), i) for i in range(40)], step, seconds=20, device="cpu")
        self.assertEqual((d.verdict, d.label, d.severity, d.changes), ("compute-bound", "", "none", []), str(d))
        self.assertRegex(d.sentence, r"60 ms in the loop, and 4\S* ms on one batch over and over")
        d = leat.doctor(Slow(40, 8), step, seconds=20, device="cpu")
        self.assertEqual((d.verdict, d.label, d.severity), ("input-bound", "not-overlapped", "moderate"), str(d))
        self.assertIn("60 ms in the loop", d.sentence)
        self.assertAlmostEqual(d.changes[0].gain, 8 / 60, delta=0.01)
        self.assertNotIn("over and over", leat.doctor(Slow(40, 8), sleeps(40), seconds=20, device="cpu").sentence)

    def test_a_slow_loader_that_is_ahead(self):
        d = self.check(Ahead(40, 8), sleeps(3), "input-bound", "", 8)
        self.assertTrue(d._facts.overlaps)
        self.assertIn("of the loader's work", d.changes[-1].text)

    def test_a_slow_step(self):
        d = self.check(Ahead(40, 1), sleeps(8), "compute-bound", "", 8)
        self.assertEqual(d.changes, [])
        self.assertIn("nothing to change in the loader", str(d))

    def test_a_rate_below_one(self):
        self.assertEqual([_doctor._rate_text(x) for x in (0, 0.4, 12.34, 99.96, 1234.5)], ["0", "0.4", "12.3", "100", "1,234"])

    def test_batches_of_many_sizes(self):
        """The step alone has the samples of the loop's steps, whether its time follows them, or not, or in part."""

        class Uneven(Slow):
            def __iter__(self):
                for n in self.n:
                    clock.sleep(self.ms * 1e-3)
                    yield {"x": np.zeros((n, 2))}

            def __len__(self):
                return len(self.n)

        mixed = list(np.random.default_rng(1).integers(1, 100, 200))
        for sizes in ([100, 1] * 20, [1, 100] * 20, [100] * 5 + [1], [100, 1], [50, 20, 90] * 30, mixed, [70] * 40):
            for each, per_row in ((0.02, 0), (0, 2e-4), (0.01, 1e-4)):
                for loader_ms in 0.1, 30:
                    def step(batch):
                        clock.sleep(each + per_row * len(batch["x"]))

                    with self.subTest(sizes=sizes[:6], each=each, loader_ms=loader_ms):
                        d = leat.doctor(Uneven(sizes, loader_ms), step, seconds=20, device="cpu")
                        self.assertLess(abs(d.predicted_step_ms / d.measured_step_ms - 1), 0.08, str(d))
                        if sizes[:2] != [100, 1] or len(sizes) > 2:  # else the loop has short batches alone
                            self.assertEqual(d.verdict, "input-bound" if loader_ms > 1 else "compute-bound", str(d))

    def test_short_passes(self):
        """The first batch of a pass and its step are no part of the figures; where a pass is one batch they are."""
        for n in (1, 3):
            d = leat.doctor(Slow(n, 6, first_ms=30 if n > 1 else 0), sleeps(4), seconds=4, device="cpu")
            self.assertEqual(d.verdict, "input-bound", str(d))
            self.assertGreater(d.loader_ms, 5.9)
            self.assertLess(d.loader_ms, 9, str(d))
            self.assertGreater(d.measured_step_ms, 9.9)
            self.assertLess(d.measured_step_ms, 15, str(d))
            if n > 1:
                self.assertGreater(d.start_ms, 30)
                self.assertIn("until the first batch of a pass", str(d))

    def test_steps_that_a_device_has_in_its_queue(self):
        """Where a pass ends, the steps before it are waited for, and their time counts."""
        free = 0  # when the device has done what it was asked for

        def step(batch):
            nonlocal free
            free = max(free, clock.ns) + 2_000_000

        def wait_for(result):
            clock.ns = max(clock.ns, free)

        for n in (1, 2, 10, 50, 1000):
            with self.subTest(n), unittest.mock.patch.object(_doctor, "_wait_for", wait_for):
                free = 0
                wall, wait, steps, *_ = _doctor._run_loop(_doctor._Passes(Slow(n, 0.01, first_ms=50 if n > 1 else 0)), step, 100, 2)
                self.assertEqual(steps, 100)
                self.assertAlmostEqual(wall / steps * 1e-6, 2, delta=0.1)
                self.assertLess(wait / steps * 1e-6, 0.1)

    def test_a_first_pass(self):
        class Cached(Slow):
            def __iter__(self):
                yield from super().__iter__()
                self.ms = 0.5

        d = leat.doctor(Cached(30, 10), sleeps(4), seconds=6, device="cpu")
        self.assertGreater(d.first_pass, 3)
        self.assertIn("first pass", str(d))

        class Unknown:  # where its length is not
            def __init__(self):
                self.own = Cached(30, 10)

            def __iter__(self):
                return iter(self.own)

        self.assertGreater(leat.doctor(Unknown(), sleeps(4), seconds=6, device="cpu").first_pass, 3)

    def test_starts_of_passes(self):
        """They count, whether the loader knows its length or not."""

        class Unknown:
            def __iter__(self):
                return iter(Slow(30, 0, first_ms=500))

        class Endless(Unknown):
            def __iter__(self):
                return iter(Slow(10**9, 1, first_ms=500))

        for loader in Slow(30, 0, first_ms=500), Unknown():
            d = leat.doctor(loader, sleeps(4), seconds=12, device="cpu")
            self.assertEqual((d.verdict, d.label, d.severity), ("input-bound", "start-of-pass", "high"), str(d))
            self.assertEqual(d.also, "compute-bound")
            self.assertAlmostEqual(d.start_share, 500 / 620, delta=0.02)
            self.assertIn("81 % of its time", d.sentence)
            self.assertIn("before all passes", d.changes[0].text)
        d = leat.doctor(Slow(30, 4, first_ms=30), sleeps(4), seconds=12, device="cpu")
        self.assertEqual((d.verdict, d.label), ("input-bound", "not-overlapped"), str(d))
        self.assertIn("without a batch", d.sentence)
        d = leat.doctor(Endless(), sleeps(4), seconds=12, device="cpu")
        self.assertEqual((d.label, d.start_share), ("not-overlapped", 0), str(d))

    def test_refusals(self):
        for loader, step, word in ((iter([1, 2, 3]), sleeps(0), "iterated again"), ([], sleeps(0), "empty")):
            with self.assertRaisesRegex(ValueError, word):
                leat.doctor(loader, step, seconds=1)
        with self.assertRaises(TypeError):
            leat.doctor([1], 3)
        for wrong in ({"seconds": 0}, {"device": "gpu"}):
            with self.assertRaises(ValueError):
                leat.doctor([1], sleeps(0), **wrong)

        def fails(batch):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            leat.doctor(Slow(), fails)

    def test_samples_of_a_batch(self):
        x, image, texts = np.zeros((5, 2)), np.zeros((3, 64, 48)), ["one.jpg", "2.jpg", "three.jpg"]
        wide, boxes, many = np.zeros((3, 64, 50)), np.zeros((5, 4)), np.zeros((8, 3, 64, 48))
        detection = ((image,) * 8, ({"boxes": boxes, "n": 5},) * 8)  # tuple(zip(*samples))
        listed = [(image, {"boxes": boxes})] * 8  # collate_fn=list
        even = ((image,) * 8, ({"boxes": np.zeros((3, 4))},) * 8)
        gray, pair = np.zeros((4, 28, 28)), np.zeros((16, 30, 40))
        for batch, size, n in (  # 0: not known
                (texts, None, 3), ([tuple(texts), x[:3]], None, 3), ({"text": texts, "x": x[:3]}, None, 3),
                ([b"1", b"2"], None, 2), (x, None, 5), ({"a": x}, None, 5), ((x, x), None, 5), ([[x], 1], None, 5),
                ([1, 2, 3], None, 3), (np.float32(1), None, 0), (7, None, 0), ([], None, 0), ({}, None, 0), (x[:0], None, 1),
                ((7, many), None, 8), ((7, many), 8, 8), ((many, np.zeros(8)), None, 8), ((pair, pair), None, 16),
                (({"x": many}, {"y": np.zeros(8)}), None, 8), ((many, np.zeros((100, 4))), None, 0),
                (detection, None, 8), (detection, 8, 8), (listed, None, 8), (listed, 8, 8), (even, 8, 8), (even, None, 0),
                ([image] * 8, 8, 8), ([image] * 8, None, 0), ([image, wide] * 4, None, 8), ((gray, gray), 4, 4),
                ((gray, gray), None, 0), ((np.zeros(120), np.zeros(8), np.zeros(8)), None, 0),
                (([np.zeros(n) for n in (7, 9, 3)]), 3, 3), (detection[0][:3], 8, 0), (detection, 4, 0),
                ((x, x), 8, 5), ((x, x), 2, 2)):
            with self.subTest(batch=_samples._shapes(batch)[:4], size=size):
                count = _samples.Samples(size)
                self.assertEqual((count(batch), count.known), (max(n, 1), n > 0))
        count = _samples.Samples(8)  # all batches in the way of the first
        self.assertEqual([count(tuple(part[:k] for part in even)) for k in (8, 3, 2, 1)], [8, 3, 2, 1])
        self.assertTrue(count.known)
        self.assertEqual(count(7), 1)
        self.assertFalse(count.known)

    def test_samples_that_are_not_known(self):
        class Unclear(Slow):
            def __iter__(self):
                return ((np.zeros((120, 2)), np.zeros(8)) for _ in super(Unclear, self).__iter__())

        d = leat.doctor(Unclear(40, 6), sleeps(4), seconds=3, device="cpu")
        self.assertEqual((d.batch, d.figures["samples_per_s"], d.verdict), (0, 0, "input-bound"))
        self.assertIn("do not show how many samples", str(d))
        self.assertNotIn("samples/s", str(d))
        self.assertIn("steps/s", str(d))

    def test_the_mean_counts_first_batches(self):
        class Uneven(Slow):
            def __iter__(self):
                for n, _ in zip((64,) * (self.n - 1) + (1,), super().__iter__()):
                    yield {"x": np.zeros((n, 2))}

        for n, mean in (2, 32.5), (3, 43):
            d = leat.doctor(Uneven(n, 1), sleeps(3), seconds=4, device="cpu")
            self.assertAlmostEqual(d.batch, mean, delta=0.1)
            self.assertAlmostEqual(d.figures["samples_per_s"], 1e3 * d.batch / d.measured_step_ms, delta=d.batch)

    def test_leats_own_loader_goes_on_as_without_it(self):
        def loop(n, how):
            loader = leat.from_arrays({"x": np.arange(64)}).batch(8).loader("numpy")
            if n:
                next(iter(loader))
            if n == 2:
                loader.load_state_dict(loader.state_dict())
            if n == 8:
                list(loader)
            if how:
                leat.doctor(how(loader), sleeps(10), seconds=1, device="cpu")
            return loader.state_dict(), [b.number for b in loader], loader.state_dict(), [b.number for b in loader]

        self.assertEqual(loop(1, None)[1], list(range(8, 16)))  # a pass that was left is over
        self.assertEqual(loop(2, None)[1], list(range(1, 8)))
        for n in 0, 1, 2, 8:
            for how in lambda loader: loader, leat.watch, lambda loader: loader.as_tuples("x"):
                self.assertEqual(loop(n, how), loop(n, None))

    def test_work_in_the_loops_thread(self):
        """What map() does is not made ahead, whatever else is."""
        ahead = leat.from_arrays({"x": np.zeros((512, 8), np.float32)}).batch(8).prefetch(2)
        d = leat.doctor(ahead.loader("numpy").map(lambda b: (clock.sleep(0.05), b["x"])[1]), sleeps(50), seconds=20, device="cpu")
        self.assertEqual((d.verdict, d.label, d.severity), ("input-bound", "not-overlapped", "high"), str(d))
        self.assertIn("map()", d.changes[0].text)
        self.assertAlmostEqual(d.changes[0].gain, 1, delta=0.1)

    def test_leats_own_loader_that_is_not_ahead(self):
        facts = _doctor._Facts(leat.from_arrays({"x": np.arange(64)}).batch(8).prefetch(0).loader("numpy"))
        self.assertIs(facts.overlaps, False)
        self.assertIn("prefetch(2)", _doctor._while_a_step_runs(facts)[0])

    def test_leats_own_loader(self):
        loader = leat.from_arrays({"x": np.zeros((512, 8), np.float32)}).batch(8).prefetch(2).loader("numpy")
        d = self.check(loader, sleeps(5), "compute-bound", "", 5)
        self.assertEqual(d._facts.kind, "leat")

    def test_leats_own_loader_copies_nothing(self):
        """Also where the last batch of a pass is shorter, and two are kept for the step alone."""
        loader = leat.from_arrays({"x": np.zeros((500, 8), np.float32)}).batch(8).prefetch(2).loader("numpy")
        leat.doctor(loader, sleeps(1), seconds=5, device="cpu")
        self.assertEqual(loader.stats()["n_copied"], 0)


class Budget(Still):
    """Loaders that are slow to begin, to make a batch, or both. The time given is kept, but for one start of the loader."""

    def examine(self, loader, step, seconds=15, rebuilt=lambda loader, changes: None):
        data = types.SimpleNamespace(DataLoader=Workers)
        with unittest.mock.patch.dict(sys.modules, {"torch.utils.data": data}), \
                unittest.mock.patch.object(_doctor, "_rebuilt", rebuilt):
            at = clock.ns
            d = leat.doctor(loader, step, seconds=seconds, device="cpu")
        self.took = (clock.ns - at) * 1e-9
        start = loader.first_ms + loader.ms * (1 + getattr(loader, "prefetch_factor", 0))
        self.assertLess(self.took, 1.3 * seconds + start * 1e-3, str(d))
        return d

    def rebuilt(self, loader, changes):
        self.other = Workers(loader.n, loader.ms, changes.get("num_workers", loader.num_workers),
                             changes.get("prefetch_factor", loader.prefetch_factor), loader.first_ms, loader.persistent_workers)
        return self.other

    def test_slow_workers(self):
        """Batches come in bursts, whose first one alone is waited for."""
        for persistent in False, True:
            for n in 46, 10, 4, 10000:
                for workers in 4, 3, 16:
                    with self.subTest(n=n, workers=workers, persistent=persistent):
                        loader = Workers(n, 640, workers, 4, 50, persistent)
                        d = self.examine(loader, sleeps(10))
                        if n > 1000:
                            self.assertEqual(d.verdict, "input-bound", str(d))
                            self.assertAlmostEqual(d.measured_step_ms, 640 / workers, delta=64 / workers)
                            self.assertAlmostEqual(d.loader_ms, 640 / workers, delta=64 / workers)

    def test_a_pass_that_was_left(self):
        """What it has in flight is a part of the next start."""
        loader = Workers(46, 640, 4, 4, 50, persistent_workers=True)
        next(iter(loader))
        d = self.examine(loader, sleeps(10))
        self.assertEqual(d.verdict, "input-bound", str(d))
        self.assertAlmostEqual(d.measured_step_ms, 160, delta=40)

    def test_a_trial_that_fails(self):
        """A change that does not work is not told, and the diagnosis stays."""
        class Broken:
            num_workers, prefetch_factor = 8, 2

            def __init__(self, fault):
                self.fault = fault

            def __iter__(self):
                if self.fault:
                    raise self.fault
                return iter(())

        for fault in RuntimeError("no shared memory"), None:  # None: it gives no batch
            with self.subTest(fault=fault):
                d = self.examine(Workers(400, 64, 4, 4, 50, persistent_workers=True), sleeps(10), 15,
                                 lambda loader, changes: Broken(fault))
                self.assertEqual(d.verdict, "input-bound", str(d))
                self.assertFalse([c for c in d.changes if "num_workers" in c.set], str(d))

    def test_a_trial_waits_for_its_batches(self):
        """Those that were ready when it began tell nothing."""
        for n in 46, 400:
            for ms in 640, 64:
                with self.subTest(n=n, ms=ms):
                    d = self.examine(Workers(n, ms, 4, 4, 50, persistent_workers=True), sleeps(10), 15, self.rebuilt)
                    change = d.changes[0]
                    workers = change.set["num_workers"]
                    self.assertGreater(workers, 4)
                    self.assertIsNotNone(change.measured_step_ms, str(d))
                    self.assertGreater(self.other.n_asked, workers)
                    self.assertGreater(change.measured_step_ms, 0.95 * max(10, ms / workers), str(d))
                    self.assertLess(change.measured_step_ms, 0.75 * change.before_step_ms, str(d))

    def test_no_time_for_a_trial(self):
        d = self.examine(Workers(400, 640, 4, 4, 50, persistent_workers=True), sleeps(10), 9, self.rebuilt)
        self.assertIn("num_workers", d.changes[0].text)
        self.assertIsNone(d.changes[0].measured_step_ms)
        self.assertIn("predicted", str(d))
        self.assertNotIn("measured", str(d).split("1. ")[1])

    def test_slow_starts(self):
        for loader in Slow(20, 10, 3000), Slow(1000, 10, 3000), Slow(20, 700):
            with self.subTest(n=loader.n, ms=loader.ms, first_ms=loader.first_ms):
                d = self.examine(loader, sleeps(5))
                self.assertEqual((d.verdict, d.label), ("input-bound", "not-overlapped"), str(d))
                self.assertGreaterEqual(d.start_ms, loader.first_ms)
        for n in 1, 2, 3, 5:
            self.examine(Slow(n, 10, 2000), sleeps(5))

    def test_slow_starts_of_workers(self):
        """Persistent ones begin a pass of the data set, too, so their gain is not known."""
        d = self.examine(Workers(30, 3, 1, first_ms=500), sleeps(4))
        self.assertEqual((d.verdict, d.label, d.severity), ("input-bound", "start-of-pass", "high"), str(d))
        self.assertIn("persistent_workers", d.changes[0].text)
        self.assertEqual(d.changes[0].gain, 0)
        self.assertIn("persistent_workers=True): try it", str(d))
        d = self.examine(Workers(30, 3, 1, first_ms=500, persistent_workers=True), sleeps(4))
        self.assertNotIn("persistent_workers", str(d))

    def test_a_step_that_takes_most_of_the_time(self):
        for seconds in 2, 4, 6:
            at = clock.ns
            leat.doctor(Slow(100, 1), sleeps(1500), seconds=seconds, device="cpu")
            self.assertLess((clock.ns - at) * 1e-9, 1.3 * seconds + 1.5)

    def test_slow_steps(self):
        d = self.examine(Ahead(1000, 10), sleeps(800))
        self.assertEqual(d.verdict, "compute-bound", str(d))

    def test_a_slow_loader_that_is_ahead_is_seen(self):
        for ms in 100, 1000, 5000:
            with self.subTest(ms):
                loader = Ahead(1000, ms)
                self.assertTrue(_doctor._overlaps(_doctor._Passes(loader), 60.0))
                self.assertFalse(_doctor._overlaps(_doctor._Passes(Slow(1000, ms)), 60.0))

    def test_no_time_at_all(self):
        """It says so."""
        for loader in Slow(1000, 6000), Slow(1000, 10, 30000), Workers(1000, 30000, 4), Slow(2, 10, 9000):
            with self.subTest(n=loader.n, ms=loader.ms, first_ms=loader.first_ms):
                d = self.examine(loader, sleeps(10))
                self.assertEqual((d.verdict, d.label), ("inconclusive", "too-few-steps"), str(d))
                self.assertIn("too short", d.sentence)
                self.assertIn("longer", str(d))
                self.assertGreater(d.start_ms, loader.ms)
                self.assertEqual(d.changes, [])


class DataLoaders(unittest.TestCase):
    def setUp(self):
        try:
            import torch.utils.data
        except ImportError:
            self.skipTest("torch is not there")
        self.torch = torch

    def test_rebuilt_as_it_was(self):
        data, torch = list(range(100)), self.torch
        own = torch.utils.data.DataLoader(data, batch_size=7, shuffle=True, drop_last=True, collate_fn=list,
                                          generator=torch.Generator().manual_seed(1))
        other = _doctor._rebuilt(own, {"num_workers": 2, "prefetch_factor": 5})
        self.assertEqual((other.num_workers, other.prefetch_factor, len(other)), (2, 5, 14))
        self.assertIs(other.collate_fn, list)
        self.assertEqual(sorted(len(b) for b in other), [7] * 14)
        back = _doctor._rebuilt(other, {"num_workers": 0})
        self.assertEqual((back.num_workers, back.prefetch_factor), (0, None))
        single = _doctor._rebuilt(torch.utils.data.DataLoader(data, batch_size=None), {"num_workers": 1})
        self.assertEqual([int(v) for v in single], data)

        class Mine(torch.utils.data.DataLoader):
            pass

        self.assertIsNone(_doctor._rebuilt(Mine(data), {"num_workers": 1}))

    def test_workers_are_suggested_and_tried(self):
        class Sleepy(self.torch.utils.data.Dataset):
            def __len__(self):
                return 256

            def __getitem__(self, i):
                time.sleep(0.002)
                return float(i)

        loader = self.torch.utils.data.DataLoader(Sleepy(), batch_size=8)
        d = leat.doctor(loader, sleeps(3), seconds=6, device="cpu")
        if not JUDGES_TIMES:
            self.skipTest("measured times are not judged (LEAT_TEST_TIMES=1)")
        self.assertEqual(d.verdict, "input-bound", str(d))
        self.assertIn("num_workers", d.changes[0].text)
        self.assertIsNotNone(d.changes[0].measured_step_ms)
        self.assertGreater(d.changes[0].gain, 0.3, str(d))


if __name__ == "__main__":
    unittest.main()
