"""The ways to run on parts: on what they are, how the graph is split, what nodes tell each other, and how much that is.

A superstep in which every vertex sends moves so many values between m nodes:

readers
    A vertex goes to every other node that has an arc from it: the sum of UDS (Lux, equation 9).
owners
    Arcs are where they start; every node that has an arc to a foreign vertex sends one value: as many, the other way.
owners, on a grid of p x q
    A vertex is told to the cells of its row that have arcs from it, and what a column has for it goes to its owner.
owners, by degree
    Arcs of low vertices are where they start, so they contribute; high ones are told to every node.
allreduce
    Every node has all values.
mixed
    High ones go by allreduce, the others to their owners.

Where neighbours are near, ranges (and METIS) cut few arcs; a random split never does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from arcflux import config
from arcflux.partition.grid import shape as cells
from arcflux.plan.shape import Shape
from arcflux.transports.collectives import SMALL

__all__ = ["SHARED", "Split", "Where", "crossing", "form_of", "has_mincut", "splits"]

# Workers of one node take chunks of the whole graph as they become free: no part is fixed, nothing is sent.
SHARED = "shared"
_AT_TARGETS = ("ranges", "random", "mincut", "duplicate")
_ANYWHERE = ("grid", "degree")
_MODELS = ("readers", "owners", "allreduce", "mixed")
# What METIS leaves of a random split's crossing values: near, local, skewed and flat graphs of 10 to 500 thousand arcs
# in 2 and 4 parts. Only rough: it is weighed against seconds that METIS takes.
_CUT = {"near": 0.02, "local": 0.35, "skewed": 0.8, "flat": 0.8}
# Times the mean degree from which on a vertex is high (engine/spread.py, partition/degree.py).
_HIGH = {"mixed": 16.0, "degree": 8.0}


@dataclass(frozen=True)
class Where:
    """On what parts are: how many, on how many nodes, on how many machines these are, and what joins them."""

    parts: int
    nodes: int = 1
    transport: str = "local"
    machines: int = 1

    @property
    def workers(self) -> int:
        """How many parts compute at once."""
        return min(self.parts, self.machines * config.cores())

    @property
    def at_once(self) -> float:
        """How many parts compute at once in the mean: three on two cores are two, and then one.

        Examples
        --------
        >>> Where(1, 1).at_once
        1.0
        """
        return self.parts / math.ceil(self.parts / self.workers)

    def __str__(self) -> str:
        parts = f"{self.parts} part{'' if self.parts == 1 else 's'}"
        return parts if self.nodes == 1 else f"{parts} on {self.nodes} nodes"

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Where:
        """From what ``vars`` gave; an error if it is not that."""
        found = cls(int(kept["parts"]), int(kept["nodes"]), str(kept["transport"]), int(kept["machines"]))
        if not 1 <= found.nodes <= found.parts <= 1 << 20 or found.machines < 1:
            raise ValueError("no such parts")
        return found


@dataclass(frozen=True)
class Split:
    """A way to split a graph, and a model of exchange; "shared" where nothing is exchanged."""

    partition: str
    exchange: str

    def __str__(self) -> str:
        return f"{self.partition}, {self.exchange}"


@lru_cache(maxsize=1)
def has_mincut() -> bool:
    """Whether METIS is installed."""
    return find_spec("pymetis") is not None


def splits(where: Where, partition: str | None, exchange: str | None, *, at_targets: bool = False) -> list[Split]:
    """Every way that is left open, the usual one first; the same list on every rank.

    `at_targets`: whether the messages of a vertex must come together where its state is.

    Examples
    --------
    >>> [str(one) for one in splits(Where(4, 2), "grid", None)]
    ['grid, owners', 'grid, allreduce', 'grid, mixed']
    >>> str(splits(Where(4), None, None)[0])
    'ranges, shared'
    """
    hows = [partition] if partition else ["ranges", "grid", "degree", "random", "mincut", "duplicate"]
    # On one node nothing crosses, however it would.
    models = [exchange] if exchange else list(_MODELS if where.nodes > 1 else _MODELS[:2])
    found: list[Split] = []
    for how in hows:
        for model in models:
            if at_targets and model != "readers" and exchange is None:
                continue
            if how in _ANYWHERE and model == "readers" and not (at_targets or exchange):
                continue  # all in-arcs of a vertex would be brought together: that is what ranges are
            shared = where.nodes == 1 and model == "readers" and how in _AT_TARGETS
            found.append(Split(how, SHARED if shared else model))
    return found


def form_of(split: Split) -> str:
    """The kernels and messages of a split: those of its exchange, which are others where arcs are anywhere."""
    return f"{split.exchange}/arcs" if split.partition in _ANYWHERE and split.exchange != "readers" else split.exchange


def crossing(shape: Shape, kind: str, split: Split, nodes: int) -> float:
    """Values that cross between nodes in a superstep in which every vertex sends; `kind` is that of the graph.

    Examples
    --------
    >>> from arcflux.plan.shape import uniform
    >>> [round(crossing(uniform(1000, 50_000), "flat", Split("ranges", way), 2)) for way in _MODELS]
    [1000, 1000, 2000, 1000]
    """
    if nodes == 1:
        return 0.0
    if split.exchange == "allreduce":
        return _reduced(shape.vertices, nodes)
    if split.exchange == "mixed":
        high = shape.degrees > _HIGH["mixed"] * max(1.0, shape.mean_degree)
        few = float(shape.counts[high].sum())
        hits = shape.counts * _hit(shape, nodes)
        rest = 1.0 - float(hits[high].sum()) / max(1e-300, float(hits.sum()))
        return _reduced(few, nodes) + rest * _told(shape, kind, split.partition, nodes)
    return _told(shape, kind, split.partition, nodes)


def _reduced(values: float, nodes: int) -> float:
    """Values that a reduction of 8 bytes each over nodes sends: small arrays go from each node to each other one, of
    large ones each node reduces a slice, and gives it to all.
    """
    return float(nodes - 1) * values * (nodes if 8 * nodes * values <= SMALL else 2)


def _told(shape: Shape, kind: str, partition: str, nodes: int) -> float:
    """Values from owners to readers, or from contributors to owners.

    `far`: the share of arcs that go anywhere, as ranges have it; the others are near.
    """
    anywhere, ranges = (nodes - 1) * _reach(shape, nodes), shape.uds(nodes)
    if partition == "random":
        return anywhere
    far = _far(shape, nodes, ranges, anywhere)
    if partition == "grid":
        rows, columns = cells(nodes)
        # The owner of a vertex is in its column, and in its row by chance.
        tell, give = (columns - 1.0 / rows) * _reach(shape, columns, far), (rows - 1.0) * _reach(shape, rows, far)
        return tell + give + 2.0 * (1.0 - far) * (1.0 - 1.0 / rows) * _reach(shape, 1)
    if partition == "degree":
        high = shape.degrees > _HIGH["degree"] * max(1.0, shape.mean_degree)
        arcs = shape.counts * shape.degrees
        low = float(arcs[~high].sum()) / max(1e-300, float(arcs.sum()))
        return (nodes - 1) * (_reach(shape, nodes, far * low) + float(shape.counts[high].sum()))
    return min(ranges, _CUT[kind] * anywhere) if partition == "mincut" else ranges


def _far(shape: Shape, nodes: int, ranges: float, anywhere: float) -> float:
    """The share of arcs that go anywhere, if so many values cross between ranges, and so many if all did."""
    most = (nodes - 1) * _reach(shape, 1)
    if not 0 < ranges < anywhere < most:
        return 1.0 if ranges >= anywhere > 0 else ranges / anywhere if anywhere else 0.0
    return math.log1p(-ranges / most) / math.log1p(-anywhere / most)


def _reach(shape: Shape, parts: int, share: float = 1.0) -> float:
    """How many vertices have an arc that ends in one of so many parts, if a share of their arcs goes anywhere."""
    return float((shape.counts * _hit(shape, parts, share)).sum())


def _hit(shape: Shape, parts: int, share: float = 1.0) -> Any:
    """The chance of each class of vertices that some arc ends in one of so many parts."""
    if share <= 0:
        return np.zeros(len(shape.degrees))
    if parts == 1:
        return (shape.degrees > 0).astype(np.float64)
    degrees = share * shape.degrees
    return -np.expm1(-degrees / parts if shape.spread else degrees * math.log1p(-1.0 / parts))
