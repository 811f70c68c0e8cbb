"""What every public call on a graph does: it takes what :func:`arcflux.load` takes, checks it, and ends as it should.

A run that is interrupted still has its last whole superstep, and an algorithm that is made of runs finishes with it as
if it had converged. Then the outermost call raises, so that a script stops, with the result on the exception.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
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

__all__ = ["graph_call", "interruptible", "is_interrupted", "note_interrupt"]

Options = ParamSpec("Options")
Answer = TypeVar("Answer")


class _UnderWay(threading.local):
    """The public call that a thread is in: how many are within each other, and whether Ctrl-C has ended a run."""

    depth = 0
    interrupted = False


_under_way = _UnderWay()


def note_interrupt() -> None:
    """A run of the public call that is under way has ended early, by Ctrl-C."""
    _under_way.interrupted = True


def is_interrupted() -> bool:
    """Whether the public call that is under way will raise."""
    return _under_way.interrupted


def interruptible(call: Callable[Options, Answer]) -> Callable[Options, Answer]:
    """Let a public call raise with its result if a run of it was interrupted.

    A KeyboardInterrupt from elsewhere (a native algorithm, or the second Ctrl-C) goes on with None as its result.
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


def _interrupt(result: Result) -> KeyboardInterrupt:
    """The Ctrl-C that was held back, with the result of the last whole superstep."""
    error = KeyboardInterrupt(f"{result.name} stopped after {result.supersteps} supersteps before it converged")
    error.__dict__["result"] = result
    return error


def graph_call(
    **rules: Rule | None,
) -> Callable[[Callable[Concatenate[Graph, Options], Answer]], Callable[..., Answer]]:
    """Make a public call of an algorithm.

    It takes a spec, a path or an object for its graph, checks its arguments (`rules`, as :func:`arcflux.checks.checked`
    has them), and ends as it should by Ctrl-C, by ``cancel=``, by ``timeout=`` and when memory runs out. What passes
    options on to a run leaves the time to it, whose last whole superstep is a result; a native algorithm, which has
    `**where`, raises.

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
    """Refuse an unknown argument by what the algorithm takes: it was passed on to a run, which knows only its own."""
    known = {*inspect.signature(algorithm).parameters, *inspect.signature(enter("run")).parameters}
    for name in options:
        if name not in known and str(error).partition("\n")[0].endswith((f"no parameter {name!r}", f"take {name}")):
            own = [one for one in inspect.signature(algorithm).parameters if one not in ("graph", "options", "where")]
            raise UsageError(
                f"{algorithm.__name__} does not take {name}",
                expected=f"its arguments ({', '.join(own) or 'none'}), or options that say how and where it runs",
                remedy=did_you_mean(name, [*own, *known], "leave it out"),
            ) from error
