"""Kernels for one superstep of one part, of programs with mail: each either counts records or writes them.

A counting kernel stores how many records each vertex sends, and changes nothing else. Its caller computes prefix sums,
makes room, and calls the writing kernel with where each vertex's records begin (`cursor_walker`). Both do the same to a
vertex: around, receive, update. In programs without edges, a vertex rests unless it has mail or stayed awake, which
`pending` says.
"""

from __future__ import annotations

from arcflux.compile.cpu.dense import loads, sends
from arcflux.compile.cpu.parts import (
    PART_CHUNK,
    first_sends,
    looking_around,
    measured,
    part_in_edges,
    part_kernel,
    part_tallied,
    part_totalled,
    running_totals,
)
from arcflux.compile.lower import Lowered
from arcflux.compile.mail import combined_mail, inbox, nothing_of, outbox
from arcflux.compile.pieces.generators import around_call, scratch_rows
from arcflux.compile.pieces.measures import none_yet
from arcflux.compile.pieces.source import (
    call,
    chunk_loop,
    function,
    init_call,
    inside,
    results,
    returned,
    stores,
    tuple_text,
    updated,
    written,
)

__all__ = ["TALLIED_SHORT", "counting_functions", "mail_given", "mail_kernels", "mailed_start", "mailed_vertex"]

# The column in which a worker counts vertices that sent another number of records than was counted.
TALLIED_SHORT = 3


def mail_given(lowered: Lowered) -> list[str]:
    """The mail arguments of every such kernel: the first vertex with a box, and for each mail its record arrays.

    box: uint64[boxes + 1], where the arrived records of each vertex begin; cursor: uint64[own vertices + 1], where the
    records that each vertex sends begin.
    """
    names = ["low"]
    for name in lowered.mails:
        names += [f"box_{name}", *inbox(lowered, name), f"cursor_{name}", *outbox(lowered, name)]
    return names


def counting_functions(lowered: Lowered) -> list[str]:
    """The functions that send, in the form that counts records."""
    sending = [name for name, each in lowered.functions.items() if each.sends and name != "around"]
    return [function(lowered, name, counting=True) for name in sending]


def mail_kernels(lowered: Lowered) -> str:
    """The kernels of a program with mail."""
    kernels = [_start(lowered, counting) for counting in (True, False)]
    each = _apply if lowered.around is None else _pull
    return "\n\n".join([*kernels, *(each(lowered, counting) for counting in (True, False))])


def _named(name: str, counting: bool) -> str:
    return f"{name}_count" if counting else name


def _given(lowered: Lowered, *first: str) -> str:
    return ", ".join([*first, *mail_given(lowered)])


def _short(counting: bool) -> list[str]:
    return [] if counting else [f"tally[worker, {TALLIED_SHORT}] += short"]


def _start(lowered: Lowered, counting: bool) -> str:
    """The first state of own vertices, and what they send."""
    totals = [] if counting else running_totals(lowered, "start")
    lines = ["v = np.uint64(mine[k])", *mailed_start(lowered, counting)]
    loop = ["short = 0", *none_yet(totals)]
    loop += chunk_loop("control, 0", PART_CHUNK, "k", "np.uint64(mine.size)", lines)
    after = [] if counting else [*_short(counting), "tally[worker, 0] += changed", *part_totalled(totals)]
    return part_kernel(lowered, _named("start", counting), _given(lowered, "mine"), loop, after)


def mailed_start(lowered: Lowered, counting: bool) -> list[str]:
    """Statements that start v, the k-th of the own vertices."""
    lines = [*_opened(lowered, counting), *loads(lowered, ("start",))]
    lines.append(f"{', '.join(['moved', *returned(lowered, 'start')])} = {call(lowered, 'start', counting)}")
    if not counting:
        lines += [*stores(lowered, results(lowered, "start")), *measured(lowered, lowered.totals_of("start"))]
        lines += ["moves[v] = moved", "pending[v] = moved", "changed += np.int64(moved)", *first_sends(lowered)]
    return [*lines, *_closed(lowered, counting)]


