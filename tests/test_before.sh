#!/bin/sh
# test_before.sh - with --full: the library of an earlier commit and this one have the same machine code in every CUDA
# kernel and compute the same bits. For changes that move and rename and must do nothing else. Prints TAP.
#
# The commit is TILEWRIGHT_BEFORE; without it these cases are skipped. Its library and test_nvrtc are built in
# build/before by the compiler of this build folder. Machine code is compared by test_nvrtc --digests, each tree's own,
# with one NVRTC, and needs no GPU; bits by tests/same_bits. What the commit has not yet of these programs it is given
# as they were first committed. Rows that have got another name stand in tests/former.h.
#
# TILEWRIGHT_BUILD is the build folder, TILEWRIGHT_NVRTC a libnvrtc (else tests/get_nvrtc.sh looks for one).
set -u

quick='comparison_finds_faults moved_members_are_found planted_bits_are_found'
long='cubins_of_the_oldest_sm cubins_of_sm_80 cubins_of_sm_90a bits_of_cpu bits_of_opencl bits_of_cuda'
cases=$quick
case " $* " in *' --full '*) cases="$quick $long" ;; esac
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

# ---- the tree of the commit ----

# first_of TEXT FILE - puts FILE into the tree as it was when TEXT first stood in it, where the tree has none with it.
first_of() {
    grep -qs -e "$1" "$tree/$2" && return
    first=$(git -C "$root" log --format=%H -S"$1" -- "$2" 2>/dev/null | tail -n 1)
    if [ -n "$first" ]; then git -C "$root" show "$first:$2" >"$tree/$2"; else cp "$root/$2" "$tree/$2"; fi
}

find_commit() {
    commit=${TILEWRIGHT_BEFORE:-}
    [ -n "$commit" ] || skip "TILEWRIGHT_BEFORE names no commit" || return 1
    command -v git >/dev/null || skip "git is not installed" || return 1
    top=$(git -C "$root" rev-parse --show-toplevel 2>/dev/null)
    [ "$top" = "$root" ] || skip "$root is no git repository" || return 1
    whole=$(git -C "$root" rev-parse --verify --quiet "$commit^{commit}") || skip "commit $commit is not here" ||
        return 1
    place=$root/build/before/$whole tree=$root/build/before/$whole/tree
}

# The tree of the commit alone; those of others are removed.
take_tree() {
    [ -e "$place/taken" ] && return
    rm -rf "$root/build/before" && mkdir -p "$tree" || return 1
    git -C "$root" archive "$whole" >"$place/tar" && tar -x -C "$tree" -f "$place/tar" && rm "$place/tar" || return 1
    first_of '"--digests"' tests/test_nvrtc.c && first_of former_name tests/former.h || return 1
    first_of '"--layout"' tests/same_bits.c && touch "$place/taken"
}

# Its library, with the compiler, the flags and the generator of this build.
build_tree() {
    [ -e "$work/built" ] && return
    [ -z "$(cached TILEWRIGHT_SANITIZE)" ] || skip "a build with sanitizers is not compared" || return 1
    find_commit && take_tree || return 1
    set -- -S "$tree" -B "$place/build" -G "$(cached CMAKE_GENERATOR)"
    for option in CMAKE_BUILD_TYPE CMAKE_C_COMPILER CMAKE_C_FLAGS; do set -- "$@" "-D$option=$(cached $option)"; done
    cmake "$@" >"$work/log" 2>&1 &&
        cmake --build "$place/build" --target tilewright_shared test_nvrtc -j 2 >>"$work/log" 2>&1 && : >"$work/built"
    [ -e "$work/built" ] || { echo "commit $whole could not be built:" && tail -n 8 "$work/log" && return 1; }
}

# ---- machine code ----

# compare_digests OLD NEW - says which kernels of OLD are others in NEW, or are not there.
compare_digests() {
    LC_ALL=C awk '
    function result(word, i) { for (i = 4; i <= NF && $i != "formerly"; i++) word = word " " $i; return word }
    function former(i) { for (i = 4; i <= NF; i++) if ($i == "formerly") return $(i + 1) }
    function told() { return ++faults <= 20 }
    # Which kernel of a row; those of batches were once called by a tile that they do not have.
    function key_of(row) { if (row ~ /_b[1-4]_/) sub(/-tile16$/, "", $3); return row SUBSEP $2 SUBSEP $3 }
    !new { name[++count] = key_of($1); before[name[count]] = result(); next }
    {
        key = key_of(former())
        seen[key] = 1
        if (!(key in before)) added++
        else if (before[key] != result() && told()) print $1, $2, $3 ":" before[key] " before," result() " now"
    }
    END {
        for (i = 1; i <= count; i++) {
            split(name[i], part, SUBSEP)
            if (!(name[i] in seen) && told()) print part[1], part[2], part[3] ": is compiled no more"
        }
        if (faults > 20) print faults - 20 " more"
        print "# " count + 0 " kernels, " faults + 0 " differ, " added + 0 " are new"
        exit (faults > 0 || count == 0)
    }' "$1" new=1 "$2"
}

# digests PROGRAM ARCH FILE - FILE is there when all of them are.
digests() {
    "$1" --digests "$2" >"$3.part" 2>"$3.errors" || { cat "$3.errors" && return 1; }
    mv "$3.part" "$3"
}

