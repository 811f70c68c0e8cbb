"""A graph for people: one line, a card for the terminal with a histogram of degrees, and the same as HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from arcflux.trace import readable

if TYPE_CHECKING:
    from arcflux.graph.core import Graph

__all__ = ["facts", "histogram", "html", "line", "text"]

_WIDTH = 40


def line(graph: Graph) -> str:
    """The graph in one line."""
    kind = "directed" if graph.directed else "undirected"
    columns = f", columns {', '.join(graph.columns)}" if graph.columns else ""
    name = f" {graph.name}" if graph.name else ""
    return (
        f"<Graph{name}: {graph.vertices:,} vertices, {graph.edges:,} edges, {kind}{columns}, {readable(graph.memory)}>"
    )


def facts(graph: Graph) -> dict[str, object]:
    """What there is to say about a graph, ready for JSON."""
    degrees = graph.out_degrees
    return {
        "name": graph.name,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "arcs": graph.arcs,
        "directed": graph.directed,
        "columns": {key: str(column.dtype) for key, column in graph.columns.items()},
        "ids": graph.ids.kind,
        "memory_bytes": graph.memory,
        "degree": {
            "mean": float(degrees.mean()) if len(degrees) else 0.0,
            "largest": int(degrees.max(initial=0)),
            "zero": int((degrees == 0).sum()),
        },
        "histogram": histogram(graph),
        "changes": {
            "edges_given": graph.changes.edges_given,
            "self_loops_dropped": graph.changes.self_loops_dropped,
            "parallel_edges_merged": graph.changes.parallel_edges_merged,
            "symmetrised": graph.changes.symmetrised,
        },
        "assumptions": list(graph.assumptions),
    }


def histogram(graph: Graph) -> list[dict[str, int]]:
    """Vertices by out-degree, in classes 0, 1, 2-3, 4-7, ...: rows of first, last, vertices."""
    degrees = graph.out_degrees.astype(np.float64)
    classes = np.zeros(len(degrees), np.int64)
    classes[degrees > 0] = 1 + np.floor(np.log2(degrees[degrees > 0])).astype(np.int64)
    counts = np.bincount(classes) if len(classes) else np.empty(0, np.int64)
    return [
        {"first": 0 if k == 0 else 1 << (k - 1), "last": 0 if k == 0 else (1 << k) - 1, "vertices": int(count)}
        for k, count in enumerate(counts)
    ]


def _rows(graph: Graph) -> list[tuple[str, str]]:
    found = facts(graph)
    degree: dict[str, float] = found["degree"]  # type: ignore[assignment]
    kind = "directed" if graph.directed else f"undirected ({graph.arcs:,} stored directions)"
    rows = [
        ("vertices", f"{graph.vertices:,}"),
        ("edges", f"{graph.edges:,} {kind}"),
        ("degree", f"mean {degree['mean']:.1f}, largest {degree['largest']:,}, zero for {degree['zero']:,} vertices"),
        ("memory", readable(graph.memory)),
        ("ids", f"{graph.ids.kind}, {'no map kept' if not graph.ids.nbytes else readable(graph.ids.nbytes)}"),
    ]
    if graph.columns:
        rows.append(("columns", ", ".join(f"{key} {column.dtype}" for key, column in graph.columns.items())))
    rows += [("changed", said) for said in graph.changes.lines()]
    rows += [("assumed", said) for said in graph.assumptions]
    return rows


def _bars(graph: Graph) -> list[tuple[str, int, int]]:
    """Rows of label, vertices, and the bar's length; the bar is linear."""
    rows = histogram(graph)
    most = max((row["vertices"] for row in rows), default=0)
    return [
        (
            str(row["first"]) if row["first"] == row["last"] else f"{row['first']:,}-{row['last']:,}",
            row["vertices"],
            -(-_WIDTH * row["vertices"] // most) if most else 0,
        )
        for row in rows
    ]


def text(graph: Graph) -> str:
    """The card for the terminal, without colours."""
    lines = [graph.name or "Graph"]
    lines += [f"  {label:<9} {said}" for label, said in _rows(graph)]
    bars = _bars(graph)
    if bars:
        lines.append("  out-degree   vertices")
        wide = max(len(label) for label, _, _ in bars)
        lines += [f"  {label:>{max(wide, 10)}} {count:>10,} {'█' * bar}" for label, count, bar in bars]
    return "\n".join(lines)


def html(graph: Graph) -> str:
    """The card as a piece of HTML; names from files are escaped."""
    rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(said)}</td></tr>" for label, said in _rows(graph))
    bars = "".join(
        f"<tr><th>{label}</th><td>{count:,} "
        f"<span style='display:inline-block;height:.7em;background:#7c4dff;width:{bar / 4}em'></span></td></tr>"
        for label, count, bar in _bars(graph)
    )
    return (
        f"<div class='arcflux-graph'><b>{escape(graph.name or 'Graph')}</b><table>{rows}</table>"
        f"<details><summary>vertices by out-degree</summary><table>{bars}</table></details></div>"
    )
