#!/usr/bin/python3 -B
"""test_python.py - the package python/tilewright as its users meet it.

    test_python.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it); its library lies beside it. Prints TAP. Without NumPy all
is skipped. Products are compared with exact integers, or judged by the bound of tw_gemm, element by element. CUDA's
arrays are those of support/fake_arrays.py on the fake driver; python/tests/gpu_check.py is for a real one.
"""

import ast
import copy
import ctypes
import doctest
import gc
import importlib
import inspect
import itertools
import logging
import math
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import types
import unittest.mock
import weakref
import zipfile
from multiprocessing.pool import ThreadPool

from support.program import BUILD, PROGRAM, ROOT, clean_environment, sanitized
from support.tap import CASES, Skip, case, main

FULL = "--full" in sys.argv
LIBRARY = os.path.join(BUILD, "libtilewright.so.0")
PACKAGE = os.path.join(ROOT, "python")
FAKES = os.path.join(BUILD, "tests", "fakes")
tw = missing = None
if "--list" not in sys.argv:
    os.environ.update(TILEWRIGHT_LIBRARY=LIBRARY)
    for unwanted in ("TILEWRIGHT_CPU", "TILEWRIGHT_THREADS"):
        os.environ.pop(unwanted, None)
    sys.path.insert(0, PACKAGE)
    try:
        import numpy as np
        import tilewright as tw
        from tilewright import _dtypes, _lab, _layout, _library, _plans
    except ImportError as error:
        missing = error
    else:
        rng = np.random.default_rng(1)
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def integers(shape, dtype, most=8):
    """Small whole numbers, whose products of up to 2^16 terms are exact in every type."""
    return rng.integers(-most, most + 1, shape).astype(dtype)


def exact(a, b):
    return np.matmul(a.astype(np.int64), b.astype(np.int64))


def judge(c, a, b):
    """By the bound of tw_gemm, in long double."""
    wide = [x.astype(np.longdouble) for x in (a, b)]
    k, unit = a.shape[-1], 2.0 ** {"float64": -53, "float32": -24, "bfloat16": -23}[a.dtype.name]
    want, size = np.matmul(*wide), np.matmul(*map(np.abs, wide))
    grow = (k + 2) * unit / (1 - (k + 2) * unit)
    bound = grow * size + (k + 1) * 2.0 ** (-1074 if unit == 2.0**-53 else -125)
    error = np.abs(c.astype(np.longdouble) - want)
    assert (error <= bound).all(), f"{(~(error <= bound)).sum()} of {error.size} elements are wrong"


def refuses(kind, call, *parts):
    """The call raises this kind, and its sentence has these parts."""
    try:
        call()
    except kind as error:
        for part in parts:
            assert part in str(error), f"{part!r} is not in {str(error)!r}"
        return error
    raise AssertionError(f"expected {kind.__name__}")


class Heard(logging.Handler):
    """What the package logs inside the block."""

    def __enter__(self):
        self.lines = []
        logger = logging.getLogger("tilewright")
        logger.addHandler(self)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        return self

    def emit(self, record):
        self.lines.append(record.getMessage())

    def __exit__(self, *_):
        logger = logging.getLogger("tilewright")
        logger.removeHandler(self)
        logger.setLevel(logging.NOTSET)


def python(text, status=0, words=(), **environment):
    """A fresh interpreter with this program; what it prints."""
    environment = {
        "PYTHONPATH": PACKAGE + os.pathsep + os.path.join(ROOT, "tests"),
        "TILEWRIGHT_LIBRARY": LIBRARY,
        "TILEWRIGHT_CTYPES": os.environ.get("TILEWRIGHT_CTYPES"),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", text, *words],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(**{k: v for k, v in environment.items() if v is not None}),
    )
    assert done.returncode == status, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout if status == 0 else done.stderr


def on_fake_cuda(text, **environment):
    """The same, with the fake driver and the fake compiler of CUDA; what the driver saw."""
    python(
        "import numpy as np, tilewright as tw, support.fake_arrays as fake\n"
        "from support.fake_arrays import Exchange, Interface, CupyArray, Lazy, Tensor\n"
        "def small(*shape): return np.random.default_rng(sum(shape)).integers(-8, 9, shape).astype(np.float32)\n"
        + text,
        LD_LIBRARY_PATH=os.path.join(FAKES, "cuda"),
        FAKE_LOG=os.path.abspath("log"),
        TILEWRIGHT_CACHE="off",
        TILEWRIGHT_NVRTC=os.path.join(FAKES, "nvrtc", "libnvrtc.so.13"),
        **{"FAKE_CUDA": "product=1 sm=75", **environment},
    )
    return open("log", encoding="utf-8").read().splitlines() if os.path.exists("log") else []


# ---- products of NumPy arrays -------------------------------------------------------------------------------------

SHAPES = [(1, 1, 1), (2, 3, 4), (17, 33, 65), (64, 64, 64), (20, 20, 20), (1, 100, 37), (100, 1, 37), (129, 66, 300)]


def laid_out(x):
    """The same values in memory of many forms, with the number of forms that the library must copy."""
    yield x
    yield np.asfortranarray(x)
    yield np.ascontiguousarray(x.T).T
    padded = np.full((x.shape[0], x.shape[1] + 3), 99, x.dtype)
    padded[:, 1:-2] = x
    yield padded[:, 1:-2]
    turned = np.full((x.shape[1], x.shape[0] + 5), 99, x.dtype)
    turned[:, 5:] = x.T
    yield turned[:, 5:].T
    yield np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3]
    yield x[::-1, ::-1].copy()[::-1, ::-1]
    fixed = x.copy()
    fixed.flags.writeable = False
    yield fixed
    shifted = np.zeros(x.nbytes + 8, np.uint8)[1 : x.nbytes + 1].view(x.dtype).reshape(x.shape)
    shifted[...] = x
    yield shifted
    if x.itemsize > 1:
        yield x.astype(x.dtype.newbyteorder())


@case
def exact_products_of_every_type_and_layout():
    for dtype, result in (("f8", "f8"), ("f4", "f4"), ("i1", "i4")):
        for m, n, k in SHAPES:
            a, b = integers((m, k), dtype), integers((k, n), dtype)
            want = exact(a, b)
            forms = (
                list(itertools.product(laid_out(a), laid_out(b)))
                if (m, n, k) in ((17, 33, 65), (20, 20, 20)) or FULL
                else zip(laid_out(a), laid_out(b))
            )
            for x, y in forms:
                for _ in range(2):  # the long way, then the recipe
                    c = tw.matmul(x, y)
                    assert type(c) is np.ndarray and c.dtype == np.dtype(result) and c.flags.c_contiguous
                    assert np.array_equal(c, want), (dtype, m, n, k, x.strides, y.strides)


@case
def the_bound_finds_a_wrong_product():
    a, b = rng.standard_normal((40, 50)), rng.standard_normal((50, 30))
    c = tw.matmul(a, b)
    c[7, 9] *= 1 + 1e-12
    refuses(AssertionError, lambda: judge(c, a, b), "1 of 1200")


@case
def int8_is_exact_modulo_2_to_the_32():
    a, b = np.full((3, 140000), -128, np.int8), np.full((140000, 2), -128, np.int8)
    c = tw.matmul(a, b)
    want = (140000 * 16384 + 2**31) % 2**32 - 2**31
    assert c.dtype == np.int32 and (c == want).all(), (c, want)
    assert np.array_equal(
        tw.matmul(a[:, :9], b[:9], np.eye(3, 2, dtype=np.int32), alpha=-2, beta=7),
        -2 * exact(a[:, :9], b[:9]) + 7 * np.eye(3, 2),
    )


@case
def int8_is_scaled_to_floats_and_bytes():
    """In double by NumPy, rounded once; alpha is the scale. On other engines operands become floats, as ever."""

    def expected(a, b, c, alpha, beta, dtype):
        made = alpha * exact(a, b).astype(float) + (beta * c.astype(float) if beta else 0)
        ends = np.iinfo(dtype) if dtype != "float32" else None
        return made.astype(dtype) if ends is None else np.clip(np.rint(made), ends.min, ends.max).astype(dtype)

    for x, y in (("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")):
        for dtype in ("float32", "int8", "uint8"):
            for m, n, k in SHAPES:
                a, b, c = any_integers((m, k), x), any_integers((k, n), y), (rng.standard_normal((m, n)) * 99).astype(dtype)
                alpha, beta = rng.choice([1, 2.0**-7, -0.0123, 0.003]), rng.choice([0.5, -1, 3])
                found = tw.matmul(a, b, dtype=dtype, alpha=alpha)
                assert found.dtype == dtype and np.array_equal(found, expected(a, b, c, alpha, 0, dtype)), (x, y, dtype, m, n, k, alpha)
                want = expected(a, b, c, alpha, beta, dtype)
                assert np.array_equal(tw.matmul(a, b, c, dtype=dtype, alpha=alpha, beta=beta), want), (x, y, dtype, m, n, k, alpha, beta)
                assert np.array_equal(tw.matmul(b.T, a.T, c.T, dtype=dtype, alpha=alpha, beta=beta), want.T)
                out = c.copy()
                assert tw.matmul(a, b, out, alpha=alpha, beta=beta, out=out) is out and np.array_equal(out, want)  # its type is the result's
    a, b = any_integers((4, 5, 30), "int8"), any_integers((30, 7), "uint8")
    for dtype in ("float32", "int8", "uint8"):
        want = expected(a, b, None, 0.004, 0, dtype)
        product = tw.Plan(a[0], b, dtype=dtype, alpha=0.004)
        for found in (tw.matmul(a, b, dtype=dtype, alpha=0.004), np.stack([product(x, b) for x in a])):
            assert found.dtype == dtype and np.array_equal(found, want)
        c = np.array([[-100, 3, 127]] * 2).astype(dtype)
        for beta in (0.5, -0.5, 0, 1e308):  # of no products
            empty = np.ones((2, 0), np.int8), np.ones((0, 3), np.int8)
            with np.errstate(over="ignore"):
                assert np.array_equal(tw.matmul(*empty, c, dtype=dtype, beta=beta), expected(*empty, c, 1, beta, dtype)), (dtype, beta)
    refuses(tw.BadArgument, lambda: tw.matmul(a, b, alpha=0.5), "alpha is 0.5, expected a whole number")
    refuses(TypeError, lambda: tw.matmul(a, b, dtype="int16"), "the result cannot be int16: products of int8 @ uint8 are int32 or float32 or int8 or uint8 or float64")
    refuses(TypeError, lambda: tw.matmul(a, b, dtype="int8", engine="opencl"), "products of int8 @ uint8 are int32")


MODULAR = ("int16", "int32", "int64", "uint16", "uint32", "uint64")


def any_integers(shape, dtype):
    """Of the whole range, the ends of it among them."""
    ends = np.iinfo(dtype)
    made = rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    made.reshape(-1)[::7] = rng.choice(np.array([ends.min, ends.max, 1, ends.max - 1], dtype), made.reshape(-1)[::7].shape)
    return made


@case
def integers_are_numpys_modulo_2_to_the_n():
    for dtype in MODULAR:
        for m, n, k in SHAPES:
            a, b = any_integers((m, k), dtype), any_integers((k, n), dtype)
            for x, y in zip(laid_out(a), laid_out(b)):
                c = tw.matmul(x, y)
                assert c.dtype == dtype and np.array_equal(c, a @ b), (dtype, m, n, k)
        for m, n in ((5, 3), (1, 40), (70, 1)):  # more than a chunk of k, which threads share
            a, b = any_integers((m, 20001), dtype), any_integers((20001, n), dtype)
            assert np.array_equal(tw.matmul(a, b), a @ b), (dtype, m, n)
        a, b, c = any_integers((3, 5, 20), dtype), any_integers((20, 7), dtype), any_integers((5, 7), dtype)
        for x, y in ((a, b), (a[0, 0], b), (a[0], b[:, 0]), (b[:, 0], b[:, 1]), (a[0][:, ::-1], b), (a, b.astype(f">{b.dtype.str[1:]}"))):
            assert np.array_equal(tw.matmul(x, y), x @ y) and tw.matmul(x, y).dtype == dtype
            assert np.array_equal(tw.Plan(x, y)(x, y), x @ y)
        three, minus = np.array([3, -2]).astype(dtype)
        want = three * (a @ b) + minus * c
        assert np.array_equal(tw.matmul(a, b, c, alpha=3, beta=-2), want)
        out = c.copy()
        assert tw.matmul(a[0], b, out, alpha=3, beta=-2, out=out) is out and np.array_equal(out, want[0])
        for beta in (-2, 0, 1, 2**31 - 1):  # of no products
            assert np.array_equal(tw.matmul(a[0, :, :0], b[:0], c, beta=beta), c * np.array(beta % 2**64, np.uint64).astype(dtype))
        for wrong in (0.5, 2.0**53, np.inf):
            refuses(tw.BadArgument, lambda: tw.matmul(a, b, alpha=wrong), "alpha", "expected a whole number")
            refuses(tw.BadArgument, lambda: tw.matmul(a[..., :0], b[:0], c, beta=wrong), "beta", "expected a whole number")
        refuses(TypeError, lambda: tw.matmul(a, b, engine="opencl"), f"{dtype} is multiplied on the CPU only, and the engine is opencl")


NONE = "float128", "complex256", "object", "<U1", "datetime64[s]"
KINDS_OF_NUMPY = "?bBhHiIlLqQefdFD"


def numpys(a, b, dtype=None):
    """np.matmul's product, and None where it refuses."""
    try:
        return np.matmul(a, b, dtype=dtype, casting="same_kind")
    except TypeError:
        return None


@case
def every_pair_of_types_is_np_matmuls():
    """Its result's type and values, whole numbers that some types round among them; or a sentence."""
    def of(kind, shape):
        if kind == "?":
            return rng.integers(0, 2, shape).astype(kind)
        return any_integers(shape, kind) if kind in "hHiIlLqQ" else integers(shape, kind, 7) + (np.dtype(kind).kind in "fc") / 2

    for x, y in itertools.product(KINDS_OF_NUMPY, repeat=2):
        a, b = of(x, (3, 1)).astype(x), of(y, (1, 2)).astype(y)  # a product of each two numbers, rounded once
        if x == y == "?":
            refuses(TypeError, lambda: tw.matmul(a, b), "a and b are bool, of which NumPy's product is a logical or")
            continue
        both_bytes = a.itemsize == b.itemsize == 1
        want = np.matmul(a, b) if not both_bytes else np.matmul(a, b, dtype="i4")
        if want.dtype == np.float16:
            want = np.matmul(a, b, dtype="f4", casting="unsafe")
        for call in (tw.matmul, tw.matmul, lambda a, b: tw.Plan(a, b)(a, b)):  # the long way, then the recipe
            c = call(a, b)
            assert c.dtype == want.dtype and np.array_equal(c, want), (x, y, c, want)
        for name in NONE:
            refuses(TypeError, lambda: tw.matmul(a, np.zeros((1, 2), name)), f"b is {name}; there are products of")


@case
def dtype_casts_as_np_matmul_does():
    """Every pair of types and every result: its values, or a refusal where NumPy has one. Results of bool have no
    product, those of 8 bits that of int8 and uint8 alone, and these become floats alone."""
    seen = {True: 0, False: 0}
    for x, y in itertools.product(KINDS_OF_NUMPY, repeat=2):
        a, b = (rng.integers(-3 * (kind not in "?BHILQ"), 2 + 2 * (kind != "?"), shape).astype(kind) for kind, shape in ((x, (3, 4)), (y, (4, 2))))
        small = {x, y} <= set("?bB") and x + y != "??"
        for kind in KINDS_OF_NUMPY:
            if small and kind in "bB":  # saturated
                want = np.clip(np.matmul(a, b, dtype="i4"), np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)
            else:
                want = None if kind in "?bB" or small and kind not in "iefd" else numpys(a, b, kind)
            seen[want is None] += 1
            if want is None:
                refuses(TypeError, lambda: tw.matmul(a, b, dtype=kind), f"the result cannot be {np.dtype(kind).name}: products of ")
            else:
                c = tw.matmul(a, b, dtype=np.dtype(kind))
                assert c.dtype == want.dtype and np.array_equal(c, want), (x, y, kind, c, want)
            if sum(seen.values()) % 7 == 0 and kind not in "?bB":  # an `out` of a type counts as dtype
                out = np.full((3, 2), 9, kind)
                for call in (tw.matmul, lambda a, b, out: tw.Plan(a, b, out=out)(a, b, out=out)):
                    if want is None:
                        refuses(TypeError, lambda: call(a, b, out=out), f"the result cannot be {np.dtype(kind).name}: products of ")
                    else:
                        assert call(a, b, out=out) is out and np.array_equal(out, want), (x, y, kind)
                        assert tw.Plan(a, b, out=out)(a, b).dtype == out.dtype
    assert min(seen.values()) > 1000, seen
    a, b = any_integers((4, 9), "int32"), any_integers((9, 3), "int32")
    refuses(TypeError, lambda: tw.matmul(a, b, dtype="uint32"), "products of int32 are int32 or int16 or int64 or float64")
    c = tw.matmul(a % 1000, b % 1000, dtype="c16", alpha=2j)  # exact in any order
    assert np.array_equal(c, np.matmul(a % 1000, b % 1000, dtype="c16") * 2j)
    refuses(TypeError, lambda: tw.matmul(a, b, dtype="f8", alpha=2j), "imaginary part, and a and b are float64")


@case
def bfloat16_sums_in_float32():
    if ml_dtypes is None:
        raise Skip("ml_dtypes is not installed")
    b16 = np.dtype(ml_dtypes.bfloat16)
    for m, n, k in SHAPES:
        a, b = integers((m, k), b16), integers((k, n), b16)
        for x, y in zip(laid_out(a), laid_out(b)):
            c = tw.matmul(x, y)
            assert c.dtype == np.float32 and np.array_equal(c, exact(a, b)), (m, n, k)
        a, b = rng.standard_normal((m, k)).astype(b16), rng.standard_normal((k, n)).astype(b16)
        judge(tw.matmul(a, b), a, b)
        own = tw.matmul(a, b, dtype=b16)
        assert own.dtype == b16 and np.array_equal(own, tw.matmul(a, b).astype(b16))  # rounded once
        out = np.zeros((m, n), b16)
        assert tw.matmul(a, b, out=out) is out and np.array_equal(out, own)
        assert np.array_equal(tw.matmul(a, b, dtype="bfloat16"), own)
        assert np.array_equal(tw.Plan(a, b, dtype=b16)(a, b), own)
        c = rng.standard_normal((m, n))
        for added in (c.astype(b16), c.astype(np.float32)):  # the second is rounded with the product, not before
            both = tw.matmul(a, b, added, alpha=2, beta=-3, dtype=b16)
            assert both.dtype == b16 and np.array_equal(both, tw.matmul(a, b, added.astype(np.float32), alpha=2, beta=-3).astype(b16))
        judge(tw.matmul(a, b.astype(np.float32)), a.astype(np.float32), b.astype(np.float32))