def _apply(lowered: Lowered, counting: bool) -> str:
    """Update own vertices that have mail, or stayed awake."""
    lines = ["v = np.uint64(which[k])", *mailed_vertex(lowered, counting)]
    loop = chunk_loop("control, 0", 256, "k", "np.uint64(which.size)", lines)
    return _superstep(lowered, "apply", counting, _given(lowered, "which"), loop)


def _pull(lowered: Lowered, counting: bool) -> str:
    """Own vertices from position `first` to before `last` visit their neighbourhoods, and are updated."""
    lines = ["v = np.uint64(mine[k])", *looking_around(lowered), *mailed_vertex(lowered, counting)]
    loop = [
        "while True:",
        f"    begin = first + np.uint64(fetch_add(control, 0, {PART_CHUNK}))",
        "    if begin >= last:",
        "        break",
        f"    for k in range(begin, min(begin + np.uint64({PART_CHUNK}), last)):",
        *inside(lines, 2),
    ]
    arguments = _given(lowered, "mine", "first", "last", *part_in_edges(lowered), "bits")
    return _superstep(lowered, "pull", counting, arguments, [*scratch_rows(lowered), *loop])


def _superstep(lowered: Lowered, name: str, counting: bool, given: str, loop: list[str]) -> str:
    begins = ["short = 0", *([] if counting else none_yet(running_totals(lowered, "update")))]
    after = [] if counting else [*_short(counting), *part_tallied(lowered), "tally[worker, 1] += edges_out"]
    return part_kernel(lowered, _named(name, counting), given, [*begins, *loop], after)


def mailed_vertex(lowered: Lowered, counting: bool, array: str = "s") -> list[str]:
    """Statements of a superstep for v, the k-th of the own vertices, including what it sends."""
    lines = [] if counting else ["moves[v] = False"]
    lines += ["moved = False", *_opened(lowered, counting), "box = v - low"]
    for name in lowered.mails:
        lines.append(f"first_{name}, end_{name} = box_{name}[box], box_{name}[box + one]")
    body = loads(lowered, ("init", "around", "receive", "update"), reduced=True) + init_call(lowered)
    if lowered.around is not None:
        body.append(around_call(lowered, array, counting))
    has_mail = " or ".join(f"first_{name} != end_{name}" for name in lowered.mails)
    body += [f"if {has_mail}:", *inside(_received(lowered, counting)), *updated(lowered, counting)]
    if not counting:
        body += [*stores(lowered, written(lowered)), "changed += np.int64(moved)", "pending[v] = moved"]
        body += [*measured(lowered), *sends(lowered, "other")]
    if lowered.rests:
        body += [] if counting else ["edges_out += 1"]
        body = [f"if pending[v] or {has_mail}:", *inside(body)]
    return [*lines, *body, *_closed(lowered, counting)]


def _received(lowered: Lowered, counting: bool) -> list[str]:
    """Statements that pass v its mail. Of several kinds, one may be empty: it has its initial value."""
    lines = []
    for name, declared in lowered.mails.items():
        combined = combined_mail(lowered, name)
        if declared.operation is not None and len(lowered.mails) > 1:
            combined = [
                f"got_{name} = {nothing_of(lowered, name)}",
                f"if first_{name} != end_{name}:",
                *inside(combined),
            ]
        lines += combined
    back = returned(lowered, "receive")
    received = call(lowered, "receive", counting)
    return [*lines, f"{tuple_text(back)} = {received}" if back else received]


def _opened(lowered: Lowered, counting: bool) -> list[str]:
    """Statements that set where v's records go."""
    lines = []
    for name in lowered.mails:
        if counting:
            lines.append(f"next_{name}, stop_{name} = np.uint64(0), np.uint64(0)")
        else:
            lines.append(f"next_{name}, stop_{name} = cursor_{name}[k], cursor_{name}[k + one]")
    return lines


def _closed(lowered: Lowered, counting: bool) -> list[str]:
    """Statements that store how many records v sends, or check that it sent as many."""
    if counting:
        return [f"cursor_{name}[k] = next_{name}" for name in lowered.mails]
    return [f"short += np.int64(next_{name} != stop_{name})" for name in lowered.mails]
