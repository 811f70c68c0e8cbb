"""The loops of `places.py`, for one thread: each rank has its own lists."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.jit import kernel

__all__ = ["choose_places", "compare_places", "put_places", "take_places"]


@kernel
def take_places(array: Any, places: Any, found: Any) -> None:
    """Read rows at positions."""
    for k in range(len(places)):
        found[k] = array[places[k]]


@kernel
def put_places(array: Any, places: Any, values: Any) -> None:
    """Write rows at positions."""
    for k in range(len(places)):
        array[places[k]] = values[k]


@kernel
def compare_places(now: Any, later: Any, places: Any, found: Any) -> None:
    """Whether rows at positions differ."""
    for k in range(len(places)):
        found[k] = now[places[k]] != later[places[k]]


@kernel
def choose_places(places: Any, chosen: Any, found: Any) -> None:
    """Compact the chosen positions; `found` has room for one more than those."""
    count = 0
    for k in range(len(places)):
        found[count] = places[k]
        count += chosen[k]
