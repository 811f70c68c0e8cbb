"""Parts of one graph: the owner of each vertex, and the arcs of each part. Vertices keep their numbers everywhere.

Every vertex has one owner, which keeps its state; every arc is at one part. By which rule the arcs are dealt out is
said in rule.py; cut.py takes a part's arcs out of the graph on demand.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array, checked, path, shown, whole
from arcflux.doorways import enter
from arcflux.errors import UsageError
from arcflux.graph.core import Graph
from arcflux.partition.arcs import Inward, Outward
from arcflux.partition.part import Part
from arcflux.partition.rule import Rule, smallest
from arcflux.spmd.memory import frozen

if TYPE_CHECKING:
    from arcflux.partition.statistics import Statistics

__all__ = ["Part", "Parts", "candidates", "make_part", "outward_of"]

Array = NDArray[Any]


class Parts:
    """A graph in `k` parts; :func:`arcflux.partition` makes them.

    With a rule of your own, `owner` has the part of each vertex, or part i has the vertices from ``bounds[i]`` to
    before ``bounds[i + 1]``; `how` is what you call it.

    Examples
    --------
    >>> import arcflux as af
    >>> af.Parts(af.load("path:4"), 2, "odd and even", owner=[0, 1, 0, 1]).owned(1).tolist()
    [1, 3]
    >>> parts = af.partition("path:6", 2)
    >>> parts.owner.tolist(), parts.bounds.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 3, 6])
    >>> part = parts.part(1)
    >>> part.targets.tolist(), part.arcs
    ([3, 4, 5], 5)
    """

    graph: Graph
    k: int
    how: str
    bounds: Array | None
    rule: Rule
    notes: list[str]
    _looked_at = False  # whether owners are known to be parts

    def __init__(
        self,
        graph: Graph,
        k: int,
        how: str,
        *,
        owner: Array | None = None,
        bounds: Array | None = None,
        rule: Rule | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if not isinstance(graph, Graph):
            raise UsageError(f"graph is {shown(graph)}", expected="a graph", remedy="af.load(...) makes one of it")
        if (k := whole("k", k)) < 1:
            raise UsageError(f"k is {k}", expected="how many parts: a whole number from 1 on")
        if owner is None and bounds is None:
            raise UsageError(
                "neither owner nor bounds are given", expected="one of them", remedy="af.partition(graph, k)"
            )
        self.graph, self.k, self.how = graph, k, how
        self.bounds = None if bounds is None else frozen(_as_bounds(bounds, graph.vertices, k))
        self.rule = rule if rule is not None else Rule()
        self.notes = list(notes)
        self.hierarchy: tuple[int, int] | None = None  # the fan and the levels of a tree whose leaves parts are
        self._owner = None if owner is None else _as_owner(owner, graph.vertices, k, self._looked_at)
        self._made: dict[int, Part] = {}
        self._lock = threading.Lock()

    @cached_property
    def owner(self) -> Array:
        """The part that owns each vertex: the smallest unsigned type, one for each vertex."""
        if self._owner is not None:
            return frozen(self._owner)
        return frozen(np.repeat(np.arange(self.k, dtype=smallest(self.k)), np.diff(self._ranges)))

    @property
    def _ranges(self) -> Array:
        assert self.bounds is not None, "either owners or bounds are given"
        return self.bounds

    @property
    def shape(self) -> tuple[int, int] | None:
        """Rows and columns of a grid; None for all other parts."""
        return self.rule.shape

    @property
    def duplicated(self) -> bool:
        """Whether every part has the whole graph beside its arcs."""
        return self.rule.duplicated

    @property
    def placement(self) -> str:
        """At whose part an arc is: "target" or "source" for the owner of that end, "arcs" when it depends on both."""
        return self.rule.placement

    @property
    def local_targets(self) -> bool:
        """Whether the targets of a part are known to be among some of the vertices, without looking at the arcs."""
        even = self.shape is not None and self.k == self.shape[0] * self.shape[1]
        return self.rule.mode == "target" or (self.rule.mode == "grid" and even)

    @cached_property
    def _by_owner(self) -> tuple[Array, Array]:
        """Vertices in the order of their owners, and where each owner's begin."""
        order = np.argsort(self.owner, kind="stable").astype(self.graph.number_type)
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.owner, minlength=self.k))])
        return frozen(order), starts

    def owned(self, i: int) -> Array:
        """The vertices that part `i` owns, ascending."""
        i = self._checked(i)
        if self.bounds is not None:
            if "numbers" not in self.graph.kept:
                self.graph.kept["numbers"] = np.arange(self.graph.vertices, dtype=self.graph.number_type)
            return frozen(self.graph.kept["numbers"][self.bounds[i] : self.bounds[i + 1]])
        order, starts = self._by_owner
        return order[starts[i] : starts[i + 1]]

    def part(self, i: int) -> Part:
        """Part `i` with its arcs; kept, so that asking again costs nothing."""
        i = self._checked(i)
        with self._lock:
            if i not in self._made:
                self._made[i] = self._make(i)
            return self._made[i]

    def _make(self, i: int) -> Part:
        """Part `i`, from the whole graph; its arcs are taken out when they are asked for."""
        return make_part(self, i)

    def _checked(self, i: int) -> int:
        number = whole("i", i)
        if not 0 <= number < self.k:
            raise UsageError(f"there is no part {number}", expected=f"a number from 0 to {self.k - 1}")
        return number

    def place(self, i: int) -> tuple[int, int]:
        """The row and the column of part `i` of a grid; parts are counted down the columns."""
        i = self._checked(i)
        if self.shape is None:
            raise UsageError(f"parts by {self.how} have no rows and columns", expected="parts by grid")
        assert self.rule.fold is not None
        column, row = divmod(int(np.searchsorted(self.rule.fold, i)), self.shape[0])
        return row, column

    def where(self, sources: Array, targets: Array) -> Array:
        """At which part the arc from each source to its target is, whether or not the graph has that arc.

        Ends are vertex numbers.
        """
        from arcflux.partition.cut import where

        ends = self._numbers("sources", sources), self._numbers("targets", targets)
        if len(ends[0]) != len(ends[1]):
            said = f"{len(ends[0])} sources and {len(ends[1])} targets were given"
            raise UsageError(said, expected="as many of each")
        return where(self.graph, *ends, self.rule, self.owner)

    def _numbers(self, name: str, given: Any) -> Array:
        """Vertex numbers, all of which the graph has."""
        found, most = np.asarray(array(name, given)), self.graph.vertices - 1
        whole = found.ndim == 1 and (found.dtype.kind in "iu" or not len(found))
        if not whole or (len(found) and not 0 <= found.min() <= found.max() <= most):
            raise UsageError(f"{name} is {shown(given)}", expected=f"a list of vertex numbers, from 0 to {most}")
        return found

    @cached_property
    def statistics(self) -> Statistics:
        """How even the parts are, how much they have in common, and what they read of each other."""
        from arcflux.partition.statistics import examine

        return examine(self.graph, self.k, self.owner, self.rule, duplicated=self.duplicated)

    @checked(path=path)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep the parts, and the graph, in a folder that :func:`arcflux.load_parts` opens; see folder.py."""
        enter("parts.save")(self, path)

    @checked(path=path)
    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the adjacency matrix, coloured by part, into a file; its suffix names the format (needs matplotlib)."""
        enter("parts.draw").plot(self, path)

    def at_targets(self) -> Parts:
        """The same owners, with each arc at its target's owner: what runs that repeat to the last bit use."""
        return self if self.rule.mode == "target" else self._with("target")

    def at_sources(self) -> Parts:
        """The same owners, with each arc at its source's owner: sums are then made where they start."""
        return self if self.rule.mode == "source" else self._with("source")

    def _with(self, mode: str) -> Parts:
        with self._lock:
            known: dict[str, Parts] = self.__dict__.setdefault("_others", {})
            if mode not in known:
                known[mode] = self._like(self.graph, mode)
            return known[mode]

    def _like(self, graph: Graph, mode: str) -> Parts:
        """The same owners, with arcs at another place."""
        rule = Rule(mode, duplicated=self.duplicated)
        return Parts(graph, self.k, self.how, owner=self._owner, bounds=self.bounds, rule=rule, notes=self.notes)

    def on(self, graph: Graph) -> Parts:
        """The same owners for another view of the graph, such as its reverse; there, each arc is at its target's."""
        if graph is self.graph:
            return self
        with self._lock:
            known: dict[int, Parts] = self.__dict__.setdefault("_views", {})
            if id(graph) not in known:
                known[id(graph)] = self._like(graph, "target")
            return known[id(graph)]

    def __str__(self) -> str:
        return str(enter("parts.draw").text(self))

    def _repr_html_(self) -> str:
        return str(enter("parts.draw").html(self))

    def __repr__(self) -> str:
        where = f"{self.shape[0]} x {self.shape[1]} " if self.shape else ""
        name = f" of {self.graph.name}" if self.graph.name else ""
        return f"<Parts{name}: {self.k} by {where}{self.how}, arcs at their {self.placement}>".replace(
            "arcs at their arcs", "arcs split"
        )


