#!/usr/bin/python3 -B
"""scale.py - what docs/SCALE.md shows: products over simulated ranks beside the model's estimate, and real runs.

    tools/scale.py [--ranks N,...] [--shape MxNxK,...] [--grid PMxPNxPK,...] [--dtype f32|f64] [--threads T]
                   [--rate GFLOPS] [--network GBPS] [--latency US] [--taper X] [--limit S] [--json FILE]
    tools/scale.py --calibrate [--hosts N] [--rounds R] [--shape MxNxK,...] [--limit S] [--json FILE]

The schedule of mpi/ runs in SimGrid's simulator, one rank a host, on a fat tree of two levels. Hosts compute T x 35
GFLOP/s (f32: 70), or --rate; links have GBPS and US. --taper X leaves each leaf switch 1/X of the links upwards.
--grid 0x0x0 (default) is the grid that the program chooses. A simulation that takes longer than S seconds is given up.

--calibrate runs `multiply` on N hosts (2), network namespaces with links of 1 Gbit/s, beside the simulation and the
model of the same, interleaved, R times. The rate is measured just before each run, by as many processes at a time.
Needs root, ip, tc and Open MPI.

Prints tables in Markdown. $TILEWRIGHT_BUILD is the build folder (build without it), which needs smpicc.
"""
import argparse
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("TILEWRIGHT_BUILD", os.path.join(ROOT, "build")))
NOMINAL = {"f32": 70, "f64": 35}


class Failure(Exception):
    """What is missing here, or went wrong."""


def sides(shape):
    return tuple(map(int, shape.split("x")))


def seconds_of(block, gflops):
    return 2 * math.prod(block) / gflops / 1e9


# ---- simulations ----------------------------------------------------------------------------------------------------

def platform(ranks, gflops, gbps, latency_us, taper):
    """SimGrid's description: as many leaf switches as hosts below each, or nearly; of a prime number a star."""
    below = max(d for d in range(1, math.isqrt(ranks) + 1) if ranks % d == 0)
    tree = f'topology="FAT_TREE" topo_parameters="2;{below},{ranks // below};1,{max(1, round(below / taper))};1,1"'
    return f"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{ranks - 1}" speed="{gflops}Gf" bw="{gbps / 8}GBps"
           lat="{latency_us}us" {tree if below > 1 else ""}/>
