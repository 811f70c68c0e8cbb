"""The push kernel of dense programs: three passes over the vertices, with a barrier between them.

Accumulators are set to what init returns; every u computes its messages once and reduces them into the accumulators of
its out-neighbours, atomically; every vertex is updated from its accumulators. Fields change only in the last pass, so
``old`` and what u sends are the values from before the superstep. Sums of floats depend on the order of arrival: two
runs agree to rounding, not to the bit.
"""

from __future__ import annotations

from arcflux.compile.cpu.dense import (
    CHUNK,
    accumulators,
    dense_end,
    finished,
    if_wanted,
    piece_of,
    reset_accumulators,
    sums_kept,
)
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import push_edge, push_reads
from arcflux.compile.pieces.measures import none_yet
from arcflux.compile.pieces.source import (
    bound,
    chunk_loop,
    columns_read,
    edge_reads,
    inside,
    message_values,
    shared,
    totals_known,
)

__all__ = ["dense_push"]


def dense_push(lowered: Lowered) -> str:
    """The inner function and the kernel."""
    columns = [f"c_{column}" for column in lowered.columns]
    arguments = ", ".join(
        ["in_offsets", "out_offsets", "neighbours", *columns, *accumulators(lowered), *shared(lowered)]
    )
    passes = [
        *chunk_loop("counters, turn * 8", CHUNK, "v", "n", if_wanted(lowered, reset_accumulators(lowered))),
        "if not all_here(barrier, worker, workers): return",
        *chunk_loop("counters, turn * 8 + 24", 256, "u", "n", _pushed(lowered)),
        "if not all_here(barrier, worker, workers): return",
        *chunk_loop(
            "counters, turn * 8 + 48",
            CHUNK,
            "v",
            "n",
            if_wanted(lowered, finished(lowered)),
            opening=none_yet(lowered.measures),
            closing=sums_kept(lowered.measures, piece_of("begin")),
        ),
    ]
    lines = "\n".join(inside(passes, 2))
    known = "".join(line + "\n" for line in inside(totals_known(lowered)))
    return f"""{push_edge(lowered)}

@kernel
def dense_push(worker, workers, control, barrier, counters, slots, sums, history, first, last, tolerance, {arguments}):
    one = np.uint64(1)
    n = np.uint64(in_offsets.size) - one
    pieces = np.uint64(sums.size // 2)
{known}\
    for step in range(first, last):
        begun = ticks()
        turn = step % 3
        changed = 0
{lines}
{dense_end(lowered, "push")}"""


def _pushed(lowered: Lowered) -> list[str]:
    """Statements that reduce u's messages into its out-neighbours."""
    lines = ["v = np.uint64(neighbours[i])"]
    lines += columns_read(lowered, "i")
    lines += bound(lowered, [n for n in edge_reads(lowered) if n.startswith("o_")], "v")
    lines.append(f"push_edge({', '.join(push_reads(lowered))})")
    return [
        *message_values(lowered, lowered.messages),
        "for i in range(out_offsets[u], out_offsets[u + one]):",
        *inside(lines),
    ]
