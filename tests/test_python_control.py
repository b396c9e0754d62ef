#!/usr/bin/python3 -B
"""test_python_control.py - what a program may do to products of the package tilewright: end them by Ctrl-C, and say on
how many threads each computes, also by threadpoolctl.

    test_python_control.py [--list] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it); its library lies beside it. Prints TAP. Without NumPy all
is skipped. Each case is an interpreter of its own.
"""

import importlib
import importlib.util
import os
import subprocess
import sys

from support.program import BUILD, ROOT, clean_environment, sanitized
from support.tap import CASES, Skip, case, main

LIBRARY = os.path.join(BUILD, "libtilewright.so.0")

# begin(): SIGINT, or another signal, once this process has computed for 50 ms from now on. took(): what processors it
# took since. zeros: a product of hours, which takes no memory but for what is written of it.
PRELUDE = """
import os, signal, threading, time
import numpy as np
import tilewright as tw

zeros = np.zeros((40000, 40000), np.float32)
x = np.arange(600 * 600, dtype=np.float32).reshape(600, 600) % 17
right = x.astype(np.int64) @ x.astype(np.int64)
sent = []

def begin(number=signal.SIGINT):
    start = time.process_time()
    def send():
        while time.process_time() < start + 0.05:
            time.sleep(0.001)
        sent.append(time.process_time())
        os.kill(os.getpid(), number)
    threading.Thread(target=send).start()

def took():
    return time.process_time() - sent[-1]

def raises(kind, call, others=0):
    begin()
    try:
        call()
    except kind:
        assert took() < 0.2 * (int(os.environ["TILEWRIGHT_THREADS"]) + others), took()
    else:
        raise AssertionError("no " + kind.__name__)
    assert (tw.matmul(x, x) == right).all()
"""


def python(text, before="", behind="", **environment):
    """A fresh interpreter with this program, which begins with `before`; what it prints."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", before + PRELUDE + text + behind],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(
            PYTHONPATH=os.pathsep.join([os.path.join(ROOT, "python"), *filter(None, [os.environ.get("PYTHONPATH")])]),
            TILEWRIGHT_LIBRARY=LIBRARY,
            **environment,
        ),
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


@case
def an_interrupt_ends_a_long_product():
    """Of two arrays, into an array, of a batch, of items by address, by a plan; and by ctypes on several threads."""
    for threads, by_ctypes in ("1", ""), ("3", "1"):
        python(
            """
raises(KeyboardInterrupt, lambda: tw.matmul(zeros, zeros))
out = np.empty((4000, 40000), np.float32)
raises(KeyboardInterrupt, lambda: tw.matmul(zeros[:4000], zeros, out=out))
items = np.broadcast_to(zeros[:1000, :1000], (400, 1000, 1000))
raises(KeyboardInterrupt, lambda: tw.matmul(items, zeros[:1000, :1000].T))
every = zeros.reshape(40, 1000, 40000)
raises(KeyboardInterrupt, lambda: tw.matmul(every[::3, :, :2000], zeros[:2000, :]))
plan = tw.Plan(zeros, zeros)
raises(KeyboardInterrupt, lambda: plan(zeros, zeros))
""",
            TILEWRIGHT_THREADS=threads,
            TILEWRIGHT_CTYPES=by_ctypes,
        )


@case
def a_handler_decides():
    """One that raises something else, and one that raises nothing: the product goes on, and is right."""
    python(
        """
class Alarm(ValueError): pass

def alarm(number, frame):
    raise Alarm

before = signal.signal(signal.SIGINT, alarm)
raises(Alarm, lambda: tw.matmul(zeros, zeros))
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
begin()
wide = np.tile(x, (1, 4))
assert (tw.matmul(wide, wide.T) == 4 * (x.astype(np.int64) @ x.T.astype(np.int64))).all() and heard == [signal.SIGINT]
# the short way, which asks nobody, knows no long product
assert not any(known.long for known in tw._host.recipes.values()) and tw.Plan(wide, wide.T)._recipe is None
assert tw.matmul(x, x) is not None and tw._host.recipes and tw.Plan(x, x)._recipe
signal.signal(signal.SIGINT, before)
raises(KeyboardInterrupt, lambda: tw.matmul(zeros, zeros))
""",
        TILEWRIGHT_THREADS="1",
        TILEWRIGHT_CPU="base",
    )


@case
def products_of_other_threads_go_on():
    """They are of the same context."""
    python(
        """
wide, wrong, over = np.tile(x, (1, 10)), [], []
expected = 10 * (x.astype(np.int64) @ x.T.astype(np.int64))

def multiply():
    while not over:
        try:
            if not (tw.matmul(wide, wide.T) == expected).all():
                wrong.append("numbers")
        except tw.Error as error:
            wrong.append(error)

other = threading.Thread(target=multiply)
other.start()
try:
    for _ in range(3):
        raises(KeyboardInterrupt, lambda: tw.matmul(zeros, zeros), others=1)
finally:
    over.append(1)
    other.join()
assert not wrong, wrong
""",
        TILEWRIGHT_THREADS="1",
    )


@case
def a_cancelled_call_raises():
    """From C's tw_cancel(), which knows of no Python."""
    python(
        """
def cancel():
    while not ended:
        tw._library.lib.tw_cancel(None)
        time.sleep(0.001)

ended = []
canceller = threading.Thread(target=cancel)
canceller.start()
try:
    tw.matmul(zeros, zeros)
except tw.Cancelled as error:
    assert str(error) == "tw_cancel() has ended the call" and error.status == 7 and isinstance(error, tw.Error)
else:
    raise AssertionError("not cancelled")
finally:
    ended.append(1)
    canceller.join()
""",
        TILEWRIGHT_THREADS="1",
    )


