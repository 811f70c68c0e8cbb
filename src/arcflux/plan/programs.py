"""The algorithms that are measured, and how: what each run visits, how it is called, and what is seen of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux import config
from arcflux.errors import UsageError
from arcflux.history import History, column
from arcflux.plan.fit import POINTS

__all__ = ["MODELS", "PROGRAMS", "WEIGHTED", "Form", "call_of", "curve_of", "observed", "push_over_pull"]

_TRIES, _MOST_TRIES, _SECONDS = 4, 16, 0.25


@dataclass(frozen=True)
class Form:
    """What a fit needs to know of a program.

    `dense`: whether every superstep visits every arc; `value`: bytes that an arc reads of its source; `extra`: what
    the fifth number of a run is (:mod:`arcflux.plan.fit`); `main`: whether it is also run on the largest graphs.
    """

    dense: bool
    value: float
    extra: str = ""
    main: bool = False


# By algorithm and direction. min_label is connected_components(method="min-label"), betweenness is of one source.
PROGRAMS = {
    ("pagerank", "pull"): Form(True, 8, main=True),
    ("pagerank", "push"): Form(True, 8, main=True),
    ("bfs", "auto"): Form(False, 4, main=True),
    ("bfs", "push"): Form(False, 4, main=True),
    ("sssp", "auto"): Form(False, 8, main=True),
    ("connected_components", "auto"): Form(False, 4, main=True),
    ("min_label", "auto"): Form(False, 4),
    ("min_label", "push"): Form(False, 4),
    ("pagerank_delta", "auto"): Form(False, 8),
    ("weakly_connected_components", "auto"): Form(False, 4),
    ("multi_source_sssp", "auto"): Form(False, 8),
    ("betweenness_centrality", "auto"): Form(False, 8),
    ("label_propagation", "auto"): Form(True, 4),
    ("triangles", "auto"): Form(False, 4, "wedges"),
    ("clustering", "auto"): Form(False, 4, "wedges"),
    ("two_hop_friends", "auto"): Form(False, 4, "squares"),
    ("collaborative_filtering", "pull"): Form(True, 64),
}
# Programs by the name of their class: the algorithm that stands for them, and whether their runs are runs of it.
MODELS = {
    "PageRank": ("pagerank", True),
    "PersonalPageRank": ("pagerank", False),
    "WeightedPageRank": ("pagerank", False),
    "PushPageRank": ("pagerank_delta", True),
    "BFS": ("bfs", True),
    "SSSP": ("sssp", False),
    "Paths": ("sssp", False),
    "Components": ("min_label", True),
    "CollaborativeFiltering": ("collaborative_filtering", False),
}
# These read weights.
WEIGHTED = ("sssp", "multi_source_sssp", "collaborative_filtering")


def observed(
    algorithm: str, direction: str, graph: Any, sources: int = 3, threads: int | None = None
) -> tuple[float, float, tuple[float, ...]]:
    """Supersteps and seconds of a run, in the median over some sources, each the fastest of some tries; its frontiers.

    Whatever else a machine does only adds to a time, so the fastest is nearest to what a run takes.
    """
    call = call_of(algorithm, direction, graph, {"threads": config.threads(threads)})
    picked = np.random.default_rng(7).choice(np.flatnonzero(graph.out_degrees), sources)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a run is cut short on purpose
        results = [_fastest(call, one) for one in graph.ids.to_ids(picked)]
    middle = sorted(results, key=lambda result: result.seconds)[len(results) // 2]
    steps = float(np.median([max(1, len(one.history)) for one in results]))
    return steps, float(np.median([one.seconds for one in results])), curve_of(middle.history, graph.arcs)


def _fastest(call: Callable[[Any], Any], source: Any) -> Any:
    """The fastest of some runs: of more if others took cores away during all of them, of fewer if they take long."""
    begun, calm, tries = time.perf_counter(), False, 0
    found: Any = None
    while tries < (_TRIES if calm else _MOST_TRIES) and (not tries or time.perf_counter() - begun < _SECONDS):
        before = _interrupted()
        result = call(source)
        calm = calm or _interrupted() == before
        found = result if found is None or result.seconds < found.seconds else found
        tries += 1
    return found


def _interrupted() -> int:
    """How often the system has taken a core away from this process."""
    try:
        import resource
    except ImportError:  # on a system that does not say, every run is taken to be calm
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def curve_of(history: Sequence[Any], arcs: int) -> tuple[float, ...]:
    """The share of all arcs that left the frontier, from the first superstep to the last; empty if nobody counted.

    Of thousands of supersteps only those are looked at that the curve goes through.
    """
    if not len(history) or not arcs:
        return ()
    places = np.linspace(0.0, len(history) - 1.0, POINTS)
    met = np.unique(np.concatenate((np.floor(places), np.ceil(places)))).astype(int)
    if isinstance(history, History):
        edges = history.column("edges", np.nan)[met]
    else:
        edges = column([history[k] for k in met.tolist()], "edges", np.nan)
    if np.isnan(edges).any() or not edges.any():
        return ()
    return tuple(map(float, np.interp(places, met, edges / arcs)))


def call_of(algorithm: str, direction: str, graph: Any, where: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function of a source that runs an algorithm, with options that say where."""
    from arcflux import algorithms

    options = dict(where)
    if direction != "auto":
        options["direction"] = direction
    name = "connected_components" if algorithm == "min_label" else algorithm
    function = getattr(algorithms, name, None)
    if function is None:
        raise UsageError(f"{algorithm!r} names no algorithm")
    if algorithm == "min_label":
        options["method"] = "min-label"
    elif algorithm == "collaborative_filtering":
        options["iterations"] = 5
    elif algorithm == "two_hop_friends":
        options["lists"] = False
    if algorithm in ("bfs", "sssp"):
        return lambda source: function(graph, source, **options)
    if algorithm in ("multi_source_sssp", "betweenness_centrality"):
        return lambda source: function(graph, sources=[source], **options)
    return lambda source: function(graph, **options)


def push_over_pull(specs: Sequence[str]) -> float:
    """What an arc costs to push over what it costs to pull, of a program with a frontier: Lux's rule, as it is here.

    Lux pushes while fewer than a 20th of all vertices send; here a superstep is pushed while its arcs, so many times as
    dear, cost less than all of them. In the first superstep of min-label every vertex sends, either way: the fastest of
    some runs that take turns, in the mean over some graphs.
    """
    from arcflux import algorithms
    from arcflux.io import load

    ratios = []
    for spec in specs:
        graph, found = load(spec), {"push": np.inf, "pull": np.inf}
        for _ in range(3 * _TRIES):
            for way, before in found.items():
                how: dict[str, Any] = {"direction": way, "threads": config.threads()}
                run = algorithms.connected_components(graph, "min-label", **how)
                found[way] = min(before, run.history[0].seconds)
        ratios.append(found["push"] / found["pull"])
    return float(np.clip(np.exp(np.mean(np.log(ratios))), 1.0, 10.0))
