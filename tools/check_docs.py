#!/usr/bin/python3 -B
"""check_docs.py - ./dev lint: checks what a program can check in pages and comments: FILE:LINE and the fault, status 1.

names      A word in `backquotes` that looks like a name occurs in the tree's code, outside comments. So does a file or
           an option, and, without backquotes too, name(), name[], NAMES_OF_MACROS and tw_names. "`name` in FILE": in that file.
durations  What something takes, in seconds, minutes or hours, has a date or a processor in its paragraph, in docs/perf in its section.
figures    The heads of rungs say what the records of results/ say.

Pages of other projects, the change log and decision 0012, a table of names that are gone, are not read.
"""
import fnmatch
import functools
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNREAD = ("CHANGELOG.md", "docs/decisions/0012", "tools/retired.names", "results/", "tests/abi/", "tools/check_docs.py")
C = (".c", ".h", ".cl", ".cu", ".clh", ".cuh", ".def")
SOURCE = C + (".py", ".sh", ".cmake", ".md", ".rows", ".jsonl", ".json", ".in", ".hpp", ".f90")

# Names that the tree does not have, and what they are.
EXCEPTIONS = {
    r"(cu|cl|nccl)[A-Z]\w*|CUtensorMap|CUDA_(MEMCPY|ERROR)\w+|(MPIX?|POCL|NCCL)_\w+": "names of CUDA, OpenCL, NCCL, MPI and PoCL that ours need not use",
    r"evict_last|no_allocate|nvjet_\w*|AVX512_\w+|DYNAMIC_ARCH|lu_factor": "words of PTX, of processors, of cuBLAS, OpenBLAS and SciPy",
    r"DT_FILTER|GLIBC_\w+|__tsan_\w+": "marks of ELF's, a sanitizer's functions",
    r"(tw_noun|module)_verb": "how names are made",
    r"(load|store|read)_of_\w+": "fields of records that course/judge/degrees.c puts together",
    r"(.*/)?(mine|records|prog|toy)\.\w+|tw/.*": "files and a folder of the reader's, and of a test",
    r"(cblas|mpi|clblast_c)\.h": "headers of others",
    r"--(allow-run-as-root|data-races|display)": "options of mpirun, oclgrind and update-alternatives",
}
used = set()  # of EXCEPTIONS
PLAIN = r"[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]|tw_[a-z0-9_]+"  # are names without backquotes, too
BLANK = "\0"  # in place of <a placeholder>


def excepted(what):
    found = [row for row in EXCEPTIONS if re.fullmatch(row, what)]
    used.update(found)
    return bool(found)


@functools.cache
def tracked():
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if os.path.isfile(os.path.join(ROOT, name))]


def to_read():
    return [name for name in tracked() if not name.startswith(UNREAD)]


@functools.cache
def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="ignore") as file:
        return file.read()


def lines_kept(match):
    return "\n" * match[0].count("\n")


COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
REMARK = re.compile(r'^[ \t]*"""(?!\\).*?"""|(?:^[ \t]*#[^\n]*\n)+', re.M | re.S)  # of Python and sh
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def code_of(name, text):
    """A file without its comments: they may name what is gone."""
    return COMMENT.sub(lines_kept, text) if name.endswith(C) else re.sub(r"^\s*#.*$", "", text, flags=re.M)


def words_of(text):
    return set(re.findall(r"[A-Za-z_]\w*", text))


@functools.cache
def tree():
    """The words of the code, and its options."""
    words, options = set(), set()
    for name in to_read():
        words.add(os.path.basename(name).partition(".")[0])
        if name.endswith((".md", ".npy", ".svg")):
            continue
        code = code_of(name, read(name))
        words |= words_of(code)
        options |= set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", code))
        if name == "cli/opts.c":
            options |= {"--" + option for option in re.findall(r'"([a-z][a-z0-9-]*)"', code)}
    return words, options


@functools.cache
def is_word(name):
    words = tree()[0]
    if BLANK in name:
        shape = re.compile(r"\w+".join(map(re.escape, re.split(BLANK + "+", name))))
        return any(map(shape.fullmatch, words))
    if name.startswith("_") or name.endswith("_"):  # the end, or the beginning, of names
        return any(word.endswith(name) if name.startswith("_") else word.startswith(name) for word in words)
    return name in words


