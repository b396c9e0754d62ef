#!/usr/bin/python3
"""test_mutate.py - the mutation gate on a source of a few lines: it finds faults, plants them, sees them caught, reports what slips with exit status 1, goes on from its
log, and writes nothing outside its own folder.

    test_mutate.py [--list] [--only TEXT]

Prints TAP. Needs Python 3, and what the build needs.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("TILEWRIGHT_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CASES = []

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


def case(function):
    CASES.append((function.__name__, function))
    return function


def toy(folder, library):
    for name, text in {"src/toy.c": library, "tests/toy.c": TEST, "CMakeLists.txt": BUILD}.items():
        (folder / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "toy" / name).write_text(text)


def excuse(folder, *lines):
    (folder / "toy" / "tools").mkdir(exist_ok=True)
    (folder / "toy" / "tools" / "mutants.equivalent").write_text("".join("\t".join(line) + "\n" for line in lines))


def gate(folder, *words):
    return subprocess.run([sys.executable, ROOT / "tools/mutate.py", "--root", folder / "toy", "--folder", folder / "out", "--least-limit", "2", *words], capture_output=True, text=True, timeout=300, check=False)


def state(folder):
    return {str(p): hashlib.sha1(p.read_bytes()).hexdigest() for p in sorted((folder / "toy").rglob("*")) if p.is_file()}


@case
def all_are_caught(folder):
    toy(folder, LIBRARY + SAME)
    before = state(folder)
    listed = gate(folder, "--list").stdout
    assert "i <= n" in listed and "x[i]" in listed and "comment" not in listed and not (folder / "out/work-1").exists(), listed
    assert gate(folder, "--list").stdout == listed
    done = gate(folder, "--count", "12")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 slipped" in done.stdout and "it hangs" in done.stdout and "by toy: not ok 1 - toy" in done.stdout, done.stdout
    entries = [json.loads(line) for line in (folder / "out/log.jsonl").read_text().splitlines()]
    assert any(e.get("verdict") == "same object" and "sizeof" in e["before"] for e in entries), entries
    assert state(folder) == before, "it wrote into the tree"


@case
def what_slips_is_told_and_can_be_argued(folder):
    toy(folder, LIBRARY + UNSEEN)
    done = gate(folder, "--only", "m /= 2", "--count", "1")
    assert done.returncode == 1 and "SLIPPED src/toy.c:" in done.stdout, done.stdout + done.stderr
    assert "- while (m > 3) m /= 2;" in done.stdout and "+ while (m >= 3) m /= 2;" in done.stdout, done.stdout
    log = (folder / "out/log.jsonl").read_text()
    again = gate(folder, "--only", "m /= 2", "--count", "1")
    assert again.returncode == 1 and "building" not in again.stdout and (folder / "out/log.jsonl").read_text() == log, again.stdout
    late = gate(folder, "--only", "x[i", "--budget", "0")
    assert late.returncode == 3 and "the same command goes on" in late.stdout, late.stdout + late.stderr
    excuse(folder, ("src/toy.c", "bounds", "toy_unseen()", "nobody calls it"))
    listed = gate(folder, "--list")
    assert "m /= 2" not in listed.stdout and "1 argued away" in listed.stdout, listed.stdout
    excuse(folder, ("src/toy.c", "bounds", "no such line", "it was here once"))
    assert "no fault is excused by" in gate(folder, "--list").stderr
    excuse(folder, ("src/toy.c", "bounds"))
    assert "expected path, class, piece and argument" in gate(folder, "--list").stderr


@case
def programs_that_fail_by_themselves_judge_nothing(folder):
    toy(folder, LIBRARY)
    (folder / "toy/tests/toy.c").write_text(TEST.replace("301", "302"))
    done = gate(folder, "--count", "3")
    assert done.returncode == 3 and "left out: toy: exit status 1" in done.stdout and "no fault could be judged" in done.stdout, done.stdout


@case
def every_class_has_faults_in_this_tree(_):
    done = subprocess.run([sys.executable, ROOT / "tools/mutate.py", "--root", ROOT, "--folder", tempfile.mkdtemp(), "--list"], capture_output=True, text=True, timeout=120, check=False)
    last = done.stdout.splitlines()[-1]
    counts = [int(word.split()[-1]) for word in last.split(":")[1].split(";")[0].split(",")]
    assert done.returncode == 0 and len(counts) == 13 and min(counts) >= 3 and sum(counts) >= 200, last + done.stderr


def main():
    words = sys.argv[1:]
    only = words[words.index("--only") + 1] if "--only" in words else ""
    chosen = [(name, function) for name, function in CASES if only in name]
    if "--list" in words:
        print("\n".join(name for name, _ in chosen))
        return 0
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-mutate."))
        try:
            function(folder)
            print(f"ok {number} - {name}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as fault:
            failed += 1
            print(f"not ok {number} - {name}\n# " + str(fault).replace("\n", "\n# "), flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{len(chosen)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
