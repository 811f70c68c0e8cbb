"""Totals, in every way to run a program on cores: each operation against NumPy, and the same bits where asked for."""

import warnings

import numpy as np
import pytest
from program_fuzzer.ways import Way
from totalling import Everything, Reached, compare, everything, reached

import arcflux as af

GRAPHS = {"directed": "kron:6,ef=4,directed=true", "grid": "grid:9x7", "few": "path:3"}
STEPS = 5
DENSE = [
    Way({"debug": True}, interpret=False),
    Way({"threads": 1}),
    Way({"threads": 3}),
    Way({"threads": 3, "direction": "push"}),
    Way({"threads": 2}, patches=("blocks",)),
    Way({"threads": 2}, patches=("runs",)),
    Way({"deterministic": True, "threads": 2}, patches=("runs",)),
    Way({"deterministic": True, "threads": 3}),
    Way({"parts": 3}),
    Way({"parts": 3, "exchange": "readers", "direction": "push"}),
    Way({"parts": 3, "exchange": "owners", "ranks_per_node": 1}),
    Way({"parts": 4, "exchange": "allreduce", "ranks_per_node": 2}),
    Way({"parts": 4, "exchange": "mixed", "ranks_per_node": 2}),
    Way({"parts": 3, "partition": "random", "deterministic": True, "ranks_per_node": 1}),
    Way({"parts": 2}, devices=(("virtual", 0), ("cpu", 2))),
]
SPARSE = [way for way in DENSE if "runs" not in way.patches and "blocks" not in way.patches]
SPARSE += [
    Way({"threads": 2, "direction": "pull"}),
    Way({"threads": 2, "direction": "push"}, patches=("teams",)),
    Way({"threads": 3}, patches=("disturbed",)),
    Way({"threads": 2, "deterministic": True, "direction": "push"}),
]


def run(program: object, graph: af.Graph, way: Way, **more: object) -> af.Result:
    with warnings.catch_warnings(), way.active() as options:
        warnings.simplefilter("ignore")
        return af.run(program, graph, **options, **more)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("way", DENSE, ids=str)
def test_every_operation_is_that_of_numpy(graph: str, way: Way) -> None:
    there = af.load(GRAPHS[graph])
    fields, past, residuals = everything(there, STEPS)
    result = run(Everything, there, way)
    assert result.converged  # by stop, in superstep 4
    compare(result, past)
    np.testing.assert_allclose(result["x"], fields["x"], rtol=1e-9)
    np.testing.assert_array_equal(result["n"], fields["n"])
    np.testing.assert_allclose(result.column("residual"), residuals, rtol=1e-6)
    np.testing.assert_array_equal(result.column("count"), [totals["count"] for totals in past])


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("way", SPARSE, ids=str)
def test_totals_of_sparse_programs_are_of_those_that_received(graph: str, way: Way) -> None:
    there = af.load(GRAPHS[graph])
    hops, past = reached(there)
    result = run(Reached, there, way, source=0)
    compare(result, past)
    np.testing.assert_array_equal(result["hops"], hops)


@pytest.mark.parametrize("way", SPARSE, ids=str)
def test_stop_ends_a_sparse_program(way: Way) -> None:
    there = af.load("grid:9x7")
    hops, past = reached(there, 6)
    assert 0 < len(past) < reached(there)[1].__len__()
    result = run(Reached, there, way, source=0, most=6)
    assert result.converged
    compare(result, past)
    np.testing.assert_array_equal(result["hops"], hops)


@pytest.mark.parametrize("program", [Everything, Reached], ids=lambda p: p.name)
def test_deterministic_totals_have_the_same_bits(program: object) -> None:
    graph, source = af.load("kron:11,ef=3,directed=true"), {"source": 0} if program is Reached else {}
    ways = [
        {"threads": 1}, {"threads": 3}, {"parts": 3}, {"parts": 4, "ranks_per_node": 2, "partition": "random"},
        {"parts": 3, "ranks_per_node": 1, "direction": "push"},
    ]  # fmt: skip
    results = [run(program, graph, Way({**way, "deterministic": True}), **source) for way in ways]
    for result in results[1:]:
        for name in results[0].totals:
            a, b = (np.array([step.totals[name] for step in each.history]) for each in (results[0], result))
            assert a.tobytes() == b.tobytes(), name


