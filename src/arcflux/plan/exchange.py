"""What crosses between parts in a superstep, by each of four models, and its cost (HIVE, communication models).

readers
    Owners send a value to every part that reads it: the sum of UDS.
owners
    Parts combine their messages to a vertex and send the result to its owner: as many values, if arcs are stored by
    source.
allreduce
    All parts hold all values: 2 (k - 1) / k of them leave each part.
mixed
    Vertices of high degree, which every part reads anyway, by allreduce; the others by readers.

Inside a node, devices access each other's memory where there is a link, and go through the node's memory elsewhere (of
a DGX-1's 28 pairs, 12 have no link).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcflux.plan.profile import Profile
from arcflux.plan.shape import Shape

__all__ = ["EXCHANGES", "Exchange", "between_peers", "volumes"]

EXCHANGES = ("readers", "owners", "allreduce", "mixed")
_ID = 4
_HIGH = 8.0


@dataclass(frozen=True)
class Exchange:
    """A model of exchange: bytes of all parts together, and messages that each part sends one after another."""

    name: str
    bytes: float
    messages: float


def volumes(shape: Shape, parts: int, value: float, active: float = 1.0) -> list[Exchange]:
    """The volume of each model between `parts` when a share `active` of all vertices has changed.

    When few vertices have changed, values travel with vertex numbers; allreduce always moves all values.

    Examples
    --------
    >>> from arcflux.plan.shape import uniform
    >>> [round(one.bytes) for one in volumes(uniform(1000, 50_000), 2, 8)]
    [8000, 8000, 16000, 8000]
    """
    if parts == 1:
        return [Exchange(name, 0.0, 0.0) for name in EXCHANGES]
    entry = value if active > 0.5 else value + _ID
    pairs = shape.uds(parts) * active * entry
    everyone = 2.0 * (parts - 1) * shape.vertices * value
    steps = 2.0 * np.log2(parts)
    high, _ = shape.high(_HIGH * shape.mean_degree)
    share = _foreign(shape, parts, _HIGH * shape.mean_degree)
    mixed = 2.0 * (parts - 1) * high * value + pairs * (1.0 - share)
    return [
        Exchange("readers", pairs, parts - 1.0),
        Exchange("owners", pairs, parts - 1.0),
        Exchange("allreduce", everyone, float(steps)),
        Exchange("mixed", mixed, parts - 1.0 + float(steps)),
    ]


def _foreign(shape: Shape, parts: int, threshold: float) -> float:
    """The share of remote reads that are of vertices above a degree."""
    hits = shape.counts * -np.expm1(-shape.degrees / parts)
    total = float(hits.sum())
    return float(hits[shape.degrees > threshold].sum()) / total if total else 0.0


def between_peers(profile: Profile, devices: int, exchange: Exchange) -> float:
    """Seconds of an exchange between devices of one node: over their own links, and by the node's memory elsewhere.

    All pairs of devices are assumed to send the same volume.
    """
    if devices == 1:
        return 0.0
    pairs = devices * (devices - 1)
    linked = sum(other < devices for one in range(devices) for other in profile.reachable(one))
    share = linked / pairs
    direct = share * exchange.bytes / devices / profile.peer if profile.peer else 0.0
    trees = min(devices, -(-profile.devices // profile.host_sharers))
    through = 2.0 * (1.0 - share) * exchange.bytes / (profile.host * trees)
    latency = profile.host_latency if share < 1 else profile.peer_latency or 0.0
    return max(direct, through) + exchange.messages * latency
