#!/bin/sh
# test_soak.sh - a few rounds of ./dev soak, and whether it finds what it is for: each fault that it can plant itself.
# Prints TAP.
set -u

cases='rounds_of_a_fixed_seed_pass a_round_is_repeated_by_its_seed element child bits padding descriptor thread memory crash hang wrong_words_are_refused'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

soak() { "$build/tests/soak" "$@" >"$work/out" 2>"$work/err"; }
says() { grep -q -e "$1" "$work/out" || { echo "not said: $1" && cat "$work/out" "$work/err" && return 1; }; }
last_line_says() { tail -n 1 "$work/out" | grep -q -e "$1" || { echo "not the last line: $1" && cat "$work/out" "$work/err" && return 1; }; }

rounds_of_a_fixed_seed_pass() {
    soak --rounds 12 --seed 1 || { cat "$work/out" "$work/err" && return 1; }
    last_line_says '^soak: 12 rounds, [1-9][0-9]* calls, [1-9][0-9]* forks, [1-9][0-9]* cancellations, 0 failures$'
}

# The counts of a round follow from its seed, where nothing ends it early.
a_round_is_repeated_by_its_seed() {
    soak --rounds 1 --seed 7 && cp "$work/out" "$work/first" && soak --rounds 1 --seed 7 || return 1
    diff "$work/first" "$work/out"
}

# A planted crash is no report for tests/run.sh to find.
plant() { (export ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=0:intercept_tls_get_addr=0 && soak --seed 1 --plant "$@"); }

# What the oracles see, they see without sanitizers.
seen_without() { [ -z "$(cached TILEWRIGHT_SANITIZE)" ] || skip "no fault of memory: seen without sanitizers"; }

# finds FAULT TEXT [ROUNDS] - the fault, planted once, ends the run with this sentence and the command that repeats it.
finds() {
    plant "$1" --rounds "${3:-6}" --hang 20
    [ $? -eq 1 ] && says "^soak: round of seed [0-9]*: .*$2" && says '^again: ./dev soak --seed [0-9]* --rounds [0-9]' &&
        last_line_says ', 1 failures$'
}

element() { seen_without && finds element ', expected '; }
child() { seen_without && finds child ', expected '; }
bits() { seen_without && finds bits "the second call's bits differ from the first's"; }
padding() { seen_without && finds padding 'byte [0-9]* was changed\|an operand was written'; }
descriptor() { seen_without && finds descriptor '1 file descriptors more after the round than before'; }
thread() { seen_without && finds thread '1 threads more after the round than before'; }
crash() { finds crash 'signal 11 ended the process\|the process ended with status'; }

memory() {
    seen_without || return 1
    finds memory 'memory grew in [0-9]* rounds' 20
}

hang() {
    seen_without || return 1
    plant hang --rounds 3 --hang 5
    [ $? -eq 1 ] && says 'nothing ended in 5 s, while its threads did:$' && says '^  [a-z0-9]* ' && last_line_says ', 1 failures$'
}

wrong_words_are_refused() {
    for words in '' '--rounds x' '--rounds -1' '--rounds' '--plant' '--plant bug --rounds 1' '--loudly 1'; do
        # shellcheck disable=SC2086 # words on purpose
        soak $words
        [ $? -eq 2 ] || { echo "soak $words: not refused" && return 1; }
        grep -q '^usage: soak' "$work/err" || return 1
    done
    for words in '' x '1 --seed' '1 --seed x' '1 --sanitize all'; do
        # shellcheck disable=SC2086
        "$root/dev" soak --no-install $words >"$work/out" 2>&1
        [ $? -eq 2 ] || { echo "./dev soak $words: not refused" && cat "$work/out" && return 1; }
    done
}

run_cases
