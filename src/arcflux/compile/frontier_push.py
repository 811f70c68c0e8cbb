"""Push: the frontier sends along its out-edges, and whoever was reached is listed once and updated."""

from __future__ import annotations

from arcflux.compile.edges import edge_call, push_reads
from arcflux.compile.lists import Board, about, apply_phase, to_next, to_receivers, unless_wanted
from arcflux.compile.lower import Lowered
from arcflux.compile.source import (
    accumulated,
    bound,
    claimed,
    edge_reads,
    inited,
    inside,
    kept,
    made,
    measured,
    updated,
    written,
)
from arcflux.compile.sparse import claims, direct, immediate, restored

__all__ = ["push_phase"]

_AHEAD = 8


def push_phase(lowered: Lowered) -> list[str]:
    """The frontier sends along its out-edges; then whoever received is updated."""
    sender = ["u = np.uint64(queues[base + k])", *made(lowered, lowered.messages)]
    sender += ["row, row_end = out_offsets[u], out_offsets[u + one]", "walked += np.int64(row_end - row)"]
    loop = "for i in range(row, row_end):"
    sender += [loop, *inside([*_announced(lowered), *_push_to(lowered)])]
    sending = _queued(lowered) + claimed(f"board, block + {Board.CLAIM}", 64, "k", "np.uint64(size)", sender)
    return sending if immediate(lowered) else sending + apply_phase(_finish(lowered) + to_next())


def _queued(lowered: Lowered) -> list[str]:
    """Statements that make a queue of a frontier that a pull left in bits."""
    if not direct(lowered):
        return []
    flush = f"held = flush(board, block + {Board.FROM_BITS}, buffer, held, queues, base)"
    word = ["word = bits[now + k]", "while word != np.uint64(0):"]
    word += inside(["buffer[held] = (k << six) + trailing_zeros(word)", "held += 1", "word &= word - one"])
    word += inside(["if held == buffer.size:", f"    {flush}"])
    converting = claimed(f"board, block + {Board.CLAIM_WORDS}", 64, "k", "words", word)
    return ["if as_bits:", *inside([*converting, flush, "wait(barrier, workers)", "as_bits = False"])]


def _announced(lowered: Lowered) -> list[str]:
    """Statements that have the cache lines of a vertex some edges ahead fetched for writing.

    Atomics wait for every store before them. Stores that miss the cache would make each of them wait for memory.
    """
    arrays = [f"f_{name[2:]}" for name in written(lowered)] if immediate(lowered) else []
    scalars = [array for array in arrays if lowered.fields[array[2:]][1] is None]
    if not scalars:
        return []
    arrays = scalars if claims(lowered) else [*scalars, "stamp"]
    return [
        f"if i + np.uint64({_AHEAD}) < row_end:",
        f"    ahead = np.uint64(out_neighbours[i + np.uint64({_AHEAD})])",
        *inside([f"prefetch({array}, ahead)" for array in arrays]),
    ]


def _push_to(lowered: Lowered) -> list[str]:
    """Statements that reduce u's messages into v at the end of an out-edge, and take note of v the first time."""
    lines = ["v = np.uint64(out_neighbours[i])"]
    lines += about(lowered, ("wants",)) + unless_wanted(lowered)
    lines += [f"e_{column} = co_{column}[i]" for column in lowered.columns]
    first = [
        "before = stamp[v]",
        "if before != mark and compare_and_swap(stamp, v, before, mark) == before:",
    ]
    if claims(lowered):
        mine, kind = f"f_{claims(lowered)}", lowered.fields[claims(lowered)][0].name
        first = [
            f"before = {mine}[v]",
            f"if before < 0 and compare_and_swap({mine}, v, before, np.{kind}(u_number)) == before:",
        ]
    if immediate(lowered):
        taken = about(lowered, ("init", "update", "residual"), edge=True) + inited(lowered) + [edge_call(lowered)]
        taken += updated(lowered) + kept(lowered, written(lowered)) + measured(lowered) + to_next()
        return [*lines, *first, *inside(taken)]
    lines += bound(lowered, [n for n in edge_reads(lowered) if n.startswith("o_")], "v")
    lines.append(f"if push_edge({', '.join(push_reads(lowered))}):")
    return [*lines, *inside([*first, *inside(to_receivers())])]


def _finish(lowered: Lowered) -> list[str]:
    """Statements that init and update a vertex that received, from its accumulators."""
    lines = about(lowered, ("init", "update", "residual")) + inited(lowered)
    lines += accumulated(lowered)
    return lines + updated(lowered) + kept(lowered, written(lowered)) + measured(lowered) + restored(lowered)
