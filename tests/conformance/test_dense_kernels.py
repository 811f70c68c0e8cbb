"""Kernels of dense programs, interpreted: rows of every length, several chunks, what is measured and what is summed."""

from contextlib import ExitStack
from functools import cache
from unittest import mock

import pytest
from program_fuzzer.ways import Way
from test_frontier_kernels import GRAPHS
from test_several_chunks import small_chunks

import arcflux as af
from arcflux.engine import loop


@af.program
class Measured:
    """Eighths, so that sums are exact in any order; what is lost is known in the next superstep."""

    tolerance: float = 2.0
    x: af.f64
    n: af.i64
    lost: af.total(af.f64)

    def start(v):
        v.x = v.number % 8 * 0.125
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u, edge, old):
        v.x += u.x * 0.5 + edge.weight * 0.125
        v.n = max(v.n, u.n + old.number % 3)

    def update(v, old, g, step):
        v.x = v.x % 4.0 + g.lost % 1.0
        g.lost += v.x * 0.5
        return v.n < 9 or v.x != old.x

    def residual(v, old):
        return abs(v.x - old.x)


@af.program
class Picky:
    """Who has enough wants no more messages, and is not measured."""

    tolerance: float = 1.0
    count: af.i64
    row: af.i64[3]

    def start(v):
        v.count = v.number % 5
        v.row[1] = v.number
        return True

    def wants(v):
        return v.count < 12

    def compute(v, u):
        v.count += u.count % 3
        v.row += u.row

    def update(v, old):
        v.row[0] = v.row[1] % 17
        v.row[1] = v.row[1] % 23
        return v.count != old.count

    def residual(v, old):
        return abs(v.count - old.count)


PROGRAMS = {program.name: program for program in (Measured, Picky)}
# The options, the patches of the fuzzer, and whether every superstep is a launch.
WAYS = [
    ({"direction": "pull", "threads": 1}, (), True),
    ({"direction": "pull", "threads": 3}, (), False),
    ({"direction": "push", "threads": 2}, (), True),
    ({"direction": "pull", "threads": 2, "deterministic": True}, ("runs",), False),
    ({"direction": "pull", "threads": 2}, ("blocks",), False),
    ({"parts": 3, "partition": "ranges", "direction": "pull"}, (), False),
    ({"parts": 3, "partition": "grid", "ranks_per_node": 1, "direction": "push", "threads": 2}, (), False),
    ({"parts": 2, "ranks_per_node": 1, "direction": "pull", "deterministic": True}, (), False),
]


@cache
def plainly(program: str, graph: str) -> af.Result:
    return af.run(PROGRAMS[program], GRAPHS[graph](), debug=True, max_supersteps=4)


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize(("options", "patches", "one_at_once"), WAYS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_dense_kernel(program, graph, options, patches, one_at_once) -> None:
    plain = plainly(program, graph)
    with ExitStack() as stack:
        stack.enter_context(small_chunks())
        if one_at_once:
            stack.enter_context(mock.patch.object(loop, "_AT_ONCE", 1))
        given = stack.enter_context(Way(options, True, patches).active())
        run = af.run(PROGRAMS[program], GRAPHS[graph](), max_supersteps=4, **given)
    for name, values in plain.values.items():
        assert run.values[name].tolist() == values.tolist(), name
    assert run.converged == plain.converged
    assert [step.residual for step in run.history] == [step.residual for step in plain.history]
    assert len(run.history) == len(plain.history)


@af.program
class Falls:
    """The least key of those with the same parity: new values may be seen at once, and others never."""

    monotone = True
    key: af.i64
    seen: af.i64

    def start(v):
        v.key = 1000 - v.number
        return True

    def compute(v, u):
        v.key = min(v.key, u.key)

    def update(v, old):
        v.seen = v.key
        return v.key < old.key


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_read_in_place_is_the_neighbours(threads: int) -> None:
    graph = af.Graph.from_edges([0, 2, 4, 1, 3, 5], [2, 4, 6, 3, 5, 7], directed=False)
    with Way({}, True).active():
        run = af.run(Falls, graph, direction="pull", threads=threads)
    assert run["key"].tolist() == [994, 993] * 4
    assert run.converged


@af.program
class Looping:
    """A loop that may be long, for which every superstep is a launch of its own."""

    n: int = 5000
    x: af.i64

    def compute(v, u):
        v.x += 1

    def update(v, p):
        for k in range(p.n):
            v.x = (v.x + k) % 1000
        return True


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("threads", [1, 2])
def test_supersteps_of_later_launches_have_seconds_of_their_own(threads):
    """They stand in the rows of their own launch: a row that was missed would say that its superstep took no time."""
    found = af.run(Looping, "kron:6", max_supersteps=6, threads=threads)
    assert len(found.history) == 6
    assert min(step.seconds for step in found.history) > 0
