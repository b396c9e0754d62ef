#!/usr/bin/python3 -B
"""test_cli.py - the program `tilewright` as its users meet it: exit codes, sentences, products, records, no litter.

    test_cli.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP and, last, "N passed, N failed, N skipped". Needs
nothing but Python 3; cases that compare with NumPy or SciPy are skipped, and counted, without them.
"""
import array
import json
import os
import pty
import random
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import time

from support.program import PROGRAM, bad, clean_environment, contents, engines, good, needs, records, run
from support.tap import Skip, case, main

try:
    import numpy
except ImportError:
    numpy = None
try:
    import scipy.io
    import scipy.sparse
except ImportError:
    scipy = None

# ---- files ------------------------------------------------------------------------------------------------------------

CODES = {"f8": "d", "f4": "f", "f2": "e", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


def npy_header(descr, shape, fortran=False, version=b"\x01\x00"):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    size = 2 if version == b"\x01\x00" else 4
    text += " " * (-(len(text) + 9 + size) % 64) + "\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(size, "little") + text.encode()


def npy(path, rows, code="f8", order="<", fortran=False, cols=None):
    """Write a list of rows as a .npy file."""
    cols = len(rows[0]) if rows else cols or 0
    flat = [rows[i][j] for j in range(cols) for i in range(len(rows))] if fortran else [x for row in rows for x in row]
    with open(path, "wb") as file:
        file.write(npy_header(order + code, (len(rows), cols), fortran))
        file.write(struct.pack(f"{order}{len(flat)}{CODES[code]}", *flat))


def read_npy(path):
    """The descr, the shape, and the rows of a .npy file as the program writes it."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = int.from_bytes(data[8:10], "little")
    header = eval(data[10:10 + size])  # our own program's, in a test
    assert not header["fortran_order"]
    m, n = header["shape"]
    flat = struct.unpack(f"<{m * n}{CODES[header['descr'][1:]]}", data[10 + size:])
    return header["descr"], (m, n), [list(flat[i * n:(i + 1) * n]) for i in range(m)]


def read_mtx(path):
    lines = open(path).read().split("\n")
    assert lines[0] == "%%MatrixMarket matrix array real general", lines[0]
    m, n = map(int, lines[1].split())
    flat = [float(x) for x in lines[2:2 + m * n]]
    return [[flat[j * m + i] for j in range(n)] for i in range(m)]


def integers(rows, cols, seed, least=-9, most=9):
    draw = random.Random(seed)
    return [[draw.randint(least, most) for _ in range(cols)] for _ in range(rows)]


KERNEL = """#include "rung.clh"
__kernel void r01_own(PARAMETERS) {}
"""


def transpose(a):
    return [list(row) for row in zip(*a)]


def product(a, b):
    columns = transpose(b)
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def pair(m=3, n=2, k=4, code="f8"):
    """A.npy and B.npy of small integers; returns their rows."""
    a, b = integers(m, k, 1), integers(k, n, 2)
    npy("A.npy", a, code)
    npy("B.npy", b, code)
    return a, b


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
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "i16", says=["i16", "raw"])
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
        assert re.search(r"cuda +the CUDA driver .*NVIDIA's driver brings", good(command).stdout), command


# ---- memory: exit code 5 ----------------------------------------------------------------------------------------------

@case
def a_result_larger_than_the_machine():
    for rows in (30_000_000, 2 ** 40):
        open("A.npy", "wb").write(npy_header("<f4", (rows, 0)))
        open("B.npy", "wb").write(npy_header("<f4", (0, rows)))
        bad(5, "multiply", "A.npy", "B.npy", "-o", "C.npy", says=["memory", str(rows)])
    bad(5, "bench", "--shape", "99999999x99999999x32", says=["memory", "99999999 x 99999999 x 32 (m x n x k) in f32", "GB"])


# ---- input files: exit code 6 -----------------------------------------------------------------------------------------

@case
def hostile_npy_files():
    npy("B.npy", [[1.0]])
    whole = npy_header("<f8", (4, 4)) + bytes(128)
    files = {
        "empty": b"", "magic": b"\x93NUMPX\x01\x00" + whole[8:], "cut": whole[:-1], "header": whole[:60],
        "huge": npy_header("<f8", (2 ** 30, 2 ** 30)) + bytes(64), "beyond": npy_header("<f8", (2 ** 62, 2 ** 62)),
        "negative": npy_header("<f8", (-1, 4)), "object": npy_header("|O", (1, 1)) + bytes(8), "word": npy_header("<f8", "(one, 1)"),
    }
    for name, data in files.items():
        open(f"{name}.npy", "wb").write(data)
        bad(6, "multiply", f"{name}.npy", "B.npy", "-o", "C.npy", says=f"{name}.npy: ")
        bad(6, "verify", "B.npy", "B.npy", f"{name}.npy", says=f"{name}.npy: ")


@case
def inputs_without_end():
    """Refused by their first bytes, with little memory: not read until there is none left."""
    npy("B.npy", [[1.0]])
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
    for command in (["multiply", "/dev/zero", "B.npy", "-o", "C.npy"], ["verify", "B.npy", "B.npy", "/dev/zero"]):
        done = run(*command, preexec_fn=None if sanitized() else limit)
        assert done.returncode == 6 and "/dev/zero: begins with '\\x00" in done.stderr, done
    bad(6, "report", "B.npy", "-o", "r.html", says=["B.npy: line 1: begins with '?NUMPY", "expected a record: one JSON object on each line"])
    for source, says in (("/dev/zero", "line 1: "), ("yes ''", "empty lines")):
        source = f"cat {source}" if source[0] == "/" else source
        done = subprocess.run(f"{source} | {PROGRAM} report - -o r.html", shell=True, capture_output=True, text=True, timeout=60)
        assert done.returncode == 6 and says in done.stderr, done
    assert os.listdir(".") == ["B.npy"]


@case
def hostile_matrix_market_files():
    npy("B.npy", [[1.0]])
    banner = "%%MatrixMarket matrix array real general\n"
    files = {"word": banner + "1 1\none\n", "few": banner + "2 2\n1\n2\n3\n", "negative": banner + "-1 1\n",
             "huge": banner + f"{2 ** 40} {2 ** 40}\n", "complex": banner.replace("real", "complex") + "1 1\n1 1\n"}
    for name, data in files.items():
        open(f"{name}.mtx", "w").write(data)
        bad(6, "multiply", f"{name}.mtx", "B.npy", "-o", "C.npy", says=f"{name}.mtx: ")


@case
def files_that_are_none():
    npy("B.npy", [[1.0]])
    os.mkdir("folder.npy")
    open("text.npy", "w").write("hello")
    bad(6, "multiply", "missing.npy", "B.npy", "-o", "C.npy", says=["missing.npy: ", "No such file"])
    bad(6, "multiply", "folder.npy", "B.npy", "-o", "C.npy", says=["folder.npy: ", "directory"])
    bad(6, "multiply", "text.npy", "B.npy", "-o", "C.npy", says="text.npy: ")
    open("short.raw", "wb").write(bytes(8))
    bad(6, "multiply", "short.raw", "short.raw", "-o", "C.npy", "--shape", "2x2x2", "--dtype", "f64", says=["32 bytes", "has 8"])


@case
def operands_that_do_not_fit_together():
    pair(3, 2, 4)
    npy("W.npy", [[1.0]])
    bad(6, "multiply", "A.npy", "A.npy", "-o", "C.npy", says=["A.npy is 3 x 4 and A.npy is 3 x 4", "4", "must be equal"])
    bad(6, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--transpose-a", says=["transposed", "must be equal"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--shape", "3x3x3", says=["--shape 3x3x3", "the operands are 3x2x4"])
    bad(6, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "1", "--add", "W.npy", says=["W.npy", "expected 3 x 2"])
    bad(6, "verify", "A.npy", "B.npy", "W.npy", says=["W.npy: is 1 x 1, expected 3 x 2"])


@case
def values_that_no_type_holds():
    npy("A.npy", [[1, 2], [3, 2 ** 53 + 1]], "i8")
    npy("B.npy", [[1, 2], [3, 4]], "i8")
    bad(6, "multiply", "A.npy", "B.npy", "-o", "C.npy", says=["A.npy: element [1, 1] is 9007199254740993", "--dtype f64"])
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f64")


@case
def odd_names_stay_on_one_line():
    bad(6, "multiply", "no\nsuch\033[31m.npy", "x.npy", "-o", "C.npy", says="no?such?[31m.npy")


# ---- outputs: exit code 7 ---------------------------------------------------------------------------------------------

@case
def outputs_that_cannot_be_written():
    pair()
    os.mkdir("folder.npy")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "none/C.npy", says="none/C.npy: ")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "folder.npy", says=["folder.npy: ", "directory"])
    bad(7, "devices", "--json", "none/d.json", says="none/d.json")
    if os.path.exists("/dev/full"):
        bad(7, "devices", "--json", "/dev/full", says="/dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 7 and "standard output" in done.stderr, done


def record_file(path):
    """One record of a ladder, as --json writes it."""
    good("ladder", "--size", "8", "--rung", "r01", "--samples", "1", "--json", path)


@case
def no_output_is_an_input():
    pair()
    record_file("r.jsonl")
    open("r01_own.cl", "w").write(KERNEL)
    os.mkdir("folder")
    os.symlink("folder", "way")
    os.symlink("../B.npy", "folder/link.npy")
    os.link("B.npy", "hard.npy")
    for name in ("B.npy", "./B.npy", "hard.npy", "folder/link.npy", "way/link.npy", "way/../B.npy", os.path.abspath("B.npy")):
        bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", name, says=[f"--json {name} names the same file as B.npy", "would be lost"])
        bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", name, "--append", "--force", says="would be lost")
        bad(2, "verify", "A.npy", "B.npy", "A.npy", "--json", name, says="would be lost")
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "1", "--add", "hard.npy", "--json", "B.npy", says="--json B.npy names the same file as B.npy")
    bad(2, "multiply", "A.npy", "A.npy", "-o", "C.npy", "--beta", "1", "--add", "hard.npy", "--json", "B.npy", says="as --add hard.npy")
    for words in (["-o", "r.jsonl"], ["-o", "./r.jsonl"], ["-o", "r.jsonl", "--force"]):
        bad(2, "report", "r.jsonl", *words, says=["names the same file as r.jsonl", "would be lost"])
    bad(2, "ladder", "--rung", "r01_own.cl", "--html", "r01_own.cl", says="as --rung r01_own.cl")


@case
def outputs_are_different_files():
    pair()
    os.mkdir("folder")
    os.symlink("folder", "way")
    os.symlink("new.npy", "dangling.npy")
    for one, other in (("same.npy", "same.npy"), ("same.npy", "./same.npy"), ("folder/x.npy", "way/x.npy"), ("new.npy", "dangling.npy")):
        bad(2, "multiply", "A.npy", "B.npy", "-o", one, "--json", other, says=[f"-o {one} and --json {other} name the same file"])
        bad(2, "ladder", "--html", one, "--json", other, says="name the same file")


@case
def files_of_another_kind_are_kept():
    pair()
    record_file("r.jsonl")
    open("notes.txt", "w").write("do not lose me\n")
    open("page.html", "w").write("<!DOCTYPE html>\n<title>mine</title>\n")
    open("package.json", "w").write('{\n  "name": "mine"\n}\n')
    open("M.mtx", "w").write("%%MatrixMarket matrix array real general\n1 1\n1\n")
    open("firmware.bin", "wb").write(b"\x7fELF\2\1\1" + bytes(100))
    os.rename("r.jsonl", "J.npy")
    for name, holds in (("A.npy", "a .npy matrix"), ("M.mtx", "a Matrix Market matrix"), ("notes.txt", "text"), ("page.html", "JSON, HTML or SVG of another program"),
                        ("package.json", "JSON, HTML or SVG of another program"), ("firmware.bin", "a program")):
        for words in (["devices"], ["bench", "--size", "8"], ["ladder", "--size", "8"], ["doctor"], ["version"]):
            bad(7, *words, "--json", name, says=[f"--json {name}: holds {holds}, expected JSON", "--force"])
        bad(7, "version", "--append", "--json", name, says=[f"--json {name}: holds {holds}, expected JSON: give another name"])
    bad(7, "version", "--append", "--force", "--json", "A.npy", says=["--json A.npy: holds a .npy matrix, expected JSON: give another name"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "notes.txt", says=["the ending names no format"])
    open("big.mtx", "w").write("%%MatrixMarket matrix array real general\n1 1\n1e300\n")
    assert ", verified, 1 infinite\n" in good("multiply", "big.mtx", "M.mtx", "-o", "inf.mtx", "--dtype", "f32", "--verify").stdout
    for name, holds in (("A.npy", "a .npy matrix"), ("J.npy", "JSON"), ("notes.txt", "text"), ("page.html", "JSON, HTML or SVG of another program")):
        bad(7, "ladder", "--size", "8", "--html", name, says=[f"--html {name}: holds {holds}, expected HTML"])
        if name != "J.npy":
            bad(7, "report", "J.npy", "-o", name, says=[f"-o {name}: holds {holds}, expected HTML"])
    bad(7, "multiply", "A.npy", "B.npy", "-o", "J.npy", says=["-o J.npy: holds JSON, expected a .npy matrix"])
    bad(7, "multiply", "A.npy", "B.npy", "-o", "firmware.bin", says=["-o firmware.bin: holds a program, expected a raw matrix"])
    good("multiply", "A.npy", "B.npy", "-o", "J.npy", "--force")
    good("version", "--json", "notes.txt", "--force")
    assert read_npy("J.npy")[1] == (3, 2) and records(open("notes.txt").read())
    for name in ("C.npy", "C.mtx", "C.raw"):  # their own kind is replaced, and so is an empty file
        open(name, "w").close()
        for _ in range(2):
            good("multiply", "A.npy", "B.npy", "-o", name)
    for _ in range(2):
        good("version", "--json", "v.json")
        good("doctor", "--json", "d.json")
        good("ladder", "--size", "8", "--rung", "r01", "--samples", "1", "--html", "l.html", "--json", "l.json")
        good("report", "l.json", "-o", "l.svg")


@case
def what_goes_where_the_shell_sends_it_is_not_replaced():
    """A file that standard output or standard error goes to, under its own name or as /dev/stdout."""
    done = subprocess.run(f"{PROGRAM} version --json r.json > r.json", shell=True, capture_output=True, text=True)
    assert done.returncode == 2 and "r.json is the file that standard output goes to" in done.stderr, done
    done = subprocess.run(f"{PROGRAM} version --json r.json 2> r.json", shell=True, capture_output=True, text=True)
    assert done.returncode == 2 and "is the file that standard error goes to" in open("r.json").read(), done
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        done = subprocess.run(f"{PROGRAM} version --json {name} > out", shell=True, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr.startswith("tilewright 0.") and len(records(open("out").read())) == 1, (name, done)


@case
def a_dash_is_standard_input_or_refused():
    a, b = pair()
    record_file("r.jsonl")
    for words in (["multiply", "-", "-", "-o", "C.npy"], ["verify", "-", "B.npy", "-"], ["report", "-", "-", "-o", "r.html"]):
        bad(2, *words, says=["'-' stands for standard input", "once"])
    bad(2, "report", "r.jsonl", "-o", "-", says=["a page is written to a file", "./-"])
    bad(2, "ladder", "--html", "-", says=["a page is written to a file", "./-"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "-", says=".npy, .mtx, .raw or .bin")
    with open("r.jsonl") as file:
        done = run("report", "-", "-o", "r.html", stdin=file)
    assert done.returncode == 0 and open("r.html").read().startswith("<!DOCTYPE html>"), done
    npy("C0.npy", [[1.0] * 2] * 3)
    with open("C0.npy", "rb") as file:
        done = run("multiply", "A.npy", "B.npy", "--beta", "1", "--add", "-", "-o", "C.npy", stdin=file)
    assert done.returncode == 0 and read_npy("C.npy")[2] == [[x + 1 for x in row] for row in product(a, b)], done


@case
def links_as_outputs():
    """A link stays, and what it names is replaced, or made where there is nothing yet, as a shell's > does."""
    a, b = pair()
    os.mkdir("store")
    os.symlink("store/C.npy", "link.npy")
    for _ in range(2):
        good("multiply", "A.npy", "B.npy", "-o", "link.npy")
        assert os.readlink("link.npy") == "store/C.npy" and read_npy("store/C.npy")[2] == product(a, b)
    os.symlink("store/d.json", "d.json")
    good("version", "--json", "d.json", "--append")
    assert len(records(open("store/d.json").read())) == 1 and os.path.islink("d.json")
    os.symlink("none/C.npy", "astray.npy")
    os.symlink("loop.npy", "loop.npy")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "astray.npy", says=["astray.npy: ", "the folder none does not exist"])
    bad(7, "multiply", "A.npy", "B.npy", "-o", "loop.npy", says=["loop.npy: ", "symbolic links"])


