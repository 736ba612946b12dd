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
man=$(dirname "$(find "$tmp/moved" -name leat.1)")
grep '^\.TH LEAT 1' "$man/leat.1" >/dev/null
"$leat" help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' >"$tmp/commands"
[ -s "$tmp/commands" ]
while read -r command; do
    grep -i "^\.TH LEAT..$command 1" "$man/leat-$command.1" >/dev/null
done <"$tmp/commands"
for file in docs/config.md docs/json.md examples/demo.yaml examples/own_loop.c README.md; do
    [ -s "$(find "$tmp/moved" -path "*/doc/leat/$file")" ] || { echo "$file is not installed"; exit 1; }
done
bash -n "$(find "$tmp/moved" -path '*bash-completion/completions/leat')"

# What is installed can be removed, and nothing else goes.
mkdir -p "$tmp/again/share/doc/other" "$tmp/own"
touch "$tmp/again/share/doc/other/file"
cmake --install "$build" --prefix "$tmp/again" >"$tmp/log"
cp "$build/install_manifest.txt" "$tmp/own/installed.txt"
"$consumer/../../tools/dev/uninstall" "$tmp/own" >"$tmp/log"
left=$(cd "$tmp/again" && find . -type f -o -name leat)
[ "$left" = ./share/doc/other/file ] || { echo "uninstall leaves: $left"; exit 1; }
if "$consumer/../../tools/dev/uninstall" "$tmp/own" 2>"$tmp/log"; then
    echo "uninstall succeeds without anything installed"
    exit 1
fi
echo "pkg-config, find_package, C, C++, shared, static: all build and run"
