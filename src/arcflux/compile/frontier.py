"""The kernel for programs of which only changed vertices send: a frontier, and each superstep push or pull.

Push: every vertex of the frontier computes its messages once and reduces them into the accumulators of its neighbours;
whoever was reached is listed once (a stamp of one byte tells), and updated after a barrier, or at once when any message
will do. Pull: every vertex that still wants
messages looks at its in-neighbours in the frontier (a bitmap, so that the question is answered from the cache) and
reduces in registers. The direction is chosen before each superstep from the frontier's edges, as in
direction-optimising BFS (Beamer, Asanovic, Patterson 2012), for any program.

Accumulators hold what init gives at all times between supersteps, so a superstep costs its frontier's edges, never a
pass over all vertices.
"""

from __future__ import annotations

import ast

from arcflux.compile.dense import CHUNK, piece, summed
from arcflux.compile.edges import edge_call, fresh, push_edge, push_reads
from arcflux.compile.lower import Lowered, Message
from arcflux.compile.source import (
    accumulated,
    arguments,
    bound,
    call,
    claimed,
    edge_reads,
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
    shared,
    updated,
    written,
)

__all__ = ["BLOCK", "buffered", "explained", "extra", "frontier", "precomputed", "restored"]

# The board: a block of counters for each of three supersteps in turn, each counter on its own cache line. Behind the
# blocks stand the size and the edges of the frontier and whether it is in bits, from one launch to the next.
BLOCK = 64
_CLAIM, _CLAIM_LATER, _CLAIM_BITS, _CLAIM_SET, _RECEIVED, _NEXT, _CLAIM_WORDS, _FROM_BITS = (8 * k for k in range(8))


def frontier(lowered: Lowered) -> str:
    """The inner functions and the kernel of a program that is sparse."""
    return "\n\n".join([push_edge(lowered), _FLUSH, _kernel(lowered)])


def delayed(lowered: Lowered) -> bool:
    """Whether pull has to keep new values aside until all have read the old ones."""
    read = {n.id[2:] for m in lowered.messages for n in ast.walk(m.source) if isinstance(n, ast.Name)}
    in_place = "monotone" in lowered.program.promises and not lowered.deterministic
    return bool(read & {name[2:] for name in written(lowered)}) and not in_place


def immediate(lowered: Lowered) -> bool:
    """Whether push updates a vertex with its first message: any will do, and nobody reads what it becomes."""
    return lowered.only_any and not delayed(lowered)


def claims(lowered: Lowered) -> str:
    """The field by which a push takes a vertex, so that no stamp is needed; "" when there is none.

    One that is negative while the vertex wants messages, and that ``af.any(u.number)`` makes positive for good.
    """
    wants, targets = lowered.functions.get("wants"), list(lowered.reductions)
    if wants is None or not immediate(lowered) or len(targets) != 1 or results(lowered, "init"):
        return ""
    said = ast.unparse(ast.Module([*wants.body, *lowered.edge], []))
    pattern = f"return v_{targets[0]} < 0\nreduce_any(v_{targets[0]}, u_number)"
    return targets[0] if said == pattern else ""


def buffered(lowered: Lowered) -> list[str]:
    """The fields that have a second array: accumulators, and what pull keeps aside."""
    if lowered.ordered or immediate(lowered):
        return []
    names = set(lowered.reductions)
    if delayed(lowered):
        names |= {name[2:] for name in written(lowered)}
    return sorted(names)


def precomputed(lowered: Lowered) -> list[Message]:
    """The messages that pull computes once for each vertex of the frontier; a field is read where it stands."""
    return [message for message in lowered.messages if message.field is None and not lowered.ordered]


def extra(lowered: Lowered) -> list[str]:
    """The names of the arrays that the kernel has besides the fields."""
    return [*(f"a_{name}" for name in buffered(lowered)), *(f"s_{m.name}" for m in precomputed(lowered))]


