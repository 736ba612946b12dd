#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_python_package.sh: builds the extension of the Python package against the library of this build, and runs its
# tests and the code of its pages. LEAT_PYTHON names the interpreter (default: python3). Exit code 77: not run, and it
# says why. Usage: check_python_package.sh TREE BUILD CC
set -eu
tree=$1 build=$2 cc=$3
python=${LEAT_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "SKIPPED: there is no $python"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "SKIPPED: $python is older than 3.11"; exit 77; }
"$python" -c 'import numpy' 2>/dev/null || { echo "SKIPPED: $python has no numpy"; exit 77; }
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$headers/Python.h" ] || { echo "SKIPPED: $python has no headers ($headers/Python.h)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/leat_data"
cp "$tree"/python/leat_data/*.py "$tmp/leat_data/"
"$cc" -O2 -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wconversion -Werror -shared -fPIC -I "$tree/include" \
    -isystem "$headers" "$tree"/python/*.c -o "$tmp/leat_data/_leat.abi3.so" -L "$build" -lleat \
    -Wl,-rpath,"$build"
cd "$tmp"
PYTHONPATH=$tmp "$python" "$tree/tools/dev/python_stubs.py" "$tree/python/leat_data/__init__.pyi" |
    diff "$tree/python/leat_data/__init__.pyi" - ||
    { echo "python/leat_data/__init__.pyi is not what tools/dev/python_stubs.py writes"; exit 1; }
for test in "$tree"/tests/python/test_*.py; do
    PYTHONPATH=$tmp LEAT_COMMAND=$build/leat LEAT_FAKE_PLUGIN=$build/tests/libleat-cuda-fake.so "$python" -W ignore "$test"
done
mkdir pages
cd pages
for page in use-from-python slow-loop use-with-pytorch use-with-lightning use-with-hugging-face use-with-jax \
    use-with-keras ../coming-from/imagefolder ../coming-from/tf-data ../coming-from/ffcv; do
    PYTHONPATH=$tmp "$python" -W ignore "$tree/tests/python/run_page.py" "$tree/docs/how-to/$page.md" "$build/leat" ||
        [ $? = 77 ]
done
