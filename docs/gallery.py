"""The pictures of the site's gallery: each is made by a function of this file, and shown with the code that made it.

`make site` calls `page`. The maps are small and the kernels run as plain Python (NUMBA_DISABLE_JIT=1), so that nothing
is compiled for them. A new picture is a new function below, with a title and a text as its docstring, in `PICTURES`.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np

import timebound as tb
from timebound import pictures
from timebound.crowd import Crowd

__all__ = ["PICTURES", "page"]


def race(path: Path) -> None:
    """One problem, four searches.

    A\\* plans the whole way before it moves. The others may look at 20 states per move, so they set out at once: TBA\\*
    grows one search from the start and walks along it, the two learners look around where they stand. Detours are what
    that costs.
    """
    world = tb.Grid(tb.generate.caves((60, 90), seed=0))
    problem = next(tb.problems(world, 1, seed=3, cost=(80, 140)))
    ways = {
        name: tb.solve(world, problem.start, problem.goal, name, budget=budget).path
        for name, budget in (("a*", None), ("tba*", 20), ("k-lrta*", 20), ("rtaa*", 20))
    }
    pictures.save(pictures.draw(world, ways, start=problem.start, goal=problem.goal, size=900), path)


def pit(path: Path) -> None:
    """Where a learner has been.

    LRTA\\* sees only its neighbours. In front of a pit the estimates are wrong, and it walks to and fro until it has
    learned better ones: the warmer the ground, the more often it stood there.
    """
    cells = np.ones((24, 40), bool)
    cells[4:20, 26] = cells[4, 12:26] = cells[19, 12:26] = False
    world = tb.Grid(cells)
    way = np.array(tb.solve(world, (12, 3), (12, 36), "lrta*").path)
    visits = np.zeros(world.shape, np.int64)
    np.add.at(visits, tuple(way.T), 1)
    words = f"lrta*: {len(way) - 1:,} moves, at most {visits.max()} times in one cell"
    pictures.save(pictures.draw_crowd(world, way[-1:], visits=visits, caption=words, size=900), path)


def terrain(path: Path) -> None:
    """Dear ground.

    Cells may cost more than 1, here up to 6: the darker, the dearer. The shortest way is not the cheapest one.
    """
    row, col = np.mgrid[:50, :80]
    costs = 1 + 5 * np.exp(-(((row - 22) / 9) ** 2 + ((col - 40) / 16) ** 2))
    dear, plain = tb.Grid(costs), tb.Grid(np.ones((50, 80)))
    ways = {
        "a*": tb.solve(dear, (20, 5), (28, 75), "a*").path,
        "straight on": tb.solve(plain, (20, 5), (28, 75), "a*").path,
    }
    pictures.save(pictures.draw(dear, ways, start=(20, 5), goal=(28, 75), size=900), path)


def edits(path: Path) -> None:
    """A door that closes.

    When the agent has made 25 moves, the door in front of it is shut (it was where the way meets the wall). Nothing is
    told to the agent: it sees the edit, and walks on to the other door.
    """
    cells = np.ones((40, 64), bool)
    cells[:, 34] = False
    cells[12, 34] = cells[36, 34] = True
    world = tb.Grid(cells)
    agent = tb.agent("rtb-wa*", world, (10, 6), (14, 58), budget=40)
    while not agent.done:
        if agent.moves == 25:
            world.block((12, 34))
        agent.step()
    way = {"rtb-wa*": agent.result().path}
    pictures.save(pictures.draw(world, way, start=(10, 6), goal=(14, 58), size=900), path)


def areas(path: Path) -> None:
    """Regions.

    `pra*`, `pr-lrta*` and pattern databases see a map through its regions: cliques of cells, then cliques of cliques.
    This is the third level of them.
    """
    world = tb.Grid(tb.generate.rooms((48, 72), room=12, seed=5))
    pictures.save(pictures.draw_regions(tb.regions(world, 3), size=900), path)


def makers(path: Path) -> None:
    """Maps to try things on.

    The five generators of `tb.generate`, each with a seed: random obstacles, rooms, a maze, caves, and the corner map
    of the literature.
    """
    make = tb.generate
    maps = (make.random_obstacles, make.rooms, make.maze, make.caves, make.corner)
    tiles = [np.array(pictures.draw(tb.Grid(maker((48, 48), seed=2)), size=192)) for maker in maps]
    gap = np.full((tiles[0].shape[0], 12, 3), 255, np.uint8)
    row = [part for tile in tiles for part in (tile, gap)][:-1]
    Image, _, _ = pictures.require()
    pictures.save(Image.fromarray(np.hstack(row)), path)


def crowd(path: Path) -> None:
    """A crowd on its way.

    Sixty units in one fleet, each with a goal of its own. All of them together may look at 900 states in a tick, and no
    two stand in one cell. `timebound crowd MAP --gif FILE` makes such a film of any map.
    """
    world = tb.Grid(tb.generate.rooms((36, 54), room=9, seed=3))
    units = Crowd(world, "tb-wa*:weight=3", 60, frame_expansions=900, collisions=True, seed=1, watch=True)
    units.run(60)
    pictures.save_film(pictures.draw_film(world, units.film, size=648), path, milliseconds=120)


PICTURES: dict[str, Any] = {
    "race.png": race,
    "crowd.gif": crowd,
    "pit.png": pit,
    "edits.png": edits,
    "terrain.png": terrain,
    "areas.png": areas,
    "makers.png": makers,
}
"""The files, and who makes them, in the order of the page."""


def page(folder: Path) -> str:
    """Make all pictures in a folder, and the Markdown of the page that shows them from there."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = ["# Gallery", "Each picture is made by the code below it when the site is built."]
    for name, make in PICTURES.items():
        make(folder / name)
        title, _, text = inspect.cleandoc(make.__doc__).partition("\n\n")
        title = title.rstrip(".")
        code = re.sub(r'    """.*?"""\n', "", inspect.getsource(make), count=1, flags=re.DOTALL)
        parts += [f"## {title}", text, f"![{title}]({folder.name}/{name})"]
        parts += ["```python\n" + code.rstrip() + "\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(Path("out/gallery")))
