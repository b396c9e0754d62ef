#!/usr/bin/python3 -B
"""test_report.py - the page that `report` and `ladder --html` write: well formed, complete, self-contained, safe, the same for the same
records; and hostile records refused by file, line and field.

    test_report.py [--list] [--only TEXT] [PROGRAM]
"""
import glob
import json
import os
import re
import xml.dom.minidom

from support.page import bars, check
from support.program import FAKE_OPENCL, bad, called_now, good, run
from support.tap import Skip, case, main

RESULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results")
READER = None


def reads():
    """Can the program read records?"""
    global READER
    if READER is None:
        open("nothing.jsonl", "w").close()
        READER = "jansson" not in run("report", "nothing.jsonl", "-o", "nothing.html").stderr
        os.remove("nothing.jsonl")
    return READER


def reading():
    """Skip where the program cannot read records."""
    if not reads():
        raise Skip("the program was built without jansson")


def known(record):
    return {k: v for k, v in record.items() if v is not None}


def committed():
    """Files of records that lie in results/."""
    files = sorted(glob.glob(os.path.join(RESULTS, "*", "*.jsonl")))
    assert files, f"no records below {RESULTS}"
    return files


def report(*files, out="page.html"):
    good("report", *files, "-o", out)
    return check(out)


def a_record(**changed):
    """A record as `ladder` writes it, of a machine that does not exist."""
    flops = 2 * 512 ** 3
    record = {"engine": "cuda", "device": "Device X", "kernel": "cuda_f32_r02_tiled", "rung": "r02_tiled", "dtype": "f32", "m": 512, "n": 512, "k": 512,
              "op_a": "n", "op_b": "n", "method": "device events", "min_s": 1e-3, "median_s": 1e-3, "p95_s": 1e-3, "gflops": flops / 1e6, "verified": "exact+bound",
              "error_ratio": 0.01, "bytes_asked": 67108864, "compulsory_bytes": 3145728, "peak_gflops": 1000, "bandwidth_gbps": 100, "no_cache_gflops": 400,
              "bound_gflops": 1000, "fraction_of_bound": 0.27, "version": "0.1.0", "build": "rolled", "tile": 16, "block_threads": 256, "registers": 30,
              "spill_bytes": 0, "samples": 11, "refused": None, "time": "2026-11-21T04:18:41Z"}
    record.update(changed)
    return record


def write(path, *all_records):
    with open(path, "w", encoding="utf-8") as file:
        for record in all_records:
            file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")
    return path


# ---- what is right ----------------------------------------------------------------------------------------------------

@case
def every_committed_file_alone_and_all_together():
    reading()
    for file in committed():
        report(file, out=os.path.basename(file) + ".html")
    page = report(*[f for f in committed() if "ladder-" in f or "skinny-" in f])
    assert len(page.svgs) >= 4, len(page.svgs)


@case
def the_records_are_in_the_page_and_make_it_again():
    reading()
    files = [f for f in committed() if f.endswith("ladder-4096.jsonl")]
    page = report(*files)
    original = [known(json.loads(line)) for f in files for line in open(f)]
    assert [json.loads(line) for line in page.lines()] == original
    open("again.jsonl", "w").write("\n".join(page.lines()) + "\n")
    for again in ("again.jsonl", "page.html"):
        good("report", again, "-o", "again.html")
        assert open("again.html", "rb").read() == open("page.html", "rb").read(), f"the page of {again} is another one"
    os.system(r"sed -n '/^<script id=/,/^<.script/{/^{/p}' page.html >by_sed.jsonl")
    assert open("by_sed.jsonl").read() == open("again.jsonl").read(), "the command in the page takes out something else"


@case
def numbers_of_the_records_stand_in_the_tables():
    reading()
    file = next(f for f in committed() if f.endswith("ladder-4096.jsonl"))
    page = report(file)
    rows = {}
    for table in page.tables:
        for row in table["rows"]:
            rows.setdefault(row[0].split(",")[0], []).append(row[1:])
    for record in map(json.loads, open(file)):
        if record["refused"]:
            continue
        name = called_now(record) + ("" if record["dtype"] == "f32" else " " + record["dtype"])
        speed = f"{record['gflops']:.0f}" if record["gflops"] >= 1000 else f"{record['gflops']:.1f}"
        found = [row for row in rows[name] if speed in row]
        assert found, f"{name}: {speed} GFLOP/s is in no table"
        if record["registers"] is not None:
            assert any(str(record["registers"]) in row for row in found), f"{name}: registers"
        if record["peak_gflops"]:
            assert any(f"{100 * record['gflops'] / record['peak_gflops']:.1f}%" in row for row in found), f"{name}: share of the peak"


@case
def the_same_records_give_the_same_bytes():
    reading()
    for out in ("one.html", "two.html"):
        good("report", *committed()[:3], "-o", out)
    assert open("one.html", "rb").read() == open("two.html", "rb").read()


@case
def every_rung_tells_its_story():
    reading()
    page = report(next(f for f in committed() if f.endswith("ladder-4096.jsonl")))
    text = "".join(page.words)
    for words in ("from r03: two pairs of subscripts of b_tile swapped", "lines new", "sum = fmaf(a_tile[ty][p], b_tile[p][tx], sum);"):
        assert words in text, words
    assert page.tags.count("ins") > 50 and page.tags.count("del") > 50


@case
def ladder_writes_the_page_of_its_run():
    done = good("ladder", "--size", 48, "--samples", 1, "--html", "ladder.html", "--json", "ladder.jsonl")
    assert "\nr14 " in done.stdout
    page = check("ladder.html")
    written = [known(json.loads(line)) for line in open("ladder.jsonl")]
    embedded = [json.loads(line) for line in page.lines()]
    for record in written + embedded:
        record.pop("time")
    assert embedded == written
    if reads():
        good("report", "ladder.html", "-o", "again.html")
        assert open("again.html", "rb").read() == open("ladder.html", "rb").read(), "the page of the run is another one than that of its records"
    bad(7, "ladder", "--html", "nowhere/x.html", says=["nowhere/x.html", "cannot be written"])
    bad(2, "ladder", "--html", "x", "--json", "x", says="the same file")


@case
def a_page_of_opencl():
    good("ladder", "--engine", "cpu,opencl", "--size", 96, "--samples", 1, "--rung", "r01,r04", "--html", "both.html", env=FAKE_OPENCL)
    page = check("both.html")
    assert sum("OpenCL on" in word for word in page.words) >= 3 and len(page.svgs) == 4


