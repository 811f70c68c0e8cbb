"""What random programs found: small programs on which ways to run them once differed (tests/fuzz)."""

import warnings

import pytest

import arcflux as af


@af.program
class Rounds:
    """Sparse without a promise, and every vertex that receives sends again, changed or not."""

    low: af.i64

    def start(v):
        v.low = v.number
        return True

    def compute(v, u):
        v.low = min(v.low, 0)

    def update(v):
        return True


@af.program
class Lowest:
    """With a priority, and not without `wants`: who is in the frontier matters, by supersteps too."""

    low: af.i64

    def start(v):
        v.low = 1 + v.number
        return v.number == 2

    def wants(v):
        return v.low > 0

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, old):
        return v.low < old.low

    def priority(v):
        return v.low


@af.program
class Measured:
    """Sparse, with a residual: who was measured once, and then received nothing, has not moved."""

    sparse = True
    x: af.i64

    def start(v):
        v.x = 100 - 10 * v.number
        return v.number < 2

    def compute(v, u):
        v.x = min(v.x, u.x - 30)

    def update(v, old):
        if v.x == old.x:
            return False
        return v.number == 2

    def residual(v, old):
        return abs(v.x - old.x)


@af.program
class Choosy:
    """Every vertex sends; some want nothing after the first superstep, and are not measured any more."""

    x: af.i64

    def start(v):
        return True

    def wants(v, step):
        return step == 0 or v.number > 1

    def init(v):
        v.x = 0

    def compute(v, u, step):
        v.x += step + 1

    def update(v, step):
        return step < 2

    def residual(v, old):
        return abs(v.x - old.x)


WAYS = [
    {"direction": "push"}, {"direction": "pull"}, {"direction": "auto"}, {"deterministic": True},
    {"parts": 2, "ranks_per_node": 1}, {"parts": 2, "ranks_per_node": 1, "direction": "pull"},
    {"parts": 2, "ranks_per_node": 1, "deterministic": True}, {"parts": 2, "exchange": "owners", "direction": "pull"},
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("program", [Rounds, Lowest, Measured, Choosy], ids=lambda p: p.name)
def test_ways_agree(program: object, way: dict[str, object]) -> None:
    graph = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = af.run(program, graph, debug=True, max_supersteps=6)
        found = af.run(program, graph, max_supersteps=6, **way)
    assert {name: values.tolist() for name, values in found.values.items()} == {
        name: values.tolist() for name, values in plain.values.items()
    }
    assert found.converged == plain.converged
    if program is not Lowest:  # buckets are no supersteps
        assert [step.frontier for step in found.history] == [step.frontier for step in plain.history]
        assert [step.residual for step in found.history] == [step.residual for step in plain.history]


def test_what_they_give() -> None:
    """Plain Python is right, too."""
    graph = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    rounds = af.run(Rounds, graph, debug=True)
    assert [step.frontier for step in rounds.history] == [5, 4, 3, 2, 1]
    assert af.run(Lowest, graph, debug=True)["low"].tolist() == [1, 2, 3, 3, 3]
    assert [step.residual for step in af.run(Measured, graph, debug=True).history] == [40.0, 40.0]
