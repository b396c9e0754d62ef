#!/bin/sh
# portable.sh - ./dev build --portable: copies the program and the tests that need no compiler and no sources out of a build folder into
# one folder that runs wherever glibc is 2.36 or newer: shared libraries lie in it and are found by $ORIGIN.
#
#   tools/portable.sh BUILD FOLDER
#
# FOLDER/tilewright          the program                     FOLDER/*.so*      what they need besides glibc
# FOLDER/tests/run.sh        tests/run.sh FOLDER -- --gpu    FOLDER/tests/programs names them
# FOLDER/tilewright-kernels  where ./dev build --gpu-cache made it
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1 folder=$2 newest=2.36
programs='test_api test_bits test_blas test_consumer test_kernels test_level3 test_lab_exact test_lab_measure test_lab_oracle test_lab_verify
test_plans_cpu test_plans_gpu test_random test_recalled test_streams test_device_memory test_strides test_threads'
scripts='test_devices.sh test_explain.py'

fail() { echo "portable.sh: $*" >&2 && exit 1; }

[ -x "$build/tilewright" ] || fail "$build has no tilewright: it was not built"
! grep -q '^TILEWRIGHT_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt" || fail "$build was built with sanitizers, whose libraries belong to their compiler"
command -v objdump >/dev/null || fail "objdump is not here to tell which glibc the programs need: install binutils"
if [ -e "$folder" ] && ! [ -e "$folder/tests/programs" ] && [ -n "$(ls -A "$folder" 2>&1)" ]; then
    fail "$folder is there, and no such folder: expected a new name, an empty folder or one that was made before"
fi
mkdir -p "$folder/tests/support" "$folder/kernels" || exit 1

# libraries FILE - the path of each shared library that it needs and glibc does not bring, as the loader finds it here.
libraries() {
    found=$(ldd "$1") || fail "ldd cannot read $1"
    ! echo "$found" | grep 'not found' >&2 || fail "$1: a library is missing"
    echo "$found" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|rt|pthread)\.so/ { print $3 }'
}

# take FILE TO - copies it with its libraries.
take() {
    cp -fL "$1" "$2" || exit 1
    needed=$(libraries "$1") || exit 1
    for library in $needed; do cp -fL "$library" "$folder/" || exit 1; done
}

take "$build/tilewright" "$folder/"
: >"$folder/tests/programs"
for name in $programs; do
    take "$build/tests/$name" "$folder/tests/"
    printf '%s\t%s\n' "$name" "$name" >>"$folder/tests/programs"
done
for name in $scripts; do
    cp "tests/$name" "$folder/tests/" || exit 1
    printf '%s\t%s\n' "${name%.*}" "$name" >>"$folder/tests/programs"
done
rm -rf "$folder/tilewright-kernels"
[ ! -d "$build/tilewright-kernels" ] || cp -R "$build/tilewright-kernels" "$folder/" || exit 1
cp tests/run.sh tests/times "$folder/tests/" && cp tests/support/tap.sh tests/support/*.py "$folder/tests/support/" && cp "$build/kernels/rows.txt" "$folder/kernels/" && cp LICENSE "$folder/" || exit 1

for file in "$folder"/tilewright "$folder"/*.so* "$folder"/tests/test_*; do
    case $file in *.sh | *.py | *'*'*) continue ;; esac
    needs=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sed 's/.*_//' | sort -V | tail -n 1)
    [ "$(printf '%s\n' "$needs" "$newest" | sort -V | tail -n 1)" = "$newest" ] ||
        fail "$file needs glibc $needs, newer than $newest: build on a system that has no newer one (Debian 12)"
done
echo "$folder: $(du -sh "$folder" | cut -f 1), for x86-64 with glibc $newest or newer; tests: $folder/tests/run.sh $folder -- --gpu"