def restored(lowered: Lowered) -> list[str]:
    """Statements that make the accumulators what init gives for v's fields as they now stand."""
    if not buffered(lowered):
        return []
    init = results(lowered, "init")
    from_init = [name for name in sorted(lowered.reductions) if f"v_{name}" in init]
    lines = []
    if from_init:
        lines += bound(lowered, [n for n in arguments(lowered, "init") if n[:2] in ("o_", "v_")], "v") + inited(lowered)
    for name in sorted(lowered.reductions):
        value = f"v_{name}" if name in from_init else load(lowered, name, f"f_{name}", "v")
        lines.append(keep(lowered, name, f"a_{name}", "v", value))
    return lines


# --- the kernel

# A worker lists vertices in a buffer of its own, and copies it to its place on the shared list when it is full.
_FLUSH = """@inner
def flush(board, head, buffer, held, array, offset):
    place = np.uint64(fetch_add(board, head, held)) + offset
    for k in range(held):
        array[place + np.uint64(k)] = buffer[k]
    return 0
"""
_GRAPH = "in_offsets, in_neighbours, out_offsets, out_neighbours"
_WORK = "queues, received, stamp, bits, flags, buffers"


def _kernel(lowered: Lowered) -> str:
    columns = [f"{side}_{column}" for column in lowered.columns for side in ("ci", "co")]
    given = ", ".join([*columns, *extra(lowered), *shared(lowered)])
    pull = "\n".join(inside(_pull_phase(lowered), 3))
    push = "\n".join(inside(_push_phase(lowered), 3))
    return f"""@kernel
def frontier(worker, workers, control, barrier, board, slots, sums, history, first, last, direction, tolerance,
             {_GRAPH}, {_WORK}, {given}):
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    n = np.uint64(in_offsets.size) - one
    words = (n + mask) >> six
    pieces = np.uint64(sums.size // 2)
    buffer = buffers[worker]
    size, edges = board[{3 * BLOCK}], board[{3 * BLOCK + 1}]
    unexplored = g_arcs
    as_bits = board[{3 * BLOCK + 2}] != 0
    push_rate, pull_rate = {_PRIOR}, 1.0
    pushed, pulled = False, False
    pull = False
    for step in range(first, last):
        begun = ticks()
        block = step % 3 * {BLOCK}
        base = n if step & 1 else np.uint64(0)
        there = n - base
        mark = np.uint8(step % 255 + 1)
        if step % 255 == 0:
            share = n // np.uint64(workers) + one
            for k in range(share * np.uint64(worker), min(share * np.uint64(worker + 1), n)):
                stamp[k] = 0
            wait(barrier, workers)
        now, later = words * (np.uint64(step) & one), words * (one - (np.uint64(step) & one))
        held, listed, walked = 0, 0, 0
        edges_out = 0
        residual_sum = 0.0
        leaving, senders = edges, size
        about = {_ABOUT_CHOICE[_beamer(lowered)]}
        if direction == 0:
            {_CHOICE[_beamer(lowered)]}
        else:
            pull = direction == 2
        if pull:
{pull}
        else:
{push}
{_end(lowered)}"""


def _end(lowered: Lowered) -> str:
    """The end of a superstep, with the residuals added up by worker, by piece, or not at all."""
    keeping, adding = "pass", ["total_sum = math.inf"]
    if _piece(lowered):
        adding = summed()
    elif "residual" in lowered.functions:
        keeping = "sums[half + worker] = residual_sum"
        adding = ["total_sum = 0.0", "for w in range(workers):", "    total_sum += sums[half + w]"]
    return _END.replace("KEEPING", keeping).replace("ADDING", "\n".join(inside(adding, 2)).lstrip())


