#!/usr/bin/python3 -B
"""opencl_tables.py - the opencl engine beside our cuda or cpu engine and CLBlast, on one machine: measures, and prints
one table that says which speeds are wanted and which are reached.

    tools/opencl_tables.py gpu|processor [--records FOLDER] [--only TEXT] [--divide N] [--budget S] [--limit S]
    tools/opencl_tables.py gpu|processor --table FOLDER       the table of records that --records kept, without measuring

gpu: an NVIDIA GPU, beside our cuda engine. processor: PoCL, beside our cpu engine, whose threads are as many as PoCL's
unless something limits one of them. It is the first OpenCL device in either case.

`bench` (TILEWRIGHT: the command to run) verifies each product before it is timed. Our engines run in turns, first in one
order, then in the other (`share`); a speed is the median of the turns' medians, by device events, on the cpu engine by the
host's clock. With CLBlast (`clblast`) calls are interleaved, by the host's clock around each (docs/GUIDE.md). Where a speed
has a bar of its own, an H200 is meant (`speed`): on other GPUs the line shows what was measured, and f32 is held against our
cuda engine. A first call (`first`) is tools/first_call.py in a new process, with empty caches and then with those that the
first one left: with empty ones tw_open() and the call count, with full ones what the call takes longer than the next ones.

Each line ends with `ok`, `BELOW`, `FAILED` (ours is wrong or has no kernel) or `not here`, with the reason. --only takes the
commands whose kind and words contain TEXT, and leaves out the geometric mean where that is not of all shares; --divide divides
each length, for a trial run; --budget is of the whole run (gpu: 340 s), --limit of one command (gpu: 90 s, processor:
900 s). FOLDER gets opencl.jsonl, which `report` reads, and opencl-first-calls.ndjson. Exit status 1: a line is BELOW or
FAILED, a command failed though the engine is here, or nothing was measured.
"""
import argparse
import collections
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time

from bench_table import ABSENT, TOOLS, WRONG, measure, read, run, shape_of

Command = collections.namedtuple("Command", "kind words")
Line = collections.namedtuple("Line", "what value bar most verdict")

THIN = "64x64x65536,4096x16x4096,16x4096x4096"
# Between engines and CLBlast alike. What takes longest to verify comes last.
SHARED = ["--size 256,512,1000,1024,2048", "--size 2048 --transpose-b", "--size 2048 --transpose-a",
          "--size 2048 --transpose-a --transpose-b", "--size 2048 --pad 1", "--shape " + THIN, "--size 3000"]
GEMV = ["--shape 1x16384x16384,16384x1x16384"]
SQUARES = ["--dtype f32,f64 --size 512,1024,2048", "--dtype f32,f64 --size 4096"]
TABLES = {
    "gpu": [Command("share", x) for x in SHARED] + [Command("first", "calls")] +
           [Command("clblast", x) for x in SHARED] + [Command("speed", "--dtype bf16,f16,f64,f32 --size 4096")] +
           [Command("share", x) for x in GEMV] + [Command("clblast", x) for x in GEMV] + [Command("speed", "--size 8192")],
    "processor": [Command("first", "calls")] + [Command("share", x) for x in SQUARES] +
                 [Command("clblast", x) for x in SQUARES],
}
OTHER = {"gpu": "cuda", "processor": "cpu"}  # the engine beside opencl
LEAST = {"gpu": {"share": 0.5, "mean": 0.75, "clblast": 1.5}, "processor": {"share": 0.45, "clblast": 5}}
# TFLOP/s on an H200; f64: 0.85 of what its multiply-adds reach outside the matrix units, which is 31.9
SPEEDS, H200 = {"f32": 47, "f64": 0.85 * 31.9, "bf16": 280, "f16": 280}, "H200"
KERNELS = {"bf16": "gemm_mma_sm80", "f16": "gemm_mma_sm80"}  # which is to reach it
EMPTY_S, FULL_MS = 3, 50
USUAL_LIMIT_S, USUAL_BUDGET_S = {"gpu": 90, "processor": 900}, {"gpu": 340, "processor": math.inf}
SAMPLES = "--samples 11"
FEW_SAMPLES = "--samples 3"  # CLBlast's default tiles take 10 s for a product of 4096 on two cores


# ---- commands ----------------------------------------------------------------------------------------------------------

