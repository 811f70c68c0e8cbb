"""Iterations whose order is fixed run many in one launch, and give to the bit what calls from Python give."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numba.core.errors import NumbaError

import arcflux as af
from arcflux.algorithms.eigenvector import Eigenvector, WeightedEigenvector
from arcflux.algorithms.hits import HITS
from arcflux.algorithms.independent_set import IndependentSet
from arcflux.algorithms.matching import Matching
from arcflux.compile.iteration import fixed_order
from arcflux.compile.lower import lower
from arcflux.engine.phases import fused, together
from arcflux.spmd.team import Team

LAUNCHES = []


@af.program
class Mixed:
    """Phases with starts, without edges, around, with a residual; locals, branches and several returns."""

    rounds: int = 7
    x: af.f64
    y: af.i64
    sum: af.total(af.f64)
    most: af.total(af.i64, "max")
    odd: af.total(af.flag, "or")

    def start(v, g):
        v.x = 1.0 + v.number % 5
        g.sum += v.x
        return True

    @af.phase
    class spread:
        def init(v):
            v.x = 0.0

        def compute(v, u):
            v.x += 0.3 * u.x

        def residual(v, old):
            return abs(v.x - old.x)

        def update(v, g):
            v.x = v.x + g.sum / g.vertices
            return v.x > 2.0

    @af.phase(edges=None)
    class count:
        def start(v):
            v.y = v.y + 1
            return True

        def update(v, g, step):
            g.most = max(g.most, v.y + step)
            g.odd |= v.number % 4 == 3
            g.sum += 1.0 / (1.0 + v.x)
            return v.x > 1.5

    @af.phase(edges="against")
    class look:
        def around(v, edges):
            v.y = v.y + sum(u.y % 3 for u in edges)

        def update(v):
            return v.y % 2 == 0

    def iteration(run, g, p):
        """Locals, branches, returns."""
        moved = run.spread()
        if moved == 0 and g.sum < 0.5:
            return False
        if run.count() > 3 or not g.odd:
            run.look()
        else:
            run.spread()
        few = g.most < 100000
        return few and run.iterations < p.rounds and run.changed - moved < g.vertices + 1


PROGRAMS = {
    "mixed": (Mixed, {}),
    "hits": (HITS, {"given": "weight", "tolerance": 1e-9}),
    "eigenvector": (Eigenvector, {"given": "centrality"}),
    "weighted eigenvector": (WeightedEigenvector, {"given": "centrality"}),
    "independent set": (IndependentSet, {}),
    "matching": (Matching, {}),
}
GRAPHS = ["kron:6,ef=4,weights=1-9,directed=false", "urand:n=2600,m=9000,weights=1-9"]


@pytest.fixture
def at_once(monkeypatch):
    """Iterations are fused from the first on; launches of them are counted."""
    LAUNCHES.clear()
    iterate = fused.Fused.iterate

    def counted(self, *given):
        found = iterate(self, *given)
        LAUNCHES.append(found)
        return found

    monkeypatch.setattr(fused.Fused, "iterate", counted)
    monkeypatch.setattr(together._Team, "_lost", lambda self: math.inf)


def ran(name, graph, **options):
    program, known = PROGRAMS[name]
    known = dict(known)
    if "given" in known:
        known["given"] = {known["given"]: np.full(graph.vertices, 1.0 / graph.vertices)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are cut short
        return af.run(program, graph, **known, **options)


def by_calls(name, graph, **options):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(together._Team, "iterate", lambda *given: None)
        return ran(name, graph, **options)


def same(found, expected):
    assert (found.converged, found.iterations, found.supersteps) == (
        expected.converged, expected.iterations, expected.supersteps
    )  # fmt: skip
    assert found.totals == expected.totals
    for field in expected.values:
        assert (found.values[field] == expected.values[field]).all(), field
    for a, b in zip(found.history, expected.history, strict=True):
        assert (a.phase, a.direction, a.changed, a.residual, a.totals) == (
            b.phase, b.direction, b.changed, b.residual, b.totals
        )  # fmt: skip
        assert a.seconds > 0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spec", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_as_by_calls(at_once, name, spec, threads):
    graph = af.load(spec)
    options = {"threads": threads, "deterministic": True}
    if name in ("independent set", "matching") and graph.directed:
        graph = graph.both_ways()
    same(ran(name, graph, **options), by_calls(name, graph, **options))
    assert LAUNCHES


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 300])
def test_limits_are_kept_to_the_superstep(at_once, limit):
    graph = af.load(GRAPHS[0])
    options = {"max_supersteps": limit, "rounds": 400, "deterministic": True}
    same(ran("mixed", graph, **options), by_calls("mixed", graph, **options))


@af.program
class Endless:
    """Never quiet, however long it runs."""

    x: af.i64

    @af.phase(edges=None)
    class flip:
        def update(v):
            v.x = 1 - v.x
            return True

    def iteration(run):
        run.flip()
        return True


def test_a_timeout_ends_iterations_that_go_on(at_once):
    with pytest.warns(UserWarning, match="stopped after"):
        result = af.run(Endless, af.load(GRAPHS[0]), timeout=0.3)
    assert not result.converged
    assert result.iterations > 20
    assert LAUNCHES
    assert len(result.history) == result.supersteps


def test_a_kernel_is_made_when_calls_have_cost_as_much(monkeypatch):
    made = []
    monkeypatch.setattr(together, "fusing", lambda *given: made.append(1))
    cost = iter([0.0, 0.0, 1e9])
    monkeypatch.setattr(together._Team, "_lost", lambda self: next(cost))
    ran("mixed", af.load("kron:5,ef=4,directed=false"), rounds=5)
    assert made == [1]  # asked once, when it was enough; then, there being none, not again in this run


@pytest.mark.parametrize(("spin", "crew"), [(math.inf, 1), (0.0, 3)])
def test_calls_that_are_too_short_to_share_are_those_of_one_worker(at_once, monkeypatch, spin, crew):
    monkeypatch.setattr(fused, "_SPIN_SECONDS", spin)
    launched = []
    launch = Team.launch

    def noted(self, kernel, chunks, *given, **named):
        if kernel.__name__ == "fused":
            launched.append(chunks)
        launch(self, kernel, chunks, *given, **named)

    monkeypatch.setattr(Team, "launch", noted)
    options = {"rounds": 400, "deterministic": True, "threads": 3}
    graph = af.load(GRAPHS[0])
    same(ran("mixed", graph, **options), by_calls("mixed", graph, **options))
    assert len(launched) > 1
    assert set(launched[1:]) == {crew}


@pytest.mark.parametrize("vertices", [0, 1])
def test_graphs_of_hardly_any_vertices(at_once, vertices):
    graph = af.Graph.from_edges([], [], vertices=vertices)
    options = {"rounds": 3, "deterministic": True}
    same(ran("mixed", graph, **options), by_calls("mixed", graph, **options))
    assert bool(LAUNCHES) is (vertices > 0)


def test_a_kernel_that_cannot_be_compiled_is_done_without(at_once, monkeypatch):
    def failing(self):
        raise NumbaError("out of luck")

    monkeypatch.setattr(fused.Fused, "ready", failing)
    graph = af.load("kron:5,ef=4,directed=false")
    options = {"rounds": 5, "deterministic": True}
    same(ran("mixed", graph, **options), by_calls("mixed", graph, **options))
    assert not LAUNCHES


NOT_FIXED = [
    "run.spread(until='quiet')\n        return run.iterations < 5",
    "print(run.spread())\n        return False",
    "for k in range(3):\n            run.spread()\n        return run.iterations < 5",
    "run.spread()\n        return 1.0 / g.sum < 3.0",
    "run.spread()\n        return g.vertices * g.vertices < 100",
    "run.spread()\n        return g.most + 1 < 100",
    "run.spread()\n        return g.most < g.sum",
    "run.spread()\n        return p.rounds",
    "run.spread()\n        return run.iterations < ROUNDS",
    "if run.iterations < 3 and run.spread() > 0:\n            return True\n        return False",
    "if run.iterations < 3:\n            return run.spread() > 0",
    "run.spread()\n        x = 1\n        x = x + 1\n        return x < 1",
    "return run.iterations < 5",
    "run.spread()\n        return 0 < run.iterations < 5",
    "run.spread()\n        return run.iterations < 2**0.5",
    "run.spread()\n        return g.row[0] < 1.0",
    "run.spread()\n        return g.sum < 1e999",
    "run.spread()\n        return q.rounds < 3",
    "if run.spread() == 0:\n            raise ValueError\n        return True",
]


def written(tmp_path, body, arguments="run, g, p"):
    """A program whose iteration is this text."""
    text = f"""