@case
def folders_that_are_missing_are_named():
    pair()
    for words in (["multiply", "A.npy", "B.npy", "-o"], ["version", "--json"], ["version", "--append", "--json"]):
        bad(7, *words, "/nonexist/out.npy", says=["/nonexist/out.npy: ", "the folder /nonexist does not exist"])
        bad(7, *words, "A.npy/out.npy", says="the folder A.npy is not a folder")
    bad(7, "ladder", "--size", "8", "--html", "none/of/p.html", says="the folder none/of does not exist")


def limited(bytes_most, *words):
    """The program where no file may grow beyond so many bytes; SIGXFSZ ends it unless it minds."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_most, bytes_most))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(), preexec_fn=limit, timeout=60)


@case
def a_limit_on_file_sizes_leaves_nothing():
    pair(40, 40, 3)
    good("multiply", "A.npy", "B.npy", "-o", "old.npy")
    before = contents()
    for name in ("C.npy", "C.mtx", "C.raw", "old.npy"):
        for words in ([], ["--verify"]):
            done = limited(1024, "multiply", "A.npy", "B.npy", "-o", name, *words)
            assert done.returncode == 7 and f"{name}: cannot be written: File too large" in done.stderr and contents() == before, done
    done = limited(0, "version", "--json", "v.json")
    assert done.returncode == 7 and "v.json" in done.stderr and contents() == before, done
    done = limited(1024, "bench", "--size", "8,9,10,11", "--samples", "1", "--json", "r.json")
    assert done.returncode == 7 and "r.json: could not be written: File too large" in done.stderr and contents() == before, done


@case
def a_file_made_meanwhile_is_kept():
    """Another program writes to the name of C while it is computed."""
    n = 800 if sanitized() else 1500
    process = long_multiply(n)
    open("C.npy", "w").write("do not lose me\n")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7 and "-o C.npy: holds text, expected a .npy matrix" in err, (process.returncode, err)
    assert open("C.npy").read() == "do not lose me\n" and sorted(os.listdir(".")) == ["A.raw", "B.raw", "C.npy"], os.listdir(".")
    os.remove("C.npy")
    process = long_multiply(n, "--json", "r.json")
    open("r.json", "w").write("do not lose me\n")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7 and "--json r.json: holds text, expected JSON" in err, (process.returncode, err)
    assert open("r.json").read() == "do not lose me\n" and sorted(os.listdir(".")) == ["A.raw", "B.raw", "C.npy", "r.json"], os.listdir(".")


@case
def other_signals_leave_nothing_either():
    for number in (signal.SIGQUIT, signal.SIGXCPU, signal.SIGHUP):
        process = long_multiply()
        process.send_signal(number)
        ended(process, 130 if number == signal.SIGHUP else -number)


@case
def closed_standard_streams_are_not_written_to():
    """What is printed must not go into the file that was given the number of a closed stream."""
    pair()
    for close in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(f"{PROGRAM} version --json v.json {close}", shell=True, capture_output=True, text=True)
        assert done.returncode == (7 if ">&- " in close + " " and close[0] != "2" else 0), (close, done)
        assert not os.path.exists("v.json") or open("v.json").read().count("\n") == len(records(open("v.json").read())) == 1, (close, open("v.json").read())
        subprocess.run(f"{PROGRAM} multiply A.npy B.npy -o C.npy -v --verify {close}", shell=True, capture_output=True)
        assert read_npy("C.npy")[1] == (3, 2) and os.path.getsize("C.npy") == 128 + 6 * 8, close
    done = subprocess.run(f"{PROGRAM} multiply - B.npy -o C.npy <&-", shell=True, capture_output=True, text=True)
    assert done.returncode == 6 and "is empty" in done.stderr, done


@case
def files_that_may_not_be_read_are_kept():
    pair()
    good("version", "--json", "r.json")
    good("version", "--json", "fixed.json")
    os.chmod("r.json", 0)
    os.chmod("fixed.json", 0o444)
    drop = None
    if os.access("r.json", os.R_OK):
        drop = lambda: (os.chmod(".", 0o777), os.setgroups([]), os.setgid(65534), os.setuid(65534))
        if subprocess.run(["test", "-x", PROGRAM], preexec_fn=drop).returncode != 0:
            raise Skip("another user cannot run the program here")
    for name, says in (("r.json", "its contents cannot be read"), ("fixed.json", "may not be written")):
        done = run("version", "--json", name, preexec_fn=drop)
        assert done.returncode == 7 and f"{name}: {says} (Permission denied)" in done.stderr, done
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "fixed.json", "r.json"]


@case
def a_full_disk_leaves_nothing():
    """A file system of 16 KiB, in a namespace of our own."""
    pair(60, 60, 3)
    os.mkdir("tiny")
    script = f"""set -e; mount -t tmpfs -o size=16k none tiny; cp A.npy tiny/old.npy; set +e
