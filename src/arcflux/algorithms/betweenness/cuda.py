"""Brandes' accumulation (2001) on a GPU, a level at a time, from many sources at once; without atomics on floats.

Every source has a lane: its own queue, levels, and counts of paths; blocks are assigned to lanes. Forward, a warp
processes a vertex of the level: it sums the paths to the neighbours one level before, and claims unvisited neighbours,
by compare-and-swap on their level, for the next one. Backward, it sums the contributions of the neighbours one level
behind. The threads of a warp load 32 neighbours in parallel, and add up those that count in the order of the row. So
values have the bits that cores give (cpu.py, which also says what `wide` levels are for: counts of paths that a float
cannot hold are ``value * STEP ** power``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.betweenness import Progress
from arcflux.engine.worker import Worker
from arcflux.gpu import primitives
from arcflux.gpu.kit import FULL, cuda, inner, kernel
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import lane_of, said_before, told

__all__ = ["KERNELS", "Accumulation"]

Array = NDArray[Any]

# Kernels multiply and add in two roundings, as cores do.
DETERMINISTIC = True
BOUNDS = (256, 8, 8)
_STEP = 2.0**512
# Bytes of the counters of each lane.
_NUMBERS = 256
# Smaller than every power, even after a subtraction.
_LEAST = np.int32(-(2**30))
# The words of each lane for the device, and its answers to the host.
_BEGIN, _END, _WIDE, _REACHED, _BOARD = 0, 1, 2, 3, 4
_TAIL, _MANY, _ANSWER = 0, 1, 2


@inner
def _scale(power: Any) -> Any:
    """``STEP ** power`` of a power that is at most 0; values two steps smaller than the rest add nothing."""
    if power == 0:
        return 1.0
    return 1.0 / _STEP if power == -1 else 0.0


@inner
def _sum(
    rows: Any, neighbours: Any, v: Any, base: Any, level: Any, wanted: Any, values: Any, powers: Any, sign: Any,
    wide: Any,
) -> Any:  # fmt: skip
    """The sum, in row order, of the values of distinct neighbours of one level, and its power.

    If `wide`, values have powers, which count as sign * powers. All threads of a warp call it and get the sum.
    """
    one = np.uint64(1)
    i, fresh = np.uint64(rows[v]) + lane_of(), lane_of() == np.uint64(0)
    left, width = np.uint32(np.uint64(rows[v + one]) - np.uint64(rows[v])), np.uint32(32)
    total, power = 0.0, _LEAST
    while left > np.uint32(0):
        value, here, counts = 0.0, np.int32(0), False
        if np.uint32(lane_of()) < left and (fresh or neighbours[i - one] != neighbours[i]):
            u = base + np.uint64(neighbours[i])
            if level[u] == wanted:
                value, counts = values[u], True
                if wide:
                    here = np.int32(sign * powers[u])
        said = np.uint32(told(counts))
        while said != np.uint32(0):
            rest = np.uint32(said & np.uint32(said - np.uint32(1)))
            lane = cuda.popc(np.uint32(np.uint32(said ^ rest) - np.uint32(1)))
            more = cuda.shfl_sync(FULL, value, lane)
            if not wide:
                total += more
            else:
                its = cuda.shfl_sync(FULL, here, lane)
                if its == power:
                    total += more
                elif its < power:
                    total += more * _scale(its - power)
                else:
                    total = total * _scale(power - its) + more
                    power = its
            said = rest
        i += np.uint64(32)
        left = np.uint32(left - min(left, width))
        fresh = False
    return total, power


@inner
def _told_of(board: Any, what: Any) -> Any:
    """The host's word for the lane of this block; read again at each use, which saves registers."""
    return board[np.uint64(cuda.blockIdx.y) * np.uint64(_BOARD) + np.uint64(what)]


@inner
def _answered(what: Any) -> Any:
    """The position of an answer for the lane of this block."""
    return np.uint64(cuda.blockIdx.y) * np.uint64(_ANSWER) + np.uint64(what)


@inner
def _first_of(board: Any) -> Any:
    """The position of the first vertex of this warp in the queue of its lane."""
    k = np.uint64(_told_of(board, _BEGIN))
    return k + np.uint64(cuda.blockIdx.x) * np.uint64(cuda.blockDim.x >> 5) + np.uint64(cuda.threadIdx.x >> 5)


@inner
def _stride() -> Any:
    """The distance to the next vertex of this warp."""
    return np.uint64(cuda.gridDim.x) * np.uint64(cuda.blockDim.x >> 5)


