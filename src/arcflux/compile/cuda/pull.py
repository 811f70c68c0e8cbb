"""Kernels for a GPU that execute a superstep of a vertex at once: init, all its messages, update.

`pull_thread` has a thread for each vertex, `pull_warp` a warp, `pull_block` a block, and in `pull_scan` (scan.py) the
vertices of a block share their edges: the launcher assigns rows by length. A warp reads 32 neighbours in parallel,
every lane reduces its own, and lanes are combined by shuffles, warps through shared memory; vectors.py says where
vectors are. If sums of floats must have the order of the edges, lanes read together and every lane then reduces all
values, in order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arcflux.compile.check.checked import Reduction
from arcflux.compile.check.tuples import better
from arcflux.compile.cpu.dense import AROUND, if_wanted, loads, sends
from arcflux.compile.cpu.parts import emptied_for_next, measured, moved
from arcflux.compile.cuda.source import (
    counter_sums,
    identity,
    in_frontier,
    kernel,
    merged,
    message_loads,
    shuffled,
    strided_loop,
    threads,
)
from arcflux.compile.cuda.vectors import (
    around,
    by_thread_alone,
    copied,
    from_tile,
    old_again,
    room,
    stored,
    sums_again,
    vectors,
    widened,
)
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.edges import edge_call, fresh, settled
from arcflux.compile.pieces.source import column_value, edge_reads, init_call, inside, stores, updated, written

__all__ = ["PULLS", "enter_edges", "in_order", "leave_edges", "pulls"]

PULLS = ("pull_thread", "pull_scan", "pull_warp", "pull_block")


def in_order(lowered: Lowered) -> bool:
    """Whether the order of the edges would show in the result, and must not."""
    added = any(how.operation in ("sum", "product") and lowered.fields[name][0].kind == "f"
                for name, how in lowered.reductions.items())  # fmt: skip
    return lowered.deterministic and added


def pulls(lowered: Lowered) -> list[str]:
    """The kernels of a program."""
    if by_thread_alone(lowered):
        return [_by_thread(lowered)]
    kernels = [_by_lane(lowered) if vectors(lowered) else _by_thread(lowered), _together(lowered, "warp")]
    return kernels if in_order(lowered) or vectors(lowered) else [*kernels, _together(lowered, "block")]


def _ended(lowered: Lowered) -> list[str]:
    """Statements after the last message: v is updated."""
    lines = [*settled(lowered), *updated(lowered), *stores(lowered, written(lowered))]
    lines += ["changed += np.int64(moved)", *measured(lowered)]
    if lowered.sparse:
        lines += [*emptied_for_next(lowered), *sends(lowered, "other"), *moved(lowered)]
    return lines


def _by_thread(lowered: Lowered) -> str:
    flagged = replace(lowered, deterministic=True, facts={})
    body = loads(lowered, AROUND, edge=True) + init_call(lowered) + fresh(flagged)
    message = [*message_loads(lowered), edge_call(flagged), *(["got = True"] if lowered.sparse else [])]
    message += ["break"] if lowered.only_any and lowered.sparse else []
    test = in_frontier(lowered)
    row = ["u = np.uint64(neighbours[i])", *([f"if {test}:", *inside(message)] if test else message)]
    body += [*(["got = False"] if lowered.sparse else []), *_bounds(), "for i in range(begin, end):", *inside(row)]
    body += ["if got:", *inside(_ended(lowered))] if lowered.sparse else _ended(lowered)
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])", "moves[v] = False", "moved = False"]
    lines += if_wanted(lowered, body)
    lines += [] if lowered.sparse else sends(lowered, "other")
    return kernel(lowered, "pull_thread", [*threads("which.size", lines), *counter_sums(lowered)])


def _by_lane(lowered: Lowered) -> str:
    """A thread for each vertex, where the warp executes the loop together."""
    flagged = replace(lowered, deterministic=True, facts={})
    message = [*message_loads(lowered), *around(lowered, edge_call(flagged), "thread")]
    message += ["got = True"] if lowered.sparse else []
    test = in_frontier(lowered)
    step = ["i = begin", "begin += one", "u = np.uint64(neighbours[i])"]
    step += [f"if {test}:", *inside(message)] if test else message
    if lowered.only_any and lowered.sparse:
        step += ["if got:", "    begin = end"]
    loop = ["while cuda.any_sync(FULL, begin < end):", "    if begin < end:", *inside(step, 2), "    cuda.syncwarp()"]
    again = [*old_again(lowered, "thread"), *sums_again(lowered)]
    before = [*room(lowered, "thread"), *enter_edges(lowered, stored(lowered, "thread"))]
    return kernel(lowered, "pull_thread", [*before, *loop, *leave_edges(lowered, again)])


def enter_edges(lowered: Lowered, more: list[str]) -> list[str]:
    """Statements that every thread of a block executes before its vertex's edges, even without any."""
    body = (
        loads(lowered, AROUND, edge=True) + init_call(lowered) + fresh(replace(lowered, deterministic=True, facts={}))
    )
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])", "moves[v] = False", "moved = False"]
    lines += if_wanted(lowered, [*body, *more, *_bounds(), "goes = True"])
    first = ["t = cuda.grid(1)", "goes = False", "begin, end, v = zero, zero, zero"]
    return [*first, *(["got = False"] if lowered.sparse else []), "if t < which.size:", *inside(lines)]


