"""Which in-edges of a part are in its device's memory, which in its node's, and which stay in a mapped file.

Lux, section 4.2: device memory first; if a part is too large, as many edges as fit, and the rest in its node's memory,
from where they stream through the device block by block. Parts of a node share that memory evenly. Edges that do not
fit there either are read from the store's mapped file, if the graph has one. All of it is decided before the first
superstep, which refuses what fits nowhere.

`place` does it for all parts at once. Ranks, each of which knows its own part, do the same in two steps: each computes
what its device holds (`resident_rows`), announces the rest (`Need`), and all compute the same shares
(`shares_of_nodes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.devices.base import Device
from arcflux.errors import SpaceError, UsageError
from arcflux.trace import readable

__all__ = ["Demand", "Need", "Placed", "Placement", "place", "placed_rows", "resident_rows", "shares_of_nodes"]

Array = NDArray[Any]

# Bytes of a block that streams through a device: large enough that the start of a transfer costs nothing. Two are held,
# one in use while the other arrives. A block has whole rows, so it is larger if a single row is.
_BLOCK = 4 << 20


@dataclass(frozen=True)
class Demand:
    """The demand of one part.

    offsets: where the in-edges of each of its rows begin, starting at any number; arc_bytes: bytes of an in-edge with
    its columns; fixed: bytes that must be on the device all the time: vertex arrays and messages.
    """

    offsets: Array
    arc_bytes: int
    fixed: int

    @property
    def rows(self) -> int:
        """How many rows the part has."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all its in-edges."""
        return self.between(0, self.rows)

    def between(self, begin: int, end: int) -> int:
        """Bytes of the in-edges of rows from `begin` to before `end`."""
        return (int(self.offsets[end]) - int(self.offsets[begin])) * self.arc_bytes

    def fitting(self, begin: int, nbytes: int) -> int:
        """The row up to which in-edges from `begin` on fit into this many bytes."""
        most = int(self.offsets[begin]) + nbytes // self.arc_bytes
        if most >= int(self.offsets[-1]):
            return self.rows
        return int(np.searchsorted(self.offsets, np.array(most, self.offsets.dtype), side="right")) - 1


@dataclass(frozen=True)
class Placed:
    """Where the rows of a part are: before `resident` on the device, before `hosted` in its node, then mapped.

    blocks: rows at which the streamed blocks begin, and the end of the last; empty if nothing streams. buffer: bytes of
    the largest block, of which the device holds two.
    """

    rows: int
    resident: int
    hosted: int
    blocks: Array
    buffer: int
    device_bytes: int
    host_bytes: int

    @property
    def streams(self) -> bool:
        """Whether some rows are streamed in every superstep."""
        return len(self.blocks) > 1


@dataclass(frozen=True)
class Need:
    """What a part needs of memory, in numbers that ranks can exchange.

    node: its node; rest: bytes of in-edges that its device does not hold; fixed: bytes of vertices in its node's
    memory; whole: bytes of all its vertices and edges; memory: its device's own bytes.
    """

    node: int
    rest: int
    fixed: int
    whole: int
    memory: int

    @classmethod
    def of(cls, node: int, demand: Demand, device: Device, resident: int) -> Need:
        """The rest of a demand if the device holds the rows before `resident`."""
        rest = demand.between(resident, demand.rows)
        fixed = demand.fixed if device.memory is None else 0
        return cls(node, rest, fixed, demand.nbytes + demand.fixed, device.memory or 0)


@dataclass(frozen=True)
class Placement:
    """All parts, and the bytes of each node's memory that they use."""

    parts: tuple[Placed, ...]
    host_bytes: dict[int, int]


def place(
    demands: Sequence[Demand],
    devices: Sequence[Device],
    *,
    node_of_part: Sequence[int] | Array | None = None,
    host: dict[int, int] | None = None,
    shared: int = 0,
    mapped: bool = False,
    block: int = _BLOCK,
) -> Placement:
    """Place every part on its device, or refuse with what to do instead.

    Parameters
    ----------
    demands
        The demand of each part.
    devices
        The device of each part. A device without its own memory works in its node's, and nothing streams.
    node_of_part
        The node of each part; by default all the same.
    host
        Bytes of each node's memory; a node that is not listed has no limit.
    shared
        Bytes that each node has once for all its parts.
    mapped
        Whether edges can stay in a mapped file when a node's memory is full.
    block
        Bytes of blocks, unless a row has more.

    Examples
    --------
    >>> from arcflux.devices import Virtual
    >>> rows = Demand(np.arange(0, 1001, 10), arc_bytes=4, fixed=800)  # 100 rows of 40 bytes
    >>> small = place([rows], [Virtual(memory=3000)], block=200).parts[0]
    >>> small.resident, small.blocks.tolist()[:3], small.device_bytes
    (45, [45, 50, 55], 3000)
    """
    nodes = [0] * len(demands) if node_of_part is None else [int(node) for node in node_of_part]
    if not len(demands) == len(devices) == len(nodes):
        raise UsageError(
            f"there are {len(demands)} parts, {len(devices)} devices and {len(nodes)} nodes of parts",
            expected="one of each for every part",
        )
    if len({id(device) for device in devices if device.memory}) < sum(1 for device in devices if device.memory):
        raise UsageError("a device with a memory of its own is given twice", expected="one device for each part")
    if block <= 0:
        raise UsageError(f"block is {block!r}", expected="a number of bytes above 0")
    if not mapped and host is not None and set(nodes) <= set(host):
        _check_total([Need.of(*each, 0) for each in zip(nodes, demands, devices, strict=True)], host, shared)
    held = [resident_rows(part, *pair, block) for part, pair in enumerate(zip(demands, devices, strict=True))]
    needs = [
        Need.of(*each, pair[0]) for each, pair in zip(zip(nodes, demands, devices, strict=True), held, strict=True)
    ]
    shares = shares_of_nodes(needs, host or {}, shared, mapped)
    parts = tuple(map(placed_rows, demands, devices, held, shares))
    used = dict.fromkeys(nodes, shared)
    for node, part in zip(nodes, parts, strict=True):
        used[node] += part.host_bytes
    return Placement(parts, used)


