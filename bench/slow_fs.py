#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mounts a folder again, slower: every read takes some ms, and all reads share a bandwidth. For trying slow storage.

    slow_fs.py FOLDER MOUNT MS MB_PER_S [direct]     until it is unmounted; needs root, libfuse2 and the package fusepy

direct: FUSE's direct_io, so that the page cache keeps nothing, as network file systems often do."""

import os
import sys
import threading
import time

from fuse import FUSE, Operations

STAT = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")


class Slow(Operations):
    def __init__(self, root, ms, mb_per_s):
        self.root, self.latency, self.bandwidth = root, ms / 1e3, mb_per_s * 1e6
        self.line, self.free = threading.Lock(), 0.0

    def getattr(self, path, fh=None):
        status = os.stat(self.root + path)
        return {key: getattr(status, key) for key in STAT}

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self.root + path)]

    def open(self, path, flags):
        return os.open(self.root + path, os.O_RDONLY)

    def read(self, path, size, offset, fh):
        with self.line:  # the next read has the line after this one
            now = time.monotonic()
            self.free = max(now, self.free) + size / self.bandwidth
            wait = self.free - now
        time.sleep(self.latency + max(0.0, wait))
        return os.pread(fh, size, offset)

    def release(self, path, fh):
        os.close(fh)


if len(sys.argv) not in (5, 6):
    sys.exit(__doc__)
folder, mount, ms, rate = sys.argv[1:5]
FUSE(Slow(os.path.abspath(folder), float(ms), float(rate)), mount, foreground=True, ro=True,
     direct_io=len(sys.argv) == 6)
