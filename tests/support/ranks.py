"""ranks.py - programs under mpirun: the MPIs that the build has libraries for, and a job that has ended."""
import os
import shutil
import signal
import subprocess

from support.program import BUILD, clean_environment
from support.tap import Skip

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OF_A_LAUNCHER = ("OMPI_", "PMI_", "PMIX_", "HYDRA_")


def launched_environment(**extra):
    """What a launcher is started with: nothing that another launcher has set."""
    asked = {**AS_ROOT, **extra}
    return {k: v for k, v in clean_environment(**asked).items() if not k.startswith(OF_A_LAUNCHER) or k in asked}


def built():
    """The MPIs whose library and launcher are here."""
    found = [mpi for mpi in ("openmpi", "mpich") if os.path.exists(os.path.join(BUILD, f"libtilewright_{mpi}.so.0")) and shutil.which(f"mpirun.{mpi}")]
    if not found:
        raise Skip("the build has no library for an MPI, or its mpirun is not here as mpirun.openmpi or mpirun.mpich")
    return found


def soonest():
    """The MPI for many jobs that fail: Open MPI's launcher waits before it ends each, MPICH's does not."""
    return built()[-1]


def mpirun(mpi, ranks, *words, env=None, before=(), timeout=240):
    """The finished job, its output as text; what it left running is an error."""
    alone = ["--oversubscribe", "--mca", "plm", "isolated"]  # on this host, without ssh
    launcher = [f"mpirun.{mpi}", *(alone if mpi == "openmpi" else []), "-n", str(ranks)]
    job = subprocess.Popen([*launcher, *before, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=launched_environment(**(env or {})), start_new_session=True)
    try:
        job.out, job.err = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        raise AssertionError(f"{words}: still running after {timeout} s") from None
    return job
