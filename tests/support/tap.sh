# tap.sh - the cases of a test script in sh: lists them, runs those asked for, each a function, and prints TAP.
#
#   cases='first second'
#   . "$(dirname "$0")/support/tap.sh"      --list ends here
#   first() { ... }                         a function that returns 1 fails its case; after `skip WHY` it skips it
#   run_cases                               or run_cases WHY, which skips all unless WHY is empty
#
# A script knows --list, --only TEXT and --full, with which $tap_full is not empty; with in_order=1 its cases build on
# each other and --only leaves none out. It has $root, the sources; $build, the build folder; and $work, an empty folder
# that its cases share, removed in the end.
# shellcheck shell=sh disable=SC2034,SC2154 # what is set here is used there, and the other way round

root=${TILEWRIGHT_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
build=${TILEWRIGHT_BUILD:-$root/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac

tap_only='' tap_list='' tap_full=''
while [ $# -gt 0 ]; do
    case $1 in
    --list) tap_list=1 ;;
    --full) tap_full=1 ;;
    --only) tap_only=${2:-} && shift ;;
    esac
    shift
done
[ -z "${in_order:-}" ] || tap_only=''
# shellcheck disable=SC2086 # words on purpose
tap_chosen=$(printf '%s\n' $cases | grep -F -e "$tap_only")
[ -z "$tap_list" ] || { printf '%s\n' "$tap_chosen" && exit 0; }

tap=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-test.XXXXXX") || exit 1
trap 'rm -rf "$tap"' EXIT
trap 'exit 130' INT TERM
work=$tap/work
mkdir "$work" || exit 1

skip() { echo "$*" >"$tap/skip" && return 1; }
need() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

# note TEXT - a line of the log, also where the case passes.
note() { echo "# $*"; }

# cached NAME - its value in CMake's cache of the build folder.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null; }

# before_case - for a script whose cases begin in a state that they need; it may define its own.
before_case() { :; }

run_cases() {
    tap_number=0 tap_failed=0
    for tap_name in $tap_chosen; do
        tap_number=$((tap_number + 1))
        rm -f "$tap/skip" && before_case || exit 1
        if [ -n "${1:-}" ]; then
            echo "ok $tap_number - $tap_name # SKIP $1"
        elif "$tap_name" >"$tap/output" 2>&1; then
            echo "ok $tap_number - $tap_name"
            grep '^# ' "$tap/output"
        elif [ -e "$tap/skip" ]; then
            echo "ok $tap_number - $tap_name # SKIP $(cat "$tap/skip")"
        else
            tap_failed=$((tap_failed + 1))
            echo "not ok $tap_number - $tap_name"
            sed 's/^/# /' "$tap/output"
        fi
    done
    echo "1..$tap_number"
    [ $tap_failed -eq 0 ]
}
