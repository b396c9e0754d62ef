#!/usr/bin/python3 -B
"""test_opencl_tables.py - tools/opencl_tables.py: what its table says of records, how it runs the program, by a double that
writes records of the products that it is asked for, and a first call on the OpenCL device that is here.

    test_opencl_tables.py [--list] [--full] [--only TEXT]
"""
import json
import os
import re
import subprocess

from support.program import BUILD, ROOT, needs, sanitized
from support.tap import Skip, case, main

TOOL = os.path.join(ROOT, "tools", "opencl_tables.py")

# The double of `tilewright bench`: SECONDS has how long each engine and library takes for a product of 1024 cubed.
DOUBLE = """#!/usr/bin/python3 -B
import json, os, re, sys, time
w = sys.argv[1:]
word = lambda name, usual: w[w.index(name) + 1] if name in w else usual
print(" ".join(w), file=open("calls", "a"))
seconds = {"opencl": 2e-3, "cuda": 1e-3, "cpu": 1e-3, "clblast": 8e-3, **json.loads(os.environ.get("SECONDS", "{}"))}
status = 0
with open(word("--json", None), "a") as out:
    for engine in word("--engine", "").split(","):
        for library in ("tilewright", "clblast") if "--against" in w else (None,):
            took = seconds["clblast" if library == "clblast" else engine]
            if isinstance(took, str):
                print(took, file=sys.stderr)
                status = 3
                continue
            for dtype in word("--dtype", "f32").split(","):
                for shape in re.findall(r"[0-9x]+", word("--size", "") + "," + word("--shape", "")):
                    m, n, k = map(int, shape.split("x") if "x" in shape else [shape] * 3)
                    kernel = "%s_%s_%s" % (engine, dtype, "gemm_mma_sm80_128x128" if dtype in ("bf16", "f16") else "k")
                    out.write(json.dumps({"engine": engine, "device": os.environ.get("DEVICE", "NVIDIA H200"), "library": library, "kernel": kernel, "dtype": dtype, "m": m, "n": n, "k": k,
                        "op_a": "nt"["--transpose-a" in w], "op_b": "nt"["--transpose-b" in w], "ldc": n + int(word("--pad", 0)), "median_s": took * m * n * k / 2**30, "refused": None, "verified": "exact+bound"}) + "\\n")
if os.environ.get("STATUS"):
    print("something broke", file=sys.stderr)
    sys.exit(int(os.environ["STATUS"]))
if os.environ.get("SLEEP"):
    time.sleep(float(os.environ["SLEEP"]))
sys.exit(status)
"""


def tool(*words, **env):
    with open("double", "w", encoding="utf-8") as f:
        f.write(DOUBLE)
    os.chmod("double", 0o755)
    if os.path.exists("calls"):
        os.remove("calls")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_")}
    more = {"TILEWRIGHT": os.path.abspath("double"), "TILEWRIGHT_LIBRARY": os.path.join(BUILD, "libtilewright.so.0"), **env}
    return subprocess.run(["/usr/bin/python3", "-B", TOOL, *words], capture_output=True, text=True, timeout=300, env=dict(kept, **more))


def rows(done):
    """By what a line is of: the measured, the wanted, and the rest."""
    return {row[:48].strip(): row[48:].split(None, 2) for row in done.stdout.splitlines()[1:]}


def calls():
    return open("calls", encoding="utf-8").read().splitlines()


def seconds(**each):
    return json.dumps(each)


@case
def both_engines_run_in_turns_in_both_orders():
    done = tool("gpu", "--only", "share --size 256")
    assert done.returncode == 0, done
    assert [re.search("--engine ([a-z,]+)", x)[1] for x in calls()] == ["opencl,cuda", "cuda,opencl"], calls()
    found = rows(done)
    assert len(found) == 5 and found["f32 1000 x 1000 x 1000 NN, of our cuda engine"][:2] == ["0.5", "0.5"], found
    assert all("ok" in x[2] for x in found.values()), found
    # a share of 0.5 each is no mean of 0.75
    done = tool("gpu", "--only", "share")
    found = rows(done)
    assert done.returncode == 1 and len(found) == 16, done
    assert found["f32, geometric mean of 15, of our cuda engine"][:2] == ["0.5", "0.75"] and "BELOW" in done.stdout, found


