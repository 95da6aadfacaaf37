"""kNN LRTA* in the chapter of 2011: Tables 1 to 5, the work of a single move, and maps that were edited since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from ..charts import Chart, Series
from ..experiment import Setting, Sweep, WorldSource
from ..paper import FULL, QUICK, Data, Item, Maps, Rows
from ..recipes import Recipe
from ..report import BEYOND, CANNOT_TELL, DIFFERS, REPRODUCED, Finding, Table

# One map of each game, and how many times it is enlarged to 4096 x 4096 or more; the paper's four are not named.
MAPS = (("wc3maps512", "battleground", 8), ("dao", "orz700d", 4), ("sc1", "Cauldron", 4), ("bg512", "AR0711SR", 8))
# A* difficulty of the paper's problems: least, quartiles and most. It gives the median and the ends. With these
# quartiles the mean is its 62.6, and the deviation 61.6 where it has 64.1.
DIFFICULTY: tuple[float, ...] = (1.0, 4.0, 36.5, 109.5, 199.8)
MEAN_DIFFICULTY = 62.6
RECORDS: tuple[int, ...] = (1000, 5000, 10_000, 40_000, 60_000, 80_000)
FEWER = 10  # times, with coverage
COVERED = {FULL: RECORDS}  # databases of so many have a rival with coverage; otherwise the three smallest
# Records made as published, by an A* search each; the largest of them take hours in all.
BY_PATHS = {QUICK: (1000,), FULL: (10_000, 60_000)}
BY_PATHS_NORMAL = (10_000,)
TIME_SLICES = (5, 10, 50, 100)
KNN, CANDIDATES, CLIMB = "knn-lrta*:candidates=10,climb=250,retry=0", 10, 250
BOUND = CLIMB * (2 * CANDIDATES + 1) + 1  # straight to the goal, to each start and from each end; and the move itself
LIMIT = 2_000_000  # moves; without a record LRTA* may fill a basin of the map for as long as one cares to wait
SHARES = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)  # percent of the free cells
EDIT_SLICE = 50
OTHERWISE = {"LRTA*": KNN, "TB-WA*": f"{KNN},otherwise=tb-wa*"}  # what walks where the database has no answer
OTHERWISE_RECORDS, OTHERWISE_BUDGETS = 10_000, (10, 100)
LARGE = 4096  # a side of the paper's maps
STATE = 4  # bytes; what the paper's Tables 3 and 5 come to
KILOBYTE = 1024


class Published(NamedTuple):
    """What the paper says of one algorithm."""

    microseconds: float
    percent: float  # above the optimal cost
    online: float  # kilobytes
    cumulative: float
    hours: float | None = None
    relative: float | None = None
    megabytes: float | None = None


# Tables 4 and 5 print 83.31% for TBA*(50): that is its time in Table 1.
PUBLISHED = {
    "kNN LRTA*(10000)": Published(7.56, 6851.62, 8.62, 265.65, 13.10, 0.00308, 0.25),
    "kNN LRTA*(40000)": Published(6.88, 620.63, 5.04, 1034.08, 51.89, 0.01234, 1.00),
    "kNN LRTA*(60000)": Published(6.40, 12.77, 4.23, 1547.85, 77.30, 0.01851, 1.51),
    "kNN LRTA*(80000)": Published(6.55, 11.96, 4.22, 2062.20, 103.09, 0.02468, 2.01),
    "TBA*(5)": Published(14.31, 1504.54, 1353.94, 1353.94),
    "TBA*(10)": Published(26.34, 666.50, 1353.94, 1353.94),
    "TBA*(50)": Published(83.31, 131.12, 1353.94, 1353.94),
    "TBA*(100)": Published(117.52, 64.66, 1353.94, 1353.94),
    "A*": Published(208.03, 0.0, 1353.94, 1353.94),
}
BEST, ENOUGH_RECORDS = 12.77, 60_000  # percent, and with how many records
HOURS = 103.09  # for 80,000 records
RECORD_BYTES = 2062.20 * KILOBYTE / 80_000


def sweeps(scale: str, maps: Maps) -> list[Sweep]:
    """Game maps enlarged to 4096 x 4096 and more, problems from 1000 to 3000; the quick ones are a fifth of that."""
    records, cost, difficulty = RECORDS, (1000.0, 3000.0), DIFFICULTY
    problems = {QUICK: 40, FULL: 250}.get(scale, 100)
    if scale == QUICK:
        small = [WorldSource.generated("caves", 512, seed) for seed in range(2)]
        worlds = maps.sources("bg512", small[:1], only=("AR0011SR",)) + maps.sources(
            "sc1", small[1:], only=("Cauldron",)
        )
        records, cost = RECORDS[:3], (200.0, 600.0)
        difficulty = tuple(max(1.0, value / 5) for value in DIFFICULTY)  # which grows with the sides of a map
    else:
        worlds = ()
        for number, (folder, name, factor) in enumerate(MAPS if scale == FULL else MAPS[:2]):
            caves = [WorldSource.generated("caves", 4096 // factor, number)]
            worlds += tuple(source.enlarged(factor) for source in maps.sources(folder, caves, only=(name,)))
    limit = Setting(move_limit=LIMIT)
    trees = tuple(Recipe.of(KNN, records=count, mode="trees") for count in records)
    covering = tuple(Recipe.of(KNN, records=count // FEWER) for count in COVERED.get(scale, RECORDS[:3]))
    paths = tuple(Recipe.of(KNN, records=count, mode="paths") for count in BY_PATHS.get(scale, BY_PATHS_NORMAL))
    those: dict[str, Any] = {"problems": problems, "cost": cost, "difficulty": difficulty}
    databases = (*trees, *paths, *covering)
    made = [
        Sweep("knn", worlds, (KNN,), setting=limit, kind="asked", databases=databases, **those),
        Sweep("tba", worlds, ("tba*",), TIME_SLICES, **those),
        Sweep("a", worlds, ("a*",), **those),
    ]
    random = tuple(dict.fromkeys((trees[RECORDS.index(OTHERWISE_RECORDS)], trees[-1])))
    made.append(
        Sweep(
            "otherwise", worlds, tuple(OTHERWISE.values()), OTHERWISE_BUDGETS,
            setting=limit, kind="asked", databases=(*random, covering[-1]), **those,
        )
    )  # fmt: skip
    for share in SHARES:
        same: dict[str, Any] = {"setting": limit, "kind": "edited", "blocked": share, **those}
        largest = (trees[-1], covering[-1])
        made.append(Sweep(f"edits {share:g}", worlds, (KNN,), databases=largest, **same))
        made.append(Sweep(f"edits {share:g}, TBA*", worlds, ("tba*",), (EDIT_SLICE,), **same))
    return made


class Line(NamedTuple):
    """A row of the paper's tables: an algorithm with one setting, and its runs."""

    name: str
    rows: Rows
    records: int = 0  # in its database
    way: str = ""  # that its database was made: trees if nothing is said

    @property
    def published(self) -> Published | None:
        return PUBLISHED.get(self.name.replace(", paths", ""))

    @property
    def capped(self) -> int:
        """Runs that were ended by the move limit."""
        return sum(row["status"] != "reached" for row in self.rows)

    def percents(self) -> list[float]:
        """How far above the optimum each run was; one that did not arrive counts as far as it had come."""
        return [100 * (row["cost"] / row["optimal"] - 1) for row in self.rows]

    def percent(self) -> float:
        return fmean(self.percents())

    def text(self) -> str:
        """The mean, marked where it is only a lower bound."""
        return (">= " if self.capped else "") + f"{self.percent():,.2f}"

    def by_answer(self) -> tuple[list[float], list[float]]:
        """The percents of those whom the database helped, and of those who were left alone."""
        each = list(zip(self.percents(), (row["answer"] == "none" for row in self.rows), strict=True))
        return [p for p, alone in each if not alone], [p for p, alone in each if alone]

    def mean(self, column: str) -> float:
        return fmean(row[column] for row in self.rows if row[column] is not None)


