"""tap.py - the cases of a test script: registers them, lists them, runs those asked for and prints TAP.

    from support.tap import Skip, case, main

    @case
    def a_sentence(): ...       an exception fails the case, Skip("why") skips it

    if __name__ == "__main__": main()

A script knows --list, --only TEXT, and the path of the program `tilewright`; --full and --gpu change nothing. A script is
run by `python3 -B`: nothing is written beside the sources. A case that takes long is followed by a line of its seconds.
"""
import argparse
import concurrent.futures
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback

CASES = []  # name, function
LONG_S = 5


def options():
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("program", nargs="?")
    return parser.parse_known_args()[0]


class Skip(Exception):
    pass


def case(function):
    CASES.append((function.__name__, function))
    return function


def judge(function):
    """"ok", "skipped" or "not ok", why, and the seconds it took."""
    begin, verdict, why = time.monotonic(), "ok", ""
    try:
        function()
    except Skip as reason:
        verdict, why = "skipped", str(reason)
    except Exception as error:  # whatever it is, the other cases go on
        verdict, why = "not ok", f"{type(error).__name__}: {error}" + ("" if str(error) else "\n" + traceback.format_exc())
    return verdict, why, time.monotonic() - begin


def in_a_folder(function):
    """The function's verdict in an empty folder, which is the working directory. TMPDIR is another: what a launcher or a driver makes there once
    for all its processes, as Open MPI does, two cases must not make at the same time."""
    with tempfile.TemporaryDirectory(prefix="tilewright-test.") as folder:
        above, own = os.environ.get("TMPDIR"), tempfile.mkdtemp(prefix="tilewright-tmp.")
        os.environ["TMPDIR"] = tempfile.tempdir = own
        os.chdir(folder)
        try:
            return function()
        finally:
            os.chdir("/")
            tempfile.tempdir = None
            os.environ.pop("TMPDIR") if above is None else os.environ.update(TMPDIR=above)
            shutil.rmtree(own, ignore_errors=True)  # a launcher that was killed may still be writing


def run(chosen, each):
    counts = {"ok": 0, "not ok": 0, "skipped": 0}
    print(f"1..{len(chosen)}", flush=True)
    for number, (name, function) in enumerate(chosen, 1):
        verdict, why, seconds = each(function)
        counts[verdict] += 1
        skip = f" # SKIP {why}" if verdict == "skipped" else ""
        print(f"{'not ok' if verdict == 'not ok' else 'ok'} {number} - {name.replace('#', '')}{skip}")
        if verdict == "not ok": print("# " + why.replace("\n", "\n# "))
        if seconds >= LONG_S: print(f"# {seconds:.0f} s")
        sys.stdout.flush()
    print(f"{counts['ok']} passed, {counts['not ok']} failed, {counts['skipped']} skipped")
    return counts["not ok"] > 0


def run_prepared(chosen, prepare):
    try:
        prepare()
        return run(chosen, judge)
    except Skip as reason:
        why = str(reason)
        return run(chosen, lambda _: ("skipped", why, 0))


def judge_by_name(name):
    return in_a_folder(lambda: judge(dict(CASES)[name]))


def run_side_by_side(chosen, side_by_side):
    """Each case in a process beside others. The verdicts come in the order of the cases."""
    with concurrent.futures.ProcessPoolExecutor(side_by_side, multiprocessing.get_context("fork")) as pool:
        verdicts = {function: pool.submit(judge_by_name, name) for name, function in chosen}
        return run(chosen, lambda function: verdicts[function].result())


def main(prepare=None, side_by_side=1):
    """Each case runs in an empty folder of its own; or all in one that `prepare` filled, whose Skip skips them all. Cases that wait more than
    they compute may run several side by side."""
    asked = options()
    chosen = [(name, function) for name, function in CASES if asked.only in name]
    if asked.list: sys.exit(print("\n".join(name for name, _ in chosen)))
    if prepare: sys.exit(in_a_folder(lambda: run_prepared(chosen, prepare)))
    if side_by_side > 1: sys.exit(run_side_by_side(chosen, side_by_side))
    sys.exit(run(chosen, lambda function: in_a_folder(lambda: judge(function))))
