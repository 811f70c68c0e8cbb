"""The dense pull of a graph with long runs of vertices whose in-neighbours stand at the same distances (graph/runs.py).

A worker takes a chunk of vertices. For each in-edge of a run it adds up a whole stretch of messages, which stand side
by side, into accumulators that stay in the nearest cache; LLVM makes vector instructions of that. Every vertex meets
its messages in the order of its in-edges, and accumulators are as wide as registers, so the bits are the plain pull's.
"""

from __future__ import annotations

from arcflux.compile.dense import AROUND, CHUNK, accumulators, loaded, messages, piece_of, sends, sums_kept, swept
from arcflux.compile.edges import edge_call, settled, taken
from arcflux.compile.lower import Lowered, Measure
from arcflux.compile.measures import none_yet
from arcflux.compile.source import (
    edge_reads,
    inited,
    inside,
    kept,
    measured,
    measured_value,
    received,
    shared,
    updated,
    written,
)

__all__ = ["added_later", "even", "evenly"]

# So many numbers are added at once.
_SUMS = 8


def evenly(lowered: Lowered) -> bool:
    """Whether a program can be swept by runs: its edges differ in their messages alone, which are numbers."""
    lengths = [*(m.length for m in lowered.messages), *(lowered.fields[name][1] for name in lowered.reductions)]
    same = all(name[0] in "gpm" or name == "step" for name in edge_reads(lowered))
    plain = "wants" not in lowered.functions and not taken(lowered) and not lowered.in_place
    return same and plain and bool(lowered.messages) and not any(lengths)


def even(lowered: Lowered) -> str:
    """The kernel."""
    arrays = ["in_offsets", "neighbours", "out_offsets", *messages(lowered), *shared(lowered)]
    rows = [f"b_{name} = a_{name}[worker]" for name in sorted(lowered.reductions)]
    own = (*rows, "measured_of = measured[worker]")
    given = ["runs", "run_of", "measured", *accumulators(lowered), *arrays]
    return swept(lowered, "even", given, _chunk(lowered), own)


def _chunk(lowered: Lowered) -> list[str]:
    """Statements that take the vertices from `few` on through a superstep: empty, run by run, update."""
    names = sorted(lowered.reductions)
    first = [*loaded(lowered, ("init",), reduced=True), *inited(lowered), *(f"b_{x}[v - few] = v_{x}" for x in names)]
    others = [*loaded(lowered, AROUND, reduced=True), *inited(lowered)]
    last = [*others, *(f"v_{x} = b_{x}[v - few]" for x in names), *settled(lowered)]
    last += [*updated(lowered), *kept(lowered, written(lowered)), "changed += np.int64(moved)"]
    later = added_later(lowered)
    last += [f"measured_of[{_place(k)}v - few] = {measured_value(lowered, each)}" for k, each in enumerate(later)]
    at_once = [each for each in lowered.measures if each not in later]
    last += measured(lowered, at_once)
    lines = [f"end = min(few + np.uint64({CHUNK}), n)", "for v in range(few, end):", *inside(first)]
    lines += [f"at, run = few, run_of[few // np.uint64({CHUNK})]", "while at < end:", *inside(_run(lowered))]
    lines += [*none_yet(at_once), "for v in range(few, end):", *inside([*last, *sends(lowered, "other")])]
    lines += [line for k, each in enumerate(later) for line in _added_up(lowered, each, k)]
    return lines + sums_kept(lowered.measures, piece_of("few"))


def added_later(lowered: Lowered) -> list[Measure]:
    """The sums of floats, which take their time: what each vertex brings is kept until all of a chunk are updated."""
    return [each for each in lowered.measures if not each.exact and each.length is None]


def _place(k: int) -> str:
    """What comes before the place of what a vertex brings: one measure after the other, a chunk of each."""
    return f"np.uint64({k * CHUNK}) + " if k else ""


def _added_up(lowered: Lowered, measure: Measure, number: int) -> list[str]:
    """Statements that add up what was measured in a chunk, after all else: one by one, each would wait for the last.

    Where bits have to be those of the plain pull, they are added in its order; else in eight sums side by side.
    """
    first, running = _place(number), measure.running
    lines = [f"{running}, w = 0.0, np.uint64(0)"]
    if not lowered.deterministic:
        sums = [f"sum_{k}" for k in range(_SUMS)]
        lines += [f"{' = '.join(sums)} = 0.0", f"while w + np.uint64({_SUMS}) <= end - few:"]
        lines += [f"    {each} += measured_of[{first}w + np.uint64({k})]" for k, each in enumerate(sums)]
        lines += [f"    w += np.uint64({_SUMS})", f"{running} = {' + '.join(sums)}"]
    return [*lines, "while w < end - few:", f"    {running} += measured_of[{first}w]", "    w += one"]


def _run(lowered: Lowered) -> list[str]:
    """Statements that take all messages of the run from `at` on: those of the same in-edge, vertex after vertex."""
    names = sorted(lowered.reductions)
    one = [*(received(message, "shift + w") for message in lowered.messages), *(f"v_{x} = b_{x}[w]" for x in names)]
    one += [edge_call(lowered), *(f"b_{x}[w] = v_{x}" for x in names)]
    edge = ["shift = base + np.uint64(neighbours[i]) + few - at"]
    edge += ["for w in range(at - few, until - few):", *inside(one)]
    lines = ["run += one", "until = min(runs[run], end)", "for i in range(in_offsets[at], in_offsets[at + one]):"]
    return [*lines, *inside(edge), "at = until"]
