#!/usr/bin/env python3
"""exercises.py - makes the exercises and their solutions of exercises/gaps.def and the rungs below kernels/.

    tools/exercises.py           writes exercises/*.cl, *.cu and SOLUTIONS.md
    tools/exercises.py --check   writes nothing; prints what differs, exit status 1 if anything does

A gap that its rung lacks, has twice, or has in another order is an error. A file is an exercise with gaps, or a kernel
with a mistake to be found.
"""
import difflib
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "exercises"
MADE = "Made by ./dev docs from exercises/gaps.def and kernels/{}: edit those."

# What OpenCL's words are called in CUDA, in this order: those of kernels, and those of sentences about them.
CODE = (("get_group_id(0)", "blockIdx.x"), ("get_group_id(1)", "blockIdx.y"), ("get_local_id(0)", "threadIdx.x"),
        ("get_local_id(1)", "threadIdx.y"), ("barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()"),
        ("ROW_BARRIER()", "__syncwarp()"), ("fma(", "fmaf("))
PROSE = (("opencl/rung.clh", "cuda/rung.cuh"), (".cl", ".cu"), ("work-item", "thread"),
         ("local memory", "shared memory"), ("groups", "blocks"), ("Groups", "Blocks"), ("group", "block"))


def in_cuda(text, words=CODE):
    for opencl, cuda in words: text = text.replace(opencl, cuda)
    return text


def told_in_cuda(text): return in_cuda(text, CODE + PROSE)


def fail(exercise, sentence):
    sys.exit(f"exercises.py: {exercise['name']}: {sentence}")


def read_list():
    """The exercises of gaps.def: name, rung, kernel, page, options, title, the lines of the head, and the edits: at, and
    ask, why, is and fill where they have them; the answer to the head's questions."""
    exercises = []
    for number, line in enumerate((FOLDER / "gaps.def").read_text().splitlines(), 1):
        label, rest = line[:5].rstrip(), line[5:]
        if line.startswith("#") or (line == "" and (not exercises or exercises[-1]["edits"])): continue
        if line[:4].strip() == "": exercises[-1]["head"].append(line)
        elif label == "at": exercises[-1]["edits"].append({"at": rest})
        elif label in ("ask", "why"): exercises[-1]["edits"][-1][label] = rest
        elif label == "ans": exercises[-1]["answer"] = rest
        elif label in ("is", "fill"): exercises[-1]["edits"][-1][label] = rest.split(" ;; ")
        elif line.count(" | ") == 3:
            named, page, options, title = line.split(" | ")
            words = named.split()  # NAME [of RUNG [as KERNEL]]
            exercises.append({"name": words[0], "rung": words[min(2, len(words) - 1)], "kernel": words[-1], "page": page,
                              "options": options, "title": title, "head": [], "edits": []})
        else: sys.exit(f"exercises.py: exercises/gaps.def, line {number}: found {line!r}")
    return exercises


def has_gaps(exercise): return not any("is" in edit for edit in exercise["edits"])


def pattern(at):
    """A regular expression of the words, with a group for each gap."""
    parts = re.split(r"\{\{(.+?)\}\}", at)
    words = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in parts]
    return "".join(f"({word})" if i % 2 else word for i, word in enumerate(words))


def find_gaps(exercise, body, words):
    """For each edit the places of its gaps in the rung's text."""
    found, last = [], 0
    for edit in exercise["edits"]:
        matches = list(re.finditer(pattern(words(edit["at"])), body))
        if len(matches) != 1: fail(exercise, f"found {len(matches)} times, expected once: {words(edit['at'])}")
        spans = [matches[0].span(i) for i in range(1, matches[0].re.groups + 1)]
        if not spans or spans[0][0] < last: fail(exercise, f"no gap, or not in the order of the text: {edit['at']}")
        last = spans[-1][1]
        found.append(spans)
    return found


def line_above(body, place):
    """Where the line of this place begins, or what belongs to it before: a loop without braces, ROLLED or UNROLLED."""
    begin = body.rindex("\n", 0, place) + 1
    before = body.rindex("\n", 0, begin - 1) + 1
    line = body[before:begin].strip()
    belongs = line in ("ROLLED", "UNROLLED") or (line.startswith("for (") and line.endswith(")"))
    return line_above(body, before) if belongs else begin