def random_view(x):
    """An equal array, its axes in another order in memory, perhaps spread out or backwards along one."""
    order = rng.permutation(x.ndim)
    x = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    if x.ndim and rng.random() < 0.5:
        axis, forms = rng.integers(x.ndim), (slice(None, None, 2), slice(None, None, -1), slice(1, -1))
        form = forms[rng.integers(3)]
        shape = list(x.shape)
        shape[axis] = {0: 2 * shape[axis], 1: shape[axis], 2: shape[axis] + 2}[forms.index(form)]
        big = np.full(shape, 77, x.dtype)
        view = big[(slice(None),) * axis + (form,)]
        view[...] = x
        return view
    return x


@case
def shapes_and_batches_as_numpy_has_them():
    """Vectors, stacks that broadcast, strides of every kind, result given or not: np.matmul says what comes out."""
    refused = 0
    for number in range(20000 if FULL else 1500):
        depth = rng.integers(0, 4)
        sides, (m, k, n) = rng.integers(1, 4, depth), rng.integers(0, 6, 3)

        def operand(core):
            own = rng.integers(0, depth + 1) if len(core) == 2 else 0
            shape = tuple(rng.choice([1, side]) for side in sides[depth - own :]) + core
            return random_view(integers(shape, "f8" if number % 2 else "f4"))

        a = operand((m, k) if rng.random() < 0.8 else (k,))
        b = operand((k + (rng.random() < 0.03), n) if rng.random() < 0.8 else (k,))
        try:
            want = np.matmul(a, b)
        except ValueError:
            refused += 1
            refuses(ValueError, lambda: tw.matmul(a, b), str(a.shape), str(b.shape))
            continue
        for _ in range(2):
            got = tw.matmul(a, b)
            assert type(got) is type(want) and got.dtype == want.dtype and np.array_equal(got, want), (
                a.shape,
                a.strides,
                b.shape,
                b.strides,
            )
        out = random_view(np.full(want.shape, np.nan, want.dtype)) if want.ndim else None
        if out is not None:
            assert tw.matmul(a, b, out=out) is out and np.array_equal(out, want), (a.strides, b.strides, out.strides)
            old = integers(want.shape, want.dtype)
            out[...] = old
            tw.matmul(a, b, out, alpha=2, beta=-3, out=out)
            assert np.array_equal(out, 2 * want - 3 * old), (a.strides, b.strides, out.strides)
    assert refused > 5


@case
def what_can_be_read_in_place_is_not_copied():
    big = integers((40, 50), "f8")
    stack = integers((4, 3, 20, 30), "f8")
    fortran = np.zeros((20, 30), order="F")
    in_place = [
        (big[3:23, 5:35], big[5:35, 1:]),
        (big[::2, :30], big[:30]),
        (big.T[:, 7:], big[7:, 1:33]),
        (big[:, 3], big),
        (big.T, big[:, 3]),
        (stack, stack[0, 0].T),
        (stack[:, ::2], stack[0, 0].T),
        (stack[::-1], stack.swapaxes(-1, -2)),
        (np.broadcast_to(big[:5, :6], (3, 5, 6)), big[:6, :7]),
    ]
    copied = [
        (big[:, ::2], big[:25], "a"),
        (big[::-1], big.T, "a"),
        (big, big.T[:, ::-1], "b"),
        (np.broadcast_to(big[0, 0], (20, 30)), big[:30, :20], "a"),
        (np.lib.stride_tricks.sliding_window_view(big[0], 30), big[:30, :20], "a"),
    ]
    with Heard() as heard:
        for a, b in in_place:
            assert np.array_equal(tw.matmul(a, b), a @ b)
            assert "copied" not in heard.lines[-1], (a.shape, a.strides, b.shape, b.strides)
        for a, b, which in copied:
            assert np.array_equal(tw.matmul(a, b), a @ b)
            assert f", copied {which}" in heard.lines[-1], heard.lines[-1]
        tw.matmul(big[:20], big[:30].T, out=fortran)
        assert "as the transpose of C" in heard.lines[-1] and "copied" not in heard.lines[-1]
        tw.matmul(stack, stack[0, 0].T)  # a stack times a matrix is one tall product
        assert "m 240 n 20 k 30" in heard.lines[-1] and "batch 1" in heard.lines[-1], heard.lines[-1]
        tw.matmul(stack, stack.swapaxes(-1, -2))
        assert "batch 12:" in heard.lines[-1], heard.lines[-1]  # at strides
        tw.matmul(stack[:, ::2], stack[:, ::-2].swapaxes(-1, -2))
        assert "batch 8, by address" in heard.lines[-1], heard.lines[-1]


@case
def nothing_is_read_where_beta_is_0():
    a, b = integers((30, 20), "f8"), integers((20, 10), "f8")
    nan = np.full((30, 10), np.nan)
    assert np.array_equal(tw.matmul(a, b, out=nan), a @ b)
    nan[...] = np.nan
    assert np.array_equal(tw.matmul(a, b, nan, beta=0), a @ b) and np.isnan(nan).all()
    assert np.array_equal(tw.matmul(a, b, nan, beta=0, out=nan), a @ b)
    a[3, 4] = np.nan
    assert np.isnan(tw.matmul(a, b)[3]).all() and not np.isnan(tw.matmul(a, b)[4:]).any()
    assert (tw.matmul(a, b, np.ones((30, 10)), alpha=0) == 1).all()  # nor A with alpha 0
    nan[...] = np.nan
    assert (tw.matmul(a[:, :0], b[:0], out=nan) == 0).all()


@case
def c_is_added_and_kept():
    a, b, c = integers((4, 3, 5), "f8"), integers((5, 6), "f8"), integers((3, 6), "f8")
    kept = c.copy()
    for c0 in (c, c[1], c[:, :1], c.T.copy().T, c[::-1], np.float64(3)):
        assert np.array_equal(tw.matmul(a, b, c0, beta=2), a @ b + 2 * c0)
    assert np.array_equal(c, kept) and np.array_equal(tw.matmul(a, b, c), a @ b + c)
    for beta in (2, -3, 0, 0.5, 2j, 1):  # of one layout
        assert np.array_equal(tw.matmul(a, b, c, beta=beta), a @ b + beta * c), beta
    out = np.zeros((4, 3, 6))
    assert tw.matmul(a, b, c, out=out) is out and np.array_equal(out, a @ b + c)
    refuses(ValueError, lambda: tw.matmul(a, b, c[:2]), "(2, 6)", "(4, 3, 6)")
    refuses(ValueError, lambda: tw.matmul(a, b, beta=1), "beta is 1")
    for wrong in (c.astype(complex), c.astype("O"), c.astype("<U3")):
        refuses(TypeError, lambda: tw.matmul(a.astype("f4"), b.astype("f4"), wrong), f"c is {wrong.dtype} and the result float32: convert c with astype(), or a and b")
    assert np.array_equal(tw.matmul(a[:, :, :0], b[:0], c, beta=-1.5), np.broadcast_to(-1.5 * c, (4, 3, 6)))


def complexes(shape, dtype):
    return (integers(shape, "f8") + 1j * integers(shape, "f8")).astype(dtype)


@case
def complex_products():
    views = [lambda x: x, lambda x: x.swapaxes(-1, -2).copy().swapaxes(-1, -2), lambda x: np.repeat(x, 2, -1)[..., ::2],
             lambda x: np.concatenate([x, x], -1)[..., : x.shape[-1]], lambda x: x[..., ::-1][..., ::-1]]
    shapes = [((3, 5), (5, 4)), ((1, 7), (7, 1)), ((70, 300), (300, 40)), ((4, 3, 5), (5, 6)), ((2, 3, 5), (2, 5, 4)), ((2, 1, 3, 5), (4, 5, 2)),
              ((5,), (5, 3)), ((3, 5), (5,)), ((5,), (5,))]
    for (shape_a, shape_b), dtype, flags in itertools.product(shapes, ("c8", "c16"), itertools.product((False, True), repeat=2)):
        a, b = complexes(shape_a, dtype), complexes(shape_b, dtype)
        want = np.matmul(a.conj() if flags[0] else a, b.conj() if flags[1] else b)
        for first, second in itertools.product(views if a.ndim > 1 else views[:1], views[:3] if b.ndim > 1 else views[:1]):
            for again in range(2):  # the recipe
                c = tw.matmul(first(a), second(b), conjugate_a=flags[0], conjugate_b=flags[1])
                assert c.dtype == np.dtype(dtype) and np.array_equal(c, want), (shape_a, shape_b, dtype, flags)
    a, b, c0 = complexes((6, 9), "c16"), complexes((9, 4), "c16"), complexes((6, 4), "c16")
    for alpha, beta in ((1, 1), (2 - 1j, 0.5j), (np.complex64(3j), np.complex128(-1)), (-1, 1 + 1j), (0, 2j), (1j, 0)):
        want = complex(alpha) * (a @ b.conj()) + complex(beta) * c0
        assert np.array_equal(tw.matmul(a, b, c0, alpha=alpha, beta=beta, conjugate_b=True), want), (alpha, beta)
        out = c0.copy()
        assert tw.matmul(a, b, out, alpha=alpha, beta=beta, out=out, conjugate_b=True) is out and np.array_equal(out, want)
        out = np.zeros((4, 6), complex).T  # by columns: computed as its transpose
        tw.matmul(a, b, c0, alpha=alpha, beta=beta, out=out, conjugate_b=True)
        assert np.array_equal(out, want), (alpha, beta)
        made = tw.Plan(a, b, c0, alpha=alpha, beta=beta, conjugate_b=True)
        assert made.dtype == "complex128" and np.array_equal(made(a, b, c0), want)
    made = tw.Plan(a, b, alpha=1j, conjugate_a=True)
    for again in range(2):
        assert np.array_equal(made(a, b), 1j * (a.conj() @ b))
    assert np.array_equal(tw.matmul(a[:, :0], b[:0], c0, beta=2 - 1j), (2 - 1j) * c0)
    with Heard() as heard:
        tw.matmul(a, a.T, alpha=1 + 2j, conjugate_b=True)
    assert "complex128 -> complex128, NC, m 6 n 6 k 9" in heard.lines[0] and "alpha 1+2j beta 0" in heard.lines[0], heard.lines


@case
def an_invariant_row_has_the_bits_that_it_has_alone():
    """Whatever is beside it, and wherever the result lies."""
    own = np.random.default_rng(5)
    shapes = (5, 3, 4), (9, 40, 33), (40, 33, 70), (3, 700, 2)
    for kind, (m, k, n) in itertools.product(("f2", "f4", "f8", "c8", "c16"), shapes):
        a, b, c0 = (own.standard_normal(shape) + 1j * own.standard_normal(shape) for shape in ((m, k), (k, n), (m, n)))
        a, b, c0 = ((x if "c" in kind else x.real).astype(kind) for x in (a, b, c0))
        c0 = c0.astype("f4" if kind == "f2" else kind)
        more = {"alpha": 0.7, "beta": 0.3, "invariant": True}
        whole = tw.matmul(a, b, c0, **more)
        for out in (np.zeros((m, n), c0.dtype, order="F"), np.zeros((2 * m, 3 * n), c0.dtype, order="F")[::2, ::3]):
            assert tw.matmul(a, b, c0, out=out, **more) is out and out.tobytes() == whole.tobytes(), (kind, m, k, n)
        for i in range(m):
            alone = tw.matmul(a[i : i + 1], b, c0[i : i + 1], **more)
            assert alone[0].tobytes() == whole[i].tobytes(), (kind, m, k, n, i)
        stack = tw.matmul(np.stack([a, a[::-1]]), np.stack([b, b]), np.stack([c0, c0[::-1]]), **more)
        assert stack[0].tobytes() == stack[1, ::-1].copy().tobytes() == whole.tobytes(), (kind, m, k, n)
        assert tw.matmul(a[m - 1], b, c0[m - 1], **more).tobytes() == whole[m - 1].tobytes()


@case
def invariant_reaches_the_library():
    a, b, column = integers((4, 5), "f8"), integers((5, 3), "f8"), np.zeros((3, 4)).T
    flags = _library.INVARIANT
    for more, right in (({}, 0), ({"invariant": False}, 0), ({"invariant": True}, flags), ({"invariant": 1}, flags),
                        ({"invariant": ""}, 0), ({"invariant": np.True_, "conjugate_a": True}, flags),
                        ({"invariant": True, "threads": 1}, flags)):
        for x, y in ((a, b), (a[None].repeat(3, 0), b[None].repeat(3, 0)), (np.ones((2, 1, 4, 5)), np.ones((3, 5, 3)))):
            found = recipe_of(lambda: tw.matmul(x, y, **more))
            assert found.problem.flags == right and np.array_equal(tw.matmul(x, y, **more), x @ y), (more, x.shape)
        planned = tw.Plan(a, b, **more)
        again = pickle.loads(pickle.dumps(planned))
        assert np.array_equal(again(a, b), a @ b), more
        assert planned._recipe.problem.flags == again._recipe.problem.flags == right, more
        again = pickle.loads(pickle.dumps(tw.Plan(a, b[:, ::-1], **more)))  # by matmul: b is copied
        assert recipe_of(lambda: again(a, b[:, ::-1])).problem.flags == right, more
        found = recipe_of(lambda: tw.matmul(a, b, out=column, **more))
        assert np.array_equal(column, a @ b)
        assert found.swapped == found.direct == (not right), "a row is computed as a row"
    for call in (tw.matmul, tw.Plan):
        refuses(ValueError, lambda: call(a, b, invariant=np.ones(2)), "ambiguous")
        refuses(TypeError, lambda: call(a, b, None, True), "positional argument")


@case
def accuracy_reaches_the_library():
    a, b = integers((4, 5), "f4"), integers((5, 3), "f4")
    for more, right in (({}, 0), ({"accuracy": None}, 0), ({"accuracy": "native"}, 0), ({"accuracy": "emulated"}, 1),
                        ({"accuracy": np.str_("emulated"), "alpha": 1, "invariant": False}, 1),
                        ({"accuracy": "emulated", "threads": 1}, 1)):
        found = recipe_of(lambda: tw.matmul(a, b, **more))
        assert found.problem.accuracy == right and np.array_equal(tw.matmul(a, b, **more), a @ b), more
        planned = tw.Plan(a, b, **more)
        again = pickle.loads(pickle.dumps(planned))
        assert np.array_equal(again(a, b), a @ b), more
        assert planned._recipe.problem.accuracy == again._recipe.problem.accuracy == right, more
        again = pickle.loads(pickle.dumps(tw.Plan(a, b[:, ::-1], **more)))  # by matmul: b is copied
        assert recipe_of(lambda: again(a, b[:, ::-1])).problem.accuracy == right, more
        made = tw.matmul(a, b, epilogue="acc + 1", **more)
        assert np.array_equal(made, a @ b + 1), more
    for call in (tw.matmul, tw.Plan):
        for wrong in ("Emulated", 1, True, b"emulated"):
            refuses(ValueError, lambda: call(a, b, accuracy=wrong), "expected None, 'native' or 'emulated'")


def vectors_laid_out(x):
    """The same values in forms that are read where they lie, and in those that are copied."""
    yield x
    yield np.repeat(x, 3)[::3]
    yield x[::-1].copy()[::-1]
    yield np.repeat(x[:, None], 2, 1)[:, 1]
    yield list(laid_out(x[None]))[-3][0]  # misaligned, but for one byte; then in the other order of bytes
    yield x.astype(x.dtype.newbyteorder())
    fixed = x.copy()
    fixed.flags.writeable = False
    yield fixed


# Texts with the same in NumPy, of acc, row, column and operands by their names. Exact of small numbers.
EPILOGUES = [
    ("acc", lambda acc, i, j, x: acc),
    ("relu(acc + bias[j])", lambda acc, i, j, x: np.maximum(acc + x["bias"], 0)),
    ("acc * scale[i] - r[i, j] / 2", lambda acc, i, j, x: acc * x["scale"][:, None] - x["r"] / 2),
    ("where (acc < 0, slope * acc, acc) + s[ j ,i]",
     lambda acc, i, j, x: np.where(acc < 0, x["slope"] * acc, acc) + x["s"].T),
    ("min(3*i - j, 5) + 0 * acc", lambda acc, i, j, x: np.minimum(3 * i - j, 5) + 0 * acc),
    ("clamp(acc, neg(slope), slope + 1)*(i >= j) + 2e0",
     lambda acc, i, j, x: np.clip(acc, -x["slope"], x["slope"] + 1) * (i >= j) + 2),
]


def named_in(text, operands):
    return {name: x for name, x in operands.items() if re.search(rf"\b{name}\b", text)}


@case
def an_epilogue_makes_what_its_formula_says():
    """Of each type, with operands of each type and form: exact."""
    m, k, n = 7, 5, 9
    i, j = np.ogrid[:m, :n]
    for dtype, result in (("f8", None), ("f4", None), ("f4", "f8"), ("f2", None), ("f2", "f2"), ("i1", "f4")):
        a, b = integers((m, k), dtype, 2), integers((k, n), dtype, 2)
        for of in ("f8", "f4", "f2", "i4", "u1", "?", "longdouble", "list"):
            signed = of not in ("u1", "?")
            plain = {name: rng.integers(-4 * signed, 5, shape) for name, shape in (
                ("bias", n), ("scale", m), ("r", (m, n)), ("s", (n, m)))}
            given = {name: x.astype(of) if of != "list" else x.tolist() for name, x in plain.items()}
            plain = {name: np.asarray(x, "f8") for name, x in given.items()}
            for slope in (0.5, np.float32(0.5), np.array(0.5), np.array([[0.5]], "f4"), 1, np.True_):
                for text, formula in EPILOGUES:
                    want = formula(exact(a, b).astype("f8"), i, j, {**plain, "slope": float(np.ravel(slope)[0])})
                    found = tw.matmul(a, b, dtype=result, epilogue=text, **named_in(text, {**given, "slope": slope}))
                    assert found.dtype == (result or ("f4" if dtype == "f2" else dtype)), (dtype, result)
                    assert np.array_equal(found, want), (dtype, result, of, slope, text)
    x, y = integers((m, k), "f8", 2), integers((k, n), "f8", 2)
    for of in ("f8", "f4", "f2", "i2"):
        plain = {"bias": integers(n, of), "scale": integers(m, of)}
        plain.update(r=integers((m, n), of), s=integers((n, m), of))
        forms = [list((laid_out if x.ndim > 1 else vectors_laid_out)(x)) for x in plain.values()]
        plain["slope"] = 2
        for a, b in ((x, y), (x.astype("f4"), y.astype("f4"))):
            for text, formula in EPILOGUES:
                want = formula(a @ b, i, j, plain)
                for v, w, r, s in zip(*forms[:3], forms[3][::-1]):
                    given = {"bias": v, "scale": w, "r": r, "s": s, "slope": 2}
                    found = tw.matmul(a, b, epilogue=text, **named_in(text, given))
                    assert np.array_equal(found, want), (of, text, v.strides, w.strides, r.strides, s.strides)
                    if text == "acc * scale[i] - r[i, j] / 2":
                        turned = tw.matmul(a, b, epilogue="acc * w[i] - r[j, i] / 2", r=r.T, w=w)
                        assert np.array_equal(turned, want)
    row, column, one = np.arange(n) - 3.0, np.arange(m) - 3.0, np.float64(3)
    for want in (row, column[:, None], one):
        spread = np.broadcast_to(want, (m, n))  # by strides of 0
        assert np.array_equal(tw.matmul(x, y, epilogue="acc + r[i, j]", r=spread), x @ y + want)
        assert np.array_equal(tw.matmul(x, y, epilogue="acc + r[j, i]", r=spread.T), x @ y + want)
    assert np.array_equal(tw.matmul(x, y, epilogue="acc + v[j]", v=np.broadcast_to(one, n)), x @ y + 3)
    for rows, columns in ((1, n), (m, 1), (1, 1)):  # where strides mean nothing
        strides = 0 if rows == 1 else 72, 0 if columns == 1 else 8
        r, a, b = np.lib.stride_tricks.as_strided(np.arange(99.0), (rows, columns), strides), x[:rows], y[:, :columns]
        assert np.array_equal(tw.matmul(a, b, epilogue="acc + r[i, j]", r=r), a @ b + r)
    if ml_dtypes is not None:
        half = ml_dtypes.bfloat16
        a, b, v = (q.astype(half) for q in (x, y, row))
        for result in (None, "float32", half):
            for bias in (v, np.repeat(v, 2)[::2], row.astype(ml_dtypes.float8_e4m3fn)):
                found = tw.matmul(a, b, dtype=result, epilogue="relu(acc + bias[j])", bias=bias)
                assert found.dtype == (result or "float32")
                assert np.array_equal(found, np.maximum(x @ y + row, 0).astype(found.dtype))
        assert np.array_equal(tw.matmul(x, y, epilogue="acc + bias[j]", bias=v), x @ y + row)


