"""Ctrl-C held back."""

import os
import signal

import pytest

from arcflux.spmd.interrupt import held


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_press_is_noted_and_the_second_raises():
    with held() as pressed:
        assert not pressed()
        press()
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        press()


def test_a_hold_within_a_hold_is_the_same():
    """So what gathers results holds Ctrl-C as well as the run does whose results they are."""
    with held() as outside:
        press()
        with held() as inside:
            assert inside()
            with pytest.raises(KeyboardInterrupt):
                press()
        assert outside()
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_someone_else_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with held() as pressed:
            press()
            assert not pressed()
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
