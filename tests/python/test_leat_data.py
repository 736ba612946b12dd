# SPDX-License-Identifier: MIT
"""Tests of the Python package, over arrays and files that they write. tests/checks/check_python_package.sh runs them.

What a loader must never do, whatever its user does: hang, crash, grow, or deliver another batch than the C library.
"""

import ast
import copy
import gc
import importlib.util
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import warnings
import zlib

import numpy as np

import leat_data as leat

ROWS, BATCH = 100, 8
X = np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)
Y = np.arange(ROWS)
N = -(-ROWS // BATCH)


def arrays(to="numpy", threads=2, **more):
    builder = leat.from_arrays({"x": X, "y": Y}, seed=3, engine={"threads": threads, "digest": True})
    return builder.shuffle(seed=1).batch(BATCH).prefetch(2).loader(to, **more)


def files(folder, **pipeline):
    """A config over .npy files."""
    np.save(os.path.join(folder, "x.npy"), X)
    return {
        "source": {"npy": {"files": os.path.join(folder, "x.npy"), "name": "x"}},
        "pipeline": [{"shuffle": {"seed": 1}}, {"batch": BATCH}, {"prefetch": 2}],
        "engine": {"threads": 1, "digest": True},
        **pipeline,
    }


class Copied:
    """A tensor that is asked for a copy, by whatever reads DLPack."""

    def __init__(self, tensor):
        self.tensor, self.__dlpack_device__ = tensor, tensor.__dlpack_device__

    def __dlpack__(self, **words):
        return self.tensor.__dlpack__(**{**words, "copy": True})


def one_pixel():
    """A PNG."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(bytes(4))) + chunk(b"IEND", b""))


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_python(code, *args, timeout=60):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *args], capture_output=True, text=True,
                          timeout=timeout)


class Stub(unittest.TestCase):
    def test_classes_have_what_the_stub_says(self):
        """Both ways, of what a user calls: public names, and what `with`, `for` and len() call."""
        path = pathlib.Path(__file__).parents[2] / "python/leat_data/__init__.pyi"
        stubs = {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}
        wanted = {"__enter__", "__exit__", "__iter__", "__len__"}

        def in_stub(name):
            own = {node.name for node in stubs[name].body if isinstance(node, ast.FunctionDef)}
            return own.union(*(in_stub(base.id) for base in stubs[name].bases if getattr(base, "id", None) in stubs))

        for name in ("_Mapped", "Loader", "Builder", "Batch"):
            real, stub = getattr(leat, name), in_stub(name)
            public = {key for key in vars(real) if not key.startswith("_") or key in wanted}
            self.assertLessEqual(public, stub | set(dir(dict) if issubclass(real, dict) else ()), name)
            of_loader = set(dir(leat.Loader)) if name == "_Mapped" else set()  # by __getattr__
            self.assertLessEqual({key for key in stub if key != "__init__"}, {*dir(real), *of_loader}, name)


class Delivery(unittest.TestCase):
    def test_paths(self):
        """A path may stand wherever a config has a string."""
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            wanted = np.concatenate([batch["x"].copy() for batch in leat.Loader(config, "numpy")])
            path = pathlib.Path(config["source"]["npy"]["files"])
            for where in ("in a dict", "in set"):
                config["source"]["npy"]["files"] = path if where == "in a dict" else "none"
                loader = leat.Loader(config, "numpy", set={} if where == "in a dict" else {"source.npy.files": path})
                np.testing.assert_array_equal(np.concatenate([batch["x"].copy() for batch in loader]), wanted)

    def test_each_loop_is_one_pass(self):
        loader = arrays()
        self.assertEqual(len(loader), N)
        orders = []
        for epoch in range(4):
            seen = []
            for batch in loader:
                self.assertEqual(batch.epoch, epoch)
                np.testing.assert_array_equal(batch["x"], X[batch["y"]])
                seen.append(np.array(batch["y"]))
            orders.append(np.concatenate(seen).tolist())
            self.assertEqual(sorted(orders[-1]), list(range(ROWS)))
        self.assertEqual(len({tuple(order) for order in orders}), 4)

    def test_a_break_ends_the_epoch(self):
        loader = arrays()
        for epoch in range(30):
            for i, batch in enumerate(loader):
                self.assertEqual(batch.epoch, epoch)
                self.assertEqual(batch.info["in_epoch"], i)
                if i == epoch % N:
                    break

    def test_a_state_of_an_epoch_that_is_left_out_is_told(self):
        """Who continues from it would see the rest of the epoch; who goes on does not."""
        def loop(loader, n):
            for _ in zip(range(n), loader):
                pass

        def leave(loader):
            loop(loader, 4)
            return loader.state_dict()

        def load(loader):
            loader.load_state_dict(leave(loader))

        def at_its_end(loader):
            loop(loader, N)
            loader.state_dict()

        def elsewhere(loader):
            leave(loader)
            loop(loader, 2)

        for before, told in ((leave, 1), (load, 0), (at_its_end, 0), (lambda loader: loader.state_dict(), 0),
                             (lambda loader: loop(loader, 4), 0), (elsewhere, 1), (pickle.dumps, 0)):
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                loader = leat.Loader(files(folder), to="numpy")
                before(loader)
                loop(loader, 3)
                loader.close()
            self.assertEqual([w.filename for w in caught], [__file__] * told)
        taken = leat.from_arrays({"y": Y}).shuffle(seed=1).batch(BATCH).take(4).loader("numpy")
        list(taken)
        resumed = leat.from_arrays({"y": Y}).shuffle(seed=1).batch(BATCH).take(4).loader("numpy")
        resumed.load_state_dict(taken.state_dict())
        self.assertEqual([b["y"].tolist() for b in taken], [b["y"].tolist() for b in resumed])

    def test_the_digests_are_those_of_the_command(self):
        """Of two epochs, in one go and resumed at 20 random places."""
        command = os.environ.get("LEAT_COMMAND")
        if not command:
            self.skipTest("LEAT_COMMAND names no command")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.yaml")
            with open(path, "w") as f:
                json.dump(files(folder), f)
            out = subprocess.run([command, "bench", path, "--epochs", "2", "--digest", "--json", "-"],
                                 capture_output=True, text=True, check=True)
            expected = [e["digest"] for e in json.loads(out.stdout)["epochs"]]
            for at in [0, N, *random.sample(range(1, 2 * N), 20)]:
                taken, state = take(leat.Loader(path, set={"engine.threads": at % 3}), at)
                resumed = leat.Loader(path, set={"pipeline.prefetch.batches": at % 4})
                resumed.load_state_dict(json.loads(json.dumps(state)))
                taken += take(resumed, 2 * N - at)[0]
                self.assertEqual([fnv(taken[:N]), fnv(taken[N:])], expected, f"resumed at {at}")

    def test_dict_and_file_are_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            path = os.path.join(folder, "job.yaml")
            with open(path, "w") as f:
                json.dump(config, f)
            one = [b.info["digest"] for b in leat.Loader(config)]
            other = [b.info["digest"] for b in leat.Loader(path)]
            smaller = leat.Loader(path, set={"pipeline.batch.size": 5})
            self.assertEqual(one, other)
            self.assertEqual(next(iter(smaller)).rows, 5)

    def test_resumed_at_every_place(self):
        plain = [b.info["digest"] for loader in [arrays()] for _ in range(2) for b in loader]
        for at in range(2 * N):
            loader = arrays(threads=at % 3)
            taken = 0
            while taken < at:
                for _ in loader:
                    taken += 1
                    if taken == at:
                        break
            state = json.loads(json.dumps(loader.state_dict()))
            loader.close()
            resumed = arrays()
            resumed.load_state_dict(state)
            rest = [b.info["digest"] for b in resumed]
            self.assertEqual(rest, plain[at:at // N * N + N])

    def test_arrays_are_read_when_a_loader_opens(self):
        """Of whatever order and bytes."""
        for make in (np.ascontiguousarray, np.asfortranarray, lambda x: x[::-1], lambda x: x.astype(">f4"),
                     lambda x: np.repeat(x, 2, axis=1)[:, ::2]):
            x = make(X.copy())
            builder = leat.from_arrays({"x": x}).batch(ROWS)
            for add in (0, 1):
                x += add
                self.assertEqual(next(iter(builder.loader("numpy")))["x"].tolist(), x.tolist())

    def test_an_epoch_is_set(self):
        """Wherever the loader stands: at the begin of an epoch, within one, after a state, after all of one."""
        def digests(loader):
            return [b.info["digest"] for b in loader]

        plain = [digests(loader) for loader in [arrays()] for _ in range(4)]
        rest = arrays()
        take(rest, N + 2)
        state = rest.state_dict()
        for epoch in range(4):
            for at, is_state in ((0, False), (1, False), (N - 1, False), (N, False), (N + 2, False), (N + 2, True)):
                loader = arrays(threads=epoch % 3)
                if is_state:
                    loader.load_state_dict(state)
                else:
                    take(loader, at)
                part = loader.map(lambda batch: batch) if epoch % 2 else loader
                part.set_epoch(epoch)
                saved = arrays()
                saved.load_state_dict(part.state_dict())
                wanted = plain[epoch][2:] if is_state and epoch == 1 else plain[epoch]
                self.assertEqual(digests(saved), wanted, f"state of epoch {epoch} at {at}")
                self.assertEqual(digests(part), wanted, f"epoch {epoch} at {at}")
                if epoch < 3:
                    self.assertEqual(digests(loader), plain[epoch + 1])
        loader = arrays()
        for wrong in (-1, 2**62 // N + 1, 2**62):
            with self.assertRaisesRegex(leat.ConfigError, f"epoch {wrong}: epochs are 0 to {2**62 // N}"):
                loader.set_epoch(wrong)
        for wrong in (1.5, "1", None):
            with self.assertRaises(TypeError):
                loader.set_epoch(wrong)
        endless = leat.from_arrays({"y": Y}).repeat(count="forever").batch(3).loader("numpy")
        for b, batch in zip(range(2 * N), endless):
            self.assertEqual(batch.number, b)
        endless.set_epoch(0)
        self.assertEqual(next(iter(endless)).number, 2 * N)
        with self.assertRaisesRegex(leat.ConfigError, "no end"):
            endless.set_epoch(1)
        self.assertEqual(digests(loader), plain[0])
        loader.close()
        with self.assertRaises(ValueError):
            loader.set_epoch(1)

    def test_a_state_of_other_arrays_is_refused(self):
        def loader(x, name="x"):
            return leat.from_arrays({name: x}).batch(BATCH).loader("numpy")

        big = np.zeros((1000, 700), np.float32)  # of which not all is compared
        last = big.copy()
        last[-1, 0] = 1
        pictures = np.zeros((20, 300, 300, 3), np.uint8)
        changed = [pictures.copy() for _ in range(3)]
        for at, other in zip((0, 100, 200), changed):
            other[:, at:at + 100] = 1
        for x, others in ((X, (X + 1, X.view(np.int32), X.reshape(ROWS, 2, 2))), (big, (last, big + 1)),
                          (pictures, changed)):
            state = loader(x).state_dict()
            loader(x.copy()).load_state_dict(state)
            for other in others:
                with self.assertRaisesRegex(leat.ConfigError, "another plan"):
                    loader(other).load_state_dict(state)
            with self.assertRaisesRegex(leat.ConfigError, "another plan"):
                loader(x, "y").load_state_dict(state)

    def test_a_state_of_other_images_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            image = os.path.join(folder, "a", "1.png")
            os.mkdir(os.path.dirname(image))

            def loader(size):
                with open(image, "wb") as file:
                    file.write(one_pixel().ljust(size, b"\0"))
                os.utime(image, (size, size))
                return leat.from_images(folder).padded_batch(1).loader("numpy")

            state = loader(0).state_dict()
            loader(1).load_state_dict(state)
            with self.assertRaisesRegex(leat.ConfigError, "another plan"):
                loader(1000).load_state_dict(state)

    def test_a_state_of_another_pipeline_is_refused(self):
        state = arrays().state_dict()
        loader = leat.from_arrays({"x": X}).batch(4).loader("numpy")
        with self.assertRaises(leat.ConfigError):
            loader.load_state_dict(state)
        for wrong in ({k: v for k, v in state.items() if k != "next_batch"}, {**state, "next_batch": "3"},
                      {**state, "next_batch": 2**63}, {**state, "next_batch": 1.5}):
            with self.assertRaisesRegex(leat.ConfigError, "next_batch"):
                loader.load_state_dict(wrong)
        own = loader.state_dict()
        for wrong in (None, 3, [*own], {**own, "version": own["version"] + 2**32}, {**own, "seed": own["seed"] + 2**64}):
            with self.assertRaisesRegex(leat.ConfigError, "as state_dict"):
                loader.load_state_dict(wrong)
        loader.load_state_dict({key: np.array(number, np.uint64)[()] for key, number in own.items()})
        self.assertEqual(len(list(loader)), ROWS // 4)

    def test_blanks_at_the_ends_of_a_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.txt")
            with open(path, "w") as f:
                f.write("x\ty\n1\t2\n")
            config = {"source": {"csv": {"files": path, "features": {"y": {"columns": "y"}}}}, "pipeline": [{"batch": 1}]}
            loader = leat.Loader(config, "numpy", set={"source.csv.delimiter": "\t", "pipeline.batch.size": "1"})
            self.assertEqual(next(iter(loader))["y"].tolist(), [2])
        with self.assertRaisesRegex(TypeError, "names"):
            arrays().as_tuples()

    def test_entries_are_taken_away_and_added(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = files(folder, pipeline=[{"batch": BATCH}])
            loader = leat.Loader(files(folder), set={"pipeline.shuffle-": None, "pipeline.prefetch-": None})
            for one in (loader, pickle.loads(pickle.dumps(loader))):
                self.assertEqual([b.info["digest"] for b in one], [b.info["digest"] for b in leat.Loader(bare)])
            loader.load_state_dict(leat.Loader(bare).state_dict())  # the same plan
            self.assertEqual(len(leat.Loader(bare, set={"pipeline.batch+": {"take": BATCH}})), 1)
            with self.assertRaisesRegex(leat.ConfigError, "--set pipeline.cache: pipeline has no 'cache'"):
                leat.Loader(bare, set={"pipeline.cache-": None})

    def test_ranks_share_every_batch(self):
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            parts = [[np.array(b["x"]) for b in leat.Loader(config, "numpy", rank=r, ranks=3)] for r in range(3)]
            whole = [np.array(b["x"]) for b in leat.Loader(config, "numpy")]
            for i, batch in enumerate(whole):
                np.testing.assert_array_equal(np.concatenate([p[i] for p in parts]), batch)

    def test_ranks_of_a_builder(self):
        """Of arrays and of files, beside options of the engine; a rank beyond the ranks is refused as Loader does."""
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "x.npy"), X)
            npy = {"files": os.path.join(folder, "x.npy"), "name": "x"}
            for engine in (None, {"threads": 1, "digest": True}):
                for built in (leat.from_arrays({"x": X}, engine=engine), leat.from_npy(npy, engine=engine)):
                    built = built.shuffle(seed=1).batch(BATCH)
                    parts = [built.loader("numpy", rank=r, ranks=3) for r in range(3)]
                    self.assertEqual([(p.plan["rank"], p.plan["ranks"]) for p in parts], [(0, 3), (1, 3), (2, 3)])
                    for whole, *cut in zip(built.loader("numpy"), *parts, strict=True):
                        np.testing.assert_array_equal(np.concatenate([c["x"] for c in cut]), whole["x"])
                    self.assertEqual("digest" in next(iter(parts[0])).info, "digest" in next(iter(built.loader())).info)
                    self.assertRaisesRegex(leat.ConfigError, "rank", built.loader, rank=3, ranks=3)
                    self.assertRaisesRegex(leat.ConfigError, "rank is not given", built.loader, ranks=3)

    def test_a_rank_and_ranks_from_elsewhere(self):
        """One of them may be in the config, in `set`, or among the options of the engine."""
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            engine = {"rank": 1, "ranks": 2}
            loaders = [leat.Loader(config, set={"engine.rank": 1}, ranks=2),
                       leat.Loader({**config, "engine": {"rank": 1}}, ranks=2),
                       leat.Loader({**config, "engine": {"ranks": 2}}, rank=1),
                       leat.from_arrays({"x": X}, engine=engine).batch(BATCH).loader(ranks=2),
                       leat.from_arrays({"x": X}, engine=engine).batch(BATCH).loader(rank=1)]
            self.assertEqual([(loader.plan["rank"], loader.plan["ranks"]) for loader in loaders], [(1, 2)] * len(loaders))

    def test_a_rank_where_a_section_has_its_own_engine(self):
        """Which takes the place of the config's."""
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            del config["engine"]
            for engine, threads in ({"engine": {"threads": 1}}, 1), ({"engine": {}}, None), ({"engine": None}, 2), ({}, 2):
                whole = {**config, "engine": {"threads": 2}, "eval": {**config, **engine}}
                loader = leat.Loader(whole, section="eval", rank=1, ranks=4)
                self.assertEqual((loader.plan["rank"], loader.plan["ranks"]), (1, 4), engine)
                self.assertIn(threads, (None, loader.stats()["threads"]))

    def test_map_and_tuples(self):
        loader = arrays().map(lambda b: {**b, "z": b["x"] * 2}).map(lambda b: b["z"].sum())
        self.assertEqual(len(loader), N)
        self.assertAlmostEqual(float(sum(loader)), float(X.sum()) * 2)
        x, y = next(iter(arrays().as_tuples("x", "y")))
        np.testing.assert_array_equal(x, X[y])
        x, y = next(iter(arrays().map(lambda b: {**b, "x": b["x"] * 2}).as_tuples("x", "y")))
        np.testing.assert_array_equal(x, X[y] * 2)
        self.assertEqual(loader.state_dict()["next_batch"], N)
        with arrays().map(len) as loader:
            self.assertEqual(list(loader), [2] * N)
        self.assertRaisesRegex(ValueError, "closed", iter, loader)

    def test_a_function_cannot_end_the_data(self):
        """A StopIteration of map()'s function, as of next(), is no end of the data."""
        few = iter(range(2))
        loop = iter(arrays().map(lambda b: next(few)))
        self.assertEqual([next(loop), next(loop)], [0, 1])
        with self.assertRaisesRegex(RuntimeError, "StopIteration"):
            next(loop)

    def test_plan_stats_errors_trace(self):
        loader = arrays()
        self.assertEqual(loader.plan["tensors"], [("x", "float32", (4,)), ("y", "int64", ())])
        list(loader)
        stats = loader.stats()
        self.assertEqual((stats["batches"], stats["samples"]), (N, ROWS))
        self.assertEqual(loader.errors(), [])
        with tempfile.TemporaryDirectory() as folder:
            loader.trace(os.path.join(folder, "trace.json"))
            with open(os.path.join(folder, "trace.json")) as f:
                self.assertTrue(json.load(f))
            with open(os.path.join(folder, "mine"), "w") as f:
                f.write("mine")
            with self.assertRaisesRegex(ValueError, "mine: exists and is not a trace"):
                loader.trace(f.name)

    def test_classes_of_any_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (b"\xffa", b"\xfea"):
                path = os.path.join(os.fsencode(folder), name)
                os.mkdir(path)
                with open(os.path.join(path, b"x.png"), "wb") as f:
                    f.write(one_pixel())
            loader = leat.from_images(folder).map(["decode_png", {"resize": [1, 1]}]).batch(2).loader()
            self.assertEqual(loader.plan["classes"], ["\\xfea", "\\xffa"])

    def test_classes_of_two_tensors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            with open(path, "w") as f:
                f.write("x,y,z\n1,cat,no\n2,dog,yes\n")
            of = {"y": ["cat", "dog"], "z": ["no", "maybe", "yes"]}
            features = {"x": {"columns": "x"}, **{name: {"columns": name, "classes": of[name]} for name in of}}
            loader = leat.from_csv(path, features=features).batch(2).loader()
            self.assertEqual((loader.plan["n_classes"], loader.plan["classes"]), (2, []))
            self.assertEqual(loader.plan["tensor_classes"], of)
            features["label"] = features.pop("z")
            plan = leat.from_csv(files=path, features=features).batch(2).loader().plan
            self.assertEqual(plan["classes"], of["z"])
            self.assertEqual(plan["tensor_classes"], {"y": of["y"], "label": of["z"]})
        self.assertEqual(arrays().plan["tensor_classes"], {})

    def test_texts_that_are_cut_or_of_any_bytes(self):
        """Names in notes, in messages of records and in paths of the config end wherever there is no more room."""
        for length in range(20, 60):
            name = "x" * (length % 3) + "\u753b" * length  # of three bytes each
            with self.subTest(length), tempfile.TemporaryDirectory() as folder:
                os.mkdir(os.path.join(folder, "cat"))
                for file in (f"cat/{name}.png", f"{name}.png"):
                    with open(os.path.join(folder, file), "wb") as f:
                        f.write(b"\x89PNG\r\n\x1a\n, but no picture")
                with open(os.path.join(os.fsencode(folder), b"\xff.png"), "wb") as f:
                    f.write(b"of no class")
                loader = leat.Loader({"source": {"images": folder},
                                      "pipeline": [{"map": ["decode_png", {"resize": 8}]}, {"on_error": "mask"}, {"batch": 1}]})
                self.assertRegex(loader.plan["notes"][0], "left out: 2 files.*\u753b")
                list(loader)
                self.assertIn("x" * (length % 3) + "\u753b", loader.errors()[0]["message"])
                with self.assertRaises(leat.ConfigError) as caught:
                    leat.Loader({"source": {"images": folder}, "pipeline": [{"batch": {"size": 1, name: 1}}]})
                self.assertIn("\u753b", caught.exception.path)


def take(loader, n):
    """The digests of n batches, pass after pass, and the position behind them."""
    taken = []
    while len(taken) < n:
        taken += [batch.info["digest"] for batch in itertools.islice(loader, n - len(taken))]
    return taken, loader.state_dict()


def fnv(digests):
    """As docs/json.md says."""
    value = 0xCBF29CE484222325
    for digest in digests:
        for byte in digest.to_bytes(8, "little"):
            value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


class Memory(unittest.TestCase):
    def test_tensors_outlive_all(self):
        loader = arrays()
        batch = next(iter(loader))
        x, y = batch["x"], np.array(batch["y"])
        del batch
        for _ in range(3):
            list(loader)
        loader.close()
        del loader
        gc.collect()
        np.testing.assert_array_equal(x, X[y])

    def test_a_list_of_a_whole_epoch(self):
        loader = arrays(hold=2)
        kept = list(loader)
        self.assertEqual(loader.stats()["n_copied"], N - 2)
        for batch in kept:
            np.testing.assert_array_equal(batch["x"], X[batch["y"]])

    def test_batch_0_kept_for_10000_batches(self):
        loader = arrays()
        first = next(iter(loader))
        y = np.array(first["y"])
        n = 0
        while n < 10000:
            n += sum(1 for _ in loader)
        np.testing.assert_array_equal(first["x"], X[y])

    def test_writing_changes_no_other(self):
        plain = [b.info["digest"] for b in arrays()]
        loader = arrays()
        for batch, digest in zip(loader, plain):
            self.assertEqual(batch.info["digest"], digest)
            np.testing.assert_array_equal(batch["x"], X[batch["y"]])
            batch["x"][:] = -1
        self.assertEqual(float(X[0, 1]), 1)

    def test_both_capsules(self):
        tensor = next(iter(arrays(None)))["x"]
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        self.assertIn('"dltensor"', repr(tensor.__dlpack__()))
        self.assertIn('"dltensor_versioned"', repr(tensor.__dlpack__(max_version=(1, 1))))
        view, copy = np.from_dlpack(tensor), np.from_dlpack(Copied(tensor))
        self.assertNotEqual(view.ctypes.data, copy.ctypes.data)
        np.testing.assert_array_equal(view, copy)
        self.assertEqual(view.ctypes.data % 64, 0)
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # before, from_dlpack() had no `copy`
            self.assertNotEqual(view.ctypes.data, np.from_dlpack(tensor, copy=True).ctypes.data)
        self.assertEqual(np.asarray(tensor).ctypes.data, view.ctypes.data)
        self.assertEqual(np.asarray(tensor, dtype=np.float64).dtype, np.float64)
        self.assertEqual(tensor.__array__(np.float32, copy=False).ctypes.data, view.ctypes.data)
        self.assertRaisesRegex(ValueError, "copy=False", tensor.__array__, np.float64, copy=False)
        number = next(iter(arrays(None)))["y"]
        for same in (np.int64, np.longlong, "<i8"):
            self.assertEqual(number.__array__(same, copy=False).ctypes.data, np.from_dlpack(number).ctypes.data)
        with self.assertRaises(BufferError):
            tensor.__dlpack__(stream=1)
        with self.assertRaises(BufferError):
            tensor.__dlpack__(dl_device=(2, 0))

    def test_unused_capsules_free_their_batch(self):
        loader = arrays(None, hold=1)
        for _ in range(3):
            for batch in loader:
                capsules = [batch["x"].__dlpack__(), batch["x"].__dlpack__(max_version=(1, 0)),
                            batch["x"].__dlpack__(copy=True)]
                del capsules, batch
        self.assertEqual(loader.stats()["n_copied"], 0)

    def test_a_foreign_thread_frees(self):
        loader = arrays(hold=1)
        for batch in loader:
            box = [batch["x"]]
            del batch
            thread = threading.Thread(target=box.clear)
            thread.start()
            thread.join()
        self.assertEqual(loader.stats()["n_copied"], 0)

    def test_nothing_grows(self):
        loader = arrays()
        for _ in range(20):
            list(loader)
        gc.collect()
        before = resident()
        for _ in range(2000):
            for batch in loader:
                pass
        for _ in range(300):  # abandoned
            next(iter(arrays()))
        gc.collect()
        self.assertLess(resident() - before, 8 << 20)

    def test_masks(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "cat"))
            for i in range(6):
                with open(os.path.join(folder, "cat", f"{i}.jpg"), "wb") as f:
                    f.write(b"\xff\xd8\xff no picture")
            config = {"source": {"images": folder},
                      "pipeline": [{"map": ["decode_jpeg", {"resize": 8}]}, {"on_error": "mask"}, {"batch": 3}]}
            loader = leat.Loader(config, "numpy")
            for batch in loader:
                np.testing.assert_array_equal(batch.valid, [0, 0, 0])
            self.assertEqual(len(loader.errors()), 6)
            many = leat.Loader(config, "numpy")
            for _ in range(11):
                list(many)
            self.assertEqual((len(many.errors()), many.stats()["n_masked"]), (64, 66))
            start = loader.state_dict()
            for n in range(1, 3):  # loops that are left early; the second begins in another run
                next(iter(loader))
                self.assertEqual(len(loader.errors()), 6 + 3 * n)
                self.assertEqual((loader.stats()["n_masked"], loader.stats()["batches"]), (6 + 3 * n, 2 + n))
            loader.load_state_dict(start)
            list(loader)
            busy = sum(s["busy_ns"] for s in loader.stats()["stages"])
            for _ in range(2):
                self.assertEqual([e["epoch"] for e in loader.errors()], [0] * 6 + [1] * 3 + [2] * 3 + [1] * 6)
                self.assertEqual(loader.stats()["samples"], 18)
                self.assertGreaterEqual(sum(s["busy_ns"] for s in loader.stats()["stages"]), busy)
                loader.close()


