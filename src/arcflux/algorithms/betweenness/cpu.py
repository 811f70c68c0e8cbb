"""Brandes' accumulation (2001), a level at a time, without atomics on floats: every vertex sums what it needs itself.

The trick: `front[k & 1]` is zero except at the vertices of level k. So the paths to a vertex of level k + 1 are the sum
of front over *all* its in-neighbours, without checking their levels. Backward, front holds (1 + credit) / paths of the
level behind; values left from levels further behind are not at any neighbours. Each worker sums whole rows in order, so
values do not depend on the number of workers.

Sources are assigned to lanes. Together, all workers share one lane and meet at a barrier after every level; apart, each
worker processes its own lanes in its own arrays.

Grids have more shortest paths than a float can count. So levels are plain up to the first with a count above `many`;
from the next one on, `wide`, a count is ``value * STEP ** power``, and every vertex has a power. Scaling by powers of
two is exact: where the wide levels begin makes no difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.betweenness import Progress
from arcflux.engine.worker import Worker
from arcflux.spmd.barrier import all_here
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, fetch_add, prefetch_to_read
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import STOP
from arcflux.spmd.reduce import into_or

__all__ = ["Accumulation"]

Array = NDArray[Any]

# Counters of a phase, each on its own cache line; three blocks alternate, so that no reader sees the reset.
_WORK, _CLEAR, _NEXT, _STOP, _WIDE = 0, 8, 16, 24, 25
_BLOCK = 32
_BOARD = 3 * _BLOCK
_BUFFER = 1024
_CHUNK = 64
# A level with more vertices than this does not stay in the cache. Its vertices come in no order, so their rows are
# prefetched a few vertices ahead.
_FEW = 4096
_AHEAD = 8
_LINES, _LINE = 3, 16
# The first worker alone does a level with at most about this many edges: sharing it costs more than it saves
# (frontier.py has the same rule). A ring, of which each level has two vertices, takes two thirds of the time.
_SERIAL_EDGES = 256
_STEP = 2.0**512
# Smaller than every power.
_LEAST = -(2**40)


@inner
def _scale(power: Any) -> Any:
    """``STEP ** power`` of a power that is at most 0; values two steps smaller than the rest add nothing."""
    return 1.0 if power == 0 else 1.0 / _STEP if power == -1 else 0.0


@inner
def _sum(offsets: Any, neighbours: Any, v: Any, values: Any) -> Any:
    """The sum of the values of v's neighbours, each once."""
    total = 0.0
    previous = v
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        if u != previous:
            total += values[u]
        previous = u
    return total


@inner
def _wide_sum(offsets: Any, neighbours: Any, v: Any, values: Any, powers: Any, sign: Any) -> Any:
    """The same of values with powers, and the power of the sum; the powers count as sign * powers."""
    total, power = 0.0, _LEAST
    previous = v
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        u = np.uint64(neighbours[i])
        value = values[u]
        if u != previous and value > 0.0:
            here = sign * np.int64(powers[u])
            if here == power:
                total += value
            elif here < power:
                total += value * _scale(here - power)
            else:
                total = total * _scale(power - here) + value
                power = here
        previous = u
    return total, power


@inner
def _takes_part(rank: Any, count: Any, serial: Any) -> Any:
    """Whether a worker takes part in a level of this many vertices; one of at most `serial` is for the first."""
    return rank == 0 or count > serial


@inner
def _share(board: Any, place: Any, begin: Any, end: Any) -> Any:
    """Claim the next vertices of a level: from, to; equal if none are left."""
    low = min(begin + np.uint64(fetch_add(board, place, _CHUNK)), end)
    return low, min(low + np.uint64(_CHUNK), end)


@inner
def _foreseen(queue: Any, k: Any, end: Any, offsets: Any, neighbours: Any) -> None:
    """Prefetch the rows of later vertices in the queue: first their offsets, then their neighbours."""
    ahead = k + np.uint64(2 * _AHEAD)
    if ahead < end:
        prefetch_to_read(offsets, np.uint64(queue[ahead]))
        near = np.uint64(queue[k + np.uint64(_AHEAD)])
        row, row_end = offsets[near], offsets[near + np.uint64(1)]
        for line in range(_LINES):
            if row + np.uint64(line * _LINE) < row_end:
                prefetch_to_read(neighbours, row + np.uint64(line * _LINE))


@inner
def _clear(board: Any, place: Any, queue: Any, begin: Any, end: Any, values: Any) -> None:
    """Set the values of a level to 0."""
    while True:
        low, high = _share(board, place, np.uint64(begin), np.uint64(end))
        if low == high:
            break
        for k in range(low, high):
            values[queue[k]] = 0.0


