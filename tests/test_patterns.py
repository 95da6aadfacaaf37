"""Pattern databases: every entry against a plain version; made in any way the same; nothing hostile gets in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import timebound as tb
from forking import Forking
from helpers import COMPILED, Case, graph_cases, grid_cases
from naive import patterns as naive
from naive.worlds import Step
from small_databases import with_number
from timebound import cli
from timebound.algorithms import REGISTRY, Algorithm
from timebound.databases import files, patterns
from timebound.databases.kinds import DatabaseKind
from timebound.databases.library import build
from timebound.databases.patterns import LEVEL_PATTERNS, PATTERNS, Patterns
from timebound.kernels.jit import kernel
from timebound.kernels.pattern_tables import intermediate_goal, region_of, stored_depth
from timebound.kernels.tables import INDEX_STAMPS
from timebound.lab.database_files import database_for
from timebound.lab.recipes import Recipe, warm_up
from timebound.worlds.abstraction import Abstraction

BOTH = {"level": 1, "cap": 4, "depth": "pdb", "goal": "pdb"}
LEVELS = {"level": 1, "above": 2, "cap": 4, "depth": "pdb", "goal": "pdb"}
KINDS = pytest.mark.parametrize(
    ("kind", "options"), [(PATTERNS, BOTH), (LEVEL_PATTERNS, LEVELS)], ids=["ground", "level"]
)


def user(name: str, kind: DatabaseKind) -> Algorithm:
    """An algorithm that says all of the options, and is never run."""
    return Algorithm(
        name=name,
        summary="looks things up",
        paper="none",
        parameters=kind.options,
        make=lambda *_, **__: None,  # type: ignore[arg-type, return-value]
        database=kind,
    )


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever looks things up: files are found by the kinds that algorithms declare."""
    monkeypatch.setattr(REGISTRY, "_others", {})
    tb.register(user("looks", PATTERNS))
    tb.register(user("looks-above", LEVEL_PATTERNS))
    yield
    monkeypatch.undo()
    REGISTRY.version += 1


def rooms(seed: int = 1) -> tb.Grid:
    side = 24 if COMPILED else 12
    return tb.Grid(tb.generate.rooms((side, side), room=4, seed=seed))


def made(world: Any, kind: DatabaseKind = PATTERNS, **options: Any) -> Patterns:
    given = {option.name: option.default for option in kind.options} | options
    return build(kind, world, None, given)


# --- what is in it ---------------------------------------------------------------------------------------------------


class GraphTwin:
    """A graph as a textbook has it, from the arrays of one with positions."""

    def __init__(self, graph: tb.Graph) -> None:
        self.view = graph.view

    def successors(self, state: int) -> list[Step]:
        view = self.view
        arcs = range(view.first[state], view.first[state + 1])
        return [Step(int(view.head[k]), int(view.cost[k]), float(view.length[k])) for k in arcs]

    def estimate(self, state: int, goal: int) -> int:
        x, y, z = (self.view.position[state] - self.view.position[goal]).tolist()
        return int(self.view.ratio * math.sqrt(x * x + y * y + z * z))


def check(database: Patterns, twin: Any, points: list[Any], representatives: list[Any]) -> None:
    """Every entry against the plain version. ``points`` are the states of the base by number, None for walls."""
    region, _, goals, depths = (array.tolist() for array in database.patterns)
    settings, count = database.settings, len(database)
    assert count == len(representatives)
    places = {point: region[k] for k, point in enumerate(points) if point is not None}
    assert all((region[k] >= 0) == (point is not None) for k, point in enumerate(points))
    assert [places[point] for point in representatives] == list(range(count))
    for row, root in enumerate(representatives):
        far = naive.distances(twin, root)
        for a, start in enumerate(representatives):
            entry, target = row * count + a, root
            if goals:
                target = None if goals[entry] < 0 else points[goals[entry]]
                assert (target is None) == (start not in far)
                if a == row:
                    assert target == root
                elif target is not None:
                    assert target in naive.ways_out(twin, far, places, start)
            if depths:
                right = 1
                if a != row and start in far:
                    right = naive.depth(twin, far, start, target, settings["cap"])
                assert depths[entry] == right
    assert len(goals) == count**2 * (settings["goal"] == "pdb")
    assert len(depths) == count**2 * (settings["depth"] == "pdb")


