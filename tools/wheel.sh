#!/bin/sh
# wheel.sh - builds the Python wheel, with the libraries and the program inside, for any Linux with glibc 2.28 on this
# machine's kind of processor, x86-64 or arm64.
#
#   tools/wheel.sh FOLDER [BUILD [TRIPLE ROOT]]     writes a tilewright-VERSION-...whl into FOLDER and prints its name
#
# TRIPLE is another kind's, for which TRIPLE-gcc compiles: aarch64-linux-gnu. Its C library, jansson and zlib are in the folder ROOT, as below /.
# BUILD, by default build/wheel, is a CMake build folder of its own. The same sources and compiler give the same bytes,
# wherever the tree and BUILD lie; SOURCE_DATE_EPOCH (else the last commit's time) is the date of all files inside.
# Fetches nothing.
set -eu

folder=${1:?usage: tools/wheel.sh FOLDER [BUILD [TRIPLE ROOT]]} triple=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd) glibc=2.28
build=${2:-$root/build/wheel}
mkdir -p "$folder" "$build" && folder=$(cd "$folder" && pwd) && build=$(cd "$build" && pwd)
cd "$root"
python=/usr/bin/python3
[ -x "$python" ] || python=python3
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1609459200)}
export SOURCE_DATE_EPOCH CC="${triple:+$triple-}gcc" LC_ALL=C
machine=$($CC -dumpmachine | cut -d - -f 1)
if [ -n "$triple" ]; then
    qemu=$(command -v "qemu-$machine-static" || command -v "qemu-$machine") ||
        { echo "wheel.sh: there is no qemu-$machine to run what the build makes for itself (Debian: qemu-user-static)" >&2 && exit 1; }
    set -- -DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$machine" "-DCMAKE_FIND_ROOT_PATH=$4" "-DCMAKE_CROSSCOMPILING_EMULATOR=$qemu;-L;$4"
else
    set --
fi

tools/old_glibc.sh "$build/glibc-$glibc" "$glibc"
link="$(cat "$build/glibc-$glibc/link") -s"
echo "wheel.sh: building the libraries; log: $build/log" >&2
( # how far the build has come, every 30 s; ends with this shell
    ticks=0
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        ticks=$((ticks + 1))
        [ $((ticks % 30)) -ne 0 ] || echo "wheel.sh: building $(grep -oE '^\[[^]]*\]' "$build/log" | tail -n 1)" >&2
    done
) >/dev/null &
progress=$!
generator='' && ! command -v ninja >/dev/null || generator='-G Ninja'
[ ! -e "$build/CMakeCache.txt" ] || generator=''
# shellcheck disable=SC2086 # words, or none
{
    cmake -S . -B "$build" $generator "$@" -DCMAKE_BUILD_TYPE=Release -DTILEWRIGHT_TESTS=OFF \
        -DCMAKE_C_FLAGS="-ffile-prefix-map=$build=build -ffile-prefix-map=$root=." \
        -DCMAKE_EXE_LINKER_FLAGS="$link" -DCMAKE_SHARED_LINKER_FLAGS="$link" \
        -DCMAKE_MODULE_LINKER_FLAGS="$link"
    cmake --build "$build" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target tilewright tilewright_python tilewright_blas
} >"$build/log" 2>&1 || { kill "$progress" && cat "$build/log" >&2 && echo "wheel.sh: the build failed" >&2 && exit 1; }
kill "$progress"

grep '^-- Python calls' "$build/log" >&2 || : # without the extension
for file in libtilewright.so.0 libtilewright_blas.so.0 tilewright _calls.abi3.so; do
    [ -e "$build/$file" ] || continue
    readelf -W --dyn-syms "$build/$file" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1 | {
        read -r newest
        [ "$(printf '%s\nGLIBC_%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" = "GLIBC_$glibc" ] ||
            { echo "wheel.sh: $file needs $newest, expected GLIBC_$glibc at most" >&2 && exit 1; }
    }
done
exec "$python" -B python/backend.py "$folder" "$build" "manylinux_$(echo $glibc | tr . _)_$machine"
