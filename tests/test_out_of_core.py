#!/usr/bin/python3 -B
"""test_out_of_core.py - `tilewright multiply --memory`: products larger than the memory that they may take, and than a device's.

    test_out_of_core.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Needs nothing but Python 3.
"""
import contextlib
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys

from support.matrices import archive, complexes, gz, integers, npy, npy_header, pair, product, read_npy, transpose
from support.program import BUILD, PROGRAM, bad, begun, clean_environment, good, needs_zlib, on_terminal, records, run, sanitized
from support.tap import Skip, case, main

FAKES = {"LD_LIBRARY_PATH": os.path.join(BUILD, "tests/fakes/cuda"), "TILEWRIGHT_NVRTC": os.path.join(BUILD, "tests/fakes/nvrtc/libnvrtc.so.13")}


def reals(rows, cols, seed):
    draw = random.Random(seed)
    return [[draw.uniform(-1, 1) for _ in range(cols)] for _ in range(rows)]


def saved(path):
    return open(path, "rb").read()


def sparse(path, rows, cols, code="f8"):
    """A matrix of zeros that takes no room on the disk."""
    with open(path, "wb") as file:
        file.write(npy_header("<" + code, (rows, cols)))
        file.truncate(file.tell() + rows * cols * int(code[1:]))


def same_as_in_memory(*words, limits=("12K", "25K", "60K")):
    """Each limit gives the bytes of the product that is computed as a whole."""
    good("multiply", *words, "-o", "whole.npy")
    for limit in limits:
        done = good("multiply", *words, "-o", "parts.npy", "--memory", limit, "--verify")
        assert " blocks of " in done.stdout and "some of each block" in done.stdout, done.stdout
        assert saved("whole.npy") == saved("parts.npy"), (words, limit, done.stdout)


# ---- the same bits ----------------------------------------------------------------------------------------------------

@case
def every_type_order_op_and_scalar_has_the_bits_of_memory():
    draw = random.Random(3)
    for code, words, numbers in (("f8", [], reals), ("f4", [], reals), ("f2", [], reals), ("i2", [], integers), ("i4", ["--dtype", "i32"], integers), ("c8", [], complexes),
                                 ("c16", [], complexes), ("f4", ["--dtype", "bf16"], reals), ("i1", ["--dtype", "i8"], integers), ("f4", ["--dtype", "f64"], reals),
                                 ("i1", ["--dtype", "i8", "--dtype-c", "f32"], integers), ("f4", ["--dtype", "bf16", "--dtype-c", "bf16"], reals)):
        m, n, k = 97 + draw.randrange(9), 101 + draw.randrange(9), 103 + draw.randrange(9)
        for variant in range(4):
            ops = [word for word, bit in (("--transpose-a", variant & 1), ("--transpose-b", variant & 2)) if bit]
            a, b = numbers(m, k, 1), numbers(k, n, 2)
            order = ">" if variant == 3 else "<"
            npy("A.npy", transpose(a) if variant & 1 else a, code, order, fortran=variant in (1, 2))
            npy("B.npy", transpose(b) if variant & 2 else b, code, order, fortran=variant in (0, 1))
            npy("Z.npy", numbers(m, n, 3), code, fortran=variant == 2)
            factors = [[], ["--alpha", "3"], ["--beta", "-2", "--add", "Z.npy"], ["--alpha", "-3", "--beta", "2", "--add", "Z.npy"]][variant]
            same_as_in_memory("A.npy", "B.npy", *words, *ops, *factors, limits=["45K"])


@case
def remainders_and_single_rows():
    for m, n, k in ((1, 3000, 40), (3000, 1, 40), (65, 1, 5000), (1, 65, 5000), (97, 101, 1), (127, 129, 3)):
        npy("A.npy", reals(m, k, 1)), npy("B.npy", reals(k, n, 2))
        same_as_in_memory("A.npy", "B.npy", limits=["130K"] if k == 5000 else ["7K", "17K"])


