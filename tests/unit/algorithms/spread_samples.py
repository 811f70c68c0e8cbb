"""Graphs, and ways to split them, for the tests of algorithms on parts."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

import arcflux as af
from arcflux.partition import PARTITIONERS

HOW = list(PARTITIONERS)
NUMBERS = [1, 2, 3, 4, 7, 16]
# Every number of parts with every partitioner; ranks are alone, by twos, by threes, and all together in turn.
SPREADS = [
    {"parts": k, "partition": how, "ranks_per_node": (None, 1, 2, 3)[turn % 4]}
    for turn, (k, how) in enumerate(product(NUMBERS, HOW))
] + [{"parts": 4, "partition": how, "ranks_per_node": nodes} for how in HOW for nodes in (1, 2, 3)]


def named(spread: dict[str, object]) -> str:
    return "-".join(map(str, spread.values()))


@st.composite
def spreads(draw: st.DrawFn, how: tuple[str, ...] = tuple(HOW)) -> dict[str, object]:
    return {
        "parts": draw(st.sampled_from(NUMBERS)),
        "partition": draw(st.sampled_from(how)),
        "ranks_per_node": draw(st.sampled_from([None, 1, 2, 3])),
    }


@st.composite
def graphs(draw: st.DrawFn, directed: bool | None = None) -> af.Graph:
    """Small multigraphs with self-loops and isolated vertices, some with rows in no order."""
    n = draw(st.integers(1, 14))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=50))
    source, target = (np.array([edge[side] for edge in edges], np.int64) for side in (0, 1))
    chosen = draw(st.booleans()) if directed is None else directed
    return af.Graph.from_edges(source, target, vertices=n, directed=chosen, sort=draw(st.booleans()))
