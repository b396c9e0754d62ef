#!/usr/bin/python3 -B
"""abi.py - the ABI of the two libraries beside that of the last release, by abidiff.

    tools/abi.py compare LIBRARIES [ABI [HEADERS]]    what ./dev lint does
    tools/abi.py write   LIBRARIES [ABI [HEADERS]]    on a release: the new baseline

LIBRARIES  a build folder, compiled with -g
ABI        the folder of the baseline and of what is passed over, default abi
HEADERS    what is public, default include

Additions pass: functions under a version node of their own, since a program that asks for a released node may find an
older library; enumerators; and fields behind the old end of a struct that begins with its size. Anything else that changed fails with abidiff's report: exit status 1. Status 2: nothing was compared.

abidiff 2.2 has a suppression for fields at the end (has_data_member_inserted_at), which hides every other change of
that struct too. So what was added is cut from the new ABI's description first, and abidiff sees the rest.
"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = ("libtilewright", "libtilewright_blas")


def fail(text):
    print(f"abi.py: {text}", file=sys.stderr)
    sys.exit(2)


def describe(library, abi, headers, output):
    """Nothing of this machine: no path, no line, ids that are digests."""
    done = subprocess.run(
        [
            "abidw",
            "--headers-dir",
            headers,
            "--drop-private-types",
            "--exported-interfaces-only",
            "--no-corpus-path",
            "--no-comp-dir-path",
            "--no-show-locs",
            "--no-elf-needed",
            "--type-id-style",
            "hash",
            "--suppressions",
            os.path.join(abi, "suppressions"),
            "--out-file",
            output,
            library,
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        fail(f"abidw could not read {library}: {done.stdout}{done.stderr}")
    if "<function-decl" not in open(output, encoding="utf-8").read():
        fail(f"{library} describes no function: it was not compiled with -g")


def structs(tree):
    """By name those that begin with their size."""
    for struct in tree.iter("class-decl"):
        members = struct.findall("data-member")
        if (
            members
            and members[0].get("layout-offset-in-bits") == "0"
            and members[0].find("var-decl").get("name") == "size"
        ):
            yield struct.get("name"), struct


def cut_additions(old, new):
    """From `new` fields behind the old end of a struct, and new enumerators."""
    before = dict(structs(old))
    for name, struct in structs(new):
        if name not in before:
            continue
        end = int(before[name].get("size-in-bits"))
        behind = [
            member for member in struct.findall("data-member") if int(member.get("layout-offset-in-bits")) >= end
        ]
        for member in behind:
            struct.remove(member)
        if behind:
            struct.set("size-in-bits", str(end))
    known = {
        enum.get("name"): {each.get("name") for each in enum.findall("enumerator")} for enum in old.iter("enum-decl")
    }
    for enum in new.iter("enum-decl"):
        for each in enum.findall("enumerator"):
            if each.get("name") not in known.get(enum.get("name"), {each.get("name")}):
                enum.remove(each)


def symbols(tree):
    return {each.get("name"): each.get("version") for each in tree.iter("elf-symbol")}


def late(old, new):
    """What `new` adds to version nodes of `old`; TILEWRIGHT_LAB promises nothing."""
    before = symbols(old)
    closed = set(before.values()) - {None, "TILEWRIGHT_LAB"}
    return [f"{name}@{node}" for name, node in symbols(new).items() if name not in before and node in closed]


def compare(library, abi, headers, baseline):
    """Whether all that `baseline` has is in the library unchanged, and nothing new under its nodes."""
    with tempfile.TemporaryDirectory() as work:
        described = os.path.join(work, os.path.basename(library) + ".abi")
        describe(library, abi, headers, described)
        old, new = xml.parse(baseline), xml.parse(described)
        added = late(old, new)
        if added:
            print(f"{library}: {', '.join(added)}: the node was released without, expected a new one")
        cut_additions(old, new)
        new.write(described)
        done = subprocess.run(
            [
                "abidiff",
                "--no-added-syms",
                "--harmless",
                "--suppressions",
                os.path.join(abi, "suppressions"),
                baseline,
                described,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode & 3:
            fail(f"abidiff could not compare {library}: {done.stdout}{done.stderr}")
        if done.returncode:
            print(f"{library} breaks the ABI of {os.path.relpath(baseline)}:\n{done.stdout}")
        return done.returncode == 0 and not added


def main(mode="", libraries="", abi=os.path.join(ROOT, "abi"), headers=os.path.join(ROOT, "include")):
    if mode not in ("compare", "write") or not libraries:
        fail("try: tools/abi.py compare LIBRARIES, or write")
    same = True
    for name in LIBRARIES:
        library, baseline = os.path.join(libraries, name + ".so"), os.path.join(abi, name + ".abi")
        if not os.path.exists(library) or (mode == "compare" and not os.path.exists(baseline)):
            fail(f"{library if not os.path.exists(library) else baseline} is not there")
        if mode == "write":
            describe(library, abi, headers, baseline)
        else:
            same &= compare(library, abi, headers, baseline)
    sys.exit(not same)


if __name__ == "__main__":
    main(*sys.argv[1:])
