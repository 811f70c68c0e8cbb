"""What a service may run: graphs by name under its roots, algorithms, and registered programs.

Nothing in a request is a path or code. Names are looked up in lists of the folders' contents, with links resolved: a
link that leads out of a root is not listed.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from arcflux.algorithms.registry import ALGORITHMS, Argument
from arcflux.applications.target import program_target, programs_in
from arcflux.errors import ArcfluxError, UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.io import load
from arcflux.jobs.tasks import task_of
from arcflux.program import Program, vertex

__all__ = ["Catalogue"]

# Options of runs that requests may contain.
_OPTIONS = {"deterministic": bool, "direction": str}
_HIDDEN = (".", "_")
_LONGEST = 10_000
# What identifies the state of a file: its inode number, its modification time in nanoseconds, and its size.
_Stamp = tuple[int, int, int]


class Catalogue:
    """Graphs, opened once and shared by all jobs, and tasks, by name."""

    def __init__(self, graphs: Sequence[Path] = (), programs: Sequence[Path] = (), opened: int = 8) -> None:
        self.roots = [_folder(root) for root in graphs]
        self.programs = {name: one for root in programs for name, one in _programs(_folder(root)).items()}
        self._open: dict[str, tuple[_Stamp, Graph]] = {}
        self._most = opened
        self._lock, self._loading = threading.Lock(), defaultdict[str, threading.Lock](threading.Lock)

    # --- graphs

    def graphs(self) -> dict[str, Path]:
        """The current graphs: files and stores in the roots, by name; unprintable names are left out."""
        paths: dict[str, Path] = {}
        for root in self.roots:
            for name in sorted(_names(root)):
                if (inside := _inside(root, name)) is not None:
                    paths.setdefault(name, inside)
        return paths

    def path(self, name: str) -> Path:
        """The path of a graph."""
        for root in self.roots:
            if name in _names(root) and (inside := _inside(root, name)) is not None:
                return inside
        paths = self.graphs()
        raise UsageError(
            f"there is no graph {name[:100]!r}", expected=f"one of: {', '.join(list(paths)[:20]) or 'none'}",
            remedy=did_you_mean(name[:100], paths),
        )  # fmt: skip

    def graph(self, name: str) -> Graph:
        """A graph by name, opened once, and again when its file has changed; the most recently used ones stay open."""
        path = self.path(name)
        stamp = _stamp(path)
        if (graph := self._opened(name, stamp)) is not None:
            return graph
        with self._lock:
            loading = self._loading[name]
        with loading:
            if (graph := self._opened(name, stamp)) is None:
                graph = _loaded(path, name)
                with self._lock:
                    self._open[name] = stamp, graph
                    while len(self._open) > self._most:
                        self._open.pop(next(iter(self._open)))
        return graph

    def is_open(self, name: str) -> bool:
        """Whether :meth:`graph` returns a graph at once."""
        return self._opened(name, _stamp(self.path(name))) is not None

    def opened(self) -> dict[str, Graph]:
        """The open graphs."""
        with self._lock:
            return {name: graph for name, (_, graph) in self._open.items()}

    def _opened(self, name: str, stamp: _Stamp) -> Graph | None:
        with self._lock:
            if (found := self._open.pop(name, None)) is None or found[0] != stamp:
                return None
            self._open[name] = found  # most recently used
            return found[1]

    # --- tasks

    @cached_property
    def tasks(self) -> dict[str, Mapping[str, Argument]]:
        """The parameters of every task, by name."""
        own = {name: program_target(program).arguments for name, program in self.programs.items()}
        return {**{name: entry.arguments for name, entry in ALGORITHMS.items()}, **own}

    def task(self, name: str) -> Any:
        """The argument of :meth:`arcflux.Jobs.submit` for a task of a name."""
        return self.programs.get(name, name)

    def check(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Refuse an unknown task, or parameters that it does not have or that are of another type."""
        tasks = self.tasks
        if name not in tasks:
            raise UsageError(
                f"there is no task {name[:100]!r}", expected=f"one of: {', '.join(tasks)}",
                remedy=did_you_mean(name[:100], tasks),
            )  # fmt: skip
        task_of(self.task(name), _NO_GRAPH, parameters)
        for key, value in parameters.items():
            argument = tasks[name].get(key)
            if argument is None and key not in _OPTIONS:
                raise UsageError(f"{key!r} cannot be set over the wire", expected=", ".join([*tasks[name], *_OPTIONS]))
            kind: Any = _OPTIONS[key] if argument is None else argument.kind
            if not _fits(value, kind, argument):
                raise UsageError(f"{key} is {str(value)[:80]!r}", expected=_wanted(kind, argument))


_NO_GRAPH: Any = None


def _loaded(path: Path, name: str) -> Graph:
    """A graph of a root; errors name it by its name, not by its path on this machine."""
    try:
        return load(path)
    except ArcfluxError as error:
        parts = {part: getattr(error, part).replace(str(path), name) for part in ("what", "expected", "remedy")}
        ArcfluxError.__init__(error, parts.pop("what"), **parts)
        raise


def _fits(value: Any, kind: Any, argument: Argument | None) -> bool:
    """Whether a JSON value can be a parameter."""
    if value is None:
        return argument is not None and argument.optional
    if argument is not None and argument.shares and isinstance(value, dict):
        return all(_is(share, float) for share in value.values())
    if argument is not None and argument.many:
        return isinstance(value, list) and len(value) <= _LONGEST and all(_is(one, kind) for one in value)
    return _is(value, kind)


def _is(value: Any, kind: Any) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind is vertex:
        return isinstance(value, str) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 64)
    if kind is int:
        return isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    if kind is float:
        return isinstance(value, (int, float)) and abs(value) < 1e300
    return isinstance(value, str) and len(value) <= _LONGEST


def _wanted(kind: Any, argument: Argument | None) -> str:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    one = words.get(kind, "the id of a vertex")
    return f"a list: {one}" if argument is not None and argument.many else one


def _folder(root: Path) -> Path:
    if not root.is_dir():
        raise UsageError(f"{root} is no folder", expected="a folder that is there")
    return root.resolve()


def _names(root: Path) -> list[str]:
    """The names in a root; none if it was moved away."""
    try:
        return os.listdir(root)
    except OSError:
        return []


def _inside(root: Path, name: str) -> Path | None:
    """The file of a name in a root, with links resolved; None if it is hidden, missing, or leads out of the root."""
    if name.startswith(_HIDDEN) or not name.isprintable():
        return None
    try:
        resolved = (root / name).resolve(strict=True)
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return None
    return resolved if resolved.is_relative_to(root) else None


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _programs(root: Path) -> dict[str, Program]:
    """The programs in the files of a folder, by the names of their classes."""
    programs: dict[str, Program] = {}
    for path in sorted(root.glob("*.py")):
        if path.name.startswith(_HIDDEN) or not path.resolve().is_relative_to(root):
            continue
        for name, program in programs_in(path)[2].items():
            if name in programs or name in ALGORITHMS:
                raise UsageError(f"{path}: there are two programs {name!r}", expected="a name of its own for each")
            programs[name] = program
    return programs


def describe(error: BaseException) -> str:
    """The error of a job as text for its owner: of errors that are not Arcflux's, the class and the message."""
    text = str(error) if isinstance(error, ArcfluxError) else f"{type(error).__name__}: {error}"
    return text.encode(errors="backslashreplace").decode()
