#!/usr/bin/env python3
"""demo.py PROGRAM - the main job on real data: 1797 handwritten digits that NumPy writes, Tilewright multiplies and
NumPy checks; then a larger product, timed beside NumPy's; then the CPU ladder, with --opencl that of OpenCL too. Exit
status 1 if anything disagrees.

Needs Python 3 and NumPy; data/digits.npz holds the digits. Works in a temporary folder.
"""
import argparse
import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

import numpy as np

UNIT_ROUNDOFF = {"f32": 2.0**-24, "f64": 2.0**-53}
NUMPY_TYPE = {"f32": np.float32, "f64": np.float64}
RUNS = 5
TRIAL_ROWS = 256  # of the product that chooses among the kernels of NumPy's BLAS
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "digits.npz")


class Disagreement(Exception):
    """Two results that must agree do not, or the program failed."""


COLUMNS = shutil.get_terminal_size((120, 24)).columns


def say(text=""):
    """Print text, in lines that fit the terminal; what begins with blanks goes on two further in."""
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        fits = len(line) <= COLUMNS or line.startswith("  | ")
        print(line if fits else textwrap.fill(line, COLUMNS, subsequent_indent=indent and indent + "  "), flush=True)


def title(number, text):
    say(f"\n{number}. {text}\n" + "-" * (len(text) + 3))


def check(holds, sentence):
    if not holds:
        raise Disagreement(f"this does not hold: {sentence}")
    say(f"  ok  {sentence}")


# ---- running the program --------------------------------------------------------------------------------------------


def run(program, folder, *arguments, expect=0, show=True):
    """Run the program in folder; its output, indented, where show is true. Returns what it wrote to stderr."""
    if show:
        say("$ tilewright " + shlex.join(arguments))
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if show:
        for line in done.stdout.splitlines():
            say("  | " + line)
    if done.returncode != expect:
        raise Disagreement(f"tilewright {arguments[0]} ended with {done.returncode}, expected {expect}: {done.stderr.strip()}")
    return done.stderr.strip()


def multiply(program, folder, *arguments):
    """RUNS runs of `multiply`: seconds of the multiplication itself, and its threads."""
    seconds = []
    for attempt in range(RUNS):
        run(program, folder, "multiply", *arguments, "--json", "record.json", show=attempt == 0)
        with open(os.path.join(folder, "record.json"), encoding="ascii") as file:
            record = json.loads(file.readline())
        seconds.append(record["median_s"])
    return {"seconds": seconds, "threads": record["threads"]}


def peaks(program, folder, shape):
    """The multiply-add peak of each type in GFLOP/s, on the threads that a product of this shape has: `bench` measures it beside the product."""
    run(program, folder, "bench", "--shape", shape, "--dtype", "f32,f64", "--samples", "3", "--json", "peaks.json", show=False)
    with open(os.path.join(folder, "peaks.json"), encoding="ascii") as file:
        return {record["dtype"]: record["peak_gflops"] for record in map(json.loads, file)}


# ---- NumPy's side -----------------------------------------------------------------------------------------------------


def blas_of_numpy():
    """The BLAS that NumPy has loaded: its name, the kernels that it chose for this processor ("" where it does not say), its threads (0: unknown),
    and whether it is the plain reference one."""
    np.ones((2, 2)) @ np.ones((2, 2))
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = sorted(set(re.findall(r"(/\S*/lib\S*(?:blas|blis|mkl_rt)\S*\.so\S*)$", maps.read(), re.MULTILINE)))
    for path in paths:
        library = ctypes.CDLL(path)
        for form in ("openblas_{}", "scipy_openblas_{}", "openblas_{}64_", "scipy_openblas_{}64_"):
            if not hasattr(library, form.format("get_corename")):
                continue
            core, config = (getattr(library, form.format(name)) for name in ("get_corename", "get_config"))
            core.restype = config.restype = ctypes.c_char_p
            return {"name": " ".join(config().decode().split()[:2]), "kernels": core().decode(),
                    "threads": getattr(library, form.format("get_num_threads"))(), "reference": False}
    names = ["/".join(path.split("/")[-2:]) for path in paths] # Debian's BLIS and ATLAS are a libblas.so.3 in a folder of their own
    reference = any("/libblas.so" in name for name in names) and not re.search("blis|openblas|mkl|atlas", " ".join(paths))
    name = f"the reference BLAS ({names[0]})" if reference else ", ".join(names) or "a BLAS that does not tell its name"
    return {"name": name, "kernels": "", "threads": 1 if reference else 0, "reference": reference}


