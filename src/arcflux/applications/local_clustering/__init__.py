"""Local clustering: the cluster around a seed, by personalised PageRank and a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.local_clustering.work import Asked, work
from arcflux.applications.traffic import told
from arcflux.applications.vertex_lists import listed
from arcflux.applications.weights import summable_weights
from arcflux.checks import array, flag, maybe, real, text, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.errors import GraphError, UsageError, WeightError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["LocalClusters", "local_clustering"]

Array = NDArray[Any]
_METHODS = ("push", "fista")
# A smaller number may have an infinite inverse.
_LEAST = 1e-290


@dataclass(frozen=True, repr=False)
class LocalClusters(af.Result):
    """The result of :func:`local_clustering`: the fields `score`, summed over seeds, and `clusters`, how many hold it.

    Seed k (`seeds[k]`, a vertex number) has scores at ``members[offsets[k]:offsets[k + 1]]``, vertex numbers in the
    order of score by degree; the first ``sizes[k]`` of them are its cluster, of conductance ``conductances[k]``.
    ``residuals[k]``: of pushes the largest residual by degree, of FISTA the KKT residual; ``steps[k]``: pushes, or
    iterations; ``left[k]``: what pushes have left in residuals.
    """

    seeds: Array = field(default_factory=lambda: np.empty(0, np.int64))
    offsets: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    members: Array = field(default_factory=lambda: np.empty(0, np.int64))
    scores: Array = field(default_factory=lambda: np.empty(0))
    sizes: Array = field(default_factory=lambda: np.empty(0, np.int64))
    conductances: Array = field(default_factory=lambda: np.empty(0))
    residuals: Array = field(default_factory=lambda: np.empty(0))
    steps: Array = field(default_factory=lambda: np.empty(0, np.int64))
    left: Array = field(default_factory=lambda: np.empty(0))
    traffic: Mapping[str, int] = field(default_factory=dict)

    def cluster(self, k: int = 0) -> Array:
        """The ids of the cluster of seed k, the highest score by degree first.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
        >>> sorted(af.local_clustering(g, [0]).cluster().tolist())
        [0, 1, 2]
        """
        begin = int(self.offsets[k])
        return self.graph.ids.to_ids(self.members[begin : begin + int(self.sizes[k])])

    def scores_of(self, k: int = 0) -> Array:
        """The scores of all vertices for seed k, in the order of the graph's ids."""
        dense = np.zeros(self.graph.vertices)
        where = slice(int(self.offsets[k]), int(self.offsets[k + 1]))
        dense[self.members[where]] = self.scores[where]
        return dense

    def highlights(self) -> list[tuple[str, str]]:
        """Of the first clusters, their size and conductance."""
        ids = self.graph.ids.to_ids(self.seeds[:5]).tolist()
        rows = [
            (f"seed {seed}", f"cluster of {self.sizes[k]:,} vertices, conductance {self.conductances[k]:.4f}, "
             f"{self.offsets[k + 1] - self.offsets[k]:,} with scores, residual {self.residuals[k]:.1e}")
            for k, seed in enumerate(ids)
        ]  # fmt: skip
        return [*rows, *told(self.traffic)]


