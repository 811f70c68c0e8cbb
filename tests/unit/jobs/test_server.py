"""The service on its wire: what it takes, gives and refuses; nobody without a token, nothing outside its roots."""

from __future__ import annotations

import io
import json
import os
import time
import warnings

import numpy as np
import pytest
from serving import folders

import arcflux as af
from arcflux.errors import UsageError
from arcflux.jobs.catalogue import Catalogue
from arcflux.jobs.service import Service

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("httpx", reason="httpx, which Starlette's test client needs, is not installed")
with warnings.catch_warnings():  # newer versions of Starlette like another client better
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from arcflux.jobs.server.access import BODY, Tokens, _Token
from arcflux.jobs.server.app import make_app
from arcflux.jobs.server.openapi import describe_api

TOKEN = "a-token-of-the-tests-0123456789"
ADA, ROOT = "the-token-of-ada-0123456789", "the-token-of-an-admin-0123456789"
ROUTES = [(method, path.replace("{id}", "1-0123456789ab")) for path, methods in describe_api()["paths"].items()
          for method in methods]  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    root = folders(tmp_path_factory.mktemp("serving"))
    made = Service(Catalogue([root / "graphs"], [root / "programs"]), root / "state", threads=2, bound=40)
    yield made
    made.close()


@pytest.fixture(scope="module")
def app(service):
    expired = _Token("old", "an-expired-token-0123456789", time.time() - 1)
    others = [_Token("ada", ADA), _Token("root", ROOT, admin=True), expired]
    return make_app(service, Tokens([_Token("owner", TOKEN), *others]))


@pytest.fixture
def client(app):
    return TestClient(
        app, "http://localhost", headers={"Authorization": f"Bearer {TOKEN}"}, raise_server_exceptions=False
    )


def _submit(client, **body):
    answer = client.post("/jobs", json={"graph": "kron.arcflux", "task": "bfs", "parameters": {"source": 3}, **body})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def _ended(client, ident):
    end = time.monotonic() + 180
    while time.monotonic() < end:
        found = client.get(f"/jobs/{ident}").json()
        if found["state"] in ("done", "failed", "cancelled"):
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_a_result_is_that_of_a_solo_run_in_every_format_and_page(client, service):
    from pyarrow import csv, ipc, parquet

    ident = _submit(client)
    assert _ended(client, ident)["state"] == "done"
    alone = af.bfs(af.load(service.folder.parent / "graphs" / "kron.arcflux"), 3)
    found = client.get(f"/jobs/{ident}/result").json()
    assert found["columns"]["level"] == alone["level"].tolist()
    assert found["rows"] == 256
    raw = {form: client.get(f"/jobs/{ident}/result?format={form}").content for form in ("csv", "arrow", "parquet")}
    for table in (csv.read_csv(io.BytesIO(raw["csv"])), ipc.open_stream(raw["arrow"]).read_all(),
                  parquet.read_table(io.BytesIO(raw["parquet"]))):  # fmt: skip
        np.testing.assert_array_equal(table.column("level").to_numpy(), alone["level"])
    page = client.get(f"/jobs/{ident}/result?offset=250&limit=100").json()
    assert page["columns"]["vertex"] == list(range(250, 256))
    assert client.get(f"/jobs/{ident}/result?offset=999").json()["rows"] == 0
    assert client.get(f"/jobs/{ident}/result?format=csv&limit=0").text.startswith("vertex,level")


def test_programs_text_ids_events_and_cancel(client):
    ident = _submit(client, graph="small.txt", parameters={"source": "b"})
    events = client.get(f"/jobs/{ident}/events").text
    assert "event: status" in events
    assert events.rstrip().endswith("data: {}")
    assert client.get(f"/jobs/{ident}/result").json()["columns"]["level"] == [-1, 0, 1, 2]
    endless = _submit(client, task="Endless", parameters={})
    while client.get(f"/jobs/{endless}").json().get("progress", {}).get("supersteps", 0) < 1:
        time.sleep(0.02)
    assert client.get(f"/jobs/{endless}/result").status_code == 409
    assert client.post(f"/jobs/{endless}/cancel").status_code == 202
    assert _ended(client, endless)["state"] == "cancelled"
    limited = _submit(client, task="Endless", parameters={}, max_supersteps=7)
    found = _ended(client, limited)
    assert (found["supersteps"], found["converged"]) == (7, False)
    late = _submit(client, task="Endless", parameters={}, deadline=0.3)
    assert "deadline" in _ended(client, late)["error"]