@case
def raw_files_and_an_output_that_replaces_an_operand():
    a, b = pair(90, 80, 70, "f4")
    for name in "AB":
        open(f"{name}.raw", "wb").write(saved(f"{name}.npy")[128:])
    words = ["A.raw", "B.raw", "--shape", "90x80x70", "--dtype", "f32"]
    good("multiply", *words, "-o", "whole.raw")
    good("multiply", *words, "-o", "parts.raw", "--memory", "20K")
    assert saved("whole.raw") == saved("parts.raw")
    npy("S.npy", integers(90, 80, 5), "f4")
    good("multiply", "A.npy", "B.npy", "--beta", "1", "--add", "S.npy", "-o", "whole.npy")
    good("multiply", "A.npy", "B.npy", "--beta", "1", "--add", "S.npy", "-o", "S.npy", "--memory", "20K")
    assert saved("whole.npy") == saved("S.npy")


@case
def nan_of_operands_that_alpha_leaves_out():
    npy("A.npy", [[float("nan")] * 90] * 90), npy("B.npy", [[1.0] * 90] * 90), npy("Z.npy", reals(90, 90, 1))
    same_as_in_memory("A.npy", "B.npy", "--alpha", "0", "--beta", "2", "--add", "Z.npy", limits=["12K"])
    done = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "40K", "--verify")
    assert ", 8100 NaN" in done.stdout, done.stdout


@case
def a_long_k_is_divided_and_its_sums_added_up_in_order():
    """The sums over so many steps each, added in ascending order, then alpha and beta: the same by products of each, and in memory."""
    for code, depth, words, limit, numbers in (("f4", 8192, [], "300K", reals), ("f8", 4096, [], "300K", reals), ("f4", 8192, ["--dtype", "bf16"], "500K", reals),
                                               ("i1", 8192, ["--dtype", "i8"], "250K", integers)):
        m, n, k = 3, 2, (4 if code in ("f4", "f8") and not words else 12) * depth + 777
        a, b, z = numbers(m, k, 1), numbers(k, n, 2), numbers(m, n, 3)
        c_code = {"f8": "f8", "f4": "f4", "i1": "i4"}[code]
        npy("A.npy", a, code), npy("B.npy", b, code), npy("Z.npy", z, c_code)
        for p in range(0, k, depth):
            npy("a.npy", [row[p:p + depth] for row in a], code), npy("b.npy", b[p:p + depth], code)
            good("multiply", "a.npy", "b.npy", "-o", "sums.npy", *words, *(["--beta", "1", "--add", "sums.npy"] if p else []))
        _, _, sums = read_npy("sums.npy")
        for alpha, beta in ((1, 0), (3, 0), (-3, 2)):
            factors = ["--alpha", alpha] + (["--beta", beta, "--add", "Z.npy"] if beta else [])
            done = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", limit, "--verify", *words, *factors)
            assert f"k in parts of {depth}" in done.stdout, done.stdout
            good("multiply", "A.npy", "B.npy", "-o", "whole.npy", *words, *factors)
            assert open("C.npy", "rb").read() == open("whole.npy", "rb").read(), (code, alpha, beta)
            if c_code == "i4":
                assert read_npy("C.npy")[2] == [[alpha * x + beta * y for x, y in zip(*rows)] for rows in zip(sums, z)]
                continue
            npy("s.npy", [[x] for row in sums for x in row], c_code), npy("one.npy", [[1]], c_code), npy("z.npy", [[x] for row in z for x in row], c_code)
            good("multiply", "s.npy", "one.npy", "-o", "expected.npy", "--alpha", alpha, *(["--beta", beta, "--add", "z.npy"] if beta else []))
            assert [[x] for row in read_npy("C.npy")[2] for x in row] == read_npy("expected.npy")[2], (code, alpha, beta)