@case
def an_epilogue_has_the_functions_of_networks():
    """Within a few units of float32, and of float64."""
    error = np.vectorize(math.erf)
    functions = {
        "gelu(z)": lambda z: z * (1 + error(z / np.sqrt(2))) / 2,
        "gelu_tanh(z)": lambda z: z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) / 2,
        "silu(z)": lambda z: z / (1 + np.exp(-z)),
        "sigmoid(z)": lambda z: 1 / (1 + np.exp(-z)),
        "tanh(z)": np.tanh,
        "rsqrt(1 + z * z)": lambda z: 1 / np.sqrt(1 + z * z),
        "log(1 + z * z) + exp(z / 4)": lambda z: np.log(1 + z * z) + np.exp(z / 4),
    }
    for dtype, unit in (("f4", 2.0**-24), ("f8", 2.0**-53)):
        a, b, bias = (rng.standard_normal(shape).astype(dtype) for shape in ((30, 3), (3, 40), 40))
        wide = a.astype("f8") @ b.astype("f8") + bias
        for text, function in functions.items():
            found = tw.matmul(a, b, epilogue=text.replace("z", "(acc + bias[j])"), bias=bias)
            want = function(wide)
            assert (abs(found - want) < 60 * unit * (1 + abs(wide) + abs(want))).all(), (dtype, text)


@case
def an_epilogue_sees_scalars_c_and_out():
    a, b, c, bias = integers((6, 4), "f4"), integers((4, 6), "f4"), integers((6, 6), "f4"), integers(6, "f4")
    want = np.maximum(2 * (a @ b) - 3 * c + bias, 0)
    asked = {"epilogue": "relu(acc + bias[j])", "bias": bias, "alpha": 2, "beta": -3}
    assert np.array_equal(tw.matmul(a, b, c, **asked), want)
    assert np.array_equal(tw.matmul(a, b, c, threads=1, engine="cpu", invariant=True, **asked), want)
    for out in (np.zeros((6, 6), "f4"), np.zeros((6, 6), "f4", order="F"), np.zeros((12, 18), "f4")[::2, ::3],
                np.zeros((6, 6), ">f4")):
        assert tw.matmul(a, b, c, out=out, **asked) is out and np.array_equal(out, want), out.strides
    kept = c.copy()
    assert tw.matmul(a, b, kept, out=kept, **asked) is kept and np.array_equal(kept, want)
    for n in (6, 300):  # `out` is an operand: the same, transposed, backwards, off by a row
        x, y, whole = integers((n, 4), "f4"), integers((4, n), "f4"), integers((2 * n, n), "f4")
        first = whole[:n]
        for text, out, r, then in (("acc + r[i, j]", lambda z: z[:n], lambda z: z[:n], first),
                                   ("acc + r[j, i]", lambda z: z[:n], lambda z: z[:n], first.T),
                                   ("acc + r[i, j]", lambda z: z[:n], lambda z: z[n - 1 :: -1], first[::-1]),
                                   ("acc + r[i, j]", lambda z: z[1 : n + 1], lambda z: z[:n], first),
                                   ("acc + r[j]", lambda z: z[:n], lambda z: z[3], first[3]),
                                   ("acc + r", lambda z: z[:n], lambda z: z[2:3, 2:3], first[2, 2])):
            for call in (lambda z: tw.matmul(x, y, out=out(z), epilogue=text, r=r(z)),
                         lambda z: tw.Plan(x, y, epilogue=text, r=r(z))(x, y, out=out(z))):
                again = whole.copy()
                call(again)
                assert np.array_equal(out(again), x @ y + then), (n, text)
    left, right = integers((6, 4), "i1"), integers((4, 6), "u1", 8) % 9
    sums = exact(left, right)
    for dtype, ends in (("int8", (-128, 127)), ("uint8", (0, 255)), ("float32", (-1e9, 1e9))):
        found = tw.matmul(left, right, dtype=dtype, epilogue="acc * scale[i] + 0.25", scale=np.arange(6))
        scaled = sums * np.arange(6)[:, None] + 0.25
        want = scaled if dtype == "float32" else np.clip(np.rint(scaled), *ends)
        assert found.dtype == dtype and np.array_equal(found, want), dtype
    old = np.full((6, 6), 3, "i1")
    found = tw.matmul(left, right, old, beta=2, dtype="int8", epilogue="acc / 2 + 8")
    assert np.array_equal(found, np.clip(np.rint((sums + 6) / 2 + 8), -128, 127))
    half = tw.matmul(a.astype("f2"), b.astype("f2"), c, dtype="f2", epilogue="acc / 3")  # rounded once, whatever c is
    assert np.array_equal(half, ((a @ b + c) / np.float32(3)).astype("f2"))
    with Heard() as heard:
        tw.matmul(a, b, epilogue="relu(acc)")
    assert ", epilogue 'relu(acc)': cpu_f32" in heard.lines[0], heard.lines
    assert recipe_of(lambda: tw.matmul(a, b, epilogue="acc + 1")) is None  # it would point to what is freed
    for x, y in ((a, b), (a.astype("f8"), b.astype("f8")), (a[:1], b), (a.repeat(30, 0), b.repeat(30, 1))):
        for _ in range(3):  # the library remembers the last product of a thread, too
            assert np.array_equal(tw.matmul(x, y, epilogue="acc + 1"), x @ y + 1)
            assert np.array_equal(tw.matmul(x, y), x @ y)


@case
def an_epilogue_counts_rows_within_each_matrix_of_a_stack():
    a, b, v = integers((2, 3, 4, 5), "f8"), integers((2, 3, 5, 6), "f8"), integers(4, "f8")
    i, j = np.ogrid[:4, :6]
    odd = np.concatenate([a, a], -1)[..., ::2]
    for x, y in ((a, b), (a[0], b[0]), (a, b[0, 0]), (a[0], b[0, 0]), (a[0, 0], b), (a[:, ::2], b[:, :1]),
                 (a[:, :1], b[0]), (a.swapaxes(-1, -2).copy().swapaxes(-1, -2), b), (a[::-1], b), (odd, b)):
        for text, more, formula in (("acc * v[i] + 100 * i - j", {"v": v}, lambda c: c * v[:, None] + 100 * i - j),
                                    ("acc + w[j]", {"w": np.arange(6)}, lambda c: c + np.arange(6)),
                                    ("acc + r[i, j]", {"r": v[:, None] * j}, lambda c: c + v[:, None] * j)):
            want, out = formula(x @ y), np.zeros((x @ y).shape, order="F")
            for found in (tw.matmul(x, y, epilogue=text, **more), tw.matmul(x, y, out=out, epilogue=text, **more),
                          tw.Plan(x, y, epilogue=text, **more)(x, y)):
                assert np.array_equal(found, want), (text, x.shape, y.shape)
    with Heard() as heard:  # one tall product where the text does not tell rows apart
        for text in ("acc + j", "acc + i"):
            tw.matmul(a, b[0, 0], epilogue=text)
    for line, parts in zip(heard.lines, (("m 24 n 6", "batch 1,"), ("m 4 n 6", "batch 6,"))):
        assert all(part in line for part in parts), line
    row, column, text = a[0, 0, 0], b[0, 0, :, 0], "acc + 10 * i + j"
    for x, y, more in ((row, b[0, 0], np.arange(6)), (a[0, 0], column, 10 * np.arange(4)), (row, column, 0),
                       (row, b, np.arange(6)), (a, column, 10 * np.arange(4))):
        found, want = tw.matmul(x, y, epilogue=text), x @ y + more
        assert np.array_equal(found, want) and type(found) is type(x @ y), (x.shape, y.shape)
        assert np.array_equal(tw.Plan(x, y, epilogue=text)(x, y), want)
    refuses(ValueError, lambda: tw.matmul(row, b[0, 0], epilogue="acc + v[i]", v=v), "(4,)", "v[i] needs (1,)")
    # Products of nothing: with k 0 the sums are 0.
    c = integers((4, 6), "f8")
    for call in (tw.matmul, lambda x, y, *c, **more: tw.Plan(x, y, *c, **more)(x, y, *c)):
        for x, y in ((np.ones((4, 0)), np.ones((0, 6))), (np.ones((3, 4, 0)), np.ones((0, 6))),
                     (np.ones((4, 0), "i1"), np.ones((2, 0, 6), "u1"))):
            more = {"dtype": "float32"} if x.dtype == "i1" else {}
            found = call(x, y, epilogue="relu(acc + v[i] + j)", v=v, **more)
            assert found.shape == np.matmul(x, y).shape and (found == np.maximum(v[:, None] + j, 0)).all()
        found = call(x, y[0], c.astype("f4"), beta=2, alpha=np.inf, dtype="float32", epilogue="acc + 1")
        assert np.array_equal(found, 2 * c + 1)
        assert call(np.ones(0), np.ones(0), epilogue="acc + 5") == 5
        assert np.array_equal(call(np.ones(0), np.ones((0, 6)), epilogue="acc + j"), j[0])
        x, y = np.ones((0, 5)), np.ones((5, 6))
        assert call(x, y, epilogue="acc + v[i] + w[j]", v=np.ones(0), w=np.ones(6)).shape == (0, 6)
        assert call(y.T, x.T, epilogue="acc + r[i, j]", r=np.ones((6, 0))).shape == (6, 0)
        refuses(ValueError, lambda: call(x, y, epilogue="acc + v[i]", v=v), "v[i] needs (0,)")


@case
def what_is_no_epilogue_is_refused():
    a, b, v, r, whole = np.ones((3, 4)), np.ones((4, 5)), np.ones(5), np.ones((3, 5)), np.ones((2, 2), "i4")
    many = {f"x{i}": i for i in range(17)}
    texts = (  # with the values of its names: the library's sentences
        ("", {}, "epilogue, column 1: found the end"),
        ("acc + bais[j]", {"bias": v}, "column 7: nothing is bound to the name bais; there are acc, i, j, bias"),
        ("acc * alpha", {"alpha": 2}, "column 7: nothing is bound to the name alpha"),
        ("acc +é", {}, "column 6: found byte 0xc3"),
        ("acc\0 + 1", {}, "column 4: found byte 0x00"),
        ("acc\ud800", {}, "column 4: found '?'"),
        ("acc + r[j, j]", {"r": np.ones((5, 5))}, "column 13: a matrix has the index i, j or j, i"),
        ("acc", {"acc": 1}, "'acc', which means the product"),
        ("acc + v[j]", {"v": 2}, "v is bound to a number, which has no index"),
        ("+".join(many), many, "count is 17, expected at most 16"),
    )
    shapes = (  # of an operand, where another is needed
        ("v[i]", v, "(3,)"), ("v[j]", v[:4], "(5,)"), ("v[j]", np.array(1.0), "(5,)"), ("v[j]", v[None], "(5,)"),
        ("v[j, i]", r, "(5, 3)"), ("v[i, j]", r.T, "(3, 5)"), ("v[i, j]", v, "(3, 5)"), ("v[i, j]", r[None], "(3, 5)"),
    )
    values = (  # of a name without an index
        (v, ValueError, "v has the shape (5,), and the epilogue reads it without an index"),
        (1j, TypeError, "v is 1j, expected a real number"),
        ("2", TypeError, "v is str, expected an array"),
        (None, TypeError, "v is NoneType, expected an array"),
        (10**400, ValueError, "v is beyond the largest float64"),
        (v + 1j, TypeError, "v is complex128, expected real numbers"),
        (list("abcde"), TypeError, "v is <U1, expected real numbers"),
        (v.astype(object), TypeError, "v is object, expected real numbers"),
        (np.ma.masked_array(v), TypeError, "v is a masked array"),
    )
    for call, name in ((tw.matmul, "matmul"), (tw.Plan, "Plan")):
        for more, says in (
            ({"bias": v}, name + "() got an unexpected keyword argument 'bias', and no epilogue"),
            ({"bias": v, "thread": 2}, "unexpected keyword arguments 'bias', 'thread', and no epilogue"),
            ({"a": 1}, "unexpected keyword argument 'a', and no epilogue"),
            ({"epilogue": "acc", "thread": 2}, "keyword argument 'thread', which the epilogue does not name"),
            ({"epilogue": "relu(acc) + v", "v": 1, "w": 2, "relu": 3}, "unexpected keyword arguments 'relu', 'w'"),
            ({"epilogue": 3}, "epilogue is int, expected a string"),
            ({"epilogue": b"acc"}, "epilogue is bytes, expected a string"),
        ):
            refuses(TypeError, lambda: call(a, b, **more), says)
        for text, more, says in texts:
            refuses(ValueError, lambda: call(a, b, epilogue=text, **more), says)
        for use, x, needed in shapes:
            says = f"v has the shape {x.shape}, and the epilogue's {use} needs {needed}"
            refuses(ValueError, lambda: call(a, b, epilogue="acc + 2 * " + use, v=x), says)
        for x, kind, says in values:
            refuses(kind, lambda: call(a, b, epilogue="acc + v", v=x), says)
        for x, says in ((whole, "int32 of products of int32: convert"),
                        (whole + 1j, "complex128 of products of complex128"),
                        (whole.astype("i1"), "int32 of products of int8: give the dtype float32, int8 or uint8")):
            refuses(TypeError, lambda: call(x, x, epilogue="acc"), "an epilogue makes no " + says)
        refuses(TypeError, lambda: call(a, b, alpha=1j, epilogue="acc"), "an epilogue makes no complex128")
        refuses(ValueError, lambda: call(a, b, out=r.T, epilogue="acc"), "out has the shape (5, 3)")
        refuses(TypeError, lambda: call(a, b, None, "acc"), "positional")
    refuses(TypeError, lambda: tw.Plan(a, b, epilogue="acc + v[j]", v=v)(a, b, v=v), "'v'")


@case
def plans_have_epilogues():
    a, b = integers((6, 4), "f4"), integers((4, 5), "f4")
    bias, scale = integers(5, "f4"), rng.integers(1, 9, 6).astype("f8")  # read where it lies; converted
    plan = tw.Plan(a, b, epilogue="(acc + bias[j]) * scale[i] + more", bias=bias, scale=scale, more=1)
    want = lambda x, y: (x @ y + bias) * fixed[:, None] + 1
    fixed = scale.copy()
    for _ in range(3):
        a, b = integers((6, 4), "f4"), integers((4, 5), "f4")
        out = np.full((6, 5), np.nan, "f4")
        assert np.array_equal(plan(a, b), want(a, b)) and plan(a, b, out=out) is out and np.array_equal(out, want(a, b))
        bias += 1
        scale += 1
    assert len(plan._known) == (tw._matmul._calls is not None)  # of `out` Python asks whether an operand lies there
    refuses(ValueError, lambda: plan(a[:5], b), "planned was (6, 4)")
    alive, scale = weakref.ref(bias), None
    for again in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
        given = again._flags.epilogue.operands["bias"]
        for _ in range(3):
            assert np.array_equal(again(a, b), (a @ b + given) * fixed[:, None] + 1) and repr(again) == repr(plan)
    del bias, given, again, want
    gc.collect()
    assert alive() is not None
    plan(a, b)
    del plan
    gc.collect()
    assert alive() is None
    added = tw.Plan(a, b, out, beta=2, epilogue="acc + r[i, j]", r=(r := integers((6, 5), "f4")))
    assert np.array_equal(added(a, b, out), a @ b + 2 * out + r)
    left, right = integers((6, 4), "i1"), integers((4, 5), "i1")
    small = tw.Plan(left, right, dtype="float32", epilogue="acc * s[j]", s=np.arange(5))
    assert small.dtype == "float32" and np.array_equal(small(left, right), exact(left, right) * np.arange(5))
    planned = {x: tw.Plan(a, b, epilogue=f"acc * {x} + r[i, j]", r=r) for x in range(4)}
    shared = pickle.loads(pickle.dumps(tw.Plan(a, b, epilogue="acc * 7 + r[i, j]", r=r)))  # several threads prepare it

    def one(number):
        x, y = np.full((6, 4), number % 13, "f4"), b
        if number % 3 == 0:
            return np.array_equal(shared(x, y), x @ y * 7 + r)
        if number % 3 == 1:
            return np.array_equal(planned[number % 4](x, y), x @ y * (number % 4) + r)
        found = tw.matmul(x, y, epilogue="acc + number * i", number=number)
        return np.array_equal(found, x @ y + number * np.arange(6)[:, None])

    with ThreadPool(4) as pool:
        assert all(pool.map(one, range(400), chunksize=1))


@case
def an_epilogue_is_freed_in_the_end():
    """Of calls that return, of those that fail in any place, and of plans with the last copy."""
    a, b, v, lives, most = np.ones((3, 4)), np.ones((4, 5)), np.ones(5), set(), [0]

    class Counting:
        def tw_epilogue_make(self, text, bindings, count, made):
            status = _library.lib.tw_epilogue_make(text, bindings, count, made)
            if made._obj.value:
                lives.add(made._obj.value)
                most[0] = max(most[0], len(lives))
            return status

        def tw_epilogue_free(self, handle):
            lives.remove(handle.value)
            _library.lib.tw_epilogue_free(handle)

    def fails(*given, **more):
        raise KeyboardInterrupt

    good = {"epilogue": "acc + v[j]", "v": v}
    with unittest.mock.patch.object(tw._epilogue, "lib", Counting()):
        for call in (tw.matmul, tw.Plan):
            call(a, b, **good)
            for more in ({"epilogue": "acc + v[i]"}, {"w": 2}, {"out": a}, {"engine": "cuda"}):
                most[0] = 0
                refuses((ValueError, TypeError, tw.Error), lambda: call(a, b, **{**good, **more}))
                assert not lives and most[0] == 1, (call, more)
            refuses(ValueError, lambda: call(a, b, epilogue="acc + v[", v=v))
            assert not lives and most[0] == 1
        plan = tw.Plan(a, b, **good)
        for name in ("arrange", "fill", "recipe_of"):
            with unittest.mock.patch.object(tw._host, name, fails):
                for call in (tw.matmul, tw.Plan):
                    refuses(KeyboardInterrupt, lambda: call(a, b, **good))
                    assert len(lives) == 1
        with unittest.mock.patch.object(tw._host, "_gemm", lambda *_: tw.OutOfMemory.status):
            refuses(tw.OutOfMemory, lambda: tw.matmul(a, b, **good))
            refuses(tw.OutOfMemory, lambda: plan(a, b, out=np.zeros((3, 5))))
        plan(a, b)
        copies = [copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))]
        for each in copies:
            each(a, b)
        assert len(lives) == 3, "a copy shares it, a deep copy and one that was pickled have their own"
        del plan, each
        gc.collect()
        assert len(lives) == 3
        copies.clear()
        gc.collect()
        assert not lives
    assert _library.lib.tw_epilogue_free(None) is None


