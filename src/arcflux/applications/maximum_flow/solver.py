"""The state of a flow on a worker, and push-relabel on one core: every node solves it alone, without messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.maximum_flow.network import Network
from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker

__all__ = ["Solver"]

Array = NDArray[Any]
# Labels are recomputed after so much work per vertex and arc.
_VERTEX, _ARC = 6.0, 1.0
# The limit of the total excess of all vertices.
_FULL = 1 << 62


class Solver:
    """Residual capacities, labels, and excess; `rounds` counts discharges."""

    def __init__(self, worker: Worker, network: Network) -> None:
        self.kernels = worker.kernels("arcflux.applications.maximum_flow")
        self.worker, self.cores, self.network, self.n = worker, worker.cores, network, network.size
        self.left = self._filled(len(network.heads), np.int64, network.capacity)
        self.excess, self.added = self._filled(self.n, np.int64, 0), self._filled(self.n, np.int64, 0)
        self.ends = worker.cores.host(2, np.int64)
        self.kind = np.int32 if network.size < 1 << 30 else np.int64
        self.rounds, self.traffic = 0, Traffic(worker)
        self.enough = int(_VERTEX * self.n + _ARC * len(network.heads))
        self._prepare()

    def _prepare(self) -> None:
        n, host = self.n, self.cores.host
        self.label, self.current, self.queue = host(n, self.kind), host(n, np.uint64), host(n, self.kind)
        self.first, self.link = (host(2 * n, self.kind).reshape(2, n) for _ in range(2))

    def _filled(self, size: int, dtype: Any, values: Any) -> Array:
        there = self.cores.host(size, dtype)
        self.cores.publish(values, there)
        return there

    def reset(self, capacity: Array, excess: Array) -> None:
        """Restart with these capacities, and this excess; nothing has arrived."""
        self.cores.publish(capacity, self.left)
        self.cores.publish(excess, self.excess)
        self.cores.publish(0, self.added)

    def saturate(self, source: int, sink: int) -> int:
        """Saturate the arcs of the source; flow to the sink has arrived. Returns the vertices to leave out of flows.

        If a vertex could overflow by that, the source has more excess than any finite flow, and pushes like others.
        """
        made = self.network
        arcs = np.arange(int(made.offsets[source]), int(made.offsets[source + 1]))
        amounts, ends = made.capacity[arcs], made.heads[arcs]
        overflows = sum(amounts.tolist()) > _FULL
        self.cores.together()
        if self.cores.leads and overflows:
            self.excess[source] = made.bound + 1
        elif self.cores.leads:
            self.left[made.reverse[arcs]] += amounts
            self.left[arcs] = 0
            np.add.at(self.excess, ends, amounts)
            self.added[sink], self.excess[sink] = self.excess[sink], 0
        self.cores.together()
        return sink if overflows else source

    def flow(self, without: int, sink: int) -> None:
        """Push all excess that can reach the sink; `without` is left out. Labels are exact at the end."""
        from arcflux.applications.maximum_flow.highest import push_relabel

        self.cores.publish([without, sink], self.ends)
        made, count = self.network, self.cores.small(1)
        self.cores.launch(
            push_relabel, 1, np.int64(self.enough), made.offsets, made.heads, made.reverse, self.left, self.excess,
            self.added, self.ends, self.label, self.current, self.first, self.link, self.queue, count,
        )  # fmt: skip
        self.cores.together()
        self.rounds += int(count[0])

    def reaches(self) -> Array:
        """Which vertices can still push to the sink of the last flow."""
        return np.asarray(self.label < self.n)

    def arrived(self, sink: int) -> int:
        """How much has reached the sink."""
        return int(self.added[sink])

    def rows_left(self) -> Array:
        """The residual capacity of every arc."""
        return self.left.copy()
