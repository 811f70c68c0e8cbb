"""The report of a graph of the plug: where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arcflux.spark.results import ReadSlices
from arcflux.trace import counted

__all__ = ["Told"]

_HOW = {
    "jvm": "by Spark's JVM, into files that the daemon maps",
    "arrow": "by Python tasks, as Arrow batches",
    "parquet": "read from Parquet files, without Spark",
    "barrier": "by the tasks of a barrier stage, as Arrow batches",
}


@dataclass
class Told:
    """The report of one graph: lines about its load, and one for each run."""

    load: list[str] = field(default_factory=list)
    runs: list[tuple[str, Mapping[str, Any], float, ReadSlices | None]] = field(default_factory=list)

    def loaded(self, about: Mapping[str, Any], how: str, why: str, packed: float, built: float) -> None:
        """Record that the graph was loaded."""
        rate = about["edges"] / max(packed, 1e-9) / 1e6
        parts = f", in parts: one rank has {about['most']:,} of {about['arcs']:,} arcs" if "most" in about else ""
        self.load = [
            f"graph        {about['vertices']:,} vertices, {about['edges']:,} edges",
            f"out of Spark {packed:.3f} s, {rate:.1f} million edges a second, {_HOW[how]}"
            + (f" ({why})" if why else ""),
            f"build        {built:.3f} s{parts}",
        ]

    def ran(self, name: str, reply: Mapping[str, Any], seconds: float, read: ReadSlices | None) -> None:
        """Record a run on it."""
        self.runs.append((name, reply, seconds, read))

    def __str__(self) -> str:
        lines = list(self.load)
        for name, reply, seconds, read in self.runs:
            ended = "converged" if reply["converged"] else "not converged"
            lines.append(
                f"{name:<12} {reply['seconds']:.3f} s for {counted(reply['supersteps'], 'superstep')}, {ended}; "
                f"{reply['compile_seconds']:.3f} s to prepare kernels; {seconds:.3f} s with the way to the daemon"
            )
            spent = getattr(getattr(read, "spent", None), "value", None)
            if spent:
                lines.append(f"{'  back':<12} {spent:.3f} s in tasks, of all times that its frame was read")
        return "\n".join(lines)