@case
def curves_over_sizes():
    reading()
    rungs = ["r01_naive", "r02_tiled", "r03_coalesced", "r03t_transposed", "r04_banks", "r04d_divergence"] + [f"r{i:02d}_a_long_name_{i}" for i in range(5, 40)]
    write("sizes.jsonl", *[a_record(rung=rung, kernel="cuda_f32_" + rung, m=n, n=n, k=n, gflops=(i + 1) * n ** 0.5, median_s=2e-9 * n ** 3 / ((i + 1) * n ** 0.5))
                           for i, rung in enumerate(rungs) for n in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)])
    page = report("sizes.jsonl")
    curves = [svg for svg in page.svgs if svg["tags"].count("path") > 30]
    assert len(curves) == 1 and curves[0]["tags"].count("path") == len(rungs)


@case
def each_type_of_one_size_has_its_speed_in_a_table():
    write("types.jsonl", a_record(gflops=321), a_record(dtype="f64", gflops=123))
    page = report("types.jsonl")
    assert [cell for table in page.tables for row in table["rows"] for cell in row if cell == "123.0"] == ["123.0"], page.tables


@case
def one_command_climbs_over_sizes():
    sizes = (16, 40, 33)
    done = good("ladder", "--size", "16,40,33", "--samples", 1, "--rung", "r01,r04", "--json", "x.jsonl", "--html", "x.html")
    axis = [line.split("|")[0].strip() for line in done.stdout.splitlines() if re.match(r" +[0-9.e-]* \|", line)]
    ticks = [float(x) for x in axis if x]
    assert len(axis) == 24 and axis[0] and axis[-1] and ticks == sorted(ticks, reverse=True), axis
    assert all(f"{x:e}"[:8] in ("1.000000", "2.000000", "5.000000") for x in ticks), ticks
    # an end lies at most 2.5 times away, from 2 to 5; speeds are printed with four digits
    speeds = [float(x) for line in done.stdout.splitlines() if re.match("[ab] r0", line) for x in line.split()[2:]]
    assert ticks[-1] <= min(speeds) and max(speeds) <= ticks[0] and ticks[0] / ticks[-1] <= 2.5 ** 2 * 1.001 * max(speeds) / min(speeds), (ticks, speeds)
    written = [json.loads(line) for line in open("x.jsonl")]
    assert [(r["m"], r["rung"]) for r in written] == [(n, rung) for n in sizes for rung in ("r01_naive", "r04_banks")]
    for i, rung in enumerate(("r01_naive", "r04_banks")):
        row = next(line.split() for line in done.stdout.splitlines() if line.startswith("ab"[i] + " " + rung))
        for record, cell in zip([r for r in written if r["rung"] == rung], row[2:], strict=True):
            digits = 3 if record["gflops"] < 10 else 2 if record["gflops"] < 100 else 1
            assert cell == f"{record['gflops']:.{digits}f}", (cell, record["gflops"])
    picture = [line.split("|")[1] for line in done.stdout.splitlines() if re.match(r" +[0-9.e-]* \|", line)]
    assert [sum(letter in line[9 * s:9 * s + 9] for line in picture) for letter in "ab" for s in range(3)] == [1] * 6, picture
    assert sum(svg["tags"].count("path") == 2 for svg in check("x.html").svgs) == 1
    bad(2, "ladder", "--skinny", "--size", "16,32", says="one --size")


@case
def several_machines_side_by_side():
    reading()
    write("a.jsonl", *[a_record(device=f"Device {i}") for i in range(24)])
    report("a.jsonl")
    write("b.jsonl", *[a_record(device=f"Device {i}") for i in range(25)])
    bad(6, "report", "b.jsonl", "-o", "b.html", says="of 25 engines and devices, a page takes 24")


@case
def counters_stand_beside_what_is_predicted():
    reading()
    counted = {"engine": "cuda", "device": "NVIDIA H200", "rung": "r02_tiled", "m": 512, "n": 512, "k": 512, "tile": 16, "method": "ncu 2025.1", "sectors_per_load": 9.876,
               "bank_degree_load": 1.0125, "bank_degree_store": 4.568, "sectors_per_load_predicted": 10.0, "dram_read_bytes": 123456789, "l2_bytes": 5e9,
               "issue_percent": 43.21, "fma_percent": None, "counters": {"x": 1}}
    write("c.jsonl", a_record(device="NVIDIA H200"), counted)
    rows = [row for table in report("c.jsonl").tables for row in table["rows"] if "9.876" in row]
    assert len(rows) == 1 and {"10", "1.012", "4.568", "123 MB", "5.00 GB", "43.2%", "4", "0.05369"} <= set(rows[0]), rows
    assert rows[0][4:8] == ["2.10 MB", "123 MB", "69.2 MB", "5.00 GB"], rows  # DRAM and L2, predicted and counted: the L2 holds both operands
    write("e.jsonl", a_record(device="NVIDIA H200", m=4096, n=4096, k=4096), a_record(device="NVIDIA L40S"))
    cells = [row[4:6] for table in report("e.jsonl").tables if "L2, predicted" in table["rows"][0] for row in table["rows"][1:]]
    assert cells == [["4.26 GB to 17.3 GB", "36.6 GB"]], cells  # of the L40S's cache nothing is published
    write("d.jsonl", counted)
    report("d.jsonl")
    write("t.jsonl", a_record(device="NVIDIA H200", op_a="t", op_b="t", rung="r01_naive", kernel="cuda_f32_r01_naive"), dict(counted, rung="r01_naive"))
    page = report("t.jsonl")
    assert [[cell for heading, cell in zip(*table["rows"]) if heading.startswith("Sectors")] for table in page.tables if "Sectors per load, predicted" in table["rows"][0]] == [["8.5"]], \
        "the model's figure of transposed operands, and no counters of others"


@case
def a_sweep_of_tiles_is_a_curve():
    reading()
    cpu = {"engine": "cpu", "device": "CPU X", "kernel": "cpu_f32_r02_tiled", "build": None, "block_threads": None, "threads": 1}
    edges = (1, 2, 4, 8, 16, 32)
    write("t.jsonl", *[a_record(**cpu, tile=edge, gflops=10.0 + edge, median_s=0.2 / edge) for edge in edges])
    svg = next(svg for svg in report("t.jsonl").svgs if svg["name"].startswith("Speed over the tile edge, CPU on CPU X"))
    texts = [text for text, *_ in svg["texts"]]
    assert "edge of the tile, logarithmic" in texts and "r02_tiled" in texts and {"1", "32"} <= set(texts) and svg["tags"].count("circle") == 6, texts
    write("one.jsonl", a_record(**cpu, tile=16))
    assert not any(svg["name"].startswith("Speed over the tile") for svg in report("one.jsonl").svgs)


