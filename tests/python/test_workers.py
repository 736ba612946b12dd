# SPDX-License-Identifier: MIT
"""leat in the workers of PyTorch's DataLoader: every row exactly once. tests/checks/check_python_package.sh runs it."""

import os
import sys
import tempfile
import unittest

import numpy as np

import leat_data as leat

try:
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
except ImportError:
    print("SKIPPED: Python has no torch, which DataLoader is of")
    sys.exit(0)

ROWS = 103


class Rows(IterableDataset):
    """A part of every batch for each worker, as docs/how-to/use-with-pytorch.md has it."""

    def __init__(self, config, rank=0, ranks=1):
        self.config, self.rank, self.ranks, self.loader = config, rank, ranks, None

    def __len__(self):
        return -(-ROWS // 8) * 3

    def __iter__(self):
        if self.loader is None:  # in the worker, once: the next loop is its next epoch
            worker = get_worker_info()
            n = worker.num_workers if worker else 1
            self.loader = leat.Loader(self.config, "torch", rank=self.rank * n + (worker.id if worker else 0),
                                      ranks=self.ranks * n)
        return iter(self.loader)


class Workers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        np.save(os.path.join(folder.name, "x.npy"), np.arange(ROWS * 3, dtype=np.float32).reshape(ROWS, 3))
        self.config = {"source": {"npy": {"files": os.path.join(folder.name, "x.npy"), "name": "x"}},
                       "pipeline": [{"shuffle": {"seed": 1}}, {"batch": 8}, {"prefetch": 2}], "engine": {"threads": 1}}

    def passes(self, n, **given):
        """The first columns of each pass."""
        given = {"rows": Rows(self.config), "timeout": 60 if given["num_workers"] else 0, **given}
        loader = DataLoader(given.pop("rows"), batch_size=None, **given)
        return [[x for batch in loader for x in batch["x"][:, 0].tolist()] for _ in range(n)]

    def check_once(self, rows):
        self.assertEqual(sorted(rows), [3.0 * i for i in range(ROWS)])

    def test_every_row_once_with_every_start_method(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                first, second = self.passes(2, num_workers=2, multiprocessing_context=method, persistent_workers=True)
                self.check_once(first)
                self.check_once(second)
                self.assertNotEqual(first, second)

    def test_without_workers(self):
        for rows in self.passes(2, num_workers=0):
            self.check_once(rows)

    def test_workers_of_several_ranks(self):
        parts = [self.passes(1, rows=Rows(self.config, rank, 2), num_workers=2)[0] for rank in range(2)]
        self.check_once(parts[0] + parts[1])

    def test_a_loader_that_the_parent_has_opened(self):
        """A forked worker says what to do. A spawned one opens it anew."""
        rows = Rows(self.config)
        rows.loader = leat.Loader(self.config, "torch")
        with self.assertRaisesRegex(leat.ForkedError, "open another one here"):
            self.passes(1, rows=rows, num_workers=1, multiprocessing_context="fork")
        self.check_once(self.passes(1, rows=rows, num_workers=1, multiprocessing_context="spawn")[0])
        self.check_once([x for batch in rows.loader for x in batch["x"][:, 0].tolist()])


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