for words in '-o tiny/C.npy' '-o tiny/old.npy --verify' '-o tiny/C.mtx'; do {PROGRAM} multiply A.npy B.npy $words; echo $?; done
dd if=/dev/zero of=tiny/fill bs=1k count=64 2>/dev/null; {PROGRAM} version --json tiny/v.json; echo $?; rm tiny/fill
cmp A.npy tiny/old.npy && ls -A tiny"""
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, env=clean_environment())
    if "unshare" in done.stderr or "mount" in done.stderr:
        raise Skip("no namespace can be made here: " + done.stderr.strip())
    assert done.stdout == "7\n7\n7\ntilewright 0.1.0\n7\nold.npy\n" and done.stderr.count("No space left on device") == 4, done


@case
def files_may_have_any_name():
    a, b = pair()
    lines = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "-v", "--verify").stdout.count("\n")
    for name in ("C\n\033[31m.npy", "-C.npy", " .npy", ".npy", "C;true.npy", "\udcff.npy"):
        path = os.path.join(".", name)
        done = subprocess.run([PROGRAM, "multiply", "A.npy", "B.npy", "-o", path, "-v", "--verify"], capture_output=True, env=clean_environment())
        assert done.returncode == 0 and b"\033" not in done.stdout and done.stdout.count(b"\n") == lines, (name, done)
        assert read_npy(path)[2] == product(a, b) and os.path.exists(path), name
        done = subprocess.run([PROGRAM, "verify", "A.npy", "B.npy", path], capture_output=True, env=clean_environment())
        assert done.returncode == 0 and done.stdout.count(b"\n") == 2, (name, done)


@case
def odd_things_as_files():
    """Devices, pipes, folders and files of /proc: a sentence, at once, and no file."""
    pair()
    os.mkfifo("pipe.npy")
    os.mkdir("folder.json")
    for name in ("/proc/self/maps", "/dev/full", "/dev/random", "/proc/self/mem", "folder.json", "/proc/self/root", "/dev/fd/77"):
        bad(6, "multiply", name, "B.npy", "-o", "C.npy", says=f"{name}: ")
        bad(6, "report", name, "-o", "r.html", says=f"{name}: ")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "pipe.npy", says="a device, pipe or socket")
    bad(2, "multiply", "pipe.npy", "B.npy", "-o", "C.npy", "--json", "pipe.npy", says="names the same file as pipe.npy")
    for name in ("folder.json", "folder.json/", "/proc/version", "/dev/fd/77", "x" * 300, "A.npy/r.json"):
        bad(7, "version", "--json", name, says=name[-20:])
        bad(7, "ladder", "--size", "8", "--html", name, says=name[-20:])
    for name in ("/dev/fd/3", "/proc/self/fd/3"):
        done = subprocess.run(f"{PROGRAM} multiply A.npy B.npy -o C.npy --json {name} 3<>A.npy", shell=True, capture_output=True, text=True)
        assert done.returncode == 2 and "names the same file as A.npy" in done.stderr, done
    try:
        open("huge.npy", "wb").truncate(1 << 40)
    except OSError as error:
        raise Skip(f"no file of a terabyte, all of it a hole: {error}")
    with open("huge.mtx", "w") as file:
        file.write("%%MatrixMarket matrix array real general\n")
        file.truncate(1 << 40)
    bad(6, "multiply", "huge.mtx", "B.npy", "-o", "C.npy", says="huge.mtx: line 2: expected a number of rows")
    with open("huge.npy", "wb") as file:
        file.write(b"\x93NUMPY\2\0\xff\xff\xff\xff")
        file.truncate(1 << 40)
    bad(6, "multiply", "huge.npy", "B.npy", "-o", "C.npy", says="the .npy header says it has 4294967295 bytes")


@case
def writers_of_one_file_leave_a_whole_one():
    """Programs that write the same names at once: whole files of one of them, and every appended line whole."""
    a, b = pair(40, 30, 20)
    words = ["multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", "r.json", "--append"]
    running = [subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, env=clean_environment()) for _ in range(12)]
    assert [p.wait(60) for p in running] == [0] * 12
    assert read_npy("C.npy")[2] == product(a, b) and len(records(open("r.json").read())) == 12
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.npy", "r.json"]


@case
def a_stop_while_it_writes_leaves_nothing():
    """Stopped at any moment of a short run: the old file or the new one, whole, and no other."""
    a, b = pair(300, 300, 2)
    good("multiply", "A.npy", "B.npy", "-o", "C.mtx")
    new = open("C.mtx", "rb").read()
    for wait in range(1, 25):
        open("C.mtx", "wb").write(b"%%MatrixMarket matrix array real general\n0 0\n")
        process = subprocess.Popen([PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.mtx"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=clean_environment(), preexec_fn=restore_signals)
        time.sleep(wait / 500)
        process.send_signal(signal.SIGINT if wait % 2 else signal.SIGTERM)
        code = process.wait(60)
        found = open("C.mtx", "rb").read()
        assert code in (0, 130, -signal.SIGINT, -signal.SIGTERM) and (found == new or len(found) < 50) and (code or found == new), (wait, code)
        assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.mtx"], (wait, os.listdir("."))


@case
def lines_are_appended_behind_whole_lines():
    open("r.json", "w").write('{"version": "cut')
    good("version", "--json", "r.json", "--append")
    assert open("r.json").read().startswith('{"version": "cut\n{"version": '), open("r.json").read()


def into_closed_pipe(*words, **more):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([PROGRAM, *words], stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60, env=clean_environment(), **more)
    os.close(write_end)
    return done


@case
def a_closed_pipe_ends_the_program_quietly():
    done = into_closed_pipe("bench", "--size", "8,16", "--json", "r.json")
    assert (done.returncode, done.stderr) == (141, "") and len(records(open("r.json").read())) <= 1 and os.listdir(".") == ["r.json"], done
    done = into_closed_pipe("explain", "--tables")
    assert (done.returncode, done.stderr) == (141, ""), done
    head = subprocess.run(["bash", "-c", f"{PROGRAM} explain r04 --gpu P100 | head -n 1; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert head.returncode == 141 and head.stderr == "" and "r04_banks" in head.stdout, head
    pair()
    done = into_closed_pipe("multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", "-")
    assert (done.returncode, [x for x in done.stderr.splitlines() if x.startswith("tilewright:")]) == (141, []), done
    done = into_closed_pipe("explain", "r04", restore_signals=False)  # whoever ignores SIGPIPE is told, as cat tells it
    assert done.returncode == 7 and "standard output: could not be written: Broken pipe" in done.stderr, done


@case
def another_closed_pipe_does_not_end_it():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([PROGRAM, "bench", "--size", "8,16"], stdout=subprocess.PIPE, stderr=write_end, text=True, timeout=60, env=clean_environment())
    os.close(write_end)
    assert done.returncode == 0 and done.stdout.count("exact+bound") == 2, done


# ---- interruption: exit codes 130 and 6 -------------------------------------------------------------------------------

def long_multiply(n=5000, *words):
    """A multiplication of sparse files that takes long, stopped where it computes: the process, once its output exists."""
    for name in ("A.raw", "B.raw"):
        with open(name, "wb") as file:
            file.truncate(8 * n * n)
    process = subprocess.Popen([PROGRAM, "multiply", "A.raw", "B.raw", "-o", "C.npy", "--shape", f"{n}x{n}x{n}", "--dtype", "f64",
                                "--threads", "1", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment(TILEWRIGHT_CPU="base"), preexec_fn=restore_signals)
    until = time.time() + 60
    while not any(name.endswith("C.npy") for name in os.listdir(".")):
        assert process.poll() is None and time.time() < until, f"it did not start to compute: {process.communicate()}"
        time.sleep(0.01)
    return process


def sanitized():
    cache = os.path.join(os.path.dirname(PROGRAM), "CMakeCache.txt")
    return os.path.exists(cache) and re.search(r"^TILEWRIGHT_SANITIZE:.*=.", open(cache, encoding="utf-8").read(), re.M) is not None


def restore_signals():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process, code, *says):
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, f"exit {process.returncode}, expected {code}: {err}"
    for part in says:
        assert part in err, f"{part!r} is not in {err!r}"
    assert not any("C.npy" in name for name in os.listdir(".")), os.listdir(".")


@case
def interrupted_multiply_leaves_nothing():
    for number in (signal.SIGINT, signal.SIGTERM):
        process = long_multiply()
        process.send_signal(number)
        ended(process, 130, "interrupted")


@case
def input_cut_short_while_in_use():
    process = long_multiply()
    os.truncate("A.raw", 4096)
    os.truncate("B.raw", 4096)
    ended(process, 6, "tilewright: multiply: ", ".raw: the file became shorter")


@case
def a_failed_check_leaves_no_output():
    """The temporary file is spoiled from outside between the writing and the check's end: what is judged is the file."""
    n = 800 if sanitized() else 1500  # long enough that the file is met while it is checked
    process = long_multiply(n, "--verify")
    name = next(name for name in os.listdir(".") if name.endswith("C.npy"))
    while os.path.getsize(name) < 8 * n * n + 128:
        assert process.poll() is None, process.communicate()
    with open(name, "r+b") as file:
        file.seek(4 * n * n)
        file.write(b"\xff" * (4 * n * n))
    ended(process, 1, "tilewright: multiply: C.npy: ")


