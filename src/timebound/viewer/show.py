"""``timebound.view``: a race or a crowd in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..algorithms import Spec
from ..budget import Budget
from ..errors import SpecError, WorldError, is_number
from ..fleet import Fleet
from ..text import shown
from ..worlds.grid import Grid
from .race import Crowd, Race
from .server import Viewer

if TYPE_CHECKING:
    from .tab import Stage

__all__ = ["DEFAULT_SPECS", "view"]

DEFAULT_SPECS = ("tba*", "tb-wa*:weight=3", "k-lrta*")
_MOST_CELLS = 1 << 22  # of a map: a browser holds every lane's picture and values


def view(
    world: Grid | Fleet,
    specs: Sequence[str | Spec] | str | Spec = DEFAULT_SPECS,
    start: Any = None,
    goal: Any = None,
    *,
    budget: Budget | int | str | None = 50,
    database: Any = None,
    seed: int = 0,
    speed: float | None = 30.0,
    port: int = 0,
    browser: bool = True,
) -> Viewer:
    """Show a race in the browser: up to six algorithms on one map, with walls that can be painted while they run.

    ``start`` and ``goal`` are (row, col); without them two places far apart are drawn with ``seed``. ``speed`` is in
    ticks per second, None as fast as can be. If it is given a ``Fleet``, it shows that. What is done on the page is
    done to copies, a new one for every tab; the world and the fleet stay as they are.

    The server runs beside the program, at ``address``, until ``close`` is called; ``wait`` returns when it has ended.
    With ``browser`` the page is opened. Needs the extra ``viewer``.

    >>> import timebound as tb
    >>> world = tb.Grid(tb.generate.caves((60, 80), seed=3))
    >>> with tb.view(world, ["tba*", "k-lrta*"], budget=30, browser=False) as viewer:
    ...     print(viewer.address[:17])  # in a script, viewer.wait() comes here
    http://127.0.0.1:
    """
    if speed is not None and (not is_number(speed) or not 0.1 <= speed <= 1_000_000):
        raise SpecError(f"speed is in ticks per second, from 0.1 to 1,000,000, or None, not {shown(speed)}")
    make = stages(world, specs, start, goal, budget=budget, database=database, seed=seed)
    viewer = Viewer(make, port=port, speed=None if speed is None else float(speed))
    if browser:
        viewer.open_browser()
    return viewer


def stages(world: Grid | Fleet, specs: Any, start: Any = None, goal: Any = None, **options: Any) -> Callable[[], Stage]:
    """What makes a stage for each tab. The first is made at once, so that mistakes are found here and not in a tab."""
    if isinstance(world, Fleet):
        check_size(world.world)
        Crowd(world)
        return lambda: Crowd(deepcopy(world))
    check_size(world)
    race = Race(world, specs, start, goal, **options)
    for lane in race.lanes:
        if lane.error is not None:
            raise SpecError(lane.error)
    # A problem that was drawn is the same in every tab.
    return lambda: Race(world, specs, race.start, race.goal, **options)


def check_size(world: Any) -> None:
    """A map that a browser can hold, or one sentence."""
    rows, cols = getattr(world, "shape", (0, 0))
    if rows * cols > _MOST_CELLS:
        raise WorldError(f"this map has {rows * cols:,} cells, and the viewer shows at most {_MOST_CELLS:,}")
