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
