"""Algorithms from outside: registered by hand or by an entry point, treated like our own, and noticed when edited."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import helpers
import test_registry as checks
import timebound as tb
from forking import Forking
from helpers import COMPILED, HOWTO, bounded
from timebound import warmup
from timebound.algorithms import REGISTRY, Algorithm, Parameter, catalogue, parse_spec
from timebound.kernels import loop, sources
from timebound.kernels.jit import generic, inlined, kernel
from timebound.kernels.layout import COUNTS
from timebound.kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide
from timebound.kernels.views import GridView, degree, successor
from timebound.kernels.workspace import new_record

PACKAGE = Path(tb.__file__).parent


NUMBERS = itertools.count()


def simple(name: Any = "hasty", **changes: Any) -> Algorithm:
    def make(world: Any, goal: int, budget: Any) -> Any:
        return REGISTRY["wa*"].make(world, goal, budget, weight=5.0, reopen=False)

    return Algorithm(**{"name": name, "summary": "hurries", "paper": "none", "make": make, **changes})


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it; what is installed here does not matter."""
    monkeypatch.setattr(REGISTRY, "_others", {})
    monkeypatch.setattr(REGISTRY, "_failed", {})
    monkeypatch.setattr(REGISTRY, "_begun", True)
    monkeypatch.setattr(REGISTRY, "_looked", True)
    yield
    REGISTRY.version += 1


def user_s_module(folder: Path) -> Iterator[types.ModuleType]:
    """The file of HOWTO.md, as a module of the user's."""
    name = f"depth_first_{next(NUMBERS)}"
    (folder / f"{name}.py").write_text(HOWTO)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module(name)
        del sys.modules[name]


@pytest.fixture
def howto(tmp_path: Path) -> Iterator[types.ModuleType]:
    yield from user_s_module(tmp_path)


@pytest.fixture(scope="module")
def one_howto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[types.ModuleType]:
    """The same for several tests, so that it is compiled once."""
    yield from user_s_module(tmp_path_factory.mktemp("howto"))


def sentence(call: Callable[[], object]) -> str:
    with pytest.raises(tb.SpecError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_registered_algorithm_is_like_ours() -> None:
    algorithm = simple(parameters=(Parameter("care", int, 3, "how careful", low=1),), make=lambda w, g, b, care: None)
    before = list(REGISTRY)
    assert "hasty" not in before
    tb.register(algorithm)
    assert list(REGISTRY) == [*before, "hasty"]
    assert len(REGISTRY) == len(before) + 1
    assert str(parse_spec("hasty:care=4")) == "hasty:care=4"
    assert parse_spec("hasty").parameters == {"care": 3}
    assert "hasty" in sentence(lambda: parse_spec("hastyy"))
    directed = tb.Graph([0], [1], directed=True)
    assert "hasty" in sentence(lambda: tb.agent("tba*", directed, 0, 1)), "it is not among what works there"


def test_the_same_again_is_fine_and_a_new_one_of_the_module_takes_its_place() -> None:
    first, second = simple(), simple(summary="hurries more")
    tb.register(first)
    tb.register(first)
    assert parse_spec("hasty").algorithm is first
    tb.register(second)
    assert parse_spec("hasty").algorithm is second, "the spec was remembered"


def elsewhere(world: Any, goal: int, budget: Any) -> None: ...


elsewhere.__module__ = "another.package"


@pytest.mark.parametrize("make", [elsewhere, functools.partial(elsewhere)])
def test_a_name_of_another_module_is_taken(make: Callable[..., Any]) -> None:
    tb.register(simple())
    text = sentence(lambda: tb.register(simple(make=make)))
    assert text == (
        "there is an algorithm 'hasty' already, from test_outside; give the one from another.package another name"
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("hasty", "what is registered is a timebound.algorithms.Algorithm, not 'hasty'"),
        (simple, "what is registered is a timebound.algorithms.Algorithm, not <function"),
        (simple("a*"), "'a*' is an algorithm of timebound; give yours another name"),
        (simple("a:b"), "an algorithm's name is one word"),
        (simple("a,b"), "an algorithm's name is one word"),
        (simple("a=b"), "an algorithm's name is one word"),
        (simple("a b"), "not 'a b'"),
        (simple(""), "not ''"),
        (simple("-a"), "not '-a'"),
        (simple("a\x00"), "an algorithm's name is one word"),
        (simple(3), "not 3"),
        (simple(summary=None), "hasty: summary is a line of text for the list of algorithms, not None"),
        (simple(paper=""), "hasty: paper is a line of text for the list of algorithms, not ''"),
        (simple(make=None), "hasty: make is a function that returns a planner, not None"),
        (simple(parameters=("care",)), "hasty: each of its parameters is a Parameter with a Python name, not 'care'"),
        (simple(parameters=(Parameter("a b", int, 1, ""),)), "hasty: each of its parameters is a Parameter"),
    ],
)
def test_what_cannot_be_registered(wrong: Any, words: str) -> None:
    before = list(REGISTRY)
    assert words in sentence(lambda: tb.register(wrong))
    assert list(REGISTRY) == before


