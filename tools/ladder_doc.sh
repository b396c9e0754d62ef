#!/bin/sh
# ladder_doc.sh - writes docs/LADDER.md and docs/KERNELS.md: the rungs, and the production kernels, by the rows of kernels/kernels.def as
# kernels/rows.def prints them, the comment at the head of each kernel's file, and the committed records; docs/ladder.svg, the chart of those
# records; and docs/speed.svg, whole products in f32 over sizes beside other libraries, a picture for each machine.
# With --check it writes nothing and fails if a file is not what it would write. $TILEWRIGHT: the program of a build folder, which draws; default build/tilewright.
set -eu
cd "$(dirname "$0")/.."
program=${TILEWRIGHT:-build/tilewright}
shown='results/nvidia-h200/ladder-4096.jsonl results/nvidia-h200/ladder-cpu-4096.jsonl' # the first machine's bars are the chart
library=results/nvidia-h200/cublas-f32.jsonl # at the end of its ladder
beside='results/nvidia-h200/cublas/small.jsonl results/nvidia-h200/cublas/f32.jsonl results/intel-xeon-16/cpu-tables-shares.jsonl
    results/amd-epyc-2/cpu-tables.jsonl' # of the CPUs' tables those of all threads, on a GPU operands that no cache holds
new=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-docs.XXXXXX")
trap 'rm -rf "$new"' EXIT

