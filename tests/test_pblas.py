#!/usr/bin/python3 -B
"""test_pblas.py - ScaLAPACK's names in libtilewright_pblas, linked and preloaded, under the mpirun of Open MPI and MPICH.

    test_pblas.py [--list] [--full] [--only TEXT] [PROGRAM]

Prints TAP. Skipped where the build has found no MPI, or no ScaLAPACK of it: then there is no BLACS to call. --full draws more products.
"""
import glob
import os
import re
import sys
import time

from support.program import BUILD
from support.ranks import built, mpirun
from support.tap import Skip, case, main

FULL = "--full" in sys.argv
# One thread a process: ScaLAPACK's products run beside ours.
ENVIRONMENT = {"TILEWRIGHT_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def program(name, mpi):
    return os.path.join(BUILD, f"tests/mpi_{name}_{mpi}")


def with_scalapack():
    found = [mpi for mpi in built() if os.path.exists(program("pblas", mpi))]
    if not found:
        raise Skip("the build has found no ScaLAPACK: Debian's is libscalapack-openmpi-dev and libscalapack-mpich-dev")
    return found


def start(mpi, ranks, *words, env=None, **more):
    return mpirun(mpi, ranks, *words, env={**ENVIRONMENT, **(env or {})}, **more)


def sentences(job):
    return [line for line in job.err.splitlines() if "tilewright: " in line]


@case
def drawn_products_on_drawn_grids():
    """MPICH's ranks spin while they wait: with more of them than processors each step takes long."""
    of_one, in_all = 0, 0
    for mpi in with_scalapack():
        for ranks in (1, 2, 3, 4, 5, 6, 7, 8) if mpi == "openmpi" or FULL else (2,):
            cases = (500 if FULL else 40) if mpi == "openmpi" else (500 if ranks == 1 else 60) if FULL else 20
            done = start(mpi, ranks, program("pblas", mpi), "products", cases, 1, timeout=1200)
            found = re.search(rf"^{cases} products, (\d+) of one process, 0 faults$", done.out, re.M)
            assert done.returncode == 0 and found, f"{mpi}, {ranks} ranks: {done.out}{done.err}"
            of_one, in_all = of_one + int(found[1]), in_all + cases
    assert 0.9 * in_all < of_one < in_all, f"of {in_all} products {of_one} have the bits of one process: k is always, or never, divided"


@case
def c_and_an_operand_that_lies_with_it_do_not_move():
    for mpi in with_scalapack():
        for ranks in (2, 3) if mpi == "openmpi" or FULL else (2,):
            done = start(mpi, ranks, program("pblas", mpi), "moves")
            assert done.returncode == 0 and "all moves, 0 of one process, 0 faults" in done.out, done.out + done.err


REFUSED = """an op: 1: TRANSA is 'X', expected N, T or C
an op of B on the last: 2: TRANSB is 'Q', expected N, T or C
m: 3: M is -1, expected at least 0
n on the last: 4: N is -2, expected at least 0
k: 5: K is -3, expected at least 0
no A: 7: A is NULL, and this process has 6 x 2 of it
ia: 8: IA is 0, expected at least 1
rows that are not there: 8: 6 rows from IA = 4 on are not in M_ = 6
ja: 9: 4 columns from JA = 2 on are not in N_ = 4
jb: 13: 5 columns from JB = 3 on are not in N_ = 5
ic on the last: 17: IC is 0, expected at least 1
type 3: 1001: DTYPE_ of DESCA is 3, expected 1 to 2
another context: 1402: CTXT_ of DESCB is 99, expected 0
M_: 1003: M_ of DESCA is -1, expected at least 0
N_: 18: 5 columns from JC = 1 on are not in N_ = 4
mb: 1005: MB_ of DESCA is 0, expected at least 1
nb: 1406: NB_ of DESCB is -1, expected at least 1
rsrc: 1007: RSRC_ of DESCA is 7, expected 0
rsrc -1: 1907: RSRC_ of DESCC is -1, expected 0
csrc: 1908: CSRC_ of DESCC is 2, expected 0 to 1
lld: 1409: LLD_ of DESCB is 1, expected at least 4, the rows on this process
lld 0 on the last: 1009: LLD_ of DESCA is 0, expected at least 1
m on one alone: M is 5 on one and 6 on another
an op on one alone: 12: 5 rows from IB = 1 on are not in M_ = 4
alpha on one alone: the bits of ALPHA is 4607182418800017408 on one and 4613937818241073152 on another
mb on one alone: MB_ of DESCC is 2 on one and 3 on another""".splitlines()


@case
def wrong_arguments_are_told_once_by_their_numbers():
    for mpi in with_scalapack():
        done = start(mpi, 2, program("pblas", mpi), "refusals")
        assert done.returncode == 0 and "all refusals, 0 of one process, 0 faults" in done.out, done.out + done.err
        told = [re.sub(r"tilewright: PDGEMM: (rank \d+: )?((the ranks do not ask for the same)|({\d,\d}: On entry to PDGEMM parameter number (\d+) had an illegal value)): ",
                       lambda found: found[5] + ": " if found[5] else "", line) for line in sentences(done)]
        assert told == REFUSED, [pair for pair in zip(told, REFUSED) if pair[0] != pair[1]] or (told, REFUSED)


@case
def a_refusal_ends_the_program():
    """What it says goes into a file: MPICH's launcher may drop what is on its way when a process aborts."""
    for mpi in with_scalapack():
        own_file = ["sh", "-c", f'exec "$@" 2>>said.{mpi}', "sh", "env", f"LD_PRELOAD={library(mpi)}"]
        done = start(mpi, 3, program("scalapack", mpi), "wrong", before=own_file)
        assert done.returncode != 0 and "right" not in done.out, done.out
        done.err = open(f"said.{mpi}", encoding="utf-8").read()
        assert len(sentences(done)) == 1 and "{0,1}: On entry to PDGEMM parameter number 1009 had an illegal value: LLD_" in sentences(done)[0], done.err


@case
def a_process_that_never_calls():
    for mpi in with_scalapack():
        start_s = time.monotonic()
        done = start(mpi, 3, program("pblas", mpi), "absent", env={"TILEWRIGHT_PBLAS_TIMEOUT": "2"}, timeout=60)
        assert done.returncode != 0 and "have not answered for 2 s" in done.err, done.out + done.err
        assert 2 <= time.monotonic() - start_s < 40


@case
def a_timeout_that_is_none():
    mpi = with_scalapack()[0]
    done = start(mpi, 1, program("scalapack", mpi), env={"TILEWRIGHT_PBLAS_TIMEOUT": "soon"}, before=["env", f"LD_PRELOAD={library(mpi)}"])
    assert done.returncode == 0 and sentences(done) == ["tilewright: TILEWRIGHT_PBLAS_TIMEOUT is soon, expected a number of seconds; it is ignored"], done.err


# ---- a program that does not know of it -------------------------------------------------------------------------------

def library(mpi):
    return os.path.join(BUILD, f"libtilewright_pblas_{mpi}.so")


@case
def preloaded_before_a_program_of_scalapack():
    """The program's own call is ours, and so are those of ScaLAPACK's LU."""
    for mpi in with_scalapack():
        for ranks in (1, 2, 6) if mpi == "openmpi" else (2,):
            for name in glob.glob("bindings.*"):
                os.remove(name)
            trace = ["env", f"LD_PRELOAD={library(mpi)}", "LD_DEBUG=bindings", f"LD_DEBUG_OUTPUT={os.getcwd()}/bindings"]
            done = start(mpi, ranks, program("scalapack", mpi), before=trace)
            assert done.returncode == 0 and done.out == "product and solution are right\n" and "tilewright: " not in done.err, (mpi, ranks, done.out, done.err)
            text = "".join(open(name, errors="replace").read() for name in glob.glob("bindings.*"))
            to_ours = set(re.findall(r"binding file (\S+) \[0\] to \S*libtilewright_pblas_\w+\.so\S* \[0\]: normal symbol `pdgemm_'", text))
            assert {os.path.basename(path).split(".")[0] for path in to_ours} == {f"mpi_scalapack_{mpi}", f"libscalapack-{mpi}"}, to_ours
            assert not re.search(r"to \S*libscalapack\S* \[0\]: normal symbol `pdgemm_'", text)


@case
def preloaded_before_a_program_of_the_other_mpi():
    """MPI ends it, and why is said before."""
    both = with_scalapack()
    if len(both) < 2:
        raise Skip("needs both MPIs")
    for mpi, other, says in (("openmpi", "mpich", "the program runs Open MPI: take libtilewright_pblas_openmpi.so"),
                             ("mpich", "openmpi", "the program runs MPICH: take libtilewright_pblas_mpich.so")):
        done = start(mpi, 1, program("scalapack", mpi), before=["env", f"LD_PRELOAD={library(other)}"])
        assert done.returncode != 0 and says in done.err, (mpi, done.returncode, done.out, done.err)


@case
def scalapacks_own_tests_of_gemm():
    """Debian's scalapack-mpi-test, preloaded: 8 problems on 4 grids for each type. What it does to wrong arguments needs PBLAS's own abort."""
    if not FULL:
        raise Skip("a long program: --full")
    for letter in "dszc":
        programs = glob.glob(f"/usr/lib/*/scalapack/openmpi-tests/PBLAS/{letter}pb3tst")
        if not programs or "openmpi" not in with_scalapack():
            raise Skip("needs Open MPI and Debian's scalapack-mpi-test")
        name = f"P{letter.upper()}BLAS3TST.dat"
        text = open(f"/usr/share/scalapack/PBLAS/{name}").read()
        text = re.sub(r"^T(\s+logical flag, T to test error exits)", r"F\1", text, flags=re.M)
        text = re.sub(r"^4(\s+number of tests problems)", r"8\1", text, flags=re.M)
        open(name, "w").write(re.sub(r"^(P\w+ *)T\t", lambda found: found[0] if "GEMM" in found[1] else found[1] + "F\t", text, flags=re.M))
        done = start("openmpi", 4, programs[0], before=["env", f"LD_PRELOAD={library('openmpi')}"])
        assert done.returncode == 0 and re.search(rf"P{letter.upper()}GEMM +32 +32 +0 +0\b", done.out), done.out[-2000:] + done.err
        assert "cannot be preloaded" not in done.err, done.err


if __name__ == "__main__":
    main()