@functools.cache
def is_file(name):
    name = name.lstrip("./")
    if not name.endswith(".md"):  # FOLDER/test_NAME.c
        name = re.sub("[A-Z]{4,}", BLANK, re.sub("^[A-Z]{4,}/", "", name))
    shape = re.sub(f"{BLANK}+", "*", name)
    ends = "*" if shape.startswith("_") else "*/"
    return any(fnmatch.fnmatchcase(path, shape) or fnmatch.fnmatchcase(path, ends + shape) for path in tracked())


def claimed(text, quoted):
    """(what, kind) of names in a text; quoted: a span that is one word, which is a name if it looks like one."""
    for match in re.finditer(rf"(?<![\w$./@{BLANK}-])([A-Za-z_{BLANK}][\w{BLANK}]*)(\(\)|\[\])?", text):
        name = match[1]
        ours = re.fullmatch(PLAIN, name) or match[2]
        looks = "_" in name or re.fullmatch("[A-Z][A-Z0-9]{3,}", name) or re.search("[a-z][A-Z]", name)
        if ours or quoted and looks:
            yield name, "name"
    for match in re.finditer(rf"(?<![\w/.$~{BLANK}-])(?:[\w.{BLANK}-]*/)*[\w{BLANK}-]+(?:{'|'.join(map(re.escape, SOURCE))})(?![\w.-])", text):
        yield match[0], "file"


def options_in(span):
    return re.findall(r"(?<![\w-])--[A-Za-z][\w-]*", span)


def passages(name, text):
    """(line, text) of what is read in a file: a page without its fences, or each comment without its marks."""
    if name.endswith(".md"):
        yield 1, FENCE.sub(lines_kept, text)
    else:
        for match in (COMMENT if name.endswith(C) else REMARK).finditer(text):
            yield text.count("\n", 0, match.start()) + 1, re.sub(r"\n[ \t]*[*#]", "\n", match[0])


def names(name, text):
    """The faults of a file's names."""
    own = words_of(" ".join(FENCE.findall(text))) if name.endswith(".md") else set()  # what the page's own examples make
    made = set(re.findall(r"[\w./-]+", " ".join(FENCE.findall(text))))

    def unknown(part, quoted):
        part = re.sub(r"<[^<>\n]*>", BLANK, part)
        for what, kind in claimed(part, quoted):
            if kind == "file" and not is_file(what) and what not in made and not what.startswith(("build/", "/")) and not excepted(what):
                yield f"there is no file {what}"
            elif kind == "name" and not is_word(what) and what not in own and not excepted(what):
                yield f"the code has no {what}"

    for first, passage in passages(name, text):
        def line(at):
            return first + passage.count("\n", 0, at)

        for match in re.finditer(r"`([^`]+)`", passage):
            for fault in unknown(match[1], not re.search(r"\s", match[1])):
                yield line(match.start()), f"{fault.replace(BLANK, '...')}: `{' '.join(match[1].split())}`"
            for option in options_in(match[1]):
                if option not in tree()[1] and not excepted(option):
                    yield line(match.start()), f"nothing takes the option {option}: `{' '.join(match[1].split())}`"
        plain = re.sub(r"`[^`]+`|\]\([^)\s]*\)|https?:\S+", lambda m: " " * len(m[0]) if "\n" not in m[0] else re.sub("[^\n]", " ", m[0]), passage)
        for number, row in enumerate(plain.split("\n")):
            for fault in unknown(row, False):
                yield first + number, fault.replace(BLANK, "...")
        for match in re.finditer(r"`(\w+)(?:\(\)|\[\])?`,? (?:of|in)\s+([\w/-]+(?:\.[\w]+)*\.\w+)\b", passage):
            found = [path for path in tracked() if path == match[2] or "/" not in match[2] and path.endswith("/" + match[2])]
            if found and not any(match[1] in words_of(read(path)) for path in found):
                yield line(match.start()), f"{match[2]} has no {match[1]}"


# ---- durations ----

LONG = r"(?:an?|one|two|three|four|five|ten|half an?|several|\d[\d.,]*(?: to \d[\d.,]*)?)\s+(?:seconds|minutes?|hours?)\b"
DURATION = re.compile(rf"\b(?:takes?|took|lasts?)\s+(?:(?:about|some|up to|at most|under|less than|only)\s+)?{LONG}"
                      rf"|\b(?:about|some|up to|under|nearly)\s+{LONG}", re.I)
