"""The fields of edges in a result: by name, in the order of the graph's out-edges, with the ids of both ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.graph.arcs import in_places

__all__ = ["EdgeValues"]

Array = NDArray[Any]


class EdgeValues(Mapping[str, Array]):
    """What a run left on edges: ``result.edges["message"]`` has a row for each arc, as ``graph.columns`` has.

    `source` and `target` are the ids of its ends. An undirected edge is two arcs, each with a row of its own.

    Examples
    --------
    >>> import arcflux as af
    >>> values = EdgeValues(af.load("path:3"), {"flow": np.array([1.0, 0.0, 0.0, 2.0])})
    >>> values["flow"].tolist(), values.source.tolist(), values.target.tolist()
    ([0.0, 1.0, 2.0, 0.0], [0, 1, 1, 2], [1, 0, 2, 1])
    """

    def __init__(
        self, graph: Graph, by_target: Mapping[str, Array],
        by_arc: Mapping[str, Array | Callable[[], Array]] | None = None,
    ) -> None:  # fmt: skip
        """`by_target`: the fields in the order of in-edges, as runs have them; `by_arc`: in that of out-edges.

        A function among the latter is called when its field is asked for.
        """
        self._graph, self.by_target, self._by_arc = graph, by_target, by_arc or {}
        self._known: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name in self._known:
            return self._known[name]
        if name in self._by_arc:
            values = self._by_arc[name]
            self._known[name] = values() if callable(values) else values
        elif name in self.by_target:
            self._known[name] = self.by_target[name][in_places(self._graph)]
        else:
            known = ", ".join(self) or "none"
            raise UsageError(f"the result has no edge field {name!r}", expected=f"one of: {known}",
                             remedy=did_you_mean(str(name), list(self)))  # fmt: skip
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return chain(self.by_target, self._by_arc)

    def __len__(self) -> int:
        return len(self.by_target) + len(self._by_arc)

    def __repr__(self) -> str:
        return f"<EdgeValues of {self._graph.arcs:,} arcs: {', '.join(self) or 'none'}>"

    @cached_property
    def source(self) -> Array:
        """The ids of the vertices that arcs leave."""
        offsets = self._graph.out.offsets
        return self._graph.ids.to_ids(np.repeat(np.arange(self._graph.vertices), np.diff(offsets).astype(np.int64)))

    @cached_property
    def target(self) -> Array:
        """The ids of the vertices that arcs reach."""
        return self._graph.ids.to_ids(self._graph.out.neighbours)
