#!/usr/bin/python3 -B
"""test_verdict.py - `tilewright grade`: right and wrong solutions, files that it does not judge, and texts that ask for more than they get.

    test_verdict.py [--list] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Needs nothing but Python 3 and a C compiler.
"""
import json
import os
import re
import signal
import subprocess
import time

from support.course import changed, filled, need_lanes, write
from support.program import PROGRAM, ROOT, clean_environment, run
from support.tap import Skip, case, main

PAGE = " (r01_naive: docs/COURSE.md, page 1)"


NO_LANDLOCK = "tilewright: grade: this system's kernel has no Landlock: that a text reads no other files is seen by its words alone\n"


def need_grade():
    need_lanes()
    write("none.cl", "")
    done = run("grade", "none.cl")
    if "nothing is judged here" in done.stderr:
        raise Skip(done.stderr.strip())


def grade(*words, status, **env):
    """Nothing may be left in TMPDIR."""
    os.makedirs("t m'p", exist_ok=True)
    done = run("grade", *words, env={"TMPDIR": os.path.abspath("t m'p"), **env})
    done.stderr = done.stderr.replace(NO_LANDLOCK, "")
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert os.listdir("t m'p") == [], os.listdir("t m'p")
    return done


def naive(top="", body="", name="r01_naive"):
    """OpenCL's r01 with lines below its #include, and statements in it."""
    text = changed("opencl", "r01_naive")
    text = text[text.index("#include"):].replace('rung.clh"\n', f'rung.clh"\n{top}\n', 1)
    return text.replace("float sum = 0;", f"float sum = 0; {body}").replace("void r01_naive(", f"void {name}(")


@case
def right_files_pass_and_wrong_ones_are_named():
    need_grade()
    write("right.cl", filled("r02_tiled", "cl"))
    write("right.cu", filled("r10_register", "cu"))
    write("race.cl", filled("r02_tiled", "cl", {"GAP_5": ""}))
    write("left.cl", open(os.path.join(ROOT, "exercises", "r04_banks.cl"), encoding="utf-8").read())
    done = grade("right.cl", "right.cu", status=0)
    assert done.stdout == "right.cl: pass, r02_tiled\nright.cu: pass, r10_register\n2 files: 2 pass, 0 wrong, 0 not judged\n", done.stdout
    done = grade("race.cl", status=1)
    assert re.fullmatch(r"race.cl: WRONG: at 48 x 48 x 48: no barrier stands between the reads of a tile and the next stores into it: .* \(r02_tiled: docs/COURSE.md, page 2\)\n", done.stdout), done.stdout
    done = grade("left.cl", status=1)
    assert done.stdout.startswith("left.cl: WRONG: line ") and ": left to fill: GAP_1" in done.stdout, done.stdout


@case
def every_solution_passes():
    """All exercises, half of them in either language, in a folder; the others are in test_judge.c. Their pages are those of exercises/gaps.def."""
    need_grade()
    with open(os.path.join(ROOT, "exercises", "gaps.def"), encoding="utf-8") as file:
        pages = dict(re.findall(r"^(\w+) \| (\d) \|", file.read(), re.M))
    assert len(pages) >= 14, pages
    os.mkdir("all")
    for i, rung in enumerate(pages):
        write(f"all/{rung}.{('cl', 'cu')[i % 2]}", filled(rung, ("cl", "cu")[i % 2]))
    done = grade("all", "--json", "found.jsonl", status=0)
    assert done.stdout.endswith(f"\n{len(pages)} files: {len(pages)} pass, 0 wrong, 0 not judged\n"), done.stdout
    found = [json.loads(line) for line in open("found.jsonl", encoding="utf-8")]
    assert {r["rung"]: str(int(r["page"])) for r in found} == pages and all(r["right"] for r in found), found


@case
def a_folder_in_the_order_of_its_names():
    """Of 200 files some stand below, and what is no kernel is left out."""
    need_grade()
    for folder in ("some", "some/b", "some/B c"):
        os.mkdir(folder)
    for i in range(197):
        write(f"some/b/{i:03}.cl", "")
    write("some/a.cl", naive())
    write("some/B c/x\n\x1b[31m.cu", "")
    write("some/notes.txt", "")
    write("some/z.cl", naive(body="sum += 1;"))
    os.symlink("/etc/passwd", "some/link.cl")
    os.mkfifo("some/pipe.cl")
    os.mkdir("some/folder.cl")
    done = grade("some", "--json", "found.jsonl", "--threads", 1, status=1)
    records = [json.loads(line) for line in open("found.jsonl", encoding="utf-8")]
    names = [r["file"] for r in records]
    assert names == sorted(names) and len(names) == 200, names
    assert {r["verdict"] for r in records} == {"pass", "wrong"} and "\x1b" not in done.stdout, done.stdout
    assert done.stdout.endswith("\n200 files: 1 pass, 199 wrong, 0 not judged\n") and done.stdout.count("\n") == 201, done.stdout
    assert sorted(done.stderr.splitlines()) == [f"tilewright: grade: some/{x}.cl is left out: it is no regular file" for x in ("link", "pipe")], done.stderr
    z = records[-1]
    assert (z["command"], z["engine"], z["rung"], z["page"]) == ("grade", "opencl", "r01_naive", 1) and z["text"].startswith("at 48 x 48 x 48: "), z