# The rule for a superstep's direction, without and with `wants`, and the number that explains the choice.
# Without: push costs the frontier's edges, pull all arcs, each at the rate measured so far in this run; before there is
# a measurement, an arc costs pull (a bit in the cache) a third of what an atomic costs push.
# With: Beamer's, because pull stops early. Pull when the frontier's edges are many of those still unexplored; push
# again when it is small.
_PRIOR = 3.0
_CHOICE = {
    False: "pull = push_rate * edges > pull_rate * g_arcs",
    True: "pull = size > g_vertices // 18 if pull else edges > max(unexplored, g_arcs // 256) // 15",
}
_ABOUT_CHOICE = {False: "push_rate / pull_rate", True: "np.float64(unexplored)"}
# Fewer edges than this tell more about the barrier than about an edge.
_MEASURED = 20_000
_AHEAD = 8


def _beamer(lowered: Lowered) -> bool:
    return "wants" in lowered.functions


def explained(lowered: Lowered, pull: bool, edges: int, arcs: int, about: float) -> str:
    """Why a superstep went the way it did, from the number that the kernel kept about its choice."""
    if not _beamer(lowered):
        return f"{edges:,} edges to push or {arcs:,} to pull, an edge being {about:.1f}x as dear to push"
    if pull:
        return f"the frontier is large: {edges:,} edges, {max(0, int(about)):,} unexplored"
    return f"the frontier is small: {edges:,} edges, {max(0, int(about)):,} unexplored"


# The end of a superstep: the next frontier is complete, and every worker adds up what all wrote before the barrier, so
# all decide alike whether to go on. The slots have two halves, so that no worker writes what a slower one still reads.
_END = f"""\
        held = flush(board, block + {_NEXT}, buffer, held, queues, there)
        half = (step & 1) * workers
        slots[half + worker, 0] = edges_out
        slots[half + worker, 1] = np.int64(ticks() - begun)
        slots[half + worker, 2] = listed if as_bits else 0
        slots[half + worker, 3] = walked
        KEEPING
        if worker == 0:
            for k in range({BLOCK}):
                board[(step + 1) % 3 * {BLOCK} + k] = 0
            control[8 + (step & 1)] = control[1]
        wait(barrier, workers)
        unexplored -= edges
        size, edges = board[block + {_NEXT}], 0
        slowest, walked = 0, 0
        for w in range(workers):
            edges += slots[half + w, 0]
            size += slots[half + w, 2]
            walked += slots[half + w, 3]
            slowest = max(slowest, slots[half + w, 1])
        ADDING
        if not pull:
            leaving = walked
        if pull:
            pull_rate = slowest / max(1, g_arcs)
            pulled = True
            if not pushed:
                push_rate = {_PRIOR} * pull_rate
        elif leaving > {_MEASURED}:
            push_rate = slowest / leaving
            pushed = True
            if not pulled:
                pull_rate = push_rate / {_PRIOR}
        if worker == 0:
            history[step - first, 0] = senders
            history[step - first, 1] = total_sum
            history[step - first, 2] = np.float64(ticks() - begun)
            history[step - first, 3] = 2 if pull else 1
            history[step - first, 4] = leaving
            history[step - first, 5] = about
            history[step - first, 6] = size
            control[2] = step + 1
            board[{3 * BLOCK}], board[{3 * BLOCK + 1}], board[{3 * BLOCK + 2}] = size, edges, as_bits
        if size == 0 or total_sum < tolerance or control[8 + (step & 1)]:
            break
"""


# --- push


def _push_phase(lowered: Lowered) -> list[str]:
    """The frontier sends along its out-edges; then whoever received is updated."""
    sender = ["u = np.uint64(queues[base + k])", *made(lowered, lowered.messages)]
    sender += ["row, row_end = out_offsets[u], out_offsets[u + one]", "walked += np.int64(row_end - row)"]
    loop = "for i in range(row, row_end):"
    sender += [loop, *inside([*_announced(lowered), *_push_to(lowered)])]
    sending = _queued(lowered) + claimed(f"board, block + {_CLAIM}", 64, "k", "np.uint64(size)", sender)
    return sending if immediate(lowered) else sending + _apply_phase(_finish(lowered) + _next())


