#!/bin/sh
# run.sh - runs the test programs of one or more build folders: one line per program as it ends, behind it every
# failure in full; what is going on meanwhile, on stderr; all failures once more; and as its last line exactly "N
# passed, N failed, N skipped".
#
#   tests/run.sh [--full | --quick] [--list | --plan] [--only TEXT] [--shard I/N] [--jobs N] [--status SECONDS]
#                [--whole [--times]] FOLDER[=NAME][:[-]PROGRAM,...] ... [-- ARGUMENT ...]
#   tests/run.sh --summary LOG ...
#
# FOLDER is a CMake build folder, or one of tools/portable.sh, whose tests/programs names the programs. NAME is what
# its lines begin with, by default its own name and for build/ci nothing. Those behind the colon are run, or with a
# minus all but those. A program prints TAP on stdout, knows --list, --full if it has more than its usual cases (asan/,
# asan-kernels/ and tsan/ are run without), and --part if tests/times says that it is run in parts. A crash, a case
# without a result and a program without any count as failures; so does a run in which nothing ran. --only TEXT takes
# the programs whose name, with what stands before it, contains TEXT; of those, --quick takes the cheapest by
# tests/times, as many as five sixths of its budget pay for. ARGUMENTs are handed to each program. --plan prints which
# programs of which folders that is, and needs nothing built. --shard I/N takes the share I of N: with N machines, one
# each, every program runs once; --summary adds up what they said. N programs run side by side (as many as there are
# cores), the longest first, by tests/times or what they last took here: each keeps what it writes in a folder of its
# own name, has a TMPDIR of its own, and what they share, compiled kernels, is made for that. The status is one line,
# rewritten, on a terminal, else a line every 30 seconds.
#
# --whole: these are all programs of a tier: usual, --full or --quick. Then its end names the ten slowest and compares
# what all took with the tier's budget in tests/times; taking more is a failure. What counts is the time of processors,
# not the clock's, of each program and its children, so that other work on the machine does not matter; and as much
# more or less of it as the machine's processors are slower or faster (probe below). --times then writes what was
# measured into tests/times, if nothing failed.
set -u

here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
full='' quick='' list='' plan='' only='' shard='' whole='' times='' suites='' summary='' every=30
jobs=$(($(nproc 2>/dev/null || echo 1) + 1)) # some wait: for processes, deadlines, their last thread
refuse() { echo "run.sh: $*" >&2 && exit 2; }
counting() { case $2 in '' | *[!0-9]* | 0*) refuse "$1: found '$2', expected a whole number from 1" ;; esac; }
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=--full ;;
    --quick) quick=1 ;;
    --whole) whole=1 ;;
    --times) times=1 ;;
    --list) list=--list ;;
    --plan) plan=1 ;;
    --summary) summary=1 && shift && break ;;
    --only) only=${2:-} && shift ;;
    --shard)
        shard=${2:-} && shift
        case $shard in */*) ;; *) refuse "--shard: found '$shard', expected I/N" ;; esac
        counting --shard "${shard%%/*}" && counting --shard "${shard#*/}"
        [ "${shard%%/*}" -le "${shard#*/}" ] || refuse "--shard: there is no share ${shard%%/*} of ${shard#*/}"
        ;;
    --jobs) jobs=${2:-} && counting --jobs "$jobs" && shift ;;
    --status) every=${2:-} && counting --status "$every" && shift ;;
    --) shift && break ;;
    -*) refuse "no such option: $1" ;;
    *) suites="$suites $1" ;;
    esac
    shift
done

