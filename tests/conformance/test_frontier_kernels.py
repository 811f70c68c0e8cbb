"""Kernels of a frontier, interpreted: each kind of program by hand, in each way that its kernel can go.

Random programs seldom are of the kinds that have a way of their own: a search that claims vertices, one that takes any
message, one whose pull leaves bits. Here all are, on graphs that have rows of every length.
"""

from contextlib import ExitStack
from functools import cache
from unittest import mock

import numpy as np
import pytest
from program_fuzzer.ways import Way
from test_several_chunks import small_chunks

import arcflux as af
from arcflux.compile import cache as cache_of_programs
from arcflux.engine import loop


@af.program
class Tree:
    """A search that claims vertices by their parents."""

    sparse = True
    level: af.i32
    parent: af.ref

    def start(v):
        v.level = 0 if v.number == 1 else -1
        v.parent = v.number if v.number == 1 else -1
        return v.number == 1

    def wants(v):
        return v.parent < 0

    def compute(v, u):
        v.parent = af.any(u.number)

    def update(v, step):
        if v.parent < 0:
            return False
        v.level = step + 1
        return True


@af.program
class Waves:
    """Any message will do, and it may say what v was, what the edge is, and when."""

    sparse = True
    tolerance: float = 0.0
    last: af.i64
    level: af.i64

    def start(v):
        v.level = v.number % 2
        return v.number == 1

    def init(v):
        v.last = -1

    def compute(v, u, edge, old):
        v.last = af.any(edge.weight + old.level * 100 + old.number % 7)

    def update(v, old, step):
        if v.last < 0:
            return False
        v.level = step * 2 + v.number % 2 + 1
        return v.last >= 0 and old.level < 4

    def residual(v, old):
        return abs(v.level - old.level)


@af.program
class Hops:
    """What is sent changes: a pull keeps new values aside."""

    hops: af.i64

    def start(v):
        v.hops = 0 if v.number == 1 else 99
        return v.number == 1

    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)

    def update(v, old):
        return v.hops < old.hops


@af.program
class Largest:
    """What is sent never changes: a pull writes at once, and leaves the next frontier in bits."""

    key: af.i64
    best: af.i64

    def start(v):
        v.key = v.number * 7 % 31
        v.best = -1
        return v.number < 3

    def compute(v, u):
        v.best = max(v.best, u.key)

    def update(v, old):
        return v.best > old.best


@af.program
class Flows:
    """Sums that say how much moved; vertices that have enough want no more."""

    sparse = True
    tolerance: float = 0.5
    got: af.i64
    kept: af.i64

    def start(v):
        v.kept = 1
        return v.number % 3 == 1

    def init(v):
        v.got = 0

    def wants(v):
        return v.kept < 60

    def compute(v, u, edge):
        v.got += u.kept * edge.weight

    def update(v, old, step):
        v.kept = (v.kept + v.got) % 64
        return v.got > 0 and (v.number + step) % 4 != 0

    def residual(v, old):
        return abs(v.kept - old.kept)


def ladder() -> af.Graph:
    """Vertex v has v in-edges, of the vertices before it, and the last ones lead back."""
    ends = [(u, v) for v in range(20) for u in range(v)] + [(v, v - 11) for v in range(14, 20)]
    source, target = zip(*ends, strict=True)
    return af.Graph.from_edges(source, target, columns={"weight": [k % 5 for k in range(len(ends))]}, vertices=21)


def mesh() -> af.Graph:
    """Rows that look alike, 12 by 12."""
    ends = [(12 * y + x, 12 * y + x + 1) for y in range(12) for x in range(11)]
    ends += [(12 * y + x, 12 * y + x + 12) for y in range(11) for x in range(12)]
    source, target = zip(*ends, strict=True)
    return af.Graph.from_edges(source, target, columns={"weight": [k % 3 for k in range(len(ends))]}, directed=False)


def bells() -> af.Graph:
    """A path, 60 vertices of which two pairs of five are joined, and a path from there."""
    ends = [(k, k + 1) for k in range(9)] + [(k, k + 1) for k in range(69, 79)]
    ends += [(a, b) for a in range(9, 70) for b in range(a + 1, 70) if (31 * a + 17 * b) % 5 < 2]
    source, target = zip(*ends, strict=True)
    return af.Graph.from_edges(source, target, vertices=80, directed=False)


