"""The kernel for programs with a priority: vertices come bucket by bucket, smallest first, and change in place.

Delta-stepping (Meyer, Sanders 2003) for any program whose reductions allow every order of messages: each worker has its
own bins for the vertices that it improved, drains its own share of the current bucket while that is short (bucket
fusion; Zhang et al., CGO 2020), and then all agree on the next bucket. A vertex is not removed from a bin when it
improves again: an entry whose vertex has moved to an earlier bucket is skipped.

A bin is a chain of blocks of vertices. Workers share blocks: a bucket is published as a list of block numbers, so no
vertex is copied, and a round needs one barrier. Bins span a window of priorities from `origin` on; later priorities are
in one more bin, which is distributed when the window is empty. Then the width of the bins may grow, so that any width
is correct, and one that is much too small costs little. bins.py has the memory, and what happens when it is full.
"""

from __future__ import annotations

from arcflux.compile.cpu.bins import BLOCK, Board
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import push_edge, push_reads
from arcflux.compile.pieces.source import (
    arguments,
    bound,
    call,
    columns_read,
    edge_reads,
    inside,
    message_values,
    shared,
)

__all__ = ["ordered"]

# A worker continues with its own share of a bucket while it is shorter than this, and this often at most. When that
# share is empty and it has processed fewer vertices than this since the last barrier, it continues with its own next
# bucket: a barrier takes about as long as this many vertices.
_SHORT_SHARE = 1000
_MOST_TURNS = 4096
_AHEAD = 256
# If fewer than one in this many of the vertices beyond the window fit into the next window, bins become wider.
_SPARSE = 8
# The columns of a worker's slot: its vote and counts, and what it noticed.
_VOTE, _OFFSET, _BLOCKS, _ENTRIES, _LOST, _LATE, _DEALT, _ARRIVED = range(8)
# Larger than every finite priority that is used as it is.
_FARTHEST = 1.7e308


def ordered(lowered: Lowered) -> str:
    """The inner functions and the kernel of a program that has a priority."""
    return "\n\n".join([push_edge(lowered), _BINS, _kernel(lowered)])


# `into_bin` returns the first of the worker's free blocks. Without a free block, the vertex is only marked as lost.
_BINS = f"""@fragment
def place_of(priority, origin, inverse):
    return (max(np.float64(priority), -{_FARTHEST}) - origin) * inverse


@fragment
def into_bin(pool, links, head, count, lost, board, spare, bin, v):
    held = count[bin]
    place = np.uint64(held) & np.uint64({BLOCK - 1})
    if place == np.uint64(0):
        block = spare
        if block >= 0:
            spare = links[block]
        else:
            block = fetch_add(board, {Board.FRESH}, 1)
            if block >= links.size:
                lost[v] = True
                return spare
        links[block] = head[bin]
        head[bin] = block
    else:
        block = head[bin]
    pool[np.uint64(block) * np.uint64({BLOCK}) + place] = v
    count[bin] = held + 1
    return spare
"""


def _kernel(lowered: Lowered) -> str:
    columns = [f"c_{column}" for column in lowered.columns]
    parameters = ", ".join([*columns, *shared(lowered)])
    return f"""@kernel
def ordered(worker, workers, control, barrier, board, slots, sums, history, first, last, scale,
            pool, links, queue, heads, counts, free, lost, in_offsets, out_offsets, out_neighbours, {parameters}):
    one = np.uint64(1)
    final = np.uint64(out_neighbours.size) - one
    head, count = heads[worker], counts[worker]
    window = count.size - 2
    far = np.float64(window)
    spare = free[worker, 0]
    origin, inverse = scale[0], scale[1]
    current = board[{Board.CURRENT}]
    late = board[{Board.LATE}] != 0
    total, size = 0, 0
    dealing, listed, thin = False, 0, False
    step, turn = first, 0
    latest = np.int64(ticks())
    while True:
        half = (turn & 1) * workers
        before = workers - half
        least = low = np.float64(current)
        own, taken = current, 0
{_relax(lowered)}
{_VOTES}
        if best == window:
{_deal(lowered)}
        else:
            current = best
            if vote == best:
                count[best] = 0
                head[best] = -1
        turn += 1
    free[worker, 0] = spare
    if worker == 0:
        board[{Board.CURRENT}] = current
        board[{Board.LATE}] = late
        scale[0], scale[1] = origin, inverse
"""


# --- relaxing

