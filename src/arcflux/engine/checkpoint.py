"""Runs that can be ended and go on later: where they stand is written every so many seconds, and when they end early.

Such a run is taken in pieces. What a program sends follows from its fields, so a piece after the first is a run of the
same program with another `start`: the fields keep the values that they are given, and those vertices are active that
were to send next. Workers, parts, devices and directions may differ from one piece to the next.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
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
from arcflux.errors import SpaceError, UsageError
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

# The parameter by which a resumed program knows which vertices are active at first.
_ACTIVE = "active_at_first"
# What is kept of every superstep.
_KEPT = ("pull", "frontier", "residual", "seconds", "changed", "edges", "bytes", "more_bytes")
_COUNTS = ("frontier", "changed", "edges", "bytes", "more_bytes")
_TOTAL = "total."
_BEFORE = "before the last checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run keeps how far it is: about every so many seconds, and when it ends early.

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
    """The checkpoint that a run is asked to have, if its program can have one."""
    made = asked if isinstance(asked, Checkpoint) else Checkpoint(asked)
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
    return made


def run_in_pieces(
    checkpoint: Checkpoint, lowered: Lowered, graph: Graph, values: Mapping[str, Array], options: Options,
    spread: Spread, run: Callable[[Lowered, Mapping[str, Array], Options], Result],
) -> Result:  # fmt: skip
    """Run a program from its last checkpoint on, if there is one, to its end; `run` runs a piece. Collective."""
    path, like, ranks = Path(checkpoint.folder), _like(lowered, graph, values), spread.ranks()
    standing = _read(path, like)
    _agree(ranks, path, -1 if standing is None else standing.step)
    if standing is not None:
        trace.note(f"{lowered.program.name} goes on after superstep {standing.step} of the checkpoint {path}")
    begun, seconds, resumed = time.perf_counter(), checkpoint.seconds, None
    while True:
        left = np.inf if options.timeout is None else max(0.0, options.timeout - (time.perf_counter() - begun))
        piece = Piece() if standing is None else Piece(standing.step, standing.totals)
        now = replace(options, timeout=min(seconds, left), piece=piece)
        if standing is None:
            result = run(lowered, values, now)
        else:
            resumed = resumed or _resumed(lowered, graph)
            senders = np.ones(graph.vertices, np.bool_) if standing.senders is None else standing.senders
            result = run(resumed, {**standing.fields, _ACTIVE: senders}, now)
        after = _after(like, standing, result, piece)
        leads = ranks is None or ranks.rank == 0
        if result.converged:
            if leads:
                folder.remove(path)
            return _whole(result, lowered, standing, after)
        # A piece that was broken off in a loop of the program's own is taken again, with more time.
        whole = after.step > piece.first and not (lowered.sparse and after.senders is None)
        if leads and whole:
            _write(after, path)
        token = current_token()
        ended = is_interrupted() or after.step >= options.limit or left <= seconds
        ended = ended or (token is not None and token.cancelled)
        if pressed_anywhere(ranks, ended):
            return _whole(result, lowered, standing, after)
        standing, seconds = (after, seconds) if whole else (standing, 2 * seconds)


def _read(path: Path, like: Standing) -> Standing | None:
    """The checkpoint before this run, None if there is none; what it counts are numbers."""
    found = folder.read(path, like)
    odd = next((name for name in _COUNTS if found is not None and not np.isfinite(found.past[name]).all()), None)
    if odd is not None:
        raise incomplete(path, f"past.{odd}.npy has counts that are no numbers")
    return found


def _like(lowered: Lowered, graph: Graph, values: Mapping[str, Array]) -> Standing:
    """What a checkpoint of this run is like: its digest, and an array of each kind."""
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
    """What tells runs apart: the program as it is compiled, its parameters, what it is given, and the graph."""
    found = hashlib.blake2b(digest_size=16)
    parameters = {name: one.value for name, one in lowered.program.parameters.items()}
    counts = graph.directed, graph.vertices, graph.edges, graph.arcs
    found.update(f"{cpu.source(lowered)}\n{parameters!r}\n{counts!r}\n".encode())
    arrays = {"offsets": graph.out.offsets, "neighbours": graph.out.neighbours, **graph.ids.arrays, **values}
    arrays |= {f"column {name}": graph.columns[name] for name in lowered.columns}
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str}".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _resumed(lowered: Lowered, graph: Graph) -> Lowered:
    """The same program, whose fields are what they are given, and some of whose vertices are active at first."""
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
    """Where a run stands after a piece of it."""
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
    """The result of all pieces, of which this is the last one's."""
    values = {name: array for name, array in result.values.items() if name in lowered.fields}
    if before is None:
        return replace(result, values=values)
    rows = np.stack([after.past[name] for name in _KEPT], axis=1)
    totals = {name: after.past[f"{_TOTAL}{name}"] for name in lowered.totals}
    return replace(result, values=values, history=History(rows, _superstep, _columns, totals), seconds=after.seconds)


def _superstep(number: int, row: list[float]) -> Superstep:
    pull, frontier, residual, seconds, changed, edges, crossed, besides = row
    return Superstep(
        number, "pull" if pull else "push", int(frontier), residual, seconds, int(changed), int(edges), _BEFORE,
        int(crossed), int(besides),
    )  # fmt: skip


def _columns(rows: Array) -> dict[str, Array | float]:
    return {name: rows[:, k] for k, name in enumerate(_KEPT)}


def _write(standing: Standing, path: Path) -> None:
    """Write a checkpoint; where that fails, the run goes on, and says so."""
    try:
        folder.write(standing, path)
    except SpaceError as error:
        trace.note(f"superstep {standing.step} was not kept: {error}")


def _agree(ranks: Transport | None, path: Path, step: int) -> None:
    """All ranks have the same checkpoint before them, or none."""
    if ranks is None:
        return
    steps: Sequence[int] = np.concatenate(ranks.gather(np.array([step]))).tolist()
    if len(set(steps)) > 1:
        raise UsageError(
            f"not all ranks find the same checkpoint in {path}: supersteps {steps}",
            expected="a folder that all can read", remedy="name a folder on a shared file system",
        )  # fmt: skip
