"""Where Arcflux looks for its settings: the environment, read when asked, never at import."""

from __future__ import annotations

import os
import stat
import tempfile
from functools import lru_cache
from pathlib import Path

from arcflux.errors import SpaceError, UsageError

__all__ = ["cache_folder", "threads"]


def threads(asked: int | None = None) -> int:
    """How many workers to use: `asked`, else ``ARCFLUX_THREADS``, else the cores this process may run on.

    Examples
    --------
    >>> threads(3)
    3
    """
    given: int | str | None = asked if asked is not None else os.environ.get("ARCFLUX_THREADS") or None
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        count = int(given)
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= 4096:
        raise UsageError(
            f"threads is {given!r}",
            expected="a whole number from 1 to 4096",
            remedy="leave threads= and ARCFLUX_THREADS unset to use every core",
        )
    return count


def cache_folder() -> Path:
    """The folder for compiled code: ``ARCFLUX_CACHE``, else ``arcflux`` in the user's cache folder.

    Compiled code is loaded back as code, so nobody else may write there: the folder is made with mode 0700, and one
    that belongs to somebody else or is open to others is refused. Where the default folder cannot be made (no home,
    read-only disk), a private folder for this process takes its place.
    """
    named = os.environ.get("ARCFLUX_CACHE")
    if named:
        return _private(Path(named).expanduser())
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return _private((Path(base) if base else Path.home() / ".cache") / "arcflux")
    except (SpaceError, RuntimeError):
        return _temporary()


def _private(folder: Path) -> Path:
    """`folder`, made if need be, and sure to be writable by its owner alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if hasattr(os, "getuid"):
            if found.st_uid != os.getuid():
                raise PermissionError(f"it belongs to user {found.st_uid}")
            if stat.S_IMODE(found.st_mode) & 0o077:
                folder.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("it is not writable")
    except OSError as error:
        raise SpaceError(
            f"the cache folder {folder} cannot be used: {error}",
            expected="a folder that you own and can write to",
            remedy="set ARCFLUX_CACHE to such a folder",
        ) from error
    return folder


@lru_cache(maxsize=1)
def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="arcflux-"))
