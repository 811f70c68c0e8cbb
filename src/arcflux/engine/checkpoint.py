"""Runs that can be resumed: their state is written every this many seconds, and when they end early.

Such a run is executed in pieces. What a program sends follows from its fields, so each later piece is a run of the same
program with another `start`: fields keep the values they are given, and the vertices that were to send next are active.
Workers, parts, devices and directions may differ from one piece to the next.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.checks import path as path_rule
from arcflux.checks import real
from arcflux.compile.cpu import module as cpu
from arcflux.compile.lower import Lowered, lower
from arcflux.engine.call import is_interrupted
from arcflux.engine.loop import Options, Piece
from arcflux.engine.spread import Spread, pressed_anywhere
from arcflux.engine.totals import shown
from arcflux.errors import CancelledError, SpaceError, StoreError, UsageError
from arcflux.graph import Graph
from arcflux.history import History, Superstep, column
from arcflux.io import checkpoint as folder
from arcflux.io.checkpoint import Standing
from arcflux.io.manifest import incomplete
from arcflux.program.completion import written
from arcflux.program.parameters import Parameter, vertices
from arcflux.result import Result
from arcflux.spmd.interrupt import current_token
from arcflux.transports.base import Transport

__all__ = ["Checkpoint", "checked_checkpoint", "run_in_pieces"]

Array = NDArray[Any]

# The parameter that tells a resumed program which vertices are active at first.
_ACTIVE = "active_at_first"
# The columns of the history that a checkpoint stores for every superstep.
_KEPT = ("pull", "frontier", "residual", "seconds", "changed", "edges", "bytes", "more_bytes")
_COUNTS = ("frontier", "changed", "edges", "bytes", "more_bytes")
_TOTAL = "total."
_BEFORE = "before the last checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run writes its state, about every this many seconds and when it ends early.

    Examples
    --------
    >>> import tempfile, warnings
    >>> import arcflux as af
    >>> graph, folder = af.load("path:100"), tempfile.mkdtemp() + "/bfs"
    >>> with warnings.catch_warnings():  # of a result that has not converged
    ...     warnings.simplefilter("ignore")
    ...     first = af.run(af.algorithms.BFS, graph, source=0, checkpoint=folder, max_supersteps=60)
    >>> rest = af.run(af.algorithms.BFS, graph, source=0, checkpoint=af.Checkpoint(folder, seconds=30))
    >>> first.supersteps, rest.supersteps, rest.converged
    (60, 100, True)
    """

    folder: str | os.PathLike[str]
    seconds: float = field(default=60.0, kw_only=True)

    def __post_init__(self) -> None:
        path_rule("the folder of a checkpoint", self.folder)
        if not real("seconds of a checkpoint", self.seconds) > 0:
            raise UsageError(f"seconds of a checkpoint is {self.seconds}", expected="a number above 0")


def checked_checkpoint(asked: Any, lowered: Lowered, debug: bool) -> Checkpoint:
    """The checkpoint of a run, if its program supports one."""
    checkpoint = asked if isinstance(asked, Checkpoint) else Checkpoint(asked)
    program = lowered.program
    why = (
        "debug=True runs plain Python from the start" if debug
        else "its iteration is Python that has no state to keep" if program.phases
        else "mail that is under way is not kept" if lowered.mails
        else "fields of edges are not kept" if lowered.edge_state is not None
        else "what its vertices last sent is not kept" if lowered.around is not None and lowered.sparse
        else ""
    )  # fmt: skip
    if why:
        raise UsageError(
            f"{program.name} takes no checkpoint: {why}",
            expected="a program with compute, or with around and not sparse", remedy="leave checkpoint= out",
        )  # fmt: skip
    return checkpoint


