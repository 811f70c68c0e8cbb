"""Memory that the processes of a machine share, and that needs no cleanup.

The pages have no name in any file system: one process creates them, the others open them through that process. They
return to the system with the last process that maps them, even if all are killed; a shared window of MPI has a name in
/dev/shm, which stays if no process is left to remove it.
"""

from __future__ import annotations

import math
import mmap
import os

import numpy as np
from numpy.typing import DTypeLike

from arcflux.errors import SpaceError
from arcflux.spmd.memory import Array

__all__ = ["adopt", "mapped", "offer"]


def offer(size: int) -> int:
    """New pages for `size` bytes, all zero; a file descriptor of this process."""
    try:
        descriptor = os.memfd_create("arcflux", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, max(size, 1))
    except OSError as error:
        raise _refused(size, error) from error
    return descriptor


def adopt(process: int, descriptor: int) -> int:
    """The pages that another process of this user has created; a file descriptor of this process."""
    path = f"/proc/{process}/fd/{descriptor}"
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise SpaceError(
            f"the shared memory {path} of another rank cannot be opened: {error}",
            expected="that ranks of one machine, of one user, see each other's processes",
            remedy="start all ranks of a machine in the same container",
        ) from error


def mapped(descriptor: int, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """An array on such pages, which keeps them alive; closes the descriptor."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    try:
        block = mmap.mmap(descriptor, max(size, 1))
    except (OSError, ValueError) as error:
        raise _refused(size, error) from error
    finally:
        os.close(descriptor)
    return np.frombuffer(block, kind, math.prod(shape)).reshape(shape)


def _refused(size: int, error: Exception) -> SpaceError:
    return SpaceError(
        f"{size:,} bytes of shared memory are not to be had: {error}",
        remedy="a smaller graph, or a machine with more memory",
    )
