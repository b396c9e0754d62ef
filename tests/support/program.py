"""program.py - the program under test as a script meets it: where it lies, what it is run with, how it may fail."""
import contextlib
import json
import os
import pty
import re
import select
import subprocess
import time

from support.tap import Skip, options

PROGRAM = os.path.abspath(options().program or os.environ.get("TILEWRIGHT", "build/tilewright"))
BUILD = os.path.abspath(os.environ.get("TILEWRIGHT_BUILD", os.path.dirname(PROGRAM)))
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.abspath(os.environ.get("TILEWRIGHT_SOURCE", os.path.dirname(TESTS)))
ENGINES = set()
# A driver that computes each kernel's product by plain loops, whatever its text, and is a processor as PoCL's device is.
FAKE_OPENCL = {"LD_LIBRARY_PATH": os.path.join(BUILD, "tests", "fakes", "opencl"), "FAKE_OPENCL": "gemm=1 processor=1", "TILEWRIGHT_CACHE": "off"}


def clean_environment(**extra):
    """Compiled kernels are kept beside the program, not in the user's folder; no row that the user tuned is read."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TILEWRIGHT_") and k not in ("OMP_NUM_THREADS", "NO_COLOR", "COLUMNS")}
    return {**kept, "TILEWRIGHT_CACHE": os.path.join(os.path.dirname(PROGRAM), "test-kernels"),
            "TILEWRIGHT_TUNED": "off", **extra}


def run(*words, env=None, timeout=600, **more):
    """The finished process of `tilewright WORDS`, its output as text."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=timeout,
                          env=clean_environment(**(env or {})), **more)


def measured(attempt):
    """The process of attempt(). What the program itself calls an error of measurement, as a peak that was read while other
    programs ran is, is measured again."""
    for _ in range(5):
        done = attempt()
        if "an error of measurement" not in done.stderr:
            break
    return done


def good(*words, **more):
    """The process, which must succeed, of measured()."""
    done = measured(lambda: run(*words, **more))
    assert done.returncode == 0, f"{words}: exit {done.returncode}: {done.stderr}"
    assert done.stderr == "", f"{words}: stderr has {done.stderr!r}"
    return done


def begun(process, files=1):
    """The output that a process began last, where it can be opened, once it has begun so many: it has no name before it is
    whole where the file system knows such files, else another one in this folder."""
    before, until = None, time.monotonic() + 60
    while True:
        assert process.poll() is None and time.monotonic() < until, f"it did not begin to write: {process.communicate()}"
        found = {}
        for name in sorted(os.listdir(f"/proc/{process.pid}/fd"), key=int):
            path = f"/proc/{process.pid}/fd/{name}"
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                target, status = os.readlink(path), os.stat(path)
                beside = os.path.dirname(target) == os.getcwd() and os.access(path, os.W_OK)
                if beside and (target.endswith(" (deleted)") or os.path.basename(target).startswith(".")):
                    found.setdefault(status.st_ino, path)
        if len(found) == files and found == before:  # not the one that tries whether there are such files
            return list(found.values())[-1]
        before = found
        time.sleep(0.01)


def table_rows(engine, what="rung|wide|tile"):
    """(rung or family, numbers behind it, fields) of the engine's rows of the table of kernels, as the build has it as text:
    so that a new row is tried too."""
    text = open(os.path.join(os.path.dirname(PROGRAM), "kernels", "rows.txt")).read()
    engines = engine if engine == "cpu" else f"gpu|{engine}"
    found = re.findall(rf"^(?:{what}) (?:{engines}) \(.*?\) (\w+) ?([\w ]*) : (.*)", text, re.M)
    assert len(found) > 5, text
    return [(name, numbers.split(), fields) for name, numbers, fields in found]


def called_now(record):
    """A record's rung: a production kernel may have another name than when it was timed."""
    if record["rung"] == "r14_peak" and record["engine"] == "cpu":
        return "gemm_simd"
    if record["engine"] == "cpu":
        return record["rung"]
    for name, (m, n), fields in table_rows(record["engine"], "tile"):
        if re.search(rf"FORMERLY\w*\((?:type, )?{record['rung']}\)", fields):
            return f"{name}_{m}x{n}"
    return record["rung"]


def contents():
    """Every name below the folder, with the bytes of small files and what links name."""
    found = {}
    for name in (os.path.join(folder, x) for folder, folders, files in os.walk(".") for x in folders + files):
        found[name] = os.readlink(name) if os.path.islink(name) else None
        if os.path.isfile(name) and os.access(name, os.R_OK) and os.path.getsize(name) < 1 << 20:
            found[name] = open(name, "rb").read()
    return found


def bad(code, *words, says=(), env=None, command=None, writes=""):
    """The call fails with this code, with one sentence that has these parts, prints nothing else, and changes no file but `writes`."""
    before = contents()
    done = run(*words, env=env)
    done.stderr = re.sub(r"==\d+==WARNING: AddressSanitizer failed to allocate.*\n", "", done.stderr)
    assert done.returncode == code, f"{words}: exit {done.returncode}, expected {code}: {done.stderr}"
    prefix = f"tilewright: {command or words[0]}: " if command != "" else "tilewright: "
    assert done.stderr.startswith(prefix), f"{words}: {done.stderr!r} does not start with {prefix!r}"
    assert done.stderr.count("\n") == 1, f"{words}: not one line: {done.stderr!r}"
    for part in [says] if isinstance(says, str) else says:
        assert part in done.stderr, f"{words}: {part!r} is not in {done.stderr!r}"
    after = contents()
    assert all(before.get(name) == after.get(name) for name in {**before, **after} if name != f"./{writes}"), f"{words}: changed {[name for name in {**before, **after} if before.get(name) != after.get(name)]}"
    return done


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def engines():
    """The engines that have a device here, by `doctor`, which compiles and measures nothing."""
    if not ENGINES:
        ENGINES.update(re.findall(r"^engine (\w+) +ready", run("doctor", "--no-self-test").stdout, re.M))
        assert "cpu" in ENGINES, "doctor does not say which engines are ready"
    return ENGINES


def needs_zlib():
    with open("zlib.gz", "wb") as file:
        file.write(b"\x1f\x8b\x08")
    done = run("verify", *["zlib.gz"] * 3)
    os.remove("zlib.gz")
    if "built without zlib" in done.stderr:
        raise Skip("built without zlib")


def needs(engine):
    if engine not in engines():
        raise Skip(f"no {engine} device is here")


def sanitized():
    cache = os.path.join(os.path.dirname(PROGRAM), "CMakeCache.txt")
    return os.path.exists(cache) and re.search(r"^TILEWRIGHT_SANITIZE:.*=.", open(cache, encoding="utf-8").read(), re.M) is not None


def on_terminal(*words, **env):
    """What a terminal shows of the program."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, *words], clean_environment(TERM="xterm", **env))
    shown = b""
    while select.select([fd], [], [], 600)[0]:  # a test of plans says nothing for a minute under a sanitizer
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(fd)
    os.waitpid(pid, 0)
    return shown.decode()
