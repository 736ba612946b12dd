# SPDX-License-Identifier: MIT
"""leat for Python: batches of stored images and records, as tensors of PyTorch, NumPy or JAX, without a copy.

    import leat_data as leat

    loader = leat.Loader("train.yaml", to="torch")
    for epoch in range(9):
        for batch in loader:
            step(batch["image"], batch["label"])

docs/how-to/use-from-python.md is the guide.
"""

import _thread
import atexit as _atexit
import os as _os
import time as _time
import weakref as _weakref

from . import _leat
from ._leat import Batch
from ._errors import ConfigError, DataError, Error, ForkedError, IoError, OutOfMemoryError

__version__ = _leat.version
__all__ = [
    "Batch", "Builder", "Change", "ConfigError", "DataError", "Diagnosis", "Error", "ForkedError", "IoError", "Loader",
    "OutOfMemoryError", "doctor", "from_arrays", "watch",
]

_LATE = {"Change": "_doctor", "Diagnosis": "_doctor", "doctor": "_doctor", "watch": "_watch"}


def __getattr__(name):
    """What few programs need is imported when it is used."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    globals()[name] = getattr(importlib.import_module("." + _LATE[name], __name__), name)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *__all__})


# Keys of a state, and what numbers they are, as struct has them.
_STATE = {"version": "I", "plan_digest": "Q", "n_records": "Q", "seed": "Q", "batch_size": "q", "n_batches": "q",
          "next_batch": "q", "checksum": "Q"}


def _converter(to, device):
    """What makes a tensor, and of what: the words of _leat.Loader.begin()."""
    if to == "numpy":
        import numpy

        return "array", numpy.ndarray
    if to == "torch":
        import torch

        # Of an object torch.from_dlpack() asks for a device and a stream, which memory of the host has not.
        return ("object", torch.from_dlpack) if device else ("capsule", getattr(torch._C, "_from_dlpack", torch.from_dlpack))
    if to == "jax":
        import jax.numpy

        return "object", jax.numpy.from_dlpack
    return "tensor", None


class _Mapped:
    """A loader whose batches go through a function."""

    def __init__(self, loader, fn):
        self._loader, self._fn = loader, fn

    def __iter__(self):
        return map(self._call, iter(self._loader))

    def _call(self, batch):
        try:
            return self._fn(batch)
        except StopIteration as stop:  # it would end the loop, as if the data had ended
            raise RuntimeError("the function of map() raised StopIteration") from stop

    def __len__(self):
        return len(self._loader)

    def map(self, fn):
        return _Mapped(self, fn)

    def _through(self, batch):
        """What the functions make of a batch of the loader."""
        return self._call(self._loader._through(batch) if isinstance(self._loader, _Mapped) else batch)

    def _below(self):
        return self._loader._below() if isinstance(self._loader, _Mapped) else self._loader

    def as_tuples(self, *names):
        """A loader of tuples of these tensors, as Keras takes them, without rows that `on_error: mask` has masked: where
        all rows of a batch are, they have length 0. Functions of map() before it keep order and number of
        rows, or leave out just the masked ones."""
        if not names:
            raise TypeError("as_tuples() needs the names of tensors")
        loader, through = (self._below(), self._through) if isinstance(self, _Mapped) else (self, None)

        def tuple_of(batch):
            valid = getattr(batch, "valid", None)  # as it came: what a function makes of the batch may have none
            values = through(batch) if through else batch
            return tuple(values[name] if valid is None else _valid_rows(values[name], valid) for name in names)

        return _Mapped(loader, tuple_of)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._loader, name)


def _valid_rows(value, valid):
    if not hasattr(valid, "__getitem__"):
        raise TypeError("as_tuples() leaves out masked rows, which takes to='numpy', 'torch' or 'jax'")
    if not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
        return value  # a number, say
    keep = valid == 1
    if len(value) == int(keep.sum()):  # a function of map() has left them out
        return value
    if len(value) != len(keep):
        raise ValueError("as_tuples() cannot leave out masked rows: a function of map() changed the number of rows")
    return [v for v, k in zip(value, keep) if k] if isinstance(value, list) else value[keep]


_open_loaders = _weakref.WeakSet()
_abandoned = []  # a lock for each thread of _apart() for which nobody waits; it is held until the thread is done
_os.register_at_fork(after_in_child=_abandoned.clear)


@_atexit.register
def _close_all():
    """Before the interpreter ends the threads that are in a loader. What hangs in opening one may do so for a second."""
    until = _time.monotonic() + 1
    for end in _abandoned:
        end.acquire(timeout=max(0, until - _time.monotonic()))
    for core in list(_open_loaders):
        core.close(True)


def _apart(fn, *args):
    """fn(*args, gone) in a thread of its own: this one handles signals while files are listed and memory is prepared. `gone` is
    a list, and no longer empty once an exception has ended this wait; what fn makes is then let go at once."""
    gone, out, end = [], [], _thread.allocate_lock()

    def work():
        try:
            out.append((fn(*args, gone), None))
        except BaseException as error:
            out.append((None, error))
        if gone:
            out.clear()
        end.release()

    end.acquire()
    try:
        try:
            _thread.start_new_thread(work, ())
        except RuntimeError:  # no more threads, or the interpreter ends
            work()
        while not end.acquire(timeout=0.05):  # a signal that comes just before Python waits does not end the wait
            pass
    except BaseException:
        gone.append(True)
        out.clear()
        _abandoned[:] = [*filter(_thread.LockType.locked, _abandoned), end]
        raise
    made, error = out.pop()
    try:
        if error is not None:
            raise error
        return made
    finally:
        del error  # it knows this frame


class Loader:
    """Delivers the batches of a config, pass after pass.

    config    path of a YAML file, or a dict with the same keys
    to        "torch", "numpy" or "jax": what the tensors of a batch are; None: objects with DLPack
    device    "cuda:0", …: batches are made in pinned memory, copied to this GPU while it computes, and tensors are there,
              in the order of your stream. Maps with `device: gpu` run on it. None or "cpu": host memory
    set       settings by path, such as {"pipeline.batch.size": 256}, as --set of the command: text is YAML;
              {"pipeline.cache-": None} takes an entry away, {"pipeline.batch+": "cache"} adds one before another
    section   "eval" or "whiten": the part of the config with `source` and `pipeline` of its own that is meant
    hold      batches that you may keep without a copy; those beyond are copied (stats()["n_copied"])
    rank, ranks    this process's part of the rows of every batch

    A `for` loop over it is one pass; the next one is the next epoch, and prefetching does not stop in between. Breaking
    out of a loop ends its epoch, and so does beginning another one. Threads may share an iterator. After fork() it
    belongs to the parent; a pickled one (not of arrays) is opened anew where it is unpickled, at the same position. A
    subclass's attributes go along, as of any class of Python; its __getstate__ may take some out of the dict that comes
    first in super()'s.
    """

    def __init__(self, config, to=None, *, device=None, set=None, section=None, hold=3, rank=None, ranks=None):
        self._setup(to, device, hold)
        if isinstance(config, dict):
            path, text = None, _yaml(config)
        else:
            path, text = _os.fsencode(config), None
        pairs = [_assignment(key, value) for key, value in (set or {}).items()]
        pairs += [(f"{key}={_setting(value)}",) for key, value in _part(rank, ranks).items()]
        self._recipe = (path, text, "<dict>", section, pairs, None, None, 0, None, hold, self._device)
        self._open()

    def _setup(self, to, device, hold):
        if to not in ("torch", "numpy", "jax", None):
            raise ConfigError(f"to={to!r}: it is 'torch', 'numpy', 'jax' or None")
        device = None if device is None or str(device) == "cpu" else str(device)
        if device and device.partition(":")[0] != "cuda":
            raise ConfigError(f"device={device!r}: it is 'cuda', 'cuda:1' and so on, 'cpu' or None")
        if device and to == "numpy":
            raise ConfigError(f"to='numpy' and device={device!r}: NumPy has no arrays in a GPU's memory")
        self._to, self._device, self._hold = to, device, hold
        self._kept = None  # the last state that was given
        self._form = _converter(to, device)

    def _open(self):
        self._core = self._apart(lambda gone: _leat.Loader(*self._recipe))
        _open_loaders.add(self._core)
        self._plan = self._core.plan

    def _apart(self, fn, *args):
        return fn(*args, []) if self._device else _apart(fn, *args)  # on a GPU calls make it this thread's

    def __iter__(self):
        kept, self._kept = self._kept, None
        left = kept if kept and kept == self._core.state() else None
        batches = self._core.begin(*self._form, None) or self._apart(self._core.begin, *self._form)
        if left and left != self._core.state():
            import sys
            import warnings

            level, frame = 2, sys._getframe(1)
            while frame and frame.f_code.co_filename == __file__:  # map(), as_tuples()
                level, frame = level + 1, frame.f_back
            warnings.warn("state_dict() was asked within an epoch that this loop leaves out: a run that continues from that "
                          "state would do the rest of it first. For epochs of n batches write .take(n) after the batch",
                          stacklevel=level)
        return batches

    def __len__(self):
        """Batches of one pass."""
        if self._plan["n_batches"] < 0:
            raise TypeError("the pipeline has no end")
        return self._plan["n_batches"]

    @property
    def plan(self):
        """Counts, sizes and notes of the pipeline; tensors: (name, dtype, shape of a sample); classes: names of those of the
        source; tensor_classes: by tensor."""
        return dict(self._plan)

    def map(self, fn):
        """A loader whose batches go through fn, in the thread that takes them."""
        return _Mapped(self, fn)

    as_tuples = _Mapped.as_tuples

    def state_dict(self):
        """The position as whole numbers: the next batch is the first that was not taken, also after a loop that was left
        by `break`: a loop that continues there does the rest of that epoch, where the next one here begins another."""
        self._kept = self._core.state()
        return dict(zip(_STATE, self._kept))

    def load_state_dict(self, state):
        """Continues at a position; the next loop is the rest of its epoch. The state must be of the same data,
        pipeline and seed."""
        import struct

        for key, kind in _STATE.items():
            try:
                struct.pack(kind, state[key])
            except (KeyError, TypeError, struct.error):
                raise ConfigError(f"the state has no {key!r}, or it is not a number as state_dict() gives it") from None
        self._apart(self._core.resume, tuple(state[key].__index__() for key in _STATE))
        self._kept = None

    def set_epoch(self, epoch):
        """The next loop is this epoch, counted from 0, or the rest of it after a state within it. A loop over all epochs
        needs no call; one that begins at another epoch does, and some frameworks make it."""
        self._apart(self._core.set_epoch, epoch)

    def stats(self):
        """What the loader did so far, in all its loops: counts, times, and its stages."""
        return self._core.stats()

    def errors(self):
        """The first 64 records that were masked or replaced (on_error)."""
        return self._core.errors()

    def trace(self, path):
        """Writes what the threads did lately, for ui.perfetto.dev."""
        self._core.trace(_os.fspath(path))

    def close(self):
        """Ends the threads. Batches and tensors stay valid; threads that wait for a batch get an error."""
        self._core.close(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getstate__(self):
        if self._recipe[5] is not None:
            raise TypeError("a loader of arrays cannot be pickled: make it in the other process")
        own = {name: value for name, value in self.__dict__.items() if name not in ("_core", "_plan", "_form")}
        return own, dict(zip(_STATE, self._core.state()))

    def __setstate__(self, saved):
        own, state = saved
        self.__dict__.update(own)
        self._form = _converter(self._to, self._device)
        self._open()
        Loader.load_state_dict(self, state)  # that of a subclass may want more


def _yaml(value):
    """JSON is YAML, but for pairs of surrogates, and for characters that end lines or may not stand there."""
    import json  # half of the time of importing this package, where it is not needed
    import re

    return re.sub("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]", lambda c: f"\\u{ord(c[0]):04x}",
                  json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value):
    """Of NumPy's numbers and arrays, and of paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, _os.PathLike):
        return _os.fsdecode(value)
    if callable(value):
        raise TypeError(f"{value!r} is no op of a pipeline: `leat ops` lists them. A function of Python takes whole batches: "
                        ".batch(…).loader(…).map(function)")
    raise TypeError(f"{value!r} is no value of a config")


