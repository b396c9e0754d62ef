#!/bin/sh
# test_packages.sh - what ./dev package makes and refuses, that one version number stands everywhere, what ./dev release
# changes and refuses, and that what is fetched is pinned. With --full it makes the packages twice, in two folders, and looks into them. Prints TAP.
set -u

quick='one_version other_versions_are_found a_dry_release a_release what_is_fetched_is_pinned refusals'
long='made_twice byte_equal contents dependencies program_runs archive_is_the_commit checksums sbom_names_every_file'
long="$long licences a_snapshot_is_before_its_release lintian_is_content system_blas_in_a_debian"
cases=$quick
case " $* " in *' --full '*) cases="$quick $long" ;; esac
in_order=1
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

one_version() { "$root/tools/version.sh" --check; }

# copied FOLDER - $copy, with all that has a version.
copied() {
    copy=$work/$1 && rm -rf "$copy" && mkdir -p "$copy/tests" "$copy/src" "$copy/docs" || return 1
    cp -R "$root/tools" "$root/include" "$root/examples" "$copy/" || return 1
    cp "$root/dev" "$root/CMakeLists.txt" "$root/CHANGELOG.md" "$root/.gitignore" "$copy/" || return 1
    cp "$root/src/tilewright.map" "$copy/src/" && mkdir -p "$copy/python/tilewright" && cp "$root/python/tilewright/_library.py" "$copy/python/tilewright/" && cp "$root/docs/GUIDE.md" "$root/docs/API.md" "$copy/docs/" || return 1
    cp -R "$root/tests/consumer" "$copy/tests/"
}

# found CHANGE FILE - a version that sed changed in a copy of what has one.
found() {
    copied copy && "$copy/tools/version.sh" --check || return 1
    sed -i "$1" "$copy/$2" && ! cmp -s "$root/$2" "$copy/$2" || { echo "$1 changes nothing in $2" && return 1; }
    ! "$copy/tools/version.sh" --check || { echo "$1 in $2 was not found" && return 1; }
}

other_versions_are_found() {
    found 's/^\(project(tilewright VERSION\) [0-9.]*/\1 7.8.9/' CMakeLists.txt &&
        found 's/^\(#define TW_VERSION_PATCH\) .*/\1 77/' include/tilewright.h &&
        found 's/\(tw_version - .*"\)[0-9.]*"/\17.8.9"/' include/tilewright.h &&
        found '0,/^## [0-9][0-9.]*/s//## 7.8.9/' CHANGELOG.md &&
        found 's/^TILEWRIGHT_[0-9.]* {/TILEWRIGHT_7.8 {/' src/tilewright.map &&
        found 's/find_package(tilewright [0-9.]*/find_package(tilewright 7.8/' examples/CMakeLists.txt &&
        found 's/find_package(tilewright [0-9.]*/find_package(tilewright 7.8/' docs/GUIDE.md &&
        found 's/^\(Version: *\).*/\17.8.9/' tools/package/tilewright.spec &&
        found 's/^__version__ = .*/__version__ = "7.8.9"/' python/tilewright/_library.py &&
        found 's/^Package: libtilewright[0-9]*/Package: libtilewright7/' tools/package/debian/control.in
}

# to_release - $copy is a repository whose change log ends in what is not released.
to_release() {
    need git && copied "$1" && cd "$copy" || return 1
    sed -i "0,/^## .*/s//## $(tools/version.sh) - unreleased/" CHANGELOG.md && git init -q && git config user.name a &&
        git config user.email a@localhost && commit
}
commit() { git add -A && git commit -qm one && parent=$(git rev-parse HEAD); }
unchanged() { [ "$(git rev-parse HEAD)$(git status --porcelain)$(git tag)" = "$parent" ]; }

