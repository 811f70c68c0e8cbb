"""Decorators: :func:`kernel` for what :func:`arcflux.spmd.pool.run` launches, :func:`inner` for what kernels call.

Kernels are cached on disk in the owner-only cache folder. A cached kernel is valid while its own file and the files of
this folder have the same content; so a kernel may only call inner functions of its own module or of this folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from arcflux import config, requirements, trace
from arcflux.spmd.blas import look_later
from arcflux.spmd.memory import require, within_memory

with within_memory("loading the compiler"):
    numba = requirements.load("numba")
    from numba.core import caching
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

from arcflux.spmd.pipeline import Lean
from arcflux.spmd.private import Generated
from arcflux.spmd.sealed import SealedCacheFile

__all__ = ["Careful", "Locator", "borrowed", "fragment", "inner", "kernel", "kernel_with_lock"]

look_later()

# Without Numba's reference counts, which are atomic operations within hot loops (parsing text took three times as long
# with them). So a kernel cannot allocate: its scratch arrays are arguments. And without the wrapper for C callers,
# which takes time to compile.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True, "pipeline_class": Lean}


_ROOT = Path(__file__).parent.parent


def borrowed(path: Path) -> tuple[str, ...]:
    """The other rooms whose inner functions the kernels of a file of this package may call.

    Examples
    --------
    >>> borrowed(_ROOT / "algorithms" / "components" / "cuda.py")
    ('gpu',)
    """
    return ("gpu",) if path.name == "cuda.py" or path.parent.name == "gpu" else ()


# Bytes that must be available before a kernel is compiled: LLVM ends the whole process when it gets none.
_COMPILING = 192 << 20


@lru_cache
def _shared_stamp(rooms: tuple[str, ...]) -> bytes:
    """The digest of a kernel's sources besides its own file: this room, and those that it borrows from."""
    digest = hashlib.sha256(numba.__version__.encode())
    for folder in (Path(__file__).parent, *(_ROOT / name for name in rooms)):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


# Numba before 0.66 has the class under a private name.
_InTreeCacheLocator: Any = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator


class Locator(_InTreeCacheLocator):
    """Stores a module's compiled kernels in a folder of the cache named by the module and its path.

    `borrows`: the rooms whose inner functions they call, for a module outside of this package.
    """

    borrows: tuple[str, ...] = ()

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._loader = py_func.__globals__.get("__loader__")
        self._cache_path = str(self._folder())

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """A locator, even if nothing can be written or the source has no file: cached kernels may still be read."""
        return cls(py_func, py_file)

    def _folder(self) -> Path:
        return config.cache_folder("kernels", self.get_suitable_cache_subpath(self._py_file))

    def ensure_cache_path(self) -> None:
        """Create the folder again if it was removed meanwhile, with the mode of ours."""
        self._folder()

    def get_source_stamp(self) -> Any:
        """The digest of the kernels' sources."""
        path = Path(self._py_file)
        rooms = borrowed(path) if path.is_relative_to(_ROOT) else self.borrows
        source = self._loader.source if isinstance(self._loader, Generated) else Path(self._py_file).read_bytes()
        return hashlib.sha256(source).digest() + _shared_stamp(rooms)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [Locator]  # noqa: RUF012 - Numba's own attribute


class Careful:
    """A cache of Numba's, for cores or GPUs, that reports when it has to compile.

    An entry is only trusted if it is sealed (sealed.py) and its signature fits: two processes that fill the cache at
    once can leave one's code under the other's signature.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        super().__init__(function)  # type: ignore[call-arg]
        self._function = function.__name__
        self._cache_file: Any = SealedCacheFile.of(self._cache_file)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The cached code for these types, if it is intact; None, and a note, if it has to be compiled."""
        try:
            code = super().load_overload(sig, target_context)  # type: ignore[misc]
        except Exception:  # no seal, or whatever code of another machine raises
            code = None
            with suppress(OSError):
                self.flush()  # type: ignore[attr-defined]
        if code is None or tuple(code.signature.args) != tuple(sig):
            trace.compiling(self._function)
            return None
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the code, if that is possible."""
        try:
            super().save_overload(sig, data)  # type: ignore[misc]
        except Exception as error:  # a full or read-only disk: the compiled code is used anyway
            trace.note(f"the compiled {self._function} could not be kept: {error}")


class _Cache(Careful, FunctionCache):
    _impl_class = _CacheImpl


def kernel(function: Callable[..., None]) -> Any:
    """Compile ``function(worker, workers, control, ...)`` without the GIL, on first use, cached on disk."""
    return _cached(function, _OPTIONS)


def kernel_with_lock(function: Callable[..., None]) -> Any:
    """The same for functions that read Python objects: they hold the GIL, so only one thread may call them."""
    return _cached(function, {**_OPTIONS, "nogil": False})


def _cached(function: Callable[..., None], options: dict[str, Any]) -> Any:
    compiled = numba.njit(**options)(function)
    compiled._cache = _Cache(function)
    known = set()

    def ready(*args: Any) -> None:
        """Compile for these arguments now, in this thread. Numba takes long to see that it has done so before."""
        kinds = tuple(map(_kind, args))
        if kinds not in known:
            require(_COMPILING, f"compiling {function.__name__}")
            compiled.compile(tuple(numba.typeof(arg) for arg in args))
            known.add(kinds)

    compiled.ready = ready
    return compiled


def _kind(arg: Any) -> Any:
    """What arguments of the same type have in common, computed faster than the type."""
    return (arg.dtype, arg.ndim, arg.flags.num) if type(arg) is np.ndarray else type(arg)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call; it is inlined into them."""
    return numba.njit(forceinline=True, **_OPTIONS)(function)


def fragment(function: Callable[..., Any]) -> Any:
    """The same for what Python never calls, and must not: without a wrapper for Python it compiles faster."""
    return numba.njit(forceinline=True, no_cpython_wrapper=True, **_OPTIONS)(function)