def _text(value):
    return None if value is None else _yaml(value)


def _part(rank, ranks):
    """Those that were given: the other one may be in the config."""
    return {key: value for key, value in {"rank": rank, "ranks": ranks}.items() if value is not None}


def _setting(value):
    """Text is YAML, as with --set; blanks alone, such as a tab, are themselves."""
    return value if isinstance(value, str) and (value.strip() or not value) else _yaml(value)


def _assignment(key, value):
    """As --set has it: a path that ends in "-" has no value."""
    return f"{key}" if value is None and f"{key}".endswith("-") else f"{key}={_setting(value)}"


class Builder:
    """A pipeline, stage by stage. Its methods are the stages of a config, with tf.data's names: shuffle, repeat, take, skip,
    batch, map, prefetch, … As there, each gives a new pipeline, and the one before stays as it is, to branch from.
    leat.from_arrays(), leat.from_images(), leat.from_tfrecord() and the like begin one."""

    def __init__(self, arrays, seed, engine, source):
        """engine, source, and the options of stages are text: what the caller changes later is not part of it."""
        self._arrays, self._seed, self._engine, self._source = arrays, seed, engine, source
        self._stages = []

    def _add(self, name, value, options, first):
        out = Builder(self._arrays, self._seed, self._engine, self._source)
        out._stages = [*self._stages, (name, _text(_given(name, value, options, first)))]
        return out

    @property
    def config(self):
        """The same as a dict, as Loader takes it and as a YAML file has it; of arrays without their source."""
        import json

        out = {"source": json.loads(self._source)} if self._source else {}
        if self._engine:
            out["engine"] = json.loads(self._engine)
        if self._seed:
            out["seed"] = self._seed
        out["pipeline"] = [name if given is None else {name: json.loads(given)} for name, given in self._stages]
        return out

    def loader(self, to=None, *, device=None, hold=3, rank=None, ranks=None):
        """Opens the loader; its words are those of leat.Loader. Do not change arrays while it lives: those that are not in
        C order, aligned and in this machine's byte order are copied here, for this loader, and others are not."""
        if self._source:
            return Loader(self.config, to, device=device, hold=hold, rank=rank, ranks=ranks)
        engine = self._engine
        if part := _part(rank, ranks):
            engine = _yaml({**self.config.get("engine", {}), **part})
        out = Loader.__new__(Loader)
        out._setup(to, device, hold)
        arrays = [(name, array.dtype.name, array.shape[1:], _in_order(array)) for name, array in self._arrays]
        out._recipe = (None, None, None, None, [], arrays, self._stages, self._seed, engine, hold, out._device)
        out._open()
        return out


