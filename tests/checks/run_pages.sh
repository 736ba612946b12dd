#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run_pages.sh: follows pages of docs/ as a reader would, one after another in one folder. A block of YAML
# behind "Save this as `NAME`" becomes that file, and every command of leat in an indented line must succeed.
# It stands in for NumPy where a page begins with arrays: x.npy and y.npy exist.
# Usage: run_pages.sh LEAT PAGE...
set -eu
leat=$(realpath "$1")
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/build"
ln -s "$leat" "$tmp/build/leat"

npy() { # FILE TYPE SHAPE BYTES: an array of zeros, format version 1.0 with a header of 128 bytes
    printf "\223NUMPY\001\000\166\000%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" >"$1"
    head -c "$4" /dev/zero >>"$1"
}
npy "$tmp/x.npy" '<f4' '1000, 100' 400000
npy "$tmp/y.npy" '<i8' '1000,' 8000

for page in "$@"; do
    page=$(realpath "$page")
    (
        cd "$tmp"
        # "file NAME" after writing it, "run COMMAND"; a line ending in \ goes on in the next one.
        awk '
            /^```yaml$/ && name != "" { on = 1; printf "" >name; next }
            /^```$/ { if (on) { close(name); print "file " name } on = 0; name = ""; next }
            on { print >name; next }
            /[Ss]ave this as `/ { name = $0; sub(/.*[Ss]ave this as `/, "", name); sub(/`.*/, "", name); next }
            /^    build\/leat / || more { sub(/^ +/, ""); more = sub(/\\$/, ""); command = command $0
                                          if (!more) { print "run " command; command = "" } }
        ' "$page" >steps
        n=0
        while read -r kind what; do
            n=$((n + 1))
            [ "$kind" = run ] || continue
            if ! sh -c "$what" >said 2>&1 </dev/null; then
                if grep 'this CPU has no bfloat16' said; then
                    continue
                fi
                echo "$page: this command fails: $what"
                cat said
                exit 1
            fi
        done <steps
        [ "$n" -gt 0 ] || { echo "$page: nothing to follow"; exit 1; }
        echo "$page: $n files and commands work"
    )
done
