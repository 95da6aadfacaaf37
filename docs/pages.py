"""The pages of the site, gathered for Sphinx: `python docs/pages.py FOLDER` (`make site` calls it).

The Markdown stays where GitHub shows it. It is copied into a folder, with its links turned to where pages then lie;
beside it go pages that are made of the code: a reference of every public name and of every command, the gallery, and a
page per section. Where a page stands in the site is said in `SECTIONS`, and a page that stands nowhere is an error.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import timebound
from timebound import cli

__all__ = ["ALONE", "SECTIONS", "TOP", "command_pages", "gather", "name_pages", "texts", "written"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Pages that lie elsewhere than in docs/, and what they are called in the site.
ELSEWHERE = {
    "src/timebound/algorithms/HOWTO.md": "own_algorithm.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}


class Section(NamedTuple):
    """A part of the site: its title, what it is for, and its pages, each with its name in lists and what is there."""

    title: str
    purpose: str
    pages: dict[str, tuple[str, str]]


# With a heading (lab#compare) it is a link into a page that has its own place.
SECTIONS = {
    "how_to": Section(
        "How-to",
        "One task each, with code to copy.",
        {
            "crowds": ("Crowds", "Units that do not stand in each other."),
            "moving_goals": ("Goals that move", "Chase what moves, and be put elsewhere."),
            "fields": ("Distance fields", "One search from the goals, for all who go there."),
            "viewer": ("The viewer", "A race in the browser, with walls you paint; replays."),
            "traces": ("Traces", "Look on while a search works: events, moving pictures, files for Posthoc."),
            "saving": ("Saves", "Write agents and fleets down, and go on later."),
            "databases": ("Databases", "Compute ahead of time what agents look up."),
            "own_algorithm": ("Your own algorithm", "One file, and every tool knows it."),
            "lab": ("The lab", "Reproduce a paper, compare algorithms on your maps."),
            "lab#an-experiment-is-a-file": ("Your own paper", "Sweeps, claims and verdicts in one file."),
            "lab#reproduce": ("On a cluster", "All cores, or Dask; stopped runs go on."),
        },
    ),
    "explanation": Section(
        "Explanation",
        "How it works, and why it is so.",
        {
            "worlds": ("Worlds", "Grids, graphs and puzzles, and edits while agents run."),
            "time_bounded": ("Time-bounded search", "Walk at once, and let one search grow beside."),
            "learning": ("Learning", "Look around, learn, move."),
            "path_refinement": ("Path refinement", "A coarse way first, then the cells of it."),
            "abstraction": ("Regions", "How cells become regions, level by level."),
            "patterns": ("Pattern databases", "A goal nearby for each pair of regions."),
            "dynamic_control": ("Dynamic control", "How deep to look, and towards which goal."),
            "deadlines": ("Deadlines and memory", "What a step takes, and what an agent holds."),
            "measures": ("Measures", "What is counted, and how."),
            "kernels": ("Kernels", "The compiled half, and its rules."),
            "architecture": ("The map of the house", "Which file holds what, and where a new thing goes."),
        },
    ),
    "reference": Section(
        "Reference",
        "Every public name and every command, made of the code.",
        {
            "names/index": ("Public names", "Classes, functions and errors of the package."),
            "commands/index": ("Commands", "Every command and its options."),
            "cli": ("The command line", "What commands print, and the fields of their JSON."),
        },
    ),
    "results": Section(
        "Results",
        "Tables and figures of the papers, ours beside theirs, as `timebound reproduce` writes them.",
        {
            "results/tba/report": ("tba", "TBA*: Time-Bounded A*. Björnsson, Bulitko and Sturtevant, 2009."),
            "results/tbbfs/report": ("tbbfs", "Time-Bounded Best-First Search. Hernández, Asín and Baier, 2014."),
            "results/learning/report": ("learning", "The learning family, walk by walk, beside HOG2."),
            "results/chapter/report": (
                "chapter",
                "Real-time heuristic search for pathfinding in video games. Bulitko et al., 2011.",
            ),
            "results/dynamic-control/report": (
                "dynamic-control",
                "Dynamic Control in Real-Time Heuristic Search. Bulitko et al., 2008.",
            ),
        },
    ),
    "project": Section(
        "Project",
        "What has changed, and how to take part.",
        {
            "changelog": ("Changelog", "What users will notice."),
            "contributing": ("Contributing", "Tests, style, and where things go."),
        },
    ),
}
ALONE = {
    "game_loop": ("Tutorial", "The game loop: from a NumPy map to 1,000 units in 1 ms."),
    "gallery": ("Gallery", "Pictures, and the code that makes them."),
}
TOP = ("game_loop", "how_to", "explanation", "reference", "results", "gallery", "project")
"""What the landing page leads to: sections, and pages that need none."""

# Where the public names live, and what that is called in the reference.
ROOMS = {
    "worlds": "Worlds",
    "scenarios": "Problems",
    "episode": "Agents",
    "fleet": "Fleets",
    "fields": "Fields",
    "databases": "Databases",
    "algorithms": "Algorithms",
    "budget": "Budgets and results",
    "result": "Budgets and results",
    "trace": "Traces",
    "viewer": "The viewer",
    "errors": "Errors",
}


# ------------------------------------------------------------------------------------------------ what was written


def written() -> dict[str, Path]:
    """All pages that people have written: where each goes, and where it is."""
    pages = {str(path.relative_to(HERE)): path for path in sorted(HERE.rglob("*.md"))}
    return pages | {name: ROOT / place for place, name in ELSEWHERE.items()}


def relinked(text: str, page: str, places: dict[Path, str], home: Path) -> str:
    """A page's text, with links to other pages as they must be where the page now is."""

    def turned(link: re.Match[str]) -> str:
        target, mark, heading = link[1].partition("#")
        place = places.get((home / target).resolve()) if target else None
        if place is None:
            return link[0]
        return f"]({os.path.relpath(place, Path(page).parent)}{mark}{heading})"

    text = re.sub(r"\]\(([^()\s:]+)\)", turned, text)
    # An example's last line is empty, or doctest would take the fence for output.
    return re.sub(r"^(```python\n.*?)\n+```$", r"\1\n```", text, flags=re.DOTALL | re.MULTILINE)


