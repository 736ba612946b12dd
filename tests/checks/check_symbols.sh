#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_symbols.sh: the shared library exports what include/leat declares LEAT_API, no more, no less.
# Usage: check_symbols.sh CC LIBRARY INCLUDE_FOLDER
set -eu
cc=$1 library=$2 include=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The name of a declaration is the word before its first '(' or '['.
echo '#include "leat/leat.h"' | $cc -E -P -I "$include" - | tr '\n' ' ' | tr ';{}' '\n\n\n' |
    sed -n 's/.*__attribute__((visibility("default")))//p' |
    sed 's/[[(].*//; s/ *$//; s/.*[ *]//' | sort -u >"$tmp/declared"
nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >"$tmp/exported"

if [ ! -s "$tmp/declared" ]; then
    echo "no declarations found in $include"
    exit 1
fi
bad=0
for name in $(comm -23 "$tmp/declared" "$tmp/exported"); do
    echo "$name: declared LEAT_API, but the library does not have it"
    bad=1
done
for name in $(comm -13 "$tmp/declared" "$tmp/exported"); do
    echo "$name: exported, but not declared LEAT_API in a public header"
    bad=1
done
[ $bad = 0 ] && echo "$(wc -l <"$tmp/exported") symbols, all of them declared"
exit $bad
