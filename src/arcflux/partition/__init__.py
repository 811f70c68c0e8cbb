"""One graph on many workers: the owner of each vertex, the part of each arc, and what parts exchange.

:func:`partition` splits a graph into :class:`~arcflux.partition.parts.Parts`. One file a partitioner: ranges.py (Lux),
grid.py (MapGraph), degree.py (HIVE), random.py, mincut.py (METIS), duplicate.py. rule.py says at which part an arc is,
cut.py takes a part's arcs out of the graph, halo.py lists what parts read of each other, and kernels.py has the loops.
statistics.py judges a split, drawing.py shows it, folder.py keeps it on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arcflux.checks import checked, text

if TYPE_CHECKING:
    from arcflux.partition.parts import Parts

__all__ = ["MOST_PARTS", "PARTITIONERS", "check_split", "partition"]

# Each is a module of this folder, with a function split(graph, k, ...) whose keywords are the partitioner's options.
# Other packages add theirs by an entry point (extensions.py): the name, and such a function.
PARTITIONERS = ("ranges", "grid", "degree", "random", "mincut", "duplicate")
# More are a slip: lists of parts are made for each.
MOST_PARTS = 1 << 16


@checked(graph=None, how=text)
def partition(graph: Any, k: int, how: str = "ranges", **options: Any) -> Parts:
    """Split a graph into `k` parts.

    Parameters
    ----------
    graph
        A graph, or anything that :func:`arcflux.load` takes.
    k
        How many parts; some may be empty.
    how
        ``"ranges"``: contiguous vertices with all their in-arcs, as many arcs each; from the offsets alone.
        ``"grid"``: sources on rows, targets on columns, equal ranges of vertices on both.
        ``"degree"``: arcs at the owner of an end that few arcs leave, so that those of hubs are scattered.
        ``"random"``: a random owner for each vertex, with its in-arcs.
        ``"mincut"``: owners by METIS, so that few arcs are between parts; needs ``pip install 'arcflux[partition]'``.
        ``"duplicate"``: owners as with ranges, and the whole graph at every part.
    **options
        Options of the partitioner: ``shares=[2, 1, 1]`` of "ranges", such as the speeds of unequal devices;
        ``seed=0`` of "random" and "mincut"; ``threshold=`` of "degree", out-arcs above which a vertex is high (8 times
        the mean).

    Examples
    --------
    >>> import arcflux as af
    >>> parts = af.partition("kron:10", 4)
    >>> [len(parts.owned(i)) for i in range(4)]
    [239, 251, 259, 275]
    >>> [parts.part(i).arcs for i in range(4)]
    [5274, 5302, 5273, 5305]
    """
    from arcflux.errors import UsageError
    from arcflux.io import load
    from arcflux.spmd.memory import within_memory

    count, split = check_split(k, how), _partitioner(how)
    known = list(split.__kwdefaults__ or {})
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise UsageError(
            f"{unknown}= is no option of the partitioner {how!r}",
            expected=", ".join(known) or "no options: it has none",
            remedy="leave it out",
        )
    with within_memory("splitting a graph"):
        made: Parts = split(load(graph), count, **options)
    return made


def check_split(k: Any, how: str) -> int:
    """The number of parts, if a graph can be split into so many by a partitioner of this name."""
    import operator

    from arcflux.errors import UsageError

    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if not 1 <= count <= MOST_PARTS:
        raise UsageError(f"k is {k!r}", expected=f"how many parts: a whole number from 1 to {MOST_PARTS:,}")
    _partitioner(how)
    return count


def _partitioner(how: str) -> Callable[..., Parts]:
    """The function that splits a graph in this way."""
    from arcflux.errors import UsageError, did_you_mean
    from arcflux.extensions import extension, extension_names

    if how in PARTITIONERS:
        built_in: Callable[..., Parts] = import_module(f"arcflux.partition.{how}").split
        return built_in
    added: Callable[..., Parts] | None = extension("arcflux.partitioners", how)
    if added is None:
        known = [*PARTITIONERS, *extension_names("arcflux.partitioners")]
        raise UsageError(
            f"there is no partitioner {how!r}",
            expected=", ".join(known),
            remedy=did_you_mean(str(how), known, "leave how= out", "'{}'"),
        )
    return added
