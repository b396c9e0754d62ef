#!/bin/sh
# ladder_doc.sh - writes docs/LADDER.md and docs/KERNELS.md: the rungs, and the production kernels, by the rows of kernels/kernels.def, the
# comment at the head of each kernel's file, and the committed records; docs/ladder.svg, the chart of those records; and the lines between
# the ladder's markers in README.md.
# With --check it writes nothing and fails if a file is not what it would write. $TILEWRIGHT: the program, which draws; default build/tilewright.
set -eu
cd "$(dirname "$0")/.."
program=${TILEWRIGHT:-build/tilewright}
shown='results/nvidia-h200/ladder-4096.jsonl results/nvidia-h200/ladder-cpu-4096.jsonl' # the first machine's bars are the chart
new=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-docs.XXXXXX")
trap 'rm -rf "$new"' EXIT

# one_line - each row of the table on a line of its own, texts of several pieces in one
one_line() {
    awk '/^[A-Z_]+\(/ { row = "" } /^([A-Z]|    )/ { sub(/^ +/, ""); row = row (row ~ /,$/ ? " " : "") $0 }
        /"\)\)$/ { gsub(/" *"/, "", row); print row }' kernels/kernels.def
}

[ "$(one_line | wc -l)" -eq "$(grep -c '^[A-Z_]*(' kernels/kernels.def)" ] || {
    echo "kernels.def: a row does not end with the text of SOURCE, or has none" >&2
    exit 1
}

