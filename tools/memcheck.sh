#!/bin/sh
# memcheck.sh - ./dev memcheck: the tests of each CUDA kernel under compute-sanitizer, which finds accesses out of bounds that leave
# results right.
#
#   tools/memcheck.sh [--only TEXT] [--full] [--jobs N] [--tool memcheck|initcheck|racecheck|synccheck] [--build FOLDER] [--keep FOLDER]
#
# Runs test_kernels for each CUDA kernel, and test_batch for batches, N side by side (16, or as many as there are cores): a sixteenth of
# their cases, with --full all. --only takes the kernels whose name contains TEXT. FOLDER is what ./dev build has made (build), or for the
# logs. A line for each as it ends: how many cases passed, and what the sanitizer counted. The last line reads
# "N clean, N failed, N skipped". Exit status: 0, 1 one failed, 2 usage, 3 nothing ran.
set -u

say() { echo "memcheck: $*" >&2; }

# one FOLDER PROGRAM TEXT ARGUMENT ... - what was found, in a line of folder/verdicts. Behind it, of a failure, the reason.
one() {
    folder=$1 program=$2 text=$3 && shift 3
    log=$folder/$(echo "$text" | tr -c '[:alnum:]_\n' _).log
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" --gpu --only "$text " "$@" >"$log" 2>&1
    verdict=$(LC_ALL=C awk -v status=$? -v name="$text" '
    /^1\.\./ { planned = substr($1, 4) + 0; planned_at = 1 }
    /^(not )?ok / { results++ }
    /^ok / && / # SKIP/ { skipped++; reason = $0; sub(/.* # SKIP */, "", reason); next }
    /^ok / { passed++ }
    /^not ok / || /========= (Invalid|Uninitialized|Error|Warning|Barrier|Race|Program hit)/ { if (first == "") first = $0 }
    / SUMMARY: / { summary = $0; sub(/.*========= */, "", summary) }
    END {
        bad = status != 0 || summary == "" || !planned_at || results != planned
        word = bad ? "FAILED" : passed > 0 ? "clean" : "skipped"
        why = word == "skipped" ? reason : summary == "" ? "no summary" : summary
        if (bad) why = why ", exit status " status ", " results + 0 " of " planned + 0 " results"
        printf "%-7s %-44s %4d cases  %.100s\n", word, name, passed, why
        if (bad && first != "") print "        " first
    }' "$log")
    # by one write each: cat copies to a file without the lock on its offset that keeps two writers apart
    printf '%s\n' "$verdict" && printf '%s\n' "$verdict" >>"$folder/verdicts"
}
[ "${1:-}" != --one ] || { tool=$2 && shift 2 && one "$@" && exit 0; }

root=$(cd "$(dirname "$0")/.." && pwd) || exit 3
build=$root/build only='' full='' tool=memcheck keep='' jobs=$(nproc 2>/dev/null || echo 1)
[ "$jobs" -le 16 ] || jobs=16
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=1 ;;
    --only | --jobs | --tool | --build | --keep)
        [ $# -gt 1 ] || { say "$1 needs a value" && exit 2; }
        case $1 in --only) only=$2 ;; --jobs) jobs=$2 ;; --tool) tool=$2 ;; --build) build=$2 ;; --keep) keep=$2 ;; esac
        shift
        ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" || : && exit 0 ;;
    *) say "unknown option $1; --help lists them" && exit 2 ;;
    esac
    shift
done
case $tool in memcheck | initcheck | racecheck | synccheck) ;; *) say "--tool: found '$tool', expected memcheck, initcheck, racecheck or synccheck" && exit 2 ;; esac
case $jobs in '' | *[!0-9]* | 0*) say "--jobs: found '$jobs', expected a whole number from 1" && exit 2 ;; esac
command -v compute-sanitizer >/dev/null || { say "compute-sanitizer is not on PATH; CUDA's toolkit has it" && exit 3; }
for program in test_kernels test_batch; do
    [ -x "$build/tests/$program" ] || { say "$build/tests/$program is not there: ./dev build builds it" && exit 3; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-memcheck.XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ -z "$keep" ] || { mkdir -p "$keep" && work=$(cd "$keep" && pwd) && trap - EXIT; } || exit 3
rm -f "$work"/cuda_*.log "$work/verdicts" # of a run before
{
    "$build/tests/test_kernels" --gpu --list | sed -n 's/^\(cuda_[^ ]*\) .*/\1/p' | sort -u | sed 's/^/test_kernels /'
    echo "test_batch cuda:"
} | ONLY=$only LC_ALL=C awk 'index($2, ENVIRON["ONLY"])' >"$work/tasks"
[ -s "$work/tasks" ] || { say "no CUDA kernel's name contains '$only'" && exit 2; }
: >"$work/verdicts"
part='--part 1/16' && [ -z "$full" ] || part=''
# shellcheck disable=SC2016 # the inner shell's own
xargs -P "$jobs" -L 1 sh -c '"$1" --one "$2" "$3" "$4/tests/$6" "$7" $5' sh "$0" "$tool" "$work" "$build" "$part" <"$work/tasks"
LC_ALL=C awk -v all="$(wc -l <"$work/tasks")" '
$1 == "clean" { clean++ } $1 == "FAILED" { failed++ } $1 == "skipped" { skipped++ }
END {
    failed += all - clean - failed - skipped # of which there is no verdict
    print clean + 0 " clean, " failed + 0 " failed, " skipped + 0 " skipped"
    exit failed > 0 ? 1 : clean > 0 ? 0 : 3
}' "$work/verdicts"