@case
def interrupted_ladder_keeps_finished_records():
    process = subprocess.Popen([PROGRAM, "ladder", "--size", "512", "--rung", "r01,r02", "--json", "r.json"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(), preexec_fn=restore_signals)
    while "r01_naive" not in (line := process.stdout.readline()):
        assert line != "", process.communicate()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130, process.returncode
    assert len(records(open("r.json").read())) >= 1 and os.listdir(".") == ["r.json"], os.listdir(".")


# ---- products ---------------------------------------------------------------------------------------------------------

SHAPES = [(1, 1, 1), (1, 1, 7), (7, 7, 1), (3, 5, 4), (17, 33, 65), (64, 64, 64), (1, 100, 50), (100, 1, 50), (33, 17, 130)]


@case
def products_of_small_integers_are_exact():
    for m, n, k in SHAPES:
        for code in ("f4", "f8"):
            a, b = pair(m, n, k, code)
            good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify")
            assert read_npy("C.npy") == (f"<{code}", (m, n), product(a, b)), (m, n, k, code)


@case
def transposes_alpha_beta():
    for ta in (False, True):
        for tb in (False, True):
            a, b, c0 = integers(9, 20, 1), integers(20, 13, 2), integers(9, 13, 3)
            npy("A.npy", transpose(a) if ta else a, "f4")
            npy("B.npy", transpose(b) if tb else b, "f4", fortran=True)
            npy("D.npy", c0, "f4", fortran=tb)
            flags = ["--transpose-a"] * ta + ["--transpose-b"] * tb
            good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--alpha", "2", "--beta", "-3", "--add", "D.npy", "--verify", *flags)
            expected = [[2 * x - 3 * y for x, y in zip(p, q)] for p, q in zip(product(a, b), c0)]
            assert read_npy("C.npy")[2] == expected, (ta, tb)
            good("verify", "A.npy", "B.npy", "C.npy", "--alpha", "2", "--beta", "-3", "--add", "D.npy", *flags)


@case
def every_element_type_order_and_byte_order():
    a, b = integers(5, 6, 1, 0, 9), integers(6, 4, 2, 0, 9)
    for code in CODES:
        for order in "<>":
            for fortran in (False, True):
                npy("A.npy", a, code, order, fortran)
                npy("B.npy", b, "f4" if code != "f8" else "f8")
                good("multiply", "A.npy", "B.npy", "-o", "C.npy")
                wide = code in ("f8", "i4", "u4", "i8", "u8")
                assert read_npy("C.npy") == ("<f8" if wide else "<f4", (5, 4), product(a, b)), (code, order, fortran)


@case
def integers_are_computed_in_what_holds_them():
    for largest, descr in ((2 ** 24, "<f4"), (2 ** 24 + 1, "<f8"), (2 ** 53 - 1, "<f8"), (2 ** 53, "<f4")):
        npy("A.npy", [[largest]], "i8")
        npy("B.npy", [[1]], "u1")
        good("multiply", "A.npy", "B.npy", "-o", "C.npy")
        assert read_npy("C.npy") == (descr, (1, 1), [[largest]]), largest
    for code in ("i1", "i2", "i4", "u4"):
        npy("B.npy", integers(4, 2, 2, 0, 9), code)
        npy("A.npy", integers(3, 4, 1, 0, 9), code)
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify")
        assert read_npy("C.npy") == ("<f4", (3, 2), product(integers(3, 4, 1, 0, 9), integers(4, 2, 2, 0, 9))), code


@case
def int8_gives_int32_modulo_2_to_the_32():
    a, b, c0 = integers(7, 40, 1, -128, 127), integers(40, 9, 2, -128, 127), integers(7, 9, 3, -2 ** 31, 2 ** 31 - 1)
    wrapped = lambda x: (x + 2 ** 31) % 2 ** 32 - 2 ** 31
    npy("A.npy", a, "i1")
    npy("B.npy", b, "f8", fortran=True)  # any type that holds such numbers
    npy("C0.npy", c0, "i4")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "i8", "--verify")
    assert read_npy("C.npy") == ("<i4", (7, 9), product(a, b))
    words = ["--dtype", "i8", "--alpha", "-3", "--beta", "100000001", "--add", "C0.npy"]
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", *words, "--verify")
    expected = [[wrapped(-3 * x + 100000001 * y) for x, y in zip(*rows)] for rows in zip(product(a, b), c0)]
    assert read_npy("C.npy") == ("<i4", (7, 9), expected)
    good("verify", "A.npy", "B.npy", "C.npy", *words)
    expected[3][4] ^= 1
    npy("wrong.npy", expected, "i4")
    done = run("verify", "A.npy", "B.npy", "wrong.npy", *words)
    assert done.returncode == 1 and "C[3, 4] is" in done.stderr, done.stderr
    for name in ("A", "B"):
        array.array("b", [int(x) for row in (a if name == "A" else b) for x in row]).tofile(open(f"{name}.raw", "wb"))
    good("multiply", "A.raw", "B.raw", "-o", "C.mtx", "--dtype", "i8", "--shape", "7x9x40", "--verify")
    assert open("C.mtx").read().startswith("%%MatrixMarket matrix array integer general\n7 9\n" + f"{product(a, b)[0][0]}\n")
    good("multiply", "A.raw", "B.raw", "-o", "C.raw", "--dtype", "i8", "--shape", "7x9x40")
    good("verify", "A.raw", "B.raw", "C.raw", "--dtype", "i8", "--shape", "7x9x40")
    npy("B.npy", [[128] * 2] * 40, "i2")
    bad(6, "multiply", "A.npy", "B.npy", "-o", "D.npy", "--dtype", "i8", says=["B.npy", "[0, 0] is 128", "-128 to 127"])
    npy("B.npy", [[0.5] * 2] * 40)
    bad(6, "multiply", "A.npy", "B.npy", "-o", "D.npy", "--dtype", "i8", says=["B.npy", "[0, 0] is 0.5"])


