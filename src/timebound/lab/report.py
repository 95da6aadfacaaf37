"""Reports: what was claimed, what was found, a verdict; as one HTML file that needs nothing else, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..atomic import make_folder, write_whole
from ..text import in_html as escape
from ..text import in_markdown, paragraph_in_markdown
from .charts import Chart

__all__ = [
    "BEYOND",
    "CANNOT_TELL",
    "DIFFERS",
    "REPRODUCED",
    "Finding",
    "Section",
    "Table",
    "html",
    "markdown",
    "write",
]

REPRODUCED, DIFFERS, CANNOT_TELL, BEYOND = "reproduced", "differs", "cannot tell", "beyond the paper"


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; the first column names the row, the others are numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Finding:
    """What an experiment shows: a verdict, why, and what it rests on."""

    verdict: str
    because: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    reason: str = ""  # where it differs: what is known about why


@dataclass(frozen=True)
class Section:
    """A table or figure of a paper, or one part of a comparison."""

    number: str
    title: str
    claim: str
    rule: str
    finding: Finding


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    intro: Sequence[str]
    sections: Sequence[Section]
    facts: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[Sequence[str]] = ()  # run, and what went wrong


_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--band:#f6f8fa;
--good:#1a7f37;--bad:#b35900;--none:#57606a}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9aa4b0;--line:#30363d;--band:#161b22;
--good:#3fb950;--bad:#e3913b;--none:#9aa4b0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:64rem;margin:0 auto;padding:1.2rem}
h1{font-size:1.6rem;line-height:1.25;margin:.4rem 0}h2{font-size:1.2rem;margin:0}
h3{font-size:1rem;margin:1.2rem 0 .4rem}
section{border-top:1px solid var(--line);padding:1.4rem 0}
.head{display:flex;gap:.8rem;align-items:baseline;flex-wrap:wrap}
.verdict{font-size:.8rem;font-weight:600;border:1.5px solid;border-radius:1rem;padding:.05rem .6rem;white-space:nowrap}
.reproduced{color:var(--good)}.differs{color:var(--bad)}.cannot-tell,.beyond-the-paper{color:var(--none)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.8rem 0}
dt{color:var(--soft)}dd{margin:0}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:1rem;margin-top:1rem}
figure{margin:0;border:1px solid var(--line);border-radius:.5rem;padding:.5rem}
figcaption{color:var(--soft);font-size:.85rem}
svg{display:block;width:100%;height:auto}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}thead th{background:var(--band)}
nav ol{padding-left:1.2rem}a{color:inherit}
.facts,small{color:var(--soft);font-size:.85rem}
@media (max-width:30rem){dl{grid-template-columns:1fr}dt{margin-top:.4rem}main{padding:.8rem}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--band:#eee}
section,figure,table{break-inside:avoid}main{max-width:none}nav{display:none}}
"""


def write(document: Document, folder: Path, picture: Callable[[int, str], str]) -> None:
    """Write report.html, report.md and a file for each chart; ``picture`` names it, by its number and title."""
    pictures = {}
    for number, chart in enumerate(chart for section in document.sections for chart in section.finding.charts):
        pictures[chart.title] = picture(number + 1, chart.title)
        file = folder / pictures[chart.title]
        make_folder(file.parent)
        write_whole(file, chart.svg(alone=True))
    write_whole(folder / "report.html", html(document))
    write_whole(folder / "report.md", markdown(document, pictures))


def html(document: Document) -> str:
    """The report as one self-contained page."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(document.title)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{escape(document.title)}</h1>",
        *(f"<p>{escape(text)}</p>" for text in document.intro),
    ]
    if document.errors:
        parts.append('<section id="errors"><h2>Unexplained errors</h2>')
        parts.append(_html_table(Table("", ("run", "what went wrong"), document.errors)))
        parts.append("</section>")
    parts.append("<nav><ol>")
    for section in document.sections:
        verdict = section.finding.verdict
        words = f'{escape(section.number)}</a> {escape(section.title)}: <b class="{_class(section)}">{verdict}</b>'
        parts.append(f'<li><a href="#{_anchor(section)}">' + (words if verdict else f"{escape(section.title)}</a>"))
        parts.append("</li>")
    parts.append("</ol></nav>")
    for section in document.sections:
        finding = section.finding
        badge = f'<span class="verdict {_class(section)}">{finding.verdict}</span>' if finding.verdict else ""
        parts.append(
            f'<section id="{_anchor(section)}"><div class="head"><h2>{escape(section.number)}. '
            f"{escape(section.title)}</h2>{badge}</div><dl>"
        )
        for name, text in _words(section):
            parts.append(f"<dt>{name}</dt><dd>{escape(text)}</dd>")
        parts.append("</dl>")
        parts += [_html_table(table) for table in finding.tables]
        if finding.charts:
            parts.append('<div class="charts">')
            for chart in finding.charts:
                note = f"<figcaption>{escape(chart.note)}</figcaption>" if chart.note else ""
                parts.append(f"<figure>{chart.svg()}{note}</figure>")
            parts.append("</div>")
        parts.append("</section>")
    parts.append('<section class="facts"><h2>How it was made</h2><dl>')
    parts += [f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in document.facts.items()]
    parts.append("</dl></section></main></body></html>\n")
    return "".join(parts)


def markdown(document: Document, pictures: Mapping[str, str] | None = None) -> str:
    """The report as Markdown; ``pictures`` gives the file of each chart's title."""
    lines = [f"# {in_markdown(document.title)}", ""]
    lines += [line for text in document.intro for line in (paragraph_in_markdown(text), "")]
    if document.errors:
        lines += ["## Unexplained errors", "", *_markdown_table(("run", "what went wrong"), document.errors), ""]
    summary = [(section.number, section.title, section.finding.verdict) for section in document.sections]
    if any(verdict for _, _, verdict in summary):
        lines += [*_markdown_table(("", "", "verdict"), summary), ""]
    for section in document.sections:
        lines += [f"## {in_markdown(section.number)}. {in_markdown(section.title)}", ""]
        if section.finding.verdict:
            lines += [f"**{section.finding.verdict}**", ""]
        lines += [f"- *{name}:* {in_markdown(text)}" for name, text in _words(section)]
        lines.append("")
        for table in section.finding.tables:
            if table.title:
                lines += [f"{paragraph_in_markdown(table.title)}:", ""]
            lines += [*_markdown_table(table.header, table.rows), ""]
        for chart in section.finding.charts:
            file = (pictures or {}).get(chart.title)
            if file:
                lines += [f"![{in_markdown(chart.title)}]({file})", ""]
    facts = (f"- {in_markdown(name)}: {in_markdown(text)}" for name, text in document.facts.items())
    return "\n".join([*lines, "## How it was made", "", *facts]) + "\n"


def _words(section: Section) -> list[tuple[str, str]]:
    words = [
        ("Claim", section.claim),
        ("Found", section.finding.because),
        ("Why it differs", section.finding.reason),
        ("Rule", section.rule),
    ]
    return [(name, text) for name, text in words if text]


def _anchor(section: Section) -> str:
    return re.sub(r"[^a-z0-9]+", "-", section.number.lower()).strip("-")


def _class(section: Section) -> str:
    return section.finding.verdict.replace(" ", "-")


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in table.header)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in table.rows)
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    return f'{title}<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(in_markdown, cells)) + " |"

    return [line(header), "|---" + "|---:" * (len(header) - 1) + "|", *(line(row) for row in rows)]
