"""The form of a program that agent and daemon share: its kernels for triplets, and the layout of blocks in a chunk.

Both sides compute the same layout from the same program, so that it is never sent. A chunk begins with a few integers
(how many triplets, vertices and bytes it has, which block it is, how long it took), followed by the arrays.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache
from arcflux.compile.check.tuples import TUPLES
from arcflux.compile.cpu.triplets import applied_fields, can_be_triplets, generated_fields, knows, triplet_source
from arcflux.compile.lower import Lowered, lower
from arcflux.compile.pieces.source import edge_reads
from arcflux.engine.totals import identity
from arcflux.errors import ProgramError, UsageError
from arcflux.program import FieldType, Program, vertex
from arcflux.spmd.pool import run as launch

__all__ = ["HEADER", "OPERATIONS", "WORDS", "Column", "Template"]

Array = NDArray[Any]
Views: TypeAlias = dict[str, Array]

OPERATIONS = ("start", "gen", "merge", "apply")
# Words at the beginning of a chunk: triplets or vertices to process, vertices of the block, the number of the block,
# and results of the device: nanoseconds, and how many vertices changed.
HEADER = 8
COUNT, VERTICES, BLOCK, NANOSECONDS, CHANGED = range(5)
_ALIGNED = 64
WORDS = re.compile(r"def triplet_(\w+)\((.*)\):")


class Column(NamedTuple):
    """An array of a block: its name, its type, its rows, and the length of its vectors."""

    name: str
    dtype: np.dtype[Any]
    rows: int
    length: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes, rounded up so that the next one is aligned."""
        return -(-self.rows * (self.length or 1) * self.dtype.itemsize // _ALIGNED) * _ALIGNED


class Template:
    """The kernels of a program for blocks, their arguments, and the arrays of each operation's block.

    Parameters
    ----------
    program
        With values of all its parameters except vertices, whose numbers are in `numbers`.
    columns
        The types of the columns of edges, by name.
    counts
        Vertices, edges and arcs of the whole graph.
    """

    def __init__(
        self, program: Program, columns: Mapping[str, str], counts: tuple[int, int, int], numbers: Mapping[str, int]
    ) -> None:
        self.counts, self.numbers = counts, dict(numbers)
        self.columns = {name: np.dtype(kind) for name, kind in columns.items()}
        self.program = program.narrow if counts[0] < 1 << 31 else program
        with cache.one_at_a_time:
            self.lowered: Lowered = lower(self.program, self.columns)
            if reason := can_be_triplets(self.lowered):
                raise ProgramError(f"it cannot run by blocks of triplets: {reason}", program=program.name,
                                   remedy="run it whole: Connection.run")  # fmt: skip
            source = triplet_source(self.lowered)
            self.module = cache.module(source)
        self.names = {name: given.split(", ")[5:] for name, given in WORDS.findall(source)}

    # --- the contents of blocks
    # -----------------------------------------------------------------------------------------

    @property
    def lists(self) -> bool:
        """Whether vertices see lists of messages, which are not merged."""
        return self.lowered.around is not None

    @property
    def dense(self) -> bool:
        """Whether every vertex sends in every iteration."""
        return self.lists or not self.lowered.sparse

    @property
    def looks_at_targets(self) -> bool:
        """Whether messages also depend on the old state of their receivers."""
        return not self.lists and any(name.startswith("o_") for name in edge_reads(self.lowered))

    @property
    def any_order(self) -> bool:
        """Whether messages may be reduced at any time, and repeatedly, with the same result (minima, maxima, ...)."""
        low = self.lowered
        if self.dense or self.looks_at_targets or low.totals or {"stop", "residual", "init"} & set(low.functions):
            return False
        exact = all(how.operation in ("min", "max", "or", "and", *TUPLES) for how in low.reductions.values())
        return exact and not any("step" in one.reads for one in low.functions.values())

    @cached_property
    def reduced(self) -> list[str]:
        """The fields that messages are reduced into."""
        return sorted(self.lowered.reductions) if not self.lists else []

    @cached_property
    def sent(self) -> list[str]:
        """The fields that triplets carry."""
        return generated_fields(self.lowered)

    @cached_property
    def applied(self) -> list[str]:
        """The fields that applying reads or writes."""
        return applied_fields(self.lowered)

    @lru_cache(maxsize=64)  # noqa: B019 - a template lives as long as its session
    def layout(self, operation: str, capacity: int) -> tuple[Column, ...]:
        """The arrays of an operation's block of at most `capacity` triplets, records or vertices."""
        u4, u1 = np.dtype(np.uint32), np.dtype(np.uint8)
        if operation == "gen":
            ends = [Column("sources", u4, capacity), Column("targets", u4, capacity)]
            ends += [Column(f"c_{name}", self.columns[name], capacity) for name in self.lowered.columns]
            block = self._vertices("gen", self.sent, 2 * capacity)
            if self.lists:
                return (*ends, *block, *self._messages("x", capacity))
            return (*ends, *block, *self._accumulators("a", 2 * capacity), Column("hit", u1, 2 * capacity))
        if operation == "merge":
            records = [Column("targets", u4, capacity), *self._accumulators("x", capacity)]
            records.append(Column("came", u1, capacity))
            return (*records, *self._accumulators("a", capacity), Column("hit", u1, capacity))
        block = self._vertices(operation, self.applied, capacity)
        block.append(Column("moved", np.dtype(np.bool_), capacity))
        if operation == "start":
            return tuple(block)
        block += [Column("hit", u1, capacity), *self._accumulators("a", capacity)]
        if self.lists:
            block += [Column("rows", np.dtype(np.uint64), capacity + 1), *self._messages("s", capacity)]
            block += [Column(f"c_{name}", self.columns[name], capacity) for name in self.lowered.columns]
        return tuple(block)

    def _vertices(self, operation: str, fields: list[str], rows: int) -> list[Column]:
        known = [Column(name, np.dtype(np.int64), rows) for name in knows(self.lowered, operation)]
        return [*known, *(Column(f"f_{name}", *self._kind(name, rows)) for name in fields)]

    def _accumulators(self, letter: str, rows: int) -> list[Column]:
        return [Column(f"{letter}_{name}", *self._kind(name, rows)) for name in self.reduced]

    def _messages(self, letter: str, rows: int) -> list[Column]:
        return [Column(f"{letter}_{one.name}", one.dtype, rows, one.length) for one in self.lowered.messages]

    def _kind(self, field: str, rows: int) -> tuple[np.dtype[Any], int, int | None]:
        dtype, length = self.lowered.fields[field]
        return dtype, rows, length

    def size(self, capacity: int) -> int:
        """Bytes of a chunk that fits any operation's block."""
        operations = [one for one in OPERATIONS if not (self.lists and one == "merge")]
        most = max(sum(column.nbytes for column in self.layout(one, capacity)) for one in operations)
        return -(-(HEADER * 8 + most) // 4096) * 4096

    def views(self, operation: str, capacity: int, chunk: Array) -> Views:
        """The arrays of a block in a chunk, with its header; nothing is copied."""
        found: Views = {"header": chunk[: HEADER * 8].view(np.int64)}
        start = HEADER * 8
        for column in self.layout(operation, capacity):
            values = column.rows * (column.length or 1)
            flat = chunk[start : start + values * column.dtype.itemsize].view(column.dtype)
            found[column.name] = flat if column.length is None else flat.reshape(column.rows, column.length)
            start += column.nbytes
        return found

    def empty(self, letter: str, views: Views, rows: int) -> None:
        """Set accumulators to the identity of their reduction."""
        for name in self.reduced:
            array = views[f"{letter}_{name}"]
            array[:rows] = identity(self.lowered.reductions[name].operation, array.dtype)

    # --- running --------------------------------------------------------------------------------------------------

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The arguments of every kernel by name: counts, parameters, and placeholders for missing arrays."""
        known: dict[str, Any] = dict(zip(("g_vertices", "g_edges", "g_arcs"), self.counts, strict=True))
        for name, one in self.program.constants.items():
            if isinstance(one.kind, FieldType):
                known[f"p_{name}"] = np.array([one.value], one.kind.dtype)
            elif one.kind is vertex:
                if name not in self.numbers:
                    raise UsageError(f"{self.program.name} needs {name}=", expected="the id of a vertex")
                known[f"p_{name}"] = self.numbers[name]
            else:
                known[f"p_{name}"] = one.value
        for name, (dtype, length) in self.lowered.fields.items():
            shape = (1,) if length is None else (1, length)
            known |= {f"{letter}_{name}": np.zeros(shape, dtype) for letter in "fax"}
        places = {name: np.zeros(1, np.int64) for name in ("numbers", "in_degrees", "out_degrees")}
        return {**known, **places, **self.totals(1)}

    def totals(self, workers: int) -> dict[str, Array]:
        """Arrays of totals and of each worker's partial reductions, which are empty."""
        made = {}
        for name, one in self.lowered.totals.items():
            shape = () if one.length is None else (one.length,)
            made[f"totals_{name}"] = np.full((1, *shape), identity(one.operation, one.dtype), one.dtype)
            made[f"sums_{name}"] = np.full((workers, *shape), identity(one.operation, one.dtype), one.dtype)
        return made

    def run(self, kernel: str, size: int, step: int, given: Mapping[str, Any], threads: int = 1) -> float:
        """Run a kernel on a block; returns the seconds it took."""
        function = getattr(self.module, f"triplet_{kernel}")
        known = self.constants
        arguments = [given[name] if name in given else known[name] for name in self.names[kernel]]
        begun = time.perf_counter()
        if threads == 1 or size <= 4096:
            function(0, 1, np.zeros(16, np.int64), step, size, *arguments)
        else:
            launch(function, -(-size // 1024), step, size, *arguments, threads=threads, brief=1)
        return time.perf_counter() - begun

    def combined(self, totals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Totals of several blocks, or nodes, reduced to one: by name an array or a number."""
        made = {}
        for name, one in self.lowered.totals.items():
            reduce = {"sum": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or, "and": np.bitwise_and}
            found = np.array([total[name] for total in totals], one.dtype)
            made[name] = reduce[one.operation].reduce(found, axis=0, initial=identity(one.operation, one.dtype))
        return made
