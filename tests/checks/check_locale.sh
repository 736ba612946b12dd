#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_locale.sh: the library formats numbers with a fraction by leat_text() and reads them by
# leat_number_f64(), which know no locale; not by printf(), strtod() and their like. Usage: check_locale.sh TREE
set -eu
cd "$1"

# A call of printf's family, up to its semicolon, whose format has %f, %g, %e or %a with a fraction.
bad=$(find src formats -name '*.[ch]' ! -name 'text.[ch]' -exec perl -0777 -ne '
    while (/\b((?:v|a|va)?[sf]?n?printf\s*\([^;]*?%[-+ #0]*[0-9*]*(?:\.[1-9*][0-9]*)?l?[fega]\b[^;]*;)/gi) {
        my $line = 1 + (substr($_, 0, $-[0]) =~ tr/\n//);
        print "$ARGV:$line: use leat_text(): ", substr($1, 0, 60) =~ s/\s+/ /gr, "\n";
    }
    while (/\b((?:v|f|s)*scanf\s*\([^;]*?%[*0-9]*[lL]?[fega]\b[^;]*;)/gi) {
        my $line = 1 + (substr($_, 0, $-[0]) =~ tr/\n//);
        print "$ARGV:$line: use leat_text_f64(): ", substr($1, 0, 60) =~ s/\s+/ /gr, "\n";
    }
    while (/\b(strto(?:f|d|ld)|atof|strn?casecmp|setlocale)\s*\(/g) {
        my $line = 1 + (substr($_, 0, $-[0]) =~ tr/\n//);
        print "$ARGV:$line: $1() depends on the locale\n";
    }' {} +)
[ -z "$bad" ] || { printf '%s\n' "$bad"; exit 1; }
echo "no number of the library depends on the locale"
