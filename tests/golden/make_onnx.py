#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes model.onnx, which tests/formats/test_onnx.c writes too, byte for byte, with ONNX's own helpers; has its
checker look at it, runs it with onnxruntime, and compares with the same sums in numpy. Needs the packages onnx,
onnxruntime and numpy. Run by hand when a case is added: python3 tests/golden/make_onnx.py
With --check it writes nothing and looks at the file that is there; exit code 77: a package is missing."""
import os
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"SKIPPED: {missing}; install the packages onnx, onnxruntime and numpy to run this check")
    sys.exit(77)

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx")


def values(*shape):
    """Numbers that float32 holds exactly."""
    n = int(np.prod(shape))
    return ((np.arange(n) * 37 % 101 - 50) / 64).astype(np.float32).reshape(shape)


WEIGHTS = {"conv.weight": values(4, 3, 3, 3), "conv.bias": values(4), "dense.weight": values(10, 4),
           "dense.bias": values(10),
           "scale": np.array([1, 2, 0.5, 1, -1, 1, 1, 4, 1, 1], np.float32)}


def tensor(name, array):
    return helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.tobytes(), raw=True)


def make():
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["conv.y"], "conv", group=1,
                         pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("LeakyRelu", ["conv.y"], ["relu.y"], "relu", alpha=0.125),
        helper.make_node("GlobalAveragePool", ["relu.y"], ["pool.y"], "pool"),
        helper.make_node("Flatten", ["pool.y"], ["flatten.y"], "flatten"),
        helper.make_node("Gemm", ["flatten.y", "dense.weight", "dense.bias"], ["dense.y"], "dense", transB=1),
        helper.make_node("Mul", ["dense.y", "scale"], ["y"], "mul"),
    ]
    graph = helper.make_graph(nodes, "graph", [value("x", TensorProto.FLOAT, ["batch", 3, 8, 8])],
                              [value("y", TensorProto.FLOAT, ["batch", 10])],
                              [tensor(*item) for item in WEIGHTS.items()])
    model = helper.make_model(graph, producer_name="leat", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    model.producer_version = "1.2.3"
    return model


def expected(x):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = [[(padded[:, None, :, 2 * i:2 * i + 3, 2 * j:2 * j + 3] * WEIGHTS["conv.weight"]).sum((2, 3, 4))
             for j in range(4)] for i in range(4)]
    y = np.array(rows).transpose(2, 3, 0, 1) + WEIGHTS["conv.bias"][:, None, None]
    y = np.where(y > 0, y, 0.125 * y).mean((2, 3))
    return (y @ WEIGHTS["dense.weight"].T + WEIGHTS["dense.bias"]) * WEIGHTS["scale"]


def check(path):
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for n in (1, 5):
        x = np.random.default_rng(n).standard_normal((n, 3, 8, 8)).astype(np.float32)
        difference = np.abs(session.run(None, {"x": x})[0] - expected(x)).max()
        assert difference < 1e-5, difference
    print(f"{path}: the checker and onnxruntime {onnxruntime.__version__} agree")


if sys.argv[1:] == ["--check"]:
    with open(PATH, "rb") as there:
        assert onnx.load_model_from_string(there.read()) == make(), "model.onnx is not what this script makes"
else:
    with open(PATH, "wb") as to:
        to.write(make().SerializeToString(deterministic=True))
check(PATH)
