"""Graphs made to order: the same seed gives the same bytes, on any number of threads.

Each generator is a function (recursive.py, flat.py, regular.py, worlds.py, bipartite.py, planted.py, pairs.py,
flow_networks.py, geometric.py) and has a spec: a line of text such as ``kron:20`` (registry.py lists them, spec.py
reads them). recipe.py is what they share; kernels.py and structured_kernels.py hold loops.

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
    from arcflux.generate.flow_networks import genrmf
    from arcflux.generate.geometric import coordinates, random_geometric
    from arcflux.generate.pairs import correlated, correlated_pair
    from arcflux.generate.planted import (
        lfr,
        lfr_communities,
        planted_partition,
        ring_of_cliques,
        stochastic_block_model,
    )
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
    "coordinates",
    "correlated",
    "correlated_pair",
    "cycle",
    "from_spec",
    "genrmf",
    "grid",
    "is_spec",
    "kronecker",
    "lfr",
    "lfr_communities",
    "parse",
    "path",
    "planted_partition",
    "random_geometric",
    "ratings",
    "ring_of_cliques",
    "rmat",
    "small_worlds",
    "star",
    "stochastic_block_model",
    "uniform",
    "watts_strogatz",
]

import_lazily(
    __name__,
    {
        "bipartite": "ratings",
        "flat": "uniform",
        "flow_networks": "genrmf",
        "geometric": "coordinates random_geometric",
        "pairs": "correlated correlated_pair",
        "planted": "lfr lfr_communities planted_partition ring_of_cliques stochastic_block_model",
        "recursive": "kronecker rmat",
        "registry": "GENERATORS Generator",
        "regular": "complete cycle grid path star",
        "spec": "Spec from_spec is_spec parse",
        "worlds": "small_worlds watts_strogatz",
    },
)
