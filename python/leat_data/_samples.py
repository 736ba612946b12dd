# SPDX-License-Identifier: MIT
"""How many samples a batch of any loader has, for leat.doctor().

DESIGN. A number that is wrong would not be seen, so there are three ways to count, and one is taken where it is clear: all arrays
begin with the same dimension (`leading`); or the batch is a list of samples (`list`), or of lists of their parts (`lists`), as
detection has them. Images in a list speak against the first, since [3, H, W] begins with channels. Where a DataLoader says its
batch size, the way that gives this number for the first batch is right.
"""

from collections.abc import Mapping as _Mapping


def _shape(x):
    """Of an array of one dimension or more, else None."""
    shape = getattr(x, "shape", None)
    return tuple(shape) if shape is not None and len(shape) else None


def _is_list(x):
    return isinstance(x, (list, tuple)) and len(x) > 0


def _shapes(x):
    """Of all arrays in x; a list of texts or numbers is one of them."""
    if _shape(x):
        return [_shape(x)]
    if isinstance(x, _Mapping):
        return [shape for value in x.values() for shape in _shapes(value)]
    if not _is_list(x):
        return []
    if not any(_shape(v) or _is_list(v) or isinstance(v, _Mapping) for v in x):
        return [(len(x),)]
    return [shape for value in x for shape in _shapes(value)]


def _images(x):
    """The shapes of the images, if x seems to be a list of samples with one each; else none."""
    firsts = [(_shapes(v) or [()])[0] for v in x] if _is_list(x) and len(x) > 1 else []
    return firsts if all(len(f) == 3 and (f[0] in (1, 3, 4) or f[2] in (1, 3, 4)) for f in firsts) else []


class Samples:
    """Counts the samples of batches, in the same way for all of them.

    size    samples of a whole batch, where the loader says it
    known   False: some batch could mean several numbers, or none. Each counts as one, and no number of samples is told"""

    def __init__(self, size=None):
        self.size, self.way, self.known = size, None, True

    def __call__(self, batch):
        if hasattr(batch, "rows"):
            return max(1, batch.rows)
        leading = {shape[0] for shape in _shapes(batch)}
        parts = list(batch.values()) if isinstance(batch, _Mapping) else batch if _is_list(batch) else []
        lengths = {len(part) if _is_list(part) else 0 for part in parts}
        counts = {"leading": int(leading.pop()) if len(leading) == 1 else None,
                  "list": len(batch) if _is_list(batch) else None,  # of samples
                  "lists": lengths.pop() or None if len(lengths) == 1 else None}  # of a part of each sample
        if self.way is None:
            self.way = self._choose(counts, batch, parts)
        n = counts.get(self.way)
        self.known = self.known and n is not None
        return max(1, n or 0)

    def _choose(self, counts, batch, parts):
        images, way = _images(batch), "list"
        if not images:
            images, way = next(filter(None, map(_images, parts)), []), "lists"
        for one in (way, "list", "lists", "leading") if images else ("leading", "list", "lists"):
            if self.size and counts[one] == self.size:
                return one
        if not images:
            return "leading"
        fits = not self.size or counts[way] < self.size
        return way if fits and (counts["leading"] is None or len(set(images)) > 1) else ""


def size_of(loader):
    """Samples of a whole batch of a DataLoader; None: it does not say."""
    size = getattr(loader, "batch_size", None) or getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return size if isinstance(size, int) else None
