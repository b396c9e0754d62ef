#!/usr/bin/env python3
"""same_cases.py - whether two builds have the same test cases, wherever a case now stands: for changes that move tests.

    tools/same_cases.py BUILD >LIST    the cases of all test programs of a build folder, those of --full too
    tools/same_cases.py OLD NEW        compares two build folders or saved lists

A line of a list has three fields between tabs: usual or full, the program, the case. A case that left one program
must have come to another. What only one side has is printed with - or + before it, exit status 1; else what moved is
printed, and how many cases there are.
"""
import collections
import pathlib
import re
import subprocess
import sys


def listed(folder):
    """The lines of a build folder, by the tests/run.sh of the tree that it was made of."""
    cache = (folder / "CMakeCache.txt").read_text()
    source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M).group(1)
    for kind, option in (("usual", []), ("full", ["--full"])):
        done = subprocess.run([f"{source}/tests/run.sh", "--list", *option, f"{folder.resolve()}=all"], stdout=subprocess.PIPE, text=True, check=True)
        for line in done.stdout.splitlines():
            program, _, case = line.removeprefix("all/").partition(" ")
            yield "\t".join((kind, program, case))


def cases(name):
    path = pathlib.Path(name)
    lines = listed(path) if path.is_dir() else path.read_text().splitlines()
    return collections.Counter(tuple(line.split("\t", 2)) for line in lines)


def compare(old, new):
    gone, come = old - new, new - old
    homes = collections.defaultdict(list)
    for kind, program, case in come.elements(): homes[kind, case].append(program)
    moved, lost = collections.Counter(), []
    for kind, program, case in sorted(gone.elements()):
        if homes[kind, case]: moved[program, homes[kind, case].pop(), kind] += 1
        else: lost.append((kind, program, case))
    for (before, now, kind), count in sorted(moved.items()): print(f"{count:6} {kind} cases: {before} -> {now}")
    for line in lost: print("-", *line)
    extra = sorted((kind, program, case) for (kind, case), left in homes.items() for program in left)
    for line in extra: print("+", *line)
    print(f"{sum(old.values())} cases before, {sum(new.values())} now, {len(lost)} lost, {len(extra)} new")
    return bool(lost or extra or not old)


def main(words):
    if len(words) not in (1, 2) or words[0].startswith("-"): sys.exit(__doc__)
    if len(words) == 2: return compare(*map(cases, words))
    print("\n".join(listed(pathlib.Path(words[0]))))
    return 0


if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
