"""Arcflux: graph programs in plain Python, at the speed of hand-written native code.

>>> import arcflux as af
>>> g = af.load("kron:10")
>>> g.vertices
1024
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Imported at once: functions that have the name of their module have to win. The others are the words of programs.
from arcflux.built_ins import intersect, median, mode, topk
from arcflux.partition import partition
from arcflux.plan import plan
from arcflux.program import (
    any,
    dot,
    f32,
    f64,
    first,
    flag,
    i8,
    i16,
    i32,
    i64,
    last,
    phase,
    program,
    random,
    ref,
    total,
    u8,
    u16,
    u32,
    u64,
    vertex,
    vertices,
)

__all__ = [
    "CancelToken",
    "Graph",
    "Parts",
    "Result",
    "__version__",
    "algorithms",
    "any",
    "betweenness_centrality",
    "bfs",
    "calibrate",
    "clustering",
    "collaborative_filtering",
    "connected_components",
    "core_number",
    "devices",
    "dot",
    "errors",
    "estimate",
    "f32",
    "f64",
    "first",
    "flag",
    "gas",
    "generate",
    "hits",
    "i8",
    "i16",
    "i32",
    "i64",
    "intersect",
    "label_propagation",
    "last",
    "load",
    "load_parts",
    "median",
    "mode",
    "msg",
    "multi_source_sssp",
    "pagerank",
    "pagerank_delta",
    "partition",
    "phase",
    "plan",
    "program",
    "random",
    "ref",
    "run",
    "save",
    "sssp",
    "strongly_connected_components",
    "topk",
    "total",
    "triangle_count",
    "triangles",
    "two_hop_friends",
    "u8",
    "u16",
    "u32",
    "u64",
    "validate",
    "vertex",
    "vertices",
    "weakly_connected_components",
]

if TYPE_CHECKING:
    from arcflux import algorithms, devices, errors, generate, validate
    from arcflux.algorithms.betweenness import betweenness_centrality
    from arcflux.algorithms.bfs import bfs
    from arcflux.algorithms.clustering import clustering
    from arcflux.algorithms.collaborative_filtering import collaborative_filtering
    from arcflux.algorithms.components import connected_components, weakly_connected_components
    from arcflux.algorithms.core_number import core_number
    from arcflux.algorithms.hits import hits
    from arcflux.algorithms.label_propagation import label_propagation
    from arcflux.algorithms.pagerank import pagerank, pagerank_delta
    from arcflux.algorithms.sssp import multi_source_sssp, sssp
    from arcflux.algorithms.strong_components import strongly_connected_components
    from arcflux.algorithms.triangles import triangle_count, triangles
    from arcflux.algorithms.two_hop_friends import two_hop_friends
    from arcflux.dialects import gas, msg
    from arcflux.engine import run
    from arcflux.graph import Graph
    from arcflux.io import load, save
    from arcflux.partition.folder import load_parts
    from arcflux.partition.parts import Parts
    from arcflux.plan import estimate
    from arcflux.plan.calibrate import calibrate
    from arcflux.result import Result
    from arcflux.spmd.interrupt import CancelToken

_ALGORITHMS = (
    "betweenness_centrality",
    "bfs",
    "clustering",
    "collaborative_filtering",
    "connected_components",
    "core_number",
    "hits",
    "label_propagation",
    "multi_source_sssp",
    "pagerank",
    "pagerank_delta",
    "sssp",
    "strongly_connected_components",
    "triangle_count",
    "triangles",
    "two_hop_friends",
    "weakly_connected_components",
)
_HOMES = {
    "CancelToken": "arcflux.spmd.interrupt",
    "Graph": "arcflux.graph",
    "gas": "arcflux.dialects",
    "msg": "arcflux.dialects",
    "calibrate": "arcflux.plan.calibrate",
    "estimate": "arcflux.plan",
    "Parts": "arcflux.partition.parts",
    "Result": "arcflux.result",
    "load": "arcflux.io",
    "load_parts": "arcflux.partition.folder",
    "run": "arcflux.engine",
    "save": "arcflux.io",
    **dict.fromkeys(_ALGORITHMS, "arcflux.algorithms"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import arcflux`` itself costs next to nothing."""
    from importlib import import_module

    if name in _HOMES:
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found
    if name in ("algorithms", "devices", "errors", "generate", "validate"):
        return import_module(f"arcflux.{name}")
    raise AttributeError(f"module 'arcflux' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
