"""Connections of strangers: those that bring no request keep nobody out; and a signal ends a server in order."""

from __future__ import annotations

import http.client
import json
import socket
import time
from contextlib import closing, suppress
from types import SimpleNamespace

import pytest
from serving import Server, folders

from arcflux.errors import UsageError

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")


class _Connection:
    """What is looked at of a connection of uvicorn."""

    def __init__(self):
        self.cycle, self.closed = None, False
        self.transport = SimpleNamespace(close=self.close)

    def close(self):
        self.closed = True


def _request(is_over):
    return SimpleNamespace(response_complete=is_over)


def test_what_brings_no_request_is_closed_sooner_in_a_crowd():
    from arcflux.jobs.server import wire

    server = wire.Server(uvicorn.Config(print, limit_concurrency=10))
    idle, busy, between = _Connection(), _Connection(), _Connection()
    busy.cycle, between.cycle = _request(False), _request(True)
    server.server_state.connections.update({idle, busy, between})
    server.close_idle(0.0)
    server.close_idle(15.0)
    between.cycle = _request(True)  # it has had another answer meanwhile
    server.close_idle(20.0)
    assert (idle.closed, busy.closed, between.closed) == (True, False, False)
    server.close_idle(40.0)
    assert between.closed
    crowd = [_Connection() for _ in range(6)]
    server.server_state.connections = {busy, *crowd}
    server.close_idle(50.0)
    assert not any(one.closed for one in crowd)
    server.close_idle(52.0)
    assert all(one.closed for one in crowd)
    more = [_Connection() for _ in range(9)]
    server.server_state.connections = {busy, *more}
    server.close_idle(53.0)
    assert not any(one.closed for one in more)
    server.close_idle(53.25)  # nobody else would be answered
    assert all(one.closed for one in more)
    assert not busy.closed


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(folders(tmp_path_factory.mktemp("wire")))
    yield made
    made.stop()


def _status(server):
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as wire:
            wire.request("GET", "/jobs", headers={"Authorization": f"Bearer {server.token}"})
            return wire.getresponse().status
    except ConnectionError:  # it was closed among the others
        return 503


def test_idle_connections_keep_nobody_out(server):
    idle = []
    try:
        for k in range(300):
            idle.append(socket.create_connection(("127.0.0.1", server.port)))
            with suppress(OSError):
                idle[-1].sendall(b"GET /jobs HTTP/1.1\r\nX:" if k % 2 else b"")
        end = time.monotonic() + 60
        while (status := _status(server)) == 503 and time.monotonic() < end:
            time.sleep(0.05)
        assert status == 200
    finally:
        for one in idle:
            one.close()


def test_what_is_no_request_is_refused(server):
    token = f"Authorization: Bearer {server.token}\r\n".encode()
    for raw in (
        b"GET /jobs HTTP/1.1\r\n" + token + b"\r\n",  # no host
        b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n" + token + b"\r\n",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS to a server without
    ):
        with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as wire:
            wire.sendall(raw)
            assert wire.recv(64).startswith(b"HTTP/1.1 400"), raw
    assert _status(server) == 200


def test_a_client_that_goes_away_or_reads_slowly_holds_nobody_up(server):
    body = json.dumps({"graph": "kron.arcflux", "task": "Endless", "parameters": {}}).encode()
    head = (f"Host: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as wire:
        wire.sendall(b"POST /jobs HTTP/1.1\r\n" + head + body)
        answer = wire.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 201")
    ident = server.client().jobs(limit=1)[0]["id"]
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as wire:  # half of a body
        wire.sendall(b"POST /jobs HTTP/1.1\r\n" + head + body[:9])
        with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as events:
            get = head.partition(b"Content-Length")[0]
            events.sendall(f"GET /jobs/{ident}/events HTTP/1.1\r\n".encode() + get + b"\r\n")
            assert events.recv(64).startswith(b"HTTP/1.1 200")  # and no more of it is read
            server.client().cancel(ident)
            assert server.client().wait(ident, 60)["state"] == "cancelled"
    assert len(server.client().jobs()) == 1  # what was half said is no job


def test_a_signal_ends_a_server_and_its_jobs_go_on_with_the_next(tmp_path):
    server = Server(folders(tmp_path))
    try:
        ident = server.client().submit("kron.arcflux", "Endless")["id"]
        while server.client().status(ident)["state"] != "running":
            time.sleep(0.02)
        server.process.terminate()
        assert server.process.wait(60) == 0
        server.start()
        assert "1 jobs of a server before this one go on" in server.log.read_text()
        server.client().cancel(ident)
        assert server.client().wait(ident, 60)["state"] == "cancelled"
    finally:
        server.stop()


def test_a_port_that_is_in_use_is_told_before_a_token_is_shown(tmp_path):
    from arcflux.jobs.server import serve

    folders(tmp_path)
    said = []
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: Address already in use"):
            serve([tmp_path / "graphs"], [], tmp_path / "state", port=port, say=said.append)
    with pytest.raises(UsageError, match=r"192\.0\.2\.1, port"):  # an address that no machine has
        serve([tmp_path / "graphs"], [], tmp_path / "state", host="192.0.2.1", port=port, say=said.append,
              tokens=tmp_path / "tokens", certificate=tmp_path / "none")  # fmt: skip
    assert said == []
    assert not (tmp_path / "state").exists()
