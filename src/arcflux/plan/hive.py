"""The HIVE study: operations and bytes of its twelve applications, their ratio, and how well they scale.

It gives no cost of matching and classification; those here are proposals, marked as such.

Costs are the study's, corrected where its own text contradicts its tables (the wedge check costs d + a log d, its
communication 12 a E / p). The study sorts by three rules (summary of results), which are these:

good
    Every superstep visits the whole graph, each arc takes some computation, and no more is sent than two words per
    vertex; or what is sent falls with p, as the computation does, and is a tenth of it.
poor
    Something is sent for every visit, or there is less than an operation for a word of 4 bytes.
moderate
    All else. Where nothing has to be sent, scaling is perfect.

GraphSAGE that reads features from other devices or from unified memory is poor by the study's own statement, not by its
ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arcflux.errors import UsageError, did_you_mean
from arcflux.plan.profile import Profile
from arcflux.plan.shape import Shape

__all__ = [
    "APPLICATIONS", "Application", "Inputs", "Scaling", "find", "given_by", "judge", "kinds_of", "moved_by",
    "parameters_of", "required_operations_per_byte", "typical",
]  # fmt: skip

_WORD = 4
_EXPECTED = {"perfect": (8, 8), "good": (5, 7), "moderate": (2, 5), "poor": (1, 2)}


@dataclass(frozen=True)
class Inputs:
    """The variables of the study's formulas: V, E, d, p, and numbers that depend on the input besides the graph.

    `a`: how often a vertex changes, or wedges a triangle; `reduced`: E', edges of the contracted or projected graph;
    `walks` (W, all steps), `batch` (B), `children` (C), `leaves` (L), `features` (F), `width` (of Wf and Wa): of random
    walks and GraphSAGE; `iterations`, `rounds`: of matching and its auctions; `pattern`: edges of a pattern graph.
    """

    vertices: float
    edges: float
    p: int
    a: float = 2.0
    reduced: float = 0.0
    walks: float = 1e6
    batch: float = 512.0
    children: float = 16.0
    leaves: float = 8.0
    features: float = 64.0
    width: float = 64.0
    iterations: float = 30.0
    rounds: float = 100.0
    pattern: float = 20.0

    @property
    def degree(self) -> float:
        """Edges per vertex."""
        return self.edges / max(1.0, self.vertices)

    @property
    def log_degree(self) -> float:
        """Steps of a binary search in a row."""
        return math.log2(max(2.0, self.degree))

    @property
    def projected(self) -> float:
        """E' of a projection: two-hop pairs, by default an eighth of them distinct."""
        return self.reduced or self.degree * self.edges / 8

    @property
    def contracted(self) -> float:
        """E' of a contraction: by default a tenth of the edges."""
        return self.reduced or self.edges / 10


@dataclass(frozen=True)
class Application:
    """One way to do an application: operations and bytes of each device, and the inputs of the three rules."""

    name: str
    variant: str
    ratio: str
    printed: str
    difficulty: str
    operations: Callable[[Inputs], float]
    bytes: Callable[[Inputs], float]
    whole: bool = False
    """Whether every superstep visits the whole graph, and each arc is worth some computation."""
    each_visit: bool = False
    """Whether something is sent for every visit."""
    falls: bool = False
    """Whether what is sent falls with p."""
    memory: Callable[[Inputs], float] | None = None
    parameters: tuple[str, ...] = ()
    """Which numbers of :class:`Inputs` that the input decides its costs are of."""
    moves: str = "explicit"
    """How data moves: "explicit" messages, "peer" access to others' memory, "unified" memory that pages move in."""
    apart: Callable[[Inputs], float] | None = None
    """The bytes that do so; the rest goes in messages."""
    scattered: bool = True
    """Whether they are single values anywhere, and not whole rows."""
    outright: str = ""
    """The class that the study names, where its rules lead to another."""
    of: str = ""
    """The application of the study that this is a part or a kind of, if it is not one by itself."""


@dataclass(frozen=True)
class Scaling:
    """How an application scales: operations per byte, the class, and the speed-up on 8 devices of that class."""

    application: Application
    operations: float
    bytes: float
    ratio: float
    scalability: str
    expected: tuple[int, int] | None


def _sage(g: Inputs) -> float:
    both = 2 * g.width
    inside = g.children * g.features + g.children + g.features + both
    c, f = g.children, g.features
    return g.batch / g.p * (c + 3 * c * f + 3 * g.leaves * c * f + both * inside)


