#!/bin/sh
# release_check.sh - checks a release: all that stands between the last commit and those who install it. Runs the steps
# below on a clean clone and prints a table. Exit status 1 if a step failed.
#
#   tools/release_check.sh [--only STEP,...] [--skip STEP,...] [--folder FOLDER] [--list | --help]
#
#   --only    these steps alone
#   --skip    all but these; the table says that they were skipped
#   --folder  where it works, default build/release; logs are in FOLDER/logs, packages in FOLDER/one
#   --list    the steps and what each does
#
# Some steps need root, the network, or Debian packages that ./dev does not install. Without root or a package of these
# nothing is run: skip the step by name.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd -P)

steps() {
    cat <<'STEPS'
version : one version number everywhere, and the change log has the day of this release
clone   : a clean clone of the last commit
demo    : ./dev demo there
lint    : ./dev lint there
test    : ./dev test --full there
fresh   : ./dev demo and then ./dev test on a bare Debian 12 with every cache empty, an hour on two cores (measured 2026-11)
abi     : the libraries' ABI beside that of the last release, by abidiff
package : ./dev package in two clones, compared byte by byte
lintian : Debian's checks of the .deb packages
sbom    : the SBOM names all files with their digests, and is valid SPDX 2.3
debian  : the .deb packages on an empty Debian 12: installed, used, purged, nothing left
wheel   : the wheel in an empty virtual environment
sdist   : the sdist by PyPI's build, and the wheel that this builds of it, in another
rpm     : the .rpm packages of the source archive: their files, rpmlint, and a program that is linked with them
conan   : conan create, and the examples built with the package
arm64   : the wheel by Debian's cross compiler, and test_python on it with Debian's arm64 Python, under qemu
mutate  : the mutation gate: 60 planted faults
STEPS
}
fail() { echo "release_check.sh: $*" >&2 && exit 2; }

# What ./dev does not install: a program, its Debian package, and the steps that run it.
programs() {
    cat <<'PROGRAMS'
abidiff                abigail-tools          abi
debootstrap            debootstrap            fresh debian
lintian                lintian                lintian
rpmbuild               rpm                    rpm
rpmlint                rpmlint                rpm
aarch64-linux-gnu-gcc  gcc-aarch64-linux-gnu  arm64
qemu-aarch64-static    qemu-user-static       arm64
PROGRAMS
}

only='' skip='' folder=build/release
known() { # STEP,... - each is one
    for name in $(echo "$1" | tr , ' '); do
        steps | grep -q "^$name *:" || fail "there is no step '$name': tools/release_check.sh --list"
    done
}
while [ $# -gt 0 ]; do
    case $1 in
    --only) known "${2:-}" && only=$only,${2:?--only needs a step}, && shift ;;
    --skip) known "${2:-}" && skip=$skip,${2:?--skip needs a step}, && shift ;;
    --folder) folder=${2:?--folder needs a folder} && shift ;;
    --list)
        steps
        exit 0
        ;;
    --help | -h)
        sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' tools/release_check.sh
        steps
        exit 0
        ;;
    *) fail "no such option: $1" ;;
    esac
    shift
done

asked() { case $only, in , | *",$1,"*) ;; *) return 1 ;; esac; }
skipped() { case $skip, in *",$1,"*) ;; *) return 1 ;; esac; }
need() { ! asked "$1" || skipped "$1" || echo "$1 needs $2; "; }
lacking=$(
    programs | while read -r program package users; do
        command -v "$program" >/dev/null || for step in $users; do need "$step" "$package"; done
    done
    [ "$(id -u)" -eq 0 ] || for step in fresh debian; do need "$step" root; done
)
[ -z "$lacking" ] || fail "$(echo "$lacking" | tr -d '\n')or leave these steps out by --skip"

commit=$(git rev-parse HEAD) || fail 'this tree is no clone'
version=$(tools/version.sh) || exit 2
if [ -e "$folder" ] && ! [ -e "$folder/commit" ] && [ -n "$(ls -A "$folder" 2>&1)" ]; then
    fail "$folder is not of an earlier run: expected a new name, an empty folder or one that this script made"
