"""Time-Bounded Best-First Search (Hernández, Asín and Baier, SoCS 2014): Figures 1 to 6, Theorems 2 and 3."""

from __future__ import annotations

import math

from ..charts import Chart, Series
from ..experiment import Setting, Sweep, WorldSource
from ..paper import FULL, QUICK, Data, Item, Maps, Paper, Rows, falling
from ..report import CANNOT_TELL, DIFFERS, REPRODUCED, Finding, Table

TITLE = "Time-Bounded Best-First Search (2014)"
PLACE = 2

WEIGHTS = (1.0, 1.4, 1.8, 2.2, 2.6, 3.0)
SMALL_K = (1, 4, 16, 64, 256)
LARGE_K = (1, 32, 128, 256, 512, 1024)
LARGE_MAPS = ("Cauldron", "Expedition", "Octopus", "PrimevalIsles", "TheFrozenSea")
RATES = (1, 5, 10)
RARER = (0.01, 0.1)  # not in the paper: where lazy restarts pay
TB = tuple(f"tb-wa*:weight={w:g}" for w in WEIGHTS)
OFFLINE = tuple(f"wa*:weight={w:g}" for w in WEIGHTS)
LAZY = tuple(f"rtb-wa*:weight={w:g}" for w in WEIGHTS)
EAGER = tuple(f"rtb-wa*:weight={w:g},restart=eager" for w in WEIGHTS)
HEAPED = (TB[0], TB[-1], "tb-gbfs")
SETS = (("bg", "BG"), ("rooms", "ROOMS"))
SLACK = 0.02  # means of different problems' worth: a rise by less is none
STEP = math.sqrt(2)  # c+, the dearest step
BUCKET = 0.15  # width of a bucket of the open list: how far a path may exceed w c*


def sweeps(scale: str, maps: Maps) -> list[Sweep]:
    """Game maps and rooms of 512 x 512, large game maps, and 1000 x 1000 with changing obstacles."""
    few = scale == QUICK
    problems = {QUICK: 4, FULL: 100}.get(scale, 30)
    count = 4 if few else None
    bg = maps.sources("bg512", [WorldSource.generated("caves", 512, seed) for seed in range(4)], count)
    rooms = maps.sources(
        "rooms", [WorldSource.generated("rooms", 512, seed, room=8 << seed) for seed in range(3)], count
    )
    large = maps.sources(
        "sc1",
        [WorldSource.generated("caves", 1024, seed) for seed in range(3)],
        2 if few else None,
        only=LARGE_MAPS,
    )
    noise = (WorldSource.generated("random", 1000, 0, density=0.1),)
    changing = {QUICK: 2, FULL: 100}.get(scale, 25)
    found = [
        Sweep("bg", bg, (*TB, "tb-gbfs"), SMALL_K, problems, setting=Setting(non_optimal=True)),
        Sweep("bg offline", bg, OFFLINE, ("none",), problems),
        Sweep("rooms", rooms, (*TB, "tb-gbfs"), SMALL_K, problems, setting=Setting(non_optimal=True)),
        Sweep("rooms offline", rooms, OFFLINE, ("none",), problems),
        Sweep("large", large, (*TB, "tb-gbfs"), LARGE_K, problems),
        Sweep("large offline", large, OFFLINE, ("none",), problems),
        Sweep("large heap", large, HEAPED, LARGE_K[-3:], problems, kind="binary heap"),
    ]
    weights = (0, 1, 3, 5) if few else range(len(WEIGHTS))
    lookaheads = (1, 16, 256) if few else SMALL_K
    lazy, eager = ([group[k] for k in weights] for group in (LAZY, EAGER))
    for rate in RARER:
        setting = Setting(change_rate=rate)
        found.append(Sweep(f"restarts {rate}", noise, (*lazy, *eager), ("none",), changing, setting=setting))
    for rate in RATES:
        setting = Setting(change_rate=rate)
        found.append(Sweep(f"changing {rate}", noise, tuple(lazy), lookaheads, changing, setting=setting))
        found.append(Sweep(f"restarts {rate}", noise, (*lazy, *eager), ("none",), changing, setting=setting))
        checked = min(changing, 4)
        found.append(
            Sweep(f"bound {rate}", noise, tuple(lazy), (16, "none"), checked, setting=setting, kind="theorem 3")
        )
    return found


def _label(spec: str) -> str:
    name, _, rest = spec.partition(":weight=")
    return "GBFS" if name == "tb-gbfs" else "w = " + rest.split(",")[0]


