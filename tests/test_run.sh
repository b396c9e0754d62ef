#!/bin/sh
# test_run.sh - tests/run.sh and ./dev test on programs that only say what they are told: when results come, what is
# said meanwhile and at the end, what a share of the programs is and what a tier, its budget, and what is built for it,
# told and interrupted. Prints TAP.
set -u

cases='results_come_as_programs_end failures_are_repeated nothing_ran_is_a_failure status_has_an_estimate a_terminal_has_one_status_line
longest_first times_of_all_programs_are_known every_program_of_the_build_is_planned the_cheapest_are_quick
a_tier_keeps_its_budget waiting_takes_no_budget times_are_written_as_measured shards_share_every_program_once parts_share_every_case_once shards_are_added_up what_is_not_asked_for_is_not_built
sanitizers_run_the_covering_set a_build_is_told_without_a_terminal nothing_outlives_an_interrupted_build
temporary_folders_are_their_own'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

unset COLUMNS
before_case() { rm -rf "${work:?}"/* && cd "$work" && mkfifo go || exit; }

# program NAME SECONDS TEXT - one of the folder f: what it does, and how long it took last.
program() {
    mkdir -p f/tests f/test-logs
    printf '#!/bin/sh\ncase $* in *--list*) echo case && exit ;; esac\n%s\n' "$3" >"f/tests/$1" && chmod +x "f/tests/$1"
    printf '%s\t%s\n' "$1" "$1" >>f/tests/programs
    echo "$2" >"f/test-logs/$1.1of1.seconds"
}
passing='echo 1..1; echo "ok 1 - case"'
waiting="read go <$work/go; $passing" # until something is written there
run() { "$root/tests/run.sh" "$@"; }

# wait_for WHAT ... - until the command succeeds, at most 20 s.
wait_for() {
    for _ in $(seq 200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "waited in vain: $*" && return 1
}

last_line_is() { [ "$(tail -n 1 "$1")" = "$2" ] || { echo "expected as last line: $2" && cat "$1" && return 1; }; }

results_come_as_programs_end() {
    program slow 9 "$waiting" && program quick 1 "$passing"
    run --jobs 2 f >out 2>err &
    wait_for grep -q '^f/quick  *1 passed' out || { echo >go && wait && return 1; }
    ! grep slow out || { echo >go && wait && return 1; }
    echo >go && wait && last_line_is out '2 passed, 0 failed, 0 skipped'
}

# What the first process of a machine makes below TMPDIR, others do not make at the same time: neither programs nor cases side by side.
temporary_folders_are_their_own() {
    telling="touch \$TMPDIR/mine; ls \$TMPDIR >>$work/there; echo \$TMPDIR >>$work/folders; $passing"
    program one 1 "$telling" && program two 1 "$telling" && run --jobs 2 f >out 2>err || { cat out && return 1; }
    cat >cases.py <<END
import os, sys
sys.path.insert(0, "$root/tests")
from support.tap import case, main
@case
def one():
    open(os.environ["TMPDIR"] + "/mine", "x")
    print(os.environ["TMPDIR"], file=open("$work/folders", "a"))
@case
def two(): one()
main(side_by_side=2)
END
    python3 -B cases.py >out || { cat out && return 1; }
    cat there folders && [ "$(cat there)" = "mine
mine" ] && [ "$(sort -u folders | wc -l)" -eq 4 ] || return 1
    while read -r folder; do [ ! -e "$folder" ] || { echo "$folder is left" && return 1; }; done <folders
}

failures_are_repeated() {
    program fails 9 'echo 1..2; echo "ok 1 - right"; echo "not ok 2 - wrong"; echo "# it was 3"; exit 1' && program crashes 8 'kill -SEGV $$'
    program silent 7 true && program stops 6 'echo 1..2; echo "ok 1 - first"' && program right 1 "$passing"
    ! run --jobs 1 f >out 2>err || { echo "it passed" && return 1; }
    last_line_is out '3 passed, 4 failed, 0 skipped' || return 1
    sed -n '/^failed:$/,$p' out >end
    for text in '^f/fails .* 1 failed' '^    not ok 2 - wrong$' '^      # it was 3$' '^f/crashes ' 'exit status was 139: signal 11' '^f/silent ' \
        'it printed no result' '^f/stops ' '1 of 2 cases gave no result' "the whole log: $work/f/test-logs/fails.log"; do
        grep -q -- "$text" end || { echo "not repeated: $text" && cat out && return 1; }
        [ "$(grep -c -- "$text" out)" -gt "$(grep -c -- "$text" end)" ] || { echo "not said when it came: $text" && return 1; }
    done
    ! grep '^f/right' end
}

nothing_ran_is_a_failure() {
    program skipped 1 'echo "1..0 # SKIP no device"'
    ! run f >out 2>err || return 1
    last_line_is out '0 passed, 0 failed, 1 skipped' && grep -qx 'no test ran' out || return 1
    ! run nowhere >out 2>err && grep -q 'nowhere has no tests/programs' err
}

status_has_an_estimate() {
    program slow 600 "$waiting" && program quick 1 "$passing"
    run --jobs 2 --status 1 f >out 2>err &
    wait_for grep -qE '^1 of 2 programs, running f/slow [0-9]+ s, about (9|10) min left$' err || { echo >go && wait && cat err && return 1; }
    echo >go && wait && last_line_is out '2 passed, 0 failed, 0 skipped' && ! grep ' left$' out
}

a_terminal_has_one_status_line() {
    need script || return 1
    program slow 600 "$waiting" && program quick 1 "$passing"
    TERM=xterm script -qefc "stty cols 60; exec $root/tests/run.sh --jobs 2 f" /dev/null >out </dev/null &
    wait_for grep -q '1 of 2 programs, running f/slow' out || { echo >go && wait && cat out && return 1; }
    echo >go && wait
    sed 's/\r*$//; s/.*\r.\[K//' out >plain
    last_line_is plain '2 passed, 0 failed, 0 skipped' || return 1
    tr '\r' '\n' <out | LC_ALL=C awk '/programs/ { n++; sub(/\033\[K/, ""); if (length > 59) long = 1 } END { exit n < 2 || long }' || { cat out && return 1; }
}

longest_first() {
    program short 1 "$passing" && program long 100 "$passing" && program middle 10.5 "$passing"
    run --jobs 1 f >out 2>err || return 1
    [ "$(sed -n 's|^f/\([a-z]*\) .*|\1|p' out | xargs)" = 'long middle short' ] || { cat out && return 1; }
    [ "$(cat f/test-logs/long.1of1.seconds)" != 100 ] || { echo "what it took was not kept" && return 1; }
    echo 50 >f/test-logs/middle.1of1.seconds
    run --jobs 1 f -- --only x >out 2>err
    grep -qx 50 f/test-logs/middle.1of1.seconds || { echo "some of its cases are no measure" && return 1; }
}

suites='build/ci build/asan:-test_install,test_nvrtc build/tsan:test_api,test_random,test_threads,test_kernels'

# Each line of tests/times is of a program that there is.
times_of_all_programs_are_known() {
    sed 's/#.*//' "$root/tests/times" | while read -r name _; do
        case $name in *san/* | *san-kernels/*) name=${name#*/} ;; esac
        case $name in "" | ci/ | tier/usual | tier/full | tier/quick) continue ;; esac
        ls "$root/tests/$name".* >/dev/null 2>&1 || grep -q "^register($name " "$root/tests/CMakeLists.txt" || { echo "tests/times: there is no $name" && exit 1; }
    done
}