def divided(words, by):
    """The words with each length divided."""
    return re.sub(r"(?<=--size |--shape)\S*|(?<=--shape )\S+", lambda found: re.sub(r"\d+", lambda x: str(max(int(x[0]) // by, 1)), found[0]), words)


def commands_of(table, only, by):
    found = [x if x.kind == "first" else x._replace(words=divided(x.words, by)) for x in TABLES[table]]
    return [x for x in found if only in " ".join(x)]


def products_of(words):
    """The (type, shape) of each product of `bench`'s words, the shape as shape_of() has it."""
    parser = argparse.ArgumentParser()
    for name, usual in (("--dtype", "f32"), ("--size", ""), ("--shape", ""), ("--pad", "0")):
        parser.add_argument(name, default=usual)
    for name in ("--transpose-a", "--transpose-b"):
        parser.add_argument(name, action="store_true")
    asked = parser.parse_args(words.split())
    shapes = [[int(x)] * 3 for x in asked.size.split(",") if x] + [[int(x) for x in shape.split("x")] for shape in asked.shape.split(",") if shape]
    return [(dtype, shape_of({"m": m, "n": n, "k": k, "op_a": "nt"[asked.transpose_a], "op_b": "nt"[asked.transpose_b], "ldc": n + int(asked.pad)}))
            for dtype in asked.dtype.split(",") for m, n, k in dict.fromkeys(map(tuple, shapes))]


def first_call(folder, caches, cache, by, limit):
    """Times a first call and appends its record. The exit status and what was said last."""
    began = time.monotonic()
    paths = {name: os.path.join(caches, name) for name in ("TILEWRIGHT_CACHE", "POCL_CACHE_DIR", "CUDA_CACHE_PATH")}
    for path in paths.values():
        os.makedirs(path, exist_ok=True)
    status, out, said = run([sys.executable, "-B", os.path.join(TOOLS, "first_call.py"), "--size", str(max(1024 // by, 1))], limit, **paths)
    if out:
        with open(os.path.join(folder, "opencl-first-calls.ndjson"), "a", encoding="utf-8") as file:
            file.write(json.dumps({"cache": cache, **json.loads(out)}) + "\n")
    print("%5.1f s  first call, %s caches" % (time.monotonic() - began, cache), file=sys.stderr)
    return "no record" if status == WRONG and not out else status, said


def measure_all(table, folder, commands, by, limit, budget):
    """Carries out the commands. Why some have no record, by command; and whether all did what they should."""
    begin, reasons, fine, caches = time.monotonic(), {}, True, tempfile.TemporaryDirectory()
    path = os.path.join(folder, "opencl.jsonl")
    for name in (path, os.path.join(folder, "opencl-first-calls.ndjson")):
        open(name, "w", encoding="utf-8").close()
    with caches:
        for command in commands:
            left = budget - (time.monotonic() - begin)
            if left < 1:
                reasons[command], fine = "the budget of %g s was spent" % budget, False
                continue
            most = min(limit, left)
            if command.kind == "first":
                done = [first_call(folder, caches.name, cache, by, most) for cache in ("empty", "full")]
            else:
                pair = ["opencl", OTHER[table]]
                samples = FEW_SAMPLES if (table, command.kind) == ("processor", "clblast") and "4096" in command.words else SAMPLES
                orders = [["opencl"]] if command.kind == "clblast" else [pair, pair[::-1]] if command.kind == "share" else [pair]
                done = [(x.status, x.said) for order in orders for x in measure(
                    path, "--engine %s%s" % (",".join(order), " --against clblast" if command.kind == "clblast" else ""),
                    [command.words + " " + samples], most)]
            for status, said in done:
                if status not in (0, WRONG):
                    reasons[command] = said
                fine = fine and status in (0, WRONG, ABSENT)
    return reasons, fine


# ---- the table ---------------------------------------------------------------------------------------------------------

def sides_of(records):
    """By (side, type, shape) the median of the medians, TFLOP/s, kernel, and why one is missing. Sides: an engine, and
    `ours` and `clblast` where these were compared."""
    found = collections.defaultdict(list)
    for r in records:
        side = r["engine"] if r.get("library") is None else "ours" if r["library"] == "tilewright" else "clblast"
        found[side, r["dtype"], shape_of(r)].append(r)
    sides = {}
    for key, turns in found.items():
        failed = next((r for r in turns if r["median_s"] is None), None)
        seconds = None if failed else statistics.median(r["median_s"] for r in turns)
        flops = 2.0 * turns[0]["m"] * turns[0]["n"] * turns[0]["k"]
        sides[key] = {"seconds": seconds, "tflops": None if failed else 1e-12 * flops / seconds, "kernel": turns[0]["kernel"],
                      "why": failed and (failed.get("refused") or "its product is " + failed["verified"])}
    return sides


def judged(what, value, bar, note, most=False):
    enough = value <= bar if most else value >= bar
    return Line(what, value, bar, most, ("ok  " if enough else "BELOW  ") + note)


def absent(what, bar, why, value=None):
    return Line(what, value, bar, False, "not here: " + why)


def ratio_line(what, ours, theirs, bar, reason):
    """How many times as fast ours is."""
    for side in (ours, theirs):
        if side is None:
            return absent(what, bar, reason or "no record")
    if ours["seconds"] is None:
        return Line(what, None, bar, False, "FAILED: " + ours["why"])
    if theirs["seconds"] is None:
        return absent(what, bar, theirs["why"])
    note = "%.4g us beside %.4g, %s" % (1e6 * ours["seconds"], 1e6 * theirs["seconds"], ours["kernel"])
    return judged(what, theirs["seconds"] / ours["seconds"], bar, note)


def speed_lines(sides, command, reason, device):
    """Of an H200 in TFLOP/s; f32 of another GPU as a share of our cuda engine."""
    for dtype, shape in products_of(command.words):
        ours, what, bar = sides.get(("opencl", dtype, shape)), "%s %s, TFLOP/s" % (dtype, shape), SPEEDS[dtype]
        if ours is None:
            yield absent(what, bar, reason or "no record")
        elif ours["seconds"] is None:
            yield Line(what, None, bar, False, "FAILED: " + ours["why"])
        elif H200 not in device:
            yield absent(what, bar, "the bar is an H200's, this is %s" % device, ours["tflops"])
        elif KERNELS.get(dtype, "") not in ours["kernel"]:
            yield Line(what, ours["tflops"], bar, False, "FAILED: by %s, expected %s" % (ours["kernel"], KERNELS[dtype]))
        else:
            beside = sides.get(("cuda", dtype, shape)) or {"seconds": None}
            share = ", %.3g of our cuda engine" % (beside["seconds"] / ours["seconds"]) if beside["seconds"] else ""
            yield judged(what, ours["tflops"], bar, ours["kernel"] + share)
        if dtype == "f32" and H200 not in device:
            yield ratio_line("%s %s, of our cuda engine" % (dtype, shape), ours, sides.get(("cuda", dtype, shape)), LEAST["gpu"]["mean"], reason)


def first_line(first, cache, reason):
    r = next((r for r in first if r["cache"] == cache), None)
    what, bar = ("first call, empty caches, s", EMPTY_S) if cache == "empty" else ("first call, full caches, ms over the next", FULL_MS)
    if r is None:
        return absent(what, bar, reason or "no record")
    if r["verified"] != "exact":
        return Line(what, None, bar, True, "FAILED: its product is " + r["verified"])
    value = r["open_s"] + r["first_s"] if cache == "empty" else 1e3 * (r["first_s"] - r["run_s"])
    return judged(what, value, bar, "tw_open() %.3g s, the call %.3g s, the next %.3g s" % (r["open_s"], r["first_s"], r["run_s"]), most=True)


def mean_line(lines, bar):
    what = "f32, geometric mean of %d, of our cuda engine" % len(lines)
    if any(line.value is None for line in lines):
        return absent(what, bar, "lines above are missing")
    return judged(what, statistics.geometric_mean(line.value for line in lines), bar, "")


def lines_of(table, commands, records, first, reasons):
    sides, lines, shares = sides_of(records), [], []
    device = next((r["device"] for r in records if r["engine"] == "opencl"), "unknown")
    for command in commands:
        reason, least = reasons.get(command), LEAST[table]
        if command.kind == "first":
            lines.extend(first_line(first, cache, reason) for cache in ("empty", "full"))
        elif command.kind == "speed":
            lines.extend(speed_lines(sides, command, reason, device))
        else:
            names = ("ours", "clblast") if command.kind == "clblast" else ("opencl", OTHER[table])
            for dtype, shape in products_of(command.words):
                against = "CLBlast" if command.kind == "clblast" else "our %s engine" % OTHER[table]
                line = ratio_line("%s %s, of %s" % (dtype, shape, against), *(sides.get((name, dtype, shape)) for name in names), least[command.kind], reason)
                lines.append(line)
                shares.extend([line] if command.kind == "share" else [])
    # a mean of fewer says something else
    if "mean" in LEAST[table] and len([x for x in commands if x.kind == "share"]) == len([x for x in TABLES[table] if x.kind == "share"]):
        lines.append(mean_line(shares, LEAST[table]["mean"]))
    return lines


def printed(line):
    value = "-" if line.value is None else "%.3g" % line.value
    return ("%-48s %8s %8s  %s" % (line.what, value, "%s%.3g" % ("<" if line.most else "", line.bar), line.verdict)).rstrip()


def good(lines):
    return any(line.value is not None for line in lines) and not any(re.match("BELOW|FAILED", line.verdict) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES, metavar="gpu|processor")
    parser.add_argument("--records", metavar="FOLDER", help="keep the records there")
    parser.add_argument("--table", dest="kept", metavar="FOLDER", help="the table of these records; measures nothing")
    parser.add_argument("--only", default="", metavar="TEXT", help="commands whose kind and words contain it")
    parser.add_argument("--divide", type=int, default=1, metavar="N", help="each length, for a trial run")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="of the whole run")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of one command")
    asked = parser.parse_args()
    commands = commands_of(asked.table, asked.only, max(asked.divide, 1))
    if not commands:
        sys.exit("no command contains %r" % asked.only)
    with tempfile.TemporaryDirectory() as scratch:
        folder, reasons, fine = asked.kept or asked.records or scratch, {}, True
        if not asked.kept:
            os.makedirs(folder, exist_ok=True)
            reasons, fine = measure_all(asked.table, folder, commands, max(asked.divide, 1), asked.limit or USUAL_LIMIT_S[asked.table],
                                        asked.budget or USUAL_BUDGET_S[asked.table])
        records, first = (read(os.path.join(folder, name)) for name in ("opencl.jsonl", "opencl-first-calls.ndjson"))
    lines = lines_of(asked.table, commands, records, first, reasons)
    print("%-48s %8s %8s" % ("", "measured", "wanted"))
    print("\n".join(map(printed, lines)))
    sys.exit(0 if fine and good(lines) else 1)


if __name__ == "__main__":
    main()
