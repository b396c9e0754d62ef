#!/usr/bin/python3 -B
"""test_mpi.py - products over the ranks of Open MPI and MPICH: the library by a program of its own, and `tilewright multiply` under mpirun.

    test_mpi.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Skipped where the build has found no MPI. Hosts are network
namespaces with links of 100 Mbit/s, which needs root, `ip` and `tc`. --full takes every stage of a lost rank, more products, and blocks of
2^31 elements, for which two ranks take 9 GB of memory.
"""
import atexit
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support.hosts import Hosts
from support.matrices import archive, complexes, gz, integers, npy, npy_header, pair, product, read_npy, transpose
from support.program import BUILD, PROGRAM, bad, good, records
from support.ranks import built, mpirun, soonest
from support.tap import Skip, case, main

FULL = "--full" in sys.argv


def multiply(mpi, ranks, *words, **more):
    done = mpirun(mpi, ranks, PROGRAM, "multiply", *words, **more)
    assert done.returncode == 0, f"{mpi}, {ranks} ranks, {words}: exit {done.returncode}: {done.err}"
    assert done.err == "", done.err
    return done


def saved(path):
    return open(path, "rb").read()


def nothing_left(*but):
    """No process of a job in this folder, and no file but these: a process of its own removes what a killed one has begun."""
    here = os.path.realpath(".")
    for _ in range(50):
        left = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/cwd") == here and os.readlink(f"/proc/{process}/exe") == os.path.realpath(PROGRAM):
                    left.append(process)
            except OSError:
                pass
        if not left:
            break
        time.sleep(0.1)  # a process that was killed is still ending
    assert not left, f"processes are left: {left}"
    assert sorted(os.listdir(".")) == sorted(but), os.listdir(".")


def refused(mpi, ranks, code, *words, says, left=(), **more):
    """The sentence, the only one, with which the job ends, by this code and without output."""
    before = sorted(os.listdir("."))
    done = mpirun(mpi, ranks, *(more.pop("command", None) or (PROGRAM, "multiply", *words)), **more)
    sentences = [line for line in done.err.splitlines() if line.startswith("tilewright: ")]
    assert done.returncode == code, f"{words}: exit {done.returncode}, expected {code}: {done.err}"
    assert len(sentences) == 1 and says in sentences[0], f"{words}: {says!r}, alone, is not in {sentences}"
    nothing_left(*before, *left)
    return sentences[0]


# ---- the library ------------------------------------------------------------------------------------------------------

def products(mpi, ranks, cases, seed):
    done = mpirun(mpi, ranks, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "products", cases, seed)
    assert done.returncode == 0 and f"{cases} products, 0 faults" in done.out, f"{mpi}, {ranks} ranks: {done.out}{done.err}"


@case
def the_library_computes_every_type_on_every_grid():
    """MPICH's ranks spin while they wait: with more of them than processors each step takes long."""
    for mpi in built():
        for ranks in (1, 2, 3, 4, 5, 6, 7) if FULL else (1, 2, 3, 4, 6) if mpi == "openmpi" else (3,):
            products(mpi, ranks, (600 if FULL else 40) if mpi == "openmpi" else (60 if FULL else 20), 1)


@case
def the_library_refuses_alike_on_all_ranks():
    for mpi in built():
        for ranks in (1, 3):
            done = mpirun(mpi, ranks, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "refusals")
            assert done.returncode == 0 and "refusals, 0 faults" in done.out, done.out + done.err


@case
def the_library_gives_up_on_a_rank_that_is_absent():
    for mpi in built():
        done = mpirun(mpi, 3, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "absent")
        assert done.returncode == 9 and "absent, 0 faults" in done.out and "rank 1 of 3: " not in done.err, done.out + done.err


@case
def a_block_of_more_than_two_to_the_31_elements():
    if not FULL:
        raise Skip("takes 9 GB of memory and a minute: --full")
    for mpi in built():
        done = mpirun(mpi, 2, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "large", timeout=900)
        assert done.returncode == 0 and "large, 0 faults" in done.out, done.out + done.err


@case
def sums_that_are_exchanged_in_several_rounds():
    """By one MPI, or by both with --full: a round begins above 32 MiB."""
    for mpi in built()[:None if FULL else 1]:
        done = mpirun(mpi, 3, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "rounds")
        assert done.returncode == 0 and "2 rounds, 0 faults" in done.out, done.out + done.err


# ---- the program: the same bytes as of one process ----------------------------------------------------------------------

@case
def every_type_order_op_and_scalar_has_the_bytes_of_one_process():
    draw = random.Random(5)
    mpis = built()

    def reals(rows, cols, seed):
        of = random.Random(seed)
        return [[of.uniform(-1, 1) for _ in range(cols)] for _ in range(rows)]

    types = (("f8", [], reals), ("f4", [], reals), ("f2", [], reals), ("i2", ["--dtype", "i16"], integers), ("c8", [], complexes), ("c16", [], complexes),
             ("f4", ["--dtype", "bf16"], reals), ("i1", ["--dtype", "i8"], integers), ("f2", ["--dtype", "f16", "--dtype-c", "f16"], reals))
    for number, (code, words, numbers) in enumerate(types):
        for variant in range(4) if FULL else (number % 4, (number + 2) % 4):
            m, n, k = (2 + draw.randrange(60) for _ in range(3))
            ranks, mpi = 2 + draw.randrange(4), mpis[(number + variant) % len(mpis)]
            ops = [word for word, bit in (("--transpose-a", variant & 1), ("--transpose-b", variant & 2)) if bit]
            a, b, order = numbers(m, k, 1), numbers(k, n, 2), ">" if variant == 3 else "<"
            if code == "i1" and variant > 1: # C of another type than the sums
                words = ["--dtype", "i8", "--dtype-c", "f32" if variant == 2 else "i8"]
            npy("A.npy", transpose(a) if variant & 1 else a, code, order, fortran=variant in (1, 2))
            npy("B.npy", transpose(b) if variant & 2 else b, code, order, fortran=variant in (0, 1))
            npy("Z.npy", numbers(m, n, 3), code, fortran=variant == 2)
            factors = [[], ["--alpha", "3"], ["--beta", "-2", "--add", "Z.npy"], ["--alpha", "-3", "--beta", "2", "--add", "Z.npy"]][variant]
            grid = f"{1 + draw.randrange(ranks)}x0x1"
            if ranks // int(grid[0]) < 1:
                grid = "0x0x1"
            good("multiply", "A.npy", "B.npy", *words, *ops, *factors, "-o", "one.npy")
            done = multiply(mpi, ranks, "A.npy", "B.npy", *words, *ops, *factors, "-o", "all.npy", "--grid", grid, "--verify")
            assert saved("one.npy") == saved("all.npy"), (mpi, ranks, code, m, n, k, words, ops, factors, grid, done.stdout)


