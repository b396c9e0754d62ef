"""backend.py - makes the wheel and the sdist: PEP 517's hooks, and commands for tools/wheel.sh and tools/package.sh.

    python backend.py FOLDER BUILD TAG          the wheel of what was built
    python backend.py --sdist FOLDER TAR        the sdist of what git archive wrote, to which it appends

BUILD is CMake's, with libtilewright.so.0, libtilewright_blas.so.0 and the program tilewright; its _calls.abi3.so, which
CPython loads from 3.11 on, is taken if it is there. The same files give the same bytes: names are sorted, and all have
the date SOURCE_DATE_EPOCH. The hook for wheels, which pip calls, builds in build/, as ./dev build does, with the shared
jansson and zlib; such a wheel is for this machine's system alone. The config setting "cmake" has further options of
CMake's. The hook for sdists takes the last commit.
"""
import base64
import gzip
import hashlib
import io
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# What the program may hold, as JANSSON_LIBRARY and ZLIB_LIBRARY of its build say: Debian's package, and the licence.
ARCHIVES = {"jansson": ("libjansson-dev", "MIT"), "zlib": ("zlib1g-dev", "Zlib")}
TARGETS = ("tilewright", "tilewright_python", "tilewright_blas")
BINARIES = {"_calls.abi3.so": 0o755, "lib/libtilewright.so.0": 0o755, "lib/libtilewright_blas.so.0": 0o755,
            "bin/tilewright": 0o755}


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"^project\(tilewright VERSION ([0-9.]+)", read("CMakeLists.txt"), re.M)[1]


def field(name):
    """A plain string or list of strings of pyproject.toml: Python 3.9 has no reader of its own."""
    value = re.search(rf"^{name} = (\[.*?\]|\".*?\")$", read("pyproject.toml"), re.M | re.S)[1]
    return re.findall(r'"(.*?)"', value) if value[0] == "[" else value[1:-1]


def licences(build):
    """{file: text} of what the wheel holds. Of an archive it is Debian's file, which has its notice."""
    files = {"LICENSE": read("LICENSE")}
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        cache = file.read()
    for name, (package, _) in ARCHIVES.items():
        archive = re.search(rf"^{name.upper()}_LIBRARY:\w+=(.*\.a)$", cache, re.M)
        if not archive:
            continue
        notice = archive[1].rpartition("/usr/")[0] + f"/usr/share/doc/{package}/copyright"
        try:
            with open(notice, encoding="utf-8") as file:
                files[name] = file.read()
        except FileNotFoundError:
            sys.exit(f"the program holds {archive[1]}, whose notice must go with it, and {notice} is missing")
    return files


def metadata(files=()):
    others = {"LICENSES/CC-BY-4.0.txt": "CC-BY-4.0", **{name: licence for name, (_, licence) in ARCHIVES.items()}}
    held = "".join(f" AND {others[each]}" for each in sorted(files) if each in others)
    lines = ["Metadata-Version: 2.4", "Name: tilewright", f"Version: {version()}", f"Summary: {field('description')}",
             f"License-Expression: {field('license')}{held}", *(f"License-File: {each}" for each in sorted(files)),
             f"Requires-Python: {field('requires-python')}", *(f"Classifier: {each}" for each in field("classifiers")),
             *(f"Requires-Dist: {each}" for each in field("dependencies")), "Provides-Extra: bfloat16",
             *(f'Requires-Dist: {each}; extra == "bfloat16"' for each in field("bfloat16")),
             "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + read("python/README.md")


def contents(build, tag):
    """(name in the wheel, bytes, mode), the record left out."""
    package = os.path.join(HERE, "tilewright")
    for name in sorted(os.listdir(package)):
        if name.endswith((".py", ".pyi")) or name == "py.typed":
            yield f"tilewright/{name}", open(os.path.join(package, name), "rb").read(), 0o644
    for name, mode in BINARIES.items():
        file = os.path.join(build, os.path.basename(name))
        if name == "_calls.abi3.so" and not os.path.exists(file):
            print(f"{file} is missing, for want of Python.h: the wheel's calls go by ctypes alone", file=sys.stderr)
            continue
        if not os.path.exists(file):
            sys.exit(f"{file} is missing: build it with ./dev build, or make a wheel with tools/wheel.sh")
        yield f"tilewright/{name}", open(file, "rb").read(), mode
    info, files = f"tilewright-{version()}.dist-info", licences(build)
    yield f"{info}/METADATA", metadata(files).encode(), 0o644
    yield f"{info}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: tilewright\nRoot-Is-Purelib: false\n"
                            f"Tag: py3-none-{tag}\n").encode(), 0o644
    yield f"{info}/entry_points.txt", b"[console_scripts]\ntilewright = tilewright.__main__:main\n", 0o644
    for name, text in files.items():
        yield f"{info}/licenses/{name}", text.encode(), 0o644