fi
mkdir -p "$folder/logs" && folder=$(cd "$folder" && pwd -P) || exit 2
# What an earlier run left of another commit.
if [ "$(cat "$folder/commit" 2>/dev/null)" != "$commit" ]; then
    rm -rf "$folder/clone" "$folder/two clones" "$folder/one" "$folder/two" && echo "$commit" >"$folder/commit"
fi
export CI=true

figure() { echo "$*" >"$folder/figure"; } # what the table says beside the verdict

# ---- what steps share ----

clean_clone() { # FOLDER
    [ ! -e "$1" ] || return 0
    git clone --quiet "$root" "$1" && git -C "$1" -c advice.detachedHead=false checkout --quiet "$commit"
}
clone() { clean_clone "$folder/clone"; }

packages() {
    clone && clean_clone "$folder/two clones/tilewright" || return 1
    [ -e "$folder/one/SHA256SUMS" ] || (umask 022 && "$folder/clone/dev" package "$folder/one")
}

environment() { # FOLDER PACKAGE - a virtual environment with it alone
    rm -rf "$1" && "$root/tools/pypi.sh" "$1" --quiet "$2"
}

# ---- the steps ----

step_version() {
    tools/version.sh --check || return 1
    heading=$(grep -m 1 '^## ' CHANGELOG.md)
    figure "$version; CHANGELOG: ${heading#\#\# }"
    echo "$heading" | grep -qE "^## $version - 20[0-9]{2}-[0-9]{2}-[0-9]{2}$" ||
        { echo "CHANGELOG.md: found '$heading', expected '## $version - YYYY-MM-DD'" && return 1; }
}

step_clone() {
    rm -rf "$folder/clone" && clone && [ -z "$(git -C "$folder/clone" status --porcelain)" ] || return 1
    changed=$(git status --porcelain | wc -l)
    figure "$(echo "$commit" | cut -c 1-12), $(git ls-files | wc -l) files"
    [ "$changed" -eq 0 ] || { git status --short && echo 'these changes are not committed' && return 1; }
}

step_demo() { clone && "$folder/clone/dev" demo && figure 'exit status 0'; }

step_lint() {
    clone && "$folder/clone/dev" lint || return 1
    figure "$(grep -c '^ok ' "$folder/logs/lint.log") checks"
}

step_test() {
    clone && "$folder/clone/dev" test --full
    status=$?
    figure "$(tail -n 1 "$folder/logs/test.log")"
    [ $status -eq 0 ] && [ -z "$(git -C "$folder/clone" status --porcelain)" ]
}

step_fresh() {
    clone && "$folder/clone/tools/fresh_debian.sh" "$folder/debian"
    status=$?
    figure "demo: $(sed -n 's/^=== .\/dev demo: //p' "$folder/logs/fresh.log"); test: $(grep ' passed, .* skipped$' "$folder/logs/fresh.log" | tail -n 1)"
    [ $status -ne 0 ] || rm -rf --one-file-system "$folder/debian/root"
    [ $status -eq 0 ]
}

step_abi() {
    clone && cd "$folder/clone" || return 1
    CC=gcc cmake -S . -B build/abi -DTILEWRIGHT_TESTS=OFF -DCMAKE_C_FLAGS="-g -ffile-prefix-map=$PWD=." || return 1
    cmake --build build/abi -j "$(nproc)" --target tilewright_shared tilewright_blas || return 1
    tools/abi.py compare build/abi || return 1
    figure "$(grep -ho "<elf-symbol name='[^']*'" abi/*.abi | grep -vc tw_lab_) symbols of the baseline unchanged"
}

