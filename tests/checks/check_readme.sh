#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_readme.sh: the C program in README compiles as it stands, without a warning, and runs to the end of
# the data. Usage: check_readme.sh README CC INCLUDE LIBRARY LEAT
set -eu
readme=$(realpath "$1") cc=$2 include=$(realpath "$3") library=$(realpath "$4") leat=$(realpath "$5")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$readme" >readme.c
[ "$(grep -c 'int main' readme.c)" = 1 ] || { echo "there is not one program in README"; exit 1; }
cat >yours.c <<END
#include <leat/leat.h>
#include <stdio.h>
void train_on(leat_view images, leat_view labels);
void train_on(leat_view images, leat_view labels)
{
    printf("%d %d\\n", (int)images.shape.dims[0], (int)labels.shape.dims[0]);
}
END
$cc -std=c11 -Wall -Wextra -Wshadow -Wconversion -Werror -I "$include" readme.c yours.c \
    -o program "$library" -Wl,-rpath,"$(dirname "$library")"
"$leat" synth images --n 10 --size 16 --classes 2 -q >/dev/null
cat >cifar10.yaml <<END
source: {images: images}
pipeline: [{map: {ops: [decode_jpeg, {resize: [8, 8]}]}}, {batch: 4}]
END
[ "$(./program | tr '\n' ';')" = "4 4;4 4;2 2;" ] || { echo "the program does not see all data"; exit 1; }
rm -r images/*
if ./program 2>said; then
    echo "the program succeeds without data"
    exit 1
fi
[ -s said ] || { echo "the program fails without a word"; exit 1; }