a_dry_release() (
    to_release dry || return 1
    refused 'needs a VERSION' ./dev release && refused "is '9', expected MAJOR" ./dev release 9 || return 1
    refused '0.0.9 is below' ./dev release 0.0.9 || return 1
    echo >>CHANGELOG.md && refused 'not committed:  M CHANGELOG.md' ./dev release 7.8.9 && git checkout -q . || return 1
    git tag v7.8.9 && refused 'there is a tag v7.8.9' ./dev release 7.8.9 && git tag -d v7.8.9 || return 1
    refused 'there is no step' ./dev release 0.8.9 -- --only nothing || return 1
    refused 'does not know who commits' env HOME=/nowhere GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0= \
        GIT_CONFIG_KEY_1=user.useConfigOnly GIT_CONFIG_VALUE_1=true ./dev release 0.8.9 || return 1
    ./dev release 0.8.9 --dry-run -- --only version || return 1
    unchanged && cd build/release/0.8.9/tree || return 1
    [ "$(git rev-parse HEAD^)" = "$parent" ] && tools/version.sh --check && tools/api_doc.sh --check || return 1
    grep -qx "## 0.8.9 - $(date -u +%Y-%m-%d)" CHANGELOG.md && diff src/tilewright.map "$root/src/tilewright.map" || return 1
    ! grep -F " $(cd "$root" && tools/version.sh)" tools/package/debian/libtilewright0.symbols.in || return 1
    tools/version.sh --set 1.0.0 unreleased && tools/version.sh | grep -qx 1.0.0 || return 1
    [ "$(grep -m 2 '^## ' CHANGELOG.md | tr '\n' ,)" = "## 1.0.0 - unreleased,## 0.8.9 - $(date -u +%Y-%m-%d)," ] &&
        refused 'SOVERSION' tools/version.sh --check
)

# The signature is of a program that stands for gpg.
a_release() (
    to_release real && mkdir abi && echo one >abi/one && printf '#!/bin/sh\n' >tools/abi.py || return 1
    commit && printf '#!/bin/sh\ncat >/dev/null; echo "[GNUPG:] SIG_CREATED " >&2; echo "-----BEGIN PGP SIGNATURE-----"\n' >"$work/gpg" &&
        chmod +x "$work/gpg" && git config gpg.program /nowhere/gpg || return 1
    refused 'git cannot sign' ./dev release 0.8.9 --tag -- --only version && [ ! -e build ] && unchanged || return 1
    git config gpg.program "$work/gpg" && printf '#!/bin/sh\necho >>"%s/CHANGELOG.md"\n' "$PWD" >tools/release_check.sh && commit || return 1
    refused 'changed meanwhile' ./dev release 0.8.9 --tag && git checkout -q CHANGELOG.md && unchanged || return 1
    git reset -q --hard HEAD^ && parent=$(git rev-parse HEAD) && ./dev release 0.8.9 -- --only version && unchanged || return 1
    mkdir -p build/release/0.8.9/check/clone/build/abi || return 1 # as of the step abi; the baseline stays as it is
    ./dev release 0.8.9 --tag -- --only version || return 1
    [ "$(git rev-parse HEAD^)" = "$parent" ] && [ "$(git rev-parse 'v0.8.9^{commit}')" = "$(git rev-parse HEAD)" ] &&
        git cat-file tag v0.8.9 | grep -q 'PGP SIGNATURE' && [ -z "$(git status --porcelain)" ] &&
        [ "$(tools/version.sh)" = 0.8.9 ] && refused "expected '## 0.8.9 - unreleased'" ./dev release 0.8.9
)

what_is_fetched_is_pinned() {
    "$root/tools/pypi.sh" --check || return 1
    refused 'has no version of left-pad' "$root/tools/pypi.sh" "$work/venv" left-pad && [ ! -e "$work/venv" ] || return 1
    copy=$work/pinned && mkdir -p "$copy/tests" "$copy/.ci" "$copy/python" "$copy/examples" || return 1
    cp -R "$root/tools" "$root/dev" "$copy/" && "$copy/tools/pypi.sh" --check || return 1
    echo 'venv/bin/pip install left-pad' >"$copy/tests/get_more.sh"
    refused 'get_more.sh' "$copy/tools/pypi.sh" --check && rm "$copy/tests/get_more.sh" && echo 'left-pad>=1' >>"$copy/tools/pins" || return 1
    refused 'left-pad>=1' "$copy/tools/pypi.sh" --check
}

