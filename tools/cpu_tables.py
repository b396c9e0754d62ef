#!/usr/bin/python3 -B
"""cpu_tables.py - the CPU engine beside other libraries: measures tables, and says of each line whether it is at its bar.

    tools/cpu_tables.py [--only TEXT] [--runs N] [--budget SECONDS] [--records FILE [--append]] ...   TILEWRIGHT: the program
    tools/cpu_tables.py --table FILE ...                   the tables of these records, of all their runs; measures nothing

  rest     our speed after 25 ms asleep, of that without                     company  the same after OpenBLAS, whose idle threads spin
  peak     4096 on all threads, of what as many single threads reach         level3   cgemm, zgemm, dsyrk, dtrsm at 512, two threads
  pause    all threads, 200 us of other work before each call                wait     the same with 200 ms
  sweep    our speed at 1 to 16 threads; no bar. * is the plan's own         two      two threads, on a machine of two
  types    all threads, f32 f64 bf16 int8                                    one      one thread, `bench --set all` and 20 random
  types20  the same, 20 random shapes of those kinds                         pause20  pause with 20 random squares
  busy     all threads, squares; another program keeps one processor busy. By means: some calls stand still

Peers are the libraries that `./dev peers` fetched, by `bench --against openblas,mkl`, and PyTorch and NumPy where they
are installed (tools/cpu_workers.py). A ratio is our speed over the best peer's: of medians, in the median run (of an even
number the lower), whose speeds stand beside it; then of the best samples of all runs. Runs follow each other until the
budget is spent. Nothing else must run meanwhile. Exit status 1: something is below its bar, wrong, or was not measured.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from cpu_bars import tables
from cpu_workers import Worker, here, wait_for_quiet

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SQUARES = [64, 128, 256, 384, 512, 768, 1000, 1536, 2048, 3000, 4096]
SHAPES = ["%dx%dx%d" % (s, s, s) for s in SQUARES] + ["8192x256x8192", "64x4096x4096", "4096x64x4096", "4096x4096x64", "128x128x65536",
                                                     "1x8192x8192", "8192x1x8192"]
PAUSED, WAITED, OURS_ALONE = [64, 96, 128, 192, 256, 384, 512, 640, 1000], [64, 256, 1000], [640, 1000, 2048]
BESIDE_BUSY, BUSY_TURN_S = [64, 128, 256, 512, 1024, 2048], 0.3
SWEPT, COUNTS = [32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 768], [1, 2, 3, 4, 6, 8, 12, 16]
EVERY_THREAD = "cpu * * * * * thread_work=4096 waited_work=4096"
REST_S, SPINNING_S, SINGLE, TOGETHER_S = 0.025, 0.08, 2048, 0.5
BENCH_SECONDS = {1: 2.0, 2: 2.0}  # of a case on one thread, of which the largest take long, and on several, whose idle threads spin


# ---- measuring ----

class Machine:
    """What there is to measure with."""

    def __init__(self, chosen):
        self.chosen, self.program = chosen, os.environ.get("TILEWRIGHT") or os.path.join(ROOT, "build", "tilewright")
        os.environ.setdefault("TILEWRIGHT_LIBRARY", os.path.join(os.path.dirname(os.path.abspath(self.program)), "libtilewright.so.0"))
        self.folder = os.environ.get("TILEWRIGHT_PEERS") or os.path.join(os.path.dirname(os.path.abspath(self.program)), "peers")
        self.peers = [x for x in ("openblas", "mkl") if os.path.exists(os.path.join(self.folder, x + ".so"))]
        self.packages = [x for x in ("torch", "numpy") if here(x)]
        self.workers, self.numpy = bool(self.packages), here("numpy")  # what workers keep their operands in; a peer or not
        self.threads, self.until = chosen.threads or len(os.sched_getaffinity(0)), time.monotonic() + chosen.budget
        said = subprocess.run([self.program, "devices", "--json", "-"], capture_output=True, text=True).stdout
        names = [d["name"] for d in map(json.loads, said.splitlines()) if d["engine"] == "cpu"] if said.startswith("{") else []
        self.device = names[0] if names else "a CPU"

    def left_s(self):
        """Seconds of the budget that are left; RuntimeError: none are."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise RuntimeError("the budget is spent")
        return left

    def run(self, command, **environment):
        """The finished process, which ends with the budget at the latest."""
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=self.left_s(), env=dict(os.environ, **environment))
        except subprocess.TimeoutExpired:
            raise RuntimeError("the budget is spent")

    def record(self, table, worker, threads, order, prepared, answers, method, library=None, gflops=None):
        """A record as bench writes it, of one product by a worker: the turns of a run."""
        taken = [x for x in answers if "median_s" in x]
        refused = prepared.get("refused") or next((x["refused"] for x in answers if "refused" in x), None)
        good = taken and not refused and prepared.get("verified") != "WRONG"
        median_s = statistics.median(x["median_s"] for x in taken) if good else None
        flops = (8 if order["dtype"].startswith("c") else 2) * order["m"] * order["n"] * order["k"]
        name = library or ("openblas" if worker.name.startswith("cblas:") else worker.name)
        return {"engine": "cpu", "device": self.device, "kernel": name, "library": name, "library_version": worker.version, "table": table,
                "dtype": order["dtype"], "m": order["m"], "n": order["n"], "k": order["k"], "op_a": order["ops"][0], "op_b": order["ops"][1],
                "method": method, "threads": threads, "sets": prepared.get("sets"), "samples": sum(x["samples"] for x in taken) or None,
                "median_s": median_s, "min_s": min(x["min_s"] for x in taken) if good else None,
                "max_s": max(x["max_s"] for x in taken) if good else None, "gflops": flops / median_s / 1e9 if good else None,
                "verified": prepared.get("verified", "no"), "error_ratio": prepared.get("error_ratio"),
                "plan": prepared.get("plan"), "refused": refused, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def left_out(machine):
    """Leaves out packages that call the reference BLAS, whose plain loops would spend the budget: sentences. None is left
    out for its speed."""
    said = []
    for name in list(machine.packages):
        w = Worker(name, 1)
        plain = w.ask(do="blas").get("plain")
        w.end()
        if plain:
            machine.packages.remove(name)
            said.append("%s: it calls the reference BLAS, plain loops: %s" % (name, plain))
    return said


def order_of(shape, dtype, ops="nn"):
    m, n, k = map(int, shape.split("x"))
    return {"dtype": dtype, "ops": ops, "m": m, "n": n, "k": k}


IN_TURNS = "calls with host pointers, a process for each library, in turns, operands rotated"


def last_line(text):
    return (text.strip().splitlines() or ["nothing said"])[-1]


def by_bench(machine, table, words):
    """`bench --against` with these words; its records."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.jsonl")
        command = [machine.program, "bench", "--engine", "cpu", "--against", ",".join(machine.peers),
                   "--samples", str(machine.chosen.samples), "--json", path]
        done = machine.run(command + words.split())
        lines = open(path).read().splitlines() if os.path.exists(path) else []
    if done.returncode not in (0, 1, 3) or not lines:  # 1: a product is wrong; 3: nothing was compared. Records say which
        raise RuntimeError("bench: exit status %d: %s" % (done.returncode, last_line(done.stderr)))
    return [dict(json.loads(x), table=table) for x in lines]


@contextlib.contextmanager
def busy_processor():
    """A program that computes all the while, on whichever processor it is given; a minute at most, whatever becomes of us."""
    loop = subprocess.Popen([sys.executable, "-c", "import signal\nsignal.alarm(60)\nprint(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
    try:
        if not loop.stdout.readline():
            raise RuntimeError("the program that was to compute beside did not begin")
        yield
    finally:
        loop.kill()
        loop.communicate()


def turn_beside_busy(worker):
    """A turn whose mean stands for its median and its best, which hide calls that stand still."""
    with busy_processor():
        said = worker.ask(do="turn", seconds=BUSY_TURN_S, rest=0, pause=0)
    return dict(said, median_s=said["mean_s"], min_s=said["mean_s"]) if "mean_s" in said else said


def by_workers(machine, table, threads, orders, pause=0, busy=False):
    """The packages beside us, each product in turns; busy: beside a program that computes."""
    workers, records = [Worker(x, threads) for x in ["tilewright"] + machine.packages], []
    method = IN_TURNS + (", %g us of other work before each call" % (pause * 1e6) if pause else "")
    method += ", means beside a busy program" if busy else ""
    try:
        for order in orders:
            prepared = [w.ask(do="prepare", **order) for w in workers]
            answers = [[] for _ in workers]
            for turn in range(machine.chosen.samples):
                machine.left_s()
                for i in range(len(workers)):
                    at = (i + turn) % len(workers)
                    if "refused" in prepared[at]:
                        continue
                    wait_for_quiet(workers)
                    answers[at].append(turn_beside_busy(workers[at]) if busy else
                                       workers[at].ask(do="turn", seconds=machine.chosen.turn, rest=0, pause=pause))
            records += [machine.record(table, w, threads, order, p, a, method) for w, p, a in zip(workers, prepared, answers)]
    finally:
        for w in workers:
            w.end()
    return records


def against_ourselves(machine, table, neighbour):
    """Our speed after a rest, or beside a neighbour whose threads still spin, and without."""
    ours, other = Worker("tilewright", machine.threads), Worker(neighbour, machine.threads) if neighbour else None
    workers, records, turn = [x for x in (ours, other) if x], [], machine.chosen.turn
    try:
        for order in [order_of("%dx%dx%d" % (s, s, s), "f32") for s in OURS_ALONE]:
            prepared, alone, met = ours.ask(do="prepare", **order), [], []
            asked = other.ask(do="prepare", **order_of("1000x1000x1000", "f32")) if other else {}
            if "refused" in asked:
                raise RuntimeError("%s: %s" % (neighbour, asked["refused"]))
            for _ in range(machine.chosen.samples):
                machine.left_s()
                wait_for_quiet(workers)
                alone.append(ours.ask(do="turn", seconds=turn, rest=0, pause=0))
                if other:
                    other.ask(do="turn", seconds=turn, rest=0, pause=0)
                    time.sleep(SPINNING_S)
                met.append(ours.ask(do="turn", seconds=turn, rest=0 if other else REST_S, pause=0))
            for answers, name in ((met, "tilewright"), (alone, "tilewright (alone)" if other else "tilewright (at once)")):
                records.append(machine.record(table, ours, machine.threads, order, prepared, answers, IN_TURNS, library=name))
    finally:
        for w in workers:
            w.end()
    return records


def peak(machine):
    """4096 on all threads; and as many single threads at the same time, each with a product of its own."""
    ours, singles = Worker("tilewright", machine.threads), [Worker("tilewright", 1) for _ in range(machine.threads)]
    order, own, answers, together = order_of("4096x4096x4096", "f32"), order_of("%dx%dx%d" % (SINGLE, SINGLE, SINGLE), "f32"), [], []
    try:
        prepared, each = ours.ask(do="prepare", **order), [w.ask(do="prepare", **own) for w in singles]
        refused = next((x["refused"] for x in each if "refused" in x), None)
        for _ in range(0 if refused else machine.chosen.samples):
            machine.left_s()
            wait_for_quiet([ours] + singles)
            answers.append(ours.ask(do="turn", seconds=TOGETHER_S, rest=0, pause=0))
            wait_for_quiet([ours] + singles)
            for w in singles:
                w.tell(do="turn", seconds=TOGETHER_S, rest=0, pause=0)
            heard = [w.hear() for w in singles]
            rate = sum(2.0 * SINGLE**3 / x["median_s"] for x in heard)
            together.append(dict(heard[0], **dict.fromkeys(("median_s", "min_s", "max_s"), 2.0 * 4096**3 / rate)))
    finally:
        for w in [ours] + singles:
            w.end()
    if refused:
        raise RuntimeError("a single thread: " + refused)
    return [machine.record("peak", ours, machine.threads, order, prepared, answers, IN_TURNS),
            machine.record("peak", ours, machine.threads, order, prepared, together, IN_TURNS, library="tilewright (%d x 1)" % machine.threads)]


def sweep(machine, dtype):
    """Each square on each count of threads, whatever the plan would choose, and on the plan's own."""
    counts, records = [c for c in COUNTS if c <= machine.threads], []
    with tempfile.TemporaryDirectory() as folder:
        workers = []
        try:
            for count in counts:
                signing, path = Worker("tilewright", count), os.path.join(folder, "rows-%d" % count)
                line = signing.ask(do="sign", row=EVERY_THREAD)
                signing.end()
                if "line" not in line:
                    raise RuntimeError(line["refused"])
                with open(path, "w") as f:
                    f.write(line["line"] + "\n")
                workers.append(Worker("tilewright", count, TILEWRIGHT_TUNED=path))
            workers.append(Worker("tilewright", machine.threads, TILEWRIGHT_TUNED="off"))
            for order in [order_of("%dx%dx%d" % (s, s, s), dtype) for s in SWEPT]:
                prepared, answers = [w.ask(do="prepare", **order) for w in workers], [[] for _ in workers]
                for _ in range(machine.chosen.samples):
                    machine.left_s()
                    for i, w in enumerate(workers):  # idle threads of ours sleep after some 20 us
                        answers[i].append(w.ask(do="turn", seconds=machine.chosen.turn / 2, rest=0, pause=0))
                records += [dict(machine.record("sweep", w, count, order, p, a, IN_TURNS), own=w is workers[-1])
                            for w, count, p, a in zip(workers, counts + [machine.threads], prepared, answers)]
        finally:
            for w in workers:
                w.end()
    return records


def peer_file(machine, name):
    """Its own path, not the link's, since MKL opens others beside it."""
    return os.path.realpath(os.path.join(machine.folder, name + ".so"))


MKL = {"MKL_DYNAMIC": "FALSE", "MKL_INTERFACE_LAYER": "LP64", "MKL_THREADING_LAYER": "INTEL"}  # as bench sets them


def level3(machine, peer):
    """dsyrk and dtrsm by tools/level3_bench.py, both libraries in one process; what it prints, as records."""
    blas, records = os.path.join(os.path.dirname(os.path.abspath(machine.program)), "libtilewright_blas.so"), []
    command = [sys.executable, "-B", os.path.join(ROOT, "tools", "level3_bench.py"), peer_file(machine, peer),
               "--ours", blas, "--sizes", "512", "--types", "d", "--threads", "2", "--turns", str(3 * machine.chosen.samples)]
    for routine in ("syrk", "trsm"):
        done = machine.run(command + ["--only", routine], **MKL)
        found = re.search(r"^d%s +512 +([0-9.]+) +([0-9.]+) +([0-9.]+)" % routine, done.stdout, re.M)
        if not found:
            raise RuntimeError("level3_bench.py: " + last_line(done.stdout + done.stderr))
        for library, gflops in (("tilewright", float(found[1])), (peer, float(found[1]) / float(found[3]))):  # the median quotient of neighbours
            seconds = 512.0**3 / gflops / 1e9
            records.append({"engine": "cpu", "device": machine.device, "kernel": "d" + routine, "routine": "d" + routine, "library": library,
                            "table": "level3", "dtype": "f64", "m": 512, "n": 512, "k": 512, "op_a": "n", "op_b": "n",
                            "method": "cblas calls in turns in one process with " + peer, "threads": 2, "median_s": seconds,
                            "min_s": seconds, "max_s": seconds, "gflops": gflops, "verified": "no", "refused": None})
    return records


def random_shapes(seed):
    """20 shapes of the kinds of `--set all`: squares, odd sizes, long and thin ones, and some transposed."""
    draw, out = random.Random(seed), []
    ops = draw.choice(["nt", "tn", "tt"])
    side = functools.partial(drawn, state=draw)
    for i in range(20):
        m = n = k = side(8, 1500)
        if i % 4 == 1:
            m, n, k = side(8, 1500), side(8, 1500), side(8, 1500)
        elif i % 4 == 2:
            m, n, k = draw.choice([(side(1, 32), 2000, 2000), (2000, side(1, 32), 2000), (2000, 2000, side(1, 32)), (64, 64, side(1000, 9000))])
        out.append(("%dx%dx%d" % (m, n, k), ops if i % 4 == 3 else "nn"))
    return out


def drawn(least, most, state):
    """An integer of least to most - 1, whose logarithm is drawn evenly."""
    return int(math.exp(state.uniform(math.log(least), math.log(most))))


def distinct(draw, count):
    """The first `count` draws, without repeats."""
    found = dict.fromkeys(draw() for _ in range(count))
    while len(found) < count:
        found[draw()] = None
    return list(found)


def random_of_types(seed):
    """20 shapes of the kinds of SHAPES: 11 squares; one or two each with few rows, few columns, a short k, a long k, and
    one row, one column."""
    draw = functools.partial(drawn, state=random.Random(seed))
    side, few = lambda: draw(1024, 4096), lambda: draw(16, 256)
    shapes = [(s, s, s) for s in distinct(lambda: draw(64, 4096), 11)]
    shapes += [(draw(1024, 8192), draw(128, 512), draw(1024, 8192)), (few(), side(), side()), (side(), few(), side())]
    shapes += distinct(lambda: (side(), side(), few()), 2)
    shapes += distinct(lambda: (draw(64, 256), draw(64, 256), draw(16384, 65536)), 2)
    shapes += [(1, draw(1024, 8192), draw(1024, 8192)), (draw(1024, 8192), 1, draw(1024, 8192))]
    return ["%dx%dx%d" % x for x in shapes]


def random_squares(seed):
    """20 squares between the first and the last of PAUSED."""
    state = random.Random(seed)
    return distinct(lambda: drawn(PAUSED[0], PAUSED[-1], state), 20)


OPS = {"nn": "", "nt": " --transpose-b", "tn": " --transpose-a", "tt": " --transpose-a --transpose-b"}
# What `bench --set all` has.
SET_ALL = [("%dx%dx%d" % (s, s, s), "nn") for s in (512, 768, 1024, 1536, 2048, 3072, 4096, 32, 48, 64, 96, 128, 192, 256, 384, 8, 16, 17, 31,
                                                    33, 47, 65, 100, 127, 129, 255, 257, 1000, 3000)]
SET_ALL += [(s, "nn") for s in ("16x4096x4096", "4096x16x4096", "4096x4096x16", "64x64x8192", "20000x64x64", "1x4096x4096", "4096x1x4096")]
SET_ALL += [("%dx%dx%d" % (s, s, s), ops) for s in (64, 256, 1000, 2048) for ops in ("nt", "tn", "tt")]


class Job:
    """One measurement of a table: seconds is what it may take, until it was measured."""

    def __init__(self, table, words, seconds, measure):
        self.table, self.words, self.seconds, self.measure = table, words, seconds, measure


def at_once(measures):
    """The records of these, measured side by side."""
    with concurrent.futures.ThreadPoolExecutor(len(measures)) as pool:
        return [r for some in list(pool.map(lambda measure: measure(), measures)) for r in some]


def packaged(m, dtypes):
    """Those that a package multiplies."""
    return [d for d in dtypes if d not in ("bf16", "i8") or "torch" in m.packages]


def compared(m, table, threads, dtypes, shapes, pause_us=0):
    """The jobs that compare these (shape, ops): by bench where it has peers, by workers where there are packages. On one
    thread f32 and f64 are measured side by side where there are processors for both."""
    side_by_side, jobs = threads == 1 and m.threads >= 4, []
    flags = " --threads %d" % threads + (" --pause %d" % pause_us if pause_us else "")

    def add(who, what, dtypes, seconds, measure):
        for some in [dtypes] if side_by_side and len(dtypes) > 1 else [[d] for d in dtypes]:
            measures = [functools.partial(measure, d) for d in some]
            jobs.append(Job(table, "%s %s%s %s" % (who, ",".join(some), flags, what), seconds, functools.partial(at_once, measures)))

    benched = [d for d in dtypes if d not in ("bf16", "i8")]
    groups = [("--set all", len(SET_ALL))] if shapes[:len(SET_ALL)] == SET_ALL else []
    left = shapes[len(SET_ALL):] if groups else shapes
    for ops, flag in OPS.items():
        some = [s for s, o in left if o == ops]
        groups += [("--shape " + ",".join(some) + flag, len(some))] if some else []
    for words, count in groups if m.peers else []:
        spent = 5 + count * (BENCH_SECONDS[min(threads, 2)] + 8e-6 * pause_us * m.chosen.samples)
        add("bench", words, benched, spent, lambda d, words=words: by_bench(m, table, "--dtype %s %s%s" % (d, words, flags)))
    spent = len(shapes) * (0.3 + m.chosen.samples * (1 + len(m.packages)) * (m.chosen.turn + 0.05 + 2e-6 * pause_us))
    if m.packages:
        ordered = lambda d: by_workers(m, table, threads, [order_of(s, d, o) for s, o in shapes], pause_us * 1e-6)
        add("workers", "%d shapes" % len(shapes), packaged(m, dtypes), spent, ordered)
    return jobs


def jobs_of(m):
    """What can be measured here, the cheapest tables first, what has no bar last; and sentences on what cannot."""
    cubes = lambda sides: [("%dx%dx%d" % (s, s, s), "nn") for s in sides]
    neighbour = "cblas:" + peer_file(m, "openblas") if "openblas" in m.peers else "numpy" if "numpy" in m.packages else None
    own = 4 * m.chosen.samples * (m.chosen.turn + 0.1) + 3
    jobs, missing = [], []
    if m.workers:
        jobs.append(Job("rest", "ours f32", own, lambda: against_ourselves(m, "rest", None)))
        if neighbour:
            jobs.append(Job("company", "ours f32 beside " + neighbour, own, lambda: against_ourselves(m, "company", neighbour)))
        jobs.append(Job("peak", "ours f32 4096", 5 + 3 * m.chosen.samples, lambda: peak(m)))
    jobs += compared(m, "level3", 2, ["cf32", "cf64"], cubes([512]))
    jobs += [Job("level3", "dsyrk dtrsm beside " + p, 10, lambda p=p: level3(m, p)) for p in m.peers if m.numpy]
    jobs += compared(m, "wait", m.threads, ["f32"], cubes(WAITED), 200000) + compared(m, "pause", m.threads, ["f32", "f64"], cubes(PAUSED), 200)
    shapes = random_shapes(m.chosen.seed)
    if m.threads == 2:
        jobs += compared(m, "two", 2, ["f32", "f64"], SET_ALL + shapes)
    jobs += compared(m, "types", m.threads, ["f32", "f64", "bf16", "i8"], [(s, "nn") for s in SHAPES])
    jobs += compared(m, "one", 1, ["f32", "f64"], SET_ALL + shapes)
    jobs += compared(m, "pause20", m.threads, ["f32", "f64"], cubes(random_squares(m.chosen.seed)), 200)
    jobs += compared(m, "types20", m.threads, ["f32", "f64", "bf16", "i8"], [(s, "nn") for s in random_of_types(m.chosen.seed)])
    if m.packages:
        spent = len(BESIDE_BUSY) * (0.5 + m.chosen.samples * (1 + len(m.packages)) * (BUSY_TURN_S + 0.3))
        jobs += [Job("busy", "workers %s beside a busy program" % t, spent,
                     lambda t=t: by_workers(m, "busy", m.threads, [order_of(s, t) for s, _ in cubes(BESIDE_BUSY)], busy=True))
                 for t in packaged(m, ["f32", "f64", "bf16", "i8"])]
    if m.workers:  # last, as it has no bar
        turns = len(SWEPT) * (1 + sum(c <= m.threads for c in COUNTS))
        jobs += [Job("sweep", "ours %s on 1 to 16 threads" % t, turns * (0.1 + m.chosen.samples * (m.chosen.turn / 2 + 0.005)), lambda t=t: sweep(m, t))
                 for t in ("f32", "f64", "bf16", "i8") if t != "bf16" or "torch" in m.packages]
    if m.threads != 2:
        missing.append("two: this machine has %d processors" % m.threads)
    if not m.peers:
        missing.append("OpenBLAS and MKL: %s has neither (./dev peers fetches them)" % m.folder)
    if not m.workers:
        missing.append("rest, company, peak, busy and sweep: neither PyTorch nor NumPy is installed")
    missing += ["%s is not installed" % x for x in ("torch", "numpy") if not here(x)]
    if "torch" not in m.packages:
        missing.append("bf16 and int8: PyTorch alone has them")
    return jobs, missing


def read(paths):
    """The records of these files that exist; runs of the second follow those of the first."""
    records = []
    for path in filter(os.path.exists, paths):
        last = max((r["run"] for r in records), default=0)
        with open(path) as f:
            records += [dict(r, run=last + r["run"]) for r in map(json.loads, filter(str.strip, f))]
    return records


def measure(m, path):
    """Runs the jobs, round after round, while the budget lasts. Appends records; returns what is not here and what went
    wrong."""
    slow = left_out(m)
    jobs, missing = jobs_of(m)
    jobs = [j for j in jobs if m.chosen.only in j.table + " " + j.words]
    wrong = [] if jobs else ["no line's words contain %r, of what can be measured here" % m.chosen.only]
    tell = lambda text: print(text, file=sys.stderr, flush=True)
    tell("%s, %d threads; seed %d; peers: %s" % (m.device, m.threads, m.chosen.seed, ", ".join(m.peers + m.packages) or "none"))
    tell("expected: some %.0f s a run, %d runs, within %.0f s" % (sum(j.seconds for j in jobs), m.chosen.runs, m.chosen.budget))
    first = 1 + max((r["run"] for r in read([path])), default=0)
    for run in range(first, first + m.chosen.runs):
        for job in jobs:
            start = time.monotonic()
            if start + job.seconds > m.until:
                tell("run %d: no time left for %s %s" % (run, job.table, job.words[:100]))
                wrong += ["%s %s: no time left" % (job.table, job.words[:100])] if run == first else []
                continue
            try:
                records = job.measure()
            except (RuntimeError, OSError, KeyError) as why:
                wrong.append("%s %s: %s" % (job.table, job.words[:100], why))
                continue
            job.seconds = time.monotonic() - start
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            with open(path, "a") as f:
                f.writelines(json.dumps(dict({"own": False}, **r, run=run, seed=m.chosen.seed)) + "\n" for r in records)
            tell("run %d %6.1f s  %s %s" % (run, job.seconds, job.table, job.words[:100]))
    return slow + missing, wrong


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", metavar="TEXT", help="what has it in its table's name or its words, as 'one' or 'f64'")
    options.add_argument("--runs", type=int, default=3, metavar="N", help="rounds (default: 3)")
    options.add_argument("--budget", type=float, default=1200, metavar="SECONDS", help="begin nothing that would end later (default: 1200)")
    options.add_argument("--samples", type=int, default=3, metavar="N", help="samples, or turns, in a run (default: 3)")
    options.add_argument("--turn", type=float, default=0.06, metavar="SECONDS", help="of a worker's turn (default: 0.06)")
    options.add_argument("--threads", type=int, metavar="N", help="all threads (default: the processors)")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), metavar="N",
                         help="of the random shapes (default: another each time)")
    options.add_argument("--records", metavar="FILE", help="default: results/DEVICE/cpu-tables.jsonl")
    options.add_argument("--append", action="store_true", help="keep the runs that FILE has, and count on")
    options.add_argument("--table", metavar="FILE", nargs="+", help="the tables of these records, of all their runs; measures nothing")
    chosen = options.parse_args()
    for path in chosen.table or []:
        if not os.path.exists(path):
            options.error("%s: no such file" % path)
    missing, wrong, paths = [], [], chosen.table
    if not paths:
        machine = Machine(chosen)
        path = chosen.records or os.path.join(ROOT, "results", re.sub("[^a-z0-9]+", "-", machine.device.lower()).strip("-"), "cpu-tables.jsonl")
        if os.path.exists(path) and not chosen.append:
            os.remove(path)
        missing, wrong = measure(machine, path)
        paths = [path]
    records = read(paths)
    text, below = tables(records)
    for line in text + ["not here: " + x for x in missing]:
        print(line)
    for sentence in wrong + below or ([] if records else ["nothing was measured"]):
        print("fault: " + sentence)
    sys.exit(1 if wrong or below or not records else 0)


if __name__ == "__main__":
    main()
