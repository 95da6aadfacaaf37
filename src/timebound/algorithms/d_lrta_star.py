"""D LRTA*: LRTA* with dynamic control. Before each move it selects how deep to look, and which goal to look towards.

Bulitko, Luštrek, Schaeffer, Björnsson and Sigmundarson 2008 (JAIR 32). Two switches give the paper's LRTA*(X,Y):

* X, ``depth``: ``fixed`` (F) looks ``cap`` steps ahead at every move; ``pdb`` (PDB) takes the depth from a pattern
  database, up to ``cap``; ``oracle`` (ORACLE) is told the shallowest depth that takes the same step as ``cap`` and
  every depth between. The oracle is a reference, as in the paper, and not real-time: only the lookahead of the depth
  that it names is counted, and no budget bounds what it does to find it. ``tree`` (DT) asks a decision tree that was
  trained on other maps (``tb.DepthTree``), and needs no database. Its features are those of the paper's Appendix A, in
  units that fit any map (``kernels/depth_tree.py``); its pre-search is the beginning of the lookahead, and costs
  nothing more. There is a tree for each cap up to 16; above, that for 16 is asked.
* Y, ``goal``: ``global`` (G) is the goal itself; with ``pdb`` (PDB) the database gives an intermediate goal, where an
  optimal path from the agent's region enters the next one.

The database has one entry for each pair of regions, those of the agent's state and of the goal (``timebound prepare``).
LRTA*(F,G) is ``lrta*:depth=cap``, step by step.

Chosen where the paper is silent:

* In the goal's own region, and where the table has no entry, the agent looks towards the global goal.
* Re-entrance (Appendix D), only where there are intermediate goals. At a state where it has chosen before, the agent
  takes the intermediate goal of that state's region once more, and keeps it until it is there, whatever regions it
  comes through (``reentry=keep``). With one goal LRTA* learns its way out; without, regions that send the agent to
  each other learn nothing of each other, so the loop of Appendix D never ends by itself. A state gives one goal to be
  kept, for ``PATIENCE`` moves per state of a region at most; after so many the goal is given up, and is kept no more.
  Everywhere else the agent chooses the global goal and a depth of ``cap``, for that one move. So each state gives
  boundedly many moves towards intermediate goals; all others are LRTA* with the global goal, whose values are kept all
  the way. So it is complete. ``reentry=global`` is the paper's own words: always the global goal, and no goal is kept.
  In a large dead end LRTA* with the global goal then fills it: on maps of 512 x 512 a few walks in a hundred end a
  hundred times optimal (docs/dynamic_control.md).
* Values for an intermediate goal are forgotten when another one takes its place. The paper keeps a table for each; we
  found no walk that is shorter by it.
* A budget in expansions that is too small for ``cap`` lowers it, but for ``depth=fixed``, which is refused as by lrta*.
  A budget in time cuts the lookahead short.
* A table that says that there is no way is believed at once if the world is the one that it was made for. Otherwise
  that is proved as by lrta*, by the values for the global goal.
* Edits: the table stays as it was made. An intermediate goal that cannot be reached any more misleads no state twice;
  a cell that was a wall has no region, so there the global goal counts. If an arc became cheaper, all values are
  forgotten.
* Worlds without regions are refused: puzzles, and graphs with one-way arcs.
* A global goal that moves: its region is looked up anew, values for it come down as those of lrta*, and every state may
  give a move towards an intermediate goal again. Values for the present intermediate goal are as good as before.

The plain version: ``DynamicControl`` in ``tests/naive/dynamic_control.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..databases.depth_trees import DepthTree
from ..databases.files import frozen
from ..databases.patterns import PATTERNS
from ..errors import SpecError
from ..kernels.depth_control import (
    BY_TREE,
    GIVEN,
    TOLD,
    DepthControl,
    GivenDepth,
    new_oracle,
    note_goal,
    note_step,
    select_depth,
)
from ..kernels.depth_tree import History, Tree, TreeDepth, new_history, no_history
from ..kernels.edits import LogView
from ..kernels.heuristic_values import LearnedValues, enlarged, forget, learned
from ..kernels.jit import inlined
from ..kernels.layout import GROW, PAUSED, WEIGHT_ONE
from ..kernels.learning_rules import (
    FORGET,
    SPACE,
    change_goal,
    drop_lookahead,
    hopeless,
    lacks,
    mini_min,
    update,
)
from ..kernels.lookahead import Space, best_on_frontier, breadth_first, new_space
from ..kernels.loop import NEEDS_ROOM, NO_WAY, NOT_YET, decide, displaced, one_step, retarget
from ..kernels.memory import lacks_room, zeros
from ..kernels.pattern_tables import PatternTable, intermediate_goal, region_of
from ..kernels.saving import keeps
from ..kernels.tables import (
    INDEX_STAMPS,
    HashedTable,
    enlarged_hashed,
    intern,
    load_growth,
    new_hashed,
    renew,
    word_of,
    write,
)
from ..kernels.telling import BEGUN, FORGOTTEN, SUBGOAL, tell
from ..kernels.ticks import Tick
from ..kernels.views import VECTOR, GraphView, edits
from ..kernels.workspace import new_record
from .agent_centered import AgentCenteredPlanner, first_slots
from .lrta_star import most_expanded
from .registry import Algorithm, Parameter, World

STEERING = np.dtype(
    [
        ("goal", np.int64),  # the global one
        ("region", np.int64),  # its region; -1 if it has none
        ("subgoals", np.int64),  # 1 if there are intermediate goals
        ("subgoal", np.int64),  # the one that values nearby are for; -1: none
        ("cap", np.int64),
        ("gamma", np.int64),  # fixed point
        ("depth", np.int64),  # chosen for the present move, with ``look.goal``; 0: nothing is chosen yet
        ("ball", np.int64),  # the most states that one lookahead towards the global goal has expanded
        ("edits", np.int64),  # of the world when the agent was made
        ("table", np.int64),  # whether that is the world of the table: the constants below
        ("patience", np.int64),  # for how many moves an intermediate goal is kept after a re-entrance; 0: none is kept
        ("kept", np.int64),  # the one that is; -1: none
        ("kept_moves", np.int64),  # towards it
    ]
)
NOT_ASKED, THIS_WORLD, ANOTHER_WORLD = range(3)
# What is known of a state. It has chosen there; it has kept the goal chosen there; it has given the state up as a goal.
CHOSEN, KEPT, GIVEN_UP = 1, 2, 4
PATIENCE = 16  # moves towards a kept goal for each state of a region, by their mean
# What NEEDS_ROOM is about, besides the learners' own reasons.
NEW_SUBGOAL, NEARBY, VISITED, WHOSE_TABLE, CONTROL = 9, 10, 11, 12, 13


class DynamicControl(NamedTuple):
    """What the agent holds between ticks."""

    control: DepthControl
    patterns: PatternTable
    steering: np.ndarray  # one STEERING record
    visited: HashedTable  # if there are intermediate goals; words: CHOSEN and the like
    values: LearnedValues  # for the global goal
    nearby: LearnedValues  # for the present intermediate goal
    space: Space
    look: np.ndarray  # one LOOK record; its goal is that of the present move
    learner: np.ndarray  # one LEARNER record
    log: LogView
    counts: np.ndarray  # one COUNTS record
    route: np.ndarray  # int64[...]: the next state
    plan: np.ndarray  # int64[2]


@decide.on(DynamicControl)
def _decide(algorithm, world, s, tick):
    """Lines 3 to 7 of Figure 1, once; the loop around them is that of kernels/loop.py.

    Line 3, select a depth and a goal: ``select``. Lines 4 to 7, look around, learn, take a step: ``lrta_star``.
    """
    steering = algorithm.steering[0]
    limit = tick.limit
    if algorithm.learner[0].edits != edits(world):  # a choice that was made, or begun, is of another world
        limit -= drop_choice(algorithm)
    restarts = algorithm.counts[0].restarts
    lacking = lacks(world, algorithm, 1)
    if algorithm.counts[0].restarts > restarts and not forget(algorithm.nearby):
        algorithm.learner[0].lack = NEW_SUBGOAL
        lacking = True
    if lacking or lacks_more(algorithm):
        return NEEDS_ROOM
    if limit < 1:
        return 0
    rest = Tick(limit, tick.deadline, tick.clock)
    if steering.depth == 0:
        chosen = select(algorithm, world, s, rest)
        if chosen < 1:
            return chosen
        steering.depth = chosen
    return lrta_star(algorithm, world, s, rest)


@inlined
def drop_choice(algorithm):
    """Give up what was chosen for the present move, or begun, and return what a paused lookahead has expanded for it.

    What is looked at for a choice is not counted.
    """
    steering = algorithm.steering[0]
    if steering.depth == 0:
        algorithm.look[0].paused = 0
    steering.depth = 0
    return drop_lookahead(algorithm)


@retarget.on(DynamicControl)
def _retarget(algorithm, world, s, goal, tick):
    steering = algorithm.steering[0]
    if algorithm.visited.stamp[0] >= INDEX_STAMPS:
        return False
    drop_choice(algorithm)
    algorithm.plan[0] = algorithm.plan[1]
    change_goal(algorithm, world, algorithm.values, steering.goal, goal, WEIGHT_ONE, tick)
    renew(algorithm.visited)
    steering.kept = -1
    steering.goal = goal
    if algorithm.patterns.region.shape[0] > 0:
        steering.region = region_of(algorithm.patterns, goal)
    note_goal(algorithm.control, steering.region)
    return True


@displaced.on(DynamicControl)
def _displaced(algorithm, world, s):
    drop_choice(algorithm)
    return True


@inlined
def lacks_more(algorithm):
    """As ``lacks``, for what other learners do not have."""
    learner = algorithm.learner[0]
    if lacks_room(algorithm.nearby, 1):
        learner.lack = NEARBY
    elif lacks_room(algorithm.visited, 2):  # this state, and a goal that is given up
        learner.lack = VISITED
    elif lacks_room(algorithm.control, 1):
        learner.lack = CONTROL
    return learner.lack != 0


@inlined
def select(algorithm, world, s, tick):
    """Line 3: the goal, which goes to ``look``, and the depth, which is returned; or what ``decide`` is to return."""
    steering = algorithm.steering[0]
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    look.goal = steering.goal
    if steering.kept >= 0 and (s == steering.kept or steering.kept_moves >= steering.patience):
        if s != steering.kept:
            mark(algorithm, steering.kept, GIVEN_UP)
        steering.kept = -1
    if steering.kept < 0 and steering.subgoals and word_of(algorithm.visited, s) & CHOSEN:  # re-entrance
        steering.kept = to_keep(algorithm, s)
        if steering.kept < 0:
            return steering.cap
        steering.kept_moves = 0
        mark(algorithm, s, KEPT)
    if steering.kept >= 0:
        look.goal = steering.kept
    elif steering.subgoals:
        region = region_of(algorithm.patterns, s)
        subgoal = steering.goal
        if region >= 0 and steering.region >= 0 and region != steering.region:
            subgoal = intermediate_goal(algorithm.patterns, region, steering.region)
        if subgoal < 0 and edits(world) == steering.edits:
            if steering.table == NOT_ASKED:
                learner.lack = WHOSE_TABLE
                return np.int64(NEEDS_ROOM)
            if steering.table == THIS_WORLD:
                return np.int64(NO_WAY)
        if subgoal >= 0 and subgoal != s:
            look.goal = subgoal
    if look.goal != steering.goal and look.goal != steering.subgoal:
        if algorithm.nearby.used[1] > 0:
            tell(world, FORGOTTEN, steering.subgoal, -1, -1, -1)
            if not forget(algorithm.nearby):
                learner.lack = NEW_SUBGOAL
                return np.int64(NEEDS_ROOM)
        steering.subgoal = look.goal
    tell(world, SUBGOAL, look.goal if look.goal != steering.goal else np.int64(-1), -1, -1, -1)
    values = algorithm.values if look.goal == steering.goal else algorithm.nearby
    control = algorithm.control
    depth = select_depth(control, world, values, algorithm.space, look, algorithm.patterns, s, steering.cap, tick)
    if depth == NEEDS_ROOM:
        learner.lack = SPACE
    return depth


@inlined
def to_keep(algorithm, s):
    """The intermediate goal that a state visited before gives, to be kept until it is reached; -1 if it gives none."""
    steering = algorithm.steering[0]
    if steering.patience == 0 or word_of(algorithm.visited, s) & KEPT:
        return np.int64(-1)
    region = region_of(algorithm.patterns, s)
    if region == steering.region:
        return np.int64(-1)
    subgoal = intermediate_goal(algorithm.patterns, region, steering.region)
    if subgoal < 0 or subgoal == s or subgoal == steering.goal or word_of(algorithm.visited, subgoal) & GIVEN_UP:
        return np.int64(-1)
    return subgoal


@inlined
def mark(algorithm, s, what):
    """Note something about a state."""
    slot = intern(algorithm.visited, s)
    write(algorithm.visited, slot, algorithm.visited.words[slot] | what, np.int64(0))


@inlined
def lrta_star(algorithm, world, s, tick):
    """Lines 4 to 7 for the depth and the goal that were chosen. Returns as ``decide``."""
    steering = algorithm.steering[0]
    look = algorithm.look[0]
    learner = algorithm.learner[0]
    counts = algorithm.counts[0]
    space = algorithm.space
    globally = look.goal == steering.goal
    values = algorithm.values if globally else algorithm.nearby
    unlearned = learned(values, s) <= 0
    expanded = np.int64(1)
    seen = np.int64(0)
    if steering.depth == 1:  # the neighbours are the frontier, and no space need be set up
        tell(world, BEGUN, s, -1, 0, -1)
        rise, after, there = update(world, values, look, s, steering.gamma)
        before = after - rise
    else:
        # Line 4: expand successor states up to d actions away, generating a frontier.
        status = breadth_first(world, values, space, look, s, steering.depth, steering.gamma, tick)
        if status == GROW:
            learner.lack = SPACE
            return NEEDS_ROOM
        if status == PAUSED:
            return NOT_YET
        # Line 5: the frontier state with the lowest g + h.
        best, after = best_on_frontier(space, look, steering.gamma)
        there = space.table.states[space.table.parents[best]] if best >= 0 else np.int64(-1)
        # Line 6: update h(s).
        before = space.h[0]
        after = max(before, after)
        if there >= 0:
            mini_min(world, values, look, s, before, after)
        expanded = look.expanded
        seen = look.states
    counts.expanded += expanded
    counts.states = algorithm.values.used[1] + algorithm.nearby.used[1] + algorithm.visited.stamp[1] + seen
    steering.depth = 0
    if steering.kept >= 0:
        steering.kept_moves += 1
    elif steering.subgoals:
        mark(algorithm, s, CHOSEN)
    if globally:
        # S is everything expanded around the states visited; with one expansion each, what was learned.
        learner.reach += unlearned
        steering.ball = max(steering.ball, expanded)
        known = steering.ball * learner.reach if steering.ball > 1 else values.used[1]
        if there < 0 or (after > before and hopeless(look, after, known, WEIGHT_ONE)):
            return NO_WAY
    elif there < 0:
        steering.kept = -1
        return 0  # an edit has cut the intermediate goal off; no state gives one for ever, so the global goal is next
    # Line 7: one step towards it.
    note_step(algorithm.control, world, s, there, before, after)
    return one_step(algorithm, there)


keeps(DynamicControl, route=lambda agent: np.s_[:1])


class DynamicControlPlanner(AgentCenteredPlanner):
    """The Python half."""

    def __init__(
        self,
        world: World,
        goal: int,
        budget: Any,
        database: Any,
        switches: tuple[str, str],
        level: int,
        cap: int,
        gamma: float,
        tree: str = "",
        reentry: str = "keep",
    ) -> None:
        super().__init__(world, goal)
        load_growth()
        depth, subgoals = switches[0], switches[1] == "pdb"
        self._world, self._digest = world, None
        self._database = database
        patterns = no_patterns()
        if depth == "pdb" or subgoals:
            PATTERNS.check("d-lrta*", database, world)
            check_settings(database, depth, subgoals, level, cap)
            patterns, self._digest = database.patterns, database.digest
        steering = new_record(STEERING)
        steering["goal"], steering["subgoal"], steering["subgoals"] = goal, -1, subgoals
        steering["region"] = patterns.region[goal] if self._digest else -1
        steering["cap"] = affordable(world, budget, cap)
        steering["gamma"] = max(1, round(gamma * WEIGHT_ONE))
        steering["edits"] = world.changes.edited[0]
        steering["kept"] = -1
        if subgoals and reentry == "keep" and patterns.count[0] > 0:
            steering["patience"] = max(1, PATIENCE * len(patterns.region) // int(patterns.count[0]))
        # Most lookaheads are far from as deep as they may be; but a tick has no time to let room grow.
        slots = first_slots(world, cap, 1024 if budget.milliseconds is not None else 128)
        self.state = DynamicControl(
            control=control_of(depth, cap, int(steering["region"][0]), int(steering["gamma"][0]), world, tree),
            patterns=patterns,
            steering=steering,
            visited=nothing_visited(),
            nearby=self._no_values(),
            space=new_space(slots, 1),
            route=zeros(slots),
            **self._common,
        )

    def _of_others(self) -> dict[str, Any]:
        """The patterns are the database's."""
        return {"patterns": self._database.patterns} if self._digest else {}

    def enlarge(self) -> None:
        """As for every learner; and for what comes with intermediate goals."""
        state = self.state
        lack = int(state.learner["lack"][0])
        if lack == VISITED:
            self.state = state._replace(visited=enlarged_hashed(state.visited, self._states))
        elif lack == NEARBY:
            self.state = state._replace(nearby=enlarged(state.nearby, self._states))
        elif lack == NEW_SUBGOAL:
            self.state = state._replace(nearby=self._no_values())
        elif lack == CONTROL:
            history = state.control.tree.history
            self._remember(history._replace(seen=enlarged_hashed(history.seen, self._states)))
        elif lack == WHOSE_TABLE:
            # It takes a look at the whole world, so it is not asked before it matters.
            state.steering["table"] = THIS_WORLD if self._world.digest == self._digest else ANOTHER_WORLD
        else:
            if lack == FORGET:
                self.state = state._replace(nearby=self._no_values())
            super().enlarge()
        state.learner["lack"] = 0

    def restart(self) -> None:
        """A new trial. The values of the global goal are kept, so a trial that raises none of them repeats itself."""
        super().restart()
        self.state.steering["depth"] = 0
        self.state.steering["subgoal"] = self.state.steering["kept"] = -1
        self.state = self.state._replace(visited=nothing_visited(), nearby=self._no_values())
        if self.state.control.rule == BY_TREE:
            self._remember(fresh_history(self._world, self.state.control.tree.history))

    def _remember(self, history: History) -> None:
        control = self.state.control
        self.state = self.state._replace(control=control._replace(tree=control.tree._replace(history=history)))

    def memory_bytes(self) -> int:
        """As for every learner; with the values for the intermediate goal, and the states visited."""
        nearby, visited = self.state.nearby, self.state.visited
        pages = int(nearby.used[0])
        noted = int(visited.stamp[1])
        if self.state.control.rule == BY_TREE:
            noted += int(self.state.control.tree.history.seen.stamp[1])
        return super().memory_bytes() + pages * ((8 << nearby.bits) + 24) + 36 * noted