@case
def limits_stand_beside_what_was_measured():
    """Of each rung the numbers of the predicted ladder and of the record; and predicted bytes beside counted ones."""
    reading()
    file = next(f for f in committed() if f.endswith("ladder-4096.jsonl"))
    good("ladder", "--gpu", "H200", "--json", "predicted.jsonl")
    limits = {step["rung"]: step for step in map(json.loads, open("predicted.jsonl")) if step["why_not"] is None}
    measured = {r["rung"]: r["gflops"] for r in map(json.loads, open(file)) if r["engine"] == "cuda" and r["build"] != "default" and r["gflops"]}
    page = report(file, file.replace("ladder-4096", "counters-4096"))
    texts = [text for text, *_ in next(svg for svg in page.svgs if svg["name"].startswith("What limits each rung, CUDA"))["texts"]]
    for rung in ("r02_tiled", "r03_coalesced", "r05_outer", "r10_register", "r12_async"):
        told = dict(text.split() for text in texts[texts.index(rung) + 1:texts.index(rung) + 5])
        expected = {"measured": measured[rung], **{name: limits[rung][name + "_gflops"] for name in ("banks", "issue", "roofline")}}
        assert set(told) == set(expected) and all(abs(float(told[name]) * 1000 / value - 1) < 0.01 for name, value in expected.items()), (rung, told, expected)
    dots = next(svg for svg in page.svgs if svg["name"].startswith("L2 bytes"))
    assert {"r06_unrolled", "r10_register"} <= {text for text, *_ in dots["texts"]} and dots["tags"].count("circle") > 10, dots["texts"]
    assert not any(svg["name"].startswith(("What limits", "L2")) for svg in report(write("x.jsonl", a_record())).svgs), "nothing is published of Device X"


@case
def bars_and_table_alone():
    reading()
    file = next(f for f in committed() if f.endswith("ladder-4096.jsonl"))
    good("report", file, "-o", "bars.svg")
    picture = open("bars.svg", encoding="utf-8").read()
    xml.dom.minidom.parseString(picture)
    assert picture.startswith("<svg") and 'xmlns="http://www.w3.org/2000/svg"' in picture and picture.count("http") == 1
    assert not re.search(r"<script|<image|url\(|@import|\son[a-z]+=", picture)
    assert "tiles in shared memory, and how they are loaded" in picture and "hollow: the same rung" in picture, "what colours and hollow bars mean"
    write("bare.jsonl", a_record())
    good("report", "bare.jsonl", "-o", "bare.svg")
    assert "tiles in shared" in open("bare.svg").read() and not re.search("hollow: |production kernels", open("bare.svg").read()), "of colours that are there alone"
    good("report", file, "-o", "table.md")
    table = [line.split("|")[1:-1] for line in open("table.md")]
    assert {len(row) for row in table} == {4} and table[2][0].strip() == "r01_naive", table[:3]
    write("nasty.jsonl", a_record(device="a|b\n<i>`c`"))
    good("report", "nasty.jsonl", "-o", "nasty.md")
    assert open("nasty.md").readline() == "| rung | idea | CUDA, a\\|b \\<i>\\`c\\`, 512 x 512 x 512 |\n"
    write("cut.jsonl", a_record(device="\r\r# x\u00e9&lt;" + "y" * 88 + "\u00e9"))
    good("report", "cut.jsonl", "-o", "cut.md")
    assert open("cut.md", newline="", encoding="utf-8").readline() == "| rung | idea | CUDA,   # x\u00e9\\&lt;" + "y" * 88 + "\ufffd, 512 x 512 x 512 |\n"
    write("types.jsonl", a_record(), a_record(dtype="f64"), a_record(m=256, n=256, k=256))
    for name in ("types.md", "types.svg"):
        said = good("report", "types.jsonl", "-o", name).stdout
        assert said == f"{name}: made of 3 records; it has not all of them: -o FILE.html makes a page that has\n", said
    write("once.jsonl", a_record(), a_record(), a_record(rung=None, library="cublas", kernel="cublas"))
    assert good("report", "once.jsonl", "-o", "once.svg").stdout == "once.svg: made of 3 records\n"
    write("thin.jsonl", a_record(rung="s1_unoptimised", k=16))
    bad(6, "report", "thin.jsonl", "-o", "thin.svg", says="there is no ladder among the records")


@case
def libraries_over_sizes_alone():
    """Where no ladder is among the records: a picture for each machine and type, one below the other."""
    reading()
    sizes = [{"m": n, "n": n, "k": n, "lda": n, "ldb": n, "ldc": n} for n in (64, 512)]
    write("both.jsonl", *(a_record(rung=None, kernel=name, library=name, threads=4, device=device, engine="cpu", gflops=speed, **size)
                          for device, speed in (("Slow", 10), ("Fast", 1000)) for name in ("tilewright", "blis") for size in sizes),
          a_record(rung=None, kernel="blis", library="blis", engine="cpu", device="Once"))
    good("report", "both.jsonl", "-o", "both.svg")
    picture = open("both.svg", encoding="utf-8").read()
    panels = xml.dom.minidom.parseString(picture).documentElement.getElementsByTagName("svg")
    names = [panel.getAttribute("aria-label") for panel in panels]
    assert names == [f"Speed over sizes, f32, CPU on {device}, 4 threads" for device in ("Slow", "Fast")], names
    ends = [int(panel.getAttribute("y")) + int(panel.getAttribute("height")) for panel in panels]
    assert ends[0] == int(panels[1].getAttribute("y")) and f'viewBox="0 0 960 {ends[1]}"' in picture, ends
    assert all(len(panel.getElementsByTagName("path")) == 2 and len(panel.getElementsByTagName("circle")) == 4 for panel in panels)
    bad(6, "report", "both.jsonl", "-o", "both.md", says="there is no ladder among the records")


@case
def newer_records_supersede():
    reading()
    old, new = {"gflops": 11.125, "time": "2026-11-27T04:18:41Z"}, {"gflops": 22.25, "time": "2026-11-29T04:18:41Z"}
    for first, second in (old, new), (new, old), ({**old, "time": None}, {**new, "time": None}), (old, {**new, "time": old["time"]}):
        write("a.jsonl", a_record(**first), a_record(**second))
        text = "".join(report("a.jsonl").words)
        assert "22.25" in text and "11.1" not in text and "1 records were superseded" in text, (first, second)


