#!/usr/bin/python3 -B
"""gpu_types.py - f64, tf32, int8 and fp8 on CUDA beside cuBLASLt: runs `bench --against cublas` and prints one table.

    tools/gpu_types.py [--records FILE] [--only TEXT] [--limit SECONDS]     measure; TILEWRIGHT: the command to run
    tools/gpu_types.py --table FILE                                         the table of records, without a GPU

A ratio is our speed over that of cuBLASLt's faster choice, by its heuristic or the best of eight. The bar is the least
ratio that we ask for: 0.97; 1.1 for batches and for f64 with an edge of 1000 or less; 1 for odd and padded rows.
"none": cuBLASLt has no kernel, or its product is wrong. --only takes the lines whose command contains TEXT; --limit is
of one command. Exit status 1: a ratio is below its bar, a product of ours is wrong or missing, or a command failed; the
table shows which.
"""
import argparse
import os
import sys
import tempfile

from bench_table import WRONG, measure, read, shape_of

FEW = "1x8192x28672,16x8192x28672,64x8192x28672"
ODD = "4097x4095x4093"
# B is stored n x k (--transpose-b) where the units read along k only; without it they read it as it lies or a pass
# transposes it. What takes longest to verify comes last.
COMMANDS = [
    "--dtype f64 --shape 4096x4096x4096,8192x8192x8192,3000x3000x3000,5001x5001x5001,256x256x256,512x512x512,"
    "1000x1000x1000,4096x16x4096,64x64x65536",
    "--dtype f64 --size 4096 --transpose-b",
    "--dtype f64 --size 4096 --transpose-a",
    "--dtype f64 --size 4096 --transpose-a --transpose-b",
    "--dtype f64 --size 4096 --pad 1",
    "--dtype f64,tf32,i8,e4m3 --size 32,128 --transpose-b --batch 1000",
    "--dtype tf32,i8,e4m3 --transpose-b --shape 4096x4096x4096,8192x8192x8192," + ODD,
    "--dtype i8,e4m3,tf32 --shape 16x8192x8192,256x8192x8192,4096x4096x4096",
    "--dtype i8 --transpose-b --shape " + FEW,
    "--dtype e4m3 --transpose-b --shape " + FEW,
    "--dtype tf32 --transpose-b --shape 16x8192x28672",
    "--dtype i8 --transpose-b --size 16384",
]


def bar_of(r):
    if r.get("batch") or (r["dtype"] == "f64" and min(r["m"], r["n"], r["k"]) <= 1000):
        return 1.1
    return 1.0 if r["ldc"] != r["n"] or r["n"] % 2 else 0.97


def lines_of(records):
    """A line for each product, in the order in which they came: ours, and the fastest of cuBLASLt's that is right."""
    found = {}
    for r in records:
        line = found.setdefault((r["dtype"], shape_of(r)), {"ours": None, "peer": None, "bar": bar_of(r), "why": ""})
        side = "peer" if r["library"] == "cublas" else "ours"
        if r["median_s"] is None:
            if side == "ours":
                line["why"] = r.get("refused") or r["verified"]
        elif line[side] is None or r["median_s"] < line[side]["median_s"]:
            line[side] = r
    return found


def judge(line):
    """The ratio, None where there is none to compare with; and whether that is enough."""
    if line["ours"] is None:
        return None, False
    if line["peer"] is None:
        return None, True
    ratio = line["peer"]["median_s"] / line["ours"]["median_s"]
    return ratio, ratio >= line["bar"]


def table(records):
    """The table as text, and whether all lines are at their bars."""
    out, good = ["%-5s %-34s %10s %10s %7s %5s  %s" % ("type", "m x n x k", "TFLOP/s", "cuBLASLt", "ratio", "bar", "kernel")], True
    found = lines_of(records)
    for (dtype, shape), line in found.items():
        ratio, enough = judge(line)
        good = good and enough
        speed = lambda r: "-" if r is None else "%.4g" % (r["gflops"] / 1000)
        kernel = line["ours"]["kernel"] if line["ours"] else line["why"]
        said = "none" if ratio is None else "%.3f" % ratio
        out.append("%-5s %-34s %10s %10s %7s %5.2f  %s%s" % (dtype, shape, speed(line["ours"]), speed(line["peer"]), said, line["bar"], kernel, "" if enough else "  BELOW" if line["ours"] else "  FAILED"))
    return "\n".join(out), good and bool(found)


def measure_chosen(path, only, limit):
    """Runs the commands, each with at most `limit` seconds; False if one failed otherwise than by a wrong product."""
    chosen = [words for words in COMMANDS if only in words]
    open(path, "w").close()
    if not chosen:
        print("no line's command contains %r" % only, file=sys.stderr)
    outcomes = measure(path, "--engine cuda --against cublas", chosen, limit)
    return bool(chosen) and all(x.status in (0, WRONG) for x in outcomes)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", metavar="FILE", help="keep the records there")
    options.add_argument("--only", default="", metavar="TEXT", help="lines whose command contains it")
    options.add_argument("--limit", type=float, default=90, metavar="SECONDS", help="of one command (default: 90)")
    options.add_argument("--table", metavar="FILE", help="the table of these records; measures nothing")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.table or chosen.records or os.path.join(folder, "records.jsonl")
        fine = bool(chosen.table) or measure_chosen(path, chosen.only, chosen.limit)
        text, good = table(read(path))
    print(text)
    sys.exit(0 if fine and good else 1)


if __name__ == "__main__":
    main()
