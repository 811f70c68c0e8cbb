"""Pieces that the kernels for a GPU share: their heads, their loops, and how they load messages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from arcflux.compile.changes import steady
from arcflux.compile.check.tuples import TUPLES
from arcflux.compile.cpu.dense import accumulators, messages
from arcflux.compile.cpu.mail_parts import mail_given
from arcflux.compile.cpu.parts import TALLIED_RESIDUAL, in_one_order
from arcflux.compile.lower import Lowered, Measure
from arcflux.compile.pieces.generators import scratch
from arcflux.compile.pieces.measures import loaded_from, nothing
from arcflux.compile.pieces.source import columns_read, edge_reads, ends_known, inside, load, shared

__all__ = [
    "counter_sums", "identity", "in_frontier", "join_frontier", "kernel", "merged", "message_loads", "native",
    "old", "shuffled", "strided_loop", "threads", "totalled",
]  # fmt: skip

_GIVEN = ("step", "mine", "which", "targets", "rows", "neighbours", "shift", "lowest", "bits", "queue", "scan", "size",
          "whole", "stamp", "mark", "reached", "counts", "told", "heads", "queues_too", "in_offsets", "out_offsets",
          "moves", "pending", "residuals", "tally")  # fmt: skip
_FIRST = {
    "one": "one = np.uint64(1)", "zero": "zero = np.uint64(0)", "five": "five = np.uint64(5)",
    "mask": "mask = np.uint64(31)", "n": "n = np.uint64(g_vertices)", "base": "base = np.uint64(0)",
    "other": "other = np.uint64(g_vertices)", "changed": "changed = np.int64(0)", "residual_sum": "residual_sum = 0.0",
    "lane": "lane = np.uint64(cuda.laneid)",
}  # fmt: skip


def kernel(lowered: Lowered, name: str, body: list[str]) -> str:
    """A kernel: its arguments are the arrays and constants that its statements name."""
    used = set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", "\n".join(body)))
    lines = [line for word, line in (_FIRST | _of_totals(lowered)).items() if word in used]
    used |= set(re.findall(r"\b(?:g|totals)_\w+", "\n".join(lines)))
    known = [*_GIVEN, *(f"each_{name}" for name in lowered.totals)]
    known += [*(f"c_{column}" for column in lowered.columns), *messages(lowered)]
    known += [f"r_{message.name}" for message in lowered.messages]
    known += [*(f"{one.name}s" for one in scratch(lowered)), "in_neighbours"]
    if lowered.mails:
        known += [*mail_given(lowered), "out_neighbours", *(f"columns_{column}" for column in lowered.out_columns)]
    known += [*accumulators(lowered), *shared(lowered)]
    arguments = ", ".join(word for word in known if word in used)
    text = "\n".join(inside([*lines, *body]))
    return f"@kernel\ndef part_{name}({arguments}):\n{text}\n"


def _of_totals(lowered: Lowered) -> dict[str, str]:
    """The initial statements of a kernel, by the names of totals and of a thread's partial reductions."""
    totals = lowered.totals.values()
    known = {f"g_{each.name}": f"g_{each.name} = {loaded_from(each, f'totals_{each.name}', '0')}" for each in totals}
    return known | {each.running: f"{each.running} = {nothing(each)}" for each in totals}


def threads(end: str, body: list[str]) -> list[str]:
    """A thread for each of those before `end`: without a loop, which would be unrolled and use registers."""
    return ["t = cuda.grid(1)", f"if t < {end}:", *inside(body)]


def strided_loop(name: str, begin: str, end: str, step: str, body: list[str]) -> list[str]:
    """A loop with a variable step: a range would first count the rounds, by a division."""
    return [f"{name} = {begin}", f"while {name} < {end}:", *inside([*body, f"{name} += {step}"])]


def counter_sums(lowered: Lowered) -> list[str]:
    """Statements that add up the counts and measures of a kernel's threads."""
    lines = ["counted(tally, 0, changed)"]
    for each in lowered.measures:
        if not each.is_total and each.operation != "sum":
            lines += _by_warp(each, "tally", f"(np.uint64(0), np.uint64({TALLIED_RESIDUAL}))")
        elif not each.is_total and not lowered.deterministic:
            lines.append(f"summed(tally, {TALLIED_RESIDUAL}, np.float64(residual_sum))")
    return [*lines, *totalled(lowered, "update")]


