#!/usr/bin/python3 -B
"""test_cli_products.py - what `tilewright multiply` computes and `verify` finds: types, formats, special values, wrong elements.

    test_cli_products.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Needs nothing but Python 3; cases that compare with
NumPy or SciPy are skipped, and counted, without them.
"""
import array
import itertools
import json
import math
import os
import random
import re
import struct
import subprocess

from support.matrices import CODES, archive, complexes, conjugate, gz, integers, npy, npy_header, pair, product, read_mtx, read_npy, transpose
from support.program import BUILD, PROGRAM, bad, engines, good, needs, needs_zlib, on_terminal, records, run, sanitized
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
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify", *(["-q"] if code == "i1" else []))
        assert read_npy("C.npy") == ("<f4", (3, 2), product(integers(3, 4, 1, 0, 9), integers(4, 2, 2, 0, 9))), code


@case
def bytes_that_are_multiplied_as_floats_get_a_hint():
    """Files of 8 bits without --dtype: f32, as ever, and one line that names the type with an exact product."""
    for a, b, dtype in (("i1", "i1", "i8"), ("u1", "u1", "u8"), ("u1", "i1", "u8,i8"), ("i1", "u1", "i8,u8"), ("i1", "i2", None), ("f4", "i1", None)):
        npy("A.npy", integers(3, 4, 1, 0, 9), a)
        npy("B.npy", integers(4, 2, 2, 0, 9), b)
        for more in ([], ["--memory", "600000"]):
            done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", *more)
            hint = f"tilewright: multiply: hint: A.npy and B.npy hold 8-bit integers and are multiplied in f32; --dtype {dtype} multiplies them in i32\n"
            assert done.returncode == 0 and done.stderr == (hint if dtype else ""), (a, b, done)
            assert read_npy("C.npy")[0] == "<f4"
        if dtype:
            good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", dtype)
            good("multiply", "A.npy", "B.npy", "-o", "C.npy", "-q")


@case
def types_have_the_names_of_numpy_and_of_c_too():
    """In every --dtype. A word that C and Python have for two types is refused with both."""
    for name, rows in ("A", integers(3, 4, 1, 0, 9)), ("B", integers(4, 2, 2, 0, 9)):
        npy(name + ".npy", rows, "i1")
    names = {"f64": ("float64", "double"), "f32": ("float32", "single"), "f16": ("float16", "half"), "bf16": ("bfloat16",), "cf32": ("complex64", "csingle"),
             "cf64": ("complex128", "cdouble"), **{f"{ours}{bits}": (f"{name}{bits}", f"{name}{bits}_t") for ours, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}}
    for ours, others in names.items():
        for name in (ours, *others):
            record, = records(good("multiply", "A.npy", "B.npy", "-o", "C.npy", "-q", "--dtype", name, "--json", "-").stdout)
            assert record["dtype"] == ours, (name, record)
    bad(3, "multiply", "A.npy", "B.npy", "-o", "E.npy", "--dtype", "float8_e4m3fn,float8_e5m2", says="--dtype e4m3,e5m2: the cpu engine multiplies no e4m3 by e5m2")
    array.array("h", [1, 2, 3, 4]).tofile(open("A.raw", "wb"))
    for ours, others in {"i16": ("int16", "int16_t"), "u16": ("uint16", "uint16_t")}.items():
        for name in (ours, *others):
            good("multiply", "A.raw", "A.raw", "-o", "C.npy", "--shape", "2x2x2", "--dtype", name)
            assert read_npy("C.npy") == (f"<{ours[0]}2", (2, 2), [[7, 10], [15, 22]]), name
    good("multiply", "A.npy", "B.npy", "-o", "H.npy", "--dtype", "half", "--dtype-c", "float16")
    assert read_npy("H.npy")[0] == "<f2"
    for words, dtypes in ((("bench", "--size", 8, "--samples", 1), "double,f32,bfloat16"), (("ladder", "--size", 8, "--rung", "r01", "--samples", 1), "double"), (("explain", "--ranks", 2), "double")):
        good(*words, "--dtype", dtypes, "--json", "r.jsonl")
        assert [r["dtype"] for r in records(open("r.jsonl").read())] == ["f64", "f32", "bf16"][:dtypes.count(",") + 1], words
    for command in (("multiply", "A.npy", "B.npy", "-o", "E.npy"), ("bench",), ("ladder",), ("selftest",), ("tune",), ("explain", "--ranks", 2)):
        bad(2, *command, "--dtype", "float", says=["'float' is f32 in C and f64 in Python: expected", " f32 "])
        bad(2, *command, "--dtype", "int128", says=["found 'int128'", "NumPy or C"])