def _sage_bytes(g: Inputs) -> float:
    rows = (g.features + 2 * g.width) * min(g.children, 2 * g.p)
    return g.batch / g.p * (8 * g.children + 4 * rows)


def _sage_leaves(g: Inputs) -> float:
    """The features of all leaves, 4BCFL bytes, which are read in place."""
    return 4 * g.batch / g.p * g.children * g.features * g.leaves


def _sage_direct(g: Inputs) -> float:
    return _sage_bytes(g) + _sage_leaves(g)


def _matching(g: Inputs) -> float:
    """The gradient with a matrix of k permutations, and bids of rows: a proposal, since the study gives no cost."""
    auction = g.rounds * g.iterations * g.edges / g.p
    return g.iterations * g.vertices * g.degree**2 / g.p + auction


def _matching_bytes(g: Inputs) -> float:
    return 12 * g.iterations * g.vertices + g.rounds * (16 * g.vertices / g.p + 8 * g.vertices)


def _wedges(g: Inputs) -> float:
    return (g.degree + g.a * g.log_degree) * g.edges / g.p + 2 * g.vertices + g.vertices / g.p


def _flow(g: Inputs) -> float:
    v = g.vertices
    return (g.a * v + g.a + 1) * v * g.edges / g.p + 2 * g.edges / g.p + v / g.p


def _flow_bytes(g: Inputs) -> float:
    v = g.vertices
    return 8 * v * v * ((v + 1) * g.degree / g.p + 1) + 8 * v + 4 * v / g.p


