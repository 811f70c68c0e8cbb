"""Tables of edges: Parquet, Feather and Arrow IPC files, and any Arrow table in memory.

A row is an edge. Two columns hold its ends, found by their names or else the first two; further numeric columns are
edge columns. A table that Arcflux wrote carries, in the metadata of its schema, what rows of edges cannot say: whether
they have a direction, and which vertices have no edge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux import requirements
from arcflux.errors import FormatError, GraphError, IdError, MissingExtraError, SpaceError, UsageError
from arcflux.graph.edges import Edges, checked_columns
from arcflux.graph.ids import RangeIds, as_ids
from arcflux.io.columns import end_columns
from arcflux.io.headed import vertex_range
from arcflux.io.loaded import Loaded, existing, replacing
from arcflux.spmd.space import afford, available
from arcflux.trace import readable

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["library", "read", "read_table", "to_arrow", "to_pandas", "to_polars", "write"]

Array = NDArray[Any]

_METADATA = b"arcflux"


def read(
    path: Path,
    *,
    threads: int | None = None,
    source: str | None = None,
    target: str | None = None,
    columns: Sequence[str] | None = None,
) -> Loaded:
    """The edges of a .parquet, .feather or .arrow file; options as in :func:`read_table`."""
    import pyarrow as pa

    existing(path)
    try:
        table = _open_table(path, threads)
        table.validate(full=True)  # offsets stay inside the file's own bytes, and text is UTF-8
    except SpaceError:
        raise
    except MemoryError as error:
        raise SpaceError(f"{path}: there is no memory for what is in the file: {error}") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(
            f"Arrow cannot read it: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            path=path,
            expected="a Parquet file" if path.suffix.lower() == ".parquet" else "an Arrow IPC file or stream",
            remedy="fetch the file again, or check that its suffix names its format",
        ) from error
    return read_table(table, path=path, source=source, target=target, columns=columns)


def _open_table(path: Path, threads: int | None) -> Any:
    """The table in a Parquet file, in Arrow's file format (also called Feather), or in its stream format."""
    import pyarrow as pa

    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        rows = pq.ParquetFile(path).metadata
        needed = max(rows.num_rows * 8 * min(rows.num_columns, 2), _unpacked_bytes(rows))
        afford(needed, f"{path}: the table of {rows.num_rows:,} rows")
        return pq.read_table(path, use_threads=threads != 1, partitioning=None)
    pool = pa.system_memory_pool()  # Arrow's own keeps the address space that it once had, for whatever comes next
    with pa.memory_map(str(path)) as file:
        if file.read(6) == b"ARROW1":
            batches = pa.ipc.open_file(file, memory_pool=pool)
            every: Iterable[Any] = map(batches.get_batch, range(batches.num_record_batches))
        else:
            file.seek(0)
            every = batches = pa.ipc.open_stream(file, memory_pool=pool)
        return pa.Table.from_batches(_affordable(every, path, pool), batches.schema)


def _affordable(batches: Iterable[Any], path: Path, pool: Any) -> Iterator[Any]:
    """Batches one by one, while there is memory in the pool for what was packed in them; what was not is mapped."""
    room, before = available(), pool.bytes_allocated()
    for batch in batches:
        if (size := pool.bytes_allocated() - before) > room:
            raise SpaceError(
                f"{path}: {readable(size)} were unpacked so far, and there were {readable(room)} of memory for them",
                remedy="write the file without packing, which is mapped, or use a machine with more memory",
            )
        yield batch


def _unpacked_bytes(rows: Any) -> int:
    """The bytes of a Parquet file's columns before they were packed."""
    return sum(max(0, rows.row_group(k).total_byte_size) for k in range(rows.num_row_groups))


