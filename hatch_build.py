"""What hatchling is told of a wheel with kernels inside. ``make wheel`` asks for one; any other is of sources alone.

The kernels are taken from a folder of finished files, never from the tree: what a checkout holds is not what it ships.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    """With ``TIMEBOUND_KERNELS=FOLDER`` and ``TIMEBOUND_TAG=TAG``: the folder's files, in a wheel with that tag."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Hatchling's question before it builds; ``version`` is standard or editable."""
        folder = os.environ.get("TIMEBOUND_KERNELS")
        if not folder or version != "standard":
            return
        files = sorted(Path(folder).glob("*.kernels"))
        if not files:
            raise FileNotFoundError(f"there are no kernels in {folder}")
        build_data["force_include"].update({str(file): f"timebound/kernels/shipped/{file.name}" for file in files})
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["TIMEBOUND_TAG"]
