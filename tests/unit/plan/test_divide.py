"""Runs on parts ask the planner how to split and what to exchange; it weighs what parts cost, and all ranks agree."""

from dataclasses import replace

import numpy as np
import plan_machine
import pytest

import arcflux as af
from arcflux import config
from arcflux.engine import advice
from arcflux.plan import advise, divide, journal, rates
from arcflux.plan import split as splitting
from arcflux.plan.brief import glanced, glanced_shape, kind
from arcflux.plan.fit import Curve, Fit
from arcflux.plan.parted import PartFit, Seen, fit_parts, key_of
from arcflux.plan.split import Split, Where, crossing, splits
from arcflux.transports import run_local

beside = plan_machine.beside
CURVE = Curve.of(plan_machine.HIERARCHY)
FORMS = ("shared", "readers", "owners", "allreduce", "mixed", "owners/arcs")


def part_fit(superstep, dense):
    return PartFit((0.0, superstep, 0.0, 0.0, 0.0, 0.0), dense, 8.0, 0.05, 9)


def calibrated(beside, monkeypatch, cheap, superstep=1e-3):
    """Two cores, on which a superstep on parts takes a millisecond, but of `cheap` forms a tenth of that."""
    monkeypatch.setattr(config, "cores", lambda: 2)
    made, fits = plan_machine.made(), {}
    for program in ("pagerank/pull", "bfs/auto", "min_label/auto"):
        for form in FORMS:
            for transport in ("local", "mpi"):
                taken = superstep / 10 if form in cheap else superstep
                fits[f"{program} {form} {transport}"] = part_fit(taken, program.startswith("pagerank"))
    small = Fit((1e-4, 1e-6, 1e-9, 1e-9, 0.0, 0.5), False, CURVE, 4.0, 0.05, 0.2, 9, {})
    threads = {**made.machine, "cores": 2, "threads": 2}
    found = replace(
        made, machine=threads, part_fits=fits, fits={**made.fits, "min_label/auto": small},
        alone={**made.fits, "min_label/auto": small}, setup={"ranges, readers": 0.0},
    )  # fmt: skip
    found.save(beside)
    return found


def same(result, other, field):
    np.testing.assert_allclose(result.values[field], other.values[field], rtol=1e-9)


def test_the_fastest_way_is_taken(beside, monkeypatch):
    graph = af.load("kron:8")
    plain = af.pagerank(graph, threads=1)
    for form, expected in (("readers", ("ranges", "readers")), ("owners", ("ranges", "owners")),
                           ("mixed", ("ranges", "mixed")), ("owners/arcs", ("grid", "owners"))):  # fmt: skip
        calibrated(beside, monkeypatch, {form})
        rates._current = None
        result = af.pagerank(graph, parts=4, ranks_per_node=2)
        assert (result.plan.split.partition, result.plan.split.exchange) == expected
        assert result.plan.where == Where(4, 2)
        seconds = [way.total for way in result.plan.ways]
        assert seconds[0] == min(seconds)
        assert len(seconds) > 10
        same(result, plain, "rank")


def test_it_is_really_run_that_way(beside, monkeypatch):
    calibrated(beside, monkeypatch, {"allreduce"})
    graph = af.load("kron:8")
    result = af.pagerank(graph, parts=2, ranks_per_node=1)
    asked = af.pagerank(graph, parts=2, ranks_per_node=1, partition="ranges", exchange="allreduce")
    other = af.pagerank(graph, parts=2, ranks_per_node=1, partition="ranges", exchange="readers")
    crossed = [sum(step.bytes for step in one.history) for one in (result, asked, other)]
    assert crossed[0] == crossed[1] > crossed[2]


def test_what_was_asked_for_wins(beside, monkeypatch):
    calibrated(beside, monkeypatch, {"mixed"})
    graph = af.load("kron:8")
    spread = {"parts": 4, "ranks_per_node": 2}
    assert af.pagerank(graph, partition="random", **spread).plan.split == Split("random", "mixed")
    assert af.pagerank(graph, exchange="readers", **spread).plan.split == Split("ranges", "readers")
    assert af.pagerank(graph, parts=af.partition(graph, 4, "degree"), ranks_per_node=2).plan.split.partition == "degree"
    exact = af.pagerank(graph, deterministic=True, **spread)  # sums to the last bit have one order
    assert {way.split.exchange for way in exact.plan.ways} == {"readers"}


def test_usual_stays_unless_something_is_clearly_faster(beside, monkeypatch):
    found = calibrated(beside, monkeypatch, ())
    near = {key: part_fit(0.95e-3, one.dense) for key, one in found.part_fits.items() if " owners " in key}
    replace(found, part_fits={**found.part_fits, **near}).save(beside)
    graph = af.load("kron:8")
    plan = af.pagerank(graph, parts=2, ranks_per_node=1).plan
    assert plan.split == Split("ranges", "readers")
    assert "is usual" in plan.reason
    assert plan.ways[1].split.exchange == "owners"