@case
def an_epilogue_is_refused_on_cuda_arrays():
    on_fake_cuda("""
a, b, v = small(5, 6), small(6, 7), small(7)
for make, bias in ((np.asarray, v), (CupyArray, v), (CupyArray, CupyArray(v)), (Tensor, Tensor(v))):
    more = {"engine": "cuda"} if make is np.asarray else {}
    for call in (tw.matmul, tw.Plan):
        for x, y in ((a, b), (np.stack([a, a]), np.stack([b, b]))):
            try: call(make(x), make(y), epilogue="acc + bias[j]", bias=bias, **more)
            except tw.NoKernel as error: assert "epilogue" in str(error), error
            else: raise AssertionError(make)
def host(x): return Tensor(x, cuda=False)
for call in (tw.matmul, lambda x, y, **more: tw.Plan(x, y, **more)(x, y)):
    for bias in (v, host(v), host(np.repeat(v, 2)[::2]), Lazy(v, False), v.tolist()):
        made = call(host(a), host(b), epilogue="relu(acc + bias[j])", bias=bias)
        want = -v if isinstance(bias, Lazy) else v
        assert type(made) is Tensor and np.array_equal(made.np, np.maximum(a @ b + want, 0)), bias
        assert np.array_equal(call(a, b, epilogue="relu(acc + bias[j])", bias=bias), np.maximum(a @ b + want, 0))
    for bias, says in ((Tensor(v), "bias lies in CUDA's memory"), (Tensor(v, False, True), "bias requires a gradient")):
        try: call(a, b, epilogue="acc + bias[j]", bias=bias)
        except TypeError as error: assert says in str(error), error
        else: raise AssertionError(says)
""")


@case
def opencl_makes_epilogues():
    a, b, v = integers((2, 5, 6), "f4"), integers((2, 6, 7), "f4"), integers(14, "f4")[::2]
    try:
        made = tw.matmul(a, b, engine="opencl", epilogue="relu(acc + bias[j]) * s", bias=v, s=2)
    except tw.NoDevice as error:
        raise Skip("no OpenCL device") from error
    assert np.array_equal(made, np.maximum(a @ b + v, 0) * 2)
    plan = tw.Plan(a[0], b[0], engine="opencl", epilogue="acc - r[i, j]", r=a[0] @ b[0])
    assert np.array_equal(plan(a[0], b[0]), np.zeros((5, 7)))


@case
def what_is_packed_multiplies_as_before():
    for name in ("f4", "f8", "f2", "i1", "u1", "i2", "i8", "c8", "c16"):
        a, b = integers((9, 13), name), integers((13, 11), name)
        for w in (b.copy(), np.asfortranarray(b), np.repeat(b, 2, 1)[:, ::2], b[::-1].copy()[::-1], b.astype(b.dtype.newbyteorder())):
            packed = tw.Packed(w)
            w[...] = 0
            assert packed.shape == (13, 11) and packed.dtype == b.dtype.name and "13 x 11" in repr(packed)
            want = tw.matmul(a, b)
            for x in (a, a.T.copy().T, a[:, ::-1].copy()[:, ::-1], a[::-1].copy()[::-1], np.repeat(a, 2, 0)[::2]):
                made = packed.matmul(x)
                assert made.dtype == want.dtype and np.array_equal(made, want), (name, made.dtype)
            assert np.array_equal(a @ packed, want) and np.array_equal(a[0] @ packed, want[0])
            assert np.array_equal(packed.matmul(np.stack([a, a])), np.stack([want, want]))
            assert packed.matmul(a[:0]).shape == (0, 11)
    a, b, v, r = integers((2, 5, 6), "f4"), integers((6, 7), "f4"), integers(7, "f4"), integers((5, 7), "f4")
    packed = tw.Packed(b)
    for text, more, want in (("relu(acc + bias[j])", {"bias": v}, np.maximum(a @ b + v, 0)),
                             ("acc - r[i, j]", {"r": r}, a @ b - r)):
        assert np.array_equal(packed.matmul(a, epilogue=text, **more), want)
    out = np.full((2, 5, 7), np.nan, "f4")
    assert packed.matmul(a, out=out) is out and np.array_equal(out, a @ b)
    other = np.zeros((2, 5, 7), ">f4")
    assert np.array_equal(packed.matmul(a, out=other), a @ b) and packed.matmul(a, epilogue="acc + a[j]", a=v).shape == (2, 5, 7)
    square = integers((6, 6), "f4")
    want = square @ square
    assert tw.Packed(square).matmul(square, out=square) is square and np.array_equal(square, want)
    assert np.array_equal(tw.Packed(np.zeros((0, 3))).matmul(np.zeros((2, 0))), np.zeros((2, 3)))
    assert tw.Packed(np.zeros((3, 0))).matmul(np.zeros((2, 3))).shape == (2, 0)
    assert packed.matmul(a[0], dtype=np.float32).dtype == np.float32
    big = integers((700, 900), "f4")
    assert np.array_equal(tw.Packed(big).matmul(big[:64, :700]), big[:64, :700] @ big)


@case
def what_is_not_packed_is_said():
    b = integers((6, 7), "f4")
    packed = tw.Packed(b)
    refuses(ValueError, lambda: tw.Packed(b[0]), "b has the shape (7,), expected a matrix")
    refuses(TypeError, lambda: tw.Packed(b > 0), "b is bool")
    refuses(TypeError, lambda: tw.Packed(None), "b is NoneType")
    refuses(TypeError, lambda: packed.matmul(b.T.astype("f8")), "a is float64, and b was packed as float32")
    refuses(ValueError, lambda: packed.matmul(b), "7")
    refuses(TypeError, lambda: packed.matmul(b.T[:6, :6], dtype=np.int32), "int32")
    refuses(ValueError, lambda: packed.matmul(b[:6, :6], out=np.zeros((6, 6), "f4")), "out has the shape")
    refuses(TypeError, lambda: packed.matmul(b[:6, :6], w=2), "an unexpected keyword argument 'w'")
    refuses(ValueError, lambda: packed.matmul(b[:6, :6], epilogue="acc + v[j]", v=b[0, :3]), "needs (7,)")
    refuses(TypeError, lambda: pickle.dumps(packed), "pack the array again")
    refuses(TypeError, lambda: tw.matmul(b.T, packed), "")


@case
def complex_types_follow_numpy():
    names = ["float16", "float32", "float64", "complex64", "complex128"]
    for x, y in itertools.product(names, repeat=2):
        if "complex" in x + y:
            c = tw.matmul(integers((3, 4), x), integers((4, 2), y))
            assert c.dtype == np.result_type(np.dtype(x), np.dtype(y)), (x, y)
    a, b = integers((3, 4), "f4"), integers((4, 2), "f4")
    for alpha, beta in ((2j, None), (1, 1j)):
        c0 = None if beta is None else integers((3, 2), "f4")
        c = tw.matmul(a, b, c0, alpha=alpha, beta=beta)
        assert c.dtype == np.complex64 and np.array_equal(c, alpha * (a @ b) + (0 if c0 is None else beta * c0))
    assert tw.matmul(a.astype("f8"), b, alpha=1j).dtype == np.complex128
    assert tw.matmul(a, b, alpha=1 + 0j).dtype == np.float32 and tw.matmul(a, b, conjugate_a=True).dtype == np.float32
    assert tw.matmul(a, b, dtype="complex128").dtype == np.complex128
    assert tw.matmul(a.astype("c16"), b, dtype=np.complex64).dtype == np.complex64
    infinite = np.array([[complex(np.inf, 1)]]), np.array([[1 + 1j]])  # both parts: inf - 1 and inf + 1
    assert np.array_equal(tw.matmul(*infinite, alpha=2), [[complex(np.inf, np.inf)]])  # a real scalar keeps them
    assert np.isnan(tw.matmul(*infinite, alpha=2 + 1j)[0, 0].real)
    refuses(TypeError, lambda: tw.matmul(a, b, alpha="1j2"), "alpha is '1j2'")


@case
def out_may_overlap_and_must_fit():
    x = integers((30, 30), "f8")
    want = x @ x
    whole = x.copy()
    assert tw.matmul(whole, whole, out=whole) is whole and np.array_equal(whole, want)
    whole = np.concatenate([x, x])
    tw.matmul(whole[:30], whole[:30], out=whole[7:37])
    assert np.array_equal(whole[7:37], want) and np.array_equal(whole[:7], x[:7])
    whole = x.copy()
    tw.matmul(whole, whole, whole.T, out=whole)
    assert np.array_equal(whole, want + x.T)
    tw.matmul(x, x)  # the recipe must look too
    whole = x.copy()
    tw.matmul(whole, whole, out=whole)
    assert np.array_equal(whole, want)
    stack = integers((6, 30, 30), "f8")
    behind, apart = stack[5:2:-1] @ x, np.zeros((3, 30, 30))
    assert np.array_equal(tw.matmul(stack[5:2:-1], x, out=apart), behind)  # leaves a recipe, by addresses
    assert np.array_equal(tw.matmul(stack[5:2:-1], x, out=stack[1:4]), behind)  # its first item, which is a's last one
    refuses(ValueError, lambda: tw.matmul(x, x, out=np.zeros((30, 31))), "(30, 31)", "(30, 30)")
    refuses(TypeError, lambda: tw.matmul(x, x, dtype=float, out=np.zeros((30, 30), "f4")), "out is float32, expected float64")
    refuses(TypeError, lambda: tw.matmul(x, x, out=np.zeros((30, 30), int)), "the result cannot be int64: products of float64 are")
    refuses(TypeError, lambda: tw.matmul(x, x, out=[[0]]), "out is list")
    whole.flags.writeable = False
    refuses(ValueError, lambda: tw.matmul(x, x, out=whole), "out is read-only: give a copy, or an array of your own")
    assert np.array_equal(whole, want)
    swapped = np.zeros((30, 30), np.dtype("f8").newbyteorder())
    assert np.array_equal(tw.matmul(x, x, out=swapped), want)


def strided(shape, strides, dtype="f8"):
    """An array of these strides in bytes, over memory of its own."""
    reach = [(n - 1) * stride for n, stride in zip(shape, strides)]
    low, size = sum(x for x in reach if x < 0), sum(map(abs, reach)) + np.dtype(dtype).itemsize
    return np.ndarray(shape, dtype, np.zeros(size, np.uint8), -low, strides)


def bytes_meet(x):
    starts = [sum(i * stride for i, stride in zip(at, x.strides)) for at in np.ndindex(x.shape)]
    taken = [start + byte for start in starts for byte in range(x.itemsize)]
    return len(set(taken)) < len(taken)


@case
def out_that_overlaps_itself_is_refused():
    a, b, stack = integers((4, 5), "f8"), integers((5, 3), "f8"), integers((6, 4, 5), "f8")
    with_c = tw.Plan(a, b, a[:, :3])
    for wide, strides in ((a, (0, 8)), (a, (24, 0)), (a, (8, 8)), (a, (16, 8)), (a, (-16, 8)), (a, (24, 4)),
                          (stack, (0, 24, 8)), (stack, (48, 24, 8)), (stack, (-24, -24, -8)), (stack, (8, 24, 96))):
        bad = strided(wide.shape[:-1] + (3,), strides)
        assert bytes_meet(bad)
        for call in (lambda: tw.matmul(wide, b, out=bad), lambda: tw.matmul(wide, b, bad, out=bad), lambda: tw.Plan(wide, b, out=bad),
                     lambda: tw.Plan(wide, b)(wide, b, out=bad), lambda: with_c(a, b, bad if wide is a else a, out=bad if wide is a else strided((4, 3), (8, 8))),
                     lambda: tw.matmul(wide[..., :0], b[:0], out=bad)):
            said = str(refuses(ValueError, call, "out overlaps itself: with the shape ", "some of its elements share memory"))
            assert wide is stack or str(strides) in said or "(8, 8)" in said, said
    refuses(ValueError, lambda: tw.matmul(a, b[:, 0], out=strided((4,), (0,))), "(4,)", "(0,)")
    refuses(ValueError, lambda: tw.matmul(a.astype("c16"), b, out=strided((4, 3), (24, 8), "c16")), "overlaps itself")
    # Dimensions that do not lie in each other, and whose elements are yet apart; any strides: memory says what is right.
    found = [0, 0]
    for number in range(600):
        a, b = integers((*rng.integers(1, 4, rng.integers(0, 2)), 3, 2), "f4"), integers((2, rng.integers(1, 5)), "f4")
        out = strided(a.shape[:-1] + b.shape[1:], [int(x) * (4 - number % 2) for x in rng.integers(-9, 10, a.ndim)], "f4")
        found[bytes_meet(out)] += 1
        if bytes_meet(out):
            refuses(ValueError, lambda: tw.matmul(a, b, out=out), "overlaps itself")
        else:
            assert tw.matmul(a, b, out=out) is out and np.array_equal(out, a @ b), (out.shape, out.strides)
    assert min(found) > 60, found
    out = strided((2, 3), (24, 16))
    assert np.array_equal(tw.matmul(np.ones((2, 1)), np.ones((1, 3)), out=out), np.ones((2, 3)))
    # Of many dimensions that do not lie in each other it would take hours.
    hard = tuple(8 * (2**18 + x * x * 7919 % 2**18) for x in range(30))
    refuses(ValueError, lambda: tw._host.check_apart((3,) * 30, hard, 8), "may overlap itself", "too long")


@case
def types_are_named_where_there_is_no_product():
    f = np.ones((2, 2))
    refuses(TypeError, lambda: tw.matmul(f.astype(np.clongdouble), f), "a is complex256", "float64, float32, bfloat16, float16, integers of 8 to 64 bits, complex128, complex64 and, on CUDA, float8_e4m3fn", "such as complex128")
    refuses(TypeError, lambda: tw.matmul(f.astype("i1"), f.astype("i1"), alpha=1j), "imaginary part", "int8")
    refuses(TypeError, lambda: tw.matmul(f.astype(complex), f, dtype="float64"), "products of complex128 are complex128 or complex64")
    refuses(TypeError, lambda: tw.matmul(f, f, alpha=1j, dtype="float64"), "cannot be float64")
    refuses(TypeError, lambda: tw.matmul(f, f, alpha=1j, out=f.copy()), "cannot be float64")
    refuses(TypeError, lambda: tw.matmul(f, f, dtype="i4"), "cannot be int32: products of float64 are float64 or float32")
    refuses(TypeError, lambda: tw.matmul(f, f, dtype="f64"), "dtype is 'f64', expected one of float64, float32")
    refuses(TypeError, lambda: tw.matmul(None, f), "a is NoneType, expected an array")
    refuses(TypeError, lambda: tw.matmul(f, f, alpha="2"), "alpha is '2', expected a number")
    for huge in (10**400, 10**9999):
        refuses(ValueError, lambda: tw.matmul(f, f, alpha=huge), "alpha is beyond the largest float64, 1.8e308")
        refuses(ValueError, lambda: tw.matmul(f, f, f, beta=-huge), "beta is beyond the largest float64, 1.8e308")
    refuses(TypeError, lambda: tw.matmul(f.astype("g"), f), "with astype(), such as float64")
    refuses(TypeError, lambda: tw.matmul(f.astype("O"), f), "astype(float) converts it, if each element is a number; None becomes nan")
    refuses(TypeError, lambda: tw.matmul(f, f, alpha=[1, 2]), "alpha is [1, 2], expected a number")
    refuses(TypeError, lambda: tw.matmul(f, f, alpha=f), "alpha is numpy's ndarray, expected a number")
    refuses(TypeError, lambda: tw.matmul(f, f, f, beta="x+y"), "beta is 'x+y', expected a number")
    refuses(TypeError, lambda: tw.matmul(f, f, beta="0"), "beta is '0', expected a number")
    refuses(TypeError, lambda: tw.matmul(f, f, engine=3), "engine is 3, expected 'cpu'")
    for x in (f, np.ones((7, 7))):  # seen before, and not
        tw.matmul(x, x)
        refuses(TypeError, lambda: tw.matmul(x, x, stream=3), "host memory")
        refuses(TypeError, lambda: tw.Plan(x, x)(x, x, stream=3), "host memory")
    empty = np.ones((2, 0), np.int8)
    refuses(tw.BadArgument, lambda: tw.matmul(empty, empty.T, np.ones((2, 2), np.int32), beta=0.5), "a whole number")
    refuses(ValueError, lambda: tw.matmul(f, f, engine="cuda:4294967296"), "expected a name such as 'cuda'")
    assert tw.matmul(f.astype("f4"), f).dtype == np.float64
    assert tw.matmul(f, f, dtype=np.float32).dtype == np.float32
    assert tw.matmul(f.astype("f4"), f.astype("f4"), dtype="float64").dtype == np.float64
    assert tw.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist() == [[11.0]]


class Framed:
    """As pandas' frames, units and lazy arrays are: numbers, and rules of their own for them."""
    __array_ufunc__ = __array_function__ = lambda self, *_: "by its own rules"

    def __array__(self, *_, **__):
        return np.ones((2, 2))


class Sparse:
    """As scipy.sparse has it, whose matrices NumPy's @ leaves to them."""
    __array_priority__ = 10.1
    __rmatmul__ = __matmul__ = lambda self, other: "by its own rules"