@case
def several_panels_and_divided_segments():
    """k beyond two sums' depth comes in panels, with the bytes of one process; a k that is divided is exact in whole numbers."""
    mpi = built()[0]
    for code, k in (("f8", 9000), ("f4", 17000)):
        draw = random.Random(4)
        npy("A.npy", [[draw.uniform(-1, 1) for _ in range(k)] for _ in range(7)], code), npy("B.npy", [[draw.uniform(-1, 1) for _ in range(5)] for _ in range(k)], code)
        npy("Z.npy", [[draw.uniform(-1, 1) for _ in range(5)] for _ in range(7)], code)
        for factors in ([], ["--alpha", "-3", "--beta", "2", "--add", "Z.npy"]):
            good("multiply", "A.npy", "B.npy", *factors, "-o", "one.npy")
            multiply(mpi, 4, "A.npy", "B.npy", *factors, "-o", "all.npy", "--grid", "2x2x1")
            assert saved("one.npy") == saved("all.npy"), (code, k, factors)
    a, b = pair(7, 5, 300)
    for grid in ("1x1x4", "2x1x2", "1x1x3"):
        done = multiply(mpi, 4, "A.npy", "B.npy", "-o", "all.npy", "--grid", grid)
        assert read_npy("all.npy")[2] == product(a, b), grid
        assert "sums of k's segments added in order" in done.out, done.out


@case
def products_in_stripes_while_blocks_come():
    """Long enough for a product to be cut into stripes; the products of int16 are not exact in f32, so their order shows."""
    draw = random.Random(7)
    for name, rows, cols in (("A.npy", 1000, 3000), ("B.npy", 3000, 800)):
        open(name, "wb").write(npy_header("<i2", (rows, cols)) + draw.randbytes(rows * cols * 2))
    for words in ([], ["--transpose-a", "--transpose-b"]):
        names = ["B.npy", "A.npy"] if words else ["A.npy", "B.npy"]
        good("multiply", *names, *words, "-o", "one.npy")
        for number, (ranks, grid) in enumerate(((2, "1x2x1"), (2, "2x1x1"), (4, "2x2x1"))):
            mpi = built()[number % len(built())]
            multiply(mpi, ranks, *names, *words, "-o", "all.npy", "--grid", grid)
            assert saved("one.npy") == saved("all.npy"), (mpi, words, grid)


@case
def sizes_of_zero_one_and_fewer_than_ranks():
    """The covering set has each size on the grid that divides what it lacks, and every grid."""
    mpi = built()[0]
    grids = ("5x1x1", "1x5x1", "1x1x5", "0x0x0")
    for (m, n, k), few in (((0, 4, 3), (0,)), ((4, 0, 3), (1,)), ((4, 3, 0), (2,)), ((1, 1, 1), (3,)), ((2, 3, 1), (2,)), ((3, 4, 5), (1,))):
        a, b = integers(m, k, 1), integers(k, n, 2)
        npy("A.npy", a, cols=k), npy("B.npy", b, cols=n)
        good("multiply", "A.npy", "B.npy", "-o", "one.npy")
        for grid in grids if FULL else [grids[i] for i in few]:
            multiply(mpi, 5, "A.npy", "B.npy", "-o", "all.npy", "--grid", grid, "--verify")
            assert saved("one.npy") == saved("all.npy"), (m, n, k, grid)


@case
def raw_files_an_output_that_replaces_an_operand_and_a_record():
    for mpi in built():
        pair(90, 80, 70, "f4")
        for name in "AB":
            open(f"{name}.raw", "wb").write(saved(f"{name}.npy")[128:])
        words = ["A.raw", "B.raw", "--shape", "90x80x70", "--dtype", "f32"]
        good("multiply", *words, "-o", "one.raw")
        done = multiply(mpi, 3, *words, "-o", "all.raw", "--grid", "3x1x1", "--json", "r.jsonl", "-v")
        assert saved("one.raw") == saved("all.raw")
        kept, = records(open("r.jsonl").read())
        assert kept["method"] == "tw_mpi_gemm, 3 of 3 ranks as 3 x 1 x 1, once" and kept["gflops"] > 0, kept
        assert kept["kernel"].startswith("cpu_f32_") and kept["plan"], kept
        good("report", "r.jsonl", "-o", "r.html")
        assert re.search(r"^mpi        (Open MPI v|MPICH)", done.out, re.M), done.out
        assert re.search(r"^kernel     cpu_f32_", done.out, re.M), done.out
        assert "3: 3 x 1 x 1 of m x n x k" in done.out, done.out
        archive("ab.npz", "A.npy", "B.npy")
        multiply(mpi, 2, "ab.npz:A", "ab.npz:B", "-o", "all.npy", "--grid", "1x2x1")
        good("multiply", "A.npy", "B.npy", "-o", "one.npy")
        assert saved("one.npy") == saved("all.npy")
        npy("S.npy", integers(90, 80, 5), "f4")
        good("multiply", "A.npy", "B.npy", "--beta", "1", "--add", "S.npy", "-o", "one.npy")
        multiply(mpi, 2, "A.npy", "B.npy", "--beta", "1", "--add", "S.npy", "-o", "S.npy", "--grid", "1x2x1")
        assert saved("one.npy") == saved("S.npy")


@case
def fewer_ranks_where_more_would_be_slower():
    for mpi in built():
        pair(8, 8, 8)
        done = multiply(mpi, 3, "A.npy", "B.npy", "-o", "C.npy")
        assert "ranks      1 of 3, more would be slower: 1 x 1 x 1" in done.out, done.out


@case
def no_rank_holds_more_than_its_share():
    """Of 4 ranks' memory: a quarter of the matrices, the buffers of the plan, and 60 MB; by one MPI, or by both with --full."""
    side, ranks = 3000, 4
    for name in ("A.npy", "B.npy"):
        with open(name, "wb") as file:
            file.write(npy_header("<f8", (side, side)))
            file.truncate(file.tell() + side * side * 8)
    measure = "import os, resource, subprocess, sys\ncode = subprocess.run(sys.argv[1:], close_fds=False).returncode\n" \
              "os.write(1, b'rank takes %d KiB\\n' % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\nsys.exit(code)"
    for mpi in built()[:None if FULL else 1]:
        done = multiply(mpi, ranks, "A.npy", "B.npy", "-o", "C.npy", "--grid", "2x2x1", before=[sys.executable, "-c", measure])
        takes = [int(x) * 1024 for x in re.findall(r"rank takes (\d+) KiB", done.out)]
        whole = 3 * side * side * 8
        buffers = float(re.search(r"buffers of ([\d.]+) MB", done.out).group(1)) * 1e6
        assert len(takes) == ranks and max(takes) <= whole / ranks + buffers + 60e6, (mpi, takes, whole / ranks, buffers)


