"""Runs ask the planner: what it chooses by rates that are known, that what was asked for wins, and what it keeps."""

from dataclasses import replace

import numpy as np
import plan_machine
import pytest

import arcflux as af
from arcflux import config
from arcflux.plan import advise, journal, rates
from arcflux.plan.advise import advised
from arcflux.plan.brief import brief, glanced, remember_depth
from arcflux.plan.fit import Curve, Fit
from arcflux.plan.sample import measured

beside = plan_machine.beside
CURVE = Curve.of(plan_machine.HIERARCHY)


def a_fit(launch, arc, dense=False, barrier=0.0):
    return Fit((launch, barrier, 0.0, arc, arc, 0.0), dense, CURVE, 4.0, 0.05, 0.1, 9, {"flat": (10.0, 0.0)})


RATES = {"bfs/auto": 1e-9, "bfs/push": 4e-9, "connected_components/auto": 1e-9, "pagerank/pull": 1e-9,
         "min_label/auto": 9e-9, "min_label/push": 1e-9}  # fmt: skip


@pytest.fixture
def machine(beside, monkeypatch):
    """Two cores, on which threads cost a millisecond and then are twice as fast."""
    monkeypatch.setattr(config, "cores", lambda: 2)
    many = {name: a_fit(1e-3, arc, name.startswith("pagerank")) for name, arc in RATES.items()}
    one = {name: a_fit(1e-5, 2 * arc, name.startswith("pagerank")) for name, arc in RATES.items()}
    calibration = plan_machine.made()
    of_two = {**calibration.machine, "cores": 2, "threads": 2}
    made = replace(calibration, machine=of_two, fits=many, alone=one, push_over_pull=2.5)
    made.save(beside)
    return made


def large(scale=14):
    """A graph that says it has far more arcs than it has."""
    graph = af.load(f"kron:{scale}")
    graph.kept["brief"] = replace(glanced(graph), arcs=100_000_000)
    return graph


def test_small_graphs_get_one_thread_and_large_ones_all(machine):
    for graph, threads in ((af.load("kron:8"), 1), (large(), 2)):
        for result in (af.bfs(graph, 1), af.pagerank(graph), af.connected_components(graph)):
            assert result.plan.threads == threads
            assert result.plan.ways[0].threads == threads
            seconds = [way.seconds for way in result.plan.ways]
            assert seconds[0] == min(seconds)


def test_what_was_asked_for_wins(machine, monkeypatch):
    graph = af.load("kron:8")
    assert af.bfs(graph, 1, threads=2).plan.threads == 2
    assert af.connected_components(graph, threads=2).plan.threads == 2
    pushed = af.bfs(large(), 1, direction="push")
    assert pushed.plan.direction == "push"
    assert {step.direction for step in pushed.history} == {"push"}
    monkeypatch.setenv("ARCFLUX_THREADS", "2")
    assert af.bfs(graph, 1).plan.threads == 2


def test_a_direction_is_chosen_where_it_is_clearly_faster(machine):
    graph = large()
    assert af.connected_components(graph, "min-label").plan.direction == "push"
    history = af.connected_components(graph, "min-label").history
    assert {step.direction for step in history} == {"push"}
    pulled = af.connected_components(graph, "min-label", direction="pull")
    assert {step.direction for step in pulled.history} == {"pull"}
    assert af.bfs(graph, 1).plan.direction == "auto"


def test_about_as_fast_is_not_enough(machine, beside):
    near = {name: replace(one, coefficients=tuple(0.95 * c for c in one.coefficients))
            for name, one in machine.fits.items()}  # fmt: skip
    replace(machine, alone=near).save(beside)
    plan = af.bfs(large(), 1).plan
    assert (plan.threads, plan.direction) == (2, "auto")
    assert "usual" in plan.reason


def test_nobody_is_asked_when_that_is_off(machine, monkeypatch):
    monkeypatch.setenv("ARCFLUX_PLAN", "0")
    graph = af.load("kron:8")
    assert af.bfs(graph, 1).plan is None
    assert af.connected_components(graph).plan is None
    assert af.triangles(graph).plan is None
    monkeypatch.delenv("ARCFLUX_PLAN")
    assert af.bfs(graph, 1, debug=True).plan is None
    assert af.bfs(graph, 1, devices=[af.devices.CPU(1)]).plan is None  # nobody knows what devices take


