"""``arcflux serve`` as a process: the client, the command line, and kills at any moment."""

from __future__ import annotations

import json
import random
import time

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
    endless = call("submit", "kron.arcflux", "Endless").split()[0]
    assert call("cancel", endless).strip() in ("running", "cancelled")


def test_a_kill_loses_no_job_and_none_has_two_results(tmp_path):
    _kill_often(tmp_path, kills=2, jobs=8)


@pytest.mark.chaos
def test_many_kills_at_random_moments(tmp_path):
    _kill_often(tmp_path, kills=50, jobs=20)


def _kill_often(root, kills, jobs):
    server, chance = Server(folders(root), "--at-once", "3"), random.Random(7)
    try:
        accepted = {}
        results = {}
        for turn in range(kills):
            client = server.client()
            for k in range(jobs // kills + 1):
                if len(accepted) < jobs:
                    source = len(accepted)
                    accepted[client.submit("kron.arcflux", "bfs", key=f"{turn}-{k}", source=source)["id"]] = source
            time.sleep(chance.uniform(0, 0.5))
            for job in client.jobs(state="done"):
                results.setdefault(job["id"], job["finished"])
            server.kill()
            server.start()
        client = server.client()
        alone = {
            source: af.bfs(af.load(root / "graphs" / "kron.arcflux"), source)["level"] for source in accepted.values()
        }
        for ident, source in accepted.items():
            found = client.wait(ident, 180)
            if found["state"] == "failed":  # killed three times while it ran: final, and it says so
                assert "lost" in found["error"]
                continue
            assert found["state"] == "done", found
            assert results.get(ident, found["finished"]) == found["finished"]  # a result stays the one it was
            np.testing.assert_array_equal(client.result(ident).column("level").to_numpy(), alone[source])
        assert len(client.jobs(limit=500)) == len(accepted) == jobs
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
