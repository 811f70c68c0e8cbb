"""The gas engine by agents and daemons gives what the native engine gives, whatever is switched on or off."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import arcflux as af
from arcflux.algorithms import HITS
from arcflux.errors import ProgramError, UsageError
from arcflux.plug.agent import Agent, Blocks
from arcflux.plug.connection import DaemonError
from arcflux.plug.tables import Tables
from arcflux.plug.template import Template
from arcflux.plug.upper import gas
from arcflux.plug.wire import LostPeerError
from arcflux.transports import launch
from plug_programs import Components, FourPaths, Labels, Ranks

KRON, GRID = (af.load(spec) for spec in ("kron:7,weights=1-9,seed=5", "grid:9x8,weights=1-9"))
NOBODY = af.Graph.from_edges([], [], vertices=3)
FOUR = {"a": 0, "b": 3, "c": 7, "d": 11}
SWITCHES = [
    {}, {"skip": False}, {"lazy": False}, {"cache": 0}, {"cache": 20, "lazy": False},
    {"blocks": Blocks(capacity=64, size=17)}, {"blocks": Blocks(pipelined=False, size=50)},
    {"blocks": Blocks(capacity=200, size="lemma")},
]  # fmt: skip
needs_mpi = pytest.mark.skipif(
    not (Path(sys.executable).with_name("mpiexec").exists() or shutil.which("mpiexec")), reason="mpiexec is not there"
)
OPTIONS = {"lease": 20.0, "threads": 1}


def distances(graph):
    return np.stack([af.sssp(graph, source)["distance"] for source in FOUR.values()], axis=1)


@pytest.mark.parametrize("partition", ["degree", "ranges", "grid", "random"])
def test_four_paths_whatever_is_switched_on(lasting_folder, partition):
    for graph in (KRON, GRID):
        expected = distances(graph)
        for switches in SWITCHES if partition in ("degree", "random") else SWITCHES[:2]:
            found = gas.run(
                graph, FourPaths, workers=3, partition=partition, folder=lasting_folder, **OPTIONS, **switches, **FOUR
            )
            assert np.array_equal(found["dist"], expected), switches
            assert found.converged


@pytest.mark.parametrize("switches", SWITCHES[:5], ids=str)
def test_ranks_after_so_many_iterations(lasting_folder, switches):
    with pytest.warns(UserWarning, match="before it converged"):
        expected = af.run(Ranks, KRON, max_supersteps=6, threads=1)
    with pytest.warns(UserWarning, match="before it converged"):
        found = gas.run(KRON, Ranks, workers=2, max_supersteps=6, folder=lasting_folder, **OPTIONS, **switches)
    assert np.allclose(found["rank"], expected["rank"], rtol=1e-12, atol=0)
    assert found.supersteps == 6
    assert found.totals["lost"] == pytest.approx(expected.totals["lost"], rel=1e-12)


def test_components_and_labels(lasting_folder):
    graph = af.Graph.from_edges([0, 1, 2, 4, 5, 6, 7, 2], [1, 2, 0, 5, 6, 4, 4, 3], directed=False, vertices=10)
    for workers in (1, 2, 4):
        parts = gas.run(graph, Components, workers=workers, folder=lasting_folder, **OPTIONS)
        assert np.array_equal(parts["component"], af.connected_components(graph).numbers("component"))
        for one in (graph, KRON):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # labels may swap for ever
                labels = gas.run(one, Labels, workers=workers, folder=lasting_folder, max_supersteps=5, **OPTIONS)
            assert np.array_equal(labels["label"], af.label_propagation(one, max_iter=5)["label"])


def test_asynchronous_workers_end_with_the_same_values_after_fewer_synchronisations(lasting_folder):
    counts = {}
    for mode, skip in (("sync", False), ("sync", True), ("async", True)):
        found = gas.run(GRID, FourPaths, workers=2, partition="ranges", mode=mode, skip=skip, folder=lasting_folder,
                        **OPTIONS, **FOUR)  # fmt: skip
        assert np.array_equal(found["dist"], distances(GRID))
        counts[mode, skip] = found.counts.synchronisations
    assert counts["async", True] * 2 < counts["sync", True] <= counts["sync", False]
    with pytest.raises(UsageError, match="cannot run asynchronously"):
        gas.run(GRID, Ranks, mode="async", folder=lasting_folder)


def test_cache_and_laziness_save_what_they_should(lasting_folder):
    def counted(**switches):
        return gas.run(GRID, FourPaths, workers=2, partition="ranges", skip=False, folder=lasting_folder, **OPTIONS,
                       **switches, **FOUR).counts  # fmt: skip

    every, uncached, eager = counted(), counted(cache=0), counted(lazy=False)
    assert every.downloaded * 2 < uncached.downloaded
    assert every.bytes * 2 < eager.bytes
    assert every.evicted == 0 < uncached.evicted


def test_mixed_daemons_share_the_work_by_what_they_cost(folder):
    parts = af.partition(KRON, 1)
    template = Template(Ranks, {}, (KRON.vertices, KRON.edges, KRON.arcs), {})
    with Agent(["cpu", "virtual:2", "cpu#1"], folder=folder, lease=2.0, threads=1) as agent:
        agent.transfer(template, Tables.of_part(parts, 0, []))
        own = np.arange(KRON.vertices)
        agent.begin(own)
        for step in range(4):
            agent.step, agent.totals = step, agent.brought
            assert agent.requestGen(own) == KRON.arcs
            assert len(agent.outgoing()) == 0
            agent.requestMerge(agent.outgoing())
            agent.requestApply(own)
        assert sum(daemon.triplets for daemon in agent.daemons) == 4 * KRON.arcs
        assert len({daemon.connection.process for daemon in agent.daemons}) == 3
        with pytest.warns(UserWarning, match="before it converged"):
            expected = af.run(Ranks, KRON, max_supersteps=4)
        assert np.allclose(agent.tables.values["rank"], expected["rank"], rtol=1e-12)


def test_daemons_of_unknown_cost_are_measured_before_they_get_their_shares(folder, monkeypatch):
    monkeypatch.setattr("arcflux.plug.agent._FIRST", KRON.arcs)
    template = Template(Ranks, {}, (KRON.vertices, KRON.edges, KRON.arcs), {})
    with Agent(["virtual:1", "virtual:400"], folder=folder, lease=2.0, threads=1) as agent:
        agent.transfer(template, Tables.of_part(af.partition(KRON, 1), 0, []))
        agent.begin(np.arange(KRON.vertices))
        agent.totals = agent.brought
        assert math.isnan(agent.cost)
        assert agent.requestGen(np.arange(KRON.vertices)) == KRON.arcs
        quick, slow = agent.daemons
        assert quick.triplets + slow.triplets == KRON.arcs
        assert slow.triplets < KRON.arcs / 4  # a half, if it had been given an equal share
        assert agent.cost == pytest.approx(1 / (1 / quick.cost + 1 / slow.cost))


def test_measured_costs_of_workers_make_a_partitioning(folder):
    options = {"daemons": [["virtual:1"], ["virtual:400#1"]], "folder": folder, "max_supersteps": 3, **OPTIONS}
    with pytest.warns(UserWarning, match="before it converged"):
        found = gas.run(KRON, Ranks, workers=2, partition="ranges", **options)
    quick, slow = found.costs
    assert 0 < quick < slow
    parts = af.partition(KRON, 2, shares=[1 / cost for cost in found.costs])
    assert parts.part(1).arcs < KRON.arcs / 4
    assert all(math.isnan(cost) for cost in gas.run(NOBODY, Components, workers=2, folder=folder, **OPTIONS).costs)


def test_orders_are_kept(lasting_folder):
    template = Template(Components, {}, (KRON.vertices, KRON.edges, KRON.arcs), {})
    with Agent(order="bsp", folder=lasting_folder, threads=1) as agent:
        with pytest.raises(UsageError, match="without a graph"):
            agent.requestGen(np.arange(3))
        agent.transfer(template, Tables.of_part(af.partition(KRON, 1), 0, []))
        with pytest.raises(UsageError, match=r"requestGen\(\) next"):
            agent.requestApply(np.arange(3))
        with pytest.raises(UsageError, match="no field 'rank'"):
            agent.update({"rank": np.zeros(KRON.vertices)})


@pytest.mark.parametrize("pipelined", [True, False])
def test_a_daemon_that_is_killed_in_an_iteration_is_noticed(folder, pipelined):
    template = Template(Ranks, {}, (KRON.vertices, KRON.edges, KRON.arcs), {})
    blocks = Blocks(size=64, pipelined=pipelined)
    with Agent(["virtual:50"], order="async", blocks=blocks, folder=folder, lease=5.0, threads=1) as agent:
        agent.transfer(template, Tables.of_part(af.partition(KRON, 1), 0, []))
        own, killed = np.arange(KRON.vertices), []

        def kill():
            killed.append(time.monotonic())
            os.kill(agent.daemons[0].connection.process, signal.SIGKILL)

        agent.begin(own)
        killer = threading.Timer(0.3, kill)
        killer.start()
        with pytest.raises(LostPeerError, match="gone"):
            [agent.requestGen(own) for _ in range(2000)]  # each takes tens of milliseconds
        assert time.monotonic() - killed[0] < 2
        killer.join()


def test_a_daemon_that_cannot_go_on_says_why(folder):
    """An error in the middle of an iteration comes to the agent, which does not wait for messages any more."""
    template = Template(Ranks, {}, (KRON.vertices, KRON.edges, KRON.arcs), {})
    with Agent(["cpu"], order="async", folder=folder, lease=5.0, threads=1) as agent:
        agent.transfer(template, Tables.of_part(af.partition(KRON, 1), 0, []))
        agent.begin(np.arange(KRON.vertices))
        agent.totals = {"lost": "nothing"}
        with pytest.raises(DaemonError, match="could not convert string"):
            agent.requestGen(np.arange(KRON.vertices))


def test_what_cannot_be_triplets_and_options_of_no_sense(lasting_folder):
    with pytest.raises(ProgramError, match="cannot run by blocks of triplets: it has phases"):
        gas.run(KRON, HITS, folder=lasting_folder)
    for wrong in ({"mode": "bsp"}, {"daemons": []}, {"daemons": [["cpu"]]}, {"daemons": "cpu"},
                  {"daemons": [["cpu"], []]}, {"daemons": [3]}, {"daemons": ["virtual:x"]},
                  {"cache": -1}, {"cache": 1.5}, {"blocks": "large"},
                  {"lazy": 2}, {"skip": "no"}):  # fmt: skip
        with pytest.raises(UsageError):
            gas.run(KRON, Components, workers=2, folder=lasting_folder, **wrong)
    for size in (0, -3, "big"):
        with pytest.raises(UsageError, match="size of blocks"):
            Blocks(size=size)


def test_more_workers_than_vertices_and_no_edges(lasting_folder):
    for graph in (af.load("path:2"), af.Graph.from_edges([], [], vertices=3)):
        found = gas.run(graph, Components, workers=4, folder=lasting_folder, **OPTIONS)
        assert np.array_equal(found["component"], af.run(Components, graph)["component"])


@needs_mpi
def test_ranks_of_mpi_give_the_same(folder):
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    command, env = launch.command(2, [str(Path(__file__).with_name("plug_ranks.py")), folder], paths)
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    found = sorted(Path(folder).glob("found-*.json"))
    assert len(found) == 2
    for path in found:
        where, values = json.loads(path.read_text())
        assert where.startswith("2 workers")
        expected = distances(KRON)
        assert np.array_equal(values, np.where(np.isfinite(expected), expected, -1.0))
