"""Small random graphs of every kind, each with what the oracles need to know about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import arcflux as af
import oracles

# The first example may have to wait for kernels to be compiled.
patient = settings(deadline=None)


@dataclass
class Sample:
    """A graph of n vertices; `edges` as given, `arcs` in every stored direction; `ids` by vertex number."""

    n: int
    edges: list[tuple[Any, ...]]
    directed: bool
    graph: af.Graph
    ids: list[Any]

    @property
    def arcs(self) -> list[tuple[Any, ...]]:
        return list(self.edges) if self.directed else oracles.both_ways(self.edges)


IDS: dict[str, Callable[[int], Any]] = {
    "range": lambda v: v,
    "gaps": lambda v: v * 10 + 5,
    "text": lambda v: f"v{v:02}",
}


@st.composite
def samples(draw: Any, weights: Any = None, most: int = 8) -> Sample:
    n = draw(st.integers(1, most))
    end = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(end, end) if weights is None else st.tuples(end, end, weights), max_size=3 * n))
    name = IDS[draw(st.sampled_from(list(IDS)))]
    return sample(n, edges, draw(st.booleans()), name, sort=draw(st.booleans()))


def sample(
    n: int,
    edges: list[tuple[Any, ...]],
    directed: bool = False,
    name: Callable[[int], Any] = IDS["gaps"],
    sort: bool = True,
) -> Sample:
    ids = [name(v) for v in range(n)]
    weights = np.array([edge[2] for edge in edges if len(edge) == 3])
    columns = {"weight": weights} if len(weights) == len(edges) else None
    source, target = ([ids[edge[k]] for edge in edges] for k in (0, 1))
    graph = af.Graph.from_edges(source, target, columns=columns, vertices=ids, directed=directed, sort=sort)
    assert graph.ids.to_ids().tolist() == ids
    return Sample(n, edges, directed, graph, ids)


def broken(report: af.validate.Report) -> set[str]:
    """The names of the rules that a report says are broken."""
    return {rule.name for rule in report.rules if not rule.passed}


def blamed(report: af.validate.Report, rule: str) -> list[Any]:
    """The vertices that a report names for a rule."""
    return [offence.vertex for offence in report[rule].offences]
