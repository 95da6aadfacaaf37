"""Which source files a compiled function was made from, so that an edit in any of them is noticed.

Our own kernels can call each other freely, so one digest covers all of their folders. A function from elsewhere, such
as an algorithm in a user's own package, depends on its file and on those that this file imports from.
"""

from __future__ import annotations

import ast
import os
import sys
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "CODE_FOLDERS",
    "KERNEL_FOLDERS",
    "Origin",
    "is_covered",
    "is_found",
    "is_our_type",
    "origin_of_function",
    "origin_of_type",
    "sources_digest",
]

_PACKAGE = Path(__file__).resolve().parent.parent
# The folders whose functions can end up inside a kernel, and those that decide what is computed.
KERNEL_FOLDERS = ("kernels", "algorithms")
CODE_FOLDERS = (*KERNEL_FOLDERS, "databases")
_COVERED = {str(_PACKAGE / folder) for folder in KERNEL_FOLDERS}
_SHARED = ("site-packages", "dist-packages")  # folders of modules that have nothing to do with each other


def sources_digest(package: Path = _PACKAGE, folders: tuple[str, ...] = CODE_FOLDERS) -> bytes:
    """A digest of every source file that decides what is computed: kernels, algorithms, databases."""
    digest = blake2b(digest_size=16)
    for folder in folders:
        for file in sorted((package / folder).glob("*.py")):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.digest()


@cache
def is_covered(file: str) -> bool:
    """Whether the digest of our kernels' folders covers the file."""
    return os.path.dirname(os.path.realpath(file)) in _COVERED


class Origin(NamedTuple):
    """Where a function or type from elsewhere was defined, and the files it depends on as they were then."""

    module: str
    file: str
    stamps: dict[str, bytes]  # a digest of each file

    def stamps_now(self) -> dict[str, bytes]:
        """The files by now: what has been imported since is added, what was there then is not read again.

        A file may have been edited since it was imported; what is compiled is what was imported.
        """
        return _stamps(self.file, self.module) | self.stamps


def origin_of_function(function: Any) -> Origin | None:
    """Where a function comes from; None if there is no file to look at, as in a notebook."""
    file = function.__code__.co_filename
    return _origin(file, function.__module__ or "")


def origin_of_type(kind: type) -> Origin | None:
    """Where a type comes from; None if there is no file to look at."""
    return _origin(_file_of(kind), kind.__module__)


def is_our_type(kind: type) -> bool:
    """Whether the digest of our kernels' folders covers the type."""
    return is_covered(_file_of(kind))


def is_found(kind: type) -> bool:
    """Whether another process would find the type by its name: not if it is in a script, or was defined anew since."""
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind and kind.__module__ != "__main__"


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ""


def _origin(file: str, module: str) -> Origin | None:
    stamps = _stamps(file, module)
    return Origin(module, file, stamps) if file in stamps else None


def _stamps(file: str, module: str) -> dict[str, bytes]:
    """A digest of the file, and of those that it imports from.

    Imports are followed through its package, or its folder if it is in none. Of what lies elsewhere the files that are
    imported from count, not what they import in turn: compiled code of other packages is theirs to look after.
    """
    roots = _roots(file, module)
    found: dict[str, bytes] = {}
    todo = [(file, module)]
    while todo:
        here, name = todo.pop()
        if here in found or (found and is_covered(here)):
            continue
        try:
            text = Path(here).read_bytes()
        except (OSError, ValueError):
            continue
        at_home = not found or any(here.startswith(root) for root in roots)
        found[here] = blake2b(text, digest_size=16).digest()
        for other in _imported(text, _package_of(name)) if at_home else ():
            path = getattr(sys.modules.get(other), "__file__", None)
            if path and path.endswith((".py", ".pyc")):
                todo.append((path, other))
    return found


def _roots(file: str, module: str) -> list[str]:
    """The folders of the module's top-level package; of a module in no package, the folder it lies in."""
    top = sys.modules.get(module.partition(".")[0])
    folders = list(getattr(top, "__path__", ())) or [os.path.dirname(file)]
    return [os.path.join(folder, "") for folder in folders if os.path.basename(folder) not in _SHARED]


def _package_of(module: str) -> str:
    """What the relative imports of a module are relative to."""
    return getattr(sys.modules.get(module), "__package__", None) or module.rpartition(".")[0]


@lru_cache(maxsize=256)
def _imported(text: bytes, package: str) -> list[str]:
    """The names of all modules that the text may import from."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # compiled
        return []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            names.update(f"{base}.{alias.name}" for alias in node.names)
    parts = {tuple(name.split(".")) for name in names}
    return sorted({".".join(part[: k + 1]) for part in parts for k in range(len(part))})
