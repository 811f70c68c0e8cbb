"""What ranks add up at the end of a superstep, so that all know the same and decide alike."""

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

# What is added up: changed, edges, residual, senders, whether to stop, bytes of values and of all else, whether a loop
# of the program was left; then sums of floats, the seconds of each rank, and new bounds, of which the last is the
# number of vertices, if there are any.
_COUNTED = 8


class Agreement(NamedTuple):
    """What is true of all ranks together.

    changed: vertices that changed; senders, edges: those that will send, and along how many edges; residual: of all
    vertices; totals: by name, of those that the superstep contributes to; stopped: whether the run is to end; torn:
    whether a loop of the program was left, so that the superstep has to be undone; values, besides: bytes that crossed
    between nodes; part_seconds: how long each part took; bounds: where parts begin from now on, None where they begin
    now.
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
    """Add up what all ranks have counted: seconds, bytes, and the bounds that the first has found. Collective.

    `function` is the one that was called for vertices, and contributes to totals: start or update.
    """
    transport, state, lowered = worker.transport, worker.state, worker.lowered
    size = transport.size
    totals = lowered.totals_of(function)
    own = _reduced_here(worker, totals)
    added = {name: value for name, value in own.items() if _adds(lowered.totals[name])}
    riding = np.concatenate([np.zeros(0), *(np.atleast_1d(value) for value in added.values())])
    mine = np.zeros(_COUNTED + len(riding) + 2 * size + 1)
    mine[:3] = state.tally[:, :3].sum(axis=0)
    mine[3] = state.counts[1] - state.counts[2]
    mine[4:_COUNTED] = worker.watch.over(), *crossed, worker.watch.torn
    timed = _COUNTED + len(riding)
    mine[_COUNTED:timed] = riding
    mine[timed + transport.rank] = seconds
    if bounds is not None:
        mine[timed + size :] = bounds
    total = transport.reduce(mine, "sum")
    known = {**_split(added, total[_COUNTED:timed]), **_gathered(worker, own, added.keys())}
    known |= {each.name: _in_order(worker, state.each[each.name]) for each in totals if in_one_order(lowered, each)}
    return Agreement(
        changed=int(total[0]), senders=int(total[3]), edges=int(total[1]), residual=_residual(worker, float(total[2])),
        totals=known, stopped=bool(total[4] > 0), torn=bool(total[7] > 0), values=int(total[5]), besides=int(total[6]),
        part_seconds=tuple(total[timed : timed + size].tolist()),
        bounds=total[timed + size :].astype(np.int64) if total[-1] > 0 else None,
    )  # fmt: skip


def _reduced_here(worker: PartWorker, totals: list[Measure]) -> dict[str, Array]:
    """What the threads of this rank have reduced for totals, but for those that have to be in one order."""
    lowered, sums = worker.lowered, worker.state.totals.sums
    some = [each for each in totals if not in_one_order(lowered, each)]
    worker.calls.fetch(worker.state.tally, worker.state.counts, *(sums[each.name] for each in some))
    return {each.name: np.asarray(reduced(each, sums[each.name])) for each in some}


def _adds(measure: Measure) -> bool:
    """Whether a total goes along with what is added up anyway: a sum of floats."""
    return measure.operation == "sum" and measure.dtype.kind == "f"


def _split(added: dict[str, Array], numbers: Array) -> dict[str, Any]:
    """Sums of floats by name, of numbers in a row."""
    known, place = {}, 0
    for name, value in added.items():
        known[name] = numbers[place : place + value.size].reshape(value.shape)[()]
        place += value.size
    return known


def _gathered(worker: PartWorker, own: dict[str, Array], added: Any) -> dict[str, Any]:
    """The other totals, which every rank reduces in the order of the ranks. Collective, if there are any."""
    others = {name: value for name, value in own.items() if name not in added}
    if not others:
        return {}
    packed = np.concatenate([np.atleast_1d(value).view(np.uint8) for value in others.values()])
    ranks, known, place = np.stack(worker.transport.gather(packed)), {}, 0
    for name, value in others.items():
        values = np.ascontiguousarray(ranks[:, place : place + value.nbytes]).view(value.dtype)
        known[name] = reduced(worker.lowered.totals[name], values.reshape(len(ranks), *value.shape))
        place += value.nbytes
    return known


def _residual(worker: PartWorker, added: float) -> float:
    """The residual of all vertices: what was added up, or in one order, or the maximum. Collective."""
    lowered, state = worker.lowered, worker.state
    if "residual" in lowered.functions and lowered.program.norm == "max":
        largest = state.tally[:, TALLIED_RESIDUAL].max(keepdims=True)
        return float(worker.transport.reduce(largest, "max")[0])
    if lowered.deterministic and "residual" in lowered.functions:
        return float(_in_order(worker, state.residuals))
    return added


def _in_order(worker: PartWorker, brought: Array) -> Any:
    """The sum of what each vertex brings, in the order in which one process adds it up. Collective."""
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
