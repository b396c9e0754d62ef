#!/bin/sh
# test_install.sh - the installed tree: staged with DESTDIR, moved elsewhere, then found by pkg-config and by CMake.
# Prints TAP; TILEWRIGHT_BUILD is the build folder. Built with sanitizers there is nothing to install: all is skipped.
set -u

cases='staged_files pages_and_texts static_names header_stands_alone old_program readme_examples examples_by_make examples_by_cmake example_in_python lent_by_openmp lent_by_tbb pkg_config_shared pkg_config_static pkg_config_blas cmake_package below_another_project program_runs_from_anywhere kernels_built_ahead'
in_order=1
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/support/tap.sh"

compiler=$(cached CMAKE_C_COMPILER) libdir=$(cached CMAKE_INSTALL_LIBDIR)
tree=$work/moved/opt

# DESTDIR stages; then the tree is moved, as a packager or a user of a tarball does.
staged_files() {
    DESTDIR=$work/stage cmake --install "$build" --prefix /usr/local || return 1
    mkdir -p "$work/moved" && mv "$work/stage/usr/local" "$tree" || return 1
    [ -z "$(find "$work/stage" -type f)" ] || { echo "files outside the prefix" && return 1; }
    for file in include/tilewright.h include/tilewright_lab.h include/tilewright_blas.h include/tilewright_blas64.h "$libdir/libtilewright.so" "$libdir/libtilewright.so.0" \
        "$libdir/libtilewright.a" "$libdir/pkgconfig/tilewright.pc" "$libdir/libtilewright_blas.so.0" "$libdir/pkgconfig/tilewright_blas.pc" \
        "$libdir/cmake/tilewright/tilewright-config.cmake"; do
        [ -e "$tree/$file" ] || { echo "$file is missing" && return 1; }
    done
    [ -z "$(cached TILEWRIGHT_BLAS_BELOW)" ] || [ "$(ls "$tree/$libdir/tilewright")" = libblas.so.3 ] || { echo 'libblas.so.3 is not in its folder, alone' && return 1; }
    ! grep -rIl -e "$work" -e "$build" "$tree" || { echo "these files name a folder of the build" && return 1; }
}

# What a distribution's package has beside programs: a man page, a completion that bash finds by its name, the licence, the documents.
pages_and_texts() {
    [ -x "$tree/bin/tilewright" ] || skip 'the program was not built' || return 1
    "$tree/bin/tilewright" help --man | cmp - "$tree/share/man/man1/tilewright.1" || return 1
    "$tree/bin/tilewright" help --completion | cmp - "$tree/share/bash-completion/completions/tilewright" || return 1
    for file in LICENSE README.md CHANGELOG.md SECURITY.md docs examples; do
        diff -r "$root/$file" "$tree/share/doc/tilewright/$file" || return 1
    done
}

# A program may define any name but those that begin with tw_.
static_names() {
    need nm || return 1
    nm -g --defined-only "$tree/$libdir/libtilewright.a" >"$work/names" || return 1
    grep -q ' T tw_gemm$' "$work/names" || { echo "tw_gemm is not in libtilewright.a" && return 1; }
    ! awk 'NF == 3 && $3 !~ /^tw_/' "$work/names" | grep .
}

header_stands_alone() {
    for header in tilewright.h tilewright_lab.h tilewright_blas.h tilewright_blas64.h; do
        echo "#include <$header>" >"$work/header.c"
        "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$tree/include" "$work/header.c" || return 1
        command -v c++ >/dev/null || continue
        c++ -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$tree/include" "$work/header.c" || return 1
    done
}

# A program built with an old header runs on this library.
old_program() {
    "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$root/tests/abi" "$root/tests/abi/program.c" -L"$tree/$libdir" -ltilewright -o "$work/old_program" || return 1
    LD_LIBRARY_PATH=$tree/$libdir "$work/old_program"
}

