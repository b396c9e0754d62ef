#!/usr/bin/python3 -B
"""test_explain_page.py - the page of `tilewright explain RUNG --html FILE`: well formed, its pictures true to what the text and the records say, for any
shape and element; and what must be refused.

    test_explain_page.py [--list] [--full] [--only TEXT] [PROGRAM]
"""
import json
import os
import re
import shutil
import sys

from support.page import check
from support.program import PROGRAM, ROOT, bad, good, table_rows
from support.tap import Skip, case, main

ENGINE = ("--engine", "cuda", "--gpu", "GTX 280")


def explained(*words):
    """The page, and the text that the terminal gets with it."""
    done = good("explain", *words, "--html", "x.html")
    return check("x.html"), done.stdout


def named(page, start):
    return [svg for svg in page.svgs if svg["name"].startswith(start)]


def rects(svg, kind):
    return [attrs for tag, attrs in svg["shapes"] if tag == "rect" and kind in attrs["class"].split()]


def words_of(svg):
    return [text for text, *_ in svg["texts"]]


def requests(text):
    """(heading, numbers) of each request that the terminal draws: sectors, lines, bytes used; or wavefronts and the words of each bank."""
    found = []
    lines = text[text.index("What one warp touches"):].splitlines()
    for heading, *drawn in zip(lines, lines[1:], lines[2:]):
        words = re.search(r"(\d+) sectors? in (\d+) lines?, (\d+) of (\d+) bytes used", drawn[0])
        if words and drawn[0].startswith("    sector"):
            found.append((heading.strip(), [int(x) for x in words.groups()]))
        words = re.search(r"(\d+) wavefronts?$", drawn[0])
        if words and drawn[0].startswith("    word"):
            banks = [0 if x == "." else int(x) for x in drawn[1].split()[1:33]]
            found.append((heading.strip(), [int(words.group(1)), banks]))
    return found


def sectors_are_drawn(svg, sectors, lines, used, moved):
    assert len(rects(svg, "sector")) == sectors, (svg["name"], len(rects(svg, "sector")), sectors)
    assert len({x["y"] for x in rects(svg, "lane")}) == lines and len(rects(svg, "lane")) * 4 == used, svg["name"]
    frames = [(float(x["x"]), float(x["y"]) + 1, float(x["width"])) for x in rects(svg, "sector")]
    for word in rects(svg, "lane"):
        assert any(left <= float(word["x"]) < left + wide and top == float(word["y"]) for left, top, wide in frames), f"{svg['name']}: a word outside all sectors"
    assert words_of(svg)[0].startswith(f"{sectors} sector") and f"{used} of {moved} bytes used: {100 * used / moved:.0f} %" in words_of(svg)[0], words_of(svg)[0]


def banks_are_drawn(svg, wavefronts, banks):
    places = {}
    for word in rects(svg, "lane"):
        places.setdefault(float(word["x"]), []).append(float(word["y"]))
    first = min(x for text, x, y, _ in svg["texts"] if re.fullmatch(r"\d+", text) and y == max(y for _, _, y, _ in svg["texts"]))
    drawn = {round((x + 7.5 - first) / 15): len(set(ys)) for x, ys in places.items()}
    labels = [text for text in words_of(svg) if re.fullmatch(r"wavefront \d+", text)]
    assert len(labels) == wavefronts and words_of(svg)[0].split()[0] == str(wavefronts), (svg["name"], labels)
    halves = "16 bytes a lane" in svg["name"]  # each half-warp has its own stack, and may want a word that the other wants
    assert halves or ([drawn.get(b, 0) for b in range(32)] == banks and max(banks) == wavefronts), (svg["name"], drawn, banks)
    assert len({y for ys in places.values() for y in ys}) == wavefronts, (svg["name"], places)


@case
def requests_are_drawn_as_they_are_counted():
    for words in ("r01", "r01 --tile 32", "r02", "r02 --tile 32 --element 40,70", "r02 --tile 8", "r03", "r03t", "r04 --shape 100x77x50 --element 99,76", "r05", "r07", "r08", "r09", "r10",
                  "r11 --shape 300x200x64 --element 299,199", "r12", "s2", "s3 --shape 33x17x32"):
        page, text = explained(*words.split(), *ENGINE)
        told = requests(text)
        drawn = [svg for svg in page.svgs if re.match("(load|store|read) of", svg["name"])]
        assert [svg["name"] for svg in drawn] == [heading for heading, _ in told] and told, words
        for svg, (_, numbers) in zip(drawn, told):
            (banks_are_drawn if "tile, word" in svg["name"] else sectors_are_drawn)(svg, *numbers)
    assert any(numbers[0] == 2 for heading, numbers in requests(explained("r05", *ENGINE)[1]) if "16 bytes a lane" in heading)


