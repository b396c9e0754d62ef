#!/bin/sh
# test_blas_reference.sh - libtilewright_blas.so in the place of the reference BLAS: its level-3 testers (Debian's libblas-test) with it preloaded,
# error exits too; that they fail three broken libraries; and that both libraries tell a program's handlers the same of
# every set of wrong arguments. Prints TAP; TILEWRIGHT_BUILD is the build folder; BLAS_TESTERS names another folder of testers.
set -u

cases='preload_is_used fortran_f32 fortran_f64 fortran_cf32 fortran_cf64 fortran_blocks cblas_f32 cblas_f64 cblas_cf32 cblas_cf64 another_blas broken_sign broken_transpose broken_checks
handlers_own handlers_cblas handlers_default scipy symlinked numpy_raises numpy_is_seen'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"
# shellcheck source=tests/support/mended.sh
. "$(dirname "$0")/support/mended.sh"
compiler=$(cached CMAKE_C_COMPILER)
ours=$build/libtilewright_blas.so
testers=${BLAS_TESTERS:-$(dirname "$(ls -d /usr/lib/*/blas/xblat3s /usr/lib/blas/xblat3s 2>/dev/null | head -n 1)")}
reference=$(ls /usr/lib/*/blas/libblas.so.3 /usr/lib/blas/libblas.so.3 2>/dev/null | head -n 1)

cd "$work" || exit 1

need_reference() { [ -n "$reference" ] || skip "libblas3 is not installed"; }
need_testers() { need_reference && { [ -x "$testers/xscblat3" ] || skip "libblas-test is not installed"; }; }

# tester PRELOAD NAME - beneath the preload the reference, whichever library the system has as its libblas.so.3: another has not all names.
tester() { LD_LIBRARY_PATH=${reference%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LD_PRELOAD=$1 timeout 300 "$testers/$2"; }

# level3_of PREFIX - the routines of a type.
level3_of() {
    echo gemm symm trmm trsm syrk syr2k
    case $1 in [cz]) echo hemm herk her2k ;; esac
}

# judge NAME LINES FILE - of routine NAME as many lines as that say that it passed, and none says anything else.
judge() {
    passed=$(grep -c "^ *$1 *PASSED THE " "$3")
    wrong=$(grep -v "PASSED THE " "$3" | grep -E "^ *[*]* *($1|XERBLA|.*FAILED|.*SUSPECT|.*ABANDONED)" | head -n 5)
    [ -z "$wrong" ] && [ "$passed" -eq "$2" ] && return
    echo "$1: $passed of $2 sets passed: $wrong" && return 1
}

# fortran PREFIX PRELOAD [SIZES], cblas PREFIX PRELOAD - the tester of one type, each routine of it.
fortran() {
    sed "s/^0 1 2 3 5 9 /${3:-0 1 2 3 5 9}/" "$testers/${1}blat3.in" >in
    rm -f "${1}blat3.out"
    tester "$2" "xblat3$1" <in >out 2>&1
    cat "${1}blat3.out" >>out || return 1
    for routine in $(level3_of "$1"); do judge "$(echo "$1$routine" | tr a-z A-Z)" 2 out || return 1; done
}

cblas() {
    tester "$2" "x${1}cblat3" <"$testers/${1}in3" >out 2>&1
    for routine in $(level3_of "$1"); do judge "cblas_$1$routine" 3 out || return 1; done
}

preload_is_used() {
    need_testers || return 1
    for name in xblat3s:s@_ xblat3d:d@_ xblat3c:c@_ xblat3z:z@_ xscblat3:cblas_s@ xdcblat3:cblas_d@ xccblat3:cblas_c@ xzcblat3:cblas_z@; do
        type=$(echo "${name#*:}" | sed 's/cblas_//; s/@.*//')
        (export LD_BIND_NOW=1 LD_DEBUG=bindings && tester "$ours" "${name%:*}") </dev/null 2>&1 |
            grep -F "binding file $testers/${name%:*} " | grep -F " to $ours " >bound
        for routine in $(level3_of "$type"); do
            symbol=$(echo "${name#*:}" | sed "s/@/$routine/")
            grep -qF "\`$symbol'" bound || { echo "${name%:*}: $symbol is not ours" && return 1; }
        done
    done
}

fortran_f32() { need_testers && fortran s "$ours"; }
fortran_f64() { need_testers && fortran d "$ours"; }
fortran_cf32() { need_testers && fortran c "$ours"; }
fortran_cf64() { need_testers && fortran z "$ours"; }
# Sizes beside whole slivers, strips and vectors. The testers take no more than 65.
fortran_blocks() {
    need_testers || return 1
    for type in s d c z; do fortran $type "$ours" '1 17 33 49 65 2 ' || return 1; done
}
cblas_f32() { need_testers && cblas s "$ours"; }
cblas_f64() { need_testers && cblas d "$ours"; }
cblas_cf32() { need_testers && cblas c "$ours"; }
cblas_cf64() { need_testers && cblas z "$ours"; }

# With another libblas.so.3 before the reference, as where Debian's OpenBLAS is installed.
another_blas() {
    need_testers || return 1
    mkdir -p other && echo 'int other_blas;' >other.c && "$compiler" -shared -fPIC other.c -o other/libblas.so.3 || return 1
    (export LD_LIBRARY_PATH="$work/other" && preload_is_used && cblas s "$ours" && fortran d "$ours") || { cat out && return 1; }
}

