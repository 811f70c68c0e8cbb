"""Generated source, in a file named by its content in the owner-only cache folder, imported from there.

Numba keeps its compiled code beside it, so a program compiles once per machine; an edited function, another constant,
another type or another version of Arcflux makes another source, and so another file. Two processes may write the same
file at once: each writes a temporary one and renames it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from arcflux import __version__, config

__all__ = ["clear", "contents", "module", "one_at_a_time"]

_INSIDE = ("programs", "kernels")
# Held by ranks that are threads while they write and import source: before 3.12, Python cannot parse in two at once
# ("AST constructor recursion depth mismatch").
one_at_a_time = threading.Lock()


@lru_cache(maxsize=256)
def module(source: str) -> ModuleType:
    """The module of a generated source."""
    name = "arcflux_program_" + hashlib.sha256(f"{__version__}\n{source}".encode()).hexdigest()[:32]
    folder = config.cache_folder() / "programs"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{name}.py"
    if not path.exists() or path.read_text(encoding="utf-8") != source:
        _write(path, source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def _write(path: Path, source: str) -> None:
    handle, work = tempfile.mkstemp(dir=path.parent, suffix=".py")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(source)
    os.replace(work, path)


def contents() -> dict[str, Any]:
    """Where compiled code is kept, how many programs and compiled kernels of any version, and their bytes."""
    folder = config.cache_folder()
    files = _files(folder)
    return {
        "folder": str(folder),
        "programs": sum(path.suffix == ".py" for path in files),
        "kernels": sum(path.suffix == ".nbc" for path in files),
        "bytes": sum(files.values()),
    }


def clear() -> int:
    """Remove everything that was compiled; returns the bytes that were freed."""
    folder = config.cache_folder()
    freed = sum(_files(folder).values())
    for inside in _INSIDE:
        shutil.rmtree(folder / inside, ignore_errors=True)
    module.cache_clear()
    return freed


def _files(folder: Path) -> dict[Path, int]:
    """The files of compiled code with their bytes; other processes may add and remove some meanwhile."""
    found = {}
    for inside in _INSIDE:
        for path in (folder / inside).rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    found[path] = path.stat().st_size
    return found
