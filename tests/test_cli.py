#!/usr/bin/python3 -B
"""test_cli.py - the program `tilewright` as its users meet it: usage, exit codes, devices, records and help.

    test_cli.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Needs nothing but Python 3.
"""
import functools
import os
import re
import resource
import shutil
import subprocess
import sys

from support.matrices import npy_header, pair, product, read_npy
from support.program import BUILD, FAKE_OPENCL, PROGRAM, bad, clean_environment, engines, good, measured, needs, on_terminal, records, run, sanitized
from support.tap import Skip, case, main

FULL = "--full" in sys.argv
NO_OPENCL = {"OCL_ICD_VENDORS": "/nowhere"}

# ---- what several cases look at, since it takes the program seconds: run once ---------------------------------------------

@functools.cache
def told(command):
    """What `devices`, or among odd variables `doctor`, says of this machine in records and in text."""
    return run(command, "--json", "-", env=odd_variables() if command == "doctor" else {})


def odd_variables():
    """What doctor's advice and its list of variables speak of. OpenCL is not found by its loader: doctor's self-test would compile its kernels."""
    return {**NO_OPENCL, "OCL_ICD_FILENAMES": "", "OMP_NUM_THREADS": "2x", "TILEWRIGHT_KERNELS": "/nowhere", "TILEWRIGHT_PEERS": "/none",
            "TMPDIR": "/tmp", "HOME": another_user_s()}


def another_user_s():
    """A folder of another user: only root can make one, to others /usr is one."""
    if os.geteuid() != 0:
        return "/usr"
    os.mkdir("theirs")
    os.chown("theirs", 65534, 65534)
    return os.path.abspath("theirs")


@functools.cache
def selftest(*words, **env):
    """The text, the records of the CPU, and those of OpenCL."""
    text = good("selftest", *words, "--json", "selftest.json", timeout=3600 if FULL else 600, env=env).stdout
    lines = records(open("selftest.json").read())
    return text, [r for r in lines if not r["kernel"].startswith("opencl_")], [r for r in lines if r["kernel"].startswith("opencl_")]


def whole_selftest():
    """With --full of OpenCL too, where it has a device: its driver compiles each form of each kernel."""
    return selftest("--engine", "cpu,opencl" if FULL and "opencl" in engines() else "cpu")


@functools.cache
def base_selftest():
    """What a terminal shows of it by the instruction set that all processors have."""
    return on_terminal("selftest", *([] if FULL else ["--dtype", "i8"]), TILEWRIGHT_CPU="base")


FAKES = os.path.join(BUILD, "tests", "fakes")
FAKE_GPU = {**FAKE_OPENCL, "FAKE_OPENCL": "gemm=1"}


def on_opencl(*words):
    """The process of a command on OpenCL: of a fake that computes each kernel's product by plain loops, since a driver compiles each for
    seconds; with --full of the driver that is here."""
    if FULL:
        needs("opencl")
    return run(*words, env={} if FULL else FAKE_OPENCL)


def good_on_opencl(*words):
    done = measured(lambda: on_opencl(*words))
    assert (done.returncode, done.stderr) == (0, ""), (words, done)
    return done


# ---- usage: exit code 2 -----------------------------------------------------------------------------------------------

@case
def no_command_shows_the_overview_on_stderr():
    done = run()
    assert (done.returncode, done.stdout) == (2, "") and "COMMANDS" in done.stderr


@case
def unknown_words_get_a_hint():
    bad(2, "multiplyy", says=["'multiplyy'", "did you mean multiply?"], command="")
    bad(2, "xyzzy", says=["unknown command", "tilewright help"], command="")
    bad(2, "help", "xyzzy", says="unknown command")
    bad(2, "multiply", "--transpos-a", says="did you mean --transpose-a?")
    bad(2, "multiply", "--xyzzy", says=["unknown option '--xyzzy'", "multiply --help"])
    bad(2, "multiply", "-z", says="'-z'")
    bad(2, "multiply", "--trans", says="write it out")
    bad(2, "multiply", "--verify=1", says="takes no value")
    bad(2, "devices", "--threads", "1", says="unknown option")


@case
def operands_are_counted():
    bad(2, "multiply", "A.npy", "-o", "C.npy", says="found 1 operand, expected 2")
    bad(2, "multiply", "A", "B", "D", "-o", "C.npy", says="found 3 operands")
    bad(2, "verify", "A", "B", says="expected 3")
    bad(2, "bench", "A", says="found 1 operand")
    bad(2, "report", "-o", "r.html", says=["found 0 operands, expected at least 1", "RECORDS... -o FILE.html", "tilewright help report"])


@case
def numbers_are_read_strictly():
    for word in ("abc", "-1", "0", "1e99", "3x", "0x10", "1.5", " 1", "+1", "", "99999999999999999999", "4097"):
        bad(2, "bench", "--threads", word, says=["--threads", f"'{word}'", "a whole number from 1 to 4096"])
    bad(2, "bench", "--threads", says=["--threads", "needs a value"])
    for word in ("-1", "x", "", "18446744073709551616", "1 "):
        bad(2, "bench", "--seed", word, says="--seed")
    for word in ("abc", "", "1x", "1e999", "-1e999", " 1", "1e-999", "--", "nan", "inf", "-inf", "infinity", "NaN"):
        bad(2, "multiply", "A", "B", "-o", "C.npy", "--alpha", word, says=["--alpha", f"'{word}'", "expected a number"])
    for word in ("3x", "3", "3x4", "3x4x5x6", "axbxc", "3x4x0", "3x-4x5", "1x2x99999999999999999999", "", "3x4x5,", ",3x4x5",
                 "3x4x5,,6x7x8", "3 x4x5", "0x1x1"):
        bad(2, "bench", "--shape", word, says=["--shape", f"'{word}'", "MxNxK"])
    for word in ("1,,2", "1,", ",1", "0", "x", "1;2"):
        bad(2, "bench", "--size", word, says=["--size", f"'{word}'"])
    bad(2, "ladder", "--size", "64,", says="--size")
    bad(2, "ladder", "--size", "64,x", says="--size")
    bad(2, "ladder", "--tile", "0", says="--tile")


