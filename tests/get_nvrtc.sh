#!/bin/sh
# get_nvrtc.sh - prints the path of a libnvrtc for TILEWRIGHT_NVRTC: the one that is named there, a CUDA toolkit's, or PyPI's
# nvidia-cuda-nvrtc in the version of tools/pins, which it installs below FOLDER (build/nvrtc) if it is not there yet. Exit status 1 and
# a sentence on stderr where it cannot be had.
#
#   tests/get_nvrtc.sh [--no-install | --newest] [FOLDER]        for example: export TILEWRIGHT_NVRTC="$(tests/get_nvrtc.sh)"
#
# --no-install takes what is there; --newest is PyPI's newest version, whatever is here.
set -u

found() { [ -n "$1" ] && [ -e "$1" ] && echo "$1" && exit 0; }
first() { # of what matches a pattern
    for file; do case $file in *builtins* | *.alt.*) ;; *) [ -e "$file" ] && echo "$file" && return ;; esac; done
}

mode='' && case ${1:-} in --*) mode=$1 && shift ;; esac
folder=${1:-$(dirname "$0")/../build/nvrtc} pypi=$(dirname "$0")/../tools/pypi.sh
if [ "$mode" = --newest ]; then
    version=newest
else
    found "${TILEWRIGHT_NVRTC:-}"
    case ${TILEWRIGHT_NVRTC:-} in */*) echo "get_nvrtc.sh: TILEWRIGHT_NVRTC=$TILEWRIGHT_NVRTC: there is no such file" >&2 && exit 1 ;; esac # by a bare name the loader looks, not we
    found "$(ldconfig -p 2>/dev/null | sed -n 's/.*libnvrtc\.so\.[0-9.]* .*=> //p' | head -n 1)"
    found "$(first "${CUDA_HOME:-/usr/local/cuda}"/lib64/libnvrtc.so* /usr/local/cuda*/lib64/libnvrtc.so* /usr/lib/*/libnvrtc.so.*)"
    version=$("$pypi" --pin nvidia-cuda-nvrtc) || exit 1
fi

mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 1
wheels() { first "$folder/$version"/lib*/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*; }
[ "$mode" = --newest ] || found "$(wheels)"
[ "$mode" != --no-install ] || { echo "get_nvrtc.sh: there is no NVRTC here, and none is to be fetched" >&2 && exit 1; }
# shellcheck disable=SC2086 # --newest or nothing
if ! "$pypi" $mode "$folder/$version" nvidia-cuda-nvrtc >"$folder/log" 2>&1; then
    echo "get_nvrtc.sh: nvidia-cuda-nvrtc could not be installed (Debian's python3-venv, a way to PyPI?): $folder/log" >&2 && exit 1
fi
found "$(wheels)"
echo "get_nvrtc.sh: nvidia-cuda-nvrtc holds no libnvrtc.so" >&2
exit 1
