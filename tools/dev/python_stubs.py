# SPDX-License-Identifier: MIT
"""Prints a stub with what is between its marks made anew from leat's option tables: the types of stages and sources.

    python tools/dev/python_stubs.py python/leat_data/__init__.pyi      with the built package on PYTHONPATH
tests/checks/check_python_package.sh compares the two."""

import sys

from leat_data import _leat

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


def written(which):
    """The lines between the marks of a list."""
    for name, _, options in _leat.kinds(which):
        if which == "stage":
            yield (f"    def {name}(self, value: Any = None{', *' if options else ''}{options_of(options)}) "
                   "-> Builder: ...\n")
        else:
            yield (f"def from_{name}(value: Any = None, *, seed: int = 0, engine: dict[str, Any] | None = None"
                   f"{options_of([o for o in options if o[0] not in ('seed', 'engine')])}) -> Builder: ...\n")


def main():
    inside = False
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            if line.strip() == "# end":
                inside = False
            if not inside:
                print(line, end="")
            if line.strip().startswith("# written: "):
                inside = True
                print("".join(written(line.split()[-1])), end="")


main()