@case
def words_are_chosen_from_lists():
    bad(2, "bench", "--set", "round", says=["'round'", "square small odd skinny transposed all"])
    bad(2, "bench", "--dtype", "f32,f99", says=["f32,f99", "f32 f64"])
    bad(2, "multiply", "A", "B", "-o", "C.npy", "--engine", "abacus", says="auto cpu opencl cuda")
    bad(2, "multiply", "A", "B", "-o", "C.npy", "--engine", "cpu,opencl", says="one of: auto cpu opencl cuda")
    for command in ("ladder", "bench", "selftest"):
        bad(2, command, "--engine", "cpu,abacus", says=["cpu,abacus", "auto cpu opencl cuda"])
        bad(2, command, "--engine", "cpu,opencl", "--device", "1", says="--device 1 counts within one engine")
    bad(2, "ladder", "--rung", "r99", says=["r99", "r01_naive"])
    bad(2, "bench", "--kernel", "cpu_f32_r01_naiv", says="did you mean cpu_f32_r01_naive?")


@case
def options_that_do_not_go_together():
    pair()
    bad(2, "multiply", "A.npy", "B.npy", says="-o FILE is missing")
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "1", says=["--beta", "--add"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--add", "A.npy", says=["--add", "--beta"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f32", "--alpha", "1e99", says=["--alpha", "f32"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "i8", "--alpha", "0.5", says=["--alpha", "0.5", "whole number"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16", "--alpha", "1e99", says=["--alpha", "f32"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--append", says="--json")
    for option, values in (("-o", ["C.npy", "D.npy"]), ("--alpha", ["1", "1"]), ("--dtype", ["f32", "f64"]), ("--seed", ["1", "2"])):
        bad(2, "multiply", "A.npy", "B.npy", "-o" if option == "-o" else "--output=C.npy", *values[:1] * (option == "-o"), option, *values[-1:],
            *[x for x in (option, values[0]) if option != "-o"], says="is given twice")
    bad(2, "bench", "--size", "8", "--size", "16", says=["--size is given twice", "commas between them"])
    bad(2, "bench", "--shape", "2x2x2", "--size", "2", says="give one")
    bad(2, "bench", "--set", "transposed", "--transpose-a", says="--set transposed")
    bad(2, "bench", "--host", "--kernel", "cpu_f32_r01_naive", says="--host")
    bad(2, "ladder", "--rung", "r01", "--tile", "4", says="--tile")
    bad(2, "ladder", "--size", "8", "--shape", "8x8x8", says="give one")
    bad(2, "ladder", "--skinny", "--tile", "8", says="--tile")


@case
def output_ending_is_checked_before_anything_is_read():
    for name in ("C", "C.txt", "C.npz", "-", "dir.npy/C"):
        bad(2, "multiply", "missing.npy", "missing.npy", "-o", name, says=[name, ".npy, .mtx, .raw or .bin"])


@case
def raw_operands_need_shape_and_type():
    open("A.raw", "wb").write(bytes(32))
    for words in ([], ["--shape", "2x2x2"], ["--dtype", "f64"]):
        bad(2, "multiply", "A.raw", "A.raw", "-o", "C.npy", *words, says=["A.raw", "--shape MxNxK", "--dtype T"])


# ---- devices: exit code 3 ---------------------------------------------------------------------------------------------

@case
def missing_engines_and_devices():
    pair()
    missing = {"cuda": ["CUDA driver"], "opencl": ["OpenCL"]}
    for engine in missing.keys() - engines():
        bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", engine, says=missing[engine])
        for command in ("bench", "ladder", "selftest"):
            bad(3, command, "--engine", engine, says=missing[engine])
    bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--device", "7", says=["device 7", "device 0"])
    bad(3, "ladder", "--engine", "cpu", "--skinny", says="the cpu engine has none of these rungs")
    for words, where in ((["r13q"], "r13q_fp8 is a rung of cuda (e4m3, e5m2): give --engine cuda\n"),
                         (["r13q", "--dtype", "i8"], "give --engine cuda --dtype e4m3\n"), (["r04", "--dtype", "i8"], "): give --dtype f32\n")):
        assert where in run("ladder", "--size", "32", "--rung", *words).stdout, words
    bad(2, "devices", env={"TILEWRIGHT_CPU": "mmx"}, says=["TILEWRIGHT_CPU", "mmx"])
    done = run("bench", "--dtype", "f64", "--size", "16", "--kernel", "cpu_f32_r01_naive")
    assert done.returncode == 3 and "refused" in done.stdout, done


@case
def without_a_cuda_driver_the_others_still_work():
    if "cuda" in engines():
        raise Skip("a CUDA device is here")
    done = run("ladder", "--engine", "cuda,cpu", "--rung", "r01", "--size", "32", "--samples", "3", "--json", "r.json")
    assert done.returncode == 3 and done.stderr.startswith("tilewright: ladder: the CUDA driver"), done
    assert "libcuda.so.1" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert [r["kernel"] for r in records(open("r.json").read())] == ["cpu_f32_r01_naive"] and "r01_naive" in done.stdout
    for command in ("doctor", "devices"):
        assert re.search(r"cuda +the CUDA driver .*NVIDIA's driver brings", told(command).stderr), command


# ---- memory: exit code 5 ----------------------------------------------------------------------------------------------

@case
def a_result_larger_than_the_machine():
    for rows, code, says in ((30_000_000, 7, "C.npy: cannot be written: there is no room for the whole of it"), (2 ** 40, 5, "memory")):
        open("A.npy", "wb").write(npy_header("<f4", (rows, 0)))
        open("B.npy", "wb").write(npy_header("<f4", (0, rows)))
        bad(code, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--quiet", says=says)
    bad(5, "bench", "--shape", "99999999x99999999x32", says=["memory", "99999999 x 99999999 x 32 (m x n x k) in f32", "GB"])


# ---- records ----------------------------------------------------------------------------------------------------------

FIELDS = ("engine device kernel rung dtype m n k op_a op_b method min_s median_s p95_s gflops verified error_ratio bytes_asked "
          "compulsory_bytes peak_gflops bandwidth_gbps no_cache_gflops bound_gflops fraction_of_bound version").split()


@case
def doctor_passes_on_what_an_engine_advises():
    if not os.path.isdir("/etc/OpenCL/vendors") or not os.listdir("/etc/OpenCL/vendors"):
        return
    out = told("doctor").stderr
    state = next((line.split(None, 2)[2] for line in out.splitlines() if line.startswith("engine opencl")), "")
    assert "pocl-opencl-icd" in state and re.search(r"^advice \d +opencl: " + re.escape(state), out, re.M), out


def doctor(**env):
    """Its facts by name."""
    return records(run("doctor", "--json", "-", env={**NO_OPENCL, **env}).stdout)[0]


@case
def doctor_says_that_openmp_s_threads_are_passed_over():
    """Each runs doctor's self-test: most only with --full."""
    ignored = r"^advice \d +OMP_NUM_THREADS is ignored"
    assert re.search(ignored, told("doctor").stderr, re.M)
    for wrong in ("many", "0", "5000") if FULL else ():
        assert re.search(ignored, good("doctor", env={"OMP_NUM_THREADS": wrong, **NO_OPENCL}).stdout, re.M), wrong
    for env in ({"OMP_NUM_THREADS": "2,1"}, {"OMP_NUM_THREADS": ""}) if FULL else ():
        assert "is ignored" not in good("doctor", env={**env, **NO_OPENCL}).stdout, env


@case
def a_driver_that_ends_the_program_is_told_with_what_to_do():
    """PoCL aborts where it finds no linker, and calls exit() where its cache takes no file."""
    needs("opencl")
    words = ("ladder", "--engine", "opencl", "--rung", "r01", "--size", 16, "--json", "r.json")
    os.makedirs("empty/cache")
    for variables, limit, says in (({"PATH": os.path.abspath("empty")}, None, ("aborted: signal 6", "PATH has none", "binutils")),
                                   ({}, 4096, ("ended the program", "POCL_CACHE_DIR")))[:2 if FULL else 1]:
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))} if limit else {}
        done = run(*words, env={"XDG_CACHE_HOME": os.path.abspath("empty/cache"), "TILEWRIGHT_CACHE": "off", **variables}, **limits)
        if done.returncode == 0:
            raise Skip("this device compiles without a linker and without files")
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 8 and last.startswith("tilewright: ladder: the driver of the opencl engine (") and all(x in last for x in says), (done.returncode, done.stderr)
        assert os.listdir(".") == ["empty"], os.listdir(".")
    if FULL:
        out = run("doctor", env={"PATH": os.path.abspath("empty"), "XDG_CACHE_HOME": os.path.abspath("empty/cache")})
        assert out.returncode == 8 and re.search(r"^advice \d +PoCL links each kernel by ld", out.stdout, re.M), out.stdout