def _document(function, name, help, options):
    rows = "\n".join(f"    {option} ({kind}; {'required' if initial is None else f'default {initial}'}): {text}"
                     for option, kind, initial, text in options)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{help}\n\n{rows}\n" if rows else help
    return function


def _given(name, value, options, first):
    """The value of a stage or source: alone, or as its first option beside the others."""
    if value is None or not options:
        return options or value
    if first in options or first == "seed" or isinstance(value, dict):
        raise ConfigError(f"{name}: {value!r} stands beside options with names: give all of them names")
    return {first: value, **options}


def _stage_method(name, help, options):
    first = options[0][0] if options else None

    def method(self, value=None, **given):
        return self._add(name, value, given, first)

    return _document(method, name, help, options)


def _source_function(name, help, options):
    first = options[0][0]

    def function(value=None, *, seed=0, engine=None, **given):
        return Builder(None, seed, _text(engine), _yaml({name: _given(name, value, given, first)}))

    return _document(function, f"from_{name}", help, options)


for _name, _help, _options in _leat.kinds("stage"):
    setattr(Builder, _name, _stage_method(_name, _help, _options))
for _name, _help, _options in _leat.kinds("source"):
    globals()[f"from_{_name}"] = _source_function(_name, _help, _options)
    __all__.append(f"from_{_name}")


def _in_order(array):
    import numpy

    return numpy.require(array, array.dtype.newbyteorder("="), ("C", "A"))


def from_arrays(arrays, *, seed=0, engine=None):
    """A pipeline over NumPy arrays of equal length, by name: row i of each is record i.

        from_arrays({"x": x, "y": y}).shuffle(seed=1).batch(32).prefetch(2).loader(to="torch")
    """
    import numpy

    if not hasattr(arrays, "items"):
        raise ConfigError("arrays have names: give a dict, such as from_arrays({'x': x, 'y': y})")
    rows = []
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise ConfigError(f"the name of an array is text, not {name!r}")
        if numpy.ndim(array) == 0:
            raise ConfigError(f"array {name!r} has no rows")
        if isinstance(array, numpy.ma.MaskedArray):
            raise ConfigError(f"array {name!r} is masked: give array.filled(VALUE), and the mask as an array of its own")
        rows.append((name, numpy.asarray(array)))
    return Builder(rows, seed, _text(engine), None)
