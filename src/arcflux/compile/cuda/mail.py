"""Kernels for a GPU of programs with mail, with a thread for each vertex: each either counts records or writes them.

They do the same to a vertex as those of mail_parts.py. The host sorts records by receiver.
"""

from __future__ import annotations

from arcflux.compile.cpu.mail_parts import TALLIED_SHORT, mailed_start, mailed_vertex
from arcflux.compile.cuda.source import counter_sums, kernel, threads, totalled
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import scratch

__all__ = ["mail_kernels_on_gpu"]


def mail_kernels_on_gpu(lowered: Lowered) -> list[str]:
    """The kernels of a program with mail."""
    each = _apply if lowered.around is None else _look
    return [make(lowered, counting) for make in (_start, each) for counting in (True, False)]


def _named(name: str, counting: bool) -> str:
    return f"{name}_count" if counting else name


def _start(lowered: Lowered, counting: bool) -> str:
    """The first state of the part's own vertices, and what they send."""
    lines = ["k = np.uint64(t)", "v = np.uint64(mine[t])", *mailed_start(lowered, counting)]
    body = ["short = np.int64(0)", *threads("mine.size", lines)]
    if not counting:
        body += [f"counted(tally, {TALLIED_SHORT}, short)", "counted(tally, 0, changed)", *totalled(lowered, "start")]
    return kernel(lowered, _named("start", counting), body)


def _apply(lowered: Lowered, counting: bool) -> str:
    """Update own vertices that have mail, or stayed awake."""
    lines = ["k = np.uint64(t)", "v = np.uint64(which[t])", *mailed_vertex(lowered, counting)]
    return _superstep(lowered, "apply", counting, threads("which.size", lines))


def _look(lowered: Lowered, counting: bool) -> str:
    """The listed own vertices visit their neighbourhoods, and are updated."""
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])"]
    lines += ["row, row_end = np.uint64(rows[k]) - shift, np.uint64(rows[k + one]) - shift"]
    lines += [f"{one.name} = {one.name}s[np.int64(row) : np.int64(row_end)]" for one in scratch(lowered)]
    lines += mailed_vertex(lowered, counting, "r")
    return _superstep(lowered, "pull_thread", counting, threads("which.size", lines))


def _superstep(lowered: Lowered, name: str, counting: bool, body: list[str]) -> str:
    if not counting:
        counts = [f"counted(tally, {TALLIED_SHORT}, short)", "counted(tally, 1, edges_out)", *counter_sums(lowered)]
        body = ["short, edges_out = np.int64(0), np.int64(0)", *body, *counts]
    return kernel(lowered, _named(name, counting), body)
