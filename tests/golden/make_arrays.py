#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/arrays/: files of NumPy, IDX, CIFAR and CSV with known values, which
tests/pipeline/source/test_row_files.c and test_source_csv.c read. Needs numpy (written with 2.x).

Value k of an array is 37 k mod 101, less 50 for signed types; floats have 0.25 more."""
import csv
import gzip
import os
import struct

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "arrays")
ROWS, ROW = 7, (3, 2)


def values(dtype, shape):
    dtype = np.dtype(dtype)
    n = int(np.prod(shape))
    k = (np.arange(n) * 37) % 101
    if dtype.kind in "if":
        k = k - 50
    if dtype.kind == "f":
        k = k + 0.25
    if dtype.kind == "b":
        k = k % 2
    return k.reshape(shape).astype(dtype)


def save(name, array):
    np.save(os.path.join(HERE, name), array)


def numpy_files():
    for dtype in ("u1", "i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4", "<i8", ">i8", "<f4", ">f4",
                  "<f8", ">f8", "?"):
        order = {"<": "le_", ">": "be_"}.get(dtype[0], "")
        name = order + dtype.strip("<>").replace("?", "b1")
        save(name + ".npy", values(dtype, (ROWS,) + ROW))
    save("labels.npy", values("u1", (ROWS,)))
    save("wide_labels.npy", values("<i4", (ROWS,)))
    fortran = np.asfortranarray(values("<f4", (ROWS,) + ROW))
    save("fortran.npy", fortran)
    save("fortran_vector.npy", np.asfortranarray(values("<f4", (ROWS,))))  # one dimension: no matter
    save("struct.npy", np.zeros(ROWS, dtype=[("a", "<f4"), ("b", "<i4")]))
    save("object.npy", np.array([{}, None], dtype=object))
    save("text.npy", np.array(["a", "bc"]))
    save("complex.npy", np.zeros(ROWS, "<c8"))
    save("half.npy", np.zeros(ROWS, "<f2"))
    save("dates.npy", np.zeros(ROWS, "<M8[D]"))
    save("scalar.npy", np.float32(1))
    save("no_values.npy", np.zeros((ROWS, 0), "<f4"))
    with open(os.path.join(HERE, "version2.npy"), "wb") as out:
        np.lib.format.write_array(out, values("<f4", (ROWS,) + ROW), version=(2, 0))
    with open(os.path.join(HERE, "version3.npy"), "wb") as out:
        np.lib.format.write_array(out, values("<f4", (ROWS,) + ROW), version=(3, 0))
    arrays = {"x": values("<f4", (ROWS,) + ROW), "pixels": values("u1", (ROWS, 4, 3, 3)),
              "label": values("u1", (ROWS,)), "other": values("<f4", (ROWS + 1, 2))}
    np.savez(os.path.join(HERE, "stored.npz"), **arrays)
    np.savez_compressed(os.path.join(HERE, "deflated.npz"), **arrays)
    del arrays["other"]
    np.savez(os.path.join(HERE, "equal.npz"), **arrays)


def idx(name, code, array):
    big = array.astype(array.dtype.newbyteorder(">"))
    data = struct.pack(">HBB", 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + big.tobytes()
    with open(os.path.join(HERE, name), "wb") as out:
        out.write(data)
    with open(os.path.join(HERE, name + ".gz"), "wb") as out:
        out.write(gzip.compress(data, mtime=0))


def idx_files():
    idx("images-idx3-ubyte", 0x08, values("u1", (ROWS, 5, 4)))
    idx("labels-idx1-ubyte", 0x08, values("u1", (ROWS,)) % 10)
    for code, dtype in ((0x09, "i1"), (0x0B, "i2"), (0x0C, "i4"), (0x0D, "f4"), (0x0E, "f8")):
        idx(f"{dtype}-idx3", code, values(dtype, (ROWS, 3, 2)))


def cifar_files():
    pixels = values("u1", (3, 3, 32, 32))  # record, channel, row, column
    with open(os.path.join(HERE, "cifar10.bin"), "wb") as out:
        for i in range(3):
            out.write(bytes([i * 4]) + pixels[i].tobytes())
    with open(os.path.join(HERE, "cifar100.bin"), "wb") as out:
        for i in range(3):
            out.write(bytes([i * 9, i * 49]) + pixels[i].tobytes())


def csv_file():
    """Six columns: two numbers, a text with delimiters and line ends, a kind, a count, which may be missing."""
    rows = []
    for i in range(ROWS):
        rows.append([i + 0.5, -i * 3, f'note {i}, "quoted"\nand a second line', ["ant", "bee", "cat, big"][i % 3],
                     "" if i == 2 else "NA" if i == 3 else i * 10, i])
    for name, end in (("table.csv", "\n"), ("table_crlf.csv", "\r\n")):
        with open(os.path.join(HERE, name), "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out, lineterminator=end)
            writer.writerow(["width", "height", "note", "kind", "count", "id"])
            writer.writerows(rows)
    with open(os.path.join(HERE, "table.tsv"), "w", newline="", encoding="utf-8-sig") as out:
        csv.writer(out, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    numpy_files()
    idx_files()
    cifar_files()
    csv_file()
