"""The ids that users know, and the vertex numbers 0 .. n-1 that the machine works with.

Three kinds: a run of integers (nothing is stored but its start), any int64s (a sorted array), text (sorted bytes).
Numbers follow the order of the ids, so they do not depend on the order of the edges or on the number of workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import IdError, SpaceError, UsageError, did_you_mean

__all__ = ["Ids", "IntegerIds", "RangeIds", "TextIds", "as_ids", "by_id", "is_text"]

Array = NDArray[Any]


def by_id(values: Any) -> Any:
    """Values with their ids: a pandas Series as a mapping from its index, anything else as it is.

    Examples
    --------
    >>> by_id({"ada": 1}), by_id([3, 4])
    ({'ada': 1}, [3, 4])
    """
    index = getattr(values, "index", None)
    if index is None or callable(index) or not hasattr(values, "to_dict") or np.ndim(values) != 1:
        return values
    labels = list(index)
    if len(set(labels)) < len(labels):
        raise UsageError("an id is twice in the index of the values", expected="each vertex once")
    return dict(zip(labels, values.tolist(), strict=True))


class Ids(ABC):
    """A one-to-one map between vertex numbers and the user's ids."""

    kind: str

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def to_ids(self, numbers: Any = None) -> Array:
        """The ids of vertex numbers; of all vertices, in order, without an argument."""

    def __iter__(self) -> Iterator[Any]:
        """The ids of all vertices, in the order of their numbers."""
        return iter(self.to_ids().tolist())

    @abstractmethod
    def find(self, ids: Any) -> Array:
        """The vertex numbers of ids, as int64; -1 for an id that is not here."""

    def to_numbers(self, ids: Any) -> Array:
        """The vertex numbers of ids; an id that is not here is an :class:`~arcflux.errors.IdError`."""
        given = np.atleast_1d(_array(ids))
        if given.ndim != 1:
            raise IdError(f"ids have shape {given.shape}", expected="one id, or one dimension of them")
        numbers = self.find(given)
        if len(numbers) and numbers.min() < 0:
            raise self.unknown(given[int(np.argmax(numbers < 0))])
        return numbers

    def to_number(self, given: Any) -> int:
        """The vertex number of one id; one that is not here is an :class:`~arcflux.errors.IdError`."""
        return int(self.to_numbers([given])[0])

    def unknown(self, given: Any) -> IdError:
        """The error for an id that is not in the graph."""
        shown = [_plain(i) for i in self.to_ids(np.arange(min(3, len(self))))]
        example = ", ".join(map(repr, shown)) or "none: the graph has no vertices"
        return IdError(
            f"vertex {_plain(given)!r} is not in the graph",
            expected=f"one of its {len(self):,} {self.kind} ids, such as {example}",
            remedy=did_you_mean(given, self.to_ids().tolist()) if self._is_searchable(given) else "",
        )

    def _is_searchable(self, given: Any) -> bool:
        """Whether an id that is like another one can be looked for in no time."""
        return self.kind == "text" and isinstance(given, str) and len(self) <= 10_000

    @property
    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """What has to be kept: name -> array."""

    @property
    def nbytes(self) -> int:
        """Bytes that the map takes."""
        return sum(array.nbytes for array in self.arrays.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return len(self) == len(other) and bool(np.array_equal(self.to_ids(), other.to_ids()))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} {self.kind} ids)"


class RangeIds(Ids):
    """The integers from `base` on.

    Examples
    --------
    >>> RangeIds(3, base=10).to_ids([0, 2]).tolist()
    [10, 12]
    >>> RangeIds(3, base=10).find([12, 13]).tolist()
    [2, -1]
    """

    kind = "integer"

    def __init__(self, size: int, base: int = 0) -> None:
        self.size = size
        self.base = base

    def __len__(self) -> int:
        return self.size

    def to_ids(self, numbers: Any = None) -> Array:
        if numbers is None:
            return np.arange(self.size, dtype=np.int64) + self.base
        return np.asarray(numbers).astype(np.int64) + self.base

    def to_number(self, given: Any) -> int:
        if type(given) is int and self.base <= given < self.base + self.size:
            return given - self.base
        return super().to_number(given)

    def find(self, ids: Any) -> Array:
        wanted, possible = _integers(ids)
        inside = possible & (wanted >= self.base) & (wanted <= self.base + self.size - 1)
        return np.where(inside, wanted - self.base, -1)

    @property
    def arrays(self) -> dict[str, Array]:
        return {}


class IntegerIds(Ids):
    """Any int64s, sorted and different.

    Examples
    --------
    >>> IntegerIds(np.array([-5, 7, 2**62])).find([7, 8]).tolist()
    [1, -1]
    """

    kind = "integer"

    def __init__(self, values: Array) -> None:
        values = values.view()
        values.flags.writeable = False
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def to_ids(self, numbers: Any = None) -> Array:
        chosen = self.values if numbers is None else self.values[np.asarray(numbers).astype(np.int64)]
        return chosen.astype(np.int64, copy=False)

    def find(self, ids: Any) -> Array:
        wanted, possible = _integers(ids)
        if not len(self.values):
            return np.full(len(wanted), -1, np.int64)
        place = np.minimum(np.searchsorted(self.values, wanted), len(self.values) - 1)
        return np.where(possible & (self.values[place] == wanted), place, -1).astype(np.int64)

    @property
    def arrays(self) -> dict[str, Array]:
        return {"values": self.values}


