"""The ways to run inside Spark, by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arcflux.errors import UsageError, did_you_mean

__all__ = ["WAYS", "checked_way"]


def _attached(session: Any, *, device: str, packing: str, slices: int | None, workers: int | None) -> Any:
    from arcflux.spark.attached import Plug

    if workers is not None:
        raise UsageError(f"workers is {workers!r}, and the way is 'attached'", remedy="way='barrier'")
    return Plug(session, device=device, packing=packing, slices=slices)


def _barrier(session: Any, *, device: str, packing: str, slices: int | None, workers: int | None) -> Any:
    from arcflux.spark.barrier import BarrierPlug

    if (device, packing, slices) != ("cpu", "auto", None):
        raise UsageError(
            "device, packing or slices is given, and the way is 'barrier': its tasks compute, on cores, and keep what "
            "they have", remedy="leave them away, or way='attached'",
        )  # fmt: skip
    return BarrierPlug(session, workers=workers)


def _faithful(session: Any, *, device: str, packing: str, slices: int | None, workers: int | None) -> Any:
    from arcflux.spark.faithful import FaithfulPlug

    if (packing, slices) != ("auto", None):
        raise UsageError("packing or slices is given, and the way is 'faithful'", remedy="leave them away")
    return FaithfulPlug(session, workers=workers, daemons=[device])


WAYS: dict[str, Callable[..., Any]] = {"attached": _attached, "barrier": _barrier, "faithful": _faithful}


def checked_way(way: Any) -> None:
    """Refuse what is no way."""
    if not isinstance(way, str) or way not in WAYS:
        raise UsageError(f"way is {way!r}", expected=" or ".join(map(repr, WAYS)), remedy=did_you_mean(str(way), WAYS))
