"""The public call `run`: check the options, compile and start the program, loop, and return the result."""

from __future__ import annotations

import contextlib
import inspect
import os
import reprlib
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arcflux import config
from arcflux.checks import checked
from arcflux.compile.failures import refusing_failures
from arcflux.compile.lower import Lowered, ignores_start, lower
from arcflux.edge_values import EdgeValues
from arcflux.engine.advice import advised, divided, kept, network_bandwidth
from arcflux.engine.call import interrupted_with, interruptible, is_interrupted
from arcflux.engine.loop import Options, ending, tolerance_of
from arcflux.engine.spread import Spread, run_spread
from arcflux.engine.state import given_values
from arcflux.engine.together import run_together
from arcflux.errors import CancelledError, UsageError, WeightError, did_you_mean
from arcflux.graph import Graph
from arcflux.io import load
from arcflux.program import Program
from arcflux.progress import watching
from arcflux.result import Result
from arcflux.spmd.interrupt import CancelToken, cancelling, current_token
from arcflux.spmd.memory import within_memory
from arcflux.spmd.team import Team
from arcflux.spmd.turns import current_turns
from arcflux.trace import counted

if TYPE_CHECKING:
    from arcflux.devices import Device
    from arcflux.engine.checkpoint import Checkpoint
    from arcflux.engine.phases import LoweredPhases
    from arcflux.partition.parts import Parts

__all__ = ["checked_options", "run", "warn_unless_converged"]

_DIRECTIONS = ("auto", "push", "pull")
_MOST_SUPERSTEPS = 1_000_000
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


@interruptible
@checked(program=None, graph=None)
@within_memory("running a program")
def run(
    program: Program,
    graph: Graph | str | os.PathLike[str],
    *,
    direction: str = "auto",
    threads: int | None = None,
    max_supersteps: int | None = None,
    timeout: float | None = None,
    deterministic: bool = False,
    debug: bool = False,
    progress: bool | None = None,
    given: Mapping[str, Any] | None = None,
    parts: int | Parts | None = None,
    partition: str = "auto",
    exchange: str = "auto",
    transport: str | None = None,
    ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
    rebalance: str = "auto",
    cancel: CancelToken | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    **parameters: Any,
) -> Result:
    """Run a vertex program until no vertex changes.

    Parameters
    ----------
    program
        A class decorated with :func:`arcflux.program`; keyword arguments that it knows are its parameters.
    graph
        What to run on: a graph, or what :func:`arcflux.load` makes one of, such as "kron:12" or a path.
    direction
        "pull", "push", or "auto": chosen for each superstep. The result is the same. A program with `priority` pushes,
        and takes supersteps instead of buckets when it is asked to pull.
    threads
        Number of workers; by default as many as are predicted to be fastest (``result.explain()`` says why): every
        core, but fewer for small graphs. Each device has its own.
    max_supersteps
        Stop after this many supersteps; the result is then marked as not converged, with a warning (unless the
        program's `tolerance` is 0, which asks for exactly that many).
    timeout
        Stop at the end of the superstep in which this many seconds have passed; a superstep that is in a long loop of
        the program itself is interrupted, and the result is that of the one before.
    deterministic
        Give the same bits on any number of threads and in any direction, and the smallest of several `af.any`. Programs
        that add floats or use `af.any` are then pulled only, which costs most where frontiers are small: BFS of
        a Kronecker graph took 5 times as long, of a grid 12 times, PageRank about as long as before.
    debug
        Run in plain Python, where breakpoints and prints work, promises are checked, and NaN and overflow are errors;
        in one process, whatever `parts` says.
    progress
        Whether to show progress on stderr; by default, if the run is long and stderr is a terminal.
    given
        Initial values of fields, before `start`: for each field an array in vertex order, or a mapping from ids.
        All others start at 0.
    parts
        Split the graph into this many parts, or use these :class:`arcflux.Parts`; each part runs on a thread of this
        process, or on a rank of an MPI job. The result is the same.
    partition
        How to split: "ranges", "grid", "degree", "random", "mincut" or "duplicate"; see :func:`arcflux.partition`.
        "auto" is ranges.
    exchange
        What nodes send each other. "readers": owners send changed values to the nodes that read them. "owners": each
        edge is stored with its source, messages are reduced there, and partial results go to the owner. "allreduce":
        every node has all vertices. "mixed": every node has the vertices of high degree, the others have owners.
        "auto" is "readers" if all in-edges of a vertex are in one part, else "owners".
    transport
        "local" (threads) or "mpi"; by default, the one that this process was started with.
    ranks_per_node
        Treat this many ranks as a node; by default, ranks that share memory are a node.
    devices
        What runs each part; cores by default. A name: "cuda" (every GPU, each with a part; of several ranks, each has
        one), "cuda:0", "cuda:0-3", "cuda:0,2", "cpu+cuda" (cores take a part, too), "cpu", or "auto": GPUs if there are
        any, else cores, with a warning that says why. Or one device for each part, such as
        ``[af.devices.Virtual(slowdown=2.0), af.devices.CPU(1)]``. The result is the same.
    rebalance
        Move the bounds of ranges between supersteps when some parts take longer than others: "auto", "local" (within
        nodes only) or "off".
    cancel
        A :class:`arcflux.CancelToken` by which another thread can end the run: it raises
        :class:`~arcflux.errors.CancelledError`, whose `result` is that of the last whole superstep.
    checkpoint
        A folder to which the run writes its state, every minute and when it ends before it has converged: by Ctrl-C,
        `timeout`, `cancel` or `max_supersteps`. The same call resumes from there, also on other threads, parts, ranks
        or devices, and removes the folder when it has converged. :class:`arcflux.Checkpoint` sets the interval.

    Examples
    --------
    >>> import arcflux as af
    >>> result = af.run(af.algorithms.BFS, af.load("path:4"), source=0)
    >>> result["level"].tolist()
    [0, 1, 2, 3]

    Ctrl-C ends the current superstep, and raises a KeyboardInterrupt whose `result` is that of the last whole
    superstep.
    """
    options = checked_options(direction, threads, max_supersteps, timeout)
    chosen = _checked_program(program, parameters)
    if max_supersteps is None and chosen.most_supersteps is not None:
        options = replace(options, limit=chosen.most_supersteps)
    graph = graph if isinstance(graph, Graph) else load(graph)
    chosen = (chosen.narrow if graph.vertices < 1 << 31 else chosen)(**parameters)
    columns = graph.column_types
    lowered = lower(chosen, columns, deterministic, debug)
    values = given_values(lowered, graph, given or {})
    _refuse_unsorted(lowered, graph)
    _refuse_wide_columns(lowered, graph)
    phases: LoweredPhases | None = None
    if chosen.phases:
        from arcflux.engine.phases import lower_phases, run_phases

        phases = lower_phases(lowered, columns, debug)
        for each in phases.phases.values():
            _refuse_wide_columns(each, graph)
    else:
        _warn_of_ignored_start(lowered)
    spread = Spread(parts, partition, exchange, transport, ranks_per_node, None, rebalance).checked()
    if devices is not None and not debug:
        spread = spread.on(devices, threads)

    def run_piece(lowered: Lowered, values: Mapping[str, Any], options: Options) -> Result:
        if lowered.mails and not spread.wanted:
            return replace(run_spread(lowered, graph, values, options, spread), where="", exchange="")
        if spread.wanted:
            return _run_on_parts(lowered, graph, values, replace(options, threads=threads or 1), spread)
        options, plan = advised(lowered, graph, options, threads)
        result = run_together(lowered, graph, values, options, Team(options.threads))
        with interrupted_with(result):  # the journal may wait for its lock
            return kept(plan, graph, result)

    with watching(progress), cancelling(cancel), refusing_failures(lowered):
        if checkpoint is not None:
            from arcflux.engine.checkpoint import checked_checkpoint, run_in_pieces

            keeping = checked_checkpoint(checkpoint, lowered, debug)
            result = run_in_pieces(keeping, lowered, graph, values, options, spread, run_piece)
        elif phases is not None:
            result = run_phases(phases, graph, values, options, None if debug else spread, threads)
        elif debug:
            from arcflux.compile.python.run import run_python

            result = run_python(lowered, graph, options.limit, values, ending(options))
        else:
            result = run_piece(lowered, values, options)
        token = current_token()
    result = _without_hidden(result, chosen)
    if spread.idle:
        result = replace(result, notes=(*result.notes, spread.idle))
    with interrupted_with(result):
        return _concluded(never_with_nan(result), lowered, max_supersteps, token)


