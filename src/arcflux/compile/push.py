"""The kernel that pushes when every vertex sends: three passes over the vertices, with a barrier between them.

The accumulators get what init gives; every u computes its messages once and reduces them into the accumulators of its
out-neighbours, atomically; every vertex is updated from its accumulators. Fields change in the last pass alone, so
``old`` and what u sends are what they were when the superstep began. Sums of floats depend on the order in which they
arrive: two runs agree to rounding, not to the bit.
"""

from __future__ import annotations

from arcflux.compile.edges import push_edge, push_reads
from arcflux.compile.lower import Lowered
from arcflux.compile.source import (
    accumulated,
    arguments,
    bound,
    call,
    claimed,
    edge_reads,
    inited,
    inside,
    keep,
    kept,
    made,
    measured,
    results,
    shared,
    updated,
    written,
)

__all__ = ["dense_end", "dense_push", "if_wanted", "loaded"]


def dense_push(lowered: Lowered) -> str:
    """The inner function and the kernel."""
    columns = [f"c_{column}" for column in lowered.columns]
    accumulators = [f"a_{name}" for name in sorted(lowered.reductions)]
    given = ", ".join(["in_offsets", "out_offsets", "neighbours", *columns, *accumulators, *shared(lowered)])
    passes = [
        *claimed("counters, turn * 8", "CHUNK", "v", "n", if_wanted(lowered, _emptied(lowered))),
        "wait(barrier, workers)",
        *claimed("counters, turn * 8 + 24", 256, "u", "n", _pushed(lowered)),
        "wait(barrier, workers)",
        *claimed("counters, turn * 8 + 48", "CHUNK", "v", "n", if_wanted(lowered, _finished(lowered))),
    ]
    lines = "\n".join(inside(passes, 2))
    return f"""{push_edge(lowered)}

@kernel
def dense_push(worker, workers, control, barrier, counters, slots, sums, history, first, last, tolerance, {given}):
    one = np.uint64(1)
    n = np.uint64(in_offsets.size) - one
    for step in range(first, last):
        begun = ticks()
        turn = step % 3
        changed = 0
        residual_sum = 0.0
{lines}
{dense_end("push")}"""


def _emptied(lowered: Lowered) -> list[str]:
    """Statements that give v's accumulators what init gives."""
    lines = loaded(lowered, ("init",), reduced=True) + inited(lowered)
    return lines + [keep(lowered, name, f"a_{name}", "v", f"v_{name}") for name in sorted(lowered.reductions)]


def _pushed(lowered: Lowered) -> list[str]:
    """Statements that reduce u's messages into its out-neighbours."""
    lines = ["v = np.uint64(neighbours[i])"]
    lines += [f"e_{column} = c_{column}[i]" for column in lowered.columns]
    lines += bound(lowered, [n for n in edge_reads(lowered) if n.startswith("o_")], "v")
    lines.append(f"push_edge({', '.join(push_reads(lowered))})")
    return [*made(lowered, lowered.messages), "for i in range(out_offsets[u], out_offsets[u + one]):", *inside(lines)]


def _finished(lowered: Lowered) -> list[str]:
    """Statements that update v from its accumulators; init says again what it gave the other fields."""
    others = set(results(lowered, "init")) - {f"v_{name}" for name in lowered.reductions}
    functions = ("init", "update", "residual") if others else ("update", "residual")
    lines = loaded(lowered, functions, reduced=True)
    lines += (inited(lowered) if others else []) + accumulated(lowered)
    lines += updated(lowered) + kept(lowered, written(lowered))
    return [*lines, "changed += np.int64(moved)", *measured(lowered)]


# --- what both dense kernels have


def loaded(lowered: Lowered, functions: tuple[str, ...], *, edge: bool = False, reduced: bool = False) -> list[str]:
    """Statements that load what functions, and the edge part, know of v: before the superstep (o_) and now (v_)."""
    names = {n for f in functions if f in lowered.functions for n in arguments(lowered, f)}
    names |= {n for n in edge_reads(lowered) if edge and n.startswith("o_")}
    names |= set(written(lowered)) if edge or reduced else set()
    return bound(lowered, sorted(n for n in names if n[:2] in ("o_", "v_")), "v")


def if_wanted(lowered: Lowered, body: list[str]) -> list[str]:
    """Statements for a vertex that takes messages."""
    if "wants" not in lowered.functions:
        return body
    return [*loaded(lowered, ("wants",)), f"if {call(lowered, 'wants')}:", *inside(body)]


def dense_end(way: str) -> str:
    """The end of a superstep.

    Every worker adds up what all of them wrote before the barrier, so all decide alike whether to go on. The slots have
    two halves and the counters three turns, so that no worker writes what a slower one still reads.
    """
    return _END.replace("WAY", {"push": "1", "pull": "2"}[way])


_END = """\
        half = (step & 1) * workers
        slots[half + worker, 0] = changed
        sums[half + worker, 0] = residual_sum
        if worker == 0:
            for k in range(3):
                counters[(step + 1) % 3 * 8 + 24 * k] = 0
            control[8 + (step & 1)] = control[1]
        wait(barrier, workers)
        total_changed = 0
        total_sum = 0.0
        for w in range(workers):
            total_changed += slots[half + w, 0]
            total_sum += sums[half + w, 0]
        if worker == 0:
            history[step - first, 0] = total_changed
            history[step - first, 1] = total_sum
            history[step - first, 2] = np.float64(ticks() - begun)
            history[step - first, 3] = WAY
            control[2] = step + 1
        if total_changed == 0 or total_sum < tolerance or control[8 + (step & 1)]:
            break
"""