@case
def a_rank_opens_no_driver_of_opencl():
    """MPICH's hwloc loads OpenCL's drivers, 60 MB a rank with PoCL, unless HWLOC_COMPONENTS says not to. The user's own setting wins."""
    def drivers(mpi, *env):
        for name in glob.glob("loaded.*"):
            os.remove(name)
        multiply(mpi, 2, "A.npy", "B.npy", "-o", "C.npy", before=["env", "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={os.path.abspath('loaded')}", *env])
        return set(re.findall(r"calling init: (\S*/libpocl\.\S+)", "".join(open(name, errors="replace").read() for name in glob.glob("loaded.*"))))

    pair(8, 8, 8)
    if "mpich" not in built() or not drivers("mpich", "HWLOC_COMPONENTS=opencl"):
        raise Skip("needs MPICH, hwloc's plug-in for OpenCL and PoCL")
    for mpi in built():
        assert drivers(mpi) == set(), mpi


# ---- on GPUs, by the fake driver ----------------------------------------------------------------------------------------

FAKES = os.path.join(BUILD, "tests", "fakes")


def libraries(*folders):
    return ":".join(os.path.join(FAKES, folder) for folder in folders)


def gpus(driver, **more):
    """The environment of ranks whose host has GPUs that multiply on the CPU, on streams that only events order, and no NCCL."""
    return {"LD_LIBRARY_PATH": libraries("cuda", "no_nccl"), "TILEWRIGHT_NVRTC": os.path.join(FAKES, "nvrtc", "libnvrtc.so.13"), "TILEWRIGHT_CACHE": "off",
            "FAKE_CUDA": f"product=1 multiprocessors=4 {driver}", **more}


# made before cases run side by side, in processes that end without atexit
meetings = tempfile.mkdtemp(prefix="tilewright-nccl.")
atexit.register(shutil.rmtree, meetings)


def with_nccl(driver, **more):
    """The same where NCCL is too, whose ranks meet in a folder of this script."""
    return gpus(driver, **{"FAKE_NCCL_FOLDER": meetings, "LD_LIBRARY_PATH": libraries("cuda", "nccl"), **more})


def each_rank(words):
    """A command in which R is the rank's number."""
    return ("sh", "-c", f'R=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {words}', PROGRAM)


@case
def the_library_on_gpus():
    mpis = built()
    for number, (ranks, driver, types) in enumerate(((1, "sm=75 order=1", "all"), (2, "sm=75 order=1 gpus=2", "all"), (3, "sm=75 order=7 gpus=2", "all"),
                                                     (4, "sm=80 order=5", "f32"), (4, "sm=90 order=6 gpus=4", "f32"), (6, "sm=75 order=9 gpus=2", "all"))):
        for mpi in mpis if FULL else mpis[(number + 1) % len(mpis):][:1] if ranks < 4 else mpis[:1]:
            cases = 200 if FULL else 20
            done = mpirun(mpi, ranks, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "cuda", cases, number, types, env=gpus(driver))
            assert done.returncode == 0 and f"{cases} cuda, 0 faults" in done.out, f"{mpi}, {ranks} ranks, {driver}: {done.out}{done.err}"


@case
def the_program_on_gpus():
    mpi = built()[0]
    env = gpus("sm=75 order=3 gpus=2")
    pair(90, 80, 70, "f4")
    npy("Z.npy", integers(90, 80, 5), "f4")
    factors = ["--alpha", "-3", "--beta", "2", "--add", "Z.npy"]
    good("multiply", "A.npy", "B.npy", *factors, "-o", "one.npy")
    for ranks, words, says in ((2, ["--grid", "1x2x1"], "a GPU each; "), (4, ["--grid", "2x2x1"], "up to 2 on one GPU; "), (2, ["--grid", "1x1x2"], "a GPU each; "),
                               (2, ["--grid", "2x1x1", "--device", "1"], "up to 2 on one GPU; "), (3, ["--grid", "1x3x1", "--device", "1,0,1"], "up to 2 on one GPU; "),
                               (2, ["--grid", "1x2x1", "--device", "all"], "a GPU each; ")):
        done = multiply(mpi, ranks, "A.npy", "B.npy", *factors, "-o", "all.npy", "--engine", "cuda", "--verify", *words, env=env)
        assert saved("one.npy") == saved("all.npy"), words
        assert says in done.out and ("sums of k's segments" if "1x1x2" in words else "last bits are of this grid and these GPUs") in done.out, done.out
    multiply(mpi, 2, "A.npy", "B.npy", *factors, "-o", "all.npy", "--engine", "cuda", "--grid", "1x2x1", "--json", "r.jsonl", env=env)
    kept, = records(open("r.jsonl").read())
    assert kept["engine"] == "cuda" and kept["threads"] is None and kept["method"] == "tw_mpi_gemm, 2 of 2 ranks as 1 x 2 x 1, 1 on a GPU, panels staged through host memory, once", kept


@case
def which_gpu_a_rank_takes():
    """Device 1 fails at its first product: the ranks that have it are named."""
    mpi = built()[0]
    pair(40, 40, 40, "f4")
    for words, says in (([], "rank 1: cuLaunchKernel failed"), (["--device", "1,0"], "cuLaunchKernel failed"), (["--device", "0,0,1"], "rank 2: cuLaunchKernel failed")):
        refused(mpi, 3, 8, "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--grid", "3x1x1", *words, says=says, env=gpus("sm=75 gpus=2 lost=1"))
    multiply(mpi, 3, "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--grid", "3x1x1", "--device", "0", env=gpus("sm=75 gpus=2 lost=1"))


