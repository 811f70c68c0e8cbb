"""Pieces that the kernels for a GPU have in common: their heads, their loops, and what they take from whom."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from arcflux.compile.changes import steady
from arcflux.compile.dense import accumulators, messages
from arcflux.compile.lower import Lowered
from arcflux.compile.parts import TALLIED
from arcflux.compile.source import columns_read, edge_reads, inside, load, shared

__all__ = ["identity", "in_frontier", "kernel", "known", "old", "strided", "taken", "tallied", "threads"]

_GIVEN = ("step", "mine", "which", "targets", "rows", "neighbours", "shift", "lowest", "bits", "queue", "scan", "size",
          "whole", "stamp", "mark", "reached", "counts", "told", "heads", "queues_too", "in_offsets", "out_offsets",
          "moves", "pending", "residuals", "tally")  # fmt: skip
_FIRST = {
    "one": "one = np.uint64(1)", "zero": "zero = np.uint64(0)", "five": "five = np.uint64(5)",
    "mask": "mask = np.uint64(31)", "n": "n = np.uint64(g_vertices)", "base": "base = np.uint64(0)",
    "other": "other = np.uint64(g_vertices)", "changed": "changed = np.int64(0)", "residual_sum": "residual_sum = 0.0",
    "aggregate_sum": "aggregate_sum = 0.0",
    "lane": "lane = np.uint64(cuda.laneid)",
}  # fmt: skip


def kernel(lowered: Lowered, name: str, body: list[str]) -> str:
    """A kernel: its arguments are the arrays and constants that its statements name."""
    used = set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", "\n".join(body)))
    lines = [line for word, line in _FIRST.items() if word in used]
    used |= set(re.findall(r"\bg_\w+", "\n".join(lines)))
    known = [*_GIVEN, *(f"c_{column}" for column in lowered.columns), *messages(lowered)]
    known += [f"r_{message.name}" for message in lowered.messages]
    known += [*accumulators(lowered), *shared(lowered)]
    given = ", ".join(word for word in known if word in used)
    text = "\n".join(inside([*lines, *body]))
    return f"@kernel\ndef part_{name}({given}):\n{text}\n"


def threads(end: str, body: list[str]) -> list[str]:
    """Every thread takes one of those before `end`: without a loop, which would be unrolled and take registers."""
    return ["t = cuda.grid(1)", f"if t < {end}:", *inside(body)]


def strided(name: str, begin: str, end: str, step: str, body: list[str]) -> list[str]:
    """A loop by steps that are no constant, of which a range would first count the rounds, by a division."""
    return [f"{name} = {begin}", f"while {name} < {end}:", *inside([*body, f"{name} += {step}"])]


def tallied(lowered: Lowered) -> list[str]:
    """Statements that add up what the threads of a kernel have counted."""
    sums = [] if lowered.deterministic else lowered.measures
    return ["counted(tally, 0, changed)", *(f"summed(tally, {TALLIED[name]}, np.float64({name}_sum))" for name in sums)]


def known(lowered: Lowered) -> str:
    """The expression that says whether u is in the frontier; "" when that makes no difference."""
    if not lowered.sparse or steady(lowered):
        return ""
    return "(bits[u >> five] >> (u & mask)) & one"


def in_frontier() -> list[str]:
    """Statements that set v's bit in the next frontier."""
    return ["if queues_too:", "    cuda.atomic.or_(bits, v >> five, np.uint32(one << (v & mask)))"]


def taken(lowered: Lowered) -> list[str]:
    """Statements that take what u sends along edge i."""
    lines = []
    for message in lowered.messages:
        place = f"r_{message.name}[u]" if message.length is None else f"load(r_{message.name}, u, {message.length})"
        lines.append(f"{message.name} = {place}")
    lines += columns_read(lowered, "i")
    return [*lines, *(["u_number = np.int64(u)"] if "u_number" in edge_reads(lowered) else [])]


def identity(operation: str, dtype: np.dtype[Any]) -> str:
    """The expression for what a reduction leaves as it is."""
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
    """Statements that load what the edge part knows of v's old state."""
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
