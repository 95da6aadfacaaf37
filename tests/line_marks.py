"""Which lines ran, without a tracer: ``pytest -p line_marks`` writes into each statement of timebound that it was here.

With the JIT off kernels are plain Python, and a tracer more than doubles their time; a mark, one byte that is set, adds
a quarter. With the JIT on, the files that hold kernels have no marks: they would be compiled too. What was seen is
written to ``COVERAGE_FILE``, for ``coverage`` to combine and report.
"""

from __future__ import annotations

import ast
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

_MARKS = "__line_marks__"
_seen: dict[str, bytearray] = {}  # by file: a byte for each line, 1 if it ran


class _Marked(ast.NodeTransformer):
    """Puts a mark before each statement, and into each ``except``. There is no ``case`` in timebound yet."""

    def _mark(self, *lines: int) -> list[ast.stmt]:
        texts = "; ".join(f"{_MARKS}[{line}] = 1" for line in lines)
        return [ast.increment_lineno(one, lines[-1] - 1) for one in ast.parse(texts).body]

    def _body(self, body: list[ast.stmt], documented: bool = False) -> list[ast.stmt]:
        marked: list[ast.stmt] = []
        for place, one in enumerate(body):
            mark = self._mark(*(each.lineno for each in getattr(one, "decorator_list", ())), one.lineno)
            words = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            if (words and documented and place == 0) or isinstance(one, ast.Global | ast.Nonlocal):
                marked.append(one)  # nothing runs; and a docstring must stay first
            elif isinstance(one, ast.ImportFrom) and one.module == "__future__":
                marked += [one, *mark]  # which must stay first too
            else:
                marked += [*mark, self.visit(one)]
        return marked

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Into all statements below this one."""
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                setattr(node, name, self._body(value, documented))
            elif name == "handlers":
                for one in value:
                    if one.type is not None:  # it runs when the exception is of another kind, too
                        mark = ast.parse(f"{_MARKS}.__setitem__({one.lineno}, 1)", mode="eval").body
                        one.type = ast.BoolOp(ast.Or(), [mark, one.type])
                        ast.fix_missing_locations(ast.increment_lineno(one.type.values[0], one.lineno - 1))
                        ast.copy_location(one.type, one.type.values[1])
                    one.body = [*self._mark(one.lineno), *self._body(one.body)]
        return node


def marked(text: str | bytes, file: str) -> tuple[CodeType, str]:
    """The text with its marks, compiled, and the name of what it marks: a byte for each line, and line 0."""
    return compile(_Marked().visit(ast.parse(text, file)), file, "exec", dont_inherit=True), _MARKS


class _Loader(SourceFileLoader):
    def exec_module(self, module: Any) -> None:
        text = self.get_data(self.path)
        code, name = marked(text, self.path)
        _seen[self.path] = module.__dict__[name] = bytearray(text.count(b"\n") + 2)
        exec(code, module.__dict__)


def _compiled(file: Path) -> bool:
    """Whether there are kernels in a file that will be compiled."""
    return os.environ.get("NUMBA_DISABLE_JIT") != "1" and file.parent.name in ("kernels", "algorithms")


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "timebound":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and not _compiled(Path(spec.loader.path)):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Before conftest.py imports what is to be marked."""
    sys.meta_path.insert(0, _Finder())


def pytest_sessionfinish() -> None:
    """Write down which lines ran."""
    from coverage import CoverageData

    data = CoverageData(os.environ.get("COVERAGE_FILE", ".coverage"))
    data.erase()
    data.add_lines({file: [line for line, ran in enumerate(marks) if ran] for file, marks in _seen.items()})
    package = Path(__file__).resolve().parent.parent / "src" / "timebound"
    data.touch_files(map(str, package.rglob("*.py")))  # what was never imported counts too
    data.write()
