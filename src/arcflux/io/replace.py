"""How a file or a folder takes the place of another: written under a hidden name beside it, exchanged when it is whole.

Whoever looks at the name sees the old one or the new one, never none and never half of one: Linux exchanges two names
in one step (``renameat2``). Where the file system cannot, the old folder is set aside for the moment between two
renames; should the writer be killed in that moment, :func:`recover` brings it back for the next reader. Hidden names
are locked by their writer (``flock``, which ends with the process), so the next writer can tell what a killed
one left behind, and removes it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from arcflux.errors import ArcfluxError, SpaceError

__all__ = ["recover", "replacing", "sync"]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_TRIES = 100
# How long a folder that was set aside is given to be replaced by the writer that did it.
_MOMENT = 0.05


@contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A hidden neighbour of `path` to write to, which takes its place at the end, or is removed if anything goes wrong.

    A full disk or a folder that cannot be written becomes a :class:`~arcflux.errors.SpaceError`. SIGTERM ends the
    process as it would, after the neighbour was removed.
    """
    work = _hidden(path, "new")  # named before it is made: Ctrl-C may come at any time
    with _tidy_when_terminated():
        lock, outcome = -1, "nothing was changed"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = _make(work, folder)
            _sweep(path)
            yield work
            sync(work)
            _put_in_place(work, path, folder)
            outcome = "it is there, and may not survive a power cut"
            sync(path.parent)
        except OSError as error:
            if isinstance(error, ArcfluxError):
                raise
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise SpaceError(
                f"{path} cannot be written: {error.strerror or error}; {outcome}",
                remedy="free some space, or write to another disk" if full else "write to a folder that is yours",
            ) from error
        finally:
            _remove(work)
            if lock >= 0:
                os.close(lock)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk itself; some file systems and folders do not know how."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:  # a folder that can be written and not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
    finally:
        os.close(descriptor)


def recover(path: Path) -> None:
    """Bring a folder back whose writer was killed after it had set it aside, and before the new one was in place."""
    until = time.monotonic() + _MOMENT
    while not os.path.lexists(path) and (aside := _beside(path, "old")):
        if time.monotonic() > until:
            with suppress(OSError):  # another process was faster, or the folder is not ours to write to
                os.rename(max(aside, key=_changed), path)
            return
        time.sleep(_MOMENT / 10)


def _make(work: Path, folder: bool) -> int:
    """Make the hidden neighbour, and lock it: the descriptor that has the lock, -1 where there are no locks."""
    if folder:
        work.mkdir()
    else:
        work.touch(exist_ok=False)
    descriptor = os.open(work, os.O_RDONLY | os.O_CLOEXEC)
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    os.close(descriptor)
    return -1


def _put_in_place(work: Path, path: Path, folder: bool) -> None:
    """Give `work` the name `path`; a folder that had it gets the name `work`, or is removed."""
    if not folder:
        os.replace(work, path)
        return
    for _ in range(_TRIES):
        try:
            if not os.path.lexists(path):
                os.rename(work, path)
            elif not _exchange(work, path):
                _swap(work, path)
            return
        except OSError as error:  # noqa: PERF203 - another process put a folder there, or took it away
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT) or not os.path.lexists(work):
                raise
    raise OSError(errno.EBUSY, "others replace it all the time")


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system or the file system cannot."""
    library: Any = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    names = os.fsencode(one), os.fsencode(other)
    if library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _swap(work: Path, path: Path) -> None:
    """Put a new folder in the place of an old one by two renames; :func:`recover` mends a kill between them."""
    aside = _hidden(path, "old")
    try:
        os.replace(path, aside)
        os.replace(work, path)
    finally:  # also after Ctrl-C: whatever happened, one of the two is in place
        if not os.path.lexists(path):
            os.replace(aside, path)
        _remove(aside)


def _sweep(path: Path) -> None:
    """Remove what writers of `path` left behind when they were killed."""
    for left in _beside(path, "new"):
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # By now the writer may have exchanged names: then what it locked is no longer what is here.
                if os.path.samestat(os.fstat(descriptor), os.lstat(left)) and _is_old_enough(left):
                    _remove(left)
            finally:
                os.close(descriptor)
    if os.path.lexists(path):
        for left in _beside(path, "old"):
            _remove(left)


def _is_old_enough(left: Path) -> bool:
    """A neighbour is made before it is locked: one that is not locked is left alone in its first second."""
    return abs(time.time() - _changed(left)) > 1


def _changed(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _beside(path: Path, kind: str) -> list[Path]:
    """The hidden neighbours of `path` that are there."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    start = _prefix(path, kind)
    return [path.parent / name for name in names if name.startswith(start)]


def _hidden(path: Path, kind: str) -> Path:
    """A hidden name next to `path`, unused and not to be guessed; the suffixes stay, for they say how to pack."""
    return path.parent / f"{_prefix(path, kind)}{secrets.token_hex(8)}{''.join(path.suffixes[-2:])}"


def _prefix(path: Path, kind: str) -> str:
    """How the hidden names of `path` start; two long names that start alike have different ones."""
    digest = hashlib.sha256(path.name.encode(errors="surrogatepass")).hexdigest()  # text that no file can have, too
    return f".{path.name[:50]}.{digest[:8]}.{kind}."


def _remove(path: Path) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        path.unlink()


class _Terminated(BaseException):
    """SIGTERM came while something was written."""


@contextmanager
def _tidy_when_terminated() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C would, and then the process as it always does, unless it is handled."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not ours:
        yield
        return

    def end(number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one does not disturb the tidying
        raise _Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
