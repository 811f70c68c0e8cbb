"""Two decorators: :func:`kernel` for what :func:`arcflux.spmd.pool.run` launches, :func:`inner` for what kernels call.

Kernels are cached on disk in the owner-only cache folder. A cached kernel is fresh while its own file and the files of
this folder have the same content; so a kernel calls inner functions of its own module or of this folder alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator

from arcflux import config, trace

__all__ = ["inner", "kernel"]


@lru_cache(maxsize=1)
def _shared_stamp() -> bytes:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


class _Locator(InTreeCacheLocator):
    """Keeps a module's compiled kernels in a folder of the cache named by the module and its path."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = str(config.cache_folder() / "kernels" / self.get_suitable_cache_subpath(py_file))

    def get_source_stamp(self) -> Any:
        return super().get_source_stamp() + _shared_stamp()


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - Numba's own attribute


class _Cache(FunctionCache):
    """Numba's cache, in our folder, that says so when it has to compile."""

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., None]) -> None:
        super().__init__(function)
        self._function = function.__name__

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            trace.note(f"compiling {self._function} (once per machine)")
        return found


def kernel(function: Callable[..., None]) -> Any:
    """Compile ``function(worker, workers, control, ...)`` without the GIL, on first use, cached on disk."""
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    compiled._cache = _Cache(function)

    def ready(*args: Any) -> None:
        """Compile for these arguments now, in this thread."""
        compiled.compile(tuple(numba.typeof(arg) for arg in args))

    compiled.ready = ready
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call; it is inlined into them."""
    return numba.njit(nogil=True, error_model="numpy")(function)
