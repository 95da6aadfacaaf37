"""A race as a short moving picture: its lanes side by side, each with what its search holds, its trail and its cost.

What there is to see is noted tick by tick in the size of the picture, so that memory follows the picture and not the
map; drawing comes afterwards. Needs Pillow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..budget import Budget
from ..errors import at_least
from ..pictures import COLOURS, FREE, INK, PAPER, colours_of, font_of, mark_at, require, save_film
from ..text import some
from .race import Lane, Race

__all__ = ["draw_race", "save_race"]

_FRAMES = 90
_MOST_TICKS = 200_000  # of a race: who is not there by then does not get there in this film
_LAST = 1800  # milliseconds that the last picture stays
_WARM = (230, 130, 40)  # where most was learned
_MARGIN, _HEAD, _FOOT = 10, 46, 22
_FINE = 2  # how much larger everything is drawn at first


@dataclass
class _Shot:
    """What one lane looked like at some tick."""

    seen: np.ndarray  # uint8, as large as the map in the picture: 0 nothing, 1 open, 2 closed
    heat: np.ndarray  # uint8, the same: what was learned, 255 the most
    walked: int  # cells of the trail
    words: str


@dataclass
class _Reel:
    """One lane from start to end."""

    name: str
    shots: list[_Shot] = field(default_factory=list)  # one for each picture
    trail: Any = None


def draw_race(race: Race, *, size: int = 260, frames: int = _FRAMES, columns: int | None = None) -> list[Any]:
    """Run a race from its start and draw it: small pictures, one after the other, at most ``frames`` of them.

    Each lane's map has about ``size`` pixels on its longer side.
    """
    require()
    at_least(16, size, "a picture's size is a whole number of pixels", 4_000)
    at_least(2, frames, "a film has at least two pictures", 2_000)
    every = max(1, -(-race.rehearse(_MOST_TICKS) // (frames - 1)))
    step = max(1, math.ceil(max(race.world.shape) / size))  # cells that share a pixel
    reels = [_Reel(_title(lane)) for lane in race.lanes]
    for number in range(frames):
        if number:
            race.tick(every)
        for reel, lane in zip(reels, race.lanes, strict=True):
            reel.shots.append(_shot(lane, step))
        if race.done:
            break
    for reel, lane in zip(reels, race.lanes, strict=True):
        reel.trail = lane.agent.trail() if lane.agent is not None else np.zeros((0, 2), np.int64)
    columns = columns or min(len(reels), 3 if len(reels) != 4 else 4)
    feet = [f"tick {number * every:,}, {_allowed(race.budget)}" for number in range(len(reels[0].shots))]
    return _drawn(race, reels, feet, step, size, columns)


def save_race(race: Race, path: str | Path, **options: Any) -> int:
    """Draw a race into a GIF file, whole or not at all; returns how many pictures it has."""
    pictures = draw_race(race, **options)
    save_film(pictures, path, milliseconds=70, last=_LAST)
    return len(pictures)


def _allowed(budget: Budget) -> str:
    """What may be planned per move, in words."""
    if budget.milliseconds is not None:
        return f"{budget} of planning a move"
    return "any number of states a move" if budget.expansions is None else f"{some(budget.expansions, 'state')} a move"


def _title(lane: Lane) -> str:
    """The name of an algorithm, with the parameters that are not what they would be anyway."""
    algorithm = lane.spec.algorithm
    usual = algorithm.settle({})
    said = [f"{name}={_plain(value)}" for name, value in lane.spec.parameters.items() if value != usual[name]]
    return algorithm.name + (":" + ",".join(said) if said else "")


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _shot(lane: Lane, step: int) -> _Shot:
    seen, above = lane.scenery()
    most = float(above.max(initial=0.0))
    heat = (above * (255.0 / most) if most > 0 else above).astype(np.uint8)
    agent = lane.agent
    if agent is None or lane.error is not None:
        return _Shot(_coarse(seen, step), _coarse(heat, step), 0, "cannot race here")
    words = {
        "reached": f"there: cost {agent.cost:.0f}",
        "unreachable": "there is no way",
        "move-limit": "gave up",
    }.get(lane.status, f"cost {agent.cost:.0f}")
    return _Shot(_coarse(seen, step), _coarse(heat, step), agent.moves + 1, f"{words}, {agent.expansions:,} states")


def _coarse(cells: np.ndarray, step: int) -> np.ndarray:
    """The largest of each block of cells that share a pixel."""
    if step == 1:
        return cells
    rows, cols = (-(-side // step) * step for side in cells.shape)
    padded = np.zeros((rows, cols), cells.dtype)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    return padded.reshape(rows // step, step, cols // step, step).max(axis=(1, 3))


# --- drawing ---------------------------------------------------------------------------------------------------------


def _mixed(one: Any, other: Any, share: float) -> np.ndarray:
    return np.asarray(one, float) * (1 - share) + np.asarray(other, float) * share


def _drawn(race: Race, reels: list[_Reel], feet: list[str], step: int, size: int, columns: int) -> list[Any]:
    Image, ImageDraw, _ = require()
    base = colours_of(race.world)[::step, ::step].astype(float)
    free = np.logical_not(_coarse(~race.world.free, step)) | race.world.free[::step, ::step]
    rows, cols = free.shape
    zoom = max(1, size // max(rows, cols))
    width, height = cols * zoom, rows * zoom
    wide, high = width + _MARGIN, height + _HEAD
    lines = -(-len(reels) // columns)
    whole = (columns * wide + _MARGIN, lines * high + _FOOT)
    head, small = font_of(15 * _FINE), font_of(12 * _FINE)
    scale = _FINE * zoom / step

    def spot(point: Any) -> tuple[float, float]:
        return (float(point[1]) + 0.5) * scale, (float(point[0]) + 0.5) * scale

    pictures = []
    for number, foot in enumerate(feet):
        canvas = Image.new("RGB", (whole[0] * _FINE, whole[1] * _FINE), PAPER)
        pen = ImageDraw.Draw(canvas)
        for k, reel in enumerate(reels):
            colour, shot = COLOURS[k % len(COLOURS)], reel.shots[number]
            cells = base.copy()
            cells[free & (shot.seen == 2)] = _mixed(FREE, colour, 0.30)
            cells[free & (shot.seen == 1)] = _mixed(FREE, colour, 0.55)
            warm = np.where(free & (shot.heat > 0), 0.25 + 0.55 * (shot.heat / 255.0), 0.0)[:, :, None]
            cells += warm * (np.asarray(_WARM, float) - cells)
            panel = Image.fromarray(cells.astype(np.uint8))
            panel = panel.resize((width * _FINE, height * _FINE), Image.Resampling.NEAREST)
            brush = ImageDraw.Draw(panel)
            path = reel.trail[: shot.walked]
            if len(path) > 1:
                thick = round(max(2.0, min(zoom * 0.45, 4.0)) * _FINE)
                brush.line([spot(point) for point in path], fill=colour, width=thick, joint="curve")
            reach = max(3.5, min(zoom * 0.45, 7.0)) * _FINE
            mark_at(brush, spot(race.goal), reach, hollow=True)
            if len(path):
                mark_at(brush, spot(path[-1]), reach, hollow=False)
            x, y = (_MARGIN + k % columns * wide) * _FINE, (k // columns * high) * _FINE
            pen.rectangle((x, y + 9 * _FINE, x + 11 * _FINE, y + 20 * _FINE), fill=colour)
            pen.text((x + 17 * _FINE, y + 15 * _FINE), reel.name, fill=INK, font=head, anchor="lm")
            pen.text((x, y + 34 * _FINE), shot.words, fill=INK, font=small, anchor="lm")
            canvas.paste(panel, (x, y + _HEAD * _FINE))
        pen.text((_MARGIN * _FINE, (whole[1] - _FOOT / 2) * _FINE), foot, fill=INK, font=small, anchor="lm")
        pictures.append(canvas.resize(whole, Image.Resampling.BOX))
    # One palette for all, so that what stands still is the same in every picture, and takes no room.
    sample = Image.new("RGB", (whole[0], 2 * whole[1]))
    sample.paste(pictures[len(pictures) // 2], (0, 0))
    sample.paste(pictures[-1], (0, whole[1]))
    palette = sample.quantize(96)
    return [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