@graph_call(
    seeds=array, alpha=real, rho=real, method=text, tol=maybe(real), max_iter=wholes(1), weight=maybe(text),
    distributed=flag,
)  # fmt: skip
def local_clustering(
    graph: Graph,
    seeds: Any,
    *,
    alpha: float = 0.15,
    rho: float = 1e-6,
    method: str = "push",
    tol: float | None = None,
    max_iter: int = 100_000_000,
    weight: str | None = "weight",
    distributed: bool = False,
    **where: Any,
) -> LocalClusters:
    """The cluster around each of `seeds`, a list of ids: personalised PageRank that is sparse, and the best sweep cut.

    Parameters
    ----------
    alpha
        The teleport probability of the lazy walk; scores are a PageRank with damping (1 - alpha) / (1 + alpha).
    rho
        How sparse scores are: a residual below rho times the degree stays where it is (`push`), or the weight of the l1
        term (`fista`). Scores have a volume of at most 1/rho.
    method
        "push": PageRank-Nibble by pushes. "fista": the l1-regularised form, by accelerated proximal gradient steps.
    tol
        FISTA ends with a KKT residual, max |q - soft(q - gradient, rho alpha sqrt(d))|, of at most this: a hundredth of
        rho times alpha without it.
    max_iter
        How many pushes, or steps, there may be for a seed; a result that needed more is marked as not converged.
    weight
        The edge column that counts; 1 for each edge without such a column, or with None.
    distributed
        With "fista": each worker has the rows of its own vertices, and steps are taken together (the form of the HIVE
        study). Else every worker sees the whole graph, and takes a share of the seeds.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    Vertices are swept by score divided by degree, equal ones by number; of prefixes the one of the least conductance is
    the cluster, the shortest of equals. Results have the same bits on any number of workers; those of
    ``distributed=True`` agree with the others within `tol`. A seed without edges is a cluster by itself, of
    conductance inf. The graph is undirected.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
    >>> found = af.local_clustering(g, [0, 5])
    >>> [sorted(found.cluster(k).tolist()) for k in (0, 1)], found.conductances.round(4).tolist()
    ([[0, 1, 2], [3, 4, 5]], [0.1429, 0.1429])
    """
    if graph.directed:
        remedy = "load it with directed=False, or graph.both_ways()"
        raise GraphError("the graph is directed", expected="an undirected graph", remedy=remedy)
    asked = _asked(graph, seeds, alpha, rho, method, tol, max_iter, weight)
    if distributed and method != "fista":
        raise UsageError("distributed is for FISTA", expected="method='fista'", remedy="leave distributed out")
    done = launch(graph, where, lambda worker: work(worker, asked, distributed))
    members, scores, facts, traffic = done.answer
    counts, sizes = facts[:, 0].astype(np.int64), facts[:, 1].astype(np.int64)
    sizes[asked.strength[asked.seeds] == 0] = 1
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    inside = np.arange(len(members)) - np.repeat(offsets[:-1], counts) < np.repeat(sizes, counts)
    values = {
        "score": np.bincount(members, scores, graph.vertices),
        "clusters": np.bincount(members[inside], minlength=graph.vertices),
    }
    converged = bool((facts[:, 4] <= (asked.tol if method == "fista" else rho)).all())
    result = LocalClusters(
        f"local clustering by {method}", graph, values, [], converged, done.seconds, done.compile_seconds,
        seeds=asked.seeds, offsets=offsets, members=members, scores=scores, sizes=sizes, conductances=facts[:, 2],
        residuals=facts[:, 4], steps=facts[:, 3].astype(np.int64), left=facts[:, 5], traffic=traffic,
    )  # fmt: skip
    return replace(
        done.finish(result),
        validator=lambda made: af.validate.local_clusters(
            graph, made, alpha=alpha, rho=rho, method=method, tol=asked.tol, weight=weight
        ),
    )


def _asked(
    graph: Graph, seeds: Any, alpha: float, rho: float, method: str, tol: float | None, max_iter: int,
    weight: str | None,
) -> Asked:  # fmt: skip
    if method not in _METHODS:
        raise arguments.unknown_choice("method", method, _METHODS)
    if not 0 < alpha < 1:
        raise UsageError(f"alpha is {alpha!r}", expected="a probability above 0 and below 1", remedy="0.15 is usual")
    if not 0 < rho < np.inf:
        raise UsageError(f"rho is {rho!r}", expected="a number above 0", remedy="1e-6 is usual")
    if tol is not None and not 0 < tol < np.inf:
        raise UsageError(f"tol is {tol!r}", expected="a number above 0")
    roots, weights = listed(graph, "seeds", seeds), summable_weights(graph, weight)
    degrees = np.diff(graph.out.offsets).astype(np.int64)
    strength = degrees.astype(np.float64)
    if weights is not None:
        rows = np.repeat(np.arange(graph.vertices), degrees)
        strength = np.bincount(rows, weights, graph.vertices).astype(np.float64)
        if (strength[strength > 0] < _LEAST).any():
            raise WeightError(
                f"the weights around a vertex sum to {strength[strength > 0].min():g}, by which scores are divided",
                expected=f"{_LEAST:g} or more, or 0", remedy="multiply all by the same number",
            )  # fmt: skip
    return Asked(roots, weights, strength, alpha, rho, 1e-2 * rho * alpha if tol is None else tol, max_iter, method)
