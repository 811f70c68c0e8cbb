"""The lists of a kernel with a frontier: receivers, the next frontier, and the counters by which workers share them."""

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

# The board: a block of counters for each of three supersteps in turn, each counter on its own cache line. After the
# blocks, kept from one launch to the next: the size and the edges of the frontier and whether it is a bitmap; the state
# that a worker that was alone leaves to the others: the superstep, the unexplored edges (which the next launch needs,
# too), and whether the run is over; whether one worker begins alone; how many edges the last frontier sent along; and,
# for three supersteps in turn, how far each part of the queue is claimed.
BLOCK = 64
PARTS = 3 * BLOCK + 8
# The number of frontier vertices whose edges fit a worker's cache.
FEW = 1024


def board_size(workers: int) -> int:
    """The length of the board."""
    return PARTS + 3 * 8 * workers


class Board:
    """The counters of a block."""

    CLAIM, CLAIM_LATER, CLAIM_BITS, CLAIM_SET, RECEIVED, NEXT, CLAIM_WORDS, FROM_BITS = range(0, 64, 8)


# A worker lists vertices in its own buffer, and copies a full buffer to its position on the shared list. It remembers
# the middle of that position, because the data of these vertices is in its cache.
FLUSH = """@fragment
def flush(board, head, buffer, held, array, offset):
    place = np.uint64(fetch_add(board, head, held))
    for k in range(held):
        array[offset + place + np.uint64(k)] = buffer[k]
    return 0, place + np.uint64(held >> 1)
"""


def apply_phase(body: list[str]) -> list[str]:
    """After a barrier, `body` for every vertex on the list of receivers."""
    return [
        f"held, middle = flush(board, block + {Board.RECEIVED}, buffer, held, received, np.uint64(0))",
        "if not all_here(barrier, worker, team): return",
        f"reached = np.uint64(board[block + {Board.RECEIVED}])",
        *chunk_loop(f"board, block + {Board.CLAIM_LATER}", 256, "k", "reached", ["v = np.uint64(received[k])", *body]),
    ]


def about(lowered: Lowered, functions: tuple[str, ...], edge: bool = False) -> list[str]:
    """Statements that load v's data for functions: its fields now (v_) and before (o_), its degrees."""
    names = {n for f in functions if f in lowered.functions for n in arguments(lowered, f)}
    names |= {n for n in ends_known(lowered) if edge and n.startswith("o_")}
    names |= set(written(lowered)) if "update" in functions else set()
    return bound(lowered, sorted(n for n in names if n[:2] in ("o_", "v_")), "v")


def unless_wanted(lowered: Lowered) -> list[str]:
    """Statements that skip a vertex that wants no messages."""
    return [f"if not {call(lowered, 'wants')}:", "    continue"] if "wants" in lowered.functions else []


def received_along(lowered: Lowered, listing: list[str]) -> list[str]:
    """Statements that push along an edge and then list v as a receiver, whatever its accumulators make of the message.

    If a message that leaves the accumulators unchanged has no effect, v is not listed for it.
    """
    sending = f"push_edge({', '.join(push_reads(lowered))})"
    return [f"if {sending}:", *inside(listing)] if quiet(lowered) else [sending, *listing]


def to_receivers() -> list[str]:
    """Statements that put v on the list of receivers."""
    return _listed("True", Board.RECEIVED, "received", "np.uint64(0)")


def to_next() -> list[str]:
    """Statements that put v into the next frontier if it moved, and count its edges: all at first, then by a sample.

    Vertices come in no order, so reading the offsets of each would cost as much as everything else. While they are few,
    their edges are prefetched, which stay in the cache until the next superstep. The pattern of a vertex
    (graph/neighbour_patterns.py) gives its degree, if there is one.
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
    """Statements that set v's bit in the next frontier if it moved. No other worker writes to its word."""
    return [
        "if moved:",
        "    bits[later + (v >> six)] |= one << (v & mask)",
        "    listed += 1",
        "    edges_out += np.int64(out_offsets[v + one] - out_offsets[v])",
    ]


def _listed(condition: str, head: int, array: str, offset: str) -> list[str]:
    """Statements that put v on a shared list, through the worker's own buffer."""
    return [
        f"if {condition}:",
        "    buffer[held] = v",
        "    held += 1",
        "    if held == buffer.size:",
        f"        held, middle = flush(board, block + {head}, buffer, held, {array}, {offset})",
    ]
