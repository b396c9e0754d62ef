#!/bin/sh
# counters.sh - ./dev counters: what the hardware counted while each rung of the CUDA ladder ran once, beside what its subscripts say.
#
#   tools/counters.sh [--size N] [--rung R,...] [--tile T,...] [--program PATH] [--out FILE] [--keep FOLDER] [--self-test]
#
# Nsight Compute (ncu) profiles the first launch of each rung that `tilewright ladder` makes, at the size that is verified. Printed per
# rung: sectors per global load request, wavefronts per shared load and per shared store, averages over a rung's instructions of that kind,
# each with the access model's prediction (`tilewright explain`); DRAM and L2 bytes, share of cycles that issue, use of the FMA pipe. FILE gets one JSON record per rung. --keep leaves ncu's own files in FOLDER. --self-test reads a canned file instead: no GPU.
# Exit status: 0, 1 a degree is off by more than 5 %, 2 usage, 3 nothing to measure with.
set -u

say() { echo "counters: $*" >&2; }
root=$(cd "$(dirname "$0")/.." && pwd) || exit 3
program=$root/build/tilewright size=4096 rungs='' tiles=16,32 out='' keep='' self_test=''
while [ $# -gt 0 ]; do
    case $1 in
    --self-test) self_test=1 ;;
    --size | --rung | --tile | --program | --out | --keep)
        [ $# -gt 1 ] || { say "$1 needs a value" && exit 2; }
        case $1 in
        --size) size=$2 ;; --rung) rungs=$2 ;; --tile) tiles=$2 ;; --program) program=$2 ;; --out) out=$2 ;; --keep) keep=$2 ;;
        esac
        shift
        ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" || : && exit 0 ;;
    *) say "unknown option $1; --help lists them" && exit 2 ;;
    esac
    shift
done

python=$(command -v python3) || { say "python3 is not installed" && exit 3; }
work=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-counters.XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ -n "$keep" ] && mkdir -p "$keep"

# The rungs, each with the kernel's own name, and whether its tile is chosen (t), is k (k), or neither (-).
cat >"$work/rungs" <<'TABLE'
r01 r01_naive t
r01u r01u_uncached t
r02 r02_tiled t
r03 r03_coalesced t
r03t r03t_transposed t
r04 r04_banks t
r04d r04d_divergence t
r05 r05_outer -
r06 r06_unrolled -
r07 r07_prefetch -
r08 r08_coarsened -
r09 r09_wide -
r10 r10_register -
r10s r10s_scalar -
r11 r11_warp -
r11a r11a_ring -
r11b r11b_boxes -
r11c r11c_swizzle -
r12 r12_async -
r12a r12a_producer -
r12b r12b_persistent -
r12c r12c_store -
r12d r12d_streamk -
r12e r12e_multicast -
r12f r12f_cluster -
r12g r12g_launch -
r12h r12h_registers -
r12i r12i_mma -
r12j r12j_wgmma -
r13 r13_matrix -
r13a r13a_pingpong -
r13b r13b_swapped -
r13f r13f_f64 -
r13i r13i_int8 -
r13q r13q_fp8 -
r13m r13m_mma -
sgemm_simt sgemm_simt -
sgemm_cpasync_sm80 sgemm_cpasync_sm80 -
sgemm_tma_sm90_128x128 sgemm_tma_sm90 -
sgemm_tma_sm90_128x64 sgemm_tma_sm90 -
sgemm_emulated_sm90_128x128 sgemm_emulated_sm90 -
sgemm_slicedk_sm80_64x32 sgemm_slicedk_sm80 -
sgemm_slicedk_sm80_64x64 sgemm_slicedk_sm80 -
sgemm_slicedk_sm80_32x16 sgemm_slicedk_sm80 -
sgemm_slicedk_sm80_16x32 sgemm_slicedk_sm80 -
sgemm_slicedk_sm80_32x4 sgemm_slicedk_sm80 -
sgemm_slicedk_sm80_4x128 sgemm_slicedk_sm80 -
sgemm_slicedk_tma_sm90_64x128 sgemm_slicedk_tma_sm90 -
sgemm_slicedk_tma_sm90_64x32 sgemm_slicedk_tma_sm90 -
gemm_wgmma_sm90_128x128 gemm_wgmma_sm90 -
gemm_swapab_sm90_16x128 gemm_swapab_sm90 -
gemm_fp8_sm90_256x128 gemm_fp8_sm90 -
gemm_thin_sm80_8x128 gemm_thin_sm80 -
gemm_inplace_sm80_64x64 gemm_inplace_sm80 -
gemm_mma_sm80_128x128 gemm_mma_sm80 -
gemm_simt_64x64 gemm_simt -
d1 d1_splitk t
s1 s1_unoptimised k
s2 s2_shared_a k
s3 s3_shared_ab k
TABLE

