#!/usr/bin/python3 -B
"""test_cli_files.py - files that `tilewright` reads and writes: hostile inputs, outputs that destroy nothing, interruptions that leave nothing.

    test_cli_files.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Needs nothing but Python 3.
"""
import os
import resource
import signal
import struct
import subprocess
import time

from support.matrices import archive, gz, npy, npy_header, pair, product, read_npy
from support.program import PROGRAM, bad, begun, clean_environment, contents, good, needs_zlib, records, run, sanitized
from support.tap import Skip, case, main

KERNEL = """#include "rung.clh"
__kernel void r01_own(PARAMETERS) {}
"""

# ---- input files: exit code 6 -----------------------------------------------------------------------------------------

@case
def hostile_npy_files():
    npy("B.npy", [[1.0]])
    whole = npy_header("<f8", (4, 4)) + bytes(128)
    files = {
        "empty": b"", "magic": b"\x93NUMPX\x01\x00" + whole[8:], "cut": whole[:-1], "header": whole[:60],
        "huge": npy_header("<f8", (2 ** 30, 2 ** 30)) + bytes(64), "beyond": npy_header("<f8", (2 ** 62, 2 ** 62)),
        "negative": npy_header("<f8", (-1, 4)), "object": npy_header("|O", (1, 1)) + bytes(8), "word": npy_header("<f8", "(one, 1)"),
    }
    for name, data in files.items():
        open(f"{name}.npy", "wb").write(data)
        says = f"{name}.npy: " + ("the file ends inside its .npy header, after 50 of 118 bytes" if name == "header" else "")
        bad(6, "multiply", f"{name}.npy", "B.npy", "-o", "C.npy", says=says)
        bad(6, "verify", "B.npy", "B.npy", f"{name}.npy", says=f"{name}.npy: ")


@case
def rows_without_end_and_without_elements():
    """2^63 - 1 rows or columns of no element are passed over, not counted one by one."""
    most = 2 ** 63 - 1
    for name, shape in (("tall", (most, 0)), ("thin", (0, 1)), ("wide", (0, most)), ("none", (1, 0))):
        open(f"{name}.npy", "wb").write(npy_header("<i8", shape))
    for words in ((), ("--memory", "1M")):
        bad(5, "multiply", "tall.npy", "thin.npy", "-o", "C.npy", *words, says="memory")
        bad(5, "multiply", "none.npy", "wide.npy", "-o", "C.npy", *words, says="memory")
    good("multiply", "wide.npy", "tall.npy", "-o", "C.npy")


@case
def inputs_without_end():
    """Refused by their first bytes, with little memory: not read until there is none left."""
    npy("B.npy", [[1.0]])
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
    for command in (["multiply", "/dev/zero", "B.npy", "-o", "C.npy"], ["verify", "B.npy", "B.npy", "/dev/zero"]):
        done = run(*command, preexec_fn=None if sanitized() else limit)
        assert done.returncode == 6 and "/dev/zero: begins with '\\x00" in done.stderr, done
    bad(6, "report", "B.npy", "-o", "r.html", says=["B.npy: line 1: begins with '?NUMPY", "expected a record: one JSON object on each line"])
    for source, says in (("/dev/zero", "line 1: "), ("yes ''", "empty lines")):
        source = f"cat {source}" if source[0] == "/" else source
        done = subprocess.run(f"{source} | {PROGRAM} report - -o r.html", shell=True, capture_output=True, text=True, timeout=60)
        assert done.returncode == 6 and says in done.stderr, done
    assert os.listdir(".") == ["B.npy"]


@case
def hostile_matrix_market_files():
    npy("B.npy", [[1.0]])
    banner = "%%MatrixMarket matrix array real general\n"
    files = {"word": banner + "1 1\none\n", "few": banner + "2 2\n1\n2\n3\n", "negative": banner + "-1 1\n",
             "huge": banner + f"{2 ** 40} {2 ** 40}\n", "quaternion": banner.replace("real", "quaternion") + "1 1\n1 1\n"}
    for name, data in files.items():
        open(f"{name}.mtx", "w").write(data)
        bad(6, "multiply", f"{name}.mtx", "B.npy", "-o", "C.npy", says=f"{name}.mtx: ")


