#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_json.sh: docs/json.md and the command agree: every key that tools/ writes stands in the document, and
# every key in the first column of its tables is written somewhere. Usage: check_json.sh TREE
set -eu
cd "$1"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Keys as C strings: the second argument of leat_json_*(), and of the helpers that call them.
cat tools/*.c tools/*/*.c | tr '\n' ' ' |
    grep -oE '(leat_json_(add|text|text_or_null|int|bool|real|interval|estimate|hex|list|object)|range_json|add_count|add_metrics)\( *[a-z_]+, *"[^;]*' |
    grep -oE '"[a-z0-9_]+"' | tr -d '"' >"$tmp/written"
# Words of image formats are keys, too.
sed -n 's/^    X([A-Z]*, \([a-z]*\), .*/\1/p' formats/image_format.h >>"$tmp/written"
sort -u "$tmp/written" >"$tmp/in_code"

# `a[].b`, `.c` come to a, b and c.
keys_of() { grep -oE '`[a-z0-9_.]+(\[\][a-z0-9_.]*)*`' | tr -d '`[]' | tr '.' '\n' | grep . | sort -u; }
grep '^|' docs/json.md | cut -d '|' -f 2 | keys_of >"$tmp/in_tables"
keys_of <docs/json.md >"$tmp/in_text"

[ "$(wc -l <"$tmp/in_code")" -gt 100 ] || { echo "found only few keys in tools/: is the search right?"; exit 1; }
bad=0
for key in $(comm -23 "$tmp/in_code" "$tmp/in_text"); do
    echo "docs/json.md: the key '$key', which the command writes, is missing"
    bad=1
done
for key in $(comm -13 "$tmp/in_code" "$tmp/in_tables"); do
    echo "docs/json.md: no command writes '$key'"
    bad=1
done
[ $bad = 0 ] && echo "$(wc -l <"$tmp/in_code") keys of JSON are documented"
exit $bad