# as CMakeLists.txt makes kernels/rows.txt of a build folder
${CC:-cc} -E -P -DEVERY_MACHINE -x c kernels/rows.def | tr '\n' ' ' | sed 's/" *"//g; s/@ /\n/g' >"$new/rows"
[ "$(grep -c . "$new/rows")" -eq "$(grep -c 'IDEA(".*SOURCE("\|SOURCE(".*IDEA("' "$new/rows")" ] || {
    echo 'kernels.def: a row has no IDEA or no SOURCE' >&2
    exit 1
}

# rows WHAT ENGINE AWK-PROGRAM - of each such row: types "bf16, f16", name, the numbers behind it as word[2] ..., idea, source, formerly
rows() {
    awk "function text(field, from) {
            from = index(\$0, field \"(\\\"\")
            return from ? substr(\$0, from + length(field) + 2, index(substr(\$0, from + length(field) + 2), \"\\\")\") - 1) : \"\"
        }
        /^($1) ($2) / {
            types = name = \$0
            sub(/^[^(]*\\(/, \"\", types); sub(/\\).*/, \"\", types)
            sub(/^[^)]*\\) /, \"\", name); split(name, word, \" \"); name = word[1]
            idea = text(\"IDEA\"); source = text(\"SOURCE\"); formerly = \"\"
            if (match(\$0, /FORMERLY[^)]*/)) { formerly = substr(\$0, RSTART, RLENGTH); sub(/.*[( ]/, \"\", formerly) }
            $3
        }" "$new/rows"
}
names() { rows "$1" "$2" 'print name' | awk '!seen[$0]++'; }

# head_of FILE - the comment at the head of the file, without its stars
head_of() {
    awk 'NR == 1 && !/^\/\*/ { exit }
        { last = /\*\/ *$/; sub(/^( \*|\/\*) ?/, ""); sub(/ *(\*\/)? *$/, ""); print }
        last { exit }' "$1"
}

fence() { printf '```text\n' && cat && printf '```\n'; }

# other_words CUDA-HEAD OPENCL-HEAD - the sentences and the lines of pictures that OpenCL's head alone has, below their labels. Words that each
# language has for the same thing do not count.
other_words() {
    awk '
        function plain(text) {
            gsub(/ +/, " ", text); sub(/^ /, "", text); text = tolower(text)
            gsub(/work-item/, "thread", text); gsub(/lanes/, "threads", text); gsub(/work-group|group/, "block", text)
            gsub(/local/, "shared", text); gsub(/\.clh/, ".cuh", text); gsub(/blockidx\.x/, "the block'"'"'s x", text)
            gsub(/barrier\(clk_shared_mem_fence\)/, "__syncthreads()", text); gsub(/ threads/, "", text)
            return text
        }
        function fill(text,    count, words, line, i) { # in lines of 116, behind the label or ten blanks
            count = split(text, words, " ")
            line = sprintf("%-9s", label); label = ""
            for (i = 1; i <= count; i++) {
                if (length(line " " words[i]) > 116) { print line; line = sprintf("%-9s", "") }
                line = line " " words[i]
            }
            print line
        }
        function keep(text, prose) {
            if (first) known[part, plain(text)] = 1
            else if (!((part, plain(text)) in known)) {
                if (prose) new = new (new != "" ? " " : "") text
                else { end(); print label != "" ? sprintf("%-9s", label) substr(text, 10) : text; label = "" }
            }
        }
        function end() { if (new != "") fill(new); new = "" }
        function sentences() {
            while (match(text, /[.] [A-Za-z(]/)) { keep(substr(text, 1, RSTART), 1); text = substr(text, RSTART + 2) }
            if (text != "") keep(text, 1)
            text = ""
        }
        FNR == 1 { sentences(); first = FILENAME == ARGV[1]; part = label = "" }
        /^[A-Z]+ / { sentences(); end(); part = label = $1; sub(/^[A-Z]+/, ""); $0 = substr("          ", 1, length(part)) $0 }
        /^          [^ ]/ { text = text (text != "" ? " " : "") substr($0, 11); next }
        { sentences() }
        part != "" && /[^ ]/ { keep($0, 0) }
        END { sentences(); end() }' "$1" "$2"
}

# on_the_cpu FILE - the counterpart in short: its title, NUMBERS, CHANGED and SOURCE; a production kernel's head is whole
on_the_cpu() {
    head_of "$1" >"$new/cpu"
    grep -q ' - rung ' "$new/cpu" || { printf '\nOn the CPU:\n\n' && fence <"$new/cpu" && return; }
    printf '\nOn the CPU: %s\n\n' "$(awk '!NF { exit } { print }' "$new/cpu" | sed '1s/.* - rung [0-9]*: //')"
    awk '/^[A-Z]/ { shown = /^(NUMBERS|CHANGED|SOURCE) / } /^[a-z]/ { shown = 0 } shown' "$new/cpu" | fence
}

# section NAME FOLDER - a rung or a family once: CUDA's head, what differs in OpenCL, the CPU's counterpart. Where there is no CUDA, the CPU's or
# OpenCL's head.
section() {
    printf '\n### %s\n\n' "$1"
    cuda=kernels/cuda/$2$1.cu opencl=kernels/opencl/$2$1.cl cpu=kernels/cpu/$2$1.c links=''
    for file in "CUDA $cuda" "OpenCL $opencl" "CPU $cpu"; do
        [ ! -f "${file#* }" ] || links="$links, [${file%% *}](../${file#* })"
    done
    printf '%s\n' "${links#, }" | fold -s -w 120 | sed 's/ $//' && echo
    [ -f "$cuda" ] || [ -f "$cpu" ] || cuda=$opencl
    if [ ! -f "$cuda" ]; then head_of "$cpu" | fence && return; fi
    head_of "$cuda" >"$new/cuda"
    fence <"$new/cuda"
    if [ "$cuda" != "$opencl" ] && [ -f "$opencl" ]; then
        head_of "$opencl" >"$new/opencl"
        other_words "$new/cuda" "$new/opencl" >"$new/other"
        [ ! -s "$new/other" ] || { printf '\nIn OpenCL:\n\n' && fence <"$new/other"; }
    fi
    [ ! -f "$cpu" ] || on_the_cpu "$cpu"
}

ladder() {
    cat <<'TEXT'
<!-- Made by ./dev docs from kernels/kernels.def, the files below kernels/ and records below results/: edit those. -->
# The ladder

Each rung adds one idea to the rung before. `tilewright ladder` verifies and times the rungs on this machine.
`tilewright explain r04` describes one of them, with pictures, counts and bounds.

## The course documents

The ladder follows five documents. The kernels and the program cite them so:

| cited as | document |
|---|---|
| 5kk73 | "The Matrix Multiplication Example", a page of the course 5kk73 (2013): a product optimised step by step on a GeForce 8800 GT |
| Hotbingsoo 2021 | Hotbingsoo, "Accelerating Matrix Multiplication Using GPU", 2021: naive and tiled kernels in OpenCL |
| ECE569 | ECE569, module 21, "Matrix Multiplication": a lecture with a bound for the P100 |
| Ruiz 2024 | Tomas Ruiz, "How Does Tiling Speed Up Matrix Multiplications on GPUs?", 2024 |
| NVIDIA Best Practices | "Shared Memory in Matrix Multiplication (C = AB)", from NVIDIA's CUDA C Best Practices Guide: thin products on a GTX 280 and an 8800 GTX, with effective bandwidths |

In the records of `explain --tables --json` the field `document` counts them in this order, from 000 to 004.

## What the documents describe, and where it is here

The commands begin with `tilewright`. The rows count the topics of each document, in the order of the documents.

| row | document | topic | command | file |
|---|---|---|---|---|
| S0.1 | 5kk73, ECE569, Ruiz | triple loop on the CPU | `ladder --engine cpu --rung r01` | [r01_naive](#r01_naive) |
| S0.2 | 5kk73, ECE569 | one thread per element | `ladder --engine opencl --rung r01` | [r01_naive](#r01_naive) |
| S0.3 | 5kk73 | tiles in shared memory, B uncoalesced | `ladder --engine opencl --rung r01,r02` | [r02_tiled](#r02_tiled) |
| S0.4 | 5kk73 | coalesced, with bank conflicts; B transposed on the host | `ladder --engine opencl --rung r02,r03,r03t` | [r03_coalesced](#r03_coalesced), [r03t_transposed](#r03t_transposed) |
| S0.5 | 5kk73 | no bank conflicts | `ladder --engine opencl --rung r03,r04` | [r04_banks](#r04_banks) |
| S0.6 | 5kk73 | outer product | `ladder --engine opencl --rung r04,r05`; `explain r05` | [r05_outer](#r05_outer) |
| S0.7 | 5kk73 | unrolling | `ladder --engine opencl --rung r05,r06`; `explain r06 --binary` shows registers, without a GPU too | [r06_unrolled](#r06_unrolled) |
| S0.8 | 5kk73 | prefetching | `ladder --engine opencl --rung r06,r07`; `explain r07 --binary` | [r07_prefetch](#r07_prefetch) |
| S0.9 | 5kk73 | every step at 4096, and over sizes | `ladder --engine opencl --size 128,256,512,1024,2048,4096 --html FILE`; of all rungs on an H200: `report results/nvidia-h200/curves-*.jsonl -o FILE.html` | [results](../results/) |
| S0.10 | 5kk73, Ruiz | flop per byte asked | `explain r05`; column `flop/B` of `ladder` | every rung |
| S0.11 | 5kk73 | share of multiply-adds in the machine code | `explain r04 --binary` | every rung |
| S0.12 | 5kk73, Ruiz | speed over the tile edge | `ladder --rung r02 --tile 1,2,4,8,16,32,64,128` | [r02_tiled](#r02_tiled) |
| S0.13 | 5kk73 | column-major operands | `ladder --transpose-a --transpose-b`; `explain r02` | every rung |
| S0.14 | 5kk73, ECE569, Ruiz, NVIDIA Best Practices | the figures | `explain r04 --element 3,11 --html FILE` | every rung |
| S1.1 | Hotbingsoo | naive kernel in OpenCL, rectangles | `ladder --engine opencl --rung r01 --shape 300x200x100` | [r01_naive](#r01_naive) |
| S1.2 | Hotbingsoo | local memory | `ladder --engine opencl --rung r04 --shape 300x200x100` | [r04_banks](#r04_banks) |
| S1.3 | Hotbingsoo, and Nugteren's tutorial to which it points | more work per thread, wide loads, transposed B, register blocking with and without wide loads, device-specific loads, prefetching, any size | `ladder --engine cuda --rung r01u,r03t,r07,r08,r09,r10,r10s,r12` | [r01u_uncached](#r01u_uncached): device-specific loads, [r08_coarsened](#r08_coarsened), [r09_wide](#r09_wide), [r10_register](#r10_register), [r10s_scalar](#r10s_scalar), [r12_async](#r12_async): tensor memory accelerator (TMA), cuda |
| S2.1 | ECE569 | a boundary condition for any width | `ladder --engine opencl --rung r01 --size 1,15,17,1000,1023` | [r01_naive](#r01_naive) |
| S2.2 | ECE569 | how far from the peak: 180 of 9300 GFLOP/s on a P100 | `explain r01 --gpu P100`; `ladder --gpu P100` | every rung |
| S2.3 | ECE569 | the kernel as an exercise with gaps | `ladder --rung exercises/r01_naive.cl` | [exercises](../exercises/) of r01 to r11, r04d, s2 and s3 |
| S3.1 | Ruiz | compute intensity: 1, r, n; derived beside counted | `explain --tables`; `report results/nvidia-h200/*.jsonl -o FILE.html`, section Traffic | every rung |
| S3.2 | Ruiz | tiles on the CPU, block r | `ladder --engine cpu --rung r02 --tile 1,2,4,8,16,32` | [r02_tiled](#r02_tiled) |
| S3.3 | Ruiz | the tiled kernel, compiled and run | `./dev build`; `ladder --engine cuda --rung r04` | [r04_banks](#r04_banks) |
| S3.4 | Ruiz | thread coarsening, less divergence | `ladder --engine opencl --rung r04,r04d,r08`; divergent branches: `./dev counters --size 4001 --rung r04,r04d` | [r08_coarsened](#r08_coarsened), [r04d_divergence](#r04d_divergence) |
| S4.1 | NVIDIA Best Practices | skinny product, nothing shared | `ladder --skinny`; `explain s1` | [s1_unoptimised](#s1_unoptimised) |
| S4.2 | NVIDIA Best Practices | A's tile shared, no barrier of the block | `ladder --skinny`; `explain s2` | [s2_shared_a](#s2_shared_a) |
| S4.3 | NVIDIA Best Practices | A's and B's tiles shared | `ladder --skinny`; `explain s3` | [s3_shared_ab](#s3_shared_ab) |
| S4.4 | NVIDIA Best Practices | effective bandwidth beside the published one | `ladder --skinny`; `explain --tables` | s1 to s3 |
| S4.5 | NVIDIA Best Practices | transactions per request by generation; shared memory read straight, permuted, unaligned, in strides | `explain s1 --gpu "GTX 280"`; `explain --tables` | s1 to s3 |

## What the documents do not have

- r11_warp, r12_async and r13_matrix go on where the documents end. r11a_ring, r11b_boxes and r11c_swizzle are the way
  from r11 to r12 one idea at a time. r12a to r12h are what production kernels of f32 do, r12i and r12j the way to r13,
  r13a, r13b and r13f what production kernels of the matrix units do: [how fast they are](perf/gpu-rungs.md#rings).
- r13i_int8 and r13q_fp8 are r13_matrix for elements of one byte. The same stages hold twice the steps of k.
  `ladder --engine cuda --rung r13i,r13q --transpose-b` times them: [how fast they
  are](#one-byte-on-the-matrix-units).
- d1_splitk (split-K) is for a small C and a long k. Only `ladder --deep` runs it: it times 64 x 64 x 65536 by r04, by
  d1 and by the planner's choice.
- r14 has no file of its own. It is the [production kernel](KERNELS.md) that `tw_gemm` runs for the shape; the line
  below it names the kernel. `ladder --all` times every production kernel too.

The program refuses a rung that does not apply, and says why:

- another type or architecture
- transposes, from r09 to r12j on a GPU, but r12h, and in r13f
- k other than 16 or 32, in s1 to s3
- rows that are not a multiple of 16 bytes, from r11b to r12j, but r12h, and in r13f

The CPU has no r08, no r12 and no s1 to s3. Its r11 divides the work among threads where a GPU divides it among warps.
Its r13 is the production kernel for bf16 and int8 on processors with a matrix unit.

## Measured

![Speed of each rung](ladder.svg)

TEXT
    cat "$new/table.md"
    cat <<'TEXT'

Median GFLOP/s. In brackets: r01 to r05 with compiler unrolling, which is off otherwise. bf16 is another type, so its
speed is no step from the row above. On the CPU r01 to r10 use one thread. Every row was verified before it was timed.
The records are in [results](../results/). `tilewright report` makes a page of them, and `tilewright ladder --html FILE`
one of your machine.

### One byte on the matrix units

`ladder --engine cuda --rung r13i,r13q --transpose-b` times r13 for int8 and fp8. B is stored as n x k, so no pass
transposes it. The table has medians on one NVIDIA H200 in one run, in TFLOP/s (int8: TOPS), and the ratio to
r13_matrix. These are other types too, so the step is to r13_matrix alone.

| rung | 4096 | ratio | 8192 | ratio |
|---|---:|---:|---:|---:|
| r13_matrix bf16 | 723 | 1 | 786 | 1 |
| r13i_int8 i8 | 1282 | 1.77 | 1538 | 1.96 |
| r13q_fp8 e4m3 | 1171 | 1.62 | 1349 | 1.72 |

[perf/gpu-types.md](perf/gpu-types.md#r13-bytes) says what was expected, and why int8 has less than 2.

## The rungs

| rung | idea on a GPU | on the CPU |
|---|---|---|
TEXT
    rows 'rung|wide|matrix' cpu 'print name "|" idea' | awk '!seen[$0]++' >"$new/cpu_ideas"
    step="printf \"| [%s](#%s)%s | %s |\", name, name, types == \"f32\" && name !~ /^r12/ ? \"\" : \" (\" types \")\", idea
        while ((getline line < \"$new/cpu_ideas\") > 0) if (index(line, name \"|\") == 1) printf \" %s\", substr(line, length(name) + 2)
        close(\"$new/cpu_ideas\"); print \" |\""
    rows rung gpu "if (name ~ /^r/) { $step }"
    rows rung cuda "$step"
    rows rung gpu "if (name !~ /^r/) { $step }"
    cat <<'TEXT'

Each section below shows the CUDA kernel, then what differs in OpenCL, then the CPU's counterpart in short. All of the
latter is in `tilewright explain r05 --engine cpu`. On the CPU r01 to r07 are compiled for the baseline of the
architecture. r09 to r11 are compiled for each instruction set, and the widest that the processor has is chosen.
TEXT
    for rung in $(names rung gpu | grep '^r') $(names rung cuda) $(names rung gpu | grep -v '^r'); do
        section "$rung" ladder/
    done
}

kernels() {
    cat <<'TEXT'
<!-- Made by ./dev docs from kernels/kernels.def and the files below kernels/: edit those. -->
# The production kernels

`tw_gemm` runs these kernels. The planner picks one for each product.

- `tilewright ladder` shows its choice as r14, and `ladder --all` times every kernel that fits.
- `ladder --engine ENGINE --rung NAME` and `bench --kernel cuda_f32_NAME` time one kernel.
- `explain NAME` describes one kernel.

A family is one file, named by operation, data path and architecture. Each of its tiles is a row of kernels/kernels.def.
The commands take former names too.

Two rungs are production kernels as well, so [the ladder](LADDER.md) describes them: [r13_matrix](LADDER.md#r13_matrix)
of the CPU (AMX), and [r13m_mma](LADDER.md#r13m_mma) for bf16 and f16 from sm_80 on.

## CPU

gemm_simd, formerly r14_peak, is compiled for each instruction set. The widest that the processor has is chosen.
gemv_simd and, on the matrix unit, gemv_tiles compute a C of one row or one column, triangle_simd the diagonal blocks of
trmm and trsm; convert_half widens f16 for the kernel of f32,
and finish makes C of its sums where it is of another type.

| kernel | tile | depth of a panel | idea | sources |
|---|---|---|---|---|
TEXT
    tile='count = split(types, type, ", ")
        for (i = 1; i <= count; i++) printf "%s[cpu_%s_%s_%s](%s)", i == 1 ? "| " : ", ", type[i], name, word[3] tile, page
        printf " | %s x %s | %s | %s | %s |\n", word[4], word[5], word[6], idea, source'
    rows tile cpu "page = \"#gemm_simd\"; tile = \"_\" word[4] \"x\" word[5]; $tile"
    rows matrix cpu "page = \"LADDER.md#r13_matrix\"; tile = \"\"; $tile"
    for file in gemm_simd gemv_simd gemv_tiles convert_half finish triangle_simd; do section "$file" ''; done
    cat <<'TEXT'

## GPU

| kernel | types | formerly | idea | sources |
|---|---|---|---|---|
TEXT
    tile='printf "| [%s_%sx%s](#%s) | %s%s | %s | %s | %s |\n", name, word[2], word[3], name, types, only, formerly, idea, source'
    rows tile cuda "only = \"\"; $tile"
    rows tile opencl "only = \", OpenCL\"; $tile"
    rows batch cuda "only = \"\"; $tile"
    done=' '
    for file in $(names 'tile|batch' cuda) $(names tile opencl); do
        case $done in *" $file "*) continue ;; esac
        done="$done$file "
        section "$file" ''
    done
}

# shellcheck disable=SC2086 # words on purpose
"$program" report $shown $library -o "$new/ladder.svg" >/dev/null && "$program" report $shown -o "$new/table.md" >/dev/null || {
    echo "$program, which draws the chart, is missing or was built without jansson: ./dev build makes it" >&2
    exit 1
}
# shellcheck disable=SC2086
grep -hE '"dtype": ?"f32"' $beside | grep -E '"table": "(two|types)"|rotated beyond the L2' >"$new/speed.jsonl"
"$program" report "$new/speed.jsonl" -o "$new/speed.svg" >/dev/null
ladder >"$new/LADDER.md"
kernels >"$new/KERNELS.md"
stale=''
for pair in LADDER.md:docs/LADDER.md KERNELS.md:docs/KERNELS.md ladder.svg:docs/ladder.svg speed.svg:docs/speed.svg; do
    cmp -s "$new/${pair%%:*}" "${pair#*:}" && continue
    stale="$stale ${pair#*:}"
    if [ "${1:-}" = --check ]; then diff -u "${pair#*:}" "$new/${pair%%:*}" || true; else cp "$new/${pair%%:*}" "${pair#*:}"; fi
done
[ "${1:-}" != --check ] || [ -z "$stale" ] || { echo "not fresh:$stale: run ./dev docs" >&2 && exit 1; }
