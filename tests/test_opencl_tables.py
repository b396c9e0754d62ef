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
import json, os, re, sys
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
def what_is_not_here_is_said_and_what_fails_is_not_passed_over():
    done = tool("gpu", "--only", "share --size 3000", SECONDS=seconds(cuda="the CUDA driver cannot be used"))
    assert done.returncode == 1 and done.stdout.count("not here: the CUDA driver cannot be used") == 1, done  # nothing was measured
    done = tool("gpu", "--only", "--size 3000", SECONDS=seconds(clblast="clblast: it was not found", opencl=1e-3))
    assert done.returncode == 0 and "CLBlast" in done.stdout and "not here: clblast: it was not found" in done.stdout, done
    done = tool("gpu", "--only", "share --size 3000", SECONDS=seconds(opencl=1e-3), STATUS="8")
    assert done.returncode == 1 and "exit status 8: something broke" in done.stderr and "  ok" in done.stdout, done
    done = tool("gpu", "--only", "share --size 3000", "--budget", "1e-9", SECONDS=seconds(opencl=1e-3))
    assert done.returncode == 1 and "not here: the budget of 1e-09 s was spent" in done.stdout and not os.path.exists("calls"), done
    done = tool("gpu", "--only", "nothing is so called")
    assert done.returncode == 1 and "no command contains" in done.stderr and not os.path.exists("calls"), done


@case
def a_first_call_is_timed_on_the_device_that_is_here():
    needs("opencl")
    if sanitized():
        raise Skip("a library with sanitizers does not load into this Python")
    done = tool("processor", "--only", "first", "--divide", "16", "--records", "kept", TILEWRIGHT_OPENCL_OPTIONS="-cl-opt-disable")
    written = [json.loads(x) for x in open("kept/opencl-first-calls.ndjson", encoding="utf-8")]
    assert [r["cache"] for r in written] == ["empty", "full"] and all(r["verified"] == "exact" and r["m"] == 64 for r in written), (written, done)
    assert done.returncode in (0, 1) and "FAILED" not in done.stdout and "not here" not in done.stdout, done  # how fast a test is not asked
    # kernels are compiled with empty caches, and not with full ones
    assert written[0]["first_s"] > 2 * written[1]["first_s"] > 2 * written[1]["run_s"] > 0, written
    done = tool("processor", "--only", "first", "--divide", "16", OCL_ICD_VENDORS="/nowhere", OCL_ICD_FILENAMES="")
    assert done.returncode == 1 and done.stdout.count("not here: ") == 2 and "OpenCL" in done.stdout, done


if __name__ == "__main__":
    main()