def test_a_second_text_for_a_type_is_refused() -> None:
    class State(NamedTuple):
        x: int

    @generic
    def question(state: Any) -> Any: ...

    @question.on(State)
    def _first(state: Any) -> int:
        return 1

    with pytest.raises(tb.Error, match="question has a text for State already; to change it, define the NamedTuple"):
        question.on(State)(lambda state: 2)
    assert question(State(0)) == 1
    with pytest.raises(tb.Error, match="degree has a text for GridView already"):
        degree.on(GridView)(lambda world, s: 0)


def test_a_text_for_all_that_have_none() -> None:
    class Known(NamedTuple):
        x: int

    class Unknown(NamedTuple):
        x: int

    @generic
    def question(state: Any) -> Any: ...

    question.on(Known)(lambda state: state.x)
    with pytest.raises(KeyError):
        question(Unknown(1))
    question.otherwise(lambda state: -state.x)

    @kernel
    def ask(state: Any) -> Any:
        return question(state)

    assert (question(Known(2)), question(Unknown(2))) == (2, -2)
    assert (ask(Known(3)), ask(Unknown(3))) == (3, -3)
    if COMPILED:  # what is compiled would go on to answer as before
        with pytest.raises(tb.Error, match="question was compiled for Unknown before it had a text; register the text"):
            question.on(Unknown)(lambda state: 0)


def _of_another_process(name: str) -> str:
    return sentence(lambda: parse_spec(name))


def test_another_process_says_what_it_would_need() -> None:
    tb.register(simple("tba**"))
    parse_spec("tba**")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        text = pool.submit(_of_another_process, "tba**").result()
    assert text.startswith(
        "there is no algorithm 'tba**'; did you mean 'tba*'?; one of your own that tb.register added"
    )
    assert text.endswith("is found by an entry point of the group timebound.algorithms")
    # Here it may be a mistake in writing, unless it is like nothing that is known.
    assert sentence(lambda: parse_spec("tba***")).endswith("?")
    assert "entry point of the group timebound.algorithms" in sentence(lambda: parse_spec("qqqqqq"))


# --- entry points ----------------------------------------------------------------------------------------------------