def _lines(data: Data) -> dict[str, Line]:
    """What was run, in the order of the tables."""
    found = []
    for records, name in sorted({(row["records"], row["database"]) for row in data["knn"]}):
        way = name.split("-")[0].replace("trees", "")
        words = f"{records}, {way}" if way else f"{records}"
        found.append(Line(f"kNN LRTA*({words})", data["knn"].where(database=name), records, way))
    found += [Line(f"TBA*({r})", data["tba"].where(budget=r)) for r in TIME_SLICES]
    found.append(Line("A*", data["a"]))
    walked = [line._replace(rows=_walked(line.rows)) for line in found]
    return {line.name: line for line in walked if len(line.rows)}


def _walked(rows: Rows) -> Rows:
    """Those runs that set out: not those that ended in an error or had no way."""
    return Rows([row for row in rows if row["cost"] is not None])


def _split(lines: Mapping[str, Line]) -> tuple[list[Line], list[Line]]:
    """kNN LRTA* from few records to many, with records from trees; and TBA* from short slices to long ones."""
    knn = [line for line in lines.values() if line.records and not line.way]
    return knn, [line for name, line in lines.items() if name.startswith("TBA*")]


def _by_way(lines: Mapping[str, Line], way: str) -> list[Line]:
    """kNN LRTA* with databases made in this way, from few records to many."""
    return [line for line in lines.values() if line.way == way]


def _enough(data: Data) -> tuple[dict[str, Line], list[Line], list[Line]] | None:
    """All lines, and those of the two rivals; None if something has not been run."""
    lines = _lines(data)
    knn, tba = _split(lines)
    if len(knn) < 2 or len(tba) < len(TIME_SLICES) or "A*" not in lines:
        return None
    return lines, knn, tba


_NOT_ENOUGH = Finding(CANNOT_TELL, "some algorithms have not been run")


def _paper(line: Line, column: str, digits: int = 2) -> str:
    value = getattr(line.published, column, None)
    return "" if value is None else f"{value:,.{digits}f}"


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else float("nan")


