#!/usr/bin/python3 -B
"""test_demo.py - what tools/demo.py says beside its table: NumPy's time counts only where its BLAS is a fair peer.

    test_demo.py [--list] [--only TEXT]

Prints TAP. Needs NumPy: without it all is skipped. Nothing here depends on the speed of a machine.
"""
import importlib.util
import os
import tempfile

from support.tap import Skip, case, main

FOLDER = os.path.dirname(os.path.abspath(__file__))
DEMO = os.path.join(FOLDER, "..", "tools", "demo.py")
FLOPS = 1e9  # a product of 1 s is 1 GFLOP/s
OURS = {"seconds": [1.0, 1.1, 1.2], "threads": 2}


def peer(*seconds, kernels="SkylakeX", threads=2, reference=False):
    return {"name": "OpenBLAS 0.3", "kernels": kernels, "threads": threads, "reference": reference, "seconds": list(seconds)}


@case
def a_healthy_blas_is_compared():
    assert demo.verdict(OURS, peer(1.2, 1.3, 1.4), FLOPS, 1.0) == "NumPy's time is 1.18 times ours, by medians; the spreads overlap"
    assert demo.verdict(OURS, peer(1.21, 2.2, 2.3), FLOPS, 1.0) == "NumPy's time is 2.00 times ours, by medians"
    assert demo.verdict(OURS, peer(0.7, 0.8, 0.9), FLOPS, 1.5).startswith("NumPy's time is 0.73 times ours")


@case
def a_misconfigured_blas_is_not():
    said = demo.verdict(OURS, peer(4.0, 4.1, 4.2, kernels="Prescott"), FLOPS, 1.0)
    assert "times ours" not in said and "no comparison" in said and "Prescott" in said and "25 % of the peak" in said and "misconfigured" in said, said
    assert "no comparison" in demo.verdict(OURS, peer(1.26, kernels=""), FLOPS, 1.0)
    assert "no comparison" not in demo.verdict(OURS, peer(1.24), FLOPS, 1.0)


@case
def the_reference_and_other_threads_are_not():
    said = demo.verdict(OURS, peer(1.0, reference=True, threads=1), FLOPS, 1.0)
    assert "no comparison: the reference BLAS" in said, said
    said = demo.verdict(OURS, peer(1.0, threads=1), FLOPS, 1.0)
    assert "no comparison: threads of NumPy 1, of tilewright 2" in said, said


@case
def other_kernels_are_tried_until_a_blas_is_healthy():
    wide = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx2", "fma"}
    choices = list(demo.environments({"OPENBLAS_CORETYPE": "Prescott", "A": "1"}, wide))
    assert choices == [("", {"OPENBLAS_CORETYPE": "Prescott", "A": "1"}), ("OPENBLAS_CORETYPE unset", {"A": "1"}),
                       ("OPENBLAS_CORETYPE=SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX", "A": "1"})], choices
    assert [said for said, _ in demo.environments({}, {"avx2", "fma"})] == ["", "OPENBLAS_CORETYPE=Haswell"]
    assert [said for said, _ in demo.environments({"OPENBLAS_CORETYPE": "Haswell"}, {"avx2", "fma"})] == ["", "OPENBLAS_CORETYPE unset"]
    tried = []

    def measure(environment):
        tried.append(environment)
        return peer({"Prescott": 4.0, None: 3.0, "SkylakeX": 1.1}[environment.get("OPENBLAS_CORETYPE")])
    assert demo.best_numpy(measure, choices, FLOPS, 1.0)["environment"] == "OPENBLAS_CORETYPE=SkylakeX" and len(tried) == 3
    assert demo.best_numpy(measure, choices[:2], FLOPS, 1.0)["environment"] == "OPENBLAS_CORETYPE unset"
    tried.clear()
    assert demo.best_numpy(lambda _: tried.append(0) or peer(1.1), choices, FLOPS, 1.0)["environment"] == "" and len(tried) == 1


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
        found = demo.numpy_times(folder, dict(os.environ))
    assert len(found["seconds"]) == demo.RUNS and min(found["seconds"]) > 0, found
    assert found["name"] and isinstance(found["kernels"], str) and isinstance(found["reference"], bool), found


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