def _concluded(result: Result, lowered: Lowered, max_supersteps: int | None, token: CancelToken | None) -> Result:
    """The result of a run that is over: an error with it if it was cancelled, a warning if it has not converged."""
    if token is not None and token.cancelled and not result.converged:
        error = CancelledError(f"{result.name} was cancelled after {counted(result.supersteps, 'superstep')}")
        error.result = result
        raise error
    as_asked = tolerance_of(lowered) == 0 and result.supersteps == max_supersteps
    if not as_asked or values_with_nan(result):
        warn_unless_converged(result)
    return result


def _without_hidden(result: Result, program: Program) -> Result:
    """The result without hidden fields: those of dialects, sets of vertices, locks, senders."""
    if result.values.keys() == program.fields.keys() and not program.hidden:
        return result
    shown = set(program.fields) - program.hidden
    return replace(result, values={name: one for name, one in result.values.items() if name in shown})


def _checked_program(program: Any, parameters: Mapping[str, Any]) -> Program:
    """The program to run, after checking that it is one and has these parameters."""
    if isinstance(program, Program):
        for name in parameters:
            if name not in program.parameters:
                options = list(inspect.signature(run).parameters)[2:-1]
                raise UsageError(
                    f"{program.name} has no parameter {name!r}",
                    expected=f"one of its parameters: {', '.join(program.parameters) or 'none'}; or an option of a run",
                    remedy=did_you_mean(name, [*program.parameters, *options]),
                )
        return program
    if isinstance(program, type):
        raise UsageError(
            f"{program.__name__} is a class, and no program yet", expected="a class that af.program has read",
            remedy=f"write @af.program above class {program.__name__}",
        )  # fmt: skip
    swapped = "the program comes first: af.run(program, graph)"
    raise UsageError(
        f"the program is {reprlib.repr(program)}", expected="a class with @af.program above it",
        remedy=swapped if isinstance(program, Graph) else "an algorithm has a function of its own: af.pagerank(graph)",
    )  # fmt: skip


