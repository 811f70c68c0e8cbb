"""One job: its request, its progress, and its outcome."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arcflux.checks import maybe, real, seconds, shown, whole
from arcflux.errors import CancelledError, UsageError
from arcflux.history import Superstep
from arcflux.result import Result
from arcflux.spmd.interrupt import CancelToken

__all__ = ["FINAL", "Job", "Limits", "Progress"]

FINAL = ("done", "failed", "cancelled")
# How many supersteps of a running job are kept for display.
_SHOWN = 512


@dataclass(frozen=True)
class Limits:
    """The limits of a job: seconds on the cores, bytes of its arrays, supersteps; and its deadline."""

    seconds: float | None = None
    memory: int | None = None
    supersteps: int | None = None
    deadline: float | None = None

    def checked(self) -> Limits:
        """The same limits, checked."""
        limits: dict[str, Any] = {}
        for name, value in vars(self).items():
            option = name if name == "deadline" else f"max_{name}"
            limits[name] = maybe(whole if name in ("memory", "supersteps") else real)(option, value)
            if value is not None and (isinstance(value, bool) or not limits[name] > 0):
                raise UsageError(f"{option} is {shown(value)}", expected="a number above 0")
        return Limits(**limits)


@dataclass(frozen=True)
class Progress:
    """The progress of a job: supersteps, the last frontier, seconds on the cores and of waiting, bytes."""

    supersteps: int = 0
    frontier: int = 0
    done: int = 0
    total: int = 0
    unit: str = ""
    seconds: float = 0.0
    waited: float = 0.0
    memory: int = 0


class _Token(CancelToken):
    """Cancelled by the user, by the deadline, or by the limit of seconds."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self._limits = limits
        self._end = None if limits.deadline is None else time.monotonic() + limits.deadline
        self.spent: Callable[[], float] = float

    @property
    def cancelled(self) -> bool:
        return self._event.is_set() or self.late or self.exhausted

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self._end is not None and time.monotonic() > self._end

    @property
    def exhausted(self) -> bool:
        """Whether the seconds on the cores are used up."""
        return self._limits.seconds is not None and self.spent() > self._limits.seconds

    @property
    def reason(self) -> str:
        if self._event.is_set():
            return "the job was cancelled"
        if self.late:
            return f"the job was not over at its deadline, after {self._limits.deadline:g} s"
        return f"the job has had the {self._limits.seconds:g} s on the cores that it may take"


def _nothing() -> None:
    """What cancelling a finished job does: nothing."""


@dataclass
class Job:
    """A job of :class:`arcflux.Jobs`. `state`: "queued", "waiting" (for memory), "running", then one of three for good:

    "done", "failed" or "cancelled". Times are of ``time.time()``.
    """

    number: int
    name: str
    parameters: Mapping[str, Any]
    priority: int = 0
    limits: Limits = field(default_factory=Limits)
    state: str = "queued"
    submitted: float = field(default_factory=time.time)
    started: float | None = None
    finished: float | None = None
    predicted: float | None = None
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.token = _Token(self.limits)
        self.history: deque[Superstep] = deque(maxlen=_SHOWN)
        self.work: Any = None  # set by the runtime
        self._progress: Callable[[], Progress] = Progress
        self._result: Result | None = None
        self.ended: Callable[[Job], None] | None = None
        self._over = threading.Event()
        self._cancel: Callable[[], None] = self.token.cancel

    @property
    def progress(self) -> Progress:
        """The current progress."""
        return self._progress()

    @property
    def is_over(self) -> bool:
        """Whether its state is final."""
        return self.state in FINAL

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is over, or for this many seconds; returns whether it is over."""
        return self._over.wait(seconds("timeout", timeout))

    def cancel(self) -> None:
        """End it: at once if it has not begun, else with its superstep. A finished job stays as it is."""
        self._cancel()

    def result(self, timeout: float | None = None) -> Result:
        """Wait for its result, the same as that of a call without jobs; or raise the error that ended it."""
        if not self.wait(timeout):
            raise TimeoutError(f"{self!r} is not over after {timeout:g} s")
        if self.error is not None:
            raise self.error
        assert self._result is not None
        return self._result

    def __repr__(self) -> str:
        return f"<Job {self.number}: {self.name}, {self.state}>"

    # --- calls of the runtime

    def begin(self, progress: Callable[[], Progress], spent: Callable[[], float]) -> None:
        """The job has begun to run."""
        self.state, self.started = "running", time.time()
        self._progress, self.token.spent = progress, spent

    def saw(self, supersteps: Sequence[Superstep]) -> None:
        """Record completed supersteps."""
        self.history.extend(supersteps)

    def end(self, result: Result | None, error: BaseException | None) -> None:
        """The job is over; the error names a limit that ended it, and has the last whole superstep's result."""
        if isinstance(error, CancelledError):
            cancelled = CancelledError(self.token.reason if self.token.cancelled else error.what)
            cancelled.result = error.result
            error = cancelled
        self._result, self.error, self.finished = result, error, time.time()
        final = self._progress()
        self._progress = lambda: final
        self.token.spent = float
        self._cancel = _nothing  # so that nothing but its users keeps the job and its result alive
        self.state = "done" if error is None else "cancelled" if isinstance(error, CancelledError) else "failed"

    def tell(self) -> None:
        """Call the callback for its end, then wake the waiting threads."""
        try:
            if self.ended is not None:
                self.ended(self)
        finally:
            self._over.set()
