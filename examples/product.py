#!/usr/bin/env python3
"""product.py - C <- 2 A^T B + C in float64, a batch, and the error's sentence where shapes do not fit.

Prints
    7.0 4.0
    9.0 7.0
    11.0 10.0
    1000 products of 8 x 8 matrices
    shapes (3, 2) and (3, 2) do not fit: each row of a has 2 elements, each column of b 3
"""
import numpy as np
import tilewright

a = np.array([[1.0, 2, 3], [2, 2, 2]])  # its transpose is read in place
b = np.array([[1.0, 1], [2, 0]])
c = np.array([[-3.0, 2], [-3, 3], [-3, 4]])
tilewright.matmul(a.T, b, c, alpha=2, beta=1, out=c)
for row in c:
    print(*row)

many = tilewright.matmul(np.ones((1000, 8, 8)), np.eye(8))
print(len(many), "products of", *many.shape[1:2], "x", *many.shape[2:], "matrices")

try:
    tilewright.matmul(a.T, a.T)
except ValueError as error:
    print(error)
