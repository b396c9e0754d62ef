"""cpu_workers.py - one library in a process of its own, which multiplies when it is asked: for tools/cpu_tables.py,
where `tilewright bench` has no peer (PyTorch, NumPy; bf16 and int8) or must not wait until all are quiet.

    cpu_workers.py LIBRARY          tilewright, torch, numpy, or cblas:FILE. Orders and answers are lines of JSON

    {"do": "prepare", "dtype": "f32", "ops": "nn", "m": 64, "n": 64, "k": 64}
                                      operands; four rows of the product are verified
    {"do": "turn", "seconds": 0.06, "rest": 0, "pause": 0}
                                      calls for so long; before each that many seconds asleep or of other work
    {"do": "sign", "row": "cpu * ..."}
                                      the tuned row, signed for this machine
    {"do": "blas"}                    the reference BLAS's file, where a product calls plain loops

The threads are those of TILEWRIGHT_THREADS and OMP_NUM_THREADS. Operands rotate through some 400 MB, eight sets at
most. Operands are PyTorch's, or NumPy's where that is missing.
"""
import ctypes
import glob
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPLEX = ("cf32", "cf64")
CODES = {"f64": 1, "f32": 2, "bf16": 4, "i8": 5, "cf32": 7, "cf64": 8}  # tw_dtype
SETS, SETS_BYTES, CHECKED_ROWS, SAMPLE_S, WARM_CALLS = 8, 400e6, 4, 1e-3, 4
UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "bf16": 2.0**-24, "i8": 0, "cf64": 2.0**-51, "cf32": 2.0**-22}  # roundoff of sums


class Numpy:
    """Arrays of NumPy."""

    def __init__(self):
        import numpy
        self.module = numpy
        self.types = {"f64": "f8", "f32": "f4", "i8": "i1", "i32": "i4", "cf32": "c8", "cf64": "c16"}

    def random(self, dtype, rows, columns, seed):
        draw = self.module.random.default_rng(seed)
        if dtype == "i8":
            return draw.integers(-128, 128, (rows, columns)).astype("i1")
        drawn = draw.uniform(-1, 1, (rows, columns))
        return (drawn * (1 - 0.5j) if dtype in COMPLEX else drawn).astype(self.types[dtype])

    def zeros(self, dtype, rows, columns):
        return self.module.zeros((rows, columns), self.types[dtype])

    def exact(self, x):
        return x.astype("c16" if x.dtype.kind == "c" else "f8")

    def at(self, x):
        return x.ctypes.data


class Torch:
    """Arrays of PyTorch."""

    def __init__(self):
        import torch
        self.module = torch
        self.types = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "i8": torch.int8, "i32": torch.int32,
                      "cf32": torch.complex64, "cf64": torch.complex128}

    def random(self, dtype, rows, columns, seed):
        torch, draw = self.module, self.module.Generator().manual_seed(seed)
        if dtype == "i8":
            return torch.randint(-128, 128, (rows, columns), dtype=torch.int8, generator=draw)
        drawn = 2 * torch.rand(rows, columns, generator=draw, dtype=torch.float32) - 1
        return (drawn * (1 - 0.5j) if dtype in COMPLEX else drawn).to(self.types[dtype])

    def zeros(self, dtype, rows, columns):
        return self.module.zeros(rows, columns, dtype=self.types[dtype])

    def exact(self, x):
        return x.to(self.module.complex128) if x.is_complex() else x.double()

    def at(self, x):
        return x.data_ptr()


def here(package):
    return importlib.util.find_spec(package) is not None


def arrays(library):
    return Torch() if library == "torch" or (library != "numpy" and here("torch")) else Numpy()


# ---- the libraries: each a type of C for a type of A and B, and a function that multiplies these operands ----

class Tilewright:
    def __init__(self, made):
        sys.path.insert(0, os.path.join(ROOT, "python"))
        from tilewright import _library
        self.house, self.made, self.version = _library, made, _library.lib.tw_version().decode()

    def type_of_c(self, dtype):
        return {"bf16": "f32", "i8": "i32"}.get(dtype, dtype)

    def problem(self, dtype, ops, m, n, k):
        turned = [x == "t" for x in ops]
        return self.house.Problem(size=ctypes.sizeof(self.house.Problem), dtype=CODES[dtype], dtype_c=CODES.get(self.type_of_c(dtype), 6),
                                  op_a=turned[0], op_b=turned[1], m=m, n=n, k=k, lda=m if turned[0] else k, ldb=k if turned[1] else n, ldc=n,
                                  alpha=1)

    def bound(self, dtype, ops, m, n, k, a, b, c):
        gemm, done, at = self.house.lib.tw_gemm, self.house.done, self.made.at
        given = None, ctypes.pointer(self.problem(dtype, ops, m, n, k)), at(a), at(b), at(c)
        return lambda: done(gemm(*given))

    def plan(self, dtype, ops, m, n, k):
        from tilewright import _plans
        return _plans.text(None, self.problem(dtype, ops, m, n, k), None)

    def sign(self, row):
        """The line of a tuned row that is used where the default context is opened as here."""

        class Tuned(ctypes.Structure):  # tw_lab_tuned
            text = lambda name, size: (name, ctypes.c_char * size)
            _fields_ = [("state", ctypes.c_int), text("row", 600), text("engine", 8), text("dtype", 8), text("shape_class", 16), text("ops", 4),
                        text("kernel", 48), text("device", 96), text("driver", 320), text("kernels", 24), text("version", 16),
                        text("verdict", 16), text("shape", 48), text("when", 24), text("plan", 256)]
            _fields_ += [(name, ctypes.c_double) for name in ("before_s", "after_s", "speed", "low_speed", "high_speed")] + [text("why", 400)]

        context, line = ctypes.c_void_p(), ctypes.create_string_buffer(2048)
        options = self.house.Options(size=ctypes.sizeof(self.house.Options), engine=b"cpu", threads=int(os.environ["TILEWRIGHT_THREADS"]))
        self.house.done(self.house.lib.tw_open(ctypes.byref(options), ctypes.byref(context)))
        sign = self.house.lib.tw_lab_tuned_sign
        sign.argtypes, sign.restype = [ctypes.c_void_p] * 3 + [ctypes.c_int], ctypes.c_int
        self.house.done(sign(context, ctypes.byref(Tuned(row=row.encode(), verdict=b"better", shape=b"1x1x1")), line, len(line)))
        self.house.lib.tw_close(context)
        return line.value.decode()


