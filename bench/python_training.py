#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One training in PyTorch, the CNN of examples/cifar10.yaml on JPEG files, fed by leat, by DataLoader and by tf.data.

    PYTHONPATH=... python3 bench/python_training.py cifar10/train cifar10/test --epochs 3 --turns 3

The folders have a sub-folder per class. Model, optimiser, batch (128) and augmentation (pad by 4, crop, flip,
normalise) are the same in all arms; each arm is a process of its own, and the arms take turns. All have two threads or
workers. TensorFlow does not start beside PyTorch's package triton, which the CPU needs not: uninstall it.

    leat         leat.Loader over the folder
    DataLoader   ImageFolder with torchvision.io.decode_image and transforms.v2, two persistent workers
    tf.data      read_file, decode_jpeg, tf.image; batches become tensors of PyTorch by DLPack
    step alone   the steps on one batch that is kept: no loader can be faster

Prints, as medians over the turns: samples/s from the second epoch on, seconds of the first epoch with all that it
starts, and the share of right answers on the test folder, which leat reads for all arms."""

import argparse
import json
import statistics
import time

import take_turns

MEAN, STD = [0.491, 0.482, 0.447], [0.247, 0.243, 0.262]
BATCH, THREADS = 128, 2


def leat_loader(folder, ops, to="torch", layout="channels_first", **batch):
    import leat_data as leat

    ops = ["decode_jpeg", *ops, {"normalize": {"mean": MEAN, "std": STD, "layout": layout}}]
    built = leat.from_images(folder, seed=1, engine={"threads": THREADS})
    if "drop_remainder" in batch:
        built = built.shuffle()
    return built.map(ops).batch(**batch).prefetch(2).loader(to=to).as_tuples("image", "label")


def open_leat(folder):
    return leat_loader(folder, [{"random_crop": {"size": [32, 32], "pad": 4}}, "random_flip"], size=BATCH,
                       drop_remainder=True)


def open_torch(folder):
    import torch
    from torchvision import datasets
    from torchvision.io import decode_image
    from torchvision.transforms import v2

    data = datasets.ImageFolder(folder, loader=decode_image, transform=v2.Compose([
        v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD)]))
    return torch.utils.data.DataLoader(data, BATCH, shuffle=True, drop_last=True, num_workers=THREADS,
                                       persistent_workers=True)


def tf_data(folder, layout):
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    files = tf.keras.utils.image_dataset_from_directory(folder, image_size=(32, 32), batch_size=None, shuffle=False)
    labels = [i for i, name in enumerate(files.class_names) for path in files.file_paths if f"/{name}/" in path]

    def prepare(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.random_crop(tf.pad(image, [[4, 4], [4, 4], [0, 0]]), [32, 32, 3])
        image = tf.cast(tf.image.random_flip_left_right(image), tf.float32)
        return tf.transpose((image / 255 - MEAN) / STD, layout), label

    data = tf.data.Dataset.from_tensor_slices((files.file_paths, labels)).shuffle(len(labels))
    return data.map(prepare, num_parallel_calls=THREADS).batch(BATCH, drop_remainder=True).prefetch(2)


def open_tf(folder):
    import tensorflow as tf
    import torch

    data = tf_data(folder, layout=[2, 0, 1])

    class Batches:
        def __iter__(self):
            for image, label in data:
                yield (torch.from_dlpack(tf.experimental.dlpack.to_dlpack(image)),
                       torch.from_dlpack(tf.experimental.dlpack.to_dlpack(label)).long())

    return Batches()


def open_kept(folder):
    batch = [t.clone() for t in next(iter(open_leat(folder)))]
    return [batch] * 100


OPEN = {"leat": open_leat, "DataLoader": open_torch, "tf.data": open_tf, "step alone": open_kept}


def make_model():
    import torch
    from torch import nn

    torch.manual_seed(1)
    layers, before = [], 3
    for n in (32, 64, 128):
        layers += [nn.Conv2d(before, n, 3, padding=1, bias=False), nn.BatchNorm2d(n), nn.ReLU(), nn.MaxPool2d(2)]
        before = n
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 4 * 4, 10))


def right_share(model, folder):
    import torch

    model.eval()
    right = n = 0
    with torch.no_grad():
        for image, label in leat_loader(folder, [{"center_crop": {"size": [32, 32]}}], size=250):
            right += (model(image).argmax(1) == label).sum().item()
            n += len(label)
    return right / n


def train(arm, train_folder, test_folder, epochs):
    import torch

    start = time.monotonic()
    loader = OPEN[arm](train_folder)
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    samples, ends = 0, []
    for epoch in range(epochs):
        for image, label in loader:
            loss = torch.nn.functional.cross_entropy(model(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            samples += len(label) if epoch else 0
        ends.append(time.monotonic())
    return {"samples_per_s": samples / (ends[-1] - ends[0]), "first_epoch_s": ends[0] - start,
            "accuracy": None if arm == "step alone" else right_share(model, test_folder)}


def main(description, script, arms, train):
    """A benchmark of these arms; train(arm, train folder, test folder, epochs) measures one."""
    arms = list(arms)
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--arms", nargs="+", choices=arms, default=arms)
    parser.add_argument("--one", choices=arms, help=argparse.SUPPRESS)  # a process of one arm
    given = parser.parse_args()
    if given.one:
        print(json.dumps(train(given.one, given.train, given.test, given.epochs)))
        return
    words = [given.train, given.test, "--epochs", str(given.epochs)]
    got = take_turns.run(given.arms, given.turns, script, words)
    print("\n| arm | samples/s | lowest to highest | of the step alone | first epoch, s | right |")
    print("| --- | --- | --- | --- | --- | --- |")
    for arm, runs in got.items():
        if runs:
            right = "" if arm == "step alone" else f"{100 * statistics.median(r['accuracy'] for r in runs):.1f} %"
            columns = take_turns.rates(runs, got.get("step alone", []), "samples_per_s")
            print(f"| {arm} | {columns} | {statistics.median(r['first_epoch_s'] for r in runs):.1f} | {right} |")


if __name__ == "__main__":
    main(__doc__, __file__, OPEN, train)
