"""The rules of shortest paths, weighted or not, which :mod:`~arcflux.validate.traversal` applies.

An edge u -> v is *tight* when the distance of v is that of u plus the edge's weight: it explains the distance of v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run
from arcflux.validate.arguments import NOBODY, STRANGER
from arcflux.validate.report import Offence, Rule
from arcflux.validate.sweep import ArcTally, sweep

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["DISTANCES", "LEVELS", "Result", "Tree", "Words", "path_rules"]

Array = NDArray[Any]


class Tree:
    """Parents, and the depths that follow from them.

    parent: int64[vertices]; child: bool[vertices], vertices with a parent, less the roots; depth: float64[vertices],
    steps to a root, inf for a vertex that leads to none; lost: bool[vertices], children that lead to no root.

    Examples
    --------
    >>> tree = Tree(np.array([0, 0, 1, 4, 3, NOBODY]), roots=np.array([0]))
    >>> tree.depth.tolist(), tree.lost.tolist()
    ([0.0, 1.0, 2.0, inf, inf, inf], [False, False, False, True, True, False])
    """

    def __init__(self, parent: Array, roots: Array) -> None:
        self.parent = parent
        self.child = parent != NOBODY
        self.child[roots] = False
        self.depth = self._depths(roots)
        self.lost = self.child & np.isinf(self.depth)

    def _depths(self, roots: Array) -> Array:
        """Pointer jumping: after k rounds every vertex has its ancestor 2^k steps up, and the number of steps to it."""
        vertices = np.arange(len(self.parent))
        above = np.where(self.child & (self.parent != STRANGER), self.parent, vertices)
        steps = (above != vertices).astype(np.int64)
        for _ in range(len(vertices).bit_length()):
            higher = above[above]
            if np.array_equal(higher, above):
                break
            steps += steps[above]
            above = higher
        rooted = np.zeros(len(vertices), bool)
        rooted[roots] = True
        return np.where(rooted[above], steps, np.inf)


@dataclass(frozen=True)
class Words:
    """The wording of the rules: for levels, or for distances."""

    noun: str
    tree_edge: str
    in_edge: str
    edges: str


LEVELS = Words(
    noun="level",
    tree_edge="every vertex is one level after its parent",
    in_edge="every reached vertex has an edge from one level before",
    edges="no edge skips a level",
)
DISTANCES = Words(
    noun="distance",
    tree_edge="every distance is that of the parent plus the weight of an edge from it",
    in_edge="every reached vertex has an edge that explains its distance",
    edges="no edge is a shortcut",
)


@dataclass(frozen=True)
class Result:
    """The result to check: distance: float64[vertices], inf where unreached; weight: number[arcs], None for 1.

    With `derived`, the distances are depths in the tree, so comparing the two is pointless.
    """

    graph: Graph
    roots: Array
    distance: Array
    tree: Tree | None
    weight: Array | None = None
    tolerance: float = 0.0
    derived: bool = False
    words: Words = DISTANCES

    def name(self, vertex: int) -> Any:
        """The user's id of a vertex number."""
        return arguments.user_id(self.graph, vertex)

    def at(self, vertex: int) -> str:
        """The distance of a vertex, in words."""
        found = self.distance[vertex]
        return "unreached" if np.isinf(found) else f"{self.words.noun} {_number(found)}"

    def parent_of(self, vertex: int) -> str:
        """The parent of a vertex, in words."""
        assert self.tree is not None
        parent = self.tree.parent[vertex]
        if parent == STRANGER:
            return "a parent that is not in the graph"
        return "no parent" if parent == NOBODY else f"parent {self.name(parent)}"