class TorchLibrary:
    def __init__(self, made):
        self.torch, self.version = made.module, "PyTorch " + made.module.__version__
        self.torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    def type_of_c(self, dtype):
        return {"i8": "i32"}.get(dtype, dtype)

    def bound(self, dtype, ops, m, n, k, a, b, c):
        multiply = self.torch._int_mm if dtype == "i8" else self.torch.mm
        a, b = a.T if ops[0] == "t" else a, b.T if ops[1] == "t" else b
        return lambda: multiply(a, b, out=c)


class NumpyLibrary:
    def __init__(self, made):
        self.multiply, self.version = made.module.matmul, "NumPy " + made.module.__version__

    def type_of_c(self, dtype):
        if dtype in ("bf16", "i8"):
            raise ValueError("a NumPy product of %s calls no BLAS" % dtype)
        return dtype

    def bound(self, dtype, ops, m, n, k, a, b, c):
        multiply = self.multiply
        a, b = a.T if ops[0] == "t" else a, b.T if ops[1] == "t" else b
        return lambda: multiply(a, b, out=c)


class Cblas:
    def __init__(self, made, file):
        self.library, self.made, self.version = ctypes.CDLL(file), made, os.path.basename(file)

    def type_of_c(self, dtype):
        if dtype not in ("f32", "f64"):
            raise ValueError("CBLAS has no product of %s" % dtype)
        return dtype

    def bound(self, dtype, ops, m, n, k, a, b, c):
        name, real = ("cblas_sgemm", ctypes.c_float) if dtype == "f32" else ("cblas_dgemm", ctypes.c_double)
        found = getattr(self.library, "scipy_" + name, None) or getattr(self.library, name)
        matrix = [ctypes.c_void_p, ctypes.c_int]
        found.argtypes = [ctypes.c_int] * 6 + [real] + matrix * 2 + [real] + matrix
        found.restype, at = None, self.made.at
        given = (101, 112 if ops[0] == "t" else 111, 112 if ops[1] == "t" else 111, m, n, k, 1, at(a), m if ops[0] == "t" else k, at(b),
                 k if ops[1] == "t" else n, 0, at(c), n)
        return lambda: found(*given)


def library_of(name, made):
    if name.startswith("cblas:"):
        return Cblas(made, name[len("cblas:"):])
    return {"tilewright": Tilewright, "torch": TorchLibrary, "numpy": NumpyLibrary}[name](made)


def plain_blas(maps):
    """Of the files that a process has mapped the reference BLAS's, where there is no other BLAS among them; else None."""
    paths = re.findall(r"(/\S*(?:blas|blis|mkl|atlas)\S*\.so\S*)$", maps, re.M)
    plain = [x for x in paths if "/libblas.so" in x and not re.search("openblas|blis|mkl|atlas|tilewright", x)]
    return plain[0] if plain and len(plain) == len([x for x in paths if "/libcblas.so" not in x]) else None


# ---- the worker ----