def _against(title: str, x_label: str, ours: Mapping[str, Sequence[tuple[float, Line]]], column: str) -> Chart:
    """Suboptimality against something, ours and the paper's; A*'s is 0 and has no place on the axis."""
    series = []
    for number, (name, points) in enumerate(ours.items()):
        series.append(Series(f"{name}, ours", [x for x, _ in points], [y.percent() for _, y in points], like=number))
        known = [y.published for _, y in points if y.published is not None]
        theirs = [getattr(one, column) for one in known]
        series.append(Series(f"{name}, paper", theirs, [one.percent for one in known], dashed=True, like=number))
    bounds = any(line.capped for points in ours.values() for _, line in points)
    note = "Where runs were ended by the move limit, ours is a lower bound." if bounds else ""
    return Chart(title, x_label, "mean % above the optimum", series, log_x=True, log_y=True, note=note)


def table_1(data: Data) -> Finding:
    """The most records: at most 12.77%, better than TBA*(100), less time per move than any TBA*; TBA* as it was."""
    enough = _enough(data)
    if enough is None:
        return _NOT_ENOUGH
    lines, knn, tba = enough
    rows = []
    for line in lines.values():
        rows.append(
            [
                line.name,
                f"{line.mean('microseconds_per_move'):.2f}",
                _paper(line, "microseconds"),
                line.text(),
                _paper(line, "percent"),
                f"{median(line.percents()):,.2f}",
                (">= " if line.capped else "") + f"{max(line.percents()):,.0f}",
                f"{len(line.rows) - line.capped}/{len(line.rows)}",
            ]
        )
    best, slice_100 = _judged(lines), tba[-1]
    slowest = max(line.mean("microseconds_per_move") for line in knn)
    fastest = min(line.mean("microseconds_per_move") for line in tba)
    factors = [line.percent() / line.published.percent for line in tba if line.published is not None]
    large = _large(data)
    alike = all(1 / 3 <= factor <= 3 for factor in factors)
    good = not best.capped and best.percent() <= BEST and best.percent() < slice_100.percent() and slowest < fastest
    good &= alike or not large
    words = (
        f"{best.name}: {best.text()}% above the optimum (median {median(best.percents()):.2f}%), TBA*(100): "
        f"{slice_100.text()}%; at most {slowest:.2f} us per move against at least {fastest:.2f} us; TBA* is at "
        f"{min(factors):.1f} to {max(factors):.1f} times the paper's"
    )
    if not large:
        words += " (not compared: these maps are smaller than the paper's)"
    words += f". {_where(best)}"
    header = ("", "us/move", "paper", "mean %", "paper", "median", "max", "solved")
    chart = _against(
        "Table 1: suboptimality and time per move",
        "microseconds per move",
        {
            "kNN LRTA*": [(line.mean("microseconds_per_move"), line) for line in knn],
            "TBA*": [(line.mean("microseconds_per_move"), line) for line in tba],
            "with coverage": [(line.mean("microseconds_per_move"), line) for line in _by_way(lines, "coverage")],
        },
        "microseconds",
    )
    table = Table("Suboptimality against time per move", header, rows)
    tables = [table, _answers(lines), _problems(data), _kinds(data, lines), _by_map(lines)]
    return Finding(
        REPRODUCED if good else DIFFERS,
        words,
        tables,
        [chart],
        reason="" if good else _reason(data, best, alike or not large),
    )


def _judged(lines: Mapping[str, Line]) -> Line:
    """The line that stands for the paper's best: as published if there are so many such records, else from trees."""
    knn = _split(lines)[0]
    published = [line for line in _by_way(lines, "paths") if line.records >= ENOUGH_RECORDS]
    return published[-1] if published else knn[-1]


def _maps(rows: Rows) -> dict[str, Line]:
    """What is known of each map."""
    return {name: Line(name, rows.where(map=name)) for name in dict.fromkeys(row["map"] for row in rows)}


def _where(best: Line) -> str:
    """On which maps the paper's mean holds."""
    holds, fails = [], []
    for name, line in _maps(best.rows).items():
        alone = len(line.by_answer()[1])
        if not line.capped and line.percent() <= BEST:
            holds.append(f"{name} ({line.text()}%)")
        else:
            fails.append(f"{name} ({alone} of {len(line.rows)} problems without an answer)")
    words = f"{BEST}% holds on {', '.join(holds) or 'no map'}"
    return words + (f", not on {', '.join(fails)}" if fails else "")


