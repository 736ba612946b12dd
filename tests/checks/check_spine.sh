#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_spine.sh: the reading guide of CONTRIBUTING.md is true: the files of its spine exist, each step has about the number
# of lines that is written (within a tenth), and all of them have at most 5,000. Of the rooms after it the lines are
# about right, too. Usage: check_spine.sh TREE
set -eu
cd "$1"
rows=$(mktemp) rooms=$(mktemp)
trap 'rm -f "$rows" "$rooms"' EXIT
grep -E '^\| [0-9]+ \| .* \| [0-9,]+ \|$' CONTRIBUTING.md >"$rows"
grep -E '^\| [^|]*(src|formats|tools)[^|]* \| [0-9]+,[0-9]+ \| ' CONTRIBUTING.md >"$rooms"
[ "$(wc -l <"$rooms")" -ge 8 ] || { echo "CONTRIBUTING.md: the rooms are not found"; exit 1; }
total=0 bad=0
while IFS='|' read -r _ step _ files said _; do
    said=$(echo "$said" | tr -d ' ,')
    n=$(echo "$files" | tr -d '`,' | xargs cat | wc -l)
    total=$((total + n))
    if [ $((n * 10)) -gt $((said * 11)) ] || [ $((n * 10)) -lt $((said * 9)) ]; then
        echo "CONTRIBUTING.md: step $step of the spine has $n lines, not about $said"
        bad=1
    fi
done <"$rows"
while IFS='|' read -r _ room said _; do
    said=$(echo "$said" | tr -d ' ,')
    n=$(echo "$room" | tr -d '`,[]' | sed 's/([^)]*)//g' | xargs -I {} sh -c 'find {} -name "*.[ch]" -o -name "*.cu" -o -name "*.inc"' |
        xargs cat | wc -l)
    if [ $((n * 10)) -gt $((said * 11)) ] || [ $((n * 10)) -lt $((said * 9)) ]; then
        echo "CONTRIBUTING.md: $room has $n lines, not about $said"
        bad=1
    fi
done <"$rooms"
[ "$total" -gt 1000 ] || { echo "CONTRIBUTING.md: no spine found"; exit 1; }
[ "$total" -le 5000 ] || { echo "CONTRIBUTING.md: the spine has $total lines, more than 5,000"; exit 1; }
[ $bad = 0 ] && echo "the spine has $total lines"
exit $bad
