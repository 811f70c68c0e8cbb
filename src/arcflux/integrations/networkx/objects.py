"""Kernels that read Python's own dicts and numbers, by CPython's C interface.

Most of a loop over a graph of NetworkX is the wait for objects from memory, one after the other. Here it is waited for
many at once, and most are not needed at all: a dict keeps the hash of each key, nodes of different hashes are told
apart by them, and every key of a row is a node. So no node is looked at, and none of its methods called.

The interpreter's lock is held from the first object to the last, and nothing here runs Python code, so borrowed
references stay good. Two things are said of the layout of objects. The second word of one is its type: where that does
not hold, nothing is taken for a dict, and dicts.py does the same in Python. The fifth of a dict is worth prefetching.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from arcflux.spmd.jit import inner, kernel_with_lock

__all__ = [
    "BLOCK",
    "CHANGED",
    "FINE",
    "OTHER",
    "count_edges",
    "fill_attribute",
    "fill_neighbours",
    "fill_slots",
    "possible",
]

Array = NDArray[Any]

# How a kernel ended: with all that there is, at an object that Python has to look at, or in a graph that has changed.
FINE, OTHER, CHANGED = 0, 1, 2

_AHEAD, _NEARER = 24, 16  # so many objects before one is read, it is fetched; and what it points to
BLOCK = 1 << 12  # so many dicts of keys of a multigraph are gathered before what is in them is read
_MIX = np.uint64(0x9E3779B97F4A7C15)

_pointer = types.intp
_next_hashed = types.ExternalFunction("_PyDict_Next", types.int32(*(_pointer,) * 5))
_next = types.ExternalFunction("PyDict_Next", types.int32(*(_pointer,) * 4))
_hash = types.ExternalFunction("PyObject_Hash", types.intp(_pointer))
_size = types.ExternalFunction("PyDict_Size", types.intp(_pointer))
_item = types.ExternalFunction("PyDict_GetItem", _pointer(_pointer, _pointer))
_integer = types.ExternalFunction("PyLong_AsLongLongAndOverflow", types.int64(_pointer, _pointer))
_real = types.ExternalFunction("PyFloat_AsDouble", types.float64(_pointer))
_HASHED = sys.version_info < (3, 13) and hasattr(ctypes.pythonapi, "_PyDict_Next")


def possible() -> bool:
    """Whether this interpreter has a lock to hold."""
    return sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


@intrinsic  # type: ignore[untyped-decorator]
def _word(typingctx: Any, address: Any) -> Any:
    """What is at an address."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _fetch(typingctx: Any, address: Any) -> Any:
    """Begin to bring a line of memory to the cache; of any address, if only as a hint."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place, small = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, small, small, small])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (place,), kind)
        builder.call(prefetch, [builder.inttoptr(args[0], place), small(0), small(3), small(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@inner
def _fetch_dicts(dicts: Any, count: Any, i: Any, lines: Any) -> None:
    """Have the dicts after number i of so many come, and `lines` lines of what they hold."""
    if i + _AHEAD < count:
        _fetch(dicts[i + _AHEAD])
    if i + _NEARER < count:
        held = _word(dicts[i + _NEARER] + 32)
        for k in range(lines):
            _fetch(held + 64 * k)


# cell: where the interpreter puts the place in a dict (0), key (1), value (2), hash (3), and what did not fit (4);
# from 8 on, the same of a dict in another one.
if _HASHED:

    @inner
    def _advance(one: Any, cell: Any, kinds: Any) -> Any:
        """The next entry of a dict: 1; at its end 0; 2 if its hash is not to be had without running Python code."""
        at = cell.ctypes.data
        return _next_hashed(one, at, at + 8, at + 16, at + 24)

else:

    @inner
    def _advance(one: Any, cell: Any, kinds: Any) -> Any:
        """The next entry of a dict: 1; at its end 0; 2 if its hash is not to be had without running Python code."""
        at = cell.ctypes.data
        if _next(one, at, at + 8, at + 16) == 0:
            return 0
        kind = _word(cell[1] + 8)
        if kind != kinds[1] and kind != kinds[3]:
            return 2
        cell[3] = _hash(cell[1])
        return 1


@inner
def _slot(value: Any, slots: Any) -> Any:
    return np.int64((np.uint64(value) * _MIX) >> np.uint64(20)) & (slots.size - 1)


@inner
def _number(value: Any, hashes: Any, slots: Any, nodes: Any) -> Any:
    """The number of the node with a hash, -1 if there is none; without slots, hashes are numbers."""
    if slots.size == 0:
        return value if 0 <= value < nodes else np.int64(-1)
    at = _slot(value, slots)
    while slots[at] >= 0:
        if hashes[slots[at]] == value:
            return np.int64(slots[at])
        at = (at + 1) & (slots.size - 1)
    return np.int64(-1)


@kernel_with_lock
def fill_slots(worker: Any, workers: Any, control: Any, hashes: Any, slots: Any, state: Any) -> None:
    """A table from hashes to numbers: slots, int64[a power of two above their count], were -1. OTHER if two agree."""
    for number in range(hashes.size):
        at = _slot(hashes[number], slots)
        while slots[at] >= 0:
            if hashes[slots[at]] == hashes[number]:
                state[0] = OTHER
                return
            at = (at + 1) & (slots.size - 1)
        slots[at] = number


@kernel_with_lock
def count_edges(
    worker: Any, workers: Any, control: Any, rows: Any, block: Any, kinds: Any, cell: Any, offsets: Any, state: Any
) -> None:
    """``offsets[i + 1]``: how many edges row i of a multigraph has, in all dicts of keys; ``state[1]``: some in one."""
    at = cell.ctypes.data
    for i in range(rows.size):
        _fetch_dicts(rows, rows.size, i, 4)
        if _word(rows[i] + 8) != kinds[0]:
            state[0] = OTHER
            return
        cell[0] = 0
        count, waiting, more = 0, 0, True
        while more:
            more = _next(rows[i], at, at + 8, at + 16) != 0
            if more:
                _fetch(cell[2])
                block[waiting] = cell[2]
                waiting += 1
            if more and waiting < block.size:
                continue
            for k in range(waiting):
                if _word(block[k] + 8) != kinds[0]:
                    state[0] = OTHER
                    return
                parallel = _size(block[k])
                count += parallel
                if parallel != 1:
                    state[1] = 1
            waiting = 0
        offsets[i + 1] = count


@kernel_with_lock
def fill_neighbours(
    worker: Any, workers: Any, control: Any, rows: Any, kinds: Any, hashes: Any, slots: Any, cell: Any,
    neighbours: Any, parallel: Any, state: Any,
) -> None:  # fmt: skip
    """The numbers of the keys of rows; where edges are `parallel`, as often as their values have keys.

    rows: the dicts' addresses; kinds: the types dict, int, float, str; state: how it ended, and how many self-loops.
    """
    filled, loops = 0, 0
    for i in range(rows.size):
        _fetch_dicts(rows, rows.size, i, 4)
        if _word(rows[i] + 8) != kinds[0]:
            state[0] = OTHER
            return
        cell[0] = 0
        while True:
            found = _advance(rows[i], cell, kinds)
            if found == 0:
                break
            number = _number(cell[3], hashes, slots, rows.size)
            if found == 2 or number < 0 or (parallel and _word(cell[2] + 8) != kinds[0]):
                state[0] = OTHER
                return
            times = _size(cell[2]) if parallel else 1
            if filled + times > neighbours.size:
                state[0] = CHANGED
                return
            if number == i:
                loops += times
            for _ in range(times):
                neighbours[filled] = number
                filled += 1
    state[0] = FINE if filled == neighbours.size else CHANGED
    state[1] = loops


@inner
def _gather(dicts: Any, count: Any, kinds: Any, cell: Any, values: Any, filled: Any, state: Any) -> Any:
    """Put the addresses of all values of the first `count` dicts after `filled` values; -1 if that ended otherwise."""
    at = cell.ctypes.data + 64
    for i in range(count):
        _fetch_dicts(dicts, count, i, 4)
        if _word(dicts[i] + 8) != kinds[0]:
            state[0] = OTHER
            return -1
        cell[8] = 0
        while _next(dicts[i], at, at + 8, at + 16) != 0:
            if filled == values.size:
                state[0] = CHANGED
                return -1
            values[filled] = cell[10]
            filled += 1
    return filled


@inner
def _gather_twice(rows: Any, block: Any, kinds: Any, cell: Any, values: Any, state: Any) -> Any:
    """The addresses of all values of values of rows, by blocks of their values."""
    at = cell.ctypes.data
    waiting, filled = 0, 0
    for i in range(rows.size):
        _fetch_dicts(rows, rows.size, i, 4)
        if _word(rows[i] + 8) != kinds[0]:
            state[0] = OTHER
            return -1
        cell[0] = 0
        while _next(rows[i], at, at + 8, at + 16) != 0:
            block[waiting] = cell[2]
            waiting += 1
            if waiting == block.size:
                filled = _gather(block, waiting, kinds, cell, values, filled, state)
                if filled < 0:
                    return -1
                waiting = 0
    return _gather(block, waiting, kinds, cell, values, filled, state)


@kernel_with_lock
def fill_attribute(
    worker: Any, workers: Any, control: Any, rows: Any, block: Any, kinds: Any, cell: Any, name: Any, default: Any,
    column: Any, floats: Any, state: Any,
) -> None:  # fmt: skip
    """An attribute of all edges: integers in `column`, or, with ``state[1] == 1``, floats in `floats`, the same memory.

    name, default: addresses; block: int64[BLOCK] for a multigraph, otherwise empty.
    """
    if block.size > 0:
        filled = _gather_twice(rows, block, kinds, cell, column, state)
    else:
        filled = _gather(rows, rows.size, kinds, cell, column, 0, state)
    if filled < 0:
        return
    if filled != column.size:
        state[0] = CHANGED
        return
    at = cell.ctypes.data
    real = False
    for i in range(column.size):
        _fetch_dicts(column, column.size, i, 2)
        data = column[i]
        if _word(data + 8) != kinds[0]:
            state[0] = OTHER
            return
        value = _item(data, name)
        if value == 0:
            value = default
        kind = _word(value + 8)
        if kind == kinds[2] and not real:
            real = True
            for k in range(i):
                floats[k] = np.float64(column[k])
        if kind == kinds[2]:
            floats[i] = _real(value)
        elif kind == kinds[1]:
            found = _integer(value, at + 32)
            if cell[4] & 0xFFFFFFFF != 0:
                state[0] = OTHER
                return
            if real:
                floats[i] = np.float64(found)
            else:
                column[i] = found
        else:
            state[0] = OTHER
            return
    state[1] = 1 if real else 0