@inner
def _flush(board: Any, place: Any, buffer: Any, held: Any, queue: Any, end: Any) -> Any:
    """Append a worker's buffer to the next level; the buffer then holds 0."""
    at = end + np.uint64(fetch_add(board, place, held))
    for k in range(held):
        queue[at + np.uint64(k)] = buffer[k]
    return 0


@inner
def _meet(control: Any, barrier: Any, board: Any, step: Any, rank: Any, size: Any) -> Any:
    """The end of a phase: returns whether all stop here."""
    if rank == 0:
        for k in range(_BLOCK):
            board[(step + 1) % 3 * _BLOCK + k] = 0
        board[step % 3 * _BLOCK + _STOP] = control[STOP]
    if not all_here(barrier, rank, size):
        return True
    return board[step % 3 * _BLOCK + _STOP] != 0


@kernel
def accumulate(
    worker: Any, workers: Any, control: Any, out_offsets: Any, out_neighbours: Any, in_offsets: Any,
    in_neighbours: Any, sources: Any, apart: Any, endpoints: Any, many: Any, queues: Any, starts: Any, paths: Any,
    fronts: Any, visits: Any, powers: Any, barrier: Any, boards: Any, buffers: Any, scores: Any,
) -> None:  # fmt: skip
    """Add to ``scores[lane]`` the dependencies of the sources of each lane on each vertex.

    For each team: queues: uint[teams, n], starts: int64[teams, n + 2] (where levels begin in the queue), paths:
    float64[teams, n] in the order of the queue, fronts: float64[teams, 2, n] and visits: uint64[teams, n / 64], both
    zero, powers: int32[teams, n].
    """
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    team, rank, size = (worker, 0, 1) if apart else (0, worker, workers)
    board, buffer = boards[team], buffers[worker]
    queue, start, path, front, visited = queues[team], starts[team], paths[team], fronts[team], visits[team]
    power = powers[team]
    lanes = scores.shape[0]
    serial = np.uint64(_SERIAL_EDGES * queue.size // (out_neighbours.size + queue.size + 1))
    lane = claim(control) if apart else 0
    step = 0
    while lane < lanes:
        score = scores[lane]
        for turn in range(lane, sources.size, lanes):
            source = np.uint64(sources[turn])
            if rank == 0:
                queue[0] = source
                visited[source >> six] = one << (source & mask)
                start[0], start[1] = 0, 1
            if _meet(control, barrier, board, step, rank, size):
                return
            step += 1
            # Forward: count the paths to a level, and find the next one.
            begin, end = np.uint64(0), one
            level, wide = 0, queue.size + 2
            while begin < end:
                block = step % 3 * _BLOCK
                old, new = front[(level + 1) & 1], front[level & 1]
                held, largest = 0, 1.0
                far = end - begin > np.uint64(_FEW)
                while _takes_part(rank, end - begin, serial):
                    low, high = _share(board, block + _WORK, begin, end)
                    if low == high:
                        break
                    for k in range(low, high):
                        if far:
                            _foreseen(queue, k, end, out_offsets, out_neighbours)
                        v = np.uint64(queue[k])
                        for i in range(out_offsets[v], out_offsets[v + one]):
                            w = np.uint64(out_neighbours[i])
                            if (visited[w >> six] >> (w & mask)) & one == 0 and into_or(
                                visited, w >> six, one << (w & mask)
                            ):
                                buffer[held] = w
                                held += 1
                                if held == _BUFFER:
                                    held = _flush(board, block + _NEXT, buffer, held, queue, end)
                        count, scale = 1.0, 0
                        if level > wide:
                            count, scale = _wide_sum(in_offsets, in_neighbours, v, old, power, 1)
                        elif level > 0:
                            count = _sum(in_offsets, in_neighbours, v, old)
                        if level >= wide:
                            if count >= _STEP:
                                count, scale = count / _STEP, scale + 1
                            power[v] = scale
                        largest = max(largest, count)
                        new[v] = path[k] = count
                if largest > many:
                    board[block + _WIDE] = 1
                if level > 1 and _takes_part(rank, np.uint64(start[level - 1] - start[level - 2]), serial):
                    _clear(board, block + _CLEAR, queue, start[level - 2], start[level - 1], new)
                held = _flush(board, block + _NEXT, buffer, held, queue, end)
                if _meet(control, barrier, board, step, rank, size):
                    return
                step += 1
                begin, end = end, end + np.uint64(board[block + _NEXT])
                level += 1
                if level < wide and board[block + _WIDE]:
                    wide = level
                if rank == 0:
                    start[level + 1] = end
            # Backward: the last level gets no credit; the others get it from their successors. The source does not
            # count.
            last = level - 1
            for level in range(last, -1, -1):
                block = step % 3 * _BLOCK
                old, new = front[(level + 1) & 1], front[level & 1]
                begin, end = np.uint64(start[level]), np.uint64(start[level + 1])
                far = end - begin > np.uint64(_FEW)
                while _takes_part(rank, end - begin, serial):
                    low, high = _share(board, block + _WORK, begin, end)
                    if low == high:
                        break
                    for k in range(low, high):
                        if far:
                            _foreseen(queue, k, end, out_offsets, out_neighbours)
                        u = np.uint64(queue[k])
                        credit = 0.0
                        if level < last and level + 1 < wide:
                            credit = path[k] * _sum(out_offsets, out_neighbours, u, old)
                        elif level < last:
                            total, scale = _wide_sum(out_offsets, out_neighbours, u, old, power, -1)
                            own = np.int64(power[u]) if level >= wide else 0
                            credit = path[k] * total * _scale(min(0, scale + own))
                        new[u] = (1.0 + credit) / path[k]
                        visited[u >> six] = 0
                        if level > 0:
                            score[u] += credit + endpoints
                if _meet(control, barrier, board, step, rank, size):
                    return
                step += 1
            if apart or turn + lanes < sources.size:
                block = step % 3 * _BLOCK
                _clear(board, block + _CLEAR, queue, 0, start[last + 1], front[0])
                _clear(board, block + _WORK, queue, 0, start[last + 1], front[1])
            if rank == 0:
                score[source] += endpoints * np.float64(start[last + 1] - 1)
                fetch_add(control, 2, 1)
            if _meet(control, barrier, board, step, rank, size):
                return
            step += 1
        lane = claim(control) if apart else lanes


class Accumulation:
    """The dependencies of sources on each vertex, on a team of cores; `apart`: each core processes its own sources.

    `lanes`: the most lanes of a run. `many`: a count of paths above this makes the next level a wide one.
    """

    def __init__(self, worker: Worker, lanes: int, apart: bool, many: float) -> None:
        self.cores, self.rows, self.apart, self.many = worker.cores, worker.rows, apart, many
        self.size = n = worker.graph.vertices
        kind, cores, teams = worker.graph.out.neighbours.dtype, self.cores, self.cores.workers if apart else 1
        first, last = worker.share(lanes)
        # Together, cores process one lane at a time.
        self.scores = cores.host(((last - first) if apart else 1) * n, np.float64)
        sizes: list[tuple[int, Any]] = [
            (n, kind), (n + 2, np.int64), (n, np.float64), (2 * n, np.float64), (n // 64 + 1, np.uint64), (n, np.int32),
        ]  # fmt: skip
        self.scratch = [cores.host(teams * size, dtype).reshape(teams, -1) for size, dtype in sizes]
        self.boards, self.buffers = cores.small((teams, _BOARD)), np.empty((cores.workers, _BUFFER), kind)

    def run(self, sources: Array, lanes: int, mine: range, endpoints: float, progress: Progress) -> Array:
        """The rows of the lanes in `mine`, valid until the next run; lane l has the sources l, l + lanes, and so on."""
        if not len(mine):
            return np.empty((0, self.size))
        if self.apart:
            rounds = range(0, len(sources), lanes)
            own = [sources[k + mine.start : min(k + mine.stop, k + lanes)] for k in rounds]
            return self._run(np.concatenate(own), len(mine), endpoints, progress)
        if len(mine) == 1:
            return self._run(sources[mine[0] :: lanes], 1, endpoints, progress)
        return np.concatenate([self._run(sources[lane::lanes], 1, endpoints, progress).copy() for lane in mine])

    def _run(self, sources: Array, lanes: int, endpoints: float, progress: Progress) -> Array:
        cores, n = self.cores, self.size
        queues, starts, paths, fronts, visits, powers = self.scratch
        scores = self.scores[: lanes * n].reshape(lanes, n)
        for array in (scores, fronts, visits, self.boards):
            cores.publish(0, array)
        shared = queues, starts, paths, fronts.reshape(len(fronts), 2, n), visits, powers
        cores.launch(
            accumulate, min(cores.workers, lanes) if self.apart else cores.workers, *self.rows[0], *self.rows[1],
            frozen(sources), self.apart, endpoints, self.many, *shared, cores.barrier(), self.boards, self.buffers,
            scores, watch=lambda control: progress.at(int(control[2])),
        )  # fmt: skip
        progress.advance(len(sources))
        return scores
