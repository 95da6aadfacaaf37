"""Pictures of maps with paths and with crowds, and of how algorithms trade search for path quality. Needs Pillow.

Everything is drawn at twice its size and then halved: lines come out smooth, and cells stay crisp because they are a
whole number of pixels. Colours are those of Okabe and Ito, which people with any kind of colour vision can tell
apart; where they run out, lines are dashed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .atomic import replaced
from .errors import Error, MoveError, WorldError, at_least

if TYPE_CHECKING:
    from .worlds.grid import Grid

__all__ = [
    "colours_of",
    "draw",
    "draw_crowd",
    "draw_film",
    "draw_panels",
    "draw_regions",
    "font_of",
    "mark_at",
    "require",
    "save",
    "save_film",
    "scatter",
]

WALL = (58, 61, 68)
FREE = (246, 245, 241)
DEAR = (150, 128, 96)  # the dearest terrain
PAPER = (255, 255, 255)
INK = (34, 34, 34)
FAINT = (222, 222, 222)
COLOURS = ((0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233))
TINTS = (
    (166, 206, 227), (253, 208, 142), (178, 223, 169), (244, 177, 174),
    (212, 196, 226), (250, 241, 158), (222, 196, 166), (205, 225, 219),
)  # fmt: skip
UNIT = (20, 33, 61)
BUSY = (230, 130, 40)  # where most have been
_CROWDED = ((58, 134, 255), (32, 90, 200), (22, 60, 150), UNIT)  # one unit in a pixel, two, four, eight or more
_DASHES = ((1.0, 0.0), (2.5, 1.5), (1.0, 1.0))  # drawn and left out, in line widths
_LONG = 5_000  # moves of a walk that are drawn one after the other
_FINE = 2  # how much larger everything is drawn at first

Box = tuple[float, float, float, float]


def require() -> Any:
    """Pillow's modules, or an error that names the remedy."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise Error("pictures need Pillow: pip install 'timebound[images]'") from None
    return Image, ImageDraw, ImageFont


def save(image: Any, path: str | Path) -> None:
    """Write a PNG file, whole or not at all."""
    if Path(path).suffix.lower() != ".png":
        raise Error(f"pictures are .png files, so the name ends in .png, not {path}")
    with replaced(path) as beside:
        image.save(beside, format="PNG")


# ------------------------------------------------------------------------------------------------ maps