</platform>
"""


def simulate(ranks, shape, grid, *, dtype, gflops, threads, gbps, latency_us, taper, limit):
    """What the simulated ranks say, with the model's times at their rate; None where the limit was too short."""
    program = os.path.join(BUILD, "tests", "mpi_simulated")
    if not shutil.which("smpirun") or not os.path.exists(program):
        raise Failure("SimGrid's SMPI is not here: smpirun, and tests/mpi_simulated in the build folder, which the "
                      "build makes where it finds smpicc (Debian: libsimgrid-dev)")
    with tempfile.TemporaryDirectory(prefix="tilewright-scale.") as folder:
        xml, hosts = os.path.join(folder, "platform.xml"), os.path.join(folder, "hosts")
        open(xml, "w").write(platform(ranks, gflops, gbps, latency_us, taper))
        open(hosts, "w").write("".join(f"n{i}\n" for i in range(ranks)))
        settings = ("smpi/simulate-computation:no", f"smpi/host-speed:{gflops}Gf", "smpi/test:0",
                    f"smpi/tmpdir:{folder}")
        words = ["smpirun", "-quiet", "-np", str(ranks), "-platform", xml, "-hostfile", hosts,
                 *(f"--cfg={x}" for x in settings), "--log=root.thres:warning",
                 program, shape, grid, dtype, str(gbps), str(threads)]
        job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                               start_new_session=True)
        try:
            out, err = job.communicate(timeout=limit)
        except BaseException as stop:  # also where this script is stopped
            os.killpg(job.pid, 9)
            job.wait()
            if isinstance(stop, subprocess.TimeoutExpired):
                return None
            raise
        if job.returncode != 0:
            raise Failure(f"smpirun: exit {job.returncode}: {err.strip() or out.strip()}")
    found = json.loads(out)
    moves_s = found["predicted_s"] - found["compute_s"]  # which does not depend on the rate
    block = [-(-side // parts) for side, parts in zip(sides(shape), (found["pm"], found["pn"], found["pk"]))]
    compute_s = seconds_of(block, gflops)
    return {**found, "shape": shape, "ranks": ranks, "gflops": gflops, "network_gbps": gbps, "latency_us": latency_us,
            "taper": taper, "compute_s": compute_s, "predicted_s": compute_s + moves_s}


def row(ranks, shape, found):
    grid = found["pm"], found["pn"], found["pk"]
    ideal_s = seconds_of(sides(shape), found["gflops"]) / math.prod(grid)
    took_s = found["simulated_s"]
    return (f"| {ranks} | {shape} | {'x'.join(map(str, grid))} | {1e3 * found['predicted_s']:.4g} ms | "
            f"{1e3 * took_s:.4g} ms | {took_s / found['compute_s']:.2f} | {100 * ideal_s / took_s:.0f}% | "
            f"{found['predicted_s'] / took_s:.2f} |")


def simulations(asked, keep):
    link = {"gbps": asked.network, "latency_us": asked.latency, "taper": asked.taper}
    gflops = asked.rate or NOMINAL[asked.dtype] * asked.threads
    print(f"{asked.dtype}, {gflops:g} GFLOP/s a rank, {asked.network:g} Gbit/s, {asked.latency:g} us a link, "
          f"taper {asked.taper:g}\n")
    print("| ranks | m x n x k | grid | model | simulated | of compute alone | efficiency | model / simulated |\n"
          "|---:|---|---|---:|---:|---:|---:|---:|", flush=True)
    for ranks, shape, grid in ((r, s, g) for r in asked.ranks for s in asked.shape for g in asked.grid):
        if math.prod(sides(grid)) > ranks:
            continue
        found = simulate(ranks, shape, grid, dtype=asked.dtype, gflops=gflops, threads=asked.threads, limit=asked.limit,
                         **link)
        if found:
            keep(found)
        print(row(ranks, shape, found) if found else f"| {ranks} | {shape} | {grid} | | over {asked.limit:g} s to "
              "simulate | | | |", flush=True)


# ---- beside real runs -----------------------------------------------------------------------------------------------

def record_of(path):
    return json.loads(open(path).read().splitlines()[-1])


def rate_of(count, block):
    """GFLOP/s of the slowest of so many processes that multiply such a block at the same time."""
    words = [os.path.join(BUILD, "tilewright"), "bench", "--shape", "x".join(map(str, block)), "--dtype", "f64",
             "--threads", "1", "--samples", "3", "--json"]
    jobs = [subprocess.Popen([*words, f"rate{i}.jsonl"], stdout=subprocess.DEVNULL) for i in range(count)]
    if any([job.wait() for job in jobs]):
        raise Failure("bench failed")
    return min(record_of(f"rate{i}.jsonl")["gflops"] for i in range(count))


def run_once(asked, hosts, shape, grid):
    load = os.getloadavg()[0]
    gflops = rate_of(asked.hosts, [-(-side // parts) for side, parts in zip(sides(shape), sides(grid))])
    job = hosts.start(f"A{shape}.npy", f"B{shape}.npy", "-o", "C.npy", "--grid", grid, "--threads", "1",
                      "--json", "run.jsonl")
    try:
        _, err = job.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        raise Failure(f"multiply {shape} as {grid}: over 300 s") from None
    if job.returncode != 0:
        raise Failure(f"multiply: exit {job.returncode}: {err}")
    found = simulate(asked.hosts, shape, grid, dtype="f64", gflops=gflops, threads=1, gbps=1, latency_us=50, taper=1,
                     limit=asked.limit)
    if found is None:
        raise Failure(f"{shape}: over {asked.limit:g} s to simulate")
    return {**found, "load": load, "measured_s": record_of("run.jsonl")["min_s"]}


def spread(all_, value, places=2):
    values = sorted(map(value, all_))
    return "{:.{p}f} ({:.{p}f}-{:.{p}f})".format(statistics.median(values), values[0], values[-1], p=places)


def calibrate(asked, keep, hosts, header):
    for shape in asked.shape:
        m, n, k = sides(shape)
        for name, rows, cols in (("A", m, k), ("B", k, n)):
            with open(f"{name}{shape}.npy", "wb") as file:  # zeros take as long as other numbers
                file.write(header("<f8", (rows, cols)))
                file.truncate(file.tell() + rows * cols * 8)
    cases = [(shape, grid) for shape in asked.shape for grid in (f"1x{asked.hosts}x1", f"1x1x{asked.hosts}")]
    seen = {case: [] for case in cases}
    for case in cases * asked.rounds:
        seen[case].append(run_once(asked, hosts, *case))
        keep(seen[case][-1])
    print(f"f64, {asked.hosts} hosts of one thread, 1 Gbit/s; medians and ranges of {asked.rounds} rounds\n")
    print("| m x n x k | grid | load | GFLOP/s | measured, s | model, s | simulated, s | model / measured | "
          "simulated / measured |\n|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for (shape, grid), all_ in seen.items():
        cells = [spread(all_, lambda x: x["load"], 1), spread(all_, lambda x: x["gflops"], 1)]
        for name in ("measured_s", "predicted_s", "simulated_s"):
            cells.append(spread(all_, lambda x: x[name]))
        for name in ("predicted_s", "simulated_s"):
            cells.append(spread(all_, lambda x: x[name] / x["measured_s"]))
        print(f"| {shape} | {grid} | {' | '.join(cells)} |", flush=True)


def calibration(asked, keep):
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    os.environ["TILEWRIGHT"] = os.path.join(BUILD, "tilewright")
    sys.argv[1:] = []  # which the tests' modules would read
    from support.hosts import Hosts
    from support.matrices import npy_header
    from support.tap import Skip
    with tempfile.TemporaryDirectory(prefix="tilewright-scale.") as folder:
        os.chdir(folder)
        try:
            with Hosts(asked.hosts, "1gbit") as hosts:
                calibrate(asked, keep, hosts, npy_header)
        except Skip as reason:
            raise Failure(str(reason)) from None
        finally:
            os.chdir(ROOT)


def main():
    def words(text):
        return text.split(",")

    parser = argparse.ArgumentParser(usage=__doc__, allow_abbrev=False)
    parser.add_argument("--ranks", type=lambda text: [int(x) for x in words(text)], default=[64])
    parser.add_argument("--shape", type=words)
    parser.add_argument("--grid", type=words, default=["0x0x0"])
    parser.add_argument("--dtype", choices=list(NOMINAL), default="f64")
    parser.add_argument("--threads", type=int, default=32)
    for name, value in (("rate", 0), ("network", 100), ("latency", 1), ("taper", 1), ("limit", 120)):
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=os.path.abspath)
    asked = parser.parse_args()
    asked.shape = asked.shape or (["2048x2048x2048", "4096x4096x4096"] if asked.calibrate else ["16384x16384x16384"])
    found = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("scale.py: stopped"))  # hosts and folders are removed
    try:
        (calibration if asked.calibrate else simulations)(asked, found.append)
    except Failure as reason:
        sys.exit(f"scale.py: {reason}")
    finally:
        if asked.json:
            open(asked.json, "w").write("".join(json.dumps(x) + "\n" for x in found))


if __name__ == "__main__":
    main()
