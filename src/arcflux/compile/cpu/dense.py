"""Kernels for dense programs: the plain pull, and what it shares with the two others.

push.py sends along out-edges instead; blocked.py pulls by blocks that fit the cache. All run many supersteps in one
launch. Messages of a pull are double-buffered (2n values, alternating halves), so that every vertex reads u's values
from before the superstep; a monotone program needs only one half.
"""

from __future__ import annotations

from arcflux.compile.lower import Lowered, Measure
from arcflux.compile.pieces.crossing import carried_row, edge_halves, edge_loads
from arcflux.compile.pieces.edges import edge_call, fresh, settled
from arcflux.compile.pieces.measures import kept_at, none_yet, reduced_over
from arcflux.compile.pieces.source import (
    accumulated,
    arguments,
    bound,
    call,
    chunk_loop,
    columns_read,
    ends_known,
    init_call,
    inside,
    keep,
    measured,
    message_reads,
    received,
    results,
    sent,
    shared,
    stores,
    totals_known,
    updated,
    written,
)
from arcflux.graph.degree_order import WINDOW

__all__ = [
    "AROUND", "CHUNK", "LAUNCH_IS_OVER", "accumulators", "dense", "dense_around", "dense_end", "finished", "halves",
    "if_wanted", "loads", "messages", "piece_of", "reset_accumulators", "sends", "stopping", "sums_kept", "swept",
    "takes_any_order", "total_noted",
]  # fmt: skip

CHUNK = 1024
# Functions of v that are called before and after its messages.
AROUND = ("init", "around", "update", "residual")


def dense(lowered: Lowered) -> str:
    """Every vertex pulls from all its in-neighbours. Messages are double-buffered: 2n values, alternating halves.

    A second kernel processes the vertices of each window in a given order (graph/degree_order.py).
    """
    columns = [f"c_{column}" for column in lowered.columns]
    arrays = ["in_offsets", "neighbours", "out_offsets", *columns, *messages(lowered), *shared(lowered)]
    plain = swept(lowered, "dense", arrays, _chunk(lowered))
    if not takes_any_order(lowered):
        return plain
    return f"{plain}\n\n{swept(lowered, 'dense_by_degree', ['order', *arrays], _chunk_by_degree(lowered))}"


def takes_any_order(lowered: Lowered) -> bool:
    """Whether the second kernel exists: vertices may come in any order, and there are rows whose lengths matter."""
    return not lowered.deterministic and lowered.has_edges and lowered.edge_state is None


def dense_around(lowered: Lowered) -> str:
    """Every vertex visits its neighbourhood. Chunks come in a given order: those with most edges first."""
    from arcflux.compile.pieces.generators import scratch, scratch_rows

    assert lowered.around is not None
    columns = [f"c_{column}" for column in lowered.columns]
    arrays = ["in_offsets", "neighbours", "out_offsets", *columns, *messages(lowered), "order"]
    arrays += [*(f"{one.name}s" for one in scratch(lowered)), *shared(lowered)]
    first = f"few = np.uint64(order[few // np.uint64({CHUNK})]) * np.uint64({CHUNK})"
    own = (*scratch_rows(lowered), *(["in_neighbours = neighbours"] if lowered.around.intersects else []))
    return swept(lowered, "dense", arrays, [first, *_chunk(lowered)], own)


def swept(lowered: Lowered, name: str, arrays: list[str], chunk: list[str], own: tuple[str, ...] = ()) -> str:
    """A kernel that runs supersteps over all vertices, claiming `span` vertices at a time; `own` comes first."""
    parameters = ", ".join(["span", *arrays])
    several = f"range(begin, min(begin + np.uint64(span), n), np.uint64({CHUNK}))"
    loop = chunk_loop("counters, turn * 8", "span", "few", "n", chunk, over=several)
    first = "".join(line + "\n" for line in inside([*own, *totals_known(lowered)]))
    vertices = "\n".join(inside(loop, 2))
    begun = "".join(line + "\n" for line in inside(edge_halves(lowered), 2))
    return f"""@kernel
def {name}(worker, workers, control, barrier, counters, slots, sums, history, first, last, tolerance, {parameters}):
    one = np.uint64(1)
    n = np.uint64(in_offsets.size) - one
    pieces = np.uint64(sums.size // 2)
{first}    for step in range(first, last):
        begun = ticks()
        {halves(lowered)}
{begun}        turn = step % 3
        changed = 0
{vertices}
{dense_end(lowered, "pull")}"""


def _chunk(lowered: Lowered) -> list[str]:
    """Statements of a superstep for the vertices from `few` on, as many as share one partial sum."""
    lines = ["row_end = in_offsets[few]", *none_yet(lowered.measures)]
    lines += [f"for v in range(few, min(few + np.uint64({CHUNK}), n)):", *inside(_vertex(lowered))]
    return [*lines, *sums_kept(lowered.measures, piece_of("few"))]


