#!/usr/bin/python3 -B
"""check_circles.py - ./dev lint: finds files that call functions of each other, in pairs or longer circles: FILE calls what of FILE.

A file in a circle has two jobs: one belongs elsewhere. Of C the objects of a build are read. A call is a relocation of code
(.text) against a function of another file; a function's address in a table is one of data, and no call. Of the Python
package an import is an edge, within a function too. Status 1 if there is a circle.

    tools/check_circles.py BUILD
"""
import ast
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = "python/tilewright"


def calls_of(build):
    """{(file, file): functions} of the objects of a build: who calls what of whom."""
    objects = {}  # object: its file
    for path in glob.glob(f"{build}/CMakeFiles/*.dir/**/*.o", recursive=True):
        file = re.sub(r".*?\.dir/(.*)\.o$", r"\1", path[len(build):])
        if os.path.exists(os.path.join(ROOT, file)):
            objects[path] = file
    if not objects:
        sys.exit(f"check_circles.py: {build} has no objects")
    listing = subprocess.run(["readelf", "--wide", "--syms", "--relocs", *objects], capture_output=True, text=True, check=True).stdout
    homes, used = {}, collections.defaultdict(set)  # of a function, its file; of a file, what its code refers to
    for line in listing.splitlines():
        field = line.split()
        if line.startswith("File: "):
            file = objects[line[len("File: "):]]
        elif line.startswith("Relocation section"):
            of_code = re.match(r"'\.rela?\.text[.']", field[2])
        elif len(field) >= 5 and field[2].startswith("R_"):
            if of_code:
                used[file].add(field[4])
        elif len(field) == 8 and field[3] == "FUNC" and field[4] != "LOCAL" and field[6] != "UND":
            homes.setdefault(field[7], file)
    edges = collections.defaultdict(set)
    for file, names in used.items():
        for name in names:
            if homes.get(name, file) != file:
                edges[file, homes[name]].add(name)
    return edges


def imports_of(folder):
    """{(file, file): names} of a package's modules: who imports what of whom."""
    edges = collections.defaultdict(set)
    modules = {os.path.basename(path)[:-3]: path for path in sorted(glob.glob(f"{folder}/*.py"))}
    for name, path in modules.items():
        with open(path, encoding="utf-8") as text:
            nodes = list(ast.walk(ast.parse(text.read())))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.level == 1 or (node.module or "").startswith("tilewright")):
                module = (node.module or "").removeprefix("tilewright").lstrip(".")
                for alias in node.names:
                    home = module or (alias.name if alias.name in modules else "__init__")
                    if home in modules and home != name:
                        edges[path, modules[home]].add(alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    home = alias.name.removeprefix("tilewright.") if alias.name.startswith("tilewright") else None
                    home = "__init__" if home == "tilewright" else home
                    if home in modules and home != name:
                        edges[path, modules[home]].add(alias.name)
    return edges


def circles(edges):
    """The sets of files that reach each other, each sorted."""
    after = collections.defaultdict(set)
    for caller, called in edges:
        after[caller].add(called)

    def reached(file):
        seen, todo = set(), [file]
        while todo:
            new = after[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    reach = {file: reached(file) for file in list(after)}
    return sorted({tuple(sorted(other for other in seen if file in reach.get(other, ()))) for file, seen in reach.items() if file in seen})


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/check_circles.py BUILD")
    os.chdir(ROOT)
    calls, imports = calls_of(sys.argv[1]), imports_of(PACKAGE)
    if not calls or not imports:
        sys.exit(f"check_circles.py: {sys.argv[1] if not calls else PACKAGE} shows no call from file to file")
    edges = {**calls, **imports}
    bad = circles(edges)
    for files in bad:
        print(f"{len(files)} files in a circle: {', '.join(files)}")
        for caller, called in sorted(edges):
            if caller in files and called in files:
                verb = "imports" if caller.endswith(".py") else "calls"
                print(f"  {caller} {verb} {', '.join(sorted(edges[caller, called]))} of {called}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