def _grid(
    rows: Rows, specs: tuple[str, ...], lookaheads: tuple[int, ...], column: str
) -> dict[str, list[float | None]]:
    return {spec: [rows.where(spec=spec, budget=k).total(column) for k in lookaheads] for spec in specs}


def _present(rows: Rows) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The algorithms and lookaheads that were run, in order."""
    specs = tuple(dict.fromkeys(row["spec"] for row in rows))
    lookaheads = sorted({int(row["budget"]) for row in rows if row["budget"] != "none"})
    return specs, tuple(lookaheads)


def _show(
    title: str, rows: Rows, column: str, y_label: str, digits: int, log_y: bool = True
) -> tuple[Table, Chart, dict[str, list[float | None]], tuple[int, ...]]:
    specs, lookaheads = _present(rows)
    values = _grid(rows, specs, lookaheads, column)
    if column == "planning_seconds":
        values = {spec: [None if v is None else 1000 * v for v in found] for spec, found in values.items()}
    table = Table(
        title,
        ("k", *map(str, lookaheads)),
        [[_label(spec), *("" if v is None else f"{v:,.{digits}f}" for v in values[spec])] for spec in specs],
    )
    chart = Chart(
        title,
        "k, expansions per move",
        y_label,
        [Series(_label(spec), lookaheads, [math.nan if v is None else v for v in values[spec]]) for spec in specs],
        log_x=True,
        log_y=log_y,
        x_ticks=lookaheads,
    )
    return table, chart, values, lookaheads


def _falls_with_weight(
    values: dict[str, list[float | None]], lookaheads: tuple[int, ...], upto: int, slack: float
) -> tuple[list[int], list[int]]:
    """For which lookaheads the numbers fall as w grows, and for which they do not."""
    weighted = [spec for spec in values if "weight=" in spec]
    good: list[int] = []
    bad: list[int] = []
    for i, k in enumerate(lookaheads):
        if k <= upto:
            (good if falling([values[spec][i] for spec in weighted], slack) else bad).append(k)
    return good, bad


def _ratio(values: dict[str, list[float | None]], spec: str, i: int) -> float | None:
    first, other = values[TB[0]][i], values[spec][i]
    return None if first is None or not other else first / other


def figure_1(data: Data) -> Finding:
    """Cost falls with w for k <= 64 on both sets; in rooms TB-GBFS is at least 8 times cheaper than TBA* at k = 1."""
    tables, charts, words, good = [], [], [], True
    for sweep, name in SETS:
        if sweep not in data:
            return Finding(CANNOT_TELL, f"nothing was run on {name}")
        table, chart, values, k = _show(f"Figure 1, {name}: solution cost", data[sweep], "cost", "mean cost", 1)
        tables.append(table)
        charts.append(chart)
        _, bad = _falls_with_weight(values, k, 64, SLACK)
        good &= not bad
        times = _ratio(values, "tb-gbfs", 0)
        words.append(
            f"{name}: " + ("falls with w for every k up to 64" if not bad else f"does not fall with w at k = {bad}")
            + ("" if times is None else f", TBA* at k = 1 costs {times:.1f} times TB-GBFS")
        )  # fmt: skip
        if sweep == "rooms":
            good &= times is not None and times >= 8
    return Finding(REPRODUCED if good else DIFFERS, "; ".join(words), tables, charts, reason="" if good else _ENOUGH)


def figure_2(data: Data) -> Finding:
    """Search time falls with w for k <= 64 (within 10% from one w to the next: times are noisy)."""
    tables, charts, words, good = [], [], [], True
    for sweep, name in SETS:
        if sweep not in data:
            return Finding(CANNOT_TELL, f"nothing was run on {name}")
        rows = data[sweep]
        table, chart, values, k = _show(
            f"Figure 2, {name}: search time, ms", rows, "planning_seconds", "mean ms per problem", 3
        )
        tables.append(table)
        charts.append(chart)
        _, bad = _falls_with_weight(values, k, 64, 0.10)
        good &= not bad
        words.append(f"{name}: " + ("falls with w for k up to 64" if not bad else f"does not fall at k = {bad}"))
    return Finding(REPRODUCED if good else DIFFERS, "; ".join(words), tables, charts, reason="" if good else _ENOUGH)


def large_maps(data: Data) -> Finding:
    """At least 6 times faster than TBA* at every k > 128."""
    if "large" not in data:
        return Finding(CANNOT_TELL, "nothing was run on large maps")
    rows = data["large"]
    cost_table, cost_chart, _, _ = _show("Large maps: solution cost", rows, "cost", "mean cost", 1)
    table, chart, values, k = _show("Large maps: search time, ms", rows, "planning_seconds", "mean ms per problem", 3)
    expanded = _grid(rows, HEAPED, k, "expansions")
    slow = _grid(data["large heap"], HEAPED, k, "planning_seconds") if "large heap" in data else {}
    lines, least = [], {"ours": math.inf, "heap": math.inf}
    for spec in HEAPED[1:]:
        for label, found in (("time", values), ("states expanded", expanded), ("time, with a binary heap", slow)):
            ratios = [_ratio(found, spec, i) if found else None for i in range(len(k))]
            lines.append([f"{_label(spec)}, {label}", *("" if r is None else f"{r:.1f}x" for r in ratios)])
            which = "ours" if found is values else "heap" if found is slow else None
            if which is not None:
                above = [r for r, each in zip(ratios, k, strict=True) if each > 128 and r is not None]
                least[which] = min([least[which], *above])
    ratio = Table("How many times less than TBA* (w = 1)", ("k", *map(str, k)), lines)
    good = least["ours"] >= 6
    words = f"above k = 128 at least {least['ours']:.1f} times faster than TBA*"
    if slow:
        words += f"; with a binary heap at least {least['heap']:.1f} times"
    return Finding(
        REPRODUCED if good else DIFFERS, words, [ratio, table, cost_table], [chart, cost_chart],
        reason="" if good else _SIX,
    )  # fmt: skip


def figure_3(data: Data) -> Finding:
    """Non-optimal moves fall with w for k <= 64."""
    tables, charts, words, good = [], [], [], True
    for sweep, name in SETS:
        if sweep not in data:
            return Finding(CANNOT_TELL, f"nothing was run on {name}")
        title = f"Figure 3, {name}: non-optimal moves"
        table, chart, values, k = _show(title, data[sweep], "non_optimal_moves", "mean moves", 1)
        tables.append(table)
        charts.append(chart)
        _, bad = _falls_with_weight(values, k, 64, SLACK)
        good &= not bad
        words.append(f"{name}: " + ("fall with w for k up to 64" if not bad else f"do not fall at k = {bad}"))
    return Finding(REPRODUCED if good else DIFFERS, "; ".join(words), tables, charts, reason="" if good else _MOVES)


def figure_4(data: Data) -> Finding:
    """The share of back-moves is largest for TBA* and smallest for TB-GBFS, averaged over k <= 64."""
    tables, charts, words, good = [], [], [], True
    for sweep, name in SETS:
        if sweep not in data:
            return Finding(CANNOT_TELL, f"nothing was run on {name}")
        title = f"Figure 4, {name}: back-moves, % of non-optimal"
        table, chart, values, k = _show(title, data[sweep], "back_moves_percent", "%", 1, log_y=False)
        tables.append(table)
        charts.append(chart)
        few = [i for i, each in enumerate(k) if each <= 64]
        means = {spec: sum(values[spec][i] or 0 for i in few) / len(few) for spec in values}
        most, least = max(means, key=lambda s: means[s]), min(means, key=lambda s: means[s])
        right = most == TB[0] and least == "tb-gbfs" and means[TB[-1]] < means[TB[0]]
        good &= right
        words.append(f"{name}: TBA* {means[TB[0]]:.0f}%, w = 3 {means[TB[-1]]:.0f}%, TB-GBFS {means['tb-gbfs']:.0f}%")
    return Finding(REPRODUCED if good else DIFFERS, "; ".join(words), tables, charts)


def figure_5(data: Data) -> Finding:
    """For every change rate and k, w > 1 costs no more than w = 1 and takes less time; cost is lowest with w > 1."""
    tables, charts, words, good = [], [], [], True
    for rate in RATES:
        rows = data[f"changing {rate}"]
        if not len(rows):
            return Finding(CANNOT_TELL, f"nothing was run at change rate {rate}")
        specs, k = _present(rows)
        worst = {}
        for column, label, digits in (("cost", "mean cost", 1), ("planning_seconds", "mean ms", 3)):
            what = "solution cost" if column == "cost" else "search time, ms"
            table, chart, values, k = _show(f"Figure 5, change rate {rate}: {what}", rows, column, label, digits)
            tables.append(table)
            charts.append(chart)
            pairs = [
                (values[spec][i] or math.inf) / (values[specs[0]][i] or math.nan)
                for spec in specs[1:]
                for i in range(len(k))
            ]
            worst[column] = max(pairs)
        good &= worst["cost"] <= 1 + SLACK and worst["planning_seconds"] <= 1.1
        words.append(
            f"rate {rate}: against w = 1, any w > 1 costs at most {worst['cost']:.2f} times as much "
            f"and takes at most {worst['planning_seconds']:.2f} times as long"
        )
    return Finding(REPRODUCED if good else DIFFERS, "; ".join(words), tables, charts, reason="" if good else _FIVE)


def figure_6(data: Data) -> Finding:
    """Lazy restarts take less than 80% of eager's time at every change rate (mean over the weights)."""
    lines, series, means = [], [], {}
    for rate in (*RARER, *RATES):
        rows = data[f"restarts {rate}"]
        if not len(rows):
            return Finding(CANNOT_TELL, f"nothing was run at change rate {rate}")
        ratios, weights, counts = [], [], []
        for lazy, eager, w in zip(LAZY, EAGER, WEIGHTS, strict=True):
            a, b = (rows.where(spec=spec).total("planning_seconds") for spec in (lazy, eager))
            if a is None or not b:
                continue
            c, d = (rows.where(spec=spec).total("restarts") for spec in (lazy, eager))
            ratios.append(a / b)
            counts.append((c or 0) / (d or 1))
            weights.append(w)
        means[rate] = sum(ratios) / len(ratios)
        lines.append([f"rate {rate}: time", *(f"{r:.2f}" for r in ratios)])
        lines.append([f"rate {rate}: restarts", *(f"{r:.2f}" for r in counts)])
        series.append(Series(f"change rate {rate}", weights, ratios))
    chart = Chart("Figure 6: time of lazy over eager restarts", "w", "lazy / eager", series, x_ticks=weights)
    table = Table("Lazy over eager, k unlimited", ("w", *(f"{w:g}" for w in weights)), lines)
    good = max(means[rate] for rate in RATES) < 0.8
    words = "lazy takes " + ", ".join(f"{100 * m:.0f}% at change rate {rate}" for rate, m in means.items())
    return Finding(
        REPRODUCED if good else DIFFERS, words + " of eager's time", [table], [chart], reason="" if good else _SIXTH
    )


