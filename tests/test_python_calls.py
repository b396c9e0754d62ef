#!/usr/bin/python3 -B
"""test_python_calls.py - a call of the package by its extension, _calls.c, and by ctypes: that both do the same.

    test_python_calls.py [--list] [--full] [--only TEXT] [PROGRAM]

The cases of test_python.py that multiply, once more by ctypes; random calls both ways; what the extension keeps, frees
and leaves to Python. Without the extension, of which TILEWRIGHT_BUILD has the file, its own cases are skipped.
"""
import contextlib
import ctypes
import gc
import os
import re
import shutil
import sys
import tracemalloc
import unittest.mock
import warnings

from support.tap import CASES, Skip, case
from test_python import BUILD, FULL, LIBRARY, PACKAGE, python, refuses, run_cases, strided, tw

OTHERS = CASES[:]
CASES.clear()
if tw is not None:
    import numpy as np
    from tilewright import _host, _matmul
BUILT = sys.version_info >= (3, 11) and os.path.exists(os.path.join(BUILD, "_calls.abi3.so"))


@contextlib.contextmanager
def by_ctypes():
    patch = unittest.mock.patch
    with patch.object(_matmul, "_calls", None), patch.dict(os.environ, TILEWRIGHT_CTYPES="1"):
        yield


def extension():
    if not BUILT:
        raise Skip("this build or this Python has no _calls.abi3.so: it takes Python.h of 3.11")
    return _matmul._calls


@contextlib.contextmanager
def long_ways():
    """The calls that the extension leaves to Python, as they come."""
    calls, seen = extension(), []

    def product(*given):
        seen.append(given)
        return _matmul.product(*given)

    _matmul.begin(calls, product)
    try:
        yield seen
    finally:
        _matmul.begin(calls)


@contextlib.contextmanager
def replaced(**names):
    """Other functions in _matmul's place for what the extension calls."""
    try:
        with unittest.mock.patch.multiple(_matmul, **names):
            _matmul.begin(extension())
            yield
    finally:
        _matmul.begin(extension())


@case
def the_extension_is_taken_where_it_can_be():
    asked = "import tilewright as tw; print(tw._matmul._calls is not None)"
    if BUILT:
        assert python(asked) == "True\n"
    assert python(asked, TILEWRIGHT_CTYPES="1") == "False\n"
    os.mkdir("beside")
    os.symlink(LIBRARY, "beside/libtilewright.so.0")
    there = {"TILEWRIGHT_LIBRARY": os.path.abspath("beside/libtilewright.so.0")}
    strict = "import warnings; warnings.simplefilter('error')\nimport numpy\n"
    assert python(strict + asked, **there) == "False\n"  # there is none, and no word about it
    if not BUILT:
        raise Skip("this build or this Python has no _calls.abi3.so: it takes Python.h of 3.11")
    shutil.copy(os.path.join(BUILD, "_calls.abi3.so"), "beside")
    assert python(strict + asked, **there) == "True\n"
    older = "import sys; sys.version_info = (3, 10)\n"
    assert python(strict + older + asked, **there) == "False\n"
    no_suffix = """
import sys
from importlib.machinery import FileFinder, SourceFileLoader
import ctypes, logging
sys.path_hooks[:] = [FileFinder.path_hook((SourceFileLoader, [".py"]))]  # as where .abi3.so is no extension module
sys.path_importer_cache.clear()
"""
    assert python(strict + no_suffix + asked, **there) == "False\n"
    with open("beside/_calls.abi3.so", "w", encoding="utf-8") as file:
        file.write("not a library\n")
    said = python("import warnings\nwith warnings.catch_warnings(record=True) as said:\n    import tilewright as tw\n"
                  "print(tw._matmul._calls, *(each.message for each in said))", **there)
    assert said.startswith("None calls go by ctypes: ") and "_calls.abi3.so" in said, said
    with unittest.mock.patch.object(_host.Recipe, "_fields", ("context", *_host.Recipe._fields[2:])):
        refuses(ImportError, lambda: _matmul.begin(_matmul._calls), "another version of the package")
    refuses(TypeError, lambda: _matmul._calls.matmul(1, 2), "expected 13 arguments")


