"""Kernels for blocks of edge triplets, as daemons run them: MSGGen, MSGMerge, MSGApply (GX-Plug, III-A and IV-A).

They are made of the same pieces as all kernels, but vertices are numbered differently. A block has its own vertices,
from 0 on: `numbers`, `in_degrees` and `out_degrees` are their values in the graph. The contribution of a block to a
vertex is reduced into accumulators that begin with the identity of their reduction, so that blocks and nodes can be
merged in any order:

- `triplet_start`: the first state of vertices;
- `triplet_gen`: every triplet's message, reduced into the accumulator of its target in the block;
- `triplet_merge`: accumulators of a block, or of another node, reduced into others;
- `triplet_apply`: vertices updated by what was reduced for them.

If a program uses lists of messages, `triplet_list` writes one message per triplet, and `triplet_apply` sees those of a
vertex as a row. What differs in kernels for a GPU is a `Style` (compile/cuda/triplets.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from arcflux.compile.cpu.dense import AROUND, accumulators, if_wanted, loads, messages
from arcflux.compile.cpu.module import pieces, with_names
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import Registers, Shared, narrow_sums, push_edge, push_reads, settled
from arcflux.compile.pieces.generators import around_call, scratch, scratch_rows
from arcflux.compile.pieces.measures import kept_at, none_yet
from arcflux.compile.pieces.source import (
    bound,
    call,
    chunk_loop,
    columns_read,
    edge_reads,
    init_call,
    inside,
    load,
    measured,
    message_values,
    results,
    returned,
    shared,
    stores,
    totals_known,
    updated,
    written,
)

__all__ = ["Style", "applied_fields", "can_be_triplets", "generated_fields", "given_to", "knows", "of_blocks",
           "triplet_kernels", "triplet_source"]  # fmt: skip

_CHUNK = 1024
_VERTEX = ["numbers", "in_degrees", "out_degrees"]
_NUMBER = re.compile(r"\b([uvo]_number) = np\.int64\((\w+)\)")
_DEGREE = re.compile(r"np\.int64\((in|out)_offsets\[(\w+) \+ one\] - \1_offsets\[\2\]\)")


def can_be_triplets(lowered: Lowered) -> str:
    """Why a program cannot run by blocks of triplets; "" if it can."""
    program = lowered.program
    if program.phases or program.is_phase:
        return "it has phases"
    if lowered.mails:
        return "it sends mail"
    if lowered.edge_state is not None:
        return "it has fields of edges"
    if lowered.around is not None and lowered.around.intersects:
        return "it compares lists of neighbours"
    if program.edges != "along":
        return "it does not go along edges"
    return ""


def triplet_source(lowered: Lowered) -> str:
    """The module with the kernels of a program for blocks of triplets."""
    if "triplets" not in lowered.sources:
        lowered.sources["triplets"] = with_names(
            of_blocks("\n\n".join([*pieces(lowered), *triplet_kernels(lowered, _CORES)]))
        )
    return lowered.sources["triplets"]


def triplet_kernels(lowered: Lowered, style: Style) -> list[str]:
    """The kernels, and the part of an edge, without the user's functions."""
    if lowered.around is not None:
        return [_start(lowered, style), _list(lowered, style), _apply(lowered, style)]
    edges = push_edge(lowered, style.shared)
    return [edges, _start(lowered, style), _gen(lowered, style), _merge(lowered, style), _apply(lowered, style)]


class Style(NamedTuple):
    """What differs between devices.

    kernel: a kernel of a name, its arrays, and its statements; each: a loop over all items; shared: how values are
    reduced into arrays that others write to as well; ended: statements that store the counts, and the partial totals of
    a function.
    """

    kernel: Callable[[Lowered, str, list[str], list[str]], str]
    each: Callable[[str, list[str]], list[str]]
    shared: type[Shared]
    ended: Callable[[Lowered, str], list[str]]


def of_blocks(text: str) -> str:
    """The kernels with the number and degrees of a block's vertex replaced by those in the graph."""
    text = _NUMBER.sub(r"\1 = numbers[\2]", text)
    return _DEGREE.sub(r"\1_degrees[\2]", text)


