#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_headers.sh: every public header compiles alone as C11 and as C++, strictly; every header of
# our own compiles alone as C11. Headers that need CUDA's are checked only where these are found.
# Usage: check_headers.sh CC CXX TREE GENERATED_FOLDER [CUDA_INCLUDE_FOLDER...]
set -eu
cc=$1 cxx=$2 tree=$3 generated=$4
shift 4
cuda_flags=
for folder in "$@"; do
    cuda_flags="$cuda_flags -isystem $folder"
done
cd "$tree"
bad=0 n=0 left_out=

alone() { # header, then the compiler and its flags
    header=$1
    shift
    if ! echo "#include \"$header\"" | "$@" -fsyntax-only -; then
        echo "$header: does not compile alone with: $*"
        bad=1
    fi
}

# Whether the header includes CUDA's, itself or through another one; a missing one counts too (-MG).
needs_cuda() { # header, then the compiler and its flags
    header=$1
    shift
    echo "#include \"$header\"" | "$@" -M -MG - 2>/dev/null | grep -q '[ /]cuda_runtime_api\.h'
}

have_cuda=1
echo '#include <cuda_runtime_api.h>' | $cc -x c -std=c11 $cuda_flags -fsyntax-only - 2>/dev/null ||
    have_cuda=0

for header in include/leat/*.h; do
    n=$((n + 1))
    name=${header#include/}
    alone "$name" $cc -x c -std=c11 -Wall -Wextra -pedantic -Werror -I include
    [ -z "$cxx" ] || alone "$name" $cxx -x c++ -std=c++11 -Wall -Wextra -Werror -I include
done
folders="formats src tools tests bench"
flags="-x c -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -I . -I include"
for folder in src tools tests; do
    flags="$flags -I $folder"
done
flags="$flags -isystem $generated $cuda_flags"
for header in $(find $folders -name '*.h' 2>/dev/null | grep -v '^tests/fuzz/corpus'); do
    if [ $have_cuda = 0 ] && needs_cuda "$header" $cc $flags; then
        left_out="$left_out $header"
        continue
    fi
    n=$((n + 1))
    alone "$header" $cc $flags
done
[ $n -gt 0 ] && [ $bad = 0 ] && echo "$n headers compile alone"
[ -z "$left_out" ] || echo "$(echo $left_out | wc -w) left out, since CUDA's headers are not here:$left_out"
exit $bad
