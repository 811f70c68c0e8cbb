"""The HIVE study's applications: its printed ratios, its classes, and the ratio that a machine needs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
from arcflux.applications.registry import APPLICATIONS as APPLICATIONS_TO_RUN
from arcflux.errors import UsageError
from arcflux.plan.hive import (
    APPLICATIONS,
    Inputs,
    find,
    judge,
    moved_by,
    parameters_of,
    required_operations_per_byte,
    typical,
)
from arcflux.plan.profile import read

CLASSES = {"Perfect": "perfect", "Good": "good", "Okay": "moderate",
           "Less than okay": "poor", "Poor": "poor", "Very poor": "poor"}  # fmt: skip
PRINTED = [one for one in APPLICATIONS if one.printed]


def test_twelve_applications():
    assert len({one.of or one.name for one in APPLICATIONS}) == 12


@pytest.mark.parametrize("one", PRINTED, ids=lambda one: f"{one.name} {one.variant}".strip())
def test_classes_are_those_of_the_summary(one):
    """For the graphs that the study has in mind: 16 edges a vertex, on the 8 devices of a DGX-1."""
    assert judge(one, Inputs(2.0**20, 2.0**24, 8)).scalability == CLASSES[one.printed]


@given(st.floats(1, 64), st.integers(1, 32), st.floats(1, 5))
def test_ratios_are_the_printed_ones(degree, p, a):
    v = 1e6
    g = Inputs(v, degree * v, p, a=a, reduced=degree * v / 3)

    def ratio(name, place=0):
        return judge(find(name)[place], g).ratio

    assert ratio("louvain") == pytest.approx((degree + 1) / (2 * p))
    assert ratio("random_walk", 1) == pytest.approx(1 / 24)
    assert ratio("graph_search", 1) == pytest.approx(degree / 24)
    assert ratio("geolocation") == pytest.approx(25 * degree / (4 * p))
    assert ratio("geolocation", 1) == pytest.approx(25 / 2)
    assert ratio("vertex_nomination") == pytest.approx(degree / (8 * min(degree, p)))
    assert ratio("graph_projection", 1) == pytest.approx((degree * g.edges / p + g.reduced) / (6 * g.reduced))
    assert ratio("local_graph_clustering") == pytest.approx((6 + degree) / p / 4)
    assert ratio("sparse_fused_lasso") == pytest.approx(a / 8, rel=0.01)
    assert ratio("weighted_walk", 1) == pytest.approx(degree / 24)
    assert ratio("louvain_contraction") == pytest.approx((5 * g.edges / p + g.reduced) / (8 * g.reduced))
    assert ratio("scan_statistics", 1) == pytest.approx(degree * g.edges / p / (8 * v))
    assert ratio("geolocation", 2) == ratio("geolocation", 1)
    wedges = (degree + a * math.log2(max(2, degree))) / (12 * a)
    assert ratio("scan_statistics", 2) == pytest.approx(
        (wedges * 12 * a * g.edges / p + v * (2 + 1 / p)) / (12 * a * g.edges / p + 8 * v)
    )


def test_graphsage_by_hand():
    g = Inputs(1e6, 1e7, 4, batch=400, children=10, leaves=5, features=32, width=16)
    found = judge(find("graphsage")[0], g)
    # 100 sources a device; C=10, F=32, L=5, both widths together 32
    inside = 10 + 3 * 10 * 32 + 3 * 5 * 10 * 32 + 32 * (10 * 32 + 10 + 32 + 32)
    assert found.operations == 100 * inside
    assert found.bytes == 100 * (8 * 10 + 4 * (32 + 32) * 8)
    assert found.scalability == "good"
    for place in (1, 2):  # the features of all leaves, 4BCFL bytes more
        assert judge(find("graphsage")[place], g).bytes == found.bytes + 4 * 100 * 10 * 32 * 5


def test_memory_of_louvain():
    g = Inputs(1000, 10_000, 2, reduced=500)
    assert find("louvain")[0].memory(g) == 88 * 5000 + 12 * 1000 + 16 * 500


def test_a_graph_may_change_the_class():
    greedy = find("graph_search")[1]
    assert judge(greedy, Inputs(1e6, 16e6, 8)).scalability == "poor"
    assert judge(greedy, Inputs(1e6, 64e6, 8)).scalability == "moderate"  # d : 24 is 2.5 operations a byte from 60 on
    projection = find("graph_projection")[1]
    assert judge(projection, Inputs(1e6, 16e6, 8, reduced=16 * 16e6)).scalability == "poor"


def test_expected_speedups():
    assert judge(find("louvain")[0], Inputs(2.0**20, 2.0**24, 8)).expected == (2, 5)
    assert [typical(one) for one in ("good", "moderate", "poor")] == ["PageRank", "SSSP", "random walk"]


def test_what_a_machine_needs():
    assert required_operations_per_byte(read("dgx1")) == pytest.approx(2.5)
    assert required_operations_per_byte(read("dgx1"), 4) == pytest.approx(30, rel=0.01)
    assert (
        required_operations_per_byte(read("dgx2"))
        < required_operations_per_byte(read("dgx1"))
        < required_operations_per_byte(read("xstream"))
    )


def test_proposed_costs_of_matching_and_classification():
    g = Inputs(1000.0, 8000.0, 4, iterations=10, rounds=50, pattern=21)
    matching = judge(find("match_graphs")[0], g)
    assert matching.operations == 10 * 1000 * 64 / 4 + 50 * 10 * 8000 / 4
    assert matching.bytes == 12 * 10 * 1000 + 50 * (16 * 250 + 8 * 1000)
    classes = judge(find("classify")[0], g)
    assert (classes.operations, classes.bytes) == ((24000 + 10000) * 21 / 4, 8 * 21 * 1000 + 32 * 21)
    assert find("nothing") == []


def test_parameters_are_the_application_s_own():
    walks = find("random_walks")
    assert parameters_of(walks, {}) == {"walks": 1e6}
    assert parameters_of(find("graphsage"), {"C": "7", "F": 3})["children"] == 7
    with pytest.raises(UsageError, match="no parameter 'walsk'"):
        parameters_of(walks, {"walsk": 3})
    for bad in ("x", -1, math.nan, math.inf, None):
        with pytest.raises(UsageError, match="walks is"):
            parameters_of(walks, {"walks": bad})
    with pytest.raises(UsageError, match="no louvain with peer movement"):
        moved_by(find("louvain"), "peer")
    assert [one.variant for one in moved_by(find("geolocate"), "unified")] == ["unified memory"]


def test_each_way_to_move_data_has_its_own_speed():
    shape = (1 << 20, 1 << 24, "kron")

    def transfer(application, moves, **more):
        return af.plan(application, shape, on="dgx1", devices=8, moves=moves, **more).best.best.phases["transfer"]

    arcs, vertices = 2.0**24, 2.0**20
    assert transfer("geolocate", "explicit") == pytest.approx(16 * vertices / 14.01e9)
    # Values anywhere: all peers' memory as the table has it for random reads; unified memory is the host's column.
    assert transfer("geolocate", "peer") == pytest.approx(8 * arcs / 8 / 4.04e9)
    assert transfer("geolocate", "unified") == pytest.approx(8 * arcs / 8 / 2.39e9)
    # Rows of features come in order; what else GraphSAGE sends goes in messages (B = 800, C = 10, L = 5, F = 32).
    numbers = {"parameters": {"B": 800, "C": 10, "L": 5, "F": 32, "width": 16}}
    sent, leaves = 100 * (8 * 10 + 4 * (32 + 32) * 10) / 14.01e9, 4 * 100 * 10 * 5 * 32
    assert transfer("graphsage", "explicit", **numbers) == pytest.approx(sent)
    assert transfer("graphsage", "peer", **numbers) == pytest.approx(sent + leaves / 12.17e9)
    assert transfer("graphsage", "unified", **numbers) == pytest.approx(sent + leaves / 8e9)


def test_features_of_others_are_poor_whatever_the_ratio():
    """The summary of GraphSAGE's costs calls them poor and very poor, with 2 + L + Wf1.y + Wa1.y : 4L."""
    for place, printed in ((1, "Poor"), (2, "Very poor")):
        way = find("graphsage")[place]
        assert (way.printed, judge(way, Inputs(1e6, 16e6, 8)).scalability) == (printed, "poor")


