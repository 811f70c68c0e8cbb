"""The similarity of two vertices by their common neighbours: for edges, pairs, and the most similar ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array, maybe, text, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph
from arcflux.graph.subgraphs import simple_view
from arcflux.validate import arguments

__all__ = [
    "adamic_adar_index", "cosine_similarity", "jaccard_coefficient", "most_similar", "overlap_coefficient",
    "resource_allocation_index", "similarities",
]  # fmt: skip

Array = NDArray[Any]
# The measures in which a common neighbour counts by its degree.
_SHARED = ("adamic_adar", "resource_allocation")
MEASURES = ("jaccard", "overlap", "cosine", *_SHARED)


@graph_call(pairs=maybe(array))
def jaccard_coefficient(graph: Graph, pairs: Any = None, **where: Any) -> Array:
    """Common neighbours as a share of all neighbours of two vertices, for each of some pairs: float64[pairs].

    `pairs` are two columns of ids, ``[("ada", "bob"), ...]``; without them, the edges of the graph, in the order of
    ``graph.edge_list()``. Neighbours count once, self-loops not at all; weights make no difference. Without a neighbour
    it is 0. Workers take a share of the pairs; see :func:`most_similar` for the best of all.

    Raises
    ------
    GraphError
        When the graph is directed.

    Examples
    --------
    >>> import arcflux as af
    >>> af.jaccard_coefficient("complete:4", [(0, 1)]).tolist()
    [0.5]
    """
    return _of_pairs(graph, pairs, "jaccard", where)


@graph_call(pairs=maybe(array))
def overlap_coefficient(graph: Graph, pairs: Any = None, **where: Any) -> Array:
    """Common neighbours as a share of the fewer neighbours of two vertices; see :func:`jaccard_coefficient`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.overlap_coefficient("star:4", [(1, 2)]).tolist()
    [1.0]
    """
    return _of_pairs(graph, pairs, "overlap", where)


@graph_call(pairs=maybe(array))
def cosine_similarity(graph: Graph, pairs: Any = None, **where: Any) -> Array:
    """Common neighbours over the root of the product of two vertices' degrees; see :func:`jaccard_coefficient`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.cosine_similarity("cycle:4", [(0, 2)]).tolist()
    [1.0]
    """
    return _of_pairs(graph, pairs, "cosine", where)


@graph_call(pairs=maybe(array))
def adamic_adar_index(graph: Graph, pairs: Any = None, **where: Any) -> Array:
    """The sum of 1 / log(degree) over common neighbours (Adamic, Adar 2003); see :func:`jaccard_coefficient`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.adamic_adar_index("complete:4", [(0, 1)]).round(3).tolist()
    [1.82]
    """
    return _of_pairs(graph, pairs, "adamic_adar", where)


@graph_call(pairs=maybe(array))
def resource_allocation_index(graph: Graph, pairs: Any = None, **where: Any) -> Array:
    """The sum of 1 / degree over common neighbours (Zhou, Lu, Zhang 2009); see :func:`jaccard_coefficient`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.resource_allocation_index("complete:4", [(0, 1)]).round(3).tolist()
    [0.667]
    """
    return _of_pairs(graph, pairs, "resource_allocation", where)


@graph_call(k=wholes(1), measure=text)
def most_similar(graph: Graph, k: int = 10, measure: str = "jaccard", **where: Any) -> tuple[Array, Array]:
    """The k vertices most similar to each vertex, and how similar: two arrays of shape (vertices, k).

    The first has vertex numbers (-1 where there are fewer than k with a common neighbour), the most similar first,
    equal ones by number; ``graph.ids.to_ids`` makes ids of them. `measure` is "jaccard", "overlap", "cosine",
    "adamic_adar" or "resource_allocation". Only pairs with a common neighbour are looked at: O(sum of squared degrees).

    Examples
    --------
    >>> import arcflux as af
    >>> who, score = af.most_similar("cycle:4", k=1)
    >>> who.tolist(), score.tolist()
    ([[2], [3], [0], [1]], [[1.0], [1.0], [1.0], [1.0]])
    """
    _checked(graph, measure)
    done = launch(graph, where, lambda worker: _most_similar(worker, k, measure))
    return done.answer


def similarities(worker: Worker, left: Array, right: Array, measure: str) -> Array:
    """The similarity of each pair of vertex numbers; every worker takes a share of the pairs."""
    rows = simple_view(worker.graph)
    first, last = worker.share(len(left))
    kernels = worker.kernels(__name__)
    share = _share_of(rows, measure) if measure in _SHARED else None
    own = kernels.common(worker, rows, left[first:last], right[first:last], share)
    total = worker.gather(own)
    degrees = rows.out_degrees.astype(np.float64)
    return _scored(total, degrees[left], degrees[right], measure)


def _scored(common: Array, one: Array, other: Array, measure: str) -> Array:
    if measure == "jaccard":
        whole = one + other - common
    elif measure == "overlap":
        whole = np.minimum(one, other)
    elif measure == "cosine":
        whole = np.sqrt(one * other)
    else:
        return common
    scores: Array = np.divide(common, whole, out=np.zeros(len(common)), where=whole > 0)
    return scores


def _share_of(rows: Graph, measure: str) -> Array:
    """The weight of a common neighbour. It has at least two neighbours, unless the pair is a vertex and itself."""
    degrees = rows.out_degrees.astype(np.float64)
    if measure == "adamic_adar":
        return np.divide(1.0, np.log(np.maximum(degrees, 1)), out=np.zeros(len(degrees)), where=degrees > 1)
    if measure == "resource_allocation":
        return np.divide(1.0, degrees, out=np.zeros(len(degrees)), where=degrees > 0)
    return np.ones(len(degrees))


def _most_similar(worker: Worker, k: int, measure: str) -> tuple[Array, Array]:
    rows = simple_view(worker.graph)
    kernels, (first, last) = worker.kernels(__name__), worker.share(worker.graph.vertices)
    code = min(MEASURES.index(measure), 3)
    who, score = kernels.best(worker, rows, (first, last), k, code, _share_of(rows, measure))
    return tuple(worker.gather(found).reshape(-1, k) for found in (who, score))  # type: ignore[return-value]


def _of_pairs(graph: Graph, pairs: Any, measure: str, where: dict[str, Any]) -> Array:
    _checked(graph, measure)
    if pairs is None:
        left, right, _ = graph.edge_numbers()
    else:
        listed = np.asarray(pairs)
        if listed.size and (listed.ndim != 2 or listed.shape[1] != 2):
            raise UsageError(f"pairs has shape {listed.shape}", expected="two ids in each row: [('ada', 'bob')]")
        columns = listed.reshape(-1, 2).T
        left, right = (arguments.numbers_of(graph, column) if listed.size else np.empty(0, int) for column in columns)
    ends = np.asarray(left, np.int64), np.asarray(right, np.int64)
    return launch(graph, where, lambda worker: similarities(worker, *ends, measure)).answer


def _checked(graph: Graph, measure: str) -> None:
    if measure not in MEASURES:
        raise arguments.unknown_choice("measure", measure, MEASURES)
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="graph.to_undirected()")