# Each C example of README and GUIDE, by itself; README's, a program, prints what it says.
readme_examples() {
    awk -v folder="$work" '/^```c$/ { inside = 1; number++; next } /^```/ { inside = 0 } inside { print > (folder "/page" number ".c") }' "$root/README.md" "$root/docs/GUIDE.md"
    [ "$(grep -l 'int main' "$work"/page*.c | wc -l)" -eq 1 ] || { echo "README.md has lost its program in C" && return 1; }
    for example in "$work"/page*.c; do
        command=$compiler
        if grep -q 'tilewright_mpi\.h' "$example"; then # by an MPI's own compiler, where the build has found one
            [ -e "$tree/include/tilewright_mpi.h" ] || continue
            command=$(cached TILEWRIGHT_MPICC_openmpi) && [ -n "$command" ] || command=$(cached TILEWRIGHT_MPICC_mpich)
        fi
        set -- "$command" -std=c99 -D_POSIX_C_SOURCE=200112L -Wall -Wextra -Wpedantic -Werror -I"$tree/include" "$example"
        ! grep -q '#pragma omp' "$example" || set -- "$@" -Wno-unknown-pragmas
        grep -q 'int main' "$example" || { "$@" -fsyntax-only || return 1 && continue; }
        "$@" -L"$tree/$libdir" -ltilewright -o "$work/example" || return 1
        LD_LIBRARY_PATH=$tree/$libdir "$work/example" >"$work/said" || return 1
        printf '4 5\n10 11\n' | diff - "$work/said" || { echo "printed by $example" && return 1; }
    done
}

# Each program of examples/ that lies in a folder prints what its first comment says. DRIVER is the folder of a libcuda.
examples_print() { # FOLDER [DRIVER]
    for example in "$root"/examples/*.c "$root"/examples/*.cpp "$root"/examples/*.f90; do
        name=$(basename "$example") && name=${name%.c} name=${name%.f90} && name=$(echo "$name" | sed 's/\.cpp$/_cpp/')
        [ "$name" != stream ] || [ -n "${2:-}" ] || { [ -e "$1/stream" ] && [ -e /dev/nvidiactl ]; } ||
            { note 'stream.c is not run here: no toolkit or no device' && continue; }
        [ "$name" != queue ] || [ -e "$1/queue" ] || { note 'queue.c is not built: no headers, or no OpenCL driver' && continue; }
        [ "$name" != blas ] || command -v gfortran >/dev/null || { note 'blas.f90 is not built: there is no gfortran' && continue; }
        awk '/Prints$/ { inside = 1; next } inside && sub(/^[ *!]*    /, "") { ended = /\*\/$/; sub(/ *\*\/$/, ""); print; if (!ended) next } inside { exit }' "$example" >"$work/promised"
        [ -s "$work/promised" ] || { echo "$example does not say what it prints" && return 1; }
        LD_LIBRARY_PATH=$tree/$libdir${2:+:$2} "$1/$name" | diff "$work/promised" - || { echo "printed by $name" && return 1; }
    done
}

examples_by_make() {
    need pkg-config && need make && need c++ || return 1
    cp -r "$root/examples" "$work/examples" && programs='all stream'
    command -v gfortran >/dev/null || programs='product batch epilogue stream product_cpp level3'
    ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 && programs="$programs queue"
    # shellcheck disable=SC2086 # words on purpose
    PKG_CONFIG_PATH=$tree/$libdir/pkgconfig make -C "$work/examples" CC="$compiler" CFLAGS='-Wall -Wextra -Wpedantic -Werror' CXXFLAGS='-Wall -Wextra -Werror' CUDART="-D_POSIX_C_SOURCE=200112L -I$root/tests/consumer" OPENCL="-I$root/tests/consumer -l:libOpenCL.so.1" $programs || return 1
    for made in "$work/examples"/*; do # in a clone git ignores what make leaves
        made=examples/${made##*/}
        [ -e "$root/$made" ] || ! git -C "$root" rev-parse >/dev/null 2>&1 || git -C "$root" check-ignore -q "$made" || { echo "git sees $made" && return 1; }
    done
    (
        export TILEWRIGHT_NVRTC="$build/tests/fakes/nvrtc/libnvrtc.so.13" FAKE_CUDA='product=1 sm=75' TILEWRIGHT_CACHE=off
        examples_print "$work/examples" "$build/tests/fakes/cuda"
    )
}