@case
def libraries_and_transposes_stand_apart():
    reading()
    both = {"rung": None, "kernel": "zen4", "build": None, "tile": None}
    write("a.jsonl", a_record(library="aocl", gflops=11.125, **both), a_record(library="blis", gflops=22.25, **both), a_record(library="aocl", gflops=33.5, op_b="t", **both))
    page = report("a.jsonl")
    text = "".join(page.words)
    assert "ladders" not in page.ids and page.svgs == [], "libraries are no ladder"
    assert "11.1" in text and "22.25" in text and "33.5" in text and "superseded" not in text and "512 x 512 x 512 NT" in text, text
    assert {"a library": {"aocl", "blis"}} == {"a library": set(libraries(page)["512 x 512 x 512"])}, libraries(page)
    assert libraries(page)["512 x 512 x 512 NT"] == {"aocl": "33.50", "blis": "-"}, libraries(page)


def libraries(page):
    """The cells of the tables of libraries: {product: {library: GFLOP/s}}."""
    cells = {}
    for table in page.tables:
        head, *rows = table["rows"]
        if head[0] == "Product":
            for row in rows:
                cells.setdefault(row[0], {}).update(zip(head[1:], row[1:]))
    return cells


def ladder_rows(page):
    """The first column of the tables of rungs."""
    return [row[0] for table in page.tables if table["rows"][0][0] == "Rung" and "Of peak" in table["rows"][0] for row in table["rows"][1:]]


@case
def other_problems_are_other_points():
    """Leading dimensions, alignment, scalars and batches tell products apart, threads the steps of a ladder."""
    reading()
    tight = {"lda": 512, "ldb": 512, "ldc": 512, "align_a": 256, "align_b": 256, "align_c": 256, "alpha": 1, "beta": 0}
    for changed, told in (({"lda": 513, "ldb": 513, "ldc": 513}, "512 x 512 x 512, ld 513"), ({"ldc": 600}, "512 x 512 x 512, ld 512 512 600"),
                          ({"align_b": 4}, "512 x 512 x 512, aligned to 256 4 256"), ({"beta": -1.5}, "512 x 512 x 512, beta -1.5"),
                          ({"alpha": 2}, "512 x 512 x 512, alpha 2"), ({"batch": 1000}, "512 x 512 x 512, batches of 1000")):
        write("a.jsonl", a_record(**tight, gflops=51.4), a_record(**{**tight, **changed}, gflops=48.6))
        page = report("a.jsonl")
        text = "".join(page.words)
        assert "superseded" not in text and "51.40" in text and "48.60" in text and told in text, (changed, text)
        assert [row[3] for table in page.tables for row in table["rows"] if row[0] == "r02_tiled" and "Of peak" in table["rows"][0]] == ["51.40"], changed
    cpu = {"engine": "cpu", "device": "CPU X", "kernel": None, "build": None, "block_threads": None, "rung": "r11_warp"}
    write("threads.jsonl", a_record(**cpu, threads=1, gflops=51.4), a_record(**cpu, threads=16, gflops=48.6))
    page = report("threads.jsonl")
    assert ladder_rows(page) == ["r11_warp 1 thr", "r11_warp 16 thr"] and "superseded" not in "".join(page.words), ladder_rows(page)


@case
def cublas_stands_where_its_records_say():
    """The committed records hold cuBLAS at 4096 with rows of 4096 and of 4097 elements."""
    reading()
    file = os.path.join(RESULTS, "nvidia-h200", "cublas-f32.jsonl")
    held = [r for r in map(json.loads, open(file)) if r["library"] == "cublas" and (r["m"], r["n"], r["k"]) == (4096, 4096, 4096) and r["op_a"] + r["op_b"] == "nn"]
    last = {ld: [f"{r['gflops']:.0f}" for r in held if r["lda"] == ld][-1] for ld in (4096, 4097)}
    ladder = next(f for f in committed() if f.endswith("nvidia-h200/ladder-4096.jsonl"))
    page = report(ladder, file)
    cells = libraries(page)
    assert cells["4096 x 4096 x 4096"]["cublas"] == last[4096] and cells["4096 x 4096 x 4096, ld 4097"]["cublas"] == last[4097], cells
    assert not {"cublas", "tilewright"} & set(ladder_rows(page)), "a library is no rung"
    summary = "".join(page.words).split("fastest is")[1:]
    assert summary and not {words.split()[0] for words in summary} & {"cublas", "tilewright"}, summary
    first, *others = page.svgs
    whole = [label for label, look in first["series"] if look == ["fi"]]
    assert whole == ["cublas", "tilewright"] and first["series"][-3][0] == "cublas", first["series"]  # behind them: bf16
    texts = [words for words, *_ in first["texts"]]
    assert abs(float(texts[texts.index("cublas") + 1]) * 1000 - float(last[4096])) < 60, texts
    drawn = [words for svg in others for words, *_ in svg["texts"]]
    assert "cublas" not in drawn and "tilewright" not in drawn, "a library is drawn among the rungs"
    bytes_asked = [json.loads(line)["bytes_asked"] for line in page.lines() if '"library":"cublas"' in line]
    assert bytes_asked and all(bytes_asked), "the records of then are kept as they were"


@case
def machines_of_one_name_are_told_apart():
    reading()
    for one, other in (({"host": "a, 8 processors, 32 GiB"}, {"host": "b, 8 processors, 32 GiB"}), ({"host": "a"}, {"host": None}),
                       ({"driver": "driver 1"}, {"driver": "driver 2"}), ({"instruction_set": "sm_80"}, {"instruction_set": "sm_90"})):
        write("a.jsonl", a_record(gflops=51.4, **one), a_record(gflops=48.6, **other))
        page = report("a.jsonl")
        text = "".join(page.words)
        for name in ("CUDA on Device X (1)", "CUDA on Device X (2)", "51.40", "48.60", *filter(None, one.values()), *filter(None, other.values())):
            assert name in text, (name, text)
        assert "superseded" not in text and len(ladder_rows(page)) == 2 and len({svg["texts"][0] for svg in page.svgs}) > 0, ladder_rows(page)
    write("b.jsonl", a_record(host="a", driver="driver 1"), a_record(host="a", driver="driver 2", rung="r03_coalesced"), a_record(host="a", rung="r04_banks"))
    page = report("b.jsonl")
    assert len(ladder_rows(page)) == 3 and "Device X (1)" not in "".join(page.words), "one host is one machine"
    write("c.jsonl", a_record(), a_record(driver="driver 1", rung="r03_coalesced"))
    assert "Device X (1)" not in "".join(report("c.jsonl").words), "what is not said contradicts nothing"
    good("bench", "--size", 16, "--samples", 1, "--json", "here.jsonl")
    here = json.loads(open("here.jsonl").readline())
    assert os.uname().nodename in here["host"] and "processors" in here["host"] and here["align_a"] == here["align_b"] == here["align_c"] == 256, here


