"""Graphs of papers, which few people have: their sizes, so that runs on them can be planned: ``lux:TW``."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from arcflux.errors import UsageError, did_you_mean
from arcflux.plan.shape import Shape, from_description, kronecker

__all__ = ["KNOWN", "PAPERS", "KnownGraph", "is_known", "known_shape"]


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


# GX-Plug, table I: sizes are rounded there, and edges counted as its files have them.
_GX_PLUG = {
    "gxplug:orkut": KnownGraph("Orkut", 3_070_000, 117_180_000),
    "gxplug:topcats": KnownGraph("Wiki-topcats", 1_790_000, 28_510_000),
    "gxplug:livejournal": KnownGraph("LiveJournal", 4_840_000, 68_990_000),
    "gxplug:wrn": KnownGraph("WRN, roads", 23_900_000, 28_900_000, "grid"),
    "gxplug:twitter": KnownGraph("Twitter", 41_650_000, 1_468_000_000),
    "gxplug:uk": KnownGraph("UK-2007-02", 110_100_000, 3_945_000_000),
}
# G2, section V-A: the largest of its local cluster and of its virtual one, many small-world graphs joined.
_G2 = {
    "g2:local": KnownGraph("small worlds, 36 GB", 144_000_000, 8_000_000_000),
    "g2:virtual": KnownGraph("small worlds, 96 GB", 384_000_000, 21_000_000_000),
}
PAPERS = {"lux": ("Lux's table 2", KNOWN), "gxplug": ("GX-Plug's table I", _GX_PLUG), "g2": ("G2's section V", _G2)}
"""By what comes before the colon: where in a paper the graphs are, and the graphs by name."""


def is_known(text: object) -> bool:
    """Whether a text has the form of a known graph's name."""
    return isinstance(text, str) and text.partition(":")[0] in PAPERS and ":" in text


def known_shape(name: str) -> Shape:
    """The shape of a known graph: its size as printed, its degrees as those of its kind are.

    Examples
    --------
    >>> known_shape("lux:TW").arcs, known_shape("g2:local").vertices
    (1468365182, 144000000)
    """
    table, graphs = PAPERS[name.partition(":")[0]]
    if name not in graphs:
        raise UsageError(
            f"{name} is no graph of {table}", expected=", ".join(graphs), remedy=did_you_mean(name, graphs)
        )
    graph = graphs[name]
    if graph.shape == "kron":  # directed, and parallel edges count, as the table's round numbers say
        scale = graph.vertices.bit_length() - 1
        return kronecker(scale, graph.arcs / graph.vertices, simple=False, directed=True, name=name)
    if graph.shape == "grid":  # roads: as deep as a grid, with fewer edges
        deep = from_description(graph.vertices, graph.arcs, "grid")
        return replace(from_description(graph.vertices, graph.arcs, "uniform", name), depth=deep.depth)
    return from_description(graph.vertices, graph.arcs, graph.shape, name)
