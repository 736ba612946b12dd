# SPDX-License-Identifier: MIT
"""Tests of batches on a GPU. tests/checks/check_python_package.sh runs them over the stand-in for CUDA that LEAT_FAKE_PLUGIN
names, whose device memory is the host's. With PyTorch and a GPU all of them run, and on that GPU."""

import ctypes
import gc
import os
import pickle
import random
import shutil
import sys
import tempfile
import threading
import unittest

import numpy as np

try:
    import torch
    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False
if not ON_GPU:
    if not os.path.exists(os.environ.get("LEAT_FAKE_PLUGIN", "")):
        print("SKIPPED: no GPU with PyTorch, and no stand-in for CUDA (LEAT_FAKE_PLUGIN)")
        sys.exit(0)
    os.environ["LEAT_CUDA_PLUGIN"] = os.environ["LEAT_FAKE_PLUGIN"]

import leat_data as leat  # noqa: E402

ROWS, BATCH = 96, 8
X = np.random.default_rng(1).standard_normal((ROWS, 5)).astype(np.float32)
Y = np.arange(ROWS)
N = ROWS // BATCH


def make_stream():
    if ON_GPU:
        made.append(torch.cuda.Stream())
        return made[-1].cuda_stream
    stand_in = ctypes.CDLL(os.environ["LEAT_CUDA_PLUGIN"])
    stand_in.cuda_fake_stream.restype = ctypes.c_void_p
    return stand_in.cuda_fake_stream()


made = []  # PyTorch's streams, which must live
STREAM = make_stream()
OTHER = make_stream()


def arrays(to=None, device="cuda:0", **more):
    builder = leat.from_arrays({"x": X, "y": Y}, seed=3, engine={"threads": 2, "digest": True})
    return builder.shuffle(seed=1).batch(BATCH).prefetch(2).loader(to, device=device, **more)


def jpegs(folder, n, to=None):
    os.mkdir(os.path.join(folder, "a"))
    file = os.path.join(os.path.dirname(__file__), "..", "fuzz", "corpus", "fuzz_decode_jpeg", "420.jpg")
    for i in range(n):
        shutil.copy(file, os.path.join(folder, "a", f"{i}.jpg"))
    ops = ["decode_jpeg", {"random_resized_crop": 32}]
    pipeline = [{"map": {"device": "gpu", "ops": ops}}, {"batch": BATCH}, {"prefetch": 3}]
    return leat.Loader({"source": {"images": folder}, "pipeline": pipeline}, to, device="cuda:0")


def digests(batches):
    return [batch.info["digest"] for batch in batches]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64))]


