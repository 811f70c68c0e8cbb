"""A list of edges on its way into a graph: what every reader and generator hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array
from arcflux.errors import GraphError
from arcflux.spmd.memory import release

__all__ = ["Edges", "Options", "bytes_to_build", "checked_columns"]

Array = NDArray[Any]

_DEDUPLICATE = ("first", "sum", "min", "max")
# Enough slices for the workers to share and for memory to be given back on the way, few enough to count cheaply.
_SLICES = 128


@dataclass
class Edges:
    """Edges ``source[i] -> target[i]`` with a value of each column, in slices.

    source, target: uint32|uint64[places]; columns: name -> number[places]; starts, counts: uint64[slices]. The edges
    are at places starts[s] to starts[s] + counts[s]; places between slices mean nothing. With `ours`, the arrays belong
    to the builder, which gives their memory back while it works.
    """

    source: Array
    target: Array
    columns: dict[str, Array] = field(default_factory=dict)
    starts: Array = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: Array = field(default_factory=lambda: np.empty(0, np.uint64))
    ours: bool = False

    def __post_init__(self) -> None:
        if not len(self.starts):
            bounds = np.linspace(0, len(self.source), _SLICES + 1).astype(np.uint64)
            self.starts, self.counts = bounds[:-1].copy(), np.diff(bounds)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def places(self) -> Array:
        """The place of every edge, in order."""
        spans = zip(self.starts.tolist(), self.counts.tolist(), strict=True)
        return np.concatenate([np.arange(s, s + c, dtype=np.int64) for s, c in spans] or [np.empty(0, np.int64)])

    def give_back(self, start: int, stop: int) -> None:
        """Places `start` to `stop` will not be read again."""
        if self.ours:
            release(self.source, start, stop)
            release(self.target, start, stop)


@dataclass(frozen=True)
class Options:
    """What may be done to the edges on the way: nothing, unless asked for."""

    directed: bool = True
    deduplicate: str | None = None
    drop_self_loops: bool = False
    sort: bool = True
    threads: int | None = None

    def __post_init__(self) -> None:
        known = self.deduplicate is None or (isinstance(self.deduplicate, str) and self.deduplicate in _DEDUPLICATE)
        if not known:
            raise GraphError(
                f"deduplicate is {self.deduplicate!r}",
                expected="None, or one of " + ", ".join(_DEDUPLICATE),
                remedy="deduplicate='first' keeps the first of parallel edges",
            )
        if self.deduplicate and not self.sort:
            raise GraphError(
                "deduplicate needs sorted neighbours, and sort is False",
                remedy="leave sort at True, or deduplicate at None",
            )


def bytes_to_build(vertices: int, arcs: int = 0, width: int = 4) -> int:
    """Memory that sorting `arcs` arcs by two ends of `width` bytes takes, besides the edges themselves."""
    return 18 * vertices + arcs * (width + 2)


def checked_columns(columns: Mapping[str, Any] | None, size: int) -> dict[str, Array]:
    """Edge columns as arrays: each a number of a fixed size for each of `size` edges."""
    result = {}
    for name, given in (columns or {}).items():
        if np.ma.is_masked(given):
            raise GraphError(f"edge column {name!r} has missing (masked) values", expected="a number for every edge")
        values = np.asarray(array(f"edge column {name!r}", given))
        if not isinstance(name, str) or not name.isidentifier():
            raise GraphError(f"an edge column is named {name!r}", expected="a name such as weight or capacity_2")
        if values.shape != (size,):
            raise GraphError(
                f"edge column {name!r} has shape {values.shape}", expected=f"one value an edge: shape ({size},)"
            )
        if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8 or values.dtype == np.float16:
            raise GraphError(
                f"edge column {name!r} holds {values.dtype}",
                expected="integers of at most 64 bits, floats of 32 or 64, or booleans",
                remedy="leave the column out, or encode it as numbers",
            )
        result[name] = values.astype(values.dtype.newbyteorder("="), copy=False)
    return result