refused() { # SAYS COMMAND ...
    says=$1 && shift
    ! "$@" >"$work/said" 2>&1 || { echo "$*: was not refused" && return 1; }
    grep -qF -- "$says" "$work/said" || { cat "$work/said" && return 1; }
}

refusals() {
    mkdir "$work/full" && touch "$work/full/mine" || return 1
    # Before anything is installed, as where all that it needs is missing.
    mkdir "$work/bare" || return 1
    for tool in sh dirname nproc cat sed id tr apt-get grep ls git; do
        ! command -v $tool >/dev/null || ln -s "$(command -v $tool)" "$work/bare/$tool" || return 1
    done
    refused 'package takes one folder' env PATH="$work/bare" "$root/dev" package --no-install a b || return 1
    refused "./dev package knows no '--fast'" "$root/dev" package --fast || return 1
    cp -R "$root/tools" "$work/tools" || return 1
    refused 'is no clone' env GIT_CEILING_DIRECTORIES="$work" "$work/tools/package.sh" "$work/new" || return 1
    [ ! -e "$work/new" ] || { echo "a folder was made" && return 1; }
    refused 'lintian needs lintian; rpm needs rpm; rpm needs rpmlint' env PATH="$work/bare" "$root/tools/release_check.sh" --only lintian,rpm || return 1
    in_a_clone || return 1
    refused 'is there, and no such folder' env PATH="$work/bare" "$root/dev" package --no-install "$work/full" || return 1
    ! grep apt-get "$work/said" || return 1
    refused 'is there, and no such folder' "$root/tools/package.sh" "$work/full" && [ "$(ls "$work/full")" = mine ]
}

# ---- with --full ----

in_a_clone() {
    need git || return 1
    [ "$(git -C "$root" rev-parse --show-toplevel 2>/dev/null)" = "$root" ] || skip 'the tree is no clone'
}

# Another folder, another mask, other flags in the environment.
made_twice() {
    in_a_clone && need xz || return 1
    (umask 022 && "$root/tools/package.sh" "$work/one") || return 1
    git clone --quiet "$root" "$work/a clone elsewhere" || return 1
    git -C "$work/a clone elsewhere" checkout --quiet "$(git -C "$root" rev-parse HEAD)" || return 1
    (umask 077 && CFLAGS=-O1 TZ=Asia/Tokyo LC_ALL=C "$work/a clone elsewhere/tools/package.sh" "$work/two")
}
made() { [ -e "$work/two/SHA256SUMS" ] || skip 'no packages were made'; }
debs() {
    made || return 1
    ls "$work"/one/*.deb >/dev/null 2>&1 || skip 'no .deb packages were made'
}
one() { ls "$work/one/$1"_*.deb; }

byte_equal() { made && diff -r "$work/one" "$work/two"; }

# has PACKAGE NAME ... - names are patterns of grep, from the beginning to the end, below /.
has() {
    package=$1 && shift
    dpkg-deb -c "$(one "$package")" | sed 's/ -> .*//; s/.* \.//' >"$work/names" || return 1
    for name in "$@"; do
        grep -qx -- "$name" "$work/names" || { echo "$package has no $name" && cat "$work/names" && return 1; }
    done
}

# plain - all that tar lists is root's, and readable; folders are 0755 whatever the umask.
plain() { awk '$2 !~ /^(root\/root|0\/0)$/ || !/^(drwxr-xr-x|-rw[-x]r-[-x]r-[-x]|lrwxrwxrwx) / { print; bad = 1 } END { exit bad }'; }

