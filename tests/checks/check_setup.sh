#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_setup.sh: tools/dev/setup on systems made of stand-ins: a PATH with package managers that only note
# what they are asked for, and a pkg-config and a compiler that know what we say is there. Each case gives
# what the system has and what is missing, and expects the exit code, and words in what was said and asked.
# Usage: check_setup.sh SETUP
set -eu
setup=$(realpath "$1")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
shell=$(command -v sh)
failed=0

stand_in() { # NAME, with its script on standard input
    { echo "#!$shell"; cat; } >"all/$1"
    chmod +x "all/$1"
    grep -qx "$1" missing || cp "all/$1" bin
}

# system MANAGER USER_ID MISSING...: a PATH of its own. MANAGER: apt-get, dnf or none.
system() {
    manager=$1 user=$2
    shift 2
    rm -rf bin all
    mkdir bin all
    printf '%s\n' "$@" >missing
    : >asked
    for tool in sh env cat cp cut grep sed tr; do
        ln -s "$(command -v $tool)" bin/$tool
    done
    echo "echo $user" | stand_in id
    for command in c++ cmake ninja patch pgrep protoc-c; do
        echo : | stand_in $command
    done
    # The compiler reads a line "#include <HEADER>".
    stand_in cc <<'END'
header=$(sed -n 's/.*<\(.*\)>.*/\1/p')
! grep -qxF "$header" missing
END
    stand_in pkg-config <<'END'
for last; do :; done
! grep -qxF "$last" missing
END
    [ "$manager" = none ] || stand_in "$manager" <<'END'
echo "${0##*/} $*" >>asked
case " $* " in *' install '*) [ -e bad_mirror ] || { : >missing; cp all/* bin; } ;; esac
[ ! -e bad_mirror ]
END
    [ "$user" = 0 ] || [ -e no_sudo ] || stand_in sudo <<'END'
echo "sudo $*" >>asked
"$@"
END
}

expect() { # WHAT CODE WORDS_SAID WORDS_ASKED: "-" for silence
    code=0
    PATH=$tmp/bin "$shell" "$setup" >said 2>&1 || code=$?
    ok=yes
    [ "$code" = "$2" ] || ok=no
    for pair in "said:$3" "asked:$4"; do
        file=${pair%%:*} words=${pair#*:}
        if [ "$words" = - ]; then
            [ ! -s "$file" ] || ok=no
        else
            for word in $words; do grep -qF -- "$word" "$file" || ok=no; done
        fi
    done
    if [ $ok = no ]; then
        failed=1
        echo "$1: exit code $code, expected $2; said (expected: $3):"
        cat said
        echo "asked (expected: $4):"
        cat asked
    fi
}

system apt-get 0
expect "all there, apt" 0 - -
system dnf 0
expect "all there, dnf" 0 - -
system none 1000
expect "all there, unknown system" 0 - -

system apt-get 0 libjpeg spng oneapi/dnnl/dnnl.h
expect "libraries, apt" 0 "libjpeg-dev libspng-dev libdnnl-dev" "update install libjpeg-dev libspng-dev libdnnl-dev"
if grep -q -e gcc -e libjpeg62 asked; then
    echo "asks for what is there, or for what not all systems have:" "$(cat asked)"
    failed=1
fi
system apt-get 1000 ninja
expect "as a user" 0 ninja-build "sudo ninja-build"
system apt-get 0 cc pkg-config
expect "no compiler" 0 "gcc pkg-config" "gcc pkg-config"
system dnf 1000 libisal cmocka c++ oneapi/dnnl/dnnl.h
expect "libraries, dnf" 0 "gcc-c++" "sudo pkgconfig(libisal) pkgconfig(cmocka) gcc-c++ cmake(dnnl)"
system none 0 yaml-0.1 protoc-c
expect "unknown system" 1 "libyaml protobuf-c yaml-0.1 protoc-c" -
if grep -q cmocka said; then
    echo "an unknown system is asked for what it has:" "$(cat said)"
    failed=1
fi

: >no_sudo
system apt-get 1000 jansson
expect "no sudo" 1 "root apt-get install libjansson-dev" -
system dnf 1000 jansson
expect "no sudo, dnf" 1 "root install 'pkgconfig(jansson)'" -
rm no_sudo
: >bad_mirror
system apt-get 0 jansson
expect "packages that cannot be had, apt" 1 "libjansson-dev universe" "install libjansson-dev"
system dnf 0 jansson
expect "packages that cannot be had, dnf" 1 "jansson" "pkgconfig(jansson)"
exit $failed