def install(folder: Path, *lines: str, name: str = "walkers") -> None:
    """A distribution with entry points, as pip would leave it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[timebound.algorithms]", *lines]))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, and a registry that has not yet looked for entry points."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(REGISTRY, "_begun", False)
    monkeypatch.setattr(REGISTRY, "_looked", False)
    return tmp_path


MODULE = """
from timebound.algorithms.registry import Algorithm
def make(world, goal, budget): ...
def named(name): return Algorithm(name, "hurries", "none", make)
"""


def test_entry_points_name_algorithms_and_modules(installed: Path) -> None:
    (installed / "walkers_a.py").write_text(f"{MODULE}\nONE = named('one')\nTWO = (named('two'), named('three'))")
    (installed / "walkers_b.py").write_text(f"{MODULE}\nALGORITHM = named('four')")
    (installed / "walkers_c.py").write_text(f"{MODULE}\nALGORITHMS = (named('five'), named('six'))")
    install(installed, "a = walkers_a:ONE", "b = walkers_a:TWO", "c = walkers_b", "d = walkers_c")
    parse_spec("a*")
    assert "walkers_a" not in sys.modules, "ours need no look at what is installed"
    assert parse_spec("four").algorithm.name == "four"
    assert list(REGISTRY)[-6:] == ["one", "two", "three", "four", "five", "six"]


def test_entry_points_are_looked_up_once(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    plain = importlib.metadata.entry_points
    monkeypatch.setattr(catalogue, "entry_points", lambda **options: (looks.append(options), plain(**options))[1])
    for _ in range(3):
        sentence(lambda: parse_spec("nothing-like-it"))
        list(REGISTRY)
    assert looks == [{"group": "timebound.algorithms"}]


def test_threads_wait_for_the_first_look(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installed / "walkers_d.py").write_text(f"{MODULE}\nALGORITHM = named('seven')")
    install(installed, "seven = walkers_d")
    inside, go_on = threading.Event(), threading.Event()
    plain = importlib.metadata.entry_points

    def slow(**options: Any) -> Any:
        inside.set()
        assert go_on.wait(60)
        return plain(**options)

    monkeypatch.setattr(catalogue, "entry_points", slow)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(str(parse_spec("seven")))) for _ in range(2)]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    assert not found
    go_on.set()
    for thread in threads:
        thread.join()
    assert found == ["seven", "seven"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("bad = walkers_bad", "ModuleNotFoundError: No module named 'not_there'"),
        ("bad = walkers_no", "ModuleNotFoundError: No module named 'walkers_no'"),
        ("bad = walkers_e:NOTHING", "AttributeError: module 'walkers_e' has no attribute 'NOTHING'"),
        ("bad = walkers_e", "the module walkers_e has neither ALGORITHMS nor ALGORITHM"),
        ("bad = walkers_e:make", "what is registered is a timebound.algorithms.Algorithm, not <function make"),
        ("bad = walkers_e:OURS", "'a*' is an algorithm of timebound; give yours another name"),
        ("bad = walkers_stop", "SystemExit: 3"),
    ],
)
def test_an_entry_point_that_fails_is_named_and_breaks_nothing_else(installed: Path, line: str, why: str) -> None:
    (installed / "walkers_bad.py").write_text("import not_there")
    (installed / "walkers_stop.py").write_text("raise SystemExit(3)")
    (installed / "walkers_e.py").write_text(f"{MODULE}\nOURS = named('a*')\nGOOD = named('good')")
    install(installed, line, "good = walkers_e:GOOD")
    try:
        with pytest.warns(RuntimeWarning) as warned:
            assert "good" in list(REGISTRY)
        list(REGISTRY)
        value = line.partition(" = ")[2]
        begins = f"the entry point bad = {value} of the package walkers cannot be used: {why}"
        assert [str(one.message)[: len(begins)] for one in warned] == [begins]
        assert sentence(lambda: parse_spec("bad")).startswith(begins)
        assert tb.solve(tb.Grid([[1, 1]]), (0, 0), (0, 1), "a*").status == "reached"
    finally:
        sys.modules.pop("walkers_e", None)


def run(folder: Path, *words: str, jit: bool = False) -> subprocess.CompletedProcess[str]:
    """A command line, with the folder on the path."""
    hidden = ("NUMBA_DISABLE_JIT", "COVERAGE_PROCESS_START")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(PACKAGE.parent)])
    if not jit:
        environment["NUMBA_DISABLE_JIT"] = "1"
    return subprocess.run(
        [sys.executable, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.skipif(COMPILED, reason="once is enough, and it needs no JIT")
def test_help_does_not_look_for_entry_points(tmp_path: Path) -> None:
    install(tmp_path, "bad = walkers_no")
    program = (
        "import sys\nfrom timebound.cli import main\nmain(['--help'])\nassert 'timebound.algorithms' not in sys.modules"
    )
    done = run(tmp_path, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(tmp_path, "-m", "timebound.cli", "algorithms")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "the entry point bad = walkers_no of the package walkers cannot be used" in done.stderr


# --- the file in HOWTO.md --------------------------------------------------------------------------------------------

KINDS = [kind for kind in checks.WORLDS if kind != "directed graph"]


def test_the_file_in_the_howto_keeps_the_contract(one_howto: types.ModuleType) -> None:
    """With the JIT as it is set: the suite is run both ways."""
    tb.register(one_howto.ALGORITHM)
    for kind in ("grid", "graph") if COMPILED else KINDS:
        for budget in (None, 1, 10):
            checks.test_reaches_the_goal_within_its_budget("depth-first", kind, budget)
    for kind in ("grid", "graph") if COMPILED else checks.HOPELESS:
        checks.test_says_when_there_is_no_way("depth-first", kind, 1)
    with pytest.raises(pytest.skip.Exception):  # it refuses
        checks.test_reaches_the_goal_within_its_budget("depth-first", "directed graph", 1)
    checks.test_start_is_goal("depth-first", "grid")
    checks.test_move_limit("depth-first")
    checks.test_time_budgets_finish("depth-first", "1us")
    checks.test_a_spec_reads_back("depth-first")


def test_the_howto_tries_it(one_howto: types.ModuleType) -> None:
    text = (Path(tb.__file__).parent / "algorithms" / "HOWTO.md").read_text(encoding="utf-8")
    trial = text.partition("## Try your own")[2].partition("```python\n")[2].partition("```")[0]
    few = trial.replace("range(20)", "range(20)" if COMPILED else "range(2)")
    exec(few.replace("import mypackage.depth_first as mine", ""), {"mine": one_howto})
    with pytest.raises(AssertionError):  # one that does not arrive
        exec(few.replace("import mypackage.depth_first as mine", "").replace("10_000", "1"), {"mine": one_howto})


def test_the_file_in_the_howto_grows_and_hears_of_edits(one_howto: types.ModuleType) -> None:
    tb.register(one_howto.ALGORITHM)
    world = tb.Grid(tb.generate.random_obstacles((30, 30), 0.3, seed=3))
    problem = next(iter(tb.problems(world, 1, seed=1)))
    result = bounded("depth-first:greed=0", world, problem.start, problem.goal, budget=1)
    assert result.status == "reached"
    assert result.memory_states > 32, "its arrays had to grow"
    tb.validate(world, result.path, start=problem.start, goal=problem.goal)
    # The way that it came is walled up behind it, and the way ahead too: it goes round, or knows that there is none.
    corridor = tb.Grid([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1]])
    agent = tb.agent("depth-first", corridor, (0, 1), (2, 3), budget=1, move_limit=50)
    assert agent.step() == (0, 2)
    corridor.block((0, 3))
    assert agent.run(100).status == "reached"
    assert agent.result().restarts == 1
    walled = tb.agent("depth-first", corridor, (0, 2), (2, 3), budget=1, move_limit=50)
    walled.step()
    corridor.block((1, 0))
    assert walled.run(100).status == "unreachable"


def test_the_file_in_the_howto_is_sent_elsewhere(one_howto: types.ModuleType) -> None:
    """It has no texts for that, and begins anew; the books go on."""
    tb.register(one_howto.ALGORITHM)
    agent = tb.agent("depth-first", tb.Grid(np.ones((5, 5))), (0, 0), (4, 4), budget=1).run(2)
    agent.retarget((0, 3)).run(1)
    assert agent.place((2, 2)).run().status == "reached"
    result = agent.result()
    assert (agent.position, result.retargeted, result.placed, result.expansions) == ((0, 3), 1, 1, agent.moves)


def test_the_file_in_the_howto_warms_up(howto: types.ModuleType) -> None:
    tb.register(howto.ALGORITHM)
    steps: list[str] = []
    warmup.warm(lambda step, seconds, compiled: steps.append(step), kinds=["grid"], algorithms=[howto.ALGORITHM])
    assert "grid: depth-first" in steps


@pytest.mark.skipif(COMPILED, reason="once is enough: it runs both ways itself")
@pytest.mark.parametrize("jit", [False, True], ids=["JIT off", "JIT on"])
def test_the_file_in_the_howto_on_the_command_line(jit: bool, tmp_path: Path) -> None:
    (tmp_path / "depth_first.py").write_text(HOWTO)
    install(tmp_path, "depth-first = depth_first")
    tb.Grid([[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]]).save(tmp_path / "field.map")

    def command(*words: str) -> str:
        done = run(tmp_path, "-m", "timebound.cli", *words, jit=jit)
        assert done.returncode == 0, done.stderr
        return done.stdout

    solved = json.loads(
        command("solve", "field.map", "0,0", "2,0", "-a", "depth-first:greed=2", "--budget", "1", "--json")
    )
    assert (solved["status"], solved["algorithm"]) == ("reached", "depth-first:greed=2")
    tb.validate(tb.Grid.load(tmp_path / "field.map"), solved["path"], start=(0, 0), goal=(2, 0))
    if jit:
        return
    assert "depth-first search on foot" in " ".join(command("algorithms").split())
    race = ("field.map", "-a", "gbfs", "depth-first", "--problems", "3", "--budget", "4")
    assert "depth-first" in command("bench", *race)
    command("compare", *race, "-o", "report")
    assert "depth-first, 4" in (tmp_path / "report" / "report.html").read_text()


# --- newcomers that break the contract -------------------------------------------------------------------------------


class Waiting(NamedTuple):
    counts: np.ndarray
    route: np.ndarray
    plan: np.ndarray
    answer: int  # what decide says


@decide.on(Waiting)
def _says_the_same(algorithm, world, s, tick):
    return algorithm.answer


class Circling(NamedTuple):
    counts: np.ndarray
    route: np.ndarray
    plan: np.ndarray


@decide.on(Circling)
def _first_neighbour(algorithm, world, s, tick):
    """To and fro."""
    algorithm.counts[0].expanded += 1
    algorithm.plan[0] = 0
    for i in range(degree(world, s)):
        t, c = successor(world, s, i)
        if c >= 0:
            algorithm.route[0] = t
            algorithm.plan[1] = 1
            return 1
    return 0


class Bad:
    def __init__(self, kind: Any, *more: Any) -> None:
        self.state = kind(new_record(COUNTS), np.zeros(1, np.int64), np.zeros(2, np.int64), *more)

    def enlarge(self) -> None: ...

    def memory_bytes(self) -> int:
        return 0

    def release(self) -> None: ...


AGAIN = "asks for more room, or more time, again and again in tick 0"
BAD: dict[str, tuple[Callable[[], Bad], str]] = {
    "sleeper": (lambda: Bad(Waiting, 0), "neither arrives nor finds that there is no way: 0 moves in"),
    "pacer": (lambda: Bad(Circling), "has not arrived after"),
    "glutton": (lambda: Bad(Waiting, NEEDS_ROOM), AGAIN),
    "dawdler": (lambda: Bad(Waiting, NOT_YET), AGAIN),
}


@pytest.mark.parametrize("name", BAD)
def test_the_checks_of_the_registry_fail_by_name_and_do_not_hang(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("MOST_MOVES", "MOST_TICKS", "MOST_CALLS"):
        monkeypatch.setattr(helpers, bound, getattr(helpers, bound) // 100)  # which takes less long
    make, words = BAD[name]
    tb.register(simple(name, make=lambda world, goal, budget: make()))
    with pytest.raises(AssertionError, match=f"{name} {words}"):
        checks.test_reaches_the_goal_within_its_budget(name, "grid", 1)
    with pytest.raises(AssertionError, match=f"{name} {words}"):
        checks.test_says_when_there_is_no_way(name, "grid", None)
    with pytest.raises(AssertionError, match=f"{name} {words}"):
        checks.test_time_budgets_finish(name, "1us")


def test_a_proof_that_is_none_is_told_by_name() -> None:
    tb.register(simple("quitter", make=lambda world, goal, budget: Bad(Waiting, NO_WAY)))
    with pytest.raises(AssertionError, match="quitter: unreachable"):
        checks.test_reaches_the_goal_within_its_budget("quitter", "grid", 1)


# --- what is compiled ------------------------------------------------------------------------------------------------

compiled_only = pytest.mark.skipif(not COMPILED, reason="nothing is compiled without the JIT")

PROGRAM = """
import json, sys
import timebound as tb
from timebound.kernels import jit
sys.path.insert(0, sys.argv[1])
from mine.walker import ALGORITHM
compiled = []
jit.on_compile(compiled.append)
tb.register(ALGORITHM)
world = tb.Grid([[1] * 4] * 3)
ours = tb.solve(world, (0, 0), (2, 3), "lrta*", budget=1).status
own = list(compiled)
path = tb.solve(world, (0, 0), (2, 3), "depth-first", budget=1, move_limit=3).path.tolist()
print(json.dumps({"own": own, "compiled": compiled, "path": path}))
"""


@pytest.mark.once
def test_an_edit_in_a_file_from_outside_is_noticed(tmp_path: Path) -> None:
    """Of the file, and of one that it imports a number from; and nothing of ours is compiled for that."""
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "numbers.py").write_text("SIGN = 1\n")
    (package / "unrelated.py").touch()
    text = "from .numbers import SIGN\n" + HOWTO.replace("f = c + memo.greed", "f = c + SIGN * memo.greed")
    (package / "walker.py").write_text(text)

    with Forking(PROGRAM, "timebound.episode", jit=True) as program:

        def go() -> dict[str, Any]:
            with program.run(str(tmp_path)) as process:
                told = process.out.read()
                assert process.ended() == (0, "")
            return json.loads(told)

        go()  # ours may have to be compiled
        (package / "walker.py").write_text(text + "\n")
        first = go()
        assert (first["own"], first["compiled"]) == ([], ["run"])
        (package / "unrelated.py").write_text("X = 1\n")
        assert go() == {**first, "compiled": []}, "what it does not import does not matter"
        kept = sorted(package.rglob("*.nb?"))
        assert len(kept) == 2 or os.environ.get("NUMBA_CACHE_DIR"), "its code should lie beside it"

        (package / "numbers.py").write_text("SIGN = -1\n")
        helper = go()
        assert (helper["own"], helper["compiled"]) == ([], ["run"])
        assert helper["path"] != first["path"], "old code ran"

        (package / "walker.py").write_text(text.replace("f < best", "-f < best"))
        edited = go()
        assert (edited["own"], edited["compiled"]) == ([], ["run"])
        assert edited["path"] != helper["path"], "old code ran"
        assert go() == {**edited, "compiled": []}
        assert sorted(package.rglob("*.nb?")) == kept, "each edit left files behind"
        assert not list(PACKAGE.rglob("*.py3*-*.nb?")), "there is something of it among ours"


def code_files(state: Any) -> list[Path]:
    """Where the loop's code for an agent with this state may be kept, whatever else it is compiled for."""
    files = loop.run._cache._files((numba.typeof(state),))  # type: ignore[attr-defined]
    return [Path(one._index_path) for one in files]


