"""Launch shapes: threads and blocks of kernels, and which vertices a thread, a warp or a block processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.gpu import api

__all__ = ["WAYS", "Shapes", "asked", "bounds", "chosen", "occupancy", "shared_out", "way"]

Array = NDArray[Any]

# The limits of a multiprocessor, by compute capability: threads, blocks, registers, bytes of shared memory.
_LIMITS = {
    80: (2048, 32, 65536, 164 << 10), 86: (1536, 16, 65536, 100 << 10), 89: (1536, 24, 65536, 100 << 10),
    90: (2048, 32, 65536, 228 << 10), 100: (2048, 32, 65536, 228 << 10), 120: (1536, 24, 65536, 100 << 10),
}  # fmt: skip
_WARP = 32
# Rows shorter than this are a thread's; and the share of rows of up to a warp's width for which a launch pays.
_SHORT = 8
_ENOUGH = 1 / 16
# A block that scans its rows counts their edges in 32 bits.
_COUNTED = 1 << 20
# The most threads of a block that kernels are compiled for.
_MOST = 256
# How messages of other ranks are loaded to a device (load.py).
WAYS = ("auto", "kernel", "cores")


@dataclass(frozen=True)
class Shapes:
    """How work is divided.

    threads: of a block; block_threads: of a block that has one vertex; blocks: the most blocks of a launch; scan_from,
    warp_from, block_from: the in-degrees from which a vertex shares the edges of its block, gets a warp, gets a block;
    below, it gets a thread.
    """

    threads: int = 256
    block_threads: int = 256
    blocks: int = 4096
    scan_from: int = 8
    warp_from: int = 16
    block_from: int = 2048

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{one.name} of a launch is {value!r}", expected="a whole number above 0")
        for name in ("threads", "block_threads"):
            value = getattr(self, name)
            if value % _WARP or value > _MOST:
                raise UsageError(f"{name} of a launch is {value}", expected=f"a multiple of {_WARP}, at most {_MOST}")

    def launch(self, work: int, threads: int | None = None) -> tuple[int, int]:
        """Blocks and threads for so much work, one item per thread; as many blocks as needed."""
        width = threads or self.threads
        return max(1, -(-work // width)), width

    def walking(self, work: int) -> tuple[int, int]:
        """Blocks and threads for so much work, which threads process in a grid-stride loop."""
        return max(1, min(self.blocks, -(-work // self.threads))), self.threads


def chosen(degrees: Array, multiprocessors: int = 108, asked: Shapes | None = None, scans: bool = False) -> Shapes:
    """Shapes for rows of these lengths on a device; shapes that are asked for take precedence.

    A row gets a warp if that leaves few of its lanes without an edge, unless most rows are short: then the loads of
    neighbouring threads are close to each other anyway. Rows in between share the edges of their block, if the program
    has a kernel for that (`scans`) and there are enough of them for another launch. In the simulator blocks are small,
    and short rows count as long, so that graphs of a hundred vertices use all kernels.

    Examples
    --------
    >>> chosen(np.full(1000, 3)).warp_from, chosen(np.full(1000, 40)).warp_from
    (32, 12)
    >>> found = chosen(np.full(1000, 16), scans=True)
    >>> found.scan_from, found.warp_from
    (8, 32)
    """
    if asked is not None:
        return asked
    if api.simulated():
        return Shapes(threads=32, block_threads=64, blocks=2, scan_from=2, warp_from=4, block_from=24)
    warp_from = 32 if not len(degrees) or degrees.mean() < _SHORT else 12
    middle = scans and len(degrees) and ((degrees >= _SHORT) & (degrees < _WARP)).mean() >= _ENOUGH
    between = (_SHORT, _WARP) if middle else (warp_from, warp_from)
    return Shapes(blocks=multiprocessors * 8, scan_from=between[0], warp_from=between[1], block_from=2048)


def way(asked: str | None) -> str:
    """The way to load messages: that of the device, else ``ARCFLUX_GPU_LOAD``, else "auto".

    Examples
    --------
    >>> way(None), way("cores")
    ('auto', 'cores')
    """
    choice = asked if asked is not None else os.environ.get("ARCFLUX_GPU_LOAD") or "auto"
    if choice not in WAYS:
        where = "load of a GPU" if asked is not None else "ARCFLUX_GPU_LOAD"
        raise UsageError(f"{where} is {choice!r}", expected=" or ".join(map(repr, WAYS)))
    return choice


def shared_out(
    degrees: Array, first: int, shapes: Shapes, with_blocks: bool, with_scans: bool = False
) -> dict[str, Array]:
    """The rows of each kernel, by their numbers from `first` on; kernels without rows are left out.

    Examples
    --------
    >>> rows = shared_out(np.array([1, 500, 9, 40]), 10, Shapes(warp_from=16, block_from=100), True, True)
    >>> {kernel: found.tolist() for kernel, found in rows.items()}
    {'pull_thread': [10], 'pull_scan': [12], 'pull_warp': [13], 'pull_block': [11]}
    """
    warps = degrees >= shapes.warp_from
    scans = (degrees >= shapes.scan_from) & (degrees < _COUNTED) & ~warps & with_scans
    blocks = (degrees >= shapes.block_from) & with_blocks
    rows = {"pull_thread": ~warps & ~scans, "pull_scan": scans, "pull_warp": warps & ~blocks}
    rows["pull_block"] = warps & blocks
    return {name: (np.flatnonzero(mask) + first).astype(np.uint32) for name, mask in rows.items() if mask.any()}


def asked(kernel: Callable[..., Any]) -> tuple[int, int, int] | None:
    """The BOUNDS that a kernel's module sets for it: one for all kernels, or by name."""
    module_bounds = kernel.__globals__.get("BOUNDS", {})
    return (
        module_bounds if isinstance(module_bounds, tuple) else module_bounds.get(kernel.__name__.removeprefix("part_"))
    )


def bounds(asked: tuple[int, int, int] | None, architecture: int) -> tuple[int, int] | None:
    """Threads of a block and blocks of a multiprocessor for which the compiler leaves registers.

    Examples
    --------
    >>> bounds((256, 8, 5), 90), bounds((256, 8, 5), 100), bounds(None, 100)
    ((256, 8), (256, 5), None)
    """
    if asked is None:
        return None
    threads, before, blackwell = asked
    return threads, before if architecture < 100 else blackwell


def occupancy(registers: int, shared_bytes: int, threads: int, architecture: int) -> float:
    """The share of a multiprocessor's threads that can be resident at once, given a kernel's resources.

    Examples
    --------
    >>> occupancy(32, 0, 256, 80), occupancy(64, 0, 256, 80)
    (1.0, 0.5)
    """
    most_threads, most_blocks, all_registers, all_shared = _LIMITS[architecture]
    warps = -(-threads // _WARP)
    per_warp = -(-max(registers, 1) * _WARP // 256) * 256
    blocks = min(most_blocks, most_threads // threads, all_registers // per_warp // warps)
    if shared_bytes:
        blocks = min(blocks, all_shared // (-(-(shared_bytes + 1024) // 128) * 128))
    return blocks * threads / most_threads
