"""The arguments shared by checks, converted to arrays by vertex number, or an error that says what to do.

A vertex without a parent has NOBODY; one whose parent is not in the graph has a STRANGER. Internally distances are
float64, with infinity for an unreached vertex, also for levels: a breadth-first search is a shortest path with weights
of 1.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array, shown
from arcflux.errors import UsageError, WeightError
from arcflux.spmd.memory import frozen

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = [
    "NOBODY",
    "STRANGER",
    "arc",
    "checked_tolerance",
    "flags",
    "labels",
    "lengths",
    "numbers_of",
    "parents",
    "reals",
    "rows_for_searches",
    "source_of",
    "unknown_choice",
    "user_id",
    "weights",
    "wholes",
]

Array = NDArray[Any]

_LARGEST = np.uint64((1 << 63) - 1)
NOBODY = -1
STRANGER = -2


def wholes(name: str, given: Any, size: int) -> Array:
    """`given` as int64[size].

    Examples
    --------
    >>> wholes("level", [0, 1], 2).dtype
    dtype('int64')
    """
    values = _sized(name, given, size)
    if values.dtype.kind not in "iu" and size:
        bad = " with NaN" if values.dtype.kind == "f" and np.isnan(values).any() else ""
        raise UsageError(
            f"{name} holds {values.dtype}{bad}",
            expected="integers",
            remedy=f"{name}.astype('int64'), once every value is a whole number",
        )
    # A number beyond int64 becomes the largest int64, instead of turning negative.
    return (np.minimum(values, _LARGEST) if values.dtype == np.uint64 else values).astype(np.int64)


def reals(name: str, given: Any, size: int) -> Array:
    """`given` as float64[size]."""
    values = _sized(name, given, size)
    if values.dtype.kind not in "iuf" and size:
        raise UsageError(f"{name} holds {values.dtype}", expected="numbers", remedy=f"{name}.astype('float64')")
    if values.dtype.kind in "iu" and size and max(int(values.max()), -int(values.min())) > 1 << 53:
        raise UsageError(
            f"{name} holds integers beyond 2^53, which are not compared exactly",
            expected="smaller integers, or floats with inf for a vertex that is not reached",
        )
    return values.astype(np.float64)


def flags(name: str, given: Any, size: int) -> Array:
    """`given` as bool[size]; 1 and 0 count as True and False.

    Examples
    --------
    >>> flags("inside", [1, 0], 2).tolist()
    [True, False]
    """
    values = _sized(name, given, size)
    if size and values.dtype != np.bool_ and not (values.dtype.kind in "iu" and np.isin(values, (0, 1)).all()):
        raise UsageError(f"{name} holds {values.dtype}", expected="True or False for each")
    return values.astype(np.bool_)


def labels(name: str, given: Any, size: int) -> Array:
    """`given` as an array of integers or text, one for each vertex."""
    values = _sized(name, given, size)
    if values.dtype.kind in "iuUTb" or not size:
        return values
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        return values.astype(str)
    raise UsageError(f"{name} holds {values.dtype}", expected="integers or text", remedy="number the labels first")


def _sized(name: str, given: Any, size: int) -> Array:
    values = np.asarray(array(name, given))
    if values.shape != (size,):
        raise UsageError(
            f"{name} has shape {values.shape}",
            expected=f"({size},): one value for each vertex, in the order of graph.ids.to_ids()",
            remedy=f"leave no vertex out of {name}",
        )
    return values


def graph(name: str, given: Any) -> Any:
    """Check an argument that is another graph."""
    if not hasattr(given, "out") or not hasattr(given, "arcs"):
        raise UsageError(f"{name} is {shown(given)}", expected="a graph")
    return given


def rows_for_searches(graph: Graph) -> tuple[Array, Array]:
    """Neighbours and offsets for scipy.sparse.csgraph, with 32 bits where they suffice.

    With 64 bits scipy 1.11 finds no components, without an error, and refuses to search.
    """
    offsets, neighbours = graph.out
    index = np.int32 if max(graph.vertices, graph.arcs) < 1 << 31 else np.int64
    return neighbours.astype(index), offsets.astype(index)


def user_id(graph: Graph, number: Any) -> Any:
    """The user's id of one vertex number."""
    return graph.ids.to_ids([int(number)]).tolist()[0]


def arc(graph: Graph, place: int) -> tuple[int, int]:
    """The source and the target number of the arc at a place of `graph.out`."""
    source = np.searchsorted(graph.out.offsets, np.uint64(place), side="right") - 1
    return int(source), int(graph.out.neighbours[place])


def source_of(graph: Graph, source: Any) -> Array:
    """The number of one vertex, given by its id: int64[1]."""
    if np.ndim(array("source", source)) or source is None:
        raise UsageError(f"source is {source!r}", expected="the id of one vertex")
    return numbers_of(graph, [source])