def time_numpy(first, second, rows):
    """The child process of numpy_times(): up to RUNS products a b^T of the first rows, or as many as fit into six seconds, as JSON."""
    a, b = (np.load(file)[:int(rows)] for file in (first, second))
    seconds, begin = [], time.perf_counter()
    while len(seconds) < RUNS and (not seconds or time.perf_counter() - begin < 6):
        start = time.perf_counter()
        a @ b.T
        seconds.append(time.perf_counter() - start)
    print(json.dumps({**blas_of_numpy(), "seconds": seconds}))


def numpy_times(folder, environment, rows):
    """What NumPy takes for P W^T in a process of its own, since its BLAS chooses kernels once, by the environment."""
    words = [sys.executable, os.path.abspath(__file__), "--time-numpy", os.path.join(folder, "P.npy"), os.path.join(folder, "W.npy"), str(rows)]
    return json.loads(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)


def environments(environment, flags):
    """Where OpenBLAS may choose other kernels: what is said of it, and the environment. The first is as it is."""
    forced = environment.get("OPENBLAS_CORETYPE")
    yield "", environment
    if forced:
        yield "OPENBLAS_CORETYPE unset", {k: v for k, v in environment.items() if k != "OPENBLAS_CORETYPE"}
    core = "SkylakeX" if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags else "Haswell" if {"avx2", "fma"} <= flags else None
    if core and core != forced:
        yield f"OPENBLAS_CORETYPE={core}", {**environment, "OPENBLAS_CORETYPE": core}


def processor_flags():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        found = re.search(r"^flags\s*:(.*)$", info.read(), re.MULTILINE)
    return set(found.group(1).split()) if found else set()


def best_numpy(measure, choices):
    """The whole product in the environment whose trial product is fastest; a BLAS that does not tell its kernels has one."""
    trials = []
    for said, environment in choices:
        trials.append((measure(environment, TRIAL_ROWS), said, environment))
        if not trials[-1][0]["kernels"]:
            break
    _, said, environment = min(trials, key=lambda trial: min(trial[0]["seconds"]))
    return {**measure(environment, None), "environment": said}


def verdict(ours, theirs):
    """One sentence beside the table: the ratio, and what else differs between the two."""
    ratio = np.median(theirs["seconds"]) / np.median(ours["seconds"])
    apart = max(theirs["seconds"]) < min(ours["seconds"]) or max(ours["seconds"]) < min(theirs["seconds"])
    said = f"NumPy's time is {ratio:.2f} times ours, by medians" + ("" if apart else "; the spreads overlap")
    if theirs["reference"]:
        said += "; its BLAS is the reference one, plain loops: libopenblas0-pthread is a fast one"
    elif theirs["threads"] not in (0, ours["threads"]):
        said += f"; threads: NumPy {theirs['threads']}, tilewright {ours['threads']}"
    return said


# ---- a busy machine ---------------------------------------------------------------------------------------------------


def processor_use():
    """Seconds of processor time so far: used by anybody, used or idle, and our own with our children's; None: the system does not say."""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [float(word) / os.sysconf("SC_CLK_TCK") for word in stat.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks), sum(os.times()[:4])


def busy_sentence(before, after):
    """What other processes used in between, where it was 5 % of the processors and more; else ""."""
    if before is None or after is None or after[1] <= before[1]:
        return ""
    share = (after[0] - before[0] - (after[2] - before[2])) / (after[1] - before[1])
    return f"other processes used {100 * min(share, 1):.0f} % of the processors meanwhile: times may be too long" if share >= 0.05 else ""


def bound_factor(k, dtype):
    """g(k + 2) of the error bound |C - exact| <= g(k + 2) sum |a||b|, docs/ACCURACY.md."""
    small = (k + 2) * UNIT_ROUNDOFF[dtype]
    return small / (1 - small)


# ---- what is found in the digits ------------------------------------------------------------------------------------------


def nearest(gram):
    """The nearest other row of each row: |x_i - x_j|^2 = g_ii + g_jj - 2 g_ij."""
    gram = gram.astype(np.float64)
    norms = np.diag(gram)
    distance = norms[:, None] + norms[None, :] - 2 * gram
    np.fill_diagonal(distance, np.inf)
    return distance.argmin(axis=1), distance


