"""Runs whose first launch is brief: they go on where it ended, and are what a run in one launch is."""

import numpy as np
import pytest

import arcflux as af
from arcflux.compile.cpu import bins
from arcflux.engine import loop
from arcflux.spmd.team import Team


@af.program
class Votes:
    """Sparse neighbourhoods: those that moved send after the superstep in which a launch may end."""

    sparse = True
    label: af.ref

    def start(v):
        v.label = v.number
        return v.number % 4 != 1

    def around(v, edges, old):
        v.label = af.mode((u.label for u in edges), default=old.label)

    def update(v, old):
        return v.label < old.label


CALLS = {
    "bfs": lambda graph, **options: af.bfs(graph, 0, **options),
    "sssp": lambda graph, **options: af.sssp(graph, 0, **options),
    "pagerank": lambda graph, **options: af.pagerank(graph, tol=1e-9, deterministic=True, **options),
    "labels": lambda graph, **options: af.connected_components(graph, method="min-label", **options),
}


@pytest.fixture(autouse=True)
def ticks(monkeypatch):
    """A clock that has been looked at: before that, launches are watched."""
    monkeypatch.setattr(loop._clock, "first", (0, float("inf")))
    monkeypatch.setattr(loop._clock, "rate", 1e9)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("spec", ["path:300,weights=1-9", "kron:8,weights=1-9"])
def test_a_launch_that_has_had_its_time_is_followed_by_another(spec, call, threads, monkeypatch):
    graph = af.load(spec)
    whole = CALLS[call](graph, threads=threads)
    monkeypatch.setattr(loop, "_BRIEF_SECONDS", 1e-8)
    monkeypatch.setattr(loop, "_WAKING_SECONDS", 1e-8)
    cut = CALLS[call](graph, threads=threads)
    monkeypatch.setattr(loop, "_AT_FIRST", 2)
    short = CALLS[call](graph, threads=threads)
    for other in (cut, short):
        assert other.converged
        assert other.validate()
        assert call == "sssp" or other.supersteps == whole.supersteps
        assert call == "sssp" or other.column("frontier").tolist() == whole.column("frontier").tolist()
        ways = [[one.direction for one in run.history] for run in (other, whole)]
        assert call == "sssp" or ways[0] == ways[1]
        for name, values in whole.values.items():
            if name not in ("parent", "predecessor"):
                assert np.array_equal(other.values[name], values)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spec", ["grid:30x40", "kron:9,directed=no"])
def test_neighbourhoods_go_on_where_the_clock_ended_a_launch(spec, threads, monkeypatch):
    graph, ends = af.load(spec), []
    whole = af.run(Votes, graph, threads=threads, timeout=100.0)
    monkeypatch.setattr(loop, "_BRIEF_SECONDS", 1e-8)
    monkeypatch.setattr(loop, "_WAKING_SECONDS", 1e-8)
    launched = loop.Loop._read
    monkeypatch.setattr(loop.Loop, "_read", lambda self: ends.append(launched(self)) or ends[-1])
    # A launch may be brief for a tenth of a second: all of them are, when time stands still for whoever asks.
    monkeypatch.setattr(loop.Loop, "_may_be_brief", lambda self, begun: True)
    cut = af.run(Votes, graph, threads=threads)
    assert len(ends) == cut.supersteps == whole.supersteps > 2
    assert cut["label"].tolist() == whole["label"].tolist()
    assert cut.column("changed").tolist() == whole.column("changed").tolist()
    assert cut.column("frontier").tolist() == whole.column("frontier").tolist()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("blocks", [None, 2])
def test_buckets_go_on_where_the_clock_ended_a_launch(blocks, threads, monkeypatch):
    graph, ends = af.load("kron:12,weights=1-200"), []
    expected = af.sssp(graph, 0, threads=1, timeout=100.0)["distance"]
    if blocks:  # so few that vertices are lost and handed over, too
        monkeypatch.setattr(bins, "capacity", lambda vertices, threads: blocks * threads)
    monkeypatch.setattr(loop, "_BRIEF_SECONDS", 1e-8)
    monkeypatch.setattr(loop.Loop, "_may_be_brief", lambda self, begun: True)
    launched = loop.Loop._read
    monkeypatch.setattr(loop.Loop, "_read", lambda self: ends.append(len(launched(self))) or launched(self))
    cut = af.sssp(graph, 0, threads=threads)
    assert cut["distance"].tolist() == expected.tolist()
    assert len(ends) > 4
    assert max(ends) <= 1 or blocks


def test_a_launch_ends_with_the_superstep_in_which_its_time_is_over(monkeypatch):
    graph, ends = af.load("path:4000"), []
    af.bfs(graph, 0, threads=2)
    monkeypatch.setattr(loop, "_WAKING_SECONDS", 1e-6)
    launched = loop.Loop._read
    monkeypatch.setattr(loop.Loop, "_read", lambda self: ends.append(launched(self)) or ends[-1])
    assert af.bfs(graph, 0, threads=2).supersteps == 4000
    assert 1 <= len(ends[0]) < loop._AT_FIRST
    assert sum(map(len, ends)) == 4000


@pytest.mark.parametrize("options", [{"timeout": 100.0}, {"cancel": af.CancelToken()}])
def test_what_may_end_a_run_is_watched(options, monkeypatch):
    graph, seen = af.load("kron:8"), []
    af.bfs(graph, 0, threads=2)
    ticks = loop.Loop._brief_ticks
    monkeypatch.setattr(loop.Loop, "_brief_ticks", lambda self, steps: seen.append(ticks(self, steps)) or seen[-1])
    af.bfs(graph, 0, threads=2, **options)
    af.bfs(graph, 0, threads=2)
    assert seen[0] == 0
    assert seen[-1] > 0


@pytest.mark.parametrize("call", ["bfs", "labels"])
def test_one_worker_begins_on_a_small_graph_and_the_others_come_when_it_takes_long(call, monkeypatch):
    graph, crews = af.load("kron:8"), []
    whole = CALLS[call](graph, threads=1)
    launch = Team.launch

    def noted(self, kernel, chunks, *arguments, **options):
        crews.append(chunks)
        launch(self, kernel, chunks, *arguments, **options)

    monkeypatch.setattr(Team, "launch", noted)
    alone = CALLS[call](graph, threads=3)
    assert crews[-1] == 1
    monkeypatch.setattr(loop, "_WAKING_SECONDS", 1e-8)
    joined = CALLS[call](graph, threads=3)
    assert crews[-2:] == [1, 3]
    monkeypatch.setattr(loop, "_FEW_VISITS", 0)
    together = CALLS[call](graph, threads=3)
    assert crews[-1] == 3
    for other in (alone, joined, together):
        assert other.validate()
        assert other.column("frontier").tolist() == whole.column("frontier").tolist()
        assert other.column("edges").tolist() == whole.column("edges").tolist()
        assert [one.direction for one in other.history] == [one.direction for one in whole.history]


def test_the_first_launches_tell_how_long_a_tick_is(monkeypatch):
    graph, clock, seen = af.load("kron:8"), loop._Clock(), []
    monkeypatch.setattr(loop, "_clock", clock)
    ticks = loop.Loop._brief_ticks
    monkeypatch.setattr(loop.Loop, "_brief_ticks", lambda self, steps: seen.append(ticks(self, steps)) or seen[-1])
    monkeypatch.setattr(loop, "_APART", 0.0)
    for _ in range(3):
        af.bfs(graph, 0, threads=2)
    assert seen[:2] == [0, 0]
    assert seen[2] > 0
    assert 1e6 < clock.rate < 1e12
