#!/bin/sh
# test_portability.sh - other systems are refused with the reason; with --full the tree builds, warnings as errors, and
# computes with clang, with musl, and for arm64 under qemu. Prints TAP; TILEWRIGHT_BUILD is the build folder.
set -u

cases='other_systems_are_refused'
case " $* " in *' --full '*) cases="$cases with_clang with_musl on_arm64" ;; esac
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

other_systems_are_refused() {
    for system in Darwin Windows FreeBSD; do
        if cmake -S "$root" -B "$work/$system" -DCMAKE_SYSTEM_NAME=$system >"$work/said" 2>&1; then
            echo "$system is not refused" && return 1
        fi
        tr -s ' \n' ' ' <"$work/said" >"$work/line"
        for word in "for Linux, not for $system." --version-script /proc 'sched_getaffinity()' 'dlopen()'; do
            grep -qF -e "$word" "$work/line" || { echo "$system: expected '$word'" && cat "$work/said" && return 1; }
        done
    done
}

emulator=''
programs='test_api test_bits test_kernels test_plans_cpu test_consumer test_blas test_level3 test_names64 test_triangle'

# made NAME COMPILER ARGUMENT ... - the program and the tests in $work/NAME
made() {
    made=$work/$1 compiler=$2 && shift 2
    # shellcheck disable=SC2086 # words on purpose, here and below
    CC=$compiler cmake -S "$root" -B "$made" -DTILEWRIGHT_WERROR=ON "$@" >"$work/log" 2>&1 &&
        cmake --build "$made" -j "$(nproc)" --target tilewright $programs >>"$work/log" 2>&1 ||
        { tail -n 60 "$work/log" && return 1; }
}

# passes PROGRAM ARGUMENT ... - no case fails, and some are not skipped
passes() {
    name=$1 && shift
    # shellcheck disable=SC2086
    OCL_ICD_VENDORS=/nowhere TILEWRIGHT_CACHE=off $emulator "$made/tests/$name" "$@" >"$work/log" 2>&1
    status=$? count=$(grep '^ok' "$work/log" | grep -vc '# SKIP')
    if [ $status -ne 0 ] || [ "$count" -eq 0 ]; then
        echo "$name $*: status $status, $count cases passed" && grep -A 3 '^not ok' "$work/log" | head -n 40
        return 1
    fi
    note "$name${*:+ $*}: $count cases passed"
}

# all_pass TEXT ... - test_kernels of each TEXT, and the other programs
all_pass() {
    for text in "$@"; do passes test_kernels --only "$text" || return 1; done
    for program in $programs; do
        [ "$program" = test_kernels ] || passes "$program" || return 1
    done
}

with_clang() { need clang && made clang clang && all_pass cpu_; }

# jansson and zlib, where this machine has them, are for its own C library, here and below.
with_musl() {
    command -v musl-gcc >/dev/null || skip "there is no musl-gcc (Debian: musl-tools)" || return 1
    made musl musl-gcc -DJANSSON_LIBRARY= -DZLIB_LIBRARY= || return 1
    readelf -lW "$made/tilewright" | grep -q ld-musl || { echo "the program is not musl's" && return 1; }
    all_pass cpu_
}

on_arm64() {
    prefix=aarch64-linux-gnu
    command -v $prefix-gcc >/dev/null || skip "there is no $prefix-gcc (Debian: gcc-$prefix)" || return 1
    qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
        skip "there is no qemu-aarch64 (Debian: qemu-user-static)" || return 1
    emulator="$qemu -L /usr/$prefix"
    made arm64 $prefix-gcc -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DJANSSON_LIBRARY= -DZLIB_LIBRARY= \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$(echo "$emulator" | tr ' ' ';')" || return 1
    $prefix-objdump -d "$made/tilewright" >"$work/code" || return 1
    for lanes in 4s 2d; do # every multiply-add is fused because the text says so
        grep -q "fmla.*\.$lanes" "$work/code" || { echo "no fmla of .$lanes" && return 1; }
    done
    all_pass simd_neon cpu_i cpu_f64_r
}

run_cases "$([ -z "$(cached TILEWRIGHT_SANITIZE)" ] || echo 'the build without sanitizers asks')"