@case
def what_stands_beside_bytes_asked_leaves_c_out_too():
    """In the roofline the line of A and B once is where flop / (bytes of A and B) is, on the dots' own axis; C counts in neither."""
    reading()
    flops, once = 2 * 512 ** 3, 2 * 512 * 512 * 4
    asked = (once, 8 * once)  # one rung asks for each of A and B once: its dot lies on the line
    write("a.jsonl", *[a_record(rung=rung, bytes_asked=b, no_cache_gflops=flops / b * 100) for rung, b in zip(("r02_tiled", "r03_coalesced"), asked)])
    page = report("a.jsonl")
    svg = next(s for s in page.svgs if any(text == "A and B once" for text, *_ in s["texts"]))
    lines = [float(a["x1"]) for tag, a in svg["shapes"] if tag == "line" and a["class"] == "thin dots" and a["x1"] == a["x2"] and abs(float(a["y1"]) - float(a["y2"])) > 300]
    dots = [float(a["cx"]) for tag, a in svg["shapes"] if tag == "circle"]
    assert len(lines) == 1 and abs(lines[0] - dots[0]) < 0.2 and dots[1] < dots[0] - 50, (lines, dots)
    write("b.jsonl", a_record(device="NVIDIA H200", bytes_asked=once))
    row = next(row for table in report("b.jsonl").tables if "Asked" in table["rows"][0] and "A and B once" in table["rows"][0] for row in table["rows"][1:])
    assert row[1] == row[3] == "2.10 MB", row


@case
def each_type_has_bars_on_an_axis_of_its_own():
    """Bars of another type stand on another axis with its own peak, and none is drawn where that type did not run."""
    reading()
    bf16 = {"rung": "r13_matrix", "dtype": "bf16", "kernel": None}
    write("none.jsonl", a_record(), a_record(**bf16, refused="it needs sm_90", median_s=None, gflops=None, verified="no"))
    page = report("none.jsonl")
    texts = [text for text, *_ in page.svgs[0]["texts"]]
    assert "an axis of its own" not in "".join(page.words) and sum("linear from 0" in text for text in texts) == 1 and "did not run" in texts, texts
    write("one.jsonl", a_record(gflops=5, peak_gflops=10), a_record(**bf16, gflops=732, peak_gflops=990))
    page = report("one.jsonl")
    assert "an axis of its own" in "".join(page.words)
    for svg in (page.svgs[0], page.narrow[0]):
        texts = [text for text, *_ in svg["texts"]]
        assert {"f32: GFLOP/s, linear from 0", "bf16: GFLOP/s, linear from 0", "measured peak 10.0", "measured peak 990"} <= set(texts), texts
        assert [told for *_, told in bars(svg)] == ["5.00", "732"], svg["texts"]


@case
def bars_are_in_proportion_to_their_numbers():
    """Also where one is 10,000 times another: a longer bar is a larger number."""
    reading()
    write("a.jsonl", *[a_record(rung=rung, gflops=gflops) for rung, gflops in (("r01_naive", 0.25), ("r02_tiled", 99), ("r04_banks", 2500), ("r05_outer", 1250))])
    page = report("a.jsonl")
    for svg in (page.svgs[0], page.narrow[0]):
        assert "f32: GFLOP/s, linear from 0" in [text for text, *_ in svg["texts"]]
        lengths = {told: length for length, _, told in bars(svg)}
        assert abs(lengths["2500"] / lengths["1250"] - 2) < 0.01 and lengths["0.25"] == 0.5, lengths


@case
def bars_and_roofs_stand_beside_the_peak_of_their_threads():
    reading()
    cpu = {"engine": "cpu", "device": "CPU X", "kernel": None, "build": None, "block_threads": None}
    one = a_record(**cpu, rung="r10_register", threads=1, gflops=137, peak_gflops=217, no_cache_gflops=100)
    several = a_record(**cpu, rung="r11_warp", threads=16, gflops=1500, peak_gflops=2680)
    library = a_record(**{**cpu, "kernel": "zen4"}, rung=None, library="blis", threads=2, gflops=300, peak_gflops=434)
    for records, said in (([one, several], ["peak of one thread 217", "peak of 16 threads 2680"]), ([one], ["peak of one thread 217"]),
                          ([several], ["peak of 16 threads 2680"]), ([several, one, library], ["peak of one thread 217", "peak of 16 threads 2680", "peak of 2 threads 434"])):
        write("a.jsonl", *records)
        page = report("a.jsonl")
        for svg in page.svgs + page.narrow:
            roofline = svg["name"].startswith("Roofline")
            assert [text for text, *_ in svg["texts"] if "peak" in text] == ([words for words in said[::-1] if "2 threads" not in words] if roofline else said), svg["texts"]
        for svg in (page.svgs[0], page.narrow[0]):  # the peak beside a bar is that of its threads
            beside = {text: next(float(a["x1"]) for tag, a in svg["shapes"] if a.get("class") == "axis dash" and float(a["y1"]) < y < float(a["y2"]) + 1)
                      for text, _, y, style in svg["texts"] if text in ("137", "1500", "300") and style == ""}
            assert len(beside) == len(records) and [beside[told] for told in ("137", "300", "1500") if told in beside] == sorted(beside.values()), beside
            assert len(set(beside.values())) == len(beside), beside


@case
def a_rung_has_one_colour_on_the_whole_page():
    reading()
    page = report(*[f for f in committed() if "ladder-" in f or "curves-" in f])
    colours = {}
    for svg in page.svgs:
        assert svg["series"], "a picture without a series"
        for label, (colour, *dashes) in svg["series"]:
            rung = label.split(" ")[0]
            colours.setdefault(rung.split("_")[0] if re.match(r"r\d\d", rung) else rung, set()).add(colour[1:])
    assert len(colours) > 15 and all(len(found) == 1 for found in colours.values()), colours
    curves = [series for svg in page.svgs if "curve" in str(svg["shapes"]) for series in [svg["series"]]]
    assert len(curves) >= 3, curves
    for series in curves:  # no two look alike, but for the thin lines of variants
        strong = [tuple(look) for _, look in series if "slight" not in look]
        assert len(set(strong)) == len(strong) and all(re.match(r"r\d\d[a-z]", label) for label, look in series if "slight" in look), series


def sections(*records):
    """The sections of a page of these records, all of which its navigation has, and no others."""
    write("sections.jsonl", *records)
    page = report("sections.jsonl")
    found = [name for name in page.ids if name + "-h" in page.labelled]
    assert page.links == ["devices"] + found, (page.links, found)  # the first skips to the content
    return found, "".join(page.words)


