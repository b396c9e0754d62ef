#!/bin/sh
# types.sh - ./dev lint: the types of the Python package, by mypy and pyright, and that the oldest Python that it declares has
# all that it uses, by vermin (checkers have forgotten what 3.9 lacks). tests/typed_uses.py has uses whose types are known;
# stubtest compares __init__.pyi with the package as it runs. All is fetched once in the versions of tools/pins (110 MB, into build/types). PyPI's `pyright` would fetch the checker from npm,
# and Node.js too; basedpyright is the same checker with both inside.
#
#   tools/types.sh [--no-install] BUILD        BUILD has libtilewright.so.0
#
# --no-install takes what is there; exit status 77 where that is nothing
set -eu
cd "$(dirname "$0")/.."
mode='' && [ "${1:-}" != --no-install ] || { mode=$1 && shift; }
build=$(cd "${1:?usage: tools/types.sh [--no-install] BUILD}" && pwd) venv=$PWD/build/types status=0
export MYPY_CACHE_DIR="$venv/cache"
bad() { echo "types.sh: $*" && status=1; }

[ -z "$mode" ] || [ -x "$venv/bin/basedpyright" ] || { echo 'mypy and pyright are not here, and nothing is to be fetched' && exit 77; }
[ -n "$mode" ] || tools/pypi.sh "$venv" --quiet mypy basedpyright vermin numpy ml_dtypes
oldest=$(sed -n 's/^requires-python = ">=\(.*\)"$/\1/p' pyproject.toml)
grep -q "^pythonVersion = \"$oldest\"\$" pyproject.toml || bad "pyproject.toml declares $oldest, pyright takes another"
! grep -rnE '# *(type|pyright|mypy): *ignore($|[^[]|\[[^]]*\] *$)' python/tilewright || bad 'an error is ignored without its name or a reason'

"$venv/bin/mypy" --config-file pyproject.toml python/tilewright tests/typed_uses.py || bad mypy
"$venv/bin/basedpyright" --project pyproject.toml --pythonpath "$venv/bin/python" || bad pyright
"$venv/bin/vermin" --quiet --no-tips --violations --target="$oldest-" python/tilewright || bad vermin
# Fields of ctypes' structures are made at run time.
structs='Batch|Binding|DLTensor|Device|Lab(Choice|Plan)|Launch|Options|Problem|Watch'
echo "tilewright\._(families|interrupt|library|plans)\.($structs)\.\w+" >"$venv/allowed"
export MYPYPATH=python PYTHONPATH=python TILEWRIGHT_LIBRARY="$build/libtilewright.so.0"
"$venv/bin/python" -B -m mypy.stubtest tilewright --mypy-config-file pyproject.toml --allowlist "$venv/allowed" || bad stubtest
exit $status
