"""Words of programs: what stands in a function and is no Python of its own; here as debug=True calls it."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.counter import drawn

__all__ = ["any", "dot", "first", "last", "random"]


def any(value: Any) -> Any:
    """In compute: ``v.parent = af.any(u.number)`` keeps one of the messages, whichever comes first."""
    return value


def first(value: Any) -> Any:
    """In compute: ``v.label = af.first(u.label)`` keeps the message of the sender with the smallest number.

    Several fields are kept together: ``v.a, v.b = af.first((u.a, u.b))``. Without a message, all stay what they were.
    """
    return value


def last(value: Any) -> Any:
    """In compute: ``v.label = af.last(u.label)`` keeps the message of the sender with the largest number."""
    return value


def random(of: Any, step: int, k: int = 0, seed: int = 0) -> float:
    """A random float in [0, 1) for a vertex (``v``, ``u``, ``old``), an edge, or any whole number.

    It depends on what it is for, and nothing else: the number of the vertex (or of both ends of the edge), `step`, `k`
    (several for one vertex in one superstep) and `seed`. So it is the same on any number of threads, parts and devices,
    in any direction, and with ``debug=True``. An undirected edge has one, whichever way it is crossed.

    Examples
    --------
    >>> import arcflux as af
    >>> af.random(3, step=0), af.random(3, step=0, k=1)
    (0.16211838321222405, 0.4900055522210829)
    """
    ends = getattr(of, "_ends", None) or (of.number if hasattr(of, "number") else of,)
    return drawn(seed, ends, step, k)


def dot(a: Any, b: Any) -> Any:
    """The sum of the products of two vector fields' elements."""
    return sum(x * y for x, y in zip(a, b, strict=True))
