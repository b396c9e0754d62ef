"""page.py - a page of HTML, taken apart, and what must hold of any that this program writes."""
import html.parser
import itertools
import math
import re

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.ids, self.headings, self.labelled, self.links = [], [], [], [], [], []
        self.texts, self.script, self.style, self.words = [], [], "", []
        self.tables, self.svgs, self.narrow, self.text_at = [], [], [], None
        self.drawn = None  # the picture that is being read: of svgs, or of narrow, which a narrow screen shows instead
        assert text.startswith("<!DOCTYPE html>\n<html lang=\"en\">"), text[:60]
        self.feed(text)
        self.close()
        assert self.stack == [], f"not closed: {self.stack}"

    def handle_starttag(self, tag, attrs):
        self.open(tag, dict(attrs))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.stack, f"<{tag}/> outside SVG"
        self.open(tag, dict(attrs))

    def open(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs.items():
            assert not name.startswith("on") and name not in ("src", "srcset", "action", "style"), f"{tag} has {name}={value}"
            assert "nan" not in value.lower().split() and not re.search(r"\b(nan|inf)\b", value) or name.startswith("aria"), f"{tag} has {name}={value}"
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if "aria-labelledby" in attrs:
            self.labelled += attrs["aria-labelledby"].split()
        if "href" in attrs:
            assert attrs["href"].startswith("#"), attrs["href"]
            self.links.append(attrs["href"][1:])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "script":
            assert attrs == {"id": "tilewright-records", "type": "application/x-ndjson"}, attrs
        if tag == "table":
            self.tables.append({"caption": 0, "rows": []})
        if tag == "caption":
            self.tables[-1]["caption"] += 1
        if tag == "tr":
            self.tables[-1]["rows"].append([])
        if tag in ("td", "th"):
            assert tag == "td" or attrs.get("scope") in ("col", "row"), "a <th> without scope"
            self.tables[-1]["rows"][-1] += [""] * int(attrs.get("colspan", 1))
        if tag == "svg":
            assert attrs["role"] == "img" and attrs["aria-label"], attrs
            self.drawn = {"name": attrs["aria-label"], "box": [float(x) for x in attrs["viewbox"].split()], "texts": [], "tags": [], "shapes": [], "series": []}
            (self.narrow if "narrow" in attrs["class"].split() else self.svgs).append(self.drawn)
        if "svg" in self.stack:
            self.drawn["tags"].append(tag)
            self.drawn["shapes"].append((tag, attrs))
            if tag == "rect" and attrs.get("class", "").startswith("bar "):
                self.drawn["series"].append((self.drawn["texts"][-1][0], attrs["class"].split()[1:]))  # behind its label
            if tag == "text":
                self.text_at = (float(attrs["x"]), float(attrs["y"]), attrs.get("class", ""))
            for name, value in attrs.items():
                if re.fullmatch("x[12]?|y[12]?|cx|cy|width|height", name):
                    assert math.isfinite(float(value)), (tag, name, value)

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, f"</{tag}> closes {self.stack[-3:]}"
        self.stack.pop()

    def handle_data(self, data):
        where = self.stack[-1] if self.stack else ""
        if where == "script":
            self.script.append(data)
        elif where == "style":
            self.style += data
        else:
            self.words.append(data)
        if "td" in self.stack or "th" in self.stack:
            self.tables[-1]["rows"][-1][-1] += data
        if where == "text":
            self.drawn["texts"].append((data, *self.text_at))
        if where == "title" and self.stack[-2] in ("circle", "path"):
            self.drawn["series"].append((data.split(":")[0], self.drawn["shapes"][-2][1]["class"].split()[1:]))

    def lines(self):
        return "".join(self.script).strip().splitlines()


def boxes(svg):
    """The texts of a picture with their boxes, by a careful width of their letters."""
    for text, x, y, style in svg["texts"]:
        width = 7 * len(text)
        left = x - width if "end" in style else x - width / 2 if "middle" in style else x
        yield text, (left, y - 9, left + width, y)


def overlap(svg):
    """Texts of a picture that lie over one another or leave it."""
    _, _, wide, high = svg["box"]
    outside = [t for t, b in boxes(svg) if b[0] < -2 or b[1] < 0 or b[2] > wide + 2 or b[3] > high]
    over = [(s, t) for (s, a), (t, b) in itertools.combinations(boxes(svg), 2) if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]
    return outside + over


def lines_of(svg, *classes, dashed=True):
    """The straight parts of lines and curves of these classes."""
    for tag, a in svg["shapes"]:
        names = set(a.get("class", "").split())
        if not names & set(classes) or ("dash" in names and not dashed):
            continue
        if tag == "line":
            yield tuple(float(a[name]) for name in ("x1", "y1", "x2", "y2"))
        if tag == "path":
            points = [tuple(map(float, point.split())) for point in re.split("[ML]", a["d"])[1:]]
            yield from (p + q for p, q in zip(points, points[1:]))


def crossed(svg):
    """Texts of a picture that a roof, an axis or a curve runs through."""
    def runs_through(line, box):
        x1, y1, x2, y2 = line
        first, last = 0, 1
        for start, way, low, high in ((x1, x2 - x1, box[0], box[2]), (y1, y2 - y1, box[1], box[3])):
            if way == 0:
                if not low < start < high:
                    return False
                continue
            one, other = sorted(((low - start) / way, (high - start) / way))
            first, last = max(first, one), min(last, other)
        return first < last
    lines = list(lines_of(svg, "roof", "axis", "curve"))
    return [text for text, box in boxes(svg) if any(runs_through(line, box) for line in lines)]


def open_ends(svg):
    """Ends of a picture's axes without a round number. Powers of two are round as sizes."""
    def is_round(text):
        return re.fullmatch(r"[\d.e+-]+", text) and (float(text) == float(f"{float(text):.1e}") or math.log2(float(text)) % 1 == 0)
    lines = list(lines_of(svg, "grid", "axis", dashed=False))
    level, upright = sorted(x1 for x1, _, x2, _ in lines if x1 == x2), sorted(y1 for _, y1, _, y2 in lines if y1 == y2)
    found = [x for x in level[:1] + level[-1:] if not any(abs(x - at) < 0.1 and style == "middle faint" and is_round(t) for t, at, _, style in svg["texts"])]
    return found + [y for y in upright[:1] + upright[-1:] if not any(abs(y + 5 - at) < 0.1 and style == "end faint" and is_round(t) for t, _, at, style in svg["texts"])]


def bars(svg):
    """The bars of a picture: (length, length that the axis below gives the number behind it, the number)."""
    shapes = [(set(a["class"].split()), a) for tag, a in svg["shapes"] if tag == "rect" and "class" in a]
    if not any("linear from 0" in text for text, *_ in svg["texts"]):
        assert not any("bar" in look for look, _ in shapes), "bars whose scale is not said"
        return
    numbers = [(float(text), x, y) for text, x, y, style in svg["texts"] if style == "middle faint" and re.fullmatch(r"[\d.e+-]+", text)]
    for a in (a for look, a in shapes if look & {"bar", "hollow"}):
        left, top, length = (float(a[name]) for name in ("x", "y", "width"))
        below = min(y for _, _, y in numbers if y > top)
        (zero, start), *between, (last, end) = sorted((value, x) for value, x, y in numbers if y == below)
        assert zero == 0 and start == left, f"a bar that does not begin at 0: {a}"
        assert all(abs(x - start - (end - start) * value / last) < 0.2 for value, x in between), f"an axis that is not linear: {between}"
        told, = [text.split()[-1] for text, x, y, _ in svg["texts"] if x >= left + length and top + 8 < y < top + 13.5]
        yield length, (end - start) * float(told) / last, told


def out_of_proportion(svg):
    """Bars that are not as long as the number behind them, to its digits, and longer than a hairline."""
    return [(length, right, told) for length, right, told in bars(svg)
            if abs(length - max(right, 0.5)) > 0.11 + right * (0.006 if len(re.sub(r"e.*|\.|^[0.]+", "", told)) > 2 else 0.06)]


def check(path):
    """The page in a file, after all that must hold of any page."""
    text = open(path, encoding="utf-8").read()
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids), "an id stands twice"
    assert set(page.labelled + page.links) <= set(page.ids), set(page.labelled + page.links) - set(page.ids)
    assert page.headings[0] == 1 and page.headings.count(1) == 1, page.headings
    assert all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:])), "a level of headings is left out"
    for landmark in ("header", "nav", "main", "footer"):
        assert page.tags.count(landmark) == 1, landmark
    for word in ("@import", "url(", "http", "expression("):
        assert word not in page.style, word
    for table in page.tables:
        assert table["caption"] == 1, "a table without a caption"
        widths = {len(row) for row in table["rows"]}
        assert len(widths) == 1, f"rows of {widths} cells: {table['rows'][0]}"
        cells = [row for row in table["rows"][1:] if len(row) < 3 or any(row[1:-1])]  # the others hold words
        dashes = [heading for heading, *column in zip(table["rows"][0], *cells) if column and set(column) == {"-"}]
        assert not dashes, f"columns of dashes: {dashes}"
    both = {"wide": text.count('class="chart wide"'), "narrow": text.count('class="chart narrow"')}
    assert both["wide"] == both["narrow"] == len(page.narrow), both
    for svg in page.svgs + page.narrow:
        assert out_of_proportion(svg) == [], f"bars out of proportion to their numbers: {out_of_proportion(svg)}"
        assert svg["tags"][:2] == ["title", "desc"], svg["tags"][:3]
        assert overlap(svg) == [], f"texts over one another or outside: {overlap(svg)}"
        assert crossed(svg) == [], f"texts that a line runs through: {crossed(svg)}"
        assert open_ends(svg) == [], f"ends of axes without a round number: {open_ends(svg)}"
    assert not re.search(r"\b(nan|inf|-nan)\b", " ".join(" ".join(row) for table in page.tables for row in table["rows"])), "NaN in a table"
    return page
