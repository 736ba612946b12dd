# SPDX-License-Identifier: MIT
"""Runs the blocks of Python of a page, one after another, in a folder of their own. Usage: run_page.py PAGE COMMAND"""

import os
import re
import subprocess
import sys
import tempfile

page, command = sys.argv[1:]
with open(page, encoding="utf-8") as f:
    blocks = re.findall(r"```python\n(.*?)```", f.read(), re.S)
assert len(blocks) >= 3, "the page has no code"
try:
    import torch
except ImportError:
    print("SKIPPED: Python has no torch, which the page needs")
    sys.exit(77)
torch.manual_seed(1)
torch.set_num_threads(1)  # on a busy machine its threads wait for each other
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([command, "synth", "shapes", "--n", "2000", "--size", "32", "--quiet"], check=True)
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    if "right" in names:
        assert len(names["loader"]) == 31
        right = 100 * names["right"] / names["n"]
        print(f"{right:.0f} % of the training set in the last epoch")
        assert right > 30, "the loop of the page learns nothing (10 % is chance)"
    if "d" in names:
        print(names["d"])
        assert names["d"].verdict in ("input-bound", "environment"), names["d"]
    os.chdir("/")
