"""The encoding of a message between nodes: which vertices of a list that both sides have, and their values.

It is a header, then the positions of the vertices on the list (nothing if it is all of them, else numbers or bits,
whichever is shorter), then their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange.places import chosen_of, taken

__all__ = ["Traffic", "packed", "rows_of", "unpacked"]

Array = NDArray[Any]

_ALL, _NUMBERS, _BITS = range(3)
HEADER = 8


@dataclass
class Traffic:
    """Bytes that went to other nodes: values, positions, and headers."""

    values: int = 0
    places: int = 0
    headers: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.values + self.places + self.headers


def packed(
    vertices: Array, chosen: Array, values: Callable[[Array], list[Array]], traffic: Traffic
) -> tuple[list[Array], Array]:
    """A message about the chosen ones of `vertices` (a mask), as arrays to post; and those vertices."""
    count = int(np.count_nonzero(chosen))
    some = chosen_of(vertices, chosen, count) if count < len(vertices) else vertices
    places = [] if count == 0 else _places(chosen, count)
    kind = _ALL if count == 0 or count == len(vertices) else (_NUMBERS if places[0].dtype == np.uint32 else _BITS)
    header = np.array([kind, count], np.uint32)
    sent = values(some) if count else []
    traffic.headers += HEADER
    traffic.places += sum(array.nbytes for array in places)
    traffic.values += sum(array.nbytes for array in sent)
    return [header, *places, *sent], some


def _places(chosen: Array, count: int) -> list[Array]:
    """The positions of the chosen ones: nothing for all, else numbers or bits."""
    if count == len(chosen):
        return []
    if 4 * count <= -(-len(chosen) // 8):
        return [np.flatnonzero(chosen).astype(np.uint32)]
    return [np.packbits(chosen)]


def unpacked(message: Array, vertices: Array, like: list[Array]) -> tuple[Array, list[Array]]:
    """The vertices of a message, and their values: for each array of `like`, rows of its type."""
    kind, count = (int(word) for word in np.frombuffer(message, np.uint32, 2))
    if not count:
        return vertices[:0], [array[:0] for array in like]
    place = HEADER
    if kind == _ALL:
        some = vertices
    elif kind == _NUMBERS:
        some = taken(vertices, np.frombuffer(message, np.uint32, count, place))
        place += 4 * count
    else:
        size = -(-len(vertices) // 8)
        bits = np.unpackbits(np.frombuffer(message, np.uint8, size, place), count=len(vertices))
        some = chosen_of(vertices, bits.view(bool), count)
        place += size
    return some, list(rows_of(message, place, count, like))


def rows_of(message: Array, place: int, count: int, like: list[Array]) -> Iterator[Array]:
    """The values of a message from a byte offset on: for each array of `like`, this many rows of its type."""
    for array in like:
        length = count * int(np.prod(array.shape[1:], dtype=np.int64))
        values = np.frombuffer(message, array.dtype, length, place)
        place += values.nbytes
        yield values.reshape(count, *array.shape[1:])