@case
def what_is_more_than_its_numbers_is_refused():
    """np.matmul asks such objects themselves, where a product of their numbers would silently be another one."""
    plain = np.ones((2, 2))

    class Unit(np.ndarray):
        __array_ufunc__ = None

    masked = np.ma.masked_array(plain, [[True, False], [False, False]])
    class Table:  # as pyarrow's, and polars' frame, which have no rules of their own, but columns with names
        columns = __array__ = to_numpy = None
        __module__ = "tables.lib"

    odd = [Framed(), Sparse(), plain.view(Unit), masked, Table()]
    assert np.matmul(Framed(), plain) == "by its own rules" == plain @ Sparse()
    try:
        import scipy.sparse
        odd.append(scipy.sparse.csr_matrix(plain))
    except ImportError:
        pass
    for x in odd:
        says = "masked array" if x is masked else type(x).__name__
        for name, call in (("a", lambda: tw.matmul(x, plain)), ("b", lambda: tw.matmul(plain, x)), ("c", lambda: tw.matmul(plain, plain, x))):
            refuses(TypeError, call, f"{name} is ", says)
        refuses(TypeError, lambda: tw.matmul(plain, plain, out=x), "out is ", says)
        if isinstance(x, np.ndarray):
            refuses(TypeError, lambda: tw.Plan(x, plain), "a is ", says)

    for name, way in (("Frame", "to_numpy()"), ("Matrix", "toarray()"), ("Quantity", "magnitude"), ("Lazy", "compute()")):
        kind = type(name, (Framed,), {way.strip("()"): None, "__module__": "frames.core"})
        for where, call in (("b", lambda x: tw.matmul(plain, x)), ("c", lambda x: tw.matmul(plain, plain, x)), ("beta", lambda x: tw.matmul(plain, plain, plain, beta=x))):
            refuses(TypeError, lambda: call(kind()), f"{where} is frames's {name}, which multiplies by rules of its own: give its number", f"{where}.{way}")
        refuses(TypeError, lambda: tw.matmul(plain, plain, out=kind()), f"out is {name}")
    refuses(TypeError, lambda: tw.matmul(Table(), plain), "a is tables's Table, whose columns have names: give its numbers, a.to_numpy()")
    refuses(TypeError, lambda: tw.matmul(Sparse(), plain), ": use its @, or give an array of NumPy's")
    refuses(TypeError, lambda: tw.matmul(plain, plain, Sparse()), "rules of its own: give an array of NumPy's")
    refuses(TypeError, lambda: tw.matmul(plain, plain, out=masked), "give out.data")
    lazy = type("LazyFrame", (), {"columns": None, "collect": None, "__module__": "polars.lazyframe.frame"})()
    for x, says in ((lazy, "polars's LazyFrame, expected an array: give its numbers, {}.collect()"), ({1, 2}, "set, expected an array"),
                    ((i for i in "ab"), "generator, expected an array"), (np.array({}), "numpy's ndarray, expected an array")):
        refuses(TypeError, lambda: tw.matmul(x, plain), "a is " + says.format("a"))
        refuses(TypeError, lambda: tw.matmul(plain, plain, x), "c is " + says.format("c"))

    class Proxy:  # as pint's quantity: the instance answers what its array does, the type does not
        __array_ufunc__ = None
        __getattr__ = lambda self, name: getattr(plain, name)

    refuses(TypeError, lambda: tw.matmul(Proxy(), plain), "a is ", "Proxy")
    refuses(TypeError, lambda: tw.matmul(plain, plain, plain, beta=Proxy()), "beta is ", "Proxy")
    refuses(TypeError, lambda: tw.matmul(plain, plain, alpha=np.ma.masked), "alpha is a masked array")
    refuses(TypeError, lambda: tw.matmul(plain, plain, plain, beta=np.ma.masked), "beta is a masked array")

    class Plain(np.ndarray):  # an array by another name, also where its operators go first
        __array_priority__ = 20

    class Holder:
        def __array__(self, *_, **__):
            return plain

    class Exchanged(Holder):  # as JAX's bfloat16, which NumPy's DLPack does not know, or pyarrow's nulls
        __array_priority__ = 100
        __rmatmul__ = None

        def __init__(self, error):
            self.error = error

        def __dlpack__(self, **_):
            raise self.error("none by DLPack")

        def __dlpack_device__(self):
            return 1, 0

    raising = [Exchanged(error) for error in (BufferError, RuntimeError, TypeError, ValueError)]
    for x in (plain.view(Plain), np.matrix(plain), plain.view(np.recarray), Holder(), *raising, plain.tolist()):
        got = tw.matmul(x, x)
        assert type(got) is np.ndarray and np.array_equal(got, plain @ plain), type(x)
    assert tw.matmul(np.float64(2) * np.ones(2), plain[0]) == 4


@case
def shapes_are_named_where_they_do_not_fit():
    f = np.ones
    refuses(ValueError, lambda: tw.matmul(f((2, 3)), f((4, 5))), "(2, 3)", "(4, 5)", "3", "4")
    refuses(ValueError, lambda: tw.matmul(f((2, 2, 3)), f((3, 3, 5))), "(2, 2, 3)", "(3, 3, 5)", "broadcast")
    refuses(ValueError, lambda: tw.matmul(np.float64(2), f((4, 5))), "a has no dimensions")
    refuses(ValueError, lambda: tw.matmul(f((4, 5)), np.array(2.0)), "b has no dimensions")
    refuses(ValueError, lambda: tw.matmul(f(3), f(4)), "(3,)", "(4,)")


@case
def empty_products():
    for a, b in [
        ((0, 3), (3, 4)),
        ((3, 4), (4, 0)),
        ((3, 0), (0, 4)),
        ((0,), (0,)),
        ((0, 2, 3), (3, 4)),
        ((5, 2, 0), (0, 4)),
        ((0, 0), (0, 0)),
    ]:
        for order in "CF":
            got, want = tw.matmul(np.ones(a, order=order), np.ones(b, order=order)), np.matmul(np.ones(a), np.ones(b))
            assert np.shape(got) == np.shape(want) and np.array_equal(got, want), (a, b)
    c = np.array([[complex(np.inf, 0)]], np.complex64)
    got = tw.matmul(np.ones((1, 0), np.complex64), np.ones((0, 1), np.complex64), c, beta=2)
    assert got == complex(np.inf, 0), got  # a real beta scales each part


@case
def plans():
    a, b = integers((20, 30), "f8"), integers((30, 10), "f8")
    product = tw.Plan(a, b, alpha=2)
    assert product.shape == (20, 10) and product.dtype == "float64" and "(20, 30) @ (30, 10)" in repr(product)
    for _ in range(3):
        a, b = integers((20, 30), "f8"), integers((30, 10), "f8")
        assert np.array_equal(product(a, b), 2 * a @ b)
        out = np.full((20, 10), np.nan)
        assert product(a, b, out=out) is out and np.array_equal(out, 2 * a @ b)
    square = integers((30, 30), "f8")
    overlap, kept = tw.Plan(square, square), square.copy()
    overlap(square, square, out=square)
    assert np.array_equal(square, kept @ kept)
    refuses(ValueError, lambda: product(a[:9], b), "a has the shape (9, 30), planned was (20, 30)")
    refuses(ValueError, lambda: product(a, np.asfortranarray(b)), "b has the strides (8, 240), planned was (80, 8)")
    row, wide = tw.Plan(a[:1].copy(), b), integers((20, 40), "f8")
    for x in (a[3:4].copy(), a[::2][2:3], wide[4:5, :30], np.lib.stride_tricks.as_strided(a[3:], (1, 30), (-3, 8))):
        for to in (None, np.zeros((1, 10)), np.zeros((3, 40))[1:2, :10]):
            for _ in range(2):  # the stride of one element means nothing
                assert np.array_equal(row(x, b, out=to), x @ b)
    refuses(ValueError, lambda: row(wide[:1, ::-1][:, :30], b), "a has the strides (320, -8), planned was (240, 8)")
    refuses(TypeError, lambda: product(a.astype("f4"), b), "a has the strides (120, 4), planned was (240, 8); a has the type float32")
    refuses(TypeError, lambda: product(a, [[1.0]]), "b is list, which is no array, and a plan is made of arrays")
    refuses(TypeError, lambda: tw.Plan(Framed(), b), "a is ", "Framed, which multiplies by rules of its own")
    refuses(TypeError, lambda: tw.Plan(a, b, Framed()), "c is ", "Framed")
    like = types.SimpleNamespace(shape=a.shape, dtype=a.dtype, __array__=lambda: a)
    refuses(TypeError, lambda: tw.Plan(like, b), "a is types's SimpleNamespace, which is no array")
    half = np.ones((2, 2), np.float16)
    narrow = tw.Plan(half, half, out=half)
    for made, to in ((narrow, half.astype("f4")), (tw.Plan(half, half), half), (product, np.zeros((20, 10), complex))):
        refuses(TypeError, lambda: made(*(a, b) if made is product else (half, half), out=to), f"out is {to.dtype}, expected {made.dtype}")
    assert narrow.dtype == narrow(half, half).dtype == "float16" and tw.Plan(half, half).dtype == "float32"
    refuses(ValueError, lambda: tw.Plan(a, b, out=out[:3]), "out has the shape (3, 10)")
    refuses(TypeError, lambda: tw.Plan(a, b, out=out.tolist()), "out is list")
    refuses(ValueError, lambda: product(a, b, a), "planned without c: pass c to Plan")
    refuses(ValueError, lambda: tw.Plan(a, a), "do not fit")
    mixed = tw.Plan(a, b.astype(int))
    assert mixed.dtype == "float64" and np.array_equal(mixed(a, b.astype(int)), a @ b)
    added = tw.Plan(a, b, out, beta=3)
    refuses(ValueError, lambda: added(a, b), "planned with a c: pass c")
    assert np.array_equal(added(a, b, out), a @ b + 3 * out)
    for x, y in [
        (a[::-1], b),
        (np.asfortranarray(a), b),
        (np.ones((3, 20, 30)), b),
        (np.ones((2, 3, 20, 30))[:, ::2], np.ones((2, 1, 30, 4))),
        (a[0], b[:, 0]),
        (a[:0], b),
        (a.astype("i1"), b.astype("i1")),
    ]:
        assert np.array_equal(tw.Plan(x, y)(x, y), x @ y if x.dtype != np.int8 else exact(x, y))


@case
def plans_are_pickled_and_copied():
    a, b = integers((20, 30), "f4"), integers((30, 10), "f4")
    c = integers((20, 10), "f4")
    for plan, call in ((tw.Plan(a, b, alpha=2), lambda p: p(a, b)), (tw.Plan(a, b, c, beta=3), lambda p: p(a, b, c)),
                       (tw.Plan(a[::-1], b), lambda p: p(a[::-1], b)), (tw.Plan(a, b, out=c), lambda p: p(a, b))):
        want = call(plan)
        for again in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
            assert repr(again) == repr(plan)
            for _ in range(2):
                got = call(again)
                assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
            assert (again._recipe is None) == (plan._recipe is None), "the second call is as quick as the first plan's"
        refuses(ValueError, lambda: pickle.loads(pickle.dumps(plan))(a[:9], b), "a has the shape (9, 30)")
    with ThreadPool(4) as pool:
        shared = pickle.loads(pickle.dumps(tw.Plan(a, b)))
        assert all(np.array_equal(x, a @ b) for x in pool.map(lambda _: shared(a, b), range(40)))


@case
def an_openmp_runtime_that_binds_the_program_does_not_bind_ours():
    """GNU's, loaded before our library and behind it, or begun after a product; a program begun on one processor stays."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("takes two processors")
    text = """
import ctypes, os, sys, time
whole = len(os.sched_getaffinity(0))
def load():
    lib = ctypes.CDLL(os.environ["TILEWRIGHT_LIBRARY"])
    lib.tw_dgemm.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int] + 3 * [ctypes.c_int64] + [ctypes.c_double] + 2 * [
        ctypes.c_void_p, ctypes.c_int64] + [ctypes.c_double, ctypes.c_void_p, ctypes.c_int64]
    return lib
first = sys.argv[1]
lib = load() if first == "ours" else None
gomp = ctypes.CDLL("libgomp.so.1")
lib = lib or (load() if first == "early" else None)
x = (ctypes.c_double * 250000)()
def multiply():
    assert lib.tw_dgemm(None, 0, 0, 500, 500, 500, 1, x, 500, x, 500, 0, (ctypes.c_double * 250000)(), 500) == 0
if first == "early":
    multiply()
