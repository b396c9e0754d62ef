#!/usr/bin/python3 -B
"""test_pages.py - the pages are true: every link leads somewhere, and every command in a fence of `sh` is one that runs.

    test_pages.py [--list] [--only TEXT] [PROGRAM]

PROGRAM is the path of the program ($TILEWRIGHT without it). Prints TAP. docs/COURSE.md's commands are test_course.py's, C examples test_install.sh's.

A line that begins with build/tilewright runs at small sizes, with one sample, and ends with status 0, or N where its comment says `exit status N`. What
names no file and stands on another page too, docs/COURSE.md among them, runs there alone. One that needs a
GPU or other libraries, a set of shapes, or the user's tuned rows, is read by the program to the end and not run: `--help` behind it. So does a line of /usr/bin/python3. Of other
commands the tests hold the options of ./dev and each file of the tree that is named.
"""
import os
import re
import shlex
import subprocess
import sys

from support.program import PROGRAM, ROOT, clean_environment, measured, run
from support.tap import CASES, Skip, main

sys.path.insert(0, os.path.join(ROOT, "tools"))
import check_docs  # noqa: E402

SMALL = 64
UNRUN = re.compile(r"--(against|set|html|skinny|deep)\b|--engine \S*(cuda|opencl|all)|cublas|tilewright tune\b")
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
ALONE = re.compile(r"build/tilewright [^./]*")  # names no file: what it says is the same on every page
COMMENT = re.compile(r"(?:^|\s)#(?!>)\s.*$")


def tracked(*patterns):
    done = subprocess.run(["git", "-C", ROOT, "ls-files", *patterns], capture_output=True, text=True)
    if done.returncode:
        raise Skip("the tree is not a clone")
    return done.stdout.split()


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def pages():
    return [os.path.relpath(os.path.join(folder, name), ROOT) for top in (".", "docs", "examples") for folder, _, names in os.walk(os.path.join(ROOT, top))
            for name in sorted(names) if name.endswith(".md") and (top != "." or os.path.samefile(folder, ROOT))]