GRAPHS = {"ladder": ladder, "mesh": mesh}
PROGRAMS = {program.name: program for program in (Tree, Waves, Hops, Largest, Flows)}
# The options, the patches of the fuzzer, and whether every superstep is a launch.
WAYS = [
    ({"direction": "push", "threads": 1}, (), False),
    ({"direction": "pull", "threads": 1}, (), True),
    ({"direction": "auto", "threads": 2}, ("teams",), True),
    ({"direction": "push", "threads": 3}, ("teams",), False),
    ({"direction": "pull", "threads": 2, "deterministic": True}, (), False),
    ({"direction": "push", "threads": 2}, ("patterns", "teams"), False),
]


@cache
def plainly(program: str, graph: str) -> af.Result:
    return af.run(PROGRAMS[program], GRAPHS[graph](), debug=True, max_supersteps=5)


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize(("options", "patches", "one_at_once"), WAYS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_kind_of_frontier_program(program, graph, options, patches, one_at_once) -> None:
    plain, built = plainly(program, graph), GRAPHS[graph]()
    with ExitStack() as stack:
        stack.enter_context(small_chunks())
        if one_at_once:
            stack.enter_context(mock.patch.object(loop, "_AT_ONCE", 1))
        given = stack.enter_context(Way(options, True, patches).active())
        run = af.run(PROGRAMS[program], built, max_supersteps=5, **given)
    chosen = {"Tree": "parent", "Waves": "last"}.get(program, "")
    for name, values in plain.values.items():
        if name != chosen or options.get("deterministic"):
            assert run.values[name].tolist() == values.tolist(), name
    assert run.converged == plain.converged
    assert [step.frontier for step in run.history] == [step.frontier for step in plain.history]
    assert [step.residual for step in run.history] == [step.residual for step in plain.history]
    if program == "Tree":
        assert af.validate.bfs(built, 1, parent=run.numbers("parent"), numbers=True)["parent-edge"].passed
    if program in ("Tree", "Hops"):
        level = plain["level"] if program == "Tree" else plain["hops"]
        walked = [int(built.out_degrees[level == k].sum()) for k in range(len(run.history))]
        assert [step.edges for step in run.history] == walked


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("program", ["Tree", "Hops", "Flows"])
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("limit", [3, 40])
def test_one_worker_goes_on_alone_while_the_frontier_is_small(program: str, threads: int, limit: int) -> None:
    """Here it is while it has fewer than 30 edges, so that teams and single workers take turns."""
    graph = mesh()
    plain = af.run(PROGRAMS[program], graph, debug=True, max_supersteps=limit)
    with Way({}, True).active():
        whole = cache_of_programs.module
        text = "edges < 256"
        with mock.patch.object(cache_of_programs, "module", lambda source: whole(source.replace(text, "edges < 30"))):
            run = af.run(PROGRAMS[program], graph, direction="push", threads=threads, max_supersteps=limit)
    for name in set(plain.values) - {"parent"}:
        assert run.values[name].tolist() == plain.values[name].tolist(), name
    assert (run.converged, run.supersteps) == (plain.converged, plain.supersteps)
    assert [step.frontier for step in run.history] == [step.frontier for step in plain.history]


def test_a_run_changes_its_direction_and_back() -> None:
    """With `wants`: pull while that is estimated to look at fewer edges than a push (compile/direction.py)."""
    graph = bells()
    with Way({}, True).active():
        run = af.run(Tree, graph, direction="auto", threads=1)
    level = run["level"]
    unexplored, sent, expected = graph.arcs, 1, []
    for k in range(run.supersteps):
        size, edges = int((level == k).sum()), int(graph.out_degrees[level == k].sum())
        found = size / max(1, sent)  # for each edge of the superstep before: as many are taken to be found now
        push = edges * (1 + 9 * found)
        mean, share = graph.arcs / graph.vertices, edges / max(1, unexplored)
        pull = 0.4 * graph.vertices + unexplored / (1 + mean * share / 2)
        expected.append("pull" if push > pull else "push")
        unexplored, sent = unexplored - edges, edges
    assert [step.direction for step in run.history] == expected
    assert set(expected) == {"push", "pull"}
    assert np.array_equal(level, plain_levels(graph))


def plain_levels(graph: af.Graph) -> np.ndarray:
    return af.run(Tree, graph, debug=True)["level"]
