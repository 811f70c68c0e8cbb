"""Cores of this machine, which work in its memory."""

from __future__ import annotations

from arcflux import config
from arcflux.devices.base import Device

__all__ = ["CPU"]


class CPU(Device):
    """So many cores, at their own speed; by default all of them.

    Examples
    --------
    >>> cpu = CPU(threads=2)
    >>> with cpu.timed() as took:
    ...     total = sum(range(1000))
    >>> took.seconds > 0
    True
    """

    def __init__(self, threads: int | None = None, name: str = "cpu") -> None:
        super().__init__(name, config.threads(threads))