@case
def each_line_says_what_it_is_below():
    done = tool("gpu", "--only", "share --size 3000", SECONDS=seconds(opencl=2.1e-3))
    found = rows(done)
    assert done.returncode == 1 and found["f32 3000 x 3000 x 3000 NN, of our cuda engine"][0] == "0.476" and done.stdout.count("BELOW") == 1, done
    done = tool("gpu", "--only", "share", SECONDS=seconds(opencl=1.3e-3))
    assert done.returncode == 0 and "BELOW" not in done.stdout and done.stdout.count("  ok") == 16, done
    done = tool("gpu", "--only", "clblast --size 2048 --pad", SECONDS=seconds(opencl=5.5e-3))
    assert done.returncode == 1 and rows(done)["f32 2048 x 2048 x 2048 NN +1, of CLBlast"][:2] == ["1.45", "1.5"], done
    done = tool("gpu", "--only", "clblast --shape 64x64")
    assert done.returncode == 0 and "--samples 11" in calls()[0], done
    done = tool("processor", "--only", "clblast --dtype f32,f64 --size 4096", SECONDS=seconds(clblast=9.8e-3))
    assert done.returncode == 1 and rows(done)["f64 4096 x 4096 x 4096 NN, of CLBlast"][:2] == ["4.9", "5"] and "--samples 3" in calls()[0], done
    done = tool("processor", "--only", "share", SECONDS=seconds(cpu=0.92e-3))
    assert done.returncode == 0 and len(rows(done)) == 8 and rows(done)["f32 512 x 512 x 512 NN, of our cpu engine"][:2] == ["0.46", "0.45"], done


@case
def speeds_of_an_h200_are_asked_of_no_other_gpu():
    fast, slow = seconds(opencl=2 * 2**30 / 300e12, cuda=1e-5), seconds(opencl=2 * 2**30 / 46.9e12, cuda=3e-5)
    done = tool("gpu", "--only", "speed --dtype", SECONDS=fast)
    assert done.returncode == 0 and done.stdout.count("  ok") == 4 and "1.4 of our cuda engine" in done.stdout, done
    done = tool("gpu", "--only", "speed --dtype", SECONDS=slow)
    assert done.returncode == 1 and rows(done)["f32 4096 x 4096 x 4096 NN, TFLOP/s"][:2] == ["46.9", "47"] and done.stdout.count("BELOW") == 3, done
    done = tool("gpu", "--only", "speed --dtype", SECONDS=slow, DEVICE="NVIDIA H100")
    found = rows(done)
    assert done.returncode == 1 and done.stdout.count("not here: the bar is an H200's, this is NVIDIA H100") == 4, done
    assert found["f32 4096 x 4096 x 4096 NN, of our cuda engine"][:2] == ["0.655", "0.75"], found
    done = tool("gpu", "--only", "speed --size 8192", SECONDS=fast, DEVICE="NVIDIA H100")
    assert done.returncode == 0 and "  ok" in done.stdout, done


@case
def what_is_not_here_is_said_and_what_fails_is_not_passed_over():
    done = tool("gpu", "--only", "share --size 3000", SECONDS=seconds(cuda="the CUDA driver cannot be used"))
    assert done.returncode == 1 and done.stdout.count("not here: the CUDA driver cannot be used") == 1, done  # nothing was measured
    done = tool("gpu", "--only", "--size 3000", SECONDS=seconds(clblast="clblast: it was not found", opencl=1e-3))
    assert done.returncode == 0 and "CLBlast" in done.stdout and "not here: clblast: it was not found" in done.stdout, done
    done = tool("gpu", "--only", "share --size 3000", SECONDS=seconds(opencl=1e-3), STATUS="8")
    assert done.returncode == 1 and "exit status 8: something broke" in done.stderr and "  ok" in done.stdout, done
    done = tool("gpu", "--only", "share --size 3000", "--limit", "1", SLEEP="30")
    assert done.returncode == 1 and done.stderr.count("no end") == 2, done
    done = tool("gpu", "--only", "share --size", "--budget", "2.5", SLEEP="1.2", SECONDS=seconds(opencl=1e-3))
    assert done.returncode == 1 and "not here: the budget of 2.5 s was spent" in done.stdout and len(calls()) < 6, done
    done = tool("gpu", "--only", "nothing is so called")
    assert done.returncode == 1 and "no command contains" in done.stderr and not os.path.exists("calls"), done


