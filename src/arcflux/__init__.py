"""Arcflux: graph programs in plain Python, at the speed of hand-written native code.

>>> import arcflux as af
>>> g = af.load("kron:10")
>>> g.vertices
1024
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Graph", "__version__", "errors", "generate", "load", "save", "validate"]

if TYPE_CHECKING:
    from arcflux import errors, generate, validate
    from arcflux.graph import Graph
    from arcflux.io import load, save

_HOMES = {"Graph": "arcflux.graph", "load": "arcflux.io", "save": "arcflux.io"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import arcflux`` itself costs next to nothing."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"arcflux.{name}")
    raise AttributeError(f"module 'arcflux' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
