"""A graph whose arcs are with several ranks: each knows all vertices and their degrees, and the arcs of its own part.

What asks for the arcs of all vertices gets an error that says so. Runs on parts ask for offsets alone, and for the arcs
of the part that is theirs (partition/rank_part.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux.errors import WholeGraphError
from arcflux.graph.columns import Columns
from arcflux.graph.core import Adjacency, Graph, Origin
from arcflux.graph.ids import Ids
from arcflux.spmd.memory import frozen

__all__ = ["SplitGraph"]

Array = NDArray[Any]


class SplitGraph(Graph):
    """A graph by its vertices and degrees.

    Parameters
    ----------
    into, out
        Where the in-edges, and the out-edges, of each vertex begin among those of all: uint64[vertices + 1].
    edges
        How many edges there are; undirected ones count once.
    columns
        Some values of each edge column, by which the others can be judged.

    Examples
    --------
    >>> ends = np.array([0, 1, 2], np.uint64)
    >>> graph = SplitGraph(ends, ends, edges=2, directed=True, columns={}, ids=None, number_type=np.uint32)
    >>> graph.vertices, graph.arcs, graph.in_degrees.tolist(), graph.whole
    (2, 2, [1, 1], False)
    """

    __slots__ = ("_in_offsets", "_samples")

    whole = False

    def __init__(
        self, into: Array, out: Array, *, edges: int, directed: bool, columns: Mapping[str, Array],
        ids: Ids | None, number_type: DTypeLike, origin: Origin | None = None,
    ) -> None:  # fmt: skip
        self._in_offsets = frozen(into)
        self._samples = dict(columns)
        nothing = Adjacency(out, np.empty(0, number_type))
        super().__init__(nothing, directed=directed, ids=ids, origin=origin)
        object.__setattr__(self, "edges", edges)

    @property
    def arcs(self) -> int:
        """Stored directions, of all ranks together."""
        return int(self.out_offsets[-1])

    @property
    def memory(self) -> int:
        """Bytes that each rank has of the graph, without the arcs of its part."""
        return self._in_offsets.nbytes + self._out.offsets.nbytes + self._ids.nbytes

    @property
    def column_types(self) -> dict[str, np.dtype[Any]]:
        """The types of the edge columns, by name."""
        return {name: some.dtype for name, some in self._samples.items()}

    def column_sample(self, name: str, size: int) -> Array:
        """Some values of an edge column: those that all ranks know."""
        return self._samples[name]

    @property
    def out_offsets(self) -> Array:
        """Where the out-edges of each vertex begin among all, and their number: uint64[vertices + 1]."""
        return self._out.offsets

    @property
    def in_offsets(self) -> Array:
        """The same of in-edges."""
        return self._in_offsets

    @property
    def weighted(self) -> bool:
        """Whether there is a column named weight."""
        return "weight" in self._samples

    @property
    def out(self) -> Adjacency:
        """The out-edges of all vertices, which no rank has."""
        self._refuse("out-edges of all vertices")

    @property
    def columns(self) -> Mapping[str, Array]:
        """Edge columns by name; their values are with the parts."""
        return Columns(_Elsewhere(self._samples, self._refuse), lambda name: None)

    @property
    def in_columns(self) -> Mapping[str, Array]:
        """Edge columns by name; their values are with the parts."""
        return self.columns

    def _reversed(self) -> tuple[Adjacency, dict[str, Array]]:
        self._refuse("in-edges of all vertices")

    def _refuse(self, what: str) -> NoReturn:
        raise WholeGraphError(
            f"{what} are asked for, and the graph was built in parts: each rank has the in-edges of its own vertices",
            expected="a program that sees in-edges, and no fields of edges",
            remedy="build='whole', if every host has room for the graph",
        )


class _Elsewhere(Mapping[str, Any]):
    """Names of columns, whose values are refused."""

    def __init__(self, names: Iterable[str], refuse: Callable[[str], NoReturn]) -> None:
        self._names, self._refuse = list(names), refuse

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        self._refuse(f"the values of the edge column {name!r}")

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
