"""Pull: every vertex that wants messages reads them along its in-edges, and reduces them in registers."""

from __future__ import annotations

from arcflux.compile.changes import steady
from arcflux.compile.cpu.dense import CHUNK, piece_of, sums_kept
from arcflux.compile.cpu.lists import Board, about, apply_phase, to_bits, to_next, to_receivers
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.crossing import carried_edge, carried_row, edge_halves, edge_loads
from arcflux.compile.pieces.edges import edge_call, fresh, settled
from arcflux.compile.pieces.measures import none_yet
from arcflux.compile.pieces.source import (
    bound,
    call,
    chunk_loop,
    columns_read,
    init_call,
    inside,
    keep,
    load,
    measured,
    message_reads,
    message_values,
    received,
    results,
    sent,
    stores,
    updated,
    written,
)
from arcflux.compile.sparse import beamer, delays, direct, precomputed, reset_from_init

__all__ = ["kept_apart", "pull_phase"]

# How many vertices ahead a pull prefetches edges.
_AHEAD = 12


def pull_phase(lowered: Lowered) -> list[str]:
    """The frontier becomes a bitmap; then every vertex that wants messages reads them along its in-edges."""
    sender = ["u = np.uint64(queues[base + k])", "into_or(bits, now + (u >> six), one << (u & mask))"]
    for message in precomputed(lowered):
        sender += [*bound(lowered, [n for n in message_reads(message) if n[0] == "u"], "u"), sent(message, "u")]
    setting = chunk_loop(f"board, block + {Board.CLAIM_BITS}", 4096, "k", "words", ["bits[now + k] = 0"])
    setting.append("if not all_here(barrier, worker, workers): return")
    setting += chunk_loop(f"board, block + {Board.CLAIM_SET}", 4096, "k", "np.uint64(size)", sender)
    setting.append("if not all_here(barrier, worker, workers): return")
    if steady(lowered) and not precomputed(lowered):
        setting = []  # all in-neighbours count, in the frontier or not
    halves, into = edge_halves(lowered), _pull_into(lowered)
    if direct(lowered):
        into += stores(lowered, written(lowered)) + reset_from_init(lowered) + to_bits()
        cleared = f"for k in range(begin >> six, min((begin + np.uint64({CHUNK})) >> six, words)):"
        pulling = _wanting(lowered, into, [cleared, "    bits[later + k] = 0"])
        setting = ["if not as_bits:", *inside(setting)] if setting else []
        return [*halves, *setting, *pulling, "as_bits = True"]
    if delays(lowered):
        return [*halves, *setting, *_wanting(lowered, into + _aside(lowered)), *apply_phase(_taken_over(lowered))]
    return [
        *halves,
        *setting,
        *_wanting(lowered, into + stores(lowered, written(lowered)) + reset_from_init(lowered) + to_next()),
    ]


def _wanting(lowered: Lowered, body: list[str], opening: list[str] | None = None) -> list[str]:
    """A loop over all vertices that want messages; `opening` comes before each chunk.

    The vertices of a chunk that want messages, and have in-edges, are listed first. Then the edges of later vertices
    can be prefetched while others are processed: a search that stops early reads a few edges here and there, which no
    processor predicts.
    """
    share = f"board, block + {Board.CLAIM}", CHUNK
    begun = none_yet(lowered.measures) if kept_apart(lowered) else []
    ended = sums_kept(lowered.measures, piece_of("begin")) if kept_apart(lowered) else []
    if not beamer(lowered):
        return chunk_loop(*share, "v", "n", body, [*(opening or []), *begun], closing=ended)
    listing = [
        *about(lowered, ("wants",)),
        "chosen[wanting] = v",
        f"wanting += np.int64({call(lowered, 'wants')} & (in_offsets[v] != in_offsets[v + one]))",
    ]
    if rest := carried_row(lowered, "in_offsets[v]", "in_offsets[v + one]", "i"):
        listing += [f"if not {call(lowered, 'wants')}:", *inside(rest)]
    listed = [f"for v in range(begin, min(begin + np.uint64({CHUNK}), n)):", *inside(listing)]
    fetching = [
        f"if j + {_AHEAD} < wanting:",
        f"    prefetch_to_read(in_neighbours, in_offsets[np.uint64(chosen[j + {_AHEAD}])])",
        "v = np.uint64(chosen[j])",
    ]
    first = [*(opening or []), "wanting = 0", *listed, *begun]
    return chunk_loop(*share, "j", "n", fetching + body, first, "range(wanting)", ended)


def kept_apart(lowered: Lowered) -> bool:
    """Whether pull stores the partial reduction of each chunk, because their order affects the bits."""
    return lowered.deterministic and any(not each.exact for each in lowered.measures)


def _pull_into(lowered: Lowered) -> list[str]:
    """Statements that reduce the messages of v's in-neighbours in the frontier, in registers, and update v."""
    lines = about(lowered, ("init", "update", "residual"), edge=True) + init_call(lowered)
    lines += [
        "got = False",
        *fresh(lowered),
        "for i in range(in_offsets[v], in_offsets[v + one]):",
        *inside(_pull_from(lowered)),
    ]
    lines += ["if not got:", "    continue", *settled(lowered)]
    return lines + updated(lowered) + measured(lowered)


def _pull_from(lowered: Lowered) -> list[str]:
    """Statements that read the messages of u at the start of an in-edge, if it is in the frontier."""
    known = [
        "if not (bits[now + (u >> six)] >> (u & mask)) & one:",
        *inside(carried_edge(lowered, "i")),
        "    continue",
    ]
    lines = [
        "u = np.uint64(in_neighbours[i])",
        *([] if steady(lowered) and not precomputed(lowered) else known),
        "got = True",
        *(received(message, "u") for message in precomputed(lowered)),
        *message_values(lowered, [message for message in lowered.messages if message.field is not None]),
    ]
    lines += columns_read(lowered, "i", "ci")
    return [*lines, *edge_loads(lowered, "i"), edge_call(lowered), *(["break"] if lowered.only_any else [])]


def _aside(lowered: Lowered) -> list[str]:
    """Statements that buffer v's new values, if others may still read the old ones.

    A vertex that neither changed nor sends next is left as it is: in a pull that is most of them.
    """
    scalars = all(lowered.fields[name[2:]][1] is None for name in written(lowered))
    differs = " or ".join(["moved", *(f"{name} != f_{name[2:]}[v]" for name in written(lowered))])
    lines = [f"if {differs}:" if scalars and not results(lowered, "update") else "if True:"]
    lines += inside([keep(lowered, name[2:], f"a_{name[2:]}", "v", name) for name in written(lowered)])
    return [*lines, "    flags[v] = moved", *inside(to_receivers())]


def _taken_over(lowered: Lowered) -> list[str]:
    """Statements that store the buffered values as v's values."""
    lines = [
        keep(lowered, name[2:], f"f_{name[2:]}", "v", load(lowered, name[2:], f"a_{name[2:]}", "v"))
        for name in written(lowered)
    ]
    return [*lines, *reset_from_init(lowered), "moved = flags[v]", *to_next()]