def _run_on_parts(lowered: Lowered, graph: Graph, values: Any, options: Options, spread: Spread) -> Result:
    """Run on parts as the options ask."""
    options, plan = divided(lowered, graph, options, spread)
    spread = replace(spread, network=network_bandwidth(spread))
    result = run_spread(lowered, graph, values, options, spread)
    with interrupted_with(result):
        return kept(plan, graph, result, spread.ranks())


def checked_options(direction: str, threads: int | None, max_supersteps: int | None, timeout: float | None) -> Options:
    """The options of a run, checked."""
    if direction not in _DIRECTIONS:
        raise UsageError(f"direction is {direction!r}", expected=" or ".join(map(repr, _DIRECTIONS)))
    if max_supersteps is not None and not (isinstance(max_supersteps, (int, np.integer)) and max_supersteps >= 0):
        raise UsageError(f"max_supersteps is {max_supersteps!r}", expected="a whole number from 0 on")
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout >= 0):
        raise UsageError(f"timeout is {timeout!r}", expected="a number of seconds from 0 on")
    limit = _MOST_SUPERSTEPS if max_supersteps is None else int(max_supersteps)
    return Options(direction, config.threads(threads), limit, timeout)


def never_with_nan(result: Result) -> Result:
    """Mark a result with NaN values as not converged: no superstep can show that a NaN stopped changing."""
    return replace(result, converged=False) if result.converged and values_with_nan(result) else result


def values_with_nan(result: Result) -> list[str]:
    """Fields and totals that contain NaN. It tests the sum first: that is NaN if a value is, and rarely otherwise."""
    edges = result.edges.by_target if isinstance(result.edges, EdgeValues) else result.edges
    named = {f"{name} of some vertices": values for name, values in result.values.items()}
    named |= {f"{name} of some edges": values for name, values in edges.items()}
    named |= {f"the total {name}": np.asarray(value) for name, value in result.totals.items()}
    floats = {name: values for name, values in named.items() if values.dtype.kind == "f"}
    if not floats:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        return [name for name, values in floats.items() if np.isnan(values.sum()) and np.isnan(values).any()]


def warn_unless_converged(result: Result) -> None:
    """Warn the caller if the run ended before it converged; the result of a job says so itself."""
    if not result.converged and config.is_first_rank() and not is_interrupted() and current_turns() is None:
        lost = values_with_nan(result)
        message = f"{result.name} stopped after {counted(result.supersteps, 'superstep')} before it converged"
        message += f": {lost[0]} is NaN" if lost else ""
        warnings.warn(message, stacklevel=_level_of_caller())


def _refuse_unsorted(lowered: Lowered, graph: Graph) -> None:
    """Refuse a program that compares rows, or promises sorted_edges, on a graph whose rows are not sorted."""
    intersects = lowered.around is not None and lowered.around.intersects
    if not graph.sorted and (intersects or "sorted_edges" in lowered.program.promises):
        why = "af.intersect compares rows" if intersects else "sorted_edges is asked for"
        raise UsageError(
            f"{lowered.program.name}: {why}, and rows of this graph are in no order",
            expected="rows in the order of vertex numbers", remedy="build or load the graph without sort=False",
        )  # fmt: skip


def _refuse_wide_columns(lowered: Lowered, graph: Graph) -> None:
    """Refuse an edge column with integers of 2 ** 63 or more: programs see integer columns as signed."""
    for name in {*lowered.columns, *lowered.out_columns}:
        if graph.column_types[name] == np.uint64 and (column := graph.columns[name]).max(initial=0) >= 1 << 63:
            raise WeightError(
                f"the edge column {name!r} has {column.max()}", expected="integers below 2**63, or floats",
                remedy=f"graph.with_columns({{{name!r}: graph.columns[{name!r}].astype('float64')}})",
            )  # fmt: skip


def _warn_of_ignored_start(lowered: Lowered) -> None:
    """Warn the author of a dense program whose `start` returns which vertices should send."""
    if not (ignores_start(lowered) and config.is_first_rank()):
        return
    program, writes = lowered.program, lowered.functions["update"].writes
    why = f"update writes v.{min(writes)}, so " if writes else ""
    warnings.warn(
        f"{program.name} ({program.path}:{program.functions['start'].line}): what start returns has no effect: {why}"
        "every vertex sends in every superstep. If a vertex without messages never changes, add the line"
        f" `sparse = True` to class {program.name}; else return True",
        stacklevel=_level_of_caller(),
    )


def _level_of_caller() -> int:
    """The stack level, for warnings, of the first caller outside of this package.

    Decorators made by contextlib are on the stack between our frames.
    """
    frame, level = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, contextlib.__file__)):
        frame, level = frame.f_back, level + 1
    return level + 1
