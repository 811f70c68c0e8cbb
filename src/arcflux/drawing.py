"""Small drawings of a run: a plot in one line of text or as SVG, extents in words, and how notebooks show text."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Told", "extent", "spark", "svg"]

_SPARKS = "▁▂▃▄▅▆▇█"
_BAR, _HEIGHT = 6, 36


class Told:
    """Something that ``str`` tells in lines: its repr is the first of them, and a notebook shows all."""

    def __repr__(self) -> str:
        return f"<{str(self).partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def spark(values: list[int] | list[float], width: int = 60) -> str:
    """A small plot in one line.

    Examples
    --------
    >>> spark([1, 4, 8])
    '▁▄█'
    """
    return "".join(_SPARKS[min(7, int(8 * share - 1e-9))] for share in _shares(values, width))


def svg(title: str, values: list[int] | list[float], width: int = 60) -> str:
    """The same plot as a piece of HTML: one bar for each value, with its title for those who hover or listen.

    Examples
    --------
    >>> svg("frontier", [1, 2]).count("<rect")
    2
    """
    shares = _shares(values, width)
    bars = "".join(
        f"<rect x='{_BAR * k}' y='{_HEIGHT * (1 - share):.1f}' width='{_BAR - 1}' height='{_HEIGHT * share:.1f}'/>"
        for k, share in enumerate(shares)
    )
    size = f"width='{_BAR * len(shares)}' height='{_HEIGHT}'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} fill='#7c4dff' role='img'>"
        f"<title>{escape(title)}</title>{bars}</svg>"
    )


def _shares(values: list[int] | list[float], width: int) -> list[float]:
    """Every value as a share of the largest; the largest of its neighbours when there are more than `width`."""
    finite = np.nan_to_num(np.array(values, np.float64), nan=0.0, posinf=0.0, neginf=0.0).clip(min=0.0)
    if len(finite) > width:
        finite = np.array([part.max() for part in np.array_split(finite, width)])
    return list((finite / (finite.max(initial=0.0) or 1.0)).tolist())


def extent(values: NDArray[Any]) -> str:
    """From where to where values go, and how many are beyond.

    Examples
    --------
    >>> extent(np.array([3.0, 1.0, np.inf]))
    '1 to 3, not finite for 1'
    """
    if not values.size:
        return "no vertices"
    if values.dtype == np.bool_:
        return f"{int(values.sum()):,} of {values.size:,} true"
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    beyond = f", not finite for {values.size - finite.size:,}" if finite.size < values.size else ""
    return (f"{finite.min():.6g} to {finite.max():.6g}" if finite.size else "no number") + beyond
