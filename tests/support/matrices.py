"""matrices.py - matrices in files, written and read without a library, and their products in whole numbers."""
import gzip
import random
import struct
import zipfile

COMPLEX = {"c8": "f", "c16": "d"}
CODES = {"f8": "d", "f4": "f", "f2": "e", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


def npy_header(descr, shape, fortran=False, version=b"\x01\x00"):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    size = 2 if version == b"\x01\x00" else 4
    text += " " * (-(len(text) + 9 + size) % 64) + "\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(size, "little") + text.encode()


def npy(path, rows, code="f8", order="<", fortran=False, cols=None):
    """Write a list of rows as a .npy file."""
    cols = len(rows[0]) if rows else cols or 0
    flat = [rows[i][j] for j in range(cols) for i in range(len(rows))] if fortran else [x for row in rows for x in row]
    with open(path, "wb") as file:
        file.write(npy_header(order + code, (len(rows), cols), fortran))
        if code in COMPLEX:
            flat = [part for x in flat for part in (complex(x).real, complex(x).imag)]
        file.write(struct.pack(f"{order}{len(flat)}{COMPLEX.get(code) or CODES[code]}", *flat))


def read_npy(path):
    """The descr, the shape, and the rows of a .npy file as the program writes it."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = int.from_bytes(data[8:10], "little")
    header = eval(data[10:10 + size])  # our own program's, in a test
    assert not header["fortran_order"]
    m, n = header["shape"]
    code = header["descr"][1:]
    if code in COMPLEX:
        parts = struct.unpack(f"<{2 * m * n}{COMPLEX[code]}", data[10 + size:])
        flat = [complex(*x) for x in zip(parts[::2], parts[1::2])]
    else:
        flat = struct.unpack(f"<{m * n}{CODES[code]}", data[10 + size:])
    return header["descr"], (m, n), [list(flat[i * n:(i + 1) * n]) for i in range(m)]


def archive(path, *members, compressed=False):
    """Write files as members of an archive, as numpy.savez() or savez_compressed() does."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as made:
        for name in members:
            with open(name, "rb") as file, made.open(name, "w", force_zip64=True) as member:
                member.write(file.read())


def gz(*names):
    for name in names:
        with open(name, "rb") as file, gzip.open(name + ".gz", "wb") as packed:
            packed.write(file.read())


def read_mtx(path, field="real"):
    lines = open(path).read().split("\n")
    assert lines[0] == f"%%MatrixMarket matrix array {field} general", lines[0]
    m, n = map(int, lines[1].split())
    flat = [(float if field == "real" else int)(x) for x in lines[2:2 + m * n]]
    return [[flat[j * m + i] for j in range(n)] for i in range(m)]


def integers(rows, cols, seed, least=-9, most=9):
    draw = random.Random(seed)
    return [[draw.randint(least, most) for _ in range(cols)] for _ in range(rows)]


def complexes(rows, cols, seed):
    return [[complex(*x) for x in zip(*both)] for both in zip(integers(rows, cols, seed), integers(rows, cols, seed + 100))]


def conjugate(a):
    return [[x.conjugate() for x in row] for row in a]


def transpose(a):
    return [list(row) for row in zip(*a)]


def product(a, b):
    columns = transpose(b)
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def pair(m=3, n=2, k=4, code="f8"):
    """A.npy and B.npy of small integers; returns their rows."""
    a, b = integers(m, k, 1), integers(k, n, 2)
    npy("A.npy", a, code)
    npy("B.npy", b, code)
    return a, b