def _kinds(data: Data, lines: Mapping[str, Line]) -> Table:
    """Map by map: how hard its problems are, and how often the largest database of each kind has an answer."""
    knn, published, covering = _split(lines)[0], _by_way(lines, "paths"), _by_way(lines, "coverage")
    largest = [group[-1] for group in (knn, published, covering) if group]
    rows = []
    for name, a_star in _maps(_walked(data["a"])).items():
        hard = _difficulties(a_star.rows)
        cells = [name, f"{len(hard)}", f"{fmean(hard):.1f}", f"{median(hard):.1f}", f"{max(hard):.1f}"]
        for line in largest:
            here = Line(name, line.rows.where(map=name))
            if not len(here.rows):
                cells += ["", "", ""]
                continue
            helped, alone = here.by_answer()
            cells += [f"{len(alone)}", f"{_mean(helped):.2f}" if helped else "", here.text()]
        rows.append(cells)
    header = ["", "problems", "difficulty: mean", "median", "most"]
    for line in largest:
        header += [f"{line.name}: no answer", "mean % with one", "mean %"]
    return Table("Map by map, with the largest database made in each way", header, rows)


def _answers(lines: Mapping[str, Line]) -> Table:
    """How often the database helped, and what the walk was like with and without."""
    rows = []
    for line in lines.values():
        if line.records:
            helped, alone = line.by_answer()
            kinds = [row["answer"] for row in line.rows]
            shares = (f"{100 * kinds.count(kind) / len(kinds):.1f}%" for kind in ("straight", "record", "none"))
            rows.append([line.name, *shares, *(f"{_mean(group):,.2f}" if group else "" for group in (helped, alone))])
    header = ("", "climbs straight", "a record", "none", "mean % with one", "without")
    return Table(
        "What the database answered; walks ended by the move limit count as far as they had come", header, rows
    )


def _reason(data: Data, best: Line, alike: bool) -> str:
    """What rules the means: the few problems without a record, and how far A* must look around on these maps."""
    those, without = best.by_answer()
    hard = _difficulties(_walked(data["a"]))
    words = []
    if without and best.percent() > BEST:
        words.append(
            f"{len(without)} of {len(best.rows)} problems find no record among the ten most similar whose ends can be "
            f"climbed to and from; LRTA* alone then walks {_mean(without):,.0f}% above the optimum, and rules the "
            f"mean. Where the database has an answer it is {_mean(those):.1f}%. That depends on the map: the more free "
            "cells, the farther apart records lie, and the more stands between, the fewer of them can be climbed to."
        )
    if not alike:
        words.append(
            f"On these maps A* expands {_mean(hard):.0f} states per step of the path, on the paper's "
            f"{MEAN_DIFFICULTY}: TBA* walks that much longer before it knows the way."
        )
    return " ".join(words) or _MAPS


def _difficulties(rows: Rows) -> list[float]:
    return [row["expansions"] / max(row["moves"], 1) for row in rows]


def _large(data: Data) -> bool:
    """Whether all maps are as large as the paper's."""
    return bool(data.databases) and all(min(note["rows"], note["cols"]) >= LARGE for note in data.databases)


def _problems(data: Data) -> Table:
    """The problems beside the paper's."""
    optimal = [row["optimal"] for row in _walked(data["a"])]

    def line(name: str, values: Sequence[float]) -> list[str]:
        numbers = min(values), fmean(values), median(values), max(values), float(np.std(values))
        return [name, *(f"{value:,.1f}" for value in numbers)]

    return Table(
        f"The problems: {len(optimal)} here, 1000 in the paper. Difficulty is A*'s expansions over the path's edges",
        ("", "least", "mean", "median", "most", "deviation"),
        [
            line("optimal cost", optimal),
            ["paper", "1,003.8", "1,881.8", "1,855.2", "2,999.8", "549.7"],
            line("difficulty", _difficulties(_walked(data["a"]))),
            ["paper", "1.0", "62.6", "36.5", "199.8", "64.1"],
        ],
    )


def _by_map(lines: Mapping[str, Line]) -> Table:
    names = list(dict.fromkeys(name for line in lines.values() for name in _maps(line.rows)))
    rows = []
    for line in lines.values():
        each = [Line("", line.rows.where(map=name)) for name in names]
        rows.append([line.name, *(one.text() if len(one.rows) else "" for one in each)])
    return Table("Mean % above the optimum by map", ("", *names), rows)


def _notes(data: Data, line: Line) -> list[Mapping[str, Any]]:
    """What is known about the databases of a line: one for each map."""
    way = line.way or "trees"
    return [n for n in data.databases if n.get("whole") and n["records"] == line.records and _way(n) == way]


def _way(note: Mapping[str, Any]) -> str:
    return "coverage" if note.get("coverage") else note["mode"]


