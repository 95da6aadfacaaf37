"""The marks that tell which lines ran tell what a tracer would."""

from __future__ import annotations

import ast
import sys
from types import FrameType
from typing import Any

import pytest

from line_marks import marked

pytestmark = pytest.mark.once

TEXT = '''"""Words."""
from __future__ import annotations
import contextlib
NUMBER = 3
"""Words about it."""

def plain(function):
    """Words."""
    return function

@plain
@plain
def several(x):
    global NUMBER
    for i in range(x):
        if i == 0:
            continue
        elif i == 1:
            NUMBER += 1
        else:
            pass
    else:
        x = [
            i
            for i in range(3)
        ]
    while False:
        NUMBER = 5
    with contextlib.suppress(KeyError): {}[1]
    try:
        raise KeyError
    except (TypeError, ValueError):
        return 2
    except KeyError:
        y = 3
    except OSError:
        y = 4
    finally:
        y = 5
    return y

class Thing:
    """Words."""
    field: int = 3

    async def never(self):
        return 1

    @property
    def lazy(self): return lambda: (
        1
    )

if several(4) == 7:
    several(1)
Thing().lazy()
'''


def traced(text: str) -> set[int]:
    """The lines at which Python begins something, each as the first line of its statement."""
    lines: set[int] = set()

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != "traced":
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return tracer

    code = compile(text, "traced", "exec", dont_inherit=True)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        exec(code, {"__name__": "traced"})
    finally:
        sys.settrace(before)
    return lines


def test_marks_are_where_a_tracer_has_been() -> None:
    marks = bytearray(TEXT.count("\n") + 2)
    code, name = marked(TEXT, "marked")
    exec(code, {"__name__": "marked", name: marks})
    ran = {line for line, mark in enumerate(marks) if mark}
    # The lines that a report counts: it knows docstrings from statements, and statements by their first lines.
    words = {line for line, text in enumerate(TEXT.splitlines(), 1) if text.strip() == '"""Words."""'}
    first = {one.lineno for one in ast.walk(ast.parse(TEXT)) if isinstance(one, ast.stmt | ast.ExceptHandler)}
    assert ran & (first - words) == traced(TEXT) & (first - words)
    assert 0 < len(first - words - ran) < len(ran)
