#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_headers.sh: every public header compiles alone as C11 and as C++, strictly; every header of
# our own compiles alone as C11.
# Usage: check_headers.sh CC CXX TREE GENERATED_FOLDER
set -eu
cc=$1 cxx=$2 generated=$4
cd "$3"
bad=0 n=0

alone() { # compiler and flags, then the header
    header=$1
    shift
    if ! echo "#include \"$header\"" | "$@" -fsyntax-only -; then
        echo "$header: does not compile alone with: $*"
        bad=1
    fi
}

for header in include/leat/*.h; do
    n=$((n + 1))
    name=${header#include/}
    alone "$name" $cc -x c -std=c11 -Wall -Wextra -pedantic -Werror -I include
    [ -z "$cxx" ] || alone "$name" $cxx -x c++ -std=c++11 -Wall -Wextra -Werror -I include
done
folders="formats src src/ops src/ops/jpeg src/pipeline src/train src/study"
flags="-isystem $generated"
for folder in $folders tools tests bench; do
    flags="$flags -I $folder"
done
for header in $(find $folders tools tests bench -maxdepth 1 -name '*.h' 2>/dev/null); do
    n=$((n + 1))
    alone "$header" $cc -x c -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror \
        -Wno-unused-function -I . -I include $flags
done
[ $n -gt 0 ] && [ $bad = 0 ] && echo "$n headers compile alone"
exit $bad
