#!/usr/bin/env python3
"""demo.py PROGRAM - the main job on real data: 1797 handwritten digits that NumPy writes, Tilewright multiplies and
NumPy checks; then a larger product, timed beside NumPy's; then the CPU ladder. Exit status 1 if anything disagrees.

Needs Python 3, NumPy and scikit-learn, whose package holds the digits. Works in a temporary folder.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

UNIT_ROUNDOFF = {"f32": 2.0**-24, "f64": 2.0**-53}
NUMPY_TYPE = {"f32": np.float32, "f64": np.float64}


class Disagreement(Exception):
    """Two results that must agree do not, or the program failed."""


def say(text=""):
    print(text, flush=True)


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
    """The fastest of three runs of `multiply`: (seconds, GFLOP/s, threads) of the multiplication itself."""
    best = None
    for attempt in range(3):
        run(program, folder, "multiply", *arguments, "--json", "record.json", show=attempt == 0)
        with open(os.path.join(folder, "record.json"), encoding="ascii") as file:
            record = json.loads(file.readline())
        if best is None or record["min_s"] < best["min_s"]:
            best = record
    return best["min_s"], best["gflops"], best["threads"]


# ---- NumPy's side -----------------------------------------------------------------------------------------------------


def blas_of_numpy():
    """The BLAS library that NumPy has loaded, its threads, and whether it is the plain reference one."""
    np.ones((2, 2)) @ np.ones((2, 2))
    for library in threadpool_info():
        if library["user_api"] == "blas":
            return f"{library['internal_api']} {library['version']}", library["num_threads"], False
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        names = re.findall(r"/(libblas\.so\S*)$", maps.read(), re.MULTILINE)
    return f"the reference BLAS ({names[0]})" if names else "a BLAS that does not tell its name", 1, bool(names)


def numpy_seconds(a, b):
    """The fastest of up to three products a b^T, or of as many as fit into six seconds; and the last product."""
    best, begin = np.inf, time.perf_counter()
    for _ in range(3):
        start = time.perf_counter()
        product = a @ b.T
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > 6:
            break
    return best, product


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

    say("\nG = X X^T holds the scalar product of each pair of images. Its entries stay below 2^24, so every product and every\n"
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
    blas, blas_threads, is_reference = blas_of_numpy()
    say(f"Describe each image by all {k} products of two of its pixels. With P these features and W the same, counted twice\n"
        f"where the two pixels differ, P W^T must be G squared, element by element: {samples} x {samples} sums of {k} terms whose\n"
        "result is known without computing them.\n")
    answer = exact * exact
    flops = 2.0 * samples * samples * k
    rows = []
    for dtype in ("f32", "f64"):
        p, w = pairs.astype(NUMPY_TYPE[dtype]), weighted.astype(NUMPY_TYPE[dtype])
        np.save(os.path.join(folder, "P.npy"), p)
        np.save(os.path.join(folder, "W.npy"), w)
        seconds, gflops, threads = multiply(program, folder, "P.npy", "W.npy", "--transpose-b", "-o", "K.npy")
        result = np.load(os.path.join(folder, "K.npy")).astype(np.float64)
        numpy_s, theirs = numpy_seconds(p, w)
        rows.append((dtype, "tilewright multiply", threads, seconds, gflops))
        rows.append((dtype, "NumPy", blas_threads, numpy_s, flops / numpy_s / 1e9))
        if dtype == "f64":
            check(np.array_equal(result, answer), "f64: every element equals G squared, bit by bit (all sums stay below 2^53)")
        else:
            allowed = bound_factor(k, "f32") * answer
            ratio = np.max(np.abs(result - answer) / np.maximum(allowed, 1e-300))
            check(bool(np.all(np.abs(result - answer) <= allowed)),
                  f"f32: every element within its bound g(k+2) sum|a||b|; the largest error is {ratio:.2g} of it")
            check(bool(np.all(np.abs(result - theirs.astype(np.float64)) <= 2 * allowed)), "f32: NumPy's product agrees within two bounds")
    neighbour, _ = nearest(result)
    say(f"  Leave-one-out accuracy with these features: {100 * np.mean(labels[neighbour] == labels):.2f} %\n")

    say(f"{samples} x {samples} x {k}, {flops / 1e9:.1f} GFLOP, fastest of three; NumPy {np.__version__} with {blas}:\n")
    for dtype, who, threads, seconds, gflops in rows:
        say(f"  {dtype}  {who:<20} {seconds * 1e3:9.1f} ms {gflops:8.1f} GFLOP/s  {threads} thread{'s' if threads != 1 else ''}")
    for ours, theirs in (rows[0:2], rows[2:4]):
        say(f"  {ours[0]}  NumPy's time is {theirs[3] / ours[3]:.2f} times ours")
    if is_reference:
        say("  The reference BLAS is plain loops: beating it is no feat. With libopenblas0 installed NumPy is many times faster.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("program", help="the tilewright program, for example build/tilewright")
    program = os.path.abspath(parser.parse_args().program)
    begin = time.perf_counter()
    digits, labels = load_digits(return_X_y=True)
    digits = digits.astype(np.float32)
    with tempfile.TemporaryDirectory(prefix="tilewright-demo.") as folder:
        say(subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip())
        gram, exact = gram_of_digits(program, folder, digits, labels)
        spoiled_product(program, folder, gram)
        features_of_pairs(program, folder, digits, labels, exact)
    title(3, "The CPU ladder: where the speed comes from")
    say("$ tilewright ladder --size 768 --samples 5")
    ladder = subprocess.run([program, "ladder", "--size", "768", "--samples", "5"])
    if ladder.returncode != 0:
        raise Disagreement(f"tilewright ladder ended with {ladder.returncode}")
    say(f"\nAll results agree. The demo took {time.perf_counter() - begin:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except Disagreement as problem:
        sys.exit(f"demo.py: {problem}")
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"demo.py: the program could not be run: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
