"""The algorithms of the command line: adding one takes one line here.

They have the names that they have in `arcflux`, and are imported when they are used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import arcflux
from arcflux import Result, vertex
from arcflux.engine.spread import WHERE
from arcflux.errors import UsageError, did_you_mean
from arcflux.extensions import extension, extension_names

__all__ = ["ALGORITHMS", "Algorithm", "Argument", "added", "find", "run_options"]

_LISTS: tuple[Any, ...] = (list, tuple, Sequence, Iterable)


@dataclass(frozen=True)
class Argument:
    """A parameter as a command line sees it: bool, int, float, str, or the id of a vertex.

    `many`: a list of them; `shares`: ids, each with a number; `optional`: it may also be None.
    """

    name: str
    kind: type
    many: bool = False
    required: bool = False
    optional: bool = False
    default: Any = None
    shares: bool = False


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: its function or the name of it in `arcflux`, its result's fields, other names, how speed counts.

    `counts`: "supersteps" (every arc in each of them), "reached" (the edges of what was reached, as Graph500 does), or
    "once" (every edge). `groups`: the first field is a label, whose largest groups are shown. `unordered`: fields
    without largest values to show. `checked`: there is a validator. `cores`: it has no kernels for GPUs. `cost`: the
    work that it does on V vertices and E edges.
    """

    function: Callable[..., Result] | str
    fields: tuple[str, ...]
    also: tuple[str, ...] = ()
    counts: str = "once"
    groups: bool = False
    unordered: tuple[str, ...] = ()
    checked: bool = True
    cores: bool = False
    cost: str = ""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function if isinstance(self.function, str) else self.function.__name__

    @cached_property
    def call(self) -> Callable[..., Result]:
        """The function, imported on first use."""
        found: Callable[..., Result] = (
            getattr(arcflux, self.function) if isinstance(self.function, str) else self.function
        )
        return found

    @property
    def summary(self) -> str:
        """The first sentence of the function's documentation.

        Examples
        --------
        >>> find("pagerank").summary
        "The rank of every vertex; the arguments are NetworkX's."
        """
        first = (inspect.getdoc(self.call) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")
        return first.partition(". ")[0].rstrip(".") + "."

    @cached_property
    def arguments(self) -> Mapping[str, Argument]:
        """Its own parameters, without the graph and the options that every run has.

        Examples
        --------
        >>> [argument.name for argument in find("pagerank_delta").arguments.values()]
        ['alpha', 'tol']
        """
        _, *own = self._signature()
        return {
            one.name: _argument(one) for one in own if one.kind is not one.VAR_KEYWORD and one.name not in run_options()
        }

    @cached_property
    def options(self) -> frozenset[str]:
        """The options of :func:`arcflux.run` that it takes: all, or (`**where`) those that say where it runs."""
        own = self._signature()
        for one in own:
            if one.kind is one.VAR_KEYWORD:
                return frozenset({*WHERE, "timeout"}) if one.name == "where" else run_options()
        return run_options() & {one.name for one in own}

    def _signature(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.call, eval_str=True).parameters.values())


@cache
def run_options() -> frozenset[str]:
    """The options of every run."""
    from arcflux import run

    return frozenset(one.name for one in inspect.signature(run).parameters.values() if one.kind is one.KEYWORD_ONLY)


def _argument(parameter: inspect.Parameter) -> Argument:
    """A parameter by its annotation; one that is neither a number nor text (usually Any) is an id."""
    kind, many, optional = parameter.annotation, False, False
    if get_origin(kind) in (Union, UnionType):
        optional = NoneType in get_args(kind)
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if kind in _LISTS or get_origin(kind) in _LISTS:
        kind, many = next(iter(get_args(kind)), Any), True
    shares = get_origin(kind) is Mapping
    if kind not in (bool, int, float, str):
        kind, many = vertex, many or shares or parameter.name.endswith("s")
    required = parameter.default is parameter.empty
    return Argument(parameter.name, kind, many, required, optional, None if required else parameter.default, shares)