def make(folder, build, tag):
    """Writes the wheel and returns its name. It appears whole or not at all."""
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH") or 1609459200), 315532800))[:6]
    name, record = f"tilewright-{version()}-py3-none-{tag}.whl", []
    file = os.path.join(folder, name)
    with zipfile.ZipFile(file + ".part", "w") as wheel:
        def add(path, data, mode):
            entry = zipfile.ZipInfo(path, date)
            entry.external_attr, entry.create_system = (0o100000 | mode) << 16, 3
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)

        for path, data, mode in sorted(contents(build, tag)):
            add(path, data, mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
        path = f"tilewright-{version()}.dist-info/RECORD"
        add(path, "\n".join([*record, f"{path},,"]).encode() + b"\n", 0o644)
    os.replace(file + ".part", file)
    return name


def make_sdist(folder, archive):
    """Appends PKG-INFO to the tar, writes it compressed and returns its name. Licences are those of each wheel."""
    base = f"tilewright-{version()}"
    dynamic = "".join(f"Dynamic: {each}\n" for each in ("License-Expression", "License-File"))
    text = metadata(("LICENSE", "LICENSES/CC-BY-4.0.txt")).replace("Name:", dynamic + "Name:", 1).encode()
    with tarfile.open(archive, "a") as tar:
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size, entry.mtime = len(text), tar.getmembers()[0].mtime
        tar.addfile(entry, io.BytesIO(text))
    file = os.path.join(folder, base + ".tar.gz")
    with open(archive, "rb") as tar, open(file + ".part", "wb") as part:
        part.write(gzip.compress(tar.read(), mtime=0))
    os.replace(file + ".part", file)
    return base + ".tar.gz"


def run(*words, **more):
    try:
        return subprocess.run(words, check=True, cwd=ROOT, **more)
    except FileNotFoundError:
        sys.exit(f"{words[0]} is missing")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{words[0]} {words[1]} failed: exit status {error.returncode}")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = os.path.join(ROOT, "build")
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count())
    run("cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DTILEWRIGHT_TESTS=OFF", "-DTILEWRIGHT_ARCHIVES=OFF",
        "-UJANSSON_LIBRARY", "-UZLIB_LIBRARY", *shlex.split((config_settings or {}).get("cmake", "")))
    run("cmake", "--build", build, "-j", jobs, "--target", *TARGETS)
    return make(wheel_directory, build, f"linux_{os.uname().machine}")


def build_sdist(sdist_directory, config_settings=None):
    if not os.path.exists(os.path.join(ROOT, ".git")):
        sys.exit("an sdist is made of a commit: this tree is no clone")
    changed = run("git", "status", "--porcelain", "--untracked-files=no", capture_output=True, text=True).stdout
    if changed:
        sys.exit("an sdist is made of a commit: these changes are not committed\n" + changed)
    with tempfile.NamedTemporaryFile(suffix=".tar") as tar:
        settings = ("-c", "tar.umask=0022", "-c", "core.autocrlf=false")
        run("git", *settings, "archive", f"--prefix=tilewright-{version()}/", "-o", tar.name, "HEAD")
        return make_sdist(sdist_directory, tar.name)


if __name__ == "__main__":
    print(make_sdist(*sys.argv[2:]) if sys.argv[1] == "--sdist" else make(*sys.argv[1:]))
