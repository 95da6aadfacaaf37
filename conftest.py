"""What the examples in docstrings and documents share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# A process that a script has started in the background ignores Ctrl-C, and so would all that it starts; some tests are
# about just that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _registered_for_one_example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An algorithm that an example registers is gone after it: the tests run in the same process."""
    from timebound.algorithms import REGISTRY

    if type(request.node).__name__ != "DoctestItem":
        yield
        return
    with monkeypatch.context() as patch:
        patch.setattr(REGISTRY, "_others", dict(REGISTRY._others))
        yield
    REGISTRY.version += 1