@case
def lanes_are_where_the_text_says():
    svg, = named(explained("r02", *ENGINE)[0], "load of B")
    texts = words_of(svg)
    assert [x for x in texts if x.startswith("B(")] == [f"B({row},2)" for row in range(16)], texts
    assert "lanes 0, 16" in texts and "lanes 15, 31" in texts, texts
    svg, = named(explained("r03t", *ENGINE)[0], "load of B")  # stored transposed: a line has rows
    assert [x for x in words_of(svg) if x.startswith("B(")] == ["B(0,2)", "B(0,3)"], words_of(svg)
    svg, = named(explained("r01", *ENGINE)[0], "load of A")
    assert words_of(svg).count("*") == 2 and "lanes 0-15" in words_of(svg), words_of(svg)


@case
def tables_have_the_numbers_of_the_text():
    for words in ("r02", "r03", "s2", "r05 --shape 129x300x47"):
        page, text = explained(*words.split(), *ENGINE)
        rows = {}
        for table in page.tables:
            for row in table["rows"]:
                rows.setdefault(row[0], []).append(row[1:])
        for line in re.findall(r"^((?:load|store|read) of .+?)  +(\d+)  +(.+)$", text, re.M):
            assert [line[1], *re.split(r"  +", line[2].strip())] in rows[line[0]], (words, line)
        orders = re.findall(r"^(load of [AB]) +(\S+) +(\S+)$", text, re.M)
        assert len(orders) == 2 and all(list(sectors) in rows[name] for name, *sectors in orders), (words, orders, rows)
        bound = next(line for line in text.splitlines() if line.startswith("GeForce GTX 280")).split()
        assert [x for x in bound[3:] if x not in "|to"] == [x for cell in rows["GeForce GTX 280"][0] for x in cell.split() if x != "to"], (bound, rows["GeForce GTX 280"])
        for label, numbers in re.findall(r"^(flop|bytes asked|flop per byte|compulsory) {2,}(.+)$", text, re.M):
            assert any(numbers == said for said in page.words), (words, label, numbers)