# What is counted: a name for it, then the counters that may have it, the best first.
cat >"$work/metrics" <<'TABLE'
load_sectors l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
load_requests l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
shared_load_wavefronts smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
shared_load_instructions smsp__sass_inst_executed_op_shared_ld.sum smsp__inst_executed_op_shared_ld.sum
shared_store_wavefronts smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
shared_store_instructions smsp__sass_inst_executed_op_shared_st.sum smsp__inst_executed_op_shared_st.sum
shared_load_conflicts l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
shared_store_conflicts l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
dram_read_bytes dram__bytes_read.sum
l2_bytes lts__t_bytes.sum
l1_hit_sectors l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
l2_asked_sectors lts__t_sectors_srcunit_tex.sum
l2_crossing_sectors lts__t_sectors_srcunit_ltcfabric.sum
branches smsp__sass_branch_targets.sum
divergent_branches smsp__sass_branch_targets_threads_divergent.sum
issue_percent smsp__issue_active.avg.pct_of_peak_sustained_active sm__inst_issued.avg.pct_of_peak_sustained_active
fma_percent sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active
sm_hz sm__cycles_elapsed.avg.per_second
duration_ns gpu__time_duration.sum
TABLE

# predict RUNG NAME OPTION ... - what the access model says of this launch, into NAME.json.
predict() {
    rung=$1 name=$2 && shift 2
    "$program" explain "$rung" --engine cuda --gpu H200 --json - "$@" >"$work/$name.json" 2>"$work/explain" || {
        say "no prediction for $rung:" && cat "$work/explain" >&2 && exit 3
    }
}

# table FOLDER RECORDS - reads FOLDER/<rung>-<tile>.csv, prints the table, appends records.
table() {
    "$python" - "$1" "$2" "$work" "$size" "${device:-unknown}" "${ncu_version:-unknown}" "$root" <<'PYTHON'
import csv, glob, json, os, re, sys, time

folder, records, work, size, device, version, root = sys.argv[1:]

def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None

def read(path):
    """The counters of the one launch in a file of `ncu --csv`: metric -> value, and the grid."""
    lines = [line for line in open(path, errors="replace") if not line.startswith("==")]
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}, None
    found, grid, first = {}, None, None
    for row in csv.DictReader(lines[start:]):
        if first is None:
            first = row["ID"]
        if row["ID"] == first and row.get("Metric Name"):
            found[row["Metric Name"]] = number(row.get("Metric Value") or "")
            grid = row.get("Grid Size")
    return found, grid

names = [line.split() for line in open(os.path.join(work, "metrics"))]
rungs = {w[0]: w for w in (line.split() for line in open(os.path.join(work, "rungs")))}

def value(found, wanted):
    for name, *counters in names:
        if name == wanted:
            return next((found[c] for c in counters if found.get(c) is not None), None)

def ratio(found, above, below):
    x, y = value(found, above), value(found, below)
    return x / y if x is not None and y else None

def said(name):
    """The access model's averages; None where it says nothing."""
    model = json.load(open(os.path.join(work, name + ".json")))
    return [model[what] for what in ("sectors_per_load", "bank_degree_load", "bank_degree_store")]

def shown(measured, predicted):
    if measured is None:
        return "      -            "
    mark = " " if predicted is None else "  ok" if abs(measured - predicted) <= 0.05 * predicted else " OFF"
    return f"{measured:7.3f} ({'-' if predicted is None else format(predicted, '.3g'):>5}){mark:>4}"

