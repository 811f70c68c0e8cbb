"""Kinds of values in a spec, and how to read one from text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["NUMBER", "RANGE", "WHOLE", "WORD", "YES_OR_NO", "Value"]

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(f"({_NUMBER})-({_NUMBER})")
_DIGITS = 20
_ANSWERS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Value:
    """A kind of value: its place in the form of a spec, what is expected there, and how to read it.

    `read` raises a ValueError when the text is no such value.
    """

    place: str
    expected: str
    read: Callable[[str], Any]


def _whole(text: str) -> int:
    if not re.fullmatch(f"[+-]?[0-9]{{1,{_DIGITS}}}", text):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> float:
    if not re.fullmatch(_NUMBER, text):
        raise ValueError(text)
    return float(text)


def _yes_or_no(text: str) -> bool:
    if text.lower() not in _ANSWERS:
        raise ValueError(text)
    return _ANSWERS[text.lower()]


def _range(text: str) -> tuple[float, float]:
    found = _RANGE.fullmatch(text)
    if not found:
        raise ValueError(text)
    read = _number if re.search("[.eE]", text) else _whole
    return read(found[1]), read(found[2])


WHOLE = Value("N", f"a whole number of at most {_DIGITS} digits", _whole)
NUMBER = Value("X", "a number", _number)
YES_OR_NO = Value("yes|no", "yes or no", _yes_or_no)
RANGE = Value("LOW-HIGH", "two numbers, the low one first, such as 1-255 or 0.0-1.0", _range)
WORD = Value("WORD", "a word", str)
