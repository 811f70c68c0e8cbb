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


def _named(**values: Value) -> dict[str, Option]:
    """Options that are called what their arguments are."""
    return {name: Option(name, value) for name, value in values.items()}


def _flags(*names: str) -> dict[str, Option]:
    """Options that stand alone for yes."""
    return {name: Option(name, YES_OR_NO, alone=True) for name in names}


_SEED = _named(seed=WHOLE)
_CHANCE = {**_SEED, "weights": Option("weights", RANGE, alone=(1, 255))}
_EDGES = {"ef": Option("edge_factor", WHOLE), **_CHANCE, **_flags("directed", "simple")}
_QUADRANTS = _named(a=NUMBER, b=NUMBER, c=NUMBER, d=NUMBER)
_RING = _named(k=WHOLE, p=NUMBER)

# The name, the function, a line of help, an example; what its size is, its options.
_ENTRIES = (
    Generator(
        "kron", "recursive.kronecker", "Kronecker graph of the Graph500 benchmark, 2**SCALE vertices",
        "kron:20,ef=8,seed=3,weights=1-255", ("scale",), _EDGES,
    ),
    Generator(
        "rmat", "recursive.rmat", "R-MAT graph, directed, 2**SCALE vertices",
        "rmat:18,a=.5,b=.2,c=.2", ("scale",), {**_QUADRANTS, **_flags("permute"), **_EDGES},
    ),
    Generator(
        "urand", "flat.uniform", "uniform random graph, 2**SCALE vertices; or n vertices and m edges",
        "urand:n=1000,m=5000", ("scale",),
        {"n": Option("vertices", WHOLE), "m": Option("edges", WHOLE), **_EDGES}, instead="vertices",
    ),
    Generator(
        "grid", "regular.grid", "grid of four neighbours, road-like",
        "grid:1024x1024,weights=1-255", ("rows", "columns"), _CHANCE,
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
        "ws", "worlds.watts_strogatz",
        "Watts-Strogatz small world: a ring of k nearest neighbours, rewired with probability p",
        "ws:1000,k=10,p=0.1", ("vertices",), {**_RING, **_CHANCE},
    ),
    Generator(
        "worlds", "worlds.small_worlds",
        "many small worlds, joined by rewiring a part of all edges (the graphs of G2)",
        "worlds:100x1000,k=10,rewire=0.1", ("worlds", "size"),
        {**_RING, **_named(rewire=NUMBER, kind=WORD), **_CHANCE},
    ),
    Generator(
        "ratings", "bipartite.ratings", "bipartite ratings of items by users, from a hidden model of low rank",
        "ratings:1000x500,per=20", ("users", "items"),
        {
            "per": Option("per_user", WHOLE),
            **_named(ratings=WHOLE, low=NUMBER, high=NUMBER, rank=WHOLE, noise=NUMBER),
            **_SEED,
        },
    ),
    Generator(
        "planted", "planted.planted_partition",
        "groups of equal size, edges likelier within them: vertex v is in group v // SIZE",
        "planted:4x100,in=0.3,out=0.01", ("groups", "size"),
        {"in": Option("p_in", NUMBER), "out": Option("p_out", NUMBER), **_CHANCE},
    ),
    Generator(
        "lfr", "planted.lfr", "communities of skewed sizes and degrees, after the LFR benchmark",
        "lfr:1000,mu=0.2,degree=5-50,community=20-100", ("vertices",),
        {
            **_named(mu=NUMBER, degree=RANGE, exponent=NUMBER, community=RANGE),
            "sizes": Option("community_exponent", NUMBER),
            **_CHANCE,
        },
    ),
    Generator(
        "cliques", "planted.ring_of_cliques", "ring of cliques, joined by single edges",
        "cliques:30x5", ("cliques", "size"), _CHANCE,
    ),
    Generator(
        "correlated", "pairs.correlated", "uniform random graph, or (copy) a noisy copy of it",
        "correlated:1000,p=0.1,rho=0.9,copy", ("vertices",),
        {**_named(p=NUMBER, rho=NUMBER), **_flags("copy"), **_CHANCE},
    ),
    Generator(
        "genrmf", "flow_networks.genrmf", "flow network of FRAMES frames of SIDE x SIDE vertices, with capacities",
        "genrmf:8x16,low=1,high=100", ("side", "frames"), {**_named(low=WHOLE, high=WHOLE), **_SEED},
    ),
    Generator(
        "geometric", "geometric.random_geometric",
        "random points in a square or on a sphere, joined when they are near",
        "geometric:1000,radius=0.05", ("vertices",), {**_named(radius=NUMBER, surface=WORD), **_CHANCE},
    ),
)  # fmt: skip

GENERATORS: Mapping[str, Generator] = {entry.name: entry for entry in _ENTRIES}