@case
def bf16_rounds_operands_and_gives_f32():
    a, b = integers(7, 33, 1, -128, 128), integers(33, 9, 2, -128, 128)
    npy("A.npy", a)
    npy("B.npy", b, "i2")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16", "--verify")
    assert read_npy("C.npy") == ("<f4", (7, 9), product(a, b))
    good("verify", "A.npy", "B.npy", "C.npy", "--dtype", "bf16")
    for name, rows in (("A", a), ("B", b)):
        array.array("H", [struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for row in rows for x in row]).tofile(open(f"{name}.raw", "wb"))
    good("multiply", "A.raw", "B.raw", "-o", "C.raw", "--dtype", "bf16", "--shape", "7x9x33", "--verify")
    assert list(array.array("f", open("C.raw", "rb").read())) == [x for row in product(a, b) for x in row]
    npy("A.npy", [[1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -20]])
    npy("B.npy", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "u1")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16", "--verify")
    assert read_npy("C.npy")[2] == [[1, 1 + 2 ** -6, 1 + 2 ** -7]]


@case
def three_formats_agree():
    a, b = integers(4, 5, 1), integers(5, 3, 2)
    expected = product(a, b)
    npy("A.npy", a)
    for ending in ("raw", "bin"):
        array.array("d", [x for row in b for x in row]).tofile(open(f"B.{ending}", "wb"))
        good("multiply", "A.npy", f"B.{ending}", "--shape", "4x3x5", "--dtype", "f64", "-o", "C.mtx", "--verify")
        assert read_mtx("C.mtx") == expected
    good("multiply", "A.npy", "B.raw", "--shape", "4x3x5", "--dtype", "f64", "-o", "C.raw", "--verify")
    assert list(array.array("d", open("C.raw", "rb").read())) == [x for row in expected for x in row]
    open("B.mtx", "w").write("%%MatrixMarket matrix coordinate integer general\n5 3 15\n" +
                             "".join(f"{i + 1} {j + 1} {b[i][j]}\n" for i in range(5) for j in range(3)))
    good("multiply", "A.npy", "B.mtx", "-o", "C.NPY")
    assert read_npy("C.NPY")[2] == expected
    array.array("h", [x for row in transpose(a) for x in row]).tofile(open("A.raw", "wb"))
    good("multiply", "A.raw", "B.npy", "--shape", "4x3x5", "--dtype", "i16", "--transpose-a", "-o", "C.npy") \
        if npy("B.npy", b, "i2") is None else None
    assert read_npy("C.npy")[2] == expected


@case
def empty_operands():
    for m, n, k in ((0, 3, 5), (3, 0, 5), (3, 2, 0), (0, 0, 0)):
        npy("A.npy", [[1.0] * k] * m, cols=k)
        npy("B.npy", [[1.0] * n] * k, cols=n)
        for name in ("C.npy", "C.mtx", "C.raw"):
            good("multiply", "A.npy", "B.npy", "-o", name, "--verify")
        assert read_npy("C.npy")[1:] == ((m, n), [[0.0] * n] * m), (m, n, k)
        good("verify", "A.npy", "B.npy", "C.npy")
        assert os.path.getsize("C.raw") == 8 * m * n
        good("verify", "A.npy", "B.npy", "C.raw", "--shape", f"{m}x{n}x{k}", "--dtype", "f64")


@case
def nan_and_infinity_propagate():
    npy("A.npy", [[1.0, float("inf")], [0.0, 2.0]])
    npy("B.npy", [[float("nan"), 1.0], [1.0, 1.0]])
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify")
    (a, b), (c, d) = read_npy("C.npy")[2]
    assert a != a and b == float("inf") and c != c and d == 2
    npy("A.npy", [[1.0]])
    npy("B.npy", [[1.0]])
    npy("D.npy", [[float("nan")]])
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "0", "--add", "D.npy")
    assert read_npy("C.npy")[2] == [[1.0]]


@case
def an_output_may_replace_an_input():
    a, b = pair(30, 30, 30)
    good("multiply", "A.npy", "B.npy", "-o", "A.npy", "--verify")
    assert read_npy("A.npy")[2] == product(a, b)
    c0 = read_npy("A.npy")[2]
    good("multiply", "B.npy", "B.npy", "-o", "A.npy", "--beta", "1", "--add", "A.npy")
    assert read_npy("A.npy")[2] == [[x + y for x, y in zip(p, q)] for p, q in zip(product(b, b), c0)]
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy"]


@case
def standard_input_is_a_file_too():
    a, b = pair()
    done = subprocess.run([PROGRAM, "multiply", "-", "B.npy", "-o", "C.npy"], stdin=open("A.npy", "rb"), capture_output=True)
    assert done.returncode == 0 and read_npy("C.npy")[2] == product(a, b), done
    done = subprocess.run(f"cat A.npy | {PROGRAM} multiply - B.npy -o C.npy", shell=True, capture_output=True)
    assert done.returncode == 0 and read_npy("C.npy")[2] == product(a, b), done