def test_results_do_not_depend_on_plans(machine, monkeypatch):
    graph = af.load("urand:8")
    planned = af.bfs(graph, 1)["level"], af.connected_components(graph)["component"], af.triangles(graph)["triangles"]
    monkeypatch.setenv("ARCFLUX_PLAN", "0")
    alone = af.bfs(graph, 1)["level"], af.connected_components(graph)["component"], af.triangles(graph)["triangles"]
    for one, other in zip(planned, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_a_calibration_usual_rates_are_used_and_said(beside):
    result = af.bfs(af.load("kron:8"), 1)
    assert not result.plan.measured_here
    assert "has not been measured" in str(result.explain())
    assert result.explain().to_dict()["plan"]["candidates"]


def test_a_broken_calibration_does_not_stop_a_run(machine, beside):
    beside.write_text("{")
    result = af.bfs(af.load("kron:8"), 1)
    assert not result.plan.measured_here
    assert any("cannot be read" in note for note in result.plan.notes)


def test_plans_are_made_once_for_a_graph(machine, beside):
    graph = af.load("kron:8")
    assert af.bfs(graph, 1).plan is af.bfs(graph, 2).plan
    assert af.bfs(af.load("kron:8"), 1).plan is not af.bfs(graph, 1).plan
    first = af.bfs(graph, 1).plan
    rates.current(fresh=True)
    assert af.bfs(graph, 1).plan is first
    replace(machine, push_over_pull=4.0).save(beside)
    rates.current(fresh=True)
    assert af.bfs(graph, 1).plan.push_over_pull == 4.0


def test_programs_of_ones_own_are_like_an_algorithm(machine):
    @af.program
    class Mine:
        heat: af.f64

        def start(v):
            v.heat = 1.0
            return True

        def init(v):
            v.heat = 0.0

        def compute(v, u):
            v.heat += 0.001 * u.heat

        def update(v, old):
            return v.heat != old.heat

    with pytest.warns(UserWarning, match="before it converged"):
        result = af.run(Mine, af.load("kron:8"), max_supersteps=2)
    assert result.plan.subject.algorithm == "pagerank"
    assert result.plan.key == "program Mine 8/pull"
    assert "like pagerank" in " ".join(result.explain().estimate.notes)


def test_what_is_only_like_an_algorithm_keeps_its_direction(machine):
    like = advise.program("Mine", False, 4.0, ("auto", "push"))
    same = advise.program("Components", False, 4.0, ("auto", "push"))
    assert advised(like, large(), None).direction == "auto"
    assert advised(same, large(), None).direction == "push"


def test_glances_see_what_statistics_do():
    for spec in ("kron:12", "urand:12", "grid:64x64", "ws:5000,k=10,p=0.01", "star:300", "path:2", "path:1"):
        graph = af.load(spec)
        seen, known = glanced(graph), brief(measured(graph))
        assert (seen.vertices, seen.arcs) == (known.vertices, known.arcs)
        assert seen.local == pytest.approx(known.local, abs=0.35), spec
        if spec not in ("star:300", "path:1"):
            assert seen.hot == pytest.approx(known.hot, rel=0.3)
            assert seen.squares == pytest.approx(known.squares, rel=0.5)
    empty = glanced(af.Graph.from_edges([], [], vertices=5))
    assert (empty.vertices, empty.arcs, empty.hot) == (5, 0, 0.0)


def test_depth_is_learnt_from_searches(machine):
    graph = af.load("path:50")
    before = glanced(graph).depth
    af.bfs(graph, 0)
    assert glanced(graph).depth == 50 != before
    remember_depth(graph, 3)
    assert glanced(graph).depth == 50
    lonely = af.Graph.from_edges([0], [1], vertices=50, directed=False)
    af.bfs(lonely, 7)  # reaches nobody, and tells nothing
    assert "depth" not in lonely.kept


def test_runs_are_kept_and_change_the_fit(machine, monkeypatch):
    monkeypatch.delenv("ARCFLUX_KEEP_RUNS")
    subject = advise.program("BFS", False, 0.0, ("auto",))
    for scale in range(6, 12):
        graph = af.load(f"kron:{scale}")
        for source in (-1, -2, -3):
            af.bfs(graph, int(np.argsort(graph.out_degrees)[source]), threads=1)
    journal.flush()
    kept = journal.read()
    assert {run.key for run in kept} >= {"bfs/auto"}
    assert all(run.threads == 1 for run in kept if run.key == "bfs/auto")
    found = rates.current(fresh=True)
    refitted = found.fit("bfs/auto", 1)
    assert refitted != machine.alone["bfs/auto"]
    assert found.fit("bfs/auto", 2) == machine.fits["bfs/auto"]
    graph = af.load("kron:10")
    plan = advised(subject, graph, 1)
    taken = min(af.bfs(graph, int(graph.out_degrees.argmax()), threads=1).seconds for _ in range(5))
    assert plan.ways[0].seconds == pytest.approx(taken, rel=9.0)  # of the right size; what was made up was 25 us


def test_runs_that_tell_nothing_are_not_kept(machine, monkeypatch):
    monkeypatch.delenv("ARCFLUX_KEEP_RUNS")
    graph = af.Graph.from_edges([0], [1], vertices=500, directed=False)
    af.bfs(graph, 77)
    with pytest.warns(UserWarning, match="before it converged"):
        af.bfs(af.load("path:50"), 0, max_supersteps=3)
    assert journal.read() == []
