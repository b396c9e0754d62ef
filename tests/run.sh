#!/bin/sh
# run.sh - runs the test programs of one or more build folders, one line per program, every failure in full, and as its last
# line exactly "N passed, N failed, N skipped".
#
#   tests/run.sh [--full] [--list] [--only TEXT] FOLDER[:[-]PROGRAM,...] ... [-- ARGUMENT ...]
#
# FOLDER is a CMake build folder; its tests/programs (written by tests/CMakeLists.txt) names the programs. Those behind the
# colon are run, or with a minus all but those. A program prints TAP on stdout (cmocka does with CMOCKA_MESSAGE_OUTPUT=TAP),
# knows --list, and --full if it has more than its usual cases.
# A crash, a case without a result and a program without any count as failures; so does a run in which nothing ran.
# --only TEXT takes the programs whose name contains TEXT; ARGUMENTs are handed to each program.
set -u

here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
full='' list='' only='' suites=''
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=--full ;;
    --list) list=--list ;;
    --only) only=$2 && shift ;;
    --) shift && break ;;
    -*) echo "run.sh: no such option: $1" >&2 && exit 2 ;;
    *) suites="$suites $1" ;;
    esac
    shift
done

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

total_passed=0 total_failed=0 total_skipped=0
for suite in $suites; do
    folder=$(cd "${suite%%:*}" && pwd) || exit 1
    wanted='' && [ "$suite" != "${suite%%:*}" ] && wanted=",${suite#*:},"
    unwanted='' && [ "$wanted" != "${wanted#,-}" ] && unwanted=,${wanted#,-} && wanted=''
    prefix=$(basename "$folder")/ && [ "$prefix" = ci/ ] && prefix=
    logs=$folder/test-logs && mkdir -p "$logs"
    export TILEWRIGHT_BUILD="$folder" TILEWRIGHT="$folder/tilewright" XDG_CACHE_HOME="$folder/test-cache"
    mkdir -p "$XDG_CACHE_HOME" && chmod 700 "$XDG_CACHE_HOME"
    # A driver that compiles with LLVM inside this process makes a sanitizer report on LLVM: these suites see no OpenCL driver.
    unset OCL_ICD_VENDORS
    grep -q '^TILEWRIGHT_SANITIZE:.*=.' "$folder/CMakeCache.txt" && export OCL_ICD_VENDORS=/nowhere
    # gcc 12's ThreadSanitizer does not start where the kernel spreads addresses over 32 bits.
    quietly='' && grep -q '^TILEWRIGHT_SANITIZE:.*=thread' "$folder/CMakeCache.txt" &&
        setarch -R true 2>/dev/null && quietly='setarch -R'
    while IFS='	' read -r name program reason <&3; do
        case $wanted in '' | *",$name,"*) ;; *) continue ;; esac
        case $unwanted in *",$name,"*) continue ;; esac
        case $name in *"$only"*) ;; *) continue ;; esac
        if [ "$program" = - ]; then # could not be built
            total_skipped=$((total_skipped + 1))
            if [ -n "$list" ]; then echo "$prefix$name (all of it)"; else
                printf '%-24s left out: %s\n' "$prefix$name" "$reason"
            fi
        elif [ -n "$list" ]; then
            # shellcheck disable=SC2086 # words on purpose
            $quietly "$program" --list $full "$@" | sed "s|^|$prefix$name |"
        else
            log=$logs/$name.log sanitizer=$logs/$name.sanitizer
            rm -f "$sanitizer".*
            # Reports go to files of their own: stderr is the program's, and a test may expect what it says.
            export ASAN_OPTIONS="allocator_may_return_null=1:exitcode=99:log_path=$sanitizer"
            export UBSAN_OPTIONS="print_stacktrace=1:exitcode=99:log_path=$sanitizer"
            export TSAN_OPTIONS="halt_on_error=1:exitcode=99:log_path=$sanitizer"
            before=$(clock)
            # shellcheck disable=SC2086
            timeout -k 10 "$limit" $quietly "$program" $full "$@" >"$log" 2>&1 </dev/null
            status=$?
            seconds=$(echo "$before $(clock)" | LC_ALL=C awk '{ printf "%.1f", $2 - $1 }')
            cat "$sanitizer".* >>"$log" 2>/dev/null
            reports=$(cat "$sanitizer".* 2>/dev/null | grep -cE 'ERROR: |WARNING: ThreadSanitizer|runtime error:')
            verdict=$(judge "$log" "$status" "$reports")
            counts=$(printf '%s\n' "$verdict" | tail -n 1)
            read -r passed failed skipped <<COUNTS
$counts
COUNTS
            printf '%-24s %6d passed %4d failed %4d skipped %7s s\n' "$prefix$name" "$passed" "$failed" "$skipped" "$seconds"
            printf '%s\n' "$verdict" | sed '$d'
            [ "$failed" -gt 0 ] && echo "    the whole log: $log"
            total_passed=$((total_passed + passed))
            total_failed=$((total_failed + failed))
            total_skipped=$((total_skipped + skipped))
        fi
    done 3<"$folder/tests/programs"
done

[ -n "$list" ] && exit 0
[ $((total_passed + total_failed)) -eq 0 ] && echo "no test ran" && no_test_ran=1
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] && [ -z "${no_test_ran:-}" ]