@case
def names_after_two_dashes_are_operands():
    a, b = pair()
    os.rename("A.npy", "-A.npy")
    good("multiply", "-o", "C.npy", "--", "-A.npy", "B.npy")
    assert read_npy("C.npy")[2] == product(a, b)


# ---- against NumPy and SciPy ------------------------------------------------------------------------------------------

def agree(a, b, *words):
    """Save, multiply, compare with NumPy within the bound of any order of summation."""
    numpy.save("A.npy", a)
    numpy.save("B.npy", b)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify", *words)
    c = numpy.load("C.npy")
    expected = a.astype(numpy.float64) @ b.astype(numpy.float64)
    assert c.dtype == numpy.result_type(a, b) and c.shape == expected.shape, (c.dtype, c.shape)
    u = 2.0 ** -24 if c.dtype == numpy.float32 else 2.0 ** -53
    bound = (2 * a.shape[1] + 4) * u * (abs(a).astype(numpy.float64) @ abs(b).astype(numpy.float64))
    assert (abs(c - expected) <= bound).all(), (a.shape, b.shape, c.dtype)
    good("verify", "A.npy", "B.npy", "C.npy", *words)
    return c


@case
def agrees_with_numpy():
    if numpy is None:
        raise Skip("NumPy is not installed")
    draw = numpy.random.default_rng(1)
    for dtype in (numpy.float32, numpy.float64):
        for m, n, k in ((1, 1, 1), (7, 7, 1), (1, 1, 7), (0, 3, 5), (129, 65, 300), (1000, 1023, 777)):
            a, b = draw.standard_normal((m, k)).astype(dtype), draw.standard_normal((k, n)).astype(dtype)
            agree(a, b)
        a, b = draw.standard_normal((120, 90)).astype(dtype), draw.standard_normal((90, 70)).astype(dtype)
        agree(numpy.asfortranarray(a), b)
        agree(a, numpy.asfortranarray(b))
        agree(numpy.asfortranarray(a), numpy.asfortranarray(b))
        agree(a, draw.standard_normal((70, 90)).astype(dtype).T)
        agree(draw.standard_normal((90, 120)).astype(dtype).T, b)
        agree(a[::2, ::3], b[::3, 1::2])
    agree(draw.standard_normal((30, 20)).astype(numpy.float32), draw.standard_normal((20, 10)))


@case
def agrees_with_scipy_matrix_market():
    if scipy is None or numpy is None:
        raise Skip("SciPy is not installed")
    draw = numpy.random.default_rng(2)
    a = draw.standard_normal((40, 30))
    sparse = scipy.sparse.random(30, 50, 0.2, random_state=3)
    half = draw.standard_normal((30, 30))
    for b in (sparse, half + half.T, draw.integers(-9, 9, (30, 8))):
        scipy.io.mmwrite("A.mtx", a)
        scipy.io.mmwrite("B.mtx", b)
        good("multiply", "A.mtx", "B.mtx", "-o", "C.mtx", "--verify")
        dense = b.toarray() if scipy.sparse.issparse(b) else b
        assert numpy.allclose(scipy.io.mmread("C.mtx"), a @ dense, rtol=1e-13, atol=1e-13)
        good("verify", "A.mtx", "B.mtx", "C.mtx")


# ---- verify -----------------------------------------------------------------------------------------------------------

def spoil(change):
    """A right C.npy with one element changed at a random place: verify must name it."""
    draw = random.Random(7)
    m, n, k = 60, 50, 70
    a = [[draw.uniform(-1, 1) for _ in range(k)] for _ in range(m)]
    b = [[draw.uniform(-1, 1) for _ in range(n)] for _ in range(k)]
    npy("A.npy", a)
    npy("B.npy", b)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    for _ in range(4):
        rows = read_npy("C.npy")[2]
        i, j = draw.randrange(m), draw.randrange(n)
        row_sum = sum(abs(x) * sum(map(abs, b[p])) for p, x in enumerate(a[i]))
        change(rows, i, j, 10 * (k + 3) * 2.0 ** -53 * row_sum)
        npy("W.npy", rows)
        done = run("verify", "A.npy", "B.npy", "W.npy", "--json", "-")
        assert done.returncode == 1, (i, j, done.stderr)
        assert "tilewright: verify: W.npy: " in done.stderr, done.stderr
        verdict = json.loads(done.stdout)
        assert verdict["passed"] is False and verdict["row"] == i, (i, j, verdict)
        yield i, j, verdict


@case
def verify_sees_a_moved_element():
    def move(rows, i, j, size):
        rows[i][j] += size
    for i, j, verdict in spoil(move):
        assert verdict["col"] == j, (i, j, verdict)


@case
def verify_sees_nan_and_infinity():
    for value in ("nan", "inf", "-inf"):
        def poison(rows, i, j, size):
            rows[i][j] = float(value)
        for i, j, verdict in spoil(poison):
            assert verdict["col"] == j, (i, j, verdict)


@case
def verify_sees_swapped_elements():
    def swap(rows, i, j, size):
        other = max(range(len(rows[i])), key=lambda q: abs(rows[i][q] - rows[i][j]))
        rows[i][j], rows[i][other] = rows[i][other], rows[i][j]
    for _ in spoil(swap):
        pass


@case
def verify_says_what_it_can_see():
    pair()
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    out = good("verify", "A.npy", "B.npy", "C.npy", "--verbose").stdout
    for part in ("passed", "rows", "elements", "Always found", "Not found"):
        assert part in out, out


@case
def verify_says_what_it_found():
    pair(30, 20, 10)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    verify = "verify", "A.npy", "B.npy", "C.npy"
    assert re.fullmatch(r"C\.npy is the product: each of its 600 elements was checked\.\n"
                        r"The largest error is 0 of its bound, at C\[\d+, \d+\]\.\n", good(*verify).stdout), good(*verify).stdout
    assert good(*verify, "-q").stdout == "" and "Always found" in good(*verify, "-v").stdout
    rows = read_npy("C.npy")[2]
    rows[3][4] += 1
    npy("C.npy", rows)
    done = run(*verify)
    assert done.returncode == 1 and done.stdout.startswith("C.npy is not the product: 1 of its 30 rows is wrong.\nThe worst is C[3, 4]: "), done
    assert run(*verify, "-q").stdout == ""
    pair(80, 70, 3)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    out = good(*verify).stdout
    found = re.match(r"C\.npy is the product: its 5600 elements were checked by rows with 32 random vectors, (\d+) of them one by one\.\n", out)
    assert found and 4096 <= int(found[1]) < 5600, out


@case
def nan_in_c_is_told():
    """A NaN that the operands make is right, and still worth a warning."""
    npy("A.npy", [[float("nan"), 1.0], [1.0, 1.0]])
    npy("B.npy", [[1.0, 2.0], [3.0, 4.0]])
    for code in ("f4", "f8"):
        npy("B.npy", [[1.0, 2.0], [3.0, 4.0]], code)
        npy("A.npy", [[1.0, 1.0], [1.0, float("nan")]], code)
        assert good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify").stdout.endswith(" GFLOP/s, verified, 2 NaN\n")
        done = run("verify", "A.npy", "B.npy", "C.npy", "--json", "v.json")
        assert done.returncode == 0 and done.stderr == "tilewright: verify: warning: C.npy holds 2 NaN, the first at C[1, 0]\n", done
        assert records(open("v.json").read())[0]["nan_elements"] == 2
        good("verify", "A.npy", "B.npy", "C.npy", "--quiet")
    npy("W.npy", [[float("nan"), 6.0], [4.0, 6.0]], "f8")
    npy("A.npy", [[1.0, 1.0], [1.0, 1.0]])
    done = run("verify", "A.npy", "B.npy", "W.npy")
    assert done.returncode == 1 and "warning: W.npy holds 1 NaN, the first at C[0, 0]" in done.stderr, done


