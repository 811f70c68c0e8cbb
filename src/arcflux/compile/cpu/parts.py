"""Kernels for one superstep of one part of a graph, when several parts run it together.

They are made of the same pieces as the kernels for a whole graph, but memory is shared differently. Only the owner of a
vertex touches its fields and accumulators. What others read of u, its messages, is in arrays of 2n values: the first
half is what u sends in this superstep, the second what its owner has prepared for the next; `part_publish` copies the
second to the first when nothing reads it any more, and lists the changed vertices, which is all that has to reach other
nodes.

`part_pull` executes a superstep of a vertex at once, if all its in-edges are in the part. Otherwise messages are first
reduced into accumulators, along rows of in-edges (`part_gather`) or out-edges (`part_push`), possibly on several nodes,
and `part_apply` updates the receivers.
"""

from __future__ import annotations

from collections.abc import Callable

from arcflux.compile.changes import steady
from arcflux.compile.cpu.dense import (
    AROUND,
    accumulators,
    finished,
    if_wanted,
    loads,
    messages,
    reset_accumulators,
    sends,
)
from arcflux.compile.cpu.lists import received_along
from arcflux.compile.lower import Lowered, Measure
from arcflux.compile.pieces.crossing import carried_edge, carried_row, edge_halves, edge_loads
from arcflux.compile.pieces.edges import edge_call, fresh, push_edge, push_reads, settled
from arcflux.compile.pieces.generators import around_call, scratch, scratch_rows
from arcflux.compile.pieces.measures import combined, kept_at, loaded_from, none_yet
from arcflux.compile.pieces.source import (
    bound,
    call,
    chunk_loop,
    columns_read,
    edge_reads,
    ends_known,
    init_call,
    inside,
    measured_value,
    received,
    results,
    returned,
    shared,
    stores,
    totals_known,
    updated,
    written,
)
from arcflux.compile.pieces.source import measured as reduced_at_once

__all__ = ["PART_CHUNK", "PART_TALLY", "TALLIED_RESIDUAL", "emptied_for_next", "empties_first", "first_sends",
           "in_one_order", "looking_around", "measured", "moved", "part_in_edges", "part_kernel", "part_tallied",
           "part_totalled", "parts", "running_totals", "started"]  # fmt: skip

# The counts of a worker in its row of `tally`: vertices that changed, the edges that leave them, then the residual.
PART_TALLY = 8
TALLIED_RESIDUAL = 2
_CHANGED, _EDGES = range(2)
PART_CHUNK = 1024
# The position in the whole graph of the part's in-edge i, of the vertex v in its row k.
_PLACE = "in_offsets[v] + (i - rows[k])"


def parts(lowered: Lowered) -> str:
    """The kernels of a program; without edges, vertices are only updated. mail_parts.py has those with mail."""
    every: tuple[Callable[..., str], ...] = (push_edge, _start, _pull, _push, _gather, _apply)
    if lowered.by_rows:
        every = (_start, _pull)
    kernels = [make(lowered) for make in (every if lowered.has_edges else (_start, _apply)) if not lowered.mails]
    kernels += [_publish(lowered), _RECEIVE]
    kernels += [_empty(lowered)] if empties_first(lowered) and not lowered.by_rows else []
    kernels += [_stop(lowered)] if "stop" in lowered.functions else []
    if lowered.ordered:
        kernels.append(_least(lowered))
    return "\n\n".join(kernels)


def part_arrays(lowered: Lowered) -> list[str]:
    """The arguments of every kernel before the fields: degrees, messages, accumulators, flags of changed vertices."""
    held = ["in_offsets", "out_offsets", "moves", "pending", "residuals", "tally"]
    each = [f"each_{measure.name}" for measure in lowered.totals.values() if in_one_order(lowered, measure)]
    rows = ["in_neighbours"] if lowered.around is not None and lowered.around.intersects else []
    rows += [f"{one.name}s" for one in scratch(lowered)]
    rows += ["out_neighbours"] if lowered.picks else []
    rows += [f"columns_{column}" for column in lowered.out_columns]
    return [*held, *each, *messages(lowered), *accumulators(lowered), *rows]


