#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_install.sh: installs into a folder, moves it, and builds and runs a small program against it:
# in C and C++, by pkg-config and by find_package, shared and static. Then runs the installed command.
# Usage: check_install.sh BUILD_FOLDER CONSUMER_FOLDER CC CXX VERSION
set -eu
build=$1 consumer=$2 cc=$3 cxx=$4 version=$5
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cmake --install "$build" --prefix "$tmp/first" >"$tmp/log"
mv "$tmp/first" "$tmp/moved"

expect() { # the program prints the library's version
    got=$("$@")
    if [ "$got" != "consumer: leat $version ok" ]; then
        echo "$*: printed '$got'"
        exit 1
    fi
}

pc=$(dirname "$(find "$tmp/moved" -name leat.pc)")
export PKG_CONFIG_PATH="$pc"
lib=$(pkg-config --variable=libdir leat)
for way in "$cc -std=c11 -x c" "$cxx -x c++"; do
    $way -Wall -Wextra -Werror "$consumer/consumer.c" -x none $(pkg-config --cflags --libs leat) \
        -Wl,-rpath,"$lib" -o "$tmp/shared"
    expect "$tmp/shared"
    $way "$consumer/consumer.c" -x none $(pkg-config --cflags leat) -Wl,-Bstatic -L"$lib" -lleat \
        -Wl,-Bdynamic $(pkg-config --static --libs leat | sed 's/-lleat //') -o "$tmp/static"
    expect "$tmp/static"
    if ldd "$tmp/static" | grep libleat; then
        echo "the static program needs libleat.so"
        exit 1
    fi
done

cmake -S "$consumer" -B "$tmp/build" -DCMAKE_PREFIX_PATH="$tmp/moved" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DLEAT_EXPECTED="$version" >>"$tmp/log"
cmake --build "$tmp/build" >>"$tmp/log"
for program in c_shared c_static cxx_shared cxx_static; do
    expect "$tmp/build/$program"
done

leat=$tmp/moved/bin/leat
"$leat" --version | grep -F "$version" >/dev/null
grep '^\.TH LEAT 1' "$(find "$tmp/moved" -name leat.1)" >/dev/null
bash -n "$(find "$tmp/moved" -path '*bash-completion/completions/leat')"
echo "pkg-config, find_package, C, C++, shared, static: all build and run"
