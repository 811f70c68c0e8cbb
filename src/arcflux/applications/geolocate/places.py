"""Geolocation on a worker: rounds in which unplaced vertices are placed by located neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker

__all__ = ["Asked", "degrees", "unit_vectors", "work"]

Array = NDArray[Any]
# About how often a median reads each neighbour.
_PASSES = 16


@dataclass(frozen=True)
class Asked:
    """The parameters. places: float64[vertices, 2], degrees of latitude and longitude, NaN if unknown."""

    places: Array
    rounds: int | None
    refine: int
    limit: int
    peer: bool


def unit_vectors(places: Array) -> Array:
    """Places in degrees as unit vectors: float64[n, 3]."""
    latitude, longitude = np.radians(places[:, 0]), np.radians(places[:, 1])
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], 1)


def degrees(vectors: Array) -> Array:
    """Unit vectors as places in degrees: float64[n, 2]."""
    latitude = np.arctan2(vectors[:, 2], np.hypot(vectors[:, 0], vectors[:, 1]))
    found: Array = np.degrees(np.stack([latitude, np.arctan2(vectors[:, 1], vectors[:, 0])], 1))
    return found


def work(worker: Worker, asked: Asked) -> tuple[Array, Array, int, Mapping[str, int]]:
    """The places of all vertices, the round in which each was located (-1: never), how many rounds there were."""
    state = _State(worker, asked)
    number, changed = 0, 1
    with worker.task("geolocation", asked.rounds or 0, "rounds") as task:
        while changed and (asked.rounds is None or number < asked.rounds):
            number += 1
            worker.superstep(number)
            changed = state.round(number)
            task.at(number)
        for again in range(asked.refine):
            worker.superstep(number + again + 1)
            state.refine()
    with state.traffic.phase("result"):
        places = worker.gather(state.own_places().reshape(-1)).reshape(-1, 2)
        rounds = worker.gather(state.rounds[state.first : state.last].copy())
    return places, rounds, number - (not changed), state.traffic.total()


class _State:
    """A worker's state: the places of its own vertices, and (explicit) of those that its rows read."""

    def __init__(self, worker: Worker, asked: Asked) -> None:
        graph, cores = worker.graph, worker.cores
        self.worker, self.asked, self.traffic = worker, asked, Traffic(worker)
        self.kernels = worker.kernels(__package__ or "")
        self.cuts, (self.first, self.last) = worker.row_cuts, worker.share_of_rows()
        self.places = asked.places.copy()
        known = ~np.isnan(asked.places[:, 0])
        self.seeds = known.copy()
        self.located, self.vectors = cores.host(graph.vertices, np.bool_), cores.host(3 * graph.vertices, np.float64)
        self.vectors = self.vectors.reshape(-1, 3)
        cores.publish(known, self.located)
        cores.publish(unit_vectors(np.nan_to_num(self.places)), self.vectors)
        self.rounds = np.where(known, 0, -1).astype(np.int64)
        self.waiting = self._own_neighbours(np.flatnonzero(known))
        longest = int(np.diff(graph.out.offsets).max(initial=np.uint64(0)))
        self.scratch = cores.host(cores.workers * max(1, longest) * 3, np.float64).reshape(cores.workers, 3, -1)
        self.room = cores.host(3 * max(1, self.last - self.first), np.float64).reshape(-1, 3)
        if asked.peer:
            self._forget(np.flatnonzero(known))

    def own_places(self) -> Array:
        """The places of a worker's own vertices."""
        return np.ascontiguousarray(self.places[self.first : self.last])

    def round(self, number: int) -> int:
        """Locate unknown vertices with located neighbours; returns how many there were on all workers."""
        active = self.waiting[~self.located[self.waiting]]
        self._place(active)
        self.rounds[active] = number
        came = self._tell(active)
        self.waiting = self._own_neighbours(came)
        return int(self.worker.sum(np.array([len(active)]))[0])

    def refine(self) -> None:
        """Locate again all vertices that were unknown at first, by their neighbours' current places."""
        own = np.arange(self.first, self.last)
        again = own[self.located[own] & ~self.seeds[own]]
        self._place(again)
        self._tell(again)

    def _place(self, chosen: Array) -> None:
        """Place own vertices by their neighbours; others read the old places until all are sent."""
        if self.asked.peer:
            self._fetch(chosen)
        found = self.room[: len(chosen)]
        self.worker.cores.launch(
            self.kernels.locate, 1 + len(chosen) // 16, chosen, *self.worker.graph.out, self.located, self.vectors,
            self.asked.limit, self.scratch, found, visits=_PASSES * self._count_arcs(chosen),
        )  # fmt: skip
        self.worker.cores.together()
        self.places[chosen] = degrees(found)
        self.worker.cores.together()

    def _know(self, vertices: Array, places: Array, located: bool = True) -> None:
        """Write places where the team reads them."""
        self.worker.cores.together()
        if self.worker.cores.leads:
            self.vectors[vertices] = unit_vectors(places)
            self.located[vertices] = located
        self.worker.cores.together()

    def _tell(self, new: Array) -> Array:
        """Send these own vertices to the workers that read them; returns all vertices that were received, and these."""
        self._know(new, self.places[new])
        pairs = self._readers(new)
        word = self.worker.graph.out.neighbours.dtype
        with self.traffic.phase("notices" if self.asked.peer else "places"):
            came = np.concatenate(self.worker.swap([some.astype(word) for some in pairs])).astype(np.int64)
            if not self.asked.peer:
                rows = self.worker.swap([self.places[some].reshape(-1) for some in pairs])
                places = np.concatenate(rows).reshape(-1, 2)
                self._know(came, places)
        return np.concatenate([new, came])

    def _readers(self, new: Array) -> list[Array]:
        """For each worker, which of these vertices its rows read; none for itself."""
        if self.worker.size == 1:
            return [new[:0]]
        source, target = self._arcs(new)
        owner = np.searchsorted(self.cuts, target, side="right") - 1
        pairs = np.unique(np.stack([owner, source], 1), axis=0)
        return [pairs[pairs[:, 0] == k, 1] if k != self.worker.rank else new[:0] for k in range(self.worker.size)]

    def _own_neighbours(self, located: Array) -> Array:
        """Own vertices that are next to these, each once."""
        if len(located) < (self.last - self.first) // 16:
            target = self._arcs(located)[1]
            return np.unique(target[(target >= self.first) & (target < self.last)])
        cores = self.worker.cores
        marked = cores.host(self.last - self.first, np.bool_)
        cores.publish(False, marked)
        given = located, *self.worker.graph.out, np.uint64(self.first), marked
        cores.launch(self.kernels.mark_neighbours, 1 + len(located) // 256, *given, visits=self._count_arcs(located))
        cores.together()
        return self.first + np.flatnonzero(marked)

    def _count_arcs(self, vertices: Array) -> int:
        offsets = self.worker.graph.out.offsets
        return int((offsets[vertices + 1] - offsets[vertices]).sum())

    def _arcs(self, vertices: Array) -> tuple[Array, Array]:
        """The arcs of some rows."""
        offsets, neighbours = self.worker.graph.out
        begins = offsets[vertices].astype(np.int64)
        counts = offsets[vertices + 1].astype(np.int64) - begins
        places = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return np.repeat(vertices, counts), neighbours[places].astype(np.int64)

    # --- peer access: places are read at their owners, for each arc anew

    def _forget(self, known: Array) -> None:
        """A worker has no copies of others' places."""
        others = known[(known < self.first) | (known >= self.last)]
        self._know(others, np.zeros((len(others), 2)), located=False)

    def _fetch(self, chosen: Array) -> None:
        """Read the places of all neighbours of some vertices at their owners, an arc at a time."""
        self._forget(np.flatnonzero(self.located))
        target = self._arcs(chosen)[1]
        target = target[(target < self.first) | (target >= self.last)]
        owner = np.searchsorted(self.cuts, target, side="right") - 1
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=self.worker.size))[:-1]
        word = self.worker.graph.out.neighbours.dtype
        with self.traffic.phase("requests"):
            asked = self.worker.swap(np.split(target[order].astype(word), ends))
        with self.traffic.phase("places"):
            rows = self.worker.swap([self._shown(some.astype(np.int64)).reshape(-1) for some in asked])
        places = np.concatenate(rows).reshape(-1, 2)
        there = ~np.isnan(places[:, 0])
        self._know(target[order][there], places[there])

    def _shown(self, vertices: Array) -> Array:
        """The published places of own vertices, NaN if unknown."""
        shown: Array = np.where(self.located[vertices][:, None], self.places[vertices], np.nan)
        return shown