# ---- threads ----

COUNTS = """
def count():
    return len(os.listdir("/proc/self/task"))

a, b = np.random.rand(500, 400), np.random.rand(400, 300)
before = count()
def more(call):
    earlier = count()
    made = call()
    return made, count() - earlier
"""


@case
def threads_of_one_product():
    """Each number has threads of its own, the same product again none more; the bits are those of any other number."""
    python(
        COUNTS
        + """
alone, made = more(lambda: tw.matmul(a, b, threads=1))
assert made == 0, made
for number, expected in ((3, 2), (3, 0), (2, 1), (0, 1), (None, 0)):
    c, made = more(lambda: tw.matmul(a, b, threads=number))
    assert np.array_equal(c, alone) and made == expected, (number, made)
out = np.empty((500, 300))
assert tw.matmul(a, b, threads=np.int64(2), engine="cpu", out=out) is out and np.array_equal(out, alone)
plan = tw.Plan(a, b, threads=4)
for _ in range(2):
    c, made = more(lambda: plan(a, b))
    assert np.array_equal(c, alone)
assert count() == before + 2 + 1 + 1 + 3, count()
adds = tw.Plan(a, b, alone, threads=6)
assert more(lambda: adds(a, b, alone))[1] == 5
with tw.threads(1):
    c, made = more(lambda: tw.matmul(a, b, threads=7))
    assert np.array_equal(c, alone) and made == 0, made
import pickle, tilewright._arrays
assert np.array_equal(pickle.loads(pickle.dumps(plan))(a, b), alone)

def refuses(kind, text, **options):
    try:
        tw.matmul(a, b, **options)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(options)

refuses(ValueError, "threads is -1, expected 0 to 4096", threads=-1)
refuses(ValueError, "expected 0 to 4096", threads=10**30)
refuses(TypeError, "threads is 1.5, expected a whole number", threads=1.5)
try:
    tw._arrays.check_engine(tw._library.engine_of(None, 2), 0)
except ValueError as error:
    assert str(error) == "threads is 2, but the operands lie in CUDA's memory"
else:
    raise AssertionError("CUDA's arrays take threads")
refuses(ValueError, "threads is 2, but the engine is 'cuda': expected 'cpu'", threads=2, engine="cuda")
""",
        TILEWRIGHT_THREADS="2",
    )


# What threadpoolctl 3.x has for others' libraries.
FAKE = """
import sys, types
fake = types.ModuleType("threadpoolctl")
class LibController:
    pass
fake.LibController, fake.given = LibController, []
fake.register = fake.given.append
"""


@case
def threadpoolctl_is_told():
    """Before or behind, once; an older one is left alone."""
    python(
        FAKE
        + """
assert "threadpoolctl" not in sys.modules
sys.modules["threadpoolctl"] = fake
assert tw.register_threadpoolctl() and tw.register_threadpoolctl() and len(fake.given) == 1
kind = fake.given[0]
assert issubclass(kind, LibController) and (kind.user_api, kind.internal_api) == ("blas", "tilewright")
assert kind.filename_prefixes == ("libtilewright.so",) and kind.check_symbols == ("tw_threads_set",)
one, limit = kind(), tw._library.lib.tw_threads_get
assert one.get_version() == tw.__version__ and one.get_num_threads() == 3
for number, set_to, told in ((2, 2, 2), (1, 1, 1), (0, 1, 1), (3, 0, 3), (2, 2, 2), (100, 0, 3)):
    one.set_num_threads(number)
    assert (limit(), one.get_num_threads()) == (set_to, told), number
del fake.register
sys.modules["threadpoolctl"] = older = types.ModuleType("threadpoolctl")
assert not tw.register_threadpoolctl()
""",
        TILEWRIGHT_THREADS="3",
    )
    python("", before=FAKE + "sys.modules['threadpoolctl'] = fake\n", behind="assert len(fake.given) == 1\n")


@case
def threadpoolctl_limits():
    """PyPI's own."""
    if not hasattr(installed("threadpoolctl"), "register"):
        raise Skip("threadpoolctl 3.2 or newer is not installed here (Debian 12 has 3.1)")
    python(
        COUNTS
        + """
with threadpoolctl.threadpool_limits(1, user_api="blas"):
    assert more(lambda: tw.matmul(a, b))[1] == 0
found = [x for x in threadpoolctl.threadpool_info() if x["internal_api"] == "tilewright"]
assert [(x["user_api"], x["num_threads"], x["version"]) for x in found] == [("blas", 3, tw.__version__)], found
assert tw._library.lib.tw_threads_get() == 0 and more(lambda: tw.matmul(a, b))[1] == 2
""",
        before="import threadpoolctl\n",
        TILEWRIGHT_THREADS="3",
        OPENBLAS_NUM_THREADS="1",
    )


@case
def joblib_divides_threads():
    """PyPI's own: its processes get OMP_NUM_THREADS."""
    if installed("joblib") is None:
        raise Skip("joblib is not installed here")
    python(
        """
import joblib

def threads():
    import tilewright
    return tilewright._threads.default_threads()

with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=3):
    assert joblib.Parallel()(joblib.delayed(threads)() for _ in range(2)) == [3, 3]
"""
    )


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


if __name__ == "__main__":
    why = (
        ""
        if set(sys.argv) & {"--list"}
        else "Python cannot load a library built with sanitizers"
        if sanitized()
        else "" if importlib.util.find_spec("numpy") else "no NumPy"
    )

    def skipped():
        raise Skip(why)

    if why:
        CASES[:] = [(name, skipped) for name, _ in CASES]
    main()