@compiled_only
def test_where_code_is_kept(howto: types.ModuleType) -> None:
    """Ours as ever; what involves types from outside in files of its own; what has no name elsewhere not at all."""

    class Here(NamedTuple):
        x: int

    ours = REGISTRY["a*"].make(tb.Grid([[1, 1]]), 1, None).state
    theirs = howto.DepthFirstPlanner(0, 1).state
    (plain, *_), (apart, *_) = code_files(ours), code_files(theirs)
    assert re.fullmatch(r"loop\.run-\d+\.py\d+\w*\.nbi", plain.name)
    assert re.fullmatch(r"loop\.run-\d+\.py\d+\w*-[0-9a-f]{16}\.nbi", apart.name)
    assert plain.parent != apart.parent
    assert code_files((1, theirs)) == code_files((theirs, ours)) == code_files(theirs)
    assert code_files(Here(1)) == code_files((theirs, Here(1))) == []


@compiled_only
def test_what_others_make_generic_for_our_types_is_not_our_affair() -> None:
    class Own(NamedTuple):
        x: int

    @generic
    def theirs(view: Any) -> Any: ...

    ours = REGISTRY["a*"].make(tb.Grid([[1, 1]]), 1, None).state
    before = code_files(ours)
    theirs.on(type(ours))(lambda view: 1)
    assert code_files(ours) == before
    theirs.on(Own)(lambda view: 1)
    assert code_files(Own(1)) == []