# The next block of work: of the shared bucket while there is one, then of the worker's own short bin. Both use the same
# loop over its vertices, because a second copy of that loop would cost more than it saves.
_NEXT_BLOCK = f"""\
if sharing:
    item = fetch_add(board, {Board.CLAIMS} + turn % 3 * 8, 1)
    if item >= total:
        sharing = False
        continue
    w = 0
    while slots[before + w, {_VOTE}] != current or item >= slots[before + w, {_BLOCKS}]:
        if slots[before + w, {_VOTE}] == current:
            item -= slots[before + w, {_BLOCKS}]
        w += 1
    entry = queue[before // workers, slots[before + w, {_OFFSET}] + item]
    block, fill = entry >> 8, entry & 255
    taken += fill
else:
    if chain < 0:
        if taken < {_AHEAD}:
            while own < window and count[own] == 0:
                own += 1
            low = np.float64(own)
        held = count[own] if own < window else 0
        if held == 0 or held > {_SHORT_SHARE} or fused == {_MOST_TURNS}:
            break
        chain, last_fill = head[own], ((held - 1) & {BLOCK - 1}) + 1
        count[own] = 0
        head[own] = -1
        fused += 1
        taken += held
    block, fill = chain, last_fill
    chain, last_fill = links[block], {BLOCK}""".splitlines()


def _relax(lowered: Lowered) -> str:
    """All vertices of the current bucket send; a vertex that improves goes into a bin."""
    about = _priority_reads(lowered)
    vertex = ["u = np.uint64(pool[k])", *_announced(lowered), *bound(lowered, about, "u")]
    vertex += [f"if not late and place_of({call(lowered, 'priority')}, origin, inverse) < low:", "    continue"]
    vertex += message_values(lowered, lowered.messages)
    vertex += ["for i in range(out_offsets[u], out_offsets[u + one]):", *inside(_edge(lowered))]
    lines = [
        "sharing, chain, last_fill, fused = True, -1, 0, 0",
        "while total > 0:",
        *inside(_NEXT_BLOCK),
        f"    base = np.uint64(block) * np.uint64({BLOCK})",
        "    end = base + np.uint64(fill)",
        "    for k in range(base, end):",
        *inside(vertex, 2),
        "    links[block] = spare",
        "    spare = block",
    ]
    return "\n".join(inside(lines, 2))


def _announced(lowered: Lowered) -> list[str]:
    """Statements that prefetch: the rows of the vertex after next, and what is needed to find rows later on.

    A row begins with several dependent cache misses; what this saves was only measured on busy cores.
    """
    fields = [n[2:] for n in _priority_reads(lowered) if lowered.fields.get(n[2:], (None, 1))[1] is None]
    return [
        "later = np.uint64(pool[min(k + np.uint64(4), end - one)])",
        "prefetch_to_read(out_offsets, later)",
        *(f"prefetch_to_read(f_{name}, later)" for name in fields),
        "row = out_offsets[np.uint64(pool[min(k + np.uint64(2), end - one)])]",
        "prefetch_to_read(out_neighbours, row)",
        *(f"prefetch_to_read(c_{column}, row)" for column in lowered.columns),
    ]


def _edge(lowered: Lowered) -> list[str]:
    """Statements that reduce u's messages into v's fields in place, and put v into a bin if it changed."""
    olds = sorted({n for n in (*arguments(lowered, "update"), *edge_reads(lowered)) if n.startswith("o_")})
    about = sorted({*_priority_reads(lowered), *(n for n in arguments(lowered, "update") if n.startswith("v_"))})
    into = [name.replace("a_", "f_", 1) if name.startswith("a_") else name for name in push_reads(lowered)]
    lines = ["v = np.uint64(out_neighbours[i])"]
    ahead = "np.uint64(out_neighbours[min(i + np.uint64(16), final)])"
    lines += [f"prefetch_to_read(f_{name}, {ahead})" for name in lowered.reductions if lowered.fields[name][1] is None]
    if "wants" in lowered.functions:
        lines += bound(lowered, [n for n in arguments(lowered, "wants") if n.startswith("v_")], "v")
        lines += [f"if not {call(lowered, 'wants')}:", "    continue"]
    lines += columns_read(lowered, "i")
    lines += bound(lowered, olds, "v")
    lines += [f"if push_edge({', '.join(into)}):"]
    moved = [*bound(lowered, about, "v"), f"if {call(lowered, 'update')}:", *inside(_binned(lowered))]
    return lines + inside(moved)


def _binned(lowered: Lowered) -> list[str]:
    """Statements that put v into the bin of its priority. A vertex whose bucket is already over is `late`."""
    return [
        f"place = place_of({call(lowered, 'priority')}, origin, inverse)",
        "bin = window",
        "if place < far:",
        "    late = late or place < least",
        "    bin = np.int64(max(place, least))",
        "spare = into_bin(pool, links, head, count, lost, board, spare, bin, v)",
    ]


def _priority_reads(lowered: Lowered) -> list[str]:
    return [n for n in arguments(lowered, "priority") if n.startswith("v_")]


# --- the next bucket