def in_capsule(capsule):
    """The tensor of an unversioned capsule."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return DLTensor.from_address(pointer(capsule, b"dltensor"))


class Export(unittest.TestCase):
    def test_where_a_tensor_is(self):
        with arrays() as loader:
            tensor = next(iter(loader))["x"]
            self.assertEqual(tensor.__dlpack_device__(), (2, 0))
            capsule = tensor.__dlpack__(stream=STREAM)
            seen = in_capsule(capsule)
            self.assertEqual((seen.device_type, seen.device_id, seen.rank, seen.bits), (2, 0, 2, 32))
            self.assertEqual(seen.shape[:2], [BATCH, 5])
            self.assertIn('"dltensor_versioned"', repr(tensor.__dlpack__(stream=STREAM, max_version=(1, 0), dl_device=(2, 0))))

    def test_what_cannot_be(self):
        with arrays() as loader:
            tensor = next(iter(loader))["x"]
            for given in ({"stream": 0}, {"stream": 2}, {"stream": -7}):
                self.assertRaisesRegex(ValueError, "stream", tensor.__dlpack__, **given)
            for given in ({"dl_device": (1, 0)}, {"dl_device": (2, 1)}, {"copy": True}):
                self.assertRaisesRegex(BufferError, "GPU's memory", tensor.__dlpack__, **given)
            self.assertRaisesRegex(TypeError, "GPU's memory", np.asarray, tensor)
            self.assertRaises(TypeError, tensor.__dlpack__, stream="s")
        self.assertRaisesRegex(leat.ConfigError, "NumPy", arrays, "numpy")
        self.assertRaisesRegex(leat.ConfigError, "'cuda'", arrays, device="sim")
        self.assertRaisesRegex(leat.Error, "cuda:77", arrays, device="cuda:77")

    def test_the_cpu_is_a_device_too(self):
        with arrays("numpy", device="cpu") as loader:
            self.assertEqual(next(iter(loader))["x"].shape, (BATCH, 5))

    def test_a_loader_is_pickled_with_its_device(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "x.npy"), X)
            config = {"source": {"npy": {"files": os.path.join(folder, "x.npy"), "name": "x"}}, "pipeline": [{"batch": 8}]}
            with leat.Loader(config, device="cuda") as loader, pickle.loads(pickle.dumps(loader)) as other:
                self.assertEqual(next(iter(other))["x"].__dlpack_device__(), (2, 0))


class Lives(unittest.TestCase):
    def test_the_batches_are_those_of_the_host(self):
        with arrays() as there, arrays(device=None) as here:
            for _ in range(3):
                self.assertEqual(digests(there), digests(here))

    def test_batches_are_kept_beyond_hold_and_freed_in_any_order(self):
        with arrays() as loader:
            kept = [batch["x"].__dlpack__(stream=STREAM) for _ in range(3) for batch in loader]
            self.assertEqual(loader.stats()["n_copied"], 3 * N - 3)
            random.Random(5).shuffle(kept)
            while kept:
                kept.pop()
            self.assertEqual(len(list(loader)), N)

    def test_batches_outlive_the_loader(self):
        loader = arrays()
        kept = [batch["y"] for batch in loader]
        capsules = [t.__dlpack__(stream=STREAM) for t in kept[:2]]
        loader.close()
        del loader
        gc.collect()
        capsules += [t.__dlpack__(stream=STREAM) for t in kept[-2:]]
        del kept, capsules
        gc.collect()

    def test_streams_of_one_batch(self):
        with arrays() as loader:
            for batch in loader:
                batch["x"].__dlpack__(stream=STREAM)
                batch["y"].__dlpack__(stream=OTHER)
                batch.record_stream(OTHER)

    def test_threads_share_an_iterator(self):
        with arrays() as loader:
            got, shared = [], iter(loader)

            def take():
                for batch in shared:
                    batch["x"].__dlpack__(stream=STREAM)
                    got.append(batch.number)

            threads = [threading.Thread(target=take) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(got), list(range(N)))

    def test_a_fork_does_not_touch_it(self):
        with arrays() as loader:
            batch = next(iter(loader))
            batch["x"].__dlpack__(stream=STREAM)
            child = os.fork()
            if child == 0:
                del batch
                loader.close()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(len(list(loader)), N)


@unittest.skipUnless(ON_GPU, "PyTorch sees no GPU")
class OnGpu(unittest.TestCase):
    def sums_of(self, loader, streams):
        """Takes each batch on one of these streams, adds it up behind a long kernel, and lets it go at once."""
        sums = []
        for i, batch in enumerate(loader):
            with torch.cuda.stream(streams[i % len(streams)]):
                x = batch["x"]
                batch.record_stream(torch.cuda.current_stream())
                torch.cuda._sleep(2_000_000)
                sums.append((x.double().sum(), batch["y"].sum()))
                del x, batch
        torch.cuda.synchronize()
        return [(float(x), int(y)) for x, y in sums]

    def test_values_are_those_of_the_host(self):
        with arrays("torch") as there, arrays("torch", device=None) as here:
            for _ in range(3):
                for a, b in zip(there, here, strict=True):
                    self.assertTrue(a["x"].is_cuda)
                    self.assertTrue(torch.equal(a["x"].cpu(), b["x"]) and torch.equal(a["y"].cpu(), b["y"]))

    def test_a_batch_is_not_overwritten_before_the_stream_has_read_it(self):
        host = arrays("torch", device=None)
        expected = [[(float(b["x"].double().sum()), int(b["y"].sum())) for b in host] for _ in range(3)]
        for streams in ([torch.cuda.default_stream()], [torch.cuda.Stream()], [torch.cuda.Stream() for _ in range(3)]):
            with arrays("torch") as loader:
                for epoch in range(3):
                    got = self.sums_of(loader, streams)
                    self.assertEqual([y for _, y in got], [y for _, y in expected[epoch]])
                    np.testing.assert_allclose([x for x, _ in got], [x for x, _ in expected[epoch]], rtol=1e-6)

    def test_a_graph_is_captured_beside_a_loader_that_decodes(self):
        x, numbers, n = torch.zeros(1000, device="cuda"), [], 0

        def take(loader):
            with torch.cuda.stream(torch.cuda.Stream()):
                numbers.extend(batch.number for _ in range(50) for batch in loader)

        with tempfile.TemporaryDirectory() as folder, jpegs(folder, 64, "torch") as loader:
            thread = threading.Thread(target=take, args=(loader,))
            thread.start()
            while n == 0 or thread.is_alive():
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    for _ in range(100):
                        x += 1
                graph.replay()
                n += 1
            thread.join()
        self.assertEqual(len(numbers), 50 * 8)
        self.assertTrue(bool((x == 100 * n).all()))


if __name__ == "__main__":
    unittest.main()
