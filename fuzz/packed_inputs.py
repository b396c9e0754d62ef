#!/usr/bin/python3 -B
"""packed_inputs.py - writes fuzz/corpus/gz and fuzz/corpus/npz: small files as gzip and NumPy make them.

packed_inputs.py [FOLDER]        FOLDER: fuzz/corpus

Nothing depends on the time. zlib's releases may deflate to other bytes.
"""

import gzip
import io
import os
import sys
import zipfile

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
MTX = b"%%MatrixMarket matrix array real general\n% a comment\n2 2\n1\n2\n3\n4\n"


def npy(shape=(2, 3), descr="<f4"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + b"\1\2" * (shape[0] * shape[1] * int(descr[2]) // 2)


def write(kind, name, data):
    os.makedirs(os.path.join(FOLDER, kind), exist_ok=True)
    with open(os.path.join(FOLDER, kind, name), "wb") as file:
        file.write(data)


def packed(data, level=9):
    return gzip.compress(data, level, mtime=0)


class Pipe(io.BytesIO):
    """What cannot be gone back in: sizes then stand behind a member's bytes."""

    def seekable(self):
        return False

    def tell(self):
        raise OSError


def archive(*members, method=zipfile.ZIP_STORED, wide=True, file=None, comment=b""):
    file = file or io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        made.comment = comment
        for name, data in members:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            with made.open(entry, "w", force_zip64=wide) as member:
                member.write(data)
    return file.getvalue()


write("gz", "npy", packed(npy()))
write("gz", "npy_stored", packed(npy(), 0))
write("gz", "mtx", packed(MTX))
write("gz", "raw", packed(b"123456"))
write("gz", "two", packed(npy()[:20]) + packed(npy()[20:]))
write("gz", "empty", packed(b""))
write("gz", "bomb", packed(npy((1, 1), "|u1") + bytes(20000)))
write("gz", "short", packed(npy((1000, 2))[:200]))
write("npz", "one", archive(("a.npy", npy())))
write("npz", "deflated", archive(("a.npy", npy()), method=zipfile.ZIP_DEFLATED))
write("npz", "two", archive(("a.npy", npy((1, 1), "|u1")), ("b.npy", npy((1, 1), "|i1")), wide=False))
write("npz", "folder", archive(("f/", b""), ("f/a.mtx", MTX), comment=b"a comment", wide=False))
write("npz", "piped", archive(("a.npy", npy()), method=zipfile.ZIP_DEFLATED, file=Pipe()))
write("npz", "bomb", archive(("a.npy", npy((1, 1), "|u1") + bytes(20000)), method=zipfile.ZIP_DEFLATED))
write("npz", "none", archive())