def check_case(case: Case, level: int, **options: Any) -> None:
    world = case.world
    level = min(level, Abstraction.of(world).height)
    assume(level > 0)
    free = world.free_by_state != 0 if isinstance(world, tb.Grid) else np.ones(world.states, bool)
    points = [world.point_of(s) if free[s] else None for s in range(world.states)]
    representatives = [world.point_of(int(s)) for s in Abstraction.of(world).representatives(level)]
    check(made(world, level=level, **options), case.twin, points, representatives)


ASKED = st.fixed_dictionaries(
    {
        "level": st.integers(1, 2),
        "cap": st.integers(1, 6),
        "depth": st.sampled_from(["pdb", "fixed"]),
        "goal": st.sampled_from(["pdb", "global"]),
    }
).filter(lambda options: "pdb" in (options["depth"], options["goal"]))


@given(grid_cases(kind="plain") | grid_cases(kind="near") | grid_cases(kind="far"), ASKED)
def test_grids(case: Case, options: dict[str, Any]) -> None:
    check_case(case, **options)


@given(graph_cases(), ASKED)
def test_graphs(case: Case, options: dict[str, Any]) -> None:
    assume(case.world.undirected)
    check_case(case, **options)


@given(grid_cases(kind="plain"), st.sampled_from([(1, 0), (1, 2), (2, 2)]), ASKED)
def test_levels(case: Case, levels: tuple[int, int], options: dict[str, Any]) -> None:
    level, above = levels
    abstraction = Abstraction.of(case.world)
    assume(abstraction.height >= max(levels))
    database = made(case.world, LEVEL_PATTERNS, **options | {"level": level, "above": above})
    base = abstraction.world(level)
    representatives = abstraction.representatives(above or level, level).tolist()
    check(database, GraphTwin(base), list(range(base.states)), representatives)


def test_a_depth_is_the_least_at_which_lrta_star_sets_out_well() -> None:
    """The agent itself is asked, not the plain version."""
    world = tb.Grid(tb.generate.corner(9))
    database = made(world, level=1, cap=5, goal="global")
    representatives = Abstraction.of(world).representatives(1)
    count = len(database)
    root = world.point_of(int(representatives[-1]))
    labels = database.patterns.depths[(count - 1) * count :].tolist()
    assert set(labels) > {1, 5}

    def goes_well(start: Any, depth: int) -> bool:
        agent = tb.agent(f"lrta*:depth={depth}", world, start, root)
        agent.step()
        left = tb.solve(world, agent.position, root, "a*").cost
        step = math.dist(start, agent.position)
        return bool(abs(step + left - tb.solve(world, start, root, "a*").cost) < 1e-9)

    for start, label in zip(representatives[:-1], labels, strict=False):
        point = world.point_of(int(start))
        assert not any(goes_well(point, depth) for depth in range(1, label))
        assert label == 5 or goes_well(point, label)


@kernel
def looked_up(table, s, goal):
    here = region_of(table, s)
    there = region_of(table, goal)
    return intermediate_goal(table, here, there), stored_depth(table, max(here, 0), max(there, 0))


def test_what_kernels_look_up() -> None:
    world = rooms()
    table = made(world, **BOTH).patterns
    free = np.flatnonzero(world.free_by_state)
    s, goal = int(free[0]), int(free[-1])
    row = int(table.region[goal]) * int(table.count[0])
    assert looked_up(table, s, goal)[0] == table.goals[row + table.region[s]]
    assert looked_up(table, s, goal)[1] == table.depths[row + table.region[s]]
    assert looked_up(table, 0, goal)[0] == looked_up(table, s, 0)[0] == -1