@case
def importing_takes_what_multiplies_alone():
    out = python("""
import sys, numpy
before = set(sys.modules)
import tilewright
print(*sorted(set(sys.modules) - before))
assert "ladder" in dir(tilewright) and "Records" not in vars(tilewright)
from tilewright import *
assert callable(ladder) and Records is tilewright._lab.Records
try: tilewright.nothing
except AttributeError as error: assert str(error) == "module 'tilewright' has no attribute 'nothing'", error
else: raise AssertionError
""").split()
    slow = {"logging", "subprocess", "shutil", "tempfile", "importlib.metadata", "dataclasses", "glob", "email", "json",
            "tilewright._lab", "tilewright._arrays", "tilewright._plans"}
    assert "tilewright._matmul" in out and not slow & set(out), out


def calls_off_the_path():
    """Calls whose second one is the extension's, by what each is about; none leaves anything behind."""
    rng = np.random.default_rng(5)
    (a, b, c), v = rng.standard_normal((3, 8, 8)), rng.standard_normal(8)
    out, fortran = np.zeros((8, 8)), np.zeros((8, 8), order="F")
    fixed, stack, row = b.copy(), rng.standard_normal((10, 8, 8)), rng.standard_normal((10, 1, 8, 8))
    fixed.flags.writeable = False
    gaps, integers = np.zeros((8, 16)), rng.integers(-9, 9, (8, 8)).astype(np.int8)
    return {
        "plain": lambda: tw.matmul(a, b),
        "out": lambda: tw.matmul(a, b, out=out),
        "transposed": lambda: tw.matmul(a, b.T),
        "read-only": lambda: tw.matmul(a, fixed),
        "accumulate": lambda: tw.matmul(a, b, out, beta=0.5, out=out),
        "c": lambda: tw.matmul(a, b, c),
        "c of another type": lambda: tw.matmul(a, b, c.astype("f4"), out=out),
        "c that broadcasts": lambda: tw.matmul(a, b, v, beta=2),
        "beta 0": lambda: tw.matmul(a, b, c, beta=0),
        "out in order F": lambda: tw.matmul(a, b, out=fortran),
        "out with gaps": lambda: tw.matmul(a, b, c, out=gaps[:, ::2]),
        "mixed types": lambda: tw.matmul(a, b.astype("f4")),
        "vectors": lambda: tw.matmul(v, v),
        "a vector": lambda: tw.matmul(v, a),
        "reversed": lambda: tw.matmul(a[:, ::-1], b[::-1]),
        "a stack": lambda: tw.matmul(stack, stack),
        "broadcast": lambda: tw.matmul(row, stack[:4]),
        "a repeated row": lambda: tw.matmul(np.broadcast_to(v, (8, 8)), b),
        "alpha": lambda: tw.matmul(a, b, alpha=2.5),
        "complex alpha": lambda: tw.matmul(a, b, alpha=1j),
        "int8": lambda: tw.matmul(integers, integers),
        "int64 with float32": lambda: tw.matmul(integers.astype(np.int64), b.astype("f4"), out=out),
        "bool": lambda: tw.matmul(integers > 0, b),
        "int64": lambda: tw.matmul(integers.astype(np.int64), integers.astype(np.longlong)),
        "dtype": lambda: tw.matmul(a, b, dtype=np.float32),
        "dtype by name": lambda: tw.matmul(a, b, dtype="complex128"),
        "conjugate": lambda: tw.matmul(a + 1j, b, conjugate_a=True),
        "engine": lambda: tw.matmul(a, b, engine="cpu"),
        "invariant": lambda: tw.matmul(a, b, invariant=True),
        "invariant, out in order F": lambda: tw.matmul(a, b, out=fortran, invariant=True),
    }


@case
def the_extension_takes_what_python_saw_once():
    with long_ways() as seen:
        for name, call in calls_off_the_path().items():
            _host.recipes.clear()
            first = np.copy(call())
            assert len(seen) == 1, (name, len(seen))
            again = call()
            assert len(seen) == 1, f"{name}: left to Python again"
            assert type(again) is type(call()) and (name == "accumulate" or np.array_equal(first, again)), name
            seen.clear()
        a, b, out = np.ones((8, 8)), np.ones((8, 8)), np.zeros((8, 8))
        plan = tw.Plan(a, b)
        for more in ({}, {"out": out}):
            own = _host.Recipe.run
            with unittest.mock.patch.object(_host.Recipe, "run", side_effect=own, autospec=True) as run:
                made = [plan(a, b, **more) for _ in range(3)]
            assert run.call_count == 1 and all(np.array_equal(x, a @ b) for x in made), run.call_count
        assert plan(a, b, out=out) is out and not seen
        plan = tw.Plan(a, b, epilogue="acc + v[j]", v=np.arange(8.0))
        plan(a, b)
        with unittest.mock.patch.object(_matmul, "layout_of", side_effect=AssertionError):
            assert np.array_equal(plan(a, b), a @ b + np.arange(8))
        column = tw.Plan(a[:, :1], b[:1])
        column(a[:, :1], b[:1])
        with unittest.mock.patch.object(_matmul, "layout_of", side_effect=AssertionError):
            column(a.reshape(8, 4, 2)[:, :1, 0], b[:1])  # of another stride, which means nothing


