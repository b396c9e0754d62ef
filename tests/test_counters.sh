#!/bin/sh
# test_counters.sh - tools/counters.sh without a GPU: its reader on a canned file, and its way through fakes of ncu, nvidia-smi and the
# program. Prints TAP.
set -u

cases='reader every_rung one_rung no_permission no_ncu'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

mkdir "$work/bin" "$work/none"
for tool in sh sed awk grep paste tr head tail mktemp rm mkdir cat cp wc dirname python3; do ln -s "$(command -v $tool)" "$work/none/$tool"; done
printf '#!/bin/sh\necho "NVIDIA Fake 1"\n' >"$work/bin/nvidia-smi"
tilewright=${TILEWRIGHT:-$build/tilewright}
# shellcheck disable=SC2016 # "$1" is the fake's own
printf '#!/bin/sh\n[ "$1" != explain ] || exec "%s" "$@"\n' "$tilewright" >"$work/bin/program" # the model's own word, no launch
# Knows an old counter alone where there are two; counts 8 sectors per request of each kernel, and one wavefront per instruction.
cat >"$work/bin/ncu" <<'SH'
#!/bin/sh
case $1 in --version) echo 'Version 2025.3.0.0 (build 1)' && exit 0 ;; esac
if [ "$1" = --query-metrics ]; then
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "other__counter_$i  Counter  # nothing"; done
    for name in l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__t_requests_pipe_lsu_mem_global_op_ld smsp__inst_executed_op_shared_ld \
        l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st smsp__inst_executed_op_shared_st; do
        echo "$name  Counter  # counts"
    done
    exit 0
fi
log='' metrics='' kernel=''
while [ $# -gt 0 ]; do
    case $1 in --log-file) log=$2 ;; --metrics) metrics=$2 ;; --kernel-name) kernel=$2 ;; esac
    shift
done
echo "$kernel $metrics" >>"$FAKE_NCU"
[ -n "${FAKE_DENY:-}" ] && echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' >"$log" && exit 1
echo '"ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"' >"$log"
for metric in $(echo "$metrics" | tr , ' '); do
    case $metric in *sectors*) value=8,000 ;; *) value=1,000 ;; esac
    echo "\"0\",\"$kernel\",\"(256, 256, 1)\",\"$metric\",\"\",\"$value\"" >>"$log"
done
SH
chmod +x "$work/bin/"*
export FAKE_NCU="$work/asked"

run() { PATH=$work/bin:$PATH "$root/tools/counters.sh" --program "$work/bin/program" --out "$work/records" "$@"; }

reader() { "$root/tools/counters.sh" --self-test; }

every_rung() { # 8 sectors is nobody's degree: OFF, and the exit status says so
    : >"$FAKE_NCU"
    run >"$work/printed" 2>"$work/said"
    [ $? -eq 1 ] || { cat "$work/printed" "$work/said" && return 1; }
    kernels=$(cd "$root/kernels/cuda" && ls ladder/[rs]*_*.cu sgemm_[!b]*.cu gemm_[!b]*.cu)
    rungs=$(echo "$kernels" | wc -l)
    for kernel in $kernels; do
        kernel=${kernel##*/} && kernel=${kernel%.cu}
        grep -q "^$kernel " "$FAKE_NCU" && grep -q "^$kernel " "$work/printed" || { echo "$kernel was not profiled" && return 1; }
    done
    [ "$(wc -l <"$work/records")" -ge "$rungs" ] && grep -q 'r02_tiled.* 16 .*8.000 (   10) OFF.*1.000 (    1)  ok.*1.000 (  4.5) OFF' "$work/printed" &&
        ! grep -q smsp__sass "$FAKE_NCU" || { cat "$work/printed" "$work/said" && return 1; }
}

one_rung() {
    : >"$FAKE_NCU"
    run --rung r04,s3 --tile 32 >"$work/printed" 2>"$work/said"
    [ "$(sed 's/ .*//' "$FAKE_NCU" | paste -sd, -)" = r04_banks,s3_shared_ab ] || { cat "$FAKE_NCU" && return 1; }
    python3 -c 'import json, sys; r = [json.loads(x) for x in open(sys.argv[1])]; assert [(x["rung"], x["tile"], x["k"]) for x in r] == [("r04_banks", 32, 4096), ("s3_shared_ab", 32, 32)], r' "$work/records"
}

no_permission() {
    FAKE_DENY=1 run --rung r04 >"$work/printed" 2>"$work/said"
    [ $? -eq 3 ] && grep -q 'counters are for root here' "$work/said" || { cat "$work/said" && return 1; }
}

no_ncu() {
    [ -x /usr/local/cuda/bin/ncu ] || ls /opt/nvidia/nsight-compute/*/ncu >/dev/null 2>&1 && { skip 'ncu is installed here' || return 1; }
    PATH=$work/none "$root/tools/counters.sh" >"$work/said" 2>&1
    [ $? -eq 3 ] && grep -q 'a CUDA toolkit has it' "$work/said" || { cat "$work/said" && return 1; }
}

run_cases "$(command -v python3 >/dev/null || echo 'python3 is not installed')"
