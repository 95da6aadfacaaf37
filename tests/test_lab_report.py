"""Charts and reports: within their frames, balanced."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

import pytest

from timebound.lab import report
from timebound.lab.charts import Chart, Series

pytestmark = pytest.mark.once  # no kernel plays a part in them


class Balanced(HTMLParser):
    """Complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs) -> None:
        if tag not in ("meta", "link", "br", "circle", "line", "rect", "path", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def numbers(svg: str, pattern: str) -> list[float]:
    return [float(value) for value in re.findall(pattern, svg)]


@pytest.mark.parametrize("log", [False, True])
def test_charts_stay_within_their_frame(log: bool) -> None:
    series = [Series(f"spec <{k}>", [1, 10, 1000], [0.5 + k, 3.0 * k + 1, 100.0]) for k in range(9)]
    series.append(Series("gaps", [1, 2, 3], [float("nan"), 5.0, None], line=False, dashed=True))  # type: ignore[list-item]
    svg = Chart("a <title>", "x & y", "y", series, log_x=log, log_y=log).svg()
    root = xml.fromstring(svg)
    height = float(root.attrib["viewBox"].split()[3])
    for node in root.iter():
        for name, most in (("cx", 480), ("x", 480), ("cy", height), ("y", height)):
            if name in node.attrib:
                assert 0 <= float(node.attrib[name]) <= most
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert "a <title>" in texts
    assert "spec <8>" in texts


def test_chart_axes() -> None:
    flat = Chart("t", "x", "y", [Series("a", [1, 2], [3, 3])]).svg()
    assert "nothing to show" not in flat
    assert "nothing to show" in Chart("t", "x", "y", [Series("a", [], [])]).svg()
    assert "nothing to show" in Chart("t", "x", "y", [Series("a", [0], [1])], log_x=True).svg()
    ticks = Chart("t", "x", "y", [Series("a", [1, 1000], [1, 2])], log_x=True, x_ticks=(1, 32, 1000)).svg()
    assert ">32<" in ticks
    assert ">1k<" in ticks


def test_report_is_whole_and_balanced() -> None:
    chart = Chart("c", "x", "y", [Series("s", [1, 2], [1, 2])], note="n & m")
    finding = report.Finding(
        report.DIFFERS, "it *differs*", [report.Table("T", ("a", "b"), [["r|s", "1"]])], [chart], "why"
    )
    document = report.Document(
        "R & D",
        ["intro"],
        [report.Section("Figure 1", "F", "claim", "rule", finding)],
        {"machine": "m"},
        [("run", "err")],
    )
    page = report.html(document)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # needs nothing from elsewhere
    assert 'id="figure-1"' in page
    text = report.markdown(document, {"c": "figures/c.svg"})
    assert "| r\\|s | 1 |" in text
    assert "![c](figures/c.svg)" in text
    assert text.index("Unexplained errors") < text.index("## Figure 1")
