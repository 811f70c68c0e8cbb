"""The dense pull of a graph with long runs of vertices whose in-neighbours are at the same distances (graph/runs.py).

A worker claims a chunk of vertices. For each in-edge of a run it adds up a contiguous stretch of messages into
accumulators that stay in the first-level cache; LLVM vectorises that. Every vertex receives its messages in the order
of its in-edges, and accumulators are as wide as registers, so the bits are the plain pull's.
"""

from __future__ import annotations

from arcflux.compile.cpu.dense import AROUND, CHUNK, accumulators, loads, messages, piece_of, sends, sums_kept, swept
from arcflux.compile.lower import Lowered, Measure
from arcflux.compile.pieces.edges import any_flags, edge_call, settled
from arcflux.compile.pieces.measures import combined, imported, in_any_order, none_yet, nothing
from arcflux.compile.pieces.source import (
    edge_reads,
    init_call,
    inside,
    measured,
    measured_value,
    received,
    shared,
    stores,
    updated,
    written,
)

__all__ = ["STRIP", "added_later", "even", "evenly"]

# So many partial sums are reduced in parallel.
_LANES = 8
# So many vertices are updated before their contributions are reduced: few enough to stay in the first-level cache.
STRIP = 256


def evenly(lowered: Lowered) -> bool:
    """Whether a program can run by runs: its edges differ only in their messages, which are numbers."""
    lengths = [*(m.length for m in lowered.messages), *(lowered.fields[name][1] for name in lowered.reductions)]
    same = all(name[0] in "gpm" or name == "step" for name in edge_reads(lowered))
    plain = "wants" not in lowered.functions and not any_flags(lowered) and not lowered.in_place
    return same and plain and bool(lowered.messages) and not any(lengths)


def even(lowered: Lowered) -> str:
    """The kernel."""
    arrays = ["in_offsets", "neighbours", "out_offsets", *messages(lowered), *shared(lowered)]
    rows = [f"b_{name} = a_{name}[worker]" for name in sorted(lowered.reductions)]
    own = (*rows, "measured_of = measured[worker]")
    arguments = ["runs", "run_of", "measured", *accumulators(lowered), *arrays]
    return imported(lowered, lowered.measures) + swept(lowered, "even", arguments, _chunk(lowered), own)


def _chunk(lowered: Lowered) -> list[str]:
    """Statements of a superstep for the vertices from `few` on: reset, run by run, update."""
    names = sorted(lowered.reductions)
    first = [*loads(lowered, ("init",), reduced=True), *init_call(lowered), *(f"b_{x}[v - few] = v_{x}" for x in names)]
    others = [*loads(lowered, AROUND, reduced=True), *init_call(lowered)]
    last = [*others, *(f"v_{x} = b_{x}[v - few]" for x in names), *settled(lowered)]
    last += [*updated(lowered), *stores(lowered, written(lowered)), "changed += np.int64(moved)"]
    later = added_later(lowered)
    last += [
        f"measured_of[{_strip_offset(k)}v - near] = {measured_value(lowered, each)}" for k, each in enumerate(later)
    ]
    last += measured(lowered, [each for each in lowered.measures if each not in later], several=True)
    lines = [f"end = min(few + np.uint64({CHUNK}), n)", "for v in range(few, end):", *inside(first)]
    lines += [f"at, run = few, run_of[few // np.uint64({CHUNK})]", "while at < end:", *inside(_run(lowered))]
    strip = [f"far = min(near + np.uint64({STRIP}), end)", "for v in range(near, far):"]
    strip += inside([*last, *sends(lowered, "other")])
    strip += [line for k, each in enumerate(later) for line in _added_up(lowered, each, k)]
    lines += [*none_yet(lowered.measures), f"for near in range(few, end, np.uint64({STRIP})):", *inside(strip)]
    return lines + sums_kept(lowered.measures, piece_of("few"))


def added_later(lowered: Lowered) -> list[Measure]:
    """The slow measures, which are floats: contributions of vertices are stored until a strip is updated."""
    floats = [each for each in lowered.measures if each.dtype.kind == "f" and each.length is None]
    return [each for each in floats if not in_any_order(lowered, each)]


def _strip_offset(k: int) -> str:
    """The offset of a contribution: one measure after the other, a strip of each."""
    return f"np.uint64({k * STRIP}) + " if k else ""


def _added_up(lowered: Lowered, measure: Measure, number: int) -> list[str]:
    """Statements that reduce a strip's contributions at its end: interleaved, each addition would wait.

    Where the bits must be those of the plain pull, they are added in its order; otherwise eight in parallel.
    """
    first, running = _strip_offset(number), measure.running
    lines = ["w = np.uint64(0)"]
    if measure.exact or not lowered.deterministic:
        lanes = [f"lane_{k}" for k in range(_LANES)]
        lines += [f"{' = '.join(lanes)} = {nothing(measure)}", f"while w + np.uint64({_LANES}) <= far - near:"]
        brought = [f"measured_of[{first}w + np.uint64({k})]" for k in range(_LANES)]
        lines += [f"    {each} = {combined(measure, each, value)}" for each, value in zip(lanes, brought, strict=True)]
        lines.append(f"    w += np.uint64({_LANES})")
        lines += [f"{running} = {combined(measure, running, each)}" for each in lanes]
    one = combined(measure, running, f"measured_of[{first}w]")
    return [*lines, "while w < far - near:", f"    {running} = {one}", "    w += one"]


def _run(lowered: Lowered) -> list[str]:
    """Statements that reduce all messages of the run from `at` on: those of the same in-edge, vertex after vertex."""
    names = sorted(lowered.reductions)
    one = [*(received(message, "shift + w") for message in lowered.messages), *(f"v_{x} = b_{x}[w]" for x in names)]
    one += [edge_call(lowered), *(f"b_{x}[w] = v_{x}" for x in names)]
    edge = ["shift = base + np.uint64(neighbours[i]) + few - at"]
    edge += ["for w in range(at - few, until - few):", *inside(one)]
    lines = ["run += one", "until = min(runs[run], end)", "for i in range(in_offsets[at], in_offsets[at + one]):"]
    return [*lines, *inside(edge), "at = until"]
