"""Where Arcflux looks for its settings: the environment, read when asked, never at import."""

from __future__ import annotations

import atexit
import errno
import operator
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from arcflux.errors import SpaceError, UsageError

__all__ = [
    "RANK_NAMES", "bytes_of", "cache_folder", "distrust", "gpu_cores", "gpu_memory", "hang_seconds",
    "is_first_rank", "keep_runs", "keeps_runs", "measuring", "private_folder", "rank_and_size", "terminal_columns",
    "threads", "uses_planner", "verbose",
]  # fmt: skip

# What our own launcher, Open MPI, MPICH and Intel MPI, and Slurm with PMIx tell a process: its rank, and of how many.
RANK_NAMES = (
    ("ARCFLUX_RANK", "ARCFLUX_RANKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS"),
)  # fmt: skip
_OFF = ("0", "off", "no", "false")
_keeping: bool | None = None
_measuring = False


def rank_and_size() -> tuple[int, int] | None:
    """The rank of this process and how many there are, if mpiexec has started it; None otherwise.

    Examples
    --------
    >>> rank_and_size() is None
    True
    """
    for rank, size in RANK_NAMES:
        if rank in os.environ and os.environ[rank].isdecimal() and os.environ.get(size, "").isdecimal():
            return int(os.environ[rank]), int(os.environ[size])
    return None


def is_first_rank() -> bool:
    """Whether this process tells a person what all do, such as progress and warnings: of several ranks, the first.

    Examples
    --------
    >>> is_first_rank()
    True
    """
    return (rank_and_size() or (0, 1))[0] == 0


def terminal_columns() -> int | None:
    """How wide the terminal is to which the launcher shows what this rank writes to stderr; None without one."""
    given = os.environ.get("ARCFLUX_COLUMNS", "")
    return int(given) if given.isdecimal() and is_first_rank() and rank_and_size() is not None else None


def verbose() -> bool:
    """Whether what the launcher of ranks says about their end is shown as well: ``ARCFLUX_VERBOSE=1``."""
    return os.environ.get("ARCFLUX_VERBOSE", "").lower() not in ("", *_OFF)


def cores() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(asked: int | None = None) -> int:
    """How many workers to use: `asked`, else ``ARCFLUX_THREADS``, else the cores this process may run on.

    Examples
    --------
    >>> threads(3)
    3
    """
    given: int | str | None = asked if asked is not None else os.environ.get("ARCFLUX_THREADS") or None
    if given is None:
        return cores()
    try:
        count = int(given) if isinstance(given, str) else operator.index(given)
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= 4096:
        raise UsageError(
            f"threads is {given!r}",
            expected="a whole number from 1 to 4096",
            remedy="leave threads= and ARCFLUX_THREADS unset to use every core",
        )
    return count


def keep_runs(wanted: bool | None = True) -> None:
    """Say for this process whether runs are kept to predict others by; None leaves it to ``ARCFLUX_KEEP_RUNS``.

    Examples
    --------
    >>> keep_runs(False)
    >>> keeps_runs()
    False
    >>> keep_runs(None)
    """
    global _keeping
    _keeping = wanted


@contextmanager
def measuring() -> Iterator[None]:
    """Runs in here measure the machine: they are neither planned nor kept."""
    global _measuring
    before, _measuring = _measuring, True
    try:
        yield
    finally:
        _measuring = before


def keeps_runs() -> bool:
    """Whether runs are kept to predict others by: as :func:`keep_runs` said, else unless ``ARCFLUX_KEEP_RUNS=0``."""
    if _measuring or _keeping is not None:
        return bool(_keeping) and not _measuring
    return os.environ.get("ARCFLUX_KEEP_RUNS", "").lower() not in _OFF


def uses_planner() -> bool:
    """Whether runs ask the planner about what is left open: yes, unless ``ARCFLUX_PLAN=0``."""
    return not _measuring and os.environ.get("ARCFLUX_PLAN", "").lower() not in _OFF


def hang_seconds() -> float:
    """How long others wait for a rank that does nothing until it is said to hang: ``ARCFLUX_HANG_SECONDS``, else 20.

    Examples
    --------
    >>> hang_seconds()
    20.0
    """
    given = os.environ.get("ARCFLUX_HANG_SECONDS") or "20"
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 1e6:
        raise UsageError(f"ARCFLUX_HANG_SECONDS is {given!r}", expected="seconds, from 1 to 1000000")
    return seconds


def gpu_memory() -> int | None:
    """How many bytes of each GPU a run may take: ``ARCFLUX_GPU_MEMORY``, such as 6G or 800M; None without it.

    Examples
    --------
    >>> os.environ["ARCFLUX_GPU_MEMORY"] = "1.5G"
    >>> gpu_memory()
    1610612736
    >>> del os.environ["ARCFLUX_GPU_MEMORY"]
    """
    return _bytes_of("ARCFLUX_GPU_MEMORY")