# add_up LOG ... - what the shards said, once each, of one list of programs; their failures; the sum as the last line.
add_up() {
    for log in "$@"; do
        [ -r "$log" ] || refuse "--summary: $log cannot be read"
        sed -n '/^failed:$/,/^shard /p' "$log" | grep -v -e '^failed:$' -e '^shard '
    done
    for log in "$@"; do
        printf '%s\t%s\t%s\n' "$log" "$(grep '^shard ' "$log" | tail -n 1)" "$(tail -n 1 "$log")"
    done | LC_ALL=C awk -F'\t' '
    function wrong(text) { print text; faults++ }
    $2 !~ /^shard / || $3 !~ /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { wrong($1 ": this is not all of a run with --shard"); next }
    {
        split($2, word, "[ /:,]+") # shard I N P of ALL programs list CHECKSUM
        list = word[3] " shards of " word[6] " programs, list " word[9]
        if (NR == 1) { all = list; shards = word[3]; programs = word[6] }
        if (list != all) wrong($1 ": " list "; the first log: " all)
        if (word[2] in seen) wrong($1 ": shard " word[2] " is there twice")
        seen[word[2]] = 1
        run += word[4]
        split($3, count, "[ ,]+")
        passed += count[1]; failed += count[3]; skipped += count[5]
    }
    END {
        for (i = 1; i <= shards; i++) if (!(i in seen)) wrong("shard " i "/" shards " is missing")
        if (faults == 0 && run != programs) wrong(run + 0 " of " programs " programs were run")
        print passed + 0 " passed, " failed + faults " failed, " skipped + 0 " skipped"
        exit (failed + faults > 0 || passed == 0)
    }'
}
if [ -n "$summary" ]; then
    [ $# -gt 0 ] || refuse "--summary needs the logs of the shards"
    add_up "$@"
    exit
fi

limit=1800 # seconds that one program may take
[ -n "$full" ] && limit=14400
export TILEWRIGHT_SOURCE="$here"
clock() { read -r up _ </proc/uptime && echo "$up"; }
tier=usual && [ -z "$full" ] || tier=full
[ -z "$quick" ] || tier=quick
budget=$(sed -n "s|^tier/$tier ||p" "$here/tests/times")

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
        if (match(tolower($0), / # *skip/)) {
            skip(substr($0, RSTART + RLENGTH + 1))
        } else if ($1 == "ok") {
            passed++
        } else {
            failed++
            explain = 12
            complain($0)
        }
        next
    }
    /^Bail out!/ { failed++; complain($0); next }
    explain > 0 && /^#/ { explain--; complain("  " $0) }
    /ERROR: |WARNING: ThreadSanitizer|runtime error:/ { report = 12 }
    report > 0 { report--; complain($0) }
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

work=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-tests.XXXXXX") && chmod 711 "$work" || exit 1 # TMPDIR is below it, also for other users
trap 'rm -rf "$work"' EXIT
# Without its folder no worker takes another program.
trap 'mv "$work" "$work.over" && work=$work.over; cat "$work"/pid.* 2>/dev/null | xargs kill "$!" 2>/dev/null; exit 130' INT TERM

# ---- what is to be run: work/tasks, a line each of the seconds it may take, folder, name, part, path (-: none), why
# there is none ----

# programs_of FOLDER - name, path, reason. Of a build folder as the sources have them: each shard must know all,
# whatever is built there. Beside tests/test_* those are what CMake registers by name.
programs_of() {
    built=$1/tests/programs
    if ! [ -e "$1/CMakeCache.txt" ] && [ -e "$built" ]; then cat "$built" && return; fi
    [ -z "$plan" ] && [ -e "$built" ] || built=/dev/null
    {
        for source in "$here"/tests/test_*.c "$here"/tests/test_*.sh "$here"/tests/test_*.py; do
            name=${source##*/} && if [ -e "$source" ]; then echo "${name%.*}"; fi
        done
        sed -n 's/^register(\(test_[a-z0-9_]*\) .*/\1/p' "$here/tests/CMakeLists.txt"
    } | LC_ALL=C awk -F'\t' '
    !sources { line[$1] = $0; next }
    { print $1 in line ? line[$1] : $1 "\t" $1 }' "$built" sources=1 -
}

# timed ARGUMENTS - before each line of folder, name, path, reason what tests/times says, its parts in --full a line each.
timed() {
    LC_ALL=C awk -F'\t' -v OFS='\t' -v full="$full" -v whole="$list$1" '
    !tasks { split($0, word, " "); name = word[1]; seconds[name] = word[full == "" ? 2 : 3]; parts[name] = word[4]; next }
    {
        each = full != "" && whole == "" && parts[$2] > 1 ? parts[$2] : 1
        for (i = 1; i <= each; i++) print ($2 in seconds ? seconds[$2] / each : 10), $1, $2, i "/" each, $3, $4
    }' "$here/tests/times" tasks=1 -
}

for suite in $suites; do
    folder=${suite%%[=:]*} wanted='' label=''
    case $suite in *:*) wanted=",${suite#*:}," ;; esac
    case ${suite%%:*} in *=*) label=${suite%%:*} && label=${label#*=}/ ;; esac
    case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
    [ -n "$label" ] || label=$(basename "$folder")/
    [ "$label" != ci/ ] || label=
    unwanted='' && [ "$wanted" != "${wanted#,-}" ] && unwanted=,${wanted#,-} && wanted=''
    programs_of "$folder" | while IFS='	' read -r name program reason; do
        case $wanted in '' | *",$name,"*) ;; *) continue ;; esac
        case $unwanted in *",$name,"*) continue ;; esac
        case $label$name in *"$only"*) ;; *) continue ;; esac
        case $program in - | /*) ;; *) program=$folder/tests/$program ;; esac
        printf '%s\t%s\t%s\t%s\n' "$folder" "$label$name" "$program" "$reason"
    done
done | timed "$*" >"$work/all"
if [ -n "$quick" ]; then # most is caught per second by what takes least
    LC_ALL=C sort -t '	' -k1,1n -k3,3 "$work/all" |
        LC_ALL=C awk -F'\t' -v budget="$budget" '{ sum += $1 } sum * 6 <= budget * 5' >"$work/cheapest"
    mv "$work/cheapest" "$work/all"
fi

# share FILE - of all programs those of the shard: each, longest first, goes where least is to do then, and the first
# of a folder brings its build.
share() {
    LC_ALL=C sort -t '	' -k1,1nr -k3,3 -k4,4 "$1" | LC_ALL=C awk -F'\t' -v wanted="${shard%%/*}" -v shards="${shard#*/}" -v full="$full" '
    !tasks { split($0, word, " "); build[word[1]] = word[full == "" ? 2 : 3]; next }
    {
        folder = $3
        if (!sub(/\/.*/, "/", folder)) folder = "ci/"
        least = 0
        for (i = 1; i <= shards; i++) {
            sum = load[i] + $1 + (built[i, folder] ? 0 : build[folder])
            if (least == 0 || sum < lowest) { least = i; lowest = sum }
        }
        load[least] = lowest
        built[least, folder] = 1
        if (least == wanted) print
    }' "$here/tests/times" tasks=1 -
}
if [ -n "$shard" ]; then share "$work/all"; else cat "$work/all"; fi >"$work/tasks"

