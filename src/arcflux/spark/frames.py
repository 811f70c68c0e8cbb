"""Checks of a DataFrame of edges before any job: its columns exist, with types that fit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.errors import MissingExtraError, UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.io.columns import end_columns

__all__ = [
    "Columns",
    "checked_session",
    "edge_columns",
    "is_connect",
    "is_frame",
    "one_edge",
    "quoted",
    "require_spark",
    "session_of",
    "slots_of",
]

_START = "SparkSession.builder.getOrCreate()"
# Spark's type -> the type in which the packager writes it, and NumPy reads it.
_NUMBERS = {"bigint": "<i8", "int": "<i4", "smallint": "<i2", "tinyint": "|i1"}
_KINDS = {**_NUMBERS, "float": "<f4", "double": "<f8", "boolean": "|b1"}


@dataclass(frozen=True)
class Columns:
    """The columns of a frame that a graph is built from: names, and the stored type of each.

    source, target: names of the ends; values: the columns of edges, the name in the graph by that in the frame;
    id_type: Spark's type of the ends, "bigint" if they differ.
    """

    source: str
    target: str
    values: dict[str, str]
    kinds: dict[str, str]
    id_type: str

    @property
    def names(self) -> list[str]:
        """All columns, the ends first."""
        return [self.source, self.target, *(name for name in self.values if name not in (self.source, self.target))]

    def renamed(self, names: Mapping[str, str]) -> Columns:
        """The same columns of a frame with other names."""
        return Columns(
            names[self.source], names[self.target],
            {names[name]: value for name, value in self.values.items()},
            {names[name]: kind for name, kind in self.kinds.items()}, self.id_type,
        )  # fmt: skip


def require_spark() -> None:
    """Raise if PySpark is missing."""
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("pyspark", "spark", "a run inside Spark") from error


def is_frame(given: Any) -> bool:
    """Whether this is a DataFrame of Spark, classic or Connect."""
    return any(
        base.__module__.startswith("pyspark.sql") and base.__name__ == "DataFrame" for base in type(given).__mro__
    )


def is_connect(given: Any) -> bool:
    """Whether a session or frame is one of Spark Connect, which has no JVM in this process."""
    return type(given).__module__.startswith("pyspark.sql.connect")


def checked_session(session: Any) -> Any:
    """A running session, checked."""
    require_spark()
    if not hasattr(session, "createDataFrame") or not hasattr(session, "sql"):
        raise UsageError(f"session is {session!r}", expected="a SparkSession", remedy=_START)
    if not is_connect(session) and session.sparkContext._jsc is None:
        raise UsageError("the Spark session has been stopped", remedy=_START)
    return session


def slots_of(session: Any) -> int:
    """How many tasks a session runs at once, as far as known."""
    if not is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    # A client knows nothing of the cluster, but a range has as many partitions.
    return int(session.range(1 << 16).selectExpr("spark_partition_id()").distinct().count())


def session_of(frame: Any) -> Any:
    """The session of a frame."""
    if not is_frame(frame):
        raise UsageError(
            f"edges are {type(frame).__name__}", expected="a DataFrame of Spark, or the path of Parquet files",
            remedy="session.createDataFrame(...), or arcflux.load for what is not in Spark",
        )  # fmt: skip
    return checked_session(frame.sparkSession)


def edge_columns(
    frame: Any, source: str | None, target: str | None, weight: str | None, columns: Sequence[str]
) -> Columns:  # fmt: skip
    """The requested columns of a frame, checked for existence and type."""
    types = dict(frame.dtypes)
    if len(types) < len(frame.dtypes):
        names = [name for name, _ in frame.dtypes]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two columns of the frame are called {twice!r}", remedy="frame.withColumnRenamed(...)")
    if source is None and target is None:
        found = end_columns(list(types))
        if found is None:
            raise UsageError(
                f"no columns of {', '.join(types) or 'the frame'} are known to be the ends of edges",
                expected="names such as source and target, or src and dst", remedy='source="...", target="..."',
            )  # fmt: skip
        source, target = (list(types)[place] for place in found)
    if source is None or target is None:
        raise UsageError("one of source and target is missing", expected="both, or neither")
    if isinstance(columns, str):
        raise UsageError(f"columns is {columns!r}", expected="a list of names", remedy=f"columns=[{columns!r}]")
    values = {name: name for name in columns} | ({weight: "weight"} if weight is not None else {})
    for name in (source, target, *values):
        if not isinstance(name, str) or name not in types:
            raise UsageError(
                f"the frame has no column {name!r}", expected=f"one of: {', '.join(types)}",
                remedy=did_you_mean(str(name), types),
            )  # fmt: skip
    ends = [_id_kind(name, types[name]) for name in (source, target)]
    if "text" in ends and ends[0] != ends[1]:
        raise UsageError(
            f"column {source} is {types[source]} and column {target} is {types[target]}",
            expected="ids of one type: text, or whole numbers",
            remedy=f'frame.withColumn("{source}", col("{source}").cast("string"))',
        )
    kinds = {source: ends[0], target: ends[1]} | {
        name: _value_kind(name, types[name]) for name in values if name not in (source, target)
    }
    id_type = types[source] if types[source] == types[target] else "string" if "text" in ends else "bigint"
    return Columns(source, target, values, kinds, "string" if "text" in ends else id_type)


def quoted(name: str) -> str:
    """The name of a column quoted for Spark's expressions."""
    return "`" + name.replace("`", "``") + "`"


# Options of `Graph.from_edges` for the columns of a frame.
_OPTIONS = [
    name for name in inspect.signature(Graph.from_edges).parameters
    if name in ("directed", "symmetrise", "deduplicate", "drop_self_loops")
]  # fmt: skip


def one_edge(columns: Columns, options: Mapping[str, Any]) -> Graph:
    """A graph of one edge with the options for a frame: it refuses invalid options at once."""
    for name in options:
        if name not in _OPTIONS:
            raise UsageError(
                f"a graph of a frame has no option {name!r}", expected=f"one of: {', '.join(_OPTIONS)}",
                remedy=did_you_mean(name, _OPTIONS),
            )  # fmt: skip
    ids: Any = np.array(["a", "b"], object) if columns.id_type == "string" else np.array([0, 1])
    return Graph.from_edges(ids[:1], ids[1:], columns={name: np.ones(1) for name in columns.values.values()}, **options)


def _id_kind(name: str, kind: str) -> str:
    if kind == "string" or kind.startswith(("varchar", "char")):
        return "text"
    if kind not in _NUMBERS:
        raise UsageError(
            f"column {name} is {kind}", expected="ids that are whole numbers or text",
            remedy=f'frame.withColumn("{name}", col("{name}").cast("string"))',
        )  # fmt: skip
    return _NUMBERS[kind]


def _value_kind(name: str, kind: str) -> str:
    if kind not in _KINDS:
        raise UsageError(
            f"column {name} is {kind}",
            expected="numbers",
            remedy=f'frame.withColumn("{name}", col("{name}").cast("double"))',
        )
    return _KINDS[kind]
