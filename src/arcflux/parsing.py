"""Python text as syntax trees, whichever thread asks.

Before 3.12, CPython counts how deep it is in a tree in one place for all threads: when it collects garbage while it
makes a tree, another thread may parse meanwhile, and both raise "AST constructor recursion depth mismatch". So ours
take turns, and where a thread that is not ours came between, the text is parsed again.
"""

from __future__ import annotations

import ast
import threading
from contextlib import suppress

__all__ = ["parse", "parse_expression"]

_turn = threading.Lock()
_MOST_TRIES = 100


def parse(text: str) -> ast.Module:
    """The tree of a module's text.

    Examples
    --------
    >>> len(parse("x = 1\\ny = 2").body)
    2
    """
    for _ in range(_MOST_TRIES):
        with suppress(SystemError), _turn:
            return ast.parse(text)
    with _turn:
        return ast.parse(text)


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
