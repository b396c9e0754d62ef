#!/usr/bin/python3 -B
"""test_abi.py - tools/abi.py on a library of a few lines: what was added passes, every other change is found.

    test_abi.py [--list] [--only TEXT]

Prints TAP. Needs abidiff (Debian: abigail-tools) and gcc.
"""

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

from support.tap import CASES, Skip, case, main

ROOT = pathlib.Path(os.environ.get("TILEWRIGHT_SOURCE", pathlib.Path(__file__).resolve().parent.parent))

HEADER = """#include <stdint.h>
typedef enum tw_op { TW_N = 0, TW_T = 1, TW_C = 2 } tw_op;
typedef struct tw_context tw_context;
typedef struct tw_options {
    uint32_t size;
    tw_op op;
    int64_t m, n;
    double alpha, beta;
    char name[16];
    uint32_t reserved;
    uint32_t last;
} tw_options;
typedef struct tw_pair {
    int32_t one;
} tw_pair;
int tw_open(const tw_options *options, tw_context **context);
int tw_run(tw_context *context, tw_pair *pair, int64_t count);
void tw_close(tw_context *context);
typedef struct tw_lab_row { int tile; } tw_lab_row;
int tw_lab_time(const tw_lab_row *row, int count);
"""
SOURCE = """#include "tilewright.h"
struct tw_context { int inner; };
"""
MAP = """TILEWRIGHT_0.1 { global: tw_open; tw_run; tw_close; tw_late; local: *; };
TILEWRIGHT_0.2 { global: tw_more; } TILEWRIGHT_0.1;
TILEWRIGHT_LAB { global: tw_lab_*; };
"""
BLAS = "void sgemm_(const float *a, int *n);"

END = ("    uint32_t last;\n", "    uint32_t last;\n    int64_t extra;\n")
PASSES = {
    "nothing": [],
    "a_field_at_the_end": [END],
    "a_function": [("void tw_close", "int tw_more(int x);\nvoid tw_close")],
    "an_enumerator": [("TW_C = 2", "TW_C = 2, TW_D = 3")],
    "what_a_context_holds": [("int inner", "double inner[4]")],
    "a_lab_function_is_another": [
        ("int tw_lab_time(const tw_lab_row *row, int count)", "double tw_lab_clock(void)"),
        ("int tile;", "long tile, more;"),
    ],
}
FAILS = {
    "a_field_in_the_middle": [("    int64_t m, n;", "    int64_t k;\n    int64_t m, n;")],
    "a_field_in_front": [("    uint32_t size;\n", "    uint32_t size, more;\n")],
    "a_field_in_the_middle_and_one_at_the_end": [("    int64_t m, n;", "    int64_t k;\n    int64_t m, n;"), END],
    "a_field_at_the_end_of_a_struct_without_size": [("int32_t one;", "int32_t one, two;")],
    "a_field_removed": [("    uint32_t last;\n", "")],
    "fields_swapped": [("m, n;", "n, m;")],
    "fields_swapped_and_one_at_the_end": [("m, n;", "n, m;"), END],
    "a_field_renamed": [("double alpha, beta", "double alpha, gamma")],
    "a_field_of_another_type": [("double alpha, beta", "int64_t alpha, beta")],
    "a_field_of_another_sign": [("uint32_t last", "int32_t last")],
    "a_name_for_what_was_reserved": [("uint32_t reserved", "uint32_t flags")],
    "what_was_reserved_of_another_type": [("uint32_t reserved", "float flags")],
    "an_array_longer": [("name[16]", "name[32]")],
    "an_array_longer_and_a_field_at_the_end": [("name[16]", "name[32]"), END],
    "a_function_removed": [("int tw_run(tw_context *context, tw_pair *pair, int64_t count);\n", "")],
    "a_result_of_another_type": [("void tw_close", "int tw_close")],
    "a_parameter_of_another_type": [("int64_t count);", "int32_t count);")],
    "a_parameter_more": [("int64_t count);", "int64_t count, int more);")],
    "a_parameter_const": [("tw_pair *pair", "const tw_pair *pair")],
    "an_enumerator_removed": [(", TW_C = 2", "")],
    "an_enumerator_of_another_value": [("TW_C = 2", "TW_C = 3")],
    "an_enumerator_renamed": [("TW_C = 2", "TW_D = 2")],
    "a_blas_function_of_another_type": [("const float *a", "const double *a")],
    "a_blas_function_removed": [("sgemm_", "sgemm_2")],
}


