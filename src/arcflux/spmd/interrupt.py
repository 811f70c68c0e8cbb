"""What ends work early: Ctrl-C, which is deferred to a safe point, cancel tokens of other threads, and timeouts."""

from __future__ import annotations

# What `signal` wraps: to make an enum member of each handler takes it as long as a small search.
import _signal  # type: ignore[import-not-found]
import ctypes
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

from arcflux.errors import CancelledError, UsageError

__all__ = [
    "CancelToken",
    "cancelling",
    "current_token",
    "ending_by_itself",
    "held",
    "raise_if_cancelled",
    "unless_over",
    "within_time",
]

Answer = TypeVar("Answer")
_GLANCE = 0.05
_SIGINT = int(signal.SIGINT)


class CancelToken:
    """Ends the calls it is passed to, from any thread: ``af.run(..., cancel=token)``, then ``token.cancel()``.

    A run ends with its superstep and raises :class:`~arcflux.errors.CancelledError`, whose `result` is that of the last
    whole superstep. One token may be passed to many calls, and stays cancelled.

    Examples
    --------
    >>> import arcflux as af
    >>> token = af.CancelToken()
    >>> token.cancel()
    >>> af.algorithms.triangles(af.load("complete:5"), cancel=token)
    Traceback (most recent call last):
    ...
    arcflux.errors.CancelledError: the call was cancelled
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """End all calls with this token, now or later."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._event.is_set()

    @property
    def reason(self) -> str:
        """Why calls with this token end, for the error."""
        return "the call was cancelled"

    def __repr__(self) -> str:
        return f"<CancelToken, {'cancelled' if self.cancelled else 'not cancelled'}>"


class _Deadline(CancelToken):
    """A token that is cancelled when its time is over, or when the enclosing token is."""

    def __init__(self, what: str, seconds: float, outer: CancelToken | None) -> None:
        super().__init__()
        self._what, self._seconds, self._outer = what, seconds, outer
        self._end = time.perf_counter() + seconds

    @property
    def cancelled(self) -> bool:
        return time.perf_counter() > self._end or (self._outer is not None and self._outer.cancelled)

    @property
    def reason(self) -> str:
        if self._outer is not None and self._outer.cancelled:
            return self._outer.reason
        return f"{self._what} was not over after {self._seconds:g} s, and has no result of a part of its work"


_token: ContextVar[CancelToken | None] = ContextVar("cancel", default=None)


def within_time(what: str, seconds: float | None) -> AbstractContextManager[None]:
    """Raise :class:`~arcflux.errors.CancelledError` in the block, at the next safe point after so many seconds."""
    return nullcontext() if seconds is None else _within_time(what, seconds)


@contextmanager
def _within_time(what: str, seconds: float) -> Iterator[None]:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise UsageError(f"timeout is {seconds!r}", expected="seconds, from 0 on")
    before = _token.set(_Deadline(what, seconds, _token.get()))
    try:
        raise_if_cancelled()
        yield
    finally:
        _token.reset(before)


def cancelling(token: CancelToken | None) -> AbstractContextManager[None]:
    """Let a token cancel the work of this thread in the block; None changes nothing."""
    return nullcontext() if token is None else _cancelling(token)


@contextmanager
def _cancelling(token: CancelToken) -> Iterator[None]:
    if not isinstance(token, CancelToken):
        raise UsageError(f"cancel is {token!r}", expected="an af.CancelToken()")
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


@contextmanager
def ending_by_itself() -> Iterator[None]:
    """Let no token cancel the work of this thread in the block: a run checks its token between supersteps.

    Otherwise the work between two supersteps (moving bounds of parts, collecting results) would raise, and the last
    whole superstep would be lost.
    """
    before = _token.set(None)
    try:
        yield
    finally:
        _token.reset(before)


def current_token() -> CancelToken | None:
    """The token that may cancel the work of this thread."""
    return _token.get()


def raise_if_cancelled() -> None:
    """Raise :class:`~arcflux.errors.CancelledError` if the call was cancelled."""
    token = _token.get()
    if token is not None and token.cancelled:
        raise CancelledError(token.reason)


class _Hold:
    """A handler of Ctrl-C that counts it, and raises from the second press on."""

    presses = 0

    def __call__(self, number: int, frame: Any) -> None:
        self.presses += 1
        if self.presses > 1:
            raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C while the block runs; the yielded function says whether it was pressed. A second press raises.

    Only where Python would raise KeyboardInterrupt: other threads never get one, and a handler of the user's (a
    debugger, a server) stays in place. A nested block shares the counter of the outer one.
    """
    before = _signal.getsignal(_SIGINT)
    hold = before if isinstance(before, _Hold) else _Hold()
    main = threading.current_thread() is threading.main_thread()
    if not main or isinstance(before, _Hold) or before is not signal.default_int_handler:
        yield lambda: main and hold.presses > 0
        return
    _signal.signal(_SIGINT, hold)
    try:
        yield lambda: hold.presses > 0
    finally:
        _signal.signal(_SIGINT, signal.default_int_handler)


class _Over(BaseException):
    """Raised within plain Python, which nothing else can stop from outside."""


def unless_over(call: Callable[[], Answer], over: Callable[[], bool] | None) -> Answer | None:
    """The value of a plain Python function; None if `over` became true meanwhile and the function was interrupted.

    Without `over` only Ctrl-C ends it.

    Examples
    --------
    >>> import time
    >>> end = time.perf_counter() + 0.1
    >>> unless_over(lambda: sum(k % 2 for k in range(10**15)), lambda: time.perf_counter() > end)
    """
    if over is None:
        return call()
    lock, thread = threading.Lock(), threading.get_ident()
    finished, sent = threading.Event(), False

    def watch() -> None:
        nonlocal sent
        while not finished.wait(_GLANCE):
            if over():
                with lock:
                    if not finished.is_set():
                        sent = True
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Over))
                return

    def settle() -> None:
        with lock:
            finished.set()
        while sent:  # it arrives between two bytecodes: here, if not before
            time.sleep(0.001)

    try:
        threading.Thread(target=watch, name="arcflux-watch", daemon=True).start()
        try:
            answer = call()
        except _Over:
            raise
        except BaseException:
            settle()
            raise
        settle()
        return answer
    except _Over:
        return None
    finally:
        finished.set()
