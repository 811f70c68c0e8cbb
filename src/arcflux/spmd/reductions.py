"""What it means to reduce a value into an array that others reduce into at the same time, on cores and on GPUs alike.

Whoever says what is compared and swapped (spmd/reduce.py, gpu/reduce.py) gets the reductions from here. Each returns
whether the array changed, and all look before they write: a minimum that is no smaller than what is there costs a plain
load, not an atomic. `place` is what `swap` takes for one, and `value` has to be of the array's own type.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

__all__ = ["define"]


def define(inner: Callable[..., Any], swap: Any) -> SimpleNamespace:
    """The reductions, compiled by `inner`, of ``swap(array, place, expected, new)``: whether `new` is there now."""

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
    def into_any(array: Any, place: Any, value: Any) -> Any:
        """``array[place] = value``: one of those who write wins."""
        array[place] = value
        return True

    return SimpleNamespace(
        into_min=into_min, into_max=into_max, into_sum=into_sum, into_product=into_product, into_or=into_or,
        into_and=into_and, into_any=into_any,
    )  # fmt: skip