every_program_of_the_build_is_planned() {
    run --plan "$build" | cut -f 2 | sort >planned && [ -s planned ] && cut -f 1 "$build/tests/programs" | sort | comm -23 - planned >left && ! grep . left
}

# tier ROW ... - tests/run.sh in a tree of its own, whose tests/times has these rows; on a machine that seems to be some
# hundred times as fast as it is, by how soon it has done the work that says so.
tier() {
    fast_gzip && mkdir -p tree/tests && cp "$root/tests/run.sh" tree/tests/ && echo '# its head' >tree/tests/times && printf '%s\n' "$@" >>tree/tests/times
}
fast_gzip() { mkdir -p bin && printf '#!/bin/sh\n' >bin/gzip && chmod +x bin/gzip; }
run_as_it_is() { tree/tests/run.sh --whole --jobs 1 f >out 2>err; }
run_tier() { PATH="$work/bin:$PATH" tree/tests/run.sh --whole --jobs 1 "$@" f >out 2>err; }

the_cheapest_are_quick() {
    for name in a b c d e; do program $name 1 "$passing"; done
    tier 'f/a 1' 'f/b 3' 'f/c 4.1' 'f/d 6' 'f/e 2' 'tier/quick 12'
    quick() { tree/tests/run.sh --quick --plan "$@" f | cut -f 2 | xargs; }
    [ "$(quick)" = 'a b e' ] && [ "$(quick --only f/d)" = d ] || { quick && quick --only f/d && return 1; }
    run_tier --quick && last_line_is out '3 passed, 0 failed, 0 skipped' && grep 'the quick tier took [0-9]* of its 12 processor-seconds, builds are not counted' out
}

