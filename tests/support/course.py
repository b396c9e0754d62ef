"""course.py - readers' kernels as tests make them: rungs that were changed, and exercises that were filled."""
import os
import re
import shutil

from support.program import BUILD, ROOT
from support.tap import Skip


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def need_lanes():
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        if re.search(r"^TILEWRIGHT_SANITIZE:.*=.", cache.read(), re.M):
            raise Skip("sanitizers do not follow work-items from stack to stack")
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        raise Skip("no C compiler is here")


def filled(rung, ending, wrong={}):
    """The exercise with its gaps filled as SOLUTIONS.md has it, but for those of `wrong`."""
    with open(os.path.join(ROOT, "exercises", "SOLUTIONS.md"), encoding="utf-8") as file:
        told = re.split(r"^## ", file.read(), flags=re.M)
    section = " ".join(next(part for part in told if part.startswith(rung + "\n")).split())
    with open(os.path.join(ROOT, "exercises", f"{rung}.{ending}"), encoding="utf-8") as file:
        text = file.read()
    gaps = re.findall(r"(GAP_\d) `([^`]+)`(?: \(CUDA `([^`]+)`\))?", section)
    assert len(gaps) == text.count("GAP_") > 1, (rung, ending, gaps)
    for gap, opencl, cuda in gaps:
        text = text.replace(gap, wrong.get(gap, cuda or opencl if ending == "cu" else opencl))
    return text


def changed(engine, rung, *changes):
    ending = {"opencl": "cl", "cuda": "cu"}[engine]
    with open(os.path.join(ROOT, "kernels", engine, "ladder", f"{rung}.{ending}"), encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        assert old in text, (rung, old)
        text = text.replace(old, new)
    return text
