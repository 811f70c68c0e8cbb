"""Shortest paths from one source or from the nearest of several, bucket by bucket in the order of their distances."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux import config
from arcflux.checks import flag, maybe, real, unwelcome
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.history import Chained, Superstep
from arcflux.spmd.memory import recycled
from arcflux.transports.launch import rank_and_size
from arcflux.validate import arguments

if TYPE_CHECKING:
    from arcflux.program import Program

__all__ = ["SSSP", "multi_source_sssp", "sssp"]

# The integer distance that stands for infinity.
_FAR = 2**31 - 1
# Options of the search that also apply to finding predecessors at the same distance.
_PLAIN, _ON_DEVICES = ("threads", "debug", "progress"), ("devices", "transport", "ranks_per_node")
# Options that move a search out of this process.
_ELSEWHERE = ("parts", "transport", "devices", "debug")


@af.program
class SSSP:
    """A vertex that came closer sends to its out-neighbours, nearest first (delta-stepping; Meyer, Sanders 2003)."""

    source: af.vertex
    delta: float = 0.0
    distance: af.f64

    def start(v, p):
        v.distance = 0.0 if v.number == p.source else math.inf
        return v.number == p.source

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        return v.distance < old.distance

    def priority(v):
        return v.distance


@af.program
class Paths:
    """The same from every vertex with an initial distance of 0."""

    delta: float = 0.0
    distance: af.f64

    def start(v):
        return v.distance == 0

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        return v.distance < old.distance

    def priority(v):
        return v.distance


# For integer weights whose sums fit: half the memory, and a fifth faster thanks to the caches.
WholePaths = cast("Program", Paths).retyped(distance=af.i32)


@af.program
class Within:
    """The predecessors of vertices that are reached only by edges of length 0.

    Along edges of weight 0, or too light to change the sum: from vertices with a predecessor to those without, which
    cannot create a cycle. Of several the largest number.
    """

    sparse = True
    distance: af.f64
    predecessor: af.ref

    def start(v):
        return v.distance < math.inf and v.predecessor >= 0

    def wants(v):
        return v.predecessor < 0

    def compute(v, u, edge, old):
        if u.distance + edge.weight == old.distance:
            v.predecessor = max(v.predecessor, u.number)

    def update(v, old):
        return v.predecessor > old.predecessor


@graph_call(delta=maybe(real), predecessors=flag, given=unwelcome)
def sssp(
    graph: Graph, source: Any, *, weight: str | None = "weight", delta: float | None = None, predecessors: bool = True,
    **options: Any,
) -> af.Result:  # fmt: skip
    """The length of the shortest path from `source` to every vertex, and the vertex before it on such a path.

    Parameters
    ----------
    source
        The id of a vertex.
    weight
        The edge column to add up; None counts every edge as 1. Negative, NaN and infinite weights are refused.
    delta
        How much distance a bucket spans; chosen from the weights and the degrees without it. The result is the same.
    predecessors
        Whether to find the field `predecessor`, which costs a part of one more pass over the edges.

    Unreachable vertices are at distance inf and have predecessor -1; the source is its own. Of several predecessors the
    one with the largest number is taken (in a graph made with `sort=False`, the last of the row). Of parallel edges the
    lightest counts; self-loops make no difference. A run that is stopped early (`timeout`, Ctrl-C) is marked as not
    converged: its distances are upper bounds, and it has no predecessors.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 0, 1], [1, 2, 2], columns={"weight": [1, 5, 2]})
    >>> result = af.algorithms.sssp(g, 0)
    >>> result["distance"].tolist(), result["predecessor"].tolist()
    ([0.0, 1.0, 3.0], [0, 0, 1])
    """
    root = arguments.source_of(graph, source)
    return _paths(graph, root, weight, delta, predecessors, options).checked_by(
        lambda result: af.validate.sssp(graph, source, result["distance"], _parents(result), weight, numbers=True)
    )


@graph_call(delta=maybe(real), predecessors=flag, given=unwelcome)
def multi_source_sssp(
    graph: Graph, sources: Any, *, weight: str | None = "weight", delta: float | None = None, predecessors: bool = True,
    **options: Any,
) -> af.Result:  # fmt: skip
    """The length of the shortest path to every vertex from the nearest of `sources`, a list of ids.

    Everything else is as in :func:`sssp`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.multi_source_sssp(af.load("path:5"), [0, 4], weight=None)["distance"].tolist()
    [0.0, 1.0, 2.0, 1.0, 0.0]
    """
    roots = arguments.numbers_of(graph, sources)
    return _paths(graph, roots, weight, delta, predecessors, options).checked_by(
        lambda result: af.validate.sssp(
            graph, None, result["distance"], _parents(result), weight, sources, numbers=True
        )
    )


def _parents(result: af.Result) -> Any:
    return result.numbers("predecessor") if "predecessor" in result.values else None


def _paths(
    graph: Graph, roots: NDArray[Any], weight: str | None, delta: float | None, predecessors: bool,
    options: dict[str, Any],
) -> af.Result:  # fmt: skip
    if delta is not None and not 0 < delta < math.inf:
        raise UsageError(f"delta is {delta!r}", expected="a positive number", remedy="leave it out: it is chosen")
    # Ranks and devices take slices of the column as it is.
    here = rank_and_size() is None and not any(options.get(name) for name in _ELSEWHERE)
    weighed, largest = _weighed(graph, weight, narrow=here)
    whole = weighed.columns["weight"].dtype.kind in "iub" and largest * max(1, graph.vertices) < _FAR
    program, far = (WholePaths, _FAR) if whole else (Paths, math.inf)
    distance = np.full(graph.vertices, far, np.int32 if whole else np.float64)
    distance[roots] = 0
    found = af.run(program, weighed, delta=delta or 0.0, given={"distance": distance}, **options)
    distance = _widened(found.values["distance"]) if whole else found.values["distance"]
    values = {"distance": distance}
    if predecessors and found.converged:
        names = [*_PLAIN, *(_ON_DEVICES if options.get("devices") is not None else ())]
        shared = {name: options[name] for name in names if name in options}
        tree = _tree(weighed, found.values["distance"], far, roots, options)
        if not tree.converged:
            given = {"distance": distance, "predecessor": tree.values["predecessor"]}
            tree = _after(tree, af.run(Within, weighed, given=given, **shared))
        values["predecessor"] = tree.values["predecessor"]
        found = _after(found, tree)
    return replace(found, name="SSSP", graph=graph, values=values, references=frozenset({"predecessor"} & set(values)))


def _widened(distance: NDArray[Any]) -> NDArray[Any]:
    """Integer distances as floats, with inf for unreachable vertices."""
    wide = recycled(len(distance), np.float64, zero=False)
    wide[:] = distance
    if distance.max(initial=0) == _FAR:
        np.copyto(wide, math.inf, where=distance == _FAR)
    return wide


def _tree(
    graph: Graph, distance: NDArray[Any], far: float, roots: NDArray[Any], options: dict[str, Any]
) -> af.Result:  # fmt: skip
    """The predecessors at smaller distances; it has converged when no vertex lacks one."""
    done = launch(graph, _where(options), lambda worker: work(worker, distance, far, roots))
    predecessor, lacking = done.answer
    step = Superstep(0, "pull", graph.vertices, 0.0, done.seconds, reason="predecessors: the last edge that fits")
    times = done.seconds, done.compile_seconds
    return af.Result("predecessors", graph, {"predecessor": predecessor}, [step], not lacking, *times)


def _where(options: dict[str, Any]) -> dict[str, Any]:
    """Where predecessors are computed: on the GPUs of the search, or the ranks; else on this process' threads."""
    devices = None if options.get("debug") else options.get("devices")
    if isinstance(devices, str) or any(device.kind == "cuda" for device in devices or ()):
        names = ("devices", "transport", "ranks_per_node", "threads")
        return {name: options[name] for name in names if options.get(name) is not None}
    if rank_and_size() is None:
        return {"threads": options.get("threads")}
    if options.get("transport") == "local":
        return {"transport": "local", "parts": config.threads(options.get("threads"))}
    return {"ranks_per_node": options.get("ranks_per_node")}