def test_functions_from_elsewhere_may_be_written_in_all_ways_that_numba_knows() -> None:
    """Such as with closures, though ours have none."""

    @inlined
    def thrice(x: int) -> int:
        def sum_of(a: int, b: int) -> int:
            return a + b

        return sum_of(x, sum_of(x, x))

    @kernel
    def ask(x: int) -> int:
        return 2 * thrice(x)

    assert ask(4) == 24


IN_A_SCRIPT = """
import json
import timebound as tb
from timebound.kernels import jit
compiled = []
jit.on_compile(compiled.append)
tb.register(ALGORITHM)
tb.solve(tb.Grid([[1] * 4] * 3), (0, 0), (2, 3), "depth-first", budget=1)
print(json.dumps(compiled))
"""


@pytest.mark.once
def test_what_a_script_defines_is_not_kept(tmp_path: Path) -> None:
    """Its types have no name that another process could find them by; each run would leave a file behind."""
    (tmp_path / "script.py").write_text(HOWTO + IN_A_SCRIPT)
    for _ in range(2):
        done = run(tmp_path, "script.py", jit=True)
        assert done.returncode == 0, done.stderr
        assert "run" in json.loads(done.stdout)
    assert not list(tmp_path.rglob("*.nb?"))


def test_a_cell_that_is_run_again_runs_as_it_is_now() -> None:
    """Without a file, in one process: the second cell has another type of the same name."""
    paths = []
    for number, cell in enumerate((HOWTO, HOWTO.replace("f < best", "-f < best"))):
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(cell, f"<ipython-input-{number}>", "exec"), space)
        tb.register(space["ALGORITHM"])
        paths.append(bounded("depth-first", tb.Grid(np.ones((3, 4))), (0, 0), (2, 3), budget=1).path.tolist())
        if COMPILED:
            assert code_files(space["ALGORITHM"].make(None, 0, None, 1).state) == [], (
                "it could be found when it is stale"
            )
    assert paths[0] != paths[1]


