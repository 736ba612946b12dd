#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_messages.sh: the messages that docs/troubleshooting.md quotes are those of the code. What stands in a quoted
# message between its variable parts ('names', numbers, files, "...") must occur, four words at a time, in the string
# literals of src/, tools/ and formats/, where a conversion such as %s stands for one word. At the end a stale message
# is planted, to see that it is found. Usage: check_messages.sh TREE
set -eu
cd "$1"
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

# One literal a line, adjacent ones joined; words in lower and upper case, "%" for a conversion.
find src tools formats -name '*.[ch]' | sort | xargs cat | grep -v '^ *#include' | awk '
    function flush() {
        gsub(/%%/, " ", text)
        gsub(/%[-+ #0]*[0-9*]*(\.[0-9*]*)?(ll|l|z|h|hh|j|t)?[a-zA-Z]/, " % ", text)
        gsub(/\\./, " ", text)
        gsub(/[^A-Za-z0-9_%]+/, " ", text)
        if (text != "") print text
        text = ""
    }
    {
        line = $0
        gsub(/\047\\?"\047/, "", line)
        while (match(line, /"([^"\\]|\\.)*"/)) {
            if (substr(line, 1, RSTART - 1) !~ /^[ \t]*$/) flush()
            text = text substr(line, RSTART + 1, RLENGTH - 2)
            line = substr(line, RSTART + RLENGTH)
        }
        if (line !~ /^[ \t]*\\?$/) flush()
    }
    END { flush() }' >"$tmp/literals"

# check DOCUMENT: prints each quoted message of which a word does not stand in the code so, and fails.
check() {
    awk '
    FNR == NR {
        for (n = 1; n <= 4; n++)
            for (i = 1; i + n - 1 <= NF; i++) {
                gram = $i
                for (k = 1; k < n; k++) gram = gram " " $(i + k)
                known[gram] = 1
            }
        sub(/ *% *$/, "")
        if (NF > 1) ends[$(NF - 1) " " $NF] = 1
        sub(/^ *% */, "")
        if (NF > 1) begins[$1 " " $2] = 1
        next
    }
    function has(first, n, i, k, gram) { # word i of it may be what a conversion prints
        for (i = n < 3 ? n : 0; i <= n; i++) {
            gram = ""
            for (k = 0; k < n; k++) gram = gram (k ? " " : "") (k == i ? "%" : word[first + k])
            if (gram in known) return 1
        }
        if (n == 4 && (word[first] " " word[first + 1]) in ends && (word[first + 2] " " word[first + 3]) in begins)
            return 1 # one literal is printed after another
        return 0
    }
    function hold(n_words, n, i, k) { # every word is in a part that the code has
        n = n_words < 4 ? n_words : 4
        for (i = 1; i <= n_words; i++) found[i] = 0
        for (i = 1; i + n - 1 <= n_words; i++)
            if (has(i, n)) for (k = 0; k < n; k++) found[i + k] = 1
        for (i = 1; i <= n_words; i++)
            if (!found[i]) { print FILENAME ": not in the code: \"" message "\", at \"" word[i] "\""; return 0 }
        return 1
    }
    /^\| message/ { inside = 1 }
    !/^\|/ { inside = 0 }
    inside && match($0, /^\| `[^`]*`/) {
        message = substr($0, 4, RLENGTH - 4)
        text = message
        n_messages++
        gsub(/\047[^\047]*\047|\.\.\.+/, " @ ", text)
        n_all = split(text, part, /[ (),;:?]+/)
        n = 0
        ok = 1
        for (i = 1; i <= n_all + 1 && ok; i++) {
            variable = i > n_all || part[i] ~ /[@0-9\/*]|\.(jpg|yaml|tfrecord)$|^([kMG]?B)$/
            if (!variable && part[i] != "") {
                m = split(part[i], piece, /[^A-Za-z0-9_]+/)
                for (k = 1; k <= m; k++) if (piece[k] != "") word[++n] = piece[k]
            }
            if (variable && n) { ok = hold(n); n = 0 }
        }
        bad += !ok
    }
    END {
        if (n_messages < 10) { print FILENAME ": only " n_messages + 0 " messages: is the search right?"; exit 1 }
        print n_messages " quoted messages, " bad + 0 " stale"
        exit bad > 0
    }' "$tmp/literals" "$1"
}

check docs/troubleshooting.md
sed 's/^| `\(.*\)relative to the folder where/| `\1that begin at the folder where/' docs/troubleshooting.md >"$tmp/stale.md"
if text=$(check "$tmp/stale.md") || ! echo "$text" | grep -q ' 1 stale$'; then
    echo "a stale message is not found: $text"
    exit 1
fi
