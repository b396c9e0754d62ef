#!/usr/bin/python3 -B
"""package.py - random products by the Python package, from several threads and in forked children.

    package.py SEED

Small whole numbers, compared exactly with NumPy's sums of int64; what lies beside the result, and the operands, must stay
as they were. Exit status 0, 1 with a sentence on stderr, or 77 without NumPy.
"""
import os
import random
import sys
import threading

try:
    import numpy as np
except ImportError:
    sys.exit(77)
import tilewright as tw

TYPES = {"float64": "float64", "float32": "float32", "int8": "int32"}  # of operands: of results
THREADS, PRODUCTS, UNTOUCHED = 3, 12, 77


def stored(draw, shape, dtype):
    """An array of small whole numbers: as it is, as a transpose of another, or as a part of a larger one."""
    numbers = np.random.default_rng(draw.getrandbits(32)).integers(-5, 6, shape).astype(dtype)
    how = draw.randrange(4)
    if how == 1:
        return np.swapaxes(np.ascontiguousarray(np.swapaxes(numbers, -1, -2)), -1, -2)
    if how >= 2:
        larger = np.zeros(shape[:-2] + (shape[-2] + 2, shape[-1] + 3), dtype)
        larger[..., 1:-1, 2:-1] = numbers
        numbers = larger[..., 1:-1, 2:-1]
        if how == 3:
            numbers.flags.writeable = False
    return numbers


def product(draw):
    """One product; None, or what is wrong with it."""
    length = lambda: draw.choice((0, 1, 2, 7, 8, 31, 64, 65, draw.randrange(1, 200)))
    m, n, k, dtype = length(), length(), length(), draw.choice(list(TYPES))
    items = draw.choice(((), (), (), (3,)))
    alpha, beta = draw.choice((1, 1, 2, -1)), draw.choice((0, 1, -2))
    a, b = stored(draw, items + (m, k), dtype), stored(draw, items + (k, n), dtype)
    c = stored(draw, items + (m, n), TYPES[dtype])
    room = np.full(items + (m + 2, n + 2), UNTOUCHED, TYPES[dtype])
    before = [x.copy() for x in (a, b, c)]
    expected = alpha * np.matmul(a.astype(np.int64), b.astype(np.int64)) + beta * c.astype(np.int64)
    what = f"{items} {m}x{n}x{k} {dtype} alpha {alpha} beta {beta}"
    inner = room[..., 1:-1, 1:-1]
    made = tw.matmul(a, b, c, alpha=alpha, beta=beta, out=inner)
    if made is not inner:
        return f"{what}: the result is not in out"
    if not np.array_equal(inner, expected):
        return f"{what}: a wrong element"
    inner[...] = UNTOUCHED
    if (room != UNTOUCHED).any():
        return f"{what}: an element beside the result was written"
    if not all(np.array_equal(x, y) for x, y in zip((a, b, c), before)):
        return f"{what}: an operand was written"
    if not np.array_equal(tw.matmul(a, b), np.matmul(a.astype(np.int64), b.astype(np.int64))):
        return f"{what}: a wrong element without c"
    return None


def products(seed, count, wrong):
    draw = random.Random(seed)
    for _ in range(count):
        said = product(draw)
        if said:
            wrong.append(said)
            return


def in_child(seed, wrong):
    """The same in a forked child, while other threads go on."""
    child = os.fork()
    if child == 0:
        mine = []
        try:
            products(seed, 3, mine)
            print(*mine, sep="\n", end="", file=sys.stderr, flush=True)
        except BaseException as error:
            mine.append(str(error))
            print(f"a child of the package: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(len(mine) > 0)
    status = os.waitpid(child, 0)[1]
    if status:
        wrong.append(f"a forked child ended with status {status}")


def main(seed):
    wrong = []

    def work(own):
        try:
            products(own, PRODUCTS, wrong)
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(f"{seed} {i}",)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    in_child(f"{seed} child", wrong)
    for thread in threads:
        thread.join()
    in_child(f"{seed} later child", wrong)
    if wrong:
        print(f"package.py {seed}: {wrong[0]}", file=sys.stderr)
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
