#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads TFRecord files of images with TensorFlow itself, to see that what leat wrote is TensorFlow's:

    python3 -m venv /tmp/tf && /tmp/tf/bin/pip install tensorflow-cpu
    /tmp/tf/bin/python tests/golden/check_with_tf.py data/train-*.tfrecord
    /tmp/tf/bin/python tests/golden/check_with_tf.py --images DIR data/train-*.tfrecord

Prints per file the number of records and a digest: SHA-256 over "sha256(image/encoded) label\\n" of
each record in order. With --images DIR, the folder that `leat convert images` read (one folder per
class, labels in the order of their names), all files together must hold each image of it exactly
once, byte for byte, with the label and name of its folder. With --decode TensorFlow also decodes
every image and compares its size with image/height and image/width.

Exit code: 0 all as it should be, 1 not."""

import argparse
import collections
import hashlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

SCHEMA = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/format": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/class/text": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
}


def read(path, decode):
    """Yields (sha256 of the image, label, class name) of each record."""
    for record in tf.data.TFRecordDataset(path):
        fields = tf.io.parse_single_example(record, SCHEMA)
        encoded = fields["image/encoded"].numpy()
        if decode:
            size = tuple(tf.io.decode_image(encoded).shape[:2])
            stored = (int(fields["image/height"]), int(fields["image/width"]))
            if size != stored:
                name = fields["image/filename"].numpy().decode()
                sys.exit(f"{path}: {name}: {size} decoded, but {stored} stored")
        yield (
            hashlib.sha256(encoded).hexdigest(),
            int(fields["image/class/label"]),
            fields["image/class/text"].numpy().decode(),
        )


def images_of(folder):
    """Counts (sha256 of the file, label, class name) of a folder of classes."""
    found = collections.Counter()
    classes = sorted((e.name for e in os.scandir(folder) if e.is_dir()), key=os.fsencode)
    for label, name in enumerate(classes):
        for where, _, files in os.walk(os.path.join(folder, name)):
            for file in files:
                if os.path.splitext(file)[1].lower() in (".jpg", ".jpeg", ".png"):
                    with open(os.path.join(where, file), "rb") as stream:
                        found[hashlib.sha256(stream.read()).hexdigest(), label, name] += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--images", metavar="DIR", help="compare with a folder per class")
    parser.add_argument("--decode", action="store_true", help="decode every image too")
    options = parser.parse_args()
    total = collections.Counter()
    for path in options.files:
        digest, labels, n = hashlib.sha256(), collections.Counter(), 0
        for image in read(path, options.decode):
            digest.update(f"{image[0]} {image[1]}\n".encode())
            labels[image[1]] += 1
            total[image] += 1
            n += 1
        by_label = " ".join(f"{k}:{v}" for k, v in sorted(labels.items()))
        print(f"{path}: {n} records, digest {digest.hexdigest()}, labels {by_label}")
    if not options.images:
        return 0
    expected = images_of(options.images)
    missing, extra = expected - total, total - expected
    for what, images in (("missing", missing), ("not in the folder", extra)):
        for image, count in sorted(images.items())[:10]:
            print(f"{what}: {count} of sha256 {image[0]} label {image[1]} ({image[2]})")
    print(
        f"{sum(total.values())} records, {sum(expected.values())} images in {options.images}: "
        + (f"{sum(missing.values())} missing, {sum(extra.values())} not in the folder"
           if missing or extra else "the same bytes and labels")
    )
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main())