def _number(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def path_rules(result: Result) -> list[Rule]:
    """Every rule but the range of the values, which depends on the user's argument."""
    import arcflux.validate.kernels as kernels

    size = result.graph.vertices
    parent = np.full(size, NOBODY) if result.tree is None else result.tree.parent
    tight, joined, arcs = np.zeros(size, bool), np.zeros(size, np.uint8), ArcTally(rules=3)
    sweep(
        f"validate {result.words.noun}s", kernels.relax, result.graph.out, result.weight, frozen(result.distance),
        frozen(parent), result.tolerance, tight, joined, arcs.tally, arcs.first,
    )  # fmt: skip
    if result.tree is None:
        explained = _in_edge_rules(result, tight, flat=arcs.count(kernels.FLAT) > 0)
    else:
        explained = _tree_rules(result, result.tree, joined)
    return [
        _source_rule(result),
        *explained,
        arcs.rule(kernels.FAR, "edges", result.words.edges, lambda place: _shortcut(result, place)),
        arcs.rule(
            kernels.UNREACHED,
            "span",
            "every edge from a reached vertex leads to a reached vertex",
            lambda place: _cut(result, place),
        ),
    ]


def _source_rule(result: Result) -> Rule:
    noun, tree, roots = result.words.noun, result.tree, result.roots
    wrong = result.distance[roots] != 0
    if tree is not None:
        wrong |= tree.parent[roots] != roots

    def tell(v: int) -> Offence:
        if tree is None:
            return Offence(result.name(v), result.at(v), f"{noun} 0")
        return Offence(result.name(v), f"{result.at(v)}, {result.parent_of(v)}", f"{noun} 0, itself as parent")

    who = "the source is" if len(roots) == 1 else "every source is"
    sentence = f"{who} at {noun} 0" + ("" if tree is None else " and its own parent")
    return Rule.checked("source", sentence, roots[wrong], tell)


def _tree_rules(result: Result, tree: Tree, joined: Array) -> list[Rule]:
    """The parents form a tree of the graph's edges, rooted at the sources, that explains every distance."""
    rules = [
        Rule.checked(
            "tree",
            "parents lead from every vertex that has one to a source, without a cycle",
            np.flatnonzero(tree.lost),
            lambda v: Offence(result.name(v), result.parent_of(v), "parents that lead to a source"),
        ),
        Rule.checked(
            "parent-edge",
            "every parent has an edge to its child",
            np.flatnonzero(tree.child & (joined == 0)),
            lambda v: Offence(result.name(v), result.parent_of(v), f"a vertex with an edge to {result.name(v)}"),
        ),
    ]
    return rules if result.derived else [_agreement_rule(result, tree), *rules, _tree_edge_rule(result, tree, joined)]


def _agreement_rule(result: Result, tree: Tree) -> Rule:
    return Rule.checked(
        "agreement",
        f"a vertex has a {result.words.noun} exactly when it has a parent",
        np.flatnonzero(np.isfinite(result.distance) != (tree.parent != NOBODY)),
        lambda v: Offence(result.name(v), f"{result.at(v)}, {result.parent_of(v)}", "both, or neither"),
    )


def _tree_edge_rule(result: Result, tree: Tree, joined: Array) -> Rule:
    step = "1" if result.weight is None else "the weight of an edge from there"

    def tell(v: int) -> Offence:
        p = tree.parent[v]
        return Offence(result.name(v), result.at(v), f"{result.at(p)} of its parent {result.name(p)} plus {step}")

    bent = tree.child & np.isfinite(result.distance) & (joined == 1)
    return Rule.checked("tree-edge", result.words.tree_edge, np.flatnonzero(bent), tell)


def _in_edge_rules(result: Result, tight: Array, flat: bool) -> list[Rule]:
    """Without a tree: a tight edge explains each distance, and tight edges lead back to a source."""
    needed = np.isfinite(result.distance)
    needed[result.roots] = False

    def tell(v: int) -> Offence:
        if result.weight is None:
            one_before = f"{result.words.noun} {_number(result.distance[v] - 1)}"
            return Offence(result.name(v), result.at(v), f"an edge from a vertex at {one_before}")
        return Offence(result.name(v), result.at(v), "the distance of a vertex plus the weight of an edge from it")

    rules = [Rule.checked("in-edge", result.words.in_edge, np.flatnonzero(needed & ~tight), tell)]
    if result.weight is not None:
        # Where the distance grows along every tight edge, tight edges form no cycle: they start at a source.
        circular = needed & tight & ~_reachable(result, ~needed | ~tight) if flat else np.zeros(len(tight), bool)
        rules.append(
            Rule.checked(
                "path",
                "edges that explain distances do not only explain each other",
                np.flatnonzero(circular),
                lambda v: Offence(result.name(v), result.at(v), "edges that explain it, all the way from a source"),
            )
        )
    return rules


def _reachable(result: Result, start: Array) -> Array:
    """The vertices that tight edges reach from those marked in `start`: bool[vertices]."""
    import arcflux.validate.kernels as kernels

    reached = start.copy()
    queue = np.empty(len(start), np.int64)
    seeds = np.flatnonzero(start)
    queue[: len(seeds)] = seeds
    run(
        kernels.tight_paths, 1, *result.graph.out, result.weight, frozen(result.distance), result.tolerance, queue,
        len(seeds), reached,
    )  # fmt: skip
    return reached


def _ends(result: Result, place: int) -> tuple[int, int, str]:
    u, v = arguments.arc(result.graph, place)
    return u, v, f"edge {result.name(u)} -> {result.name(v)}"


def _shortcut(result: Result, place: int) -> Offence:
    u, v, edge = _ends(result, place)
    length = 1 if result.weight is None else result.weight[place]
    most = _number(result.distance[u] + float(length))
    leaving = f"{edge} leaves {result.at(u)}"
    along = leaving if result.weight is None else f"{leaving} with weight {_number(length)}"
    return Offence(result.name(v), result.at(v), f"at most {most}: {along}")


def _cut(result: Result, place: int) -> Offence:
    u, v, edge = _ends(result, place)
    return Offence(result.name(v), "unreached", f"reached: {edge} leaves {result.at(u)}")
