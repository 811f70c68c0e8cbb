"""Type inference with a cache: a kernel has hundreds of the same operation on the same types; each is resolved once.

Numba's compiler and numba.cuda's are two copies of one, with their own typing contexts and types, which are parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["remembered"]


@contextmanager
def remembered(context: Any, kinds: Any, known: dict[Any, Any]) -> Iterator[None]:
    """Let a typing context cache in `known` the types of functions of these kinds."""
    if "resolve_function_type" in vars(context):  # a nested compilation of a called function uses the same cache
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