def draw(images, captions):
    """8 x 8 pictures side by side, two characters per pixel."""
    shades = " .:-=+*#%@"
    for row in range(8):
        pixels = (np.asarray(image).reshape(8, 8)[row] for image in images)
        say("    " + "    ".join("".join(shades[int(v * 9 / 16)] * 2 for v in line) for line in pixels).rstrip())
    say("    " + "    ".join(f"{caption:<16}" for caption in captions).rstrip())


def gram_of_digits(program, folder, digits, labels):
    title(1, "1797 handwritten digits: which ones look alike?")
    samples, pixels = digits.shape
    np.save(os.path.join(folder, "X.npy"), digits)
    say(f"NumPy wrote X.npy: {samples} images of {pixels} pixels, f32, each pixel an integer from 0 to 16.")
    run(program, folder, "multiply", "X.npy", "X.npy", "--transpose-b", "-o", "G.npy", "--verify")
    gram = np.load(os.path.join(folder, "G.npy"))

    say("\nG = X X^T holds the scalar product of each pair of images. Its entries stay below 2^24, so every product and every "
        "sum of them is exact in f32, in any order: a right result has no differing bit.")
    integers = digits.astype(np.int64)
    exact = integers @ integers.T
    check(np.array_equal(gram, exact), f"G equals the product in 64-bit integers, {gram.size} elements")
    theirs = digits @ digits.T
    allowed = bound_factor(pixels, "f32") * exact.max()
    difference = np.abs(gram.astype(np.float64) - theirs).max()
    check(difference == 0, f"largest difference from NumPy's f32 product: {difference:g} (the bound for any reals: {allowed:.2g})")

    neighbour, distance = nearest(gram)
    right = labels[neighbour] == labels
    say("\nFrom G: |x_i - x_j|^2 = g_ii + g_jj - 2 g_ij. Give each image the label of its nearest other image:")
    say(f"  {right.sum()} of {samples} right: leave-one-out accuracy {100 * right.mean():.2f} %\n")
    for i in (3, 500, 1000, 1500):
        order = np.argsort(distance[i], kind="stable")[:4]
        listed = ", ".join(f"{labels[j]} (no. {j}, {np.sqrt(distance[i, j]):.1f} away)" for j in order)
        say(f"  no. {i:<4} shows {labels[i]}; nearest: {listed}")
    wrong = int(np.flatnonzero(~right)[0])
    say("\nA digit and its neighbour; and the first pair that misleads:\n")
    shown = (3, int(neighbour[3]), wrong, int(neighbour[wrong]))
    draw([digits[i] for i in shown], [f"no. {i} shows {labels[i]}" for i in shown])
    check(right.mean() > 0.98, "accuracy above 98 %, as is known of these digits")
    return gram, exact


def spoiled_product(program, folder, gram):
    say("\nAnd would a wrong G be noticed? Swap two elements of one row:")
    spoiled = gram.copy()
    i, j = int(gram[7].argmin()), int(gram[7].argmax())
    spoiled[7, [i, j]] = spoiled[7, [j, i]]
    np.save(os.path.join(folder, "spoiled.npy"), spoiled)
    say("$ tilewright verify X.npy X.npy spoiled.npy --transpose-b")
    sentence = run(program, folder, "verify", "X.npy", "X.npy", "spoiled.npy", "--transpose-b", expect=1, show=False)
    say("  | " + sentence)
    check("[7, " in sentence, "exit status 1, and the sentence names row 7")


# ---- a product large enough to be timed -------------------------------------------------------------------------------------


def pair_features(digits):
    """All products x_p x_q with p <= q, and the same with weight 2 where p < q."""
    p, q = np.triu_indices(digits.shape[1])
    pairs = np.ascontiguousarray(digits[:, p] * digits[:, q])
    return pairs, pairs * np.where(p < q, 2, 1)


