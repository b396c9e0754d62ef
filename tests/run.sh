#!/bin/sh
# run.sh - runs the test programs of one or more build folders, one line per program in their order, every failure in full, and as
# its last line exactly "N passed, N failed, N skipped".
#
#   tests/run.sh [--full] [--list] [--only TEXT] [--first TEXT] [--jobs N] FOLDER[:[-]PROGRAM,...] ... [-- ARGUMENT ...]
#
# FOLDER is a CMake build folder, or one of tools/portable.sh; its tests/programs names the programs. Those behind the
# colon are run, or with a minus all but those. A program prints TAP on stdout (cmocka does with CMOCKA_MESSAGE_OUTPUT=TAP),
# knows --list, and --full if it has more than its usual cases.
# A crash, a case without a result and a program without any count as failures; so does a run in which nothing ran.
# --only TEXT takes the programs whose name contains TEXT, --first TEXT begins those before the others; ARGUMENTs are handed to each program. N programs run side by side (as many as
# there are cores): each keeps what it writes in a folder of its own name, and what they share, compiled kernels, is made for that.
set -u

here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
full='' list='' only='' first='' suites='' jobs=$(nproc 2>/dev/null || echo 1)
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=--full ;;
    --list) list=--list ;;
    --only) only=$2 && shift ;;
    --first) first=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --) shift && break ;;
    -*) echo "run.sh: no such option: $1" >&2 && exit 2 ;;
    *) suites="$suites $1" ;;
    esac
    shift
done
case $jobs in '' | *[!0-9]* | 0) echo "run.sh: --jobs: found '$jobs', expected a whole number from 1" >&2 && exit 2 ;; esac

limit=1800 # seconds that one program may take
[ -n "$full" ] && limit=14400
export CMOCKA_MESSAGE_OUTPUT=TAP
export TILEWRIGHT_SOURCE="$here"
clock() { read -r up _ </proc/uptime && echo "$up"; }

# judge LOG STATUS REPORTS - reads TAP, prints what failed and why cases were skipped, then "passed failed skipped" as the last line.
judge() {
    LC_ALL=C awk -v status="$2" -v reports="$3" -v limit="$limit" '
    function skip(reason) {
        skipped++
        sub(/^# */, "", reason)
        if (reason == "") reason = "no reason given"
        if (!(reason in skips)) order[++reasons] = reason
        skips[reason]++
    }
    function complain(text) { print "    " text }
    /^1\.\.[0-9]+/ {
        plans++
        planned += substr($1, 4)
        if (tolower($0) ~ /^1\.\.0 *# *skip/) { sub(/^1\.\.0 *# *[A-Za-z]+ */, ""); skip($0) }
        next
    }
    /^(not )?ok( |$)/ {
        results++
        explain = 0
        if (match(tolower($0), / # *skip/)) { # cmocka: "not ok 2 # SKIP name", the reason is the line before
            reason = substr($0, RSTART + RLENGTH + 1)
            skip($1 == "not" ? (before == "" ? reason : before) : reason)
        } else if ($1 == "ok") {
            passed++
        } else {
            failed++
            explain = 12
            complain($0)
        }
        before = ""
        next
    }
    /^Bail out!/ { failed++; complain($0); next }
    explain > 0 && /^#/ { explain--; complain("  " $0) }
    /ERROR: |WARNING: ThreadSanitizer|runtime error:/ { report = 12 }
    report > 0 { report--; complain($0) }
    { before = $0 }
    END {
        if (planned > results) { failed += planned - results; complain(planned - results " of " planned " cases gave no result") }
        if (results > planned && plans > 0) { failed++; complain(results " results, " planned " planned") }
        if (results > 0 && plans == 0) { failed++; complain("it ended before it said how many cases there are") }
        if (results == 0 && skipped == 0 && failed == 0) { failed++; complain("it printed no result") }
        if (status == 124) complain("stopped: it ran for more than " limit " seconds")
        else if (status > 1 || (status == 1 && failed == 0))
            complain("its exit status was " status (status > 128 ? ": signal " status - 128 : ""))
        if (status != 0 && failed == 0) failed++
        if (reports > 0) { complain("reports of a sanitizer: " reports); if (failed == 0) failed++ }
        for (i = 1; i <= reasons; i++) print "    skipped " skips[order[i]] ": " order[i]
        print passed + 0, failed + 0, skipped + 0
    }' "$1"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-tests.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# Without its folder no worker takes another program.
trap 'mv "$work" "$work.over" && work=$work.over; cat "$work"/pid.* 2>/dev/null | xargs kill "$!" 2>/dev/null; exit 130' INT TERM

# ---- what is to be run: work/tasks, a line each of the folder, what its lines begin with, the program's name, its path (-: none), why ----
for suite in $suites; do
    folder=$(cd "${suite%%:*}" && pwd) || exit 1
    wanted='' && [ "$suite" != "${suite%%:*}" ] && wanted=",${suite#*:},"
    unwanted='' && [ "$wanted" != "${wanted#,-}" ] && unwanted=,${wanted#,-} && wanted=''
    prefix=$(basename "$folder")/ && [ "$prefix" = ci/ ] && prefix=
    while IFS='	' read -r name program reason; do
        case $wanted in '' | *",$name,"*) ;; *) continue ;; esac
        case $unwanted in *",$name,"*) continue ;; esac
        case $name in *"$only"*) ;; *) continue ;; esac
        case $program in - | /*) ;; *) program=$folder/tests/$program ;; esac
        printf '%s\t%s\t%s\t%s\n' "$folder" "$prefix$name" "$program" "$reason"
    done <"$folder/tests/programs"
done >"$work/tasks"

# enter FOLDER - the environment of a build folder's programs; quietly: what must stand before them.
enter() {
    export TILEWRIGHT_BUILD="$1" TILEWRIGHT="$1/tilewright" XDG_CACHE_HOME="$1/test-cache" TILEWRIGHT_CACHE="$1/test-kernels"
    mkdir -p "$1/test-logs" "$XDG_CACHE_HOME" && chmod 700 "$XDG_CACHE_HOME"
    # A driver that compiles with LLVM inside this process makes a sanitizer report on LLVM: these suites see no OpenCL driver.
    grep -q '^TILEWRIGHT_SANITIZE:.*=.' "$1/CMakeCache.txt" 2>/dev/null && export OCL_ICD_VENDORS=/nowhere
    # gcc 12's ThreadSanitizer does not start where the kernel spreads addresses over 32 bits.
    quietly='' && grep -q '^TILEWRIGHT_SANITIZE:.*=thread' "$1/CMakeCache.txt" 2>/dev/null &&
        setarch -R true 2>/dev/null && quietly='setarch -R'
}

# run_program NUMBER FOLDER NAME PROGRAM ARGUMENT ... - runs and judges it; work/verdict.NUMBER has its lines, the last the counts.
run_program() {
    number=$1 name=$3 program=$4 log=$2/test-logs/${3##*/}.log sanitizer=$2/test-logs/${3##*/}.sanitizer
    enter "$2"
    shift 4
    rm -f "$sanitizer".*
    # Reports go to files of their own: stderr is the program's, and a test may expect what it says.
    # The thread-local memory of libraries that are loaded later is not looked at: LeakSanitizer reads a wrong address and length for libOpenCL's (GCC 12) and crashes.
    export ASAN_OPTIONS="allocator_may_return_null=1:intercept_tls_get_addr=0:exitcode=99:log_path=$sanitizer"
    export UBSAN_OPTIONS="print_stacktrace=1:exitcode=99:log_path=$sanitizer"
    export TSAN_OPTIONS="halt_on_error=1:exitcode=99:log_path=$sanitizer"
    before=$(clock)
    # shellcheck disable=SC2086 # words on purpose
    timeout -k 10 "$limit" $quietly "$program" $full "$@" >"$log" 2>&1 </dev/null &
    echo $! >"$work/pid.$number"
    wait $!
    status=$?
    rm -f "$work/pid.$number"
    [ -d "$work" ] || exit 130 # stopped
    seconds=$(echo "$before $(clock)" | LC_ALL=C awk '{ printf "%.1f", $2 - $1 }')
    cat "$sanitizer".* >>"$log" 2>/dev/null
    reports=$(cat "$sanitizer".* 2>/dev/null | grep -cE 'ERROR: |WARNING: ThreadSanitizer|runtime error:')
    judge "$log" "$status" "$reports" >"$work/judged.$number"
    counts=$(tail -n 1 "$work/judged.$number")
    read -r passed failed skipped <<COUNTS
$counts
COUNTS
    {
        printf '%-24s %6d passed %4d failed %4d skipped %7s s\n' "$name" "$passed" "$failed" "$skipped" "$seconds"
        sed '$d' "$work/judged.$number"
        [ "$failed" -gt 0 ] && echo "    the whole log: $log"
        echo "$counts"
    } >"$work/verdict.$number"
}

