"""The lists of a kernel with a frontier: who received, who is next, and the counters by which workers share them."""

from __future__ import annotations

from arcflux.compile.changes import quiet
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import push_reads
from arcflux.compile.pieces.source import arguments, bound, call, chunk_loop, ends_known, inside, written

__all__ = [
    "BLOCK",
    "FEW",
    "FLUSH",
    "PARTS",
    "Board",
    "about",
    "apply_phase",
    "board_size",
    "received_along",
    "to_bits",
    "to_next",
    "to_receivers",
    "unless_wanted",
]

# The board: a block of counters for each of three supersteps in turn, each counter on its own cache line. Behind the
# blocks stand the size and the edges of the frontier and whether it is in bits, from one launch to the next; what a
# worker that was alone leaves to the others: the superstep, the unexplored edges (with which the next launch begins,
# too), and whether all is over; whether one begins alone; along how many edges the last frontier sent; and, for three
# supersteps in turn, how far each part of the queue is claimed.
BLOCK = 64
PARTS = 3 * BLOCK + 8
# As many vertices of a frontier as a worker keeps in its cache, with their edges.
FEW = 1024


def board_size(workers: int) -> int:
    """How many numbers the board has."""
    return PARTS + 3 * 8 * workers


class Board:
    """The counters of a block."""

    CLAIM, CLAIM_LATER, CLAIM_BITS, CLAIM_SET, RECEIVED, NEXT, CLAIM_WORDS, FROM_BITS = range(0, 64, 8)


# A worker lists vertices in a buffer of its own, and copies it to its place on the shared list when it is full. It
# remembers the middle of that place, because it has what belongs to these vertices in its cache.
FLUSH = """@fragment
def flush(board, head, buffer, held, array, offset):
    place = np.uint64(fetch_add(board, head, held))
    for k in range(held):
        array[offset + place + np.uint64(k)] = buffer[k]
    return 0, place + np.uint64(held >> 1)
"""


def apply_phase(body: list[str]) -> list[str]:
    """After a barrier, `body` for every vertex on the list of those that received."""
    return [
        f"held, middle = flush(board, block + {Board.RECEIVED}, buffer, held, received, np.uint64(0))",
        "if not all_here(barrier, worker, team): return",
        f"reached = np.uint64(board[block + {Board.RECEIVED}])",
        *chunk_loop(f"board, block + {Board.CLAIM_LATER}", 256, "k", "reached", ["v = np.uint64(received[k])", *body]),
    ]


def about(lowered: Lowered, functions: tuple[str, ...], edge: bool = False) -> list[str]:
    """Statements that load what functions need to know of v: its fields now (v_) and before (o_), its degrees."""
    names = {n for f in functions if f in lowered.functions for n in arguments(lowered, f)}
    names |= {n for n in ends_known(lowered) if edge and n.startswith("o_")}
    names |= set(written(lowered)) if "update" in functions else set()
    return bound(lowered, sorted(n for n in names if n[:2] in ("o_", "v_")), "v")


def unless_wanted(lowered: Lowered) -> list[str]:
    """Statements that pass over a vertex that wants no messages."""
    return [f"if not {call(lowered, 'wants')}:", "    continue"] if "wants" in lowered.functions else []


def received_along(lowered: Lowered, listing: list[str]) -> list[str]:
    """Statements that push along an edge and then list v, which has received, whatever its accumulators make of it.

    Where nothing would come of a message that leaves them as they are, v is not listed for it.
    """
    sending = f"push_edge({', '.join(push_reads(lowered))})"
    return [f"if {sending}:", *inside(listing)] if quiet(lowered) else [sending, *listing]


def to_receivers() -> list[str]:
    """Statements that put v on the list of those that received."""
    return _listed("True", Board.RECEIVED, "received", "np.uint64(0)")


def to_next() -> list[str]:
    """Statements that put v into the next frontier if it moved, and count its edges: all at first, then by a sample.

    Vertices come in no order, so that looking at the offsets of each would cost as much as everything else. While they
    are few, what they will send along is fetched: it stays in the cache until the next superstep. The pattern of
    a vertex (graph/neighbour_patterns.py) says it, if there is one.
    """
    count = [
        "listed += 1",
        f"if listed < {FEW}:",
        "    pattern_of_v = np.uint64(patterns[v]) if patterned else np.uint64(0)",
        "    if pattern_of_v != np.uint64(0):",
        "        edges_out += np.int64(pattern_rows[pattern_of_v + one] - pattern_rows[pattern_of_v])",
        "    else:",
        "        edges_out += np.int64(out_offsets[v + one] - out_offsets[v])",
        "        prefetch_to_read(out_neighbours, out_offsets[v])",
        "elif v & np.uint64(15) == np.uint64(0):",
        "    edges_out += np.int64(16) * np.int64(out_offsets[v + one] - out_offsets[v])",
    ]
    return [*_listed("moved", Board.NEXT, "queues", "there"), "if moved:", *inside(count)]


def to_bits() -> list[str]:
    """Statements that put v into the bits of the next frontier if it moved. Nobody else has its word."""
    return [
        "if moved:",
        "    bits[later + (v >> six)] |= one << (v & mask)",
        "    listed += 1",
        "    edges_out += np.int64(out_offsets[v + one] - out_offsets[v])",
    ]


def _listed(condition: str, head: int, array: str, offset: str) -> list[str]:
    """Statements that put v on a shared list, by way of the worker's own buffer."""
    return [
        f"if {condition}:",
        "    buffer[held] = v",
        "    held += 1",
        "    if held == buffer.size:",
        f"        held, middle = flush(board, block + {head}, buffer, held, {array}, {offset})",
    ]