def table_2(data: Data) -> Finding:
    """More records take longer and give better paths; the most take at most an hour of wall time per map."""
    enough = _enough(data)
    if enough is None:
        return _NOT_ENOUGH
    _, knn, _ = enough
    rows, points = [], []
    for line in knn:
        notes = [note for note in _notes(data, line) if note["wall_seconds"] is not None]
        if not notes:
            return Finding(CANNOT_TELL, f"it is not known how long the databases of {line.name} took")
        wall = fmean(note["wall_seconds"] for note in notes) / 3600
        cores = fmean(note["core_seconds"] for note in notes) / 3600
        jobs = sorted({note["jobs"] for note in notes})
        points.append((cores, wall, line))
        theirs = line.published.hours if line.published else None
        rows.append(
            [
                line.name,
                f"{3600 * wall:,.1f}",
                ", ".join(map(str, jobs)),
                f"{3600 * cores:,.1f}",
                f"{cores:.2g}",
                _paper(line, "hours"),
                "" if theirs is None else f"{theirs / cores:,.0f}x",
                line.text(),
                _paper(line, "percent"),
            ]
        )
    header = ("", "seconds", "jobs", "core-seconds", "core-hours", "paper", "ratio", "mean %", "paper")
    longer = all(a[0] < b[0] for a, b in pairwise(points))
    better = all(a[2].percent() >= b[2].percent() for a, b in pairwise(points))
    cores, wall, most = points[-1]
    good = longer and better and wall <= 1
    words = (
        f"{most.records:,} records took {3600 * wall:,.0f} s of wall time and {3600 * cores:,.0f} core-seconds per map "
        f"(paper: {HOURS} hours for 80,000); suboptimality " + ("falls" if better else "does not fall") + " with them"
    )
    chart = _against(
        "Table 2: suboptimality and precomputation",
        "core-hours per map",
        {"kNN LRTA*": [(cores, line) for cores, _, line in points]},
        "hours",
    )
    tables = [Table("Precomputation per map, records from trees", header, rows), *_by_paths(data, most.records)]
    return Finding(REPRODUCED if good else DIFFERS, words, tables, [chart], reason="" if good else _rises(knn))


def _rises(knn: Sequence[Line]) -> str:
    """Why a larger database may do worse."""
    words = []
    for few, many in pairwise(knn):
        if many.percent() > few.percent():
            had = {key for key, row in few.rows.by_problem().items() if row["answer"] != "none"}
            lost = sum(key in had and row["answer"] == "none" for key, row in many.rows.by_problem().items())
            words.append(
                f"with {many.records:,} records {lost} of {len(many.rows)} problems find none that they had found with "
                f"{few.records:,}: the ten most similar are others then, and a single walk without one rules the mean."
            )
    return " ".join(words) or _MAPS


def _by_paths(data: Data, records: int) -> list[Table]:
    """What one A* search per record, as published, would take: measured on a few, extrapolated to many."""
    rows = []
    for note in data.databases:
        if _way(note) != "paths" or not note.get("whole") or note["core_seconds"] is None:
            continue
        each = note["core_seconds"] / note["records"]
        rows.append(
            [
                note["map"],
                f"{note['records']:,}",
                f"{note['core_seconds']:.1f}",
                f"{1 / each:,.0f}",
                f"{each * records / 3600:.2g}",
                f"{note['states'] / note['records']:.2f}",
            ]
        )
    header = ("", "made", "core-seconds", "records/s", f"core-hours for {records:,}, extrapolated", "states/record")
    return [Table("One A* search per record, as published", header, rows)] if rows else []


def table_3(data: Data) -> Finding:
    """Size is in proportion to the records, and a record takes within a factor of two of the paper's 26 bytes."""
    enough = _enough(data)
    if enough is None:
        return _NOT_ENOUGH
    _, knn, _ = enough
    rows, each = [], []
    for line in knn:
        notes = _notes(data, line)
        if not notes:
            return Finding(CANNOT_TELL, f"nothing is known about the databases of {line.name}")
        size = fmean(note["bytes"] for note in notes)
        relative = fmean(note["states"] / (note["rows"] * note["cols"]) for note in notes)
        each.append(size / line.records)
        rows.append(
            [
                line.name,
                f"{fmean(note['states'] for note in notes) / line.records:.2f}",
                f"{relative:.5f}",
                _paper(line, "relative", 5),
                f"{size:,.0f}",
                f"{size / KILOBYTE**2:.2f}",
                _paper(line, "megabytes"),
            ]
        )
    header = ("", "states/record", "relative size", "paper", "bytes", "MB", "paper")
    even, ratio = max(each) / min(each), each[-1] / RECORD_BYTES
    good = even <= 1.1 and 0.5 <= ratio <= 2
    words = (
        f"{each[-1]:.1f} bytes per record, {ratio:.2f} times the paper's {RECORD_BYTES:.1f}; from the smallest to the "
        f"largest database they differ by {100 * (even - 1):.1f}%"
    )
    table = Table("Databases, averages per map", header, rows)
    return Finding(REPRODUCED if good else DIFFERS, words, [table], reason="" if good else _MAPS)


