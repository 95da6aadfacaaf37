"""Plots as SVG: lines and points on linear or logarithmic axes. Text takes the colour of the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..text import in_html as escape

__all__ = ["Chart", "Series"]

WIDTH, HEIGHT = 480, 320
LEFT, RIGHT, TOP, BOTTOM = 68, 14, 30, 44
# Told apart by people who see few colours, and readable on white and on black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8a6fdf", "#808080")
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")
_OWN_COLOURS = (
    "<style>svg{color:#1b1f24}@media (prefers-color-scheme:dark){svg{color:#e6edf3}}"
    "@media print{svg{color:#000}}</style>"
)
_CHARACTER = 6.3  # width of a character of the legend


@dataclass(frozen=True)
class Series:
    """Points that belong together. ``line`` joins them; ``faint`` makes them small, for clouds of points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    line: bool = True
    dashed: bool = False
    faint: bool = False
    like: int | None = None  # draw in the colour and shape of that number


@dataclass(frozen=True)
class Chart:
    """A plot.

    >>> chart = Chart("cost", "k", "cost", [Series("tba*", [1, 10], [4.0, 2.0])], log_x=True)
    >>> chart.svg().startswith("<svg")
    True
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    x_ticks: Sequence[float] | None = None  # only these, and no numbers between
    diagonal: bool = False  # draw x = y
    note: str = ""

    def svg(self, *, alone: bool = False) -> str:
        """The plot, to stand within a page, whose colour of text it takes; ``alone`` it brings its own."""
        drawn = [
            (number if one.like is None else one.like, one, points)
            for number, one in enumerate(self.series)
            if (points := self._points(one))
        ]
        everything = [point for _, _, points in drawn for point in points]
        legend, rows = self._legend([(number, one) for number, one, _ in drawn if one.name])
        height = HEIGHT + 18 * rows
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{escape(self.title)}" font-family="system-ui, sans-serif" font-size="12" '
            'fill="currentColor">',
            f"<title>{escape(self.title)}</title>",
            _OWN_COLOURS if alone else "",
            f'<text x="{WIDTH / 2:.0f}" y="17" text-anchor="middle" font-size="13.5" font-weight="600">'
            f"{escape(self.title)}</text>",
        ]
        if not everything:
            parts.append(f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT / 2:.0f}" text-anchor="middle">nothing to show</text>')
            return "".join([*parts, "</svg>"])
        xs, ys = _Axis.of([x for x, _ in everything], self.log_x), _Axis.of([y for _, y in everything], self.log_y)
        if self.diagonal:
            xs = ys = _Axis.of([value for point in everything for value in point], self.log_x)
        parts += self._frame(xs, ys)
        for number, one, points in drawn:
            colour = COLOURS[number % len(COLOURS)]
            shape = SHAPES[number % len(SHAPES)]
            places = [(_x(xs.place(x)), _y(ys.place(y))) for x, y in points]
            if one.line and len(places) > 1:
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
                dash = ' stroke-dasharray="5 4"' if one.dashed else ""
                parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
            size, opacity = (1.8, 0.5) if one.faint else (3.4, 1.0)
            marks = "".join(_mark(shape, x, y, size, one.dashed) for x, y in places)
            parts.append(f'<g fill="{colour}" stroke="{colour}" opacity="{opacity}">{marks}</g>')
        return "".join([*parts, legend, "</svg>"])

    def _points(self, one: Series) -> list[tuple[float, float]]:
        points = []
        for x, y in zip(one.x, one.y, strict=True):
            if x is None or y is None or not (math.isfinite(x) and math.isfinite(y)):
                continue
            if (self.log_x and x <= 0) or (self.log_y and y <= 0):
                continue
            points.append((float(x), float(y)))
        return points

    def _frame(self, xs: _Axis, ys: _Axis) -> list[str]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        parts = ['<g stroke="currentColor" stroke-opacity="0.16">']
        x_ticks = self.x_ticks if self.x_ticks is not None else xs.ticks()
        for value in x_ticks:
            x = _x(xs.place(value))
            parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        for value in ys.ticks():
            y = _y(ys.place(value))
            parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append("</g>")
        if self.diagonal:
            low, high = xs.low, xs.high
            parts.append(
                f'<line x1="{_x(xs.place(low)):.1f}" y1="{_y(ys.place(low)):.1f}" x2="{_x(xs.place(high)):.1f}" '
                f'y2="{_y(ys.place(high)):.1f}" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="3 3"/>'
            )
        parts.append(
            f'<path d="M{LEFT},{TOP}V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity="0.6"/>'
        )
        free = -math.inf
        for value in x_ticks:
            x, text = _x(xs.place(value)), _short(value)
            half = _CHARACTER * len(text) / 2
            if x - half > free + 3:
                parts.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{text}</text>')
                free = x + half
        for value in ys.ticks():
            y = _y(ys.place(value))
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(value)}</text>')
        middle = (LEFT + right) / 2
        parts.append(f'<text x="{middle:.0f}" y="{bottom + 34}" text-anchor="middle">{escape(self.x_label)}</text>')
        middle = (TOP + bottom) / 2
        parts.append(
            f'<text x="13" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 13 {middle:.0f})">'
            f"{escape(self.y_label)}</text>"
        )
        return parts

    @staticmethod
    def _legend(entries: Sequence[tuple[int, Series]]) -> tuple[str, int]:
        if not entries:
            return "", 0
        parts, x, row = [], float(LEFT), 0
        for number, one in entries:
            room = 22 + _CHARACTER * len(one.name) + 14
            if x > LEFT and x + room > WIDTH:
                x, row = float(LEFT), row + 1
            y = HEIGHT + 8 + 18 * row
            colour = COLOURS[number % len(COLOURS)]
            dash = ' stroke-dasharray="5 4"' if one.dashed else ""
            if one.line:
                parts.append(
                    f'<line x1="{x:.0f}" y1="{y}" x2="{x + 18:.0f}" y2="{y}" stroke="{colour}" '
                    f'stroke-width="1.8"{dash}/>'
                )
            mark = _mark(SHAPES[number % len(SHAPES)], x + 9, y, 3.4, one.dashed)
            parts.append(f'<g fill="{colour}" stroke="{colour}">{mark}</g>')
            parts.append(f'<text x="{x + 23:.0f}" y="{y + 4}">{escape(one.name)}</text>')
            x += room
        return "".join(parts), row + 1


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - RIGHT - LEFT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, values: Sequence[float], log: bool) -> _Axis:
        low, high = min(values), max(values)
        if log:
            if high / low < 1.3:
                low, high = low / 1.3, high * 1.3
            margin = (high / low) ** 0.04
            return cls(low / margin, high * margin, True)
        if low >= 0 and low < 0.4 * high:
            low = 0.0  # an axis that nearly reaches zero should start there
        if high == low:
            low, high = low - 0.5, high + 0.5
        margin = 0.05 * (high - low)
        return cls(low if low == 0 else low - margin, high + margin, False)

    def place(self, value: float) -> float:
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        if not self.log:
            rough = (self.high - self.low) / 5
            unit = 10.0 ** math.floor(math.log10(rough))
            step = unit * next(k for k in (1, 2, 2.5, 5, 10) if k * unit >= rough * 0.999)
            first = math.ceil(self.low / step - 1e-9)
            return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
            found = [k * 10.0**e for e in decades for k in parts if self.low <= k * 10.0**e <= self.high]
            if len(found) >= 4:
                return found
        return [value for value in _Axis(self.low, self.high, False).ticks() if value > 0]


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def _mark(shape: str, x: float, y: float, size: float, hollow: bool) -> str:
    style = ' fill="none" stroke-width="1.6"' if hollow or shape == "ring" else ' stroke="none"'
    if shape in ("circle", "ring"):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}"{style}/>'
    if shape == "square":
        return f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size}" height="{2 * size}"{style}/>'
    if shape == "triangle":
        a = 1.25 * size
        return f'<path d="M{x:.1f},{y - a:.1f}L{x + a:.1f},{y + a:.1f}H{x - a:.1f}Z"{style}/>'
    if shape == "diamond":
        a = 1.4 * size
        return f'<path d="M{x:.1f},{y - a:.1f}L{x + a:.1f},{y:.1f}L{x:.1f},{y + a:.1f}L{x - a:.1f},{y:.1f}Z"{style}/>'
    return (
        f'<path d="M{x - size:.1f},{y - size:.1f}L{x + size:.1f},{y + size:.1f}'
        f'M{x - size:.1f},{y + size:.1f}L{x + size:.1f},{y - size:.1f}" stroke-width="2"/>'
    )
