"""Reductions of values into an array that other workers reduce into at the same time, on cores and on GPUs alike.

The caller provides the compare and swap (spmd/reduce.py, gpu/reduce.py). Each reduction returns whether the array
changed, and reads before it writes: a minimum that is no smaller than the current one costs a plain load, not an
atomic. `place` is a position as `swap` takes it, and `value` has to be of the array's type.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["define"]


def define(inner: Callable[..., Any], swap: Any, coherent: bool = True) -> SimpleNamespace:
    """The reductions, compiled by `inner`; ``swap(array, place, expected, new)`` returns whether it replaced.

    `coherent`: plain loads see what others wrote before they released a lock, as on cores.
    """

    @inner
    def into_min(array: Any, place: Any, value: Any) -> Any:
        """``array[place] = min(array[place], value)``."""
        while True:
            before = array[place]
            if not value < before:
                return False
            if swap(array, place, before, value):
                return True

    @inner
    def into_max(array: Any, place: Any, value: Any) -> Any:
        """``array[place] = max(array[place], value)``."""
        while True:
            before = array[place]
            if not value > before:
                return False
            if swap(array, place, before, value):
                return True

    @inner
    def into_sum(array: Any, place: Any, value: Any) -> Any:
        """``array[place] += value``."""
        while True:
            before = array[place]
            if swap(array, place, before, before + value):
                return True

    @inner
    def into_product(array: Any, place: Any, value: Any) -> Any:
        """``array[place] *= value``."""
        while True:
            before = array[place]
            if swap(array, place, before, before * value):
                return True

    @inner
    def into_or(array: Any, place: Any, value: Any) -> Any:
        """``array[place] |= value``."""
        while True:
            before = array[place]
            made = before | value
            if made == before:
                return False
            if swap(array, place, before, made):
                return True

    @inner
    def into_and(array: Any, place: Any, value: Any) -> Any:
        """``array[place] &= value``."""
        while True:
            before = array[place]
            made = before & value
            if made == before:
                return False
            if swap(array, place, before, made):
                return True

    @inner
    def locked(locks: Any, place: Any) -> Any:
        """Try to take the lock at a position, a byte; returns whether it was free.

        Always a swap: a compiler may hoist a plain load out of a loop.
        """
        return swap(locks, place, np.uint8(0), np.uint8(1))

    @inner
    def unlock(locks: Any, place: Any) -> Any:
        """Release a lock: the next owner sees what was written before."""
        swap(locks, place, np.uint8(1), np.uint8(0))

    @inner
    def into_any(array: Any, place: Any, value: Any) -> Any:
        """``array[place] = value``: one of the concurrent writers wins."""
        array[place] = value
        return True

    return SimpleNamespace(
        into_min=into_min, into_max=into_max, into_sum=into_sum, into_product=into_product, into_or=into_or,
        into_and=into_and, into_any=into_any, locked=locked, unlock=unlock,
            **_under_lock(inner, swap, coherent),
    )  # fmt: skip


def _under_lock(inner: Callable[..., Any], swap: Any, coherent: bool) -> dict[str, Any]:
    """How the owner of a lock reads and writes the data that it guards."""

    @inner
    def read_plain(array: Any, place: Any) -> Any:
        """``array[place]``."""
        return array[place]

    @inner
    def write_plain(array: Any, place: Any, before: Any, value: Any) -> Any:
        """``array[place] = value``."""
        array[place] = value

    @inner
    def read_swapped(array: Any, place: Any) -> Any:
        """The current value at a position, never a stale one."""
        while True:
            there = array[place]
            if swap(array, place, there, there):
                return there

    @inner
    def write_swapped(array: Any, place: Any, before: Any, value: Any) -> Any:
        """``array[place] = value`` in place of `before`, visible to all."""
        swap(array, place, before, value)

    if coherent:
        return {"read_now": read_plain, "write_now": write_plain}
    return {"read_now": read_swapped, "write_now": write_swapped}
