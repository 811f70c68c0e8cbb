"""Cache files that only their owner writes, read only if no other user can have changed them; and modules.

A module of generated source is executed from the text in memory: neither its file nor Python's compiled copy
(``__pycache__``) is read back, so no file on disk can change it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from importlib.abc import ExecutionLoader
from pathlib import Path

from arcflux import config

__all__ = ["Generated", "read_private", "write_private"]


def read_private(path: str | os.PathLike[str]) -> bytes | None:
    """The content of a file that only its owner (this user or root) can write to; None if there is no such file."""
    try:
        with open(path, "rb", opener=_opened) as file:
            about = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(about.st_mode) and not config.distrust(about) else None
    except OSError:
        return None


def _opened(path: str, flags: int) -> int:
    """Open the file itself, without following a link; a pipe without waiting for its other end."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file with access for its owner only, atomically: others see the old one until the new one is complete."""
    handle, work = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(work, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(work)
        raise


class Generated(ExecutionLoader):
    """Loads a module from a source in memory; its file is only for people to read."""

    def __init__(self, source: str, path: Path) -> None:
        self.text, self.source, self.path = source, source.encode(), path

    def get_source(self, fullname: str) -> str:
        """The source, also for tracebacks if there is no file."""
        return self.text

    def get_filename(self, fullname: str) -> str:
        """The path of the file, which may not exist."""
        return str(self.path)