@case
def wider_integers_are_multiplied_modulo_2_to_the_n():
    """Of each width, with a sign and without: .npy, .mtx and raw files, scalars, wrong elements told as they are."""
    for kind, bytes in itertools.product("iu", (2, 4, 8)):
        code, dtype, bits = f"{kind}{bytes}", f"{kind}{8 * bytes}", 8 * bytes
        low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if kind == "i" else (0, 2 ** bits - 1)
        wrapped = lambda x: (x - low) % 2 ** bits + low
        a, b, c0 = integers(7, 40, 1, low, high), integers(40, 9, 2, low, high), integers(7, 9, 3, low, high)
        a[0][0], b[0][0] = low, wrapped(-1)
        plain = [[wrapped(x) for x in row] for row in product(a, b)]
        for name, rows in (("A", a), ("B", b), ("C0", c0)):
            npy(f"{name}.npy", rows, code, fortran=name == "B", order="<>"[name == "A"])
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", dtype, "--verify")
        assert read_npy("C.npy") == (f"<{code}", (7, 9), plain), dtype
        good("verify", "A.npy", "B.npy", "C.npy")  # all four are of integers
        words = ["--dtype", dtype, "--alpha", "-3", "--beta", "100000001", "--add", "C0.npy"]
        scaled = [[wrapped(-3 * x + 100000001 * y) for x, y in zip(*rows)] for rows in zip(product(a, b), c0)]
        for more in ([], ["--memory", "600000"]):
            record, = records(good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify", "-q", *words, *more, "--json", "-").stdout)
            assert read_npy("C.npy") == (f"<{code}", (7, 9), scaled) and record["dtype"] == record["dtype_c"] == dtype, (dtype, record)
        good("multiply", "A.npy", "B.npy", "-o", "C.mtx", "--dtype", dtype)
        assert read_mtx("C.mtx", "unsigned-integer" if dtype == "u64" else "integer") == plain, dtype
        array.array({2: "h", 4: "i", 8: "q"}[bytes].upper() if kind == "u" else {2: "h", 4: "i", 8: "q"}[bytes], sum(a, [])).tofile(open("A.raw", "wb"))
        good("multiply", "A.raw", "B.npy", "--shape", "7x9x40", "--dtype", dtype, "-o", "C.raw", "--verify")
        good("verify", "A.raw", "B.npy", "C.mtx", "--shape", "7x9x40", "--dtype", dtype)
        good("verify", "A.raw", "B.npy", "C.raw", "--shape", "7x9x40", "--dtype", dtype)
        wrong = [row[:] for row in plain]
        wrong[3][4] = high if plain[3][4] != high else high - 1
        npy("wrong.npy", wrong, code)
        for more in ([], ["--dtype", dtype]):
            done = run("verify", "A.npy", "B.npy", "wrong.npy", *more)
            assert done.returncode == 1 and f"wrong.npy: C[3, 4] is {wrong[3][4]}, expected {plain[3][4]} exactly" in done.stderr, done.stderr
        npy("B.npy", [[high + 1]] if bytes < 8 else [[0.5]], "f8")
        npy("A.npy", [[1]], code)
        ends = f"{low} to {high}" if bytes == 2 else f"{'-2^' + str(bits - 1) if kind == 'i' else 0} to 2^{bits - (kind == 'i')} - 1"
        bad(6, "multiply", "A.npy", "B.npy", "-o", "E.npy", "--dtype", dtype, says=f"which {dtype} does not hold: it holds whole numbers of {ends}")
        most = "53 + 1 to 2^53 - 1" if bytes == 8 else "31 to 2^31 - 1"
        bad(2, "multiply", "A.npy", "A.npy", "-o", "E.npy", "--dtype", dtype, "--alpha", "0.5", says=f"--alpha: found 0.5, expected a whole number from -2^{most} with --dtype {dtype}")
    npy("A.npy", [[2 ** 53 + 1]], "i8")
    bad(6, "multiply", "A.npy", "A.npy", "-o", "E.npy", says="neither f32 nor f64 holds exactly; --dtype i64 multiplies modulo 2^64, --dtype f64 rounds it")
    good("multiply", "A.npy", "A.npy", "-o", "C.npy", "--dtype", "int64")
    assert read_npy("C.npy") == ("<i8", (1, 1), [[2 ** 54 + 1]])


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


# fp8 by its definition in the OCP specification: bits of fraction, bias, the largest number.
FP8 = {"e4m3": (3, 7, 448.0), "e5m2": (2, 15, 57344.0)}
FP8_DESCR = {"e4m3": "<V1", "e5m2": "<f1"}  # as NumPy saves ml_dtypes' float8_e4m3fn and float8_e5m2


def fp8_value(kind, code):
    bits, bias, largest = FP8[kind]
    exponent, fraction = (code & 127) >> bits, code & (1 << bits) - 1
    size = (fraction or exponent) and (fraction + (exponent > 0) * 2 ** bits) * 2.0 ** (max(exponent, 1) - bias - bits)
    return -size if code & 128 else size


def fp8_codes(kind, rows):
    numbers = {fp8_value(kind, code): code for code in range(128) if fp8_value(kind, code) <= FP8[kind][2]}
    return bytes((128 if x < 0 else 0) | numbers[abs(x)] for row in rows for x in row)


def fp8_file(path, kind, rows, descr=None):
    data = fp8_codes(kind, rows)
    with open(path, "wb") as file:
        file.write(npy_header(descr or FP8_DESCR[kind], (len(rows), len(rows[0]))) + data)
    with open(path.replace(".npy", ".raw"), "wb") as file:
        file.write(data)


def refused_product(product_of, *words, says, engines="cuda"):
    """On an engine without kernels for it: before a file is read, with the types, the engine and what would do."""
    bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", *words, says=[f"the cpu engine multiplies no {product_of}; give --engine {engines}. ", says])
    bad(3, "multiply", "none.npy", "none.npy", "-o", "C.npy", *words, "--engine", "cpu", says=says)


@case
def fp8_is_judged_and_refused_on_the_cpu():
    a, b = integers(5, 40, 1, -8, 8), integers(40, 9, 2, -4, 4)
    exact = product(a, b)
    for first in FP8:
        for second in FP8:
            fp8_file("A.npy", first, a)
            fp8_file("B.npy", second, b, "|V1")
            both = first if first == second else f"{first},{second}"
            npy("good.npy", exact, "f4")
            told = good("verify", "A.npy", "B.npy", "good.npy", "--dtype", both, "--verbose", "--json", "v.json").stdout
            assert f"A.npy  5 x 40 {first}, in place" in told and f"B.npy  40 x 9 {second}, in place" in told, told
            found = records(open("v.json").read())[0]
            assert (found["dtype"], found["dtype_b"], found["dtype_c"], found["element_ratio"]) == (first, second, "f32", 0), found
            npy("half.npy", exact, "f2")
            good("verify", "A.npy", "B.npy", "half.npy", "--dtype", both, "--dtype-c", "f16")
            good("verify", "A.raw", "B.raw", "good.npy", "--dtype", both, "--shape", "5x9x40")
            wrong = [row[:] for row in exact]
            wrong[2][3] += 64
            npy("wrong.npy", wrong, "f4")
            done = run("verify", "A.npy", "B.npy", "wrong.npy", "--dtype", both)
            assert done.returncode == 1 and "C[2, 3] is" in done.stderr, done.stderr
            refused_product(first if first == second else f"{first} by {second}", "--dtype", both, says="Or convert the files to f32, which holds the same numbers, and leave --dtype out")
    bad(6, "verify", "A.npy", "B.npy", "good.npy", says=["B.npy: the dtype is |V1 (raw bytes", "--dtype e4m3"])
    bad(6, "verify", "A.npy", "B.npy", "good.npy", "--dtype", "bf16", says="B.npy: the dtype is |V1 (raw bytes")
    bad(6, "verify", "good.npy", "good.npy", "B.npy", says="B.npy: the dtype is |V1 (raw bytes; ml_dtypes' e4m3 has this one, and no C is of e4m3)")
    bad(2, "verify", "A.npy", "B.npy", "good.npy", "--dtype", "e4m3", "--dtype-c", "f64", says="expected one of: f32 bf16 f16")


@case
def e5m2_files_are_read_without_a_type():
    a, b = [[1.0, -0.75, 57344.0]], [[2.0 ** -16], [1.5], [0.0]]
    fp8_file("A.npy", "e5m2", a)
    fp8_file("B.npy", "e5m2", b)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify")
    assert read_npy("C.npy") == ("<f4", (1, 1), [[2.0 ** -16 - 1.125]])
    good("multiply", "B.npy", "A.npy", "-o", "C.npy", "--dtype", "f64", "--verify")
    assert read_npy("C.npy") == ("<f8", (3, 3), product(b, a))


@case
def what_f16_does_not_hold_is_told():
    npy("A.npy", [[1.0, -1e6], [65504.0, float("inf")]])
    npy("B.npy", [[2.0, 0.5], [1.0, 1.0]])
    done = run("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f16", "--dtype-c", "f16", "--verify")
    assert done.returncode == 0 and done.stdout.endswith(" GFLOP/s, verified, 4 infinite\n"), done
    assert done.stderr == "tilewright: multiply: warning: A.npy: element [0, 1] is -1000000 and becomes infinite: the largest number of f16 is 65504\n", done
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f16", "-q")
    npy("A.npy", [[65519.0, float("nan")], [65504.0, float("inf")]])
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f16")


@case
def other_types_are_rounded_to_fp8_once():
    """A C of the rounded operands is the product, one of the operands as they were is not."""
    halfway = {"e4m3": ([[1.0625, 1.1875, 460.0, 2.0 ** -10]], [[1.0, 1.25, 448.0, 0.0]]),
               "e5m2": ([[1.125, 1.375, 60000.0, 2.0 ** -17]], [[1.0, 1.5, 57344.0, 0.0]])}
    identity = [[float(i == j) for j in range(4)] for i in range(4)]
    npy("B.npy", identity)
    for kind, (given, rounded) in halfway.items():
        npy("A.npy", given)
        npy("right.npy", rounded)
        npy("wrong.npy", given)
        good("verify", "A.npy", "B.npy", "right.npy", "--dtype", kind)
        assert run("verify", "A.npy", "B.npy", "wrong.npy", "--dtype", kind).returncode == 1, kind
        for beyond in (1e6, -65536.0):
            npy("A.npy", [[0.0, 0.0, beyond, float("nan")]])
            bad(6, "verify", "A.npy", "B.npy", "right.npy", "--dtype", kind,
                says=[f"A.npy: element [0, 2] is {beyond:.15g}, which {kind} does not hold", f"largest number is {FP8[kind][2]:g}", "--alpha"])
    npy("A.npy", [[float("inf"), 0, 0, 0]])
    bad(6, "verify", "A.npy", "B.npy", "right.npy", "--dtype", "e4m3", says="[0, 0] is inf, which e4m3 does not hold")
    npy("A.npy", [[1 + 1j, 0, 0, 0]], "c16")
    bad(2, "verify", "A.npy", "B.npy", "right.npy", "--dtype", "e4m3", says="A.npy is complex and the product is to be of e4m3")


@case
def u8_pairs_give_i32():
    a, b = {"u8": integers(7, 40, 1, 0, 255), "i8": integers(7, 40, 3, -128, 127)}, {"u8": integers(40, 9, 2, 0, 255), "i8": integers(40, 9, 4, -128, 127)}
    for first in ("u8", "i8"):
        for second in ("u8", "i8"):
            npy("A.npy", a[first], first[0] + "1")
            npy("B.npy", b[second], second[0] + "1", fortran=True)
            both = first if first == second else f"{first},{second}"
            npy("C.npy", product(a[first], b[second]), "i4")
            good("verify", "A.npy", "B.npy", "C.npy", "--dtype", f"{first},{second}")
            for name, kind, rows in (("A", first, a[first]), ("B", second, b[second])):
                array.array("bB"[kind == "u8"], [x for row in rows for x in row]).tofile(open(f"{name}.raw", "wb"))
            good("verify", "A.raw", "B.raw", "C.npy", "--dtype", both, "--shape", "7x9x40")
            wrong = product(a[first], b[second])
            wrong[6][8] ^= 1
            npy("wrong.npy", wrong, "i4")
            assert run("verify", "A.npy", "B.npy", "wrong.npy", "--dtype", both).returncode == 1
            os.remove("C.npy")
            good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", both, "--verify")
            assert read_npy("C.npy")[::2] == ("<i4", product(a[first], b[second]))
            if "u8" in both:
                good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify", "-q")  # in f32
                assert read_npy("C.npy")[::2] == ("<f4", product(a[first], b[second]))
    npy("A.npy", [[256.0] * 40])
    npy("C.npy", [[0] * 9], "i4")
    bad(6, "verify", "A.npy", "B.npy", "C.npy", "--dtype", "u8", says="A.npy: element [0, 0] is 256, which u8 does not hold: it holds whole numbers of 0 to 255")
    npy("A.npy", [[-1.0] * 40])
    bad(6, "verify", "A.npy", "B.npy", "C.npy", "--dtype", "u8,i8", says="A.npy: element [0, 0] is -1, which u8 does not hold")
    npy("A.npy", [[200] * 40], "u1")
    bad(6, "verify", "A.npy", "B.npy", "C.npy", "--dtype", "i8,u8", says="A.npy: element [0, 0] is 200, which i8 does not hold: it holds whole numbers of -128 to 127")
    npy("A.npy", [[1.0] * 40])
    npy("B.npy", [[1] * 9] * 40)
    bad(2, "verify", "A.npy", "B.npy", "C.npy", "--dtype", "u8", "--alpha", "0.5", says="a whole number from -2^31 to 2^31 - 1 with --dtype u8")


@case
def f16_is_multiplied_and_judged():
    a, b = integers(7, 40, 1, -8, 8), integers(40, 9, 2, -8, 8)
    exact = product(a, b)
    npy("A.npy", a, "f2")
    npy("B.npy", b, "f2", fortran=True)
    for words, descr in ((["--dtype", "f16"], "<f4"), (["--dtype", "f16", "--dtype-c", "f16"], "<f2"), ([], "<f4")):
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", *words, "--verify", "--json", "r.json")
        assert read_npy("C.npy")[::2] == (descr, exact), words
        record = records(open("r.json").read())[0]
        assert (record["dtype"], record["dtype_c"]) == ("f16" if words else "f32", {"<f4": "f32", "<f2": "f16"}[descr]), record
        good("verify", "A.npy", "B.npy", "C.npy", *words)
    exact[3][4] += 1
    npy("wrong.npy", exact, "f2")
    done = run("verify", "A.npy", "B.npy", "wrong.npy", "--dtype", "f16", "--dtype-c", "f16")
    assert done.returncode == 1 and "C[3, 4] is" in done.stderr and "rounded to it" not in done.stdout, done.stderr
    done = run("verify", "A.npy", "B.npy", "wrong.npy")
    assert done.returncode == 1 and "for a C that was rounded to it give --dtype f16 --dtype-c f16" in done.stdout, done.stdout
    npy("A.npy", [[65519.0, 2.0 ** -24, 1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11]], "f8")  # rounded as they are read
    npy("B.npy", [[float(i == j) for j in range(4)] for i in range(4)], "f2")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f16", "--dtype-c", "f16", "--verify")
    assert read_npy("C.npy")[2] == [[65504, 2.0 ** -24, 1, 1 + 2.0 ** -9]], read_npy("C.npy")


@case
def tf32_is_for_who_asks_for_it():
    npy("A.npy", [[1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -23]], "f4")
    npy("B.npy", [[float(i == j) for j in range(3)] for i in range(3)], "f4")
    npy("rounded.npy", [[1.0, 1 + 2.0 ** -9, 1.0]], "f4")
    npy("plain.npy", [[1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -23]], "f4")
    told = good("verify", "A.npy", "B.npy", "rounded.npy", "--dtype", "tf32", "--verbose").stdout
    assert "A.npy  1 x 3 f32, in place" in told, told
    assert run("verify", "A.npy", "B.npy", "plain.npy", "--dtype", "tf32").returncode == 1
    for words in (["--dtype", "f32"], []):
        assert run("verify", "A.npy", "B.npy", "rounded.npy", *words).returncode == 1
        good("verify", "A.npy", "B.npy", "plain.npy", *words)
    refused_product("tf32", "--dtype", "tf32", says="Or give --dtype f32")
    array.array("f", [1 + 2.0 ** -11]).tofile(open("x.raw", "wb"))
    array.array("f", [1.0]).tofile(open("one.raw", "wb"))
    good("verify", "x.raw", "one.raw", "one.raw", "--dtype", "tf32", "--shape", "1x1x1")


@case
def a_row_keeps_its_bits():
    rows = [[random.Random(i).random() for i in range(j, j + 900)] for j in range(7)]
    npy("A.npy", rows, "f4")
    npy("row.npy", rows[4:5], "f4")
    npy("B.npy", transpose(rows), "f4")
    for a in ("A", "row"):
        assert "engine     cpu, since --invariant" in good("multiply", f"{a}.npy", "B.npy", "-o", f"C{a}.npy", "--invariant", "--verify", "-v").stdout
    assert read_npy("CA.npy")[2][4] == read_npy("Crow.npy")[2][0]
    good("multiply", "A.npy", "B.npy", "-o", "E.npy", "--engine", "cpu", "--emulate", "--verify")
    assert read_npy("CA.npy")[2] == read_npy("E.npy")[2], "the cpu emulates nothing"
    told = good("selftest", "--grade", "--engine", "cpu", "--dtype", "f32").stdout
    assert re.search(r"^ok +f32 +12 products, grade A, errors over", told, re.M), told
    bad(2, "selftest", "--grade", "--dtype", "i8", says="--dtype i8 does not work with --grade")
    bad(2, "selftest", "--emulate", says="--emulate needs --grade")
    bad(2, "selftest", "--budget", "3", says="--budget needs --invariant")
    searched = good("selftest", "--engine", "cpu", "--dtype", "i8,e4m3", "--invariant", "--budget", "1").stdout
    assert re.search(r"^ok +i8 +\d+ products, invariant$", searched, re.M) and "1 passed, 0 failed, 1 refused" in searched
    needs("opencl")
    bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl", "--invariant", says="no kernel fits TW_INVARIANT: opencl_f32_")


# ---- epilogues -------------------------------------------------------------------------------------------------------

def vector(path, values, code="f4"):
    """A .npy file of one dimension; of none, where values is no list."""
    flat, shape = (values, (len(values),)) if isinstance(values, list) else ([values], ())
    with open(path, "wb") as file:
        file.write(npy_header("<" + code, shape) + struct.pack(f"<{len(flat)}{CODES[code]}", *flat))


def bind(*words):
    return [x for word in words for x in ("--bind", word)]


def made(text, *words, c="C.npy"):
    """What is said of a product with an epilogue, which is verified."""
    return good("multiply", "A.npy", "B.npy", "-o", c, "--epilogue", text, *words, "--verify").stdout


EPILOGUE = "relu(acc + bias[j]) * s + v[i] - r[i, j] + 2 * t[j, i] + one"
BOUND = bind("bias=bias.npy", "s=-0.5", "v=v.mtx", "r=all.npz:r", "t=t.npy", "one=one.npy")


def bound_operands(code="f4"):
    """A.npy, B.npy and the files of BOUND. Returns what EPILOGUE makes of alpha A B + beta C0, a function of these."""
    a, b = pair(7, 5, 4, code)
    bias, v, r, t = integers(1, 5, 3)[0], integers(7, 1, 4), integers(7, 5, 5), integers(5, 7, 6)
    vector("bias.npy", bias)
    vector("one.npy", 1, "f2")
    npy("r.npy", r, "f2", fortran=True)
    npy("t.npy", t, "i2", order=">")
    archive("all.npz", "r.npy", "bias.npy")
    with open("v.mtx", "w") as file:
        file.write("%%MatrixMarket matrix array real general\n7 1\n" + "".join(f"{x}\n" for x, in v))

    def element(i, j, acc):
        return max(acc + bias[j], 0) * -0.5 + v[i][0] - r[i][j] + 2 * t[j][i] + 1

    def result(alpha=1, beta=0, c0=None):
        return [[element(i, j, alpha * x + (beta * c0[i][j] if beta else 0)) for j, x in enumerate(row)]
                for i, row in enumerate(product(a, b))]
    return result


@case
def bench_times_an_epilogue_of_random_operands():
    """Both products are judged; a name gets what its uses read: a number, vectors, matrices either way, or both of a rectangle."""
    text = "where(acc < 1e-3, acc, acc * s) + v[i] * bias[j] + r[i, j] - t[j, i] + both[i,j]*both[j , i] + v[j]"
    for dtype, shape in (("f32", "70x33x20"), ("f64", "9x50x31"), ("bf16", "1x64x64")):
        done = good("bench", "--epilogue", text, "--dtype", dtype, "--shape", shape, "--samples", 1, "--json", "r.jsonl")
        plain, made = records(open("r.jsonl").read())
        assert plain["epilogue"] is None and made["epilogue"] == text and plain["dtype"] == made["dtype"] == dtype, (plain, made)
        assert plain["verified"] == made["verified"] == "exact+bound" and "  with the epilogue, above, " in done.stdout, (made, done)
    bad(2, "bench", "--epilogue", "acc", "--size", 8, "--against", "openblas", says=["--epilogue does not work with --against"])
    for wrong, says in (("foo(acc)", "no function is named foo"), ("acc +", "column 6: found the end")):
        done = run("bench", "--epilogue", wrong, "--size", 8)
        assert done.returncode != 0 and says in done.stderr and done.stdout == "", (wrong, done)
    done = run("bench", "--epilogue", "acc", "--size", 8, "--dtype", "cf32", "--samples", 1)
    assert "refused: an epilogue takes sums of f32" in done.stdout and "with the epilogue" not in done.stdout, done


@case
def an_epilogue_makes_c():
    for code, r_is in (("f4", "in place"), ("f8", "converted to f64 by rows")):
        result = bound_operands(code)
        told = made(EPILOGUE, *BOUND, "-v", "--json", "r.json")
        assert read_npy("C.npy") == (f"<{code}", (7, 5), result()), code
        for line in ("engine     cpu, since there is an --epilogue", "epilogue   " + EPILOGUE, "s          -0.5\n",
                     "bias       bias.npy  5 x 1 f32, in place",
                     f"r          all.npz:r  7 x 5 f16, column-major, {r_is}",
                     f"t          t.npy  5 x 7 i16, other byte order, converted to f{8 * int(code[1])} by rows",
                     "  elements  35 recomputed, each of them."):
            assert line in told, (line, told)
        record = records(open("r.json").read())[0]
        assert record["epilogue"] == EPILOGUE and record["verified"] == "elements" and record["error_ratio"] <= 1, record
    c0 = integers(7, 5, 9)
    npy("D.npy", c0, "f4")
    scalars = ["--alpha", "2", "--beta", "-3", "--add", "D.npy"]
    made(EPILOGUE, *BOUND, *scalars)
    rows = result(2, -3, c0)
    assert read_npy("C.npy")[2] == rows
    verify = ["verify", "A.npy", "B.npy", "C.npy", "--epilogue", EPILOGUE, *BOUND, *scalars]
    assert "each of its 35 elements was checked" in good(*verify).stdout
    rows[6][3] += 2.0 ** -20
    npy("C.npy", rows, "f8")
    bad(1, *verify, says="C.npy: C[6, 3] is ")
    assert records(run(*verify, "--json", "-", "-q").stdout)[0]["epilogue"] == EPILOGUE
    assert "in place of an operand of its epilogue" in made("acc + r[i, j]", *bind("r=r.npy"), c="r.npy")


@case
def an_epilogue_of_other_types_and_shapes():
    npy("A.npy", [[3, -5]], "i1")
    npy("B.npy", [[7, 1, -2], [1, 0, 2]], "i1")
    vector("v.npy", [1.0, 1.5, 100.0], "f8")
    bytes_of = ["--dtype", "i8", "--dtype-c", "i8", "--alpha", "0.5"]
    for text in ("acc * v[j]", "acc * v[i, j]", "acc * v[j, i]"):  # a single row lies as a column does
        made(text, *bind("v=v.npy"), *bytes_of, c="C.raw")
        assert open("C.raw", "rb").read() == struct.pack("<3b", 8, 2, -128), text
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "i8", "--epilogue", "acc",
        says="--epilogue: C is of i32, expected --dtype-c f32, i8 or u8 with --dtype i8")
    npy("A.npy", [[1.0, 2.0 ** -9]], "f4")
    npy("B.npy", [[1.0], [1.0]], "f4")
    made("acc - 1", "--dtype", "bf16", "--dtype-c", "bf16", c="C.raw")
    assert open("C.raw", "rb").read() == b"\x00\x3b"  # acc is no bf16
    vector("v.npy", [float("nan")])
    for word, text in (("v=v.npy", "acc + v[j]"), ("v=nan", "acc * v"), ("v=inf", "acc * v - v")):
        told = made(text, *bind(word))
        assert str(read_npy("C.npy")[2]) == "[[nan]]" and ", verified, 1 NaN" in told, told
    made("where(v != v, 7, acc)", *bind("v=v.npy"))
    assert read_npy("C.npy")[2] == [[7.0]]
    if numpy is None:
        raise Skip("NumPy is not here")
    draw = numpy.random.default_rng(7)
    a, b, bias = (draw.standard_normal(x).astype("f4") for x in ((40, 30), (30, 50), 50))
    for name, matrix in (("A", a), ("B", b), ("bias", bias)):
        numpy.save(f"{name}.npy", matrix)
    made("gelu(acc + bias[j])", *bind("bias=bias.npy"))
    x = a.astype("f8") @ b.astype("f8") + bias
    assert abs(numpy.load("C.npy") - x * (1 + numpy.vectorize(math.erf)(x / 2 ** 0.5)) / 2).max() < 1e-5


