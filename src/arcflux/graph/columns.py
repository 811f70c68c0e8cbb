"""The edge columns of a graph, as its users see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

__all__ = ["Columns"]

Array = NDArray[Any]


class Columns(Mapping[str, Array]):
    """Edge columns by name; a graph from a file looks at each when it is first asked for."""

    def __init__(self, columns: Mapping[str, Array], look: Callable[[str], None]) -> None:
        self._columns, self._look = columns, look

    def __getitem__(self, name: str) -> Array:
        column = self._columns[name]
        self._look(name)
        return column

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Columns({', '.join(f'{name}: {column.dtype}' for name, column in self._columns.items())})"
