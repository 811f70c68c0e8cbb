"""What algorithms do: bytes of a value that crosses and of an arc, how often each arc is visited, in how many steps.

An algorithm without an entry gets a bound: every arc once, and the bytes of its state. A vertex program is asked how
large its messages and its state are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arcflux.errors import UsageError
from arcflux.plan.shape import Shape

__all__ = ["WORKS", "Work", "work_of"]

_INDEX = 4


@dataclass(frozen=True)
class Work:
    """An algorithm as the models see it.

    `value`: bytes of a vertex that others read (Lux's T_v); `arc`: bytes of an arc beside its end; `state`: bytes of a
    vertex in memory; `vertex`: bytes that a superstep reads and writes for each vertex; `operations`: elements read for
    each visit of an arc beside its end. `supersteps`: how many, or 0 for as many as a search is deep, times `rounds`.
    `sweeps`: visits of each arc in the whole run, or 0 for one in each superstep. `group`: the typical member of HIVE's
    three groups that it is like. `bound`: nothing better is known.
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


_ASSUMED = "20 supersteps are assumed; supersteps= says better"
WORKS = {
    work.name: work
    for work in (
        Work("pagerank", 8, 24, supersteps=20, group="good", note=_ASSUMED),
        Work("pagerank_delta", 8, 32, supersteps=20, sweeps=8, direction="push", group="good", note=_ASSUMED),
        Work("bfs", 4, 8, sweeps=1, direction="push", traversal=True),
        Work("sssp", 8, 12, arc=4, rounds=3, sweeps=2.5, direction="push", traversal=True),
        Work("multi_source_sssp", 8, 12, arc=4, rounds=3, sweeps=2.5, direction="push", traversal=True),
        Work("connected_components", 4, 8, sweeps=2.5, direction="push"),
        Work("weakly_connected_components", 4, 8, sweeps=2.5, direction="push"),
        Work("betweenness_centrality", 8, 28, rounds=2, sweeps=2, direction="push"),
        Work("label_propagation", 4, 16, operations=10, supersteps=10),
        Work("collaborative_filtering", 64, 192, arc=4, operations=16, supersteps=20, group="good", note=_ASSUMED),
    )
}


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
        found = algorithm
    elif isinstance(algorithm, Program):
        found = _of_program(algorithm, columns)
    else:
        found = _by_name(algorithm)
    if supersteps is None:
        return found
    if isinstance(supersteps, bool) or not isinstance(supersteps, int) or supersteps < 1:
        raise UsageError(f"supersteps is {supersteps!r}", expected="a whole number, 1 or more")
    return replace(found, supersteps=supersteps, note="")


def _by_name(algorithm: Any) -> Work:
    from arcflux.algorithms.registry import find

    entry = find(algorithm if isinstance(algorithm, str) else getattr(algorithm, "__name__", str(algorithm)))
    if entry.name in WORKS:
        return WORKS[entry.name]
    note = f"{entry.name} has no model: this is a lower bound, from the bytes of one visit of every arc"
    return Work(entry.name, 4, 8, supersteps=1, bound=True, note=note)


def _of_program(program: Any, given: Mapping[str, Any] | None) -> Work:
    """The work of a superstep of a vertex program, in which every vertex sends; without a graph, weights are floats.

    What it reads and writes for each arc and vertex is what the kernel that pulls does on a GPU, by its account.
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
    vertex = pulled.vertex_read + pulled.vertex_written
    note = f"nothing is known of how {program.name} converges: this is one superstep in which every vertex sends"
    return Work(
        program.name, max(value, 1), 2 * state + value, arc=arc, vertex=vertex, supersteps=1, bound=True, note=note
    )