def test_nothing_is_the_identity_and_a_nought_has_no_sign() -> None:
    @af.program
    class Nothing:
        x: af.f64
        sum: af.total(af.f64)
        low: af.total(af.f64, "min")
        high: af.total(af.f64, "max")
        some: af.total(af.flag, "or")
        every: af.total(af.flag, "and")
        nought: af.total(af.f64, "max")

        def start(v):
            v.x = 1.0
            return True

        def compute(v, u):
            v.x += u.x

        def update(v, g, step):
            if v.number > 5:
                g.sum += 1.0
                g.low = min(g.low, v.x)
                g.high = max(g.high, v.x)
                g.some |= True
                g.every &= False
            g.nought = max(g.nought, -0.0 if v.number % 2 else 0.0)
            return False

    expected = {"sum": 0.0, "low": np.inf, "high": -np.inf, "some": False, "every": True, "nought": 0.0}
    for options in ({"debug": True}, {"threads": 2}, {"parts": 2}):
        result = run(Nothing, af.load("path:3"), Way(options, interpret="debug" not in options))
        assert result.totals == expected
        assert not np.signbit(result.totals["nought"])
        assert {name: type(value) for name, value in result.totals.items()} == {
            name: type(value) if name != "nought" else float for name, value in expected.items()
        }


def test_before_the_first_superstep_totals_are_those_of_start() -> None:
    for options in ({"debug": True}, {"threads": 2}, {"parts": 2}):
        way = Way({**options, "max_supersteps": 0}, interpret="debug" not in options)
        totals = run(Everything, af.load("path:4"), way).totals
        assert totals["sum"] == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4)
        assert (totals["count"], totals["first"]) == (2, 4)
        assert totals["least"] == np.iinfo(np.int64).max
        assert totals["common"] == (1 << 64) - 1


def test_long_runs_keep_the_totals_of_every_superstep() -> None:
    """A launch has only so much room for them."""

    @af.program
    class Long:
        x: af.i64
        row: af.total(af.i64[256])

        def start(v):
            return True

        def compute(v, u):
            v.x = max(v.x, u.x)

        def update(v, g, step):
            v.x = step
            g.row[step % 256] += step
            return step < 700

    result = run(Long, af.load("path:2"), Way({"threads": 1}, interpret=False))
    assert result.supersteps == 701
    assert [int(step.totals["row"].sum()) for step in result.history] == [2 * k for k in range(701)]


def test_plain_python_names_what_a_total_cannot_take() -> None:
    @af.program
    class Lost:
        x: af.f64
        n: af.i64
        sum: af.total(af.f64)
        count: af.total(af.i64)

        def start(v):
            v.x = 0.0
            v.n = 1 << 62
            return True

        def compute(v, u):
            v.x += u.x

        def update(v, g, step):
            g.count += v.n
            g.sum += v.x / 0.0
            return True

    with pytest.raises(af.errors.ProgramError, match=r"g\.sum is given NaN at vertex 0, superstep 0") as caught:
        af.run(Lost, af.load("path:3"), debug=True)
    assert "g.sum += v.x / 0.0" in str(caught.value)


def test_a_kernel_compiles_with_every_operation() -> None:
    """What is interpreted above is compiled here, on a team, on frontiers and on parts."""
    graph = af.load("kron:6,ef=4,directed=true")
    _, past, _ = everything(graph, STEPS)
    for options in ({"threads": 2}, {"direction": "push"}, {"parts": 2}):
        compare(run(Everything, graph, Way(options, interpret=False)), past)
    for options in ({"threads": 2}, {"parts": 2}):
        compare(run(Reached, graph, Way(options, interpret=False), source=0), reached(graph)[1])