def test_an_error_of_a_job_is_told_to_its_owner(client):
    found = _ended(client, _submit(client, parameters={"source": 10**6}))
    assert found["state"] == "failed"
    assert "1000000" in found["error"]
    assert client.get(f"/jobs/{found['id']}/result").status_code == 409


def test_the_same_key_is_the_same_job(client):
    body = {"graph": "kron.arcflux", "task": "bfs", "parameters": {"source": 1}}
    first = client.post("/jobs", json=body, headers={"Idempotency-Key": "one"})
    again = client.post("/jobs", json=body, headers={"Idempotency-Key": "one"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    other = client.post("/jobs", json={**body, "priority": 3}, headers={"Idempotency-Key": "one"})
    assert other.status_code == 409
    assert client.post("/jobs", json=body, headers={"Idempotency-Key": "x" * 300}).status_code == 422


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"graph": "nothing"}, "no graph"),
        ({"graph": "../state/queue.sqlite"}, "no graph"),
        ({"graph": "/etc/passwd"}, "no graph"),
        ({"task": "os.system"}, "no task"),
        ({"task": "programs/endless.py:Endless"}, "no task"),
        ({"parameters": {"sauce": 1}}, "no parameter"),
        ({"parameters": {}}, "needs source"),
        ({"parameters": {"source": [1]}}, "source is"),
        ({"parameters": {"source": 1, "given": {}}}, "cannot be set"),
        ({"parameters": {"source": 1, "parts": 4}}, "cannot be set"),
        ({"parameters": {"source": 1, "threads": 4}}, "decided by Jobs"),
        ({"priority": 11}, "priority"),
        ({"priority": True}, "priority"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"code": "import os"}, "no field"),
    ],
)
def test_what_makes_no_sense_is_refused_before_it_is_accepted(client, body, said):
    answer = client.post("/jobs", json={"graph": "kron.arcflux", "task": "bfs", "parameters": {"source": 1}, **body})
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"graph": NaN}', b"[" * 5000, b"\xff\xfe"])
def test_a_body_that_is_no_json_object_is_refused(client, raw):
    assert client.post("/jobs", content=raw).status_code == 422


@pytest.mark.parametrize("query", ["limit=-1", "limit=1e9", "state=x", "before=a", "limit=\u0663"])
def test_queries_are_checked(client, query):
    assert client.get(f"/jobs?{query}").status_code == 422


@pytest.mark.parametrize("token", [None, "wrong", "an-expired-token-0123456789", ""])
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_answers_without_a_valid_token(app, token, method, path):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    stranger = TestClient(app, "http://localhost", headers=headers, raise_server_exceptions=False)
    assert stranger.request(method, path).status_code == 401
    assert stranger.request(method, f"{path}?token={token}").status_code == 401


def test_a_user_cancels_and_reads_his_own_jobs_alone(app, client):
    ada, root = (TestClient(app, "http://localhost", headers={"Authorization": f"Bearer {one}"}) for one in (ADA, ROOT))
    ident = _submit(client)
    endless = _submit(client, task="Endless", parameters={})
    assert _ended(client, ident)["yours"]
    seen = ada.get(f"/jobs/{ident}").json()  # the queue is everybody's to see
    assert (seen["state"], seen["yours"]) == ("done", False)
    assert ident in [job["id"] for job in ada.get("/jobs").json()["jobs"] if not job["yours"]]
    for answer in (ada.get(f"/jobs/{ident}/result"), ada.post(f"/jobs/{endless}/cancel")):
        assert answer.status_code == 403
        assert "another user's" in answer.json()["error"]["message"]
    assert client.get(f"/jobs/{endless}").json()["state"] in ("queued", "running")
    assert root.get(f"/jobs/{ident}/result").json()["rows"] == 256
    assert root.post(f"/jobs/{endless}/cancel").status_code in (200, 202)
    assert _ended(client, endless)["state"] == "cancelled"


