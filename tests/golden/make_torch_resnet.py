# SPDX-License-Identifier: MIT
"""PyTorch's logits of torchvision's ResNet-18 and ResNet-50 with weights that are a function of their place,
so that a test can make the same weights without a file of 45 MB. Prints tests/golden/torch_resnet.inc.
Weight k of a tensor (in PyTorch's order, counted from 0) is value(k + hash of its name) below.
Usage: make_torch_resnet.py > tests/golden/torch_resnet.inc (needs torch and torchvision)"""
import numpy
import torch
import torchvision

ROWS, SIZE, CLASSES = 2, 64, 10


def values(name, n):
    """n numbers in [-1, 1): a 32-bit mix of the place and of the name's FNV-1a hash."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 & 0xFFFFFFFF
    x = (numpy.arange(n, dtype=numpy.uint64) * 2654435761 + seed) & 0xFFFFFFFF
    x = (x ^ (x >> 16)) * 0x45D9F3B & 0xFFFFFFFF
    x = x ^ (x >> 16)
    return (x.astype(numpy.float64) / 2**31 - 1).astype(numpy.float32)


def fill(model):
    for name, tensor in model.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        v = torch.from_numpy(values(name, tensor.numel())).reshape(tensor.shape)
        if tensor.dim() > 1:
            v *= (3 / tensor[0].numel()) ** 0.5
        elif name.endswith("running_var") or (name.endswith("weight")):
            v = 1 + v / 4
        else:
            v = v / 4
        tensor.copy_(v)


print("/* Made by make_torch_resnet.py. */")
for name in ("resnet18", "resnet50"):
    model = getattr(torchvision.models, name)(num_classes=CLASSES)
    fill(model)
    model.eval()
    x = torch.from_numpy(values("input", ROWS * SIZE * SIZE * 3)).reshape(ROWS, SIZE, SIZE, 3)
    with torch.no_grad():
        y = model(x.permute(0, 3, 1, 2).contiguous()).flatten().tolist()
    print(f"static const float {name}_logits[] = {{")
    for i in range(0, len(y), 5):
        print("    " + " ".join(f"{v:.9g}f," for v in y[i : i + 5]))
    print("};")
