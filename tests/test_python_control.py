#!/usr/bin/python3 -B
"""test_python_control.py - what a program may do to products of the package tilewright: end them by Ctrl-C.

    test_python_control.py [--list] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it); its library lies beside it. Prints TAP. Without NumPy all
is skipped. Each case is an interpreter of its own.
"""

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

def raises(kind, call):
    begin()
    try:
        call()
    except kind:
        assert took() < 0.2 * int(os.environ["TILEWRIGHT_THREADS"]), took()
    else:
        raise AssertionError("no " + kind.__name__)
    assert (tw.matmul(x, x) == right).all()
"""


def python(text, **environment):
    """A fresh interpreter with this program; what it prints."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", PRELUDE + text],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(
            PYTHONPATH=os.path.join(ROOT, "python"), TILEWRIGHT_LIBRARY=LIBRARY, **environment
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
        raises(KeyboardInterrupt, lambda: tw.matmul(zeros, zeros))
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