@pytest.mark.parametrize("name", APPLICATIONS_TO_RUN)
def test_every_application_that_runs_has_a_plan(name):
    plan = af.plan(name, (1 << 20, 1 << 24, "kron"), on="dgx1")
    assert plan.algorithm == name
    assert plan.best.best.seconds > 0
    assert len(plan.ways) != 1
    assert all(f"  way: {way}" in str(plan) for way in plan.ways)
    assert plan.to_dict()["ways"] == list(plan.ways)


def test_a_plan_lists_all_ways_and_parts():
    shape = (1 << 20, 1 << 24, "kron")
    contraction = af.plan("leiden", shape, on="dgx1", parameters={"reduced": 1e7}).ways[1]
    assert contraction.startswith("louvain_contraction: ")
    assert "610.4 MiB, moderate" in contraction  # 8 E' of each of 8 devices
    kinds = [way.split(":")[0] for way in af.plan("graphsage", shape, on="dgx1").ways]
    assert kinds == ["graphsage", "graphsage, direct access, peer", "graphsage, unified memory, unified"]
    assert any(way.startswith("weighted_walk, distributed") for way in af.plan("random_walks", shape, on="dgx1").ways)
    assert "a bound for the worst case" in str(af.plan("minimum_cut", shape, on="dgx1"))


def test_a_plan_takes_and_prints_parameters():
    shape = (1 << 20, 1 << 24, "kron")
    few, many = (af.plan("random_walks", shape, on="dgx1", parameters={"walks": w}) for w in (1e6, 1e9))
    assert "with: walks 1e+09" in str(many)
    assert many.best.best.seconds > 50 * few.best.best.seconds
    peer = af.plan("graphsage", shape, on="dgx1", moves="peer", parameters={"batch": 4096})
    assert peer.best.best.exchange == "direct access"
    assert peer.to_dict()["parameters"]["batch"] == 4096
    with pytest.raises(UsageError, match="for applications of the HIVE study"):
        af.plan("bfs", shape, on="dgx1", moves="peer")
