"""What a reader hands over, and how a writer writes: the contract between the formats and io/__init__.py.

A format is a module with ``read(path, *, threads) -> Loaded``, or ``open_graph(path) -> Graph`` when the file holds a
finished graph, and when it can be written, ``write(graph, path)``. Adding one is one line in io/__init__.py.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arcflux.errors import FormatError, did_you_mean
from arcflux.graph.edges import Edges
from arcflux.io.replace import replacing

__all__ = ["Loaded", "existing", "near_file", "replacing"]


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


def near_file(path: Path, otherwise: str) -> str:
    """What was meant by the name of a file that is not there: one of the same folder, or else what to do."""
    neighbours: list[str] = []
    with suppress(OSError):
        neighbours = os.listdir(path.parent)
    return did_you_mean(path.name, neighbours[:10_000], otherwise)


def existing(path: Path) -> Path:
    """`path`, which has to be a file that can be read, with something in it."""
    if not os.path.exists(path):
        raise FormatError("no such file", path=path, remedy=near_file(path, "check the spelling; paths are relative to "
                          "where you stand"))  # fmt: skip
    if os.path.isdir(path):
        raise FormatError("this is a folder", path=path, expected="a file")
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FormatError("this is no plain file", path=path, expected="a file, not a pipe or a device",
                          remedy="write what it gives to a file first")  # fmt: skip
    if not os.access(path, os.R_OK):
        raise FormatError("the file may not be read", path=path, remedy=f"chmod u+r {path}, or ask its owner")
    if path.stat().st_size == 0:
        raise FormatError("the file is empty", path=path, expected="at least one edge, or a vertex count")
    return path
