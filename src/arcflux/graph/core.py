"""The graph itself: out-edges as offsets and neighbours, in-edges built on first need, typed edge columns, ids.

The arrays are read-only: offsets uint64[vertices + 1], neighbours uint32|uint64[arcs] sorted in each row, columns in
the order of the arcs. An undirected graph stores one symmetric structure: each edge twice, a self-loop once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array, checked, flag, mapping, maybe, shown, text
from arcflux.doorways import enter
from arcflux.errors import ArcfluxError, GraphError, IdError, UsageError
from arcflux.graph.columns import Columns
from arcflux.graph.edges import Edges, Options, checked_columns
from arcflux.graph.ids import Ids, RangeIds, as_ids
from arcflux.spmd.memory import frozen, within_memory

__all__ = ["Adjacency", "Changes", "Graph", "Origin"]

Array = NDArray[Any]


class Adjacency(NamedTuple):
    """Arcs grouped by one of their ends: the others of vertex v are ``neighbours[offsets[v]:offsets[v + 1]]``."""

    offsets: Array
    neighbours: Array


@dataclass(frozen=True)
class Changes:
    """What building did to the edges that were given. Nothing else was dropped or added."""

    edges_given: int = 0
    self_loops_dropped: int = 0
    parallel_edges_merged: int = 0
    symmetrised: bool = False

    def lines(self) -> list[str]:
        """The changes as sentences; empty when there are none."""
        said = []
        if self.symmetrised:
            said.append("every edge was added in the other direction too")
        if self.self_loops_dropped:
            said.append(f"{self.self_loops_dropped:,} self-loops were dropped")
        if self.parallel_edges_merged:
            said.append(f"{self.parallel_edges_merged:,} parallel edges were merged")
        return said


@dataclass(frozen=True)
class Origin:
    """Where a graph comes from: its name, what building it changed, and what had to be assumed."""

    name: str = ""
    changes: Changes | None = None
    assumptions: tuple[str, ...] = ()


class Graph:
    """An immutable graph. Make one with :func:`arcflux.load`, :mod:`arcflux.generate` or :meth:`from_edges`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["ada", "bob", "ada"], ["bob", "eve", "eve"], columns={"weight": [3, 1, 2]})
    >>> g.vertices, g.edges, g.directed
    (3, 3, True)
    >>> g.neighbours("ada").tolist()
    ['bob', 'eve']
    """

    __slots__ = ("__weakref__", "_checks", "_columns", "_ids", "_in", "_lock", "_out", "_sealed", "assumptions",
                 "changes", "directed", "edges", "kept", "name", "sorted")  # fmt: skip

    whole = True  # whether all arcs are here; see split.py
    directed: bool
    edges: int
    name: str
    sorted: bool
    kept: dict[Any, Any]  # what was made of the graph and serves again, by whatever names it
    changes: Changes
    assumptions: tuple[str, ...]

    def __init__(
        self,
        out: Adjacency,
        *,
        directed: bool,
        columns: Mapping[str, Array] | None = None,
        ids: Ids | None = None,
        loops: int = 0,
        sorted: bool = True,
        origin: Origin | None = None,
    ) -> None:
        """`loops`: self-loops among the arcs of an undirected graph."""
        arcs = len(out.neighbours)
        self._out = Adjacency(frozen(out.offsets), frozen(out.neighbours))
        self._in: tuple[Adjacency, dict[str, Array]] | None = None
        self._lock = threading.Lock()
        self._columns = {key: frozen(column) for key, column in (columns or {}).items()}
        self.directed = directed
        self.edges = arcs if directed else (arcs + loops) // 2
        self._checks: dict[str, Callable[[], None]] = {}
        self._ids = ids if ids is not None else RangeIds(len(out.offsets) - 1)
        self.sorted = sorted
        self.kept = {}
        origin = origin if origin is not None else Origin()
        self.name, self.assumptions = origin.name, origin.assumptions
        self.changes = origin.changes if origin.changes is not None else Changes(edges_given=self.edges)
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_sealed", False) and name != "_in":
            raise AttributeError(f"a Graph does not change: {name} cannot be set")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Graph does not change: {name} cannot be deleted")

    @classmethod
    @checked(
        source=None, columns=maybe(mapping), directed=flag, symmetrise=flag, deduplicate=maybe(text),
        drop_self_loops=flag, sort=flag, name=text,
    )  # fmt: skip
    @within_memory("building a graph")
    def from_edges(
        cls,
        source: Any,
        target: Any,
        *,
        columns: Mapping[str, Any] | None = None,
        vertices: Any = None,
        directed: bool = True,
        symmetrise: bool = False,
        deduplicate: str | None = None,
        drop_self_loops: bool = False,
        sort: bool = True,
        threads: int | None = None,
        name: str = "",
    ) -> Graph:
        """A graph of the edges ``source[i] -> target[i]``.

        Parameters
        ----------
        source, target
            The ends of each edge: integers (any int64) or text, of any length including 0.
        columns
            Edge columns: a name, and a number for each edge. ``weight`` is what algorithms look for.
        vertices
            How many vertices (ids are then 0 .. vertices-1), or all their ids. Without it the vertices are the ids
            that appear in an edge. This is how isolated vertices are kept.
        directed
            False when an edge has no direction: it is then stored both ways.
        symmetrise
            Make a directed list of edges undirected; the same as ``directed=False``, and recorded in `changes`.
        deduplicate
            None keeps parallel edges; "first" keeps the first of them, "sum", "min" and "max" reduce their columns.
            Columns keep their type: an integer sum that does not fit is a :class:`~arcflux.errors.GraphError`, and the
            sum of booleans is their "or". A NaN among the values gives NaN; of equal values (0.0 and -0.0) the first
            stays.
        drop_self_loops
            Drop edges that end where they start (their vertex stays).
        sort
            Sort the neighbours of each vertex.
        threads
            Workers to use; all cores without it. The result is the same.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges([0, 0, 2], [1, 1, 2], directed=False, deduplicate="first", vertices=4)
        >>> g.vertices, g.edges, g.changes.lines()
        (4, 2, ['1 parallel edges were merged'])
        """
        ends = as_ids(source), as_ids(target)
        if len(ends[0]) != len(ends[1]):
            raise GraphError(
                f"{len(ends[0]):,} sources and {len(ends[1]):,} targets were given", expected="as many of each"
            )
        edges = Edges(*ends, columns=checked_columns(columns, len(ends[0])))
        options = Options(directed and not symmetrise, deduplicate, drop_self_loops, sort, threads)
        return cls.assemble(edges, options, vertices=vertices, symmetrised=symmetrise and directed, name=name)

    @classmethod
    def assemble(
        cls,
        edges: Edges,
        options: Options,
        *,
        vertices: Any = None,
        symmetrised: bool = False,
        name: str = "",
        assumptions: tuple[str, ...] = (),
    ) -> Graph:
        """A graph from :class:`~arcflux.graph.edges.Edges`, which are used up: what readers and generators call."""
        from arcflux.graph.build import build, drop_unnamed
        from arcflux.graph.number import number, renumbered

        given = len(edges)
        ids, complete = number(edges, vertices, options.threads)
        built = build(edges, len(ids), options)
        if not complete:
            kept = drop_unnamed(built, options)
            if kept is not None:
                ids = renumbered(ids, kept)
        arcs = len(built.neighbours)
        left = arcs if options.directed else (arcs + built.loops) // 2
        changes = Changes(given, built.dropped_loops, given - built.dropped_loops - left, symmetrised)
        return cls(
            Adjacency(built.offsets, built.neighbours),
            directed=options.directed,
            columns=built.columns,
            ids=ids,
            loops=built.loops,
            sorted=options.sort,
            origin=Origin(name, changes, assumptions),
        )

    # --- size -------------------------------------------------------------------------------------------------

    @property
    def vertices(self) -> int:
        """How many vertices."""
        return len(self._out.offsets) - 1

    @property
    def arcs(self) -> int:
        """Stored directions: the edges of a directed graph; of an undirected one twice the edges, less self-loops."""
        return len(self._out.neighbours)

    @property
    def memory(self) -> int:
        """Bytes of all arrays held now; in-edges count once they are built."""
        held = [*self._out, *self._columns.values()]
        if self._in is not None and self.directed:
            held += [*self._in[0], *self._in[1].values()]
        return sum(array.nbytes for array in held) + self._ids.nbytes

    # --- before the first use of arrays from outside -------------------------------------------------------------

    def check(self) -> None:
        """Look at every array that comes from a file and was not looked at yet; raises if one is not as it should be.

        A run does it for those that it uses.
        """
        for name in list(self._checks):
            self._look(name)

    def _look(self, name: str) -> None:
        check = self._checks.get(name)
        if check is not None:
            check()
            self._checks.pop(name, None)  # only now: what is wrong stays wrong

    # --- structure --------------------------------------------------------------------------------------------

    @property
    def out(self) -> Adjacency:
        """Arcs by their source (compressed sparse rows)."""
        if self._checks:
            self._look("out")
        return self._out

    @property
    def into(self) -> Adjacency:
        """Arcs by their target (compressed sparse columns): built on first need; `out` itself when undirected."""
        return self._reversed()[0]

    @property
    def columns(self) -> Mapping[str, Array]:
        """Edge columns in the order of `out`."""
        return Columns(self._columns, lambda name: self._look(f"columns.{name}"))

    @property
    def in_columns(self) -> Mapping[str, Array]:
        """Edge columns in the order of `into`."""
        if not self.directed:
            return self.columns
        return Columns(self._reversed()[1], lambda name: self._look(f"in_columns.{name}"))

    @property
    def column_types(self) -> dict[str, np.dtype[Any]]:
        """The types of the edge columns, by name."""
        return {name: column.dtype for name, column in self._columns.items()}

    def column_sample(self, name: str, size: int) -> Array:
        """Some values of an edge column, spread evenly: about `size`, or all if there are fewer."""
        values = self.columns[name]
        return values[:: max(1, len(values) // size)]

    @property
    def number_type(self) -> np.dtype[Any]:
        """The type of vertex numbers in arrays."""
        return self._out.neighbours.dtype

    @property
    def out_offsets(self) -> Array:
        """Where the out-edges of each vertex begin among all, and their number: uint64[vertices + 1]."""
        return self.out.offsets

    @property
    def in_offsets(self) -> Array:
        """The same of in-edges."""
        return self.into.offsets

    @property
    def has_in_edges(self) -> bool:
        """Whether `into` is there already, and has not to be built first."""
        return not self.directed or self._in is not None

    @property
    def ids(self) -> Ids:
        """The map between vertex numbers and the user's ids."""
        if self._checks:
            self._look("ids")
        return self._ids

    @checked(columns=mapping)
    @within_memory("changing columns")
    def with_columns(self, columns: Mapping[str, Any]) -> Graph:
        """The same graph with these edge columns, in the order of `out`, instead of its own; structure is shared.

        In an undirected graph an edge has two places, one in each direction, and both should say the same. An array
        that can be written to is copied, because a graph does not change.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges([0, 1], [1, 2], columns={"length": [3, 4]})
        >>> g.with_columns({"weight": g.columns["length"]}).columns["weight"].tolist()
        [3, 4]
        """
        checked = checked_columns(columns, self.arcs)
        own = {name: column.copy() if column.flags.writeable else column for name, column in checked.items()}
        return Graph(
            self.out, directed=self.directed, columns=own, ids=self.ids,
            loops=0 if self.directed else 2 * self.edges - self.arcs, sorted=self.sorted, origin=self.origin,
        )  # fmt: skip

    @property
    def origin(self) -> Origin:
        """Its name, what building it changed, and what was assumed: what a graph made of this one takes over."""
        return Origin(self.name, self.changes, self.assumptions)

    def check_first(self, checks: Mapping[str, Callable[[], None]]) -> Graph:
        """The graph itself, which calls the check of an array (by its name here) before its first use.

        A check raises unless the array is right.
        """
        self._checks.update(checks)
        return self

    def reverse(self) -> Graph:
        """The same graph with every edge turned round: a view, which shares all arrays. Undirected, it is the graph.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges(["ada", "bob"], ["bob", "eve"])
        >>> g.reverse().neighbours("eve").tolist(), g.reverse().reverse() is g
        (['bob'], True)
        """
        return enter("graph.reverse")(self) if self.directed else self

    def both_ways(self) -> Graph:
        """An undirected graph that has each edge of this one in both directions; made once. Undirected, it is itself.

        Where there are edges from u to v and from v to u, both ends have both of them; a self-loop is stored once.

        Examples
        --------
        >>> import arcflux as af
        >>> af.Graph.from_edges([0, 1], [1, 2]).both_ways().out_degrees.tolist()
        [1, 2, 1]
        """
        return enter("graph.both_ways")(self) if self.directed else self

    @within_memory("building a graph")
    def to_undirected(self, reciprocal: bool = False, deduplicate: str | None = "first") -> Graph:
        """The same vertices with edges that have no direction; undirected, it is the graph.

        Edges from u to v and from v to u become one, as in NetworkX, and so do parallel ones, by `deduplicate`
        ("first", "sum", "min", "max"; None keeps them all). `reciprocal`: edges that go both ways alone.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges([0, 1, 1], [1, 0, 2])
        >>> g.to_undirected().edges, g.to_undirected(reciprocal=True).edges
        (2, 1)
        """
        made: Graph = enter("graph.subgraphs").undirected(self, reciprocal, deduplicate)
        return made

    @within_memory("building a graph")
    def subgraph(self, vertices: Any) -> Graph:
        """The graph of some vertices, given by their ids, and all edges among them; ids and columns stay.

        Examples
        --------
        >>> import arcflux as af
        >>> af.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"]).subgraph(["c", "a"]).edge_list()[0].tolist()
        ['c']
        """
        made: Graph = enter("graph.subgraphs").induced_subgraph(self, self._numbers(vertices))
        return made

    @within_memory("building a graph")
    def edge_subgraph(self, chosen: Any) -> Graph:
        """The graph of all vertices and some edges: `chosen` has a flag for each arc, in the order of `columns`.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges([0, 1], [1, 2], columns={"weight": [5, 1]})
        >>> g.edge_subgraph(g.columns["weight"] > 3).edges
        1
        """
        made: Graph = enter("graph.subgraphs").edge_subgraph(self, chosen)
        return made

    @property
    def weighted(self) -> bool:
        """Whether there is a column named weight."""
        return "weight" in self._columns

    @property
    def out_degrees(self) -> Array:
        """Arcs that leave each vertex, in the order of the vertex numbers."""
        return np.diff(self.out_offsets)

    @property
    def in_degrees(self) -> Array:
        """Arcs that reach each vertex, in the order of the vertex numbers."""
        return np.diff(self.in_offsets)

    def _reversed(self) -> tuple[Adjacency, dict[str, Array]]:
        if not self.directed:
            return self.out, self._columns
        if self._checks:
            self._look("in")
        with self._lock:
            if self._in is None:
                from arcflux.graph.build import gather, reverse

                offsets, neighbours, origin = reverse(*self.out, carry=bool(self._columns))
                columns = {
                    key: frozen(gather(column, origin)) for key, column in self.columns.items() if origin is not None
                }
                self._in = Adjacency(frozen(offsets), frozen(neighbours)), columns
            return self._in

    # --- in the user's ids ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many vertices, as for a graph of NetworkX's."""
        return self.vertices

    def __copy__(self) -> Graph:
        """The graph itself, which does not change."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __reduce__(self) -> Any:
        raise UsageError(
            "a graph is not pickled", expected="a store, which every process maps: g.save(folder)",
            remedy="hand the folder over, and call af.load(folder) there",
        )  # fmt: skip

    def __bool__(self) -> bool:
        """A graph is one, with or without vertices."""
        return True

    def __contains__(self, vertex: Any) -> bool:
        """Whether there is a vertex of this id."""
        try:
            return np.ndim(vertex) == 0 and bool(self.ids.find(np.atleast_1d(np.asarray(vertex)))[0] >= 0)
        except (TypeError, ValueError, OverflowError, IndexError, MemoryError):
            return False

    def degree(self, vertex: Any) -> int:
        """How many edge ends a vertex has, given by its id: directed, in and out; a self-loop counts twice.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges(["ada", "bob"], ["bob", "bob"])
        >>> g.degree("bob"), g.in_degree("bob"), g.out_degree("bob"), "eve" in g, len(g)
        (3, 2, 1, False, 2)
        """
        if self.directed:
            return self.in_degree(vertex) + self.out_degree(vertex)
        row = self._row(vertex)
        return len(row) + int(np.count_nonzero(row == self.ids.to_number(vertex)))

    def out_degree(self, vertex: Any) -> int:
        """How many edges leave a vertex, given by its id; undirected, its degree."""
        return len(self._row(vertex)) if self.directed else self.degree(vertex)

    def in_degree(self, vertex: Any) -> int:
        """How many edges reach a vertex, given by its id; undirected, its degree."""
        if not self.directed:
            return self.degree(vertex)
        offsets, v = self.into.offsets, self.ids.to_number(vertex)
        return int(offsets[v + 1] - offsets[v])

    def neighbours(self, vertex: Any) -> Array:
        """The ids of the out-neighbours of a vertex, given by its id."""
        return self.ids.to_ids(self._row(vertex))

    def in_neighbours(self, vertex: Any) -> Array:
        """The ids of the vertices with an edge to a vertex, given by its id."""
        offsets, neighbours = self.into
        v = self.ids.to_number(vertex)
        return self.ids.to_ids(neighbours[int(offsets[v]) : int(offsets[v + 1])])

    def has_edge(self, source: Any, target: Any) -> bool:
        """Whether there is an edge between two vertices, given by their ids."""
        return bool(np.any(self._row(source) == self.ids.to_numbers([target])))

    def _numbers(self, vertices: Any) -> Array:
        """The numbers of vertices, given by their ids; of none, too."""
        try:
            listed = vertices if np.ndim(array("vertices", vertices)) else list(vertices)
            return self.ids.to_numbers(listed) if len(listed) else np.empty(0, np.int64)
        except (TypeError, ValueError) as error:
            if isinstance(error, ArcfluxError):
                raise
            raise IdError(f"vertices is {shown(vertices)}", expected="a list of ids") from None

    def _row(self, vertex: Any) -> Array:
        """The numbers of the out-neighbours of a vertex, given by its id."""
        offsets, neighbours = self.out
        v = int(self.ids.to_numbers([vertex])[0])
        return neighbours[int(offsets[v]) : int(offsets[v + 1])]

    def edge_numbers(self) -> tuple[Array, Array, Array]:
        """Every edge once: source numbers, target numbers, and places in `columns`. Undirected: source <= target."""
        offsets, neighbours = self.out
        sources = np.repeat(np.arange(self.vertices, dtype=neighbours.dtype), np.diff(offsets).astype(np.int64))
        if self.directed:
            return sources, neighbours, np.arange(len(neighbours))
        places = np.flatnonzero(sources <= neighbours)
        return sources[places], neighbours[places], places

    @within_memory("listing edges")
    def edge_list(self) -> tuple[Array, Array, dict[str, Array]]:
        """Every edge once, in the user's ids: sources, targets, columns.

        Examples
        --------
        >>> import arcflux as af
        >>> [ends.tolist() for ends in af.Graph.from_edges([7, 7], [9, -1]).edge_list()[:2]]
        [[7, 7], [-1, 9]]
        """
        sources, targets, places = self.edge_numbers()
        return (
            self.ids.to_ids(sources),
            self.ids.to_ids(targets),
            {key: column[places] for key, column in self.columns.items()},
        )

    # --- comparing, saving, showing ---------------------------------------------------------------------------

    def equals(self, other: Graph) -> bool:
        """Whether the other graph has the same vertices, ids, edges and columns, in the same order and types."""
        if not isinstance(other, Graph) or (self.directed, self.vertices, list(self._columns)) != (
            other.directed,
            other.vertices,
            list(other._columns),
        ):
            return False
        pairs = [*zip(self.out, other.out, strict=True)]
        pairs += [(column, other.columns[key]) for key, column in self.columns.items()]
        same = all(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
        return same and self.ids == other.ids

    def save(self, target: str | os.PathLike[str], **options: Any) -> None:
        """Write the graph in the format that the target's suffix names; see :func:`arcflux.io.save`."""
        enter("graph.save")(self, target, **options)

    @within_memory("converting a graph")
    def to_scipy(self, column: str = "weight") -> Any:
        """The adjacency matrix as scipy.sparse.csr_array, with `column` as values."""
        return enter("graph.convert").to_scipy(self, column)

    @within_memory("converting a graph")
    def to_networkx(self) -> Any:
        """A NetworkX graph in your ids."""
        return enter("graph.convert").to_networkx(self)

    @within_memory("converting a graph")
    def to_igraph(self) -> Any:
        """An igraph graph."""
        return enter("graph.convert").to_igraph(self)

    @within_memory("converting a graph")
    def to_arrow(self) -> Any:
        """Every edge once, as a pyarrow table."""
        return enter("graph.convert").to_arrow(self)

    @within_memory("converting a graph")
    def to_pandas(self) -> Any:
        """Every edge once, as a pandas data frame."""
        return enter("graph.convert").to_pandas(self)

    @within_memory("converting a graph")
    def to_polars(self) -> Any:
        """Every edge once, as a polars data frame."""
        return enter("graph.convert").to_polars(self)

    def __repr__(self) -> str:
        return str(enter("graph.card").line(self))

    def __str__(self) -> str:
        return str(enter("graph.card").text(self))

    def _repr_html_(self) -> str:
        return str(enter("graph.card").html(self))
