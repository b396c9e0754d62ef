#!/bin/sh
# package.sh - ./dev package: the source archive, the sdist, the .deb packages, the wheel and the SBOM of the last commit.
#
#   tools/package.sh [--check] FOLDER
#
# --check makes nothing: it refuses a tree or a folder that would be refused.
#
# All is built from the source archive, so that nothing that is not committed gets in, and the same commit gives the
# same bytes in any folder: times come from the commit (SOURCE_DATE_EPOCH), the build folder is taken out of the files.
# TILEWRIGHT_MAINTAINER is the maintainer's address, which a packager gives.
set -u
cd "$(dirname "$0")/.." || exit 1
fail() { echo "package.sh: $*" >&2 && exit 1; }
say() { echo "$*" >&2; }

check='' && [ "${1:-}" != --check ] || { check=1 && shift; }
folder=${1:?usage: tools/package.sh [--check] FOLDER, which is taken from the root of the tree}
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] || \
    fail "this tree is no clone: packages are made of a commit"
if [ -e "$folder" ] && ! [ -e "$folder/SHA256SUMS" ] && [ -n "$(ls -A "$folder" 2>&1)" ]; then
    fail "$folder is there, and no such folder: expected a new name, an empty folder or one that was made before"
fi
[ -z "$check" ] || exit 0
mkdir -p "$folder" && folder=$(cd "$folder" && pwd -P) || exit 1
[ -z "$(git status --porcelain)" ] || say "Not committed changes are left out."

umask 022
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) commit=$(git rev-parse HEAD)
maintainer=${TILEWRIGHT_MAINTAINER:-maintainers@tilewright.invalid}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
work=$folder/.work && rm -rf "$work" && mkdir -p "$work/made" || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
made=$work/made

# run WHAT COMMAND ... - its output only if it fails.
run() {
    what=$1 && shift
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2 && fail "$what: failed"; }
    say "$what: done"
}

# ---- the source archive: what git has, sorted, every time that of the commit ----
version=$(git show HEAD:CMakeLists.txt | sed -n 's/^project(tilewright VERSION \([0-9.]*\) .*/\1/p')
[ -n "$version" ] || fail "CMakeLists.txt has no project(tilewright VERSION x.y.z ...)"
archive() {
    git -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="tilewright-$version/" HEAD \
        >"$work/source.tar" &&
        xz -9 -T1 -c "$work/source.tar" >"$made/tilewright-$version.tar.xz"
}
run "tilewright-$version.tar.xz" archive
tar -xf "$made/tilewright-$version.tar.xz" -C "$work" || exit 1
source=$work/tilewright-$version

python=/usr/bin/python3
[ -x "$python" ] || python=python3
run "tilewright-$version.tar.gz, the sdist" "$python" -B "$source/python/backend.py" --sdist "$made" "$work/source.tar"

# ---- the .deb packages: tools/package/debian is the folder debian/ of their source, but for the version ----
# A commit before its release gets a version that sorts before it and behind those of earlier commits. The functions that
# came with it must be there for what asks for a version from then on.
upstream=$version since=$version
case $(git show HEAD:CHANGELOG.md | grep -m 1 '^## ') in
*unreleased) since=$version~ upstream=$version~$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$(echo "$commit" | cut -c 1-7) ;;
esac
revision=$upstream-0upstream1 # older than the 0.1.0-1 that Debian itself would make, which then replaces it
debian_folder() {
    next=${version%%.*}.$(($(echo "$version" | cut -d . -f 2) + 1)) # the minor version that may break the ABI
    year=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y)
    cp -R "$source/tools/package/debian" "$source/debian" || return 1
    for file in control copyright libtilewright0.symbols; do
        sed "s/@VERSION@/$revision/; s/ $version\$/ $since/
            s/@UPSTREAM@/$version/; s/@NEXT@/$next/; s/@MAINTAINER@/$maintainer/; s/@YEAR@/$year/g" \
            "$source/debian/$file.in" >"$source/debian/$file" &&
            rm "$source/debian/$file.in" || return 1
    done
    if [ -e "$source/python/tilewright" ]; then
        echo "debian/tmp/dist-info/* usr/lib/python3/dist-packages/tilewright-$version.dist-info" \
            >>"$source/debian/python3-tilewright.install" || return 1
    else
        rm "$source/debian/python3-tilewright.install" || return 1
        sed -i '/^Package: python3-tilewright$/,$d' "$source/debian/control" || return 1
    fi
    {
        printf 'tilewright (%s) unstable; urgency=medium\n\n' "$revision"
        printf '  * Commit %.12s. What is new: changelog.gz.\n\n' "$commit"
        printf ' -- Tilewright maintainers <%s>  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
    } >"$source/debian/changelog"
}

debs() {
    debian_folder || return 1
    # No variable of the caller's but these; one thread, so that xz cuts its blocks alike on every machine.
    options="noautodbgsym parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}"
    (cd "$source" && env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" LC_ALL=C.UTF-8 TZ=UTC \
        DPKG_DEB_THREADS_MAX=1 SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" DEB_BUILD_OPTIONS="$options" \
        dpkg-buildpackage -b -us -uc) &&
        mv "$work"/*.deb "$made/"
}
if command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null && dpkg-query -s python3-dev >/dev/null 2>&1; then
    run "the .deb packages" debs
else
    say "The .deb packages are left out: they need dpkg-buildpackage, debhelper and python3-dev."
fi

# ---- the wheel ----
if [ -e "$source/tools/wheel.sh" ]; then
    run "the wheel" "$source/tools/wheel.sh" "$made"
else
    say "The wheel is left out: there is no tools/wheel.sh."
fi

# ---- what is in all that ----
run "tilewright-$version.spdx.json" "$python" -B "$source/tools/package/sbom.py" "$version" "$commit" "$made" \
    "$made/tilewright-$version.spdx.json"

# ---- into the folder, in place of what was made there before ----
if [ -e "$folder/SHA256SUMS" ]; then
    sed 's/^[0-9a-f]*  //' "$folder/SHA256SUMS" | while read -r old; do
        case $old in */*) ;; *) rm -f "$folder/$old" ;; esac
    done
fi
(cd "$made" && sha256sum -- * >"$work/SHA256SUMS") || exit 1
mv "$made"/* "$work/SHA256SUMS" "$folder/" || exit 1
cat "$folder/SHA256SUMS"