contents() {
    debs || return 1
    lib="/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" doc=/usr/share/doc
    has libtilewright0 "$lib/libtilewright.so.0" "$lib/libtilewright.so.0.[0-9.]*" "$lib/libtilewright_blas.so.0" \
        "$doc/libtilewright0/copyright" "$doc/libtilewright0/changelog.Debian.gz" || return 1
    ! grep -e '\.h$' -e '\.a$' -e '\.so$' -e /bin/ "$work/names" || return 1
    has libblas3-tilewright "$lib/tilewright/libblas.so.3" "$doc/libblas3-tilewright/copyright" || return 1
    [ "$(grep -c '\.so' "$work/names")" -eq 1 ] || { cat "$work/names" && return 1; }
    has libtilewright-dev "$lib/libtilewright.so" "$lib/libtilewright.a" "$lib/libtilewright_blas.so" \
        /usr/include/tilewright.h "$lib/pkgconfig/tilewright.pc" "$lib/cmake/tilewright/tilewright-config.cmake" \
        "$doc/libtilewright-dev/copyright" "$doc/libtilewright-dev/examples/product.c" || return 1
    has tilewright /usr/bin/tilewright /usr/share/man/man1/tilewright.1.gz "$doc/tilewright/copyright" \
        /usr/share/bash-completion/completions/tilewright "$doc/tilewright/changelog.gz" \
        "$doc/tilewright/docs/GUIDE.md" || return 1
    ! grep -e '\.so' -e '\.h$' "$work/names" || return 1
    [ ! -e "$root/python/tilewright" ] ||
        has python3-tilewright /usr/lib/python3/dist-packages/tilewright/__init__.py \
            /usr/lib/python3/dist-packages/tilewright/_calls.abi3.so || return 1
    for deb in "$work"/one/*.deb; do
        dpkg-deb -c "$deb" | plain || { echo "$deb: another's, or with another mode" && return 1; }
        dpkg-deb --fsys-tarfile "$deb" | tar -xO >"$work/bytes" || return 1
        ! grep -c -e "$work" -e "$root/" "$work/bytes" || { echo "$deb names a folder of the build" && return 1; }
    done
}

# says PACKAGE FIELD PATTERN
says() {
    value=$(dpkg-deb -f "$(one "$1")" "$2")
    echo "$value" | grep -qE -- "$3" || { echo "$1: $2 is '$value', expected $3" && return 1; }
}

dependencies() {
    debs || return 1
    version=$("$root/tools/version.sh")
    says libtilewright0 Depends '^libc6 \(>= 2\.[0-9]+\)$' && says libtilewright0 Multi-Arch same || return 1
    says libtilewright0 Version "^${version}[-~]" || return 1
    says libblas3-tilewright Depends '^libc6 \(>= 2\.[0-9]+\), libblas3 \(>= [0-9.]+\)$' || return 1 # none beside it
    says libblas3-tilewright Provides '^libblas\.so\.3$' && says libblas3-tilewright Multi-Arch same || return 1
    says libtilewright-dev Depends "libtilewright0 \(= ${version}[-~]" || return 1
    says tilewright Static-Built-Using 'jansson' && says tilewright Depends 'zlib1g' || return 1
    mkdir "$work/control" && dpkg-deb -e "$(one libtilewright0)" "$work/control" || return 1
    cat "$work/control/symbols"
    grep -q 'ldconfig$' "$work/control/triggers" && grep -q libtilewright.so "$work/control/md5sums" || return 1
    grep -q '^ tw_gemm@TILEWRIGHT_0.1 ' "$work/control/symbols" || return 1
    grep -q '^ tw_lab_fits@TILEWRIGHT_LAB .* 1$' "$work/control/symbols" # 1: of this very version alone
}

program_runs() {
    debs || return 1
    dpkg-deb -x "$(one tilewright)" "$work/root" && (cd / && env -i "$work/root/usr/bin/tilewright" version)
}

archive_is_the_commit() {
    made || return 1
    for archive in "$work"/one/*.tar.*; do tar -tvf "$archive" | plain || { echo "$archive" && return 1; }; done
    mkdir "$work/source" && tar -xf "$work"/one/tilewright-*.tar.xz -C "$work/source" --strip-components=1 || return 1
    (cd "$work/source" && find . -type f -o -type l | sed 's|^\./||' | LC_ALL=C sort) >"$work/archived"
    git -C "$root" -c core.quotePath=off ls-tree -r --name-only HEAD | LC_ALL=C sort >"$work/committed"
    diff "$work/committed" "$work/archived" || return 1
    times=$(find "$work/source" -mindepth 1 -printf '%Ts\n' | sort -u)
    [ "$times" = "$(git -C "$root" log -1 --format=%ct)" ] || { echo "times: $times" && return 1; }
}

checksums() {
    made && (cd "$work/one" && sha256sum -c --quiet SHA256SUMS) || return 1
    [ "$(find "$work/one" -type f | wc -l)" -eq $(($(wc -l <"$work/one/SHA256SUMS") + 1)) ]
}

sbom_names_every_file() {
    made || return 1
    "$root/tools/package/check_sbom.py" "$work/one"
}

# Each package says whose it is. The program's has the notices of jansson, which it holds, as Debian has them. None has a
# file of another licence.
licences() {
    debs || return 1
    others=$(sed -n 's|^path = "\(.*/\)*\([^/*]*\)"$|\2|p' "$root/REUSE.toml" | grep .) && echo "$others" || return 1
    for deb in "$work"/one/*.deb; do
        ! dpkg-deb -c "$deb" | grep -F "$others" && notice "$deb" >"$work/notice" || return 1
        grep -q '^Copyright: 20.. The Tilewright authors$' "$work/notice" && grep -q '^License: Apache-2.0$' "$work/notice" || return 1
    done
    notice "$(one tilewright)" >"$work/notice" && jansson=/usr/share/doc/libjansson-dev/copyright || return 1
    for holder in $(sed '/^Files: debian/,/^$/d; /Upstream/d' $jansson | grep -o '<.*@.*>'); do
        grep -F "$holder" "$work/notice" || { echo "the notice lacks $holder" && return 1; }
    done
    [ "$(awk -v RS= 'END { print }' $jansson)" = "$(awk -v RS= 'END { print }' "$work/notice")" ]
}
notice() { dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards './usr/share/doc/*/copyright'; }

# All that it offers must satisfy what asks for the version to come.
a_snapshot_is_before_its_release() {
    debs || return 1
    grep -m 1 '^## ' "$root/CHANGELOG.md" | grep -q 'unreleased$' || skip 'the commit is a release' || return 1
    version=$("$root/tools/version.sh") snapshot=$(dpkg-deb -f "$(one libtilewright0)" Version)
    echo "$snapshot" | grep -qF ".$(git -C "$root" rev-parse HEAD | cut -c 1-7)-" || { echo "$snapshot" && return 1; }
    dpkg --compare-versions "$snapshot" lt "$version-0" || { echo "$snapshot" && return 1; }
    dpkg-deb --ctrl-tarfile "$(one libtilewright0)" | tar -xO ./symbols | sed -n 's/^ [^ ]* \([^ ]*\).*/\1/p' | sort -u >"$work/asked"
    [ -s "$work/asked" ] && while read -r asked; do
        dpkg --compare-versions "$snapshot" ge "$asked" || { echo "$snapshot is below $asked" && return 1; }
    done <"$work/asked"
}

# Installed, switched to, used by NumPy, R and Octave, purged; the Debian stays in the build folder for the next time.
system_blas_in_a_debian() {
    debs && need debootstrap && need unshare || return 1
    [ "$(id -u)" -eq 0 ] || skip 'only root makes a Debian' || return 1
    mkdir "$work/debs" && cp "$work"/one/*.deb "$root/tools/package/check_debs.sh" "$work/debs/" || return 1
    "$root/tools/fresh_debian.sh" --files "$work/debs" "$build/debian" ./check_debs.sh --blas
    status=$?
    rm -rf --one-file-system "$build/debian/root"
    return $status
}

lintian_is_content() {
    debs && need lintian || return 1
    lintian --allow-root --fail-on error,warning "$work"/one/*.deb
}

run_cases
