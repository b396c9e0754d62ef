#!/bin/sh
# fuzz.sh - ./dev fuzz SECONDS [TARGET] [LIBFUZZER-ARGUMENT ...]: builds fuzz/fuzz_TARGET.c with the readers and runs it.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-}
case $seconds in
'' | *[!0-9]*)
    echo "usage: ./dev fuzz SECONDS [TARGET] [-- LIBFUZZER-ARGUMENT ...]" >&2
    exit 2
    ;;
esac
shift
targets=$(basename -s .c fuzz/fuzz_*.c | sed 's/^fuzz_//')
case ${1:--} in
-*) ;;
*)
    [ -e "fuzz/fuzz_$1.c" ] || { echo "no target '$1'; there are: $(echo $targets)" >&2 && exit 2; }
    targets=$1 && shift
    ;;
esac

mkdir -p build/fuzz/crashes
failed=''
for target in $targets; do
    corpus=build/fuzz/corpus/$target
    mkdir -p "$corpus"
    cp fuzz/corpus/"$target"/* "$corpus"/
    set -- "$@" # libFuzzer's own arguments stay
    dictionary=''
    [ -e "fuzz/$target.dict" ] && dictionary=-dict=fuzz/$target.dict
    sources='-DTILEWRIGHT_ZLIB io/*.c -lz'
    if [ "$target" = api ]; then # the library itself under sanitizers, but for NULL + 0, which is common here and harmless
        cmake -S . -B build/fuzz/api-library -DTILEWRIGHT_TESTS=OFF -DTILEWRIGHT_SANITIZE_KERNELS=ON -DCMAKE_C_COMPILER="${CC_FUZZ:-clang}" \
            "-DTILEWRIGHT_SANITIZE=fuzzer-no-link,address,undefined;-fno-sanitize=pointer-overflow" >build/fuzz/library.log 2>&1 &&
            cmake --build build/fuzz/api-library --target tilewright_static >>build/fuzz/library.log 2>&1 ||
            { cat build/fuzz/library.log && exit 1; }
        sources='build/fuzz/api-library/libtilewright.a -lpthread -ldl'
    fi
    if [ "$target" = records ] || [ "$target" = user_kernel ]; then # all of course/ and what it stands on, which needs the library and the kernels' texts
        cmake -S . -B build/fuzz/library -DTILEWRIGHT_TESTS=OFF >build/fuzz/library.log 2>&1 &&
            cmake --build build/fuzz/library --target tilewright_static tilewright_course >>build/fuzz/library.log 2>&1 ||
            { cat build/fuzz/library.log && exit 1; }
        sources='-DTILEWRIGHT_JANSSON -DTILEWRIGHT_ZLIB -Ilab -Icourse io/*.c lab/*.c lab/*/*.c program/*.c course/*.c course/*/*.c build/fuzz/library/kernels/stories.c build/fuzz/library/libtilewright.a -ljansson -lz -lpthread -ldl'
    fi
    # shellcheck disable=SC2086 # words on purpose
    "${CC_FUZZ:-clang}" -std=c11 -O1 -g -D_POSIX_C_SOURCE=200809L -ffp-contract=off -fno-omit-frame-pointer \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude -Iio \
        "fuzz/fuzz_$target.c" $sources -lm -o "build/fuzz/$target"
    echo "fuzzing $target for $seconds s, starting from $(find "$corpus" -type f | wc -l) files; log: build/fuzz/$target.log"
    if "build/fuzz/$target" -max_total_time="$seconds" -print_final_stats=1 -timeout=10 -rss_limit_mb=2048 $dictionary \
        -artifact_prefix="build/fuzz/crashes/$target-" "$@" "$corpus" 2>build/fuzz/"$target".log; then
        sed -n 's/^stat::number_of_executed_units: */    inputs tried: /p' "build/fuzz/$target.log"
    else
        failed="$failed $target"
        grep -E -A 25 'ERROR: |runtime error:' "build/fuzz/$target.log" | head -n 60
        tail -n 8 "build/fuzz/$target.log"
    fi
done
[ -z "$failed" ] && exit
echo "found something in:$failed; the inputs:"
ls -l build/fuzz/crashes
exit 1
