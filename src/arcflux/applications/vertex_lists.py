"""Lists of vertices as applications take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["listed"]


def listed(graph: Graph, name: str, given: Any) -> NDArray[np.int64]:
    """The numbers of vertices that are given as a list of ids, in its order.

    Examples
    --------
    >>> import arcflux as af
    >>> listed(af.Graph.from_edges(["ada"], ["bob"]), "seeds", ["bob", "ada"]).tolist()
    [1, 0]
    """
    if not _is_flat(given) or isinstance(given, (str, bytes, dict)):
        raise UsageError(f"{name} is {given!r}", expected="a list of ids", remedy=f"{name}=[id] for a single one")
    if not len(given):
        raise UsageError(f"{name} is empty", expected="a list of at least one id")
    return graph.ids.to_numbers(given).astype(np.int64)


def _is_flat(given: Any) -> bool:
    try:
        return np.ndim(given) == 1
    except ValueError:  # lists of unequal lengths within
        return False