def table_4(data: Data) -> Finding:
    """TBA* holds what A* holds whatever its slice; kNN LRTA* with the most records a tenth of that or less."""
    enough = _enough(data)
    if enough is None:
        return _NOT_ENOUGH
    lines, knn, tba = enough
    rows = [
        [
            line.name,
            f"{line.mean('memory_states'):,.0f}",
            f"{_online(line):,.2f}",
            _paper(line, "online"),
            f"{line.mean('memory_bytes') / KILOBYTE:,.0f}",
            line.text(),
            _paper(line, "percent"),
        ]
        for line in lines.values()
    ]
    header = ("", "states", "KB, 4 bytes a state", "paper", "KB, as held here", "mean %", "paper")
    held = [line.mean("memory_states") for line in (*tba, lines["A*"])]
    same = max(held) <= 1.01 * min(held)
    ratio = held[0] / knn[-1].mean("memory_states")
    less = knn[-1].mean("memory_states") < knn[0].mean("memory_states")
    good = same and ratio >= 10 and less
    words = (
        f"{knn[-1].name} holds {ratio:,.0f} times fewer states than TBA* (paper: 321 times); "
        + ("TBA* holds what A* holds, whatever its slice" if same else "TBA*'s memory depends on its slice")
        + ("; more records need less" if less else "; more records do not need less")
    )
    table = Table("Strictly on-line memory: open, closed and learned", header, rows)
    return Finding(REPRODUCED if good else DIFFERS, words, [table], reason="" if good else _MAPS)


def _online(line: Line) -> float:
    return line.mean("memory_states") * STATE / KILOBYTE


def table_5(data: Data) -> Finding:
    """With its database kNN LRTA* needs less than TBA* with few records, and more with the most."""
    enough = _enough(data)
    if enough is None:
        return _NOT_ENOUGH
    lines, knn, tba = enough
    rows, total = [], {}
    for line in lines.values():
        notes = _notes(data, line)
        if line.records and not notes:
            return Finding(CANNOT_TELL, f"nothing is known about the databases of {line.name}")
        total[line.name] = _online(line) + _mean([note["bytes"] / KILOBYTE for note in notes] or [0.0])
        rows.append(
            [
                line.name,
                f"{total[line.name]:,.2f}",
                _paper(line, "cumulative"),
                line.text(),
                _paper(line, "percent"),
            ]
        )
    few, many, rival = total[knn[0].name], total[knn[-1].name], total[tba[0].name]
    grows = all(total[a.name] < total[b.name] for a, b in pairwise(knn))
    good = grows and few < rival < many
    words = f"{knn[0].name} {few:,.0f} KB, {knn[-1].name} {many:,.0f} KB, TBA* and A* {rival:,.0f} KB"
    chart = _against(
        "Table 5: suboptimality and cumulative memory",
        "kilobytes",
        {
            name: [(total[line.name], line) for line in group]
            for name, group in (("kNN LRTA*", knn), ("TBA*", tba), ("with coverage", _by_way(lines, "coverage")))
        },
        "cumulative",
    )
    table = Table("Cumulative memory: on-line and database", ("", "KB", "paper", "mean %", "paper"), rows)
    return Finding(REPRODUCED if good else DIFFERS, words, [table], [chart], reason="" if good else _MEMORY)


def coverage(data: Data) -> Finding:
    """A tenth of the records does as well where each is made for what the others do not answer."""
    lines = _lines(data)
    pairs = []
    for few in lines.values():
        many = lines.get(f"kNN LRTA*({few.records * FEWER})")
        if few.way == "coverage" and many is not None:
            pairs.append((few, many))
    if not pairs:
        return Finding(CANNOT_TELL, "nothing was run")
    rows = []
    most = _split(lines)[0][-1]
    for group in (*pairs, () if most is pairs[-1][1] else (most,)):
        for line in group:
            notes = _notes(data, line)
            helped, alone = line.by_answer()
            rows.append(
                [
                    line.name,
                    f"{_mean([note.get('made') or line.records for note in notes]):,.0f}",
                    f"{_mean([note['bytes'] / KILOBYTE for note in notes]):,.0f}",
                    f"{_mean(known):,.0f}"
                    if (known := [n["core_seconds"] for n in notes if n["core_seconds"]])
                    else "",
                    f"{len(alone)}/{len(line.rows)}",
                    line.text(),
                    f"{median(line.percents()):,.2f}",
                    (">= " if line.capped else "") + f"{max(line.percents()):,.0f}",
                    f"{_mean(helped):,.2f}",
                    f"{line.mean('states_per_move_max'):,.0f}",
                    f"{line.mean('microseconds_per_move'):.2f}",
                ]
            )
    good = all(few.percent() <= many.percent() and few.capped <= many.capped for few, many in pairs)
    header = (
        "", "records", "KB", "core-s", "no answer", "mean %", "median", "max", "mean % answered", "states asking",
        "us/move",
    )  # fmt: skip
    few, many = pairs[-1]
    words = (
        f"{few.name}: {few.text()}% above the optimum (median {median(few.percents()):.2f}%); {many.name}: "
        f"{many.text()}% (median {median(many.percents()):.2f}%)"
    )
    if most is not many:
        words += f"; {most.name}: {most.text()}% (median {median(most.percents()):.2f}%)"
    table = Table("A tenth of the records, chosen for what is missing, and random ones", header, rows)
    words = ("reached" if good else f"not reached, {_FEWER}") + f": {words}"
    return Finding(BEYOND, words, [table])