def leave_edges(lowered: Lowered, more: list[str]) -> list[str]:
    """Statements that every thread of a block executes after its edges."""
    lines = [f"if goes{' and got' if lowered.sparse else ''}:", *inside([*more, *_ended(lowered)])]
    lines += _prepared(lowered, "t < which.size")
    return [*lines, *counter_sums(lowered)]


def _prepared(lowered: Lowered, condition: str) -> list[str]:
    """Statements that prepare what v sends next, in a dense program with messages."""
    lines = [] if lowered.sparse else sends(lowered, "other")
    return [f"if {condition}:", *inside(lines)] if lines else []


def _bounds() -> list[str]:
    return ["begin, end = np.uint64(rows[k]) - shift, np.uint64(rows[k + one]) - shift"]


# --- many threads for a vertex


def _together(lowered: Lowered, who: str) -> str:
    """A warp or a block for each vertex."""
    flagged = replace(lowered, deterministic=True, facts={})
    ordered, wide = in_order(lowered), "np.uint64(32)" if who == "warp" else "np.uint64(cuda.blockDim.x)"
    own = "lane" if who == "warp" else "own"
    body = loads(lowered, AROUND, edge=True) + init_call(lowered) + fresh(flagged)
    if not ordered and (empty := _empty(lowered)):
        body += [f"if {own} != zero:", *inside(empty)]
    body += [*(["got = False"] if lowered.sparse else []), *_bounds(), *stored(lowered, "warp")]
    body += strided_loop(
        "begun", "begin", "end", wide, _in_turn(lowered) if ordered else _own_messages(lowered, own, who)
    )
    body += sums_again(lowered)
    if not ordered:
        body += _combined(lowered, who)
    elif lowered.sparse:
        body += ["got = cuda.any_sync(FULL, got)"]
    leads = f"{own} == zero and got" if lowered.sparse else f"{own} == zero"
    body += [f"if {leads}:", *inside([*old_again(lowered, "warp"), *_ended(lowered)])]
    lines = ["k = np.uint64(which[t])", "v = np.uint64(mine[k])", "moved = False"]
    lines += [f"if {own} == zero:", "    moves[v] = False", *if_wanted(lowered, body)]
    lines += _prepared(lowered, f"{own} == zero")
    if who == "warp":
        loop = ["t = cuda.grid(1) >> 5", "if t < which.size:", *inside(lines)]
        return kernel(lowered, "pull_warp", [*room(lowered, "warp"), *loop, *counter_sums(lowered)])
    loop = ["t = cuda.blockIdx.x", *lines]
    first = ["own = np.uint64(cuda.threadIdx.x)", *_slots(lowered)]
    return kernel(lowered, "pull_block", [*first, *loop, *counter_sums(lowered)])