def given_to(lowered: Lowered, given: list[str]) -> str:
    """The arrays and constants that a kernel gets: its own, and those that all have."""
    return ", ".join([*given, *_VERTEX, *accumulators(lowered), *shared(lowered)])


def _kernel(lowered: Lowered, name: str, given: list[str], statements: list[str]) -> str:
    lines = "\n".join(inside([*totals_known(lowered), *statements]))
    return f"""@kernel
def triplet_{name}(worker, workers, control, step, size, {given_to(lowered, given)}):
    one, base = np.uint64(1), np.uint64(0)
    changed, residual_sum = 0, 0.0
{lines}
"""


def _each(name: str, body: list[str]) -> list[str]:
    return chunk_loop("control, 0", _CHUNK, name, "np.uint64(size)", body)


def _ended(lowered: Lowered, function: str) -> list[str]:
    totals = lowered.totals_of(function)
    lines = [kept_at(each, each.sums, "np.uint64(worker)", each.running) for each in totals]
    tallied = ["tally[worker, 0] = changed", "tally[worker, 1] = residual_sum"]
    return [*lines, *(tallied if function == "update" else [])]


_CORES = Style(_kernel, _each, Shared, _ended)


def _start(lowered: Lowered, style: Style = _CORES) -> str:
    """The first state of vertices, and whether they send; initial values of fields are already there."""
    totals = lowered.totals_of("start")
    lines = loads(lowered, ("start",))
    lines.append(f"{', '.join(['moved[v]', *returned(lowered, 'start')])} = {call(lowered, 'start')}")
    lines += [*stores(lowered, results(lowered, "start")), *measured(lowered, totals)]
    loop = [*none_yet(totals), *style.each("v", lines)]
    return style.kernel(lowered, "start", ["moved"], [*loop, *style.ended(lowered, "start")])


def _triplet(lowered: Lowered) -> list[str]:
    """Statements that load the i-th triplet: messages of its source, and columns of its edge."""
    lines = ["u = np.uint64(sources[i])", *message_values(lowered, lowered.messages), *columns_read(lowered, "i")]
    return lines


def _gen(lowered: Lowered, style: Style = _CORES) -> str:
    """Messages of triplets, reduced into the accumulators of their targets."""
    old = [name for name in edge_reads(lowered) if name.startswith("o_")]
    lines = [*_triplet(lowered), "v = np.uint64(targets[i])", *bound(lowered, old, "v")]
    lines += [f"push_edge({', '.join(push_reads(lowered))})", "hit[v] = np.uint8(1)"]
    columns = [f"c_{column}" for column in lowered.columns]
    return style.kernel(lowered, "gen", ["sources", "targets", *columns, "hit"], style.each("i", lines))


def _merge(lowered: Lowered, style: Style = _CORES) -> str:
    """Reduce accumulators x_ of vertices that received something into those of their targets."""
    into = style.shared(lowered)
    text, grouped = [], set()
    for name, how in sorted(lowered.reductions.items()):
        if how.group:
            if how.group not in grouped:
                grouped.add(how.group)
                text.append(into.reduced_tuple(how.group, [f"x_{one}[i]" for one in how.group]))
        else:
            text.append(into.reduced(how.operation, name, None, load(lowered, name, f"x_{name}", "i")))
    reducing = "\n".join(text).splitlines()
    lines = ["if came[i] != np.uint8(0):", "    v = np.uint64(targets[i])", "    hit[v] = np.uint8(1)"]
    lines += ["    hit_ = False", *inside([line.replace("hit = ", "hit_ = ").replace("or hit", "or hit_")
                                             for line in reducing])]  # fmt: skip
    arguments = ["targets", *(f"x_{name}" for name in sorted(lowered.reductions)), "came", "hit"]
    return style.kernel(lowered, "merge", arguments, style.each("i", lines))