def in_one_order(lowered: Lowered, measure: Measure) -> bool:
    """Whether the contribution of each vertex is stored, because it must be reduced in vertex order."""
    return lowered.deterministic and not measure.exact


def part_kernel(lowered: Lowered, name: str, given: str, loop: list[str], after: list[str]) -> str:
    """A kernel: `loop` are its statements, `after` those that fill each worker's row of the tally."""
    everything = ", ".join([*part_arrays(lowered), *shared(lowered)])
    lines = "\n".join(inside([*totals_known(lowered), *loop, *after]))
    return f"""@kernel
def part_{name}(worker, workers, control, step, {given}, {everything}):
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    n = np.uint64(in_offsets.size) - one
    base, other = np.uint64(0), n
    changed, edges_out, residual_sum = 0, 0, 0.0
{lines}
"""


def part_tallied(lowered: Lowered) -> list[str]:
    """Statements that store what a worker has counted and reduced."""
    place = f"tally[worker, {TALLIED_RESIDUAL}]"
    residual = f"{place} += residual_sum" if lowered.program.norm == "sum" else f"{place} = max({place}, residual_sum)"
    return [f"tally[worker, {_CHANGED}] += changed", residual, *part_totalled(running_totals(lowered, "update"))]


def running_totals(lowered: Lowered, function: str) -> list[Measure]:
    """The totals that a worker reduces while it processes vertices."""
    return [each for each in lowered.totals_of(function) if not in_one_order(lowered, each)]


def part_totalled(totals: list[Measure]) -> list[str]:
    """Statements that reduce a worker's totals into its earlier ones."""
    place = "np.uint64(worker)"
    return [
        kept_at(each, each.sums, place, combined(each, loaded_from(each, each.sums, place), each.running))
        for each in totals
    ]


def _start(lowered: Lowered) -> str:
    """The first state of the part's own vertices, and what they send."""
    totals = running_totals(lowered, "start")
    lines = ["v = np.uint64(mine[k])", *started(lowered), *first_sends(lowered)]
    loop = chunk_loop("control, 0", PART_CHUNK, "k", "np.uint64(mine.size)", lines)
    return part_kernel(lowered, "start", "mine", [*none_yet(totals), *loop], part_totalled(totals))


def started(lowered: Lowered) -> list[str]:
    """Statements that give v its first state, and set its accumulators to what init returns."""
    lines = loads(lowered, ("start",))
    lines.append(f"{', '.join(['moved', *returned(lowered, 'start')])} = {call(lowered, 'start')}")
    lines += [*stores(lowered, results(lowered, "start")), *measured(lowered, lowered.totals_of("start"))]
    return [
        *lines,
        "moves[v] = moved",
        "pending[v] = moved",
        *([] if empties_first(lowered) else reset_accumulators(lowered)),
    ]


def empties_first(lowered: Lowered) -> bool:
    """Whether init reads totals, so that accumulators must be set as a superstep begins, not as the one before ends."""
    return any(f"g_{name}" in lowered.reads("init") for name in lowered.totals)


def _empty(lowered: Lowered) -> str:
    """Set the accumulators of own vertices to what init returns."""
    loop = chunk_loop(
        "control, 0",
        PART_CHUNK,
        "k",
        "np.uint64(which.size)",
        ["v = np.uint64(which[k])", *reset_accumulators(lowered)],
    )
    return part_kernel(lowered, "empty", "which", loop, [])


def first_sends(lowered: Lowered) -> list[str]:
    """Statements that prepare what v sends at first; with `around`, others also see it if v does not send."""
    rests = lowered.around is not None and lowered.sparse
    return [*sends(lowered, "other"), *(sends(lowered, "base") if rests else [])]


# --- all in-edges of a vertex are in this part


