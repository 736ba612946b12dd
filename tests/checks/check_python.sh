#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_python.sh: runs a check that needs packages of Python. LEAT_PYTHON names the interpreter that has them
# (default: python3). Exit code 77: not run, and it says why. Usage: check_python.sh SCRIPT [WORD]...
set -eu
python=${LEAT_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "SKIPPED: there is no $python"; exit 77; }
exec "$python" "$@"