def read_table(
    table: Any,
    *,
    path: str | Path = "",
    source: str | None = None,
    target: str | None = None,
    columns: Sequence[str] | None = None,
) -> Loaded:
    """The edges of a pyarrow Table.

    Parameters
    ----------
    source, target
        The columns with the ends of an edge; found by name when None.
    columns
        The edge columns to keep; all numeric ones when None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> loaded = read_table(pa.table({"from": [1, 2], "to": [2, 3], "weight": [0.5, 1.5], "note": ["a", "b"]}))
    >>> loaded.edges.source.tolist(), list(loaded.edges.columns)
    ([1, 2], ['weight'])
    >>> loaded.assumptions[0]
    "an edge goes from column 'from' to column 'to'"
    """
    requirements.load("pyarrow")
    ends = _ends(table, path, source, target)
    said = [f"an edge goes from column {ends[0]!r} to column {ends[1]!r}"]
    kept = _edge_columns(table, path, ends, columns, said)
    from_ids, to_ids = (_ids(table[name], name, path) for name in ends)
    loaded = Loaded(Edges(from_ids, to_ids, checked_columns(kept, len(table))), True, None, said)
    _apply_metadata(loaded, table.schema.metadata or {}, path)
    said.append("parallel edges are kept")
    return loaded


def _ends(table: Any, path: str | Path, source: str | None, target: str | None) -> tuple[str, str]:
    try:
        names: list[str] = table.column_names
    except UnicodeDecodeError as error:
        raise FormatError("the name of a column is not UTF-8 text", path=path) from error
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if len(names) < 2 or repeated is not None:
        raise FormatError(
            f"the table has {len(names)} columns" + (f", two named {repeated!r}" if repeated is not None else ""),
            path=path,
            expected="columns source and target, each name once",
        )
    if source is not None or target is not None:
        if source not in names or target not in names or source == target:
            raise UsageError(
                f"source={source!r}, target={target!r}", expected="two of the columns " + ", ".join(map(repr, names))
            )
        return source, target
    one, other = end_columns(names) or (0, 1)
    return names[one], names[other]


def _ids(column: Any, name: str, path: str | Path) -> Array:
    """The ids of a column: integers, or text of any of Arrow's kinds."""
    import pyarrow as pa

    if not len(column):
        return np.empty(0, np.int64)
    column = _decoded(column)
    _check_complete(column, name, path)
    if pa.types.is_integer(column.type):
        ids = as_ids(column.to_numpy())
        return ids.astype(np.int64) if ids.dtype == np.uint64 else ids
    if pa.types.is_large_string(column.type):
        return as_ids(column.to_numpy().astype(object))
    raise IdError(
        f"column {name!r} holds {column.type}, and that cannot be a vertex id",
        expected="integers or text",
        remedy="convert the column first, or name others with source= and target=",
    )


def _check_complete(column: Any, name: str, path: str | Path) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise FormatError(
            f"row {row:,} (the first is row 0) has nothing in column {name!r}",
            path=path,
            expected="a value in every row",
            remedy="fill the gaps or drop the rows; edge columns are chosen with columns=[...]",
        )


