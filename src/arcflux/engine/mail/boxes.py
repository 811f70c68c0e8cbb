"""The arrays of one kind of mail on one rank: what its vertices send and receive; both grow as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.devices import Device
from arcflux.mail import Mail
from arcflux.spmd.memory import empty, require

__all__ = ["Box"]

Array = NDArray[Any]

# Arrays grow to this multiple of what is needed, so that they rarely grow again.
_SLACK = 1.5


class Box:
    """One kind of mail.

    begins: uint64[boxes + 1], where the arrived records of each vertex begin; into: an array for each part of these;
    cursor: uint64[vertices + 1], where the sent records of each vertex begin; to: int64, their receivers; out: an array
    for each part of them; sent: their number.
    """

    def __init__(self, name: str, declared: Mail, vertices: int, boxes: int, device: Device) -> None:
        self.name, self.device = name, device
        self.dtypes = [kind.dtype for kind in declared.parts.values()]
        self.begins: Array = np.zeros(boxes + 1, np.uint64)
        self.cursor: Array = np.zeros(vertices + 1, np.uint64)
        self.to: Array = np.zeros(1, np.int64)
        self.out: list[Array] = [np.zeros(1, dtype) for dtype in self.dtypes]
        self.into: list[Array] = [np.zeros(1, dtype) for dtype in self.dtypes]
        self.sent = 0
        self._held = 0
        self._hold()

    @property
    def outbox(self) -> list[Array]:
        """The arrays that kernels write records into."""
        return [self.to, *self.out]

    @property
    def arrays(self) -> list[Array]:
        """All arrays, as kernel arguments."""
        return [self.begins, *self.into, self.cursor, *self.outbox]

    def make_room(self) -> None:
        """Turn the counts of each vertex into offsets (a prefix sum), and make room."""
        counts = self.cursor[:-1].copy()
        self.cursor[0] = 0
        np.cumsum(counts, out=self.cursor[1:])
        self.sent = int(self.cursor[-1])
        if self.sent > len(self.to):
            self.to, *self.out = self._grown(self.sent, [np.dtype(np.int64), *self.dtypes])
            self._hold()

    def expect(self, count: int) -> None:
        """Make room for this many arriving records."""
        if count > len(self.into[0]):
            self.into = self._grown(count, self.dtypes)
            self._hold()

    def _grown(self, count: int, dtypes: list[Any]) -> list[Array]:
        size = int(count * _SLACK) + 1024
        require(size * sum(dtype.itemsize for dtype in dtypes), f"{count:,} records of the mail {self.name}")
        return [empty(size, dtype) for dtype in dtypes]

    def _hold(self) -> None:
        """Count the arrays in the device's memory."""
        nbytes = sum(array.nbytes for array in self.arrays)
        self.release()
        self.device.hold(nbytes, f"the mail {self.name}")
        self._held = nbytes

    def release(self) -> None:
        """Uncount them."""
        self.device.release(self._held)
        self._held = 0
