"""af.estimate and result.explain: by a calibration that is known, and for machines that are not here."""

import json
from dataclasses import replace

import plan_machine
import pytest

import arcflux as af
from arcflux import config
from arcflux.engine.dense import blocks_pay
from arcflux.errors import UsageError
from arcflux.plan.calibration import path
from arcflux.plan.fit import terms
from arcflux.plan.sample import shape_of
from arcflux.plan.work import WORKS
from arcflux.trace import counted

calibration = plan_machine.calibration


def test_the_fastest_way_is_first(calibration):
    found = af.estimate("pagerank", "kron:18")
    assert [one.name for one in found.candidates] == ["pull", "push"]
    rates = plan_machine.vector(plan_machine.RATES["pagerank/pull"])
    expected = terms(shape_of("kron:18").sketch(), 11, WORKS["pagerank"], plan_machine.CURVE) @ rates
    assert found.seconds == pytest.approx(expected)
    assert found.seconds == pytest.approx(sum(found.chosen.phases.values()))
    low, high = found.range
    assert low < found.seconds < high
    assert found.supersteps == pytest.approx(11)
    assert af.estimate("pagerank", "kron:18", supersteps=22).seconds > 1.8 * found.seconds
    assert found.direction == "pull"


def test_memory_is_the_graph_and_the_run(calibration):
    graph = af.load("kron:10")
    assert af.estimate("bfs", graph).memory == pytest.approx(graph.memory + 13.4 * graph.vertices)
    flat = af.estimate("pagerank", (1 << 17, 1 << 21, "uniform")).memory
    assert flat == pytest.approx(8 * (2**17 + 1) + 4 * 2**21 + 33.5 * 2**17)
    assert not blocks_pay(1 << 17, 1 << 21, 8, config.threads())
    assert blocks_pay(1 << 22, 1 << 27, 8, config.threads())
    large = af.estimate("pagerank", (1 << 22, 1 << 27, "uniform")).memory
    assert large > 8 * 2**22 + 8 * 2**27  # arcs twice: by rows, and by blocks


def test_what_was_not_measured_gets_a_bound(calibration):
    found = af.estimate("triangles", "kron:16")
    assert found.chosen.name == "bound"
    assert any("bound" in note for note in found.notes)
    assert found.range[0] == found.seconds
    own = af.estimate(af.algorithms.BFS, "kron:16")
    assert any("one superstep" in note for note in own.notes)
    walked = af.estimate("sssp", "kron:16")
    assert any("was not measured" in note for note in walked.notes)
    assert "a bound" in walked.reason


def test_stale_calibrations_are_noted(calibration):
    notes = af.estimate("bfs", "kron:10").notes
    assert all("stale" in note for note in notes)


def test_other_machines(calibration):
    found = af.estimate("pagerank", "kron:24", on="dgx1")
    row = af.plan("pagerank", "kron:24", on="dgx1").rows[0]
    assert found.seconds == row.best.seconds
    assert found.memory == row.best.memory
    assert len(found.candidates) == len(row.candidates)


@pytest.mark.parametrize("on", [None, "dgx2"])
def test_text_and_json(calibration, on):
    found = af.estimate("bfs", "kron:20", on=on)
    assert "predicted" in str(found)
    assert "what would help most" in str(found)
    whole = json.loads(json.dumps(found.to_dict()))
    assert {"predicted_seconds", "predicted_bytes", "predicted_memory", "candidates"} <= set(whole)
    assert whole["label"] == "predicted"


def test_a_result_explains_itself(calibration, tmp_path):
    result = af.bfs(af.load("kron:10"), 1)
    found = result.explain()
    assert found.ratio == pytest.approx(found.plan.seconds / result.seconds)
    assert f"in {counted(len(result.history), 'superstep')};" in str(found)
    found.plot(tmp_path / "both.svg")
    assert "<svg" in (tmp_path / "both.svg").read_text()
    whole = json.loads(json.dumps(found.to_dict()))
    assert len(whole["supersteps"]) == len(result.history)
    assert whole["within_range"] == (found.plan.range[0] <= result.seconds <= found.plan.range[1])
    assert af.connected_components(af.load("kron:8")).explain().plan.algorithm == "connected_components"


def test_a_program_of_ones_own_has_no_model(calibration):
    with pytest.raises(UsageError, match="Mine is no algorithm"):
        replace(af.bfs(af.load("path:4"), 0), name="Mine").explain()


def test_without_a_calibration_usual_rates_are_used_and_said(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "empty"))
    found = af.estimate("pagerank", "kron:10")
    assert not found.measured_here
    assert any("has not been measured" in note and "arcflux calibrate" in note for note in found.notes)
    with pytest.raises(UsageError, match="has not been measured") as caught:
        af.plan("pagerank", "kron:10", on="here")
    assert "arcflux calibrate" in caught.value.remedy


