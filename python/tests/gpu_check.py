#!/usr/bin/env python3
"""gpu_check.py - PyTorch's, CuPy's and other CUDA arrays, on a real GPU.

    PYTHONPATH=python python3 python/tests/gpu_check.py [--only TEXT]

Each product is held against the library's own in float64, element by element, by the bound of tw_gemm. Products run on
the default stream, on a side stream behind work that is slow on purpose, and inside CUDA graphs that are replayed with
other values. The last line is "N passed, N failed, N skipped"; exit status 1 if a case failed. Needs an installed or
built tilewright and a GPU; what is not installed is skipped.
"""
import itertools
import sys
import traceback

import tilewright

SHAPES = [(1, 1, 1), (17, 33, 65), (128, 256, 64), (1, 300, 257), (300, 1, 129), (1000, 999, 1001), (64, 64, 4096),
          (8, 512, 512), (512, 512, 512)]
LAYOUTS = ["NN", "NT", "TN", "TT"]
counts = {"passed": 0, "failed": 0, "skipped": 0}
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""


def case(name, function, *arguments):
    if only not in name:
        return
    try:
        function(*arguments)
        counts["passed"] += 1
    except Exception as error:
        counts["failed"] += 1
        print(f"not ok {name}: {type(error).__name__}: {error}")
        if not isinstance(error, (AssertionError, tilewright.Error)):
            traceback.print_exc(file=sys.stdout)


def skip(why, number=1):
    counts["skipped"] += number
    print(f"skipped: {why}")


# ---- PyTorch ----

