#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_dist.sh: the archive of tools/dev/dist runs from a folder of any name, and takes nothing from the
# system but libc. Usage: check_dist.sh ARCHIVE
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/a folder"
tar -C "$tmp/a folder" -xzf "$1"
cd "$tmp/a folder"/leat-*

env -i bin/leat --version
env -i bin/leat devices
outside=$(ldd bin/leat* lib/lib*.so lib/libdnnl.so.* | sed -n 's/^\t\(.*\) => \(.*\) (0x.*/\1 \2/p' | sort -u |
    grep -vF " $PWD/" | grep -v '^lib\(c\|m\|dl\|rt\|pthread\)\.so\.' || :)
if [ -n "$outside" ]; then
    echo "the archive takes from the system:"
    echo "$outside"
    exit 1
fi

# What a machine with a GPU can check is there, and says why where it cannot be run.
if [ -x bin/leat-gpu-check ]; then
    LEAT_GPU_JSON=$tmp/gpu.json sh bin/gpu_check >"$tmp/gpu.txt"
    grep -Eq '^[0-9]+ passed, 0 failed, [0-9]+ not run$' "$tmp/gpu.txt"
    [ -s "$tmp/gpu.json" ]
fi
[ -f share/doc/leat/docs/config.md ] && [ -f share/doc/leat/examples/demo.yaml ]
[ -f share/doc/leat/LICENSE ] && [ -d share/doc/leat/licences ]
