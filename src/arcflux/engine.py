"""Run a program on a graph: prepare its arrays, launch its kernel, watch it, and hand back the result.

The supersteps themselves are in the kernel (compile/cpu.py), many in one launch. While they run, this thread waits,
shows progress, and on Ctrl-C or when the time is up asks the kernel to stop at the next superstep's end.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config, trace
from arcflux.compile import cache, cpu
from arcflux.compile.frontier import BLOCK, buffered, explained, precomputed
from arcflux.compile.lower import Lowered, lower
from arcflux.compile.python import run_python
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.program import Program, vertex
from arcflux.progress import watching
from arcflux.result import Result, Superstep
from arcflux.spmd.interrupt import held
from arcflux.spmd.memory import empty, zeros
from arcflux.spmd.pool import STOP
from arcflux.spmd.pool import run as launch

__all__ = ["run"]

Array = NDArray[Any]

_DIRECTIONS = ("auto", "push", "pull")
_MOST_SUPERSTEPS = 1_000_000
# Supersteps of one launch: enough that a launch costs nothing, few enough that their history is small.
_AT_ONCE = 4096
_BUFFER = 1024


def run(
    program: Program,
    graph: Graph,
    *,
    direction: str = "auto",
    threads: int | None = None,
    max_supersteps: int | None = None,
    timeout: float | None = None,
    deterministic: bool = False,
    debug: bool = False,
    progress: bool | None = None,
    **parameters: Any,
) -> Result:
    """Run a vertex program until no vertex changes.

    Parameters
    ----------
    program
        A class decorated with :func:`arcflux.program`; keyword arguments that it knows are its parameters.
    graph
        What to run on.
    direction
        "pull", "push", or "auto": chosen for each superstep. The result is the same.
    threads
        Workers; every core without it.
    max_supersteps
        Stop after so many; the result is then marked as not converged, with a warning.
    timeout
        Stop at the end of the superstep in which so many seconds are over.
    deterministic
        Give the same bits on any number of threads and in any direction, and the smallest of several `af.any`. Programs
        that add floats or use `af.any` are then pulled only, which costs most where frontiers are small (a
        breadth-first search several times its time, PageRank nothing).
    debug
        Run in plain Python, where breakpoints and prints work, and NaN and overflow are errors.
    progress
        Whether to show progress on stderr; without it, when a run is long and stderr is a terminal.

    Examples
    --------
    >>> import arcflux as af
    >>> result = af.run(af.algorithms.BFS, af.load("path:4"), source=0)
    >>> result["level"].tolist()
    [0, 1, 2, 3]
    """
    if direction not in _DIRECTIONS:
        raise UsageError(f"direction is {direction!r}", expected=" or ".join(map(repr, _DIRECTIONS)))
    chosen = program(**parameters) if parameters else program
    limit = _MOST_SUPERSTEPS if max_supersteps is None else max_supersteps
    lowered = lower(chosen, {name: column.dtype for name, column in graph.columns.items()}, deterministic)
    with watching(progress):
        if debug:
            return run_python(lowered, graph, limit)
        return _run_cpu(lowered, graph, direction, config.threads(threads), limit, timeout)


@dataclass
class _State:
    """The arrays of one run: fields, the first frontier, what else the kernel keeps per vertex, and its constants.

    `extra` are the messages of a dense program that pulls (2n each: now and next), or the accumulators of a sparse one.
    """

    fields: dict[str, Array]
    active: Array
    extra: list[Any]
    constants: list[Any]


def _run_cpu(lowered: Lowered, graph: Graph, direction: str, threads: int, limit: int, timeout: float | None) -> Result:
    begun = time.perf_counter()
    program = lowered.program
    made = cache.module(cpu.source(lowered))
    values = _parameters(program, graph)
    state = _started(lowered, made, graph, values, threads, push=direction == "push")
    loop = _Loop(lowered, made, graph, state, direction, threads)
    loop.compile()
    ready = time.perf_counter()
    history = loop.run(limit, timeout)
    converged = loop.finished
    if not converged:
        warnings.warn(f"{program.name} stopped after {len(history)} supersteps before it converged", stacklevel=3)
    seconds = time.perf_counter() - ready
    return Result(program.name, graph, state.fields, history, converged, seconds, ready - begun, program.references)


def _parameters(program: Program, graph: Graph) -> list[Any]:
    """The values of the parameters, vertices as numbers."""
    values = []
    for name, parameter in program.parameters.items():
        if parameter.kind is vertex:
            if parameter.value is None:
                raise UsageError(f"{program.name} needs {name}=", expected="the id of a vertex")
            values.append(int(graph.ids.to_numbers([parameter.value])[0]))
        else:
            values.append(parameter.value)
    return values


def _started(lowered: Lowered, made: Any, graph: Graph, values: list[Any], threads: int, *, push: bool) -> _State:
    n = graph.vertices
    fields = {name: _values(n, *kind) for name, kind in lowered.fields.items()}
    extra: list[Any]
    if lowered.sparse:
        extra = [_values(n, *lowered.fields[name]) for name in buffered(lowered)]
        extra += [_values(n, message.dtype, message.length) for message in precomputed(lowered)]
    else:
        extra = [None if push else _values(2 * n, message.dtype, message.length) for message in lowered.messages]
    constants = [*fields.values(), n, graph.edges, graph.arcs, *values]
    active = np.zeros(n, np.bool_)
    chunks = -(-n // cpu.CHUNK)
    launch(made.started, chunks, graph.into.offsets, graph.out.offsets, active, *extra, *constants, threads=threads)
    return _State(fields, active, extra, constants)


def _values(size: int, dtype: Any, length: int | None) -> Array:
    """Zeros for so many vertices: numbers, or rows for vectors."""
    return zeros(size, dtype) if length is None else zeros(size * length, dtype).reshape(size, length)


class _Loop:
    """The kernel of a program with its arguments, launched as often as needed."""

    def __init__(self, lowered: Lowered, made: Any, graph: Graph, state: _State, direction: str, threads: int) -> None:
        self.lowered = lowered
        self.graph = graph
        self.threads = threads
        self.finished = graph.vertices == 0 or (lowered.sparse and not state.active.any())
        self.kernel = made.frontier if lowered.sparse else made.dense
        self.barrier = np.zeros(16, np.int64)
        self.slots = np.zeros((2 * threads, 8), np.int64)
        self.sums = np.zeros((2 * threads, 8))
        self.history = np.zeros((_AT_ONCE, 8))
        self.tolerance = _tolerance(lowered)
        self.asked = "deterministic" if lowered.pull_only else "asked for" if direction != "auto" else ""
        self.last_size = int(state.active.sum())
        if lowered.sparse:
            self._sparse(state, direction)
        else:
            self._dense(state, made, push=direction == "push")

    def _dense(self, state: _State, made: Any, *, push: bool) -> None:
        graph, lowered = self.graph, self.lowered
        self.board = np.zeros(72, np.int64)
        self.choice: list[Any] = [self.tolerance]
        columns = [(graph.columns if push else graph.in_columns)[name] for name in lowered.columns]
        if push:
            self.kernel = made.dense_push
            accumulators = [_values(graph.vertices, *lowered.fields[name]) for name in sorted(lowered.reductions)]
            self.rest = [graph.into.offsets, *graph.out, *columns, *accumulators, *state.constants]
        else:
            self.rest = [*graph.into, graph.out.offsets, *columns, *state.extra, *state.constants]

    def _sparse(self, state: _State, direction: str) -> None:
        graph, n = self.graph, self.graph.vertices
        kind = graph.out.neighbours.dtype
        queues = empty(2 * n, kind)
        first = np.flatnonzero(state.active)
        queues[: len(first)] = first
        self.board = np.zeros(3 * BLOCK + 8, np.int64)
        self.board[3 * BLOCK] = len(first)
        self.board[3 * BLOCK + 1] = int(graph.out_degrees[first].sum())
        columns = [side[name] for name in self.lowered.columns for side in (graph.in_columns, graph.columns)]
        work = [queues, empty(n, kind), zeros(n, np.int32), zeros((n + 63) // 64, np.uint64), zeros(n, np.bool_)]
        buffers = np.empty((self.threads, _BUFFER), kind)
        self.rest = [*graph.into, *graph.out, *work, buffers, *columns, *state.extra, *state.constants]
        self.choice = [_DIRECTIONS.index("pull" if self.lowered.pull_only else direction), self.tolerance]

    def arguments(self, first: int, last: int) -> list[Any]:
        shared = [self.barrier, self.board, self.slots, self.sums, self.history]
        return [*shared, first, last, *self.choice, *self.rest]

    def compile(self) -> None:
        """Compile the kernel for these arguments, so that a run is only a run."""
        self.kernel.ready(0, self.threads, np.zeros(16, np.int64), *self.arguments(0, 1))

    def run(self, limit: int, timeout: float | None) -> list[Superstep]:
        """Run up to `limit` supersteps; what happened in each."""
        steps: list[Superstep] = []
        until = None if timeout is None else time.perf_counter() + timeout
        with trace.task(self.lowered.program.name, unit="supersteps") as task, held() as pressed:

            def over() -> bool:
                return pressed() or (until is not None and time.perf_counter() > until)

            def glance(control: Array) -> None:
                task.at(int(control[2]))
                if over():
                    control[STOP] = 1

            while not self.finished and len(steps) < limit and not (steps and over()):
                first, last = len(steps), min(limit, len(steps) + _AT_ONCE)
                self.history[:] = 0
                begun = time.perf_counter()
                launch(self.kernel, self.threads, *self.arguments(first, last), threads=self.threads, glance=glance)
                steps += self._read(first, time.perf_counter() - begun)
        return steps

    def _read(self, first: int, seconds: float) -> list[Superstep]:
        """The history of a launch; the kernel's clock is scaled to the seconds that passed."""
        done = int(np.count_nonzero(self.history[:, 2]))
        rows = self.history[:done]
        rows[:, 2] *= seconds / rows[:, 2].sum() if done else 0.0
        steps = [self._superstep(first + k, *row) for k, row in enumerate(rows.tolist())]
        if steps:
            self.finished = steps[-1].changed == 0 or steps[-1].residual < self.tolerance
        return steps

    def _superstep(self, k: int, size: float, residual: float, seconds: float, way: float, *more: float) -> Superstep:
        arcs, name = self.graph.arcs, "pull" if way == 2 else "push"
        if not self.lowered.sparse:
            reason = self.asked or "every vertex sends: pull needs no atomics"
            return Superstep(k, name, self.graph.vertices, residual, seconds, int(size), arcs, reason)
        edges, about, changed, _ = more
        reason = self.asked or explained(self.lowered, way == 2, int(edges), arcs, about)
        return Superstep(k, name, int(size), residual, seconds, int(changed), int(edges), reason)


def _tolerance(lowered: Lowered) -> float:
    """Below which residual a run has converged: the program's parameter `tolerance`, if it has a residual at all."""
    parameter = lowered.program.parameters.get("tolerance")
    return float(parameter.value) if parameter is not None and "residual" in lowered.functions else -1.0
