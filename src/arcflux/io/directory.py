"""A folder that is read through one descriptor: all of it is from one folder, whatever its name means by now.

A writer replaces a store by exchanging names (replace.py), and never touches files that others may have mapped. So a
reader that found its files through the descriptor of one folder has files that belong together, and keeps them as they
were when the folder is gone from the disk; the old one may be removed while its files are being opened, and then the
reader begins again with the new one.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from arcflux.errors import StoreError
from arcflux.io.replace import recover

__all__ = ["Directory", "read_folder"]

T = TypeVar("T")

_TRIES = 100


class Directory:
    """An open folder; closed with the last reference to it."""

    def __init__(self, path: Path, *, inside: Directory | None = None) -> None:
        """Open the folder `path`; or the one of that name inside another, which then is no symbolic link."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        if inside is None:
            self.path, self.descriptor = path, os.open(path, flags)
        else:
            self.path = inside.path / path
            self.descriptor = os.open(path, flags | os.O_NOFOLLOW, dir_fd=inside.descriptor)
        weakref.finalize(self, os.close, self.descriptor)

    def open(self, name: str) -> IO[bytes]:
        """A file of the folder, to be read: a plain one, not a link to elsewhere or a pipe without a writer."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise self._no_plain_file(name) from error
            raise
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        raise self._no_plain_file(name)

    def _no_plain_file(self, name: str) -> StoreError:
        return StoreError(
            "this is no plain file",
            path=self.path / name,
            expected="a file of the folder, no link, pipe or device",
            remedy="copy what it stands for into its place",
        )

    def is_replaced(self) -> bool:
        """Whether the name of the folder means another one by now, or none."""
        try:
            return not os.path.samestat(os.fstat(self.descriptor), os.stat(self.path))
        except OSError:
            return True


def read_folder(path: Path, what: str, remedy: str, read: Callable[[Directory], T]) -> T:
    """What `read` makes of the folder `path`; asked again when the folder was replaced in the meantime.

    `what` it should be and the `remedy` are for the error when there is no such folder.
    """
    for left in reversed(range(_TRIES)):
        recover(path)
        try:
            directory = Directory(path)
        except OSError as error:
            if left and isinstance(error, FileNotFoundError) and os.path.lexists(path):
                continue
            raise _no_folder(path, what, remedy, error) from error
        try:
            return read(directory)
        except StoreError:
            if not left or not directory.is_replaced():
                raise
    raise AssertionError("the last try returns or raises")


def _no_folder(path: Path, what: str, remedy: str, error: OSError) -> StoreError:
    if isinstance(error, FileNotFoundError):
        said = f"no such {what}"
    else:
        said = f"this is not a {what}" + ("" if isinstance(error, NotADirectoryError) else f": {error.strerror}")
    return StoreError(said, path=path, expected="a folder with a manifest.json", remedy=remedy)
