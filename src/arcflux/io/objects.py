"""Graphs of other libraries, in and out: NumPy, scipy.sparse, NetworkX, igraph, pandas, polars, and anything Arrow.

An object is recognised by the name of the library that its class comes from, so that no library is imported here that
the object has not brought along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import checked, shown, text
from arcflux.errors import FormatError, GraphError, IdError, UsageError, WeightError
from arcflux.graph.edges import Edges, checked_columns
from arcflux.graph.ids import RangeIds, as_ids
from arcflux.io.loaded import Loaded
from arcflux.io.tables import library, read_table, to_arrow, to_pandas, to_polars

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["read_object", "to_arrow", "to_igraph", "to_networkx", "to_pandas", "to_polars", "to_scipy"]

Array = NDArray[Any]

_ACCEPTED = (
    "a path, a generator spec, a NumPy array of shape (edges, 2 or 3), a tuple (sources, targets[, weights]), a list "
    "of (u, v[, weight]), scipy.sparse, NetworkX, igraph, a data frame, or anything with __arrow_c_stream__"
)
_SAID = ["directed: an edge is one direction (directed=False reads both)", "parallel edges are kept"]


def read_object(source: Any, /, **reading: Any) -> Loaded:
    """The edges of an object of another library.

    Tables take the options of :func:`arcflux.io.tables.read_table`; NetworkX and igraph take `columns`, the names of
    the edge attributes to keep.

    Examples
    --------
    >>> loaded = read_object([("ada", "bob", 3), ("bob", "eve", 1)])
    >>> loaded.edges.source.tolist(), loaded.edges.columns["weight"].tolist()
    (['ada', 'bob'], [3, 1])
    """
    reader = _reader(source)
    if reader is None:
        raise UsageError(f"a {type(source).__module__}.{type(source).__name__} is no graph", expected=_ACCEPTED)
    known = reader.__kwdefaults__ or {}
    unknown = next((name for name in reading if name not in known), None)
    if unknown is not None:
        raise UsageError(
            f"{unknown}= is no option for a {type(source).__name__}", expected=", ".join(known) or "no options"
        )
    return reader(source, **reading)


def _reader(source: Any) -> Callable[..., Loaded] | None:
    libraries = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    for name, attribute, reader in (
        ("scipy", "tocoo", _from_scipy),
        ("networkx", "adjacency", _from_networkx),
        ("igraph", "get_edgelist", _from_igraph),
        ("pandas", "columns", _from_table),
    ):
        if name in libraries and hasattr(source, attribute):
            return reader
    for kind, plain in ((np.ndarray, _from_array), (tuple, _from_ends), (list, _from_list)):
        if isinstance(source, kind):
            return plain
    return _from_table if hasattr(source, "__arrow_c_stream__") else None


# --- arrays and lists -----------------------------------------------------------------------------------------------


def _from_array(array: Array) -> Loaded:
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise FormatError(
            f"the array has the shape {array.shape}",
            expected="(edges, 2) or (edges, 3): source, target, and a weight",
            remedy="a matrix of a graph goes in as scipy.sparse.csr_array(matrix)",
        )
    ends = array[:, :2]
    if array.dtype.kind == "f" and array.shape[1] == 3:
        # The only way for an array to hold weights with fractions; its ids have to be whole all the same.
        if not (np.all(np.abs(ends) <= 2.0**53) and np.all(ends == np.floor(ends))):
            raise IdError("vertex ids in the array have fractions", expected="whole numbers up to 2^53")
        ends = ends.astype(np.int64)
    weights = array[:, 2] if array.shape[1] == 3 else None
    said = "the array's columns are source and target" + (", then weight" if weights is not None else "")
    return _edges(ends[:, 0], ends[:, 1], weights, said)


def _from_ends(ends: tuple[Any, ...]) -> Loaded:
    if len(ends) not in (2, 3) or any(isinstance(end, (tuple, str)) or not hasattr(end, "__len__") for end in ends):
        raise UsageError(
            f"a tuple of {len(ends)} {type(ends[0]).__name__ if ends else 'things'} is ambiguous or no graph",
            expected="(sources, targets) or (sources, targets, weights), each an array or a list",
            remedy="pass edges as a list: [(u, v), ...]",
        )
    return _edges(ends[0], ends[1], ends[2] if len(ends) == 3 else None, "the tuple holds sources, then targets")


def _from_list(edges: list[Any]) -> Loaded:
    width = len(edges[0]) if edges and isinstance(edges[0], (tuple, list)) else 2
    for place, edge in enumerate(edges):
        if not isinstance(edge, (tuple, list)) or len(edge) != width or width not in (2, 3):
            raise FormatError(
                f"item {place:,} of the list is {str(edge)[:60]!r}",
                expected="(u, v) everywhere, or (u, v, weight) everywhere",
                remedy="two arrays go in as a tuple: (sources, targets)",
            )
    weights = [edge[2] for edge in edges] if width == 3 else None
    return _edges([edge[0] for edge in edges], [edge[1] for edge in edges], weights, "each item of the list is an edge")


def _edges(source: Any, target: Any, weights: Any, said: str) -> Loaded:
    ends = _ids(source), _ids(target)
    if len(ends[0]) != len(ends[1]):
        raise GraphError(f"{len(ends[0]):,} sources and {len(ends[1]):,} targets", expected="as many of each")
    columns = {}
    if weights is not None:
        values = np.asarray(weights) if hasattr(weights, "__array__") else np.array(weights, object)
        numbers = _numeric(values.ravel()) if values.dtype == object else values
        if numbers is None:
            raise GraphError("some weights are not numbers", expected="a number for each edge")
        columns["weight"] = numbers
    return Loaded(Edges(*ends, checked_columns(columns, len(ends[0]))), True, None, [said, *_SAID])


def _ids(values: Any) -> Array:
    """Ids from any sequence. NumPy would turn a list of mixed types into text, so lists are looked at first."""
    if hasattr(values, "__array__"):
        values = np.asarray(values)
        if values.dtype != object:
            return as_ids(values)
    listed = list(values)
    kinds = {str if isinstance(v, str) else int if isinstance(v, np.integer) else type(v) for v in listed}
    if kinds == {str}:
        return np.array(listed, object)
    if kinds <= {int}:
        try:
            return np.array(listed, np.int64)
        except OverflowError as error:
            raise IdError(
                "a vertex id is beyond 64 bits", expected="integers from -2^63 to 2^63 - 1", remedy="pass ids as text"
            ) from error
    raise IdError(
        f"vertex ids are of type {', '.join(sorted(kind.__name__ for kind in kinds))}",
        expected="all integers, or all text",
        remedy="number them first; for NetworkX: networkx.convert_node_labels_to_integers(graph, label_attribute='id')",
    )


# --- scipy, NetworkX, igraph ------------------------------------------------------------------------------------------


def _from_scipy(matrix: Any) -> Loaded:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FormatError(
            f"the matrix has the shape {matrix.shape}",
            expected="a square one: a row and a column for each vertex",
            remedy="rows and columns as two kinds of vertices: scipy.sparse.block_array([[None, A], [A.T, None]])",
        )
    entries = matrix.tocoo()
    columns = {} if entries.dtype == np.bool_ else {"weight": entries.data}
    said = ["an entry (i, j) is an edge from i to j" + (" with its value as weight" if columns else ""), *_SAID]
    edges = Edges(entries.row, entries.col, checked_columns(columns, len(entries.row)))
    return Loaded(edges, True, matrix.shape[0], said)


def _from_networkx(graph: Any, *, columns: Sequence[str] | None = None) -> Loaded:
    nodes = _ids(graph.nodes)
    edges = list(graph.edges(data=True))
    pairs = [edge[:2] for edge in edges]
    names = dict.fromkeys(name for _, _, attributes in edges for name in attributes)
    said = ["directed" if graph.is_directed() else "undirected"]
    if graph.is_multigraph():
        said.append("parallel edges are kept, their keys left out")
    kept = _attributes({name: [edge[2].get(name) for edge in edges] for name in names}, columns, pairs, said)
    source, target = (np.array([pair[side] for pair in pairs], nodes.dtype) for side in (0, 1))
    return Loaded(Edges(source, target, kept), graph.is_directed(), nodes, said)


def _from_igraph(graph: Any, *, columns: Sequence[str] | None = None) -> Loaded:
    pairs = graph.get_edgelist()
    said = ["directed" if graph.is_directed() else "undirected", "parallel edges are kept"]
    kept = _attributes({name: graph.es[name] for name in graph.es.attributes()}, columns, pairs, said)
    ends, vertices = np.array(pairs, np.int64).reshape(-1, 2), graph.vcount()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else []
    if names and len(set(names)) == len(names):
        vertices = _ids(names)
        ends = vertices[ends]
        said.append("the vertex attribute name holds the ids")
    elif names:
        said.append("the vertex attribute name repeats: the ids are igraph's numbers")
    return Loaded(Edges(ends[:, 0], ends[:, 1], kept), graph.is_directed(), vertices, said)


def _attributes(
    attributes: Mapping[str, list[Any]], wanted: Sequence[str] | None, edges: Sequence[Any], said: list[str]
) -> dict[str, Array]:
    """Edge attributes as columns: those that are wanted, else all that are numbers on every edge."""
    missing = next((name for name in wanted or () if name not in attributes), None)
    if (missing is not None and edges) or isinstance(wanted, str):
        raise UsageError(f"columns={wanted!r}", expected="a list of some of " + ", ".join(map(repr, attributes)))
    kept: dict[str, Array] = {}
    for name in attributes if wanted is None else wanted:
        values = attributes.get(name, [])
        column = _numeric([value for value in values if value is not None])
        if column is None or not isinstance(name, str) or not name.isidentifier():
            if wanted is not None:
                raise GraphError(f"the edge attribute {name!r} is no number, or not named like a variable")
            said.append(f"left out, being no number or not named like a variable: {name!r}")
        elif len(column) < len(values):
            raise FormatError(
                f"the edge {edges[values.index(None)]} has no attribute {name!r}, and other edges do",
                expected="a value on every edge",
                remedy="set it everywhere, or choose attributes with columns=[...]",
            )
        else:
            kept[name] = column
    said += [f"column {name} ({column.dtype})" for name, column in kept.items()]
    return checked_columns(kept, len(edges))


def _numeric(values: Iterable[Any]) -> Array | None:
    """Python numbers as an array; None when some are no numbers, or too large for one."""
    listed = list(values)
    if not all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in listed):
        return None
    column = np.array(listed)
    return column if column.dtype.kind in "iufb" else None


# --- tables ----------------------------------------------------------------------------------------------------------


def _from_table(
    frame: Any, *, source: str | None = None, target: str | None = None, columns: Sequence[str] | None = None
) -> Loaded:
    import pyarrow as pa

    pandas = hasattr(frame, "iloc")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False) if pandas else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise FormatError(
            f"Arrow cannot read a {type(frame).__name__}: {str(error).partition(chr(10))[0]}",
            expected="columns source and target, each of one type",
            remedy="convert columns of mixed types, or drop them",
        ) from error
    return read_table(table, source=source, target=target, columns=columns)


# --- and out again ---------------------------------------------------------------------------------------------------


@checked(column=text)
def to_scipy(graph: Graph, column: str = "weight") -> Any:
    """The matrix of a graph as scipy.sparse.csr_array: rows and columns are vertex numbers, in the order of the ids.

    Values are the edge column; True, when there is no column `weight`. Parallel edges are entries of their own, which
    scipy adds up where it meets them.
    """
    from scipy.sparse import csr_array

    offsets, neighbours = graph.out
    if column != "weight" and column not in graph.columns:
        known = ", ".join(graph.columns) or "none"
        raise WeightError(f"the graph has no edge column {shown(column)}", expected=f"one of its columns: {known}")
    values = graph.columns[column].copy() if column in graph.columns else np.ones(graph.arcs, np.bool_)
    index = np.int32 if max(graph.vertices, graph.arcs) < 1 << 31 else np.int64
    shape = (graph.vertices, graph.vertices)
    return csr_array((values, neighbours.astype(index), offsets.astype(index)), shape=shape)


def to_networkx(graph: Graph) -> Any:
    """A networkx graph of the user's ids: Graph or DiGraph, or their Multi kinds when edges are parallel."""
    nx = library("networkx", "to_networkx", "networkx")
    source, target, columns = graph.edge_list()
    ends = list(zip(source.tolist(), target.tolist(), strict=True))
    kinds = {False: (nx.Graph, nx.MultiGraph), True: (nx.DiGraph, nx.MultiDiGraph)}
    result = kinds[graph.directed][len(set(ends)) < len(ends)]()
    result.add_nodes_from(graph.ids.to_ids().tolist())
    rows = zip(*(values.tolist() for values in columns.values()), strict=True) if columns else [()] * len(ends)
    names = list(columns)
    result.add_edges_from((*end, dict(zip(names, row, strict=True))) for end, row in zip(ends, rows, strict=True))
    return result


def to_igraph(graph: Graph) -> Any:
    """An igraph.Graph; ids other than 0 .. n-1 are its vertex attribute name."""
    igraph = library("igraph", "to_igraph")
    source, target, place = graph.edge_numbers()
    ends = np.stack([source, target], axis=1).tolist()
    result = igraph.Graph(n=graph.vertices, edges=ends, directed=graph.directed)
    for name, values in graph.columns.items():
        result.es[name] = values[place].tolist()
    if not (isinstance(graph.ids, RangeIds) and graph.ids.base == 0):
        result.vs["name"] = graph.ids.to_ids().tolist()
    return result
