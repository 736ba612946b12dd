# SPDX-License-Identifier: MIT
"""Threads that are in next() while a loader is closed, moved, forked, interrupted or left behind at exit. Each program
runs in a process of its own, so that a hang or a crash fails its test alone. tests/checks/check_python_package.sh runs
them."""

import subprocess
import sys
import textwrap
import unittest

START = """
import gc, os, random, signal, sys, threading, time
import numpy as np
import leat_data as leat

X = np.zeros((96, 64, 1024), np.float32)  # batches that take some milliseconds
JUDGES_TIMES = "LEAT_TEST_TIMES" in os.environ
SOON = 0.2 if JUDGES_TIMES else 10  # seconds; a busy machine takes more than 0.2

def loader(threads=1, batch=8):
    built = leat.from_arrays({"x": X, "y": np.arange(96)}, engine={"threads": threads})
    return built.shuffle(seed=1).batch(batch).prefetch(1).loader("numpy")

def start(n, work, *args, daemon=True):
    out = [threading.Thread(target=work, args=args, daemon=daemon) for _ in range(n)]
    for t in out: t.start()
    return out

def join(threads):
    for t in threads:
        t.join(20)
        assert not t.is_alive(), "a thread hangs"

def go_round(it, ends):
    try:
        while True:
            next(it)
    except (StopIteration, ValueError, leat.Error) as e:
        ends.append(e)
"""


