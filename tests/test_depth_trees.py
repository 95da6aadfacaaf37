"""Depth trees: features against their plain version, training, files; and D LRTA* that asks one how deep to look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import timebound as tb
from helpers import COMPILED, Case, graph_cases, grid_cases, points
from naive.depth_features import Question, TreeControl, answer
from naive.worlds import reachable
from test_interrupts import impatient
from timebound.cli import main
from timebound.databases import files
from timebound.databases.depth_training import walk_by_labels
from timebound.databases.depth_trees import DepthTree
from timebound.kernels.depth_tree import FEATURES, Tree, classify, new_history, note
from timebound.kernels.memory import lacks_room
from timebound.kernels.tables import enlarged_hashed

CAP = 6 if COMPILED else 3
SIDE = 8 if COMPILED else 6


# --- what is observed ------------------------------------------------------------------------------------------------


@given(
    steps=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 9)), max_size=60),
    length=st.integers(1, 12),
)
@settings(max_examples=100)
def test_what_is_kept_of_the_last_steps_is_what_they_sum_up_to(steps: list[tuple[int, int, int]], length: int) -> None:
    history = new_history(tb.Grid(np.ones((4, 4))), length, 1)
    for k, (s, t, rise) in enumerate(steps, start=1):
        if lacks_room(history.seen, 1):
            history = history._replace(seen=enlarged_hashed(history.seen))
        note(history, np.int64(s), np.int64(t), np.int64(rise))
        recent = steps[max(0, k - length) : k]
        memo = history.memo[0]
        assert memo["steps"] == len(recent)
        assert memo["distinct"] == len({s for s, _, _ in recent})
        assert memo["volume"] == sum(rise for _, _, rise in recent)
    seen = history.seen
    last = {int(seen.states[k]): int(seen.words[k]) - 1 for k in range(int(seen.stamp[1]))}
    assert last == {s: t for s, t, _ in steps}


@pytest.mark.parametrize("presearch", [1, 2])
@given(case=grid_cases(side=SIDE), cap=st.integers(1, CAP), history=st.integers(1, 8))
@settings(max_examples=60 if COMPILED else 12)
def test_features_and_labels_are_those_of_the_plain_version(case: Case, cap: int, history: int, presearch: int) -> None:
    assume(case.goal in reachable(case.twin, case.start))
    world, most = case.world, 40
    start, goal = world.place_of(case.start), world.place_of(case.goal)
    rows, labels = walk_by_labels(world, start, goal, cap, history, presearch, most)
    twin = TreeControl(case.twin, case.goal, [], cap, history, presearch)
    twin.run(case.start, most)
    assert labels.tolist() == twin.labels
    assert rows.tolist() == twin.seen


# --- the tree --------------------------------------------------------------------------------------------------------


def trees(cap: int) -> st.SearchStrategy[Any]:
    """Trees as the plain version has them."""
    thresholds = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 12))
    return st.recursive(
        st.integers(1, cap),
        lambda below: st.builds(Question, st.integers(0, len(FEATURES) - 1), thresholds, below, below),
        max_leaves=12,
    )


def packed(plain: list[Any]) -> Tree:
    """The same trees in arrays, one after the other."""
    nodes: list[list[Any]] = []

    def add(tree: Any) -> int:
        place = len(nodes)
        nodes.append([-1, 0.0, 0, 0, 1])
        if isinstance(tree, Question):
            nodes[place] = [tree.feature, tree.threshold, add(tree.low), add(tree.high), 1]
        else:
            nodes[place][4] = tree
        return place

    roots = [add(tree) for tree in plain]
    kinds = np.int8, np.float64, np.int32, np.int32, np.uint8, np.int32
    columns = [*zip(*nodes, strict=True), roots]
    return files.frozen(Tree(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))))


def wrapped(plain: list[Any], history: int = 60, presearch: int = 1) -> DepthTree:
    return DepthTree(packed(plain), {"cap": len(plain) - 1, "history": history, "presearch": presearch})


@given(
    plain=trees(5),
    features=st.lists(st.floats(0, 12), min_size=len(FEATURES), max_size=len(FEATURES)),
    cap=st.integers(1, 7),
)
@settings(max_examples=100)
def test_a_tree_is_walked_as_the_plain_one(plain: Any, features: list[float], cap: int) -> None:
    said = classify(packed([1, 1, 1, 1, 1, plain]), np.array(features), np.int64(cap))
    assert said == (min(answer(plain, features), cap) if cap >= 5 else 1)


def test_the_default_tree_gives_depths_within_the_cap() -> None:
    tree = DepthTree.default()
    assert tree.cap == 16
    random = np.random.default_rng(1)
    said = set()
    for _ in range(300):
        features = random.random(len(FEATURES)) * random.choice([1.0, 3.0, 300.0])
        for cap in (1, 2, 5, 16, 40):
            depth = int(classify(tree.tree, features, np.int64(cap)))
            assert 1 <= depth <= min(cap, 16)
            said.add(depth)
    assert len(said) > 4
    assert tree.describe(5).count("look") > 2


# --- training --------------------------------------------------------------------------------------------------------


def small_tree(**options: Any) -> DepthTree:
    pytest.importorskip("sklearn")
    worlds = [tb.Grid(tb.generate.rooms((14, 14), room=5, seed=seed)) for seed in range(3)]
    return DepthTree.train(worlds, **{"cap": 3, "history": 8, "problems": 3, "moves": 40} | options)


def test_training_again_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        small_tree().save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert small_tree(seed=1).tree.threshold.tolist() != small_tree().tree.threshold.tolist()


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    made = small_tree(presearch=2)
    made.save(tmp_path / "tree")
    opened = DepthTree.load(tmp_path / "tree")
    assert opened.settings == made.settings
    assert all((one == other).all() for one, other in zip(opened.tree, made.tree, strict=True))
    assert opened.cap == 3
    assert made.settings["samples"] > 50
    assert 0 < made.settings["enough"] <= 1


@pytest.mark.once
def test_training_refuses_what_it_cannot_learn_from() -> None:
    pytest.importorskip("sklearn")
    for worlds, words in (
        ([], "at least one map"),
        ([tb.TilePuzzle(3, 3)], "trained on grids"),
        ([tb.Grid([[1, 0, 1]])], "with a way between them"),
    ):
        with pytest.raises(tb.Error, match=words):
            DepthTree.train(worlds, cap=2)
    for option, value in (("cap", 0), ("cap", 256), ("history", 0), ("presearch", 3), ("moves", -1)):
        with pytest.raises(tb.Error, match=option):
            small_tree(**{option: value})


def test_the_command_trains_and_tells(capsys: Any, tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    np.save("rooms.npy", tb.generate.rooms((14, 14), room=5).astype(float))
    words = ["train-depth", "rooms.npy", "--cap", "2", "--problems", "2", "--moves", "20", "-o", "small.tree"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["file"], told["cap"], told["maps"]) == ("small.tree", 2, 1)
    assert DepthTree.load("small.tree").settings["samples"] == told["samples"] > 0
    assert main(words) == 0
    assert "wrote small.tree" in capsys.readouterr().out
    assert main([*words[:-1], "rooms.map"]) == 2
    assert "ends in .tree" in capsys.readouterr().err


# --- files -----------------------------------------------------------------------------------------------------------

SOUND = wrapped([1, 1, Question(0, 2.0, 1, 2), Question(1, 0.5, Question(2, 0.25, 1, 3), 2)])


def altered(field: str, place: int, value: float) -> dict[str, np.ndarray]:
    arrays = {name: array.copy() for name, array in SOUND.tree._asdict().items()}
    arrays[field][place] = value
    return arrays


HOSTILE = [
    ("features", altered("feature", 2, 11)),
    ("features", altered("threshold", 2, np.nan)),
    ("depths", altered("depth", -1, 0)),
    ("depths", altered("depth", -1, 4)),
    ("roots", altered("roots", 0, -1)),
    ("roots", altered("roots", 3, 99)),
    ("branches", altered("left", 2, 2)),
    ("branches", altered("right", 2, 0)),
    ("branches", altered("right", 5, 1000)),
    ("length", {**SOUND.tree._asdict(), "left": SOUND.tree.left[:-1]}),
    ("length", {**SOUND.tree._asdict(), "roots": SOUND.tree.roots[:1]}),
    ("arrays", {**SOUND.tree._asdict(), "feature": SOUND.tree.feature.astype(np.int32)}),
    ("arrays", {"feature": SOUND.tree.feature}),
    ("arrays", {**SOUND.tree._asdict(), "more": SOUND.tree.feature}),
]


@pytest.mark.once
@pytest.mark.parametrize(("words", "arrays"), HOSTILE)
def test_a_tree_that_was_made_up_is_refused(tmp_path: Path, words: str, arrays: dict[str, np.ndarray]) -> None:
    files.write(tmp_path / "tree", "depth tree", "", SOUND.settings, arrays)
    with pytest.raises(tb.DatabaseError, match=words):
        DepthTree.load(tmp_path / "tree")


@pytest.mark.once
def test_settings_that_were_made_up_are_refused(tmp_path: Path) -> None:
    for change in ({"cap": 7}, {"history": 0}, {"history": 1 << 40}, {"history": 2.5}, {"presearch": 3}):
        files.write(tmp_path / "tree", "depth tree", "", SOUND.settings | change, SOUND.tree._asdict())
        with pytest.raises(tb.DatabaseError, match="made with"):
            DepthTree.load(tmp_path / "tree")


@pytest.mark.once
def test_a_chain_of_questions_without_end_is_refused(tmp_path: Path) -> None:
    chain: Any = 1
    for _ in range(70):
        chain = Question(0, 1.0, chain, 2)
    files.write(tmp_path / "tree", "depth tree", "", SOUND.settings | {"cap": 2}, packed([1, 1, chain])._asdict())
    with pytest.raises(tb.DatabaseError, match="too much"):
        DepthTree.load(tmp_path / "tree")


@pytest.mark.once
def test_other_files_are_no_trees(tmp_path: Path) -> None:
    files.write(tmp_path / "other", "something else", "", {}, {"numbers": np.arange(3)})
    for name, words in (("other", "not a depth tree"), ("nothing", "there is no file"), (".", "regular file")):
        with pytest.raises(tb.DatabaseError, match=words):
            DepthTree.load(tmp_path / name)
    SOUND.save(tmp_path / "cut")
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-1])
    with pytest.raises(tb.DatabaseError, match="not complete"):
        DepthTree.load(tmp_path / "cut")


# --- D LRTA* ---------------------------------------------------------------------------------------------------------


def undirected(case: Case) -> bool:
    return bool(case.world.undirected)


def spec(cap: int, **more: Any) -> str:
    return f"d-lrta*:depth=tree,goal=global,cap={cap}" + "".join(f",{name}={more[name]}" for name in more)


@pytest.fixture
def given_tree(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a test say which tree a file holds, without a file."""
    held: list[DepthTree] = []
    monkeypatch.setattr(DepthTree, "load", lambda path: held[-1])
    return held.append


