"""af.plan: rows for sizes, the order of candidates, labels, and what it refuses."""

import json
import math

import pytest

import arcflux as af
from arcflux.errors import UsageError
from arcflux.plan.profile import profile_names
from arcflux.plan.scaling import whole_numbers
from arcflux.plan.work import WORKS


@pytest.mark.parametrize("machine", profile_names())
@pytest.mark.parametrize("algorithm", [*WORKS, "louvain", "random_walk", "graph_projection"])
def test_every_algorithm_on_every_machine(machine, algorithm):
    found = af.plan(algorithm, "kron:16", on=machine, devices=[1, 4])
    first, second = found.rows
    assert first.speedup == pytest.approx(1)
    assert second.efficiency == pytest.approx(second.speedup / 4)
    for row in found.rows:
        seconds = [one.seconds for one in row.candidates]
        assert all(0 < one < math.inf for one in seconds)
        low, high = row.best.range
        assert low < row.best.seconds < high
        assert row.scalability in ("perfect", "good", "moderate", "poor")
    assert "predicted" in str(found)
    whole = json.loads(json.dumps(found.to_dict(), allow_nan=True))
    assert whole["label"] == "predicted"
    assert {"devices", "seconds", "speedup", "efficiency", "bytes", "predicted_seconds", "predicted_bytes",
            "predicted_memory", "candidates"} <= set(whole["rows"][0])  # fmt: skip
    assert ("gteps" in whole["rows"][0]) == (algorithm in WORKS and WORKS[algorithm].traversal)


def test_the_fastest_that_fits_is_first():
    rows = af.plan("pagerank", "kron:24", on="dgx1", nodes="1..2").rows
    for row in rows:
        assert row.best.fits
        assert row.best.seconds == min(one.seconds for one in row.candidates)
        assert {one.direction for one in row.candidates} == {"pull", "push"}
        assert {one.exchange for one in row.candidates} == {"node", "readers", "owners", "allreduce", "mixed"}


def test_devices_fill_nodes():
    rows = af.plan("bfs", "kron:25", on="sci-k20", devices="25,64").rows
    assert [(row.nodes, row.devices) for row in rows] == [(13, 25), (32, 64)]
    rows = af.plan("bfs", "kron:20", on="dgx1", nodes="1..3").rows
    assert [(row.nodes, row.devices) for row in rows] == [(1, 8), (2, 16), (3, 24)]


def test_costs():
    bought = af.plan("pagerank", (41_652_230, 1_468_365_182), on="xstream", devices=16).rows[0]
    assert bought.cost == pytest.approx(85998 * bought.best.seconds / (3 * 365.25 * 86400))
    hired = af.plan("pagerank", "kron:20", on="ec2-m2050", nodes=3).rows[0]
    assert hired.cost == pytest.approx(3 * 2.1 * hired.best.seconds / 3600)
    assert af.plan("pagerank", "kron:20", on="dgx1").rows[0].cost is None


def test_a_graph_of_ones_own_and_a_program():
    graph = af.load("grid:30x30")
    near = af.plan("pagerank", graph, on="dgx2", devices=8).rows[0].best
    far = af.plan("pagerank", (900, graph.arcs, "uniform"), on="dgx2", devices=8).rows[0].best
    assert near.bytes < far.bytes / 2
    own = af.plan(af.algorithms.BFS, graph, on="dgx2")
    assert any("one superstep" in note for note in own.notes)
    twice = af.plan(af.algorithms.BFS, graph, on="dgx2", supersteps=2)
    assert twice.best.best.seconds == pytest.approx(2 * own.best.best.seconds)


def test_notes():
    notes = " ".join(af.plan("triangles", "kron:10", on="ec2-m2050", nodes=20).notes)
    assert "lower bound" in notes
    assert "has 8 nodes" in notes
    assert "assumed" in notes


def test_a_picture(tmp_path):
    af.plan("pagerank", "kron:20", on="dgx1", devices="1..8").plot(tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text()
    assert "<svg" in drawn


@pytest.mark.parametrize("given", [0, -1, "0", "4..2", "", "x", [], [0], True, [True], 1.5, "1..99999", None, [2.5]])
def test_nonsense_counts(given):
    with pytest.raises(UsageError, match="nodes is"):
        whole_numbers("nodes", given)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"on": "cray"}, "names no machine"),
        ({"algorithm": "sorting"}, "names no algorithm"),
        ({"nodes": 0}, "nodes is 0"),
        ({"devices": "0"}, "devices is '0'"),
        ({"nodes": 2, "devices": 3}, "cannot be spread evenly"),
        ({"nodes": 1, "devices": 9}, "cannot be spread evenly"),
        ({"graph": "lux:TWO"}, "no graph of Lux.s table 2"),
        ({"graph": "gxplug:orkutt"}, "no graph of GX-Plug.s table I"),
        ({"supersteps": 0}, "supersteps is 0"),
        ({"supersteps": 2.5}, "supersteps is 2.5"),
        ({"graph": (0, 0)}, "vertices is 0"),
        ({"algorithm": "classify", "parameters": {"walks": 3}}, "no parameter 'walks'"),
    ],
)
def test_nonsense_is_refused(change, says):
    asked = {"algorithm": "pagerank", "graph": "kron:10", "on": "dgx1", **change}
    with pytest.raises(UsageError, match=says):
        af.plan(asked.pop("algorithm"), asked.pop("graph"), **asked)


def test_a_program_that_reads_columns():
    @af.program
    class Longest:
        length: af.f64

        def start(v, g):
            v.length = 0.0
            return True

        def compute(v, u, edge):
            v.length = max(v.length, edge.toll)

        def update(v, old):
            return v.length != old.length

    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 0], columns={"toll": [1.0, 2.0, 3.0]})
    assert af.plan(Longest, graph, on="dgx1").rows[0].best.seconds > 0


def test_nothing_takes_no_time(tmp_path):
    from dataclasses import replace

    from arcflux.plan.profile import read

    found = af.plan("bfs", (1, 0, "uniform"), on=replace(read("dgx1"), launch=0.0), devices=1)
    assert found.rows[0].speedup == 1
    assert found.rows[0].gteps == 0
    assert "predicted" in str(found)


@pytest.mark.parametrize(
    ("spec", "gpus", "printed"),
    [("kron:25", 16, 15.2), ("kron:25", 25, 18.2), ("kron:25", 36, 20.5), ("kron:25", 49, 21.8), ("kron:25", 64, 22.7),
     ("kron:21", 1, 2.5), ("kron:23", 4, 6.3), ("kron:27", 64, 29.1)],
)  # fmt: skip
def test_searches_of_our_own_kronecker_graphs_are_as_fast_as_mapgraph_printed(spec, gpus, printed):
    row = af.plan("bfs", spec, on="sci-k20", devices=gpus).rows[0]
    assert row.gteps == pytest.approx(printed, rel=0.15)
    assert row.best.partition == "grid"
