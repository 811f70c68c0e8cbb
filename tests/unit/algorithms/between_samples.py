"""Small random graphs of every kind, with what the oracles and NetworkX need to know about them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux import trace

# The first example may have to wait for kernels to be compiled.
patient = settings(deadline=None, max_examples=60)

IDS: dict[str, Callable[[int], Any]] = {
    "range": lambda v: v,
    "gaps": lambda v: v * 10 - 25,
    "text": lambda v: f"v{v:02}",
}


@dataclass
class Sample:
    """A graph of n vertices; `edges` as given, in vertex numbers; `ids` by vertex number."""

    n: int
    edges: list[tuple[int, int]]
    directed: bool
    graph: af.Graph
    ids: list[Any]

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """Every direction that is stored."""
        return list(self.edges) if self.directed else oracles.both_ways(self.edges)

    @property
    def networkx(self) -> Any:
        """The simple graph, its nodes in the order of the vertex numbers."""
        made = nx.DiGraph() if self.directed else nx.Graph()
        made.add_nodes_from(self.ids)
        made.add_edges_from((self.ids[u], self.ids[v]) for u, v in self.edges if u != v)
        return made


@st.composite
def samples(draw: Any, most: int = 12) -> Sample:
    n = draw(st.integers(1, most))
    end = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(end, end), max_size=3 * n))
    return sample(n, edges, draw(st.booleans()), draw(st.sampled_from(list(IDS))), sort=draw(st.booleans()))


def sample(
    n: int, edges: list[tuple[int, int]], directed: bool = False, kind: str = "range", sort: bool = True
) -> Sample:
    ids = [IDS[kind](v) for v in range(n)]
    source, target = ([ids[edge[k]] for edge in edges] for k in (0, 1))
    graph = af.Graph.from_edges(source, target, vertices=ids if n else 0, directed=directed, sort=sort)
    assert graph.ids.to_ids().tolist() == ids
    return Sample(n, edges, directed, graph, ids)


def seconds_to_interrupt(task: str, call: Callable[[], Any]) -> float:
    """How long a call goes on that meets Ctrl-C when it first tells how far it is."""
    told = 0

    def press(event: trace.Event) -> None:
        nonlocal told
        if isinstance(event, trace.Task) and event.name == task:
            told += 1
            if told == 2:
                raise KeyboardInterrupt

    begun = time.perf_counter()
    with trace.listen(press), pytest.raises(KeyboardInterrupt):
        call()
    return time.perf_counter() - begun
