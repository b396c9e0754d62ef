#!/usr/bin/python3 -B
"""test_scale.py - plans for more ranks than are here: `tilewright explain --ranks`, and the ranks' schedule in SimGrid's simulator.

    test_scale.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Simulations are skipped where the build has found no smpicc.
"""
import os
import random
import re
import subprocess
import sys
from fractions import Fraction

from support.program import BUILD, ROOT, bad, clean_environment, good, records
from support.tap import Skip, case, main

FULL = "--full" in sys.argv
BYTES = {"f32": (4, 4), "f64": (8, 8), "bf16": (2, 4), "f16": (2, 4), "i8": (1, 4), "u8": (1, 4), "cf32": (8, 8), "cf64": (16, 16)}  # of A and B, of C
GFLOPS = {"f64": 35, "cf32": Fraction(70, 4), "cf64": Fraction(35, 4)}  # nominal, of a thread; else 70
DIVIDES_K = ("f32", "f64", "bf16", "f16", "i8", "u8")


# ---- the model once more, exactly: mpi/grid.h and docs/SCALE.md have the formula -----------------------------------------

class Model:
    def __init__(self, m, n, k, dtype, ranks, *, threads=1, gbps=10, one_host=False, rate=None):
        self.m, self.n, self.k, self.dtype, self.ranks = m, n, k, dtype, ranks
        self.in_bytes, self.out_bytes = BYTES[dtype]
        self.flop_s = Fraction(1, 10**9) / (rate or GFLOPS.get(dtype, 70) * threads)
        self.byte_s, self.message_s = Fraction(8, gbps * 10**9), Fraction(5 if one_host else 50, 10**6)

    def words(self, pm, pn, pk):
        return (Fraction(self.m * self.k, pm * pk) * (1 - Fraction(1, pn)), Fraction(self.k * self.n, pk * pn) * (1 - Fraction(1, pm)),
                Fraction(self.m * self.n, pm * pn) * (1 - Fraction(1, pk)))

    def times(self, pm, pn, pk, panel):
        """Of the largest block, of the bytes, of the messages."""
        a, b, c = self.words(pm, pn, pk)
        steps = -(-self.k // pk)
        panels = -(-steps // panel) if steps else 0
        return (2 * -(-self.m // pm) * -(-self.n // pn) * steps * self.flop_s, ((a + b) * self.in_bytes + c * self.out_bytes) * self.byte_s,
                (panels * (pm + pn - 2) + pk - 1) * self.message_s)

    def grids(self):
        for pk in range(1, self.ranks + 1 if self.dtype in DIVIDES_K else 2):
            for pm in range(1, self.ranks // pk + 1):
                for pn in range(1, self.ranks // pk // pm + 1):
                    yield pm, pn, pk


def explained(*words):
    good("explain", *words, "--json", "told.json")
    told, = records(open("told.json").read())
    return told


def near(found, expected, what):
    assert abs(found - float(expected)) <= 1e-12 * abs(float(expected)), (what, found, float(expected))


def panel_of(depth, k, pk):
    """k whole, or panels of one depth where there are more than two."""
    steps = -(-k // pk)
    return steps if depth == 0 or steps <= 2 * depth else depth


def check(told, model, depth):
    grid = tuple(told[x] for x in ("pm", "pn", "pk"))
    for name, expected in zip(("received_a", "received_b", "received_sums"), model.words(*grid)):
        near(told[name], expected, (name, told))
    a, b, c = model.words(*grid)
    count = grid[0] * grid[1] * grid[2]
    near(told["received_bytes"], (a + b) * model.in_bytes + c * model.out_bytes, told)
    near(told["received_by_all"], (a + b + c) * count, told)
    near(told["received_by_all"], model.m * model.k * (grid[1] - 1) + model.k * model.n * (grid[0] - 1) + model.m * model.n * (grid[2] - 1), told)
    assert told["panel"] == panel_of(depth, model.k, grid[2]), told
    times = model.times(*grid, told["panel"])
    for name, expected in zip(("compute_s", "move_s", "messages_s"), times):
        near(told[name], expected, (name, told))
    near(told["predicted_s"], sum(times), told)
    sums_s = c * model.out_bytes * model.byte_s + (grid[2] - 1) * model.message_s  # move when nothing is left to multiply
    near(told["predicted_overlapped_s"], max(times[0], times[1] + times[2] - sums_s) + sums_s, told)
    one_s = 2 * model.m * model.n * model.k * model.flop_s
    near(told["one_rank_s"], one_s, told)
    near(told["efficiency"], one_s / sum(times) / count, told)
    return grid


# ---- the cases ------------------------------------------------------------------------------------------------------------

@case
def the_grid_and_its_numbers_are_the_formulas():
    """Of all grids none takes less, by exact arithmetic; of as good ones none has fewer ranks."""
    draw = random.Random(11)
    depths = {dtype: explained("--ranks", 1, "--dtype", dtype, "--shape", "1x1x90000000")["panel"] % 90000000 for dtype in BYTES}
    for dtype in DIVIDES_K:
        assert depths[dtype] > 1, depths
    for number in range(200 if FULL else 40):
        dtype = list(BYTES)[number % len(BYTES)]
        m, n, k = (draw.choice((1, 3, 64, 1000, 4096, 16384, 17408, 100000, 3473408)) for _ in range(3))
        ranks, threads, gbps, hosts = draw.choice((1, 2, 5, 7, 8, 12, 30, 64)), draw.choice((1, 2, 32)), draw.choice((1, 10, 100, 400)), draw.choice((1, 0))
        model = Model(m, n, k, dtype, ranks, threads=threads, gbps=gbps, one_host=hosts == 1)
        told = explained("--ranks", ranks, "--dtype", dtype, "--shape", f"{m}x{n}x{k}", "--threads", threads, "--network", gbps, *(["--hosts", 1] if hosts else []))
        grid = check(told, model, depths[dtype])
        mine = sum(model.times(*grid, told["panel"]))
        for other in model.grids():
            its = sum(model.times(*other, panel_of(depths[dtype], k, other[2])))
            assert mine <= its * (1 + Fraction(1, 10**12)), (told, other, float(its))
            assert its != mine or grid[0] * grid[1] * grid[2] <= other[0] * other[1] * other[2], (told, other)


@case
def a_worked_example():
    """By hand: 16384^3 f64 on 64 ranks of 32 threads, 100 Gbit/s: 4 x 4 x 4, three times 4096^2 x 3/4 elements."""
    told = explained("--ranks", 64, "--shape", "16384x16384x16384", "--dtype", "f64", "--threads", 32, "--network", 100)
    assert [told[x] for x in ("pm", "pn", "pk", "panel")] == [4, 4, 4, 4096], told
    assert told["received_a"] == told["received_b"] == told["received_sums"] == 12582912, told
    assert told["received_by_all"] == 3 * 3 * 16384**2, told
    block = 4096**2 * 8  # of A, of B or of C; a rank owns a quarter of each
    assert told["buffer_bytes"] == 2 * block * 3 // 4 + block + (32 << 20) and told["rank_bytes"] == told["buffer_bytes"] + 3 * block // 4, told
    assert told["host_bytes"] == told["rank_bytes"] and told["hosts"] == 64 and told["rate_gflops"] == 1120, told
    shown = good("explain", "--ranks", 64, "--shape", "16384x16384x16384", "--dtype", "f64", "--threads", 32, "--network", 100).stdout
    for part in ("ranks      64 of 64: 4 x 4 x 4 of m x n x k, 32 threads each", "A    m k / (4 4) (1 - 1/4) = 12582912 elements, 101 MB",
                 "together 37748736 elements by a rank on average, 302 MB; 2415919104 by all, 19.3 GB", "= 147 ms; with A and B overlapped 131 ms", "efficiency 83.3%"):
        assert part in shown, shown


@case
def of_grids_that_cost_the_same_the_simplest():
    """Of a cube 1 x 2 x 1, 2 x 1 x 1 and 1 x 1 x 2 move the same bytes, in as many messages."""
    told = explained("--ranks", 2, "--shape", "2000x2000x2000", "--dtype", "f64")
    assert [told[x] for x in ("pm", "pn", "pk")] == [1, 2, 1], told
    for grid in ("2x1x1", "1x1x2"):
        assert explained("--ranks", 2, "--shape", "2000x2000x2000", "--dtype", "f64", "--grid", grid)["predicted_s"] == told["predicted_s"], grid


@case
def a_rate_changes_times_and_not_the_grid():
    words = ["--ranks", 64, "--shape", "16384x16384x16384", "--dtype", "f64", "--network", 10]
    nominal, fast = explained(*words), explained(*words, "--rate", 20000)
    assert all(nominal[x] == fast[x] for x in ("pm", "pn", "pk", "move_s", "messages_s", "rank_bytes")), (nominal, fast)
    near(fast["compute_s"] * 20000, nominal["compute_s"] * 35, fast)
    better = re.search(r"^better     at this rate --grid (\d+x\d+x\d+): ", good("explain", *words, "--rate", 20000).stdout, re.M)
    if better:
        assert explained(*words, "--rate", 20000, "--grid", better[1])["predicted_s"] < fast["predicted_s"], better
    words[3] = "4096x4096x4096"
    better = re.search(r"^better     at this rate --grid (\d+x\d+x\d+): ", good("explain", *words, "--rate", 20000).stdout, re.M)
    assert better and explained(*words, "--rate", 20000, "--grid", better[1])["predicted_s"] < explained(*words, "--rate", 20000)["predicted_s"], better
    assert "better" not in good("explain", *words).stdout


@case
def memory_hosts_and_grids_that_are_asked_for():
    words = ["--ranks", 64, "--shape", "16384x16384x16384", "--dtype", "f64"]
    free = explained(*words, "--threads", 32)
    tight = explained(*words, "--threads", 32, "--memory", free["rank_bytes"] - 1)
    assert tight["rank_bytes"] < free["rank_bytes"] and tight["predicted_s"] >= free["predicted_s"], (free, tight)
    assert explained(*words, "--threads", 32, "--memory", free["rank_bytes"])["rank_bytes"] == free["rank_bytes"]
    found = bad(5, "explain", *words, "--memory", "1M", says="--memory 1048576: the smallest of 64 ranks' blocks and buffers are ")
    least = re.search(r"are (\d+) bytes", found.stderr)[1]
    assert explained(*words, "--memory", least)["rank_bytes"] == int(least)
    assert explained(*words, "--hosts", 8, "--threads", 32)["host_bytes"] == 8 * free["rank_bytes"]
    assert explained("--ranks", 2, "--hosts", 1)["network_gbps"] == 32 and explained("--ranks", 2)["network_gbps"] == 10
    assert explained("--ranks", 4, "--network", "2.5")["network_gbps"] == 2.5
    summa = explained(*words, "--grid", "8x8x1")
    assert [summa[x] for x in ("pm", "pn", "pk")] == [8, 8, 1] and summa["received_sums"] == 0, summa
    assert explained(*words, "--grid", "0x0x1")["pk"] == 1


@case
def what_is_refused():
    bad(2, "explain", says="--tables or --ranks")
    bad(2, "explain", "r04", "--ranks", 4, says="--ranks explains no rung")
    for words in (["--tables"], ["--binary"], ["--gpu", "H200"], ["--engine", "cpu"], ["--tile", 8], ["--element", "1,2"], ["--html", "x.html"]):
        bad(2, "explain", "--ranks", 4, *words, says="--ranks explains no rung")
    for option, value in (("network", 10), ("rate", 10), ("hosts", 1), ("grid", "1x1x1"), ("memory", "1G"), ("threads", 2), ("dtype", "f64")):
        bad(2, "explain", "r04", f"--{option}", value, says=f"--{option} belongs to --ranks")
        bad(2, "explain", f"--{option}", value, says=f"--{option} belongs to --ranks")
    for option, value in (("ranks", 0), ("ranks", -1), ("ranks", 65537), ("ranks", "4x"), ("ranks", ""), ("ranks", "9" * 40)):
        bad(2, "explain", f"--{option}", value, says="--ranks: found ")
    for option, value in (("network", 0), ("network", "nan"), ("network", "1e7"), ("rate", 0), ("rate", "nan"), ("hosts", 0), ("threads", 5000), ("grid", "1x1"), ("memory", 0), ("dtype", "e4m3"),
                          ("dtype", "f32,f64"), ("shape", "0x1x1"), ("shape", "4x4x100000001")):
        bad(2, "explain", "--ranks", 4, f"--{option}", value, says=f"--{option}: found ")
    bad(2, "explain", "--ranks", 4, "--hosts", 5, says="--hosts 5: there are 4 ranks")
    bad(2, "explain", "--ranks", 4, "--grid", "5x1x1", says="--grid 5x1x1 (0: any) is no grid of at most 4 ranks")
    bad(2, "explain", "--ranks", 4, "--dtype", "cf64", "--grid", "1x1x2", says="k of these types is not divided")


# ---- simulated ranks --------------------------------------------------------------------------------------------------------

def simulated(ranks, shape, grids, *words, threads=1, gbps=10):
    """Of each grid what the simulation says."""
    done = subprocess.run([os.path.join(ROOT, "tools", "scale.py"), "--ranks", str(ranks), "--shape", shape, "--grid", ",".join(grids), "--threads", str(threads),
                           "--network", str(gbps), "--limit", "60", "--json", "found.jsonl", *map(str, words)],
                          capture_output=True, text=True, timeout=600, env=clean_environment(TILEWRIGHT_BUILD=BUILD))
    if "SimGrid's SMPI is not here" in done.stderr:
        raise Skip(done.stderr.strip())
    assert done.returncode == 0, (done.stdout, done.stderr)
    found = records(open("found.jsonl").read())
    assert len(found) == len(grids), (done.stdout, found)
    return found


@case
def simulated_ranks_receive_what_the_formula_says():
    """Counted as posted to MPI. The k of the last comes in panels; its ranks' shares are uneven."""
    for ranks, shape, grids in ((4, "1024x1024x1024", ("0x0x0", "2x2x1", "1x4x1", "4x1x1", "1x1x4")), (8, "1024x1024x1024", ("0x0x0", "2x2x2", "8x1x1", "1x2x4", "3x2x1")),
                                (8, "601x333x9001", ("0x0x0", "2x4x1", "4x2x1", "2x2x2", "1x7x1"))):
        m, n, k = map(int, shape.split("x"))
        for grid, found in zip(grids, simulated(ranks, shape, grids)):
            told = explained("--ranks", ranks, "--shape", shape, "--dtype", "f64", "--network", 10, "--grid", grid)
            pm, pn, pk = (found[x] for x in ("pm", "pn", "pk"))
            assert (pm, pn, pk) == tuple(told[x] for x in ("pm", "pn", "pk")), (found, told)
            assert found["received_by_all"] == m * k * (pn - 1) + k * n * (pm - 1) + m * n * (pk - 1), (shape, found)
            near(told["received_by_all"], found["received_by_all"], (found, told))
            assert abs(found["predicted_s"] / told["predicted_s"] - 1) < 1e-6, (found, told)


@case
def simulated_times_lie_between_computing_alone_and_nothing_overlapped():
    """Of the largest block, which has no wait in it; and 1.5 times the sum, which leaves latency and SMPI's 0.94 of a link room. Slow links show."""
    for ranks, grids in ((4, ("2x2x1", "1x1x4")), (8, ("2x2x2", "2x4x1"))):
        fast, slow = (simulated(ranks, "2048x2048x2048", grids, gbps=gbps) for gbps in (100, 1))
        for quick, long in zip(fast, slow):
            for found in (quick, long):
                assert found["compute_s"] * (1 - 1e-6) <= found["simulated_s"] <= 1.5 * found["predicted_s"], found
            moves_s = long["predicted_s"] - long["compute_s"]
            assert long["simulated_s"] >= quick["simulated_s"] and long["simulated_s"] >= 0.75 * moves_s, (quick, long)
    more = simulated(16, "4096x4096x4096", ("4x4x1",), "--threads", 64, gbps=10), simulated(16, "4096x4096x4096", ("4x4x1",), "--threads", 64, "--taper", 4, gbps=10)
    assert more[1][0]["simulated_s"] > 1.3 * more[0][0]["simulated_s"], more


if __name__ == "__main__":
    main()