@case
def multiply_says_one_line():
    pair()
    line = r"C\.npy: 3 x 2 f64, [0-9.e-]+ [num]?s, [0-9.e-]+ GFLOP/s, %sverified\n"
    multiply = "multiply", "A.npy", "B.npy", "-o", "C.npy"
    assert re.fullmatch(line % "not ", good(*multiply).stdout), good(*multiply).stdout
    assert re.fullmatch(line % "", good(*multiply, "--verify").stdout)
    for word in ("-q", "--quiet"):
        assert good(*multiply, word, "--verify").stdout == ""
    for word in ("-v", "--verbose"):
        out = good(*multiply, word, "--verify").stdout
        assert all(re.search(part, out, re.M) for part in ("^A  .*in place", "^kernel  ", "^check  .*passed", "^time  .*check ", line % "")), out
    bad(2, *multiply, "-q", "-v", says="give one")
    done = run(*multiply, "-q", "--json", "-")
    assert done.stderr == "" and len(records(done.stdout)) == 1, done
    bad(6, "multiply", "A.npy", "none.npy", "-o", "C.npy", "-q", says="none.npy: ")
    assert on_terminal(*multiply, "-q") == ""


@case
def a_check_that_is_not_complete_is_no_success():
    """Infinities all over A: the classes of all elements of C cost more than the check may."""
    n = 600
    for name, value in (("A", float("inf")), ("B", 1.0), ("C", float("inf"))):
        with open(f"{name}.npy", "wb") as file:
            file.write(npy_header("<f4", (n, n)) + array.array("f", [value]).tobytes() * (n * n))
    open("verdict", "w").close()
    done = bad(1, "verify", "A.npy", "B.npy", "C.npy", "--json", "verdict", says="no fault was found, but", writes="verdict")
    assert re.fullmatch(r"C.npy could not be checked completely: \d+ of its 360000 elements are unchecked; no fault was found in the others\.\n"
                        r"The largest error is 0 of its bound, at C\[\d+, \d+\]\.\n", done.stdout), done.stdout
    with open("verdict") as file:
        verdict = json.load(file)
    assert verdict["passed"] and verdict["unchecked"] > 0, verdict
    bad(1, "multiply", "A.npy", "B.npy", "-o", "D.npy", "--verify", says="no fault was found, but")


# ---- records ----------------------------------------------------------------------------------------------------------

FIELDS = ("engine device kernel rung dtype m n k op_a op_b method min_s median_s p95_s gflops verified error_ratio bytes_asked "
          "compulsory_bytes peak_gflops bandwidth_gbps no_cache_gflops bound_gflops fraction_of_bound version").split()


@case
def doctor_passes_on_what_an_engine_advises():
    if not os.path.isdir("/etc/OpenCL/vendors") or not os.listdir("/etc/OpenCL/vendors"):
        return
    out = good("doctor", env={"OCL_ICD_VENDORS": "/nowhere", "OCL_ICD_FILENAMES": ""}).stdout
    state = next((line.split(None, 2)[2] for line in out.splitlines() if line.startswith("engine opencl")), "")
    assert "pocl-opencl-icd" in state and re.search(r"^advice 1 +opencl: " + re.escape(state), out, re.M), out


def doctor(**env):
    """Its facts by name."""
    good("doctor", "--json", "d.json", env={"OCL_ICD_VENDORS": "/nowhere", **env})
    return records(open("d.json").read())[0]


@case
def doctor_says_that_openmp_s_threads_are_passed_over():
    for wrong in ("many", "0", "5000", "2x"):
        assert re.search(r"^advice 1 +OMP_NUM_THREADS is ignored", good("doctor", env={"OMP_NUM_THREADS": wrong}).stdout, re.M), wrong
    for env in ({"OMP_NUM_THREADS": "2,1"}, {"OMP_NUM_THREADS": ""}, {"OMP_NUM_THREADS": "many", "TILEWRIGHT_THREADS": "1"}):
        assert "passed over" not in good("doctor", env=env).stdout, env


@case
def doctor_tells_every_variable_that_is_read():
    root, read, indirect = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."), set(), set()
    for path in subprocess.run(["find", *(os.path.join(root, f) for f in ("blas", "cli", "io", "lab", "src")), "-name", "*.[ch]"],
                               capture_output=True, text=True).stdout.split():
        text = open(path).read()
        arguments = re.findall(r"\bgetenv\(([^)]*)\)", text.replace("secure_getenv", "getenv"))
        read.update(a.strip('"') for a in arguments if a.startswith('"'))
        if any(not a.startswith('"') for a in arguments):
            indirect.add(os.path.relpath(path, root))
    assert indirect == {"cli/cmd_doctor.c"}, indirect
    facts, readme = doctor(TILEWRIGHT_KERNELS="/nowhere", TILEWRIGHT_PEERS="/none", TMPDIR="/tmp"), open(os.path.join(root, "README.md")).read()
    assert {name for name in facts if name.isupper()} == read and len(read) >= 14, read ^ {name for name in facts if name.isupper()}
    assert [facts["TILEWRIGHT_KERNELS"], facts["TILEWRIGHT_PEERS"], facts["TILEWRIGHT_NVRTC"]] == ["/nowhere", "/none", "not set"], facts
    assert not [name for name in read if f"`{name}`" not in readme], "README.md does not name them all"


@case
def doctor_tells_which_compiler_and_which_cublas_there_is():
    fakes = os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), "tests", "fakes")
    nvrtc, cublas = f"{fakes}/nvrtc/libnvrtc.so.13", f"{fakes}/cublas/libcublasLt.so.13"
    facts = doctor(TILEWRIGHT_NVRTC=nvrtc, LD_LIBRARY_PATH=f"{fakes}/cublas")
    assert facts["compiler cuda"] == f"NVRTC 13.0 for sm_75 to sm_100, {nvrtc}", facts
    assert facts["library cublas"] == f"cuBLASLt 13.2.7, {cublas}", facts
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
        done = run(*words, "--json", "-")
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
    good("devices", "--json", "/dev/null")
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
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        for words in ("bench", "--size", "256"), ("ladder", "--size", "128", "--rung", "r03,r04_banks"):
            said = re.search(r"^busy +other processes used (\d+) % of the processors", good(*words).stdout, re.M)
            assert said and 5 <= int(said.group(1)) <= 100, said
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
def ladder_on_two_engines():
    needs("opencl")
    done = good("ladder", "--engine", "cpu,opencl", "--size", "64", "--samples", "3", "--json", "r.json")
    lines = records(open("r.json").read())
    assert [r["engine"] for r in lines] == sorted(r["engine"] for r in lines), lines
    assert all(r["verified"].startswith("exact+bound") or r["refused"] for r in lines), lines
    assert done.stdout.count("\nladder ") == 1 and done.stdout.count("on opencl: ") == 1, done.stdout
    for r in lines:
        on_cpu = r["engine"] == "cpu"
        assert on_cpu == (r["threads"] is not None) == (r["block_threads"] is None) or r["refused"], r
        assert r["refused"] or r["bytes_tile"] > 0 and r["effective_gbps"] is None and (r["prepare_s"] is None) == on_cpu, r
    both = [r["rung"][:3] for r in lines if r["build"] == "default"]
    assert both == ["r01", "r02", "r03", "r03", "r04", "r04", "r05"], both
    assert both == [r["rung"][:3] for r in lines if r["build"] == "rolled"] and done.stdout.count("default build   ") == 7
    assert [r["rung"] for r in lines if r["prepare_s"]] == 2 * ["r03t_transposed"] and "transposed B in" in done.stdout
    assert re.search(r"x over r01_naive in its default build\n", done.stdout) or "fastest    r01_naive" in done.stdout


@case
def variants_are_compared_with_the_rung_before_their_base():
    needs("opencl")
    out = good("ladder", "--engine", "opencl", "--size", "64", "--samples", "3", "--rung", "r02,r03,r03t,r04", "--json", "r.json").stdout
    time = {r["rung"]: r["median_s"] for r in records(open("r.json").read()) if r["build"] == "rolled"}
    before = dict(re.findall(r"^(r\w+) .* ([0-9.]+)  +[0-9.]+%", out, re.M))
    for rung, other in (("r03_coalesced", "r02_tiled"), ("r03t_transposed", "r02_tiled"), ("r04_banks", "r03_coalesced")):
        assert abs(float(before[rung]) - time[other] / time[rung]) < 0.006, (rung, before, time)


@case
def ladder_sweeps_the_tiles_of_a_gpu():
    needs("opencl")
    done = good("ladder", "--engine", "opencl", "--size", "64", "--tile", "8,16,32,5", "--rung", "r01,r02", "--samples", "3", "--json", "r.json")
    lines = records(open("r.json").read())
    assert [r["tile"] for r in lines if r["build"] == "rolled"] == 2 * [8, 16, 32], lines
    assert [r["block_threads"] for r in lines if r["build"] == "default"] == 2 * [64, 256, 1024], lines
    assert [r["refused"] for r in lines if r["refused"]] and done.stdout.count("takes 8, 16 or 32") == 2, done.stdout


