#!/usr/bin/python3 -B
"""test_mutate.py - the mutation gate on a source of a few lines: it finds faults, plants them, sees them caught, reports what slips with exit status 1, goes on from its
log, and writes nothing outside its own folder.

    test_mutate.py [--list] [--full] [--only TEXT]

Prints TAP. Needs Python 3, and what the build needs.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support.tap import Skip, case, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import mutate

TOY = pathlib.Path("toy")  # in the folder of each case
ROOT = pathlib.Path(os.environ.get("TILEWRIGHT_SOURCE", pathlib.Path(__file__).resolve().parent.parent))

LIBRARY = """#include <stdint.h>
/* i < n in a comment is no fault, nor is "i < n" in a string. */
int64_t toy_sum(const int *x, int64_t n, long ld)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i * ld];
    for (volatile int left = 3; left != 0;) left = left - 1;
    return sum;
}
"""
UNSEEN = """int toy_unseen(int m)
{
    while (m > 3) m /= 2;
    return m;
}
"""
SAME = """int toy_same(void)
{
    while (sizeof(int) > 9) {}
    return 0;
}
"""
TEST = """#include <stdint.h>
#include <stdio.h>
int64_t toy_sum(const int *x, int64_t n, long ld);
int main(void)
{
    static const int x[12] = {1, 20, 300, 4000, 50000, 600000};
    const int right = toy_sum(x, 2, 2) == 301 && toy_sum(x, 3, 1) == 321;
    printf("%sok 1 - toy\\n1..1\\n", right ? "" : "not ");
    return !right;
}
"""
BUILD = """cmake_minimum_required(VERSION 3.16)
project(toy C)
add_library(tilewright_objects OBJECT src/toy.c)
add_executable(toy tests/toy.c)
target_link_libraries(toy PRIVATE tilewright_objects)
set_target_properties(toy PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
"""


def toy(library):
    for name, text in {"src/toy.c": library, "tests/toy.c": TEST, "CMakeLists.txt": BUILD}.items():
        (TOY / name).parent.mkdir(parents=True, exist_ok=True)
        (TOY / name).write_text(text)


def excuse(*lines):
    (TOY / "tools").mkdir(exist_ok=True)
    (TOY / "tools" / "mutants.equivalent").write_text("".join("\t".join(line) + "\n" for line in lines))


def gate(*words):
    return subprocess.run([sys.executable, ROOT / "tools/mutate.py", "--root", TOY.resolve(), "--folder", pathlib.Path("out").resolve(), "--least-limit", "2", *words], capture_output=True, text=True, timeout=300, check=False)


def state():
    return {str(p): hashlib.sha1(p.read_bytes()).hexdigest() for p in sorted(TOY.rglob("*")) if p.is_file()}


@case
def all_are_caught():
    toy(LIBRARY + SAME)
    before = state()
    listed = gate("--list").stdout
    assert "i <= n" in listed and "x[i]" in listed and "comment" not in listed and not pathlib.Path("out/work-1").exists(), listed
    assert gate("--list").stdout == listed
    done = gate("--count", "12")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 slipped" in done.stdout and "it hangs" in done.stdout and "by toy: not ok 1 - toy" in done.stdout, done.stdout
    entries = [json.loads(line) for line in pathlib.Path("out/log.jsonl").read_text().splitlines()]
    assert any(e.get("verdict") == "same object" and "sizeof" in e["before"] for e in entries), entries
    assert state() == before, "it wrote into the tree"


@case
def what_slips_is_told_and_can_be_argued():
    toy(LIBRARY + UNSEEN)
    done = gate("--only", "m /= 2", "--count", "1")
    assert done.returncode == 1 and "SLIPPED src/toy.c:" in done.stdout, done.stdout + done.stderr
    assert "- while (m > 3) m /= 2;" in done.stdout and "+ while (m >= 3) m /= 2;" in done.stdout, done.stdout
    log = pathlib.Path("out/log.jsonl").read_text()
    again = gate("--only", "m /= 2", "--count", "1")
    assert again.returncode == 1 and "building" not in again.stdout and pathlib.Path("out/log.jsonl").read_text() == log, again.stdout
    late = gate("--only", "x[i", "--budget", "0")
    assert late.returncode == 3 and "the same command goes on" in late.stdout, late.stdout + late.stderr
    excuse(("src/toy.c", "bounds", "toy_unseen()", "nobody calls it"))
    listed = gate("--list")
    assert "m /= 2" not in listed.stdout and "1 argued away" in listed.stdout, listed.stdout
    excuse(("src/toy.c", "bounds", "no such line", "it was here once"))
    assert "no fault is excused by" in gate("--list").stderr
    excuse(("src/toy.c", "bounds"))
    assert "expected path, class, piece and argument" in gate("--list").stderr


@case
def programs_that_fail_by_themselves_judge_nothing():
    toy(LIBRARY)
    (TOY / "tests/toy.c").write_text(TEST.replace("301", "302"))
    done = gate("--count", "3")
    assert done.returncode == 3 and "left out: toy: exit status 1" in done.stdout and "no fault could be judged" in done.stdout, done.stdout
    assert "not judged, as toy cannot run here: 3 faults\n" in done.stdout, done.stdout


@case
def a_fault_that_one_program_alone_can_show_begins_with_it():
    first = lambda path, kind: mutate.covering(path, kind)[0]
    assert first("kernels/opencl/ladder/r05_outer.cl", "barriers") == "test_oclgrind --only r05_outer"
    assert first("kernels/opencl/ladder/r05_outer.cl", "masks") == "test_kernels --only opencl_f32_r05_outer"
    assert first("src/engines/cpu/pack_words.c", "nan") == "test_tiles"


@case
def every_class_has_faults_in_this_tree():
    if "--full" not in sys.argv:
        raise Skip("reads all sources: --full")
    done = subprocess.run([sys.executable, ROOT / "tools/mutate.py", "--root", ROOT, "--folder", tempfile.mkdtemp(), "--list"], capture_output=True, text=True, timeout=120, check=False)
    last = done.stdout.splitlines()[-1]
    counts = [int(word.split()[-1]) for word in last.split(":")[1].split(";")[0].split(",")]
    assert done.returncode == 0 and len(counts) == 13 and min(counts) >= 3 and sum(counts) >= 200, last + done.stderr


@case
def a_draw_is_nearly_the_same_when_a_fault_is_argued_away():
    faults = [mutate.Fault("bounds", "src/toy.c", line, "f", f"i < n{line}", f"i <= n{line}") for line in range(200)]
    drawn = lambda some, seed: {slot[1][0].before for slot in mutate.draw(some, 40, seed)}
    first = drawn(faults, 1)
    again = drawn([f for f in faults if f.before != min(first)], 1)
    assert len(first) == 40 and len(first & again) == 39, (first, again)
    assert len(first & drawn(faults, 2)) < 20


if __name__ == "__main__":
    main()
