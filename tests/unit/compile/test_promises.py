"""What a program promises is checked by debug=True."""

import math

import numpy as np
import pytest

import arcflux as af
from arcflux.algorithms.betweenness import dependencies
from arcflux.errors import ProgramError, UsageError


@af.program
class NotSparse:
    """Changes whether or not a message comes."""

    sparse = True
    x: af.i64

    def start(v):
        return v.number == 0

    def compute(v, u):
        v.x = max(v.x, u.number)

    def update(v, step):
        v.x = v.x + 1
        return step < 3


@af.program
class NotMonotone:
    """Counts the neighbours' values: fresher ones give another sum."""

    monotone = True
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def init(v):
        v.x = 0

    def compute(v, u):
        v.x += u.x

    def update(v, step):
        return step < 2


@af.program
class Monotone:
    """The smallest number that reaches a vertex."""

    monotone = True
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def compute(v, u):
        v.x = min(v.x, u.x)

    def update(v, old):
        return v.x < old.x


@af.program
class BadResidual:
    """Measures something that can be negative."""

    x: af.f64

    def start(v):
        v.x = v.number
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += 0.5 * u.x

    def update(v, step):
        return step < 3

    def residual(v, old):
        return v.x - old.x


@af.program
class Nearly:
    """Shortest paths that are content with the first that is short enough: which that is, the order decides."""

    enough: float = 0.0
    distance: af.f64

    def start(v):
        v.distance = 0.0 if v.number == 0 else math.inf
        return v.number == 0

    def wants(v, p):
        return v.distance > p.enough and v.number != 3

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        return v.distance < old.distance

    def priority(v):
        return v.distance


@af.program
class Worse:
    """Passes on how far a value is from 5, so that a smaller value may send a larger one."""

    x: af.f64

    def start(v):
        v.x = 7.0 if v.number == 0 else 99.0
        return v.number == 0

    def compute(v, u, edge):
        v.x = min(v.x, abs(u.x - 5.0) + edge.weight)

    def update(v, old):
        return v.x < old.x

    def priority(v):
        return v.x


@af.program
class Linear:
    """The solution of x = b + W x, by supersteps."""

    tolerance: float = 1e-9
    x: af.f64

    def start(v):
        return True

    def init(v):
        v.x = 1.0

    def compute(v, u, edge):
        v.x += edge.weight * u.x

    def update(v, old):
        return v.x != old.x

    def residual(v, old):
        return abs(v.x - old.x)


def linear(weights: list[float]) -> af.Graph:
    return af.Graph.from_edges([1, 2, 0, 2, 0, 1], [0, 0, 1, 1, 2, 2], columns={"weight": weights})


def test_what_only_settles_by_supersteps_is_not_monotone() -> None:
    """Jacobi's iteration ends after three steps here, and that of Gauss and Seidel never does."""
    graph = linear([-2.0, 2.0, -1.0, -1.0, -2.0, -2.0])
    assert af.run(Linear, graph, debug=True).converged
    with pytest.raises(ProgramError, match="monotone is promised, but after the end of a run with fresher values"):
        af.run(Linear.promising("monotone"), graph, debug=True, max_supersteps=50)


def test_a_monotone_program_of_which_all_send_ends_sooner_at_the_same_place() -> None:
    graph = linear([0.2, 0.1, 0.3, 0.1, 0.2, 0.2])
    exact = np.linalg.solve(np.eye(3) - [[0, 0.2, 0.1], [0.3, 0, 0.1], [0.2, 0.2, 0]], np.ones(3))
    slow, fast = (af.run(program, graph, threads=1) for program in (Linear, Linear.promising("monotone")))
    assert fast.supersteps < slow.supersteps
    np.testing.assert_allclose(fast["x"], exact, atol=1e-8)
    assert af.run(Linear.promising("monotone"), graph, debug=True).converged
    same = af.run(Linear.promising("monotone"), graph, deterministic=True)
    assert same["x"].tolist() == slow["x"].tolist()