# A worker lists the blocks of its first bin before it is known whether that is the next bucket of all: so one barrier
# is enough. If it is not, the blocks stay in the bin. Lists and slots have two halves, the counters three rounds, so
# that no worker writes what a slower one still reads. A launch that has to end early does so after at least one round,
# so that the run progresses.
_VOTES = f"""\
        vote = current
        while vote < window and count[vote] == 0:
            vote += 1
        blocks, offset = 0, 0
        if vote < window:
            blocks = (count[vote] + {BLOCK - 1}) // {BLOCK}
            offset = fetch_add(board, {Board.TAILS} + turn % 3 * 8, blocks)
            block, fill = head[vote], ((count[vote] - 1) & {BLOCK - 1}) + 1
            for j in range(blocks):
                queue[turn & 1, offset + j] = block << 8 | fill
                block, fill = links[block], {BLOCK}
        slots[half + worker, {_VOTE}] = vote
        slots[half + worker, {_OFFSET}] = offset
        slots[half + worker, {_BLOCKS}] = blocks
        slots[half + worker, {_ENTRIES}] = count[vote] if vote < window else 0
        slots[half + worker, {_LOST}] = board[{Board.FRESH}] > links.size
        slots[half + worker, {_LATE}] = late
        slots[half + worker, {_ARRIVED}] = np.int64(ticks())
        if worker == 0:
            board[{Board.CLAIMS} + (turn + 1) % 3 * 8] = 0
            board[{Board.TAILS} + (turn + 1) % 3 * 8] = 0
            control[8 + (turn & 1)] = control[1] | brief_is_over(control, latest)
        if not all_here(barrier, worker, workers): return
        earliest, latest = latest, slots[half, {_ARRIVED}]
        for w in range(workers):
            latest = max(latest, slots[half + w, {_ARRIVED}])
        if total > 0:
            if worker == 0:
                history[step - first, 0] = size
                history[step - first, 2] = max(1, latest - earliest)
                history[step - first, 3] = 1
                control[2] = step + 1
            step += 1
        best, dealt, full = window, 0, False
        for w in range(workers):
            best = min(best, slots[half + w, {_VOTE}])
            full = full or slots[half + w, {_LOST}] != 0
            late = late or slots[half + w, {_LATE}] != 0
            dealt += slots[half + w, {_DEALT}]
        if dealing:
            thin = {_SPARSE} * dealt < listed
            dealing = False
        total, size = 0, 0
        for w in range(workers):
            if slots[half + w, {_VOTE}] == best:
                total += slots[half + w, {_BLOCKS}]
                size += slots[half + w, {_ENTRIES}]
        ends = step == last or (step > first and control[8 + (turn & 1)] != 0)
        if full or (best < window and ends):
            break"""


# --- the next window


def _deal(lowered: Lowered) -> str:
    """The window is empty: distribute what lies beyond, from its smallest priority on."""
    about = [*bound(lowered, _priority_reads(lowered), "v"), f"key = {call(lowered, 'priority')}"]
    waits = "if late or not place_of(key, origin, inverse) < low:"
    scan = _over_beyond([
        *about,
        waits,
        f"    lowest = min(lowest, np.float64(key)) if key < {_FARTHEST} else lowest",
        "    found += 1",
    ])  # fmt: skip
    deal = _over_beyond([
        *about,
        waits,
        f"    place = place_of(key, fresh, there) if key < {_FARTHEST} else place_of({_FARTHEST}, fresh, there)",
        "    bin = window",
        "    if place < far:",
        "        bin = np.int64(place)",
        "        placed += 1",
        "    spare = into_bin(pool, links, head, count, lost, board, spare, bin, v)",
    ], ["links[done] = spare", "spare = done"])  # fmt: skip
    lines = [
        f"lowest, found, low = {_FARTHEST}, 0, np.float64(current)",
        *scan,
        "sums[worker, 0], sums[worker, 1] = lowest, np.float64(found)",
        "if not all_here(barrier, worker, workers): return",
        f"fresh, listed, there = {_FARTHEST}, 0, inverse * 0.5 if thin else inverse",
        "for w in range(workers):",
        f"    fresh = min(fresh, max(sums[w, 0], -{_FARTHEST}))",
        "    listed += np.int64(sums[w, 1])",
        "if listed == 0:",
        f"    board[{Board.FINISHED}] = 1",
        "    break",
        "placed = 0",
        *deal,
        f"slots[workers - half + worker, {_DEALT}] = placed",
        "origin, inverse, current, total, dealing = fresh, there, 0, 0, True",
    ]
    return "\n".join(inside(lines, 3))


def _over_beyond(body: list[str], after: list[str] | None = None) -> list[str]:
    """A loop over all vertices beyond the window, and those that Python handed over."""
    taken = ["taken = count[beyond]", "chain = head[beyond]"]
    taken += ["count[beyond] = 0", "head[beyond] = -1"] if after else []
    return [
        "for beyond in range(window, window + 2):",
        *inside(taken),
        f"    fill = ((taken - 1) & {BLOCK - 1}) + 1",
        f"    for b in range((taken + {BLOCK - 1}) // {BLOCK}):",
        f"        base = np.uint64(chain) * np.uint64({BLOCK})",
        "        for k in range(base, base + np.uint64(fill)):",
        "            v = np.uint64(pool[k])",
        *inside(body, 3),
        f"        done, chain, fill = chain, links[chain], {BLOCK}",
        *inside(after or [], 2),
    ]
