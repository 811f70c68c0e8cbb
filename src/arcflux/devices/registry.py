"""Devices besides cores and GPUs, by name: adding one takes one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from arcflux.devices.base import Device
from arcflux.extensions import extension

__all__ = ["DEVICES", "Opener", "opener"]

Opener: TypeAlias = Callable[[str, "int | None"], list[Device]]

# name -> module:function, which returns the devices of a name: function(text, threads), where text is what follows the
# colon. Other packages add theirs by an entry point (extensions.py): the name, and such a function.
DEVICES = {"virtual": "arcflux.devices.virtual:open_devices"}


def opener(name: str) -> Opener | None:
    """The function that opens the devices of a name; None for cores, for GPUs, and for unknown names.

    Examples
    --------
    >>> [device.slowdown for device in opener("virtual")("1,2.5", None)]
    [1.0, 2.5]
    """
    if name in ("auto", "cpu", "cuda"):
        return None
    if name in DEVICES:
        module, _, function = DEVICES[name].partition(":")
        built_in: Opener = getattr(import_module(module), function)
        return built_in
    added: Opener | None = extension("arcflux.devices", name)
    return added
