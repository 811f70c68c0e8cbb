"""What `arcflux run` tells about a run: as JSON, and as a few lines for a person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from arcflux import Result, config
from arcflux.applications.target import Target
from arcflux.drawing import extent, spark
from arcflux.result import Superstep
from arcflux.trace import counted, readable

__all__ = ["Outcome", "count_edges", "facts", "text"]


@dataclass
class Outcome:
    """What was run, how often and with what, and what came of it."""

    target: Target
    results: list[Result]
    values: dict[str, Any]
    load_seconds: float
    warnings: list[str]
    interrupted: bool
    threads: int | None
    report: Any = None
    spread: dict[str, Any] | None = None

    @property
    def result(self) -> Result:
        """The last result."""
        return self.results[-1]

    @property
    def seconds(self) -> float:
        """The median of the runs alone."""
        return median(result.seconds for result in self.results)


def count_edges(outcome: Outcome) -> int:
    """The edges that stand for the work of one run, whatever the run really touched (docs/reference/cli.md)."""
    result, graph = outcome.result, outcome.result.graph
    algorithm = outcome.target.algorithm
    if algorithm is None:  # a user's program: what every superstep says it sent along
        return int(result.column("edges", graph.arcs).sum())
    if algorithm.counts == "supersteps":
        return graph.arcs * result.supersteps
    if algorithm.counts == "reached" and graph.arcs:
        return round(graph.edges * int(graph.out_degrees[_reached(outcome)].sum()) / graph.arcs)
    return graph.edges


def _reached(outcome: Outcome) -> Any:
    """Which vertices have a level or a distance."""
    values = outcome.result.numbers(outcome.target.fields[0])
    return np.isfinite(values) & (values >= 0)


def facts(outcome: Outcome, top: int | None, field: str, out: str | None) -> dict[str, Any]:
    """Everything about a run, ready for JSON."""
    result, graph = outcome.result, outcome.result.graph
    found: dict[str, Any] = {
        "algorithm": outcome.target.name,
        "parameters": outcome.values,
        "graph": {"name": graph.name, "vertices": graph.vertices, "edges": graph.edges, "arcs": graph.arcs,
                  "directed": graph.directed},
        "threads": _threads(outcome),
        "seconds": outcome.seconds,
        "load_seconds": outcome.load_seconds,
        "compile_seconds": outcome.results[0].compile_seconds,
        "supersteps": result.supersteps,
        "converged": result.converged,
        "interrupted": outcome.interrupted,
        "edges_counted": count_edges(outcome),
        "edges_per_second": count_edges(outcome) / outcome.seconds if outcome.seconds else 0.0,
        "fields": {name: str(values.dtype) for name, values in result.values.items()},
        "history": [_step(step) for step in result.history],
        "warnings": outcome.warnings,
        "notes": list(result.notes),
    }  # fmt: skip
    if highlights := result.highlights():
        found["highlights"] = dict(highlights)
    if result.plan is not None:
        found["plan"] = result.plan.to_dict()
    if outcome.spread is not None:
        crossed = {name: int(result.column(name).sum()) for name in ("bytes", "more_bytes")}
        ran = {"exchange": result.exchange, "where": result.where} if result.exchange else {}
        found["spread"] = {**outcome.spread, **ran, **crossed}
    if len(outcome.results) > 1:
        found["all_seconds"] = [one.seconds for one in outcome.results]
    if top is not None:
        head, largest = _top(outcome, top, field)
        found["top"] = [dict(zip(head, row, strict=True)) for row in largest]
    if outcome.report is not None:
        found["validation"] = outcome.report.to_dict()
    if out is not None:
        found["out"] = {"path": out, "bytes": Path(out).stat().st_size}
    return found


def _step(step: Superstep) -> dict[str, Any]:
    """A superstep, without what only parts have when there are none."""
    told = dict(vars(step))
    if not step.part_seconds:
        for name in ("bytes", "more_bytes", "part_seconds", "bounds", "planning", "migration"):
            del told[name]
    return told


def text(outcome: Outcome, top: int | None, field: str, out: str | None) -> str:
    """A few lines for a person: the graph, the time, a plot, the values, the largest, and the verdict."""
    rows = [*_times(outcome), *_values(outcome)]
    rows += [("note", said) for said in outcome.result.notes]
    if out is not None:
        rows.append(("written", f"{out}, {readable(Path(out).stat().st_size)}"))
    wide = max(len(name) for name, _ in rows)
    given = "".join(f", {name} {value}" for name, value in outcome.values.items())
    lines = [f"{outcome.target.name} on {outcome.result.graph.name or 'a graph'}{given}"]
    lines += [f"  {name:<{wide}}  {shown}" for name, shown in rows]
    if top is not None:
        lines += ["", *_table(*_top(outcome, top, field))]
    if outcome.report is not None:
        lines += ["", *(f"  {line}" for line in str(outcome.report).splitlines())]
    return "\n".join(lines)


def _times(outcome: Outcome) -> list[tuple[str, str]]:
    result, graph = outcome.result, outcome.result.graph
    times = [one.seconds for one in outcome.results]
    runs = f" (median of {len(times)}: {min(times):.4f} to {max(times):.4f})" if len(times) > 1 else ""
    state = "interrupted" if outcome.interrupted else "converged" if result.converged else "not converged"
    kind = "directed edge" if graph.directed else "undirected edge"
    compiled = outcome.results[0].compile_seconds
    rows = [
        ("graph", f"{counted(graph.vertices, 'vertex')}, {counted(graph.edges, kind)}"),
        ("ready in", f"{outcome.load_seconds:.3f} s to load the graph, {compiled:.3f} s to prepare the kernels"),
        ("ran in", f"{outcome.seconds:.4f} s{runs} on {_workers(outcome)}"),
    ]
    if result.history or state != "converged":  # an algorithm with kernels of its own has no supersteps
        rows.append(("steps", f"{counted(result.supersteps, 'superstep')}, {state}"))
    if outcome.seconds:
        rows.append(("speed", f"{_large(count_edges(outcome) / outcome.seconds)} edges a second"))
    return rows


def _threads(outcome: Outcome) -> int:
    """How many the run had: as planned, or as was asked."""
    plan = outcome.result.plan
    return config.threads(outcome.threads) if plan is None else int(plan.threads)


def _workers(outcome: Outcome) -> str:
    if outcome.spread is None:
        return counted(_threads(outcome), "thread")
    spread, crossed = outcome.spread, sum(outcome.result.column(name).sum() for name in ("bytes", "more_bytes"))
    said = f"{counted(spread['parts'], 'part')} by {spread['partition']}"
    exchange = outcome.result.exchange
    if exchange == "shared":
        said += f": {outcome.result.where}"
    if "devices" in spread:
        said += f" on {', '.join(spread['devices'])}"
    if spread["transport"] == "mpi":
        said += ", one for each rank"
    if spread["nodes"] > 1:
        said += f", {spread['nodes']} nodes"
    if spread["nodes"] > 1 and outcome.result.history:
        said += f", {readable(crossed)} between them"
    if exchange not in ("", "shared") and spread["parts"] > 1:
        said += f", exchange {exchange}"
    return said


def _values(outcome: Outcome) -> list[tuple[str, str]]:
    result, algorithm = outcome.result, outcome.target.algorithm
    label, curve = result.curve()
    rows = [(label, spark(curve))] if curve else []
    for name, values in result.values.items():
        if algorithm is not None and algorithm.groups and name == algorithm.fields[0]:
            sizes = np.unique(values, return_counts=True)[1]
            rows.append((name, f"{sizes.size:,} different, the largest of {counted(sizes.max(initial=0), 'vertex')}"))
        elif name not in result.references:
            rows.append((name, extent(values)))
    rows += result.highlights()
    if algorithm is not None and algorithm.counts == "reached":
        rows.append(("reached", f"{int(_reached(outcome).sum()):,} of {counted(result.graph.vertices, 'vertex')}"))
    return rows


def _top(outcome: Outcome, top: int, field: str) -> tuple[tuple[str, str], list[tuple[Any, Any]]]:
    """The largest values by vertex, or of labels the largest groups: the names of the columns, and the rows."""
    algorithm = outcome.target.algorithm
    if algorithm is None or not algorithm.groups or field != algorithm.fields[0]:
        return ("vertex", field), outcome.result.top(top, field)
    labels, sizes = np.unique(outcome.result[field], return_counts=True)
    order = np.argsort(-sizes, kind="stable")[:top]
    return (field, "vertices"), list(zip(labels[order].tolist(), sizes[order].tolist(), strict=True))


def _table(head: tuple[str, str], rows: list[tuple[Any, Any]]) -> list[str]:
    shown = [head, *((str(key), f"{value:.6g}" if isinstance(value, float) else f"{value:,}") for key, value in rows)]
    left, right = (max(len(row[k]) for row in shown) for k in (0, 1))
    return [f"  {key:>{left}}  {value:>{right}}" for key, value in shown]


def _large(count: float) -> str:
    return f"{count / 1e6:,.1f} million" if count >= 1e5 else f"{count:,.0f}"
