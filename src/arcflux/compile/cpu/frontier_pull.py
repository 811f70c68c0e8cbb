"""Pull: every vertex that wants messages looks for them along its in-edges, and reduces them in registers."""

from __future__ import annotations

from arcflux.compile.changes import steady
from arcflux.compile.cpu.dense import CHUNK, piece_of, sums_kept
from arcflux.compile.cpu.lists import Board, about, apply_phase, to_bits, to_next, to_receivers
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.crossing import crossed, edge_halves, uncrossed, uncrossed_row
from arcflux.compile.pieces.edges import edge_call, fresh, settled
from arcflux.compile.pieces.measures import none_yet
from arcflux.compile.pieces.source import (
    bound,
    call,
    claimed,
    columns_read,
    inited,
    inside,
    keep,
    kept,
    load,
    made,
    measured,
    message_reads,
    received,
    results,
    sent,
    updated,
    written,
)
from arcflux.compile.sparse import beamer, delayed, direct, precomputed, restored

__all__ = ["kept_apart", "pull_phase"]

# How many vertices ahead of the one in hand a pull has edges fetched.
_AHEAD = 12


def pull_phase(lowered: Lowered) -> list[str]:
    """The frontier becomes a bitmap; then every vertex that wants messages looks for them along its in-edges."""
    sender = ["u = np.uint64(queues[base + k])", "into_or(bits, now + (u >> six), one << (u & mask))"]
    for message in precomputed(lowered):
        sender += [*bound(lowered, [n for n in message_reads(message) if n[0] == "u"], "u"), sent(message, "u")]
    setting = claimed(f"board, block + {Board.CLAIM_BITS}", 4096, "k", "words", ["bits[now + k] = 0"])
    setting.append("if not all_here(barrier, worker, workers): return")
    setting += claimed(f"board, block + {Board.CLAIM_SET}", 4096, "k", "np.uint64(size)", sender)
    setting.append("if not all_here(barrier, worker, workers): return")
    if steady(lowered) and not precomputed(lowered):
        setting = []  # who is in the frontier makes no difference
    halves, into = edge_halves(lowered), _pull_into(lowered)
    if direct(lowered):
        into += kept(lowered, written(lowered)) + restored(lowered) + to_bits()
        cleared = f"for k in range(begin >> six, min((begin + np.uint64({CHUNK})) >> six, words)):"
        pulling = _wanting(lowered, into, [cleared, "    bits[later + k] = 0"])
        setting = ["if not as_bits:", *inside(setting)] if setting else []
        return [*halves, *setting, *pulling, "as_bits = True"]
    if delayed(lowered):
        return [*halves, *setting, *_wanting(lowered, into + _aside(lowered)), *apply_phase(_taken_over(lowered))]
    return [
        *halves,
        *setting,
        *_wanting(lowered, into + kept(lowered, written(lowered)) + restored(lowered) + to_next()),
    ]


def _wanting(lowered: Lowered, body: list[str], opening: list[str] | None = None) -> list[str]:
    """A loop over all vertices that want messages; `opening` stands before each chunk.

    The vertices of a chunk that want some, and have in-edges at all, are listed first. Then the edges of those to come
    can be fetched while others are looked at: a search that stops early reads a few edges here and there, which no
    processor foresees.
    """
    share = f"board, block + {Board.CLAIM}", CHUNK
    begun = none_yet(lowered.measures) if kept_apart(lowered) else []
    ended = sums_kept(lowered.measures, piece_of("begin")) if kept_apart(lowered) else []
    if not beamer(lowered):
        return claimed(*share, "v", "n", body, [*(opening or []), *begun], closing=ended)
    listing = [
        *about(lowered, ("wants",)),
        "chosen[wanting] = v",
        f"wanting += np.int64({call(lowered, 'wants')} & (in_offsets[v] != in_offsets[v + one]))",
    ]
    if rest := uncrossed_row(lowered, "in_offsets[v]", "in_offsets[v + one]", "i"):
        listing += [f"if not {call(lowered, 'wants')}:", *inside(rest)]
    listed = [f"for v in range(begin, min(begin + np.uint64({CHUNK}), n)):", *inside(listing)]
    fetching = [
        f"if j + {_AHEAD} < wanting:",
        f"    prefetch_to_read(in_neighbours, in_offsets[np.uint64(chosen[j + {_AHEAD}])])",
        "v = np.uint64(chosen[j])",
    ]
    first = [*(opening or []), "wanting = 0", *listed, *begun]
    return claimed(*share, "j", "n", fetching + body, first, "range(wanting)", ended)


def kept_apart(lowered: Lowered) -> bool:
    """Whether pull keeps what each chunk has reduced, because the order shows."""
    return lowered.deterministic and any(not each.exact for each in lowered.measures)


def _pull_into(lowered: Lowered) -> list[str]:
    """Statements that reduce into v, in registers, what its in-neighbours in the frontier send, and update it."""
    lines = about(lowered, ("init", "update", "residual"), edge=True) + inited(lowered)
    lines += [
        "got = False",
        *fresh(lowered),
        "for i in range(in_offsets[v], in_offsets[v + one]):",
        *inside(_pull_from(lowered)),
    ]
    lines += ["if not got:", "    continue", *settled(lowered)]
    return lines + updated(lowered) + measured(lowered)


def _pull_from(lowered: Lowered) -> list[str]:
    """Statements that take the messages of u at the start of an in-edge, if it is in the frontier."""
    known = ["if not (bits[now + (u >> six)] >> (u & mask)) & one:", *inside(uncrossed(lowered, "i")), "    continue"]
    lines = [
        "u = np.uint64(in_neighbours[i])",
        *([] if steady(lowered) and not precomputed(lowered) else known),
        "got = True",
        *(received(message, "u") for message in precomputed(lowered)),
        *made(lowered, [message for message in lowered.messages if message.field is not None]),
    ]
    lines += columns_read(lowered, "i", "ci")
    return [*lines, *crossed(lowered, "i"), edge_call(lowered), *(["break"] if lowered.only_any else [])]


def _aside(lowered: Lowered) -> list[str]:
    """Statements that keep v's new values aside, when others may still read the old ones.

    A vertex that neither changed nor sends next is left as it is: in a pull that is most of them.
    """
    scalars = all(lowered.fields[name[2:]][1] is None for name in written(lowered))
    differs = " or ".join(["moved", *(f"{name} != f_{name[2:]}[v]" for name in written(lowered))])
    lines = [f"if {differs}:" if scalars and not results(lowered, "update") else "if True:"]
    lines += inside([keep(lowered, name[2:], f"a_{name[2:]}", "v", name) for name in written(lowered)])
    return [*lines, "    flags[v] = moved", *inside(to_receivers())]


def _taken_over(lowered: Lowered) -> list[str]:
    """Statements that make what was kept aside v's values."""
    lines = [
        keep(lowered, name[2:], f"f_{name[2:]}", "v", load(lowered, name[2:], f"a_{name[2:]}", "v"))
        for name in written(lowered)
    ]
    return [*lines, *restored(lowered), "moved = flags[v]", *to_next()]
