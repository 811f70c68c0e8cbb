"""The transports by name: one line each, and nothing else to touch when one is added."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from arcflux.errors import UsageError, did_you_mean
from arcflux.extensions import extension, extension_names

__all__ = ["JOINED", "TRANSPORTS", "check_transport", "starter"]

# name -> module:function, which starts ranks: function(size, work, *, ranks_per_node, ends) gives what work(transport)
# returned on each of them. Other packages add theirs by an entry point (extensions.py): the name, and such a function.
TRANSPORTS = {
    "local": "arcflux.transports.local:run_local",
    "tcp": "arcflux.transports.tcp:run_tcp",
}
# Ranks of these are started by a launcher, and a process joins them (launch.py).
JOINED = ("mpi",)


def check_transport(name: Any) -> None:
    """Refuse what is no name of a transport."""
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