def worst_ratio(made, dtype, of_c, a, b, c):
    """The largest error of some rows over its bound: above 1 the product is wrong; NaN counts as wrong."""
    m, k = a.shape
    b, worst = made.exact(b), 0.0
    for i in sorted({i * (m - 1) // max(CHECKED_ROWS - 1, 1) for i in range(CHECKED_ROWS)}):
        row = made.exact(a[i:i + 1])
        expected = row @ b
        bound = abs(row) @ abs(b) * (2 * (k + 2) * UNIT[dtype]) + abs(expected) * (2.0**-8 if of_c == "bf16" else 0)
        for error, most in zip(abs(made.exact(c[i:i + 1]) - expected).flatten().tolist(), bound.flatten().tolist()):
            if not error <= most * max(worst, 1e-30):
                worst = error / most if most > 0 and error == error else float("inf")
    return worst


class Worked:
    def __init__(self, name):
        self.made = arrays(name)
        if name != "torch" and isinstance(self.made, Torch):
            self.made.module.set_num_threads(1)
        self.library = library_of(name, self.made)

    def prepare(self, dtype, ops, m, n, k):
        of_c, random = self.library.type_of_c(dtype), self.made.random
        count = max(1, min(SETS, int(SETS_BYTES / ((m * k + k * n + m * n) * 4))))
        a, b = random(dtype, *((k, m) if ops[0] == "t" else (m, k)), 1), random(dtype, *((n, k) if ops[1] == "t" else (k, n)), 2)
        copy = lambda x: x.clone() if isinstance(self.made, Torch) else x.copy()
        self.sets = [(copy(a), copy(b), self.made.zeros(of_c, m, n)) for _ in range(count)]
        self.products, self.next = [self.library.bound(dtype, ops, m, n, k, *one) for one in self.sets], 0
        self.products[0]()
        ratio = worst_ratio(self.made, dtype, of_c, a.T if ops[0] == "t" else a, b.T if ops[1] == "t" else b, self.sets[0][2])
        return {"verified": "elements sampled" if ratio <= 1 else "WRONG", "error_ratio": min(ratio, 1e30), "sets": count,
                "plan": self.library.plan(dtype, ops, m, n, k) if hasattr(self.library, "plan") else None}

    def calls(self, count):
        begin = time.perf_counter()
        for _ in range(count):
            self.products[self.next % len(self.products)]()
            self.next += 1
        return (time.perf_counter() - begin) / count

    def turn(self, seconds, rest, pause):
        apart = rest > 0 or pause > 0
        once = self.calls(1)
        for _ in range(0 if apart or once > seconds / WARM_CALLS else WARM_CALLS):
            once = self.calls(1)
        times = [] if apart or once < seconds else [once]  # a call that is as long as a turn needs none before it
        repeats, stop = 1 if apart else max(1, int(SAMPLE_S / once)), time.perf_counter() + (0 if times else seconds)
        while time.perf_counter() < stop or not times:
            time.sleep(rest)
            resume = time.perf_counter() + pause
            while time.perf_counter() < resume:
                pass
            times.append(self.calls(repeats))
        return {"median_s": statistics.median(times), "mean_s": statistics.fmean(times), "min_s": min(times), "max_s": max(times),
                "samples": len(times), "repeats": repeats}

    def answer(self, order):
        what = order.pop("do")
        if what == "prepare":
            return self.prepare(**order)
        if what == "blas":
            self.prepare("f32", "nn", 8, 8, 8)
            with open("/proc/self/maps") as maps:
                return {"plain": plain_blas(maps.read())}
        return self.turn(**order) if what == "turn" else {"line": self.library.sign(**order)}


def serve(name):
    answers, sys.stdout = sys.stdout, sys.stderr
    tell = lambda x: print(json.dumps(x), file=answers, flush=True)
    try:
        worked = Worked(name)
    except Exception as why:  # a library that is not there or not whole
        tell({"refused": "%s: %s" % (type(why).__name__, why)})
        return
    tell({"version": worked.library.version})
    for line in sys.stdin:
        try:
            tell(worked.answer(json.loads(line)))
        except Exception as why:  # it refuses this product: others may be asked for
            tell({"refused": "%s: %s" % (type(why).__name__, why)})


# ---- whoever asks ----

class Worker:
    """A process of one library on so many threads. `why` says why it is gone, else None."""

    def __init__(self, name, threads, **environment):
        count = str(threads)
        kept = dict(os.environ, **environment)
        kept.update({x: count for x in ("TILEWRIGHT_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")})
        self.name, self.why = name, None
        self.process = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=kept)
        hello = self.hear()
        self.version = hello.get("version")
        self.why = hello.get("refused")

    def tell(self, **order):
        if self.why is None:
            try:
                print(json.dumps(order), file=self.process.stdin, flush=True)
            except BrokenPipeError:
                pass  # hear() says that it ended

    def hear(self):
        if self.why is not None:
            return {"refused": self.why}
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.why = "its process ended with status %s" % self.process.wait()
        return {"refused": self.why}

    def ask(self, **order):
        self.tell(**order)
        return self.hear()

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended before it took its last order
        self.process.wait()
        self.process.stdout.close()


def busy_ns(workers):
    """Time that all threads of the workers have computed."""
    total = 0
    for w in workers:
        for path in glob.glob("/proc/%d/task/*/schedstat" % w.process.pid):
            try:
                with open(path) as f:
                    total += int(f.read().split()[0])
            except (OSError, IndexError):
                pass  # the thread has ended
    return total


def wait_for_quiet(workers, most_s=2.0):
    """Until no worker has computed for 20 ms: idle threads of OpenBLAS spin for more than 80 ms, OpenMP's for 200."""
    until, before = time.monotonic() + most_s, busy_ns(workers)
    while time.monotonic() < until:
        time.sleep(0.02)
        now = busy_ns(workers)
        if now == before:
            return
        before = now


if __name__ == "__main__":
    serve(sys.argv[1])
