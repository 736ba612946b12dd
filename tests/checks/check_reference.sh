#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_reference.sh: docs/reference.md is what `leat help --reference` prints.
# Usage: check_reference.sh LEAT REFERENCE
set -eu
if ! "$1" help --reference | diff -u "$2" - ; then
    echo "$2 is out of date: build/leat help --reference > docs/reference.md"
    exit 1
fi
