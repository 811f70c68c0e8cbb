"""Messages in plain Python: compute along every in-edge of a vertex, and the choice among several `any` and `first`."""

from __future__ import annotations

from typing import Any

from arcflux.compile.python.vertex import Vertex

__all__ = ["gather"]


def gather(run: Any, v: int, new: Vertex, old: Vertex, senders: set[int]) -> bool:
    """Call compute along every in-edge from a sender; of several `any` the smallest wins, of `first` the first."""
    received = False
    fields: set[str] = set()
    best: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for k, (u, edge) in enumerate(zip(run.into[v], run.edges[v], strict=True)):
        if u not in senders:
            continue
        sender, seen = run.view(u, run.states), edge
        if run.lowered.edge_state is not None:
            place, columns = run.first_places[v] + k, edge.__dict__
            seen = run.edge_state.crossed(run, place, columns, sender, old)
        before = dict(new._fields) if run.one_of or run.senders_of else {}
        new._assigned.clear()
        run.call("compute", v=new, u=sender, edge=seen, old=old)
        if before:
            _choose(run, u, new, before, fields, best)
        received = True
    return received


def _choose(
    run: Any, u: int, new: Vertex, before: dict[str, Any], taken: set[str],
    best: dict[tuple[str, ...], tuple[Any, ...]],
) -> None:  # fmt: skip
    """Choose among the assignments of several senders: the smallest (`any`), or that of the first or last sender."""
    for name in new._assigned.intersection(run.one_of):
        if name in taken:
            setattr(new, name, min(before[name], new._fields[name]))
        taken.add(name)
    for group, how in run.senders_of.items():
        if not new._assigned.intersection(group):
            continue
        came = (u, *(new._fields[name] for name in group[1:]))
        if group not in best or (came < best[group] if how == "least" else came > best[group]):
            best[group] = came
        else:
            for name in group[1:]:
                setattr(new, name, before[name])
