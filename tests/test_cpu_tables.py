#!/usr/bin/python3 -B
"""test_cpu_tables.py - tools/cpu_tables.py: its bars, on made-up records; what it does with a program that fails; its workers.

    test_cpu_tables.py [--list] [--only TEXT] [PROGRAM]

No speed is judged. Needs TILEWRIGHT_BUILD, which tests/run.sh sets; the workers need NumPy. Prints TAP.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

from support.program import BUILD, PROGRAM, ROOT, clean_environment, sanitized
from support.tap import Skip, case, main

sys.path.insert(0, os.path.join(ROOT, "tools"))
import cpu_tables as tool  # noqa: E402 (once it can be found)
import cpu_workers  # noqa: E402

FAKES = os.path.join(BUILD, "tests", "fakes", "peers")
LIBRARY = os.path.join(BUILD, "libtilewright.so.0")


def timed(library, table, median_s, m=64, dtype="f32", n=None, k=None, run=1, method="by bench", **more):
    n, k = n or m, k or m
    return dict({"library": library, "table": table, "dtype": dtype, "m": m, "n": n, "k": k, "op_a": "n", "op_b": "n", "kernel": library, "method": method, "run": run,
                 "median_s": median_s, "min_s": median_s, "gflops": 2e-9 * m * n * k / median_s if median_s else None, "verified": "exact+bound" if median_s else "no",
                 "refused": None if median_s else "it has none", "threads": 2, "own": False, "plan": None}, **more)


def pair(table, ratio, **more):
    """Records of a product that we compute at this ratio of OpenBLAS's speed; MKL is slower than it."""
    return [timed("tilewright", table, 1e-3 / ratio, **more), timed("openblas", table, 1e-3, **more), timed("mkl", table, 1.5e-3, **more)]


def told(*records):
    text, wrong = tool.tables(list(records))
    return text, wrong


