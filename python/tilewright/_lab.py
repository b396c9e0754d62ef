"""devices, ladder, bench, explain and tune: the records of the program `tilewright`, as dictionaries."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from typing import Any, Dict, Generator, List, Optional, Sequence, Union

from ._errors import BuildFailed, CheckFailed, DeviceFailed, Error, NoDevice, OutOfMemory
from ._library import FILE, candidates

__all__ = ["Records", "bench", "devices", "explain", "ladder", "tune"]

# Exit statuses of the program.
_failures = {1: CheckFailed, 3: NoDevice, 4: BuildFailed, 5: OutOfMemory, 8: DeviceFailed}


def program() -> str:
    """The file of the program `tilewright`: beside the library that TILEWRIGHT_LIBRARY names, the wheel's own, a source
    tree's, or one on the PATH."""
    beside = []
    if os.environ.get("TILEWRIGHT_LIBRARY"):
        folder = os.path.dirname(os.path.abspath(FILE))
        beside = [os.path.join(folder, "tilewright"), os.path.join(os.path.dirname(folder), "bin", "tilewright")]
    for file in beside + candidates("tilewright", "bin"):
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    found = shutil.which("tilewright")
    if found is None or _is_script(found):
        raise FileNotFoundError("the program tilewright was not found: it is in no wheel here, in no build/ and not on "
                                "the PATH")
    return found


def _is_script(file: str) -> bool:
    """Whether this is the wheel's own launcher, which would come back here."""
    with open(file, "rb") as opened:
        return opened.read(2) == b"#!"


class Records(List[Dict[str, Any]]):
    """A list of records, one dictionary each, whose fields docs/REFERENCE.md explains. pandas.DataFrame takes it, and
    Jupyter shows its chart. Elsewhere: for r in records: print(r["kernel"], r["gflops"], r["verified"])."""

    def _repr_svg_(self) -> Optional[str]:
        """The chart of `tilewright report`; None where these records have none."""
        with tempfile.TemporaryDirectory(prefix="tilewright.") as folder:
            records, chart = os.path.join(folder, "records.jsonl"), os.path.join(folder, "chart.svg")
            with open(records, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(each) + "\n" for each in self)
            try:
                subprocess.run([program(), "report", records, "-o", chart], check=True, capture_output=True)
                with open(chart, encoding="utf-8") as file:
                    return file.read()
            except (OSError, subprocess.CalledProcessError):
                return None


def words(options: Dict[str, Union[None, str, float, Sequence[object]]]) -> List[str]:
    """Options of the command line: html_file=1 is --html-file 1, True an option alone, a list has commas."""
    found: List[str] = []
    if "json" in options:
        raise TypeError("json is no option here: the records are returned")
    for name, value in options.items():
        if value is None or value is False:
            continue
        found.append("--" + name.replace("_", "-"))
        if value is not True:
            found.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return found


def run(command: str, arguments: List[str], options: Dict[str, Any]) -> Records:
    """The records that a command of the program writes. Its errors are exceptions with its sentence."""
    ended = subprocess.run([program(), command, *arguments, *words(options), "--json", "-"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, errors="replace")
    if ended.returncode == 0:
        return Records(json.loads(line) for line in ended.stdout.splitlines())
    raise _failure(command, ended.returncode, ended.stdout, ended.stderr)


def _failure(command: str, code: int, out: str, err: str) -> Exception:
    """The exception of a command that failed, with its sentence."""
    said = re.findall(rf"^tilewright: (?:{command}: )?(.*)", err, re.M)
    reason = re.findall(r'"refused": *"([^"]*)"', out)  # why a row could not be timed
    sentence = said[-1] if said else err.strip() or f"tilewright {command} ended with {code}"
    if reason:
        sentence += f": {reason[0]}"
    return ValueError(sentence) if code == 2 else _failures.get(code, Error)(sentence)


def devices() -> Records:
    """The devices here, with their measured peaks and bandwidths: `tilewright devices`.

    >>> import tilewright
    >>> [device["engine"] for device in tilewright.devices()][0]
    'cpu'
    """
    return run("devices", [], {})


def ladder(**options: Any) -> Records:
    """The ladder's rungs, verified and timed: `tilewright ladder`, whose options are keywords here: --transpose-b is
    transpose_b=True, and a list is joined by commas. `python -m tilewright help ladder` has them all.

    >>> import tilewright
    >>> [record["rung"] for record in tilewright.ladder(size=64, rung=["r01", "r04"], samples=1, threads=1)]
    ['r01_naive', 'r04_banks']
    """
    return run("ladder", [], options)


def bench(**options: Any) -> Records:
    """Products, verified and timed: `tilewright bench`, whose options are keywords here, as ladder()'s are. The types
    are the program's: dtype="f64". `python -m tilewright help bench` has them all.

    >>> import tilewright
    >>> tilewright.bench(size=64, dtype="f64", samples=1, threads=1)[0]["verified"]
    'exact+bound'
    """
    return run("bench", [], options)


def explain(kernel: str, **options: Any) -> Records:
    """What one rung or kernel does, in numbers: `tilewright explain`. `python -m tilewright explain r04` has pictures.

    >>> import tilewright
    >>> tilewright.explain("r04")[0]["flop_per_byte"]
    4
    """
    return run("explain", [kernel], options)


def tune(**options: Any) -> Generator[Dict[str, Any], None, None]:
    """Searches faster parameters for this device: `tilewright tune`, whose options are keywords here, as ladder()'s
    are. Yields a record for each candidate ("event" is "candidate") as it was tried, and one for each class of products
    ("class"); with show=True one for each tuned row ("row"). What is unknown is None. What is found is kept, and used by
    contexts that are opened later. An iterator that is closed or forgotten ends the search, which keeps what it has.

        for record in tilewright.tune(shape="1000x1000x1000", budget=60):
            print(record["verdict"], record["speed"], record["row"])
    """
    return _stream("tune", options)


def _stream(command: str, options: Dict[str, Any]) -> Generator[Dict[str, Any], None, None]:
    """The records of a command, each as soon as it is written."""
    wanted = words(options)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen([program(), command, *wanted, "--json", "-"], stdout=subprocess.PIPE, stderr=said,
                                   text=True, errors="replace")
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield json.loads(line)
            code = process.wait()
        finally:
            process.stdout.close()
            if process.poll() is None:
                process.terminate()
                process.wait()
        if code != 0:
            said.seek(0)
            raise _failure(command, code, "", said.read())
