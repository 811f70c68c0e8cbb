"""Packages that import what they name when it is first used, so that a run loads what it runs and nothing else.

A function may have the name of its module (``arcflux.bfs`` is in ``arcflux/algorithms/bfs.py``): then the name is
always the function, also after something else has imported the module.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["import_lazily"]


class _Package(ModuleType):
    """A package whose names have homes: module by name."""

    _homes: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home = import_module(self._homes[name])
        # A package that names one of its modules means the module, unless something in it has the same name.
        value = getattr(home, name, home) if home.__name__ == f"{self.__name__}.{name}" else getattr(home, name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """What the import of a module does last: name it in its package. A function of that name stays instead."""
        if isinstance(value, ModuleType) and name in self._homes:
            value = getattr(value, name, value)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


def import_lazily(package: str, names: Mapping[str, str]) -> None:
    """Let a package import what it names when that is first used.

    `names`: by module, of the package unless its full name is said, the names that are in it, with blanks between.
    """
    module = sys.modules[package]
    module.__dict__["_homes"] = {
        name: home if home.startswith("arcflux.") else f"{package}.{home}"
        for home, listed in names.items()
        for name in listed.split()
    }
    module.__class__ = _Package