def _pull(lowered: Lowered) -> str:
    """Own vertices from position `first` to before `last` pull all their messages, in registers."""
    lines = ["v = np.uint64(mine[k])", "moves[v] = False", "moved = False"]
    body = loads(lowered, AROUND, edge=True) + init_call(lowered) + fresh(lowered)
    if lowered.around is not None:
        body = [*looking_around(lowered), *body, around_call(lowered)]
    elif lowered.sparse:
        body += ["got = False", *_row("k", [*_skip_inactive(lowered), "got = True", *_taken(lowered)])]
        body += ["if not got:", "    continue"]
    else:
        body += _row("k", _taken(lowered))
    body += settled(lowered)
    body += [*updated(lowered), *stores(lowered, written(lowered)), "changed += np.int64(moved)", *measured(lowered)]
    unwanted = carried_row(lowered, "rows[k]", "rows[k + one]", _PLACE)
    if lowered.sparse:
        body += [*emptied_for_next(lowered), *sends(lowered, "other"), *moved(lowered)]
        lines += if_wanted(lowered, body, unwanted)
    else:
        lines += [*if_wanted(lowered, body, unwanted), *sends(lowered, "other")]
    loop = [
        "while True:",
        f"    begin = first + np.uint64(fetch_add(control, 0, {PART_CHUNK}))",
        "    if begin >= last:",
        "        break",
        f"    for k in range(begin, min(begin + np.uint64({PART_CHUNK}), last)):",
        *inside(lines, 2),
    ]
    arguments = ", ".join(["mine", "first", "last", *part_in_edges(lowered), "bits"])
    return part_kernel(
        lowered,
        "pull",
        arguments,
        [*scratch_rows(lowered), *edge_halves(lowered), *none_yet(running_totals(lowered, "update")), *loop],
        part_tallied(lowered),
    )


def looking_around(lowered: Lowered) -> list[str]:
    """Statements before a vertex visits its neighbourhood: in a sparse program, if a neighbour sends."""
    lines = ["row, row_end = rows[k], rows[k + one]"]
    if not lowered.sparse:
        return lines
    test = ["u = np.uint64(neighbours[i])", "if (bits[u >> six] >> (u & mask)) & one:", "    got = True", "    break"]
    lines += ["got = False", "for i in range(row, row_end):", *inside(test)]
    return [*lines, "if not got:", "    continue"]


def part_in_edges(lowered: Lowered) -> list[str]:
    """The names of the arrays of the part's in-edges."""
    return ["rows", "neighbours", *(f"c_{column}" for column in lowered.columns)]


def _row(row: str, body: list[str]) -> list[str]:
    """A loop over the in-edges of a row of the part."""
    return [f"for i in range(rows[{row}], rows[{row} + one]):", "    u = np.uint64(neighbours[i])", *inside(body)]


def _skip_inactive(lowered: Lowered) -> list[str]:
    """Statements that skip u if it is not in the frontier; none if that makes no difference."""
    if steady(lowered) and not lowered.ordered:
        return []
    return ["if not (bits[u >> six] >> (u & mask)) & one:", *inside(carried_edge(lowered, _PLACE)), "    continue"]


def _message(lowered: Lowered) -> list[str]:
    """Statements that load what u sends along an edge."""
    lines = [received(message, "u") for message in lowered.messages]
    lines += columns_read(lowered, "i")
    return [*lines, *(["u_number = np.int64(u)"] if "u_number" in ends_known(lowered) else [])]


def _taken(lowered: Lowered) -> list[str]:
    return [
        *_message(lowered),
        *edge_loads(lowered, _PLACE),
        edge_call(lowered),
        *(["break"] if lowered.only_any and lowered.sparse else []),
    ]


def measured(lowered: Lowered, measures: list[Measure] | None = None) -> list[str]:
    """Statements that measure v: reduced at once, or stored for each vertex if the order must be fixed."""
    lines = []
    for each in lowered.measures if measures is None else measures:
        if in_one_order(lowered, each):
            array = f"each_{each.name}" if each.is_total else "residuals"
            lines.append(kept_at(each, array, "v", measured_value(lowered, each)))
        else:
            lines += reduced_at_once(lowered, [each])
    return lines


