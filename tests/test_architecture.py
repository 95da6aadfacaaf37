"""The rooms of the house keep to themselves: what they import is for import-linter to check, what they read is here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import timebound

pytestmark = pytest.mark.once  # no kernel plays a part in them

SOURCES = Path(timebound.__file__).parent
FILES = sorted(SOURCES.rglob("*.py"))

# Methods of named tuples, whose underscore keeps them apart from fields; and names of the standard library.
PUBLIC_ALL_THE_SAME = {"_asdict", "_fields", "_make", "_replace", "_exit", "_choices_actions", "_SubParsersAction"}


def private_reads(text: str) -> Iterator[tuple[int, str]]:
    """Every ``thing._name`` in a source text that the text itself does not define: the line, and the name."""
    tree = ast.parse(text)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            own.add(node.attr)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            own.add(node.target.id)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not mine and node.attr not in own | PUBLIC_ALL_THE_SAME:
                yield node.lineno, node.attr


def test_the_search_finds_what_it_looks_for() -> None:
    assert list(private_reads("class A:\n  def f(self, o):\n    return o._b")) == [(3, "_b")]
    assert not list(private_reads("class A:\n  def f(self, o):\n    self._b = 1\n    return o._b, o._replace()"))


# Numba has no public names for these; they check at import that they are there.
OUTSIDE = {"kernels/compiler.py", "kernels/kernel_cache.py", "kernels/lowering.py"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(SOURCES).as_posix())
def test_no_file_reads_private_fields_of_another(file: Path) -> None:
    if file.relative_to(SOURCES).as_posix() in OUTSIDE:
        pytest.skip("reads private names of Numba")
    assert not list(private_reads(file.read_text(encoding="utf-8")))


MAP = SOURCES.parents[1] / "docs" / "architecture.md"
ROOMS = {path.name for path in SOURCES.iterdir() if path.is_dir()} | {path.stem for path in SOURCES.glob("*.py")}


def test_the_map_of_the_house_is_true() -> None:
    """What docs/architecture.md names is there: files, folders, and functions by their file."""
    text = MAP.read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`\s]+)`", text))
    files = {name for name in named if name.endswith((".py", ".md", ".toml"))}
    inside = [SOURCES / "kernels", SOURCES, SOURCES.parents[1]]  # kernels are listed by their names alone
    assert len(files) > 40
    assert not {name for name in files if not any((folder / name).exists() for folder in inside)}
    places = {name for name in named if re.fullmatch(r"(\w+/)*\w+\.[A-Za-z_]\w*(\.\w+)*", name)} - files
    inner = {name for name in places if name.split("/")[0].split(".")[0] in ROOMS}
    assert len(inner) > 20
    for name in inner:
        path, _, what = name.partition(".")
        path = f"kernels/{path}" if (SOURCES / "kernels" / f"{path}.py").exists() else path
        module = SOURCES / path if (SOURCES / path).is_dir() else SOURCES / f"{path}.py"
        source = (module / "__init__.py" if module.is_dir() else module).read_text(encoding="utf-8")
        for part in what.split("."):
            assert re.search(rf"^\s*(def|class) {part}\b|^{part}\b", source, re.MULTILINE), name


def test_the_map_of_the_house_names_every_file_of_kernels() -> None:
    text = MAP.read_text(encoding="utf-8")
    assert not [file.name for file in (SOURCES / "kernels").glob("[a-z]*.py") if f"`{file.name}`" not in text]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(SOURCES).as_posix())
def test_files_that_docstrings_name_are_there(file: Path) -> None:
    named = re.findall(r"(?:[\w-]+/)+[\w-]+\.(?:py|md)\b", file.read_text(encoding="utf-8"))
    inside = [file.parent, SOURCES, SOURCES.parents[1]]
    assert not [name for name in named if not any((folder / name).exists() for folder in inside)]
