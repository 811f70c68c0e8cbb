"""What every public call on a graph does: it accepts what :func:`arcflux.load` accepts, checks it, and handles Ctrl-C.

An interrupted run keeps the result of its last whole superstep, and an algorithm made of several runs finishes with
that result as if it had converged. Then the outermost call raises, with the result on the exception, so that a script
stops.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from arcflux.checks import Rule, checked
from arcflux.doorways import enter
from arcflux.errors import UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.io import takes_graph
from arcflux.result import Result
from arcflux.spmd.interrupt import CancelToken, cancelling, raise_if_cancelled, within_time
from arcflux.spmd.memory import within_memory
from arcflux.trace import counted

__all__ = ["graph_call", "interrupted_with", "interruptible", "is_interrupted", "note_interrupt"]

Options = ParamSpec("Options")
Answer = TypeVar("Answer")


class _UnderWay(threading.local):
    """The public calls of a thread: how deeply they are nested, and whether Ctrl-C has ended a run."""

    depth = 0
    interrupted = False


_under_way = _UnderWay()


def note_interrupt() -> None:
    """Record that Ctrl-C ended a run of the current public call."""
    _under_way.interrupted = True


def is_interrupted() -> bool:
    """Whether the current public call will raise KeyboardInterrupt."""
    return _under_way.interrupted


def interruptible(call: Callable[Options, Answer]) -> Callable[Options, Answer]:
    """Make a public call raise with its result if one of its runs was interrupted.

    A KeyboardInterrupt from elsewhere (a native algorithm, or a second Ctrl-C) propagates with None as its result.
    """

    @wraps(call)
    def whole(*given: Options.args, **options: Options.kwargs) -> Answer:
        if not _under_way.depth:
            _under_way.interrupted = False
        _under_way.depth += 1
        try:
            result = call(*given, **options)
            if _under_way.depth == 1 and _under_way.interrupted and isinstance(result, Result):
                raise _interrupt(result)
            return result
        except KeyboardInterrupt as error:
            error.__dict__.setdefault("result", None)  # of the same class: Python's exit code depends on it
            raise
        finally:
            _under_way.depth -= 1

    return whole


@contextmanager
def interrupted_with(result: Result) -> Iterator[None]:
    """Give a KeyboardInterrupt in the block this result: the run is over, and its supersteps are not lost."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.__dict__.setdefault("result", result)
        raise


def _interrupt(result: Result) -> KeyboardInterrupt:
    """The deferred KeyboardInterrupt, with the result of the last whole superstep."""
    error = KeyboardInterrupt(
        f"{result.name} stopped after {counted(result.supersteps, 'superstep')} before it converged"
    )
    error.__dict__["result"] = result
    return error


def graph_call(
    **rules: Rule | None,
) -> Callable[[Callable[Concatenate[Graph, Options], Answer]], Callable[..., Answer]]:
    """Decorate an algorithm as a public call.

    The call takes a spec, a path or an object for its graph, checks its arguments (`rules`, as for
    :func:`arcflux.checks.checked`), and ends cleanly by Ctrl-C, ``cancel=``, ``timeout=`` and when memory runs out. An
    algorithm that passes its options on to a run leaves the timeout to it, and returns the result of its last whole
    superstep; a native algorithm, which has `**where`, raises.

    Examples
    --------
    >>> import arcflux as af
    >>> af.bfs("path:3", 0)["level"].tolist()
    [0, 1, 2]
    """

    def decorate(algorithm: Callable[Concatenate[Graph, Options], Answer]) -> Callable[..., Answer]:
        ready = takes_graph(checked(**rules)(within_memory(algorithm.__name__)(algorithm)))
        last = list(inspect.signature(algorithm).parameters.values())[-1]
        runs = last.kind is last.VAR_KEYWORD and last.name != "where"

        @interruptible
        @wraps(algorithm)
        def whole(*given: Any, cancel: CancelToken | None = None, **options: Any) -> Answer:
            timeout = None if runs else options.pop("timeout", None)
            with cancelling(cancel), within_time(algorithm.__name__, timeout):
                raise_if_cancelled()
                try:
                    return ready(*given, **options)
                except UsageError as error:
                    _raise_of_slip(algorithm, options, error)
                    raise

        return whole

    return decorate


def _raise_of_slip(algorithm: Callable[..., Any], options: Mapping[str, Any], error: UsageError) -> None:
    """Report an unknown argument with the names that the algorithm accepts: the run beneath knows only its own."""
    accepted = {*inspect.signature(algorithm).parameters, *inspect.signature(enter("run")).parameters}
    for name in options:
        if name not in accepted and str(error).partition("\n")[0].endswith((f"no parameter {name!r}", f"take {name}")):
            own = [one for one in inspect.signature(algorithm).parameters if one not in ("graph", "options", "where")]
            raise UsageError(
                f"{algorithm.__name__} does not take {name}",
                expected=f"its arguments ({', '.join(own) or 'none'}), or options that say how and where it runs",
                remedy=did_you_mean(name, [*own, *accepted], "leave it out"),
            ) from error