def _list(lowered: Lowered, style: Style = _CORES) -> str:
    """The messages of triplets, one by one."""
    lines = _triplet(lowered)
    for message in lowered.messages:
        place = f"x_{message.name}"
        lines.append(f"{place}[i] = {message.name}" if message.length is None else f"keep({place}, i, {message.name})")
    arguments = ["sources", *(f"c_{column}" for column in lowered.columns)]
    arguments += [f"x_{message.name}" for message in lowered.messages]
    return style.kernel(lowered, "list", arguments, style.each("i", lines))


def _apply(lowered: Lowered, style: Style = _CORES) -> str:
    """Update vertices that received something, or all of a dense program; `moved` flags those that send next."""
    lines = ["moved[v] = False"]
    lines += ["if hit[v] == np.uint8(0):", "    continue"] if lowered.sparse else []
    body = loads(lowered, AROUND, edge=True, reduced=True) + init_call(lowered)
    arguments = ["hit", "moved"]
    if lowered.around is not None:
        body = ["row, row_end = rows[v], rows[v + one]", *body, around_call(lowered)]
        arguments += ["rows", "neighbours", *messages(lowered), *(f"c_{column}" for column in lowered.columns)]
        arguments += [f"{one.name}s" for one in scratch(lowered)]
    else:
        body += ["if hit[v] != np.uint8(0):", *inside(_combined(lowered)), *settled(lowered)]
    body += ["now = False", *(line.replace("moved", "now", 1) for line in updated(lowered))]
    body += [*stores(lowered, written(lowered)), "moved[v] = now", "changed += np.int64(now)", *measured(lowered)]
    lines += if_wanted(lowered, body)
    totals = lowered.totals_of("update")
    loop = [*scratch_rows(lowered), *none_yet(totals), *style.each("v", lines)]
    return style.kernel(lowered, "apply", [*arguments, "tally"], [*loop, *style.ended(lowered, "update")])


def _combined(lowered: Lowered) -> list[str]:
    """Statements that reduce v's accumulators into its fields, or into what init made of them."""
    into, lines, grouped = Registers(lowered), [], set()
    for name, how in sorted(lowered.reductions.items()):
        if how.group:
            if how.group not in grouped:
                grouped.add(how.group)
                lines += into.reduced_tuple(how.group, [f"a_{one}[v]" for one in how.group]).splitlines()
        elif how.operation == "any":
            lines.append(f"v_{name} = {load(lowered, name, f'a_{name}', 'v')}")
        else:
            value = load(lowered, name, f"a_{name}", "v")
            lines += into.reduced(how.operation, name, None, value).splitlines()
    return [*(f"v_{name} = np.float64(v_{name})" for name in narrow_sums(lowered)), *lines]


# --- what agents have to send


def generated_fields(lowered: Lowered) -> list[str]:
    """The fields that triplets carry: those of the source that messages are computed from, and the target's old ones.

    Examples
    --------
    >>> import arcflux as af
    >>> from arcflux.compile.lower import lower
    >>> generated_fields(lower(af.algorithms.PageRank, {}))
    ['rank']
    """
    text = _list(lowered) if lowered.around is not None else _gen(lowered)
    body = text.partition("\n")[2].partition("\n")[2]
    return [name for name in lowered.fields if re.search(rf"\bf_{re.escape(name)}\b", body)]


def applied_fields(lowered: Lowered) -> list[str]:
    """The fields of vertices that `triplet_apply` and `triplet_start` read or write."""
    text = "".join(text.partition("\n")[2].partition("\n")[2] for text in (_apply(lowered), _start(lowered)))
    return [name for name in lowered.fields if re.search(rf"\bf_{re.escape(name)}\b", text)]


def knows(lowered: Lowered, what: str) -> list[str]:
    """Which of `numbers`, `in_degrees`, `out_degrees` the kernel of an operation ("gen", "apply", ...) reads."""
    every = {"start": _start, "gen": _list if lowered.around is not None else _gen, "apply": _apply}
    if what not in every:
        return []
    body = of_blocks(every[what](lowered).partition("\n")[2].partition("\n")[2])
    return [name for name in _VERTEX if f"{name}[" in body]
