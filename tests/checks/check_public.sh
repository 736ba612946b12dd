#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_public.sh: what include/leat declares LEAT_API is used by a test or an example, and explained by
# a comment: right before it, on its line, or before the block of lines that it stands in.
# Usage: check_public.sh CC TREE
set -eu
cc=$1
cd "$2"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# The name of a declaration is the word before its first '(' or '['.
echo '#include "leat/leat.h"' | $cc -E -P -I include - | tr '\n' ' ' | tr ';{}' '\n\n\n' |
    sed -n 's/.*__attribute__((visibility("default")))//p' |
    sed 's/[[(].*//; s/ *$//; s/.*[ *]//' | sort -u >"$tmp/declared"
if [ ! -s "$tmp/declared" ]; then
    echo "no declarations found"
    exit 1
fi

find tests examples -name '*.[ch]' -exec cat {} + | grep -ow 'leat_[a-z0-9_]*' | sort -u >"$tmp/used"
for name in $(comm -23 "$tmp/declared" "$tmp/used"); do
    echo "$name: no test and no example uses it"
    bad=1
done

# `explained` is set by a comment and lasts until a blank line.
awk '
FNR == 1 { explained = comment = rest = 0 }
comment { explained = 1; if (/\*\//) comment = 0; next }
/^[ \t]*\/\* ---/ { explained = 0; next }
/^[ \t]*\/\*/ { explained = 1; comment = !/\*\//; next }
/^[ \t]*$/ { explained = rest = 0; next }
rest { if (/;/) rest = 0; next }
/^LEAT_API/ {
    n++
    rest = !/;/
    if (!explained && !/\/\*/) { print FILENAME ":" FNR ": no comment explains: " $0; bad = 1 }
}
END { if (n == 0) print "no declarations found"; exit bad || n == 0 }' include/leat/*.h || bad=1

[ $bad = 0 ] && echo "$(wc -l <"$tmp/declared") public names, all of them explained and used"
exit $bad
