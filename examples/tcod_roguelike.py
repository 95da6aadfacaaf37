"""A dungeon with 200 monsters that hunt you, doors that you open and shut, and mud: a roguelike with python-tcod.

Install it with: pip install 'timebound[games]'

Arrow keys or h j k l move you; walk into a door to open it, c shuts the doors beside you, walk into a monster to slay
it, a dot waits. r lets time run by itself, or only when you act. Escape ends.
``Dungeon`` is the game without a window: everything that has to do with finding ways is in it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import timebound as tb

SHOUT = 3  # turns from one shout of "there he is" to the next
SHUT_DOORS = 0.25  # the share of them at the beginning
SPAWN = 10  # turns from one new monster to the next
MUD = 3.0  # what a step through it costs
TURN_SECONDS = 0.12  # when time runs by itself

WALL, FLOOR, MIRE, SHUT, OPEN = range(5)
GLYPHS = np.array([ord(c) for c in "#.~+/"])
COLOURS = np.array([(110, 110, 120), (70, 70, 70), (150, 115, 60), (220, 150, 70), (170, 120, 60)], np.uint8)
STEPS = {"h": (0, -1), "j": (1, 0), "k": (-1, 0), "l": (0, 1)}


class Dungeon:
    """A player and the monsters after him; one call of ``turn`` is one turn of everybody."""

    def __init__(
        self,
        monsters: int = 200,
        shape: tuple[int, int] = (60, 100),
        room: int = 10,
        *,
        spec: str = "tb-wa*:weight=3",
        frame_ms: float | None = 1.0,
        frame_expansions: int | None = None,
        seed: int = 7,
    ) -> None:
        self.random = np.random.default_rng(seed)
        free = tb.generate.rooms(shape, room=room, seed=seed)
        free[-1] = free[:, -1] = False
        rows, cols = np.indices(shape)
        in_wall_line = (rows % room == 0) | (cols % room == 0)
        self.ground = np.where(free, FLOOR, WALL)
        for row, col in self.random.integers(0, shape, (shape[0] * shape[1] // 400 + 1, 2)):
            mire = (rows - row) ** 2 + (cols - col) ** 2 < self.random.integers(2, 14, shape)
            self.ground[mire & free & ~in_wall_line] = MIRE
        self.world = tb.Grid(np.where(self.ground == MIRE, MUD, free))
        self.player: tuple[int, int] = (0, 0)  # in the wall; nowhere yet
        self.player = self._anywhere()
        # A game counts its frame in milliseconds. In expansions a run is the same on every machine, as tests like it.
        if frame_expansions is not None:
            frame_ms = None
        self.fleet = tb.Fleet(self.world, spec, frame_ms=frame_ms, frame_expansions=frame_expansions)
        self.most = monsters
        self.ids = self.fleet.add([self._anywhere() for _ in range(monsters)], self.player)
        self.known = np.tile(self.player, (monsters, 1))  # by id: where a monster believes the player to be
        # In the gaps of walls are doors. Monsters cannot open those that are shut.
        self.ground[free & in_wall_line] = OPEN
        gaps = np.argwhere(free & in_wall_line)
        self.shut([tuple(cell) for cell in gaps[self.random.random(len(gaps)) < SHUT_DOORS].tolist()])
        self.turns = self.slain = 0
        self.health = 20
        self.tick_ms = 0.0

    def _anywhere(self) -> tuple[int, int]:
        """A free cell, but not the player's."""
        while True:
            cell = self.world.point_of(int(self.world.random_states(1, self.random)[0]))
            if cell != self.player:
                return cell

    # --- what the player does; each of these takes a turn -------------------------------------------------------------

    def walk(self, down: int, right: int) -> None:
        """A step; into a shut door: open it; into a monster: slay it."""
        cell = self.player[0] + down, self.player[1] + right
        beside = self.ids[(self.fleet.positions[self.ids] == cell).all(axis=1)]
        if self.ground[cell] == SHUT:
            self.open(cell)
        elif len(beside) and (down or right):
            self.slay(beside)
        elif self.world.free[cell]:
            self.player = cell
        self.turn()

    def close(self) -> None:
        """Shut the doors beside the player."""
        row, col = self.player
        beside = [(row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)]
        self.shut([cell for cell in beside if self.ground[cell] == OPEN])
        self.turn()

    # --- what happens -------------------------------------------------------------------------------------------------

    def open(self, door: tuple[int, int]) -> None:
        """An open door is a free cell: monsters that found no way before look again by themselves."""
        self.ground[door] = OPEN
        self.world.unblock(door)

    def shut(self, doors: list[tuple[int, int]]) -> None:
        """A shut door is a wall. One in which somebody stands stays open."""
        taken = {self.player, *map(tuple, self.fleet.positions[self.ids].tolist())}
        doors = [door for door in doors if door not in taken]
        for door in doors:
            self.ground[door] = SHUT
        self.world.block(doors)

    def slay(self, monsters: np.ndarray) -> None:
        """They leave the fleet; their ids may be given to others."""
        self.fleet.cancel(monsters)
        self.ids = np.setdiff1d(self.ids, monsters)
        self.slain += len(monsters)

    def shout(self) -> None:
        """Tell monsters where the player is, if what they know of it is too wrong for how near they are.

        A new goal makes a monster plan anew, and from far away an old goal leads the right way still.
        """
        away = np.abs(self.fleet.positions[self.ids] - self.player).max(axis=1, initial=0)
        wrong = np.abs(self.known[self.ids] - self.player).max(axis=1, initial=0)
        told = self.ids[4 * wrong > away]
        self.fleet.send(told, self.player)
        self.known[told] = self.player

    def turn(self) -> None:
        """Every monster makes a move."""
        self.turns += 1
        if self.turns % SHOUT == 0:
            self.shout()
        if self.turns % SPAWN == 0 and len(self.ids) < self.most:
            born = self.fleet.add([self._anywhere()], self.player)
            self.ids, self.known[born] = np.append(self.ids, born), self.player
        before = self.fleet.positions.copy()
        began = time.perf_counter()
        self.fleet.tick()
        self.tick_ms = (time.perf_counter() - began) * 1e3
        biting = self.ids[(self.fleet.positions[self.ids] == self.player).all(axis=1)]
        if len(biting):
            # Who would step onto the player bites him instead, and is pushed back to where it came from.
            self.health -= len(biting)
            self.fleet.place(biting, before[biting])

    # --- what there is to see -----------------------------------------------------------------------------------------

    def words(self) -> str:
        """How it goes, in a line."""
        stats = self.fleet.stats
        frame = f" of {self.fleet.frame_ms:g}" if self.fleet.frame_ms is not None else ""
        state = f"health {self.health}" if self.health > 0 else "you are dead"
        return (
            f"turn {self.turns}  {state}  slain {self.slain}  {len(self.ids)} monsters, {stats.agents} on their way  "
            f"tick {stats.p50_ms:.2f}{frame} ms, p99 {stats.p99_ms:.2f}"
        )