order = {rung: i for i, rung in enumerate(rungs)}
files = sorted(glob.glob(os.path.join(folder, "*.csv")), key=lambda p: (order.get(os.path.basename(p).split("-")[0], 99), p))
off = seen = 0
print(f"{'rung':<16} {'T':>3}  {'sectors per load':<18} {'shared load':<18} {'shared store':<18} {'DRAM read':>10} {'L2':>10} {'issue':>6} {'FMA':>6} {'divergent':>9} {'time':>9}")
for path in files:
    name = os.path.basename(path)[:-4]
    rung, tile = name.split("-")
    found, grid = read(path)
    if not found:
        print(f"{rungs[rung][1]:<16} {tile:>3}  no counters: see {path}")
        off += 1
        continue
    seen += 1
    degrees = [ratio(found, "load_sectors", "load_requests"), ratio(found, "shared_load_wavefronts", "shared_load_instructions"),
               ratio(found, "shared_store_wavefronts", "shared_store_instructions")]
    wanted = said(name)
    cells = [shown(d, w) for d, w in zip(degrees, wanted)]
    off += sum("OFF" in c for c in cells) + sum(d is None and w is not None for d, w in zip(degrees, wanted))
    def unit(x, by, form, end):
        return "-" if x is None else format(x / by, form) + end
    def share(part, whole):
        return "-" if part is None or not whole else format(100 * part / whole, ".3f") + "%"
    v = {name: value(found, name) for name, *_ in names}
    print(f"{rungs[rung][1]:<16} {tile if tile != '0' else '-':>3}  {cells[0]} {cells[1]} {cells[2]} {unit(v['dram_read_bytes'], 1e9, '.3f', ' GB'):>10} "
          f"{unit(v['l2_bytes'], 1e9, '.1f', ' GB'):>10} {unit(v['issue_percent'], 1, '.1f', '%'):>6} {unit(v['fma_percent'], 1, '.1f', '%'):>6} "
          f"{share(v['divergent_branches'], v['branches']):>9} "
          f"{unit(v['duration_ns'], 1e6, '.3f', ' ms'):>9}")
    if records:
        k = int(tile) if rungs[rung][2] == "k" else int(size)
        record = {"engine": "cuda", "device": device, "rung": rungs[rung][1], "m": int(size), "n": int(size), "k": k,
                  "tile": int(tile), "method": f"ncu {version} --clock-control none, first launch", "grid": grid,
                  "sectors_per_load": degrees[0], "bank_degree_load": degrees[1], "bank_degree_store": degrees[2],
                  "sectors_per_load_predicted": wanted[0], "bank_degree_load_predicted": wanted[1], "bank_degree_store_predicted": wanted[2]}
        record.update(v)
        record["counters"] = found
        record["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with open(records, "a") as out:
            out.write(json.dumps(record) + "\n")
print("\nmeasured (predicted): averages over a rung's instructions of that kind; ok within 5 %, OFF beyond. L2 counts what its slices moved.\n"
      "divergent: of a warp's branches those whose lanes went different ways.")
if seen == 0:
    print("nothing was measured")
sys.exit(3 if seen == 0 else 1 if off else 0)
PYTHON
}

if [ -n "$self_test" ]; then
    mkdir "$work/canned"
    # As ncu writes it: talk, a header, thousands with commas, one row per counter; a second launch that does not count.
    cat >"$work/canned/r02-16.csv" <<'CSV'
==PROF== Connected to process 4242 (/build/tilewright)
==PROF== Profiling "r02_tiled": 0%....50%....100% - 3 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","2,684,354,560"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","","268,435,456"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum","","4,294,967,296"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","smsp__inst_executed_op_shared_ld.sum","inst","4,294,967,296"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum","","1,342,177,280"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","smsp__inst_executed_op_shared_st.sum","inst","268,435,456"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","1.25e+09"
"0","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","smsp__issue_active.avg.pct_of_peak_sustained_active","%","n/a"
"1","4242","tilewright","127.0.0.1","r02_tiled","1","13","(16, 16, 1)","(256, 256, 1)","0","9.0","Command line profiler metrics","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","sector","1"
CSV
    echo '{"sectors_per_load": 10, "bank_degree_load": 1, "bank_degree_store": 4.5}' >"$work/r02-16.json"
    echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' >"$work/canned/r04-16.csv"
    printed=$(table "$work/canned" "$work/records")
    status=$?
    expect() { printf '%s\n' "$1" | grep -qE -- "$2" || { say "self-test: \"$2\" is not in:" && printf '%s\n' "$1" >&2 && exit 1; }; }
    expect "$printed" 'r02_tiled +16 +10\.000 \( +10\) +ok +1\.000 \( +1\) +ok +5\.000 \( +4\.5\) +OFF +1\.250 GB +- +- '
    expect "$printed" 'r04_banks +16 +no counters'
    expect "$(cat "$work/records")" '"rung": "r02_tiled".*"sectors_per_load": 10\.0, "bank_degree_load": 1\.0, "bank_degree_store": 5\.0'
    [ "$status" -eq 1 ] || { say "self-test: exit status $status, expected 1" && exit 1; }
    [ "$(wc -l <"$work/records")" -eq 1 ] || { say "self-test: more than one record" && exit 1; }
    echo "self-test passed"
    exit 0