def control_of(depth: str, cap: int, goal_region: int, gamma: int, world: Any, tree: str) -> DepthControl:
    """Who selects the depth (kernels/depth_control.py)."""
    return DepthControl(
        rule={"tree": BY_TREE, "oracle": TOLD}.get(depth, GIVEN),
        given=GivenDepth(cap if depth == "fixed" else 0, np.array([goal_region])),
        oracle=new_oracle(gamma),
        tree=tree_depth(world, tree, gamma) if depth == "tree" else no_tree(gamma),
    )


def nothing_visited() -> HashedTable:
    """A set of states with none in it."""
    table = new_hashed(64)
    table.stamp[0] = 1  # its only search
    return table


def tree_depth(world: Any, file: str, gamma: int) -> TreeDepth:
    """The control by the tree in a file, or by that which comes with the package."""
    found = DepthTree.load(file) if file else DepthTree.default()
    return TreeDepth(found.tree, new_history(world, found.settings["history"], found.settings["presearch"]), gamma)


def no_tree(gamma: int) -> TreeDepth:
    """In the place of a tree, for who asks none."""
    none, links = np.empty(0, np.int8), np.empty(0, np.int32)
    tree = Tree(none, np.empty(0), links, links.copy(), np.empty(0, np.uint8), links.copy())
    return TreeDepth(frozen(tree), no_history(), gamma)


