"""``arcflux serve`` as a process: the client, the command line, and kills at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from serving import Server, folders

import arcflux as af
from arcflux.cli import commands
from arcflux.errors import MissingExtraError, ServiceError

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(folders(tmp_path_factory.mktemp("serve")))
    yield made
    made.stop()


def test_the_client_submits_waits_and_reads(server):
    client = server.client()
    job = client.submit("kron.arcflux", "pagerank", key="mine", alpha=0.9)
    assert client.submit("kron.arcflux", "pagerank", key="mine", alpha=0.9)["id"] == job["id"]
    assert [found["state"] for found in client.events(job["id"])][-1] == "done"
    table = client.result(job["id"], timeout=180)
    alone = af.pagerank(af.load(server.root / "graphs" / "kron.arcflux"), alpha=0.9)
    np.testing.assert_allclose(table.column("rank").to_numpy(), alone["rank"], atol=1e-6)
    assert client.result(job["id"], offset=10, limit=5).num_rows == 5
    assert job["id"] in [one["id"] for one in client.jobs(state="done")]
    with pytest.raises(ServiceError, match="no graph") as caught:
        client.submit("nothing", "pagerank")
    assert caught.value.status == 422
    with pytest.raises(ServiceError) as caught:
        af.Client(server.url, "wrong").graphs()
    assert caught.value.status == 401
    with pytest.raises(ServiceError, match="does not answer"):
        af.Client("http://127.0.0.1:9", "x").graphs()
    with pytest.raises(af.errors.UsageError, match="url"):
        af.Client("ftp://x", "y")


def test_the_commands_do_what_the_client_does(server, tmp_path):
    where = ["--url", server.url, "--token", server.token]

    def call(*arguments):
        done = CliRunner().invoke(commands, [*arguments, *where], catch_exceptions=False, obj=[])
        assert done.exit_code == 0, done.output
        return done.stdout

    ident = call("submit", "kron.arcflux", "bfs", "--set", "source=3", "--wait").split()[0]
    assert json.loads(call("jobs", ident, "--json"))["state"] == "done"
    assert "bfs" in call("jobs", "--state", "done")
    call("result", ident, "--out", str(tmp_path / "levels.parquet"))
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "levels.parquet").num_rows == 256
    assert call("result", ident, "--limit", "2").splitlines()[0] == "vertex,level,parent"
    nameless = ["result", ident, "--out", str(tmp_path / "levels.txt")]
    assert ".parquet" in str(CliRunner().invoke(commands, [*nameless, *where], obj=[]).exception)
    assert not (tmp_path / "levels.txt").exists()
    call(*nameless, "--format", "csv")
    assert (tmp_path / "levels.txt").read_text().startswith("vertex,level,parent\n")
    endless = call("submit", "kron.arcflux", "Endless").split()[0]
    assert call("cancel", endless).strip() in ("running", "cancelled")


def test_a_kill_loses_no_job_and_none_has_two_results(tmp_path):
    _kill_often(tmp_path, kills=2, jobs=8)


@pytest.mark.chaos
def test_many_kills_at_random_moments(tmp_path):
    _kill_often(tmp_path, kills=50, jobs=20)


def _kill_often(root, kills, jobs):
    """Kill the server at random moments, each time with so many jobs that are not over."""
    server, chance = Server(folders(root), "--at-once", "3"), random.Random(7)
    accepted, results = {}, {}
    try:
        for turn in range(kills):
            client = server.client()
            over = len(client.jobs(state="done", limit=500)) + len(client.jobs(state="failed", limit=500))
            for k in range(jobs - (len(accepted) - over)):
                source = len(accepted) % 256
                accepted[client.submit("kron.arcflux", "bfs", key=f"{turn}-{k}", source=source)["id"]] = source
            time.sleep(chance.uniform(0, 0.5))
            for job in client.jobs(state="done", limit=500):
                results.setdefault(job["id"], job["finished"])
            server.kill()
            server.start()
        client, graph = server.client(), af.load(root / "graphs" / "kron.arcflux")
        for ident, source in accepted.items():
            found = client.wait(ident, 180)
            if found["state"] == "failed":  # killed three times while it ran: final, and it says so
                assert "lost" in found["error"]
                continue
            assert found["state"] == "done", found
            assert results.get(ident, found["finished"]) == found["finished"]  # a result stays the one it was
            np.testing.assert_array_equal(
                client.result(ident).column("level").to_numpy(), af.bfs(graph, source)["level"]
            )
        assert len(_all_jobs(client)) == len(accepted) >= jobs
    finally:
        server.stop()


def _all_jobs(client):
    found = client.jobs(limit=500)
    while len(page := client.jobs(limit=500, before=int(found[-1]["id"].partition("-")[0]))):
        found += page
    return found


def _ranks_of(ident):
    """Processes that a server has started for a job: the file of its result is among their arguments."""
    found = [int(one.parent.name) for one in Path("/proc").glob("[0-9]*/cmdline") if f"/{ident}.parquet" in _read(one)]
    return sorted(found)


def _read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


@pytest.mark.chaos
def test_a_hundred_mixed_jobs_of_which_some_are_cancelled_and_some_killed(tmp_path):
    pytest.importorskip("mpi4py", reason="the extra `mpi` is not installed")
    server = Server(folders(tmp_path), "--at-once", "4")
    try:
        client, graph = server.client(), af.load(tmp_path / "graphs" / "kron.arcflux")
        # All rank goes round a circle, and hardly fades: the run never ends by itself.
        (tmp_path / "graphs" / "circle.txt").write_text("0 1\n1 2\n2 0\n3 0\n")
        endless = {"alpha": 1 - 1e-12, "tol": 0, "max_iter": 10**8, "method": "power"}
        tasks = ["bfs", "pagerank", "connected_components", "triangles"]
        jobs = {}
        for k in range(100):
            if k % 20 == 3:
                jobs[client.submit("kron.arcflux", "Endless")["id"]] = "cancel"
            elif k % 20 == 11:
                jobs[client.submit("circle.txt", "pagerank", workers=2, **endless)["id"]] = "kill"
            else:
                given = {"source": k} if k % 4 == 0 else {}
                jobs[client.submit("kron.arcflux", tasks[k % 4], **given)["id"]] = tasks[k % 4], given
        waiting = {ident for ident, what in jobs.items() if what in ("cancel", "kill")}
        end = time.monotonic() + 240
        while waiting and time.monotonic() < end:
            for ident in sorted(waiting):
                if client.status(ident)["state"] != "running":
                    continue
                if jobs[ident] == "cancel":
                    client.cancel(ident)
                elif len(ranks := _ranks_of(ident)) > 2:  # what starts them, and they
                    os.kill(ranks[-1], signal.SIGKILL)
                else:
                    continue
                waiting.discard(ident)
            time.sleep(0.2)
        assert not waiting
        for ident, what in jobs.items():
            found = client.wait(ident, 180)
            wanted = {"cancel": "cancelled", "kill": "failed"}.get(what if isinstance(what, str) else "", "done")
            assert found["state"] == wanted, (what, found)
            if wanted == "done":
                alone = getattr(af, what[0])(graph, **what[1])
                name = next(iter(alone.values))
                np.testing.assert_allclose(client.result(ident).column(name).to_numpy(), alone[name], rtol=1e-6)
    finally:
        server.stop()


def test_what_cannot_be_served_is_refused(tmp_path, monkeypatch):
    root = folders(tmp_path)
    asked = ["serve", "--graphs", str(root / "graphs"), "--state", str(root / "state")]
    done = CliRunner().invoke(commands, [*asked, "--host", "0.0.0.0"], obj=[])
    assert "others can reach" in str(done.exception)
    done = CliRunner().invoke(
        commands, ["serve", "--graphs", str(root / "none"), "--state", str(root / "state")], obj=[]
    )
    assert "no folder" in str(done.exception)
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    done = CliRunner().invoke(commands, asked, obj=[])
    assert isinstance(done.exception, MissingExtraError)
    assert "arcflux[serve]" in str(done.exception)