import arcflux as af
ROUNDS = 3

@af.program
class Written:
    rounds: int = 7
    x: af.f64
    sum: af.total(af.f64)
    most: af.total(af.i64, "max")
    row: af.total(af.f64[2])

    @af.phase(edges=None)
    class spread:
        def update(v, g):
            g.sum += 1.0
            g.row += 1.0
            g.most = max(g.most, v.number)
            return True

    def iteration({arguments}):
        {body}
"""
    path = tmp_path / "written.py"
    path.write_text(text)
    names = {}
    exec(compile(text, str(path), "exec"), names)
    return names["Written"]


def order(program):
    return fixed_order(lower(program, {}), ["spread"], lambda i: [f"call {i}"])


def test_names_of_the_module_are_not_those_of_arguments(tmp_path):
    """Without it among the arguments, p is whatever the module calls so."""
    body = "run.spread()\n        return p.rounds > run.iterations"
    assert order(written(tmp_path, body)) is not None
    assert order(written(tmp_path, body, "run, g")) is None


@pytest.mark.parametrize("body", NOT_FIXED)
def test_what_python_has_to_decide(tmp_path, body):
    assert order(written(tmp_path, body)) is None


FIXED = {
    "return run.spread() > 0": 1,
    "run.spread()\n        run.spread()\n        return g.sum < 1.5 and not g.vertices > 4": 2,
    "if run.spread():\n            run.spread()\n        else:\n            return False\n        return True": 2,
    "left = run.spread() - 3\n        return left * 5 > -g.edges or p.rounds > run.iterations": 1,
}


@pytest.mark.parametrize("body", FIXED)
def test_what_a_kernel_decides(tmp_path, body):
    found = order(written(tmp_path, body))
    assert found is not None
    assert found.calls == FIXED[body]