def moved(lowered: Lowered) -> list[str]:
    """Statements that record that v changed: publish decides whether it sends."""
    return ["moves[v] = moved", *(["if moved:", "    pending[v] = True"] if lowered.ordered else [])]


def emptied_for_next(lowered: Lowered) -> list[str]:
    """Statements that set v's accumulators to what init will return in the next superstep, if that is known already."""
    lines = [] if empties_first(lowered) else reset_accumulators(lowered)
    if "step" not in lowered.reads("init"):
        return lines
    return ["step = step + 1", *lines, "step = step - 1"]


# --- messages of a vertex come from several parts, or along out-edges


def _push(lowered: Lowered) -> str:
    """The senders on the queue (every vertex, in a dense program) reduce their messages into their neighbours here."""
    lines = ["u = np.uint64(queue[k])" if lowered.sparse else "u = k"]
    lines += ["row, row_end = rows[u], rows[u + one]", "if row == row_end:", "    continue"]
    lines += [received(message, "u") for message in lowered.messages]
    lines += ["u_number = np.int64(u)"] if "u_number" in edge_reads(lowered) else []
    into = ["v = np.uint64(neighbours[i])"]
    into += columns_read(lowered, "i")
    if "wants" in lowered.functions and lowered.sparse:
        into += ["if whole:", *inside(loads(lowered, ("wants",))), f"    if not {call(lowered, 'wants')}:"]
        into += ["        continue"]
    into += _reduced(lowered)
    lines += ["for i in range(row, row_end):", *inside(into)]
    end = "np.uint64(size)" if lowered.sparse else "n"
    arguments = ", ".join(["queue", "size", *part_in_edges(lowered), "whole", "stamp", "mark", "reached", "counts"])
    return part_kernel(lowered, "push", arguments, chunk_loop("control, 0", 64, "k", end, lines), [])


def _reduced(lowered: Lowered) -> list[str]:
    """Statements that reduce a message into v, and list v if it is the first that it received."""
    old = _old(lowered)
    if not lowered.sparse:
        return [*old, f"push_edge({', '.join(push_reads(lowered))})"]
    return [*old, *received_along(lowered, _listed())]


def _old(lowered: Lowered) -> list[str]:
    """Statements that load what the edge part reads of v's old state."""
    return bound(lowered, [name for name in edge_reads(lowered) if name.startswith("o_")], "v")


def _listed() -> list[str]:
    return [
        "before = stamp[v]",
        "if before != mark and compare_and_swap(stamp, v, before, mark) == before:",
        "    reached[fetch_add(counts, 0, 1)] = v",
    ]


def _gather(lowered: Lowered) -> str:
    """Reduce messages along the in-edges of the part into accumulators, whichever vertices these belong to."""
    lines = ["v = np.uint64(targets[k])"]
    body = [*(_skip_inactive(lowered) if lowered.sparse else []), *_message(lowered), *_reduced(lowered)]
    lines += _row("k", body)
    arguments = ", ".join(["targets", *part_in_edges(lowered), "bits", "stamp", "mark", "reached", "counts"])
    loop = chunk_loop("control, 0", 256, "k", "np.uint64(targets.size)", lines)
    return part_kernel(lowered, "gather", arguments, loop, [])


def _apply(lowered: Lowered) -> str:
    """Update the listed vertices from their accumulators."""
    lines = ["v = np.uint64(which[k])", "moves[v] = False", "moved = False"]
    done = finished(lowered, measured(lowered))
    if lowered.sparse:
        lines += if_wanted(lowered, [*done, *sends(lowered, "other"), *moved(lowered)])
        lines += emptied_for_next(lowered)
    else:
        lines += [*if_wanted(lowered, done), *sends(lowered, "other"), *emptied_for_next(lowered)]
    loop = chunk_loop("control, 0", 256, "k", "np.uint64(which.size)", lines)
    return part_kernel(
        lowered, "apply", "which", [*none_yet(running_totals(lowered, "update")), *loop], part_tallied(lowered)
    )


