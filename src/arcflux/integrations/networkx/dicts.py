"""The dicts of a graph of NetworkX as arrays: by kernels (objects.py), or in Python where objects are not plain."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Hashable, Iterable
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.core import Adjacency
from arcflux.integrations.networkx.kernels import call
from arcflux.integrations.networkx.objects import (
    BLOCK,
    CHANGED,
    FINE,
    OTHER,
    count_edges,
    fill_attribute,
    fill_neighbours,
    fill_slots,
    possible,
)

__all__ = ["Rows", "columns_of", "is_plain", "rows_of"]

Array = NDArray[Any]
Dicts = dict[Any, dict[Any, Any]]
_CHANGED = "the graph was changed after it was converted: clear its cache, G.__networkx_cache__.clear()"


class Rows(NamedTuple):
    """Rows of arcs in the order of the dicts, and how many arcs end where they begin."""

    arcs: Adjacency
    loops: int


def is_plain(nodes: list[Any]) -> bool:
    """Whether nodes are the integers from 0 on, in order."""
    return set(map(type, nodes)) <= {int} and all(map(operator.eq, nodes, range(len(nodes))))


def rows_of(adjacency: Any, nodes: list[Any], *, plain: bool, multigraph: bool) -> Rows:
    """Dicts of neighbours as arrays; all neighbours are among the nodes, row by row."""
    kind = np.uint32 if len(nodes) < 1 << 32 else np.uint64
    rows = _rows(adjacency)
    found = None if rows is None else _by_kernel(rows, nodes, plain, kind, multigraph)
    return _by_python(adjacency, nodes, kind, multigraph) if found is None else found


def columns_of(graph: Any, defaults: dict[Any, Any], arcs: int) -> dict[Any, Array]:
    """Edge attributes in the order of the arcs of :func:`rows_of`.

    Raises
    ------
    NotImplementedError
        For values that are not numbers of 64 bits: NetworkX then goes on without the backend.
    """
    found: dict[Any, Array] = {}
    rows, multigraph = _rows(graph._adj), graph.is_multigraph()
    for name, default in defaults.items():
        column = None if rows is None else _attribute_by_kernel(rows, multigraph, name, default, arcs)
        if column is not None:
            found[name] = column
    return found | _columns_by_python(graph, {k: v for k, v in defaults.items() if k not in found}, arcs)


# --- by kernels


def _rows(adjacency: Any) -> Array | None:
    """The rows, kept alive: object[vertices]; None if no kernel can read them."""
    if not possible() or type(adjacency) is not dict:
        return None
    return np.fromiter(adjacency.values(), np.object_, len(adjacency))


def _addresses(objects: Array) -> Array:
    """Where objects are, which is what an array of them holds: int64[objects], good for as long as that array."""
    held = (ctypes.c_int64 * len(objects)).from_address(objects.ctypes.data)
    return np.ctypeslib.as_array(held) if len(objects) else np.empty(0, np.int64)


def _kinds() -> Array:
    return np.fromiter(map(id, (dict, int, float, str)), np.int64, 4)


def _by_kernel(rows: Array, nodes: list[Any], plain: bool, kind: Any, multigraph: bool) -> Rows | None:
    """None if Python has to do it."""
    state, cell, none = np.zeros(2, np.int64), np.zeros(16, np.int64), np.empty(0, np.int64)
    offsets = np.zeros(len(rows) + 1, np.uint64)
    if multigraph:
        call(count_edges, _addresses(rows), np.empty(BLOCK, np.int64), _kinds(), cell, offsets, state)
    else:
        offsets[1:] = np.fromiter(map(len, rows), np.uint64, len(rows))
    hashes, slots = none, none.astype(np.int32)
    if state[0] == FINE and not plain:
        hashes = np.fromiter(map(hash, nodes), np.int64, len(nodes))
        slots = np.full(1 << (3 * len(nodes) // 2).bit_length(), -1, np.int32 if len(nodes) < 1 << 31 else np.int64)
        call(fill_slots, hashes, slots, state)
    if state[0] != FINE:
        return None
    np.cumsum(offsets, out=offsets)
    neighbours = np.empty(int(offsets[-1]), kind)
    call(fill_neighbours, _addresses(rows), _kinds(), hashes, slots, cell, neighbours, bool(state[1]), state)
    if state[0] == CHANGED:
        raise RuntimeError("the graph was changed while it was converted")
    return None if state[0] == OTHER else Rows(Adjacency(offsets, neighbours), int(state[1]))


def _attribute_by_kernel(rows: Array, multigraph: bool, name: Any, default: Any, arcs: int) -> Array | None:
    """A column, or None if Python has to read it."""
    if type(name) is not str or type(default) not in (int, float):
        return None
    column, state = np.empty(arcs, np.int64), np.zeros(2, np.int64)
    block = np.empty(BLOCK if multigraph else 0, np.int64)
    call(
        fill_attribute, _addresses(rows), block, _kinds(), np.zeros(16, np.int64), id(name), id(default),
        column, column.view(np.float64), state,
    )  # fmt: skip
    if state[0] == CHANGED:
        raise RuntimeError(_CHANGED)
    if state[0] == OTHER:
        return None
    return column.view(np.float64) if state[1] else column


# --- in Python: all loops over edges are those of C, chains of dicts mapped through the index of nodes


def _by_python(adjacency: Any, nodes: list[Any], kind: Any, multigraph: bool) -> Rows:
    rows = _dicts(adjacency)
    index: dict[Hashable, int] = dict(zip(nodes, range(len(nodes)), strict=True))
    degrees = np.fromiter(map(len, rows.values()), np.int64, len(rows))
    targets = map(index.__getitem__, chain.from_iterable(rows.values()))
    neighbours = np.fromiter(targets, kind, int(degrees.sum()))
    keys = None
    if multigraph:
        keys = np.fromiter(map(len, chain.from_iterable(map(dict.values, rows.values()))), np.int64, len(neighbours))
    arcs = _grouped(degrees, neighbours, keys)
    sources = np.repeat(np.arange(len(nodes)), np.diff(arcs.offsets).astype(np.int64))
    return Rows(arcs, int(np.count_nonzero(sources == arcs.neighbours)))


def _grouped(degrees: Array, neighbours: Array, keys: Array | None) -> Adjacency:
    """Rows of neighbours, each as often as it has keys."""
    offsets = np.zeros(len(degrees) + 1, np.uint64)
    np.cumsum(degrees, out=offsets[1:], dtype=np.uint64)
    if keys is None:
        return Adjacency(offsets, neighbours)
    sums = np.zeros(len(keys) + 1, np.uint64)
    np.cumsum(keys, out=sums[1:], dtype=np.uint64)
    return Adjacency(sums[offsets], np.repeat(neighbours, keys))


def _columns_by_python(graph: Any, defaults: dict[Any, Any], arcs: int) -> dict[Any, Array]:
    if not defaults:
        return {}
    data: Any = list(chain.from_iterable(map(dict.values, _dicts(graph._adj).values())))
    if graph.is_multigraph():
        data = list(chain.from_iterable(map(dict.values, data)))
    if len(data) != arcs:
        raise RuntimeError(_CHANGED)
    return {
        name: _numbers(name, map(dict.get, data, repeat(name), repeat(default))) for name, default in defaults.items()
    }


def _numbers(name: Any, values: Iterable[Any]) -> Array:
    try:
        column = np.array(list(values))
    except (ValueError, OverflowError) as error:
        raise NotImplementedError(f"the edge attribute {name!r} is not a number everywhere") from error
    if not len(column):
        return np.empty(0, np.int64)
    if column.ndim != 1 or column.dtype.kind not in "iufb":
        raise NotImplementedError(f"the edge attribute {name!r} is not a number of 64 bits everywhere")
    return column


def _dicts(adjacency: Any) -> Dicts:
    """Adjacency as plain dicts: views of graphs have mappings that only look like them."""
    if type(adjacency) is dict and set(map(type, adjacency.values())) <= {dict}:
        return adjacency
    return {node: {other: _copied(data) for other, data in row.items()} for node, row in adjacency.items()}


def _copied(data: Any) -> Any:
    return (
        data
        if type(data) is dict
        else {key: _copied(value) if hasattr(value, "items") else value for key, value in data.items()}
    )
