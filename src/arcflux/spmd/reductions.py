"""What it means to reduce a value into an array that others reduce into at the same time, on cores and on GPUs alike.

Whoever says what is compared and swapped (spmd/reduce.py, gpu/reduce.py) gets the reductions from here. Each returns
whether the array changed, and all look before they write: a minimum that is no smaller than what is there costs a plain
load, not an atomic. `place` is what `swap` takes for one, and `value` has to be of the array's own type.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["define"]


def define(inner: Callable[..., Any], swap: Any, coherent: bool = True) -> SimpleNamespace:
    """The reductions, compiled by `inner`, of ``swap(array, place, expected, new)``: whether `new` is there now.

    `coherent` says that plain loads see what others wrote before they freed a lock, as those of cores do.
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
        """Whether the lock at a place, a byte, was free and is this worker's now.

        Always a swap: in a loop, a compiler may take a plain load for one that never changes.
        """
        return swap(locks, place, np.uint8(0), np.uint8(1))

    @inner
    def unlock(locks: Any, place: Any) -> Any:
        """Free a lock: what was written before is there for the next who takes it."""
        swap(locks, place, np.uint8(1), np.uint8(0))

    @inner
    def into_any(array: Any, place: Any, value: Any) -> Any:
        """``array[place] = value``: one of those who write wins."""
        array[place] = value
        return True

    return SimpleNamespace(
        into_min=into_min, into_max=into_max, into_sum=into_sum, into_product=into_product, into_or=into_or,
        into_and=into_and, into_any=into_any, locked=locked, unlock=unlock,
            **_under_lock(inner, swap, coherent),
    )  # fmt: skip


def _under_lock(inner: Callable[..., Any], swap: Any, coherent: bool) -> dict[str, Any]:
    """How the owner of a lock reads and writes what it guards."""

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
        """What an array has at a place, and no older value."""
        while True:
            there = array[place]
            if swap(array, place, there, there):
                return there

    @inner
    def write_swapped(array: Any, place: Any, before: Any, value: Any) -> Any:
        """``array[place] = value`` where `before` is, for all to see."""
        swap(array, place, before, value)

    if coherent:
        return {"read_now": read_plain, "write_now": write_plain}
    return {"read_now": read_swapped, "write_now": write_swapped}
