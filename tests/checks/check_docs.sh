#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_docs.sh: what the documents point at is there: links to files, and names of files in
# backticks (`src/pipeline/order/order.c`, `sched.c`, `include/leat/`). Usage: check_docs.sh TREE
set -eu
cd "$1"
bad=0 n=0

complain() {
    echo "$1: there is no $2"
    bad=1
}

files=$(find . -path ./.git -prune -o -path './build*' -prune -o -type f -print)
for document in *.md docs/*.md examples/*.md bench/results/*.md; do
    [ -f "$document" ] || continue
    folder=$(dirname "$document")
    for link in $(grep -o '](\([^)#]*\)' "$document" | sed 's/](//' | grep -v '://' || :); do
        n=$((n + 1))
        [ -e "$folder/$link" ] || complain "$document" "$link"
    done
    for name in $(grep -o '`[A-Za-z0-9_./-]*`' "$document" | tr -d '`' | grep -v '^build' |
        grep -e '\.[ch]$' -e '\.inc$' -e '\.sh$' -e '\.cmake$' \
            -e '^\(src\|include\|formats\|tools\|tests\|bench\|examples\|docs\|cmake\)/' || :); do
        n=$((n + 1))
        case $name in
        leat/*) [ -e "include/$name" ] || complain "$document" "$name" ;;
        */*) [ -e "$name" ] || [ -e "$folder/$name" ] || complain "$document" "$name" ;;
        *) echo "$files" | grep -q "/$name\$" || complain "$document" "$name" ;;
        esac
    done
done
[ $n -gt 0 ] && [ $bad = 0 ] && echo "$n names and links lead somewhere"
exit $bad
