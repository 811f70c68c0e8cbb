"""The service on its wire: what it takes, gives and refuses; nobody without a token, nothing outside its roots."""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
import time
import warnings

import numpy as np
import pytest
from serving import folders

import arcflux as af
from arcflux.errors import ArcfluxError, StoreError, UsageError
from arcflux.jobs import catalogue
from arcflux.jobs.catalogue import Catalogue
from arcflux.jobs.service import Service

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("httpx", reason="httpx, which Starlette's test client needs, is not installed")
with warnings.catch_warnings():  # newer versions of Starlette like another client better
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from arcflux.jobs.server import access
from arcflux.jobs.server.access import BODY, Guard, Tokens, _Token
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
        ({"workers": 1024}, "workers is 1024"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"code": "import os"}, "no field"),
    ],
)
def test_what_makes_no_sense_is_refused_before_it_is_accepted(client, body, said):
    answer = client.post("/jobs", json={"graph": "kron.arcflux", "task": "bfs", "parameters": {"source": 1}, **body})
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"graph": NaN}', b"[" * 5000, b"\xff\xfe",
    b'{"graph": "kron.arcflux", "task": "bfs", "parameters": {"source": "\\ud800"}}',
    b'{"graph": "kron.arcflux", "task": "pagerank", "parameters": {"personalization": {"1": 1e400}}}',
])  # fmt: skip
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
    described = client.get("/openapi.json").json()
    fields = described["components"]["schemas"]["Submission"]["properties"]
    assert fields["graph"]["enum"] == graphs
    assert set(fields["task"]["enum"]) == tasks
    assert set(client.put("/jobs").headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    paths = described["paths"]
    inner = {route.path for route in client.app.app.routes}
    assert set(paths) == inner


def test_a_queue_that_holds_half_a_character_can_be_listed(client, service):
    row, _ = service.queue.submit("owner", "small.txt", "bfs", {"source": "\ud800"})
    service.cancel(row["id"])
    for path in ("/jobs?limit=500", "/overview", f"/jobs/{row['id']}", f"/jobs/{row['id']}/events"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "\\ud800" in answer.text


def test_links_out_of_a_root_are_not_there(tmp_path):
    folders(tmp_path)
    os.symlink("loop.txt", tmp_path / "graphs" / "loop.txt")
    os.symlink("nothing.txt", tmp_path / "graphs" / "dangling.txt")
    (tmp_path / "graphs" / "two\nlines.txt").write_text("1 2\n")
    (tmp_path / "graphs" / os.fsdecode(b"\xff.txt")).write_text("1 2\n")
    (tmp_path / "secret.txt").write_text("1 2\n")
    os.symlink(tmp_path / "secret.txt", tmp_path / "graphs" / "link.txt")
    os.symlink("small.txt", tmp_path / "graphs" / "inside.txt")
    assert set(Catalogue([tmp_path / "graphs"]).graphs()) == {"kron.arcflux", "small.txt", "inside.txt"}
    for name in ("loop.txt", "link.txt", "two\nlines.txt", ".", "..", "../secret.txt", ""):
        with pytest.raises(UsageError, match="no graph"):
            Catalogue([tmp_path / "graphs"]).path(name)
    with pytest.raises(UsageError, match="no folder"):
        Catalogue([tmp_path / "nothing"])


def test_a_root_that_was_moved_away_has_no_graphs(tmp_path):
    folders(tmp_path)
    catalogue = Catalogue([tmp_path / "graphs"])
    os.rename(tmp_path / "graphs", tmp_path / "elsewhere")
    assert catalogue.graphs() == {}
    with pytest.raises(UsageError, match="no graph"):
        catalogue.graph("small.txt")
    os.rename(tmp_path / "elsewhere", tmp_path / "graphs")
    assert catalogue.graph("small.txt").vertices == 4


def test_a_graph_that_has_changed_is_read_again(tmp_path):
    folders(tmp_path)
    catalogue, path = Catalogue([tmp_path / "graphs"]), tmp_path / "graphs" / "small.txt"
    first = catalogue.graph("small.txt")
    assert catalogue.graph("small.txt") is first
    (tmp_path / "graphs" / "new").write_text("a b\nb c\nc d\nd e\n")
    os.replace(tmp_path / "graphs" / "new", path)
    assert catalogue.graph("small.txt").vertices == 5
    assert first.vertices == 4  # jobs that run on it go on


def test_what_is_wrong_with_a_graph_is_said_of_its_name(tmp_path):
    folders(tmp_path)
    catalogue, graphs = Catalogue([tmp_path / "graphs"]), tmp_path / "graphs"
    (graphs / "torn.txt").write_text("a b c\nq\n")
    (graphs / "empty.txt").write_text("")
    (graphs / "none.arcflux").mkdir()
    for name in ("torn.txt", "empty.txt", "none.arcflux"):
        with pytest.raises(ArcfluxError, match=name) as caught:
            catalogue.graph(name)
        assert str(tmp_path) not in str(caught.value)


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """A service, an event that lets it open small.txt, and what opening it raises."""
    root, go, raised = folders(tmp_path), threading.Event(), []

    def opened(path):
        if path.name == "small.txt":
            assert go.wait(60)
            for error in raised:
                raise error
        return af.load(path)

    monkeypatch.setattr(catalogue, "load", opened)
    made = Service(Catalogue([root / "graphs"]), root / "state", threads=1)
    yield made, go, raised
    go.set()
    made.close()


def _finished(service, ident):
    end = time.monotonic() + 180
    while (found := service.queue.find(ident))["state"] not in ("done", "failed", "cancelled"):
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("graph", ["kron.arcflux", "nothing.arcflux"])
def test_the_end_of_a_job_is_written_down_when_the_disk_takes_it(tmp_path, monkeypatch, graph):
    """A job whose end could not be written was one that runs, for ever."""
    root = folders(tmp_path)
    made = Service(Catalogue([root / "graphs"]), root / "state", threads=1)
    real, refused = made.queue.finish, []

    def full(ident, state, **said):
        if len(refused) < 3:
            refused.append(state)
            raise StoreError("the queue cannot be read or written: database or disk is full", path=made.queue.path)
        return real(ident, state, **said)

    monkeypatch.setattr(made.queue, "finish", full)
    ident = made.queue.submit("ada", graph, "bfs", {"source": 0})[0]["id"]
    try:
        assert _finished(made, ident)["state"] == ("done" if graph == "kron.arcflux" else "failed")
        assert len(refused) == 3
        assert made.totals["done"] + made.totals["failed"] == 1
        assert not made._unsaid
    finally:
        made.close()


def test_others_run_while_a_graph_is_opened(slow):
    service, go, _ = slow
    client = TestClient(make_app(service, Tokens([_Token("owner", TOKEN)])), "http://localhost",
                        headers={"Authorization": f"Bearer {TOKEN}"})  # fmt: skip
    waits, _ = service.submit("ada", {"graph": "small.txt", "task": "pagerank"})
    cancelled, _ = service.submit("ada", {"graph": "small.txt", "task": "pagerank"})
    other, _ = service.submit("bob", {"graph": "kron.arcflux", "task": "connected_components"})
    assert _finished(service, other["id"])["state"] == "done"
    assert client.get("/graphs").json()["graphs"][1] == {"name": "small.txt", "open": False}
    assert client.get("/overview").status_code == 200
    assert service.cancel(cancelled["id"]) == "running"
    go.set()
    assert _finished(service, waits["id"])["rows"] == 4
    assert _finished(service, cancelled["id"])["state"] == "cancelled"


def test_a_job_whose_graph_cannot_be_opened_has_failed(slow):
    service, go, raised = slow
    raised.append(RuntimeError("the disk is \ud800"))
    go.set()
    ident = service.submit("ada", {"graph": "small.txt", "task": "pagerank"})[0]["id"]
    found = _finished(service, ident)
    assert (found["state"], found["error"]) == ("failed", "RuntimeError: the disk is \\ud800")
    assert service.running == {}


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    async def never():
        await asyncio.sleep(3600)

    async def keep(message):
        told.append(message)

    told = []
    monkeypatch.setattr(access, "SECONDS", 0.01)
    guard = Guard(None, Tokens([_Token("owner", TOKEN)]), ())
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())]
    asyncio.run(guard({"type": "http", "path": "/jobs", "method": "POST", "headers": headers}, never, keep))
    assert told[0]["status"] == 408
    assert (b"connection", b"close") in told[0]["headers"]


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