@case
def archives_and_compressed_files():
    """A member that is named, the only one, and what there is where none is or a wrong one; no output goes into an archive, or over it."""
    a, b = pair()
    needs_zlib()
    archive("ab.npz", "A.npy", "B.npy")
    archive("a.npz", "A.npy", compressed=True)
    gz("A.npy", "B.npy")
    open("B.raw", "wb").write(open("B.npy", "rb").read()[-64:])
    gz("B.raw")
    for words in (["ab.npz:A", "ab.npz:B.npy"], ["a.npz", "B.npy.gz"], ["A.npy.gz", "B.raw.gz", "--shape", "3x2x4", "--dtype", "f64"]):
        good("multiply", *words, "-o", "C.npy", "--verify")
        assert read_npy("C.npy")[2] == product(a, b), words
    for packed in ("A.npy.gz", "a.npz"):
        with open(packed, "rb") as file:
            done = run("multiply", "-", "B.npy", "-o", "C.npy", stdin=file)
            assert done.returncode == 0 and read_npy("C.npy")[2] == product(a, b), done
    raw = bytes([0x1f, 0x8b, 8, 0, 0, 0, 0xf0, 63]) + struct.pack("<7d", *range(7))  # its first number begins as gzip data do
    open("R", "wb").write(raw)
    open("R.raw", "wb").write(raw)
    for source in ("R", "-", "R.raw"):
        done = run("multiply", source, source if source != "-" else "R.raw", "-o", f"{source}.raw".lower(), "--shape", "2x2x4", "--transpose-b", "--dtype", "f64", "--verify", stdin=open("R", "rb"))
        assert done.returncode == 0, done
    assert open("r.raw", "rb").read() == open("-.raw", "rb").read() == open("r.raw.raw", "rb").read()
    bad(6, "multiply", "R", "B.npy", "-o", "C.npy", says="R: its compressed bytes")
    bad(6, "multiply", "ab.npz", "B.npy", "-o", "C.npy", says="ab.npz: is an archive of 2 members; FILE.npz:NAME names one: A, B\n")
    bad(6, "verify", "ab.npz:A", "ab.npz:b", "C.npy", says="ab.npz: the archive has no member 'b'; it has 2: A, B\n")
    bad(6, "multiply", "none.npz:A", "B.npy", "-o", "C.npy", says="none.npz: cannot be read: No such file")
    bad(6, "multiply", "A.npy:A", "B.npy", "-o", "C.npy", says="A.npy:A: cannot be read: No such file")
    bad(2, "multiply", "A.npy", "B.raw.gz", "-o", "C.npy", says=["B.raw.gz: a raw file does not say its shape and type"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy.gz", says=["-o C.npy.gz: the ending names no format", "C is not compressed"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "ab.npz:C.npy", says="-o ab.npz:C.npy: nothing is written into an archive")
    bad(2, "multiply", "ab.npz:A", "B.npy", "-o", "C.npy", "--json", "ab.npz", "--force", says="--json ab.npz names the same file as ab.npz:A, which is read")
    with open("A.npy.gz", "r+b") as file:
        file.truncate(os.path.getsize("A.npy.gz") - 9)
    bad(6, "multiply", "A.npy.gz", "B.npy", "-o", "C.npy", says="A.npy.gz: its compressed bytes end too early: it was cut short")
    os.rename("A.npy", "ab.npz:A.npy")  # a file of the whole name comes first
    os.remove("ab.npz")
    good("multiply", "ab.npz:A.npy", "B.npy", "-o", "ab.npz:A.npy")


@case
def files_that_are_none():
    npy("B.npy", [[1.0]])
    os.mkdir("folder.npy")
    open("text.npy", "w").write("hello")
    bad(6, "multiply", "missing.npy", "B.npy", "-o", "C.npy", says=["missing.npy: ", "No such file"])
    bad(6, "multiply", "folder.npy", "B.npy", "-o", "C.npy", says=["folder.npy: ", "directory"])
    bad(6, "multiply", "text.npy", "B.npy", "-o", "C.npy", says="text.npy: ")
    open("short.raw", "wb").write(bytes(8))
    bad(6, "multiply", "short.raw", "short.raw", "-o", "C.npy", "--shape", "2x2x2", "--dtype", "f64", says=["32 bytes", "has 8"])


@case
def operands_that_do_not_fit_together():
    pair(3, 2, 4)
    npy("W.npy", [[1.0]])
    bad(6, "multiply", "A.npy", "A.npy", "-o", "C.npy", says=["A.npy is 3 x 4 and A.npy is 3 x 4", "4", "must be equal"])
    bad(6, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--transpose-a", says=["transposed", "must be equal"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--shape", "3x3x3", says=["--shape 3x3x3", "the operands are 3x2x4"])
    bad(6, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "1", "--add", "W.npy", says=["W.npy", "expected 3 x 2"])
    bad(6, "verify", "A.npy", "B.npy", "W.npy", says=["W.npy: is 1 x 1, expected 3 x 2"])


@case
def values_that_no_type_holds():
    npy("A.npy", [[1, 2], [3, 2 ** 53 + 1]], "i8")
    npy("B.npy", [[1, 2], [3, 4]], "i8")
    bad(6, "multiply", "A.npy", "B.npy", "-o", "C.npy", says=["A.npy: element [1, 1] is 9007199254740993", "--dtype f64"])
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--dtype", "f64")


@case
def odd_names_stay_on_one_line():
    bad(6, "multiply", "no\nsuch\033[31m.npy", "x.npy", "-o", "C.npy", says="no?such?[31m.npy")


# ---- outputs: exit code 7 ---------------------------------------------------------------------------------------------

@case
def outputs_that_cannot_be_written():
    pair()
    os.mkdir("folder.npy")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "none/C.npy", says="none/C.npy: ")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "folder.npy", says=["folder.npy: ", "directory"])
    bad(7, "devices", "--json", "none/d.json", says="none/d.json")
    if os.path.exists("/dev/full"):
        bad(7, "version", "--json", "/dev/full", says="/dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 7 and "standard output" in done.stderr, done


def record_file(path):
    """One record of a ladder, as --json writes it."""
    good("ladder", "--size", "8", "--rung", "r01", "--samples", "1", "--json", path)


@case
def no_output_is_an_input():
    pair()
    record_file("r.jsonl")
    open("r01_own.cl", "w").write(KERNEL)
    os.mkdir("folder")
    os.symlink("folder", "way")
    os.symlink("../B.npy", "folder/link.npy")
    os.link("B.npy", "hard.npy")
    for name in ("B.npy", "./B.npy", "hard.npy", "folder/link.npy", "way/link.npy", "way/../B.npy", os.path.abspath("B.npy")):
        bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", name, says=[f"--json {name} names the same file as B.npy", "would be lost"])
        bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", name, "--append", "--force", says="would be lost")
        bad(2, "verify", "A.npy", "B.npy", "A.npy", "--json", name, says="would be lost")
    bad(2, "multiply", "A.npy", "B.npy", "-o", "C.npy", "--beta", "1", "--add", "hard.npy", "--json", "B.npy", says="--json B.npy names the same file as B.npy")
    bad(2, "multiply", "A.npy", "A.npy", "-o", "C.npy", "--beta", "1", "--add", "hard.npy", "--json", "B.npy", says="as --add hard.npy")
    for words in (["-o", "r.jsonl"], ["-o", "./r.jsonl"], ["-o", "r.jsonl", "--force"]):
        bad(2, "report", "r.jsonl", *words, says=["names the same file as r.jsonl", "would be lost"])
    bad(2, "ladder", "--rung", "r01_own.cl", "--html", "r01_own.cl", says="as --rung r01_own.cl")


@case
def outputs_are_different_files():
    pair()
    os.mkdir("folder")
    os.symlink("folder", "way")
    os.symlink("new.npy", "dangling.npy")
    for one, other in (("same.npy", "same.npy"), ("same.npy", "./same.npy"), ("folder/x.npy", "way/x.npy"), ("new.npy", "dangling.npy")):
        bad(2, "multiply", "A.npy", "B.npy", "-o", one, "--json", other, says=[f"-o {one} and --json {other} name the same file"])
        bad(2, "ladder", "--html", one, "--json", other, says="name the same file")


@case
def files_of_another_kind_are_kept():
    pair()
    record_file("r.jsonl")
    open("notes.txt", "w").write("do not lose me\n")
    open("page.html", "w").write("<!DOCTYPE html>\n<title>mine</title>\n")
    open("package.json", "w").write('{\n  "name": "mine"\n}\n')
    open("M.mtx", "w").write("%%MatrixMarket matrix array real general\n1 1\n1\n")
    open("firmware.bin", "wb").write(b"\x7fELF\2\1\1" + bytes(100))
    os.rename("r.jsonl", "J.npy")
    for name, holds in (("A.npy", "a .npy matrix"), ("M.mtx", "a Matrix Market matrix"), ("notes.txt", "text"), ("page.html", "JSON, HTML or SVG of another program"),
                        ("package.json", "JSON, HTML or SVG of another program"), ("firmware.bin", "a program")):
        others = [["devices"], ["bench", "--size", "8"], ["ladder", "--size", "8"], ["doctor"]] if name == "A.npy" else []
        for words in (["version"], *others):
            bad(7, *words, "--json", name, says=[f"--json {name}: holds {holds}, expected JSON", "--force"])
        bad(7, "version", "--append", "--json", name, says=[f"--json {name}: holds {holds}, expected JSON: give another name"])
    bad(7, "version", "--append", "--force", "--json", "A.npy", says=["--json A.npy: holds a .npy matrix, expected JSON: give another name"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "notes.txt", says=["the ending names no format"])
    open("big.mtx", "w").write("%%MatrixMarket matrix array real general\n1 1\n1e300\n")
    assert ", verified, 1 infinite\n" in good("multiply", "big.mtx", "M.mtx", "-o", "inf.mtx", "--dtype", "f32", "--verify").stdout
    for name, holds in (("A.npy", "a .npy matrix"), ("J.npy", "JSON"), ("notes.txt", "text"), ("page.html", "JSON, HTML or SVG of another program")):
        bad(7, "ladder", "--size", "8", "--html", name, says=[f"--html {name}: holds {holds}, expected HTML"])
        if name != "J.npy":
            bad(7, "report", "J.npy", "-o", name, says=[f"-o {name}: holds {holds}, expected HTML"])
    bad(7, "multiply", "A.npy", "B.npy", "-o", "J.npy", says=["-o J.npy: holds JSON, expected a .npy matrix"])
    bad(7, "multiply", "A.npy", "B.npy", "-o", "firmware.bin", says=["-o firmware.bin: holds a program, expected a raw matrix"])
    good("multiply", "A.npy", "B.npy", "-o", "J.npy", "--force")
    good("version", "--json", "notes.txt", "--force")
    assert read_npy("J.npy")[1] == (3, 2) and records(open("notes.txt").read())
    for name in ("C.npy", "C.mtx", "C.raw"):  # their own kind is replaced, and so is an empty file
        open(name, "w").close()
        for _ in range(2):
            good("multiply", "A.npy", "B.npy", "-o", name)
    for _ in range(2):
        good("version", "--json", "v.json")
        good("ladder", "--size", "8", "--rung", "r01", "--samples", "1", "--html", "l.html", "--json", "l.json")
        good("report", "l.json", "-o", "l.svg")
    good("doctor", "--json", "d.json", env={"OCL_ICD_VENDORS": "/nowhere"})
    good("version", "--json", "d.json")
    for _ in range(2):
        good("ladder", "--gpu", "H200", "--rung", "r02", "--size", "64", "--json", "p.json")
        good("report", "l.json", "-o", "l.md")
    for text in ('{"version": "1.0", "data": [1]}', '{"engine": "diesel"}', '{"command": "ls"}'):
        open("other.json", "w").write(text)
        bad(7, "version", "--json", "other.json", says="--json other.json: holds JSON, HTML or SVG of another program")
    open("README.md", "w").write("# Mine\n")
    bad(7, "report", "l.json", "-o", "README.md", says="-o README.md: holds text, expected a table of rungs")
    bad(7, "ladder", "--size", "8", "--html", "README.md", says="--html README.md: holds text, expected a table of rungs")


@case
def help_writes_nothing():
    pair()
    kept = open("A.npy", "rb").read()
    for words in (["--json", "A.npy"], ["--json", "A.npy", "--append"], ["--json", "new.json"], ["--append"]):
        assert good("multiply", "A.npy", "B.npy", "-o", "C.npy", *words, "--help").stdout.startswith("tilewright multiply - ")
        assert good("ladder", *words, "-h").stdout.startswith("tilewright ladder - ")
    assert open("A.npy", "rb").read() == kept and not os.path.exists("new.json") and not os.path.exists("C.npy")


@case
def kernels_that_are_explained_are_not_replaced():
    open("mine.cl", "w").write("__kernel void r01_mine(PARAMETERS) {}\n")
    bad(2, "explain", "mine.cl", "--json", "mine.cl", "--force", says="--json mine.cl names the same file as mine.cl, which is read")
    assert open("mine.cl").read() == "__kernel void r01_mine(PARAMETERS) {}\n"


@case
def what_goes_where_the_shell_sends_it_is_not_replaced():
    """A file that standard output or standard error goes to, under its own name or as /dev/stdout."""
    done = subprocess.run(f"{PROGRAM} version --json r.json > r.json", shell=True, capture_output=True, text=True)
    assert done.returncode == 2 and "r.json is the file that standard output goes to" in done.stderr, done
    done = subprocess.run(f"{PROGRAM} version --json r.json 2> r.json", shell=True, capture_output=True, text=True)
    assert done.returncode == 2 and "is the file that standard error goes to" in open("r.json").read(), done
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        done = subprocess.run(f"{PROGRAM} version --json {name} > out", shell=True, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr.startswith("tilewright 0.") and len(records(open("out").read())) == 1, (name, done)


@case
def a_dash_is_standard_input_or_refused():
    a, b = pair()
    record_file("r.jsonl")
    for words in (["multiply", "-", "-", "-o", "C.npy"], ["verify", "-", "B.npy", "-"], ["report", "-", "-", "-o", "r.html"]):
        bad(2, *words, says=["'-' stands for standard input", "once"])
    bad(2, "report", "r.jsonl", "-o", "-", says=["a page is written to a file", "./-"])
    bad(2, "ladder", "--html", "-", says=["a page is written to a file", "./-"])
    bad(2, "multiply", "A.npy", "B.npy", "-o", "-", says=".npy, .mtx, .raw or .bin")
    with open("A.npy", "rb", buffering=0) as file:
        file.read(100)
        done = run("multiply", "-", "B.npy", "-o", "C.npy", stdin=file)
        assert done.returncode == 6 and "a part of standard input, a file, was read before" in done.stderr, done
    assert not os.path.exists("C.npy")
    with open("r.jsonl") as file:
        done = run("report", "-", "-o", "r.html", stdin=file)
    assert done.returncode == 0 and open("r.html").read().startswith("<!DOCTYPE html>"), done
    npy("C0.npy", [[1.0] * 2] * 3)
    with open("C0.npy", "rb") as file:
        done = run("multiply", "A.npy", "B.npy", "--beta", "1", "--add", "-", "-o", "C.npy", stdin=file)
    assert done.returncode == 0 and read_npy("C.npy")[2] == [[x + 1 for x in row] for row in product(a, b)], done


@case
def links_as_outputs():
    """A link stays, and what it names is replaced, or made where there is nothing yet, as a shell's > does."""
    a, b = pair()
    os.mkdir("store")
    os.symlink("store/C.npy", "link.npy")
    for _ in range(2):
        good("multiply", "A.npy", "B.npy", "-o", "link.npy")
        assert os.readlink("link.npy") == "store/C.npy" and read_npy("store/C.npy")[2] == product(a, b)
    os.symlink("store/d.json", "d.json")
    good("version", "--json", "d.json", "--append")
    assert len(records(open("store/d.json").read())) == 1 and os.path.islink("d.json")
    os.symlink("none/C.npy", "astray.npy")
    os.symlink("loop.npy", "loop.npy")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "astray.npy", says=["astray.npy: ", "the folder none does not exist"])
    bad(7, "multiply", "A.npy", "B.npy", "-o", "loop.npy", says=["loop.npy: ", "symbolic links"])


@case
def folders_that_are_missing_are_named():
    pair()
    for words in (["multiply", "A.npy", "B.npy", "-o"], ["version", "--json"], ["version", "--append", "--json"]):
        bad(7, *words, "/nonexist/out.npy", says=["/nonexist/out.npy: ", "the folder /nonexist does not exist"])
        bad(7, *words, "A.npy/out.npy", says="the folder A.npy is not a folder")
    bad(7, "ladder", "--size", "8", "--html", "none/of/p.html", says="the folder none/of does not exist")


def limited(bytes_most, *words):
    """The program where no file may grow beyond so many bytes; SIGXFSZ ends it unless it minds."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_most, bytes_most))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(), preexec_fn=limit, timeout=60)


@case
def a_limit_on_file_sizes_leaves_nothing():
    pair(40, 40, 3)
    good("multiply", "A.npy", "B.npy", "-o", "old.npy")
    before = contents()
    for name in ("C.npy", "C.mtx", "C.raw", "old.npy"):
        for words in ([], ["--verify"]):
            done = limited(1024, "multiply", "A.npy", "B.npy", "-o", name, *words)
            assert done.returncode == 7 and f"{name}: cannot be written: File too large" in done.stderr and contents() == before, done
    done = limited(0, "version", "--json", "v.json")
    assert done.returncode == 7 and "v.json" in done.stderr and contents() == before, done
    done = limited(1024, "bench", "--size", "8,9,10,11", "--samples", "1", "--json", "r.json")
    assert done.returncode == 7 and "r.json: could not be written: File too large" in done.stderr and contents() == before, done


@case
def a_file_made_meanwhile_is_kept():
    """Another program writes to the name of C while it is computed."""
    n = 800 if sanitized() else 1500
    process = long_multiply(n)
    open("C.npy", "w").write("do not lose me\n")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7 and "-o C.npy: holds text, expected a .npy matrix" in err, (process.returncode, err)
    assert open("C.npy").read() == "do not lose me\n" and sorted(os.listdir(".")) == ["A.raw", "B.raw", "C.npy"], os.listdir(".")
    os.remove("C.npy")
    process = long_multiply(n, "--json", "r.json")
    open("r.json", "w").write("do not lose me\n")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7 and "--json r.json: holds text, expected JSON" in err, (process.returncode, err)
    assert open("r.json").read() == "do not lose me\n" and sorted(os.listdir(".")) == ["A.raw", "B.raw", "C.npy", "r.json"], os.listdir(".")


@case
def other_signals_leave_nothing_either():
    for number in (signal.SIGQUIT, signal.SIGXCPU, signal.SIGHUP):
        process = long_multiply()
        process.send_signal(number)
        ended(process, 130 if number == signal.SIGHUP else -number)


@case
def closed_standard_streams_are_not_written_to():
    """What is printed must not go into the file that was given the number of a closed stream."""
    pair()
    for close in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(f"{PROGRAM} version --json v.json {close}", shell=True, capture_output=True, text=True)
        assert done.returncode == (7 if ">&- " in close + " " and close[0] != "2" else 0), (close, done)
        assert not os.path.exists("v.json") or open("v.json").read().count("\n") == len(records(open("v.json").read())) == 1, (close, open("v.json").read())
        subprocess.run(f"{PROGRAM} multiply A.npy B.npy -o C.npy -v --verify {close}", shell=True, capture_output=True)
        assert read_npy("C.npy")[1] == (3, 2) and os.path.getsize("C.npy") == 128 + 6 * 8, close
    done = subprocess.run(f"{PROGRAM} multiply - B.npy -o C.npy <&-", shell=True, capture_output=True, text=True)
    assert done.returncode == 6 and "is empty" in done.stderr, done


@case
def files_that_may_not_be_read_are_kept():
    pair()
    good("version", "--json", "hidden.json")
    good("version", "--json", "fixed.json")
    os.chmod("hidden.json", 0o200)
    os.chmod("fixed.json", 0o444)
    drop = None
    if os.access("hidden.json", os.R_OK):
        drop = lambda: (os.chmod(".", 0o777), os.setgroups([]), os.setgid(65534), os.setuid(65534))
        if subprocess.run(["test", "-x", PROGRAM], preexec_fn=drop).returncode != 0:
            raise Skip("another user cannot run the program here")
    says = [("hidden.json", "its contents cannot be read (Permission denied)"), ("fixed.json", "the file is read-only")]
    if drop is not None:
        good("version", "--json", "owned.json")
        says.append(("owned.json", "may not be written (Permission denied)"))
    kept = {name: os.stat(name).st_ino for name, _ in says}
    for name, what in says:
        done = run("version", "--json", name, preexec_fn=drop)
        assert done.returncode == 7 and f"{name}: {what}" in done.stderr, done
    assert {name: os.stat(name).st_ino for name in os.listdir(".") if name not in ("A.npy", "B.npy")} == kept, os.listdir(".")


@case
def a_read_only_file_is_replaced_by_force_alone():
    """By whichever user: root may write to any."""
    pair()
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    good("version", "--json", "v.json")
    open("empty.npy", "wb").close()
    os.symlink("C.npy", "link.npy")
    for name in ("C.npy", "v.json", "empty.npy"):
        os.chmod(name, 0o444)
    before = contents()
    for name in ("C.npy", "link.npy", "empty.npy"):
        bad(7, "multiply", "A.npy", "B.npy", "--alpha", "2", "-o", name, says=f"{name}: the file is read-only: give another name, or --force to replace it")
    done = run("version", "--json", "v.json", "--append", "--force")
    assert done.returncode == 7 and done.stderr.endswith("v.json: the file is read-only: give another name\n"), done
    assert contents() == before
    good("multiply", "A.npy", "B.npy", "--alpha", "2", "-o", "C.npy", "--force")
    assert contents() != before


@case
def a_full_disk_leaves_nothing():
    """A file system of 16 KiB, in a namespace of our own."""
    pair(60, 60, 3)
    os.mkdir("tiny")
    script = f"""set -e; mount -t tmpfs -o size=16k none tiny; cp A.npy tiny/old.npy; set +e
for words in '-o tiny/C.npy' '-o tiny/old.npy --verify' '-o tiny/C.mtx'; do {PROGRAM} multiply A.npy B.npy $words; echo $?; done
dd if=/dev/zero of=tiny/fill bs=1k count=64 2>/dev/null; {PROGRAM} version --json tiny/v.json; echo $?; rm tiny/fill
cmp A.npy tiny/old.npy && ls -A tiny"""
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, env=clean_environment())
    if "unshare" in done.stderr or "mount" in done.stderr:
        raise Skip("no namespace can be made here: " + done.stderr.strip())
    said = good("version").stdout.splitlines()[0]
    assert done.stdout == f"7\n7\n7\n{said}\n7\nold.npy\n" and done.stderr.count("No space left on device") == 4, done


@case
def files_may_have_any_name():
    a, b = pair()
    lines = good("multiply", "A.npy", "B.npy", "-o", "C.npy", "-v", "--verify").stdout.count("\n")
    for name in ("C\n\033[31m.npy", "-C.npy", " .npy", ".npy", "C;true.npy", "\udcff.npy"):
        path = os.path.join(".", name)
        done = subprocess.run([PROGRAM, "multiply", "A.npy", "B.npy", "-o", path, "-v", "--verify"], capture_output=True, env=clean_environment())
        assert done.returncode == 0 and b"\033" not in done.stdout and done.stdout.count(b"\n") == lines, (name, done)
        assert read_npy(path)[2] == product(a, b) and os.path.exists(path), name
        done = subprocess.run([PROGRAM, "verify", "A.npy", "B.npy", path], capture_output=True, env=clean_environment())
        assert done.returncode == 0 and done.stdout.count(b"\n") == 2, (name, done)


@case
def odd_things_as_files():
    """Devices, pipes, folders and files of /proc: a sentence, at once, and no file."""
    pair()
    os.mkfifo("pipe.npy")
    os.mkdir("folder.json")
    for name in ("/proc/self/maps", "/dev/full", "/dev/random", "/proc/self/mem", "folder.json", "/proc/self/root", "/dev/fd/77"):
        bad(6, "multiply", name, "B.npy", "-o", "C.npy", says=f"{name}: ")
        bad(6, "report", name, "-o", "r.html", says=f"{name}: ")
    bad(7, "multiply", "A.npy", "B.npy", "-o", "pipe.npy", says="a device, pipe or socket")
    bad(2, "multiply", "pipe.npy", "B.npy", "-o", "C.npy", "--json", "pipe.npy", says="names the same file as pipe.npy")
    for name in ("folder.json", "folder.json/", "/proc/version", "/dev/fd/77", "x" * 300, "A.npy/r.json"):
        bad(7, "version", "--json", name, says=name[-20:])
        bad(2 if ".json" in os.path.basename(name) else 7, "ladder", "--size", "8", "--html", name, says=name[-20:])
    for name in ("/dev/fd/3", "/proc/self/fd/3"):
        done = subprocess.run(f"{PROGRAM} multiply A.npy B.npy -o C.npy --json {name} 3<>A.npy", shell=True, capture_output=True, text=True)
        assert done.returncode == 2 and "names the same file as A.npy" in done.stderr, done
    try:
        open("huge.npy", "wb").truncate(1 << 40)
    except OSError as error:
        raise Skip(f"no file of a terabyte, all of it a hole: {error}")
    with open("huge.mtx", "w") as file:
        file.write("%%MatrixMarket matrix array real general\n")
        file.truncate(1 << 40)
    bad(6, "multiply", "huge.mtx", "B.npy", "-o", "C.npy", says="huge.mtx: line 2: expected a number of rows")
    with open("huge.npy", "wb") as file:
        file.write(b"\x93NUMPY\2\0\xff\xff\xff\xff")
        file.truncate(1 << 40)
    bad(6, "multiply", "huge.npy", "B.npy", "-o", "C.npy", says="the .npy header says it has 4294967295 bytes")


@case
def writers_of_one_file_leave_a_whole_one():
    """Programs that write the same names at once: whole files of one of them, and every appended line whole."""
    a, b = pair(40, 30, 20)
    words = ["multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", "r.json", "--append"]
    running = [subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, env=clean_environment()) for _ in range(12)]
    assert [p.wait(60) for p in running] == [0] * 12
    assert read_npy("C.npy")[2] == product(a, b) and len(records(open("r.json").read())) == 12
    assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.npy", "r.json"]


@case
def a_stop_while_it_writes_leaves_nothing():
    """Stopped at any moment of a short run: the old file or the new one, whole, and no other."""
    a, b = pair(300, 300, 2)
    good("multiply", "A.npy", "B.npy", "-o", "C.mtx")
    new = open("C.mtx", "rb").read()
    for wait in range(1, 25):
        open("C.mtx", "wb").write(b"%%MatrixMarket matrix array real general\n0 0\n")
        process = subprocess.Popen([PROGRAM, "multiply", "A.npy", "B.npy", "-o", "C.mtx"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=clean_environment(), preexec_fn=restore_signals)
        time.sleep(wait / 500)
        process.send_signal(signal.SIGINT if wait % 2 else signal.SIGTERM)
        code = process.wait(60)
        found = open("C.mtx", "rb").read()
        assert code in (0, 130, -signal.SIGINT, -signal.SIGTERM) and (found == new or len(found) < 50) and (code or found == new), (wait, code)
        assert sorted(os.listdir(".")) == ["A.npy", "B.npy", "C.mtx"], (wait, os.listdir("."))


@case
def lines_are_appended_behind_whole_lines():
    open("r.json", "w").write('{"version": "cut')
    good("version", "--json", "r.json", "--append")
    assert open("r.json").read().startswith('{"version": "cut\n{"version": '), open("r.json").read()


def into_closed_pipe(*words, **more):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([PROGRAM, *words], stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60, env=clean_environment(), **more)
    os.close(write_end)
    return done


@case
def a_closed_pipe_ends_the_program_quietly():
    done = into_closed_pipe("bench", "--size", "8,16", "--json", "r.json")
    assert (done.returncode, done.stderr) == (141, "") and len(records(open("r.json").read())) <= 1 and os.listdir(".") == ["r.json"], done
    done = into_closed_pipe("help", "--man")
    assert (done.returncode, done.stderr) == (141, ""), done
    head = subprocess.run(["bash", "-c", f"{PROGRAM} explain r04 --gpu P100 | head -n 1; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert head.returncode == 141 and head.stderr == "" and "r04_banks" in head.stdout, head
    pair()
    done = into_closed_pipe("multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", "-")
    assert (done.returncode, [x for x in done.stderr.splitlines() if x.startswith("tilewright:")]) == (141, []), done
    done = into_closed_pipe("explain", "r04", restore_signals=False)  # whoever ignores SIGPIPE is told, as cat tells it
    assert done.returncode == 7 and "standard output: could not be written: Broken pipe" in done.stderr, done


@case
def another_closed_pipe_does_not_end_it():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([PROGRAM, "bench", "--size", "8,16"], stdout=subprocess.PIPE, stderr=write_end, text=True, timeout=60, env=clean_environment())
    os.close(write_end)
    assert done.returncode == 0 and done.stdout.count("exact+bound") == 2, done


# ---- interruption: exit codes 130 and 6 -------------------------------------------------------------------------------

def long_multiply(n=5000, *words):
    """A multiplication of sparse files that takes long, stopped where it computes: the process, once its output exists."""
    for name in ("A.raw", "B.raw"):
        with open(name, "wb") as file:
            file.truncate(8 * n * n)
    process = subprocess.Popen([PROGRAM, "multiply", "A.raw", "B.raw", "-o", "C.npy", "--shape", f"{n}x{n}x{n}", "--dtype", "f64",
                                "--threads", "1", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment(TILEWRIGHT_CPU="base"), preexec_fn=restore_signals)
    begun(process, 2 if "--json" in words else 1)
    return process


def restore_signals():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process, code, *says):
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, f"exit {process.returncode}, expected {code}: {err}"
    for part in says:
        assert part in err, f"{part!r} is not in {err!r}"
    assert not any("C.npy" in name for name in os.listdir(".")), os.listdir(".")


@case
def interrupted_multiply_leaves_nothing():
    for number in (signal.SIGINT, signal.SIGTERM):
        process = long_multiply()
        process.send_signal(number)
        ended(process, 130, "interrupted")


@case
def input_cut_short_while_in_use():
    process = long_multiply()
    os.truncate("A.raw", 4096)
    os.truncate("B.raw", 4096)
    ended(process, 6, "tilewright: multiply: ", ".raw: the file became shorter")


def rewrite(name):
    """The bytes that it has, anew."""
    with open(name, "r+b") as file:
        byte = file.read(1)
        file.seek(0)
        file.write(byte)


def changed_meanwhile(change, *words, last="B.npy"):
    """The command's end, where the last file that it reads is a pipe, and the others are changed once they are open."""
    with open(last, "rb") as file:
        text = file.read()
    os.mkfifo("pipe")
    words = ("pipe" if word == last else "s=pipe" if word == f"s={last}" else word for word in words)
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment())
    with open("pipe", "wb") as pipe:  # waits for the reader
        change()
        pipe.write(text)
    out, err = process.communicate(timeout=60)
    os.remove("pipe")
    return process.returncode, out, err


@case
def operands_that_are_changed_while_in_use():
    """In memory. With --memory: test_out_of_core; among ranks: test_mpi."""
    a, b = pair(40, 30, 20)
    good("multiply", "A.npy", "B.npy", "-o", "C.npy")
    good("multiply", "A.npy", "B.npy", "-o", "C.mtx")
    right = open("C.npy", "rb").read()

    def set_back():
        before = os.stat("A.npy")
        rewrite("A.npy")
        os.utime("A.npy", ns=(before.st_atime_ns, before.st_mtime_ns))

    def lengthen():
        with open("A.npy", "ab") as file:
            file.write(b"x")

    def rewrite_and_unlink():
        rewrite("A.npy")
        os.remove("A.npy")

    multiply = ("multiply", "A.npy", "B.npy", "-o", "D.npy")
    says = "tilewright: %s: A.npy: the file was changed while it was in use\n"
    for change in (lambda: rewrite("A.npy"), set_back, lengthen, rewrite_and_unlink):
        assert changed_meanwhile(change, *multiply) == (6, "", says % "multiply"), change
        assert not os.path.exists("D.npy")
        npy("A.npy", a)
    assert changed_meanwhile(lambda: rewrite("A.npy"), *multiply, "--verify") == (6, "", says % "multiply")
    assert changed_meanwhile(lambda: rewrite("A.npy"), "verify", "A.npy", "B.npy", "C.npy", last="C.npy") == (6, "", says % "verify")
    npy("C0.npy", [[1] * 20] * 40)
    assert changed_meanwhile(lambda: rewrite("C0.npy"), "verify", "A.npy", "B.npy", "C.npy", "--add", "C0.npy", "--beta", "0", last="C.npy")[0] == 6
    npy("r.npy", [[1] * 30] * 40)
    npy("s.npy", [[2.0]])
    bound = ("--epilogue", "acc + s * r[i, j]", "--bind", "r=r.npy", "--bind", "s=s.npy")
    for command in (multiply, ("verify", "A.npy", "B.npy", "C.npy")):
        code, _, err = changed_meanwhile(lambda: rewrite("r.npy"), *command, *bound, last="s.npy")
        assert (code, err) == (6, (says % command[0]).replace("A.npy", "r.npy")), (code, err)
    code, _, err = changed_meanwhile(lambda: rewrite("C.mtx"), "multiply", "C.mtx", "B.npy", "-o", "D.npy", "--transpose-b")
    assert (code, err) == (0, ""), err  # all of it had been read

    def replace():
        npy("other.npy", [[0.0] * 30] * 40)
        os.replace("other.npy", "A.npy")

    for change in (lambda: None, lambda: os.link("A.npy", "link.npy"), lambda: os.remove("link.npy"), replace, lambda: os.remove("A.npy")):
        npy("A.npy", a) if not os.path.exists("link.npy") else None
        code, _, err = changed_meanwhile(change, *multiply)
        assert (code, err) == (0, "") and open("D.npy", "rb").read() == right, (change, code, err)


@case
def a_failed_check_leaves_no_output():
    """The temporary file is spoiled from outside between the writing and the check's end: what is judged is the file."""
    n = 800 if sanitized() else 1500  # long enough that the file is met while it is checked
    process = long_multiply(n, "--verify")
    name = begun(process)
    while os.path.getsize(name) < 8 * n * n + 128:
        assert process.poll() is None, process.communicate()
    with open(name, "r+b") as file:
        file.seek(4 * n * n)
        file.write(b"\xff" * (4 * n * n))
    ended(process, 1, "tilewright: multiply: C.npy: ")


@case
def a_killed_program_leaves_nothing():
    """Where files can be without a name; else what it left goes when that name is written again."""
    process = long_multiply(3000, "--json", "r.json")
    unnamed = os.readlink(begun(process, 2)).endswith(" (deleted)")
    process.kill()
    process.communicate()
    assert not unnamed or sorted(os.listdir(".")) == ["A.raw", "B.raw"], os.listdir(".")
    pair()
    good("multiply", "A.npy", "B.npy", "-o", "C.npy", "--json", "r.json")
    assert sorted(os.listdir(".")) == ["A.npy", "A.raw", "B.npy", "B.raw", "C.npy", "r.json"], os.listdir(".")


@case
def interrupted_ladder_keeps_finished_records():
    process = subprocess.Popen([PROGRAM, "ladder", "--size", "512", "--rung", "r01,r02", "--json", "r.json"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(), preexec_fn=restore_signals)
    while "r01_naive" not in (line := process.stdout.readline()):
        assert line != "", process.communicate()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130, process.returncode
    assert len(records(open("r.json").read())) >= 1 and os.listdir(".") == ["r.json"], os.listdir(".")


if __name__ == "__main__":
    main()