MEASURED = re.compile(r"20\d\d-\d\d-\d\d|EPYC|Xeon|\bAMD\b|Intel|\b[HP][12]00\b|Zen \d")


def durations(name, text):
    """The faults of a file's durations. In docs/perf the headings of sections have dates."""
    for paragraph in re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", text):
        for match in DURATION.finditer(re.sub(r"\n\s*(?:\*|#+|//)? ?", lambda m: "\n" + " " * (len(m[0]) - 1), paragraph[0])):
            section = text[max(text.rfind("\n## ", 0, paragraph.end()), 0):paragraph.end()] if name.startswith("docs/perf/") else paragraph[0]
            if not MEASURED.search(section):
                at = text.count("\n", 0, paragraph.start() + match.start()) + 1
                yield at, f"a time without a date or a processor: \"{' '.join(match[0].split())}\""


# ---- figures ----

@functools.cache
def records(name):
    return [json.loads(line) for line in read(f"results/nvidia-h200/{name}.jsonl").splitlines()]


def speed(engine, rung, build="rolled", file="ladder-4096"):
    """TFLOP/s at 4096; of rungs from r06 on there is one build."""
    return next(r["gflops"] / 1e3 for r in records(file) if (r["engine"], r["rung"], r["m"]) == (engine, rung, 4096) and r["build"] in (build, None))


def ring(rung, before, shape="4096x4096x4096", what="rings"):
    """How fast one of the rungs behind r11 is beside another."""
    of = {r["rung"]: r["gflops"] for r in records(f"ladder-{what}-{shape}")}
    return f"{of[rung] / of[before]:.2f}"


def thin(engine, rung, k):
    return next(r["effective_gbps"] for r in records("skinny-4096") if (r["engine"], r["rung"], r["k"]) == (engine, rung, k))


