"""The files of daemons: an owner-only folder with a socket, a token and a lock for each device.

A daemon is named by its device, such as ``cpu``, ``virtual:2`` or ``cuda:0``, and by a number if one device has
several: ``cpu#1``. It holds its lock as long as it lives, so that there is only one, however many processes ask at
once.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arcflux import config
from arcflux.errors import UsageError
from arcflux.spmd.private import read_private, write_private

__all__ = ["Place", "reached_by_descriptor"]

_NAME = re.compile(r"[a-z][a-z0-9]*(:[0-9.]+)?(#[0-9]{1,4})?\Z")


@dataclass(frozen=True)
class Place:
    """The files of one daemon.

    Examples
    --------
    >>> Place.of("virtual:2#1").device
    'virtual:2'
    """

    folder: Path
    name: str

    @classmethod
    def of(cls, name: str = "cpu", folder: str | os.PathLike[str] | None = None) -> Place:
        """The place of a daemon by its name, in `folder` or ``ARCFLUX_PLUG``."""
        if not isinstance(name, str) or not _NAME.match(name):
            raise UsageError(f"a daemon is called {name!r}", expected="a device, such as 'cpu', 'virtual:2' or 'cuda:0'"
                             ", and '#1' and so on behind it where it has several")  # fmt: skip
        given = folder if folder is not None else os.environ.get("ARCFLUX_PLUG")
        return cls(config.private_folder(Path(given).expanduser()) if given else config.cache_folder("plug"), name)

    @property
    def device(self) -> str:
        """The name of its device."""
        return self.name.partition("#")[0]

    @property
    def socket(self) -> Path:
        """The socket on which it listens."""
        return self.folder / f"{self.name}.socket"

    @property
    def lock(self) -> Path:
        """The lock that it holds while it lives."""
        return self.folder / f"{self.name}.lock"

    @property
    def log(self) -> Path:
        """Its stderr since its last start."""
        return self.folder / f"{self.name}.log"

    def token(self) -> str:
        """The token of agents: created once for a folder, readable by its owner only."""
        path = self.folder / "token"
        with self.held(self.folder / "token.lock"):
            found = read_private(path)
            if found is None or len(found) != 64:
                found = secrets.token_hex(32).encode()
                write_private(path, found)
        return found.decode()

    @contextmanager
    def held(self, path: Path) -> Iterator[None]:
        """Hold a lock; others wait meanwhile."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def claim(self) -> int | None:
        """The daemon's own lock, for as long as the descriptor is open; None if another daemon has it."""
        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


@contextmanager
def reached_by_descriptor(path: Path) -> Iterator[str]:
    """A path of a socket that is short enough, however deep its folder is: a Unix address has 107 bytes."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
