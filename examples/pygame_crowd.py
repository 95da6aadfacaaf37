"""A thousand units chase you through rooms with doors and mud, and plan within 1 ms per frame: a pygame-ce window.

Install it with: pip install 'timebound[games]'

Arrow keys or WASD move you. The left mouse button paints walls, the right one takes them away, Escape ends.
``Chase`` is the game without a window: everything that has to do with finding ways is in it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import timebound as tb

CELL = 9  # pixels a side
FRAMES_PER_SECOND = 20  # a unit makes one move per frame
CALLED_EVERY = 3  # frames from one shout of "there he is" to the next
CALLED = 60  # units that hear of it at once
DOOR_FRAMES = 60  # then a third of the doors open or close
MUD = 4.0  # what a step through it costs

WALL, FLOOR, MIRE = (45, 48, 56), (236, 233, 224), (176, 152, 116)
OPEN, SHUT, UNIT, PLAYER = (150, 205, 150), (196, 84, 60), (38, 84, 160), (214, 40, 70)


class Chase:
    """A player, units that want to catch him, and a map that changes; one call of ``frame`` is one frame."""

    def __init__(
        self,
        units: int = 1000,
        shape: tuple[int, int] = (76, 121),
        room: int = 15,
        *,
        spec: str = "rtb-wa*:weight=3",
        frame_ms: float | None = 1.0,
        frame_expansions: int | None = None,
        seed: int = 1,
    ) -> None:
        self.random = np.random.default_rng(seed)
        free = tb.generate.rooms(shape, room=room, doors=1.0, seed=seed)
        free[-1] = free[:, -1] = False
        rows, cols = np.indices(shape)
        in_wall_line = (rows % room == 0) | (cols % room == 0)
        self.doors = np.argwhere(free & in_wall_line)
        self.shut = np.zeros(len(self.doors), bool)
        costs = free.astype(float)
        for row, col in self.random.integers(0, shape, (shape[0] * shape[1] // 600 + 1, 2)):
            mire = (rows - row) ** 2 + (cols - col) ** 2 < self.random.integers(4, 28, shape)
            costs[mire & free & ~in_wall_line] = MUD
        self.world = tb.Grid(costs)
        self.player = np.array(self._anywhere(1)[0])
        # A game counts its frame in milliseconds. In expansions a run is the same on every machine, as tests like it.
        if frame_expansions is not None:
            frame_ms = None
        self.fleet = tb.Fleet(self.world, spec, frame_ms=frame_ms, frame_expansions=frame_expansions)
        self.ids = self.fleet.add(self._anywhere(units), tuple(self.player))
        self.known = np.tile(self.player, (units, 1))  # where each unit believes the player to be
        self.frames = self.caught = 0
        self.tick_ms = self.call_ms = 0.0

    def _anywhere(self, count: int) -> list[tuple[int, int]]:
        return [self.world.point_of(int(state)) for state in self.world.random_states(count, self.random)]

    # --- what happens in a frame --------------------------------------------------------------------------------------

    def frame(self, step: tuple[int, int] = (0, 0)) -> None:
        """The player makes a step, doors move, units hear where he is, and every unit makes a move."""
        self.move(*step)
        self.frames += 1
        if self.frames % DOOR_FRAMES == 0:
            self.swing(self.random.random(len(self.doors)) < 1 / 3)
        if self.frames % CALLED_EVERY == 0:
            self.call()
        began = time.perf_counter()
        self.fleet.tick()
        self.tick_ms = (time.perf_counter() - began) * 1e3
        self.catch()

    def move(self, down: int, right: int) -> None:
        """A step of the player, if nothing is in his way."""
        row, col = self.player
        free = self.world.free
        # The edge of the map is wall, so these cells are always on it. No corner is cut.
        if free[row + down, col + right] and free[row + down, col] and free[row, col + right]:
            self.player = np.array([row + down, col + right])

    def call(self) -> None:
        """Tell units where the player is now: first those whose picture of it is most wrong for how near they are.

        A far unit goes the right way for a long time with an old goal, and a new goal makes it plan anew. So not all
        are told at once.
        """
        began = time.perf_counter()
        away = np.abs(self.fleet.positions[self.ids] - self.player).max(axis=1)
        wrong = np.abs(self.known - self.player).max(axis=1)
        urgent = np.flatnonzero(4 * wrong > away)
        if len(urgent) > CALLED:
            urgent = urgent[np.argsort(away[urgent] / wrong[urgent], kind="stable")[:CALLED]]
        if len(urgent):
            self.fleet.send(self.ids[urgent], tuple(self.player.tolist()))
            self.known[urgent] = self.player
        self.call_ms = (time.perf_counter() - began) * 1e3

    def catch(self) -> None:
        """Units that stand where the player is have caught him; they begin again elsewhere."""
        there = np.flatnonzero((self.fleet.positions[self.ids] == self.player).all(axis=1))
        if len(there):
            self.caught += len(there)
            self.fleet.place(self.ids[there], self._anywhere(len(there)))

    def swing(self, doors: np.ndarray) -> None:
        """Open those of the doors that are shut, and shut those that are open, unless somebody stands in them.

        Two edits of the world, not one for each door: after an edit most searches begin anew. Units notice by
        themselves, also those that found no way while doors were shut.
        """
        opening = doors & self.shut
        shutting = doors & ~self.shut & ~self.taken()[tuple(self.doors.T)]
        self.world.unblock(self.doors[opening])
        self.world.block(self.doors[shutting])
        self.shut = (self.shut & ~opening) | shutting

    def paint(self, row: int, col: int, wall: bool) -> None:
        """Make a wall of a cell, or a floor of a wall; not where somebody stands, in a door, or at the map's edge."""
        rows, cols = self.world.shape
        inside = 0 < row < rows - 1 and 0 < col < cols - 1
        if not inside or (self.doors == (row, col)).all(axis=1).any():
            return
        if not wall:
            self.world.unblock((row, col))
        elif not self.taken()[row, col]:
            self.world.block((row, col))

    def taken(self) -> np.ndarray:
        """The cells in which somebody stands."""
        cells = np.zeros(self.world.shape, bool)
        cells[tuple(self.fleet.positions[self.ids].T)] = True
        cells[tuple(self.player)] = True
        return cells

    # --- what there is to see -----------------------------------------------------------------------------------------

    def picture(self) -> np.ndarray:
        """A colour for each cell, rows x columns x 3."""
        costs = self.world.costs
        cells = np.full((*self.world.shape, 3), FLOOR, np.uint8)
        cells[np.isfinite(costs) & (costs > 1)] = MIRE
        cells[~np.isfinite(costs)] = WALL
        for (row, col), shut in zip(self.doors.tolist(), self.shut.tolist(), strict=True):
            cells[row, col] = SHUT if shut else OPEN
        cells[tuple(self.fleet.positions[self.ids].T)] = UNIT
        cells[tuple(self.player)] = PLAYER
        return cells

    def words(self) -> str:
        """How it goes, in a line."""
        stats = self.fleet.stats
        frame = f" of {self.fleet.frame_ms:g}" if self.fleet.frame_ms is not None else ""
        return (
            f"{len(self.ids):,} units   tick {stats.p50_ms:.2f}{frame} ms, p99 {stats.p99_ms:.2f}, {stats.late} late"
            f"   calls {self.call_ms:.1f} ms   {stats.served:,} of {stats.agents:,} served   caught {self.caught:,}"
        )


