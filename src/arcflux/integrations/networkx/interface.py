"""The object that NetworkX calls: its functions by name, and what it asks about graphs and arguments."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from _arcflux_networkx import FUNCTIONS
from arcflux.integrations.networkx.choice import can_run, should_run
from arcflux.integrations.networkx.convert import convert_from_nx, convert_to_nx
from arcflux.integrations.networkx.differences import on_start_tests

__all__ = ["Backend", "backend"]


class Backend:
    """Functions are imported when NetworkX first asks for them.

    Examples
    --------
    >>> backend.pagerank.__module__
    'arcflux.integrations.networkx.functions.centrality'
    >>> hasattr(backend, "not_a_function")
    False
    """

    can_run = staticmethod(can_run)
    should_run = staticmethod(should_run)
    convert_from_nx = staticmethod(convert_from_nx)
    convert_to_nx = staticmethod(convert_to_nx)
    on_start_tests = staticmethod(on_start_tests)

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"the backend has no function {name!r}")
        found = getattr(import_module(f"arcflux.integrations.networkx.functions.{FUNCTIONS[name]}"), name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *FUNCTIONS})


backend = Backend()