class TextIds(Ids):
    """Names: UTF-8 text, sorted by bytes. offsets: int64[n + 1], data: uint8[bytes].

    Examples
    --------
    >>> ids = TextIds.of(["bob", "ada"])
    >>> ids.to_ids().tolist(), ids.find(["bob", "eve"]).tolist()
    (['ada', 'bob'], [1, -1])
    """

    kind = "text"

    def __init__(self, offsets: Array, data: Array) -> None:
        self.offsets = offsets
        self.data = data

    @classmethod
    def of(cls, names: Any) -> TextIds:
        """Of any collection of text; each different name once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            values = (
                names if isinstance(names, (pa.Array, pa.ChunkedArray)) else pa.array(list(names), pa.large_string())
            )
        except UnicodeEncodeError as error:
            raise IdError(f"vertex id {error.object!r} is not text that UTF-8 can hold") from error
        if values.null_count:
            raise IdError("a vertex id is missing (null)", expected="text for every id")
        unique = pc.unique(values.cast(pa.large_string()))
        sorted_ = unique.take(pc.sort_indices(unique))
        _, offsets, data = sorted_.buffers()
        starts = np.frombuffer(offsets, np.int64, len(sorted_) + 1) if len(sorted_) else np.zeros(1, np.int64)
        return cls(starts, np.frombuffer(data, np.uint8, int(starts[-1])) if starts[-1] else np.zeros(0, np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_arrow(self) -> Any:
        """The names as Arrow has them, without a copy."""
        import pyarrow as pa

        parts = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), len(self), parts)

    def to_ids(self, numbers: Any = None) -> Array:
        names = self.to_arrow()
        if numbers is not None:
            names = names.take(np.asarray(numbers).astype(np.int64))
        result: Array = names.to_numpy(zero_copy_only=False).astype(object)
        return result

    def find(self, ids: Any) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not isinstance(ids, (pa.Array, pa.ChunkedArray)):
            names = [_utf8(name) for name in np.atleast_1d(_array(ids)).tolist()]
            if len(names) <= 16:
                return np.array([self._search(name) for name in names], np.int64)
            ids = pa.array(names, pa.large_binary())
        kind = pa.large_binary()
        found = pc.index_in(ids.cast(kind), value_set=self.to_arrow().cast(kind), skip_nulls=True)
        result: Array = pc.fill_null(found, -1).to_numpy().astype(np.int64)
        return result

    def _search(self, wanted: bytes | None) -> int:
        """Binary search: the number of one name, without hashing all of them."""
        if wanted is None:
            return -1
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.data[self.offsets[middle] : self.offsets[middle + 1]].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        if low < len(self) and self.data[self.offsets[low] : self.offsets[low + 1]].tobytes() == wanted:
            return low
        return -1

    @property
    def arrays(self) -> dict[str, Array]:
        return {"offsets": self.offsets, "data": self.data}


def is_text(values: Any) -> bool:
    """Whether an array holds text rather than numbers."""
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    return kind in ("U", "S", "O", "T")


def as_ids(values: Any) -> Array:
    """An array of ids as int64 or as text (dtype object); anything else cannot be ids."""
    given = _array(values)
    if given.ndim != 1:
        raise IdError(f"ids have shape {given.shape}", expected="one dimension")
    if given.dtype.kind in "iu":
        if given.dtype == np.uint64 and len(given) and int(given.max()) >= 1 << 63:
            raise IdError(
                f"vertex id {int(given.max())} is not below 2^63",
                expected="integers from -2^63 to 2^63 - 1",
                remedy="pass such ids as text",
            )
        return given
    if not len(given):
        return np.empty(0, np.int64)
    if is_text(given):
        names = given.astype(object)
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is None and all(isinstance(name, str) for name in names):
            return names
        raise IdError(
            f"vertex id {wrong!r} is of type {type(wrong).__name__}, not text",
            expected="all ids text, or all integers below 2^63",
            remedy="convert the ids to one type first",
        )
    raise IdError(
        f"vertex ids are {given.dtype}",
        expected="integers or text",
        remedy="convert them first, for example with .astype('int64')",
    )


def _array(values: Any) -> Array:
    """Ids as they were given: NumPy alone would turn a number among text into text, and cut zeros off its end."""
    if np.ma.is_masked(values):
        raise IdError("a vertex id is missing (masked)", expected="an id for every end of an edge")
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise IdError("vertex ids are lists of different lengths", expected="integers or text") from error
    except MemoryError as error:
        raise SpaceError("there is not enough memory for so many vertex ids", remedy="fewer ids at once") from error
    return given if given.dtype.kind != "U" or isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


def _integers(ids: Any) -> tuple[Array, Array]:
    """Ids as int64, and which of them are: text, floats and integers from 2^63 on are not."""
    given = np.atleast_1d(_array(ids))
    if given.dtype.kind not in "iu":
        return np.zeros(len(given), np.int64), np.zeros(len(given), np.bool_)
    wanted = given.astype(np.int64)
    return wanted, (wanted >= 0) | (given.dtype.kind == "i")


def _utf8(name: Any) -> bytes | None:
    """A name as it is kept, or None when it cannot be a name."""
    try:
        return name.encode() if isinstance(name, str) else None
    except UnicodeEncodeError:
        return None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
