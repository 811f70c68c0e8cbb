"""``nx.config.backends.arcflux``: where runs take place."""

from __future__ import annotations

from typing import Any

import networkx as nx

from _arcflux_networkx import SETTINGS

__all__ = ["always", "where"]


def where() -> dict[str, Any]:
    """The options of a run that are set.

    Examples
    --------
    >>> where()
    {}
    """
    return {name: value for name, value in _settings().items() if name != "always" and value is not None}


def always() -> bool:
    """Whether even graphs that are too small to gain by it are taken."""
    return bool(_settings()["always"])


def _settings() -> dict[str, Any]:
    chosen = getattr(nx.config.backends, "arcflux", None)
    return SETTINGS if chosen is None else {name: getattr(chosen, name) for name in SETTINGS}
