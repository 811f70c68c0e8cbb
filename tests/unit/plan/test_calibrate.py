"""A calibration: what it holds, that it is kept, and that one that is stale, foreign or broken is noticed."""

import json
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import plan_machine
import pytest

import arcflux as af
from arcflux import trace
from arcflux.errors import FormatError, UsageError
from arcflux.plan import calibrate as calibrating
from arcflux.plan import calibration as calibrations
from arcflux.plan import microbench
from arcflux.plan.calibrate import QUICK, Subject, measure_machine
from arcflux.plan.calibration import load_calibration, path
from arcflux.plan.other_machine import absent
from arcflux.plan.profile import ACCESSES
from arcflux.plan.shape import kronecker
from arcflux.plan.sketch import sketch_graph
from arcflux.plan.work import WORKS

calibration = plan_machine.calibration


@pytest.mark.slow
def test_a_quick_one(tmp_path, monkeypatch):
    for module in (calibrating, calibrations):
        monkeypatch.setattr(module, "path", lambda threads=None: tmp_path / "kept.json")
    graphs = Subject("kron:6"), Subject("grid:40x40", shuffled=True), Subject(near=(500, 6))
    found = measure_machine(replace(QUICK, graphs=graphs, tries=1, seconds=1e9))
    assert set(found.throughput) == set(found.latency) == set(ACCESSES)
    for table in (found.throughput, found.latency):
        assert all(row["self"] > 0 and row["host"] > 0 for row in table.values())
        assert all(set(row) == {"self", "peer", "host", "all"} and min(row.values()) > 0 for row in table.values())
    assert [row["bytes"] for row in found.hierarchy] == [2.0**k for k in (14, 16, 18, 20)]
    assert found.barrier > 0
    assert found.launch > 0
    assert found.exchange["local"]["bandwidth"] > 0
    every = {(f"{work.name}/{way}", threads) for work in WORKS.values() for way in work.measured
             for threads in {1, found.machine["threads"]}}  # fmt: skip
    assert set(found.fits) == every
    assert all(len(one.runs) == 3 for one in found.fits.values())
    assert 1 <= found.push_over_pull <= 10
    assert found.notes == []
    assert load_calibration() == found
    assert load_calibration().foreign == ""


def test_what_is_kept_is_read_again(calibration, tmp_path):
    found = load_calibration()
    assert found == calibration
    found.plot(tmp_path / "memory.svg")
    assert "<svg" in (tmp_path / "memory.svg").read_text()


def test_a_stale_one_says_so(calibration):
    today = datetime.now(timezone.utc).isoformat(timespec="seconds")
    assert replace(calibration, date=today).notes == []
    old = replace(calibration, date="2020-01-01T00:00:00+00:00", versions={**calibration.versions, "numba": "0.1"})
    numba, age = old.notes
    assert "numba was 0.1" in numba
    assert "days ago" in age


def test_a_foreign_one_is_not_used(calibration):
    replace(calibration, machine={**calibration.machine, "cores": 4711}).save(path())
    heard = []
    with trace.listen(heard.append):
        assert load_calibration() is None
    assert any("another machine" in str(event) and "4711" in str(event) for event in heard)
    assert not af.estimate("pagerank", "kron:10").measured_here


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 2, "fits": {}, "graphs": [], "runs": [], "hierarchy": []}',
        "[" * 100_000,
    ],
)
def test_a_broken_one_is_refused(calibration, content):
    path().write_text(content)
    with pytest.raises(FormatError, match="is no calibration"):
        load_calibration()


def test_one_of_another_version_is_refused(calibration):
    path().write_text(json.dumps({**calibration.to_dict(), "format": 99}))
    with pytest.raises(FormatError, match="another version"):
        load_calibration()


def test_cycles_go_through_everything():
    for way in ("regular", "random"):
        after = microbench._cycle(1 << 10, way)
        place, seen = 0, set()
        while place not in seen:
            seen.add(place)
            place = int(after[place])
        assert len(seen) == 1 << 10


