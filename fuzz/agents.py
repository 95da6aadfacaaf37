"""Agents in worlds that change under them: every move legal at that moment, every budget kept, every status true.

Worlds of every kind, every algorithm of the registry, parameters from their declared ranges, budgets in expansions and
in time, commitments; edits between the steps, posted ones too; goals that move, agents that are put elsewhere; pauses
inside decisions, interrupts at any place, and threads that edit while others walk. What the package says is held
against models that know nothing of it: a dictionary of steps, and a search that tries everything.
"""

from __future__ import annotations

import itertools
import math
import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import timebound as tb
from timebound.algorithms import REGISTRY, Parameter, parse_spec
from timebound.kernels.jit import COMPILED
from timebound.warmup import warm

if TYPE_CHECKING:
    from harness import Tally

__all__ = ["Ground", "Roads", "Tiles", "Trial", "Wrong", "crowd", "draw", "fuzz", "walk"]

_COSTS = {"near": (1.0, 2.0, 3.0, 5.5, 7.25), "far": (1.0, 3.0, 70.0, 99.5)}
_BUDGETS: tuple[Any, ...] = (None, None, 1, 2, 5, 20, 100, "1us", "20us", "1ms")
# Those whose walks may grow with the square of the world, k-lrta* and rtaa* with a small budget among them; in large
# worlds they are not walked to the end.
_SLOW = ("lrta*", "p-lrta*", "k-lrta*", "rtaa*", "ribs", "knn-lrta*", "d-lrta*")
_INTERRUPTS = hasattr(signal, "setitimer")


class Wrong(AssertionError):
    """What the package did and should not have done."""


def demand(holds: bool, *what: object) -> None:
    """Raise Wrong if something does not hold."""
    if not holds:
        raise Wrong(" ".join(map(str, what)))


# --- models ---------------------------------------------------------------------------------------------------------


@dataclass
class Model:
    """A world as a textbook has it, with edits that wait until the next step, or the next edit that does not."""

    pending: list[Callable[[], int]] = field(default_factory=list, init=False)
    version: int = field(default=0, init=False)
    _known: tuple[Any, ...] = field(default=(), init=False)

    def steps(self, here: Any) -> dict[Any, float]:
        """Where one can go from here, and what it costs."""
        raise NotImplementedError

    def settle(self) -> None:
        """Make the edits that wait."""
        for edit in self.pending:
            self.version += 1
            edit()
        self.pending.clear()

    def edit(self, edit: Callable[[], int], later: bool) -> int:
        """An edit, now or later; returns how much it changed."""
        if later:
            self.pending.append(edit)
            return 0
        self.settle()
        self.version += 1
        return edit()

    def leads(self, here: Any, there: Any) -> bool:
        """Whether there is a way, by trying everything."""
        if (self.version, here, there) != self._known[:3]:
            seen, rim = {here}, [here]
            while rim and there not in seen:
                rim = [near for place in rim for near in self.steps(place) if near not in seen and not seen.add(near)]  # type: ignore[func-returns-value]
            self._known = (self.version, here, there, there in seen)
        return bool(self._known[3])


@dataclass
class Ground(Model):
    """A grid. ``cost`` is 0 where no cell ever had one; ``terrain`` says whether costs count."""

    cost: list[list[float]]
    free: list[list[bool]]
    connectivity: int
    corners: str
    diagonal: float
    terrain: bool

    def _open(self, row: int, col: int) -> bool:
        return 0 <= row < len(self.free) and 0 <= col < len(self.free[0]) and self.free[row][col]

    def steps(self, here: Any) -> dict[Any, float]:
        row, col = here
        found: dict[Any, float] = {}
        if not self._open(row, col):
            return found
        for down, right in itertools.product((-1, 0, 1), (-1, 0, 1)):
            there = (row + down, col + right)
            if there == here or not self._open(*there):
                continue
            if down and right:
                beside = self._open(row + down, col) + self._open(row, col + right)
                if self.connectivity == 4 or beside < {"never": 2, "one": 1, "always": 0}[self.corners]:
                    continue
            mean = (self.cost[row][col] + self.cost[there[0]][there[1]]) / 2 if self.terrain else 1.0
            found[there] = mean * self.diagonal if down and right else mean
        return found

    def set_free(self, cells: Iterable[tuple[int, int]], value: bool) -> int:
        changed = 0
        for row, col in cells:
            changed += self.free[row][col] != value
            self.free[row][col] = value
            if value and not self.cost[row][col]:
                self.cost[row][col] = 1.0
        return changed

    def set_cost(self, cells: Iterable[tuple[int, int]], cost: float) -> int:
        changed = 0
        for row, col in cells:
            changed += self.cost[row][col] != cost
            self.cost[row][col] = cost
        return changed


