"""Small drawings of a run: a plot in one line of text or as SVG, extents in words, and how notebooks show text."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.trace import counted

__all__ = ["Told", "extent", "run_picture", "spark", "svg"]

_SPARKS = "▁▂▃▄▅▆▇█"
_BAR, _HEIGHT = 6, 36
_COLOURS = {"push": "#7c4dff", "pull": "#00a388"}


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


def run_picture(title: str, label: str, values: list[float], directions: list[str], seconds: list[float]) -> str:
    """A run as SVG: a bar for each superstep, as high as its value, in the colour of its direction.

    Of a long run, a bar is the largest of several supersteps.

    Examples
    --------
    >>> picture = run_picture("bfs", "frontier", [1.0, 3.0], ["push", "pull"], [1e-3, 2e-3])
    >>> picture.count("<rect"), "3 ms in 2 supersteps" in picture
    (4, True)
    """
    wide, high = 640, 160
    groups = [group.tolist() for group in np.array_split(np.arange(len(values)), min(60, len(values)) or 1)]
    shares, step, pieces = _shares(values, 60), wide / len(groups), []
    for k, (group, share) in enumerate(zip(groups, shares, strict=False)):
        top = max(group, key=values.__getitem__)
        value = f"{values[top]:,.0f}" if values[top].is_integer() else f"{values[top]:.3g}"
        x, height, colour = 40 + step * k, max(2.0, high * share), _COLOURS.get(directions[top], "#888")
        pieces.append(
            f"<rect x='{x:.1f}' y='{50 + high - height:.1f}' width='{0.9 * step:.1f}' height='{height:.1f}'"
            f" fill='{colour}'><title>superstep {top}: {label} {value}, {directions[top]},"
            f" {seconds[top] * 1e3:.3g} ms</title></rect>"
        )
        if len(groups) <= 20:
            middle = f"x='{x + 0.45 * step:.1f}' text-anchor='middle'"
            pieces.append(f"<text {middle} y='{45 + high - height:.1f}'>{value}</text>")
            pieces.append(f"<text {middle} y='{66 + high}'>{top}</text>")
    for k, (name, colour) in enumerate(_COLOURS.items()):
        pieces.append(f"<rect x='{560 + 60 * k}' y='12' width='10' height='10' fill='{colour}'/>")
        pieces.append(f"<text x='{574 + 60 * k}' y='21'>{name}</text>")
    caption = f"{label}, superstep by superstep; {sum(seconds) * 1e3:.3g} ms in {counted(len(values), 'superstep')}"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 720 {95 + high}' font-family='sans-serif'"
        f" font-size='11' fill='#777' role='img'><title>{escape(title)}</title>"
        f"<text x='40' y='22' font-size='15' font-weight='bold'>{escape(title)}</text>{''.join(pieces)}"
        f"<text x='40' y='{88 + high}'>{escape(caption)}</text></svg>"
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