@case
def drivers_keep_nothing_in_another_user_s_home():
    """Neither in HOME itself nor behind a link of the user's own."""
    needs("opencl")
    if os.geteuid() != 0:
        raise Skip("only root can make a folder of another user")
    os.makedirs("theirs/home"), os.mkdir("ours"), os.mkdir("temporary")
    os.chown("theirs", 65534, 65534), os.chown("theirs/home", 65534, 65534)
    os.symlink("../theirs", "ours/.cache")
    for home in ("theirs/home", "ours") if FULL else ("ours",):
        variables = {"HOME": os.path.abspath(home), "XDG_CACHE_HOME": "", "TILEWRIGHT_CACHE": "off", "TMPDIR": os.path.abspath("temporary")}
        good("ladder", "--engine", "opencl", "--rung", "r01", "--size", 16, env=variables)
        assert os.listdir("theirs") == ["home"] and os.listdir("theirs/home") == [] and os.listdir("ours") == [".cache"]
        made = os.stat(f"temporary/tilewright-pocl-{os.geteuid()}")
        assert made.st_mode & 0o77 == 0, made


@case
def doctor_tells_every_variable_that_is_read():
    root, read, indirect = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."), set(), set()
    for path in subprocess.run(["find", *(os.path.join(root, f) for f in ("blas", "cli", "course", "io", "lab", "multiply", "program", "ranks", "src", "tune")), "-name", "*.[ch]"],
                               capture_output=True, text=True).stdout.split():
        text = open(path).read()
        arguments = re.findall(r"\bgetenv\(([^)]*)\)", text.replace("secure_getenv", "getenv"))
        read.update(a.strip('"') for a in arguments if a.startswith('"'))
        if any(not a.startswith('"') for a in arguments):
            indirect.add(os.path.relpath(path, root))
    # the second hands a compiler's variables on, the third reads what launchers of MPI set
    assert indirect == {"cli/cmd_doctor.c", "course/judge/verdict.c", "ranks/launched.c"}, indirect
    out = told("doctor").stderr
    assert re.search(r"^advice \d +HOME belongs to another user", out, re.M), out
    facts, page = records(told("doctor").stdout)[0], open(os.path.join(root, "docs", "REFERENCE.md")).read()
    unset = re.search(r"^not set +((?:\S.*\n {10,})*\S.*)\n", out, re.M)[1].split()
    assert unset == [name for name in facts if facts[name] == "not set"] and len(unset) > 9, (unset, facts)
    assert {name for name in facts if name.isupper()} == read and len(read) >= 14, read ^ {name for name in facts if name.isupper()}
    assert [facts["TILEWRIGHT_KERNELS"], facts["TILEWRIGHT_PEERS"], facts["TILEWRIGHT_NVRTC"]] == ["/nowhere", "/none", "not set"], facts
    assert not [name for name in read if f"`{name}`" not in page], "docs/REFERENCE.md does not name them all"


