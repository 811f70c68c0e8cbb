"""The transports by name: adding one takes one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from arcflux.errors import UsageError, did_you_mean
from arcflux.extensions import extension, extension_names

__all__ = ["JOINED", "TRANSPORTS", "check_transport", "starter"]

# name -> module:function, which starts ranks: function(size, work, *, ranks_per_node, ends) returns the values of
# work(transport) on each of them. Other packages add theirs by an entry point (extensions.py): the name, and such a
# function.
TRANSPORTS = {
    "local": "arcflux.transports.local:run_local",
    "tcp": "arcflux.transports.tcp:run_tcp",
}
# A launcher starts ranks of these, and a process joins them (launch.py).
JOINED = ("mpi",)


def check_transport(name: Any) -> None:
    """Refuse an unknown name of a transport."""
    if name not in JOINED:
        starter(name)


def starter(name: Any) -> Callable[..., list[Any]]:
    """The function that starts the ranks of a transport.

    Examples
    --------
    >>> starter("local")(2, lambda ranks: ranks.rank)
    [0, 1]
    """
    if name in TRANSPORTS:
        module, _, function = TRANSPORTS[name].partition(":")
        start: Callable[..., list[Any]] = getattr(import_module(module), function)
        return start
    added: Callable[..., list[Any]] | None = extension("arcflux.transports", name) if isinstance(name, str) else None
    if added is None:
        known = [*TRANSPORTS, *JOINED, *extension_names("arcflux.transports")]
        raise UsageError(
            f"transport is {name!r}",
            expected=" or ".join(map(repr, known)),
            remedy=did_you_mean(str(name), known, "leave transport= out", "'{}'"),
        )
    return added