examples_by_cmake() {
    need c++ || return 1
    cmake -S "$root/examples" -B "$work/built" -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_C_COMPILER="$compiler" && cmake --build "$work/built" && examples_print "$work/built"
}

example_in_python() {
    python=/usr/bin/python3
    "$python" -c 'import numpy' 2>/dev/null || skip "Debian's NumPy is not here" || return 1
    sed -n '/^Prints$/,/^"""/s/^    //p' "$root/examples/product.py" >"$work/promised"
    [ -s "$work/promised" ] || { echo 'product.py does not say what it prints' && return 1; }
    PYTHONPATH=$root/python TILEWRIGHT_LIBRARY=$tree/$libdir/libtilewright.so.0 "$python" -B "$root/examples/product.py" | diff "$work/promised" -
}

# lent KIND COMPILER FLAG ... - GUIDE's example of that kind, which lends three threads; prints how many the program has then.
lent() {
    awk -v kind="$1" '/^```/ { inside = $0 == "```" kind; text = ""; mine = 0; next } inside { text = text $0 "\n" } /parallel_for/ { mine = inside } inside && mine { found = text } END { printf "%s", found }' "$root/docs/GUIDE.md" >"$work/lent.example" || return 1
    shift && compile=$1 && shift
    "$compile" -D_DEFAULT_SOURCE -Wall -Wextra -Werror -I"$tree/include" "-DEXAMPLE=\"$work/lent.example\"" "$root/tests/consumer/lent.c" "$@" -L"$tree/$libdir" -ltilewright -o "$work/lent" || return 1
    OMP_NUM_THREADS=3 LD_LIBRARY_PATH=$tree/$libdir "$work/lent"
}

# The library makes no thread beside OpenMP's three.
lent_by_openmp() {
    echo 'int main(void) { return 0; }' >"$work/openmp.c"
    "$compiler" -fopenmp "$work/openmp.c" -o "$work/openmp" 2>/dev/null || skip "$compiler has no OpenMP" || return 1
    [ "$(lent c "$compiler" -std=c11 -fopenmp)" = 3 ]
}

lent_by_tbb() {
    need c++ || return 1
    [ -n "$tap_full" ] || skip 'oneTBB takes long to compile: --full' || return 1
    echo '#include <tbb/parallel_for.h>' >"$work/tbb.cpp"
    c++ -std=c++17 -fsyntax-only "$work/tbb.cpp" 2>/dev/null || skip 'oneTBB is not installed (libtbb-dev)' || return 1
    lent cpp c++ -std=c++17 -ltbb # which takes a .c for C++
}

flags() { PKG_CONFIG_PATH=$tree/$libdir/pkgconfig pkg-config "$@"; }

pkg_config_shared() {
    need pkg-config || return 1
    # shellcheck disable=SC2046 # words on purpose
    "$compiler" -std=c99 $(flags --cflags tilewright) "$root/tests/consumer/consumer.c" -o "$work/shared" $(flags --libs tilewright) || return 1
    LD_LIBRARY_PATH=$tree/$libdir "$work/shared"
}

pkg_config_static() {
    need pkg-config || return 1
    # shellcheck disable=SC2046
    "$compiler" -std=c99 $(flags --cflags tilewright) "$root/tests/consumer/consumer.c" -o "$work/static" \
        "$tree/$libdir/libtilewright.a" $(flags --libs --static tilewright | tr ' ' '\n' | grep -v -e -ltilewright -e -L) || return 1
    "$work/static"
}

# It needs no other library of the tree.
pkg_config_blas() {
    need pkg-config || return 1
    # shellcheck disable=SC2046
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L $(flags --cflags tilewright_blas) "$root/tests/blas/gemm.c" -o "$work/blas" \
        $(flags --libs tilewright_blas) -lm || return 1
    mkdir "$work/alone" && ln -s "$tree/$libdir/libtilewright_blas.so.0" "$work/alone/" || return 1
    LD_LIBRARY_PATH=$work/alone "$work/blas" --only wrong && LD_PRELOAD=$tree/$libdir/libtilewright_blas.so.0 "$work/blas" --only 8x8x8
}