@case
def a_long_k_is_not_divided_where_c_holds_no_sums():
    a, b, z = integers(3, 20000, 1), integers(20000, 2, 2), [[5, -128], [127, 0], [1, 2]]
    npy("A.npy", a, "i1"), npy("B.npy", b, "i1"), npy("Z.npy", z, "i1")
    words = ["--dtype", "i8", "--dtype-c", "i8", "--alpha", "0.01", "--beta", "0.5", "--add", "Z.npy"]
    done = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "150K", "--verify", *words)
    assert "k in parts" not in done.stdout and " blocks of " in done.stdout, done.stdout
    expected = [[max(-128, min(127, round(0.01 * x + 0.5 * y))) for x, y in zip(*rows)] for rows in zip(product(a, b), z)]
    assert read_npy("C.npy")[2] == expected


# ---- limits -----------------------------------------------------------------------------------------------------------

@case
def a_limit_that_is_too_small_names_the_least_that_works():
    for shape in ((40, 50, 60), (3, 5, 9000), (1, 1, 20000)):
        pair(*shape[:2], shape[2])
        done = bad(5, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "100", says="the least that works is --memory ")
        least = int(done.stderr.split()[-1])
        bad(5, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", least - 1, says=f"is --memory {least}\n")
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", least, "--verify")


@case
def limits_that_are_none():
    pair()
    for word in ("0", "-1", "4X", "4KB", "1.5G", "", "K", "99999999999G", "400 M"):
        bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", word, says=[f"--memory: found '{word}'", "such as 400M"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--device-memory", "1G", says="--engine cuda or opencl")
    for word in ("1000", "1K", "1M", "1G", "1T"):
        assert "blocks" not in good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", word).stdout


@case
def files_that_are_read_as_a_whole():
    a, b = pair(60, 60, 60)
    with open("A.mtx", "w") as file:
        file.write("%%MatrixMarket matrix array real general\n60 60\n" + "".join(f"{x}\n" for row in transpose(a) for x in row))
    bad(5, "multiply", "A.mtx", "B.npy", "-o", "C.npy", "--memory", "20K", says=["A.mtx: ", "28800 bytes", "the limit is 20480"])
    bad(5, "multiply", "A.mtx", "B.npy", "-o", "C.npy", "--memory", "40K", says=["A.mtx: is read as a whole", "only .npy and raw files"])
    bad(5, "multiply", "A.npy", "B.npy", "-o", "C.mtx", "--memory", "20K", says=["C.mtx: Matrix Market files are written as a whole", ".npy, .raw or .bin"])
    for limit, says in (("20K", "the limit is 20480"), ("40K", "is read as a whole")):
        done = subprocess.run(f"cat A.npy | {PROGRAM} multiply - B.npy -o C.npy --memory {limit}", shell=True, capture_output=True, text=True)
        assert done.returncode == 5 and says in done.stderr, done
    needs_zlib()
    gz("A.npy")
    archive("d.npz", "A.npy", compressed=True)
    for packed in ("A.npy.gz", "d.npz:A"):
        bad(5, "multiply", packed, "B.npy", "-o", "C.npy", "--memory", "40K", says=[f"{packed}: is read as a whole", "files that are not compressed"])
    archive("s.npz", "A.npy", "B.npy")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    assert " blocks of " in good("multiply", "s.npz:A", "s.npz:B", "-o", "D.npy", "--memory", "20K", "--verify").stdout
    assert open("C.npy", "rb").read() == open("D.npy", "rb").read()
    done = subprocess.run(f"{PROGRAM} multiply - B.npy -o C.npy --memory 20K < A.npy", shell=True, capture_output=True, text=True)
    assert done.returncode == 0 and " blocks of " in done.stdout, done


@case
def a_raw_output_that_begins_as_gzip_data_does():
    """It has no name while it is checked, and its first bytes are a number."""
    first, = struct.unpack("<f", b"\x1f\x8b\x08\x3f")
    npy("A.npy", [[first] + [0] * 59] + integers(59, 60, 1), "f4")
    npy("B.npy", [[int(i == j) for j in range(60)] for i in range(60)], "f4")
    done = good("multiply", "A.npy", "B.npy", "-o", "C.raw", "--memory", "20K", "--verify")
    assert " blocks of " in done.stdout and "verified" in done.stdout, done
    assert open("C.raw", "rb").read(4) == b"\x1f\x8b\x08\x3f"