def torch_cases(torch):
    device = torch.device("cuda")
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    half = torch.cuda.get_device_capability() >= (8, 0)
    same_type = torch.cuda.get_device_capability() == (9, 0)
    dtypes = [torch.float32] + ([torch.bfloat16, torch.float16] if half else [])

    def operand(rows, columns, op, dtype, batch=()):
        """Random, of this shape; op T: columns lie one after the other."""
        if op == "N":
            return torch.randn(*batch, rows, columns, device=device).to(dtype)
        return torch.randn(*batch, columns, rows, device=device).to(dtype).transpose(-1, -2)

    def judge(c, a, b, alpha=1.0, beta=0.0, c0=None):
        """By the bound of tw_gemm, with the rounding of the result and of the reference."""
        k = a.shape[-1]
        x, y = a.double(), b.double()
        exact, size = alpha * (x @ y), abs(alpha) * (x.abs() @ y.abs())
        if c0 is not None:
            exact, size = exact + beta * c0.double(), size + abs(beta) * c0.double().abs()
        unit = 2.0 ** (-24 if a.dtype == torch.float32 else -23)
        bound = ((k + 2) * unit / (1 - (k + 2) * unit) + (k + 3) * 2.0 ** -53) * size + (k + 1) * 2.0 ** -125
        if c.dtype in (torch.bfloat16, torch.float16):
            bound = bound + exact.abs() * {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -10}[c.dtype] + 2.0 ** -24
        wrong = ~((c.double() - exact).abs() <= bound)
        assert not wrong.any(), f"{int(wrong.sum())} of {wrong.numel()} elements are wrong"

    def plain(dtype, layout, shape):
        m, n, k = shape
        a, b = operand(m, k, layout[0], dtype), operand(k, n, layout[1], dtype)
        c = tilewright.matmul(a, b)
        assert type(c) is torch.Tensor and c.dtype == torch.float32 and c.shape == (m, n) and c.is_cuda
        judge(c, a, b)

    for dtype, layout, shape in itertools.product(dtypes, LAYOUTS, SHAPES):
        case(f"torch {dtype} {layout} {shape}", plain, dtype, layout, shape)

    def own_type(dtype, layout, batch):
        a, b = operand(100, 72, layout[0], dtype, batch), operand(72, 56, layout[1], dtype)
        c = tilewright.matmul(a, b, dtype=dtype)
        assert c.dtype == dtype
        judge(c, a, b)
        out = torch.empty_like(c)
        assert tilewright.matmul(a, b, out=out) is out and torch.equal(out, c)

    if same_type:
        for dtype, layout, batch in itertools.product([torch.bfloat16, torch.float16], LAYOUTS, [(), (5,)]):
            case(f"torch {dtype} -> {dtype} {layout} {batch}", own_type, dtype, layout, batch)
    else:
        skip("results in bfloat16 and float16 need sm_90", 16)

    def whole(dtype, layout, rows, columns):
        """Small whole numbers, which every type holds."""
        shape = (rows, columns) if layout == "N" else (columns, rows)
        drawn = torch.randint(0, 5, shape, device=device).float().to(dtype)
        return drawn if layout == "N" else drawn.transpose(-1, -2)

    def pair(first, second, layout, shape):
        m, n, k = shape
        a, b = whole(first, layout[0], m, k), whole(second, layout[1], k, n)
        exact = a.double() @ b.double()
        c = tilewright.matmul(a, b)
        assert c.dtype == (torch.int32 if first in (torch.uint8, torch.int8) else torch.float32)
        assert torch.equal(c.double(), exact)
        if first not in (torch.uint8, torch.int8):
            for narrow in (torch.bfloat16, torch.float16):
                assert torch.equal(tilewright.matmul(a, b, dtype=narrow), exact.float().to(narrow))

    fp8 = [torch.float8_e4m3fn, torch.float8_e5m2] if hasattr(torch, "float8_e5m2") else []
    for kinds in ([torch.uint8, torch.int8], fp8):
        for first, second, layout, shape in itertools.product(kinds, kinds, LAYOUTS, SHAPES):
            case(f"torch {first} {second} {layout} {shape}", pair, first, second, layout, shape)

    def tf32(layout, shape):
        m, n, k = shape
        a, b = operand(m, k, layout[0], torch.float32), operand(k, n, layout[1], torch.float32)
        x, y = rounded(a), rounded(b)
        c = tilewright.matmul(a, b, multiply_as="tf32")
        exact, size = x.double() @ y.double(), x.double().abs() @ y.double().abs()
        unit = 2.0 ** -23
        assert ((c.double() - exact).abs() <= (k + 2) * unit / (1 - (k + 2) * unit) * size + 2.0 ** -125).all()

    def rounded(x):
        """To 10 bits of fraction, to nearest even."""
        bits = x.contiguous().view(torch.int32)
        return (bits + 0xfff + (bits >> 13 & 1) & ~0x1fff).view(torch.float32)

    for layout, shape in itertools.product(LAYOUTS, SHAPES):
        case(f"torch tf32 {layout} {shape}", tf32, layout, shape)

    def batches(dtype, batch_a, batch_b, layout, shape):
        m, n, k = shape
        a, b = operand(m, k, layout[0], dtype, batch_a), operand(k, n, layout[1], dtype, batch_b)
        c = tilewright.matmul(a, b)
        assert c.shape == torch.matmul(a, b).shape, (c.shape, torch.matmul(a, b).shape)
        judge(c, a, b)

    for dtype, (batch_a, batch_b), layout, shape in itertools.product(
            dtypes, [((7,), (7,)), ((7,), ()), ((), (7,)), ((2, 3), (2, 3)), ((2, 1), (3,)), ((0,), (0,))],
            ["NN", "TT"], [(16, 16, 16), (61, 45, 77), (128, 128, 128)]):
        case(f"torch {dtype} batch {batch_a} {batch_b} {layout} {shape}", batches, dtype, batch_a, batch_b, layout,
             shape)

    def views(dtype):
        big = torch.randn(120, 140, device=device).to(dtype)
        for a, b in [(big[3:70, 5:55], big[5:55, 1:]), (big[::2, :60], big[:60, ::3]), (big.T[:, 7:], big[7:, 1:33]),
                     (big[:40, :30].expand(4, 40, 30), big[:30, :20]), (big[:1, :1].expand(20, 30), big[:30, :20])]:
            judge(tilewright.matmul(a, b), a, b)
        judge(tilewright.matmul(big[0], big[1]).reshape(1, 1), big[:1], big[1:2].T)
        vector = big[:, 3]  # 120 elements, 140 apart
        judge(tilewright.matmul(vector, big)[None], vector[None], big)
        judge(tilewright.matmul(big.T, vector)[:, None], big.T, vector[:, None])

    def scalars(dtype):
        a, b, c0 = operand(70, 60, "N", dtype), operand(60, 50, "N", dtype), torch.randn(70, 50, device=device)
        judge(tilewright.matmul(a, b, c0, alpha=-0.5, beta=2), a, b, -0.5, 2.0, c0)
        judge(tilewright.matmul(a, b, c0[0]), a, b, 1.0, 1.0, c0[0].expand(70, 50))
        out, old = c0.clone(), c0.clone()
        assert tilewright.matmul(a, b, out, out=out, beta=0.25) is out
        judge(out, a, b, 1.0, 0.25, old)
        assert torch.equal(tilewright.matmul(a[:, :0], b[:0], c0, beta=2), 2 * c0)
        poisoned = torch.full((70, 50), float("nan"), device=device)
        judge(tilewright.matmul(a, b, out=poisoned), a, b)
        turned = torch.empty(50, 70, device=device).T  # columns one after the other
        judge(tilewright.matmul(a, b, out=turned), a, b)
        spread = torch.zeros(140, 100, device=device)[::2, ::2]
        judge(tilewright.matmul(a, b, out=spread), a, b)

    def overlapping():
        x = torch.randn(64, 64, device=device)
        a = x.clone()
        tilewright.matmul(x, x, out=x)
        judge(x, a, a)

    def behind_slow_work(dtype, given):
        """Operands that are written on the stream after a pause: any other stream would read the old ones."""
        side = torch.cuda.Stream()
        a, b = torch.zeros(300, 200, device=device, dtype=dtype), torch.zeros(200, 100, device=device, dtype=dtype)
        new_a, new_b = operand(300, 200, "N", dtype), operand(200, 100, "N", dtype)
        tilewright.matmul(a, b)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            a.copy_(new_a)
            b.copy_(new_b)
            if given is None:
                c = tilewright.matmul(a, b)
        if given is not None:
            c = tilewright.matmul(a, b, stream=given(side))
        assert not side.query(), "it waited for the stream"
        side.synchronize()
        judge(c, new_a, new_b)

    def graph(dtype, layout, shape, batch):
        m, n, k = shape
        a, b = operand(m, k, layout[0], dtype, batch), operand(k, n, layout[1], dtype, batch)
        tilewright.Plan(a, b)  # compiles; nothing was multiplied yet
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            c = tilewright.matmul(a, b)
        for _ in range(2):
            a.copy_(operand(m, k, "N", dtype, batch))
            b.copy_(operand(k, n, "N", dtype, batch))
            captured.replay()
            torch.cuda.synchronize()
            judge(c, a, b)

    for dtype in dtypes:
        case(f"torch {dtype} views", views, dtype)
        case(f"torch {dtype} alpha beta out", scalars, dtype)
        case(f"torch {dtype} behind slow work", behind_slow_work, dtype, None)
        case(f"torch {dtype} stream=Stream", behind_slow_work, dtype, lambda side: side)
        case(f"torch {dtype} stream=address", behind_slow_work, dtype, lambda side: side.cuda_stream)
        for layout, shape, batch in itertools.product(LAYOUTS, [(33, 65, 129), (512, 512, 512)], [(), (3,)]):
            case(f"torch {dtype} graph {layout} {shape} {batch}", graph, dtype, layout, shape, batch)
    case("torch overlapping", overlapping)

    def refusals():
        a = torch.randn(4, 4, device=device)
        for kind, call in [(TypeError, lambda: tilewright.matmul(a, a.cpu())),
                           (TypeError, lambda: tilewright.matmul(a.clone().requires_grad_(), a)),
                           (TypeError, lambda: tilewright.matmul(a.long(), a.long())),
                           (tilewright.NoKernel, lambda: tilewright.matmul(a.cfloat(), a.cfloat())),
                           (ValueError, lambda: tilewright.matmul(a, a[:3])),
                           (ValueError, lambda: tilewright.matmul(a, a, out=a[:3].clone())),
                           (ValueError, lambda: tilewright.matmul(a, a, out=a[:1].expand(4, 4))),
                           (ValueError, lambda: tilewright.matmul(a, a, engine="cpu"))]:
            try:
                call()
            except kind as error:
                assert len(str(error)) > 20, error
            else:
                raise AssertionError(f"expected {kind.__name__}")
        with torch.no_grad():
            tilewright.matmul(a.clone().requires_grad_(), a)

    case("torch refusals", refusals)

    def on_the_host():
        a, b = torch.randn(30, 40), torch.randn(40, 20)
        c = tilewright.matmul(a, b)
        assert type(c) is torch.Tensor and not c.is_cuda
        judge(c, a, b)
        judge(tilewright.matmul(a, b, engine="cuda"), a, b)

    case("torch host memory", on_the_host)

    class Interface:
        """What another library's array shows: nothing but __cuda_array_interface__."""

        def __init__(self, tensor, stream=None):
            self.tensor, self.shape = tensor, tuple(tensor.shape)
            self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "version": 3, "stream": stream}

    class Exchange:
        """Nothing but DLPack."""

        def __init__(self, tensor):
            self.tensor, self.shape = tensor, tuple(tensor.shape)

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    def interface():
        a, b = operand(70, 60, "N", torch.float32), operand(60, 50, "T", torch.float32)
        c = torch.empty(70, 50, device=device)
        torch.cuda.synchronize()
        out = Interface(c)
        assert tilewright.matmul(Interface(a), Interface(b), out=out) is out
        torch.cuda.synchronize()
        judge(c, a, b)
        side, new = torch.cuda.Stream(), operand(70, 60, "N", torch.float32)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(100_000_000)
            a.copy_(new)
        other = torch.cuda.Stream()  # must wait for the stream that A's key names
        tilewright.matmul(Interface(a, side.cuda_stream), Interface(b), out=Interface(c), stream=other)
        other.synchronize()
        judge(c, new, b)

    def exchange(dtype):
        a, b = operand(70, 60, "N", dtype), operand(60, 50, "T", dtype)
        c = torch.empty(70, 50, device=device)
        tilewright.matmul(Exchange(a), Exchange(b), out=Exchange(c))
        torch.cuda.synchronize()
        judge(c, a, b)

    case("foreign __cuda_array_interface__", interface)
    for dtype in dtypes:
        case(f"foreign DLPack {dtype}", exchange, dtype)