def test_rates_that_do_not_fit_their_runs_are_refused(calibration):
    whole = calibration.to_dict()
    whole["fits"]["bfs/auto/" + str(calibration.machine["threads"])]["missed"] = [0.0]
    path().write_text(json.dumps(whole))
    with pytest.raises(FormatError, match="do not fit its runs"):
        load_calibration()


def test_latencies_are_measured_at_every_place(monkeypatch):
    """Each place has a run of its own: so many workers, in cycles of so many elements."""
    asked = []

    def passed(kernel, data, what, count, workers, share):
        asked.append((workers, share))
        cycle = [0]
        for _ in range(share - 1):
            cycle.append(int(data[cycle[-1]]))
        assert sorted(cycle) == list(range(share))
        return float(len(asked))

    monkeypatch.setattr(microbench, "_pass", passed)
    monkeypatch.setattr(microbench, "_handover_seconds", lambda *given, **options: 1.0)
    monkeypatch.setattr(microbench.config, "threads", lambda: 2)
    found = microbench.latencies(1 << 6, np.zeros(1 << 6, np.uint32))
    assert set(asked) == {(1, 64), (2, 32), (2, 64)}
    for row in found.values():
        assert len({row["self"], row["host"], row["all"]}) == 3


def test_subjects_are_what_they_say():
    plain, weighted = Subject("grid:20x20", shuffled=True).graphs()
    assert (plain.vertices, plain.arcs) == (400, 1520) == (weighted.vertices, weighted.arcs)
    assert sketch_graph(plain).near[0] < 0.6 < sketch_graph(af.load("grid:20x20")).near[0]
    assert "weight" in weighted.columns
    near, _ = Subject(near=(5000, 10)).graphs()
    assert near.vertices == 5000
    assert 5 < near.arcs / near.vertices < 15
    assert sketch_graph(near).near[1] > 0.9
    assert sketch_graph(near).top > 4 * sketch_graph(near).mean_degree
    assert len({str(one) for one in calibrating.GRAPHS}) == len(calibrating.GRAPHS)


def test_messages_are_timed_between_two_ranks():
    found = microbench.exchange(processes=False)["local"]
    assert 0 < found["latency"] < 10
    assert found["bandwidth"] > 0


def test_this_machine_is_a_profile_too(calibration):
    found = absent("here").profile
    assert (found.name, found.nodes, found.devices) == ("here", 1, 1)
    assert found.bandwidth == 20e9
    assert found.network == 1e10
    assert 0 < found.efficiency <= 1
    fit, shape = calibration.fits["pagerank/pull", calibration.machine["threads"]], kronecker(18)
    row = af.plan("pagerank", shape, on="here", supersteps=10).rows[0]
    assert row.best.seconds == pytest.approx(fit.seconds(shape.sketch(), 10), rel=0.1)
    many = af.plan("pagerank", shape, on="here", nodes="1,4")
    assert many.rows[1].speedup > 1
    assert any("takes more of the same" in note for note in many.notes)


def test_a_machine_that_was_not_measured_is_no_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="has not been measured"):
        absent("here")


def test_compiling_takes_no_time_from_measuring(monkeypatch):
    """Programs are compiled on tiny graphs before the clock of the runs starts."""
    from types import SimpleNamespace

    now, asked = [0.0], []

    def on(subject, effort):
        asked.append(str(subject))
        now[0] += 1000.0 if len(asked) == 1 else 1.0  # the first one compiles
        return {}

    module = calibrating
    monkeypatch.setattr(module, "_on", on)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    module._runs(module.Effort(seconds=10.0))
    assert asked[:2] == [str(one) for one in module._TINY]
    assert asked[2:] == [str(one) for one in module.GRAPHS[: len(asked) - 2]]
    assert len(asked) - 2 == 11