def theorem_2(data: Data) -> Finding:
    """No run of TB-WA* costs more than floor((N(w) - 1) / k) c+ + 2 w c*, but for one bucket of the open list."""
    lines, over, runs, worst_of_all = [], 0, 0, 0.0
    for sweep in ("bg", "rooms", "large"):
        if sweep not in data or f"{sweep} offline" not in data:
            continue
        worst, tightest = 0.0, []
        for tb, offline, w in zip(TB, OFFLINE, WEIGHTS, strict=True):
            reference = data[f"{sweep} offline"].where(spec=offline).by_problem()
            for row in data[sweep].where(spec=tb):
                known = reference.get((row["digest"], row["problem"]))
                if known is None or row["status"] != "reached":
                    continue
                first = (known["expansions"] - 1) // int(row["budget"]) * STEP
                bound = first + 2 * (w * row["optimal"] + BUCKET)
                runs += 1
                over += row["cost"] > bound
                worst = max(worst, row["cost"] / bound)
                tightest.append(row["cost"] / bound)
        worst_of_all = max(worst_of_all, worst)
        mean = sum(tightest) / len(tightest) if tightest else math.nan
        lines.append([sweep, str(len(tightest)), f"{mean:.3f}", f"{worst:.3f}"])
    if not runs:
        return Finding(CANNOT_TELL, "nothing was run")
    table = Table("Cost over the bound", ("maps", "runs", "mean", "worst"), lines)
    words = f"{over} of {runs:,} runs exceed the bound; the worst reaches {100 * worst_of_all:.0f}% of it"
    return Finding(REPRODUCED if over == 0 else DIFFERS, words, [table])


