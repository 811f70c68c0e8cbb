"""The promises of a program, checked in plain Python: sparse, monotone, priority, and wants with a priority."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.compile.python.vertex import Vertex

__all__ = ["check_order", "check_same_end", "check_settled", "check_sparse", "check_wants"]

# How many tolerances a correct superstep may move the end of a run with fresher values, and the residual that counts as
# noise.
_SETTLED = 10
_ROUNDING = 1e-9


def check_same_end(run: Any, fresh: Any) -> None:
    """Check that a run with fresher values came to the same end."""
    for name, (dtype, length) in run.lowered.fields.items():
        ours, theirs = ([state[name] if length is None else list(state[name]) for state in each.states]
                        for each in (run, fresh))  # fmt: skip
        a, b = np.array(ours, dtype), np.array(theirs, dtype)
        near = np.isclose(a, b, rtol=1e-6, atol=0, equal_nan=True) if dtype.kind == "f" else a == b
        apart = np.flatnonzero(~near.all(axis=tuple(range(1, near.ndim))))
        if len(apart):
            v = int(apart[0])
            problem = f"with fresher values of u, {name} of vertex {run.said(v)} becomes {theirs[v]}, not {ours[v]}"
            raise run.broken("monotone", problem, "leave monotone out, or reduce by min, max, |= or &= alone")


def check_settled(fresh: Any) -> None:
    """Check that the end of a run with fresher values is stable: another regular superstep hardly moves it.

    Runs that stop below a tolerance end in different states, so those are not compared.
    """
    fresh.fresh = False
    fresh.active = set(range(fresh.graph.vertices))
    _, residual = fresh.superstep()
    if not residual <= _SETTLED * max(fresh.p.__dict__.get("tolerance", 0.0), _ROUNDING):
        problem = f"after the end of a run with fresher values, one superstep more still has a residual of {residual}"
        raise fresh.broken("monotone", problem, "leave monotone out")


def check_sparse(run: Any, v: int, new: Vertex, old: Vertex, moved: bool, received: bool) -> None:
    """Check that a vertex without messages does not change, except for what init sets before every superstep.

    A vertex whose messages have no effect (none is better, or compute skips all of them) counts as one without.
    """
    promise = "sparse" if "sparse" in run.lowered.program.promises else "priority"
    if promise == "priority" and not run.lowered.ordered:
        return
    init = run.lowered.functions.get("init")
    fields = set(run.lowered.fields) - (init.writes if init else set())
    wrong = sorted(name for name in fields if new._fields[name] != old._fields[name])
    if moved or wrong:
        change = f"changes {wrong[0]}" if wrong else "sends"
        why = "by messages that changed nothing" if received else "without a message"
        what = f"vertex {run.said(v)} {change} {why}"
        remedy = "let update see whether a message came, and return False when none did; or leave sparse out"
        raise run.broken(promise, f"{what}, in superstep {run.step}", remedy)


def check_order(run: Any, first: list[dict[str, Any]]) -> None:
    """Check that processing by priority ends like supersteps: the last messages of neighbours must explain every value.

    By priority a vertex may send only its last value. `first`: the states after start. If a better value sends a worse
    message, some vertex has received here what it would not receive there.
    """
    end, run.states = run.states, first
    run.seen = {u: Vertex(run, u, run.sent[u]) for u in run.senders}
    for v in range(run.graph.vertices):
        if "wants" in run.lowered.functions and v not in run.wanted:
            continue
        new, *_ = run.computed(v, Vertex(run, v, first[v]), run.senders)
        for name in sorted(run.lowered.reductions):
            if new._fields[name] != end[v][name]:
                found, kept = new._fields[name], end[v][name]
                problem = f"{name} of vertex {run.said(v)} is {kept}, and {found} by what its neighbours sent last"
                remedy = "let a better value of u never send a worse message, or leave priority out"
                raise run.broken("priority", problem, remedy)
    run.states = end


def check_wants(run: Any, v: int, new: Vertex, old: Vertex, wants: bool) -> None:
    """With a priority, messages that a vertex no longer wants must not change it, or the order would show.

    That is a message after it has stopped wanting any; or, since it may stop with each, all others that reach it in the
    same superstep. A vertex that never wanted any is the same in every order.
    """
    remedy = "return False only when no message can change v any more, or leave priority out"
    if not wants:
        refuse_change(run, v, old, new, "wants no more messages, but one", remedy)
        return
    run.wanted.add(v)
    for u in run.active.intersection(run.into[v]):
        alone, *_ = run.computed(v, old, {u})
        if not run.call("wants", v=alone):
            problem = f"wants no more messages after that of vertex {run.said(u)}, but another"
            refuse_change(run, v, alone, new, problem, remedy)


def refuse_change(run: Any, v: int, kept: Vertex, changed: Vertex, said: str, remedy: str) -> None:
    """Refuse what unwanted messages would have changed."""
    for name in sorted(run.lowered.reductions):
        if kept._fields[name] != changed._fields[name]:
            change = f"would make {name} {changed._fields[name]}, not {kept._fields[name]}"
            raise run.broken("wants", f"vertex {run.said(v)} {said} {change}, in superstep {run.step}", remedy)
