#!/bin/sh
# get_nvrtc.sh - prints the path of a libnvrtc for TILEWRIGHT_NVRTC: the one that is named there, a CUDA toolkit's, or PyPI's
# nvidia-cuda-nvrtc, which it installs into a venv below FOLDER (build/nvrtc) if there is none yet. Exit status 1 and a sentence on
# stderr where it cannot be had. --no-install takes what is there.
#
#   tests/get_nvrtc.sh [--no-install] [FOLDER]        for example: export TILEWRIGHT_NVRTC="$(tests/get_nvrtc.sh)"
set -u

found() { [ -n "$1" ] && [ -e "$1" ] && echo "$1" && exit 0; }
first() { # of what matches a pattern
    for file; do case $file in *builtins* | *.alt.*) ;; *) [ -e "$file" ] && echo "$file" && return ;; esac; done
}

install=1 && [ "${1:-}" = --no-install ] && install='' && shift
found "${TILEWRIGHT_NVRTC:-}"
case ${TILEWRIGHT_NVRTC:-} in */*) echo "get_nvrtc.sh: TILEWRIGHT_NVRTC=$TILEWRIGHT_NVRTC: there is no such file" >&2 && exit 1 ;; esac # by a bare name the loader looks, not we
found "$(ldconfig -p 2>/dev/null | sed -n 's/.*libnvrtc\.so\.[0-9.]* .*=> //p' | head -n 1)"
found "$(first "${CUDA_HOME:-/usr/local/cuda}"/lib64/libnvrtc.so* /usr/local/cuda*/lib64/libnvrtc.so* /usr/lib/*/libnvrtc.so.*)"

folder=${1:-$(dirname "$0")/../build/nvrtc}
mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 1
wheels() { first "$folder"/venv/lib*/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*; }
found "$(wheels)"
[ -n "$install" ] || { echo "get_nvrtc.sh: there is no NVRTC here, and none is to be fetched" >&2 && exit 1; }
python=/usr/bin/python3 && [ -x "$python" ] || python=$(command -v python3) || { echo "get_nvrtc.sh: python3 is not installed" >&2 && exit 1; }
if ! { "$python" -m venv "$folder/venv" && "$folder/venv/bin/pip" install --disable-pip-version-check --retries 1 nvidia-cuda-nvrtc; } >"$folder/log" 2>&1; then
    echo "get_nvrtc.sh: nvidia-cuda-nvrtc could not be installed (Debian's python3-venv, a way to PyPI?): $folder/log" >&2 && exit 1
fi
found "$(wheels)"
echo "get_nvrtc.sh: nvidia-cuda-nvrtc holds no libnvrtc.so" >&2
exit 1