def node_memory() -> int | None:
    """How many bytes of each node a run on parts may take: ``ARCFLUX_NODE_MEMORY``, such as 6G or 800M; None without.

    Examples
    --------
    >>> node_memory() is None
    True
    """
    return _bytes_of("ARCFLUX_NODE_MEMORY")


def _bytes_of(variable: str) -> int | None:
    given = os.environ.get(variable)
    return bytes_of(variable, given) if given else None


def bytes_of(name: str, given: str) -> int:
    """Bytes as a person says them, such as 800M or 6G.

    Examples
    --------
    >>> bytes_of("--memory", "2K")
    2048
    """
    number, power = (given[:-1], " KMGT".find(given[-1].upper())) if given[-1].isalpha() else (given, 0)
    try:
        size = float(number) * 1024.0**power if power >= 0 else 0.0
    except ValueError:
        size = 0.0
    if not 1 <= size <= 2**60:
        raise UsageError(f"{name} is {given!r}", expected="bytes, such as 800M or 6G")
    return int(size)


def gpu_cores() -> float | None:
    """How many cores a GPU counts for where both share work: ``ARCFLUX_GPU_CORES``; None without it.

    Examples
    --------
    >>> os.environ["ARCFLUX_GPU_CORES"] = "128"
    >>> gpu_cores()
    128.0
    >>> del os.environ["ARCFLUX_GPU_CORES"]
    """
    given = os.environ.get("ARCFLUX_GPU_CORES")
    if not given:
        return None
    try:
        count = float(given)
    except ValueError:
        count = 0.0
    if not 1e-3 <= count <= 1e6:
        raise UsageError(f"ARCFLUX_GPU_CORES is {given!r}", expected="how many cores a GPU counts for, such as 64")
    return count


def cache_folder(*names: str) -> Path:
    """The folder for compiled code: ``ARCFLUX_CACHE``, else ``arcflux`` in the user's cache folder; or one inside it.

    Compiled code is loaded back as code, so no other user may write there: folders are made with mode 0700, and
    one that belongs to another user, or that others can write to, is refused, since they may have left code in it.
    Where the default folder cannot be used (no home), one that lasts as long as this process takes its place.

    A folder that we can only read, of ours or of root's, is read: what is not in it is compiled for this process alone.
    So a folder that could not be made, for want of space or of the right to write, is named all the same: nothing is
    in it, and the error of the first write there says why.
    """
    named = os.environ.get("ARCFLUX_CACHE")
    if named:
        return _private(Path(named).expanduser(), *names)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return _private((Path(base) if base else Path.home() / ".cache") / "arcflux", *names)
    except (SpaceError, RuntimeError):
        return _private(_temporary(), *names)


def private_folder(folder: Path) -> Path:
    """A folder that only this user, or root, can write to, made with mode 0700 if it is not there; else an error."""
    return _private(folder)


# Why a folder could not be made, though nothing is wrong with where it would be: the disk is full.
_FULL = (errno.ENOSPC, errno.EDQUOT)
# The same for a folder inside one that is read.
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


def _private(folder: Path, *names: str, forgiven: tuple[int, ...] = _FULL) -> Path:
    """`folder`, or one inside it, made if it can be, and writable by this user or root alone."""
    try:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if error.errno in forgiven and not folder.exists():
                return folder.joinpath(*names)
            raise
        if reason := distrust(folder.stat()):
            raise PermissionError(reason)
        if not os.access(folder, os.R_OK | os.X_OK):
            raise PermissionError("it is not readable")
    except OSError as error:
        raise SpaceError(
            f"the cache folder {folder} cannot be used: {error}",
            expected="a folder that you own, and that you alone can write to",
            remedy="set ARCFLUX_CACHE to such a folder; a new one is made with the right mode",
        ) from error
    return _private(folder / names[0], *names[1:], forgiven=_FULL + _READ_ONLY) if names else folder


def distrust(found: os.stat_result) -> str:
    """Why a file or folder of the cache is not to be trusted; empty when only we, or root, can have written to it."""
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid not in (os.getuid(), 0):
        return f"it belongs to user {found.st_uid}"
    return "others can write to it" if found.st_mode & 0o022 else ""


@lru_cache(maxsize=1)
def _temporary() -> Path:
    folder, owner = Path(tempfile.mkdtemp(prefix="arcflux-")), os.getpid()

    def tidy() -> None:
        if os.getpid() == owner:  # not a forked child, whose parent goes on
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(tidy)
    return folder
