"""Runs ask the planner: what it chooses by rates that are known, that what was asked for wins, and what it keeps."""

from dataclasses import replace

import numpy as np
import plan_machine
import pytest

import arcflux as af
from arcflux import config
from arcflux.plan import journal
from arcflux.plan.plans import Placement
from arcflux.plan.sketch import remember_depth, sketch_graph
from arcflux.plan.this_machine import choose, current
from arcflux.plan.work import program_work

beside = plan_machine.beside

ARCS = {"bfs/auto": 1e-9, "bfs/push": 4e-9, "connected_components/auto": 1e-9, "pagerank/pull": 1e-9,
        "min_label/auto": 9e-9, "min_label/push": 1e-9}  # fmt: skip


def machine_of(launch, arc, threads):
    rates = {name: {"launch": launch, "arcs": arc * each, "pushed arcs": arc * each} for name, each in ARCS.items()}
    return plan_machine.made(rates, threads)


@pytest.fixture
def machine(beside, monkeypatch):
    """Two cores, on which threads cost a millisecond and then are twice as fast."""
    monkeypatch.setattr(config, "cores", lambda: 2)
    return keep(beside, machine_of(1e-5, 2.0, 1))


def keep(beside, alone, ratio=2.5):
    many = machine_of(1e-3, 1.0, 2)
    of_two = {**many.machine, "cores": 2, "threads": 2}
    made = replace(many, machine=of_two, runs=(*many.runs, *alone.runs), fits={}, push_over_pull=ratio)
    made.save(beside)
    return made


def large(scale=14):
    """A graph that says it has far more arcs than it has."""
    graph = af.load(f"kron:{scale}")
    graph.kept["sketch"] = replace(sketch_graph(graph), arcs=100_000_000)
    return graph


def test_small_graphs_get_one_thread_and_large_ones_all(machine):
    for graph, threads in ((af.load("kron:8"), 1), (large(), 2)):
        for result in (af.bfs(graph, 1), af.pagerank(graph), af.connected_components(graph)):
            assert result.plan.threads == threads
            assert result.plan.chosen.threads == threads
            seconds = [one.seconds for one in result.plan.candidates]
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


def test_each_superstep_chooses_its_direction_whatever_is_predicted(machine):
    """By these rates pushing alone is faster; the frontier of a superstep says more than any rate."""
    graph = large()
    assert af.connected_components(graph, "min-label").plan.direction == "auto"
    history = af.connected_components(graph, "min-label").history
    assert {step.direction for step in history} == {"pull", "push"}
    pulled = af.connected_components(graph, "min-label", direction="pull")
    assert {step.direction for step in pulled.history} == {"pull"}
    assert af.bfs(graph, 1).plan.direction == "auto"


def test_about_as_fast_is_not_enough(machine, beside):
    keep(beside, machine_of(1e-3, 0.96, 1))
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
    current(fresh=True)
    assert af.bfs(graph, 1).plan is first
    replace(machine, push_over_pull=4.0).save(beside)
    current(fresh=True)
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
    assert result.plan.work.like == "pagerank"
    assert result.plan.key == "program Mine 8/pull"
    assert "like pagerank" in " ".join(result.explain().plan.notes)


def test_runs_on_parts_take_ranges_and_the_usual_exchange(machine):
    graph = af.load("kron:8")
    plain = af.pagerank(graph, threads=1)
    for asked, expected in (
        ({}, ("ranges", "readers")), ({"partition": "grid"}, ("grid", "owners")),
        ({"exchange": "mixed"}, ("ranges", "owners")),  # what was run: there is no hub
        ({"partition": "degree", "exchange": "allreduce"}, ("degree", "allreduce")),
    ):  # fmt: skip
        result = af.pagerank(graph, parts=4, ranks_per_node=2, **asked)
        placement = result.plan.placement
        assert (placement.parts, placement.nodes) == (4, 2)
        assert (placement.partition, placement.exchange) == expected
        assert result.plan.chosen.phases["transfer"] > 0
        np.testing.assert_allclose(result["rank"], plain["rank"], rtol=1e-9)
    assert "pull, 4 parts on 2 nodes, ranges, readers" in str(af.pagerank(graph, parts=4, ranks_per_node=2).explain())


