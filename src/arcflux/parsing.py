"""Python text as syntax trees, whichever thread asks.

Before 3.12, CPython counts how deep it is in a tree in one place for all threads: when it collects garbage while it
makes a tree, another thread may parse meanwhile, and both raise "AST constructor recursion depth mismatch". So ours
take turns, and where a thread that is not ours came between, the text is parsed again.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["in_turn", "parse", "parse_expression"]

Answer = TypeVar("Answer")

_turn = threading.Lock()
_MOST_TRIES = 100


def in_turn(call: Callable[[], Answer]) -> Answer:
    """What a call returns that parses Python's text; it is made again if another thread parsed meanwhile.

    Examples
    --------
    >>> in_turn(lambda: ast.literal_eval("(1, 2)"))
    (1, 2)
    """
    for _ in range(_MOST_TRIES):
        with suppress(SystemError), _turn:
            return call()
    with _turn:
        return call()


def parse(text: str) -> ast.Module:
    """The tree of a module's text.

    Examples
    --------
    >>> len(parse("x = 1\\ny = 2").body)
    2
    """
    return in_turn(lambda: ast.parse(text))


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression's text.

    Examples
    --------
    >>> ast.unparse(parse_expression("(v_x) + 1"))
    'v_x + 1'
    """
    (line,) = parse(text).body
    assert isinstance(line, ast.Expr)
    return line.value
