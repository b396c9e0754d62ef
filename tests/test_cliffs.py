#!/usr/bin/python3 -B
"""test_cliffs.py - `bench --cliffs`: its table, its records, the report of them, and what it refuses. No speed is judged.

    test_cliffs.py [--list] [--only TEXT] [PROGRAM]
"""
import json
import math
import os
import re
import signal
import subprocess
import time

from support.page import check
from support.program import FAKE_OPENCL, PROGRAM, bad, clean_environment, good, run
from support.tap import Skip, case, main

RAN = []  # what `ran` did


def ran():
    """The text of one run of three shapes, made once; its records are put into this case's folder."""
    if not RAN:
        text = good("bench", "--cliffs", "--regret", "--shapes", 3, "--seed", 4, "--samples", 1, "--threads", 1, "--json", "r.json").stdout
        RAN.extend((text, open("r.json", encoding="utf-8").read()))
    with open("r.json", "w", encoding="utf-8") as file:
        file.write(RAN[1])
    return RAN[0]


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ratio(record):
    return record["median_s"] / record["friendlier_s"]


def rows(text):
    """The shapes of the table with their cliffs, as they stand there."""
    return [(line.split()[0], float(re.search(r" (\d+\.\d\d)[? ] +\d", line)[1])) for line in text.splitlines() if re.match(r"\d+x\d+x\d+ ", line)]


def judge(record):
    """A record of a shape and the friendlier one beside it."""
    r = record
    assert r["verified"].startswith("exact+bound") or r["verified"].startswith("bound"), r
    assert r["m"] * r["n"] * r["k"] > 2 ** 20 and 0 < r["min_s"] <= r["median_s"] <= r["max_s"] and r["samples"] == 1, r
    assert abs(r["gflops"] * 1e9 * r["median_s"] / (2 * r["m"] * r["n"] * r["k"]) - 1) < 1e-9, r
    assert all(r["friendlier_" + x] >= r[x] for x in "mnk") and r["friendlier_s"] > 0 and r["aligned_s"] > 0, r
    assert (r["regret"] is None) == (r["best_kernel"] is None), r
    assert all(r["friendlier_" + x] % 8 == 0 for x in "mnk") and r["friendlier_kernel"], r
    pads = {r["lda"] - (r["m"] if r["op_a"] == "t" else r["k"]), r["ldb"] - (r["k"] if r["op_b"] == "t" else r["n"]), r["ldc"] - r["n"]}
    assert pads in ({0}, {1}, {8}), "the rows lie as the caller's do"


@case
def the_worst_come_first():
    text, records = ran(), read("r.json")
    assert len(records) == 3, text
    for record in records:
        judge(record)
    worst = sorted(records, key=ratio, reverse=True)
    found = rows(text)
    assert [shape for shape, _ in found] == [f"{r['m']}x{r['n']}x{r['k']}" for r in worst], text
    assert all(abs(told - ratio(r)) < 0.006 for (_, told), r in zip(found, worst)), (found, worst)
    mean, cliffs = (re.search(words, text) for words in (r"geometric mean of 3: ([0-9.]+) of cliff, [0-9.]+ of aligned", r"above 1\.1: (\d), above 1\.5: (\d); the worst is ([0-9.]+) at (\S+)"))
    assert abs(float(mean[1]) - math.exp(sum(math.log(ratio(r)) for r in records) / 3)) < 6e-4, text
    assert [int(cliffs[i]) for i in (1, 2)] == [sum(ratio(r) > most for r in records) for most in (1.1, 1.5)] and cliffs[4] == found[0][0], text
    assert "3 shapes of seed 4 in f32, 2^20 to 2^" in text, text


@case
def each_type_has_a_table_that_fits():
    done = good("bench", "--cliffs", "--shapes", 1, "--seed", 4, "--samples", 1, "--threads", 1, "--dtype", "f64,i8", "--json", "r.json", env={"COLUMNS": "80"})
    assert [r["dtype"] for r in read("r.json")] == ["f64", "i8"] and len(rows(done.stdout)) == 2 and done.stdout.count("geometric mean of 1:") == 2, done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines()) and "left out" in done.stdout, done.stdout