def test_states_that_look_alike_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages may both call their NamedTuple the same, with fields of the same types."""
    monkeypatch.syspath_prepend(tmp_path)
    paths = []
    for name, text in (("alike_a", HOWTO), ("alike_b", HOWTO.replace("f < best", "-f < best"))):
        (tmp_path / f"{name}.py").write_text(text.replace('name="depth-first"', f'name="{name}"'))
        tb.register(importlib.import_module(name).ALGORITHM)
        paths.append(bounded(name, tb.Grid(np.ones((3, 4))), (0, 0), (2, 3), budget=1).path.tolist())
        del sys.modules[name]
    assert paths[0] != paths[1]


def test_the_files_that_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports are followed through the package, or the folder; of others the file that is imported from counts."""
    files = {
        "mine/__init__.py": "",
        "mine/a.py": "from . import b\nfrom .deep.c import X\nimport other.far\nimport timebound.kernels.loop, sys",
        "mine/b.py": "from mine import d",
        "mine/d.py": "",
        "mine/unused.py": "",
        "mine/deep/__init__.py": "",
        "mine/deep/c.py": "from .. import e\nX = 1",
        "mine/e.py": "if False:\n    import mine.unused",
        "other/__init__.py": "",
        "other/far.py": "from . import farther",
        "other/farther.py": "",
        "alone.py": "import beside",
        "beside.py": "import beside_that",
        "beside_that.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def counted(module: str) -> set[str]:
        loaded = importlib.import_module(module)
        stamps = sources._stamps(str(loaded.__file__), module)
        return {str(Path(file).relative_to(tmp_path)) for file in stamps if file.startswith(str(tmp_path))}

    try:
        wanted = {"a", "b", "d", "e", "__init__", "deep/__init__", "deep/c"}
        assert counted("mine.a") == {f"mine/{name}.py" for name in wanted} | {"other/__init__.py", "other/far.py"}
        assert counted("alone") == {"alone.py", "beside.py", "beside_that.py"}
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] in ("mine", "other", "alone")]:
            del sys.modules[name]


def test_what_was_imported_counts_and_not_what_stands_there_now(howto: types.ModuleType) -> None:
    """A file may be edited between its import and the first use; what is compiled then is what was imported."""
    origin = sources.origin_of_type(howto.DepthFirst)
    assert origin is not None
    assert sources.origin_of_function(howto._decide) == origin
    before = origin.stamps_now()
    Path(origin.file).write_text(HOWTO + "\n")
    assert origin.stamps_now() == before
    again = importlib.reload(howto)
    renewed = sources.origin_of_type(again.DepthFirst)
    assert renewed is not None
    assert renewed.stamps_now() != before
    assert not COMPILED or code_files(again.DepthFirstPlanner(0, 1).state) == [], "two of one name in this process"


def test_what_another_process_would_not_find() -> None:
    class Here(NamedTuple):
        x: int

    assert not sources.is_found(Here)
    assert sources.is_found(Waiting)
    assert not sources.is_our_type(Waiting)
    assert sources.is_our_type(GridView)
    assert sources.origin_of_function(eval("lambda: 1")) is None, "there is no file"
