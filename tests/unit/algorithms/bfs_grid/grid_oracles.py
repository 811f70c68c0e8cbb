"""Small graphs of every kind, and the paper's traversal as sets in plain Python: slow, and what figure 3 says."""

import numpy as np
from hypothesis import strategies as st

import arcflux as af
import oracles

GRIDS = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2), 6: (2, 3), 9: (3, 3), 12: (3, 4), 16: (4, 4)}


@st.composite
def cases(draw, most=90):
    """A multigraph with self-loops, parallel edges and lone vertices, its arcs, and a source.

    Edges come from a seed: lists that are drawn one by one are short, and then no two parts find a vertex at once.
    """
    n = draw(st.integers(1, most))
    end = st.integers(0, n - 1)
    count, seed = draw(st.integers(0, 3 * n)), draw(st.integers(0, 2**32 - 1))
    edges = [tuple(ends) for ends in np.random.default_rng(seed).integers(0, n, (count, 2)).tolist()]
    directed = draw(st.booleans())
    ends = [u for u, _ in edges], [v for _, v in edges]
    graph = af.Graph.from_edges(*ends, vertices=n, directed=directed, sort=draw(st.booleans()))
    return graph, edges if directed else oracles.both_ways(edges), draw(end)


def range_of(v, n, ranges):
    return next(i for i in range(ranges) if i * n // ranges <= v < (i + 1) * n // ranges)


def traversal(n, arcs, root, rows, columns):
    """Levels, predecessors and how many vertices each cell came to own in each superstep.

    The cell (i, j) has the arcs from sources of range i to targets of range j; its rank is ``j * rows + i``. Of the
    cells of a column that find a vertex at once, the one with the smallest i owns it; its predecessor is the largest
    there.
    """
    cell = {(i, j): [] for i in range(rows) for j in range(columns)}
    for u, v, *_ in arcs:
        cell[range_of(u, n, rows), range_of(v, n, columns)].append((u, v))
    level, owner, history = {root: 0}, {}, []
    frontier = {root}
    while frontier:
        owned = [0] * (rows * columns)
        found = set()
        for j in range(columns):
            for i in range(rows):
                for v in {v for u, v in cell[i, j] if u in frontier} - level.keys() - found:
                    owner[v] = i, j
                    owned[j * rows + i] += 1
                    found.add(v)
        history.append((len(frontier), tuple(owned)))
        level |= dict.fromkeys(found, len(history))
        frontier = found
    before = {v: max(u for u, w in cell[owner[v]] if w == v and level.get(u) == level[v] - 1) for v in owner}
    before[root] = root
    return [level.get(v, -1) for v in range(n)], [before.get(v, -1) for v in range(n)], history
