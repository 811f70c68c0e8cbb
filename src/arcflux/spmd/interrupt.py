"""Ctrl-C while work must not be torn: it is noted, and the work ends at its next good place."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["held"]


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Hold Ctrl-C back while the block runs; what it yields says whether it was pressed. A second press is not held.

    Only where Python would raise KeyboardInterrupt: another thread never gets one, and whoever has a handler of his own
    (a debugger, a server) keeps it.
    """
    presses = 0

    def note(number: int, frame: Any) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            raise KeyboardInterrupt

    mine = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if mine:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: presses > 0
    finally:
        if mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)