@case
def sections_without_data_are_not_there():
    reading()
    thin, library = a_record(rung="s1_unoptimised", k=16), a_record(rung=None, kernel="blis", library="blis")
    always = {"devices", "method", "records"}
    for records, has in (([thin], {"skinny", "stories"}), ([a_record()], {"ladders", "stories"}), ([library], {"libraries"}), ([a_record(rung="r99_mine", kernel=None)], {"ladders"}),
                         ([a_record(), a_record(m=64, n=64, k=64)], {"ladders", "sizes", "stories"}), ([a_record(device="NVIDIA H200"), thin], {"ladders", "traffic", "skinny", "stories"})):
        found, words = sections(*records)
        assert set(found) == always | has, (found, has)
        assert ("Thin matrices" in words) == ("skinny" in has) and ("ladder --skinny" in words) != ("skinny" in has), found


@case
def hosts_days_and_runs_are_those_of_the_records():
    reading()
    records = [a_record(host="a", run_id="1", time="2026-11-21T04:18:41Z"), a_record(host="a", run_id="1", time="2026-11-21T23:18:41Z", rung="r03_coalesced"),
               a_record(host="a", run_id="2", time="2026-11-22T04:18:41Z", rung="r04_banks"), a_record(host="b", run_id="3", time="2026-11-22T04:18:41Z"),
               a_record(device="Y", host=None)]
    for count, said in ((1, "of 1 host, 1 day and 1 run;"), (2, "of 1 host, 1 day and 1 run;"), (3, "of 1 host, 2 days and 2 runs;"), (4, "of 2 hosts, 2 days and 3 runs;"),
                        (5, "of 2 hosts (unknown of 1 record), 2 days and 3 runs (unknown of 1 record);")):
        write("a.jsonl", *records[:count])
        words = "".join(report("a.jsonl").words)
        assert "The records are " + said in words and "in the same run" not in words, (said, words[:3000])
    for name in "one", "two":
        good("bench", "--size", "24,32", "--samples", 1, "--json", name + ".jsonl")
    runs = [json.loads(line)["run_id"] for name in ("one", "two") for line in open(name + ".jsonl")]
    assert runs[0] == runs[1] != runs[2] == runs[3], runs
    report("one.jsonl", "two.jsonl")
    assert "of 1 host, 1 day and 2 runs;" in open("page.html").read() or "2 days" in open("page.html").read()  # midnight


@case
def what_others_used_is_told_where_it_disturbs():
    reading()
    write("a.jsonl", a_record(others=0.81), a_record(rung="r03_coalesced", others=0.06), a_record(rung="r04_banks", others=0.04), a_record(rung="r05_outer"))
    page = report("a.jsonl")
    words = "".join(page.words)
    assert "While 2 of 4 rungs were measured other processes used 5 % of the processors or more, up to 81 %" in words and "up to 81 % of the processors" in words, words[:3000]
    cells = {row[0]: row[-1] for table in page.tables if table["rows"][0][-1] == "Others" for row in table["rows"][1:]}
    assert cells == {"r02_tiled": "81.0%", "r03_coalesced": "6.0%", "r04_banks": "4.0%", "r05_outer": "-"}, cells
    write("quiet.jsonl", a_record(others=0.04))
    words = "".join(report("quiet.jsonl").words)
    assert "may be too long" not in words and "up to 4 % of the processors" in words
    write("beyond.jsonl", a_record(others=0.81, fraction_of_bound=25.98), a_record(rung="r03_coalesced", fraction_of_bound=1.5, others=0.01))
    words = "".join(report("beyond.jsonl").words)
    assert "r02_tiled: 2598 % of the bound of 1000 GFLOP/s that nothing can beat: an error of measurement: the bound was measured too low, for other processes used 81 %" in words, words[:4000]
    assert "r03_coalesced: 150 % of the bound" in words and "measured too low, or the time too short" in words


@case
def a_narrow_screen_has_bars_of_its_own():
    """Of both pictures of bars a page shows one, by the width of the screen; the narrow one needs 400 pixels, and says the same."""
    reading()
    page = report(next(f for f in committed() if f.endswith("ladder-4096.jsonl")))
    assert ".chart.narrow{display:none}" in page.style and re.search(r"@media screen and \(max-width:(\d+)px\)\{\.chart\.wide\{display:none\}\.chart\.narrow\{display:block;min-width:0;", page.style)
    good("report", "page.html", "--slides", "-o", "slides.html")
    assert ".slide svg{max-height:62vh}.slide .narrow{max-height:none}" in check("slides.html").style, "a high picture would shrink to a screen"
    wide = {svg["name"]: svg for svg in page.svgs}
    assert len(page.narrow) >= 3
    for svg in page.narrow:
        assert svg["box"][2] == 400 and [told for *_, told in bars(svg)] == [told for *_, told in bars(wide[svg["name"]])], svg["name"]


@case
def the_no_cache_bound_is_cut_at_the_peak():
    reading()
    write("a.jsonl", a_record(no_cache_gflops=4000, peak_gflops=1000, bound_asked_gflops=1000))
    page = report("a.jsonl")
    table = next(t for t in page.tables if "No-cache GFLOP/s" in t["rows"][0])
    assert dict(zip(table["rows"][0], table["rows"][1]))["No-cache GFLOP/s"] == "1000", table
    done = good("ladder", "--size", 128, "--samples", 1, "--rung", "r04,r14", "--json", "x.jsonl")
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if re.match(r"r\d\d\w* +\d+ ", line)}
    for record in map(json.loads, open("x.jsonl")):
        cell = float(rows[record["rung"]][-2])
        assert cell <= record["peak_gflops"] * 1.001, (rows, record)
        assert abs(record["no_cache_gflops"] - 2 * 128 ** 3 / record["bytes_asked"] * (record["no_cache_gflops"] * record["bytes_asked"] / (2 * 128 ** 3))) < 1
        assert record["bound_asked_gflops"] == min(record["no_cache_gflops"], record["peak_gflops"]), record


@case
def refused_and_wrong_rows_are_told():
    reading()
    write("a.jsonl", a_record(), a_record(rung="r12_async", kernel=None, refused="it needs sm_90 <b>", median_s=None, gflops=None, verified="no"),
          a_record(rung="r05_outer", verified="WRONG", median_s=None, gflops=None))
    text = "".join(report("a.jsonl").words)
    assert "it needs sm_90 <b>" in text and "WRONG" in text


