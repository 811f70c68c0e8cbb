"""What ranks add up at the end of a superstep, so that all know the same and decide alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.dense import CHUNK
from arcflux.compile.parts import TALLIED
from arcflux.engine.part_worker import PartWorker

__all__ = ["Agreement", "agree"]

Array = NDArray[Any]

# What is added up: changed, edges, residual, aggregate, senders, whether to stop, bytes of values and of all else,
# whether a loop of the program was left; then the seconds of each rank, and new bounds, of which the last is the number
# of vertices, if there are any.
_COUNTED = 9


class Agreement(NamedTuple):
    """What is true of all ranks together.

    changed: vertices that changed; senders, edges: those that will send, and along how many edges; residual, aggregate:
    sums over vertices; stopped: whether the run is to end; torn: whether a loop of the program was left, so that the
    superstep has to be undone; values, besides: bytes that crossed between nodes; part_seconds: how long each part
    took; bounds: where parts begin from now on, None where they begin now.
    """

    changed: int
    senders: int
    edges: int
    residual: float
    aggregate: float
    stopped: bool
    torn: bool
    values: int
    besides: int
    part_seconds: tuple[float, ...]
    bounds: Array | None


def agree(worker: PartWorker, seconds: float, crossed: tuple[int, int], bounds: Array | None) -> Agreement:
    """Add up what all ranks have counted: seconds, bytes, and the bounds that the first has found. Collective."""
    transport, state, lowered = worker.transport, worker.state, worker.lowered
    size = transport.size
    worker.calls.fetch(state.tally, state.counts)
    mine = np.zeros(_COUNTED + 2 * size + 1)
    mine[:4] = state.tally[:, :4].sum(axis=0)
    mine[4] = state.counts[1] - state.counts[2]
    mine[5:_COUNTED] = worker.watch.over(), *crossed, worker.watch.torn
    mine[_COUNTED + transport.rank] = seconds
    if bounds is not None:
        mine[_COUNTED + size :] = bounds
    total = transport.reduce(mine, "sum")
    sums = {name: float(total[place]) for name, place in TALLIED.items()}
    if lowered.deterministic:
        sums |= {name: _ordered_sum(worker, k) for k, name in enumerate(lowered.measures)}
    return Agreement(
        changed=int(total[0]), senders=int(total[4]), edges=int(total[1]), residual=sums["residual"],
        aggregate=sums["aggregate"], stopped=bool(total[5] > 0), torn=bool(total[8] > 0), values=int(total[6]),
        besides=int(total[7]), part_seconds=tuple(total[_COUNTED : _COUNTED + size].tolist()),
        bounds=total[_COUNTED + size :].astype(np.int64) if total[-1] > 0 else None,
    )  # fmt: skip


def _ordered_sum(worker: PartWorker, k: int) -> float:
    """The sum of what is measured `k`-th of each vertex, in the order in which one process adds it up."""
    n, transport, residuals = worker.graph.vertices, worker.transport, worker.state.residuals
    everywhere = residuals[k * n : (k + 1) * n]
    if transport.nodes > 1:
        worker.calls.fetch(residuals)
        pieces = transport.gather(everywhere[worker.own.mine])
        everywhere = np.zeros_like(everywhere)
        for rank, piece in enumerate(pieces):
            everywhere[worker.own.parts.owned(rank)] = piece
    total = np.zeros(1)
    worker.calls.alone("residual", everywhere, CHUNK, total)
    transport.node_barrier()
    return float(total[0])
