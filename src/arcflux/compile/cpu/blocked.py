"""The dense pull of a large graph, by blocks of arcs that fit the cache (graph/blocks.py).

A worker claims 65,536 targets at a time: it resets their accumulators by init, reduces all blocks of arcs into them,
and updates the targets. Every target receives its messages in the order of its in-edges, as in the plain pull, so the
two give the same bits; they differ in which cache the messages come from. Only if sources are ranked (`places`),
messages are stored and received in another order.

For a program that changes messages in place, a worker claims fewer targets at a time: a block's targets are halved
`halvings` times, so that others see changes sooner. Sums are by chunks of vertices as everywhere, so they have the
plain pull's bits.
"""

from __future__ import annotations

from itertools import pairwise

from arcflux.compile.cpu.dense import (
    CHUNK,
    accumulators,
    dense_end,
    finished,
    halves,
    if_wanted,
    messages,
    piece_of,
    reset_accumulators,
    sends,
    sums_kept,
)
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import edge_call
from arcflux.compile.pieces.measures import none_yet
from arcflux.compile.pieces.source import (
    accumulated,
    bound,
    columns_read,
    edge_reads,
    inside,
    keep,
    received,
    shared,
    totals_known,
)

__all__ = ["blocked"]

_STREAMS = 4


def blocked(lowered: Lowered) -> str:
    """The kernel."""
    columns = [f"c_{column}" for column in lowered.columns]
    arrays = [*columns, *messages(lowered), *accumulators(lowered), *shared(lowered)]
    arguments = ", ".join(["arcs", "starts", "order", "places", "halvings", "in_offsets", "out_offsets", *arrays])
    first = "\n".join(inside(if_wanted(lowered, reset_accumulators(lowered)), 4))
    block = "\n".join(inside(_block(_arc(lowered)), 4))
    last = "\n".join(inside([*if_wanted(lowered, finished(lowered)), *sends(lowered, "other", "place")], 5))
    known = "".join(line + "\n" for line in inside(totals_known(lowered)))
    begun = "\n".join(inside(none_yet(lowered.measures), 4))
    ended = "\n".join(inside(sums_kept(lowered.measures, piece_of("few")), 4))
    return f"""@kernel
def blocked(worker, workers, control, barrier, counters, slots, sums, history, first, last, tolerance, {arguments}):
    one, bits, low = np.uint64(1), np.uint64(16), np.uint32(0xFFFF)
    n, wide = np.uint64(in_offsets.size) - one, np.uint64(order.size)
    fine = np.uint64(halvings)
    tall, items, pieces = one << (bits - fine), wide << fine, np.uint64(sums.size // 2)
{known}\
    for step in range(first, last):
        begun = ticks()
        {halves(lowered)}
        turn = step % 3
        changed = 0
        while True:
            item = np.uint64(fetch_add(counters, turn * 8, 1))
            if item >= items:
                break
            row, part = np.uint64(order[item >> fine]), item & ((one << fine) - one)
            top = row << bits
            begin, end = top + part * tall, min(top + (part + one) * tall, n)
            for v in range(begin, end):
{first}
            for s in range(wide):
                near = s << bits
{block}
            for few in range(begin, end, np.uint64({CHUNK})):
{begun}
                for v in range(few, min(few + np.uint64({CHUNK}), end)):
                    place = v if places is None else np.uint64(places[v])
{last}
{ended}
{dense_end(lowered, "pull")}"""


def _block(arc: list[str]) -> list[str]:
    """Statements that reduce the arcs of a block, from several positions in turn.

    Arcs to the same target are adjacent, and each waits for the store of the one before: on some processors longer than
    for the message itself. Interleaving several stretches hides that. No target is in two stretches, so each still
    receives its messages in order.
    """
    cuts = [f"cut{k}" for k in range(_STREAMS + 1)]
    lines = ["block = ((row * wide + s) << fine) + part", f"cut0, cut{_STREAMS} = starts[block], starts[block + one]"]
    lines.append(f"share = (cut{_STREAMS} - cut0) // np.uint64({_STREAMS})")
    for before, cut in pairwise(cuts[:-1]):
        same = f"arcs[{cut}] >> np.uint32(16) == arcs[{cut} - one] >> np.uint32(16)"
        lines.append(f"{cut} = min({before} + share, cut{_STREAMS})")
        lines += [f"while {before} < {cut} < cut{_STREAMS} and {same}:", f"    {cut} += one"]
    sizes = ", ".join(f"{after} - {before}" for before, after in pairwise(cuts))
    lines += [f"both = min({sizes})", "for k in range(both):"]
    for cut in cuts[:-1]:
        lines += inside([f"i = {cut} + k", *arc])
    for before, after in pairwise(cuts):
        lines += [f"for i in range({before} + both, {after}):", *inside(arc)]
    return lines


def _arc(lowered: Lowered) -> list[str]:
    """Statements that reduce one message into the accumulators of v."""
    lines = ["arc = arcs[i]", "v = top + np.uint64(arc >> np.uint32(16))", "u = near + np.uint64(arc & low)"]
    lines += [received(message, "base + u") for message in lowered.messages]
    lines += columns_read(lowered, "i")
    lines += ["u_number = np.int64(u)"] if "u_number" in edge_reads(lowered) else []
    lines += bound(lowered, [n for n in edge_reads(lowered) if n.startswith("o_")], "v")
    lines += [*accumulated(lowered), edge_call(lowered)]
    return lines + [keep(lowered, name, f"a_{name}", "v", f"v_{name}") for name in sorted(lowered.reductions)]