@case
def doctor_tells_which_compiler_and_which_libraries_there_are():
    nvrtc, cublas = f"{FAKES}/nvrtc/libnvrtc.so.13", f"{FAKES}/cublas/libcublasLt.so.13"
    facts = doctor(TILEWRIGHT_NVRTC=nvrtc, LD_LIBRARY_PATH=f"{FAKES}/cublas:{FAKES}/clblast", OMP_NUM_THREADS="many", TILEWRIGHT_THREADS="1")
    assert not any("is ignored" in str(value) for value in facts.values()), facts  # TILEWRIGHT_THREADS goes before it
    assert facts["compiler cuda"] == f"NVRTC 13.0 for sm_75 to sm_100, {nvrtc}", facts
    assert facts["library cublas"] == f"cuBLASLt 13.2.7, {cublas}", facts
    assert facts["library clblast"] == f"CLBlast 1, {FAKES}/clblast/libclblast.so.1", facts
    has_zlib = re.search(r"^ZLIB_LIBRARY:\w+=/", open(os.path.join(BUILD, "CMakeCache.txt")).read(), re.M)
    assert facts["compressed"].startswith("reads .gz and .npz" if has_zlib else "not in this build"), facts
    os.mkdir("peers", 0o755)
    open("peers/cublas.so", "w").write("no library\n")
    os.chmod("peers/cublas.so", 0o644)
    facts = doctor(TILEWRIGHT_NVRTC="/nowhere/libnvrtc.so", TILEWRIGHT_PEERS=os.path.abspath("peers"))
    assert facts["compiler cuda"].startswith("NVRTC, the CUDA run-time compiler, cannot be used: /nowhere/libnvrtc.so: "), facts
    assert facts["library cublas"].startswith(f"cannot be opened: {os.path.abspath('peers')}/cublas.so: "), facts


@case
def each_command_writes_json_on_stdout_and_text_on_stderr():
    pair()
    calls = (["multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify"], ["verify", "A.npy", "B.npy", "C.npy"], ["devices"],
             ["version"], ["doctor"], ["bench", "--size", "32", "--samples", "3"], ["ladder", "--size", "32", "--samples", "3"])
    for words in calls:
        done = told(*words) if words[0] in ("devices", "doctor") else run(*words, "--json", "-")
        assert done.returncode == 0 and done.stderr != "", (words, done)
        lines = records(done.stdout)
        assert lines and all(isinstance(line, dict) for line in lines), done.stdout
        if words[0] in ("multiply", "bench", "ladder"):
            for name in FIELDS:
                assert name in lines[0], (words, name)


@case
def json_files_are_replaced_or_appended_to():
    for words, count in (([], 1), ([], 1), (["--append"], 2), ([], 1)):
        good("bench", "--size", "8", "--samples", "3", "--json", "r.json", *words)
        assert len(records(open("r.json").read())) == count
    before = open("r.json").read()
    bad(3, "bench", "--device", "7", "--json", "r.json")
    assert open("r.json").read() == before and os.listdir(".") == ["r.json"]
    good("version", "--json", "/dev/null")
    assert not os.path.isfile("/dev/null")


@case
def bench_times_what_it_verified():
    done = good("bench", "--dtype", "f32,f64", "--shape", "65x33x100,1x1x1", "--samples", "3", "--threads", "1", "--json", "r.json")
    assert done.stdout.count("exact+bound") == 4, done.stdout
    for r in records(open("r.json").read()):
        assert r["verified"] == "exact+bound" and r["threads"] == 1 and r["samples"] == 3, r
        assert 0 < r["min_s"] <= r["median_s"] <= r["p95_s"] and r["fraction_of_bound"] <= 1.02, r
        assert abs(r["gflops"] * 1e9 * r["median_s"] / (2 * r["m"] * r["n"] * r["k"]) - 1) < 1e-9, r
    turned = good("bench", "--shape", "20x30x40", "--transpose-a", "--transpose-b", "--samples", "3", "--json", "r.json")
    assert "20x30x40 TT" in turned.stdout and [(r["op_a"], r["lda"]) for r in records(open("r.json").read())] == [("t", 20)], turned.stdout
    host = good("bench", "--host", "--size", "64", "--samples", "3", "--json", "r.json")
    assert "tw_gemm" in records(open("r.json").read())[0]["method"], host
    good("bench", "--kernel", "cpu_f64_r04_banks", "--dtype", "f64", "--size", "48", "--samples", "3")