# ---- random calls ---------------------------------------------------------------------------------------------------

def anyhow(rng, x):
    """An equal array: spread out, backwards, by columns, misaligned, in the other order of bytes, read-only ..."""
    form = rng.integers(0, 14)
    if form < 3 or x.ndim == 0:
        return x
    if form == 3:
        return np.asfortranarray(x)
    if form == 4:
        wide = np.full((*x.shape[:-1], x.shape[-1] + 3), 77, x.dtype)
        wide[..., 1:-2] = x
        return wide[..., 1:-2]
    if form == 5:
        return x[..., ::-1].copy()[..., ::-1]
    if form == 6:
        return x[::-1].copy()[::-1]
    if form == 7:
        return np.repeat(x, 2, -1)[..., ::2]
    if form == 8:
        shifted = np.zeros(x.nbytes + 8, np.uint8)[1 : x.nbytes + 1].view(x.dtype).reshape(x.shape)
        shifted[...] = x
        return shifted
    if form == 9:
        return x.astype(x.dtype.newbyteorder())
    if form == 10:
        x.flags.writeable = False
        return x
    if form == 11:
        return np.broadcast_to(x[..., :1, :] if x.ndim > 1 else x[:1], x.shape)
    if form == 12:
        return x.swapaxes(0, -1).copy().swapaxes(0, -1)
    return x.astype(np.dtype(x.dtype, metadata={"mark": 1}))


def drawn(seed):
    """The arguments of a call, the same for the same seed; of each fifth one something is odd."""
    rng, odd = np.random.default_rng(seed), seed % 5 == 0

    def pick(*those):
        return those[rng.integers(len(those))]

    def happens(most, oddly=None):
        return rng.random() < (most if oddly is None or not odd else oddly)

    def numbers(shape, dtype):
        return rng.integers(0 if np.dtype(dtype).kind in "ub" else -4, 5, shape).astype(dtype)

    def kind():
        return pick("?", "i1", "f2", "S1") if happens(0, 0.1) else pick("f8", "f8", "f8", "f4", "f4", "c16", "c8")

    m, n, k = rng.integers(0, 3, 3) if happens(0, 0.2) else rng.choice([1, 2, 3, 5], 3) if happens(0.6) else [3] * 3
    sides = rng.choice([1, 2, 3, 40], rng.choice([0, 0, 0, 1, 2]), p=[0.3, 0.3, 0.35, 0.05])
    batches = [tuple(int(side) if happens(0.7) else 1 for side in sides[rng.integers(0, len(sides) + 1) :])
               for _ in range(2)]
    first, second = kind(), kind()
    if happens(0.15):
        first, second = pick(("f2", "f2"), ("i1", "i1"), ("i1", "u1"), ("u1", "i1"), ("i2", "u2"), ("i8", "q"), ("u8", "u4"), ("i8", "f4"), ("?", "f8"))
    a = numbers((*batches[0], m, k) if happens(0.85) else (k,), first)
    b = numbers((*batches[1], k + happens(0, 0.1), n) if happens(0.85) else (k,), second if happens(0.3) else first)
    shape = np.broadcast_shapes(*batches if a.ndim > 1 < b.ndim else [x.shape[:-2] for x in (a, b)])
    shape += a.shape[-2:-1] + (b.shape[-1:] if b.ndim > 1 else ())
    more, a, b = {}, anyhow(rng, a), anyhow(rng, b)
    result = np.dtype("i4") if a.dtype.itemsize == b.dtype.itemsize == 1 else np.result_type(a, b)
    if a.dtype == b.dtype == np.float16 and happens(0.5):
        more["dtype"] = "float16"
    elif happens(0.15):
        more["dtype"] = (pick("float16", "int32", float, "f4", int, "f64") if odd else
                         pick("complex128", np.complex128, np.dtype("c16")))
        result = result if odd or result.kind == "i" else np.dtype("c16")
    if happens(0.2):
        more["alpha"] = (pick(True, 10**400, "2", None, -0.0, float("nan")) if odd else
                         pick(1, 1.0, 2, -3, np.float64(2), 1 + 0j, 2 - 1j))
        if more["alpha"] == 2 - 1j and result.kind == "f":
            result = np.result_type(result, "c8")
    if happens(0.4):
        out = anyhow(rng, numbers((2, 2) if happens(0, 0.2) else shape, kind() if happens(0, 0.2) else result))
        out = out if out.flags.writeable or odd or happens(0.4) else out.copy()
        meet = [x for x in (a, b, a[::-1], b[..., ::-1]) if (x.shape, x.dtype) == (shape, result)]
        more["out"] = pick(*meet) if meet and happens(0.3) else out
    if happens(0.4):
        part = shape[rng.integers(0, len(shape) + 1) :] if happens(0.3) else shape
        added = anyhow(rng, numbers(part, pick(result, result, "i1", kind() if odd else result)))
        more["c"] = pick(a, 2.0, [1.0]) if happens(0, 0.2) else more.get("out") if happens(0.5) else added
    if more.get("c") is not None and happens(0.5) or happens(0, 0.1):
        more["beta"] = pick(2j, np.float32(2), False, "1") if odd else pick(0, 0.0, 1, 2, 3, -1.0)
    if happens(0.1):
        more["engine"] = pick("cpu:0", "auto", "abacus", 3) if odd else "cpu"
    if happens(0.1):
        more[pick("conjugate_a", "conjugate_b", "invariant")] = pick(1, np.True_, False) if odd else True
    if happens(0, 0.1):
        more[pick("multiply_as", "stream")] = pick("tf32", 3, None)
    if happens(0, 0.1):
        a = pick(a.tolist(), a.view(np.matrix) if a.ndim == 2 else a, np.ma.masked_array(a), None)
    return a, b, more