def figures_told():
    """(file, what its head says with the records' figures)."""
    for engine, ending in (("cuda", "cu"), ("opencl", "cl")):
        def head(rung):
            return f"kernels/{engine}/ladder/{rung}.{ending}"

        def times(rung, before):
            return f"{speed(engine, rung) / speed(engine, before):.2f}"

        own, device = (lambda rung, build="rolled": speed(engine, rung, build)), "On an H200 at 4096 "
        factor = [f"{speed(e, 'r08_coarsened') / speed(e, 'r07_prefetch'):.2f}" for e in ("cuda", "opencl")]
        yield head("r04d_divergence"), (f"{own('r04_banks', 'default'):.2f} and {own('r04d_divergence', 'default'):.2f} TFLOP/s in the default build, "
                                        f"rolled at {own('r04_banks'):.2f} and {own('r04d_divergence'):.2f}.")
        yield head("r08_coarsened"), device + f"{factor[0]} times r07" + (f" in CUDA, {factor[1]} in OpenCL" if engine == "opencl" else "")
        yield head("r09_wide"), device + times("r09_wide", "r08_coarsened") + " times r08"
        ratio = times("r11_warp", "r10_register")
        yield head("r11_warp"), device + (f"it is nearly level with r10 ({ratio})" if engine == "cuda" else f"{ratio} times r10")
        both = [[thin(engine, rung, k) for k in (16, 32)] for rung in ("s1_unoptimised", "s2_shared_a", "s3_shared_ab")]
        yield head("s1_unoptimised"), "H200 at 4096 x T x 4096: {:.0f} ({:.0f}) GB/s".format(*both[0])
        for rung, now, before, name in (("s2_shared_a", both[1], both[0], "s1"), ("s3_shared_ab", both[2], both[1], "s2")):
            yield head(rung), "H200: {:.0f} ({:.0f}) GB/s, {:.2f} ({:.2f}) times {}".format(*now, now[0] / before[0], now[1] / before[1], name)
        yield head("r03_coalesced"), f"is slower than r02, by {speed('cuda', 'r02_tiled') / speed('cuda', 'r03_coalesced'):.1f}x"
        curves = f"curves-{engine}"
        yield head("r10s_scalar"), (f"H200 at 4096: {speed(engine, 'r10s_scalar', file=curves):.1f} TFLOP/s where r10 has "
                                    f"{speed(engine, 'r10_register', file=curves):.1f}")
        if engine == "opencl":
            yield head("r01u_uncached"), f"H200: {own('r01u_uncached'):.2f} TFLOP/s, r01 {own('r01_naive'):.2f}"
            yield head("r01u_uncached"), f"default build {own('r01u_uncached', 'default'):.2f} where r01 has {own('r01_naive', 'default'):.2f}"
        else:
            yield head("r12_async"), f"(r11 at 4096: {own('r11_warp'):.1f})"
            deep, short, uneven = "512x512x8192", "8192x8192x64", "4096x2112x4096"
            yield head("r11a_ring"), (f"slower than r11, {ring('r11a_ring', 'r11_warp')} of it at 4096 and {ring('r11a_ring', 'r11_warp', deep)} where one block has a "
                                      "multiprocessor (512 x 512 x 8192)")
            yield head("r11b_boxes"), (f"{ring('r11b_boxes', 'r11a_ring')} of r11a at 4096, {ring('r11b_boxes', 'r11a_ring', uneven)} at 4096 x 2112 x 4096, "
                                       f"{ring('r11b_boxes', 'r11a_ring', short)} at 8192 x 8192 x 64")
            yield head("r11c_swizzle"), f"{ring('r11c_swizzle', 'r11b_boxes')} of r11b at 4096, {ring('r11c_swizzle', 'r11b_boxes', deep)} where one block"
            yield head("r11c_swizzle"), f"{ring('r11c_swizzle', 'r11b_boxes', short)} at 8192 x 8192 x 64"
            elsewhere = sorted(ring("r12a_producer", "r12_async", shape) for shape in (deep, short, uneven, "256x256x256"))
            yield head("r12a_producer"), f"slower than r12, {ring('r12a_producer', 'r12_async')} of it at 4096 and from {elsewhere[0]} to {elsewhere[-1]} elsewhere"
            yield head("r12b_persistent"), f"{ring('r12b_persistent', 'r12a_producer', short)} of r12a at 8192 x 8192 x 64, {ring('r12b_persistent', 'r12a_producer', deep)} at 512"
            yield head("r12b_persistent"), f"{ring('r12b_persistent', 'r12a_producer')} at 4096, whose 1024"
            yield head("r12b_persistent"), f"and {ring('r12b_persistent', 'r12a_producer', uneven)} at 4096 x 2112 x 4096"
            small, few = "256x256x256", "16x8192x8192"
            yield head("r12c_store"), f"{ring('r12c_store', 'r12b_persistent', short)} of r12b at 8192 x 8192 x 64"
            yield head("r12c_store"), f"and {ring('r12c_store', 'r12b_persistent')} at 4096"
            yield head("r12d_streamk"), f"{ring('r12d_streamk', 'r12b_persistent', deep)} of r12b at 512 x 512 x 8192"
            yield head("r12d_streamk"), f"and {ring('r12d_streamk', 'r12b_persistent', uneven)} at 4096 x 2112 x 4096"
            yield head("r12d_streamk"), f"{ring('r12d_streamk', 'r12b_persistent', short)} at 8192 x 8192 x 64, where the fix-up"
            yield head("r12e_multicast"), f"{ring('r12e_multicast', 'r12a_producer')} of r12a at 4096, {ring('r12e_multicast', 'r12a_producer', short)} at 8192 x 8192 x 64"
            yield head("r12f_cluster"), (f"{ring('r12f_cluster', 'r12a_producer', deep)} of r12a at 512 x 512 x 8192 (r12d, with any number of blocks for a tile, "
                                         f"{ring('r12d_streamk', 'r12a_producer', deep)}), {ring('r12f_cluster', 'r12a_producer', small)} at 256 cubed")
            yield head("r12f_cluster"), f"{ring('r12f_cluster', 'r12a_producer')} at 4096, and {ring('r12f_cluster', 'r12a_producer', short)} at 8192 x 8192 x 64"
            yield head("r12h_registers"), (f"{ring('r12h_registers', 'r12_async')} of r12 at 4096, {ring('r12h_registers', 'r12_async', short)} at 8192 x 8192 x 64; "
                                           f"{ring('r12h_registers', 'r12_async', small)} at 256 cubed")
            yield head("r12h_registers"), f"At 8192 x 8192 x 64 it has {ring('r12h_registers', 'r14', short)} of that speed"
            yield head("r12h_registers"), f"At 4096 it has {ring('r12h_registers', 'r14')} of the speed"
            matrix = {r["rung"]: r["gflops"] / 1e3 for r in records("ladder-matrix-4096x4096x4096")}
            f32 = {r["rung"]: r["gflops"] / 1e3 for r in records("ladder-rings-4096x4096x4096")}
            yield head("r12i_mma"), f"bf16 at 4096: {matrix['r12i_mma']:.0f} TFLOP/s, {matrix['r12i_mma'] / f32['r12h_registers']:.1f} times r12h"
            yield head("r12j_wgmma"), f"{ring('r12j_wgmma', 'r12i_mma', what='matrix')} of r12i at 4096 and {ring('r12j_wgmma', 'r12i_mma', '8192x8192x8192', 'matrix')} at 8192"
            yield head("r12j_wgmma"), f"{ring('r12j_wgmma', 'r12i_mma', short, 'matrix')} at 8192 x 8192 x 64, {ring('r12j_wgmma', 'r12i_mma', '1024x1024x1024', 'matrix')} at 1024"
            yield head("r13a_pingpong"), f"{ring('r13a_pingpong', 'r13_matrix', '1024x1024x1024', 'matrix')} of r13 at 1024"
            yield head("r13a_pingpong"), f"{ring('r13a_pingpong', 'r13_matrix', few, 'matrix')} at 16 x 8192 x 8192"
            yield head("r13a_pingpong"), f"{ring('r13a_pingpong', 'r13_matrix', what='matrix')} at 4096, and {ring('r13a_pingpong', 'r13_matrix', '8192x8192x8192', 'matrix')} at 8192"
            yield head("r13b_swapped"), f"{ring('r13b_swapped', 'r13_matrix', few, 'matrix')} of r13 at 16 x 8192 x 8192; {ring('r13b_swapped', 'r13_matrix', what='matrix')} at 4096"
            yield head("r13f_f64"), f"{ring('r13f_f64', 'r14', what='f64')} of tw_gemm's"
            yield head("r13f_f64"), f"{ring('r13f_f64', 'r14', '1000x1000x1000', 'f64')} of it at 1000"