def run_in_pieces(
    checkpoint: Checkpoint, lowered: Lowered, graph: Graph, values: Mapping[str, Array], options: Options,
    spread: Spread, run: Callable[[Lowered, Mapping[str, Array], Options], Result],
) -> Result:  # fmt: skip
    """Run a program from its last checkpoint, if there is one, to its end; `run` executes one piece. Collective."""
    path, like, ranks = Path(checkpoint.folder), _like(lowered, graph, values), spread.ranks()
    standing = _read(path, like)
    _agree(ranks, path, -1 if standing is None else standing.step)
    if standing is not None:
        trace.note(f"{lowered.program.name} goes on after superstep {standing.step} of the checkpoint {path}")
    begun, seconds, resumed = time.perf_counter(), checkpoint.seconds, None
    reached = [] if standing is None else [standing]  # where the last whole superstep ended
    leads = ranks is None or ranks.rank == 0
    with _interrupted_at(reached, lowered, graph):
        while True:
            remaining = np.inf if options.timeout is None else max(0.0, options.timeout - (time.perf_counter() - begun))
            piece = Piece() if standing is None else Piece(standing.step, standing.totals)
            now = replace(options, timeout=min(seconds, remaining), piece=piece)
            if standing is None:
                result = run(lowered, values, now)
            else:
                resumed = resumed or _resumed(lowered, graph)
                senders = np.ones(graph.vertices, np.bool_) if standing.senders is None else standing.senders
                result = run(resumed, {**standing.fields, _ACTIVE: senders}, now)
            after = _after(like, standing, result, piece)
            if after.step > piece.first:
                reached[:] = [after]
            if result.converged:
                if leads:
                    _remove(path)
                return _whole(result, lowered, standing, after)
            # A piece that was interrupted within a loop of the program is repeated, with more time.
            whole = after.step > piece.first and not (lowered.sparse and after.senders is None)
            if leads and whole:
                _write(after, path)
            token = current_token()
            ended = is_interrupted() or after.step >= options.limit or remaining <= seconds
            ended = ended or (token is not None and token.cancelled)
            if pressed_anywhere(ranks, ended):
                return _whole(result, lowered, standing, after)
            standing, seconds = (after, seconds) if whole else (standing, 2 * seconds)


def _read(path: Path, like: Standing) -> Standing | None:
    """The checkpoint of an earlier run, None if there is none; its counts must be finite numbers."""
    standing = folder.read(path, like)
    broken_name = next(
        (name for name in _COUNTS if standing is not None and not np.isfinite(standing.past[name]).all()), None
    )
    if broken_name is not None:
        raise incomplete(path, f"past.{broken_name}.npy has counts that are no numbers")
    return standing


def _like(lowered: Lowered, graph: Graph, values: Mapping[str, Array]) -> Standing:
    """A template for checkpoints of this run: its digest, and an empty array of each shape and type."""
    n = graph.vertices
    fields = {
        name: np.broadcast_to(np.zeros(1, dtype), (n,) if length is None else (n, length))
        for name, (dtype, length) in lowered.fields.items()
    }
    totals = {name: np.zeros(each.length or (), each.dtype) for name, each in lowered.totals.items()}
    senders = np.zeros(n, np.bool_) if lowered.sparse else None
    past = {name: np.zeros(0) for name in _KEPT}
    past |= {f"{_TOTAL}{name}": np.zeros((0, *one.shape), one.dtype) for name, one in totals.items()}
    return Standing(_digest(lowered, graph, values), 0, 0.0, fields, senders, totals, past)


def _digest(lowered: Lowered, graph: Graph, values: Mapping[str, Array]) -> str:
    """A digest that tells runs apart: the compiled program, its parameters, its initial values, and the graph."""
    digest = hashlib.blake2b(digest_size=16)
    parameters = {name: one.value for name, one in lowered.program.parameters.items()}
    counts = graph.directed, graph.vertices, graph.edges, graph.arcs
    digest.update(f"{cpu.source(lowered)}\n{parameters!r}\n{counts!r}\n".encode())
    arrays = {"offsets": graph.out.offsets, "neighbours": graph.out.neighbours, **graph.ids.arrays, **values}
    arrays |= {f"column {name}": graph.columns[name] for name in lowered.columns}
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _resumed(lowered: Lowered, graph: Graph) -> Lowered:
    """The same program, with fields that start as given and a set of vertices that is active at first."""
    program = lowered.program
    start = written(f"def start(v, p):\n    return v in p.{_ACTIVE}\n", program.functions["start"].line)
    going_on = replace(
        program,
        functions=MappingProxyType({**program.functions, "start": start}),
        parameters=MappingProxyType({**program.parameters, _ACTIVE: Parameter(vertices, ())}),
        hidden=program.hidden | {_ACTIVE},
    )
    return lower(going_on, {name: one.dtype for name, one in graph.columns.items()}, lowered.deterministic)


