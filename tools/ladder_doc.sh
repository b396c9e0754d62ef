#!/bin/sh
# ladder_doc.sh - writes docs/LADDER.md: the rows of kernels/kernels.def and the comment at the head of each kernel's file.
# With --check it writes nothing and fails if the file is not what it would write.
set -eu
cd "$(dirname "$0")/.."

# rows MACRO AWK-PROGRAM - word[2], word[3] ... are the row's arguments up to the texts, $2 its idea, $4 its sources.
rows() {
    awk -F'"' "function at(rung, engine) { return sprintf(\"[%s](#%s-on-%s)\", rung, rung, engine) }
        /^$1\\(/ { split(\$1, word, /[(,] */); $2 }" kernels/kernels.def
}
names() { sed -n "s/^$1(\([a-z0-9_]*\),.*/\1/p" kernels/kernels.def | uniq; }

# section ENGINE RUNG FILE - the comment at the head of the file, without its stars
section() {
    printf '\n### %s on %s\n\n[%s](../%s)\n\n```text\n' "$2" "$1" "$3" "$3"
    awk 'NR == 1 && !/^\/\*/ { exit }
        { last = /\*\/ *$/; sub(/^( \*|\/\*) ?/, ""); sub(/ *(\*\/)? *$/, ""); print }
        last { exit }' "$3"
    printf '```\n'
}

ladder() {
    cat <<'TEXT'
<!-- Made by ./dev docs from kernels/kernels.def and the files below kernels/: edit those. -->
# The ladder

Each rung is one idea more than the rung before. `tilewright ladder` verifies and times them on this machine.

## CPU

| rung | idea | sources |
|---|---|---|
TEXT
    rows CPU_RUNG 'printf "| %s | %s | %s |\n", at(word[2], "cpu"), $2, $4'
    cat <<'TEXT'

The production kernel, one row per dtype and instruction set; the widest that the processor has is chosen:

| kernel | tile | depth of a panel | idea | sources |
|---|---|---|---|---|
TEXT
    rows CPU_PEAK 'printf "| [cpu_%s_r14_peak_%s](#r14_peak-on-cpu) | %s x %s | %s | %s | %s |\n",
        word[2], word[3], word[4], word[5], word[6], $2, $4'
    for rung in $(names CPU_RUNG) r14_peak; do section cpu "$rung" "kernels/cpu/$rung.c"; done

    [ -n "$(names GPU_RUNG)" ] || return 0
    cat <<'TEXT'

## GPU: OpenCL and CUDA

| rung | idea | sources |
|---|---|---|
TEXT
    rows GPU_RUNG 'printf "| %s %s | %s | %s |\n", at(word[2], "opencl"), at(word[2], "cuda"), $2, $4'
    rows CUDA_RUNG 'printf "| %s %s | %s | %s |\n", at(word[2], "cuda"), word[3], $2, $4'
    for rung in $(names GPU_RUNG); do
        section opencl "$rung" "kernels/opencl/$rung.cl"
        section cuda "$rung" "kernels/cuda/$rung.cu"
    done
    for rung in $(names CUDA_RUNG); do section cuda "$rung" "kernels/cuda/$rung.cu"; done
}

case ${1:-} in
--check)
    ladder | diff -u docs/LADDER.md - || { echo "docs/LADDER.md is not fresh: run ./dev docs" >&2 && exit 1; }
    ;;
*)
    ladder >docs/LADDER.md.new && mv docs/LADDER.md.new docs/LADDER.md
    ;;
esac