def test_parts_of_one_node_share_everything(beside, monkeypatch):
    calibrated(beside, monkeypatch, ())
    result = af.pagerank(af.load("kron:8"), parts=2)
    assert result.plan.split == Split("ranges", "shared")
    assert result.plan.on_threads
    assert not any(step.part_seconds for step in result.history)


def test_splitting_counts_once(beside, monkeypatch):
    """METIS takes longer than the run: it is not worth it, unless that was done before."""
    pytest.importorskip("pymetis")
    monkeypatch.setattr(divide, "BY_FAR", 1.05)
    found = calibrated(beside, monkeypatch, ())
    transfer = PartFit((0.0,) * 4 + (1e-6, 0.0), True, 8.0, 0.05, 9)
    fits = {key: transfer if " readers " in key else one for key, one in found.part_fits.items()}
    replace(found, part_fits=fits, setup={"mincut": 1.0}).save(beside)
    graph = af.load("grid:60x10")
    rng = np.random.default_rng(1)
    order = rng.permutation(graph.vertices)
    sources, targets, _ = graph.edge_numbers()
    mixed = af.Graph.from_edges(order[sources], order[targets], vertices=graph.vertices, directed=False)
    spread = {"parts": 2, "ranks_per_node": 1, "exchange": "readers"}
    assert af.pagerank(mixed, **spread).plan.split.partition == "ranges"
    ways = {way.split.partition: way for way in af.pagerank(mixed, **spread).plan.ways}
    assert ways["mincut"].setup == pytest.approx(mixed.arcs, rel=0.01)
    assert ways["mincut"].seconds < ways["ranges"].seconds
    af.pagerank(mixed, **spread, partition="mincut")
    assert af.pagerank(mixed, **spread).plan.split.partition == "mincut"


def test_threads_are_held_against_parts(beside, monkeypatch):
    calibrated(beside, monkeypatch, ())
    graph = af.load("kron:8")
    plan = af.pagerank(graph).plan
    assert plan.where is None
    assert [way for way in plan.ways if way.where is not None]
    assert "parts" in str(plan)
    calibrated(beside, monkeypatch, {"owners"}, superstep=1e-9)
    rates._current = None
    plan = af.pagerank(graph).plan
    assert plan.where is None, "a little faster is not enough"
    assert "not expected to be faster by far" in str(plan)
    monkeypatch.setattr(divide, "BY_FAR", 0.1)
    graph = af.load("kron:8")
    result = af.pagerank(graph)
    assert result.plan.where == Where(2)
    assert all(len(step.part_seconds) == 2 for step in result.history)
    same(result, af.pagerank(graph, threads=1), "rank")
    assert af.pagerank(graph, threads=2).plan.where is None


def test_explain_shows_the_runner_up_and_what_crossed(beside, monkeypatch):
    calibrated(beside, monkeypatch, {"readers"})
    result = af.pagerank(af.load("kron:8"), parts=4, ranks_per_node=2)
    text, told = str(result.explain()), result.explain().to_dict()
    assert "plan: PageRank, pull, 4 parts on 2 nodes, ranges, readers" in text
    assert "owners" in text
    assert told["plan"]["partition"] == "ranges"
    assert {"parts", "nodes", "partition", "exchange", "crossing_bytes", "setup_seconds"} <= set(
        told["plan"]["candidates"][1]
    )
    found = af.estimate("pagerank", af.load("kron:8"), parts=4, nodes=2)
    assert found.ways[0].split == Split("ranges", "readers")
    assert found.to_dict()["predicted_crossing_bytes"] > 0


def test_nobody_is_asked_without_a_plan(beside, monkeypatch):
    calibrated(beside, monkeypatch, {"mixed"})
    monkeypatch.setenv("ARCFLUX_PLAN", "0")
    result = af.pagerank(af.load("kron:8"), parts=4, ranks_per_node=2)
    assert result.plan is None


def test_a_program_that_nobody_measured_is_taken_for_one_like_it(beside, monkeypatch):
    calibrated(beside, monkeypatch, {"owners"})

    @af.program
    class Heard:
        heard: af.f64

        def start(v):
            v.heard = 0.0
            return True

        def compute(v, u):
            v.heard += 1.0

        def update(v):
            return False

    graph = af.load("kron:8")
    result = af.run(Heard, graph, parts=2, ranks_per_node=1)
    assert result.plan.split.exchange == "owners"
    np.testing.assert_array_equal(result["heard"], graph.in_degrees)


def test_all_ranks_take_what_the_first_has_chosen(beside, monkeypatch):
    calibrated(beside, monkeypatch, ())
    graph, asked = af.load("kron:8"), divide.Open(Where(3, 3, "mpi"))
    subject = advise.program("PageRank", True, 8.0, ("pull",))
    plan = divide.divided(subject, graph, asked)
    ways = splits(asked.where, None, None)

    def work(transport):
        mine = replace(plan.taking(ways[transport.rank + 3]), push_over_pull=2.0 + transport.rank)
        return advice._agreed(transport, mine, asked)

    found = run_local(3, work, ranks_per_node=1)
    assert {one.split for one in found} == {ways[3]}
    assert {one.push_over_pull for one in found} == {2.0}
    assert found[1].ways[0].split == ways[3]