def moves(data: Data) -> Finding:
    """One state per move but for the one that asks, and that within the bound."""
    lines = _lines(data)
    asking_lines = [*_split(lines)[0], *_by_way(lines, "coverage")[-1:]]
    knn = [line for line in asking_lines if any(row["asking_moves"] is not None for row in line.rows)]
    if not knn:
        return Finding(CANNOT_TELL, "nothing was run")
    rows, series, most, asked, share = [], [], 0, 0, 100.0
    for line in knn:
        ticks = sum(row["moves"] + row["waits"] for row in line.rows)
        asking = sum(row["asking_moves"] for row in line.rows)
        spent = np.sort([row["states_per_move_max"] for row in line.rows])
        single = 100 * (1 - asking / ticks)
        most, asked = max(most, int(spent[-1])), max(asked, *(row["asking_moves"] for row in line.rows))
        share = min(share, single)
        marks = (f"{np.percentile(spent, p):,.0f}" for p in (50, 90, 99))
        rows.append([line.name, f"{ticks:,}", f"{single:.4f}%", *marks, f"{spent[-1]:,}", f"{BOUND:,}"])
        climb = 100 * np.arange(1, len(spent) + 1) / len(spent)
        words = f"{line.records}, {line.way}" if line.way else f"{line.records} records"
        series.append(Series(words, spent.tolist(), climb.tolist()))
    series.append(Series("bound", [BOUND, BOUND], [0, 100], dashed=True, like=7))
    header = ("", "moves", "with one state", "asking: median", "90%", "99%", "most", "bound")
    good = most <= BOUND and asked <= 1
    words = (
        f"at least {share:.2f}% of the moves expand one state; the others, at most {asked} per problem, at most "
        f"{most:,} of the {BOUND:,} that the parameters allow"
    )
    chart = Chart(
        "The work of the move that asks", "states on that move", "% of the problems with no more", series, log_x=True,
        note=f"The bound is climb x (2 x candidates + 1) + 1: {CLIMB} x {2 * CANDIDATES + 1} + 1.",
    )  # fmt: skip
    table = Table("States expanded on a move", header, rows)
    return Finding(REPRODUCED if good else DIFFERS, words, [table], [chart])


def otherwise(data: Data) -> Finding:
    """What becomes of the mean, the worst case and the memory if a time-bounded search walks where nothing is known."""
    rows, words = [], []
    made = sorted({(row["records"], row["database"]) for row in data["otherwise"]})
    for records, database in made:
        way = database.split("-")[0]
        for budget in OTHERWISE_BUDGETS:
            told = []
            for name, spec in OTHERWISE.items():
                line = Line(name, _walked(data["otherwise"].where(spec=spec, budget=budget, database=database)))
                if not len(line.rows):
                    return Finding(CANNOT_TELL, f"nothing was run with {name} where {database} has no answer")
                percents = line.percents()
                worst = (">= " if line.capped else "") + f"{max(percents):,.0f}"
                held = [row["memory_states"] for row in line.rows]
                told.append(f"{line.text()}%, at worst {worst}%, {_mean(held):,.0f} states held ({name})")
                rows.append(
                    [
                        f"{records:,} {way}, {budget} states per move, {name}",
                        f"{len(line.by_answer()[1])}/{len(line.rows)}",
                        line.text(),
                        f"{median(percents):,.2f}",
                        worst,
                        f"{len(line.rows) - line.capped}/{len(line.rows)}",
                        f"{_mean(held):,.0f}",
                        f"{max(held):,}",
                        f"{line.mean('memory_bytes') / KILOBYTE:,.0f}",
                    ]
                )
            if budget == OTHERWISE_BUDGETS[-1]:
                words.append(f"{records:,} {way}: {'; '.join(told)}")
    if not rows:
        return Finding(CANNOT_TELL, "nothing was run")
    header = (
        "", "no answer", "mean %", "median %", "worst %", "solved", "states held, mean", "most", "KB, mean"
    )  # fmt: skip
    because = f"with {OTHERWISE_BUDGETS[-1]} states per move: {'. '.join(words)}"
    return Finding(BEYOND, because, [Table("Where the database has no answer", header, rows)])


