#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_layers_planted.sh: plants one violation of each kind in a small tree and holds that
# tools/dev/check_layers finds it, and finds nothing in the tree without it.
# Usage: check_layers_planted.sh CHECK_LAYERS
set -eu
check=$1
tree=$(mktemp -d)
trap 'rm -r "$tree"' EXIT
bad=0 n=0

write() { # path, includes …
    path=$tree/$1
    shift
    mkdir -p "$(dirname "$path")"
    for name in "$@"; do
        echo "#include $name"
    done >"$path"
}

# path of a file, what it includes, and words of the complaint
plant() {
    n=$((n + 1))
    cp -p "$tree/$1" "$tree/kept" 2>/dev/null || true
    write "$1" "$2"
    if text=$("$check" "$tree"); then
        echo "$1 with $2: not found"
        bad=1
    elif ! echo "$text" | grep -q "$3"; then
        echo "$1 with $2: '$text' without '$3'"
        bad=1
    fi
    rm "$tree/$1"
    [ ! -e "$tree/kept" ] || mv "$tree/kept" "$tree/$1"
}

write include/leat/api.h
write formats/bytes.h
write formats/bytes.c '"bytes.h"' '<stdio.h>'
write src/base.h '"leat/api.h"'
write src/ops/an_op.h '"base.h"' '"bytes.h"' '"leat/api.h"'
write src/pipeline/order/order.h '"an_op.h"' '"base.h"' '"bytes.h"'
write src/train/nn.h '"base.h"' '"leat/api.h"'
write src/study/compare.h '"base.h"' '"leat/api.h"'
write src/cuda/plugin.cu '"an_op.h"' '"nn.h"'
write tools/main.c '"leat/api.h"' '"bytes.h"'
write tests/test_all.c '"order.h"' '"nn.h"' '"compare.h"'
"$check" "$tree" || { echo "a clean tree is refused"; exit 1; }

plant formats/bytes.c '"base.h"' 'formats may not include base'
plant formats/bytes.c '"leat/api.h"' 'formats may not include include'
plant include/leat/api.h '"base.h"' 'api.h:1: '
plant src/base.c '"an_op.h"' 'base may not include ops'
plant src/base.c '"bytes.h"' 'base may not include formats'
plant src/ops/an_op.c '"order.h"' 'ops may not include pipeline'
plant src/ops/an_op.c '"nn.h"' 'ops may not include train'
plant src/pipeline/order/order.c '"nn.h"' 'pipeline may not include train'
plant src/train/nn.c '"order.h"' 'train may not include pipeline'
plant src/train/nn.c '"an_op.h"' 'train may not include ops'
plant src/study/compare.c '"bytes.h"' 'study may not include formats'
plant src/study/compare.c '"order.h"' 'study may not include pipeline'
plant src/cuda/plugin.cu '"order.h"' 'cuda may not include pipeline'
plant tools/main.c '"base.h"' 'tools may not include base'
plant tools/main.c ' "base.h"' 'tools may not include base'
plant src/ops/an_op.c '"nowhere.h"' 'is no file of this tree'
plant src/pipeline/bytes.h '<stdio.h>' 'file names are unique'
plant src/new/file.c '<stdio.h>' 'has no row'

[ $bad = 0 ] && echo "$n planted violations found"
exit $bad
