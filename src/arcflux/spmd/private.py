"""Files of the cache, written for their owner alone and read only if nobody else can have changed them; and modules.

A module of generated source is made of the text in memory: neither its file nor what Python would compile beside it
(``__pycache__``) is read back, so nothing on the disk can make it another one.
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
    """What is in a file that only its owner, we or root, can write to; None when there is no such file."""
    try:
        with open(path, "rb", opener=_opened) as file:
            about = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(about.st_mode) and not config.distrust(about) else None
    except OSError:
        return None


def _opened(path: str, flags: int) -> int:
    """A descriptor of what is there itself, not of what it links to; of a pipe, without waiting for its other end."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Make a file of its owner's alone, whole or not at all: others see the one before until it is there."""
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
    """Loads a module from a source in memory, whatever the file says that was written of it for whoever looks."""

    def __init__(self, source: str, path: Path) -> None:
        self.text, self.source, self.path = source, source.encode(), path

    def get_source(self, fullname: str) -> str:
        """The source, also for tracebacks when there is no file."""
        return self.text

    def get_filename(self, fullname: str) -> str:
        """Where the file is, or would be."""
        return str(self.path)
