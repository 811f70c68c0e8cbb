"""Push: the frontier sends along its out-edges; each receiver is enqueued once, and updated."""

from __future__ import annotations

from arcflux.compile.cpu.lists import (
    FEW,
    PARTS,
    Board,
    about,
    apply_phase,
    received_along,
    to_next,
    to_receivers,
    unless_wanted,
)
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import edge_call
from arcflux.compile.pieces.source import (
    accumulated,
    bound,
    chunk_loop,
    columns_read,
    edge_reads,
    init_call,
    inside,
    measured,
    message_reads,
    message_values,
    stores,
    updated,
    written,
)
from arcflux.compile.sparse import claims, direct, immediate, reset_from_init

__all__ = ["push_phase"]

# Prefetch distances: for the targets of edges, in edges; for senders and the first of their edges, in senders.
_AHEAD = 8
_SENDERS = 4

# The targets of u: along its row, or at the distances of its pattern (graph/neighbour_patterns.py).
_ROW = [
    "pattern = np.uint64(patterns[u]) if patterned else np.uint64(0)",
    "if pattern == np.uint64(0):",
    "    row, row_end = out_offsets[u], out_offsets[u + one]",
    "else:",
    "    row, row_end = pattern_rows[pattern], pattern_rows[pattern + one]",
]


def push_phase(lowered: Lowered) -> list[str]:
    """The frontier sends along its out-edges; then the receivers are updated."""
    sender = ["if far and not patterned:", *inside(_foreseen(lowered)), "u = np.uint64(queues[origin + k])"]
    sender += [*message_values(lowered, lowered.messages), *_ROW, "walked += np.int64(row_end - row)"]
    loop = "for i in range(row, row_end):"
    sender += [loop, *inside([*_announced(lowered), *_push_to(lowered)])]
    sending = _queued(lowered) + _by_parts(sender)
    return sending if immediate(lowered) else sending + apply_phase(_finish(lowered) + to_next())


def _by_parts(sender: list[str]) -> list[str]:
    """The queue has a part for each worker; each begins with the part that it listed, and then helps with others.

    What a worker has just reached is in its own cache. On a grid, where a superstep is a thousand vertices, a common
    counter made a BFS a sixth slower; and claiming half of a short part at once took a quarter off. Where a worker
    begins is fixed first: `middle` advances with what it lists.
    """
    place = f"{PARTS} + (step % 3 * workers + np.int64(part)) * 8"
    return [
        "parts, whole = np.uint64(team), np.uint64(size)",
        "home = middle * parts // whole",
        f"far = whole > np.uint64({FEW}) * parts",
        "for turn in range(team):",
        "    part = (home + np.uint64(turn)) % parts",
        "    origin, share = base + part * whole // parts, (part + one) * whole // parts - part * whole // parts",
        f"    if turn and board[{place}] >= np.int64(share):",
        "        continue",
        "    grain = np.int64(64) if far else max(np.int64(64), np.int64(share >> one) + 1)",
        *inside(chunk_loop(f"board, {place}", "grain", "k", "share", sender)),
    ]


def _foreseen(lowered: Lowered) -> list[str]:
    """Statements that prefetch what later senders in the queue will need, in the order of the dependences.

    First the offsets of a sender's edges, then the edges, then the first of their targets. A frontier that does not fit
    the cache (`far`) needs all of it; for a small one, edges were prefetched as each vertex was listed, and the rest
    would only cost instructions: half of a superstep on a grid.
    """
    fields = {name[2:] for m in lowered.messages for name in message_reads(m) if name[0] == "u"}
    known = [f"f_{name}" for name in sorted(fields & set(lowered.fields)) if lowered.fields[name][1] is None]
    rows = ["out_neighbours", *(f"co_{column}" for column in lowered.columns)]
    lines = [
        f"if k + np.uint64({4 * _SENDERS}) < share:",
        f"    ahead = np.uint64(queues[origin + k + np.uint64({4 * _SENDERS})])",
        *inside([f"prefetch_to_read({array}, ahead)" for array in ["out_offsets", *known]]),
        f"if k + np.uint64({2 * _SENDERS}) < share:",
        f"    row = out_offsets[np.uint64(queues[origin + k + np.uint64({2 * _SENDERS})])]",
        *inside([f"prefetch_to_read({array}, row)" for array in rows]),
    ]
    if not _reached(lowered):
        return lines
    return [
        *lines,
        f"if k + np.uint64({_SENDERS}) < share:",
        f"    ahead = np.uint64(queues[origin + k + np.uint64({_SENDERS})])",
        "    row = out_offsets[ahead]",
        f"    for i in range(row, min(row + np.uint64({_AHEAD}), out_offsets[ahead + one])):",
        *inside(_fetched(lowered, "out_neighbours[i]"), 2),
    ]


