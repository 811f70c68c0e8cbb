"""Embeddings: finite rows, of length 1 where that is promised, that agree with a sample computed again."""

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
@checked(rows=array, unit=flag, sample=None)
def embedding(graph: Graph, rows: Any, *, unit: bool = True, sample: tuple[Any, Any] | None = None) -> Report:
    """Check embeddings: every number is finite, and rows have length 1 (`unit`; a row of zeros is allowed).

    `sample`: the numbers of some vertices, and their rows computed in another way, which must agree up to rounding in
    single precision (1e-4).

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
                          lambda v: Offence(arguments.user_id(graph, v), "NaN or infinity", "numbers"))]  # fmt: skip
    if unit:
        wrong = np.flatnonzero(~((np.abs(length - 1) <= 1e-5) | (length == 0)))
        rules.append(Rule.checked("length", "every row has length 1, or is zero", wrong,
                                  lambda v: Offence(arguments.user_id(graph, v), f"{length[v]:.6g}", "1")))  # fmt: skip
    if sample is not None:
        vertices, other = _sampled(graph, sample, found.shape[1])
        far = np.abs(found[vertices] - other).max(axis=1, initial=0.0)
        wrong = np.flatnonzero(~(far <= 1e-4))
        said = f"{len(vertices):,} rows are what their definition gives"
        rules.append(
            Rule.checked(
                "sample",
                said,
                vertices[wrong],
                lambda v: Offence(arguments.user_id(graph, v), "another row", "its own"),
            )
        )
    return Report("embedding", tuple(rules))


def _sampled(graph: Graph, sample: Any, width: int) -> tuple[Any, Any]:
    """The numbers of vertices and the rows of a sample, checked."""
    if isinstance(sample, (list, tuple)) and len(sample) == 2:
        vertices, rows = (np.asarray(array("sample", part)) for part in sample)
        numbered = vertices.ndim == 1 and vertices.dtype.kind in "iu" and rows.dtype.kind in "iuf"
        if numbered and rows.shape == (len(vertices), width) and ((vertices >= 0) & (vertices < graph.vertices)).all():
            return vertices, rows
    raise UsageError("sample is not vertices and rows", expected=f"(numbers of vertices, rows of {width} numbers)")
