# SPDX-License-Identifier: MIT
"""Runs the ONNX files of test_export_onnx with onnxruntime and compares the outputs with ours.
Usage: check_onnx_models.py FOLDER. Exit code 77: not run, and it says why."""
import pathlib
import sys

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"SKIPPED: {error.name} is not installed")
    sys.exit(77)

files = sorted(pathlib.Path(sys.argv[1]).glob("*.onnx"))
if not files:
    sys.exit("no files: run test_export_onnx first")
worst = 0
for path in files:
    onnx.checker.check_model(onnx.load(path), full_check=True)
    data = path.with_suffix(".bin").read_bytes()
    rows, n_in, n_out = numpy.frombuffer(data, "<i8", 3)
    values = numpy.frombuffer(data, "<f4", offset=24)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    x = values[: rows * n_in].reshape([rows] + shape[1:])
    wanted = values[rows * n_in :].reshape(rows, n_out)
    got = session.run(["output"], {"input": x})[0]
    error = float(numpy.max(numpy.abs(got - wanted) / numpy.maximum(1, numpy.abs(wanted))))
    print(f"{path.stem}: {error:.2g}")
    worst = max(worst, error)
    if got.shape != wanted.shape or not error < 1e-4:
        sys.exit(f"{path.stem}: onnxruntime's outputs are others")
print(f"{len(files)} models, largest difference {worst:.2g}")
