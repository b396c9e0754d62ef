#!/usr/bin/python3 -B
"""test_tune.py - `tilewright tune` and its file, as users meet them: what is kept, refused, resumed, and never chosen.

    test_tune.py [--list] [--full] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. No case depends on what is faster here: rows are
made here, with the signature that the program gave its own and a checksum of them, or tuned on a fake driver.
"""
import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from support.program import BUILD, PROGRAM, bad, clean_environment, good, records, run, sanitized
from support.tap import Skip, case, main

FAKES = os.path.join(BUILD, "tests", "fakes")


class Home:
    """A folder of its own in which the user's file lies, for a case; the current folder meanwhile."""

    def __enter__(self):
        self.before, self.folder = os.getcwd(), tempfile.mkdtemp(prefix="tilewright-tune.")
        os.chdir(self.folder)
        self.file = os.path.join(self.folder, "config", "tilewright", "tuned")
        self.env = {"XDG_CONFIG_HOME": os.path.join(self.folder, "config"), "TILEWRIGHT_TUNED": "", "TILEWRIGHT_THREADS": "1"}
        return self

    def __exit__(self, *failure):
        os.chdir(self.before)
        shutil.rmtree(self.folder)

    def write(self, *lines):
        os.makedirs(os.path.dirname(self.file), exist_ok=True)
        with open(self.file, "w") as out:
            out.writelines(line + "\n" for line in lines)

    def lines(self, path=None):
        path = path or self.file
        return [line for line in open(path).read().splitlines() if not line.startswith("#")] if os.path.exists(path) else []


def signed(text):
    return f"{text} | check={hashlib.sha256(text.encode()).hexdigest()[:16]}"


def is_whole(line):
    return signed(line.rsplit(" | check=", 1)[0]) == line


# Parameters far from any that a planner would take: every step from them is another plan. Others' load does not count.
START = ["--start", "kc=16 unpacked=0.05 unpacked_tall=0.05 b_share=0.05"]
FAR = [*START, "--others", "0"]
_signature = {}


def search(home, *words):
    """A search with the least budget in which a candidate more is judged: on a busy machine that takes seconds."""
    known = set(home.lines(home.file + ".tried"))
    for budget in (1, 4, 16, 64):
        done = run("tune", "--size", "200", "--budget", budget, *FAR, *words, env=home.env)
        if not known.issuperset(home.lines(home.file + ".tried")):
            return
        assert done.returncode == 1 and "nothing was judged, because the budget ended first" in done.stderr, done
    raise AssertionError(f"nothing was judged in {budget} s: {done.stdout}")


def line_of(row, verdict="better", shape="2000x2000x2000", **fields):
    """A line of the user's file, signed as the program signs on this device; fields are of the signature."""
    if not _signature:
        with Home() as home:
            search(home)
            tried = home.lines(home.file + ".tried")
            assert all(map(is_whole, tried)), tried
            _signature.update(dict(field.split("=", 1) for field in tried[0].split(" | ")[1:5]))
    of = {**_signature, **fields}
    return signed(f"{row} | device={of['device']} | driver={of['driver']} | kernels={of['kernels']} | version={of['version']} | "
                  f"verdict={verdict} | shape={shape} | before_s=0.02 | after_s=0.018 | speed=1.11 | low=1.08 | high=1.13 | "
                  f"when=2026-11-25T12:00:00Z | why=")


def settle(home):
    """What was unclear, on a busy machine, as if it had been slower: the next run does not try it again."""
    lines = [signed(line.split(" | check=")[0].replace("verdict=unclear", "verdict=slower")) for line in home.lines(home.file + ".tried")]
    with open(home.file + ".tried", "w") as tried:
        tried.write("".join(line + "\n" for line in lines))


ROW = "cpu * f32 large nn * kc=100"


def plan(home, size=1100):
    return good("bench", "--size", size, "--samples", "1", "--explain-plan", env=home.env).stdout


@case
def a_run_keeps_what_it_tried_and_says_so_in_records():
    with Home() as home:
        search(home, "--json", "tune.jsonl")
        found = records(open("tune.jsonl").read())
        tried = home.lines(home.file + ".tried")
        assert {r["command"] for r in found} == {"tune"} and found[-1]["event"] == "class", found
        assert len([r for r in found if r["event"] == "candidate"]) == len(tried) == found[-1]["tried"], (found, tried)
        assert all(map(is_whole, tried + home.lines())), tried
        assert stat.S_IMODE(os.stat(os.path.dirname(home.file)).st_mode) == 0o700
        settle(home)
        done = run("tune", "--size", "200", "--budget", "1", *FAR, env=home.env)
        again, kept = done.stdout, re.search("^kept in .*", done.stdout, re.M)
        assert not kept or "every program with 1 thread uses it from now on" in kept.group(), kept
        assert len(set(home.lines(home.file + ".tried"))) == len(home.lines(home.file + ".tried")), "a candidate was tried twice"
        assert tried and "were known from earlier runs" in again, again


