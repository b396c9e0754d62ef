#!/bin/sh
# test_portable.sh - the folder of ./dev build --portable: copied elsewhere, run with no environment, its libraries found beside it and
# nothing of the build folder; and what must be refused. Prints TAP; TILEWRIGHT_BUILD is the build folder.
set -u

cases='made_and_moved libraries_lie_beside program_runs gpu_cases_are_counted tests_fail_visibly refusals'
in_order=1
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

moved=$work/else/where
bare() { (cd / && env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH= "$@"); }

made_and_moved() {
    "$root/tools/portable.sh" "$build" "$work/made" || return 1
    mkdir "$work/else" && mv "$work/made" "$moved" || return 1
    "$root/tools/portable.sh" "$build" "$moved" # once more into its own
}

# What glibc does not bring is in the folder, and the loader takes it from there.
libraries_lie_beside() {
    for program in "$moved/tilewright" "$moved"/tests/test_kernels "$moved"/tests/test_consumer "$moved"/tests/test_blas "$moved"/tests/test_lab_measure; do
        [ -x "$program" ] || continue
        bare ldd "$program" >"$work/ldd" || return 1
        ! grep 'not found' "$work/ldd" || return 1
        ! awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread)\.so/ { print $3 }' "$work/ldd" | grep -v "^$moved/" || { echo "$program takes that from elsewhere" && return 1; }
    done
    bare ldd "$moved/tests/test_consumer" | grep -F "$moved/" | grep -q libtilewright.so.0 || { echo "test_consumer does not use the folder's library" && return 1; }
    bare "$moved/tests/test_consumer" && bare "$moved/tests/test_blas" --only 8x8x8
}

program_runs() { bare "$moved/tilewright" version && bare "$moved/tilewright" explain r04 --gpu H200 | grep -q '^r04_banks'; }

# Without drivers every case is skipped, none is lost, and the reason is told.
gpu_cases_are_counted() {
    bare OCL_ICD_VENDORS=/nowhere CUDA_VISIBLE_DEVICES= "$moved/tests/run.sh" --only kernels "$moved" -- --gpu >"$work/kernels"
    bare OCL_ICD_VENDORS=/nowhere CUDA_VISIBLE_DEVICES= "$moved/tests/run.sh" --only strides "$moved" -- --gpu >"$work/strides"
    bare OCL_ICD_VENDORS=/nowhere CUDA_VISIBLE_DEVICES= "$moved/tests/run.sh" --only devices "$moved" -- --full >"$work/devices"
    bare "$moved/tests/run.sh" --list --only kernels "$moved" -- --gpu >"$work/list"
    ! grep -v -e ' cuda_' -e ' opencl_' "$work/list" || { echo "these cases need no device" && return 1; }
    tail -n 1 "$work/kernels" | grep -qx "0 passed, 0 failed, $(wc -l <"$work/list") skipped" || { cat "$work/kernels" && return 1; }
    grep -q 'skipped [0-9]*: no cuda device: ' "$work/kernels" && grep -q 'skipped [0-9]*: no opencl device: ' "$work/strides" || return 1
    tail -n 1 "$work/devices" | grep -qx '2 passed, 0 failed, 2 skipped' || { cat "$work/devices" && return 1; }
}

# A program of the folder that is broken is a failure.
tests_fail_visibly() {
    cp -a "$moved" "$work/broken" && rm "$work/broken/libtilewright.so.0" || return 1
    ! bare "$work/broken/tests/run.sh" --only consumer "$work/broken" >"$work/told" || return 1
    tail -n 1 "$work/told" | grep -qx '0 passed, 1 failed, 0 skipped' || { cat "$work/told" && return 1; }
}

refused() { # SAYS COMMAND ...
    says=$1 && shift
    ! "$@" >"$work/said" 2>&1 || { echo "$*: was not refused" && return 1; }
    grep -qF -- "$says" "$work/said" || { cat "$work/said" && return 1; }
}

refusals() {
    mkdir "$work/full" && touch "$work/full/mine" || return 1
    refused 'is there, and no such folder' "$root/tools/portable.sh" "$build" "$work/full" && [ "$(ls "$work/full")" = mine ] || return 1
    refused 'was not built' "$root/tools/portable.sh" "$work" "$work/new" && [ ! -e "$work/new" ] || return 1
    refused '--portable goes with --gpu' "$root/dev" test --portable "$moved" || return 1
    refused 'has no tests/programs' "$root/dev" test --gpu --portable "$work/full"
}

run_cases "$([ -z "$(cached TILEWRIGHT_SANITIZE)" ] || echo 'a build with sanitizers is not copied')"
