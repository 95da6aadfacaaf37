"""The pages of the documentation site, before Sphinx builds it (`make site`): nothing is left out."""

from __future__ import annotations

import argparse
import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import timebound as tb
from timebound import cli

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def pages() -> Any:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def texts(pages: Any) -> dict[str, str]:
    return pages.texts()


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A command and its own commands, with the options that are added late."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for own in action.choices.values():
                if own.later is not None:
                    own.later(own)
                yield own
                yield from parsers(own)


@pytest.mark.parametrize("name", tb.__all__)
def test_every_public_name_is_in_the_reference_once(name: str, texts: dict[str, str]) -> None:
    asked = rf"^\.\. (?:autoclass|autofunction|autodata|py:module):: timebound\.{name}$"
    assert [len(re.findall(asked, text, re.MULTILINE)) for text in texts.values()].count(1) == 1
    assert re.search(rf"^   ~timebound\.{name}$", texts["names/index.rst"], re.MULTILINE)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_is_in_the_reference(command: str, texts: dict[str, str]) -> None:
    assert f".. program:: timebound {command}\n" in texts[f"commands/{command}.rst"]
    assert re.search(rf"^   {command}$", texts["commands/index.rst"], re.MULTILINE)


def test_every_option_of_every_command_is_in_the_reference(texts: dict[str, str]) -> None:
    seen = 0
    for parser in parsers(cli.command_line()):
        text = texts[f"commands/{parser.prog.split()[1]}.rst"]
        own = text.partition(f".. program:: {parser.prog}\n")[2].partition(".. program::")[0]
        told = " ".join(re.findall(r"^\.\. option:: (.*)$", own, re.MULTILINE)).replace(",", " ").split()
        for action in parser._actions:
            seen += len(action.option_strings)
            assert set(action.option_strings) <= {*told, "-h", "--help"}, parser.prog
    assert seen > 100
    assert ".. option:: --records" in texts["commands/prepare.rst"]  # known only to the kinds of databases


def test_every_page_has_its_place_in_the_site(pages: Any) -> None:
    listed = [page for section in pages.SECTIONS.values() for page in section.pages if "#" not in page]
    made = {"gallery", "names/index", "commands/index"}
    there = {name.removesuffix(".md") for name in pages.written()} - {"index"}
    assert {*listed, *pages.ALONE} - made == there
    assert len(listed) == len(set(listed))
    assert set(pages.TOP) == {*pages.SECTIONS, *pages.ALONE}


def test_links_lead_somewhere_in_the_repository_and_in_the_site(pages: Any, texts: dict[str, str]) -> None:
    link = re.compile(r"\]\(([^()\s:#]+)(?:#[^()\s]*)?\)")
    for name, path in {**pages.written(), "README.md": ROOT / "README.md"}.items():
        for target in link.findall(path.read_text(encoding="utf-8")):
            place = (path.parent / target).resolve()
            assert place.exists(), f"{path.name} leads to {target}"
            if name in texts and target.endswith(".md"):
                assert place in pages.written().values(), f"{target} of {path.name} is no page of the site"


def test_links_between_pages_that_lie_elsewhere_are_turned(pages: Any) -> None:
    places = {path: name for name, path in pages.written().items()}
    text = "[a](src/timebound/algorithms/HOWTO.md#x) [b](docs/results/tba/report.md) [c](#here) [d](https://e.org/f)"
    turned = pages.relinked(text, "contributing.md", places, ROOT)
    assert turned == "[a](own_algorithm.md#x) [b](results/tba/report.md) [c](#here) [d](https://e.org/f)"
    turned = pages.relinked("[a](../../../CHANGELOG.md)", "results/tba/report.md", places, ROOT / "docs/results/tba")
    assert turned == "[a](../../changelog.md)"


def test_every_heading_has_something_to_say(pages: Any) -> None:
    for path in {**pages.written(), "README.md": ROOT / "README.md"}.values():
        text = re.sub(r"^```.*?^```", "code", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        lines = [line for line in text.splitlines() if line.strip()]
        for line, after in zip(lines, [*lines[1:], "# end"], strict=True):
            if re.match("#+ ", line):
                deeper = re.match("#+ ", after) and after.startswith(line.split()[0] + "#")
                assert deeper or not re.match("#+ ", after), f"{path.name}: nothing stands below {line!r}"


def test_the_citation_names_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    said = dict(re.findall(r"^(\w+): (.*)$", citation, re.MULTILINE))
    assert (said["title"], said["version"], said["license"]) == (
        project["name"],
        project["version"],
        project["license"],
    )
    assert project["version"] == tb.__version__