# rows MACRO AWK-PROGRAM - word[2], word[3] ... are the row's words up to the texts, $2 its idea, $4 its sources.
rows() {
    one_line | awk -F'"' "function at(rung, engine) { return sprintf(\"[%s](#%s-on-%s)\", rung, rung, engine) }
        /^$1\\(/ { split(\$1, word, /[(,)] */); $2 }"
}
names() { one_line | sed -n "s/^$1(\([a-z0-9_]*\),.*/\1/p" | uniq; }

# section ENGINE RUNG FILE - the comment at the head of the file, without its stars
section() {
    printf '\n### %s on %s\n\n[%s](../%s)\n\n```text\n' "$2" "$1" "$3" "$3"
    awk 'NR == 1 && !/^\/\*/ { exit }
        { last = /\*\/ *$/; sub(/^( \*|\/\*) ?/, ""); sub(/ *(\*\/)? *$/, ""); print }
        last { exit }' "$3"
    printf '```\n'
}

# measured FOLDER - chart and table of the committed records; FOLDER/ stands before names that are not in the file's own folder
measured() {
    printf '![Speed of each rung](%sladder.svg)\n\n' "$1"
    cat "$new/table.md"
    cat <<TEXT

GFLOP/s, medians; in brackets r01 to r05 as the compiler unrolls them, which otherwise hold their loops rolled, so that each shows its one
idea. bf16 stands apart: it is another type. The CPU's rungs are counterparts of these ideas, r02 to r10 on one thread. Each row was
verified before it was timed. Records: ${2}results/; \`tilewright report\` makes a page of them, \`tilewright ladder --html FILE\` one
of your machine.
TEXT
}

ladder() {
    cat <<'TEXT'
<!-- Made by ./dev docs from kernels/kernels.def, the files below kernels/ and records below results/: edit those. -->
# The ladder

Each rung is one idea more than the rung before. `tilewright ladder` verifies and times them on this machine.

## The documents

Cited by number here, in the kernels and in the program's output:

| number | document |
|---|---|
| 000 | "The Matrix Multiplication Example", a course page (5kk73, version of 2013): a tuned product on a GeForce 8800 GT, step by step |
| 001 | Hotbingsoo, "Accelerating Matrix Multiplication Using GPU", 2021: naive and tiled kernels in OpenCL |
| 002 | ECE569, module 21, "Matrix Multiplication": a lecture, with a P100's bound |
| 003 | Tomas Ruiz, "How Does Tiling Speed Up Matrix Multiplications on GPUs?", 2024 |
| 004 | "Shared Memory in Matrix Multiplication (C = AB)": thin products on a GTX 280 and an 8800 GTX, with effective bandwidths |

## What the documents ask for, and what answers

| document's row | answer |
|---|---|
| S0.1 triple loop on the CPU | r01_naive, engine cpu |
| S0.2 one thread per element, S1.1 the same in OpenCL, S2.1 any width | r01_naive, engines opencl and cuda |
| S2.3 the kernel as an exercise with gaps | `tilewright ladder --rung exercises/r01_naive.cl` (or `.cu`), which both oracles judge; [COURSE.md](COURSE.md) leads through it |
| S0.3 tiles in shared memory, B uncoalesced | r02_tiled, opencl and cuda |
| S0.4 coalesced, in conflict | r03_coalesced, and r03t_transposed with B turned on the host |
| S0.5 no bank conflicts, S1.2 and S3.3 tiles in local and shared memory | r04_banks, opencl and cuda |
| S0.6 outer product | r05_outer |
| S0.7 unrolling | r06_unrolled |
| S0.8 prefetching | r07_prefetch |
| S1.3 more work per thread, transposed B, wide loads, registers in two dimensions, prefetching, any size | r08_coarsened, r03t_transposed, r09_wide and r10_register (also on the CPU), r07_prefetch; every rung takes any size |
| S1.3 device-specific loads | r12_async (tensor memory accelerator, cuda) |
| S3.2 tiles on the CPU, block r | r02_tiled, engine cpu; `ladder --rung r02 --tile 1,2,4,...` |
| S3.4 thread coarsening, less divergence | r08_coarsened, r04d_divergence |
| S4.1, S4.2, S4.3 skinny products | s1_unoptimised, s2_shared_a, s3_shared_ab; `ladder --skinny` |

Past the documents: r11_warp, r12_async, r13_matrix; d1_splitk, the deep flight's one rung (`ladder --deep`: 64 x 64 x 65536 by r04, by
d1 and by what the planner takes; the plain ladder leaves it out); and r14, which is no kernel of its own: it is what `tw_gemm` runs for
the shape on that engine, one of the [production kernels](KERNELS.md), and the line below it says which. `ladder --all` adds them all.
Refused where they do not apply, each with its reason: a rung for another type or architecture, transposes in r09 to r12 on a GPU, a k
other than 16 or 32 in s1 to s3, rows that are no multiple of 16 bytes in r12. r13 of the CPU is its production kernel for bf16 and int8
where it has a matrix unit. It has no r08, r12 and s1 to s3; what r11 shares among warps it shares among threads.

## Measured

TEXT
    measured '' ../
    cat <<'TEXT'

## CPU

| rung | idea | sources |
|---|---|---|
TEXT
    rows 'CPU_(RUNG|WIDE)' 'printf "| %s | %s | %s |\n", at(word[2], "cpu"), $2, $4'
    cat <<'TEXT'

r01 to r07 are compiled for the baseline of the architecture, r09 to r11 once per instruction set, of which the widest that the processor
has is chosen.
TEXT
    for rung in $(names CPU_RUNG) $(names CPU_WIDE); do section cpu "$rung" "kernels/cpu/ladder/$rung.c"; done
    section cpu r13_matrix kernels/cpu/ladder/r13_matrix.c
    cat <<'TEXT'

## GPU: OpenCL and CUDA

| rung | idea | sources |
|---|---|---|
TEXT
    rows GPU_RUNG 'printf "| %s %s | %s | %s |\n", at(word[2], "opencl"), at(word[2], "cuda"), $2, $4'
    rows CUDA_RUNG 'printf "| %s %s | %s | %s |\n", at(word[3], "cuda"), word[2], $2, $4'
    rows CUDA_HALF_RUNG 'printf "| %s bf16, f16 | %s | %s |\n", at(word[2], "cuda"), $2, $4'
    for rung in $(names GPU_RUNG); do
        section opencl "$rung" "kernels/opencl/ladder/$rung.cl"
        section cuda "$rung" "kernels/cuda/ladder/$rung.cu"
    done
    for rung in $(rows CUDA_RUNG 'print word[3]') $(names CUDA_HALF_RUNG); do section cuda "$rung" "kernels/cuda/ladder/$rung.cu"; done
}

# tiles MACRO TYPES FIRST - a row of the table for each tile of a family, whose name is the row's FIRST word
tiles() {
    rows "$1" "match(\$0, /FORMERLY\([a-z0-9_]*/)
        printf \"| [%s_%sx%s](#%s-on-cuda) | %s | %s | %s | %s |\\n\", word[$3], word[$3 + 1], word[$3 + 2], word[$3], $2,
            substr(\$0, RSTART + 9, RLENGTH - 9), \$2, \$4"
}

kernels() {
    cat <<'TEXT'
<!-- Made by ./dev docs from kernels/kernels.def and the files below kernels/: edit those. -->
# The production kernels

`tw_gemm` runs these; the planner picks one for each product. `tilewright ladder` shows its choice as r14, `ladder --all` times every one
that fits, `ladder --rung NAME` or `bench --kernel cuda_f32_NAME` one of them, and `explain NAME` tells what it does. A family is one
file, named by operation, data path and architecture; each of its tiles is a row of kernels/kernels.def. Former names still work in
their place.

r13_matrix of the CPU (AMX) and r13m_mma (bf16 and f16 from sm_80 on) produce too: they stand in [the ladder](LADDER.md).

## CPU

gemm_simd, formerly r14_peak, is compiled once for each instruction set; the widest that the processor has is chosen. Where C is one row
or one column, gemv_simd computes it.

| kernel | tile | depth of a panel | idea | sources |
|---|---|---|---|---|
TEXT
    # behind the names stand TILE and its numbers
    rows 'CPU_(PEAK|DOT)' 'printf "| [cpu_%s_gemm_simd_%s](#gemm_simd-on-cpu) | %s x %s | %s | %s | %s |\n",
        word[2], word[3], word[5], word[6], word[7], $2, $4'
    rows CPU_TILES 'printf "| [cpu_%s_r13_matrix_amx](LADDER.md#r13_matrix-on-cpu) | %s x %s | %s | %s | %s |\n", word[2], word[4], word[5], word[6], $2, $4'
    for file in gemm_simd gemv_simd; do section cpu "$file" "kernels/cpu/$file.c"; done
    cat <<'TEXT'

## GPU

| kernel | types | formerly | idea | sources |
|---|---|---|---|---|
TEXT
    tiles GPU_TILE '"f32"' 2
    tiles CUDA_TILE 'word[2]' 3
    tiles CUDA_HALF_TILE '"bf16, f16"' 2
    tiles CUDA_BATCH 'word[2]' 3
    tiles CUDA_HALF_BATCH '"bf16, f16"' 2
    for file in $(names GPU_TILE); do section opencl "$file" "kernels/opencl/$file.cl"; done
    for file in $(names GPU_TILE) $(rows 'CUDA_(TILE|BATCH)' 'print word[3]' | awk '!seen[$0]++') $(names 'CUDA_HALF_[TB][AI][A-Z]*'); do
        section cuda "$file" "kernels/cuda/$file.cu"
    done
}

readme() {
    awk -v block="$new/block.md" '
        /^<!-- ladder: / { print; while ((getline line < block) > 0) print line; skip = 1; found = 1 }
        /^<!-- end of the ladder -->/ { skip = 0 }
        !skip
        END { if (!found) exit 1 }' README.md
}

# shellcheck disable=SC2086 # words on purpose
"$program" report $shown -o "$new/ladder.svg" >/dev/null && "$program" report $shown -o "$new/table.md" >/dev/null || {
    echo "$program, which draws the chart, is missing or was built without jansson: ./dev build makes it" >&2
    exit 1
}
measured docs/ "" >"$new/block.md"
ladder >"$new/LADDER.md"
kernels >"$new/KERNELS.md"
readme >"$new/README.md" || { echo "README.md has lost the markers of its ladder" >&2 && exit 1; }
stale=''
for pair in LADDER.md:docs/LADDER.md KERNELS.md:docs/KERNELS.md ladder.svg:docs/ladder.svg README.md:README.md; do
    cmp -s "$new/${pair%%:*}" "${pair#*:}" && continue
    stale="$stale ${pair#*:}"
    if [ "${1:-}" = --check ]; then diff -u "${pair#*:}" "$new/${pair%%:*}" || true; else cp "$new/${pair%%:*}" "${pair#*:}"; fi
done
[ "${1:-}" != --check ] || [ -z "$stale" ] || { echo "not fresh:$stale: run ./dev docs" >&2 && exit 1; }
