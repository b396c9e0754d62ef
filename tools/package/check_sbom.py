#!/usr/bin/python3 -B
"""check_sbom.py - what an SBOM says of the packages beside it is so, and no file of theirs is missing in it.

check_sbom.py FOLDER        of ./dev package
"""

import hashlib
import json
import os
import re
import sys

import sbom


def check(folder):
    wrong = []
    names = [name for name in sorted(os.listdir(folder)) if name != "SHA256SUMS"]
    document = next(name for name in names if name.endswith(".spdx.json"))
    with open(os.path.join(folder, document), encoding="utf-8") as file:
        said = json.load(file)
    packages = {each["packageFileName"]: each for each in said["packages"] if "packageFileName" in each}
    held = {each["SPDXID"]: each for each in said["files"]}
    elements = [each["SPDXID"] for each in said["packages"] + said["files"]]
    if len(elements) != len(set(elements)):
        wrong.append("an SPDXID is there twice")
    for each in elements:
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each):
            wrong.append(f"{each} is no SPDXID")
    if set(packages) != set(names) - {document}:
        wrong.append(f"packages: {sorted(packages)}, files: {sorted(names)}")
    contained = {}
    for each in said["relationships"]:
        for end in (each["spdxElementId"], each["relatedSpdxElement"]):
            if end not in elements and end != "SPDXRef-DOCUMENT":
                wrong.append(f"{end} is not described")
        if each["relationshipType"] == "CONTAINS":
            contained.setdefault(each["spdxElementId"], []).append(each["relatedSpdxElement"])
    for name, package in packages.items():
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if digest not in [each["checksumValue"] for each in package["checksums"]]:
            wrong.append(f"{name}: another SHA-256")
        listed = {}
        for identifier in contained.get(package["SPDXID"], []):
            if identifier in held:
                sums = {each["algorithm"]: each["checksumValue"] for each in held[identifier]["checksums"]}
                listed[held[identifier]["fileName"]] = sums["SHA256"]
        found = {member: hashlib.sha256(content).hexdigest() for member, content in sbom.members(path)}
        if listed != found:
            wrong.append(f"{name}: {sorted(set(listed.items()) ^ set(found.items()))}")
    print("\n".join(wrong) or f"{len(packages)} packages with {len(held)} files are as {document} says")
    return not wrong


if __name__ == "__main__":
    sys.exit(not check(sys.argv[1]))
