"""Graphs made to order: the same seed gives the same bytes, on any number of threads.

Each generator is a function (recursive.py, flat.py, regular.py, worlds.py, bipartite.py) and has a spec: a line of text
such as ``kron:20`` (registry.py lists them, spec.py reads them). recipe.py is what they share; kernels.py holds loops.

>>> from arcflux import generate
>>> generate.from_spec("kron:10,weights=1-255")
<Graph kron:10,weights=1-255: 1,024 vertices, 10,577 edges, undirected, columns weight, 173.3 KiB>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.generate.bipartite import ratings
    from arcflux.generate.flat import uniform
    from arcflux.generate.recursive import kronecker, rmat
    from arcflux.generate.registry import GENERATORS, Generator
    from arcflux.generate.regular import complete, cycle, grid, path, star
    from arcflux.generate.spec import Spec, from_spec, is_spec, parse
    from arcflux.generate.worlds import small_worlds, watts_strogatz

__all__ = [
    "GENERATORS",
    "Generator",
    "Spec",
    "complete",
    "cycle",
    "from_spec",
    "grid",
    "is_spec",
    "kronecker",
    "parse",
    "path",
    "ratings",
    "rmat",
    "small_worlds",
    "star",
    "uniform",
    "watts_strogatz",
]

import_lazily(
    __name__,
    {
        "bipartite": "ratings",
        "flat": "uniform",
        "recursive": "kronecker rmat",
        "registry": "GENERATORS Generator",
        "regular": "complete cycle grid path star",
        "spec": "Spec from_spec is_spec parse",
        "worlds": "small_worlds watts_strogatz",
    },
)
