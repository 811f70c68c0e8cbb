"""The models: against sums by hand, brute force, and what must hold on any machine."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
from arcflux.compile.lower import lower
from arcflux.gpu.account import cost
from arcflux.plan import grid, memory
from arcflux.plan.exchange import EXCHANGES, between_peers, volumes
from arcflux.plan.lux import Gammas, Phases, gammas, links, superstep
from arcflux.plan.profile import profile_names, read
from arcflux.plan.shape import from_description, uniform
from arcflux.plan.work import WORKS, Work, work_of

G = Gammas(load=1e-9, pull=2e-9, push=5e-9, transfer=3e-9)


def test_equations_10_to_14_by_hand():
    profile = replace(read("xstream"), devices=4, host_sharers=4)  # one link
    shape, work = uniform(1000, 16_000), Work("x", 8, 8)
    x, y = 2, 3
    pull = superstep(profile, work, shape, x, x * y, "pull", G)
    assert pull.load == pytest.approx(1e-9 * 8 * shape.ins(6) / 2)
    assert pull.compute == pytest.approx(2e-9 * 16_000 / 6)
    assert pull.transfer == pytest.approx(3e-9 * 8 * shape.uds(2) / 2)
    push = superstep(profile, work, shape, x, x * y, "push", G)
    assert push.compute == pytest.approx(5e-9 * 16_000 / 6)
    assert push.transfer == pull.transfer
    assert push.load == 2 * pull.load
    assert superstep(profile, work, shape, x, x * y, "push", G, printed=True).load == 0
    assert pull.seconds == pull.load + pull.compute + pull.transfer


def test_one_device_has_nothing_to_load_and_one_node_nothing_to_transfer():
    found = superstep(read("dgx1"), WORKS["pagerank"], uniform(1000, 9000), 1, 1, "pull", G)
    assert (found.load, found.transfer) == (0, 0)
    cpu = read("lonestar5")
    assert superstep(cpu, WORKS["pagerank"], uniform(1000, 9000), 1, 4, "pull", G).load == 0


def test_links_are_shared():
    profile = read("xstream")
    assert [links(profile, y) for y in (1, 2, 4, 16)] == [1, 2, 2, 2]
    assert links(read("sci-k20"), 2) == 2


@given(
    st.sampled_from(profile_names()), st.sampled_from(sorted(WORKS)), st.sampled_from(("bandwidth", "host", "cache"))
)
def test_a_faster_machine_is_never_slower(machine, algorithm, figure):
    profile, shape = read(machine), from_description(1 << 20, 1 << 25)
    better = replace(profile, **{figure: 2 * getattr(profile, figure)})
    work = WORKS[algorithm]
    for direction in ("pull", "push"):
        slow, fast = (
            superstep(one, work, shape, 1, profile.devices, direction, gammas(one, work, shape)).seconds
            for one in (profile, better)
        )
        assert fast <= slow * (1 + 1e-12)


def test_gammas_count_what_an_arc_brings():
    profile = replace(read("dgx1"), cache=4.0 * 250, sector=32, efficiency=0.5, bandwidth=100e9)
    shape, work = uniform(1000, 8000), Work("x", 4, 8)
    found = gammas(profile, work, shape)
    assert found.pull == pytest.approx((4 + 0.75 * 32) / 50e9)
    assert found.push == pytest.approx((4 + 0.75 * 32 * 6.78 / 3.44) / 50e9)
    assert gammas(replace(profile, cache=1e6), work, shape).pull == pytest.approx(4 / 50e9)
    search = gammas(read("sci-k20"), WORKS["bfs"], shape)
    assert search.push == pytest.approx(0.0254 / 2**26, rel=1e-3)


def test_exchanges_against_sets_of_parts():
    graph, k, value = af.load("kron:9"), 4, 8
    parts = af.partition(graph, k, "ranges")
    owner = parts.owner.tolist()
    sources, targets, _ = graph.edge_list()
    arcs = list(zip(graph.ids.to_numbers(sources).tolist(), graph.ids.to_numbers(targets).tolist(), strict=True))
    arcs += [(v, u) for u, v in arcs if u != v]
    read_elsewhere = {(u, owner[v]) for u, v in arcs if owner[u] != owner[v]}
    found = {one.name: one for one in volumes(af.plan("bfs", graph, on="dgx1").graph, k, value)}
    assert set(found) == set(EXCHANGES)
    assert found["readers"].bytes == len(read_elsewhere) * value
    assert found["owners"].bytes == found["readers"].bytes
    assert found["allreduce"].bytes == 2 * (k - 1) * graph.vertices * value
    few = {one.name: one for one in volumes(af.plan("bfs", graph, on="dgx1").graph, k, value, active=0.1)}
    assert few["readers"].bytes == pytest.approx(len(read_elsewhere) * 0.1 * (value + 4))
    assert few["allreduce"].bytes == found["allreduce"].bytes


def test_mixed_is_for_skewed_graphs():
    skewed = {one.name: one.bytes for one in volumes(from_description(1 << 20, 1 << 25), 64, 8)}
    assert skewed["mixed"] < 1.2 * skewed["readers"]
    flat = {one.name: one.bytes for one in volumes(uniform(1 << 20, 1 << 25), 64, 8)}
    assert flat["mixed"] == pytest.approx(flat["readers"])
    assert all(one.bytes == 0 for one in volumes(uniform(100, 200), 1, 8))


def test_pairs_without_a_link_go_through_the_node():
    dgx1 = read("dgx1")
    pairs = [(i, j) for i in range(8) for j in range(i)]
    assert sum(j not in dgx1.reachable(i) for i, j in pairs) == 12
    one = volumes(uniform(1 << 20, 1 << 25), 8, 8)[0]
    meshed = between_peers(dgx1, 8, one)
    joined = between_peers(replace(dgx1, peers=()), 8, one)
    assert meshed > joined > 0
    assert between_peers(dgx1, 4, volumes(uniform(1 << 20, 1 << 25), 4, 8)[0]) < meshed  # four are all linked
    assert between_peers(dgx1, 1, one) == 0


def test_cost_of_bitmaps():
    profile = replace(read("sci-k20"), network_latency=0.0, launch=0.0)
    weak = [grid.search(profile, replace(from_description(1 << s, 1 << (s + 5), "kron"), depth=6.0), n, 1e9)[0]
            for n, s in ((4, 23), (16, 25), (64, 27))]  # fmt: skip
    assert weak[1].transfer / weak[0].transfer == pytest.approx(grid.growth(2)) == pytest.approx(4)
    assert weak[2].transfer / weak[1].transfer == pytest.approx(grid.growth(4)) == pytest.approx(3)
    assert weak[0].compute == weak[1].compute == weak[2].compute
    # 6 levels, 3 log2(4) messages of 2^25 / 8 / 4 bytes
    assert weak[1].transfer == pytest.approx(6 * 3 * 2 * (2**25 / 32) / 0.96e9)


@given(st.integers(1, 400))
def test_grids(devices):
    found = grid.sides(devices)
    if found is None:
        assert devices > 1
        assert all(devices % k for k in range(2, math.isqrt(devices) + 1))
        return
    rows, columns = found
    assert rows * columns == devices
    assert rows <= columns
    shape = from_description(1 << 20, 1 << 24)
    log, wave = (grid.search(read("sci-k20"), shape, devices, 1e9, scan=scan) for scan in ("log", "wave"))
    assert wave[0].seconds >= log[0].seconds * (1 - 1e-9) or rows == 3  # log2 3 is less than 2 steps
    assert (log[1] == 0) == (devices == 1)


def test_what_does_not_fit_spills():
    profile, work = read("sci-k20"), WORKS["pagerank"]
    small = memory.fit(profile, work, from_description(1 << 20, 1 << 25), 1, 2)
    assert small.fits
    assert small.spilled == 0
    assert small.device == pytest.approx(
        (2**25 * 4 + 2**20 * (8 + 24)) / 2 + from_description(1 << 20, 1 << 25).ins(2) * 8 / 2
    )
    large = memory.fit(profile, work, from_description(1 << 26, 1 << 32), 1, 2)
    assert large.spilled == pytest.approx(large.device - 5e9)
    assert large.fits
    assert memory.spill_seconds(profile, large.spilled, 2) == pytest.approx(large.spilled / 6e9)
    assert not memory.fit(profile, work, from_description(1 << 28, 1 << 38), 1, 2).fits


def test_work_of_programs_and_of_what_has_no_model():
    assert work_of("pr") is WORKS["pagerank"]
    assert work_of(af.pagerank) is WORKS["pagerank"]
    assert work_of("pagerank", 7).steps(uniform(10, 20)) == 7
    bound = work_of("two_hop_friends")
    assert bound.bound
    assert "lower bound" in bound.note
    found = work_of(af.algorithms.BFS)
    assert found.bound
    assert found.supersteps == 1
    assert found.value >= 1
    assert np.isfinite(found.state)


def test_bytes_of_a_program_are_those_that_its_kernel_for_gpus_moves():
    columns = {"weight": np.dtype("f8")}
    for program in (af.algorithms.PageRank, af.algorithms.SSSP):
        lowered = lower(program, columns, False)
        counted = cost(lowered.unordered() if lowered.ordered else lowered, "pull_thread", columns)
        found = work_of(program, columns=columns)
        assert found.arc_bytes + found.value == counted.edge_read
        assert found.vertex == counted.vertex_read + counted.vertex_written
    profile, few, many = read("dgx1"), uniform(1000, 64000), uniform(64000, 64000)
    light = replace(found, vertex=0.0)
    for direction in ("pull", "push"):
        more = [
            getattr(gammas(profile, found, shape), direction) - getattr(gammas(profile, light, shape), direction)
            for shape in (few, many)
        ]
        assert more[0] > 0
        assert more[1] == pytest.approx(64 * more[0])


def test_phases_add_up():
    assert Phases(1, 2, 3, 4).seconds == 10
    assert Phases(1, 2, 3, 4).times(2) == Phases(2, 4, 6, 8)
