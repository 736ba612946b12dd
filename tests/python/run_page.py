# SPDX-License-Identifier: MIT
"""Runs the blocks of Python of a page, one after another, in this folder. A block behind "Save this as `NAME`" becomes
that file; a line that is indented and begins with torchrun is run. Exit code 77: not run, and it says what is missing.
Usage: run_page.py PAGE COMMAND"""

import ast
import importlib.util
import os
import re
import subprocess
import sys

page, command = sys.argv[1:]
with open(page, encoding="utf-8") as f:
    text = f.read()
block = r"(?:Save this as `([^`]+)`[^\n]*\n\n)?```python\n(.*?)```"
parts = re.findall(block + r"|^    (torchrun [^\n]*)", text, re.S | re.M)
assert parts, "the page has no code"
imports = [node for _, code, _ in parts for node in ast.walk(ast.parse(code))
           if isinstance(node, (ast.Import, ast.ImportFrom))]
for module in sorted({name.split(".")[0] for node in imports for name in
                      ([node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])}):
    if not importlib.util.find_spec(module):
        print(f"SKIPPED: Python has no {module}, which {os.path.basename(page)} needs")
        sys.exit(77)
# On a busy machine the threads of a framework wait for each other.
os.environ.update(OMP_NUM_THREADS="1", TF_CPP_MIN_LOG_LEVEL="3")
os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
try:
    import torch

    torch.manual_seed(1)
    torch.set_num_threads(1)
except ImportError:
    pass
if not os.path.isdir("shapes"):
    subprocess.run([command, "synth", "shapes", "--n", "2000", "--size", "32", "--quiet"], check=True)
names = {"__name__": "page"}
for file, code, line in parts:
    if line:
        subprocess.run(line, shell=True, check=True)
    elif file:
        with open(file, "w", encoding="utf-8") as f:
            f.write(code)
    else:
        exec(compile("\n" * text[:text.index(code)].count("\n") + code, page, "exec"), names)
if "right" in names:
    right = 100 * names["right"] / names["n"]
    print(f"{os.path.basename(page)}: {right:.0f} % of the training set in the last epoch")
    assert right > 30, "the loop of the page learns nothing (10 % is chance)"
if "d" in names:
    print(names["d"])
    wanted = ("input-bound", "environment")  # at any load any answer may be right
    assert names["d"].verdict in wanted or not os.environ.get("LEAT_TEST_TIMES"), names["d"]
