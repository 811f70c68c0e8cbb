"""Classifications, checked by what any distribution of labels has to fulfil."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["classification"]


@takes_graph
def classification(graph: Graph, log_probability: Any) -> Report:
    """Check that logarithms of probabilities are such: none above 0, and each column sums to 1.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.classify("path:4", "path:2", [[0], [1], [2], [3]], [[1], [2]])
    >>> bool(af.validate.classification(found.graph, found["log_probability"]))
    True
    """
    values = np.asarray(log_probability, np.float64)
    if values.ndim != 2 or len(values) != graph.vertices:
        raise UsageError(f"log_probability has shape {values.shape}", expected=f"({graph.vertices}, labels)")
    wrong = np.flatnonzero(~(values <= 1e-12).all(1))
    with np.errstate(over="ignore"):
        sums = np.exp(values).sum(0)
    off = float(np.abs(sums - 1).max(initial=0.0))
    return Report(
        "classification",
        (
            Rule.checked(
                "range", "no probability is above 1", wrong,
                lambda v: Offence(arguments.shown(graph, v), f"{values[v].max()}", "at most 0"),
            ),
            Rule.overall("sums", "the probabilities of each label sum to 1", f"{off:.3g} off", not off <= 1e-9),
        ),
    )  # fmt: skip
