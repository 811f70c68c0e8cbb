"""Are these embeddings? A finite row for each vertex, of length 1 where that is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, flag
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["embedding"]


@takes_graph
@checked(rows=array, unit=flag)
def embedding(graph: Graph, rows: Any, *, unit: bool = True) -> Report:
    """Check embeddings: every number is finite, and rows have length 1 (`unit`; a row of zeros may be).

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.embedding(af.load("path:2"), [[0.6, 0.8], [0, 0]]))
    True
    """
    found = np.asarray(rows)
    if found.ndim != 2 or found.shape[0] != graph.vertices or found.dtype.kind not in "iuf":
        raise UsageError(
            f"rows has shape {found.shape}", expected=f"({graph.vertices}, columns): a row for each vertex"
        )
    length = np.linalg.norm(found.astype(np.float64), axis=1)
    rules = [Rule.checked("finite", "every number is finite", np.flatnonzero(~np.isfinite(length)),
                          lambda v: Offence(arguments.shown(graph, v), "NaN or infinity", "numbers"))]  # fmt: skip
    if unit:
        wrong = np.flatnonzero(~((np.abs(length - 1) <= 1e-5) | (length == 0)))
        rules.append(Rule.checked("length", "every row has length 1, or is zero", wrong,
                                  lambda v: Offence(arguments.shown(graph, v), f"{length[v]:.6g}", "1")))  # fmt: skip
    return Report("embedding", tuple(rules))
