"""Node memory that a device accesses directly: pages that the driver can lock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["lockable"]

Array = NDArray[Any]


def lockable(array: Array) -> Array:
    """The same memory as a writable array, as the driver requires; for pages of a file, a copy.

    Arrays of a graph are read-only, and kernels only read them. The driver locks pages of memory, but not of a file.

    Examples
    --------
    >>> graph = np.arange(4)
    >>> graph.flags.writeable = False
    >>> found = lockable(graph)
    >>> found.flags.writeable, np.shares_memory(found, graph)
    (True, True)
    """
    if array.flags.writeable or not array.nbytes:
        return array
    if _of_file(array):
        return array.copy()
    memory: Any = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array  # keeps it alive as long as the result
    pages: Array = np.frombuffer(memory, array.dtype).reshape(array.shape)
    return pages


def _of_file(array: Any) -> bool:
    """Whether the memory is a file's, like that of a graph from a store."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False
