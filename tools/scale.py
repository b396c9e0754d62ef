#!/usr/bin/python3 -B
"""scale.py - what docs/SCALE.md shows: a product over simulated ranks beside the model's estimate, and both beside real runs.

    tools/scale.py [--ranks N,...] [--shape MxNxK,...] [--grid PMxPNxPK,...] [--threads T] [--network GBPS] [--latency US] [--taper X]
                   [--rate GFLOPS] [--dtype f32|f64] [--limit S] [--json FILE]
    tools/scale.py --calibrate [--hosts N] [--rounds R] [--shape MxNxK,...] [--json FILE]

The ranks' schedule (dist/) runs in SimGrid's simulator, one rank a host, on a fat tree of two levels: hosts of T x 35 GFLOP/s (f32: 70), or
of --rate, and links of GBPS. --taper X leaves each leaf switch 1/X of the links upwards. --grid 0x0x0 (default) is the chosen grid. Each
simulation may take S seconds. --calibrate runs `multiply` on N hosts (2) that are network namespaces with links of 1 Gbit/s, and the
simulation and the model of the same, interleaved, R times; needs root, ip, tc and Open MPI. The rate is measured just before each run, by as
many processes at a time.

Prints tables in Markdown. $TILEWRIGHT_BUILD is the build folder (build without it), where smpicc was found.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOMINAL = {"f32": 70, "f64": 35}


class Missing(Exception):
    """What this machine lacks."""


def build():
    return os.path.abspath(os.environ.get("TILEWRIGHT_BUILD", os.path.join(ROOT, "build")))


def fat_tree(ranks):
    """Hosts below a leaf switch, and leaf switches: as even as can be."""
    below = max(d for d in range(1, int(ranks**0.5) + 1) if ranks % d == 0)
    return below, ranks // below


def platform(ranks, gflops, gbps, latency_us, taper):
    """SimGrid's description. One host below a leaf (a prime number of them) is a star: one switch."""
    below, leaves = fat_tree(ranks)
    topology = "" if below == 1 or leaves == 1 else f' topology="FAT_TREE" topo_parameters="2;{below},{leaves};1,{max(1, round(below / taper))};1,1"'
    return (f'<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
            f'  <cluster id="c" prefix="n" suffix="" radical="0-{ranks - 1}" speed="{gflops}Gf" bw="{gbps / 8}GBps" lat="{latency_us}us"{topology}/>\n</platform>\n')


def simulate(ranks, shape, grid="0x0x0", *, dtype="f64", gflops=35.0, threads=1, gbps=10.0, latency_us=1.0, taper=1.0, limit=120):
    """What the simulated ranks say, or None where the limit was too short."""
    program = os.path.join(build(), "tests", "mpi_simulated")
    if not shutil.which("smpirun") or not os.path.exists(program):
        raise Missing("SimGrid's SMPI is not here: smpirun, and tests/mpi_simulated in the build folder, which smpicc makes (Debian: libsimgrid-dev)")
    with tempfile.TemporaryDirectory(prefix="tilewright-scale.") as folder:
        xml, hosts = os.path.join(folder, "platform.xml"), os.path.join(folder, "hosts")
        open(xml, "w").write(platform(ranks, gflops, gbps, latency_us, taper))
        open(hosts, "w").write("".join(f"n{i}\n" for i in range(ranks)))
        words = ["smpirun", "-quiet", "-np", str(ranks), "-platform", xml, "-hostfile", hosts, "--cfg=smpi/simulate-computation:no", f"--cfg=smpi/host-speed:{gflops}Gf",
                 "--cfg=smpi/test:0", f"--cfg=smpi/tmpdir:{folder}", "--log=root.thres:warning", program, shape, grid, dtype, str(gbps), str(threads)]
        job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True)
        try:
            out, err = job.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, 9)
            job.wait()
            return None
        if job.returncode != 0:
            raise RuntimeError(f"smpirun: exit {job.returncode}: {err.strip() or out.strip()}")
        return json.loads(out)


def sides(shape):
    return tuple(map(int, shape.split("x")))


