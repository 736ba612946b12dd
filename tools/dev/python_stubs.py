# SPDX-License-Identifier: MIT
"""Prints leat_data/__init__.pyi: the types of the package, those of stages and sources from leat's option tables.

    python tools/dev/python_stubs.py > python/leat_data/__init__.pyi      with the built package on PYTHONPATH
tests/checks/check_python_package.sh compares them."""

from leat_data import _leat

HEAD = '''# SPDX-License-Identifier: MIT
# Written by tools/dev/python_stubs.py: change that, and the docstrings of the package.
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ._doctor import Change as Change, Diagnosis as Diagnosis, doctor as doctor
from ._errors import (
    ConfigError as ConfigError, DataError as DataError, Error as Error, ForkedError as ForkedError,
    IoError as IoError, OutOfMemoryError as OutOfMemoryError)
from ._watch import watch as watch

__version__: str
_To = Literal["torch", "numpy", "jax"] | None
_Any = list[Any] | dict[str, Any] | str

class Batch(dict[str, Any]):
    @property
    def info(self) -> dict[str, int | bool]: ...
    @property
    def number(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def valid(self) -> Any: ...

class _Loader:
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def map(self, fn: Callable[[Any], Any]) -> _Loader: ...
    def as_tuples(self, *names: str) -> _Loader: ...
    @property
    def plan(self) -> dict[str, Any]: ...
    def state_dict(self) -> dict[str, int]: ...
    def load_state_dict(self, state: Mapping[str, int]) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def errors(self) -> list[dict[str, Any]]: ...
    def trace(self, path: str | os.PathLike[str]) -> None: ...
    def close(self) -> None: ...

class Loader(_Loader):
    def __init__(
        self, config: str | os.PathLike[str] | dict[str, Any], to: _To = None, *, set: Mapping[str, Any] | None = None,
        section: str | None = None, hold: int = 3, rank: int | None = None, ranks: int | None = None) -> None: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def __enter__(self) -> Loader: ...
    def __exit__(self, *_: object) -> None: ...

class Builder:
    @property
    def config(self) -> dict[str, Any]: ...
    def loader(self, to: _To = None, *, hold: int = 3) -> Loader: ...'''

TAIL = '''
def from_arrays(arrays: Mapping[str, Any], *, seed: int = 0, engine: dict[str, Any] | None = None) -> Builder: ...'''

NAMES = {"int64": "int", "float": "float", "bool": "bool", "string": "str", "bytes": "int | str",
         "list or mapping": "_Any"}


def type_of(text):
    """The type of Python for one of leat's, such as "int64 or auto" or "one of: auto, cpu"."""
    if text.startswith("one of: "):
        words = text.removeprefix("one of: ").split(", ")
        named = "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"
        return named + " | bool" if {"true", "false"} <= set(words) else named
    if text in NAMES:
        return NAMES[text]
    if text.startswith("list of "):
        one = NAMES[text.removeprefix("list of ")]
        return f"Sequence[{one}] | {one}"
    kind, _, words = text.partition(" or ")
    return f"{NAMES[kind]} | Literal[{', '.join(repr(word) for word in words.split(', '))}]".replace("'", '"')


def options_of(options):
    return "".join(f", {name}: {type_of(kind)} = ..." for name, kind, _, _ in options)


def main():
    print(HEAD)
    for name, _, options in _leat.kinds("stage"):
        print(f"    def {name}(self, value: Any = None{', *' if options else ''}{options_of(options)}) -> Builder: ...")
    print(TAIL)
    for name, _, options in _leat.kinds("source"):
        print(f"def from_{name}(value: Any = None, *, seed: int = 0, engine: dict[str, Any] | None = None"
              f"{options_of([o for o in options if o[0] not in ('seed', 'engine')])}) -> Builder: ...")


main()
