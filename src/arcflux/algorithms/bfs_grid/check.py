"""The paper's own validation of a search (section IV-C), on the ranks of the grid.

Each rank encodes the predecessors of its own vertices as 1 + the vertex; the maximum over a column is taken and all
columns are concatenated: a table that every rank has. Then no chain of predecessors may be a cycle, and no arc may lead
out of the tree or more than one level down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcflux.algorithms.bfs_grid import cpu as kernels
from arcflux.algorithms.bfs_grid.block import block_of, whole_grid
from arcflux.algorithms.bfs_grid.groups import groups
from arcflux.algorithms.bfs_grid.search import merged
from arcflux.engine.spread import Spread, on_ranks
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.spmd.memory import Array, frozen
from arcflux.transports.base import Transport

__all__ = ["Broken", "broken", "check_grid"]


@dataclass(frozen=True)
class Broken:
    """Violations: how many and the first of them, as vertices for chains and as pairs of ends for arcs."""

    chains: tuple[int, list[int]]
    span: tuple[int, list[tuple[int, int]]]
    steep: tuple[int, list[tuple[int, int]]]


def check_grid(spread: Spread, graph: Graph, root: int, level: Array, parent: Array, shown: int) -> Broken:
    """Check levels and predecessors on the ranks of a grid that `spread` asks for."""

    def work(transport: Transport, parts: Parts) -> Broken:
        return broken(transport, whole_grid(parts), root, level, parent, shown)

    return on_ranks(spread, graph, work)


def broken(transport: Transport, parts: Parts, root: int, level: Array, parent: Array, shown: int) -> Broken:
    """Check levels and predecessors (-1 for none) of all vertices; the same answer on every rank."""
    block, own = block_of(parts, transport.rank), parts.owned(transport.rank).astype(np.int64)
    column, row = groups(transport, parts)
    coded = np.zeros(block.targets.size, np.int64)
    coded[own - block.targets.base] = parent[own] + 1
    table = merged(column, row, coded, block.targets.begin - block.targets.base)
    counts, first = np.zeros(2, np.int64), np.zeros((2, shown, 2), np.int64)
    kernels.arcs_test(*block.by_target, frozen(level), table, counts, first)
    arcs = [_together(transport, int(counts[rule]), first[rule].reshape(-1), 2) for rule in range(2)]
    astray = own[_astray(transport, table, root, own)]
    chains = _together(transport, len(astray), astray[:shown], 1)
    return Broken(
        (chains[0], [v for (v,) in chains[1][:shown]]),
        *((count, [(u, v) for u, v in ends[:shown]]) for count, ends in arcs),
    )


def _astray(transport: Transport, table: Array, root: int, own: Array) -> Array:
    """Which of the own visited vertices do not reach the root by their predecessors in fewer than |V| steps.

    Pointer jumping: every vertex takes the predecessor of its predecessor, so that steps double: log2 |V| rounds.
    Vertices at the root stay there.
    """
    nowhere = len(table)
    ahead = np.append(np.where(table > 0, table - 1, nowhere), nowhere)
    ahead[root] = root
    visited: Array = table[own] > 0
    steps = 1
    while True:
        lost: Array = visited & (ahead[own] != root)
        under_way = np.array([bool((lost & (ahead[own] != nowhere)).any())])
        if steps >= nowhere or not transport.reduce(under_way, "max")[0]:
            return lost
        ahead = np.append(np.concatenate(transport.gather(ahead[ahead[own]])), nowhere)
        steps *= 2


def _together(transport: Transport, count: int, first: Array, width: int) -> tuple[int, list[list[int]]]:
    """The count over all ranks, and the first violations of each rank; `width` numbers for each."""
    mine = first[: count * width].reshape(-1)
    total = int(transport.reduce(np.array([count]), "sum")[0])
    return total, np.concatenate(transport.gather(mine)).reshape(-1, width).tolist()