# broken FAULT - each tester runs and does not pass a library with that fault before ours.
broken() {
    need_testers || return 1
    "$compiler" -shared -fPIC -O1 -DFAULT="$1" -I"$root/include" "$root/tests/blas/broken.c" -o "broken$1.so" -ldl || return 1
    for tester in 'fortran s' ${tap_full:+'fortran d' 'cblas s'} 'cblas d'; do
        # shellcheck disable=SC2086 # words on purpose
        $tester "$work/broken$1.so:$ours" >verdict && echo "$tester passes it" && return 1
        grep -q GEMM out || grep -q gemm out || { echo "$tester did not run:" && cat out && return 1; }
    done
}

broken_sign() { broken 1; }
broken_transpose() { broken 2; }
broken_checks() { broken 3; }

# same FLAGS ... - the reference's handlers and ours are told the same, but for a second blank behind the routine's name; and the
# reference calls trmm's op TransA in columns and Trans in rows.
same() {
    need_reference || return 1
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L -rdynamic "$@" "$root/tests/blas/errors.c" -o errors -ldl || return 1
    for library in "$reference" "$ours"; do
        ./errors "$library" >told || { echo "$library: exit status $?" && return 1; }
        sed 's/Illegal Trans /Illegal TransA /' told >"told.$(basename "$library")"
    done
    mended <"told.$(basename "$reference")" >told && mv told "told.$(basename "$reference")"
    [ "$(grep -c ': *[a-zA-Z]' "told.$(basename "$reference")")" -gt 300 ] || { echo "too few errors were told" && return 1; }
    diff -b "told.$(basename "$reference")" told.libtilewright_blas.so >differences || { head -n 8 differences && return 1; }
}

handlers_own() { same -DOWN_XERBLA -DOWN_CBLAS_XERBLA; }
handlers_cblas() { same -DOWN_CBLAS_XERBLA; }
handlers_default() { same; }

scipy() {
    python=/usr/bin/python3
    $python -c 'import scipy.linalg.blas' 2>/dev/null || skip "there is no SciPy" || return 1
    LD_PRELOAD=$ours LD_DEBUG=bindings $python -c '
import numpy as np, scipy.linalg.blas as blas
r = np.random.default_rng(1)
a, b, c = (r.integers(-9, 9, s) for s in ((70, 90), (90, 80), (70, 80)))
for gemm, t in (blas.sgemm, np.float32), (blas.dgemm, np.float64):
    assert (gemm(2, a.astype(t), b.astype(t), 3, c.astype(t)) == 2 * (a @ b) + 3 * c).all()
    assert (gemm(1, a.astype(t), a.astype(t), trans_b=1) == a @ a.T).all()
    assert (a.astype(t) @ b.astype(t) == a @ b).all()
' 2>log || { grep -v 'binding file' log && return 1; }
    for name in sgemm_ dgemm_; do
        grep -F " to $ours " log | grep -qF "\`$name'" || skip "SciPy has a BLAS of its own" || return 1
    done
}

need_numpy() { /usr/bin/python3 -c 'import numpy.linalg.lapack_lite' 2>/dev/null || skip "there is no NumPy of the system"; }

# The library alone, through a link in another folder.
symlinked() {
    ln -sf "$ours" link.so || return 1
    cat >load.c <<'END' && "$compiler" load.c -o load -ldl || return 1
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    void *library = dlopen("./link.so", RTLD_NOW);
    if (library == NULL) return puts(dlerror()), 1;
    return dlsym(library, "cblas_dgemm") == NULL;
}
END
    env -i ./load
}

# NumPy's LAPACK calls NumPy's own xerbla_, which raises, also where ours is preloaded.
numpy_raises() {
    need_numpy || return 1
    LD_PRELOAD=$ours /usr/bin/python3 -c '
import numpy as np
from numpy.linalg import lapack_lite
a = np.zeros((1, 1))
try:
    lapack_lite.dorgqr(1, 1, 1, a, 0, a, a, 0, 0)
except ValueError as error:
    assert "DORGQR parameter number 5" in str(error), error
else:
    raise SystemExit("nothing was raised")
'
}

# What the README shows: the lines of TILEWRIGHT_VERBOSE tell that the preload works.
numpy_is_seen() {
    need_numpy || return 1
    product='import numpy as np; a = np.ones((500, 500)); print((a @ a)[0, 0])'
    LD_PRELOAD=$ours LD_DEBUG=bindings /usr/bin/python3 -c "$product" 2>&1 | grep -F " to $ours " | grep -qF "\`cblas_dgemm'" ||
        skip "NumPy has a BLAS of its own" || return 1
    LD_PRELOAD=$ours TILEWRIGHT_VERBOSE=1 /usr/bin/python3 -c "$product" >printed 2>lines || return 1
    [ "$(cat printed)" = 500.0 ] && [ "$(wc -l <lines)" -eq 1 ] && grep -qE '^tilewright: cblas_dgemm .* m 500 n 500 k 500 .* (us|ms), .* GFLOP/s [|] tilewright bench --dtype f64 --shape 500x500x500$' lines ||
        { cat printed lines && return 1; }
}

run_cases "$([ -z "$(cached TILEWRIGHT_SANITIZE)" ] || echo 'a library with sanitizers cannot be preloaded')"
