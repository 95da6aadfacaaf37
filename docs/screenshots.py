"""The viewer's pictures in the documentation: `python docs/screenshots.py` makes them anew in docs/images.

It needs a browser (`make browser`) and Pillow, which makes the files small.
"""

from __future__ import annotations

import importlib
import io
import sys
import time
from pathlib import Path
from typing import Any

from PIL import Image

import timebound as tb
from timebound.crowd import Crowd as RandomCrowd
from timebound.viewer.race import Crowd, Race
from timebound.viewer.server import Viewer

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
browsers = importlib.import_module("browsers")

SPECS = ["tba*", "tb-wa*:weight=3", "k-lrta*", "rtaa*"]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 780}


def shot(browser: Any, viewer: Viewer, name: str, ticks: int, size: dict[str, int], scheme: str) -> None:
    """A picture of a race after so many ticks."""
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.goto(viewer.address)
    while not page.evaluate("document.querySelector('.tbv').dataset.ready === 'true'"):
        time.sleep(0.05)
    for tick in range(1, ticks + 1):
        page.evaluate("timebound.send('tick')")
        while page.evaluate("Number(document.querySelector('.tbv').dataset.tick)") < tick:
            time.sleep(0.01)
    page.mouse.move(size["width"] * 0.16, size["height"] * 0.28)
    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = picture.quantize(255, Image.Quantize.MEDIANCUT, kmeans=3, dither=Image.Dither.NONE)
    small.save(HERE / "images" / name, optimize=True)
    page.close()


def main() -> None:
    """All of them."""
    world = tb.Grid(tb.generate.caves((96, 150), seed=11))
    with browsers.launched() as browser:
        with Viewer(lambda: Race(world, SPECS, budget=40, seed=4), name="caves") as viewer:
            shot(browser, viewer, "viewer.png", 90, WIDE, "light")
            shot(browser, viewer, "viewer_dark.png", 90, WIDE, "dark")
            shot(browser, viewer, "viewer_phone.png", 60, PHONE, "dark")
        large = tb.Grid(tb.generate.caves((512, 820), seed=5))
        with Viewer(
            lambda: Crowd(RandomCrowd(large.copy(), "tb-wa*", 10_000, frame_ms=8.0, seed=1)), name="caves"
        ) as viewer:
            shot(browser, viewer, "viewer_crowd.png", 120, WIDE, "light")


if __name__ == "__main__":
    main()