@pytest.mark.parametrize("worn", [False, True], ids=["small", "worn"])
def test_long_work_pauses_and_grows(worn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookahead that is interrupted all the time, in a space that is too small or worn out, finds the same."""
    world = rooms()
    options = {"level": 2, "cap": 4, "goal": "global"}
    whole = made(world, **options)
    new_space, asked = patterns.new_space, []

    def small_at_first(slots: int, arcs: int) -> Any:
        asked.append(slots)
        space = new_space(slots if worn or len(asked) > 1 else 16, arcs)
        if worn and len(asked) == 1:
            space.table.stamp[0] = INDEX_STAMPS
        return space

    monkeypatch.setattr(patterns, "new_clock", lambda: np.array([0, 0, 0, 1, 1], np.int64))
    monkeypatch.setattr(patterns, "new_space", small_at_first)
    hurried = made(world, **options)
    assert asked[:2] == [4096, 4096 if worn else 32]
    assert np.array_equal(hurried.patterns.depths, whole.patterns.depths)


def test_an_edited_world_is_taken_as_it_is() -> None:
    cells = np.ones((8, 8), bool)
    world = tb.Grid(cells)
    Abstraction.of(world).regions(2)
    world.block((3, 3))
    world.block((4, 4))
    cells[3, 3] = cells[4, 4] = False
    for one, other in zip(made(world, **BOTH).patterns, made(tb.Grid(cells), **BOTH).patterns, strict=True):
        assert np.array_equal(one, other)


# --- made in any way, the same ---------------------------------------------------------------------------------------


@KINDS
def test_the_same_bytes_with_any_number_of_jobs(
    kind: DatabaseKind, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "ROWS", 3)
    for jobs in (1, 2):
        build(kind, rooms(), tmp_path / f"{jobs}.db", options, jobs=jobs)
    assert (tmp_path / "1.db").read_bytes() == (tmp_path / "2.db").read_bytes()
    opened = tb.load_database(tmp_path / "1.db", rooms())
    assert not any(array.flags.writeable for array in opened.patterns)
    for one, other in zip(opened.patterns, build(kind, rooms(), None, options).patterns, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.skipif(not COMPILED, reason="starts processes; the same code runs above")
def test_a_cluster_makes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(patterns, "ROWS", 8)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        for kind, options in ((PATTERNS, BOTH), (LEVEL_PATTERNS, LEVELS)):
            build(kind, rooms(), tmp_path / "threads.db", options)
            build(kind, rooms(), tmp_path / "dask.db", options, dask=cluster.scheduler_address)
            assert (tmp_path / "dask.db").read_bytes() == (tmp_path / "threads.db").read_bytes()


@KINDS
def test_interrupted_work_goes_on(
    kind: DatabaseKind, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "ROWS", 2)
    world, file = rooms(), tmp_path / "p.db"
    build(kind, world, file, options)
    whole = file.read_bytes()
    file.unlink()
    make, numbers = patterns._make_block, []

    def make_block(base: Any, plan: Any, block: Any) -> Any:
        if len(numbers) == 3:
            raise KeyboardInterrupt
        numbers.append(block.number)
        return make(base, plan, block)

    monkeypatch.setattr(patterns, "_make_block", make_block)
    with pytest.raises(KeyboardInterrupt):
        build(kind, world, file, options)
    assert not file.exists()
    with pytest.raises(tb.DatabaseError, match="parts of another database"):
        build(kind, world, file, {**options, "cap": 5})
    folder = tmp_path / "p.db.parts"
    header, part = files.unpacked(np.frombuffer((folder / "000001.part").read_bytes(), np.uint8), "part")
    for nonsense in (
        {"goals": with_number(part["goals"], 0, -2)},
        {"goals": with_number(part["goals"], 0, 2**31 - 1)},
        {"goals": part["goals"][:-1]},
        {"depths": with_number(part["depths"], 1, 0)},
        {"depths": with_number(part["depths"], 1, 5)},
        {"depths": part["depths"][:0]},
    ):
        changed = files.packed(header["kind"], header["world"], header["settings"], {**part, **nonsense})
        (folder / "000001.part").write_bytes(changed)
        numbers[:] = [0, 0]  # one more is made, which is the damaged one
        with pytest.raises(KeyboardInterrupt):
            build(kind, world, file, options)
        assert numbers == [0, 0, 1]
    numbers.clear()
    told_of: list[tuple[int, int, str]] = []
    monkeypatch.setattr(patterns, "_make_block", lambda *given: numbers.append(given[-1].number) or make(*given))
    build(kind, world, file, options, progress=lambda *news: told_of.append(news))
    count = len(tb.load_database(file, world))
    assert numbers == list(range(3, (count + 1) // 2))
    assert (told_of[0], told_of[-1]) == ((6, count, "regions"), (count, count, "regions"))
    assert file.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["p.db"]


SCRIPT = """
import os, sys, timebound as tb
from timebound.databases import patterns
from timebound.databases.library import build
replace = os.replace
def told(*names, **options):
    replace(*names, **options)
    print(1, flush=True)
os.replace = told  # by which every finished part is put into its place
from timebound.algorithms import Algorithm
kind = patterns.PATTERNS
tb.register(Algorithm("looks", "s", "p", lambda *_, **__: None, kind.options, database=kind))
patterns.ROWS = 4
world = tb.Grid(tb.generate.rooms((64, 64), room=8, seed=1))
build(kind, world, sys.argv[1], {"level": 1, "cap": 20, "depth": "pdb", "goal": "pdb"}, jobs=2)
"""


@pytest.mark.skipif(not COMPILED, reason="kills processes; the same code runs above")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.db", tmp_path / "broken.db"
    with Forking(SCRIPT) as program:
        program.kill_again_and_again(str(broken), whole=program.told(str(whole)))
        program.told(str(broken))
    assert broken.read_bytes() == whole.read_bytes()


def test_a_file_that_will_do_is_taken() -> None:
    """Depths serve lower caps, goals any depth; of several files the very one that was asked for is taken first."""
    for name, kind, above in (("d-lrta*", PATTERNS, ""), ("pr-lrta*", LEVEL_PATTERNS, ",above=3")):
        made = Recipe.of(f"{name}:level=2,depth=pdb,goal=pdb,cap=30{above}").options
        for asked, good in (
            ("level=2,depth=pdb,goal=pdb,cap=30", True),
            ("level=2,depth=pdb,goal=pdb,cap=3", True),
            ("level=2,depth=fixed,goal=pdb,cap=99", True),
            ("level=2,depth=pdb,goal=pdb,cap=31", False),
            ("level=2,depth=pdb,goal=global,cap=30", False),
            ("level=1,depth=pdb,goal=pdb,cap=30", False),
        ):
            parameters = tb.algorithms.parse_spec(f"{name}:{asked}{above}").parameters
            assert kind.will_do(parameters, made) == good, asked
        other = tb.algorithms.parse_spec(f"{name}:level=2,depth=pdb,goal=pdb,cap=3").parameters
        assert kind.will_do(other, made) == (not above)


def test_the_command_line_takes_a_file_with_a_larger_cap(tmp_path: Path) -> None:
    world = rooms()
    file, exact = str(tmp_path / "large.db"), str(tmp_path / "exact.db")
    tb.prepare(world, file, algorithm="d-lrta*:level=1,cap=9")
    tb.prepare(world, exact, algorithm="d-lrta*:level=1,cap=4")
    wanted = tb.algorithms.parse_spec("d-lrta*:level=1,cap=4")
    assert database_for(world, wanted, [file]).settings["cap"] == 9
    assert database_for(world, wanted, [file, exact]).settings["cap"] == 4
    with pytest.raises(tb.DatabaseError, match=r"none of .* was made for this map"):
        database_for(world, tb.algorithms.parse_spec("d-lrta*:level=1,cap=10"), [file, exact])


def test_what_asks_for_the_same_is_made_once(tmp_path: Path) -> None:
    """Without depths in it, a table depends neither on the cap nor on what else says the depth."""
    recipes = {Recipe.of(f"looks:level=1,goal=pdb,depth={depth},cap={cap}") for depth, cap in (
        ("fixed", 1), ("fixed", 7), ("tree", 3), ("oracle", 30)
    )}  # fmt: skip
    assert len(recipes) == 1
    (recipe,) = recipes
    assert recipe.serves("looks:level=1,goal=pdb,depth=tree,cap=99")
    assert not recipe.serves("looks:level=1,goal=pdb,depth=pdb,cap=10")
    assert not recipe.serves("looks:level=2,goal=pdb,depth=fixed")
    assert Recipe.of("looks:level=1,cap=3") != Recipe.of("looks:level=1,cap=4")
    assert str(Recipe.of("looks:level=1,cap=3")) == "d-lrta-level1-cap3-depthpdb-goalpdb"
    for name, spec in (("a", "looks:level=1,depth=fixed,cap=3"), ("b", "looks:level=1,depth=oracle,cap=4")):
        tb.prepare(rooms(), tmp_path / f"{name}.db", algorithm=spec)
    assert (tmp_path / "a.db").read_bytes() == (tmp_path / "b.db").read_bytes()
    same = [Recipe.of(f"looks-above:level=2,above={above},goal=pdb") for above in (0, 2)]
    assert same[0] == same[1] != Recipe.of("looks-above:level=2,above=3,goal=pdb")


# --- what is refused -------------------------------------------------------------------------------------------------


def refusal(world: Any, kind: DatabaseKind = PATTERNS, **options: Any) -> str:
    with pytest.raises((tb.SpecError, tb.WorldError)) as caught:
        made(world, kind, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_levels_that_there_are_not() -> None:
    world = tb.Grid(np.ones((4, 4), bool))
    assert refusal(world, level=3) == "this map has no level 3: the highest is 2"
    assert "no level 9: the highest is 2" in refusal(world, LEVEL_PATTERNS, level=1, above=9, goal="pdb")
    assert "above is a level from 2, where LRTA* runs" in refusal(world, LEVEL_PATTERNS, level=2, above=1, goal="pdb")
    assert "nothing is looked up" in refusal(world, level=1, depth="tree", goal="global")
    alone = tb.Grid(np.eye(4, dtype=bool))
    assert refusal(alone, level=1) == "no two states of this map can be joined into a region"
    with pytest.raises(tb.SpecError, match="level is a whole number from 1 to 30, not '31'"):
        tb.prepare(world, None, algorithm="looks:level=31")


def test_worlds_that_have_no_tables() -> None:
    assert "grids and graphs" in refusal(tb.TilePuzzle(2, 2))
    assert "both ways" in refusal(tb.Graph([0, 1], [1, 2]))
    told_each_goal = tb.Graph([0, 1], [1, 2], directed=False, heuristic=lambda goal: [0, 0, 0])
    assert "not a vector for each goal" in refusal(told_each_goal)


def test_a_table_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused with its size, and the level that would do."""
    world = rooms()
    counts = [Abstraction.of(world).count(level) for level in range(4)]
    size = [4 * world.states + 8 + 6 * count**2 for count in counts]
    enough = 6 * size[2]
    monkeypatch.setattr(patterns, "_free_memory", lambda: enough)
    made(world, **BOTH | {"level": 2})
    said = refusal(world, **BOTH)
    assert said.startswith(f"a table of the {counts[1]} regions of level 1 has {size[1] / 1e3:,.1f} KB, and making it")
    assert said.endswith(" of memory, where " + patterns._size(enough) + " are free; level=2 would do")
    said = refusal(world, LEVEL_PATTERNS, **LEVELS | {"above": 0})
    assert said.endswith("above=2 would do")
    monkeypatch.setattr(patterns, "_free_memory", lambda: 1)
    assert refusal(world, **BOTH).endswith("; no level of this map would do")
    monkeypatch.setattr(patterns, "_free_memory", lambda: None)  # a system that does not say

    class Usage:
        free = 3 * size[2]

    monkeypatch.setattr(patterns.shutil, "disk_usage", lambda folder: Usage)
    with pytest.raises(tb.DatabaseError, match=r"on disk, where .* are free; level=2 would do"):
        build(PATTERNS, world, tmp_path / "p.db", BOTH)
    assert not list(tmp_path.glob("p.db*"))
    build(PATTERNS, world, tmp_path / "p.db", BOTH | {"level": 2})


def test_the_system_tells_what_is_free() -> None:
    assert patterns._free_memory() is None or patterns._free_memory() > 1 << 20


@KINDS
def test_hostile_files(kind: DatabaseKind, options: dict[str, Any], tmp_path: Path) -> None:
    world, file = rooms(), tmp_path / "bad.db"
    good = build(kind, world, None, options)
    table, count = good.patterns, len(good)
    settings = good.settings
    own = int(table.goals[0])  # where the first region itself is

    def refused(settings: dict[str, Any] = settings, **changes: Any) -> str:
        files.write(file, kind.name, world.digest, settings, {**table._asdict(), **changes})
        with pytest.raises(tb.DatabaseError, match=r"is damaged: .*; make it again") as caught:
            tb.load_database(file, world)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    files.write(file, kind.name, world.digest, settings, table._asdict())
    tb.load_database(file, world)
    for name, array in table._asdict().items():
        for place in {0, len(array) // 2, len(array) - 1}:
            for number in {
                "region": (-2, -(2**31), count, 2**31 - 1),
                "count": (-1, 0, count - 1, count + 1, 2**31, 2**62, -(2**63)),
                "goals": (-2, -(2**31), len(table.region), 2**31 - 1),
                "depths": (0, settings["cap"] + 1, 2**16 - 1),
            }[name]:
                refused(**{name: with_number(array, place, number)})
        for changed in (array[:-1], array[:0], np.append(array, array[-1:]), array.astype(np.float64)):
            refused(**{name: changed})
    if kind is PATTERNS:
        assert "walls" in refused(region=with_number(table.region, 0, 0))
        wall = int(np.flatnonzero(world.free_by_state == 0)[-1])
        assert "no other region" in refused(goals=with_number(table.goals, 1, wall))
    assert "no other region" in refused(goals=with_number(table.goals, count, own))  # it stays where it is
    assert "no other region" in refused(goals=with_number(table.goals, 0, -1))
    assert "no other region" in refused(goals=with_number(table.goals, 0, int(table.goals[count])))  # it leaves
    for changes in (
        {"level": 0}, {"level": 31}, {"level": "1"}, {"level": None}, {"level": True}, {"cap": 0}, {"cap": 1001},
        {"cap": 2.0}, {"depth": "fixed"}, {"depth": "deep"}, {"depth": None}, {"goal": "global"},
        {"goal": 1}, {"more": 1}, {"above": 1 if kind is PATTERNS else 29},
    ):  # fmt: skip
        refused({**settings, **changes})
    refused({})
    if kind is LEVEL_PATTERNS:
        assert "a level that there is not" in refused({**settings, "level": 29})
    arrays = dict(table._asdict())
    del arrays["depths"]
    files.write(file, kind.name, world.digest, settings, arrays)
    with pytest.raises(tb.DatabaseError, match="arrays of a pattern database"):
        tb.load_database(file, world)


# --- what is told ----------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rooms().save("rooms.map")
    count = Abstraction.of(rooms()).count(2)
    assert cli.main(["prepare", "rooms.map", "--for", "looks:level=2,cap=3", "--jobs", "2", "-o", "r.db"]) == 0
    out, err = capsys.readouterr()
    assert f"a table for {count} regions, " in err
    assert " of work for one core" in err
    assert out.startswith(f"goals and depths for all pairs of {count} regions, ")
    assert cli.main(["prepare", "rooms.map", "--for", "looks:level=2,cap=3", "-o", "r.db", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["regions"], facts["level"], facts["states"]) == (count, 2, count**2)
    assert 1 <= facts["mean_depth"] <= 3
    assert cli.main(["prepare", "rooms.map", "--for", "looks:level=20", "-o", "r.db"]) == 2
    assert "this map has no level 20" in capsys.readouterr().err
    assert cli.main(["prepare", "rooms.map", "--for", "looks:depth=tree,goal=global", "-o", "r.db"]) == 2
    assert "needs no database" in capsys.readouterr().err


def test_each_algorithm_takes_its_own_kind_only() -> None:
    """The states of one are not those of the other."""
    world = rooms()
    ground, level = made(world, **BOTH), made(world, LEVEL_PATTERNS, **LEVELS)
    PATTERNS.check("looks", ground, world)
    LEVEL_PATTERNS.check("looks-above", level, world)
    for kind, other in ((PATTERNS, level), (LEVEL_PATTERNS, ground), (PATTERNS, LEVEL_PATTERNS.empty(world)[0])):
        with pytest.raises(tb.SpecError, match=r"needs a (level )?pattern database from tb\.load_database"):
            kind.check("looks", other, world)


def test_the_lab_warms_up_for_levels_that_small_maps_do_not_have() -> None:
    warm_up([Recipe.of("looks:level=1,cap=2"), Recipe.of("looks:level=20")])


def test_what_it_tells_of_itself() -> None:
    world = tb.Grid(tb.generate.corner(9))
    deep = made(world, level=1, cap=2, goal="global")
    assert deep.remark() is not None
    assert "of the entries the depth is the cap, 2" in deep.remark()
    assert deep.summary() == f"depths for all pairs of {len(deep)} regions"
    goals = made(world, level=1, depth="fixed")
    assert goals.remark() is None
    assert goals.facts()["mean_depth"] is None
    assert repr(goals) == f"<PatternDatabase of {len(goals)} regions, 0.00 MB>"
    assert goals.fits(tb.Grid(world.free))
    assert not goals.fits(tb.Grid(world.free, connectivity=4))
    for kind in (PATTERNS, LEVEL_PATTERNS):
        (empty,) = kind.empty(world)
        assert (len(empty), empty.states, empty.summary()) == (0, 0, "nothing for all pairs of 0 regions")
        assert [array.dtype for array in empty.patterns] == [array.dtype for array in goals.patterns]
        assert isinstance(empty, kind.holds)
        assert kind.serves({option.name: option.default for option in kind.options}, empty.settings)
        assert replace(empty, settings={}).remark() is None
