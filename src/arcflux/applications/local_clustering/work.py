"""Local clustering on a worker: a share of the seeds, or a share of the rows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker

__all__ = ["Asked", "work"]

Array = NDArray[Any]
Found = tuple[Array, Array, Array, Mapping[str, int]]
# Seeds of a launch, for each core.
_EACH = 4
_FACTS = 6


@dataclass(frozen=True)
class Asked:
    """The parameters. strength: the weighted degree, a self-loop once."""

    seeds: Array
    weights: Array | None
    strength: Array
    alpha: float
    rho: float
    tol: float
    limit: int
    method: str


def work(worker: Worker, asked: Asked, distributed: bool) -> Found:
    """Members and scores of all seeds, one after the other, and a row of facts for each."""
    traffic = Traffic(worker)
    if distributed:
        members, scores, facts = _together(worker, asked, traffic)
        return members, scores, facts, traffic.total()
    first, last = worker.share(len(asked.seeds))
    members, scores, facts = _alone(worker, asked, asked.seeds[first:last])
    with traffic.phase("result"):
        rows = worker.gather(facts.reshape(-1)).reshape(-1, _FACTS)
        return worker.gather(members), worker.gather(scores), rows, traffic.total()


def _alone(worker: Worker, asked: Asked, seeds: Array) -> tuple[Array, Array, Array]:
    """The clusters of some seeds, by a worker that sees the whole graph."""
    clusters = _Clusters(worker, asked)
    step = _EACH * worker.cores.workers
    with worker.task("clusters", len(seeds), "seeds") as task:
        found = []
        for begin in range(0, len(seeds), step):
            found.append(clusters.around(seeds[begin : begin + step]))
            task.at(min(begin + step, len(seeds)))
    if not found:
        return np.empty(0, np.int64), np.empty(0), np.empty((0, _FACTS))
    members, scores, facts = zip(*found, strict=True)
    return np.concatenate(members), np.concatenate(scores), np.concatenate(facts)


class _Clusters:
    """The arrays of all cores, zero between launches."""

    def __init__(self, worker: Worker, asked: Asked) -> None:
        self.worker, self.asked, self.kernel = worker, asked, worker.kernels(__package__ or "").cluster
        cores, vertices = worker.cores, worker.graph.vertices
        self.values = cores.small((cores.workers, 4, vertices), np.float64)
        self.flags = cores.small((cores.workers, 2, vertices), np.bool_)
        self.lists = cores.host(cores.workers * 2 * vertices, np.int64).reshape(cores.workers, 2, vertices)
        many = _EACH * cores.workers
        # A vertex has a score if it was pushed, or is in the support: both have a volume of at most 1/(alpha rho).
        bound = 2.0 / max(asked.alpha * asked.rho, sys.float_info.min)
        least = float(asked.strength[asked.strength > 0].min(initial=1.0))
        room = vertices if bound / least > vertices else int(bound / least) + 1
        self.members = cores.host(many * room, np.int64).reshape(many, room)
        self.scores = cores.host(many * room, np.float64).reshape(many, room)
        self.facts = cores.host(many * _FACTS, np.float64).reshape(many, _FACTS)

    def around(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Members, scores and facts of a few seeds."""
        asked, cores, count = self.asked, self.worker.cores, len(seeds)
        whole = float(asked.strength.sum())
        cores.launch(
            self.kernel, count, seeds, *self.worker.graph.out, asked.weights, asked.strength, whole, asked.alpha,
            asked.rho, asked.tol, asked.limit, asked.method == "push", self.values, self.flags, self.lists,
            self.members, self.scores, self.facts,
        )  # fmt: skip
        cores.together()
        facts = self.facts[:count].copy()
        sizes = facts[:, 0].astype(np.int64)
        members = np.concatenate([self.members[k, : sizes[k]] for k in range(count)])
        scores = np.concatenate([self.scores[k, : sizes[k]] for k in range(count)])
        cores.together()
        return members, scores, facts