_ENTRIES = (
    Algorithm("bfs", ("level", "parent"), counts="reached", unordered=("parent",), cost="O(V + E)"),
    Algorithm(
        "sssp",
        ("distance", "predecessor"),
        counts="reached",
        unordered=("predecessor",),
        cost="O(V + E) a bucket's round",
    ),
    Algorithm(
        "multi_source_sssp",
        ("distance", "predecessor"),
        counts="reached",
        unordered=("predecessor",),
        cost="O(V + E) a bucket's round",
    ),
    Algorithm("pagerank", ("rank",), also=("pr",), counts="supersteps", cost="O(V + E) a superstep"),
    Algorithm("pagerank_delta", ("rank",), cost="O(V + E) a superstep"),
    Algorithm("connected_components", ("component",), also=("components", "cc"), groups=True, cost="about O(V + E)"),
    Algorithm("weakly_connected_components", ("component",), also=("wcc",), groups=True, cost="about O(V + E)"),
    Algorithm("strongly_connected_components", ("component",), also=("scc",), groups=True, cost="about O(V + E)"),
    Algorithm("hits", ("hub", "authority"), counts="supersteps", cost="O(V + E) a superstep"),
    Algorithm("katz_centrality", ("centrality",), also=("katz",), counts="supersteps", cost="O(V + E) a superstep"),
    Algorithm(
        "eigenvector_centrality",
        ("centrality",),
        also=("eigenvector",),
        counts="supersteps",
        cost="O(V + E) a superstep",
    ),
    Algorithm("closeness_centrality", ("centrality",), also=("closeness",), cost="O(V E), 62 sources at once"),
    Algorithm("harmonic_centrality", ("centrality",), also=("harmonic",), cost="O(V E), 62 sources at once"),
    Algorithm("eccentricity", ("eccentricity",), cost="O(V E), 62 sources at once"),
    Algorithm("core_number", ("core",), also=("cores",), cost="O(E), and O(V) a level"),
    Algorithm("betweenness_centrality", ("centrality",), also=("betweenness", "bc"), cost="O(V E), with k O(k E)"),
    Algorithm("label_propagation", ("label",), also=("cdlp",), groups=True, cost="O(V + E) a round"),
    Algorithm("triangles", ("triangles",), also=("tc",), cost="O(E^1.5)"),
    Algorithm("clustering", ("clustering",), also=("lcc",), cost="O(E^1.5)"),
    Algorithm(
        "collaborative_filtering",
        ("factors",),
        ("cf",),
        "supersteps",
        unordered=("factors",),
        cost="O(E factors) a superstep",
    ),
    Algorithm("two_hop_friends", ("count",), also=("tfl",), cost="O(sum of degrees squared)"),
    Algorithm("minimum_spanning_tree", ("tree",), also=("mst",), groups=True, cores=True, cost="O(E log V)"),
    Algorithm("maximum_spanning_tree", ("tree",), groups=True, cores=True, cost="O(E log V)"),
    Algorithm("edge_support", ("support",), cores=True, cost="O(E^1.5)"),
    Algorithm("truss_number", ("truss",), cores=True, cost="O(E^1.5), O(sum of degrees squared) to peel"),
    Algorithm("k_truss", ("inside",), cores=True, cost="O(E^1.5), O(sum of degrees squared) to peel"),
    Algorithm("articulation_points", ("articulation",), cores=True, cost="O(V + E)"),
    Algorithm("bridges", ("bridges",), cores=True, cost="O(V + E)"),
    Algorithm("biconnected_components", ("components",), cores=True, cost="O(V + E)"),
    Algorithm("maximal_independent_set", ("inside",), also=("mis",), cost="O(V + E) a round"),
    Algorithm("greedy_color", ("color",), cost="O(V + E)"),
    Algorithm("maximal_matching", ("mate",), unordered=("mate",), cost="O(V + E) a round"),
    Algorithm("k_hop", ("hops",), counts="reached", cost="O(V + E)"),
    Algorithm("edge_betweenness_centrality", ("centrality",), cores=True, cost="O(V E), with k O(k E)"),
    Algorithm(
        "fast_random_projection",
        ("embedding",),
        also=("fastrp",),
        unordered=("embedding",),
        cost="O(E dimension) a weight",
    ),
)

ALGORITHMS: Mapping[str, Algorithm] = {entry.name: entry for entry in _ENTRIES}


def find(name: str, entries: Sequence[Algorithm] = _ENTRIES) -> Algorithm:
    """The algorithm of a name, or of one of its other names, among `entries`.

    Examples
    --------
    >>> find("cc").name
    'connected_components'
    """
    named = {known: entry for entry in entries for known in (entry.name, *entry.also)}
    if name in named:
        return named[name]
    names = extension_names("arcflux.algorithms")
    if name in names:
        return _added(name)
    raise UsageError(
        f"{name!r} names no algorithm",
        expected="one of: " + ", ".join([*(entry.name for entry in entries), *names]),
        remedy=did_you_mean(
            name, [*named, *names], "for a program of your own write its file and class, my_program.py:MyProgram"
        ),
    )


def added() -> dict[str, Algorithm]:
    """The algorithms of installed packages, by name."""
    return {name: _added(name) for name in extension_names("arcflux.algorithms") if name not in ALGORITHMS}


def _added(name: str) -> Algorithm:
    entry = extension("arcflux.algorithms", name)
    if isinstance(entry, Algorithm):
        return entry
    raise UsageError(
        f"the algorithm {name!r} of an installed package is a {type(entry).__name__}",
        expected="an arcflux.algorithms.registry.Algorithm",
        remedy="have its entry point name one, or uninstall the package",
    )