def rehearsed(seed):
    """Calls of the same layouts with other memory, all of it writable and apart, which leave recipes: with c and without,
    with c in place and not. What a recipe may not be taken for differs from these in addresses alone."""
    a, b, more = drawn(seed)
    fresh = {name: strided(x.shape, x.strides, x.dtype) for name, x in (("a", a), ("b", b), *more.items())
             if type(x) is np.ndarray}
    more.update({name: x for name, x in fresh.items() if name in more})
    for c in (None, more.get("c"), more.get("out")):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tw.matmul(fresh.get("a", a), fresh.get("b", b), **{**more, "c": c})


def outcome(seed):
    """All that a caller can see of a call."""
    a, b, more = drawn(seed)
    made, error = None, None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            made = tw.matmul(a, b, **more)
        except Exception as raised:
            error = type(raised), str(raised), getattr(raised, "status", None)
    kinds = [(each.category, str(each.message)) for each in said]
    left = [x.tobytes() for x in (a, b, more.get("c"), more.get("out")) if isinstance(x, np.ndarray)]
    if made is None:
        return error, kinds, left
    place = made.strides, made.flags.writeable, made.flags.owndata, getattr(made, "base", None) is None
    return type(made), made.dtype, made.shape, made.tobytes(), made is more.get("out"), place, kinds, left


@case
def random_calls_end_alike_both_ways():
    """Result, type, layout, error, warnings, and what is left in every operand, by the long way and again."""
    counts, taken = {}, 0
    draws = 20000 if FULL else 500
    with long_ways() as seen:
        for seed in range(draws):
            if seed % 50 == 0:
                _host.recipes.clear()
            found = [outcome(seed)]
            rehearsed(seed)
            before = len(seen)
            found.append(outcome(seed))
            taken += len(seen) == before
            with by_ctypes():
                found.append(outcome(seed))
                rehearsed(seed)
                found.append(outcome(seed))
            assert all(each == found[0] for each in found), (seed, drawn(seed), *found)
            counts[found[0][0]] = counts.get(found[0][0], 0) + 1
    assert counts[np.ndarray] > 0.7 * draws and taken > 0.4 * draws and len(counts) > 40, (taken, counts)


# ---- what is kept and freed -----------------------------------------------------------------------------------------