def slides(*files):
    """The slides of records: each one's question and the rest of its text."""
    good("report", *files, "--slides", "-o", "slides.html")
    check("slides.html")
    text = open("slides.html", encoding="utf-8").read()
    assert "scroll-snap-type:y mandatory" in text and "scroll-snap-align:start" in text
    found = re.findall(r'<section class="slide" id="[a-z]+-\d+" aria-labelledby="[a-z]+-\d+-h">\n<h2 id="[a-z]+-\d+-h">(.*?)</h2>\n(.*?)</section>', text, re.S)
    assert len(found) == text.count("<section"), "a slide of another form"
    for question, rest in found:
        assert question.endswith("?") and rest.count("<svg") - rest.count('<svg class="chart narrow"') == 1 and rest.count("<details><summary>Answer</summary>") == 1, (question, rest[:200])
        assert rest.index("<svg") < rest.index("<details>") < rest.index("<li>"), question
    return found


@case
def slides_ask_about_what_was_measured():
    reading()
    file = next(f for f in committed() if f.endswith("ladder-4096.jsonl"))
    found = slides(file)
    median = {r["rung"]: r["median_s"] for r in map(json.loads, open(file)) if r["engine"] == "cuda" and r["build"] != "default"}
    times = {(new, old): f"{median[old] / median[new]:.2f} times" for new, old in (("r02_tiled", "r01_naive"), ("r03_coalesced", "r02_tiled"), ("r05_outer", "r04_banks"))}
    for (new, old), factor in times.items():
        asked = [(question, rest) for question, rest in found if question.startswith(new) and old in question]
        assert len(asked) == 1 and factor in asked[0][0], (new, asked)
        assert f"<strong>{new}</strong> {2 * 4096 ** 3 / median[new] / 1e9:.0f} GFLOP/s" in asked[0][1], asked
    assert any("asks for 16 times fewer bytes" in question and "only" in question for question, _ in found)
    assert sum(question.startswith("r02_tiled ") for question, _ in found) == 1, "CUDA and OpenCL share their rungs"
    assert len(slides(next(f for f in committed() if f.endswith("curves-cuda.jsonl")))[-1][1].split("<li>")) == 9, "eight sizes"
    good("report", "slides.html", "-o", "page.html")
    good("report", next(f for f in committed() if f.endswith("curves-cuda.jsonl")), "-o", "again.html")
    assert open("page.html", "rb").read() == open("again.html", "rb").read(), "slides hold the records"


@case
def slides_of_other_records():
    reading()
    cpu = {"engine": "cpu", "device": "CPU X", "kernel": None, "build": None, "block_threads": None, "tile": 0}
    write("a.jsonl", a_record(**cpu, rung="r10_register", threads=1, gflops=137), a_record(**cpu, rung="r11_warp", threads=16, gflops=1500, median_s=1e-4),
          a_record(**cpu, rung="r05_outer", refused="<b>", median_s=None, gflops=None, verified="no"), a_record(rung="mine", kernel=None, device="<i>"))
    questions = [question for question, _ in slides("a.jsonl")]
    assert "r11_warp runs on 16 threads, r10_register on 1. Why is it 10.00 times as fast?" in questions and not any("r05" in q or "mine" in q for q in questions), questions
    bad(2, "report", "a.jsonl", "--slides", "-o", "x.svg", says="x.svg")
    bad(2, "ladder", "--slides", says="--html")
    write("thin.jsonl", a_record(rung="s1_unoptimised", k=16))
    bad(6, "report", "thin.jsonl", "--slides", "-o", "x.html", says="there is no ladder among the records")
    good("ladder", "--size", 48, "--samples", 1, "--rung", "r01,r04", "--html", "run.html", "--slides")
    assert "r04_banks" in open("run.html").read() and len(check("run.html").svgs) == 4


# ---- hostile records --------------------------------------------------------------------------------------------------

@case
def nothing_of_a_record_becomes_markup():
    reading()
    nasty = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> & \" ' ]]> \u202e\ufffe\x85\U0001fffe"
    write("a.jsonl", a_record(device=nasty, rung="r02<svg/onload=alert(3)>", method=nasty, driver=nasty, dtype="f32", version=nasty, plan=nasty),
          a_record(device=nasty, dtype="</td>"), a_record(device=nasty, rung="r99", refused=nasty, verified="no"))
    page = report("a.jsonl")
    good("report", "a.jsonl", "--slides", "-o", "slides.html")
    check("slides.html")
    for path in ("page.html", "slides.html"):
        text = open(path, encoding="utf-8").read()
        assert text.count("<script") == 1 and text.count("</script") == 1 and "<img" not in text and "<!--" not in text
        assert not any(c in text for c in "\u202e\ufffe\x85\U0001fffe")
    assert json.loads(page.lines()[0])["device"] == nasty, "the embedded record is another one"


@case
def numbers_that_are_none_are_refused():
    reading()
    for field, value, says in (("median_s", "1e999", "line 2"), ("median_s", "NaN", "line 2"), ("gflops", "-1", "gflops"), ("m", "1.5", "m: found a fraction"),
                               ("m", "-3", "m: found -3"), ("n", "99999999999999999999", "line 2"), ("k", '"7"', "k: found a string"), ("device", "7", "device: found a number"),
                               ("tile", "4294967296", "tile: found 4294967296"), ("bytes_asked", "1e300", "bytes_asked"), ("gflops", "5e-324", "gflops: found"), ("op_a", '"x"', "op_a"),
                               ("median_s", "0", "median_s"), ("device", '"' + "x" * 1001 + '"', "device: a string of 1001 bytes"), ("rung", "[]", "rung: found an array")):
        line = json.dumps(a_record()).replace(json.dumps(field) + ": " + json.dumps(a_record()[field]), json.dumps(field) + ": " + value)
        write("bad.jsonl", a_record(), line)
        bad(6, "report", "bad.jsonl", "-o", "x.html", says=["bad.jsonl: line 2", says])


@case
def fields_that_must_be_there():
    reading()
    for field in ("engine", "device", "dtype", "m", "n", "k", "method", "median_s", "gflops", "verified"):
        write("null.jsonl", a_record(**{field: None}))
        bad(6, "report", "null.jsonl", "-o", "x.html", says=["null.jsonl: line 1", field])
        gone = a_record()
        del gone[field]
        write("gone.jsonl", gone)
        bad(6, "report", "gone.jsonl", "-o", "x.html", says=["gone.jsonl: line 1", field])
    write("few.jsonl", {k: v for k, v in a_record().items() if k in ("engine", "device", "rung", "dtype", "m", "n", "k", "method", "median_s", "gflops", "verified")})
    report("few.jsonl")


