#!/bin/sh
# pypi.sh - installs packages of PyPI into a virtual environment, which it makes if there is none, each in the version of
# tools/pins. A package without a pin is refused.
#
#   tools/pypi.sh [--newest] VENV [PIP-OPTION ...] PACKAGE ...
#   tools/pypi.sh --pin PACKAGE         prints its pinned version
#   tools/pypi.sh --check               each line of the table is a version, and nothing else in the tree asks PyPI
#
# --newest  the newest versions instead: for ./dev lint --newest
# PACKAGE   a name of tools/pins, or a FILE.whl as it lies; what it depends on must be there too
set -eu

pins=$(dirname "$0")/pins
fail() { echo "pypi.sh: $*" >&2 && exit 1; }
pin_of() { sed -n "s/^$1==//p" "$pins" | grep . || fail "tools/pins has no version of $1"; }

if [ "${1:-}" = --check ]; then
    cd "$(dirname "$0")/.."
    ! grep -nvE '^(#.*|[A-Za-z0-9._-]+==[0-9][0-9a-z.]*|)$' tools/pins &&
        ! grep -rnE "pip['\"]?,? +['\"]?(install|download)" --exclude=pypi.sh --exclude=test_packages.sh dev .ci tools tests python examples
    exit
fi
[ "${1:-}" != --pin ] || { pin_of "${2:?--pin needs a package}" && exit; }
newest='' && [ "${1:-}" = --newest ] && newest=1 && shift
venv=${1:?usage: tools/pypi.sh [--newest] VENV [PIP-OPTION ...] PACKAGE ...} && shift
for word; do
    case $word in -* | *.whl) ;; *) pin_of "$word" >/dev/null ;; esac
done
if ! [ -x "$venv/bin/pip" ]; then
    python=/usr/bin/python3
    "$python" -c 'import venv, ensurepip' 2>/dev/null || python=python3 # Debian's may lack them
    "$python" -m venv --clear "$venv"
fi
if [ -n "$newest" ]; then set -- --upgrade "$@"; else set -- --constraint "$pins" "$@"; fi
"$venv/bin/pip" install --disable-pip-version-check --retries 1 "$@"
[ -z "$newest" ] || exit 0
came=$("$venv/bin/pip" freeze --disable-pip-version-check | grep -vxFf "$pins" | grep -v ' @ ') || exit 0
fail "tools/pins has no version of what came along: $came"
