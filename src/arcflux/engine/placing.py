"""Where the in-edges of parts are in a run: on devices, in the memory of nodes, in a mapped file.

`devices/placement.py` decides for all parts at once. Here ranks decide together: each knows only its own part,
announces what its device does not hold, and all compute the same shares of the nodes' memories, or raise the same
error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.devices.base import Device
from arcflux.devices.placement import Demand, Need, Placed, placed_rows, resident_rows, shares_of_nodes
from arcflux.engine.own_part import OwnPart
from arcflux.spmd.memory import mapped_file
from arcflux.trace import readable
from arcflux.transports.base import Transport

__all__ = ["place_part"]

Array = NDArray[Any]

# Bytes of the blocks that stream through a device, unless its memory is small.
_BLOCK = 4 << 20
_NO_LIMIT = -1


def place_part(own: OwnPart, demand: Demand, device: Device, transport: Transport, shared: int) -> tuple[Placed, str]:
    """Where the in-edges of this rank's part are, and a note about those of all parts, if any. Collective.

    `shared`: bytes that each node has once for all its parts. ``ARCFLUX_NODE_MEMORY`` limits the memory that a run
    takes of a node; without it, edges in memory stay there, and a mapped file is used as it is.
    """
    block = min(_BLOCK, max(4096, (device.memory or 0) // 16))
    resident = resident_rows(own.part.number, demand, device, block)
    limit = config.node_memory()
    # Vertices are in arrays that a node has once (`shared`), and in copies on devices with a memory of their own.
    whole = demand.nbytes + (0 if device.memory is None else demand.fixed)
    rest = demand.between(resident[0], demand.rows)
    mine = [rest, whole, device.memory or 0, _NO_LIMIT if limit is None else limit, _in_file(own)]
    all_needs = [row.tolist() for row in transport.gather(np.array(mine, np.int64))]
    nodes = transport.node_of.tolist()
    needs = [Need(node, row[0], 0, row[1], row[2]) for node, row in zip(nodes, all_needs, strict=True)]
    host = {node: row[3] for node, row in zip(nodes, all_needs, strict=True) if row[3] != _NO_LIMIT}
    shares = shares_of_nodes(needs, host, shared, mapped=all(row[4] for row in all_needs))
    return placed_rows(demand, device, resident, shares[transport.rank]), _note(needs, shares, host)


def _in_file(own: OwnPart) -> bool:
    """Whether the in-edges of a part are in a mapped file, so that they need no memory of the node."""
    arrays = [own.part.into.neighbours, *(own.part.in_columns[name] for name in own.columns)]
    return all(mapped_file(array) is not None or not array.size for array in arrays)


def _note(needs: list[Need], shares: list[int], host: dict[int, int]) -> str:
    """A note of the parts with in-edges that stay in the file; "" if there are none."""
    parts = [
        f"part {part} {readable(need.rest - share)} of {readable(need.rest)}"
        for part, (need, share) in enumerate(zip(needs, shares, strict=True))
        if share < need.rest
    ]
    if not parts:
        return ""
    return f"in-edges that stay in the mapped file, since a node has {readable(min(host.values()))}: {', '.join(parts)}"