@case
def what_an_epilogue_refuses():
    bound_operands()
    multiply, none = ["multiply", "A.npy", "B.npy", "-o", "C.npy"], "no.npy"
    many = bind(*(f"s{q}=1" for q in range(17)))
    for text, words, says in (
            ("acc + + 1", [], "epilogue, column 7: found '+'"),
            ("gelu(acc + v[j]", bind("v=no.npy"), "epilogue, column 16: gelu takes 1 operand, expected ')'"),
            ("acc + q", bind("r=r.npy"), "epilogue, column 7: nothing is bound to the name q; there are acc, i, j, r"),
            ("acc + s[j]", bind("s=1e-3"), "epilogue, column 7: s is bound to a number, which has no index"),
            ("acc * s", bind("s=1", "r=r.npy"), "--bind r=r.npy: the epilogue does not name r"),
            ("acc * s", bind("s=1", "s=no.npy"), "--bind names s twice: s=1 and s=no.npy"),
            ("acc * s", many, "--bind: found 's16=1', expected NAME=VALUE, at most 16 times"),
            ("acc * s", ["--epilogue", "acc"], "--epilogue is given twice"),
            ("acc * s", bind("s"), "--bind s: expected NAME=FILE or NAME=NUMBER"),
            ("acc * s", bind("s="), "--bind s=: expected NAME=FILE"),
            ("acc * s", bind("2s=1"), "--bind 2s=1: expected NAME=FILE"),
            ("acc * s", bind(f"{'s' * 32}=1"), "at most 31"),
            ("acc * s", bind("acc=1"), "--bind acc=1: acc means the product"),
            ("acc * s", bind("s=-"), "--bind s=-: standard input is for A, B and C0"),
            ("acc * s", bind("s=s.raw"), "--bind s=s.raw: a raw file does not say its shape and type"),
            ("acc * s", bind("s=1") + ["--dtype", "i32"], "--epilogue: the product is of i32, expected one of f32"),
            ("acc * s", bind("s=r.npy") + ["--json", "r.npy"], "--json r.npy names the same file as --bind r.npy")):
        for command in (["multiply", none, none, "-o", "C.npy"], ["verify", none, none, none]):  # before a file is read
            bad(2, *command, "--epilogue", text, *words, says=says)
    bad(2, *multiply, *bind("s=1"), says="--bind needs --epilogue TEXT")
    npy("z.npy", [[1j]], "c8")
    for code, text, words, says in (
            (6, "acc * s", bind("s=no.npy"), "no.npy: cannot be read"),
            (6, "acc * s", bind("s=z.npy"), "z.npy: is of cf32, expected real numbers"),
            (6, "acc * s", bind("s=r.npy"), "r.npy: is 7 x 5, expected 1 element: the epilogue has s, and C is 7 x 5"),
            (6, "acc * v[j]", bind("v=v.mtx"),
             "v.mtx: is 7 x 1, expected 5 elements in a row or column: the epilogue has v[j], and C is 7 x 5"),
            (6, "r[i, j] + r[j, i]", bind("r=r.npy"),
             "r.npy: is 7 x 5, expected 5 x 7: the epilogue has r[j, i], and C is 7 x 5"),
            (5, "acc + r[i, j]", bind("r=r.npy") + ["--memory", "400"],
             "the product takes 402 B of memory, more than --memory 400 B"),
            (5, "acc", ["--memory", "100"], "what is computed in panels takes no epilogue")):
        bad(code, *multiply, "--epilogue", text, *words, says=says)
    npy("A.npy", [[1j]], "c8")
    bad(2, "multiply", "A.npy", "z.npy", "-o", "C.npy", "--epilogue", "acc", says="the product is of cf32")
    needs("opencl")
    pair()
    npy("v.npy", [[1], [-2]], "f4")
    told = good(*multiply, "--engine", "opencl", "--epilogue", "acc * s + v[j]", "--verify", *bind("s=3", "v=v.npy"))
    assert ", verified" in told.stdout, told


