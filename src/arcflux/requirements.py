"""The oldest versions of other packages that Arcflux works with, as pyproject.toml has them.

pip keeps to them; a package that was put there by other means is noticed when it is first used.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from arcflux.errors import VersionError

__all__ = ["LOWEST", "is_older", "load"]

LOWEST = {"numpy": "1.26", "scipy": "1.11", "numba": "0.61", "pyarrow": "16", "rich": "13", "click": "8.1"}


def is_older(version: str, than: str) -> bool:
    """Whether one version comes before another; what follows the numbers (``rc1``, ``+cu13``) does not count.

    Examples
    --------
    >>> is_older("0.9.1", "0.61"), is_older("0.61.0rc1", "0.61"), is_older("16", "16.0")
    (True, False, False)
    """
    first, second = (_numbers(text) for text in (version, than))
    longest = max(len(first), len(second))
    return first + [0] * (longest - len(first)) < second + [0] * (longest - len(second))


def _numbers(version: str) -> list[int]:
    release = re.match(r"\d+(\.\d+)*", version)
    return [int(part) for part in release[0].split(".")] if release else []


def load(package: str) -> Any:
    """Import a package if its version will do; a :class:`~arcflux.errors.VersionError` says what to install if not.

    Examples
    --------
    >>> load("numpy").__name__
    'numpy'
    """
    try:
        module = importlib.import_module(package)
    except ModuleNotFoundError:
        raise
    except ImportError as error:  # Numba refuses versions of NumPy that are newer than itself
        raise _refusal(package, _installed(package), f", and cannot be used: {error}") from error
    if is_older(str(module.__version__), LOWEST[package]):
        raise _refusal(package, str(module.__version__))
    return module


def _refusal(package: str, version: str, why: str = "") -> VersionError:
    return VersionError(
        f"{package} {version} is installed{why}",
        expected=f"{package} {LOWEST[package]} or newer",
        remedy=f"pip install --upgrade '{package}>={LOWEST[package]}' arcflux",
    )


def _installed(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(of unknown version)"