# ---- CuPy ----

def cupy_cases(cupy):
    random = cupy.random.default_rng(1)
    half = int(cupy.cuda.Device().compute_capability) >= 80

    def operand(rows, columns, op, dtype, batch=()):
        if op == "N":
            return random.standard_normal((*batch, rows, columns)).astype(dtype)
        return cupy.swapaxes(random.standard_normal((*batch, columns, rows)).astype(dtype), -1, -2)

    def judge(c, a, b):
        k = a.shape[-1]
        x, y = a.astype(float), b.astype(float)
        exact, size = x @ y, abs(x) @ abs(y)
        unit = 2.0 ** (-24 if a.dtype == cupy.float32 else -23)
        bound = ((k + 2) * unit / (1 - (k + 2) * unit) + (k + 3) * 2.0 ** -53) * size + (k + 1) * 2.0 ** -125
        assert bool((abs(c.astype(float) - exact) <= bound).all()), "elements are wrong"

    def plain(dtype, layout, shape, batch):
        m, n, k = shape
        a, b = operand(m, k, layout[0], dtype, batch), operand(k, n, layout[1], dtype, batch)
        c = tilewright.matmul(a, b)
        assert type(c) is cupy.ndarray and c.dtype == cupy.float32
        judge(c, a, b)

    dtypes = ["float32"] + (["float16"] if half else [])
    for dtype, layout, shape, batch in itertools.product(dtypes, LAYOUTS, SHAPES[1:6], [(), (3,), (2, 2)]):
        case(f"cupy {dtype} {layout} {shape} {batch}", plain, dtype, layout, shape, batch)

    def views(dtype):
        big = operand(120, 140, "N", dtype)
        for a, b in [(big[::-1, :60], big[:60, ::-1]), (big[::2, 3:63], big[7:67, ::3]), (big.T[:, :50], big[:50]),
                     (cupy.broadcast_to(big[:5, :6], (3, 5, 6)), big[:6, :7])]:
            judge(tilewright.matmul(a, b), a, b)
        out = cupy.zeros((60, 70), "float32")[:, ::-1][::-1]
        judge(tilewright.matmul(big[:60, :50], big[:50, :70], out=out), big[:60, :50], big[:50, :70])

    def side_stream(dtype, given):
        side = cupy.cuda.Stream(non_blocking=True)
        a, b = operand(300, 200, "N", dtype), operand(200, 100, "T", dtype)
        c = cupy.empty((300, 100), "float32")
        cupy.cuda.Device().synchronize()
        if given:
            tilewright.matmul(a, b, out=c, stream=side)
        else:
            with side:
                tilewright.matmul(a, b, out=c)
        side.synchronize()
        judge(c, a, b)

    def graph(dtype, layout):
        a, b = operand(129, 200, layout[0], dtype), operand(200, 100, layout[1], dtype)
        c = cupy.empty((129, 100), "float32")
        side = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with side:
            tilewright.matmul(a, b, out=c)  # warm: kernels are compiled, and CuPy's pool has the workspace
            side.synchronize()
            side.begin_capture()
            tilewright.matmul(a, b, out=c)
            captured = side.end_capture()
            a *= 2
            captured.launch(side)
            side.synchronize()
        judge(c, a, b)

    for dtype in dtypes:
        case(f"cupy {dtype} views", views, dtype)
        case(f"cupy {dtype} side stream", side_stream, dtype, False)
        case(f"cupy {dtype} stream=", side_stream, dtype, True)
        for layout in LAYOUTS:
            case(f"cupy {dtype} graph {layout}", graph, dtype, layout)


def main():
    for name, cases in (("torch", torch_cases), ("cupy", cupy_cases)):
        try:
            library = __import__(name)
            there = library.cuda.is_available()
        except ImportError:
            skip(f"{name} is not installed")
            continue
        if there:
            cases(library)
        else:
            skip(f"{name} sees no GPU")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(counts["failed"] > 0 or counts["passed"] == 0)


if __name__ == "__main__":
    main()
