#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One training in PyTorch on a GPU, from a folder of JPEG files with a sub-folder per class, fed by leat and by DataLoader.

    PYTHONPATH=... python3 bench/torch_gpu_training.py images --model resnet18 --workers 16 --turns 3

random_resized_crop to 224 x 224, flip, normalize; batches of 256, bfloat16 by autocast, channels_last, SGD. Each arm is a
process of its own, and the arms take turns:

    leat         leat.Loader on the GPU, its threads as many as the workers
    leat bytes   the same, but the pixels are normalised on the GPU, so a quarter of the bytes is copied
    leat host    its batches are in host memory, and the loop copies them into pinned memory and to the GPU
    DataLoader   ImageFolder with torchvision.io.decode_image and transforms.v2, persistent workers, pinned memory
    step alone   the steps on one batch that stays on the GPU: no loader can be faster

Prints medians over the turns, from the second epoch on: images/s, that share of the step alone, and how long the loop waited
for next(), in which `leat host` also copies the batch into pinned memory."""

import argparse
import json
import os
import statistics
import time

import take_turns

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BATCH = 256
ARMS = ["leat", "leat bytes", "leat host", "DataLoader", "step alone"]


def open_leat(folder, workers, device="cuda:0", bytes_alone=False):
    import leat_data as leat

    built = leat.from_images(folder, seed=1, engine={"threads": workers}).shuffle()
    ops = ["decode_jpeg", {"random_resized_crop": {"size": [224, 224]}}, "random_flip"]
    built = built.map(ops=ops, tensor="image", device="cpu")
    built = built.map(ops=[{"normalize": {"mean": MEAN, "std": STD}}], tensor="image", device="gpu" if bytes_alone else "cpu")
    loader = built.batch(size=BATCH, drop_remainder=True).prefetch(3).loader(to="torch", device=device)

    class Batches:
        def __iter__(self):
            for batch in loader:  # the rows are height, width, channels: this view of them is channels_last
                image, label = batch["image"].permute(0, 3, 1, 2), batch["label"]
                yield (image, label) if device else (image.pin_memory(), label.pin_memory())

    return Batches()


def open_torch(folder, workers):
    import torch
    from torchvision import datasets
    from torchvision.io import ImageReadMode, decode_image
    from torchvision.transforms import v2

    data = datasets.ImageFolder(folder, loader=lambda path: decode_image(path, ImageReadMode.RGB), transform=v2.Compose([
        v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD)]))
    return torch.utils.data.DataLoader(data, BATCH, shuffle=True, drop_last=True, num_workers=workers, pin_memory=True,
                                       persistent_workers=True, prefetch_factor=4)


def open_arm(arm, folder, workers):
    if arm == "DataLoader":
        return open_torch(folder, workers)
    if arm == "step alone":
        image, label = next(iter(open_leat(folder, workers)))
        return [(image.cuda(), label.cuda())] * 40
    return open_leat(folder, workers, None if arm == "leat host" else "cuda:0", arm == "leat bytes")


def train(arm, folder, model_name, workers, epochs):
    import torch
    import torchvision

    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    start = time.monotonic()
    loader = open_arm(arm, folder, workers)
    model = getattr(torchvision.models, model_name)(num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True)
    samples, waited, ends = 0, 0.0, []
    for epoch in range(epochs):
        asked = time.monotonic()
        for image, label in loader:
            waited += time.monotonic() - asked if epoch else 0
            image, label = image.cuda(non_blocking=True), label.cuda(non_blocking=True).long()
            image = image.contiguous(memory_format=torch.channels_last)
            with torch.autocast("cuda", torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(image), label)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            samples += len(label) if epoch else 0
            asked = time.monotonic()
        torch.cuda.synchronize()
        ends.append(time.monotonic())
    seconds = ends[-1] - ends[0]
    return {"images_per_s": samples / seconds, "wait_share": waited / seconds, "first_epoch_s": ends[0] - start,
            "loss": loss.item(), "gpu": torch.cuda.get_device_name()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    parser.add_argument("--json", help="write every run into this file")
    parser.add_argument("--one", choices=ARMS, help=argparse.SUPPRESS)  # a process of one arm
    given = parser.parse_args()
    if given.one:
        print(json.dumps(train(given.one, given.folder, given.model, given.workers, given.epochs)))
        return
    words = [given.folder, "--epochs", str(given.epochs), "--model", given.model, "--workers", str(given.workers)]
    got = take_turns.run(given.arms, given.turns, __file__, words, given.json)
    print(f"\n{given.model}, {given.workers} workers")
    print("| arm | images/s | lowest to highest | of the step alone | waiting for next() |")
    print("| --- | --- | --- | --- | --- |")
    for arm, runs in got.items():
        if runs:
            wait = statistics.median(r["wait_share"] for r in runs)
            columns = take_turns.rates(runs, got.get("step alone", []), "images_per_s")
            print(f"| {arm} | {columns} | {100 * wait:.1f} % |")


if __name__ == "__main__":
    main()
