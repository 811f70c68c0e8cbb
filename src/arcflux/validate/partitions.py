"""Strong and biconnected components: sets of vertices or edges, checked by another algorithm or by a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked
from arcflux.io import takes_graph
from arcflux.spmd.pool import run
from arcflux.validate.chains import articulation_flags
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["biconnected_components", "strong_components"]

Array = NDArray[Any]


@takes_graph
@checked()
def strong_components(graph: Graph, component: Any) -> Report:
    """Check strongly connected components: two vertices have the same label exactly when each reaches the other.

    `component` holds any labels (integers or text), in the order of vertex numbers. They are compared with those of
    another algorithm, scipy's (Pearce 2005).

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 1, 3])
    >>> bool(af.validate.strong_components(g, [7, 5, 5, 9]))
    True
    >>> [rule.name for rule in af.validate.strong_components(g, [7, 7, 5, 9]).failures]
    ['apart', 'together']
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    given, n = arguments.labels("component", component, graph.vertices), graph.vertices
    matrix = csr_array((np.ones(graph.arcs, np.int8), *arguments.rows_for_searches(graph)), (n, n))
    _, expected = connected_components(matrix, directed=True, connection="strong") if n else (0, np.empty(0, np.int64))
    label = np.unique(given, return_inverse=True)[1]
    return Report("strong_components", (
        _same(graph, "apart", "vertices of one label reach each other", label, expected, "the label of {}",
              "another: one of them does not reach the other"),
        _same(graph, "together", "vertices that reach each other have one label", expected, label,
              "another label than {}", "its label: each reaches the other"),
    ))  # fmt: skip


def _same(graph: Graph, name: str, sentence: str, group: Array, label: Array, found: str, expected: str) -> Rule:
    """Whether the vertices of each group have the label of its first one."""
    first = np.unique(group, return_index=True)[1]

    def tell(v: int) -> Offence:
        one, other = (arguments.user_id(graph, each) for each in (v, first[group[v]]))
        return Offence(one, found.format(other), expected)

    return Rule.checked(name, sentence, np.flatnonzero(label != label[first][group]), tell)


@takes_graph
@checked(component=None)
def biconnected_components(graph: Graph, component: Any) -> Report:
    """Check the biconnected components of an undirected graph: a label for each arc, -1 of a self-loop.

    With a copy of each vertex for each of its components, every component has to be connected, and stay so without any
    one vertex; and no cycle may pass through several components: components and their vertices form a forest.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.biconnected_components("path:3", [0, 0, 1, 1]))
    True
    >>> [rule.name for rule in af.validate.biconnected_components("cycle:3", [0, 1, 0, 2, 1, 2]).failures]
    ['largest']
    >>> [rule.name for rule in af.validate.biconnected_components("path:3", [0, 0, 0, 0]).failures]
    ['biconnected']
    """
    from arcflux.validate.kernels import unite

    given, n = arguments.wholes("component", component, graph.arcs), graph.vertices
    sources = np.repeat(np.arange(n), graph.out_degrees.astype(np.int64))
    targets = graph.out.neighbours.astype(np.int64)
    loop, up, down = sources == targets, sources < targets, sources > targets
    wrong = np.flatnonzero((given < 0) != loop)

    def tell(place: int) -> Offence:
        u, v = (arguments.user_id(graph, end[place]) for end in (sources, targets))
        return Offence(u, f"edge {u} -> {v}: {given[place]}", "-1 of a self-loop, else a number from 0 on")

    there = _ordered(sources[up], targets[up], given[up])
    torn = not np.array_equal(there, _ordered(targets[down], sources[down], given[down]))
    names, label = np.unique(there[2], return_inverse=True)
    # A copy of each vertex for each of its components.
    members, copies = np.unique(np.stack([np.append(label, label), there[:2].reshape(-1)]), axis=1, return_inverse=True)
    ends = copies.reshape(2, -1)
    split = type(graph).from_edges(*ends, vertices=members.shape[1], directed=False)
    points = np.flatnonzero(articulation_flags(split))
    tree = type(graph).from_edges(members[0], members[1] + len(names), vertices=len(names) + n)
    roots = []
    for rows in (split.out, tree.out):
        root = np.arange(len(rows.offsets) - 1)
        run(unite, 1, *rows, root)
        roots.append(int((root == np.arange(len(root))).sum()))
    cycles = members.shape[1] - (len(names) + n - roots[1])
    return Report("biconnected_components", (
        Rule.checked("edges", "every edge but a self-loop has a component", wrong, tell, unit="edges"),
        Rule.overall("arcs", "both arcs of an edge have the same", found="others", broken=torn),
        Rule.overall("connected", f"{len(names):,} labels are as many connected parts", found=f"{roots[0]:,}",
                     broken=roots[0] != len(names)),
        Rule.checked("biconnected", "no component falls apart without a vertex", points,
                     lambda k: Offence(arguments.user_id(graph, members[1, k]),
                                       f"joins parts of {names[members[0, k]]}", "several components")),
        Rule.overall("largest", "no cycle leads through several components", found=f"{cycles:,} that do",
                     broken=cycles > 0),
    ))  # fmt: skip


def _ordered(low: Array, high: Array, label: Array) -> Array:
    """Edges with their labels, sorted: int64[3, edges]."""
    edges = np.stack([low, high, label])
    return edges[:, np.lexsort(edges[::-1])]
