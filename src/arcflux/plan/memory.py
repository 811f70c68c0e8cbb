"""What has to fit in a device, what spills, and the cost of that (Lux, section 4.2).

A device holds its arcs, the values it reads (INS) and the state of its own vertices. What does not fit stays in the
node's memory, and crosses its link in every superstep.
"""

from __future__ import annotations

from dataclasses import dataclass

from arcflux.plan.lux import links
from arcflux.plan.profile import Profile
from arcflux.plan.shape import Shape
from arcflux.plan.work import Work

__all__ = ["Fit", "fit", "spill_seconds"]

_OFFSET = 8


@dataclass(frozen=True)
class Fit:
    """Bytes that the fullest device and a node need, bytes that spill from a device, and whether it fits at all."""

    device: float
    node: float
    spilled: float
    fits: bool


def fit(profile: Profile, work: Work, shape: Shape, nodes: int, parts: int) -> Fit:
    """How a graph and its values fit the memories of `parts` devices of `nodes`."""
    devices = -(-parts // nodes)
    arcs = shape.arcs * work.arc_bytes / parts + shape.vertices * _OFFSET / parts
    values = shape.ins(parts) * work.value / parts + shape.vertices * work.state / parts
    spilled = max(0.0, arcs + values - profile.memory)
    node = shape.vertices * work.state + spilled * devices
    return Fit(arcs + values, node, min(spilled, arcs), values <= profile.memory and node <= profile.node_memory)


def spill_seconds(profile: Profile, spilled: float, devices: int) -> float:
    """Seconds per superstep in which spilled data crosses the links of a node."""
    return spilled * devices / (profile.host * links(profile, devices))
