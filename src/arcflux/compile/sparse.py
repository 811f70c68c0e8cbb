"""What a sparse program allows its kernel to do, and the arrays that the kernel needs for that."""

from __future__ import annotations

import ast

from arcflux.compile.lower import Lowered, Message, fact
from arcflux.compile.pieces.source import arguments, bound, init_call, keep, load, results, written

__all__ = [
    "beamer", "buffers", "claims", "delays", "direct", "extra", "immediate", "precomputed", "reset_from_init",
]  # fmt: skip


@fact
def delays(lowered: Lowered) -> bool:
    """Whether pull has to buffer new values until all have read the old ones."""
    read = {n.id[2:] for m in lowered.messages for n in ast.walk(m.source) if isinstance(n, ast.Name)}
    return bool(read & {name[2:] for name in written(lowered)}) and not lowered.in_place


@fact
def immediate(lowered: Lowered) -> bool:
    """Whether push updates a vertex with its first message: any will do, and nothing reads its new values."""
    return lowered.only_any and not delays(lowered)


@fact
def claims(lowered: Lowered) -> str:
    """The field by which a push claims a vertex, so that it needs no stamp; "" if there is none.

    It is negative while the vertex wants messages, and ``af.any(u.number)`` makes it positive for good.
    """
    wants, targets = lowered.functions.get("wants"), list(lowered.reductions)
    if wants is None or not immediate(lowered) or len(targets) != 1 or results(lowered, "init"):
        return ""
    (target,) = targets
    if target in lowered.functions["update"].writes:
        return ""
    text = ast.unparse(ast.Module([*wants.body, *lowered.edge], []))
    pattern = f"return v_{target} < 0\nreduce_any(v_{target}, u_number)"
    return target if text == pattern else ""


@fact
def buffers(lowered: Lowered) -> list[str]:
    """The fields with a second array: accumulators, and what pull buffers."""
    if lowered.ordered or immediate(lowered):
        return []
    names = set(lowered.reductions)
    if delays(lowered):
        names |= {name[2:] for name in written(lowered)}
    return sorted(names)


@fact
def precomputed(lowered: Lowered) -> list[Message]:
    """The messages that pull computes once for each vertex of the frontier; a plain field is read in place."""
    return [message for message in lowered.messages if message.field is None and not lowered.ordered]


def extra(lowered: Lowered) -> list[str]:
    """The names of the kernel's arrays besides the fields."""
    return [*(f"a_{name}" for name in buffers(lowered)), *(f"s_{m.name}" for m in precomputed(lowered))]


def reset_from_init(lowered: Lowered) -> list[str]:
    """Statements that set the accumulators to what init returns for v's current fields."""
    if not buffers(lowered):
        return []
    init = results(lowered, "init")
    from_init = [name for name in sorted(lowered.reductions) if f"v_{name}" in init]
    lines = []
    if from_init:
        lines += bound(lowered, [n for n in arguments(lowered, "init") if n[:2] in ("o_", "v_")], "v") + init_call(
            lowered
        )
    for name in sorted(lowered.reductions):
        value = f"v_{name}" if name in from_init else load(lowered, name, f"f_{name}", "v")
        lines.append(keep(lowered, name, f"a_{name}", "v", value))
    return lines


@fact
def direct(lowered: Lowered) -> bool:
    """Whether a pull can leave the next frontier as a bitmap: it applies at once and computes no messages."""
    return not delays(lowered) and not precomputed(lowered)


def beamer(lowered: Lowered) -> bool:
    """Whether vertices stop wanting messages, so that a pull ends early and Beamer's rule holds."""
    return "wants" in lowered.functions
