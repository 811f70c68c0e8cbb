"""Algorithms defined by their rounds, checked by repeating these with plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, real, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.spmd.counter import define
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["collaborative_filtering", "fast_random_projection", "label_propagation"]

Array = NDArray[Any]


@takes_graph
@checked(label=None, rounds=wholes(1))
def label_propagation(graph: Graph, label: Any, rounds: int = 10) -> Report:
    """Check communities of LDBC's label propagation, which are ids of vertices, after a number of rounds.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.label_propagation("star:4", [1, 0, 0, 0], rounds=1))
    True
    >>> bool(af.validate.label_propagation("star:4", [1, 1, 0, 0], rounds=1))
    False
    """
    given, ids, n = arguments.labels("label", label, graph.vertices), graph.ids.to_ids(), graph.vertices
    order = np.argsort(ids, kind="stable")  # text by code points, the order of its UTF-8 bytes
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    source, target, _ = graph.edge_numbers()
    wide, apart = np.int64(max(1, n)), source != target
    keys = np.unique(source[apart].astype(np.int64) * wide + target[apart])
    voter, voted = np.concatenate([keys // wide, keys % wide]), np.concatenate([keys % wide, keys // wide])
    now = rank
    for _ in range(rounds):
        votes, count = np.unique(voted * wide + now[voter], return_counts=True)
        best = np.lexsort((votes % wide, -count, votes // wide))
        _, first = np.unique((votes // wide)[best], return_index=True)
        leading = votes[best[first]]
        then = now.copy()
        then[leading // wide] = leading % wide
        if np.array_equal(then, now):
            break
        now = then
    expected = ids[order[now]]
    rule = Rule.checked("labels", f"every label is that of {rounds} rounds", np.flatnonzero(given != expected),
                        lambda v: Offence(arguments.user_id(graph, v), f"{given[v]}", f"{expected[v]}"))  # fmt: skip
    return Report("label propagation", (rule,))


@takes_graph
@checked(
    factors=array, rate=real, regularisation=real, iterations=wholes(0), seed=any_seed, weight=text, tolerance=real
)
def collaborative_filtering(
    graph: Graph, factors: Any, rate: float, regularisation: float = 0.01, iterations: int = 50, seed: int = 1, *,
    weight: str = "weight", tolerance: float = 1e-3,
) -> Report:  # fmt: skip
    """Check factors against gradient descent in double precision from the same start, up to `tolerance`.

    The arguments are those of :func:`arcflux.collaborative_filtering`. Each row may differ from the expected one by
    `tolerance` times the length of the longest row.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.load("ratings:6x4,per=2")
    >>> found = af.collaborative_filtering(g, rate=0.01)["factors"]
    >>> bool(af.validate.collaborative_filtering(g, found, rate=0.01)), bool(
    ...     af.validate.collaborative_filtering(g, found + 0.01, rate=0.01))
    (True, False)
    """
    from scipy.sparse import csr_array

    given, n = _rows(graph, "factors", factors), graph.vertices
    offsets, neighbours = graph.out
    if weight not in graph.columns:
        arguments.weights(graph, weight)  # raises an error that lists the columns
    ratings = arguments.reals(weight, graph.columns[weight], graph.arcs)
    now = _first_factors(given.shape, ratings, seed)
    source = np.repeat(np.arange(n), np.diff(offsets).astype(np.int64))
    for _ in range(iterations):
        error = ratings - (now[source] * now[neighbours]).sum(axis=1)
        gradient = csr_array((error, neighbours.astype(np.int64), offsets.astype(np.int64)), (n, n)) @ now
        now = now + rate * (gradient - regularisation * now)
    return Report("collaborative filtering", (_close(graph, f"of {iterations} iterations", given, now, tolerance),))


def _first_factors(shape: tuple[int, ...], ratings: Array, seed: int) -> Array:
    """Values around the root of the mean rating, spread by the ratings' own deviation, by a hash of 32 bits."""
    mean, deviation = (float(ratings.mean()), float(ratings.std())) if len(ratings) else (0.0, 0.0)
    x = (seed % (1 << 32) * 668265263 + np.arange(shape[0] * shape[1])) & 0xFFFFFFFF
    for _ in range(2):
        x = ((x ^ (x >> 16)) * 2146121005) & 0xFFFFFFFF
        x = ((x ^ (x >> 15)) * 739982445) & 0xFFFFFFFF
    drawn = (x ^ (x >> 16)).reshape(shape) / 2147483648.0 - 1.0
    first: Array = (max(mean, 0.0) / shape[1]) ** 0.5 + (max(deviation, 1e-3) / shape[1]) ** 0.5 * drawn
    return first


@takes_graph
@checked(embedding=array, iteration_weights=array, normalization_strength=real, seed=any_seed, tolerance=real)
def fast_random_projection(
    graph: Graph, embedding: Any, iteration_weights: Sequence[float] = (0.0, 1.0, 1.0),
    normalization_strength: float = 0.0, seed: int = 0, *, tolerance: float = 1e-9,
) -> Report:  # fmt: skip
    """Check vectors of :func:`arcflux.fast_random_projection`, by sparse matrices; its other arguments are the same.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.fast_random_projection("path:3", 4)["embedding"]
    >>> bool(af.validate.fast_random_projection("path:3", found)), bool(
    ...     af.validate.fast_random_projection("path:3", -found))
    (True, False)
    """
    from scipy.sparse import csr_array

    given, n = _rows(graph, "embedding", embedding), graph.vertices
    offsets, neighbours = graph.out
    matrix = csr_array((np.ones(graph.arcs), neighbours.astype(np.int64), offsets.astype(np.int64)), (n, n)).T.tocsr()
    degree = np.maximum(1.0, graph.in_degrees.astype(np.float64))[:, None]
    number, column = np.indices(given.shape, np.uint64)
    with np.errstate(all="ignore"):  # unsigned words wrap around
        draws = define(lambda function: function).random_of(np.uint64(seed % (1 << 64)), number, np.uint64(0), column)
    near = np.where(draws < 1 / 6, 1.0, np.where(draws < 1 / 3, -1.0, 0.0)) * degree**normalization_strength * 3**0.5
    expected = np.zeros_like(given)
    for part in arguments.reals("iteration_weights", iteration_weights, np.size(np.asarray(iteration_weights))):
        near = matrix @ near
        length = np.linalg.norm(near, axis=1)[:, None]
        expected += part * np.divide(near, length, out=np.zeros_like(near), where=length > 0)
        near = near / degree
    return Report("fast random projection", (_close(graph, "of its definition", given, expected, tolerance),))


def _rows(graph: Graph, name: str, given: Any) -> Array:
    found = np.asarray(given)
    if found.ndim != 2 or found.shape[0] != graph.vertices or found.dtype.kind not in "iuf":
        raise UsageError(
            f"{name} has shape {found.shape}", expected=f"({graph.vertices}, columns): a row for each vertex"
        )
    return found.astype(np.float64)


def _close(graph: Graph, what: str, given: Array, expected: Array, tolerance: float) -> Rule:
    """Whether rows are the expected ones, up to `tolerance` times the longest of these."""
    if given.shape != expected.shape:
        raise UsageError(f"rows have {given.shape[1]} numbers", expected=f"{expected.shape[1]}")
    far = np.linalg.norm(given - expected, axis=1)
    longest = float(np.linalg.norm(expected, axis=1).max(initial=0.0))
    return Rule.checked("rows", f"every row is that {what}", np.flatnonzero(~(far <= tolerance * longest)),
                        lambda v: Offence(arguments.user_id(graph, v), f"off by {far[v]:.3g}", "its own"))  # fmt: skip
