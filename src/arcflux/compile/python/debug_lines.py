"""What names mean in a line for the debugger (``print(round(u.rank, 3))``): what programs mean, else Python's own.

Programs have `max`, `round`, `math` and some others of their own (numbers.py), which take what kernels take. A line for
the debugger may also hand them a list, a second argument, or ask ``np`` for what no program can call.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from arcflux.compile.python.numbers import KNOWN

__all__ = ["CHOOSING", "in_debug_line"]

# `min` and `max` of programs: vectors.py fills them in, which needs rewritten helpers, and so this module.
CHOOSING: dict[str, Callable[..., Any]] = {}


def in_debug_line(name: str, names: Mapping[str, Any], *, called: bool) -> Any:
    """What a name means there, or None where it means the same in all lines; `names` are those of the module.

    Examples
    --------
    >>> in_debug_line("round", {}, called=True)(2.567, 2), in_debug_line("int", {}, called=False)
    (2.57, <class 'int'>)
    """
    if name in names:
        value = names[name]
        modules = isinstance(value, ModuleType) and value.__name__ in ("math", "numpy")
        return _Module(KNOWN["math"], value) if modules else None
    own, plain = _own(name), getattr(builtins, name, None)
    if own is None or plain is None:
        return None
    return _either(own, plain) if called else plain


def _own(name: str) -> Callable[..., Any] | None:
    """The function of programs that has the name of a built-in."""
    if name in ("min", "max"):
        return CHOOSING[name]
    return KNOWN.get(name)


class _Module:
    """`math` or `numpy` with all its names; those that programs may call are theirs first."""

    def __init__(self, own: Any, module: ModuleType) -> None:
        self._own, self._module = own, module

    def __getattr__(self, name: str) -> Any:
        plain = getattr(self._module, name)
        own = getattr(self._own, name, plain)
        return _either(own, plain) if callable(own) and own is not plain else own


def _either(own: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of programs; Python's for arguments that it does not take."""

    def call(*given: Any, **named: Any) -> Any:
        given = tuple(list(x) if isinstance(x, Iterator) else x for x in given)
        if len(given) == 1 and plain in (min, max):
            return plain(*given, **named)  # of the elements of a vector, which a program cannot ask for
        try:
            return own(*given, **named)
        except (AttributeError, TypeError):
            return plain(*given, **named)

    return call
