"""What the benchmark says: a line for each figure as soon as it is there, and the tables of a page.

A page has a table between the lines `<!-- PART -->` and `<!-- end -->`. Only those of parts that ran are written again; what such a table
said before stays beside the new ratio."""
import re


class Row:
    def __init__(self, work, ours, peer, ratio, goal, verdict, detail):
        self.work, self.ours, self.peer, self.ratio, self.goal, self.verdict, self.detail = work, ours, peer, ratio, goal, verdict, detail


class Table:
    """One line for each figure: the work, ours, the best peer, the ratio, the goal, and whether it is met."""

    def __init__(self):
        self.met = self.missed = self.unmeasured = 0
        self.parts, self.part, self.above = {}, None, ""

    def begin(self, part):
        """The rows that follow are of this part."""
        self.part = self.parts.setdefault(part, [])

    def heading(self, text):
        print(f"\n{text}\n{'work':<44} {'ours':>18} {'best peer':>26} {'ratio':>7} {'goal':>9}", flush=True)

    def row(self, work, ours, peer="", ratio=None, goal=None, most=False, met=None, detail=False):
        """`goal`: what the ratio has to reach, or with `most` what it may not exceed; a text where `met` says which it is.
        `detail`: a page shows it only where it misses its goal."""
        verdict = ""
        if goal is not None:
            if met is None:
                met = ratio <= goal if most else ratio >= goal
            verdict = "MET" if met else "MISSED"
            self.met, self.missed = self.met + bool(met), self.missed + (not met)
        text = "" if goal is None else goal if isinstance(goal, str) else f"{'<=' if most else '>='} {goal:g}"
        number = "" if ratio is None else f"{ratio:.3f}"
        print(f"{work:<44} {ours:>18} {peer:>26} {number:>7} {text:>9} {verdict}".rstrip(), flush=True)
        beside = work.startswith("  ")                  # more of the row above
        self.above = self.above if beside else work
        if self.part is not None:
            self.part.append(Row(f"{self.above}, {work.strip()}" if beside else work, ours, peer, number, text, verdict.lower(), detail))

    def missing(self, work, why):
        self.unmeasured += 1
        print(f"{work:<44} not measured: {why}", flush=True)

    def remark(self, text):
        print(f"    {text}", flush=True)

    def end(self):
        print(f"\n{self.met} met, {self.missed} missed, {self.unmeasured} not measured", flush=True)

    def write(self, path):
        """The tables of the parts that ran, into a page."""
        with open(path) as f:
            page = f.read()
        for part, rows in self.parts.items():
            page = re.sub(rf"(<!-- {part} -->\n)(.*?)(<!-- end -->)",
                          lambda old: f"{old[1]}{chr(10).join(markdown(rows, before(old[2])))}\n{old[3]}", page, flags=re.S)
        with open(path, "w") as f:
            f.write(page)


def numbered(works):
    """Several rows may be of one work, against one peer each: (work, which of them)."""
    seen = {}
    for work in works:
        seen[work] = seen.get(work, 0) + 1
        yield work, seen[work]


def before(text):
    """The ratios of a table that stands in a page."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n") if line.startswith("|")][2:]
    return dict(zip(numbered(r[0] for r in rows), (r[3] for r in rows)))


def markdown(rows, old):
    yield "| work | ours | against | ratio | before | goal | |"
    yield "|---|---:|---|---:|---:|---:|---|"
    shown = [r for r in rows if not r.detail or r.verdict == "missed"]
    for r, key in zip(shown, numbered(r.work for r in shown)):
        yield f"| {r.work} | {r.ours} | {r.peer} | {r.ratio} | {old.get(key, '')} | {r.goal} | {r.verdict} |"
