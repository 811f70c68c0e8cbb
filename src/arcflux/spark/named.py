"""Algorithms and applications by name, and their arguments by name, as a daemon takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from arcflux.errors import UsageError, did_you_mean
from arcflux.program import Program

__all__ = ["bound", "is_named", "names", "parameters"]


@lru_cache(maxsize=1)
def names() -> dict[str, Callable[..., Any]]:
    """The functions by their names."""
    import arcflux.applications as applications
    from arcflux.algorithms.registry import ALGORITHMS

    found = {name: entry.call for name, entry in ALGORITHMS.items()}
    more = {name: getattr(applications, name) for name in applications.__all__}
    return found | {name: call for name, call in more.items() if name != "modularity" and _takes_graph(call)}


def _takes_graph(call: Any) -> bool:
    return inspect.isfunction(call) and next(iter(inspect.signature(call).parameters), "") == "graph"


def is_named(name: str) -> bool:
    """Whether there is an algorithm or application of this name."""
    return name in names()


def parameters(what: str) -> list[str]:
    """The names of an algorithm's arguments; none for an unknown one."""
    return list(inspect.signature(names()[what]).parameters)[1:] if is_named(what) else []


def bound(what: str | Program, given: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name: unnamed ones are the first arguments after the graph."""
    if isinstance(what, Program):
        free = list(what.parameters)
    elif isinstance(what, str) and is_named(what):
        order = inspect.signature(names()[what]).parameters.values()
        free = [one.name for one in order if one.kind in (one.POSITIONAL_OR_KEYWORD, one.POSITIONAL_ONLY)][1:]
    else:
        raise UsageError(
            f"what to run is {what!r}", expected="the name of an algorithm or application, or a program",
            remedy=did_you_mean(str(what), names(), "arcflux algorithms lists them", "'{}'"),
        )  # fmt: skip
    if len(given) > len(free):
        raise UsageError(f"there are {len(given)} arguments without a name", expected=f"at most {len(free)}: {free}")
    named = dict(zip(free, given, strict=False))
    twice = next((name for name in named if name in arguments), None)
    if twice is not None:
        raise UsageError(f"{twice} is given twice", expected="once")
    return {**named, **arguments}