def numbers_of(graph: Graph, sources: Any) -> Array:
    """The numbers of vertices, given by their ids: int64[sources]."""
    if np.ndim(array("sources", sources)) != 1:
        raise UsageError(f"sources is {sources!r}", expected="a list of vertex ids", remedy="[source] for a single one")
    return graph.ids.to_numbers(sources).astype(np.int64) if len(sources) else np.empty(0, np.int64)


def parents(graph: Graph, given: Any, numbers: bool) -> Array:
    """The parents as vertex numbers, NOBODY or STRANGER: int64[vertices]."""
    size = graph.vertices
    if numbers:
        numbers_of_ids = wholes("parent", given, size)
        return np.where((numbers_of_ids >= NOBODY) & (numbers_of_ids < size), numbers_of_ids, STRANGER)
    values = _sized("parent", given, size)
    if graph.ids.kind == "text":
        missing = _nameless(values)
    else:
        if graph.ids.find([NOBODY])[0] >= 0:
            raise UsageError(
                "-1 is the id of a vertex, so it cannot mean a vertex that is not reached",
                expected="parents as vertex numbers, -1 where there is none",
                remedy="numbers=True, with such parents; graph.ids.to_numbers(ids) gives the numbers of ids",
            )
        values = wholes("parent", values, size)
        missing = values == NOBODY
    numbers_of_ids = graph.ids.find(values)
    return np.where(missing, NOBODY, np.where(numbers_of_ids < 0, STRANGER, numbers_of_ids))


def _nameless(values: Array) -> Array:
    """A mask of the Nones in an array of text."""
    if values.dtype.kind in "UT":
        return np.zeros(len(values), bool)
    missing = np.fromiter((value is None for value in values), bool, len(values))
    if values.dtype.kind != "O" or not all(isinstance(value, str) for value in values[~missing]):
        raise UsageError(
            f"parent holds {values.dtype}, and the graph's ids are text",
            expected="text, None for a vertex that is not reached",
            remedy="numbers=True when parents are vertex numbers",
        )
    return missing


def weights(graph: Graph, name: str | None) -> Array | None:
    """The edge column `name`, checked to hold finite numbers from 0 on; None when every edge counts 1."""
    if name is None:
        return None
    if name not in graph.columns:
        others = ", ".join(graph.columns) or "none"
        raise WeightError(
            f"the graph has no edge column {name!r}",
            expected=f"one of its columns: {others}",
            remedy=_other_weight(graph, name),
        )
    column = graph.columns[name]
    if column.dtype.kind in "if":
        wrong = ~((column >= 0) & (column < np.inf)) if column.dtype.kind == "f" else column < 0
        if wrong.any():
            raise _bad_weight(graph, name, int(np.argmax(wrong)))
    return frozen(column)


def lengths(graph: Graph, name: str | None) -> Array | None:
    """As :func:`weights`; also checks that a path through all vertices has a finite length."""
    column, most = weights(graph, name), max(1, graph.vertices - 1)
    if column is not None and not np.isfinite(float(column.max(initial=0)) * most):
        raise WeightError(
            f"the largest value of the column {name!r} is {column.max()}, and lengths of paths may be no floats",
            expected=f"at most {np.finfo(np.float64).max / most:.3g}, for paths of {most:,} edges",
            remedy="divide all by the same number, or drop edges that no path should take",
        )
    return column


def _other_weight(graph: Graph, name: str) -> str:
    """A suggestion in place of a missing column: a similar name, or the only column of numbers."""
    near = get_close_matches(name, graph.columns, n=1) or (list(graph.columns) if len(graph.columns) == 1 else [])
    other = f"weight='{near[0]}', or " if near else ""
    return f"{other}weight=None when every edge counts 1"


def _bad_weight(graph: Graph, name: str, place: int) -> WeightError:
    ends = " -> ".join(str(user_id(graph, end)) for end in arc(graph, place))
    return WeightError(
        f"the {name} of edge {ends} is {graph.columns[name][place]}",
        expected="a finite number, 0 or more",
        remedy=f"drop or correct such edges, or name another column than {name!r}",
    )


def unknown_choice(name: str, given: Any, choices: tuple[Any, ...]) -> UsageError:
    """The error for an option that is none of its choices."""
    return UsageError(f"{name} is {given!r}", expected="one of " + ", ".join(map(repr, choices)))


def checked_tolerance(tolerance: float) -> float:
    """A tolerance that is a finite number from 0 on."""
    if not 0 <= tolerance < np.inf:
        raise UsageError(f"tolerance is {tolerance!r}", expected="a finite number, 0 or more, such as 1e-4")
    return float(tolerance)