def _together(worker: Worker, asked: Asked, traffic: Traffic) -> tuple[Array, Array, Array]:
    """FISTA on rows that workers share, a seed at a time; then all workers sweep, without messages."""
    members, scores, facts = [], [], []
    with worker.task("clusters", len(asked.seeds), "seeds") as task:
        for k, seed in enumerate(asked.seeds.tolist()):
            p, steps, worst = _steps(worker, asked, seed, traffic)
            found, best, least = _sweep(worker, asked, p)
            members.append(found)
            scores.append(p[found])
            facts.append([len(found), best, least, steps, worst, 0.0])
            task.at(k + 1)
    return np.concatenate(members), np.concatenate(scores), np.array(facts)


def _steps(worker: Worker, asked: Asked, seed: int, traffic: Traffic) -> tuple[Array, int, float]:
    """Scores, how many steps there were, and the KKT residual."""
    graph, cores = worker.graph, worker.cores
    if not asked.strength[seed] > 0:
        return (np.arange(graph.vertices) == seed).astype(np.float64), 0, 0.0
    first, last = worker.share_of_rows()
    kernel = worker.kernels(__package__ or "").fista_rows
    ahead, moved = cores.small(graph.vertices, np.float64), cores.host(last - first, np.float64)
    q, beta = np.zeros(graph.vertices), (1 - asked.alpha**0.5) / (1 + asked.alpha**0.5)
    exact, worst = False, np.inf
    for step in range(asked.limit):
        cores.launch(
            kernel, last - first, np.uint64(first), np.uint64(last), np.uint64(seed), *graph.out, asked.weights,
            asked.strength, asked.alpha, asked.rho, ahead, moved,
        )  # fmt: skip
        cores.together()
        with traffic.phase("steps"):
            new = _exchanged(worker, moved.copy(), q, first)
        worst = float(np.abs(new - ahead).max(initial=0.0))
        if exact and worst <= asked.tol:
            return q * np.sqrt(asked.strength), step, worst
        exact = worst <= asked.tol
        cores.publish(new if exact else new + beta * (new - q), ahead)
        q = new
    return q * np.sqrt(asked.strength), asked.limit, worst


def _exchanged(worker: Worker, mine: Array, before: Array, first: int) -> Array:
    """The new values of all vertices: those that changed are sent, 4 or 8 bytes of number and 8 of value each."""
    changed = np.flatnonzero(mine != before[first : first + len(mine)])
    numbers = (first + changed).astype(worker.graph.out.neighbours.dtype)
    new = before.copy()
    new[worker.gather(numbers)] = worker.gather(mine[changed])
    return new


def _sweep(worker: Worker, asked: Asked, p: Array) -> tuple[Array, int, float]:
    """Vertices by score over degree, how many of them are the cluster, and its conductance."""
    found = np.flatnonzero(p > 0)
    keys = p[found] / np.where(asked.strength[found] > 0, asked.strength[found], 1.0)
    order = found[np.lexsort((found, -keys))]
    place = np.full(worker.graph.vertices, len(order))
    place[order] = np.arange(len(order))
    offsets, neighbours = worker.graph.out
    begins, ends = offsets[order].astype(np.int64), offsets[order + 1].astype(np.int64)
    counts = ends - begins
    arcs = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    own, other = np.repeat(np.arange(len(order)), counts), place[neighbours[arcs].astype(np.int64)]
    weights = np.ones(len(arcs)) if asked.weights is None else asked.weights[arcs].astype(np.float64)
    change = np.where(other == own, 0.0, np.where(other < own, -weights, weights))
    cut = np.cumsum(np.bincount(own, change, len(order)))
    volume = np.cumsum(asked.strength[order])
    whole, rounding = float(asked.strength.sum()), worker.kernels(__package__ or "").ROUNDING
    smaller = np.minimum(volume, whole - volume)
    some = smaller > rounding * whole
    conductance = np.where(some, np.maximum(cut, 0.0) / np.where(some, smaller, 1.0), np.inf)
    if not np.isfinite(conductance).any():
        return order, 0, np.inf
    best = int(np.argmin(conductance))
    return order, best + 1, float(conductance[best])