# ------------------------------------------------------------------------------------------------ public names


def name_pages() -> dict[str, str]:
    """The reference of all public names: a page for each, and one that lists them by what they are about."""
    groups: dict[str, list[str]] = {}
    for name in timebound.__all__:
        value = getattr(timebound, name)
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "timebound")
        room = f"{home}..".split(".")[1]
        groups.setdefault(ROOMS.get(room, "The package"), []).append(name)
    titles = [title for title in dict.fromkeys([*ROOMS.values(), *groups]) if title in groups]
    listing = [
        _title("Public names"),
        "``import timebound as tb`` gives all of them. What is not here is not promised.",
    ]
    pages: dict[str, list[str]] = {}
    for title in titles:
        summary = "\n".join(f"~timebound.{name}" for name in groups[title])
        listing += [_title(title, "-"), f".. autosummary::\n\n{_indented(summary)}"]
        for name in groups[title]:
            # A file system may not tell agent from Agent, so they share a page.
            pages.setdefault(name.strip("_").lower(), []).append(name)
    tree = ".. toctree::\n   :hidden:\n\n" + _indented("\n".join(pages))
    made = {"names/index.rst": "\n\n".join([*listing, tree]) + "\n"}
    for page, names in pages.items():
        body = [_title(" and ".join(names)), ".. currentmodule:: timebound"]
        made[f"names/{page}.rst"] = (
            "\n\n".join([*body, *(_entry(name, getattr(timebound, name)) for name in names)]) + "\n"
        )
    return made


def _entry(name: str, value: object) -> str:
    """What autodoc is asked to write about a public name."""
    if isinstance(value, ModuleType):
        parts = [f".. py:module:: timebound.{name}", inspect.getdoc(value) or ""]
        return "\n\n".join(parts + [_entry(f"{name}.{own}", getattr(value, own)) for own in value.__all__])
    if inspect.isclass(value):
        return f".. autoclass:: timebound.{name}\n   :members:\n   :inherited-members: BaseException, tuple, object"
    if callable(value):
        return f".. autofunction:: timebound.{name}"
    if isinstance(value, dict):  # its type's docstring says nothing of it
        return f".. py:data:: timebound.{name}\n\n   All of them by name: {', '.join(value)}."
    return f".. autodata:: timebound.{name}"


# ------------------------------------------------------------------------------------------------ commands


def command_pages() -> dict[str, str]:
    """The reference of all commands, made of their parsers."""
    top = cli.command_line()
    commands = _subcommands(top)
    rows = "\n\n".join(f":doc:`timebound {name} <{name}>`\n   {_plain(words)}" for name, (_, words) in commands.items())
    tree = ".. toctree::\n   :hidden:\n\n" + _indented("\n".join(commands))
    text = [_title("Commands"), _plain(top.description or ""), rows, _examples(top), tree]
    made = {"commands/index.rst": "\n\n".join(text) + "\n"}
    for name, (parser, _) in commands.items():
        made[f"commands/{name}.rst"] = "\n\n".join(_command(parser, "=")) + "\n"
    return made


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {choice.dest: (action.choices[choice.dest], choice.help or "") for choice in action._choices_actions}
    return {}


