"""The results of gap.py: who took how long, whether the answers agree, and what that makes in all."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

from checks import agree
from rivals import Answer

OURS, SUITE = "Arcflux", "GAP"
MARKS = """- does not have this kernel   * slow, run once only   ~ answer not comparable   ! another answer than ours
late: ended after 20 times the patience   failed: gave no answer"""


@dataclass
class Entry:
    """One rival at one kernel on one graph."""

    seconds: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)  # of whole calls, where they are more than the seconds
    once: bool = False  # over the patience at its first trial, and not run again
    wrong: bool = False
    checked: bool = True
    failed: str = ""

    @property
    def median(self) -> float | None:
        """The median of its seconds; None without an answer to rely on."""
        return statistics.median(self.seconds) if self.seconds and not self.failed and not self.wrong else None

    def text(self) -> str:
        """Milliseconds for the table; see MARKS."""
        if self.failed:
            return "late" if self.failed == "late" else "failed"
        if not self.seconds:
            return "-"
        return (
            _milliseconds(statistics.median(self.seconds))
            + "*" * self.once
            + "~" * (not self.checked)
            + "!" * self.wrong
        )


@dataclass
class Row:
    """A kernel on a graph."""

    kernel: str
    graph: str
    entries: dict[str, Entry]

    def compare(self, answers: dict[str, Answer]) -> None:
        """Mark whose answer of a round differs from ours, or where we have none, from the first."""
        for name, answer in answers.items():
            self.entries[name].checked = answer.check is not None
        checks = {name: answer.check for name, answer in answers.items() if answer.check is not None}
        if not checks:
            return
        right = checks.get(OURS) or next(iter(checks.values()))
        for name, check in checks.items():
            if not agree(self.kernel, right, check):
                self.entries[name].wrong = True

    def ratio(self, other: str) -> float | None:
        """Our seconds over another's."""
        ours, theirs = (self.entries.get(name, Entry()).median for name in (OURS, other))
        return ours / theirs if ours is not None and theirs else None

    def call_ratio(self, other: str) -> float | None:
        """The seconds of our whole calls over another's."""
        ours, theirs = self.entries.get(OURS, Entry()).calls, self.entries.get(other, Entry()).median
        return statistics.median(ours) / theirs if ours and theirs else None

    def best_peer(self) -> str | None:
        """The fastest library besides the suite."""
        medians = {name: entry.median for name, entry in self.entries.items() if name not in (OURS, SUITE)}
        found = {name: median for name, median in medians.items() if median is not None}
        return min(found, key=lambda name: found[name]) if found else None

    def speed_up(self) -> float | None:
        """How many times faster than the best library we are, by whole calls, as libraries are measured."""
        best = self.best_peer()
        ratio = self.call_ratio(best) if best else None
        return 1 / ratio if ratio else None


def table(rows: list[Row], names: list[str]) -> str:
    """The rows as text; `names` begins with ours."""
    heads = ["kernel", "graph", names[0], "whole call", *names[1:], "call / GAP", "best library", "x faster"]
    lines = [heads]
    for row in rows:
        first, *others = (row.entries.get(name, Entry()).text() for name in names)
        calls = row.entries.get(OURS, Entry()).calls
        whole = _milliseconds(statistics.median(calls)) if calls else "-"
        ratios = _ratio(row.call_ratio(SUITE)), row.best_peer() or "-", _ratio(row.speed_up())
        lines.append([row.kernel, row.graph, first, whole, *others, *ratios])
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    made = []
    for line in lines:
        cells = zip(line, widths, strict=True)
        made.append("  ".join(cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(cells)))
    return "\n".join([made[0], "-" * len(made[0]), *made[1:]])


def summary(rows: list[Row]) -> dict[str, float]:
    """The geometric mean of our whole calls over the suite's time; how many times faster than libraries we are."""
    made: dict[str, float] = {}
    whole = [ratio for row in rows if (ratio := row.call_ratio(SUITE)) is not None]
    if whole:
        made["geometric mean of our whole call / GAP"] = math.exp(statistics.mean(math.log(ratio) for ratio in whole))
        made["largest whole call / GAP"] = max(whole)
        made["rows above 1.0"] = sum(ratio > 1 for ratio in whole)
    ratios = [ratio for row in rows if (ratio := row.ratio(SUITE)) is not None]
    if ratios:
        made["geometric mean of our kernel / GAP"] = math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
    best = [found for row in rows if (found := row.speed_up()) is not None]
    if best:
        made["least times faster than the best library"] = min(best)
        made["median times faster than the best library"] = statistics.median(best)
    each = [1 / ratio for row in rows for name in row.entries
            if name not in (OURS, SUITE) and (ratio := row.call_ratio(name)) is not None]  # fmt: skip
    if each:
        made["median times faster than any library"] = statistics.median(each)
    return made


def as_json(row: Row) -> dict[str, Any]:
    """A row for the JSON."""
    entries = {name: {**asdict(entry), "median": entry.median} for name, entry in row.entries.items()}
    return {
        "kernel": row.kernel,
        "graph": row.graph,
        "entries": entries,
        "ours_over_gap": row.ratio(SUITE),
        "our_call_over_gap": row.call_ratio(SUITE),
        "best_library": row.best_peer(),
        "times_faster_than_best_library": row.speed_up(),
    }


def _milliseconds(seconds: float) -> str:
    return (
        f"{seconds * 1e3:.2f}" if seconds < 0.01 else f"{seconds * 1e3:.1f}" if seconds < 1 else f"{seconds * 1e3:.0f}"
    )


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