def _chunk_by_degree(lowered: Lowered) -> list[str]:
    """The same with vertices in a given order; the rows of the next window are prefetched meanwhile."""
    ahead = f"in_offsets[min(turn_of_v + np.uint64({WINDOW}), n - one)]"
    vertex = [
        f"v = (turn_of_v & ~np.uint64({WINDOW - 1})) + np.uint64(order[turn_of_v])",
        *(f"prefetch_to_read({array}, {ahead})" for array in _rows(lowered)),
        "row, row_end = in_offsets[v], in_offsets[v + one]",
        *_vertex(lowered)[1:],
    ]
    loop = [f"for turn_of_v in range(few, min(few + np.uint64({CHUNK}), n)):", *inside(vertex)]
    return [*none_yet(lowered.measures), *loop, *sums_kept(lowered.measures, piece_of("few"))]


def _rows(lowered: Lowered) -> list[str]:
    """The arrays that are read along rows."""
    return ["neighbours", *(f"c_{column}" for column in lowered.columns)]


def _vertex(lowered: Lowered) -> list[str]:
    """Statements of a superstep for v: load, init, pull, update, store, and compute what it sends next."""
    lines = loads(lowered, AROUND, edge=True) + init_call(lowered)
    if lowered.around is not None:
        from arcflux.compile.pieces.generators import around_call

        lines.append(around_call(lowered))
    elif lowered.has_edges:
        lines += [*fresh(lowered), *_edges(lowered), *settled(lowered)]
    lines += updated(lowered) + stores(lowered, written(lowered)) + ["changed += np.int64(moved)", *measured(lowered)]
    lines = if_wanted(lowered, lines, carried_row(lowered, "row", "row_end", "i"))
    sent = [] if lowered.direct else sends(lowered, "other")
    return ["row, row_end = row_end, in_offsets[v + one]", *lines, *sent]


def _edges(lowered: Lowered) -> list[str]:
    """Statements that reduce all messages for v, in order: four at once, then two, then one.

    Rows of meshes and roads are so short that a counting loop, and LLVM's unrolling by eight, which begins with the
    remainder, take as long as the messages. Vectors are loops of their own.
    """
    one = _edge(lowered, "i")
    if lowered.edge_state is not None or any(message.length is not None for message in lowered.messages):
        return ["for i in range(row, row_end):", *inside(one)]
    two = [*one, *_edge(lowered, "i + np.uint64(1)"), "i += np.uint64(2)", "left -= np.uint64(2)"]
    four = [line for k in range(4) for line in _edge(lowered, f"i + np.uint64({k})")]
    lines = ["i = row", "left = row_end - row", "while left >= np.uint64(4):"]
    lines += inside([*four, "i += np.uint64(4)", "left -= np.uint64(4)"])
    return [*lines, "if left >= np.uint64(2):", *inside(two), "if left != np.uint64(0):", *inside(one)]


def _edge(lowered: Lowered, i: str) -> list[str]:
    """Statements that reduce one message."""
    lines = [f"u = np.uint64(neighbours[{i}])"]
    lines += [received(message, "base + u") for message in lowered.messages]
    lines += columns_read(lowered, i)
    if "u_number" in ends_known(lowered):
        lines.append("u_number = np.int64(u)")
    return [*lines, *edge_loads(lowered, i), edge_call(lowered)]


def halves(lowered: Lowered) -> str:
    """Statements that set which half of the messages is read, and which is written for the next superstep.

    Both are the first half if a vertex may see changes of the same superstep, or if messages are unchanged fields.
    """
    return "base = np.uint64(0); other = base" if lowered.in_place or lowered.direct else _HALVES


_HALVES = "base = n if step & 1 else np.uint64(0); other = n - base"


def messages(lowered: Lowered) -> list[str]:
    """The names of the messages' arrays."""
    return [f"s_{message.name}" for message in lowered.messages]


def sends(lowered: Lowered, half: str, place: str = "v") -> list[str]:
    """Statements that compute what v sends from its current fields, into its position in a half of the messages."""
    lines = []
    for message in lowered.messages:
        lines += bound(lowered, [n for n in message_reads(message) if n[0] == "u"], "v")
        lines.append(sent(message, f"{half} + {place}"))
    return lines


# --- what all dense kernels share


def accumulators(lowered: Lowered) -> list[str]:
    """The names of the accumulators' arrays."""
    return [f"a_{name}" for name in sorted(lowered.reductions)]


def reset_accumulators(lowered: Lowered) -> list[str]:
    """Statements that set v's accumulators to what init returns."""
    lines = loads(lowered, ("init",), reduced=True) + init_call(lowered)
    return lines + [keep(lowered, name, f"a_{name}", "v", f"v_{name}") for name in sorted(lowered.reductions)]


