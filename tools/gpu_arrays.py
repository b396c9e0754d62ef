"""gpu_arrays.py - matrices on GPUs and in host memory, and how products of them are judged: for several_gpus.py."""
import gc
import random
import sys

HOST = -1  # in place of a device
ROUNDING = {"f32": (2.0 ** -24, 0.0), "f64": (2.0 ** -53, 0.0), "bf16": (2.0 ** -23, 2.0 ** -8)}  # u of the bound; of C beyond it
STEP = 2048  # rows that are filled, or converted to f64, at a time


class Torch:
    """Matrices and what is computed with them beside the products. tests/test_several_gpus.py has the same in NumPy."""

    cublas = "libcublas.so.13"

    def __init__(self, devices):
        import torch
        if torch.cuda.device_count() <= max(devices):
            sys.exit(f"several_gpus.py: --devices {','.join(map(str, devices))}: PyTorch sees {torch.cuda.device_count()} GPUs")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self.torch, self.devices, self.first, self.join = torch, devices, self.on(devices[0]), torch.cat
        self.types = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16}
        self.name = torch.cuda.get_device_name(devices[0])

    def on(self, device):
        return "cpu" if device == HOST else f"cuda:{device}"

    def empty(self, rows, columns, letter, device, pinned=False):
        return self.torch.empty((rows, columns), dtype=self.types[letter], device=self.on(device), pin_memory=pinned)

    def address(self, x):
        return x.data_ptr()

    def draw(self, x, seed, integers):
        """Uniform from -1 to 1, or whole numbers from -7 to 7; of bf16, where C must hold the sums, -1, 0 and 1."""
        torch, rng = self.torch, self.torch.Generator(self.first).manual_seed(seed)
        for at in range(0, len(x), STEP):
            shape = (min(STEP, len(x) - at), x.shape[1])
            part = torch.randint(-7, 8, shape, device=self.first, generator=rng).float() if integers else \
                torch.rand(shape, device=self.first, generator=rng) * 2 - 1
            if integers and x.dtype == torch.bfloat16:
                part = part.sign() * (part.abs() > 5)
            x[at:at + STEP].copy_(part)

    def f64(self, x):
        return x.to(self.first, self.torch.float64)

    def factors(self, n):
        """Two columns of whole numbers: a wrong row of C goes unseen once in 2^20."""
        return self.f64(self.torch.randint(-512, 512, (n, 2)))

    def nan(self, x):
        x.fill_(float("nan"))

    def same(self, x, y):
        """How many elements of two blocks differ in their bits."""
        kind = {8: self.torch.int64, 4: self.torch.int32, 2: self.torch.int16}[x.element_size()]
        return sum(int((x[at:at + STEP].view(kind) != y[at:at + STEP].view(kind).to(x.device)).sum()) for at in range(0, len(x), STEP))

    def wait(self):
        for device in self.devices:
            self.torch.cuda.synchronize(device)

    def free(self):
        gc.collect()
        self.torch.cuda.empty_cache()
        if hasattr(self.torch._C, "_host_emptyCache"):
            self.torch._C._host_emptyCache()  # pinned memory

    def gathered_product(self, a, b, whole_b, c):
        """torch.mm of each block of rows, behind copies of the blocks of B that other GPUs have. One process: GPUs copy by
        their copy engines, which take no multiprocessor, and NCCL's kernels would."""
        for mine, full in enumerate(whole_b):
            first = 0
            for owner, block in enumerate(b):
                if owner != mine:
                    full[first:first + len(block)].copy_(block, non_blocking=True)
                first += len(block)
        for left, full, out in zip(a, whole_b, c):
            with self.torch.cuda.device(left.device):
                self.torch.mm(left, full, out=out)
        self.wait()


def wrong_rows(arrays, a, b, blocks):
    """Freivalds' check, exact for small integers: the rows of C = A B in which C x differs from A (B x)."""
    def times(matrix, x):
        return arrays.join([arrays.f64(matrix[at:at + STEP]) @ x for at in range(0, len(matrix), STEP)])

    x = arrays.factors(b.shape[1])
    expected, first, wrong = times(a, times(b, x)), 0, 0
    for block in blocks:
        wrong += int((times(block, x) != expected[first:first + len(block)]).any(1).sum())
        first += len(block)
    assert first == len(a)
    return wrong


def worst_error(arrays, a, b, blocks, letter):
    """The largest error of sampled elements of C by the bound of tw_gemm() and of the f64 that judges it. NaN where C is."""
    unit, rounding = ROUNDING[letter]
    k, rng = a.shape[1], random.Random(1)
    columns = sorted({0, b.shape[1] - 1, *rng.sample(range(b.shape[1]), min(62, b.shape[1]))})
    right, first, errors = arrays.f64(b[:, columns]), 0, []
    for block in blocks:
        rows = sorted({0, len(block) - 1, *rng.sample(range(len(block)), min(22, len(block)))})
        left = arrays.f64(a[[first + row for row in rows]])
        exact, size = left @ right, abs(left) @ abs(right)
        gamma = [(k + 2) * u / (1 - (k + 2) * u) for u in (unit, 2.0 ** -53)]
        bound = (1 + rounding) * sum(gamma) * size + rounding * abs(exact)
        errors.append((abs(arrays.f64(block[rows][:, columns]) - exact) / bound).max())
        first += len(block)
    return float(max(errors)) if all(error == error for error in errors) else float("nan")
