#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_layers_planted.sh: plants one violation of each kind in a small tree and holds that
# tools/dev/check_layers finds it, and finds nothing in the tree without it.
# Usage: check_layers_planted.sh CHECK_LAYERS CC
set -eu
check=$1 cc=$2
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

# compile SOURCE TEXT: an object file of a source that stands nowhere in the tree's includes.
compile() {
    object=$tree/build/CMakeFiles/leat_objects.dir/$1.o
    mkdir -p "$(dirname "$object")"
    echo "$2" | $cc -x c -c -o "$object" -
}

# A call without an include: FROM calls TO.
plant_call() { # source, name that it calls, words of the complaint
    n=$((n + 1))
    compile "$1" "int $2(void); int planted(void); int planted(void) { return $2(); }"
    if text=$("$check" "$tree" "$tree/build"); then
        echo "$1 calls $2: not found"
        bad=1
    elif ! echo "$text" | grep -q "$3"; then
        echo "$1 calls $2: '$text' without '$3'"
        bad=1
    fi
    rm "$tree/build/CMakeFiles/leat_objects.dir/$1.o"
}

write include/leat/api.h
echo 'int leat_batch_release(void);' >>"$tree/include/leat/api.h"
write formats/bytes.h
write formats/bytes.c '"bytes.h"' '<stdio.h>'
write src/base/base.h '"leat/api.h"'
write src/ops/image/taps.h
write src/ops/an_op.h '"base/base.h"' '"formats/bytes.h"' '"leat/api.h"' '"ops/image/taps.h"'
write src/pipeline/order/order.h '"ops/an_op.h"' '"base/base.h"' '"formats/bytes.h"'
write src/pipeline/read/reader.h '"pipeline/order/order.h"'
write src/pipeline/build/build.h '"pipeline/read/reader.h"'
write src/pipeline/run/engine.h '"pipeline/read/reader.h"'
write src/train/nn.h '"base/base.h"' '"leat/api.h"'
write src/study/compare.h '"base/base.h"' '"leat/api.h"'
write src/cuda/plugin.cu '"ops/an_op.h"' '"train/nn.h"'
write tools/main.c '"leat/api.h"' '"formats/bytes.h"'
write tests/test_all.c '"pipeline/order/order.h"' '"train/nn.h"' '"study/compare.h"'
compile src/base/base.c 'int base_call(void); int base_call(void) { return 1; }'
compile src/pipeline/order/order.c 'int base_call(void); int order_call(void); int order_call(void) { return base_call(); }'
compile src/pipeline/build/build.c 'int build_call(void); int build_call(void) { return 1; }'
compile src/pipeline/run/engine.c 'int order_call(void); int leat_batch_release(void); int leat_batch_release(void) { return order_call(); }'
compile src/train/nn.c 'int leat_batch_release(void); int nn_call(void); int nn_call(void) { return leat_batch_release(); }'
"$check" "$tree" "$tree/build" || { echo "a clean tree is refused"; exit 1; }

plant formats/bytes.c '"base/base.h"' 'formats may not include src/base'
plant formats/bytes.c '"leat/api.h"' 'formats may not include include'
plant include/leat/api.h '"base/base.h"' 'api.h:1: '
plant src/base/base.c '"ops/an_op.h"' 'src/base may not include src/ops'
plant src/ops/an_op.c '"pipeline/order/order.h"' 'src/ops may not include src/pipeline/order'
plant src/ops/an_op.c '"train/nn.h"' 'src/ops may not include src/train'
plant src/pipeline/order/order.c '"train/nn.h"' 'src/pipeline/order may not include src/train'
plant src/pipeline/order/order.c '"pipeline/read/reader.h"' 'order may not include src/pipeline/read'
plant src/pipeline/build/build.c '"pipeline/run/engine.h"' 'build may not include src/pipeline/run'
plant src/pipeline/run/engine.c '"pipeline/build/build.h"' 'run may not include src/pipeline/build'
plant src/train/nn.c '"pipeline/order/order.h"' 'src/train may not include src/pipeline/order'
plant src/train/nn.c '"ops/an_op.h"' 'src/train may not include src/ops'
plant src/study/compare.c '"train/nn.h"' 'src/study may not include src/train'
plant src/study/compare.c '"pipeline/order/order.h"' 'src/study may not include src/pipeline/order'
plant src/cuda/plugin.cu '"pipeline/order/order.h"' 'src/cuda may not include src/pipeline/order'
plant tools/main.c '"base/base.h"' 'tools may not include src/base'
plant tools/main.c ' "base/base.h"' 'tools may not include src/base'
plant src/ops/an_op.c '"nowhere.h"' 'is no file of this tree'
plant src/pipeline/order/bytes.h '<stdio.h>' 'file names are unique'
plant src/new/file.c '<stdio.h>' 'has no row'
plant_call src/pipeline/order/upward.c build_call 'order may not call src/pipeline/build (build_call in src/pipeline/build/build.c)'
plant_call src/pipeline/run/across.c build_call 'run may not call src/pipeline/build'
plant_call src/train/inside.c order_call 'src/train may not call src/pipeline/order'
plant_call src/pipeline/order/public.c leat_batch_release 'order may not call src/pipeline/run'
n=$((n + 3))
printf 'typedef struct leat_thing {\n    int x;\n} leat_thing;\n' | tee "$tree/src/base/thing.h" >"$tree/src/ops/other.h"
"$check" "$tree" | grep -q 'src/base/thing.h has a type leat_thing, too' || { echo "two types of one name: not found"; bad=1; }
rm "$tree/src/base/thing.h" "$tree/src/ops/other.h"
compile src/base/scratch.c 'int leat_order_take(void); int leat_order_take(void) { return 1; }'
"$check" "$tree" "$tree/build" | grep -q 'leat_order_take names another file' || { echo "leat_order_take in scratch.c: not found"; bad=1; }
compile src/base/scratch.c 'int leat_scratch_take(void); int leat_scratch_take(void) { return 1; }'
"$check" "$tree" "$tree/build" >"$tree/said" || { echo "leat_scratch_take in scratch.c: refused"; cat "$tree/said"; bad=1; }
rm "$tree/build/CMakeFiles/leat_objects.dir/src/base/scratch.c.o"
for i in $(seq 40); do
    write src/base/many_$i.c '<stdio.h>'
done
plant src/base/one_more.c '<stdio.h>' 'src/base: more than 30 .c files'

[ $bad = 0 ] && echo "$n planted violations found"
exit $bad
