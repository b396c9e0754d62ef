#!/usr/bin/python3 -B
"""test_demo.py - what tools/demo.py says beside its table: the ratio to NumPy's time, always, and what else differs.

    test_demo.py [--list] [--only TEXT]

Prints TAP. Needs NumPy: without it all is skipped. Nothing here depends on the speed of a machine.
"""
import importlib.util
import os
import tempfile

from support.tap import Skip, case, main

FOLDER = os.path.dirname(os.path.abspath(__file__))
DEMO = os.path.join(FOLDER, "..", "tools", "demo.py")
OURS = {"seconds": [1.0, 1.1, 1.2], "threads": 2}


def peer(*seconds, kernels="SkylakeX", threads=2, reference=False):
    return {"name": "OpenBLAS 0.3", "kernels": kernels, "threads": threads, "reference": reference, "seconds": list(seconds)}


@case
def numpy_is_always_compared():
    assert demo.verdict(OURS, peer(1.2, 1.3, 1.4)) == "NumPy's time is 1.18 times ours, by medians; the spreads overlap"
    assert demo.verdict(OURS, peer(1.21, 2.2, 2.3)) == "NumPy's time is 2.00 times ours, by medians"
    assert demo.verdict(OURS, peer(0.7, 0.8, 0.9)) == "NumPy's time is 0.73 times ours, by medians"
    assert demo.verdict(OURS, peer(40, 41, 42, kernels="Prescott")) == "NumPy's time is 37.27 times ours, by medians"


@case
def what_else_differs_is_told():
    said = demo.verdict(OURS, peer(4.4, reference=True, threads=1))
    assert said.startswith("NumPy's time is 4.00 times ours") and "plain loops" in said, said
    said = demo.verdict(OURS, peer(0.55, threads=1))
    assert said == "NumPy's time is 0.50 times ours, by medians; threads: NumPy 1, tilewright 2", said


@case
def the_fastest_kernels_are_taken():
    wide = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma"}
    choices = list(demo.environments({"OPENBLAS_CORETYPE": "Prescott", "A": "1"}, wide))
    assert choices == [("", {"OPENBLAS_CORETYPE": "Prescott", "A": "1"}), ("OPENBLAS_CORETYPE unset", {"A": "1"}),
                       ("OPENBLAS_CORETYPE=SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX", "A": "1"})], choices
    assert [said for said, _ in demo.environments({}, {"avx2", "fma"})] == ["", "OPENBLAS_CORETYPE=Haswell"]
    assert [said for said, _ in demo.environments({"OPENBLAS_CORETYPE": "Haswell"}, {"avx2", "fma"})] == ["", "OPENBLAS_CORETYPE unset"]
    for fastest in "Prescott", None, "SkylakeX":
        tried = []

        def measure(environment, rows):
            tried.append(rows)
            core = environment.get("OPENBLAS_CORETYPE")
            return peer(1.0 if core == fastest else 2.0, kernels=core or "Zen")
        assert demo.best_numpy(measure, choices)["kernels"] == (fastest or "Zen")
        assert tried == [demo.TRIAL_ROWS] * 3 + [None], tried
    assert demo.best_numpy(lambda *_: tried.append(0) or peer(1.1, kernels=""), choices)["environment"] == "" and len(tried) == 4 + 2


@case
def a_busy_machine_is_told():
    assert demo.busy_sentence((10, 100, 5), (22, 120, 9)).startswith("other processes used 40 % of the processors")
    assert demo.busy_sentence((10, 100, 5), (14.5, 120, 9)) == "" and demo.busy_sentence(None, (1, 2, 3)) == ""
    used, every, own = demo.processor_use()
    assert 0 <= used <= every and own > 0


@case
def numpy_is_timed_in_a_process_of_its_own():
    rng = demo.np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="tilewright-demo.") as folder:
        for name in "P", "W":
            demo.np.save(os.path.join(folder, name + ".npy"), rng.standard_normal((30, 20)))
        found = demo.numpy_times(folder, dict(os.environ), 30)
    assert len(found["seconds"]) == demo.RUNS and min(found["seconds"]) > 0, found
    assert found["name"] and isinstance(found["kernels"], str) and isinstance(found["reference"], bool), found


@case
def the_digits_are_there():
    data = demo.np.load(demo.DIGITS)
    images, labels = data["images"], data["labels"]
    assert images.shape == (1797, 64) and images.max() == 16 and sorted(set(labels)) == list(range(10)) and labels.shape == (1797,)


def prepare():
    global demo
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    demo = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(demo)
    except ImportError as error:
        raise Skip(str(error)) from error


if __name__ == "__main__":
    main(prepare)