def features_of_pairs(program, folder, digits, labels, exact):
    title(2, "Pairs of pixels: a product where speed shows")
    pairs, weighted = pair_features(digits.astype(np.int64))
    samples, k = pairs.shape
    say(f"Describe each image by all {k} products of two of its pixels. With P these features and W the same, counted twice "
        f"where the two pixels differ, P W^T must be G squared, element by element: {samples} x {samples} sums of {k} terms whose "
        "result is known without computing them.\n")
    answer = exact * exact
    flops = 2.0 * samples * samples * k
    rows, verdicts, before = [], [], processor_use()
    peak = peaks(program, folder, f"{samples}x{samples}x{k}")
    for dtype in ("f32", "f64"):
        p, w = pairs.astype(NUMPY_TYPE[dtype]), weighted.astype(NUMPY_TYPE[dtype])
        say(f"P and W saved in {dtype}:")
        np.save(os.path.join(folder, "P.npy"), p)
        np.save(os.path.join(folder, "W.npy"), w)
        ours = multiply(program, folder, "P.npy", "W.npy", "--transpose-b", "-o", "K.npy")
        result = np.load(os.path.join(folder, "K.npy")).astype(np.float64)
        theirs = best_numpy(lambda environment, rows: numpy_times(folder, environment, rows or samples), environments(dict(os.environ), processor_flags()))
        rows.append((dtype, "tilewright multiply", ours))
        rows.append((dtype, f"NumPy, {theirs['kernels']} kernels" if theirs["kernels"] else "NumPy", theirs))
        verdicts.append((dtype, theirs["environment"], verdict(ours, theirs)))
        if dtype == "f64":
            check(np.array_equal(result, answer), "f64: every element equals G squared, bit by bit (all sums stay below 2^53)")
        else:
            allowed = bound_factor(k, "f32") * answer
            ratio = np.max(np.abs(result - answer) / np.maximum(allowed, 1e-300))
            check(bool(np.all(np.abs(result - answer) <= allowed)),
                  f"f32: every element within its bound g(k+2) sum|a||b|; the largest error is {ratio:.2g} of it")
            check(bool(np.all(np.abs(result - (p @ w.T).astype(np.float64)) <= 2 * allowed)), "f32: NumPy's product agrees within two bounds")
    neighbour, _ = nearest(result)
    say(f"  Leave-one-out accuracy with these features: {100 * np.mean(labels[neighbour] == labels):.2f} %\n")

    say(f"{samples} x {samples} x {k}, {flops / 1e9:.1f} GFLOP, up to {RUNS} runs each; NumPy {np.__version__} with {theirs['name']}:\n")
    wide = COLUMNS >= 92  # else without the share of the peak
    names = 26 if wide else 23
    say(f"  type  {'':<{names}} {'threads':>7} {'median':>10}  {'min to max':>18} {'GFLOP/s':>8}" + wide * f" {'of peak':>8}")
    for dtype, who, x in rows:
        median, speed = np.median(x["seconds"]), flops / np.median(x["seconds"]) / 1e9
        span = f"{min(x['seconds']) * 1e3:.1f} to {max(x['seconds']) * 1e3:.1f} ms"
        say(f"  {dtype}   {who:<{names}} {x['threads'] or '?':>7} {median * 1e3:7.1f} ms  {span:>18} {speed:8.1f}"
            + wide * f" {100 * speed / peak[dtype]:6.0f} %")
    for dtype, environment, sentence in verdicts:
        say(f"  {dtype}   {sentence}" + (f" ({environment})" if environment else ""))
    busy = busy_sentence(before, processor_use())
    if busy:
        say("  " + busy)


def ladder(program, *options):
    words = ["ladder", "--size", "768", "--samples", "5", *options]
    say("$ tilewright " + shlex.join(words))
    done = subprocess.run([program, *words])
    if done.returncode != 0:
        raise Disagreement(f"tilewright ladder ended with {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("program", nargs="?", help="the tilewright program, for example build/tilewright")
    parser.add_argument("--opencl", action="store_true", help="climb the OpenCL ladder too")
    parser.add_argument("--time-numpy", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.time_numpy:
        time_numpy(*arguments.time_numpy)
        return
    if arguments.program is None:
        parser.error("the program is missing")
    program = os.path.abspath(arguments.program)
    begin = time.perf_counter()
    data = np.load(DIGITS)
    digits, labels = data["images"].astype(np.float32), data["labels"]
    with tempfile.TemporaryDirectory(prefix="tilewright-demo.") as folder:
        say(subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip())
        gram, exact = gram_of_digits(program, folder, digits, labels)
        spoiled_product(program, folder, gram)
        features_of_pairs(program, folder, digits, labels, exact)
    title(3, "The CPU ladder: where the speed comes from")
    ladder(program)
    if arguments.opencl:
        title(4, "The same ladder in OpenCL C")
        ladder(program, "--engine", "opencl")
    say(f"\nAll results agree. The demo took {time.perf_counter() - begin:.0f} s. Next: README's \"A first session\", from its "
        "second command on.")


if __name__ == "__main__":
    try:
        main()
    except Disagreement as problem:
        sys.exit(f"demo.py: {problem}")
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"demo.py: the program could not be run: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