@case
def pieces_are_copied_once_and_products_depend_on_the_grid_alone():
    """Of rank 1 of 3: pieces of 2048 rows are multiplied one by one, smaller ones together, whatever comes first."""
    mpi = built()[0]
    command = each_rank('FAKE_LOG="log.$R" exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --grid 1x3x1')
    for m, shapes in ((6145, [(2049, 3, 5), (2048, 3, 5), (2048, 3, 5)]), (6143, [(4096, 3, 5), (2047, 3, 5)]), (90, [(90, 3, 5)])):
        pair(m, 9, 5, "f4")
        for name in filter(lambda name: name.startswith("log."), os.listdir(".")):
            os.remove(name)
        for late in ("", "TEST_FAULT=product:2:late:1"):
            done = mpirun(mpi, 3, *command, env=gpus("sm=75 order=2 gpus=3 shapes=1"), before=["env", "LD_PRELOAD=" + os.path.join(BUILD, f"tests/mpi_fault_{mpi}.so"), *filter(None, [late])])
            assert done.returncode == 0, done.err
            lines = open("log.1").read().split("\n")
            assert sorted(tuple(map(int, line.split()[1:])) for line in lines if line.startswith("product ")) == sorted(shapes), (m, late, lines)
            up = [line for line in lines if line in ("cuMemcpyHtoDAsync_v2", "cuMemcpy2DAsync_v2")]
            assert len(up) == 4, (m, up)  # three pieces of A, one of B; C comes down by threads
            os.remove("log.1")


@case
def gpus_that_fail_end_in_one_sentence():
    mpi = soonest()
    pair(300, 40, 40, "f4")
    words = "multiply A.npy B.npy -o C.npy --engine cuda --grid 2x1x1"
    driver = "product=1 sm=75 multiprocessors=4"
    for code, of_rank_1, says in ((3, f'FAKE_CUDA="{driver} gpus=0"', "rank 1 on "), (5, f'FAKE_CUDA="{driver}" FAKES="cuMemAlloc_v2=2@2"', "rank 1: no memory on device 0 for "),
                                  (5, f'FAKE_CUDA="{driver}" FAKES="cuMemHostAlloc=2"', "rank 1: no pinned host memory for "),
                                  (8, f'FAKE_CUDA="{driver} lost=0"', "rank 1: cuLaunchKernel failed"), (8, f'FAKE_CUDA="{driver}" FAKES="cuStreamQuery=700@3"', "rank 1: cuStreamQuery failed"),
                                  (4, f'FAKE_CUDA="{driver}" FAKES="nvrtcCompileProgram=6"', "rank 1: ")):
        refused(mpi, 2, code, says=says, command=each_rank(f'if [ $R = 1 ]; then export {of_rank_1}; fi; exec "$0" {words}'), env=gpus("sm=75"))
    for number, grid in enumerate(("1x1x2", "1x2x1", "2x1x1")):
        refused(mpi, 2, 8, "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--grid", grid, says="rank 1: cuLaunchKernel failed", env=gpus("sm=75 gpus=2 lost=1"))
        of = built()[number % len(built())]
        done = mpirun(of, 2, os.path.join(BUILD, f"tests/mpi_gemm_{of}"), "lost", grid, env=gpus("sm=75 gpus=2 lost=1"))
        assert done.returncode == 0 and "1 lost, 0 faults" in done.out, (of, grid, done.out + done.err)
    refused(mpi, 2, 5, "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--grid", "2x1x1", "--device-memory", "10K", says="options.memory_bytes is 10240", env=gpus("sm=75"))
    refused(mpi, 2, 3, "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--device", "0,3", says="device 3 was asked for", env=gpus("sm=75"))
    refused(mpi, 2, 2, says="the context's engine (0: cpu, 1: cuda) is 0 on one and 1 on another", env=gpus("sm=75"),
            command=each_rank('if [ $R = 1 ]; then E=cpu; else E=cuda; fi; exec "$0" multiply A.npy B.npy -o C.npy --engine $E'))


@case
def panels_by_nccl_have_the_bits_of_panels_that_are_staged():
    mpis = built()
    for number, (ranks, driver, types) in enumerate(((2, "sm=75 order=1 gpus=2", "all"), (3, "sm=75 order=7 gpus=3", "all"), (4, "sm=80 order=5 gpus=4", "f32"),
                                                     (4, "sm=90 order=6 gpus=4", "f32"), (6, "sm=75 order=9 gpus=6", "all"), (2, "sm=75 gpus=2", "all"), (3, "sm=75 order=3 gpus=3 pitch=128", "f32"))):
        for mpi in mpis if FULL else mpis[number % len(mpis):][:1] if ranks < 4 else mpis[:1]:
            cases = 150 if FULL else 8
            done = mpirun(mpi, ranks, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "nccl", cases, number, types, env=with_nccl(driver))
            assert done.returncode == 0 and f"{cases} nccl, 0 faults" in done.out, f"{mpi}, {ranks} ranks, {driver}: {done.out}{done.err}"