def draw(game: Dungeon, console: Any) -> None:
    """The dungeon as letters; a console is rows x columns of a letter, its colour and that of its ground."""
    console.clear()
    rows, cols = game.world.shape
    cells = console.rgb[:rows, :cols]
    cells["ch"], cells["fg"] = GLYPHS[game.ground], COLOURS[game.ground]
    for place in game.fleet.positions[game.ids].tolist():
        cells[tuple(place)] = ord("g"), (120, 200, 120), (0, 0, 0)
    cells[game.player] = ord("@"), (255, 255, 255), (90, 30, 30)
    console.print(0, rows, game.words()[: console.width], fg=(200, 200, 200))


def act(game: Dungeon, key: str) -> None:
    """What a key does."""
    if key in STEPS:
        game.walk(*STEPS[key])
    elif key == "c":
        game.close()
    elif key == ".":
        game.turn()


def play(game: Dungeon, turns: int | None = None) -> None:
    """The window, until it is closed, the player is dead or so many turns are over."""
    import tcod.console
    import tcod.context
    import tcod.event

    keys = {
        **{ord(key): key for key in (*STEPS, "c", ".", "r")},
        tcod.event.KeySym.LEFT: "h", tcod.event.KeySym.DOWN: "j", tcod.event.KeySym.UP: "k",
        tcod.event.KeySym.RIGHT: "l", tcod.event.KeySym.ESCAPE: "q",
    }  # fmt: skip
    rows, cols = game.world.shape
    console = tcod.console.Console(cols, rows + 1, order="C")
    by_itself = turns is not None  # nobody presses keys then
    with tcod.context.new(columns=cols, rows=rows + 1, title="timebound: a dungeon") as context:
        while game.health > 0 and (turns is None or game.turns < turns):
            draw(game, console)
            context.present(console)
            for event in tcod.event.wait(timeout=(TURN_SECONDS if turns is None else 0.001) if by_itself else None):
                key = keys.get(event.sym, "") if isinstance(event, tcod.event.KeyDown) else ""
                if isinstance(event, tcod.event.Quit) or key == "q":
                    return
                by_itself ^= key == "r"
                act(game, key)
            if by_itself:
                game.turn()


if __name__ == "__main__":
    try:
        import tcod  # noqa: F401
    except ImportError:
        sys.exit("this example needs python-tcod: pip install 'timebound[games]'")
    print("getting ready; the first time kernels are compiled, which may take a minute")
    dungeon = Dungeon()
    play(dungeon)
    print(dungeon.words())
