#!/bin/sh
# test_system_blas.sh - libblas.so.3, the whole BLAS that a system can switch to: every name that a provider must have is
# found, ours before all others; the reference's testers of all three levels, real and complex, say of it what they say
# of the reference; programs of NumPy and SciPy compute by it. Prints TAP; TILEWRIGHT_BUILD is the build folder.
set -u

cases='names_of_the_file all_names_resolve a_missing_name_is_found beside_another_blas linked_calls_are_ours testers_by_path
testers_by_preload a_wrong_product_is_found handlers_own handlers_default numpy scipy'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"
# shellcheck source=tests/support/mended.sh
. "$(dirname "$0")/support/mended.sh"
compiler=$(cached CMAKE_C_COMPILER)
below=$(cached TILEWRIGHT_BLAS_BELOW)
folder=$build/system-blas
ours=$folder/libblas.so.3
preloaded=$build/libtilewright_blas.so
testers=$(dirname "$(ls -d /usr/lib/*/blas/xblat3s /usr/lib/blas/xblat3s 2>/dev/null | head -n 1)")
provider_names=$(grep -v '^#' "$root/tests/blas/provider.names")

cd "$work" || exit 1

need_testers() { [ -x "$testers/xscblat3" ] || skip "libblas-test is not installed"; }
exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort; }
resolver() { [ -x resolve ] || "$compiler" -std=c11 "$root/tests/blas/resolve.c" -o resolve -ldl; }
# both FILE FILE, first_alone FILE FILE - of two sorted lists.
both() { LC_ALL=C comm -12 "$1" "$2"; }
first_alone() { LC_ALL=C comm -23 "$1" "$2"; }

# It exports what libtilewright_blas.so does, no list of its own, and needs the BLAS below under a name of its own.
names_of_the_file() {
    need readelf && need nm || return 1
    readelf -dW "$ours" >dynamic || return 1
    grep -qF 'SONAME' dynamic && grep -qF 'soname: [libblas.so.3]' dynamic && grep -qF "(NEEDED)             Shared library: [$below]" dynamic &&
        ! grep -qE 'NEEDED.*\[libblas.so.3\]|RPATH|RUNPATH' dynamic || { grep -E 'SONAME|NEEDED|PATH' dynamic && return 1; }
    exported "$ours" >names && exported "$preloaded" | diff - names
}

# resolved LIBRARY - each name that a provider must have, and the file that the loader finds it in, if none is missing.
resolved() {
    resolver || return 1
    # shellcheck disable=SC2086 # words
    LD_LIBRARY_PATH=$folder ./resolve "$1" $provider_names >found || { grep missing found && return 1; }
}

all_names_resolve() {
    resolved libblas.so.3 && exported "$ours" >exported_names || return 1
    echo "$provider_names" | LC_ALL=C sort >wanted
    grep -F " $ours" found | cut -d ' ' -f 1 | LC_ALL=C sort >from_ours
    grep -F " $below" found | cut -d ' ' -f 1 | LC_ALL=C sort >from_below
    both wanted exported_names | diff - from_ours && first_alone wanted exported_names | diff - from_below &&
        [ -s from_ours ] && [ -s from_below ] || return 1
    note "$(wc -l <from_ours) names from $(basename "$ours"), $(wc -l <from_below) from below"
}

a_missing_name_is_found() {
    ! resolved "$preloaded" || { echo "libtilewright_blas.so, which is part of a BLAS, was taken for a whole one" && return 1; }
    grep -q '^daxpy_ is missing$' found
}

# A program whose LAPACK is another BLAS's own, as Debian's OpenBLAS has one: that one's names are as near as what ours needs.
beside_another_blas() {
    resolver || return 1
    echo 'void dgemm_(void) {} void cblas_dgemm(void) {} void daxpy_(void) {}' >other.c && echo 'extern int user; int user;' >user.c &&
        "$compiler" -shared -fPIC other.c -o libother.so -Wl,-soname,libother.so &&
        "$compiler" -shared -fPIC user.c -o libotherlapack.so -Wl,-soname,libotherlapack.so -Wl,--no-as-needed ./libother.so &&
        "$compiler" -shared -fPIC user.c -o user.so -Wl,--no-as-needed ./libotherlapack.so "$ours" || return 1
    LD_LIBRARY_PATH=$folder:$work ./resolve ./user.so dgemm_ cblas_dgemm >found && [ "$(grep -cF " $ours" found)" -eq 2 ] || { cat found && return 1; }
}

# bound TESTER - the BLAS's names that it calls, and the file of each.
bound() {
    (export LD_BIND_NOW=1 LD_DEBUG=bindings LD_LIBRARY_PATH="$folder" && timeout 300 "$testers/$1") </dev/null 2>&1 |
        sed -n "s|.*binding file $testers/$1 \[0\] to \(/[^ ]*\) \[0\]: normal symbol .\([a-z0-9_]*\)'.*|\2 \1|p" | LC_ALL=C sort -u
}

linked_calls_are_ours() {
    need_testers || return 1
    exported "$ours" >exported_names && echo "$provider_names" | LC_ALL=C sort >wanted
    for tester in xblat2s xblat3s xblat3d xblat3c xscblat3 xdcblat3 xzcblat3; do
        bound $tester | LC_ALL=C join - wanted >calls
        LC_ALL=C join calls exported_names | grep -vF " $ours" && echo "$tester: not ours" && return 1
        LC_ALL=C join -v 1 calls exported_names | grep -vF " $below" && echo "$tester: not from below" && return 1
        [ "$(wc -l <calls)" -ge 6 ] || { echo "$tester calls:" && cat calls && return 1; }
    done
}

