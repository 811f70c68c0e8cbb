"""The ways to run inside Spark, by name: one line each."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from arcflux.errors import UsageError, did_you_mean

__all__ = ["WAYS", "opened"]

# The class that opens each way; its named arguments are the options of the way.
WAYS = {
    "attached": "arcflux.spark.attached:Plug",
    "barrier": "arcflux.spark.barrier:BarrierPlug",
    "faithful": "arcflux.spark.faithful:FaithfulPlug",
}


def opened(session: Any, way: str, options: Mapping[str, Any]) -> Any:
    """A session with Arcflux by this way, after checking that the way has these options."""
    if not isinstance(way, str) or way not in WAYS:
        raise UsageError(f"way is {way!r}", expected=" or ".join(map(repr, WAYS)), remedy=did_you_mean(str(way), WAYS))
    known = {name: _options(name) for name in WAYS}
    wrong = next((name for name in options if name not in known[way]), None)
    if wrong is not None:
        other = next((name for name in WAYS if wrong in known[name]), None)
        raise UsageError(
            f"{wrong} is {options[wrong]!r}, and the way {way!r} has no {wrong}",
            expected=f"one of: {', '.join(known[way])}",
            remedy=f"way={other!r}" if other else did_you_mean(wrong, known[way]),
        )
    return _opener(way)(session, **options)


def _opener(way: str) -> Any:
    module, _, name = WAYS[way].partition(":")
    return getattr(import_module(module), name)


def _options(way: str) -> list[str]:
    return list(inspect.signature(_opener(way)).parameters)[1:]
