"""Fused lassos, checked by their certificate: a dual point whose value is as large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, maybe, real, text
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["fused_lasso"]


@takes_graph
@checked(penalty=real, l1=real, weight=maybe(text), tolerance=real)
def fused_lasso(
    graph: Graph,
    signal: Any,
    found: Any,
    penalty: float,
    dual: Any,
    *,
    l1: float = 0.0,
    weight: str | None = "weight",
    tolerance: float = 1e-8,
) -> Report:
    """Check a solution of :func:`arcflux.fused_lasso` by the gap between its objective and that of a dual point.

    No dual point has a larger value than the minimum, so the gap bounds the error of a solution: |x - best|^2 is at
    most twice the gap.

    Parameters
    ----------
    signal, found
        The signal that was given, and the solution: a number for each vertex.
    dual
        For each arc, in the order of ``graph.columns``, a number of at most penalty times its weight.
    tolerance
        How large the gap may be, relative to the larger of the objective and the sum of squares of the signal.

    Examples
    --------
    >>> import arcflux as af
    >>> result = af.fused_lasso("path:3", [0, 5, 9], 2)
    >>> bool(af.validate.fused_lasso(result.graph, [0, 5, 9], result["signal"], 2, result.dual))
    True
    >>> bool(af.validate.fused_lasso(result.graph, [0, 5, 9], [1, 5, 8], 2, result.dual))
    False
    """
    given, x = arguments.reals("signal", signal, graph.vertices), arguments.reals("found", found, graph.vertices)
    z = arguments.reals("dual", dual, graph.arcs)
    column = graph.columns.get(weight) if weight is not None else None
    prices = penalty * (np.ones(graph.arcs) if column is None else column.astype(np.float64))
    source, target, places = graph.edge_numbers()
    beyond = np.flatnonzero(~(np.abs(z) <= prices * (1 + 1e-12)))
    drift = np.zeros(graph.vertices)
    np.add.at(drift, source, z[places])
    np.subtract.at(drift, target, z[places])
    primal = (
        0.5 * ((x - given) ** 2).sum() + (prices[places] * np.abs(x[source] - x[target])).sum() + l1 * np.abs(x).sum()
    )
    drift += np.clip(given - drift, -l1, l1)
    gap = float(primal - (given * drift - 0.5 * drift**2).sum())
    allowed = tolerance * max(float(primal), float((given**2).sum()), 1e-300)
    dual_rule = Rule.checked(
        "dual", "no arc takes more than its price", beyond,
        lambda a: Offence(arguments.user_id(graph, arguments.arc(graph, int(a))[0]), f"{z[a]:g}", f"{prices[a]:g}"),
        unit="edges",
    )  # fmt: skip
    wide = not -allowed <= gap <= allowed
    gap_rule = Rule.overall("gap", f"the duality gap is at most {allowed:.3g}", f"{gap:.3g}", wide)
    return Report("fused lasso", (dual_rule, gap_rule))
