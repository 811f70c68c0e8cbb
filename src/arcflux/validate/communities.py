"""Communities, checked by their modularity, by single moves, and by whether they are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, flag, maybe, real, text
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["communities"]


@takes_graph
@checked(modularity=maybe(real), resolution=real, objective=text, weight=maybe(text), connected=flag, tolerance=real)
def communities(
    graph: Graph,
    community: Any,
    modularity: float | None = None,
    *,
    resolution: float = 1.0,
    objective: str = "modularity",
    weight: str | None = "weight",
    connected: bool = False,
    tolerance: float = 1e-5,
) -> Report:
    """Check communities: their modularity is the given one, and moving a vertex gains at most `tolerance`.

    Parameters
    ----------
    community
        A label for each vertex.
    modularity
        Their modularity; None not to check it.
    resolution, objective, weight
        As for :func:`arcflux.leiden`; gains of "cpm" are relative to all weight, too.
    connected
        Whether each community has to be connected by its own edges.
    tolerance
        The most that a move may gain.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
    >>> bool(af.validate.communities(g, [0, 0, 0, 1, 1, 1]))
    True
    >>> af.validate.communities(g, [0, 0, 1, 1, 1, 1])["moves"].offences[0].vertex
    2
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = graph.vertices
    labels = np.unique(arguments.labels("community", community, n), return_inverse=True)[1].astype(np.int64)
    count = int(labels.max(initial=-1)) + 1
    column = graph.columns.get(weight) if weight is not None else None
    source, target, places = graph.edge_numbers()
    weights = np.ones(len(places)) if column is None else column[places].astype(np.float64)
    exponent = int(np.frexp(weights.max(initial=0))[1])  # scale by a power of two, so that sums stay finite
    weights = np.ldexp(weights, -exponent)
    ends = np.concatenate([source, target]).astype(np.int64), np.concatenate([target, source]).astype(np.int64)
    matrix = csr_array((np.concatenate([weights, weights]), ends), (n, n))  # a loop counts twice
    strength = np.asarray(matrix.sum(1)).reshape(-1)
    whole = float(strength.sum()) or 1.0
    mass, rate = strength, resolution / whole
    if objective != "modularity":
        mass, rate = np.ones(n), float(np.ldexp(resolution, -exponent))
    rules = []
    if modularity is not None:
        inside = float(weights[labels[source] == labels[target]].sum()) * 2
        shares = np.bincount(labels, strength, count) / whole
        value = inside / whole - resolution * float((shares**2).sum()) if strength.any() else 0.0
        wrong = not np.isclose(value, modularity, rtol=1e-9, atol=1e-9)
        rules.append(Rule.overall("modularity", f"the modularity is {modularity:.6f}", f"{value:.6f}", wrong))
    gains = _gains(matrix, labels, count, mass, rate) * (2.0 / whole)
    movable = np.flatnonzero(gains > tolerance)
    rules.append(
        Rule.checked(
            "moves", f"no single move gains more than {tolerance:g}", movable,
            lambda v: Offence(arguments.user_id(graph, v), f"a move that gains {gains[v]:.3g}", "none"),
        )
    )  # fmt: skip
    if connected:
        same = (labels[source] == labels[target]) & (weights > 0)
        # With indices of 64 bits, scipy 1.11 finds no components and raises no error.
        links = csr_array(
            (np.ones(int(same.sum()), np.int8), (source[same].astype(np.int32), target[same].astype(np.int32))), (n, n)
        )
        pieces = connected_components(links, directed=False)[0] if n else 0
        rules.append(
            Rule.overall("connected", "every community is connected", f"{pieces - count} pieces more", pieces != count)
        )
    return Report("communities", tuple(rules))


def _gains(matrix: Any, labels: Any, count: int, mass: Any, rate: float) -> Any:
    """The largest gain of each vertex from a move to another community, or to one of its own."""
    from scipy.sparse import csr_array

    n = len(labels)
    loops = matrix.diagonal()
    towards = (matrix @ csr_array((np.ones(n), (np.arange(n), labels)), (n, max(1, count)))).tocoo()
    total = np.bincount(labels, mass, max(1, count))
    stay = -rate * mass * (total[labels] - mass) - loops
    own = towards.col == labels[towards.row]
    stay[towards.row[own]] += towards.data[own]
    best = np.zeros(n)  # a community of its own
    row, other = towards.row[~own], towards.col[~own]
    np.maximum.at(best, row, towards.data[~own] - rate * mass[row] * total[other])
    return best - stay