@case
def huge_and_tiny_numbers_are_drawn():
    reading()
    for gflops in (1e-12, 1e29):
        write("a.jsonl", a_record(gflops=gflops, peak_gflops=1e30), a_record(rung="r03_coalesced", gflops=gflops * 1.0000001), a_record(rung="r01_naive", m=0, n=0, k=0))
        report("a.jsonl")
    write("b.jsonl", *[a_record(rung="r%02d_x" % i, gflops=10.0 ** (30 - 2 * i), bytes_asked=10.0 ** i) for i in range(30)])
    report("b.jsonl")
    write("c.jsonl", *[a_record(rung=rung, m=n, n=n, k=n, gflops=gflops, peak_gflops=0, no_cache_gflops=0, compulsory_bytes=0, bandwidth_gbps=0)
                       for rung, gflops in (("r01_naive", 0), ("r02_tiled", 5)) for n in (0, 64)])
    report("c.jsonl")
    write("d.jsonl", a_record(gflops=0, peak_gflops=0), a_record(rung="r04_banks", m=0))
    report("d.jsonl")
    good("report", "d.jsonl", "-o", "d.svg")
    assert not re.search(r"\b(nan|inf)\b", open("d.svg").read())
    for m in (2**53, 2**40, 10**9):
        write("e.jsonl", a_record(device="NVIDIA H200", engine="cuda", kernel=None, rung="r02_tiled", m=m, n=m, k=m))
        report("e.jsonl")


@case
def broken_files_are_refused():
    reading()
    whole = json.dumps(a_record())
    for text, says in (("", "holds no record"), ("\n\n", "holds no record"), (whole[:100], "line 1: column"), (whole + "\n{", "line 2: column"), ("[]", "line 1: found an array"),
                       ("1", "line 1"), (whole + whole, "line 1: column"), (whole.replace('"m"', '"n"'), "duplicate"), ('{"a": "\\ud800"}', "line 1"),
                       ("[" * 5000, "line 1")):
        open("broken.jsonl", "w").write(text)
        bad(6, "report", "broken.jsonl", "-o", "x.html", says=["broken.jsonl", says])
    open("bytes.jsonl", "wb").write(whole.replace("Device X", "Device \xff").encode("latin-1"))
    bad(6, "report", "bytes.jsonl", "-o", "x.html", says="bytes.jsonl: line 1")
    open("zero.jsonl", "wb").write(whole.encode() + b"\0")
    bad(6, "report", "zero.jsonl", "-o", "x.html", says="zero.jsonl: line 1")
    os.mkdir("folder.jsonl")
    bad(6, "report", "folder.jsonl", "-o", "x.html", says=["folder.jsonl", "directory"])
    bad(6, "report", "missing.jsonl", "-o", "x.html", says=["missing.jsonl", "No such file"])
    with open("long.jsonl", "w") as file:
        file.write('{"device": "')
        for _ in range(100):
            file.write("x" * 1000000)
    bad(6, "report", "long.jsonl", "-o", "x.html", says=["long.jsonl: line 1", "longer than 65536 bytes"])
    write("many.jsonl", *[whole] * 10001)
    bad(6, "report", "many.jsonl", "-o", "x.html", says=["many.jsonl: line 10001", "more than 10000 records"])


@case
def a_page_of_very_many_records_holds_them_all():
    reading()
    many = [a_record(gflops=float(i), plan="p" * 200) for i in range(1, 3000)]
    write("many.jsonl", *many)
    page = report("many.jsonl")
    assert os.path.getsize("page.html") > 1000000
    assert [json.loads(line) for line in page.lines()] == [known(r) for r in many]
    good("report", "page.html", "-o", "again.html")
    assert open("again.html", "rb").read() == open("page.html", "rb").read()
    write("escaped.jsonl", a_record(more="<" * 60000))  # in the page six times as long
    report("escaped.jsonl")
    good("report", "page.html", "-o", "again.html")
    assert open("again.html", "rb").read() == open("page.html", "rb").read()


@case
def pages_that_are_none_are_refused():
    reading()
    element = '<script id="tilewright-records" type="application/x-ndjson">\n'
    whole = "<!DOCTYPE html>\n" + "x" * 100000 + "\n" + element + json.dumps(a_record()) + "\n</script>\n" + "y" * 100000
    open("good.html", "w").write(whole)
    report("good.html")
    open("windows.html", "w", newline="").write(whole.replace("\n", "\r\n"))
    report("windows.html")
    for text, says in (("<!DOCTYPE html>\n<p>no records</p>\n", "is a page without records"), ("<" * 200000, "is a page without records"),
                       (whole.replace(element, "<p>" + element), "is a page without records"), (whole.replace("</script>", ""), "line 6: "),
                       (whole[:whole.index("</script>")], "was cut off"), (element + "</script>\n", "holds no record"),
                       (whole.replace('"k": 512', '"k": -1'), "line 4: k: found -1"), (element + "[" * 5000 + "\n</script>", "line 2: "),
                       (element + "x" * 400000 + "\n</script>", "line 2: is longer than 393216 bytes")):
        open("bad.html", "w").write(text)
        bad(6, "report", "bad.html", "-o", "x.html", says=["bad.html", says])
        assert not os.path.exists("x.html")
    bad(6, "report", "/dev/zero", "-o", "x.html", says="longer than 65536 bytes")


@case
def what_a_page_takes_has_limits():
    reading()
    write("sizes.jsonl", *[a_record(m=n, n=n, k=n) for n in range(1, 9000)])
    bad(6, "report", "sizes.jsonl", "-o", "x.html", says="of 8999 shapes on all machines, a page takes 512")
    write("tiles.jsonl", *[a_record(tile=n) for n in range(1, 200)])
    bad(6, "report", "tiles.jsonl", "-o", "x.html", says="of 199 rungs and tiles of one shape on one machine, a page takes 128")
    write("texts.jsonl", *[a_record(device=f"{i}" + "<" * 990, method="&" * 1000) for i in range(24)])
    report("texts.jsonl")


@case
def the_page_appears_whole_or_not_at_all():
    reading()
    write("a.jsonl", a_record())
    bad(2, "report", "a.jsonl", says="-o FILE is missing")
    bad(2, "report", "a.jsonl", "-o", "a.pdf", says="a.pdf: found another ending")
    bad(7, "report", "a.jsonl", "-o", "nowhere/x.html", says="nowhere/x.html")
    bad(7, "report", "a.jsonl", "-o", "/dev/full", says="cannot be written")
    good("report", "a.jsonl", "-o", "kept.html")
    kept = open("kept.html").read()
    write("b.jsonl", "{")
    bad(6, "report", "a.jsonl", "b.jsonl", "-o", "kept.html", says="b.jsonl")
    assert open("kept.html").read() == kept
    open("theirs.html", "w").write("<html>theirs")
    bad(7, "report", "a.jsonl", "-o", "theirs.html", says="of another program")
    assert open("theirs.html").read() == "<html>theirs"


if __name__ == "__main__":
    main()