a_tier_keeps_its_budget() {
    program big 1 "i=0; while [ \$i -lt 20000 ]; do i=\$((i + 1)); done; $passing" && program small 1 "$passing"
    tier 'f/ 4 5' 'f/big 1 1' 'f/small 9 9' 'tier/usual 6' 'tier/full 6'
    run_as_it_is || { cat out && return 1; }
    last_line_is out '2 passed, 0 failed, 0 skipped' && grep -q '^the usual tier took [0-9]* of its 6 processor-seconds, 4 of them for builds' out || return 1
    grep -A 1 '^the ten slowest' out | grep -qE '^    f/big  *[0-9.]+  *[0-9.]+$' || { cat out && return 1; }
    grep -q '^tests/times is off by more than a quarter: f/small took [0-9.]* instead of 9' out || { cat out && return 1; }
    for full in '' --full; do # the second time with kernels kept, which makes no program too fast
        # shellcheck disable=SC2086
        ! run_tier $full && last_line_is out '2 passed, 1 failed, 0 skipped' || return 1
        sed -n '/^failed:$/,$p' out | grep -qE 'tier took [0-9]+ processor-seconds, more than its 6 .*: f/big took [0-9.]+ instead of 1' || { cat out && return 1; }
    done
    printf 'exit 1\n' >>bin/gzip
    ! run_tier && last_line_is out '2 passed, 1 failed, 0 skipped' && grep -q 'gzip failed' out || return 1
    tree/tests/run.sh f >out 2>err && ! grep 'tier' out
}

waiting_takes_no_budget() {
    program one 1 "sleep 0.2; $passing" && program two 1 "sleep 0.2; $passing"
    tier 'tier/usual 0.3' && run_as_it_is && last_line_is out '2 passed, 0 failed, 0 skipped' || { cat out && return 1; }
}

times_are_written_as_measured() {
    program old 1 "$passing" && program new 1 "$passing" && program parts 1 "$passing" && printf 'absent\t-\tno compiler\n' >>f/tests/programs
    tier 'tier/usual 100' 'tier/full 100' 'g/gone 3 0' 'g/full 0 70' 'f/parts 50 60 2' 'f/old 50 60' 'f/absent 7 8' 'f/ 9 9' && echo 'f/ 0.01' >f/build.seconds
    run_tier --times && grep -qx 'tests/times: written' out || { cat out err && return 1; }
    sed '/absent/!s/^\(f[^ ]*\) [0-4]*[0-9.]*/\1 little/; /new/s/ [0-9.]*$/ little/' tree/tests/times >found
    printf '%s\n' '# its head' 'f/ little 9' 'f/absent 7 8' 'f/new little little' 'f/old little 60' 'f/parts little 60 2' 'g/full 0 70' 'tier/full 100' 'tier/usual 100' |
        diff - found || return 1
    run_tier --times --full && ! grep -E '^f/.* [56]0( 2)?$|gone' tree/tests/times && grep -qE '^f/parts [0-9.]+ [0-9.]+ 2$' tree/tests/times || return 1
    program wrong 1 'echo 1..1; echo "not ok 1 - wrong"; exit 1' && cp tree/tests/times before
    ! run_tier --times && diff before tree/tests/times
}

