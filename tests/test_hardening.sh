#!/bin/sh
# test_hardening.sh - release builds: relocations read-only and bound at start, calls fortified, stacks protected and not
# executable; with gcc and clang; and the option that leaves it out. Prints TAP; TILEWRIGHT_BUILD is the build folder.
set -u

cases='library program blas_library system_blas by_gcc by_clang switched_off'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

# What readelf says of a file that was built.
hardened() {
    need readelf || return 1
    [ "$(cached TILEWRIGHT_HARDENING)" = ON ] || skip "built with TILEWRIGHT_HARDENING off" || return 1
    [ "$(cached CMAKE_BUILD_TYPE)" = Release ] || skip "no release build" || return 1
    [ -e "$1" ] || { echo "$1 was not built" && return 1; }
    LC_ALL=C readelf -lW "$1" >"$work/segments" && LC_ALL=C readelf -dW "$1" >"$work/dynamic" && LC_ALL=C readelf --dyn-syms -W "$1" >"$work/symbols" || return 1
    grep -q ' GNU_RELRO ' "$work/segments" || { echo "$1: no RELRO" && return 1; }
    grep -Eq ' GNU_STACK .* RW +0x' "$work/segments" || { echo "$1: the stack is executable" && return 1; }
    grep -q 'Flags:.* NOW' "$work/dynamic" || { echo "$1: not bound at start" && return 1; }
    grep -q ' UND __stack_chk_fail' "$work/symbols" || { echo "$1: no stack protector" && return 1; }
    grep -q 'libc.so.6' "$work/dynamic" || return 0 # another C library may have no fortified calls
    grep -Eq ' UND __[a-z]+_chk' "$work/symbols" || { echo "$1: no fortified call" && return 1; }
}

library() { hardened "$build/libtilewright.so"; }
program() { hardened "$build/tilewright"; }
blas_library() { hardened "$build/libtilewright_blas.so"; }
system_blas() {
    [ -n "$(cached TILEWRIGHT_BLAS_BELOW)" ] || skip 'there is no BLAS below' || return 1
    hardened "$build/system-blas/libblas.so.3"
}

# A build folder of its own, of which only the commands are made: are these flags among them?
commands() { # COMPILER OPTION EXPECTED
    need "$1" || return 1
    [ -z "$(cached TILEWRIGHT_SANITIZE)" ] || skip 'the compilers are asked by the build without sanitizers' || return 1
    CC=$1 cmake -G 'Unix Makefiles' -S "$root" -B "$work/$1" -DTILEWRIGHT_TESTS=OFF -DTILEWRIGHT_HARDENING="$2" -DTILEWRIGHT_BLAS_BELOW=libbelow.so.0 || return 1
    for flag in -D_FORTIFY_SOURCE=2 -fstack-protector-strong; do
        found=$(grep -A1 '"command"' "$work/$1/compile_commands.json" | grep "/src/api.c" | grep -c -e " $flag ")
        [ "$found" -eq "$3" ] || { echo "$flag: $found times in the command for src/api.c, expected $3" && return 1; }
    done
    for target in tilewright tilewright_shared tilewright_blas tilewright_system_blas; do
        found=$(grep -c -e '-Wl,-z,relro,-z,now' "$work/$1/CMakeFiles/$target.dir/link.txt")
        [ "$found" -eq "$3" ] || { echo "-z relro -z now: $found times in the command that links $target, expected $3" && return 1; }
    done
}

by_gcc() { commands gcc ON 1; }
by_clang() { commands clang ON 1; }
switched_off() { commands cc OFF 0; }

run_cases