def work(worker: Worker, distance: NDArray[Any], far: float, roots: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The predecessor of each vertex, and how many vertices have none at a smaller distance."""
    kind = np.int32 if worker.graph.vertices < 1 << 31 else np.int64
    found, lacking = worker.kernels(__name__).predecessors(worker, distance, far, roots, kind)
    return worker.gather(found), int(worker.sum(np.array([lacking]))[0])


def _after(first: af.Result, second: af.Result) -> af.Result:
    """The second of two runs, with the time and the history of both."""
    return replace(
        second,
        history=Chained(first.history, second.history),
        seconds=first.seconds + second.seconds,
        compile_seconds=first.compile_seconds + second.compile_seconds,
        plan=first.plan,
    )


_known: WeakKeyDictionary[Graph, dict[tuple[str | None, bool], tuple[Graph | None, float]]] = WeakKeyDictionary()


def _weighed(graph: Graph, weight: str | None, narrow: bool) -> tuple[Graph, float]:
    """The graph with a column `weight` of valid weights, and the largest of them; checked once for each graph.

    If `narrow`, integer weights are stored in the narrowest type: a search waits for rows of neighbours and weights,
    and takes a sixth less with a byte per weight on uniform graphs.
    """
    known = _known.setdefault(graph, {})
    if (weight, narrow) not in known:
        column = arguments.lengths(graph, weight)
        if column is None:
            column = np.ones(graph.arcs, np.uint8)
        largest = float(column.max()) if len(column) else 0.0
        least = np.min_scalar_type(int(largest)) if column.dtype.kind in "iu" else column.dtype
        shrunk = narrow and least.itemsize < column.dtype.itemsize
        column = column.astype(least) if shrunk else column
        known[weight, narrow] = (
            graph.with_columns({"weight": column}) if shrunk or weight != "weight" else None,
            largest,
        )
    view, largest = known[weight, narrow]
    return view or graph, largest