def theorem_3(data: Data) -> Finding:
    """In no run is the path in force dearer than w c* + (w - 1) d, within a thousandth and a bucket."""
    lines, worst, runs = [], 0.0, 0
    for rate in RATES:
        rows = data[f"bound {rate}"]
        for spec in _present(rows)[0] if len(rows) else ():
            some = [row["bound_ratio"] for row in rows.where(spec=spec) if row["bound_ratio"] is not None]
            if some:
                worst, runs = max(worst, *some), runs + len(some)
                lines.append([f"rate {rate}, {_label(spec)}", str(len(some)), f"{max(some):.4f}"])
    if not runs:
        return Finding(CANNOT_TELL, "nothing was run")
    table = Table("Cost of the path over the bound, after each change", ("", "runs", "worst"), lines)
    good = worst <= 1 + 1e-3
    return Finding(REPRODUCED if good else DIFFERS, f"the worst of {runs} runs is {worst:.4f} of the bound", [table])


_ENOUGH = (
    "from w = 1.4 on the goal is found within a few dozen moves at these k; what is left then is weighted A*'s own "
    "suboptimality, which grows with w, and times so short that the walk itself counts. Against w = 1 all of them gain."
)
_SIX = (
    "the paper's open list is a binary heap, whose operations take longer the more states are open, and TBA* has most. "
    "Ours is an array of buckets: it makes TBA*'s expansions about four times cheaper, the others' about twice. The "
    "table has the times of both, and the states expanded, which no open list changes."
)
_MOVES = "for larger k the walk is short and w > 1 trades optimal moves for speed, as the paper says of k = 256."
_FIVE = "with many expansions per move w = 1 finds a shorter path at once; the paper reports means only."
_SIXTH = (
    "a path of some 500 cells rarely survives a change that blocks 0.5% to 5% of the free cells, so lazy restarts "
    "nearly as often as eager. And a restart here costs what it expands, not a pass over all states as in Algorithm 1, "
    "line 4: with w > 1 that is hardly more than the path, so finding a new one takes about as long as looking whether "
    "the old one still holds. Lazy pays where changes are rare and searches long: w = 1 at rates 0.01 and 0.1, which "
    "are not in the paper."
)

