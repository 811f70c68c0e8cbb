"""Every exception a user can meet, each with what was given, what was expected, and what to try next.

The class decides the exit code of the command line (docs/reference/cli.md lists them), so a script can tell a bad file
from a full disk without reading text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "ArcfluxError",
    "CancelledError",
    "ChecksumError",
    "DeviceError",
    "FormatError",
    "GraphError",
    "IdError",
    "MissingExtraError",
    "ProgramError",
    "RankError",
    "ServiceError",
    "SpaceError",
    "SpecError",
    "StoreError",
    "UsageError",
    "ValidationError",
    "VersionError",
    "WeightError",
    "WholeGraphError",
]


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "", form: str = "{}") -> str:
    """A remedy for an unknown name: the known one that looks most like it, in a form, or else what to do.

    Examples
    --------
    >>> did_you_mean("pagrank", ["bfs", "pagerank"]), did_you_mean("x", ["pagerank"], "leave it out")
    ('did you mean pagerank?', 'leave it out')
    """
    names = {name.lower(): name for name in known}
    near = get_close_matches(str(word)[:60].lower(), names, n=1)
    return f"did you mean {form.format(names[near[0]])}?" if near else otherwise


class ArcfluxError(Exception):
    """The root of all errors that Arcflux raises on purpose.

    Parameters
    ----------
    what
        What was given and what is wrong with it, in one sentence.
    expected
        What would have been right.
    remedy
        What the user can type or change next.

    Examples
    --------
    >>> print(ArcfluxError("3 columns given", expected="2", remedy="drop one"))
    3 columns given
      expected: 2
      try: drop one
    """

    exit_code = 1

    def __init__(self, what: str, *, expected: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        lines = [self.what]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.remedy:
            lines.append(f"  try: {self.remedy}")
        return "\n".join(lines)


class UsageError(ArcfluxError, ValueError):
    """An argument has a value that no call accepts."""

    exit_code = 2


class WholeGraphError(UsageError):
    """Edges were asked for that other ranks have: the graph was built in parts, none of which sees all of it."""


class SpecError(UsageError):
    """A generator spec such as ``kron:20,ef=8`` cannot be read."""


class FormatError(ArcfluxError, ValueError):
    """A file, or an object that stands for a graph, is not what its format says.

    `path` and `line` (counted from 1, 0 when a line makes no sense) are attributes, and start the message.
    """

    exit_code = 3

    def __init__(
        self, what: str, *, path: str | os.PathLike[str] = "", line: int = 0, expected: str = "", remedy: str = ""
    ) -> None:
        place = os.fspath(path) + (f":{line}" if line else "")
        super().__init__(f"{place}: {what}" if place else what, expected=expected, remedy=remedy)
        self.path = os.fspath(path)
        self.line = line


class StoreError(FormatError):
    """A store folder is incomplete, of a newer version, or not a store."""


class ChecksumError(StoreError):
    """A store's bytes are not the bytes that were written."""


class GraphError(ArcfluxError, ValueError):
    """Edges, columns or options do not make a graph, or not one that an algorithm can take."""

    exit_code = 4


class IdError(GraphError, KeyError):
    """A vertex id is not in the graph, or cannot be an id."""


class WeightError(GraphError):
    """An edge weight that the caller cannot take: NaN, infinite, negative or missing."""


class SpaceError(ArcfluxError, OSError):
    """Memory or disk is not enough, or a folder cannot be written; nothing half-written is left behind."""

    exit_code = 5


class MissingExtraError(ArcfluxError, ImportError):
    """An optional package is needed; the remedy names the extra to install."""

    exit_code = 6

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed",
            remedy=f"pip install 'arcflux[{extra}]'" if extra else f"pip install {package}",
        )
        self._given = package, extra, purpose

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


class VersionError(ArcfluxError, ImportError):
    """A package that Arcflux needs is too old, or does not fit the others; the remedy says what to install."""

    exit_code = 12


class ValidationError(ArcfluxError):
    """A result breaks the rules it was checked against; `report` tells which, and where."""

    exit_code = 7
    report: Any = None


class ProgramError(ArcfluxError):
    """A vertex program that cannot be compiled: the line, the reason, and what to write instead."""

    exit_code = 8

    def __init__(
        self,
        what: str,
        *,
        program: str = "",
        path: str = "",
        line: int = 0,
        text: str = "",
        expected: str = "",
        remedy: str = "",
    ) -> None:
        place = f"{path}:{line}: " if path and line else ""
        shown = f"\n    {text}" if text else ""
        whole = f"{place}{program + ': ' if program else ''}{what}{shown}"
        super().__init__(whole, expected=expected, remedy=remedy)
        self.reason = what
        self.path = path
        self.line = line


class RankError(ArcfluxError):
    """A rank was killed, hangs, or has thrown, and the whole run ends with it.

    `rank` and `superstep` say where; `trace` is the traceback that the rank itself saw, when it threw.
    """

    exit_code = 9

    def __init__(
        self, what: str, *, rank: int = -1, superstep: int = -1, trace: str = "", expected: str = "", remedy: str = ""
    ) -> None:
        when = f" in superstep {superstep}" if superstep >= 0 else " before the first superstep"
        place = f"rank {rank} {what}{when}" if rank >= 0 else what
        super().__init__(f"{place}\n{trace.rstrip()}" if trace else place, expected=expected, remedy=remedy)
        self.reason = what
        self.rank = rank
        self.superstep = superstep
        self.trace = trace


class DeviceError(ArcfluxError, RuntimeError):
    """A GPU cannot be used, or has failed: no driver, no device, a driver too old, a device that is busy."""

    exit_code = 10


class CancelledError(ArcfluxError):
    """A :class:`arcflux.CancelToken` ended the call.

    `result` is what a run of a program had after its last whole superstep, marked as not converged; None where there is
    no such thing.
    """

    exit_code = 11
    result: Any = None


class ServiceError(ArcfluxError):
    """A server of jobs refused, or could not be reached; `status` is that of HTTP, 0 if it did not answer."""

    exit_code = 13
    status = 0
