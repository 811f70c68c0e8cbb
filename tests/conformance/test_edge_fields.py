"""Fields of edges: every way to run a program gives what a few loops over lists of arcs give."""

from __future__ import annotations

from typing import Any

import pytest
from edge_programs import NAMES, check, graph_of

WAYS: dict[str, dict[str, Any]] = {
    "python": {"debug": True},
    "one thread": {"threads": 1},
    "two threads": {"threads": 2},
    "deterministic": {"threads": 2, "deterministic": True},
    "asked to push": {"threads": 2, "direction": "push"},
    "parts": {"parts": 3, "exchange": "readers"},
    "nodes": {"parts": 3, "ranks_per_node": 1},
    "nodes of two": {"parts": 4, "ranks_per_node": 2, "partition": "random"},
    "grid": {"parts": 4, "partition": "grid", "exchange": "auto", "ranks_per_node": 1},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_way_gives_what_loops_give(name: str, directed: bool, way: str) -> None:
    check(name, graph_of(name, directed), **WAYS[way])