def fresh_history(world: Any, old: History) -> History:
    """An empty one of the same length."""
    return new_history(world, len(old.ring), int(old.memo["presearch"][0]))


def no_patterns() -> PatternTable:
    """In the place of a table, for who looks nothing up."""
    none = np.empty(0, np.int32)
    return frozen(PatternTable(none, np.zeros(1, np.int64), none.copy(), np.empty(0, np.uint16)))


def check_settings(database: Any, depth: str, subgoals: bool, level: int, cap: int) -> None:
    """A sentence if the database is not what the switches ask for."""
    made, table = database.settings, database.patterns
    if len(database) == 0:
        return  # there is nothing that could be wrong
    if made["level"] != level:
        raise SpecError(f"d-lrta*: this database has regions of level {made['level']}, so say level={made['level']}")
    if subgoals and len(table.goals) == 0:
        raise SpecError("d-lrta*: this database was made with goal=global, and has no intermediate goals")
    if depth == "pdb" and len(table.depths) == 0:
        raise SpecError("d-lrta*: this database was made without depth=pdb, and has no depths")
    if depth == "pdb" and not subgoals and len(table.goals) > 0:
        raise SpecError("d-lrta*: this database was made with goal=pdb, and its depths are for intermediate goals")
    if depth == "pdb" and made["cap"] < cap:
        raise SpecError(f"d-lrta*: this database has depths up to {made['cap']}, so cap is at most that, not {cap}")