if [ -n "$plan" ]; then
    cut -f 2,3 "$work/tasks" | sed 's|	.*/|	|' | LC_ALL=C sort -u
    exit 0
fi
cut -f 2 "$work/tasks" | sort -u | while read -r folder; do
    [ -e "$folder/tests/programs" ] || refuse "$folder has no tests/programs: nothing was built there"
done || exit
warm=$(cut -f 2 "$work/tasks" | sort -u | while read -r folder; do ls -d "$folder/test-cache" 2>/dev/null; done)
if [ -z "$list" ]; then # by what they took here
    while IFS='	' read -r seconds folder name part program reason; do
        last=$(cat "$folder/test-logs/${name##*/}.${part%/*}of${part#*/}$full.seconds" 2>/dev/null)
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${last:-$seconds}" "$folder" "$name" "$part" "$program" "$reason"
    done <"$work/tasks" | LC_ALL=C sort -t '	' -k1,1nr -k3,3 -k4,4 >"$work/sorted" && mv "$work/sorted" "$work/tasks"
fi

# enter FOLDER - the environment of a build folder's programs; quietly: what must stand before them.
enter() {
    export TILEWRIGHT_BUILD="$1" TILEWRIGHT="$1/tilewright" XDG_CACHE_HOME="$1/test-cache" TILEWRIGHT_CACHE="$1/test-kernels"
    export TILEWRIGHT_TUNED=off # what the user tuned is not tested
    mkdir -p "$1/test-logs" "$XDG_CACHE_HOME" && chmod 700 "$XDG_CACHE_HOME"
    # A driver that compiles with LLVM inside this process makes a sanitizer report on LLVM: these suites see no OpenCL driver.
    grep -q '^TILEWRIGHT_SANITIZE:.*=.' "$1/CMakeCache.txt" 2>/dev/null && export OCL_ICD_VENDORS=/nowhere
    # gcc 12's ThreadSanitizer does not start where the kernel spreads addresses over 32 bits.
    quietly='' && grep -q '^TILEWRIGHT_SANITIZE:.*=thread' "$1/CMakeCache.txt" 2>/dev/null &&
        setarch -R true 2>/dev/null && quietly='setarch -R'
}

