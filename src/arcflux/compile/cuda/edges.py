"""The kernel for a GPU of programs with edge fields: a thread for each vertex, which crosses its in-edges in order.

The thread of an edge's target crosses it, so its fields have one writer, and results are the same to the bit on any
number of devices.
"""

from __future__ import annotations

from dataclasses import replace

from arcflux.compile.cpu.dense import AROUND, if_wanted, loads, sends
from arcflux.compile.cpu.parts import emptied_for_next, measured, moved
from arcflux.compile.cuda.source import counter_sums, in_frontier, kernel, message_loads, threads
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.crossing import carried_edge, carried_row, edge_halves, edge_loads
from arcflux.compile.pieces.edges import edge_call, fresh, settled
from arcflux.compile.pieces.source import init_call, inside, stores, updated, written

__all__ = ["cross_kernel"]

# The position in the whole graph of edge i of the thread's vertex.
_PLACE = "np.uint64(in_offsets[v]) + (i - begin)"


def cross_kernel(lowered: Lowered) -> str:
    """The kernel `pull_thread` of a program with edge fields."""
    flagged = replace(lowered, deterministic=True, facts={})
    body = [*loads(lowered, AROUND, edge=True), *init_call(lowered), *fresh(flagged)]
    message = [*message_loads(lowered), *edge_loads(lowered, _PLACE), edge_call(flagged)]
    message += ["got = True"] if lowered.sparse else []
    row, asked = ["u = np.uint64(neighbours[i])"], in_frontier(lowered)
    row += [f"if {asked}:", *inside(message)] if asked else message
    if asked and (rest := carried_edge(lowered, _PLACE)):
        row += ["else:", *inside(rest)]
    body += [*(["got = False"] if lowered.sparse else []), "for i in range(begin, end):", *inside(row)]
    body += ["if got:", *inside(_ended(lowered))] if lowered.sparse else _ended(lowered)
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])", "moves[v] = False", "moved = False"]
    lines += ["begin, end = np.uint64(rows[k]) - shift, np.uint64(rows[k + one]) - shift"]
    lines += if_wanted(lowered, body, carried_row(lowered, "begin", "end", _PLACE))
    lines += [] if lowered.sparse else sends(lowered, "other")
    return kernel(
        lowered, "pull_thread", [*edge_halves(lowered), *threads("which.size", lines), *counter_sums(lowered)]
    )


def _ended(lowered: Lowered) -> list[str]:
    """Statements after the last edge: v is updated."""
    lines = [*settled(lowered), *updated(lowered), *stores(lowered, written(lowered))]
    lines += ["changed += np.int64(moved)", *measured(lowered)]
    return [*lines, *emptied_for_next(lowered), *sends(lowered, "other"), *moved(lowered)] if lowered.sparse else lines