def prose(text):
    """The page without its fences and its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(name):
    """A heading's anchor is its words in small letters, joined by hyphens; the second of a name ends in -1."""
    text, found = read(name), set()
    for heading in re.findall(r"^#+ +(.*?)\s*#*$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = base = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        again = 0
        while slug in found:
            again += 1
            slug = f"{base}-{again}"
        found.add(slug)
    return found | set(ANCHOR.findall(text))


def lost(target, folder, said):
    """Why a target does not exist, seen from a folder; None if it does."""
    path, _, anchor = target.partition("#")
    name = os.path.normpath(os.path.join(folder, path)) if path else said
    if not os.path.exists(os.path.join(ROOT, name)):
        return f"{said}: {target}: no such file"
    if anchor and name.endswith(".md") and anchor not in anchors(name):
        return f"{said}: {target}: {name} has no such heading"
    return None


def links_of(page):
    found = re.findall(r"\]\(([^)\s]+)\)", prose(read(page))) + re.findall(r'(?:src|href)="([^"]+)"', prose(read(page)))
    wrong = [lost(target, os.path.dirname(page), page) for target in found if not re.match(r"[a-z]+:", target)]
    assert not any(wrong), "\n".join(filter(None, wrong))


def links_of_the_code():
    """Comments and messages name a page by its path below docs, with an anchor where one is meant."""
    wrong = []
    for name in tracked("*.c", "*.h", "*.cl", "*.clh", "*.cu", "*.cuh", "*.def", "*.py", "*.sh", "dev", "CMakeLists.txt"):
        for target in re.findall(r"docs/[\w/.-]+\.md(?:#[\w-]+)?", read(name)):
            wrong.append(lost(target, "", name))
    assert not any(wrong), "\n".join(filter(None, wrong))


def fields_are_explained():
    """Each field of a record, by the list that writes it, stands in the reference."""
    macros = re.findall(r"#define RECORD_FIELDS.*?(?=\n#define|\n/\*)", read("lab/record.h"), re.S)
    fields = re.findall(r"\b(?:TEXT|LETTER|COUNT|NUMBER)\((\w+)\)", " ".join(macros)) + ["version", "time", "host"]
    assert len(fields) > 60, fields
    assert not [name for name in fields if f"`{name}`" not in read("docs/REFERENCE.md")], [name for name in fields if f"`{name}`" not in read("docs/REFERENCE.md")]


def the_reference_is_whole():
    """Each command of the help, exit status of program/exit.h and variable that the code reads stands in the reference."""
    reference = read("docs/REFERENCE.md")
    listed = re.findall(r"^  (\w+)  ", run("help").stdout.split("COMMANDS\n")[1].split("\n\n")[0], re.M)
    code = " ".join(read(name) for name in tracked("src/*.c", "cli/*.c", "course/*.c", "lab/*.c", "multiply/*.c", "program/*.c", "ranks/*.c", "tune/*.c", "blas/*.c"))
    wanted = [f"`{word}`" for word in listed + sorted(set(re.findall(r'"(TILEWRIGHT_[A-Z_]+)"', code)))]
    wanted += [f"| {number} |" for number in re.findall(r"^    EXIT_\w+ = (\d+)", read("program/exit.h"), re.M)]
    assert len(wanted) > 25, wanted
    assert not [each for each in wanted if each not in reference], [each for each in wanted if each not in reference]


def names_times_and_figures():
    """tools/check_docs.py over the tree."""
    tracked()
    wrong = [f"{name}:{line}: {fault}" for name in check_docs.to_read() for line, fault in check_docs.faults(name, check_docs.read(name))]
    assert not wrong, "\n".join(wrong)


def planted_names_times_and_figures():
    """Each on a line of its own behind a page, or in the head of a file, is told with that line and no other."""
    tracked()
    gone = "no_such" + "_name"  # in two: what stands in the code is known
    for name, plant, told in (
        ("docs/GUIDE.md", f"The planner calls `{gone}()` first.", f"the code has no {gone}"),
        ("docs/GUIDE.md", f"It is `{gone}`, or {gone.upper()} as a macro.", f"the code has no {gone}"),
        ("docs/GUIDE.md", f"Set TILEWRIGHT_{gone.upper()}=1.", f"the code has no TILEWRIGHT_{gone.upper()}"),
        ("docs/GUIDE.md", f"See `src/{gone}.c`.", f"there is no file src/{gone}.c"),
        ("docs/GUIDE.md", "Say `tilewright bench --no-" + "such-option`.", "nothing takes the option --no-" + "such-option"),
        ("docs/GUIDE.md", "`tw_gemm` of src/sha256.c computes.", "src/sha256.c has no tw_gemm"),
        ("docs/GUIDE.md", "`gemm_<type>_" + "nowhere` is one.", "the code has no gemm_..._" + "nowhere"),
        ("docs/GUIDE.md", "The command takes" + " ten minutes.", "a time without a date or a processor"),
        ("docs/GUIDE.md", "It needs about" + " an hour.", "a time without a date or a processor"),
    ):
        text = read(name) + "\n\n" + plant + "\n"
        found = check_docs.faults(name, text)
        assert found and all(line == text.count("\n") for line, _ in found) and any(told in fault for _, fault in found), (plant, found)
    for name, old, new in (("kernels/opencl/ladder/r09_wide.cl", "1.24 times r08", "1.25 times r08"), ("kernels/cuda/ladder/r12_async.cu", "at 4096: 44.5", "at 4096: 44.6"),
                           ("kernels/cuda/ladder/s3_shared_ab.cu", "1761 (1022) GB/s", "1761 (1021) GB/s"),
                           ("kernels/cuda/ladder/r13_matrix.cu", "731 to 746 TFLOP/s", "741 to 746 TFLOP/s"), ("src/planners.h", "what plan.c and", f"what plan.c, `{gone}` and"),
                           ("tools/portable.sh", "tests/run.sh", "tests/" + gone + ".sh"), ("python/tilewright/_plans.py", "It asks ", f"`{gone}` asks ")):
        text = read(name)
        assert old in text, (name, old)
        found = check_docs.faults(name, text.replace(old, new))
        assert sorted({line for line, _ in found}) == [text[: text.index(old[:6])].count("\n") + 1], (name, found)
    for right in ("`tw_gemm()` of src/api.c, `gemm_<type>` and `--engine` of cli/opts.c.", "On 2026-11-28 it took" + " ten minutes.", "An EPYC takes" + " ten minutes for it."):
        assert not check_docs.faults("docs/GUIDE.md", right + "\n"), (right, check_docs.faults("docs/GUIDE.md", right))


def pages_are_short():
    assert read("README.md").count("\n") < 150, "README.md: under 150 lines; the rest belongs to docs/GUIDE.md and docs/REFERENCE.md"


def commands(page):
    """(command, statuses) of each line in the page's fences of sh; lines that end in a backslash are one."""
    for block in re.findall(r"^```sh *\n(.*?)^```", read(page), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            promised = re.search(r"# .*exit status (\d+)", line)
            if COMMENT.sub("", line).strip():
                yield COMMENT.sub("", line).strip(), int(promised[1]) if promised else 0


def small(command):
    """The command at small sizes, with one sample each."""
    if "--gpu" not in command:
        command = re.sub(r"tilewright (ladder|bench) ", r"\g<0>--samples 1 ", command)
    command = re.sub("--cliffs", "--cliffs --shapes 1", re.sub(r" --shapes \d+", "", command))
    command = re.sub(r"--size ([\d,]+)", lambda m: "--size " + ",".join(str(min(int(x), SMALL)) for x in m[1].split(",")), command)
    return re.sub(r"--shape (\S+)", lambda m: "--shape " + re.sub(r"\d+", lambda n: str(min(int(n[0]), SMALL)), m[1]), command)


def shell(command):
    """No OpenCL driver is there for what does not name it: `doctor` tests its kernels, which test_cli.py lets it do."""
    nowhere = {} if re.search(r"opencl|\.cl\b", command) else {"OCL_ICD_VENDORS": "/nowhere"}
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, env=clean_environment(**nowhere))


def dev_knows(words):
    """./dev COMMAND exists, and its help has every option of the line up to `--`."""
    name, *rest = words[1:] or ["help"]
    if name == "help":
        return
    done = subprocess.run([os.path.join(ROOT, "dev"), name, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    options = done.stdout + (run("bench", "--help").stdout if name == "bench" else "")
    for word in rest[:rest.index("--")] if "--" in rest else rest:
        assert not word.startswith("-") or word in options, f"./dev {name} has no {word}"


def help_fits():
    def said(*words):
        done = subprocess.run([os.path.join(ROOT, "dev"), *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80, done
        return done.stdout

    commands = re.findall("^  ([a-z]+) +", said("help"), re.M)
    assert {"demo", "test", "lint"} < set(commands), commands
    for command in commands:
        text = said(command, "--help") if command != "help" else ""
        assert command == "help" or text.startswith(f"usage: ./dev {command}") and "\n\n" in text, text


def one_command(command, status):
    words = shlex.split(command, comments=True)
    if not re.match(r"(\w+=\S+ )*build/tilewright |/usr/bin/python3 ", command):
        if words[0] == "./dev":
            dev_knows(words)
        for word in words:
            if re.fullmatch(r"(\./)?(tests|tools|docs|kernels|src|lab|course|multiply|program|ranks|tune|cli|io|results)/[\w./-]+", word):
                assert os.path.exists(os.path.join(ROOT, word)), f"{word} is not in the tree"
        return
    if UNRUN.search(command):
        done = shell(re.split(r" [|>]", command)[0] + " --help")
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return
    if " report " in command and run("report", "none", "-o", "none.html").returncode == 2:
        raise Skip("built without jansson")
    done = measured(lambda: shell(small(command)))
    if done.returncode == 3 and ".cl" in command:
        raise Skip("no OpenCL device")
    if "built without zlib" in done.stderr:
        raise Skip("built without zlib")
    assert done.returncode == status, f"{small(command)}: exit status {done.returncode}, not {status}:\n{done.stdout}{done.stderr}"


ran_elsewhere = {command for command, _ in commands("docs/COURSE.md")}


def all_commands(page):
    """In order and in one folder: a command may read what one before it has written. All of them, then what failed."""
    os.mkdir("build")
    os.symlink(PROGRAM, "build/tilewright")
    for folder in ("kernels", "exercises", "results"):
        os.symlink(os.path.join(ROOT, folder), folder)
    if "import numpy" in read(page) and shell("/usr/bin/python3 -c 'import numpy'").returncode:
        raise Skip("Debian's NumPy makes the matrices, and is not here")
    wrong, unrun = [], []
    for command, status in commands(page):
        if ALONE.fullmatch(command):
            if command in ran_elsewhere:
                continue
            ran_elsewhere.add(command)
        try:
            one_command(command, status)
        except Skip as reason:
            unrun.append(f"{command}: {reason}")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
    if unrun:
        raise Skip("; ".join(unrun))


CASES.append(("the_code_names_pages_that_are_there", links_of_the_code))
CASES.append(("pages_and_comments_name_what_there_is", names_times_and_figures))
CASES.append(("planted_names_times_and_figures_are_told", planted_names_times_and_figures))
CASES.append(("the_help_of_dev_fits_80_columns", help_fits))
CASES.append(("the_readme_is_short", pages_are_short))
CASES.append(("the_reference_has_every_field_of_a_record", fields_are_explained))
CASES.append(("the_reference_has_every_command_exit_status_and_variable", the_reference_is_whole))
for each in pages():
    CASES.append((f"links of {each}", lambda page=each: links_of(page)))
    if os.path.basename(each) != "COURSE.md" and next(commands(each), None):
        CASES.append((f"commands of {each}", lambda page=each: all_commands(page)))

if __name__ == "__main__":
    main()