def table(arguments, keep):
    gflops = arguments.rate or NOMINAL[arguments.dtype] * arguments.threads
    print(f"{arguments.dtype}, {gflops:g} GFLOP/s a rank, {arguments.network:g} Gbit/s, {arguments.latency:g} us a link" + (f", taper {arguments.taper:g}" if arguments.taper != 1 else ""))
    print("\n| ranks | m x n x k | grid | model | simulated | of compute alone | efficiency | model / simulated |\n|---:|---|---|---:|---:|---:|---:|---:|", flush=True)
    for ranks in arguments.ranks:
        for shape in arguments.shape:
            for grid in arguments.grid:
                if math.prod(sides(grid)) > ranks:
                    continue
                found = simulate(ranks, shape, grid, dtype=arguments.dtype, gflops=gflops, threads=arguments.threads, gbps=arguments.network, latency_us=arguments.latency,
                                 taper=arguments.taper, limit=arguments.limit)
                if found is None:
                    print(f"| {ranks} | {shape} | {grid} | | over {arguments.limit} s to simulate | | | |", flush=True)
                    continue
                m, n, k = sides(shape)
                pm, pn, pk = found["pm"], found["pn"], found["pk"]
                block_s = 2 * -(-m // pm) * -(-n // pn) * -(-k // pk) / gflops / 1e9
                moves_s = found["predicted_s"] - found["compute_s"]
                found.update(ranks=ranks, shape=shape, gflops=gflops, network_gbps=arguments.network, latency_us=arguments.latency, taper=arguments.taper,
                             predicted_s=block_s + moves_s, compute_s=block_s)
                keep(found)
                whole_s = 2 * m * n * k / gflops / 1e9
                print(f"| {ranks} | {shape} | {pm}x{pn}x{pk} | {1e3 * found['predicted_s']:.4g} ms | {1e3 * found['simulated_s']:.4g} ms | {found['simulated_s'] / block_s:.2f} "
                      f"| {100 * whole_s / found['simulated_s'] / (pm * pn * pk):.0f}% | {found['predicted_s'] / found['simulated_s']:.2f} |", flush=True)


# ---- beside real runs -----------------------------------------------------------------------------------------------------

def record_of(path):
    return json.loads(open(path).read().splitlines()[-1])


def rate_of(program, count, block):
    """GFLOP/s of one of `count` processes that multiply such a block at the same time: the least."""
    jobs = [subprocess.Popen([program, "bench", "--shape", block, "--dtype", "f64", "--threads", "1", "--samples", "3", "--json", f"rate{i}.jsonl"], stdout=subprocess.DEVNULL)
            for i in range(count)]
    if any([job.wait() for job in jobs]):
        raise RuntimeError("bench failed")
    return min(record_of(f"rate{i}.jsonl")["gflops"] for i in range(count))


def calibrate(arguments, keep):
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    os.environ["TILEWRIGHT"] = os.path.join(build(), "tilewright")
    sys.argv[1:] = []
    from support.hosts import Hosts
    from support.matrices import npy_header
    from support.tap import Skip
    program = os.environ["TILEWRIGHT"]
    with tempfile.TemporaryDirectory(prefix="tilewright-scale.") as folder:
        os.chdir(folder)
        try:
            with Hosts(arguments.hosts, "1gbit") as hosts:
                measure(arguments, keep, hosts, program, npy_header)
        except Skip as reason:
            raise Missing(str(reason)) from None
        finally:
            os.chdir("/")


def measure(arguments, keep, hosts, program, npy_header):
    print(f"f64, {arguments.hosts} hosts of one thread, 1 Gbit/s; medians and ranges of {arguments.rounds} interleaved rounds\n")
    print("| m x n x k | grid | load | rate, GFLOP/s | measured | model | simulated | model / measured | simulated / measured |\n|---|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    rows = [(shape, grid) for shape in arguments.shape for grid in (f"1x{arguments.hosts}x1", f"1x1x{arguments.hosts}")]
    seen = {row: [] for row in rows}
    for shape in arguments.shape:
        m, n, k = sides(shape)
        for name, rows_, cols in ((f"A{shape}.npy", m, k), (f"B{shape}.npy", k, n)):
            with open(name, "wb") as file:  # zeros are multiplied as fast as other numbers
                file.write(npy_header("<f8", (rows_, cols)))
                file.truncate(file.tell() + rows_ * cols * 8)
    for _ in range(arguments.rounds):
        for shape, grid in rows:
            m, n, k = sides(shape)
            pm, pn, pk = sides(grid)
            load = os.getloadavg()[0]
            block = -(-m // pm), -(-n // pn), -(-k // pk)
            gflops = rate_of(program, arguments.hosts, "{}x{}x{}".format(*block))
            job = hosts.start(f"A{shape}.npy", f"B{shape}.npy", "-o", "C.npy", "--grid", grid, "--threads", "1", "--json", "run.jsonl")
            _, err = job.communicate(timeout=300)
            if job.returncode != 0:
                raise RuntimeError(f"multiply: exit {job.returncode}: {err}")
            measured_s = record_of("run.jsonl")["min_s"]
            found = simulate(arguments.hosts, shape, grid, gflops=gflops, gbps=1.0, latency_us=50.0, limit=arguments.limit)
            block_s = 2 * math.prod(block) / gflops / 1e9
            found.update(shape=shape, load=load, gflops=gflops, measured_s=measured_s, predicted_s=block_s + found["predicted_s"] - found["compute_s"], compute_s=block_s)
            keep(found)
            seen[shape, grid].append(found)
    for (shape, grid), all_ in seen.items():
        def spread(value, form="{:.2f}"):
            values = sorted(map(value, all_))
            return f"{form} ({form}-{form})".format(statistics.median(values), values[0], values[-1])
        print(f"| {shape} | {grid} | {spread(lambda x: x['load'], '{:.1f}')} | {spread(lambda x: x['gflops'], '{:.1f}')} | {spread(lambda x: x['measured_s'])} s | "
              f"{spread(lambda x: x['predicted_s'])} s | {spread(lambda x: x['simulated_s'])} s | {spread(lambda x: x['predicted_s'] / x['measured_s'])} | "
              f"{spread(lambda x: x['simulated_s'] / x['measured_s'])} |", flush=True)


def main():
    def words(text):
        return text.split(",")

    parser = argparse.ArgumentParser(usage=__doc__, allow_abbrev=False)
    parser.add_argument("--ranks", type=lambda text: [int(x) for x in words(text)], default=[64])
    parser.add_argument("--shape", type=words, default=None)
    parser.add_argument("--grid", type=words, default=["0x0x0"])
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--network", type=float, default=100)
    parser.add_argument("--latency", type=float, default=1)
    parser.add_argument("--taper", type=float, default=1)
    parser.add_argument("--rate", type=float, default=0)
    parser.add_argument("--dtype", choices=list(NOMINAL), default="f64")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    arguments.shape = arguments.shape or (["2048x2048x2048", "4096x4096x4096"] if arguments.calibrate else ["16384x16384x16384"])
    found = []
    try:
        (calibrate if arguments.calibrate else table)(arguments, found.append)
    except Missing as reason:
        sys.exit(f"scale.py: {reason}")
    finally:
        if arguments.json:
            open(arguments.json, "w").write("".join(json.dumps(x) + "\n" for x in found))


if __name__ == "__main__":
    main()
