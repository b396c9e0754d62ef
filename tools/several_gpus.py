#!/usr/bin/python3 -B
"""several_gpus.py - products on several GPUs of a host, and larger than one, beside PyTorch and cuBLASXt, in turns.

    tools/several_gpus.py PART... [--devices 0,1] [--size N] [--turns T] [--json FILE]

  a   operands on the GPUs, each with a block of rows, 16384 in f32, f64 and bf16: one GPU, all of them, and PyTorch: each
      GPU copies the other blocks of B (its own lies in place), then torch.mm
  b   f32 32768 from pinned host memory: all GPUs, and cuBLASXt with tiles of 4096 and of 8192
  c   the same from pageable memory that was written before; cuBLASXt without and with pinning by itself
  d   one GPU, f32 65536 from pinned host memory with 24 GB for the call, beside 32768 that lies on it
  e   bits: the products of a, and 8192 from pinned memory, computed twice, and compared with one GPU's

Needs as many GPUs as --devices names (d: one), PyTorch with CUDA, and build/libtilewright.so.0 (TILEWRIGHT_LIBRARY). cuBLASXt
is PyTorch's libcublas. Host memory: b and c 13 GB each, d 52 GB. --size replaces the sizes (of d's product in core: half).

First each product of ours is computed once from small integers, whose sums are exact, and the whole of C judged by Freivalds'
check without a tolerance. Then random operands: T calls of each in turns (a 9, b and c 5, d 3), and after the last one
elements of C on the edges of blocks and between are judged by the bound of tw_gemm(). C is filled with NaN before the first and the
last call. Prints the median, the lowest and the highest TFLOP/s by the host's clock, and the median ratio of our speed to
this line's in the same turn: above 1 ours is faster. TF32 is off. --json appends a record for each
line. Exit status 1 if a result is wrong or a part failed.
"""
import argparse
import contextlib
import ctypes
import json
import os
import statistics
import sys
import time
import traceback

TOOLS = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(TOOLS), "python"), TOOLS]
from gpu_arrays import HOST, Torch, worst_error, wrong_rows  # noqa: E402 (once it can be found)

TYPES = {"f32": 2, "f64": 1, "bf16": 4}  # tw_dtype, of A, B and C


# ---- calls of ours and of cuBLASXt --------------------------------------------------------------------------------------

def library():
    from tilewright import _library
    return _library


@contextlib.contextmanager
def opened(devices, memory_bytes=0):
    house = library()

    class Options(house.Options):  # with the fields that the package does not use
        _fields_ = [("flags", ctypes.c_uint32), ("device_count", ctypes.c_int32), ("devices", ctypes.c_void_p),
                    ("device_id", ctypes.c_void_p), ("memory_bytes", ctypes.c_int64)]

    house.load_nvrtc()
    indices, context = (ctypes.c_int32 * len(devices))(*devices), ctypes.c_void_p()
    options = Options(size=ctypes.sizeof(Options), engine=b"cuda", device_count=len(devices), devices=ctypes.addressof(indices),
                      memory_bytes=memory_bytes)
    house.done(house.lib.tw_open(ctypes.byref(options), ctypes.byref(context)))
    try:
        yield context
    finally:
        house.lib.tw_close(context)


def problem(letter, n, place):
    code, size = TYPES[letter], ctypes.sizeof(library().Problem)
    return library().Problem(size=size, dtype=code, dtype_c=code, place_a=place, place_b=place, place_c=place, m=n, n=n, k=n,
                             lda=n, ldb=n, ldc=n, alpha=1)


def gemm(arrays, context, letter, a, b, c, place):
    what, at = problem(letter, len(a), place), [arrays.address(x) for x in (a, b, c)]
    return lambda: library().done(library().lib.tw_gemm(context, ctypes.byref(what), *at))


class Block(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_int32)] + \
        [(name, ctypes.c_int64) for name in ("row", "column", "rows", "columns")] + [("at", ctypes.c_void_p), ("ld", ctypes.c_int64)]


