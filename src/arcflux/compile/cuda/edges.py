"""The kernel for a GPU of programs with fields of edges: a thread for each vertex, which crosses its edges in order.

An edge is crossed by the thread of the vertex that it leads to, so its fields have one writer, and results are the same
to the bit on any number of devices.
"""

from __future__ import annotations

from dataclasses import replace

from arcflux.compile.cpu.dense import AROUND, if_wanted, loaded, sends
from arcflux.compile.cpu.parts import emptied_for_next, measured, moved
from arcflux.compile.cuda.source import kernel, known, taken, tallied, threads
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.crossing import crossed, edge_halves, uncrossed, uncrossed_row
from arcflux.compile.pieces.edges import edge_call, fresh, settled
from arcflux.compile.pieces.source import inited, inside, kept, updated, written

__all__ = ["cross_kernel"]

# Where edge i of the thread's vertex stands in the whole graph.
_PLACE = "np.uint64(in_offsets[v]) + (i - begin)"


def cross_kernel(lowered: Lowered) -> str:
    """The kernel `pull_thread` of a program that sees fields of edges."""
    flagged = replace(lowered, deterministic=True, facts={})
    body = [*loaded(lowered, AROUND, edge=True), *inited(lowered), *fresh(flagged)]
    message = [*taken(lowered), *crossed(lowered, _PLACE), edge_call(flagged)]
    message += ["got = True"] if lowered.sparse else []
    row, asked = ["u = np.uint64(neighbours[i])"], known(lowered)
    row += [f"if {asked}:", *inside(message)] if asked else message
    if asked and (rest := uncrossed(lowered, _PLACE)):
        row += ["else:", *inside(rest)]
    body += [*(["got = False"] if lowered.sparse else []), "for i in range(begin, end):", *inside(row)]
    body += ["if got:", *inside(_ended(lowered))] if lowered.sparse else _ended(lowered)
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])", "moves[v] = False", "moved = False"]
    lines += ["begin, end = np.uint64(rows[k]) - shift, np.uint64(rows[k + one]) - shift"]
    lines += if_wanted(lowered, body, uncrossed_row(lowered, "begin", "end", _PLACE))
    lines += [] if lowered.sparse else sends(lowered, "other")
    return kernel(lowered, "pull_thread", [*edge_halves(lowered), *threads("which.size", lines), *tallied(lowered)])


def _ended(lowered: Lowered) -> list[str]:
    """Statements after the last edge: v is updated."""
    lines = [*settled(lowered), *updated(lowered), *kept(lowered, written(lowered))]
    lines += ["changed += np.int64(moved)", *measured(lowered)]
    return [*lines, *emptied_for_next(lowered), *sends(lowered, "other"), *moved(lowered)] if lowered.sparse else lines