def draw(
    world: Grid, paths: Mapping[str, Any] | None = None, *, start: Any = None, goal: Any = None, size: int = 960
) -> Any:
    """A picture of a grid, with named paths (n x 2 arrays of row, col) and a legend below that tells their costs.

    Its longer side is about ``size`` pixels: small maps are enlarged by whole numbers, large ones shrunk. Earlier
    paths are drawn wider, so that where paths share cells all of them can be seen. The start is a disc, the goal a
    ring.
    """
    Image, ImageDraw, _ = require()
    at_least(16, size, "a picture's size is a whole number of pixels", 20_000)
    width, height, zoom = _scaled(world, size)
    named = {name: np.asarray(path).reshape(-1, 2) for name, path in (paths or {}).items()}
    rows, cols = world.shape
    ground = Image.fromarray(colours_of(world))
    way = Image.Resampling.NEAREST if zoom >= 1 else Image.Resampling.BOX
    canvas = ground.resize((width * _FINE, height * _FINE), way)
    pen = ImageDraw.Draw(canvas)
    thin = max(4.0 if len(named) == 1 else 3.0, min(zoom / 3, size / 200)) * _FINE

    def spot(point: Any) -> tuple[float, float]:
        return (float(point[1]) + 0.5) * width * _FINE / cols, (float(point[0]) + 0.5) * height * _FINE / rows

    for k, (_, path) in enumerate(named.items()):
        wide = thin + 2.0 * _FINE * min(len(named) - 1 - k, 5)
        _walk(pen, path, spot, _style(k), wide)
    reach = max(8.0, min(zoom * 0.4, size / 60)) * _FINE
    for mark, hollow in ((start, False), (goal, True)):
        if mark is not None:
            mark_at(pen, spot(mark), reach, hollow)
    picture = canvas.resize((width, height), Image.Resampling.BOX)
    if not named and start is None and goal is None:
        return picture
    entries = [(name, _cost_words(world, path)) for name, path in named.items()]
    strip = _legend(entries, max(width, 320), start is not None, goal is not None)
    whole = Image.new("RGB", (max(width, strip.width), height + strip.height), PAPER)
    whole.paste(picture, ((whole.width - width) // 2, 0))
    whole.paste(strip, (0, height))
    return whole


def draw_panels(
    world: Grid, panels: Sequence[tuple[str, str, Any]], *, start: Any, goal: Any, columns: int = 3, size: int = 520
) -> Any:
    """The same map side by side, ``columns`` in a row: each with a title, a line of words, and one path in its colour.

    Each map's longer side is about ``size`` pixels.
    """
    Image, ImageDraw, _ = require()
    margin, head = 14, 54
    maps = []
    for k, (_, _, path) in enumerate(panels):
        width, height, zoom = _scaled(world, size)
        way = Image.Resampling.NEAREST if zoom >= 1 else Image.Resampling.BOX
        canvas = Image.fromarray(colours_of(world)).resize((width * _FINE, height * _FINE), way)
        pen = ImageDraw.Draw(canvas)
        down, right = height * _FINE / world.shape[0], width * _FINE / world.shape[1]

        def spot(point: Any, down: float = down, right: float = right) -> tuple[float, float]:
            return (float(point[1]) + 0.5) * right, (float(point[0]) + 0.5) * down

        _walk(pen, np.asarray(path).reshape(-1, 2), spot, (COLOURS[k % len(COLOURS)], _DASHES[0]), 3.5 * _FINE)
        for mark, hollow in ((start, False), (goal, True)):
            mark_at(pen, spot(mark), 6.0 * _FINE, hollow)
        maps.append(canvas.resize((width, height), Image.Resampling.BOX))
    wide, high = maps[0].width + margin, maps[0].height + head
    rows = -(-len(panels) // columns)
    whole = Image.new("RGB", (min(columns, len(panels)) * wide + margin, rows * high + margin), PAPER)
    pen = ImageDraw.Draw(whole)
    for k, ((title, words, _), picture) in enumerate(zip(panels, maps, strict=True)):
        x, y = margin + k % columns * wide, k // columns * high
        pen.rectangle((x, y + 14, x + 14, y + 28), fill=COLOURS[k % len(COLOURS)])
        pen.text((x + 22, y + 21), title, fill=INK, font=font_of(17), anchor="lm")
        pen.text((x, y + 42), words, fill=INK, font=font_of(13), anchor="lm")
        whole.paste(picture, (x, y + head))
    return whole


def draw_regions(regions: np.ndarray, *, size: int = 1600) -> Any:
    """A picture of the regions of a grid (``tb.regions``): neighbours differ in colour, walls are dark.

    Its longer side is about ``size`` pixels; where a cell has three of them or more, lines part the regions.
    """
    Image, _, _ = require()
    at_least(16, size, "a picture's size is a whole number of pixels", 20_000)
    tints = np.array([WALL, *TINTS], np.uint8)
    colour = np.append(colouring(regions) % len(TINTS), -1)  # the last one is for -1, the walls
    picture = tints[colour[regions] + 1]
    rows, cols = regions.shape
    zoom = size // max(rows, cols)
    if zoom < 1:
        scale = size / max(rows, cols)
        small = (max(1, round(cols * scale)), max(1, round(rows * scale)))
        return Image.fromarray(picture).resize(small, Image.Resampling.BOX)
    picture = picture.repeat(zoom, 0).repeat(zoom, 1)
    if zoom >= 3:
        for axis in (0, 1):
            here, there = np.moveaxis(regions, axis, 0)[1:], np.moveaxis(regions, axis, 0)[:-1]
            parted = ((here != there) & (here >= 0) & (there >= 0)).repeat(zoom, 1)
            lines = np.moveaxis(picture, axis, 0)[zoom::zoom]
            lines[parted] = lines[parted] // 2
    return Image.fromarray(picture)


def colouring(regions: np.ndarray) -> np.ndarray:
    """A colour, counted from 0, for each region of a map, so that no two regions with cells side by side share one.

    In rounds: whoever comes first among its neighbours, in a random order that is always the same, takes the first
    colour that none of them has.

    >>> colouring(np.array([[0, 0, 1], [2, 2, 1]])).tolist()
    [2, 0, 1]
    """
    count = int(regions.max(initial=-1)) + 1
    keys = [np.empty(0, np.int64)]
    for here, there in ((regions[1:], regions[:-1]), (regions[:, 1:], regions[:, :-1])):
        beside = (here != there) & (here >= 0) & (there >= 0)
        one, other = here[beside].astype(np.int64), there[beside].astype(np.int64)
        keys += [np.unique(one * count + other), np.unique(other * count + one)]
    one, other = np.divmod(np.unique(np.concatenate(keys)), max(count, 1))
    place = np.random.default_rng(0).permutation(count)
    colour = np.full(count, -1, np.int64)
    while (colour < 0).any():
        # Those before whom none of their neighbours still waits.
        waits = (colour[one] < 0) & (colour[other] < 0)
        after = np.zeros(count, bool)
        after[one[waits & (place[other] < place[one])]] = True
        chosen = (colour < 0) & ~after
        taken = np.zeros(count, np.int64)
        has = chosen[one] & (colour[other] >= 0)
        np.bitwise_or.at(taken, one[has], 1 << np.minimum(colour[other[has]], 62))
        free = ~taken & (taken + 1)  # its lowest bit that is 0
        colour[chosen] = np.round(np.log2(free[chosen].astype(float))).astype(np.int64)
    return colour


def colours_of(world: Grid) -> np.ndarray:
    """The cells' colours, rows x cols x 3; terrain is the darker the dearer, by the logarithm of its cost."""
    free, costs = world.free, world.costs
    shade = np.zeros(world.shape)
    if free.any():
        logs = np.log(np.where(free, costs, 1.0))
        least, most = float(logs[free].min()), float(logs[free].max())
        if most > least:
            shade = (logs - least) / (most - least)
    light = np.asarray(FREE) + shade[:, :, None] * (np.asarray(DEAR, float) - FREE)
    return np.where(free[:, :, None], light, np.asarray(WALL)).astype(np.uint8)


def _cost_words(world: Grid, path: np.ndarray) -> str:
    from .episode import validate

    try:
        return f"cost {validate(world, path).cost:.1f}" if len(path) else "no path"
    except MoveError:
        return "walked before the map changed"


def mark_at(pen: Any, spot: tuple[float, float], reach: float, hollow: bool) -> None:
    """A disc, or a ring if it is ``hollow``, with a light edge, in a picture that is drawn at twice its size."""
    x, y = spot
    edge = reach + 2 * _FINE
    pen.ellipse((x - edge, y - edge, x + edge, y + edge), fill=PAPER)
    pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=INK)
    if hollow:
        hole = reach * 0.5
        pen.ellipse((x - hole, y - hole, x + hole, y + hole), fill=PAPER)


def _style(k: int) -> tuple[tuple[int, int, int], tuple[float, float]]:
    return COLOURS[k % len(COLOURS)], _DASHES[k // len(COLOURS) % len(_DASHES)]


def _walk(
    pen: Any, path: np.ndarray, spot: Callable[[Any], tuple[float, float]], style: tuple[Any, Any], width: float
) -> None:
    """Draw a walk. One of many moves is to and fro over the same cells: each of its steps is drawn once, undashed."""
    if len(path) <= _LONG:
        _line(pen, [spot(point) for point in path], style, width)
        return
    steps = np.sort(np.concatenate([_keys(path[:-1])[:, None], _keys(path[1:])[:, None]], axis=1), axis=1)
    for here, there in np.unique(steps, axis=0).tolist():
        pen.line([spot(divmod(here, 1 << 32)), spot(divmod(there, 1 << 32))], fill=style[0], width=max(1, round(width)))


def _keys(points: np.ndarray) -> np.ndarray:
    return np.asarray((points[:, 0].astype(np.int64) << 32) + points[:, 1])


def _line(pen: Any, spots: list[tuple[float, float]], style: tuple[Any, tuple[float, float]], width: float) -> None:
    colour, (on, off) = style
    if len(spots) < 2:
        return
    strokes = [spots] if off == 0 else list(_dashes(spots, on * width, off * width))
    for stroke in strokes:
        if len(stroke) > 1:
            pen.line(stroke, fill=colour, width=max(1, round(width)), joint="curve")
    radius = width / 2
    if off == 0:
        for x, y in (spots[0], spots[-1]):
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _dashes(spots: list[tuple[float, float]], on: float, off: float) -> Iterator[list[tuple[float, float]]]:
    """The drawn parts of a dashed line that follows the spots."""
    drawing, left = True, on
    stroke = [spots[0]]
    for (x, y), (u, v) in pairwise(spots):
        length, walked = math.hypot(u - x, v - y), 0.0
        while length - walked > left:
            walked += left
            turn = (x + (u - x) * walked / length, y + (v - y) * walked / length)
            if drawing:
                yield [*stroke, turn]
            stroke = [turn]
            drawing = not drawing
            left = on if drawing else off
        left -= length - walked
        stroke.append((u, v))
    if drawing:
        yield stroke


def _legend(entries: Sequence[tuple[str, str]], width: int, start: bool, goal: bool) -> Any:
    """A strip with a sample of each line, its name and its cost, in columns as wide as the longest entry."""
    Image, ImageDraw, _ = require()
    font = font_of(15 * _FINE)
    sample, gap, row = 30 * _FINE, 8 * _FINE, 25 * _FINE
    margin = 12 * _FINE
    words = [f"{name}  {cost}".strip() for name, cost in entries]
    marks = [("start", False)] * start + [("goal", True)] * goal
    longest = max((font.getlength(text) for text in [*words, *(name for name, _ in marks)]), default=0)
    column = sample + gap + longest + 2 * gap
    room = width * _FINE - 2 * margin
    per_row = max(1, int((room + 2 * gap) // column))
    lines = -(-(len(words) + len(marks)) // per_row)
    # A name that is wider than the map makes the strip, and so the picture, wider.
    canvas = Image.new(
        "RGB", (max(width * _FINE, round(column + 2 * margin)), lines * row + margin), PAPER
    )  # fmt: skip
    pen = ImageDraw.Draw(canvas)
    for k in range(len(marks) + len(words)):
        x = margin + k % per_row * column
        y = margin / 2 + (k // per_row + 0.5) * row
        if k < len(marks):
            text = marks[k][0]
            mark_at(pen, (x + sample / 2, y), 6.0 * _FINE, marks[k][1])
        else:
            text = words[k - len(marks)]
            _line(pen, [(x, y), (x + sample, y)], _style(k - len(marks)), 4.0 * _FINE)
        pen.text((x + sample + gap, y), text, fill=INK, font=font, anchor="lm")
    return canvas.resize((canvas.width // _FINE, canvas.height // _FINE), Image.Resampling.BOX)


def font_of(size: int) -> Any:
    """Letters of so many pixels."""
    _, _, ImageFont = require()
    try:
        return ImageFont.load_default(size)
    except (TypeError, OSError, ImportError):  # Pillow 10.0, or one without FreeType: small letters, but letters
        return ImageFont.load_default()


# ---------------------------------------------------------------------------------------------- crowds


def draw_crowd(
    world: Grid,
    places: np.ndarray,
    *,
    visits: np.ndarray | None = None,
    trails: Sequence[np.ndarray] = (),
    caption: str = "",
    size: int = 960,
) -> Any:
    """A picture of a grid with units at ``places`` (n x 2), each a dot.

    ``visits`` (how often someone was in each cell) warms the ground, by its logarithm; ``trails`` are ways to draw as
    lines, and a ring marks where each of them ends.
    """
    Image, ImageDraw, _ = require()
    at_least(16, size, "a picture's size is a whole number of pixels", 20_000)
    width, height, zoom = _scaled(world, size)
    ground = colours_of(world).astype(float)
    if visits is not None and visits.max(initial=0) > 0:
        heat = np.log1p(visits) / np.log1p(visits.max())
        ground += np.where(world.free, 0.8 * heat, 0.0)[:, :, None] * (np.asarray(BUSY, float) - ground)
    way = Image.Resampling.NEAREST if zoom >= 1 else Image.Resampling.BOX
    canvas = Image.fromarray(ground.astype(np.uint8)).resize((width * _FINE, height * _FINE), way)
    pen = ImageDraw.Draw(canvas)
    scale = np.array([width * _FINE / world.shape[1], height * _FINE / world.shape[0]])
    for k, trail in enumerate(trails):
        spots = [(x, y) for x, y in ((np.asarray(trail)[:, ::-1] + 0.5) * scale).tolist()]
        _line(pen, spots, _style(k), max(2.0, min(zoom / 4, 5.0)) * _FINE)
    reach = max(0.75, min(zoom * 0.36, 8.0)) * _FINE
    for x, y in ((np.asarray(places).reshape(-1, 2)[:, ::-1] + 0.5) * scale).tolist():
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=UNIT)
    for k, trail in enumerate(trails):
        x, y = ((np.asarray(trail)[-1, ::-1] + 0.5) * scale).tolist()
        ring = reach + 4 * _FINE
        pen.ellipse((x - ring, y - ring, x + ring, y + ring), outline=_style(k)[0], width=2 * _FINE)
    picture = canvas.resize((width, height), Image.Resampling.BOX)
    if not caption:
        return picture
    font = font_of(15 * _FINE)
    wide = max(width, math.ceil(font.getlength(caption) / _FINE) + 24)
    strip = Image.new("RGB", (wide * _FINE, 34 * _FINE), PAPER)
    ImageDraw.Draw(strip).text((12 * _FINE, 17 * _FINE), caption, fill=INK, font=font, anchor="lm")
    whole = Image.new("RGB", (wide, height + 34), PAPER)
    whole.paste(picture, ((wide - width) // 2, 0))
    whole.paste(strip.resize((wide, 34), Image.Resampling.BOX), (0, height))
    return whole


def draw_film(world: Grid, film: Sequence[np.ndarray], *, size: int = 512) -> list[Any]:
    """Small pictures of a grid, one for each entry of ``film``, in which every unit is a spot; see ``save_film``."""
    Image, _, _ = require()
    at_least(16, size, "a picture's size is a whole number of pixels", 20_000)
    width, height, zoom = _scaled(world, size)
    way = Image.Resampling.NEAREST if zoom >= 1 else Image.Resampling.BOX
    ground = Image.fromarray(colours_of(world)).resize((width, height), way).quantize(32)
    colours = (ground.getpalette() or [])[: 3 * 32]
    colours += [0] * (3 * 32 - len(colours)) + [part for colour in _CROWDED for part in colour]
    base = np.asarray(ground)
    # A spot is a cell, but for a line between cells where they are large enough to show one.
    side = max(1, math.floor(zoom) - (zoom >= 3))
    pictures = []
    for places in film:
        units = np.zeros((height + side, width + side), np.int64)
        corner = np.asarray(places) * (height / world.shape[0], width / world.shape[1])
        rows, cols = corner.astype(np.int64).T
        for below in range(side):
            for beside in range(side):
                np.add.at(units, (rows + below, cols + beside), 1)
        units = units[:height, :width]
        shade = 32 + np.minimum(np.log2(np.maximum(units, 1)).astype(np.int64), len(_CROWDED) - 1)
        picture = Image.fromarray(np.where(units > 0, shade, base).astype(np.uint8))
        picture.putpalette(colours)
        pictures.append(picture)
    return pictures


def save_film(pictures: Sequence[Any], path: str | Path, *, milliseconds: int = 60, last: int | None = None) -> None:
    """Write pictures as a GIF file that shows each of them for so long, the ``last`` longer; whole or not at all."""
    if Path(path).suffix.lower() != ".gif":
        raise Error(f"films are .gif files, so the name ends in .gif, not {path}")
    if not pictures:
        raise Error("there is nothing to show: a film needs at least one picture")
    times = [milliseconds] * (len(pictures) - 1) + [last or milliseconds]
    with replaced(path) as beside:
        pictures[0].save(beside, format="GIF", save_all=True, append_images=list(pictures[1:]), duration=times, loop=0)


def _scaled(world: Grid, size: int) -> tuple[int, int, float]:
    """How wide and high a picture of a grid is, and what it is enlarged by: a whole number, or less than 1."""
    if not hasattr(world, "costs"):
        raise WorldError(f"only grids can be drawn, not {type(world).__name__}; tb.Grid(array) makes one of an array")
    rows, cols = world.shape
    zoom = size / max(rows, cols)
    if zoom >= 1:
        zoom = float(math.floor(zoom))
    return max(1, round(cols * zoom)), max(1, round(rows * zoom)), zoom


# ---------------------------------------------------------------------------------------------- charts


def scatter(
    points: Sequence[tuple[str, str, float, float]],
    *,
    x_title: str = "states expanded per move, mean",
    y_title: str = "suboptimality, mean",
    size: tuple[int, int] = (960, 640),
) -> Any:
    """A trade-off chart of (series, note, x, y): x by its logarithm; the points of a series are joined.

    Points are labelled with their note, and a legend names the series; without notes the points bear the names. A
    label stands where it covers nothing else, with a thin line to its point if that is not beside it.
    """
    Image, ImageDraw, _ = require()
    if not points:
        raise Error("there is nothing to draw: no problem was solved with a known optimum")
    width, height = size[0] * _FINE, size[1] * _FINE
    canvas = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(canvas)
    font, small = font_of(15 * _FINE), font_of(13 * _FINE)
    names = list(dict.fromkeys(series for series, *_ in points))
    noted = any(note for _, note, *_ in points)
    strip = _legend([(name, "") for name in names], size[0], False, False) if noted else None
    left, top, right, bottom = 84 * _FINE, 44 * _FINE, width - 28 * _FINE, height - 64 * _FINE

    xs = [max(x, 1e-3) for _, _, x, _ in points]
    ys = [y if y < 0.999 else max(y, 1.0) for *_, y in points]  # listed optima are rounded
    x_low, x_high = 10.0 ** math.floor(math.log10(min(xs)) - 0.05), 10.0 ** math.ceil(math.log10(max(xs)) + 0.05)
    tall = max(ys) > 10
    y_ticks = _log_ticks(min(1.0, *ys), max(ys)) if tall else _ticks(min(1.0, *ys), max(*ys, 1.05))
    least = min(1.0, *ys)
    y_ticks = [tick for tick in y_ticks if tick >= least * 0.9999] or y_ticks
    y_high = y_ticks[-1]
    # Some room below, so that optimal points do not lie on the axis.
    y_low = least / (y_high / least) ** 0.08 if tall else least - 0.08 * (y_high - least)

    def across(x: float) -> float:
        return left + (math.log10(x) - math.log10(x_low)) / (math.log10(x_high) - math.log10(x_low)) * (right - left)

    def up(y: float) -> float:
        part = (math.log(y / y_low) / math.log(y_high / y_low)) if tall else (y - y_low) / (y_high - y_low)
        return bottom - part * (bottom - top)

    for exponent in range(round(math.log10(x_low)), round(math.log10(x_high)) + 1):
        for digit in range(1, 10):
            x = digit * 10.0**exponent
            if x > x_high * 1.001:
                break
            at = across(x)
            if digit == 1:
                pen.line((at, top, at, bottom), fill=FAINT, width=_FINE)
                pen.text((at, bottom + 10 * _FINE), f"{x:,.6g}", fill=INK, font=small, anchor="ma")
            pen.line((at, bottom, at, bottom + (6 if digit == 1 else 3) * _FINE), fill=INK, width=_FINE)
    digits = max((len(f"{tick:.6g}".partition(".")[2]) for tick in y_ticks), default=0)
    for tick in y_ticks:
        at = up(tick)
        pen.line((left, at, right, at), fill=FAINT, width=_FINE)
        pen.line((left - 6 * _FINE, at, left, at), fill=INK, width=_FINE)
        words = f"{tick:g}" if tall else f"{tick:.{digits}f}"
        pen.text((left - 10 * _FINE, at), words, fill=INK, font=small, anchor="rm")
    pen.line((left, top, left, bottom, right, bottom), fill=INK, width=_FINE)
    pen.text(((left + right) / 2, height - 14 * _FINE), x_title, fill=INK, font=font, anchor="ms")
    pen.text((14 * _FINE, 14 * _FINE), y_title, fill=INK, font=font, anchor="lt")

    spots = [(across(x), up(y)) for x, y in zip(xs, ys, strict=True)]
    taken: list[Box] = []
    for name in names:
        own = [spot for (series, *_), spot in zip(points, spots, strict=True) if series == name]
        _line(pen, own, _style(names.index(name)), 1.5 * _FINE)
        taken += [_around(spot, 2.0 * _FINE) for pair in pairwise(own) for spot in _along(*pair)]
    dot = 6 * _FINE
    taken += [_around(spot, dot) for spot in spots]
    frame = (left + 4 * _FINE, top - 18 * _FINE, right + 20 * _FINE, bottom - 2 * _FINE)
    labels = []
    for (series, note, *_), spot in zip(points, spots, strict=True):
        text = note if noted else series
        box = _place(spot, font.getlength(text), 17 * _FINE, dot + 4 * _FINE, taken, frame)
        taken.append(box)
        labels.append((text, box, spot))
    for text, box, (x, y) in labels:
        near = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
        if math.hypot(near[0] - x, near[1] - y) > 3 * dot:
            pen.line((x, y, *near), fill=(150, 150, 150), width=_FINE)
        pen.text((box[0], (box[1] + box[3]) / 2), text, fill=INK, font=font, anchor="lm")
    for (series, *_), (x, y) in zip(points, spots, strict=True):
        colour, dashes = _style(names.index(series))
        pen.ellipse((x - dot, y - dot, x + dot, y + dot), fill=colour, outline=PAPER, width=_FINE)
        if dashes[1]:
            pen.ellipse((x - dot / 2.5, y - dot / 2.5, x + dot / 2.5, y + dot / 2.5), fill=PAPER)
    chart = canvas.resize(size, Image.Resampling.BOX)
    if strip is None:
        return chart
    whole = Image.new("RGB", (max(size[0], strip.width), size[1] + strip.height), PAPER)
    whole.paste(chart, (0, 0))
    whole.paste(strip, (0, size[1]))
    return whole


def _place(spot: tuple[float, float], wide: float, tall: float, away: float, taken: list[Box], frame: Box) -> Box:
    """Where a label goes: the nearest place around its point that is inside the frame and covers nothing."""
    x, y = spot
    best: tuple[float, Box] | None = None
    for ring in range(7):
        far = away + ring * tall * 0.9
        for turn in range(16 if ring else 8):
            angle = 2 * math.pi * turn / (16 if ring else 8)
            dx, dy = math.cos(angle), -math.sin(angle)
            middle_x, middle_y = x + dx * (far + wide / 2), y + dy * (far + tall / 2)
            box = (middle_x - wide / 2, middle_y - tall / 2, middle_x + wide / 2, middle_y + tall / 2)
            outside = sum(
                max(0.0, a) for a in (frame[0] - box[0], frame[1] - box[1], box[2] - frame[2], box[3] - frame[3])
            )
            covered = sum(_overlap(box, other) for other in taken)
            badness = covered + 10 * outside * tall
            if badness == 0:
                return box
            if best is None or badness < best[0]:
                best = badness, box
    assert best is not None
    return best[1]


def _along(here: tuple[float, float], there: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Spots on a line, so close that no label fits between them."""
    steps = 1 + round(math.dist(here, there) / (8 * _FINE))
    for k in range(steps):
        yield here[0] + (there[0] - here[0]) * k / steps, here[1] + (there[1] - here[1]) * k / steps


def _around(spot: tuple[float, float], reach: float) -> Box:
    return spot[0] - reach, spot[1] - reach, spot[0] + reach, spot[1] + reach


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from below ``low`` to above ``high``, some five of them."""
    rough = max(high - low, 1e-3) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20 ... from below ``low`` to above ``high``."""
    every = [digit * 10.0**exponent for exponent in range(-3, 13) for digit in (1.0, 2.0, 5.0)]
    first = max((k for k, tick in enumerate(every) if tick <= low), default=0)
    last = min((k for k, tick in enumerate(every) if tick >= high), default=len(every) - 1)
    return every[first : last + 1]
