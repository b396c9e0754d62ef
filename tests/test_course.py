#!/usr/bin/python3 -B
"""test_course.py - docs/COURSE.md as its reader meets it: every command of its fenced blocks at small sizes, with the lines and the exit status that
it promises, its table of figures against the records, and what `ladder --rung FILE` must refuse or judge wrong.

    test_course.py [--list] [--full] [--only TEXT] [PROGRAM]
    test_course.py --figures         print the table between the page's markers

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. Needs nothing but Python 3. --full runs the page's commands of OpenCL on the
driver that is here, not on one that computes each kernel's product by plain loops.
"""
import json
import os
import re
import select
import signal
import subprocess
import sys

from support.course import changed, filled, need_lanes, write
from support.program import FAKE_OPENCL, PROGRAM, ROOT, called_now, clean_environment, measured, needs
from support.tap import CASES, Skip, case, main

FULL = "--full" in sys.argv
SMALL, THIN = 96, 512  # of --size, and with --skinny: of smaller operands the ladder makes thousands of sets, to fill the cache


def page():
    with open(os.path.join(ROOT, "docs", "COURSE.md"), encoding="utf-8") as file:
        return file.read()


# ---- running ----------------------------------------------------------------------------------------------------------

def shell(command, **env):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, env=clean_environment(**env))


