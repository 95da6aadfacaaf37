"""The lowest versions that pyproject.toml allows, as constraints for pip: one line for each dependency and extra.

``make lowest`` installs them, so that a bound which no longer holds is found here and not by a user.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def lowest(project: dict) -> list[str]:
    """``name==version`` for all that timebound[all] needs, by itself or through its extras."""
    extras = project["optional-dependencies"]
    wanted = list(project["dependencies"])
    open_extras, seen = ["all"], set()
    while open_extras:
        extra = open_extras.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in extras[extra]:
            own = re.fullmatch(rf"{project['name']}\[([\w,-]+)\]", requirement)
            if own:
                open_extras += own[1].split(",")
            else:
                wanted.append(requirement)
    pins = []
    for requirement in wanted:
        bound = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if bound is None:
            sys.exit(f"{requirement!r} in pyproject.toml is not NAME>=VERSION, so its lowest version cannot be told")
        pins.append(f"{bound[1]}=={bound[2]}")
    return sorted(set(pins))


if __name__ == "__main__":
    text = Path(__file__).resolve().parent.parent.joinpath("pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(lowest(tomllib.loads(text)["project"])))
