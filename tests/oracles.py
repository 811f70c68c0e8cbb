"""Reference versions of graph algorithms: slow, obvious, plain Python.

Each function is a direct reading of its definition, there to be compared with a fast implementation.

A graph is a vertex count ``n`` (the vertices are ``0 .. n - 1``) and a list of directed edges, each ``(u, v)`` or
``(u, v, w)``; a missing weight is 1. It is a multigraph: self-loops and parallel edges may occur, and each function
says what they mean to it. An undirected graph is given as ``both_ways(edges)`` unless the function has a ``directed``
argument, in which case each undirected edge is given once. Vertex numbers are not checked.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import fsum, inf
from typing import Literal

Edge = tuple[int, int] | tuple[int, int, float]


def both_ways(edges: Sequence[Edge]) -> list[Edge]:
    """Every edge in both directions with its weight; a self-loop once, parallel edges each on their own."""
    return [*edges, *((edge[1], edge[0], *edge[2:]) for edge in edges if edge[0] != edge[1])]


def successors(n: int, edges: Sequence[Edge]) -> list[set[int]]:
    """The distinct out-neighbours of every vertex other than itself: self-loops go, parallel edges become one."""
    out: list[set[int]] = [set() for _ in range(n)]
    for u, v, *_ in edges:
        if u != v:
            out[u].add(v)
    return out


def weighted_edges(edges: Sequence[Edge]) -> list[tuple[int, int, float]]:
    """Every edge with its weight, a missing one being 1; a negative or NaN weight anywhere raises ValueError."""
    triples = [(edge[0], edge[1], edge[2] if len(edge) == 3 else 1.0) for edge in edges]
    if not all(w >= 0 for _, _, w in triples):
        raise ValueError("edge weights must be non-negative numbers")
    return triples


def bfs_levels(n: int, edges: Sequence[Edge], source: int) -> list[int]:
    """The number of edges on a shortest directed path from the source: 0 at the source, -1 where unreachable.

    Weights, self-loops and parallel edges change nothing.
    """
    out = successors(n, edges)
    level = [-1] * n
    level[source] = 0
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v in out[u]:
            if level[v] == -1:
                level[v] = level[u] + 1
                queue.append(v)
    return level


def bfs_parents(n: int, edges: Sequence[Edge], source: int) -> list[int]:
    """The parent of every vertex in a breadth-first tree: the source is its own parent, -1 where unreachable.

    A parent lies one level nearer to the source; of several such in-neighbours it is the smallest-numbered one.
    Weights, self-loops and parallel edges change nothing.
    """
    out = successors(n, edges)
    level = bfs_levels(n, edges, source)
    parent = [-1] * n
    parent[source] = source
    for v in range(n):
        if level[v] > 0:
            parent[v] = min(u for u in range(n) if level[u] == level[v] - 1 and v in out[u])
    return parent


def sssp(n: int, edges: Sequence[Edge], source: int) -> list[float]:
    """The least weight of a directed path from the source: 0 at the source, inf where unreachable.

    Of parallel edges the lightest counts; self-loops change nothing, zero weights are allowed, and an edge of
    infinite weight is no edge. A negative or NaN weight, reachable or not, raises ValueError.
    """
    return multi_source_sssp(n, edges, [source])


def multi_source_sssp(n: int, edges: Sequence[Edge], sources: Sequence[int]) -> list[float]:
    """The least weight of a directed path from the nearest source; every vertex is at inf if there is no source.

    Repeating a source changes nothing; everything else is as in ``sssp``.
    """
    triples = weighted_edges(edges)
    distance = [inf] * n
    for source in sources:
        distance[source] = 0.0
    settled = False
    while not settled:
        settled = True
        for u, v, w in triples:
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                settled = False
    return distance


def pagerank(
    n: int,
    edges: Sequence[Edge],
    damping: float = 0.85,
    tolerance: float = 1e-12,
    max_iterations: int = 1000,
    dangling: Literal["redistribute", "drop"] = "redistribute",
    personalization: Mapping[int, float] | None = None,
    weighted: bool = False,
    nstart: Mapping[int, float] | None = None,
) -> list[float]:
    """PageRank by power iteration from 1/n (or ``nstart`` scaled to sum to 1), until the L1 change is ``tolerance``.

    A vertex hands its rank to its out-edges, evenly or (``weighted``) in proportion to their weights, so a parallel
    edge counts as often as it appears and a self-loop hands rank back to its own vertex. Teleporting lands according
    to ``personalization``, which is scaled to sum to 1 (a vertex it leaves out gets 0; uniform if None; one without
    mass raises ZeroDivisionError). A dangling vertex has no out-edges, or only ones of weight 0 if ``weighted``: its
    rank is redistributed along the teleport distribution, or dropped, and then the ranks sum to less than 1.
    The last iterate is returned if ``max_iterations`` comes first. With ``weighted``, weights are finite, and a
    negative or NaN one raises ValueError.
    """
    if dangling not in ("redistribute", "drop"):
        raise ValueError(f"dangling must be 'redistribute' or 'drop', not {dangling!r}")
    preference = [1.0] * n if personalization is None else [personalization.get(v, 0.0) for v in range(n)]
    mass = fsum(preference)
    teleport = [p / mass for p in preference]
    triples = weighted_edges(edges) if weighted else [(edge[0], edge[1], 1.0) for edge in edges]
    out_weight = [0.0] * n
    for u, _, w in triples:
        out_weight[u] += w
    first = [1.0] * n if nstart is None else [nstart.get(v, 0.0) for v in range(n)]
    rank = [value / fsum(first) for value in first]
    for _ in range(max_iterations):
        stranded = fsum(rank[v] for v in range(n) if out_weight[v] == 0)
        teleporting = 1 - damping + (damping * stranded if dangling == "redistribute" else 0.0)
        following = [teleporting * teleport[v] for v in range(n)]
        for u, v, w in triples:
            if out_weight[u] > 0:
                following[v] += damping * rank[u] * w / out_weight[u]
        change = fsum(abs(new - old) for new, old in zip(following, rank, strict=True))
        rank = following
        if change <= tolerance:
            break
    return rank


def components(n: int, edges: Sequence[Edge]) -> list[int]:
    """The smallest vertex number in the weakly connected component of every vertex.

    Directions, weights, self-loops and parallel edges change nothing; an isolated vertex is its own component.
    """
    neighbours = successors(n, both_ways(edges))
    smallest = [-1] * n
    for root in range(n):
        # Roots come in increasing order, so the first to reach a component is its smallest vertex.
        unexplored = [root] if smallest[root] == -1 else []
        while unexplored:
            u = unexplored.pop()
            smallest[u] = root
            unexplored.extend(v for v in neighbours[u] if smallest[v] == -1)
    return smallest


def betweenness(
    n: int, edges: Sequence[Edge], sources: Sequence[int] | None = None, normalized: bool = False
) -> list[float]:
    """Betweenness centrality by Brandes' accumulation: directed, unweighted, on the simple graph.

    Parallel edges count once and self-loops not at all. Tied shortest paths share the credit equally, the ends of a
    path get none, and an unreachable pair contributes nothing. Only paths from ``sources`` count (all vertices if
    None; a repeated source counts again). ``normalized`` divides by (n - 1)(n - 2), whatever the sources; without
    a third vertex every score is 0 anyway. ``both_ways(edges)`` counts every undirected pair twice, once from each
    end.
    """
    out = successors(n, edges)
    score = [0.0] * n
    for source in range(n) if sources is None else sources:
        level = bfs_levels(n, edges, source)
        outward = sorted((v for v in range(n) if level[v] >= 0), key=level.__getitem__)
        next_on_path = {u: [v for v in out[u] if level[v] == level[u] + 1] for u in outward}
        paths = [0] * n
        paths[source] = 1
        for u in outward:
            for v in next_on_path[u]:
                paths[v] += paths[u]
        dependency = [0.0] * n
        for u in reversed(outward):
            dependency[u] = fsum(paths[u] / paths[v] * (1 + dependency[v]) for v in next_on_path[u])
            if u != source:
                score[u] += dependency[u]
    return [total / ((n - 1) * (n - 2)) for total in score] if normalized and n > 2 else score


def most_frequent(votes: Counter[int]) -> int:
    """The label with the most votes, the smallest on a tie; raises ValueError if there are no votes."""
    return min(votes, key=lambda label: (-votes[label], label))


def label_propagation(n: int, edges: Sequence[Edge], iterations: int, directed: bool) -> list[int]:
    """Community labels by the LDBC Graphalytics CDLP rule after so many synchronous iterations.

    Every vertex starts with its own number as its label, then takes the label most frequent among its neighbours, the
    smallest on a tie; a vertex without neighbours keeps its label. In a directed graph every in-neighbour and every
    out-neighbour has a vote, so a vertex that is both has two; in an undirected graph every neighbour has one.
    The rule is defined on simple graphs: parallel edges count once (undirected: in either direction), self-loops not
    at all.
    """
    if directed:
        predecessors = successors(n, [(edge[1], edge[0]) for edge in edges])
        voters = [[*out, *into] for out, into in zip(successors(n, edges), predecessors, strict=True)]
    else:
        voters = [list(neighbours) for neighbours in successors(n, both_ways(edges))]
    label = list(range(n))
    for _ in range(iterations):
        votes = [Counter(label[u] for u in voters[v]) for v in range(n)]
        label = [most_frequent(votes[v]) if votes[v] else label[v] for v in range(n)]
    return label


def triangles(n: int, edges: Sequence[Edge]) -> list[int]:
    """The number of triangles through every vertex of the underlying simple undirected graph.

    Directions are forgotten, parallel and opposite edges count once, self-loops not at all.
    """
    neighbours = successors(n, both_ways(edges))
    return [sum(b in neighbours[a] for a, b in combinations(neighbours[v], 2)) for v in range(n)]


def local_clustering(n: int, edges: Sequence[Edge], directed: bool) -> list[float]:
    """The LDBC Graphalytics local clustering coefficient (LCC) of every vertex.

    It is the share of the ordered pairs of distinct neighbours that are joined by an edge, where a neighbour is any
    other vertex with an edge to or from the vertex; 0 with fewer than two neighbours. In an undirected graph an edge
    joins both orders of its pair. Parallel edges count once (undirected: in either direction), self-loops not at all.
    """
    neighbours = successors(n, both_ways(edges))
    out = successors(n, edges) if directed else neighbours
    coefficient = [0.0] * n
    for v in range(n):
        size = len(neighbours[v])
        if size >= 2:
            links = sum(len(out[u] & neighbours[v]) for u in neighbours[v])
            coefficient[v] = links / (size * (size - 1))
    return coefficient


def two_hop(n: int, edges: Sequence[Edge], v: int) -> list[int]:
    """The vertices at distance exactly 2 from ``v`` along out-edges, in increasing order.

    Neither ``v`` itself nor its out-neighbours are among them, whatever other path of two edges leads there.
    An in-neighbour may be. Weights, self-loops and parallel edges change nothing.
    """
    out = successors(n, edges)
    return sorted({w for u in out[v] for w in out[u]} - out[v] - {v})
