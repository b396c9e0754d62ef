#!/bin/sh
# lint.sh - ./dev lint: what a machine can say about the code without running it. One line per check, findings above it.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${1:-2} offline=${2:-} # --no-install: nothing is fetched
bad=0

check() { # WHAT COMMAND ...
    what=$1 && shift
    output=$("$@" 2>&1)
    case $? in
    0) echo "ok    $what" ;;
    77) echo "skip  $what: $output" ;;
    *)
        bad=$((bad + 1))
        printf '%s\n' "$output" | grep -v '^\[ *[0-9]*[%/]'
        echo "FAIL  $what"
        ;;
    esac
}

# The library neither prints nor ends the process, and reads the environment only where tw_open() does. The BLAS library
# prints, and reads one variable of its own.
no_calls() {
    ! grep -nE '\b(printf|fprintf|vprintf|vfprintf|dprintf|puts|fputs|putchar|putc|perror|exit|_exit|_Exit|abort|assert|raise|setenv)\(' \
        -r src kernels --include='*.c' --include='*.h' &&
        ! grep -nE "\b(secure_)?getenv\(" -r src kernels include | grep -vE "^src/(engines/[a-z]+/(engine|dl)|jit_cache|context|tuned_file)\.c:" &&
        ! grep -nE '\b(exit|_exit|_Exit|abort|assert|raise|setenv|(secure_)?getenv)\(' -r blas | grep -v 'getenv("TILEWRIGHT_[A-Z_]*")' &&
        ! grep -nE '\b(printf|fprintf|puts|fputs|perror|exit|_exit|abort|assert|raise|(secure_)?getenv)\(' -r mpi &&
        ! grep -nE '\b(exit|_exit|_Exit|abort|assert|raise|setenv|(secure_)?getenv)\(' -r pblas | grep -v 'getenv("TILEWRIGHT_[A-Z_]*")'
}

no_fast_math() {
    ! grep -noE -e '-(ffast-math|Ofast|funsafe-math-optimizations|ffp-contract=fast|fassociative-math|ffinite-math-only)' \
        build/lint-gcc/compile_commands.json | sort | uniq -c | grep . &&
        ! grep -nE '^ *#pragma.*(fast-math|FP_CONTRACT +ON)|__attribute__ *\(\( *optimize' -r src kernels lab io program course multiply ranks tune cli blas mpi pblas
}

# build FOLDER COMPILER ARGUMENT ...
build() {
    folder=$1 compiler=$2 && shift 2
    CC=$compiler cmake -S . -B "$folder" -DTILEWRIGHT_WERROR=ON "$@" &&
        cmake --build "$folder" -j "$jobs"
}

# The shared libraries export what their headers declare, each name under its node, those of BLAS under none, and nothing else.
# The .deb package's list of symbols has the names of BLAS.
symbols() {
    [ -e build/lint-gcc/libtilewright.so ] || { echo 'there is no library to look at' && return 1; }
    nm -D --defined-only --with-symbol-versions build/lint-gcc/libtilewright.so |
        awk '$2 != "A" { print $3 }' | sort >build/lint-gcc/exported
    {
        sed -n 's/^TW_API.*[ *]\(tw_[a-z0-9_]*\)(.*/\1@@TILEWRIGHT_0.1/p' include/tilewright.h |
            sed "s/^\\(tw_gemm_blocks@@TILEWRIGHT\\)_.*/\\1_0.2/; s/^\\(tw_threads_[a-z]*@@TILEWRIGHT\\)_.*/\\1_0.2/; s/^\\(tw_cancel@@TILEWRIGHT\\)_.*/\\1_0.2/; s/^\\(tw_epilogue_[a-z]*@@TILEWRIGHT\\)_.*/\\1_0.2/; s/^\\(tw_b_[a-z]*@@TILEWRIGHT\\)_.*/\\1_0.2/"
        sed -n 's/^TW_API.*[ *]\(tw_lab_[a-z0-9_]*\)(.*/\1@@TILEWRIGHT_LAB/p' include/tilewright_lab.h
    } | sort >build/lint-gcc/declared
    diff build/lint-gcc/declared build/lint-gcc/exported || return 1
    for mpi in openmpi mpich; do
        [ -e build/lint-gcc/libtilewright_$mpi.so ] || continue
        {
            sed -n 's/^TW_API.*[ *]\(tw_mpi_[a-z0-9_]*\)(.*/\1@@TILEWRIGHT_MPI_0.2/p' include/tilewright_mpi.h
            echo tilewright_mpi_plugin@@TILEWRIGHT_MPI_PLUGIN
        } | sort >build/lint-gcc/declared
        nm -D --defined-only --with-symbol-versions build/lint-gcc/libtilewright_$mpi.so |
            awk '$2 != "A" { print $3 }' | sort | diff build/lint-gcc/declared - || return 1
        sed -n 's/^void \([a-z0-9_]*\)(.*/\1/p' include/tilewright_pblas.h | sort >build/lint-gcc/declared
        nm -D --defined-only build/lint-gcc/libtilewright_pblas_$mpi.so |
            awk '{ print $3 }' | sort | diff build/lint-gcc/declared - || return 1
    done
    # and the spellings of blas/spellings.h; OpenBLAS's own names have one
    {
        sed -n 's/^[a-z]* \([a-z0-9_]*\)(.*/\1/p' include/tilewright_blas.h | sed '/^openblas/!{p; s/^/scipy_/}'
        sed -n 's/^void \([a-z0-9_]*\)(.*/\1/p' include/tilewright_blas64.h |
            sed 'p; s/.*/scipy_&/p; s/^scipy_//; /^cblas/!s/_$//; /^cblas/s/64_$/_64/'
    } | sort >build/lint-gcc/declared
    nm -D --defined-only --with-symbol-versions build/lint-gcc/libtilewright_blas.so | awk '{ print $3 }' | sort | diff build/lint-gcc/declared - &&
        sed -n 's/^ \([a-z0-9_]*\)@Base .*/\1/p' tools/package/debian/libtilewright0.symbols.in | sort | diff build/lint-gcc/declared -
}

