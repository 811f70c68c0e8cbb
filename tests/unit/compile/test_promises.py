"""What a program promises is checked by debug=True."""

import pytest

import arcflux as af
from arcflux.errors import ProgramError


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


def test_kept_promises() -> None:
    graph = af.load("cycle:7")
    for program in (Monotone, af.algorithms.PageRank):
        assert af.run(program, graph, debug=True).converged
    assert af.run(af.algorithms.BFS, graph, source=3, debug=True).converged
