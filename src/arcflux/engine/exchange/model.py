"""Which model of exchange a run gets, and what it needs: where arcs are, and which vertices every node has."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.check.expressions import UNCHANGING
from arcflux.compile.lower import Lowered
from arcflux.engine.exchange.allreduce import AllReduce
from arcflux.engine.exchange.base import Exchange
from arcflux.engine.exchange.mixed import Mixed
from arcflux.engine.exchange.owners import Owners
from arcflux.engine.exchange.readers import Readers
from arcflux.engine.part_worker import PartWorker
from arcflux.graph import Graph
from arcflux.partition.parts import Parts

__all__ = ["EXCHANGES", "Model", "at_targets_alone", "high_degrees", "reason_for_targets"]

Array = NDArray[Any]

EXCHANGES = ("auto", "readers", "owners", "allreduce", "mixed")
# A vertex is of high degree if it has this many times the mean degree: nearly every node sends it messages.
_HIGH = 16


@dataclass(frozen=True)
class Model:
    """The exchange of a run.

    name: the model that runs; parts: the split, with arcs where the model needs them; replicated: bool[V], the vertices
    that every node has, or None; note: why another model runs than the one asked for; "" if none does.
    """

    name: str
    parts: Parts
    replicated: Array | None = None
    note: str = ""

    @classmethod
    def choose(cls, asked: str, lowered: Lowered, parts: Parts) -> Model:
        """The model that was asked for, if the program allows it.

        Examples
        --------
        >>> import arcflux as af
        >>> from arcflux.compile.lower import lower
        >>> exact = lower(af.algorithms.PageRank, {}, deterministic=True)
        >>> found = Model.choose("allreduce", exact, af.partition("path:6", 2))
        >>> print(found.note)
        exchange is readers, not allreduce: deterministic sums have one order, in which the owner of a vertex adds
        """
        needed = reason_for_targets(lowered)
        if asked == "auto":
            asked = "readers" if needed or parts.placement == "target" else "owners"
        if asked == "readers" or needed:
            return cls("readers", parts.at_targets(), None, _instead("readers", asked, needed))
        if asked == "allreduce":
            return cls(asked, parts, np.ones(parts.graph.vertices, bool))
        at_sources = parts.at_sources() if parts.placement == "target" else parts
        if asked == "owners":
            return cls(asked, at_sources)
        high = high_degrees(parts.graph)
        if not high.any():
            why = f"no vertex has more than {_HIGH} times the mean in-degree"
            return cls("owners", at_sources, None, _instead("owners", asked, why))
        return cls(asked, at_sources, high)

    def strategy(self, worker: PartWorker) -> Exchange:
        """The strategy of a rank; collective."""
        if self.replicated is None:
            return Readers(worker) if self.name == "readers" else Owners(worker)
        return (AllReduce if self.name == "allreduce" else Mixed)(worker, self.replicated)


def high_degrees(graph: Graph) -> Array:
    """Which vertices have so many in-edges that nearly every node sends them messages."""
    degrees = graph.in_degrees
    high: Array = degrees > _HIGH * max(1.0, float(degrees.mean()))
    return high


def _instead(name: str, asked: str, why: str) -> str:
    return "" if name == asked else f"exchange is {name}, not {asked}: {why}"


def reason_for_targets(lowered: Lowered) -> str:
    """Why the messages of a vertex must be reduced where its state is; "" if they need not.

    Whether an optional message has arrived shows only in an accumulator that starts empty.
    """
    if lowered.mails:
        return "a vertex receives mail once, and only its owner has its state"
    if lowered.around is not None:
        return "around sees all edges of a vertex at once, which only its owner has"
    if lowered.edge_state is not None:
        return "the fields of an edge are with the owner of the vertex that it leads to"
    if lowered.deterministic:
        return "deterministic sums have one order, in which the owner of a vertex adds"
    if any(name.startswith("o_") and name[2:] not in UNCHANGING for name in lowered.reads("compute")):
        return "compute reads the old state of v, which only its owner has"
    one_of = any(how.operation == "any" for how in lowered.reductions.values())
    turns = (ast.If, ast.For, ast.While, ast.Return)
    always = lowered.sparse and not any(isinstance(node, turns) for node in lowered.edge)
    return "af.any may take nothing, which only the owner of a vertex can tell" if one_of and not always else ""


def at_targets_alone(lowered: Lowered) -> bool:
    """Whether the messages of a vertex must be reduced where its state is."""
    return bool(reason_for_targets(lowered))