def test_metis_is_taken_only_where_every_rank_has_it(beside, monkeypatch):
    calibrated(beside, monkeypatch, ())
    graph, asked = af.load("kron:8"), divide.Open(Where(2, 2, "mpi"))
    plan = divide.divided(advise.program("PageRank", True, 8.0, ("pull",)), graph, asked)
    monkeypatch.setattr(splitting, "has_mincut", lambda: False)
    found = run_local(
        2, lambda own: advice._agreed(own, plan.taking(Split("mincut", "readers")), asked), ranks_per_node=1
    )
    assert found[0].split == found[1].split
    assert found[0].split.partition != "mincut"


@pytest.mark.parametrize("spec", ["kron:10", "urand:10", "grid:30x30", "ws:1000,k=8,p=0.1"])
@pytest.mark.parametrize(("partition", "exchange"), [
    ("ranges", "readers"), ("random", "readers"), ("ranges", "owners"), ("ranges", "allreduce"), ("ranges", "mixed"),
    ("grid", "owners"), ("degree", "owners"),
])  # fmt: skip
def test_values_that_cross_are_those_of_a_run(spec, partition, exchange):
    """In a superstep in which every vertex sends something new: within a third of what is counted."""

    @af.program
    class Changing:
        heard: af.f64

        def start(v):
            v.heard = v.number + 1.0
            return True

        def compute(v, u):
            v.heard += u.heard

        def update(v, old, step):
            v.heard = old.heard + 1.0
            return step < 3

    graph = af.load(spec)
    for parts in (2, 4):
        run = af.run(Changing, graph, parts=parts, ranks_per_node=1, partition=partition, exchange=exchange,
                     rebalance="off")  # fmt: skip
        known = glanced(graph)
        said = crossing(glanced_shape(graph), kind(known), Split(partition, exchange), parts)
        seen = run.history[1].bytes / 8
        assert said == pytest.approx(seen, rel=0.4, abs=150), (parts, said, seen)


def test_a_run_on_parts_is_kept_and_improves_the_fit(beside, monkeypatch):
    monkeypatch.setenv("ARCFLUX_KEEP_RUNS", "1")
    calibrated(beside, monkeypatch, ())
    for scale in (7, 8, 9):
        graph = af.load(f"kron:{scale}")
        for parts in (2, 3, 4):
            af.pagerank(graph, parts=parts, ranks_per_node=1, exchange="owners", partition="ranges")
    journal.flush()
    rates._current = None
    runs = [run for run in journal.read() if run.part is not None]
    assert {(run.part.where.parts, run.part.graph.vertices) for run in runs} == {
        (parts, 1 << scale) for parts in (2, 3, 4) for scale in (7, 8, 9)
    }
    assert {run.part.split for run in runs} == {Split("ranges", "owners")}
    found = rates.current().on_parts("pagerank/pull", Split("ranges", "owners"), Where(2, 2))
    assert found.runs == 9
    assert rates.current().on_parts("pagerank/pull", Split("ranges", "readers"), Where(2, 2)).runs == 9


def test_a_broken_line_of_parts_is_skipped(beside):
    graph = glanced(af.load("kron:7"))
    seen = Seen(graph, Where(2, 2), Split("ranges", "readers"), 5.0, 1e-3, 100.0)
    line = journal.Run.on_parts("bfs/auto", seen).to_line()
    assert journal.Run.of_line(line).part == seen
    for broken in ('"nodes":7', '"nodes":-1', '"nodes":"x"'):
        assert journal.Run.of_line(line.replace('"nodes":2', broken)) is None


def test_a_fit_finds_what_runs_were_made_of():
    graphs = [glanced(af.load(spec)) for spec in ("kron:7", "kron:9", "urand:8", "grid:20x20")]
    runs, alone = [], []
    for graph in graphs:
        for where in (Where(2, 2), Where(4, 4)):
            alone.append(3e-9 * graph.arcs + 1e-5)
            seconds = 1e-3 * (where.parts - 1) + 2.0 * alone[-1] / where.workers
            runs.append(Seen(graph, where, Split("ranges", "readers"), 10.0, seconds, 50.0))
    found = fit_parts(runs, alone, True, 8.0)
    for one, by_one in zip(runs, alone, strict=True):
        said = found.parts(one.graph, one.where, one.supersteps, one.crossing, by_one).sum()
        assert said == pytest.approx(one.seconds, rel=0.05)
    assert key_of("bfs/auto", Split("grid", "owners"), Where(2, 2, "mpi", 2)) == "bfs/auto owners/arcs mpi+"


@pytest.mark.parametrize(("parts", "cores", "mean"), [(2, 2, 2.0), (3, 2, 1.5), (4, 2, 2.0), (5, 4, 2.5), (3, 8, 3.0)])
def test_parts_that_have_no_core_wait_for_a_round_of_their_own(monkeypatch, parts, cores, mean):
    monkeypatch.setattr("arcflux.config.cores", lambda: cores)
    assert Where(parts, parts, "mpi").at_once == pytest.approx(mean)
    assert Where(parts).workers == min(parts, cores)