def test_what_is_no_promise() -> None:
    with pytest.raises(UsageError, match="'swift' is no promise"):
        Linear.promising("swift")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (NotSparse, "sparse is promised, but vertex 0 changes x without a message, in superstep 0"),
        (NotMonotone, "monotone is promised, but with fresher values of u, x of vertex 0 becomes"),
        (BadResidual, "residual is promised, but it is -1.5 at vertex 2, superstep 0"),
    ],
)
def test_broken_promises(program: af.program, said: str) -> None:
    with pytest.raises(ProgramError, match=said):
        af.run(program, af.load("path:3"), debug=True)


def test_wants_of_a_program_in_an_order() -> None:
    """Vertex 1 hears 5 from 0 and then 2 by way of 2; vertex 3 wants nothing at any time, which no order shows."""
    graph = af.Graph.from_edges([0, 0, 2, 1], [1, 2, 1, 3], columns={"weight": [5.0, 1.0, 1.0, 1.0]})
    assert af.run(Nearly, graph, debug=True)["distance"].tolist() == [0.0, 2.0, 1.0, math.inf]
    later = "vertex 1 wants no more messages, but one would make distance 2.0, not 5.0, in superstep 1"
    with pytest.raises(ProgramError, match=f"wants is promised, but {later}"):
        af.run(Nearly, graph, enough=7.0, debug=True)


@pytest.mark.parametrize("weights", [[9.0, 5.0], [5.0, 9.0]])
def test_wants_that_the_messages_of_one_superstep_decide(weights: list[float]) -> None:
    """Both messages come in one superstep, and 9 would be enough if it came first."""
    graph = af.Graph.from_edges([0, 0], [1, 1], columns={"weight": weights})
    assert af.run(Nearly, graph, enough=4.0, debug=True)["distance"][1] == 5.0
    two = af.Graph.from_edges([0, 0, 1, 2], [1, 2, 4, 4], columns={"weight": [1.0, 1.0, *weights]}, vertices=5)
    sender = 1 + weights.index(9.0)
    said = (
        f"vertex 4 wants no more messages after that of vertex {sender}, but another would make distance 6.0, not 10.0"
    )
    with pytest.raises(ProgramError, match=said):
        af.run(Nearly, two, enough=20.0, debug=True)


def test_a_better_value_that_sends_a_worse_message() -> None:
    """Vertex 1 becomes 5.5, and then 4 by way of 2; by priority it may send 4 alone, which is 1 for vertex 3."""
    graph = af.Graph.from_edges([0, 0, 2, 1], [1, 2, 1, 3], columns={"weight": [3.5, 0.0, 1.0, 0.0]})
    said = "priority is promised, but x of vertex 3 is 0.5, and 1.0 by what its neighbours sent last"
    with pytest.raises(ProgramError, match=said):
        af.run(Worse, graph, debug=True)
    honest = af.Graph.from_edges([0, 0, 2, 1], [1, 2, 1, 3], columns={"weight": [9.5, 0.0, 1.0, 0.0]})
    assert af.run(Worse, honest, debug=True)["x"].tolist() == [7.0, 4.0, 2.0, 1.0]


def test_wants_by_supersteps_is_taken_as_it_is_meant() -> None:
    """A search stays with the first parent, and its own messages would change it: left out is what it asks for."""
    graph = af.load("complete:4")
    assert af.run(af.algorithms.BFS, graph, source=0, debug=True)["parent"].tolist() == [0, 0, 0, 0]


def test_algorithms_keep_their_promises() -> None:
    random = np.random.default_rng(5)
    ends = random.integers(0, 30, (2, 90))
    graph = af.Graph.from_edges(*ends, columns={"weight": random.integers(0, 3, 90)}, vertices=30, directed=False)
    for found in (
        af.bfs(graph, 1, debug=True),
        af.sssp(graph, 1, debug=True),
        af.sssp(graph, 1, weight=None, debug=True),
        af.multi_source_sssp(graph, [1, 2], debug=True),
        af.pagerank(graph, debug=True),
        af.pagerank_delta(graph, debug=True),
        dependencies(graph, 1, debug=True),
        af.run(af.algorithms.Components, graph, debug=True),
        af.run(af.algorithms.SSSP, graph, source=1, debug=True),
    ):
        assert found.converged


def test_kept_promises() -> None:
    graph = af.load("cycle:7")
    for program in (Monotone, af.algorithms.PageRank):
        assert af.run(program, graph, debug=True).converged
    assert af.run(af.algorithms.BFS, graph, source=3, debug=True).converged
