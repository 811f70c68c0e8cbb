"""What programs may ask of a neighbourhood, in plain Python: the same functions that kernels have built in.

They take any iterable of numbers, so a program's `around` runs with them as it is written (debug=True), and a test may
call them alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from arcflux.errors import UsageError

__all__ = ["intersect", "median", "mode", "topk"]

_NOTHING = object()


def mode(values: Iterable[Any], *, default: Any = _NOTHING) -> Any:
    """The most frequent of some integers, of several the smallest (the rule of LDBC's label propagation).

    Of pairs ``(value, weight)``, the value whose weights add up to most. `default` is the mode of nothing.

    Examples
    --------
    >>> import arcflux as af
    >>> af.mode([3, 1, 3, 1, 2]), af.mode([(7, 0.5), (2, 0.25), (2, 0.125)]), af.mode([], default=-1)
    (1, 7, -1)
    """
    weights: dict[Any, Any] = {}
    for each in values:
        value, weight = each if isinstance(each, tuple) else (each, 1)
        weights[value] = weights[value] + weight if value in weights else weight
    if not weights:
        return _of_nothing("mode", default)
    most = max(weights.values())
    return min(value for value, weight in weights.items() if weight == most)


def median(values: Iterable[Any], *, default: Any = _NOTHING) -> Any:
    """The middle one of some numbers, a float; of two in the middle, their mean. NaN if one of them is.

    Examples
    --------
    >>> import arcflux as af
    >>> af.median([5, 1, 2]), af.median([4.0, 1.0]), af.median([], default=0.0)
    (2.0, 2.5, 0.0)
    """
    row = [each if isinstance(each, float) else float(each) for each in values]
    if not row:
        return _of_nothing("median", default)
    strange = [each for each in row if each != each]
    if strange:
        return strange[0]
    row.sort()
    low, high = row[(len(row) - 1) // 2], row[len(row) // 2]
    return low if len(row) % 2 else (low + high) / 2


def topk(k: int, values: Iterable[Any], *, default: Any = 0) -> list[Any]:
    """The `k` largest of some numbers, the largest first; where there are fewer, `default` stands for the rest.

    Examples
    --------
    >>> import arcflux as af
    >>> af.topk(2, [5, 1, 7]), af.topk(3, [5], default=-1)
    ([7, 5], [5, -1, -1])
    """
    top: list[Any] = []
    for each in values:
        place = next((j for j, other in enumerate(top) if each > other), len(top))
        top.insert(place, each)
        del top[k:]
    return top + [default] * (k - len(top))


def intersect(v: Any, u: Any) -> int:
    """In around: how many vertices are neighbours of both v and u, on the side of their edges that around sees.

    ``for w in af.intersect(v, u)`` goes through them, in the order of v's edges.
    """
    common = getattr(v, "_common", None)
    if common is None:
        raise UsageError("af.intersect is called outside of a program", expected="two vertices, in around")
    return common(u)  # type: ignore[no-any-return]


def _of_nothing(name: str, default: Any) -> Any:
    if default is _NOTHING:
        raise ValueError(f"{name} of nothing")
    return default