@case
def types_of_c_and_pairs_that_there_are_not():
    pair(3, 2, 4)
    for words, says in ((["--dtype", "e4m3,i8"], "--dtype e4m3,i8: expected one type, or that of A and that of B"),
                        (["--dtype", "f32,f64"], "--dtype f32,f64: expected one type"),
                        (["--dtype", "u16,u8"], "--dtype u16,u8: expected one type"),
                        (["--dtype", "u8,i8,u8"], "--dtype: found 'u8,i8,u8', expected"),
                        (["--dtype", "tf32", "--dtype-c", "bf16"], "--dtype-c bf16: products of tf32 are f32"),
                        (["--dtype", "bf16", "--dtype-c", "f16"], "--dtype-c f16: products of bf16 are f32 or bf16"),
                        (["--dtype", "u8", "--dtype-c", "f16"], "--dtype-c f16: products of u8 are i32, f32, i8 or u8"),
                        (["--dtype", "f16", "--dtype-c", "bf16"], "--dtype-c bf16: products of f16 are f32 or f16"),
                        (["--dtype", "i16", "--dtype-c", "bf16"], "--dtype-c bf16: products of i16 are i16"),
                        (["--dtype", "i8,i32"], "--dtype i8,i32: expected one type"),
                        (["--dtype-c", "bf16"], "--dtype-c bf16: needs --dtype T")):
        bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", *words, says=says)
        bad(2, "verify", "A.npy", "B.npy", "B.npy", *words, says=says)
    needs("opencl")
    for c in ("f32", "i8", "u8"):
        bad(3, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "opencl", "--dtype", "i8,u8", "--dtype-c", c,
            says=f"--dtype-c {c}: the opencl engine gives products of i8 in i32; give --engine cpu, or leave --dtype-c out")