# (head, words behind a range in it, where the speed is that lies in the range)
RANGES = (("r12_async", "TFLOP/s at 4096", "ladder-4096"), ("r13_matrix", "TFLOP/s at 4096", "ladder-4096"), ("r13_matrix", "at 8192", "ladder-bf16-8192"))


def figures(name, text):
    """The faults of a rung's figures."""
    if "/ladder/" not in name:
        return
    for file, told in figures_told():
        if file != name:
            continue
        head = re.sub(r"\n \*", "\n", COMMENT.search(text)[0])
        shape = r"\s+".join(re.sub(r"(?<![a-z\d.])\d+(\\\.\d+)?", r"\\d+(?:\\.\\d+)?", re.escape(word)) for word in told.split())
        found = re.search(shape, head)
        if not found:
            yield 1, f"the head has no figures like {told!r}"
        elif " ".join(found[0].split()) != told:
            yield 1 + head.count("\n", 0, found.start()), f"{' '.join(found[0].split())!r}: the records say {told!r}"
    for rung, words, file in RANGES:
        if name != f"kernels/cuda/ladder/{rung}.cu":
            continue
        value = next(r["gflops"] / 1e3 for r in records(file) if r["rung"] == rung)
        found = re.search(rf"([\d.]+) to ([\d.]+) {words}", text)
        if not found or not float(found[1]) <= value <= float(found[2]):
            yield 1 + text.count("\n", 0, found.start() if found else 0), f"no range of {words!r} with {value:.4g}, which the records say"


def faults(name, text):
    """(line, fault) of a file, in order."""
    return sorted({*names(name, text), *durations(name, text), *figures(name, text)})


def main():
    said = [f"{name}:{line}: {fault}" for name in to_read() for line, fault in faults(name, read(name))]
    said += [f"tools/check_docs.py: no page or comment needs the exception {row}" for row in EXCEPTIONS if row not in used]
    print("\n".join(said), end="\n" * bool(said))
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