@dataclass
class Roads(Model):
    """A graph: the cost of each arc, and those that are shut."""

    arcs: dict[tuple[int, int], float]
    directed: bool
    shut: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._from: dict[int, list[int]] = {}
        for u, v in self.arcs:
            self._from.setdefault(u, []).append(v)

    def steps(self, here: Any) -> dict[Any, float]:
        return {v: self.arcs[here, v] for v in self._from.get(here, ()) if (here, v) not in self.shut}

    def both(self, u: int, v: int) -> list[tuple[int, int]]:
        return [(u, v)] if self.directed else [(u, v), (v, u)]

    def set_shut(self, u: int, v: int, value: bool) -> int:
        changed = 0
        for arc in self.both(u, v):
            changed += (arc in self.shut) != value
            (self.shut.add if value else self.shut.discard)(arc)
        return changed

    def set_cost(self, u: int, v: int, cost: float) -> int:
        changed = 0
        for arc in self.both(u, v):
            changed += self.arcs[arc] != cost and arc not in self.shut
            self.arcs[arc] = cost
        return changed


@dataclass
class Tiles(Model):
    """A sliding-tile puzzle; 0 is the blank. It does not change."""

    rows: int
    cols: int

    def steps(self, here: Any) -> dict[Any, float]:
        found: dict[Any, float] = {}
        row, col = divmod(here.index(0), self.cols)
        for down, right in ((-1, 0), (0, 1), (1, 0), (0, -1)):
            if 0 <= row + down < self.rows and 0 <= col + right < self.cols:
                board = list(here)
                a, b = row * self.cols + col, (row + down) * self.cols + col + right
                board[a], board[b] = board[b], board[a]
                found[tuple(board)] = 1.0
        return found

    def leads(self, here: Any, there: Any) -> bool:
        return True  # every board is made by moves from the solved one


