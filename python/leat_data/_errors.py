# SPDX-License-Identifier: MIT
"""Exceptions of leat_data, with the place of the mistake as fields."""


class Error(RuntimeError):
    """What failed, where, and what to do.

    code    name of the code, such as "LEAT_E_DEVICE"
    file    config or data file, or None
    line, column    in a config, from 1, or None
    path    place in a config, such as "pipeline[1].map[0].resize", or None
    record  number in the source, or None
    op      name of the op that failed, or None
    """

    code = file = line = column = path = record = op = None


class ConfigError(Error, ValueError):
    """The config, or an argument, is wrong."""


class DataError(Error, ValueError):
    """A record cannot be read, parsed, decoded or mapped."""


class IoError(Error, OSError):
    """A file cannot be read or written."""

    def __str__(self):
        return str(self.args[0])


class OutOfMemoryError(Error, MemoryError):
    """No memory is left, of the machine or of a device. A too small `engine.memory` is a ConfigError."""


class ForkedError(Error):
    """The loader was opened by the process that this one was forked from: open one here."""


_classes = {
    "LEAT_E_CONFIG": ConfigError,
    "LEAT_E_ARGUMENT": ConfigError,
    "LEAT_E_DATA": DataError,
    "LEAT_E_IO": IoError,
    "LEAT_E_NOMEM": OutOfMemoryError,
    "LEAT_E_FORKED": ForkedError,
}


def make(number, code, message, line, column, path, record, op):
    """The exception of an error; _leat calls it, and sets `file`."""
    error = _classes.get(code, Error)(message)
    error.code = code
    error.line = line or None
    error.column = column or None
    error.path = path or None
    error.record = record if record >= 0 and number < 0 else None
    error.op = op or None
    return error
