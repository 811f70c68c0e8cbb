"""This machine as a profile, from its calibration: so that a plan can say what several of it would do.

All cores are one device, whose memory is the node's. The network is what messages between processes were measured to
be here, so several nodes are several processes of this machine, each with cores and memory of its own.
"""

from __future__ import annotations

from arcflux.errors import UsageError
from arcflux.plan.calibrate import Calibration, cache_of, kept
from arcflux.plan.lux import gammas
from arcflux.plan.profile import Profile
from arcflux.plan.shape import kronecker
from arcflux.plan.work import WORKS

__all__ = ["here", "profile_of"]

_LINE = 64


def here() -> Profile:
    """The profile of this machine; an error when it was not measured."""
    found = kept()
    if found is None:
        raise UsageError("this machine has not been measured", remedy="arcflux calibrate")
    return profile_of(found)


def profile_of(found: Calibration) -> Profile:
    """A calibration as a profile; the share of the bandwidth is the one with which PageRank is as fast as it was."""
    between = found.exchange.get("mpi") or found.exchange["local"]
    memory = float(found.machine["memory_gb"]) * 1e9
    bandwidth = found.throughput["regular_read"]["host"]
    source = f"measured {found.date}"
    bare = Profile(
        name="here", title=f"{found.machine['model']}, {found.machine['threads']} threads", kind="cores", nodes=1,
        devices=1, node_memory=memory, memory=memory, bandwidth=bandwidth, cache=cache_of(found.hierarchy),
        sector=_LINE, launch=found.launch, efficiency=1.0, host=bandwidth, host_sharers=1, host_latency=found.barrier,
        network=between["bandwidth"], network_latency=between["latency"],
    )  # fmt: skip
    shape, work, steps = kronecker(18), WORKS["pagerank"], 10
    ideal = gammas(bare, work, shape).pull * shape.arcs
    taken = found.fits["pagerank/pull"].seconds(shape, steps) / steps
    figures = {name: source for name, value in vars(bare).items() if isinstance(value, int | float)}
    return Profile(**{**vars(bare), "efficiency": min(1.0, ideal / taken), "sources": figures})
