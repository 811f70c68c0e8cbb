"""The performance model of Lux (section 6): one superstep on x nodes with y devices each.

========  =============================  ========================  ======================
way       load (10, 11)                  compute (12, 14)          transfer (13)
========  =============================  ========================  ======================
pull      g_l |T_v| sum |INS(P_i)| / x   g_c |E| / (x y)           g_x |T_v| sum |UDS(N_j)|
push      twice that                     g_c* |E| / (x y)          the same
========  =============================  ========================  ======================

Lux prints 0 for the load of push, as hidden behind compute. But then another GPU would always pay for itself, and Lux's
table 3 shows that it does not; cores gather for push, which takes twice as long as when GPUs do (section 7), and as a
part of the sum that gives the table's order. `printed=True` is the equation as it stands.

g_l is the time of a byte on the links of one node, whose devices share them. g_x is the time of a byte in the whole
network: x nodes receive at once, so it falls as 1/x; read as a constant, equation 13 would make a network slower with
every node that joins it. g_c and g_c* are times of an arc on one device. They are measured on this machine (calibrate),
and derived from a device's figures otherwise: the bytes that an arc loads, which are its end, and a sector when the
value it reads does not fit the cache; and an arc's share of what is read and written for vertices, where that was
counted (gpu/account.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arcflux.plan.profile import Profile
from arcflux.plan.shape import Shape
from arcflux.plan.work import Work

__all__ = ["Gammas", "Phases", "gammas", "links", "superstep"]

# The cost of an atomic update over a read where it was not measured: HIVE's random reads over updates, of a P100.
_UPDATE = 6.78 / 3.44


@dataclass(frozen=True)
class Gammas:
    """The constants of the model: seconds per byte (`load`, `transfer` on one node's link), seconds per arc."""

    load: float
    pull: float
    push: float
    transfer: float


@dataclass(frozen=True)
class Phases:
    """Seconds of a superstep by phase."""

    load: float = 0.0
    compute: float = 0.0
    transfer: float = 0.0
    overhead: float = 0.0

    @property
    def seconds(self) -> float:
        """The sum of the phases."""
        return self.load + self.compute + self.transfer + self.overhead

    def times(self, factor: float) -> Phases:
        """All phases multiplied by a factor."""
        return Phases(self.load * factor, self.compute * factor, self.transfer * factor, self.overhead * factor)


def gammas(profile: Profile, work: Work, shape: Shape) -> Gammas:
    """The constants for another machine, from its figures; the rate of a search as it was measured."""
    rate = profile.bandwidth * profile.efficiency
    hot = profile.cache / work.value
    gathered = shape.cold(hot) * max(float(profile.sector), work.value) * work.operations
    table = profile.throughput
    own = profile.device_network * profile.devices if profile.device_network else math.inf
    update = table["random_read"]["self"] / table["random_update"]["self"] if table else _UPDATE
    swept = work.vertex * shape.vertices / max(1.0, shape.arcs)
    push = (work.arc_bytes + gathered * update + swept) / rate
    if profile.traversal is not None and work.grid:
        push = 1.0 / profile.traversal
    return Gammas(
        load=1.0 / profile.host,
        pull=(work.arc_bytes + gathered + swept) / rate,
        push=push,
        transfer=1.0 / min(profile.network, own) if profile.network else 0.0,
    )


def links(profile: Profile, devices: int) -> int:
    """How many links to the node's memory the devices use, placed to share as few as possible."""
    return min(devices, -(-profile.devices // profile.host_sharers))


def superstep(
    profile: Profile,
    work: Work,
    shape: Shape,
    nodes: int,
    parts: int,
    direction: str,
    found: Gammas,
    *,
    printed: bool = False,
) -> Phases:
    """Equations 10 to 14: one superstep that visits every arc, on `parts` devices of `nodes`.

    One device alone, or one whose memory is that of its node, has nothing to load. The load is that of the fullest
    node, as in equation 10; equation 11 takes the mean.
    """
    devices = -(-parts // nodes)
    load = transfer = 0.0
    if parts > 1 and profile.host < profile.bandwidth:
        load = found.load / links(profile, devices) * work.value * shape.ins(parts) * devices / parts
    if direction == "push":
        load *= 0.0 if printed else 2.0
    if nodes > 1:
        transfer = found.transfer / nodes * work.value * shape.uds(nodes)
    each = found.pull if direction == "pull" else found.push
    return Phases(load, each * shape.arcs / parts, transfer)
