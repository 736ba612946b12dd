/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "leat/verdict.h"

#define VERDICT_WORD(id, name, code, part, tone, words, meaning, when) { name, "verdict: " when },

#define CAUSE_WORD(id, name, adds, meaning, when) { name, "cause within a verdict: " when },
#define SHARE_WORD(id, word, text, name)                                                           \
    { word, "JSON: share of a step's time; on the screen: " text },
#define WORK_WORD(id, word, text)                                                                  \
    { word, "JSON: share of the workers' time; on the screen: " text },

const leat_help_word leat_help_words[] = {
    { "acc. %", "train: share of correct predictions in the epoch, in percent" },
    { "arm", "compare, experiment: one of the settings that take turns" },
    { "batch", "samples stacked together, the input of one step" },
    { "batches ready", "progress: finished batches that wait for the consumer" },
    { "busy",
      "the device computed: the union of its work intervals, in percent of the steady time" },
    { "bytes/s", "bench: bytes that a stage outputs per second" },
    { "ceiling",
      "the most that this machine reaches in a matrix product, or in a copy to the device" },
    { "changed during the run",
      "bench --explain: decisions that the loader changed after measuring samples and reads" },
    { "copy", "the same as exposed copy" },
    { "crossover", "the size from which on one device is faster than another, with an interval" },
    { "digest", "a 64-bit hash of all bytes of a batch, or of a plan: the same for any threads, "
                "reader and prefetch" },
    { "epoch", "one pass over the data" },
    { "exposed copy", "the device was idle, the batch was ready, and its copy to the device was "
                      "running or waiting" },
    { "first batch", "bench: time from opening the loader to its first batch" },
    { "host", "memory of a plan: pageable memory of the machine; other kinds are pinned (copies to "
              "a device overlap), device, and mapped (files, not in the total)" },
    { "idle", "of a device: 1 - busy, which is input wait + exposed copy + other; of workers: time "
              "without work" },
    { "input", "the same as input wait; in `train`, the tensor that the model reads" },
    { "input wait", "the device was idle and the next batch was not complete in host memory" },
    { "loader", "a running plan, which delivers batches" },
    { "masked", "rows of unreadable records: zeros, marked as invalid (on_error)" },
    { "on CPU", "bench: share of a stage's time in which its thread ran on a CPU" },
    { "other", "the device was idle and neither input nor copy was the reason: launching, host "
               "work, waiting for a result" },
    { "p50", "median of the times between the ends of two steps in a row" },
    { "p95", "95th percentile of the times between the ends of two steps in a row" },
    { "plan", "a checked pipeline: every size is known; `leat plan` shows it" },
    { "read-ahead", "bytes of records read before they are needed" },
    { "reads in flight", "progress: reads submitted to the kernel and not finished" },
    { "record", "the bytes of one example as stored" },
    { "replaced", "rows of unreadable records, filled with another record (on_error)" },
    { "resume", "a run can continue at any batch: `leat train --restore FILE --start-epoch N "
                "--start-batch M` (Ctrl-C prints the line); in C leat_loader_state and "
                "leat_loader_options. Batches are the same as in an uninterrupted run" },
    { "sample", "one example as tensors" },
    { "samples/s", "samples per second over the steady time; of a stage: over the measured time" },
    { "scratch", "memory of a plan: working memory of a worker for one sample" },
    { "severity", "of a verdict: how much of the time it takes: none, low, moderate, high" },
    { "slot", "memory of one batch, reused" },
    { "slots",
      "memory of a plan: memory of batches; with prefetch: auto only needed slots are allocated" },
    { "spans", "memory of a plan: records of a trace (--trace, engine.spans)" },
    { "speed-up", "compare: samples/s of an arm against the first arm, paired by rounds, with its "
                  "95 % interval" },
    { "step", "one forward and backward pass and update, with one batch" },
    { "at first", "memory of a plan: before prefetch: auto has allocated more slots" },
    { "us/sample", "bench: microseconds of worker time per sample in a stage" },
    { "verdict", "doctor, compare, train --ranks: what limits a job: " LEAT_VERDICT_NAMES
                 "each explained in docs/measuring.md" },
    LEAT_VERDICT_LIST(VERDICT_WORD) LEAT_CAUSE_LIST(CAUSE_WORD) LEAT_SHARE_LIST(SHARE_WORD)
        LEAT_WORK_LIST(WORK_WORD){
            "waited", "share of the time that the consumer spent in leat_loader_next" },
    { "worker", "a thread of the loader (engine.threads)" },
    { "worker time", "bench: share of all workers' time spent in a stage" },
    { NULL, NULL },
};

