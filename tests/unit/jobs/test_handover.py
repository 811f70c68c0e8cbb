"""Jobs on several processes: the command that is run, Slurm by a stand-in of its commands, and MPI itself."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import CancelledError, RankError, UsageError
from arcflux.jobs import handover
from arcflux.jobs.catalogue import Catalogue
from arcflux.jobs.handover import MpiRun, SlurmRun, SparkRun, command_of, hand_over
from arcflux.jobs.service import Service

_SBATCH = """#!{python}
import os, subprocess, sys
folder = os.environ["STAND_IN"]
open(folder + "/asked", "w").write("\\n".join(sys.argv[1:]))
options = dict(one[2:].split("=", 1) for one in sys.argv[1:] if one.startswith("--") and "=" in one)
command = options["wrap"].replace("srun --mpi=pmix ", "")
if not os.environ.get("STAND_STILL"):
    done = subprocess.run(command, shell=True, stdout=open(options["output"], "w"))
    open(folder + "/state", "w").write("FAILED" if done.returncode else "COMPLETED")
print("42;cluster")
"""
_TOOLS = {
    "sbatch": _SBATCH,
    "squeue": '#!/bin/sh\n[ -n "$STAND_STILL" ] && echo RUNNING\nexit 0\n',
    "sacct": '#!/bin/sh\ncat "$STAND_IN/state"\n',
    "scancel": '#!/bin/sh\necho "$1" > "$STAND_IN/cancelled"\n',
}


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in _TOOLS.items():
        (tools / name).write_text(text.replace("{python}", sys.executable))
        (tools / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN", str(tmp_path))
    monkeypatch.setattr(handover, "_SLURM_GLANCE", 0.01)
    return tmp_path


@pytest.fixture
def graph(tmp_path):
    af.load("kron:7").save(tmp_path / "a graph; with 'signs'.arcflux")
    return tmp_path / "a graph; with 'signs'.arcflux"


def _row(task="bfs", workers=2, **parameters):
    return {"id": "1-0123456789ab", "task": task, "parameters": parameters, "options": {"workers": workers}}


def _handed(row, graph, folder, **options):
    """What came of a job: its table, and its error; it is handed over and watched here."""
    found = []

    def ended(run):
        found.append((run.table() if run.error is None else None, run.error, run.facts() if run.error is None else {}))

    run = hand_over(row, graph, folder, ended, **options)
    run.watch()
    return run, *found[0]


def test_slurm_runs_the_command_and_gives_its_result(slurm, graph):
    run, table, error, facts = _handed(_row(source=3), graph, slurm)
    assert isinstance(run, SlurmRun)
    assert error is None
    np.testing.assert_array_equal(table.column("level").to_numpy(), af.bfs(str(graph), 3)["level"])
    assert facts["converged"] is True
    asked = (slurm / "asked").read_text()
    assert "--ntasks=2" in asked
    assert shlex.quote(str(graph)) in asked  # a shell reads it as one word
    assert not run.out.exists()


def test_a_run_that_cannot_end_itself_in_time_is_ended(tmp_path):
    run = MpiRun([], 2, tmp_path, "1-0", lambda ended: None)
    run.command, run.seconds_at_most = [sys.executable, "-c", "import time; time.sleep(60)"], 0.05
    run.watch()
    assert isinstance(run.error, CancelledError)
    assert "may take" in str(run.error)


def test_a_service_ends_no_sooner_than_the_processes_of_its_jobs(tmp_path, graph, monkeypatch):
    def sleeping(row, path, folder, ended, **options):
        run = MpiRun([], 2, folder, row["id"], ended)
        mark = tmp_path / "began"
        run.command = [sys.executable, "-c", f"import time; open({str(mark)!r}, 'w'); time.sleep(60)"]
        return run

    monkeypatch.setattr("arcflux.jobs.service.hand_over", sleeping)
    service = Service(Catalogue([graph.parent]), tmp_path / "state", threads=1)
    row, _ = service.submit("ada", {"graph": graph.name, "task": "connected_components", "workers": 2})
    while not (tmp_path / "began").exists():
        time.sleep(0.01)
    run = service.running[row["id"]]
    service.close()
    assert run.wait(0)
    again = Service(Catalogue([graph.parent]), tmp_path / "state", threads=1, hold=True)
    assert again.recovered == [row["id"]]  # it runs with the next service
    again.close()


def test_what_is_shown_of_a_run_on_parts(tmp_path):
    run = MpiRun([], 2, tmp_path, "1-0", print)
    step = {"number": 0, "direction": "pull", "frontier": 9, "seconds": 0.5, "edges": 20, "residual": 0.0}
    said = {"history": [{**step, "part_seconds": [0.1, 0.3]}, {**step, "number": 1}],
            "spread": {"parts": 2, "exchange": "pairs", "bytes": 40, "more_bytes": 2}}  # fmt: skip
    run.log.write_text(json.dumps(said))
    found = run.shown()
    assert found["spread"]["bytes"] == 42
    assert found["spread"]["balance"] == pytest.approx(1.5)
    assert [one["superstep"] for one in found["history"]] == [0, 1]
    run.log.write_text(json.dumps({"history": [step]}))  # without parts, as Slurm's stand-in runs it
    assert run.shown()["spread"]["balance"] is None


def test_slurm_says_why_it_failed(slurm, graph):
    _, table, error, _ = _handed(_row(source=10**6), graph, slurm)
    assert table is None
    assert isinstance(error, RankError)
    assert "1000000" in str(error)


def test_slurm_is_told_to_cancel(slurm, graph, monkeypatch):
    monkeypatch.setenv("STAND_STILL", "1")
    found = []
    run = hand_over(_row(source=1), graph, slurm, found.append)
    assert isinstance(run, SlurmRun)
    threading.Timer(0.3, run.cancel).start()
    run.watch()
    assert isinstance(run.error, CancelledError)
    assert (slurm / "cancelled").read_text().strip() == "42"


def test_commands_have_what_the_job_said_and_programs_stay_here(tmp_path):
    row = _row("pagerank", alpha=0.9, deterministic=True)
    row["options"] |= {"max_supersteps": 5, "max_seconds": 9.0}
    command = command_of(row, Path("g"), Path("o"))
    assert command[:4] == ["run", "pagerank", "g", "--json"]
    assert {"--deterministic", "alpha=0.9", "--max-supersteps", "--timeout"} <= set(command)
    assert command_of(_row("multi_source_sssp", sources=[1, 2]), Path("g"), Path("o"))[-1] == "sources=1,2"
    with pytest.raises(UsageError, match="program of this server"):
        command_of(_row("Mine"), Path("g"), Path("o"))


def test_mpi_gives_the_result_of_a_solo_run(tmp_path, graph, monkeypatch):
    pytest.importorskip("mpi4py")
    monkeypatch.setattr(handover.shutil, "which", lambda name: None)
    run, table, error, _ = _handed(_row(source=3), graph, tmp_path)
    assert isinstance(run, MpiRun)
    assert error is None, error
    np.testing.assert_array_equal(table.column("level").to_numpy(), af.bfs(str(graph), 3)["level"])


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs Java, which is not installed")
def test_spark_gives_the_result_of_a_solo_run(tmp_path):
    pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    path = tmp_path / "grid.arcflux"
    af.load("grid:6x5").save(path)
    run, table, error, facts = _handed(_row(source=3), path, tmp_path, spark="local[2]")
    assert isinstance(run, SparkRun)
    assert error is None, error
    np.testing.assert_array_equal(table.column("level").to_numpy(), af.bfs(str(path), 3)["level"])
    assert facts["converged"] is True


def test_spark_is_given_no_graph_that_edges_do_not_say(tmp_path, graph):
    from arcflux.spark.driver import run_job

    job = {"graph": str(graph), "workers": 2}
    with pytest.raises(UsageError, match="have no edge"):
        run_job(job)
    (tmp_path / "edges.txt").write_text("1 2")
    with pytest.raises(UsageError, match="is no store"):
        run_job({**job, "graph": str(tmp_path / "edges.txt")})
    with pytest.raises(UsageError, match="program of this server"):
        hand_over(_row("Mine"), graph, tmp_path, print, spark="local[2]")
