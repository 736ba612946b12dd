#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compresses files of this folder as TensorFlow's TFRecordWriter does (GZIP: zlib's own header, time 0;
ZLIB), and as other tools do. Run by hand when a case is added: python3 tests/golden/make_compressed.py

NAME.tfrecord -> NAME.HOW.tfrecord; what they decompress to is NAME.tfrecord, byte for byte.
"""

import gzip
import os
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))


def packed(data, wbits, level=-1):
    to = zlib.compressobj(level, zlib.DEFLATED, wbits)
    return to.compress(data) + to.flush()


def members(data):
    """Several gzip members, one after another, with a time and a name in their headers."""
    parts = [data[i : i + 9000] for i in range(0, len(data), 9000)]
    return b"".join(gzip.compress(part, mtime=1234567890) for part in parts)


WAYS = {
    "gzip": lambda data: packed(data, 31),
    "zlib": lambda data: packed(data, 15),
    "stored": lambda data: packed(data, 15, 0),
    "members": members,
}
CASES = {
    "images": ["gzip", "zlib"],
    "kinds": ["gzip", "zlib", "stored"],
    "no_records": ["gzip", "zlib"],
    "large": ["gzip", "stored"],
    "many": ["gzip", "members"],
}

for name, ways in CASES.items():
    with open(os.path.join(HERE, f"{name}.tfrecord"), "rb") as file:
        plain = file.read()
    for way in ways:
        with open(os.path.join(HERE, f"{name}.{way}.tfrecord"), "wb") as file:
            file.write(WAYS[way](plain))