/* In the order of the lists of kinds. */
static const char *const examples[] = {
    /* sources */
    "tfrecord: data/train-*.tfrecord",
    "images: photos/train",
    "npy: {files: data.npz, features: {image: x_train, label: y_train}}",
    "csv: {files: a.csv, features: {x: [b, c], label: {columns: d, classes: [cat, dog]}}}",
    "idx: {images: train-images-idx3-ubyte.gz, labels: train-labels-idx1-ubyte.gz}",
    "cifar: data_batch_*.bin",
    "concat: [{tfrecord: a-*.tfrecord}, {tfrecord: b-*.tfrecord}]",
    "mix: {sources: [{tfrecord: a-*.tfrecord}, {tfrecord: b-*.tfrecord}], weights: [3, 1]}",
    "interleave: {sources: [{tfrecord: a-*.tfrecord}, {tfrecord: b-*.tfrecord}], block_length: 16}",
    "zip: [{tfrecord: images-*.tfrecord}, {tfrecord: masks-*.tfrecord}]",
    /* stages */
    "shuffle: {seed: 1}",
    "repeat: 3",
    "take: 1000",
    "skip: 1000",
    "shard: {count: 4, index: 0}",
    "batch: {size: 128, drop_remainder: true}",
    "prefetch: {batches: 2}",
    "map: {ops: [decode_jpeg, random_flip]}",
    "filter: {feature: image/class/label, equals: [0, 1]}",
    "cache: {file: memory, bytes: 2GiB}",
    "on_error: {policy: mask, max_errors: 100}",
    "padded_batch: {size: 32, shapes: {tokens: [512]}}",
    "bucket_by_length: {feature: tokens, boundaries: [64, 256], sizes: [64, 16]}",
    /* ops */
    "decode_raw: {dtype: float32, shape: [28, 28]}",
    "parse_csv: {columns: 4, first: 1}",
    "reshape: [28, 28, 1]",
    "resize: [224, 224]",
    "center_crop: [224, 224]",
    "random_crop: {size: [32, 32], pad: 4}",
    "random_resized_crop: {size: [224, 224], scale: [0.25, 1]}",
    "random_flip: {p: 0.5, axis: horizontal}",
    "random_rotation: {degrees: 15}",
    "random_erasing: {p: 0.25}",
    "pad: {pixels: 4, mode: reflect}",
    "random_brightness: {max_delta: 0.2}",
    "random_contrast: {lower: 0.8, upper: 1.2}",
    "random_saturation: {lower: 0.8, upper: 1.2}",
    "random_hue: {max_delta: 0.1}",
    "color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4}",
    "grayscale: {p: 0.1, channels: 3}",
    "rand_augment: {ops: 2, magnitude: 9}",
    "trivial_augment: {bins: 31}",
    "cast: float32",
    "normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}",
    "scale: {factor: 2, offset: -1}",
    "one_hot: {classes: 10, smoothing: 0.1}",
    "sleep: {ms: 5}",
    "mixup: {alpha: 0.2}",
    "cutmix: {alpha: 1, p: 0.5}",
    /* engine, train, layers, optimizers */
    "engine: {threads: 4, memory: 1GiB}",
    "train: {epochs: 10, model: [flatten, dense: 10], loss: softmax_cross_entropy}",
    "dense: {units: 10}",
    "multiply: 0.125",
    "mlp: [128, 10]",
    "resnet18: {classes: 10}",
    "resnet50: {classes: 1000}",
    "resnet9: {classes: 10}",
    "vgg11: {classes: 10}",
    "lenet: {classes: 10}",
    "add: {from: [a, b]}",
    "train/concat: {from: [a, b]}", /* a source has this name too */
    "conv2d: {filters: 32, kernel: 3, padding: same}",
    "max_pool: {size: 2}",
    "avg_pool: {size: 2}",
    "dropout: {rate: 0.5}",
    "batch_norm: {momentum: 0.9}",
    "softmax_cross_entropy: {label_smoothing: 0.1}",
    "binary_cross_entropy: {with_logits: true}",
    "sgd: {learning_rate: 0.1, momentum: 0.9}",
    "adam: {learning_rate: 1.0e-3}",
    "adamw: {learning_rate: 1.0e-3, weight_decay: 0.05}",
    "lars: {learning_rate: 5, momentum: 0.9, weight_decay: 5.0e-5}",
    "muon: {learning_rate: 0.02, momentum: 0.95}",
    "constant: {warmup: 5}",
    "step: {milestones: [30, 60, 80], factor: 0.1}",
    "cosine: {warmup: 5}",
    "linear: {end: 0.1, length: 1000, unit: steps}",
    "one_cycle: {peak: 0.3}",
    "triangular: {peak: 0.23, start: 0.2, end: 0.07}",
    "ema: {decay: 0.999, warmup: true}",
    "checkpoint: {dir: runs/first, every_minutes: 10}",
    "weights: {file: resnet18.safetensors, skip: [fc]}",
    "stop: {patience: 10, metric: accuracy}",
    "cuda: {plans: measure, plan_cache: plans}",
    "lookahead: {every: 5}",
};

const char *leat_help_example(const char *part, const char *kind)
{
    char both[96];
    const char *const words[] = { both, kind };
    snprintf(both, sizeof both, "%s/%s", part, kind);
    if (!strcmp(kind, "config"))
        return "source:\n  images: photos/train\npipeline:\n  - shuffle\n  - batch: 32\nseed: 7";
    for (int k = 0; k < 2; k++) {
        const size_t n = strlen(words[k]);
        for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
            if (!strncmp(examples[i], words[k], n) && examples[i][n] == ':')
                return examples[i] + (n - strlen(kind));
    }
    return kind;
}
