#!/usr/bin/python3 -B
"""test_against.py - `tilewright bench --against` among fake libraries: one sentence for each fault, and the others go on. No speed is judged.

    test_against.py [--list] [--full] [--only TEXT]

Needs TILEWRIGHT and TILEWRIGHT_BUILD, which tests/run.sh sets. Prints TAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from support.program import BUILD, PROGRAM, ROOT, needs
from support.tap import Skip, case, main

FULL = "--full" in sys.argv
FOLDER = os.path.join(BUILD, "tests", "fakes")
FAKES = os.path.join(FOLDER, "peers")
DEADLINE_S = "5"  # beyond what the products need: for the fake that hangs


def bench(*words, peers=FAKES, **more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_") and k != "OMP_NUM_THREADS"}
    kept.update(TILEWRIGHT_PEERS=peers, TILEWRIGHT_THREADS="1", **more)
    return subprocess.run([PROGRAM, "bench", *words], capture_output=True, text=True, timeout=4000, env=kept)


def refused(*words, says):
    done = bench(*words)
    assert done.returncode == 2 and says in done.stderr and done.stdout == "", (words, done)


def line(text, start):
    found = [x for x in text.splitlines() if x.startswith(start)]
    assert len(found) == 1, (start, found, text)
    return found[0]


def doubts(text):
    """What the fake that says SSE is to be doubted for: nothing where the processor has no more."""
    has = re.search("_(avx2|avx512)", line(text, "tilewright ").split()[2])
    return f"doubtful: its code is for sse, and the processor has {has[1]}" if has else ""


@case
def each_fault_has_its_sentence():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        done = bench("--against", "all", "--shape", "33x20x40,640x640x640", "--transpose-b", "--samples", "3", "--threads", "1", "--deadline", DEADLINE_S, "--json", path)
        said = done.stderr
        assert done.returncode == 0, done
        written = {r["library"]: r for r in map(json.loads, open(path)) if r["m"] == 33}
    assert "mkl: at 33x20x40 NT of f32 its product is wrong: exact oracle: C[32, 19] is" in said, said
    assert f"onednn: it did not answer within {DEADLINE_S} s: its process was ended" in said, said
    assert "aocl: at 2048x2048x2048 of f32 it crashed: signal 6" in said, said
    assert "blis: it has no function cblas_dgemm" in said, said
    assert "of f32 it used CPU time after its turn: its process was ended" in line(said, "tilewright: bench: libxsmm: "), said
    # half of our speed at 2048, and the fastest at 640: it counts, with what speaks against it
    ours, slow, mark = line(done.stdout, "tilewright ").split(), line(done.stdout, "eigen ").split(), doubts(done.stdout)
    best = "eigen?" if mark else "eigen"
    assert 0 < float(slow[5].rstrip("%")) < float(ours[3].rstrip("%")) and " ".join(slow[6:]) == mark, done.stdout
    row = line(done.stdout, "640x640x640 NT").split("|")[1].split()
    assert row[0] == best and float(row[1]) < 1 and float(row[2]) < 1 and ("?: doubtful, as said above" in done.stdout) == bool(mark), row
    assert line(done.stdout, "openblas ").split()[1:4] == ["OpenBLAS", "9.8.7", "fakecore"], done.stdout
    assert "a library that talks" in said and "a library that talks" not in done.stdout
    row = line(done.stdout, "33x20x40 NT").split()
    head = line(done.stdout, "m x n x k").split()
    assert head[5:] == ["tilewright", "openblas", "mkl", "aocl", "eigen", "libxsmm", "|", "best", "medians", "bests"], head
    assert row[4] == "WRONG" and row[5] == "gone" and row[7] == "gone", row
    assert row[9] in ("openblas", best), row
    assert set(written) == {"tilewright", "openblas", "mkl", "onednn", "aocl", "blis", "eigen", "libxsmm"}, written
    for name, r in written.items():
        assert (r["engine"], r["m"], r["n"], r["k"], r["op_a"], r["op_b"], r["threads"]) == ("cpu", 33, 20, 40, "n", "t", 1), r
        if name in ("tilewright", "openblas", "eigen"):
            assert r["verified"] == "exact+bound" and 0 < r["min_s"] <= r["median_s"] and r["samples"] == 3, r
            assert r["bytes_asked"] is r["no_cache_gflops"] is r["bound_asked_gflops"] is None and r["compulsory_bytes"] > 0, r
            assert r["doubt"] == (mark[len("doubtful: "):] or None if name == "eigen" else None) and (r["others"] is None or 0 <= r["others"] <= 1), r
        else:
            assert r["median_s"] is None and r["verified"] == ("WRONG" if name == "mkl" else "no"), r
    assert written["openblas"]["library_version"] == "OpenBLAS 9.8.7" and written["openblas"]["kernel"] == "fakecore", written
    assert written["mkl"]["library_version"] == "MKL 7.6" and "crashed" in written["aocl"]["refused"], written


@case
def complex_products_are_compared():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        words = ["--against", "openblas,mkl,eigen" if FULL else "mkl", "--dtype", "cf32", "--shape", "33x20x40", "--transpose-b", "--samples", "3", "--threads", "1"]
        done = bench(*words, "--deadline", DEADLINE_S, "--json", path)
        assert done.returncode == (0 if FULL else 3), done
        written = {r["library"]: r for r in map(json.loads, open(path))}
    assert "mkl: at 33x20x40 NT of cf32 its product is wrong: exact oracle: C[32, 19] (its imaginary part) is" in done.stderr, done.stderr
    for name in ("tilewright", "openblas")[:1 + FULL]:
        r = written[name]
        assert r["verified"] == "exact+bound" and r["dtype"] == "cf32" and abs(r["gflops"] * r["median_s"] * 1e9 / (8 * 33 * 20 * 40) - 1) < 1e-9, r
    assert written["mkl"]["verified"] == "WRONG" and (not FULL or written["eigen"]["median_s"] is None), written


@case
def a_pause_is_not_timed_and_what_a_library_does_not_take_is_said():
    """The fakes compute by the threads of TILEWRIGHT_THREADS, whatever they are told."""
    with tempfile.TemporaryDirectory() as folder:
        for name, fake in (("openblas", "openblas"), ("libxsmm", "eigen")):
            os.symlink(os.path.join(FAKES, fake + ".so"), os.path.join(folder, name + ".so"))
        start_s = time.monotonic()
        done = bench("--against", "openblas,libxsmm,eigen", "--shape", "33x20x40", "--samples", "3", "--threads", "2", "--pause", "20000", "--deadline", DEADLINE_S, "--json", "-", peers=folder)
        spent_s = time.monotonic() - start_s
    ours, openblas, libxsmm, eigen = map(json.loads, done.stdout.splitlines())
    assert line(done.stderr, "eigen ").split() == ["eigen", "-", "-", "not", "here"] and done.stderr.count("eigen.so") == 1 and "eigen.so" in eigen["refused"], (done.stderr, eigen)
    for r in (ours, openblas):
        assert r["method"].endswith(", 20000 us of other work before each call") and r["median_s"] < 0.02 and r["repeats"] in (1, 2), r
        assert spent_s > 0.02 * r["samples"] * r["repeats"], (spent_s, r)
    assert "rest       at least 20 ms before each sample; 20000 us of other work before each call" in done.stderr, done.stderr
    doubt = "1 thread computed at 2048, and 2 were asked for"
    assert openblas["library"] == "openblas" and openblas["doubt"] == doubt and line(done.stderr, "openblas ").endswith("doubtful: " + doubt), done.stderr
    assert "takes m n k up to 16777216, and this is 8589934592" in line(done.stderr, "libxsmm "), done.stderr
    assert libxsmm["refused"] == "computes with 1 thread at most, and 2 were asked for", libxsmm


@case
def what_a_batch_asks_of_memory_is_not_known():
    for words, known in ((["--batch", "4"], False), ([], True)):
        r = json.loads(bench("--size", "16", "--samples", "1", *words, "--json", "-").stdout)
        assert [r[x] is not None for x in ("bytes_asked", "no_cache_gflops", "bound_asked_gflops")] == [known] * 3, (words, r)


@case
def a_missing_library_is_named():
    with tempfile.TemporaryDirectory() as folder:
        done = bench("--against", "eigen", "--size", "16", peers=folder)
        assert done.returncode == 3 and done.stdout == "", done
        assert f"eigen: it was not found: neither {folder}/eigen.so" in done.stderr and "./dev peers" in done.stderr, done
        assert "none of the libraries to compare with is here" in done.stderr, done
        done = bench("--against", "eigen", "--size", "16", "--explain-plan", peers=folder)
        assert done.returncode == 2 and "--explain-plan with --against needs --engine cuda or opencl" in done.stderr, done
        with open(os.path.join(folder, "eigen.so"), "w") as stream:
            stream.write("not a library\n")
        done = bench("--against", "eigen", "--size", "16", peers=folder)
        assert done.returncode == 3 and "eigen: it cannot be opened: " in done.stderr, done


@case
def a_library_that_others_can_write_is_not_opened():
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "kept", "code.so")
        os.mkdir(os.path.dirname(target))
        shutil.copy(os.path.join(FAKES, "openblas.so"), target)
        os.symlink(target, os.path.join(folder, "openblas.so"))
        for path, mode in ((folder, 0o777), (folder, 0o770), (target, 0o666)):
            kept = os.stat(path).st_mode & 0o777
            os.chmod(path, mode)
            done = bench("--against", "openblas", "--size", "16", peers=folder)
            os.chmod(path, kept)
            assert done.returncode == 3 and f"openblas: it is not opened: {path} can be written by other users: chmod go-w makes it usable" in done.stderr, done
        if os.geteuid() == 0:
            os.chown(target, 65534, 65534)
            done = bench("--against", "openblas", "--size", "16", peers=folder)
            assert f"it is not opened: {target} belongs neither to this user nor to root" in done.stderr, done


@case
def a_library_is_a_plain_file_in_a_folder_that_others_cannot_write():
    with tempfile.TemporaryDirectory() as folder:
        path, place = os.path.join(folder, "openblas.so"), os.path.join(folder, "place")
        os.mkfifo(path)
        done = bench("--against", "openblas", "--size", "16", peers=folder)
        assert done.returncode == 3 and f"openblas: it is not opened: {path} is not a regular file" in done.stderr, done
        os.unlink(path)
        os.mkdir(path)
        done = bench("--against", "openblas", "--size", "16", peers=folder)
        assert done.returncode == 3 and f"openblas: it is not opened: {path} is not a regular file" in done.stderr, done
        os.rmdir(path)
        os.mkdir(place)
        with open(os.path.join(place, "code.so"), "w") as stream:
            stream.write("not a library\n")
        os.symlink("place/code.so", path)
        done = bench("--against", "openblas", "--size", "16", peers=folder)
        assert "is not opened" not in done.stderr and f"openblas: it cannot be opened: {place}/code.so: " in done.stderr, done
        os.chmod(place, 0o777)
        done = bench("--against", "openblas", "--size", "16", peers=folder)
        assert done.returncode == 3 and f"openblas: it is not opened: {place} can be written by other users: chmod go-w makes it usable" in done.stderr, done


def duel(*words, against="cublas", libraries=("cuda", "nvrtc", "cublas", "nvml"), cuda="product=1 sm=75", warm=True, **more):
    """The cuda engine and cuBLASLt on fake drivers: the clock of their events is the fakes' own, so that times and ratios are known. Operands stay
    in place, which needs two sets; else they take three times the L2."""
    found = ":".join(os.path.join(FOLDER, x) for x in libraries)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        done = bench("--engine", "cuda", "--against", against, "--samples", "5", "--json", path, *words, *["--warm"] * warm, peers=folder, LD_LIBRARY_PATH=found, FAKE_CUDA=cuda,
                     TILEWRIGHT_CACHE="off", **more)
        return done, [json.loads(x) for x in open(path)] if os.path.exists(path) else []


@case
def cublas_is_held_against_the_cuda_engine():
    done, (ours, first, best) = duel("--shape", "33x20x40", "--pad", "3", warm=False, FAKE_CUBLASLT="us0=800 us1=50 us2=400")
    row = line(done.stdout, "33x20x40 +3").split()
    assert done.returncode == 0 and "cuBLASLt 13.2.7 of f32" in done.stdout, done
    assert row[2] == "1" and row[6:] == ["1", "|", "0.050", "0.050", "|", "1755", "652", "48"], row
    assert "geometric mean of 1, all classes and types: 0.050 of medians, 0.050 of bests" in done.stdout, done.stdout
    assert [(r["library"], r["library_version"]) for r in (first, best)] == [("cublas", "cuBLASLt 13.2.7")] * 2 and ours["library"] == "tilewright"
    assert ours["kernel"] == "cuda_f32_sgemm_simt_128x128" and first["kernel"] == "algorithm 10, tile 20, stages 8, split-k 1", (ours, first)
    assert first["plan"] == "candidate 0 of 3, the heuristic's" and best["plan"] == "candidate 1 of 3, the fastest", (first, best)
    for r, seconds, launches in ((ours, 1e-3, 1), (first, 8e-4, 1), (best, 5e-5, 4)):
        assert abs(r["median_s"] / seconds - 1) < 1e-3 and r["repeats"] == launches and r["samples"] == 5 and r["verified"] == "exact+bound", r
        assert (r["lda"], r["ldb"], r["ldc"], r["engine"], r["dtype"]) == (43, 23, 23, "cuda", "f32"), r
        assert r["bytes_asked"] is r["no_cache_gflops"] is r["bound_asked_gflops"] is None and r["compulsory_bytes"] > 0, r
        assert (r["sm_mhz_before"], r["power_w_after"], r["temperature_c_after"]) == (1755, 651.5, 48), r
        assert r["sets"] * 4 * (33 * 40 + 40 * 20 + 33 * 20) >= 3 * (50 << 20) * 0.8, r  # the L2 three times over, padding not counted


@case
def cublas_gets_the_same_rows():
    for words, lds in (([], (33, 66, 66)), (["--padded"], (36, 68, 68))):
        done, written = duel("--shape", "5x66x33", *words, cuda="product=1 sm=75", FAKE_CUBLASLT="candidates=1 us0=800")
        assert done.returncode == 0 and len(written) == 2 and {r["library"] for r in written} == {"tilewright", "cublas"}, done
        assert all((r["lda"], r["ldb"], r["ldc"]) == lds and r["verified"] == "exact+bound" for r in written), written
        assert ("padded" in done.stdout) == bool(words), done.stdout


@case
def operands_that_stay_and_plans_are_told():
    done, (ours, *_) = duel("--shape", "33x20x40", "--explain-plan")
    assert done.returncode == 0 and ours["method"].endswith("operands in place") and ours["sets"] == 2, (done, ours)
    assert "  plan: cuda_f32_sgemm_simt_128x128 grid 1x1" in done.stdout and "chosen by a rule, not by the cost model" in done.stdout, done.stdout
    done, _ = duel("--shape", "33x20x40", "--explain-plan", cuda="sm=90")  # nothing is computed: wrong, but told
    assert "  cycles expected: sgemm_tma_sm90_128x128 " in done.stdout and ", sgemm_slicedk_sm80_64x32 " in done.stdout, done.stdout


@case
def batches_are_held_against_cublas():
    done, (ours, first) = duel("--shape", "20x30x10", "--batch", "7", cuda="product=1 sm=80", FAKE_CUBLASLT="candidates=1 us0=700")
    row = line(done.stdout, "20x30x10").split()
    assert done.returncode == 0 and "batches of 7 at fixed strides" in done.stdout and row[7:9] == ["0.700", "0.700"], done
    assert ours["kernel"] == "cuda_f32_sgemm_batched_cpasync_sm80_32x32" and "sgemm_batched_cpasync_sm80" in ours["plan"], ours
    for r, seconds in ((ours, 1e-3 / 7), (first, 1e-4)):
        assert abs(r["median_s"] / seconds - 1) < 1e-3 and r["batch"] == 7 and r["verified"] == "exact+bound", r
    for shared, shape in ((0, "20x30x10"), (1, "3x30x10")):  # one item's A, or B, for all: what B's order depends on begins with item m
        done, _ = duel("--shape", shape, "--batch", "7", cuda="product=1 sm=80 shared=%d" % shared, FAKE_CUBLASLT="candidates=1 us0=700")
        assert done.returncode == 1 and "its product is wrong" in done.stderr, (shared, done)
    done, _ = duel("--size", "8", "--batch", "7", FAKES="cublasLtMatrixLayoutSetAttribute=7")
    assert "cuBLASLt's heuristic: failed in cublasLtMatrixLayoutSetAttribute" in done.stdout, done


@case
def cublas_multiplies_what_the_cuda_engine_has_no_kernel_for():
    for words in ((), ("--transpose-a",), ("--transpose-b",), ("--transpose-a", "--transpose-b")):
        done, written = duel("--shape", "17x9x21", "--pad", "1", "--dtype", "bf16", *words, cuda="sm=52", FAKE_CUBLASLT="candidates=1")
        assert done.returncode == 3 and "no product could be compared" in done.stderr, done
        assert "  tilewright: no kernel" in done.stdout and "it needs sm_80" in done.stdout, done.stdout
        assert "it needs sm_80" in written[0]["refused"] and written[0]["median_s"] is None, written
        assert len(written) == 2 and written[1]["verified"] == "exact+bound" and written[1]["plan"] == "candidate 0 of 1, the heuristic's, the fastest", written


@case
def a_wrong_product_on_the_device_gets_no_time():
    done, written = duel("--shape", "33x20x40,8x8x8", cuda="sm=80")
    ours, first, best = written[3:]
    assert done.returncode == 1 and "tilewright: at 33x20x40 of f32 its product is wrong: exact oracle: C[0, 0] is nan" in done.stderr, done
    assert line(done.stdout, "8x8x8").split()[1:3] == ["-", "WRONG"] and "geometric" not in done.stdout, done.stdout
    assert ours["median_s"] is None and ours["verified"] == "WRONG" and first["median_s"] > 0 and best["median_s"] > 0, ours
    done, (ours, first, best) = duel("--size", "8", FAKE_CUBLASLT="wrong=0")
    assert done.returncode == 0 and "cuBLASLt's heuristic: at 8x8x8 of f32 its product is wrong: exact oracle: C[7, 7] is" in done.stderr, done
    assert first["verified"] == "WRONG" and first["median_s"] is None and line(done.stdout, "8x8x8").split()[3:10] == ["WRONG", "0.001", "2", "|", "0.800", "0.800", "|"], done.stdout
    done, (ours, first, best) = duel("--size", "8", FAKE_CUBLASLT="wrong=2")
    assert "cuBLASLt's best: at 8x8x8 of f32 its product is wrong" in done.stderr, done
    assert best["verified"] == "exact+bound" and best["plan"] == "candidate 1 of 3, the fastest", best  # the next best
    assert line(done.stdout, "8x8x8").split()[5:9] == ["1", "|", "0.900", "0.900"], done.stdout
    done, (ours, first, best) = duel("--size", "8", FAKE_CUBLASLT="wrong=0 us0=500")
    assert first["verified"] == "WRONG" and first["median_s"] is None and best["plan"] == "candidate 2 of 3, the fastest" and best["median_s"] > 0, (first, best)
    done, (ours, first) = duel("--size", "8", FAKE_CUBLASLT="wrong=0 candidates=1")
    assert first["verified"] == "WRONG" and done.returncode == 3 and "in no case were tilewright and cuBLASLt both timed" in done.stderr, (first, done)


@case
def candidates_of_cublas_that_do_not_do():
    done, written = duel("--size", "8", FAKE_CUBLASLT="tf32=0 us1=700 us2=900")
    assert done.returncode == 0 and [r["kernel"][:12] for r in written[1:]] == ["algorithm 11"] and written[1]["plan"].startswith("candidate 0 of 2"), written
    for faults, says in (({"FAKE_CUBLASLT": "candidates=0"}, "cuBLASLt's heuristic: has no candidate for such a product"),
                         ({"FAKES": "cublasLtMatmul=13"}, "cuBLASLt's heuristic: failed in cublasLtMatmul with CUBLAS_STATUS_EXECUTION_FAILED (13)"),
                         ({"FAKES": "cublasLtMatmulAlgoGetHeuristic=15"}, "failed in cublasLtMatmulAlgoGetHeuristic with CUBLAS_STATUS_NOT_SUPPORTED (15)")):
        done, (ours, first) = duel("--size", "8", **faults)
        assert done.returncode == 3 and "no product could be compared" in done.stderr and says in done.stdout, (faults, done)
        assert ours["median_s"] > 0 and first["refused"] in says and first["median_s"] is None, (ours, first)
    done, (ours, first, best) = duel("--size", "8", FAKES="cublasLtMatmul=13@1")  # candidate 0, tried for the first time
    assert done.returncode == 0 and first["median_s"] > best["median_s"] > 0, done


@case
def what_a_machine_lacks_for_cublas_is_said():
    done, _ = duel("--size", "8", FAKES="cublasLtCreate=1")
    assert done.returncode == 3 and "cublas: it failed in cublasLtCreate with CUBLAS_STATUS_EXECUTION_FAILED (1)" in done.stderr, done
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(FOLDER, "nvml", "libnvidia-ml.so.1"), os.path.join(folder, "cublas.so"))
        done = bench("--engine", "cuda", "--against", "cublas", "--size", "8", peers=folder, LD_LIBRARY_PATH=f"{FOLDER}/cuda:{FOLDER}/nvrtc", TILEWRIGHT_CACHE="off")
        assert done.returncode == 3 and "cublas: it has no function cublasLtCreate: too old" in done.stderr, done
    done, written = duel("--size", "8", libraries=("cuda", "nvrtc", "cublas"))
    assert done.returncode == 0 and written[0]["sm_mhz_after"] is None and line(done.stdout, "8x8x8").split()[-3:] == ["-", "-", "-"], done
    done, _ = duel("--size", "8", cuda="gpus=0")
    assert done.returncode == 3 and done.stdout == "", done
    done, _ = duel("--size", "8", FAKES="cuMemAlloc_v2=2")
    assert done.returncode == 5 and "cuBLASLt's workspace: cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2)" in done.stderr, done
    done, _ = duel("--size", "8", FAKES="cuEventSynchronize=700@40")
    assert done.returncode == 8 and "cuEventSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)" in done.stderr, done


@case
def where_cublas_is_not_it_says_what_was_looked_for():
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, timeout=60).stdout
    if "libcublasLt.so.1" in listed or os.path.exists("/usr/local/cuda/lib64/libcublasLt.so"):
        raise Skip("this machine has cuBLASLt")
    done, written = duel("--size", "8", libraries=("cuda", "nvrtc"))
    assert done.returncode == 3 and "cublas: it was not found: neither " in done.stderr and "/cublas.so nor libcublasLt.so.13" in done.stderr, done
    assert "CUDA toolkit has it" in done.stderr and not written, done


def match(*words, against="clblast", found=("opencl", "clblast"), peers=None, **more):
    """The opencl engine and a CLBlast that the host computes, on the fake device, which computes too, or on the one that is here where `found` does
    not name it."""
    folders = ":".join(os.path.join(FOLDER, x) for x in found)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        done = bench("--engine", "opencl", "--against", against, "--samples", "3", "--json", path, *words, peers=peers or folder, LD_LIBRARY_PATH=folders,
                     **{"TILEWRIGHT_CACHE": "off", "TILEWRIGHT_SELF_TEST": "off", "FAKE_OPENCL": "gemm=1", **more})
        return done, [json.loads(x) for x in open(path)] if os.path.exists(path) else []


@case
def clblast_is_held_against_the_opencl_engine():
    for layout, ops in ((("--transpose-a",), "tn"), (("--transpose-b",), "nt"), (("--transpose-a", "--transpose-b"), "tt")):
        done, (ours, theirs) = match("--shape", "33x20x40", "--pad", "3", "--warm", *layout)
        assert done.returncode == 0 and ours["op_a"] + ours["op_b"] == ops and ours["verified"] == theirs["verified"] == "exact+bound", (done, theirs)
    done, (ours, theirs, *others) = match("--shape", "33x20x40", "--pad", "3", "--dtype", "f32,f64,f16,bf16")
    row = line(done.stdout.split("of f64")[0], "33x20x40 +3").split()
    assert done.returncode == 0 and "CLBlast 1 of f32" in done.stdout and len(row) == 8 and row[5] == "|" and float(row[6]) > 0, done
    assert "ratios: tilewright / CLBlast; launches" in done.stdout and "geometric mean of 2, all classes and types" in done.stdout, done.stdout
    assert (ours["library"], theirs["library"], theirs["library_version"], theirs["kernel"]) == ("tilewright", "clblast", "CLBlast 1", "CLBlastSgemmWithTempBuffer"), theirs
    assert ours["kernel"].startswith("opencl_f32_") and ours["plan"].startswith(ours["kernel"]) and theirs["plan"] is None, ours
    for r in (ours, theirs, *others[:2]):
        assert 0 < r["min_s"] <= r["median_s"] <= r["p95_s"] <= r["max_s"] and r["samples"] == 3 and r["verified"] == "exact+bound", r
        assert (r["lda"], r["ldb"], r["ldc"], r["engine"]) == (43, 23, 23, "opencl") and "the host's clock from a call until the device is done" in r["method"], r
        assert r["sets"] > 2 and r["bytes_asked"] is None and r["compulsory_bytes"] > 0, r
    assert others[1]["kernel"] == "CLBlastDgemmWithTempBuffer" and others[2]["median_s"] > 0 and others[4]["median_s"] > 0, others
    assert "sums and C in f16 (CLBlastHgemm), the opencl engine with both in f32" in others[3]["refused"] and others[5]["refused"] == "has no product of bf16", others
    assert "  clblast: has no product of bf16" in done.stdout, done.stdout


@case
def clblast_is_held_against_a_device():
    needs("opencl")
    done, (ours, theirs) = match("--shape", "33x20x40", "--pad", "3", "--transpose-a", found=("clblast",))
    for r in (ours, theirs):
        assert done.returncode == 0 and 0 < r["min_s"] <= r["median_s"] and r["verified"] == "exact+bound", (done, r)


@case
def batches_are_held_against_clblast():
    done, (ours, theirs) = match("--shape", "20x30x10", "--batch", "7", "--warm", against="all")
    assert done.returncode == 0 and "batches of 7 at fixed strides, by tw_enqueue_batched()" in done.stdout, done
    assert (ours["batch"], theirs["batch"], theirs["verified"], theirs["kernel"]) == (7, 7, "exact+bound", "CLBlastSgemmStridedBatched"), theirs


@case
def what_clblast_does_wrong_is_said_and_gets_no_time():
    done, (ours, theirs) = match("--size", "8", "--warm", FAKE_CLBLAST="wrong=1 workspace=0")
    assert done.returncode == 3 and "clblast: at 8x8x8 of f32 its product is wrong: exact oracle: C[7, 7] is" in done.stderr, done
    assert "in no case were tilewright and CLBlast both timed" in done.stderr and line(done.stdout, "8x8x8").split()[3] == "WRONG", done
    assert ours["median_s"] > 0 and theirs["median_s"] is None and theirs["verified"] == "WRONG", theirs
    for call, error, says in (("CLBlastSgemmWithTempBuffer", "-2040", "CLBlastUnknownError (-2040)"), ("CLBlastSGemmTempBufferSize", "-99", "an error (-99)")):
        done, (ours, theirs) = match("--size", "8", "--warm", FAKES=f"{call}={error}")
        assert done.returncode == 3 and f"  clblast: failed in {call} with {says}" in done.stdout and theirs["refused"] == f"failed in {call} with {says}", done
        assert ours["median_s"] > 0 and theirs["median_s"] is None and theirs["verified"] == "no", theirs


@case
def what_a_machine_lacks_for_clblast_is_said():
    done, written = match("--size", "8", "--warm", FAKE_OPENCL="gemm=0")  # nothing is computed by ours
    assert done.returncode == 1 and "tilewright: at 8x8x8 of f32 its product is wrong" in done.stderr and written[1]["median_s"] > 0, done
    done, _ = match("--size", "8", FAKES="clCreateContext=-5@2")
    assert done.returncode == 3 and "clCreateContext failed with OpenCL's error -5" in done.stderr and done.stdout == "", done
    done, _ = match("--size", "8", FAKES="clCreateBuffer=-4")
    assert done.returncode == 5 and "no device memory for two sets of operands: clCreateBuffer failed with OpenCL's error -4" in done.stderr, done
    done, written = match("--size", "8", "--warm", FAKES="clEnqueueNDRangeKernel=-5")
    assert "  tilewright: clEnqueueNDRangeKernel failed with CL_OUT_OF_RESOURCES (-5)" in done.stdout and written[1]["verified"] == "exact+bound", done
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(FOLDER, "nvml", "libnvidia-ml.so.1"), os.path.join(folder, "clblast.so"))
        done, _ = match("--size", "8", found=("opencl",), peers=folder)
        assert done.returncode == 3 and "clblast: it has no function CLBlastSGemmTempBufferSize: too old" in done.stderr, done
    done, _ = match("--size", "8", found=("opencl_old",))
    assert done.returncode == 3 and "libOpenCL.so.1 has no clEnqueueReadBufferRect" in done.stderr, done


@case
def where_clblast_is_not_it_says_what_was_looked_for():
    if "libclblast.so.1" in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, timeout=60).stdout:
        raise Skip("this machine has CLBlast")
    done, written = match("--size", "8", found=("opencl",))
    assert done.returncode == 3 and "clblast: it was not found: neither " in done.stderr and "/clblast.so nor libclblast.so.1; ./dev peers fetches it" in done.stderr, done
    assert not written and done.stdout == "", done


@case
def sets_of_a_gpu_and_padding():
    listed = bench("--set", "gpu-half", "--engine", "cpu", "--kernel", "cpu_f32_r01_naive", "--json", "-")
    assert listed.returncode == 3 and {json.loads(x)["dtype"] for x in listed.stdout.splitlines()} == {"bf16", "f16"}, listed
    rows = [json.loads(x) for x in listed.stdout.splitlines()]
    assert len(rows) == 28 and sum(r["op_a"] == "t" for r in rows) == 8 and all("it multiplies f32" in r["refused"] for r in rows), listed
    few = bench("--set", "gpu-few", "--engine", "cpu", "--kernel", "cpu_f32_r01_naive", "--json", "-")
    rows = [json.loads(x) for x in few.stdout.splitlines()]
    assert few.returncode == 3 and len(rows) == 16 and {r["m"] for r in rows} == {1, 16, 64, 128} and {r["dtype"] for r in rows} == {"bf16", "f16"}, few
    types = bench("--set", "gpu-types", "--engine", "cpu", "--kernel", "cpu_f32_r01_naive", "--json", "-")
    rows = [json.loads(x) for x in types.stdout.splitlines()]
    assert types.returncode == 3 and len(rows) == 27 and {r["dtype"] for r in rows} == {"i8", "tf32", "e4m3"}, types
    padded = bench("--size", "17", "--pad", "5", "--samples", "3", "--json", "-")
    r = json.loads(padded.stdout)
    assert padded.returncode == 0 and (r["lda"], r["ldb"], r["ldc"]) == (22, 22, 22) and r["verified"] == "exact+bound" and "17x17x17 +5" in padded.stderr, padded


def types_table(*words, **env):
    tool = os.path.join(ROOT, "tools", "gpu_types.py")
    return subprocess.run(["/usr/bin/python3", "-B", tool, *words], capture_output=True, text=True, timeout=60, env=dict(os.environ, **env))


def timed(library, dtype, median_s, m=64, pad=0, batch=None):
    return {"library": library, "dtype": dtype, "m": m, "n": m, "k": m, "op_a": "n", "op_b": "t", "ldc": m + pad, "batch": batch, "median_s": median_s, "gflops": None if median_s is None else 2e-9 * m**3 / median_s,
            "kernel": "k_" + library, "refused": "it has none" if median_s is None else None, "verified": "exact+bound" if median_s else "no"}


@case
def the_table_of_types_says_what_is_below_its_bar():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.jsonl")

        def told(*records):
            with open(path, "w") as f:
                f.writelines(json.dumps(r) + "\n" for r in records)
            done = types_table("--table", path)
            return done.returncode, done.stdout.splitlines()[1:]

        # the faster of cuBLASLt's two counts; batches have a bar of their own
        code, rows = told(timed("tilewright", "i8", 1e-4), timed("cublas", "i8", 2e-4), timed("cublas", "i8", 0.98e-4))
        assert code == 0 and len(rows) == 1 and rows[0].split()[:6] == ["i8", "64", "x", "64", "x", "64"] and " 0.980 " in rows[0], rows
        code, rows = told(timed("tilewright", "i8", 1e-4), timed("cublas", "i8", 0.96e-4), timed("tilewright", "f64", 1e-4), timed("cublas", "f64", 1.05e-4), timed("tilewright", "f64", 1e-4, m=2000), timed("cublas", "f64", 1e-4, m=2000))
        assert code == 1 and ["BELOW" in row for row in rows] == [True, True, False], rows
        code, rows = told(timed("tilewright", "i8", 1e-4, batch=1000), timed("cublas", "i8", 1.05e-4, batch=1000))
        assert code == 1 and "batch of 1000" in rows[0] and "1.050  1.10" in rows[0] and "BELOW" in rows[0], rows
        # padding is another line; a peer that has none is no fault, ours is
        code, rows = told(timed("tilewright", "i8", 1e-4, pad=1), timed("cublas", "i8", None, pad=1), timed("tilewright", "i8", 1e-4), timed("cublas", "i8", 1e-4), timed("tilewright", "i8", 1e-4, m=63), timed("cublas", "i8", 0.98e-4, m=63))
        assert code == 1 and "NT +1" in rows[0] and "none" in rows[0] and "1.000" in rows[1] and ["BELOW" in row for row in rows] == [False, False, True], rows
        code, rows = told(timed("tilewright", "tf32", None), timed("cublas", "tf32", 1e-4))
        assert code == 1 and "FAILED" in rows[0] and "it has none" in rows[0], rows
        assert told() == (1, [])


@case
def the_table_of_types_is_measured_command_by_command():
    with tempfile.TemporaryDirectory() as folder:
        program, path = os.path.join(folder, "program"), os.path.join(folder, "r.jsonl")
        records = "\n".join(json.dumps(timed(x, "tf32", 1e-4)) for x in ("tilewright", "cublas"))

        def measured(body, *words):
            with open(program, "w") as f:
                f.write("#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --json) to=$2 ;; --append) keeps=1 ;; esac; shift; done\n[ -n \"$keeps\" ] || : >\"$to\"\n" + body)
            os.chmod(program, 0o755)
            return types_table("--records", path, *words, TILEWRIGHT=program)

        write = "cat >>\"$to\" <<'END'\n" + records + "\nEND\n"
        done = measured(write, "--only", "--dtype tf32 ")
        assert done.returncode == 0 and len(open(path).readlines()) == 2 and "bench --dtype tf32" in done.stderr and " 1.000 " in done.stdout, done
        done = measured(write)
        assert done.returncode == 0 and done.stderr.count("  bench ") >= 8 and len(open(path).readlines()) == 2 * done.stderr.count("  bench "), done
        done = measured(write + "echo 'no device' >&2; exit 3\n", "--only", "--dtype tf32 ")
        assert done.returncode == 1 and "exit status 3: no device" in done.stderr and " 1.000 " in done.stdout, done
        done = measured(write + "exec sleep 20\n", "--only", "--dtype tf32 ", "--limit", "1")
        assert done.returncode == 1 and "no end" in done.stderr and " 1.000 " in done.stdout, done
        done = measured(write, "--only", "nothing is so called")
        assert done.returncode == 1 and "no line's command contains" in done.stderr, done


@case
def command_lines_that_make_no_sense():
    for against, words, says in (("cublas", ("--deadline", "3"), "--deadline does not work with --against cublas"), ("cublas", ("--host",), "--host does not work with"),
                                 ("cublas", ("--pause", "9"), "--pause does not work with --against cublas"), ("openblas", (), "this library is compared with the cpu engine, not with cuda"), ("cublas,cublas", (), "names cublas twice")):
        done, _ = duel("--size", "8", *words, against=against)
        assert done.returncode == 2 and says in done.stderr, (against, words, done)
    for against, words, says in (("openblas", (), "this library is compared with the cpu engine, not with opencl"), ("clblast", ("--host",), "--host does not work with --against clblast"),
                                 ("clblast", ("--deadline", "3"), "--deadline does not work with --against clblast")):
        done, _ = match("--size", "8", *words, against=against, found=("opencl",))
        assert done.returncode == 2 and says in done.stderr, (against, words, done)
    refused("--against", "cublas", says="this library is compared with the cuda engine, not with cpu")
    refused("--against", "openblas", "--warm", says="--warm needs --engine cuda or opencl, and --against cublas or clblast; this engine is cpu")
    refused("--against", "openblas", "--batch", "2", says="--batch with --against needs --engine cuda or opencl")
    refused("--warm", says="--warm needs --against cublas or clblast")
    refused("--against", "clblast", says="this library is compared with the opencl engine, not with cpu")
    refused("--against", "openblass", says="did you mean openblas?")
    refused("--against", "openblas,eigen,openblas", says="names openblas twice")
    refused("--against", "openblas", "--kernel", "cpu_f32_r01_naive", says="--kernel does not work with --against")
    refused("--against", "openblas", "--dtype", "bf16", says="f32, f64, cf32 and cf64, not bf16")
    refused("--deadline", "3", says="--deadline needs --against")
    refused("--pause", "200", says="--pause needs --against")


@case
def every_row_of_the_table_can_be_fetched_and_is_named():
    names = re.findall(r'^PEER\("([a-z0-9]+)", "(?:cpu|opencl)"', open(os.path.join(ROOT, "lab/peers.def")).read(), re.M)
    script = open(os.path.join(ROOT, "tools/peers.sh")).read()
    words = re.sub(r"[^a-z0-9]+", " ", bench("--help").stdout)
    assert len(names) >= 8 and "clblast" in names, names
    for name in names:
        assert f"\nget_{name}() {{" in script and f" {name} " in words, name
    fetched = subprocess.run(["./dev", "peers", "--help"], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert fetched.returncode == 0 and "build/peers" in fetched.stdout, fetched


if __name__ == "__main__":
    main()