@pytest.mark.parametrize("calibrated", [True, False])
@pytest.mark.parametrize("algorithm", ["bfs", "pagerank", "connected_components"])
def test_a_result_and_an_estimate_say_the_same(algorithm, calibrated, tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARCFLUX_PLAN", raising=False)
    if calibrated:
        plan_machine.made().save(path())
    graph = af.load("kron:10")
    before = af.estimate(algorithm, graph)
    result = af.bfs(graph, 1) if algorithm == "bfs" else getattr(af, algorithm)(graph)
    explained = result.explain()
    assert (explained.plan.candidates, explained.plan.notes) == (before.candidates, before.notes)
    assert str(explained).startswith(str(before))
    assert explained.plan.to_dict() == before.to_dict()


@pytest.fixture
def two_cores(calibration, monkeypatch):
    """With runs on one thread, half as fast."""
    monkeypatch.setattr(config, "cores", lambda: 2)
    many = plan_machine.made(threads=2)
    twice = {key: {name: 2 * rate for name, rate in own.items()} for key, own in plan_machine.RATES.items()}
    alone = plan_machine.made(twice, 1)
    of_two = {**many.machine, "cores": 2, "threads": 2}
    replace(many, machine=of_two, runs=(*many.runs, *alone.runs), fits={}).save(path())
    return calibration


def test_threads_and_parts(two_cores):
    every, one = af.estimate("pagerank", "kron:18"), af.estimate("pagerank", "kron:18", threads=1)
    assert one.seconds == pytest.approx(2 * every.seconds)
    assert {each.threads for each in every.candidates} == {1, 2}
    assert {each.threads for each in one.candidates} == {1}
    assert af.estimate("pagerank", "kron:18", parts=2).seconds == every.seconds
    assert af.estimate("pagerank", "kron:18", parts=8).seconds == every.seconds  # there are two cores
    assert af.estimate("pagerank", "kron:18", parts=1).seconds == one.seconds


def test_nodes_tell_each_other(two_cores):
    one, two = (af.estimate("pagerank", "kron:18", parts=2, nodes=nodes) for nodes in (1, 2))
    crossing = 8 * shape_of("kron:18").uds(2) * two.supersteps
    assert (one.crossing, two.crossing) == (0, pytest.approx(crossing))
    meetings = two.supersteps * 3 * 1e-5
    assert two.seconds - one.seconds == pytest.approx(crossing / 1e10 / 2 + meetings)
    assert "transfer" in two.chosen.phases


def test_unequal_devices(two_cores):
    def compute(found):
        return found.chosen.phases["compute"] + found.chosen.phases["load"]

    alike = af.estimate("pagerank", "kron:18", speeds=[1, 1])
    unequal = af.estimate("pagerank", "kron:18", speeds=[1, 0.5])
    assert compute(unequal) == pytest.approx(compute(alike) / 0.75)
    assert alike.seconds == pytest.approx(af.estimate("pagerank", "kron:18", parts=2).seconds)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"threads": 0}, "threads is 0"),
        ({"threads": True}, "threads is True"),
        ({"parts": "four"}, "parts is 'four'"),
        ({"threads": 2, "parts": 2}, "both given"),
        ({"nodes": 2}, "2 nodes and no parts"),
        ({"nodes": 4, "parts": 2}, "4 nodes and 2 parts"),
        ({"nodes": -1}, "nodes is -1"),
        ({"speeds": []}, "speeds is"),
        ({"speeds": [1, 0]}, "speeds is"),
        ({"speeds": [1, float("nan")]}, "speeds is"),
        ({"speeds": "fast"}, "speeds is"),
        ({"speeds": [1, 1], "parts": 3}, "3 parts and 2 speeds"),
        ({"threads": 2, "on": "dgx1"}, "for this machine"),
    ],
)
def test_nonsense_about_workers(calibration, options, match):
    with pytest.raises(UsageError, match=match):
        af.estimate("pagerank", "kron:10", **options)


def test_every_algorithm_is_measured(calibration):
    from arcflux.algorithms.registry import ALGORITHMS

    assert set(ALGORITHMS) <= set(WORKS)
    for work in WORKS.values():
        assert (work.call or work.name) in ALGORITHMS
        assert work.measured or work.like in WORKS


@pytest.mark.parametrize(("nodes", "graph"), [(2, "kron:8"), (3, "kron:8"), (3, "kron:13")])
def test_bytes_of_allreduce_are_those_that_its_transport_counts(nodes, graph, monkeypatch):
    monkeypatch.setenv("ARCFLUX_PLAN", "1")
    result = af.run(af.algorithms.PageRank, graph, parts=nodes, ranks_per_node=1, exchange="allreduce")
    plan = result.plan
    assert result.exchange == "allreduce"
    predicted = plan.chosen.bytes / plan.chosen.supersteps
    assert predicted == pytest.approx(result.column("bytes")[1])