def play(game: Chase, frames: int | None = None, picture: str | None = None) -> None:
    """The window, until it is closed or so many frames are over; the last one is saved as a ``picture``."""
    import pygame

    pygame.display.init()
    pygame.font.init()
    rows, cols = game.world.shape
    screen = pygame.display.set_mode((cols * CELL, rows * CELL + 24))
    pygame.display.set_caption("timebound: a chase")
    font, clock = pygame.font.Font(None, 20), pygame.time.Clock()
    words = ""
    while frames is None or game.frames < frames:
        if any(_ends(event, pygame) for event in pygame.event.get()):
            break
        for button, wall in ((0, True), (2, False)):
            if pygame.mouse.get_pressed()[button]:
                x, y = pygame.mouse.get_pos()
                game.paint(y // CELL, x // CELL, wall)
        game.frame(_step(pygame.key.get_pressed(), pygame))
        cells = pygame.surfarray.make_surface(game.picture().swapaxes(0, 1))
        screen.fill((20, 20, 24))
        screen.blit(pygame.transform.scale(cells, (cols * CELL, rows * CELL)), (0, 0))
        if game.frames % 10 == 1:
            words = game.words()
        screen.blit(font.render(words, True, (230, 230, 230)), (8, rows * CELL + 5))
        pygame.display.flip()
        clock.tick(FRAMES_PER_SECOND)
    if picture is not None:
        pygame.image.save(screen, picture)
    pygame.quit()


def _ends(event: Any, pygame: Any) -> bool:
    return event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE)


def _step(keys: Any, pygame: Any) -> tuple[int, int]:
    """Where the keys that are held down lead: rows down, columns to the right."""
    down = (keys[pygame.K_DOWN] or keys[pygame.K_s]) - (keys[pygame.K_UP] or keys[pygame.K_w])
    right = (keys[pygame.K_RIGHT] or keys[pygame.K_d]) - (keys[pygame.K_LEFT] or keys[pygame.K_a])
    return int(down), int(right)


if __name__ == "__main__":
    try:
        import pygame  # noqa: F401
    except ImportError:
        sys.exit("this example needs pygame-ce: pip install 'timebound[games]'")
    print("getting ready; the first time kernels are compiled, which may take a minute")
    play(Chase())
