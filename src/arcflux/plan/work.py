"""What algorithms declare to the planner: their work per edge and vertex, how often, and how to run them.

All other modules of this room ask a :class:`Work`, never a name. An algorithm without an entry gets a bound: every arc
once, and the bytes of its state. For a vertex program, the sizes of its messages and its state are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from arcflux.errors import UsageError

if TYPE_CHECKING:
    from arcflux.plan.shape import Shape

__all__ = ["WORKS", "Work", "program_work", "work_of"]

_INDEX = 4


@dataclass(frozen=True)
class Work:
    """An algorithm as the models see it.

    `value`: bytes of a vertex that others read (Lux's T_v); `arc`: bytes of an arc beside its end; `state`: bytes of a
    vertex in memory; `vertex`: bytes that a superstep reads and writes for each vertex; `operations`: elements read for
    each visit of an arc beside its end. `supersteps`: their number, or 0 for the depth of a search times `rounds`.
    `sweeps`: visits of each arc in the whole run, or 0 for one in each superstep. `group`: the typical member of HIVE's
    three groups that it is like. `bound`: nothing better is known.

    For this machine: `dense`: every vertex is active in every superstep; `term`: the further figure of a graph that its
    time grows with ("wedges", "squares"); `peak`: bytes per vertex of a run beside the graph; `early`: pull stops at
    the first message; `grid`: it runs on a grid of devices, too. `measured`: the directions that calibrate runs;
    `main`: on large graphs, too; `call` and `options`: the function and its options; `weighted`: it reads weights.
    `programs`: the vertex programs whose runs are runs of it, and `relatives` those that are only similar. `like`: the
    algorithm whose rates stand in where it has none, and `key`: the name of its recorded runs; by default its own name.
    """

    name: str
    value: float
    state: float
    arc: float = 0.0
    vertex: float = 0.0
    operations: float = 1.0
    supersteps: int = 0
    rounds: float = 1.0
    sweeps: float = 0.0
    direction: str = "pull"
    traversal: bool = False
    group: str = "moderate"
    bound: bool = False
    note: str = ""
    dense: bool = False
    term: str = ""
    peak: float = 0.0
    early: bool = False
    grid: bool = False
    measured: tuple[str, ...] = ("auto",)
    main: bool = False
    call: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    weighted: bool = False
    programs: tuple[str, ...] = ()
    relatives: tuple[str, ...] = ()
    like: str = ""
    key: str = ""

    def steps(self, shape: Shape) -> float:
        """Supersteps of a run."""
        return float(self.supersteps) if self.supersteps else max(1.0, self.rounds * shape.depth)

    def visits(self, shape: Shape) -> float:
        """How often an arc is visited in a run."""
        return self.sweeps or self.steps(shape)

    @property
    def arc_bytes(self) -> float:
        """Bytes of an arc in memory."""
        return _INDEX + self.arc

    @property
    def run_key(self) -> str:
        """The name of its recorded runs."""
        return self.key or self.name


_ASSUMED = "20 supersteps are assumed; supersteps= says better"
_BOUND = "{} has no model: this is a lower bound, from the bytes of one visit of every arc"


def _rows(name: str, term: str, **more: Any) -> Work:
    """An algorithm that compares rows: for other machines the only figure is that it reads every arc once."""
    return Work(name, 4, 8, supersteps=1, bound=True, note=_BOUND.format(name), term=term, **more)


WORKS = {
    work.name: work
    for work in (
        Work("pagerank", 8, 24, supersteps=20, group="good", note=_ASSUMED, dense=True, peak=33.5, main=True,
             measured=("pull", "push"), programs=("PageRank",),
             relatives=("PersonalPageRank", "WeightedPageRank", "AcceleratedPageRank", "AcceleratedPersonalPageRank",
                        "AcceleratedWeightedPageRank")),
        Work("pagerank_delta", 8, 32, supersteps=20, sweeps=8, direction="push", group="good", note=_ASSUMED, peak=73.0,
             programs=("PushPageRank",)),
        Work("bfs", 4, 8, sweeps=1, direction="push", traversal=True, peak=13.4, main=True, measured=("auto", "push"),
             early=True, grid=True, programs=("BFS",)),
        Work("sssp", 8, 12, arc=4, rounds=3, sweeps=2.5, direction="push", traversal=True, peak=33.1, main=True,
             weighted=True, relatives=("SSSP", "Paths")),
        Work("multi_source_sssp", 8, 12, arc=4, rounds=3, sweeps=2.5, direction="push", traversal=True, weighted=True),
        Work("connected_components", 4, 8, sweeps=2.5, direction="push", peak=4.0, main=True),
        Work("min_label", 4, 8, sweeps=2.5, direction="push", measured=("auto", "push"), call="connected_components",
             options=(("method", "min-label"),), programs=("Components",)),
        Work("weakly_connected_components", 4, 8, sweeps=2.5, direction="push"),
        Work("strongly_connected_components", 8, 41, sweeps=4, direction="push", relatives=("StrongComponents",)),
        Work("hits", 8, 40, supersteps=40, group="good", note=_ASSUMED, dense=True, relatives=("HITS",)),
        # Not measured: the first two are rounds of PageRank, the others as many searches as there are vertices.
        Work("katz_centrality", 8, 24, supersteps=40, group="good", note=_ASSUMED, dense=True, measured=(),
             like="pagerank", relatives=("Katz", "WeightedKatz")),
        Work("eigenvector_centrality", 8, 24, supersteps=40, group="good", note=_ASSUMED, dense=True, measured=(),
             like="pagerank", relatives=("Eigenvector", "WeightedEigenvector")),
        *(Work(name, 8, 32, rounds=40, note=_ASSUMED, measured=(), like="bfs")
          for name in ("closeness_centrality", "harmonic_centrality", "eccentricity")),
        Work("core_number", 4, 9, sweeps=2, direction="push", relatives=("CoreNumber",)),
        Work("betweenness_centrality", 8, 28, rounds=2, sweeps=2, direction="push"),
        Work("label_propagation", 4, 16, operations=10, supersteps=10, dense=True, peak=15.0),
        Work("collaborative_filtering", 64, 192, arc=4, operations=16, supersteps=20, group="good", note=_ASSUMED,
             dense=True, measured=("pull",), options=(("iterations", 5),), weighted=True,
             relatives=("CollaborativeFiltering",)),
        _rows("triangles", "wedges"),
        _rows("clustering", "wedges"),
        _rows("two_hop_friends", "squares", options=(("lists", False),)),
        # Not measured: rows that are compared, searches by one core, rounds over all arcs.
        *(Work(name, 8, 24, sweeps=8, measured=(), like="connected_components")
          for name in ("minimum_spanning_tree", "maximum_spanning_tree")),
        *(_rows(name, "wedges", measured=(), like="triangles") for name in ("edge_support", "truss_number", "k_truss")),
        *(Work(name, 8, 48, sweeps=2, measured=(), like="bfs")
          for name in ("articulation_points", "bridges", "biconnected_components")),
        *(Work(name, 8, 32, supersteps=20, note=_ASSUMED, dense=True, measured=(), like="pagerank")
          for name in ("maximal_independent_set", "greedy_color", "maximal_matching")),
        Work("k_hop", 4, 8, sweeps=1, direction="push", traversal=True, measured=(), like="bfs", relatives=("Hops",)),
        Work("edge_betweenness_centrality", 8, 40, rounds=40, note=_ASSUMED, measured=(), like="bfs"),
        Work("fast_random_projection", 512, 1024, operations=64, supersteps=3, dense=True, measured=(), like="pagerank",
             relatives=("FastRP",)),
    )
}  # fmt: skip
_PROGRAMS = {name: (work, True) for work in WORKS.values() for name in work.programs}
_PROGRAMS |= {name: (work, False) for work in WORKS.values() for name in work.relatives}
# Stand-ins for any other program, by whether every vertex is active in every superstep.
_STAND_IN = {True: WORKS["pagerank"], False: WORKS["min_label"]}


@lru_cache(maxsize=256)
def program_work(name: str, dense: bool, value: float) -> Work:
    """The work of a vertex program: that of an algorithm, or of one with a similar kernel.

    `value` is the bytes that an arc reads of its source, 0 if that is its vertex number alone.

    Examples
    --------
    >>> program_work("BFS", False, 0.0).name, program_work("Mine", True, 16.0).like
    ('bfs', 'pagerank')
    """
    like, same = _PROGRAMS.get(name, (_STAND_IN[dense], False))
    if same and like.dense == dense and value in (0, like.value):
        return like
    note = f"nothing is known of {name} but that it is like {like.name}, and what its runs have shown"
    return replace(
        like, name=name, value=value or 4.0, dense=dense, term="", key=f"program {name} {value:.0f}", like=like.name,
        note=note,
    )  # fmt: skip


def work_of(algorithm: Any, supersteps: int | None = None, columns: Mapping[str, Any] | None = None) -> Work:
    """The work of an algorithm by name, or of a vertex program, which may read `columns` of arcs.

    Examples
    --------
    >>> work_of("pr").value
    8
    >>> work_of("triangles").bound
    True
    """
    from arcflux.program import Program

    if isinstance(algorithm, Work):
        work = algorithm
    elif isinstance(algorithm, Program):
        work = _of_program(algorithm, columns)
    else:
        work = _by_name(algorithm)
    if supersteps is None:
        return work
    if isinstance(supersteps, bool) or not isinstance(supersteps, int) or supersteps < 1:
        raise UsageError(f"supersteps is {supersteps!r}", expected="a whole number, 1 or more")
    return replace(work, supersteps=supersteps, note=work.note if work.bound else "")


def _by_name(algorithm: Any) -> Work:
    from arcflux.algorithms.registry import find

    name = algorithm if isinstance(algorithm, str) else getattr(algorithm, "__name__", str(algorithm))
    if name in WORKS:
        return WORKS[name]
    entry = find(name)
    if entry.name in WORKS:
        return WORKS[entry.name]
    return Work(entry.name, 4, 8, supersteps=1, bound=True, note=_BOUND.format(entry.name))


def _of_program(program: Any, given: Mapping[str, Any] | None) -> Work:
    """The work of a superstep of a vertex program with every vertex active; without a graph, weights are floats.

    The bytes it reads and writes for each arc and vertex are those of the pulling kernel on a GPU, by its account.
    """
    import numpy as np

    from arcflux.compile.lower import lower
    from arcflux.gpu.account import cost

    columns = {"weight": np.dtype(np.float64)} if given is None else dict(given)
    lowered = lower(program, columns, False)
    value = sum(one.dtype.itemsize * (one.length or 1) for one in lowered.messages)
    state = sum(dtype.itemsize * (length or 1) for dtype, length in lowered.fields.values())
    pulled = cost(lowered.unordered() if lowered.ordered else lowered, "pull_thread", columns)
    arc = pulled.edge_read - _INDEX - value
    if lowered.around is not None:  # its loops are in functions of their own
        arc = sum(columns[name].itemsize for name in lowered.columns)
    vertex = pulled.vertex_read + pulled.vertex_written
    note = f"nothing is known of how {program.name} converges: this is one superstep in which every vertex is active"
    return Work(
        program.name, max(value, 1), 2 * state + value, arc=arc, vertex=vertex, supersteps=1, bound=True, note=note
    )
