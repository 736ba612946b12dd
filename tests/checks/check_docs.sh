#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_docs.sh: the files that documents and comments name exist. In documents these are links and names
# in backticks (`src/pipeline/order/order.c`, `sched.c`, `include/leat/`); in comments of our C files, all
# words that look like a C file or like a path of ours. Usage: check_docs.sh TREE
set -eu
cd "$1"
bad=0 n=0

complain() {
    echo "$1: there is no $2"
    bad=1
}

files=$(find . -path ./.git -prune -o -path './build*' -prune -o -type f -print)
for document in *.md docs/*.md docs/how-to/*.md docs/coming-from/*.md \
    docs/why-is-my-gpu-slower/*.md src/pipeline/*.md src/ops/jpeg/*.md src/cuda/*.md examples/*.md bench/results/*.md; do
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

# "FILE NAME" of each file that a comment names; a system header is written as <name.h>.
comments=$(find src tools formats include -name '*.[ch]' -o -name '*.cu' -o -name '*.inc' | sort | xargs awk '
    FNR == 1 { inside = 0 }
    {
        line = $0
        if (!inside && line !~ /\/[*\/]/) next
        if (!inside) sub(/^.*\/[*\/]/, "", line)
        inside = $0 ~ /\/\*/ || inside
        if (line ~ /\*\//) { inside = 0; sub(/\*\/.*/, "", line) }
        while (match(line, /[A-Za-z0-9_.\/*<-]*[A-Za-z0-9_\/]/)) {
            word = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (word ~ /^[A-Za-z0-9_\/.-]+\.(c|h|cu|inc)$/ ||
                word ~ /^(src|include|formats|tools|tests|bench|examples|docs|cmake)\/[A-Za-z0-9_.\/-]+$/)
                print FILENAME " " word
        }
    }')
end='
'
lines=$files$end
while read -r file name; do
    n=$((n + 1))
    case $name in
    *.c | *.h | *.cu | *.inc) case $lines in *"/$name$end"*) ;; *) complain "$file" "$name" ;; esac ;;
    *) [ -e "$name" ] || complain "$file" "$name" ;;
    esac
done <<END
$comments
END
# The newest heading of the changelog is the version.
version=$(sed -n 's/^#define LEAT_VERSION  *"\(.*\)"/\1/p' include/leat/api.h)
newest=$(sed -n 's/^## //p' CHANGELOG.md | head -1)
case $newest in
"$version" | "$version ("*) n=$((n + 1)) ;;
*) echo "CHANGELOG.md begins with '$newest', but the version is '$version'"; bad=1 ;;
esac
[ $n -gt 0 ] && [ $bad = 0 ] && echo "$n names and links lead somewhere"
exit $bad