@case
def the_element_is_in_every_picture():
    for shape, element in (("64x64x64", "0,0"), ("64x64x64", "63,63"), ("100x77x50", "99,76"), ("1x1x1", "0,0"), ("1x100000000x3", "0,99999999"), ("100000000x1x40", "99999999,0")):
        i, j = element.split(",")
        k = int(shape.split("x")[2])
        for rung in ("r01", "r02", "r08", "r10"):
            page, _ = explained(rung, "--shape", shape, "--element", element, *ENGINE)
            footprint, = named(page, "The footprint")
            assert {f"row {i} of A", f"column {j} of B", f"C({i},{j})"} <= set(words_of(footprint)), words_of(footprint)
            assert sorted(float(x["width"]) for x in rects(footprint, "f0")) == [13 * min(k, 16)], rects(footprint, "f0")
            iterations = named(page, "Iteration ")
            tiles = -(-k // 16)
            assert len(iterations) == (0 if rung == "r01" else min(tiles, 3)), (rung, shape, len(iterations))
            for number, svg in zip((1, 2, tiles), iterations):
                assert words_of(svg)[0] == f"iteration {number} of {tiles}, p from {16 * (number - 1)} to {min(16 * number, k) - 1}", words_of(svg)
                assert [sum(x["class"] == kind for x in rects(svg, kind)) for kind in ("f0", "f1", "f2")] == [1, 1, 1], words_of(svg)
            steps = [svg["name"] for svg in named(page, "Step ")]
            depth = min(k, 16)
            assert steps == ([f"Step {p} of a tile" for p in sorted({0, min(1, depth - 1), depth - 1})] if rung == "r08" else []), (rung, shape, steps)


@case
def pictures_of_the_documents():
    page, text = explained("r01", "--element", "1,5", *ENGINE)
    sentence = "C(1,5) = A(1,0) B(0,5) + A(1,1) B(1,5) + A(1,2) B(2,5) + ... + A(1,4095) B(4095,5)"
    assert any(sentence in words for words in page.words) and sentence in text
    page, _ = explained("r04", "--shape", "32x32x32", "--element", "20,3", *ENGINE)
    blocks, = named(page, "A product of 2 x 2")
    assert "C21 = A21 B11 + A22 B21   holds the element" in words_of(blocks), words_of(blocks)
    first, second = named(page, "Iteration")
    assert "C(1,0) += A(1,1) B(1,0); both tiles in shared memory" in words_of(second), words_of(second)
    assert "iteration 1 of 2, p from 0 to 15" in words_of(first) and words_of(second).count("done") == 2, words_of(second)
    page, _ = explained("r05", *ENGINE)
    assert "thread 11: sum[3] += A(3,15) from shared memory times B(15,11) from its register" in words_of(named(page, "Step 15")[0])
    assert "C(0,0) += A(0,0) B(0,0); A's tile in shared memory" in words_of(named(page, "Iteration")[0])
    for rung, near in (("s1", "no tile"), ("s2", "A's tile"), ("s3", "both tiles")):
        page, _ = explained(rung, "--element", "40,20", *ENGINE)
        figure, = named(page, "One column of tiles")
        assert "c = a b: tile (2,1) of C, one block of threads" in words_of(figure), words_of(figure)
        assert any(f": {near} in shared memory." in words for words in page.words) and named(page, "A row of threads"), rung


@case
def every_rung_has_a_page():
    for engine, what in (("cpu", "rung|wide"), ("cuda", "rung|tile"), ("opencl", "tile")):
        rungs = list(dict.fromkeys(name for name, _, _ in table_rows(engine, what)))
        for rung in rungs if "--full" in sys.argv else rungs[::3]:  # test_explain.py has the text of each
            page, text = explained(rung, "--engine", engine, "--shape", "500x300x16", "--gpu", "H200")
            reason = re.search(r"What one warp touches\n(.+)\n", text).group(1)
            modelled = reason.startswith("warp ")
            assert modelled == bool(named(page, "The lanes of a warp")) and (modelled or any(reason + "." in words for words in page.words)), (rung, reason)
            assert len(named(page, "The footprint")) == 1 and page.tags.count("section") == 7, rung


@case
def the_mix_of_instructions():
    page, _ = explained("r04", "--engine", "cpu", "--gpu", "P100")
    assert "tilewright explain r04_banks --engine cpu --binary --html FILE" in page.words
    if shutil.which("objdump") is None or b"__asan_init" in open(PROGRAM, "rb").read():
        raise Skip("no objdump, or a program with AddressSanitizer")
    good("explain", "r04", "--engine", "cpu", "--gpu", "P100", "--binary", "--json", "x.json", "--html", "x.html")
    record, page = json.load(open("x.json")), check("x.html")
    mix, = [table["rows"] for table in page.tables if table["rows"][0] == ["Kind", "Instructions", "Share"]]
    assert sum(int(row[1]) for row in mix[1:]) == record["loop_instructions"] and ["multiply-adds", str(record["loop_multiply_adds"])] == mix[1][:2], (mix, record)


@case
def what_changed_stands_there():
    page, _ = explained("r04", *ENGINE)
    text = "".join(page.words)
    for words in ("from r03: two pairs of subscripts of b_tile swapped", "3 lines new, 3 gone since r03_coalesced"):
        assert words in text, words
    assert page.tags.count("ins") == page.tags.count("del") == 3


@case
def the_page_takes_nothing_from_the_text():
    _, text = explained("r03", *ENGINE)
    first = open("x.html", "rb").read()
    assert good("explain", "r03", *ENGINE).stdout == text
    explained("r03", *ENGINE)
    assert open("x.html", "rb").read() == first, "the page of the same rung is another one"
    good("explain", "r03", *ENGINE, "--html", "x.html", "--json", "x.json")
    assert json.load(open("x.json"))["rung"] == "r03_coalesced"


@case
def what_must_be_refused():
    bad(2, "explain", "--tables", "--html", "x.html", says="--html takes a rung")
    for name in ("x.svg", "x.md"):
        bad(2, "explain", "r01", "--html", name, says=[name, "such as .html"])
    bad(2, "explain", "r01", "--html", "-", says="a page is written to a file")
    bad(2, "explain", "r01", "--html", "x.html", "--json", "x.html", says="the same file")
    bad(2, "explain", "r99", "--html", "x.html", says="no such rung")
    bad(2, "explain", "r01", "--shape", "4x4x4", "--element", "4,0", "--html", "x.html", says="lies outside C")
    for name in ("nowhere/x.html", "/dev/full"):
        assert bad(7, "explain", "r01", *ENGINE, "--html", name, says=name).stdout == ""
    open("theirs.html", "w").write("<html>theirs")
    bad(7, "explain", "r01", *ENGINE, "--html", "theirs.html", says="of another program")
    good("explain", "r01", *ENGINE, "--html", "theirs.html", "--force")
    check("theirs.html")


if __name__ == "__main__":
    main()