# said TESTER INPUT OUTPUT - all that a tester prints or writes into its files.
said() {
    rm -rf run && mkdir run && (cd run && timeout 300 "$testers/$1" <"$2" >stdout 2>&1) && cat run/* >"$3"
}

# testers_agree VARIABLE=VALUE [TYPES] - each tester says with it in the environment what it says of the reference, and
# passes that.
testers_agree() {
    need_testers || return 1
    for type in ${2:-s d c z}; do
        for run in "xblat1$type /dev/null" "xblat2$type ${type}blat2.in" "xblat3$type ${type}blat3.in" \
            "x${type}cblat1 /dev/null" "x${type}cblat2 ${type}in2" "x${type}cblat3 ${type}in3"; do
            tester=${run% *} input=${run#* }
            [ "$input" = /dev/null ] || input=$testers/$input
            [ -e "expected.$tester" ] || LD_LIBRARY_PATH=${below%/*} said "$tester" "$input" "expected.$tester" || { echo "$tester fails with the reference" && return 1; }
            grep -qE 'PASS' "expected.$tester" || { cat "expected.$tester" && return 1; }
            (export "${1?}" && said "$tester" "$input" found) || { echo "$tester: exit status $?" && cat run/* && return 1; }
            diff "expected.$tester" found >differences || { echo "$tester:" && head -n 8 differences && return 1; }
        done
    done
}

testers_by_path() { testers_agree "LD_LIBRARY_PATH=$folder"; }
# The bindings differ, not the products.
testers_by_preload() { testers_agree "LD_PRELOAD=$ours" "s ${tap_full:+d c }z"; }

a_wrong_product_is_found() {
    need_testers || return 1
    "$compiler" -shared -fPIC -O1 -DFAULT=1 -I"$root/include" "$root/tests/blas/broken.c" -o broken.so -ldl || return 1
    ! testers_agree "LD_PRELOAD=$work/broken.so:$ours" >verdict || { echo 'the testers pass a wrong sign' && return 1; }
    grep -q '^xblat3s' verdict && grep -q 'SGEMM' differences || { cat verdict && return 1; }
}

# same FLAG ... - a program's handlers, and those that the BLAS below has, are told what the reference tells them.
same() {
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L -rdynamic "$@" "$root/tests/blas/errors.c" -o errors -ldl || return 1
    for library in "$below" "$ours"; do
        ./errors "$library" | sed 's/Illegal Trans /Illegal TransA /' >"told.$([ "$library" = "$ours" ] && echo ours || echo below)"
    done
    mended <told.below >told && mv told told.below
    [ "$(grep -c ': *[a-zA-Z]' told.below)" -gt 300 ] || { echo 'too few errors were told' && return 1; }
    diff -b told.below told.ours >differences || { head -n 8 differences && return 1; }
}

handlers_own() { same -DOWN_XERBLA -DOWN_CBLAS_XERBLA; }
handlers_default() { same; }

# python MODULE - runs the program on stdin by our library; its standard error, with a line per call of ours, goes into lines. The LAPACK is
# the reference's, whichever the system has chosen: OpenBLAS's, which comes along with NumPy, multiplies by itself.
python() {
    python=/usr/bin/python3 lapack=$(ls -d /usr/lib/*/lapack/liblapack.so.3 2>/dev/null | head -n 1)
    $python -c "import $1" 2>/dev/null || skip "there is no $1 of the system" || return 1
    [ -n "$lapack" ] || skip "the reference LAPACK is not installed (liblapack3)" || return 1
    LD_LIBRARY_PATH=${below%/*}:${lapack%/*} LD_DEBUG=libs $python -c "import $1" 2>&1 | grep -qF 'find library=libblas.so.3' || skip "$1 has a BLAS of its own" || return 1
    LD_LIBRARY_PATH=$folder:${lapack%/*} TILEWRIGHT_VERBOSE=1 $python - 2>lines || { cat lines && return 1; }
}

# taken NAME ... - calls of these are among the lines.
taken() {
    for name in "$@"; do grep -q "^tilewright: $name " lines || { echo "no call of $name" && cat lines && return 1; }; done
}

numpy() {
    python numpy.linalg <<'END' && taken cblas_dgemm cblas_ssyrk dgemm_ dtrsm_
import numpy as np
r = np.random.default_rng(1)
a, b = (r.integers(-9, 9, s).astype(float) for s in ((70, 90), (90, 80)))
assert (a @ b == np.einsum("ij,jk", a, b)).all()
c = a.astype(np.float32)
assert (c @ c.T == np.einsum("ij,kj", a, a)).all()
d, e = r.random((300, 300)) + 300 * np.eye(300), r.random((300, 5))
assert np.allclose(d @ np.linalg.solve(d, e), e)
assert abs(np.dot(d[0], d[1]) - sum(d[0] * d[1])) < 1e-9  # from below
END
}

scipy() {
    python scipy.linalg <<'END' && taken dgemm_ dsyrk_ dtrsm_
import numpy as np, scipy.linalg as linalg
r = np.random.default_rng(1)
a = r.random((300, 300))
s = a @ a.T + np.eye(300)
l = linalg.cholesky(s, lower=True)
assert np.allclose(l @ l.T, s)
assert np.allclose(linalg.blas.dgemm(2, a, s), 2 * np.einsum("ij,jk", a, s))
q, t = linalg.qr(a)
assert np.allclose(q @ t, a)
z = a + 1j * s
assert np.allclose(z @ linalg.inv(z), np.eye(300))
END
}

why=''
[ -e "$ours" ] || why='libblas.so.3 was not built: it needs TILEWRIGHT_BLAS_BELOW'
[ -e "$below" ] || why="the BLAS below, '$below', is not here"
run_cases "$why"
