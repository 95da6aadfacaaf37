"""A real browser for the viewer's tests and benchmarks: found, or installed where that can be done.

``python tests/browsers.py`` (``make browser``) looks for one, installs it as root on Debian if there is none, and says
what it found. Where there is none tests are skipped, unless TIMEBOUND_REQUIRE_BROWSER is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
# It speaks to our own server, and to nobody else.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
]


def executable() -> str | None:
    """A browser: the one that is named in TIMEBOUND_CHROMIUM, one on the PATH, or Playwright's own."""
    named = os.environ.get("TIMEBOUND_CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


def required() -> bool:
    """Whether to be without one is a failure."""
    return bool(os.environ.get("TIMEBOUND_REQUIRE_BROWSER"))


@contextmanager
def launched() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    path = executable()
    assert path is not None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def install() -> None:
    """Install Chromium, as root on Debian."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in ("update", "install -y --no-install-recommends chromium"):
        subprocess.run(["apt-get", *command.split()], env=environment, check=False, **quiet)


def main() -> int:
    """Look, install, look again."""
    found = executable()
    if found is None and not os.environ.get("TIMEBOUND_CHROMIUM"):
        install()
        found = executable()
    if found is None:
        words = "no browser was found: name one in TIMEBOUND_CHROMIUM, or install chromium"
        print(words if required() else f"{words}; the viewer's tests in a browser are skipped", file=sys.stderr)
        return int(required())
    print(f"the viewer's tests use {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
