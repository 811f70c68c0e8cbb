"""The way in: runs a command, and leaves with the exit code of the error's class."""

from __future__ import annotations

import io
import os
import select
import sys
from bdb import BdbQuit  # q at a breakpoint()
from typing import Any, NoReturn

import click

from arcflux.cli.base import commands
from arcflux.cli.output import INTERRUPTED, describe_error, print_json, print_notice
from arcflux.cli.ranks import is_silent, tells
from arcflux.cli.words import translate
from arcflux.errors import ArcfluxError, SpaceError

__all__ = ["main"]

# As if the signal had ended the process, as it does with other programs in front of `| head`.
_CLOSED_PIPE = 128 + 13


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with the code of the error's class."""
    given = sys.argv[1:] if arguments is None else arguments
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no blocks shows question marks
    try:
        code = commands.main(given, standalone_mode=False, obj=given)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except BrokenPipeError as error:
        if not _is_closed(sys.stdout):
            _explain(error, given)
        _leave_quietly()
    except SystemExit:
        if _is_closed(sys.stdout):  # click has seen it first
            _leave_quietly()
        raise
    except (click.exceptions.Abort, KeyboardInterrupt, BdbQuit, ArcfluxError, MemoryError, OSError) as error:
        if not tells(error):
            sys.exit(_code(error))
        _explain(error, given)
    except click.ClickException as error:
        if is_silent():
            sys.exit(error.exit_code)
        error.show()
        _fail("UsageError", error.format_message(), error.exit_code, given, shown=True)


def _is_closed(stream: Any) -> bool:
    """Whether a stream is a pipe whose reader is gone."""
    try:
        looked = select.poll()
        looked.register(stream.fileno(), select.POLLOUT)
        return any(events & select.POLLERR for _, events in looked.poll(0))
    except (AttributeError, OSError, ValueError):  # no such call here, or no file behind the stream
        return False


def _leave_quietly() -> NoReturn:
    """Leave when the reader of a pipe has gone, such as `head`: it has what it wanted."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the rest of the buffer goes
    sys.exit(_CLOSED_PIPE)


def _code(error: BaseException) -> int:
    """The exit code for an error: of several ranks, mpiexec leaves with that of the one that ended first."""
    if isinstance(error, ArcfluxError):
        return error.exit_code
    return SpaceError.exit_code if isinstance(error, (MemoryError, OSError)) else INTERRUPTED


def _explain(error: BaseException, given: list[str]) -> NoReturn:
    """Say what went wrong, as the class of the error wants it, and leave."""
    code = _code(error)
    if isinstance(error, ArcfluxError):
        error.expected, error.remedy = translate(error.expected), translate(error.remedy)
        _fail(type(error).__name__, str(error), code, given, error)
    if isinstance(error, MemoryError):
        _fail("SpaceError", "not enough memory for this graph", code, given)
    if isinstance(error, OSError):
        _fail("SpaceError", str(error), code, given)
    _fail("Interrupted", "interrupted; nothing half-written is left", code, given)


def _fail(
    kind: str, text: str, code: int, given: list[str], error: ArcfluxError | None = None, shown: bool = False
) -> NoReturn:
    """Say what went wrong, on stderr and, when JSON is asked for, also on stdout; and leave with the exit code."""
    if "--json" in given:
        print_json({"error": describe_error(kind, text, code, error)})
    if not shown:
        print_notice(text)
    sys.exit(code)