@case
def calls_leave_nothing_behind():
    """References, blocks and bytes after many calls: of each kind, of those that fail, and of those left to Python."""
    watched = [np.ndarray, np.dtype("f8"), np.float64, np.empty, np.array, np.copyto]
    watched += [None, True, False] if sys.version_info < (3, 12) else []  # those cannot die since
    a, many = np.ones((8, 8)), np.ones((50, 1, 2, 2))
    out, fixed = np.zeros((8, 8)), np.zeros((8, 8))
    fixed.flags.writeable = False
    kinds = {
        **calls_off_the_path(),
        "many addresses": lambda: tw.matmul(many, many[:3, 0]),
        "overlap": lambda: tw.matmul(out, a, out=out),
        "read-only out": lambda: tw.matmul(a, a, out=fixed),
        "shapes": lambda: tw.matmul(a, a[:3]),
        "huge alpha": lambda: tw.matmul(a, a, alpha=10**400),
        "no array": lambda: tw.matmul(None, a),
        "no buffer": lambda no=a.astype("M8[s]"): tw.matmul(a, a, no, beta=0),
        "misaligned": lambda: tw.matmul(np.zeros(520, np.uint8)[1:513].view("f8").reshape(8, 8), a),
        "plan": lambda plan=tw.Plan(a, a): plan(a, a),
        "epilogue": lambda: tw.matmul(a, a, epilogue="acc + v[j] + s", v=a[::-1, 0], s=2),
        "epilogue that is none": lambda: tw.matmul(a, a, epilogue="acc + v[i", v=a[0]),
        "epilogue without its operand": lambda: tw.matmul(a, a, epilogue="acc + v[j]", v=a[0, :3]),
        "plan with an epilogue": lambda: tw.Plan(a, a, epilogue="acc + v[j]", v=a[0])(a, a),
    }

    def refused():
        raise MemoryError("none left")

    def call(each):
        with contextlib.suppress(Exception):
            each()

    def grows(each, rounds=100):
        """What more calls leave, where the first have filled the tables."""
        for _ in range(3):
            call(each)
        gc.collect()
        those = [*watched, a, many, out, fixed, *_host.recipes.values()]
        before = [sys.getrefcount(x) for x in those]
        tracemalloc.start()
        for number in range(2 * rounds):
            if number == rounds:
                gc.collect()
                half = tracemalloc.get_traced_memory()[0]
            call(each)
        gc.collect()
        bytes_left = tracemalloc.get_traced_memory()[0] - half
        tracemalloc.stop()
        return bytes_left, [sys.getrefcount(x) - y for x, y in zip(those, before)]

    extension()
    for name, each in kinds.items():
        left, references = grows(each)
        assert left < 4000 and all(abs(x) < 20 for x in references), (name, left, references)
    status = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)(lambda *_: tw.OutOfMemory.status)
    for names, each, kind in (
        ({"_gemm": status}, lambda: tw.matmul(a, a), tw.OutOfMemory),
        ({"_gemm": status}, lambda: tw.matmul(a, a, out=out), tw.OutOfMemory),
        ({"_empty": lambda *_: refused()}, lambda: tw.matmul(a, a), MemoryError),
    ):
        each()
        with replaced(**names):
            refuses(kind, each)
            left, references = grows(each)
        assert left < 4000 and all(abs(x) < 20 for x in references), (names, left, references)


@case
def what_calls_cost_is_printed():
    """--full: the command of docs/perf/python.md, with few rounds."""
    if not FULL:
        raise Skip("a few processes that import: --full")
    with open(os.path.join(PACKAGE, "tests", "overhead.py"), encoding="utf-8") as file:
        said = python(file.read(), words=["--rounds", "2", "--size", "4"])
    numbers = {line[:25].strip(): re.findall(r"[0-9.]+ \(", line) for line in said.splitlines()[2:]}
    assert len(numbers) == 19 and all(len(each) == 2 + BUILT for each in numbers.values()), said


left_out = {"an_openmp_runtime_that_binds_the_program_does_not_bind_ours", "threads_are_limited"}
names = [name for name, _ in OTHERS]
errors = names.index("errors_have_the_librarys_sentence_and_a_kind")
often = {*names[:errors], "choices_are_logged", "the_cpu_multiplies_float16_and_uint8"} - left_out
rare = {names[errors], "opencl_multiplies_float16_and_uint8", "types_for_cuda_reach_its_engine",
        *names[names.index("host_arrays_of_other_libraries") :]}
for name, function in OTHERS:
    if name in often or FULL and name in rare:

        def again(function=function):
            with by_ctypes():
                _host.recipes.clear()
                function()

        CASES.append((name + "_by_ctypes", again))


if __name__ == "__main__":
    run_cases()
