#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same work by tf.data and by leat, alternating in one go: TFRecord -> decode -> crop -> flip ->
normalise -> batch, with a consumer that does nothing.

    python3 bench/tf_data.py --leat build/leat --files 'data/cifar10-train-*.tfrecord' --kind pad
    python3 bench/tf_data.py --leat build/leat --files 'data/photos-*.tfrecord' --kind resized

kind pad:     32 x 32 images, padded by 4 and cropped (random_crop), batch 128
kind resized: random_resized_crop to 224, batch 16. tf.data decodes only the crop's rows and columns
              (tf.image.decode_and_crop_jpeg), its best way, and resizes bilinear without antialias,
              which is less work than leat's antialiased resize.

tf.data's private pool and parallel calls are --threads, as engine.threads is; both read from the page
cache. A process is bound to as many cores as it has threads: TensorFlow has threads beside those of its pool, and
unbound they use the other cores. Prints samples/s (medians) and leat's ratio to tf.data (median of the ratios of
each turn)."""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
}
MEAN = [255 * x for x in (0.485, 0.456, 0.406)]  # no tf.constant: it would start TensorFlow's threads
STD = [255 * x for x in (0.229, 0.224, 0.225)]
BATCH = {"pad": 128, "resized": 16}


def pad_and_crop(encoded):
    image = tf.io.decode_jpeg(encoded, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.pad(image, [[4, 4], [4, 4], [0, 0]])
    return tf.image.random_crop(image, [32, 32, 3])


def resized_crop(encoded):
    shape = tf.io.extract_jpeg_shape(encoded)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([1, 0, 4]), area_range=[0.08, 1.0], aspect_ratio_range=[0.75, 4 / 3],
        max_attempts=10, use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.io.decode_and_crop_jpeg(encoded, window, channels=3,
                                       dct_method="INTEGER_ACCURATE")
    return tf.image.resize(image, [224, 224])


def dataset(files, kind, threads):
    crop = pad_and_crop if kind == "pad" else resized_crop

    def sample(record):
        parsed = tf.io.parse_single_example(record, FEATURES)
        image = tf.image.random_flip_left_right(crop(parsed["image/encoded"]))
        return (tf.cast(image, tf.float32) - MEAN) / STD, parsed["image/class/label"]

    data = tf.data.TFRecordDataset(files).shuffle(4096).repeat()
    data = data.map(sample, num_parallel_calls=threads, deterministic=True)
    data = data.batch(BATCH[kind], drop_remainder=True).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1
    return data.with_options(options)


def run_tf(iterator, kind, seconds):
    n, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        next(iterator)
        n += BATCH[kind]
    return n / (time.perf_counter() - start)


CONFIG = """\
source: {tfrecord: '%s'}
pipeline:
  - shuffle
  - map:
      ops: [decode_jpeg, %s, random_flip,
            normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}]
  - batch: {size: %d, drop_remainder: true}
  - prefetch: 2
"""


def run_leat(leat, config, threads):
    out = subprocess.run([leat, "bench", config, "--threads", str(threads), "-q", "--json"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["samples_per_s"]


def measure(o, config):
    threads = o.threads[0]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # before TensorFlow's first thread
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    iterator = iter(dataset(sorted(glob.glob(o.files)), o.kind, threads))
    run_tf(iterator, o.kind, 2)  # warm
    tf_rates, leat_rates = [], []
    for _ in range(o.repeats):
        tf_rates.append(run_tf(iterator, o.kind, 2))
        leat_rates.append(run_leat(o.leat, config, threads))
    ratio = statistics.median(l / t for l, t in zip(leat_rates, tf_rates))
    print(f"{o.kind}, {threads} threads: tf.data {statistics.median(tf_rates):,.0f}/s, "
          f"leat {statistics.median(leat_rates):,.0f}/s, ratio {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leat", required=True)
    parser.add_argument("--files", required=True)
    parser.add_argument("--kind", choices=BATCH, required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    o = parser.parse_args()
    if len(o.threads) > 1:  # a process each: threads of TensorFlow stay where they began
        for threads in o.threads:
            subprocess.run([sys.executable, __file__, "--leat", o.leat, "--files", o.files, "--kind", o.kind,
                            "--repeats", str(o.repeats), "--threads", str(threads)], check=True)
        return
    op = "{random_crop: {size: 32, pad: 4}}" if o.kind == "pad" else "{random_resized_crop: 224}"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(CONFIG % (o.files, op, BATCH[o.kind]))
        config.flush()
        measure(o, config.name)


if __name__ == "__main__":
    main()