gomp.GOMP_parallel(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None), None, 2, 0)
lib = lib or load()
multiply()
def widest():
    return max(len(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task"))
until = time.monotonic() + 10  # a worker that leaves its caller's processor has a narrow mask meanwhile
while widest() < whole and time.monotonic() < until:
    multiply() if first == "early" else os.sched_yield()
print(len(os.sched_getaffinity(0)), widest())
"""
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:
        raise Skip("libgomp.so.1 is not here")
    for first in "ours", "theirs", "early":
        said = python(text, words=[first], OMP_PROC_BIND="true", OMP_NUM_THREADS="2", OMP_PLACES="cores")
        assert said.split() == ["1", str(len(os.sched_getaffinity(0)))], (first, said)
    taskset = "import os, sys\nos.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\nos.execv(sys.executable, [sys.executable, '-B', '-c', sys.argv[1], 'ours'])"
    assert python(taskset, words=[text], OMP_PROC_BIND="true", OMP_NUM_THREADS="2").split() == ["1", "1"]


@case
def threads_are_limited():
    """And those of before are back behind the block, also where it fails."""
    out = python("""
import os, numpy as np, tilewright as tw
a, b = np.random.rand(500, 400), np.random.rand(400, 300)
got = []
def count():
    return len(os.listdir("/proc/self/task"))
with tw.threads(1):
    before, c = count(), tw.matmul(a, b)
    got.append(count() - before)
with tw.threads(2):
    tw.matmul(a, b)
    try:
        with tw.threads(1):
            raise KeyError
    except KeyError:
        pass
    assert tw._library.lib.tw_threads_get() == 2
    got.append(count() - before)
assert np.array_equal(tw.matmul(a, b), c)
print(*got, count() - before)
""", TILEWRIGHT_THREADS="3", OPENBLAS_NUM_THREADS="1")
    assert out.split() == ["0", "1", "2"], out
    first, second = tw.threads(2), tw.threads(3)
    first.__enter__(), second.__enter__(), first.__exit__(None, None, None)
    limit = tw._library.lib.tw_threads_get()
    second.__exit__(None, None, None)
    assert (limit, tw._library.lib.tw_threads_get()) == (3, 0), "blocks that overlap"
    limit, seen = tw.threads(2), []
    see = limit(lambda: seen.append(tw._library.lib.tw_threads_get()))
    for _ in range(2):
        with limit, tw.threads(3):
            seen.append(tw._library.lib.tw_threads_get())
            with limit:
                see()
            seen.append(tw._library.lib.tw_threads_get())
    assert seen == [3, 2, 3] * 2 and tw._library.lib.tw_threads_get() == 0, seen
    refuses(ValueError, lambda: tw.threads(-7), "most is -7, expected 0 to 4096 threads")
    refuses(ValueError, lambda: tw.threads(10**30), "expected 0 to 4096 threads")
    for wrong in (1.5, "2", None):
        refuses(TypeError, lambda: tw.threads(wrong), f"most is {wrong!r}, expected a whole number")


@case
def four_threads_at_once():
    jobs = [
        (integers((m, k), dtype), integers((k, n), dtype))
        for dtype in ("f8", "f4", "i1")
        for m, n, k in [(60, 70, 80), (8, 8, 8), (1, 300, 200), (150, 150, 150)]
    ] * 10
    tw._host.recipes.clear()
    with ThreadPool(4) as pool:
        for (a, b), c in zip(jobs, pool.map(lambda job: tw.matmul(*job), jobs, chunksize=1)):
            assert np.array_equal(c, exact(a, b))
        failures = pool.map(
            lambda i: str(refuses(ValueError, lambda: tw.matmul(np.ones((2, i + 3)), np.ones((2, 2))))), range(40)
        )
        assert all(f"(2, {i + 3})" in said for i, said in enumerate(failures))


@case
def the_interpreter_runs_on_during_a_product():
    """Python steps of another thread fall into the middle half of the product's time, also of one that left a recipe."""
    a, steps, ends = np.ones((1000, 1000)), [], []
    tw.matmul(a, a)

    def product():
        begin = time.monotonic()
        tw.matmul(a, a)
        ends.extend((begin, time.monotonic()))

    worker = threading.Thread(target=product)
    worker.start()
    while worker.is_alive():
        steps.append(time.monotonic())
    quarter = (ends[1] - ends[0]) / 4
    assert any(ends[0] + quarter < step < ends[1] - quarter for step in steps), (len(steps), ends)


@case
def a_child_after_fork_multiplies():
    a = integers((200, 200), "f8")
    want = tw.matmul(a, a)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(tw.matmul(a, a), want) and np.array_equal(tw.matmul(a, a.T), a @ a.T) else 1)
    assert os.waitpid(child, 0)[1] == 0 and np.array_equal(tw.matmul(a, a), want)


@case
def a_scalar_that_changes_is_read_at_each_call():
    class Scale:
        value = 2.0

        def __float__(self):
            return self.value

    a, b, scale = integers((4, 5), "f8"), integers((5, 3), "f8"), Scale()
    planned = tw.Plan(a, b, alpha=scale)
    for _ in range(2):
        assert np.array_equal(tw.matmul(a, b, alpha=scale), scale.value * (a @ b))
        scale.value += 1
    assert np.array_equal(planned(a, b), 2 * (a @ b)) and np.array_equal(planned(a, b, out=a[:, :3] * 0), 2 * (a @ b))
    assert np.array_equal(planned(np.copy(a), b, out=np.zeros((4, 6))[:, ::2]), 2 * (a @ b))


class Same(type):
    """Of classes that say of themselves that they are any class."""

    __eq__, __hash__ = lambda self, other: True, lambda self: hash(float)


def liar(kind, looks, **more):
    """A class whose instances say that they are what a recipe was made for."""
    return Same("Liar", (kind,), {"__eq__": lambda self, other: True, "__hash__": lambda self: hash(looks), **more})


def recipe_of(call):
    """The one recipe that a call leaves, or None."""
    tw._host.recipes.clear()
    call()
    found = list(tw._host.recipes.values())
    assert len(found) < 2
    return found[0] if found else None


@case
def a_recipe_is_found_by_what_its_options_are():
    a, b = integers((4, 5), "f8"), integers((5, 3), "f8")
    want = a @ b
    for kind, looks in itertools.product((float, int, complex, np.float64, np.float32, np.int64), (1, 2.5, True)):
        false = liar(kind, looks)(3)
        for _ in range(2):
            assert np.array_equal(tw.matmul(a, b, alpha=looks), looks * want)
            assert np.array_equal(tw.matmul(a, b, alpha=false), 3 * want), (kind, looks)
    turns = iter(range(2, 99))
    changing = liar(float, 1, __float__=lambda self: float(next(turns)))(7.0)
    for right in range(2, 6):
        assert np.array_equal(tw.matmul(a, b, alpha=changing), right * want)  # read once by each call
    planned = tw.Plan(a, b, alpha=changing)
    assert np.array_equal(planned(a, b), 6 * want) and np.array_equal(planned(a.copy(), b, out=a[:, :3] * 0), 6 * want)
    unhashable = liar(float, 1, __hash__=None)(2.0)
    assert np.array_equal(tw.matmul(a, b, alpha=unhashable), 2 * want)

    single, double = a.astype("f4"), b.astype("f4")
    for looks, name in itertools.product((None, "float32", np.float32, np.dtype("f4")), ("float64", "complex64")):
        for _ in range(2):
            assert tw.matmul(single, double, dtype=looks).dtype == "float32"
            text = liar(str, looks, __str__=lambda self: self)(name)
            other = liar(object, looks, __str__=lambda self: name)()
            for false in (text, other):
                assert tw.matmul(single, double, dtype=false).dtype == name, (looks, name)
    shifting = types.SimpleNamespace(dtype=np.dtype("f4"))
    made = tw.Plan(single, double, dtype=shifting)
    assert tw.matmul(single, double, dtype=shifting).dtype == "float32"
    shifting.dtype = np.dtype("f8")
    assert tw.matmul(single, double, dtype=shifting).dtype == "float64"
    assert made(single, double).dtype == made(single, double[:, ::-1][:, ::-1], out=np.zeros((4, 6), "f4")[:, ::2]).dtype == "float32"

    for looks in (None, "cpu"):
        tw.matmul(a, b, engine=looks)
        refuses(tw.NoDevice, lambda: tw.matmul(a, b, engine=liar(str, looks)("abacus")), "abacus")
    turned = a + 1j * a
    for flag in (False, True):
        right = tw.matmul(turned, b, conjugate_a=flag)
        false = liar(object, flag, __bool__=lambda self: not flag)()
        assert np.array_equal(tw.matmul(turned, b, conjugate_a=false), right.conj())
        false = liar(object, flag, __bool__=lambda self: not flag)()
        found = recipe_of(lambda: tw.matmul(turned, b, invariant=false))
        assert found.problem.flags == (0 if flag else _library.INVARIANT)
    tw.matmul(a, b, multiply_as=None)
    refuses(ValueError, lambda: tw.matmul(a, b, multiply_as=liar(str, None)("bf16")), "multiply_as is 'bf16'")


@case
def recipes_have_the_bits_of_their_scalars():
    """Zeros of both signs, NaNs: each has its own, found again; equal numbers of several types do not differ."""
    a, b = np.ones((3, 4)), np.ones((4, 2))

    def bits(x):
        return np.array(x).tobytes()

    nan = float("nan")
    values = (0.0, -0.0, 0j, nan, -nan, np.float32(0.1), 0.1, True, 2**60 + 1, 1e-320, complex(0.0, 1), complex(-0.0, 1),
              complex(1, nan), np.complex64(2 - 1j), float("inf"))
    tw._host.recipes.clear()
    for _ in range(2):
        for alpha in values:
            tw.matmul(a + 0j, b + 0j, alpha=alpha)
    found = [(x.problem.alpha, x.problem.alpha_imaginary) for x in tw._host.recipes.values()]
    want = [(complex(x).real, complex(x).imag) for x in values if x is not values[2]]  # 0j is the number 0.0
    assert list(map(bits, found)) == list(map(bits, want)), (found, want)
    for alpha, again in ((1, 1), (1.0, True), (2.5, np.float32(2.5)), (3 + 0j, 3)):
        first = recipe_of(lambda: tw.matmul(a, b, alpha=alpha))
        assert first.problem.alpha == alpha
        tw.matmul(a, b, alpha=again)
        assert first in tw._host.recipes.values()


@case
def recipes_keep_nothing_of_a_caller():
    plain = integers((4, 4), "f8")

    def kept(call):
        mark = type("Mark", (), {})()
        alive, noted = weakref.ref(mark), np.dtype("f8", metadata={"mark": mark})
        tw._host.recipes.clear()
        call(plain.astype(noted))
        del mark, noted
        gc.collect()
        return alive() is not None

    for call in (lambda x: tw.matmul(x, plain), lambda x: tw.matmul(plain, x), lambda x: tw.matmul(plain, plain, out=x)):
        assert not kept(call)
        assert tw.matmul(plain, plain).dtype.metadata is None


@case
def a_recipe_is_taken_for_no_other_call():
    """Each call after another one that differs from it in one thing, both ways round, and after all others."""
    rng = np.random.default_rng(4)
    room = rng.standard_normal((2, 24, 48)) + 1j * rng.standard_normal((2, 24, 48))
    a, b = np.ascontiguousarray(room[0, :6, :6]), np.ascontiguousarray(room[1, :6, :6])
    calls = [(a, b, more) for more in (
        {}, {"alpha": 2}, {"alpha": 1j}, {"beta": 0}, {"dtype": "complex64"}, {"conjugate_a": True}, {"conjugate_b": True}, {"engine": "cpu"})]
    calls += [(x, b, {}) for x in (a.T, room[0, :6, :6], room[0, :12:2, :6], a[:5], a.real.copy(), a.astype("complex64"), a[0], a[None], np.stack([a, b]))]
    calls += [(a, x, {}) for x in (b.T, room[1, :6, :6], room[1, :6, :12:2], b[:, :5], b.real.copy(), b.astype("complex64"), b[:, 0], b[None], np.stack([a, b]))]
    calls += [(a[:, :n].copy(), b[:n].copy(), {}) for n in (1, 5, 3)] + [(room[0, :, :24].copy(), room[1].copy(), {})]

    def alone(x, y, more):
        tw._host.recipes.clear()
        return tw.matmul(x, y, **more)

    def is_that(found, wanted):
        return found.dtype == wanted.dtype and found.shape == wanted.shape and np.array_equal(found, wanted)

    wanted = [alone(*call) for call in calls]
    for i, (x, y, more) in enumerate(calls):
        for j in (0, (i + 1) % len(calls)):
            tw._host.recipes.clear()
            for k in (j, j, i, i, j):
                assert is_that(tw.matmul(calls[k][0], calls[k][1], **calls[k][2]), wanted[k]), f"call {i} beside call {j}: {k} is another's"
    tw._host.recipes.clear()
    for k in [*range(len(calls)), *reversed(range(len(calls)))] * 2:
        assert is_that(tw.matmul(calls[k][0], calls[k][1], **calls[k][2]), wanted[k]), f"call {k}, after all others, is another's"


@case
def a_recipe_is_of_its_layout_alone():
    """What only addresses bring about leaves none: a copy of a misaligned operand, or of an `out` that meets one. Nor does
    a batch of many addresses."""
    a, b, out, many = integers((3, 3), "f8"), integers((3, 3), "f8"), integers((3, 3), "f8"), np.ones((60, 1, 2, 2))
    shifted = np.zeros(80, np.uint8)[1:73].view("f8").reshape(3, 3)
    shifted[...] = a
    for call in (lambda: tw.matmul(shifted, b), lambda: tw.matmul(out, b, out=out), lambda: tw.matmul(many, np.ones((50, 2, 2)))):
        assert recipe_of(call) is None
    want = a @ b + out[::-1]
    assert recipe_of(lambda: tw.matmul(a, b, a[::-1], out=np.zeros((3, 3)))) is not None
    assert np.array_equal(tw.matmul(shifted, b, out[::-1], out=out), want)  # c, which meets `out`, is read once


@case
def recipes_do_not_pile_up():
    for n in range(1, 60):
        tw.matmul(np.ones((1, n)), np.ones((n, 1)))
    old, tw._host.RECIPES = tw._host.RECIPES, 50
    try:
        for n in range(1, 200):
            assert tw.matmul(np.ones((2, n)), np.ones((n, 1)), alpha=float("nan") if n % 3 == 0 else 1).shape == (2, 1)
        assert len(tw._host.recipes) <= 60
    finally:
        tw._host.RECIPES = old


# ---- errors, logging, lookup --------------------------------------------------------------------------------------


@case
def errors_have_the_librarys_sentence_and_a_kind():
    a = np.ones((2, 2))
    error = refuses(tw.NoDevice, lambda: tw.matmul(a, a, engine="abacus"), "there is no engine named abacus")
    assert error.status == 2 and isinstance(error, tw.Error)
    refuses(ValueError, lambda: tw.matmul(a, a, engine="cuda:x"), "cuda:x")
    refuses(tw.BadArgument, lambda: tw.matmul(a.astype("i1"), a.astype("i1"), alpha=0.5), "alpha")
    for kind, also in ((tw.OutOfMemory, MemoryError), (tw.BadArgument, ValueError), (tw.DeviceFailed, RuntimeError)):
        assert issubclass(kind, also) and issubclass(kind, tw.Error)
    said = python(
        "import numpy as np, tilewright as tw\ntw.matmul(np.ones((2, 2)), np.ones((2, 2)), engine='cuda')",
        status=1,
        LD_LIBRARY_PATH=os.path.join(FAKES, "broken"),
    )
    assert "\ntilewright.NoDevice: " in said and "CUDA" in said, said
    said = python(
        "import numpy as np, tilewright as tw\ntw.matmul(np.ones((2, 2)), np.ones((2, 2)))",
        status=1,
        TILEWRIGHT_CPU="mmx",
    )
    assert "mmx" in said, said


@case
def choices_are_logged():
    a = np.ones((20, 20))
    with Heard() as heard:
        for _ in range(2):
            tw.matmul(a, a.T, alpha=3)
    assert len(heard.lines) == 2 and "float64 -> float64, NT, m 20 n 20 k 20" in heard.lines[1], heard.lines
    assert re.search(r"cpu_f64_gemm_simd_\w+: .*threads", heard.lines[1]), heard.lines
    heard.lines.clear()
    tw.matmul(a, a)
    assert not heard.lines


@case
def the_library_is_looked_for_and_checked():
    load = "import tilewright; print(tilewright._library.FILE)"
    assert python(load).strip() == LIBRARY
    said = python(load, status=1, TILEWRIGHT_LIBRARY="/nowhere/lib.so")
    assert (
        "ImportError" in said and "/nowhere/lib.so: no such file" in said and "TILEWRIGHT_LIBRARY is /nowhere/lib.so, expected" in said
    ), said
    said = python(load, status=1, TILEWRIGHT_LIBRARY="libc.so.6")
    assert "libc.so.6 is not Tilewright's library" in said, said
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Skip("no C compiler")
    open("old.c", "w").write('const char *tw_version(void) { return "9.9.9"; }\n')
    subprocess.run([compiler, "-shared", "-fPIC", "old.c", "-o", "old.so"], check=True)
    said = python(load, status=1, TILEWRIGHT_LIBRARY=os.path.abspath("old.so"))
    assert "old.so is version 9.9.9" in said and f"needs {tw.__version__.rsplit('.', 1)[0]}.x" in said, said
    os.makedirs("alone/tilewright")
    for name in os.listdir(os.path.join(PACKAGE, "tilewright")):
        if name.endswith(".py"):
            shutil.copy(os.path.join(PACKAGE, "tilewright", name), "alone/tilewright")
    said = python(load, status=1, TILEWRIGHT_LIBRARY=None, PYTHONPATH=os.path.abspath("alone"))
    assert (
        "lib/libtilewright.so.0: no such file" in said
        and "libtilewright.so.0: cannot open" in said
        and "TILEWRIGHT_LIBRARY" in said
    ), said


@case
def structs_are_those_of_the_header():
    """Size and offset of each declared field, as the compiler has them. The header may have fields beyond ours."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Skip("no C compiler")
    structs, lines, ours = {**_library.STRUCTS, **_plans.STRUCTS}, [], []
    for name, layout in structs.items():
        for field, kind in layout._fields_:
            lines.append(
                f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
            )
            ours.append(f"{name}.{field} {getattr(layout, field).offset} {ctypes.sizeof(kind)}")
        compare = ">=" if layout._fields_[0][0] == "size" else "=="  # the library reads and writes the whole of others
        lines.append(f'printf("{name} fits %d\\n", sizeof({name}) {compare} {ctypes.sizeof(layout)});')
        ours.append(f"{name} fits 1")
    open("layout.c", "w").write(
        "#include <stddef.h>\n#include <stdio.h>\n#include <tilewright_lab.h>\nint main(void)\n{\n"
        + "\n".join(lines)
        + "\nreturn 0;\n}\n"
    )
    subprocess.run([compiler, "-std=c11", "-I", os.path.join(ROOT, "include"), "layout.c", "-o", "layout"], check=True)
    said = subprocess.run(["./layout"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert said == ours, [pair for pair in zip(said, ours) if pair[0] != pair[1]]
    header = open(os.path.join(ROOT, "include", "tilewright.h"), encoding="utf-8").read()
    for name, code in _library.CODES.items():
        if name in MODULAR and name[0] == "u":
            assert code == _library.CODES[name[1:]]
            continue
        short = name.replace("complex64", "CF32").replace("complex128", "CF64").replace("float8_", "").replace("fn", "")
        short = short.replace("uint", "U").replace("float", "F").replace("bF", "BF").replace("int", "I").upper()
        assert re.search(rf"\bTW_{short} = {code}\b", header), name
    assert f"TW_TF32 = {_library.TF32}," in header and f"TW_INVARIANT = {_library.INVARIANT}," in header
    assert f"TW_PACKED_B = {_library.PACKED_B}\n" in header
    for kind in (tw.BadArgument, tw.NoDevice, tw.NoKernel, tw.BuildFailed, tw.OutOfMemory, tw.DeviceFailed):
        assert f" = {kind.status}" in header
    declared = set(re.findall(r"^TW_API [\w ]+\*?(tw_\w+)\(", header, re.M))
    used = set(
        re.findall(
            r"\b(tw_[a-z_]+)\b", open(os.path.join(PACKAGE, "tilewright", "_library.py"), encoding="utf-8").read()
        )
    )
    assert used - set(structs) - {"tw_dtype"} <= declared, used - declared


E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"


@case
def types_of_a_product_follow_those_of_the_operands():
    """By name alone: of a, of b, of the result that is wanted; as what they are multiplied, and the result."""
    choose, f32, f64 = _dtypes.choose_types, "float32", "float64"
    for a, b, wanted, operands, result in (
        ("uint8", "uint8", None, "uint8", "int32"),
        ("uint8", "int8", None, "uint8 @ int8", "int32"),
        ("int8", "uint8", "int32", "int8 @ uint8", "int32"),
        ("uint8", "int8", f64, f64, f64),
        (E4M3, E4M3, None, E4M3, f32),
        (E4M3, E5M2, None, f"{E4M3} @ {E5M2}", f32),
        (E5M2, E4M3, "bfloat16", f"{E5M2} @ {E4M3}", "bfloat16"),
        (E5M2, E5M2, "float16", E5M2, "float16"),
        (E4M3, E5M2, f64, f64, f64),
        (E4M3, "bfloat16", None, "bfloat16", f32),
        ("float16", E5M2, None, "float16", f32),
        (E4M3, f32, None, f32, f32),
        (f64, E5M2, None, f64, f64),
        (E4M3, "complex64", None, "complex64", "complex64"),
        (E4M3, E5M2, "complex128", "complex128", "complex128"),
        ("uint8", "bfloat16", None, f32, f32),
        (E5M2, "int64", None, f64, f64),
        ("bool", "bfloat16", None, "bfloat16", f32),
        (E4M3, "bool", None, E4M3, f32),
    ):
        found = choose(a, b, wanted)
        assert (str(found[0]), found[1]) == (operands, result), (a, b, wanted, found)
    for result in (f32, "int8", "uint8"):  # on the CPU
        assert [str(x) for x in choose("uint8", "int8", result, scales=True)] == ["uint8 @ int8", result]
    assert [str(x) for x in choose("uint8", "int8", f32)] == [f32, f32]
    assert [str(x) for x in choose("uint8", "int8", f64, scales=True)] == [f64, f64]
    assert str(choose(E4M3, E5M2, None, True)[0]) == "complex64"
    for a, b, wanted, says in (
        (E4M3, E4M3, "int32", f"products of {E4M3} are float32 or bfloat16 or float16 or float64 or complex64"),
        ("bool", "bfloat16", "int32", "products of bfloat16 are float32 or bfloat16 or float64"),
        (E4M3, E4M3, E4M3, f"the result cannot be {E4M3}"),
        ("uint8", "uint8", "uint8", "products of uint8 are int32"),
        ("float8_e4m3fnuz", f32, None, "a is float8_e4m3fnuz; there are products of"),
    ):
        refuses(TypeError, lambda: choose(a, b, wanted), says)
    refuses(TypeError, lambda: choose("uint8", "int8", None, True), "imaginary part", "uint8")
    assert choose(f32, f32, None, False, True)[0].codes() == (9, 9) and choose(f32, "float16", None, False, True)[1] == f32
    for a, b, wanted in ((f64, f32, None), (f32, f32, f64), ("float16",) * 2 + (None,), ("int8", "uint8", None)):
        refuses(TypeError, lambda: choose(a, b, wanted, False, True), "multiply_as='tf32' multiplies float32, and a and b are")


@case
def types_for_cuda_are_refused_on_the_cpu():
    u, i, f = np.ones((2, 3), np.uint8), np.ones((3, 4), np.int8), np.ones((3, 4), np.float32)
    for call in (lambda **more: tw.matmul(u, i, **more), lambda **more: tw.Plan(u, i, **more)):
        for more in ({}, {"dtype": "float32"}):  # the name of the engine is judged first
            refuses(tw.NoDevice, lambda: call(engine="gpu", **more), "there is no engine named gpu")
    refuses(TypeError, lambda: tw.matmul(f.T, f, multiply_as="tf32", engine="opencl"), "tf32 is multiplied on CUDA only, and the engine is opencl")
    for call in (tw.matmul, tw.Plan):
        refuses(TypeError, lambda: call(f.T, f, multiply_as="tf32"), "tf32 is multiplied on CUDA only", "leave multiply_as out")
    for unknown in ("bf16", "float32", True, 1, [], np.float32):
        refuses(ValueError, lambda: tw.matmul(f.T, f, multiply_as=unknown), "multiply_as is", "expected None or 'tf32'")
    assert np.array_equal(tw.matmul(f.T, f, multiply_as=None), f.T @ f)
    assert np.array_equal(tw.matmul(u, i, dtype="float64"), np.full((2, 4), 3.0))
    refuses(TypeError, lambda: tw.matmul(f.T, f, multiply_as="tf32"), "CUDA only")  # a recipe of f32 is not taken for it
    if ml_dtypes is None:
        raise Skip("ml_dtypes is not installed")
    for kind in (E4M3, E5M2):
        x = integers((4, 4), getattr(ml_dtypes, kind))
        for engine in ("cpu", "opencl"):
            refuses(TypeError, lambda: tw.matmul(x, x, engine=engine), f"{kind} is multiplied on CUDA only", "float32 with astype(), which is exact")
        refuses(TypeError, lambda: tw.matmul(x, x, dtype="float16"), f"{kind} is multiplied on CUDA only")
        assert np.array_equal(tw.matmul(x, x.astype("f4")), exact(x, x))
        assert np.array_equal(tw.matmul(x.T, x, dtype="float64"), exact(x.T, x))


@case
def opencl_multiplies_float16_and_uint8():
    """By the fake driver: what the package asks of the engine, and not what a compiler makes of it."""
    python("import test_python\ntest_python.multiplies_float16_and_uint8('opencl')", LD_LIBRARY_PATH=os.path.join(FAKES, "opencl"),
           FAKE_OPENCL="gemm=1", TILEWRIGHT=PROGRAM, TILEWRIGHT_BUILD=BUILD, TILEWRIGHT_CACHE="off")


@case
def the_cpu_multiplies_float16_and_uint8():
    multiplies_float16_and_uint8("cpu")
    half = rng.standard_normal((3, 4)).astype("f2")
    assert np.array_equal(tw.matmul(half.T, half), tw.matmul(half.T.astype("f4"), half.astype("f4")))


def multiplies_float16_and_uint8(engine):
    wide = {"uint8": (0, 256), "int8": (-128, 128), "float16": (-8, 9)}
    for x, y in (("uint8",) * 2, ("uint8", "int8"), ("int8", "uint8"), ("float16",) * 2):
        a, b = (rng.integers(*wide[name], shape).astype(name) for name, shape in ((x, (3, 17, 40)), (y, (40, 9))))
        right, result = exact(a, b), "float32" if x == "float16" else "int32"
        for c, want in ((tw.matmul(a[0], b, engine=engine), right[0]), (tw.matmul(b.T, a[0].T, engine=engine), right[0].T),
                        (tw.matmul(a, b, engine=engine), right), (tw.Plan(a[0], b, engine=engine)(a[0], b), right[0])):
            assert c.dtype == result and np.array_equal(c, want), (x, y)
    out = np.empty((17, 9), "f2")
    for c in (tw.matmul(a[0], b, engine=engine, dtype="float16"), tw.matmul(a[0], b, engine=engine, out=out)):
        assert c.dtype == "float16" and np.array_equal(c, right[0].astype("f2"))
    if engine == "opencl":
        for call in (tw.matmul, tw.Plan):
            for x, y in ((a[0], b), (a, b), (a[0].astype("f4"), b.astype("f4"))):
                refuses(tw.NoKernel, lambda: call(x, y, engine=engine, invariant=True), "no kernel fits TW_INVARIANT")
        ones = np.ones((4, 4), "i1")  # integers are exact in any order
        assert np.array_equal(tw.matmul(ones, ones, engine=engine, invariant=True), 4 * ones)


@case
def types_for_cuda_reach_its_engine():
    """With the fake driver, which computes none of them: what it is asked for."""
    on_fake_cuda(
        """
import logging
lines = []
class Heard(logging.Handler):
    def emit(self, record): lines.append(record.getMessage())
logger = logging.getLogger("tilewright")
logger.addHandler(Heard())
logger.setLevel(10)
logger.propagate = False
types = [np.dtype("u1"), np.dtype("i1")]
try:
    import ml_dtypes
    types += [np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)]
    for t in types[2:]: setattr(fake.torch, t.name, fake.TorchType(t.name))