def _decoded(column: Any) -> Any:
    """The column without a dictionary, and text of any kind as large_string."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return pa.chunked_array([_decoded(chunk.dictionary).take(chunk.indices) for chunk in column.chunks])
    text = pa.types.is_string(column.type) or pa.types.is_string_view(column.type)
    if not text:
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowNotImplementedError:  # of views, which polars hands out, in pyarrow 16
        copied = pa.array(column.to_pylist(), pa.large_string())
        return pa.chunked_array([copied]) if isinstance(column, pa.ChunkedArray) else copied


def _edge_columns(
    table: Any, path: str | Path, ends: tuple[str, str], wanted: Sequence[str] | None, said: list[str]
) -> dict[str, Array]:
    """The numeric columns that are wanted; those left out are said."""
    names = [name for name in table.column_names if name not in ends]
    if wanted is not None:
        missing = next((name for name in wanted if name not in names), None)
        if isinstance(wanted, str) or missing is not None:
            raise UsageError(f"columns={wanted!r}", expected="a list of some of " + ", ".join(map(repr, names)))
        names = list(wanted)
    kept = {name: _numbers(table[name], name, path) for name in names if wanted is not None or _usable(table, name)}
    said += [f"column {name} ({values.dtype})" for name, values in kept.items()]
    left = ", ".join(repr(name) for name in names if name not in kept)
    said += [f"left out, being text or not named like a variable: {left}"] if left else []
    return kept


def _usable(table: Any, name: str) -> bool:
    import pyarrow as pa

    kind = table.schema.field(name).type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    # pandas keeps the row labels of a data frame under such a name.
    return (numeric or pa.types.is_boolean(kind)) and name.isidentifier() and not name.startswith("__index_level_")


def _numbers(column: Any, name: str, path: str | Path) -> Array:
    """An edge column as NumPy sees it: nothing missing, and of a type that compiled code knows."""
    import pyarrow as pa

    _check_complete(column, name, path)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values: Array = column.to_numpy()
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _apply_metadata(loaded: Loaded, metadata: dict[bytes, bytes], path: str | Path) -> None:
    """What the table itself says, if Arcflux wrote it; else the assumption."""
    if _METADATA not in metadata:
        loaded.assumptions.append("directed: a row is one direction (directed=False reads both)")
        return
    try:
        stated = json.loads(metadata[_METADATA])
        loaded.directed = bool(stated["directed"])
        if "first" in stated:
            loaded.vertices = vertex_range(int(stated["first"]), int(stated["vertices"]), str(path))
        elif stated["isolated"]:
            alone = as_ids(np.array(stated["isolated"], object if isinstance(stated["isolated"][0], str) else np.int64))
            loaded.vertices = np.concatenate([loaded.edges.source, loaded.edges.target, alone])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise FormatError(
            "the metadata 'arcflux' of the schema is damaged", path=path, remedy="remove that key from the metadata"
        ) from error


def to_arrow(graph: Graph) -> Any:
    """Every edge once as a pyarrow Table: source, target, and the edge columns.

    Examples
    --------
    >>> import arcflux as af
    >>> to_arrow(af.Graph.from_edges(["a"], ["b"], columns={"weight": [2]})).to_pylist()
    [{'source': 'a', 'target': 'b', 'weight': 2}]
    """
    import pyarrow as pa

    source, target, columns = graph.edge_list()
    if {"source", "target"} & set(columns):
        raise GraphError("an edge column is named source or target, as the ends are", remedy="give it another name")
    kind = pa.large_string() if graph.ids.kind == "text" else pa.int64()
    table = pa.table({"source": pa.array(source, kind), "target": pa.array(target, kind), **columns})
    stated: dict[str, Any] = {"directed": graph.directed}
    if isinstance(graph.ids, RangeIds):
        stated |= {"first": graph.ids.base, "vertices": graph.vertices}
    else:
        touched = graph.out_degrees > 0
        touched[graph.out.neighbours] = True
        stated["isolated"] = graph.ids.to_ids(np.flatnonzero(~touched)).tolist()
    return table.replace_schema_metadata({_METADATA: json.dumps(stated)})


def library(name: str, purpose: str, extra: str = "") -> Any:
    """An optional package, imported; `extra` is the one of Arcflux that installs it."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(name, extra, purpose) from error


def to_pandas(graph: Graph) -> Any:
    """Every edge once as a pandas.DataFrame: source, target, and the edge columns."""
    library("pandas", "to_pandas")
    return to_arrow(graph).to_pandas()


def to_polars(graph: Graph) -> Any:
    """Every edge once as a polars.DataFrame: source, target, and the edge columns."""
    return library("polars", "to_polars").from_arrow(to_arrow(graph))


def write(graph: Graph, path: Path) -> None:
    """Write the table of a graph's edges: Parquet for .parquet, an Arrow IPC file for .feather and .arrow."""
    import pyarrow as pa

    table = to_arrow(graph)
    with replacing(path) as work:
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, work, compression="zstd")
        else:
            packing = "lz4" if path.suffix.lower() == ".feather" else None
            with pa.ipc.new_file(str(work), table.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as out:
                out.write_table(table)