@kernel
def _discover(
    rows: Any, neighbours: Any, size: Any, now: Any, board: Any, answer: Any, queue: Any, level: Any
) -> None:  # fmt: skip
    """Find the next level; `board` has the current one's position in each lane's queue, `answer` the new end."""
    zero, one = np.uint64(0), np.uint64(1)
    base = np.uint64(cuda.blockIdx.y) * size
    k = _first_of(board)
    while k < np.uint64(_told_of(board, _END)):
        v = np.uint64(queue[base + k])
        first, last = np.uint64(rows[v]), np.uint64(rows[v + one])
        while first < last:
            i = first + lane_of()
            won = False
            w = v
            if i < last:
                w = np.uint64(neighbours[i])
                if level[base + w] < 0:
                    won = cuda.atomic.cas(level, base + w, np.int32(-1), np.int32(now + 1)) == -1
            said = told(won)
            if said != zero:
                place = np.int64(0)
                if lane_of() == zero:
                    place = cuda.atomic.add(answer, _answered(_TAIL), np.int64(cuda.popc(said)))
                place = cuda.shfl_sync(FULL, place, 0)
                if won:
                    queue[base + np.uint64(place) + said_before(said)] = w
            first += np.uint64(32)
        k += _stride()


@kernel
def _count(
    rows: Any, neighbours: Any, size: Any, now: Any, many: Any, board: Any, answer: Any, queue: Any, level: Any,
    paths: Any, powers: Any,
) -> None:  # fmt: skip
    """Count the paths to the vertices of a level; `answer` gets whether any count is above `many`."""
    base = np.uint64(cuda.blockIdx.y) * size
    k = _first_of(board)
    while k < np.uint64(_told_of(board, _END)):
        v = np.uint64(queue[base + k])
        # From 0 on the level is a wide one, above 0 so is the one before.
        beyond = np.int32(max(np.int64(-1), now - _told_of(board, _WIDE)))
        count, power = _sum(rows, neighbours, v, base, level, np.int32(now - 1), paths, powers, np.int32(1), beyond > 0)
        if beyond >= 0:
            power = power if beyond > 0 else np.int32(0)
            if count >= _STEP:
                count, power = count / _STEP, np.int32(power + 1)
        if lane_of() == np.uint64(0):
            paths[base + v] = count
            if beyond >= 0:
                powers[base + v] = power
            if count > many:
                answer[_answered(_MANY)] = 1
        k += _stride()


@kernel
def _credit(
    rows: Any, neighbours: Any, size: Any, now: Any, endpoints: Any, board: Any, queue: Any, level: Any, paths: Any,
    powers: Any, given: Any, scores: Any,
) -> None:  # fmt: skip
    """Credit for the vertices of a level from the one behind, added to their scores, and what they pass on.

    The source does not count, except as the end of its paths, if ends count.
    """
    base = np.uint64(cuda.blockIdx.y) * size
    k = _first_of(board)
    while k < np.uint64(_told_of(board, _END)):
        u = np.uint64(queue[base + k])
        wide = _told_of(board, _WIDE)
        total, power = _sum(
            rows, neighbours, u, base, level, np.int32(now + 1), given, powers, np.int32(-1), now + 1 >= wide
        )
        path = paths[base + u]
        credit = path * total
        if now + 1 >= wide and total > 0.0:
            mine = powers[base + u] if now >= wide else np.int32(0)
            credit *= _scale(min(np.int32(0), np.int32(power + mine)))
        if lane_of() == np.uint64(0):
            given[base + u] = (1.0 + credit) / path
            if now > 0:
                scores[base + u] += credit + endpoints
            else:
                reached = _told_of(board, _REACHED)
                scores[base + u] += endpoints * np.float64(reached - 1)
        k += _stride()


_EDGES = ("u4[]", "u4[]", "u8", "i8")
KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "betweenness: next level": (_discover, (*_EDGES, "i8[]", "i8[]", "u4[]", "i4[]")),
    "betweenness: paths": (_count, (*_EDGES, "f8", "i8[]", "i8[]", "u4[]", "i4[]", "f8[]", "i4[]")),
    "betweenness: credit": (_credit, (*_EDGES, "f8", "i8[]", "u4[]", "i4[]", "f8[]", "i4[]", "f8[]", "f8[]")),
}


