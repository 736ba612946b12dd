#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_plugin.sh: the CUDA plugin needs nothing but libc, so that it opens on a machine without CUDA,
# and exports the two functions that libleat looks up and the one that a watched program calls.
# Usage: check_plugin.sh LIBRARY
set -eu
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so\.6$' \
    -e '^ld-linux-x86-64\.so\.2$' -e '^ld-linux-aarch64\.so\.1$' || :)
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sort | tr '\n' ' ')
bad=0
if [ -n "$needed" ]; then
    echo "$1 needs more than libc:" $needed
    bad=1
fi
if [ "$exported" != "InitializeInjection leat_cuda_abi leat_cuda_device_table " ]; then
    echo "$1 exports: $exported"
    bad=1
fi
exit $bad
