"""The kernels for a GPU of programs with `around`: a thread for each vertex, or a warp where rows are long.

The values collected for a mode or a median are stored at the row's own positions of an array as long as the edges
(gpu/votes.py), so that threads need no memory of their own.
"""

from __future__ import annotations

from arcflux.compile.cpu.dense import AROUND, if_wanted, loads, sends
from arcflux.compile.cpu.parts import measured, moved
from arcflux.compile.cuda.source import counter_sums, kernel, strided_loop, threads
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import around_call, scratch
from arcflux.compile.pieces.source import init_call, inside, stores, updated, written

__all__ = ["look_kernels"]


def look_kernels(lowered: Lowered) -> list[str]:
    """The kernels `pull_thread` and `pull_warp` of a program with around."""
    return [_look(lowered, "thread"), _look(lowered, "warp")]


def _look(lowered: Lowered, who: str) -> str:
    warp = who == "warp"
    call = around_call(lowered, "r")
    look = [*loads(lowered, AROUND, edge=True), *init_call(lowered), _warp_call(call) if warp else call]
    end = [*updated(lowered), *stores(lowered, written(lowered)), "changed += np.int64(moved)", *measured(lowered)]
    end += [*sends(lowered, "other"), *moved(lowered)] if lowered.sparse else []
    look += ["cuda.syncwarp()", "if lane == zero:", *inside(end)] if warp else end
    body = ["row, row_end = np.uint64(rows[k]) - shift, np.uint64(rows[k + one]) - shift"]
    body += [f"{one.name} = {one.name}s[np.int64(row) : np.int64(row_end)]" for one in scratch(lowered)]
    body += _searched(look, warp) if lowered.sparse else look
    rested = ["moves[v] = False"]
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])"]
    lines += [*(["if lane == zero:", *inside(rested)] if warp else rested), "moved = False"]
    lines += if_wanted(lowered, body)
    sent = [] if lowered.sparse else sends(lowered, "other")
    lines += ["if lane == zero:", *inside(sent)] if warp and sent else sent
    loop = ["t = cuda.grid(1) >> 5", "if t < which.size:", *inside(lines)] if warp else threads("which.size", lines)
    return kernel(lowered, f"pull_{who}", [*loop, *counter_sums(lowered)])


def _searched(look: list[str], warp: bool) -> list[str]:
    """Statements that visit a neighbourhood if one of its vertices has sent."""
    sent = ["u = np.uint64(neighbours[i])", "if (bits[u >> five] >> (u & mask)) & one:", "    got = True"]
    if not warp:
        return ["got = False", "for i in range(row, row_end):", *inside([*sent, "    break"]), "if got:", *inside(look)]
    some = [
        "i = begun + lane",
        "if i < row_end:",
        *inside(sent),
        "if cuda.any_sync(FULL, got):",
        "    got = True",
        "    break",
    ]
    lines = ["got = False", *strided_loop("begun", "row", "row_end", "np.uint64(32)", some)]
    return [*lines, "if got:", *inside(look)]


def _warp_call(call: str) -> str:
    """The call of around by a warp."""
    returned, _, given = call.partition(" = around(")
    return f"{returned} = around_warp({given}"