def _queued(lowered: Lowered) -> list[str]:
    """Statements that make a queue of a frontier that a pull left in bits."""
    if not direct(lowered):
        return []
    flush = f"held = flush(board, block + {_FROM_BITS}, buffer, held, queues, base)"
    word = ["word = bits[now + k]", "while word != np.uint64(0):"]
    word += inside(["buffer[held] = (k << six) + trailing_zeros(word)", "held += 1", "word &= word - one"])
    word += inside(["if held == buffer.size:", f"    {flush}"])
    converting = claimed(f"board, block + {_CLAIM_WORDS}", 64, "k", "words", word)
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
    lines += _about(lowered, ("wants",)) + _unless_wanted(lowered)
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
        taken = _about(lowered, ("init", "update", "residual"), edge=True) + inited(lowered) + [edge_call(lowered)]
        taken += updated(lowered) + kept(lowered, written(lowered)) + measured(lowered) + _next()
        return [*lines, *first, *inside(taken)]
    lines += bound(lowered, [n for n in edge_reads(lowered) if n.startswith("o_")], "v")
    lines.append(f"if push_edge({', '.join(push_reads(lowered))}):")
    return [*lines, *inside([*first, *inside(_received())])]


def _finish(lowered: Lowered) -> list[str]:
    """Statements that init and update a vertex that received, from its accumulators."""
    lines = _about(lowered, ("init", "update", "residual")) + inited(lowered)
    lines += accumulated(lowered)
    return lines + updated(lowered) + kept(lowered, written(lowered)) + measured(lowered) + restored(lowered)


# --- pull


def direct(lowered: Lowered) -> bool:
    """Whether a pull can leave the next frontier in bits: it applies at once, and no messages are to be computed."""
    return not delayed(lowered) and not precomputed(lowered)


def _pull_phase(lowered: Lowered) -> list[str]:
    """The frontier becomes a bitmap; then every vertex that wants messages looks for them along its in-edges."""
    sender = ["u = np.uint64(queues[base + k])", "into_or(bits, now + (u >> six), one << (u & mask))"]
    for message in precomputed(lowered):
        sender += [*bound(lowered, [n for n in message_reads(message) if n[0] == "u"], "u"), sent(message, "u")]
    setting = claimed(f"board, block + {_CLAIM_BITS}", 4096, "k", "words", ["bits[now + k] = 0"])
    setting.append("wait(barrier, workers)")
    setting += claimed(f"board, block + {_CLAIM_SET}", 4096, "k", "np.uint64(size)", sender)
    setting.append("wait(barrier, workers)")
    if lowered.steady and not precomputed(lowered):
        setting = []  # who is in the frontier makes no difference
    claim, into = f"board, block + {_CLAIM}", _pull_into(lowered)
    if direct(lowered):
        into += kept(lowered, written(lowered)) + restored(lowered) + _marked()
        cleared = f"for k in range(begin >> six, min((begin + np.uint64({CHUNK})) >> six, words)):"
        pulling = claimed(claim, CHUNK, "v", "n", into, _piece(lowered), [cleared, "    bits[later + k] = 0"])
        return [*(["if not as_bits:", *inside(setting)] if setting else []), *pulling, "as_bits = True"]
    if delayed(lowered):
        pulling = claimed(claim, CHUNK, "v", "n", into + _aside(lowered), _piece(lowered))
        return [*setting, *pulling, *_apply_phase(_taken_over(lowered))]
    into += kept(lowered, written(lowered)) + restored(lowered) + _next()
    return [*setting, *claimed(claim, CHUNK, "v", "n", into, _piece(lowered))]


def _piece(lowered: Lowered) -> str:
    """Where pull keeps the residual of a chunk, when adding them up must have one order."""
    return piece(lowered) if lowered.deterministic else ""