sanitizers_run_the_covering_set() {
    program says 1 'echo 1..1; case " $* " in *" --full "*) echo "ok 1 - whole" ;; *) echo "ok 1 - covering" ;; esac'
    sed -i 's/^case .*echo case/case $* in *--list*--full*) echo whole \&\& exit ;; *--list*) echo covering/' f/tests/says
    for label in asan tsan ci; do
        run --full "f=$label" >out && grep '^ok' f/test-logs/says.log >>said && run --full --list "f=$label" >>said || return 1
    done
    [ "$(sed 's/.* //' said | paste -sd ' ')" = "covering covering covering covering whole whole" ] || { cat said && return 1; }
}

shards_share_every_program_once() {
    for full in '' --full; do
        # shellcheck disable=SC2086
        run --plan $full $suites >all && [ "$(wc -l <all)" -gt 50 ] || return 1
        for shards in 2 5; do
            : >shared
            for shard in $(seq $shards); do
                # shellcheck disable=SC2086
                run --plan $full --shard "$shard/$shards" $suites >>shared || return 1
            done
            if [ -z "$full" ]; then sort shared; else sort -u shared; fi | diff all - || return 1 # with --full a program may be in parts
        done
    done
    ! run --plan --shard 3/2 $suites 2>err && ! run --plan --shard 0/2 $suites 2>>err && ! run --plan --shard 2 $suites 2>>err && [ "$(wc -l <err)" -eq 3 ]
}

parts_share_every_case_once() {
    program=$build/tests/test_story
    "$program" --list | sort >all && [ -s all ] || return 1
    for part in 1/3 2/3 3/3; do "$program" --list --part $part >>parts && "$program" --part $part >>ran || return 1; done
    sort parts | diff all - && [ "$(grep -c '^ok ' ran)" -eq "$(wc -l <all)" ] || return 1
    ! "$program" --part 4/3 >out 2>&1
}

shards_are_added_up() {
    for name in a b c d; do program $name 1 "$passing"; done
    program wrong 1 'echo 1..1; echo "not ok 1 - bad | sign"; exit 1'
    for shard in 1 2 3; do run --shard $shard/3 f >log.$shard 2>&1; done
    ! run --summary log.3 log.1 log.2 >out || return 1
    last_line_is out '4 passed, 1 failed, 0 skipped' && grep -q 'not ok 1 - bad | sign' out || return 1
    sed -i /wrong/d f/tests/programs
    for shard in 1 2 3; do run --shard $shard/3 f >log.$shard 2>&1; done
    run --summary log.1 log.2 log.3 >out && last_line_is out '4 passed, 0 failed, 0 skipped' || return 1
    ! run --summary log.1 log.3 >out && grep -q 'shard 2/3 is missing' out || return 1
    ! run --summary log.1 log.2 log.3 log.2 >out && grep -q 'log.2: shard 2 is there twice' out || return 1
    sed '$d' log.2 >log.cut && ! run --summary log.1 log.cut log.3 >out && grep -q 'log.cut: this is not all' out || return 1
    run --full --shard 2/3 f >log.other 2>&1
    ! run --summary log.1 log.other log.3 >out && grep -q '^log.other: 3 shards of' out || return 1
    ! run --summary log.nowhere 2>err && ! run --summary 2>err
}