def gemm_blocks(arrays, context, letter, *matrices):
    """Each matrix is a list of blocks of rows, one for each device in order."""
    def described(blocks):
        rows = [len(block) for block in blocks]
        return (Block * len(blocks))(*[Block(ctypes.sizeof(Block), i, sum(rows[:i]), 0, *block.shape, arrays.address(block), block.shape[1])
                                       for i, block in enumerate(blocks)])

    house, n = library(), matrices[0][0].shape[1]
    what, call = problem(letter, n, 1), house.lib.tw_gemm_blocks
    call.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_void_p, ctypes.c_int32] * 3
    given = [x for blocks in map(described, matrices) for x in (blocks, len(blocks))]
    return lambda: house.done(call(context, ctypes.byref(what), *given))


@contextlib.contextmanager
def cublasxt(arrays, a, b, c, tile, pinning):
    """A function: the row-major product as the column-major one of B and A."""
    blas, handle, devices = ctypes.CDLL(arrays.cublas), ctypes.c_void_p(), arrays.devices

    def done(name, *arguments):
        status = getattr(blas, name)(*arguments)
        assert status == 0, f"{name}: status {status}"

    done("cublasXtCreate", ctypes.byref(handle))
    done("cublasXtDeviceSelect", handle, len(devices), (ctypes.c_int * len(devices))(*devices))
    done("cublasXtSetBlockDim", handle, tile)
    done("cublasXtSetPinningMemMode", handle, int(pinning))
    n, one, zero = ctypes.c_size_t(len(a)), ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))
    at = [ctypes.c_void_p(arrays.address(x)) for x in (b, a, c)]
    try:
        yield lambda: done("cublasXtSgemm", handle, 0, 0, n, n, n, one, at[0], n, at[1], n, zero, at[2], n)
    finally:
        done("cublasXtDestroy", handle)


# ---- turns --------------------------------------------------------------------------------------------------------------

class Call:
    """A product that is timed: f() computes A B into the blocks of C and waits."""

    def __init__(self, name, f, a, b, blocks):
        self.name, self.f, self.a, self.b, self.blocks, self.flops = name, f, a, b, blocks, 2.0 * len(a) * len(b) * b.shape[1]

    def run(self, arrays, poison):
        """Seconds."""
        for block in self.blocks if poison else []:
            arrays.nan(block)
        arrays.wait()
        start = time.perf_counter()
        self.f()
        arrays.wait()
        return time.perf_counter() - start


def judge_exactly(arrays, letter, calls):
    """Of operands that are small integers now."""
    for call in calls:
        call.run(arrays, True)
        wrong = wrong_rows(arrays, call.a, call.b, call.blocks)
        assert wrong == 0, f"{letter} {call.name}: {wrong} of {len(call.a)} rows of C are wrong"


def in_turns(run, part, letter, calls):
    """Times the calls in turns, the first of which is ours, and prints their lines."""
    turns = run.asked.turns or {"a": 9, "d": 3}.get(part, 5)
    seconds, worst = [[] for _ in calls], [0.0 for _ in calls]
    for turn in range(-1, turns):  # the first is not counted
        for i, call in enumerate(calls):
            last = turn == turns - 1
            seconds[i].append(call.run(run.arrays, turn == -1 or last))
            if last:
                worst[i] = worst_error(run.arrays, call.a, call.b, call.blocks, letter)
                assert worst[i] <= 1, f"{letter} {call.name}: an element is {worst[i]} bounds off"
    rates = [[1e-12 * call.flops / s for s in times[1:]] for call, times in zip(calls, seconds)]
    for call, times, rate, error in zip(calls, seconds, rates, worst):
        n, quotient = len(call.a), statistics.median(ours / theirs for ours, theirs in zip(rates[0], rate))
        print(f"{part}  {n:6} {letter:5} {call.name:42} {statistics.median(rate):8.1f} {min(rate):8.1f} {max(rate):8.1f} {quotient:9.3f}", flush=True)
        run.record(part=part, name=call.name, dtype=letter, m=n, n=n, k=n, method="host clock around a call, in turns", samples=turns,
                   min_s=min(times[1:]), median_s=statistics.median(times[1:]), gflops=1e3 * statistics.median(rate), ours_by_it=quotient,
                   verified="exact+bound sampled" if "tilewright" in call.name else "bound sampled", error_ratio=error)


# ---- the parts ----------------------------------------------------------------------------------------------------------