@case
def bytes_are_scaled_to_floats_and_bytes():
    """alpha A B + beta C0 in double, rounded once: by Python's own floats. verify finds one wrong element."""
    bits = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
    ends = {"i8": (-128, 127), "u8": (0, 255)}
    for types, of_c, alpha, beta in (("i8", "f32", 0.1, None), ("u8,i8", "f32", -3.7, 0.3), ("i8", "i8", 0.0625, None), ("i8,u8", "u8", 0.031, -0.5), ("u8", "i8", -0.00027, 1)):
        a_type, b_type = (types.split(",") * 2)[:2]
        a, b, z = integers(9, 30, 1, *ends[a_type]), integers(30, 7, 2, *ends[b_type]), integers(9, 7, 3, 0, 99)
        a[2], code = [0] * 30, {"f32": "f4", "i8": "i1", "u8": "u1"}
        npy("A.npy", a, code[a_type]), npy("B.npy", b, code[b_type]), npy("Z.npy", z, code[of_c])
        words = ["--dtype", types, "--dtype-c", of_c, "--alpha", alpha] + ([] if beta is None else ["--beta", beta, "--add", "Z.npy"])
        exact = [[alpha * x + (beta or 0) * y for x, y in zip(p, q)] for p, q in zip(product(a, b), z)]
        convert = bits if of_c == "f32" else lambda x: max(ends[of_c][0], min(ends[of_c][1], round(x)))
        expected = [[convert(x) for x in row] for row in exact]
        assert of_c == "f32" or {*ends[of_c]} & {x for row in expected for x in row}, "nothing saturates"
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", *words, "--verify")
        assert read_npy("C.npy") == (("<" if of_c == "f32" else "|") + code[of_c], (9, 7), expected), (types, of_c)
        told = good("verify", "A.npy", "B.npy", "C.npy", *words, "--verbose").stdout
        assert "each of its 63 elements was checked" in told and "63 recomputed, each of them" in told, told
        expected[2][3] += 1
        npy("wrong.npy", expected, code[of_c])
        done = run("verify", "A.npy", "B.npy", "wrong.npy", *words)
        assert done.returncode == 1 and "wrong.npy: C[2, 3] is" in done.stderr, done.stderr
    npy("A.npy", [[200]], "u1"), npy("H.npy", [[0.5]])
    bad(2, "multiply", "A.npy", "A.npy", "-o", "C.npy", "--dtype", "u8", "--alpha", "0.5", says="--alpha: found 0.5, expected a whole number")
    for words in (["--dtype-c", "f32"], ["--dtype-c", "i8"]):
        bad(6, "multiply", "A.npy", "A.npy", "-o", "C.npy", "--dtype", "i8", *words, says="A.npy: element [0, 0] is 200, which i8 does not hold")
    bad(6, "multiply", "A.npy", "A.npy", "--add", "H.npy", "--beta", "1", "-o", "C.npy", "--dtype", "u8", "--dtype-c", "u8", says="H.npy: element [0, 0] is 0.5, which u8 does not hold")
    good("multiply", "A.npy", "A.npy", "--add", "H.npy", "--beta", "1", "-o", "C.mtx", "--dtype", "u8", "--dtype-c", "f32", "--verify")
    assert read_mtx("C.mtx") == [[40000.5]]


@case
def bf16_files_of_numpy():
    """Saved as raw bytes, V2: A, B and C."""
    words = lambda rows: b"".join(struct.pack("<f", x)[2:] for row in rows for x in row)
    a, b = integers(3, 5, 1), integers(5, 4, 2)
    for name, rows in (("A", a), ("B", b), ("C", product(a, b))):
        open(f"{name}.npy", "wb").write(npy_header("<V2", (len(rows), len(rows[0]))) + words(rows))
    good("verify", "A.npy", "B.npy", "C.npy", "--dtype", "bf16", "--dtype-c", "bf16")
    good("multiply", "A.npy", "B.npy", "-o", "G.npy", "--dtype", "bf16", "--dtype-c", "bf16", "--verify")
    assert open("G.npy", "rb").read() == open("C.npy", "rb").read()
    good("multiply", "A.npy", "B.npy", "-o", "D.npy", "--dtype", "bf16", "--verify")
    assert read_npy("D.npy") == ("<f4", (3, 4), product(a, b))
    bad(6, "multiply", "A.npy", "B.npy", "-o", "D.npy", says=["A.npy: the dtype is <V2 (raw bytes", "--dtype bf16"])
    for said in ([], ["--dtype", "f32"]):  # C and C0
        bad(6, "verify", "D.npy", "D.npy", "C.npy", *said, says=["C.npy: the dtype is <V2 (raw bytes", "--dtype-c bf16 says so"])
    bad(6, "verify", "A.npy", "B.npy", "C.npy", "--dtype", "bf16", says=["C.npy: the dtype is <V2 (raw bytes", "--dtype-c bf16 says so"])
    bad(6, "multiply", "D.npy", "D.npy", "--add", "C.npy", "--beta", "1", "-o", "E.npy", says=["C.npy: the dtype is <V2 (raw bytes", "--dtype-c bf16 says so"])
    open("E.npy", "wb").write(npy_header("<V2", (1, 2)) + b"\xc0\x7f\x80\xff")  # NaN and -infinity
    open("F.npy", "wb").write(npy_header("<V2", (1, 1)) + b"\x80\x3f")
    done = run("verify", "F.npy", "E.npy", "E.npy", "--dtype", "bf16", "--dtype-c", "bf16", "--json", "v.json")
    assert done.returncode == 0 and "E.npy holds 1 NaN, the first at C[0, 0]" in done.stderr, done
    assert records(open("v.json").read())[0]["nan_elements"] == 1


