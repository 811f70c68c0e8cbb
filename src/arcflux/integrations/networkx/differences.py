"""Tests of NetworkX's own suite that the backend does not pass, one by one, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["DIFFERENCES", "on_start_tests"]

# The end of a test's id: why.
DIFFERENCES: dict[str, str] = {
    "::TestDAG::test_topological_sort6": (
        "it changes the graph while it iterates over the result, and expects an error: what was converted stays"
    ),
}


def on_start_tests(items: Iterable[Any]) -> None:
    """NetworkX calls this before it runs its tests through the backend: mark those that are expected to fail."""
    import pytest

    for item in items:
        for name, reason in DIFFERENCES.items():
            if item.nodeid.endswith(name):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
