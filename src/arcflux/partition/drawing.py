"""Parts as people see them: a card for the terminal and the notebook, and the adjacency matrix in colours."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import MissingExtraError, UsageError
from arcflux.io.loaded import replacing
from arcflux.partition.parts import Parts

__all__ = ["facts", "html", "plot", "raster", "text"]

Array = NDArray[Any]

_WIDTH, _ROWS = 24, 32
_SIDE, _SAMPLE = 256, 1 << 20


def facts(parts: Parts) -> dict[str, Any]:
    """What there is to say about parts, ready for JSON."""
    graph = parts.graph
    return {
        "graph": {"name": graph.name, "vertices": graph.vertices, "arcs": graph.arcs, "directed": graph.directed},
        "k": parts.k,
        "how": parts.how,
        "placement": parts.placement,
        "shape": parts.shape,
        "duplicated": parts.duplicated,
        "bounds": None if parts.bounds is None else parts.bounds.tolist(),
        "notes": parts.notes,
        "statistics": parts.statistics.to_dict(),
    }


def _lines(parts: Parts) -> list[tuple[str, str]]:
    found = parts.statistics
    lines = [
        ("balance", f"most arcs {found.edge_imbalance:.3f}, most vertices {found.vertex_imbalance:.3f} times the mean"),
        ("cut", f"{found.cut:,} arcs ({100 * found.cut_share:.1f} %) between owners"),
        ("copies", f"a vertex is on {found.replication:.2f} parts"),
    ]
    return lines + [("note", note) for note in parts.notes]


def _table(parts: Parts) -> list[tuple[str, int, int, int, int]]:
    """Rows of part, arcs, owned vertices, sources that others own, and the length of its bar."""
    found = parts.statistics
    most = max(1, *found.arcs)
    return [
        (str(i), found.arcs[i], found.vertices[i], found.uds[i], -(-_WIDTH * found.arcs[i] // most))
        for i in range(min(parts.k, _ROWS))
    ]


def text(parts: Parts) -> str:
    """The card for the terminal, without colours.

    Examples
    --------
    >>> import arcflux as af
    >>> print(text(af.partition("path:6", 2)))
    2 parts of path:6 by ranges, arcs at their target
      balance   most arcs 1.000, most vertices 1.000 times the mean
      cut       2 arcs (20.0 %) between owners
      copies    a vertex is on 1.33 parts
          part         arcs     vertices   from others
             0            5            3             1 ████████████████████████
             1            5            3             1 ████████████████████████
    """
    lines = [title(parts), *(f"  {label:<9} {said}" for label, said in _lines(parts))]
    lines.append(f"  {'part':>8} {'arcs':>12} {'vertices':>12} {'from others':>13}")
    lines += [
        f"  {name:>8} {arcs:>12,} {owned:>12,} {foreign:>13,} {'█' * bar}".rstrip()
        for name, arcs, owned, foreign, bar in _table(parts)
    ]
    if parts.k > _ROWS:
        lines.append(f"  and {parts.k - _ROWS:,} more")
    return "\n".join(lines)


def title(parts: Parts) -> str:
    """The parts in one line."""
    grid = f"{parts.shape[0]} x {parts.shape[1]} " if parts.shape else ""
    where = "arcs split" if parts.placement == "arcs" else f"arcs at their {parts.placement}"
    name = f" of {parts.graph.name}" if parts.graph.name else ""
    return f"{parts.k:,} parts{name} by {grid}{parts.how}, {where}"


def html(parts: Parts) -> str:
    """The card as a piece of HTML; names from files are escaped."""
    lines = "".join(f"<tr><th>{escape(label)}</th><td>{escape(said)}</td></tr>" for label, said in _lines(parts))
    rows = "".join(
        f"<tr><th>{name}</th><td>{arcs:,}</td><td>{owned:,}</td><td>{foreign:,}</td><td>"
        f"<span style='display:inline-block;height:.7em;background:#7c4dff;width:{bar / 4}em'></span></td></tr>"
        for name, arcs, owned, foreign, bar in _table(parts)
    )
    head = "<tr><th>part</th><th>arcs</th><th>vertices</th><th>from others</th></tr>"
    more = f"and {parts.k - _ROWS:,} more" if parts.k > _ROWS else ""
    return (
        f"<div class='arcflux-parts'><b>{escape(title(parts))}</b><table>{lines}</table>"
        f"<details><summary>every part</summary><table>{head}{rows}</table>{more}</details></div>"
    )


def raster(parts: Parts, side: int = _SIDE) -> tuple[Array, Array]:
    """The adjacency matrix on side x side squares: the part with most arcs in each (-1: none), and how many arcs.

    Sources go down, targets to the right, in the order of their numbers, or of their owners when these are no ranges.
    Of a large graph a million arcs are drawn, evenly taken.
    """
    graph, n = parts.graph, parts.graph.vertices
    taken = np.unique(np.linspace(0, graph.arcs - 1, min(graph.arcs, _SAMPLE)).astype(np.int64))
    sources = graph.into.neighbours[taken]
    targets = (np.searchsorted(graph.into.offsets, taken.astype(np.uint64), side="right") - 1).astype(sources.dtype)
    part = parts.where(sources, targets).astype(np.int64)
    if parts.bounds is None:
        order = np.empty(n, np.int64)
        order[np.argsort(parts.owner, kind="stable")] = np.arange(n)
        sources, targets = order[sources], order[targets]
    side = max(1, min(side, n))
    square = (sources.astype(np.int64) * side // max(1, n)) * side + targets.astype(np.int64) * side // max(1, n)
    kinds, counts = np.unique(square * parts.k + part, return_counts=True)
    winner, total = np.full(side * side, -1, np.int64), np.bincount(square, minlength=side * side)
    rising = np.argsort(counts, kind="stable")
    winner[kinds[rising] // parts.k] = kinds[rising] % parts.k  # of several writes to a square the last, largest, stays
    return winner.reshape(side, side), total.reshape(side, side)


def plot(parts: Parts, path: str | os.PathLike[str]) -> None:
    """Draw the matrix of :func:`raster`: a colour for each part, darker where there are more arcs."""
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "a picture of parts") from error

    target = Path(path)
    figure = Figure(figsize=(6, 6.4), layout="constrained")
    known = sorted(figure.canvas.get_supported_filetypes())
    if target.suffix[1:] not in known:
        raise UsageError(
            f"{target}: the suffix {target.suffix or '(none)'} names no picture", expected=", ".join(known)
        )
    winner, total = raster(parts)
    colours = colormaps["tab20" if parts.k > 10 else "tab10"]
    strength = np.log1p(total) / max(np.log1p(total.max(initial=0)), 1e-9)
    image = np.ones((*winner.shape, 3))
    some = winner >= 0
    depth = (0.35 + 0.65 * strength[some])[:, None]
    image[some] = 1 - depth * (1 - np.asarray(colours(winner[some] % colours.N))[:, :3])
    axes = figure.subplots()
    edge = parts.graph.vertices
    axes.imshow(image, extent=(0, edge, edge, 0), interpolation="nearest")
    order = "" if parts.bounds is not None else ", by owner"
    axes.set(title=title(parts), xlabel=f"target{order}", ylabel=f"source{order}")
    with replacing(target) as work:
        figure.savefig(work, format=target.suffix[1:], dpi=150)