@case
def an_interrupted_run_keeps_its_candidates_and_the_next_goes_on():
    with Home() as home:
        words = [PROGRAM, "tune", "--size", "500", "--budget", "600", *FAR]
        process = subprocess.Popen(words, env=clean_environment(**home.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 120
        while not home.lines(home.file + ".tried") and time.monotonic() < until and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
        assert process.returncode == 130 and shown.startswith("tune       cpu, "), (shown, said)
        assert f"tilewright: interrupted: what was found and tried is kept in {home.file}, and the next run goes on from there\n" in said, said
        settle(home)
        first = home.lines(home.file + ".tried")
        assert first and all(map(is_whole, first + home.lines())), first
        assert not [name for name in os.listdir(os.path.dirname(home.file)) if name not in ("tuned", "tuned.tried", "tuned.lock", "tuned.tried.lock")]
        run(*words[1:4], "--budget", "1", *words[6:], env=home.env)
        rows = [line.split(" | ")[0] for line in home.lines(home.file + ".tried")]
        assert rows[:len(first)] == [line.split(" | ")[0] for line in first] and len(set(rows)) == len(rows), rows


@case
def a_row_is_used_at_once_and_shown():
    with Home() as home:
        home.write(line_of(ROW))
        assert f"  tuned: {ROW}\n" in plan(home), plan(home)
        shown = good("tune", "--show", env=home.env).stdout
        assert re.search(rf"^used +{re.escape(ROW)} +2000x2000x2000 +20\.0 ms +18\.0 ms +1\.11 +1\.08-1\.13 +2026", shown, re.M), shown
        off = {**home.env, "TILEWRIGHT_TUNED": "off"}
        assert "none of your rows takes part (not tuned: TILEWRIGHT_TUNED is off)" in good("bench", "--size", "1100", "--samples", "1", "--explain-plan", env=off).stdout


@case
def a_stale_signature_is_refused_with_a_sentence():
    with Home() as home:
        for fields, says in (({"version": "9.9.9"}, "it was tuned with version 9.9.9, this is "), ({"kernels": "0123456789abcdef"}, "its kernels have digest 0123456789abcdef"),
                             ({"driver": "avx1024, 1 thread"}, "it was tuned with avx1024, 1 thread, this is ")):
            home.write(line_of(ROW, **fields))
            shown, planned = good("tune", "--show", env=home.env).stdout, plan(home)
            assert re.search(r"^stale ", shown, re.M) and says in shown, shown
            assert "none of your rows takes part" in planned and says in planned, planned
        home.write(line_of(ROW, device="Another"))
        assert re.search(r"^not here ", good("tune", "--show", env=home.env).stdout, re.M)
        assert "none of your rows takes part (not tuned: 0 rows of" in plan(home)


@case
def a_damaged_line_costs_that_line_only():
    with Home() as home:
        whole = line_of(ROW)
        home.write(whole.replace("kc=100", "kc=101"), whole[:-3], "anything", whole)
        with open(home.file) as file:
            text = file.read()
        open(home.file, "w").write("# Mine\n\n" + text)
        shown = good("tune", "--show", env=home.env).stdout
        assert re.findall(r"^damaged +line (\d+): ", shown, re.M) == ["3", "4", "5"], shown
        assert len(re.findall(r"^damaged ", shown, re.M)) == 3 and len(re.findall(r"^used ", shown, re.M)) == 1, shown
        told = [json.loads(line) for line in run("tune", "--show", "--json", "-", env=home.env).stdout.splitlines()]
        assert [(x["before_s"], x["after_s"], x["speed"], x["low_speed"]) for x in told] == 3 * [4 * (None,)] + [(0.02, 0.018, 1.11, 1.08)], told
        assert [x["line"] for x in told] == [3, 4, 5, 6], told
        assert f"  tuned: {ROW}\n" in plan(home)


@case
def rows_of_the_cpu_change_no_bit():
    with Home() as home:
        for name, seed in (("a", 1), ("b", 7)):
            values = bytes((i * seed * 2654435761 >> 13 & 0xff) if i % 4 < 2 else (0x3f if i % 4 == 3 else 0x80) for i in range(4 * 301 * 301))
            open(f"{name}.raw", "wb").write(values)
        words = ["multiply", "a.raw", "b.raw", "--shape", "301x301x301", "--dtype", "f32", "-o"]
        good(*words, "off.raw", env={**home.env, "TILEWRIGHT_TUNED": "off"})
        home.write(line_of("cpu * f32 medium nn * kc=20 macro_block=64 task_tiles=1 b_share=0.05 unpacked=0.05 unpacked_tall=0.05 thread_work=4096"))
        good(*words, "on.raw", env=home.env)
        assert "kc=20" in plan(home, 301)
        assert open("on.raw", "rb").read() == open("off.raw", "rb").read()
        home.write(line_of("cpu * f32 medium nn * unpacked=64 unpacked_tall=64 thread_work=4096 thread_b=20000"))  # 16 columns: 19264 bytes of B
        good(*words, "shared.raw", env=home.env)
        assert re.search(r"task \d+x16 threads|threads 1 ", plan(home, 301)), plan(home, 301)
        assert open("shared.raw", "rb").read() == open("off.raw", "rb").read()


@case
def where_nothing_can_be_kept_nothing_is_tuned():
    with Home() as home:
        bad(7, "tune", "--size", "64", env={**home.env, "TILEWRIGHT_TUNED": "off"}, says="there is no file for tuned rows: TILEWRIGHT_TUNED is off")
        bad(7, "tune", "--size", "64", env={**home.env, "XDG_CONFIG_HOME": "/dev/null"}, says="/dev/null/tilewright cannot be made: Not a directory; TILEWRIGHT_TUNED names another file")
        home.write(line_of(ROW))
        os.chmod(home.file, 0o444)
        bad(7, "tune", "--size", "64", env=home.env, says="the file is read-only")
        os.chmod(home.file, 0o644)
        before = open(home.file).read()
        done = subprocess.run([PROGRAM, "tune", "--size", "64", "--budget", "5"], env=clean_environment(**home.env), capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        assert done.returncode == 7 and "cannot be written: File too large" in done.stderr, (done.returncode, done.stderr)
        assert open(home.file).read() == before and sorted(os.listdir(os.path.dirname(home.file))) == ["tuned", "tuned.lock"], os.listdir(os.path.dirname(home.file))


@case
def a_file_of_something_else_is_never_written():
    with Home() as home:
        env, says = {**home.env, "TILEWRIGHT_TUNED": os.path.abspath("README.md")}, "README.md holds something else than tuned rows: it stays as it is"
        for text in ("# Mine\n\nA line.\n", "# only a heading\n", f"# Mine\n{line_of(ROW)}\nis a row\nof many\n",
                     f"# Mine\n# of many lines\n{line_of(ROW)}\n", "\0\n"):
            open("README.md", "w").write(text)
            for words in (("--size", "64", "--budget", "2"), ("--forget",), ("--forget", "--engine", "cpu"), ("--import", "theirs.rows")):
                open("theirs.rows", "w").write(line_of("cpu * f32 small nn * kc=16", shape="64x64x64") + "\n")
                bad(7, "tune", *words, env=env, says=says)
            assert open("README.md").read() == text and sorted(os.listdir()) == ["README.md", "theirs.rows"], os.listdir()
            assert "README.md holds something else than tuned rows" in good("tune", "--show", env=env).stdout
        home.write(line_of(ROW))
        bad(7, "tune", "--export", "README.md", env=home.env, says="--force replaces it")
        with open(home.file + ".tried", "w") as tried:
            tried.write("notes\n")
        bad(7, "tune", "--size", "64", "--budget", "5", env=home.env, says="tuned.tried holds something else than tuned rows")
        assert open(home.file + ".tried").read() == "notes\n"
        for text in ("", "# Tuned rows of Tilewright, mine\nnonsense\n", line_of(ROW) + "\nnonsense\n"):  # ours: new, ours, and damaged in part
            open("README.md", "w").write(text)
            good("tune", "--forget", env=env)
            assert open("README.md").read().startswith("# Tuned rows of Tilewright, written") and home.lines("README.md") == []


@case
def a_lock_that_does_not_come_free_is_given_up():
    """By all who take it, in the time of one."""
    with Home() as home:
        home.write(line_of(ROW))
        open("theirs.rows", "w").write(line_of("cpu * f32 small nn * kc=16", shape="64x64x64") + "\n")
        with open(home.file + ".lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = [subprocess.Popen([PROGRAM, "tune", *words], env=clean_environment(**home.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                       for words in (("--forget",), ("--import", "theirs.rows"), ("--size", "64", "--budget", "2"))]
            for process in waiting:
                _, said = process.communicate(timeout=120)
                assert process.returncode == 7 and re.search(rf"tuned\.lock: your rows cannot be kept: process {os.getpid()} \(.*\) has held their lock for 10 s\n$", said), (process.args, process.returncode, said)
        assert home.lines() == [line_of(ROW)]


@case
def no_link_that_leads_nowhere_is_followed():
    with Home() as home:
        home.write(line_of(ROW))
        for name, says in ((".lock", "tuned.lock: your rows cannot be kept: their lock is a link"), (".tried", "tuned.tried: is a dangling link, which is not followed: remove it")):
            os.symlink(os.path.abspath("elsewhere"), home.file + name)
            for words in (("--forget",), ("--size", "64", "--budget", "2", *FAR)):
                done = run("tune", *words, env=home.env)
                assert done.returncode == 7 and says in done.stderr and not os.path.exists("elsewhere"), (words, done.returncode, done.stderr)
            os.remove(home.file + name)
        good("tune", "--forget", env=home.env)


@case
def two_at_once_wait_for_each_other():
    with Home() as home:
        home.write(line_of(ROW))
        with open(home.file + ".lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            process = subprocess.Popen([PROGRAM, "tune", "--forget"], env=clean_environment(**home.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            holder = re.escape(f"process {os.getpid()} (") + r"[^()]+\)"
            said = process.stderr.readline()  # which waits too
            assert re.fullmatch(rf"tilewright: tune: .*/tuned\.lock: waiting for {holder}, which holds this lock\n", said), said
            assert home.lines() == [line_of(ROW)] and process.poll() is None
        shown, said = process.communicate(timeout=60)
        assert "1 row removed" in shown and said == "" and home.lines() == [], (shown, said)
        home.write(line_of(ROW))
        tried = []
        for budget in ("1", "4", "16", "60"):
            pair = [subprocess.Popen([PROGRAM, "tune", "--size", size, "--budget", budget, *FAR], env=clean_environment(**home.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for size in ("200", "400") if not tried]
            assert all([process.wait(timeout=120) in (0, 1) for process in pair])  # 1: the budget ended first
            tried = home.lines(home.file + ".tried")
        kept = home.lines()
        assert all(map(is_whole, kept + tried)) and line_of(ROW) in kept, kept
        assert len([line for line in tried if " small " in line]) > 0, tried


@case
def rows_go_to_a_colleague_and_are_verified_there():
    with Home() as home:
        home.write(line_of(ROW), line_of("cpu * f32 small nn * kc=16", shape="64x64x64"), "damaged")
        good("tune", "--export", "mine.rows", env=home.env)
        assert home.lines("mine.rows") == home.lines()[:2]
        bad(2, "tune", "--export", "mine.rows", "--show", env=home.env, says="exclude each other")
        open("notes.txt", "w").write("not ours\n")
        bad(7, "tune", "--export", "notes.txt", env=home.env, says="--force replaces it")
        bad(2, "tune", "--export", "x.rows", "--json", "x.rows", env=home.env, says="name the same file")
        bad(2, "tune", "--import", "mine.rows", "--json", "mine.rows", "--force", env=home.env, says="names the same file as --import mine.rows")
        bad(2, "tune", "--export", home.file, "--force", env=home.env, says="is the file that the rows are in")
        for words in (("--dtype", "f64"), ("--shape", "8x8x8"), ("--size", "64"), ("--transpose-a",)):
            bad(2, "tune", "--forget", *words, env=home.env, says="leave out --dtype, --shape, --size, --set, --transpose-a, --transpose-b")
        os.chmod(home.file, 0o444)
        bad(7, "tune", "--forget", env=home.env, says="the file is read-only")
        os.chmod(home.file, 0o644)
        os.chmod("mine.rows", 0o444)
        bad(7, "tune", "--export", "mine.rows", env=home.env, says="mine.rows: the file is read-only")
        good("tune", "--export", "mine.rows", "--force", env=home.env)
        with open("theirs.rows", "w") as theirs:
            theirs.write(line_of("cpu * f32 small nn * kc=16", shape="64x64x64", device="Theirs") + "\n")
            theirs.write(line_of("cpu * f32 medium nn * kc=16", shape="64x64x64", device="Theirs") + "\n")
            theirs.write(line_of("cpu * f64 small nn gemm_simd kc=16", shape="64x64x64", device="Theirs") + "\n")
            theirs.write(line_of("cpu  * f64  few_rows nn   * kc=16", shape="2x64x64", device="Theirs") + "\n")
            theirs.write(line_of("cpu * f32 large nn * kc=16", verdict="wrong", device="Theirs") + "\nnonsense\n")
        home.write()
        done = run("tune", "--import", "theirs.rows", "--budget", "20", "--others", "0", env=home.env)
        assert done.returncode == 0 and "1 line is damaged, and passed over" in done.stderr, done.stderr
        assert re.search(r"^cpu f32 small nn: (taken|not taken: (the plan is the present one|it is right, and not faster here|[0-9.]+ times as fast, but .*))$", done.stdout, re.M), done.stdout
        assert "cpu f32 medium nn: not taken: its shape 64x64x64 is none of its class" in done.stdout
        assert "cpu f64 small nn: not taken: it has a kernel or a parameter" in done.stdout and " large " not in done.stdout, done.stdout
        assert re.search(r"^cpu f64 few_rows nn: (not )?taken", done.stdout, re.M), done.stdout
        assert all("device=Theirs" not in line and is_whole(line) for line in home.lines())
        rows = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "tuned", "cpu.rows")
        for path in "notes.txt", rows:
            bad(6, "tune", "--import", path, env=home.env, says=f"{path}: it is no file of tuned rows: `tilewright tune --export FILE` writes one")
        home.write()
        done = run("tune", "--import", "theirs.rows", "--engine", "opencl", env=home.env)
        assert done.returncode == 6 and "theirs.rows: it has no tuned row of opencl" in done.stderr and not done.stdout, done
        assert " medium nn: not taken" in run("tune", "--import", "theirs.rows", "--engine", "auto", "--budget", "1", env=home.env).stdout
        bad(6, "tune", "--import", "nowhere.rows", env=home.env, says="cannot be opened")


@case
def rows_are_forgotten_by_engine():
    with Home() as home:
        home.write(line_of(ROW), "damaged")
        assert "0 rows removed" in good("tune", "--forget", "--engine", "opencl", env=home.env).stdout and len(home.lines()) == 2
        assert "2 rows removed" in good("tune", "--forget", env=home.env).stdout and home.lines() == []
        assert good("tune", "--show", env=home.env).stdout.startswith("not tuned: ")
        nowhere = good("tune", "--show", env={**home.env, "TILEWRIGHT_TUNED": "/nowhere/tuned"}).stdout
        assert nowhere == "not tuned: there is no /nowhere/tuned\n", nowhere


def fake_opencl(home, *words, **more):
    """tune on the fake driver, whose kernels compute nothing; none is tested before its first use."""
    if sanitized():
        raise Skip("the fake driver's library is not built with sanitizers")
    return run("tune", "--engine", "opencl", "--size", "64", *words,
               env={**home.env, "LD_LIBRARY_PATH": os.path.join(FAKES, "opencl"), "TILEWRIGHT_CACHE": "off", "TILEWRIGHT_SELF_TEST": "off", **more})


@case
def a_candidate_that_computes_wrong_numbers_is_never_chosen():
    with Home() as home:
        done = fake_opencl(home, "--budget", "30")
        tried = home.lines(home.file + ".tried")
        assert done.returncode == 0 and home.lines() == [], (done.returncode, done.stderr, home.lines())
        assert tried and all("verdict=wrong" in line for line in tried), tried
        assert "wrong: 63x63x63: exact oracle: C[0, 0] is" in done.stderr and "nothing faster" in done.stdout, done.stderr
        assert len(fake_opencl(home, "--budget", "30").stderr) == 0, "a wrong candidate is not tried again"


@case
def a_candidate_that_hangs_is_ended_and_the_run_goes_on():
    with Home() as home:
        done = fake_opencl(home, "--budget", "4", "--deadline", "1", FAKE_HANG="clEnqueueNDRangeKernel=1")
        tried = home.lines(home.file + ".tried")
        assert done.returncode == 0 and home.lines() == [], (done.returncode, done.stderr)
        assert len(tried) >= 2 and all("verdict=hung" in line for line in tried), tried
        assert "hung: did not answer within 1 s: its process was ended" in done.stderr and "the budget ended first" in done.stdout, done.stderr


def fake_cuda(home, *words, times="", **more):
    """A command on the fake driver, which computes f32's products on the host; times: FAKE_CUDA of tests/fakes/cuda.c."""
    if sanitized():
        raise Skip("the fake driver's library is not built with sanitizers")
    return run(*words, env={**home.env, "LD_LIBRARY_PATH": os.path.join(FAKES, "cuda"), "TILEWRIGHT_NVRTC": os.path.join(FAKES, "nvrtc", "libnvrtc.so.13"),
                            "TILEWRIGHT_CACHE": "off", "FAKE_CUDA": f"product=1 {times}", **more})


def tune_cuda(home, *words, **more):
    """A search that ends before its budget, from whatever start; what it wrote to standard error."""
    done = fake_cuda(home, "tune", "--engine", "cuda", "--size", "64", "--budget", "300", "--json", "tune.jsonl", *words, **more)
    found = records(open("tune.jsonl").read())
    assert done.returncode == 0 and found[-1]["event"] == "class" and found[-1]["finished"], (done.returncode, done.stderr, found)
    return found, done.stderr


def planned(home, **more):
    """The kernel of the plan, and what is said of it; the product is not computed, so it is wrong and not timed."""
    done = fake_cuda(home, "bench", "--engine", "cuda", "--size", "64", "--samples", "1", "--explain-plan", FAKE_CUDA="product=0", **more)
    return re.search(r"  plan: cuda_f32_(\w+)", done.stdout)[1], done.stdout


@case
def on_cuda_a_faster_kernel_is_found_used_and_named():
    with Home() as home:
        fast = "us_sgemm_cpasync_sm80=250"
        before, _ = planned(home)
        found, _ = tune_cuda(home, times=fast)
        (line,) = home.lines()
        row, says = line.split(" | ")[0], f"sgemm_cpasync_sm80_128x128 instead of {before}"
        assert re.fullmatch(r"cuda \* f32 small nn sgemm_cpasync_sm80_128x128 cost=0\.\d+", row), row
        assert found[-1]["verdict"] == "better" and found[-1]["why"] == says and abs(found[-1]["after_s"] - 250e-6) < 1e-8, found[-1]
        shown = fake_cuda(home, "tune", "--show").stdout
        assert re.search(rf"^used +{re.escape(row)} +64x64x64 +1\.00 ms +250 us +4\.00 +4\.00-4\.00 .*\n +{says}$", shown, re.M), shown
        now, told = planned(home)
        assert now == "sgemm_cpasync_sm80_128x128" and f"  tuned: {row}\n" in told, told
        assert planned(home, TILEWRIGHT_TUNED="off")[0] == before != now
        home.write(line, line_of(ROW))
        assert re.findall(r"^tuned (\w+) +1 row of ", fake_cuda(home, "doctor", OCL_ICD_VENDORS="/nowhere").stdout, re.M) == ["cpu", "cuda"]
        home.write(line)
        assert "not here " in fake_cuda(home, "tune", "--show", times="gpus=0").stdout
        for change, says in (("version=", "it was tuned with version 9"), ("kernels=", "its kernels have digest 9"), ("driver=", "it was tuned with 9")):
            home.write(signed(line.split(" | check=")[0].replace(f" | {change}", f" | {change}9")))
            now, told = planned(home)
            assert now == before and "none of your rows takes part" in told and says in told, told
        home.write(signed(line.split(" | check=")[0].replace("cost=", "kc=")), signed(line.split(" | check=")[0].replace("cost=0.", "cost=-0.")))
        now, told = planned(home)
        assert now == before and "line 1 is not used: it is not read: the cuda engine's planner has no parameter kc; nor is 1 more" in told, told


@case
def on_cuda_the_search_comes_back_from_bad_coefficients():
    with Home() as home:
        bad_start = "pdl_launch=100000 block=1"
        found, _ = tune_cuda(home, "--start", bad_start, times="us_sgemm_slicedk_sm80=100")
        assert found[-1]["before_s"] > 0.0009 and abs(found[-1]["after_s"] - 100e-6) < 1e-8, found[-1]
        assert planned(home)[0].startswith("sgemm_slicedk_sm80_"), home.lines()
        ran = [record for record in found if record["event"] == "candidate"]
        plans = [line.split(" | plan=")[1].split(" | ")[0] for line in home.lines(home.file + ".tried")]
        assert len(ran) == found[-1]["tried"] == len(plans) == len(set(plans)) and found[-1]["same_plan"] > 100, "each plan runs once"


@case
def on_cuda_a_kernel_that_is_wrong_or_hangs_is_marked_and_never_taken():
    with Home() as home:
        times = "us_sgemm_simt=100 lacks_sgemm_simt=1 us_sgemm_cpasync_sm80=250 hangs_sgemm_slicedk_tma_sm90=1"
        found, said = tune_cuda(home, "--deadline", "1", times=times)
        of = {verdict: [r["row"] for r in found if r["event"] == "candidate" and r["verdict"] == verdict] for verdict in ("wrong", "hung", "better")}
        assert len(of["wrong"]) == 1 and " sgemm_simt_128x128 cost=" in of["wrong"][0], of
        assert 1 <= len(of["hung"]) <= 3 and all(" sgemm_slicedk_tma_sm90_" in row for row in of["hung"]), of
        assert "wrong: 63x63x63: exact oracle: C[0, " in said and "hung: did not answer within 1 s" in said, said
        assert planned(home)[0] == "sgemm_cpasync_sm80_128x128" and len(of["better"]) >= 1, (of, home.lines())
        assert all("sgemm_simt" not in line and "slicedk_tma" not in line for line in home.lines()), home.lines()
        again, said = tune_cuda(home, "--deadline", "1", times=times)
        assert said == "" and not [r for r in again if r.get("verdict") in ("wrong", "hung")], (again, said)


@case
def what_was_measured_beside_other_processes_is_neither_kept_nor_marked():
    with Home() as home:
        fast = "us_sgemm_cpasync_sm80=250"
        done = fake_cuda(home, "tune", "--engine", "cuda", "--size", "64", "--others", "25", "--json", "tune.jsonl", times=fast)
        assert done.returncode == 1 and "not judged: other processes ran beside them" in done.stdout, done
        assert "nothing was judged, because other processes used the processors: let nothing else run, and tune again" in done.stderr, done
        assert home.lines() == [] == home.lines(home.file + ".tried"), home.lines()
        found = records(open("tune.jsonl").read())
        assert found[-1]["busy"] > 0 == found[-1]["tried"] and not [r for r in found if r["event"] == "candidate"], found
        found, _ = tune_cuda(home, "--others", "24", times=fast)
        assert found[-1]["verdict"] == "better" and found[-1]["busy"] == 0 and abs(found[0]["others"] - 0.24) < 1e-9, found
        tried = open(home.file + ".tried").readlines()
        good("tune", "--forget", env=home.env)
        open(home.file + ".tried", "w").writelines(tried[:3])
        done = fake_cuda(home, "tune", "--engine", "cuda", "--size", "64", "--others", "25", times=fast)  # what is known was judged by another run
        assert done.returncode == 1 and "nothing judged (" in done.stdout and "were known from earlier runs" in done.stdout, done
        found, _ = tune_cuda(home, times=fast)
        good("tune", "--export", "mine.rows", env=home.env)
        good("tune", "--forget", env=home.env)
        words = ("tune", "--import", "mine.rows", "--others")
        done = fake_cuda(home, *words, "60", times=fast)
        assert "not taken: other processes used 60 % of the processors: let nothing else run, and import again" in done.stdout, done
        assert done.returncode == 1 and "nothing was judged, because other processes used the processors: let nothing else run, and import again" in done.stderr, done
        assert home.lines() == []
        said = fake_cuda(home, *words, "0", times=fast + " wavers_sgemm_cpasync_sm80=16").stdout
        assert re.search(r"not taken: [0-9.]+ times as fast, but [0-9.]+ to [0-9.]+ over the rounds: let nothing else run, and import again: sgemm_cpasync", said), said
        assert home.lines() == []
        said = fake_cuda(home, *words, "0", "--json", "taken.jsonl", times=fast).stdout
        taken, = records(open("taken.jsonl").read())
        assert taken["row"] == home.lines()[0].split(" | ")[0], taken
        assert "nn: taken: sgemm_cpasync_sm80_128x128 instead of " in said and len(home.lines()) == 1, said


@case
def what_was_unclear_is_tried_again_by_the_next_run():
    with Home() as home:
        fast = "us_sgemm_cpasync_sm80=250"
        found, _ = tune_cuda(home, times=fast + " wavers_sgemm_cpasync_sm80=16")
        of = {verdict: [line for line in home.lines(home.file + ".tried") if f"verdict={verdict}" in line] for verdict in ("unclear", "slower", "better")}
        assert home.lines() == of["better"] == [] and found[-1]["unclear"] == len(of["unclear"]) > 0, of
        assert all(" sgemm_cpasync_sm80_" in line for line in of["unclear"]) and of["slower"], of
        found, _ = tune_cuda(home, times=fast)
        again = [r["row"] for r in found if r["event"] == "candidate"]
        assert found[-1]["verdict"] == "better" and len(home.lines()) == 1 and any(line.startswith(again[0] + " |") for line in of["unclear"]), (again, of)
        tried = home.lines(home.file + ".tried")
        assert not [line for line in tried if "verdict=unclear" in line] and set(of["slower"]) < set(tried), tried


@case
def each_number_of_threads_keeps_what_was_found_and_tried():
    with Home() as home:
        search(home, "--threads", "1")
        settle(home)
        first = home.lines(home.file + ".tried")
        search(home, "--threads", "2")
        assert first and set(first) <= set(home.lines(home.file + ".tried")), "the first run's candidates are gone"
        run("tune", "--size", "200", "--budget", "1", *FAR, "--threads", "1", env=home.env)
        tried = [line.split(" | ")[0] + line.split(" | ")[2] for line in home.lines(home.file + ".tried")]
        assert set(first) <= set(home.lines(home.file + ".tried")) and len(set(tried)) == len(tried), tried
    with Home() as home:
        others = [line_of(ROW, verdict="slower", shape=f"{i}x1x1", driver="3 threads") for i in range(4100)]
        home.write()
        with open(home.file + ".tried", "w") as tried:
            tried.write("\n".join([line_of(ROW, verdict="slower", version="9.9.9"), *others]) + "\n")
        search(home)
        left = home.lines(home.file + ".tried")
        assert left[:4096] == others[4:] and len(left) > 4096 and not any("3 threads" in line for line in left[4096:]), left[:1]


@case
def rows_for_another_driver_stay_and_those_of_another_version_go():
    with Home() as home:
        fast = "us_sgemm_cpasync_sm80=250"
        tune_cuda(home, times=fast)
        (line,) = home.lines()
        body = line.split(" | check=")[0]
        other, past = (signed(body.replace(f" | {name}=", f" | {name}=9")) for name in ("driver", "version"))
        home.write(other, past, signed(body.replace(" small ", " large ")))
        os.remove(home.file + ".tried")
        tune_cuda(home, times=fast)
        now = home.lines()
        assert len(now) == 3 and now[0] == other and " large " in now[1] and now[2].split(" | when=")[0] == line.split(" | when=")[0], now


@case
def the_whole_budget_is_used_and_no_more():
    with Home() as home:
        kernels = ("simt", "cpasync_sm80", "tma_sm90", "slicedk_sm80", "slicedk_tma_sm90")
        hang, budget = " ".join(f"hangs_sgemm_{name}=1" for name in kernels), 10
        begun = time.monotonic()
        done = fake_cuda(home, "tune", "--engine", "cuda", "--dtype", "f32,f64", "--size", "64", "--budget", str(budget), "--deadline", "1", "--json", "tune.jsonl", times=hang)
        took = time.monotonic() - begun
        of = {r["dtype"]: r for r in records(open("tune.jsonl").read()) if r["event"] == "class"}
        assert done.returncode == 0 and of["f64"]["finished"] and not of["f32"]["finished"], (done.stderr, of)
        assert 0.95 * budget < took < budget + 5, f"{took} s"  # f64 ends at once: what it leaves goes to f32
        # in its own half of the budget f32 has time for at most 5 that hang for 1 s
        assert len(re.findall(r"^f32 ", done.stdout, re.M)) == 1 == len(re.findall(r"^f64 ", done.stdout, re.M)) and of["f32"]["hung"] >= 6, done.stdout


@case
def what_is_not_tuned_is_said():
    with Home() as home:
        said = fake_cuda(home, "tune", "--engine", "cuda", "--shape", "64x64x64,65x64x64", "--budget", "60").stdout
        assert "\n65x64x64 is not tuned: an earlier shape of its class (small nn) stands for it\n" in said, said
        said = fake_cuda(home, "tune", "--engine", "cuda", "--shape", "64x64x64,65x64x64,66x64x64", "--budget", "60").stdout
        assert "\n66x64x64 and 1 more shape are not tuned: an earlier shape of the same class stands for each\n" in said, said
        said = good("tune", "--size", "64", "--threads", "1", "--budget", "60", env=home.env).stdout
        assert re.search(r" nothing tried: no parameter changes this product, \d+ values give the same plan$", said, re.M) and "known" not in said, said


@case
def a_busy_machine_is_told():
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        with Home() as home:
            for budget in (2, 8):  # so busy that the first may end before anything is measured
                done = run("tune", "--size", "200", "--budget", budget, "--json", "tune.jsonl", *START, env=home.env)
                if "because other processes used the processors" in done.stderr:
                    break
            assert done.returncode == 1 and "nothing was judged" in done.stderr, done
            said = re.search(r"^busy +other processes used (\d+) % of the processors", done.stdout, re.M)
            assert said and 25 <= int(said.group(1)) <= 100, done.stdout
            found = records(open("tune.jsonl").read())
            assert found[-1]["busy"] > 0 == found[-1]["tried"] and home.lines() == [] == home.lines(home.file + ".tried"), found
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@case
def a_search_whose_every_candidate_fails_is_no_success():
    with Home() as home:
        done = fake_opencl(home, "--budget", "30", FAKE_CRASH="clEnqueueNDRangeKernel=6")
        assert done.returncode == 1 and "failed: crashed: " in done.stderr and "each candidate that was run failed: " in done.stderr, done


@case
def a_budget_that_ends_before_anything_is_judged_is_no_success():
    with Home() as home:
        done = run("tune", "--shape", "3000x3000x3000,2000x3000x4000,4000x3000x2000", "--budget", "1", "--others", "0", env=home.env)
        ended = r"^not timed  (f32 nn \d+x3000x\d+(, )?)+: the budget ended first: give a larger --budget$|nothing tried, the budget ended first$"
        assert re.search(ended, done.stdout, re.M), done.stdout  # before the first class was begun, or within it
        assert done.returncode == 1 and "nothing was judged, because the budget ended first: give a larger --budget" in done.stderr, done
        assert home.lines() == [], home.lines()


@case
def engines_and_options_that_do_not_go_are_refused():
    with Home() as home:
        bad(2, "tune", "--engine", "mpi", env=home.env, says="--engine: found 'mpi'")
        assert run("tune", "--engine", "cuda", "--size", "64", env={**home.env, "LD_LIBRARY_PATH": os.path.join(FAKES, "cuda"), "FAKE_CUDA": "gpus=0"}).returncode == 3
        bad(2, "tune", "--budget", "0", env=home.env, says="--budget: found '0'")
        bad(2, "tune", "--size", "64", "--shape", "1x2x3", env=home.env, says="exclude each other")
        assert run("tune", "--engine", "opencl", "--device", "99", "--size", "64", env=home.env).returncode == 3
        bad(3, "tune", "--device", "1", "--size", "64", env=home.env, says="tilewright: tune: device 1 was asked for, the cpu engine has device 0 only")


main(side_by_side=2)