class Run:
    def __init__(self, arrays, asked):
        self.arrays, self.asked, self.devices = arrays, asked, arrays.devices

    def record(self, **more):
        if self.asked.json:
            with open(self.asked.json, "a", encoding="utf-8") as file:
                shared = {"engine": "cuda", "device": self.arrays.name, "devices": len(self.devices), "op_a": "n", "op_b": "n"}
                file.write(json.dumps({**shared, **more, "version": library().__version__}) + "\n")

    def size(self, usual):
        return self.asked.size or usual


class OnGpus:
    """The operands of a and e: whole on the first GPU, and a block of rows on each. The block of B lies in a whole B, as
    PyTorch wants it, whose other rows each product of PyTorch copies."""

    def __init__(self, run, letter, n):
        arrays, devices = run.arrays, run.devices
        rows = [n * (i + 1) // len(devices) - n * i // len(devices) for i in range(len(devices))]
        self.slices = [slice(sum(rows[:i]), sum(rows[:i + 1])) for i in range(len(devices))]
        self.a, self.b, self.c = (arrays.empty(n, n, letter, devices[0]) for _ in range(3))
        self.a_blocks, self.c_blocks, self.other_c = ([arrays.empty(r, n, letter, d) for r, d in zip(rows, devices)] for _ in range(3))
        self.whole_b = [arrays.empty(n, n, letter, d) for d in devices]
        self.b_blocks = [b[s] for b, s in zip(self.whole_b, self.slices)]
        self.arrays = arrays

    def draw(self, integers):
        for seed, (whole, blocks) in enumerate([(self.a, self.a_blocks), (self.b, self.b_blocks)]):
            self.arrays.draw(whole, seed, integers)
            for block, s in zip(blocks, self.slices):
                block[:] = whole[s]

    def calls(self, letter, one, several):
        x, arrays = self, self.arrays
        return [Call(f"tilewright, {len(x.slices)} GPUs", gemm_blocks(arrays, several, letter, x.a_blocks, x.b_blocks, x.c_blocks), x.a, x.b, x.c_blocks),
                Call("tilewright, one GPU", gemm(arrays, one, letter, x.a, x.b, x.c, 1), x.a, x.b, [x.c])]


def part_a(run):
    for letter in TYPES:
        with opened(run.devices[:1]) as one, opened(run.devices) as several:
            x = OnGpus(run, letter, run.size(16384))
            calls = x.calls(letter, one, several)
            x.draw(True)
            judge_exactly(run.arrays, letter, calls)
            x.draw(False)
            calls.append(Call(f"PyTorch, {len(run.devices)} GPUs, copies of B, torch.mm", lambda: run.arrays.gathered_product(
                x.a_blocks, x.b_blocks, x.whole_b, x.other_c), x.a, x.b, x.other_c))
            in_turns(run, "a", letter, calls)
            del x, calls
        run.arrays.free()


def host_matrices(run, n, pinned):
    found = [run.arrays.empty(n, n, "f32", HOST, pinned) for _ in range(3)]
    run.arrays.nan(found[2])  # each page is written
    return found


def draw_both(run, a, b, integers):
    run.arrays.draw(a, 1, integers)
    run.arrays.draw(b, 2, integers)


def from_host(run, part, pinned, peers):
    a, b, c = host_matrices(run, run.size(32768), pinned)
    with opened(run.devices) as several, contextlib.ExitStack() as stack:
        calls = [Call(f"tilewright, {len(run.devices)} GPUs", gemm(run.arrays, several, "f32", a, b, c, 0), a, b, [c])]
        draw_both(run, a, b, True)
        judge_exactly(run.arrays, "f32", calls)
        draw_both(run, a, b, False)
        for name, tile, pins in peers:
            try:
                calls.append(Call(name, stack.enter_context(cublasxt(run.arrays, a, b, c, tile, pins)), a, b, [c]))
            except (OSError, AssertionError) as error:
                print(f"{part}  {len(a):6} f32   {name:42} left out: {error}", flush=True)
        in_turns(run, part, "f32", calls)


def part_b(run):
    from_host(run, "b", True, [(f"cuBLASXt, tiles of {tile}", tile, False) for tile in (4096, 8192)])


def part_c(run):
    from_host(run, "c", False, [("cuBLASXt, tiles of 4096", 4096, False), ("cuBLASXt, tiles of 4096, it pins", 4096, True)])


def part_d(run):
    n, device = run.size(65536), run.devices[0]
    a, b, c = host_matrices(run, n, True)
    core = [run.arrays.empty(n // 2, n // 2, "f32", device) for _ in range(3)]
    limit = 24 * 10 ** 9 * n * n // 65536 ** 2
    with opened([device], limit) as limited, opened([device]) as one:
        calls = [Call(f"tilewright, one GPU, {limit / 1e9:.3g} GB", gemm(run.arrays, limited, "f32", a, b, c, 0), a, b, [c]),
                 Call("tilewright, one GPU, in core", gemm(run.arrays, one, "f32", *core, 1), *core[:2], core[2:])]
        for integers in (True, False):
            draw_both(run, a, b, integers)
            draw_both(run, *core[:2], integers)
            if integers:
                judge_exactly(run.arrays, "f32", calls)
        in_turns(run, "d", "f32", calls)


def tell_bits(run, letter, n, what, differ, expected):
    """Fails where they differ though they are promised to be equal."""
    said = "the same" if differ == 0 else f"{differ} of {n * n} elements differ"
    print(f"e  {n:6} {letter:5} {what:42} {said}", flush=True)
    run.record(part="e", name=what, dtype=letter, m=n, n=n, k=n, elements_that_differ=differ)
    assert differ == 0 or not expected, f"{letter} {what}: {said}"


def part_e(run):
    """Beside one GPU's, bits may differ where its kernel divides k by the size of C; then elements have been judged in a."""
    arrays = run.arrays
    with opened(run.devices[:1]) as one, opened(run.devices) as several:
        for letter in TYPES:
            n = run.size(16384)
            x = OnGpus(run, letter, n)
            x.draw(False)
            ours, of_one = x.calls(letter, one, several)
            again = Call("", gemm_blocks(arrays, several, letter, x.a_blocks, x.b_blocks, x.other_c), x.a, x.b, x.other_c)
            for call in (ours, of_one, again):
                call.run(arrays, True)
            twice = sum(arrays.same(c, d) for c, d in zip(x.c_blocks, x.other_c))
            tell_bits(run, letter, n, f"on {len(run.devices)} GPUs twice", twice, True)
            beside = sum(arrays.same(c, x.c[s]) for c, s in zip(x.c_blocks, x.slices))
            tell_bits(run, letter, n, f"on {len(run.devices)} GPUs and on one", beside, False)
            del x, ours, of_one, again
            arrays.free()
        n = run.size(8192)
        (a, b, c), other = host_matrices(run, n, True), arrays.empty(n, n, "f32", HOST, True)
        draw_both(run, a, b, False)
        for context, out in ((several, c), (several, other)):
            Call("", gemm(arrays, context, "f32", a, b, out, 0), a, b, [out]).run(arrays, True)
        tell_bits(run, "f32", n, "from pinned memory twice", arrays.same(c, other), True)
        Call("", gemm(arrays, one, "f32", a, b, other, 0), a, b, [other]).run(arrays, True)
        tell_bits(run, "f32", n, "from pinned memory, and on one", arrays.same(c, other), False)


PARTS = {"a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e}


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", metavar="PART", choices=PARTS, help="a, b, c, d or e")
    parser.add_argument("--devices", default="0,1", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--size", type=int, help="rows and columns, in place of each part's own")
    parser.add_argument("--turns", type=int)
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args(words)


def measure(arrays, asked):
    """How many parts failed."""
    run, failed = Run(arrays, asked), 0
    print(f"{len(arrays.devices)} x {arrays.name}, tilewright {library().__version__}")
    print(f"        n type  {'what':42}  TFLOP/s   lowest  highest ours/this", flush=True)
    for part in asked.parts:
        try:
            PARTS[part](run)
        except Exception as error:  # the other parts go on
            failed += 1
            print(f"several_gpus.py: part {part}: {error}", file=sys.stderr, flush=True)
            traceback.print_exc() if not isinstance(error, AssertionError) else None
        arrays.free()
    return failed


def main():
    asked = parsed(sys.argv[1:])
    sys.exit(measure(Torch(asked.devices), asked) > 0)


if __name__ == "__main__":
    main()