cmake_package() {
    cmake -S "$root/tests/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_C_COMPILER="$compiler" &&
        cmake --build "$work/consumer" && "$work/consumer/with_shared" && "$work/consumer/with_static" || return 1
    ! cmake -DMORE='blas;nonsense' "$work/consumer" 2>"$work/refused" && grep -q 'it has no component nonsense' "$work/refused"
}

# add_subdirectory() has the names of the installed package, and brings no tests.
below_another_project() {
    need cmake || return 1
    [ -n "$tap_full" ] || skip 'configures a tree anew: --full' || return 1
    mkdir -p "$work/above" && cp "$root/tests/consumer/consumer.c" "$work/above" || return 1
    cat >"$work/above/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(above C)
add_subdirectory($root below)
add_executable(above consumer.c)
target_link_libraries(above PRIVATE tilewright::tilewright tilewright::static)
END
    cmake -S "$work/above" -B "$work/above/out" -DCMAKE_C_COMPILER="$compiler" && [ ! -e "$work/above/out/below/tests" ]
}

program_runs_from_anywhere() {
    [ -x "$tree/bin/tilewright" ] || skip 'the program was not built' || return 1
    (cd / && env -i "$tree/bin/tilewright" version)
}

# What ./dev build --gpu-cache made is installed with the rest, and found there by the program and by what lies among the libraries.
kernels_built_ahead() {
    [ -x "$tree/bin/tilewright" ] || skip 'the program was not built' || return 1
    TILEWRIGHT_NVRTC=$build/tests/fakes/nvrtc/libnvrtc.so.13 "$build/tilewright_ahead" "$work/tilewright-kernels" >"$work/ahead" 2>&1 || { cat "$work/ahead" && return 1; }
    ! grep -L 'FAKE [NT][NT]' "$work/tilewright-kernels"/*.bin | grep . || { echo "not compiled by the fake compiler" && return 1; } # the real one takes minutes
    sed "s|$build/tilewright-kernels|$work/tilewright-kernels|" "$build/cmake_install.cmake" >"$work/install.cmake" # not into the build itself
    DESTDIR=$work/stage cmake -DCMAKE_INSTALL_PREFIX=/opt/tw -P "$work/install.cmake" >"$work/installed" || return 1
    mkdir -p "$work/moved" && mv "$work/stage/opt/tw" "$work/moved/tw" && cp "$work/moved/tw/bin/tilewright" "$work/moved/tw/$libdir/program" || return 1
    folder=$work/moved/tw/$libdir/tilewright-kernels
    [ "$(find "$folder" -name '*.bin' ! -perm 644)" = '' ] && [ "$(find "$folder" -name '*.bin' | wc -l)" -gt 100 ] || { ls -l "$folder" && return 1; }
    for program in "$work/moved/tw/bin/tilewright" "$work/moved/tw/$libdir/program"; do
        env -i LD_LIBRARY_PATH="$build/tests/fakes/cuda" OCL_ICD_VENDORS=/nowhere TILEWRIGHT_NVRTC=/nowhere "$program" devices >"$work/devices" 2>&1
        grep -q "kernels built ahead: $folder" "$work/devices" || { cat "$work/devices" && return 1; }
    done
    head -c 10580000 /dev/zero >"$work/A.raw" # 380 ms by data/costs.def, 371 on a GPU with its kernel, 471 without
    env -i LD_LIBRARY_PATH="$build/tests/fakes/cuda" TILEWRIGHT_NVRTC=/nowhere TILEWRIGHT_CACHE=off TILEWRIGHT_CPU=base "$program" multiply "$work/A.raw" "$work/A.raw" --dtype f64 --shape 1150x1150x1150 --threads 1 -v -o "$work/C.raw" >"$work/devices" 2>&1
    grep -q '^engine  *cuda, estimated 371 ms; cpu 380 ms$' "$work/devices" || { cat "$work/devices" && return 1; }
}

run_cases "$([ -z "$(cached TILEWRIGHT_SANITIZE)" ] || echo 'a build with sanitizers is not installed')"