PAPER = Paper(
    "tbbfs",
    "Hernández, Asín and Baier: Time-Bounded Best-First Search. SoCS 2014",
    sweeps,
    (
        Item(
            "Figure 1",
            "Solution cost, static maps",
            "For lookaheads up to 64, cost decreases as w increases; in ROOMS TB-GBFS outperforms TBA* by almost an "
            "order of magnitude.",
            "Reproduced if cost falls with w for every k <= 64 on both sets (2% slack), and TB-GBFS is at least 8 "
            "times cheaper than TBA* at k = 1 in rooms.",
            ("bg", "rooms"),
            figure_1,
        ),
        Item(
            "Figure 2",
            "Search time, static maps",
            "As w increases, search time decreases significantly for lower lookaheads and moderately for higher ones.",
            "Reproduced if time falls with w for every k <= 64 on both sets (10% slack from one w to the next).",
            ("bg", "rooms"),
            figure_2,
        ),
        Item(
            "Large maps",
            "StarCraft maps of 1024 x 1024",
            "For lookaheads above 128, TB-WA*(3) and TB-GBFS are at least six times faster than TBA*.",
            "Reproduced if both are at least 6 times faster at every k > 128.",
            ("large", "large heap"),
            large_maps,
        ),
        Item(
            "Figure 3",
            "Non-optimal moves",
            "They decrease as w increases, except for lookahead 256 in smaller maps.",
            "Reproduced if they fall with w for every k <= 64 on both sets (2% slack).",
            ("bg", "rooms"),
            figure_3,
        ),
        Item(
            "Figure 4",
            "Back-moves",
            "TBA* has the highest share of back-moves, TB-GBFS the lowest; the share falls as w increases.",
            "Reproduced if so for the mean over k <= 64 on both sets.",
            ("bg", "rooms"),
            figure_4,
        ),
        Item(
            "Figure 5",
            "Changing maps, 1000 x 1000, 10% obstacles",
            "Cost and runtime decrease when w increases, for all lookaheads.",
            "Reproduced if at every change rate and k, any w > 1 costs no more than w = 1 (2% slack) and takes no "
            "longer (10% slack).",
            tuple(f"changing {rate}" for rate in RATES),
            figure_5,
        ),
        Item(
            "Figure 6",
            "Lazy and eager restarts",
            "Lazy restarts yield substantially faster executions.",
            "Reproduced if lazy takes less than 80% of eager's time at every change rate, mean over the weights.",
            tuple(f"restarts {rate}" for rate in (*RARER, *RATES)),
            figure_6,
        ),
        Item(
            "Theorem 2",
            "The cost bound of TB-WA*",
            "Cost is at most floor((N(w) - 1) / k) c+ + 2 w c*.",
            "Reproduced if no run exceeds it; a bucket of the open list may add 0.15 to each w c*.",
            ("bg", "bg offline", "rooms", "rooms offline", "large", "large offline"),
            theorem_2,
        ),
        Item(
            "Theorem 3",
            "The path in a changing world",
            "The path in force costs at most w times the optimum as the world is now.",
            "Looked at one tick after each change. Proved for the root of the search; after walking d from there the "
            "bound is w c* + (w - 1) d. Reproduced if no path exceeds that by more than 0.1%.",
            tuple(f"bound {rate}" for rate in RATES),
            theorem_3,
        ),
    ),
)
