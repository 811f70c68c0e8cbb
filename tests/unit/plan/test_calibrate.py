"""A calibration: what it holds, that it is kept, and that one that is stale, foreign or broken is noticed."""

import json
from dataclasses import replace
from datetime import datetime, timezone

import plan_machine
import pytest

import arcflux as af
from arcflux import trace
from arcflux.errors import FormatError, UsageError
from arcflux.plan import calibrate as calibrating
from arcflux.plan import microbench, partruns, programs
from arcflux.plan.calibrate import PROGRAMS, calibrate, kept, path
from arcflux.plan.profile import ACCESSES, read
from arcflux.plan.shape import kronecker

calibration = plan_machine.calibration


@pytest.mark.slow
def test_a_quick_one(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrating, "path", lambda threads=None: tmp_path / "kept.json")
    monkeypatch.setattr(calibrating, "_FEW", ("kron:6", "urand:6", "grid:40x40"))
    monkeypatch.setattr(programs, "_TRIES", 1)
    monkeypatch.setattr(programs, "_MOST_TRIES", 1)
    found = calibrate(quick=True)
    assert set(found.throughput) == set(found.latency) == set(ACCESSES)
    for table in (found.throughput, found.latency):
        assert all(row["self"] > 0 and row["host"] > 0 for row in table.values())
        assert all(set(row) == {"self", "peer", "host", "all"} and min(row.values()) > 0 for row in table.values())
    assert [row["bytes"] for row in found.hierarchy] == [2.0**k for k in (14, 16, 18, 20)]
    assert found.barrier > 0
    assert found.launch > 0
    assert found.exchange["local"]["bandwidth"] > 0
    assert set(found.fits) == {"/".join(program) for program in PROGRAMS}
    assert set(found.alone) == (set(found.fits) if found.machine["threads"] > 1 else set())
    assert all(len(some) == found.fits[name].runs for name, some in found.runs.items())
    assert 1 <= found.push_over_pull <= 10
    assert found.notes == []
    assert kept() == found
    assert kept().foreign == ""


def test_what_is_kept_is_read_again(calibration, tmp_path):
    found = kept()
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
        assert kept() is None
    assert any("another machine" in str(event) and "4711" in str(event) for event in heard)
    with pytest.raises(UsageError, match="has not been measured"):
        af.estimate("pagerank", "kron:10")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "fits": {}, "hierarchy": []}']
)
def test_a_broken_one_is_refused(calibration, content):
    path().write_text(content)
    with pytest.raises(FormatError, match="is no calibration"):
        kept()


def test_one_of_another_version_is_refused(calibration):
    path().write_text(json.dumps({**calibration.to_dict(), "format": 99}))
    with pytest.raises(FormatError, match="another version"):
        kept()


def test_cycles_go_through_everything():
    for way in ("regular", "random"):
        after = microbench._cycle(1 << 10, way)
        place, seen = 0, set()
        while place not in seen:
            seen.add(place)
            place = int(after[place])
        assert len(seen) == 1 << 10


def test_messages_are_timed_between_two_ranks():
    found = microbench.exchange(processes=False)["local"]
    assert 0 < found["latency"] < 10
    assert found["bandwidth"] > 0


def test_this_machine_is_a_profile_too(calibration):
    found = read("here")
    assert (found.name, found.nodes, found.devices) == ("here", 1, 1)
    assert found.bandwidth == 20e9
    assert found.network == 1e10
    assert 0 < found.efficiency <= 1
    fit, shape = calibration.fits["pagerank/pull"], kronecker(18)
    row = af.plan("pagerank", shape, on="here", supersteps=10).rows[0]
    assert row.best.seconds == pytest.approx(fit.seconds(shape, 10), rel=0.1)
    many = af.plan("pagerank", shape, on="here", nodes="1,4")
    assert many.rows[1].speedup > 1
    assert any("takes more of the same" in note for note in many.notes)


def test_a_machine_that_was_not_measured_is_no_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="has not been measured"):
        read("here")


def test_processes_stop_together_when_their_time_is_over():
    """Each looks at its own clock, so the first rank says it for all; otherwise some would wait for the others."""
    pytest.importorskip("mpi4py")
    rows = partruns.on_processes(2, 2, ["kron:5", "kron:6"], 100.0)
    assert {row["spec"] for row in rows} == {"kron:5", "kron:6"}
    assert {row["key"] for row in rows} == {"/".join(program) for program in partruns.PART_PROGRAMS}
    assert all(row["seconds"] > 0 and row["splitting"] >= 0 for row in rows)
    assert partruns.on_processes(2, 2, ["kron:5"], 0.0) == []