class Batches(unittest.TestCase):
    def test_a_batch_is_a_dict(self):
        batch = next(iter(arrays()))
        self.assertIsInstance(batch, dict)
        self.assertIs(type(batch), leat.Batch)
        self.assertEqual([*batch], ["x", "y"])
        self.assertEqual((batch.number, batch.epoch, batch.rows, batch.valid), (0, 0, BATCH, None))
        self.assertEqual((batch.info["number"], batch.info["rows"], batch.info["is_copy"]), (0, BATCH, False))
        batch["z"] = batch.pop("x")
        for other in (copy.copy(batch), pickle.loads(pickle.dumps(batch)), batch.copy()):
            self.assertIs(type(other), dict)
            np.testing.assert_array_equal(other["z"], X[other["y"]])
        batch.record_stream(1)  # nothing to do in host memory

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not there")
    def test_saved_by_torch(self):
        """A dict of tensors is what torch.load() takes without trust in the file."""
        import torch

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "batch.pt")
            torch.save(dict(next(iter(arrays("torch")))), path)
            there = torch.load(path, weights_only=True)
            self.assertEqual((type(there), [*there]), (dict, ["x", "y"]))
            np.testing.assert_array_equal(there["x"].numpy(), X[there["y"].numpy()])

    def test_a_batch_of_somebody_else(self):
        """As libraries make one that map over the values."""
        made = leat.Batch({"x": 1}, y=2)
        self.assertEqual(made, {"x": 1, "y": 2})
        for field in ("info", "number", "epoch", "rows", "valid"):
            self.assertFalse(hasattr(made, field))
        self.assertRaisesRegex(AttributeError, "no loader", made.record_stream, 1)

        class Mine(leat.Batch):
            pass

        for _ in range(1000):
            self.assertEqual(Mine(x=1), {"x": 1})

    def test_a_batch_in_a_cycle_is_freed(self):
        loader = arrays(hold=1)
        for batch in loader:
            batch["me"] = batch
            del batch
            gc.collect()
        self.assertEqual(loader.stats()["n_copied"], 0)

    def test_types_of_elements(self):
        """Of each form of a tensor."""
        wanted = np.arange(ROWS * 2).reshape(ROWS, 2)
        for to, dtypes in (("numpy", ()), ("torch", ("bfloat16",)), (None, ())):
            if to == "torch" and not importlib.util.find_spec("torch"):
                continue
            for dtype in ("uint8", "int32", "int64", "float32", "float16", *dtypes):
                x = wanted.astype(np.float32)
                loader = leat.from_arrays({"x": x}).map([{"cast": {"dtype": dtype}}]).batch(BATCH).loader(to)
                got = [batch["x"] for batch in loader]
                self.assertEqual({str(t.dtype).removeprefix("torch.") for t in got}, {dtype})
                self.assertEqual((tuple(got[0].shape), tuple(got[-1].shape)), ((BATCH, 2), (ROWS % BATCH, 2)))
                values = [t.float().numpy() if to == "torch" else np.asarray(t) for t in got]
                np.testing.assert_array_equal(np.concatenate(values), wanted)

    def test_a_type_that_numpy_has_not(self):
        if "ml_dtypes" in sys.modules:
            self.skipTest("ml_dtypes gives it to NumPy")
        loader = leat.from_arrays({"x": X}).map([{"cast": {"dtype": "bfloat16"}}]).batch(BATCH).loader("numpy", hold=1)
        for _ in range(3):
            with self.assertRaisesRegex(TypeError, "no bfloat16.*cast"):
                next(iter(loader))
        self.assertEqual(loader.stats()["n_copied"], 0)

    def test_an_iterator_alone(self):
        """It goes on without its loader, has one end, and does not keep the program."""
        epoch = iter(arrays())
        gc.collect()
        self.assertEqual(len(list(epoch)), N)
        self.assertEqual(list(epoch), [])
        out = run_python("""
            import numpy as np, threading, leat_data as leat
            epoch = iter(leat.from_arrays({"x": np.zeros((9, 9), np.float32)}).repeat("forever").batch(2).loader("numpy"))
            threading.Thread(target=lambda: [None for _ in epoch], daemon=True).start()
            next(epoch)
        """)
        self.assertEqual((out.returncode, out.stderr), (0, ""))

    def test_tuples_have_no_masked_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            with open(path, "w") as f:
                f.write("x,y\n1,10\n2,20\n,30\n4,40\n,50\n,60\n")
            data = leat.from_csv(files=path, features={"x": {"columns": "x"}, "y": {"columns": "y"}}).on_error("mask").batch(2)
            for name in "numpy", "torch", "jax":
                if name == "numpy" or importlib.util.find_spec(name):
                    rows = [[t.tolist() for t in pair] for pair in data.loader(name).as_tuples("y", "x")]
                    self.assertEqual(rows, [[[10, 20], [1, 2]], [[40], [4]], [[], []]], name)
            with self.assertRaisesRegex(TypeError, "masked rows"):
                list(data.loader().as_tuples("x"))
            for fn, want in ((lambda b: {"x": b["x"] * 2}, [[2, 4], [8], []]),  # it has no mask
                             (lambda b: {"x": b["x"].tolist()}, [[1, 2], [4], []]),
                             (lambda b: {"x": b["x"] if b.valid is None else b["x"][b.valid == 1]}, [[1, 2], [4], []])):
                rows = [list(x) for x, in data.loader("numpy").map(lambda b: b).map(fn).as_tuples("x")]
                self.assertEqual(rows, want)
            numbers = data.loader("numpy").map(lambda b: {"n": b.number, "m": np.float32(b.rows)}).as_tuples("n", "m")
            self.assertEqual(list(numbers), [(0, 2), (1, 2), (2, 2)])
            with self.assertRaisesRegex(ValueError, "number of rows"):
                list(data.loader("numpy").map(lambda b: {"x": np.repeat(b["x"], 2)}).as_tuples("x"))


