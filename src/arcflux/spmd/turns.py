"""Whose turn it is, where several runs share the cores of one process: a run asks before each launch of a kernel.

Somebody else decides (``arcflux.jobs``); without it a run has the cores whenever it wants them. A launch of many
supersteps can be told to end with the one in hand (:data:`~arcflux.spmd.pool.BRIEF`), and goes on at its next turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numpy.typing import NDArray

__all__ = ["Turns", "current_turns", "taking_turns"]


class Turns:
    """What a run asks, and tells, that is one of several. This one lets it do what it likes.

    `waited`: seconds that it has waited for its turns so far.
    """

    waited = 0.0

    def take(self, workers: int, control: NDArray[Any], shrinks: bool) -> int:
        """Wait for a turn on so many workers; how many it may have, fewer only where the launch `shrinks`."""
        return workers

    def leave(self) -> None:
        """The launch is over."""

    def saw(self, first: int, supersteps: Sequence[Any]) -> None:
        """These supersteps of the run are done, from number `first` on."""

    def charge(self, nbytes: int) -> None:
        """The run takes so many bytes for its arrays; below 0, it gives them back."""


_turns: ContextVar[Turns | None] = ContextVar("turns", default=None)


def current_turns() -> Turns | None:
    """What the run of this thread has to ask for its turns; None when it is alone."""
    return _turns.get()


@contextmanager
def taking_turns(turns: Turns) -> Iterator[None]:
    """Let what this thread runs in the block take turns.

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
