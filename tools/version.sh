#!/bin/sh
# version.sh - the version, which CMakeLists.txt alone decides: prints it. With --check it compares all that repeats it,
# and with --set it writes all that but docs/API.md.
#
#   tools/version.sh [--check [PROGRAM]]      PROGRAM: a built tilewright, which is asked too
#   tools/version.sh --set VERSION DAY        DAY: of its release, or `unreleased`, behind a release
set -u
cd "$(dirname "$0")/.." || exit 1

version=$(sed -n 's/^project(tilewright VERSION \([0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*\) .*/\1/p' CMakeLists.txt)
[ -n "$version" ] || { echo "version.sh: CMakeLists.txt has no project(tilewright VERSION x.y.z ...)" >&2 && exit 1; }
repeated='examples/CMakeLists.txt tests/consumer/CMakeLists.txt docs/GUIDE.md' # in find_package()

if [ "${1:-}" = --set ]; then
    new=$2 day=$3 major=${2%%.*} minor=${2%.*}
    sed -i "s/^\(project(tilewright VERSION\) [0-9.]*/\1 $new/" CMakeLists.txt &&
        sed -i "s/^\(#define TW_VERSION_MAJOR\) .*/\1 $major/; s/^\(#define TW_VERSION_MINOR\) .*/\1 ${minor#*.}/
            s/^\(#define TW_VERSION_PATCH\) .*/\1 ${new##*.}/; s/\(tw_version - .*\"\)[0-9.]*\"/\1$new\"/" include/tilewright.h &&
        sed -i "s/\(find_package(tilewright\) [0-9.]*/\1 $minor/" $repeated &&
        sed -i "s/^\(Version: *\).*/\1$new/" tools/package/tilewright.spec &&
        sed -i "s/^\(__version__ *= *\"\)[^\"]*/\1$new/" python/tilewright/_library.py || exit 1
    if grep -m 1 '^## ' CHANGELOG.md | grep -q 'unreleased$'; then # what came with the version to be comes with this one
        sed -i "s/ $version\$/ $new/" tools/package/debian/libtilewright0.symbols.in &&
            sed -i "0,/^## .*/s//## $new - $day/" CHANGELOG.md
    else
        sed -i "0,/^## .*/s//## $new - $day\n\n&/" CHANGELOG.md
    fi
    exit
fi
[ "${1:-}" = --check ] || { echo "$version" && exit 0; }

wrong=0
same() { # WHERE FOUND EXPECTED
    [ "$2" = "$3" ] && return
    echo "$1: found '$2', expected '$3' (CMakeLists.txt has $version)"
    wrong=1
}
macro() { sed -n "s/^#define TW_VERSION_$1 //p" include/tilewright.h; }
minor=${version%.*} series=${version%%.*}

same 'TW_VERSION_* of include/tilewright.h' "$(macro MAJOR).$(macro MINOR).$(macro PATCH)" "$version"
same 'the comment of tw_version() in include/tilewright.h' \
    "$(sed -n 's/.*tw_version - .*"\([0-9.]*\)".*/\1/p' include/tilewright.h)" "$version"
same 'the first heading of CHANGELOG.md' "$(sed -n 's/^## \([0-9.]*\) .*/\1/p' CHANGELOG.md | head -n 1)" "$version"
# A minor release without new functions has no node.
node=$(sed -n 's/^TILEWRIGHT_\([0-9][0-9.]*\) {/\1/p' src/tilewright.map | sort -V | tail -n 1)
same 'the newest of the version and the nodes of src/tilewright.map' "$(printf '%s\n' "$node" "$minor" | sort -V | tail -n 1)" "$minor"
for file in $repeated; do
    asked=$(sed -n 's/.*find_package(tilewright \([0-9.]*\).*/\1/p' "$file")
    [ -z "$asked" ] || same "find_package() of $file" "$asked" "$minor"
done
same 'tools/package/tilewright.spec' "$(sed -n 's/^Version: *//p' tools/package/tilewright.spec)" "$version"
# Until 1.0 the SONAME counts breaks of the ABI by itself.
soversion=$(sed -n 's/.*VERSION ${PROJECT_VERSION} SOVERSION \([0-9]*\).*/\1/p' CMakeLists.txt | sort -u) # not that of libblas.so.3
[ "$series" -eq 0 ] || same 'SOVERSION' "$soversion" "$series"
same "the library's package in tools/package/debian/control.in" \
    "$(sed -n 's/^Package: libtilewright\([0-9].*\)/\1/p' tools/package/debian/control.in)" "$soversion"
if [ -e python/tilewright/_library.py ]; then
    python=$(sed -n 's/^__version__ *= *"\(.*\)"/\1/p' python/tilewright/_library.py)
    same '__version__ of python/tilewright/_library.py' "$python" "$version"
fi
[ -z "${2:-}" ] || same "$2 version" "$("$2" version | sed -n '1s/^tilewright //p')" "$version"
exit $wrong
