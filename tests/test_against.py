#!/usr/bin/python3
"""test_against.py - `tilewright bench --against` among fake libraries: one sentence for each fault, and the others go on. No speed is judged.

    test_against.py [--list] [--full] [--only TEXT]

Needs TILEWRIGHT and TILEWRIGHT_BUILD, which tests/run.sh sets. Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("TILEWRIGHT", "build/tilewright")
FAKES = os.path.join(os.environ.get("TILEWRIGHT_BUILD", "build"), "tests", "fakes", "peers")
CASES = []


def case(function):
    CASES.append(function)
    return function


def bench(*words, peers=FAKES):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_") and k != "OMP_NUM_THREADS"}
    kept.update(TILEWRIGHT_PEERS=peers, TILEWRIGHT_THREADS="1")
    return subprocess.run([PROGRAM, "bench", *words], capture_output=True, text=True, timeout=1500, env=kept)


def refused(*words, says):
    done = bench(*words)
    assert done.returncode == 2 and says in done.stderr and done.stdout == "", (words, done)


def line(text, start):
    found = [x for x in text.splitlines() if x.startswith(start)]
    assert len(found) == 1, (start, found, text)
    return found[0]


def patience():
    """Seconds for --deadline: long enough for the fakes that are right; under sanitizers they are many times slower."""
    cache = open(os.path.join(os.environ.get("TILEWRIGHT_BUILD", "build"), "CMakeCache.txt")).read()
    return "300" if re.search("^TILEWRIGHT_SANITIZE:[A-Z]+=.", cache, re.M) else "20"


@case
def each_fault_has_its_sentence():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        done = bench("--against", "all", "--shape", "33x20x40", "--transpose-b", "--samples", "3", "--threads", "1", "--deadline", patience(), "--json", path)
        written = {r["library"]: r for r in map(json.loads, open(path))}
    said = done.stderr
    none_counts = done.returncode == 3 and "no product could be compared" in said  # where the machine was too busy for the fake that is right
    assert done.returncode == 0 or none_counts, done
    assert "mkl: at 33x20x40 NT of f32 its product is wrong: exact oracle: C[32, 19] is" in said, said
    assert f"onednn: it did not answer within {patience()} s: its process was ended" in said, said
    assert "aocl: at 2048x2048x2048 of f32 it crashed: signal 6" in said, said
    assert "blis: it has no function cblas_dgemm" in said, said
    assert "of f32 it goes on using CPU time after its turn: its process was ended" in line(said, "tilewright: bench: libxsmm: "), said
    assert "below 80 %: misconfigured" in line(done.stdout, "eigen "), done.stdout
    assert line(done.stdout, "openblas ").split()[1:4] == ["OpenBLAS", "9.8.7", "fakecore"], done.stdout
    assert "a library that talks" in said and "a library that talks" not in done.stdout
    row = line(done.stdout, "33x20x40 NT").split()
    head = line(done.stdout, "m x n x k").split()
    assert head[5:] == ["tilewright", "openblas", "mkl", "aocl", "eigen", "libxsmm", "|", "best", "peer", "medians", "bests"], head
    assert row[4] == "WRONG" and row[5] == "gone" and row[7] == "gone", row
    assert none_counts or row[9] == "openblas", row
    assert set(written) == {"tilewright", "openblas", "mkl", "onednn", "aocl", "blis", "eigen", "libxsmm"}, written
    for name, r in written.items():
        assert (r["engine"], r["m"], r["n"], r["k"], r["op_a"], r["op_b"], r["threads"]) == ("cpu", 33, 20, 40, "n", "t", 1), r
        if name in ("tilewright", "openblas", "eigen"):
            assert r["verified"] == "exact+bound" and 0 < r["min_s"] <= r["median_s"] and r["samples"] == 3, r
        else:
            assert r["median_s"] is None and r["verified"] == ("WRONG" if name == "mkl" else "no"), r
    assert written["openblas"]["library_version"] == "OpenBLAS 9.8.7" and written["openblas"]["kernel"] == "fakecore", written
    assert written["mkl"]["library_version"] == "MKL 7.6" and "crashed" in written["aocl"]["refused"], written


@case
def what_a_library_does_not_take_is_said():
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(FAKES, "eigen.so"), os.path.join(folder, "libxsmm.so"))
        done = bench("--against", "libxsmm", "--size", "16", "--samples", "3", "--threads", "2", "--json", "-", peers=folder)
        ours, other = map(json.loads, done.stdout.splitlines())
        assert done.returncode == 3 and "no product could be compared" in done.stderr, done
        assert "takes m n k up to 16777216, and this is 8589934592" in line(done.stderr, "libxsmm "), done.stderr
        assert ours["median_s"] > 0 and other["refused"] == "computes with 1 thread at most, and 2 were asked for", other


@case
def a_missing_library_is_named():
    with tempfile.TemporaryDirectory() as folder:
        done = bench("--against", "eigen", "--size", "16", peers=folder)
        assert done.returncode == 3 and done.stdout == "", done
        assert f"eigen: it was not found: neither {folder}/eigen.so" in done.stderr and "./dev peers" in done.stderr, done
        assert "there is none of the libraries to compare with" in done.stderr, done
        with open(os.path.join(folder, "eigen.so"), "w") as stream:
            stream.write("not a library\n")
        done = bench("--against", "eigen", "--size", "16", peers=folder)
        assert done.returncode == 3 and "eigen: it cannot be opened: " in done.stderr, done


@case
def command_lines_that_make_no_sense():
    refused("--against", "openblass", says="did you mean openblas?")
    refused("--against", "openblas,eigen,openblas", says="names openblas twice")
    refused("--against", "openblas", "--kernel", "cpu_f32_r01_naive", says="--kernel cannot hold with it")
    refused("--against", "openblas", "--dtype", "bf16", says="f32 and f64, not bf16")
    refused("--deadline", "3", says="--against, which is not given")


@case
def every_row_of_the_table_can_be_fetched_and_is_named():
    source = os.environ.get("TILEWRIGHT_SOURCE", ".")
    names = re.findall(r'^PEER\("([a-z0-9]+)"', open(os.path.join(source, "lab/peers.def")).read(), re.M)
    script = open(os.path.join(source, "tools/peers.sh")).read()
    words = re.sub(r"[^a-z0-9]+", " ", bench("--help").stdout)
    assert len(names) >= 7, names
    for name in names:
        assert f"\nget_{name}() {{" in script and f" {name} " in words, name
    fetched = subprocess.run(["./dev", "peers", "--help"], capture_output=True, text=True, timeout=60, cwd=source)
    assert fetched.returncode == 0 and "build/peers" in fetched.stdout, fetched


def main(words):
    only = words[words.index("--only") + 1] if "--only" in words else ""
    chosen = [c for c in CASES if only in c.__name__]
    if "--list" in words:
        print("\n".join(c.__name__ for c in chosen))
        return 0
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, c in enumerate(chosen, 1):
        try:
            c()
            print(f"ok {number} - {c.__name__}", flush=True)
        except Exception as error:
            failed += 1
            print(f"not ok {number} - {c.__name__}", flush=True)
            print("\n".join("# " + x for x in f"{type(error).__name__}: {error}".splitlines()), flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
