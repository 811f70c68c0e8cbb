"""What a run gives: values per field in the user's ids, how it went superstep by superstep, and ways to keep it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import checks
from arcflux.checks import checked, real, text, wholes
from arcflux.doorways import enter
from arcflux.drawing import extent, run_picture, spark, svg
from arcflux.errors import ProgramError, UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.history import Chained, History, Recorded, Superstep, column
from arcflux.spmd.memory import within_memory
from arcflux.trace import counted

__all__ = ["Chained", "History", "Result", "Superstep", "checked_suffix", "column", "flat_table"]

Array = NDArray[Any]

# References that a summary shows.
_NAMED = 5
_SUFFIXES = (".csv", ".parquet", ".npy")


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run. ``result["rank"]`` are the values of a field, in the order of ``result.ids``.

    A field that refers to vertices (`references`, such as a parent) is shown in the user's ids as well, with -1 (text
    ids: None) where there is none; :meth:`numbers` gives it as vertex numbers.

    Examples
    --------
    >>> import arcflux as af
    >>> result = af.run(af.algorithms.BFS, af.load("star:4"), source=0)
    >>> result.to_dict("level")
    {0: 0, 1: 1, 2: 1, 3: 1}

    Of a run on parts or ranks, `where` says on how many, and `exchange` by which model these told each other what
    changed: "readers", "owners", "allreduce", "mixed", or "shared", where all workers see one memory and nothing is
    told. `notes` are what a run did otherwise than it was asked to. `totals` are those of the program after the last
    superstep, by name: numbers, or arrays; ``result.history[k].totals`` are those of superstep k. `iterations`: how
    often a program with phases was taken through them; None without phases. `edges` are the fields of edges, by name
    (:class:`~arcflux.edge_values.EdgeValues`): a row for each arc, in the order of ``graph.columns``.
    """

    name: str
    graph: Graph
    values: Mapping[str, Array]
    history: Sequence[Superstep]
    converged: bool
    seconds: float
    compile_seconds: float = 0.0
    references: frozenset[str] = frozenset()
    validator: Callable[[Result], Any] | None = field(default=None, repr=False)
    plan: Any = field(default=None, repr=False, compare=False)
    exchange: str = ""
    where: str = ""
    notes: tuple[str, ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    iterations: int | None = None
    edges: Mapping[str, Array] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.history, list):
            self.__dict__["history"] = Recorded(self.history)

    def __getitem__(self, field: str) -> Array:
        values = self.numbers(field)
        if field not in self.references:
            return values
        if (place := _no_vertex(self.graph, values)) is not None:
            raise ProgramError(
                f"{field} {self._stray(values, place)}", program=self.name,
                expected="the number of a vertex in a field of af.ref, or one below 0 for none",
                remedy=f"result.numbers({field!r}) has them as they are; keep other numbers in a field of af.i64",
            )  # fmt: skip
        return _as_ids(self.graph, values)

    def _stray(self, values: Array, place: int) -> str:
        """That a reference at a place is to no vertex."""
        owner = self.graph.ids.to_ids([place])[0]
        return f"of vertex {owner} is {values[place]}, and vertices are numbered from 0 to {self.graph.vertices - 1}"

    def keys(self) -> tuple[str, ...]:
        """The names of the fields: a result is a mapping from fields to arrays.

        Examples
        --------
        >>> import arcflux as af
        >>> levels = af.bfs("path:3", 0)
        >>> list(levels), "level" in levels, dict(levels)["level"].tolist()
        (['level', 'parent'], True, [0, 1, 2])
        """
        return tuple(self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, field: object) -> bool:
        return field in self.values

    def numbers(self, field: str) -> Array:
        """The values of a field as the run left them: vertices as numbers from 0 on."""
        if not isinstance(field, str) or field not in self.values:
            raise UsageError(f"the result has no field {field!r}", expected="one of: " + ", ".join(self.values),
                             remedy=did_you_mean(str(field), self.values))  # fmt: skip
        return self.values[field]

    def checked_by(self, validator: Callable[[Result], Any]) -> Result:
        """The same result, which :meth:`validate` checks with `validator`."""
        return self.with_changes(validator=validator)

    def with_changes(self, **changes: Any) -> Result:
        """The same result but for some of its attributes; sooner than :func:`dataclasses.replace`."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        return made

    def explain(self) -> Any:
        """What was chosen for this run and why, what was to be expected of it, and beside that what was measured.

        Predictions are by the calibration of this machine (``arcflux calibrate``), or by usual rates, and say so.
        """
        return enter("result.explain")(self)

    @within_memory("checking a result")
    def validate(self) -> Any:
        """Check the values by the rules of the algorithm that made them; a :class:`arcflux.validate.Report`.

        Examples
        --------
        >>> import arcflux as af
        >>> bool(af.algorithms.bfs(af.load("path:4"), 0).validate())
        True
        """
        if self.validator is None:
            raise UsageError(
                f"there are no rules to check {self.name} by",
                expected="the result of an algorithm with a validator, such as bfs or pagerank",
                remedy="compare with a run of debug=True, which is plain Python",
            )
        return self.validator(self)

    @property
    def ids(self) -> Array:
        """The user's ids, in the order of the values."""
        return self.graph.ids.to_ids()

    def highlights(self) -> list[tuple[str, str]]:
        """What else is worth a line to a person, each with a name; the results of applications have some.

        Examples
        --------
        >>> import arcflux as af
        >>> af.louvain(af.load("path:2")).highlights()
        [('communities', '1, the largest of 2 vertices'), ('modularity', '0.0000')]
        """
        return []

    @property
    def supersteps(self) -> int:
        """How many supersteps ran."""
        return len(self.history)

    @property
    def residual(self) -> float:
        """The residual of the last superstep."""
        return self.history[-1].residual if self.history else 0.0

    def to_numpy(self, field: str | None = None) -> Array:
        """The values of a field, or of the only one."""
        return self[self._only(field)]

    def to_dict(self, field: str | None = None) -> dict[Any, Any]:
        """Id -> value of a field, or of the only one."""
        return dict(zip(self.ids.tolist(), self[self._only(field)].tolist(), strict=True))

    def to_arrow(self) -> Any:
        """A pyarrow table: vertex, and a column for each field."""
        import pyarrow as pa

        return pa.table({"vertex": pa.array(self.ids), **{name: _column(self[name]) for name in self.values}})

    def to_pandas(self) -> Any:
        """A pandas data frame: vertex, and a column for each field."""
        from arcflux.errors import MissingExtraError

        try:
            import pandas  # noqa: F401 - that is what pyarrow takes
        except ImportError as error:
            raise MissingExtraError("pandas", "", "to_pandas") from error
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars data frame: vertex, and a column for each field."""
        from arcflux.errors import MissingExtraError

        try:
            import polars
        except ImportError as error:
            raise MissingExtraError("polars", "", "to_polars") from error
        return polars.from_arrow(self.to_arrow())

    @checked(k=wholes(0))
    def top(self, k: int = 10, field: str | None = None) -> list[tuple[Any, Any]]:
        """The `k` largest values with their ids, largest first; equal values by id order. NaN and inf are left out."""
        field = self._only(field)
        values = self.numbers(field)
        if values.ndim > 1 or field in self.references:
            raise UsageError(f"the values of {field} have no order", expected="a field of numbers")
        finite = np.flatnonzero(np.isfinite(values))
        order = finite[np.argsort(-values[finite].astype(np.float64), kind="stable")[:k]]
        return list(zip(self.graph.ids.to_ids(order).tolist(), values[order].tolist(), strict=True))

    def curve(self) -> tuple[str, list[float]]:
        """What is worth a plot, superstep by superstep: the frontier; the residual, or how many changed, if all send.

        Examples
        --------
        >>> import arcflux as af
        >>> af.algorithms.bfs(af.load("star:4"), 0).curve()
        ('frontier', [1.0, 3.0])
        """
        frontier = self.column("frontier")
        if (frontier == self.graph.vertices).all():
            for name in ("residual", "changed"):
                if (found := self.column(name)).any():
                    return name, found.astype(np.float64).tolist()
        return "frontier", frontier.astype(np.float64).tolist()

    @checked(name=text, missing=real)
    def column(self, name: str, missing: float = 0.0) -> Array:
        """A number of every superstep as an array, such as "frontier", "edges" or "seconds"; `missing`: not known.

        Examples
        --------
        >>> import arcflux as af
        >>> af.algorithms.bfs(af.load("path:4"), 0).column("frontier").tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        return column(self.history, name, missing)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the run into an .svg file: :meth:`curve` superstep by superstep, in the colours of push and pull.

        Examples
        --------
        >>> import tempfile
        >>> import arcflux as af
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     af.bfs("grid:4x4", 0).plot(f"{folder}/bfs.svg")
        ...     Path(folder, "bfs.svg").read_text().count("<rect")
        9
        """
        from arcflux.io.loaded import replacing

        target = Path(checks.path("path", path))
        if target.suffix != ".svg":
            raise UsageError(f"{target}: the suffix {target.suffix!r} names no picture", expected=".svg")
        label, values = self.curve()
        directions = [step.direction for step in self.history]
        title = f"{self.name} on {self.graph.name}" if self.graph.name else self.name
        with replacing(target) as work:
            text = run_picture(title, label, values, directions, self.column("seconds").tolist())
            work.write_text(text, encoding="utf-8")

    def save(self, path: str | os.PathLike[str], field: str | None = None) -> None:
        """Write .csv or .parquet (vertex and every field, or one) or .npy (a field, or the only one).

        A vector field is several columns of a .csv: name_0, name_1, ...
        """
        from arcflux.io.loaded import replacing

        target = checked_suffix(path)
        with replacing(target) as work:
            if target.suffix == ".npy":
                with open(work, "wb") as file:
                    np.save(file, self.to_numpy(field), allow_pickle=False)
            elif target.suffix == ".csv":
                from pyarrow import csv

                table = flat_table(self._table(field))
                with open(work, "wb") as file:  # names of fields need no quotes, which Arrow would put around them
                    file.write((",".join(table.column_names) + "\n").encode())
                    csv.write_csv(table, file, csv.WriteOptions(include_header=False))
            else:
                from pyarrow import parquet

                parquet.write_table(self._table(field), work)

    def _table(self, field: str | None) -> Any:
        return self.to_arrow() if field is None else self.to_arrow().select(["vertex", self._only(field)])

    def _only(self, field: str | None) -> str:
        if field is not None:
            self.numbers(field)
            return field
        if len(self.values) == 1:
            return next(iter(self.values))
        raise UsageError("the result has several fields", expected="one of: " + ", ".join(self.values))

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        return f"<Result {self.name}: {counted(self.supersteps, 'superstep')}, {state}, {self.seconds:.3f} s>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        if self.history:
            label, values = self.curve()
            lines.append(f"  {label:<9} {spark(values)}")
        lines += [f"  {name:<9} {self._summary(name)}" for name in self.values]
        lines += [f"  {'ran on':<9} {self.where}"] if self.where else []
        lines += [f"  {'note':<9} {said}" for said in self.notes]
        return "\n".join(lines)

    def _summary(self, name: str) -> str:
        """A field in a line: where its values go from and to, and at which vertices; of references the first ids."""
        values = self.values[name]
        if name in self.references:
            if (place := _no_vertex(self.graph, values)) is not None:
                return f"no vertex ids: that {self._stray(values, place)}"
            ids = ", ".join(map(str, _as_ids(self.graph, values[:_NAMED]).tolist()))
            return f"vertex ids: {ids}" + (", ..." if values.size > _NAMED else "") if values.size else "no vertices"
        said = f"{values.dtype}, {extent(values)}"
        finite = np.isfinite(values) if values.dtype.kind == "f" else np.ones(values.shape, np.bool_)
        if values.ndim > 1 or values.dtype == np.bool_ or not finite.any():
            return said
        most = int(np.argmax(np.where(finite, values, values[finite].min())))
        return f"{said}; most at vertex {self.graph.ids.to_ids(np.array([most]))[0]}"

    def _repr_html_(self) -> str:
        rows = [(name, escape(self._summary(name))) for name in self.values]
        if self.history:
            label, values = self.curve()
            rows.append((label, svg(f"{label}, superstep by superstep", values)))
        table = "".join(f"<tr><th>{escape(name)}</th><td>{said}</td></tr>" for name, said in rows)
        return f"<div class='arcflux-result'><b>{escape(repr(self)[1:-1])}</b><table>{table}</table></div>"


def checked_suffix(path: str | os.PathLike[str]) -> Path:
    """`path`, whose suffix has to name a format of results.

    Examples
    --------
    >>> checked_suffix("ranks.csv").name
    'ranks.csv'
    """
    target = Path(checks.path("path", path))
    if target.suffix not in _SUFFIXES:
        raise UsageError(
            f"{target}: the suffix {target.suffix!r} names no format of results",
            expected=" ".join(_SUFFIXES),
            remedy=did_you_mean(target.suffix, _SUFFIXES),
        )
    return target


def _no_vertex(graph: Graph, numbers: Array) -> int | None:
    """The place of the first number that is beyond those of vertices; None where there is none."""
    beyond = numbers >= graph.vertices
    return int(np.argmax(beyond)) if beyond.any() else None


def _as_ids(graph: Graph, numbers: Array) -> Array:
    """The ids of vertices by number; -1, or None among text, for a negative number."""
    known = numbers >= 0
    found = graph.ids.to_ids(numbers[known])
    text = found.dtype == object
    shown = np.full(numbers.size, None if text else -1, found.dtype)
    shown[known] = found
    return shown


def flat_table(table: Any) -> Any:
    """A table whose columns of lists are columns of their elements."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name, found in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(found.type):
            parts = np.array(found.to_pylist()).reshape(len(found), -1)
            columns |= {f"{name}_{k}": pa.array(part) for k, part in enumerate(parts.T)}
        else:
            columns[name] = found
    return pa.table(columns)


def _column(values: Array) -> Any:
    import pyarrow as pa

    return pa.array(list(values)) if values.ndim > 1 else pa.array(values)