def _command(parser: argparse.ArgumentParser, line: str) -> list[str]:
    """What there is to say about a command, and then about each of its own commands."""
    if isinstance(parser, cli.Parser) and parser.later is not None:
        parser.later(parser)
    formatter = argparse.HelpFormatter(parser.prog, width=80)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    usage = re.sub(r"\x1b\[[\d;]*m", "", formatter.format_help())  # newer Pythons colour it on a terminal
    parts = [_title(parser.prog, line), _plain(parser.description or "")]
    parts += [".. code-block:: text\n\n" + _indented(usage.strip()), f".. program:: {parser.prog}"]
    for group in parser._action_groups:
        actions = [one for one in group._group_actions if not isinstance(one, argparse._SubParsersAction)]
        actions = [one for one in actions if one.dest != "help" and one.help != argparse.SUPPRESS]
        if group.title not in ("positional arguments", "options", "optional arguments"):
            parts += [f".. rubric:: {_plain(group.title or '')}", _plain(group.description or "")]
        for action in actions:
            words = formatter._format_args(action, (action.metavar or action.dest.upper())) if action.nargs != 0 else ""
            names = ", ".join(f"{flag} {words}".strip() for flag in action.option_strings) or words
            parts.append(f".. option:: {names}\n\n" + _indented(_help(action, formatter)))
    parts.append(_examples(parser))
    for own, _ in _subcommands(parser).values():
        parts += _command(own, "-")
    return [part for part in parts if part]


def _help(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    words = formatter._expand_help(action) if action.help else ""
    return _plain(
        "; ".join(filter(None, [words, "must be given" if action.required and action.option_strings else ""]))
    )


def _examples(parser: argparse.ArgumentParser) -> str:
    """What stands below the options: examples, indented, and sentences."""
    parts: list[str] = []
    for block in re.split(r"\n\n", parser.epilog or ""):
        first, _, rest = block.partition("\n")
        if rest and all(line.startswith("  ") for line in rest.split("\n")):
            parts += [
                f".. rubric:: {_plain(first.rstrip(':').capitalize())}",
                ".. code-block:: console\n\n" + _indented(textwrap.dedent(rest)),
            ]
        elif block:
            parts.append(_plain(block))
    return "\n\n".join(parts)


# ------------------------------------------------------------------------------------------------ text


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}"


def _indented(text: str) -> str:
    return textwrap.indent(text, "   ")


def _plain(text: str) -> str:
    """Text in which no sign means anything to reST, but for the name of a page, which becomes a link to it."""
    parts = re.split(r"docs/(\w+)\.md", text)
    parts[::2] = [re.sub(r"([*`|_\\<])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f":doc:`/{page}`" for page in parts[1::2]]
    return "".join(parts)


def listed(entries: dict[str, tuple[str, str]]) -> str:
    """Links to pages as cards, and the same for the menus of the site."""
    cards, tree = [], []
    for page, (title, words) in entries.items():
        file, _, heading = page.partition("#")
        link = f"[{title}]({file}.md#{heading})" if heading else f"{{doc}}`{title} <{file}>`"
        cards.append(f"- {link}\n\n  {words.replace('*', chr(92) + '*')}")
        tree += [] if heading else [f"{title} <{file}>"]
    return "\n".join(["```{container} cards", *cards, "```", "", "```{toctree}", ":hidden:", "", *tree, "```", ""])


def texts() -> dict[str, str]:
    """All pages of the site but the gallery, by their files: those that were written, and those that are made."""
    pages = written()
    places = {path: name for name, path in pages.items()}
    made = {name: relinked(path.read_text(encoding="utf-8"), name, places, path.parent) for name, path in pages.items()}
    top = {name: ALONE[name] if name in ALONE else SECTIONS[name][:2] for name in TOP}
    made["index.md"] += "\n![A crowd on its way](pictures/crowd.gif)\n\n## Where to go\n\n" + listed(top)
    for name, section in SECTIONS.items():
        made[f"{name}.md"] = f"# {section.title}\n\n{section.purpose}\n\n{listed(section.pages)}"
    return made | name_pages() | command_pages()


def gather(folder: Path) -> None:
    """Write all pages of the site, with their figures and the pictures of the gallery, into a folder."""
    pages = texts()
    sys.path.insert(0, str(HERE))
    pages["gallery.md"] = importlib.import_module("gallery").page(folder / "pictures")
    pages["viewer.md"] += "\n" + importlib.import_module("replays").make(folder / "extra" / "replays")
    for figure in HERE.rglob("*.svg"):
        # The theme gives figures a light ground, also where everything else is dark; so their letters are dark.
        light = re.sub(
            r"@media \(prefers-color-scheme:dark\)\{[^{}]*\{[^{}]*\}\}", "", figure.read_text(encoding="utf-8")
        )
        pages[str(figure.relative_to(HERE))] = light
    for picture in HERE.glob("images/viewer*.png"):
        place = folder / picture.relative_to(HERE)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(picture.read_bytes())
    for name, text in pages.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