@case
def which_rung_a_file_is_held_to():
    need_grade()
    write("mine.cl", naive(name="mine"))
    done = grade("mine.cl", status=3)
    assert done.stdout == "mine.cl: not judged: its kernel mine bears no rung's name, such as r04_mine: --rung says which it is\n", done.stdout
    assert grade("mine.cl", "--rung", "r01", status=0).stdout == "mine.cl: pass, r01_naive\n"
    done = grade("mine.cl", "--rung", "r04", status=1)
    assert done.stdout.startswith("mine.cl: WRONG: right, but load of A happens 48 times per thread where r04_banks happens 3") and "(r04_banks: docs" in done.stdout, done.stdout
    write("tma.cu", changed("cuda", "r12_async"))
    done = grade("tma.cu", "mine.cl", status=3)
    assert done.stdout.startswith("tma.cu: not judged: r12_async is for a GPU alone"), done.stdout
    for words, status, says in ((("mine.cl", "--rung", "r99"), 2, "--rung r99: no rung of opencl or cuda has this name"), (("nothing.cl",), 6, "nothing.cl: No such file"),
                                (("t m'p",), 6, "no .cl or .cu file is in this folder or below it"), ((), 2, "FILE|FOLDER")):
        done = run("grade", *words)
        assert done.returncode == status and says in done.stderr, (words, done)
    os.makedirs("victim")
    write("victim/kept", "")
    done = run("grade", "mine.cl", "--rung", "r01", env={"TMPDIR": os.path.abspath("victim") + "/" * 4200})
    assert done.returncode == 7 and "File name too long" in done.stderr and os.listdir("victim") == ["kept"], done
    os.symlink("victim", "link")
    write("victim/mine.cl", naive())
    assert grade("link", status=0).stdout.endswith("victim/mine.cl: pass, r01_naive\n")
    write("five.cl", filled("r05_outer", "cl"))
    assert grade("five.cl", status=0, CC="cc -fstack-protector-all -D_FORTIFY_SOURCE=2").stdout == "five.cl: pass, r05_outer\n"
    done = run("grade", "mine.cl", env={"CC": "/nonexistent/cc"})
    assert done.returncode == 3 and done.stderr.replace(NO_LANDLOCK, "") == "tilewright: grade: nothing is judged here: CC names no C compiler that is here\n", done