def fake_cuda(device):
    """The environment in which the program finds the fake driver."""
    if sanitized():
        raise Skip("the fake driver's library is not built with sanitizers")
    fakes = os.path.join(BUILD, "tests", "fakes")
    return {"LD_LIBRARY_PATH": os.path.join(fakes, "cuda"), "TILEWRIGHT_NVRTC": os.path.join(fakes, "nvrtc", "libnvrtc.so.13"), "TILEWRIGHT_CACHE": "off", "FAKE_CUDA": device}


def striped(path, rows, cols):
    """A file of f64 whose rows are alike."""
    with open(path, "wb") as file:
        file.write(npy_header("<f8", (rows, cols)) + array.array("d", [j % 7 - 2 for j in range(cols)]).tobytes() * rows)


@case
def auto_takes_a_gpu_where_it_is_faster():
    """By data/costs.def, where one thread of the oldest code takes 0.38 s, and a GPU 0.37 with its kernel, 0.47 without."""
    env = {**fake_cuda("sm=90"), "TILEWRIGHT_CPU": "base", "TILEWRIGHT_CACHE": os.path.abspath("cache"), "FAKE_LOG": os.path.abspath("log")}
    os.mkdir("cache", 0o700)
    for name, n in (("A", 1150), ("S", 64)):
        striped(f"{name}.npy", n, n)

    def engine(*words, says, operand="A", **more):
        out = good("multiply", f"{operand}.npy", f"{operand}.npy", "-o", "C.npy", "--threads", 1, "-v", "--json", "r.jsonl", *words, env={**env, **more}).stdout
        lines = re.findall("^engine +(.*)", out, re.M)
        assert lines == [] if says is None else re.fullmatch(says, lines[-1]), out
        return records(open("r.jsonl").read())[0]["engine"]

    assert engine(operand="S", says="cpu, estimated [^;]* us; cuda, whose driver takes 370 ms to start, was not tried") == "cpu" and not os.path.exists("log")
    assert engine("--device", "0", says=None) == "cpu" and not os.path.exists("log")
    assert engine("--dtype", "i64", operand="S", says="cpu, estimated .*; cuda does not multiply this type") == "cpu" and not os.path.exists("log")
    assert engine(says="cpu, estimated 380 ms; cuda 47. ms, and cuda's kernel is not compiled yet") == "cpu" and "cuInit" in open("log").read()
    good("multiply", "A.npy", "A.npy", "-o", "C.npy", "--engine", "cuda", env=env)
    for words in ([], ["--engine", "auto"]):
        assert engine(*words, says="cuda, estimated 37. ms; cpu 380 ms") == "cuda"
    if "cuda" not in engines():
        assert engine(LD_LIBRARY_PATH="", says="cpu, estimated 380 ms; cuda 37. ms or more, but the CUDA driver cannot be used: .*") == "cpu"
    assert engine(FAKES="cuMemAlloc_v2=2", says="cpu, since cuda failed: no device memory .*") == "cpu"
    assert engine("--memory", "20M", says="cpu, since the product is computed in panels; --engine cuda takes a GPU") == "cpu"
    assert engine("--epilogue", "acc", operand="S", says="cpu, since there is an --epilogue; --engine cuda takes a GPU") == "cpu"


@case
def auto_computes_anew_what_a_gpu_leaves_half_done():
    """Copies of C back to the host fail at the third of several: rows of C0 are overwritten by then, by beta times C0."""
    env = {**fake_cuda("sm=75 product=1 lacks_dgemm_simt=1000"), "TILEWRIGHT_CPU": "base", "FAKES": "cuMemcpyDtoHAsync_v2=700@3"}
    for name, rows, cols in (("A", 1450, 1000), ("B", 1000, 1450), ("D", 1450, 1450)):
        striped(f"{name}.npy", rows, cols)
    done = run("multiply", "A.npy", "B.npy", "--add", "D.npy", "--beta", 3, "-o", "C.npy", "--threads", 1, "-v", "--verify", env=env)
    assert done.returncode == 0 and "not verified" not in done.stdout and "engine     cpu, since cuda failed: cuMemcpyDtoHAsync_v2 failed" in done.stdout, done
    assert done.stderr.startswith("tilewright: multiply: warning: the GPU failed, and the cpu computes: cuMemcpyDtoHAsync_v2 failed"), done
    said = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--threads", 1, "-v", env={**env, "FAKES": "", "TILEWRIGHT_NVRTC": "/nowhere"}).stdout
    assert "engine     cpu, since cuda failed: NVRTC, the CUDA run-time compiler, cannot be used: /nowhere" in said, said


@case
def complex_types_reach_the_cuda_engine():
    """As real products, on a fake device that multiplies: by squares of B and by planes of A, all ops, scalars and ways to lie, judged by both oracles; and
    files."""
    said = good("selftest", "--engine", "cuda", "--dtype", "cf32,cf64", env=fake_cuda("product=1 sm=75")).stdout
    assert said.count("ok ") == 2 and said.startswith("ok       cf32") and "2 passed, 0 failed, 0 refused" in said, said
    env = {**fake_cuda("product=1 sm=75 shapes=1"), "FAKE_LOG": "launches"}
    for shape, words, real in (("70x60x50", [], "70 120 100"), ("7x600x50", [], "14 1200 50"), ("7x600x50", ["--transpose-b"], "14 600 100"), ("7x600x50", ["--transpose-a", "--transpose-b"], "14 600 100")):
        open("launches", "w").close()
        good("bench", "--engine", "cuda", "--dtype", "cf32", "--shape", shape, *words, "--samples", 1, "--json", "r.jsonl", env=env)
        (record,) = records(open("r.jsonl").read())
        assert record["verified"].startswith("exact+bound") and record["kernel"] == "cuda_f32_sgemm_simt_128x128" and record["dtype"] == "cf32", record
        assert {x[8:].strip() for x in open("launches") if x.startswith("product ")} == {real}, (shape, real, open("launches").read())
    z = complexes(40, 7, 1)
    npy("Z.npy", z, "c16")
    said = good("multiply", "Z.npy", "Z.npy", "--transpose-b", "--conjugate-b", "--engine", "cuda", "-o", "H.npy", "--verify", "-v", env=fake_cuda("product=1 sm=75")).stdout
    assert "cuda_f64_dgemm_simt" in said and read_npy("H.npy") == ("<c16", (40, 40), product(z, transpose(conjugate(z)))), said


@case
def padding_is_kept_on_a_gpu():
    """The kernel that `bench` plans and times meets the rows as they were asked for: with 1 element between them loads of 16 bytes do not fit."""
    env = fake_cuda("product=1 sm=75")
    for pad, wide in ((1, 0), (4, 1)):
        done = run("bench", "--engine", "cuda", "--size", 64, "--pad", pad, "--samples", 1, "--explain-plan", "--json", "r.jsonl", env=env)
        (record,) = records(open("r.jsonl").read())
        assert record["lda"] == 64 + pad and record["verified"] == "exact+bound", (done, record)
        assert f"-DWIDE={wide}" in record["plan"] and f"  plan: {record['plan']}\n" in done.stdout, (pad, done.stdout, record["plan"])


@case
def rows_lie_on_a_gpu_as_a_callers_do():
    """One after the other; --padded: each at a multiple of 16 bytes. The record says so, and the kernel is launched with just that."""
    env = {**fake_cuda("product=1 sm=75 shapes=1"), "FAKE_LOG": "launches"}
    for words, lds, wide, name in (([], (513, 1026, 1026), 0, "5x1026x513"), (["--padded"], (516, 1028, 1028), 1, "5x1026x513 padded"), (["--padded", "--pad", 1], (516, 1028, 1028), 1, "5x1026x513 padded"),
                                   (["--padded", "--transpose-a", "--transpose-b"], (8, 516, 1028), 1, "5x1026x513 TT padded"), (["--pad", 1], (514, 1027, 1027), 0, "5x1026x513 +1")):
        open("launches", "w").close()
        done = run("bench", "--engine", "cuda", "--shape", "5x1026x513", *words, "--samples", 1, "--explain-plan", "--json", "r.jsonl", env=env)
        (record,) = records(open("r.jsonl").read())
        assert done.returncode == 0 and (record["lda"], record["ldb"], record["ldc"]) == lds and record["verified"] == "exact+bound", (words, done, record)
        launched = {tuple(map(int, x.split()[3:])) for x in open("launches") if x.startswith("lda ldb ldc ")}
        assert launched == {lds} and f"-DWIDE={wide}" in record["plan"] and f"  plan: {record['plan']}\n" in done.stdout, (words, launched, record["plan"], done)
        assert f" {name} " in done.stdout, (name, done.stdout)
    for words in (["--host"], ["--host", "--padded"]):  # tw_gemm() pads its copies, whatever the host's rows are
        open("launches", "w").close()
        done = run("bench", "--engine", "cuda", "--shape", "5x1026x513", *words, "--samples", 1, "--explain-plan", "--json", "r.jsonl", env=env)
        (record,) = records(open("r.jsonl").read())
        launched = {tuple(map(int, x.split()[3:])) for x in open("launches") if x.startswith("lda ldb ldc ")}
        assert launched == {(516, 1028, 1028)} and "-DWIDE=1" in record["plan"] and f"  plan: {record['plan']}\n" in done.stdout, (words, launched, record["plan"], done)
    done = run("bench", "--engine", "cuda", "--shape", "5x1026x513", "--padded", "--dtype", "bf16", "--samples", 1, "--json", "r.jsonl", env=fake_cuda("product=1 sm=80"))
    (record,) = records(open("r.jsonl").read())
    assert (record["lda"], record["ldb"], record["ldc"]) == (520, 1032, 1028), record  # A and B of 2 bytes, C of 4


