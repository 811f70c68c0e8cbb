"""Tests see no settings of the user's, but those they make."""

import os

import pytest


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARCFLUX_QUIET", "ARCFLUX_THREADS", "NO_COLOR"):
        if name in os.environ:
            monkeypatch.delenv(name)