# What it says of a text, and whether that is a mistake or no verdict.
ASKS = {
    "a file": ('#include "/etc/passwd"', "", "not judged: line 2: `include \"/etc/passwd\"` names no header of the ladder"),
    "a device": ("#include </dev/zero>", "", "not judged: line 2: `include </dev/zero>` names no header of the ladder"),
    "a file in two lines": ('#inc\\\nlude "/etc/passwd"', "", "not judged: line 2: `include"),
    "a file by another sign": ('%:include "/etc/passwd"', "", "not judged: line 2: `include"),
    "a file behind a comment": ('/* */ # /* */ include "/etc/passwd"', "", "names no header of the ladder"),
    "a file behind a string": ('int x = sizeof R"(")"; #include "/etc/passwd" "', "", "is a string, of which a rung has none"),
    "a file behind a letter": ("int x = '\"'; // \"\n#include \"/etc/passwd\"", "", "is a string, of which a rung has none"),
    "whether a file is there": ('#if __has_include("/etc/shadow")\n#error yes\n#endif', "", "not judged: line 2: `__has_include` is no word of a rung"),
    "a file's lines in messages": ('#line 1 "/etc/passwd"\nint x = ;', "", "not judged: line 2: `line` is no directive of a rung"),
    "the same by a number": ('# 12 "/etc/passwd" 2\nint x = ;', "", "not judged: line 2: `12` is no directive of a rung"),
    "a file's date": ('#pragma GCC dependency "/etc/passwd"', "", "is no pragma of a rung"),
    "the assembler": ('__asm__(".incbin \\"/etc/passwd\\"");', "", "not judged: line 2: `__asm__` is no word of a rung"),
    "the assembler by another name": ('asm(".incbin \\"/etc/passwd\\"");', "", "not judged: line 2: `asm` is no word of a rung"),
    "a word made of two": ("#define J(a, b) a##b\nJ(a, sm)(1);", "", "not judged: line 2: `##` makes new words, as no rung does"),
    "a file behind a backslash and a blank": ('/* *\\ \n/ #include "/etc/passwd"\n/* */', "", "names no header of the ladder"),
    "to run when it is loaded, likewise": ("/* *\\ \n/ __attribute__((constructor)) static void f(void) {}\n/* */", "", "is no attribute of a rung's"),
    "a sign that goes between others": ('%extern "C":include "/etc/passwd"', "", "is a string, of which a rung has none"),
    "a word by its letters' numbers": ("int \\u0061sm;", "", "not judged: line 2: `\\` ends no line"),
    "to run when it is loaded": ("__attribute__((constructor)) static void f(void) {}", "", "is no attribute of a rung's"),
    "the same in a macro": ("#define R )\n#define L (\n#define C ,\nstatic __attribute__((aligned(16 R C constructor C aligned L 16))) int x;", "", "opens or closes a bracket without the other"),
    "the same in its argument": ("#define R )\n#define L (\n#define C ,\n#define AT(x) static __align__(x) int y;\nAT(16 R C constructor C aligned L 16)", "", "opens or closes a bracket without the other"),
    "the same by its name": ("void _init(void) {}", "", "not judged: line 2: `_init` is no word of a rung"),
    "a section": ('__attribute__((section("x"))) int x;', "", "is no attribute of a rung's"),
    "the judge's words": ("", "host_now.rolled = 0;", "`host_now` is no word of a rung"),
    "a process": ("int fork(void);", "fork();", "not judged: it does not compile as C: undefined reference to `fork'"),
    "a call of the system": ("long syscall(long, ...);", "syscall(57);", "not judged: it does not compile as C: undefined reference to `syscall'"),
    "memory of others": ("", "*(volatile int *)16 = 3;", "WRONG: at 48 x 48 x 48: work-item 0 of group (0, 0) writes memory outside of A, B, C and the tiles"),
    "to go where there is nothing": ("", "((void (*)(void))(long)0x12345678)();", "WRONG: it crashed: signal 11"),
    "a stack without end": ("int deep(int x) { volatile char a[4096]; a[0] = x; return deep(x + 1) + a[0]; }", "sum = deep(1);", "WRONG: it crashed: signal 11"),
    "time without end": ("", "for (;;);", "WRONG: it did not end: does each of its loops end? --deadline SECONDS waits longer"),
    "more than a file may have": ("char big[1L << 34] = {1};", "", "WRONG: it does not compile as C: "),
    "more memory than there is": ("char big[1L << 45];", "", "WRONG: it does not compile as C: "),
    "a vector of another type": ("", "float8 x; sum += 0;", "not judged: it says `float8`, which the judge does not know"),
    "a load that the judge has not": ("", "sum += 0 * vload4(0, a).x;", "not judged: it says `vload4`, which the judge does not know"),
    "two words of a vector at once": ("", "float4 v = (float4)(1); sum += 0 * v.xy.x;", "not judged: it says `.xy`, which the judge does not know"),
    "a struct": ("struct two { int x, y; };", "struct two t; t.x = 1;", "not judged: it says `struct`, which the judge does not know"),
    "C++": ("template <int N> int f() { return N; }", "", "not judged: it says `template`, which the judge does not know: it does not compile as C: "),
    "a message": ("#error mine", "", "WRONG: it does not compile as C: "),
    "a line that compilers end elsewhere": ("#define SECOND(x, y...) y\nSECOND(\n\r, __attribute__((constructor)) static void f(void) {}\n)", "", "`?` is no sign of a rung"),
    "the same behind a message": ("#error x\r__attribute__((constructor)) static void f(void) {}", "", "`?` is no sign of a rung"),
    "a blank that is a letter": ("\u00a0__attribute__((constructor)) static void f(void) {}", "", "is no sign of a rung"),
    "an attribute by other signs": ("[[gnu::constructor]] static void f(void) {}", "", "`[[` is no sign of a rung"),
    "a function that chooses itself": ('#define extern\n#define X 16), ifunc(extern "C"), aligned(16\nvoid f(void) __attribute__((aligned(X)));', "", "not judged: line 3: `define X 16)"),
    "not to be watched": ("#define MINE QUIET", "", "pass, r01_naive"),
    "headers without end": ('#include "rung.clh"\n' * 20, "", "not judged: it has more than 16 lines of #include"),
    "to speak in the judge's place": ("HOST_QUIET int f(void) { return 1; }", "", "`HOST_QUIET` is no word of a rung"),
    "nothing: a name with an underscore": ("", "int _row = 0; sum += _row;", "pass, r01_naive"),
    "nothing: the larger of two": ("", "sum = fmax(sum, sum);", "pass, r01_naive"),
    "nothing: a comment": ('/*\n#include "/etc/passwd" */ // \\\n#include "/etc/passwd"', "", "pass, r01_naive"),
    "nothing: the rung's own attributes": ("static inline __attribute__((always_inline)) int f(int x) { return x; }", "sum += 0 * f(1);", "pass, r01_naive"),
    "nothing: zeros, which a compiler calls memset for": ("", "float x[64] = {0}; sum += x[63];", "pass, r01_naive"),
}