@case
def the_ladders_last_rung_meets_the_rows_of_the_others():
    env = {**fake_cuda("product=1 sm=75 shapes=1"), "FAKE_LOG": "launches"}
    run("ladder", "--engine", "cuda", "--shape", "5x1026x513", "--rung", "r14", "--samples", 1, "--json", "r.jsonl", env=env)
    (record,) = records(open("r.jsonl").read())
    launched = {tuple(map(int, x.split()[3:])) for x in open("launches") if x.startswith("lda ldb ldc ")}
    assert launched == {(513, 1026, 1026)} == {(record["lda"], record["ldb"], record["ldc"])} and "-DWIDE=0" in record["plan"], (record, launched)


@case
def each_set_is_launched_once_more_than_is_timed():
    """Two products are judged, one warms up, one is the sample: no sample gets a set's memory from the driver."""
    env = {**fake_cuda("product=1 sm=75 shapes=1"), "FAKE_LOG": "launches"}
    good("bench", "--engine", "cuda", "--shape", "1024x1024x4", "--samples", 1, "--json", "r.jsonl", env=env)
    sets, launches = records(open("r.jsonl").read())[0]["sets"], open("launches").read().count("1024 1024 4")
    assert sets > 5 and launches == sets + 4, f"{launches} launches for {sets} sets"


@case
def later_types_reach_the_cuda_engine():
    """On a fake driver that multiplies nothing: kernel, record and type of C are right, and --verify sees that the product is not."""
    env = fake_cuda("sm=90")
    npy("A.npy", integers(32, 48, 1, 0, 4))
    npy("B.npy", integers(48, 64, 2, 1, 4))
    for types, c, descr in (("u8", None, "<i4"), ("u8,i8", None, "<i4"), ("i8,u8", None, "<i4"), ("tf32", None, "<f4"), ("e4m3,e5m2", None, "<f4"),
                            ("e5m2", "f16", "<f2"), ("e4m3", "bf16", "<V2"), ("bf16", "bf16", "<V2")):
        words = ["multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--dtype", types, *(["--dtype-c", c] if c else [])]
        good(*words, "--json", "r.jsonl", env=env)
        record = records(open("r.jsonl").read())[0]
        first, second = types.split(",")[0], types.split(",")[-1]
        assert (record["dtype"], record["dtype_b"]) == (first, second) and record["kernel"].startswith(f"cuda_{first}_"), record
        assert record["dtype_c"] == {"<i4": "i32", "<f4": "f32", "<f2": "f16", "<V2": "bf16"}[descr], record
        data = open("C.npy", "rb").read()
        assert f"'descr': '{descr}'".encode() in data[:128] and len(data) == 128 + 32 * 64 * (2 if c else 4), types
        os.remove("C.npy")
        bad(1, *words, "--verify", env=env, says="C.npy: ")


@case
def later_types_on_cuda():
    needs("cuda")
    a, b = integers(33, 48, 1, 0, 8), integers(48, 17, 2, 0, 4)
    npy("A.npy", a)
    npy("B.npy", b)
    for words, code in (("u8", "<i4"), ("u8,i8", "<i4"), ("i8,u8", "<i4"), ("tf32", "<f4"), ("e4m3", "<f4"), ("e4m3,e5m2", "<f4")):
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--dtype", words, "--verify", "--json", "r.jsonl")
        record = records(open("r.jsonl").read())
        assert read_npy("C.npy") == (code, (33, 17), product(a, b)), words
        assert [record[-1][x] for x in ("dtype", "dtype_b")] == [words.split(",")[0], words.split(",")[-1]], record
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--dtype", "e4m3", "--dtype-c", "f16", "--verify")
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--engine", "cuda", "--dtype", "e4m3", "--dtype-c", "bf16", "--verify")
    good("verify", "A.npy", "B.npy", "C.npy", "--dtype", "e4m3", "--dtype-c", "bf16")


@case
def complex_products_with_every_op():
    for code, shape in (("c8", (9, 13, 20)), ("c16", (9, 13, 20)), ("c16", (1, 1, 3)), ("c8", (40, 1, 70))):
        m, n, k = shape
        for op in range(16):
            ta, ca, tb, cb = op & 1, op & 2, op & 4, op & 8
            a, b, c0 = complexes(m, k, 1), complexes(k, n, 2), complexes(m, n, 3)
            of_a, of_b = conjugate(a) if ca else a, conjugate(b) if cb else b
            npy("A.npy", transpose(a) if ta else a, code, fortran=bool(cb))
            npy("B.npy", transpose(b) if tb else b, code, order=">" if ca else "<", fortran=bool(ta))
            npy("D.npy", c0, code, fortran=bool(tb))
            words = ["--alpha", "2,-1", "--beta=-3,2", "--add", "D.npy"]
            words += ["--transpose-a"] * bool(ta) + ["--conjugate-a"] * bool(ca) + ["--transpose-b"] * bool(tb) + ["--conjugate-b"] * bool(cb)
            good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify", *words)
            expected = [[(2 - 1j) * x + (-3 + 2j) * y for x, y in zip(*rows)] for rows in zip(product(of_a, of_b), c0)]
            assert read_npy("C.npy") == (f"<{code}", (m, n), expected), (code, shape, op)
            good("verify", "A.npy", "B.npy", "C.npy", *words)
            expected[0][0] = expected[0][0].conjugate() + 1e4j
            npy("wrong.npy", expected, code)
            done = run("verify", "A.npy", "B.npy", "wrong.npy", *words)
            assert done.returncode == 1 and "C[0, 0] (its imaginary part) is" in done.stderr, done.stderr


