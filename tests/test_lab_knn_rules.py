"""The rules of the kNN LRTA* chapter's tables."""

from __future__ import annotations

from typing import Any

import pytest

from timebound.lab import paper, report
from timebound.lab.papers import knn

pytestmark = pytest.mark.once  # no kernel plays a part in them


def told(side: int = 4096, hours: float = 0.5, **changes: float) -> paper.Data:
    """Records that say what the paper says, but for the mean of the lines in ``changes``."""

    def row(name: str, **more: Any) -> dict:
        published = knn.PUBLISHED[name]
        percent = changes.get(name, published.percent)
        return {
            "map": "m", "digest": "d", "problem": 0, "status": "reached",
            "optimal": 1000.0, "cost": 1000.0 * (1 + percent / 100),
            "microseconds_per_move": published.microseconds, "memory_states": published.online * 256,
            "memory_bytes": 1000, "answer": None, "expansions": 60_000, "moves": 1000, "waits": 0, **more,
        }  # fmt: skip

    rows: dict[str, list[dict]] = {"knn": [], "tba": [], "a": [row("A*")]}
    notes = []
    for records in (10_000, 40_000, 60_000, 80_000):
        name = f"kNN LRTA*({records})"
        more = {"records": records, "database": f"trees-{records}", "answer": "record"}
        rows["knn"].append(row(name, asking_moves=1, states_per_move_max=3000, **more))
        size = knn.PUBLISHED[name].cumulative - knn.PUBLISHED[name].online
        took = {"wall_seconds": 3600 * hours * records / 80_000, "core_seconds": 3600 * hours * records / 80_000}
        notes.append(
            {
                "records": records, "mode": "trees", "whole": True, "rows": side, "cols": side, "jobs": 1,
                "bytes": 1024 * size, "states": 256 * size, "map": "m", **took,
            }
        )  # fmt: skip
    covering = row("kNN LRTA*(10000)", records=1000, database="coverage-1000", answer="record", asking_moves=1)
    covering |= {"states_per_move_max": 3000, "cost": 1000.0 * (1 + changes.get("coverage", 1000.0) / 100)}
    rows["knn"].append(covering)
    notes.append({**notes[0], "records": 1000, "coverage": True})
    rows["tba"] = [row(f"TBA*({r})", budget=str(r)) for r in knn.TIME_SLICES]
    return paper.Data(rows, notes)


def test_the_papers_own_numbers_pass() -> None:
    for item in knn.ITEMS:
        if item.number not in ("Edits", "Coverage", "Fallback"):  # not in the paper
            assert item.examine(told()).verdict == report.REPRODUCED, item.number


def test_the_rules_can_fail() -> None:
    def table_1(**changes: Any) -> str:
        return knn.table_1(told(**changes)).verdict

    assert table_1(**{"kNN LRTA*(80000)": 13.0}) == report.DIFFERS
    assert table_1(**{"TBA*(100)": 11.0}) == report.DIFFERS
    assert table_1(**{"TBA*(5)": 5000.0}) == report.DIFFERS
    assert table_1(**{"TBA*(5)": 5000.0}, side=1024) == report.REPRODUCED  # not compared on smaller maps
    assert knn.coverage(told(coverage=6800.0)).because.startswith("reached")  # 10,000 random records: 6851.62%
    assert knn.coverage(told(coverage=7000.0)).because.startswith("not reached")
    assert knn.table_2(told(hours=1.1)).verdict == report.DIFFERS
    assert knn.table_2(told(**{"kNN LRTA*(60000)": 11.0})).verdict == report.DIFFERS

    data = told()
    data["knn"][3]["status"] = "move-limit"
    finding = knn.table_1(data)
    assert finding.verdict == report.DIFFERS
    assert ">= 11.96" in finding.because
    data["knn"][3].update(asking_moves=2, memory_states=200_000)
    assert knn.moves(data).verdict == report.DIFFERS
    assert knn.table_4(data).verdict == report.DIFFERS
    for note in data.databases:
        note["bytes"] *= 3  # type: ignore[index]
    assert knn.table_3(data).verdict == report.DIFFERS
    assert knn.table_5(data).verdict == report.REPRODUCED
    data["tba"][0]["memory_states"] = 1e9
    assert knn.table_5(data).verdict == report.DIFFERS


def test_without_notes_nothing_can_be_told() -> None:
    data = told()
    bare = paper.Data({name: list(data[name]) for name in ("knn", "tba", "a")})
    for rule in (knn.table_2, knn.table_3, knn.table_5):
        assert rule(bare).verdict == report.CANNOT_TELL


def test_records_made_as_published_are_judged_where_there_are_enough() -> None:
    data = told()
    many = data["knn"][2]  # 60,000 from trees
    rows = {name: list(data[name]) for name in ("knn", "tba", "a")}
    rows["knn"].append({**many, "database": "paths-60000", "cost": 1130.0})
    both = paper.Data(rows, data.databases)
    finding = knn.table_1(both)
    assert finding.because.startswith("kNN LRTA*(60000, paths): 13.00% above")
    assert finding.verdict == report.DIFFERS
    rows["knn"][-1]["cost"] = 1120.0
    assert knn.table_1(both).verdict == report.REPRODUCED
    rows["knn"][-1]["records"] = 10_000  # too few: those from trees
    assert knn.table_1(both).because.startswith("kNN LRTA*(80000): 11.96% above")


def test_it_is_told_on_which_maps_the_mean_holds() -> None:
    data = told()
    rows = {name: list(data[name]) for name in ("knn", "tba", "a")}
    rows["knn"].append({**rows["knn"][3], "map": "n", "digest": "e", "cost": 3000.0, "answer": "none"})
    finding = knn.table_1(paper.Data(rows, data.databases))
    assert "12.77% holds on m (11.96%), not on n (1 of 1 problems without an answer)" in finding.because
    (kinds,) = (table for table in finding.tables if table.title.startswith("Map by map"))
    assert kinds.rows[0][:5] == ["m", "1", "60.0", "60.0", "60.0"]
    assert kinds.rows[0][5:8] == ["0", "11.96", "11.96"]


def test_fallbacks_are_told_side_by_side() -> None:
    rows = []
    for name, spec in knn.OTHERWISE.items():
        for budget in knn.OTHERWISE_BUDGETS:
            for number, answer in enumerate(("record", "none")):
                far = {"record": 1.1, "none": 900.0 if name == "LRTA*" else 3.0}[answer]
                rows.append(
                    {
                        "spec": spec, "budget": str(budget), "database": "trees-10000", "records": 10_000,
                        "answer": answer, "problem": number, "optimal": 1000.0, "cost": 1000.0 * far,
                        "status": "move-limit" if far > 800 else "reached", "memory_states": 500, "memory_bytes": 2048,
                    }
                )  # fmt: skip
    finding = knn.otherwise(paper.Data({"otherwise": rows}))
    assert finding.verdict == report.BEYOND
    first, second = finding.tables[0].rows[:2]
    assert first == [
        "10,000 trees, 10 states per move, LRTA*", "1/2", ">= 44,955.00", "44,955.00", ">= 89,900", "1/2", "500", "500",
        "2",
    ]  # fmt: skip
    assert second[0].endswith("TB-WA*")
    assert second[2:6] == ["105.00", "105.00", "200", "2/2"]
    assert knn.otherwise(paper.Data({})).verdict == report.CANNOT_TELL
    assert knn.otherwise(paper.Data({"otherwise": rows[:4]})).verdict == report.CANNOT_TELL
