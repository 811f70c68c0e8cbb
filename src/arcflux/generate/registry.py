"""The generators that a spec can name: one entry each, and nothing else to touch when one is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from arcflux.generate.values import NUMBER, RANGE, WHOLE, WORD, YES_OR_NO, Value
from arcflux.graph.core import Graph

__all__ = ["GENERATORS", "Generator", "Option"]


@dataclass(frozen=True)
class Option:
    """An option of a spec: the argument it stands for, its kind of value, and its value when it stands alone."""

    argument: str
    value: Value
    alone: Any = None


@dataclass(frozen=True)
class Generator:
    """A generator by its name in specs: its function as module.name, a line of help, an example, and what a spec says.

    `size` names the arguments that the first part of a spec gives: ``20`` gives one, ``1024x1024`` two. A spec that
    gives the argument `instead` by an option needs no size.
    """

    name: str
    function: str
    help: str
    example: str
    size: tuple[str, ...]
    options: Mapping[str, Option]
    instead: str = ""

    @property
    def make(self) -> Callable[..., Graph]:
        """The function, whose module is imported when it is needed."""
        module, _, name = self.function.partition(".")
        made: Callable[..., Graph] = getattr(import_module(f"arcflux.generate.{module}"), name)
        return made

    @property
    def form(self) -> str:
        """What a spec of this generator looks like.

        Examples
        --------
        >>> GENERATORS["grid"].form
        'grid:ROWSxCOLUMNS[,seed=N][,weights=LOW-HIGH]'
        """
        options = (f"[,{key}={option.value.place}]" for key, option in self.options.items())
        return f"{self.name}:{'x'.join(map(str.upper, self.size))}" + "".join(options)


_CHANCE = {"seed": Option("seed", WHOLE), "weights": Option("weights", RANGE, alone=(1, 255))}
_EDGES = {
    "ef": Option("edge_factor", WHOLE),
    **_CHANCE,
    "directed": Option("directed", YES_OR_NO, alone=True),
    "simple": Option("simple", YES_OR_NO, alone=True),
}
_QUADRANTS = {quadrant: Option(quadrant, NUMBER) for quadrant in "abcd"}
_RING = {"k": Option("k", WHOLE), "p": Option("p", NUMBER)}

_ENTRIES = (
    Generator(
        name="kron",
        function="recursive.kronecker",
        help="Kronecker graph of the Graph500 benchmark, 2**SCALE vertices",
        example="kron:20,ef=8,seed=3,weights=1-255",
        size=("scale",),
        options=_EDGES,
    ),
    Generator(
        name="rmat",
        function="recursive.rmat",
        help="R-MAT graph, directed, 2**SCALE vertices",
        example="rmat:18,a=.5,b=.2,c=.2",
        size=("scale",),
        options={**_QUADRANTS, "permute": Option("permute", YES_OR_NO, alone=True), **_EDGES},
    ),
    Generator(
        name="urand",
        function="flat.uniform",
        help="uniform random graph, 2**SCALE vertices; or n vertices and m edges",
        example="urand:n=1000,m=5000",
        size=("scale",),
        options={"n": Option("vertices", WHOLE), "m": Option("edges", WHOLE), **_EDGES},
        instead="vertices",
    ),
    Generator(
        name="grid",
        function="regular.grid",
        help="grid of four neighbours, road-like",
        example="grid:1024x1024,weights=1-255",
        size=("rows", "columns"),
        options=_CHANCE,
    ),
    *(
        Generator(name, f"regular.{name}", help, f"{name}:{size}", ("vertices",), _CHANCE)
        for name, help, size in (
            ("path", "path", 100),
            ("cycle", "cycle", 100),
            ("star", "hub and leaves", 100),
            ("complete", "all pairs", 50),
        )
    ),
    Generator(
        name="ws",
        function="worlds.watts_strogatz",
        help="Watts-Strogatz small world: a ring of k nearest neighbours, rewired with probability p",
        example="ws:1000,k=10,p=0.1",
        size=("vertices",),
        options={**_RING, **_CHANCE},
    ),
    Generator(
        name="worlds",
        function="worlds.small_worlds",
        help="many small worlds, joined by rewiring a part of all edges (the graphs of G2)",
        example="worlds:100x1000,k=10,rewire=0.1",
        size=("worlds", "size"),
        options={**_RING, "rewire": Option("rewire", NUMBER), "kind": Option("kind", WORD), **_CHANCE},
    ),
    Generator(
        name="ratings",
        function="bipartite.ratings",
        help="bipartite ratings of items by users, from a hidden model of low rank",
        example="ratings:1000x500,per=20",
        size=("users", "items"),
        options={
            "per": Option("per_user", WHOLE),
            "ratings": Option("ratings", WHOLE),
            "low": Option("low", NUMBER),
            "high": Option("high", NUMBER),
            "rank": Option("rank", WHOLE),
            "noise": Option("noise", NUMBER),
            "seed": Option("seed", WHOLE),
        },
    ),
    Generator(
        name="planted",
        function="planted.planted_partition",
        help="groups of equal size, edges likelier within them: vertex v is in group v // SIZE",
        example="planted:4x100,in=0.3,out=0.01",
        size=("groups", "size"),
        options={"in": Option("p_in", NUMBER), "out": Option("p_out", NUMBER), **_CHANCE},
    ),
    Generator(
        name="lfr",
        function="planted.lfr",
        help="communities of skewed sizes and degrees, after the LFR benchmark",
        example="lfr:1000,mu=0.2,degree=5-50,community=20-100",
        size=("vertices",),
        options={
            "mu": Option("mu", NUMBER),
            "degree": Option("degree", RANGE),
            "exponent": Option("exponent", NUMBER),
            "community": Option("community", RANGE),
            "sizes": Option("community_exponent", NUMBER),
            **_CHANCE,
        },
    ),
    Generator(
        name="cliques",
        function="planted.ring_of_cliques",
        help="ring of cliques, joined by single edges",
        example="cliques:30x5",
        size=("cliques", "size"),
        options=_CHANCE,
    ),
    Generator(
        name="correlated",
        function="pairs.correlated",
        help="uniform random graph, or (copy) a noisy copy of it",
        example="correlated:1000,p=0.1,rho=0.9,copy",
        size=("vertices",),
        options={
            "p": Option("p", NUMBER),
            "rho": Option("rho", NUMBER),
            "copy": Option("copy", YES_OR_NO, alone=True),
            **_CHANCE,
        },
    ),
    Generator(
        name="genrmf",
        function="flow_networks.genrmf",
        help="flow network of FRAMES frames of SIDE x SIDE vertices, with capacities",
        example="genrmf:8x16,low=1,high=100",
        size=("side", "frames"),
        options={"low": Option("low", WHOLE), "high": Option("high", WHOLE), "seed": Option("seed", WHOLE)},
    ),
    Generator(
        name="geometric",
        function="geometric.random_geometric",
        help="random points in a square or on a sphere, joined when they are near",
        example="geometric:1000,radius=0.05",
        size=("vertices",),
        options={"radius": Option("radius", NUMBER), "surface": Option("surface", WORD), **_CHANCE},
    ),
)

GENERATORS: Mapping[str, Generator] = {entry.name: entry for entry in _ENTRIES}
