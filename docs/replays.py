"""The replays of the site: one for each family of algorithms, made when the site is built; see `pages.py`.

Maps are small, for kernels run as plain Python there (NUMBA_DISABLE_JIT=1). A new replay is a new line of `RACES`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import timebound as tb
from timebound.crowd import Crowd as RandomCrowd
from timebound.viewer.race import Crowd, Race
from timebound.viewer.replay import replay_page, save_replay

__all__ = ["LARGEST", "RACES", "make"]

LARGEST = 300_000  # bytes of a page


class Replay(NamedTuple):
    """A race to write down: its title, who takes part, what they may plan per move, and what there is to see."""

    title: str
    specs: tuple[str, ...]
    budget: int
    words: str
    database: str | None = None  # the algorithm that it is made for
    seed: int = 2  # of the problem
    open_ground: bool = False  # a map on which those who only look around do not take for ever


RACES = {
    "time_bounded": Replay(
        "Time-bounded search",
        ("tba*", "tb-wa*:weight=3", "tb-gbfs"),
        15,
        "One search grows from the start while the agent walks. Where the search turns elsewhere, it steps back.",
    ),
    "learning": Replay(
        "Learning",
        ("lrta*", "k-lrta*", "rtaa*", "ribs"),
        15,
        "Each looks around where it stands, and learns. The warmer the ground, the more its value has risen.",
        open_ground=True,
    ),
    "changing_worlds": Replay(
        "Worlds that change",
        ("rtb-wa*", "tb-wa*", "k-lrta*"),
        15,
        "A wall is built across the way while they walk, and a gap is opened in it later.",
        open_ground=True,
    ),
    "path_refinement": Replay(
        "Regions",
        ("pra*", "pr-lrta*"),
        15,
        "They search a coarse picture of the map first, then the cells of it. Switch the layer of regions on.",
    ),
    "databases": Replay(
        "Subgoal databases",
        ("knn-lrta*", "lrta*"),
        15,
        "The first looks up a solved problem like this one, and goes from subgoal to subgoal.",
        "knn-lrta*",
        5,
    ),
    "dynamic_control": Replay(
        "Dynamic control",
        ("d-lrta*", "lrta*"),
        15,
        "The first looks up how deep to look, and towards which goal nearby.",
        "d-lrta*",
        5,
    ),
    "complete": Replay(
        "Complete searches",
        ("a*", "wa*:weight=3", "gbfs", "dijkstra"),
        40,
        "They wait until the whole way is known, and then walk it.",
    ),
    "fields": Replay(
        "Fields",
        ("field", "a*"),
        40,
        "A search from the goal, which all agents with that goal share.",
    ),
}


def make(folder: Path) -> str:
    """Write all replays into a folder; returns the part of a page that leads to them."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for name, replay in RACES.items():
        title = f"timebound: {replay.title}"
        if name == "changing_worlds":
            page = replay_page(_with_a_wall(_race(replay), replay.title), title)
            (folder / f"{name}.html").write_text(page, encoding="utf-8")
        else:
            save_replay(_race(replay), folder / f"{name}.html", title=title, name=replay.title)
        parts.append((name, replay.title, replay.words))
    world = tb.Grid(tb.generate.rooms((40, 60), room=10, seed=2))
    units = RandomCrowd(world, "tb-wa*", 60, frame_expansions=1500, seed=1)
    save_replay(Crowd(units), folder / "crowd.html", title="timebound: a crowd", name="A crowd", ticks=120)
    parts.append(("crowd", "A crowd", "Units that walk between random places of a map, all within one frame."))
    for file in folder.glob("*.html"):
        if file.stat().st_size > LARGEST:
            raise SystemExit(f"{file} has {file.stat().st_size:,} bytes, and a replay of the site at most {LARGEST:,}")
    frame = (
        f'<iframe src="{folder.name}/time_bounded.html" title="A race, replayed" loading="lazy" '
        'style="width: 100%; height: 560px; border: 1px solid #8884; border-radius: 12px"></iframe>'
    )
    lines = [f'- <a href="{folder.name}/{name}.html">{title}</a>: {words}' for name, title, words in parts]
    return "\n".join(
        ["## Replays", "", "One for each family, made when this site was built:", "", *lines, "", frame, ""]
    )


def _race(replay: Replay) -> Race:
    database: Any = None
    if replay.open_ground:
        world = tb.Grid(tb.generate.caves((36, 60), seed=4, feature=6))
    elif replay.database is None:
        world = tb.Grid(tb.generate.caves((40, 64), seed=0, feature=5, fill=0.45))
    else:
        world = tb.Grid(tb.generate.rooms((33, 49), room=8, seed=4))
        options = {"records": 300, "coverage": False} if replay.database == "knn-lrta*" else {}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.db"
            tb.prepare(world, file, algorithm=replay.database, **options)
            database = tb.load_database(file, world)
    return Race(world, replay.specs, budget=replay.budget, database=database, seed=replay.seed)


def _with_a_wall(race: Race, name: str) -> list[str | bytes]:
    """A race in which a wall comes, and then a gap in it."""
    hello = {**race.hello(), "name": name, "speed": 12}
    rows, cols = race.world.shape
    col = (race.start[1] + race.goal[1]) // 2
    ground = race.world.free[:, col]
    wall = [row * cols + col for row in range(rows) if ground[row]]
    messages: list[str | bytes] = [json.dumps(hello), race.map_bytes(), race.frame()]
    for tick in range(400):
        if tick == 12:
            race.paint(wall, 0)
        if tick == 45:
            race.paint(wall[-3:], 1)
        race.tick()
        messages.append(race.frame())
        if race.done and tick > 45:
            break
    return messages


if __name__ == "__main__":
    print(make(Path("out/replays")))
