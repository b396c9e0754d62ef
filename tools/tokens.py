#!/usr/bin/env python3
"""tokens.py - how much code there is: tokens without comments, by folder; or whether two trees have the same tokens.

    tools/tokens.py [TREE]             tokens of each folder of C, OpenCL C and CUDA C, and in all
    tools/tokens.py --same OLD NEW     files of both trees whose tokens differ, braces aside; exit status 1 if there are any

String literals that stand side by side are one token; so are the lines of a macro, however they are continued.
"""
import collections
import pathlib
import re
import sys

NAMES = re.compile(r"\.(c|h|cl|clh|cu|cuh|def)$")
FOLDERS = ("blas", "cli", "course", "fuzz", "include", "io", "kernels", "lab", "mpi", "multiply", "pblas", "program", "ranks", "src", "tests", "tools", "tune")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\.?\d(?:[eEpP][+-]|[\w.])*|\w+|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|&&|\|\||##|[-+*/%&|^<>=!]=|\S')


def tokens(text):
    text = COMMENT.sub(lambda found: found.group(1) or " ", text.replace("\\\n", " "))
    made = []
    for token in TOKEN.findall(text):
        if token[0] == '"' and made and made[-1][0] == '"': made[-1] = made[-1][:-1] + token[1:]
        else: made.append(token)
    return made


def files(tree):
    for folder in FOLDERS:
        for path in sorted((tree / folder).rglob("*")):
            if path.is_file() and NAMES.search(path.name): yield path.relative_to(tree)


def count(tree):
    counts = collections.Counter()
    for name in files(tree): counts[name.parts[0]] += len(tokens((tree / name).read_text()))
    for folder in FOLDERS: print(f"{counts[folder]:8} {folder}")
    print(f"{sum(counts.values()):8} in all")


def compare(old, new):
    differ = 0
    for name in sorted(set(files(old)) | set(files(new))):
        sides = [[t for t in tokens((tree / name).read_text()) if t not in "{}"] if (tree / name).exists() else None for tree in (old, new)]
        if sides[0] == sides[1]: continue
        differ += 1
        if None in sides:
            print(f"{name}: only in {old if sides[1] is None else new}")
            continue
        at = next((i for i, pair in enumerate(zip(*sides)) if pair[0] != pair[1]), min(map(len, sides)))
        print(f"{name}: " + " | ".join(" ".join(side[max(at - 3, 0):at + 5]) for side in sides))
    print(f"{differ} files differ")
    return differ > 0


def main(words):
    if words[:1] == ["--same"] and len(words) == 3: return compare(pathlib.Path(words[1]), pathlib.Path(words[2]))
    if len(words) > 1 or words[:1] and words[0].startswith("-"): sys.exit(__doc__)
    count(pathlib.Path(words[0] if words else "."))
    return 0


if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