@case
def a_ladder_of_refused_rungs_alone():
    needs("opencl")
    done = run("ladder", "--engine", "opencl", "--size", "16", "--rung", "r02", "--tile", "5", "--samples", "3", "--json", "r.json")
    assert done.returncode == 3 and "all were refused" in done.stderr and "takes 8, 16 or 32" in done.stdout, done
    assert len(records(open("r.json").read())) == 1, "the refused row is a record too"
    good("ladder", "--engine", "opencl", "--size", "16", "--rung", "r02", "--tile", "5,16", "--samples", "3")


@case
def skinny_ladder():
    needs("opencl")
    done = good("ladder", "--engine", "opencl", "--skinny", "--size", "100", "--samples", "3", "--json", "r.json")
    lines = records(open("r.json").read())
    assert [(r["rung"][:2], r["k"]) for r in lines] == [(s, k) for k in (16, 32) for s in ("s1", "s2", "s3")], lines
    asked = {("s1", 16): 128, ("s2", 16): 68, ("s3", 16): 8, ("s1", 32): 256, ("s2", 32): 132, ("s3", 32): 8}
    good("ladder", "--engine", "opencl", "--skinny", "--shape", "64x96x32", "--samples", "3", "--json", "q.json")
    for r in lines + records(open("q.json").read()):
        m, n, k = r["m"], r["n"], r["k"]
        bytes_effective = 4 * (m * k * -(-n // k) + k * n * -(-m // k) + m * n)
        assert r["verified"].startswith("exact+bound") and abs(r["effective_gbps"] * 1e9 * r["median_s"] / bytes_effective - 1) < 1e-9, r
        if m == 64:
            assert r["bytes_asked"] == asked[r["rung"][:2], k] * m * n and bytes_effective == 12 * m * n, r
    for part in ("8.7", "14.3", "29.7", "0.7", "8.2", "15.7", "s2 / s1", "1.64", "11.71", "2.08", "1.91", "C(100 x 100)", "exceed"):
        assert part in done.stdout, part
    plain = good("ladder", "--engine", "opencl", "--size", "16", "--rung", "s1,s3", "--samples", "3", "--json", "r.json")
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
    assert [r["kernel"] for r in records(open("r.json").read())] == ["cpu_f32_gemm_simd_base"]
    for former, name in (("r14h_hopper", "sgemm_tma_sm90_128x128"), ("r14n", "sgemm_tma_sm90_128x64"), ("r14w_64x192", "gemm_wgmma_sm90_64x192")):
        assert good("explain", former).stdout.startswith(name + ", cuda,"), former
    for words, says in ((("--rung", "r14", "--tile", "16"), "has a tile edge"), (("--all", "--tile", "16"), "--all adds"), (("--all", "--skinny"), "--all adds"),
                        (("--rung", "r15"), " r14\n")):
        refused = run("ladder", *words)
        assert refused.returncode == 2 and says in refused.stderr, refused
    refused = run("bench", "--kernel", "cpu_f32_r14_peak_")
    assert refused.returncode == 2 and "no such row" in refused.stderr, refused


@case
def deep_ladder():
    needs("opencl")
    done = good("ladder", "--engine", "opencl", "--deep", "--shape", "20x30x4000", "--samples", "3", "--json", "r.json")
    lines = [r for r in records(open("r.json").read()) if r["build"] != "default"]
    assert [r["rung"] for r in lines] == ["r04_banks", "d1_splitk", "r14"], lines
    assert all(r["verified"].startswith("exact+bound") and (r["m"], r["n"], r["k"]) == (20, 30, 4000) for r in lines), lines
    assert "grid 2x2 threads" in done.stdout and "grid 1000x1 (1000 of them shares of 1 steps)" in done.stdout, done.stdout
    plain = good("ladder", "--engine", "opencl", "--size", "16", "--samples", "3", "--json", "r.json")
    assert not any(r["rung"].startswith("d") for r in records(open("r.json").read())), plain.stdout
    bad(2, "ladder", "--deep", "--skinny", says=["--deep and --skinny"])


@case
def products_on_opencl():
    needs("opencl")
    a, b = pair(33, 17, 20, "f4")
    done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl", "--verify")
    assert done.returncode == 0 and read_npy("C.npy") == ("<f4", (33, 17), product(a, b)), done
    pair(3, 2, 4, "f8")
    os.remove("C.npy")
    bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl", says=["opencl", "f64"])
    done = good("bench", "--engine", "cpu,opencl", "--size", "48", "--samples", "3", "--json", "r.json")
    assert [r["engine"] for r in records(open("r.json").read())] == ["cpu", "opencl"], done.stdout
    good("bench", "--kernel", "opencl_f32_r07_prefetch", "--size", "48", "--samples", "3")


@case
def selftest_of_two_engines():
    needs("opencl")
    done = good("selftest", "--engine", "cpu,opencl", "--json", "r.json")
    assert done.stdout.count(" passed, 0 failed, ") == 2 and "it runs on the" not in done.stdout, done.stdout
    names = [r["kernel"] for r in records(open("r.json").read())]
    assert "opencl_f32_s1_unoptimised" in names and not any(name.startswith("cuda") for name in names), names


@case
def devices_measures_its_ceilings():
    out = good("devices", "--json", "r.json").stdout
    for d in records(open("r.json").read()):
        assert d["peak_gflops"] > 0 and d["memory_gbps"] > 0 and d["cache_gbps"] is None or d["cache_gbps"] > 0, d
        assert d["shared_gbps"] is None if d["engine"] == "cpu" else d["shared_gbps"] > 0, d
        assert d["name"] in out and (d["published_source"] or "published: none known" in out), d


@case
def devices_outlives_a_driver_that_has_no_memory():
    """PoCL and LLVM end their process where memory runs out: at each limit what is left is told, with a status of ours."""
    if sanitized():
        raise Skip("a sanitizer's own memory does not fit any limit")
    for kib in (240000, 247000, 256000, 272000, 320000):
        done = run("devices", env={"TILEWRIGHT_THREADS": "1"}, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib * 1024,) * 2))
        assert done.returncode in (0, 8) and "\ncuda  " in done.stdout, (kib, done)
        assert (done.returncode == 8) == ("the driver of the opencl engine crashed: signal " in done.stdout), (kib, done)


@case
def selftest_judges_every_kernel():
    done = good("selftest", "--json", "r.json")
    lines = records(open("r.json").read())
    assert re.search(r"\d+ passed, 0 failed", done.stdout) and "\033" not in done.stdout, done.stdout
    assert len(lines) == done.stdout.count("\n") - 1 and not any(r["verified"] == "WRONG" for r in lines)
    assert {r["kernel"] for r in lines if r["verified"] == "exact"} == {"plans", "recalled plans", "contexts", "batches", "far rows"}, lines
    assert all(r["shapes"] > 100 for r in lines if r["kernel"] in ("plans", "recalled plans", "batches") or "gemm_simd" in r["kernel"] and r["shapes"] > 0), lines
    done = good("selftest", env={"TILEWRIGHT_CPU": "base"})
    assert "refused" in done.stdout or os.uname().machine != "x86_64", done.stdout


# ---- help and terminals -----------------------------------------------------------------------------------------------

@case
def help_comes_from_the_tables():
    names = re.findall(r"^  (\w+) ", run("help").stdout.split("COMMANDS")[1].split("EXIT")[0], re.M)
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
    names = re.findall(r"^  (\w+) ", run("help").stdout.split("COMMANDS")[1].split("EXIT")[0], re.M)
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


def on_terminal(*words, **env):
    """What a terminal shows of the program."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, *words], clean_environment(TERM="xterm", **env))
    shown = b""
    while select.select([fd], [], [], 60)[0]:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(fd)
    os.waitpid(pid, 0)
    return shown.decode()


@case
def progress_and_colour_are_for_terminals():
    shown = on_terminal("selftest")
    assert "\033[32mok" in shown and "\r\033[K" in shown and shown.rstrip().endswith(tuple("abcdefghijklmnopqrstuvwxyz0123456789"))
    pair()
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    verify = "verify", "A.npy", "B.npy", "C.npy"
    assert "\033[32m" in on_terminal(*verify) and "\033" not in on_terminal(*verify, NO_COLOR="1").replace("\r\033[K", "")


if __name__ == "__main__":
    main()
