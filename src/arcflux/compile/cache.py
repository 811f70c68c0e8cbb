"""Modules of generated source, and files of it, named by content, in the owner-only cache folder.

Numba stores its compiled code beside the file, so a program compiles once per machine; an edited function, another
constant, another type or another version of Arcflux makes another source, and so another file. Two processes may write
the same file at once: each writes a temporary one and renames it. The source in memory is executed: nothing is read
back.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from arcflux import __version__, config, trace
from arcflux.spmd.private import Generated, read_private, write_private

__all__ = ["clear", "contents", "module", "one_at_a_time"]

_INSIDE = ("programs", "kernels")
# Held by ranks that are threads while they write and import source: before 3.12, Python cannot parse in two threads at
# once ("AST constructor recursion depth mismatch").
one_at_a_time = threading.Lock()


@lru_cache(maxsize=256)
def module(source: str) -> ModuleType:
    """The module of a generated source."""
    name = "arcflux_program_" + hashlib.sha256(f"{__version__}\n{source}".encode()).hexdigest()[:32]
    path = config.cache_folder("programs") / f"{name}.py"
    _write(path, source.encode())
    spec = importlib.util.spec_from_loader(name, Generated(source, path))
    assert spec is not None
    assert spec.loader is not None
    module_object = importlib.util.module_from_spec(spec)
    sys.modules[name] = module_object
    spec.loader.exec_module(module_object)
    return module_object


def _write(path: Path, source: bytes) -> None:
    """Write the source to its file for debuggers and profilers. The module is executed from the text in memory."""
    if read_private(path) == source:
        return
    try:
        write_private(path, source)
    except OSError as error:
        trace.note(f"the source of a program could not be kept: {error}")


def contents() -> dict[str, Any]:
    """The folder of compiled code, the number of programs and compiled kernels of any version, and their bytes."""
    folder = config.cache_folder()
    files = _files(folder)
    return {
        "folder": str(folder),
        "programs": sum(path.suffix == ".py" for path in files),
        "kernels": sum(path.suffix == ".nbc" for path in files),
        "bytes": sum(files.values()),
    }


def clear() -> int:
    """Remove all compiled code; returns the bytes that were freed."""
    folder = config.cache_folder()
    freed = sum(_files(folder).values())
    for inside in _INSIDE:
        shutil.rmtree(folder / inside, ignore_errors=True)
    module.cache_clear()
    return freed


def _files(folder: Path) -> dict[Path, int]:
    """The files of compiled code with their bytes; other processes may add and remove some meanwhile."""
    sizes = {}
    for inside in _INSIDE:
        for path in (folder / inside).rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    sizes[path] = path.stat().st_size
    return sizes