def affordable(world: Any, budget: Any, cap: int) -> int:
    """The largest depth up to ``cap`` whose lookaheads a budget in expansions always allows; at least 1."""
    if budget.expansions is None:
        return cap
    low, high = 1, cap
    while low < high:
        middle = (low + high + 1) // 2
        if most_expanded(world, middle) <= budget.expansions:
            low = middle
        else:
            high = middle - 1
    return low


def refuses(world: Any) -> str | None:
    """Why a world has no regions."""
    if world.table == "hashed":
        return "its regions are those of grids and graphs"
    if isinstance(world.view, GraphView) and world.view.kind == VECTOR:
        return "its intermediate goals need estimates as well, and those of this graph are each for one goal"
    return None if world.undirected else "its regions are those of worlds without one-way arcs, and this graph has some"


def unfit(
    world: Any, budget: Any, depth: str, goal: str, level: int, cap: int, gamma: float, tree: str, reentry: str
) -> str | None:
    """Whether a fixed depth is more than the budget allows, or a tree is of no use, in words."""
    if tree and depth != "tree":
        return f"a tree is asked with depth=tree, not with depth={depth}"
    if depth == "fixed" and affordable(world, budget, cap) < cap:
        return f"cap={cap} can take {most_expanded(world, cap)} expansions per move here, the budget is {budget}"
    return None