@case
def the_program_says_how_panels_go():
    """Each rank uploads what it owns once, and what it does not own never."""
    mpi = built()[0]
    pair(90, 80, 70, "f4")
    good("multiply", "A.npy", "B.npy", "-o", "one.npy")
    log = each_rank('rm -f log.$R; FAKE_LOG="log.$R" exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --grid 1x2x1 -v --json r.jsonl --verify "$@"')
    for words, way, calls in (([], "NCCL 2.27.3", 1), (["--panels", "nccl"], "NCCL 2.27.3", 1), (["--panels", "staged"], "staged through host memory: as asked", 0)):
        done = mpirun(mpi, 2, *log, *words, env=with_nccl("sm=75 order=3 gpus=2"))
        assert done.returncode == 0 and f"panels     {way}\n" in done.out, done.out + done.err
        assert ("buffers of 0.00 B" in done.out) == (calls == 1), done.out  # of the host's memory
        assert saved("one.npy") == saved("C.npy"), words
        lines = open("log.1").read().split("\n")
        assert lines.count("ncclSend") == lines.count("ncclRecv") == 2 * calls, (words, lines)  # the first bytes, and a piece
        assert lines.count("cuMemcpyHtoDAsync_v2") == 2 + calls, (words, lines)  # its pieces of A and B, by threads, and the first bytes
        assert lines.count("cuMemcpy2DAsync_v2") == 1, (words, lines)  # into A's block: its piece within the GPU, or the other's from the host
        kept, = records(open("r.jsonl").read())
        assert kept["method"] == f"tw_mpi_gemm, 2 of 2 ranks as 1 x 2 x 1, 1 on a GPU, panels {way.split(':')[0]}, once", kept
    done = mpirun(mpi, 2, PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--grid", "1x1x2", "-v", env=with_nccl("sm=75 gpus=2"))
    assert "panels     none between ranks\n" in done.out, done.out + done.err
    for words, says in ((["--engine", "cuda", "--panels", "rdma"], "one of: auto nccl staged"), (["--panels", "nccl"], "--panels is for ranks that multiply on GPUs")):
        refused(mpi, 2, 2, says=says, command=(PROGRAM, "multiply", "A.npy", "B.npy", "-o", "D.npy", *words)) if words[0] == "--panels" else \
            bad(2, "multiply", "A.npy", "B.npy", "-o", "D.npy", *words, says=says)
    bad(2, "multiply", "A.npy", "B.npy", "-o", "D.npy", "--panels", "staged", says="--panels is for several ranks")


@case
def panels_are_staged_where_a_rank_cannot_use_nccl():
    """--panels auto says why; --panels nccl is an error that says the same. The covering set has each reason in one of the two, by turns."""
    mpi = built()[0]
    pair(90, 80, 70, "f4")
    good("multiply", "A.npy", "B.npy", "-o", "one.npy")
    words = 'multiply A.npy B.npy -o C.npy --engine cuda --grid 1x3x1 -v --timeout 3'
    without = libraries("cuda", "no_nccl")
    done = mpirun(mpi, 3, *each_rank(f'if [ $R = 2 ]; then export FAKES="ncclCommAbort=3"; fi; if [ $R = 1 ]; then export FAKE_NCCL="quiet=1"; fi; exec "$0" {words}'), env=with_nccl("sm=75 order=2 gpus=3"))
    assert done.returncode == 8 and "rank 2: ncclCommAbort failed with another error (3)" in done.err, done.out + done.err
    for number, (of_rank_1, driver, why) in enumerate(((f'LD_LIBRARY_PATH={without}', "gpus=3", "rank 1: NCCL cannot be used: "), ('FAKE_NCCL="version=21304"', "gpus=3", "rank 1: NCCL cannot be used: its version code is 21304"),
                                   ('FAKE_NCCL="version=30001"', "gpus=3", "rank 1: NCCL cannot be used: its version code is 30001"),
                                   ('NCCL_COMM_BLOCKING=1', "gpus=3", "rank 1: NCCL cannot be used: NCCL_COMM_BLOCKING=1 lets its calls wait"),
                                   ('FAKE_NCCL_WORDS="no route" FAKES="ncclCommInitRankConfig=2"', "gpus=3", "rank 1: ncclCommInitRankConfig failed with unhandled system error (2): no route"),
                                   ('FAKE_NCCL="version=22805"', "gpus=3", "rank 0 has NCCL 2.27.3, rank 1 has NCCL 2.28.5"), ('FAKES=""', "gpus=2", "ranks 0 and 2 share a GPU"),
                                   ('FAKES="ncclCommInitRankConfig=2"', "gpus=3", "rank 1: ncclCommInitRankConfig failed with unhandled system error (2)"),
                                   ('FAKE_NCCL="state=6"', "gpus=3", "rank 1: NCCL failed with remote process exited"), ('FAKE_NCCL="state=6 from=1"', "gpus=3", "rank 1: NCCL failed with remote process exited"),
                                   ('FAKES="ncclGroupEnd=2@1"', "gpus=3", "rank 1: ncclGroupEnd failed with unhandled system error (2)"), ('FAKES="ncclSend=4@2"', "gpus=3", "rank 1: ncclSend failed"),
                                   ('FAKES="cuEventQuery=700@1"', "gpus=3", "rank 1: cuEventQuery failed"), ('FAKE_NCCL="wrong=1"', "gpus=3", "NCCL has brought other bytes from rank 1 than it has sent"),
                                   ('FAKE_NCCL="quiet=1"', "gpus=3", "NCCL has not moved the first bytes between ranks for 3 s"), ('FAKE_NCCL="absent=1"', "gpus=3", "the other ranks have not joined NCCL's communicator for 3 s"))):
        start = time.monotonic()
        command = each_rank(f'if [ $R = 1 ]; then export {of_rank_1}; fi; exec "$0" {words} "$@"')
        if FULL or number % 2 == 0:
            done = mpirun(mpi, 3, *command, env=with_nccl(f"sm=75 order=2 {driver}"))
            assert done.returncode == 0 and "panels     staged through host memory: " in done.out and why in done.out, (of_rank_1, done.out + done.err)
            assert saved("one.npy") == saved("C.npy"), of_rank_1
            os.remove("C.npy")
        if FULL or number % 2 == 1:
            assert "panels cannot go by NCCL: " in refused(mpi, 3, 3, says=why, command=(*command, "--panels", "nccl"), env=with_nccl(f"sm=75 order=2 {driver}"))
        assert time.monotonic() - start < 30, of_rank_1
    done = mpirun(mpi, 2, PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "-v", "--grid", "2x1x1", env=with_nccl("sm=75 gpus=2", FAKES="ncclGetUniqueId=2"))
    assert "staged through host memory: rank 0: ncclGetUniqueId failed with unhandled system error (2)" in done.out, done.out + done.err
    done = mpirun(mpi, 2, PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "-v", "--grid", "2x1x1", env=gpus("sm=75 gpus=2"))
    assert "staged through host memory: rank 0: NCCL cannot be used: " in done.out, done.out + done.err


@case
def panels_are_staged_where_a_gpu_has_too_little_memory_for_nccl():
    for number, mpi in enumerate(built()):
        for ranks in (2, 3) if FULL else (3 - number,):
            done = mpirun(mpi, ranks, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "memory", env=with_nccl("sm=75 gpus=3 order=3"))
            assert done.returncode == 0 and "1 memory, 0 faults" in done.out, (mpi, ranks, done.out + done.err)


@case
def a_rank_that_fails_while_panels_go_by_nccl():
    """The others wait for it in NCCL, and hear by MPI, long before their deadline. The covering set has each failure on one grid."""
    mpi = built()[0]
    pair(90, 80, 70, "f4")
    driver = "product=1 sm=75 multiprocessors=4 gpus=4 order=4"
    for number, (grid, peers) in enumerate((("2x2x1", 2), ("1x4x1", 3), ("2x1x2", 1))):
        at = f"@{peers + 1}"  # behind the first bytes
        for place, (of_rank_1, says) in enumerate(((f'FAKE_NCCL="state=6 from={peers + 1}"', "rank 1: NCCL failed with remote process exited"), (f'FAKES="ncclSend=4{at}"', "rank 1: ncclSend failed with invalid argument (4)"),
                                (f'FAKES="ncclRecv=4{at}"', "rank 1: ncclRecv failed"), (f'FAKES="ncclGroupEnd=3{at}"', "rank 1: ncclGroupEnd failed"),
                                (f'FAKES="ncclGroupStart=3{at}"', "rank 1: ncclGroupStart failed"), (f'FAKE_CUDA="{driver} lost=1"', "rank 1: cuLaunchKernel failed"))):
            if not FULL and (number + place) % 3 != 0:
                continue
            start = time.monotonic()
            refused(mpi, 4, 8, says=says, env=with_nccl("sm=75 gpus=4 order=4"), command=each_rank(
                f'if [ $R = 1 ]; then export {of_rank_1}; fi; exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --panels nccl --timeout 20 --grid {grid}'))
            assert time.monotonic() - start < 15, (grid, of_rank_1)
    refused(mpi, 2, 5, says="rank 1: ncclGroupEnd failed with another error (1): Cuda failure 'out of memory'", env=with_nccl("sm=75 gpus=2 order=4"), command=each_rank(
        'if [ $R = 1 ]; then export FAKES="ncclGroupEnd=1@2" FAKE_NCCL_WORDS="Cuda failure \'out of memory\'"; fi; exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --panels nccl --timeout 20 --grid 1x2x1'))
    for number, grid in enumerate(("1x2x1", "2x1x1", "1x4x1", "2x1x2")):
        of = built()[number % len(built())]
        ranks = 2 if number < 2 else 4
        done = mpirun(of, ranks, os.path.join(BUILD, f"tests/mpi_gemm_{of}"), "lost", grid, env=with_nccl("sm=75 gpus=4 lost=1"))
        assert done.returncode == 0 and "1 lost, 0 faults" in done.out, (of, grid, done.out + done.err)


@case
def a_rank_that_stops_or_hangs_while_panels_go_by_nccl():
    pair(90, 80, 70, "f4")
    late = "have not answered for|nothing has moved for"
    for number, (fault, least_s, says) in enumerate(((f'FAKE_CRASH="ncclSend={signal.SIGSTOP}"', 2, late), ('FAKE_HANG="ncclSend=2"', 2, "rank 1 and this one have not moved a block for 2 s"),
                                                     ('FAKE_HANG="ncclSend=1"', 2, late), ('FAKE_HANG="ncclCommInitRankConfig=1"', 2, late))):
        for mpi in built() if FULL else built()[number % len(built()):][:1]:
            start = time.monotonic()
            done = mpirun(mpi, 2, *each_rank(f'if [ $R = 1 ]; then export {fault}; fi; exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --panels nccl --timeout 2 --grid 1x2x1'),
                          env=with_nccl("sm=75 gpus=2 order=4"), timeout=60)
            spent_s = time.monotonic() - start
            assert done.returncode != 0 and least_s <= spent_s < 20 and re.search(says, done.err), (mpi, fault, spent_s, done.err)
            nothing_left("A.npy", "B.npy")


@case
def nothing_is_loaded_or_allocated_while_nccl_waits_for_another_rank():
    """The driver may wait for NCCL's kernel there, which waits for rank 1. A piece of 2050 rows is multiplied by itself."""
    mpi = built()[0]
    pair(4100, 9, 5, "f4")
    start = time.monotonic()
    done = mpirun(mpi, 2, *each_rank('if [ $R = 1 ]; then export FAKE_HANG="ncclSend=2"; fi; exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --panels nccl --timeout 2 --grid 1x2x1'),
                  env=with_nccl("sm=75 gpus=2 order=4"), timeout=60)
    assert done.returncode != 0 and "rank 1 and this one have not moved a block for 2 s" in done.err and 2 <= time.monotonic() - start < 20, done.err
    nothing_left("A.npy", "B.npy")


@case
def kernels_and_memory_are_there_before_panels_move():
    """Of all panels of k, whose last one is short and has other kernels; of a C that products write where it lies; of copies by more threads than the first."""
    mpi = built()[0]
    for number, (way, place, m, n, k) in enumerate((("nccl", "host", 30, 20, 16390), ("nccl", "device", 300, 200, 160), ("nccl", "host", 8, 4000, 600),
                                                    ("staged", "host", 30, 20, 16390), ("staged", "device", 300, 200, 160))):
        command = each_rank(f'exec env FAKE_LOG="log.{number}.$R" {BUILD}/tests/mpi_gemm_{mpi} once {way} {place} {m} {n} {k}')
        done = mpirun(mpi, 2, *command, env=with_nccl("sm=80 gpus=2 order=3"))
        assert done.returncode == 0 and "1 once, 0 faults" in done.out, (way, place, done.out + done.err)
        calls = open(f"log.{number}.0").read().split("\n")
        moves = [i for i, call in enumerate(calls) if call == ("ncclSend" if way == "nccl" else "cuLaunchKernel")]
        begin = moves[1 if way == "nccl" else 0]  # behind the first bytes
        end = max(i for i, call in enumerate(calls) if call == "cuLaunchKernel")
        asked = [call for call in calls[begin:end] if call in ("nvrtcCompileProgram", "cuModuleLoadData", "cuMemAlloc_v2", "cuMemHostAlloc")]
        assert "nvrtcCompileProgram" in calls[:begin] and asked == [], (way, place, m, n, k, asked)


# ---- ranks and GPUs that take long, or for ever ------------------------------------------------------------------------

@case
def ranks_wait_for_those_that_compute_longer_than_the_deadline():
    """One that is not of the grid, and the thread that watches each. Products of 6.5 s, which GPUs of one multiprocessor may take 8.5 s for."""
    for name, rows, cols in (("A.npy", 3000, 5000), ("B.npy", 5000, 6000)):
        with open(name, "wb") as file:
            file.write(npy_header("<f4", (rows, cols)))
            file.truncate(file.tell() + rows * cols * 4)
    driver = "sm=75 gpus=3 order=4 product=0 multiprocessors=1 slow_ms=6500"
    for number, env in enumerate((with_nccl, gpus) if FULL else (with_nccl,)):
        for mpi in built() if FULL else built()[:1]:
            env_of_late = env("", FAKE_CUDA=driver)
            done = multiply(mpi, 3, "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--grid", "1x2x1", "--timeout", 4, "-v", env=env_of_late)
            assert "ranks      2 of 3" in done.out and float(re.search(r"compute ([\d.]+) s,", done.out).group(1)) >= 6.5, done.out
            if FULL:
                done = mpirun(mpi, 3, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "late", 6.5, env=env_of_late)
                assert done.returncode == 0 and "1 late, 0 faults" in done.out, (mpi, number, done.out + done.err)


@case
def ranks_wait_for_those_that_compute_on_the_cpu():
    """The same by stripes: of a product that is large enough for this machine to take twice the deadline."""
    if not FULL:
        raise Skip("waits for its deadlines: --full")
    for mpi in built():
        spent_s, side = 0, 500
        while spent_s < 10:
            side *= 2
            for name in ("A.npy", "B.npy"):
                with open(name, "wb") as file:
                    file.write(npy_header("<c16", (side, side)))
                    file.truncate(file.tell() + side * side * 16)
            done = multiply(mpi, 3, "A.npy", "B.npy", "-o", "C.npy", "--grid", "1x2x1", "--timeout", 4, "--threads", 1, "-v")
            spent, unit = re.search(r"compute ([\d.]+) (\w+),", done.out).groups()
            spent_s = float(spent) if unit == "s" else 0


@case
def a_gpu_that_never_ends_its_products():
    """The rank that has it gives it up, and all ranks hear of it. None of their calls waits for it."""
    of = "gpus=3 order=4 stuck=1"
    for number, (way, k) in enumerate((("nccl", 70), ("nccl", 20000), ("staged", 70), ("staged", 20000))):
        for mpi in built() if FULL else built()[number % 2 % len(built()):][:1]:
            done = mpirun(mpi, 3, os.path.join(BUILD, f"tests/mpi_gemm_{mpi}"), "stuck", way, k, env=with_nccl(f"sm=75 {of}"), timeout=60)
            assert done.returncode == 0 and "1 stuck, 0 faults" in done.out, (mpi, way, k, done.out + done.err)
    pair(90, 80, 70, "f4")
    for way in ("nccl", "staged"):  # mpirun ends nobody: each rank does by itself
        words = f"multiply A.npy B.npy -o C.npy --engine cuda --grid 1x3x1 --timeout 2 --panels {way}"
        done = mpirun(built()[0], 3, *each_rank(f'"$0" {words}; echo $? > code.$R'), env=with_nccl(f"sm=75 {of}"), timeout=60)
        assert done.err.count("tilewright: ") == 1 and "rank 1: the device has not finished its products for 2" in done.err, done.err
        assert [saved(f"code.{rank}") for rank in range(3)] == [b"8\n"] * 3 and not os.path.exists("C.npy"), way


@case
def ranks_wait_for_one_that_builds_kernels():
    """All of them take longer than the deadline, and those of one product do not."""
    for name, rows, cols in (("A.npy", 300, 16390), ("B.npy", 16390, 200)):
        with open(name, "wb") as file:
            file.write(npy_header("<f4", (rows, cols)))
            file.truncate(file.tell() + rows * cols * 4)
    for way in ("nccl", "staged") if FULL else ("staged",):
        command = each_rank(f'if [ $R = 1 ]; then export FAKE_LOG=log FAKE_NVRTC="slow_ms=1300"; fi; exec "$0" multiply A.npy B.npy -o C.npy --engine cuda --grid 1x2x1 --timeout 5 --panels {way}')
        done = mpirun(built()[0], 2, *command, env=with_nccl("", FAKE_CUDA="product=0 multiprocessors=4 sm=90 gpus=2"), timeout=60)
        assert done.returncode == 0 and done.err == "", done.err
        assert saved("log").count(b"nvrtcCompileProgram") >= 4, way


# ---- what is refused --------------------------------------------------------------------------------------------------

@case
def what_ranks_do_not_take():
    pair()
    mpi = soonest()
    open("short.npy", "wb").write(saved("A.npy")[:-8])
    gz("A.npy")
    for code, words, says in ((2, ["A.npy", "B.npy"], "-o FILE is missing"), (2, ["A.npy", "B.npy", "-o", "C.mtx"], "several ranks write .npy"),
                              (2, ["A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl"], "by the cpu engine or by cuda"),
                              (2, ["-", "B.npy", "-o", "C.npy"], "regular .npy"), (6, ["A.npy", "no.npy", "-o", "C.npy"], "no.npy"),
                              (6, ["short.npy", "B.npy", "-o", "C.npy"], "short.npy"),
                              (6, ["A.npy.gz", "B.npy", "-o", "C.npy"], "A.npy.gz: is compressed: several ranks read regular"), (6, ["B.npy", "B.npy", "-o", "C.npy"], "must be equal"),
                              (2, ["A.npy", "B.npy", "-o", "C.npy", "--invariant"], "several ranks divide k"),
                              (2, ["A.npy", "B.npy", "-o", "C.npy", "--epilogue", "acc"], "--epilogue: several ranks take none"),
                              (2, ["A.npy", "B.npy", "-o", "C.npy", "--grid", "3x1x1"], "no grid of at most 2 ranks"),
                              (5, ["A.npy", "B.npy", "-o", "C.npy", "--memory", "100"], "a rank may take 100 bytes"),
                              (7, ["A.npy", "B.npy", "-o", "none/C.npy"], "the folder none does not exist"),
                              (7, ["A.npy", "B.npy", "-o", "/proc/C.npy"], "/proc/C.npy")):
        refused(mpi, 2, code, *words, says=says)
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--grid", "1x1x1", says="--grid is for several ranks")


@case
def ranks_that_ask_for_different_things():
    pair()
    npy("W.npy", integers(5, 4, 9))
    shell = 'exec "$0" multiply "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.npy" B.npy -o C.npy'
    shutil.copy("A.npy", "0.npy"), shutil.copy("W.npy", "1.npy")
    for mpi in built():
        refused(mpi, 2, 2, says="m is 3 on one and 5 on another", command=("sh", "-c", shell, PROGRAM))
        refused(mpi, 2, 2, says="the path of -o", command=("sh", "-c", 'exec "$0" multiply A.npy B.npy -o "C${OMPI_COMM_WORLD_RANK:-$PMI_RANK}.npy"', PROGRAM))
    os.remove("1.npy")
    refused(soonest(), 2, 6, says="rank 1 on ", command=("sh", "-c", shell, PROGRAM))


@case
def a_disk_without_room():
    pair(200, 200, 20)
    for mpi in built():
        for fault, says in (("room:0:fail:1", "there is no room for the whole of it"), ("write:1:fail:1", "rank 1 on ")):
            preload = {"LD_PRELOAD": os.path.join(BUILD, f"tests/mpi_fault_{mpi}.so"), "TEST_FAULT": fault}
            refused(mpi, 2, 7, says=says, before=["env", *(f"{name}={value}" for name, value in preload.items())],
                    command=(PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--grid", "2x1x1"))


@case
def a_launcher_without_the_library():
    pair()
    done = bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "TILEWRIGHT_MPI": "/no/such.so"},
               says="TILEWRIGHT_MPI names another library")
    assert "/no/such.so" in done.stderr
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "TILEWRIGHT_MPI": "off"})
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"})


