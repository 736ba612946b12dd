#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run_pages.sh: follows pages as a reader would, one after another in one clean folder and in one shell. A block of
# YAML behind "Save this as `NAME`" becomes that file; every indented block is run, and each of its commands must
# succeed. A block behind `<!-- not run: REASON -->` is left out and listed. The folder has the clone's examples/ and
# build/, and stands in for two things: a small set in place of that of `make demo`, and NumPy's x.npy and y.npy.
# Usage: run_pages.sh BUILD SOURCE PAGE..., the pages as paths in SOURCE
set -eu
build=$(realpath "$1") source=$(realpath "$2")
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$build" "$tmp/build"
ln -s "$source/examples" "$tmp/examples"
mkdir -p "$tmp/data/demo"

npy() { # FILE TYPE SHAPE BYTES: an array of zeros, format version 1.0 with a header of 128 bytes
    printf "\223NUMPY\001\000\166\000%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" >"$1"
    head -c "$4" /dev/zero >>"$1"
}
npy "$tmp/data/x.npy" '<f4' '1000, 100' 400000
npy "$tmp/data/y.npy" '<i8' '1000,' 8000
(
    cd "$tmp"
    build/leat synth data/demo/images --n 300 --split 0.1
    build/leat convert images data/demo/images/train -o data/demo/shapes-train --shards 4 --shuffle 1
    build/leat convert images data/demo/images/test -o data/demo/shapes-test
) >/dev/null

# One script of all pages. The file `place` says which block runs. The exit code is looked at behind every command,
# because `bash -e` goes on after `false && true`.
(cd "$source" && awk '
    function begin() { printf "echo \"%s:%d\" >place\n", page, FNR; blocks++ }
    FNR == 1 { page = FILENAME; in_block = fenced = 0; name = skip = ""; blank = 1 }
    /^<!-- not run: .+ -->$/ { skip = $0; gsub(/^<!-- not run: | -->$/, "", skip); next }
    /^```/ && !fenced {
        fenced = 1
        file = $0 == "```yaml" ? name : ""
        name = ""
        if (file != "" && skip == "") { begin(); printf "cat >%s <<\"END OF FILE\"\n", file }
        next
    }
    /^```$/ { if (file != "" && skip == "") print "END OF FILE"; fenced = 0; skip = ""; next }
    fenced { if (file != "" && skip == "") print; next }
    /^    / && (in_block || blank) {
        if (!in_block && skip == "") begin()
        if (!in_block && skip != "") printf "echo \"%s:%d: not run: %s\" >>left_out\n", page, FNR, skip
        in_block = 1
        if (skip == "") print substr($0, 5)
        if (skip == "" && !/\\$/) print "[ $? = 0 ] || exit 1"
        next
    }
    in_block { in_block = 0; skip = "" }
    { blank = /^$/ }
    /[Ss]ave this as `/ { name = $0; sub(/.*[Ss]ave this as `/, "", name); sub(/`.*/, "", name) }
    END { printf "echo %d >blocks\n", blocks }
' "$@") >"$tmp/script"
cd "$tmp"
: >left_out
if ! bash -o pipefail script >said 2>&1 </dev/null; then
    echo "$(cat place): this block fails; the end of what was said:"
    tail -n 40 said
    exit 1
fi
cat left_out
[ "$(cat blocks)" -gt 40 ] || { echo "there are only $(cat blocks) blocks in these pages"; exit 1; }
echo "$(cat blocks) blocks work, $(wc -l <left_out) are left out"
