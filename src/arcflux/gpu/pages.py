"""Memory of the node that a device is to see where it is: what the driver can lock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["lockable"]

Array = NDArray[Any]


def lockable(array: Array) -> Array:
    """The same memory as an array that may be written to, as the driver wants it; of a file's pages, a copy.

    Arrays of a graph are read-only, and kernels only read them. The driver locks pages of memory, and none of a file.

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
    memory.owner = array  # which lives as long as the result does
    found: Array = np.frombuffer(memory, array.dtype).reshape(array.shape)
    return found


def _of_file(array: Any) -> bool:
    """Whether the memory is a file's, as that of a graph from a store is."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False
