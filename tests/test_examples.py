"""The games in examples/: their rules without a window, always; with one, headless, where the package is installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import timebound as tb
from helpers import COMPILED

# No screen is needed. SDL looks at these when it is first loaded: the first is for SDL 2, the second for SDL 3.
os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_VIDEO_DRIVER"] = "dummy"

EXAMPLES = Path(__file__).parents[1] / "examples"
UNITS = 30 if COMPILED else 6
SHAPE, ROOM = ((25, 31), 6) if COMPILED else ((11, 13), 5)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


chases, dungeons = example("pygame_crowd"), example("tcod_roguelike")


def chase(**options: Any) -> Any:
    return chases.Chase(UNITS, SHAPE, ROOM, frame_expansions=30 * UNITS, **options)


def dungeon(**options: Any) -> Any:
    return dungeons.Dungeon(UNITS, SHAPE, ROOM, frame_expansions=30 * UNITS, **options)


def on_free_cells(world: tb.Grid, places: np.ndarray) -> bool:
    return bool(world.free[tuple(places.T)].all())


# ----------------------------------------------------------------------------------------------- pygame_crowd


def test_a_chase_keeps_its_rules() -> None:
    """Doors, painted walls and a player who runs: everybody stands on the floor, and moves by single steps."""
    game = chase(seed=2)
    random = np.random.default_rng(0)
    before = game.fleet.positions[game.ids].copy()
    for _ in range(150 if COMPILED else 20):
        game.paint(*(int(k) for k in random.integers(0, SHAPE)), wall=bool(random.random() < 0.6))
        if game.frames % 7 == 0:
            game.swing(random.random(len(game.doors)) < 0.5)
        caught = game.caught
        game.frame(tuple(int(k) for k in random.integers(-1, 2, 2)))
        places = game.fleet.positions[game.ids]
        assert on_free_cells(game.world, places)
        assert on_free_cells(game.world, game.player[None])
        jumped = np.abs(places - before).max(axis=1) > 1
        assert jumped.sum() <= game.caught - caught, "only who has caught the player is put elsewhere"
        assert (game.world.free[tuple(game.doors.T)] == ~game.shut).all()
        before = places.copy()


def test_everybody_comes_to_a_player_who_stands_still() -> None:
    game = chase(seed=3)
    for _ in range(500):
        game.frame()
        if game.caught >= UNITS:
            break
    assert game.caught >= UNITS


def test_units_hear_where_the_player_is() -> None:
    game = chase(seed=4)
    free = np.argwhere(game.world.free)
    game.player = free[0]
    away = np.abs(game.fleet.positions[game.ids] - game.player).max(axis=1)
    wrong = np.abs(game.known - game.player).max(axis=1)
    game.call()
    told = (game.known == game.player).all(axis=1)
    assert (told == ((4 * wrong > away) | (wrong == 0))).all()
    goals = game.world.points_of(game.fleet._roster.episodes["goal"][game.ids])
    assert (goals == game.known).all()


def test_walls_cannot_be_painted_everywhere() -> None:
    game = chase(seed=5)
    before = game.world.free.copy()
    for row, col in (game.player, *game.fleet.positions[game.ids], *game.doors, (0, 3), (SHAPE[0] - 1, 3), (-5, 2)):
        game.paint(int(row), int(col), wall=True)
    assert (game.world.free == before).all()
    (row, col) = np.argwhere(before & ~game.taken() & (game.world.costs == 1))[0]
    game.paint(int(row), int(col), wall=True)
    assert not game.world.free[row, col]
    game.paint(int(row), int(col), wall=False)
    assert game.world.free[row, col]


def test_a_picture_shows_all_there_is() -> None:
    game = chase(seed=6)
    game.swing(np.arange(len(game.doors)) == 0)
    cells = game.picture()
    assert cells.shape == (*SHAPE, 3)
    assert tuple(cells[tuple(game.player)]) == chases.PLAYER
    assert tuple(cells[0, 0]) == chases.WALL
    seen = {tuple(colour) for colour in cells.reshape(-1, 3).tolist()}
    assert {chases.FLOOR, chases.MIRE, chases.UNIT} <= seen
    assert f"{UNITS} units" in game.words()


def test_the_chase_in_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame", reason="needs pygame-ce: pip install 'timebound[games]'")
    monkeypatch.setattr(chases, "FRAMES_PER_SECOND", 0)  # as fast as it goes
    game = chase(seed=7)
    chases.play(game, frames=3, picture=str(tmp_path / "shot.png"))
    assert game.frames == 3
    shot = pygame.image.load(str(tmp_path / "shot.png"))
    assert shot.get_size() == (SHAPE[1] * chases.CELL, SHAPE[0] * chases.CELL + 24)
    row, col = game.player
    assert shot.get_at((int(col) * chases.CELL + 4, int(row) * chases.CELL + 4))[:3] == chases.PLAYER


# --------------------------------------------------------------------------------------------- tcod_roguelike


def test_a_dungeon_keeps_its_rules() -> None:
    game = dungeon(seed=2)
    random = np.random.default_rng(0)
    for _ in range(150 if COMPILED else 25):
        before = game.fleet.positions.copy()
        dungeons.act(game, str(random.choice([*"hjklc."])))
        places = game.fleet.positions[game.ids]
        assert on_free_cells(game.world, places)
        assert game.world.free[game.player]
        assert not (places == game.player).all(axis=1).any(), "nobody stands on the player"
        old = game.ids[game.ids < len(before)]
        assert (np.abs(game.fleet.positions[old] - before[old]).max(axis=1) <= 1).sum() >= len(old) - 1, (
            "but the newborn"
        )
        assert len(game.fleet) == len(game.ids) <= UNITS
        assert ((game.ground == dungeons.SHUT) <= ~game.world.free).all()
        assert (game.ground == dungeons.OPEN)[~game.world.free].sum() == 0


def test_monsters_come_and_bite() -> None:
    game = dungeon(seed=3)
    for _ in range(300):
        game.turn()
        if game.health < 0:
            break
    assert game.health < 20
    assert "you are dead" in game.words() or game.health > 0


def test_doors_monsters_and_blows() -> None:
    game = dungeon(seed=4)
    row, col = (int(k) for k in np.argwhere(game.ground == dungeons.SHUT)[0])
    beside = next(
        (row + down, col + right) for down, right in dungeons.STEPS.values() if game.world.free[row + down, col + right]
    )
    game.fleet.cancel(game.ids)
    game.ids = game.ids[:0]
    game.player = beside
    way = row - beside[0], col - beside[1]
    game.walk(*way)
    assert (game.ground[row, col], game.player) == (dungeons.OPEN, beside)
    assert game.world.free[row, col]
    game.close()
    assert not game.world.free[row, col]
    game.open((row, col))
    game.ids = game.fleet.add([(row, col)], [(row, col)])
    game.close()
    assert game.world.free[row, col], "somebody stands in it"
    game.walk(*way)
    assert (game.slain, len(game.ids), len(game.fleet)) == (1, 0, 0)
    game.walk(*way)
    assert game.player == (row, col)


def test_the_dungeon_in_letters() -> None:
    console = pytest.importorskip("tcod.console", reason="needs python-tcod: pip install 'timebound[games]'")
    game = dungeon(seed=5)
    page = console.Console(SHAPE[1] + 40, SHAPE[0] + 1, order="C")
    dungeons.draw(game, page)
    letters = np.vectorize(chr)(page.rgb["ch"])
    assert letters[game.player] == "@"
    assert set("#.g@") <= set(letters[: SHAPE[0]].ravel())
    assert "".join(letters[SHAPE[0]]).startswith("turn 0  health 20")


def test_the_dungeon_in_a_window() -> None:
    pytest.importorskip("tcod.context", reason="needs python-tcod: pip install 'timebound[games]'")
    game = dungeon(seed=6)
    game.health = 1000
    dungeons.play(game, turns=3)
    assert game.turns == 3


@pytest.mark.once
@pytest.mark.parametrize("name", ["pygame_crowd", "tcod_roguelike"])
def test_who_lacks_the_package_hears_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pygame", "tcod"):
        monkeypatch.setitem(sys.modules, package, None)
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match=r"pip install 'timebound\[games\]'"):
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