static_checks() {
    cppcheck -q --project=build/lint-clang/compile_commands.json --enable=warning,performance,portability --inline-suppr \
        --error-exitcode=1 -j "$jobs" --suppress=missingIncludeSystem -itests \
        --suppressions-list=tools/cppcheck.suppress
}

# C, OpenCL C and CUDA C. Each major version of clang-format lays out some lines in its own way: 14 is Debian 12's.
sources() { find blas cli course mpi examples exercises fuzz include io kernels lab multiply pblas program python ranks src tests tools tune \( -name '*.[ch]' -o -name '*.cl*' -o -name '*.cu*' \) -type f | sort; }

formatted() {
    clang-format --version | grep -q ' version 14\.' || { clang-format --version && echo 'expected version 14' && return 1; }
    sources | xargs clang-format --dry-run -Werror
}

columns() { ! sources | LC_ALL=C.UTF-8 xargs grep -nE '.{121}'; }

# Names that became the field's: tools/retired.names, decision 0012. Records, decisions and the change log are history.
retired() {
    sed '/^#/d; s/ .*//' tools/retired.names |
        git grep -nwF -f - -- . ':!results' ':!data' ':!docs/decisions' ':!CHANGELOG.md' ':!tools/retired.names'
    [ $? -eq 1 ]
}

fresh_docs() { tools/api_doc.sh --check && TILEWRIGHT=build/lint-gcc/tilewright tools/ladder_doc.sh --check; }

# pypi TOOL ARGUMENT ... - a linter of PyPI, in the version of tools/pins. charset-normalizer: where there is no libmagic for reuse.
fetched() { tools/pypi.sh build/linters --quiet reuse charset-normalizer check-jsonschema zizmor; }
pypi() {
    tool=build/linters/bin/$1 && shift
    [ -z "$offline" ] || [ -x "$tool" ] || { echo "$tool is not here, and nothing is to be fetched" && return 77; }
    "$tool" "$@"
}

scripts() { shellcheck -x -S warning dev .ci/run tests/*.sh tests/support/*.sh tools/*.sh; }

check 'include rule' tools/check_includes.sh
check 'clang-format' formatted
check 'no line over 120 columns' columns
check 'no retired name' retired
check 'pages and comments name what there is' tools/check_docs.py
check 'what is fetched is pinned' tools/pypi.sh --check
[ -n "$offline" ] || check 'linters of PyPI' fetched
check 'each file has a licence (REUSE)' pypi reuse lint --lines
check "workflows are as GitHub's schema has them" pypi check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check 'workflows leave nobody a way in (zizmor)' pypi zizmor --offline --quiet .github/workflows
check 'the library does not print, end the process or read the environment' no_calls
check 'gcc -Wall -Wextra -Wpedantic -Wshadow -Wconversion' build build/lint-gcc gcc -DTILEWRIGHT_TESTS=OFF \
    -DCMAKE_C_FLAGS="-Wconversion -g -ffile-prefix-map=$PWD=."
check 'no files call each other in a circle' tools/check_circles.py build/lint-gcc
check 'one version' tools/version.sh --check build/lint-gcc/tilewright
check 'the ABI of the last release' tools/abi.py compare build/lint-gcc
check 'generated docs are fresh' fresh_docs
check 'clang -Wall -Wextra -Wpedantic -Wshadow, tests too' build build/lint-clang clang
check 'no fast-math' no_fast_math
check 'exported symbols' symbols
check 'types of the Python package' tools/types.sh ${offline:+"$offline"} build/lint-gcc
check 'cppcheck' static_checks
check 'shellcheck' scripts

[ "$bad" -eq 0 ] || { echo "$bad checks failed" && exit 1; }
