#!/bin/sh
# test_memcheck.sh - tools/memcheck.sh without a GPU: fakes of compute-sanitizer and of the test programs, of which one kernel is wrong in
# each way. Prints TAP.
set -u

cases='clean error_that_no_result_shows failed_case missing_results crash no_summary nothing_ran arguments'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

mkdir -p "$work/bin" "$work/build/tests"
# FAKE is what is wrong with cuda_b.
cat >"$work/bin/compute-sanitizer" <<'SH'
#!/bin/sh
echo "$*" >>"$ASKED"
while [ "$1" != --error-exitcode ]; do shift; done
code=$2 && shift 2
"$@"
status=$?
case $FAKE:$* in
error:*cuda_b\ *) echo "========= Invalid __global__ read of size 16 bytes" && echo "========= ERROR SUMMARY: 2 errors" && exit "$code" ;;
mute:*cuda_b\ *) exit $status ;;
esac
echo "========= ERROR SUMMARY: 0 errors"
exit $status
SH
cat >"$work/build/tests/test_kernels" <<'SH'
#!/bin/sh
name=$(basename "$0")
case $*:$name in
*--list*:test_kernels) echo "cuda_a nn 1x1x1" && echo "cuda_b nn 1x1x1" && echo "cuda_b tn 1x1x1" && echo "cuda_bb nn 1x1x1" && echo "opencl_a nn 1x1x1" && exit ;;
esac
case $FAKE:$* in
none:*) echo "ok 1 - nn # SKIP no device" && echo "1..1" && exit ;;
failed:*cuda_b\ *) echo "not ok 1 - nn" && echo "1..1" && exit 1 ;;
missing:*cuda_b\ *) echo "ok 1 - nn" && echo "1..2" && exit ;;
crash:*cuda_b\ *) kill -SEGV $$ ;;
esac
echo "ok 1 - nn" && echo "ok 2 - tn # SKIP not here" && echo "1..2"
SH
chmod +x "$work/bin/compute-sanitizer" "$work/build/tests/test_kernels"
cp "$work/build/tests/test_kernels" "$work/build/tests/test_batch"
export ASKED="$work/asked"

# run FAKE STATUS LAST ARGUMENT ... - the tool's exit status and last line.
run() {
    fake=$1 expected=$2 last=$3 && shift 3
    : >"$ASKED"
    FAKE=$fake PATH="$work/bin:$PATH" "$root/tools/memcheck.sh" --build "$work/build" --jobs 2 --keep "$work/logs" "$@" >"$work/said" 2>&1
    status=$?
    [ $status -eq "$expected" ] && [ "$(tail -n 1 "$work/said")" = "$last" ] && return
    echo "exit status $status" && cat "$work/said" && return 1
}
said() { grep -qE "$1" "$work/said" || { cat "$work/said" && return 1; }; }

clean() {
    run '' 0 '4 clean, 0 failed, 0 skipped' && said '^clean +cuda_bb +1 cases  ERROR SUMMARY: 0 errors$' && [ "$(grep -c -e '--part 1/16' "$ASKED")" = 4 ] &&
        grep -q -e '--only cuda_b  --part' "$ASKED" && # with a space behind the name: not cuda_bb
        run '' 0 '2 clean, 0 failed, 0 skipped' --only _b --full --tool racecheck && ! grep -q -e --part "$ASKED" && grep -q '^--tool racecheck' "$ASKED"
}
error_that_no_result_shows() { run error 1 '3 clean, 1 failed, 0 skipped' && said '^FAILED +cuda_b +1 cases  ERROR SUMMARY: 2 errors, exit status 9' && said 'Invalid __global__ read'; }
failed_case() { run failed 1 '3 clean, 1 failed, 0 skipped' && said '^FAILED +cuda_b .*exit status 1' && said '^ +not ok 1 - nn$'; }
missing_results() { run missing 1 '3 clean, 1 failed, 0 skipped' && said '^FAILED +cuda_b .*1 of 2 results$'; }
crash() { run crash 1 '3 clean, 1 failed, 0 skipped' && said '^FAILED +cuda_b .*0 of 0 results$'; }
no_summary() { run mute 1 '3 clean, 1 failed, 0 skipped' && said '^FAILED +cuda_b +1 cases  no summary'; }

nothing_ran() {
    run none 3 '0 clean, 0 failed, 4 skipped' && said '^skipped cuda_a +0 cases  no device$' || return 1
    mkdir -p "$work/none" && for tool in sh dirname nproc; do ln -sf "$(command -v $tool)" "$work/none/$tool"; done
    PATH=$work/none "$root/tools/memcheck.sh" --build "$work/build" >"$work/said" 2>&1
    [ $? -eq 3 ] && said 'compute-sanitizer is not on PATH' && run '' 3 "memcheck: $work/other/tests/test_kernels is not there: ./dev build builds it" --build "$work/other"
}

arguments() {
    run '' 2 "memcheck: --tool: found 'none', expected memcheck, initcheck, racecheck or synccheck" --tool none &&
        run '' 2 "memcheck: --jobs: found '0', expected a whole number from 1" --jobs 0 && run '' 2 'memcheck: --only needs a value' --only &&
        run '' 2 "memcheck: no CUDA kernel's name contains 'kernels'" --only kernels && run '' 2 'memcheck: unknown option --all; --help lists them' --all
}

run_cases
