#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_spine.sh: the reading guide of README is true: the files of its spine exist, each step has about the number
# of lines that is written (within a tenth), and all of them have at most 5,000. Usage: check_spine.sh TREE
set -eu
cd "$1"
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
grep -E '^\| [0-9]+ \| .* \| [0-9,]+ \|$' README.md >"$rows"
total=0 bad=0
while IFS='|' read -r _ step _ files said _; do
    said=$(echo "$said" | tr -d ' ,')
    n=$(echo "$files" | tr -d '`,' | xargs cat | wc -l)
    total=$((total + n))
    if [ $((n * 10)) -gt $((said * 11)) ] || [ $((n * 10)) -lt $((said * 9)) ]; then
        echo "README.md: step $step of the spine has $n lines, not about $said"
        bad=1
    fi
done <"$rows"
[ "$total" -gt 1000 ] || { echo "README.md: no spine found"; exit 1; }
[ "$total" -le 5000 ] || { echo "README.md: the spine has $total lines, more than 5,000"; exit 1; }
[ $bad = 0 ] && echo "the spine has $total lines"
exit $bad