def run(*words, **env):
    """Without a C compiler, which saves the time that judging accesses takes."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=600, env=clean_environment(**{"CC": "/nonexistent/cc", **env}))


def plain(text):
    return " ".join(text.split())


def on_opencl():
    """The environment of a command whose kernels are tested elsewhere: a driver compiles each for seconds."""
    if FULL:
        needs("opencl")
    return {} if FULL else FAKE_OPENCL


# ---- the page's commands ----------------------------------------------------------------------------------------------

def commands():
    """(command, [what it promises], mark of its fence) for each line of the page's fences in sh; one that stands there again adds its promises."""
    found = {}
    for mark, block in re.findall(r"^```sh *(.*?)\n(.*?)^```", page(), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("#> "):
                found[last][1].append(line[3:])
            elif line.strip():
                last = line
                found.setdefault(line, (line, [], mark))
    return found.values()


def promised(command, promises):
    """Run one command at small size, with one sample, and hold it to its promises."""
    most = THIN if "--skinny" in command else SMALL
    small = re.sub(r"--size (\d+)", lambda m: f"--size {min(int(m[1]), most)}", command)
    if "--gpu" not in small:
        small = small.replace("tilewright ladder ", "tilewright ladder --samples 1 ")
    env = on_opencl() if re.search(r"opencl|ladder .*\.cl|devices", small) and "explain" not in small else {}
    if "--engine opencl --binary" in small:
        needs("opencl")
    if re.search(r"explain \w+\.cl", small) or re.search(r"right, (but|and) |WRONG: at ", str(promises)):
        need_lanes()
    if " report " in small and run("report", "none", "-o", "none.html").returncode == 2:
        raise Skip("built without jansson")
    if "--tables" in small:
        env = {"OCL_ICD_VENDORS": "/nowhere"}  # test_explain.py lets them measure the device
    done = measured(lambda: shell(small, **env))
    output, statuses = done.stdout + done.stderr, {0}
    for promise in promises:
        if promise.startswith("exit "):
            statuses = {int(x) for x in re.findall(r"\d+", promise)}
        else:
            assert plain(promise) in plain(output), f"{small}\n{promise!r} is not in:\n{output}"
    assert done.returncode in statuses, f"{small}: exit {done.returncode}:\n{output}"


def add_commands():
    for command, promises, mark in commands():
        if mark == "":
            if command.startswith("build/"):
                CASES.append((command, lambda c=command, p=promises: promised(c, p)))
            continue
        def skip(why=mark):
            raise Skip({"gpu": "needs a CUDA GPU or its compiler", "setup": "sets the course up"}[why])
        CASES.append((command, skip))


def prepare():
    """The clone's folders as the commands name them, and the files that its sed and cp lines make: each must change something."""
    os.mkdir("build")
    os.symlink(PROGRAM, "build/tilewright")
    for folder in ("kernels", "exercises", "results"):
        os.symlink(os.path.join(ROOT, folder), folder)
    for command, _, mark in commands():
        if mark != "" or command.startswith("build/"):
            continue
        done = shell(command)
        assert done.returncode == 0, (command, done.stderr)
        source, made = re.findall(r"[\w/]+\.cl", command)
        with open(source, encoding="utf-8") as old, open(made, encoding="utf-8") as new:
            assert command.startswith("cp ") or old.read() != new.read(), f"{command}: nothing was changed"


# ---- the page's figures -----------------------------------------------------------------------------------------------

BEGIN, END = "<!-- figures: tests/test_course.py --figures makes them from results/ -->\n", "<!-- end of the figures -->"


def records(name):
    with open(os.path.join(ROOT, "results", "nvidia-h200", name + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def figures():
    """The table: CUDA's rungs at 4096, tile 16 where there is a choice, beside the counters and the CPU's rungs."""
    rows = ["| rung | GFLOP/s | default build | flop/byte asked | sectors per load | wavefronts per shared load | per shared store | CPU, GFLOP/s |",
            "|---|---:|---:|---:|---:|---:|---:|---:|"]
    ladder = [r for r in records("ladder-4096") if r["engine"] == "cuda"]
    counted = {r["rung"]: r for r in reversed(records("counters-4096")) if r["tile"] in (0, 16)}
    cpu = {r["rung"]: r["gflops"] for r in records("ladder-cpu-1024") if r["threads"] == 1}
    for r in ladder:
        if r["build"] == "default":
            continue
        other = next((x["gflops"] for x in ladder if x["rung"] == r["rung"] and x["build"] == "default"), None)
        c = counted.get("sgemm_simt" if r["rung"] == "r14_peak" else r["rung"], {})
        name = called_now(r) + ("" if r["dtype"] == "f32" else " " + r["dtype"])
        rows.append(f"| {name} | {r['gflops']:.0f} | {number(other, 0)} | {2 * r['m'] * r['n'] * r['k'] / r['bytes_asked']:.3g} | "
                    f"{number(c.get('sectors_per_load'), 1)} | {number(c.get('bank_degree_load'), 1)} | {number(c.get('bank_degree_store'), 1)} | "
                    f"{number(cpu.get(r['rung']), 1)} |")
    return "\n" + "\n".join(rows) + "\n\n"


@case
def the_figures_are_the_records():
    found = page().split(BEGIN)[1].split(END)[0]
    assert found == figures(), f"docs/COURSE.md has\n{found}\nthe records say\n{figures()}"


@case
def the_factors_told_are_the_records():
    """The page's words on an H200, each with the figure in its place."""
    speed = {(r["rung"], r["build"]): r["gflops"] for r in records("ladder-4096") if r["engine"] == "cuda"}
    rolled, default = (lambda rung: speed[rung, "rolled"]), (lambda rung: speed[rung, "default"])
    peak = max(r["peak_gflops"] for r in records("ladder-4096") if r["engine"] == "cuda" and r["rung"] == "r01_naive")
    thin = [r["effective_gbps"] for r in records("skinny-4096") if r["engine"] == "cuda" and r["k"] == 16]
    told = [
        f"peak {peak / 1e3:.0f} TFLOP/s",
        f"does {rolled('r01_naive') / 1e3:.1f} TFLOP/s, {100 * rolled('r01_naive') / peak:.1f} % of its peak",
        f"Unrolled by the compiler it does {default('r01_naive') / 1e3:.1f} (column",
        f"even slower, {default('r02_tiled') / 1e3:.1f} against {default('r01_naive') / 1e3:.1f}",
        f"r02 is {rolled('r02_tiled') / rolled('r01_naive'):.1f} times as fast as r01",
        f"r03 is **slower** than r02, by {rolled('r02_tiled') / rolled('r03_coalesced'):.1f}",
        f"is {rolled('r04_banks') / rolled('r03_coalesced'):.1f} times as fast as r03",
        f"stands at {100 * rolled('r04_banks') / peak:.0f} % of the H200's peak",
        f"{rolled('r05_outer') / rolled('r04_banks'):.1f} on an H200 ({default('r05_outer') / default('r04_banks'):.1f} between the default builds)",
        f"r12 reaches {100 * speed['r12_async', None] / peak:.0f} % of the multiply-add peak",
        "an H200 has {}, {} and {} GB/s".format(*(int(float(f"{x:.3g}")) for x in thin)),
        f"sectors and caches have left {thin[1] / thin[0]:.2f} of it",
        f"and {thin[2] / thin[1]:.1f} of it is still there",
    ]
    for words in told:
        assert words in plain(page()), f"docs/COURSE.md does not say {words!r}"


@case
def the_inner_loops_told_are_the_disassembly():
    """The page's numbers, those of the model of instructions (course/access/predict.c), and, where NVRTC is, the PTX, or with nvdisasm the machine code."""
    words = re.search(r"inner step of r04 is (\d+) instructions of which (one) multiplies; r05 has (\d+) in (\d+), of which PTX writes (\d+)\.", plain(page()))
    assert words, "docs/COURSE.md does not say what the inner steps of r04 and r05 are"
    told = {"r04": (int(words[1]), 1), "r05": (int(words[4]), int(words[3]))}
    in_ptx = {**told, "r05": (int(words[5]), int(words[3]))}
    with open(os.path.join(ROOT, "course", "access", "predict.c"), encoding="utf-8") as file:
        model = re.search(r"r04's inner loop has as many \((\d+) with (\d+) multiply-add\), r05's one more \((\d+) with (\d+)\)", plain(re.sub(r"\n \*", "\n", file.read())))
    assert model and {"r04": (int(model[1]), int(model[2])), "r05": (int(model[3]), int(model[4]))} == told, (model, told)
    for rung, numbers in told.items():
        done = run("explain", rung, "--engine", "cuda", "--binary", "--gpu", "P100", "--json", "-")
        record = json.loads(done.stdout)
        if not record["binary"]:
            raise Skip("no NVRTC is here")
        shown = numbers if record["binary"] == "sass" else in_ptx[rung]
        assert (record["loop_instructions"], record["loop_multiply_adds"]) == shown, (rung, record, done.stderr)


# ---- a file of the reader's own ---------------------------------------------------------------------------------------

EXERCISES = ("r01_naive", "r02_tiled", "r03_coalesced", "r04_banks", "r04d_divergence", "r05_outer", "r06_unrolled", "r07_prefetch", "r08_coarsened", "r09_wide", "r10_register", "r11_warp", "s2_shared_a", "s3_shared_ab")


def solution():
    return filled("r01_naive", "cl"), filled("r01_naive", "cu")


def code(text):
    """Without comments, attributes of layout and blanks."""
    return re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


@case
def the_solution_is_r01():
    """In the table, the records and the page, where its label stands as it is."""
    needs("opencl")
    done = run("ladder", "--rung", write("filled_<b>.cl", solution()[0]), "--shape", "65x37x41", "--json", "filled.jsonl", "--html", "filled.html")
    assert done.returncode == 0, done.stderr
    with open("filled.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert [r["rung"] for r in rows] == ["r01_naive", "r01_naive", "own:filled_<b>.cl", "own:filled_<b>.cl"], rows
    assert all(r["verified"] == "exact+bound" for r in rows), rows
    assert [r["build"] for r in rows] == ["rolled", "default"] * 2, rows
    assert done.stdout.count("  its accesses were not judged: CC names no C compiler that is here\n") == 1, done.stdout
    with open("filled.html", encoding="utf-8") as file:
        text = file.read()
    assert "own:filled_&lt;b&gt;.cl" in text and "filled_<b>" not in text.split("<script")[0]


@case
def a_filled_exercise_is_its_rung():
    for rung in EXERCISES:
        for ending, engine in (("cl", "opencl"), ("cu", "cuda")):
            with open(os.path.join(ROOT, "kernels", engine, "ladder", f"{rung}.{ending}"), encoding="utf-8") as file:
                whole = code(file.read().replace('#include "../', '#include "'))
            assert code(filled(rung, ending)) == whole, (rung, ending)


@case
def a_gap_filled_wrongly_is_wrong():
    """Of the exercises that COURSE.md does not run: a tile left out, columns and rows that are another's. Filled rightly they are their rungs.
    Without --full, of r10 and s3 alone."""
    needs("opencl")
    mistakes = {"r04d_divergence": ("GAP_5", "whole + 1"), "r08_coarsened": ("GAP_5", "q"), "r09_wide": ("GAP_6", "next.x"),
                "r10_register": ("GAP_9", "ty * 8 + i"), "r11_warp": ("GAP_8", "b_at + 4")}
    files = [write(f"{rung}.cl", filled(rung, "cl", {gap: words})) for rung, (gap, words) in mistakes.items() if FULL or rung == "r10_register"]
    skinny = write("s3_shared_ab.cl", filled("s3_shared_ab", "cl", {"GAP_5": "b_tile[tx][p]"}))
    for told, shape in ((files, "64x64x64"), ([skinny], "64x64x16")):
        done = run("ladder", "--rung", ",".join(told), "--shape", shape, "--samples", 1)
        assert done.returncode == 1, (done.returncode, done.stderr)
        for file in told:
            row = next(x for x in done.stdout.splitlines() if x.startswith("own:" + file))
            assert "WRONG: " in row, row


@case
def a_file_and_its_rung_are_timed_in_turns():
    """What multiplies by nothing twenty times more is slower whatever else the machine does; a copy is told with its spread."""
    needs("opencl")
    text, told = solution()[0], r"launched like r01_naive: (no clear difference: )?(\S+) times its speed, (\S+) to (\S+) in the middle two thirds of (\d+) rounds"
    loop = re.search(r"for \(int p = 0; p < k; p\+\+\) sum = [^;]+;", text)[0]
    write("copy.cl", text)
    write("slow.cl", text.replace(loop, "for (int again = 0; again < 20; again++) for (int p = 0; p < k; p++) sum = fma(A(i, p), again == 0 ? B(p, j) : 0.0f, sum);"))
    done = run("ladder", "--rung", "copy.cl,slow.cl", "--size", 64, "--samples", 7, "--json", "turns.jsonl")
    assert done.returncode == 0, done.stderr
    found = [x for x in re.findall(told, done.stdout)]
    assert len(found) == 4, done.stdout  # each file in both builds
    for same, speed, low, high, turns in found:
        assert float(low) <= float(speed) <= float(high) and turns == "7", found
        rounded = 1 in (float(low), float(high)) or float(speed) in (0.98, 1.02)  # to three digits: either may be meant
        assert rounded or bool(same) == (float(low) <= 1 <= float(high) or 0.98 < float(speed) < 1.02), found
    assert [float(speed) < 0.5 and not same for same, speed, *_ in found][2:] == [True, True], found
    rows = [x.split() for x in done.stdout.splitlines() if re.match(r"(own:| +default build).*%", x)]
    assert ["same" in row for row in rows[1:]] == [bool(same) for same, *_ in found], done.stdout
    with open("turns.jsonl", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    assert [r["rung"] for r in records] == [x for x in ("r01_naive", "own:copy.cl", "own:slow.cl") for _ in range(2)], records
    assert {r["samples"] for r in records} == {7}, records


@case
def what_does_not_compile_is_refused_before_anything_is_timed():
    needs("opencl")
    broken = write("broken.cl", solution()[0].replace("float sum", "nonsense float sum").replace("r01_naive(", "r05_mine("))
    done = run("ladder", "--rung", "r01,r04," + broken, "--size", 32, "--json", "none.jsonl", "--html", "none.html")
    assert done.returncode == 4 and "broken.cl" in done.stderr, (done.returncode, done.stderr)
    assert "r01_naive" not in done.stdout and not os.path.exists("none.jsonl") and not os.path.exists("none.html"), done.stdout


@case
def without_a_compiler_the_oracles_judge_alone():
    """A wrong subscript, a step too few, a guard that lets nobody in: each is judged on the device and refused a time. No guard of the columns, or
    rows and columns of groups exchanged, are right at 48 x 48: each is judged at an uneven shape too."""
    needs("opencl")
    text = solution()[0]
    swapped = text.replace("get_group_id(1)", "group_9").replace("get_group_id(0)", "get_group_id(1)").replace("group_9", "get_group_id(0)")
    element = r"C\[\d+, \d+\] is \S+, expected"
    wrong = {"row.cl": (text.replace("get_group_id(1) * TILE + get_local_id(1)", "get_group_id(1) * TILE + get_local_id(0)"), element),
             "steps.cl": (text.replace("p < k;", "p < k - 1;"), element + r".*\. At 96 x 96 x 96: the last of the 96 products of each sum is missing"),
             "nobody.cl": (text.replace("i >= m || j >= n", "true"), element + r".*\. At 96 x 96 x 96: all of C is still NaN: not written, or computed from what must not be read \(C where beta is 0, or beyond A and B\)"),
             "columns.cl": (text.replace("i >= m || j >= n", "i >= m"), "at 45 x 77 x 33: "),
             "groups.cl": (swapped, "at 45 x 77 x 33: ")}
    assert all(changed != text for changed, _ in wrong.values())
    # one thread: with two a group may store beyond its row before the row's owner does, which hides that its guard is missing
    one_thread = {"POCL_MAX_PTHREAD_COUNT": "1"}
    done = run("ladder", "--rung", ",".join(write(name, changed) for name, (changed, _) in wrong.items()), "--size", 48, **one_thread)
    assert done.returncode == 1, (done.returncode, done.stderr)
    for name, (_, says) in wrong.items():
        row = [x for x in done.stdout.splitlines() if x.startswith("own:" + name)][0]
        assert re.search("WRONG: .*" + says, row), (name, row)


@case
def a_mistake_on_transposed_operands_alone_is_named():
    needs("opencl")
    text = solution()[0]
    assert text.count("fma(A(i, p)") == 1
    done = run("ladder", "--rung", write("raw.cl", text.replace("fma(A(i, p)", "fma(a[(long)i * lda + p]")), "--size", 48, "--transpose-a")
    assert done.returncode == 1 and "At 96 x 96 x 96: C is the transpose of A times B: row and column of A are exchanged" in done.stdout, done.stdout


@case
def what_does_not_compile_is_told_with_the_files_own_lines():
    needs("opencl")
    lines = solution()[0].splitlines(keepends=True)
    at = next(i for i, x in enumerate(lines) if "float sum" in x)
    lines.insert(at, "    nonsense here;\n")
    done = run("ladder", "--rung", write("a \"name\".cl", "".join(lines)), "--size", 16)
    assert done.returncode == 4, (done.returncode, done.stderr)
    assert f"a \"name\".cl:{at + 1}:" in done.stderr, done.stderr
    assert done.stderr.count("\n") > 1 and "?" not in done.stderr, done.stderr


@case
def a_changed_file_and_one_of_its_name_are_other_kernels():
    """Same name, same options: the kept kernel of another text must not be run."""
    needs("opencl")
    right = solution()[0]
    wrong = right.replace("p < k;", "p < k - 1;")
    done = run("ladder", "--rung", write("same.cl", right), "--size", SMALL, "--samples", 1)
    assert done.returncode == 0, (done.returncode, done.stderr)
    os.makedirs("two", exist_ok=True)
    write("same.cl", wrong), write("two/same.cl", right)
    done = run("ladder", "--rung", "same.cl,two/same.cl", "--size", SMALL, "--samples", 1)
    rows = [x for x in done.stdout.splitlines() if x.startswith(("own:same.cl  ", "own:same.cl#2  "))]
    assert done.returncode == 1 and len(rows) >= 2 and "WRONG" in rows[0] and "WRONG" not in rows[1], done.stdout


@case
def a_copy_is_launched_like_the_rung_whose_name_it_bears():
    """Groups of other shapes than r01's; the other names are in tests/test_judge.c."""
    needs("opencl")
    for path, old, new, like, env in (("ladder/r05_outer.cl", "r05_outer", "r05_mine", "r05_outer", {}),
                                      ("sgemm_simt.cl", "sgemm_simt", "r14_mine", "sgemm_simt_128x128", on_opencl())):
        with open(os.path.join(ROOT, "kernels", "opencl", path), encoding="utf-8") as file:
            write(f"{new}.cl", file.read().replace(f"void {old}(", f"void {new}("))
        done = run("ladder", "--rung", f"{new}.cl", "--size", SMALL, "--samples", 1, **env)
        assert done.returncode == 0, done.stderr
        assert f"launched like {like}" in done.stdout and re.search(f"^{like} ", done.stdout, re.M), (like, done.stdout)


def refused(status, *words, says):
    done = run(*words)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    assert done.stderr.startswith(f"tilewright: {words[0]}: ") and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr, (says, done.stderr)


@case
def files_that_are_no_kernel():
    text = solution()[0]
    kernel = "__kernel void r01_naive(PARAMETERS) {}\n"
    hostile = {
        "empty.cl": ("", "is empty"),
        "huge.cl": (kernel + "/" * (1 << 18), "longer than the 262144 bytes"),
        "binary.cl": (kernel + "\0", "byte 39 is 0"),
        "prose.cl": ("/* __kernel void r01_naive(PARAMETERS) */ \"__kernel\"", "no function is marked __kernel"),
        "two.cl": (kernel + kernel, "line 2: found a second kernel"),
        "parameters.cl": (text.replace("(PARAMETERS)", "(int m)"), "the parameters of r01_naive are not the ladder's, expected r01_naive(PARAMETERS)"),
        "alone.cl": (kernel, "found no #include \"rung.clh\""),
        "nameless.cl": ("\n__kernel void (PARAMETERS) {}", "line 2: found no name"),
        "long.cl": (kernel.replace("r01_naive", "x" * 64), "found no name of at most 63 letters"),
        "cut.cl": ("__kernel void __attribute__((((", "found no name"),
        "valueless.cl": ("__kernel r01_naive(PARAMETERS)", "found no `void"),
        "language.cu": (text, "no function is marked __global__"),
        "no.c": (text, "expected .cl or .cu"),
    }
    for name, (content, says) in hostile.items():
        refused(6, "ladder", "--rung", "./" + write(name, content), says=says)
    os.makedirs("folder.cl", exist_ok=True)
    refused(6, "ladder", "--rung", "folder.cl", says="folder.cl: cannot be read: Is a directory")
    refused(6, "ladder", "--rung", "none.cl", says="none.cl: cannot be opened")
    refused(6, "ladder", "--rung", "r01,none.cu", says="none.cu: cannot be opened")
    refused(2, "ladder", "--rung", "a" * 300 + ".cl", says="--rung: found")


@case
def command_lines_that_do_not_fit_a_file():
    path = write("fits.cl", solution()[0])
    refused(2, "ladder", "--skinny", "--rung", path, says="--skinny takes no file")
    refused(3, "ladder", "--engine", "cpu", "--rung", path, says="the cpu engine has none of these rungs")
    needs("opencl")
    refused(2, "ladder", "--dtype", "f64", "--rung", path, says="is a kernel of f32")
    outer = write("outer.cl", solution()[0].replace("r01_naive(", "r05_naive("))
    refused(2, "ladder", "--tile", "16", "--rung", outer, says="r05_outer, which has no tile edge to choose")


@case
def a_kernel_that_cannot_be_launched():
    needs("opencl")
    done = run("ladder", "--rung", write("group.cl", solution()[0].replace("(TILE, TILE, 1)", "(TILE, 2, 1)")), "--size", 16)
    assert done.returncode == 8 and "group.cl, launched like r01_naive: clEnqueueNDRangeKernel failed" in done.stderr, done.stderr


@case
def a_kernel_that_leaves_its_memory():
    """Where the device is the CPU itself, a fault ends the program with a sentence, and no half page or record stays."""
    needs("opencl")
    path = write("far.cl", solution()[0].replace("&C(i, j)", "&c[(long)1 << 44]"))
    done = run("ladder", "--rung", path, "--size", 16, "--html", "far.html")
    if done.returncode == 1 or "failed" in done.stderr:
        raise Skip("the device bears it")
    assert done.returncode == 8, (done.returncode, done.stderr)
    assert "far.cl: the kernel touched memory that is not its own" in done.stderr, done.stderr
    assert not [x for x in os.listdir(".") if x.startswith(("far.html", ".far"))], os.listdir(".")


# ---- what a file asks of memory -----------------------------------------------------------------------------------------

def judged(*words, **env):
    """As run(), with the compiler that is here; nothing may be left in TMPDIR, whose name is a trap for shells."""
    os.makedirs("t m';$(touch trap)", exist_ok=True)
    done = run(*words, CC=env.pop("CC", ""), TMPDIR=os.path.abspath("t m';$(touch trap)"), **env)
    assert os.listdir("t m';$(touch trap)") == [] and not os.path.exists("trap"), os.listdir(".")
    return done


CONFLICT = (" b_tile[ty][tx] = b_p", " b_tile[tx][ty] = b_p"), ("b_tile[p][tx], sum", "b_tile[tx][p], sum")


@case
def explain_sees_what_a_file_asks():
    need_lanes()
    for engine, ending in (("opencl", "cl"), ("cuda", "cu")):
        done = judged("explain", write("banked." + ending, changed(engine, "r04_banks", *CONFLICT)), "--json", "-")
        found = json.loads(done.stdout)
        assert done.returncode == 1 and done.stdout.count("\n") == 1, (done.stdout, done.stderr)
        assert (found["engine"], found["launched_like"], found["tile"], found["k"], found["differences"]) == (engine, "r04_banks", 16, 48, 2), found
        assert [found[x + "read_of_b_tile_wavefronts"] for x in ("", "rung_")] == [8, 1] and found["load_of_b_sectors"] == 4, found
        for line in ("store of B's tile takes", "read of B's tile takes"):
            assert f"\nright, but {line} 8 wavefronts a request where r04_banks takes 1: bank conflict\n" in done.stderr, done.stderr
    same = judged("explain", write("same.cl", changed("opencl", "r05_outer")))
    assert same.returncode == 0 and same.stdout.endswith("\nright, and its accesses are those of r05_outer\n"), (same.stdout, same.stderr)
    uneven = judged("explain", write("uneven.cl", changed("opencl", "r04_banks", ("float sum = 0;", "float sum = 0 * A(tx, 0);"))))
    assert "\nright, but load of A asks 16 sectors a request where r04_banks asks 4, in 8 of 32 requests: uncoalesced\n" in uneven.stdout and "   8 of 32 requests; others less\n" in uneven.stdout, (uneven.stdout, uneven.stderr)
    tiled = judged("explain", write("tiled.cl", changed("opencl", "r03_coalesced", ("void r03_coalesced(", "void r01_tiled("))))
    for line in ("load of A asks 4 sectors a request where r01_naive asks 2: uncoalesced", "read of B's tile happens 48 times per thread, in r01_naive never; with bank conflicts",
                 "a work-item meets 6 barriers where r01_naive meets 0"):
        assert f"\nright, but {line}\n" in tiled.stdout, tiled.stdout
    assert tiled.returncode == 1 and tiled.stderr == "tilewright: explain: tiled.cl asks more of memory than r01_naive, whose name it bears\n", tiled
    other = judged("explain", write("other.cl", changed("opencl", "r03_coalesced", ("void r03_coalesced(", "void mine("))))
    assert other.returncode == 0 and "right, but load of A asks 4 sectors" in other.stdout and other.stderr == "", other


@case
def explain_says_why_a_file_cannot_be_seen():
    need_lanes()
    text = changed("opencl", "r04_banks")
    line = 1 + text[:text.index("float sum")].count("\n")
    files = {"word.cl": (text.replace("float sum", "nonsense sum"), 4, f"word.cl:{line}:"), "trap.cl": (text.replace("float sum = 0;", "float sum = 0; __builtin_trap();"), 8, "crashed: signal "),
             "far.cl": (text.replace("&C(i, j)", "&c[(long)1 << 44]"), 1, "writes memory outside of A, B, C and the tiles"), "empty.cl": ("", 6, "is empty"),
             "wrong.cl": (text.replace("p < TILE", "p < TILE - 1"), 1, "launched like r04_banks: at 48 x 48 x 48: in each tile of 16, the last product is missing; C[0, 0] is ")}
    for name, (content, status, says) in files.items():
        done = judged("explain", write(name, content))
        assert done.returncode == status and says in done.stderr and done.stdout == "" and done.stderr.count("\n") == 1, (name, done.returncode, done.stdout, done.stderr)
    path = write("fine.cl", text)
    for env, says in (({"PATH": ""}, "no C compiler is here"), ({"CC": "/nonexistent/cc -O0"}, "CC names no C compiler that is here")):
        done = judged("explain", path, "--json", "-", **env)
        assert done.returncode == 4 and says in done.stderr and says in json.loads(done.stdout)["no_model"], (done.stdout, done.stderr)
    outer = write("outer.cl", changed("opencl", "r05_outer"))
    shown = judged("explain", path, "--binary", "--json", "-")
    record = json.loads(shown.stdout)
    found = record["binary"] is not None
    assert shown.returncode == 0 and "In the binary" in shown.stderr and found == (record["loop_multiply_adds"] is not None) == ("the innermost loop" in shown.stderr), shown
    for words, says in (((path, "--gpu", "H200"), "a file takes --tile, --deadline, --binary and --json"), ((path, "--tile", "64"), "a GPU rung takes 8, 16 or 32"), ((outer, "--tile", "16"), "r05_outer, which has no tile edge to choose")):
        done = judged("explain", *words)
        assert done.returncode == 2 and says in done.stderr, (words, done.stderr)


@case
def a_kernel_that_does_not_end_is_given_up():
    path = write("endless.cl", changed("opencl", "r04_banks", ("float sum = 0;", "float sum = 0; volatile int on = 1; while (on) sum += 1;")))
    refused(2, "ladder", "--rung", "r04", "--deadline", "1", says="--deadline needs a file in --rung")
    refused(2, "explain", "r04", "--deadline", "1", says="--deadline needs a file: a rung is explained without running it")
    try:
        need_lanes()
        done = judged("explain", path, "--deadline", "1")
        assert done.returncode == 8 and "did not answer within 1 s" in done.stderr and "--deadline SECONDS" in done.stderr, (done.returncode, done.stderr)
    finally:
        needs("opencl")
        done = run("ladder", "--rung", path, "--size", 16, "--deadline", "1", "--html", "endless.html")
        # a busy machine takes more than a second to compile it
        assert done.returncode == 8 and re.search("endless.cl: the kernel did not (end|compile) within 1 s", done.stderr) and "--deadline SECONDS" in done.stderr, (done.returncode, done.stderr)
        assert not [x for x in os.listdir(".") if x.startswith(("endless.html", ".endless"))], os.listdir(".")


def left_behind(text, stopped_by=0, **env):
    """The program's exit status, and whether a process of it is left: each would hold the pipe's other end, into which PIPE of the text writes."""
    reading, writing = os.pipe()
    path = write("starts.cl", text.replace("PIPE", str(writing)))
    program = subprocess.Popen([PROGRAM, "explain", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[writing], env=clean_environment(**env))
    os.close(writing)
    if stopped_by:
        assert os.read(reading, 1) == b"x"
        program.send_signal(stopped_by)
    status = program.wait(timeout=600)
    left = not select.select([reading], [], [], 60 if stopped_by == signal.SIGKILL else 0)[0]
    os.close(reading)
    return status, left


@case
def what_a_file_starts_does_not_outlive_the_command():
    """Children in sessions of their own: of the kernel as it runs work-item by work-item, also when the program is stopped or killed, and of the
    compiler."""
    need_lanes()
    text = changed("opencl", "r04_banks", ("__kernel", "int fork(void); int setsid(void); int pause(void); long write(int, const void *, unsigned long);\n__kernel"),
                   ("float sum = 0;", "float sum = 0; if (tx + ty + get_group_id(0) == 0 && fork() == 0) { setsid(); if (fork() == 0) setsid(); TELL; for (;;) pause(); } THEN;"))
    assert left_behind(text.replace("TELL", "").replace("THEN", "")) == (0, False)
    endless = text.replace("TELL", 'write(PIPE, "x", 1)').replace("THEN", "for (;;) pause()")
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
        assert left_behind(endless, number) == (status, False), number
    compiler = write("compiler", '#!/bin/sh\nsetsid sleep 1000 >/dev/null 2>&1 &\nexec cc "$@"\n')
    os.chmod(compiler, 0o755)
    assert left_behind(changed("opencl", "r04_banks"), CC=os.path.abspath(compiler)) == (0, False)


@case
def hostile_names_of_files_are_names():
    need_lanes()
    text = changed("opencl", "r04_banks", *CONFLICT)
    for name in ("a \"b\" 'c';$(touch trap) `touch trap` %s\\.cl", "./-o.cl", "line\nbreak\t\x1b[31m.cl"):
        done = judged("explain", write(name, text))
        assert done.returncode == 1 and "takes 8 wavefronts" in done.stdout and "\x1b" not in done.stdout, (name, done.stdout, done.stderr)
        done = judged("explain", write(name, text.replace("float sum", "nonsense sum")))
        assert done.returncode == 4 and done.stderr.count("\n") == 1 and "\x1b" not in done.stderr, (name, done.returncode, done.stderr)


@case
def the_ladder_judges_the_accesses_of_a_file():
    need_lanes()
    env = on_opencl()
    write("banked.cl", changed("opencl", "r04_banks", *CONFLICT))
    write("vector.cl", changed("opencl", "r04_banks", ("float sum = 0;", "float2 sums = 0; float sum = sums.x;")))
    done = judged("ladder", "--samples", 1, "--rung", "banked.cl,vector.cl", "--tile", "16,32", "--size", SMALL, **env)
    told = [x.strip() for x in done.stdout.splitlines() if re.match(r"  (right,|its accesses)", x)]
    expected = []
    for most in (8, 32):
        expected += [f"right, but {what} of B's tile takes {most} wavefronts a request where r04_banks takes 1: bank conflict" for what in ("store", "read")]
        expected += ["its accesses were not judged: it does not compile as C: "]
    assert done.returncode == 1 and len(told) == 6 and all(x.startswith(y) for x, y in zip(told, expected)), (done.stdout, done.stderr)


@case
def one_judge_behind_both_commands():
    """What explain says of a file ladder says too, with the same exit status, and gives what is wrong no time; the table of such mistakes is tests/test_judge.c."""
    need_lanes()
    env = on_opencl()
    wrong = {"groups.cl": changed("opencl", "r01_naive", ("get_group_id(1)", "group_9"), ("get_group_id(0)", "get_group_id(1)"), ("group_9", "get_group_id(0)")),
             "race.cl": filled("r02_tiled", "cl", {"GAP_5": ""}),
             "ldb.cl": filled("r05_outer", "cl", {"GAP_4": "ldb"})}
    costly = {"rolled.cl": filled("r06_unrolled", "cl", {"GAP_2": "ROLLED"})}
    told = {}
    for name, text in {**wrong, **costly}.items():
        done = judged("explain", write(name, text))
        says = rf", launched like \w+: (.+?) \(`ladder --rung {name}` times it once it is right\)" if name in wrong else "() asks more of memory than r06_unrolled, whose name it bears"
        assert done.returncode == 1 and re.fullmatch(f"tilewright: explain: {name}{says}\n", done.stderr), (name, done)
        told[name] = re.fullmatch(f"tilewright: explain: {name}{says}\n", done.stderr)[1] or re.search("^right, but .+", done.stdout, re.M)[0]
    assert judged("explain", write("right.cl", filled("r07_prefetch", "cl"))).returncode == 0
    done = judged("ladder", "--samples", 1, "--size", SMALL, "--rung", ",".join([*told, "right.cl"]), **env)
    assert done.returncode == 1 and "\n  right, and its accesses are those of r07_prefetch\n" in done.stdout and "right.cl" not in done.stderr, done
    for name in wrong:
        assert f"WRONG: {told[name]}\n" in done.stdout and told[name] not in done.stderr, (name, told[name], done.stdout, done.stderr)
    for name in costly:
        assert f"\n  {told[name]}\n" in done.stdout and f": {name} asks more of memory" in done.stderr, (name, told[name], done.stdout)
    assert "6 of 16 rows are wrong and not timed, as said in the table; the others were verified" in done.stderr, done.stderr


@case
def each_mistake_to_be_found_is_named():
    """By the judge of accesses, in a sentence that the reader can follow to the answer; the puzzle passes with its solution alone."""
    need_lanes()
    named = {"bug1": "no barrier stands between the reads of a tile and the next stores into it", "bug2": "is a guard missing?", "bug3": "with B transposed",
             "bug4": "no barrier stands between the reads of a tile and the next stores into it", "bug5": "a step of k too many, or is a guard missing?",
             "bug6": "right, but load of B asks 16 sectors a request where r08_coarsened asks 4: uncoalesced"}
    for name, says in named.items():
        for ending in ("cl", "cu"):
            done = judged("explain", os.path.join(ROOT, "exercises", f"{name}.{ending}"))
            assert done.returncode == 1 and says in done.stdout + done.stderr, (name, ending, done)
    with open(os.path.join(ROOT, "exercises", "swizzle.cl"), encoding="utf-8") as file:
        unplaced = file.read().replace("GAP_1", "ty").replace("GAP_2", "p")
    done = judged("explain", write("unplaced.cl", unplaced))
    assert done.returncode == 1 and "right, but store of B's tile takes 8 wavefronts" in done.stdout, done
    for ending in ("cl", "cu"):
        assert judged("explain", write(f"placed.{ending}", filled("swizzle", ending))).returncode == 0, ending


if __name__ == "__main__":
    if "--figures" in sys.argv:
        sys.exit(print(figures(), end=""))
    add_commands()
    main(prepare)
