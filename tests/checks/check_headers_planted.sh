#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_headers_planted.sh: holds that check_headers.sh passes on a machine without CUDA's headers and
# says what it left out, that it leaves out nothing else, and that it misses nothing where they are.
# Usage: check_headers_planted.sh CC CXX TREE GENERATED_FOLDER
set -eu
cc=$1 cxx=$2 tree=$3 generated=$4
check=$tree/tests/checks/check_headers.sh
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
bad=0

# A CUDA header that cannot be read stands before the system's: as if there were none.
mkdir "$scratch/without"
echo '#include <there_is_no_such_toolkit.h>' >"$scratch/without/cuda_runtime_api.h"
mkdir "$scratch/with"
echo 'typedef int cudaError_t;' >"$scratch/with/cuda_runtime_api.h"

expect() { # exit code, words of the output, what it is; then the arguments of the check
    code=$1 words=$2 what=$3
    shift 3
    rc=0
    text=$("$check" "$@" 2>&1) || rc=$?
    if [ $rc != "$code" ] || ! echo "$text" | grep -q "$words"; then
        printf '%s: exit code %d, not %d with "%s":\n%s\n' "$what" $rc "$code" "$words" "$text"
        bad=1
    fi
}

expect 0 '[1-9][0-9]* left out.*tests/fakes/cuda_fake_impl.h' 'this tree without CUDA' \
    "$cc -I $scratch/without" "$cxx" "$tree" "$generated"

small=$scratch/tree
mkdir -p "$small/include/leat" "$small/src"
echo 'int leat_one(void);' >"$small/include/leat/one.h"
echo '#include <cuda_runtime_api.h>' >"$small/src/direct.h"
printf '#include "direct.h"\ncudaError_t indirect(void);\n' >"$small/src/indirect.h"
without="$cc -I $scratch/without"
expect 0 '^1 headers compile alone' 'two that need CUDA' "$without" "$cxx" "$small" "$generated"
expect 0 '^2 left out' 'two that need CUDA' "$without" "$cxx" "$small" "$generated"
expect 0 '^3 headers compile alone' 'CUDA in a folder of its own' \
    "$cc" "$cxx" "$small" "$generated" "$scratch/with"
echo 'cudaError_t alone(no_such_type);' >>"$small/src/direct.h"
expect 1 'direct.h: does not compile alone' 'a mistake beside CUDA' \
    "$cc -I $scratch/with" "$cxx" "$small" "$generated"
echo '#include <no_such_header.h>' >"$small/src/other.h"
expect 1 'other.h: does not compile alone' 'another header that is missing' \
    "$without" "$cxx" "$small" "$generated"
exit $bad