def test_parts_of_one_node_share_everything(machine):
    result = af.pagerank(af.load("kron:8"), parts=2)
    assert (result.plan.placement.partition, result.plan.placement.exchange) == ("ranges", "shared")
    assert not any(step.part_seconds for step in result.history)


def test_glances_see_what_a_graph_has():
    for spec in ("kron:12", "urand:12", "grid:64x64", "ws:5000,k=10,p=0.01", "path:2", "path:1", "star:300"):
        graph = af.load(spec)
        seen, degrees = sketch_graph(graph), graph.out_degrees.astype(float)
        assert (seen.vertices, seen.arcs) == (graph.vertices, graph.arcs)
        sources, targets, _ = graph.edge_numbers()
        apart = np.abs(np.asarray(sources, np.int64) - np.asarray(targets, np.int64))
        if not graph.arcs:
            continue
        assert seen.near[1] == pytest.approx((apart <= 1 << 10).mean(), abs=0.05)
        assert seen.squares == pytest.approx((degrees**2).sum(), rel=0.1)
        assert seen.rows == pytest.approx((degrees > 0).sum(), rel=0.25)
        smaller = np.minimum(degrees[sources], degrees[targets]).sum() * graph.arcs / len(sources)
        assert seen.wedges == pytest.approx(smaller, rel=0.1)
        assert seen.top == pytest.approx(degrees.max(), rel=0.2)
    empty = sketch_graph(af.Graph.from_edges([], [], vertices=5))
    assert (empty.vertices, empty.arcs, empty.hot) == (5, 0, 0.0)


@pytest.mark.parametrize(("spec", "factor"), [
    ("kron:14", 1.6), ("urand:14", 1.6), ("urand:n=30000,m=60000", 1.6), ("grid:150x200", 1.6), ("path:3000", 2.5),
    ("ws:20000,k=6,p=0.05", 2.0),
])  # fmt: skip
def test_a_ball_says_how_deep_a_search_is(spec, factor):
    graph = af.load(spec)
    hub = int(np.argmax(graph.out_degrees))
    levels = int(af.bfs(graph, hub, threads=1)["level"].max()) + 1
    fresh = af.load(spec)
    assert levels / factor <= sketch_graph(fresh).depth <= levels * factor


def test_depth_is_learnt_from_searches(machine):
    graph = af.load("path:50")
    before = sketch_graph(graph).depth
    af.bfs(graph, 0)
    assert sketch_graph(graph).depth == 50 != before
    remember_depth(graph, 3)
    assert sketch_graph(graph).depth == 50
    lonely = af.Graph.from_edges([0], [1], vertices=50, directed=False)
    af.bfs(lonely, 7)  # reaches nobody, and tells nothing
    assert "depth" not in lonely.kept


def test_runs_are_kept_and_say_what_the_rates_missed(machine, monkeypatch):
    monkeypatch.delenv("ARCFLUX_KEEP_RUNS")
    for scale in range(6, 12):
        graph = af.load(f"kron:{scale}")
        for source in (-1, -2, -3):
            af.bfs(graph, int(np.argsort(graph.out_degrees)[source]), threads=1)
    journal.flush()
    kept = journal.read()
    assert {run.key for run in kept} >= {"bfs/auto"}
    assert all(run.threads == 1 for run in kept if run.key == "bfs/auto")
    found, work = current(fresh=True), program_work("BFS", False, 0.0)
    assert len(found.fit(work, "auto", 1).runs) > len(machine.fits["bfs/auto", 1].runs)
    assert found.fit(work, "auto", 2) == machine.fits["bfs/auto", 2]
    graph = af.load("kron:10")
    plan = choose(work, graph, Placement(1), ("auto",))
    taken = min(af.bfs(graph, int(graph.out_degrees.argmax()), threads=1).seconds for _ in range(5))
    assert plan.seconds == pytest.approx(taken, rel=9.0)  # of the right size; what was made up was 25 us


def test_runs_that_tell_nothing_are_not_kept(machine, monkeypatch):
    monkeypatch.delenv("ARCFLUX_KEEP_RUNS")
    graph = af.Graph.from_edges([0], [1], vertices=500, directed=False)
    af.bfs(graph, 77)
    with pytest.warns(UserWarning, match="before it converged"):
        af.bfs(af.load("path:50"), 0, max_supersteps=3)
    assert journal.read() == []
