#!/bin/sh
# test_devices.sh - what a user runs first on a machine with a GPU: doctor, devices, and the self test of each GPU engine. An engine
# without a device is skipped with its own sentence. Prints TAP; TILEWRIGHT is the program. Without --gpu or --full what
# test_cli runs too is left to it: doctor, devices, and OpenCL's self test, there of f32, since each form is compiled.
set -u

cases='selftest_cuda'
case " $* " in *' --full '* | *' --gpu '*) cases='doctor devices selftest_cuda selftest_opencl' ;; esac
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"
program=${TILEWRIGHT:-$build/tilewright}

# says WORD ... - runs the program; a self test with exit status 3 had no device and says so in its last line.
says() {
    "$program" "$@" >"$work/said" 2>&1
    status=$?
    case $1:$status in selftest:3) skip "$(tail -n 1 "$work/said")" || return 1 ;; esac
    [ $status -eq 0 ] || { echo "exit status $status" && cat "$work/said" && return 1; }
}

engines() { says "$1" && sed -n 's/^engine /engine /p' "$work/said" | while read -r line; do note "$line"; done; }
doctor() { engines doctor; }
devices() { engines devices; }

selftest() { says selftest --engine "$1" && note "$(tail -n 1 "$work/said")"; }
selftest_cuda() { selftest cuda; }
selftest_opencl() { selftest opencl; }

run_cases
