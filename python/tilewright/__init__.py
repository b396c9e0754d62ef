"""Fast matrix multiplication for NumPy, PyTorch, CuPy and other arrays, on the CPU, CUDA and OpenCL.

>>> import numpy as np, tilewright
>>> tilewright.matmul(np.array([[1., 2., 3.], [4., 5., 6.]]), np.array([[1., 0.], [0., 1.], [1., 1.]]))
array([[ 4.,  5.],
       [10., 11.]])

matmul and Plan multiply, and threads limits on how many threads; devices, ladder, bench and explain measure and
describe, tune finds faster parameters; `python -m tilewright` is the program. Which kernel a product takes goes to the logger "tilewright", at level DEBUG.
TILEWRIGHT_LIBRARY names another libtilewright.so.0.
"""
from ._errors import BadArgument, BuildFailed, CheckFailed, DeviceFailed, Error, NoDevice, NoKernel, OutOfMemory
from ._lab import Records, bench, devices, explain, ladder, tune
from ._library import __version__
from ._matmul import Plan, matmul
from ._threads import threads

__all__ = ["BadArgument", "BuildFailed", "CheckFailed", "DeviceFailed", "Error", "NoDevice", "NoKernel", "OutOfMemory",
           "Plan", "Records", "__version__", "bench", "devices", "explain", "ladder", "matmul", "threads",
           "tune"]
