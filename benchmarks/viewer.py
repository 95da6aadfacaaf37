"""The viewer: frames per second that a browser draws, and what the page costs those who search.

Three things are measured, in headless Chromium beside the server on one machine:

* a race of four lanes on 512 x 512, at 60 and at 600 ticks per second: frames drawn per second;
* 10,000 units on 1024 x 1024: frames drawn per second;
* ticks per second of a race as fast as it can, with a page that shows it and without.

``python benchmarks/viewer.py``. Wanted: at least 30 frames, and not more than 10% fewer ticks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import timebound as tb
from timebound.crowd import Crowd as RandomCrowd
from timebound.viewer.race import Crowd, Race
from timebound.viewer.server import Viewer
from timebound.viewer.tab import Tab

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import browsers

SPECS = ["tba*", "tb-wa*:weight=3", "k-lrta*", "rtaa*"]
_SETTLING = 2.0  # seconds in which a browser compiles a new page's scripts
VIEW = {"width": 1440, "height": 900}


def caves(side: int) -> tb.Grid:
    """The map."""
    return tb.Grid(tb.generate.caves((side, side), seed=3))


def race(world: tb.Grid, budget: int = 50) -> Race:
    """Four lanes, far from their goal."""
    return Race(world, SPECS, budget=budget, seed=1)


class Watched:
    """A page of a viewer, and how many frames it has drawn."""

    def __init__(self, browser: Any, viewer: Viewer, speed: float | None) -> None:
        self.page = browser.new_page(viewport=VIEW)
        self.page.goto(viewer.address)
        self.wait("document.querySelector('.tbv').dataset.ready === 'true'")
        self.page.evaluate("speed => timebound.setSpeed(speed)", speed)
        self.page.keyboard.press(" ")
        self.wait("Number(document.querySelector('.tbv').dataset.tick) > 10")
        time.sleep(_SETTLING)

    def wait(self, condition: str, seconds: float = 120.0) -> None:
        last = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            if time.monotonic() > last:
                sys.exit(f"the page never came so far: {condition}")
            time.sleep(0.05)

    def measure(self, seconds: float) -> dict[str, float]:
        """Frames of the server that were drawn, and all pictures that were, per second."""
        script = "[timebound.shown, timebound.frames, performance.now()]"
        before = self.page.evaluate(script)
        time.sleep(seconds)
        after = self.page.evaluate(script)
        passed = (after[2] - before[2]) / 1000
        return {name: (after[k] - before[k]) / passed for k, name in enumerate(("frames", "pictures"))}


def frames_of_a_race(browser: Any, world: tb.Grid, speed: float | None, seconds: float) -> dict[str, float]:
    """Four lanes."""
    with Viewer(lambda: Endless(world), speed=speed) as viewer:  # type: ignore[arg-type, return-value]
        watched = Watched(browser, viewer, speed)
        found = watched.measure(seconds)
        watched.page.close()
    return found


def frames_of_a_crowd(browser: Any, world: tb.Grid, units: int, seconds: float) -> dict[str, float]:
    """Units on their way."""
    with Viewer(lambda: Crowd(RandomCrowd(world.copy(), "tb-wa*", units, frame_ms=8.0)), speed=60.0) as viewer:
        watched = Watched(browser, viewer, 60.0)
        found = watched.measure(seconds)
        watched.page.close()
    return found


class Endless:
    """A race that begins anew when it is over, and counts its ticks."""

    def __init__(self, world: tb.Grid) -> None:
        self.race, self.ticks = race(world), 0

    done = False

    def tick(self, n: int = 1) -> None:
        self.race.tick(n)
        self.ticks += n
        if self.race.done:
            self.race.restart()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.race, name)


def ticks_alone(world: tb.Grid, seconds: float) -> float:
    """Ticks per second of the same stage and the same slices, with nobody to look."""
    stage = Endless(world)
    tab = Tab(lambda: stage, speed=None, playing=True)  # type: ignore[arg-type, return-value]
    tab.turn(ready=False)
    began, before = time.perf_counter(), stage.ticks
    while time.perf_counter() - began < seconds:
        tab.turn(ready=False)
    return (stage.ticks - before) / (time.perf_counter() - began)


def ticks_watched(browser: Any, world: tb.Grid, seconds: float) -> tuple[float, float]:
    """Ticks per second, and frames per second, with a page that shows the race."""
    stage = Endless(world)
    with Viewer(lambda: stage, speed=None) as viewer:  # type: ignore[arg-type, return-value]
        watched = Watched(browser, viewer, None)
        began, before = time.perf_counter(), stage.ticks
        frames = watched.measure(seconds)["frames"]
        rate = (stage.ticks - before) / (time.perf_counter() - began)
        watched.page.close()
    return rate, frames


def main() -> None:
    """All three."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=5.0, help="for each measurement")
    options.add_argument("--repeats", type=int, default=3, help="of the ticks with and without a page")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    if browsers.executable() is None:
        print("no browser: make browser looks for one")
        return
    world, large = caves(512), caves(1024)
    figures: dict[str, Any] = {}
    with browsers.launched() as browser:
        figures["race, 60 ticks/s"] = frames_of_a_race(browser, world, 60.0, given.seconds)
        figures["race, 600 ticks/s"] = frames_of_a_race(browser, world, 600.0, given.seconds)
        figures["crowd of 10,000"] = frames_of_a_crowd(browser, large, 10_000, given.seconds)
        alone, watched, frames = [], [], []
        for _ in range(given.repeats):
            alone.append(ticks_alone(world, given.seconds))
            rate, seen = ticks_watched(browser, world, given.seconds)
            watched.append(rate)
            frames.append(seen)
    figures["ticks"] = {"alone": median(alone), "watched": median(watched), "frames": median(frames)}
    figures["all"] = {"alone": alone, "watched": watched, "frames": frames}
    figures["slower"] = 1 - median(watched) / median(alone)
    if given.json:
        print(json.dumps(figures))
        return
    print(f"{'':<34}{'frames/s':>10}")
    for name in ("race, 60 ticks/s", "race, 600 ticks/s", "crowd of 10,000"):
        print(f"  {name:<32}{figures[name]['frames']:>10.1f}")
    ticks = figures["ticks"]
    print(f"ticks/s of a race, as fast as can be: {ticks['alone']:,.0f} alone, {ticks['watched']:,.0f} with a page")
    print(f"  ({ticks['frames']:.0f} frames/s): {figures['slower']:.1%} slower")


if __name__ == "__main__":
    main()
