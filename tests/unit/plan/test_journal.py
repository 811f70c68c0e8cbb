"""Runs that are kept: there and back, bounded, private, by several processes at once, and nothing foreign."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace

import plan_machine
import pytest

from arcflux import config
from arcflux.errors import SpaceError
from arcflux.plan import journal
from arcflux.plan.fit import POINTS, Observation
from arcflux.plan.journal import Run
from arcflux.plan.shape import kronecker

calibration = plan_machine.calibration


@pytest.fixture
def keeping(calibration, monkeypatch):
    monkeypatch.delenv("ARCFLUX_KEEP_RUNS")
    journal.forget()
    yield
    journal.forget()


def a_run(seconds=1.0, key="bfs/auto", scale=10, frontiers=()):
    return Run(key, 2, Observation(kronecker(scale).sketch(), 7.0, seconds, frontiers))


def test_there_and_back(keeping):
    run = a_run(frontiers=(0.25,) * POINTS)
    assert Run.of_line(run.to_line()) == run
    journal.add(run)
    assert journal.read() == [run]  # also before it is written
    journal.flush()
    assert journal.read() == [run]
    assert len(journal.journal_path().read_text().splitlines()) == 1


def test_the_file_is_the_owners_alone(keeping):
    journal.add(a_run())
    journal.flush()
    assert stat.S_IMODE(os.stat(journal.journal_path()).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(journal.journal_path().parent).st_mode) == 0o700


def test_of_like_runs_the_fastest_is_kept(keeping):
    for seconds in (3.0, 1.0, 2.0):
        journal.add(a_run(seconds))
    journal.add(a_run(5.0, key="sssp/auto"))
    assert sorted(run.seen.seconds for run in journal.read()) == [1.0, 5.0]


def test_it_is_bounded(keeping, monkeypatch):
    monkeypatch.setattr(journal, "MOST", 20)
    for scale in range(100):
        journal.add(a_run(1.0 + scale, key=f"k{scale}/auto"))
        journal.flush()
    lines = journal.journal_path().read_text().splitlines()
    assert len(lines) <= 60
    assert [run.seen.seconds for run in journal.read()] == [float(1 + k) for k in range(80, 100)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda kept: "",
        lambda kept: "{",
        lambda kept: "[1, 2]",
        lambda kept: "null",
        lambda kept: "[" * 100_000,
        lambda kept: json.dumps({**kept, "threads": float("inf")}),
        lambda kept: json.dumps(kept)[:-5],
        lambda kept: json.dumps({**kept, "format": 1}),
        lambda kept: json.dumps({**kept, "seconds": -1}),
        lambda kept: json.dumps({**kept, "seconds": float("nan")}),
        lambda kept: json.dumps({**kept, "seconds": 0}),
        lambda kept: json.dumps({**kept, "frontiers": [1.0, 2.0]}),
        lambda kept: json.dumps({**kept, "graph": {**kept["graph"], "arcs": "many"}}),
        lambda kept: json.dumps({**kept, "graph": {}}),
        lambda kept: json.dumps({**kept, "graph": {**kept["graph"], "near": [0.5]}}),
        lambda kept: json.dumps({**kept, "graph": {**kept["graph"], "depth": float("inf")}}),
        lambda kept: json.dumps({**kept, "machine": {**kept["machine"], "model": "another"}}),
        lambda kept: json.dumps({**kept, "versions": {**kept["versions"], "numba": "0.1"}}),
        lambda kept: json.dumps({name: value for name, value in kept.items() if name != "key"}),
    ],
)
def test_what_is_broken_foreign_or_old_is_skipped(keeping, spoil):
    good = a_run()
    journal.journal_path().write_text(spoil(json.loads(good.to_line())) + "\n" + good.to_line() + "\n")
    assert journal.read() == [good]


def test_opting_out(keeping, monkeypatch):
    monkeypatch.setenv("ARCFLUX_KEEP_RUNS", "0")
    journal.add(a_run())
    monkeypatch.setenv("ARCFLUX_KEEP_RUNS", "off")
    journal.add(a_run())
    config.keep_runs(True)
    try:
        with config.measuring():
            journal.add(a_run())
        assert journal.read() == []
        journal.add(a_run())
        assert len(journal.read()) == 1
        config.keep_runs(False)
        monkeypatch.delenv("ARCFLUX_KEEP_RUNS")
        journal.add(a_run(2.0, key="x/auto"))
        assert len(journal.read()) == 1
    finally:
        config.keep_runs(None)


def test_a_folder_that_cannot_be_written_stops_nothing(keeping, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    with monkeypatch.context() as spoilt:
        spoilt.setenv("ARCFLUX_CACHE", str(tmp_path / "file"))
        journal.add(a_run())
        journal.flush()
        assert journal.read() == []


def test_processes_write_at_once(keeping):
    code = """
import sys
from dataclasses import replace
from arcflux.plan import journal
from arcflux.plan.journal import Run
run = Run.of_line(sys.stdin.read())
assert run is not None
for k in range(40):
    journal.add(replace(run, key=f"{sys.argv[1]}-{k}/auto"))
    journal.flush()
"""
    line = a_run().to_line()
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(k)], stdin=subprocess.PIPE, text=True) for k in range(3)
    ]
    for process in started:
        process.stdin.write(line)
        process.stdin.close()
    assert [process.wait(60) for process in started] == [0, 0, 0]
    kept = {run.key for run in journal.read()}
    assert kept == {f"{k}-{n}/auto" for k in range(3) for n in range(40)}


def test_a_child_does_not_write_what_its_parent_did(keeping):
    journal.add(a_run())
    child = os.fork() if hasattr(os, "fork") else None
    if child == 0:
        journal.flush()
        os._exit(0)
    if child is not None:
        os.waitpid(child, 0)
        assert not journal.journal_path().exists()


def test_threads_add_at_once(keeping):
    from concurrent.futures import ThreadPoolExecutor

    def work(name):
        for k in range(100):
            journal.add(a_run(key=f"{name}-{k}/auto"))
            if k % 7 == 0:
                journal.flush()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))
    assert len({run.key for run in journal.read()}) > 300  # one that comes while others are written may be lost


def test_a_run_at_exit_is_written(keeping):
    code = "import arcflux as af; af.bfs(af.load('path:30'), 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [run.key.partition("/")[0] for run in journal.read()] == ["bfs"]


def test_lines_of_other_thread_counts_are_of_this_machine(keeping):
    other = replace(a_run(), threads=7)
    kept = json.loads(other.to_line())
    kept["machine"]["threads"] = 7
    assert Run.of_line(json.dumps(kept)) == other


def test_a_lock_that_is_held_holds_up_no_run(keeping):
    """Whoever holds it: what was to be written is let go, soon, and forgetting says why it cannot."""
    fcntl = pytest.importorskip("fcntl")
    journal.add(a_run())
    journal.flush()
    before = journal.journal_path().read_text()
    with open(journal.journal_path().with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code = """
import sys
from arcflux.plan import journal
journal.add(journal.Run.of_line(sys.stdin.read()))
print("over", flush=True)
"""
        line, another = [sys.executable, "-c", code], a_run(key="another/auto").to_line()
        done = subprocess.run(line, input=another, capture_output=True, text=True, timeout=100, check=False)
        with pytest.raises(SpaceError, match="held by another process"):
            journal.forget()
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr
    assert journal.journal_path().read_text() == before
