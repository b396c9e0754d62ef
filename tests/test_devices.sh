#!/bin/sh
# test_devices.sh - what a user runs first on a machine with a GPU: doctor, devices, and the self test of each GPU engine. An engine
# without a device is skipped with its own sentence. Prints TAP; TILEWRIGHT is the program.
set -u

program=${TILEWRIGHT:-$(dirname "$0")/../build/tilewright}
cases='doctor devices selftest_cuda selftest_opencl'
# shellcheck disable=SC2086 # words on purpose
case " $* " in *' --list '*) printf '%s\n' $cases && exit 0 ;; esac

work=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-devices.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

number=0 failed=0
for name in $cases; do
    number=$((number + 1))
    case $name in
    selftest_*) "$program" selftest --engine "${name#*_}" >"$work/output" 2>&1 ;;
    *) "$program" "$name" >"$work/output" 2>&1 ;;
    esac
    status=$?
    case $name:$status in
    doctor:0 | devices:0) echo "ok $number - $name" && sed -n 's/^engine /# engine /p' "$work/output" ;;
    selftest_*:0) echo "ok $number - $name: $(tail -n 1 "$work/output")" ;;
    selftest_*:3) echo "ok $number - $name # SKIP $(tail -n 1 "$work/output")" ;;
    *)
        failed=$((failed + 1))
        echo "not ok $number - $name"
        echo "# exit status $status"
        sed 's/^/# /' "$work/output"
        ;;
    esac
done
echo "1..$number"
[ $failed -eq 0 ]
