"""The kernel for sparse programs: a frontier, and push or pull in each superstep.

Push: every vertex of the frontier computes its messages once and reduces them into the accumulators of its neighbours;
each receiver is enqueued once (marked by a stamp of one byte), and updated after a barrier, or at once if any message
will do. Pull: every vertex that still wants messages checks its in-neighbours for frontier vertices (in a bitmap, which
fits the cache) and reduces in registers. The direction is chosen before each superstep from the frontier's edges, as in
direction-optimising BFS (Beamer, Asanovic, Patterson 2012), for any program.

Between supersteps accumulators always hold what init returns, so a superstep costs its frontier's edges, never a pass
over all vertices.
"""

from __future__ import annotations

from textwrap import indent

from arcflux.compile.cpu.dense import stopping, sums_kept, total_noted
from arcflux.compile.cpu.frontier_pull import kept_apart, pull_phase
from arcflux.compile.cpu.frontier_push import push_phase
from arcflux.compile.cpu.lists import BLOCK, FLUSH, PARTS, Board
from arcflux.compile.direction import ABOUT, CHOICE, MEASURED, RATES
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import push_edge
from arcflux.compile.pieces.measures import none_yet, reduced_over
from arcflux.compile.pieces.source import inside, shared, totals_known
from arcflux.compile.sparse import beamer, claims, extra

__all__ = ["SMALL", "frontier"]


def frontier(lowered: Lowered) -> str:
    """The inner functions and the kernel of a program that is sparse."""
    pushes = [push_edge(lowered)] if lowered.edge_state is None else []
    return "\n\n".join([*pushes, FLUSH, _kernel(lowered)])


_GRAPH = "in_offsets, in_neighbours, out_offsets, out_neighbours"
_PATTERNS = "patterns, pattern_rows, distances"
_WORK = "queues, received, stamp, bits, flags, buffers"


def _kernel(lowered: Lowered) -> str:
    columns = [f"{side}_{column}" for column in lowered.columns for side in ("ci", "co")]
    arguments = ", ".join([*columns, *extra(lowered), *shared(lowered)])
    pull = "\n".join(inside(pull_phase(lowered), 3))
    push = "\n".join(inside(push_phase(lowered) if lowered.edge_state is None else ["pass"], 3))
    known = "".join(line + "\n" for line in inside(totals_known(lowered)))
    again = totals_known(lowered, "step - first")
    begun = "".join(line + "\n" for line in inside(none_yet(lowered.totals_of("update")), 2))
    return f"""@kernel
def frontier(worker, workers, control, barrier, board, slots, sums, history, first, last, direction, tolerance,
             push_over_pull, {_GRAPH}, {_PATTERNS}, {_WORK}, {arguments}):
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    n = np.uint64(in_offsets.size) - one
    words = (n + mask) >> six
    pieces = np.uint64(sums.size // 2)
{known}    buffer, chosen = buffers[worker, 0], buffers[worker, 1]
    unexplored = board[{3 * BLOCK + 4}]
    as_bits = board[{3 * BLOCK + 2}] != 0
{"" if beamer(lowered) else indent(RATES, "    ")}\
    sent = board[{3 * BLOCK + 7}]
    middle = np.uint64(0)
{_BEGINNING.replace("AGAIN", _lines(again, 2))}
    patterned = patterns.size != 0
    solo, longer, seen, since, passed, rate = 0, {_FIRST_PAUSE}, 0, 0, 0, math.inf
    while step < last:
        begun = ticks()
        leaving, senders = edges, size
        about = {ABOUT[beamer(lowered)]}
        if direction == 0:
            pull = {CHOICE[beamer(lowered)]}
        else:
            pull = direction == 2
{_SERIAL_FALLBACK.replace("AGAIN", _lines(again, 3))}
        block = step % 3 * {BLOCK}
        base = n if step & 1 else np.uint64(0)
        there = n - base
{"" if claims(lowered) else _STAMPS}\
        now, later = words * (np.uint64(step) & one), words * (one - (np.uint64(step) & one))
        held, listed, walked = np.int64(0), 0, 0
        edges_out = 0
        residual_sum = 0.0
{begun}        if pull:
{pull}
        else:
{push}
{_end(lowered)}"""


def _lines(statements: list[str], depth: int) -> str:
    """Statements on separate lines, indented to a depth."""
    return "".join("\n" + line for line in inside(statements, depth))


def _end(lowered: Lowered) -> str:
    """The end of a superstep, with measures reduced by worker, by piece, or not at all."""
    keeping, adding = ["pass"], [] if "residual" in lowered.functions else ["total_sum = math.inf"]
    if kept_apart(lowered):
        adding += reduced_over(lowered, "(np.uint64(step) & one) * pieces + k", "pieces", "k")
    elif lowered.measures:
        keeping = sums_kept(lowered.measures, "half + worker")
        adding += reduced_over(lowered, "half + w", "team", "w")
    adding += [*total_noted(lowered), *stopping(lowered)]
    measured = "" if beamer(lowered) else indent(MEASURED, "        ")
    return (
        _END.replace("MEASURED", measured)
        .replace("KEEPING", "\n".join(inside(keeping, 2)).lstrip())
        .replace("OVER", " or over" if "stop" in lowered.functions else "")
        .replace("ADDING", "\n".join(inside(adding, 2)).lstrip())
    )