# --- trials ---------------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """An agent, its world and the model of it."""

    world: Any
    model: Any
    agent: tb.Agent
    rate: float  # edits per step
    random: np.random.Generator
    what: str
    restless: float = 0.0  # how often per step the goal moves, or the agent is put elsewhere
    # A step was interrupted, and the model does not know whether an edit that had been posted was made in it.
    unsure: bool = False

    def edit(self) -> None:
        """One edit of the world and of the model; they must agree on how much it changed."""
        random, later = self.random, bool(self.random.random() < 0.3)
        act: Callable[[], int]
        if isinstance(self.model, Tiles):
            return
        if isinstance(self.model, Ground):
            shape = self.world.shape
            many = int(random.choice([1, 1, 2, 3, 1 + shape[0] * shape[1] // 8]))
            cells = [(int(random.integers(shape[0])), int(random.integers(shape[1]))) for _ in range(many)]
            if random.random() < 0.9:  # now and then where it stands, or the goal
                cells = [cell for cell in cells if cell not in (self.agent.position, self.agent.goal)]
            cells = list(dict.fromkeys(cells))
            if not cells:
                return
            kind = random.choice(["block", "unblock", "cost"] if self.model.terrain else ["block", "unblock"])
            if kind == "cost":
                cost = float(random.choice([1.0, 2.0, 5.5, 40.0]))
                act = lambda: self.model.set_cost(cells, cost)  # noqa: E731
                made = lambda: self.world.set_cost(cells, cost, later=later)  # noqa: E731
            else:
                act = lambda: self.model.set_free(cells, kind == "unblock")  # noqa: E731
                made = lambda: getattr(self.world, kind)(cells, later=later)  # noqa: E731
        else:
            arcs = list(self.model.arcs)
            if not arcs:
                return
            u, v = arcs[int(random.integers(len(arcs)))]
            kind = random.choice(["block", "unblock", "cost"])
            if kind == "cost":
                cost = float(random.choice([1.0, 3.0, 9.5]))
                act = lambda: self.model.set_cost(u, v, cost)  # noqa: E731
                made = lambda: self.world.set_cost(u, v, cost, later=later)  # noqa: E731
            else:
                act = lambda: self.model.set_shut(u, v, kind == "block")  # noqa: E731
                made = lambda: getattr(self.world, kind)(u, v, later=later)  # noqa: E731
        changed = made()
        demand(changed == self.model.edit(act, later) or self.unsure, "an edit changed", changed)
        self.unsure = self.unsure and later

    def somewhere(self) -> Any:
        """Any place, a wall perhaps."""
        random = self.random
        if isinstance(self.model, Ground):
            return int(random.integers(self.world.shape[0])), int(random.integers(self.world.shape[1]))
        if isinstance(self.model, Roads):
            return int(random.integers(self.world.states))
        board = self.agent.position
        for _ in range(int(random.integers(1, 6))):
            board = self._beside(board)
        return board

    def _beside(self, place: Any) -> Any:
        """One step from a place, if one leads anywhere."""
        steps = list(self.model.steps(place))
        return steps[int(self.random.integers(len(steps)))] if steps else place

    def disturb(self) -> None:
        """Let the goal take a step, or jump; or push the agent, or throw it somewhere."""
        agent, far = self.agent, bool(self.random.random() < 0.2)
        before = agent.position, agent.goal, agent.ticks, agent.moves, agent.cost
        if self.random.random() < 0.7:
            there = self.somewhere() if far else self._beside(agent.goal)
            agent.retarget(there)
            demand((agent.position, agent.goal) == (before[0], there), "sent to", there, "the goal is", agent.goal)
        else:
            there = self.somewhere() if far else self._beside(agent.position)
            open_now = self.world.is_open(self.world.place_of(there, "place"))
            try:
                agent.place(there)
            except tb.ProblemError:
                demand(not open_now and agent.position == before[0], "it cannot be put to", there)
            else:
                demand(open_now and (agent.position, agent.goal) == (there, before[1]), "put to", there)
        demand((agent.ticks, agent.moves, agent.cost) == before[2:], "what is no move was counted")
        self.judge()

    def step(self, interrupt: float = 0.0) -> None:
        """One step of the agent, perhaps interrupted after so many seconds; everything about it is checked."""
        agent, model = self.agent, self.model
        before, ticks, cost, active = agent.position, agent.ticks, agent.cost, agent.status == "active"
        whole = _interrupted(agent.step, interrupt)
        if whole:
            model.settle()
        elif agent.world.changes._queue:
            # Before the posted edits were made, or in the middle of one, which will be made again.
            self.unsure = True
            return
        else:
            model.settle()
        self.unsure = False
        after, steps = agent.position, model.steps(before)
        if after != before:
            demand(after in steps, "no step leads from", before, "to", after)
            demand(
                math.isclose(agent.cost - cost, steps[after], rel_tol=1e-9, abs_tol=1e-7), "it cost", agent.cost - cost
            )
        # A posted edit may have blocked the goal: then there is no way, and nothing to do in this tick.
        ended = agent.status == "unreachable"
        demand(agent.ticks - ticks == 1 or ended or not (whole and active), "ticks", ticks, agent.ticks)
        demand(agent.ticks - ticks <= 1, "ticks", ticks, agent.ticks)
        self.judge()

    def judge(self) -> None:
        """Whether the status is true."""
        agent = self.agent
        if self.unsure:
            return
        if agent.status == "unreachable":
            demand(not self.model.leads(agent.position, agent.goal), "there is a way from", agent.position)
        demand((agent.status == "reached") == (agent.position == agent.goal), agent.status, "at", agent.position)

    def finish(self, most: int) -> None:
        """The world changes no more: the agent arrives, or proves that there is no way."""
        agent, model = self.agent, self.model
        moves = agent.moves
        agent.run(most)
        model.settle()
        self.unsure = False
        trail = _points(agent.result().path)[moves - agent.moves - 1 :]
        known: dict[Any, Any] = {}
        for here, there in itertools.pairwise(trail):
            if here not in known:
                known[here] = model.steps(here)
            demand(there in known[here], "no step leads from", here, "to", there)
        self.judge()
        demand(agent.done, "after", most, "ticks in a world that does not change it is still under way")

    def books(self) -> None:
        """What the result says of the whole episode."""
        result, budget = self.agent.result(), self.agent.budget.expansions
        demand(result.moves + result.waits == self.agent.ticks == len(result.expansions_per_move), "ticks")
        demand(budget is None or result.expansions_per_move.max(initial=0) <= budget, "over budget")
        told, made = int(result.expansions_per_move.sum()), result.expansions - result.learning_expansions
        # A tick that was interrupted, and then had nothing more to do because the goal was blocked, is not told yet.
        half_way = bool(self.agent._record["deciding"][0])
        demand(told == made or (half_way and told < made), "expansions", told, made)


def _points(path: Any) -> list[Any]:
    rows = path.tolist() if isinstance(path, np.ndarray) else path
    return [tuple(row) if isinstance(row, list) else row for row in rows]


def _interrupted(call: Callable[[], Any], seconds: float) -> bool:
    """Call, and interrupt it after so many seconds, if it takes as long. Returns whether it came to its end."""
    if not seconds or not _INTERRUPTS:
        call()
        return True

    armed = [True]

    def ring(*_: Any) -> None:
        if armed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    whole = False
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        whole = True
        armed.clear()
    except KeyboardInterrupt:
        pass
    finally:
        armed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return whole


def _value(parameter: Parameter, random: np.random.Generator) -> Any:
    """Any value that a parameter declares to accept; small ones more often."""
    if parameter.choices:
        return str(random.choice(parameter.choices))
    if parameter.kind is bool:
        return bool(random.random() < 0.5)
    low = parameter.low if parameter.low is not None else 0.0
    span = min((parameter.high if parameter.high is not None else np.inf) - low, 60.0)
    value = low + math.expm1(random.random() * math.log1p(span))
    if parameter.name == "gamma":
        value = max(value, 0.2)  # less only learns more slowly
    return round(value) if parameter.kind is int else round(value, 3)


def _database(world: Any, spec: str, random: np.random.Generator) -> Any:
    """A small one of any form; an empty one where there is nothing to look up; None if none is needed."""
    kind = parse_spec(spec).database
    if kind is None:
        return None
    # Without the JIT only what is quickest: other forms take minutes.
    forms = {one.name: bool(random.random() < 0.5) for one in kind.options if one.kind is bool and COMPILED}
    try:
        return tb.prepare(world, None, algorithm=spec, **kind.small, **forms)
    except tb.WorldError:
        return kind.empty(world)[0]


def _spec(name: str, random: np.random.Generator) -> str:
    """An algorithm with some of its parameters set."""
    chosen = [parameter for parameter in REGISTRY[name].parameters if random.random() < 0.5]
    chosen = [parameter for parameter in chosen if parameter.choices or parameter.kind is not str]  # no names of files
    if name == "lrta*" and len(chosen) > 1:  # a depth or a cost limit, not both
        chosen = chosen[1:]
    given = [f"{parameter.name}={str(_value(parameter, random)).lower()}" for parameter in chosen]
    return name + (":" + ",".join(given) if given else "")


def _ground(random: np.random.Generator, kind: str, side: int) -> tuple[Any, Any, Any, Any]:
    rows, cols = (int(random.integers(1, side + 1)), int(random.integers(2, side + 1)))
    free = random.random((rows, cols)) >= random.choice([0.0, 0.1, 0.25, 0.4])
    ends = random.choice(rows * cols, 2, replace=False)
    start, goal = ((int(k) // cols, int(k) % cols) for k in ends)
    free[start] = free[goal] = True
    rules: dict[str, Any] = {
        "connectivity": int(random.choice([8, 8, 4])),
        "corners": str(random.choice(["never", "one", "always"])),
        "diagonal": float(random.choice([math.sqrt(2), math.sqrt(2), 1.5, 1.0, 2.5])),
    }
    costs = np.ones((rows, cols)) if kind == "plain" else random.choice(_COSTS[kind], (rows, cols))
    cells = np.where(free, costs, 0.0)
    world = tb.Grid(cells if kind != "plain" else free, terrain=kind != "plain", **rules)
    return world, Ground(cells.tolist(), free.tolist(), terrain=kind != "plain", **rules), start, goal


def _roads(random: np.random.Generator, nodes: int) -> tuple[Any, Any, Any, Any]:
    n = int(random.integers(2, nodes + 1))
    ends = random.integers(n, size=(int(random.integers(1, 4 * n)), 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    directed, mirrored = bool(random.random() < 0.5), bool(random.random() < 0.5)
    cost = {(int(min(u, v)), int(max(u, v))): float(random.choice([1.0, 2.0, 3.0, 4.5])) for u, v in ends}
    if directed and not mirrored:
        arcs = {(int(u), int(v)): float(random.choice([1.0, 2.0, 4.5])) for u, v in ends}
    else:  # a directed graph may have both ways of each road, until it is edited
        arcs = {arc: cost[min(arc), max(arc)] for u, v in cost for arc in ((u, v), (v, u))}
    u, v = np.array(list(arcs) or np.empty((0, 2), int)).T
    length = list(arcs.values())
    if not directed:
        keep = u < v
        u, v, length = u[keep], v[keep], [c for c, k in zip(length, keep, strict=True) if k]
    world = tb.Graph(u, v, length, nodes=n, directed=directed)
    start, goal = (int(k) for k in random.choice(n, 2, replace=False))
    return world, Roads(arcs, directed), start, goal


def _tiles(random: np.random.Generator, moves: int) -> tuple[Any, Any, Any, Any]:
    rows, cols = (2, 3) if random.random() < 0.5 else (3, 3)
    model = Tiles(rows, cols)
    start = goal = tuple(range(rows * cols))
    while start == goal:
        for _ in range(int(random.integers(1, moves + 1))):
            steps = list(model.steps(start))
            start = steps[int(random.integers(len(steps)))]
    return tb.TilePuzzle(rows, cols), model, start, goal


def draw(seed: int, *, side: int = 9, names: Iterable[str] = tuple(REGISTRY)) -> Trial:
    """A trial by its number, in a world of up to ``side`` by ``side`` states."""
    random = np.random.default_rng(seed)
    known = list(names)
    while True:
        name = known[int(random.integers(len(known)))]
        # IDA* tries every path there is before it knows that there is no way.
        size = min(side, 3) if name == "ida*" else side
        kind = str(random.choice(["plain", "plain", "near", "far", "roads", "roads", "tiles"]))
        if kind == "roads":
            world, model, start, goal = _roads(random, 6 if name == "ida*" else size * size // 2)
        elif kind == "tiles":
            world, model, start, goal = _tiles(random, 8)
        else:
            world, model, start, goal = _ground(random, kind, size)
        if REGISTRY[name].refuses is not None and REGISTRY[name].refuses(world):  # type: ignore[misc]
            continue
        options: dict[str, Any] = {"commit": int(random.integers(1, 4))}
        spec, budget = _spec(name, random), _BUDGETS[int(random.integers(len(_BUDGETS)))]
        try:
            options["database"] = _database(world, spec, random)
            agent = tb.agent(spec, world, start, goal, budget=budget, **options)
        except tb.SpecError:  # a lookahead that its budget does not allow, or levels that contradict each other
            continue
        rate = float(random.choice([0.0, 0.05, 0.3, 1.0]))
        restless = float(random.choice([0.0, 0.0, 0.1, 0.3, 1.0]))
        what = f"draw({seed}, side={side}): {spec}, budget {budget}, commit {options['commit']}, {world!r}, {rate}"
        return Trial(world, model, agent, rate, random, f"{what}, {restless}", restless)


def walk(trial: Trial, steps: int, *, most: int, interrupts: bool = False, pauses: bool = False) -> None:
    """Walk for some steps while the world changes, then to the end if ``most`` is above 0: as many ticks at most."""
    agent, random = trial.agent, trial.random
    patience, stride = agent._patience, int(agent._clock[4])
    if pauses and random.random() < 0.5:
        _impatient(agent, int(random.choice([1, 1, 3, 17])))
    for k in range(steps):
        if random.random() < trial.restless:
            trial.disturb()
        if agent.status == "reached":
            if trial.restless:
                continue
            break
        # Not the first step, which may have to compile, nor kernels that are plain Python: neither is ours to survive.
        ringing = interrupts and COMPILED and k > 0 and random.random() < 0.2
        trial.step(float(random.exponential(2e-4)) + 1e-6 if ringing else 0.0)
        if random.random() < trial.rate:
            trial.edit()
    # To the end it may be millions of ticks: with a pause in each that would take minutes.
    agent._patience, agent._clock[4] = patience, stride
    if most:
        trial.finish(most)
    trial.books()


def _impatient(agent: tb.Agent, stride: int) -> None:
    """Let the agent's kernels pause at every look at the clock, with so many expansions between two looks."""
    agent._patience = 1
    agent._clock[4] = stride


# --- threads --------------------------------------------------------------------------------------------------------


def crowd(seed: int, *, side: int = 24, runs: int = 40) -> int:
    """Agents that walk in threads of their own while others open and shut doors. Returns the moves made."""
    random = np.random.default_rng(seed)
    free = random.random((side, side)) >= 0.1
    start, goal = (0, 0), (side - 1, side - 1)
    free[start] = free[goal] = True
    world = tb.Grid(free)
    doors = np.argwhere(random.random((side, side)) < 0.15)
    doors = doors[~((doors == start).all(1) | (doors == goal).all(1))]
    shares = doors[::2], doors[1::2]
    world.block(doors)
    free[tuple(doors.T)] = True
    model = Ground(np.ones((side, side)).tolist(), free.tolist(), 8, "never", math.sqrt(2), False)
    names = [name for name in REGISTRY if name not in ("ida*", "ribs") and REGISTRY[name].database is None]
    agents = []
    for _ in range(2):
        spec = str(random.choice(names))
        agents.append(tb.agent(spec, world, start, goal, budget=int(random.choice([5, 25]))))
    errors: list[BaseException] = []
    walking = len(agents)

    def guarded(task: Callable[[], None]) -> None:
        nonlocal walking
        try:
            task()
        except BaseException as error:
            errors.append(error)

    def stroll(agent: tb.Agent) -> None:
        nonlocal walking
        try:
            for _ in range(runs):
                agent.run(25)
        finally:
            walking -= 1

    ajar: list[set[tuple[int, int]]] = [set(), set()]

    def editor(k: int, own: np.random.Generator) -> None:
        while walking > 0:
            some = [(int(row), int(col)) for row, col in shares[k][own.random(len(shares[k])) < 0.5]]
            if some:
                world.unblock(some, later=k == 1)
                world.block(some[::2], later=k == 1 and bool(own.random() < 0.5))
                ajar[k] = (ajar[k] | set(some)) - set(some[::2])

    seeds = [np.random.default_rng([seed, k]) for k in range(2)]
    tasks = [lambda agent=agent: stroll(agent) for agent in agents]
    tasks += [lambda k=k: editor(k, seeds[k]) for k in range(2)]  # type: ignore[misc]
    threads = [threading.Thread(target=guarded, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        demand(not thread.is_alive(), "a thread hangs")
    if errors:
        raise errors[0]
    world.changes.catch_up()
    demand(world.changes.edited[1] == 0, "someone still waits to edit")
    left = {(int(row), int(col)) for row, col in doors if world.free[row, col]}
    demand(left == ajar[0] | ajar[1], "the order of edits is not that of the calls")
    demand(np.array_equal(world.view.moves, tb.Grid(world.free).view.moves), "the legal moves are not those of the map")
    now = Ground(np.ones((side, side)).tolist(), world.free.tolist(), 8, "never", math.sqrt(2), False)
    known: dict[Any, Any] = {}
    for agent in agents:
        for here, there in itertools.pairwise(_points(agent.result().path)):
            if here not in known:
                known[here] = model.steps(here)
            demand(there in known[here], "no step leads from", here, "to", there, "with all doors open")
        Trial(world, now, agent, 0.0, random, "").finish(3_000_000)
        Trial(world, now, agent, 0.0, random, "").books()
    return sum(agent.moves for agent in agents)


# --- the fuzzer -----------------------------------------------------------------------------------------------------


def fuzz(tally: Tally, random: np.random.Generator, count: int) -> None:
    """At least ``count`` moves, in trials small and large, now and then in threads."""
    warm()
    end = tally.moves + count
    for number in itertools.count():
        if tally.moves >= end:
            break
        seed = int(random.integers(2**62))
        if number % 50 == 49:
            moves = tally.judge(f"crowd({seed})", lambda seed=seed: crowd(seed))
            tally.moves += moves or 0
            continue
        large = number % 10 == 9
        trial = draw(seed, side=80 if large else 9)
        most = 3_000_000 if not large or trial.agent.spec.algorithm.name not in _SLOW else 0

        def whole(trial: Trial = trial, large: bool = large, most: int = most) -> None:
            walk(trial, 400 if large else 60, most=most, interrupts=True, pauses=True)

        tally.judge(trial.what, whole)
        tally.moves += trial.agent.moves