# cases_of NAME - --full, but not under sanitizers, where the whole product of the cases takes hours. asan-kernels/,
# whose kernels are instrumented, runs the covering set as it is run without sanitizers, with each edge and remainder;
# asan/ and tsan/ run each of its properties once (tap_brings). By hand: build/asan/tests/test_kernels --full.
cases_of() {
    case $1 in
    tsan/test_threads | tsan/test_recalled) [ -z "$full" ] || echo --unspared ;; # races show by repetition
    asan/* | tsan/*) ;;
    asan-kernels/*) [ -z "$full" ] || echo --unspared ;;
    *) echo "$full" ;;
    esac
}

# spent FILE - the processor-seconds of a shell's children that ended, of its `times` in a file: in a pipe it has none.
spent() { LC_ALL=C awk -F '[ms ]+' 'NR == 2 { gsub(",", "."); print 60 * ($1 + $3) + $2 + $4 }' "$1"; }

# probe NUMBER - fixed work, whose processor-seconds say how fast the machine is while the programs run, with what
# slows these too: a neighbour in the same core, a lower clock, caches that others fill. On the machine of tests/times
# it takes probe_s.
probe_s=0.25
probe() {
    (gzip -6 <"$work/probe" >/dev/null && times >"$work/probe.$1" && spent "$work/probe.$1" >>"$work/probes")
}

# start_probes - one on each processor, so that the shortest run has some; more follow every twenty seconds.
start_probes() {
    seq 1000000 >"$work/probe" && : >"$work/probes"
    probes=''
    for number in $(seq "$jobs"); do probe "$number" & probes="$probes $!"; done
    # shellcheck disable=SC2086 # words on purpose
    wait $probes
}

# run_program NUMBER FOLDER NAME PART PROGRAM ARGUMENT ... - runs and judges it; work/verdict.NUMBER has its lines,
# the last the counts.
run_program() {
    number=$1 name=$3 part=$4 program=$5 log=$2/test-logs/${3##*/}
    [ "$part" = 1/1 ] || { log=$log.${part%/*}of${part#*/} name="$name $part"; }
    seconds_file=$2/test-logs/${3##*/}.${part%/*}of${part#*/}$full.seconds sanitizer=$log.sanitizer log=$log.log
    enter "$2"
    cases=$(cases_of "$3")
    shift 5
    [ $# -eq 0 ] || seconds_file=/dev/null
    [ "$part" = 1/1 ] || set -- --part "$part" "$@"
    rm -f "$sanitizer".*
    # Reports go to files of their own: stderr is the program's, and a test may expect what it says.
    # The thread-local memory of libraries that are loaded later is not looked at: LeakSanitizer reads a wrong address and length for libOpenCL's (GCC 12) and crashes.
    # Nor is the use of locals after their function's return: GCC 13.3 then places the locals of AVX-512 code unaligned, which crashes.
    export ASAN_OPTIONS="allocator_may_return_null=1:detect_stack_use_after_return=0:intercept_tls_get_addr=0:exitcode=99:log_path=$sanitizer"
    export UBSAN_OPTIONS="print_stacktrace=1:exitcode=99:log_path=$sanitizer"
    export TSAN_OPTIONS="halt_on_error=1:exitcode=99:log_path=$sanitizer"
    mkdir -m 755 "$work/tmp.$number" && export TMPDIR="$work/tmp.$number"
    before=$(clock)
    echo "$number $before $name" >"$work/running.$number"
    # shellcheck disable=SC2086 # words on purpose
    timeout -k 10 "$limit" $quietly "$program" $cases "$@" >"$log" 2>&1 </dev/null &
    echo $! >"$work/pid.$number"
    wait $!
    status=$?
    times >"$work/times.$number"
    rm -f "$work/pid.$number" "$work/running.$number"
    [ -d "$work" ] || exit 130 # stopped
    rm -rf "$TMPDIR"
    seconds=$(echo "$before $(clock)" | LC_ALL=C awk '{ printf "%.1f", $2 - $1 }')
    cat "$sanitizer".* >>"$log" 2>/dev/null
    reports=$(cat "$sanitizer".* 2>/dev/null | grep -cE 'ERROR: |WARNING: ThreadSanitizer|runtime error:')
    judge "$log" "$status" "$reports" >"$work/judged.$number"
    counts=$(tail -n 1 "$work/judged.$number")
    read -r passed failed skipped <<COUNTS
$counts
COUNTS
    [ "$failed" -gt 0 ] || echo "$seconds" >"$seconds_file"
    echo "$number $seconds $(spent "$work/times.$number")" >>"$work/done"
    {
        printf '%-24s %6d passed %4d failed %4d skipped %7s s\n' "$name" "$passed" "$failed" "$skipped" "$seconds"
        sed '$d' "$work/judged.$number"
        [ "$failed" -gt 0 ] && echo "    the whole log: $log"
        echo "$counts"
    } >"$work/verdict.$number"
}

# worker ARGUMENT ... - takes the next program that nobody took, until there is none; its number on stdout when it is judged.
worker() {
    task=0
    while IFS='	' read -r _ folder name part program reason <&3; do
        task=$((task + 1))
        mkdir "$work/taken.$task" 2>/dev/null || continue
        if [ "$program" = - ]; then # could not be built
            printf '%-24s left out: %s\n0 0 1\n' "$name" "$reason" >"$work/verdict.$task"
        else
            (run_program "$task" "$folder" "$name" "$part" "$program" "$@" >&2 3<&-)
        fi
        echo "$task"
    done 3<"$work/tasks"
}

# status - what is running and how long the rest may take: as long as it last took, at the speed of what ended today.
status() {
    cat "$work"/running.* 2>/dev/null | LC_ALL=C awk -v now="$(clock)" -v jobs="$jobs" '
    file == "tasks" { split($0, field, "\t"); expected[++all] = field[1]; next }
    file == "done" { ended[$1] = 1; if ($2 * 10 > expected[$1]) { took += $2; should += expected[$1] } next } # else it skipped its cases
    {
        number = $1; elapsed = now - $2; started[number] = elapsed
        sub(/^[^ ]* [^ ]* /, "")
        running = running (running == "" ? ", running " : " and ") $0 sprintf(" %d s", elapsed)
    }
    END {
        speed = should > 5 ? took / should : 1
        for (i = 1; i <= all; i++) {
            if (i in ended) { finished++; continue }
            rest = expected[i] * speed - started[i]
            if (rest < 0) rest = 0
            left += rest / jobs
            if (rest > longest) longest = rest
        }
        if (longest > left) left = longest
        printf "%d of %d programs%s, about %s left\n", finished, all, running, left < 90 ? sprintf("%d s", left + 1) : sprintf("%d min", left / 60 + 0.5)
    }' file=tasks "$work/tasks" file=done "$work/done" file=running -
}

# show - each program's verdict when its number comes, the status when it is time; at the end what failed once more,
# then the last line.
show() {
    ticks=0 clear='' total_passed=0 total_failed=0 total_skipped=0 width=''
    [ -t 2 ] && [ "${TERM:-dumb}" != dumb ] && width=$(stty size <&2 2>/dev/null | cut -d ' ' -f 2)
    [ "$width" != 0 ] || width=80
    while read -r number && [ "$number" != end ]; do
        if [ "$number" = tick ]; then
            if [ -n "$width" ]; then
                printf "\r\033[K%.$((width - 1))s" "$(status)" >&2 && clear=$(printf '\r\033[K')
            elif [ "$ticks" -gt 0 ] && [ $((ticks % every)) -eq 0 ]; then
                status >&2
            fi
            ticks=$((ticks + 1))
            continue
        fi
        printf %s "$clear" >&2 && clear=''
        verdict "$number"
    done
    number=0 count=$(wc -l <"$work/tasks")
    while [ "$number" -lt "$count" ]; do
        number=$((number + 1))
        [ -e "$work/verdict.$number" ] && continue
        printf '%s of the list was not judged\n0 1 0\n' "$(sed -n "${number}p" "$work/tasks" | cut -f 3)" >"$work/verdict.$number"
        verdict "$number"
    done
    printf %s "$clear" >&2
    if [ -n "$whole" ]; then
        account >"$work/account" ||
            { total_failed=$((total_failed + 1)) && tail -n 1 "$work/account" >>"$work/failures"; }
        cat "$work/account"
    fi
    [ -z "$times" ] || [ "$total_failed" -gt 0 ] || write_times || total_failed=1
    [ "$count" -gt 1 ] && [ -e "$work/failures" ] && echo "failed:" && cat "$work/failures"
    [ $((total_passed + total_failed)) -eq 0 ] && [ -z "$shard" ] && echo "no test ran"
    [ -z "$shard" ] || echo "shard $shard: $count of $(wc -l <"$work/all") programs, list $(echo "$full" "$@" | cat - "$work/all" | cut -f 3,4 | sort | cksum | cut -d ' ' -f 1)"
    echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    [ "$total_failed" -eq 0 ] && { [ "$total_passed" -gt 0 ] || [ -n "$shard" ]; }
}

# account - prints the ten slowest programs and what the tier took of its budget; puts the rows of tests/times as they
# were measured into work/rows. Fails when the tier took more than its budget. What a folder's build took is measured by
# ./dev, else it counts by its row.
account() {
    [ -s "$work/probes" ] || { echo "the $tier tier was not measured: gzip failed, which says how fast the machine is" && return 1; }
    cut -f 2 "$work/tasks" | sort -u | while read -r folder; do
        [ -z "$times" ] || cat "$folder/build.seconds"
    done >"$work/builds"
    LC_ALL=C awk -v tier="$tier" -v probe_s="$probe_s" -v warm="$warm" -v times="$times" -v rows="$work/rows" '
    function spelt(seconds) { return sprintf(seconds < 10 ? "%.1f" : "%.0f", seconds) }
    function largest(of,    name, best) {
        for (name in of) if (best == "" || of[name] > of[best] || of[name] == of[best] && name < best) best = name
        return best
    }
    function build_of(name) { return sub(/\/.*/, "/", name) ? name : "ci/" }
    file == "times" { if ($1 !~ /^#/) { names[$1] = 1; row[$1, 2] = $2; row[$1, 3] = $3; parts[$1] = $4 } next }
    file == "probes" { probed += $1; probes++; next }
    file == "builds" { built[$1] = $2; next }
    file == "done" { clock[$1] = $2; spent[$1] = $3; next }
    {
        split($0, field, "\t")
        name = field[3]
        names[name] = names[build_of(name)] = here[name] = here[build_of(name)] = 1
        if (!(FNR in spent)) next
        took[name] += spent[FNR]
        run = name (field[4] == "1/1" ? "" : " " field[4])
        slow[run] = spent[FNR]
        by_clock[run] = clock[FNR]
    }
    END {
        print "the ten slowest, in seconds of processors and of the clock:"
        for (i = 1; i <= 10 && (run = largest(slow)) != ""; i++) {
            printf "    %-28s %7.1f %7.1f\n", run, slow[run], by_clock[run]
            delete slow[run]
        }
        if (probed == 0) probed = 0.001
        speed = probe_s * probes / probed
        column = tier == "full" ? 3 : 2
        for (name in took) used += new[name] = took[name] * speed
        for (name in here)
            if (name ~ /\/$/ && tier != "quick")
                builds += new[name] = name in built ? built[name] * speed : row[name, column]
        used += builds
        budget = row["tier/" tier, 2]
        over = used > budget
        for (name in took) {
            by = new[name] - row[name, column]
            if (by < 0) by = warm == "" && !over ? -by : 0
            if (by > 1 && by > row[name, column] / 4) off[name] = by
        }
        for (i = 1; i <= 10 && (name = largest(off)) != ""; i++) {
            text = text (i > 1 ? ", " : "") name " took " spelt(new[name]) " instead of " spelt(row[name, column])
            delete off[name]
        }
        how = tier == "quick" ? "builds are not counted" : sprintf("%.0f of them for builds", builds)
        how = how sprintf(", on processors %.2f times as fast as those of tests/times", speed)
        if (!over && text != "" && times == "" && tier != "quick") print "tests/times is off by more than a quarter: " text
        if (text == "") text = "no program took much more than its row"
        if (over) printf "the %s tier took %.0f processor-seconds, more than its %s (%s): %s\n", tier, used, budget, how, text
        else printf "the %s tier took %.0f of its %s processor-seconds, %s\n", tier, used, budget, how
        for (name in names) {
            if (name in new) row[name, column] = new[name] < 0.1 ? 0.1 : spelt(new[name])
            else if (name !~ /^tier\// && !(name in here)) row[name, column] = 0
            if (!((name, 5 - column) in row)) row[name, 5 - column] = row[name, column]
            line = name " " row[name, 2] " " row[name, 3] " " parts[name]
            sub(/ +$/, "", line)
            if (row[name, 2] + row[name, 3] > 0) print line >rows
        }
        exit over
    }' file=times "$here/tests/times" file=probes "$work/probes" file=builds "$work/builds" \
        file=done "$work/done" file=tasks "$work/tasks"
}

# write_times - tests/times with the rows of work/rows.
write_times() {
    { grep '^#' "$here/tests/times" && LC_ALL=C sort "$work/rows"; } >"$work/times" &&
        cp "$work/times" "$here/tests/times" && echo "tests/times: written"
}

# verdict NUMBER - prints it and adds it up.
verdict() {
    sed '$d' "$work/verdict.$1"
    read -r passed failed skipped <<COUNTS
$(tail -n 1 "$work/verdict.$1")
COUNTS
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed)) total_skipped=$((total_skipped + skipped))
    [ "$failed" -eq 0 ] || sed '$d' "$work/verdict.$1" | grep -v '^    skipped ' >>"$work/failures"
}

if [ -n "$list" ]; then
    while IFS='	' read -r _ folder name part program reason <&3; do
        [ "$program" = - ] && echo "$name (all of it)" && continue
        enter "$folder"
        cases=$(cases_of "$name")
        # shellcheck disable=SC2086 # words on purpose
        $quietly "$program" --list $cases "$@" | sed "s|^|$name |"
    done 3<"$work/tasks"
    exit 0
fi
: >"$work/done"
{
    [ -z "$whole" ] || start_probes
    ticks=0
    while echo tick && sleep 1; do
        ticks=$((ticks + 1))
        [ -z "$whole" ] || [ $((ticks % 20)) -ne 0 ] || probe tick
    done 2>/dev/null &
    workers='' left=$jobs
    while [ "$left" -gt 0 ]; do
        worker "$@" &
        workers="$workers $!"
        left=$((left - 1))
    done
    # shellcheck disable=SC2086 # words on purpose
    wait $workers
    echo end
} | show "$@" &
wait $! # in which a signal is heard at once
