"""What a reader hands over, and how a writer writes: the contract between the formats and io/__init__.py.

A format is a module with ``read(path, *, threads) -> Loaded``, or ``open_graph(path) -> Graph`` when the file holds a
finished graph, and when it can be written, ``write(graph, path)``. Adding one is one line in io/__init__.py.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arcflux.errors import ArcfluxError, FormatError, SpaceError
from arcflux.graph.edges import Edges

__all__ = ["Loaded", "existing", "replacing"]


@dataclass
class Loaded:
    """Edges as a source gave them, and what the source says or the reader assumed about them.

    `edges` hold ids (integers or text), not yet vertex numbers; `vertices` is a count, a range, a list of ids, or None,
    as in :meth:`arcflux.Graph.from_edges`; `assumptions` are short sentences for the user. The one about direction
    starts with "directed" or "undirected": it is left out when the user gives the direction.
    """

    edges: Edges
    directed: bool = True
    vertices: Any = None
    assumptions: list[str] = field(default_factory=list)


def existing(path: Path) -> Path:
    """`path`, which has to be a file that can be read, with something in it."""
    if not os.path.exists(path):
        raise FormatError("no such file", path=path, remedy="check the spelling; paths are relative to where you stand")
    if path.is_dir():
        raise FormatError("this is a folder", path=path, expected="a file")
    if not os.access(path, os.R_OK):
        raise FormatError("the file may not be read", path=path, remedy=f"chmod u+r {path}, or ask its owner")
    if path.stat().st_size == 0:
        raise FormatError("the file is empty", path=path, expected="at least one edge, or a vertex count")
    return path


@contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to, renamed to `path` at the end, removed when anything goes wrong.

    A full disk or a folder that cannot be written becomes a :class:`~arcflux.errors.SpaceError`.
    """
    work = _neighbour(path)  # named before it is made: Ctrl-C may come at any time
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if folder:
            work.mkdir()
        else:
            work.touch(exist_ok=False)
        yield work
        if folder and path.exists():
            _swap(work, path)
        else:
            os.replace(work, path)
    except OSError as error:
        if isinstance(error, ArcfluxError):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise SpaceError(
            f"{path} cannot be written: {error.strerror or error}; nothing was changed",
            remedy="free some space, or write to another disk" if full else "write to a folder that is yours",
        ) from error
    finally:
        if os.path.isdir(work):
            shutil.rmtree(work)
        elif os.path.exists(work):
            work.unlink()


def _swap(work: Path, path: Path) -> None:
    """Put a new folder in the place of an old one, which disappears only when the new one is there."""
    aside = _neighbour(path)
    try:
        aside.mkdir()
        os.replace(path, aside / "old")
        os.replace(work, path)
    finally:  # also after Ctrl-C: whatever happened, one of the two is in place
        if not path.exists():
            os.replace(aside / "old", path)
        shutil.rmtree(aside, ignore_errors=True)


def _neighbour(path: Path) -> Path:
    """A hidden name next to `path` that nobody has or guesses; the suffixes stay, for they say how to pack."""
    return path.parent / f".{path.name[:50]}.{secrets.token_hex(8)}{''.join(path.suffixes[-2:])}"