def tables(*words, **env):
    command = [sys.executable, "-B", os.path.join(ROOT, "tools", "cpu_tables.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=clean_environment(**env))


@case
def each_table_has_its_bars():
    for table, at, below, more in (("types", 1.06, 1.04, {}), ("types20", 1.06, 1.04, {}), ("pause", 1.01, 0.99, {}), ("pause20", 1.01, 0.99, {}), ("busy", 1.01, 0.99, {}), ("wait", 1.01, 0.99, {}), ("two", 0.96, 0.94, {}), ("one", 0.985, 0.975, {}),
                                   ("one", 1.01, 0.99, {"dtype": "f64"})):
        text, wrong = told(*pair(table, at, **more))
        assert not wrong and text[-1].endswith("ok"), (table, text, wrong)
        text, wrong = told(*pair(table, below, **more))
        assert wrong == ["%s %s, geometric mean" % (table, more.get("dtype", "f32"))] and text[-1].endswith("BELOW"), (table, text, wrong)
    for table, at, below, more in (("types", 0.81, 0.79, {}), ("types20", 0.81, 0.79, {}), ("busy", 0.81, 0.79, {}), ("two", 0.81, 0.79, {}), ("one", 0.89, 0.87, {"m": 100}), ("level3", 0.93, 0.91, {}), ("peak", 0.81, 0.79, {}),
                                   ("company", 0.61, 0.59, {"m": 640}), ("rest", 0.71, 0.69, {"m": 640}), ("rest", 0.61, 0.59, {"m": 1000})):
        other = pair(table, 2, m=65)  # the mean is at its bar
        text, wrong = told(*pair(table, at, **more), *other)
        assert not wrong and "BELOW" not in "".join(text), (table, text, wrong)
        text, wrong = told(*pair(table, below, **more), *other)
        assert len(wrong) == 1 and text[1].endswith("BELOW") and "%.3f" % below in text[1], (table, text, wrong)
    # on one thread neither what is smaller nor what is no square has a bar of its own
    assert not told(*pair("one", 0.5, m=99), *pair("one", 0.5, m=128, n=64), *pair("one", 9))[1]


@case
def the_best_peer_counts_and_methods_stay_apart():
    text, wrong = told(*pair("types", 2), timed("numpy", "types", 1e-6, method="by workers"), timed("tilewright", "types", 1e-6 / 1.5, method="by workers"))
    assert not wrong and "1.500" in text[1] and "numpy" in text[1], text  # the worse of 2 and 1.5, not 1e-6 beside 5e-4
    text, wrong = told(*[r for run, ratio in enumerate((1.2, 1.4, 2.0)) for r in pair("types", ratio, run=run)])
    assert not wrong and "1.400 1.20-2.00   2.000" in text[1], text
    speeds = {r: 2e-9 * 64**3 / r for r in (0.5e-3, 0.8e-3)}  # of the median run: a slow one of a higher ratio came first
    slow = [timed("tilewright", "types", 1e-3, run=1), timed("mkl", "types", 2e-3, run=1)]
    text, wrong = told(*slow, timed("tilewright", "types", 0.5e-3, run=2), timed("mkl", "types", 0.8e-3, run=2))
    assert not wrong and "1.600 1.60-2.00" in text[1] and text[1].split()[7:9] == ["%.4g" % speeds[x] for x in (0.5e-3, 0.8e-3)], text
    text, wrong = told(*pair("types", 1.06, m=64), *pair("types", 1.06, m=128), *pair("types", 1.06, m=64, dtype="bf16"))
    assert [x for x in text if "geometric mean" in x] and "mean of 2: 1.060" in text[3] and "mean of 1" in text[5], text


@case
def what_is_wrong_or_has_no_peer_is_told():
    wrong_of_ours = [timed("tilewright", "types", None, verified="WRONG", refused=None), timed("openblas", "types", 1e-3)]
    text, wrong = told(*wrong_of_ours)
    assert wrong == ["types f32 64 x 64 x 64"] and "FAILED: WRONG" in text[1], (text, wrong)
    text, wrong = told(timed("tilewright", "types", 1e-3), timed("mkl", "types", None))
    assert wrong == ["types f32: nothing to compare with"] and "none" in text[1] and "not judged" in text[2], (text, wrong)
    text, wrong = told(timed("tilewright", "types", 1e-3), timed("mkl", "types", None), *pair("types", 1.1, m=65))
    assert not wrong and "none" in text[1] and "mean of 1" in text[3], (text, wrong)


@case
def the_sweep_shows_the_best_count_and_the_plans():
    speeds = {1: 100.0, 2: 150.0, 4: 120.0}
    records = [timed("tilewright", "sweep", 2e-9 * 64**3 / x, threads=t) for t, x in speeds.items()]
    text, wrong = told(*records, timed("tilewright", "sweep", 1e-6, threads=16, own=True, plan="k: k threads 4, after a rest 1"))
    assert not wrong and text[-1].split() == ["sweep", "f32", "64", "x", "64", "x", "64", "100", "[150]", "120*", "the", "plan", "has", "4"], text
    text, wrong = told(*records, timed("tilewright", "sweep", None, threads=8))
    assert wrong == ["sweep f32 64 x 64 x 64: it has none"], wrong


@case
def records_are_shown_again_and_the_status_says_what_is_below():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.jsonl")
        for ratio, status in ((1.1, 0), (1.0, 1)):
            with open(path, "w") as f:
                f.writelines(json.dumps(r) + "\n" for r in pair("types", ratio))
            done = tables("--table", path)
            assert done.returncode == status and ("fault: types f32, geometric mean" in done.stdout) == (status == 1), done
        both = os.path.join(folder, "2.jsonl")
        with open(both, "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in pair("types", 1.4))
        done = tables("--table", path, both)  # run 1 and run 2, of which the lower counts
        assert done.returncode == 1 and "1.000 1.00-1.40   1.400" in done.stdout, done
        missing = tables("--table", path, path + "x")
        assert missing.returncode == 2 and "r.jsonlx: no such file" in missing.stderr, missing
        open(path, "w").close()
        assert tables("--table", path).returncode == 1


@case
def bench_is_run_round_after_round_within_the_budget():
    with tempfile.TemporaryDirectory() as folder:
        program, path = os.path.join(folder, "program"), os.path.join(folder, "r.jsonl")
        for name in ("openblas.so", "mkl.so"):
            open(os.path.join(folder, name), "w").close()
        records = "\n".join(json.dumps({x: y for x, y in r.items() if x not in ("table", "run", "own")}) for r in pair("one", 1.5))

        def measured(body, *words):
            with open(program, "w") as f:
                f.write("#!/bin/sh\n[ $1 = devices ] && echo '{\"engine\": \"cpu\", \"name\": \"made up\"}' && exit\necho \"$*\" >>%s/said\n"
                        "while [ $# -gt 0 ]; do [ $1 = --json ] && to=$2; shift; done\n%s" % (folder, body))
            os.chmod(program, 0o755)
            if os.path.exists(os.path.join(folder, "said")):
                os.remove(os.path.join(folder, "said"))
            done = tables("--records", path, "--only", "one bench", "--seed", "5", *words, TILEWRIGHT=program, TILEWRIGHT_PEERS=folder)
            said = open(os.path.join(folder, "said")).read().splitlines() if os.path.exists(os.path.join(folder, "said")) else []
            return done, said, [json.loads(x) for x in open(path)] if os.path.exists(path) else []

        write = "cat >\"$to\" <<'END'\n" + records + "\nEND\n"
        done, said, kept = measured(write, "--budget", "100000", "--runs", "2")
        assert done.returncode == 0 and len(said) == 12 and len(kept) == 36 and " 1.500 " in done.stdout and "seed 5" in done.stderr, (done, said)
        assert {(r["table"], r["run"], r["seed"]) for r in kept} == {("one", 1, 5), ("one", 2, 5)}, kept
        done, _, more = measured(write, "--budget", "100000", "--runs", "1", "--append")
        assert done.returncode == 0 and len(more) == 54 and more[:36] == kept and {r["run"] for r in more[36:]} == {3}, done
        assert all("--against openblas,mkl" in x and "--threads 1" in x for x in said) and sum("--set all" in x for x in said) == 4 and sum("--transpose" in x for x in said) == 4, said
        drawn = sum(len(x.split("--shape ")[1].split()[0].split(",")) for x in said[:6] if "--dtype f32" in x and "--shape" in x)
        assert drawn == 20 and tool.random_shapes(5) == tool.random_shapes(5) != tool.random_shapes(6), said
        done, said, kept = measured(write, "--budget", "100000", "--runs", "1", "--only", "20 bench")
        shapes = [x.split("--shape ")[1].split()[0].split(",") for x in said]
        assert len(said) == 4 and all(len(set(x)) == 20 for x in shapes) and sum("--pause 200" in x for x in said) == 2, said
        assert all(len(set(draw(seed))) == 20 for seed in range(200) for draw in (tool.random_of_types, tool.random_squares))
        assert shapes[-1] == tool.random_of_types(5) != tool.random_of_types(6) and tool.random_squares(5) != tool.random_squares(6), said
        done, said, kept = measured(write + "exit 3\n", "--budget", "100000", "--runs", "1")  # none was compared: the records say why
        assert done.returncode == 0 and len(kept) == 18, done
        done, said, kept = measured("echo 'no such thing' >&2; exit 2\n", "--budget", "100000", "--runs", "1")
        assert done.returncode == 1 and "exit status 2: no such thing" in done.stdout and not kept, done
        done, said, kept = measured(write, "--budget", "0", "--runs", "1")
        assert done.returncode == 1 and not said and "no time left" in done.stdout, done
        begin = time.monotonic()
        done, said, kept = measured("exec sleep 300\n", "--budget", "12", "--runs", "1", "--only", "level3 bench cf32")
        assert done.returncode == 1 and len(said) == 1 and "the budget is spent" in done.stdout and time.monotonic() - begin < 45, done
        done, said, kept = measured(write, "--only", "nothing is so called")
        assert done.returncode == 1 and not said and "no line's words contain" in done.stdout, done


@case
def a_package_is_left_out_for_its_blas_not_for_its_speed():
    plain, maps = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0", "7f00-7f01 r--p 00000000 fe:00 %d %s\n"
    fast = ["/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "/venv/numpy.libs/libscipy_openblas64_-1a2b.so", "/opt/lib/libmkl_rt.so.2",
            "/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3", "/home/u/tilewright/libblas.so.3", "/opt/lib/libopenblas.so.0"]
    text = lambda *paths: "".join(maps % (i, x) for i, x in enumerate(("/usr/bin/python3",) + paths))
    assert cpu_workers.plain_blas(text(plain)) == cpu_workers.plain_blas(text(plain, plain)) == plain and cpu_workers.plain_blas(text()) is None
    for path in fast:
        assert cpu_workers.plain_blas(text(path)) is None and cpu_workers.plain_blas(text(plain, path)) is None, path
    w = worker("numpy")
    said = w.ask(do="blas")
    w.end()
    assert set(said) == {"plain"} and (said["plain"] is None or "/libblas.so" in said["plain"]), said


@case
def the_list_of_shapes_is_that_of_bench():
    refused = subprocess.run([PROGRAM, "bench", "--engine", "cpu", "--set", "all", "--dtype", "bf16", "--kernel", "cpu_f32_r01_naive", "--json", "-"], capture_output=True,
                             text=True, timeout=60, env=clean_environment())  # each row is refused at once
    listed = [("%(m)dx%(n)dx%(k)d" % r, r["op_a"] + r["op_b"]) for r in map(json.loads, refused.stdout.splitlines())]
    assert len(listed) == 48 and sorted(listed) == sorted(tool.SET_ALL), set(listed) ^ set(tool.SET_ALL)


def worker(name, threads=2, **env):
    if not cpu_workers.here("numpy"):
        raise Skip("no NumPy")
    if sanitized():
        raise Skip("Python cannot load a library of a sanitizer")
    return cpu_workers.Worker(name, threads, TILEWRIGHT_LIBRARY=LIBRARY, **env)


@case
def workers_verify_what_they_multiply():
    for ops in ("nn", "tn", "nt", "tt"):
        for name, dtypes in (("tilewright", ("f32", "f64", "i8", "cf32", "cf64")), ("numpy", ("f32", "cf64"))):
            w = worker(name)
            for dtype in dtypes:
                said = w.ask(do="prepare", **tool.order_of("33x20x40", dtype, ops))
                assert said.get("verified") == "elements sampled" and said["error_ratio"] <= 1, (name, ops, dtype, said)
                turn = w.ask(do="turn", seconds=0.001, rest=0, pause=0)
                assert 0 < turn["min_s"] <= turn["median_s"] <= turn["max_s"] and turn["samples"] >= 1, turn
            w.end()
    w = worker("cblas:" + os.path.join(FAKES, "mkl.so"))  # its last element is one too large
    assert w.ask(do="prepare", **tool.order_of("33x20x40", "f32"))["verified"] == "WRONG"
    w.end()


@case
def a_worker_that_is_gone_or_refuses_is_told():
    w = worker("cblas:/of/no/machine.so")
    assert "machine.so" in w.why and w.ask(do="turn", seconds=1, rest=0, pause=0) == {"refused": w.why}, w.why
    w.end()
    w = worker("numpy")
    assert "bf16" in w.ask(do="prepare", **tool.order_of("8x8x8", "bf16"))["refused"] and w.why is None
    w.process.kill()
    assert "ended with status -9" in w.ask(do="prepare", **tool.order_of("8x8x8", "f32"))["refused"]
    w.end()


@case
def pauses_and_rests_are_not_timed():
    w = worker("tilewright")
    w.ask(do="prepare", **tool.order_of("16x16x16", "f32"))
    for words in ({"rest": 0.03, "pause": 0}, {"rest": 0, "pause": 0.03}):
        turn = w.ask(do="turn", seconds=0.1, **words)
        assert turn["median_s"] < 0.02 and turn["repeats"] == 1 and turn["samples"] <= 4, turn
    w.end()


def children():
    """The states of our child processes: R computes, Z has ended and was not waited for."""
    out = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                state, parent = f.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue  # it has ended
        out += [state] if int(parent) == os.getpid() else []
    return out


@case
def the_means_count_of_turns_beside_a_program_that_computes():
    beside = []

    class Asked:
        def ask(self, **order):
            beside.append((order["do"], children()))
            return {"median_s": 1.0, "mean_s": 3.0, "min_s": 0.5}

    assert tool.turn_beside_busy(Asked()) == {"median_s": 3.0, "mean_s": 3.0, "min_s": 3.0}
    assert beside == [("turn", ["R"])] and not children(), beside
    Asked.ask = lambda self, **order: {"refused": "gone"}
    assert tool.turn_beside_busy(Asked()) == {"refused": "gone"}
    w = worker("tilewright")
    w.ask(do="prepare", **tool.order_of("16x16x16", "f32"))
    turn = w.ask(do="turn", seconds=0.01, rest=0, pause=0)
    assert turn["min_s"] <= turn["mean_s"] <= turn["max_s"], turn
    w.end()


@case
def the_sweep_forces_its_count_of_threads():
    signing = worker("tilewright")
    line = signing.ask(do="sign", row=tool.EVERY_THREAD)["line"]
    signing.end()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        with open(path, "w") as f:
            f.write(line + "\n")
        for tuned, planned in ((path, "threads 2"), ("off", "threads 1")):
            w = worker("tilewright", TILEWRIGHT_TUNED=tuned)
            for dtype in ("f32", "i8"):
                assert planned in w.ask(do="prepare", **tool.order_of("56x56x56", dtype))["plan"], (dtype, planned)
            w.end()


@case
def report_reads_what_is_measured():
    worker("tilewright").end()
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "r.jsonl"), os.path.join(folder, "r.html")
        done = tables("--records", path, "--only", "rest ours", "--turn", "0.001", "--samples", "1", "--runs", "1", TILEWRIGHT=PROGRAM, TILEWRIGHT_LIBRARY=LIBRARY)
        records = [json.loads(x) for x in open(path)]
        assert len(records) == 6 and all(r["verified"] == "elements sampled" and r["median_s"] > 0 for r in records), (done, records)
        assert {r["library"] for r in records} == {"tilewright", "tilewright (at once)"} and "rest    f32   640 x 640 x 640" in done.stdout, done
        shown = subprocess.run([PROGRAM, "report", path, "-o", page], capture_output=True, text=True, timeout=60, env=clean_environment())
        assert shown.returncode == 0 or "jansson" in shown.stderr, shown


if __name__ == "__main__":
    main()
