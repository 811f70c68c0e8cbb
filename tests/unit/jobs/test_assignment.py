"""Algorithm 1 of G2: every part has a worker, none holds more than fits, and subtrees stay together."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
from arcflux.cli import commands
from arcflux.errors import SpaceError, StoreError, UsageError
from arcflux.jobs.assignment import WorkerNode, assign, assign_parts, count_parts, share_out
from arcflux.jobs.capability import _file, capability, kept_capabilities
from arcflux.partition.hierarchy import common_level, merge_parts, split_recursively
from arcflux.spmd.private import write_private

_workers = st.lists(
    st.builds(WorkerNode, st.just("w"), st.integers(50, 400), st.floats(0.1, 10.0), st.booleans()),
    min_size=1,
    max_size=6,
)


@given(_workers, st.floats(0.05, 1.2))
def test_every_part_has_a_worker_and_no_memory_overflows(workers, filled):
    there = sum(worker.memory for worker in workers)
    size = max(1, int(there * filled))
    if size > there:
        with pytest.raises(SpaceError, match=f"{size:,} bytes"):
            assign_parts(size, workers)
        return
    try:
        found = assign_parts(size, workers)
    except SpaceError:  # parts of whole bytes do not fit to the last byte
        assert filled > 0.8
        return
    assert len(found.owner) == sum(found.counts) >= count_parts(size, workers)
    for k, worker in enumerate(workers):
        assert found.owner.count(k) == found.counts[k]
        assert found.counts[k] * found.part_bytes <= worker.memory


def test_the_number_of_parts_is_the_largest_of_three():
    small, gpu = WorkerNode("cpu", 1000, 1.0), WorkerNode("gpu", 30, 1.0, gpu=True)
    assert count_parts(100, [small] * 5) == 25
    assert count_parts(1000, [small, gpu]) == 34  # |G| / d
    assert count_parts(990, [small, WorkerNode("c", 10, 1.0)]) == 99  # |G| / m


def test_shares_follow_capability_until_memory_says_otherwise():
    fast, slow = WorkerNode("fast", 10**6, 3.0), WorkerNode("slow", 10**6, 1.0)
    assert share_out(16, 10, [fast, slow]) == [12, 4]
    tight = WorkerNode("tight", 50, 30.0)
    assert share_out(16, 10, [tight, fast, slow]) == [5, 8, 3]  # 11 of 16 are dealt out again, 3 to 1
    with pytest.raises(SpaceError, match="room for 5"):
        share_out(6, 10, [tight])


@given(st.integers(2, 3), st.integers(1, 4), st.data())
def test_subtrees_stay_together(fan, levels, data):
    count = fan**levels
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=4)))
    counts = [after - before for before, after in zip([0, *cuts], [*cuts, count], strict=True)]
    owner = assign(counts, fan, levels)
    assert [owner.count(k) for k in range(len(counts))] == counts

    def broken(one):  # pairs of siblings on different workers
        return sum(one[k] != one[k + 1] for k in range(0, count - 1, fan))

    rounds = [k for turn in range(max(counts)) for k, most in enumerate(counts) if turn < most]
    assert broken(owner) <= max(broken(rounds), len([most for most in counts if most % fan]))


def test_a_hierarchy_is_nested_and_kept_in_the_folder(tmp_path):
    graph = af.load("kron:9")
    for how in ("ranges", "mincut"):
        if how == "mincut":
            pytest.importorskip("pymetis")
        parts = split_recursively(graph, 6, how)
        assert (parts.k, parts.hierarchy) == (8, (2, 3))
        assert set(np.unique(parts.owner)) == set(range(8))
        np.testing.assert_array_equal(
            af.run(af.algorithms.BFS, graph, source=0, parts=parts)["level"], af.bfs(graph, 0)["level"]
        )
        parts.save(tmp_path / how)
        again = af.load_parts(tmp_path / how)
        assert again.hierarchy == (2, 3)
        np.testing.assert_array_equal(again.owner, parts.owner)
    manifest = json.loads((tmp_path / "ranges" / "manifest.json").read_text())
    assert manifest["hierarchy"] == [2, 3]
    manifest["hierarchy"] = [2, 4]
    (tmp_path / "ranges" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError):
        af.load_parts(tmp_path / "ranges")
    assert common_level(0, 7, 2, 3) == 3
    with pytest.raises(UsageError):
        split_recursively(graph, 0)
    with pytest.raises(UsageError, match="deals out arcs"):
        split_recursively(graph, 4, "grid")


def test_a_run_takes_the_parts_that_each_worker_was_assigned(tmp_path):
    graph = af.load("kron:8,weights=1-9")
    workers = [WorkerNode("cpu", 10**6, 1.0), WorkerNode("gpu", 10**6, 3.0, gpu=True)]
    found = assign_parts(10**5, workers)
    leaves = split_recursively(graph, len(found.owner), "ranges")
    parts = merge_parts(leaves, found.owner)
    assert parts.k == 2
    for k in range(2):
        mine = [leaf for leaf in range(leaves.k) if found.owner[leaf] == k]
        assert parts.owned(k).tolist() == sorted(v for leaf in mine for v in leaves.owned(leaf).tolist())
        assert parts.part(k).arcs == sum(leaves.part(leaf).arcs for leaf in mine)
    assert 2 < parts.part(1).arcs / parts.part(0).arcs < 4.5  # the faster one has three quarters
    devices = [af.devices.Virtual(3.0), af.devices.Virtual(1.0)]
    result = af.run(af.algorithms.BFS, graph, source=0, parts=parts, devices=devices, ranks_per_node=1)
    np.testing.assert_array_equal(result["level"], af.bfs(graph, 0)["level"])
    parts.save(tmp_path / "assigned")
    np.testing.assert_array_equal(af.load_parts(tmp_path / "assigned").owner, parts.owner)


def test_parts_are_merged_as_they_are_told_or_refused():
    leaves = split_recursively(af.load("path:8"), 4, "ranges")
    assert merge_parts(leaves, [0, 0, 2, 2], 4).k == 4  # workers 1 and 3 hold none
    assert merge_parts(leaves, [0, 0, 2, 2]).k == 3
    for workers, count in (([0, 1], None), ([0, 1, 2, -1], None), ([0.0] * 4, None), ([0, 1, 2, 3], 3)):
        with pytest.raises(UsageError, match="worker"):
            merge_parts(leaves, workers, count)
    with pytest.raises(UsageError, match="deals out arcs"):
        merge_parts(af.partition("path:8", 4, "grid"), [0, 0, 1, 1])


def test_few_edges_cross_between_parts_with_a_low_ancestor_in_mesh_order():
    pytest.importorskip("pymetis")
    graph = af.load("grid:24x24")
    parts = split_recursively(graph, 8, "mincut")
    sources, targets, _ = graph.edge_numbers()
    one, other = parts.owner[sources].astype(int), parts.owner[targets].astype(int)
    near = np.mean([common_level(a, b, 2, 3) for a, b in zip(one, other, strict=True) if a != b])
    every = np.mean([common_level(a, b, 2, 3) for a in range(8) for b in range(8) if a != b])
    assert near < every  # siblings have more edges between them than strangers


def test_capability_is_kept_with_the_calibration(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    graph = af.load("path:9")
    ran = []

    def run(name, graph, options):
        ran.append((name, options))
        time.sleep(0.001 * options["threads"])

    monkeypatch.setattr("arcflux.jobs.capability._run", run)
    assert 1 / (3 * 0.05) < capability("cpu", graph=graph, threads=1) < 1 / (3 * 0.001)
    assert {name for name, _ in ran} == {"pagerank", "bfs", "sssp"}
    assert kept_capabilities() == {}  # of another graph: not kept
    monkeypatch.setattr("arcflux.jobs.capability._GRAPH", "path:9")
    found = capability("cpu", threads=1)
    ran.clear()
    assert capability("cpu") == found
    assert kept_capabilities() == {"cpu": found}
    assert not ran
    capability("cpu", threads=2, again=True)
    assert ran


@pytest.mark.parametrize(
    "content", ["[", "[]", "null", '{"capabilities": []}', '{"capabilities": {"cpu": "x"}}', "[" * 10**5]
)
def test_capabilities_that_cannot_be_read_are_measured_again(content, tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    write_private(_file(), content.encode())
    assert kept_capabilities() == {}


def test_the_tasks_run_on_cores_and_on_virtual_devices():
    graph = af.load("kron:7,weights=1-9")
    assert capability("cpu", graph=graph, threads=1) > 0
    assert capability("virtual", [af.devices.Virtual(2.0)], graph=graph) > 0


def test_plan_shows_the_assignment_for_the_machine_of_the_paper():
    command = ["plan", "pagerank", "144000000,8000000000,powerlaw", "--on", "ec2-m2050", "--nodes", "8", "--jobs"]
    shown = CliRunner().invoke(commands, command, catch_exceptions=False, obj=[]).stdout
    assert "node7/gpu" in shown
    assert "256 parts" in shown
    told = json.loads(CliRunner().invoke(commands, [*command, "--json"], catch_exceptions=False, obj=[]).stdout)
    assert sum(len(worker["parts"]) for worker in told["workers"]) == told["parts"] == 256
    large = CliRunner().invoke(commands, [*command[:2], "384000000,210000000000,powerlaw", *command[3:]], obj=[])
    assert isinstance(large.exception, SpaceError)


def test_workers_of_several_kinds_are_processes_that_load_their_parts(tmp_path):
    pytest.importorskip("mpi4py")
    graph = af.load("kron:8,weights=1-9")
    found = assign_parts(
        1 << 18, [WorkerNode("cores", 1 << 19, 1.0), WorkerNode("gpu", 1 << 17, capability=2.0, gpu=True)]
    )
    parts = merge_parts(split_recursively(graph, len(found.owner), "ranges"), found.owner, 2)
    parts.save(tmp_path / "parts")
    run = ["run", "sssp", str(tmp_path / "parts"), "--source", "0", "--workers", "2", "--devices", "virtual:1,2"]
    done = subprocess.run(
        [sys.executable, "-m", "arcflux", *run, "--out", str(tmp_path / "paths.csv")],
        capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "virtual:1, virtual:2, one for each rank" in done.stdout
    given = np.genfromtxt(tmp_path / "paths.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(given["distance"], af.sssp(graph, 0)["distance"])