D_LRTA_STAR = Algorithm(
    name="d-lrta*",
    summary="LRTA* that takes how deep to look, and a goal nearby, from a database (depth=oracle is not real-time)",
    paper="Bulitko et al. 2008",
    parameters=(
        Parameter(
            "depth",
            str,
            "pdb",
            "how deep to look: always cap, as the database says, as a decision tree for any map says, or as an oracle "
            "says, which is not real-time",
            choices=("fixed", "pdb", "tree", "oracle"),
        ),
        Parameter("goal", str, "pdb", "look towards the goal itself, or one nearby", choices=("global", "pdb")),
        Parameter("level", int, 3, "of abstraction: how large the database's regions are", low=1, high=30),
        Parameter("cap", int, 10, "the most steps to look ahead; with depth=fixed, always so many", low=1, high=1000),
        Parameter(
            "gamma", float, 1.0, "weight of the way to the frontier against the estimate there", low=0.01, high=1.0
        ),
        Parameter("tree", str, "", "with depth=tree, a file of timebound train-depth; without, the tree we trained"),
        Parameter(
            "reentry",
            str,
            "keep",
            "at a state visited before, keep the goal nearby until it is reached, or look towards the goal itself",
            choices=("keep", "global"),
        ),
    ),
    # One of its parameters is called goal too.
    make=lambda world, to, budget, /, database, depth, goal, level, cap, gamma, tree, reentry: DynamicControlPlanner(
        world, to, budget, database, (depth, goal), level, cap, gamma, tree, reentry
    ),
    refuses=refuses,
    unfit=unfit,
    database=PATTERNS,
)

ALGORITHMS = (D_LRTA_STAR,)