def _as_owner(given: Any, vertices: int, k: int, looked_at: bool) -> Array:
    """Owners as they are kept, if they are parts: kernels count and look up by them."""
    owner = np.asarray(given)
    if owner.shape != (vertices,) or owner.dtype.kind not in "iu":
        raise UsageError(
            f"owner is an array of {owner.dtype} of shape {owner.shape}",
            expected=f"the number of a part for each vertex: integers of shape ({vertices},)",
        )
    if vertices and not looked_at and not 0 <= int(owner.min()) <= int(owner.max()) < k:
        raise UsageError(f"owner has parts from {owner.min()} to {owner.max()}", expected=f"parts from 0 to {k - 1}")
    return owner.astype(smallest(k), copy=False)


def _as_bounds(given: Any, vertices: int, k: int) -> Array:
    bounds = np.asarray(given)
    rising = bounds.ndim == 1 and bounds.dtype.kind in "iu" and bool((bounds[1:] >= bounds[:-1]).all())
    if not rising or len(bounds) != k + 1 or int(bounds[0]) != 0 or int(bounds[-1]) != vertices:
        expected = f"where each of {k} parts begins, and the end: rising numbers from 0 to {vertices}"
        raise UsageError(f"bounds are {given!r}", expected=expected)
    return bounds.astype(np.int64)