def library(changes):
    """The two libraries in `built`, their header in `include`; each change is one of the header, the source or BLAS."""
    header, source, blas = HEADER, SOURCE, BLAS
    for old, new in changes:
        assert sum(text.count(old) for text in (header, source, blas)) >= 1, f"{old!r} is in no text"
        header, source, blas = header.replace(old, new), source.replace(old, new), blas.replace(old, new)
    functions = [line for line in header.splitlines() if line.endswith(");")]
    bodies = [line[:-1] + (" {}" if line.startswith("void") else " { return 0; }") for line in functions]
    for folder in ("include", "built"):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
    pathlib.Path("include/tilewright.h").write_text(header)
    pathlib.Path("include/tilewright_blas.h").write_text(blas + "\n")
    pathlib.Path("a.c").write_text(source + "\n".join(bodies) + "\n")
    pathlib.Path("b.c").write_text('#include "tilewright_blas.h"\n' + blas[:-1] + " {}\n")
    pathlib.Path("a.map").write_text(MAP)
    gcc = ["gcc", "-w", "-g", "-fPIC", "-shared", "-Iinclude"]
    subprocess.run([*gcc, "a.c", "-Wl,--version-script=a.map", "-o", "built/libtilewright.so"], check=True)
    subprocess.run([*gcc, "b.c", "-o", "built/libtilewright_blas.so"], check=True)


def abi(mode):
    return subprocess.run([ROOT / "tools/abi.py", mode, "built", "abi", "include"], capture_output=True, text=True)


KEPT = tempfile.TemporaryDirectory(prefix="tilewright-abi.")


@functools.cache
def baseline():
    """The folder of the unchanged library's baseline, for all cases."""
    os.mkdir("abi")
    shutil.copy(ROOT / "abi/suppressions", "abi")
    library([])
    written = abi("write")
    assert written.returncode == 0, written.stderr
    return shutil.move("abi", KEPT.name)


def changed(changes):
    for tool in ("abidiff", "abidw", "gcc"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    shutil.copytree(baseline(), "abi")
    library(changes)
    return abi("compare")


def passes(name):
    done = changed(PASSES[name])
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


def fails(name):
    done = changed(FAILS[name])
    assert done.returncode == 1 and "breaks the ABI" in done.stdout, f"{done.returncode}: {done.stdout}{done.stderr}"


@case
def a_function_in_a_released_node():
    done = changed([("void tw_close", "int tw_late(int x);\nvoid tw_close")])
    assert done.returncode == 1 and "libtilewright.so: tw_late@TILEWRIGHT_0.1: " in done.stdout, done


for each in PASSES:
    CASES.append((f"passes: {each}", lambda name=each: passes(name)))
for each in FAILS:
    CASES.append((f"fails: {each}", lambda name=each: fails(name)))


@case
def a_library_without_debugging_information_is_not_compared():
    changed([])
    subprocess.run(["strip", "-g", "built/libtilewright.so"], check=True)
    done = abi("compare")
    assert done.returncode == 2 and "not compiled with -g" in done.stderr, done


@case
def the_same_library_elsewhere_gives_the_same_baseline():
    changed([])
    first = {path.name: path.read_bytes() for path in pathlib.Path("abi").iterdir()}
    library([])
    assert abi("write").returncode == 0
    assert first == {path.name: path.read_bytes() for path in pathlib.Path("abi").iterdir()}


if __name__ == "__main__":
    main()
