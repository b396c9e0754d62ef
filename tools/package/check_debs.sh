#!/bin/sh
# check_debs.sh - the .deb packages beside this file on a Debian that has never seen them: installs them, uses each as a
# user would, and purges them. Nothing may be left. For tools/release_check.sh, which runs it in an empty Debian 12.
#
#   check_debs.sh [--blas]     with R and Octave on the system's BLAS, which are large: for tests/test_packages.sh
set -eu

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
packages=$(for deb in ./*.deb; do dpkg-deb -f "$deb" Package; done)
work=/tmp/tilewright-check && mkdir -p $work
say() { echo "ok: $*"; }
wrong() { echo "wrong: $*" && exit 1; }

# What the packages and these checks need comes before the list of files.
apt-get update -q >$work/apt
tools='gcc g++ libc6-dev make cmake pkg-config man-db bash-completion bsdextrautils python3-numpy libblas3 liblapack3'
callers=numpy && [ "${1:-}" != --blas ] || { callers='numpy r octave' && tools="$tools r-base-core octave"; }
# shellcheck disable=SC2086 # words
apt-get install -q -y --no-install-recommends $tools >$work/apt 2>&1 || { cat $work/apt && exit 1; }

# Not of the packages: what apt, dpkg, ldconfig and man note of any package.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /tmp -o -path /srv -o -path /root/.cache \
        -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache/apt -o -path /var/cache/man -o -path /var/log \
        -o -path /var/cache/debconf -o -path /var/cache/ldconfig -o -path /etc/ld.so.cache \) -prune -o -print |
        LC_ALL=C sort
}
files >$work/before

apt-get install -q -y --no-install-recommends ./*.deb >$work/apt 2>&1 || { cat $work/apt && exit 1; }
new=$(sed -n '/^The following NEW packages/,/^[^ ]/p' $work/apt | grep '^ ' | tr -s ' \n' ' ')
for name in $new; do
    case " $(echo "$packages" | tr '\n' ' ') " in *" $name "*) ;; *) wrong "$name was installed too" ;; esac
done
files >$work/with
# shellcheck disable=SC2086
dpkg --verify $packages || wrong 'dpkg --verify'
added=$(($(wc -l <$work/with) - $(wc -l <$work/before)))
say "installed: $(echo "$packages" | tr '\n' ' ')with $added files and folders"

# ---- the program ----
cd $work
tilewright version | grep -q '^tilewright [0-9]' || wrong 'tilewright version'
printf '%%%%MatrixMarket matrix array real general\n2 2\n1\n3\n2\n4\n' >A.mtx
tilewright multiply A.mtx A.mtx -o C.mtx --verify >said || wrong 'multiply'
[ "$(tail -n 4 C.mtx | tr '\n' ' ')" = '7 15 10 22 ' ] || wrong 'the product'
tilewright doctor >said || wrong 'tilewright doctor'
man tilewright 2>&1 | head -n 400 | col -b | grep -q '^NAME' || wrong 'man tilewright'
bash -c '. /usr/share/bash-completion/bash_completion && _completion_loader tilewright; complete -p tilewright' >said ||
    wrong 'bash completion'
say 'the program: version, multiply --verify, doctor, man page, completion'

# ---- the libraries ----
examples=/usr/share/doc/libtilewright-dev/examples
printf '7 4\n9 7\n11 10\n' >expected
# shellcheck disable=SC2046 # words
cc -std=c99 -Wall -Werror $(pkg-config --cflags tilewright) $examples/product.c -o shared \
    $(pkg-config --libs tilewright)
./shared | diff expected - || wrong 'product.c by pkg-config'
ldd shared | grep -q "libtilewright.so.0 => /[a-z/]*lib/$(gcc -print-multiarch)/" || wrong 'the library is elsewhere'
# shellcheck disable=SC2046
cc -std=c99 $(pkg-config --cflags tilewright) $examples/product.c -l:libtilewright.a \
    $(pkg-config --libs --static tilewright | tr ' ' '\n' | grep -v -e -ltilewright) -o static
./static | diff expected - && ! ldd static | grep tilewright || wrong 'product.c with the static library'
{ cmake -S $examples -B built && cmake --build built; } >said 2>&1 || { cat said && wrong 'the examples by CMake'; }
built/product | diff expected - && built/batch >said && built/product_cpp >said || wrong 'the examples by CMake'
say 'product.c by pkg-config, shared and static, and the examples by CMake'

# ---- Python ----
case $packages in
*python3-*)
    cat >product.py <<'PYTHON'
import importlib.metadata
import numpy as np, tilewright
a, b = np.random.rand(100, 77), np.random.rand(77, 102)
assert np.allclose(tilewright.matmul(a, b), a @ b)
assert importlib.metadata.version("tilewright") == tilewright.__version__
print(tilewright.__version__)
PYTHON
    python3 product.py >said || wrong 'Python'
    python3 -m tilewright version >said || wrong 'python3 -m tilewright'
    say 'Python: matmul, and python3 -m tilewright'
    ;;
esac

# ---- the system's BLAS ----
name=libblas.so.3-$(gcc -print-multiarch) lib=/usr/lib/$(gcc -print-multiarch)
is_set() { # FOLDER
    update-alternatives --query "$name" | grep -qxF "Value: $lib/$1/libblas.so.3" ||
        { update-alternatives --query "$name" && wrong "the system's BLAS is not that of $lib/$1"; }
}
numpy() {
    python3 -c '
import numpy as np
a, b = np.random.rand(500, 400), np.random.rand(400, 500)
s = np.random.rand(500, 500) + 500 * np.eye(500)
assert np.allclose(a @ b, np.einsum("ij,jk", a, b)) and np.allclose(s @ np.linalg.solve(s, a), a)'
}
r() {
    Rscript -e 'a <- matrix(runif(2e5), 500); b <- matrix(runif(2e5), 400); s <- matrix(runif(250000), 500) + 500 * diag(500)
        stopifnot(all.equal((a %*% b)[7, ], colSums(a[7, ] * b)), all.equal(s %*% solve(s, a), a))'
}
octave() {
    octave-cli --no-init-file --eval 'a = rand(500, 400); b = rand(400, 500); s = rand(500) + 500 * eye(500);
        assert((a * b)(7, :), sum(a(7, :)'"'"' .* b), 1e-9); assert(s * (s \ a), a, 1e-9);'
}
# calls PATTERN ... - each caller computes rightly, and such calls of it are ours, or with no pattern none.
calls() {
    for caller in $callers; do
        TILEWRIGHT_VERBOSE=1 $caller >said 2>&1 || { cat said && wrong "$caller"; }
        [ $# -gt 0 ] || ! grep '^tilewright: ' said || wrong "$caller called a BLAS that was not switched to"
        for pattern in "$@"; do
            grep -qE "^tilewright: $pattern " said || { cat said && wrong "$caller: no call of $pattern was ours"; }
        done
    done
}
switch() { update-alternatives --set "$name" "$lib/tilewright/libblas.so.3" >said; }
purge() { apt-get purge -q -y "$@" >$work/apt 2>&1 || { cat $work/apt && exit 1; }; }

is_set blas && calls                                        # installed, and nobody asked
switch && is_set tilewright && calls '(cblas_)?dgemm_?' dtrsm_
update-alternatives --auto "$name" >said && is_set blas && calls
apt-get install -q -y --no-install-recommends libopenblas0-pthread >$work/apt 2>&1 || { cat $work/apt && exit 1; }
is_set openblas-pthread && calls
switch && calls '(cblas_)?dgemm_?'                          # beside OpenBLAS's LAPACK, which calls its own dtrsm
purge libopenblas0-pthread && is_set tilewright && calls '(cblas_)?dgemm_?' dtrsm_
say "the system's BLAS, asked for, and with OpenBLAS coming and going: $callers"

# ---- nothing is left, though it is the system's BLAS ----
# shellcheck disable=SC2086
purge $packages
is_set blas && calls
files >$work/after
diff $work/before $work/after || wrong 'these files were left, or are gone'
! dpkg -l | grep tilewright || wrong 'dpkg remembers them'
! ldconfig -p | grep tilewright || wrong 'ldconfig remembers them'
say "purged: $(wc -l <$work/after) files and folders, as before"
