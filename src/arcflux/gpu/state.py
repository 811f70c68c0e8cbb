"""Arrays of the host and their device side: the same pages, mapped, or copies that are kept in sync.

A mirrored array has a copy in the device's memory. The side that wrote last is ahead, and the other is updated on
demand: before a kernel that uses the array, or when the host declares that it will read (`fetch`). A mapped array is
the same memory for both. A slice of either corresponds to the same slice on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.gpu import api

__all__ = ["State"]

Array = NDArray[Any]


@dataclass
class _Twin:
    """An array of the host, its device side, which one is ahead, and whether rows belong to other ranks."""

    host: Array
    device: Any
    mapped: bool
    ahead: str = "host"
    shared: bool = False
    views: dict[tuple[int, int, str], Any] = field(default_factory=dict)
    opened: Any = None

    @property
    def begin(self) -> int:
        return int(self.host.__array_interface__["data"][0])

    def has(self, array: Array) -> bool:
        """Whether an array is a part of this one."""
        place = int(array.__array_interface__["data"][0])
        return self.begin <= place and place + array.nbytes <= self.begin + self.host.nbytes


class State:
    """The arrays of a run on a device. `own`: the rows of shared arrays that only this rank writes."""

    def __init__(self) -> None:
        self.twins: list[_Twin] = []
        self.constant: dict[int, tuple[Array, Any]] = {}
        self.own: Array | None = None
        self.copied = 0

    def mirror(self, host: Array, shared: bool = False) -> None:
        """Keep a copy of an array on the device; of a shared one, only own rows come back."""
        self.forget(host)
        self.twins.append(_Twin(host, api.empty(host.shape, host.dtype), False, shared=shared))

    def adopt(self, host: Array, known: dict[int, Any], shared: bool = False) -> None:
        """Mirror an array of which another phase of the run has a mirror: both use the first one's copy on the device.

        `known`: the copies so far, by array.
        """
        if id(host) in known:
            self.twins.append(known[id(host)])
        else:
            self.mirror(host, shared)
            known[id(host)] = self.twins[-1]

    def adopt_mapped(self, host: Array, known: dict[int, Any]) -> None:
        """Map an array that another phase of the run may have mapped: its pages are mapped once."""
        if id(host) in known:
            self.twins.append(known[id(host)])
        else:
            self.map(host)
            known[id(host)] = self.twins[-1]

    def map(self, host: Array) -> None:
        """Let the device access the host's own pages."""
        self.forget(host)
        device, opened = api.mapped(host)
        self.twins.append(_Twin(host, device, True, opened=opened))

    def keep(self, host: Array) -> None:
        """Copy an array that never changes."""
        if id(host) not in self.constant:
            self.constant[id(host)] = (host, api.to_device(host))
            self.copied += host.nbytes

    def forget(self, host: Array) -> None:
        """Drop the device side of an array."""
        for twin in self.twins:
            if twin.host is host and twin.opened is not None:
                twin.opened.__exit__(None, None, None)
                twin.opened = None  # another phase may have it, too
        self.twins = [twin for twin in self.twins if twin.host is not host]
        self.constant.pop(id(host), None)

    def device(self, array: Array, dtype: Any = None, writes: bool = True) -> Any:
        """The kernel argument for an array: its device side, a slice of that, or a copy made for this launch."""
        if id(array) in self.constant:
            return self.constant[id(array)][1]
        twin = self._twin(array)
        if twin is None:
            self.copied += array.nbytes
            return api.to_device(array)
        if not twin.mapped:
            if twin.ahead == "host" and twin.host.size:
                twin.device.copy_to_device(twin.host)
                self.copied += twin.host.nbytes
                twin.ahead = "both"
            if writes:
                twin.ahead = "device"
        return self._view(twin, array, dtype)

    def _view(self, twin: _Twin, array: Array, dtype: Any) -> Any:
        if array.shape == twin.host.shape and dtype is None:
            return twin.device
        begin = (int(array.__array_interface__["data"][0]) - twin.begin) // max(1, twin.host.strides[0])
        key = begin, len(array), str(dtype)
        if key not in twin.views:
            part = twin.device[begin : begin + len(array)]
            twin.views[key] = part if dtype is None else part.view(dtype)
        return twin.views[key]

    def _twin(self, array: Array) -> _Twin | None:
        for twin in self.twins:
            if twin.has(array) and twin.host.dtype == array.dtype:
                return twin
        return None

    def fetch(self, *arrays: Array) -> None:
        """The host will read these arrays (all of them, if none is named)."""
        for twin in self._named(arrays):
            if twin.mapped or twin.ahead != "device" or not twin.host.size:
                continue
            if twin.shared and self.own is not None:
                there = twin.device.copy_to_host()
                twin.host[self.own] = there[self.own]
            else:
                twin.device.copy_to_host(twin.host)
            self.copied += twin.host.nbytes
            twin.ahead = "both"

    def changed(self, *arrays: Array) -> None:
        """The host has written these arrays (all of them, if none is named)."""
        for twin in self._named(arrays):
            twin.ahead = "host"

    def zero(self, array: Array) -> None:
        """Set an array to zero, in place."""
        twin = self._twin(array)
        if twin is None or twin.mapped or twin.ahead == "host" or not array.size:
            array[:] = 0
        else:
            part = self._view(twin, array, None)
            part.copy_to_device(np.zeros(array.shape, array.dtype))
            twin.ahead = "device"

    def _named(self, arrays: tuple[Array, ...]) -> list[_Twin]:
        if not arrays:
            return self.twins
        twins = [self._twin(array) for array in arrays]
        return [twin for twin in twins if twin is not None]

    def close(self) -> None:
        """Release all memory of the device."""
        for twin in list(self.twins):
            self.forget(twin.host)
        self.constant.clear()