@case
def complex_types_follow_numpy():
    for code, other, descr in (("c8", "f4", "<c8"), ("c8", "f8", "<c16"), ("c16", "f4", "<c16"), ("c8", "i2", "<c8"), ("c8", "i4", "<c16"),
                               ("c8", "c16", "<c16"), ("c8", "f2", "<c8")):
        a, b = complexes(3, 4, 1), integers(4, 5, 2)
        npy("A.npy", a, code)
        npy("B.npy", b, other)
        good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--verify")
        assert read_npy("C.npy") == (descr, (3, 5), product(a, b)), (code, other)
        good("multiply", "B.npy", "A.npy", "-o", "C.npy", "--verify", "--transpose-b", "--transpose-a", "--conjugate-b")
        assert read_npy("C.npy") == (descr, (5, 3), transpose(product(conjugate(a), b))), (code, other)
    pair(code="f4")
    npy("D.npy", complexes(3, 2, 3), "c8")
    for words in (["--alpha", "1,5"], ["--beta", "1,5", "--add", "B.npy", "--transpose-b"], ["--alpha", "0,1", "--dtype", "f64"]):
        npy("S.npy", integers(4, 4, 1), "f4")
        bad(2, "multiply", "S.npy", "S.npy", "-o", "E.npy", *[word.replace("B.npy", "S.npy") for word in words],
            says=["has an imaginary part", "expected --dtype cf32 or cf64; if the comma stands for a decimal point, write a point, as in 1.5"])
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--alpha", "1,0")  # no imaginary part
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--alpha", "0,1", "--verify", "--dtype", "cf32")
    good("verify", "A.npy", "B.npy", "C.npy", "--alpha", "0,1")  # C is complex
    assert read_npy("C.npy")[0] == "<c8" and all(x.real == 0 for row in read_npy("C.npy")[2] for x in row)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--conjugate-a", "--verify")
    assert read_npy("C.npy")[0] == "<f4"
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "1", "--add", "D.npy", "--verify")
    assert read_npy("C.npy")[0] == "<c8"
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "complex128", "--verify")
    assert read_npy("C.npy")[0] == "<c16"
    bad(2, "multiply", "A.npy", "B.npy", "-o", "E.npy", "--dtype", "f64", "--beta", "1", "--add", "D.npy",
        says=["D.npy is complex", "of f64, expected cf32 or cf64"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "E.npy", "--dtype", "i8", "--alpha", "1,1", says=["--alpha has an imaginary part", "of i8"])
    for wrong in ("1,", ",1", "1,2,3", "1+2i", "1,inf", "nan,0", "1, 2"):
        bad(2, "multiply", "A.npy", "B.npy", "-o", "E.npy", f"--alpha={wrong}", says=["--alpha", "1.5,-2"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "E.npy", "--dtype", "cf32", "--alpha", "1,-1e39", says=["-1e+39", "--dtype cf64"])
    npy("D.npy", [[1, 2], [3, 4], [5, 6]], "f4")
    npy("A.npy", complexes(3, 4, 1), "c8")
    bad(2, "verify", "A.npy", "B.npy", "D.npy", says=["A.npy is complex", "of f32, expected cf32 or cf64"])


@case
def complex_formats_agree():
    a, b = complexes(4, 5, 1), complexes(5, 3, 2)
    expected = product(a, b)
    npy("A.npy", a, "c16")
    with open("B.mtx", "w") as file:
        file.write("%%MatrixMarket matrix array complex general\n5 3\n")
        file.writelines(f"{x.real} {x.imag}\n" for column in transpose(b) for x in column)
    good("multiply", "A.npy", "B.mtx", "-o", "C.mtx", "--verify")
    good("multiply", "A.npy", "B.mtx", "-o", "C.npy", "--verify")
    assert read_npy("C.npy") == ("<c16", (4, 3), expected)
    lines = open("C.mtx").read().split("\n")
    assert lines[:3] == ["%%MatrixMarket matrix array complex general", "4 3", f"{expected[0][0].real:g} {expected[0][0].imag:g}"], lines
    for name, rows in (("A", a), ("B", b)):
        array.array("f", [p for row in rows for x in row for p in (x.real, x.imag)]).tofile(open(f"{name}.raw", "wb"))
    for dtype in ("cf32", "complex64"):
        good("multiply", "A.raw", "B.raw", "-o", "C.raw", "--shape", "4x3x5", "--dtype", dtype, "--verify")
        assert list(array.array("f", open("C.raw", "rb").read())) == [p for row in expected for x in row for p in (x.real, x.imag)]
    hermitian = [[1 + 0j, 3 - 4j], [3 + 4j, 5 + 0j]]
    with open("H.mtx", "w") as file:
        file.write("%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 3 4\n2 2 5 0\n")
    good("multiply", "H.mtx", "H.mtx", "-o", "C.npy", "--verify")
    assert read_npy("C.npy")[2] == product(hermitian, hermitian)
    nothing = float("nan")
    npy("N.npy", [[complex(nothing, 1), 2]], "c8")
    npy("I.npy", [[1], [0]], "f4")
    assert "1 NaN" in good("multiply", "N.npy", "I.npy", "-o", "C.npy", "--verify").stdout
    good("multiply", "A.npy", "A.npy", "-o", "C.npy", "--alpha", "2,3", "--transpose-b", "--conjugate-b", "--json", "R.jsonl")
    found = records(open("R.jsonl").read())[0]
    assert (found["op_a"], found["op_b"], found["alpha"], found["alpha_imaginary"], found["dtype"]) == ("n", "c", 2, 3, "cf64"), found


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

@case
def files_that_numpy_and_gzip_compressed():
    """The bytes of C are those of plain files: stored and deflated members, either order of rows and of bytes, with names as TensorFlow has them."""
    if numpy is None:
        raise Skip("there is no NumPy")
    needs_zlib()
    draw = numpy.random.default_rng(8)
    a, b = draw.standard_normal((70, 90)).astype("f4"), draw.standard_normal((90, 50)).astype("f4")
    numpy.save("A.npy", a), numpy.save("B.npy", b)
    good("multiply", "A.npy", "B.npy", "-o", "plain.npy", "--verify")
    c = numpy.load("plain.npy")
    a.tofile("A.raw"), b.tofile("B.raw")
    if scipy is not None:
        scipy.io.mmwrite("B.mtx", b.astype("f8"), precision=17)
        gz("B.mtx")
    gz("A.npy", "B.npy", "A.raw", "B.raw")
    numpy.savez("s.npz", b, **{"dense/kernel:0": a, "c": c, "step": 3})
    numpy.savez_compressed("d.npz", a=numpy.asfortranarray(a), b=b.astype(">f4"), c=c, bias=c[0])
    raw = ["--shape", "70x50x90", "--dtype", "f32"]
    for words in (["s.npz:dense/kernel:0", "s.npz:arr_0"], ["d.npz:a", "d.npz:b.npy"], ["A.npy.gz", "B.npy.gz"], ["A.raw.gz", "B.raw.gz", *raw],
                  *([["A.npy", "B.mtx.gz", "--dtype", "f32"]] if scipy is not None else [])):
        good("multiply", *words, "-o", "C.npy", "--verify")
        same = numpy.load("C.npy")
        assert same.dtype == c.dtype and numpy.array_equal(same, c) if words[1] != "d.npz:b.npy" else numpy.allclose(same, c), words
    good("verify", "s.npz:dense/kernel:0", "B.npy.gz", "d.npz:c")
    bad(1, "verify", "s.npz:dense/kernel:0", "B.npy.gz", "d.npz:c", "--alpha", "1.01", says="d.npz:c: C[")
    bad(6, "multiply", "A.npy", "d.npz:bias", "-o", "C.npy", says="d.npz:bias.npy: the array's shape is (50,), expected two dimensions")
    bad(6, "multiply", "s.npz:step", "B.npy", "-o", "C.npy", says="s.npz:step.npy: the array's shape is ()")


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
    for part in ("is the product", "rows", "elements", "Always found", "Not found"):
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
    assert done.returncode == 1 and done.stdout == "" and "C[3, 4]" in done.stderr, done
    assert run(*verify, "-q").stderr == done.stderr
    npy("A.npy", [[1, 2], [3, 4]], "i1")
    npy("B.npy", [[1, 0], [0, 1]], "i1")
    npy("C.npy", [[1, 9], [3000, 4]], "i4")  # both are infinitely far beyond a bound of 0
    done = run(*verify, "--dtype", "i8")
    assert done.returncode == 1 and "C[1, 0] is 3000, expected 3" in done.stderr, done
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
    npy("H.npy", [[1.0, 1.0]] * 3, "f2")
    assert "holds f16" in bad(1, "verify", "A.npy", "B.npy", "H.npy").stdout and bad(1, "verify", "A.npy", "B.npy", "H.npy", "-q").stdout == ""
    good("multiply", "A.npy", "B.npy", "-o", "Z.npy", "--dtype", "cf64", "--alpha", "1.5,-2", "--json", "z.jsonl")
    assert records(open("z.jsonl").read())[0]["alpha_imaginary"] == -2
    good("report", "z.jsonl", "-o", "z.html")


@case
def a_check_that_is_not_complete_is_no_success():
    """Infinities all over A: the classes of all elements of C cost more than the check may."""
    n = 600
    for name, value in (("A", float("inf")), ("B", 1.0), ("C", float("inf"))):
        with open(f"{name}.npy", "wb") as file:
            file.write(npy_header("<f4", (n, n)) + array.array("f", [value]).tobytes() * (n * n))
    open("verdict", "w").close()
    done = bad(1, "verify", "A.npy", "B.npy", "C.npy", "--json", "verdict", says="no fault was found, but", writes="verdict")
    assert done.stdout == "", done.stdout
    with open("verdict") as file:
        verdict = json.load(file)
    assert verdict["passed"] and verdict["unchecked"] > 0, verdict
    bad(1, "multiply", "A.npy", "B.npy", "-o", "D.npy", "--verify", says="no fault was found, but")


if __name__ == "__main__":
    main()