step_package() {
    rm -rf "$folder/one" "$folder/two" "$folder/two clones" && packages || return 1
    # Another place, mask and time zone, other flags in the environment.
    (cd "$folder/two clones/tilewright" && umask 077 &&
        CFLAGS=-O1 TZ=Asia/Tokyo LC_ALL=C ./dev package "$folder/two") ||
        return 1
    diff -r "$folder/one" "$folder/two" || return 1
    figure "$(wc -l <"$folder/one/SHA256SUMS") files, $(du -sk "$folder/one" | cut -f 1) KiB, byte-equal"
    grep -q '\.deb$' "$folder/one/SHA256SUMS"
}

step_lintian() {
    packages && lintian --allow-root -I --fail-on error,warning,info "$folder"/one/*.deb || return 1
    tags=$(lintian --allow-root -I -E --pedantic "$folder"/one/*.deb | grep -c '^[EWIPX]:')
    figure "$(ls "$folder"/one/*.deb | wc -l) packages, $tags tags with -I -E --pedantic"
}

step_sbom() {
    packages && tools/package/check_sbom.py "$folder/one" || return 1
    environment "$folder/spdx" spdx-tools || return 1
    "$folder/spdx/bin/pyspdxtools" -i "$folder/one/tilewright-$version.spdx.json" --version SPDX-2.3 || return 1
    figure "$(grep '^[0-9]* packages with' "$folder/logs/sbom.log"), valid by spdx-tools"
}

step_debian() {
    packages && rm -rf "$folder/debs" && mkdir "$folder/debs" || return 1
    cp "$folder"/one/*.deb "$root/tools/package/check_debs.sh" "$folder/debs/" || return 1
    tools/fresh_debian.sh --files "$folder/debs" "$folder/debian" ./check_debs.sh || return 1
    rm -rf --one-file-system "$folder/debian/root"
    figure "$(sed -n 's/^ok: \(installed\|purged\)/\1/p' "$folder/logs/debian.log" | sed "2,\$s/^/; /" | tr -d "\n")"
}

product='import numpy as np, tilewright
a, b = np.random.rand(100, 77), np.random.rand(77, 102)
assert np.allclose(tilewright.matmul(a, b), a @ b)'

# works NAME WHEEL - installed in the environment FOLDER/NAME, and used there.
works() {
    environment "$folder/$1" "$2" || return 1
    (cd / && env -i HOME="$folder" "$folder/$1/bin/python" -c "$product") || return 1
    said=$(cd / && env -i "$folder/$1/bin/python" -m tilewright version | head -n 1)
    [ "$said" = "tilewright $version" ] || { echo "python -m tilewright version: $said" && return 1; }
    figure "$(basename "$2"): matmul, program"
}

step_wheel() { packages && works wheel "$(ls "$folder"/one/*.whl)"; }

step_sdist() {
    clone && environment "$folder/build" build && rm -rf "$folder/dist" || return 1
    "$folder/build/bin/python" -m build --outdir "$folder/dist" "$folder/clone" || return 1
    sdist=tilewright-$version.tar.gz
    [ ! -e "$folder/one/SHA256SUMS" ] || cmp "$folder/one/$sdist" "$folder/dist/$sdist" || return 1
    tar -xzOf "$folder/dist/$sdist" "tilewright-$version/PKG-INFO" |
        "$folder/build/bin/python" -c 'import sys, packaging.metadata as m; m.Metadata.from_email(sys.stdin.read())' || return 1
    works sdist "$(ls "$folder"/dist/*.whl)"
}

# lists PACKAGE FILE ... - these files and no others, but pages, licences and links to debugging information.
lists() {
    rpm -qlp "$rpms/$1-$version"-*.rpm | grep -vE '^/usr/(share/(doc|licenses)|lib/\.build-id)(/|$)' >"$folder/rpm/listed"
    shift && printf '%s\n' "$@" | sed "s|^LIB/|/usr/lib64/|; s|^SHARE/|/usr/share/|" | diff - "$folder/rpm/listed"
}

# Of rpmlint's errors, whose rules on Debian are Mandriva's of old, these are passed over: what a distribution adds, GNU's
# hash alone, names, and where rpm itself puts licences and links to debugging information.
passed='no-(signature|packager-tag|group-tag|changelogname-tag)|missing-hash-section|lib-package-without|outside-libdir-files'
passed="$passed|non-versioned-file-in-library-package /usr/lib/.build-id|static-library-without-debuginfo"

step_rpm() {
    packages && rm -rf "$folder/rpm" && rpms=$folder/rpm/RPMS/$(uname -m) tree=$folder/rpm/root || return 1
    # --nodeps: what Debian's rpm knows to be installed is nothing
    rpmbuild -tb --nodeps --define "_topdir $folder/rpm" "$folder/one/tilewright-$version.tar.xz" || return 1
    lists tilewright /usr/bin/tilewright SHARE/bash-completion/completions/tilewright SHARE/man/man1/tilewright.1 &&
        lists libtilewright0 LIB/libtilewright.so.0 "LIB/libtilewright.so.$version" LIB/libtilewright_blas.so.0 "LIB/libtilewright_blas.so.$version" &&
        lists tilewright-devel /usr/include/tilewright.h /usr/include/tilewright_blas.h /usr/include/tilewright_blas64.h \
            /usr/include/tilewright_lab.h LIB/cmake/tilewright LIB/cmake/tilewright/tilewright-config-version.cmake \
            LIB/cmake/tilewright/tilewright-config.cmake LIB/cmake/tilewright/tilewright-targets-release.cmake \
            LIB/cmake/tilewright/tilewright-targets.cmake LIB/libtilewright.a LIB/libtilewright.so \
            LIB/libtilewright_blas.so LIB/pkgconfig/tilewright.pc LIB/pkgconfig/tilewright_blas.pc || return 1
    rpmlint "$rpms" tools/package/tilewright.spec >"$folder/rpm/said"
    ! grep ': E: ' "$folder/rpm/said" | grep -vE ": ($passed)" || return 1
    mkdir "$tree" && rpm --root "$tree" --initdb && rpm --root "$tree" -i --nodeps --noscripts "$rpms"/*.rpm || return 1
    rpm --root "$tree" -V --nodeps --noscripts tilewright libtilewright0 tilewright-devel || return 1
    "$tree/usr/bin/tilewright" version | grep -qx "tilewright $version" || return 1
    PKG_CONFIG_SYSROOT_DIR=$tree PKG_CONFIG_PATH=$tree/usr/lib64/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH PKG_CONFIG_ALLOW_SYSTEM_LIBS
    # shellcheck disable=SC2046 # words
    cc "$tree/usr/share/doc/tilewright/examples/product.c" $(pkg-config --cflags --libs tilewright) -o "$folder/rpm/product" || return 1
    LD_LIBRARY_PATH=$tree/usr/lib64 "$folder/rpm/product" | grep -qx '11 10' || return 1
    figure "$(ls "$rpms" | wc -l) packages, $(rpm -qlp "$rpms"/*.rpm | wc -l) files; $(tail -n 1 "$folder/rpm/said")"
}

step_conan() {
    clone && environment "$folder/conan" conan || return 1
    export CONAN_HOME="$folder/conan/home" PATH="$folder/conan/bin:$PATH"
    conan profile detect && conan create "$folder/clone/tools/package/conan" -c "tools.build:jobs=$(nproc)" \
        -c "tools.cmake.cmake_layout:test_folder=$folder/conan/test" || return 1
    figure "$(conan --version), the examples by find_package()"
    grep -qx '11 10' "$folder/logs/conan.log" # what product prints
}

# emulated SCRIPT PROGRAM - a script that runs a program of FOLDER/arm64/root, which may run the script as itself.
emulated() {
    cat >"$1" <<SCRIPT && chmod +x "$1"
#!/bin/sh
export LD_LIBRARY_PATH="\${LD_LIBRARY_PATH:+\$LD_LIBRARY_PATH:}$arm64/root/usr/lib/$triple/blas:$arm64/root/usr/lib/$triple/lapack"
exec qemu-aarch64-static -0 "\$0" -L "$arm64/root" -E PYTHONHOME="$arm64/root/usr" "$2" "\$@"
SCRIPT
}

step_arm64() {
    triple=aarch64-linux-gnu arm64=$folder/arm64
    clone && rm -rf "$arm64" && mkdir -p "$arm64/apt/lists/partial" "$arm64/apt/archives/partial" "$arm64/bin" && : >"$arm64/apt/status" || return 1
    for words in update 'install -y --no-install-recommends --download-only python3-numpy libjansson-dev zlib1g-dev'; do
        # shellcheck disable=SC2086 # words
        apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$arm64/apt" -o Dir::Cache="$arm64/apt" \
            -o Dir::State::status="$arm64/apt/status" $words || return 1
    done
    for deb in "$arm64"/apt/archives/*.deb; do dpkg-deb -x "$deb" "$arm64/root" || return 1; done
    "$folder/clone/tools/wheel.sh" "$arm64" "$arm64/build" $triple "$arm64/root" || return 1
    cmake -DTILEWRIGHT_TESTS=ON "$arm64/build" && cmake --build "$arm64/build" --target fake_cuda fake_nvrtc fake_opencl || return 1
    python3 -m zipfile -e "$arm64"/*.whl "$arm64/site" || return 1
    chmod +x "$arm64/site/tilewright/bin/tilewright" && rm "$arm64/build/tilewright" || return 1
    # What a case loads is for arm64. What it starts itself is not: it prints how structs lie, which is the same here.
    printf '#!/bin/sh\ncase " $* " in *" -shared "*) exec %s-gcc "$@" ;; *) exec gcc "$@" ;; esac\n' $triple >"$arm64/bin/cc"
    chmod +x "$arm64/bin/cc" || return 1
    emulated "$arm64/build/tilewright" "$arm64/site/tilewright/bin/tilewright" && emulated "$arm64/python" "$arm64/root/usr/bin/python3" || return 1
    PYTHONPATH="$arm64/site" "$arm64/python" -c "$product" || return 1
    PATH="$arm64/bin:$PATH" TILEWRIGHT_BUILD=$arm64/build TILEWRIGHT=$arm64/build/tilewright "$arm64/python" "$folder/clone/tests/test_python.py"
    status=$?
    figure "$(basename "$arm64"/*.whl): $(grep -c '^ok' "$folder/logs/arm64.log") cases of test_python under qemu"
    [ $status -eq 0 ]
}

step_mutate() {
    clone && "$folder/clone/dev" mutate --seed "$(date +%Y%m%d)" --selftest
    status=$?
    figure "$(tail -n 1 "$folder/logs/mutate.log")"
    [ $status -eq 0 ] # 3: not all faults were judged
}

# ---- the table ----

failed=0
: >"$folder/table"
for name in $(steps | cut -d : -f 1); do
    asked "$name" || continue
    rm -f "$folder/figure"
    if skipped "$name"; then
        verdict=skipped seconds=-
    else
        echo "$name: $(steps | sed -n "s/^$name *: //p")" >&2
        start=$(date +%s)
        ("step_$name") >"$folder/logs/$name.log" 2>&1 </dev/null
        case $? in
        0) verdict=ok ;;
        *)
            verdict=FAIL failed=$((failed + 1))
            tail -n 25 "$folder/logs/$name.log" | sed 's/^/    /' >&2
            echo "    the whole log: $folder/logs/$name.log" >&2
            ;;
        esac
        seconds=$(($(date +%s) - start))
    fi
    [ -e "$folder/figure" ] || figure "$(steps | sed -n "s/^$name *: //p")"
    printf '%-8s  %-8s %6s s  %s\n' "$name" "$verdict" "$seconds" "$(cat "$folder/figure")" >>"$folder/table"
done
[ -s "$folder/table" ] || fail 'no step is left'
echo "Tilewright $version, commit $(echo "$commit" | cut -c 1-12)"
cat "$folder/table"
ok=$(grep -c '^[a-z0-9]* *ok ' "$folder/table")
echo "$ok steps ok, $failed failed, $(($(wc -l <"$folder/table") - ok - failed)) not run"
[ $failed -eq 0 ]
