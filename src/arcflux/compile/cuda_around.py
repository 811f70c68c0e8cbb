"""The kernel for a GPU in which vertices look around: a thread for each, which goes through the whole row.

What it collects for a mode or a median stands in the row's own place of an array as long as the edges that are there
(gpu/votes.py), so that threads need no memory of their own.
"""

from __future__ import annotations

from arcflux.compile.cuda_source import kernel, tallied, threads
from arcflux.compile.dense import AROUND, if_wanted, loaded, sends
from arcflux.compile.generators import around_call, scratch
from arcflux.compile.lower import Lowered
from arcflux.compile.parts import measured, moved
from arcflux.compile.source import inited, inside, kept, updated, written

__all__ = ["look_kernel"]


def look_kernel(lowered: Lowered) -> str:
    """The kernel `pull_thread` of a program with around."""
    body = ["row, row_end = np.uint64(rows[k]) - shift, np.uint64(rows[k + one]) - shift"]
    body += [f"{one.name} = {one.name}s[np.int64(row) : np.int64(row_end)]" for one in scratch(lowered)]
    look = [*loaded(lowered, AROUND, edge=True), *inited(lowered), around_call(lowered, "r")]
    look += [*updated(lowered), *kept(lowered, written(lowered)), "changed += np.int64(moved)", *measured(lowered)]
    if lowered.sparse:
        look += [*sends(lowered, "other"), *moved(lowered)]
        found = [
            "u = np.uint64(neighbours[i])",
            "if (bits[u >> five] >> (u & mask)) & one:",
            "    got = True",
            "    break",
        ]
        body += ["got = False", "for i in range(row, row_end):", *inside(found), "if got:", *inside(look)]
    else:
        body += look
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])", "moves[v] = False", "moved = False"]
    lines += [*if_wanted(lowered, body), *([] if lowered.sparse else sends(lowered, "other"))]
    return kernel(lowered, "pull_thread", [*threads("which.size", lines), *tallied(lowered)])
