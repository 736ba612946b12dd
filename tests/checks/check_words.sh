#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_words.sh: no file uses one of our former private words. Each row has what is not said (a pattern of grep -E), and
# what is said instead. bench/results/ has dated records, which stay as they are. Usage: check_words.sh TREE
set -eu
cd "$1"
list=$(mktemp) rows=$(mktemp)
trap 'rm -f "$list" "$rows"' EXIT
cat >"$rows" <<'END'
by turns;alternating
(run|train|measured|arms?)[^.]{0,20} in turns;alternating
(is|and|a|"|:) dear ;expensive
had back;reclaimed
to be had;available
in the mean([^sit]|$);on average
(of|after|every|in|for|each|most:) so many;this many, or what the number is called
takes_part_;leat_wake_consumer_computes_locked, spin
_parks_;is_replaced
leat_(ship|land)_|SHIPPING|SHIPPED|landed_batch;upload
leat_(scratch|cpu|arm|class|jpeg_table)_room;quota (of scratch), buffer, total, limit
leat_(source_parts|nested_part|row_part|batch_ops_part);child (source), row group, range
leat_(net_|backend_)?split_|leat_tfrecord_split;partition (of a model), scatter (of a read)
leat_(image|resample|jpeg|gpu|example_layout)_cut;crop, bits, placement, without
(leat_jpeg_|n_)marks?([^a-z]|$);seek points
leat_[a-z_]*stretch;run (of blocks), block (of interleave), interval (of training)
leat_(param|combine|net)_slot|order_slot_rows;slot is the memory of a batch: values, turn, arena, most_rows
leat_inflated?(_|[^a-z]);decompress, compressed
END
find src include formats tools tests bench docs examples ./*.md -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' \
    -o -name '*.md' -o -name '*.sh' -o -name '*.yaml' -o -name '*.py' -o -path 'tools/dev/*' \) |
    grep -v -e '^bench/results/' -e 'check_words.sh$' >"$list"
n=$(wc -l <"$list")
[ "$n" -gt 1000 ] || { echo "only $n files found"; exit 1; }
bad=0
while IFS=';' read -r word better; do
    if xargs grep -niE -- "$word" <"$list" /dev/null; then
        echo "  ^ say: $better"
        bad=1
    fi
done <"$rows"
[ $bad = 0 ] && echo "$n files, $(wc -l <"$rows") words"
exit $bad
