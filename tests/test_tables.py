#!/usr/bin/python3 -B
"""test_tables.py - what a terminal shows: no line is longer than it is wide, nothing is said twice, and the completion and the hints know the
program's own words. Run on few and small products: how they are told is tested, not what.

    test_tables.py [--list] [--full] [--only TEXT] [PROGRAM]

--full: every page of explain, libraries beside each other, and what measures devices.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios

from support.matrices import npy, pair
from support.program import BUILD, FAKE_OPENCL, PROGRAM, ROOT, bad, clean_environment, engines, good, needs, run
from support.tap import Skip, case, main

FULL = "--full" in sys.argv
FEW = "--samples", "1"
OPENCL = {} if FULL else FAKE_OPENCL
LONG = "a name of a file that is long " * 4 + ".cl"  # a label keeps the first letters


def exercise(rung, **gaps):
    """The text of an exercise, these gaps filled."""
    text = open(os.path.join(ROOT, "exercises", f"{rung}.cl"), encoding="utf-8").read()
    for gap, code in gaps.items():
        text = text.replace(gap, code)
    return text


def naive(rows="get_group_id(1) * TILE + get_local_id(1)"):
    return exercise("r01_naive", GAP_1=rows, GAP_2="get_group_id(0) * TILE + get_local_id(0)", GAP_3="i >= m || j >= n", GAP_4="k", GAP_5="A(i, p)", GAP_6="B(p, j)")


def fits(words, width, codes=(0,), env=None):
    """The lines that the command prints where a terminal has so many columns; none is longer."""
    done = run(*words, env={"COLUMNS": str(width), **(env or {})})
    assert done.returncode in codes, (words, done)
    lines = done.stdout.splitlines()
    long = [line for line in lines if len(line) > width]
    assert lines and not long, (words, width, long)
    assert not [line for line in lines if line.endswith(" ")], (words, lines)
    return lines


def fit(*words, **more):
    """At 80 and 132 columns: the narrow table's lines, and the wide one's."""
    return fits(words, 80, **more), fits(words, 132, **more)


@case
def ladders_fit():
    narrow, wide = fit("ladder", "--size", "48", "--rung", "r01,r10,r14", *FEW)
    titles = [next(line.split() for line in lines if line.startswith("rung")) for lines in (narrow, wide)]
    assert "min-max" in titles[1] and "min-max" not in titles[0] and {"median", "GFLOP/s", "bound"} < set(titles[0]), titles
    assert any(re.match("left out   min-max.*: a terminal of 100 columns", line) for line in narrow), narrow
    assert not any(line.startswith("left out") for line in wide) and any(line.startswith("min-max ") for line in wide), wide
    assert any(line.startswith("r14        the kernel that tw_gemm runs") for line in narrow), narrow
    fit("ladder", "--size", "8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23", "--rung", "r01", *FEW)
    fit("ladder", "--gpu", "H200")
    fit("ladder", "--gpu", "GTX 280", "--tile", "8,32")


@case
def tables_of_opencl_fit():
    if FULL:
        needs("opencl")
    for name, text in (LONG, naive()), ("wrong.cl", naive("get_group_id(0)")):
        open(name, "w").write(text)
    narrow = fits(("ladder", "--size", "32", "--rung", f"{LONG},wrong.cl", *FEW), 80, codes=(1,), env=OPENCL)
    assert any(line.startswith("own:a name of a file") for line in narrow), narrow
    fit("explain", LONG)


@case
def ladders_of_a_fake_opencl_fit():
    fit("ladder", "--engine", "opencl", "--size", "40", *FEW, env=FAKE_OPENCL)
    narrow, wide = fit("ladder", "--engine", "opencl", "--skinny", "--size", "40", *FEW, env=FAKE_OPENCL)
    for column in "asked", "compulsory":  # told where they are shown
        assert [any(line.startswith(column) for line in lines) for lines in (narrow, wide)] == [False, True], (column, narrow)


@case
def other_tables_fit():
    pair()
    fit("bench", "--shape", "1000x1000x1000,64x64x64", "--dtype", "f32,bf16", "--pad", "1", "--transpose-a", "--explain-plan", *FEW, codes=(0, 1))
    assert fits(("doctor", "--no-self-test"), 80)[0].startswith("verdict") and not run("doctor", "--no-self-test").stdout.count("self test ")
    if FULL:
        fit("devices")
        fit("selftest")
    fit("multiply", "A.npy", "B.npy", "-o", "C.npy", "-v", "--verify")
    fit("verify", "A.npy", "B.npy", "C.npy", "-v")
    fit("explain", "--ranks", "64", "--shape", "65536x65536x65536", "--dtype", "f64", "--threads", "32")
    narrow, wide = fit("tune", "--budget", "1", "--size", "64", codes=(0, 1), env={"TILEWRIGHT_TUNED": os.path.abspath("tuned")})
    notes = [[line.startswith("      ") for line in lines if re.search("nothing (faster|judged|tried)|unpacked=", line)] for lines in (narrow, wide)]
    assert all(each and all(each) for each in notes), (narrow, wide)  # on a line of its own


@case
def every_page_of_explain_fits():
    rungs = re.search("the rungs are:(.*);", run("explain", "nothing_like_it").stderr)[1].split()
    for rung in [*rungs, "sgemm_tma_sm90_128x128"] if FULL else ["r02", "r05", "r13", "s3"]:
        fits(("explain", rung), 80)
    fits(("explain", "r04", "--engine", "cpu", "--binary"), 80)

    def marked(lines):
        """The words that come and those that go."""
        begin = next(i for i, line in enumerate(lines) if line.startswith("from "))
        return {mark: [line[2:].split() for line in lines[begin : lines.index("In pictures")] if line[:1] == mark] for mark in "+-"}

    whole, narrow = marked(good("explain", "r04").stdout.splitlines()), marked(fits(("explain", "r04"), 72))
    for mark in "+-":  # each line's mark, also where it goes on
        assert len(whole[mark]) < len(narrow[mark]) and sum(whole[mark], []) == sum(narrow[mark], []), (mark, narrow)
    if FULL:
        fit("explain", "--tables")


@case
def libraries_beside_each_other_fit():
    if not FULL:
        raise Skip("--full: each fake multiplies matrices of 2048 first")
    env = {"TILEWRIGHT_PEERS": os.path.join(BUILD, "tests", "fakes", "peers"), "TILEWRIGHT_THREADS": "1"}
    narrow, wide = fit("bench", "--against", "all", "--shape", "33x20x40", "--deadline", "20", *FEW, codes=(0, 1), env=env)
    titles = [next(line for line in lines if line.startswith("m x n x k")) for lines in (narrow, wide)]
    assert all("tilewright" in title and "medians" in title for title in titles) and len(titles[0]) < len(titles[1]), titles


@case
def a_file_gets_all_columns_and_whole_lines():
    whole = good("explain", "r02").stdout.splitlines()
    assert max(map(len, whole)) > 132 and not any(line.startswith("left out") for line in whole), whole
    assert len(fits(("explain", "r02"), 80)) > len(whole)


@case
def the_width_is_the_terminals():
    pid, fd = pty.fork()
    if pid == 0:
        select.select([0], [], [])  # until the size is set
        os.execve(PROGRAM, [PROGRAM, "explain", "r02"], clean_environment(TERM="xterm", NO_COLOR="1"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", 25, 72, 0, 0))
    os.write(fd, b"\n")
    shown = b""
    while select.select([fd], [], [], 60)[0]:
        try:
            shown += os.read(fd, 65536)
        except OSError:
            break
    os.waitpid(pid, 0)
    lines = shown.decode().split("\r\n")[1:]
    lengths = [len(line.rsplit("\033[K", 1)[-1]) for line in lines]
    assert 60 < max(lengths) <= 72, (lengths, lines)


@case
def nothing_is_said_twice():
    npy("A.npy", [[1, 2], [3, 4]])
    npy("C.npy", [[7, 10], [15, 23]])
    for more in [], ["-q"], ["-v"]:
        done = run("verify", "A.npy", "A.npy", "C.npy", *more)
        assert done.returncode == 1 and done.stderr.count("expected 22") == 1 and "expected 22" not in done.stdout, done
    if FULL:
        needs("opencl")
    open("wrong.cl", "w").write(naive("get_group_id(0)"))
    done = run("ladder", "--engine", "opencl", "--size", "32", "--rung", "wrong.cl", *FEW, env=OPENCL)
    said = (done.stdout + done.stderr).lower()
    assert done.returncode == 1 and said.count("wrong: at") == 1 and "each row was verified" not in said, done
    assert done.stderr == "tilewright: ladder: 2 of 4 rows are wrong and not timed, as said in the table; the others were verified\n", done


@case
def files_are_named_as_a_reader_needs_it():
    npy("A.npy", [[1, 2], [3, 4]])
    assert good("multiply", "A.npy", "A.npy", "-o", "B.npy").stdout.rstrip().endswith("not verified")
    assert good("multiply", "A.npy", "B.npy", "-o", "B.npy").stdout.rstrip().endswith("not verified, in place of B")
    os.link("A.npy", "same.npy")
    assert good("multiply", "A.npy", "A.npy", "-o", "same.npy").stdout.rstrip().endswith(", in place of A and B")
    open("my tile.cl", "w").write(exercise("r02_tiled", GAP_2="barrier(CLK_LOCAL_MEM_FENCE)"))
    for words in ("explain", "my tile.cl"), ("ladder", "--rung", "my tile.cl"):
        bad(4, *words, says="my tile.cl: line 27: left to fill: GAP_1, GAP_3, GAP_4, GAP_5, GAP_6\n")
    if FULL:
        needs("opencl")
    open("my tile.cl", "w").write(naive())
    assert "\nown:my tile.cl  " in good("ladder", "--size", "32", "--rung", "my tile.cl", *FEW, env=OPENCL).stdout


@case
def what_is_misspelt_gets_a_hint():
    for words, meant in ((["ladder", "--rung", "r4"], "r04"), (["ladder", "--rung", "r04_bnks"], "r04_banks"), (["explain", "r31_matrix"], "r13_matrix"),
                         (["bench", "--dtype", "f23"], "f32"), (["ladder", "--engine", "opncl"], "opencl"), (["ladder", "--gpu", "H20"], "H200"),
                         (["ladder", "--gpu", "GTX 28"], "GTX 280"), (["bench", "--set", "square,ood"], "odd")):
        bad(2, *words, says=f"did you mean {meant}?")
    for words in ["ladder", "--rung", "something"], ["bench", "--dtype", "text"], ["explain", "xyz"]:
        assert "did you mean" not in bad(2, *words).stderr, words


@case
def the_completion_has_the_programs_own_words():
    script = good("help", "--completion").stdout

    def completed(*words):
        check = script + f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _tilewright; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        return subprocess.run(["bash", "-c", check], capture_output=True, text=True).stdout.splitlines()

    assert completed("tilewright", "lad") == ["ladder"] and completed("tilewright", "help", "do") == ["doctor"]
    table = open(os.path.join(ROOT, "lab", "peers.def"), encoding="utf-8").read()
    assert completed("tilewright", "bench", "--against", "''") == ["all", *re.findall(r'^PEER\("(\w+)"', table, re.M)]
    assert completed("tilewright", "ladder", "--rung", "r01,r05") == ["r01,r05", "r01,r05_outer"]
    assert completed("tilewright", "explain", "r04_b") == ["r04_banks"] and completed("tilewright", "explain", "r04_b", "--eng") == ["--engine"]
    kernels = {line.split()[2] for line in good("bench", "--size", "16", "--dtype", "f32,f64", *FEW).stdout.splitlines() if re.match(r"f\d\d ", line)}
    assert kernels and kernels <= set(completed("tilewright", "bench", "--kernel", "cpu_")), kernels
    assert completed("tilewright", "ladder", "--gpu", "GTX") == ["GTX\\ 280"]
    assert completed("tilewright", "selftest", "--dtype", "f32,c") == ["f32,cf32", "f32,cf64"] and completed("tilewright", "ladder", "--dtype", "c") == [""]


@case
def help_fits_its_command():
    seed = {name: re.search(r"--seed N +(.*(?:\n {20}.*)*)", good("help", name).stdout)[1] for name in ("multiply", "verify", "ladder", "bench", "selftest", "tune")}
    assert all("check" in seed[name] and "operands" not in seed[name] for name in ("multiply", "verify")), seed
    assert all("operands" in seed[name] and "check" not in seed[name] for name in ("ladder", "bench", "selftest", "tune")), seed
    device = {name: " ".join(re.search(r"--device I\S* +(.*(?:\n {20}.*)*)", good("help", name).stdout)[1].split()) for name in ("multiply", "bench", "ladder")}
    assert "bench" not in "".join(device.values()) and "--host" in device["bench"] and "--host" not in device["multiply"] and "several" not in device["ladder"], device


if __name__ == "__main__":
    main()