@case
def the_memory_of_the_process_stays_below_the_limit():
    if sanitized():
        raise Skip("sanitizers take memory of their own")
    starts = "import os, sys\npid = os.fork()\nif pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n_, status, used = os.wait4(pid, 0)\nprint(status, used.ru_maxrss)"
    def peak(*words):
        """By a small process: what one is before it becomes the program counts as the program's."""
        done = subprocess.run([sys.executable, "-S", "-E", "-c", starts, PROGRAM, "multiply", *words, "--threads", "1", "--quiet"], env=clean_environment(),
                              capture_output=True, text=True)
        status, kib = map(int, done.stdout.split())
        assert status == 0, (words, done)
        return kib << 10
    npy("a.npy", [[1.0]]), sparse("A.npy", 1500, 1500), sparse("B.npy", 1500, 1500)
    base = peak("a.npy", "a.npy", "-o", "c.npy")
    assert peak("A.npy", "B.npy", "-o", "C.npy") - base > 40 << 20
    for mib in (8, 16):
        taken = peak("A.npy", "B.npy", "-o", "C.npy", "--memory", f"{mib}M") - base
        assert taken < (mib << 20) + (3 << 19), f"{taken} bytes, within {mib} MiB"


@case
def less_address_space_than_the_matrices_take():
    if sanitized():
        raise Skip("sanitizers take all of the address space")
    sparse("A.npy", 4000, 8), sparse("B.npy", 8, 6000)
    limit = 200 << 20
    done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--threads", "1", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.returncode == 0 and " blocks of " in done.stdout, done
    assert os.path.getsize("C.npy") == 128 + 4000 * 6000 * 8


@contextlib.contextmanager
def memory_group(limit):
    """A control group with this limit, where this user can make one: a function that moves a process there."""
    for above, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = f"{above}/tilewright-test.{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError:
            continue
        def put(name, value):
            with open(f"{group}/{name}", "r+") as file:
                file.write(str(value))
        try:
            put(name, limit)
        except OSError:  # version 2, whose memory controller is not enabled here
            os.rmdir(group)
            continue
        try:
            yield lambda: put("cgroup.procs", os.getpid())
        finally:
            os.rmdir(group)
        return
    raise Skip("no control group with a limit of memory can be made here")


@case
def the_limit_of_a_control_group_is_kept():
    if sanitized():
        raise Skip("sanitizers take more memory than the group has")
    sparse("A.npy", 2000, 1000), sparse("B.npy", 1000, 3000)
    with open("C.mtx", "w") as file:
        file.write("%%MatrixMarket matrix array real general\n3000 4000\n" + "0\n" * 12000000)
    with memory_group(64 << 20) as enter:
        done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--threads", "1", preexec_fn=enter)
        assert done.returncode == 0 and "more than 50.3 MB: C in " in done.stdout, done
        done = run("verify", "A.npy", "B.npy", "C.mtx", preexec_fn=enter)
        assert done.returncode == 5 and "need 96000000 bytes of memory, the limit is 67108864" in done.stderr, done


# ---- what goes wrong on the way ---------------------------------------------------------------------------------------

@case
def a_full_disk_is_found_before_the_work():
    pair(90, 90, 90)
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "20K", "--quiet", preexec_fn=limit)
    assert done.returncode == 7 and "C.npy: cannot be written: there is no room for the whole of it" in done.stderr, done
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy"]


