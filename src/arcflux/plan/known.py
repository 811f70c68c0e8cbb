"""Graphs that papers name and few people have: their sizes, so that runs on them can be planned: ``lux:TW``."""

from __future__ import annotations

from typing import NamedTuple

from arcflux.errors import UsageError, did_you_mean
from arcflux.plan.shape import Shape, from_description, kronecker

__all__ = ["KNOWN", "KnownGraph", "is_known", "known_shape"]


class KnownGraph(NamedTuple):
    """A graph of a paper: directed edges are counted one by one, as its table has them."""

    title: str
    vertices: int
    arcs: int
    shape: str = "powerlaw"


# Lux, table 2. The last four are ratings, bipartite; "kron" has the degrees of the generator itself.
KNOWN = {
    "lux:KR": KnownGraph("Kronecker", 2_097_152, 33_554_432, "kron"),
    "lux:HW": KnownGraph("Hollywood", 1_139_905, 57_515_616),
    "lux:IN": KnownGraph("Indochina", 7_414_866, 194_109_311),
    "lux:TW": KnownGraph("Twitter", 41_652_230, 1_468_365_182),
    "lux:RM": KnownGraph("RMAT27", 134_217_728, 2_147_483_648, "kron"),
    "lux:UK": KnownGraph("UK2007", 105_896_555, 3_738_733_648),
    "lux:GS": KnownGraph("GSH2015", 988_490_691, 33_877_399_152),
    "lux:AM": KnownGraph("Amazon", 3_376_972, 11_676_082),
    "lux:ML": KnownGraph("MovieLens", 424_338, 48_808_192),
    "lux:NF": KnownGraph("NetFlix", 497_959, 200_961_014),
    "lux:YH": KnownGraph("Yahoo Music", 1_959_915, 1_399_280_452),
}


def is_known(text: object) -> bool:
    """Whether a text has the form of a known graph's name."""
    return isinstance(text, str) and text.startswith("lux:")


def known_shape(name: str) -> Shape:
    """The shape of a known graph: its size as printed, its degrees as those of its kind are.

    Examples
    --------
    >>> known_shape("lux:TW").arcs
    1468365182
    """
    if name not in KNOWN:
        raise UsageError(
            f"{name} is no graph of Lux's table 2", expected=", ".join(KNOWN), remedy=did_you_mean(name, KNOWN)
        )
    graph = KNOWN[name]
    if graph.shape == "kron":  # directed, and parallel edges count, as the table's round numbers say
        scale = graph.vertices.bit_length() - 1
        return kronecker(scale, graph.arcs / graph.vertices, simple=False, directed=True, name=name)
    return from_description(graph.vertices, graph.arcs, graph.shape, name)