def _after(like: Standing, before: Standing | None, result: Result, piece: Piece) -> Standing:
    """The state of a run after a piece."""
    history = result.history
    past = {name: np.array(column(history, name), np.float64) for name in _KEPT}
    assert isinstance(history, History)
    past |= {f"{_TOTAL}{name}": array for name, array in history.totals.items()}
    if before is not None:
        past = {name: np.concatenate([before.past[name], array]) for name, array in past.items()}
    fields = {name: result.values[name] for name in like.fields}
    totals = {name: np.asarray(result.totals[name], one.dtype) for name, one in like.totals.items()}
    seconds = result.seconds + (0.0 if before is None else before.seconds)
    return Standing(like.run, piece.first + len(history), seconds, fields, piece.senders, totals, past)


def _whole(result: Result, lowered: Lowered, before: Standing | None, after: Standing) -> Result:
    """The result of all pieces, given that of the last one."""
    values = {name: array for name, array in result.values.items() if name in lowered.fields}
    if before is None:
        return replace(result, values=values)
    rows = np.stack([after.past[name] for name in _KEPT], axis=1)
    totals = {name: after.past[f"{_TOTAL}{name}"] for name in lowered.totals}
    return replace(result, values=values, history=History(rows, _superstep, _columns, totals), seconds=after.seconds)


def _superstep(number: int, row: list[float]) -> Superstep:
    pull, frontier, residual, seconds, changed, edges, value_bytes, more_bytes = row
    return Superstep(
        number, "pull" if pull else "push", int(frontier), residual, seconds, int(changed), int(edges), _BEFORE,
        int(value_bytes), int(more_bytes),
    )  # fmt: skip


def _columns(rows: Array) -> dict[str, Array | float]:
    return {name: rows[:, k] for k, name in enumerate(_KEPT)}


@contextmanager
def _interrupted_at(reached: Sequence[Standing], lowered: Lowered, graph: Graph) -> Iterator[None]:
    """Give what ends the block between two pieces, by Ctrl-C or a token, the result of the last whole superstep."""
    try:
        yield
    except (KeyboardInterrupt, CancelledError) as error:
        if reached and getattr(error, "result", None) is None:
            error.__dict__["result"] = _result_at(reached[0], lowered, graph)
        raise


def _result_at(standing: Standing, lowered: Lowered, graph: Graph) -> Result:
    """The result of a run that ended where a checkpoint is."""
    program = lowered.program
    fields = {name: standing.fields[name] for name in program.fields if name not in program.hidden}
    rows = np.stack([standing.past[name] for name in _KEPT], axis=1)
    history = History(rows, _superstep, _columns, {name: standing.past[f"{_TOTAL}{name}"] for name in lowered.totals})
    totals = {name: shown(value) for name, value in standing.totals.items()}
    seconds, references = standing.seconds, program.references
    return Result(program.name, graph, fields, history, False, seconds, references=references, totals=totals)


def _write(standing: Standing, path: Path) -> None:
    """Write a checkpoint; if that fails, the run goes on with a note."""
    try:
        folder.write(standing, path)
    except (SpaceError, StoreError) as error:
        trace.note(f"superstep {standing.step} was not kept: {error}")


def _remove(path: Path) -> None:
    """Remove the checkpoint of a run that is over; if that fails, the result is as good, with a note."""
    try:
        folder.remove(path)
    except StoreError as error:
        trace.note(f"the checkpoint of a run that is over could not be removed: {error}")


def _agree(ranks: Transport | None, path: Path, step: int) -> None:
    """Check that all ranks found the same checkpoint, or none."""
    if ranks is None:
        return
    steps: Sequence[int] = np.concatenate(ranks.gather(np.array([step]))).tolist()
    if len(set(steps)) > 1:
        raise UsageError(
            f"not all ranks find the same checkpoint in {path}: supersteps {steps}",
            expected="a folder that all can read", remedy="name a folder on a shared file system",
        )  # fmt: skip