@case
def a_check_has_its_memory_before_the_work():
    """From the least limit, of addresses or of data, under which a product succeeds unchecked on: with --verify it is refused at once, or succeeds."""
    if sanitized():
        raise Skip("AddressSanitizer needs terabytes of addresses")
    draw = random.Random(3)

    def limited(kib, *words):
        return run("multiply", "A.npy", "B.npy", *words, "--threads", "1", "-v", preexec_fn=lambda: resource.setrlimit(limit, (kib << 10, kib << 10)))

    for limit, name, n, *more in ((resource.RLIMIT_AS, "C.npy", 900), (resource.RLIMIT_AS, "C.mtx", 400), (resource.RLIMIT_DATA, "C.mtx", 400),
                                  (resource.RLIMIT_AS, "C.raw", 900, "--add", "C0.npy", "--beta", "1")):
        npy("A.npy", [[draw.random(), 1] for _ in range(n)]), npy("B.npy", [[draw.random() for _ in range(n)] for _ in range(2)])
        with open("C0.npy", "wb") as file:
            file.write(npy_header("<f4", (n, n)) + bytes(4 * n * n))
        low, high = 1 << 10, 1 << 20
        while high - low > 128:
            middle = (low + high) // 2
            low, high = (low, middle) if limited(middle, "-o", name, *more).returncode == 0 else (middle, high)
        codes = []
        for more_kib in range(0, 16000, 1500):
            if os.path.exists(name):
                os.remove(name)
            done = limited(high + more_kib, "-o", name, "--verify", *more)
            codes.append(done.returncode)
            assert done.returncode in (0, 5) and os.path.exists(name) == (done.returncode == 0), (more_kib, done)
            assert done.returncode == 0 or done.stdout == "", (more_kib, done)  # which begins with the plan
        assert codes == sorted(codes, reverse=True) and codes[-1] == 0, codes


def long_product(*words):
    """A product that takes seconds, once its output is there."""
    child = subprocess.Popen([PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--threads", "1", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=clean_environment(TILEWRIGHT_CPU="base"))
    begun(child)
    return child


@case
def an_interrupt_leaves_nothing():
    sparse("A.npy", 3000, 3000), sparse("B.npy", 3000, 3000)
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGQUIT, -signal.SIGQUIT)):
        child = long_product("--memory", "8M")
        child.send_signal(number)
        _, text = child.communicate(timeout=60)
        assert child.returncode == code and sorted(os.listdir(".")) == ["A.npy", "B.npy"], (child.returncode, text, os.listdir("."))


@case
def a_file_that_becomes_shorter():
    for name in ("A.npy", "B.npy"):
        sparse("A.npy", 3000, 3000), sparse("B.npy", 3000, 3000)
        child = long_product("--memory", "8M")
        os.truncate(name, 1000)
        _, text = child.communicate(timeout=60)
        assert child.returncode == 6 and f"{name}: the file became shorter while it was in use" in text, (child.returncode, text)
        assert sorted(os.listdir(".")) == ["A.npy", "B.npy"]


@case
def a_file_that_is_changed():
    """While the program waits for a reader of its first line, when A and B are open and nothing of them is read."""
    pair(90, 90, 90)
    for name, *words in (("A.npy",), ("B.npy", "--verify"), ("C0.npy", "--add", "C0.npy", "--beta", "1")):
        npy("C0.npy", [[1.0] * 90] * 90)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        child = subprocess.Popen([PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "20K", *words], stdout=writer, stderr=subprocess.PIPE, text=True,
                                 env=clean_environment())
        os.close(writer)
        begun(child)
        with open(name, "r+b") as file:
            file.write(b"\x93")
        while os.read(reader, 1 << 16):
            pass
        os.close(reader)
        assert child.wait(60) == 6 and child.stderr.read().endswith(f"multiply: {name}: the file was changed while it was in use\n")
        child.stderr.close()
        assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C0.npy"]


# ---- what it tells ----------------------------------------------------------------------------------------------------

