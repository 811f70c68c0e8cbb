"""What ranks reduce at the end of a superstep, so that all have the same counts and take the same decision."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.dense import CHUNK
from arcflux.compile.cpu.parts import TALLIED_RESIDUAL, in_one_order
from arcflux.compile.lower import Measure
from arcflux.engine.part_worker import PartWorker
from arcflux.engine.totals import reduced

__all__ = ["Agreement", "agree"]

Array = NDArray[Any]

# The counts, one number each: changed, edges, residual, senders, whether to stop, bytes of values, other bytes, whether
# a loop of the program was interrupted. After them: float sums, the seconds of each rank, and new bounds, if any, the
# last of which is the number of vertices.
_COUNTED = 8


class Agreement(NamedTuple):
    """Counts and decisions over all ranks.

    changed: vertices that changed; senders, edges: vertices that will send, and their edges; residual: of all vertices;
    totals: by name, those that this superstep contributes to; stopped: whether the run is to end; torn: whether a loop
    of the program was interrupted, so that the superstep must be undone; values, besides: bytes of vertex values and
    other bytes that crossed between nodes; part_seconds: the time of each part; bounds: new bounds of the parts, None
    if they stay.
    """

    changed: int
    senders: int
    edges: int
    residual: float
    totals: dict[str, Any]
    stopped: bool
    torn: bool
    values: int
    besides: int
    part_seconds: tuple[float, ...]
    bounds: Array | None


def agree(
    worker: PartWorker, function: str, seconds: float, crossed: tuple[int, int], bounds: Array | None
) -> Agreement:
    """Reduce the counts of all ranks: seconds, bytes, and the bounds that rank 0 computed. Collective.

    `function` is the vertex function that was run and that contributes to totals: start or update.
    """
    transport, state, lowered = worker.transport, worker.state, worker.lowered
    size = transport.size
    totals = lowered.totals_of(function)
    own = _reduced_here(worker, totals)
    added = {name: value for name, value in own.items() if _adds(lowered.totals[name])}
    float_sums = np.concatenate([np.zeros(0), *(np.atleast_1d(value) for value in added.values())])
    mine = np.zeros(_COUNTED + len(float_sums) + 2 * size + 1)
    mine[:3] = state.tally[:, :3].sum(axis=0)
    mine[3] = state.counts[1] - state.counts[2]
    mine[4:_COUNTED] = worker.watch.over(), *crossed, worker.watch.torn
    timed = _COUNTED + len(float_sums)
    mine[_COUNTED:timed] = float_sums
    mine[timed + transport.rank] = seconds
    if bounds is not None:
        mine[timed + size :] = bounds
    total = transport.reduce(mine, "sum")
    totals_by_name = {**_split(added, total[_COUNTED:timed]), **_gathered(worker, own, added.keys())}
    totals_by_name |= {
        each.name: _in_order(worker, state.each[each.name]) for each in totals if in_one_order(lowered, each)
    }
    return Agreement(
        changed=int(total[0]), senders=int(total[3]), edges=int(total[1]), residual=_residual(worker, float(total[2])),
        totals=totals_by_name, stopped=bool(total[4] > 0), torn=bool(total[7] > 0),
        values=int(total[5]), besides=int(total[6]),
        part_seconds=tuple(total[timed : timed + size].tolist()),
        bounds=total[timed + size :].astype(np.int64) if total[-1] > 0 else None,
    )  # fmt: skip


def _reduced_here(worker: PartWorker, totals: list[Measure]) -> dict[str, Array]:
    """The totals that the threads of this rank reduced, except those that must be reduced in one order."""
    lowered, sums = worker.lowered, worker.state.totals.sums
    some = [each for each in totals if not in_one_order(lowered, each)]
    worker.calls.fetch(worker.state.tally, worker.state.counts, *(sums[each.name] for each in some))
    return {each.name: np.asarray(reduced(each, sums[each.name])) for each in some}


def _adds(measure: Measure) -> bool:
    """Whether a total is reduced together with the counts: a sum of floats."""
    return measure.operation == "sum" and measure.dtype.kind == "f"


def _split(added: dict[str, Array], numbers: Array) -> dict[str, Any]:
    """The float sums by name, out of the vector of counts."""
    sums, place = {}, 0
    for name, value in added.items():
        sums[name] = numbers[place : place + value.size].reshape(value.shape)[()]
        place += value.size
    return sums


def _gathered(worker: PartWorker, own: dict[str, Array], added: Any) -> dict[str, Any]:
    """The other totals, which every rank reduces in rank order. Collective, if there are any."""
    others = {name: value for name, value in own.items() if name not in added}
    if not others:
        return {}
    packed = np.concatenate([np.atleast_1d(value).view(np.uint8) for value in others.values()])
    ranks, reduced_totals, place = np.stack(worker.transport.gather(packed)), {}, 0
    for name, value in others.items():
        values = np.ascontiguousarray(ranks[:, place : place + value.nbytes]).view(value.dtype)
        reduced_totals[name] = reduced(worker.lowered.totals[name], values.reshape(len(ranks), *value.shape))
        place += value.nbytes
    return reduced_totals


def _residual(worker: PartWorker, added: float) -> float:
    """The residual of all vertices: the reduced sum, a sum in one order, or the maximum. Collective."""
    lowered, state = worker.lowered, worker.state
    if "residual" in lowered.functions and lowered.program.norm == "max":
        largest = state.tally[:, TALLIED_RESIDUAL].max(keepdims=True)
        return float(worker.transport.reduce(largest, "max")[0])
    if lowered.deterministic and "residual" in lowered.functions:
        return float(_in_order(worker, state.residuals))
    return added


def _in_order(worker: PartWorker, brought: Array) -> Any:
    """The sum of the contributions of all vertices, in the order in which one process would add them. Collective."""
    transport, everywhere = worker.transport, brought
    if brought.ndim > 1 or transport.size > 1:
        worker.calls.fetch(brought)
        transport.node_barrier()
    if brought.ndim > 1:
        return np.array([_in_order(worker, column) for column in np.ascontiguousarray(brought.T)])
    if transport.nodes > 1:
        pieces = transport.gather(brought[worker.own.mine])
        everywhere = np.zeros_like(brought)
        for rank, piece in enumerate(pieces):
            everywhere[worker.own.parts.owned(rank)] = piece
    total = np.zeros(1)
    worker.calls.alone("residual", everywhere, CHUNK, total)
    transport.node_barrier()
    return float(total[0])