def _queued(lowered: Lowered) -> list[str]:
    """Statements that make a queue of a frontier that a pull left as a bitmap."""
    if not direct(lowered):
        return []
    flush = f"held, middle = flush(board, block + {Board.FROM_BITS}, buffer, held, queues, base)"
    word = ["word = bits[now + k]", "while word != np.uint64(0):"]
    word += inside(["buffer[held] = (k << six) + trailing_zeros(word)", "held += 1", "word &= word - one"])
    word += inside(["if held == buffer.size:", f"    {flush}"])
    converting = chunk_loop(f"board, block + {Board.CLAIM_WORDS}", 64, "k", "words", word)
    meeting = "if not all_here(barrier, worker, workers): return"
    return ["if as_bits:", *inside([*converting, flush, meeting, "as_bits = False"])]


def _announced(lowered: Lowered) -> list[str]:
    """Statements that prefetch the data of the target some edges ahead."""
    if not _reached(lowered):
        return []
    fetched = _fetched(lowered, f"out_neighbours[i + np.uint64({_AHEAD})]")
    return [f"if pattern == np.uint64(0) and i + np.uint64({_AHEAD}) < row_end:", *inside(fetched)]


def _fetched(lowered: Lowered, vertex: str) -> list[str]:
    """Statements that prefetch, for writing, the cache lines that a message to a vertex changes."""
    return [f"ahead = np.uint64({vertex})", *(f"prefetch({array}, ahead)" for array in _reached(lowered))]


def _reached(lowered: Lowered) -> list[str]:
    """The arrays that a message changes at once.

    An atomic waits for every store before it. Stores that miss the cache would make each atomic wait for memory.
    """
    arrays = [f"f_{name[2:]}" for name in written(lowered)] if immediate(lowered) else []
    scalars = [array for array in arrays if lowered.fields[array[2:]][1] is None]
    return [*scalars, "stamp"] if scalars and not claims(lowered) else scalars


def _push_to(lowered: Lowered) -> list[str]:
    """Statements that reduce u's messages into v at the end of an out-edge, and list v the first time."""
    lines = ["v = np.uint64(out_neighbours[i]) if pattern == np.uint64(0) else u + distances[i]"]
    lines += about(lowered, ("wants",)) + unless_wanted(lowered)
    lines += columns_read(lowered, "i", "co")
    first = [
        "before = stamp[v]",
        "if before != mark and compare_and_swap(stamp, v, before, mark) == before:",
    ]
    if claims(lowered):
        mine, kind = f"f_{claims(lowered)}", lowered.fields[claims(lowered)][0].name
        first = [
            f"before = {mine}[v]",
            f"if before < 0 and (alone or compare_and_swap({mine}, v, before, np.{kind}(u_number)) == before):",
        ]
    if immediate(lowered):
        edge_lines = (
            about(lowered, ("init", "update", "residual"), edge=True) + init_call(lowered) + [edge_call(lowered)]
        )
        edge_lines += updated(lowered) + stores(lowered, written(lowered)) + measured(lowered) + to_next()
        return [*lines, *first, *inside(edge_lines)]
    lines += bound(lowered, [n for n in edge_reads(lowered) if n.startswith("o_")], "v")
    return [*lines, *received_along(lowered, [*first, *inside(to_receivers())])]


def _finish(lowered: Lowered) -> list[str]:
    """Statements that init and update a receiver from its accumulators."""
    lines = about(lowered, ("init", "update", "residual")) + init_call(lowered)
    lines += accumulated(lowered)
    return lines + updated(lowered) + stores(lowered, written(lowered)) + measured(lowered) + reset_from_init(lowered)