def totalled(lowered: Lowered, function: str) -> list[str]:
    """Statements that reduce the partial totals of threads, of the totals that a function contributes to."""
    lines = []
    for each in lowered.totals_of(function):
        if in_one_order(lowered, each):
            continue
        if each.length is None:
            lines += _by_warp(each, each.sums, "np.uint64(0)")
            continue
        lines += [f"for j in range({each.length}):", f"    part_{each.name} = {each.running}[j]"]
        part = _by_warp(each, each.sums, "(np.uint64(0), np.uint64(j))", f"part_{each.name}")
        lines += inside(part)
    return lines


def _by_warp(measure: Measure, array: str, place: str, name: str = "") -> list[str]:
    """Statements that reduce a value of every thread into an element of an array, with one atomic per warp."""
    name, dtype = name or measure.running, measure.dtype
    other = shuffled("shfl_xor_sync", name, dtype, "16 >> level")
    into = f"into_{measure.operation}{native(measure.operation, dtype)}"
    return [
        "for level in range(5):",
        f"    {name} = {merged(measure.operation, name, other)}",
        "if cuda.laneid == 0:",
        f"    {into}({array}, {place}, np.{dtype.type.__name__}({name}))",
    ]


def shuffled(operation: str, name: str, dtype: np.dtype[Any], which: str) -> str:
    """The expression for another lane's value of a name."""
    kind = dtype.kind
    if kind == "f":
        return f"cuda.{operation}(FULL, np.{dtype}({name}), {which})"
    if kind == "b":
        return f"cuda.{operation}(FULL, np.int32({name}), {which}) != 0"
    inner = f"cuda.{operation}(FULL, np.int64({name}), {which})"
    return f"np.uint64({inner})" if kind == "u" else inner


def merged(operation: str, a: str, b: str) -> str:
    """The expression for two values reduced to one."""
    form = {"sum": "{} + {}", "product": "{} * {}", "or": "{} | {}", "and": "{} & {}"}.get(operation)
    return form.format(a, b) if form else f"{operation}({a}, {b})"


def native(operation: str, dtype: np.dtype[Any]) -> str:
    """The suffix of a reduction's name: "_native" if CUDA has one atomic for it; a store counts as one.

    Examples
    --------
    >>> native("sum", np.dtype("f8")), native("min", np.dtype("f8")), native("or", np.dtype("u1"))
    ('_native', '', '')
    """
    if operation == "any":
        return "_native"
    if dtype.kind == "b" or dtype.itemsize < 4:
        return ""
    has = operation == "sum" if dtype.kind == "f" else operation != "product"
    return "_native" if has else ""


def in_frontier(lowered: Lowered) -> str:
    """The expression for whether u is in the frontier; "" if that makes no difference."""
    if not lowered.sparse or steady(lowered):
        return ""
    return "(bits[u >> five] >> (u & mask)) & one"


def join_frontier() -> list[str]:
    """Statements that set v's bit in the next frontier."""
    return ["if queues_too:", "    cuda.atomic.or_(bits, v >> five, np.uint32(one << (v & mask)))"]


def message_loads(lowered: Lowered) -> list[str]:
    """Statements that load what u sends along edge i."""
    lines = []
    for message in lowered.messages:
        place = f"r_{message.name}[u]" if message.length is None else f"load(r_{message.name}, u, {message.length})"
        lines.append(f"{message.name} = {place}")
    lines += columns_read(lowered, "i")
    return [*lines, *(["u_number = np.int64(u)"] if "u_number" in ends_known(lowered) else [])]


def identity(operation: str, dtype: np.dtype[Any]) -> str:
    """The expression for the identity element of a reduction."""
    operation = TUPLES.get(operation, operation)
    if dtype.kind == "b":
        return str(operation in ("min", "and", "product"))
    name = f"np.{dtype.type.__name__}"
    if operation in ("sum", "or"):
        return f"{name}(0)"
    if operation == "product":
        return f"{name}(1)"
    if operation == "and":
        return f"{name}({np.iinfo(dtype).max if dtype.kind == 'u' else -1})"
    if dtype.kind == "f":
        return f"{name}({'math.inf' if operation == 'min' else '-math.inf'})"
    return f"{name}({np.iinfo(dtype).max if operation == 'min' else np.iinfo(dtype).min})"


def old(lowered: Lowered) -> list[str]:
    """Statements that load what the edge part reads of v's old state."""
    names = [name for name in edge_reads(lowered) if name.startswith("o_")]
    lines = []
    for name in names:
        if name[2:] == "number":
            lines.append(f"{name} = np.int64(v)")
        elif name[2:] in ("in_degree", "out_degree"):
            side = f"{name[2:].removesuffix('_degree')}_offsets"
            lines.append(f"{name} = np.int64({side}[v + one]) - np.int64({side}[v])")
        else:
            lines.append(f"{name} = {load(lowered, name[2:], f'f_{name[2:]}', 'v')}")
    return lines
