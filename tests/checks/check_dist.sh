#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_dist.sh: the archive of tools/dev/dist runs and trains from a folder of any name, and takes nothing from the
# system but libc. Usage: check_dist.sh ARCHIVE
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/a folder"
tar -C "$tmp/a folder" -xzf "$1"
cd "$tmp/a folder"/leat-*

env -i bin/leat --version
env -i bin/leat devices
# It trains, with what is opened only then. Every library that is loaded comes from the archive.
env -i bin/leat synth "$tmp/s" --n 20 --size 8 --classes 2 -q >/dev/null
cat >"$tmp/c.yaml" <<END
source: {images: $tmp/s}
pipeline: [{map: [decode_jpeg, {resize: [8, 8]}, {cast: float32}]}, {batch: 10}]
train: {epochs: 1, model: [flatten, {dense: {units: 2}}], loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 1e-9}}}
END
env -i LD_DEBUG=libs LD_DEBUG_OUTPUT="$tmp/loaded" bin/leat train "$tmp/c.yaml" -q >/dev/null
grep -q "calling init: $PWD/.*/libdnnl.so" "$tmp"/loaded.* || { echo "the archive does not train with its own oneDNN"; exit 1; }
outside=$({
    sed -n 's/.*calling init: \(.*\)/\1/p' "$tmp"/loaded.* | sed 's/.*\/\([^/]*\)$/\1 &/'
    ldd bin/leat* lib/lib*.so | sed -n 's/^\t\(.*\) => \(.*\) (0x.*/\1 \2/p'
} | sort -u | grep -vF " $PWD/" | grep -v '^\(lib\(c\|m\|dl\|rt\|pthread\)\.so\.\|ld-linux\)' || :)
if [ -n "$outside" ]; then
    echo "the archive takes from the system:"
    echo "$outside"
    exit 1
fi

# What a machine with a GPU can check is there, and says why where it cannot be run.
if [ -x bin/leat-gpu-check ]; then
    sh bin/gpu_check --out "$tmp/gpu" >"$tmp/gpu.txt"
    grep -Eq '^[0-9]+ passed, 0 failed, [0-9]+ not run$' "$tmp/gpu.txt"
    [ -s "$tmp/gpu/tests.json" ]
fi
[ -f share/doc/leat/docs/config.md ] && [ -f share/doc/leat/examples/demo.yaml ]
[ -f share/doc/leat/LICENSE ] && [ -d share/doc/leat/licences ]