class Stress(unittest.TestCase):
    def run_program(self, code, timeout=60):
        program = START + textwrap.dedent(code)
        if "print" not in code:
            program += "\nprint('end', flush=True)\n"
        with subprocess.Popen([sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", program], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                self.fail(f"it hangs\n{process.communicate()[1]}")
        self.assertEqual((process.returncode, out, err), (0, "end\n", ""))

    def test_close_while_eight_threads_are_inside(self):
        self.run_program("""
            for i in range(60):
                l, ends = loader(threads=i % 3), []
                threads = start(8, go_round, iter(l), ends)
                time.sleep(random.random() * 0.01)
                l.close()
                join(threads)
                assert len(ends) == 8 and all(type(e) in (ValueError, StopIteration) for e in ends), ends
        """)

    def test_close_in_the_handler_of_a_signal(self):
        """The handler runs in the thread that is in next()."""
        self.run_program("""
            for i in range(20):
                l = loader(threads=i % 2, batch=96)
                signal.signal(signal.SIGALRM, lambda *_: l.close())
                signal.setitimer(signal.ITIMER_REAL, 0.06)
                try:
                    while True:
                        for _ in l: pass
                except ValueError as e:
                    assert "closed" in str(e)
        """)

    def test_questions_while_others_close_and_move(self):
        self.run_program("""
            import tempfile
            def ask(l, stop, folder):
                while not stop.is_set():
                    l.stats(), l.errors()
                    try: l.state_dict(), l.trace(f"{folder}/{threading.get_ident()}")
                    except ValueError: return
            folder = tempfile.TemporaryDirectory()
            for i in range(10):
                l, stop, ends = loader(), threading.Event(), []
                threads = start(3, ask, l, stop, folder.name)
                for _ in range(10):
                    for _ in l: break
                l.close()
                stop.set()
                join(threads)
        """)

    def test_passes_that_others_begin(self):
        """A loop that another one has ended says so, whoever is in it."""
        self.run_program("""
            def loop(l, ends):
                for _ in range(40):
                    try:
                        seen = 0
                        for b in l:
                            assert b.info["in_epoch"] == seen, (b.info, seen)
                            seen += 1
                            if random.random() < 0.3: break
                    except leat.Error as e:
                        assert "newer" in str(e), e
                        ends.append(e)
            for i in range(3):
                l, ends = loader(threads=i), []
                first = l.state_dict()
                threads = start(4, loop, l, ends)
                for _ in range(10):
                    time.sleep(random.random() * 0.01)
                    l.load_state_dict(first)
                join(threads)
                assert ends
                assert sorted(np.concatenate([np.array(b["y"]) for b in l]).tolist()) == list(range(96))
        """)

    def test_an_old_iterator_takes_nothing_from_a_newer_pass(self):
        self.run_program("""
            l = loader()
            old, over = iter(l), iter(l)
            assert sum(1 for _ in over) == 12
            new = iter(l)
            next(new)
            assert next(over, "over") == "over"
            for _ in range(2):
                try: next(old)
                except leat.Error as e: assert "newer" in str(e) and e.code == "LEAT_E_CANCELED"
                else: assert False
            assert sum(1 for _ in new) == 11
        """)

    def test_a_fork_while_threads_are_inside(self):
        self.run_program("""
            for i in range(20):
                l, ends = loader(threads=i % 3), []
                it = iter(l)
                threads = start(4, go_round, it, ends)
                time.sleep(random.random() * 0.01)
                children = []
                for how in range(4):
                    child = os.fork()
                    if child:
                        children.append(child)
                        continue
                    signal.alarm(20)
                    for use in (lambda: next(it, None), lambda: iter(l), lambda: l.load_state_dict(l.state_dict())):
                        try: use()
                        except leat.ForkedError: pass
                    l.stats(), l.errors()
                    if how == 0: l.close()
                    if how == 1: del l, it, use; gc.collect()
                    if how == 2: assert sum(1 for _ in loader()) == 12
                    if how == 3: sys.exit(0)  # as a program ends
                    os._exit(0)
                for child in children:
                    assert os.waitpid(child, 0)[1] == 0, child
                join(threads)
                l.close()
        """)

    def test_a_fork_while_a_thread_closes_and_moves(self):
        self.run_program("""
            def move(l):
                for _ in range(60):
                    for _ in l: break
                l.close()
            l = loader()
            thread, = start(1, move, l)
            while thread.is_alive():
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    try: next(iter(l))
                    except (leat.ForkedError, ValueError): pass
                    l.close()
                    del l
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
        """)

    def test_exit_while_threads_are_inside(self):
        """Without a word on stderr."""
        for ending in ("", "del l, it", "raise SystemExit", "signal.raise_signal(signal.SIGTERM)"):
            for _ in range(3):
                self.run_program(f"""
                    def endless(l):
                        while True:
                            for _ in l: pass
                    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
                    l, others = loader(), [loader(threads=i % 3) for i in range(6)]
                    it = iter(l)
                    start(4, lambda it: [b for b in it], it)
                    for o in others: start(1, endless, o)
                    time.sleep(random.random() * 0.02)
                    print("end", flush=True)
                    {ending}
                """)

    def test_abandoned(self):
        """300 loaders, some in cycles, some while a thread is in their iterator."""
        self.run_program("""
            ends, threads, before = [], [], len(os.listdir("/proc/self/task"))
            for i in range(300):
                l = leat.from_arrays({"y": np.arange(999)}, engine={"threads": i % 3}).batch(9).loader("numpy")
                it = iter(l)
                next(it)
                if i % 3 == 1: l.me = l
                if i % 3 == 2: threads += start(1, go_round, it, ends)
                del l, it
            join(threads)
            assert len(ends) == 100 and all(type(e) is StopIteration for e in ends)
            ends.clear()  # they know the frames, and these the loaders
            gc.collect()
            until = time.monotonic() + 20  # a thread that was joined leaves the list a little later
            while len(os.listdir("/proc/self/task")) > before and time.monotonic() < until: time.sleep(0.01)
            assert len(os.listdir("/proc/self/task")) == before, "threads of loaders are left"
        """)

    def test_interrupts_at_any_moment(self):
        """Soon, and the loader goes on."""
        self.run_program("""
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
            l, took = loader(batch=48), []
            for i in range(20):
                try:
                    at = time.monotonic() + 0.02 + random.random() * 0.05
                    signal.setitimer(signal.ITIMER_REAL, max(0.001, at - time.monotonic()))
                    while True:
                        for _ in l: pass
                except KeyboardInterrupt:
                    took.append(time.monotonic() - at)
            assert sum(1 for _ in l) == 2
            assert sorted(took)[10] < SOON, took
        """)

    def test_a_signal_that_waits_when_the_batch_comes(self):
        """Its handler runs while the batch is still the next one, which it stays if the handler raises."""
        self.run_program("""
            import ctypes
            press = getattr(ctypes.CDLL(None), "raise")  # the handler runs when something looks for signals: here next() does
            def pressed(it): return next(zip(map(press, [signal.SIGALRM]), it))[1]
            def at(l): return l.state_dict()["next_batch"]
            def on_signal(do): signal.signal(signal.SIGALRM, lambda *_: do())
            def fails(it, error):
                try: pressed(it)
                except error as e: return str(e)
                raise AssertionError("nothing was raised")
            def stop(): states.append(at(l)); raise KeyboardInterrupt
            for threads in 0, 1, 3:
                l, other = loader(threads), loader(threads)
                it, seen, states = iter(l), [], []
                on_signal(stop)
                while len(seen) < 12:
                    for _ in range(5):
                        fails(it, KeyboardInterrupt)
                        assert (states[-1], at(l)) == (len(seen), len(seen))
                    other.load_state_dict(l.state_dict())
                    first, b = next(iter(other)), next(it)
                    assert first.number == b.number and (first["y"] == b["y"]).all()
                    seen.append(b.number)
                assert seen == list(range(12)) and next(it, None) is None and at(l) == 12
                for n in 0, 5, 11:  # batches of a loop before it ends; what is kept ends with it, but for its first one
                    it, begin = iter(l), at(l)
                    for _ in range(n): next(it)
                    fails(it, KeyboardInterrupt)
                    assert [b.number for b in l] == list(range(begin + 12 * (n > 0), begin + 12 + 12 * (n > 0)))
                it, begin = iter(l), at(l)
                on_signal(lambda: states.append(at(l)))
                assert pressed(it).number == states[-1] == begin
                on_signal(lambda: states.append(next(it).number))
                assert pressed(it).number == begin + 2 and states[-1] == begin + 1
                on_signal(lambda: states.append(next(iter(l)).number))
                assert "newer loop" in fails(it, leat.Error) and states[-1] == begin + 12
                on_signal(stop)
                fails(iter(l), KeyboardInterrupt)
                l.load_state_dict(other.state_dict())
                it = iter(l)
                assert next(it).number == 12
                on_signal(l.close)
                assert "closed" in fails(it, ValueError)
        """)

    def test_another_thread_comes_with_a_later_batch(self):
        """While the handler runs. If that raises, no batch from the position on was given."""
        self.run_program("""
            import ctypes
            press = getattr(ctypes.CDLL(None), "raise")  # as above
            ops = [{"sleep": {"ms": 1}}]
            for threads in 0, 1, 3:
                built = leat.from_arrays({"y": np.zeros(4000, np.float32)}, engine={"threads": threads})
                l = built.map(tensor="y", ops=ops).batch(4).prefetch(0).loader("numpy", hold=3)
                it, seen = iter(l), []
                def stop(*_):
                    join(other)
                    raise KeyboardInterrupt
                signal.signal(signal.SIGALRM, stop)
                for _ in range(40):
                    seen.append(next(it).number)  # what is kept
                    other = start(1, lambda: time.sleep(0.002) or seen.append(next(it).number))
                    try:
                        next(zip(map(press, [signal.SIGALRM]), it))
                        raise AssertionError("nothing was raised")
                    except KeyboardInterrupt:
                        pass
                    assert sorted(seen) == list(range(l.state_dict()["next_batch"])), (seen[-3:], l.state_dict())
        """)

    def test_interrupts_of_what_opens(self):
        """A config that never comes, and memory of batches that is made ready. What was left to its end changes nothing."""
        self.run_program("""
            import tempfile
            def press_in(seconds):
                at.append(time.monotonic() + seconds)
                signal.setitimer(signal.ITIMER_REAL, seconds)
            at, took = [], []
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            with tempfile.TemporaryDirectory() as folder:
                pipe = folder + "/job.yaml"
                os.mkfifo(pipe)
                for _ in range(5):
                    try:
                        press_in(0.05)
                        leat.Loader(pipe)
                    except KeyboardInterrupt:
                        took.append(time.monotonic() - at[-1])
            assert len(took) == 5
            l = leat.from_arrays({"x": X}, engine={"threads": 1}).batch(96).prefetch(30).loader("numpy")
            first = l.state_dict()
            for i in range(20):
                try:
                    press_in(0.002 + random.random() * 0.02)
                    while True: l.load_state_dict(first)
                except KeyboardInterrupt:
                    took.append(time.monotonic() - at[-1])
                assert sum(1 for _ in l) == 1
            assert len(took) == 25
            for some in took[:5], took[5:]:
                assert sorted(some)[len(some) // 2] < SOON and max(some) < 10, took
        """)

    def test_interrupts_of_arrays_that_open(self):
        """Some hundred MB for batches are made ready, which Ctrl-C ends."""
        self.run_program("""
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            built = leat.from_arrays({"x": np.zeros((64, 1 << 20), np.float32)}).batch(16).prefetch(4)
            took = []
            for _ in range(5):
                try:
                    at = time.monotonic() + 0.02
                    signal.setitimer(signal.ITIMER_REAL, 0.02)
                    built.loader("numpy")
                except KeyboardInterrupt:
                    took.append(time.monotonic() - at)
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert len(took) > 2, "they open too fast for this test"
            assert sorted(took)[len(took) // 2] < SOON, took
        """)

    def test_what_was_left_while_it_opened(self):
        """Its threads end as soon as it is open, though the exception is kept; and before the interpreter does. A config that
        never comes holds that up for a second."""
        self.run_program("""
            import json, tempfile
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            def threads(): return len(os.listdir("/proc/self/task"))
            def settle():
                until = time.monotonic() + 20
                while threads() > before and time.monotonic() < until: time.sleep(0.01)
                assert threads() == before, threads()
            def leave_one(pipe):
                os.mkfifo(pipe)
                was = threads()
                while True:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.5)
                        leat.Loader(pipe)
                    except KeyboardInterrupt as e:
                        if threads() > was: return e  # else it came before
            folder = tempfile.TemporaryDirectory()
            np.save(folder.name + "/x.npy", X)
            job = json.dumps({"source": {"npy": folder.name + "/x.npy"}, "pipeline": [{"batch": 8}, {"prefetch": 2}],
                              "engine": {"threads": 3}})
            def come(pipe):
                with open(pipe, "w") as f: f.write(job)
            before = threads()
            kept = leave_one(folder.name + "/first")
            assert threads() == before + 1
            come(folder.name + "/first")
            settle()
            kept = [kept, leave_one(folder.name + "/second")]
            timer = threading.Timer(0.2, come, (folder.name + "/second",))
            since = time.monotonic()
            timer.start()
            leat._close_all()
            assert 0.15 < time.monotonic() - since < 10
            timer.join()
            settle()
            kept.append(leave_one(folder.name + "/never"))
            since = time.monotonic()
            leat._close_all()
            assert 0.9 < time.monotonic() - since < 10
            child = os.fork()
            if child == 0:
                since = time.monotonic()
                leat._close_all()
                os._exit(time.monotonic() - since > (0.5 if JUDGES_TIMES else 10))
            assert os.waitpid(child, 0)[1] == 0
        """)

    def test_sub_interpreters_are_refused(self):
        self.run_program("""
            try: import _interpreters as interpreters
            except ImportError: import _xxsubinterpreters as interpreters
            other = interpreters.create()
            code = '''if True:
                try: import leat_data
                except ImportError as e: assert "interpreter" in str(e), e
                else: assert False, "it was imported"
            '''
            run = getattr(interpreters, "exec", None) or interpreters.run_string
            failed = run(other, code)
            assert not failed, failed
            interpreters.destroy(other)
            assert sum(1 for _ in loader()) == 12
        """)


if __name__ == "__main__":
    unittest.main()