# worker ARGUMENT ... - takes the next program that nobody took, until there is none; its number on stdout when it is judged.
worker() {
    for now in "$first" ''; do
        take_all "$now" "$@"
    done
}

# take_all TEXT ARGUMENT ... - of those whose name contains TEXT.
take_all() {
    task=0 text=$1
    shift
    while IFS='	' read -r folder name program reason <&3; do
        task=$((task + 1))
        case $name in *"$text"*) ;; *) continue ;; esac
        mkdir "$work/taken.$task" 2>/dev/null || continue
        if [ "$program" = - ]; then # could not be built
            printf '%-24s left out: %s\n0 0 1\n' "$name" "$reason" >"$work/verdict.$task"
        else
            (run_program "$task" "$folder" "$name" "$program" "$@" >&2 3<&-)
        fi
        echo "$task"
    done 3<"$work/tasks"
}

# show - what was judged, in the order of the tasks as far as all before it are; then the last line. Reads numbers until all workers ended.
show() {
    shown=0 total_passed=0 total_failed=0 total_skipped=0 count=$(wc -l <"$work/tasks")
    while read -r number || [ "$shown" -lt "$count" ]; do
        [ -n "$number" ] || printf 'program %s of the list was not judged\n0 1 0\n' "$((shown + 1))" >"$work/verdict.$((shown + 1))"
        while [ -e "$work/verdict.$((shown + 1))" ]; do
            shown=$((shown + 1)) verdict=$work/verdict.$shown
            sed '$d' "$verdict"
            read -r passed failed skipped <<COUNTS
$(tail -n 1 "$verdict")
COUNTS
            total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed)) total_skipped=$((total_skipped + skipped))
        done
    done
    [ $((total_passed + total_failed)) -eq 0 ] && echo "no test ran"
    echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    [ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
}

if [ -n "$list" ]; then
    while IFS='	' read -r folder name program reason <&3; do
        [ "$program" = - ] && echo "$name (all of it)" && continue
        enter "$folder"
        # shellcheck disable=SC2086 # words on purpose
        $quietly "$program" --list $full "$@" | sed "s|^|$name |"
    done 3<"$work/tasks"
    exit 0
fi
{
    while [ "$jobs" -gt 0 ]; do
        worker "$@" &
        jobs=$((jobs - 1))
    done
    wait
} | show &
wait $! # in which a signal is heard at once
