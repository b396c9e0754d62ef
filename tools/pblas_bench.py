#!/usr/bin/python3 -B
"""pblas_bench.py - pdgemm of ScaLAPACK, of libtilewright_pblas, and tw_mpi_gemm, f64 n x n x n, in turns under mpirun.

    tools/pblas_bench.py [--build FOLDER] [--mpi openmpi|mpich] [--sizes N,...] [--blocks NB,...] [--grids PxQ,...]
                         [--blas FILE,...] [--cosma FOLDER] [--turns T] [--rounds R]

ScaLAPACK computes above each BLAS of --blas, which is preloaded: by default the build's libtilewright_blas.so, so that the same
kernels run below all, and OpenBLAS, where the loader finds libopenblas.so.0. Each process has one thread. A round is a job of
T turns for each BLAS, block and grid; elements of C are checked in each turn. Prints medians in GFLOP/s of all turns, their
quartiles, and the median of the quotients of ScaLAPACK's time by its own in the same turn: above 1 it is faster. For Debian's
OpenBLAS set OPENBLAS_CORETYPE, which it may detect wrongly (SkylakeX: AVX-512). Let nothing else run beside it.

--cosma FOLDER also times COSMA's pdgemm, and cosma::multiply() in COSMA's own layout, above the same BLAS, with one thread.
FOLDER is where COSMA 2.8 and COSTA are installed for the same MPI (cmake -DBUILD_SHARED_LIBS=ON -DCOSMA_BLAS=OPENBLAS
-DCOSMA_SCALAPACK=CUSTOM). COSMA reads COSMA_OVERLAP_COMM_AND_COMP and the like.
"""
import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES = ["scalapack", "pblas", "tw_mpi_gemm"]
COSMA = ["cosma_pdgemm", "cosma_multiply"]


def default_blas(build):
    found = [os.path.join(build, "libtilewright_blas.so")]
    try:
        ctypes.CDLL("libopenblas.so.0")
        found.append("libopenblas.so.0")
    except OSError:
        print("OpenBLAS is not here: libopenblas.so.0 (Debian: libopenblas0-pthread)")
    return found


def compiled(mpi, folder):
    program = os.path.join(folder, "pblas_bench")
    wrapper = f"mpicc.{mpi}"
    subprocess.run([wrapper, "-std=c11", "-O2", "-I", f"{ROOT}/include", f"{ROOT}/tools/pblas_bench.c", "-o", program, "-ldl", "-lm"], check=True)
    return program


def cosma(mpi, folder, prefix):
    """COSMA's library for pblas_bench.c."""
    library = os.path.join(folder, "cosma.so")
    words = ["-std=c++17", "-O2", "-shared", "-fPIC", "-I", f"{prefix}/include", f"{ROOT}/tools/peers/cosma.cc", "-o", library, "-L", f"{prefix}/lib"]
    libraries = [f"-Wl,-rpath,{prefix}/lib", "-Wl,--no-as-needed", "-lcosma_prefixed_pxgemm", "-lcosma", "-lcosta"]
    subprocess.run([f"mpicxx.{mpi}", *words, *libraries], check=True)
    return library


def turns_of(job, what, names):
    """Seconds of each turn by name; a wrong element of C ends all."""
    assert job.returncode == 0, f"{what}: exit {job.returncode}: {job.stdout}{job.stderr}"
    assert "cannot be preloaded" not in job.stderr, f"{what}: {job.stderr}"
    found = {name: [] for name in names}
    for line in job.stdout.split("turns\n", 1)[1].splitlines():
        name, seconds, error = line.split()
        assert float(error) <= 1, f"{what}: {name} is wrong: an error of {error} bounds"
        found[name].append(float(seconds))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--mpi", default="openmpi", choices=("openmpi", "mpich"))
    parser.add_argument("--sizes", default="2048,4096")
    parser.add_argument("--blocks", default="64,128")
    parser.add_argument("--grids", default="1x2")
    parser.add_argument("--blas")
    parser.add_argument("--cosma", metavar="FOLDER")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    build = os.path.abspath(asked.build)
    libraries = [f"libscalapack-{asked.mpi}.so.2.2", f"{build}/libtilewright_pblas_{asked.mpi}.so", f"{build}/libtilewright_{asked.mpi}.so"]
    below = asked.blas.split(",") if asked.blas else default_blas(build)
    for blas in below:
        if "/" in blas and not os.path.exists(blas):
            sys.exit(f"pblas_bench.py: --blas {blas}: no such file")
    if asked.cosma and not os.path.exists(f"{asked.cosma}/lib/libcosma_prefixed_pxgemm.so"):
        sys.exit(f"pblas_bench.py: --cosma {asked.cosma}: there is no lib/libcosma_prefixed_pxgemm.so")
    if asked.turns * asked.rounds < 2:
        sys.exit("pblas_bench.py: one turn has no quartiles: expected more by --turns or --rounds")
    environment = {**os.environ, "TILEWRIGHT_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        program, names = compiled(asked.mpi, folder), NAMES
        if asked.cosma:
            names, libraries = NAMES + COSMA, libraries + [cosma(asked.mpi, folder, os.path.abspath(asked.cosma))]
        print(f"{'n':>5} {'block':>5} {'grid':>5} {'BLAS below':24} {'':14} {'GFLOP/s':>8} {'quartiles':>15} {'beside ScaLAPACK':>17}")
        for n in map(int, asked.sizes.split(",")):
            seconds = {}
            cases = [(block, grid, blas) for block in asked.blocks.split(",") for grid in asked.grids.split(",") for blas in below]
            for _ in range(asked.rounds):
                for case in cases:
                    block, (rows, cols) = case[0], case[1].split("x")
                    words = [f"mpirun.{asked.mpi}", "-n", str(int(rows) * int(cols)), "env", f"LD_PRELOAD={case[2]}", program, str(n), block, rows, cols, str(asked.turns), *libraries]
                    job = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
                    for name, times in turns_of(job, case, names).items():
                        seconds.setdefault((case, name), []).extend(times)
            for case in cases:
                for name in names:
                    rates = [2e-9 * n ** 3 / s for s in seconds[case, name]]
                    low, middle, high = statistics.quantiles(rates, n=4, method="inclusive")
                    quotient = statistics.median(x / y for x, y in zip(seconds[case, "scalapack"], seconds[case, name]))
                    print(f"{n:5} {case[0]:>5} {case[1]:>5} {os.path.basename(case[2]):24} {name:14} {middle:8.1f} {low:7.1f} {high:7.1f} {quotient:17.2f}")


if __name__ == "__main__":
    main()