def _check_total(needs: Sequence[Need], host: Mapping[int, int], shared: int) -> None:
    """Refuse what does not fit into all memories together, for any assignment of parts."""
    nodes = {need.node for need in needs}
    needed = sum(need.whole for need in needs) + shared * len(nodes)
    there = sum(need.memory for need in needs) + sum(host[node] for node in nodes)
    if needed > there:
        raise _refusal(f"the graph does not fit into the memory of its {len(needs)} devices and nodes", needed, there)


def shares_of_nodes(needs: Sequence[Need], host: Mapping[int, int], shared: int, mapped: bool) -> list[int]:
    """The bytes of its node's memory that each part gets for in-edges that its device does not hold: equal shares.

    Parts that need less leave the rest to the others. What does not fit is refused, unless edges can stay in a mapped
    file. The parameters are those of :func:`place`.

    Examples
    --------
    >>> needs = [Need(0, rest, fixed=0, whole=rest, memory=0) for rest in (100, 10, 500)]
    >>> shares_of_nodes(needs, {0: 310}, 0, mapped=True)
    [100, 10, 200]
    """
    nodes = {need.node for need in needs}
    if not mapped and nodes <= set(host):
        _check_total(needs, host, shared)
    shares = [need.rest for need in needs]
    for node in sorted(nodes & set(host)):
        mine = [part for part, need in enumerate(needs) if need.node == node]
        fixed = shared + sum(needs[part].fixed for part in mine)
        needed = fixed + (0 if mapped else sum(shares[part] for part in mine))
        if needed > host[node]:
            raise _refusal(f"node {node} has no room for what its devices do not hold", needed, host[node])
        left = host[node] - fixed
        for count, part in enumerate(sorted(mine, key=lambda part: needs[part].rest)):
            shares[part] = min(needs[part].rest, left // (len(mine) - count))
            left -= shares[part]
    return shares


def resident_rows(part: int, demand: Demand, device: Device, block: int) -> tuple[int, int]:
    """The row up to which a device holds in-edges, and the bytes of the blocks in which the others are streamed.

    Two blocks have to fit as well, each at least as large as the largest streamed row; they take at most half of the
    memory besides vertices, unless such a row is larger.
    """
    if device.memory is None:
        return 0, 0
    left = device.memory - demand.fixed
    if demand.nbytes <= left:
        return demand.rows, 0
    before = (demand.offsets[:-1] - demand.offsets[0]).astype(np.int64) * demand.arc_bytes
    sizes = np.diff(demand.offsets).astype(np.int64) * demand.arc_bytes
    widest = np.maximum.accumulate(sizes[::-1])[::-1]
    buffers = np.maximum(widest, max(min(block, left // 4), 0))
    fits = np.flatnonzero(before + 2 * buffers <= left)
    if not len(fits):
        least = int((before + 2 * widest).min(initial=demand.nbytes))
        what = f"part {part} does not fit {device.name}, which has to hold its vertices and twice its largest row"
        raise _refusal(what, demand.fixed + least, device.memory)
    return int(fits[-1]), int(buffers[fits[-1]])


def placed_rows(demand: Demand, device: Device, held: tuple[int, int], share: int) -> Placed:
    """Where the rows of a part are, given those that its device holds (`resident_rows`) and its share of its node."""
    resident, buffer = held
    hosted = demand.fitting(resident, share)
    host = demand.between(resident, hosted)
    if device.memory is None:
        return Placed(demand.rows, 0, hosted, np.zeros(0, np.int64), 0, 0, demand.fixed + host)
    blocks = [resident] if resident < demand.rows else []
    while blocks and blocks[-1] < demand.rows:
        blocks.append(demand.fitting(blocks[-1], buffer))
    largest = max((demand.between(begin, end) for begin, end in pairwise(blocks)), default=0)
    needed = demand.fixed + demand.between(0, resident) + 2 * largest
    return Placed(demand.rows, resident, hosted, np.array(blocks, np.int64), largest, needed, host)


def _refusal(what: str, needed: int, there: int) -> SpaceError:
    return SpaceError(
        f"{what}: {needed:,} bytes are needed ({readable(needed)}), and {there:,} are there ({readable(there)})",
        remedy="more devices or nodes, so that each has a smaller part; smaller values, such as float32 fields and no"
        " edge columns that are not read; or save the graph as a store and load that, so that edges stay in the file",
    )
