"""Vertex nomination: the vertices nearest to known vertices of interest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.sssp import multi_source_sssp
from arcflux.applications.vertex_lists import listed
from arcflux.checks import array, maybe, text, unwelcome
from arcflux.engine.call import graph_call
from arcflux.graph import Graph

__all__ = ["Nominations", "vertex_nomination"]

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Nominations(af.Result):
    """The result of :func:`vertex_nomination`: the fields `distance`, `rank`, `nearest` and `predecessor`.

    order: the numbers of the vertices that are reached and no seeds, the nearest first.
    """

    order: Array = field(default_factory=lambda: np.empty(0, np.int64))

    def nominated(self, k: int = 10) -> list[tuple[Any, float]]:
        """The k vertices nearest to a seed, without the seeds, and their distances; equal ones in the order of ids.

        Examples
        --------
        >>> import arcflux as af
        >>> af.vertex_nomination(af.load("path:5"), [0]).nominated(2)
        [(1, 1.0), (2, 2.0)]
        """
        first = self.order[:k]
        return list(zip(self.graph.ids.to_ids(first).tolist(), self.values["distance"][first].tolist(), strict=True))

    def highlights(self) -> list[tuple[str, str]]:
        """The nearest vertices."""
        named = ", ".join(f"{vertex} ({distance:g})" for vertex, distance in self.nominated(5))
        return [("nominated", named or "none")]


@graph_call(seeds=array, weight=maybe(text), given=unwelcome)
def vertex_nomination(graph: Graph, seeds: Any, *, weight: str | None = "weight", **options: Any) -> Nominations:
    """Vertices by their distance from the nearest of `seeds`, a list of ids: the HIVE study's vertex nomination.

    Edges are followed in their direction. It is one search from all seeds at once (:func:`multi_source_sssp`), in which
    minima are combined before they are sent. Coppersmith and Priebe nominate by content and context, and graspologic by
    matching or spectra: these are other things by the same name.

    Parameters
    ----------
    weight
        The edge column to add up; 1 for each edge without such a column, or with None.
    **options
        Those of :func:`arcflux.run`.

    Fields: `distance`, inf where no seed leads; `rank`, 0 for the nearest, seeds included, equal distances by id, and
    unreachable vertices last; `nearest`, the seed at that distance to which predecessors lead back, -1 (text ids: None)
    where there is none; `predecessor`, the vertex before on a shortest path.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.vertex_nomination(af.load("path:5"), [0, 4])
    >>> found["distance"].tolist(), found["nearest"].tolist()
    ([0.0, 1.0, 2.0, 1.0, 0.0], [0, 0, 4, 4, 4])
    """
    roots = listed(graph, "seeds", seeds)
    column = None if weight == "weight" and weight not in graph.columns else weight
    found = multi_source_sssp(graph, seeds, weight=column, **options)
    values = {"distance": found.values["distance"]}
    order = np.argsort(values["distance"], kind="stable")
    values["rank"] = np.empty(graph.vertices, np.int64)
    values["rank"][order] = np.arange(graph.vertices)
    if "predecessor" in found.values:
        values["predecessor"] = found.values["predecessor"]
        values["nearest"] = _roots(found.values["predecessor"])
    others = order[np.isfinite(values["distance"][order]) & ~np.isin(order, roots)]
    return Nominations(
        **{**found.__dict__, "name": "vertex nomination", "values": values, "order": others,
           "references": found.references | ({"nearest"} & set(values))}
    )  # fmt: skip


def _roots(before: Array) -> Array:
    """The end of the way back along predecessors, by pointer doubling; -1 stays."""
    known = before >= 0
    roots = np.where(known, before, np.arange(len(before)))
    while not np.array_equal(again := roots[roots], roots):
        roots = again
    return np.where(known, roots, -1).astype(before.dtype)