# ./dev in a tree of its own, where cmake only notes what it is asked for.
what_is_not_asked_for_is_not_built() {
    fast_gzip && mkdir -p tree/tests && cp "$root/dev" tree/ && cp "$root/tests/run.sh" "$root/tests/times" tree/tests/ || return 1
    for name in test_api.c test_story.c test_cli.py test_blas_reference.sh; do touch "tree/tests/$name"; done
    sed -n '/^register(test_blas /p' "$root/tests/CMakeLists.txt" >tree/tests/CMakeLists.txt
    cat >bin/cmake <<'CMAKE'
#!/bin/sh
echo "$*" >>../asked
case $* in *--preset*) ;; *) exit ;; esac
folder=${*##*--preset } && folder=build/${folder%% *} && mkdir -p "$folder/tests" && touch "$folder/CMakeCache.txt"
for name in test_api test_story test_cli test_blas_reference test_consumer test_blas; do printf '%s\t../../fake\n' $name; done >"$folder/tests/programs"
CMAKE
    printf '#!/bin/sh\ncase $* in *--list*) echo case && exit ;; esac\necho 1..1; echo ok 1 - case\n' >fake && chmod +x bin/cmake fake && mkdir -p tree/build && mv fake tree/build/
    # asks WORDS EXPECTED - of the presets, and behind them the targets.
    asks() {
        rm -f asked
        # shellcheck disable=SC2086
        PATH=$work/bin:$PATH tree/dev test --no-install $1 >out 2>err || { cat out err && return 1; }
        sed -n 's/^--build build\/\([a-z]*\) -j [0-9]*/\1/p' asked | sed 's/ --target//' | xargs >found
        [ "$(cat found)" = "$2" ] || { echo "./dev test $1: expected '$2' to be built, found '$(cat found)'" && return 1; }
    }
    asks '--only story' 'ci test_story' && last_line_is out '1 passed, 0 failed, 0 skipped' || return 1
    asks '--list' ci && [ "$(grep -c '^asan/' out)" -gt 1 ] && grep -qx 'tsan/test_api case' out || return 1
    asks '--only cli' ci && asks '--only asan/' 'asan test_api test_blas test_story' && asks '--sanitize --only api' 'asan test_api tsan test_api' || return 1
    asks '--quick' ci && grep -q '^the quick tier took' out && asks '--quick --only story' 'ci test_story' && ! grep '^the quick tier' out || return 1
    asks '--times' 'ci asan test_api test_blas test_story tsan test_api' && grep -qE '^test_kernels 0 [1-9]' tree/tests/times && ! grep -E '^(test_cli|tsan/test_api) 0 ' tree/tests/times &&
        ! grep -xF -e "$(grep '^asan/ ' "$root/tests/times")" tree/tests/times || { cat out err && return 1; }
    ! tree/dev test --no-install --times --only api >out 2>err && ! tree/dev test --no-install --quick --sanitize >out 2>>err && [ "$(grep -c '^dev: --' err)" -eq 2 ] || return 1
    asks '--only api' 'ci test_api' && ! tree/dev test --no-install --only nothing >out 2>err && grep -q "name contains 'nothing'" err
}

# dev_with CMAKE - ./dev in a tree of its own, with that text as its cmake.
dev_with() {
    mkdir -p bin tree && cp "$root/dev" tree/ && printf '#!/bin/sh\n%s\n' "$1" >bin/cmake && chmod +x bin/cmake
}

# Where a second is over at once.
a_build_is_told_without_a_terminal() {
    dev_with "echo '[3/7] this file'; case \$* in --build*) ;; *) read go <$work/go ;; esac" && ln -s /bin/true bin/sleep || return 1
    PATH=$work/bin:$PATH tree/dev build --no-install >out 2>err &
    wait_for grep -qxF 'configuring build ... [3/7]' err || { echo >go && wait && cat err && return 1; }
    echo >go && wait && grep -qx 'building build: done' err
}

# in_session ID - its processes.
in_session() { sed 's/.*) //' /proc/[0-9]*/stat 2>/dev/null | awk -v id="$1" '$4 == id && $1 != "Z" { n++ } END { exit n == 0 }'; }
session_is_empty() { ! in_session "$1"; }

nothing_outlives_an_interrupted_build() {
    dev_with "touch $work/begun; exec sleep 60" || return 1
    PATH=$work/bin:$PATH setsid env --default-signal=INT tree/dev build --no-install >out 2>err &
    session=$!
    wait_for [ -e begun ] && in_session "$session" && kill -INT "-$session" || { kill -KILL "-$session" && return 1; }
    wait_for session_is_empty "$session" || { kill -KILL "-$session" && return 1; }
}

run_cases