_DUPLICATED = "duplicated graph"
_SAGE = ("batch", "children", "leaves", "features", "width")
_MOVES = ("explicit", "peer", "unified")
# The names of the study's applications in this library, and the names of the variables of its formulas.
_CALLED = {
    "leiden": "louvain", "minimum_cut": "sparse_fused_lasso", "node2vec": "weighted_walk", "deepwalk": "random_walk",
    "random_walks": "random_walk", "geolocate": "geolocation", "fused_lasso": "sparse_fused_lasso",
    "maximum_flow": "sparse_fused_lasso", "project": "graph_projection", "local_clustering": "local_graph_clustering",
    "match_graphs": "seeded_graph_matching", "classify": "application_classification",
}  # fmt: skip
_LETTERS = {
    "C": "children",
    "L": "leaves",
    "F": "features",
    "B": "batch",
    "W": "walks",
    "E'": "reduced",
    "k": "iterations",
}
APPLICATIONS = (
    Application(
        "louvain", "", "E/p : 2V", "Okay", "Hard",
        lambda g: 10 * (g.edges + g.vertices) / g.p, lambda g: 20 * g.vertices, whole=True,
        memory=lambda g: 88 * g.edges / g.p + 12 * g.vertices + 16 * g.contracted, parameters=("reduced",),
    ),
    Application(
        "louvain_contraction", "", "5E/p + E' : 8E'", "", "Hard",
        lambda g: 5 * g.edges / g.p + g.contracted, lambda g: 8 * g.contracted, parameters=("reduced",), of="louvain",
    ),
    Application(
        "graphsage", "", "CF : 4 min(C, 2p)", "Good", "Easy", _sage, _sage_bytes, whole=True, falls=True,
        parameters=_SAGE,
    ),
    Application(
        "graphsage", "direct access", "2 + L + Wf1.y + Wa1.y : 4L", "Poor", "Easy", _sage, _sage_direct,
        whole=True, falls=True, parameters=_SAGE, moves="peer", apart=_sage_leaves, scattered=False,
        outright="poor",
    ),
    Application(
        "graphsage", "unified memory", "2 + L + Wf1.y + Wa1.y : 4L", "Very poor", "Easy", _sage, _sage_direct,
        whole=True, falls=True, parameters=_SAGE, moves="unified", apart=_sage_leaves, scattered=False,
        outright="poor",
    ),
    Application(
        "random_walk", _DUPLICATED, "infinity", "Perfect", "Trivial", lambda g: g.walks / g.p, lambda g: 0.0,
        parameters=("walks",),
    ),
    Application(
        "random_walk", "distributed graph", "1 : 24", "Very poor", "Easy",
        lambda g: g.walks / g.p, lambda g: 24 * g.walks / g.p, each_visit=True, falls=True, parameters=("walks",),
    ),
    Application(
        "weighted_walk", _DUPLICATED, "infinity", "Perfect", "Trivial", lambda g: g.degree * g.walks / g.p,
        lambda g: 0.0, parameters=("walks",), of="random_walk",
    ),
    Application(
        "weighted_walk", "distributed graph", "d : 24", "Poor", "Easy", lambda g: g.degree * g.walks / g.p,
        lambda g: 24 * g.walks / g.p, each_visit=True, falls=True, parameters=("walks",), of="random_walk",
    ),
    *(
        Application(
            "graph_search", variant, ratio, printed, "Easy", operations, lambda g: 24 * g.walks / g.p,
            each_visit=True, falls=True, parameters=("walks",),
        )
        for variant, ratio, printed, operations in (
            ("uniform", "1 : 24", "Very poor", lambda g: g.walks / g.p),
            ("greedy", "d : 24", "Poor", lambda g: g.degree * g.walks / g.p),
            ("greedy, pre-visit", "1 : 24", "Very poor", lambda g: g.walks / g.p),
            ("stochastic greedy", "d : 24", "Poor", lambda g: g.degree * g.walks / g.p),
            ("stochastic greedy, pre-visit", "log d : 24", "Very poor", lambda g: g.log_degree * g.walks / g.p),
        )
    ),
    Application(
        "geolocation", "explicit movement", "25E/p : 4V", "Okay", "Easy",
        lambda g: 100 * g.edges / g.p, lambda g: 16 * g.vertices, whole=True,
    ),
    Application(
        "geolocation", "peer access", "25 : 1", "Good", "Easy",
        lambda g: 100 * g.edges / g.p, lambda g: 8 * g.edges / g.p, whole=True, falls=True, moves="peer",
    ),
    Application(
        "geolocation", "unified memory", "25 : 1", "Good", "Easy",
        lambda g: 100 * g.edges / g.p, lambda g: 8 * g.edges / g.p, whole=True, falls=True, moves="unified",
    ),
    Application(
        "vertex_nomination", "", "E : 8V min(d, p)", "Okay", "Easy",
        lambda g: g.a * g.edges / g.p, lambda g: g.a * g.vertices / g.p * min(g.degree, g.p) * 8, falls=True,
        parameters=("a",),
    ),
    Application(
        "scan_statistics", _DUPLICATED, "infinity", "Perfect", "Trivial",
        lambda g: g.edges * g.degree / g.p, lambda g: 0.0,
    ),
    Application(
        "scan_statistics", "duplicated graph, counts added up", "Vdd/p : 8V", "", "Trivial",
        lambda g: g.edges * g.degree / g.p, lambda g: 8 * g.vertices,
    ),
    Application(
        "scan_statistics", "distributed graph", "d + a log d : 12a", "Okay", "Easy",
        _wedges, lambda g: 12 * g.a * g.edges / g.p + 8 * g.vertices, falls=True,
        parameters=("a",),
    ),
    Application(
        "sparse_fused_lasso", "", "a : 8", "Less than okay", "Hard", _flow, _flow_bytes, each_visit=True, falls=True,
        parameters=("a",),
    ),
    Application(
        "graph_projection", _DUPLICATED, "infinity", "Perfect", "Easy",
        lambda g: 2 * g.degree * g.edges / g.p + g.projected, lambda g: 0.0, parameters=("reduced",),
    ),
    Application(
        "graph_projection", "distributed graph", "dE/p + E' : 6E'", "Okay", "Easy",
        lambda g: 2 * g.degree * g.edges / g.p + 2 * g.projected, lambda g: 12 * g.projected, parameters=("reduced",),
    ),
    Application(
        "local_graph_clustering", "", "(6 + d)/p : 4", "Good", "Easy",
        lambda g: (12 * g.vertices + 2 * g.edges) / g.p, lambda g: 8 * g.vertices, whole=True,
    ),
    Application(
        "seeded_graph_matching", "as proposed here", "k d + R d : 12 p", "", "Hard", _matching, _matching_bytes,
        parameters=("iterations", "rounds"),
    ),
    Application(
        "application_classification", "as proposed here", "(3d + 10)/p : 8", "", "Easy",
        lambda g: (3 * g.edges + 10 * g.vertices) * g.pattern / g.p,
        lambda g: 8 * g.pattern * g.vertices + 32 * g.pattern, whole=True, parameters=("pattern",),
    ),
)  # fmt: skip


