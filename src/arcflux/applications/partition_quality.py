"""The quality of communities, and the similarity of two partitions: conductance, coverage, NMI, ARI."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.weights import edge_weights, within_one
from arcflux.checks import array, maybe, text
from arcflux.engine.call import graph_call
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["adjusted_rand_index", "conductance", "coverage", "normalized_mutual_information"]

Array = NDArray[Any]


@graph_call(community=array, weight=maybe(text))
def coverage(graph: Graph, community: Any, weight: str | None = "weight") -> float:
    """The share of the weight of all edges that lies within communities; 0 without weight.

    `community` has a label for every vertex, in the order of the graph's ids. Self-loops lie within.

    Examples
    --------
    >>> import arcflux as af
    >>> af.coverage("path:4", [0, 0, 1, 1])
    0.6666666666666666
    """
    labels, weights, sources, targets = _weighed(graph, community, weight)
    whole = float(weights.sum())
    return float(weights[labels[sources] == labels[targets]].sum()) / whole if whole else 0.0


@graph_call(community=array, weight=maybe(text))
def conductance(graph: Graph, community: Any, weight: str | None = "weight") -> dict[Any, float]:
    """Of each community, the weight of the edges that leave it over its volume, or that of the rest if that is smaller.

    The volume is the sum of the strengths of its vertices; a self-loop adds twice its weight. Directions are forgotten.
    A community without volume, or that is all there is, has NaN. The keys are the labels, in their order.

    Examples
    --------
    >>> import arcflux as af
    >>> af.conductance("path:4", ["a", "a", "b", "b"])
    {'a': 0.3333333333333333, 'b': 0.3333333333333333}
    """
    labels, weights, sources, targets = _weighed(graph, community, weight)
    names = np.unique(arguments.labels("community", community, graph.vertices))
    size = len(names)
    volume = np.bincount(labels[sources], weights, size) + np.bincount(labels[targets], weights, size)
    cut = labels[sources] != labels[targets]
    leaving = np.bincount(labels[sources[cut]], weights[cut], size)
    leaving = leaving + np.bincount(labels[targets[cut]], weights[cut], size)
    smaller = np.minimum(volume, volume.sum() - volume)
    share = np.divide(leaving, smaller, out=np.full(size, np.nan), where=smaller > 0)
    return dict(zip(names.tolist(), share.tolist(), strict=True))


def normalized_mutual_information(one: Any, other: Any) -> float:
    """The similarity of two partitions of the same things by mutual information: 0 to 1, by the mean of both entropies.

    Both are labels, in the same order. 1 when they are the same but for names; two divisions that have but one part are
    the same.

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    """
    both, rows, columns = _counts(one, other)
    whole = both.sum()
    if not whole:
        return 1.0
    own, theirs = _entropy(rows / whole), _entropy(columns / whole)
    if own == 0 and theirs == 0:
        return 1.0
    shared = own + theirs - _entropy(both / whole)
    return float(min(1.0, max(0.0, 2 * shared / (own + theirs))))


def adjusted_rand_index(one: Any, other: Any) -> float:
    """The similarity of two partitions by pairs, corrected for chance: 1 for the same partition, about 0 by chance.

    Examples
    --------
    >>> round(adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1]), 3)
    -0.5
    """
    counts = _counts(one, other)
    both, rows, columns = (float((part * (part - 1) / 2).sum()) for part in counts)
    n = float(counts[0].sum())
    pairs = n * (n - 1) / 2
    expected = rows * columns / pairs if pairs else 0.0
    most = (rows + columns) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _weighed(graph: Graph, community: Any, weight: str | None) -> tuple[Array, Array, Array, Array]:
    labels = np.unique(arguments.labels("community", community, graph.vertices), return_inverse=True)[1]
    column = edge_weights(graph, weight)
    sources, targets, arcs = graph.edge_numbers()
    weights = np.ones(len(sources)) if column is None else within_one(column[arcs])[0]
    return labels, weights, sources, targets


def _counts(one: Any, other: Any) -> tuple[Array, Array, Array]:
    """How many things have each occurring pair of labels, each of the first labels, and each of the second."""
    left, right = (np.asarray(array(name, given)) for name, given in (("one", one), ("other", other)))
    if left.ndim != 1 or left.shape != right.shape:
        raise UsageError(f"the labels have shapes {left.shape} and {right.shape}", expected="as many of each")
    a, b = (np.unique(side, return_inverse=True)[1] for side in (left, right))
    both = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_counts=True)[1]
    rows, columns = (np.bincount(side) if len(side) else np.empty(0, np.int64) for side in (a, b))
    return both.astype(np.float64), rows.astype(np.float64), columns.astype(np.float64)


def _entropy(shares: Array) -> float:
    kept = shares[shares > 0]
    return float(-(kept * np.log(kept)).sum())