fi

# ---- measuring ----

ncu=$(command -v ncu || true)
for place in /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu; do [ -z "$ncu" ] && [ -x "$place" ] && ncu=$place; done
[ -n "$ncu" ] || { say "ncu (Nsight Compute) was not found: a CUDA toolkit has it" && exit 3; }
[ -x "$program" ] || { say "$program is not there: ./dev build makes it" && exit 3; }
ncu_version=$("$ncu" --version | sed -n 's/^Version \([0-9.]*\).*/\1/p')
device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "$device" ] || { say "nvidia-smi shows no GPU" && exit 3; }
say "$device, ncu $ncu_version"
if [ -z "$out" ]; then
    out=$root/results/$(echo "$device" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')/counters-$size.jsonl
fi
mkdir -p "$(dirname "$out")" && : >"$out" || exit 3

# Of each line the first counter that this ncu knows; the last one, which is the oldest, if it does not say what it knows.
"$ncu" --query-metrics >"$work/known" 2>/dev/null
metrics=$(awk -v known="$work/known" '
    BEGIN { while ((getline line < known) > 0) { split(line, word, " "); if (word[1] ~ /__/) { has[word[1]] = 1; count++ } } }
    count < 20 { print $NF; next }
    { for (i = 2; i <= NF; i++) { base = $i; sub(/\..*/, "", base); if (base in has) { print $i; break } } }' "$work/metrics" | paste -sd, -)

# profile RUNG KERNEL NAME OPTION ... - the first launch of the kernel into NAME.csv.
mkdir "$work/csv"
profile() {
    rung=$1 kernel=$2 name=$3 && shift 3
    say "$kernel $*"
    "$ncu" --clock-control none --csv --print-units base --metrics "$metrics" --kernel-name "$kernel" --launch-count 1 --kill yes \
        --log-file "$work/csv/$name.csv" "$program" ladder --engine cuda --rung "$rung" --samples 1 "$@" >"$work/$name.out" 2>&1 </dev/null
    grep -q '^"ID"' "$work/csv/$name.csv" 2>/dev/null || {
        say "no counters of $kernel; ncu and the program said:"
        tail -n 5 "$work/csv/$name.csv" "$work/$name.out" >&2
        grep -q ERR_NVGPUCTRPERM "$work/csv/$name.csv" 2>/dev/null &&
            say "counters are for root here, or for all with NVreg_RestrictProfilingToAdminUsers=0" && exit 3
    }
    [ -n "$keep" ] && cp "$work/csv/$name.csv" "$work/$name.out" "$keep"
}

for wanted in $(echo "$rungs" | tr , ' '); do
    awk -v wanted="$wanted" '$1 == wanted || $2 == wanted { found = 1 } END { exit !found }' "$work/rungs" ||
        { say "--rung $wanted: no such rung; there are: $(awk '{ printf "%s ", $1 }' "$work/rungs")" && exit 2; }
done
while read -r rung kernel kind; do
    case ",${rungs:-$rung}," in *",$rung,"* | *",$kernel,"*) ;; *) continue ;; esac
    [ -e "$root/kernels/cuda/$kernel.cu" ] || [ -e "$root/kernels/cuda/ladder/$kernel.cu" ] || continue
    if [ "$kind" = - ]; then
        predict "$rung" "$rung-0" --shape "${size}x${size}x$size"
        profile "$rung" "$kernel" "$rung-0" --size "$size"
    else
        for tile in $(echo "$tiles" | tr , ' '); do
            if [ "$kind" = t ]; then
                predict "$rung" "$rung-$tile" --shape "${size}x${size}x$size" --tile "$tile"
                profile "$rung" "$kernel" "$rung-$tile" --size "$size" --tile "$tile"
            else
                predict "$rung" "$rung-$tile" --shape "${size}x${size}x$tile"
                profile "$rung" "$kernel" "$rung-$tile" --shape "${size}x${size}x$tile"
            fi
        done
    fi
done <"$work/rungs"
table "$work/csv" "$out"
status=$?
say "records: $out"
exit $status