except ImportError: pass
short = {"uint8": "u8", "int8": "i8", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
codes = tw._library.CODES
for x in types:
    for y in types:
        if (x.kind in "ui") != (y.kind in "ui"): continue
        a, b = np.ones((32, 48), x), np.ones((48, 64), y)
        pair = x.name if x == y else f"{x.name} @ {y.name}"
        result = "int32" if x.kind in "ui" else "float32"
        for i in range(2):  # the second time by what was kept
            assert tw.matmul(a, b, engine="cuda").dtype == result
        assert f"cuda:0 {pair} -> {result}, NN" in lines[-1] and f"cuda_{short[x.name]}_gemm" in lines[-1], lines[-1]
        problem = tw.Plan(a, b, engine="cuda")._recipe.problem
        assert (problem.dtype, problem.dtype_b) == (codes[x.name], 0 if x == y else codes[y.name])
        out = np.zeros((32, 64), result, order="F")  # as the transpose of C, so that a and b change places
        assert tw.matmul(a, b, out=out, engine="cuda") is out
        assert "transpose of C" in lines[-1] and f"cuda_{short[y.name]}_gemm" in lines[-1], lines[-1]
        tw.matmul(np.ones((3, 32, 48), x), np.ones((3, 48, 64), y), engine="cuda")
        for make in (CupyArray, Tensor) if "f" in x.name else (CupyArray, Tensor, Interface):
            if make is Tensor: fake.torch.int32 = fake.TorchType("int32")
            more = {"out": Interface(np.zeros((32, 64), result))} if make is Interface else {}
            tw.matmul(make(a), make(b), **more)
            assert f"cuda:0 {pair} -> {result}" in lines[-1], lines[-1]
            tw._arrays._prepared.clear()
        if result == "float32":
            for narrow in ("float16", "bfloat16"):
                assert tw.matmul(a, b, dtype=narrow, engine="cuda").dtype.name == narrow
                assert f"{pair} -> {narrow}" in lines[-1], lines[-1]
a, b = small(32, 48), small(48, 64)
for i in range(2):
    tw.matmul(a, b, engine="cuda", multiply_as="tf32")
    assert "cuda:0 tf32 -> float32" in lines[-1] and "cuda_tf32_gemm" in lines[-1], lines[-1]
    tw.matmul(a, b, engine="cuda")
    assert "cuda:0 float32 -> float32" in lines[-1] and "cuda_f32_sgemm" in lines[-1], lines[-1]
    tw.matmul(CupyArray(a), CupyArray(b), multiply_as="tf32")
    tw.matmul(CupyArray(a), CupyArray(b))
assert [each.problem.dtype for each in tw._arrays._prepared.values()] == [9, 2]
assert tw.Plan(a, b, engine="cuda", multiply_as="tf32")._recipe.problem.dtype == 9
plan = tw.Plan(Tensor(a), Tensor(b), multiply_as="tf32")
plan(Tensor(a), Tensor(b))

tw._arrays._prepared.clear()
for more in ({}, {"multiply_as": "tf32"}):
    for x, y in ((a, b), (np.stack([a, a]), np.stack([b, b]))):
        for invariant, flags in ((True, 4), (False, 0)):
            tw._host.recipes.clear()
            tw.matmul(x, y, engine="cuda", invariant=invariant, **more)
            assert [each.problem.flags for each in tw._host.recipes.values()] == [flags]
            assert tw.Plan(x, y, engine="cuda", invariant=invariant, **more)._recipe.problem.flags == flags
            for make in (CupyArray, Tensor):
                tw._arrays._prepared.clear()
                out = make(np.zeros((32, 64), "f4", order="F")) if x is a else None
                tw.matmul(make(x), make(y), out=out, invariant=invariant, **more)
                plan = tw.Plan(make(x), make(y), invariant=invariant, **more)
                plan(make(x), make(y))
                assert {each.problem.flags for each in tw._arrays._prepared.values()} == {flags}
                assert {each.call.swapped for each in tw._arrays._prepared.values()} == {False, x is a and not flags}
for x in types[2:]:
    for call in (tw.matmul, tw.Plan):
        try: call(np.ones((32, 48), x), np.ones((48, 64), x), engine="cuda", invariant=True)
        except tw.NoKernel as error: assert "TW_INVARIANT" in str(error)
        else: raise AssertionError(x)
""",
        FAKE_CUDA="sm=90",
    )


@case
def docstrings_are_true():
    tried = 0
    with unittest.mock.patch.dict(os.environ, OCL_ICD_VENDORS="/nowhere"):  # a device that no example needs is not measured
        for name in ("", "._matmul", "._lab"):
            module = importlib.import_module("tilewright" + name)
            result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE, report=True)
            assert result.failed == 0, f"{name}: {result.failed} examples fail"
            tried += result.attempted
    assert tried > 12, tried


@case
def pages_have_examples_that_run():
    """Each fence of Python in the pages, in order and in one interpreter; those for a GPU are compiled."""
    tried = 0
    for page in ("README.md", "docs/GUIDE.md", "python/README.md"):
        text = open(os.path.join(ROOT, page), encoding="utf-8").read()
        names = {}
        for fence in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
            code = compile(re.sub(r"\bsize=\d+", "size=48", fence), page, "exec")  # what is shown is the call, not its speed
            if "import torch" not in fence and "import logging" not in fence:
                exec(code, names)
                tried += 1
    assert tried >= 3, tried


@case
def results_have_the_types_that_checkers_see():
    """The uses of typed_uses.py, which tools/types.sh checks, as they run; each overload has all arguments."""
    import typed_uses

    for uses in typed_uses.RUN:
        uses()
    with open(os.path.join(PACKAGE, "tilewright", "__init__.pyi"), encoding="utf-8") as file:
        stub = [node for top in ast.parse(file.read()).body if getattr(top, "name", "") != "Packed" for node in ast.walk(top)]
    found = {"matmul": tw.matmul, "__init__": tw.Plan.__init__, "__call__": tw.Plan.__call__}
    for overload in [node for node in stub if isinstance(node, ast.FunctionDef) and node.name in found]:
        arguments = list(inspect.signature(found[overload.name]).parameters)
        given = [x.arg for x in overload.args.posonlyargs + overload.args.args + overload.args.kwonlyargs]
        if "epilogue" in given and ast.unparse(overload.args.kwonlyargs[-1].annotation) == "None":
            given.append("operands")  # nothing is bound without an epilogue
        given += [overload.args.kwarg.arg] if overload.args.kwarg else []
        assert given == arguments, overload.lineno


# ---- the program --------------------------------------------------------------------------------------------------


@case
def records_of_the_program():
    assert _lab.program() == PROGRAM or os.environ.get("TILEWRIGHT"), _lab.program()
    found = tw.ladder(size=48, rung=["r01", "r04"], samples=1, threads=1, dtype="f32", engine=None, all=False)
    assert (
        [record["rung"] for record in found] == ["r01_naive", "r04_banks"]
        and isinstance(found, list)
        and found[0]["m"] == 48
    )
    assert all(record["verified"] == "exact+bound" for record in found)
    chart = found._repr_svg_()
    if subprocess.run([PROGRAM, "report", "none", "-o", "none.svg"], capture_output=True).returncode != 2:
        assert chart.startswith("<svg") and "r04" in chart, chart
    assert tw.Records()._repr_svg_() is None
    assert tw.bench(shape="20x30x40", samples=1, threads=1)[0]["n"] == 30
    refuses(ValueError, lambda: tw.ladder(sise=3), "unknown option '--sise'")
    refuses(ValueError, lambda: tw.explain("r99"), "r99")
    refuses(TypeError, lambda: tw.bench(json="x"), "the records are returned")
    assert tw.bench(dtype="f16", size=32, samples=1)[0]["verified"] == "exact+bound"
    refuses(tw.NoDevice, lambda: tw.bench(dtype="e4m3", size=32, samples=1), "could be timed", "no production kernel for e4m3")
    said = python(
        "import tilewright\ntilewright.ladder(engine='cuda', size=32)",
        status=1,
        LD_LIBRARY_PATH=os.path.join(FAKES, "broken"),
    )
    assert "NoDevice" in said, said


@case
def tuning_yields_records_and_ends_with_its_iterator():
    with tempfile.TemporaryDirectory(prefix="tilewright-tune.") as folder:
        before = os.environ.get("TILEWRIGHT_TUNED")
        os.environ["TILEWRIGHT_TUNED"] = os.path.join(folder, "tuned")
        try:
            far = "kc=16 unpacked=0.05 unpacked_tall=0.05 b_share=0.05"
            found = tw.tune(size=200, threads=1, budget=600, start=far, others=0)
            first = next(found)
            assert first["event"] == "candidate" and first["verdict"] in ("better", "slower", "unclear"), first
            found.close()
            with open(os.environ["TILEWRIGHT_TUNED"] + ".tried") as tried:
                assert first["row"] in tried.read()
            options = dict(size=64, threads=1, budget=5, others=0)
            classes = [record for record in tw.tune(**options) if record["event"] == "class"]
            assert [record["shape"] for record in classes] == ["64x64x64"], classes
            assert all(record["event"] == "row" for record in tw.tune(show=True))
            refuses(ValueError, lambda: list(tw.tune(sise=3)), "unknown option '--sise'")
        finally:
            os.environ.pop("TILEWRIGHT_TUNED")
            if before is not None:
                os.environ["TILEWRIGHT_TUNED"] = before
        on_fake = dict(
            LD_LIBRARY_PATH=os.path.join(FAKES, "cuda"),
            TILEWRIGHT_NVRTC=os.path.join(FAKES, "nvrtc", "libnvrtc.so.13"),
            FAKE_CUDA="product=1 us_sgemm_cpasync_sm80=250",
            TILEWRIGHT_TUNED=os.path.join(folder, "cuda"),
            TILEWRIGHT_CACHE="off",
        )
        said = python(
            "import tilewright\nfor r in tilewright.tune(engine='cuda', size=64, budget=300): print(r['verdict'], r['why'])",
            **on_fake,
        )
        assert said.rstrip().splitlines()[-1].startswith("better sgemm_cpasync_sm80_128x128 instead of sgemm_slicedk_"), said


@case
def python_m_is_the_program():
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tilewright", "version"],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=PACKAGE, TILEWRIGHT_LIBRARY=LIBRARY),
    )
    assert (done.returncode, done.stdout) == (
        0,
        subprocess.run([PROGRAM, "version"], capture_output=True, text=True).stdout,
    ), done
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tilewright", "xyzzy"],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=PACKAGE, TILEWRIGHT_LIBRARY=LIBRARY),
    )
    assert done.returncode == 2 and "unknown command" in done.stderr
    # A pipe whose reader has gone ends it quietly, though Python itself ignores the signal.
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tilewright", "help", "bench"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=PACKAGE, TILEWRIGHT_LIBRARY=LIBRARY),
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, ""), done  # 128 + SIGPIPE


# ---- the wheel ----------------------------------------------------------------------------------------------------


@case
def a_wheel_has_all_that_it_needs():
    """One of this build's files, by the backend alone; unpacked, it finds its own library and program."""
    os.mkdir("twice")
    names = [
        subprocess.run(
            [sys.executable, "-B", os.path.join(PACKAGE, "backend.py"), folder, BUILD, "linux_x86_64"],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        ).stdout.strip()
        for folder in (".", "twice")
    ]
    assert names == [f"tilewright-{tw.__version__}-py3-none-linux_x86_64.whl"] * 2
    assert open(names[0], "rb").read() == open(os.path.join("twice", names[1]), "rb").read()
    with zipfile.ZipFile(names[0]) as wheel:
        listed = [
            line.split(",")[0]
            for line in wheel.read(f"tilewright-{tw.__version__}.dist-info/RECORD").decode().splitlines()
        ]
        assert sorted(listed) == sorted(wheel.namelist()) and {entry.date_time for entry in wheel.infolist()} == {
            (2023, 11, 14, 22, 13, 20)
        }
        wheel.extractall("site")
    info = f"site/tilewright-{tw.__version__}.dist-info"
    said = [line for line in open(f"{info}/METADATA").read().splitlines() if line.startswith("License-")]
    cache = open(os.path.join(BUILD, "CMakeCache.txt")).read()
    expression, notices = "Apache-2.0", ["LICENSE"]
    for name, licence, author in ("jansson", "MIT", "Petri Lehtinen"), ("zlib", "Zlib", "Mark Adler"):
        if re.search(f"^{name.upper()}_LIBRARY:.*[.]a$", cache, re.M):
            expression, notices = f"{expression} AND {licence}", [*notices, name]
            assert author in open(f"{info}/licenses/{name}").read()
    assert said == [f"License-Expression: {expression}", *(f"License-File: {name}" for name in notices)], said
    os.chmod("site/tilewright/bin/tilewright", 0o755)
    said = python(
        "import tilewright as tw, numpy as np\nfrom tilewright import _lab\n"
        "print(tw.__version__, tw._library.FILE, _lab.program(), getattr(tw._matmul._calls, '__file__', None),"
        " tw.matmul(np.eye(2), np.eye(2)).tolist())",
        TILEWRIGHT_LIBRARY=None,
        PYTHONPATH=os.path.abspath("site"),
    )
    site = os.path.realpath("site")
    extension = sys.version_info >= (3, 11) and os.path.exists(os.path.join(BUILD, "_calls.abi3.so"))
    assert said.split(" ", 4) == [
        tw.__version__,
        f"{site}/tilewright/lib/libtilewright.so.0",
        f"{site}/tilewright/bin/tilewright",
        f"{site}/tilewright/_calls.abi3.so" if extension else "None",
        "[[1.0, 0.0], [0.0, 1.0]]\n",
    ], said


@case
def an_sdist_is_a_commit_and_builds_a_wheel():
    """By the hooks that pip and build call, in a tree of a few files, with a cmake that builds nothing."""
    if not shutil.which("git"):
        raise Skip("git is not installed")
    files = ("CMakeLists.txt", "LICENSE", "pyproject.toml", "python/README.md", "python/backend.py")
    for name in files:
        os.makedirs(os.path.dirname(os.path.join("tree", name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join("tree", name))
    os.makedirs("tree/python/tilewright")
    open("tree/python/tilewright/__init__.py", "w").close()
    os.makedirs("bin")
    with open("bin/cmake", "w", encoding="utf-8") as file:
        file.write(
            '#!/bin/sh\n[ "$1" != --build ] && mkdir "$4" && touch "$4/CMakeCache.txt" && exit\n'
            'shift 4 && for name; do echo "$name" >>../asked; done\n'
            "touch build/libtilewright.so.0 build/libtilewright_blas.so.0 build/tilewright\n"
        )
    os.chmod("bin/cmake", 0o755)

    def hook(name, tree):
        with open(os.path.join(tree, "pyproject.toml"), encoding="utf-8") as file:
            where = re.search(r'^backend-path = \["(.*)"\]$', file.read(), re.M)[1]
        return subprocess.run(
            [sys.executable, "-B", "-c", f"import backend; print(backend.{name}('..'))"],
            cwd=tree,
            env=clean_environment(PATH=f"{os.getcwd()}/bin:{os.environ['PATH']}", PYTHONPATH=where),
            capture_output=True,
            text=True,
            check=False,
        )

    def git(*words):
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run(["git", *who, *words], cwd="tree", check=True, capture_output=True)

    done = hook("build_sdist", "tree")
    assert done.returncode == 1 and "this tree is no clone" in done.stderr, done
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    with open("tree/LICENSE", "a", encoding="utf-8") as file:
        file.write("more\n")
    done = hook("build_sdist", "tree")
    assert done.returncode == 1 and "not committed\n M LICENSE\n" in done.stderr, done
    git("commit", "-qam", "second")
    open("tree/not_added", "w").close()
    base, digests = f"tilewright-{tw.__version__}", set()
    for _ in range(2):
        done = hook("build_sdist", "tree")
        assert done.stdout == f"{base}.tar.gz\n", done
        with open(f"{base}.tar.gz", "rb") as file:
            digests.add(file.read())
    assert len(digests) == 1
    with tarfile.open(f"{base}.tar.gz") as tar:
        held = [each.name for each in tar if each.isfile()]
        assert sorted(held) == sorted(f"{base}/{each}" for each in (*files, "python/tilewright/__init__.py", "PKG-INFO"))
        assert {(each.uid, each.gid) for each in tar} == {(0, 0)} and len({each.mtime for each in tar}) == 1
        tar.extractall(".")
    assert open(f"{base}/LICENSE", encoding="utf-8").read().endswith("more\n")
    with open(f"{base}/PKG-INFO", encoding="utf-8") as file:
        said = file.read()
    assert f"\nName: tilewright\nVersion: {tw.__version__}\n" in said and "\nDynamic: License-Expression\n" in said, said
    done = hook("build_wheel", base)
    wheel = f"{base}-py3-none-linux_{platform.machine()}.whl"
    assert done.stdout == wheel + "\n" and os.path.exists(wheel), done
    assert open("asked").read().split() == ["--target", "tilewright", "tilewright_python", "tilewright_blas"]


@case
def a_wheel_without_the_extension_says_so():
    """As where Python's headers were missing; also the build says it, and goes on."""
    os.mkdir("built")
    for name in ("libtilewright.so.0", "libtilewright_blas.so.0", "tilewright", "CMakeCache.txt"):
        open(os.path.join("built", name), "w").close()
    done = subprocess.run([sys.executable, "-B", os.path.join(PACKAGE, "backend.py"), ".", "built", "linux_x86_64"],
                          check=True, capture_output=True, text=True)
    assert "built/_calls.abi3.so is missing" in done.stderr and "calls go by ctypes alone" in done.stderr, done.stderr
    with zipfile.ZipFile(done.stdout.strip()) as wheel:
        assert not any("_calls" in name for name in wheel.namelist())
    if FULL:
        done = subprocess.run(["cmake", "-S", ROOT, "-B", "made", "-DTILEWRIGHT_TESTS=OFF", "-DTILEWRIGHT_MPI=OFF",
                               "-DTILEWRIGHT_PYTHON=/nowhere/python3"], check=True, capture_output=True, text=True)
        assert "Python calls the library by ctypes alone: no Python.h of 3.11 or newer" in done.stdout, done.stdout


@case
def the_manylinux_wheel_is_reproducible():
    """--full: tools/wheel.sh twice, in two build folders."""
    if not FULL:
        raise Skip("two builds take minutes: --full")
    for number in ("1", "2"):
        subprocess.run(
            [os.path.join(ROOT, "tools", "wheel.sh"), "out" + number, "build" + number],
            check=True,
            capture_output=True,
            cwd=os.getcwd(),
        )
    name = f"tilewright-{tw.__version__}-py3-none-manylinux_2_28_x86_64.whl"
    assert open(os.path.join("out1", name), "rb").read() == open(os.path.join("out2", name), "rb").read()


@case
def the_wheel_is_not_built_in_silence():
    """A line says how far the build is: here one that goes on until it was said, and a sleep that takes no time."""
    if platform.machine() not in ("x86_64", "aarch64"):
        raise Skip("tools/wheel.sh is for x86-64 and arm64")
    os.mkdir("bin")
    for name, text in (
        ("sleep", "exit 0"),
        ("cmake", "echo '[3/9] Building'; until grep -qF 'building [3/9]' told || ! kill -0 $PPID; do :; done; exit 1"),
    ):
        with open(os.path.join("bin", name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncd {os.getcwd()} && {text}\n")
        os.chmod(file.name, 0o755)
    with open("told", "w", encoding="utf-8") as told:
        path = os.path.abspath("bin") + os.pathsep + os.environ["PATH"]
        done = subprocess.run(
            [os.path.join(ROOT, "tools", "wheel.sh"), "out", "build"],
            stderr=told,
            env={**os.environ, "PATH": path},
            timeout=60,
            check=False,
        )
    assert done.returncode == 1 and "the build failed" in open("told", encoding="utf-8").read(), done


# ---- other libraries' arrays --------------------------------------------------------------------------------------


@case
def host_arrays_of_other_libraries():
    python("""
import sys, types, numpy as np, tilewright as tw
class Array:  # as the array API standard has it
    def __init__(self, x): self.x, self.shape, self.dtype = x, x.shape, x.dtype
    def __dlpack__(self, **more): return self.x.__dlpack__(**more)
    def __dlpack_device__(self): return self.x.__dlpack_device__()
    def __array_namespace__(self): return types.SimpleNamespace(from_dlpack=lambda y: Array(np.from_dlpack(y)))
a, b = np.arange(12.).reshape(3, 4), np.arange(8.).reshape(4, 2)
c = tw.matmul(Array(a), Array(b), Array(np.ones((3, 2))))
assert type(c) is Array and np.array_equal(c.x, a @ b + 1)
out = Array(np.zeros((3, 2)))
assert tw.matmul(Array(a), b, out=out) is out and np.array_equal(out.x, a @ b)
assert type(tw.matmul(a.tolist(), Array(b))) is Array and type(tw.matmul(Array(a), b.tolist())) is Array
assert np.array_equal(tw.Plan(Array(a), b)(Array(a), b).x, a @ b)
try: tw.matmul(None, Array(b))
except TypeError as error: assert "NoneType" in str(error), error
else: raise AssertionError("None was multiplied")
class Old(Array):  # of the time before copy=False
    def __dlpack__(self, stream=None): return self.x.__dlpack__()
assert np.array_equal(tw.matmul(Old(a), b).x, a @ b)
out.x[...] = np.nan
assert tw.Plan(a, b, out=out)(a, b, out=out) is out and np.array_equal(out.x, a @ b)
class Unknown(Array):  # of a type that NumPy takes as a copy alone
    def __dlpack__(self, **more): raise BufferError
    def __array__(self, *more): return self.x.copy()
class Copying(Array):
    def __dlpack__(self, copy=None, **more):
        if copy is False: raise BufferError
        return self.x.copy().__dlpack__(**more)
said = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)  # before, no producer was asked for no copy
for bad in (Unknown(np.zeros((3, 2))), np.zeros((3, 2)).tolist(), *[Copying(np.zeros((3, 2))), Old(np.zeros((3, 2)))] * said):
    try: tw.matmul(Array(a), b, out=bad)
    except TypeError as error: assert "no array that NumPy can write into" in str(error), error
    else: raise AssertionError("the product went into a copy")
""")


@case
def torch_tensors_of_the_host():
    on_fake_cuda("""
a, b = small(5, 6), small(6, 7)
c = tw.matmul(Tensor(a, cuda=False), Tensor(b, cuda=False))
assert type(c) is Tensor and not c.is_cuda and np.array_equal(c.np, a @ b)
out = Tensor(np.zeros((5, 7), np.float32), cuda=False)
assert tw.matmul(Tensor(a, cuda=False), Tensor(b, cuda=False), out=out) is out and np.array_equal(out.np, a @ b)
for cuda in (False, True):  # a negative that is a mark on the tensor
    x, out = Lazy(-a, cuda), Lazy(np.full((5, 7), np.nan, np.float32), cuda)
    assert tw.matmul(x, Tensor(b, cuda), out=out) is out and np.array_equal(-out.np, a @ b)
    assert tw.matmul(x, Tensor(b, cuda), out, out=out) is out and np.array_equal(-out.np, a @ b + a @ b)
    plain = Tensor(np.zeros((5, 7), np.float32), cuda)
    tw.matmul(Tensor(a, cuda), Tensor(b, cuda), out=plain)
    assert fake.versions.pop() is plain
for bad in (lambda: tw.matmul(Tensor(a, False, True), Tensor(b, False)),
            lambda: tw.matmul(Tensor(a), Tensor(b, False))):
    try: bad()
    except TypeError as error: assert "gradient" in str(error) or "the host's" in str(error)
    else: raise AssertionError
""")


@case
def foreign_arrays_on_cuda():
    seen = on_fake_cuda("""
a, b, c = small(5, 6), small(6, 7), np.zeros((5, 7), np.float32)
for kind in (Interface, Exchange):
    out, c[...] = kind(c), 0
    assert tw.matmul(kind(a), kind(b), out=out) is out and np.array_equal(c, a @ b)
c[...] = 0
tw.matmul(Interface(a), Interface(b), out=Interface(c), stream=fake.stream())
assert np.array_equal(c, a @ b)
tw._arrays._prepared.clear()
whole, stack = fake.memory("", (5, 8), np.float32), fake.memory("", (3, 5, 6), np.float32)
whole[:, 1:7], stack[...] = a, a
tw.matmul(Interface(whole[:, 1:7]), Interface(b), out=Interface(c))
tw.matmul(Interface(stack[::-1]), Interface(b), out=Interface(np.zeros((3, 5, 7), np.float32)))
problems = [each.problem for each in tw._arrays._prepared.values()]
assert problems[0].align_a == 4 and problems[1].align_a == 8, [each.align_a for each in problems]
assert np.array_equal(c, a @ b)
for bad, kind, says in ((lambda: tw.matmul(Interface(a), Interface(b)), TypeError, "give matmul an `out`"),
                        (lambda: tw.matmul(Interface(a), b, out=Interface(c)), TypeError, "b in the host's"),
                        (lambda: tw.matmul(Interface(a), Interface(b[:5]), out=Interface(c)), ValueError, "(5, 6)"),
                        (lambda: tw.matmul(Interface(a), Interface(b), out=Interface(c[:4])), ValueError, "(4, 7)"),
                        (lambda: tw.matmul(Interface(a), Interface(b), Interface(c), out=Interface(c.copy())),
                         TypeError, "c must be `out`"),
                        (lambda: tw.matmul(Interface(a), Interface(b), out=Interface(c), engine="cpu"), ValueError,
                         "CUDA's memory"),
                        (lambda: tw.matmul(Interface(a[:, ::2]), Interface(b[::2]), out=Interface(c)), ValueError,
                         "copy it"),
                        (lambda: tw.matmul(Interface(a), Interface(b), out=Interface(np.broadcast_to(c[0], (5, 7)))),
                         ValueError, "read-only"),
                        *((lambda x=kind(np.lib.stride_tricks.as_strided(c, (5, 7), strides)):
                           tw.matmul(Interface(a), Interface(b), x, out=x), ValueError, "overlaps itself")
                          for kind in (Interface, Exchange) for strides in ((0, 4), (4, 4), (20, 4), (-8, 0))),
                        (lambda: tw.matmul(*(Interface(x.astype("c8")) for x in (a, b)), out=Interface(c.astype("c8"))),
                         tw.NoKernel, "complex products want a workspace")):
    try: bad()
    except kind as error: assert says in str(error), error
    else: raise AssertionError(says)
""")
    assert sum(line.startswith("on ") for line in seen) == 7, seen
    assert len({line for line in seen if line.startswith("on ")}) == 2, seen  # the default stream, and the given one


@case
def a_stream_key_is_waited_for():
    seen = on_fake_cuda("""
a, b, c = small(5, 6), small(6, 7), np.zeros((5, 7), np.float32)
theirs, ours = fake.stream(), fake.stream()
tw.matmul(Interface(a, theirs), Interface(b, theirs), out=Interface(c))
fake.driver.cuDeviceGetCount(fake.ctypes.byref(fake.ctypes.c_int()))  # a mark in the log
tw.matmul(Interface(a, theirs), Interface(b), out=Interface(c), stream=ours)
""")
    mark = len(seen) - seen[::-1].index("cuDeviceGetCount")
    assert "cuStreamWaitEvent" not in seen[:mark] and "cuStreamWaitEvent" in seen[mark:], seen
    assert (
        seen.index("cuEventRecord", mark)
        < seen.index("cuStreamWaitEvent", mark)
        < next(i for i in range(mark, len(seen)) if seen[i].startswith("on "))
    ), seen
    assert len({line for line in seen if line.startswith("on ")}) == 2


@case
def what_cuda_was_prepared_for_is_found_by_values():
    on_fake_cuda("""
class Same(int):  # a number that says that it is any other
    def __eq__(self, other): return True
    def __hash__(self): return hash(4)
class Shape(Interface):
    def __init__(self, array, shape): super().__init__(array); self.said = shape
    @property
    def __cuda_array_interface__(self): return {**super().__cuda_array_interface__, "shape": self.said, "strides": None}
a, b, c = small(4, 4), small(4, 4), np.zeros((4, 4), np.float32)
for m in (4, 2, 3):
    c[...] = 0
    rows = (Same(m), 4)
    tw.matmul(Shape(a, rows), Interface(b), out=Shape(c, (m, 4)))
    assert np.array_equal(c[:m], a[:m] @ b) and not c[m:].any(), m
tw._arrays._prepared.clear()
for _ in range(2):
    for alpha in (1, 0.0, -0.0, float("nan")): tw.matmul(Interface(a), Interface(b), out=Interface(c), alpha=alpha)
found = [each.problem.alpha for each in tw._arrays._prepared.values()]
assert np.array(found).tobytes() == np.array([1, 0.0, -0.0, np.nan]).tobytes(), found
""")


LIBRARIES = """
for make, name, using in ((CupyArray, "cupy", fake.CupyStream), (Tensor, "torch", lambda s: fake.Using("torch", s))):
    side = fake.stream()
"""


@case
def cupy_and_torch_arrays_on_their_current_stream():
    seen = on_fake_cuda(LIBRARIES + """
    with using(side):
        for a, b in ((small(5, 6), small(6, 7)), (small(5, 6)[:, 1:4], small(7, 8)[2:5, 1:]), (small(6), small(6, 7)),
                     (small(5, 6), small(6)), (small(6), small(6)), (small(9, 12)[::2, ::3], small(4, 3)),
                     (small(3, 5, 6), small(6, 7)), (small(3, 5, 6), small(3, 6, 7)),
                     (small(2, 3, 5, 6)[:, ::2], small(2, 1, 6, 7)),
                     (small(5, 0), small(0, 7)), (small(0, 6), small(6, 7))):
            c = tw.matmul(make(a), make(b))
            assert type(c) is make and c.np.dtype == np.float32, name
            assert np.array_equal(c.np, a @ b), (name, a.shape, b.shape)
        a, b = small(5, 6), small(6, 7)
        for c0 in (small(5, 7), small(7)):
            assert np.array_equal(tw.matmul(make(a), make(b), make(c0), beta=0).np, a @ b)
        for kind in ("i1", "i2", "?"):  # become float32, by the array's own library
            c = tw.matmul(make(a.astype(kind)), make(b))
            assert c.np.dtype == np.float32 and np.array_equal(c.np, a.astype(kind) @ b), (name, kind)
        out = make(np.full((5, 7), np.nan, np.float32))
        assert tw.matmul(make(a), make(b), out=out) is out and np.array_equal(out.np, a @ b)
        spread, turned = np.zeros((10, 14), np.float32)[::2, ::2], np.zeros((7, 5), np.float32).T
        tw.matmul(make(a), make(b), out=make(spread))
        assert np.array_equal(spread, a @ b), name
        # All three by columns: the fake multiplies operands as stored, which the product of the transposes has.
        tw.matmul(make(np.asfortranarray(a)), make(np.asfortranarray(b)), out=make(turned))
        assert np.array_equal(turned, a @ b), name
        for strides in ((0, 4), (4, 4), (20, 4), (28, 2), *[(30, 6)] * (name == "cupy")):
            bad = np.ndarray((5, 7), np.float32, np.zeros(200, np.uint8), 0, strides)
            for x in (make(bad), Lazy(bad), Lazy(bad, False)) if name == "torch" else (make(bad),):
                there = dict(cuda=x.is_cuda) if name == "torch" else {}
                for call in (lambda: tw.matmul(make(a, **there), make(b, **there), out=x), lambda: tw.Plan(make(a, **there), make(b, **there), out=x)):
                    try: call()
                    except ValueError as error: assert "out overlaps itself" in str(error), error
                    else: raise AssertionError((name, strides))
            assert not bad.any(), (name, strides)
        odd = np.ndarray((5, 7), np.float32, np.zeros(400, np.uint8), 0, (42, 6))
        if name == "cupy": assert tw.matmul(make(a), make(b), out=make(odd)) is not None and np.array_equal(odd, a @ b)
        square, kept = small(6, 6), small(6, 6)
        tw.matmul(make(square), make(square), out=make(square))
        assert np.array_equal(square, kept @ kept)
        try: tw.matmul(make(a), make(b), make(small(4, 7)))
        except ValueError as error: assert "(4, 7)" in str(error), error
        else: raise AssertionError
        assert all(place == side for library, size, place in fake.allocated if library == name), fake.allocated
        fake.allocated.clear()
    tw.matmul(make(a), make(b), stream=side)
    tw.matmul(make(a), make(b), stream=fake.torch.cuda.ExternalStream(side))
    odd = Lazy(-a) if name == "torch" else make(np.zeros((5, 27), np.uint8)[:, 1:25].view(np.float32))
    odd.np[...] = -a if name == "torch" else a
    assert np.array_equal(tw.matmul(odd, make(b), stream=side).np, a @ b)
    assert {place for library, size, place in fake.allocated} == {side}
    other = {"torch": CupyArray, "cupy": Interface}[name]
    for bad, kind, says in ((lambda: tw.matmul(make(a), other(b)), TypeError, "give arrays of one library"),
                            (lambda: tw.Plan(make(a), make(b), a[:, :0]), TypeError, "copy them to one place"),
                            (lambda: tw.matmul(make(a), make(b), engine="cuda:1"), ValueError, "on device 0"),
                            (lambda: tw.matmul(make(a), make(b), engine="cuda:x"), ValueError, "expected a name"),
                            (lambda: tw.matmul(make(a), make(b), engine=3), TypeError, "engine is 3"),
                            (lambda: tw.matmul(make(a.astype("i1")), make(b.astype("i1")), make(a @ b)), TypeError,
                             "c is float32 and the result int32")):
        try: bad()
        except kind as error: assert says in str(error), error
        else: raise AssertionError(says)
    fake.allocated.clear()
    assert fake.current[name] == 0
""")
    assert len({line for line in seen if line.startswith("on ")}) == 2 and "on (nil)" not in seen, set(seen)


@case
def workspaces_come_from_the_callers_allocator():
    """A shape whose kernel wants a workspace: a B across k on sm_90, with rows that TMA cannot read."""
    seen = on_fake_cuda(
        LIBRARIES + """
    with using(side):
        a, b = np.ones((1024, 1023), np.float32), np.ones((1023, 1024), np.float32)
        tw.matmul(make(a), make(b))  # warm
        fake.allocated.clear()
        fake.driver.cuDeviceGetCount(fake.ctypes.byref(fake.ctypes.c_int()))
        tw.matmul(make(a), make(b))
        assert fake.allocated[0][1] == 4 << 20 and len(fake.allocated) == 2, fake.allocated
        assert fake.allocated[1][1] > 1 << 20 and fake.allocated[1][2] == side, fake.allocated
""",
        FAKE_CUDA="sm=90",
    )
    mark = seen.index("cuDeviceGetCount", seen.index("cuLaunchKernelEx") if "cuLaunchKernelEx" in seen else 0)
    assert not {"cuMemAlloc_v2", "cuStreamSynchronize", "cuMemFree_v2"} & set(seen[mark : mark + 8]), seen[
        mark : mark + 8
    ]


@case
def a_graph_takes_the_product_after_a_plan():
    on_fake_cuda(LIBRARIES + """
    begin, end, graph = fake.driver.cuStreamBeginCapture_v2, fake.driver.cuStreamEndCapture, fake.ctypes.c_void_p()
    with using(side):
        a, b = small(5, 6), small(6, 7 + (name == "torch"))
        handle = fake.ctypes.c_void_p(side)
        if name == "torch":  # a kernel that is not compiled cannot be captured, and says so
            assert begin(handle, 0) == 0
            x, y = np.ones((3000, 40), np.float32), np.ones((40, 3000), np.float32)
            try: tw.matmul(make(x), make(x.T))
            except tw.BuildFailed as error: assert "captur" in str(error), error
            else: raise AssertionError("a kernel was compiled during a capture")
            assert end(handle, fake.ctypes.byref(graph)) == 0
        plan = tw.Plan(make(a), make(b))
        assert begin(handle, 0) == 0
        c = plan(make(a), make(b))
        assert end(handle, fake.ctypes.byref(graph)) == 0
        assert type(c) is make and np.array_equal(c.np, a @ b)
        try: plan(make(a[:4]), make(b))
        except ValueError as error: assert "planned was" in str(error)
        else: raise AssertionError
""")


@case
def host_arrays_on_the_cuda_engine():
    on_fake_cuda("""
a, b = small(5, 6), small(6, 7)
for _ in range(2): assert np.array_equal(tw.matmul(a, b, engine="cuda"), a @ b)
assert np.array_equal(tw.matmul(a, b, engine="cuda:0", alpha=1), a @ b)
try: tw.matmul(a, b, engine="cuda:7")
except tw.NoDevice as error: assert "7" in str(error)
else: raise AssertionError
child = tw._library.os.fork()  # opens a context of its own: the parent's is of no use to it
if child == 0: tw._library.os._exit(0 if np.array_equal(tw.matmul(a, b, engine="cuda"), a @ b) else 1)
assert tw._library.os.waitpid(child, 0)[1] == 0
""")


def run_cases():
    why = "Python cannot load a library built with sanitizers" if sanitized() else str(missing) if tw is None else ""

    def skipped():
        raise Skip(why)

    if why and "--list" not in sys.argv:
        CASES[:] = [(name, skipped) for name, _ in CASES]
    main()


if __name__ == "__main__":
    run_cases()
