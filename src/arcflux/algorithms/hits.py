"""Hubs and authorities: good hubs point to good authorities, and these are pointed to by good hubs (Kleinberg 1999)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.algorithms.katz import start_values
from arcflux.checks import flag, reals, unwelcome, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.front import warn_unless_converged
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.graph.ids import by_id

__all__ = ["HITS", "hits"]


@af.program
class HITS:
    """The power iteration of A A^T: authority along edges, hubs against them, each divided by the total before.

    `weight` is the new hub value before the division: its total is known one phase later.
    """

    tolerance: float = 1e-8
    most: int = 100
    hub: af.f64
    authority: af.f64
    weight: af.f64
    hubs: af.total(af.f64)
    moved: af.total(af.f64)

    def start(v, g):
        g.hubs += v.weight
        return True

    @af.phase
    class point:
        """An authority is the sum of the hubs that point to it; the change of the hubs is known by then."""

        def init(v):
            v.authority = 0.0

        def compute(v, u):
            v.authority += u.weight

        def update(v, g):
            scale = 1.0 / g.hubs if g.hubs > 0.0 else 0.0  # the same for all: one division
            hub = v.weight * scale
            g.moved += abs(hub - v.hub)
            v.authority = v.authority * scale
            v.hub = hub
            return True

    @af.phase(edges="against")
    class gather:
        """A hub is the sum of the authorities that it points to."""

        def init(v):
            v.weight = 0.0

        def compute(v, u):
            v.weight += u.authority

        def update(v, g):
            g.hubs += v.weight
            return True

    def iteration(run, g, p):
        run.point()
        if g.moved < p.tolerance or run.iterations > p.most:
            return False
        run.gather()
        return True


@graph_call(max_iter=wholes(1), tol=reals(0), nstart=None, normalized=flag, given=unwelcome)
def hits(
    graph: Graph,
    max_iter: int = 100,
    tol: float = 1.0e-8,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
    **options: Any,
) -> af.Result:
    """Hubs and authorities; the arguments are NetworkX's.

    The power iteration begins with `nstart`, a number for each id (without it all hubs are alike), and ends when one
    more moves all hubs together by less than `tol`, as parts of their sum; after `max_iter` of them the result is
    marked as not converged, with a warning. `normalized`: hubs sum to 1, and authorities too; else the largest of each
    is 1.
    Parallel edges count as often as they are there, weights make no difference. Without edges all are 0.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> af.hits(g)["authority"].round(3).tolist()
    [0.0, 0.382, 0.618]
    """
    first = np.full(graph.vertices, 1.0 / max(1, graph.vertices))
    if nstart is not None:
        first = _shares(graph, nstart)
    made = af.run(HITS, graph, given={"weight": first}, tolerance=tol, most=max_iter, **options)
    values = {name: _scaled(made.values[name], normalized) for name in ("hub", "authority")}
    moved = float(made.totals.get("moved", 0.0))
    result = replace(made, values=values, converged=made.converged and moved < tol)
    if made.converged:
        warn_unless_converged(result)
    # One more iteration may move hubs a little more, and floats are rounded.
    reached = max(10 * max(tol, moved), 1e-9)
    return result.checked_by(lambda found: af.validate.hits(graph, found["hub"], found["authority"], reached))


def _shares(graph: Graph, nstart: Any) -> Any:
    known = by_id(nstart)
    if not isinstance(known, Mapping):
        raise UsageError(f"nstart is a {type(nstart).__name__}", expected="a number for each id, such as {7: 1.0}")
    first = start_values(graph, "nstart", known, 0.0)
    if not ((first >= 0).all() and first.any()):
        raise UsageError("nstart has no number above 0, or one that is none", expected="numbers from 0 on, not all 0")
    return first / first.max()  # only proportions count, and a quotient by the total may underflow


def _scaled(values: Any, normalized: bool) -> Any:
    whole = values.sum() if normalized else values.max(initial=0.0)
    return values / whole if whole > 0 else values
