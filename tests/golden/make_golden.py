#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the golden files of this folder with TensorFlow itself: NAME.tfrecord and, in golden.json,
what a reader must find in them. Run by hand when a case is added:

    python3 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu
    /tmp/tf/bin/python tests/golden/make_golden.py

golden.json: files -> name -> records; a record has its size in bytes and its features in the order
of their names, each with name, kind and values: bytes in hex, int64 as they are, float as the
number that its 32 bits make.
"""

import json
import os
import struct

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))


def feature(kind, values):
    if kind == "bytes":
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if kind == "float":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if kind == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature()


def picture(seed, height, width, channels):
    y, x = np.mgrid[0:height, 0:width]
    planes = [(x * (3 + c) + y * (5 - c) + 31 * seed) % 256 for c in range(channels)]
    return np.stack(planes, axis=-1).astype(np.uint8)


def image_record(seed, height, width, channels, label, text):
    jpeg = tf.io.encode_jpeg(picture(seed, height, width, channels), quality=90).numpy()
    return [
        ("image/encoded", "bytes", [jpeg]),
        ("image/format", "bytes", [b"jpeg"]),
        ("image/class/label", "int64", [label]),
        ("image/class/text", "bytes", [text.encode()]),
        ("image/height", "int64", [height]),
        ("image/width", "int64", [width]),
        ("image/filename", "bytes", [f"{text}/{seed:04}.jpg".encode()]),
    ]


def cases():
    """File name -> records; a record is a list of (name, kind, values) or raw bytes."""
    big = 1 << 62
    yield "kinds", [
        [("b", "bytes", [b"one"]), ("f", "float", [0.5]), ("i", "int64", [7])],
        [("b", "bytes", []), ("f", "float", []), ("i", "int64", [])],
        [
            ("b", "bytes", [b"", b"\x00\xff\x00", b"x" * 300]),
            ("f", "float", [0.0, -0.0, 1e-45, 3.4e38, float("inf"), float("-inf"), 0.1]),
            ("i", "int64", [0, 1, -1, 127, 128, 16384, big, -big, 2**63 - 1, -(2**63)]),
        ],
        [("none", "none", [])],
    ]
    yield "names", [
        [
            ("größe", "int64", [1]),
            ("画像/エンコード", "bytes", ["日本語".encode()]),
            ("🐈", "float", [2.0]),
            ("", "int64", [3]),
            ("with space\tand\ttab", "int64", [4]),
            ("n" * 200, "int64", [5]),
        ]
    ]
    yield "images", [
        image_record(0, 8, 8, 3, 0, "cat"),
        image_record(1, 17, 5, 3, 1, "dog"),
        image_record(2, 1, 1, 1, 2, "ñandú"),
        image_record(3, 32, 24, 1, 0, "cat"),
    ]
    yield "empty_records", [b"", [], b""]
    yield "no_records", []
    yield "large", [
        [("values", "int64", list(range(-700, 700))), ("zeros", "bytes", [bytes(9000)])],
        [("values", "float", [i / 7 for i in range(1500)])],
    ]
    yield "many", [[("i", "int64", [i * i])] for i in range(1100)]


def serialise(record):
    if isinstance(record, bytes):
        return record
    features = {name: feature(kind, values) for name, kind, values in record}
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)


def shown(kind, value):
    if kind == "bytes":
        return value.hex()
    if kind == "float":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return value


def described(record, size):
    features = [] if isinstance(record, bytes) else sorted(record, key=lambda f: f[0].encode())
    return {
        "bytes": size,
        "features": [
            {"name": name, "kind": kind, "values": [shown(kind, v) for v in values]}
            for name, kind, values in features
        ],
    }


def main():
    files = []
    for name, records in cases():
        lines = []
        with tf.io.TFRecordWriter(os.path.join(HERE, f"{name}.tfrecord")) as writer:
            for record in records:
                payload = serialise(record)
                writer.write(payload)
                lines.append(json.dumps(described(record, len(payload)), ensure_ascii=False,
                                        separators=(",", ":")))
        files.append(f'"{name}.tfrecord":[\n' + ",\n".join(lines) + "]")
    with open(os.path.join(HERE, "golden.json"), "w", encoding="utf-8") as out:
        out.write(f'{{"tensorflow":"{tf.__version__}",\n"files":{{\n')
        out.write(",\n".join(files) + "}}\n")


if __name__ == "__main__":
    main()