def make_part(parts: Parts, i: int) -> Part:
    """Part `i`, from the whole graph; its arcs are taken out when they are asked for."""
    return Part(i, parts.graph, parts.owned(i), lambda: _inward(parts, i), outward_of(parts, i), parts.duplicated)


def _inward(parts: Parts, i: int) -> Inward:
    from arcflux.partition.cut import in_slice, select_arcs

    whole = parts.rule.mode == "target"
    if whole and parts.bounds is not None:
        return in_slice(parts.graph, parts.owned(i), int(parts.bounds[i]), int(parts.bounds[i + 1]))
    return select_arcs(parts.graph, candidates(parts, i), i, parts.k, parts.rule, parts.owner, keep_empty=whole)


def outward_of(parts: Parts, i: int) -> Callable[[], Outward] | None:
    """How to find the arcs by source when they are a stretch of the graph's own, else None."""
    if parts.rule.mode != "source" or parts.bounds is None or not parts.graph.sorted:
        return None
    from arcflux.partition.cut import out_slice

    begin, end = int(parts.bounds[i]), int(parts.bounds[i + 1])
    return lambda: out_slice(parts.graph, begin, end)


def candidates(parts: Parts, i: int) -> Array:
    """Vertices among which the targets of a part are: those it owns, those of its column on a grid, else all."""
    number = parts.graph.number_type
    if parts.rule.mode == "target":
        return parts.owned(i)
    if parts.local_targets and parts.shape is not None:
        rows, column = parts.shape[0], parts.place(i)[1]
        begin, end = parts._ranges[rows * column], parts._ranges[rows * (column + 1)]
        return np.arange(begin, end, dtype=number)
    return np.arange(parts.graph.vertices, dtype=number)