class Accumulation:
    """The dependencies of sources on each vertex, on one GPU: ``scores[lane]`` for the sources of each lane.

    `lanes`: the most lanes of a run; as many of the worker's run at once as fit. `many`: a count of paths above this
    makes the next level a wide one. `apart` matters only on cores.
    """

    def __init__(self, worker: Worker, lanes: int, apart: bool, many: float) -> None:
        room, (out, into), directed = worker.room, worker.rows, worker.graph.directed
        offsets, neighbours = out
        first, last = worker.share(lanes)
        lanes = last - first
        self.many = many
        self.room, self.size, self.kind = room, len(offsets) - 1, neighbours.dtype
        twice = 2 if directed else 1
        each = self.size * (self.kind.itemsize + 4 + 8 + 4 + 8 + 8) + _NUMBERS
        room.reserve(bytes_of_rows(offsets) * twice, "vertices")
        room.reserve(each, "the search from one source")  # more at once if there is room besides edges
        arcs = twice * neighbours.nbytes
        spare = None if room.left is None else max(0, room.left - arcs) // each
        self.lanes = max(1, lanes if spare is None else min(lanes, 1 + spare))
        room.reserve((self.lanes - 1) * each, "searches from several sources")
        self.out = room.rows(offsets), room.edges(neighbours)
        self.into = (room.rows(into.offsets), room.edges(into.neighbours)) if directed else self.out
        n = self.lanes * self.size
        self.queue, self.level = room.empty(n, self.kind), room.empty(n, np.int32)
        self.paths, self.powers = room.empty(n, np.float64), room.empty(n, np.int32)
        self.given, self.scores = room.empty(n, np.float64), room.empty(n, np.float64)
        self.board, self.answer = (room.empty(self.lanes * width, np.int64) for width in (_BOARD, _ANSWER))

    def run(self, sources: Array, lanes: int, mine: range, endpoints: float, progress: Progress) -> Array:
        """The rows of the lanes in `mine`; lane l has the sources l, l + lanes, and so on."""
        found = np.zeros((len(mine), self.size))
        for first in range(0, len(mine), self.lanes):
            some = mine[first : first + self.lanes]
            primitives.fill(self.scores, 0.0)
            for turn in range(-(-len(sources) // lanes)):
                roots = [int(sources[lane + turn * lanes]) for lane in some if lane + turn * lanes < len(sources)]
                if not roots:
                    break
                self._search(roots, endpoints)
                progress.advance(len(roots))
            scores = np.asarray(self.scores.copy_to_host())[: len(some) * self.size]
            found[first : first + len(some)] = scores.reshape(len(some), self.size)
        return found

    def _search(self, roots: list[int], endpoints: float) -> None:
        """Add the dependencies of some sources, each in its lane."""
        n, lanes, room = np.uint64(self.size), len(roots), self.room
        self._start(roots)
        starts = [np.zeros(lanes, np.int64), np.ones(lanes, np.int64)]
        wide = np.full(lanes, self.size + 2, np.int64)
        state = self.queue, self.level, self.paths, self.powers
        now = np.int64(0)
        while (starts[-1] > starts[-2]).any():
            _tell(self.answer, [starts[-1], np.zeros(lanes, np.int64)])
            shape = self._told(starts[-2], starts[-1], wide, wide)
            told = self.board, self.answer
            room.launch_blocks(_discover, *shape, *self.out, n, now, *told, self.queue, self.level)
            if now > 0:
                room.launch_blocks(_count, *shape, *self.into, n, now, self.many, *told, *state)
            tails, above = np.asarray(self.answer.copy_to_host()).reshape(-1, _ANSWER)[:lanes].T
            now += 1
            starts.append(tails.copy())
            wide[(wide > now) & (above > 0)] = now
        for level in range(len(starts) - 3, -1, -1):
            shape = self._told(starts[level], starts[level + 1], wide, starts[-1])
            given = endpoints, self.board, *state, self.given, self.scores
            room.launch_blocks(_credit, *shape, *self.out, n, np.int64(level), *given)

    def _start(self, roots: list[int]) -> None:
        """Initially only the sources have a level, and each is alone in its queue."""
        room, lanes = self.room, len(roots)
        heads = np.arange(lanes) * self.size
        places = room.copied(heads + np.array(roots))
        primitives.fill(self.level, np.int32(-1))
        primitives.scatter(room.filled(lanes, np.int32), places, self.level)
        primitives.scatter(room.filled(lanes, np.float64, 1.0), places, self.paths)
        primitives.scatter(room.filled(lanes, np.int32), places, self.powers)
        primitives.scatter(room.copied(np.array(roots, self.kind)), room.copied(heads), self.queue)

    def _told(self, begin: Array, end: Array, wide: Array, reached: Array) -> tuple[Any, int]:
        """Pass a level of all lanes to the device; returns blocks (per lane, and lanes) and threads for it."""
        _tell(self.board, [begin, end, wide, reached])
        blocks, threads = self.room.shapes.walking(32 * int((end - begin).max()))
        return (blocks, len(begin)), threads


def _tell(there: Any, columns: list[Array]) -> None:
    """Copy columns of numbers, a row per lane, to the device, which may have more lanes."""
    rows = np.zeros((there.size // len(columns), len(columns)), np.int64)
    rows[: len(columns[0])] = np.stack(columns, 1)
    there.copy_to_device(rows.reshape(-1))