@case
def a_text_that_asks_for_more():
    need_grade()
    os.mkdir("asks")
    for i, (top, body, _) in enumerate(ASKS.values()):
        with open(f"asks/{i:02}.cl", "w", encoding="utf-8", newline="") as file:
            file.write(naive(top, body))
    done = grade("asks", "--deadline", 1, status=1)
    lines = done.stdout.splitlines()
    assert len(lines) == len(ASKS) + 1, done.stdout
    for i, (what, (_, _, says)) in enumerate(ASKS.items()):
        assert lines[i].startswith(f"asks/{i:02}.cl: ") and says in lines[i], (what, lines[i])
        assert says.startswith("pass") or (": not judged: " in lines[i]) == (not says.startswith("WRONG")), (what, lines[i])


@case
def a_file_of_windows_and_of_cuda():
    """Ends of lines and marks as some editors set them; a tile that is none; C++, of which no compiler of C can judge."""
    need_grade()
    with open("lines.cl", "w", encoding="utf-8-sig", newline="\r\n") as file:
        file.write(naive())
    assert grade("lines.cl", status=0).stdout == "lines.cl: pass, r01_naive\n"
    text = changed("cuda", "r04_banks", ("    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];\n", ""), ('extern "C"', '__device__ float a_tile[TILE][TILE], b_tile[TILE][TILE];\nextern "C"'))
    write("common.cu", text)
    assert "stores into memory that all groups share: is a tile meant?" in grade("common.cu", status=1).stdout
    write("plus.cu", changed("cuda", "r04_banks", ("float sum = 0;", "float sum{0};")))
    assert grade("plus.cu", status=3).stdout.startswith("plus.cu: not judged: it does not compile as C: ")


@case
def a_rung_that_has_such_words_itself():
    """OpenCL's s2 has a line of assembler, which may stay, but in no other line."""
    need_grade()
    text = filled("s2_shared_a", "cl")
    line = next(x for x in text.splitlines() if "__asm__" in x)
    write("own.cl", text)
    write("other.cl", text.replace(line, line.replace("bar.warp.sync", "bar.arrive")))
    assert grade("own.cl", status=0).stdout == "own.cl: pass, s2_shared_a\n"
    assert "`__asm__` is no word of a rung" in grade("other.cl", status=3).stdout


def descendants(pid):
    """Processes whose parent is this one or one of its descendants."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    found = {pid}
    while more := {x for x, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def busy(processes):
    """Those that have used half a second of a processor: the endless kernel's."""
    found = set()
    for pid in processes:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                ticks = int(file.read().rsplit(")", 1)[1].split()[11])
        except OSError:
            continue
        found |= {pid} if ticks > os.sysconf("SC_CLK_TCK") / 2 else set()
    return found


@case
def a_busy_machine_decides_nothing():
    """More files at once than processors, whose kernels take a while each."""
    need_grade()
    os.mkdir("many")
    for i in range(8):
        write(f"many/{i}.cl", filled("r07_prefetch", "cl"))
    done = grade("many", "--threads", 8, "--deadline", 1, status=0)
    assert done.stdout.endswith("8 files: 8 pass, 0 wrong, 0 not judged\n"), done.stdout


@case
def stopped_it_leaves_nothing():
    need_grade()
    os.makedirs("tmp")
    write("endless.cl", naive(body="for (;;);"))
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 130)):
        program = subprocess.Popen([PROGRAM, "grade", "endless.cl", "--deadline", "100"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=clean_environment(TMPDIR=os.path.abspath("tmp")))
        until = time.monotonic() + 100
        while not (started := busy(descendants(program.pid))) and time.monotonic() < until:
            time.sleep(0.01)
        started = descendants(program.pid)
        program.send_signal(number)
        assert program.wait(timeout=100) == status and len(started) > 3 and os.listdir("tmp") == [], (number, started, os.listdir("tmp"))
        while any(os.path.exists(f"/proc/{x}") for x in started) and time.monotonic() < until:
            time.sleep(0.01)
        assert not any(os.path.exists(f"/proc/{x}") for x in started), started


if __name__ == "__main__":
    main()