cubins_of() { # ARCH
    build_tree || return 1
    "$root/tests/get_nvrtc.sh" --no-install "$root/build/nvrtc" >"$work/nvrtc" 2>&1 || skip "$(cat "$work/nvrtc")" ||
        return 1
    TILEWRIGHT_NVRTC=$(tail -n 1 "$work/nvrtc") && export TILEWRIGHT_NVRTC
    old=$place/build/tests/test_nvrtc new=$build/tests/test_nvrtc
    kept=$place/digests.$1.$(cat "$TILEWRIGHT_NVRTC" "$tree/tests/test_nvrtc.c" | cksum | tr ' ' -)
    if [ ! -e "$kept" ]; then digests "$old" "$1" "$kept" >"$work/old" & fi
    digests "$new" "$1" "$work/new.$1"
    made=$?
    wait
    [ -e "$kept" ] || { echo "the commit's kernels:" && cat "$work/old" && return 1; }
    [ $made -eq 0 ] || return 1
    [ -s "$kept" ] || [ -s "$work/new.$1" ] || skip "this NVRTC does not know $1" || return 1
    compare_digests "$kept" "$work/new.$1"
}

cubins_of_the_oldest_sm() { cubins_of oldest; }
cubins_of_sm_80() { cubins_of sm_80; }
cubins_of_sm_90a() { cubins_of sm_90a; }

# ---- bits ----

# Where members lie, by the headers of a tree and its own same_bits.
layout_of() { # TREE
    cc=$(cached CMAKE_C_COMPILER)
    "$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -I "$1/include" "$1/tests/same_bits.c" -o "$work/layout" -ldl || return 1
    "$work/layout" --layout
}

# same ENGINE OLD NEW
same() {
    status=0
    SAME_BITS_CACHE=$work/kernels "$build/tests/same_bits" "$@" >"$work/said" || status=$?
    [ $status -ne 3 ] || skip "$(tail -n 1 "$work/said")" || return 1
    sed '/^[a-z]*: .* differ,/s/^/# /' "$work/said" # told where it passes too
    return $status
}

# compare_layouts BEFORE NOW - all members lie where they lay, though one may have got another name; a struct that begins
# with its size may have grown. Prints what its size was.
compare_layouts() {
    awk '
    { name = $1; $1 = "" }
    FNR == NR { before[++count] = $0; bytes[count] = $4; next }
    name !~ /^tw_[a-z]*$/ { moved = moved || $0 != before[FNR]; next }
    { print bytes[FNR]; moved = moved || $4 < bytes[FNR] }
    END { exit (moved || FNR != count) }' "$1" "$2"
}

bits_of() { # ENGINE
    build_tree || return 1
    layout_of "$tree" >"$work/before" && layout_of "$root" >"$work/now" || return 1
    if ! compare_layouts "$work/before" "$work/now" >"$work/sizes"; then
        echo "structs are laid out differently: same_bits cannot use both libraries" && diff "$work/before" "$work/now"
        return 1
    fi
    SAME_BITS_SIZES=$(tr '\n' ' ' <"$work/sizes") && export SAME_BITS_SIZES
    same "$1" "$place/build/libtilewright.so" "$build/libtilewright.so"
}

bits_of_cpu() { bits_of cpu; }
bits_of_opencl() { bits_of opencl; }
bits_of_cuda() { bits_of cuda; }

# ---- the comparisons themselves ----

# Another word of a result is found, a missing kernel too; a new name, other options and a new kernel are none.
comparison_finds_faults() {
    line() { echo "$1 sm_80 nn-wide $2 - code 1024 registers 18 shared 0 spilled 0 stack 0 formerly $3 options $4"; }
    { line a 11 a x && line b 22 b x; } >"$work/a"
    { line c 33 c x && line b 22 b y && line d 11 a x; } >"$work/b"
    { line a 12 a x && line b 22 b x; } >"$work/c"
    compare_digests "$work/a" "$work/b" >"$work/told" || { cat "$work/told" && return 1; }
    grep -qx '# 2 kernels, 0 differ, 1 are new' "$work/told" || { cat "$work/told" && return 1; }
    ! compare_digests "$work/a" "$work/c" >"$work/told" || return 1
    grep -q '^a sm_80 nn-wide: 11 .* before, 12 ' "$work/told" || return 1
    ! compare_digests "$work/b" "$work/a" >"$work/told" || return 1
    grep -q '^c sm_80 nn-wide: is compiled no more' "$work/told" || return 1
    : >"$work/none" && ! compare_digests "$work/none" "$work/none" >"$work/told"
}

# A struct may grow and a member be renamed; nothing may move, and no struct shrink.
moved_members_are_found() {
    layout() { printf '%s\n' "tw_problem at 0, $1 bytes" "tw_problem.$2 at $3, 8 bytes" 'types 1 2'; }
    layout 112 alpha 80 >"$work/a" && layout 176 scale 80 >"$work/b" && layout 176 alpha 88 >"$work/c"
    compare_layouts "$work/a" "$work/b" >"$work/told" && grep -qx 112 "$work/told" || return 1
    ! compare_layouts "$work/a" "$work/c" >"$work/told" && ! compare_layouts "$work/b" "$work/a" >"$work/told"
}

# The library beside a copy that takes the oldest instructions alone, whose sums are rounded otherwise.
planted_bits_are_found() {
    [ -z "$(cached TILEWRIGHT_SANITIZE)" ] || skip "a build with sanitizers is not compared" || return 1
    cp -L "$build/libtilewright.so" "$work/copy.so" || return 1
    ! "$build/tests/same_bits" cpu "$build/libtilewright.so" "$work/copy.so" base >"$work/said" &&
        grep -q '^cpu avx2, .*row [0-9]*, column [0-9]* of C: .* before, .* now$' "$work/said" && return
    cat "$work/said" && return 1
}

run_cases