def finished(lowered: Lowered, measuring: list[str] | None = None) -> list[str]:
    """Statements that update v from its accumulators, and measure it; init recomputes its other fields."""
    others = set(results(lowered, "init")) - {f"v_{name}" for name in lowered.reductions}
    functions = AROUND if others else AROUND[1:]
    lines = loads(lowered, functions, reduced=True)
    lines += (init_call(lowered) if others else []) + accumulated(lowered)
    lines += updated(lowered) + stores(lowered, written(lowered))
    return [*lines, "changed += np.int64(moved)", *(measured(lowered) if measuring is None else measuring)]


def loads(lowered: Lowered, functions: tuple[str, ...], *, edge: bool = False, reduced: bool = False) -> list[str]:
    """Statements that load v's fields for functions and the edge part: old ones (o_) and current ones (v_)."""
    names = {n for f in functions if f in lowered.functions for n in arguments(lowered, f)}
    names |= {n for n in ends_known(lowered) if edge and n.startswith("o_")}
    names |= set(written(lowered)) if edge or reduced else set()
    return bound(lowered, sorted(n for n in names if n[:2] in ("o_", "v_")), "v")


def if_wanted(lowered: Lowered, body: list[str], otherwise: list[str] | None = None) -> list[str]:
    """Statements for a vertex that wants messages, and for one that does not."""
    if "wants" not in lowered.functions:
        return body
    lines = [*loads(lowered, ("wants",)), f"if {call(lowered, 'wants')}:", *inside(body)]
    return [*lines, "else:", *inside(otherwise)] if otherwise else lines


def sums_kept(measures: list[Measure], place: str) -> list[str]:
    """Statements that store the partial reductions of a chunk of vertices."""
    return [kept_at(each, each.sums, place, each.running) for each in measures]


def piece_of(begin: str) -> str:
    """The index of the partial sum of the chunk from a vertex on, in two halves: it is read after a barrier."""
    return f"(np.uint64(step) & one) * pieces + {begin} // np.uint64({CHUNK})"


def dense_end(lowered: Lowered, way: str, ends: bool = True) -> str:
    """The end of a superstep; a launch may end early (`ends`) only where no other phase has to follow.

    Every worker adds up what all of them wrote before the barrier, so all take the same decision. The slots have two
    halves and the counters three turns, so that no worker writes what a slower one still reads. A superstep lasts from
    the first worker's begin to the last one's arrival: a single worker may have been without a core for most of it.
    """
    adding = [] if "residual" in lowered.functions else ["total_sum = math.inf"]
    adding += reduced_over(lowered, "(np.uint64(step) & one) * pieces + k", "pieces", "k")
    adding += [*total_noted(lowered), *stopping(lowered)]
    over = " or over" if "stop" in lowered.functions else ""
    over += f" or {LAUNCH_IS_OVER}" if ends else ""
    text = _END.replace("WAY", {"push": "1", "pull": "2"}[way]).replace("OVER", over)
    return text.replace("ADDING", "\n".join(inside(adding, 2)).lstrip())


def total_noted(lowered: Lowered) -> list[str]:
    """Statements that store each total of a superstep: for the history, and for the next launch."""
    noted = [
        kept_at(each, f"totals_{each.name}", "step - first + 1", f"g_{each.name}") for each in lowered.totals.values()
    ]
    return ["if worker == 0:", *inside(noted)] if noted else []


def stopping(lowered: Lowered) -> list[str]:
    """Statements that call the program's stop with the totals of this superstep; all workers get the same answer."""
    if "stop" not in lowered.functions:
        return []
    return [f"over = {call(lowered, 'stop')}", "if worker == 0:", "    history[step - first, 7] = np.float64(over)"]


# Written by the first worker before the barrier: whether to end early, by the clock or because the run has to end.
LAUNCH_IS_OVER = "control[8 + (step & 1)]"
_END = """\
        half = (step & 1) * workers
        slots[half + worker, 0] = changed
        slots[half + worker, 1], slots[half + worker, 2] = np.int64(begun), np.int64(ticks())
        if worker == 0:
            for k in range(3):
                counters[(step + 1) % 3 * 8 + 24 * k] = 0
            control[8 + (step & 1)] = control[1] | brief_is_over(control, begun)
        if not all_here(barrier, worker, workers): return
        total_changed, earliest, latest = 0, slots[half, 1], slots[half, 2]
        for w in range(workers):
            total_changed += slots[half + w, 0]
            earliest, latest = min(earliest, slots[half + w, 1]), max(latest, slots[half + w, 2])
        ADDING
        if worker == 0:
            history[step - first, 0] = total_changed
            history[step - first, 1] = total_sum
            history[step - first, 2] = max(1, latest - earliest)
            history[step - first, 3] = WAY
            control[2] = step + 1
        if total_changed == 0 or total_sum < toleranceOVER:
            break
"""