def without(body, begin, end, words):
    """The text with other words at this place; a line that has none then goes."""
    line, after = body.rindex("\n", 0, begin) + 1, body.index("\n", end) + 1
    left = body[line:begin] + words + body[end:after]
    return body[:line] + (left if left.strip() else "") + body[after:]


def make_exercise(exercise, ending):
    """The text of an exercise."""
    words, told, engine = (in_cuda, told_in_cuda, "cuda") if ending == "cu" else (str, str, "opencl")
    name, gaps = f"{exercise['name']}.{ending}", has_gaps(exercise)
    source = f"{engine}/ladder/{exercise['rung']}.{ending}"
    body = (ROOT / "kernels" / source).read_text().split("*/\n", 1)[1].replace('#include "../', '#include "')
    found = find_gaps(exercise, body, words)
    number = count = sum(map(len, found))
    for edit, spans in zip(reversed(exercise["edits"]), reversed(found)):
        for q, (begin, end) in reversed(list(enumerate(spans))):
            body = without(body, begin, end, words(edit["is"][q]) if "is" in edit else f"GAP_{number}")
            number -= 1
        if "ask" not in edit: continue
        above = line_above(body, spans[0][0])
        indent = re.match(" *", body[above:])[0]
        body = f"{body[:above]}{indent}/* {told(edit['ask'])} */\n{body[above:]}"
    body = body.replace(f" {exercise['rung']}(", f" {exercise['kernel']}(")
    head = ["", f"    tilewright ladder --rung exercises/{name} {exercise['options']}", ""]
    head += textwrap.dedent(told("\n".join(exercise["head"]))).rstrip().splitlines()
    page = f"page {exercise['page']}" if exercise["page"].isdigit() else f'"{exercise["page"]}"'
    head += ["", f"docs/COURSE.md, {page}, leads through it; the solution is in exercises/SOLUTIONS.md.",
             MADE.format(source)]
    lines = "\n".join((" * " + line).rstrip() for line in head)
    kind = f"exercise with {count} gaps" if gaps else "a kernel with a mistake"
    return f"/* {name} - {kind}. {told(exercise['title'])}\n{lines} */\n{body}"


def solutions(exercises):
    """The page: for each edit its gaps, or what is wrong, and why."""
    page = [f"<!-- {MADE.format('')} -->", "# Solutions of the exercises", "",
            "Words are OpenCL's; CUDA says thread, block and shared memory for work-item, group and local memory.",
            "[COURSE.md](../docs/COURSE.md) asks the questions."]

    def wrapped(text):
        return textwrap.wrap(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

    def code(words): return f"`{words}`" + (f" (CUDA `{in_cuda(words)}`)" if in_cuda(words) != words else "")

    for exercise in exercises:
        rung, number = exercise["rung"], 0
        page += ["", f"## {exercise['name']}", "", f"[OpenCL](../kernels/opencl/ladder/{rung}.cl), "
                 f"[CUDA](../kernels/cuda/ladder/{rung}.cu)", ""]
        for edit in exercise["edits"]:
            told = []
            for q, right in enumerate(edit.get("fill", re.findall(r"\{\{(.+?)\}\}", edit["at"]))):
                number += 1
                if "is" not in edit: told.append(f"GAP_{number} {code(right)}")
                elif edit["is"][q]: told.append(f"{code(edit['is'][q])} should be {code(right)}")
                else: told.append(f"{code(right)} is missing")
            page += wrapped(f"- {', '.join(told)}. {edit['why']}")
        if "answer" in exercise: page += wrapped(f"- The head's questions: {exercise['answer']}")
    return "\n".join(page) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]): sys.exit(__doc__)
    exercises = read_list()
    made = {f"{each['name']}.{ending}": make_exercise(each, ending) for each in exercises for ending in ("cl", "cu")}
    made["SOLUTIONS.md"] = solutions(exercises)
    stale = {path.name for path in FOLDER.glob("*.c[lu]")} - set(made)
    for name, text in made.items():
        path = FOLDER / name
        old = path.read_text() if path.exists() else ""
        if old == text: continue
        stale.add(name)
        if not sys.argv[1:]: path.write_text(text)
        else: sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, "made"))
    if sys.argv[1:] and stale:
        sys.exit(f"not fresh: exercises/{', exercises/'.join(sorted(stale))}: run ./dev docs")


if __name__ == "__main__":
    main()