# The first worker alone does a push along fewer edges than this, and those after it while they are small, without
# barriers and atomics. The others wait until a larger one comes, and continue from the state on the board. A team of
# one worker is always alone.
SMALL = 256
# If other processes use the cores, a team waits in each superstep for the worker that lost its core. After this many
# pushes that took longer than one undisturbed worker would take for their edges, the first worker continues alone for a
# while, twice as long each time, unless a push is large.
_LARGE_PUSH = 1 << 14
_SLOW_PUSHES = 16
_FIRST_PAUSE, _LONGEST_PAUSE = 64, 4096
_SLOWDOWN_THRESHOLD = 1.0
_SERIAL_FALLBACK = f"""\
        lonely = alone
        alone = not pull and not as_bits and (workers == 1 or edges < {SMALL} or (solo > 0 and edges < {_LARGE_PUSH}))
        solo = solo - 1 if alone else 0
        team = 1 if alone else workers
        if alone != lonely:
            if not all_here(barrier, worker, workers): return
        if alone and worker != 0:
            if not all_here(barrier, worker, workers): return
            alone, solo, seen = False, 0, 0
            size, edges = board[{3 * BLOCK}], board[{3 * BLOCK + 1}]
            step, unexplored, sent = board[{3 * BLOCK + 3}], board[{3 * BLOCK + 4}], board[{3 * BLOCK + 7}]AGAIN
            if board[{3 * BLOCK + 5}]:
                break
            continue"""

# The first worker begins with a small frontier while the others are still waking; they continue from its state.
_BEGINNING = f"""\
    step, alone = first, board[{3 * BLOCK + 6}] != 0
    if alone and worker != 0:
        if not all_here(barrier, worker, workers): return
        alone, step = False, board[{3 * BLOCK + 3}]
        unexplored, sent = board[{3 * BLOCK + 4}], board[{3 * BLOCK + 7}]AGAIN
        if board[{3 * BLOCK + 5}]:
            step = last
    size, edges = board[{3 * BLOCK}], board[{3 * BLOCK + 1}]"""

# The stamps by which push knows which vertices it has listed in this superstep; programs that can tell by a field have
# none.
_STAMPS = """\
        mark = np.uint8(step % 255 + 1)
        if step % 255 == 0:
            share = n // np.uint64(team) + one
            for k in range(share * np.uint64(worker), min(share * np.uint64(worker + 1), n)):
                stamp[k] = 0
            if not all_here(barrier, worker, team): return
"""


# The end of a superstep: the next frontier is complete, and every worker adds up what all wrote before the barrier, so
# all take the same decision. The slots have two halves, so that no worker writes what a slower one still reads. A
# superstep lasts from the first worker's begin to the last one's arrival, as in dense.py.
_END = f"""\
        held, middle = flush(board, block + {Board.NEXT}, buffer, held, queues, there)
        half = (step & 1) * workers
        slot = slots[half + worker]
        slot[0] = edges_out
        slot[1] = np.int64(ticks() - begun)
        slot[2] = listed if as_bits else 0
        slot[3] = walked
        slot[4] = np.int64(begun)
        KEEPING
        if worker == 0:
            for k in range({BLOCK}):
                board[(step + 1) % 3 * {BLOCK} + k] = 0
            for k in range(workers):
                board[{PARTS} + ((step + 1) % 3 * workers + k) * 8] = 0
            control[8 + (step & 1)] = control[1] | brief_is_over(control, begun)
        if not all_here(barrier, worker, team): return
        unexplored -= edges
        size, edges = board[block + {Board.NEXT}], 0
        slowest, walked, work = 0, 0, 0
        earliest, latest = slots[half, 4], slots[half, 4]
        for w in range(team):
            edges += slots[half + w, 0]
            size += slots[half + w, 2]
            walked += slots[half + w, 3]
            slowest = max(slowest, slots[half + w, 1])
            work += slots[half + w, 1]
            earliest, latest = min(earliest, slots[half + w, 4]), max(latest, slots[half + w, 4] + slots[half + w, 1])
        ADDING
        if not pull:
            leaving = walked
        sent = leaving
        if pull or alone:
            seen = 0
        else:
            if seen == {_SLOW_PUSHES}:
                if slots[half, 4] - since > {_SLOWDOWN_THRESHOLD} * rate * passed:
                    solo, longer = longer, min(2 * longer, {_LONGEST_PAUSE})
                else:
                    longer = {_FIRST_PAUSE}
                seen = 0
            if seen == 0:
                since, passed = slots[half, 4], 0
            seen += 1
            passed += walked
            rate = min(rate, work / max(walked, {SMALL}))
MEASURED        if worker == 0:
            said = history[step - first]
            said[0] = senders
            said[1] = total_sum
            said[2] = max(1, latest - earliest)
            said[3] = 2 if pull else 1
            said[4] = leaving
            said[5] = about
            said[6] = size
            control[2] = step + 1
            board[{3 * BLOCK}], board[{3 * BLOCK + 1}], board[{3 * BLOCK + 2}] = size, edges, as_bits
            board[{3 * BLOCK + 4}], board[{3 * BLOCK + 7}] = unexplored, sent
        over = size == 0 or total_sum < toleranceOVER or control[8 + (step & 1)] != 0
        step += 1
        if alone:
            board[{3 * BLOCK + 3}], board[{3 * BLOCK + 5}] = step, over
        if over:
            break
    if alone:
        if not all_here(barrier, worker, workers): return
"""
