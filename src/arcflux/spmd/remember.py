"""Type inference that remembers: a kernel has hundreds of the same operation on the same types; one is resolved.

Numba's compiler and numba.cuda's are two copies of one, with typing contexts and types of their own, which are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["remembered"]


@contextmanager
def remembered(context: Any, kinds: Any, known: dict[Any, Any]) -> Iterator[None]:
    """Have a typing context keep in `known` what functions of these kinds are on which types."""
    if "resolve_function_type" in vars(context):  # a function that another one calls is compiled on the way
        yield
        return
    resolve = context.resolve_function_type

    def resolved(function: Any, args: Any, kws: Any) -> Any:
        if kws or not isinstance(function, kinds):
            return resolve(function, args, kws)
        key = function, tuple(args)
        if (found := known.get(key)) is None:
            found = resolve(function, args, kws)
            if found is not None:
                known[key] = found
        return found

    context.resolve_function_type = resolved
    try:
        yield
    finally:
        del context.resolve_function_type