def _pull_into(lowered: Lowered) -> list[str]:
    """Statements that reduce into v, in registers, what its in-neighbours in the frontier send, and update it."""
    lines = _about(lowered, ("wants",)) + _unless_wanted(lowered)
    lines += _about(lowered, ("init", "update", "residual"), edge=True) + inited(lowered)
    lines += [
        "got = False",
        *fresh(lowered),
        "for i in range(in_offsets[v], in_offsets[v + one]):",
        *inside(_pull_from(lowered)),
    ]
    lines += ["if not got:", "    continue"]
    return lines + updated(lowered) + measured(lowered)


def _pull_from(lowered: Lowered) -> list[str]:
    """Statements that take the messages of u at the start of an in-edge, if it is in the frontier."""
    known = ["if not (bits[now + (u >> six)] >> (u & mask)) & one:", "    continue"]
    lines = [
        "u = np.uint64(in_neighbours[i])",
        *([] if lowered.steady and not precomputed(lowered) else known),
        "got = True",
        *(received(message, "u") for message in precomputed(lowered)),
        *made(lowered, [message for message in lowered.messages if message.field is not None]),
    ]
    lines += [f"e_{column} = ci_{column}[i]" for column in lowered.columns]
    return [*lines, edge_call(lowered), *(["break"] if lowered.only_any else [])]


def _aside(lowered: Lowered) -> list[str]:
    """Statements that keep v's new values aside, when others may still read the old ones."""
    lines = ["if True:" if results(lowered, "update") else "if moved:"]
    lines += inside([keep(lowered, name[2:], f"a_{name[2:]}", "v", name) for name in written(lowered)])
    return [*lines, "    flags[v] = moved", *inside(_received())]


def _taken_over(lowered: Lowered) -> list[str]:
    """Statements that make what was kept aside v's values."""
    lines = [
        keep(lowered, name[2:], f"f_{name[2:]}", "v", load(lowered, name[2:], f"a_{name[2:]}", "v"))
        for name in written(lowered)
    ]
    return [*lines, *restored(lowered), "moved = flags[v]", *_next()]


# --- both ways


def _apply_phase(body: list[str]) -> list[str]:
    """After a barrier, `body` for every vertex on the list of those that received."""
    return [
        f"held = flush(board, block + {_RECEIVED}, buffer, held, received, np.uint64(0))",
        "wait(barrier, workers)",
        f"reached = np.uint64(board[block + {_RECEIVED}])",
        *claimed(f"board, block + {_CLAIM_LATER}", 256, "k", "reached", ["v = np.uint64(received[k])", *body]),
    ]


def _about(lowered: Lowered, functions: tuple[str, ...], edge: bool = False) -> list[str]:
    """Statements that load what functions need to know of v: its fields now (v_) and before (o_), its degrees."""
    names = {n for f in functions if f in lowered.functions for n in arguments(lowered, f)}
    names |= {n for n in edge_reads(lowered) if edge and n.startswith("o_")}
    names |= set(written(lowered)) if "update" in functions else set()
    return bound(lowered, sorted(n for n in names if n[:2] in ("o_", "v_")), "v")


def _unless_wanted(lowered: Lowered) -> list[str]:
    """Statements that pass over a vertex that wants no messages."""
    return [f"if not {call(lowered, 'wants')}:", "    continue"] if "wants" in lowered.functions else []


def _received() -> list[str]:
    return _listed("True", _RECEIVED, "received", "np.uint64(0)")


def _next() -> list[str]:
    """Statements that put v into the next frontier if it moved, and count its edges: all at first, then by a sample.

    Vertices come in no order, so that looking at the offsets of each would cost as much as everything else.
    """
    count = [
        "listed += 1",
        "if listed < 1024:",
        "    edges_out += np.int64(out_offsets[v + one] - out_offsets[v])",
        "elif v & np.uint64(15) == np.uint64(0):",
        "    edges_out += np.int64(16) * np.int64(out_offsets[v + one] - out_offsets[v])",
    ]
    return [*_listed("moved", _NEXT, "queues", "there"), "if moved:", *inside(count)]


def _marked() -> list[str]:
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
        f"        held = flush(board, block + {head}, buffer, held, {array}, {offset})",
    ]
