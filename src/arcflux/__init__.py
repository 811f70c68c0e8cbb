"""Arcflux: graph programs in plain Python, at the speed of hand-written native code.

>>> import arcflux as af
>>> g = af.load("kron:10")
>>> g.vertices
1024
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The vocabulary of programs is imported at once: the decorator has the name of its module, and has to win.
from arcflux.program import any, dot, f32, f64, flag, i8, i16, i32, i64, program, ref, u8, u16, u32, u64, vertex

__all__ = ["Graph", "Result", "__version__", "algorithms", "any", "bfs", "connected_components", "dot", "errors", "f32",
           "f64", "flag", "generate", "i8", "i16", "i32", "i64", "load", "pagerank", "program", "ref", "run", "save",
           "sssp", "u8", "u16", "u32", "u64", "validate", "vertex"]  # fmt: skip

if TYPE_CHECKING:
    from arcflux import algorithms, errors, generate, validate
    from arcflux.algorithms.bfs import bfs
    from arcflux.algorithms.components import connected_components
    from arcflux.algorithms.pagerank import pagerank
    from arcflux.algorithms.sssp import sssp
    from arcflux.engine import run
    from arcflux.graph import Graph
    from arcflux.io import load, save
    from arcflux.result import Result

_HOMES = {
    "Graph": "arcflux.graph",
    "Result": "arcflux.result",
    "load": "arcflux.io",
    "run": "arcflux.engine",
    "save": "arcflux.io",
    **dict.fromkeys(("bfs", "connected_components", "pagerank", "sssp"), "arcflux.algorithms"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import arcflux`` itself costs next to nothing."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in ("algorithms", "errors", "generate", "validate"):
        return import_module(f"arcflux.{name}")
    raise AttributeError(f"module 'arcflux' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
