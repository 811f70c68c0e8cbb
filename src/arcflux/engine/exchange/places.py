"""Rows of arrays at the positions of a list: NumPy's ``array[list]`` without copies of the list as int64.

A superstep between nodes does this with every vertex that another node reads. NumPy handles short lists and arrays with
more than one value a row: there is little to gain, and nothing has to be compiled for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.spmd.memory import frozen

__all__ = ["chosen_of", "differing", "put", "taken"]

Array = NDArray[Any]

_SHORT = 1 << 13
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def taken(array: Array, places: Array) -> Array:
    """``array[places]``

    Examples
    --------
    >>> taken(np.array([5.0, 6.0, 7.0]), np.array([2, 0], np.uint32)).tolist()
    [7.0, 5.0]
    """
    if not _long(places, array):
        return np.asarray(array[places])
    from arcflux.engine.exchange.place_kernels import take_places

    values = np.empty(len(places), array.dtype)
    take_places(frozen(_words(array)), frozen(places), _words(values))
    return values


def put(array: Array, places: Array, values: Array) -> None:
    """``array[places] = values``; both of the same type.

    Examples
    --------
    >>> array = np.zeros(3)
    >>> put(array, np.array([2], np.uint32), np.array([4.0]))
    >>> array.tolist()
    [0.0, 0.0, 4.0]
    """
    if not _long(places, array):
        array[places] = values
        return
    from arcflux.engine.exchange.place_kernels import put_places

    put_places(_words(array), frozen(places), frozen(_words(values)))


def differing(now: Array, later: Array, places: Array) -> Array:
    """At which of the positions two arrays differ.

    Examples
    --------
    >>> differing(np.array([1, 2, 3]), np.array([1, 0, 0]), np.array([0, 2], np.uint32)).tolist()
    [False, True]
    """
    if not _long(places, now):
        differs = now[places] != later[places]
        return np.asarray(differs.any(axis=1) if differs.ndim > 1 else differs)
    from arcflux.engine.exchange.place_kernels import compare_places

    differs_at = np.empty(len(places), bool)
    compare_places(frozen(_words(now)), frozen(_words(later)), frozen(places), differs_at)
    return differs_at


def chosen_of(places: Array, chosen: Array, count: int) -> Array:
    """``places[chosen]``, which has `count` elements.

    Examples
    --------
    >>> chosen_of(np.array([4, 6, 9]), np.array([True, False, True]), 2).tolist()
    [4, 9]
    """
    if not _long(places, places):
        return np.asarray(places[chosen])
    from arcflux.engine.exchange.place_kernels import choose_places

    selected = np.empty(count + 1, places.dtype)  # one more: it is written to before it is known whether it counts
    choose_places(frozen(places), frozen(chosen), selected)
    return selected[:count]


def _long(places: Array, array: Array) -> bool:
    contiguous = array.ndim == 1 and array.flags.c_contiguous and array.dtype.itemsize in _BITS
    return contiguous and len(places) >= _SHORT and places.dtype in (np.uint32, np.uint64)


def _words(array: Array) -> Array:
    """The array as unsigned numbers of its width, so that one compiled kernel serves all types."""
    return array.view(_BITS[array.dtype.itemsize])
