"""Small multigraphs of every kind, with the edges that made them."""

from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st

import arcflux as af
import oracles

# The first example may have to wait for kernels to be compiled.
patient = settings(deadline=None, max_examples=60)

NAMES = {"range": lambda v: v, "gaps": lambda v: v * 10 - 5, "text": lambda v: f"v{v:02}"}


class Sample(NamedTuple):
    """A graph of n vertices; `edges` as given, by vertex number; `ids` in the order of the numbers."""

    n: int
    edges: list[tuple[int, int]]
    graph: af.Graph
    ids: list[Any]

    @property
    def arcs(self) -> list[tuple[int, int]]:
        return self.edges if self.graph.directed else oracles.both_ways(self.edges)


def sample(n: int, edges: list[tuple[int, int]], directed: bool, name: str = "gaps", sort: bool = True) -> Sample:
    ids = [NAMES[name](v) for v in range(n)]
    ends = ([ids[edge[k]] for edge in edges] for k in (0, 1))
    return Sample(n, edges, af.Graph.from_edges(*ends, vertices=ids, directed=directed, sort=sort), ids)


@st.composite
def samples(draw: Any, directed: bool | None = None, most: int = 12) -> Sample:
    """Random multigraphs with self-loops, opposite and parallel edges; `directed` None is either kind."""
    n = draw(st.integers(1, most))
    end = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(end, end), max_size=4 * n))
    kind = draw(st.booleans()) if directed is None else directed
    return sample(n, edges, kind, draw(st.sampled_from(list(NAMES))), draw(st.booleans()))
