"""fake_arrays.py - arrays as PyTorch, CuPy and others show them, in the fake CUDA driver's memory, which is the host's.

    import support.fake_arrays as fake      makes the modules torch and cupy, with what python/tilewright asks of them

`fake.stream()` is a stream of the fake driver. Each allocation is noted in `fake.allocated`: library, bytes, stream; each
tensor whose version counter was incremented in `fake.versions`.
"""
import ctypes
import sys
import types

import numpy as np

driver = ctypes.CDLL("libcuda.so.1")
allocated = []
versions = []  # tensors that autograd was told were written
current = {"torch": 0, "cupy": 0}


def stream():
    context, made = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(made), 0) == 0
    return made.value


class Using:
    """A block in which a library's current stream is another."""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def __enter__(self):
        self.before, current[self.library] = current[self.library], self.handle

    def __exit__(self, *_):
        current[self.library] = self.before


def memory(library, shape, dtype):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    allocated.append((library, size, current.get(library)))
    whole = np.zeros(size + 512, np.uint8)
    skip = -whole.__array_interface__["data"][0] % 256
    return whole[skip:skip + size].view(dtype).reshape(shape)


class Interface:
    """Nothing but __cuda_array_interface__."""

    def __init__(self, array, stream=None):
        self.array, self.shape, self.stream = array, array.shape, stream

    @property
    def __cuda_array_interface__(self):
        x = self.array
        return {"shape": x.shape, "typestr": x.dtype.str, "strides": x.strides, "version": 3, "stream": self.stream,
                "data": (x.__array_interface__["data"][0], not x.flags.writeable)}


class Exchange:
    """Nothing but DLPack, on CUDA's first device."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return 2, 0


# ---- CuPy ----

cupy = types.ModuleType("cupy")


class CupyArray:
    __module__ = "cupy"

    def __init__(self, array, device=0):
        self.np, self.device = array, types.SimpleNamespace(id=device)
        self.shape, self.strides, self.dtype, self.flags = array.shape, array.strides, array.dtype, array.flags
        self.data = types.SimpleNamespace(ptr=array.__array_interface__["data"][0])

    def __dlpack_device__(self):
        return 2, self.device.id

    def copy(self, order="C"):
        made = memory("cupy", self.shape, self.dtype)
        made[...] = self.np
        return CupyArray(made)

    def astype(self, dtype):
        made = memory("cupy", self.shape, dtype)
        made[...] = self.np
        return CupyArray(made)

    def __setitem__(self, index, value):
        self.np[index] = value.np


class CupyDevice:
    def __init__(self, index):
        self.index = index

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class CupyStream(Using):
    def __init__(self, handle):
        super().__init__("cupy", handle)
        self.ptr = handle


cupy.ndarray = CupyArray
cupy.empty = lambda shape, dtype: CupyArray(memory("cupy", shape, dtype))
cupy.cuda = types.SimpleNamespace(Device=CupyDevice, ExternalStream=CupyStream, Stream=CupyStream,
                                  get_current_stream=lambda: types.SimpleNamespace(ptr=current["cupy"]))

# ---- PyTorch ----

torch = types.ModuleType("torch")


class TorchType:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name


for name in ("float64", "float32", "float16", "int8", "int16", "int32", "uint8", "bool"):
    setattr(torch, name, TorchType(name))
torch.bfloat16 = TorchType("bfloat16")
torch.strided, torch.contiguous_format = "strided", "contiguous"


class Tensor:
    __module__ = "torch"
    layout = "strided"

    def __init__(self, array, cuda=True, requires_grad=False):
        self.np, self.is_cuda, self.requires_grad = array, cuda, requires_grad
        self.shape, self.dtype = array.shape, getattr(torch, array.dtype.name)

    def __dlpack_device__(self):
        return 2 if self.is_cuda else 1, 0

    def is_neg(self):
        return False

    def is_conj(self):
        return False

    def resolve_conj(self):
        return self

    def resolve_neg(self):
        return self

    def data_ptr(self):
        return self.np.__array_interface__["data"][0]

    def stride(self):
        return tuple(stride // self.np.itemsize for stride in self.np.strides)

    def element_size(self):
        return self.np.itemsize

    def get_device(self):
        return 0

    def is_inference(self):
        return False

    def detach(self):
        return Tensor(self.np, self.is_cuda)

    def numpy(self):
        return self.np

    def clone(self, memory_format):
        made = memory("torch", self.shape, self.np.dtype)
        made[...] = self.np
        return Tensor(made)

    def to(self, dtype):
        made = memory("torch", self.shape, dtype.name)
        made[...] = self.np
        return Tensor(made)

    def copy_(self, other):
        try:
            self.np[...] = other.np
        except ValueError as error:
            raise RuntimeError(str(error)) from None


class Lazy(Tensor):
    """A tensor whose negative is a mark on it, not in its memory, as PyTorch makes them."""

    def is_neg(self):
        return True

    def resolve_neg(self):
        made = memory("torch", self.shape, self.np.dtype)
        made[...] = -self.np
        return Tensor(made, self.is_cuda)

    def resolve_conj(self):
        return self

    def detach(self):
        return Lazy(self.np, self.is_cuda)

    def copy_(self, other):
        self.np[...] = -other.np


class TorchStream:
    def __init__(self, handle, device=None):
        self.cuda_stream = handle


torch.Tensor = Tensor
torch.from_numpy = lambda array: Tensor(array, cuda=False)
torch.empty = lambda shape, dtype, device: Tensor(memory("torch", shape, dtype.name))
torch.is_grad_enabled = lambda: True
torch.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=versions.append))
torch.cuda = types.SimpleNamespace(
    current_stream=lambda device: TorchStream(current["torch"]), current_device=lambda: 0, Stream=TorchStream,
    ExternalStream=TorchStream, stream=lambda stream: Using("torch", stream.cuda_stream))
sys.modules["torch"], sys.modules["cupy"] = torch, cupy