def _empty(lowered: Lowered) -> list[str]:
    """Statements that give lanes other than the first the identity to begin with."""
    lines = []
    for name, how in sorted(lowered.reductions.items()):
        dtype, length = lowered.fields[name]
        if how.operation == "any":
            continue
        value = identity(how.operation, dtype)
        lines.append(f"v_{name} = {value if length is None else _lanes(value, dtype, length)}")
    return lines


def _lanes(value: str, dtype: np.dtype[Any], length: int) -> str:
    kind = {"b": "boolean", "f": str(dtype), "u": "uint64" if str(dtype) == "uint64" else "int64", "i": "int64"}
    return f"as_{kind[dtype.kind]}({value}, {length})"


def _own_messages(lowered: Lowered, own: str, who: str) -> list[str]:
    """Statements in which every thread reduces its own message of those that are read together."""
    message = from_tile(lowered, message_loads(lowered))
    message += around(lowered, edge_call(replace(lowered, deterministic=True, facts={})), "warp")
    message += ["got = True"] if lowered.sparse else []
    test = in_frontier(lowered)
    lines = [f"i = begun + {own}"]
    if any(message.length is not None for message in lowered.messages):
        lines += copied(lowered)
        inner = [f"if {test}:", *inside(message)] if test else message
        lines += ["if i < end:", *inside(inner)]
    else:
        inner = ["u = np.uint64(neighbours[i])", *([f"if {test}:", *inside(message)] if test else message)]
        lines += ["if i < end:", *inside(inner)]
    if lowered.only_any and lowered.sparse:
        seen = "cuda.any_sync(FULL, got)" if who == "warp" else "cuda.syncthreads_or(np.int32(got))"
        lines += [f"if {seen}:", "    break"]
    return lines


def _in_turn(lowered: Lowered) -> list[str]:
    """Statements in which lanes read together, and then every lane reduces all messages in the order of the edges."""
    test = in_frontier(lowered)
    lines = ["i = begun + lane"]
    if any(message.length is not None for message in lowered.messages):
        lines += copied(lowered)
    else:
        lines += ["u = np.uint64(neighbours[i if i < end else end - one])"]
    scalars = [message for message in lowered.messages if message.length is None]
    lines += [f"own_{message.name} = r_{message.name}[u]" for message in scalars]
    lines += [f"own_{column} = {column_value(lowered, column, f'c_{column}[i if i < end else end - one]')}"
              for column in lowered.columns]  # fmt: skip
    if test:
        lines += [f"sends_now = np.int64({test})"]
    lines += ["own_u = np.int64(u)"]
    turn = [f"{message.name} = {shuffled('shfl_sync', f'own_{message.name}', message.dtype, 'j')}"
            for message in scalars]  # fmt: skip
    turn += [f"{message.name} = load(tile_{message.name}, warp_first + np.uint64(j), {message.length})"
             for message in lowered.messages if message.length is not None]  # fmt: skip
    kinds = lowered.functions["compute"].types
    turn += [f"e_{column} = {shuffled('shfl_sync', f'own_{column}', kinds[f'e_{column}'].stored, 'j')}"
             for column in lowered.columns]  # fmt: skip
    if "u_number" in edge_reads(lowered):
        turn.append("u_number = cuda.shfl_sync(FULL, own_u, j)")
    call = around(lowered, edge_call(replace(lowered, deterministic=True, facts={})), "warp")
    call += ["got = True"] if lowered.sparse else []
    turn += ["if cuda.shfl_sync(FULL, sends_now, j) != 0:", *inside(call)] if test else call
    return [*lines, "for j in range(np.int64(min(end - begun, np.uint64(32)))):", *inside(turn)]


# --- lanes and warps are combined