# --- publishing changes


def _publish(lowered: Lowered) -> str:
    """Prepared messages of the listed vertices become current; changed vertices are counted and listed."""
    copied = []
    for message in lowered.messages:
        array = f"s_{message.name}"
        if message.length is None:
            copied.append(f"{array}[v] = {array}[n + v]")
        else:
            copied += [f"for j in range({message.length}):", f"    {array}[v, j] = {array}[n + v, j]"]
    counting = [*copied, "edges_out += np.int64(out_offsets[v + one] - out_offsets[v])"]
    counting += ["told[fetch_add(counts, 1, 1)] = v"]
    lines = ["v = np.uint64(which[k])"]
    if lowered.ordered:
        lines += ["moves[v] = False", "if pending[v]:", *inside(loads(lowered, ("priority",)))]
        lines += [f"    if {call(lowered, 'priority')} < limit:"]
        lines += inside(["pending[v] = False", "moves[v] = True", *counting, *_in_frontier()], 2)
    elif lowered.sparse:
        lines += ["if moves[v]:", *inside([*counting, *_in_frontier()])]
    else:
        lines += ["differs = False"]
        for message in lowered.messages:
            array = f"s_{message.name}"
            if message.length is None:
                lines.append(f"differs = differs or {array}[v] != {array}[n + v]")
            else:
                one = f"differs = differs or {array}[v, j] != {array}[n + v, j]"
                lines += [f"for j in range({message.length}):", f"    {one}"]
        lines += ["moves[v] = differs", "if differs:", *inside(counting)]
    loop = chunk_loop("control, 0", 256, "k", "np.uint64(which.size)", lines)
    arguments = "which, limit, bits, queue, heads, told, counts"
    return part_kernel(lowered, "publish", arguments, loop, [f"tally[worker, {_EDGES}] += edges_out"])


def _in_frontier() -> list[str]:
    return [
        "into_or(bits, v >> six, one << (v & mask))",
        "queue[fetch_add(heads, 0, 1)] = v",
    ]


_RECEIVE = """@kernel
def part_receive(worker, workers, control, which, bits, queue, heads):
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    begin = np.uint64(fetch_add(heads, 0, which.size))
    for k in range(which.size):
        v = np.uint64(which[k])
        into_or(bits, v >> six, one << (v & mask))
        queue[begin + np.uint64(k)] = v


@kernel
def part_residual(worker, workers, control, residuals, chunk, total):
    total_sum = 0.0
    for begin in range(0, residuals.size, chunk):
        residual_sum = 0.0
        for v in range(begin, min(begin + chunk, residuals.size)):
            residual_sum += residuals[v]
        total_sum += residual_sum
    total[0] = total_sum
"""


def _stop(lowered: Lowered) -> str:
    """Whether the program stops, by totals and parameters; one thread calls it."""
    lines = "\n".join(inside([*totals_known(lowered), f"answer[0] = {call(lowered, 'stop')}"]))
    return f"@kernel\ndef part_stop(worker, workers, control, answer, step, {', '.join(shared(lowered))}):\n{lines}\n"


def _least(lowered: Lowered) -> str:
    """The smallest priority of own vertices that wait, and how many wait."""
    lines = ["v = np.uint64(mine[k])", "if pending[v]:", *inside(loads(lowered, ("priority",)))]
    lines += inside([f"least = min(least, np.float64({call(lowered, 'priority')}))", "changed += 1"])
    loop = ["least = math.inf", *chunk_loop("control, 0", PART_CHUNK, "k", "np.uint64(mine.size)", lines)]
    after = ["least_of[worker] = least", f"tally[worker, {_CHANGED}] += changed"]
    return part_kernel(lowered, "least", "mine, least_of", loop, after)