@case
def a_device_has_copies_of_the_operands():
    good("bench", "--cliffs", "--engine", "opencl", "--shapes", 1, "--seed", 4, "--samples", 1, "--json", "r.json", env=FAKE_OPENCL)
    record, = read("r.json")
    judge(record)
    assert record["engine"] == "opencl" and record["regret"] is None, record


@case
def the_planner_may_regret_its_choice():
    text = ran()
    for record in read("r.json"):
        assert record["regret"] >= 1 and record["best_kernel"].startswith("cpu_f32_"), record
        assert record["regret"] > 1 or record["best_kernel"] == record["kernel"], record
    assert re.search(r"^regret +geometric mean \d\.\d{3}; above 1\.1: \d; the worst is ", text, re.M) and " best kernel" in text, text


@case
def the_report_draws_them():
    ran()
    if "jansson" in run("report", "r.json", "-o", "page.html").stderr:
        raise Skip("the program was built without jansson")
    page = check("page.html")
    records = sorted(read("r.json"), key=ratio, reverse=True)
    svg = next(s for s in page.svgs if s["name"].startswith("Cliffs, f32, CPU on"))
    dots = [(float(a["cx"]), float(a["cy"])) for tag, a in svg["shapes"] if tag == "circle"]
    assert len(dots) == 3 and [y for _, y in dots] == sorted(y for _, y in dots), dots
    shapes = [f"{r['m']}x{r['n']}x{r['k']}" for r in records]
    table = next(t for t in page.tables if t["rows"][0][0] == "Shape")
    assert [row[0].split()[0] for row in table["rows"][1:]] == shapes, table
    assert sum(any(text.startswith(shape[:10]) for text, *_ in svg["texts"]) for shape in shapes) == 3, svg["texts"]
    assert "cliffs" in page.ids and "ladders" not in page.ids and "sizes" not in page.ids, "they are no ladder"
    assert [json.loads(line)["m"] for line in page.lines()] == [r["m"] for r in read("r.json")]


@case
def ctrl_c_keeps_the_records():
    process = subprocess.Popen([PROGRAM, "bench", "--cliffs", "--shapes", "10000", "--seed", "4", "--samples", "1", "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, env=clean_environment())
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    rest = process.stdout.read().splitlines()
    assert process.wait(60) == 130 and time.monotonic() - begun < 60, process.returncode
    for line in [first, *rest]:
        judge(json.loads(line))
    assert os.listdir(".") == [], os.listdir(".")


@case
def what_is_no_such_call_is_refused():
    for word in "0", "-1", "x", "1.5", "10001", "", "3x4x5":
        bad(2, "bench", "--cliffs", "--shapes", word, says=["--shapes", f"'{word}'", "a whole number from 1 to 10000"])
    for word in "x", "-1", "1.5", "18446744073709551616":
        bad(2, "bench", "--cliffs", "--seed", word, says=["--seed", f"'{word}'"])
    bad(2, "bench", "--cliffs", "--dtype", "f99", says="f99")
    bad(2, "bench", "--shapes", "3", says="--shapes needs --cliffs")
    bad(2, "bench", "--regret", says="--regret needs --cliffs")
    bad(2, "bench", "--cliffs", "--regret", "--kernel", "cpu_f32_r01_naive", says="--kernel does not work with --regret")
    done = run("bench", "--cliffs", "--shapes", 1, "--dtype", "e4m3")
    assert done.returncode == 3 and "refused    1 shape; the last: no kernel fits" in done.stdout and "all were refused" in done.stderr, done
    for words in (("--shape", "2x2x2"), ("--size", "8"), ("--set", "odd"), ("--pad", "1"), ("--padded",), ("--transpose-a",), ("--transpose-b",), ("--batch", "2"),
                  ("--host",), ("--against", "openblas"), ("--explain-plan",)):
        bad(2, "bench", "--cliffs", *words, says=f"{words[0]} does not work with --cliffs")
    bad(2, "bench", "--cliffs", "--engine", "cuda", "--device", "0,1", says="a list of devices does not work with --cliffs")
    help_text = good("bench", "--help").stdout
    assert "--cliffs" in help_text and "--shapes N" in help_text


if __name__ == "__main__":
    main()