def _combined(lowered: Lowered, who: str) -> list[str]:
    """Statements that combine the values of all threads in the first one."""
    lines, steps = [], []
    for name, how in sorted(lowered.reductions.items()):
        dtype, length = lowered.fields[name]
        if length is not None:
            for k in range(length):
                other = shuffled("shfl_xor_sync", f"v_{name}[{k}]", widened(dtype), "apart")
                steps.append(f"v_{name} = put(v_{name}, {k}, {merged(how.operation, f'v_{name}[{k}]', other)})")
            continue
        lines.append(f"v_{name} = {_plain(f'v_{name}', dtype)}")
        other = shuffled("shfl_xor_sync", f"v_{name}", dtype, "apart")
        if how.group:
            steps.append(f"t_{name} = {other}")
            steps += _exchanged(how, name)
        elif how.operation == "any":
            steps += [f"other_{name} = {other}", f"came = cuda.shfl_xor_sync(FULL, np.int32(taken_{name}), apart) != 0"]
            steps += _any_of_lanes(name, "came")
        else:
            steps.append(f"v_{name} = {merged(how.operation, f'v_{name}', other)}")
    lines += ["for level in range(5):", "    apart = 16 >> level", *inside(steps)]
    if who == "warp":
        return [*lines, *(["got = cuda.any_sync(FULL, got)"] if lowered.sparse else [])]
    lines += ["warp = np.uint64(cuda.threadIdx.x >> 5)", "if lane == zero:"]
    for name, how in sorted(lowered.reductions.items()):
        lines.append(f"    slot_{name}[warp] = v_{name}")
        lines += [f"    came_{name}[warp] = np.int32(taken_{name})"] if how.operation == "any" else []
    lines += ["got = cuda.syncthreads_or(np.int32(got)) != 0" if lowered.sparse else "cuda.syncthreads()"]
    lines += ["if own == zero:", "    for w in range(1, cuda.blockDim.x >> 5):"]
    for name, how in sorted(lowered.reductions.items()):
        lines.append(f"        {'t' if how.group else 'other'}_{name} = slot_{name}[w]")
        if how.group:
            lines += inside(_exchanged(how, name), 2)
        elif how.operation == "any":
            lines += inside(_any_of_lanes(name, f"came_{name}[w] != 0"), 2)
        else:
            lines.append(f"        v_{name} = {merged(how.operation, f'v_{name}', f'other_{name}')}")
    return lines


def _exchanged(how: Reduction, name: str) -> list[str]:
    """Statements that replace the tuple by another lane's if that is better, after all of its elements have arrived."""
    if name != max(how.group):
        return []
    new, old = ([f"{kind}_{each}" for each in how.group] for kind in "tv")
    return [f"if {better(how.operation, new, old)}:", *(f"    {a} = {x}" for a, x in zip(old, new, strict=True))]


def _any_of_lanes(name: str, came: str) -> list[str]:
    """Statements that take another lane's `any`, if it has one, and it is the smaller of two."""
    return [
        f"if {came}:",
        f"    v_{name} = other_{name} if not taken_{name} else min(v_{name}, other_{name})",
        f"    taken_{name} = True",
    ]


def _plain(name: str, dtype: np.dtype[Any]) -> str:
    """An expression of one type for a value that may have been widened."""
    kind = dtype.kind
    wide = {"f": f"np.{dtype}", "i": "np.int64", "u": "np.uint64", "b": "bool"}[kind]
    return f"{wide}({name})"


def _slots(lowered: Lowered) -> list[str]:
    """Statements that allocate shared memory for the partial reduction of each warp of a block."""
    lines = []
    for name, how in sorted(lowered.reductions.items()):
        dtype = lowered.fields[name][0]
        wide = {"f": str(dtype), "i": "int64", "u": "uint64", "b": "bool_"}[dtype.kind]
        lines.append(f"slot_{name} = cuda.shared.array(32, np.{wide})")
        lines += [f"came_{name} = cuda.shared.array(32, np.int32)"] if how.operation == "any" else []
    return lines
