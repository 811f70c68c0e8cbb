"""Neighbourhoods in plain Python: the `edges` of `around`, and the last messages of neighbours.

Each of `edges` is a neighbour, and unpacks into the neighbour and its edge. So ``for u in edges`` and ``for u, edge in
edges`` both work, without a change of the user's function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arcflux.compile.python.numbers import min_max

__all__ = ["EdgeList", "Neighbour", "choosing", "shared"]


class Neighbour:
    """A neighbour of v: has the values from before the superstep, and unpacks into (u, edge)."""

    _vertex: Any
    _edge: Any

    def __init__(self, vertex: Any, edge: Any) -> None:
        self.__dict__.update(_vertex=vertex, _edge=edge, number=vertex.number)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vertex, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"u.{name} is assigned, and u is read-only")

    def __iter__(self) -> Iterator[Any]:
        yield self
        yield self._edge

    def __repr__(self) -> str:
        return repr(self._vertex)


class EdgeList:
    """The list of v's edges, which can be iterated repeatedly."""

    def __init__(self, neighbours: list[Neighbour]) -> None:
        self._neighbours = neighbours

    def __iter__(self) -> Iterator[Neighbour]:
        return iter(self._neighbours)

    def __repr__(self) -> str:
        return f"<{len(self._neighbours)} edges>"


def shared(a: Any, b: Any) -> Iterator[Neighbour]:
    """The common neighbours of v and a neighbour of v, each once; one of a and b is v."""
    other = a if isinstance(a, Neighbour) else b
    near, seen = other._run.near(other.number), set()
    for each in other._run.listed:
        if each.number in near and each.number not in seen:
            seen.add(each.number)
            yield each


def choosing(choose: Any, values: Any, default: Any) -> Any:
    """`min` or `max` of a generator's values, in the type of compiled code."""
    best = None
    for value in values:
        best = value if best is None else min_max(choose, best, value)
    if best is None:
        if default is None:
            raise ValueError(f"{choose.__name__} of nothing")
        return default
    return best
