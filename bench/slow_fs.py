#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mounts a folder again, slower: every read takes some ms, and all reads share a bandwidth. For trying slow storage.

    slow_fs.py FOLDER MOUNT MS MB_PER_S [direct]     until it is unmounted; needs root and /dev/fuse, no package

direct: FUSE's direct_io, so that the page cache keeps nothing, as network file systems often do. One thread that
speaks the kernel's protocol (linux/fuse.h) answers each read when its time has come, so it uses little of a core."""

import ctypes
import errno
import heapq
import os
import select
import stat
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH = 1, 2, 3, 14, 15, 17, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 28, 29, 36, 42
MOST = 1 << 20  # bytes of a read
FLAGS = 1 | 1 << 15 | 1 << 22  # reads at a time, also direct ones; as many pages as INIT says
VALID_S = 3600


class Slow:
    def __init__(self, root, device, ms, mb_per_s, direct):
        self.device, self.latency, self.bandwidth, self.direct = device, ms / 1e3, mb_per_s * 1e6, direct
        self.paths, self.nodes, self.files = {1: root}, {root: 1}, {}
        self.free = 0.0  # when the line of all reads is
        self.due = []  # heap of (time, unique, file, offset, size)

    def reply(self, unique, data=b"", error=0):
        try:
            os.write(self.device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
        except OSError as why:
            if why.errno != errno.ENOENT:  # the caller gave up
                raise

    def attr(self, path):
        s = os.stat(path)
        return struct.pack("<6Q10I", s.st_ino, s.st_size, s.st_blocks, int(s.st_atime), int(s.st_mtime), int(s.st_ctime),
                           0, 0, 0, s.st_mode, s.st_nlink, s.st_uid, s.st_gid, 0, 4096, 0)

    def entries(self, path, offset, size):
        data = b""
        for i, name in enumerate([".", "..", *sorted(os.listdir(path))]):
            word = name.encode()
            one = struct.pack("<QQII", 1, i + 1, len(word), 0) + word + bytes(-len(word) % 8)
            if i >= offset and len(data) + len(one) <= size:
                data += one
        return data

    def answer(self, op, unique, node, body):
        path = self.paths.get(node)
        if op == INIT:
            return struct.pack("<4I2H2I2H2I24x", 7, 31, MOST, struct.unpack_from("<I", body, 12)[0] & FLAGS, 256, 192,
                               MOST, 1, MOST // 4096, 0, 0, 0)
        if op == LOOKUP:
            child = os.path.join(path, body[:-1].decode())
            attr = self.attr(child)
            child_node = self.nodes.setdefault(child, len(self.nodes) + 1)
            self.paths[child_node] = child
            return struct.pack("<4Q2I", child_node, 0, VALID_S, VALID_S, 0, 0) + attr
        if op == GETATTR:
            return struct.pack("<QII", VALID_S, 0, 0) + self.attr(path)
        if op in (OPEN, OPENDIR):
            fh = os.open(path, os.O_RDONLY)
            return struct.pack("<QII", fh, self.direct if op == OPEN else 0, 0)
        if op == READDIR:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.entries(path, offset, size)
        if op in (RELEASE, RELEASEDIR):
            os.close(struct.unpack_from("<Q", body)[0])
            return b""
        if op == FLUSH:
            return b""
        if op == STATFS:
            return struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
        raise OSError(errno.ENOSYS, "")

    def plan(self, unique, body):
        """The next read has the line after this one."""
        fh, offset, size = struct.unpack_from("<QQI", body)
        now = time.monotonic()
        self.free = max(now, self.free) + min(size, max(0, os.fstat(fh).st_size - offset)) / self.bandwidth
        heapq.heappush(self.due, (self.latency + self.free, unique, fh, offset, size))

    def serve(self):
        poll = select.poll()
        poll.register(self.device, select.POLLIN)
        while True:
            wait = max(0.0, self.due[0][0] - time.monotonic()) if self.due else None
            ready = poll.poll(None if wait is None else 1e3 * wait)
            while self.due and self.due[0][0] <= time.monotonic():
                _, unique, fh, offset, size = heapq.heappop(self.due)
                self.reply(unique, os.pread(fh, size, offset))
            if not ready:
                continue
            try:
                request = os.read(self.device, MOST + 65536)
            except OSError as why:
                if why.errno == errno.ENODEV:  # unmounted
                    return
                if why.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    continue
                raise
            _, op, unique, node = struct.unpack_from("<IIQQ", request)
            if op == READ:
                self.plan(unique, request[40:])
            elif op not in (FORGET, BATCH_FORGET, INTERRUPT):
                try:
                    self.reply(unique, self.answer(op, unique, node, request[40:]))
                except OSError as why:
                    self.reply(unique, error=why.errno or errno.EIO)


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    folder, mount, ms, rate = sys.argv[1:5]
    device = os.open("/dev/fuse", os.O_RDWR)
    how = f"fd={device},rootmode={stat.S_IFDIR:o},user_id=0,group_id=0,allow_other,max_read={MOST}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"slow_fs", mount.encode(), b"fuse", 1 | 2 | 4, how.encode()):  # read-only, nosuid, nodev
        sys.exit(f"slow_fs.py: mount: {os.strerror(ctypes.get_errno())}")
    Slow(os.path.abspath(folder), device, float(ms), float(rate), int(len(sys.argv) == 6)).serve()


main()
