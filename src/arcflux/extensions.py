"""What other packages add to Arcflux: algorithms, formats, partitioners, transports, devices, by their entry points.

A package names what it adds in its own pyproject.toml, and nothing is registered by importing it. Installed packages
are asked only about a name that Arcflux does not have itself: a built-in is never replaced, and `import arcflux` asks
none.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from arcflux.errors import UsageError

__all__ = ["GROUPS", "extension", "extension_names"]

GROUPS = tuple(f"arcflux.{what}" for what in ("algorithms", "devices", "formats", "partitioners", "transports"))


def extension_names(group: str) -> list[str]:
    """The names that installed packages add to a group, in order.

    Examples
    --------
    >>> extension_names("arcflux.partitioners")
    []
    """
    return sorted(entry_points(group=group).names)


def extension(group: str, name: str) -> Any:
    """What an installed package has under a name; None when none has it.

    Raises
    ------
    UsageError
        When two packages have it, or the one that has it cannot be imported.
    """
    found = list(entry_points(group=group, name=name))
    if not found:
        return None
    packages = sorted({entry.dist.name for entry in found if entry.dist is not None})
    if len(found) > 1:
        raise UsageError(f"{name!r} is added by {' and by '.join(packages)}", remedy="uninstall one of them")
    try:
        return found[0].load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{name!r} of the package {packages[0] if packages else 'that adds it'} cannot be loaded: {error}",
            expected=f"{found[0].value}, as its entry point says",
            remedy="install what it needs, or uninstall it",
        ) from error
