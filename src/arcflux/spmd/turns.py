"""Turns of several runs that share the cores of one process: a run asks before each launch of a kernel.

A scheduler (``arcflux.jobs``) decides; without one a run has the cores at any time. A launch of many supersteps can be
asked to end with the current one (:data:`~arcflux.spmd.pool.BRIEF`), and continues at its next turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numpy.typing import NDArray

__all__ = ["Turns", "current_turns", "taking_turns"]


class Turns:
    """The interface of a run to its scheduler. This base class grants everything.

    `waited`: seconds that the run has waited for its turns so far.
    """

    waited = 0.0

    def take(self, workers: int, control: NDArray[Any], shrinks: bool) -> int:
        """Wait for a turn on so many workers; returns how many it gets, fewer only if the launch `shrinks`."""
        return workers

    def leave(self) -> None:
        """End the turn: the launch is over."""

    def saw(self, first: int, supersteps: Sequence[Any]) -> None:
        """Report supersteps of the run, from number `first` on."""

    def charge(self, nbytes: int) -> None:
        """Charge so many bytes of arrays to the run; a negative number releases them."""


_turns: ContextVar[Turns | None] = ContextVar("turns", default=None)


def current_turns() -> Turns | None:
    """The scheduler's turns for the run of this thread; None if it has the cores alone."""
    return _turns.get()


@contextmanager
def taking_turns(turns: Turns) -> Iterator[None]:
    """Run the block under these turns.

    Examples
    --------
    >>> with taking_turns(Turns()) as _:
    ...     current_turns() is not None
    True
    """
    before = _turns.set(turns)
    try:
        yield
    finally:
        _turns.reset(before)
