"""The applications that the command line can name, in the manner of ``algorithms/registry.py``: one line each."""

from __future__ import annotations

from collections.abc import Mapping

from arcflux.algorithms.registry import ALGORITHMS, Algorithm
from arcflux.algorithms.registry import find as find_among
from arcflux.applications.graph_search import graph_search
from arcflux.applications.louvain import leiden, louvain
from arcflux.applications.maximum_flow import maximum_flow, minimum_cut
from arcflux.applications.project import project
from arcflux.applications.random_walks import random_walks

__all__ = ["APPLICATIONS", "KNOWN", "find"]

_ENTRIES = (
    Algorithm(louvain, ("community",), groups=True, checked=False),
    Algorithm(leiden, ("community",), groups=True, checked=False),
    Algorithm(random_walks, ("visits",), also=("walks",)),
    Algorithm(graph_search, ("visits",), also=("search",)),
    Algorithm(maximum_flow, ("side",), also=("maxflow",), groups=True),
    Algorithm(minimum_cut, ("side",), also=("mincut",), groups=True),
    Algorithm(project, ("degree",), also=("projection",)),
)

APPLICATIONS: Mapping[str, Algorithm] = {entry.name: entry for entry in _ENTRIES}
KNOWN: Mapping[str, Algorithm] = {**ALGORITHMS, **APPLICATIONS}


def find(name: str) -> Algorithm:
    """The algorithm or application of a name, or of one of its other names.

    Examples
    --------
    >>> find("louvain").fields
    ('community',)
    """
    return find_among(name, tuple(KNOWN.values()))
