"""Vectors in the pull kernels for a GPU: in shared memory, so that they occupy few registers for long.

All lanes of a warp copy the vectors of 32 neighbours there together, and then each lane computes with its own (Lux,
figure 14). A vertex's old vectors, and the sums of its messages, are there between two edges, too: in registers they
would leave room for only half of a multiprocessor's threads. Loops end by a vote of the warp, whose rounds the compiler
cannot count: otherwise it would unroll by four, with four times the registers.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from arcflux.compile.cpu.dense import AROUND, loads
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.source import inside

__all__ = ["TILE_THREADS", "around", "by_thread_alone", "copied", "few", "from_tile", "old_again", "room", "stored",
           "sums_again", "tile_threads", "vectors", "widened"]  # fmt: skip

# The most threads of a block whose warps have vectors in shared memory, and the bytes that these may use.
TILE_THREADS = 128
_TILE_BYTES = 40 << 10
# Shared memory that every block may have.
_SHARED_BYTES = 48 << 10
# 32-bit words of the vectors at an edge, up to which 32 registers are enough.
_WORDS = 24


def vectors(lowered: Lowered) -> bool:
    """Whether a program has vectors."""
    some = [length for _, length in lowered.fields.values()] + [message.length for message in lowered.messages]
    return any(length is not None for length in some)


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which elements of a vector are computed."""
    return dtype if dtype.kind in "bf" or dtype == np.uint64 else np.dtype(np.int64)


def _old(lowered: Lowered) -> dict[str, tuple[np.dtype[Any], int]]:
    """Vectors of v's old state that are read along its edges, or after them."""
    names = re.findall(r"^o_(\w+) = load", "\n".join(loads(lowered, AROUND, edge=True)), re.MULTILINE)
    return {name: (lowered.fields[name][0], lowered.fields[name][1] or 0) for name in names}


def _sums(lowered: Lowered) -> dict[str, tuple[np.dtype[Any], int]]:
    """Vectors that messages are reduced into."""
    kinds = {name: lowered.fields[name] for name in sorted(lowered.reductions)}
    return {name: (widened(dtype), length) for name, (dtype, length) in kinds.items() if length is not None}


def few(lowered: Lowered) -> bool:
    """Whether there are so few vector elements at an edge that a bound of 32 registers spills none."""
    met = [*_old(lowered).values(), *_sums(lowered).values()]
    met += [(message.dtype, message.length) for message in lowered.messages if message.length is not None]
    return sum(-(-widened(dtype).itemsize // 4) * length for dtype, length in met) <= _WORDS


def _row_bytes(lowered: Lowered) -> int:
    """Bytes of shared memory for a thread's vectors."""
    messages = sum((m.length + 1) * m.dtype.itemsize for m in lowered.messages if m.length is not None)
    sums = sum((length + 1) * dtype.itemsize for dtype, length in _sums(lowered).values())
    old = sum((length + 1) * dtype.itemsize for dtype, length in _old(lowered).values())
    return sums + max(messages, old)


def by_thread_alone(lowered: Lowered) -> bool:
    """Whether a warp's vectors do not fit shared memory: then each vertex has a thread with its own vectors."""
    return vectors(lowered) and not lowered.by_rows and 32 * _row_bytes(lowered) > _SHARED_BYTES


def tile_threads(lowered: Lowered) -> int:
    """The threads of a block for which its shared memory has room; 0 if no vectors are in it."""
    if not vectors(lowered) or lowered.by_rows or by_thread_alone(lowered):
        return 0
    row = _row_bytes(lowered)
    return max(32, min(TILE_THREADS, _TILE_BYTES // row // 32 * 32)) if row else TILE_THREADS


def room(lowered: Lowered, who: str) -> list[str]:
    """Statements that allocate shared memory: rows for each thread, and one for old vectors that a warp shares."""
    size = tile_threads(lowered)
    if not size:
        return []
    lines = ["row = np.uint64(cuda.threadIdx.x)", "warp = row >> np.uint64(5)"]
    lines += [_taken("sum", name, size, length + 1, dtype) for name, (dtype, length) in _sums(lowered).items()]
    many, wide = (size, 1) if who == "thread" else (size // 32, 0)
    lines += [_taken("old", name, many, length + wide, dtype) for name, (dtype, length) in _old(lowered).items()]
    if who == "warp":
        lines += [_taken("tile", message.name, size, message.length + 1, message.dtype)
                  for message in lowered.messages if message.length is not None]  # fmt: skip
        lines += ["warp_first = row - lane"]
    return lines


def _taken(what: str, name: str, rows: int, length: int, dtype: np.dtype[Any]) -> str:
    return f"{what}_{name} = cuda.shared.array(({rows}, {length}), np.{'bool_' if dtype.kind == 'b' else dtype.name})"


def stored(lowered: Lowered, who: str) -> list[str]:
    """Statements before the first edge: store vectors of v in shared memory."""
    lines = [f"keep(sum_{name}, row, v_{name})" for name in _sums(lowered)]
    if who == "thread":
        return [*lines, *(f"keep(old_{name}, row, o_{name})" for name in _old(lowered))]
    old = [f"keep(old_{name}, warp, o_{name})" for name in _old(lowered)]
    return [*lines, *(["if lane == zero:", *inside(old), "cuda.syncwarp()"] if old else [])]


def around(lowered: Lowered, statement: str, who: str) -> list[str]:
    """Statements that reduce along an edge, loading vectors of v from shared memory and storing them again."""
    before = [*old_again(lowered, who), *sums_again(lowered)]
    return [*before, statement, *(f"keep(sum_{name}, row, v_{name})" for name in _sums(lowered))]


def old_again(lowered: Lowered, who: str) -> list[str]:
    """Statements that load vectors of v's old state."""
    place = "row" if who == "thread" else "warp"
    return [f"o_{name} = load(old_{name}, {place}, {length})" for name, (_, length) in _old(lowered).items()]


def sums_again(lowered: Lowered) -> list[str]:
    """Statements that load the vectors that messages are reduced into."""
    return [f"v_{name} = load(sum_{name}, row, {length})" for name, (_, length) in _sums(lowered).items()]


def copied(lowered: Lowered) -> list[str]:
    """Statements in which a warp copies the vectors that its lanes will read, in parallel."""
    lines = ["u = np.uint64(neighbours[i if i < end else end - one])", "cuda.syncwarp()"]
    for message in lowered.messages:
        if message.length is None:
            continue
        length = message.length
        lines += [
            "place = np.uint32(lane)",
            f"while cuda.any_sync(FULL, place < np.uint32({32 * length})):",
            f"    slot = place // np.uint32({length})",
            f"    element = np.uint64(place % np.uint32({length}))",
            "    whose = np.uint64(cuda.shfl_sync(FULL, np.int64(u), slot))",
            f"    tile_{message.name}[warp_first + np.uint64(slot), element] = r_{message.name}[whose, element]",
            "    place += np.uint32(32)",
        ]
    return [*lines, "cuda.syncwarp()"]


def from_tile(lowered: Lowered, lines: list[str]) -> list[str]:
    """The statements that load messages, with vectors from shared memory."""
    for message in lowered.messages:
        if message.length is not None:
            before = f"{message.name} = load(r_{message.name}, u, {message.length})"
            lines = [f"{message.name} = load(tile_{message.name}, row, {message.length})" if line == before else line
                     for line in lines]  # fmt: skip
    return lines