def edits(data: Data) -> Finding:
    """What a database is worth on a map that has changed since."""
    rows: list[list[str]] = []
    curves: dict[str, list[tuple[float, float]]] = {}
    words = []
    for share in SHARES:
        groups: dict[str, Rows] = {}
        for name in dict.fromkeys(row["database"] for row in data[f"edits {share:g}"]):
            found = data[f"edits {share:g}"].where(database=name)
            way = "coverage" if name.startswith("coverage") else "records"
            groups[f"{found[0]['records']:,} {way}"] = found
        groups[f"TBA*({EDIT_SLICE})"] = data[f"edits {share:g}, TBA*"]
        if len(groups) < 2 or not all(len(_walked(group)) for group in groups.values()):
            return Finding(CANNOT_TELL, f"nothing was run with {share:g}% of the cells blocked")
        gone = sum(row["status"] == "unreachable" for row in next(iter(groups.values())))
        cells = [f"{share:g}%", f"{gone}"]
        for name, group in groups.items():
            line = Line(name, _walked(group))
            middle = median(line.percents())
            cells += [f"{len(line.rows) - line.capped}/{len(line.rows)}", line.text(), f"{middle:,.2f}"]
            curves.setdefault(f"{name}, mean", []).append((share, 1 + line.percent() / 100))
            curves.setdefault(f"{name}, median", []).append((share, 1 + middle / 100))
            if share in (SHARES[0], SHARES[-1]):
                words.append(f"{name}: median {middle:,.2f}%, mean {line.text()}% with {share:g}% blocked")
        rows.append(cells)
    header = ["blocked", "no way"]
    for name in groups:
        header += [name, "mean %", "median %"]
    series = [
        Series(name, [x for x, _ in points], [y for _, y in points], dashed=name.endswith("mean"), like=number // 2)
        for number, (name, points) in enumerate(curves.items())
    ]
    chart = Chart(
        "Edits: the map has changed since the database was made", "% of the free cells blocked", "cost / optimal",
        series, log_y=True, note="Single cells drawn at random. The optimum is that of the map as it is now.",
    )  # fmt: skip
    return Finding(BEYOND, "; ".join(words), [Table("Above the optimum of the edited map", header, rows)], [chart])


_MAPS = "the paper's four maps are not named; others of the same size differ in how far A* must look around."
_FEWER = "for where random records answer every problem too, they have ten times as many near ones to choose from"
_MEMORY = "where A* must look at more states than on the paper's maps, TBA* needs more than the largest database."

ITEMS = (
    Item(
        "Table 1",
        "kNN LRTA*: suboptimality against time per move",
        "With 60,000 records kNN LRTA* is 12.77% above the optimum at 6.4 us per move: better than TBA*, in less time.",
        "Reproduced if with the most records (made as published, by one A* search each, where there are 60,000 such) "
        "the mean is at most 12.77% above the optimum, no run hits the move limit, "
        "TBA*(100) is worse, and every kNN LRTA* takes less time per move than every TBA*; on maps of 4096 and more "
        "TBA*'s means must also be within a factor of 3 of the paper's. Runs that hit the limit of 2,000,000 moves "
        "count with the cost so far, and the mean is then marked >=.",
        ("knn", "tba", "a"),
        table_1,
    ),
    Item(
        "Table 2",
        "kNN LRTA*: suboptimality against precomputation",
        "13.1 hours per map for 10,000 records, 103.1 for 80,000, single-threaded; more records give better paths.",
        "Reproduced if more records take longer and have no higher mean, from each database to the next larger one "
        "(lower bounds are compared as they are), and the most took at most an hour of wall time.",
        ("knn", "tba", "a"),
        table_2,
    ),
    Item(
        "Table 3",
        "kNN LRTA*: database sizes",
        "2.01 MB for 80,000 records, and in proportion for fewer. Relative size: states stored over cells of the map.",
        "Reproduced if bytes per record differ by at most 10% between databases, and are within a factor of 2 of the "
        "paper's.",
        ("knn", "tba", "a"),
        table_3,
    ),
    Item(
        "Table 4",
        "kNN LRTA*: strictly on-line memory",
        "TBA* holds what A* holds, whatever its slice; kNN LRTA* a few hundred times less.",
        "Reproduced if TBA* and A* agree within 1%, kNN LRTA* with the most records holds at least 10 times fewer "
        "states, and fewer than with the least.",
        ("knn", "tba", "a"),
        table_4,
    ),
    Item(
        "Table 5",
        "kNN LRTA*: cumulative memory",
        "With the database counted, TBA* is no longer dominated: its memory lies between the small and the large ones.",
        "Reproduced if memory grows with the records, from below TBA*'s to above it.",
        ("knn", "tba", "a"),
        table_5,
    ),
    Item(
        "Coverage",
        "kNN LRTA*: a tenth of the records",
        "The paper names smaller databases with better coverage as future work; it has no numbers for them.",
        "None: this goes beyond the paper. Reached if a tenth of the records, made with coverage, has no higher mean "
        "than random ones, for each size, and no more walks are ended by the move limit.",
        ("knn",),
        coverage,
    ),
    Item(
        "Section 5.3",
        "kNN LRTA*: the work of a single move",
        "One state per move; a query of the database takes more, but no more on larger maps.",
        "Reproduced if at most one move per problem expands more than one state, and never more than climb x "
        "(2 x candidates + 1) + 1.",
        ("knn",),
        moves,
    ),
    Item(
        "Fallback",
        "kNN LRTA*: another algorithm where the database has no answer",
        "Not in the paper, where LRTA* walks to the goal then.",
        "None: this goes beyond the paper.",
        ("otherwise",),
        otherwise,
    ),
    Item(
        "Edits",
        "kNN LRTA*: a map that has changed since",
        "Not in the paper, which leaves changing maps to TBA*.",
        "None: this goes beyond the paper.",
        tuple(f"edits {share:g}" for share in SHARES),
        edits,
    ),
)