@case
def a_table_is_made_again_of_records():
    done = tool("gpu", "--only", "share", "--divide", "4", "--records", "kept", SECONDS=seconds(opencl=1e-3))
    assert done.returncode == 0 and "f32 512 x 512 x 512 TT, of our cuda engine" in done.stdout and "1 x 4096 x 4096" in done.stdout, done
    again = tool("gpu", "--only", "share", "--divide", "4", "--table", "kept")
    assert (again.returncode, again.stdout) == (0, done.stdout) and not os.path.exists("calls"), again
    lines = open("kept/opencl.jsonl", encoding="utf-8").readlines()

    def told(*records):
        with open("kept/opencl.jsonl", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in records)
        return tool("gpu", "--only", "share --size 750", "--divide", "4", "--table", "kept")

    every = [json.loads(x) for x in lines if json.loads(x)["m"] == json.loads(x)["n"] == 750]
    assert len(every) == 4 and told(*every).returncode == 0, every
    wrong = [dict(r, median_s=None, verified="WRONG") if i == 3 else r for i, r in enumerate(every)]
    assert wrong[3]["engine"] == "opencl"
    done = told(*wrong)
    assert done.returncode == 1 and "FAILED: its product is WRONG" in done.stdout, done
    done = told(*[r for r in every if r["engine"] == "opencl"])
    assert done.returncode == 1 and "not here: no record" in done.stdout, done
    done = tool("gpu", "--only", "speed --dtype", "--records", "kept", SECONDS=seconds(opencl=1e-6))
    with open("kept/opencl.jsonl", encoding="utf-8") as f:
        other = f.read().replace("gemm_mma_sm80_128x128", "gemm_simt_128x64")
    with open("kept/opencl.jsonl", "w", encoding="utf-8") as f:
        f.write(other)
    done = tool("gpu", "--only", "speed --dtype", "--table", "kept")
    assert done.returncode == 1 and done.stdout.count("FAILED: by opencl_") == 2, done


@case
def first_calls_are_judged_by_their_records():
    os.mkdir("kept")
    open("kept/opencl.jsonl", "w").close()

    def told(**more):
        with open("kept/opencl-first-calls.ndjson", "w", encoding="utf-8") as f:
            for cache in ("empty", "full"):
                f.write(json.dumps({"cache": cache, "open_s": 1.5, "first_s": 1.25 if cache == "empty" else 0.05, "run_s": 0.01, "verified": "exact", **more}) + "\n")
        return tool("processor", "--only", "first", "--table", "kept")

    done = told()
    found = rows(done)
    assert done.returncode == 0 and found["first call, empty caches, s"][:2] == ["2.75", "<3"] and found["first call, full caches, ms over the next"][:2] == ["40", "<50"], found
    done = told(open_s=1.8)
    assert done.returncode == 1 and done.stdout.count("BELOW") == 1, done
    done = told(first_s=0.07)
    assert done.returncode == 1 and rows(done)["first call, full caches, ms over the next"][0] == "60", done
    assert told(verified="WRONG").stdout.count("FAILED: its product is WRONG") == 2


@case
def a_first_call_is_timed_on_the_device_that_is_here():
    needs("opencl")
    if sanitized():
        raise Skip("a library with sanitizers does not load into this Python")
    done = tool("processor", "--only", "first", "--divide", "16", "--records", "kept")
    written = [json.loads(x) for x in open("kept/opencl-first-calls.ndjson", encoding="utf-8")]
    assert [r["cache"] for r in written] == ["empty", "full"] and all(r["verified"] == "exact" and r["m"] == 64 for r in written), (written, done)
    assert done.returncode in (0, 1) and "FAILED" not in done.stdout and "not here" not in done.stdout, done  # how fast a test is not asked
    # kernels are compiled with empty caches, and not with full ones
    assert written[0]["first_s"] > 2 * written[1]["first_s"] > 2 * written[1]["run_s"] > 0, written
    done = tool("processor", "--only", "first", "--divide", "16", OCL_ICD_VENDORS="/nowhere", OCL_ICD_FILENAMES="")
    assert done.returncode == 1 and done.stdout.count("not here: ") == 2 and "OpenCL" in done.stdout, done


if __name__ == "__main__":
    main()
