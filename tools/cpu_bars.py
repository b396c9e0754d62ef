"""cpu_bars.py - the bars of tools/cpu_tables.py, and its tables as text: pure functions of records."""
import math
import re
import statistics

# Of a table: the least geometric mean by type ("" for all others), and the least ratio of a shape.
BARS = {"rest": ({}, 0.6), "company": ({}, 0.6), "peak": ({}, 0.8), "level3": ({}, 0.92), "pause": ({"": 1.0}, 0), "wait": ({"": 1.0}, 0),
        "pause20": ({"": 1.0}, 0), "busy": ({"": 1.0}, 0.8), "types": ({"": 1.05}, 0.8), "types20": ({"": 1.05}, 0.8),
        "one": ({"f32": 0.98, "": 1.0}, 0), "two": ({"": 0.95}, 0.8), "sweep": ({}, 0)}


def least_ratio(r):
    """The bar of a shape; 0: it has none."""
    square = r["m"] == r["n"] == r["k"]
    if r["table"] == "one" and square and r["m"] >= 100:
        return 0.88
    return 0.7 if r["table"] == "rest" and r["m"] == 640 else BARS[r["table"]][1]


def least_mean(table, dtype):
    means = BARS[table][0]
    return means.get(dtype, means.get("", 0))


# ---- judging records ----

def shape_of(r):
    routine, ops = r.get("routine"), r["op_a"] + r["op_b"]
    return "%s%d x %d x %d%s" % (routine + " " if routine else "", r["m"], r["n"], r["k"], "" if ops == "nn" else " " + ops.upper())


class Line:
    """One product of a table: what each library took, by method, since only what was measured alike is compared."""

    def __init__(self):
        self.found, self.faults, self.bar = {}, [], 0

    def add(self, r):
        ours, self.bar = r["library"].startswith("tilewright") and not r["library"].endswith(")"), least_ratio(r)
        if r["median_s"] is not None:
            self.found.setdefault(r["method"], {}).setdefault("" if ours else r["library"], []).append(r)
        elif ours:
            self.faults.append(r.get("refused") or r["verified"])

    def ratios(self, number):
        """The least over the methods of the best peer's time over ours, that peer and the method, or None."""
        best = []
        for method, by_library in self.found.items():
            peers = [(number(rs), name) for name, rs in by_library.items() if name]
            if "" in by_library and peers:
                time_s, name = min(peers)
                best.append((time_s / number(by_library[""]), name, method))
        return min(best, default=None)

    def speed(self, name, method=None, run=None):
        """The library's by that method in that run, as text; None: by all, in all."""
        rates = [r["gflops"] for by, some in self.found.items() for r in some.get(name, []) if method in (by, None) and run in (r["run"], None)]
        return "%.4g" % statistics.median(rates) if rates else "-"

    def by_run(self):
        """(ratio of medians, best peer, method, run) of each run, in ascending order: a shared machine changes from run to run."""
        numbers = sorted({r["run"] for by_library in self.found.values() for rs in by_library.values() for r in rs})
        each = [(self.ratios(lambda rs: statistics.median([r["median_s"] for r in rs if r["run"] == run] or [math.inf])), run) for run in numbers]
        return sorted((*x, run) for x, run in each if x and math.isfinite(x[0]) and x[0] > 0)


def bests(rs):
    return min(r["min_s"] for r in rs)


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def judged(table, dtype, lines):
    """The lines of a table and type as text, and what is wrong with them."""
    out, wrong, of_medians, of_bests = [], [], [], []
    for shape, line in lines.items():
        runs, best = line.by_run(), line.ratios(bests)
        ratio = runs[(len(runs) - 1) // 2] if runs else None  # of an even number the lower
        spread = "%.2f-%.2f" % (runs[0][0], runs[-1][0]) if len(runs) > 1 else ""
        low = ratio is not None and ratio[0] < line.bar
        verdict = "FAILED: " + line.faults[0] if line.faults else "" if ratio is None else "BELOW" if low else "ok" if line.bar else ""
        if line.faults or low:
            wrong.append("%s %s %s" % (table, dtype, shape))
        if ratio:
            of_medians.append(ratio[0]), of_bests.append(best[0])
        where = ratio[2:] if ratio else ()
        peer, theirs = (ratio[1].replace("tilewright ", "")[:10], line.speed(ratio[1], *where)) if ratio else ("", "-")
        said = ("%7.3f %9s %7.3f" % (ratio[0], spread, best[0])) if ratio else "%7s %9s %7s" % ("none", "", "")
        bar = "%.2f" % line.bar if line.bar else ""
        out.append("%-7s %-5s %-26s %9s %9s %-10s %s  %4s %s" % (table, dtype, shape, line.speed("", *where), theirs, peer, said, bar, verdict))
    bar = least_mean(table, dtype)
    if of_medians and bar:
        low = mean(of_medians) < bar
        wrong += ["%s %s, geometric mean" % (table, dtype)] if low else []
        out.append("%-7s %-5s geometric mean of %d: %.3f of %s, %.3f of bests; bar %.2f  %s" % (
            table, dtype, len(of_medians), mean(of_medians), "means" if table == "busy" else "medians", mean(of_bests), bar,
            "BELOW" if low else "ok"))
    elif not of_medians and not wrong:
        out.append("%-7s %-5s not judged: there is nothing to compare with" % (table, dtype))
        wrong.append("%s %s: nothing to compare with" % (table, dtype))
    return out, wrong


def swept(records):
    """Our speed by threads, for each type and shape: the highest stands in brackets, the plan's own count has a star."""
    counts, out, rows = sorted({r["threads"] for r in records if not r["own"]}), [], {}
    for r in records:
        rows.setdefault((r["dtype"], shape_of(r)), {}).setdefault("own" if r["own"] else r["threads"], []).append(r)
    out.append("sweep   %-5s %-26s" % ("type", "GFLOP/s on threads") + "".join("%9d " % c for c in counts))
    for (dtype, shape), by_count in rows.items():
        speed = {c: statistics.median(r["gflops"] for r in by_count[c]) for c in counts if c in by_count}
        planned = int(re.search(r"threads (\d+)", by_count["own"][0]["plan"])[1]) if "own" in by_count else 0
        nearest = max([c for c in speed if c <= planned], default=0)
        cells = ("%s%s" % ("[%.4g]" % v if v == max(speed.values()) else "%.4g" % v, "*" if c == nearest else " ") for c, v in speed.items())
        out.append("sweep   %-5s %-26s" % (dtype, shape) + "".join("%10s" % x for x in cells) + ("   the plan has %d" % planned if planned else ""))
    return out


def tables(records):
    """All tables as text, and what is wrong: sentences."""
    found, wrong, out = {}, [], []
    for r in records:
        if r["table"] != "sweep":
            found.setdefault((r["table"], r["dtype"]), {}).setdefault(shape_of(r), Line()).add(r)
    if found:
        out.append("%-7s %-5s %-26s %9s %9s %-10s %7s %9s %7s  %4s" % (
            "table", "type", "m x n x k", "GFLOP/s", "best peer", "", "ratio", "runs", "bests", "bar"))
    for (table, dtype), lines in found.items():
        text, below = judged(table, dtype, lines)
        out, wrong = out + text, wrong + below
    grid = [r for r in records if r["table"] == "sweep" and r["median_s"] is not None]
    failed = [r for r in records if r["table"] == "sweep" and r["median_s"] is None]
    wrong += ["sweep %s %s: %s" % (r["dtype"], shape_of(r), r["refused"] or r["verified"]) for r in failed]
    return out + (swept(grid) if grid else []), wrong