class Frameworks(unittest.TestCase):
    def check(self, name, to_numpy):
        try:
            __import__(name)
        except ImportError:
            self.skipTest(f"{name} is not there")
        loader = arrays(name)
        kept = list(loader)
        loader.close()
        for batch in kept:
            np.testing.assert_array_equal(to_numpy(batch["x"]), X[to_numpy(batch["y"])])

    def test_torch(self):
        self.check("torch", lambda t: t.numpy())

    def test_jax(self):
        self.check("jax", np.asarray)

    def test_another_word_is_refused(self):
        with self.assertRaisesRegex(leat.ConfigError, "torch"):
            arrays("tensorflow")


class Errors(unittest.TestCase):
    def test_a_config_error_has_its_place(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(leat.ConfigError) as caught:
            leat.Loader(files(folder, pipeline=[{"batch": {"size": "nine"}}]))
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual(caught.exception.path, "pipeline[0].batch.size")
        self.assertEqual(caught.exception.code, "LEAT_E_CONFIG")
        self.assertIsNone(caught.exception.record)

    def test_a_missing_file(self):
        with self.assertRaises(OSError) as caught:
            leat.Loader("/no/such/file.yaml")
        self.assertIn("/no/such/file.yaml", str(caught.exception))

    def test_closed(self):
        loader = arrays()
        epoch = iter(loader)
        next(epoch)
        loader.close()
        loader.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            next(epoch)
        with self.assertRaisesRegex(ValueError, "closed"):
            loader.state_dict()
        with self.assertRaisesRegex(ValueError, "closed"):
            loader.trace("x.json")
        self.assertEqual(loader.stats()["batches"], 1)
        self.assertEqual(loader.errors(), [])

    def test_arrays_that_do_not_fit(self):
        with self.assertRaisesRegex(ValueError, r"'x' is float64: .*astype\('float32'\)"):
            leat.from_arrays({"x": X.astype(np.float64)}).batch(4).loader("numpy")
        for wrong, said in (({"x": X, "y": Y[:-1]}, "'y' has 99 rows, and those before it have 100"),
                            ({"x": X[:, :0]}, "empty rows"), ({"x": X.reshape(ROWS, 4, 1, 1, 1, 1, 1, 1)}, "8 dim.*7 at most"),
                            ({"x": X.astype(np.complex64)}, "complex64: leat has uint8, int32"), ({"x": np.float32(1)}, "no rows")):
            with self.assertRaisesRegex(ValueError, said):
                leat.from_arrays(wrong).batch(4).loader()

    def test_what_is_imported_late_is_listed(self):
        self.assertLess(set(leat.__all__), set(dir(leat)))

    def test_arrays_that_are_not_aligned(self):
        """C's loops over numbers need it: such an array is copied."""
        odd = np.frombuffer(b"-" + X.tobytes(), X.dtype, offset=1).reshape(X.shape)
        self.assertFalse(odd.flags.aligned)
        loader = leat.from_arrays({"x": odd, "y": X}).batch(ROWS).loader("numpy")
        rows = [row[3] for row in loader._recipe[5]]
        self.assertEqual([row.flags.aligned for row in rows], [True, True])
        self.assertTrue(np.shares_memory(rows[1], X))
        np.testing.assert_array_equal(next(iter(loader))["x"], X)

    def test_arrays_without_names(self):
        for wrong in ([X], (X, Y), X, None, {1: X}):
            with self.assertRaisesRegex(leat.ConfigError, "name"):
                leat.from_arrays(wrong)

    def test_a_function_in_place_of_an_op(self):
        for wrong in (lambda b: b.map(len), lambda b: b.map([len])):
            with self.assertRaisesRegex(TypeError, r"leat ops.*\.loader\(…\)\.map\(function\)"):
                wrong(leat.from_arrays({"x": X})).batch(4).loader()

    def test_hold(self):
        for wrong in (-1, 2**20 + 1, 2**31 - 1):
            with self.assertRaisesRegex(leat.ConfigError, f"^loader: hold is 0 to 1048576; got {wrong}$"):
                arrays(hold=wrong)

    def test_masked_arrays_are_refused(self):
        with self.assertRaisesRegex(leat.ConfigError, "masked"):
            leat.from_arrays({"x": np.ma.masked_equal(X, 3)})

    def test_names_of_arrays(self):
        for wrong in ({"": X}, {"n" * 64: X}, {"n" * 63 + "a": X, "n" * 63 + "b": X}):
            with self.assertRaisesRegex(leat.ConfigError, "1 to 63 bytes"):
                leat.from_arrays(wrong).batch(4).loader()
        self.assertEqual([*next(iter(leat.from_arrays({"n" * 63: X}).batch(4).loader("numpy")))], ["n" * 63])


class Threads(unittest.TestCase):
    def test_eight_threads_share_an_epoch(self):
        for threads in (0, 2):
            loader = arrays(threads=threads, hold=1)
            for _ in range(20):
                epoch, seen, failed = iter(loader), [], []

                def work():
                    try:
                        for batch in epoch:
                            seen.extend(batch["y"].tolist())
                    except BaseException as error:
                        failed.append(error)

                workers = [threading.Thread(target=work) for _ in range(8)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                self.assertEqual(failed, [])
                self.assertEqual(sorted(seen), list(range(ROWS)))

    def test_close_while_others_wait(self):
        for _ in range(20):
            loader = arrays(threads=1)
            ends = []

            def work():
                try:
                    while True:
                        for _ in loader:
                            pass
                except (ValueError, leat.Error) as error:
                    ends.append(error)

            workers = [threading.Thread(target=work) for _ in range(4)]
            for worker in workers:
                worker.start()
            time.sleep(0.002)
            loader.close()
            for worker in workers:
                worker.join(20)
                self.assertFalse(worker.is_alive())
            self.assertEqual(len(ends), 4)

    def test_others_run_meanwhile(self):
        """The GIL is free while a loader waits for a batch."""
        counted = [0]
        stop = threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        builder = leat.from_arrays({"x": X[:2]}, engine={"threads": 1}).map([{"sleep": {"ms": 500}}])
        batches = iter(builder.batch(2).loader("numpy"))
        before = counted[0]
        next(batches)  # takes a second, in one call
        during = counted[0] - before
        stop.set()
        thread.join()
        self.assertGreater(during, 1000)

    def test_break_early_1000_times(self):
        loader = arrays()
        for _ in range(1000):
            for _ in loader:
                break


def rows_of_rank(args):
    config, rank, ranks = args
    return [row for b in leat.Loader(config, "numpy", rank=rank, ranks=ranks) for row in b["x"][:, 0].tolist()]


class MyLoader(leat.Loader):
    """Whose states have a key of its own."""

    def state_dict(self):
        return {**super().state_dict(), "own": self.own}

    def load_state_dict(self, state):
        self.own = state["own"]
        super().load_state_dict(state)


class LockedLoader(leat.Loader):
    """As the docstring says, and as any class with a lock."""

    def __getstate__(self):
        own, position = super().__getstate__()
        del own["lock"]
        return own, position

    def __setstate__(self, state):
        super().__setstate__(state)
        self.lock = threading.Lock()


class Processes(unittest.TestCase):
    def test_every_start_method(self):
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            for method in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    parts = pool.map(rows_of_rank, [(config, r, 2) for r in range(2)])
                self.assertEqual(sorted(parts[0] + parts[1]), X[:, 0].tolist())

    def test_a_fork_leaves_the_parent_alone(self):
        loader = arrays()
        epoch = iter(loader)
        batch = next(epoch)
        child = os.fork()
        if child == 0:
            try:
                good = np.array_equal(batch["x"], X[batch["y"]])
                next(epoch)
            except leat.ForkedError:
                loader.close()
                own = arrays()
                good = good and len(list(own)) == N
                os._exit(0 if good else 2)
            os._exit(3)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(1 + sum(1 for _ in epoch), N)

    def test_pickled(self):
        with tempfile.TemporaryDirectory() as folder:
            config = files(folder)
            loader = leat.Loader(config, "numpy")
            plain = [b.info["digest"] for b in leat.Loader(config)]
            for i, _ in enumerate(loader):
                if i == 4:
                    break
            other = pickle.loads(pickle.dumps(loader))
            self.assertEqual([b.info["digest"] for b in other], plain[5:])
            loader = MyLoader(config, "numpy")
            loader.own = 5
            for other in (pickle.loads(pickle.dumps(loader)), copy.deepcopy(loader)):
                self.assertEqual((type(other), other.own, len(list(other))), (MyLoader, 5, N))
            loader.lock = threading.Lock()
            with self.assertRaisesRegex(TypeError, "lock"):
                pickle.dumps(loader)
            loader = LockedLoader(config, "numpy")
            loader.lock, loader.own = threading.Lock(), 6
            for other in (pickle.loads(pickle.dumps(loader)), copy.deepcopy(loader)):
                self.assertEqual((other.own, other.lock.locked(), len(list(other))), (6, False, N))
            self.assertIsNot(other.lock, loader.lock)
        with self.assertRaises(TypeError):
            pickle.dumps(arrays())
        batch = next(iter(arrays()))
        there = pickle.loads(pickle.dumps(batch))
        self.assertIs(type(there), dict)
        np.testing.assert_array_equal(there["x"], batch["x"])

    def test_exit_with_live_loaders(self):
        out = run_python("""
            import threading, numpy as np, leat_data as leat
            loaders = [leat.from_arrays({"x": np.zeros((1000, 4), np.float32)}).batch(2).loader("numpy")
                       for _ in range(20)]
            kept = [next(iter(l)) for l in loaders]
            def forever():
                while True:
                    for _ in loaders[0]: pass
            threading.Thread(target=forever, daemon=True).start()
            print("end")
        """)
        self.assertEqual((out.returncode, out.stdout), (0, "end\n"), out.stderr)

    def test_interrupted(self):
        """Ctrl-C ends a loop, within 0.2 s if times are judged, and the loader goes on afterwards."""
        out = run_python("""
            import os, signal, sys, threading, time, tempfile, leat_data as leat, numpy as np
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
            x = np.zeros((64, 256, 256), np.float32)
            loader = leat.from_arrays({"x": x}, engine={"threads": 1}).batch(64).loader("numpy")
            slow = [0.0]
            def press():
                time.sleep(0.3)
                slow[0] = time.monotonic()
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=press).start()
            try:
                while True:
                    for _ in loader: pass
            except KeyboardInterrupt:
                took = time.monotonic() - slow[0]
            n = sum(1 for _ in loader)
            print(took < (0.2 if "LEAT_TEST_TIMES" in os.environ else 10), n)
        """)
        self.assertEqual((out.returncode, out.stdout), (0, "True 1\n"), out.stderr)


class Builders(unittest.TestCase):
    def test_every_stage_has_a_method_with_a_text(self):
        stages, sources = leat._leat.kinds("stage"), leat._leat.kinds("source")
        self.assertIn("shuffle", [name for name, _, _ in stages])
        self.assertIn("images", [name for name, _, _ in sources])
        for name, help, options in stages + sources:
            text = (getattr(leat.Builder, name, None) or getattr(leat, f"from_{name}")).__doc__
            self.assertIn(help, text)
            for option, *_ in options:
                self.assertIn(option, text)

    def test_stages_do_what_those_of_a_config_do(self):
        loader = leat.from_arrays({"x": X}).skip(10).take(20).repeat(2).batch(size=7, drop_remainder=True).loader("numpy")
        self.assertEqual([b.rows for b in loader], [7] * 5)

    def test_a_pipeline_may_branch(self):
        """As in tf.data: a stage gives a new pipeline, and changes none."""
        whole = leat.from_arrays({"x": X, "y": Y})
        first, rest = whole.take(80), whole.skip(80)
        rows = [np.concatenate([b["y"] for b in part.batch(BATCH).loader("numpy")]) for part in (first, rest, whole)]
        np.testing.assert_array_equal(rows[0], Y[:80])
        np.testing.assert_array_equal(rows[1], Y[80:])
        np.testing.assert_array_equal(rows[2], Y)

    def test_a_pipeline_keeps_what_it_was_given(self):
        """What the caller changes later, in lists and dicts that he gave or got, belongs to pipelines that follow."""
        ops, scale, engine = [], {"factor": 2}, {"threads": 1}
        ops.append({"scale": scale})
        built = leat.from_arrays({"x": X}, engine=engine).map(ops).batch(ROWS)
        before = copy.deepcopy(built.config)
        ops.append({"scale": {"factor": 10}})
        scale["factor"], engine["threads"] = 100, 0
        built.config["pipeline"][0]["map"][0]["scale"]["factor"] = -1
        built.config["engine"]["threads"] = 3
        self.assertEqual(built.config, before)
        np.testing.assert_array_equal(next(iter(built.loader("numpy")))["x"], X * 2)
        names = ["a.csv"]
        source = leat.from_csv(names, header=False)
        names.append("b.csv")
        self.assertEqual(source.config["source"]["csv"]["files"], ["a.csv"])

    def test_numbers_of_numpy(self):
        ops = [{"normalize": {"mean": np.float32(0.5), "std": np.array([0.25])}}]
        built = leat.from_arrays({"x": X.reshape(ROWS, 2, 2, 1)}).map(ops).batch(np.int64(BATCH))
        np.testing.assert_array_equal(next(iter(built.loader("numpy")))["x"].reshape(-1, 4), (X[:BATCH] - 0.5) / 0.25)
        with self.assertRaisesRegex(TypeError, "no value of a config"):
            leat.from_arrays({"x": X}).batch(object()).loader()

    def test_big_endian_arrays(self):
        loader = leat.from_arrays({"x": X.astype(">f4"), "y": Y.astype(">i8")}).batch(ROWS).loader("numpy")
        batch = next(iter(loader))
        np.testing.assert_array_equal(batch["x"], X)
        np.testing.assert_array_equal(batch["y"], Y)

    def test_a_value_beside_options(self):
        """A value without a name is the first option, whatever others are given."""
        built = leat.from_arrays({"x": X}).cache("c", bytes="1 MB").on_error("mask", max_errors=5).prefetch(4, pinned=False)
        self.assertEqual(built.config["pipeline"], [
            {"cache": {"file": "c", "bytes": "1 MB"}}, {"on_error": {"policy": "mask", "max_errors": 5}},
            {"prefetch": {"batches": 4, "pinned": False}}])
        self.assertEqual(leat.from_csv("a.csv", header=False).config["source"], {"csv": {"files": "a.csv", "header": False}})
        for wrong in (lambda b: b.batch(4, size=5), lambda b: b.shuffle(1000, reshuffle=False),
                      lambda b: b.batch({"size": 4}, drop_remainder=True)):
            with self.assertRaisesRegex(leat.ConfigError, "names"):
                wrong(leat.from_arrays({"x": X}))

    def test_names_in_any_letters(self):
        for name in ("\U0001f600", "a\u2028b", "a\x85b", "a\x7fb", 'a"b', "a\\ud83d\\ude00", "\ufeff", "\xe9"):
            with tempfile.TemporaryDirectory() as parent:
                folder = os.path.join(parent, name)
                os.mkdir(folder)
                self.assertEqual(len(list(leat.Loader(files(folder)))), N, repr(name))

    def test_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (b"job.yaml", b"\xe9.yaml"):
                path = os.path.join(os.fsencode(folder), name)
                with open(path, "w") as f:
                    json.dump(files(folder), f)
                for given in (path, os.fsdecode(path), pathlib.Path(os.fsdecode(path))):
                    loader = leat.Loader(given, set={"source.npy.files": pathlib.Path(folder) / "x.npy"})
                    self.assertEqual(len(pickle.loads(pickle.dumps(loader))), N)
            path = os.path.join(folder, "job.yaml")
            for wrong in (lambda: leat.Loader(path + "\0.bak"), lambda: leat.Loader(os.fsencode(path) + b"\0"),
                          lambda: leat.Loader(path, set={"seed": "7\0"}), lambda: leat.Loader(path, section="a\0")):
                with self.assertRaisesRegex(ValueError, "embedded null"):
                    wrong()
            built = leat.from_npy(files=pathlib.Path(folder) / "x.npy", name="x").batch(BATCH)
            self.assertEqual(len(built.loader()), N)

    def test_a_source_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            files(folder)
            built = leat.from_npy(files=os.path.join(folder, "x.npy"), name="x", engine={"digest": True}).shuffle(seed=1)
            built = built.batch(BATCH).prefetch(2)
            self.assertEqual(built.config["pipeline"], [{"shuffle": {"seed": 1}}, {"batch": BATCH}, {"prefetch": 2}])
            self.assertEqual([b.info["digest"] for b in built.loader()],
                             [b.info["digest"] for b in leat.Loader(files(folder))])
            with self.assertRaises(leat.Error) as caught:
                leat.from_images(folder, seed=7).batch(4).loader()
            self.assertIn(folder, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
