"""Which nodes matter: PageRank, hubs and authorities, degrees, betweenness."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.edge_betweenness import arc_dependencies
from arcflux.engine.launch import launch
from arcflux.graph import Graph
from arcflux.graph.arcs import reverse_places
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.settings import where

__all__ = [
    "betweenness_centrality",
    "degree_centrality",
    "edge_betweenness_centrality",
    "eigenvector_centrality",
    "hits",
    "in_degree_centrality",
    "katz_centrality",
    "out_degree_centrality",
    "pagerank",
]

Array = NDArray[Any]
# An iteration of ARPACK, which NetworkX's hits uses, is up to so many products with the matrix.
_PRODUCTS = 20


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warning that a run has not converged: NetworkX raises an error instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def listed(g: BackendGraph, values: Mapping[Any, float]) -> Array:
    """A number for each vertex, 0 for those that are not in the mapping."""
    return np.fromiter((values.get(node, 0) for node in g.nodes), np.float64, len(g))


def weighed_from_0(g: BackendGraph, weight: str | None) -> Graph | None:
    """The graph with its weights, if they are not all 1; those that Arcflux refuses are left to NetworkX."""
    weighed = g.weighed(weight)
    if weighed is None:
        return None
    column = weighed.columns["weight"]
    if not (np.isfinite(column) & (column >= 0)).all():
        raise NotImplementedError("there are weights below 0, or that are no numbers")
    return weighed


def pagerank(
    G: BackendGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """The rank of every node; see :func:`arcflux.pagerank`."""
    if not len(G):
        return {}
    given = {}
    for name, values in (("personalization", personalization), ("nstart", nstart)):
        if values is not None:
            given[name] = listed(G, values)
            if not (np.isfinite(given[name]).all() and (given[name] >= 0).all()):
                raise NotImplementedError(f"{name} has numbers below 0, or that are none")
    if personalization is not None and not given["personalization"].any():
        raise ZeroDivisionError
    weighed = weighed_from_0(G, weight)
    with quietly():
        result = af.pagerank(
            weighed or G.graph, alpha, max_iter=max_iter, tol=tol, weight=None if weighed is None else "weight",
            method="power", **given, **where(),
        )  # fmt: skip
    # On large graphs Arcflux goes on until ranks are exact to 1e-4 in all; where that takes too long NetworkX's do.
    if not result.converged and not (result.history and result.residual < len(G) * tol):
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_node(result["rank"])


def hits(
    G: BackendGraph,
    max_iter: int = 100,
    tol: float = 1.0e-8,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Hubs and authorities, each summing to 1; see :func:`arcflux.hits`."""
    if not len(G):
        return {}, {}
    if G.weighed("weight") is not None:
        raise NotImplementedError("edges have weights")
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    first = None if nstart is None else dict(zip(range(len(G)), nstart.values(), strict=True))
    if first is not None and not (all(share >= 0 for share in first.values()) and any(first.values())):
        raise NotImplementedError("nstart has numbers below 0, or none above")
    with quietly():
        result = af.hits(G.graph, max_iter * _PRODUCTS, tol, first, **where())
    if not result.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_node(result["hub"]), G.by_node(result["authority"])


def degree_centrality(G: BackendGraph) -> dict[Any, float]:
    """The share of other nodes that each is joined to."""
    degrees = G.graph.out_degrees.astype(np.int64)
    return _shares(G, degrees + (G.graph.in_degrees.astype(np.int64) if G.is_directed() else G.loops_at))


def in_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    """The share of other nodes that lead to each."""
    return _shares(G, G.graph.in_degrees)


def out_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    """The share of other nodes that each leads to."""
    return _shares(G, G.graph.out_degrees)


def _shares(g: BackendGraph, degrees: Array) -> dict[Any, float]:
    if len(g) <= 1:
        return dict.fromkeys(g.nodes, 1)
    return g.by_node(degrees * (1.0 / (len(g) - 1.0)))


def betweenness_centrality(
    G: BackendGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """The share of shortest paths through each node; see :func:`arcflux.betweenness_centrality`."""
    n = len(G)
    sampled = None if k is None or k == n else nx.utils.create_py_random_state(seed).sample(range(n), k)
    sources = list(range(n)) if sampled is None else sampled
    halves = af.betweenness_centrality(G.graph, normalized=False, endpoints=endpoints, sources=sources, **where())
    ends = n if endpoints else n - 1
    if ends < 2:
        return G.by_node(halves["centrality"])
    sums = halves["centrality"] * (1 if G.is_directed() else 2)  # from each end of a pair, as NetworkX adds them up
    whole = 1.0 / (ends - 1) if normalized else ends / (1 if G.is_directed() else 2)
    scale = np.full(n, whole / len(sources) if sampled is not None else whole / ends)
    if sampled is not None and not endpoints:
        # A source is never inside its own paths, so it was sampled once less than the others.
        scale[sampled] = whole / (len(sources) - 1) if len(sources) > 1 else np.nan
    return G.by_node(sums * scale)


def edge_betweenness_centrality(
    G: BackendGraph, k: int | None = None, normalized: bool = True, weight: str | None = None, seed: Any = None
) -> dict[Any, float]:  # fmt: skip
    """The share of shortest paths along each edge; see :func:`arcflux.edge_betweenness_centrality`."""
    n = len(G)
    sampled = range(n) if k is None else nx.utils.create_py_random_state(seed).sample(range(n), k)
    sources = np.array(sampled, np.int64)
    sums = launch(G.graph, where(), lambda worker: arc_dependencies(worker, sources)).answer
    places = np.arange(G.graph.arcs)
    if not G.is_directed():
        places = np.flatnonzero(G.tails <= G.graph.out.neighbours)
        sums = sums + sums[reverse_places(G.graph)] if len(sums) else sums
    if n > 1:
        both = 1 if G.is_directed() else 2
        sums = sums * (1 / (len(sources) * (n - 1)) if normalized else n / (len(sources) * both))
    ends = zip(G.nodes_of(G.tails[places]), G.nodes_of(G.graph.out.neighbours[places]), strict=True)
    return dict(zip(ends, sums[places].tolist(), strict=True))


def katz_centrality(
    G: BackendGraph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
    weight: str | None = None,
) -> dict[Any, float]:
    """How many walks lead to each node, longer ones counting less; see :func:`arcflux.katz_centrality`."""
    if not len(G):
        return {}
    try:
        own: Any = float(beta)
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(G.nodes):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        own = listed(G, beta)
    weighed, first = weighed_from_0(G, weight), None if nstart is None else listed(G, nstart)
    with quietly():
        result = af.katz_centrality(
            weighed or G.graph, alpha, own, max_iter, tol, first, normalized,
            None if weighed is None else "weight", **where(),
        )  # fmt: skip
    if not result.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_node(result["centrality"])


def eigenvector_centrality(
    G: BackendGraph,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = None,
) -> dict[Any, float]:
    """The leading eigenvector, of length 1; see :func:`arcflux.eigenvector_centrality`."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    first = None if nstart is None else listed(G, nstart)
    if first is not None and not first.any():
        raise nx.NetworkXError("initial vector cannot have all zero values")
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    weighed = weighed_from_0(G, weight)
    with quietly():
        result = af.eigenvector_centrality(
            weighed or G.graph, max_iter, tol, first, None if weighed is None else "weight", **where()
        )
    if not result.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.by_node(result["centrality"])