@case
def records_and_words():
    pair(100, 90, 80)
    done = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "30K", "--verify", "--json", "r.json", "-v")
    [record] = records(saved("r.json").decode())
    across, down = map(int, re.search(r"C in (\d+) x (\d+) blocks", done.stdout).groups())
    assert record["panels"] >= across * down and record["verified"] == "elements sampled" and record["error_ratio"] <= 1, record
    assert record["bytes_read"] >= (100 * 80 + 80 * 90) * 8 and record["memory_bytes"] <= 30 << 10, record
    assert 0 < record["read_s"] and 0 < record["multiply_s"] <= record["median_s"] and 0 < record["write_s"], record
    assert done.stdout.startswith("memory     194 kB as a whole, more than 30.7 kB: C in ") and "read in panels" in done.stdout and "waiting for panels" in done.stdout, done.stdout
    assert good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "30K", "--quiet").stdout == ""
    whole = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", "r.json", "-v")
    assert "memory     194 kB as a whole\n" in whole.stdout and records(saved("r.json").decode())[0]["panels"] is None


@case
def a_terminal_sees_rate_and_time_left():
    sparse("A.npy", 2000, 2000), sparse("B.npy", 2000, 2000)
    shown = on_terminal("multiply", "A.npy", "B.npy", "-o", "C.npy", "--memory", "8M", "--threads", "1")
    assert re.search(r"multiplying at [0-9.]+ GFLOP/s, \d+ s left +\d+ %", shown), shown[:2000]


# ---- devices ----------------------------------------------------------------------------------------------------------

def on_fake(*words, code=0, **variables):
    done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", *words, env={**FAKES, "TILEWRIGHT_CACHE": "off", "FAKE_CUDA": "product=1 sm=75", **variables})
    assert done.returncode == code, done
    return done


@case
def larger_than_the_memory_of_a_gpu():
    for code in ("f4", "f8"):
        a, b = integers(520, 24, 1), integers(24, 530, 2)
        npy("A.npy", a, code), npy("B.npy", b, code)
        c = product(a, b)
        for words in (["--device-memory", "700K"], ["--device-memory", "1M"], []):
            on_fake(*words, FAKE_LOG="log", FAKE_CUDA="product=1 sm=75" + ("" if words else " mib=1"))
            launches = open("log").read().split("\n").count("cuLaunchKernel")
            assert read_npy("C.npy")[2] == c and launches > 1, (code, words, launches)
            os.remove("log")
        npy("Z.npy", c, code)
        on_fake("--device-memory", "700K", "--beta", "-1", "--add", "Z.npy", "--memory", "600K", "--verify")
        assert read_npy("C.npy")[2] == [[0] * 530] * 520
    done = on_fake("--device-memory", "10K", code=5)
    assert "10240 bytes may be used" in done.stderr and not os.path.exists("log"), done


@case
def on_several_gpus():
    a, b = integers(520, 24, 1), integers(24, 530, 2)
    npy("A.npy", a, "f4"), npy("B.npy", b, "f4")
    for word, count in (("0,1", 2), ("2,0", 2), ("all", 3)):
        done = on_fake("--device", word, "--device-memory", "1M", FAKE_CUDA="product=1 sm=75 gpus=3 order=5")
        assert read_npy("C.npy")[2] == product(a, b) and f"{count}, which copy from each other's memory" in done.stdout, done
    done = on_fake("--device", "all", "--device-memory", "1M", FAKE_CUDA="product=1 sm=75 gpus=2 peer=0")
    assert read_npy("C.npy")[2] == product(a, b) and "(no peer access): copies go through the host" in done.stdout, done
    assert "device 7 was asked for, CUDA has 2" in on_fake("--device", "0,7", code=3, FAKE_CUDA="gpus=2").stderr
    assert "found '0;1', expected all, or whole numbers" in on_fake("--device", "0;1", code=2).stderr
    on_the_cpu = bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--device", "all", says="several devices need --engine cuda")
    assert "options." not in on_the_cpu.stderr, on_the_cpu
    assert "--device names 1 twice" in on_fake("--device", "1,1", code=2, FAKE_CUDA="gpus=2").stderr


if __name__ == "__main__":
    main()