def find(name: str) -> list[Application]:
    """The ways to do an application of the study; empty for other names.

    Examples
    --------
    >>> [one.variant for one in find("geolocation")]
    ['explicit movement', 'peer access', 'unified memory']
    """
    return [one for one in APPLICATIONS if one.name == _CALLED.get(name, name)]


def kinds_of(ways: Sequence[Application]) -> list[Application]:
    """Parts and kinds of an application that have their own costs.

    Examples
    --------
    >>> [one.name for one in kinds_of(find("louvain"))]
    ['louvain_contraction']
    """
    names = {way.name for way in ways}
    return [one for one in APPLICATIONS if one.of in names]


def moved_by(ways: Sequence[Application], moves: str | None) -> list[Application]:
    """The ways that move data as asked for.

    Examples
    --------
    >>> [one.variant for one in moved_by(find("graphsage"), "peer")]
    ['direct access']
    """
    if moves not in (None, *_MOVES):
        raise UsageError(f"moves is {moves!r}", expected="one of: " + ", ".join(_MOVES))
    fitting = [one for one in ways if moves in (None, one.moves)]
    if ways and not fitting:
        available = ", ".join(dict.fromkeys(one.moves for one in ways))
        raise UsageError(f"the study has no {ways[0].name} with {moves} movement", expected=f"one of: {available}")
    return fitting


def parameters_of(ways: Sequence[Application], given: Mapping[str, Any]) -> dict[str, float]:
    """The parameters of the costs besides those of the graph: as given, or the defaults.

    Examples
    --------
    >>> parameters_of(find("random_walk"), {"W": 1e9})
    {'walks': 1000000000.0}
    """
    known = dict.fromkeys(name for way in ways for name in way.parameters)
    wanted = {_LETTERS.get(name, name): value for name, value in given.items()}
    for name, value in wanted.items():
        if name not in known:
            expected = "one of: " + ", ".join(known) if known else "no parameters"
            raise UsageError(f"its costs have no parameter {name!r}", expected=expected,
                             remedy=did_you_mean(name, known))  # fmt: skip
        try:
            good = 0 <= float(value) < math.inf
        except (TypeError, ValueError):
            good = False
        if not good:
            raise UsageError(f"{name} is {value!r}", expected="a number, 0 or more")
    usual = Inputs(1.0, 1.0, 1)
    return {name: float(wanted.get(name, getattr(usual, name))) for name in known}


def judge(application: Application, given: Inputs) -> Scaling:
    """Operations, bytes, their ratio and the class of an application on a graph and p devices.

    Examples
    --------
    >>> judge(find("random_walk")[1], Inputs(1e6, 16e6, 8)).scalability
    'poor'
    """
    operations, moved = application.operations(given), application.bytes(given)
    ratio = operations / moved if moved else math.inf
    words = ratio * _WORD
    if application.outright:
        scalability = application.outright
    elif not moved:
        scalability = "perfect"
    elif words < 1 or (application.each_visit and words < 10):
        scalability = "poor"
    elif application.whole and (moved <= 2 * _WORD * given.vertices or (application.falls and words >= 10)):
        scalability = "good"
    else:
        scalability = "moderate"
    return Scaling(application, operations, moved, ratio, scalability, _EXPECTED[scalability])


def typical(group: str) -> str:
    """The typical member of a class, as the study names it."""
    return {"good": "PageRank", "moderate": "SSSP", "poor": "random walk"}[group]


def given_by(shape: Shape, p: int, **more: Any) -> Inputs:
    """The formulas' inputs for a graph."""
    return Inputs(float(shape.vertices), float(shape.arcs), p, **more)


def required_operations_per_byte(profile: Profile, nodes: int = 1) -> float:
    """Operations per byte that an application needs to scale: 2.5 on a DGX-1, 30 on a cluster of them.

    The study derives these from local memory over links. For another machine they scale with its own memory and links.

    Examples
    --------
    >>> from arcflux.plan.profile import read
    >>> round(required_operations_per_byte(read("dgx1")), 1), round(required_operations_per_byte(read("dgx1"), 2))
    (2.5, 30)
    """
    rule, measured = 10 / _WORD, 448.59 / 14.01
    link = profile.peer or profile.host / profile.host_sharers
    inside = rule * profile.bandwidth / link / measured
    if nodes == 1 or profile.network is None:
        return inside
    lanes = profile.lanes * profile.lane if profile.lanes and profile.lane else link
    return inside * max(1.0, 12 / 12.8 * profile.devices * lanes / profile.network)
