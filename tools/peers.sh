#!/bin/sh
# peers.sh - ./dev peers: other libraries for `tilewright bench --against`, as PyPI and Debian have them, unpacked into build/peers and
# installed nowhere. Each gets a name there, NAME.so, by lab/peers.def. What is there already is left; prints what there is.
#
#   tools/peers.sh [--no-install | --newest]
#
# --newest  PyPI's newest in place of those of tools/pins, anew, in build/newest/peers: for ./dev lint --newest
set -u
cd "$(dirname "$0")/.." || exit 1
here=$(pwd -P)/build/peers fetch=1 newest=''
case ${1:-} in
--no-install) fetch='' ;;
--newest) newest=--newest here=$(pwd -P)/build/newest/peers && rm -rf "$here" ;;
esac
umask 022 # what others can write is not opened
mkdir -p "$here" || exit 1
log=$here/log

missing() { ! [ -e "$here/$1.so" ]; }
tell() { printf '%-10s%s\n' "$1" "$2"; }
first() {
    for file; do [ -e "$file" ] && echo "$file" && return; done
    return 1
}

# wheels NAME PACKAGE ... - without what they depend on, which would be Python's.
wheels() {
    [ -n "$fetch" ] || return 1
    name=$1 && shift
    # shellcheck disable=SC2086 # --newest or nothing
    tools/pypi.sh $newest "$here/venv" --no-deps "$@" >>"$log" 2>&1 &&
        "$here/venv/bin/pip" list --disable-pip-version-check --format=freeze | grep -i "^$1==" >"$here/$name.version"
}
in_venv() { first "$here"/venv/lib/"$1" "$here"/venv/lib/python3*/site-packages/"$1"; }

# debian NAME PACKAGE - its files, below build/peers/debian.
debian() {
    [ -n "$fetch" ] && mkdir -p "$here/debian" && (
        cd "$here/debian" && rm -f "$2"_*.deb && { apt-get download "$2" || { apt-get update && apt-get download "$2"; }; } && dpkg -x "$2"_*.deb . &&
            dpkg-deb -f "$2"_*.deb Version | sed "s/^/$2 /" >"$here/$1.version" && rm -f "$2"_*.deb
    ) >>"$log" 2>&1
}

# Each puts NAME.so in its place, or fails.
get_openblas() {
    wheels openblas scipy-openblas32
    from=$(in_venv scipy_openblas32/lib/libscipy_openblas.so) && ln -sf "$from" "$here/openblas.so"
}

get_mkl() {
    wheels mkl mkl intel-openmp
    from=$(first "$here"/venv/lib/libmkl_rt.so.*) && ln -sf "$from" "$here/mkl.so"
}

get_onednn() { # the build for OpenMP: the newer one wants SYCL, 2.5 GB
    wheels onednn onednn-cpu-gomp
    from=$(in_venv libdnnl.so.3) && ln -sf "$from" "$here/onednn.so"
}

get_aocl() { # its OpenMP stands beside it under a name of its own, where nothing but the one who links looks
    wheels aocl aoclda
    folder=$(in_venv aoclda.libs) &&
        cc -shared -o "$here/aocl.so" -Wl,--disable-new-dtags,-rpath,"$folder" -Wl,--no-as-needed "$folder"/libblis-mt*.so* "$folder"/libomp-*.so \
            >>"$log" 2>&1
}

get_blis() {
    debian blis libblis4-pthread
    from=$(first "$here"/debian/usr/lib/*/blis-pthread/libblis.so.4) && ln -sf "$from" "$here/blis.so"
}

get_eigen() {
    wheels eigen eigency
    folder=$(in_venv eigency/eigen) &&
        c++ -O3 -march=native -fopenmp -DNDEBUG -shared -fPIC -I"$folder" tools/peers/eigen.cc -o "$here/eigen.so" >>"$log" 2>&1
}

get_libxsmm() {
    debian libxsmm libxsmm-dev
    cc -O2 -shared -fPIC -I"$here/debian/usr/include" tools/peers/libxsmm.c -o "$here/libxsmm.so" "$here/debian/usr/lib/libxsmm.a" \
        "$here/debian/usr/lib/libxsmmnoblas.a" -lpthread -lrt -ldl -lm >>"$log" 2>&1
}

get_clblast() {
    debian clblast libclblast1
    from=$(first "$here"/debian/usr/lib/*/libclblast.so.1) && ln -sf "$from" "$here/clblast.so"
}

found=0
for peer in $(sed -n -e '/", "cuda",/d' -e 's/^PEER("\([a-z0-9]*\)".*/\1/p' lab/peers.def); do
    missing "$peer" && [ -t 2 ] && printf 'fetching %s ...\r' "$peer" >&2
    if missing "$peer" && ! "get_$peer"; then
        tell "$peer" "is not to be had here${fetch:+: $log says why}"
    else
        found=$((found + 1))
        tell "$peer" "$(cat "$here/$peer.version" 2>/dev/null || echo 'of a version that was not noted')"
    fi
done
[ "$found" -gt 0 ]