@case
def a_library_for_another_mpi_than_the_launchers():
    if len(built()) < 2:
        raise Skip("needs both MPIs")
    pair()
    for mpi, other in (("openmpi", "mpich"), ("mpich", "openmpi")):
        refused(mpi, 2, 3, "A.npy", "B.npy", "-o", "C.npy", env={"TILEWRIGHT_MPI": other},
                says=f"2 processes were started, and the library for {other} sees one")


@case
def ranks_that_write_into_different_folders():
    """Told before anything is read, and not by a deadline."""
    pair()
    os.makedirs("other", exist_ok=True)
    for mpi in built():
        rank = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[mpi]
        apart = f'[ "${rank}" = 0 ] || cd other; exec "$0" multiply "{os.getcwd()}/A.npy" "{os.getcwd()}/B.npy" -o C.npy --timeout 200'
        refused(mpi, 2, 7, command=("sh", "-c", apart, PROGRAM), timeout=60, says="-o C.npy: rank 0 has made the temporary file, and this rank cannot open it")
        assert os.listdir("other") == []
    os.rmdir("other")


# ---- ranks and links that are lost --------------------------------------------------------------------------------------

STAGES = ("start", "plan", "read", "product", "write", "sync")


def with_fault(mpi, fault, *words, timeout=4):
    preload = ["env", "LD_PRELOAD=" + os.path.join(BUILD, f"tests/mpi_fault_{mpi}.so"), f"TEST_FAULT={fault}"]
    start = time.monotonic()
    done = mpirun(mpi, 3, PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--grid", "1x3x1", "--timeout", timeout, *words, before=preload, timeout=60)
    assert f"test fault: {fault}" in done.err, f"{mpi}: {fault} was not met: {done.err}"
    assert done.returncode != 0, f"{mpi}: {fault}: exit 0"
    nothing_left("A.npy", "B.npy")
    return done, time.monotonic() - start


@case
def a_rank_that_is_killed_at_each_stage():
    pair(50, 60, 70)
    for number, stage in enumerate(STAGES):
        for mpi in built() if FULL else built()[number % len(built()):][:1]:
            for rank in (0, 1, 2) if FULL else (number % 3,):
                _, spent_s = with_fault(mpi, f"{stage}:{rank}:kill:1")
                assert spent_s < 15, (mpi, stage, rank, spent_s)


@case
def an_operand_that_is_changed():
    """While the product is computed, and, before --verify reads it again, when C is written."""
    for mpi, (fault, *words) in zip(built() * 2, (("product:1:spoil:1",), ("sync:1:spoil:1", "--verify"))):
        pair(50, 60, 70)
        done, _ = with_fault(mpi, fault, *words)
        assert done.returncode == 6 and "A.npy: the file was changed while it was in use" in done.err and "expected" not in done.err, (done.returncode, done.err)


@case
def a_rank_that_is_told_to_end_while_it_makes_the_file():
    pair(50, 60, 70)
    for mpi in built():
        with_fault(mpi, "file:0:term:1")


@case
def a_rank_that_hangs_at_each_stage():
    pair(50, 60, 70)
    for number, stage in enumerate(STAGES if FULL else STAGES[1:5:2]):
        for mpi in built() if FULL else built()[(number + 1) % len(built()):][:1]:
            for rank in (0, 2) if FULL else (2 - number % 2 * 2,):
                done, spent_s = with_fault(mpi, f"{stage}:{rank}:stop:1", timeout=3)  # MPI itself may take a second to start
                assert 3 <= spent_s < 60, (mpi, stage, rank, spent_s)
                assert re.search(r"nothing has moved for|have not answered for|have not moved a block for", done.err), done.err


# ---- several hosts ----------------------------------------------------------------------------------------------------

def slow_hosts():
    """Three, each link 100 Mbit/s."""
    if "openmpi" not in built():
        raise Skip("needs Open MPI, whose launcher takes an agent")
    return Hosts(3, "100mbit")


@case
def three_hosts_with_slow_links():
    draw = random.Random(6)
    npy("A.npy", [[draw.uniform(-1, 1) for _ in range(130)] for _ in range(150)]), npy("B.npy", [[draw.uniform(-1, 1) for _ in range(140)] for _ in range(130)])
    good("multiply", "A.npy", "B.npy", "-o", "one.npy")
    with slow_hosts() as hosts:
        for grid in ("3x1x1", "1x3x1") if FULL else ("3x1x1",):
            job = hosts.start("A.npy", "B.npy", "-o", "all.npy", "--grid", grid, "--verify")
            out, err = job.communicate(timeout=120)
            said = [line for line in err.splitlines() if line and "plm:rsh: Warning: setpgid" not in line]  # a race in mpirun
            assert job.returncode == 0 and said == [], f"exit {job.returncode}: {err}"
            assert saved("one.npy") == saved("all.npy"), out
        nothing_left("A.npy", "B.npy", "all.npy", "one.npy")


def cut_link(hosts, *words, launcher=()):
    """The error of a job whose third host is cut off while the ranks read."""
    job = hosts.start("A.npy", "B.npy", "-o", "C.npy", "--grid", "3x1x1", *words, launcher=launcher)
    for _ in range(600):  # until C's temporary file is there: the ranks have met
        if any(name.endswith(".C.npy") for name in os.listdir(".")):
            break
        time.sleep(0.1)
    hosts.run("ip", "-n", hosts.names[2], "link", "set", "eth0", "down")
    cut_s = time.monotonic()
    _, err = job.communicate(timeout=60)
    spent_s = time.monotonic() - cut_s
    assert job.returncode != 0 and spent_s < 40, f"exit {job.returncode} after {spent_s} s: {err}"
    nothing_left("A.npy", "B.npy")
    return err


@case
def a_link_that_is_cut():
    """The ranks end by their deadline. What mpirun then sends to the lost host stops its keepalive probes, so it ends when the
    kernel gives up sending: after 15 minutes where tcp_retries2 is left alone."""
    for name in ("A.npy", "B.npy"):
        with open(name, "wb") as file:  # the other host's share alone takes its link a second
            file.write(npy_header("<f8", (2000, 2000)))
            file.truncate(file.tell() + 2000 * 2000 * 8)
    with slow_hosts() as hosts:
        for host in hosts.names:
            hosts.run("ip", "netns", "exec", host, "sysctl", "-qw", "net.ipv4.tcp_retries2=4")
        err = cut_link(hosts, "--timeout", "3")
        assert "nothing has moved for" in err or "have not answered for" in err or "have not moved a block for" in err, err
    if FULL:
        probes = ("--mca", "oob_tcp_keepalive_time", "3", "--mca", "oob_tcp_keepalive_intvl", "1", "--mca", "oob_tcp_keepalive_probes", "2")
        with slow_hosts() as hosts:  # mpirun notices before the ranks do
            err = cut_link(hosts, "--timeout", "30", launcher=probes)
            assert "lost communication" in err, err


if __name__ == "__main__":
    main(side_by_side=1 if FULL else 4)
