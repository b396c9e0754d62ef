#!/bin/sh
# newest.sh - ./dev lint --newest: lists packages of tools/pins that have a newer version on PyPI. For newer libraries
# of ./dev peers it shows what `bench --against` says of them. For the newest NVRTC it shows which CUDA kernels it
# compiles worse than the one that is here (tests/get_nvrtc.sh): failures of test_nvrtc, and kernels that take more
# registers or spill more. The exit status is 0 whatever it finds, or 1 if the newest versions cannot be fetched.
#
#   tools/newest.sh BUILD [ARGUMENT-OF-TEST ...]        BUILD has tilewright and tests/test_nvrtc
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1 && shift
newest=$(tests/get_nvrtc.sh --newest build/nvrtc) && tried=$(tests/get_nvrtc.sh build/nvrtc) || exit 1

echo "In tools/pins, and the newest of PyPI:"
mkdir -p build/newest
sed -n 's/^\([^#]*\)==/\1 /p' tools/pins | while read -r name pinned; do
    there=$(build/nvrtc/newest/bin/pip --disable-pip-version-check index versions "$name" 2>/dev/null | sed -n '1s/.*(\(.*\))/\1/p')
    [ "$there" = "$pinned" ] || printf '    %-22s %-14s %s\n' "$name" "$pinned" "${there:-not known}"
done | tee build/newest/newer
if grep -qE "^ *($(sed -n 's/^ *wheels [a-z]* //p' tools/peers.sh | tr -s ' \n' '|' | sed 's/|$//')) " build/newest/newer; then
    tools/peers.sh --newest
    TILEWRIGHT_PEERS=$PWD/build/newest/peers "$build/tilewright" bench --against openblas,mkl,onednn,aocl,eigen --size 256 --samples 3 --threads 1
fi

# compiled NVRTC LOG ARGUMENT ...
compiled() {
    nvrtc=$1 log=$2 && shift 2
    TILEWRIGHT_NVRTC=$nvrtc "$build/tests/test_nvrtc" "$@" >"$log"
    grep -q '^# NVRTC ' "$log" || { echo "newest.sh: $nvrtc compiles nothing: $log" >&2 && exit 1; }
}
compiled "$tried" build/newest/tried.log "$@"
compiled "$newest" build/newest/newest.log "$@"
version() { sed -n 's/^# NVRTC \([0-9.]*\),.*/\1/p' "build/newest/$1.log"; }
echo "NVRTC $(version newest) beside $(version tried), which was tried:"
sed -n -e '/ # SKIP /s/^/    /p' -e '/^not ok/{s/^/    /p;n;s/^/    /p}' build/newest/newest.log
awk '
    !/^# cuda_.*: [0-9]+ registers, [0-9]+ bytes spilled$/ { next }
    { registers = $(NF - 4); spilled = $(NF - 2); kernel = $0; sub(/: [0-9]+ registers.*/, "", kernel); sub(/^# /, "", kernel) }
    !newest { before[kernel] = registers; before_spilled[kernel] = spilled; next }
    !(kernel in before) { next }
    { count++ }
    registers > before[kernel] || spilled > before_spilled[kernel] {
        worse++
        printf "    %s: %d registers, %d before", kernel, registers, before[kernel]
        if (spilled > before_spilled[kernel]) printf ", %d bytes spilled, %d before", spilled, before_spilled[kernel]
        print ""
    }
    registers < before[kernel] { better++ }
    END { printf "%d kernels: %d take more registers or spill more, %d take fewer registers\n", count, worse, better }
' build/newest/tried.log newest=1 build/newest/newest.log