@pytest.mark.parametrize("kind", ["plain", "near", "graph"])
@given(data=st.data(), cap=st.integers(1, CAP), history=st.integers(1, 8), presearch=st.integers(1, 2))
@settings(max_examples=40 if COMPILED else 8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_step_is_that_of_the_plain_version(
    given_tree: Any, kind: str, data: st.DataObject, cap: int, history: int, presearch: int
) -> None:
    grids = grid_cases(side=SIDE, kind=kind) if kind != "graph" else graph_cases(12).filter(undirected)
    case, gamma = data.draw(grids), data.draw(st.sampled_from([1.0, 1.0, 0.5]))
    plain = [1, 1, *(data.draw(trees(CAP)) for _ in range(CAP - 1))]
    given_tree(wrapped(plain, history, presearch))
    most = 300 if COMPILED else 60
    found = tb.solve(case.world, case.start, case.goal, spec(cap, tree="given", gamma=gamma), move_limit=most)
    expected = TreeControl(case.twin, case.goal, plain, cap, history, presearch, gamma).run(case.start, most)
    assert points(found.path) == expected.trail
    assert found.status == expected.status
    assert found.expansions_per_move.tolist() == expected.looked


@pytest.mark.compiled
@pytest.mark.parametrize("budget", [1, 8, 9, 30, 1000, None, "1ms"])
def test_it_arrives_with_any_budget(budget: Any) -> None:
    """A budget that is too small for the cap lowers it."""
    for seed in range(3):
        world = tb.Grid(tb.generate.rooms((18, 18), room=6, seed=seed))
        for problem in tb.problems(world, 3, seed=seed):
            found = tb.solve(world, problem.start, problem.goal, spec(16), budget=budget, move_limit=20_000)
            assert found.status == "reached"
            assert isinstance(budget, str) or found.expansions_per_move.max() <= (budget or 961)


def test_a_new_trial_remembers_no_steps() -> None:
    world = tb.Grid(tb.generate.rooms((14, 14), room=5, seed=2))
    agent = tb.agent(spec(4), world, (1, 1), (12, 12))
    agent.run()
    assert agent._planner.state.control.tree.history.memo["steps"][0] > 0
    agent.restart()
    assert agent._planner.state.control.tree.history.memo["steps"][0] == 0


def test_a_tree_of_ones_own_is_asked(tmp_path: Path) -> None:
    world = tb.Grid(np.ones((9, 9)))
    for depth in (1, 3):
        wrapped([1, 1, 1, depth]).save(tmp_path / "own.tree")
        found = tb.solve(world, (0, 0), (0, 8), spec(3, tree=tmp_path / "own.tree"))
        expected = tb.solve(world, (0, 0), (0, 8), f"lrta*:depth={depth}")
        assert found.expansions_per_move.tolist() == expected.expansions_per_move.tolist()
    with pytest.raises(tb.DatabaseError, match="there is no file"):
        tb.solve(world, (0, 0), (0, 8), spec(3, tree="nowhere"))
    with pytest.raises(tb.SpecError, match="with depth=tree"):
        tb.solve(world, (0, 0), (0, 8), "d-lrta*:depth=fixed,goal=global,tree=nowhere")


def test_a_tree_goes_with_intermediate_goals() -> None:
    """LRTA*(DT,PDB), which the paper does not have."""
    world = tb.Grid(tb.generate.rooms((18, 18), room=6, seed=4))
    spec = "d-lrta*:depth=tree,goal=pdb,level=2,cap=4"
    database = tb.prepare(world, None, algorithm=spec)
    for problem in tb.problems(world, 5, seed=4):
        found = tb.solve(world, problem.start, problem.goal, spec, database=database, move_limit=5000)
        assert found.status == "reached"


def test_pauses_change_nothing() -> None:
    world = tb.Grid(tb.generate.rooms((16, 16), room=5, seed=3))
    problem = next(tb.problems(world, 1, seed=7, cost=(15, 40)))
    for stride in (1, 2, 5):
        walks = []
        for pause in (False, True):
            agent = tb.agent(spec(6), world, problem.start, problem.goal)
            result = (impatient(agent, stride) if pause else agent).run().result()
            walks.append((points(result.path), result.expansions_per_move.tolist(), result.memory_states))
        assert walks[0] == walks[1]


def test_trials_come_to_an_end() -> None:
    world = tb.Grid(tb.generate.rooms((16, 16), room=5, seed=1))
    for problem in tb.problems(world, 3, seed=5):
        many = tb.converge(world, problem.start, problem.goal, spec(4))
        once = tb.solve(world, problem.start, problem.goal, spec(4))
        assert many.converged
        assert many.costs[0] == once.cost
        assert many.costs[-1] == pytest.approx(problem.optimal)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [None, 9])
def test_edits_on_the_way(seed: int, budget: int | None) -> None:
    """Every move is legal, and it arrives once the world is left alone."""
    random = np.random.default_rng(seed)
    world = tb.Grid(random.random((14, 14)) > 0.25)
    cells = [tuple(cell) for cell in np.argwhere(world.free).tolist()]
    start, goal = (cells[k] for k in random.choice(len(cells), 2, replace=False))
    agent = tb.agent(spec(5), world, start, goal, budget=budget)
    for _ in range(60):
        if agent.done:
            break
        agent.step()
        cell = tuple(random.integers(0, 14, 2).tolist())
        if cell not in (goal, tuple(agent.position)):
            (world.block if random.random() < 0.5 else world.unblock)(cell)
    world.unblock([(row, col) for row in range(14) for col in range(14)])
    if not agent.done:
        assert agent.run().status == "reached"
    assert agent.result().status in ("reached", "unreachable")
