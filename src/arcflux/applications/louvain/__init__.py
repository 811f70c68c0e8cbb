"""Communities that maximise modularity, or the constant Potts model: Louvain and Leiden."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.louvain.levels import Found, Method
from arcflux.applications.louvain.levels import leiden as leiden_levels
from arcflux.applications.louvain.levels import louvain as louvain_levels
from arcflux.applications.louvain.moves import Level, first_level
from arcflux.applications.modularity import modularity
from arcflux.applications.traffic import told
from arcflux.applications.weights import edge_weights, whole_units
from arcflux.checks import maybe, real, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["Communities", "leiden", "louvain"]

Array = NDArray[Any]

# A larger rate also keeps all vertices apart; its products with two masses are finite.
_MOST = 2.0**700


@dataclass(frozen=True, repr=False)
class Communities(af.Result):
    """The result of :func:`louvain` and :func:`leiden`: the field `community`, the largest one being 0.

    modularity: of the result, with the resolution that was asked for; levels: the communities level by level, the last
    of them being the result; traffic: bytes between nodes, by what they were for.
    """

    modularity: float = 0.0
    levels: tuple[Array, ...] = field(default=())
    traffic: Mapping[str, int] = field(default_factory=dict)

    @property
    def sizes(self) -> Array:
        """How many vertices each community has.

        Examples
        --------
        >>> import arcflux as af
        >>> af.louvain(af.Graph.from_edges([1, 2, 3, 4], [2, 3, 1, 5], directed=False)).sizes.tolist()
        [3, 2]
        """
        return np.bincount(self.values["community"])

    def highlights(self) -> list[tuple[str, str]]:
        """How many communities there are, and their modularity."""
        sizes = self.sizes
        largest = f"{len(sizes):,}, the largest of {int(sizes.max(initial=0)):,} vertices"
        return [("communities", largest), ("modularity", f"{self.modularity:.4f}"), *told(self.traffic)]

    def sets(self) -> list[set[Any]]:
        """The communities as sets of ids, the largest first.

        Examples
        --------
        >>> import arcflux as af
        >>> af.louvain(af.Graph.from_edges([1, 2, 3, 4], [2, 3, 1, 5], directed=False)).sets()
        [{1, 2, 3}, {4, 5}]
        """
        order = np.argsort(self.values["community"], kind="stable")
        ends = np.cumsum(self.sizes)[:-1]
        return [set(some.tolist()) for some in np.split(self.ids[order], ends)] if len(order) else []


_RULES = {
    "resolution": real, "weight": maybe(text), "threshold": real, "max_level": maybe(wholes(1)), "seed": any_seed,
    "objective": text,
}  # fmt: skip


@graph_call(**{name: _RULES[name] for name in _RULES if name != "objective"})
def louvain(
    graph: Graph,
    resolution: float = 1.0,
    *,
    weight: str | None = "weight",
    threshold: float = 1e-7,
    max_level: int | None = None,
    seed: int = 0,
    **where: Any,
) -> Communities:
    """Communities of high modularity, by moves of single vertices and then of whole communities (Blondel et al. 2008).

    Parameters
    ----------
    resolution
        Above 1 for smaller communities, below for larger ones.
    weight
        The edge column that counts; 1 for each edge without such a column, or with None.
    threshold
        It ends with a level that gains no more modularity than this.
    max_level
        How many levels there may be.
    seed
        Of the order in which vertices move. The same seed gives the same communities on any number of workers.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.
        Every worker sees the whole graph and chooses for a share of the vertices; they exchange which vertices moved.

    Edges of a directed graph count as undirected ones. Parallel edges add up; a self-loop counts twice for the strength
    of its vertex, as in NetworkX. A vertex without edges is a community of its own. Of moves that gain equally that to
    the community whose first vertex has the smallest number is made. Weights are kept to 52 bits of their sum.
    Modularity has a resolution limit: small communities of a large graph are joined (Fortunato, Barthélemy 2007).

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
    >>> found = af.louvain(g)
    >>> found["community"].tolist(), round(found.modularity, 4)
    ([0, 0, 0, 1, 1, 1], 0.3571)
    """
    aim = _Aim("modularity", resolution, weight)
    return _communities("louvain", louvain_levels, graph, aim, (threshold, max_level, seed), where)


@graph_call(**_RULES)
def leiden(
    graph: Graph,
    resolution: float = 1.0,
    *,
    objective: str = "modularity",
    weight: str | None = "weight",
    threshold: float = 0.0,
    max_level: int | None = None,
    seed: int = 0,
    **where: Any,
) -> Communities:
    """Communities that are connected, by moves, refinement and contraction (Traag, Waltman, van Eck 2019).

    Like :func:`louvain`, but what becomes a vertex of the next level is a connected piece of a community, which may
    leave it again; so no community falls apart, and modularity is mostly higher.

    Parameters
    ----------
    objective
        "modularity", or "cpm" for the constant Potts model: the weight within communities less `resolution` for each
        pair of their vertices, which has no resolution limit.

    The other parameters are those of :func:`louvain`. A lone vertex joins the piece that gains most (not one at random,
    as in the paper), of equal ones that with the smallest number.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
    >>> af.leiden(g, 0.5, objective="cpm").sets()
    [{0, 1, 2}, {3, 4, 5}]
    """
    if objective not in ("modularity", "cpm"):
        raise UsageError(f"objective is {objective!r}", expected="'modularity' or 'cpm'")
    aim = _Aim(objective, resolution, weight)
    return _communities("leiden", leiden_levels, graph, aim, (threshold, max_level, seed), where)


class _Aim(NamedTuple):
    """The objective of the communities."""

    objective: str
    resolution: float
    weight: str | None


def _communities(
    name: str, levels: Callable[[Worker, Level, Method], Found], graph: Graph, aim: _Aim,
    limits: tuple[float, int | None, int], where: dict[str, Any],
) -> Communities:  # fmt: skip
    """Communities by one of the two methods; limits: threshold, max_level and seed."""
    (objective, resolution, weight), (threshold, max_level, seed) = aim, limits
    if not 0 <= threshold < math.inf:
        raise UsageError(f"threshold is {threshold!r}", expected="a number from 0 on")
    most = 1e200 if objective == "modularity" else sys.float_info.max  # "cpm" compares it with weights of any size
    if not 0 <= resolution <= most:
        raise UsageError(
            f"resolution is {resolution!r}", expected=f"a number from 0 to {most:g}", remedy="1 is modularity's own"
        )
    both = graph.both_ways()
    units, bits = whole_units(edge_weights(both, weight))
    cpm = objective == "cpm"

    def work(worker: Worker) -> tuple[list[Array], float | None, Mapping[str, int]]:
        level = first_level(worker, both, units, unit_mass=cpm)
        rate = resolution * (2.0 ** min(bits, 640) if cpm else 1.0 / max(1, level.weight))
        found, value, sent = levels(worker, level, Method(min(_MOST, rate), threshold, max_level, seed))
        return found, None if cpm or rate > _MOST else value, sent

    done = launch(graph, where, work)
    found, value, sent = [_by_size(labels) for labels in done.answer[0]], *done.answer[1:]
    result = Communities(
        name, graph, {"community": found[-1]}, [], True, done.seconds, done.compile_seconds,
        modularity=modularity(graph, found[-1], resolution, weight) if value is None else value, levels=tuple(found),
        traffic=sent,
        validator=lambda one: af.validate.communities(
            graph, one["community"], one.modularity, resolution=resolution, objective=objective, weight=weight,
            connected=name == "leiden",
        ),
    )  # fmt: skip
    return done.finish(result)


def _by_size(labels: Array) -> Array:
    """The same communities, the largest being 0; of equally large ones that with the first vertex comes first."""
    sizes = np.bincount(labels)
    first = np.zeros(len(sizes), np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    rank = np.empty(len(sizes), np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    by_size: Array = rank[labels]
    return by_size
