"""bench_table.py - runs `tilewright bench` command by command into one file of records, and reads it: for gpu_types.py
and opencl_tables.py."""
import collections
import json
import os
import subprocess
import sys
import time

TOOLS = os.path.dirname(os.path.abspath(__file__))
# exit statuses: a product of ours is wrong, which its record says; the device or the library to compare with is not here
WRONG, ABSENT = 1, 3

# of a command: its words, its exit status ("no end": it took longer than its limit), and the last line that it said
Outcome = collections.namedtuple("Outcome", "words status said")


def program():
    return os.environ.get("TILEWRIGHT") or os.path.join(os.path.dirname(TOOLS), "build", "tilewright")


def run(command, limit, **environment):
    """Exit status, standard output and what was said last."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=dict(os.environ, **environment))
        status, out, said = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, out, said = "no end", "", (late.stderr or b"").decode(errors="replace")
    return status, out, said.strip().splitlines()[-1] if said.strip() else "nothing said"


def measure(path, shared, commands, limit):
    """The outcome of `bench` with the words of `shared` and of each command in turn, whose records are appended to the
    file `path`."""
    outcomes = []
    for words in commands:
        begin = time.monotonic()
        status, _, said = run([program(), "bench", *shared.split(), "--json", path, "--append", *words.split()], limit)
        print("%5.1f s  bench %s" % (time.monotonic() - begin, words), file=sys.stderr)
        if status not in (0, WRONG):
            print("         exit status %s: %s" % (status, said), file=sys.stderr)
        outcomes.append(Outcome(words, status, said))
    return outcomes


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def shape_of(r):
    text = "%d x %d x %d" % (r["m"], r["n"], r["k"])
    text += " %s%s" % (r["op_a"].upper(), r["op_b"].upper())
    pad = r["ldc"] - r["n"]
    return text + (" +%d" % pad if pad else "") + (", batch of %d" % r["batch"] if r.get("batch") else "")