def spread_of(line):
    """Median, least and most, in the median's unit, of a line of bench or ladder."""
    return map(float, re.search(r" ([0-9.]+) [num]?s +([0-9.]+)-([0-9.]+) ", line).groups())


@case
def bench_and_ladder_show_the_spread():
    for words in ("bench", "--size", "40"), ("ladder", "--size", "40", "--rung", "r03"):
        done = good(*words, "--samples", "5", "--json", "r.json")
        record, = records(open("r.json").read())
        line = re.search(r"^(f32 +40x40x40|r03_coalesced) .*[0-9]-[0-9].*$", done.stdout, re.M).group()
        median, least, most = spread_of(line)
        assert record["min_s"] <= record["median_s"] <= record["max_s"] and record["p95_s"] <= record["max_s"], record
        unit = record["median_s"] / median
        assert abs(least * unit / record["min_s"] - 1) < 0.06 and abs(most * unit / record["max_s"] - 1) < 0.06, (line, record)


@case
def bench_and_ladder_tell_of_a_busy_machine():
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range((os.cpu_count() + 1) // 2)]
    try:
        commands = ("bench", "--size", "256", "--samples", "3"), ("ladder", "--size", "128", "--rung", "r03,r04_banks", "--samples", "3")
        for words in commands if FULL else commands[1:]:
            done = run(*words, "--json", "r.json")
            assert done.returncode == 0 or "the bound was measured too low, for other processes used" in done.stderr, done
            said = re.search(r"^busy +other processes used (\d+) % of the processors", done.stdout, re.M)
            assert said and 5 <= int(said.group(1)) <= 100, said
            assert all(0.05 <= r["others"] <= 1 for r in records(open("r.json").read())), open("r.json").read()
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@case
def ladder_runs_every_rung():
    done = good("ladder", "--size", "96", "--samples", "3", "--json", "r.json")
    rungs = [r["rung"] for r in records(open("r.json").read())]
    assert rungs == sorted(set(rungs)) and rungs[0] == "r01_naive" and rungs[-1] == "r14", rungs
    assert all(f"\n{rung} " in done.stdout for rung in rungs) and "###" in done.stdout, done.stdout
    planned = records(open("r.json").read())[-1]
    assert "gemm_simd" in planned["kernel"] and f"\n  {planned['plan']}\n" in done.stdout, (planned, done.stdout)
    good("ladder", "--shape", "50x40x30", "--rung", "r01,r04_banks", "--dtype", "f64", "--samples", "3", "--json", "r.json")
    assert [r["kernel"] for r in records(open("r.json").read())] == ["cpu_f64_r01_naive", "cpu_f64_r04_banks"]
    good("ladder", "--size", "64", "--rung", "r02", "--tile", "1,2,16,64", "--samples", "3", "--json", "r.json")
    assert [r["tile"] for r in records(open("r.json").read())] == [1, 2, 16, 64]


@case
def ladder_on_transposed_operands():
    """Column-major operands: all rungs of the CPU, of a GPU those that do not read A and B as stored."""
    few = ("--rung", "r01,r04,r10,r14")
    for flags, a, b in ((("--transpose-a", *few), "^T", ""), (("--transpose-b", *few), "", "^T"), (("--transpose-a", "--transpose-b"), "^T", "^T")):
        done = good("ladder", "--engine", "cpu", "--size", "48", *flags, "--samples", "1", "--json", "r.json")
        lines = records(open("r.json").read())
        assert f"ladder     f32, C(48 x 48) = A{a} B{b} with k = 48" in done.stdout, done.stdout
        assert len(lines) > (3 if few[0] in flags else 8) and all((r["refused"] or r["verified"] == "exact+bound") and (r["op_a"], r["op_b"]) == ("t" if a else "n", "t" if b else "n") for r in lines), flags
    bad(2, "ladder", "--skinny", "--transpose-b", says="--transpose-a or -b")


@case
def opencl_ladder_on_transposed_operands():
    few = [] if FULL else ["--rung", "r02,r04,r09,r10,r11"]
    good_on_opencl("ladder", "--engine", "opencl", "--size", "48", "--transpose-a", "--transpose-b", "--samples", "1", *few, "--json", "r.json")
    lines = records(open("r.json").read())
    assert {r["rung"] for r in lines if r["refused"]} == {"r09_wide", "r10_register", "r11_warp"}, [r["rung"] for r in lines if r["refused"]]
    assert all(r["verified"] == "exact+bound" for r in lines if not r["refused"]) and len(lines) > (10 if FULL else 4), [r["rung"] for r in lines]


@case
def ladder_on_two_engines():
    needs("opencl")
    few = [] if FULL else ["--rung", "r01,r03,r03t"]
    done = good("ladder", "--engine", "cpu,opencl", "--size", "64", "--samples", "3", *few, "--json", "r.json")
    lines = records(open("r.json").read())
    assert [r["engine"] for r in lines] == sorted(r["engine"] for r in lines), lines
    assert all(r["verified"].startswith("exact+bound") or r["refused"] for r in lines), lines
    ladders = len(re.findall("^ladder ", done.stdout, re.M))  # where rungs are named, that the CPU has no r03t stands before them
    assert ladders == 2 and done.stdout.count("on opencl: ") == 1, done.stdout
    for r in lines:
        on_cpu = r["engine"] == "cpu"
        assert on_cpu == (r["threads"] is not None) == (r["block_threads"] is None) or r["refused"], r
        assert r["refused"] or r["bytes_tile"] > 0 and r["effective_gbps"] is None and (r["prepare_s"] is None) == on_cpu, r
    both = [r["rung"][:3] for r in lines if r["build"] == "default"]
    assert both == (["r01", "r01", "r02", "r03", "r03", "r04", "r04", "r05"] if FULL else ["r01", "r03", "r03"]), both
    assert both == [r["rung"][:3] for r in lines if r["build"] == "rolled"] and done.stdout.count("default build   ") == len(both)
    assert [r["rung"] for r in lines if r["prepare_s"]] == 2 * ["r03t_transposed"] and "transposed B in" in done.stdout
    assert re.search(r"\d times the speed of r01_naive in its default build\n", done.stdout) or "fastest    r01_naive" in done.stdout


@case
def variants_are_compared_with_the_rung_before_their_base():
    out = good_on_opencl("ladder", "--engine", "opencl", "--size", "64", "--samples", "3", "--rung", "r02,r03,r03t", "--json", "r.json").stdout
    time = {r["rung"]: r["median_s"] for r in records(open("r.json").read()) if r["build"] == "rolled"}
    before = dict(re.findall(r"^(r\w+) .* ([0-9.]+)  +[0-9.]+%", out, re.M))
    for rung, other in (("r03_coalesced", "r02_tiled"), ("r03t_transposed", "r02_tiled")):
        assert abs(float(before[rung]) - time[other] / time[rung]) < 0.006, (rung, before, time)


@case
def ladder_sweeps_the_tiles_of_a_gpu():
    done = good_on_opencl("ladder", "--engine", "opencl", "--size", "64", "--tile", "8,16,32,5", "--rung", "r01,r02", "--samples", "3", "--json", "r.json")
    lines = records(open("r.json").read())
    assert [r["tile"] for r in lines if r["build"] == "rolled"] == 2 * [8, 16, 32], lines
    assert [r["block_threads"] for r in lines if r["build"] == "default"] == 2 * [64, 256, 1024], lines
    assert [r["refused"] for r in lines if r["refused"]] and done.stdout.count("takes 8, 16 or 32") == 2, done.stdout
    assert re.search(r"\ntiles .*\n\nGFLOP/s +8 +16 +32 +5\n", done.stdout), done.stdout
    for letter, rung in (("a", "r01_naive"), ("b", "r02_tiled")):
        speeds = re.search(rf"\n{letter} {rung} +(\S+) +(\S+) +(\S+) +-\n", done.stdout).groups()
        rows = re.findall(rf"\n{rung} \d+ +\d+ +\S+ \S+ +\S+ +(\S+) ", done.stdout)
        assert list(speeds) == rows, (rung, speeds, rows)


@case
def two_files_of_one_name():
    for folder in "ab":
        os.mkdir(folder)
        shutil.copy(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kernels/opencl/ladder/r01_naive.cl"), f"{folder}/mine.cl")
    out = good_on_opencl("ladder", "--rung", "a/mine.cl,b/mine.cl", "--tile", "8,16", "--size", "32", "--samples", "3").stdout
    for label in "own:mine.cl", "own:mine.cl#2":
        assert re.search(rf"\n[a-z] {label} +[0-9.]+ +[0-9.]+\n", out), out


@case
def a_ladder_of_refused_rungs_alone():
    done = on_opencl("ladder", "--engine", "opencl", "--size", "16", "--rung", "r02", "--tile", "5", "--samples", "3", "--json", "r.json")
    assert done.returncode == 3 and "all were refused" in done.stderr and "takes 8, 16 or 32" in done.stdout, done
    assert len(records(open("r.json").read())) == 1, "the refused row is a record too"
    good_on_opencl("ladder", "--engine", "opencl", "--size", "16", "--rung", "r02", "--tile", "5,16", "--samples", "3")


@case
def skinny_ladder():
    done = good_on_opencl("ladder", "--engine", "opencl", "--skinny", "--size", "100", "--samples", "3", "--json", "r.json")
    lines = records(open("r.json").read())
    assert [(r["rung"][:2], r["k"]) for r in lines] == [(s, k) for k in (16, 32) for s in ("s1", "s2", "s3")], lines
    asked = {("s1", 16): 128, ("s2", 16): 68, ("s3", 16): 8, ("s1", 32): 256, ("s2", 32): 132, ("s3", 32): 8}
    good_on_opencl("ladder", "--engine", "opencl", "--skinny", "--shape", "64x96x32", "--samples", "3", "--json", "q.json")
    for r in lines + records(open("q.json").read()):
        m, n, k = r["m"], r["n"], r["k"]
        bytes_effective = 4 * (m * k * -(-n // k) + k * n * -(-m // k) + m * n)
        assert r["verified"].startswith("exact+bound") and abs(r["effective_gbps"] * 1e9 * r["median_s"] / bytes_effective - 1) < 1e-9, r
        if m == 64:
            assert r["bytes_asked"] == asked[r["rung"][:2], k] * m * n and bytes_effective == 12 * m * n, r
    for part in ("8.7", "14.3", "29.7", "0.7", "8.2", "15.7", "s2 / s1", "1.64", "11.71", "2.08", "1.91", "C(100 x 100)", "exceed"):
        assert part in done.stdout, part
    plain = good_on_opencl("ladder", "--engine", "opencl", "--size", "16", "--rung", "s1,s3", "--samples", "3", "--json", "r.json")
    assert [r["rung"] for r in records(open("r.json").read())] == ["s1_unoptimised", "s3_shared_ab"], plain.stdout


@case
def production_kernels_by_name_and_all():
    good("ladder", "--size", "64", "--samples", "1", "--rung", "r01,r14", "--all", "--json", "r.json")
    assert [r["rung"] for r in records(open("r.json").read())] == ["r01_naive", "gemm_simd", "r14"]
    good("ladder", "--size", "64", "--samples", "1", "--rung", "gemm_simd", "--json", "r.json")
    assert [r["rung"] for r in records(open("r.json").read())] == ["gemm_simd"]


@case
def former_names():
    """Scripts and records from before the production kernels had names."""
    good("ladder", "--size", "64", "--samples", "1", "--rung", "r14_peak", "--json", "r.json")
    assert [r["rung"] for r in records(open("r.json").read())] == ["gemm_simd"]
    good("bench", "--shape", "9x8x7", "--samples", "1", "--kernel", "cpu_f32_r14_peak_base", "--json", "r.json")
    assert [r["kernel"] for r in records(open("r.json").read())] == ["cpu_f32_gemm_simd_base_4x8"]
    for former, name in (("r14h_hopper", "sgemm_tma_sm90_128x128"), ("r14n", "sgemm_tma_sm90_128x64"), ("r14w_64x192", "gemm_wgmma_sm90_64x192")):
        assert good("explain", former).stdout.startswith(name + ", cuda,"), former
    for words, says in ((("--rung", "r14", "--tile", "16"), "has a tile edge"), (("--all", "--tile", "16"), "--all does not work with"), (("--all", "--skinny"), "--all does not work with"),
                        (("--rung", "r15"), " r14; did you mean ")):
        refused = run("ladder", *words)
        assert refused.returncode == 2 and says in refused.stderr, refused
    refused = run("bench", "--kernel", "cpu_f32_r14_peak_")
    assert refused.returncode == 2 and "no such kernel" in refused.stderr, refused


@case
def deep_ladder():
    done = good_on_opencl("ladder", "--engine", "opencl", "--deep", "--shape", "20x30x4000", "--samples", "3", "--json", "r.json")
    lines = [r for r in records(open("r.json").read()) if r["build"] != "default"]
    assert [r["rung"] for r in lines] == ["r04_banks", "d1_splitk", "r14"], lines
    assert all(r["verified"].startswith("exact+bound") and (r["m"], r["n"], r["k"]) == (20, 30, 4000) for r in lines), lines
    assert "grid 2x2 threads" in done.stdout and "grid 1000x1 (1000 of them runs of 1 steps)" in done.stdout, done.stdout
    plain = good_on_opencl("ladder", "--engine", "opencl", "--size", "16", "--samples", "3", "--json", "r.json")
    assert not any(r["rung"].startswith("d") for r in records(open("r.json").read())), plain.stdout
    bad(2, "ladder", "--deep", "--skinny", says=["--deep and --skinny"])


@case
def products_on_opencl():
    needs("opencl")
    a, b = pair(33, 17, 20, "f4")
    done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl", "--verify")
    assert done.returncode == 0 and read_npy("C.npy") == ("<f4", (33, 17), product(a, b)), done
    a, b = pair(3, 2, 4, "f8")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl", "--verify", env=FAKE_OPENCL)
    assert read_npy("C.npy") == ("<f8", (3, 2), product(a, b))
    for dtype in ("bf16", "f16", "i8"):
        good("bench", "--engine", "opencl", "--dtype", dtype, "--size", "48", "--samples", "3", "--json", "r.json", env=FAKE_OPENCL)
        assert [(r["dtype"], r["verified"] is not False) for r in records(open("r.json").read())] == [(dtype, True)]
    for words, ld in (([], 49), (["--padded"], 52)):
        done = good("bench", "--engine", "cpu,opencl", "--size", "49", *words, "--samples", "3", "--json", "r.json", env=FAKE_OPENCL)
        found = [(r["engine"], r["lda"], r["ldb"], r["ldc"], r["verified"]) for r in records(open("r.json").read())]
        assert found == [(x, ld, ld, ld, "exact+bound") for x in ("cpu", "opencl")], (found, done.stdout)
    good_on_opencl("bench", "--kernel", "opencl_f32_r07_prefetch", "--size", "48", "--samples", "3")


@case
def selftest_of_two_engines():
    if FULL:
        needs("opencl")
    text, on_cpu, on_opencl = whole_selftest() if FULL else selftest("--engine", "cpu,opencl", "--dtype", "i8", **FAKE_GPU)
    assert text.count(" passed, 0 failed, ") == 2 and "it runs on the" not in text, text
    names = [r["kernel"] for r in on_cpu + on_opencl]
    assert FULL or names and all("_i8_" in name for name in names), names
    assert ("opencl_f32_s1_unoptimised" if FULL else "opencl_i8_gemm_simt_64x64") in names and not any(name.startswith("cuda") for name in names), names


@case
def devices_measures_its_ceilings():
    done = told("devices")
    out = done.stderr
    assert done.returncode == 0 and records(done.stdout), done
    for d in records(done.stdout):
        assert d["peak_gflops"] > 0 and d["memory_gbps"] > 0 and d["cache_gbps"] is None or d["cache_gbps"] > 0, d
        assert d["shared_gbps"] is None if d["engine"] == "cpu" else d["shared_gbps"] > 0, d
        # What the driver calls itself ends with a word of its own: the first device's stands whole in the engine's line.
        assert d["engine"] != "opencl" or d["device"] > 0 or re.search(rf"(?<=, ){re.escape(d['instruction_set'])}[ ,:]", d["engine_state"]), d
        assert d["name"] in out and (d["published_source"] or "published: none known" in out), d


@case
def devices_outlives_a_driver_that_has_no_memory():
    """PoCL and LLVM end their process where memory runs out: at each limit what is left is told, with a status of ours."""
    if sanitized():
        raise Skip("a sanitizer's own memory does not fit any limit")
    for kib in (240000, 247000, 256000, 272000, 320000) if FULL else (247000, 272000):
        done = run("devices", env={"TILEWRIGHT_THREADS": "1"}, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib * 1024,) * 2))
        assert done.returncode in (0, 8) and "\ncuda  " in done.stdout, (kib, done)
        assert (done.returncode == 8) == ("the driver of the opencl engine crashed: signal " in done.stdout), (kib, done)


@case
def selftest_judges_every_kernel():
    text, lines, on_opencl = whole_selftest()
    assert re.search(r"\d+ passed, 0 failed", text) and "\033" not in text, text
    assert len(lines + on_opencl) == len(re.findall(r"^(?:ok|refused|WRONG) ", text, re.M)) and not any(r["verified"] == "WRONG" for r in lines + on_opencl)
    assert {r["kernel"] for r in lines if r["verified"] == "exact"} == {"plans", "recalled plans", "contexts", "batches", "far rows"}, lines
    assert all(r["shapes"] > 100 for r in lines if r["kernel"] in ("plans", "recalled plans", "batches") or "gemm_simd" in r["kernel"] and r["shapes"] > 0), lines
    shown = base_selftest()
    assert "refused" in shown or os.uname().machine != "x86_64", shown


# ---- help and terminals -----------------------------------------------------------------------------------------------

@case
def help_comes_from_the_tables():
    names = re.findall(r"^  (\w+) ", run("help").stdout.split("COMMANDS")[1].split("\n\n")[0], re.M)
    assert len(names) >= 9, names
    for name in names:
        text = good(name, "--help").stdout
        assert text.startswith(f"tilewright {name} - "), text
        places = [text.index(f"\n{part}\n") for part in ("USAGE", "OPTIONS", "EXAMPLES")]
        assert places == sorted(places) and f"\n  tilewright {name}" in text[places[2]:] or name == "selftest", text
        assert good("help", name).stdout == text == good(name, "-h").stdout
    assert good("--help").stdout == good("help").stdout
    assert good("--version").stdout == good("version").stdout
    man = good("help", "--man").stdout
    assert man.startswith(".TH TILEWRIGHT 1") and all(f".SS tilewright {name}" in man for name in names)
    script = good("help", "--completion").stdout
    if subprocess.run(["sh", "-c", "command -v bash"], capture_output=True).returncode == 0:
        check = script + "COMP_WORDS=(tilewright mul); COMP_CWORD=1; _tilewright; echo ${COMPREPLY[@]}\n" \
                         "COMP_WORDS=(tilewright bench --se); COMP_CWORD=2; _tilewright; echo ${COMPREPLY[@]}\n"
        out = subprocess.run(["bash", "-c", check], capture_output=True, text=True).stdout
        assert out == "multiply\n--set --seed\n", out


@case
def no_line_of_help_is_over_80_columns():
    names = re.findall(r"^  (\w+) ", run("help").stdout.split("COMMANDS")[1].split("\n\n")[0], re.M)
    for words in [["help"]] + [["help", name] for name in names]:
        for columns, most in ((None, 80), ("60", 60), ("132", 132), ("abc", 80), ("0", 80)):
            env = {"COLUMNS": columns} if columns else {}
            text = subprocess.run([PROGRAM, *words], env={**{k: v for k, v in clean_environment().items() if k != "COLUMNS"}, **env},
                                  capture_output=True, text=True).stdout
            wide = [line for line in text.split("\n") if len(line) > most and " " in line.strip().lstrip("\\")[1:]]
            assert not wide or (most == 60 and all("tilewright " in line or "--" in line for line in wide)), (words, columns, wide)
            if words[-1] == "bench":
                assert (max(map(len, text.split("\n"))) > 80) == (most == 132), (columns, text)
    lines = good("help", "ladder").stdout.split("\n")
    assert "      --html sizes.html" in lines and lines[lines.index("      --html sizes.html") - 1].endswith(",16384 \\"), lines


@case
def progress_and_colour_are_for_terminals():
    shown = base_selftest()
    assert re.search(r"\d+ passed, 0 failed, ", shown), shown
    assert "\033[32mok" in shown and "\r\033[K" in shown and shown.rstrip().endswith(tuple("abcdefghijklmnopqrstuvwxyz0123456789"))
    pair()
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    verify = "verify", "A.npy", "B.npy", "C.npy"
    assert "\033[32m" in on_terminal(*verify) and "\033" not in on_terminal(*verify, NO_COLOR="1").replace("\r\033[K", "")


if __name__ == "__main__":
    main()
