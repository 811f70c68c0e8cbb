"""The kernel of sparse programs with `around`: a vertex visits its neighbourhood again only after a neighbour sent.

A superstep has two phases. Receivers visit their neighbourhoods and are updated, and those that move are listed. Then,
after a barrier, each listed vertex publishes what it sends, and marks the next receivers: along its out-edges, into a
list, if these are few. If they are many, nearly every vertex would be marked, so none is; instead each vertex searches
its row for a sender, and soon finds one. `told` has the superstep in which a vertex last sent, `seen` the one for which
it was marked.
"""

from __future__ import annotations

from arcflux.compile.cpu.dense import (
    AROUND,
    CHUNK,
    LAUNCH_IS_OVER,
    dense_end,
    if_wanted,
    loads,
    messages,
    piece_of,
    sends,
    sums_kept,
)
from arcflux.compile.cpu.lists import FLUSH
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import around_call, scratch, scratch_rows
from arcflux.compile.pieces.measures import none_yet
from arcflux.compile.pieces.source import (
    chunk_loop,
    init_call,
    inside,
    measured,
    shared,
    stores,
    totals_known,
    updated,
    written,
)

__all__ = ["EVERYWHERE", "LISTED", "MARKED", "SEARCHED", "looking"]

# Which vertices visit their neighbourhoods in a superstep: all that have edges, those with a sender in their row, those
# on the list, or the marked ones.
EVERYWHERE, SEARCHED, LISTED, MARKED = range(4)
# If senders have this share of all arcs (1 / MANY), rows are searched.
MANY = 4


def looking(lowered: Lowered) -> str:
    """The kernel."""
    assert lowered.around is not None
    columns = [f"c_{column}" for column in lowered.columns]
    arrays = ["in_offsets", "neighbours", "out_offsets", "out_neighbours", *columns, *messages(lowered), "order"]
    arrays += ["told", "seen", "movers", "receivers", "buffers", "state"]
    arrays += [*(f"{one.name}s" for one in scratch(lowered)), *shared(lowered)]
    own = [*scratch_rows(lowered), *(["in_neighbours = neighbours"] if lowered.around.intersects else [])]
    first = "".join(line + "\n" for line in inside([*own, *totals_known(lowered)]))
    text = "\n".join(
        [*inside(_look(lowered), 2), dense_end(lowered, "pull", ends=False).rstrip(), *inside(_tell(lowered), 2)]
    )
    arguments = "worker, workers, control, barrier, counters, slots, sums, history, first, last, tolerance"
    return f"""{FLUSH}

@kernel
def looking({arguments}, {", ".join(arrays)}):
    one = np.uint64(1)
    n = np.uint64(in_offsets.size) - one
    pieces = np.uint64(sums.size // 2)
    base = np.uint64(0)
    buffer = buffers[worker]
    mode, listed, senders, edges = state[0], np.uint64(state[1]), state[2], state[3]
{first}    for step in range(first, last):
        begun = ticks()
        turn = step % 3
        changed = 0
        edges_out = 0
        held = 0
        if worker == 0:
            state[8 + (step & 1)] = 0
            history[step - first, 5] = senders
            history[step - first, 6] = edges
{text}
"""


def _listing(lowered: Lowered) -> bool:
    """Whether receivers are listed, in no certain order: not if floats of them are added up."""
    return not lowered.measures


def _look(lowered: Lowered) -> list[str]:
    """The first phase: receivers visit their neighbourhoods, and those that move are listed."""
    body = loads(lowered, AROUND, edge=True) + init_call(lowered) + [around_call(lowered)]
    body += [*updated(lowered), *stores(lowered, written(lowered)), "changed += np.int64(moved)", *measured(lowered)]
    moving = ["buffer[held] = v", "held += 1", "edges_out += np.int64(out_offsets[v + one] - out_offsets[v])"]
    moving += ["if held == buffer.size:", f"    {_flush('turn * 8 + 24', 'counters', 'movers')}"]
    body = if_wanted(lowered, [*body, "if moved:", *inside(moving)])
    search = ["sends = False", "for i in range(row, row_end):", "    if told[neighbours[i]] == step:"]
    search += ["        sends = True", "        break", "if not sends:", "    continue"]
    choice = [f"if mode == {SEARCHED}:", *inside(search), f"elif mode == {MARKED} and seen[v] != step:", "    continue"]
    each = ["row, row_end = row_end, in_offsets[v + one]", "if row == row_end:", "    continue", *choice, *body]
    chunk = [f"few = np.uint64(order[few // np.uint64({CHUNK})]) * np.uint64({CHUNK})", "row_end = in_offsets[few]"]
    chunk += [*none_yet(lowered.measures), f"for v in range(few, min(few + np.uint64({CHUNK}), n)):", *inside(each)]
    chunk += sums_kept(lowered.measures, piece_of("few"))
    several = f"range(begin, min(begin + np.uint64({CHUNK}), n), np.uint64({CHUNK}))"
    sweep = chunk_loop("counters, turn * 8", CHUNK, "few", "n", chunk, over=several)
    lines = sweep
    if _listing(lowered):
        one = ["v = np.uint64(receivers[k])", "row, row_end = in_offsets[v], in_offsets[v + one]", *body]
        loop = chunk_loop("counters, turn * 8", 64, "k", "listed", one)
        lines = [f"if mode == {LISTED}:", *inside(loop), "else:", *inside(sweep)]
    return [
        *lines,
        _flush("turn * 8 + 24", "counters", "movers"),
        "slots[(step & 1) * workers + worker, 3] = edges_out",
    ]


def _flush(head: str, board: str, array: str) -> str:
    return f"held, middle_place = flush({board}, {head}, buffer, held, {array}, np.uint64(0))"


def _tell(lowered: Lowered) -> list[str]:
    """The second phase: those that moved send, and mark the next receivers."""
    marked = ["target = np.uint64(out_neighbours[j])", "before = seen[target]"]
    claim = "if before != step + 1 and compare_and_swap(seen, target, before, np.int32(step + 1)) == before:"
    if _listing(lowered):
        enqueue = ["buffer[held] = target", "held += 1", "if held == buffer.size:"]
        enqueue += [f"    {_flush('8 + (step & 1)', 'state', 'receivers')}"]
        marked += [claim, *inside(enqueue)]
    else:
        marked = ["seen[out_neighbours[j]] = step + 1"]
    lines = ["v = np.uint64(movers[k])", *sends(lowered, "base"), "told[v] = step + 1", "if not many:"]
    lines += ["    for j in range(out_offsets[v], out_offsets[v + one]):", *inside(marked, 2)]
    return [
        "size = np.uint64(counters[turn * 8 + 24])",
        "edges = 0",
        "for w in range(workers):",
        "    edges += slots[half + w, 3]",
        f"many = {MANY} * edges > g_arcs",
        *chunk_loop("counters, turn * 8 + 48", 64, "k", "size", lines),
        *([_flush("8 + (step & 1)", "state", "receivers")] if _listing(lowered) else []),
        "if not all_here(barrier, worker, workers): return",
        f"mode = {SEARCHED} if many else {LISTED if _listing(lowered) else MARKED}",
        "listed, senders = np.uint64(state[8 + (step & 1)]), np.int64(size)",
        "if worker == 0:",
        "    state[0], state[1], state[2], state[3] = mode, listed, senders, edges",
        f"if {LAUNCH_IS_OVER}:",
        "    break",
    ]