def test_other_hosts_and_origins_and_large_bodies_are_refused(client):
    assert client.get("/jobs", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/jobs", headers={"Host": "localhost.evil.example"}).status_code == 403
    assert client.get("/jobs", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/jobs", headers={"Origin": "null"}).status_code == 403
    assert client.get("/jobs", headers={"Origin": "http://localhost"}).status_code == 200
    assert client.post("/jobs", content=b"x" * (BODY + 1)).status_code == 413

    def pieces():
        for _ in range(20):
            yield b"x" * (BODY // 10)

    assert client.post("/jobs", content=pieces()).status_code == 413


def test_the_page_takes_the_token_from_its_address_into_a_cookie(app):
    fresh = TestClient(app, "http://localhost", follow_redirects=False)
    answer = fresh.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    assert "httponly" in answer.headers["set-cookie"].lower()
    page = fresh.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert fresh.get("/overview").json()["threads"] == 2


def test_graphs_and_tasks_and_metrics_and_description(client, service):
    graphs = [one["name"] for one in client.get("/graphs").json()["graphs"]]
    assert graphs == ["kron.arcflux", "small.txt"]
    tasks = {one["name"] for one in client.get("/tasks").json()["tasks"]}
    assert {"pagerank", "Endless"} <= tasks
    text = client.get("/metrics").text
    assert 'arcflux_jobs{state="done"}' in text
    assert "arcflux_scheduling_seconds_total" in text
    paths = client.get("/openapi.json").json()["paths"]
    inner = {route.path for route in client.app.app.routes}
    assert set(paths) == inner


def test_links_out_of_a_root_are_not_there(tmp_path):
    folders(tmp_path)
    (tmp_path / "secret.txt").write_text("1 2\n")
    os.symlink(tmp_path / "secret.txt", tmp_path / "graphs" / "link.txt")
    os.symlink("small.txt", tmp_path / "graphs" / "inside.txt")
    assert set(Catalogue([tmp_path / "graphs"]).graphs()) == {"kron.arcflux", "small.txt", "inside.txt"}
    with pytest.raises(UsageError, match="no folder"):
        Catalogue([tmp_path / "nothing"])


def test_a_second_server_of_one_folder_is_refused(service):
    with pytest.raises(UsageError, match="another server"):
        Service(service.catalogue, service.folder)


def test_a_full_queue_says_429(tmp_path):
    root = folders(tmp_path)
    service = Service(Catalogue([root / "graphs"]), root / "state", threads=1, bound=2, hold=True)
    client = TestClient(make_app(service, Tokens([_Token("owner", TOKEN)])), "http://localhost",
                        headers={"Authorization": f"Bearer {TOKEN}"})  # fmt: skip
    codes = [client.post("/jobs", json={"graph": "small.txt", "task": "pagerank"}).status_code for _ in range(3)]
    assert codes == [201, 429, 429]
    service.close()


def test_tokens_are_kept_for_their_owner_alone(tmp_path):
    tokens, shown = Tokens.kept(tmp_path / "tokens.json")
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert (tokens.find(shown).user, tokens.find(shown).admin) == ("owner", True)
    again, nothing = Tokens.kept(tmp_path / "tokens.json")
    assert (again.find(shown).admin, nothing) == (True, None)
    os.chmod(tmp_path / "tokens.json", 0o644)
    with pytest.raises(UsageError, match="by others"):
        Tokens.kept(tmp_path / "tokens.json")
    os.chmod(tmp_path / "tokens.json", 0o600)
    (tmp_path / "tokens.json").write_text(json.dumps([{"user": "a", "token": "short"}]))
    with pytest.raises(UsageError, match="16 characters"):
        Tokens.kept(tmp_path / "tokens.json")
